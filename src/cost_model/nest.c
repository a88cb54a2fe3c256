/* Walks a built program once: loops, allocations and guards on the way down, a store_site at each store. */
#include "cost_model/nest.h"

#include <stdlib.h>
#include <string.h>

typedef struct walker {
    nest *n;
    tc_error *err;
    int nlevel;
    int path[MAX_LEVELS];
    int nguard;
    double valid, partial;
} walker;

int nest_level_of(const nest *n, const store_site *s, const tc_var *v) {
    for (int l = s->nlevel - 1; l >= 0; l--)
        if (n->loops.data[s->path[l]].var == v)
            return l;
    return -1;
}

int nest_buffer(nest *n, const tc_buffer *b) {
    for (size_t i = 0; i < n->bufs.len; i++)
        if (n->bufs.data[i].buffer == b)
            return (int)i;
    tc_push(&n->bufs, ((buf_info){b, -1}));
    return (int)n->bufs.len - 1;
}

static level_set first_levels(int n) {
    return n <= 0 ? 0 : n >= 64 ? ~(level_set)0 : ((level_set)1 << n) - 1;
}

level_set nest_all_levels(const store_site *s) {
    return first_levels(s->nlevel);
}

level_set nest_owner_levels(const nest *n, const tc_buffer *b) {
    for (size_t i = 0; i < n->bufs.len; i++)
        if (n->bufs.data[i].buffer == b) {
            int depth = n->bufs.data[i].alloc_depth;
            return first_levels(depth);
        }
    return 0;
}

double nest_trips(const nest *n, const store_site *s, int from, int to) {
    double p = 1;
    for (int l = from; l < to; l++)
        p *= n->loops.data[s->path[l]].extent;
    return p;
}

double nest_lanes(const nest *n, int bytes) {
    double lanes = (double)n->m->vector_bytes / TC_MAX(bytes, 1);
    return TC_MAX(lanes, 1);
}

static bool expanded(tc_for_kind k) {
    return k == TC_FOR_UNROLL || k == TC_FOR_VECTOR || k == TC_FOR_TENSOR;
}

static double vectors(double extent, double lanes) {
    double v = extent / lanes, whole = (double)(int64_t)v;
    return whole < v ? whole + 1 : whole;
}

/* Vectors of a vector loop; a unit's loops are one instruction; of elements (lanes 1) there are as many as iterations. */
double nest_pieces(const loop_node *l, double lanes) {
    if ((l->kind == TC_FOR_TENSOR || l->group) && lanes > 1)
        return 1;
    return l->kind == TC_FOR_VECTOR ? vectors(l->extent, lanes) : l->extent;
}

double nest_times(const nest *n, const store_site *s, level_set mask, double lanes) {
    int deepest = -1; /* loop that stays a loop */
    for (int l = 0; l < s->nlevel; l++)
        if ((mask >> l & 1) && !expanded(n->loops.data[s->path[l]].kind))
            deepest = l;
    double p = s->valid;
    for (int l = 0; l < s->nlevel; l++) {
        const loop_node *loop = &n->loops.data[s->path[l]];
        if (l > deepest && !(mask >> l & 1))
            continue;
        p *= nest_pieces(loop, lanes);
    }
    return p;
}

/* Value of an extent that is not a constant, every loop at its middle: built programs have none, hand-written text may. */
static double middle(const walker *w, const tc_expr *e, int fuel) {
    if (fuel == 0)
        return 1;
    double a = e->nargs > 0 ? middle(w, e->args[0], fuel - 1) : 0, b = e->nargs > 1 ? middle(w, e->args[1], fuel - 1) : 1;
    if (e->op == TC_OP_INT)
        return (double)e->u.i;
    if (e->op == TC_OP_ADD)
        return a + b;
    if (e->op == TC_OP_SUB)
        return a - b;
    if (e->op == TC_OP_MUL)
        return a * b;
    if (e->op == TC_OP_DIV)
        return b > 0 ? a / b : a;
    if (e->op == TC_OP_MIN)
        return TC_MIN(a, b);
    if (e->op == TC_OP_MAX)
        return TC_MAX(a, b);
    for (int l = 0; e->op == TC_OP_VAR && l < w->nlevel; l++)
        if (w->n->loops.data[w->path[l]].var == e->u.var)
            return (w->n->loops.data[w->path[l]].extent - 1) / 2;
    return 1;
}

static void visit_store(walker *w, const tc_stmt *st) {
    nest *n = w->n;
    store_site s = {.s = st, .nlevel = w->nlevel, .nguard = w->nguard, .valid = w->valid, .partial = w->partial};
    memcpy(s.path, w->path, sizeof *s.path * (size_t)w->nlevel);
    s.band = s.nlevel;
    while (s.band > 0 && expanded(n->loops.data[s.path[s.band - 1]].kind))
        s.band--;
    for (int l = 0; l < s.nlevel; l++)
        if (n->loops.data[s.path[l]].unit && n->loops.data[s.path[l]].kind == TC_FOR_TENSOR)
            s.tiles = n->loops.data[s.path[l]].unit;
    s.dots = s.tiles ? NULL : nest_dots(n, &s);
    if (s.dots)
        n->loops.data[s.path[s.nlevel - 1]].group = true;
    s.access = n->accesses.len;
    address at;
    address_of(n, &s, st->u.store.index, &at);
    access_add(n, &s, st->u.store.buffer, &at, false, true, at.moved | nest_owner_levels(n, st->u.store.buffer));
    s.index_div += at.divisions;
    arith_count(n, &s, st->u.store.value);
    s.accumulates = n->accesses.data[s.access].is_read;
    access_measure(n, &s);
    tc_push(&n->stores, s);
}

static tc_status visit(walker *w, const tc_stmt *s);

static tc_status visit_loop(walker *w, const tc_stmt *s) {
    if (w->nlevel == MAX_LEVELS)
        return tc_fail(w->err, TC_BAD_INPUT, "cost features: more than %d loops around a store; fuse or remove some", MAX_LEVELS);
    loop_node l = {
        .var = s->u.loop.var, .depth = w->nlevel, .kind = s->u.loop.kind, .reduce = s->u.loop.reduce, .unit = s->u.loop.unit};
    l.parent = w->nlevel ? w->path[w->nlevel - 1] : -1;
    l.extent = s->u.loop.extent->op == TC_OP_INT ? (double)s->u.loop.extent->u.i : middle(w, s->u.loop.extent, 16);
    l.extent = TC_MAX(l.extent, 1);
    w->path[w->nlevel++] = (int)w->n->loops.len;
    tc_push(&w->n->loops, l);
    tc_status status = visit(w, s->u.loop.body);
    w->nlevel--;
    return status;
}

static tc_status visit_if(walker *w, const tc_stmt *s) {
    double valid = w->valid, partial = w->partial, share, tiles;
    store_site here = {.nlevel = w->nlevel};
    memcpy(here.path, w->path, sizeof *here.path * (size_t)w->nlevel);
    guard_shares(w->n, &here, s->u.cond.cond, &share, &tiles);
    w->nguard++;
    w->valid = valid * share;
    w->partial = 1 - (1 - partial) * (1 - tiles);
    tc_status status = visit(w, s->u.cond.then);
    w->valid = valid * (share < 1 ? 1 - share : 1);
    if (status == TC_OK)
        status = visit(w, s->u.cond.otherwise);
    w->nguard--;
    w->valid = valid;
    w->partial = partial;
    return status;
}

static tc_status visit_alloc(walker *w, const tc_stmt *s) {
    const tc_buffer *b = s->u.alloc.buffer;
    if (w->nlevel == 0)
        w->n->root_bytes += (double)b->size * tc_dtype_bytes(b->dtype);
    int buf = nest_buffer(w->n, b);
    w->n->bufs.data[buf].alloc_depth = w->nlevel;
    return visit(w, s->u.alloc.body);
}

static tc_status visit(walker *w, const tc_stmt *s) {
    if (!s)
        return TC_OK;
    switch (s->kind) {
    case TC_STMT_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            TC_TRY(visit(w, s->u.seq.s[i]));
        return TC_OK;
    case TC_STMT_FOR:
        return visit_loop(w, s);
    case TC_STMT_IF:
        return visit_if(w, s);
    case TC_STMT_STORE:
        visit_store(w, s);
        return TC_OK;
    case TC_STMT_ALLOC:
        return visit_alloc(w, s);
    case TC_STMT_PREFETCH:
    case TC_STMT_INTRIN:
    case TC_NSTMTS:
        break;
    }
    return TC_OK;
}

/* Bytes touched by one iteration of each loop: over all stores inside, each buffer once, by its largest access. */
static void sum_footprints(nest *n) {
    size_t nbuf = n->bufs.len, nrow = n->loops.len + 1;
    double *most = tc_xcalloc(nrow * nbuf + 1, sizeof *most);
    for (size_t i = 0; i < n->stores.len; i++) {
        const store_site *s = &n->stores.data[i];
        for (int a = 0; a < s->naccess; a++) {
            const access *ac = &n->accesses.data[s->access + (size_t)a];
            for (int d = 0; d <= s->nlevel; d++) {
                size_t row = d == 0 ? 0 : (size_t)s->path[d - 1] + 1;
                double *cell = &most[row * nbuf + (size_t)ac->buf], bytes = access_bytes(n, ac, d);
                *cell = TC_MAX(*cell, bytes);
            }
        }
    }
    n->footprint = tc_xcalloc(nrow, sizeof *n->footprint);
    for (size_t r = 0; r < nrow; r++)
        for (size_t b = 0; b < nbuf; b++)
            n->footprint[r] += most[r * nbuf + b];
    free(most);
}

tc_status nest_read(nest *n, const tc_func *f, const tc_machine *m, tc_error *err) {
    walker w = {.n = n, .err = err, .valid = 1};
    n->m = m;
    tc_status status = visit(&w, f->body);
    if (status == TC_OK)
        sum_footprints(n);
    return status;
}

void nest_free(nest *n) {
    tc_vec_free(&n->loops);
    tc_vec_free(&n->stores);
    tc_vec_free(&n->accesses);
    tc_vec_free(&n->bufs);
    tc_vec_free(&n->pool);
    free(n->footprint);
    free(n->memo.slot);
}
