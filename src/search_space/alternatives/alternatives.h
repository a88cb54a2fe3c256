/* src/search_space/alternatives owns other algorithms for a task (Winograd's convolution, Strassen's product, products
 * by digits), and which of them are used untuned. Not here: schedules (src/search_space): each alternative is a
 * workload like any other.
 *
 * An alternative is a workload that computes the same outputs by another algorithm. It is tuned like any workload, and
 * its records have its own hash as their key. The best record of any alternative is the task's.
 *
 * An alternative may need the original's constants in another form (transformed weights). Small workloads of their own,
 * prologues, compute these once, when the model is built. */
#ifndef TC_SPACE_ALTERNATIVES_H
#define TC_SPACE_ALTERNATIVES_H

#include "te/intrinsic.h"
#include "te/te.h"

/* Which forms a kernel may have, by what each adds to the error: a set. The first three names are levels, and each level allows
 * what the level before it allows. alternatives.c says which form needs which level. The file of each form states the bound of
 * its error. */
typedef enum tc_accuracy {
    /* Nothing is added to the rounding of the original; only sums may be in another order. */
    TC_ACCURACY_STRICT = 0,
    /* Forms that keep rows apart: the error of an element depends only on the row of the data, or the tile of the image, that the
     * element itself is computed from. */
    TC_ACCURACY_DEFAULT = 1,
    /* Forms that mix rows, too: the error of an element depends on other rows, and an infinity reaches other rows. */
    TC_ACCURACY_FAST = TC_ACCURACY_DEFAULT | 4,
    TC_ACCURACY_BF16 = 2, /* not a level: operands of matmuls and convolutions may be rounded to bf16 */
    TC_ACCURACY_ALL = TC_ACCURACY_FAST | TC_ACCURACY_BF16
} tc_accuracy;
/* Changes the set as a word says: "strict", "default" or "fast"; for the second function "f32", "bf16" or "auto". TC_BAD_INPUT:
 * another word. */
TC_NODISCARD tc_status tc_accuracy_parse(const char *name, tc_accuracy *set, tc_error *err);
TC_NODISCARD tc_status tc_accuracy_parse_precision(const char *name, tc_accuracy *set, tc_error *err);
/* The words for a set: the lowest level that allows all of its forms; "f32" or "bf16". */
const char *tc_accuracy_text(tc_accuracy set);
const char *tc_accuracy_precision_text(tc_accuracy set);

/* Makes one constant of an alternative from constants of the original. */
typedef struct tc_space_prologue {
    const tc_workload *workload; /* one output: the constant */
    int nfrom;
    const int *from; /* from[i]: the original's input that is input i of `workload` */
} tc_space_prologue;

typedef struct tc_space_alternative {
    const char *name; /* "winograd-f4", for reports */
    tc_accuracy needs;
    /* Names of alternatives: this one's own, or another's. Alternatives with equal `constants` have equal prologues. They may be
     * variants of one kernel if they pack the constants alike. `stages`: the alternative with the same stages; its schedule for one
     * size fits this alternative, too. */
    const char *constants, *stages;
    int products; /* how many products of a unit replace one multiply-add; 0: only a search tells whether it is faster */
    const tc_workload *workload;
    const int *source; /* source[i]: the original's input that is input i, or -1 - k: the constant of prologue k */
    int nprologue;
    const tc_space_prologue *prologue;
} tc_space_alternative;

typedef struct tc_space_alternative_list {
    int n;
    const tc_space_alternative *data;
} tc_space_alternative_list;

/* Makes the alternatives of w, without w itself, in `c`, the context of w or a child of it. Their order never changes. Each has the
 * outputs of w, in the same order with the same shapes and types, and the symbols of w. Alternatives that cut an extent into parts
 * of fixed size exist only if that extent does not vary. */
tc_space_alternative_list tc_space_alternatives(tc_ctx *c, const tc_workload *w, tc_accuracy accuracy);

/* Chooses among w and its alternatives l where nothing was tuned: the fastest by the cost of its products on the units of `set`.
 * NULL: w itself. */
const tc_space_alternative *tc_space_untuned(const tc_workload *w, tc_space_alternative_list l, tc_intrinsic_set set);

#endif
