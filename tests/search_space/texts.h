/* Small instances of the workload families that the rules are written for, odd sizes on purpose, and a machine to schedule them
 * for. */
#ifndef TC_TESTS_SPACE_TEXTS_H
#define TC_TESTS_SPACE_TEXTS_H

#include "tir_lower/tir.h"

static const tc_machine machine = {.vector_bytes = 64,
                                   .vector_regs = 32,
                                   .masks = true,
                                   .fma = true,
                                   .intrinsics = TC_INTRINSICS_ALL,
                                   .cores = 2,
                                   .l1 = 32768,
                                   .l2 = 1 << 20,
                                   .l3 = 32 << 20,
                                   .line = 64};

#define ATTENTION                                                                                                                \
    "tensor Q[2, 19, 24] f32\ntensor K[2, 35, 24] f32\ntensor V[2, 35, 18] f32\ntensor M[35] f32\n"                              \
    "compute S[h:2, i:19, j:35] = sum(k:24) Q[h, i, k] * K[h, j, k]\n"                                                           \
    "compute A[h:2, i:19, j:35] = S[h, i, j] * 0.2 + M[j]\ncompute m[h:2, i:19] = max(j:35) A[h, i, j]\n"                        \
    "compute E[h:2, i:19, j:35] = exp(A[h, i, j] - m[h, i])\ncompute T[h:2, i:19] = sum(j:35) E[h, i, j]\n"                      \
    "compute P[h:2, i:19, j:35] = E[h, i, j] * (1.0 / T[h, i])\n"                                                                \
    "compute O[h:2, i:19, d:18] = sum(j:35) P[h, i, j] * V[h, j, d]\noutput O\n"
#define ATTENTION_PARTS                                                                                                          \
    "tensor X[13, 100] f32\n"                                                                                                    \
    "compute S[h:2, i:11, j:13] = sum(k:16) X[i, h * 16 + k] * X[j, h * 16 + k + 32]\n"                                          \
    "compute m[h:2, i:11] = max(j:13) S[h, i, j]\ncompute E[h:2, i:11, j:13] = exp(S[h, i, j] - m[h, i])\n"                      \
    "compute T[h:2, i:11] = sum(j:13) E[h, i, j]\ncompute P[h:2, i:11, j:13] = E[h, i, j] / T[h, i]\n"                           \
    "compute O[i:11, h:2, d:18] = sum(j:13) P[h, i, j] * X[j, h * 18 + d + 64]\noutput O\n"
#define FEW_CHANNELS                                                                                                             \
    "tensor X[7, 8, 37] f32\ntensor W[3, 3, 37, 3] f32 const\ntensor B[3] f32 const\n"                                           \
    "compute D[h:5, w:6, o:3] = sum(r:3, s:3, c:37) X[h + r, w + s, c] * W[r, s, c, o]\n"                                        \
    "compute Y[h:5, w:6, o:3] = tanh(D[h, w, o] + B[o])\noutput Y\n"
#define CONVOLUTION                                                                                                              \
    "tensor X[2, 7, 9, 20] f32\ntensor W[3, 3, 20, 18] f32 const\ntensor B[18] f32 const\n"                                      \
    "compute P[n:2, h:9, w:11, c:20] = select(h >= 1 && h < 8 && w >= 1 && w < 10, X[n, h - 1, w - 1, c], 0.0)\n"                \
    "compute Y[n:2, h:7, w:9, o:18] = sum(r:3, s:3, c:20) P[n, h + r, w + s, c] * W[r, s, c, o]\n"                               \
    "compute Z[n:2, h:7, w:9, o:18] = max(Y[n, h, w, o] + B[o], 0.0)\noutput Z\n"
#define LONG_REDUCTION                                                                                                           \
    "tensor X[5, 600] f32\ntensor W[600, 19] f32\ntensor B[19] f32\n"                                                            \
    "compute D[i:5, j:19] = sum(k:600) X[i, k] * W[k, j]\ncompute Y[i:5, j:19] = max(D[i, j] + B[j], 0.0)\noutput Y\n"

/* Weights of 4 bits in blocks, whose sums are scaled; of floats, and of bytes that are made of floats. */
#define BLOCKS                                                                                                                   \
    "tensor X[3, 96] f32\ntensor W[37, 3, 16] u8 const\ntensor C[37, 3] f32 const\ntensor B[37] f32 const\n"                     \
    "compute S[m:3, n:37, b:3] = sum(h:2, t:16) X[m, b * 32 + t * 2 + h] * f32(bitand(shr(i32(W[n, b, t]), i32(h) * 4), 15))\n"  \
    "compute T[m:3, b:3] = sum(k:32) X[m, b * 32 + k]\n"                                                                         \
    "compute D[m:3, n:37] = sum(b:3) (S[m, n, b] - T[m, b] * 8.0) * C[n, b]\n"                                                   \
    "compute Y[m:3, n:37] = max(D[m, n] + B[n], 0.0)\noutput Y\n"
#define BYTE_BLOCKS                                                                                                              \
    "tensor X[2, 96] f32\ntensor W[37, 3, 16] u8 const\ntensor C[37, 3] f32 const\n"                                             \
    "compute P[m:2, b:3] = max(k:32) abs(X[m, b * 32 + k])\n"                                                                    \
    "compute Q[m:2, b:3, h:2, t:16] = i8(round(X[m, b * 32 + t * 2 + h] * select(P[m, b] > 0.0, 127.0 / P[m, b], 0.0)))\n"       \
    "compute S[m:2, n:37, b:3] = sum(h:2, t:16) i32(Q[m, b, h, t]) * i32(bitand(shr(W[n, b, t], u8(h) * 4), 15))\n"              \
    "compute T[m:2, b:3] = sum(h:2, t:16) i32(Q[m, b, h, t])\n"                                                                  \
    "compute Y[m:2, n:37] = sum(b:3) f32(S[m, n, b] - T[m, b] * 8) * (C[n, b] * (P[m, b] * 0.007874016))\noutput Y\n"

/* The weights of 4 bits as a stage. */
#define UNPACKED                                                                                                                 \
    "tensor X[13, 288] f32\ntensor W[37, 9, 16] u8 const\ntensor C[37, 9] f32 const\ntensor B[37] f32 const\n"                   \
    "compute N[k:288, j:37] = f32(bitand(shr(i32(W[j, k / 32, k / 2 % 16]), i32(k % 2) * 4), 15) - 8) * C[j, k / 32]\n"          \
    "compute D[i:13, j:37] = sum(k:288) X[i, k] * N[k, j]\ncompute Y[i:13, j:37] = max(D[i, j] + B[j], 0.0)\noutput Y\n"

/* One level of Strassen's algorithm in small, on odd rows. */
#define STRASSEN                                                                                                                 \
    "tensor X[13, 36] f32\n"                                                                                                     \
    "tensor U[7, 18, 38] f32 const\n"                                                                                            \
    "tensor B[76] f32\n"                                                                                                         \
    "compute S[u:7, i:7, k:18] = select(u == 0, X[i, k] + select(i < 6, X[i + 7, k + 18], 0.0), select(u == 1, "                 \
    "select(i < 6, X[i + 7, k], 0.0) + select(i < 6, X[i + 7, k + 18], 0.0), select(u == 2, X[i, k], select(u == 3, "            \
    "select(i < 6, X[i + 7, k + 18], 0.0), select(u == 4, X[i, k] + X[i, k + 18], select(u == 5, select(i < 6, X[i + "           \
    "7, k], 0.0) - X[i, k], X[i, k + 18] - select(i < 6, X[i + 7, k + 18], 0.0)))))))\n"                                         \
    "compute P[u:7, i:7, j:38] = sum(k:18) S[u, i, k] * U[u, k, j]\n"                                                            \
    "compute C[i:13, j:76] = select(i < 7, select(j < 38, P[0, i % 7, j % 38] + P[3, i % 7, j % 38] - P[4, i % 7, j "            \
    "% 38] + P[6, i % 7, j % 38], P[2, i % 7, j % 38] + P[4, i % 7, j % 38]), select(j < 38, P[1, i % 7, j % 38] + "             \
    "P[3, i % 7, j % 38], P[0, i % 7, j % 38] - P[1, i % 7, j % 38] + P[2, i % 7, j % 38] + P[5, i % 7, j % 38]))\n"             \
    "compute Y[i:13, j:76] = gelu(C[i, j] + B[j])\n"                                                                             \
    "output Y\n"

#endif
