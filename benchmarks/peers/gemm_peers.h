/* C[M,N] = A[M,K] * B[K,N] as a library computes it, row-major, B constant: in f32; of bf16 with sums of f32; or of unsigned by
 * signed bytes with sums of 32 bits. */
#ifndef TC_BENCHMARKS_GEMM_PEERS_H
#define TC_BENCHMARKS_GEMM_PEERS_H

#include <stdbool.h>
#include <stdint.h>

/* Element types of a, b and c. */
typedef enum gemm_type {
    GEMM_F32,  /* float */
    GEMM_BF16, /* uint16_t, the upper halves of floats; c is float */
    GEMM_U8S8, /* uint8_t, int8_t, int32_t */
    GEMM_TYPES,
} gemm_type;

typedef struct gemm {
    int64_t m, n, k;
    int threads;
    gemm_type type;
    const void *a, *b;
    void *c;
} gemm;

typedef struct gemm_peer {
    const char *name;
    bool narrow; /* has the other types too, not f32 alone */
    /* Whatever may be done once for constant B, such as packing it; NULL with a message on stderr when it fails. */
    void *(*prepare)(const gemm *g);
    void (*run)(void *state, const gemm *g);
    void (*release)(void *state);
    const char *(*version)(void);
} gemm_peer;

extern const gemm_peer gemm_onednn, gemm_openblas;

#endif
