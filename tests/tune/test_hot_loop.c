/* The hot loop of matmuls, read off the assembly, for several x86-64 levels (compiled, not run): nothing but multiply-adds and
 * the loads that feed them. Shapes are those of BERT and ViT (197 tokens), and tails of every kind. */
#include "support/cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "search_space/space.h"
#include "support/vec.h"
#include "te/text.h"
#include "tune/kernel/compare.h"

typedef struct shape {
    int m, n, k;
} shape;

static const shape shapes[] = {{128, 768, 768}, {128, 3072, 768}, {128, 768, 3072},
                               {197, 768, 768}, {49, 512, 512},   {7, 1000, 256}};

/* What a target's code can be at best. Without broadcasts as operands of arithmetic, a register tile of m rows and n vectors has
 * m n multiply-adds for m + n loads; AVX2's 16 registers hold no larger one than 4 x 3. */
typedef struct level {
    const char *target;
    int bits;
    double share; /* of multiply-adds among the instructions of the default schedule's hot loop, at least */
} level;
static const level levels[] = {
    {"skylake-avx512", 512, 0.60}, {"znver4", 512, 0.60}, {"haswell", 256, 0.50}, {"znver3", 256, 0.50}};

typedef struct kernel {
    tc_ctx *ctx;
    tc_target *t;
    tc_arena *arena;
    tc_space *space;
    const char *text;
} kernel;

static kernel open_kernel(const char *target, const shape *s) {
    kernel k = {.ctx = tc_ctx_new(), .arena = tc_arena_new()};
    const tc_workload *w;
    tc_error err;
    char text[512];
    snprintf(text, sizeof text,
             "tensor X[%d, %d] f32\ntensor W[%d, %d] f32 const\ntensor B[%d] f32 const\n"
             "compute D[i:%d, j:%d] = sum(k:%d) X[i, k] * W[k, j]\ncompute Y[i:%d, j:%d] = gelu(D[i, j] + B[j])\noutput Y\n",
             s->m, s->k, s->k, s->n, s->n, s->m, s->n, s->k, s->m, s->n);
    k.text = tc_arena_strdup(k.arena, text);
    if (tc_target_parse(target, &k.t, &err) != TC_OK || tc_te_parse(k.ctx, "kernel", k.text, &w, &err) != TC_OK)
        fail_msg("%s", err.msg);
    k.t->machine.cores = 1;
    if (tc_space_new(w, &k.t->machine, &k.space, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return k;
}

static void close_kernel(kernel *k) {
    tc_space_free(k->space);
    tc_target_free(k->t);
    tc_ctx_free(k->ctx);
    tc_arena_free(k->arena);
}

static tc_cg_asm_facts compile(const kernel *k, const tc_trace *trace) {
    tc_strbuf b = {0};
    tc_tune_side side;
    tc_error err;
    tc_trace_print(&b, trace);
    if (tc_tune_side_make(k->t, k->text, tc_sb_str(&b), &side, &err) != TC_OK)
        fail_msg("%s\n%s", err.msg, tc_sb_str(&b));
    tc_cg_asm_facts f = side.facts;
    side.facts = (tc_cg_asm_facts){0};
    tc_tune_side_free(&side);
    tc_strbuf_free(&b);
    return f;
}

/* No accumulator leaves its register, nothing is done one element at a time, and all arithmetic is multiply-adds. */
static bool clean(const tc_cg_mix *m, int bits) {
    return m->spills == 0 && m->stores == 0 && m->scalar == 0 && m->masked == 0 && m->moves == 0 && m->arithmetic == 0 &&
           m->fma > 0 && m->vector_bits == bits && m->accumulators > 1;
}

static void print_failure(const level *l, const shape *s, const tc_cg_asm_facts *f) {
    tc_strbuf b = {0};
    tc_cg_asm_facts_print(f, "  ", &b);
    print_error("%s, %d x %d x %d:\n%s", l->target, s->m, s->n, s->k, tc_sb_str(&b));
    tc_strbuf_free(&b);
}

static void test_default(void **state) {
    (void)state;
    int bad = 0;
    for (size_t i = 0; i < TC_LEN(levels); i++)
        for (size_t j = 0; j < TC_LEN(shapes); j++) {
            kernel k = open_kernel(levels[i].target, &shapes[j]);
            tc_trace *trace;
            assert_int_equal(tc_space_default(k.space, k.arena, &trace, NULL), TC_OK);
            tc_cg_asm_facts f = compile(&k, trace);
            if (!clean(&f.mix, levels[i].bits) || tc_cg_fma_share(&f.mix) < levels[i].share || tc_cg_fma_purity(&f.mix) < 0.8) {
                print_failure(&levels[i], &shapes[j], &f);
                bad++;
            }
            tc_cg_asm_facts_free(&f);
            close_kernel(&k);
        }
    assert_int_equal(bad, 0);
}

/* The default schedule with a tile of one vector by `rows` rows: other decisions of the same sketch. */
static tc_trace *one_vector_wide(const kernel *k, int lanes, int rows) {
    tc_trace *trace;
    bool width = false, height = false;
    assert_int_equal(tc_space_default(k->space, k->arena, &trace, NULL), TC_OK);
    trace = tc_trace_copy(k->arena, trace);
    for (int i = 0; i < trace->n; i++) {
        tc_instr *s = &trace->steps[i];
        if (s->prim == TC_PRIM_SAMPLE_CATEGORICAL && !width) {
            s->dec[0] = lanes;
            width = true;
        } else if (s->prim == TC_PRIM_SAMPLE_TILE && s->ndec == 2) {
            s->dec[0] = 1;
            s->dec[1] = rows;
            height = true;
        }
    }
    assert_true(width && height);
    return trace;
}

/* With AVX-512 a broadcast that is used once is an operand of its multiply-add: a tile one vector wide needs hardly any other
 * instruction. The space holds such tiles. */
static void test_densest(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 4; j++) {
            kernel k = open_kernel(levels[i].target, &shapes[j]);
            tc_cg_asm_facts f = compile(&k, one_vector_wide(&k, 16, 28));
            if (!clean(&f.mix, levels[i].bits) || tc_cg_fma_share(&f.mix) < 0.8 || f.mix.accumulators != 28) {
                print_failure(&levels[i], &shapes[j], &f);
                fail();
            }
            tc_cg_asm_facts_free(&f);
            close_kernel(&k);
        }
}

/* Targets with another shape of code (no fused multiply-add, or three-address ones with 32 registers) keep their accumulators
 * in registers too. */
static void test_no_spills_elsewhere(void **state) {
    static const char *const targets[] = {"x86-64", "nehalem", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72",
                                          "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1"};
    (void)state;
    for (size_t i = 0; i < TC_LEN(targets); i++)
        for (size_t j = 0; j < TC_LEN(shapes); j++) {
            kernel k = open_kernel(targets[i], &shapes[j]);
            tc_trace *trace;
            assert_int_equal(tc_space_default(k.space, k.arena, &trace, NULL), TC_OK);
            tc_cg_asm_facts f = compile(&k, trace);
            if (f.mix.spills || f.mix.stores || f.mix.scalar || f.mix.fma + f.mix.arithmetic == 0) {
                print_failure(&(level){targets[i], 128, 0}, &shapes[j], &f);
                fail();
            }
            tc_cg_asm_facts_free(&f);
            close_kernel(&k);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_default), cmocka_unit_test(test_densest),
                                       cmocka_unit_test(test_no_spills_elsewhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
