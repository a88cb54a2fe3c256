/* From index expressions to pointers.
 *
 * An index is brought to the form  sum(coef * atom) + c + stride * lane  and built as a chain of pointer additions with the atoms
 * of outer loops first and the constant last:
 *
 *     p0 = base + coef(outer) * outer          computed once per outer iteration
 *     p1 = p0 + coef(k) * k                    the moving part
 *     p1 + c                                   folds into the displacement of the load
 *
 * Prefixes are memoised, so all accesses of an unrolled body that differ by constants share one register. */
#include <string.h>

#include "codegen/codegen_int.h"

/* ---- the affine form ---- */

static bool add_term(tc_cg_index *x, const tc_expr *atom, int64_t coef) {
    for (int i = 0; i < x->n; i++) {
        if (x->atom[i] == atom) {
            x->coef[i] += coef;
            return true;
        }
    }
    if (x->n == TC_CG_TERMS)
        return false;
    x->atom[x->n] = atom;
    x->coef[x->n++] = coef;
    return true;
}

/* The integer that every lane of e is, if it is one. */
static bool constant_of(const tc_expr *e, int64_t *v) {
    while (e->op == TC_OP_BCAST)
        e = e->args[0];
    if (e->op != TC_OP_INT)
        return false;
    *v = e->u.i;
    return true;
}

static bool flatten(const tc_expr *e, int64_t scale, tc_cg_index *x) {
    int64_t v;
    switch (e->op) {
    case TC_OP_INT:
        x->c += scale * e->u.i;
        return true;
    case TC_OP_BCAST:
        return flatten(e->args[0], scale, x);
    case TC_OP_RAMP:
        if (!constant_of(e->args[1], &v))
            return false;
        x->stride += scale * v;
        return flatten(e->args[0], scale, x);
    case TC_OP_ADD:
        return flatten(e->args[0], scale, x) && flatten(e->args[1], scale, x);
    case TC_OP_SUB:
        return flatten(e->args[0], scale, x) && flatten(e->args[1], -scale, x);
    case TC_OP_MUL:
        if (constant_of(e->args[1], &v))
            return flatten(e->args[0], scale * v, x);
        if (constant_of(e->args[0], &v))
            return flatten(e->args[1], scale * v, x);
        break;
    default:
        break;
    }
    return e->lanes == 1 && add_term(x, e, scale);
}

bool tc_cg_flatten(const tc_expr *e, tc_cg_index *out) {
    out->n = 0;
    out->c = out->stride = 0;
    if (e->dtype != TC_I64 || !flatten(e, 1, out))
        return false;
    int n = 0;
    for (int i = 0; i < out->n; i++) {
        if (!out->coef[i])
            continue;
        out->atom[n] = out->atom[i];
        out->coef[n++] = out->coef[i];
    }
    out->n = n;
    return true;
}

/* ---- ranges ---- */

static int64_t sat_mul(int64_t a, int64_t b) {
    int64_t r;
    if (!__builtin_mul_overflow(a, b, &r))
        return r;
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

static int64_t sat_add(int64_t a, int64_t b) {
    int64_t r;
    if (a == INT64_MIN || b == INT64_MIN)
        return INT64_MIN;
    if (a == INT64_MAX || b == INT64_MAX)
        return INT64_MAX;
    if (!__builtin_add_overflow(a, b, &r))
        return r;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

static tc_ival scaled(tc_ival r, int64_t k) {
    int64_t a = r.lo == INT64_MIN ? (k > 0 ? INT64_MIN : INT64_MAX) : sat_mul(r.lo, k);
    int64_t b = r.hi == INT64_MAX ? (k > 0 ? INT64_MAX : INT64_MIN) : sat_mul(r.hi, k);
    return k > 0 ? (tc_ival){a, b} : (tc_ival){b, a};
}

static tc_ival plus(tc_ival a, tc_ival b) {
    bool lo = a.lo == INT64_MIN || b.lo == INT64_MIN, hi = a.hi == INT64_MAX || b.hi == INT64_MAX;
    return (tc_ival){lo ? INT64_MIN : sat_add(a.lo, b.lo), hi ? INT64_MAX : sat_add(a.hi, b.hi)};
}

tc_ival tc_cg_index_range(tc_cg *g, const tc_cg_index *x, int lanes) {
    tc_ival r = {x->c, x->c};
    for (int i = 0; i < x->n; i++)
        r = plus(r, scaled(tc_te_bounds(x->atom[i], g->env), x->coef[i]));
    int64_t last = x->stride * (lanes - 1);
    return plus(r, last >= 0 ? (tc_ival){0, last} : (tc_ival){last, 0});
}

static tc_ival whole(const tc_expr *e) {
    switch ((tc_dtype)e->dtype) {
    case TC_BOOL:
        return (tc_ival){0, 1};
    case TC_I8:
        return (tc_ival){INT8_MIN, INT8_MAX};
    case TC_U8:
        return (tc_ival){0, UINT8_MAX};
    case TC_I16:
        return (tc_ival){INT16_MIN, INT16_MAX};
    case TC_U16:
        return (tc_ival){0, UINT16_MAX};
    case TC_I32:
        return (tc_ival){INT32_MIN, INT32_MAX};
    case TC_U32:
        return (tc_ival){0, UINT32_MAX};
    default:
        return (tc_ival){INT64_MIN, INT64_MAX};
    }
}

/* floor(a / k) of ends, k > 0; unbounded ends stay so. */
static int64_t floor_end(int64_t a, int64_t k) {
    if (a == INT64_MIN || a == INT64_MAX)
        return a;
    return a / k - (a % k < 0);
}

tc_ival tc_cg_range(tc_cg *g, const tc_expr *e) {
    if (e->lanes == 1)
        return tc_te_bounds(e, g->env);
    tc_cg_index x;
    if (tc_cg_flatten(e, &x))
        return tc_cg_index_range(g, &x, e->lanes);
    int64_t k;
    bool by = e->nargs == 2 && constant_of(e->args[1], &k) && k > 0;
    if (e->op == TC_OP_BCAST)
        return tc_te_bounds(e->args[0], g->env);
    if (e->op == TC_OP_DIV && by && e->dtype == TC_I64) {
        tc_ival a = tc_cg_range(g, e->args[0]);
        return (tc_ival){floor_end(a.lo, k), floor_end(a.hi, k)};
    }
    if (e->op == TC_OP_MOD && by && e->dtype == TC_I64)
        return (tc_ival){0, k - 1};
    if ((e->op == TC_OP_ADD || e->op == TC_OP_SUB) && e->dtype == TC_I64) {
        tc_ival b = tc_cg_range(g, e->args[1]);
        return plus(tc_cg_range(g, e->args[0]), e->op == TC_OP_ADD ? b : scaled(b, -1));
    }
    if (e->op == TC_OP_MUL && by && e->dtype == TC_I64)
        return scaled(tc_cg_range(g, e->args[0]), k);
    return whole(e);
}

int tc_cg_index_align(const tc_cg_index *x, int bytes, int base_align) {
    uint64_t bits = (uint64_t)base_align | (uint64_t)(x->c * bytes);
    for (int i = 0; i < x->n; i++)
        bits |= (uint64_t)(x->coef[i] * bytes);
    return (int)(bits & -bits);
}

/* ---- values ---- */

/* Nesting depth of the innermost variable that e depends on; reading memory counts as innermost. */
static int depth_of(tc_cg *g, const tc_expr *e) {
    if (e->op == TC_OP_VAR) {
        const uintptr_t *at = tc_map_get(&g->var_at, e->u.var->id);
        return at ? (int)*at : 0;
    }
    if (e->op == TC_OP_LOAD)
        return INT32_MAX;
    int d = 0;
    for (int i = 0; i < e->nargs; i++)
        d = TC_MAX(d, depth_of(g, e->args[i]));
    return d;
}

/* Insertion sort by depth, outermost first. */
static void order_terms(tc_cg *g, const tc_cg_index *x, int *order) {
    int depth[TC_CG_TERMS];
    for (int i = 0; i < x->n; i++) {
        int d = depth_of(g, x->atom[i]), j = i;
        for (; j > 0 && depth[j - 1] > d; j--) {
            depth[j] = depth[j - 1];
            order[j] = order[j - 1];
        }
        depth[j] = d;
        order[j] = i;
    }
}

static tc_val scaled_atom(tc_cg *g, const tc_expr *atom, int64_t coef) {
    tc_val v = tc_cg_expr(g, atom);
    if (!v)
        return tc_cg_i64(g, 0);
    return coef == 1 ? v : LLVMBuildNSWMul(g->b, v, tc_cg_i64(g, coef), "");
}

tc_val tc_cg_index_value(tc_cg *g, const tc_cg_index *x) {
    int order[TC_CG_TERMS];
    order_terms(g, x, order);
    tc_val v = NULL;
    for (int k = 0; k < x->n; k++) {
        tc_val t = scaled_atom(g, x->atom[order[k]], x->coef[order[k]]);
        v = v ? LLVMBuildNSWAdd(g->b, v, t, "") : t;
    }
    if (!v)
        return tc_cg_i64(g, x->c);
    return x->c ? LLVMBuildNSWAdd(g->b, v, tc_cg_i64(g, x->c), "") : v;
}

static tc_val advance(tc_cg *g, const tc_slot *s, tc_val p, tc_val by) {
    return LLVMBuildGEP2(g->b, tc_cg_mem_type(g, s->buffer->dtype), p, &by, 1, "");
}

tc_val tc_cg_pointer(tc_cg *g, const tc_slot *s, const tc_cg_index *x) {
    int order[TC_CG_TERMS];
    order_terms(g, x, order);
    tc_val p = s->ptr;
    uint64_t key = tc_hash_mix(s->buffer->id, 0x70747221u);
    bool mutable_index = false;
    for (int k = 0; k < x->n; k++) {
        const tc_expr *atom = x->atom[order[k]];
        mutable_index |= tc_cg_flags(g, atom) & TC_EF_MUTABLE;
        key = tc_hash_mix(key, tc_hash_mix(atom->id, (uint64_t)x->coef[order[k]])) | 1ull << 63;
        tc_memo *memo = mutable_index ? &g->local : &g->pure;
        tc_val known = (tc_val)tc_memo_get(memo, key);
        if (!known) {
            known = advance(g, s, p, scaled_atom(g, atom, x->coef[order[k]]));
            tc_memo_set(memo, key, (uintptr_t)known);
        }
        p = known;
    }
    return x->c ? advance(g, s, p, tc_cg_i64(g, x->c)) : p;
}

tc_val tc_cg_element(tc_cg *g, const tc_slot *s, tc_val index) {
    return advance(g, s, s->ptr, index);
}
