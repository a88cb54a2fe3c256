/* Products of floats with numbers of a byte or less, in blocks with one scale each, are computed as products of bytes. Taking a
 * number out of its byte then costs a quarter, and units of bytes add four products at a time.
 *
 *     compute T[m, b]    = sum(k) X[m, b * size + k]
 *     compute S[m, n, b] = sum(k) X[m, b * size + k] * f32(number(W[n, b, ..], k))
 *     compute Y[m, n]    = sum(b) (S[m, n, b] - T[m, b] * zero[n, b]) * scale[n, b]
 * =>
 *     compute P[m, b]       = max(k) abs(X[m, b * size + k])
 *     compute D[j:3, m, b, k] = digit j, from -128 to 127, of round(X[m, b * size + k] * LARGEST / P[m, b])
 *     compute T'[j:3, m, b]    = sum(k) i32(D[j, m, b, k])
 *     compute S'[j:3, m, n, b] = sum(k) i32(D[j, m, b, k]) * i32(number(W[n, b, ..], k))
 *     compute U[j:3, m, b]     = P[m, b] * 256^j / LARGEST
 *     compute Y[m, n]          = sum(b, j) (f32(S'[j, m, n, b]) - f32(T'[j, m, b]) * zero[n, b]) * (scale[n, b] * U[j, m, b])
 *
 * The sums of a block are exact, because their integers stay below 2^24.
 *
 * Accuracy. A value is off by half a step and four roundings, together at most 2^-21 of the largest value in its block. So Y is off
 * by at most this share of the largest value of each block, times the block's sum of |number - zero| * |scale|. A sum of floats in
 * a block of 32 may be off by more (2^-19 in the same measure), because its partial sums are rounded. But a value that is much
 * smaller than the largest in its block keeps fewer digits. A block without a value above 2^-100 counts as zeros. An infinity or
 * NaN makes every result of its block NaN. */
#include "search_space/alternatives/alternatives_int.h"

#include <math.h>

#include "te/index/affine.h"

/* The largest integer leaves room for roundings: with what its lower digits carry it must stay below 2^23. */
enum { DIGITS = 3, DIGIT_BITS = 8, LARGEST = 127 << 16, CARRIES = 0x8080 };
enum { LARGEST_DIGIT = 128 /* its magnitude */, EXACT_BITS = 24, BYTE_BITS = 8, I32_BITS = 32 };

static const double least_peak = 0x1p-100;

/* An element of a tensor's row that lies in block b: X[lead.., b * size + k]. */
typedef struct block_read {
    const tc_expr *read;
    const tc_axis *at[TC_MAX_DIMS]; /* by dimension: the axis that walks it; of the last one, that of the blocks */
    int64_t size;
} block_read;

typedef struct digits {
    tc_ctx *c;
    const tc_compute *op;   /* Y */
    const tc_compute *sums; /* S */
    const tc_expr *read;    /* of S in Y */
    const tc_expr *total;   /* of T in Y; NULL: there is none */
    const tc_expr *centred, *scale;
    const tc_expr *number; /* u8 */
    block_read x;
    const tc_tensor *peaks, *values, *steps; /* P, D, U */
} digits;

/* ---- recognising ---- */

static const tc_axis *axis_of(int n, const tc_axis *axes, const tc_expr *e) {
    for (int i = 0; i < n && e->op == TC_OP_VAR; i++)
        if (axes[i].var == e->u.var)
            return &axes[i];
    return NULL;
}

/* The reduction that walks in steps of so many; NULL: there is none. One of a single step does not walk. */
static const tc_axis *walker(tc_ctx *c, const tc_compute *op, const tc_affine *a, int64_t step) {
    for (int r = 0; r < op->nraxis; r++)
        if (op->raxes[r].extent > 1 && tc_affine_coef(a, tc_varx(c, op->raxes[r].var)) == step)
            return &op->raxes[r];
    return NULL;
}

/* The reductions walk numbers 0 to *size - 1, each once, beside one other term. */
static bool walks_all(tc_ctx *c, const tc_compute *op, const tc_affine *a, int64_t *size) {
    int steps = 0, others = a->n;
    const tc_axis *x;
    for (*size = 1; steps < op->nraxis && (x = walker(c, op, a, *size)); steps++)
        *size *= x->extent;
    for (int r = 0; r < op->nraxis; r++) {
        steps += op->raxes[r].extent == 1;
        others -= tc_affine_coef(a, tc_varx(c, op->raxes[r].var)) != 0;
    }
    return steps == op->nraxis && others == 1 && a->c == 0;
}

static bool is_block_read(tc_ctx *c, const tc_compute *op, const tc_expr *e, block_read *x) {
    tc_affine a = {0};
    *x = (block_read){.read = e};
    if (e->op != TC_OP_READ || e->u.tensor->is_const || e->dtype != TC_F32 || e->nargs < 1)
        return false;
    int last = e->nargs - 1;
    for (int d = 0; d < last; d++)
        if (!(x->at[d] = axis_of(op->naxis, op->axes, e->args[d])))
            return false;
    if (!tc_affine_linear(&a, e->args[last], 1) || !walks_all(c, op, &a, &x->size))
        return false;
    for (int i = 0; i < op->naxis; i++)
        if (!op->axes[i].symbol && tc_affine_coef(&a, tc_varx(c, op->axes[i].var)) == x->size)
            x->at[last] = &op->axes[i];
    return x->at[last] != NULL;
}

static bool sums_alone(const tc_compute *op) {
    bool fixed = op && op->reducer == TC_RED_SUM && op->nout == 1 && op->nraxis > 0;
    for (int r = 0; fixed && r < op->nraxis; r++)
        fixed = !op->raxes[r].symbol;
    return fixed;
}

/* A number of integers in the arithmetic of bytes; NULL: it is not what is known to be the same there. */
static const tc_expr *in_bytes(tc_ctx *c, const tc_expr *e) {
    const tc_expr *a, *b;
    if (e->op == TC_OP_CAST)
        return e->args[0]->dtype == TC_U8 || e->args[0]->op == TC_OP_VAR ? tc_cast(c, TC_U8, e->args[0]) : NULL;
    if (e->op == TC_OP_INT)
        return e->u.i >= 0 && e->u.i <= UINT8_MAX ? tc_int(c, TC_U8, e->u.i) : NULL;
    if (e->op != TC_OP_BAND && e->op != TC_OP_SHR && e->op != TC_OP_MUL)
        return NULL;
    a = in_bytes(c, e->args[0]);
    b = in_bytes(c, e->args[1]);
    return a && b ? tc_bin(c, e->op, a, b) : NULL;
}

/* The range of a part of the number; nothing (lo > hi) where that or one of its own parts is not of a byte. */
static tc_ival range_of(const tc_expr *e, const tc_env *ranges) {
    static const tc_ival none = {1, 0};
    tc_ival v = e->op == TC_OP_SHR ? range_of(e->args[0], ranges) : tc_te_bounds(e, ranges);
    bool fits = v.lo >= 0 && v.hi <= UINT8_MAX;
    for (int i = 0; fits && e->op != TC_OP_CAST && i < e->nargs; i++) {
        tc_ival part = range_of(e->args[i], ranges);
        fits = part.lo <= part.hi && (e->op != TC_OP_SHR || i == 0 || part.hi < BYTE_BITS);
    }
    return fits ? v : none;
}

/* For all steps of the reductions: the largest number; 0: some are not of a byte. */
static int64_t largest_number(const tc_compute *op, const tc_expr *e) {
    tc_env *ranges = tc_env_new();
    for (int r = 0; r < op->nraxis; r++)
        tc_env_set(ranges, op->raxes[r].var, (tc_ival){0, op->raxes[r].extent - 1});
    tc_ival v = range_of(e, ranges);
    tc_env_free(ranges);
    return v.hi;
}

/* The factors of S: the value, and the number as a float. */
static bool take_factors(digits *k, int value) {
    const tc_expr *x = k->sums->body[0]->args[value], *n = k->sums->body[0]->args[1 - value];
    if (n->op != TC_OP_CAST || n->args[0]->dtype != TC_I32 || !is_block_read(k->c, k->sums, x, &k->x))
        return false;
    int64_t most = largest_number(k->sums, n->args[0]), largest_sum = k->x.size * most * LARGEST_DIGIT;
    k->number = in_bytes(k->c, n->args[0]);
    return most > 0 && k->number && tc_expr_touches_memory(k->number) && largest_sum < (int64_t)1 << EXACT_BITS;
}

static bool takes_sums(digits *k, const tc_expr *read) {
    k->sums = read->u.tensor->op;
    if (!sums_alone(k->sums) || k->sums->body[0]->op != TC_OP_MUL || k->sums->body[0]->dtype != TC_F32)
        return false;
    if (!take_factors(k, 0) && !take_factors(k, 1))
        return false;
    k->read = read;
    return 1 + k->sums->naxis <= TC_MAX_DIMS && 1 + k->x.read->nargs + k->sums->nraxis <= TC_MAX_DIMS;
}

/* What Y reads in place of an axis of S. */
static const tc_expr *given(const tc_compute *of, const tc_expr *read, const tc_axis *axis) {
    return read->args[axis - of->axes];
}

/* T: of the same blocks of the same tensor. */
static bool takes_total(digits *k, const tc_expr *read) {
    const tc_compute *t = read->u.tensor->op;
    block_read x;
    if (!sums_alone(t) || !is_block_read(k->c, t, t->body[0], &x) || x.read->u.tensor != k->x.read->u.tensor ||
        x.size != k->x.size)
        return false;
    for (int d = 0; d < x.read->nargs; d++)
        if (given(t, read, x.at[d]) != given(k->sums, k->read, k->x.at[d]))
            return false;
    k->total = read;
    return true;
}

static bool is_stage(const tc_expr *e, const void *user) {
    (void)user;
    return e->op == TC_OP_READ && e->u.tensor->op;
}

static bool is_linear(digits *k, const tc_expr *e);

static bool is_multiple(digits *k, const tc_expr *e, const tc_expr *by) {
    return is_linear(k, e) && !tc_expr_any(by, is_stage, NULL);
}

/* e is a sum of multiples of S and T. */
static bool is_linear(digits *k, const tc_expr *e) {
    if (e->op == TC_OP_SUB || e->op == TC_OP_ADD)
        return is_linear(k, e->args[0]) && is_linear(k, e->args[1]);
    if (e->op == TC_OP_MUL)
        return is_multiple(k, e->args[0], e->args[1]) || is_multiple(k, e->args[1], e->args[0]);
    if (!is_stage(e, NULL))
        return false;
    if (!k->read)
        return takes_sums(k, e);
    return e == k->read || e == k->total || (!k->total && takes_total(k, e));
}

static bool recognise(digits *k) {
    const tc_compute *op = k->op;
    if (op->reducer != TC_RED_SUM || op->nout != 1 || op->nraxis != 1 || op->raxes[0].symbol || op->body[0]->op != TC_OP_MUL ||
        op->body[0]->dtype != TC_F32)
        return false;
    for (int i = 0; i < 2; i++) {
        k->centred = op->body[0]->args[i];
        k->scale = op->body[0]->args[1 - i];
        k->read = k->total = NULL;
        if (is_linear(k, k->centred) && !tc_expr_any(k->scale, is_stage, NULL))
            return given(k->sums, k->read, k->x.at[k->x.read->nargs - 1])->op == TC_OP_VAR;
    }
    return false;
}

/* ---- writing ---- */

static const tc_expr *i32(const digits *k, int64_t v) {
    return tc_int(k->c, TC_I32, v);
}

static const tc_tensor *stage(const digits *k, const char *suffix, int n, const tc_axis *axes, tc_reducer r, int nr,
                              const tc_axis *raxes, const tc_expr *body) {
    const char *name = tc_arena_printf(tc_ctx_arena(k->c), "%s_%s", k->op->name, suffix);
    return tc_te_compute(k->c, name, n, axes, r, nr, raxes, 1, &body)->out[0];
}

/* New axes like `like`; x gets them as expressions. */
static void new_axes(const digits *k, int n, const tc_axis *const *like, tc_axis *axes, const tc_expr **x) {
    for (int i = 0; i < n; i++) {
        axes[i] = tc_te_axis_like(k->c, like[i]->var->name, like[i]);
        x[i] = tc_varx(k->c, axes[i].var);
    }
}

static int digit_axis(const digits *k, tc_axis *axes, const tc_expr **x) {
    axes[0] = tc_te_axis(k->c, "j", DIGITS);
    x[0] = tc_varx(k->c, axes[0].var);
    return 1;
}

static void new_reductions(const digits *k, tc_axis *axes, const tc_expr **x) {
    const tc_axis *like[TC_MAX_DIMS];
    for (int r = 0; r < k->sums->nraxis; r++)
        like[r] = &k->sums->raxes[r];
    new_axes(k, k->sums->nraxis, like, axes, x);
}

static const tc_tensor *peaks(const digits *k) {
    tc_axis axes[TC_MAX_DIMS], within = tc_te_axis(k->c, "k", k->x.size);
    const tc_expr *x[TC_MAX_DIMS];
    const int n = k->x.read->nargs, b = n - 1;
    new_axes(k, n, k->x.at, axes, x);
    x[b] = tc_add(k->c, tc_mul(k->c, x[b], tc_i64(k->c, k->x.size)), tc_varx(k->c, within.var));
    const tc_expr *value = tc_read(k->c, k->x.read->u.tensor, n, x);
    return stage(k, "peaks", n, axes, TC_RED_MAX, 1, &within, tc_un(k->c, TC_OP_ABS, value));
}

/* What S reads, at other places: of the blocks, and then within them. */
static const tc_expr *value_at(const digits *k, const tc_expr *const *block, const tc_expr *const *within) {
    const tc_var *vars[2 * TC_MAX_DIMS];
    const tc_expr *with[2 * TC_MAX_DIMS];
    int n = 0;
    for (int d = 0; d < k->x.read->nargs; d++, n++)
        vars[n] = k->x.at[d]->var, with[n] = block[d];
    for (int r = 0; r < k->sums->nraxis; r++, n++)
        vars[n] = k->sums->raxes[r].var, with[n] = within[r];
    return tc_expr_subst(k->c, k->x.read, n, vars, with);
}

/* Digit j of v: what the digits below it carry is added first. */
static const tc_expr *digit_of(const digits *k, const tc_expr *v, const tc_expr *j) {
    tc_ctx *c = k->c;
    const tc_expr *j32 = tc_cast(c, TC_I32, j), *bits = i32(k, DIGIT_BITS), *above = i32(k, I32_BITS - DIGIT_BITS);
    const tc_expr *carry = tc_bin(c, TC_OP_SHR, i32(k, CARRIES), tc_mul(c, tc_sub(c, i32(k, DIGITS - 1), j32), bits));
    v = tc_bin(c, TC_OP_SHR, tc_add(c, v, carry), tc_mul(c, j32, bits));
    return tc_cast(c, TC_I8, tc_bin(c, TC_OP_SHR, tc_bin(c, TC_OP_SHL, v, above), above));
}

static const tc_tensor *values(const digits *k) {
    tc_ctx *c = k->c;
    tc_axis axes[TC_MAX_DIMS];
    const tc_expr *x[TC_MAX_DIMS], **block = x + digit_axis(k, axes, x);
    const int n = k->x.read->nargs;
    new_axes(k, n, k->x.at, axes + 1, x + 1);
    new_reductions(k, axes + 1 + n, x + 1 + n);
    const tc_expr *peak = tc_read(c, k->peaks, n, block), *some = tc_bin(c, TC_OP_GT, peak, tc_float(c, TC_F32, least_peak));
    const tc_expr *factor = tc_select(c, some, tc_div(c, tc_float(c, TC_F32, LARGEST), peak), tc_float(c, TC_F32, 0));
    const tc_expr *v = tc_un(c, TC_OP_ROUND, tc_mul(c, value_at(k, block, x + 1 + n), factor));
    const tc_expr *body = digit_of(k, tc_cast(c, TC_I32, v), x[0]);
    return stage(k, "digits", 1 + n + k->sums->nraxis, axes, TC_RED_NONE, 0, NULL, body);
}

static const tc_tensor *steps(const digits *k) {
    tc_ctx *c = k->c;
    tc_axis axes[TC_MAX_DIMS];
    const tc_expr *x[TC_MAX_DIMS], **block = x + digit_axis(k, axes, x), *step = NULL;
    const int n = k->x.read->nargs;
    new_axes(k, n, k->x.at, axes + 1, x + 1);
    for (int j = DIGITS - 1; j >= 0; j--) {
        const tc_expr *one = tc_float(c, TC_F32, ldexp(1.0 / LARGEST, j * DIGIT_BITS));
        step = step ? tc_select(c, tc_bin(c, TC_OP_EQ, x[0], tc_i64(c, j)), one, step) : one;
    }
    return stage(k, "steps", 1 + n, axes, TC_RED_NONE, 0, NULL, tc_mul(c, tc_read(c, k->peaks, n, block), step));
}

static const tc_expr *integer_at(const digits *k, int n, const tc_expr *const *at) {
    return tc_cast(k->c, TC_I32, tc_read(k->c, k->values, n, at));
}

static const tc_tensor *totals(const digits *k) {
    tc_axis axes[TC_MAX_DIMS], raxes[TC_MAX_DIMS];
    const tc_expr *x[TC_MAX_DIMS];
    const int n = digit_axis(k, axes, x) + k->x.read->nargs, nr = k->sums->nraxis;
    new_axes(k, n - 1, k->x.at, axes + 1, x + 1);
    new_reductions(k, raxes, x + n);
    return stage(k, "totals", n, axes, TC_RED_SUM, nr, raxes, integer_at(k, n + nr, x));
}

static const tc_tensor *sums(const digits *k) {
    tc_ctx *c = k->c;
    const tc_compute *s = k->sums;
    tc_axis axes[TC_MAX_DIMS], raxes[TC_MAX_DIMS];
    const tc_axis *like[TC_MAX_DIMS];
    const tc_var *vars[2 * TC_MAX_DIMS];
    const tc_expr *x[TC_MAX_DIMS], *with[2 * TC_MAX_DIMS], *at[TC_MAX_DIMS];
    const int n = k->x.read->nargs;
    at[digit_axis(k, axes, x) - 1] = x[0];
    for (int i = 0; i < s->naxis; i++)
        like[i] = &s->axes[i], vars[i] = like[i]->var;
    for (int r = 0; r < s->nraxis; r++)
        vars[s->naxis + r] = s->raxes[r].var;
    new_axes(k, s->naxis, like, axes + 1, with);
    new_reductions(k, raxes, with + s->naxis);
    for (int d = 0; d < n; d++)
        at[1 + d] = with[k->x.at[d] - s->axes];
    for (int r = 0; r < s->nraxis; r++)
        at[1 + n + r] = with[s->naxis + r];
    const tc_expr *number = tc_cast(c, TC_I32, tc_expr_subst(c, k->number, s->naxis + s->nraxis, vars, with));
    const tc_expr *body = tc_mul(c, integer_at(k, 1 + n + s->nraxis, at), number);
    return stage(k, "sums", 1 + s->naxis, axes, TC_RED_SUM, s->nraxis, raxes, body);
}

/* ---- Y ---- */

typedef struct parts {
    const digits *k;
    const tc_expr *sum, *total; /* in place of S and T */
} parts;

static const tc_expr *replace_part(tc_ctx *c, const tc_expr *e, void *user) {
    const parts *p = user;
    (void)c;
    return e == p->k->read ? p->sum : e == p->k->total ? p->total : e;
}

static const tc_expr *float_at(const digits *k, const tc_tensor *t, int n, const tc_expr *const *at) {
    return tc_cast(k->c, TC_F32, tc_read(k->c, t, n, at));
}

static const tc_tensor *result(const digits *k) {
    tc_ctx *c = k->c;
    const int n = k->x.read->nargs, ns = k->sums->naxis;
    tc_axis raxes[2] = {k->op->raxes[0], tc_te_axis(c, "j", DIGITS)};
    const tc_expr *block[TC_MAX_DIMS], *at[TC_MAX_DIMS];
    block[0] = at[0] = tc_varx(c, raxes[1].var);
    for (int d = 0; d < n; d++)
        block[1 + d] = given(k->sums, k->read, k->x.at[d]);
    for (int i = 0; i < ns; i++)
        at[1 + i] = k->read->args[i];
    parts p = {k, float_at(k, sums(k), 1 + ns, at), k->total ? float_at(k, totals(k), 1 + n, block) : NULL};
    const tc_expr *centred = tc_expr_map(c, k->centred, replace_part, &p);
    const tc_expr *scale = tc_mul(c, k->scale, tc_read(c, k->steps, 1 + n, block));
    const tc_expr *body = tc_mul(c, centred, scale);
    return tc_te_compute(c, k->op->name, k->op->naxis, k->op->axes, TC_RED_SUM, 2, raxes, 1, &body)->out[0];
}

/* Of more rows, which share what takes a number out of its byte, it is not known to be faster: two rows were, four were not. */
static bool is_one_row(const digits *k) {
    for (int d = 0; d < k->x.read->nargs - 1; d++)
        if (k->x.at[d]->symbol || k->x.at[d]->extent > 1)
            return false;
    return true;
}

bool space_digits(tc_ctx *c, const tc_workload *w, const tc_compute *op, int parameter, space_replacement *out) {
    (void)w;
    (void)parameter;
    digits k = {.c = c, .op = op};
    *out = (space_replacement){0};
    if (!recognise(&k))
        return false;
    k.peaks = peaks(&k);
    k.values = values(&k);
    k.steps = steps(&k);
    out->result = result(&k);
    out->products = is_one_row(&k) ? DIGITS : 0;
    return true;
}
