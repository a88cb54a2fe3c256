/* A library's way of C[M,N] = A[M,K] * B[K,N], row-major, B constant: in f32, or of unsigned by signed bytes with sums of 32 bits. */
#ifndef TC_BENCHMARKS_GEMM_PEERS_H
#define TC_BENCHMARKS_GEMM_PEERS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct gemm {
    int64_t m, n, k;
    int threads;
    bool bytes; /* a is uint8_t, b int8_t and c int32_t; else all are float */
    const void *a, *b;
    void *c;
} gemm;

typedef struct gemm_peer {
    const char *name;
    bool bytes; /* has that too */
    /* Whatever may be done once for constant B, such as packing it; NULL with a message on stderr when it fails. */
    void *(*prepare)(const gemm *g);
    void (*run)(void *state, const gemm *g);
    void (*release)(void *state);
    const char *(*version)(void);
} gemm_peer;

extern const gemm_peer gemm_onednn, gemm_openblas;

#endif
