/* The trace: the only description of a schedule that is stored, mutated, crossed over, sent to a worker or printed. Text form
 * `.sched`, one step a line; round-trips exactly. Stages and loops go by name; a loop is STAGE.LOOP where it is an operand and a
 * bare name where a step makes it (loop names are unique within their stage).
 *
 *   ti = sample_tile D.i parts=3 max_inner=16 ~[2, 6]       # decision: the inner parts, outermost first; the first part is
 * inferred u  = sample_categorical [0, 16, 64] ~64                 # decision: one of the values l  = sample_compute_location B
 * ~Y.jm                    # decision: a loop, `root` or `inline` io, ii = split Y.i [_, 6]                               #
 * factors: integers, or ti.1 (part 1 of ti), or u; `_` is inferred: ceil xo, yo, xi, yi = tile Y.i Y.j 8 16 f = fuse Y.io Y.jo #
 * adjacent loops, outer first reorder Y.io Y.jo Y.ii Y.ji                             # permutes the listed loops within the
 * places they occupy vectorize Y.ji     unroll Y.ii     parallel Y.f         # one a line, really compute_at D Y.jm compute_at B
 * l     compute_inline B     compute_root B C = cache_read W D global                               # new stage C copies tensor
 * W; stage D (or several, after W) reads C L = cache_write D local                                 # new stage L computes what D
 * computed; D copies it. Its axes: D's names R = rfactor D.ko                                        # new stage R with ko as
 * extra last axis; D reduces over it transform_layout W (k, j) -> (j / 64, k, j % 64)        # constant: packed at build time;
 * stage: its buffer's layout. ti.2 allowed storage_align D 0 16                                    # the stride of dimension 0
 * (the row pitch) becomes a multiple of 16 elements set_scope D local                                       # global | local
 *   pragma Y auto_unroll_max 64                             # key and value (integer or reference)
 *
 * Decisions are absent (`sample_tile D.i parts=3 max_inner=16`) in a sketch: replay draws them from the given generator. */
#ifndef TC_SCH_TRACE_H
#define TC_SCH_TRACE_H

#include "te/te.h"

typedef enum tc_prim {
#define PRIM(id, text, sampled) TC_PRIM_##id,
#include "schedule_primitives/primitives.def"
#undef PRIM
    TC_NPRIMS
} tc_prim;

const char *tc_prim_text(tc_prim p);
bool tc_prim_sampled(tc_prim p);

/* An integer operand: a literal, the inferred `_`, or a reference to a decision. */
typedef struct tc_int_arg {
    enum { TC_ARG_LITERAL, TC_ARG_INFER, TC_ARG_REF } kind;
    int64_t value;   /* LITERAL */
    const char *ref; /* REF: name of a sampled decision */
    int part;        /* REF: which part of a tile decision (0 = outermost), -1 for a categorical */
} tc_int_arg;

enum { TC_MAX_PARTS = 6 };

/* One step. Pointers live in the trace's arena and are immutable; only `ndec` and `dec`/`dec_loc` of sampled steps ever differ
 * between traces of one sketch. */
typedef struct tc_instr {
    tc_prim prim;
    int line, col; /* in the text it was parsed from, else 0 */
    int nouts;     /* names this step binds: loops, stages or a decision */
    const char *const *outs;
    int nnames; /* operands that are stages, tensors or loops ("D", "Y.io", or the name of a location decision) */
    const char *const *names;
    int nints;
    const tc_int_arg *ints; /* factors, values, parts/max_inner, pragma value */
    const char *text;       /* scope, pragma key, or layout text "(k, j) -> (j / 64, k, j % 64)" */
    int ndec; /* 0: undecided. sample_tile: parts-1 inner factors; categorical: 1 value; location: 1 (see dec_loc) */
    int64_t dec[TC_MAX_PARTS];
    const char *dec_loc; /* location decision: "Y.jm", "root" or "inline" */
} tc_instr;

typedef struct tc_trace {
    tc_arena *arena; /* where its steps live */
    int n;
    tc_instr *steps;
    uint64_t
        id; /* tc_trace_hash_steps, where it was kept: of a sketch and of its copies, which it tells from others; 0: was not */
} tc_trace;

TC_NODISCARD tc_status tc_trace_parse(tc_arena *a, const char *file, const char *text, tc_trace **out, tc_error *err);
void tc_trace_print(tc_strbuf *b, const tc_trace *t);
void tc_sch_print_step(tc_strbuf *b, const tc_instr *step); /* one line, without newline */
/* Deep enough copy into `a`: steps array is new (decisions can be changed); strings are copied too when `a` differs. */
tc_trace *tc_trace_copy(tc_arena *a, const tc_trace *t);
/* The same with a new array of steps alone: its strings are those of t, whose arena must live as long. */
tc_trace *tc_trace_fork(tc_arena *a, const tc_trace *t);
bool tc_trace_equal(const tc_trace *a, const tc_trace *b);
/* Equal traces have equal hashes. For tables in memory: it is not kept from one version to the next. */
uint64_t tc_trace_hash(const tc_trace *t);
bool tc_trace_same_steps(const tc_trace *a, const tc_trace *b); /* equal up to decisions */
/* In two parts: of its steps without their decisions, and with them. All instances of a sketch share the first. */
uint64_t tc_trace_hash_steps(const tc_trace *t);
uint64_t tc_trace_hash_decisions(uint64_t steps, const tc_trace *t);
/* The trace for tc_te_canonical(w) that does what t does to w: for recording what was written with a kernel's own names. Stages
 * and loops that t makes keep their names, unless these could be canonical ones. In `a`. */
tc_trace *tc_trace_canonical(tc_arena *a, const tc_workload *w, const tc_trace *t);

#endif
