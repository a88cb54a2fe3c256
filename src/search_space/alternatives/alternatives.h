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

/* What may be given up for speed: a set. Alternatives differ from the original by rounding; some of them by more than a reordered
 * sum does. */
typedef enum tc_accuracy {
    TC_ACCURACY_STRICT = 0, /* nothing: only forms whose error is that of the original, up to the order of sums */
    TC_ACCURACY_FAST =
        1, /* Winograd's and Strassen's forms and products by digits too; their bounds are stated in the file of each */
    TC_ACCURACY_BF16 = 2, /* operands of matmuls and convolutions may be rounded to bf16; the bound is stated in bf16.c */
    TC_ACCURACY_ALL = TC_ACCURACY_FAST | TC_ACCURACY_BF16
} tc_accuracy;
/* Puts what "strict" or "fast", and "f32", "bf16" or "auto", say into the set. TC_BAD_INPUT: it is none of these. */
TC_NODISCARD tc_status tc_accuracy_parse(const char *name, tc_accuracy *set, tc_error *err);
TC_NODISCARD tc_status tc_accuracy_parse_precision(const char *name, tc_accuracy *set, tc_error *err);
/* What they would read: "strict" or "fast", "f32" or "bf16". */
const char *tc_accuracy_text(tc_accuracy set);
const char *tc_accuracy_precision_text(tc_accuracy set);

/* Makes one constant of an alternative from constants of the original. */
typedef struct tc_space_prologue {
    const tc_workload *workload; /* one output: the constant */
    int nfrom;
    const int *from; /* by input of that workload: the input of the original */
} tc_space_prologue;

typedef struct tc_space_alternative {
    const char *name; /* "winograd-f4", for reports */
    tc_accuracy needs;
    /* Names of alternatives, its own or others'. Those of equal `constants` have equal prologues, and may be variants of one
     * kernel where they pack what these make alike. A schedule of one size of `stages` is one of this too. */
    const char *constants, *stages;
    int products; /* of a unit's, in place of one multiply-add; 0: nothing but a search says whether it is faster */
    const tc_workload *workload;
    const int *source; /* by input of `workload`: the same input of the original, or -1 - k: what prologue k makes */
    int nprologue;
    const tc_space_prologue *prologue;
} tc_space_alternative;

typedef struct tc_space_alternative_list {
    int n;
    const tc_space_alternative *data;
} tc_space_alternative_list;

/* The alternatives of w, none of which is w itself; they are made in `c`, the context of w or a child of it, and their order does
 * not change. Outputs are those of w in shape and type, in the same order, and so are its symbols: what cuts extents into parts
 * of fixed sizes takes none that vary. */
tc_space_alternative_list tc_space_alternatives(tc_ctx *c, const tc_workload *w, tc_accuracy accuracy);

/* Of the alternatives l of w the one that is used where nothing was tuned: by the cost of a unit of `set` that takes its products
 * it is faster than w and the others. NULL: w itself is. */
const tc_space_alternative *tc_space_untuned(const tc_workload *w, tc_space_alternative_list l, tc_intrinsic_set set);

#endif
