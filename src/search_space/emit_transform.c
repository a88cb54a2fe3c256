/* The rule for transforms: maps that multiply a few values by a constant matrix written as a choice of sums, as Winograd's
 * convolution has before and after its matmuls. Two of them in a row, for rows and columns, are one cluster:
 *
 *   parallel f = fused(outer axes):                    # tiles
 *     for c_o:
 *       first[..][c_v]                                 # registers, every case written out
 *       second[..][c_v], stored                        # every case written out
 *
 * An axis is `inner` when cases are told apart by it, here or in the member that is read along it; an axis that is used as
 * (x / p, x % p) is split by p, and its second half is inner. */
#include "search_space/space_int.h"

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

static void emit_member(emitter *e, const tc_compute *op, const case_axes *cases, const bool *constant, const char *loop) {
    const char *n = op->name;
    tc_space_step(e, "compute_at %s %s", n, loop);
    tc_space_step(e, "set_scope %s local", n);
    for (int x = 0; x < op->naxis - 1; x++)
        if (cases->inner[x] || constant[x])
            tc_space_step(e, "unroll %s.%s", n, op->axes[x].var->name);
    tc_space_step(e, "vectorize %s.%s", n, op->axes[op->naxis - 1].var->name);
}

/* ---- the head ---- */

static bool is_split(const case_axes *k, int x) {
    return k->inner[x] && k->inner[x] != k->op->axes[x].extent;
}

/* Splits, orders and marks the head's loops; returns the loop that its members are computed at. */
static const char *emit_head(emitter *e, const case_axes *k) {
    const tc_compute *op = k->op;
    const char *n = op->name, *last = op->axes[op->naxis - 1].var->name;
    /* one vector: all cases of a tile fill the registers, and more of them only make the program longer */
    const char *width =
        tc_arena_printf(e->arena, "%lld", (long long)TC_MIN(op->axes[op->naxis - 1].extent, tc_space_lanes(e->an->m, op)));
    tc_strbuf outer = {0}, inner = {0}, tasks = {0};
    int ntask = 0;
    for (int x = 0; x < op->naxis - 1; x++) {
        const char *v = op->axes[x].var->name;
        if (is_split(k, x))
            tc_space_step(e, "%s_o, %s_i = split %s.%s [_, %lld]", v, v, n, v, (long long)k->inner[x]);
        if (k->inner[x])
            tc_sb_printf(&inner, " %s.%s%s", n, v, is_split(k, x) ? "_i" : "");
        if (!k->inner[x] || is_split(k, x))
            tc_sb_printf(&outer, " %s.%s%s", n, v, is_split(k, x) ? "_o" : "");
    }
    tc_space_step(e, "%s_o, %s_v = split %s.%s [_, %s]", last, last, n, last, width);
    tc_space_step(e, "reorder%s %s.%s_o%s %s.%s_v", tc_sb_str(&outer), n, last, tc_sb_str(&inner), n, last);
    for (int x = 0; x < op->naxis - 1; x++)
        if (k->inner[x])
            tc_space_step(e, "unroll %s.%s%s", n, op->axes[x].var->name, is_split(k, x) ? "_i" : "");
    tc_space_step(e, "vectorize %s.%s_v", n, last);
    const char *task = NULL;
    for (int x = 0; x < op->naxis - 1; x++) { /* all but the last: the tasks; their borders are known in the last one's loop */
        if (k->inner[x] && !is_split(k, x))
            continue;
        const char *loop = tc_arena_printf(e->arena, "%s%s", op->axes[x].var->name, is_split(k, x) ? "_o" : "");
        if (task && ntask < TC_MAX_PARTS) {
            tc_sb_printf(&tasks, " %s.%s", n, task);
            ntask++;
        }
        task = loop;
    }
    if (ntask > 1) {
        tc_space_step(e, "tile = fuse%s", tc_sb_str(&tasks));
        tc_sb_clear(&tasks);
        tc_sb_printf(&tasks, " %s.tile", n);
    } else if (ntask == 0) {
        tc_sb_printf(&tasks, " %s.%s", n, task ? task : tc_arena_printf(e->arena, "%s_o", last));
    }
    if (!e->v.serial)
        tc_space_step(e, "parallel%s", tc_sb_str(&tasks));
    tc_strbuf_free(&outer);
    tc_strbuf_free(&inner);
    tc_strbuf_free(&tasks);
    return tc_arena_printf(e->arena, "%s.%s_o", n, last);
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
    const char *loop = emit_head(e, &head);
    for (int i = 1; i < c->n; i++)
        emit_member(e, s->stages[c->member[i]].op, &cases[i], r[i].constant, loop);
}
