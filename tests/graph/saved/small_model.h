/* A matmul and an addition for 2 threads, built only to be saved. */
#ifndef TC_TESTS_SMALL_MODEL_H
#define TC_TESTS_SMALL_MODEL_H

#include "graph/graph_test.h"
#include "graph/saved/saved.h"
#include "te/text.h"

#define SMALL_MODEL(inner)                                                                                                       \
    "tensor X[64, " inner "] f32\n"                                                                                              \
    "tensor W[" inner ", 256] f32 const\n"                                                                                       \
    "compute D[i:64, j:256] = sum(k:" inner ") X[i, k] * W[k, j]\n"                                                              \
    "compute Y[i:64, j:256] = D[i, j] + 1\n"                                                                                     \
    "output Y\n"

typedef struct small_model {
    tc_ctx *ctx;
    tc_target *target;
    tc_graph_program *program;
    tc_graph_model *model;
} small_model;

static inline small_model small_model_open(const char *te, const char *target) {
    small_model s = {.ctx = tc_ctx_new()};
    const tc_workload *w;
    assert_ok(tc_target_parse(target, &s.target, err));
    assert_ok(tc_te_parse(s.ctx, "small.te", te, &w, err));
    assert_ok(tc_graph_program_of_workload(w, "small", NULL, 0, 7, &s.program, err));
    tc_graph_build_options o = {.target = s.target, .threads = 2, .object_only = true};
    assert_ok(tc_graph_model_build(s.program, &o, &s.model, err));
    return s;
}

static inline void small_model_close(small_model *s) {
    tc_graph_model_free(s->model);
    tc_graph_program_free(s->program);
    tc_target_free(s->target);
    tc_ctx_free(s->ctx);
}

static inline bool small_model_has(const char *program) {
    char command[200];
    snprintf(command, sizeof command, "command -v %s >/dev/null", program);
    return system(command) == 0;
}

#endif
