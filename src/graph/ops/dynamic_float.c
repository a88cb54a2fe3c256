/* Sizes that models compute in floats: floor(float(n) * 0.5), ceil(float(n) / float(m)), sqrt(float(n)). Such a number is a quotient
 * of two integers that are expressions of sizes, as long as the floats hold it well enough, and else has a range. */
#include <math.h>

#include "graph/ir/sizes.h"
#include "graph/ops/dynamic.h"

enum {
    DEPTH = 16,
    MOST = 64, /* operations, counted as often as they are read: models take fewer than ten */
    MAX_POWER = 20
};

typedef struct fraction {
    const tc_expr *num, *den; /* NULL: only the range is known. Not negative, and above 0 */
    bool rounded;             /* the float is not the quotient, but the nearest float to it */
    double lo, hi;            /* 0 <= lo; the rounding included */
} fraction;

/* Floats of the type hold all integers up to this; 0: it is no float that models compute sizes with. */
static double most_whole(tc_dtype t) {
    return t == TC_F64 ? 0x1p53 : t == TC_F32 ? 0x1p24 : t == TC_F16 ? 0x1p11 : t == TC_BF16 ? 0x1p8 : 0;
}

/* f, as a float of type t holds it. If a and b are integers and a is below half of `most`, the nearest float to a/b has the floor and
 * the ceiling of a/b: where a/b is no integer, the next integer is at least 1/b away, and the nearest float is closer. */
static fraction kept(tc_graph *g, fraction f, tc_dtype t) {
    const tc_env *sure = g->sizes->sure;
    double most = most_whole(t), slack = 2 / most;
    if (f.num) {
        f.num = tc_graph_sizes_simplify(g->sizes, f.num);
        f.den = tc_graph_sizes_simplify(g->sizes, f.den);
        tc_ival num = tc_te_bounds(f.num, sure), den = tc_te_bounds(f.den, sure);
        bool is_power = f.den->op == TC_OP_INT && (f.den->u.i & (f.den->u.i - 1)) == 0;
        if (num.lo >= 0 && den.lo > 0 && (double)num.hi < most / 2 && (double)den.hi < most / 2) {
            f.rounded |= !is_power;
            f.lo = (double)num.lo / (double)den.hi;
            f.hi = (double)num.hi / (double)den.lo;
        } else {
            f.num = NULL;
        }
    }
    if (!f.num || f.rounded) {
        f.lo -= f.lo * slack;
        f.hi += f.hi * slack;
    }
    return f;
}

static bool of_constant(tc_graph *g, const tc_graph_value *v, int64_t i, fraction *out) {
    int power = 0;
    double c = tc_load_f(v->dtype, v->constant->data, i), whole = c;
    for (; power < MAX_POWER && whole != floor(whole); power++)
        whole *= 2;
    *out = (fraction){.lo = c, .hi = c};
    if (whole == floor(whole) && whole >= 0 && whole < 0x1p20) {
        out->num = tc_i64(g->sizes->ctx, (int64_t)whole);
        out->den = tc_i64(g->sizes->ctx, (int64_t)1 << power);
    }
    return c >= 0 && c < 0x1p62;
}

static bool of_integer(tc_graph *g, tc_graph_value *v, int64_t i, fraction *out) {
    tc_ctx *c = g->sizes->ctx;
    const tc_expr *x = tc_graph_number_of(g, v, i);
    if (!x) /* something else is computed first */
        return false;
    tc_ival range = tc_te_bounds(x, g->sizes->sure);
    *out = (fraction){.num = x, .den = tc_i64(c, 1), .lo = (double)range.lo, .hi = (double)range.hi};
    return range.lo >= 0 && range.hi < (int64_t)1 << 53;
}

static fraction binary(tc_graph *g, tc_graph_op op, fraction a, fraction b) {
    tc_ctx *c = g->sizes->ctx;
    bool exact = a.num && b.num && !a.rounded && !b.rounded;
    fraction f = {0};
#define OF(op, x, y) tc_bin(c, TC_OP_##op, x, y)
    switch (op) {
    case TC_GRAPH_OP_MUL:
        f = (fraction){.lo = a.lo * b.lo, .hi = a.hi * b.hi};
        f.num = exact ? OF(MUL, a.num, b.num) : NULL;
        f.den = exact ? OF(MUL, a.den, b.den) : NULL;
        break;
    case TC_GRAPH_OP_DIV:
        f = (fraction){.lo = b.lo > 0 ? a.lo / b.hi : -1, .hi = b.lo > 0 ? a.hi / b.lo : 0};
        f.num = exact ? OF(MUL, a.num, b.den) : NULL;
        f.den = exact ? OF(MUL, a.den, b.num) : NULL;
        break;
    default: {
        bool adds = op == TC_GRAPH_OP_ADD;
        f = (fraction){.lo = adds ? a.lo + b.lo : a.lo - b.hi, .hi = adds ? a.hi + b.hi : a.hi - b.lo};
        f.num = exact ? tc_bin(c, adds ? TC_OP_ADD : TC_OP_SUB, OF(MUL, a.num, b.den), OF(MUL, b.num, a.den)) : NULL;
        f.den = exact ? OF(MUL, a.den, b.den) : NULL;
    }
    }
#undef OF
    return f;
}

/* floor(f), or ceil(f). */
static fraction whole(tc_graph *g, fraction f, bool up) {
    tc_ctx *c = g->sizes->ctx;
    const tc_expr *one = tc_i64(c, 1), *num = f.num;
    if (num && up)
        num = tc_bin(c, TC_OP_ADD, num, tc_bin(c, TC_OP_SUB, f.den, one));
    return (fraction){.num = num ? tc_bin(c, TC_OP_DIV, num, f.den) : NULL,
                      .den = one,
                      .lo = up ? ceil(f.lo) : floor(f.lo),
                      .hi = up ? ceil(f.hi) : floor(f.hi)};
}

/* False: nothing is known of it. *left: operations that are still followed. */
static bool fraction_of(tc_graph *g, tc_graph_value *v, int64_t i, int depth, int *left, fraction *out) {
    tc_graph_look_through(&v, &i);
    const tc_graph_node *n = v->producer;
    fraction a, b;
    if (most_whole(v->dtype) == 0 || depth == DEPTH || (*left)-- == 0)
        return false;
    if (v->constant)
        return of_constant(g, v, i, out);
    if (!n || n->nin < 1 || n->nin > 2)
        return false;
    if (n->op == TC_GRAPH_OP_CAST && (n->in[0]->dtype == TC_I64 || n->in[0]->dtype == TC_I32)) {
        if (!of_integer(g, n->in[0], i, out))
            return false;
        *out = kept(g, *out, v->dtype);
        return true;
    }
    int64_t at[2];
    for (int k = 0; k < n->nin; k++)
        at[k] = tc_graph_shape_count(&n->in[k]->shape) == 1 ? 0 : i;
    switch (n->op) {
    case TC_GRAPH_OP_CAST:
    case TC_GRAPH_OP_FLOOR:
    case TC_GRAPH_OP_CEIL:
    case TC_GRAPH_OP_SQRT:
        if (!fraction_of(g, n->in[0], at[0], depth + 1, left, &a))
            return false;
        if (n->op == TC_GRAPH_OP_SQRT)
            a = (fraction){.lo = sqrt(a.lo), .hi = sqrt(a.hi)};
        else if (n->op != TC_GRAPH_OP_CAST)
            a = whole(g, a, n->op == TC_GRAPH_OP_CEIL);
        else if (a.rounded)
            a.num = NULL; /* a second rounding */
        break;
    case TC_GRAPH_OP_ADD:
    case TC_GRAPH_OP_SUB:
    case TC_GRAPH_OP_MUL:
    case TC_GRAPH_OP_DIV:
        if (n->nin != 2 || !fraction_of(g, n->in[0], at[0], depth + 1, left, &a) ||
            !fraction_of(g, n->in[1], at[1], depth + 1, left, &b))
            return false;
        a = binary(g, n->op, a, b);
        break;
    default:
        return false;
    }
    *out = kept(g, a, v->dtype);
    return out->lo >= 0 && isfinite(out->hi);
}

const tc_expr *tc_graph_cast_of(tc_graph *g, tc_graph_value *v, int64_t i, tc_ival *range) {
    fraction f;
    int left = MOST;
    if (!fraction_of(g, v, i, 0, &left, &f) || f.hi >= 0x1p31)
        return NULL;
    f = whole(g, f, false);
    *range = (tc_ival){(int64_t)f.lo, (int64_t)f.hi};
    return f.num;
}
