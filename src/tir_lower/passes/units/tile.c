/* Tiles: the loops that schedules give to units with tiles become the unit's instructions. The tiles live in tile registers or
 * in vector registers.
 *
 *     tensor i in 16 { tensor j in 16 { D[32*i + j] = 0 } }
 *     for ko in 24 {                                                         alloc D_tile { alloc X_tile { alloc W_tile {
 *       tensor i in 16 unit amx_bf16 {                                         tile zero D_tile
 *         tensor j in 16 {                                                      for ko in 24 {
 *           tensor k in 32 reduce {                                               tile load X_tile X[32*ko ..] by 768
 *             D[32*i + j] = D[32*i + j]                              =>          tile load W_tile W[512*ko ..] by 32
 *                 + f32(X[768*i + 32*ko + k]) * f32(W[..])                        tile amx_bf16 D_tile X_tile W_tile
 *     } } } }                                                                   }
 *                                                                               tile store D_tile D[0] by 32 } } }
 *
 * A *region* is the largest part of a nest that only adds products to places that none of its loops moves. The sums of a region
 * stay in tiles from before its first loop until after its last loop. Each place has a tile of its own. Operands share the
 * remaining tiles. An operand is loaded when an instruction needs it and no tile holds it. Tiles have the shape of their
 * contents, so ragged edges need no padding: partition has given the edges nests of their own.
 *
 * Needs: NO_UNROLL, so that a grid of tiles stands in one piece. Gives: NO_TENSOR. Refuses (TC_ILLEGAL) a nest that does not
 * compute what its unit does, and a region of more tiles than there are registers. */
#include "tir_lower/passes/units/tile_int.h"
#include "tir_lower/unit_match.h"

#include <string.h>

enum { MAX_NESTS = 256 };

/* A nest that adds to a place. */
typedef struct leaf {
    const tc_stmt *s;
    tir_unit_nest nest;
    int step; /* which straight-line run of the region it is in */
} leaf;

/* A tile of a region: of a place of results, or for operands of one shape. */
typedef struct tile {
    const tc_buffer *buffer;
    enum { RESULT, LEFT, RIGHT } what;
    int rows, cols;
    tir_operand at; /* RESULT: its place; operands: what it holds now, if anything */
    bool zero;      /* RESULT: starts at zero, not with what is there */
} tile;

typedef struct region {
    int nleaf, ntile, nstep;
    leaf leaves[MAX_NESTS];
    tile tiles[TC_MOST_BLOCKS];
    tc_map bound; /* variables of its loops */
} region;

typedef struct tiler {
    tc_ctx *c;
    const tc_machine *m;
    tc_env *env;
    tir_names *names;
    tc_status status;
    tc_error *err;
    region *now; /* while its statements are rewritten */
    int next;    /* leaf */
} tiler;

static bool is_nest(const tc_stmt *s) {
    return s->kind == TC_STMT_FOR && s->u.loop.kind == TC_FOR_TENSOR;
}

static bool adds(const tc_stmt *s) {
    return is_nest(s) && s->u.loop.unit;
}

static const tc_stmt *fail(tiler *k, const char *why) {
    if (k->status == TC_OK)
        k->status = tc_fail(k->err, TC_ILLEGAL, "tile: %s", why);
    return NULL;
}

/* ---- regions ---- */

/* Only loops, and nests that add. */
static bool is_pure(const tc_stmt *s) {
    const tc_stmt *inside;
    if (is_nest(s))
        return adds(s);
    if (s->kind != TC_STMT_SEQ && (s->kind != TC_STMT_FOR || s->u.loop.kind != TC_FOR_SERIAL))
        return false;
    for (int i = 0; (inside = tc_tir_child(s, i)); i++)
        if (!is_pure(inside))
            return false;
    return true;
}

static bool same_place(const tir_operand *a, const tir_operand *b) {
    return a->buffer == b->buffer && a->base == b->base && a->stride == b->stride;
}

/* Whether two rectangles of rows have an element in common, or may have. */
static bool meet(tiler *k, const tir_unit_nest *p, const tir_unit_nest *q) {
    tc_affine x, y;
    if (p->acc.buffer != q->acc.buffer)
        return false;
    if (!tc_te_affine(k->c, p->acc.base, k->env, &x) || !tc_te_affine(k->c, q->acc.base, k->env, &y) ||
        !tc_affine_same_terms(&x, &y))
        return true;
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < q->m; j++) {
            int64_t a = x.c + i * p->acc.stride, b = y.c + j * q->acc.stride;
            if (a < b + q->n && b < a + p->n)
                return true;
        }
    return false;
}

static bool varies(const tc_expr *e, const void *bound) {
    return (e->op == TC_OP_VAR && tc_map_get(bound, e->u.var->id)) || e->op == TC_OP_LOAD;
}

/* What a text says a unit does may be more than one instruction does. */
static bool fits(const tir_unit_nest *n) {
    const tc_intrinsic *u = n->unit;
    return !u || (n->m <= u->m && n->n <= u->n && n->k <= u->k && (u->place == TC_UNIT_BLOCK || n->k % u->group == 0));
}

/* Gathers the nests of s, which is pure. False: there are too many, or one is not what its unit does. */
static bool gather(tiler *k, region *r, const tc_stmt *s) {
    const tc_stmt *inside;
    if (is_nest(s)) {
        tc_error why = {0};
        if (r->nleaf == MAX_NESTS)
            return fail(k, "a grid has more than 256 tiles; unroll fewer loops"), false;
        leaf *l = &r->leaves[r->nleaf++];
        *l = (leaf){.s = s, .step = r->nstep};
        if (!tir_match_unit(k->c, k->env, s, s->u.loop.unit, false, &l->nest, &why))
            return fail(k, why.msg), false;
        return fits(&l->nest) || (fail(k, "a nest has more rows, columns or products than its unit"), false);
    }
    size_t mark = tc_env_mark(k->env);
    if (s->kind == TC_STMT_FOR) {
        r->nstep++;
        tc_map_put(&r->bound, s->u.loop.var->id, 1);
        mark = tir_enter_loop(k->c, k->env, s->u.loop.var, s->u.loop.extent);
    }
    bool ok = true;
    for (int i = 0; ok && (inside = tc_tir_child(s, i)); i++)
        ok = gather(k, r, inside);
    r->nstep += s->kind == TC_STMT_FOR;
    tc_env_undo(k->env, mark);
    return ok;
}

/* Every place stays where it is, apart from the others and from what is multiplied. */
static bool may_stay(tiler *k, const region *r) {
    for (int i = 0; i < r->nleaf; i++) {
        const tir_unit_nest *p = &r->leaves[i].nest;
        if (tc_expr_any(p->acc.base, varies, &r->bound))
            return false;
        for (int j = 0; j < r->nleaf; j++) {
            const tir_unit_nest *q = &r->leaves[j].nest;
            if (q->a.buffer == p->acc.buffer || q->b.buffer == p->acc.buffer)
                return false;
            bool same = same_place(&p->acc, &q->acc) && p->m == q->m && p->n == q->n;
            if (j < i && !same && meet(k, p, q))
                return false;
        }
    }
    return true;
}

/* ---- registers ---- */

typedef struct demand {
    int what, rows, cols, most; /* distinct operands of the shape in one step */
} demand;

static tir_operand operand_of(const tir_unit_nest *n, int what) {
    return what == RESULT ? n->acc : what == LEFT ? n->a : n->b;
}

static void shape_of(const tir_unit_nest *n, int what, int *rows, int *cols) {
    int group = n->unit->group;
    *rows = what == RIGHT ? (int)tc_ceil_div(n->k, group) : n->m;
    *cols = what == LEFT ? n->k : what == RIGHT ? n->n * group : n->n;
}

static bool same_shape(const tir_unit_nest *n, int what, int rows, int cols) {
    int r, c;
    shape_of(n, what, &r, &c);
    return r == rows && c == cols;
}

/* Distinct operands of that kind and shape in the step of leaf `first`, from it on. */
static int distinct(const region *r, int first, int what, int rows, int cols) {
    int n = 0;
    for (int i = first; i < r->nleaf && r->leaves[i].step == r->leaves[first].step; i++) {
        tir_operand at = operand_of(&r->leaves[i].nest, what);
        bool is_new = same_shape(&r->leaves[i].nest, what, rows, cols);
        for (int j = first; is_new && j < i; j++) {
            tir_operand other = operand_of(&r->leaves[j].nest, what);
            is_new = !same_place(&at, &other) || !same_shape(&r->leaves[j].nest, what, rows, cols);
        }
        n += is_new;
    }
    return n;
}

static int demands(const region *r, demand *d, int cap) {
    int n = 0;
    for (int i = 0; i < r->nleaf; i++)
        for (int what = LEFT; what <= RIGHT; what++) {
            demand x = {.what = what};
            int at = 0;
            shape_of(&r->leaves[i].nest, what, &x.rows, &x.cols);
            while (at < n && (d[at].what != what || d[at].rows != x.rows || d[at].cols != x.cols))
                at++;
            if (at == n && n == cap)
                return n + 1;
            if (at == n)
                d[n++] = x;
            if (i == 0 || r->leaves[i].step != r->leaves[i - 1].step || d[at].most == 0)
                d[at].most = TC_MAX(d[at].most, distinct(r, i, what, x.rows, x.cols));
        }
    return n;
}

static void add_tile(tiler *k, region *r, tile t, const tc_buffer *like) {
    tc_buffer b = *like;
    b.name = tc_arena_printf(tc_ctx_arena(k->c), "%s_tile", like->name);
    b.size = (int64_t)t.rows * t.cols;
    b.reg_lanes = t.cols;
    b.scope = TC_BUF_TILE;
    b.param = -1;
    b.local = false;
    b.align = 64;
    b.tensor = NULL;
    t.buffer = tir_fresh_buffer(k->c, k->names, &b);
    r->tiles[r->ntile++] = t;
}

/* Registers for the region's tiles, at most TC_MOST_BLOCKS. */
static int registers(const tiler *k, const region *r) {
    int n = TC_MOST_BLOCKS;
    for (int i = 0; i < r->nleaf; i++)
        n = TC_MIN(n, tc_intrinsic_registers(r->leaves[i].nest.unit, k->m->vector_regs));
    return n;
}

static bool too_many(tiler *k, int have) {
    const char *why = tc_arena_printf(tc_ctx_arena(k->c),
                                      "the grid's tiles and their operands need more than the target's %d registers; use a "
                                      "smaller grid, or blocks that divide the reduction",
                                      have);
    return fail(k, why), false;
}

/* Results first; operands get what is left, in proportion to what one step wants at a time, but one at least. */
static bool assign(tiler *k, region *r) {
    demand d[TC_MOST_BLOCKS];
    int most = registers(k, r);
    for (int i = 0; i < r->nleaf; i++) {
        const tir_unit_nest *n = &r->leaves[i].nest;
        bool have = false;
        for (int t = 0; t < r->ntile; t++)
            have |= same_place(&r->tiles[t].at, &n->acc);
        if (have)
            continue;
        if (r->ntile == most)
            return too_many(k, most);
        tile t = {.what = RESULT, .at = n->acc};
        shape_of(n, RESULT, &t.rows, &t.cols);
        add_tile(k, r, t, n->acc.buffer);
    }
    int n = demands(r, d, most), total = r->ntile;
    for (int i = 0; i < n && n <= most; i++)
        total += d[i].most;
    while (total > most && n <= most) {
        int widest = 0;
        for (int i = 1; i < n; i++)
            widest = d[i].most > d[widest].most ? i : widest;
        if (d[widest].most == 1)
            break;
        d[widest].most--;
        total--;
    }
    if (n > most || total > most)
        return too_many(k, most);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < d[i].most; j++) {
            const tir_unit_nest *like = NULL;
            for (int l = 0; l < r->nleaf && !like; l++)
                if (same_shape(&r->leaves[l].nest, d[i].what, d[i].rows, d[i].cols))
                    like = &r->leaves[l].nest;
            tile t = {.what = d[i].what, .rows = d[i].rows, .cols = d[i].cols};
            add_tile(k, r, t, operand_of(like, d[i].what).buffer);
        }
    return true;
}

/* ---- statements ---- */

static const tc_stmt *move(tiler *k, tc_tile_op op, const tile *t, const tir_operand *at) {
    return tc_tir_tile(
        k->c, &(tc_tile_stmt){.op = op, .tile = {t->buffer}, .memory = at->buffer, .index = at->base, .stride = at->stride});
}

/* The tile that holds an operand; *load gets the statement that brings it in, if it is not there. */
static tile *hold(tiler *k, const tir_unit_nest *n, int what, const tc_stmt **load) {
    tir_operand at = operand_of(n, what);
    tile *oldest = NULL;
    *load = NULL;
    for (int i = 0; i < k->now->ntile; i++) {
        tile *t = &k->now->tiles[i];
        if ((int)t->what != what || !same_shape(n, what, t->rows, t->cols))
            continue;
        if (same_place(&t->at, &at))
            return t;
        if (!oldest || !t->at.buffer)
            oldest = t;
    }
    oldest->at = at;
    *load = move(k, TC_TILE_LOAD, oldest, &at);
    /* The next operand of this shape goes to another tile: this one is the last in order. */
    tile moved = *oldest;
    int at_index = (int)(oldest - k->now->tiles), last = at_index;
    for (int i = at_index + 1; i < k->now->ntile; i++) {
        if (k->now->tiles[i].what != moved.what || !same_shape(n, what, k->now->tiles[i].rows, k->now->tiles[i].cols))
            continue;
        k->now->tiles[last] = k->now->tiles[i];
        last = i;
    }
    k->now->tiles[last] = moved;
    return &k->now->tiles[last];
}

static const tc_stmt *multiply(tiler *k, const tir_unit_nest *n) {
    const tc_stmt *s[3];
    const tc_buffer *a = hold(k, n, LEFT, &s[0])->buffer, *b = hold(k, n, RIGHT, &s[1])->buffer, *acc = NULL;
    for (int i = 0; i < k->now->ntile; i++)
        if (k->now->tiles[i].what == RESULT && same_place(&k->now->tiles[i].at, &n->acc))
            acc = k->now->tiles[i].buffer;
    s[2] = tc_tir_tile(k->c, &(tc_tile_stmt){.op = TC_TILE_MULTIPLY, .unit = n->unit, .tile = {acc, a, b}});
    return tc_tir_seq(k->c, 3, s);
}

/* What was loaded in another run of the loop at hand, or before it, is not what its next one wants. */
static void forget_operands(region *r) {
    for (int i = 0; i < r->ntile; i++)
        if (r->tiles[i].what != RESULT)
            r->tiles[i].at = (tir_operand){0};
}

static const tc_stmt *use_for(tc_ctx *c, const tc_stmt *s, void *user) {
    tiler *k = user;
    static const tir_rules USE = {{[TC_STMT_FOR] = use_for}};
    if (is_nest(s))
        return multiply(k, &k->now->leaves[k->next++].nest);
    forget_operands(k->now);
    const tc_stmt *body = tir_rewrite(c, &USE, s->u.loop.body, user);
    forget_operands(k->now);
    return tir_with_loop(c, s, s->u.loop.extent, body);
}

static const tc_stmt *write_region(tiler *k, region *r, const tc_stmt *s) {
    static const tir_rules USE = {{[TC_STMT_FOR] = use_for}};
    const tc_stmt *seq[2 * TC_MOST_BLOCKS + 1];
    tile results[TC_MOST_BLOCKS];
    int n = 0, nresult = 0, ntile = r->ntile;
    const tc_buffer *all[TC_MOST_BLOCKS];
    for (int i = 0; i < ntile; i++) {
        all[i] = r->tiles[i].buffer;
        if (r->tiles[i].what == RESULT)
            results[nresult++] = r->tiles[i];
    }
    for (int i = 0; i < nresult; i++)
        seq[n++] = results[i].zero ? tc_tir_tile(k->c, &(tc_tile_stmt){.op = TC_TILE_ZERO, .tile = {results[i].buffer}})
                                   : move(k, TC_TILE_LOAD, &results[i], &results[i].at);
    k->now = r;
    k->next = 0;
    seq[n++] = tir_rewrite(k->c, &USE, s, k);
    for (int i = 0; i < nresult; i++)
        seq[n++] = move(k, TC_TILE_STORE, &results[i], &results[i].at);
    s = tc_tir_seq(k->c, n, seq);
    for (int i = ntile; i-- > 0;)
        s = tc_tir_alloc(k->c, all[i], s);
    return s;
}

/* ---- walking ---- */

/* A nest that sets a place to zero, and was not needed: rows of vectors. */
static const tc_stmt *fill(tiler *k, const tc_stmt *s) {
    const tc_stmt *row = s->u.loop.body;
    if (!is_nest(row))
        return fail(k, "a nest that sets a tile to zero has a condition");
    row = tc_tir_for(k->c, row->u.loop.var, row->u.loop.extent, TC_FOR_VECTOR, false, row->u.loop.body);
    return tc_tir_for(k->c, s->u.loop.var, s->u.loop.extent, TC_FOR_SERIAL, false, row);
}

/* Of before[0 .. n), the statements in front of the region, its places' nests that set them to zero go into it and become NULL, if
 * only such nests stand between. */
static void take_zeros(tiler *k, region *r, const tc_stmt **before, int n) {
    for (int i = n; i-- > 0 && (!before[i] || (is_nest(before[i]) && !adds(before[i])));) {
        tir_unit_nest z;
        if (!before[i] || !tir_match_unit(k->c, k->env, before[i], r->leaves[0].nest.unit, false, &z, NULL))
            continue;
        for (int t = 0; t < r->ntile; t++) {
            tile *at = &r->tiles[t];
            if (at->what != RESULT || !same_place(&at->at, &z.acc) || at->rows != z.m || at->cols != z.n)
                continue;
            at->zero = true;
            before[i] = NULL;
            break;
        }
    }
}

/* s, which is pure, as a region; NULL: something in it has to be outside of one. */
static const tc_stmt *as_region(tiler *k, const tc_stmt *s, const tc_stmt **before, int n) {
    region *r = tc_xcalloc(1, sizeof *r);
    const tc_stmt *out = NULL;
    if (gather(k, r, s) && may_stay(k, r) && assign(k, r)) {
        take_zeros(k, r, before, n);
        out = write_region(k, r, s);
    }
    tc_map_free(&r->bound);
    free(r);
    return out;
}

static const tc_stmt *walk(tiler *k, const tc_stmt *s);

static const tc_stmt *walk_for(tc_ctx *c, const tc_stmt *s, void *user) {
    tiler *k = user;
    const tc_stmt *r = is_pure(s) ? as_region(k, s, NULL, 0) : NULL;
    if (r || k->status != TC_OK)
        return r ? r : s;
    if (is_nest(s))
        return adds(s) ? fail(k, "the result of a nest overlaps an operand or another result") : fill(k, s);
    size_t mark = tir_enter_loop(c, k->env, s->u.loop.var, s->u.loop.extent);
    const tc_stmt *body = walk(k, s->u.loop.body);
    tc_env_undo(k->env, mark);
    return tir_with_loop(c, s, s->u.loop.extent, body);
}

/* Neighbours that are pure are one region: a reduction's whole steps and its last one. */
static const tc_stmt *walk_seq(tc_ctx *c, const tc_stmt *s, void *user) {
    tiler *k = user;
    int n = s->u.seq.n, end;
    const tc_stmt **out = TC_NEW_N(tc_ctx_arena(c), const tc_stmt *, n);
    memcpy(out, s->u.seq.s, sizeof *out * (size_t)n);
    for (int i = 0; i < n && k->status == TC_OK; i = end) {
        for (end = i; end < n && is_pure(out[end]);)
            end++;
        const tc_stmt *r = end > i ? as_region(k, tc_tir_seq(c, end - i, out + i), out, i) : NULL;
        if (!r)
            end = i + 1;
        for (int j = i + 1; r && j < end; j++)
            out[j] = NULL;
        out[i] = r ? r : is_nest(out[i]) && !adds(out[i]) ? out[i] : walk(k, out[i]);
    }
    for (int i = 0; i < n && k->status == TC_OK; i++)
        if (out[i] && is_nest(out[i]))
            out[i] = fill(k, out[i]);
    return tc_tir_seq(c, n, out);
}

static const tc_stmt *walk_if(tc_ctx *c, const tc_stmt *s, void *user);
static const tir_rules WALK = {{[TC_STMT_FOR] = walk_for, [TC_STMT_SEQ] = walk_seq, [TC_STMT_IF] = walk_if}};

static const tc_stmt *walk_if(tc_ctx *c, const tc_stmt *s, void *user) {
    const tiler *k = user;
    return tir_rewrite_arms(c, &WALK, s, k->env, user);
}

static const tc_stmt *walk(tiler *k, const tc_stmt *s) {
    return tir_rewrite(k->c, &WALK, s, k);
}

static void find_nests(const tc_stmt *s, void *user) {
    *(bool *)user |= is_nest(s);
}

tc_status tir_pass_tile(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err) {
    bool any = false;
    *out = tir_with_body(c, in, in->body);
    if (in->body)
        tc_tir_walk(in->body, find_nests, &any);
    if (!any)
        return TC_OK;
    const tc_stmt *body;
    TC_TRY(tir_settle_unit_guards(c, in->body, &body, err));
    tir_names names;
    tir_names_init(&names, in);
    tiler k = {.c = c, .m = m, .env = tc_env_new(), .names = &names, .err = err};
    (*out)->body = walk(&k, body);
    tc_env_free(k.env);
    tir_names_free(&names);
    return k.status;
}
