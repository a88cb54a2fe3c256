/* Caches that grow in place: random models that decode, step after step in one buffer, give what the graph as it was imported
 * gives with the past copied; runs write new rows and nothing else of the buffer. As the library's own calls, as shared libraries
 * and C source, and by the public API. And what is refused. */
#include <math.h>

#include "graph/graph_test.h"
#include "graph/ops/functions.h"
#include "graph/passes/pass.h"
#include "graph/saved/built_models.h"
#include "support/rng.h"
#include "tctune/tctune.h"

enum { MOST_CACHES = 2, MOST_RESULTS = 2, PORTS = 16, PAST = 9, ROWS = 4, POISON = 0xff /* floats of it are no numbers */ };
/* Seeds of which the models are GroupQueryAttention. */
enum { GROUP = 1 << 16 };
static const char path[] = SCRATCH("grow.onnx");

/* ---- models ---- */

typedef enum news { AS_GIVEN, NEGATED, TRANSPOSED, DOUBLED, NEWS } news;

/* x [before.., rows, behind..] behind pasts of such shapes. */
typedef struct decoder {
    tc_rng rng;
    tc_dtype dtype;
    int before, behind, ncache, nresult;
    int64_t dims[4];                            /* of both; of the first, where it varies, the most */
    bool batch, width, total, maximum, attends; /* batch, width: the first and the last vary */
    bool group;                                 /* GroupQueryAttention: sequences of different lengths */
    int queries;                                /* heads of them that share one of the cache's */
    news made[MOST_CACHES];
} decoder;

static decoder draw_group(uint64_t seed) {
    decoder d = {.rng = tc_rng_seed(seed), .dtype = TC_F32, .group = true, .before = 2, .behind = 1, .ncache = 2, .nresult = 1};
    d.batch = tc_rng_below(&d.rng, 4) > 0;
    d.dims[0] = d.batch ? 3 : 1 + tc_rng_below(&d.rng, 3);
    d.dims[1] = 1 + tc_rng_below(&d.rng, 3);
    d.dims[2] = 1 + tc_rng_below(&d.rng, 20);
    d.queries = 1 + (int)tc_rng_below(&d.rng, 3);
    d.total = tc_rng_below(&d.rng, 2);
    return d;
}

static decoder draw(uint64_t seed) {
    static const tc_dtype types[] = {TC_F32, TC_F32, TC_F32, TC_I8, TC_F16, TC_I64};
    decoder d = {.rng = tc_rng_seed(seed)};
    d.dtype = types[tc_rng_below(&d.rng, (int64_t)TC_LEN(types))];
    d.before = (int)tc_rng_below(&d.rng, 3);
    d.behind = (int)tc_rng_below(&d.rng, d.before == 2 ? 2 : 3);
    for (int i = 0; i < d.before + d.behind; i++)
        d.dims[i] = 1 + tc_rng_below(&d.rng, 5);
    d.batch = d.before > 0 && tc_rng_below(&d.rng, 2);
    if (d.batch)
        d.dims[0] = 3;
    d.width = d.behind > 0 && tc_rng_below(&d.rng, 4) == 0;
    if (d.width)
        d.dims[d.before + d.behind - 1] = 5;
    d.ncache = 1 + (int)tc_rng_below(&d.rng, MOST_CACHES);
    for (int i = 0; i < d.ncache; i++) {
        d.made[i] = (news)tc_rng_below(&d.rng, NEWS);
        if (d.made[i] == TRANSPOSED && (d.before == 0 || d.batch))
            d.made[i] = AS_GIVEN;
    }
    d.maximum = d.dtype == TC_F32 && tc_rng_below(&d.rng, 2);
    d.attends = d.dtype == TC_F32 && d.behind == 1 && !d.width && d.ncache == 2 && d.before > 0;
    d.total = tc_rng_below(&d.rng, 2);
    return d;
}

/* "batch,2,past,4" */
static const char *dims_of(const decoder *d, const char *rows, bool swapped, char text[64]) {
    char *at = text;
    for (int i = 0; i <= d->before + d->behind; i++) {
        int k =
            swapped && i >= d->before - 1 && i <= d->before ? 2 * d->before - 1 - i : i; /* rows and what stands before them */
        at += sprintf(at, "%s", i ? "," : "");
        if (k == d->before)
            at += sprintf(at, "%s", rows);
        else if (k == 0 && d->batch)
            at += sprintf(at, "batch");
        else if (k == d->before + d->behind && d->width)
            at += sprintf(at, "width");
        else
            at += sprintf(at, "%d", (int)d->dims[k < d->before ? k : k - 1]);
    }
    return text;
}

static void add_new(tc_graph_writer *w, const decoder *d, int i) {
    char x[16], name[16], text[64], both[40], perm[40] = "";
    snprintf(x, sizeof x, "x%d", i);
    snprintf(name, sizeof name, "n%d", i);
    tc_graph_writer_input(w, d->made[i] == AS_GIVEN ? name : x, d->dtype, dims_of(d, "rows", d->made[i] == TRANSPOSED, text));
    if (d->made[i] == NEGATED)
        tc_graph_writer_node(w, "Neg", "", x, name);
    if (d->made[i] == DOUBLED) {
        snprintf(both, sizeof both, "%s,%s", x, x);
        tc_graph_writer_node(w, "Add", "", both, name);
    }
    if (d->made[i] != TRANSPOSED)
        return;
    for (int k = 0; k <= d->before + d->behind; k++)
        sprintf(perm + strlen(perm), "%s%d", k ? "," : "", k == d->before - 1 ? k + 1 : k == d->before ? k - 1 : k);
    tc_graph_writer_node(w, "Transpose", "", x, name);
    tc_graph_writer_ints(w, "perm", perm);
}

/* softmax(n0 p0^T) p1 */
static void add_attention(tc_graph_writer *w, const decoder *d) {
    tc_graph_writer_node(w, "Transpose", "", "p0", "t");
    tc_graph_writer_ints(w, "perm", d->before == 1 ? "0,2,1" : "0,1,3,2");
    tc_graph_writer_node(w, "MatMul", "", "n0,t", "s");
    tc_graph_writer_node(w, "Softmax", "", "s", "a");
    tc_graph_writer_node(w, "MatMul", "", "a,p1", "y");
    tc_graph_writer_output(w, "y", d->dtype, NULL);
}

/* Attention over both caches; how long sequences are with their new rows, less one, is an input. */
static void save_group(const decoder *d) {
    static const char *const names[] = {"q", "n0", "n1"};
    tc_graph_writer *w = tc_graph_writer_new("decoder", 17);
    char batch[16] = "batch", text[64], row[40], name[16];
    if (!d->batch)
        snprintf(batch, sizeof batch, "%d", (int)d->dims[0]);
    for (int i = 0; i < 3; i++) {
        snprintf(row, sizeof row, "%s,rows,%d", batch, (int)(d->dims[1] * d->dims[2]) * (i ? 1 : d->queries));
        tc_graph_writer_input(w, names[i], TC_F32, row);
    }
    for (int i = 0; i < d->ncache; i++) {
        snprintf(name, sizeof name, "o%d", i);
        tc_graph_writer_input(w, name, TC_F32, dims_of(d, "past", false, text));
        snprintf(name, sizeof name, "p%d", i);
        tc_graph_writer_output(w, name, TC_F32, d->total ? dims_of(d, "total", false, text) : NULL);
    }
    tc_graph_writer_input(w, "lengths", TC_I32, batch);
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    for (int i = 0; i < 2; i++) {
        tc_graph_writer_node(w, "Shape", "", i ? "q" : "o0", i ? "s1" : "s0");
        tc_graph_writer_int(w, "start", i ? 1 : 2);
        tc_graph_writer_int(w, "end", i ? 2 : 3);
    }
    tc_graph_writer_node(w, "Add", "", "s0,s1", "s");
    tc_graph_writer_node(w, "Cast", "", "s", "all");
    tc_graph_writer_int(w, "to", 6);
    tc_graph_writer_node(w, "GroupQueryAttention", "attend", "q,n0,n1,o0,o1,lengths,all", "y,p0,p1");
    tc_graph_writer_domain(w, "com.microsoft");
    tc_graph_writer_int(w, "num_heads", d->dims[1] * d->queries);
    tc_graph_writer_int(w, "kv_num_heads", d->dims[1]);
    assert_ok(tc_graph_writer_save(w, path, err));
    tc_graph_writer_free(w);
}

static void save(decoder *d) {
    if (d->group) {
        save_group(d);
        return;
    }
    tc_graph_writer *w = tc_graph_writer_new("decoder", 17);
    char text[64], old[16], name[16], in[40], axis[16];
    for (int i = 0; i < d->ncache; i++) {
        snprintf(old, sizeof old, "o%d", i);
        snprintf(name, sizeof name, "p%d", i);
        snprintf(in, sizeof in, "o%d,n%d", i, i);
        add_new(w, d, i);
        tc_graph_writer_input(w, old, d->dtype, dims_of(d, "past", false, text));
        tc_graph_writer_output(w, name, d->dtype, d->total ? dims_of(d, "total", false, text) : NULL);
        tc_graph_writer_node(w, "Concat", name, in, name);
        tc_graph_writer_int(w, "axis", d->before);
    }
    if (d->maximum) {
        snprintf(axis, sizeof axis, "%d", d->before);
        tc_graph_writer_output(w, "m", d->dtype, NULL);
        tc_graph_writer_node(w, "ReduceMax", "", "p0", "m");
        tc_graph_writer_ints(w, "axes", axis);
    }
    if (d->attends)
        add_attention(w, d);
    d->nresult = d->maximum + d->attends;
    assert_ok(tc_graph_writer_save(w, path, err));
    tc_graph_writer_free(w);
}

static const tc_graph_binding ranges[] = {
    {"past", 1, {{0, PAST, 1}}}, {"rows", 1, {{1, ROWS, 1}}}, {"batch", 1, {{1, 3, 1}}}, {"width", 1, {{2, 5, 1}}}};

static tc_graph *import(const decoder *d) {
    tc_graph *g;
    tc_graph_binding dims[4];
    size_t n = 2;
    memcpy(dims, ranges, sizeof dims);
    if (d->batch)
        dims[n++] = ranges[2];
    if (d->width)
        dims[n++] = ranges[3];
    assert_ok(tc_graph_import(path, &(tc_graph_import_options){.shapes = dims, .nshapes = n}, &g, err));
    return g;
}

/* The model in place; b->graph is the one that copies. */
typedef struct both {
    built b;
    tc_graph *grown;
} both;

static both open_both(uint64_t seed, decoder *d) {
    both x = {.b.name = "decoder"};
    *d = seed & GROUP ? draw_group(seed) : draw(seed);
    save(d);
    x.b.graph = import(d);
    x.grown = import(d);
    assert_ok(tc_graph_grow_in_place(x.grown, err));
    assert_ok(tc_graph_passes(x.grown, NULL, err));
    assert_ok(tc_graph_program_new(x.grown, &x.b.program, err));
    assert_ok(tc_target_parse("native", &x.b.target, err));
    assert_ok(tc_graph_model_build(x.b.program, &(tc_graph_build_options){.target = x.b.target, .threads = BUILT_THREADS},
                                   &x.b.model, err));
    return x;
}

static void close_both(both *x) {
    built_close(&x->b);
    tc_graph_free(x->grown);
}

/* ---- steps ---- */

/* What a run is given, what it should give, and the memory of its outputs: buffers of caches are those of all steps. */
typedef struct step {
    int nin, nout; /* without sizes */
    tc_graph_tensor in[PORTS], want[PORTS], out[PORTS];
    int64_t sizes[5], past, rows;
} step;

static const tc_graph_port *port_of(const built *b, int output) {
    return &b->model->out[output];
}

static void set_sizes(const built *b, step *s, int64_t batch, int64_t past, int64_t rows) {
    const tc_graph_size_rules *r = tc_graph_model_sizes(b->model);
    for (int k = 0; k < r->nsize; k++) {
        const char *name = r->size[k].name;
        s->sizes[k] = strcmp(name, "past") == 0 ? past : strcmp(name, "rows") == 0 ? rows : batch + (*name == 'w');
    }
    s->past = past;
    s->rows = rows;
}

static void open_steps(const built *b, step *s) {
    const tc_graph_port *ports;
    *s = (step){.nin = tc_graph_model_inputs(b->model, &ports), .nout = tc_graph_model_outputs(b->model, &ports)};
    for (int i = 0; i < s->nout; i++) {
        s->out[i] = tc_graph_tensor_view(ports[i].dtype, &ports[i].shape, NULL);
        s->out[i].data = tc_graph_aligned_alloc((int64_t)tc_graph_tensor_bytes(&s->out[i]), NULL);
        memset(s->out[i].data, POISON, tc_graph_tensor_bytes(&s->out[i]));
    }
}

static void close_steps(step *s) {
    for (int i = 0; i < s->nout; i++)
        free(s->out[i].data);
}

/* Of sequences with their new rows, less one: what there may be, and one in eight that may not. */
static void draw_lengths(tc_graph_tensor *t, uint64_t seed, int64_t past, int64_t rows) {
    static const int32_t bad[] = {-1, -7, INT32_MIN, INT32_MAX, PAST + ROWS + 3};
    tc_rng rng = tc_rng_seed(seed);
    for (int64_t i = 0; i < tc_graph_shape_count(&t->shape); i++)
        ((int32_t *)t->data)[i] = tc_rng_below(&rng, 8) ? (int32_t)(rows - 1 + tc_rng_below(&rng, past + 1))
                                                        : bad[tc_rng_below(&rng, (int64_t)TC_LEN(bad))];
}

/* Draws the inputs; pasts are what the step before returned, where there was one. */
static void begin(const built *b, step *s, uint64_t seed, int64_t batch, int64_t past, int64_t rows, bool first) {
    set_sizes(b, s, batch, past, rows);
    assert_ok(tc_graph_model_random_inputs(b->model, s->sizes, seed, s->in, err));
    for (int i = 0; i < s->nin; i++)
        if (s->in[i].dtype == TC_I32)
            draw_lengths(&s->in[i], seed, past, rows);
    for (int i = 0; i < s->nin && !first; i++) {
        int output = b->model->in[i].shared - 1;
        if (output < 0)
            continue;
        assert_int_equal(tc_graph_tensor_bytes(&s->in[i]), tc_graph_tensor_bytes(&s->want[output]));
        memcpy(s->in[i].data, s->want[output].data, tc_graph_tensor_bytes(&s->in[i]));
    }
    for (int i = 0; i < s->nout && !first; i++)
        tc_graph_tensor_free(&s->want[i]);
    assert_ok(tc_graph_eval(b->graph, s->in, s->want, err));
}

static void end(step *s, bool last) {
    for (int i = 0; i < s->nin; i++)
        tc_graph_tensor_free(&s->in[i]);
    for (int i = 0; i < s->nout && last; i++)
        tc_graph_tensor_free(&s->want[i]);
}

/* What the run gives of output i stands in its place in the buffer, and all else is as it was. */
static void expect_buffer(const built *b, const step *s, int i) {
    const tc_graph_port *p = port_of(b, i);
    const tc_graph_shape *want = &s->want[i].shape;
    size_t size = (size_t)tc_dtype_bytes(p->dtype), next = 0;
    assert_int_equal(want->d[p->rows], s->past + s->rows);
    for (int64_t k = 0; k < tc_graph_shape_count(&p->shape); k++) {
        const uint8_t *at = (uint8_t *)s->out[i].data + (size_t)k * size;
        bool inside = true;
        int64_t left = k;
        for (int d = p->shape.ndim - 1; d >= 0; left /= p->shape.d[d--])
            inside &= left % p->shape.d[d] < want->d[d];
        for (size_t e = 0; e < size && !inside; e++)
            assert_int_equal(at[e], POISON);
        if (inside && memcmp(at, (uint8_t *)s->want[i].data + size * next++, size) != 0)
            fail_msg("output %d: element %d of the buffer differs at %d + %d rows", i, (int)k, (int)s->past, (int)s->rows);
    }
}

/* Dense in the shape of the run. */
static void expect_result(const step *s, int i) {
    tc_graph_tensor got = tc_graph_tensor_view(s->want[i].dtype, &s->want[i].shape, s->out[i].data);
    tc_graph_diff d;
    assert_ok(tc_graph_tensor_compare(&got, &s->want[i], 0, 0, &d, err));
    assert_true(d.rel <= 1e-5);
}

static void expect_outputs(const built *b, const step *s) {
    for (int i = 0; i < s->nout; i++)
        if (port_of(b, i)->shared)
            expect_buffer(b, s, i);
        else
            expect_result(s, i);
}

/* How a step is run: pasts lie in their buffers unless `apart` says that they come from elsewhere. */
typedef void run_step(const built *b, step *s, bool apart, void *user);

static void run_model(const built *b, step *s, bool apart, void *user) {
    tc_graph_tensor in[PORTS];
    (void)user;
    memcpy(in, s->in, sizeof in);
    for (int i = 0; i < s->nin && !apart; i++)
        if (b->model->in[i].shared)
            in[i].data = s->out[b->model->in[i].shared - 1].data;
    assert_ok(tc_graph_model_run_into(b->model, in, s->out, err));
    for (int i = 0; i < s->nout; i++)
        assert_true(tc_graph_shape_equal(tc_graph_model_output_shape(b->model, i), &s->want[i].shape));
}

/* Decodes until the buffers are full. */
static void decode(const built *b, uint64_t seed, run_step *run, void *user) {
    tc_rng rng = tc_rng_seed(seed ^ 0x5eed);
    step s;
    int64_t batch = 1 + tc_rng_below(&rng, 3), past = tc_rng_below(&rng, 3) * 2, rows = 0;
    open_steps(b, &s);
    for (bool first = true; past <= PAST; first = false, past += rows) {
        rows = past == PAST ? ROWS : 1 + tc_rng_below(&rng, TC_MIN(ROWS, PAST - past));
        begin(b, &s, (uint64_t)tc_rng_below(&rng, 1 << 20), batch, past, rows, first);
        run(b, &s, first, user);
        expect_outputs(b, &s);
        end(&s, past == PAST);
    }
    close_steps(&s);
}

static void expect_random(uint64_t seed) {
    decoder d;
    both x = open_both(seed, &d);
    for (uint64_t k = 0; k < 3; k++)
        decode(&x.b, seed + 1000 * k, run_model, NULL);
    close_both(&x);
}

static void test_random(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_some_graphs(60); seed++)
        expect_random(seed);
}

static void test_groups(void **state) {
    (void)state;
    for (uint64_t seed = GROUP; seed < GROUP + test_some_graphs(40); seed++)
        expect_random(seed);
}

static void expect_own(const step *s, tc_graph_tensor *out) {
    for (int i = 0; i < s->nout; i++) {
        tc_graph_diff diff;
        assert_ok(tc_graph_tensor_compare(&out[i], &s->want[i], 0, 0, &diff, err));
        assert_true(diff.rel <= 1e-5);
        tc_graph_tensor_free(&out[i]);
    }
}

/* Outputs of the library's own memory are cut to the run, and so are those of the evaluated graph. */
static void expect_by_itself(uint64_t seed) {
    decoder d;
    step s;
    tc_graph_tensor out[PORTS];
    both x = open_both(seed, &d);
    open_steps(&x.b, &s);
    begin(&x.b, &s, seed, 2, 5, 3, true);
    assert_ok(tc_graph_model_run(x.b.model, s.in, out, err));
    expect_own(&s, out);
    assert_ok(tc_graph_eval(x.grown, s.in, out, err));
    expect_own(&s, out);
    end(&s, true);
    close_steps(&s);
    close_both(&x);
}

static void test_by_itself(void **state) {
    (void)state;
    for (uint64_t seed = 100; seed < 106; seed++) {
        expect_by_itself(seed);
        expect_by_itself(GROUP + seed);
    }
}

/* ---- libraries and C source ---- */

static int32_t call(const built *b, const built_library *l, const step *s, int apart) {
    const void *in[PORTS];
    void *out[PORTS];
    static int64_t sizes[PORTS];
    for (int i = 0; i < s->nout; i++)
        out[i] = s->out[i].data;
    for (int i = s->nout; i < b->model->nout; i++)
        out[i] = &sizes[i];
    for (int i = 0; i < s->nin; i++)
        in[i] = b->model->in[i].shared && i != apart ? out[b->model->in[i].shared - 1] : s->in[i].data;
    for (int i = s->nin; i < b->model->nin; i++)
        in[i] = &s->sizes[i - s->nin];
    return l->run(in, out);
}

/* The first step finds its past in the buffer, as a caller that starts in the middle puts it there. */
static void fill_buffers(const built *b, step *s) {
    for (int i = 0; i < s->nin; i++) {
        int output = b->model->in[i].shared - 1;
        if (output >= 0)
            tc_graph_tensor_place(&s->in[i], &port_of(b, output)->shape, s->out[output].data);
    }
}

static void run_saved(const built *b, step *s, bool apart, void *user) {
    int shared = 0;
    if (apart)
        fill_buffers(b, s);
    while (!b->model->in[shared].shared)
        shared++;
    int64_t *past = &s->sizes[b->model->in[shared].extent[b->model->in[shared].rows] - s->nin], was = *past;
    *past = PAST + 1;
    assert_int_equal(call(b, user, s, -1), -2);
    *past = was;
    assert_int_equal(call(b, user, s, shared), -3);
    tc_graph_tensor *buffer = &s->out[b->model->in[shared].shared - 1];
    buffer->data = (uint8_t *)buffer->data + 16;
    assert_int_equal(call(b, user, s, -1), -3);
    buffer->data = (uint8_t *)buffer->data - 16;
    assert_int_equal(call(b, user, s, -1), 0);
}

static void expect_library(uint64_t seed, const char *compile) {
    decoder d;
    both x = open_both(seed, &d);
    built_library l = built_load(&x.b, SCRATCH("grow.so"), compile);
    decode(&x.b, seed, run_saved, &l);
    dlclose(l.handle);
    close_both(&x);
}

static void test_library(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_some_graphs(12); seed++)
        expect_library(seed | (seed % 3 ? 0 : GROUP), NULL);
}

static void test_source(void **state) {
    (void)state;
    if (system("gcc --version > /dev/null 2>&1") != 0)
        return;
    for (uint64_t seed = 0; seed < 4; seed++)
        expect_library(seed | (seed % 2 ? 0 : GROUP), "gcc -O0");
}

/* What a library's file says of itself is all that there is when it is loaded. */
static void test_loaded(void **state) {
    (void)state;
    decoder d;
    both x = open_both(0, &d);
    built loaded = x.b;
    assert_ok(tc_graph_model_save(x.b.model, SCRATCH("grow_loaded.so"), "decoder", err));
    assert_ok(tc_graph_model_load(SCRATCH("grow_loaded.so"), 0, &loaded.model, err));
    decode(&loaded, 7, run_model, NULL);
    tc_graph_model_free(loaded.model);
    close_both(&x);
}

/* ---- the public API ---- */

static DLTensor as_dl(tc_graph_tensor *t, int64_t *strides) {
    return (DLTensor){.data = t->data,
                      .device = {kDLCPU, 0},
                      .ndim = t->shape.ndim,
                      .dtype = {kDLFloat, 32, 1},
                      .shape = t->shape.d,
                      .strides = strides};
}

static void test_api(void **state) {
    (void)state;
    static const char *const shapes[] = {"past=0..9", "rows=1..4", NULL};
    tc_graph_writer *w = tc_graph_writer_new("cache", 17);
    tctune_work_options wo = {.struct_size = sizeof wo, .model = path, .shapes = shapes, .in_place_cache = 1};
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1};
    tctune_work *work;
    tctune_model *m;
    char error[512] = "";
    int rows = 0;
    tc_graph_writer_input(w, "new", TC_F32, "2,rows,3");
    tc_graph_writer_input(w, "old", TC_F32, "2,past,3");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "Concat", "join", "old,new", "y");
    tc_graph_writer_int(w, "axis", 1);
    assert_ok(tc_graph_writer_save(w, path, err));
    tc_graph_writer_free(w);
    if (tctune_open(&wo, &work, error, sizeof error) != TCTUNE_OK || tctune_build(work, &o, &m, error, sizeof error) != TCTUNE_OK)
        fail_msg("%s", error);
    tctune_work_free(work);
    assert_int_equal(tctune_model_grows(m, 0, &rows), -1);
    assert_int_equal(tctune_model_grows(m, 1, &rows), 0);
    assert_int_equal(rows, 1);
    static _Alignas(64) float buffer[2 * 13 * 3 + 4];
    float fresh[2 * 2 * 3];
    int64_t strides[] = {13 * 3, 3, 1}, dense[] = {5 * 3, 3, 1};
    for (int i = 0; i < 78; i++)
        buffer[i] = (float)i;
    for (int i = 0; i < 12; i++)
        fresh[i] = (float)(1000 + i);
    tc_graph_tensor x = f32_tensor((tc_graph_shape)DIMS(2, 2, 3), fresh), old = f32_tensor((tc_graph_shape)DIMS(2, 5, 3), buffer),
                    y = f32_tensor((tc_graph_shape)DIMS(2, 13, 3), buffer);
    DLTensor in[] = {as_dl(&x, NULL), as_dl(&old, strides)}, out[] = {as_dl(&y, NULL)};
    if (tctune_model_run(m, in, out, error, sizeof error) != TCTUNE_OK)
        fail_msg("%s", error);
    for (int i = 0; i < 78; i++) {
        int block = i / 39, row = i % 39 / 3, k = i % 3;
        assert_true(buffer[i] == (float)(row == 5 || row == 6 ? 1000 + block * 6 + (row - 5) * 3 + k : i));
    }
    assert_int_equal(tctune_model_output_shape(m, 0)[1], 7);
    in[1].strides = dense;
    assert_int_equal(tctune_model_run(m, in, out, error, sizeof error), TCTUNE_BAD_INPUT);
    assert_non_null(strstr(error, "input 'old' lies in the buffer of 'y' and is f32[2,5,3] with strides [15,3,1]; there"));
    assert_non_null(strstr(error, "the strides of f32[2,13,3]"));
    float elsewhere[2 * 5 * 3];
    for (int i = 0; i < 30; i++)
        elsewhere[i] = (float)(-1 - i);
    in[1].data = elsewhere;
    if (tctune_model_run(m, in, out, error, sizeof error) != TCTUNE_OK)
        fail_msg("%s", error);
    for (int i = 0; i < 30; i++)
        assert_true(buffer[i / 15 * 39 + i % 15] == elsewhere[i]);
    assert_true(buffer[39 + 15] == 1006);
    in[1].strides = strides;
    assert_int_equal(tctune_model_run(m, in, out, error, sizeof error), TCTUNE_BAD_INPUT);
    assert_non_null(strstr(error, "input 'old' is f32[2,5,3] with strides [39,3,1]; it must be a dense tensor"));
    in[1].data = out[0].data = buffer + 4;
    assert_int_equal(tctune_model_run(m, in, out, error, sizeof error), TCTUNE_BAD_INPUT);
    assert_non_null(strstr(error, "the buffer 'y', which grows in place, must be aligned to 64 bytes"));
    tctune_model_free(m);
}

/* ---- what is refused ---- */

static tc_graph_writer *cache(const char *old, const char *fresh, const char *axis) {
    tc_graph_writer *w = tc_graph_writer_new("cache", 17);
    tc_graph_writer_input(w, "old", TC_F32, old);
    tc_graph_writer_input(w, "new", TC_F32, fresh);
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "Concat", "join", "old,new", "y");
    tc_graph_writer_int(w, "axis", strtol(axis, NULL, 10));
    return w;
}

#define assert_does_not_grow(writer, ...)                                                                                        \
    do {                                                                                                                         \
        tc_graph *g_;                                                                                                            \
        tc_graph_import_options o_ = {.shapes = ranges, .nshapes = 3};                                                           \
        assert_ok(import_model((writer), path, &o_, &g_, err));                                                                  \
        assert_fails(TC_BAD_INPUT, tc_graph_grow_in_place(g_, err), __VA_ARGS__);                                                \
        tc_graph_free(g_);                                                                                                       \
    } while (0)

static void test_refused(void **state) {
    (void)state;
    tc_graph_writer *w = cache("batch,past,2", "batch,rows,2", "1");
    tc_graph_writer_output(w, "z", TC_F32, NULL);
    tc_graph_writer_node(w, "Neg", "again", "old", "z");
    assert_does_not_grow(w, "node 'join", "'old' and the output 'y' cannot be one buffer", "node 'again' reads the input too");
    w = cache("past,batch", "rows,batch", "0");
    tc_graph_writer_output(w, "z", TC_F32, NULL);
    tc_graph_writer_node(w, "Identity", "", "y", "z");
    assert_does_not_grow(w, "it is returned by 2 names");
    w = tc_graph_writer_new("none", 17);
    tc_graph_writer_input(w, "old", TC_F32, "past,2");
    tc_graph_writer_input(w, "new", TC_F32, "rows,batch");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_output(w, "z", TC_F32, NULL);
    tc_graph_writer_node(w, "Neg", "", "old", "y");
    tc_graph_writer_node(w, "Neg", "", "new", "z");
    assert_does_not_grow(w, "no cache can grow in place", "Concat", "GroupQueryAttention", "--in-place-cache");
    decoder d = draw_group(1);
    tc_graph *g;
    tc_graph_binding fixed[3];
    memcpy(fixed, ranges, sizeof fixed);
    fixed[0].d[0] = (tc_graph_range){5, 5, 1};
    d.batch = true;
    d.total = false;
    save(&d);
    assert_ok(tc_graph_import(path, &(tc_graph_import_options){.shapes = fixed, .nshapes = 3}, &g, err));
    assert_fails(TC_BAD_INPUT, tc_graph_grow_in_place(g, err), "node 'attend", "the input has 5 rows in every run", "--shape");
    tc_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random),    cmocka_unit_test(test_groups),
                                       cmocka_unit_test(test_by_itself), cmocka_unit_test(test_library),
                                       cmocka_unit_test(test_source),    cmocka_unit_test(test_loaded),
                                       cmocka_unit_test(test_api),       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
