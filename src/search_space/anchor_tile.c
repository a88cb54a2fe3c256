/* The multi-level tiling rule, for a reduction with reuse (matmul, convolution) and the elementwise head that consumes it.
 *
 * Register tile, whole reduction inside (full K):      K-blocked (anchor_blocked.c):
 *   parallel task = fused(row_0.., vec_0):               parallel task = fused(row_0.., vec_0):
 *     for vec_1, row_1..:                                  acc[block] = 0
 *       acc[row_2][vec_2] = 0          # registers         for k_o, vec tiles, row tiles, k_m, k_u:
 *       for k_o: acc += ..             # k_u unrolled        acc[tile] += ..         # tile in registers
 *       epilogue on the tile, one store                    epilogue over the block
 *
 * Axes of the head are tiled; the anchor is computed inside and its region follows. Operands that use the vec axis are packed. */
#include "search_space/anchor_int.h"

/* Bounds of the space: vectors of a tile's row, rows and widths of a cache block, unrolled steps. Chosen; not measured apart. */
enum { MAX_VEC_REGS = 8, MAX_BLOCK_ROWS = 256, MAX_BLOCK_VECS = 64, MAX_UNROLL_K = 16 };

decision_ref tc_space_sample_vec(emitter *e, int id, int64_t extent, int lanes) {
    int64_t v[MAX_VEC_REGS + 1];
    int n = 0;
    for (int k = 1; k <= MAX_VEC_REGS; k++)
        if (n == 0 || (int64_t)lanes * (k - 1) < extent)
            v[n++] = (int64_t)lanes * k;
    if (extent <= (int64_t)lanes * 4 && extent % lanes && extent != v[0])
        v[n++] = extent;
    return tc_space_sample_choice(&e->b, ROLE_VEC, id, n, v, extent);
}

/* The parts of the head's axes. */
typedef struct head_loops {
    loop_list outer, mid, in; /* tasks; tiles of a cache block; the register tile, vectors last */
    loop_list rows;           /* of `in`: the unrolled ones */
    loop_ref vec;             /* of `in`: the last one */
} head_loops;

/* Register widths and cache blocks of the vector axis; v: its parts in these. */
static void split_vector_axis(emitter *e, anchor_plan *p, int id, head_loops *l, loop_ref *v) {
    const tc_axis *x = &p->head->axes[p->vec];
    loop_ref t[2];
    p->width = tc_space_sample_vec(e, id, x->extent, p->lanes);
    p->panel = chosen(p->width);
    factor width = chosen(p->width);
    tc_space_split(&e->b, loop_of(stage_called(p->head->name), x), "tv", &width, t);
    role r = p->blocked ? ROLE_BLOCK_VEC : ROLE_VEC_OUTER;
    factor block = part_of(tc_space_sample_tile(&e->b, r, id, t[0], 2, MAX_BLOCK_VECS, x->extent), 1);
    tc_space_split(&e->b, t[0], "01", &block, v);
    l->vec = t[1];
}

static void split_row_axis(emitter *e, const anchor_plan *p, int id, int axis, head_loops *l) {
    const tc_axis *x = &p->head->axes[axis];
    loop_ref whole = loop_of(stage_called(p->head->name), x), part[3];
    if (p->blocked) {
        decision_ref t = tc_space_sample_tile(&e->b, ROLE_BLOCK_ROW, id, whole, 2, MAX_BLOCK_ROWS, x->extent);
        tc_space_split(&e->b, whole, "01", (factor[]){part_of(t, 1)}, part);
    } else {
        decision_ref t = tc_space_sample_tile(&e->b, ROLE_ROW_TILE, id, whole, 3, e->an->m->vector_regs - 4, x->extent);
        tc_space_decision(&e->b, t)->phase = e->v.taps ? tc_space_phase_of(p->op, p->dim[axis]) : 1;
        tc_space_decision(&e->b, t)->varies = x->symbol != NULL;
        tc_space_decision(&e->b, t)->least = x->symbol ? x->symbol->least : x->extent;
        tc_space_split(&e->b, whole, "012", (factor[]){part_of(t, 1), part_of(t, 2)}, part);
        tc_space_list(&l->rows, part[2]);
    }
    tc_space_list(&l->outer, part[0]);
    tc_space_list(&l->mid, part[1]);
}

/* Tasks walk the blocks of the vector axis, unless what is computed per task must not be computed again for the next block. */
static void list_vector_blocks(const emitter *e, head_loops *l, const loop_ref *v) {
    if (!e->v.chain || is_loop(e->at))
        tc_space_list(&l->outer, v[0]);
    tc_space_list(&l->mid, v[1]);
}

/* Splits the head's axes. */
static void tile_head(emitter *e, anchor_plan *p, int id, head_loops *l) {
    const tc_compute *h = p->head;
    loop_ref v[2];
    split_vector_axis(e, p, id, l, v);
    for (int x = 0; x < h->naxis; x++)
        if (p->role[x] == AXIS_BATCH)
            tc_space_list(&l->outer, loop_of(stage_called(h->name), &h->axes[x]));
    if (e->v.chain && !is_loop(e->at))
        tc_space_list(&l->mid, v[0]);
    if (e->v.rows_inner) /* tasks and cache tiles walk the rows fastest: a panel of the vector operand stays in cache */
        list_vector_blocks(e, l, v);
    for (int x = 0; x < h->naxis; x++)
        if (p->role[x] == AXIS_ROW)
            split_row_axis(e, p, id, x, l);
    if (!e->v.rows_inner)
        list_vector_blocks(e, l, v);
    l->in = l->rows;
    tc_space_list(&l->in, l->vec);
}

/* Orders the head's loops and fuses the outer ones; returns the outer (task) loop. A head that is computed in another one's task
 * has no tasks of its own. */
static loop_ref order_head(emitter *e, const head_loops *l) {
    loop_list all = l->outer, task = l->outer;
    tc_space_list_all(&all, &l->mid);
    tc_space_list_all(&all, &l->in);
    tc_space_reorder(&e->b, &all);
    if (is_loop(e->at))
        return e->at;
    task.n = TC_MIN(task.n, (int)TC_MAX_PARTS);
    return task.n > 1 ? tc_space_fuse(&e->b, &task, "task") : task.at[0];
}

/* Unrolled reduction steps: divisors, so that the hot loop needs no tail; an extent that has none gets one. */
factor tc_space_sample_unroll(emitter *e, int id, int64_t extent) {
    int64_t u[8];
    int n = 0;
    for (int64_t f = 1; f <= MAX_UNROLL_K; f++)
        if (extent % f == 0 && n < 8)
            u[n++] = f;
    for (int64_t f = 2; f <= 8 && f < extent && n + 1 < 8 && u[n - 1] < f; f *= 2)
        u[n++] = f;
    return chosen(tc_space_sample_choice(&e->b, ROLE_UNROLL_K, id, n, u, extent));
}

void tc_space_emit_steps(emitter *e, const anchor_plan *p, int id) {
    const tc_compute *op = p->op;
    const tc_axis *last = &op->raxes[op->nraxis - 1];
    builder *b = &e->b;
    bool dot = p->group > 1;
    loop_ref k[3], v = loop_of(p->acc, &op->axes[p->acc_vec]);
    loop_list others = {0}, rows = {0};
    factor steps[] = {tc_space_sample_unroll(e, id, last->extent / p->group), fixed(p->group)};
    tc_space_split(b, loop_of(p->acc, last), dot ? "ouq" : "ou", steps, k);
    tc_space_list_axes(&others, p->acc, op->raxes, op->nraxis - 1);
    for (int x = 0; x < op->naxis; x++)
        if (x != p->acc_vec)
            tc_space_list(&rows, loop_of(p->acc, &op->axes[x]));
    loop_list order = p->inner ? (loop_list){0} : others;
    tc_space_list(&order, k[0]);
    tc_space_list(&order, k[1]);
    if (p->inner)
        tc_space_list_all(&order, &others);
    tc_space_list_all(&order, &rows);
    tc_space_list(&order, v);
    if (dot)
        tc_space_list(&order, k[2]);
    tc_space_reorder(b, &order);
    if (dot)
        tc_space_unroll(b, k[2]);
    if (p->inner || (e->v.taps && tc_space_phased(op)))
        tc_space_unroll_all(b, &others);
    tc_space_unroll(b, k[1]);
    tc_space_unroll_all(b, &rows);
    tc_space_vectorize(b, v);
}

/* Rows of a fixed size that make a tile, where others vary. Chosen; not measured apart. */
enum { WORTH_A_TILE = 4 };

/* Of two row axes, that d, which comes later, carries the register tile rather than the other. Tiles of rows that a run may not
 * have are work for nothing, so an axis whose size varies does where there is none of a fixed size that is worth a tile. */
static bool carries_better(const decision *d, const decision *other, int64_t enough, bool dots) {
    if (d->varies != other->varies)
        return d->varies ? other->extent < WORTH_A_TILE : d->extent >= WORTH_A_TILE;
    return d->extent > other->extent || (dots && d->extent == other->extent) || d->extent > enough;
}

/* Marks the row axis that carries the register tile in constructed schedules: the last one long enough to fill it, else the
 * longest, of dot products the last one of these, whose rows lie closer together; where neighbours along the last axis share what
 * they load (lanewise), the last one that is not tiny. Notes on the vector decision (the anchor's first) what the estimate needs.
 */
static void mark_primary(emitter *e, const anchor_plan *p, int inner) {
    decision *best = NULL;
    bool lanes_only = inner < 0 && tc_space_lanewise(e->an, p);
    int64_t enough = lanes_only ? 4 : 32;
    for (size_t i = (size_t)p->width.id; i < e->b.dec.len; i++) {
        decision *d = &e->b.dec.data[i];
        if (d->role == ROLE_ROW_TILE && (!best || carries_better(d, best, enough, p->group > 1)))
            best = d;
    }
    if (best)
        best->primary = true;
    decision *v = tc_space_decision(&e->b, p->width);
    v->lanes = p->lanes;
    v->unit = p->dot;
    v->batch = v->depth = 1;
    v->lanewise = lanes_only;
    int64_t rows = 1;
    for (int x = 0; x < p->head->naxis; x++) {
        v->batch *= p->role[x] == AXIS_BATCH ? p->head->axes[x].extent : 1;
        rows *= p->role[x] == AXIS_ROW ? p->head->axes[x].extent : 1;
    }
    v->row_bytes = (double)tc_space_shared_bytes(e->an, p) / (double)(v->batch * rows);
    for (int r = 0; r < p->op->nraxis; r++)
        v->depth *= p->op->raxes[r].extent;
    const tc_compute *sums = inner < 0 ? NULL : e->an->s->stages[inner].op;
    for (int r = 0; sums && r < sums->nraxis; r++)
        v->depth *= sums->raxes[r].extent;
}

void tc_space_emit_anchor(emitter *e, const cluster *c) {
    anchor_plan p;
    tc_space_plan_cluster(e->an, c, &p);
    if (e->v.tiles && tc_space_emit_tiles(e, &p))
        return;
    p.blocked = e->v.block_k && tc_space_anchor_blocks(e->an, c);
    p.dot = tc_space_dot(e->an, &p);
    p.group = p.dot ? p.dot->group : 1;
    int id = e->nanchor++;
    size_t packed = e->packed.len;
    stage_ref head = stage_called(p.head->name);
    p.acc = p.head == p.op ? tc_space_cache_write(&e->b, head) : stage_called(p.op->name);
    if (is_loop(e->at))
        tc_space_compute_at(&e->b, head, e->at);
    head_loops l = {0};
    tile_head(e, &p, id, &l);
    mark_primary(e, &p, c->inner);
    loop_ref task = e->task = order_head(e, &l);
    tc_space_compute_at(&e->b, p.acc, p.blocked ? task : l.mid.at[l.mid.n - 1]);
    if (!p.blocked)
        tc_space_keep_local(&e->b, p.acc);
    tc_space_unroll_all(&e->b, &l.rows);
    tc_space_vectorize(&e->b, l.vec);
    e->panel = p.panel;
    const tc_intrinsic *unit = NULL; /* of sums of blocks */
    if (p.blocked)
        e->block = tc_space_emit_blocked(e, &p, id);
    else if (c->inner >= 0)
        unit = tc_space_emit_inner(e, &p, c->inner, id);
    else
        tc_space_emit_steps(e, &p, id);
    tc_space_emit_operands(e, &p, task);
    if (c->inner >= 0)
        tc_space_emit_streams(e, unit, id, packed);
    if (!e->v.serial && !is_loop(e->at))
        tc_space_parallel(&e->b, task);
    if (e->v.chain)
        e->at = task;
}

void tc_space_emit_register_tile(emitter *e, int stage, stage_ref acc, decision_ref width, int id) {
    anchor_plan p;
    tc_space_plan(e->an, stage, stage, &p);
    p.acc = acc;
    p.width = width;
    p.panel = chosen(width);
    p.group = 1;
    p.batch_inside = true;
    mark_primary(e, &p, -1);
    tc_space_decision(&e->b, width)->batch = 1; /* a task computes them all */
    tc_space_emit_steps(e, &p, id);
    tc_space_emit_operands(e, &p, (loop_ref){0});
}
