/* A library's way of C[M,N] = A[M,K] * B[K,N] in f32, row-major, B constant. */
#ifndef TC_BENCHMARKS_GEMM_PEERS_H
#define TC_BENCHMARKS_GEMM_PEERS_H

#include <stdint.h>

typedef struct gemm {
    int64_t m, n, k;
    int threads;
    const float *a, *b;
    float *c;
} gemm;

typedef struct gemm_peer {
    const char *name;
    /* Whatever may be done once for constant B, such as packing it; NULL with a message on stderr when it fails. */
    void *(*prepare)(const gemm *g);
    void (*run)(void *state, const gemm *g);
    void (*release)(void *state);
    const char *(*version)(void);
} gemm_peer;

extern const gemm_peer gemm_onednn, gemm_openblas;

#endif
