/* gemm_peers PEER M N K THREADS [TYPE]: a matmul of another library that obeys lines on its standard input, so that its runs can
 * alternate with another program's. "run K" times K runs (after an untimed one) and prints {"times_ms": [...]}; "quit" ends it.
 * TYPE is f32, bf16 for products of such numbers with sums of f32, or u8s8 for products of bytes with sums of 32 bits. Without
 * arguments it names the peers, with a TYPE alone those that have it. The first line that it prints is {"ready": true, ...},
 * after its result was found right.
 * */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gemm_peers.h"

static const gemm_peer *const peers[] = {
#ifdef PEER_ONEDNN
    &gemm_onednn,
#endif
#ifdef PEER_OPENBLAS
    &gemm_openblas,
#endif
    NULL};

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void *memory(int64_t n, size_t size) {
    void *p = aligned_alloc(64, ((size_t)n * size + 63) / 64 * 64);
    if (!p) {
        fprintf(stderr, "gemm_peers: no memory for %lld elements\n", (long long)n);
        exit(1);
    }
    return p;
}

static uint32_t next(uint32_t *seed) {
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 8;
}

static const struct {
    const char *name;
    size_t bytes; /* of an element of A and B */
} types[GEMM_TYPES] = {[GEMM_F32] = {"f32", 4}, [GEMM_BF16] = {"bf16", 2}, [GEMM_U8S8] = {"u8s8", 1}};

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Seeded values, of floats in [-1, 1), aligned to a cache line. */
static void *matrix(int64_t n, uint32_t seed, gemm_type type) {
    void *p = memory(n, types[type].bytes);
    for (int64_t i = 0; i < n; i++) {
        uint32_t random = next(&seed);
        float x = (float)random / (float)(1 << 23) - 1.0F;
        switch (type) {
        case GEMM_F32:
            ((float *)p)[i] = x;
            break;
        case GEMM_BF16:
            ((uint16_t *)p)[i] = (uint16_t)(bits_of(x) >> 16);
            break;
        case GEMM_U8S8:
            ((uint8_t *)p)[i] = (uint8_t)(random >> 8);
            break;
        case GEMM_TYPES:
            break;
        }
    }
    return p;
}

static double element(gemm_type type, bool is_signed, const void *p, int64_t at) {
    switch (type) {
    case GEMM_F32:
        return (double)((const float *)p)[at];
    case GEMM_BF16:
        return (double)of_bits((uint32_t)((const uint16_t *)p)[at] << 16);
    case GEMM_U8S8:
        return is_signed ? (double)((const int8_t *)p)[at] : (double)((const uint8_t *)p)[at];
    case GEMM_TYPES:
        break;
    }
    return NAN;
}

/* Every 97th element against a sum in double; the bound of floats is that of a sum of k products of values below 1. */
static int right(const gemm *g) {
    bool bytes = g->type == GEMM_U8S8;
    double bound = bytes ? 0 : 1e-6 * (double)g->k + 1e-5;
    for (int64_t at = 0; at < g->m * g->n; at += 97) {
        double sum = 0, is = bytes ? (double)((const int32_t *)g->c)[at] : (double)((const float *)g->c)[at];
        for (int64_t k = 0; k < g->k; k++)
            sum += element(g->type, false, g->a, at / g->n * g->k + k) * element(g->type, true, g->b, k * g->n + at % g->n);
        if (!(fabs(sum - is) <= bound)) {
            fprintf(stderr, "gemm_peers: element %lld is %g, not %g\n", (long long)at, is, sum);
            return 0;
        }
    }
    return 1;
}

static void turn(const gemm_peer *p, void *state, const gemm *g, int repeats) {
    p->run(state, g);
    printf("{\"times_ms\": [");
    for (int i = 0; i < repeats; i++) {
        double started = now_ms();
        p->run(state, g);
        printf("%s%.6f", i ? ", " : "", now_ms() - started);
    }
    printf("]}\n");
}

static void serve(const gemm_peer *p, void *state, const gemm *g) {
    char line[64];
    int repeats;
    printf("{\"ready\": true, \"peer\": \"%s\", \"version\": \"%s\", \"threads\": %d}\n", p->name, p->version(), g->threads);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) && strcmp(line, "quit\n") != 0) {
        if (sscanf(line, "run %d", &repeats) == 1 && repeats > 0)
            turn(p, state, g, repeats);
        else
            printf("{\"error\": \"no such command: run K, quit\"}\n");
        fflush(stdout);
    }
}

static const gemm_peer *find(const char *name, gemm_type type) {
    for (int i = 0; peers[i]; i++)
        if (strcmp(peers[i]->name, name) == 0 && (type == GEMM_F32 || peers[i]->narrow))
            return peers[i];
    fprintf(stderr, "gemm_peers: there is no peer '%s' of that type in this build\n", name);
    exit(2);
}

static int list_peers(gemm_type type) {
    for (int i = 0; peers[i]; i++)
        if (type == GEMM_F32 || peers[i]->narrow)
            puts(peers[i]->name);
    return 0;
}

static gemm_type type_of(const char *name) {
    for (int i = 0; i < GEMM_TYPES; i++)
        if (strcmp(types[i].name, name) == 0)
            return (gemm_type)i;
    fprintf(stderr, "gemm_peers: '%s' is no type: f32, bf16, u8s8\n", name);
    exit(2);
}

int main(int argc, char **argv) {
    if (argc < 3)
        return list_peers(argc == 2 ? type_of(argv[1]) : GEMM_F32);
    if (argc != 6 && argc != 7) {
        fprintf(stderr, "usage: gemm_peers [PEER M N K THREADS] [TYPE]\n");
        return 2;
    }
    gemm_type type = argc == 7 ? type_of(argv[6]) : GEMM_F32;
    const gemm_peer *p = find(argv[1], type);
    gemm g = {.m = atoll(argv[2]), .n = atoll(argv[3]), .k = atoll(argv[4]), .threads = atoi(argv[5]), .type = type};
    if (g.m < 1 || g.n < 1 || g.k < 1 || g.threads < 1) {
        fprintf(stderr, "gemm_peers: M, N, K and THREADS are at least 1\n");
        return 2;
    }
    void *a = matrix(g.m * g.k, 1, type), *b = matrix(g.k * g.n, 2, type), *c = memory(g.m * g.n, sizeof(float));
    memset(c, 0, (size_t)(g.m * g.n) * sizeof(float));
    g.a = a;
    g.b = b;
    g.c = c;
    void *state = p->prepare(&g);
    if (!state)
        return 1;
    p->run(state, &g);
    int ok = right(&g);
    if (ok)
        serve(p, state, &g);
    p->release(state);
    free(a);
    free(b);
    free(c);
    return !ok;
}
