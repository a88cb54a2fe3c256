/* The handler of tile instructions: drawn cases against plain loops, and, where ../shared/amx/vectors.bin.zst is there, 400 cases
 * against results that were taken from hardware. Each case is executed as a program would. A CPU with tiles runs them itself. */
#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "amx_trap.h"
#include "support/rng.h"

#define VECTORS TCTUNE_SOURCE_DIR "/../shared/amx/vectors.bin.zst"

typedef struct vector_case {
    uint8_t op, m, n, k, kind, zero[3];
    uint8_t a[16][64], b[16][64], c[16][64], d[16][64];
} vector_case;

/* Within a test: cmocka has a handler of its own for each. */
static void provide_tiles(void) {
    if (!amx_native())
        amx_trap_install();
}

/* ---- instructions ---- */

#define CONFIGURE(memory) __asm__ volatile("ldtilecfg (%0)" ::"r"(memory) : "memory")
#define LOAD(tile, memory, stride) __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #tile ::"r"(memory), "r"(stride) : "memory")
#define LOAD_HINTED(tile, memory, stride)                                                                                        \
    __asm__ volatile("tileloaddt1 64(%0,%1,2), %%tmm" #tile ::"r"((memory)-64), "r"((stride) / 2) : "memory")
#define STORE(tile, memory, stride) __asm__ volatile("tilestored %%tmm" #tile ", (%0,%1,1)" ::"r"(memory), "r"(stride) : "memory")

static void multiply(int op) {
    switch (op) {
    case 0:
        __asm__ volatile("tdpbf16ps %%tmm2, %%tmm1, %%tmm0" ::: "memory");
        return;
    case 1:
        __asm__ volatile("tdpbssd %%tmm2, %%tmm1, %%tmm0" ::: "memory");
        return;
    case 2:
        __asm__ volatile("tdpbsud %%tmm2, %%tmm1, %%tmm0" ::: "memory");
        return;
    case 3:
        __asm__ volatile("tdpbusd %%tmm2, %%tmm1, %%tmm0" ::: "memory");
        return;
    case 4:
        __asm__ volatile("tdpbuud %%tmm2, %%tmm1, %%tmm0" ::: "memory");
        return;
    }
    fail_msg("operation %d is not known", op);
}

static void run(const vector_case *v, uint8_t d[16][64]) {
    uint8_t config[64] = {1}, back[64];
    const uint8_t rows[] = {v->m, v->m, v->k}, bytes[] = {(uint8_t)(4 * v->n), (uint8_t)(4 * v->k), (uint8_t)(4 * v->n)};
    const int64_t stride = 64;
    for (int t = 0; t < 3; t++) {
        config[16 + 2 * t] = bytes[t];
        config[48 + t] = rows[t];
    }
    CONFIGURE(config);
    __asm__ volatile("sttilecfg (%0)" ::"r"(back) : "memory");
    assert_memory_equal(config, back, sizeof config);
    LOAD(0, v->c, stride);
    LOAD(1, v->a, stride);
    LOAD_HINTED(2, (const uint8_t *)v->b, stride);
    multiply(v->op);
    STORE(0, d, stride);
    __asm__ volatile("tilezero %%tmm1\n\ttilestored %%tmm1, (%0,%1,1)" ::"r"(d[0]), "r"((int64_t)0) : "memory");
    for (int i = 0; i < 4 * v->k; i++)
        assert_int_equal(d[0][i], 0);
    STORE(0, d, stride);
    __asm__ volatile("tilerelease" ::: "memory");
}

static void expect(const vector_case *v, const char *source, int number) {
    uint8_t d[16][64] = {{0}};
    run(v, d);
    for (int i = 0; i < 16 * 16; i++) {
        uint32_t got, want;
        memcpy(&got, &d[i / 16][i % 16 * 4], 4);
        memcpy(&want, &v->d[i / 16][i % 16 * 4], 4);
        if (got != want)
            fail_msg("case %d (operation %d, %d x %d x %d): element %d, %d is %08x, %s has %08x", number, v->op, v->m, v->n, v->k,
                     i / 16, i % 16, got, source, want);
    }
}

/* ---- drawn cases ---- */

enum { BF16 = 0, SIGNED_A = 1 << 1 | 1 << 2, SIGNED_B = 1 << 1 | 1 << 3 }; /* by operation */

static float bf16_at(const uint8_t *row, int i) {
    uint32_t bits = (uint32_t)row[2 * i] << 16 | (uint32_t)row[2 * i + 1] << 24;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Small integers, whose sums are the same in every order. */
static void draw_floats(tc_rng *r, uint8_t rows[16][64], size_t bytes) {
    for (int i = 0; i < 16 * 64; i += (int)bytes) {
        float f = (float)(tc_rng_below(r, 17) - 8);
        memcpy(&rows[i / 64][i % 64], (const uint8_t *)&f + 4 - bytes, bytes);
    }
}

static void draw_bytes(tc_rng *r, uint8_t rows[16][64]) {
    for (int i = 0; i < 16 * 64; i++)
        rows[i / 64][i % 64] = (uint8_t)tc_rng_below(r, 256);
}

static int widened(uint8_t v, bool is_signed) {
    return is_signed ? (int8_t)v : v;
}

/* c[i][j] + sum of a[i][t] * b[t / group][j * group + t % group]; elements beyond m rows and n columns stay 0. */
static void by_loops(vector_case *v) {
    int group = v->op == BF16 ? 2 : 4;
    for (int i = 0; i < v->m; i++)
        for (int j = 0; j < v->n; j++) {
            float real;
            uint32_t sum;
            memcpy(&real, &v->c[i][4 * j], 4);
            memcpy(&sum, &v->c[i][4 * j], 4);
            for (int t = 0; t < v->k * group; t++) {
                const uint8_t *b = v->b[t / group];
                int at = j * group + t % group;
                if (v->op == BF16)
                    real += bf16_at(v->a[i], t) * bf16_at(b, at);
                else
                    sum += (uint32_t)(widened(v->a[i][t], SIGNED_A >> v->op & 1) * widened(b[at], SIGNED_B >> v->op & 1));
            }
            memcpy(&v->d[i][4 * j], v->op == BF16 ? (const void *)&real : &sum, 4);
        }
}

static void drawn_cases(void **state) {
    (void)state;
    enum { CASES = 200, OPERATIONS = 5 };
    tc_rng r = tc_rng_seed(1);
    provide_tiles();
    for (int i = 0; i < CASES; i++) {
        vector_case v = {.op = (uint8_t)(i % OPERATIONS)};
        v.m = (uint8_t)(1 + tc_rng_below(&r, 16));
        v.n = (uint8_t)(1 + tc_rng_below(&r, 16));
        v.k = (uint8_t)(1 + tc_rng_below(&r, 16));
        if (v.op == BF16) {
            draw_floats(&r, v.a, 2);
            draw_floats(&r, v.b, 2);
            draw_floats(&r, v.c, 4);
        } else {
            draw_bytes(&r, v.a);
            draw_bytes(&r, v.b);
            draw_bytes(&r, v.c);
        }
        by_loops(&v);
        expect(&v, "a loop", i);
    }
}

/* ---- results of hardware ---- */

static void hardware_cases(void **state) {
    (void)state;
    FILE *f = access(VECTORS, R_OK) == 0 ? popen("zstd -dc '" VECTORS "'", "r") : NULL;
    int cases = 0, of[5] = {0};
    if (!f)
        return;
    provide_tiles();
    for (vector_case v; fread(&v, sizeof v, 1, f) == 1; cases++) {
        expect(&v, "hardware", cases);
        of[v.op]++;
    }
    pclose(f);
    assert_int_equal(cases, 400);
    for (int op = 0; op < 5; op++)
        assert_true(of[op] >= 40);
}

/* ---- addresses ---- */

/* Addresses: a base of every register that needs a longer encoding, displacements, scales, no index. */
static void addresses(void **state) {
    (void)state;
    uint8_t config[64] = {1}, from[16 * 64 + 4096], to[2][64];
    config[16] = 64;
    config[48] = 2;
    provide_tiles();
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)(i * 7 + (i >> 8));
    CONFIGURE(config);
    __asm__ volatile("mov %0, %%r13\n\tmov %1, %%r12\n\ttileloadd (%%r13,%%r12,4), %%tmm0" ::"r"(from), "r"((int64_t)25)
                     : "r12", "r13", "memory");
    STORE(0, to, (int64_t)64);
    assert_memory_equal(to[0], from, 64);
    assert_memory_equal(to[1], from + 100, 64);
    __asm__ volatile("mov %0, %%r12\n\ttileloadd -8(%%r12), %%tmm0" ::"r"(from + 8) : "r12", "memory");
    STORE(0, to, (int64_t)64);
    assert_memory_equal(to[0], from, 64);
    assert_memory_equal(to[1], from, 64);
    __asm__ volatile("tileloadd 4096(%0,%1,8), %%tmm0" ::"r"(from), "r"((int64_t)8) : "memory");
    STORE(0, to, (int64_t)64);
    assert_memory_equal(to[0], from + 4096, 64);
    assert_memory_equal(to[1], from + 4160, 64);
    __asm__ volatile("tilerelease" ::: "memory");
    assert_false(amx_trap_configured());
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(drawn_cases), cmocka_unit_test(hardware_cases),
                                       cmocka_unit_test(addresses)};
    return cmocka_run_group_tests_name(amx_native() ? "natively" : "by the handler", tests, NULL, NULL);
}
