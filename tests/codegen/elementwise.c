#include "elementwise.h"

#include <stdio.h>
#include <string.h>

static const tc_buffer *param(tc_ctx *c, tc_param *p, int i, const char *name, tc_dtype t, int64_t n, bool out) {
    const tc_buffer *b = tc_tir_buffer(c, name, t, n, TC_BUF_PARAM, NULL);
    ((tc_buffer *)b)->param = i;
    ((tc_buffer *)b)->align = 64;
    p[i] = (tc_param){.buffer = b, .kind = out ? TC_PARAM_OUT : TC_PARAM_IN, .index = out ? 0 : i};
    return b;
}

void kernel_elementwise(kernel *k, int nin, const tc_dtype *in, tc_dtype out, int64_t n, int lanes, kernel_map *map, void *user) {
    tc_ctx *c = tc_ctx_new();
    *k = (kernel){.ctx = c};
    tc_param *p = TC_NEW_N(tc_ctx_arena(c), tc_param, nin + 1);
    const tc_var *i = tc_var_new(c, "i");
    const tc_expr *base = tc_mul(c, tc_varx(c, i), tc_i64(c, lanes));
    const tc_expr *at = lanes == 1 ? base : tc_ramp(c, base, tc_i64(c, 1), lanes), *v[TEST_MAX_IN];
    for (int a = 0; a < nin; a++) {
        char name[16];
        snprintf(name, sizeof name, "in%d", a);
        v[a] = tc_load(c, param(c, p, a, name, in[a], n, false), in[a], at, NULL);
    }
    const tc_stmt *s = tc_tir_store(c, param(c, p, nin, "out", out, n, true), at, map(c, v, user), NULL);
    tc_func *f = TC_NEW(tc_ctx_arena(c), tc_func);
    f->name = "elementwise";
    f->nparam = nin + 1;
    f->params = p;
    f->body = tc_tir_for(c, i, tc_i64(c, n / lanes), TC_FOR_SERIAL, false, s);
    k->f = f;
    kernel_compile(k, kernel_target(), &(tc_cg_options){.verify = true});
}
