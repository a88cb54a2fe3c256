/* What the files that turn a schedule into an annotated nest share: bounds.c (regions), nest.c (extents, values and guards
 * of one stage), cut.c (its parts), emit.c (statements), build.c (the driver, buffers and parameters).
 *
 * Vocabulary. The *region* of a stage is the box of its tensor that it computes: per axis a minimum, an expression over the loops
 * around the attach point, and a constant extent. *Local* coordinates count from that minimum. A *leaf position* is an index into
 * the stage's leaf loops, outermost 0. */
#ifndef TC_TIR_LOWER_BUILD_BUILD_INT_H
#define TC_TIR_LOWER_BUILD_BUILD_INT_H

#include "support/vec.h"
#include "tir_lower/build/build.h"

/* A boundary test of a stage. It stands directly inside leaf position depth - 1; 0 is outside of all its loops. */
typedef struct nest_guard {
    const tc_expr *cond;
    int depth;
    bool reduce; /* uses a reduction loop: not part of the initialisation */
} nest_guard;

/* Where a tensor lives and how coordinates map to elements. */
typedef struct storage {
    const tc_buffer *buffer;
    const tc_layout *layout; /* of local coordinates; NULL: none */
    int nphys;
    int64_t stride[TC_MAX_DIMS]; /* not of an argument whose size varies: that is dense */
    const tc_expr *const *min;   /* per logical dimension, NULL: all 0 */
} storage;

/* [from, from + size) of a root axis, both made of sizes. */
typedef struct nest_part {
    int axis;
    const tc_expr *from, *size; /* size NULL: all of it */
} nest_part;
enum { NEST_MAX_CUTS = 3 };

typedef struct nest {
    const tc_stage *st;
    int id;
    bool live;
    int blocks;       /* loops and guards around its stores, those of the stages that it is attached in included */
    bool reduces;     /* initialises and then updates; false also for a reduction over a single element */
    int at_pos;       /* leaf position of the attach loop in its stage; -1 at root */
    int first_reduce; /* leaf position of the outermost reduction loop; nleaf if there is none */
    int naxis, nroot;
    const tc_expr **min; /* per root loop; the minimum of a reduction axis is 0 */
    int64_t *ext;
    const tc_expr **local, **value; /* per root loop: coordinate from the minimum, coordinate */
    const tc_var **var;             /* per leaf position; NULL where the extent is 1 */
    nest_part part;                 /* what is computed at a time */
    uint64_t within;                /* bits of the root axes whose values are less than their sizes as they are made */
    TC_VEC(nest_guard) facts;       /* what holds of such values where the guards do */
    TC_VEC(nest_guard) guards;
    const tc_expr *body[TC_MAX_OUTS]; /* in loop variables; still reads tensors */
    storage out[TC_MAX_OUTS];
    tc_for_kind *kind; /* per leaf position */
} nest;

typedef struct read_ref {
    const tc_expr *read;
    int reader;   /* stage index */
    int producer; /* stage index; -1: an input */
} read_ref;

typedef struct input_slot {
    const tc_tensor *tensor;
    storage at;
} input_slot;

typedef struct builder {
    tc_sched *s;
    tc_ctx *c;
    const tc_machine *m;
    tc_error *err;
    tc_env *env;              /* ranges of all loop variables made so far */
    nest *nests;              /* by stage */
    int64_t *loop_ext;        /* by loop */
    const tc_expr **loop_val; /* by loop */
    TC_VEC(read_ref) reads;
    TC_VEC(input_slot) inputs;
    bool in_parallel;
    int64_t bytes; /* of all buffers allocated so far */
    int nalloc;    /* results of stages, without those of the function */
    int nbuffer;
    const char **used_names;
} builder;

/* bounds.c: fills n->min and n->ext of an attached stage from the accesses of its consumers. */
tc_status bounds_of_region(builder *b, nest *n);
/* The row of n's attach chain: is leaf position `pos` of stage `id` around (or at) everything that stage `inner` does? */
bool bounds_encloses(const builder *b, int id, int pos, int inner);

/* nest.c: extents, variables, values, guards and body of a stage whose region is known. */
tc_status nest_finish(builder *b, nest *n);
/* Assumes, until it is undone with the mark, what n's guards say of sizes, where its body is or where it initialises. */
size_t nest_suppose(builder *b, const nest *n, bool init);

/* emit.c */
tc_status emit_roots(builder *b, const tc_stmt **out);
/* cut.c: the parts of a root stage that are computed one after the other; 0: it is computed as a whole. */
int nest_cuts(builder *b, const nest *n, nest_part part[NEST_MAX_CUTS + 1]);
/* build.c */
tc_status new_stage_buffer(builder *b, nest *n, int o);
const storage *find_storage(builder *b, const tc_tensor *t);
int stage_of_tensor(const builder *b, const tc_tensor *t, int *out);
/* Element index of local coordinates. */
const tc_expr *flat_index(builder *b, const storage *at, const tc_expr *const *local, int ndim);

/* Extents of a layout's physical coordinates for logical extents `shape`. */
void tir_layout_extents(const tc_layout *l, const int64_t *shape, int64_t *out);

#endif
