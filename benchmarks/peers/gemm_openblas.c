/* OpenBLAS's sgemm. It has no call that packs B once: every run packs it. */
#include <cblas.h>
#include <stdlib.h>

#include "gemm_peers.h"

static void *prepare(const gemm *g) {
    openblas_set_num_threads(g->threads);
    return malloc(1);
}

static void run(void *state, const gemm *g) {
    (void)state;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)g->m, (blasint)g->n, (blasint)g->k, 1.0F, g->a, (blasint)g->k,
                g->b, (blasint)g->n, 0.0F, g->c, (blasint)g->n);
}

static const char *version(void) {
    return openblas_get_config();
}

const gemm_peer gemm_openblas = {"openblas", false, prepare, run, free, version};
