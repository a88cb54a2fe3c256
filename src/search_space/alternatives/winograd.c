/* Winograd's convolution F(m x m, 3 x 3), after Lavin and Gray (CVPR 2016): of each tile of m x m outputs and m+2 x m+2 inputs
 *
 *     Y = A^T [ (G w G^T) . (B^T x B) ] A            with . elementwise; summed over channels: (m+2)^2 small matmuls over tiles
 *
 *     compute C[n, h, w, o] = sum(r:3, s:3, c) X[n, h + r, w + s, c] * W[r, s, c, o]
 * =>
 *     compute D[n, y, x, u, s, c] = sum over r of B^T[u, r] * X[n, y * m + r, x * m + s, c]       # rows of the input tile
 *     compute V[u, v, n, y, x, c] = sum over s of B^T[v, s] * D[n, y, x, u, s, c]                 # then its columns
 *     compute M[u, v, t, o]       = sum(c) V[u, v, t as (n, y, x), c] * U[u, v, c, o]             # t: tiles of the image
 *     compute R[n, y, x, i, v, o] = sum over u of A^T[i, u] * M[u, v, (n, y, x) as t, o]
 *     compute C[n, h, w, o]       = sum over v of A^T[w % m, v] * R[n, h / m, w / m, h % m, v, o]
 *
 * with U = G W G^T, computed once from the constant W. The sums over r, s, u, v are written out, with a case for each row of the
 * matrix. The schedules unroll them, so every case is decided, and zeros and ones cost nothing. Multiplications per output: 9
 * become 4 (m = 2) or 2.25 (m = 4).
 *
 * The algorithm interpolates at points, and U has a matrix for each pair of points. The points of m = 2 are among those of m = 4,
 * and the matrices differ by factors only. So m = 2 can read its 16 matrices from the 36 of m = 4, with A^T scaled in return. Both
 * can then be variants of one kernel whose batch varies. With few tiles, m = 2 reads less than half of the weights; with many
 * tiles, m = 4 does about half of the work.
 *
 * Accuracy. The transforms add and subtract numbers much larger than their result. Against the sum in double, on uniform random
 * data, the largest error of an output, relative to the root mean square of the outputs, stays below
 *     direct: 1e-5    m = 2: 5e-6    m = 4: 5e-5        (3 x 3 x 256 terms; the test `alternatives` measures it; with the weights
 *                                                         of m = 4, m = 2 stays below 1e-5)
 * U is computed in double and rounded once.
 *
 * An output depends on its own tile alone: m+2 x m+2 inputs in all C channels. An infinity or NaN spreads to the outputs of the
 * tiles that hold it, as NaN. Whatever the ranges of the inputs are, an output is off by at most
 *
 *     (C + 20) 2^-24  k  max |X|  sum |W|          m = 2: k = 16    m = 4: k = 861
 *
 * with the largest input of its own tile, and the sum over all weights of its channel. C + 20 counts the roundings of one value:
 * 6 in the transforms of X, one of U, C in the sum, 8 in the transforms of the result, some to spare. k bounds what the transforms
 * enlarge: the square of the largest entry of |A^T| D |G|, where D has the row sums of |B^T| on its diagonal. On
 * images whose pixels are of scales from 1e-6 to 3e4 the error stays below a thousandth of the bound (the test `alternatives`). */
#include "search_space/alternatives/alternatives_int.h"

#include "support/vec.h"
#include "te/index/affine.h"

enum { TAPS = 3, MAX_TILE = 6, MAX_OUT = 4 };
/* With fewer channels it is not offered. Chosen; not measured apart. */
enum { LEAST_CHANNELS = 16 };

/* Multiplications may be at most this share of the direct form's, padding of ragged tiles included: the transforms cost as well.
 * Chosen; not measured apart. */
static const double most_work = 0.75;

typedef struct matrices {
    int m, a; /* outputs and inputs of a tile */
    double bt[MAX_TILE][MAX_TILE], g[MAX_TILE][TAPS], at[MAX_OUT][MAX_TILE];
} matrices;

/* Interpolation at 0, 1, -1 and infinity; for m = 4 at 2 and -2 too, which come before infinity. */
static const matrices two = {.m = 2,
                             .a = 4,
                             .bt = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
                             .g = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
                             .at = {{1, 1, 1, 0}, {0, 1, -1, -1}}};
static const matrices four = {.m = 4,
                              .a = 6,
                              .bt = {{4, 0, -5, 0, 1, 0},
                                     {0, -4, -4, 1, 1, 0},
                                     {0, 4, -4, -1, 1, 0},
                                     {0, -2, -1, 2, 1, 0},
                                     {0, 2, -1, -2, 1, 0},
                                     {0, 4, 0, -5, 0, 1}},
                              .g = {{1.0 / 4, 0, 0},
                                    {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                    {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                                    {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                    {1.0 / 24, -1.0 / 12, 1.0 / 6},
                                    {0, 0, 1}},
                              .at = {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}};
/* That of two, where rows 0, 1, 2 and 5 of four's G stand for its own: at column i times what the one is of the other. */
static const matrices two_of_four = {
    .m = 2, .a = 4, .bt = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}}, .at = {{4, -3, -3, 0}, {0, -3, 3, -1}}};
/* By parameter of space_winograd: outputs of a tile along one axis, 2 or 4; or 24, 2 with the weights of 4. */
static const struct {
    int parameter;
    const matrices *f, *weights; /* weights: whose U is read */
} variants[] = {{2, &two, &two}, {4, &four, &four}, {24, &two_of_four, &four}};

/* ---- recognising ---- */

/* A 3 x 3 convolution: sum over (r, s, c) of data(h + r, w + s, c, rest) * W(r, s, c, o). */
typedef struct conv {
    const tc_compute *op;
    const tc_tensor *weights;
    int dim[4];            /* dimension of W that r, s, c, o walk */
    int row, column, o;    /* axes of op */
    int rest[TC_MAX_DIMS]; /* the other axes: batch */
    int nrest;
    int64_t channels;
    const tc_var *a, *b; /* stand for h + r and w + s in .. */
    const tc_var *c;     /* reduction axis of the channels */
    const tc_expr *data; /* .. what W is multiplied with */
} conv;

static const tc_expr *var_minus(tc_ctx *c, const tc_var *a, const tc_var *b) {
    return tc_sub(c, tc_varx(c, a), tc_varx(c, b));
}

/* data depends on axis h and tap r through h + r alone: with a for h + r, neither is left. Stride 1, dilation 1. */
static bool slides(tc_ctx *c, const tc_expr *data, const tc_var *h, const tc_var *r, const tc_var *a, const tc_expr **out) {
    const tc_expr *with = var_minus(c, a, r);
    if (!tc_expr_uses_var(data, h) || !tc_expr_uses_var(data, r))
        return false;
    *out = tc_te_simplify(c, tc_expr_subst(c, data, 1, &h, &with), NULL);
    return !tc_expr_uses_var(*out, r);
}

/* Finds the axis that tap r slides along. */
static int axis_of(tc_ctx *c, const tc_compute *op, const tc_expr *data, const tc_var *r, const tc_var *a, const tc_expr **out) {
    for (int x = 0; x < op->naxis - 1; x++)
        if (slides(c, data, op->axes[x].var, r, a, out))
            return x;
    return -1;
}

/* The dimension of W that variable v walks, alone and whole; -1: none. */
static int weight_dim(const tc_expr *w, const tc_axis *x) {
    for (int d = 0; d < w->nargs; d++)
        if (w->args[d]->op == TC_OP_VAR && w->args[d]->u.var == x->var)
            return w->u.tensor->shape[d] == x->extent ? d : -1;
    return -1;
}

/* Which operand is the weights: a constant walked by the output channel, which the other one does not know. */
static const tc_expr *weights_of(const tc_compute *op, const tc_expr **data) {
    const tc_expr *e = op->body[0];
    const tc_var *o = op->axes[op->naxis - 1].var;
    for (int i = 0; i < 2; i++) {
        const tc_expr *w = e->args[i];
        *data = e->args[1 - i];
        if (w->op == TC_OP_READ && w->u.tensor->is_const && w->nargs == 4 && weight_dim(w, &op->axes[op->naxis - 1]) >= 0 &&
            !tc_expr_uses_var(*data, o))
            return w;
    }
    return NULL;
}

static bool is_candidate(const tc_compute *op) {
    return op->reducer == TC_RED_SUM && op->nout == 1 && op->nraxis == 3 && op->naxis >= 3 && op->naxis + 2 <= TC_MAX_DIMS &&
           op->body[0]->dtype == TC_F32 && op->body[0]->op == TC_OP_MUL;
}

/* Gives the reductions their parts: two slide along axes, the third is the channels. */
static bool pair_taps(tc_ctx *c, conv *k) {
    const tc_compute *op = k->op;
    int axis[2], tap[2], n = 0;
    const tc_var *name[2] = {tc_var_new(c, "a"), tc_var_new(c, "b")};
    for (int r = 0; r < 3; r++) {
        const tc_expr *next;
        int x = n < 2 && op->raxes[r].extent == TAPS ? axis_of(c, op, k->data, op->raxes[r].var, name[n], &next) : -1;
        if (x < 0) {
            k->c = op->raxes[r].var;
            k->dim[2] = r;
            continue;
        }
        axis[n] = x;
        tap[n++] = r;
        k->data = next;
    }
    if (n != 2 || axis[0] == axis[1])
        return false;
    int first = axis[0] < axis[1] ? 0 : 1;
    k->row = axis[first];
    k->column = axis[1 - first];
    k->a = name[first];
    k->b = name[1 - first];
    k->dim[0] = tap[first];
    k->dim[1] = tap[1 - first];
    return true;
}

static bool recognise(tc_ctx *c, const tc_workload *w, const tc_compute *op, conv *k) {
    *k = (conv){.op = op, .o = op->naxis - 1};
    const tc_expr *weights = is_candidate(op) ? weights_of(op, &k->data) : NULL;
    if (!weights || k->data->dtype != TC_F32 || !pair_taps(c, k))
        return false;
    k->weights = weights->u.tensor;
    k->channels = op->raxes[k->dim[2]].extent;
    for (int i = 0; i < 3; i++)
        if (op->raxes[k->dim[i]].symbol || (k->dim[i] = weight_dim(weights, &op->raxes[k->dim[i]])) < 0)
            return false;
    k->dim[3] = weight_dim(weights, &op->axes[k->o]);
    for (int x = 0; x < op->naxis - 1; x++)
        if (x != k->row && x != k->column)
            k->rest[k->nrest++] = x;
    return k->channels >= LEAST_CHANNELS && op->axes[k->o].extent >= LEAST_CHANNELS && space_read_once(w, k->weights);
}

/* ---- writing ---- */

typedef struct writer {
    tc_ctx *c;
    const conv *k;
    const matrices *f, *weights; /* weights: the matrices that U was made with */
    int64_t rows, columns;       /* tiles along h, and along w */
    int64_t tiles;               /* in all; at most, where the batch varies: then .. */
    const tc_var *varying;       /* .. that is their number, else NULL */
} writer;

static const tc_expr *axis(writer *w, const tc_axis *x) {
    return tc_varx(w->c, x->var);
}

static const tc_expr *plus(writer *w, const tc_expr *x, int64_t scale, const tc_expr *y) {
    return tc_add(w->c, tc_mul(w->c, x, tc_i64(w->c, scale)), y);
}

static const tc_expr *sum_of(tc_ctx *c, const tc_expr *s, double k, const tc_expr *x) {
    const tc_expr *p = k == 1 || k == -1 ? x : tc_mul(c, x, tc_float(c, x->dtype, k < 0 && s ? -k : k));
    if (!s)
        return k == -1 ? tc_mul(c, x, tc_float(c, x->dtype, -1)) : p;
    return k < 0 ? tc_sub(c, s, p) : tc_add(c, s, p);
}

/* The terms i = from, from + 2, .. of sum k[i] * x[i], all with the sign that makes the first one positive; NULL: there are none.
 */
static const tc_expr *half(tc_ctx *c, int from, int n, const double *k, const tc_expr *const *x, double *sign) {
    const tc_expr *s = NULL;
    *sign = 1;
    for (int i = n - 1; i >= from; i--)
        if (k[i] != 0 && i % 2 == from)
            *sign = k[i] < 0 ? -1 : 1;
    for (int negative = 0; negative < 2; negative++) /* what is subtracted comes last */
        for (int i = from; i < n; i += 2)
            if (k[i] != 0 && (*sign * k[i] < 0) == negative)
                s = sum_of(c, s, *sign * k[i], x[i]);
    return s;
}

/* sum of k[i] * x[i], as the terms of even i and those of odd i: rows of the matrices that differ in the sign of one half share
 * both. */
static const tc_expr *combine(tc_ctx *c, int n, const double *k, const tc_expr *const *x) {
    double se, so;
    const tc_expr *even = half(c, 0, n, k, x, &se), *odd = half(c, 1, n, k, x, &so);
    if (!even || !odd)
        return sum_of(c, NULL, even ? se : so, even ? even : odd);
    return se < 0 ? sum_of(c, sum_of(c, NULL, so, odd), se, even) : sum_of(c, even, so, odd);
}

/* case `which` of n values; the last one needs no question */
static const tc_expr *choose(tc_ctx *c, const tc_expr *which, int n, const tc_expr *const *value) {
    const tc_expr *e = value[n - 1];
    for (int i = n - 2; i >= 0; i--)
        e = tc_select(c, tc_bin(c, TC_OP_EQ, which, tc_i64(c, i)), value[i], e);
    return e;
}

/* row `which` of the n x m matrix, times x */
static const tc_expr *row_times(tc_ctx *c, const tc_expr *which, int n, int m, const double *matrix, int stride,
                                const tc_expr *const *x) {
    const tc_expr *value[MAX_TILE] = {NULL};
    for (int i = 0; i < n; i++)
        value[i] = combine(c, m, matrix + (ptrdiff_t)i * stride, x);
    return choose(c, which, n, value);
}

static const tc_tensor *stage(writer *w, const char *suffix, int n, const tc_axis *axes, const tc_expr *body) {
    const char *name = tc_arena_printf(tc_ctx_arena(w->c), "%s%s", w->k->op->name, suffix);
    return tc_te_compute(w->c, name, n, axes, TC_RED_NONE, 0, NULL, 1, &body)->out[0];
}

/* Axes for the batch and the tiles, and those expressions. */
static int tile_axes(writer *w, tc_axis *axes, const tc_expr **x) {
    const conv *k = w->k;
    int n = 0;
    for (int i = 0; i < k->nrest; i++)
        axes[n++] = tc_te_axis_like(w->c, "n", &k->op->axes[k->rest[i]]);
    axes[n++] = tc_te_axis(w->c, "y", w->rows);
    axes[n++] = tc_te_axis(w->c, "x", w->columns);
    for (int i = 0; i < n; i++)
        x[i] = axis(w, &axes[i]);
    return n;
}

/* The input at row y * m + r, column x * m + s of the padded image; 0 beyond it, where the last tiles are ragged. */
static const tc_expr *input_at(writer *w, const tc_expr *const *tile, const tc_expr *r, const tc_expr *s, const tc_expr *ch) {
    const conv *k = w->k;
    tc_ctx *c = w->c;
    const tc_var *vars[TC_MAX_DIMS];
    const tc_expr *with[TC_MAX_DIMS], *inside = NULL;
    int n = 0;
    for (; n < k->nrest; n++) {
        vars[n] = k->op->axes[k->rest[n]].var;
        with[n] = tile[n];
    }
    const tc_expr *at[2] = {plus(w, tile[k->nrest], w->f->m, r), plus(w, tile[k->nrest + 1], w->f->m, s)};
    int64_t size[2] = {k->op->axes[k->row].extent, k->op->axes[k->column].extent}, tiles[2] = {w->rows, w->columns};
    for (int i = 0; i < 2; i++) {
        vars[n] = i ? k->b : k->a;
        with[n++] = at[i];
        if (tiles[i] * w->f->m == size[i])
            continue;
        const tc_expr *in = tc_bin(c, TC_OP_LT, at[i], tc_i64(c, size[i] + TAPS - 1));
        inside = inside ? tc_bin(c, TC_OP_AND, inside, in) : in;
    }
    vars[n] = k->c;
    with[n++] = ch;
    /* Without the ranges of the axes, which lowering uses: they would change the text, by whose hash records are found. */
    const tc_expr *e = tc_te_simplify(c, tc_expr_subst(c, k->data, n, vars, with), NULL);
    return inside ? tc_select(c, inside, e, tc_float(c, TC_F32, 0)) : e;
}

static const tc_tensor *input_rows(writer *w) {
    tc_axis axes[TC_MAX_DIMS];
    const tc_expr *x[TC_MAX_DIMS], *in[MAX_TILE];
    int n = tile_axes(w, axes, x), a = w->f->a;
    axes[n] = tc_te_axis(w->c, "u", a);
    axes[n + 1] = tc_te_axis(w->c, "s", a);
    axes[n + 2] = tc_te_axis(w->c, "c", w->k->channels);
    for (int r = 0; r < a; r++)
        in[r] = input_at(w, x, tc_i64(w->c, r), axis(w, &axes[n + 1]), axis(w, &axes[n + 2]));
    const tc_expr *body = row_times(w->c, axis(w, &axes[n]), a, a, w->f->bt[0], MAX_TILE, in);
    return stage(w, "_rows", n + 3, axes, body);
}

static const tc_tensor *input_columns(writer *w, const tc_tensor *d) {
    tc_axis axes[TC_MAX_DIMS], tile[TC_MAX_DIMS];
    const tc_expr *x[TC_MAX_DIMS], *in[MAX_TILE];
    int n = tile_axes(w, tile, x), a = w->f->a;
    axes[0] = tc_te_axis(w->c, "u", a);
    axes[1] = tc_te_axis(w->c, "v", a);
    for (int i = 0; i < n; i++)
        axes[2 + i] = tile[i];
    axes[n + 2] = tc_te_axis(w->c, "c", w->k->channels);
    for (int s = 0; s < a; s++) {
        x[n] = axis(w, &axes[0]);
        x[n + 1] = tc_i64(w->c, s);
        x[n + 2] = axis(w, &axes[n + 2]);
        in[s] = tc_read(w->c, d, n + 3, x);
    }
    const tc_expr *body = row_times(w->c, axis(w, &axes[1]), a, a, w->f->bt[0], MAX_TILE, in);
    return stage(w, "_input", n + 3, axes, body);
}

/* Tile t as batch, row and column. */
static int tile_of(writer *w, const tc_axis *t, const tc_expr **x) {
    const conv *k = w->k;
    int n = k->nrest + 2;
    const tc_expr *left = axis(w, t);
    tc_env *env = tc_env_new();
    tc_env_set(env, t->var, (tc_ival){0, t->extent - 1});
    for (int i = n - 1; i > 0; i--) {
        const tc_expr *e = tc_i64(w->c, i == n - 1 ? w->columns : i == n - 2 ? w->rows : k->op->axes[k->rest[i]].extent);
        x[i] = tc_te_simplify(w->c, tc_mod(w->c, left, e), env);
        left = tc_div(w->c, left, e);
    }
    x[0] = tc_te_simplify(w->c, left, env);
    tc_env_free(env);
    return n;
}

static const tc_expr *tile_number(writer *w, int n, const tc_axis *axes) {
    const tc_expr *t = axis(w, &axes[0]);
    for (int i = 1; i < n; i++)
        t = plus(w, t, axes[i].extent, axis(w, &axes[i]));
    return t;
}

/* Where U has what belongs to row u of the tile: the last point is always infinity. */
static const tc_expr *point(writer *w, const tc_expr *u) {
    int last = w->f->a - 1, skip = w->weights->a - w->f->a;
    return skip ? plus(w, tc_div(w->c, u, tc_i64(w->c, last)), skip, u) : u;
}

static const tc_tensor *products(writer *w, const tc_tensor *v, const tc_tensor *u) {
    tc_ctx *c = w->c;
    int a = w->f->a;
    tc_axis ch = tc_te_axis(c, "c", w->k->channels),
            axes[] = {tc_te_axis(c, "u", a), tc_te_axis(c, "v", a),
                      w->varying ? tc_te_varying_axis(c, "t", w->varying) : tc_te_axis(c, "t", w->tiles),
                      tc_te_axis(c, "o", w->k->op->axes[w->k->o].extent)};
    const tc_expr *x[TC_MAX_DIMS] = {axis(w, &axes[0]), axis(w, &axes[1])};
    int n = tile_of(w, &axes[2], x + 2) + 2;
    x[n++] = axis(w, &ch);
    const tc_expr *y[] = {point(w, x[0]), point(w, x[1]), axis(w, &ch), axis(w, &axes[3])};
    const tc_expr *body = tc_mul(c, tc_read(c, v, n, x), tc_read(c, u, 4, y));
    const char *name = tc_arena_printf(tc_ctx_arena(c), "%s_products", w->k->op->name);
    return tc_te_compute(c, name, 4, axes, TC_RED_SUM, 1, &ch, 1, &body)->out[0];
}

static const tc_tensor *output_rows(writer *w, const tc_tensor *m) {
    tc_axis axes[TC_MAX_DIMS];
    const tc_expr *x[TC_MAX_DIMS], *in[MAX_TILE];
    int n = tile_axes(w, axes, x), a = w->f->a;
    axes[n] = tc_te_axis(w->c, "i", w->f->m);
    axes[n + 1] = tc_te_axis(w->c, "v", a);
    axes[n + 2] = tc_te_axis(w->c, "o", w->k->op->axes[w->k->o].extent);
    const tc_expr *t = tile_number(w, n, axes);
    for (int u = 0; u < a; u++) {
        const tc_expr *at[] = {tc_i64(w->c, u), axis(w, &axes[n + 1]), t, axis(w, &axes[n + 2])};
        in[u] = tc_read(w->c, m, 4, at);
    }
    const tc_expr *body = row_times(w->c, axis(w, &axes[n]), w->f->m, a, w->f->at[0], MAX_TILE, in);
    return stage(w, "_back", n + 3, axes, body);
}

/* The convolution's own tensor, on axes of the same extents. */
static const tc_tensor *output_columns(writer *w, const tc_tensor *r) {
    const conv *k = w->k;
    tc_ctx *c = w->c;
    tc_axis axes[TC_MAX_DIMS];
    const tc_expr *x[TC_MAX_DIMS], *in[MAX_TILE], *m = tc_i64(c, w->f->m);
    int n = 0;
    for (int i = 0; i < k->op->naxis; i++)
        axes[i] = tc_te_axis_like(c, k->op->axes[i].var->name, &k->op->axes[i]);
    for (; n < k->nrest; n++)
        x[n] = axis(w, &axes[k->rest[n]]);
    const tc_expr *row = axis(w, &axes[k->row]), *column = axis(w, &axes[k->column]);
    x[n] = tc_div(c, row, m);
    x[n + 1] = tc_div(c, column, m);
    x[n + 2] = tc_mod(c, row, m);
    x[n + 4] = axis(w, &axes[k->o]);
    for (int v = 0; v < w->f->a; v++) {
        x[n + 3] = tc_i64(c, v);
        in[v] = tc_read(c, r, n + 5, x);
    }
    const tc_expr *body = row_times(c, tc_mod(c, column, m), w->f->m, w->f->a, w->f->at[0], MAX_TILE, in);
    return stage(w, "", k->op->naxis, axes, body);
}

/* ---- weights ---- */

/* U[u, v, c, o] = G W G^T, in double, rounded once. */
static const tc_workload *weight_transform(writer *w) {
    const conv *k = w->k;
    tc_ctx *c = w->c;
    int a = w->weights->a;
    int64_t nc = k->channels, no = k->op->axes[k->o].extent;
    const tc_tensor *in = tc_te_placeholder(c, "W", TC_F32, 4, k->weights->shape, true);
    tc_axis t[] = {tc_te_axis(c, "u", a), tc_te_axis(c, "s", TAPS), tc_te_axis(c, "c", nc), tc_te_axis(c, "o", no)};
    tc_axis u[] = {tc_te_axis(c, "u", a), tc_te_axis(c, "v", a), tc_te_axis(c, "c", nc), tc_te_axis(c, "o", no)};
    const tc_expr *x[TAPS], *at[4];
    for (int r = 0; r < TAPS; r++) {
        for (int i = 1; i < 4; i++)
            at[k->dim[i]] = axis(w, &t[i]);
        at[k->dim[0]] = tc_i64(c, r);
        x[r] = tc_cast(c, TC_F64, tc_read(c, in, 4, at));
    }
    const tc_expr *body = row_times(c, axis(w, &t[0]), a, TAPS, w->weights->g[0], TAPS, x);
    const tc_tensor *rows = tc_te_compute(c, "T", 4, t, TC_RED_NONE, 0, NULL, 1, &body)->out[0];
    for (int s = 0; s < TAPS; s++) {
        const tc_expr *from[] = {axis(w, &u[0]), tc_i64(c, s), axis(w, &u[2]), axis(w, &u[3])};
        x[s] = tc_read(c, rows, 4, from);
    }
    body = tc_cast(c, TC_F32, row_times(c, axis(w, &u[1]), a, TAPS, w->weights->g[0], TAPS, x));
    const tc_tensor *out = tc_te_compute(c, "U", 4, u, TC_RED_NONE, 0, NULL, 1, &body)->out[0];
    tc_workload *made;
    return tc_te_workload(c, 1, &in, 1, &out, &made, NULL) == TC_OK ? made : NULL;
}

/* Only the outermost axis of the batch may vary: tiles are numbered. */
static bool count_tiles(writer *w) {
    const conv *k = w->k;
    w->tiles = w->rows * w->columns;
    for (int i = 0; i < k->nrest; i++) {
        const tc_axis *x = &k->op->axes[k->rest[i]];
        w->tiles *= x->extent;
        if (x->symbol && i > 0)
            return false;
    }
    const tc_axis *first = k->nrest ? &k->op->axes[k->rest[0]] : NULL;
    if (!first || !first->symbol)
        return true;
    const tc_expr *n = tc_mul(w->c, tc_varx(w->c, first->symbol), tc_i64(w->c, w->tiles / first->extent));
    w->varying = tc_symbol_problem(n) ? NULL : tc_symbol_defined(w->c, "tiles", n);
    return w->varying != NULL;
}

bool space_winograd(tc_ctx *c, const tc_workload *wl, const tc_compute *op, int parameter, space_replacement *out) {
    conv k;
    if (!recognise(c, wl, op, &k))
        return false;
    int v = 0;
    while (variants[v].parameter != parameter)
        v++;
    writer w = {.c = c, .k = &k, .f = variants[v].f, .weights = variants[v].weights};
    int64_t h = op->axes[k.row].extent, x = op->axes[k.column].extent, a = w.f->a, m = w.f->m, no = op->axes[k.o].extent;
    w.rows = tc_ceil_div(h, m);
    w.columns = tc_ceil_div(x, m);
    if (op->axes[k.row].symbol || op->axes[k.column].symbol || op->axes[k.o].symbol || !count_tiles(&w))
        return false;
    if ((double)(a * a * w.rows * w.columns) > most_work * (double)(TAPS * TAPS * h * x))
        return false;
    const int64_t shape[] = {w.weights->a, w.weights->a, k.channels, no};
    const tc_tensor *u =
        tc_te_placeholder(c, tc_arena_printf(tc_ctx_arena(c), "%s_transformed", k.weights->name), TC_F32, 4, shape, true);
    const tc_tensor *in = input_columns(&w, input_rows(&w));
    *out = (space_replacement){.result = output_columns(&w, output_rows(&w, products(&w, in, u))),
                               .constant = k.weights,
                               .made = u,
                               .prologue = weight_transform(&w)};
    return out->prologue != NULL;
}
