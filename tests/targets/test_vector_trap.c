/* The handler of dot products: every way in which it finds operands, against what the instructions are documented to do. */
#include "support/cmocka_all.h"

#include <math.h>
#include <string.h>

#include "support/rng.h"
#include "vector_trap.h"

enum { LANES = 16, BYTES = 64 };

typedef struct operands {
    uint8_t a[BYTES], b[BYTES];
    uint32_t acc[LANES], out[LANES];
    uint64_t mask;
} operands;

static tc_rng rng;

static void draw(operands *o, bool floats) {
    for (int i = 0; i < BYTES; i++) {
        o->a[i] = (uint8_t)tc_rng_below(&rng, 256);
        o->b[i] = (uint8_t)tc_rng_below(&rng, 256);
        if (floats && i % 2) { /* exponents that neither overflow nor vanish, but for a few denormals */
            o->a[i] = (uint8_t)((o->a[i] & 0x80) | (tc_rng_below(&rng, 16) ? 0x3c + tc_rng_below(&rng, 6) : 0));
            o->b[i] = (uint8_t)((o->b[i] & 0x80) | (0x3c + tc_rng_below(&rng, 6)));
        }
    }
    for (int i = 0; i < LANES; i++) {
        float f = (float)(tc_rng_unit(&rng) - 0.5);
        o->acc[i] = (uint32_t)tc_rng_below(&rng, (int64_t)1 << 32);
        if (floats)
            memcpy(&o->acc[i], &f, sizeof f);
    }
    o->mask = (uint64_t)tc_rng_below(&rng, 1 << LANES);
}

/* Within a test: cmocka has a handler of its own for each. */
static void provide(void) {
    rng = tc_rng_seed(4);
    vector_trap_install();
}

/* ---- what is documented ---- */

typedef enum kind { BUSD, BSSD, BUUD, BSUD, WSSD, BF16 } kind;

/* Products of a 32-bit lane's integers, which wrap. */
static uint32_t integers(kind k, uint32_t acc, const uint8_t *a, const uint8_t *b) {
    int64_t sum = acc;
    for (int p = 0; p < 4 && k != WSSD; p++)
        sum += (k == BSSD || k == BSUD ? (int64_t)(int8_t)a[p] : a[p]) * (k == BUSD || k == BSSD ? (int64_t)(int8_t)b[p] : b[p]);
    for (int p = 0; p < 4 && k == WSSD; p += 2)
        sum += (int64_t)(int16_t)(a[p] | a[p + 1] << 8) * (int16_t)(b[p] | b[p + 1] << 8);
    return (uint32_t)sum;
}

static float widened(const uint8_t *p) {
    uint32_t bits = (uint32_t)(p[0] | p[1] << 8) << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return fabsf(f) < 0x1p-126F ? 0 : f;
}

static uint32_t bf16(uint32_t acc, const uint8_t *a, const uint8_t *b) {
    float f;
    memcpy(&f, &acc, sizeof f);
    f = fmaf(widened(a + 2), widened(b + 2), f);
    f = fmaf(widened(a), widened(b), f);
    memcpy(&acc, &f, sizeof f);
    return acc;
}

typedef struct form {
    int lanes;
    kind kind;
    bool one, masked, zero;
} form;

static void expect(const operands *o, const form *f) {
    for (int i = 0; i < LANES; i++) {
        const uint8_t *b = o->b + (f->one ? 0 : 4 * i);
        const uint8_t *a = o->a + 4 * i;
        uint32_t want = f->kind == BF16 ? bf16(o->acc[i], a, b) : integers(f->kind, o->acc[i], a, b);
        if (f->masked && !(o->mask >> i & 1))
            want = f->zero ? 0 : o->acc[i];
        assert_int_equal(o->out[i], i < f->lanes ? want : 0);
    }
}

/* ---- instructions ---- */

/* One instruction with the accumulator, the first and the second operand in registers of these numbers; %0 points at the
 * operands. */
#define RUN(acc, a, b, instruction)                                                                                              \
    __asm__ volatile("vmovdqu64 128(%0), %%zmm" #acc "\n\tvmovdqu64 (%0), %%zmm" #a "\n\tvmovdqu64 64(%0), %%zmm" #b             \
                     "\n\tkmovq 256(%0), %%k3\n\t" instruction "\n\tvmovdqu64 %%zmm" #acc ", 192(%0)" ::"r"(o),                  \
                     "r"((int64_t)1)                                                                                             \
                     : "memory", "xmm" #acc, "xmm" #a, "xmm" #b)

#define REPEAT(n, f, code)                                                                                                       \
    for (int times = 0; times < (n); times++) {                                                                                  \
        draw(o, (f).kind == BF16);                                                                                               \
        code;                                                                                                                    \
        expect(o, &(f));                                                                                                         \
    }

enum { TIMES = 20 };

__attribute__((target("avx512f,avx512bw"))) static void test_bytes(void **state) {
    (void)state;
    operands x, *o = &x;
    provide();
    const form eight = {.lanes = 8}, four = {.lanes = 4}, bssd = {.lanes = 8, .kind = BSSD}, buud = {.lanes = 8, .kind = BUUD},
               bsud = {.lanes = 4, .kind = BSUD}, wssd = {.lanes = 8, .kind = WSSD};
    int64_t before = vector_trap_count();
    REPEAT(TIMES, eight, RUN(0, 1, 2, "%{vex%} vpdpbusd %%ymm2, %%ymm1, %%ymm0"));
    REPEAT(TIMES, eight, RUN(9, 12, 15, "%{vex%} vpdpbusd %%ymm15, %%ymm12, %%ymm9"));
    REPEAT(TIMES, four, RUN(9, 3, 8, "%{vex%} vpdpbusd %%xmm8, %%xmm3, %%xmm9"));
    REPEAT(TIMES, eight, RUN(0, 14, 2, "%{vex%} vpdpbusd 64(%0), %%ymm14, %%ymm0"));
    REPEAT(TIMES, eight, RUN(10, 1, 2, "%{vex%} vpdpbusd 60(%0,%1,4), %%ymm1, %%ymm10"));
    REPEAT(TIMES, wssd, RUN(7, 10, 2, "%{vex%} vpdpwssd %%ymm2, %%ymm10, %%ymm7"));
    if (!__builtin_cpu_supports("avxvnni"))
        assert_int_equal(vector_trap_count() - before, 6 * TIMES);
    REPEAT(TIMES, bssd, RUN(0, 1, 2, "vpdpbssd %%ymm2, %%ymm1, %%ymm0"));
    REPEAT(TIMES, buud, RUN(11, 1, 12, "vpdpbuud 64(%0), %%ymm1, %%ymm11"));
    REPEAT(TIMES, bsud, RUN(0, 1, 2, "vpdpbsud %%xmm2, %%xmm1, %%xmm0"));
}

__attribute__((target("avx512f,avx512bw"))) static void test_floats(void **state) {
    (void)state;
    operands x, *o = &x;
    provide();
    const form all = {.lanes = 16, .kind = BF16}, half = {.lanes = 8, .kind = BF16},
               one = {.lanes = 16, .kind = BF16, .one = true}, merged = {.lanes = 16, .kind = BF16, .masked = true},
               zeroed = {.lanes = 8, .kind = BF16, .masked = true, .zero = true},
               both = {.lanes = 16, .kind = BF16, .one = true, .masked = true, .zero = true};
    int64_t before = vector_trap_count();
    REPEAT(TIMES, all, RUN(0, 1, 2, "vdpbf16ps %%zmm2, %%zmm1, %%zmm0"));
    REPEAT(TIMES, all, RUN(31, 17, 26, "vdpbf16ps %%zmm26, %%zmm17, %%zmm31"));
    REPEAT(TIMES, half, RUN(20, 9, 18, "vdpbf16ps %%ymm18, %%ymm9, %%ymm20"));
    REPEAT(TIMES, all, RUN(6, 21, 2, "vdpbf16ps 64(%0), %%zmm21, %%zmm6"));
    REPEAT(TIMES, half, RUN(6, 21, 2, "vdpbf16ps 60(%0,%1,4), %%ymm21, %%ymm6"));
    REPEAT(TIMES, one, RUN(6, 21, 2, "vdpbf16ps 64(%0)%{1to16%}, %%zmm21, %%zmm6"));
    REPEAT(TIMES, merged, RUN(0, 1, 2, "vdpbf16ps %%zmm2, %%zmm1, %%zmm0%{%%k3%}"));
    REPEAT(TIMES, zeroed, RUN(0, 1, 2, "vdpbf16ps 64(%0), %%ymm1, %%ymm0%{%%k3%}%{z%}"));
    REPEAT(TIMES, both, RUN(16, 1, 2, "vdpbf16ps 64(%0)%{1to16%}, %%zmm1, %%zmm16%{%%k3%}%{z%}"));
    if (!__builtin_cpu_supports("avx512bf16"))
        assert_int_equal(vector_trap_count() - before, 9 * TIMES);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bytes), cmocka_unit_test(test_floats)};
    if (!__builtin_cpu_supports("avx512bw")) {
        print_message("skipped: this CPU has no AVX-512\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
