/* The tiling rule for units with tiles: a reduction whose operands have the narrow types of the unit. The second operand is packed
 * for the unit: a constant when the model is built, another operand at root or in each task.
 *
 *   parallel task = fused(.., row_0, vec_0):
 *     for row_1:                                         # grids of the block: they share the packed panel
 *       acc[rows of tiles][columns of tiles] = 0         # in registers
 *       for other reductions, k_o: acc += ..             # one instruction per tile of the grid
 *       epilogue on the grid's buffer, which is in L1; one store
 *
 * The reduction and the columns may also be cut into blocks. Then the panels that several grids share stay in the first-level
 * cache. Between the blocks the results stay in another cache:
 *
 *   parallel task:
 *     acc[block] = 0
 *     for k_b: for column_g, row_g:                      # grids of the block, or the other way round
 *       for other reductions, k_o: acc += ..             # its tiles are loaded before and stored after
 *     epilogue on the block
 *
 * The rows of a tile are neighbours along the last axis that only the first operand uses: rows of a matrix, pixels in a row of a
 * convolution. */
#include "search_space/anchor_int.h"

/* Tiles of a grid along one side, of eight registers and of more; grids of a block. All were chosen. */
enum { MOST_TILES = 4, MOST_BLOCKS = 8, MAX_GRIDS = 64 };
/* With the reduction in blocks: grids of a block along either side; parts of the reduction. Chosen. */
enum { MAX_BLOCK_GRIDS = 16, MOST_PARTS = 8 };

typedef struct tile_form {
    const tc_intrinsic *unit;
    const tc_expr *packed; /* the read of the second operand */
    const tc_expr *first; /* the read of the first one, and its dimension that is the tiles' row and no more, -1: there is none */
    int dr;
    int row;      /* head axis of the tiles' rows */
    int dv, dk;   /* dimensions of the packed operand: columns, and the last reduction */
    int64_t step; /* of the last reduction */
} tile_form;

static const tc_expr *stored(const tc_expr *e) {
    const tc_expr *x = e->op == TC_OP_CAST ? e->args[0] : e;
    return x->op == TC_OP_READ && x->nargs > 0 ? x : NULL;
}

const tc_intrinsic *tc_space_tile_unit(tc_intrinsic_set set, tc_dtype acc, tc_dtype a, tc_dtype b) {
    for (int i = 0; i < TC_NINTRINSICS; i++) {
        const tc_intrinsic *r = tc_intrinsic_row((tc_intrinsic_id)i);
        if (r->place != TC_UNIT_VECTOR && tc_intrinsic_in(set, r) && r->acc == acc && r->a == a && r->b == b)
            return r;
    }
    return NULL;
}

static bool is_var(const tc_expr *e, const tc_var *v) {
    return e->op == TC_OP_VAR && e->u.var == v;
}

/* Steps that divide the reduction need no registers for a last one; they are taken unless they are short. */
static int64_t step_of(const tc_intrinsic *u, int64_t extent) {
    if (u->place == TC_UNIT_BLOCK)
        return u->k;
    for (int64_t s = u->k; 2 * s >= u->k; s -= u->group)
        if (extent % s == 0)
            return s;
    return TC_MIN(u->k, extent);
}

/* The head's axis whose iterations are the tiles' rows: the last that moves the first operand with a constant distance. */
static int row_axis(const analysis *an, const anchor_plan *p, const tc_expr *a) {
    for (int x = p->head->naxis - 1; x >= 0; x--) {
        bool row = p->role[x] == AXIS_ROW && p->dim[x] >= 0 && p->op->axes[p->dim[x]].extent > 1;
        if (row && tc_space_dim_along(an->ctx, a, p->op->axes[p->dim[x]].var) >= 0)
            return x;
    }
    return -1;
}

static bool form_of(const analysis *an, const anchor_plan *p, tile_form *f) {
    const tc_compute *op = p->op;
    const tc_expr *e = op->body[0], *x = e->op == TC_OP_MUL ? stored(e->args[0]) : NULL, *y = x ? stored(e->args[1]) : NULL;
    if (op->reducer != TC_RED_SUM || !y || p->vec < 0 || p->acc_vec < 0)
        return false;
    const tc_var *column = op->axes[p->acc_vec].var;
    const tc_axis *k = &op->raxes[op->nraxis - 1];
    bool swap = tc_space_dim_along(an->ctx, x, column) >= 0;
    const tc_expr *a = swap ? y : x;
    *f = (tile_form){.packed = swap ? x : y, .dk = -1};
    f->unit = tc_space_tile_unit(an->m->intrinsics, (tc_dtype)e->dtype, (tc_dtype)a->dtype, (tc_dtype)f->packed->dtype);
    f->dv = tc_space_dim_along(an->ctx, f->packed, column);
    for (int d = 0; d < f->packed->nargs; d++)
        f->dk = is_var(f->packed->args[d], k->var) ? d : f->dk;
    if (!f->unit || f->dv < 0 || f->dk < 0 || !is_var(f->packed->args[f->dv], column))
        return false;
    bool whole = f->unit->place == TC_UNIT_BLOCK || k->extent % f->unit->group == 0;
    if (!whole || !is_var(a->args[a->nargs - 1], k->var) || tc_space_dim_along(an->ctx, a, column) >= 0)
        return false;
    f->row = row_axis(an, p, a);
    f->step = step_of(f->unit, k->extent);
    f->first = a;
    f->dr = -1;
    for (int d = 0; d + 1 < a->nargs && f->row >= 0; d++)
        f->dr = is_var(a->args[d], op->axes[p->dim[f->row]].var) ? d : f->dr;
    return f->row >= 0;
}

/* The first operand can be copied in the order of the tiles: what is read of it once. */
static bool rows_pack(const anchor_plan *p, const tile_form *f) {
    const tc_expr *all[2];
    const tc_tensor *t = f->first->u.tensor;
    return f->dr >= 0 && !t->is_const && tc_sch_reads_of(p->op, t, all, 2) == 1 && !tc_sch_reads_part(p->op, f->first);
}

bool tc_space_anchor_tiles(const analysis *an, const cluster *c, bool *packs, bool *rows) {
    anchor_plan p;
    tile_form f;
    tc_space_plan_cluster(an, c, &p);
    if (!form_of(an, &p, &f))
        return false;
    *packs |= !f.packed->u.tensor->is_const;
    *rows |= rows_pack(&p, &f);
    return true;
}

/* ---- emission ---- */

/* `side`: of a tile. */
static decision_ref sample_side(emitter *e, role r, int id, const tile_form *f, int side, int64_t extent) {
    int64_t v[MOST_BLOCKS];
    int n = 0, most = f->unit->place == TC_UNIT_TILE ? MOST_TILES : MOST_BLOCKS;
    while (n < most && (n == 0 || side * n < extent)) {
        v[n] = (int64_t)side * (n + 1);
        n++;
    }
    return tc_space_sample_choice(&e->b, r, id, n, v, extent);
}

/* Parts of the reduction, in steps as equal as can be, each of which multiplies for longer than its results' way from a cache and
 * back takes. */
static int block_sizes(const tile_form *f, int64_t extent, int64_t *out) {
    const tc_intrinsic *u = f->unit;
    int n = 0;
    int64_t steps = tc_ceil_div(extent, f->step);
    for (int parts = 2; parts <= MOST_PARTS; parts++) {
        int64_t part = tc_ceil_div(steps, parts) * f->step;
        bool pays = (double)tc_ceil_div(part, u->k) * u->cycles > u->load + u->store;
        if (pays && part < extent && (n == 0 || part < out[n - 1]))
            out[n++] = part;
    }
    return n;
}

/* Loops of the head, row and column: block, grid in it (of columns only where the reduction is in blocks), in the grid. */
typedef struct head_parts {
    loop_ref row[3], column[3];
    factor width, height; /* of a grid */
} head_parts;

static void note(emitter *e, const anchor_plan *p, const tile_form *f, decision_ref columns) {
    decision *d = tc_space_decision(&e->b, columns);
    d->unit = f->unit;
    d->batch = d->depth = 1;
    for (int x = 0; x < p->head->naxis; x++)
        d->batch *= x != p->vec && x != f->row ? p->head->axes[x].extent : 1;
    for (int r = 0; r < p->op->nraxis; r++)
        d->depth *= p->op->raxes[r].extent;
    d->last = p->op->raxes[p->op->nraxis - 1].extent;
    const tc_tensor *a = f->first->u.tensor;
    d->pitch = a->ndim > 1 ? a->shape[a->ndim - 1] * tc_dtype_bytes(a->dtype) : 0;
}

static head_parts split_head(emitter *e, anchor_plan *p, const tile_form *f, int id) {
    head_parts h = {0};
    loop_ref rows[2], columns[2];
    stage_ref head = stage_called(p->head->name);
    const tc_axis *i = &p->head->axes[f->row], *j = &p->head->axes[p->vec];
    decision_ref wide = sample_side(e, ROLE_TILE_COLUMNS, id, f, f->unit->n, j->extent),
                 high = sample_side(e, ROLE_TILE_ROWS, id, f, f->unit->m, i->extent);
    h.width = chosen(wide), h.height = chosen(high);
    p->panel = f->unit->place == TC_UNIT_TILE ? fixed(f->unit->n) : h.width; /* of a tile, or of a grid of small ones */
    note(e, p, f, wide);
    tc_space_split(&e->b, loop_of(head, j), p->blocked ? "tv" : "0v", &h.width, columns);
    tc_space_split(&e->b, loop_of(head, i), "t2", &h.height, rows);
    h.column[0] = columns[0], h.column[2] = columns[1], h.row[2] = rows[1];
    int most = p->blocked ? MAX_BLOCK_GRIDS : MAX_GRIDS;
    factor grids = part_of(tc_space_sample_tile(&e->b, ROLE_TILE_BLOCK, id, rows[0], 2, most, i->extent), 1);
    tc_space_split(&e->b, rows[0], "01", &grids, h.row);
    if (p->blocked) {
        grids = part_of(tc_space_sample_tile(&e->b, ROLE_TILE_PANELS, id, columns[0], 2, most, j->extent), 1);
        tc_space_split(&e->b, columns[0], "01", &grids, h.column);
    }
    return h;
}

/* Orders the head's loops; the outer ones, fused, are the tasks. */
static loop_ref order_head(emitter *e, const anchor_plan *p, const tile_form *f, const head_parts *h) {
    loop_list all = {0};
    for (int x = 0; x < p->head->naxis; x++)
        if (x != p->vec && x != f->row)
            tc_space_list(&all, loop_of(stage_called(p->head->name), &p->head->axes[x]));
    bool once = e->v.chain && !is_loop(e->at); /* what is computed per task must not be computed again for other columns */
    if (e->v.rows_inner && !once)
        tc_space_list(&all, h->column[0]);
    tc_space_list(&all, h->row[0]);
    loop_list task = all;
    if (!e->v.rows_inner || once)
        tc_space_list(&all, h->column[0]);
    if (!e->v.rows_inner && !once)
        task = all;
    tc_space_list(&all, h->row[1]);
    tc_space_list(&all, h->row[2]);
    if (is_loop(h->column[1]))
        tc_space_list(&all, h->column[1]);
    tc_space_list(&all, h->column[2]);
    tc_space_reorder(&e->b, &all);
    if (is_loop(e->at))
        return e->at;
    task.n = TC_MIN(task.n, (int)TC_MAX_PARTS);
    if (task.n == 1)
        return task.at[0];
    return tc_space_fuse(&e->b, &task, "task");
}

/* Blocks of the reduction, and the grids of a task, whose loops they are around; i and j become the loops of one grid. */
static void split_blocks(emitter *e, const anchor_plan *p, const tile_form *f, const head_parts *h, int id, loop_list *order,
                         loop_ref *i, loop_ref *j, loop_ref *k) {
    int64_t sizes[MOST_PARTS];
    loop_ref rows[2], columns[2], parts[2];
    int64_t extent = p->op->raxes[p->op->nraxis - 1].extent;
    int n = block_sizes(f, extent, sizes);
    factor block = chosen(tc_space_sample_choice(&e->b, ROLE_BLOCK_K, id, n, sizes, extent));
    tc_space_split(&e->b, *k, "bm", &block, parts);
    tc_space_split(&e->b, *i, "gx", &h->height, rows);
    tc_space_split(&e->b, *j, "gx", &h->width, columns);
    tc_space_list(order, parts[0]);
    tc_space_list(order, e->v.rows_inner ? columns[0] : rows[0]);
    tc_space_list(order, e->v.rows_inner ? rows[0] : columns[0]);
    *i = rows[1], *j = columns[1], *k = parts[1];
}

/* The accumulating stage: grids of tiles. */
static void emit_grid(emitter *e, const anchor_plan *p, const tile_form *f, const head_parts *h, int id) {
    const tc_compute *op = p->op;
    builder *b = &e->b;
    const factor rows = fixed(f->unit->m), columns = fixed(f->unit->n), step = fixed(f->step);
    int row = p->dim[f->row];
    loop_ref i[2] = {loop_of(p->acc, &op->axes[row])}, j[2] = {loop_of(p->acc, &op->axes[p->acc_vec])},
             k[2] = {loop_of(p->acc, &op->raxes[op->nraxis - 1])};
    loop_list order = {0};
    for (int x = 0; x < op->naxis; x++)
        if (x != row && x != p->acc_vec)
            tc_space_list(&order, loop_of(p->acc, &op->axes[x]));
    if (p->blocked)
        split_blocks(e, p, f, h, id, &order, i, j, k);
    tc_space_list_axes(&order, p->acc, op->raxes, op->nraxis - 1);
    tc_space_split(b, i[0], "ti", &rows, i);
    tc_space_split(b, j[0], "ti", &columns, j);
    tc_space_split(b, k[0], "oi", &step, k);
    const loop_ref inner[] = {k[0], i[0], j[0], i[1], j[1], k[1]};
    for (size_t l = 0; l < TC_LEN(inner); l++)
        tc_space_list(&order, inner[l]);
    tc_space_reorder(b, &order);
    tc_space_unroll(b, i[0]);
    tc_space_unroll(b, j[0]);
    tc_space_tensorize(b, i[1], f->unit->text);
}

/* A reduction that is short, or of one block, stays whole. */
static bool blocks(const emitter *e, const anchor_plan *p, const tile_form *f) {
    int64_t sizes[MOST_PARTS], extent = p->op->raxes[p->op->nraxis - 1].extent;
    return e->v.block_k && extent >= MIN_BLOCKED_K && block_sizes(f, extent, sizes) > 0;
}

bool tc_space_emit_tiles(emitter *e, anchor_plan *p) {
    tile_form f;
    if (!form_of(e->an, p, &f) || (!f.packed->u.tensor->is_const && !e->v.pack))
        return false;
    p->group = f.unit->group;
    p->blocked = blocks(e, p, &f);
    int id = e->nanchor++;
    stage_ref head = stage_called(p->head->name);
    p->acc = p->head == p->op ? tc_space_cache_write(&e->b, head) : stage_called(p->op->name);
    if (is_loop(e->at))
        tc_space_compute_at(&e->b, head, e->at);
    head_parts h = split_head(e, p, &f, id);
    loop_ref task = e->task = order_head(e, p, &f, &h);
    tc_space_compute_at(&e->b, p->acc, p->blocked ? task : h.row[1]);
    if (!p->blocked)
        tc_space_keep_local(&e->b, p->acc);
    tc_space_vectorize(&e->b, h.column[2]);
    emit_grid(e, p, &f, &h, id);
    tc_space_emit_operands(e, p, task);
    if (e->v.pack_rows && rows_pack(p, &f))
        tc_space_emit_packed_rows(e, p, f.first, f.dr, fixed(f.unit->m), fixed(f.step));
    if (!e->v.serial && !is_loop(e->at))
        tc_space_parallel(&e->b, task);
    if (e->v.chain)
        e->at = task;
    return true;
}
