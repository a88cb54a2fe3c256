/* OpenBLAS's sgemm, sgemv and sdot. Steps: norm X Y k=, the root of the sum of squares; and gemm A B C batch= m= n= k= lda= ldb=
 * ldc= a= b= c= [transb=1], where a, b and c are the distances between the matrices of a batch. A batch is shared out among the
 * threads, a matrix each; a single product gets them all. */
#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "op_peers.h"

typedef struct state {
    const float *a, *b;
    float *c;
    blasint m, n, k, lda, ldb, ldc;
    int64_t batch, da, db, dc;
    CBLAS_TRANSPOSE transb;
    int threads;
    bool norm;
} state;

static void *prepare(program *p, const variant *v) {
    const step *s = &v->step[0];
    state *x = calloc(1, sizeof *x);
    bool norm = strcmp(s->word[0], "norm") == 0;
    int a = op_memory(p, s->word[1]), b = op_memory(p, s->word[norm ? 1 : 2]), c = op_memory(p, s->word[norm ? 2 : 3]);
    if (!x || a < 0 || b < 0 || c < 0)
        exit(1);
    *x = (state){.a = p->memory[a].data,
                 .b = p->memory[b].data,
                 .c = p->memory[c].data,
                 .m = (blasint)op_number(s, "m", 1),
                 .n = (blasint)op_number(s, "n", 1),
                 .k = (blasint)op_number(s, "k", 1),
                 .lda = (blasint)op_number(s, "lda", 1),
                 .ldb = (blasint)op_number(s, "ldb", 1),
                 .ldc = (blasint)op_number(s, "ldc", 1),
                 .batch = op_number(s, "batch", 1),
                 .da = op_number(s, "a", 0),
                 .db = op_number(s, "b", 0),
                 .dc = op_number(s, "c", 0),
                 .transb = op_number(s, "transb", 0) ? CblasTrans : CblasNoTrans,
                 .threads = p->threads,
                 .norm = norm};
    openblas_set_num_threads(x->batch > 1 ? 1 : p->threads);
    return x;
}

static void product(const state *x, int64_t i) {
    const float *a = x->a + i * x->da, *b = x->b + i * x->db;
    float *c = x->c + i * x->dc;
    if (x->m == 1)
        cblas_sgemv(CblasRowMajor, x->transb == CblasTrans ? CblasNoTrans : CblasTrans, x->transb == CblasTrans ? x->n : x->k,
                    x->transb == CblasTrans ? x->k : x->n, 1.0F, b, x->ldb, a, 1, 0.0F, c, 1);
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, x->transb, x->m, x->n, x->k, 1.0F, a, x->lda, b, x->ldb, 0.0F, c, x->ldc);
}

static bool run(void *p) {
    const state *x = p;
    if (x->norm) {
        *x->c = sqrtf(cblas_sdot(x->k, x->a, 1, x->a, 1));
        return true;
    }
    if (x->batch == 1) {
        product(x, 0);
        return true;
    }
#pragma omp parallel for num_threads(x->threads) schedule(static)
    for (int64_t i = 0; i < x->batch; i++)
        product(x, i);
    return true;
}

static const char *version(void) {
    return openblas_get_config();
}

const op_peer op_openblas = {"openblas", prepare, run, NULL, free, version, NULL};
