/* Prefetch: while the program uses one panel of packed weights again and again, hints bring in the next panel.
 *
 *     for jo in 12 {                                  for jo in 12 {
 *       for io in 25 {                                  for io in 25 {
 *         for k in 192 reduce {             =>            for k in 192 reduce {
 *           .. W[jo * 49152 + k * 256 ..] ..                prefetch W[(jo + 1) * 49152 + min(io * 192 + k, 3071) * 16]
 *         }                                                 .. W[jo * 49152 + k * 256 ..] ..
 *
 * In a network the weights come from memory. Without hints, the first row tile of each panel would wait for the whole panel, at
 * a rate that no core can load. The other row tiles would find the panel in the cache. Spread over all row tiles, loading a
 * panel costs one hint per few dozen multiply-adds. Goto and van de Geijn describe this scheme for what they call slivers of B
 * ("Anatomy of High-Performance Matrix Multiplication", 2008).
 *
 * Data that is read only once leaves no time for this scheme. A schedule may ask for hints with a distance in bytes (prefetch W
 * 1024). Then a loop that walks through a constant hints, line by line, at the data that far ahead:
 *
 *     for k in 128 reduce {                           for k in 128 reduce {
 *       .. W[k * 64 ..] ..                    =>        prefetch W[k * 64 + 1024]
 *                                                       .. W[k * 64 ..] ..
 *
 * The processor's own prefetcher stops at each page, and waits with the arithmetic.
 *
 * Only packed constants larger than the second-level cache. Needs: REGISTERS, so that loops are final. Breaks: NO_HINTS. */
#include <assert.h>

#include "tir_lower/passes/pass.h"

enum { MAX_DEPTH = 32, MAX_STREAMS = 4, MAX_LINES = 64 };
/* Hints in an iteration at most: where it is known that the walks need so many, and where sizes say how many walks there are, of
 * which one may be all. Chosen by networks of 7 to 128 rows in turns. */
enum { MAX_EVEN = 4, MAX_BY_WALK = 8 };

typedef struct prefetcher {
    tc_ctx *c;
    const tc_machine *m;
    const tc_func *f;
    tc_env *env;
    bool ahead; /* some constant is to be prefetched ahead */
    int depth;
    const tc_stmt *loop[MAX_DEPTH]; /* those around the statement at hand, outermost first */
} prefetcher;

/* A packed constant that the innermost loop walks through: elements rest + step * k + [lo, hi). */
typedef struct stream {
    const tc_buffer *buffer;
    tc_affine rest; /* without constant and without the innermost loop */
    int64_t step, lo, hi;
    bool regular;
} stream;

typedef struct stream_list {
    prefetcher *p;
    const tc_var *k;
    int n;
    stream s[MAX_STREAMS];
} stream_list;

static bool is_weight(const prefetcher *p, const tc_buffer *b) {
    return b->scope == TC_BUF_PARAM && p->f->params[b->param].kind == TC_PARAM_PACKED &&
           b->size * tc_dtype_bytes(b->dtype) > p->m->l2;
}

/* Takes k's term out of an index; false if the index is not linear in it. */
static bool split_index(stream_list *l, const tc_expr *index, stream *out) {
    const tc_expr *base = index->op == TC_OP_RAMP ? index->args[0] : index;
    bool dense = index->lanes == 1 || (index->op == TC_OP_RAMP && tc_is_int(index->args[1], 1));
    if (!dense || !tc_te_affine(l->p->c, base, l->p->env, &out->rest))
        return false;
    out->lo = out->rest.c;
    out->hi = out->lo + index->lanes;
    out->rest.c = out->step = 0;
    for (int i = 0; i < out->rest.n; i++) {
        const tc_expr *atom = out->rest.term[i].atom;
        if (atom->op == TC_OP_VAR && atom->u.var == l->k) {
            out->step = out->rest.term[i].coef;
            tc_affine_drop(&out->rest, i--);
        } else if (tc_expr_uses_var(atom, l->k)) {
            return false;
        }
    }
    return out->step > 0;
}

static stream *stream_of(stream_list *l, const tc_buffer *b) {
    for (int i = 0; i < l->n; i++)
        if (l->s[i].buffer == b)
            return &l->s[i];
    return NULL;
}

static void note_load(const tc_expr *e, void *user) {
    stream_list *l = user;
    if (e->op != TC_OP_LOAD || !is_weight(l->p, e->u.buffer))
        return;
    stream now = {.buffer = e->u.buffer, .regular = true};
    bool ok = split_index(l, e->args[0], &now);
    stream *s = stream_of(l, now.buffer);
    if (s) {
        s->regular = s->regular && ok && now.step == s->step && tc_affine_same_terms(&now.rest, &s->rest);
        s->lo = TC_MIN(s->lo, now.lo);
        s->hi = TC_MAX(s->hi, now.hi);
    } else if (l->n < MAX_STREAMS) {
        now.regular = ok;
        l->s[l->n++] = now;
    }
}

/* A tile's panel is a stream of its own: those of a grid's columns lie apart. */
static void note_tile(const tc_tile_stmt *t, stream_list *l) {
    stream now = {.buffer = t->memory, .regular = true};
    if (t->op != TC_TILE_LOAD || !is_weight(l->p, t->memory) || l->n == MAX_STREAMS || !split_index(l, t->index, &now))
        return;
    now.hi = now.lo + (tc_tir_tile_rows(t->tile[0]) - 1) * t->stride + t->tile[0]->reg_lanes;
    l->s[l->n++] = now;
}

static void note_reads(const tc_stmt *s, void *user) {
    if (s->kind == TC_STMT_STORE)
        tc_expr_walk(s->u.store.value, note_load, user);
    if (s->kind == TC_STMT_INTRIN)
        note_tile(&s->u.intrin, user);
}

/* Where the panel changes, and how often it is walked through until then. */
typedef struct reuse {
    const tc_var *next;    /* the loop that moves to the next panel */
    const tc_expr *number; /* of the walk at hand, counted from 0 */
    const tc_expr *times;
} reuse;

static bool uses_var(const tc_affine *a, const tc_var *v) {
    for (int i = 0; i < a->n; i++)
        if (tc_expr_uses_var(a->term[i].atom, v))
            return true;
    return false;
}

static bool find_reuse(const prefetcher *p, const stream *s, reuse *r) {
    int at = p->depth - 1;
    while (at >= 0 && !uses_var(&s->rest, p->loop[at]->u.loop.var))
        at--;
    if (at < 0)
        return false;
    *r = (reuse){.next = p->loop[at]->u.loop.var, .number = tc_i64(p->c, 0), .times = tc_i64(p->c, 1)};
    for (int i = at + 1; i < p->depth; i++) {
        const tc_expr *n = p->loop[i]->u.loop.extent;
        r->number = tc_add(p->c, tc_mul(p->c, r->number, n), tc_varx(p->c, p->loop[i]->u.loop.var));
        r->times = tc_mul(p->c, r->times, n);
    }
    return !tc_is_int(r->times, 1);
}

/* The lines of a panel, and of these the one at which an iteration begins that brings in `share` of them. */
typedef struct portion {
    int64_t lines, share;
    const tc_expr *at;
} portion;

/* The same number of lines in each iteration of all walks. */
static bool take_evenly(const prefetcher *p, const reuse *r, const tc_var *k, int64_t trips, int cap, portion *x) {
    tc_ctx *c = p->c;
    const tc_expr *trip = tc_add(c, tc_mul(c, r->number, tc_i64(c, trips)), tc_varx(c, k));
    x->share = tc_ceil_div(x->lines, r->times->u.i * trips);
    x->at = tc_bin(c, TC_OP_MIN, tc_mul(c, trip, tc_i64(c, x->share)), tc_i64(c, x->lines - x->share));
    return x->share <= cap - (MAX_BY_WALK - MAX_EVEN);
}

/* Where sizes say how many walks there are: each brings in its part in the first of its iterations, as much of it as they can. */
static bool take_by_walk(const prefetcher *p, const reuse *r, const tc_var *k, int64_t trips, int cap, portion *x) {
    tc_ctx *c = p->c;
    const tc_expr *lines = tc_i64(c, x->lines), *next = tc_add(c, r->number, tc_i64(c, 1)),
                  *begin = tc_div(c, tc_mul(c, r->number, lines), r->times), *end = tc_div(c, tc_mul(c, next, lines), r->times);
    x->share = TC_MIN(cap, tc_ceil_div(x->lines, trips));
    const tc_expr *last = tc_sub(c, end, tc_i64(c, x->share));
    x->at = tc_bin(c, TC_OP_MIN, tc_add(c, begin, tc_mul(c, tc_varx(c, k), tc_i64(c, x->share))),
                   tc_bin(c, TC_OP_MAX, last, tc_i64(c, 0)));
    return x->share > 0;
}

/* Statements that bring stream s's next panel in, a share of it per iteration; 0: not worth it. */
static int hints(prefetcher *p, const stream *s, const tc_var *k, int64_t trips, const tc_stmt **out, int cap) {
    tc_ctx *c = p->c;
    reuse r;
    int64_t bytes = tc_dtype_bytes(s->buffer->dtype), line = p->m->line / bytes, panel = trips * s->step;
    bool dense = s->regular && s->hi - s->lo <= s->step && 2 * (s->hi - s->lo) >= s->step;
    if (!dense || panel * bytes > p->m->l2 || !find_reuse(p, s, &r))
        return 0;
    portion x = {.lines = tc_ceil_div(panel, line)};
    if (!(r.times->op == TC_OP_INT ? take_evenly : take_by_walk)(p, &r, k, trips, cap, &x))
        return 0;
    tc_affine base = s->rest;
    base.c = s->lo;
    const tc_expr *step = tc_bin(c, TC_OP_ADD, tc_varx(c, r.next), tc_i64(c, 1));
    const tc_expr *start = tc_expr_subst(c, tc_te_from_affine(c, &base), 1, &r.next, &step);
    for (int i = 0; i < x.share; i++) {
        const tc_expr *index = tc_bin(c, TC_OP_ADD, start, tc_bin(c, TC_OP_MUL, x.at, tc_i64(c, line)));
        index = tc_bin(c, TC_OP_ADD, index, tc_i64(c, i * line));
        out[i] = tc_tir_prefetch(c, s->buffer, tc_te_simplify(c, index, p->env));
    }
    return (int)x.share;
}

static void note_loop(const tc_stmt *s, void *user) {
    *(bool *)user |= s->kind == TC_STMT_FOR;
}

static bool has_loop(const tc_stmt *s) {
    bool found = false;
    tc_tir_walk(s, note_loop, &found);
    return found;
}

/* The innermost loop s, its streams' next panels hinted at in front of its body. */
static const tc_stmt *hint_loop(prefetcher *p, const tc_stmt *s) {
    const tc_stmt *out[MAX_BY_WALK + 1];
    int n = 0;
    int64_t trips;
    if (!tir_const_extent(s, &trips))
        return s;
    stream_list l = {.p = p, .k = s->u.loop.var};
    tc_tir_walk(s->u.loop.body, note_reads, &l);
    for (int i = 0; i < l.n; i++)
        n += hints(p, &l.s[i], l.k, trips, out + n, MAX_BY_WALK - n);
    if (n == 0)
        return s;
    out[n++] = s->u.loop.body;
    return tir_with_loop(p->c, s, s->u.loop.extent, tc_tir_seq(p->c, n, out));
}

/* ---- what is read once ---- */

/* What a loop's body reads outside of loops inside it. */
static void note_own_reads(const tc_stmt *s, stream_list *l) {
    switch (s->kind) {
    case TC_STMT_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            note_own_reads(s->u.seq.s[i], l);
        break;
    case TC_STMT_ALLOC:
        note_own_reads(s->u.alloc.body, l);
        break;
    case TC_STMT_STORE:
    case TC_STMT_INTRIN:
        note_reads(s, l);
        break;
    case TC_STMT_FOR:
    case TC_STMT_IF: /* a tail */
    case TC_STMT_PREFETCH:
    case TC_NSTMTS:
        break;
    }
}

/* The lines that an iteration will want later. */
static int hints_ahead(prefetcher *p, const stream *s, const tc_var *k, const tc_stmt **out, int cap) {
    tc_ctx *c = p->c;
    int64_t bytes = tc_dtype_bytes(s->buffer->dtype), line = p->m->line / bytes,
            ahead = p->f->params[s->buffer->param].ahead / bytes;
    int64_t lines = tc_ceil_div(s->step, line);
    if (!ahead || !s->regular || s->hi - s->lo > s->step || 2 * (s->hi - s->lo) < s->step || lines > cap)
        return 0;
    tc_affine base = s->rest;
    base.c = s->lo + ahead;
    const tc_expr *start =
        tc_bin(c, TC_OP_ADD, tc_te_from_affine(c, &base), tc_bin(c, TC_OP_MUL, tc_varx(c, k), tc_i64(c, s->step)));
    for (int i = 0; i < lines; i++)
        out[i] = tc_tir_prefetch(c, s->buffer, tc_te_simplify(c, tc_bin(c, TC_OP_ADD, start, tc_i64(c, i * line)), p->env));
    return (int)lines;
}

static const tc_stmt *hint_ahead(prefetcher *p, const tc_stmt *s) {
    const tc_stmt *out[MAX_LINES + 1];
    int n = 0;
    stream_list l = {.p = p, .k = s->u.loop.var};
    note_own_reads(s->u.loop.body, &l);
    for (int i = 0; i < l.n; i++)
        n += hints_ahead(p, &l.s[i], l.k, out + n, MAX_LINES - n);
    if (n == 0)
        return s;
    out[n++] = s->u.loop.body;
    return tir_with_loop(p->c, s, s->u.loop.extent, tc_tir_seq(p->c, n, out));
}

static bool any_ahead(const tc_func *f) {
    for (int i = 0; i < f->nparam; i++)
        if (f->params[i].ahead)
            return true;
    return false;
}

static const tc_stmt *hint_for(tc_ctx *c, const tc_stmt *s, void *user);
static const tir_rules HINT = {{[TC_STMT_FOR] = hint_for}};

static const tc_stmt *hint_for(tc_ctx *c, const tc_stmt *s, void *user) {
    prefetcher *p = user;
    if (p->depth == MAX_DEPTH)
        return s;
    size_t mark = tir_enter_loop(c, p->env, s->u.loop.var, s->u.loop.extent);
    bool reduce = s->u.loop.reduce;
    if (reduce && !has_loop(s->u.loop.body)) {
        s = hint_loop(p, s);
    } else {
        p->loop[p->depth++] = s;
        s = tir_rewrite_inside(c, &HINT, s, user);
        p->depth--;
    }
    if (reduce && p->ahead)
        s = hint_ahead(p, s);
    tc_env_undo(p->env, mark);
    return s;
}

tc_status tir_pass_prefetch(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err) {
    (void)err;
    prefetcher p = {.c = c, .m = m, .f = in, .env = tc_env_new(), .ahead = any_ahead(in)};
    *out = tir_with_body(c, in, m->l2 > 0 && m->line > 0 ? tir_rewrite(c, &HINT, in->body, &p) : in->body);
    tc_env_free(p.env);
    return TC_OK;
}
