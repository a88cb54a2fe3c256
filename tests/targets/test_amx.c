/* The handler of tile instructions against results that were taken from hardware: 400 cases in ../shared/amx/vectors.bin.zst, each
 * executed as a program would. A CPU with tiles runs them itself. */
#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amx_trap.h"

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

static FILE *open_vectors(void) {
    FILE *f = fopen(VECTORS, "rb");
    if (!f) {
        print_message("skipped: results of hardware are missing (%s)\n", VECTORS);
        return NULL;
    }
    fclose(f);
    if (system("command -v zstd >/dev/null 2>&1")) {
        print_message("skipped: zstd is not installed (Debian: apt-get install zstd)\n");
        return NULL;
    }
    return popen("zstd -dc '" VECTORS "'", "r");
}

static void hardware_cases(void **state) {
    (void)state;
    FILE *f = open_vectors();
    int cases = 0, of[5] = {0};
    if (!f)
        skip();
    provide_tiles();
    for (vector_case v; fread(&v, sizeof v, 1, f) == 1; cases++) {
        uint8_t d[16][64] = {{0}};
        run(&v, d);
        if (memcmp(d, v.d, sizeof d))
            for (int i = 0; i < 16 * 16; i++)
                if (memcmp(&d[i / 16][i % 16 * 4], &v.d[i / 16][i % 16 * 4], 4)) {
                    uint32_t got, want;
                    memcpy(&got, &d[i / 16][i % 16 * 4], 4);
                    memcpy(&want, &v.d[i / 16][i % 16 * 4], 4);
                    fail_msg("case %d (operation %d, %d x %d x %d): element %d, %d is %08x, hardware has %08x", cases, v.op, v.m,
                             v.n, v.k, i / 16, i % 16, got, want);
                }
        of[v.op]++;
    }
    pclose(f);
    assert_int_equal(cases, 400);
    for (int op = 0; op < 5; op++)
        assert_true(of[op] >= 40);
}

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
    const struct CMUnitTest tests[] = {cmocka_unit_test(hardware_cases), cmocka_unit_test(addresses)};
    return cmocka_run_group_tests_name(amx_native() ? "natively" : "by the handler", tests, NULL, NULL);
}
