/* What LLVM makes of programs without a part: the part is gone, and the rest is the code of the whole program. For a fixed CPU,
 * so that it is the same everywhere. */
#include "codegen/assembly/asm_facts.h"

#include <string.h>

#include "support/cmocka_all.h"
#include "te/text.h"
#include "tir_lower/program/ablate.h"

static const char GEMM[] = "tensor X[96, 256] f32\n"
                           "tensor W[256, 512] f32 const\n"
                           "tensor B[512] f32\n"
                           "compute D[i:96, j:512] = sum(k:256) X[i, k] * W[k, j]\n"
                           "compute Y[i:96, j:512] = tanh(D[i, j] + B[j])\n"
                           "output Y\n";
/* 6 rows and 4 vectors: 24 accumulators, 4 vectors and 6 elements a step. */
static const char TILED[] = "transform_layout W (k, j) -> (j / 64, k, j % 64)\n"
                            "yo, yi = split Y.i [_, 6]\nzo, zi = split Y.j [_, 64]\nreorder Y.yo Y.zo Y.yi Y.zi\n"
                            "parallel Y.yo\nunroll Y.yi\nvectorize Y.zi\n"
                            "compute_at D Y.zo\nset_scope D local\nreorder D.k D.i D.j\nunroll D.i\nvectorize D.j\n";

static tc_cg_mix hot_without(unsigned without) {
    tc_target *t;
    tc_error err = {0};
    const tc_workload *w;
    tc_tir_program p;
    tc_strbuf text = {0};
    tc_cg_asm_facts f;
    tc_ctx *c = tc_ctx_new();
    assert_int_equal(tc_target_parse("skylake-avx512", &t, &err), TC_OK);
    assert_int_equal(tc_te_parse(c, "test.te", GEMM, &w, &err), TC_OK);
    tc_tir_origin from = {.workload = w, .machine = &t->machine, .text = TILED, .name = "test.sched"};
    tc_status s = tc_tir_program_without(c, &from, without, &p, &err);
    const tc_func *funcs[] = {p.lowered};
    const char *names[] = {"kernel"};
    if (s == TC_OK)
        s = tc_cg_emit_text(t, funcs, names, 1, NULL, TC_CG_ASM, &text, &err);
    if (s != TC_OK)
        fail_msg("%s", err.msg);
    tc_cg_asm_facts_read(t, tc_sb_str(&text), &f);
    tc_cg_mix hot = f.mix;
    tc_cg_asm_facts_free(&f);
    tc_strbuf_free(&text);
    tc_ctx_free(c);
    tc_target_free(t);
    return hot;
}

static int loads(const tc_cg_mix *m) {
    return m->loads + m->broadcasts + m->folded;
}

static void print(const char *what, const tc_cg_mix *m) {
    print_message("%s: %d instructions, %d multiply-adds, %d loads, %d broadcasts, %d folded, %d accumulators, %d spills\n", what,
                  m->instructions, m->fma, m->loads, m->broadcasts, m->folded, m->accumulators, m->spills);
}

static void each_part(void **state) {
    (void)state;
    tc_cg_mix whole = hot_without(0), loaded = hot_without(TC_TIR_WITHOUT(TC_TIR_PART_LOADS)),
              near = hot_without(TC_TIR_WITHOUT(TC_TIR_PART_MEMORY)), idle = hot_without(TC_TIR_WITHOUT(TC_TIR_PART_ARITH)),
              plain = hot_without(TC_TIR_WITHOUT(TC_TIR_PART_EPILOGUE)), own = hot_without(TC_TIR_WITHOUT(TC_TIR_PART_STORES));
    print("whole", &whole);
    print("without loads", &loaded);
    print("without memory", &near);
    print("without arithmetic", &idle);
    print("without epilogue", &plain);
    print("without stores", &own);
    assert_int_equal(whole.accumulators, 24);
    assert_true(whole.fma % 24 == 0 && loads(&whole) == whole.fma / 24 * 10);
    assert_int_equal(loaded.accumulators, 24);
    assert_int_equal(loaded.fma, whole.fma); /* 4 vectors stay in registers; 6 elements have no room beside them */
    assert_int_equal(loads(&loaded) + 4, loads(&whole));
    assert_int_equal(loaded.spills, 0);
    assert_int_equal(near.accumulators, 24);
    assert_int_equal(near.fma, whole.fma);
    assert_int_equal(loads(&near), loads(&whole));
    assert_int_equal(near.instructions, whole.instructions);
    assert_true(idle.fma * 2 < whole.fma);
    assert_int_equal(loads(&idle), loads(&whole));
    assert_int_equal(plain.fma, whole.fma);
    assert_int_equal(own.fma, whole.fma);
    assert_int_equal(loads(&own), loads(&whole));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_part)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
