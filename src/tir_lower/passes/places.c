/* Where a statement writes and reads, as far as its indices tell. */
#include "tir_lower/passes/pass.h"

tir_place tir_place_of(tc_ctx *c, const tc_env *env, const tc_expr *index) {
    tir_place p = {.span = index->lanes};
    const tc_expr *base = index;
    if (index->op == TC_OP_RAMP)
        base = tc_is_int(index->args[1], 1) ? index->args[0] : NULL;
    else if (index->lanes > 1)
        base = NULL;
    if (base && tc_te_affine(c, base, env, &p.base)) {
        p.known = true;
        p.at = p.base.c;
        p.base.c = 0;
    }
    return p;
}

bool tir_places_disjoint(const tir_place *a, const tir_place *b) {
    if (!a->known || !b->known || a->base.n != b->base.n)
        return false;
    for (int i = 0; i < a->base.n; i++)
        if (a->base.term[i].atom != b->base.term[i].atom || a->base.term[i].coef != b->base.term[i].coef)
            return false;
    return a->at + a->span <= b->at || b->at + b->span <= a->at;
}
