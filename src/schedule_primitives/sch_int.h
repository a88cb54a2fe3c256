/* What the files of this folder share. A primitive is one function `tc_sch_do_X(s, step, err)`: it reads its operands, checks
 * every precondition, and only then changes the schedule, so that a refusal leaves nothing behind. The few checks that need the
 * changed schedule (attach points after a reorder) change, check and put back.
 *
 * Messages begin with the primitive's name. Nothing is formatted when err is NULL: in a search a refusal is only a status. */
#ifndef TC_SCH_INT_H
#define TC_SCH_INT_H

#include <string.h>

#include "schedule_primitives/sample.h"
#include "schedule_primitives/schedule.h"
#include "support/vec.h"

enum { TC_SCH_MAX_NAMES = 64, TC_SCH_MAX_VALUES = 64 };

/* Deep copy of one step: every string and array is new and lives in `a`. */
tc_instr tc_sch_copy_step(tc_arena *a, const tc_instr *in);

/* A decision made by a sampled step, by name. Tiles: part[0] is the inferred outermost factor. */
typedef struct tc_sch_decision {
    const char *name;
    tc_prim prim;
    int n;
    int64_t part[TC_MAX_PARTS];
    const char *loc;
} tc_sch_decision;

/* How a step is written and what it does: a row of primitives.def. */
typedef tc_status tc_sch_do(tc_sched *s, const tc_instr *in, tc_error *err);
/* Makes (where `in` has none) and checks the decision of a sampled step. */
typedef tc_status tc_sch_decide(tc_sched *s, tc_instr *in, tc_rng *rng, tc_sch_decision *d, tc_error *err);
typedef enum tc_sch_binds { TC_BINDS_NOTHING, TC_BINDS_DECISION, TC_BINDS_LOOPS, TC_BINDS_STAGE, TC_BINDS_COPY } tc_sch_binds;
typedef enum tc_sch_ints { TC_INTS_NONE, TC_INTS_PLAIN, TC_INTS_LIST, TC_INTS_TILE } tc_sch_ints;
typedef enum tc_sch_text { TC_TEXT_NONE, TC_TEXT_SCOPE, TC_TEXT_KEY, TC_TEXT_LAYOUT, TC_TEXT_UNIT } tc_sch_text;

typedef struct tc_sch_form {
    const char *word;
    tc_sch_do *run;        /* NULL: a sampled step */
    tc_sch_decide *decide; /* NULL: any other */
    tc_sch_binds binds;
    int min_outs, max_outs;
    int min_names, max_names;
    tc_sch_ints ints;
    int min_ints, max_ints;
    tc_sch_text text;
    const char *usage; /* an example, for messages */
} tc_sch_form;

const tc_sch_form *tc_sch_form_of(tc_prim p);

/* What a stage's current compute reads: each tensor once, in order of first use. */
typedef struct tc_sch_reads {
    int n;
    const tc_tensor **t;
} tc_sch_reads;

/* The schedule with its private part; `pub` is what other folders see. reads[i] belongs to pub.stages[i]. */
typedef struct tc_sch_impl {
    tc_sched pub;
    int cap_stage, cap_loop, cap_step, cap_decision;
    tc_sch_reads *reads;
    int ndecision;
    tc_sch_decision *decisions;
} tc_sch_impl;

static inline tc_sch_impl *tc_sch_impl_of(const tc_sched *s) {
    return (tc_sch_impl *)s;
}

tc_status tc_sch_fail(tc_error *err, tc_status status, const tc_instr *in, const char *fmt, ...) TC_PRINTF(4, 5);

/* The operands of the message are evaluated only when somebody wants the message. */
#define REFUSE(err, in, ...) ((err) ? tc_sch_fail((err), TC_ILLEGAL, (in), __VA_ARGS__) : TC_ILLEGAL)
#define BAD(err, in, ...) ((err) ? tc_sch_fail((err), TC_BAD_INPUT, (in), __VA_ARGS__) : TC_BAD_INPUT)

/* ---- bound.c: what schedules may grow to ---- */
/* Refuses a compute that a step would give a stage, if its bodies exceed the limits of te/expr.h. */
tc_status tc_sch_check_bodies(const tc_instr *in, const char *stage, const tc_compute *op, tc_error *err);
/* There is room for n more loops of the stage; for one more stage. */
tc_status tc_sch_room_for_loops(const tc_sched *s, const tc_instr *in, int stage, int n, tc_error *err);
tc_status tc_sch_room_for_stage(const tc_sched *s, const tc_instr *in, tc_error *err);

/* ---- sched.c: making and changing stages ---- */
/* Inserts a root stage for `op` before index `at`; its loops are op's axes. Indices of later stages move up by one. */
tc_stage *tc_sch_insert_stage(tc_sched *s, int at, const char *name, const tc_compute *op);
/* Gives stage `st` another compute with the same outputs; recomputes what it reads. */
void tc_sch_set_op(tc_sched *s, int st, const tc_compute *op);
/* `op` with other bodies: same axes, reducer and output tensors. */
const tc_compute *tc_sch_with_body(tc_sched *s, const tc_compute *op, const tc_expr *const *body);
tc_loop tc_sch_new_loop(tc_sched *s, int stage, const char *name, bool reduce, int64_t extent);
/* Replaces leaf[pos .. pos+n) by with[0 .. m). */
void tc_sch_splice_leaf(tc_sched *s, int stage, int pos, int n, const tc_loop *with, int m);
void tc_sch_add_rel(tc_sched *s, int stage, const tc_rel *rel);

/* ---- query.c ---- */
int tc_sch_leaf_pos(const tc_stage *st, tc_loop l); /* -1: not a leaf */
bool tc_sch_reads_tensor(const tc_sched *s, int stage, const tc_tensor *t);
bool tc_sch_reads_stage(const tc_sched *s, int stage, int producer);
/* First stage attached at any loop of `stage`, or at `loop` only when loop >= 0; -1: none. */
int tc_sch_attached_in(const tc_sched *s, int stage, tc_loop loop);
const tc_sch_decision *tc_sch_find_decision(const tc_sched *s, const char *name, size_t len);
/* Operand `k` of the step. TC_BAD_INPUT: no such stage, loop or tensor. TC_ILLEGAL: a stage that was inlined, a loop that was
 * split or fused. */
tc_status tc_sch_stage_operand(const tc_sched *s, const tc_instr *in, int k, int *stage, tc_error *err);
tc_status tc_sch_leaf_operand(const tc_sched *s, const tc_instr *in, int k, tc_loop *loop, tc_error *err);
tc_status tc_sch_tensor_operand(const tc_sched *s, const tc_instr *in, int k, const tc_tensor **t, tc_error *err);
/* Value of integer operand `k`: the literal, or what the decision it refers to says. */
tc_status tc_sch_int_operand(const tc_sched *s, const tc_instr *in, int k, int64_t *v, tc_error *err);
tc_status tc_sch_scope_operand(const tc_instr *in, tc_scope *scope, tc_error *err);
/* Names for new loops of a stage, or a new stage: not in use, not twice. */
tc_status tc_sch_new_loop_names(const tc_sched *s, const tc_instr *in, int stage, int n, const char *const *names, tc_error *err);
tc_status tc_sch_new_stage_name(const tc_sched *s, const tc_instr *in, const char *name, tc_error *err);
/* How messages name a loop of a leaf operand: "Y.io". Operands already are qualified, so this is for other loops; lives in the
 * arena. */
const char *tc_sch_loop_text(const tc_sched *s, tc_loop l);

/* ---- attach.c ---- */
/* Why an attach point is not allowed; see tc_sch_check_attach. */
typedef struct tc_sch_why {
    enum { TC_WHY_OK, TC_WHY_NOT_LEAF, TC_WHY_VECTOR, TC_WHY_CONSUMER } kind;
    int stage;    /* the attached stage */
    int consumer; /* CONSUMER: the one outside of the loop */
    tc_loop loop; /* VECTOR: the vectorised loop */
} tc_sch_why;
/* Checks that every attached stage computes before and around all of its consumers. only >= 0: the stages attached in that
 * stage. */
bool tc_sch_check_attach(const tc_sched *s, int only, tc_sch_why *why);
tc_status tc_sch_refuse_why(const tc_sched *s, const tc_instr *in, const tc_sch_why *why, tc_error *err);
bool tc_sch_can_root(tc_sched *s, int stage);
bool tc_sch_can_attach(tc_sched *s, int stage, int at_stage, tc_loop loop, tc_sch_why *why);
/* Legality of inlining alone; the reason goes to err under the name of `in`. */
tc_status tc_sch_can_inline(const tc_sched *s, int stage, const tc_instr *in, tc_error *err);
void tc_sch_inline(tc_sched *s, int stage);

/* ---- layout_text.c ---- */
tc_status tc_sch_parse_layout(const tc_sched *s, const tc_instr *in, const tc_layout **out, tc_error *err);

/* ---- the primitives ---- */
tc_sch_do tc_sch_do_split, tc_sch_do_tile, tc_sch_do_fuse, tc_sch_do_reorder, tc_sch_do_annotate, tc_sch_do_compute_at,
    tc_sch_do_compute_inline, tc_sch_do_compute_root, tc_sch_do_cache_read, tc_sch_do_cache_part, tc_sch_do_cache_write,
    tc_sch_do_rfactor, tc_sch_do_transform_layout, tc_sch_do_storage_align, tc_sch_do_set_scope, tc_sch_do_pragma,
    tc_sch_do_tensorize, tc_sch_do_prefetch;
tc_sch_decide tc_sch_decide_tile, tc_sch_decide_category, tc_sch_decide_location;
/* Sampled steps complete `in` with the decision (drawn if it has none) and bind its name. */
tc_status tc_sch_do_sampled(tc_sched *s, tc_instr *in, tc_rng *rng, tc_error *err);

#endif
