/* gemm_peers PEER M N K THREADS: a matmul of another library that obeys lines on its standard input, so that its runs can
 * alternate with another program's. "run K" times K runs (after an untimed one) and prints {"times_ms": [...]}; "quit" ends it.
 * Without arguments it names the peers. The first line that it prints is {"ready": true, ...}, after its result was found right.
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

/* Seeded values in [-1, 1), aligned to a cache line. */
static float *matrix(int64_t n, uint32_t seed) {
    float *p = aligned_alloc(64, ((size_t)n * sizeof *p + 63) / 64 * 64);
    if (!p) {
        fprintf(stderr, "gemm_peers: no memory for %lld elements\n", (long long)n);
        exit(1);
    }
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525U + 1013904223U;
        p[i] = (float)(seed >> 8) / (float)(1 << 23) - 1.0F;
    }
    return p;
}

/* Every 97th element against a sum in double; the bound is that of a sum of k products of values below 1. */
static int right(const gemm *g) {
    for (int64_t at = 0; at < g->m * g->n; at += 97) {
        double sum = 0;
        for (int64_t k = 0; k < g->k; k++)
            sum += (double)g->a[at / g->n * g->k + k] * (double)g->b[k * g->n + at % g->n];
        if (!(fabs(sum - (double)g->c[at]) <= 1e-6 * (double)g->k + 1e-5)) {
            fprintf(stderr, "gemm_peers: element %lld is %g, not %g\n", (long long)at, (double)g->c[at], sum);
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

static const gemm_peer *find(const char *name) {
    for (int i = 0; peers[i]; i++)
        if (strcmp(peers[i]->name, name) == 0)
            return peers[i];
    fprintf(stderr, "gemm_peers: there is no peer '%s' in this build\n", name);
    exit(2);
}

static int list_peers(void) {
    for (int i = 0; peers[i]; i++)
        puts(peers[i]->name);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 1)
        return list_peers();
    if (argc != 6) {
        fprintf(stderr, "usage: gemm_peers [PEER M N K THREADS]\n");
        return 2;
    }
    const gemm_peer *p = find(argv[1]);
    gemm g = {.m = atoll(argv[2]), .n = atoll(argv[3]), .k = atoll(argv[4]), .threads = atoi(argv[5])};
    if (g.m < 1 || g.n < 1 || g.k < 1 || g.threads < 1) {
        fprintf(stderr, "gemm_peers: M, N, K and THREADS are at least 1\n");
        return 2;
    }
    float *a = matrix(g.m * g.k, 1), *b = matrix(g.k * g.n, 2), *c = matrix(g.m * g.n, 3);
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
