/* Caches that are buffers: GroupQueryAttention whose past and present are one buffer of a fixed number of rows, which sequences fill
 * at their own pace. A prompt, then token after token: results are those of the network that copies, and of the buffer no byte but
 * the new rows changes. In this process, as a shared library, as C source and by the public API. And what is refused. */
#include <math.h>

#include "graph/graph_test.h"
#include "graph/passes/pass.h"
#include "graph/saved/built_models.h"
#include "support/rng.h"
#include "tctune/tctune.h"

enum { ROOM = 11, ROWS = 4, BATCH = 3, INPUTS = 16, POISON = 0xff /* floats of it are no numbers */ };
static const char path[] = SCRATCH("buffers.onnx");

/* Where the model has the rows of the longest sequence from. */
typedef enum total { OF_MASK, GIVEN, FIXED, TOTALS } total;

typedef struct model {
    tc_rng rng;
    int64_t heads, queries, width, rows, window, batch; /* heads of the cache; queries for each; rows, batch: 0: they vary */
    int64_t fixed;                                      /* where the total is a number of the model: it */
    bool packed, rotary, interleaved, capped;
    total total;
} model;

static model draw(uint64_t seed) {
    model m = {.rng = tc_rng_seed(seed)};
    m.total = (total)(seed % TOTALS);
    m.heads = 1 + tc_rng_below(&m.rng, 2);
    m.queries = 1 + tc_rng_below(&m.rng, 3);
    m.width = 2 * (1 + tc_rng_below(&m.rng, 9));
    m.rows = m.total == FIXED || tc_rng_below(&m.rng, 3) == 0 ? 1 + tc_rng_below(&m.rng, ROWS) : 0;
    m.fixed = m.total == FIXED ? m.rows + (tc_rng_below(&m.rng, 3) ? tc_rng_below(&m.rng, ROOM - m.rows + 1) : 0) : 0;
    m.batch = m.total == FIXED || tc_rng_below(&m.rng, 2) ? 1 + tc_rng_below(&m.rng, BATCH) : 0;
    m.window = tc_rng_below(&m.rng, 2) ? 1 + tc_rng_below(&m.rng, 5) : -1;
    m.packed = tc_rng_below(&m.rng, 2);
    m.rotary = tc_rng_below(&m.rng, 2);
    m.interleaved = tc_rng_below(&m.rng, 2);
    m.capped = tc_rng_below(&m.rng, 4) == 0;
    return m;
}

/* ---- the file ---- */

static const char *number_or(char text[24], int64_t n, const char *symbol) {
    snprintf(text, 24, "%lld", (long long)n);
    return n ? text : symbol;
}

static void add_input(tc_graph_writer *w, const model *m, const char *name, int64_t width) {
    char batch[24], rows[24], dims[64];
    snprintf(dims, sizeof dims, "%s,%s,%lld", number_or(batch, m->batch, "batch"), number_or(rows, m->rows, "rows"),
             (long long)width);
    tc_graph_writer_input(w, name, TC_F32, dims);
}

static void add_total(tc_graph_writer *w, const model *m) {
    char batch[24], dims[32];
    int32_t fixed = (int32_t)m->fixed;
    if (m->total == FIXED)
        tc_graph_writer_weight(w, "total", tc_graph_tensor_view(TC_I32, &(tc_graph_shape){0}, &fixed));
    if (m->total == GIVEN)
        tc_graph_writer_input(w, "total", TC_I32, "");
    if (m->total != OF_MASK)
        return;
    snprintf(dims, sizeof dims, "%s,all", number_or(batch, m->batch, "batch"));
    tc_graph_writer_input(w, "mask", TC_F32, dims);
    tc_graph_writer_node(w, "Shape", "", "mask", "shape");
    tc_graph_writer_int(w, "start", 1);
    tc_graph_writer_node(w, "Cast", "", "shape", "total");
    tc_graph_writer_int(w, "to", 6);
}

static void save(model *m) {
    static float cos[ROOM * 16], sin[ROOM * 16];
    tc_graph_writer *w = tc_graph_writer_new("decoder", 17);
    int64_t own = m->heads * m->width, half = m->width / 2;
    char batch[24], cache[64], in[96];
    snprintf(cache, sizeof cache, "%s,%lld,%d,%lld", number_or(batch, m->batch, "batch"), (long long)m->heads, ROOM,
             (long long)m->width);
    add_input(w, m, "q", own * (m->queries + (m->packed ? 2 : 0)));
    for (int i = 0; i < 2 && !m->packed; i++)
        add_input(w, m, i ? "v" : "k", own);
    for (int i = 0; i < 2; i++) {
        tc_graph_writer_input(w, i ? "past_v" : "past_k", TC_F32, cache);
        tc_graph_writer_output(w, i ? "present_v" : "present_k", TC_F32, NULL);
    }
    tc_graph_writer_input(w, "lengths", TC_I32, number_or(batch, m->batch, "batch"));
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    add_total(w, m);
    for (int64_t i = 0; i < ROOM * half; i++) {
        cos[i] = (float)(tc_rng_below(&m->rng, 201) - 100) / 100;
        sin[i] = (float)(tc_rng_below(&m->rng, 201) - 100) / 100;
    }
    if (m->rotary) {
        tc_graph_writer_weight(w, "cos", f32_tensor((tc_graph_shape)DIMS(ROOM, half), cos));
        tc_graph_writer_weight(w, "sin", f32_tensor((tc_graph_shape)DIMS(ROOM, half), sin));
    }
    snprintf(in, sizeof in, "q,%s,past_k,past_v,lengths,total%s", m->packed ? "," : "k,v", m->rotary ? ",cos,sin" : "");
    tc_graph_writer_node(w, "GroupQueryAttention", "attend", in, "y,present_k,present_v");
    tc_graph_writer_domain(w, "com.microsoft");
    tc_graph_writer_int(w, "num_heads", m->heads * m->queries);
    tc_graph_writer_int(w, "kv_num_heads", m->heads);
    tc_graph_writer_int(w, "local_window_size", m->window);
    tc_graph_writer_int(w, "do_rotary", m->rotary);
    tc_graph_writer_int(w, "rotary_interleaved", m->interleaved);
    if (m->capped)
        tc_graph_writer_float(w, "softcap", 2);
    assert_ok(tc_graph_writer_save(w, path, err));
    tc_graph_writer_free(w);
}

/* The sizes that the model has. `most`: of `all`. */
static size_t sizes_of(const model *m, int64_t most, tc_graph_binding out[3]) {
    size_t n = 0;
    if (!m->batch)
        out[n++] = (tc_graph_binding){"batch", 1, {{1, BATCH, 1}}};
    if (!m->rows)
        out[n++] = (tc_graph_binding){"rows", 1, {{1, ROWS, 1}}};
    if (m->total == OF_MASK)
        out[n++] = (tc_graph_binding){"all", 1, {{1, most, 1}}};
    return n;
}

static tc_graph *import(const model *m, bool in_place, int64_t most) {
    tc_graph_binding sizes[3];
    tc_graph_import_options o = {.shapes = sizes, .nshapes = sizes_of(m, most, sizes), .in_place_cache = in_place};
    tc_graph *g;
    assert_ok(tc_graph_import(path, &o, &g, err));
    return g;
}

/* b.graph is the network that copies. */
typedef struct both {
    built b;
    tc_graph *grown;
} both;

static void build(both *x, const model *m) {
    *x = (both){.b.name = "decoder", .b.graph = import(m, false, ROOM), .grown = import(m, true, ROOM + 5)};
    assert_ok(tc_graph_grow_in_place(x->grown, err));
    assert_ok(tc_graph_passes(x->grown, NULL, err));
    assert_ok(tc_graph_program_new(x->grown, &x->b.program, err));
    assert_ok(tc_target_parse("native", &x->b.target, err));
    assert_ok(tc_graph_model_build(x->b.program, &(tc_graph_build_options){.target = x->b.target, .threads = BUILT_THREADS},
                                   &x->b.model, err));
}

static void close_both(both *x) {
    built_close(&x->b);
    tc_graph_free(x->grown);
}

/* ---- a conversation ---- */

/* `filled` rows of each sequence; in[] and want[] are the copying network's, of which the pasts are those of the buffers. */
typedef struct talk {
    const both *x;
    model *m;
    int nin, nout; /* without sizes */
    int64_t batch, filled[BATCH], rows, total, start[BATCH];
    tc_graph_tensor in[INPUTS], want[INPUTS], out[INPUTS], before[INPUTS]; /* before: the buffers, as a run finds them */
    int64_t sizes[4];
} talk;

static void open_talk(talk *t, const both *x, model *m) {
    const tc_graph_port *ports;
    *t = (talk){.x = x, .m = m, .batch = m->batch ? m->batch : 1 + tc_rng_below(&m->rng, BATCH)};
    t->nin = tc_graph_model_inputs(x->b.model, &ports);
    t->nout = tc_graph_model_outputs(x->b.model, &ports);
    for (int i = 0; i < t->nout; i++) {
        t->out[i] = tc_graph_tensor_view(ports[i].dtype, &ports[i].shape, NULL);
        int64_t bytes = (int64_t)tc_graph_tensor_bytes(&t->out[i]);
        t->out[i].data = memset(tc_graph_aligned_alloc(bytes, NULL), POISON, (size_t)bytes);
        t->before[i] = t->out[i];
        t->before[i].data = tc_xmalloc((size_t)bytes);
    }
}

static void close_talk(talk *t) {
    for (int i = 0; i < t->nout; i++) {
        free(t->out[i].data);
        free(t->before[i].data);
    }
}

static void set_sizes(talk *t) {
    const tc_graph_size_rules *r = tc_graph_model_sizes(t->x->b.model);
    for (int k = 0; k < r->nsize; k++) {
        const char *name = r->size[k].name;
        t->sizes[k] = strcmp(name, "batch") == 0 ? t->batch : strcmp(name, "rows") == 0 ? t->rows : t->total;
    }
}

static int shared_output(const talk *t, int input) {
    return t->x->b.model->in[input].shared - 1;
}

static int64_t elements_of(const tc_graph_tensor *t, int from) {
    int64_t n = 1;
    for (int d = from; d < t->shape.ndim; d++)
        n *= t->shape.d[d];
    return n;
}

/* What the copying network is given of a cache: what the buffer has, with zeros where no sequence has anything. */
static void take_past(const talk *t, int input) {
    const tc_graph_tensor *buffer = &t->out[shared_output(t, input)], *past = &t->in[input];
    int64_t row = elements_of(past, 3), block = elements_of(past, 2), heads = past->shape.d[1];
    for (int64_t b = 0; b < t->batch; b++)
        for (int64_t h = 0; h < heads; h++) {
            float *to = (float *)past->data + (b * heads + h) * block;
            memset(to, 0, (size_t)block * sizeof *to);
            memcpy(to, (const float *)buffer->data + (b * heads + h) * block, (size_t)(t->filled[b] * row) * sizeof *to);
        }
}

/* The first step's sequences may end before its rows do; what follows belongs to all. */
static void draw_step(talk *t, bool first) {
    int64_t longest = 0;
    for (int64_t b = 0; b < t->batch; b++)
        longest = TC_MAX(longest, t->filled[b]);
    t->rows = t->m->rows ? t->m->rows : first ? ROWS : 1 + tc_rng_below(&t->m->rng, TC_MIN(2, ROOM - longest));
    t->total = t->m->fixed ? t->m->fixed : first ? t->rows : longest + t->rows;
    set_sizes(t);
    assert_ok(tc_graph_model_random_inputs(t->x->b.model, t->sizes, (uint64_t)tc_rng_below(&t->m->rng, 1 << 20), t->in, err));
    for (int i = 0; i < t->nin; i++) {
        const char *name = t->x->b.model->in[i].name;
        if (shared_output(t, i) >= 0)
            take_past(t, i);
        if (strcmp(name, "total") == 0)
            *(int32_t *)t->in[i].data = (int32_t)t->total;
        for (int64_t b = 0; b < t->batch && strcmp(name, "lengths") == 0; b++) {
            int64_t ends = first ? 1 + tc_rng_below(&t->m->rng, t->rows) : t->filled[b] + t->rows;
            t->start[b] = first ? 0 : t->filled[b];
            t->filled[b] = ends;
            ((int32_t *)t->in[i].data)[b] = (int32_t)ends - 1;
        }
    }
    for (int i = 0; i < t->nout; i++)
        memcpy(t->before[i].data, t->out[i].data, tc_graph_tensor_bytes(&t->out[i]));
    assert_ok(tc_graph_eval(t->x->b.graph, t->in, t->want, err));
}

static bool is_close(float got, float want) {
    return fabsf(got - want) <= 1e-5F * (1 + fabsf(want));
}

/* New rows are those of the copying network; all other bytes are as they were. */
static void expect_buffer(const talk *t, int o) {
    const tc_graph_tensor *got = &t->out[o], *want = &t->want[o];
    int64_t row = elements_of(got, 3), heads = got->shape.d[1], n = 0;
    assert_int_equal(got->shape.d[2], ROOM);
    assert_int_equal(want->shape.d[2], ROOM);
    for (int64_t b = 0; b < got->shape.d[0]; b++)
        for (int64_t i = 0; i < heads * ROOM; i++) {
            int64_t at = (b * heads * ROOM + i) * row, r = i % ROOM;
            bool fresh = b < t->batch && r >= t->start[b] && r < t->start[b] + t->rows;
            const float *is = (const float *)got->data + at;
            if (fresh)
                for (int64_t k = 0; k < row; k++)
                    n += is_close(is[k], ((const float *)want->data)[at + k]);
            else if (memcmp(is, (const float *)t->before[o].data + at, (size_t)row * sizeof *is) != 0)
                fail_msg("output %d: row %d of sequence %d is not new, but was written", o, (int)r, (int)b);
        }
    if (n != t->batch * heads * t->rows * row)
        fail_msg("output %d: %d of %d elements of new rows are right", o, (int)n, (int)(t->batch * heads * t->rows * row));
}

static void end_step(talk *t) {
    for (int i = 0; i < t->nout; i++) {
        tc_graph_diff d;
        if (t->x->b.model->out[i].shared) {
            expect_buffer(t, i);
        } else {
            tc_graph_tensor got = tc_graph_tensor_view(TC_F32, &t->want[i].shape, t->out[i].data);
            assert_ok(tc_graph_tensor_compare(&got, &t->want[i], 0, 0, &d, err));
            assert_true(d.rel <= 1e-5);
        }
        tc_graph_tensor_free(&t->want[i]);
    }
    for (int i = 0; i < t->nin; i++)
        tc_graph_tensor_free(&t->in[i]);
}

typedef void run_step(const talk *t, const tc_graph_tensor *in, void *user);

static void run_model(const talk *t, const tc_graph_tensor *in, void *user) {
    (void)user;
    assert_ok(tc_graph_model_run_into(t->x->b.model, in, t->out, err));
}

static void run_built(const talk *t, const tc_graph_tensor *in, void *user) {
    const built_library *l = user;
    const void *inputs[INPUTS];
    void *outputs[INPUTS];
    static int64_t sizes[INPUTS];
    for (int i = 0; i < t->x->b.model->nin; i++)
        inputs[i] = i < t->nin ? in[i].data : (const void *)&t->sizes[i - t->nin];
    for (int i = 0; i < t->x->b.model->nout; i++)
        outputs[i] = i < t->nout ? t->out[i].data : (void *)&sizes[i];
    assert_int_equal(l->run(inputs, outputs), 0);
}

static void step(talk *t, bool first, run_step *run, void *user) {
    tc_graph_tensor in[INPUTS];
    draw_step(t, first);
    for (int i = 0; i < t->nin; i++) {
        in[i] = t->in[i];
        if (shared_output(t, i) >= 0)
            in[i].data = t->out[shared_output(t, i)].data;
    }
    run(t, in, user);
    end_step(t);
}

/* As a model finds the buffers that does not see the prompt. */
static void fill_buffers(talk *t) {
    for (int64_t b = 0; b < t->batch; b++)
        t->filled[b] = tc_rng_below(&t->m->rng, t->m->fixed - t->m->rows + 1);
    for (int o = 0; o < t->nout; o++) {
        float *to = t->out[o].data;
        int64_t each = t->x->b.model->out[o].shared ? elements_of(&t->out[o], 1) : 0, row = each ? elements_of(&t->out[o], 3) : 1;
        for (int64_t i = 0; i < t->batch * each; i++)
            if (i / row % ROOM < t->filled[i / each])
                to[i] = (float)(tc_rng_below(&t->m->rng, 201) - 100) / 50;
    }
}

/* Until a sequence has filled the buffer. A model whose total is a number has one step. */
static void talk_until_full(const both *x, model *m, run_step *run, void *user) {
    talk t;
    open_talk(&t, x, m);
    if (m->fixed > m->rows)
        fill_buffers(&t);
    step(&t, m->fixed <= m->rows, run, user);
    for (bool goes_on = m->total != FIXED; goes_on;) {
        int64_t longest = 0;
        for (int64_t b = 0; b < t.batch; b++)
            longest = TC_MAX(longest, t.filled[b]);
        goes_on = longest + TC_MAX(m->rows, 1) <= ROOM;
        if (goes_on)
            step(&t, false, run, user);
    }
    close_talk(&t);
}

/* ---- tests ---- */

static void open_seed(uint64_t seed, model *m, both *x) {
    *m = draw(seed);
    save(m);
    build(x, m);
}

static void test_random(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_some_graphs(45); seed++) {
        model m;
        both x;
        open_seed(seed, &m, &x);
        for (int k = 0; k < 2; k++)
            talk_until_full(&x, &m, run_model, NULL);
        close_both(&x);
    }
}

static void as_library(uint64_t seed, const char *compile) {
    model m;
    both x;
    open_seed(seed, &m, &x);
    built_library l = built_load(&x.b, SCRATCH("buffers.so"), compile);
    talk_until_full(&x, &m, run_built, &l);
    dlclose(l.handle);
    close_both(&x);
}

static void test_library(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_some_graphs(6); seed++)
        as_library(seed, NULL);
}

static void test_source(void **state) {
    (void)state;
    if (system("gcc --version > /dev/null 2>&1") != 0)
        return;
    for (uint64_t seed = 0; seed < 3; seed++)
        as_library(seed, "gcc -O0");
}

/* ---- what does not fit ---- */

static model plain(total from) {
    return (model){
        .rng = tc_rng_seed(1), .heads = 2, .queries = 1, .width = 4, .rows = 2, .window = -1, .batch = 2, .total = from};
}

/* A sequence that would be longer than the buffer ends the run, before anything is written. */
static void test_no_room(void **state) {
    (void)state;
    for (int from = OF_MASK; from <= GIVEN; from++) {
        model m = plain((total)from);
        both x;
        talk t;
        save(&m);
        build(&x, &m);
        open_talk(&t, &x, &m);
        step(&t, true, run_model, NULL);
        draw_step(&t, false);
        for (int i = 0; i < t.nin; i++) {
            const char *name = x.b.model->in[i].name;
            if (shared_output(&t, i) >= 0)
                t.in[i].data = memcpy(t.in[i].data, t.out[shared_output(&t, i)].data, tc_graph_tensor_bytes(&t.in[i]));
            if (strcmp(name, "total") == 0)
                *(int32_t *)t.in[i].data = ROOM + 1;
            if (strcmp(name, "mask") == 0)
                t.in[i].shape.d[1] = ROOM + 1;
        }
        assert_fails(TC_BAD_INPUT, tc_graph_model_run_into(x.b.model, t.in, t.out, err), "11");
        for (int i = 0; i < t.nout; i++)
            if (x.b.model->out[i].shared)
                assert_memory_equal(t.out[i].data, t.before[i].data, tc_graph_tensor_bytes(&t.out[i]));
        for (int i = 0; i < t.nout; i++)
            tc_graph_tensor_free(&t.want[i]);
        for (int i = 0; i < t.nin; i++)
            tc_graph_tensor_free(&t.in[i]);
        close_talk(&t);
        close_both(&x);
    }
}

/* A present that has more rows than the past in every run is no buffer. */
static void test_refused(void **state) {
    (void)state;
    model m = plain(FIXED);
    m.fixed = ROOM + 2;
    save(&m);
    tc_graph *g = import(&m, true, ROOM);
    assert_fails(TC_BAD_INPUT, tc_graph_grow_in_place(g, err), "node 'attend", "the input has 11 rows in every run",
                 "and the output up to 13", "--shape");
    tc_graph_free(g);
}

/* ---- the public API ---- */

static DLTensor as_dl(const tc_graph_tensor *t, uint8_t code, int64_t *shape) {
    memcpy(shape, t->shape.d, sizeof t->shape.d);
    return (DLTensor){.data = t->data, .device = {kDLCPU, 0}, .ndim = t->shape.ndim, .dtype = {code, 32, 1}, .shape = shape};
}

static void run_api(const talk *t, const tc_graph_tensor *in, void *user) {
    DLTensor inputs[INPUTS], outputs[INPUTS];
    int64_t shapes[2 * INPUTS][TC_GRAPH_MAX_DIMS];
    char error[512] = "";
    int rows;
    for (int i = 0; i < t->nin; i++) {
        inputs[i] = as_dl(&in[i], in[i].dtype == TC_F32 ? kDLFloat : kDLInt, shapes[i]);
        assert_int_equal(tctune_model_grows(user, i, &rows), shared_output(t, i));
        assert_true(shared_output(t, i) < 0 || rows == 2);
    }
    for (int i = 0; i < t->nout; i++)
        outputs[i] = as_dl(&t->out[i], kDLFloat, shapes[INPUTS + i]);
    if (tctune_model_run(user, inputs, outputs, error, sizeof error) != TCTUNE_OK)
        fail_msg("%s", error);
}

static void test_api(void **state) {
    (void)state;
    static const char *const shapes[] = {"all=1..11", NULL};
    tctune_work_options wo = {.struct_size = sizeof wo, .model = path, .shapes = shapes, .in_place_cache = 1};
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1};
    model m = plain(OF_MASK);
    tctune_work *work;
    tctune_model *ready;
    char error[512] = "";
    both x;
    save(&m);
    build(&x, &m);
    if (tctune_open(&wo, &work, error, sizeof error) != TCTUNE_OK ||
        tctune_build(work, &o, &ready, error, sizeof error) != TCTUNE_OK)
        fail_msg("%s", error);
    tctune_work_free(work);
    talk_until_full(&x, &m, run_api, ready);
    tctune_model_free(ready);
    close_both(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random),  cmocka_unit_test(test_library),
                                       cmocka_unit_test(test_source),  cmocka_unit_test(test_no_room),
                                       cmocka_unit_test(test_refused), cmocka_unit_test(test_api)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
