/* The multi-level tiling rule, for a reduction with reuse (matmul, convolution) and the elementwise head that consumes it.
 *
 * Register tile, whole reduction inside (full K):            K-blocked (accumulators rest in a cache block between blocks of K):
 *   parallel f = fused(row_0.., vec_0):                        parallel f = fused(row_0.., vec_0):
 *     for vec_1, row_1..:                                        acc[block] = 0
 *       acc[row_2][vec_2] = 0           # registers              for k0, vec tiles, row tiles, k1: acc[tile] += ..   # tile in
 * registers for k_o: acc += ..              # k_u unrolled           epilogue over the block epilogue on the tile, one store
 *
 * Axes of the head are tiled; the anchor is computed inside and its region follows. An axis is `batch` when every operand uses it
 * (nothing to reuse across it), `vec` when it runs along the output's last dimension, else `row`. Operands that use the vec axis
 * are packed: constants at build time, others by a cached copy at root or per parallel task (BLIS's packing, Van Zee and van de
 * Geijn 2015). */
#include "search_space/space_int.h"

#include <string.h>

enum {
    MAX_VEC_REGS = 8,
    MAX_BLOCK_ROWS = 256,
    MAX_BLOCK_VECS = 64,
    MIN_BLOCKED_K = 256,
    MAX_UNROLL_K = 16,
    MAX_TAPS = 25,
    MAX_PHASE = 4
};

typedef enum axis_role { AXIS_BATCH, AXIS_ROW, AXIS_VEC } axis_role;

typedef struct anchor_plan {
    const tc_compute *head;      /* whose axes are tiled */
    const tc_compute *op;        /* the reduction (its body; renamed when a write cache is made) */
    const char *acc;             /* name of the stage that reduces */
    int lanes, reads;            /* reads: places at which the head reads the anchor */
    axis_role role[TC_MAX_DIMS]; /* of the head's axes */
    int dim[TC_MAX_DIMS];        /* anchor axis that a head axis walks, -1: none */
    int vec;                     /* head axis that carries the vectors */
    int acc_vec;                 /* anchor axis that carries the vectors */
    int group;                   /* steps of the last reduction that one dot instruction takes; 1: there is none */
    bool blocked;                /* the reduction is blocked outside of a cache tile */
    bool batch_inside;           /* packed operands hold the panels of all batches side by side */
    const char *width;           /* decision: register width */
    const char *outer[TC_MAX_DIMS * 2];
    int nouter;
} anchor_plan;

typedef struct find {
    const tc_sched *s;
    int stage, n;
    const tc_expr *read;
} find;

static void find_read(const tc_expr *e, void *user) {
    find *f = user;
    if (e->op == TC_OP_READ && tc_sch_stage_of(f->s, e->u.tensor) == f->stage) {
        f->read = e;
        f->n++;
    }
}

/* Anchor dimension whose index in `read` runs with coefficient 1 along v; -1: none. */
static int dim_along(tc_ctx *ctx, const tc_expr *read, const tc_var *v) {
    for (int d = 0; d < read->nargs; d++) {
        tc_affine a;
        if (!tc_expr_uses_var(read->args[d], v) || !tc_te_affine(ctx, read->args[d], NULL, &a))
            continue;
        for (int t = 0; t < a.n; t++)
            if (a.term[t].atom->op == TC_OP_VAR && a.term[t].atom->u.var == v && a.term[t].coef == 1)
                return d;
    }
    return -1;
}

static void check_batch(const tc_expr *e, void *user) {
    const tc_var *v = ((void **)user)[0];
    if (e->op != TC_OP_READ)
        return;
    for (int i = 0; i < e->nargs; i++)
        if (tc_expr_uses_var(e->args[i], v))
            return;
    *(bool *)((void **)user)[1] = false;
}

/* Every operand of the reduction depends on axis a. */
static bool is_batch(const tc_compute *op, int a) {
    bool all = true;
    void *user[2] = {(void *)(uintptr_t)op->axes[a].var, &all};
    tc_expr_walk(op->body[0], check_batch, user);
    return all;
}

static void plan_axes(const analysis *an, int head, int anchor, anchor_plan *p) {
    *p = (anchor_plan){.head = an->s->stages[head].op, .op = an->s->stages[anchor].op};
    p->lanes = tc_space_lanes(an->m, p->op);
    const tc_compute *h = p->head;
    find f = {.s = an->s, .stage = anchor};
    if (h != p->op)
        tc_expr_walk(h->body[0], find_read, &f);
    p->reads = f.n;
    const tc_expr *read = f.read;
    p->vec = p->acc_vec = -1;
    for (int x = h->naxis - 1; x >= 0; x--) {
        int d = h == p->op ? x : dim_along(an->ctx, read, h->axes[x].var);
        p->dim[x] = d;
        p->role[x] = d < 0 || is_batch(p->op, d) ? AXIS_BATCH : AXIS_ROW;
        if (p->vec < 0 && d >= 0 && (h->axes[x].extent > 1 || x == 0) && h->axes[x].var != an->split_k) {
            p->vec = x;
            p->acc_vec = d;
            p->role[x] = AXIS_VEC;
        }
    }
}

const char *tc_space_sample_vec(emitter *e, int id, int64_t extent, int lanes) {
    int64_t v[MAX_VEC_REGS + 1];
    int n = 0;
    for (int k = 1; k <= MAX_VEC_REGS; k++)
        if (n == 0 || (int64_t)lanes * k < extent + lanes)
            v[n++] = (int64_t)lanes * k;
    if (extent <= (int64_t)lanes * 4 && extent % lanes && extent != v[0])
        v[n++] = extent;
    return tc_space_sample_choice(e, ROLE_VEC, id, n, v, extent);
}

static const char *qualify(emitter *e, const char *stage, const char *loop) {
    return tc_arena_printf(e->arena, "%s.%s", stage, loop);
}

static const char *name_of(const tc_compute *op, int axis) {
    return op->axes[axis].var->name;
}

/* Adds " STAGE.LOOP" to a list of loops. */
static void list_add(tc_strbuf *b, const char *stage, const char *loop) {
    tc_sb_printf(b, " %s.%s", stage, loop);
}

/* ---- operands ---- */

static int vec_dim(const analysis *an, const anchor_plan *p, const tc_expr *read) {
    return dim_along(an->ctx, read, p->op->axes[p->acc_vec].var);
}

/* Dimension d of the operand is walked by the reduction. */
static bool reduce_dim(const anchor_plan *p, const tc_expr *read, int d) {
    for (int k = 0; k < p->op->nraxis; k++)
        if (tc_expr_uses_var(read->args[d], p->op->raxes[k].var))
            return true;
    return false;
}

/* "(x0, x1) -> (x1 / v, x0, x1 % v)": batch dimensions, then blocks of the vector dimension (or these first), then the rest, then
 * the vector lanes. */
static const char *packed_layout(emitter *e, const anchor_plan *p, const tc_expr *read, int dv) {
    tc_strbuf b = {0};
    tc_sb_addc(&b, '(');
    for (int d = 0; d < read->nargs; d++)
        tc_sb_printf(&b, "%sx%d", d ? ", " : "", d);
    tc_sb_add(&b, ") -> (");
    if (p->batch_inside)
        tc_sb_printf(&b, "x%d / %s, ", dv, p->width);
    for (int d = 0; d < read->nargs; d++)
        if (d != dv && !reduce_dim(p, read, d))
            tc_sb_printf(&b, "x%d, ", d);
    if (!p->batch_inside)
        tc_sb_printf(&b, "x%d / %s, ", dv, p->width);
    int steps = -1; /* dimension whose neighbours one dot instruction takes */
    for (int d = 0; d < read->nargs; d++) {
        if (d == dv || !reduce_dim(p, read, d))
            continue;
        bool last = p->group > 1 && tc_expr_uses_var(read->args[d], p->op->raxes[p->op->nraxis - 1].var);
        tc_sb_printf(&b, last ? "x%d / %d, " : "x%d, ", d, p->group);
        steps = last ? d : steps;
    }
    tc_sb_printf(&b, "x%d %% %s", dv, p->width);
    if (steps >= 0)
        tc_sb_printf(&b, ", x%d %% %d", steps, p->group);
    tc_sb_addc(&b, ')');
    const char *s = tc_arena_strdup(e->arena, tc_sb_str(&b));
    tc_strbuf_free(&b);
    return s;
}

/* Name of axis d of a cached copy of t: as in t's producer, or ax0, ax1, ... for an input. */
static const char *copy_axis(emitter *e, const tc_tensor *t, int d) {
    int st = tc_sch_stage_of(e->an->s, t);
    return st < 0 ? tc_arena_printf(e->arena, "ax%d", d) : e->an->s->stages[st].op->axes[d].var->name;
}

/* A cached, packed copy of operand `read`: batch dimensions, blocks of the vector dimension, reduction dimensions, then the
 * vector. */
static void emit_packed_copy(emitter *e, const anchor_plan *p, const tc_expr *read, int dv, const char *task) {
    const tc_tensor *t = read->u.tensor;
    const char *n = tc_arena_printf(e->arena, "%s_pk%d", t->name, e->unique++), *v = copy_axis(e, t, dv), *first = NULL;
    tc_space_step(e, "%s = cache_read %s %s global", n, t->name, p->acc);
    tc_space_step(e, "transform_layout %s %s", n, packed_layout(e, p, read, dv));
    tc_space_step(e, "%s_o, %s_v = split %s.%s [_, %s]", v, v, n, v, p->width);
    tc_strbuf order = {0};
    for (int pass = 0; pass < 3; pass++)
        for (int d = 0; d < t->ndim; d++) {
            if ((d == dv) != (pass == 1) || (d != dv && reduce_dim(p, read, d) != (pass == 2)))
                continue;
            const char *l = d == dv ? tc_arena_printf(e->arena, "%s_o", v) : copy_axis(e, t, d);
            list_add(&order, n, l);
            first = first ? first : l;
        }
    tc_space_step(e, "reorder%s %s.%s_v", tc_sb_str(&order), n, v);
    tc_strbuf_free(&order);
    tc_space_step(e, "vectorize %s.%s_v", n, v);
    if (task)
        tc_space_step(e, "compute_at %s %s", n, task);
    else if (!e->v.serial)
        tc_space_step(e, "parallel %s.%s", n, first);
}

typedef struct operand_list {
    int n;
    const tc_expr *read[MAX_READS];
} operand_list;

static void add_operand(const tc_expr *e, void *user) {
    operand_list *l = user;
    if (e->op != TC_OP_READ || l->n == MAX_READS)
        return;
    for (int i = 0; i < l->n; i++)
        if (l->read[i]->u.tensor == e->u.tensor)
            return;
    l->read[l->n++] = e;
}

/* Some spatial axis longer than one does not walk the operand, so its values are used again by every step of that axis. */
static bool reused(const anchor_plan *p, const tc_expr *read) {
    for (int x = 0; x < p->op->naxis; x++) {
        bool used = p->op->axes[x].extent < 2;
        for (int d = 0; d < read->nargs && !used; d++)
            used = tc_expr_uses_var(read->args[d], p->op->axes[x].var);
        if (!used)
            return true;
    }
    return false;
}

/* Operands of the reduction that are walked by its vector axis and by its reduction, and used more than once per value (a
 * depthwise convolution's image is not: copying it costs more than it saves): those a layout pays for. */
static operand_list vector_operands(const analysis *an, const anchor_plan *p) {
    operand_list all = {0}, out = {0};
    tc_expr_walk(p->op->body[0], add_operand, &all);
    for (int i = 0; i < all.n; i++) {
        int dv = vec_dim(an, p, all.read[i]);
        bool reduces = false;
        for (int d = 0; d < all.read[i]->nargs; d++)
            reduces |= d != dv && reduce_dim(p, all.read[i], d);
        if (dv >= 0 && reduces && (all.read[i]->u.tensor->is_const || reused(p, all.read[i])))
            out.read[out.n++] = all.read[i];
    }
    return out;
}

/* A constant has one layout: of several anchors that read it, the first one chooses. */
static void emit_packed_constant(emitter *e, const anchor_plan *p, const tc_expr *read, int dv) {
    const tc_tensor *t = read->u.tensor;
    for (size_t i = 0; i < e->packed.len; i++)
        if (e->packed.data[i] == t)
            return;
    tc_push(&e->packed, t);
    tc_space_step(e, "transform_layout %s %s", t->name, packed_layout(e, p, read, dv));
}

static void emit_operands(emitter *e, const anchor_plan *p, const char *task) {
    operand_list l = vector_operands(e->an, p);
    for (int i = 0; i < l.n; i++) {
        const tc_tensor *t = l.read[i]->u.tensor;
        int dv = vec_dim(e->an, p, l.read[i]);
        if (t->is_const)
            emit_packed_constant(e, p, l.read[i], dv);
        else if (e->v.pack == 1 || (e->v.pack == 2 && task))
            emit_packed_copy(e, p, l.read[i], dv, e->v.pack == 2 ? task : NULL);
    }
}

/* ---- parities ---- */

typedef struct phase_query {
    const tc_var *v;
    int64_t phase;
} phase_query;

static void find_phase(const tc_expr *e, void *user) {
    phase_query *q = user;
    if (e->op == TC_OP_MOD && e->args[1]->op == TC_OP_INT && e->args[1]->u.i > 1 && e->args[1]->u.i <= MAX_PHASE &&
        tc_expr_uses_var(e->args[0], q->v))
        q->phase = e->args[1]->u.i;
}

/* The period with which conditions on axis d's index repeat: the stride of a transposed convolution. */
static int64_t phase_of(const tc_compute *op, int d) {
    phase_query q = {.v = d < 0 ? NULL : op->axes[d].var, .phase = 1};
    if (d >= 0)
        tc_expr_walk(op->body[0], find_phase, &q);
    return q.phase;
}

static bool phased(const tc_compute *op) {
    int64_t taps = 1;
    bool any = false;
    for (int r = 0; r < op->nraxis - 1; r++)
        taps *= op->raxes[r].extent;
    for (int d = 0; d < op->naxis; d++)
        any |= phase_of(op, d) > 1;
    return any && taps > 1 && taps <= MAX_TAPS;
}

/* ---- loops ---- */

/* Splits the head's axes; outer parts in p->outer, middle and inner parts in the buffers (vec last unless rows run inside of it).
 */
static void tile_head(emitter *e, anchor_plan *p, int id, tc_strbuf *mid, tc_strbuf *in) {
    const tc_compute *h = p->head;
    const char *v = name_of(h, p->vec), *vec_mid = tc_arena_printf(e->arena, "%s_1", v);
    p->width = tc_space_sample_vec(e, id, h->axes[p->vec].extent, p->lanes);
    tc_space_step(e, "%s_t, %s_v = split %s.%s [_, %s]", v, v, h->name, v, p->width);
    const char *vt = qualify(e, h->name, tc_arena_printf(e->arena, "%s_t", v));
    const char *tv =
        tc_space_sample_tile(e, p->blocked ? ROLE_BLOCK_VEC : ROLE_VEC_OUTER, id, vt, 2, MAX_BLOCK_VECS, h->axes[p->vec].extent);
    tc_space_step(e, "%s_0, %s_1 = split %s [_, %s.1]", v, v, vt, tv);
    for (int x = 0; x < h->naxis; x++)
        if (p->role[x] == AXIS_BATCH)
            p->outer[p->nouter++] = name_of(h, x);
    const char *vec_outer = tc_arena_printf(e->arena, "%s_0", v);
    bool whole = e->v.chain && !e->at; /* what is computed per task must not be computed again for the next block of vectors */
    if (whole)
        list_add(mid, h->name, vec_outer);
    if (e->v.rows_inner) { /* tasks and cache tiles walk the rows fastest: a panel of the vector operand stays in cache */
        if (!whole)
            p->outer[p->nouter++] = vec_outer;
        list_add(mid, h->name, vec_mid);
    }
    for (int x = 0; x < h->naxis; x++) {
        const char *n = name_of(h, x), *q = qualify(e, h->name, n);
        if (p->role[x] != AXIS_ROW)
            continue;
        p->outer[p->nouter++] = tc_arena_printf(e->arena, "%s_0", n);
        if (p->blocked) {
            const char *t = tc_space_sample_tile(e, ROLE_BLOCK_ROW, id, q, 2, MAX_BLOCK_ROWS, h->axes[x].extent);
            tc_space_step(e, "%s_0, %s_1 = split %s [_, %s.1]", n, n, q, t);
            list_add(mid, h->name, tc_arena_printf(e->arena, "%s_1", n));
            continue;
        }
        const char *t = tc_space_sample_tile(e, ROLE_ROW_TILE, id, q, 3, e->an->m->vector_regs - 4, h->axes[x].extent);
        e->dec.data[e->dec.len - 1].phase = e->v.taps ? phase_of(p->op, p->dim[x]) : 1;
        tc_space_step(e, "%s_0, %s_1, %s_2 = split %s [_, %s.1, %s.2]", n, n, n, q, t, t);
        list_add(mid, h->name, tc_arena_printf(e->arena, "%s_1", n));
        list_add(in, h->name, tc_arena_printf(e->arena, "%s_2", n));
    }
    if (!e->v.rows_inner) {
        if (!whole)
            p->outer[p->nouter++] = vec_outer;
        list_add(mid, h->name, vec_mid);
    }
    list_add(in, h->name, tc_arena_printf(e->arena, "%s_v", v));
}

static const char *last_word(const char *list) {
    const char *s = strrchr(list, ' ');
    return s ? s + 1 : list;
}

/* Orders the head's loops and fuses the outer ones; returns the qualified outer (task) loop. A head that is computed in another
 * one's task has no tasks of its own. */
static const char *order_head(emitter *e, anchor_plan *p, const char *mid, const char *in) {
    const char *h = p->head->name;
    tc_strbuf b = {0};
    for (int i = 0; i < p->nouter; i++)
        list_add(&b, h, p->outer[i]);
    tc_space_step(e, "reorder%s%s%s", tc_sb_str(&b), mid, in);
    if (e->at) {
        tc_strbuf_free(&b);
        return e->at;
    }
    int n = p->nouter < TC_MAX_PARTS ? p->nouter : TC_MAX_PARTS;
    const char *task = p->outer[0];
    if (n > 1) {
        tc_sb_clear(&b);
        for (int i = 0; i < n; i++)
            list_add(&b, h, p->outer[i]);
        tc_space_step(e, "task = fuse%s", tc_sb_str(&b));
        task = "task";
    }
    tc_strbuf_free(&b);
    return qualify(e, h, task);
}

/* Unrolled reduction steps: divisors, so that the hot loop needs no tail; an extent that has none gets one. */
static const char *sample_unroll(emitter *e, int id, int64_t extent) {
    int64_t u[8];
    int n = 0;
    for (int64_t f = 1; f <= MAX_UNROLL_K; f++)
        if (extent % f == 0 && n < 8)
            u[n++] = f;
    for (int64_t f = 2; f <= 8 && f < extent && n + 1 < 8 && u[n - 1] < f; f *= 2)
        u[n++] = f;
    return tc_space_sample_choice(e, ROLE_UNROLL_K, id, n, u, extent);
}

static const char *sample_block(emitter *e, int id, int64_t extent) {
    int64_t v[8];
    int n = 0;
    for (int64_t f = extent; f >= 32 && n < 8; f--)
        if (extent % f == 0 && f <= 1024 && f < extent)
            v[n++] = f;
    if (n == 0)
        v[n++] = extent;
    return tc_space_sample_choice(e, ROLE_BLOCK_K, id, n, v, extent);
}

/* An operand under a conversion to the accumulator's type. */
static const tc_expr *widened_read(const tc_expr *e) {
    return e->op == TC_OP_CAST && e->args[0]->op == TC_OP_READ && e->args[0]->nargs > 0 ? e->args[0] : NULL;
}

/* The product of the anchor's body, without the reduction, must be of two narrow operands, of which the one that is broadcast
 * holds the steps of the last reduction as neighbours (pass_dot.c). */
static int dot_group(const analysis *an, const anchor_plan *p) {
    const tc_expr *e = p->op->body[0];
    const tc_axis *k = &p->op->raxes[p->op->nraxis - 1];
    int group = e->dtype == TC_I32 && an->m->dot_i8 ? 4 : e->dtype == TC_F32 && an->m->dot_bf16 ? 2 : 1;
    if (p->op->reducer != TC_RED_SUM || e->op != TC_OP_MUL || group == 1 || k->extent < group)
        return 1;
    const tc_expr *x = widened_read(e->args[0]), *y = widened_read(e->args[1]);
    if (!x || !y || tc_dtype_bytes((tc_dtype)x->dtype) * group != 4 || tc_dtype_bytes((tc_dtype)y->dtype) * group != 4)
        return 1;
    if (group == 4 && x->dtype == y->dtype)
        return 1; /* unsigned times signed only */
    if (group == 2 && (x->dtype != TC_BF16 || y->dtype != TC_BF16))
        return 1;
    const tc_expr *along = vec_dim(an, p, x) < 0 ? x : y, *last = along->args[along->nargs - 1];
    return vec_dim(an, p, along) < 0 && last->op == TC_OP_VAR && last->u.var == k->var ? group : 1;
}

/* Loops of the accumulating stage in the full-K form: reduction outside, register tile inside. */
static void emit_register_tile(emitter *e, const anchor_plan *p, int id) {
    const tc_compute *op = p->op;
    const char *k = op->raxes[op->nraxis - 1].var->name, *a = p->acc;
    const char *u = sample_unroll(e, id, op->raxes[op->nraxis - 1].extent / p->group);
    if (p->group > 1)
        tc_space_step(e, "%s_o, %s_u, %s_q = split %s.%s [_, %s, %d]", k, k, k, a, k, u, p->group);
    else
        tc_space_step(e, "%s_o, %s_u = split %s.%s [_, %s]", k, k, a, k, u);
    tc_strbuf b = {0};
    for (int r = 0; r < op->nraxis - 1; r++)
        list_add(&b, a, op->raxes[r].var->name);
    tc_sb_printf(&b, " %s.%s_o %s.%s_u", a, k, a, k);
    for (int x = 0; x < op->naxis; x++)
        if (x != p->acc_vec)
            list_add(&b, a, name_of(op, x));
    list_add(&b, a, name_of(op, p->acc_vec));
    if (p->group > 1)
        list_add(&b, a, tc_arena_printf(e->arena, "%s_q", k));
    tc_space_step(e, "reorder%s", tc_sb_str(&b));
    tc_strbuf_free(&b);
    if (p->group > 1)
        tc_space_step(e, "unroll %s.%s_q", a, k);
    for (int r = 0; r < op->nraxis - 1 && e->v.taps && phased(op); r++)
        tc_space_step(e, "unroll %s.%s", a, op->raxes[r].var->name);
    tc_space_step(e, "unroll %s.%s_u", a, k);
    for (int x = 0; x < op->naxis; x++)
        if (x != p->acc_vec)
            tc_space_step(e, "unroll %s.%s", a, name_of(op, x));
    tc_space_step(e, "vectorize %s.%s", a, name_of(op, p->acc_vec));
}

/* Row tiles of the K-blocked form: registers of rows per axis; only the last row axis gets more than one. */
static const char *sample_reg_rows(emitter *e, int id, int64_t extent) {
    static const int64_t rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 24};
    int n = 0;
    while (n < (int)TC_LEN(rows) && rows[n] <= extent)
        n++;
    return tc_space_sample_choice(e, ROLE_REG_ROW, id, n, rows, extent);
}

static void emit_blocked(emitter *e, const anchor_plan *p, int id) {
    const tc_compute *op = p->op;
    const char *a = p->acc, *v = name_of(op, p->acc_vec), *k = op->raxes[op->nraxis - 1].var->name;
    const char *kb = sample_block(e, id, op->raxes[op->nraxis - 1].extent);
    tc_space_step(e, "%s_o, %s_b = split %s.%s [_, %s]", k, k, a, k, kb);
    const char *u = sample_unroll(e, id, 4);
    tc_space_step(e, "%s_m, %s_u = split %s.%s_b [_, %s]", k, k, a, k, u);
    tc_space_step(e, "%s_o, %s_v = split %s.%s [_, %s]", v, v, a, v, p->width);
    tc_strbuf out = {0}, in = {0}, red = {0};
    for (int r = 0; r < op->nraxis - 1; r++)
        list_add(&red, a, op->raxes[r].var->name);
    for (int x = 0; x < op->naxis; x++) {
        if (x == p->acc_vec || is_batch(p->op, x))
            continue;
        const char *n = name_of(op, x), *r = sample_reg_rows(e, id, op->axes[x].extent);
        tc_space_step(e, "%s_o, %s_r = split %s.%s [_, %s]", n, n, a, n, r);
        list_add(&out, a, tc_arena_printf(e->arena, "%s_o", n));
        list_add(&in, a, tc_arena_printf(e->arena, "%s_r", n));
    }
    tc_strbuf batch = {0};
    for (int x = 0; x < op->naxis; x++)
        if (x != p->acc_vec && is_batch(p->op, x))
            list_add(&batch, a, name_of(op, x));
    tc_space_step(e, "reorder%s %s.%s_o %s.%s_o%s%s %s.%s_m %s.%s_u%s %s.%s_v", tc_sb_str(&batch), a, k, a, v, tc_sb_str(&out),
                  tc_sb_str(&red), a, k, a, k, tc_sb_str(&in), a, v);
    tc_space_step(e, "unroll %s.%s_u", a, k);
    for (int x = 0; x < op->naxis; x++)
        if (x != p->acc_vec && !is_batch(p->op, x))
            tc_space_step(e, "unroll %s.%s_r", a, name_of(op, x));
    tc_space_step(e, "vectorize %s.%s_v", a, v);
    tc_strbuf_free(&out);
    tc_strbuf_free(&in);
    tc_strbuf_free(&red);
    tc_strbuf_free(&batch);
}

/* Every operand of the reduction runs along its vector axis, as in a depthwise convolution. */
static bool lanewise(const analysis *an, const anchor_plan *p) {
    operand_list all = {0};
    tc_expr_walk(p->op->body[0], add_operand, &all);
    for (int i = 0; i < all.n; i++)
        if (vec_dim(an, p, all.read[i]) < 0)
            return false;
    return all.n > 0;
}

/* Marks the row axis that carries the register tile in constructed schedules: the last one long enough to fill it, else the
 * longest; where neighbours along the last axis share what they load (lanewise), the last one that is not tiny. Notes on the
 * vector decision (the anchor's first) what the estimate needs. */
static void mark_primary(emitter *e, const anchor_plan *p, size_t from) {
    decision *best = NULL;
    bool lanes_only = lanewise(e->an, p);
    int64_t enough = lanes_only ? 4 : 32;
    for (size_t i = from; i < e->dec.len; i++) {
        decision *d = &e->dec.data[i];
        if (d->role == ROLE_ROW_TILE && (!best || d->extent > best->extent || d->extent > enough))
            best = d;
    }
    if (best)
        best->primary = true;
    decision *v = &e->dec.data[from];
    v->lanes = p->lanes;
    v->batch = v->depth = 1;
    v->lanewise = lanes_only;
    for (int x = 0; x < p->head->naxis; x++)
        v->batch *= p->role[x] == AXIS_BATCH ? p->head->axes[x].extent : 1;
    for (int r = 0; r < p->op->nraxis; r++)
        v->depth *= p->op->raxes[r].extent;
}

static void plan_anchor(const analysis *an, const cluster *c, anchor_plan *p) {
    plan_axes(an, c->member[0], c->member[c->n - 1], p);
}

void tc_space_emit_anchor(emitter *e, const cluster *c) {
    anchor_plan p;
    plan_anchor(e->an, c, &p);
    p.blocked = e->v.block_k && tc_space_anchor_blocks(e->an, c);
    p.group = p.blocked ? 1 : dot_group(e->an, &p);
    int id = e->nanchor++;
    size_t from = e->dec.len;
    p.acc = p.op->name;
    if (p.head == p.op) {
        p.acc = tc_arena_printf(e->arena, "%s_acc", p.op->name);
        tc_space_step(e, "%s = cache_write %s local", p.acc, p.op->name);
    }
    if (e->at)
        tc_space_step(e, "compute_at %s %s", p.head->name, e->at);
    tc_strbuf mid = {0}, in = {0};
    tile_head(e, &p, id, &mid, &in);
    mark_primary(e, &p, from);
    const char *task = order_head(e, &p, tc_sb_str(&mid), tc_sb_str(&in));
    tc_space_step(e, "compute_at %s %s", p.acc, p.blocked ? task : last_word(tc_sb_str(&mid)));
    if (!p.blocked) {
        tc_space_step(e, "set_scope %s local", p.acc);
        for (int x = 0; x < p.head->naxis; x++)
            if (p.role[x] == AXIS_ROW)
                tc_space_step(e, "unroll %s.%s_2", p.head->name, name_of(p.head, x));
    }
    tc_space_step(e, "vectorize %s.%s_v", p.head->name, name_of(p.head, p.vec));
    if (p.blocked)
        emit_blocked(e, &p, id);
    else
        emit_register_tile(e, &p, id);
    emit_operands(e, &p, task);
    if (!e->v.serial && !e->at)
        tc_space_step(e, "parallel %s", task);
    if (e->v.chain)
        e->at = task;
    tc_strbuf_free(&mid);
    tc_strbuf_free(&in);
}

void tc_space_emit_register_tile(emitter *e, int stage, const char *acc, const char *width, int id, size_t from) {
    anchor_plan p;
    plan_axes(e->an, stage, stage, &p);
    p.acc = acc;
    p.width = width;
    p.group = 1;
    p.batch_inside = true;
    mark_primary(e, &p, from);
    e->dec.data[from].batch = 1; /* a task computes them all */
    emit_register_tile(e, &p, id);
    emit_operands(e, &p, NULL);
}

bool tc_space_anchor_packs(const analysis *an, const cluster *c) {
    anchor_plan p;
    plan_anchor(an, c, &p);
    operand_list l = vector_operands(an, &p);
    for (int i = 0; i < l.n; i++)
        if (!l.read[i]->u.tensor->is_const)
            return true;
    return false;
}

bool tc_space_anchor_phased(const analysis *an, const cluster *c) {
    return phased(an->s->stages[c->member[c->n - 1]].op);
}

bool tc_space_anchor_blocks(const analysis *an, const cluster *c) {
    const tc_compute *op = an->s->stages[c->member[c->n - 1]].op;
    return op->nraxis > 0 && op->raxes[op->nraxis - 1].extent >= MIN_BLOCKED_K;
}

/* The head's vectors must run along one axis of the anchor, and the anchor be read at one place only. */
bool tc_space_fusable(const analysis *an, int head, int anchor) {
    anchor_plan p;
    plan_axes(an, head, anchor, &p);
    if (p.vec < 0 || p.reads != 1)
        return false;
    for (int x = p.vec + 1; x < p.head->naxis; x++)
        if (p.head->axes[x].extent > 1)
            return false;
    return true;
}

typedef struct row_query {
    const tc_sched *s;
    const tc_compute *op;
    const tc_var *vec;
    int rows;
    bool all;
} row_query;

/* A read of another stage must walk its first dimensions along all of the anchor's axes but the vector's, in any order. */
static void check_rows(const tc_expr *e, void *user) {
    row_query *q = user;
    if (e->op != TC_OP_READ || tc_sch_stage_of(q->s, e->u.tensor) < 0)
        return;
    q->all = q->all && e->nargs >= q->rows;
    for (int d = 0; d < q->rows && q->all; d++) {
        q->all = e->args[d]->op == TC_OP_VAR && e->args[d]->u.var != q->vec;
        for (int k = 0; k < d; k++)
            q->all = q->all && e->args[k] != e->args[d];
        for (int r = 0; r < q->op->nraxis; r++)
            q->all = q->all && e->args[d]->u.var != q->op->raxes[r].var;
    }
}

/* The first cluster's batch and row axes, when everything its anchor reads of other stages goes along them; 0: it does not. */
static int shared_rows(const analysis *an, const cluster *c) {
    anchor_plan p;
    plan_anchor(an, c, &p);
    if (p.acc_vec < 0 || p.head->naxis != p.op->naxis)
        return 0;
    row_query q = {.s = an->s, .op = p.op, .vec = p.op->axes[p.acc_vec].var, .rows = p.op->naxis - 1, .all = true};
    tc_expr_walk(p.op->body[0], check_rows, &q);
    return q.all ? q.rows : 0;
}

/* The other clusters' members read each other along the same rows. */
bool tc_space_chains(const analysis *an) {
    if (an->ncluster < 2 || an->cluster[0].kind != CLUSTER_ANCHOR)
        return false;
    int rows = shared_rows(an, &an->cluster[0]), head = an->cluster[0].member[0];
    if (rows == 0)
        return false;
    for (int i = 1; i < an->ncluster; i++) {
        int from = an->cluster[i].member[0];
        if (head != an->cluster[0].member[an->cluster[0].n - 1] && tc_space_common_rows(an->s, head, from) < TC_MAX_DIMS)
            return false; /* read by the epilogue too */
        for (int j = 1; j < i; j++)
            for (int m = 0; m < an->cluster[j].n; m++)
                if (tc_space_common_rows(an->s, an->cluster[j].member[m], from) < rows)
                    return false;
    }
    return true;
}
