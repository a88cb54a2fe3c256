/* What the tests of lowering share: running a program by the tensor-expression interpreter, and its compiled form, and comparing
 * both with the reference evaluator. */
#ifndef TC_TESTS_LOWER_COMMON_H
#define TC_TESTS_LOWER_COMMON_H

#include "graph/graph_test.h"
#include "graph/model/parts.h"
#include "graph/passes/pass.h"

/* As graph text: the sums can be written over what they add to, and while they are made the arena is at its fullest. The widths
 * are ragged for every vector. */
#define RESIDUALS                                                                                                                \
    "input %x : f32[40,100]\n"                                                                                                   \
    "const %w0 : f32[100,90]\n"                                                                                                  \
    "const %w1 : f32[90,90]\n"                                                                                                   \
    "const %w2 : f32[90,90]\n"                                                                                                   \
    "const %w3 : f32[90,90]\n"                                                                                                   \
    "const %w4 : f32[90,50]\n"                                                                                                   \
    "%a = MatMul(%x, %w0)\n"                                                                                                     \
    "%b = MatMul(%a, %w1)\n"                                                                                                     \
    "%c = MatMul(%b, %w2)\n"                                                                                                     \
    "%d = Add(%c, %a)\n"                                                                                                         \
    "%e = Tanh(%d)\n"                                                                                                            \
    "%f = MatMul(%e, %w3)\n"                                                                                                     \
    "%g = Mul(%f, %d)\n"                                                                                                         \
    "%h = MatMul(%g, %w4)\n"                                                                                                     \
    "output y = %h\n"

/* A library kernel, without threads. */
static inline tc_status run_library(const tc_graph_launch *x, void *const *args, tc_error *err) {
    void *workspace = tc_graph_aligned_alloc(x->library->workspace(x->params, 1), NULL);
    int32_t code = x->library->run(args, workspace, NULL);
    free(workspace);
    return code ? tc_fail(err, TC_ENV, "%s: status %d", x->name, (int)code) : TC_OK;
}

/* Sizes that depend on data are outputs themselves. */
static inline void trim_output(const tc_graph_program *p, void *const *memory, int o, tc_graph_tensor *t) {
    tc_graph_shape s = t->shape;
    for (int d = 0; d < s.ndim; d++)
        if (p->out[o].extent[d])
            s.d[d] = *(const int64_t *)memory[p->out_slot[p->out[o].extent[d]]];
    if (p->out[o].is_dense)
        t->shape = s;
    else
        tc_graph_tensor_trim(t, &s);
}

/* How often the bodies of its computes are evaluated. */
static inline double points_of(const tc_workload *w) {
    double all = 0;
    for (int i = 0; i < w->ncompute; i++) {
        double n = 1;
        for (int k = 0; k < w->computes[i]->naxis; k++)
            n *= (double)w->computes[i]->axes[k].extent;
        for (int k = 0; k < w->computes[i]->nraxis; k++)
            n *= (double)w->computes[i]->raxes[k].extent;
        all += n;
    }
    return all;
}

/* The reference of a kernel; where sizes vary, of the workload for those that its last argument says. *points is added to. */
static inline tc_status interpret_kernel(const tc_workload *w, void *const *args, double *points, tc_error *err) {
    if (!w->nsymbol)
        *points += points_of(w);
    if (!w->nsymbol)
        return tc_te_interp(w, (const void *const *)args, args + w->nin, err);
    tc_ctx *c = tc_ctx_new();
    const tc_workload *at;
    tc_status s = tc_te_at(c, w, args[w->nin + w->nout], &at, err);
    if (s == TC_OK)
        *points += points_of(at);
    if (s == TC_OK)
        s = tc_te_interp(at, (const void *const *)args, args + w->nin, err);
    tc_ctx_free(c);
    return s;
}

/* A copy or a decision; *at: the launch to go on with, which is the next one so far. */
static inline void run_control(const tc_graph_launch *x, void *const *args, int *at) {
    if (x->kind == TC_CG_DO)
        memmove((char *)args[1] + (x->nargs == 3 ? x->bytes * *(const int64_t *)args[2] : 0), args[0], (size_t)x->bytes);
    else if (x->kind == TC_CG_UNLESS)
        *at = *(const uint8_t *)args[0] ? *at : x->target;
    else if (x->kind == TC_CG_UNLESS_LESS)
        *at = *(const int64_t *)args[0] < *(const int64_t *)args[1] ? *at : x->target;
    else
        *at = x->target;
    if (x->kind == TC_CG_AGAIN)
        ++*(int64_t *)args[0];
}

/* What lies past the sizes of a run is no number. */
static inline void **interpreter_memory(const tc_graph_program *p) {
    void **memory = tc_xcalloc((size_t)p->nslot + 1, sizeof *memory);
    for (int i = 0; i < p->nslot; i++)
        if (p->slots[i].within < 0)
            memory[i] =
                memset(tc_xcalloc((size_t)p->slots[i].bytes + 8, 1), p->rules.nsize ? 0xff : 0, (size_t)p->slots[i].bytes);
    for (int i = 0; i < p->nslot; i++) {
        int64_t at;
        int whole = tc_graph_whole_of(p, i, &at);
        memory[i] = (char *)memory[whole] + at;
    }
    return memory;
}

/* Inputs, dense in their sizes, behind them the sizes, and constants. */
static inline void fill_memory(const tc_graph_program *p, const tc_graph_tensor *in, const int64_t *sizes, void **memory) {
    for (int i = 0; i < p->nslot; i++) {
        const tc_graph_slot *s = &p->slots[i];
        if (s->kind == TC_GRAPH_SLOT_INPUT && s->input < p->rules.nin)
            memcpy(memory[i], in[s->input].data, tc_graph_tensor_bytes(&in[s->input]));
        else if (s->kind == TC_GRAPH_SLOT_INPUT)
            *(int64_t *)memory[i] = sizes[s->input - p->rules.nin];
        else if (s->kind == TC_GRAPH_SLOT_CONST)
            memcpy(memory[i], s->constant->data, (size_t)s->bytes);
    }
}

/* Runs every launch by tc_te_interp, or as the library kernel or step that it is. out[] are OWNED. *work: what these computed and
 * copied: points, and bytes. */
static inline tc_status interpret_counting(const tc_graph_program *p, const tc_graph_tensor *in, tc_graph_tensor *out,
                                           double *work, tc_error *err) {
    *work = 0;
    int64_t *sizes = tc_xcalloc((size_t)p->rules.nsize + 1, sizeof *sizes);
    void **memory = interpreter_memory(p);
    tc_status s = tc_graph_size_rules_bind(&p->rules, in, sizes, err);
    if (s == TC_OK)
        fill_memory(p, in, sizes, memory);
    free(sizes);
    for (int i = 0; i < p->nlaunch && s == TC_OK;) {
        const tc_graph_launch *x = &p->launches[i++];
        const tc_workload *w = x->task < 0 ? NULL : p->tasks[x->task].workload;
        void **args = tc_xcalloc((size_t)x->nargs + 1, sizeof *args);
        for (int k = 0; k < x->nargs; k++)
            args[k] = memory[x->args[k]];
        if (w)
            s = interpret_kernel(w, args, work, err);
        else if (x->library)
            s = run_library(x, args, err);
        else
            run_control(x, args, &i);
        *work += w || x->library || x->kind != TC_CG_DO ? 0 : (double)x->bytes;
        free(args);
    }
    for (int o = 0; o < p->nshown && s == TC_OK; o++) {
        s = tc_graph_tensor_alloc(&out[o], p->out[o].dtype, &p->out[o].shape, err);
        if (s != TC_OK)
            break;
        memcpy(out[o].data, memory[p->out_slot[o]], tc_graph_tensor_bytes(&out[o]));
        trim_output(p, memory, o, &out[o]);
    }
    for (int i = 0; i < p->nslot; i++)
        if (p->slots[i].within < 0)
            free(memory[i]);
    free(memory);
    return s;
}

static inline tc_status interpret_program(const tc_graph_program *p, const tc_graph_tensor *in, tc_graph_tensor *out,
                                          tc_error *err) {
    double work;
    return interpret_counting(p, in, out, &work, err);
}

static inline tc_status compile_and_run(const tc_graph_program *p, const tc_target *t, const tc_graph_tensor *in,
                                        tc_graph_tensor *out, tc_error *err) {
    tc_graph_model *m;
    tc_status s = tc_graph_model_build(p, &(tc_graph_build_options){.target = t, .threads = 2}, &m, err);
    if (s == TC_OK) {
        s = tc_graph_model_run(m, in, out, err);
        tc_graph_model_free(m);
    }
    return s;
}

#endif
