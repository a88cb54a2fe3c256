/* Results: while a tile is computed, hints bring in the lines of its results for writing.
 *
 *     alloc D f32[384] reg lanes 16 {                 alloc D f32[384] reg lanes 16 {
 *       D[..] = 0                                       D[..] = 0
 *       for k in 128 reduce {                           for k_0 in 8 reduce {
 *         D[..] = dot(D[..], .., ..)                      prefetch Y[i * 6144 + min(k_0, 5) * 1024]
 *       }                                       =>        prefetch Y[i * 6144 + min(k_0, 5) * 1024 + 16]  ..
 *       Y[i * 6144 + ramp(0, 1, 16)] = D[..]              for k_1 in 16 reduce { D[..] = dot(D[..], .., ..) }
 *       ..                                              }
 *       Y[i * 6144 + 5168 ..] = D[..]                   Y[i * 6144 + ramp(0, 1, 16)] = D[..] ..
 *
 * A processor reads a line before it writes to the line. All stores of a tile come at once. They wait for their lines in the
 * store buffer, and meanwhile take line fill buffers from the loads of the next tile. This pass spreads hints over the
 * reduction, a few at a time, so the lines are there when the stores come. If all hints stood in front of the reduction, they
 * would gain a quarter as much. Measured (u8 x i8, 1024 x 1024 x 1024, Cascade Lake, one thread): 4.45 ms without hints, 4.38
 * all in front, 4.11 spread.
 *
 * Only results larger than the second-level cache; smaller results lost up to 1 %. Only dot products of narrow types: with
 * floats a tile takes four times as long, and no gain was measurable. Needs: REGISTERS. Breaks: NO_HINTS. */
#include <stdlib.h>

#include "tir_lower/passes/pass.h"

/* Line fill buffers of a core's first cache: 10 to 12 in Intel's, more in others. More lines at a time would keep loads waiting. */
enum { MAX_AT_ONCE = 10, MAX_LINES = 128 };

typedef struct hinter {
    tc_ctx *c;
    const tc_machine *m;
    const tc_func *f;
    tc_env *env;
} hinter;

/* Where the stores behind a loop write: lines from rest + at[i] on. */
typedef struct written {
    const tc_buffer *buffer;
    tc_affine rest; /* without constant */
    int n;
    int64_t at[MAX_LINES];
    bool known; /* false: not all of them are */
} written;

/* The same as a grid: `rows` rows that lie `stride` apart, of `lines` neighbouring lines. */
typedef struct grid {
    int64_t rows, stride, lines, first;
} grid;

static bool is_large_result(const hinter *h, const tc_buffer *b) {
    return b->scope == TC_BUF_PARAM && h->f->params[b->param].kind == TC_PARAM_OUT &&
           b->size * tc_dtype_bytes(b->dtype) > h->m->l2;
}

static bool is_dot(const tc_expr *e, const void *user) {
    (void)user;
    return e->op == TC_OP_DOT;
}

static void note_dot(const tc_stmt *s, void *user) {
    if (s->kind == TC_STMT_STORE)
        *(bool *)user |= tc_expr_any(s->u.store.value, is_dot, NULL);
}

static bool has_dots(const tc_stmt *s) {
    bool found = false;
    tc_tir_walk(s, note_dot, &found);
    return found;
}

static int64_t line_of(const hinter *h, const tc_buffer *b) {
    return TC_MAX(1, h->m->line / tc_dtype_bytes(b->dtype));
}

static void note_store(const hinter *h, const tc_stmt *s, written *w) {
    const tc_buffer *b = s->u.store.buffer;
    if (!is_large_result(h, b))
        return;
    const tc_expr *index = s->u.store.index, *base = index->op == TC_OP_RAMP ? index->args[0] : index;
    bool dense = index->lanes == 1 || (index->op == TC_OP_RAMP && tc_is_int(index->args[1], 1));
    tc_affine rest;
    if (!dense || (w->buffer && w->buffer != b) || !tc_te_affine(h->c, base, h->env, &rest) ||
        (w->buffer && !tc_affine_same_terms(&rest, &w->rest))) {
        w->known = false;
        return;
    }
    int64_t line = line_of(h, b);
    for (int64_t at = 0; at < index->lanes; at += line)
        if (w->n < MAX_LINES)
            w->at[w->n++] = rest.c + at;
        else
            w->known = false;
    rest.c = 0;
    w->buffer = b;
    w->rest = rest;
}

static int by_place(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Sorts the places, and drops those on a line that another one is on. */
static void one_per_line(written *w, int64_t line) {
    int n = 0;
    qsort(w->at, (size_t)w->n, sizeof *w->at, by_place);
    for (int i = 0; i < w->n; i++)
        if (n == 0 || w->at[i] - w->at[n - 1] >= line)
            w->at[n++] = w->at[i];
    w->n = n;
}

static bool as_grid(const written *w, int64_t line, grid *g) {
    int64_t n = 1;
    while (n < w->n && w->at[n] - w->at[n - 1] == line)
        n++;
    *g = (grid){.rows = w->n / n, .lines = n, .first = w->at[0], .stride = n < w->n ? w->at[n] - w->at[0] : 0};
    for (int64_t i = 0; i < w->n; i++)
        if (w->at[i] != g->first + i / n * g->stride + i % n * line)
            return false;
    return w->n % n == 0;
}

/* Parts of equal length that a loop is divided into: one for each row, or, where its length has no such divisor, fewer or up to
 * twice as many, of which the last ones bring in the last row again. */
static int64_t parts_of(int64_t trips, int64_t rows) {
    int64_t parts = rows;
    while (parts < 2 * rows && trips % parts)
        parts++;
    if (parts < 2 * rows)
        return parts;
    while (trips % parts)
        parts--;
    return parts;
}

/* Hints at the rows that part `part` brings in; 0: too many at once. */
static int hints(const hinter *h, const written *w, const grid *g, int64_t parts, const tc_expr *part, const tc_stmt **out) {
    tc_ctx *c = h->c;
    int64_t rows = tc_ceil_div(g->rows, parts), line = line_of(h, w->buffer);
    int n = 0;
    if (rows * g->lines > MAX_AT_ONCE)
        return 0;
    for (int64_t r = 0; r < rows; r++) {
        const tc_expr *row = tc_bin(c, TC_OP_ADD, tc_bin(c, TC_OP_MUL, part, tc_i64(c, rows)), tc_i64(c, r));
        if (parts * rows > g->rows)
            row = tc_bin(c, TC_OP_MIN, row, tc_i64(c, g->rows - 1));
        const tc_expr *at = tc_bin(c, TC_OP_ADD, tc_te_from_affine(c, &w->rest), tc_bin(c, TC_OP_MUL, row, tc_i64(c, g->stride)));
        for (int64_t l = 0; l < g->lines; l++) {
            const tc_expr *index = tc_bin(c, TC_OP_ADD, at, tc_i64(c, g->first + l * line));
            out[n++] = tc_tir_prefetch(c, w->buffer, tc_te_simplify(c, index, h->env));
        }
    }
    return n;
}

/* Part `part` of loop s, of `each` of its iterations. */
static const tc_stmt *part_of_loop(const hinter *h, const tc_stmt *s, const tc_var *part, int64_t each) {
    tc_ctx *c = h->c;
    const tc_var *step = tc_var_new(c, s->u.loop.var->name);
    const tc_expr *first = tc_bin(c, TC_OP_MUL, tc_varx(c, part), tc_i64(c, each));
    tir_copier copy = {.c = c};
    tir_bind(&copy, s->u.loop.var, each == 1 ? first : tc_bin(c, TC_OP_ADD, first, tc_varx(c, step)));
    const tc_stmt *body = tir_copy_stmt(&copy, s->u.loop.body);
    tir_copier_free(&copy);
    return each == 1 ? body : tc_tir_for_like(c, s, step, tc_i64(c, each), body);
}

/* Loop s of so many iterations in parts, hints in front of each. */
static const tc_stmt *hint_loop(const hinter *h, const tc_stmt *s, int64_t trips, const written *w, const grid *g) {
    int64_t parts = parts_of(trips, g->rows);
    const tc_var *part = tc_var_new(h->c, s->u.loop.var->name);
    const tc_stmt *body[MAX_AT_ONCE + 1];
    tc_env_set(h->env, part, (tc_ival){0, parts - 1});
    int n = hints(h, w, g, parts, tc_varx(h->c, part), body);
    if (n == 0)
        return s;
    body[n++] = part_of_loop(h, s, part, trips / parts);
    return tc_tir_for_like(h->c, s, part, tc_i64(h->c, parts), tc_tir_seq(h->c, n, body));
}

/* The sums of a tile in s, at the i-th statement of a sequence of which the others store the results. */
static const tc_stmt *hint_sums(const hinter *h, const tc_stmt *seq, int i) {
    const tc_stmt *s = seq->u.seq.s[i];
    written w = {.known = true};
    grid g;
    int64_t trips;
    if (s->kind != TC_STMT_FOR || !s->u.loop.reduce || !tir_const_extent(s, &trips) || trips < 1 || !has_dots(s))
        return s;
    for (int j = i + 1; j < seq->u.seq.n; j++)
        if (seq->u.seq.s[j]->kind == TC_STMT_STORE)
            note_store(h, seq->u.seq.s[j], &w);
    if (!w.known || !w.buffer)
        return s;
    one_per_line(&w, line_of(h, w.buffer));
    return as_grid(&w, line_of(h, w.buffer), &g) ? hint_loop(h, s, trips, &w, &g) : s;
}

static const tc_stmt *hint_seq(tc_ctx *c, const tc_stmt *s, void *user);
static const tc_stmt *hint_for(tc_ctx *c, const tc_stmt *s, void *user);
static const tir_rules HINT = {{[TC_STMT_SEQ] = hint_seq, [TC_STMT_FOR] = hint_for}};

static const tc_stmt *hint_seq(tc_ctx *c, const tc_stmt *s, void *user) {
    const tc_stmt **out = TC_NEW_N(tc_ctx_arena(c), const tc_stmt *, s->u.seq.n);
    bool same = true;
    for (int i = 0; i < s->u.seq.n; i++) {
        out[i] = hint_sums(user, s, i);
        if (out[i] == s->u.seq.s[i])
            out[i] = tir_rewrite(c, &HINT, s->u.seq.s[i], user);
        same = same && out[i] == s->u.seq.s[i];
    }
    return same ? s : tc_tir_seq(c, s->u.seq.n, out);
}

static const tc_stmt *hint_for(tc_ctx *c, const tc_stmt *s, void *user) {
    hinter *h = user;
    size_t mark = tir_enter_loop(c, h->env, s->u.loop.var, s->u.loop.extent);
    s = tir_rewrite_inside(c, &HINT, s, user);
    tc_env_undo(h->env, mark);
    return s;
}

tc_status tir_pass_results(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err) {
    (void)err;
    hinter h = {.c = c, .m = m, .f = in, .env = tc_env_new()};
    bool on = m->l2 > 0 && m->line > 0;
    *out = tir_with_body(c, in, on ? tir_rewrite(c, &HINT, in->body, &h) : in->body);
    tc_env_free(h.env);
    return TC_OK;
}
