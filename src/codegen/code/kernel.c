/* What the lowering of one kernel remembers: memo tables of values, buffers, predicates. */
#include "codegen/code/code_int.h"

/* ---- memo ---- */

uintptr_t tc_memo_get(const tc_memo *m, uint64_t key) {
    const uintptr_t *v = tc_map_get(&m->map, key);
    return v ? *v : 0;
}

void tc_memo_set(tc_memo *m, uint64_t key, uintptr_t value) {
    tc_undo u = {key, tc_memo_get(m, key)};
    tc_push(&m->log, u);
    tc_map_put(&m->map, key, value);
}

size_t tc_memo_mark(const tc_memo *m) {
    return m->log.len;
}

void tc_memo_undo(tc_memo *m, size_t mark) {
    while (m->log.len > mark) {
        tc_undo u = m->log.data[--m->log.len];
        tc_map_put(&m->map, u.key, u.old);
    }
}

void tc_memo_free(tc_memo *m) {
    tc_map_free(&m->map);
    tc_vec_free(&m->log);
}

/* ---- life ---- */

static void set_features(tc_cg_kernel *k, const tc_target *t) {
    k->fma = t->machine.fma;
    k->f16c = tc_cg_fact_of(t, TC_CG_F16);
    k->avx = tc_cg_fact_of(t, TC_CG_AVX);
    k->avx512 = tc_cg_fact_of(t, TC_CG_AVX512);
    k->blocks = tc_cg_has_blocks(&t->machine);
    k->nan_maximum = tc_cg_fact_of(t, TC_CG_NAN_MAXIMUM);
    /* Without a gather instruction LLVM makes the same, but through branches. */
    k->scalar_gather = tc_cg_slow_gather(t->cpu) || !tc_cg_fact_of(t, TC_CG_GATHER);
}

void tc_cg_kernel_init(tc_cg_kernel *k, tc_cg *g, const tc_func *f) {
    *k = (tc_cg_kernel){.f = f, .m = &g->target->machine, .env = tc_env_new(), .arena = tc_arena_new()};
    k->md_scope = LLVMGetMDKindIDInContext(g->ctx, "alias.scope", 11);
    k->md_noalias = LLVMGetMDKindIDInContext(g->ctx, "noalias", 7);
    k->md_invariant = LLVMGetMDKindIDInContext(g->ctx, "invariant.load", 14);
    set_features(k, g->target);
    g->k = k;
}

void tc_cg_kernel_done(tc_cg *g) {
    tc_cg_kernel *k = g->k;
    tc_env_free(k->env);
    tc_arena_free(k->arena);
    tc_map_free(&k->slots);
    tc_map_free(&k->tile_of);
    tc_map_free(&k->var_at);
    tc_map_free(&k->flags);
    tc_map_free(&k->prefixes);
    tc_vec_free(&k->vars);
    tc_memo_free(&k->pure);
    tc_memo_free(&k->local);
    g->k = NULL;
}

/* ---- predicates ---- */

tc_val tc_cg_pred_for(tc_cg *g, int lanes) {
    if (!g->k->pred || tc_cg_lanes(g->k->pred) == lanes)
        return g->k->pred;
    return tc_cg_splat(g, tc_cg_any_lane(g, g->k->pred), lanes);
}
