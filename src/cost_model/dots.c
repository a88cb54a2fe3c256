/* Which stores are dot products in vector registers: their value is known before the pass that makes them
 * (tir_lower/passes/units/dot.c), so the features find what it will.
 *
 *     vectorized j { unrolled q in 4 reduce { acc[j] = acc[j] + i32(a[k * 4 + q]) * i32(b[k * 256 + j * 4 + q]) } }
 *
 * is one instruction for each register of acc: the steps of a group cost nothing, operands are taken as they are. */
#include "cost_model/nest.h"

/* The read under a conversion. */
static const tc_expr *narrow(const tc_expr *e) {
    return e->op == TC_OP_CAST && e->args[0]->op == TC_OP_LOAD && e->args[0]->nargs == 1 ? e->args[0] : NULL;
}

/* Steps of the group are neighbours in memory, those of the vector level `apart`. */
static bool lies(const nest *n, const store_site *s, const tc_expr *load, int vector, double apart) {
    access a = {0};
    address_of(n, s, load->args[0], &a.at);
    return !a.at.gathered && access_stride(&a, s->nlevel - 1) == 1 && access_stride(&a, vector) == apart;
}

const tc_intrinsic *nest_dots(const nest *n, const store_site *s) {
    const tc_expr *v = s->s->u.store.value;
    if (s->nlevel < 2 || v->op != TC_OP_ADD || v->args[1]->op != TC_OP_MUL)
        return NULL;
    const loop_node *steps = &n->loops.data[s->path[s->nlevel - 1]];
    int vector = s->nlevel - 2;
    const tc_expr *acc = v->args[0], *x = narrow(v->args[1]->args[0]), *y = narrow(v->args[1]->args[1]);
    if (!x || !y || acc->op != TC_OP_LOAD || acc->u.buffer != s->s->u.store.buffer || steps->kind != TC_FOR_UNROLL ||
        !steps->reduce || n->loops.data[s->path[vector]].kind != TC_FOR_VECTOR)
        return NULL;
    const tc_intrinsic *row = tc_intrinsic_of(n->m->intrinsics, (tc_dtype)v->dtype, (tc_dtype)x->dtype, (tc_dtype)y->dtype);
    if (!row || steps->extent != row->group)
        return NULL;
    bool first = lies(n, s, x, vector, 0) && lies(n, s, y, vector, row->group);
    return first || (lies(n, s, y, vector, 0) && lies(n, s, x, vector, row->group)) ? row : NULL;
}
