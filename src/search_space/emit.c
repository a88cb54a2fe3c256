/* The rules for clusters without an anchor: elementwise maps and row groups (softmax, layer norm, reductions).
 *
 * Map:   fuse outer axes, parallel; last axis in vectors of a sampled width.
 * Rows:  head:  fo, fi = split(fuse(row axes)); parallel fo; every other member computed at fi.
 *        a reduction over a contiguous axis k becomes  k -> ko, ku, kv ; two rfactors: kv lanes and ku independent accumulators
 *        (one accumulator would wait for the adder's latency each step).
 * Windows: rows that reduce strided memory (pooling): blocks of the last axis count as rows, so that one row is work for all
 * cores, and each block's running values stay in registers. */
#include "search_space/space_int.h"

/* Bounds of the space: rows of a task, vectors of a step, taps that are written out, sides of a transposed block. Chosen; not
 * measured apart. */
enum { MAX_ROW_CHUNK = 16, MAX_WIDTH_VECTORS = 8, MAX_UNROLLED_TAPS = 16, MIN_BLOCK = 8, MAX_BLOCK = 32 };

/* Widths of 1, 2, 4, 8 vectors, none wider than the loop rounded up to a vector; a loop shorter than a vector is taken whole. */
static factor sample_width(emitter *e, int64_t extent, int lanes) {
    int64_t w[4];
    int n = 0;
    w[n++] = TC_MIN(extent, lanes);
    for (int k = 2; k <= MAX_WIDTH_VECTORS; k *= 2)
        if ((int64_t)lanes * (k - 1) < extent)
            w[n++] = (int64_t)lanes * k;
    return chosen(tc_space_sample_choice(&e->b, ROLE_WIDTH, -1, n, w, extent));
}

/* One loop of all of them, called after the first axis. n >= 1. */
static loop_ref fuse_all(emitter *e, const tc_compute *op, const loop_list *l) {
    return l->n == 1 ? l->at[0] : tc_space_fuse(&e->b, l, tc_arena_printf(e->b.arena, "%s_f", op->axes[0].var->name));
}

/* Fuses axes [0, n) into one loop. n >= 1. */
static loop_ref fuse_leading(emitter *e, const tc_compute *op, int n) {
    loop_list l = {0};
    tc_space_list_axes(&l, stage_called(op->name), op->axes, n);
    return fuse_all(e, op, &l);
}

static int64_t extent_of(const tc_axis *axes, int n) {
    int64_t x = 1;
    for (int i = 0; i < n; i++)
        x *= axes[i].extent;
    return x;
}

static const tc_axis *last_axis(const tc_compute *op) {
    return &op->axes[op->naxis - 1];
}

/* Divides the last axis by a width, which its inner part has; false: it is too short. */
static bool split_last(emitter *e, const tc_compute *op, loop_ref *parts) {
    const tc_axis *x = last_axis(op);
    if (x->extent < 2)
        return false;
    factor w = sample_width(e, x->extent, tc_space_lanes(e->an->m, op));
    tc_space_split(&e->b, loop_of(stage_called(op->name), x), "ov", &w, parts);
    return true;
}

static void vectorize_last(emitter *e, const tc_compute *op) {
    loop_ref x[2];
    if (split_last(e, op, x))
        tc_space_vectorize(&e->b, x[1]);
}

static void check_identity(const tc_expr *r, void *user) {
    const tc_compute *op = ((void **)user)[0];
    bool *all = ((void **)user)[1];
    if (r->op == TC_OP_VAR)
        return;
    if (r->op != TC_OP_READ || r->nargs == 0)
        return;
    *all &= r->nargs == op->naxis && r->u.tensor->ndim == op->naxis;
    for (int i = 0; *all && i < op->naxis; i++)
        *all &=
            r->args[i]->op == TC_OP_VAR && r->args[i]->u.var == op->axes[i].var && r->u.tensor->shape[i] == op->axes[i].extent;
}

/* Every read is of the same shape at the same place, so all axes can be one; the axes are not used as values. */
static bool pointwise(const tc_compute *op) {
    bool all = op->reducer == TC_RED_NONE;
    void *user[2] = {(void *)(uintptr_t)op, &all};
    tc_expr_walk(op->body[0], check_identity, user);
    return all;
}

static void find_transposed(const tc_expr *r, void *user) {
    const tc_compute *op = ((void **)user)[0];
    int *axis = ((void **)user)[1];
    const tc_expr *last = r->op == TC_OP_READ && r->nargs ? r->args[r->nargs - 1] : NULL;
    for (int a = 0; last && last->op == TC_OP_VAR && a < op->naxis - 1; a++)
        if (last->u.var == op->axes[a].var && op->axes[a].extent > 1)
            *axis = a;
}

/* The axis, not the last, along which some operand's memory runs; -1: none. */
static int transposed_axis(const tc_compute *op) {
    int axis = -1;
    void *user[2] = {(void *)(uintptr_t)op, &axis};
    tc_expr_walk(op->body[0], find_transposed, user);
    return axis;
}

/* Blocks of the last axis and of the one that memory runs along: a line that is read for one vector serves the next ones. Returns
 * the loop over the blocks' rows and all other axes. */
static loop_ref emit_transposing(emitter *e, const tc_compute *op, int along) {
    const tc_axis *a = &op->axes[along];
    int64_t block[3], nb = 0;
    for (int64_t b = MIN_BLOCK; b <= MAX_BLOCK; b *= 2)
        if (nb == 0 || b - MIN_BLOCK < a->extent)
            block[nb++] = b;
    loop_ref x[2], y[2];
    split_last(e, op, x);
    factor b = chosen(tc_space_sample_choice(&e->b, ROLE_WIDTH, -1, (int)nb, block, a->extent));
    tc_space_split(&e->b, loop_of(x[0].stage, a), "oi", &b, y);
    loop_list outer = {0}, all;
    for (int i = 0; i < op->naxis - 1; i++)
        tc_space_list(&outer, i == along ? y[0] : loop_of(x[0].stage, &op->axes[i]));
    all = outer;
    tc_space_list(&all, x[0]);
    tc_space_list(&all, y[1]);
    tc_space_list(&all, x[1]);
    tc_space_reorder(&e->b, &all);
    tc_space_vectorize(&e->b, x[1]);
    return fuse_all(e, op, &outer);
}

/* Every value at one place of all operands: one loop over all of them. Returns the one outside of the vectors. */
static loop_ref emit_pointwise(emitter *e, const tc_compute *op) {
    loop_ref all = fuse_leading(e, op, op->naxis), part[2];
    all.root = "f";
    factor w = sample_width(e, extent_of(op->axes, op->naxis), tc_space_lanes(e->an->m, op));
    tc_space_split(&e->b, all, "ov", &w, part);
    tc_space_vectorize(&e->b, part[1]);
    return part[0];
}

/* The last axis in vectors; returns the loop over as many of the others as can be one, or what there is of the last. */
static loop_ref emit_plain(emitter *e, const tc_compute *op) {
    loop_ref x[2];
    bool vectors = split_last(e, op, x);
    if (vectors)
        tc_space_vectorize(&e->b, x[1]);
    if (is_loop(e->at))
        return e->at;
    if (op->naxis > 1)
        return fuse_leading(e, op, TC_MIN(op->naxis - 1, (int)TC_MAX_PARTS));
    return vectors ? x[0] : loop_of(stage_called(op->name), last_axis(op));
}

void tc_space_emit_map(emitter *e, const cluster *c) {
    const tc_compute *op = e->an->s->stages[c->member[0]].op;
    bool task = !is_loop(e->at);
    loop_ref par;
    if (!task)
        tc_space_compute_at(&e->b, stage_called(op->name), e->at);
    if (op->naxis == 0)
        return;
    if (task && op->naxis <= TC_MAX_PARTS && pointwise(op))
        par = emit_pointwise(e, op);
    else if (task && op->naxis - 1 <= TC_MAX_PARTS && last_axis(op)->extent > 1 && transposed_axis(op) >= 0)
        par = emit_transposing(e, op, transposed_axis(op));
    else
        par = emit_plain(e, op);
    if (task && !e->v.serial)
        tc_space_parallel(&e->b, par);
}

/* ---- rows ---- */

/* The last reduction axis walks contiguous memory and is worth vectors. */
static bool reduces_contiguous(const emitter *e, const tc_compute *op) {
    return op->nout == 1 && op->raxes[op->nraxis - 1].extent >= 2 * tc_space_lanes(e->an->m, op) &&
           tc_space_reduces_contiguous(op);
}

static void attach(emitter *e, stage_ref stage, loop_ref loop) {
    if (!is_loop(loop))
        return;
    tc_space_compute_at(&e->b, stage, loop);
    tc_space_keep_local(&e->b, stage);
}

/* "(x0, .., xn, xm) -> (x0, .., xm, xn)": the second rfactor appends its axis behind the lanes; memory has the lanes last. */
static layout lanes_last(int n) {
    layout l = tc_space_layout(n + 2);
    for (int i = 0; i < n; i++)
        tc_space_lay(&l, i);
    tc_space_lay(&l, n + 1);
    tc_space_lay(&l, n);
    return l;
}

/* What a reduction is divided into: lanes, and independent accumulators of lanes. */
typedef struct partial_sums {
    int n; /* 0: it is whole; else 2 */
    stage_ref stage[2];
} partial_sums;

/* All accumulators are live over all of the reduction: its loops outside, the other reductions' before them. */
static void order_accumulators(emitter *e, const tc_compute *op, stage_ref acc, const loop_ref *k) {
    loop_list order = {0};
    tc_space_list_axes(&order, acc, op->raxes, op->nraxis - 1);
    for (int i = 0; i < 3; i++)
        tc_space_list(&order, loop_in(acc, k[i]));
    tc_space_reorder(&e->b, &order);
    tc_space_unroll(&e->b, loop_in(acc, k[1]));
    tc_space_vectorize(&e->b, loop_in(acc, k[2]));
}

/* op[..] = reduce over k (contiguous): lanes and accumulators factored out. `loop`: where members are computed, if at one. */
static partial_sums emit_vector_reduction(emitter *e, const tc_compute *op, loop_ref loop) {
    const tc_axis *kx = &op->raxes[op->nraxis - 1];
    builder *b = &e->b;
    int lanes = tc_space_lanes(e->an->m, op);
    int64_t u[4], nu = 0;
    for (int64_t f = 1; f <= MAX_WIDTH_VECTORS; f *= 2)
        if (f == 1 || f * lanes <= kx->extent)
            u[nu++] = f;
    factor inner[] = {chosen(tc_space_sample_choice(b, ROLE_UNROLL_K, -1, (int)nu, u, kx->extent)), fixed(lanes)};
    loop_ref k[3];
    tc_space_split(b, loop_of(stage_called(op->name), kx), "ouv", inner, k);
    stage_ref rv = tc_space_rfactor(b, k[2], "rv"), ru = tc_space_rfactor(b, loop_in(rv, k[1]), "ru");
    attach(e, rv, loop);
    attach(e, ru, loop);
    layout l = lanes_last(op->naxis);
    tc_space_transform_layout(b, ru.name, &l);
    order_accumulators(e, op, ru, k);
    tc_space_reorder(b, &(loop_list){2, {loop_in(rv, k[1]), loop_in(rv, k[2])}});
    tc_space_unroll(b, loop_in(rv, k[1]));
    tc_space_vectorize(b, loop_in(rv, k[2]));
    tc_space_unroll(b, k[2]);
    return (partial_sums){2, {rv, ru}};
}

/* A small window is unrolled: its taps keep the running value in a register and fold their addresses. */
static void unroll_taps(emitter *e, stage_ref stage, const tc_compute *op) {
    loop_list taps = {0};
    tc_space_list_axes(&taps, stage, op->raxes, op->nraxis);
    if (extent_of(op->raxes, op->nraxis) <= MAX_UNROLLED_TAPS)
        tc_space_unroll_all(&e->b, &taps);
}

/* Reduction loops outside of the vectors of the last spatial axis. */
static void emit_spatial_reduction(emitter *e, const tc_compute *op) {
    loop_ref x[2];
    if (op->nout > 1 || !split_last(e, op, x))
        return;
    loop_list order = {0};
    tc_space_list_axes(&order, x[0].stage, op->raxes, op->nraxis);
    tc_space_list(&order, x[1]);
    tc_space_reorder(&e->b, &order);
    tc_space_vectorize(&e->b, x[1]);
    unroll_taps(e, x[0].stage, op);
}

static partial_sums emit_row_member(emitter *e, const tc_compute *op, stage_kind kind, int rows, loop_ref loop) {
    attach(e, stage_called(op->name), loop);
    if (kind != KIND_MAP && reduces_contiguous(e, op))
        return emit_vector_reduction(e, op, loop);
    if (op->naxis > rows && kind == KIND_MAP)
        vectorize_last(e, op);
    else if (op->naxis > rows)
        emit_spatial_reduction(e, op);
    return (partial_sums){0};
}

/* Some member reduces one value per row, over strided memory (pooling): neighbouring rows are its vectors. */
static bool needs_vector_axis(const emitter *e, const cluster *c) {
    for (int i = 0; i < c->n; i++) {
        const tc_compute *op = e->an->s->stages[c->member[i]].op;
        if (c->member[i] == e->an->lane_stage)
            return false; /* adds up neighbours */
        if (e->an->kind[c->member[i]] == KIND_REDUCE && op->naxis == c->rows && !reduces_contiguous(e, op))
            return true;
    }
    return false;
}

/* ---- windows ---- */

/* Everything goes along all of the head's axes, the last of which carries the vectors: pooling, sums of columns. */
static bool windows(const emitter *e, const cluster *c) {
    const tc_compute *head = e->an->s->stages[c->member[0]].op;
    if (is_loop(e->at) || c->rows != head->naxis || head->naxis < 1 || head->naxis > TC_MAX_PARTS || last_axis(head)->extent < 2)
        return false;
    for (int i = 0; i < c->n; i++)
        if (e->an->s->stages[c->member[i]].op->nout > 1)
            return false;
    return needs_vector_axis(e, c);
}

/* Blocks of the last axis count as rows; returns the loop over all of them. */
static loop_ref fuse_blocks(emitter *e, const tc_compute *op, factor width) {
    stage_ref stage = stage_called(op->name);
    loop_ref x[2];
    tc_space_split(&e->b, loop_of(stage, last_axis(op)), "ov", &width, x);
    tc_space_vectorize(&e->b, x[1]);
    loop_list rows = {0};
    tc_space_list_axes(&rows, stage, op->axes, op->naxis - 1);
    tc_space_list(&rows, x[0]);
    return fuse_all(e, op, &rows);
}

/* A stage for one block of the last axis: a reduction's running values stay in registers. */
static void emit_window(emitter *e, stage_ref stage, const tc_compute *op, loop_ref loop) {
    loop_list order = {0};
    attach(e, stage, loop);
    tc_space_list_axes(&order, stage, op->raxes, op->nraxis);
    tc_space_list(&order, loop_of(stage, last_axis(op)));
    if (op->nraxis)
        tc_space_reorder(&e->b, &order);
    tc_space_vectorize(&e->b, loop_of(stage, last_axis(op)));
    unroll_taps(e, stage, op);
}

/* Groups of rows are the tasks; returns the loop over the rows of one. */
static loop_ref emit_tasks(emitter *e, loop_ref rows, int64_t extent) {
    loop_ref part[2];
    factor chunk = part_of(tc_space_sample_tile(&e->b, ROLE_CHUNK, -1, rows, 2, MAX_ROW_CHUNK, extent), 1);
    rows.root = "r";
    tc_space_split(&e->b, rows, "oi", &chunk, part);
    if (!e->v.serial)
        tc_space_parallel(&e->b, part[0]);
    return part[1];
}

static void emit_windows(emitter *e, const cluster *c) {
    const analysis *an = e->an;
    const tc_compute *head = an->s->stages[c->member[0]].op;
    stage_ref acc;
    if (head->nraxis)
        acc = tc_space_cache_write(&e->b, stage_called(head->name));
    int lanes = tc_space_lanes(an->m, an->s->stages[c->member[c->n - 1]].op);
    loop_ref rows = fuse_blocks(e, head, sample_width(e, last_axis(head)->extent, lanes));
    loop_ref loop = emit_tasks(e, rows, extent_of(head->axes, head->naxis - 1));
    if (head->nraxis)
        emit_window(e, acc, head, loop);
    for (int i = 1; i < c->n; i++) {
        const tc_compute *op = an->s->stages[c->member[i]].op;
        emit_window(e, stage_called(op->name), op, loop);
    }
}

/* The head's row axes, where the other members are computed: in the task of the cluster before, or in tasks of their own. */
static loop_ref emit_row_loops(emitter *e, const tc_compute *head, int rows) {
    stage_ref stage = stage_called(head->name);
    if (is_loop(e->at))
        tc_space_compute_at(&e->b, stage, e->at);
    if (rows == 0)
        return (loop_ref){0};
    if (is_loop(e->at))
        return loop_of(stage, &head->axes[rows - 1]);
    return emit_tasks(e, fuse_leading(e, head, rows), extent_of(head->axes, rows));
}

void tc_space_emit_rows(emitter *e, const cluster *c) {
    if (windows(e, c)) {
        emit_windows(e, c);
        return;
    }
    const analysis *an = e->an;
    const tc_compute *head = an->s->stages[c->member[0]].op;
    int rows = c->rows;
    if (rows == head->naxis && rows > 0 && needs_vector_axis(e, c))
        rows--; /* the last axis carries the vectors */
    rows = TC_MIN(rows, (int)TC_MAX_PARTS);
    loop_ref loop = emit_row_loops(e, head, rows);
    partial_sums parts = emit_row_member(e, head, an->kind[c->member[0]], rows, (loop_ref){0});
    for (int i = 0; i < parts.n; i++)
        attach(e, parts.stage[i], loop);
    for (int i = 1; i < c->n; i++)
        emit_row_member(e, an->s->stages[c->member[i]].op, an->kind[c->member[i]], rows, loop);
}
