/* Neighbouring stores that together fill a piece of memory: each of them stores every second, or every fourth, element.
 *
 *     T[ramp(i, 2, 16)]     = a                  one store of 32 elements:
 *     T[ramp(i + 1, 2, 16)] = b         =>       a[0], b[0], a[1], b[1], ..
 *
 * Packing the operands of dot products and tiles makes such stores, because their steps lie side by side. */
#include "codegen/code/code_int.h"

enum { MOST = 4 };

static bool is_strided_store(const tc_stmt *s, const tc_buffer *b) {
    return s->kind == TC_STMT_STORE && s->u.store.buffer == b && !s->u.store.mask && s->u.store.index->lanes > 1;
}

static bool loads(const tc_expr *e, const void *buffer) {
    return e->op == TC_OP_LOAD && e->u.buffer == buffer;
}

/* s[0] has elements first, first + stride, ..; s[1] first + 1, first + 1 + stride, .. No value reads what another one stores. */
static bool fills(const tc_stmt *const *s, int n, const tc_buffer *b, tc_cg_index *first) {
    tc_cg_index x;
    for (int q = 0; q < n; q++) {
        if (!is_strided_store(s[q], b) || s[q]->u.store.index->lanes != s[0]->u.store.index->lanes ||
            tc_expr_any(s[q]->u.store.value, loads, b) || !tc_cg_flatten(s[q]->u.store.index, &x) || x.stride != n)
            return false;
        if (q == 0)
            *first = x;
        else if (x.base.c != first->base.c + q || !tc_affine_same_terms(&x.base, &first->base))
            return false;
    }
    return true;
}

/* a[0], b[0], a[1], b[1], .. */
static tc_val interleave(tc_cg *g, tc_val a, tc_val b) {
    int n = tc_cg_lanes(a);
    tc_val *at = tc_xmalloc(sizeof *at * 2 * (size_t)n);
    for (int l = 0; l < n; l++) {
        at[2 * l] = tc_cg_int(g->i32, l);
        at[2 * l + 1] = tc_cg_int(g->i32, n + l);
    }
    tc_val v = LLVMBuildShuffleVector(g->b, a, b, LLVMConstVector(at, 2 * (unsigned)n), "");
    free(at);
    return v;
}

int tc_cg_store_together(tc_cg *g, const tc_stmt *const *s, int n) {
    const tc_buffer *b = s[0]->kind == TC_STMT_STORE ? s[0]->u.store.buffer : NULL;
    tc_cg_index x;
    tc_val v[MOST] = {NULL};
    if (!b || b->param >= 0 || b->scope == TC_BUF_REG || !is_strided_store(s[0], b) || !tc_cg_flatten(s[0]->u.store.index, &x))
        return 0;
    int parts = (int)x.stride;
    if ((x.stride != 2 && (x.stride != MOST || tc_dtype_bytes(b->dtype) > 4)) || n < parts || !fills(s, parts, b, &x))
        return 0;
    for (int q = 0; q < parts; q++) {
        tc_val value = tc_cg_expr(g, s[q]->u.store.value);
        v[q] = value ? tc_cg_to_memory(g, b->dtype, value) : NULL;
        if (!v[q])
            return parts; /* what is wrong was said */
    }
    v[0] = interleave(g, v[0], v[1]);
    if (parts == MOST) { /* pairs as one element each: whoever unpacks bytes unpacks words as well */
        LLVMTypeRef pairs =
            tc_cg_vec(LLVMIntTypeInContext(g->ctx, 16 * (unsigned)tc_dtype_bytes(b->dtype)), tc_cg_lanes(v[0]) / 2);
        v[1] = LLVMBuildBitCast(g->b, interleave(g, v[2], v[3]), pairs, "");
        v[0] = interleave(g, LLVMBuildBitCast(g->b, v[0], pairs, ""), v[1]);
    }
    tc_cg_store_run(g, b, &x, v[0]);
    return parts;
}
