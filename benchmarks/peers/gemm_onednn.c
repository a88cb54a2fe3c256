/* oneDNN's matmul with weights in the layout that it prefers ("any"), reordered once. */
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "gemm_peers.h"
#include "onednn.h"

typedef struct state {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_t matmul;
    dnnl_memory_t a, b, c;
} state;

static void release(void *p) {
    state *s = p;
    dnnl_memory_destroy(s->a);
    dnnl_memory_destroy(s->b);
    dnnl_memory_destroy(s->c);
    dnnl_primitive_destroy(s->matmul);
    dnnl_stream_destroy(s->stream);
    dnnl_engine_destroy(s->engine);
    free(s);
}

/* Of a, b and c. */
static const dnnl_data_type_t types[GEMM_TYPES][3] = {
    [GEMM_F32] = {dnnl_f32, dnnl_f32, dnnl_f32},
    [GEMM_BF16] = {dnnl_bf16, dnnl_bf16, dnnl_f32},
    [GEMM_U8S8] = {dnnl_u8, dnnl_s8, dnnl_s32},
};

static bool matrix(dnnl_memory_desc_t *d, int64_t rows, int64_t columns, dnnl_data_type_t type, dnnl_format_tag_t layout) {
    dnnl_dims_t dims = {rows, columns};
    TRY(dnnl_memory_desc_init_by_tag(d, 2, dims, type, layout));
    return true;
}

/* B in the layout that the primitive chose. */
static bool pack(state *s, const gemm *g, const dnnl_memory_desc_t *layout) {
    dnnl_memory_desc_t plain;
    dnnl_memory_t from;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t reorder;
    if (!matrix(&plain, g->k, g->n, types[g->type][1], dnnl_ab))
        return false;
    TRY(dnnl_memory_create(&s->b, layout, s->engine, DNNL_MEMORY_ALLOCATE));
    TRY(dnnl_memory_create(&from, &plain, s->engine, (void *)(uintptr_t)g->b));
    TRY(dnnl_reorder_primitive_desc_create(&desc, &plain, s->engine, layout, s->engine, NULL));
    TRY(dnnl_primitive_create(&reorder, desc));
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, s->b}};
    TRY(dnnl_primitive_execute(reorder, s->stream, 2, args));
    TRY(dnnl_stream_wait(s->stream));
    dnnl_primitive_destroy(reorder);
    dnnl_primitive_desc_destroy(desc);
    dnnl_memory_destroy(from);
    return true;
}

static bool build(state *s, const gemm *g) {
    dnnl_memory_desc_t a, b, c;
    dnnl_matmul_desc_t op;
    dnnl_primitive_desc_t desc;
    TRY(dnnl_engine_create(&s->engine, dnnl_cpu, 0));
    TRY(dnnl_stream_create(&s->stream, s->engine, dnnl_stream_default_flags));
    if (!matrix(&a, g->m, g->k, types[g->type][0], dnnl_ab) || !matrix(&b, g->k, g->n, types[g->type][1], dnnl_format_tag_any) ||
        !matrix(&c, g->m, g->n, types[g->type][2], dnnl_ab))
        return false;
    TRY(dnnl_matmul_desc_init(&op, &a, &b, NULL, &c));
    TRY(dnnl_primitive_desc_create(&desc, &op, NULL, s->engine, NULL));
    TRY(dnnl_primitive_create(&s->matmul, desc));
    TRY(dnnl_memory_create(&s->a, &a, s->engine, (void *)(uintptr_t)g->a));
    TRY(dnnl_memory_create(&s->c, &c, s->engine, g->c));
    bool ok = pack(s, g, dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0));
    dnnl_primitive_desc_destroy(desc);
    return ok;
}

static void *prepare(const gemm *g) {
    omp_set_num_threads(g->threads);
    state *s = calloc(1, sizeof *s);
    if (s && build(s, g))
        return s;
    release(s);
    return NULL;
}

static void run(void *p, const gemm *g) {
    (void)g;
    state *s = p;
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, s->a}, {DNNL_ARG_WEIGHTS, s->b}, {DNNL_ARG_DST, s->c}};
    if (dnnl_primitive_execute(s->matmul, s->stream, 3, args) != dnnl_success || dnnl_stream_wait(s->stream) != dnnl_success) {
        fprintf(stderr, "oneDNN: the matmul failed\n");
        exit(1);
    }
}

static const char *version(void) {
    static char text[32];
    const dnnl_version_t *v = dnnl_version();
    snprintf(text, sizeof text, "%d.%d.%d", v->major, v->minor, v->patch);
    return text;
}

const gemm_peer gemm_onednn = {"onednn", true, prepare, run, release, version};
