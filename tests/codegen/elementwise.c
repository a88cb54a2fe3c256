#include "elementwise.h"

#include <stdio.h>
#include <string.h>

static const tc_buffer *param(tc_ctx *c, tc_param *p, int kind, int i, int index, tc_dtype t, int64_t n) {
    char name[16];
    snprintf(name, sizeof name, "%s%d", kind == TC_PARAM_OUT ? "out" : "in", index);
    const tc_buffer *b = tc_tir_buffer(c, name, t, n, TC_BUF_PARAM, NULL);
    ((tc_buffer *)b)->param = i;
    ((tc_buffer *)b)->align = 64;
    p[i] = (tc_param){.buffer = b, .kind = kind, .index = index};
    return b;
}

static const tc_stmt *loop(tc_ctx *c, const tc_param *p, int nin, const tc_buffer *to, const kernel_output *out, int64_t n,
                           int lanes) {
    const tc_var *i = tc_var_new(c, "i");
    const tc_expr *base = tc_mul(c, tc_varx(c, i), tc_i64(c, lanes));
    const tc_expr *at = lanes == 1 ? base : tc_ramp(c, base, tc_i64(c, 1), lanes), *v[TEST_MAX_IN];
    for (int a = 0; a < nin; a++)
        v[a] = tc_load(c, p[a].buffer, p[a].buffer->dtype, at, NULL);
    const tc_stmt *s = tc_tir_store(c, to, at, out->map(c, v, out->user), NULL);
    return tc_tir_for(c, i, tc_i64(c, n / lanes), TC_FOR_SERIAL, false, s);
}

void kernel_elementwise_all(kernel *k, int nin, const tc_dtype *in, int nout, const kernel_output *out, int64_t n, int lanes) {
    tc_ctx *c = tc_ctx_new();
    *k = (kernel){.ctx = c};
    tc_param *p = TC_NEW_N(tc_ctx_arena(c), tc_param, nin + nout);
    for (int a = 0; a < nin; a++)
        param(c, p, TC_PARAM_IN, a, a, in[a], n);
    const tc_stmt **loops = TC_NEW_N(tc_ctx_arena(c), const tc_stmt *, nout);
    for (int o = 0; o < nout; o++)
        loops[o] = loop(c, p, nin, param(c, p, TC_PARAM_OUT, nin + o, o, out[o].dtype, n), &out[o], n, lanes);
    tc_func *f = TC_NEW(tc_ctx_arena(c), tc_func);
    f->name = "elementwise";
    f->nparam = nin + nout;
    f->params = p;
    f->body = tc_tir_seq(c, nout, loops);
    k->f = f;
    kernel_compile(k, kernel_target(), &(tc_cg_options){.verify = true});
}

void kernel_elementwise(kernel *k, int nin, const tc_dtype *in, tc_dtype out, int64_t n, int lanes, kernel_map *map, void *user) {
    kernel_elementwise_all(k, nin, in, 1, &(kernel_output){out, map, user}, n, lanes);
}
