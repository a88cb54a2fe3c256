/* Order: the steps of a register tile go through its longer side first, so that fewer operands are alive at once.
 *
 *     C[0] = fma(a0, b0, C[0])    C[1] = fma(a0, b1, C[1])  ...  C[0..n] first, then          C[0] = fma(a0, b0, C[0])
 *     C[n] = fma(a1, b0, C[n])    C[n + 1] = fma(a1, b1, C[n + 1])  ...               =>     C[n] = fma(a1, b0, C[n])
 *                                                                                            C[1] = fma(a0, b1, C[1])  ...
 *
 * Take a tile of r by n accumulators. If its rows come one after another, it keeps n operands for the next row; column by column
 * it keeps r. For 3 rows of 8 vectors this decides whether 32 registers suffice. Compilers schedule within such a block but
 * start from its order. Every accumulator receives its terms in the same order as before, so results do not change. Tiles with
 * at least as many rows as columns, and code that is not a full grid, stay unchanged. Needs: REGISTERS. */
#include "tir_lower/passes/pass.h"

/* acc += of * with, fused or not. */
typedef struct term {
    const tc_expr *of, *with;
} term;

static bool reads_register(const tc_expr *e, const void *unused) {
    (void)unused;
    return e->op == TC_OP_LOAD && e->u.buffer->scope == TC_BUF_REG;
}

/* No store of the tile can change what it reads. */
static bool is_fixed(const tc_expr *e) {
    return !tc_expr_any(e, reads_register, NULL);
}

static bool is_accumulator(const tc_stmt *s, const tc_expr *e) {
    return e->op == TC_OP_LOAD && e->u.buffer == s->u.store.buffer && e->args[0] == s->u.store.index;
}

static bool match(const tc_stmt *s, bool swap, term *t) {
    if (s->kind != TC_STMT_STORE || s->u.store.mask || s->u.store.buffer->scope != TC_BUF_REG)
        return false;
    const tc_expr *v = s->u.store.value, *acc = v, *of = NULL, *with = NULL;
    if (v->op == TC_OP_FMA)
        of = v->args[0], with = v->args[1], acc = v->args[2];
    else if (v->op == TC_OP_DOT)
        acc = v->args[0], of = v->args[1], with = v->args[2];
    else if (v->op == TC_OP_ADD && v->args[1]->op == TC_OP_MUL)
        acc = v->args[0], of = v->args[1]->args[0], with = v->args[1]->args[1];
    *t = swap ? (term){with, of} : (term){of, with};
    return of && is_accumulator(s, acc) && is_fixed(of) && is_fixed(with);
}

static bool writes(const tc_stmt *const *s, int n, const tc_stmt *x) {
    for (int i = 0; i < n; i++)
        if (s[i]->u.store.buffer == x->u.store.buffer && s[i]->u.store.index == x->u.store.index)
            return true;
    return false;
}

/* The n statements at s as rows of a grid, those of one row beside each other with one operand in common. */
typedef struct grid {
    const tc_stmt *const *s;
    int n, rows, columns;
    bool swap;
} grid;

static int first_row(const grid *g) {
    term first, t;
    int columns = 1;
    if (!match(g->s[0], g->swap, &first))
        return 0;
    while (columns < g->n && match(g->s[columns], g->swap, &t) && t.of == first.of && !writes(g->s, columns, g->s[columns]))
        columns++;
    return columns;
}

static bool has_row(const grid *g, int row) {
    const tc_stmt *const *at = g->s + row * g->columns;
    term head, t, above;
    if ((row + 1) * g->columns > g->n || !match(at[0], g->swap, &head))
        return false;
    for (int j = 0; j < g->columns; j++)
        if (!match(at[j], g->swap, &t) || t.of != head.of || !match(g->s[j], g->swap, &above) || t.with != above.with ||
            writes(g->s, row * g->columns + j, at[j]))
            return false;
    return true;
}

/* The largest grid at the start of n statements; one statement when there is none. */
static grid grid_at(const tc_stmt *const *s, int n) {
    grid g = {.s = s, .n = n};
    g.columns = first_row(&g);
    if (g.columns == 1) {
        g.swap = true;
        g.columns = first_row(&g);
    }
    if (g.columns < 2)
        return (grid){.s = s, .n = n, .rows = 1, .columns = 1};
    g.rows = 1;
    while (has_row(&g, g.rows))
        g.rows++;
    return g;
}

static const tc_stmt *order(tc_ctx *c, const tc_stmt *s) {
    int n = s->u.seq.n;
    const tc_stmt **out = TC_NEW_N(tc_ctx_arena(c), const tc_stmt *, n);
    for (int at = 0; at < n;) {
        grid g = grid_at(s->u.seq.s + at, n - at);
        bool turn = g.columns > g.rows;
        for (int k = 0; k < g.rows * g.columns; k++)
            out[at + k] = g.s[turn ? k % g.rows * g.columns + k / g.rows : k];
        at += g.rows * g.columns;
    }
    return tc_tir_seq(c, n, out);
}

static const tc_stmt *order_seq(tc_ctx *c, const tc_stmt *s, void *user);
static const tir_rules ORDER = {{[TC_STMT_SEQ] = order_seq}};

static const tc_stmt *order_seq(tc_ctx *c, const tc_stmt *s, void *user) {
    s = tir_rewrite_inside(c, &ORDER, s, user);
    return s->kind == TC_STMT_SEQ ? order(c, s) : s;
}

tc_status tir_pass_order(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err) {
    (void)m, (void)err;
    *out = tir_with_body(c, in, tir_rewrite(c, &ORDER, in->body, NULL));
    return TC_OK;
}
