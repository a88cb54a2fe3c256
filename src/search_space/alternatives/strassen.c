/* One level of Strassen's algorithm (Numerische Mathematik 13, 1969) for a matrix product with a constant right operand. Rows, K
 * and N are each cut in two halves; of the quadrants A11 A12 A21 A22 of A, and so of W and C, seven products instead of eight:
 *
 *     M0 = (A11 + A22) (W11 + W22)    M1 = (A21 + A22) W11    M2 = A11 (W12 - W22)    M3 = A22 (W21 - W11)
 *     M4 = (A11 + A12) W22            M5 = (A21 - A11) (W11 + W12)                    M6 = (A12 - A22) (W21 + W22)
 *     C11 = M0 + M3 - M4 + M6    C12 = M2 + M4    C21 = M1 + M3    C22 = M0 - M1 + M2 + M5
 *
 *     compute C[r:R, o:N] = sum(k:K) A[r, k] * W[k, o]
 * =>
 *     compute S[u:7, r:R/2, k:K/2] = choice by u of sums of A[r or r + R/2, k or k + K/2]
 *     compute P[u:7, r:R/2, o:N/2] = sum(k:K/2) S[u, r, k] * U[u, k, o]
 *     compute C[r:R, o:N]          = choice by r < R/2 and o < N/2 of sums of P[u, r % (R/2), o % (N/2)]
 *
 * U, the sums of W's quadrants, is made once from the constant W. U takes 7/4 of W's memory. Each value of U serves half the rows,
 * so U needs twice the bandwidth per multiplication. A cache that holds W may be too small for U. Rows may be several axes (as in a
 * 1 x 1 convolution); one of them is cut. If its extent is odd, the second half has a row of zeros.
 *
 * The sketch rule for the choice and the products it reads (emit_combine.c) keeps P in cache-sized blocks, so that the sums cost
 * one or two per cent.
 *
 * Accuracy. A sum of two quadrants is larger than either, and C is what is left of larger products. Against the sum in double,
 * on uniform random data, the largest error of an output, relative to the root mean square of the outputs, stays below
 *     direct: 1e-5    one level: 1e-5        (256 terms; the test `alternatives` measures it)
 * because the sums are half as long, which makes up for the larger numbers. But the direct form's error depends on the values of
 * one row of A and one column of W. The error of this form depends on the largest value in two rows (r and r + R/2) and two
 * columns. So a small output beside a large one keeps fewer digits, and an infinity or NaN spreads to all four outputs. So only the
 * accuracy `fast` allows this form. U is computed in double and rounded once.
 *
 * Scales. With rows of A and columns of W scaled to norms of 1 by powers of two, the error would follow the own row and column
 * again (Ballard, Benson, Druinsky, Lipshitz and Schwartz, 2016). Columns of W would cost nothing in a run, and rows of A a pass
 * over A for their norms and a factor in S and in C. But a row with an infinity or NaN needs the direct product, in a branch that
 * depends on data: a compute evaluates all of its reduction, so the form would contain the direct product for all rows. */
#include "search_space/alternatives/alternatives_int.h"

#include "te/index/affine.h"

enum { PRODUCTS = 7, QUADRANTS = 4 };
/* For smaller matmuls it is not offered. Chosen; not measured apart. */
enum { LEAST_WIDTH = 256, LEAST_ROWS = 64 };

/* Multiplications may be at most this share of the direct form's, padding of an odd axis included: the sums cost as well. Chosen;
 * not measured apart. */
static const double most_work = 0.93;

/* Quadrants are numbered 11, 12, 21, 22. */
static const signed char of_a[PRODUCTS][QUADRANTS] = {{1, 0, 0, 1}, {0, 0, 1, 1},  {1, 0, 0, 0}, {0, 0, 0, 1},
                                                      {1, 1, 0, 0}, {-1, 0, 1, 0}, {0, 1, 0, -1}};
static const signed char of_w[PRODUCTS][QUADRANTS] = {{1, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, -1}, {-1, 0, 1, 0},
                                                      {0, 0, 0, 1}, {1, 1, 0, 0}, {0, 0, 1, 1}};
static const signed char of_c[QUADRANTS][PRODUCTS] = {
    {1, 0, 0, 1, -1, 0, 1}, {0, 0, 1, 0, 1, 0, 0}, {0, 1, 0, 1, 0, 0, 0}, {1, -1, 1, 0, 0, 1, 0}};

/* sum(k) data(rows.., k) * W[k, o]. */
typedef struct product {
    tc_ctx *c;
    const tc_compute *op;
    const tc_tensor *weights;
    const tc_expr *data;
    int kdim;           /* dimension of W that k walks; o walks the other one */
    int cut;            /* row axis that is cut in two */
    int64_t half, k, n; /* of the cut axis, rounded up; of the reduction; of o */
} product;

/* ---- recognising ---- */

static bool walks(const tc_expr *index, const tc_axis *x) {
    return index->op == TC_OP_VAR && index->u.var == x->var;
}

/* Takes operand i of the multiplication as W; the other one must not know o. */
static bool take_weights(product *p, int i) {
    const tc_compute *op = p->op;
    const tc_expr *w = op->body[0]->args[i], *data = op->body[0]->args[1 - i];
    const tc_axis *o = &op->axes[op->naxis - 1], *k = &op->raxes[0];
    if (w->op != TC_OP_READ || !w->u.tensor->is_const || w->nargs != 2 || tc_expr_uses_var(data, o->var))
        return false;
    p->kdim = walks(w->args[0], k) ? 0 : 1;
    p->weights = w->u.tensor;
    p->data = data;
    return walks(w->args[p->kdim], k) && walks(w->args[1 - p->kdim], o) && p->weights->shape[p->kdim] == k->extent &&
           p->weights->shape[1 - p->kdim] == o->extent && w->dtype == TC_F32 && data->dtype == TC_F32;
}

/* Extent of axis x when it is made even, relative to what it is. */
static double padded(const tc_axis *x) {
    return 2 * (double)tc_ceil_div(x->extent, 2) / (double)x->extent;
}

/* The row axis of a fixed size that loses least to padding, the outermost of equals. */
static int cut_axis(const product *p) {
    int best = -1;
    for (int x = 0; x < p->op->naxis - 1; x++)
        if (p->op->axes[x].extent > 1 && !p->op->axes[x].symbol && tc_expr_uses_var(p->data, p->op->axes[x].var) &&
            (best < 0 || padded(&p->op->axes[x]) < padded(&p->op->axes[best])))
            best = x;
    return best;
}

static bool is_candidate(const tc_compute *op) {
    return op->reducer == TC_RED_SUM && op->nout == 1 && op->nraxis == 1 && op->naxis >= 2 && op->naxis < TC_MAX_DIMS &&
           !op->raxes[0].symbol && !op->axes[op->naxis - 1].symbol && op->body[0]->op == TC_OP_MUL &&
           op->body[0]->dtype == TC_F32;
}

static bool worth_it(const product *p) {
    int64_t rows = 1;
    for (int x = 0; x < p->op->naxis - 1; x++)
        rows *= p->op->axes[x].extent;
    return p->k % 2 == 0 && p->n % 2 == 0 && p->k >= LEAST_WIDTH && p->n >= LEAST_WIDTH && rows >= LEAST_ROWS;
}

static bool recognise(tc_ctx *c, const tc_workload *w, const tc_compute *op, product *p) {
    *p = (product){.c = c, .op = op};
    if (!is_candidate(op) || (!take_weights(p, 0) && !take_weights(p, 1)))
        return false;
    p->k = op->raxes[0].extent;
    p->n = op->axes[op->naxis - 1].extent;
    p->cut = cut_axis(p);
    if (p->cut < 0 || !worth_it(p) || !space_read_once(w, p->weights))
        return false;
    p->half = tc_ceil_div(op->axes[p->cut].extent, 2);
    return PRODUCTS / 8.0 * padded(&op->axes[p->cut]) <= most_work;
}

/* ---- writing ---- */

static const tc_expr *axis(const product *p, const tc_axis *x) {
    return tc_varx(p->c, x->var);
}

/* The terms of x with their signs; what is subtracted comes last. */
static const tc_expr *signed_sum(tc_ctx *c, int n, const signed char *sign, const tc_expr *const *x) {
    const tc_expr *s = NULL;
    for (int i = 0; i < n; i++)
        if (sign[i] > 0)
            s = s ? tc_add(c, s, x[i]) : x[i];
    for (int i = 0; i < n; i++)
        if (sign[i] < 0)
            s = tc_sub(c, s, x[i]);
    return s;
}

/* Of the sums of four quadrants the one for product u. */
static const tc_expr *sum_for(tc_ctx *c, const tc_expr *u, const signed char (*sign)[QUADRANTS], const tc_expr *const *quadrant) {
    const tc_expr *e = signed_sum(c, QUADRANTS, sign[PRODUCTS - 1], quadrant);
    for (int i = PRODUCTS - 2; i >= 0; i--)
        e = tc_select(c, tc_bin(c, TC_OP_EQ, u, tc_i64(c, i)), signed_sum(c, QUADRANTS, sign[i], quadrant), e);
    return e;
}

static const tc_tensor *stage(const product *p, const char *suffix, int n, const tc_axis *axes, const tc_axis *k,
                              const tc_expr *body) {
    const char *name = tc_arena_printf(tc_ctx_arena(p->c), "%s%s", p->op->name, suffix);
    return tc_te_compute(p->c, name, n, axes, k ? TC_RED_SUM : TC_RED_NONE, k ? 1 : 0, k, 1, &body)->out[0];
}

/* Axes u, then those of the rows with one halved; *x gets them as expressions. Returns how many. */
static int row_axes(const product *p, tc_axis *axes, const tc_expr **x) {
    int n = 0;
    axes[n++] = tc_te_axis(p->c, "u", PRODUCTS);
    for (int r = 0; r < p->op->naxis - 1; r++)
        axes[n++] = r == p->cut ? tc_te_axis(p->c, p->op->axes[r].var->name, p->half)
                                : tc_te_axis_like(p->c, p->op->axes[r].var->name, &p->op->axes[r]);
    for (int i = 0; i < n; i++)
        x[i] = axis(p, &axes[i]);
    return n;
}

/* The data at rows row[1..] of the upper or lower half, and k of the left or right one. */
static const tc_expr *data_at(const product *p, int quadrant, const tc_expr *const *row, const tc_expr *k) {
    tc_ctx *c = p->c;
    const tc_var *vars[TC_MAX_DIMS];
    const tc_expr *with[TC_MAX_DIMS];
    int n = 0;
    for (; n < p->op->naxis - 1; n++) {
        vars[n] = p->op->axes[n].var;
        with[n] = row[1 + n];
    }
    if (quadrant >= 2)
        with[p->cut] = tc_add(c, row[1 + p->cut], tc_i64(c, p->half));
    vars[n] = p->op->raxes[0].var;
    with[n++] = quadrant % 2 ? tc_add(c, k, tc_i64(c, p->k / 2)) : k;
    /* Without the ranges of the axes, which lowering uses: they would change the text, by whose hash records are found. */
    const tc_expr *e = tc_te_simplify(c, tc_expr_subst(c, p->data, n, vars, with), NULL);
    int64_t lower = p->op->axes[p->cut].extent - p->half;
    if (quadrant < 2 || lower == p->half)
        return e;
    return tc_select(c, tc_bin(c, TC_OP_LT, row[1 + p->cut], tc_i64(c, lower)), e, tc_float(c, TC_F32, 0));
}

static const tc_tensor *data_sums(const product *p) {
    tc_axis axes[TC_MAX_DIMS];
    const tc_expr *x[TC_MAX_DIMS], *quadrant[QUADRANTS];
    int n = row_axes(p, axes, x);
    axes[n] = tc_te_axis(p->c, "k", p->k / 2);
    for (int q = 0; q < QUADRANTS; q++)
        quadrant[q] = data_at(p, q, x, axis(p, &axes[n]));
    return stage(p, "_sums", n + 1, axes, NULL, sum_for(p->c, x[0], of_a, quadrant));
}

static const tc_tensor *products(const product *p, const tc_tensor *s, const tc_tensor *u) {
    tc_axis axes[TC_MAX_DIMS], k = tc_te_axis(p->c, "k", p->k / 2);
    const tc_expr *x[TC_MAX_DIMS];
    int n = row_axes(p, axes, x);
    axes[n] = tc_te_axis(p->c, "o", p->n / 2);
    x[n] = axis(p, &k);
    const tc_expr *at[] = {x[0], x[n], axis(p, &axes[n])};
    return stage(p, "_products", n + 1, axes, &k, tc_mul(p->c, tc_read(p->c, s, n + 1, x), tc_read(p->c, u, 3, at)));
}

/* The product's own tensor, on axes of the same extents. */
static const tc_tensor *combination(const product *p, const tc_tensor *m) {
    tc_ctx *c = p->c;
    tc_axis axes[TC_MAX_DIMS];
    const tc_expr *x[TC_MAX_DIMS], *term[PRODUCTS], *quadrant[QUADRANTS];
    int n = p->op->naxis;
    for (int i = 0; i < n; i++) {
        axes[i] = tc_te_axis_like(c, p->op->axes[i].var->name, &p->op->axes[i]);
        x[1 + i] = axis(p, &axes[i]);
    }
    const tc_expr *row = x[1 + p->cut], *o = x[n], *half = tc_i64(c, p->half), *middle = tc_i64(c, p->n / 2);
    x[1 + p->cut] = tc_mod(c, row, half);
    x[n] = tc_mod(c, o, middle);
    for (int u = 0; u < PRODUCTS; u++) {
        x[0] = tc_i64(c, u);
        term[u] = tc_read(c, m, n + 1, x);
    }
    for (int q = 0; q < QUADRANTS; q++)
        quadrant[q] = signed_sum(c, PRODUCTS, of_c[q], term);
    const tc_expr *left = tc_bin(c, TC_OP_LT, o, middle), *upper = tc_select(c, left, quadrant[0], quadrant[1]),
                  *lower = tc_select(c, left, quadrant[2], quadrant[3]);
    return stage(p, "", n, axes, NULL, tc_select(c, tc_bin(c, TC_OP_LT, row, half), upper, lower));
}

/* U[u, k, o], in double, rounded once. */
static const tc_workload *weight_sums(const product *p) {
    tc_ctx *c = p->c;
    const tc_tensor *in = tc_te_placeholder(c, "W", TC_F32, 2, p->weights->shape, true);
    tc_axis axes[] = {tc_te_axis(c, "u", PRODUCTS), tc_te_axis(c, "k", p->k / 2), tc_te_axis(c, "o", p->n / 2)};
    const tc_expr *quadrant[QUADRANTS], *at[2];
    for (int q = 0; q < QUADRANTS; q++) {
        at[p->kdim] = tc_add(c, axis(p, &axes[1]), tc_i64(c, q / 2 * (p->k / 2)));
        at[1 - p->kdim] = tc_add(c, axis(p, &axes[2]), tc_i64(c, q % 2 * (p->n / 2)));
        quadrant[q] = tc_cast(c, TC_F64, tc_read(c, in, 2, at));
    }
    const tc_expr *body = tc_cast(c, TC_F32, sum_for(c, axis(p, &axes[0]), of_w, quadrant));
    const tc_tensor *out = tc_te_compute(c, "U", 3, axes, TC_RED_NONE, 0, NULL, 1, &body)->out[0];
    tc_workload *made;
    return tc_te_workload(c, 1, &in, 1, &out, &made, NULL) == TC_OK ? made : NULL;
}

bool space_strassen(tc_ctx *c, const tc_workload *w, const tc_compute *op, int parameter, space_replacement *out) {
    (void)parameter;
    product p;
    if (!recognise(c, w, op, &p))
        return false;
    const int64_t shape[] = {PRODUCTS, p.k / 2, p.n / 2};
    const tc_tensor *u =
        tc_te_placeholder(c, tc_arena_printf(tc_ctx_arena(c), "%s_sums", p.weights->name), TC_F32, 3, shape, true);
    *out = (space_replacement){
        .result = combination(&p, products(&p, data_sums(&p), u)), .constant = p.weights, .made = u, .prologue = weight_sums(&p)};
    return out->prologue != NULL;
}
