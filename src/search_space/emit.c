/* Emission of sketch text: steps, sampled decisions with their roles, and the rules for clusters without an anchor (elementwise
 * maps and row groups: softmax, layer norm, reductions).
 *
 * Map:   fuse outer axes, parallel; last axis in vectors of a sampled width.
 * Rows:  head:  fo, fi = split(fuse(row axes)); parallel fo; every other member computed at fi.
 *        a reduction over a contiguous axis k becomes  k -> ko, ku, kv ; two rfactors: kv lanes and ku independent accumulators
 *        (one accumulator would wait for the adder's latency each step).
 * Windows: rows that reduce strided memory (pooling): blocks of the last axis count as rows, so that one row is work for all
 * cores, and each block's running values stay in registers. */
#include "search_space/space_int.h"

#include <stdio.h>
#include <string.h>

enum { MAX_ROW_CHUNK = 16, MAX_WIDTH_VECTORS = 8, MAX_UNROLLED_TAPS = 16, MIN_BLOCK = 8, MAX_BLOCK = 32 };

void tc_space_step(emitter *e, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tc_sb_vprintf(&e->text, fmt, ap);
    va_end(ap);
    tc_sb_addc(&e->text, '\n');
}

static const char *new_decision(emitter *e, role r, int anchor, int64_t extent) {
    static const char *const letter[] = {"ti", "v", "tv", "u", "kb", "bi", "ri", "bv", "c", "w"};
    decision d = {.role = r, .anchor = anchor, .extent = extent, .phase = 1};
    d.name = tc_arena_printf(e->arena, "%s%d", letter[r], e->unique++);
    tc_push(&e->dec, d);
    return d.name;
}

const char *tc_space_sample_tile(emitter *e, role r, int anchor, const char *loop, int parts, int64_t max_inner, int64_t extent) {
    const char *n = new_decision(e, r, anchor, extent);
    tc_space_step(e, "%s = sample_tile %s parts=%d max_inner=%lld", n, loop, parts, (long long)max_inner);
    return n;
}

const char *tc_space_sample_choice(emitter *e, role r, int anchor, int n, const int64_t *values, int64_t extent) {
    const char *name = new_decision(e, r, anchor, extent);
    tc_sb_printf(&e->text, "%s = sample_categorical [", name);
    for (int i = 0; i < n; i++)
        tc_sb_printf(&e->text, "%s%lld", i ? ", " : "", (long long)values[i]);
    tc_sb_add(&e->text, "]\n");
    return name;
}

/* Widths of 1, 2, 4, 8 vectors, none wider than the loop rounded up to a vector; a loop shorter than a vector is taken whole. */
static const char *sample_width(emitter *e, int64_t extent, int lanes) {
    int64_t w[4];
    int n = 0;
    w[n++] = TC_MIN(extent, lanes);
    for (int k = 2; k <= MAX_WIDTH_VECTORS; k *= 2)
        if ((int64_t)lanes * k < extent + lanes)
            w[n++] = (int64_t)lanes * k;
    return tc_space_sample_choice(e, ROLE_WIDTH, -1, n, w, extent);
}

/* "X.a X.b X.c" for axes [from, to). */
static const char *loop_list(emitter *e, const char *stage, const tc_axis *axes, int from, int to) {
    tc_strbuf b = {0};
    for (int i = from; i < to; i++)
        tc_sb_printf(&b, "%s%s.%s", i > from ? " " : "", stage, axes[i].var->name);
    const char *s = tc_arena_strdup(e->arena, tc_sb_str(&b));
    tc_strbuf_free(&b);
    return s;
}

/* Fuses axes [0, n) into one loop; returns its bare name. n >= 1. */
static const char *fuse_leading(emitter *e, const tc_compute *op, int n) {
    if (n == 1)
        return op->axes[0].var->name;
    const char *name = tc_arena_printf(e->arena, "%s_f", op->axes[0].var->name);
    tc_space_step(e, "%s = fuse %s", name, loop_list(e, op->name, op->axes, 0, n));
    return name;
}

static int64_t extent_of(const tc_axis *axes, int n) {
    int64_t x = 1;
    for (int i = 0; i < n; i++)
        x *= axes[i].extent;
    return x;
}

static void vectorize_last(emitter *e, const tc_compute *op) {
    const tc_axis *x = &op->axes[op->naxis - 1];
    if (x->extent < 2)
        return;
    const char *w = sample_width(e, x->extent, tc_space_lanes(e->an->m, op)), *v = x->var->name;
    tc_space_step(e, "%s_o, %s_v = split %s.%s [_, %s]", v, v, op->name, v, w);
}

static void mark_vector(emitter *e, const tc_compute *op) {
    const tc_axis *x = &op->axes[op->naxis - 1];
    if (x->extent >= 2)
        tc_space_step(e, "vectorize %s.%s_v", op->name, x->var->name);
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
static const char *emit_transposing(emitter *e, const tc_compute *op, int along) {
    const char *n = op->name, *a = op->axes[along].var->name, *v = op->axes[op->naxis - 1].var->name;
    int64_t block[3], nb = 0;
    for (int64_t b = MIN_BLOCK; b <= MAX_BLOCK; b *= 2)
        if (nb == 0 || b < op->axes[along].extent + MIN_BLOCK)
            block[nb++] = b;
    vectorize_last(e, op);
    const char *b = tc_space_sample_choice(e, ROLE_WIDTH, -1, (int)nb, block, op->axes[along].extent);
    tc_space_step(e, "%s_o, %s_i = split %s.%s [_, %s]", a, a, n, a, b);
    tc_strbuf outer = {0};
    for (int x = 0; x < op->naxis - 1; x++)
        tc_sb_printf(&outer, " %s.%s%s", n, op->axes[x].var->name, x == along ? "_o" : "");
    tc_space_step(e, "reorder%s %s.%s_o %s.%s_i %s.%s_v", tc_sb_str(&outer), n, v, n, a, n, v);
    mark_vector(e, op);
    const char *first = tc_arena_printf(e->arena, "%s%s", op->axes[0].var->name, along == 0 ? "_o" : "");
    if (op->naxis > 2) {
        first = tc_arena_printf(e->arena, "%s_f", op->axes[0].var->name);
        tc_space_step(e, "%s = fuse%s", first, tc_sb_str(&outer));
    }
    tc_strbuf_free(&outer);
    return first;
}

void tc_space_emit_map(emitter *e, const cluster *c) {
    const tc_compute *op = e->an->s->stages[c->member[0]].op;
    const char *par = NULL;
    if (e->at)
        tc_space_step(e, "compute_at %s %s", op->name, e->at);
    if (op->naxis == 0)
        return;
    if (!e->at && op->naxis <= TC_MAX_PARTS && pointwise(op)) {
        const char *f = fuse_leading(e, op, op->naxis);
        const char *w = sample_width(e, extent_of(op->axes, op->naxis), tc_space_lanes(e->an->m, op));
        tc_space_step(e, "f_o, f_v = split %s.%s [_, %s]", op->name, f, w);
        tc_space_step(e, "vectorize %s.f_v", op->name);
        par = "f_o";
    } else if (!e->at && op->naxis - 1 <= TC_MAX_PARTS && op->axes[op->naxis - 1].extent > 1 && transposed_axis(op) >= 0) {
        par = emit_transposing(e, op, transposed_axis(op));
    } else {
        vectorize_last(e, op);
        mark_vector(e, op);
        if (e->at)
            return;
        int outer = op->naxis - 1 < TC_MAX_PARTS ? op->naxis - 1 : TC_MAX_PARTS;
        const char *last = op->axes[op->naxis - 1].var->name;
        par = outer ? fuse_leading(e, op, outer) : op->axes[0].extent < 2 ? last : tc_arena_printf(e->arena, "%s_o", last);
    }
    if (!e->v.serial)
        tc_space_step(e, "parallel %s.%s", op->name, par);
}

/* ---- rows ---- */

/* The last reduction axis walks contiguous memory and is worth vectors. */
static bool reduces_contiguous(const emitter *e, const tc_compute *op) {
    return op->nout == 1 && op->raxes[op->nraxis - 1].extent >= 2 * tc_space_lanes(e->an->m, op) &&
           tc_space_reduces_contiguous(op);
}

static void attach(emitter *e, const char *stage, const char *loop) {
    if (!loop)
        return;
    tc_space_step(e, "compute_at %s %s", stage, loop);
    tc_space_step(e, "set_scope %s local", stage);
}

/* "(x0, .., xn, xm) -> (x0, .., xm, xn)": the second rfactor appends its axis behind the lanes; memory has the lanes last. */
static const char *lanes_last(emitter *e, int n) {
    tc_strbuf b = {0}, head = {0};
    for (int i = 0; i < n; i++)
        tc_sb_printf(&head, "x%d, ", i);
    tc_sb_printf(&b, "(%sx%d, x%d) -> (%sx%d, x%d)", tc_sb_str(&head), n, n + 1, tc_sb_str(&head), n + 1, n);
    const char *s = tc_arena_strdup(e->arena, tc_sb_str(&b));
    tc_strbuf_free(&head);
    tc_strbuf_free(&b);
    return s;
}

/* op[..] = reduce over k (contiguous): lanes and accumulators factored out. `loop`: where members are computed, or NULL for root.
 */
static void emit_vector_reduction(emitter *e, const tc_compute *op, const char *loop) {
    const tc_axis *kx = &op->raxes[op->nraxis - 1];
    const char *k = kx->var->name, *n = op->name;
    int lanes = tc_space_lanes(e->an->m, op);
    int64_t u[4], nu = 0;
    for (int64_t f = 1; f <= MAX_WIDTH_VECTORS; f *= 2)
        if (f == 1 || f * lanes <= kx->extent)
            u[nu++] = f;
    const char *un = tc_space_sample_choice(e, ROLE_UNROLL_K, -1, (int)nu, u, kx->extent);
    tc_space_step(e, "%s_o, %s_u, %s_v = split %s.%s [_, %s, %d]", k, k, k, n, k, un, lanes);
    tc_space_step(e, "%s_rv = rfactor %s.%s_v", n, n, k);
    tc_space_step(e, "%s_ru = rfactor %s_rv.%s_u", n, n, k);
    attach(e, tc_arena_printf(e->arena, "%s_rv", n), loop);
    attach(e, tc_arena_printf(e->arena, "%s_ru", n), loop);
    tc_space_step(e, "transform_layout %s_ru %s", n, lanes_last(e, op->naxis));
    tc_strbuf order = {0}; /* the other reductions outside, so that all accumulators are live over all of them */
    for (int r = 0; r < op->nraxis - 1; r++)
        tc_sb_printf(&order, "%s_ru.%s ", n, op->raxes[r].var->name);
    tc_space_step(e, "reorder %s%s_ru.%s_o %s_ru.%s_u %s_ru.%s_v", tc_sb_str(&order), n, k, n, k, n, k);
    tc_strbuf_free(&order);
    tc_space_step(e, "unroll %s_ru.%s_u", n, k);
    tc_space_step(e, "vectorize %s_ru.%s_v", n, k);
    tc_space_step(e, "reorder %s_rv.%s_u %s_rv.%s_v", n, k, n, k);
    tc_space_step(e, "unroll %s_rv.%s_u", n, k);
    tc_space_step(e, "vectorize %s_rv.%s_v", n, k);
    tc_space_step(e, "unroll %s.%s_v", n, k);
}

/* A small window is unrolled: its taps keep the running value in a register and fold their addresses. */
static void unroll_taps(emitter *e, const char *stage, const tc_compute *op) {
    int64_t taps = extent_of(op->raxes, op->nraxis);
    for (int r = 0; r < op->nraxis && taps <= MAX_UNROLLED_TAPS; r++)
        tc_space_step(e, "unroll %s.%s", stage, op->raxes[r].var->name);
}

/* Reduction loops outside of the vectors of the last spatial axis. */
static void emit_spatial_reduction(emitter *e, const tc_compute *op) {
    const char *x = op->axes[op->naxis - 1].var->name;
    if (op->axes[op->naxis - 1].extent < 2 || op->nout > 1)
        return;
    vectorize_last(e, op);
    tc_space_step(e, "reorder %s %s.%s_v", loop_list(e, op->name, op->raxes, 0, op->nraxis), op->name, x);
    mark_vector(e, op);
    unroll_taps(e, op->name, op);
}

static void emit_row_member(emitter *e, const tc_compute *op, stage_kind kind, int rows, const char *loop) {
    if (loop)
        attach(e, op->name, loop);
    if (kind == KIND_MAP) {
        if (op->naxis > rows) {
            vectorize_last(e, op);
            mark_vector(e, op);
        }
    } else if (reduces_contiguous(e, op)) {
        emit_vector_reduction(e, op, loop);
    } else if (op->naxis > rows) {
        emit_spatial_reduction(e, op);
    }
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
    if (e->at || c->rows != head->naxis || head->naxis > TC_MAX_PARTS || head->axes[head->naxis - 1].extent < 2)
        return false;
    for (int i = 0; i < c->n; i++)
        if (e->an->s->stages[c->member[i]].op->nout > 1)
            return false;
    return needs_vector_axis(e, c);
}

/* Blocks of the last axis count as rows; returns the loop over all of them. */
static const char *fuse_blocks(emitter *e, const tc_compute *op, const char *width) {
    const char *n = op->name, *x = op->axes[op->naxis - 1].var->name;
    tc_space_step(e, "%s_o, %s_v = split %s.%s [_, %s]", x, x, n, x, width);
    tc_space_step(e, "vectorize %s.%s_v", n, x);
    if (op->naxis == 1)
        return tc_arena_printf(e->arena, "%s_o", x);
    const char *f = tc_arena_printf(e->arena, "%s_f", op->axes[0].var->name);
    tc_space_step(e, "%s = fuse %s %s.%s_o", f, loop_list(e, n, op->axes, 0, op->naxis - 1), n, x);
    return f;
}

/* A stage for one block of the last axis: a reduction's running values stay in registers. */
static void emit_window(emitter *e, const char *stage, const tc_compute *op, const char *loop) {
    const char *x = op->axes[op->naxis - 1].var->name;
    attach(e, stage, loop);
    if (op->nraxis)
        tc_space_step(e, "reorder %s %s.%s", loop_list(e, stage, op->raxes, 0, op->nraxis), stage, x);
    tc_space_step(e, "vectorize %s.%s", stage, x);
    unroll_taps(e, stage, op);
}

static void emit_windows(emitter *e, const cluster *c) {
    const analysis *an = e->an;
    const tc_compute *head = an->s->stages[c->member[0]].op;
    const char *acc = NULL;
    if (head->nraxis) {
        acc = tc_arena_printf(e->arena, "%s_acc", head->name);
        tc_space_step(e, "%s = cache_write %s local", acc, head->name);
    }
    int64_t last = head->axes[head->naxis - 1].extent;
    int lanes = tc_space_lanes(an->m, an->s->stages[c->member[c->n - 1]].op);
    const char *f = fuse_blocks(e, head, sample_width(e, last, lanes));
    const char *q = tc_arena_printf(e->arena, "%s.%s", head->name, f);
    const char *t = tc_space_sample_tile(e, ROLE_CHUNK, -1, q, 2, MAX_ROW_CHUNK, extent_of(head->axes, head->naxis - 1));
    tc_space_step(e, "r_o, r_i = split %s [_, %s.1]", q, t);
    if (!e->v.serial)
        tc_space_step(e, "parallel %s.r_o", head->name);
    const char *loop = tc_arena_printf(e->arena, "%s.r_i", head->name);
    if (acc)
        emit_window(e, acc, head, loop);
    for (int i = 1; i < c->n; i++) {
        const tc_compute *op = an->s->stages[c->member[i]].op;
        emit_window(e, op->name, op, loop);
    }
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
    if (rows > TC_MAX_PARTS)
        rows = TC_MAX_PARTS;
    const char *loop = NULL;
    if (e->at) {
        tc_space_step(e, "compute_at %s %s", head->name, e->at);
        if (rows > 0)
            loop = tc_arena_printf(e->arena, "%s.%s", head->name, head->axes[rows - 1].var->name);
    } else if (rows > 0) {
        const char *f = fuse_leading(e, head, rows);
        const char *q = tc_arena_printf(e->arena, "%s.%s", head->name, f);
        const char *t = tc_space_sample_tile(e, ROLE_CHUNK, -1, q, 2, MAX_ROW_CHUNK, extent_of(head->axes, rows));
        tc_space_step(e, "r_o, r_i = split %s [_, %s.1]", q, t);
        if (!e->v.serial)
            tc_space_step(e, "parallel %s.r_o", head->name);
        loop = tc_arena_printf(e->arena, "%s.r_i", head->name);
    }
    emit_row_member(e, head, an->kind[c->member[0]], rows, NULL);
    if (an->kind[c->member[0]] == KIND_REDUCE && loop && reduces_contiguous(e, head)) {
        attach(e, tc_arena_printf(e->arena, "%s_rv", head->name), loop);
        attach(e, tc_arena_printf(e->arena, "%s_ru", head->name), loop);
    }
    for (int i = 1; i < c->n; i++)
        emit_row_member(e, an->s->stages[c->member[i]].op, an->kind[c->member[i]], rows, loop);
}
