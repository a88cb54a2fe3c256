/* src/schedule_primitives owns how a workload is computed: the schedule, every primitive (a file per family), the trace
 * of the steps that made it, and the text form .sched. Not here: which primitives are worth applying (src/search_space)
 * and the loops that come of them (src/tir_lower).
 *
 * The schedule: stages, loops and attach points over one workload. Built by applying trace steps; cheap to make and to throw
 * away.
 *
 * A stage is one compute, possibly rewritten by primitives. Its root loops are its axes then its reduction axes; split and fuse
 * make new loops and record the relation; `leaf` is the loop order, outermost first. Extents: `extent` is the static one, which
 * is what the axis has when its stage is computed at root. A stage attached inside a consumer computes only the region needed
 * there; tir_lower infers those extents, so factors are always inner ones and the outermost part of a split is inferred
 * (ceil). */
#ifndef TC_SCH_SCHEDULE_H
#define TC_SCH_SCHEDULE_H

#include "schedule_primitives/trace.h"

typedef int tc_loop; /* index into tc_sched.loops */

/* What a loop is: the table loop_kinds.def. */
typedef enum tc_for_kind {
#define LOOP(id, prim, is, text, inside) TC_FOR_##id,
#include "schedule_primitives/loop_kinds.def"
#undef LOOP
    TC_NFORS
} tc_for_kind;

typedef struct tc_for_info {
    tc_prim made_by;  /* TC_NPRIMS: no primitive */
    const char *is;   /* in messages: "vectorised" */
    const char *text; /* in the text of loop nests: "vectorized" */
    unsigned inside;  /* bits 1 << kind of the loops that may stand inside */
} tc_for_info;

typedef enum tc_attach { TC_ATTACH_ROOT, TC_ATTACH_AT, TC_ATTACH_INLINE } tc_attach;
typedef enum tc_scope { TC_SCOPE_GLOBAL, TC_SCOPE_LOCAL } tc_scope; /* LOCAL: registers or stack when attached inside a loop */

typedef struct tc_loop_info {
    const char *name; /* unique within the stage */
    int stage;
    bool reduce;    /* fuse and split never mix reduction and spatial loops */
    int64_t extent; /* static extent (see above) */
    tc_for_kind kind;
    const struct tc_intrinsic *unit; /* the instruction whose outermost loop this is; NULL: none */
} tc_loop_info;

/* SPLIT: whole -> parts[0..n) with factor[0] inferred: whole = ((p0 * f1 + p1) * f2 + p2)...
 * FUSE: parts (outer first) -> whole. */
typedef struct tc_rel {
    enum { TC_REL_SPLIT, TC_REL_FUSE } kind;
    tc_loop whole;
    int n;
    tc_loop parts[TC_MAX_PARTS];
    int64_t factor[TC_MAX_PARTS]; /* SPLIT: factor[0] unused */
} tc_rel;

/* Storage map of a buffer: logical coordinates -> physical coordinates; physical extents are derived from the logical ones. */
typedef struct tc_layout {
    int nin, nout;
    const tc_var *var[TC_MAX_DIMS];
    const tc_expr *to[TC_MAX_DIMS]; /* affine in var with / and % by constants */
} tc_layout;

typedef struct tc_pragma {
    const char *key;
    int64_t value;
} tc_pragma;

typedef struct tc_stage {
    const char *name;
    /* Current compute; reads tensors of other stages, inputs, or packed constants. Its out[] stay the same tensors whatever
     * primitives do to it, so tensor->op may be an older form: use tc_sch_stage_of, not tensor->op. */
    const tc_compute *op;
    tc_attach attach;
    int at_stage;
    tc_loop at_loop;
    tc_scope scope;
    bool is_output;
    int nroot;
    const tc_loop *root; /* axes then raxes */
    int nrel, nleaf, npragma;
    tc_rel *rel; /* in order of application */
    tc_loop *leaf;
    tc_pragma *pragma;
    const tc_layout *layout; /* NULL: row-major */
    int align_dim; /* -1, or storage_align: the stride of this dimension is padded to a multiple of align_factor elements */
    int64_t align_factor;
} tc_stage;

/* A constant input stored in another layout. Stages read `packed`, a placeholder with is_const, in place of `original`. Elements
 * of `packed` that no original element maps to are zero. */
typedef struct tc_packed {
    const tc_tensor *original, *packed;
    const tc_layout *layout;
    int64_t ahead; /* bytes that loops through it prefetch ahead; 0: none */
} tc_packed;

typedef struct tc_sched {
    tc_ctx *ctx; /* scratch context for everything the schedule makes */
    const tc_workload *workload;
    int nstage; /* topological: producers before consumers */
    tc_stage *stages;
    int nloop;
    tc_loop_info *loops;
    int npacked;
    tc_packed *packed;
    tc_trace *trace; /* what was applied, with decisions */
} tc_sched;

/* A schedule in which every compute is a root stage with its axes as loops. `ctx` must be workload->ctx or a child of it. */
tc_sched *tc_sch_new(tc_ctx *ctx, const tc_workload *w);
/* Applies one step. TC_ILLEGAL: a precondition fails; the schedule is unchanged and err says which and why ("compute_at: consumer
 * Z of D is outside loop Y.jm"). TC_BAD_INPUT: unknown name or wrong operand count. A sampled step without decision draws one
 * from `rng`, which may be NULL only if all are decided; a decision outside of the step's candidates is TC_ILLEGAL. err may be
 * NULL (search): nothing is formatted then. */
TC_NODISCARD tc_status tc_sch_apply(tc_sched *s, const tc_instr *step, tc_rng *rng, tc_error *err);
/* New schedule with all steps applied; on failure err names the step ("step 7, `split Y.i [_, 0]`: ..."). s->trace then has all
 * decisions. */
TC_NODISCARD tc_status tc_sch_replay(tc_ctx *ctx, const tc_workload *w, const tc_trace *t, tc_rng *rng, tc_sched **out,
                                     tc_error *err);

/* Prints what each stage computes, where, and in which loops, for people and golden tests. Only the trace can be read back. */
void tc_sch_print(tc_strbuf *b, const tc_sched *s);

const tc_for_info *tc_for_info_of(tc_for_kind kind);
bool tc_for_may_contain(tc_for_kind outer, tc_for_kind inner); /* at any depth */

int tc_sch_find_stage(const tc_sched *s, const char *name);         /* -1: none */
tc_loop tc_sch_find_loop(const tc_sched *s, const char *qualified); /* "Y.io"; -1: none */
int tc_sch_stage_of(const tc_sched *s, const tc_tensor *t);         /* stage that produces t; -1: an input */
/* Consumers of stage `st` (not inlined stages). Writes up to cap indices, returns how many there are. */
int tc_sch_consumers(const tc_sched *s, int st, int *out, int cap);
/* The different reads of t in op's bodies, in their order; cache_part names a read by its position here. Writes at most cap reads,
 * and returns how many it wrote. */
int tc_sch_reads_of(const tc_compute *op, const tc_tensor *t, const tc_expr **out, int cap);
bool tc_sch_reads_part(const tc_compute *op, const tc_expr *read); /* op does not reach all of its tensor by that read */
/* The only pragma: unroll from the innermost loop outwards, up to so many steps. */
#define TC_SCH_AUTO_UNROLL "auto_unroll_max"
int64_t tc_sch_pragma(const tc_stage *st, const char *key, int64_t otherwise);

/* Candidates of the sampled steps, for mutation. tile: see sample.h. Location: legal loops for compute_at of a stage, in order
 * from root inwards; returns count, names are "root", "Y.jm", ... */
int tc_sch_locations(const tc_sched *s, int stage, const char **out, int cap);
/* The value of a loop, as an expression of the loops that it became, is small enough for the indices that it becomes part of. Loops
 * that are fused in another order than they were split in, over and over, double the terms each time. */
enum { TC_SCH_MAX_INDEX = 4096 };
bool tc_sch_index_fits(const tc_expr *value);
/* Physical extents of a layout for a buffer of the given logical extents (of the whole tensor, or of the region that an attached
 * stage computes). False when an extent overflows; layouts of schedules are checked to be injective and never negative. */
bool tc_sch_layout_shape(const tc_layout *l, const int64_t *logical, int64_t *physical);

#endif
