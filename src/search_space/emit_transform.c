/* The rule for transforms: maps that multiply a few values by a constant matrix written as a choice of sums, as Winograd's
 * convolution has before and after its matmuls. Two of them in a row, for rows and columns, are one cluster:
 *
 *   parallel f = fused(outer axes):                    # tiles
 *     for c_o:
 *       first[..][c_v]                                 # registers, every case written out
 *       second[..][c_v], stored                        # every case written out
 *
 * An axis is `inner` if it distinguishes cases, here or in the member that is read along it. An axis that is used as (x / p, x % p)
 * is split by p, and its second half is inner. */
#include "search_space/space_int.h"

/* Cases of an axis, of which Winograd's F(4,3) has six; reads of one operand that make a transform. Chosen; not measured
 * apart. */
enum { MAX_CASES = 8, MIN_READS = 3 };

/* Per axis of a stage: 0: outer; its extent: inner; else the period by which it is split. */
typedef struct case_axes {
    const tc_compute *op;
    int64_t inner[TC_MAX_DIMS];
    bool chosen; /* by some axis */
} case_axes;

static int axis_of(const tc_compute *op, const tc_expr *e) {
    for (int x = 0; e->op == TC_OP_VAR && x < op->naxis; x++)
        if (op->axes[x].var == e->u.var)
            return x;
    return -1;
}

/* The axis that an index follows: alone (*period its extent) or modulo a short period; -1: neither. */
static int followed(const tc_compute *op, const tc_expr *e, int64_t *period) {
    bool mod = e->op == TC_OP_MOD && e->args[1]->op == TC_OP_INT;
    int x = axis_of(op, mod ? e->args[0] : e);
    if (x >= 0)
        *period = mod ? e->args[1]->u.i : op->axes[x].extent;
    return x >= 0 && *period >= 1 && *period <= MAX_CASES ? x : -1;
}

static void find_case(const tc_expr *e, void *user) {
    case_axes *k = user;
    int64_t period;
    if (e->op == TC_OP_SELECT && e->args[0]->op == TC_OP_EQ && e->args[0]->args[1]->op == TC_OP_INT) {
        int x = followed(k->op, e->args[0]->args[0], &period);
        if (x >= 0) {
            k->inner[x] = period;
            k->chosen = true;
        }
    } else if (e->op == TC_OP_MOD) {
        int x = followed(k->op, e, &period);
        if (x >= 0)
            k->inner[x] = period;
    }
}

static case_axes cases_of(const tc_compute *op) {
    case_axes k = {.op = op};
    tc_expr_walk(op->body[0], find_case, &k);
    return k;
}

typedef struct read_count {
    const tc_tensor *of;
    int n;
} read_count;

static void count_reads(const tc_expr *e, void *user) {
    read_count *r = user;
    r->n += e->op == TC_OP_READ && e->u.tensor == r->of;
}

static void most_reads(const tc_expr *e, void *user) {
    read_count *r = ((read_count **)user)[0];
    const tc_expr *body = ((const tc_expr **)user)[1];
    if (e->op != TC_OP_READ)
        return;
    read_count one = {.of = e->u.tensor};
    tc_expr_walk(body, count_reads, &one);
    r->n = one.n > r->n ? one.n : r->n;
}

bool tc_space_is_transform(const tc_compute *op) {
    if (op->reducer != TC_RED_NONE || op->naxis < 2 || !tc_dtype_is_float(op->body[0]->dtype) || !cases_of(op).chosen)
        return false;
    read_count most = {0};
    const void *user[2] = {&most, op->body[0]};
    tc_expr_walk(op->body[0], most_reads, user);
    return most.n >= MIN_READS;
}

/* ---- members ---- */

typedef struct member_reads {
    const tc_sched *s;
    int member;
    case_axes *head;
    const case_axes *cases; /* of the member */
    bool constant[TC_MAX_DIMS];
} member_reads;

/* An axis of the head along which a case of the member is read is inner as well: the member holds all its cases at once. */
static void follow_read(const tc_expr *e, void *user) {
    member_reads *r = user;
    if (e->op != TC_OP_READ || tc_sch_stage_of(r->s, e->u.tensor) != r->member)
        return;
    for (int d = 0; d < e->nargs; d++) {
        int64_t period;
        int x = followed(r->head->op, e->args[d], &period);
        r->constant[d] |= e->args[d]->op == TC_OP_INT;
        if (x >= 0 && r->cases->inner[d])
            r->head->inner[x] = period;
    }
}

static void emit_member(emitter *e, const tc_compute *op, const case_axes *cases, const bool *constant, loop_ref loop) {
    stage_ref stage = stage_called(op->name);
    tc_space_compute_at(&e->b, stage, loop);
    tc_space_keep_local(&e->b, stage);
    for (int x = 0; x < op->naxis - 1; x++)
        if (cases->inner[x] || constant[x])
            tc_space_unroll(&e->b, loop_of(stage, &op->axes[x]));
    tc_space_vectorize(&e->b, loop_of(stage, &op->axes[op->naxis - 1]));
}

/* ---- the head ---- */

static bool is_split(const case_axes *k, int x) {
    return k->inner[x] && k->inner[x] != k->op->axes[x].extent;
}

/* The loops of the head's axes but the last: `outer` walks the tiles, `inner` the cases. */
static void split_cases(emitter *e, const case_axes *k, loop_list *outer, loop_list *inner) {
    for (int x = 0; x < k->op->naxis - 1; x++) {
        loop_ref whole = loop_of(stage_called(k->op->name), &k->op->axes[x]), part[2];
        if (is_split(k, x)) {
            factor period = fixed(k->inner[x]);
            tc_space_split(&e->b, whole, "oi", &period, part);
            tc_space_list(outer, part[0]);
            tc_space_list(inner, part[1]);
        } else {
            tc_space_list(k->inner[x] ? inner : outer, whole);
        }
    }
}

/* The tasks: all outer loops but the last, whose borders are known in each of its steps; what there is, where it is the only
 * one. */
static loop_ref fuse_tasks(emitter *e, const loop_list *outer, loop_ref otherwise) {
    loop_list tasks = {0};
    for (int i = 0; i < outer->n - 1 && i < TC_MAX_PARTS; i++)
        tc_space_list(&tasks, outer->at[i]);
    if (tasks.n > 1)
        return tc_space_fuse(&e->b, &tasks, "tile");
    return outer->n ? outer->at[0] : otherwise;
}

/* Splits, orders and marks the head's loops; returns the loop that its members are computed at. */
static loop_ref emit_head(emitter *e, const case_axes *k) {
    const tc_compute *op = k->op;
    const tc_axis *last = &op->axes[op->naxis - 1];
    /* one vector: all cases of a tile fill the registers, and more of them only make the program longer */
    factor width = fixed(TC_MIN(last->extent, tc_space_lanes(e->an->m, op)));
    loop_list outer = {0}, inner = {0}, all;
    loop_ref c[2];
    split_cases(e, k, &outer, &inner);
    tc_space_split(&e->b, loop_of(stage_called(op->name), last), "ov", &width, c);
    all = outer;
    tc_space_list(&all, c[0]);
    tc_space_list_all(&all, &inner);
    tc_space_list(&all, c[1]);
    tc_space_reorder(&e->b, &all);
    tc_space_unroll_all(&e->b, &inner);
    tc_space_vectorize(&e->b, c[1]);
    loop_ref task = fuse_tasks(e, &outer, c[0]);
    if (!e->v.serial)
        tc_space_parallel(&e->b, task);
    return c[0];
}

void tc_space_emit_transform(emitter *e, const cluster *c) {
    const tc_sched *s = e->an->s;
    case_axes head = cases_of(s->stages[c->member[0]].op), cases[MAX_CLUSTER];
    member_reads r[MAX_CLUSTER];
    for (int i = 1; i < c->n; i++) {
        cases[i] = cases_of(s->stages[c->member[i]].op);
        r[i] = (member_reads){.s = s, .member = c->member[i], .head = &head, .cases = &cases[i]};
        tc_expr_walk(head.op->body[0], follow_read, &r[i]);
    }
    loop_ref loop = emit_head(e, &head);
    for (int i = 1; i < c->n; i++)
        emit_member(e, s->stages[c->member[i]].op, &cases[i], r[i].constant, loop);
}
