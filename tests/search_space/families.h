/* The workload families of texts.h and more of them, as the tests of this folder take them. */
#ifndef TC_TESTS_SPACE_FAMILIES_H
#define TC_TESTS_SPACE_FAMILIES_H

#include "support/cmocka_all.h"

#include <string.h>

#include "search_space/alternatives/alternatives.h"
#include "search_space/space.h"
#include "te/text.h"
#include "texts.h"

static const char *const family[] = {
    /* dense + bias + gelu, constant weights */
    "tensor X[13, 35] f32\ntensor W[35, 49] f32 const\ntensor B[49] f32 const\n"
    "compute D[i:13, j:49] = sum(k:35) X[i, k] * W[k, j]\ncompute Y[i:13, j:49] = gelu(D[i, j] + B[j])\noutput Y\n",
    /* plain matmul, nothing constant */
    "tensor A[20, 24] f32\ntensor B[24, 33] f32\ncompute C[i:20, j:33] = sum(k:24) A[i, k] * B[k, j]\noutput C\n",
    /* batched Q K^T read from an interleaved layout, scaled */
    "tensor Q[7, 3, 16] f32\ntensor K[7, 3, 16] f32\ncompute S[h:3, i:7, j:7] = sum(k:16) Q[i, h, k] * K[j, h, k]\n"
    "compute T[h:3, i:7, j:7] = S[h, i, j] * 0.25\noutput T\n",
    /* softmax with mask */
    "tensor X[6, 5, 40] f32\ntensor M[40] f32\ncompute A[h:6, i:5, j:40] = X[h, i, j] * 0.125 + M[j]\ncompute m[h:6, i:5] = "
    "max(k:40) A[h, i, k]\n"
    "compute e[h:6, i:5, j:40] = exp(A[h, i, j] - m[h, i])\ncompute s[h:6, i:5] = sum(k:40) e[h, i, k]\n"
    "compute Y[h:6, i:5, j:40] = e[h, i, j] / s[h, i]\noutput Y\n",
    /* layer norm with residual */
    "tensor X[9, 77] f32\ntensor R[9, 77] f32\ntensor g[77] f32 const\ntensor b[77] f32 const\ncompute A[i:9, j:77] = X[i, j] + "
    "R[i, j]\n"
    "compute m[i:9] = sum(k:77) A[i, k]\ncompute v[i:9] = sum(k:77) (A[i, k] - m[i] / 77.0) * (A[i, k] - m[i] / 77.0)\n"
    "compute Y[i:9, j:77] = (A[i, j] - m[i] / 77.0) * rsqrt(v[i] / 77.0 + 0.00001) * g[j] + b[j]\noutput Y\n",
    /* elementwise, transposing */
    "tensor X[5, 6, 19] f32\ncompute Y[a:6, b:5, c:19] = tanh(X[b, a, c])\noutput Y\n",
    "tensor X[11, 13] f32\ntensor Z[11, 13] f32\ncompute Y[a:11, b:13] = X[a, b] * Z[a, b] + 1.0\noutput Y\n",
    /* one row, column sums, full reduction, pooling, convolution with padding */
    /* two anchors that read one constant, one of them across it */
    "tensor X[6, 40] f32\ntensor W[40, 40] f32 const\ncompute D[i:6, j:40] = sum(k:40) X[i, k] * W[k, j]\n"
    "compute m[i:6] = max(j:40) D[i, j]\ncompute E[i:6, j:40] = exp(D[i, j] - m[i])\n"
    "compute Y[i:6, j:40] = sum(k:40) E[i, k] * W[k, j]\noutput Y\n",
    "tensor X[6, 40] f32\ntensor W[40, 40] f32 const\ncompute D[i:6, j:40] = sum(k:40) X[i, k] * W[k, j]\n"
    "compute m[i:6] = max(j:40) D[i, j]\ncompute E[i:6, j:40] = exp(D[i, j] - m[i])\n"
    "compute Y[i:6, j:40] = sum(k:40) E[i, k] * W[j, k]\noutput Y\n",
    "tensor X[1, 48] f32\ntensor W[48, 20] f32 const\ncompute D[i:1, j:20] = sum(k:48) X[i, k] * W[k, j]\ncompute Y[i:1, j:20] = "
    "tanh(D[i, j])\noutput Y\n",
    "tensor X[30, 17] f32\ncompute Y[j:17] = sum(k:30) X[k, j]\noutput Y\n",
    "tensor X[1000] f32\ncompute Y[i:1] = max(k:1000) X[k]\noutput Y\n",
    "tensor X[1, 130, 300] f32\ncompute S[b:1] = sum(i:130, j:300) X[b, i, j] * X[b, i, j]\ncompute Y[b:1] = sqrt(S[b])\noutput "
    "Y\n",
    "tensor X[9, 9, 8] f32\ncompute Y[h:4, w:4, c:8] = max(r:3, s:3) X[h * 2 + r, w * 2 + s, c]\noutput Y\n",
    "tensor X[7, 6, 37] f32\ncompute P[h:9, w:8, c:37] = select(h >= 1 && h < 8 && w >= 1 && w < 7, X[h - 1, w - 1, c], 0.0)\n"
    "compute S[h:4, w:3, c:37] = sum(r:3, s:3) P[h * 2 + r, w * 2 + s, c]\n"
    "compute Y[h:4, w:3, c:37] = S[h, w, c] * 0.125 + X[h, w, c]\noutput Y\n",
    "tensor X[8, 9, 5] f32\ntensor W[3, 3, 5, 18] f32 const\n"
    "compute P[h:10, w:11, c:5] = select(h >= 1 && h < 9 && w >= 1 && w < 10, X[h - 1, w - 1, c], 0.0)\n"
    "compute Y[h:8, w:9, o:18] = sum(r:3, s:3, c:5) P[h + r, w + s, c] * W[r, s, c, o]\ncompute Z[h:8, w:9, o:18] = max(Y[h, w, "
    "o], 0.0)\noutput Z\n",
    /* depthwise and transposed convolution */
    "tensor X[9, 10, 20] f32\ntensor W[3, 3, 20] f32 const\n"
    "compute P[h:11, w:12, c:20] = select(h >= 1 && h < 10 && w >= 1 && w < 11, X[h - 1, w - 1, c], 0.0)\n"
    "compute Y[h:9, w:10, c:20] = sum(r:3, s:3) P[h + r, w + s, c] * W[r, s, c]\noutput Y\n",
    "tensor X[5, 6, 7] f32\ntensor W[4, 4, 7, 18] f32 const\n"
    "compute P[h:13, w:15, c:7] = select(h >= 2 && h < 11 && (h - 2) % 2 == 0 && w >= 2 && w < 13 && (w - 2) % 2 == 0, "
    "X[(h - 2) / 2, (w - 2) / 2, c], 0.0)\n"
    "compute Y[h:10, w:12, o:18] = sum(r:4, s:4, c:7) P[h + r, w + s, c] * W[3 - r, 3 - s, c, o]\noutput Y\n",
    /* attention; heads last but one, as networks have it */
    ATTENTION,
    "tensor Q[11, 2, 16] f32\ntensor K[13, 2, 16] f32\ntensor V[13, 2, 20] f32\n"
    "compute S[h:2, i:11, j:13] = sum(k:16) Q[i, h, k] * K[j, h, k]\ncompute m[h:2, i:11] = max(j:13) S[h, i, j]\n"
    "compute E[h:2, i:11, j:13] = exp(S[h, i, j] - m[h, i])\ncompute T[h:2, i:11] = sum(j:13) E[h, i, j]\n"
    "compute P[h:2, i:11, j:13] = E[h, i, j] / T[h, i]\ncompute O[i:11, h:2, d:20] = sum(j:13) P[h, i, j] * V[j, h, d]\noutput "
    "O\n",
    /* the same with queries, keys and values as parts of one tensor; a matrix by itself, turned */
    ATTENTION_PARTS,
    "tensor X[13, 40] f32\ncompute C[i:13, j:13] = sum(k:40) X[i, k] * X[j, k]\noutput C\n",
    /* both forms of Winograd's convolution, on ragged tiles */
    "winograd-f2:" CONVOLUTION,
    "winograd-f4:" CONVOLUTION,
    /* Strassen's, on odd rows and columns; and its last stages with rows in two axes, of which the inner one is cut */
    STRASSEN,
    "tensor S[7, 3, 8, 12] f32\n"
    "tensor U[7, 12, 64] f32 const\n"
    "tensor R[3, 16, 128] f32\n"
    "compute P[u:7, h:3, w:8, j:64] = sum(k:12) S[u, h, w, k] * U[u, k, j]\n"
    "compute C[h:3, w:16, j:128] = select(w < 8, select(j < 64, P[0, h, w % 8, j % 64] + P[3, h, w % 8, j % 64] - "
    "P[4, h, w % 8, j % 64] + P[6, h, w % 8, j % 64], P[2, h, w % 8, j % 64] + P[4, h, w % 8, j % 64]), select(j < "
    "64, P[1, h, w % 8, j % 64] + P[3, h, w % 8, j % 64], P[0, h, w % 8, j % 64] - P[1, h, w % 8, j % 64] + P[2, h, "
    "w % 8, j % 64] + P[5, h, w % 8, j % 64]))\n"
    "compute Y[h:3, w:16, j:128] = C[h, w, j] + R[h, w, j]\n"
    "output Y\n",
    /* few results, long reduction */
    LONG_REDUCTION,
    /* few output channels */
    FEW_CHANNELS,
    /* narrow types: dot instructions, also with a rest that does not fill one */
    "tensor A[9, 22] u8\ntensor W[22, 35] i8 const\ncompute C[i:9, j:35] = sum(k:22) i32(A[i, k]) * i32(W[k, j])\noutput C\n",
    "tensor A[9, 24] i8\ntensor W[35, 24] u8\ncompute C[i:9, j:35] = sum(k:24) i32(W[j, k]) * i32(A[i, k])\noutput C\n",
    "tensor X[6, 7, 11] bf16\ntensor W[3, 3, 11, 18] bf16 const\n"
    "compute Y[h:4, w:5, o:18] = sum(r:3, s:3, c:11) f32(X[h + r, w + s, c]) * f32(W[r, s, c, o])\noutput Y\n",
    /* what computes an operand: dequantised, scaled by channel, normalised, converted, under a window, of the packed operand */
    "tensor X[13, 35] u8\ntensor W[35, 49] f32 const\ncompute P[i:13, k:35] = (f32(X[i, k]) - 128.0) * 0.02\n"
    "compute D[i:13, j:49] = sum(k:35) P[i, k] * W[k, j]\ncompute Y[i:13, j:49] = gelu(D[i, j])\noutput Y\n",
    "tensor X[5, 7, 20] f32\ntensor S[20] f32\ntensor W[20, 33] f32 const\n"
    "compute P[h:5, w:7, c:20] = X[h, w, c] * S[c]\n"
    "compute Y[h:5, w:7, o:33] = sum(c:20) P[h, w, c] * W[c, o]\noutput Y\n",
    "tensor X[13, 35] f32\ntensor W[35, 49] f32 const\ncompute m[i:13] = sum(k:35) X[i, k]\n"
    "compute v[i:13] = sum(k:35) (X[i, k] - m[i] / 35.0) * (X[i, k] - m[i] / 35.0)\n"
    "compute P[i:13, k:35] = (X[i, k] - m[i] / 35.0) * rsqrt(v[i] / 35.0 + 0.00001)\n"
    "compute Y[i:13, j:49] = sum(k:35) P[i, k] * W[k, j]\noutput Y\n",
    "tensor X[13, 35] f16\ntensor W[35, 49] f32\ncompute P[i:13, k:35] = f32(X[i, k])\n"
    "compute Y[i:13, j:49] = sum(k:35) P[i, k] * W[k, j]\noutput Y\n",
    "tensor X[4, 5, 10] f32\ntensor S[10] f32 const\ntensor T[10] f32 const\ntensor W[3, 3, 10, 18] f32 const\n"
    "compute P[h:4, w:5, c:10] = max(X[h, w, c] * S[c] + T[c], 0.0)\n"
    "compute Q[h:6, w:7, c:10] = select(h >= 1 && h < 5 && w >= 1 && w < 6, P[h - 1, w - 1, c], 0.0)\n"
    "compute Y[h:4, w:5, o:18] = sum(r:3, s:3, c:10) Q[h + r, w + s, c] * W[r, s, c, o]\noutput Y\n",
    "tensor A[2, 9, 19] f32\ntensor K[2, 35, 19] i8\ncompute P[h:2, j:35, k:19] = f32(K[h, j, k]) * 0.02\n"
    "compute Y[h:2, i:9, j:35] = sum(k:19) A[h, i, k] * P[h, j, k]\noutput Y\n",
    /* sums of blocks, each with a scale */
    BLOCKS,
    BYTE_BLOCKS,
    /* weights that are taken out of 4 bits, and, beside an operand that is made too, out of bytes; the first ones rounded too */
    UNPACKED,
    "tensor X[19, 40] f32\ntensor S[40] f32\ntensor W[21, 40] i8 const\ntensor C[21] f32 const\n"
    "compute P[i:19, k:40] = X[i, k] * S[k]\ncompute N[k:40, j:21] = f32(W[j, k]) * C[j]\n"
    "compute Y[i:19, j:21] = sum(k:40) P[i, k] * N[k, j]\noutput Y\n",
    "bf16:" UNPACKED,
    /* products of two activations: packed at run time, rounded first, both ways round; attention so */
    "tensor A[18, 24] u8\ntensor B[24, 35] i8\ncompute C[i:18, j:35] = sum(k:24) i32(A[i, k]) * i32(B[k, j])\noutput C\n",
    "bf16:tensor A[2, 18, 22] f32\ntensor B[2, 22, 35] f32\ncompute C[b:2, i:18, j:35] = sum(k:22) A[b, i, k] * B[b, k, j]\n"
    "compute Y[b:2, i:18, j:35] = max(C[b, i, j], 0.5)\noutput Y\n",
    "bf16:tensor A[11, 30] f32\ntensor B[9, 30] f32\ncompute C[h:2, i:11, j:9] = sum(k:15) A[i, h * 15 + k] * B[j, h * 15 + k]\n"
    "output C\n",
    "bf16:" ATTENTION,
    /* arg reduction and integers */
    "tensor X[12, 31] f32\ncompute V, I[i:12] = argmax(k:31) (X[i, k], k)\noutput I\n",
    "tensor A[9, 10] i32\ntensor B[10, 11] i32\ncompute C[i:9, j:11] = sum(k:10) A[i, k] * B[k, j]\noutput C\n",
};

/* "NAME:" before the text asks for the alternative of that name. */
static inline const tc_workload *workload_of(tc_ctx *c, const char *text) {
    const char *colon = text + strcspn(text, " :");
    const tc_workload *w;
    tc_error err;
    if (tc_te_parse(c, "family", *colon == ':' ? colon + 1 : text, &w, &err) != TC_OK)
        fail_msg("%s", err.msg);
    if (*colon != ':')
        return w;
    tc_space_alternative_list l = tc_space_alternatives(c, w, TC_ACCURACY_ALL);
    for (int i = 0; i < l.n; i++)
        if (strncmp(l.data[i].name, text, (size_t)(colon - text)) == 0)
            return l.data[i].workload;
    fail_msg("there is no such alternative: %s", text);
    return NULL;
}

#endif
