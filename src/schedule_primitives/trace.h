/* The trace: the only description of a schedule that is stored, mutated, crossed over, sent to a worker or printed. Text form
 * `.sched`, one step a line; round-trips exactly. Stages and loops go by name; a loop is STAGE.LOOP where it is an operand and a
 * bare name where a step makes it (loop names are unique within their stage).
 *
 *   [NAME, .. =] PRIMITIVE [OPERAND ..] [TEXT] [INTEGERS] [~DECISION]          # to the end of the line
 *
 *   ti = sample_tile D.i parts=3 max_inner=16 ~[2, 6]
 *   i_0, i_1, i_2 = split Y.i [_, ti.1, ti.2]
 *   compute_at D Y.i_1
 *
 * An integer is a literal, `_` (inferred), or a decision: ti.1 is part 1 of a tile, u the value of a categorical one. All
 * primitives, each with an example: primitives.def. */
#ifndef TC_SCH_TRACE_H
#define TC_SCH_TRACE_H

#include "te/te.h"

typedef enum tc_prim {
#define SAMPLED(id, ...) TC_PRIM_##id,
#define PRIM(id, ...) TC_PRIM_##id,
#include "schedule_primitives/primitives.def"
#undef SAMPLED
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
    const char *text;       /* scope, pragma key, unit, or layout text "(k, j) -> (j / 64, k, j % 64)" */
    int ndec; /* 0: undecided. sample_tile: parts-1 inner factors; categorical: 1 value; location: 1 (see dec_loc) */
    int64_t dec[TC_MAX_PARTS];
    const char *dec_loc; /* location decision: "Y.jm", "root" or "inline" */
} tc_instr;

typedef struct tc_trace {
    tc_arena *arena; /* where its steps live */
    int n;
    tc_instr *steps;
    /* tc_trace_hash_steps, where it was kept: of a sketch and of its copies, which it tells from others; 0: was not */
    uint64_t id;
} tc_trace;

TC_NODISCARD tc_status tc_trace_parse(tc_arena *a, const char *file, const char *text, tc_trace **out, tc_error *err);
void tc_trace_print(tc_strbuf *b, const tc_trace *t);
const char *tc_trace_text(tc_arena *a, const tc_trace *t);  /* what it prints, in the arena */
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
/* The reverse, for people: t, which is in canonical names, in those of w. Names that t makes stay, also where w has the same
 * name: replay the result before it is used. In `a`. */
tc_trace *tc_trace_own(tc_arena *a, const tc_workload *w, const tc_trace *t);

#endif
