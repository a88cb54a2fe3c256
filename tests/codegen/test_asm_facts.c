/* Loops, the hot one, and what it consists of, in small texts of each instruction set as LLVM prints them. */
#include "codegen/assembly/asm_facts.h"

#include <string.h>

#include "support/cmocka_all.h"

static tc_cg_asm_facts facts_of(const char *target, const char *text, tc_target **t) {
    tc_cg_asm_facts f;
    assert_int_equal(tc_target_parse(target, t, NULL), TC_OK);
    tc_cg_asm_facts_read(*t, text, &f);
    return f;
}

static const char x86[] = "kernel:                                 # @kernel\n"
                          "\tsubq\t$40, %rsp\n"
                          "\t.p2align\t4, 0x90\n"
                          ".LBB0_1:                                # %task\n"
                          "\tvmovups\t%zmm9, 64(%rsp)                # 64-byte Spill\n"
                          "\tvxorps\t%xmm6, %xmm6, %xmm6\n"
                          ".LBB0_2:                                # %k_o\n"
                          "                                        #   Parent Loop BB0_1 Depth=1\n"
                          "\tvmovaps\t-64(%rax), %zmm1\n"
                          "\tvbroadcastss\t4(%rdx), %zmm2\n"
                          "\tvfmadd231ps\t%zmm1, %zmm2, %zmm6        # zmm6 = (zmm2 * zmm1) + zmm6\n"
                          "\tvfmadd231ps\t8(%rdx){1to16}, %zmm1, %zmm7\n"
                          "\tprefetcht1\t(%rcx)\n"
                          "\tincq\t%r13\n"
                          "\tcmpq\t$191, %r13\n"
                          "\tjb\t.LBB0_2\n"
                          "\tvaddps\t%zmm6, %zmm7, %zmm7\n"
                          "\tvmovups\t%zmm7, (%rdi) {%k1}\n"
                          ".LBB0_3:                                # %tail\n"
                          "\tvaddss\t(%rdi), %xmm0, %xmm0\n"
                          "\tvmovups\t64(%rsp), %zmm9                # 64-byte Reload\n"
                          "\tvaddps\t(%rdi), %zmm9, %zmm0 {%k1} {z}\n"
                          "\tjne\t.LBB0_3\n"
                          "\tjne\t.LBB0_1\n"
                          "\tvzeroupper\n"
                          "\tretq\n";

static void test_x86(void **state) {
    (void)state;
    tc_target *t;
    tc_cg_asm_facts f = facts_of("skylake-avx512", x86, &t);
    assert_true(f.known);
    assert_int_equal(f.nloop, 3);
    assert_string_equal(f.loops[0].name, "task");
    assert_false(f.loops[0].innermost);
    assert_int_equal(f.loops[0].own.spills, 1);
    assert_int_equal(f.loops[0].own.masked, 1);
    assert_int_equal(f.loops[0].own.stores, 2);
    assert_int_equal(f.hot, 1);
    assert_string_equal(f.loops[1].name, "k_o");
    assert_int_equal(f.loops[1].depth, 2);
    assert_int_equal(f.loops[1].parent, 0);
    const tc_cg_mix *m = &f.mix;
    assert_int_equal(m->instructions, 8);
    assert_int_equal(m->fma, 2);
    assert_int_equal(m->accumulators, 2);
    assert_int_equal(m->vector_bits, 512);
    assert_int_equal(m->loads, 1);
    assert_int_equal(m->broadcasts, 1);
    assert_int_equal(m->folded, 1);
    assert_int_equal(m->prefetches, 1);
    assert_int_equal(m->other, 3);
    assert_int_equal(m->spills + m->scalar + m->moves + m->stores + m->masked + m->arithmetic, 0);
    assert_true(tc_cg_fma_share(m) == 0.25 && tc_cg_fma_purity(m) == 1);
    assert_int_equal(f.tails, 1);
    assert_int_equal(f.tails_masked, 1);
    assert_int_equal(f.tails_scalar, 1);
    assert_int_equal(f.loops[2].own.spills, 1);
    tc_cg_asm_facts_free(&f);
    tc_target_free(t);
}

static void test_mark(void **state) {
    (void)state;
    tc_target *t;
    tc_strbuf b = {0};
    tc_cg_asm_facts f = facts_of("skylake-avx512", x86, &t);
    tc_cg_asm_mark(t, x86, &f, &b);
    assert_non_null(strstr(tc_sb_str(&b), "# hot loop: k_o, depth 2, lines 7 to 16, 8 instructions\n"));
    assert_non_null(strstr(tc_sb_str(&b), "\n| .LBB0_2:"));
    assert_non_null(strstr(tc_sb_str(&b), "\n| \tjb\t.LBB0_2\n  \tvaddps"));
    assert_non_null(strstr(tc_sb_str(&b), "\n  .LBB0_1:"));
    tc_strbuf_free(&b);
    tc_cg_asm_facts_free(&f);
    tc_target_free(t);
}

static void test_aarch64(void **state) {
    (void)state;
    static const char text[] = "kernel:                                 // @kernel\n"
                               ".LBB0_1:                                // %k_o\n"
                               "\tldp\tq1, q2, [x18, #-192]\n"
                               "\tld1r\t{ v0.4s }, [x6], #4\n"
                               "\tldr\ts3, [x4, #3072]\n"
                               "\tfmla\tv31.4s, v1.4s, v3.s[0]\n"
                               "\tfmla\tv30.4s, v2.4s, v0.4s\n"
                               "\tstr\tq6, [sp, #96]                   // 16-byte Folded Spill\n"
                               "\tldr\tq15, [sp, #96]                  // 16-byte Folded Reload\n"
                               "\tmov\tv0.16b, v15.16b\n"
                               "\tfadd\ts4, s5, s6\n"
                               "\tfmadd\ts4, s5, s6, s4\n"
                               "\tfmul\tv7.4s, v8.4s, v9.4s\n"
                               "\tprfm\tpldl2keep, [x6]\n"
                               "\tadd\tx18, x18, #384\n"
                               "\tcmp\tx17, #191\n"
                               "\tb.lo\t.LBB0_1\n"
                               "\tret\n";
    tc_target *t;
    tc_cg_asm_facts f = facts_of("neoverse-n1", text, &t);
    const tc_cg_mix *m = &f.mix;
    assert_int_equal(f.nloop, 1);
    assert_string_equal(f.loops[0].name, "k_o");
    assert_int_equal(m->instructions, 15);
    assert_int_equal(m->fma, 2);
    assert_int_equal(m->accumulators, 2);
    assert_int_equal(m->vector_bits, 128);
    assert_int_equal(m->loads, 2);
    assert_int_equal(m->broadcasts, 2);
    assert_int_equal(m->stores, 1);
    assert_int_equal(m->spills, 2);
    assert_int_equal(m->moves, 1);
    assert_int_equal(m->scalar, 2);
    assert_int_equal(m->arithmetic, 1);
    assert_int_equal(m->prefetches, 1);
    tc_cg_asm_facts_free(&f);
    tc_target_free(t);
}

static void test_riscv(void **state) {
    (void)state;
    static const char text[] = "kernel:                                 # @kernel\n"
                               ".LBB0_1:                                # %k_o\n"
                               "\tvle32.v\tv10, (a3)\n"
                               "\tflw\tfa5, -8(a5)\n"
                               "\tvfmacc.vf\tv31, fa5, v10\n"
                               "\tvfmax.vv\tv3, v4, v5\n"
                               "\tvsub.vv\tv3, v4, v5, v0.t\n"
                               "\tvse32.v\tv3, (a3)\n"
                               "\tvs1r.v\tv9, (a2)                        # Unknown-size Folded Spill\n"
                               "\tvmv.v.v\tv8, v9\n"
                               "\tvsetivli\tzero, 4, e32, m1, ta, ma\n"
                               "\tfadd.s\tfa0, fa1, fa2\n"
                               "\tfsub.s\tfa0, fa1, fa2\n"
                               "\tfsw\tfa0, 4(a0)\n"
                               "\taddi\ta3, a7, -336\n"
                               "\tbltu\ts1, a1, .LBB0_1\n"
                               "\tret\n";
    tc_target *t;
    tc_cg_asm_facts f = facts_of("rv64gcv", text, &t);
    const tc_cg_mix *m = &f.mix;
    assert_int_equal(f.nloop, 1);
    assert_int_equal(m->instructions, 14);
    assert_int_equal(m->fma, 1);
    assert_int_equal(m->arithmetic, 2);
    assert_int_equal(m->loads, 1);
    assert_int_equal(m->broadcasts, 1);
    assert_int_equal(m->stores, 2);
    assert_int_equal(m->spills, 1);
    assert_int_equal(m->moves, 1);
    assert_int_equal(m->masked, 1);
    assert_int_equal(m->scalar, 2);
    assert_int_equal(m->other, 4);
    tc_cg_asm_facts_free(&f);
    tc_target_free(t);
}

/* Code without loops, an unknown instruction set, and no text at all. */
static void test_bare(void **state) {
    (void)state;
    tc_target *t;
    tc_strbuf b = {0};
    tc_cg_asm_facts f = facts_of("skylake-avx512", "kernel:\n\tvaddps\t%zmm6, %zmm7, %zmm7\n\tretq\n", &t);
    assert_int_equal(f.hot, -1);
    assert_int_equal(f.mix.arithmetic, 1);
    tc_cg_asm_facts_print(&f, "", &b);
    assert_non_null(strstr(tc_sb_str(&b), "no loop"));
    tc_cg_asm_facts_free(&f);
    tc_cg_asm_facts_read(t, "", &f);
    assert_int_equal(f.mix.instructions, 0);
    assert_true(tc_cg_fma_share(&f.mix) == 0);
    tc_cg_asm_facts_free(&f);
    tc_target_free(t);
    f = facts_of("llvm -mtriple=powerpc64le-unknown-linux-gnu", "kernel:\n.LBB0_1:\n\txvmaddasp 0, 1, 2\n\tbdnz .LBB0_1\n", &t);
    assert_false(f.known);
    assert_int_equal(f.nloop, 1);
    assert_int_equal(f.mix.other, 2);
    tc_strbuf_free(&b);
    tc_cg_asm_facts_free(&f);
    tc_target_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_x86), cmocka_unit_test(test_mark), cmocka_unit_test(test_aarch64),
                                       cmocka_unit_test(test_riscv), cmocka_unit_test(test_bare)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
