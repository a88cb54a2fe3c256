/* oneDNN. A step is one primitive: conv, deconv, matmul SRC WEIGHTS BIAS|- DST; pool, reduce, softmax, reorder SRC DST;
 * eltwise SRC DST; norm SRC SCALE SHIFT DST; binary SRC0 SRC1 DST. Memories in a layout of the library's choice ('?') are
 * reordered once, before anything is timed. post= is a list, separated by ';', of relu, relu6, gelu, add:MEMORY; scale=
 * multiplies the result.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onednn.h"
#include "op_peers.h"

enum { MAX_ARGS = 12, MAX_POSTS = 4 };

/* A memory as this variant uses it. */
typedef struct node {
    dnnl_memory_desc_t plain, md;
    bool placed; /* md is decided */
    dnnl_memory_t mem;
} node;

typedef struct primitive {
    dnnl_primitive_t p;
    dnnl_exec_arg_t arg[MAX_ARGS];
    int index[MAX_ARGS]; /* the node of each argument: bound once all layouts are known */
    int narg;
} primitive;

typedef struct state {
    program *program;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    node node[MAX_MEMORIES];
    primitive prim[MAX_STEPS];
    int nprim;
    char how[512];
} state;

static void release(void *p) {
    state *s = p;
    for (int i = 0; i < s->nprim; i++)
        dnnl_primitive_destroy(s->prim[i].p);
    for (int i = 0; i < MAX_MEMORIES; i++)
        dnnl_memory_destroy(s->node[i].mem);
    dnnl_stream_destroy(s->stream);
    dnnl_engine_destroy(s->engine);
    free(s);
}

/* ---- memories ---- */

static bool describe(state *s) {
    for (int i = 0; i < s->program->nmemory; i++) {
        const memory *m = &s->program->memory[i];
        node *n = &s->node[i];
        TRY(dnnl_memory_desc_init_by_strides(&n->plain, m->ndim, m->dims, dnnl_f32, m->strides));
        n->md = n->plain;
    }
    return true;
}

/* The layout to ask for. */
static bool wanted(const state *s, const char *word, int *index, dnnl_memory_desc_t *md) {
    *index = op_memory(s->program, word);
    if (*index < 0)
        return false;
    const node *n = &s->node[*index];
    *md = n->md;
    if (word[0] == '?' && !n->placed)
        TRY(dnnl_memory_desc_init_by_tag(md, n->plain.ndims, n->plain.dims, dnnl_f32, dnnl_format_tag_any));
    return true;
}

/* The first primitive that uses a memory decides its layout. */
static void place(state *s, int index, const_dnnl_primitive_desc_t desc, dnnl_query_t query, int query_index) {
    node *n = &s->node[index];
    const dnnl_memory_desc_t *got = dnnl_primitive_desc_query_md(desc, query, query_index);
    if (!n->placed && got)
        n->md = *got;
    n->placed = true;
}

static bool reorder(state *s, const dnnl_memory_desc_t *from, dnnl_memory_t a, const dnnl_memory_desc_t *to, dnnl_memory_t b) {
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t p;
    TRY(dnnl_reorder_primitive_desc_create(&desc, from, s->engine, to, s->engine, NULL));
    TRY(dnnl_primitive_create(&p, desc));
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, a}, {DNNL_ARG_TO, b}};
    TRY(dnnl_primitive_execute(p, s->stream, 2, args));
    TRY(dnnl_stream_wait(s->stream));
    dnnl_primitive_destroy(p);
    dnnl_primitive_desc_destroy(desc);
    return true;
}

/* Memory in the decided layout, with the values of inputs. */
static bool allocate(state *s, int i) {
    node *n = &s->node[i];
    const memory *m = &s->program->memory[i];
    if (dnnl_memory_desc_equal(&n->md, &n->plain)) {
        TRY(dnnl_memory_create(&n->mem, &n->md, s->engine, m->data));
        return true;
    }
    TRY(dnnl_memory_create(&n->mem, &n->md, s->engine, DNNL_MEMORY_ALLOCATE));
    if (m->role != ROLE_IN && m->role != ROLE_CONST)
        return true;
    dnnl_memory_t given;
    TRY(dnnl_memory_create(&given, &n->plain, s->engine, m->data));
    bool ok = reorder(s, &n->plain, given, &n->md, n->mem);
    dnnl_memory_destroy(given);
    return ok;
}

static bool fetch(void *p) {
    state *s = p;
    for (int i = 0; i < s->program->nmemory; i++) {
        node *n = &s->node[i];
        dnnl_memory_t given;
        if (s->program->memory[i].role != ROLE_OUT || dnnl_memory_desc_equal(&n->md, &n->plain))
            continue;
        TRY(dnnl_memory_create(&given, &n->plain, s->engine, s->program->memory[i].data));
        bool ok = reorder(s, &n->md, n->mem, &n->plain, given);
        dnnl_memory_destroy(given);
        if (!ok)
            return false;
    }
    return true;
}

/* ---- attributes ---- */

static void bind(primitive *p, int arg, int index) {
    p->arg[p->narg].arg = arg;
    p->index[p->narg++] = index;
}

static bool append_post(state *s, primitive *p, dnnl_post_ops_t ops, const char *word, int at) {
    if (strcmp(word, "relu") == 0)
        TRY(dnnl_post_ops_append_eltwise(ops, 1.0F, dnnl_eltwise_relu, 0.0F, 0.0F));
    else if (strcmp(word, "relu6") == 0)
        TRY(dnnl_post_ops_append_eltwise(ops, 1.0F, dnnl_eltwise_bounded_relu, 6.0F, 0.0F));
    else if (strcmp(word, "gelu") == 0)
        TRY(dnnl_post_ops_append_eltwise(ops, 1.0F, dnnl_eltwise_gelu_erf, 0.0F, 0.0F));
    else if (strncmp(word, "add:", 4) == 0) {
        int index = op_memory(s->program, word + 4);
        if (index < 0)
            return false;
        s->node[index].placed = true;
        TRY(dnnl_post_ops_append_binary(ops, dnnl_binary_add, &s->node[index].md));
        bind(p, DNNL_ARG_ATTR_MULTIPLE_POST_OP(at) | DNNL_ARG_SRC_1, index);
    } else {
        fprintf(stderr, "op_peers: no post-op '%s'\n", word);
        return false;
    }
    return true;
}

static bool attributes(state *s, primitive *p, const step *x, dnnl_primitive_attr_t *attr) {
    char text[256], *next;
    const char *post = op_value(x, "post"), *scale = op_value(x, "scale");
    dnnl_post_ops_t ops;
    int at = 0;
    TRY(dnnl_primitive_attr_create(attr));
    if (scale) {
        float value = strtof(scale, NULL);
        TRY(dnnl_primitive_attr_set_output_scales(*attr, 1, 0, &value));
    }
    if (!post)
        return true;
    snprintf(text, sizeof text, "%s", post);
    TRY(dnnl_post_ops_create(&ops));
    for (char *w = strtok_r(text, ";", &next); w; w = strtok_r(NULL, ";", &next))
        if (!append_post(s, p, ops, w, at++))
            return false;
    TRY(dnnl_primitive_attr_set_post_ops(*attr, ops));
    dnnl_post_ops_destroy(ops);
    return true;
}

static void say_how(state *s, const_dnnl_primitive_desc_t desc) {
    const char *name = "?";
    size_t n = strlen(s->how);
    dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, (void *)&name);
    snprintf(s->how + n, sizeof s->how - n, "%s%s", n ? " + " : "", name);
}

/* ---- primitives ---- */

/* What a step's call needs, whichever it is. */
typedef struct operands {
    int index[5];
    dnnl_memory_desc_t md[5];
    int n;
} operands;

static bool take_operands(const state *s, const step *x, operands *o) {
    for (int i = 1; i < x->nword && !strchr(x->word[i], '='); i++) {
        if (o->n == 5)
            return false;
        o->index[o->n] = -1;
        if (strcmp(x->word[i], "-") != 0 && !wanted(s, x->word[i], &o->index[o->n], &o->md[o->n]))
            return false;
        o->n++;
    }
    return true;
}

/* The primitive of an operation descriptor. */
static bool make(state *s, const void *op, const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *desc, primitive *p) {
    if (dnnl_primitive_desc_create(desc, op, attr, s->engine, NULL) != dnnl_success)
        return false; /* a variant that there is not */
    TRY(dnnl_primitive_create(&p->p, *desc));
    say_how(s, *desc);
    return true;
}

/* SRC WEIGHTS BIAS DST of what has weights. */
static void bind_weighted(state *s, primitive *p, const operands *o, const_dnnl_primitive_desc_t desc) {
    place(s, o->index[0], desc, dnnl_query_src_md, 0);
    place(s, o->index[1], desc, dnnl_query_weights_md, 0);
    place(s, o->index[3], desc, dnnl_query_dst_md, 0);
    bind(p, DNNL_ARG_SRC, o->index[0]);
    bind(p, DNNL_ARG_WEIGHTS, o->index[1]);
    if (o->index[2] >= 0) {
        place(s, o->index[2], desc, dnnl_query_weights_md, 1);
        bind(p, DNNL_ARG_BIAS, o->index[2]);
    }
    bind(p, DNNL_ARG_DST, o->index[3]);
}

static bool convolution(state *s, const step *x, const operands *o, const_dnnl_primitive_attr_t attr, primitive *p) {
    dnnl_dims_t strides = {0}, dilates = {0}, before = {0}, after = {0};
    const dnnl_memory_desc_t *bias = o->index[2] >= 0 ? &o->md[2] : NULL;
    bool transposed = strcmp(x->word[0], "deconv") == 0, winograd = op_number(x, "winograd", 0) != 0;
    dnnl_convolution_desc_t conv;
    dnnl_deconvolution_desc_t deconv;
    dnnl_primitive_desc_t desc;
    op_numbers(x, "strides", strides, MAX_DIMS);
    op_numbers(x, "dilates", dilates, MAX_DIMS);
    op_numbers(x, "before", before, MAX_DIMS);
    op_numbers(x, "after", after, MAX_DIMS);
    if (transposed)
        TRY(dnnl_dilated_deconvolution_forward_desc_init(&deconv, dnnl_forward_inference, dnnl_deconvolution_direct, &o->md[0],
                                                         &o->md[1], bias, &o->md[3], strides, dilates, before, after));
    else
        TRY(dnnl_dilated_convolution_forward_desc_init(&conv, dnnl_forward_inference,
                                                       winograd ? dnnl_convolution_winograd : dnnl_convolution_direct, &o->md[0],
                                                       &o->md[1], bias, &o->md[3], strides, dilates, before, after));
    if (!make(s, transposed ? (const void *)&deconv : (const void *)&conv, attr, &desc, p))
        return false;
    bind_weighted(s, p, o, desc);
    dnnl_primitive_desc_destroy(desc);
    return true;
}

static bool matmul(state *s, const step *x, const operands *o, const_dnnl_primitive_attr_t attr, primitive *p) {
    dnnl_matmul_desc_t op;
    dnnl_primitive_desc_t desc;
    (void)x;
    TRY(dnnl_matmul_desc_init(&op, &o->md[0], &o->md[1], o->index[2] >= 0 ? &o->md[2] : NULL, &o->md[3]));
    if (!make(s, &op, attr, &desc, p))
        return false;
    bind_weighted(s, p, o, desc);
    dnnl_primitive_desc_destroy(desc);
    return true;
}

/* SRC DST of what has no weights. */
static bool finish_unary(state *s, const void *op, const operands *o, const_dnnl_primitive_attr_t attr, primitive *p) {
    dnnl_primitive_desc_t desc;
    if (!make(s, op, attr, &desc, p))
        return false;
    place(s, o->index[0], desc, dnnl_query_src_md, 0);
    place(s, o->index[1], desc, dnnl_query_dst_md, 0);
    bind(p, DNNL_ARG_SRC, o->index[0]);
    bind(p, DNNL_ARG_DST, o->index[1]);
    dnnl_primitive_desc_destroy(desc);
    return true;
}

static bool pool(state *s, const step *x, const operands *o, const_dnnl_primitive_attr_t attr, primitive *p) {
    dnnl_dims_t strides = {0}, kernel = {0}, dilates = {0}, before = {0}, after = {0};
    dnnl_pooling_v2_desc_t op;
    const char *kind = op_value(x, "kind");
    op_numbers(x, "strides", strides, MAX_DIMS);
    op_numbers(x, "kernel", kernel, MAX_DIMS);
    op_numbers(x, "before", before, MAX_DIMS);
    op_numbers(x, "after", after, MAX_DIMS);
    TRY(dnnl_pooling_v2_forward_desc_init(&op, dnnl_forward_inference,
                                          kind && strcmp(kind, "max") == 0 ? dnnl_pooling_max : dnnl_pooling_avg, &o->md[0],
                                          &o->md[1], strides, kernel, dilates, before, after));
    return finish_unary(s, &op, o, attr, p);
}

static bool softmax(state *s, const step *x, const operands *o, const_dnnl_primitive_attr_t attr, primitive *p) {
    dnnl_softmax_v2_desc_t op;
    TRY(dnnl_softmax_v2_forward_desc_init(&op, dnnl_forward_inference, dnnl_softmax_accurate, &o->md[0], &o->md[1],
                                          (int)op_number(x, "axis", o->md[0].ndims - 1)));
    return finish_unary(s, &op, o, attr, p);
}

/* The root of the sum of squares. */
static bool reduce(state *s, const step *x, const operands *o, const_dnnl_primitive_attr_t attr, primitive *p) {
    dnnl_reduction_desc_t op;
    (void)x;
    TRY(dnnl_reduction_desc_init(&op, dnnl_reduction_norm_lp_sum, &o->md[0], &o->md[1], 2.0F, 0.0F));
    return finish_unary(s, &op, o, attr, p);
}

static bool gelu(state *s, const step *x, const operands *o, const_dnnl_primitive_attr_t attr, primitive *p) {
    dnnl_eltwise_desc_t op;
    (void)x;
    TRY(dnnl_eltwise_forward_desc_init(&op, dnnl_forward_inference, dnnl_eltwise_gelu_erf, &o->md[0], 0.0F, 0.0F));
    return finish_unary(s, &op, o, attr, p);
}

static bool copy(state *s, const step *x, const operands *o, const_dnnl_primitive_attr_t attr, primitive *p) {
    dnnl_primitive_desc_t desc;
    (void)x;
    TRY(dnnl_reorder_primitive_desc_create(&desc, &o->md[0], s->engine, &o->md[1], s->engine, attr));
    TRY(dnnl_primitive_create(&p->p, desc));
    say_how(s, desc);
    bind(p, DNNL_ARG_FROM, o->index[0]);
    bind(p, DNNL_ARG_TO, o->index[1]);
    dnnl_primitive_desc_destroy(desc);
    return true;
}

static bool binary(state *s, const step *x, const operands *o, const_dnnl_primitive_attr_t attr, primitive *p) {
    dnnl_binary_desc_t op;
    dnnl_primitive_desc_t desc;
    (void)x;
    TRY(dnnl_binary_desc_init(&op, dnnl_binary_add, &o->md[0], &o->md[1], &o->md[2]));
    if (!make(s, &op, attr, &desc, p))
        return false;
    bind(p, DNNL_ARG_SRC_0, o->index[0]);
    bind(p, DNNL_ARG_SRC_1, o->index[1]);
    bind(p, DNNL_ARG_DST, o->index[2]);
    dnnl_primitive_desc_destroy(desc);
    return true;
}

static bool normalisation(state *s, const step *x, const operands *o, const_dnnl_primitive_attr_t attr, primitive *p) {
    dnnl_layer_normalization_desc_t op;
    dnnl_primitive_desc_t desc;
    const char *epsilon = op_value(x, "epsilon");
    TRY(dnnl_layer_normalization_forward_desc_init(&op, dnnl_forward_inference, &o->md[0], NULL,
                                                   epsilon ? strtof(epsilon, NULL) : 1e-5F, dnnl_use_scale | dnnl_use_shift));
    if (!make(s, &op, attr, &desc, p))
        return false;
    bind(p, DNNL_ARG_SRC, o->index[0]);
    bind(p, DNNL_ARG_SCALE, o->index[1]);
    bind(p, DNNL_ARG_SHIFT, o->index[2]);
    bind(p, DNNL_ARG_DST, o->index[3]);
    dnnl_primitive_desc_destroy(desc);
    return true;
}

typedef bool maker(state *s, const step *x, const operands *o, const_dnnl_primitive_attr_t attr, primitive *p);

static const struct call {
    const char *name;
    maker *make;
    int operands;
} calls[] = {{"conv", convolution, 4}, {"deconv", convolution, 4}, {"matmul", matmul, 4}, {"pool", pool, 2},
             {"softmax", softmax, 2},  {"reduce", reduce, 2},      {"gelu", gelu, 2},     {"reorder", copy, 2},
             {"binary", binary, 3},    {"norm", normalisation, 4}};

static bool add_step(state *s, const step *x) {
    operands o = {0};
    primitive *p = &s->prim[s->nprim];
    dnnl_primitive_attr_t attr = NULL;
    bool ok = take_operands(s, x, &o) && attributes(s, p, x, &attr);
    for (size_t i = 0; ok && i < sizeof calls / sizeof *calls; i++) {
        if (strcmp(calls[i].name, x->word[0]) != 0)
            continue;
        ok = o.n == calls[i].operands && calls[i].make(s, x, &o, attr, p);
        s->nprim += p->p != NULL;
        dnnl_primitive_attr_destroy(attr);
        return ok;
    }
    fprintf(stderr, "op_peers: cannot make '%s'\n", x->word[0]);
    return false;
}

static bool build(state *s, const variant *v) {
    TRY(dnnl_engine_create(&s->engine, dnnl_cpu, 0));
    TRY(dnnl_stream_create(&s->stream, s->engine, dnnl_stream_default_flags));
    if (!describe(s))
        return false;
    for (int i = 0; i < v->nstep; i++)
        if (!add_step(s, &v->step[i]))
            return false;
    for (int i = 0; i < s->program->nmemory; i++)
        if (!allocate(s, i))
            return false;
    for (int i = 0; i < s->nprim; i++)
        for (int k = 0; k < s->prim[i].narg; k++)
            s->prim[i].arg[k].memory = s->node[s->prim[i].index[k]].mem;
    return true;
}

static void *prepare(program *p, const variant *v) {
    omp_set_num_threads(p->threads);
    state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->program = p;
    if (build(s, v))
        return s;
    release(s);
    return NULL;
}

static bool run(void *p) {
    state *s = p;
    for (int i = 0; i < s->nprim; i++)
        TRY(dnnl_primitive_execute(s->prim[i].p, s->stream, s->prim[i].narg, s->prim[i].arg));
    TRY(dnnl_stream_wait(s->stream));
    return true;
}

static const char *version(void) {
    static char text[32];
    const dnnl_version_t *v = dnnl_version();
    snprintf(text, sizeof text, "%d.%d.%d", v->major, v->minor, v->patch);
    return text;
}

static const char *chosen(void *p) {
    return ((state *)p)->how;
}

const op_peer op_onednn = {"onednn", prepare, run, fetch, release, version, chosen};
