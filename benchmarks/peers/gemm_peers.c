/* gemm_peers PEER M N K THREADS [TYPE]: a matmul of another library that obeys lines on its standard input, so that its runs can
 * alternate with another program's. "run K" times K runs (after an untimed one) and prints {"times_ms": [...]}; "quit" ends it.
 * TYPE is f32, or u8s8 for products of bytes with sums of 32 bits. Without arguments it names the peers, with a TYPE alone those
 * that have it. The first line that it prints is {"ready": true, ...}, after its result was found right.
 */
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

/* Seeded values, of floats in [-1, 1), aligned to a cache line. */
static void *matrix(int64_t n, uint32_t seed, bool bytes) {
    void *p = memory(n, bytes ? 1 : sizeof(float));
    for (int64_t i = 0; i < n; i++)
        if (bytes)
            ((uint8_t *)p)[i] = (uint8_t)(next(&seed) >> 8);
        else
            ((float *)p)[i] = (float)next(&seed) / (float)(1 << 23) - 1.0F;
    return p;
}

static double product(const gemm *g, int64_t a, int64_t b) {
    if (g->bytes)
        return (double)((const uint8_t *)g->a)[a] * ((const int8_t *)g->b)[b];
    return (double)((const float *)g->a)[a] * (double)((const float *)g->b)[b];
}

/* Every 97th element against a sum in double; the bound of floats is that of a sum of k products of values below 1. */
static int right(const gemm *g) {
    double bound = g->bytes ? 0 : 1e-6 * (double)g->k + 1e-5;
    for (int64_t at = 0; at < g->m * g->n; at += 97) {
        double sum = 0, is = g->bytes ? (double)((const int32_t *)g->c)[at] : (double)((const float *)g->c)[at];
        for (int64_t k = 0; k < g->k; k++)
            sum += product(g, at / g->n * g->k + k, k * g->n + at % g->n);
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

static const gemm_peer *find(const char *name, bool bytes) {
    for (int i = 0; peers[i]; i++)
        if (strcmp(peers[i]->name, name) == 0 && (!bytes || peers[i]->bytes))
            return peers[i];
    fprintf(stderr, "gemm_peers: there is no peer '%s' of that type in this build\n", name);
    exit(2);
}

static int list_peers(bool bytes) {
    for (int i = 0; peers[i]; i++)
        if (!bytes || peers[i]->bytes)
            puts(peers[i]->name);
    return 0;
}

static bool is_bytes(const char *type) {
    if (strcmp(type, "u8s8") != 0 && strcmp(type, "f32") != 0) {
        fprintf(stderr, "gemm_peers: '%s' is no type: f32, u8s8\n", type);
        exit(2);
    }
    return strcmp(type, "u8s8") == 0;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return list_peers(argc == 2 && is_bytes(argv[1]));
    if (argc != 6 && argc != 7) {
        fprintf(stderr, "usage: gemm_peers [PEER M N K THREADS] [TYPE]\n");
        return 2;
    }
    bool bytes = argc == 7 && is_bytes(argv[6]);
    const gemm_peer *p = find(argv[1], bytes);
    gemm g = {.m = atoll(argv[2]), .n = atoll(argv[3]), .k = atoll(argv[4]), .threads = atoi(argv[5]), .bytes = bytes};
    if (g.m < 1 || g.n < 1 || g.k < 1 || g.threads < 1) {
        fprintf(stderr, "gemm_peers: M, N, K and THREADS are at least 1\n");
        return 2;
    }
    void *a = matrix(g.m * g.k, 1, bytes), *b = matrix(g.k * g.n, 2, bytes), *c = memory(g.m * g.n, sizeof(float));
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
