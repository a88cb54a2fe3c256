#include "graph/saved/related.h"

#include <dlfcn.h>
#include <math.h>

#include "graph/ops/ops.h"
#include "graph/passes/pass.h"

enum { ELEMENTS = 2048, POISON = 0x5a };

typedef related_sample sample;

/* ---- models ---- */

/* `of` with itself, `times` times along its first dimension. */
void related_repeat(tc_graph_writer *w, const char *of, int times, const char *to) {
    char list[40] = "";
    for (int i = 0; i < times; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? "," : "", of);
    tc_graph_writer_node(w, "Concat", "", list, to);
    tc_graph_writer_int(w, "axis", 0);
}

static const char *const names[] = {"x", "y", "t"};

static void dims_of(const char *letters, char *out) {
    for (const char *p = letters; *p; p++) {
        *out++ = *p;
        *out++ = p[1] ? ',' : 0;
    }
}

static tc_graph *graph_of(const sample *s, const tc_graph_binding *shapes, size_t n) {
    tc_graph_writer *w = tc_graph_writer_new("related", 17);
    tc_graph *g;
    char dims[16], path[1200];
    snprintf(path, sizeof path, SCRATCH("%s.onnx"), s->name);
    for (int i = 0; i < RELATED_IN && s->inputs[i]; i++) {
        dims_of(s->inputs[i], dims);
        tc_graph_writer_input(w, names[i], TC_F32, dims);
    }
    s->make(w);
    tc_graph_writer_output(w, "out", TC_F32, NULL);
    assert_ok(import_model(w, path, &(tc_graph_import_options){.shapes = shapes, .nshapes = n}, &g, err));
    return g;
}

/* ---- what is built ---- */

typedef struct built {
    const sample *s;
    int nsize, nin;
    tc_graph_binding range[RELATED_SIZES];
    tc_graph *varying, *passed; /* as it was imported, and as the program has it */
    tc_graph_program *p;
    tc_target *t;
    tc_graph_model *m, *loaded;
    void *library[2]; /* of machine code, and of C source */
    int32_t (*run[2])(const void *const *, void *const *);
} built;

static void open_library(built *b, int i, const char *path) {
    b->library[i] = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *run = b->library[i] ? dlsym(b->library[i], "model_run") : NULL;
    assert_non_null(run);
    memcpy(&b->run[i], &run, sizeof run);
    remove(path);
}

static void save(built *b, const char *scratch, int number) {
    char path[2][1200], source[1200], command[4000];
    snprintf(path[0], sizeof path[0], TCTUNE_TEST_TMP "/%s%d.so", scratch, number);
    snprintf(path[1], sizeof path[1], TCTUNE_TEST_TMP "/%s%d_c.so", scratch, number);
    snprintf(source, sizeof source, TCTUNE_TEST_TMP "/%s%d.c", scratch, number);
    assert_ok(tc_graph_model_save(b->m, path[0], "model", err));
    assert_ok(tc_graph_model_save(b->m, source, "model", err));
    assert_ok(tc_graph_model_load(path[0], 0, &b->loaded, err));
    snprintf(command, sizeof command, "cc -std=c17 -O0 -Wall -Wextra -Werror -fPIC -shared %s -o %s -lm", source, path[1]);
    assert_int_equal(system(command), 0);
    remove(source);
    open_library(b, 0, path[0]);
    open_library(b, 1, path[1]);
}

static built open_sample(const sample *s, const char *scratch, int number) {
    built b = {.s = s};
    for (; b.nsize < RELATED_SIZES && s->ranges[b.nsize]; b.nsize++)
        assert_ok(tc_graph_binding_parse(s->ranges[b.nsize], &b.range[b.nsize], err));
    while (b.nin < RELATED_IN && s->inputs[b.nin])
        b.nin++;
    b.varying = graph_of(s, b.range, (size_t)b.nsize);
    b.passed = graph_of(s, b.range, (size_t)b.nsize);
    assert_ok(tc_graph_passes(b.passed, NULL, err));
    assert_ok(tc_graph_program_new(b.passed, &b.p, err));
    assert_ok(tc_target_parse("native", &b.t, err));
    assert_ok(tc_graph_model_build(b.p, &(tc_graph_build_options){.target = b.t, .threads = 1}, &b.m, err));
    save(&b, scratch, number);
    return b;
}

static void release(built *b) {
    for (int i = 0; i < 2; i++)
        dlclose(b->library[i]);
    for (int k = 0; k < b->nsize; k++)
        free((char *)(uintptr_t)b->range[k].name);
    tc_graph_model_free(b->loaded);
    tc_graph_model_free(b->m);
    tc_graph_program_free(b->p);
    tc_target_free(b->t);
    tc_graph_free(b->passed);
    tc_graph_free(b->varying);
}

/* ---- runs ---- */

static int64_t size_named(const built *b, const int64_t *size, const char *name) {
    for (int k = 0; k < b->nsize; k++)
        if (strcmp(b->range[k].name, name) == 0)
            return size[k];
    fail_msg("there is no size %s", name);
    return 0;
}

static void draw(const built *b, const int64_t *size, float (*data)[ELEMENTS], tc_graph_tensor *in) {
    for (int i = 0; i < b->nin; i++) {
        tc_graph_shape shape = {0};
        for (const char *p = b->s->inputs[i]; *p; p++)
            shape.d[shape.ndim++] = *p <= '9' ? *p - '0' : size_named(b, size, (const char[]){*p, 0});
        assert_true(tc_graph_shape_count(&shape) <= ELEMENTS);
        for (int64_t e = 0; e < tc_graph_shape_count(&shape); e++)
            data[i][e] = (float)((e * 37 + 11 * i) % 23) / 23;
        in[i] = tc_graph_tensor_view(TC_F32, &shape, data[i]);
    }
}

static void expect_output(const built *b, const tc_graph_tensor *want, tc_status s, tc_error *e, tc_graph_tensor *got) {
    tc_graph_diff d;
    if (!want) {
        assert_int_equal(s, TC_BAD_INPUT);
        for (size_t i = 0; i < TC_LEN(b->s->says); i++)
            if (!strstr(e->msg, b->s->says[i]))
                fail_msg("%s: expected '%s', but there is: %s", b->s->name, b->s->says[i], e->msg);
        return;
    }
    if (s != TC_OK)
        fail_msg("%s: %s", b->s->name, e->msg);
    assert_true(tc_graph_shape_equal(&got->shape, &want->shape));
    assert_ok(tc_graph_tensor_compare(got, want, 0, 0, &d, err));
    assert_true(d.rel < 1e-4);
    tc_graph_tensor_free(got);
}

/* Element e of the output as a program finds it: by the sizes of the run, or by the largest where it says so. */
static float element(const tc_graph_port *p, const tc_graph_shape *shape, const float *y, int64_t e) {
    const tc_graph_shape *lies = p->is_dense ? shape : &p->shape;
    int64_t strides[TC_GRAPH_MAX_DIMS], at = 0;
    tc_graph_shape_strides(lies, strides);
    for (int d = shape->ndim - 1; d >= 0; e /= shape->d[d--])
        at += e % shape->d[d] * strides[d];
    return y[at];
}

static void check_call(const built *b, int way, const int64_t *size, const tc_graph_tensor *in, const tc_graph_tensor *want) {
    static float y[ELEMENTS];
    int64_t given[RELATED_SIZES], more[8];
    const void *ins[RELATED_IN + RELATED_SIZES];
    void *outs[8] = {y};
    memset(y, POISON, sizeof y);
    for (int i = 0; i < b->nin; i++)
        ins[i] = in[i].data;
    for (int k = 0; k < b->m->rules.nsize; k++) {
        given[k] = size_named(b, size, b->m->rules.size[k].name);
        ins[b->nin + k] = &given[k];
    }
    assert_true(b->m->nout <= 8 && tc_graph_shape_count(&b->m->out[0].shape) <= ELEMENTS);
    for (int i = 1; i < b->m->nout; i++)
        outs[i] = &more[i];
    int32_t status = b->run[way](ins, outs);
    assert_int_equal(status, want ? 0 : -2);
    for (size_t i = 0; i < sizeof y && !want; i++)
        assert_int_equal(((const unsigned char *)y)[i], POISON);
    for (int64_t e = 0; want && e < tc_graph_tensor_count(want); e++)
        assert_true(fabsf(element(&b->m->out[0], &want->shape, y, e) - ((const float *)want->data)[e]) < 1e-3f);
}

static void check(const built *b, const int64_t *size) {
    _Alignas(64) static float data[RELATED_IN][ELEMENTS];
    bool takes = b->s->takes(size);
    tc_graph_tensor in[RELATED_IN], got, want = {0};
    tc_graph_model *models[] = {b->m, b->loaded};
    tc_error e = {0};
    draw(b, size, data, in);
    if (takes) {
        tc_graph_binding one[RELATED_SIZES];
        for (int k = 0; k < b->nsize; k++)
            one[k] = (tc_graph_binding){b->range[k].name, 1, {{size[k], size[k], 1}}};
        tc_graph *fixed = graph_of(b->s, one, (size_t)b->nsize);
        assert_ok(tc_graph_eval(fixed, in, &want, err));
        tc_graph_free(fixed);
    }
    const tc_graph_tensor *right = takes ? &want : NULL;
    tc_status s = tc_graph_eval(b->varying, in, &got, &e);
    expect_output(b, right, s, &e, &got);
    for (size_t i = 0; i < TC_LEN(models); i++) {
        s = tc_graph_model_run(models[i], in, &got, &e);
        expect_output(b, right, s, &e, &got);
    }
    bool joined = b->m->rules.nsize < b->nsize; /* two sizes are one, which programs give once */
    for (int way = 0; way < 2 && (takes || !joined); way++)
        check_call(b, way, size, in, right);
    tc_graph_tensor_free(&want);
}

/* Of the sizes within their ranges the next, the first of which counts fastest; false: that was all. */
static bool count_up(const built *b, int64_t *size) {
    for (int k = 0; k < b->nsize; k++) {
        const tc_graph_range *r = &b->range[k].d[0];
        size[k] += r->multiple;
        if (size[k] <= r->most)
            return true;
        size[k] = r->least;
    }
    return false;
}

void related_check_all(const sample *s, const char *scratch, int number, int least_taken, int least_refused) {
    built b = open_sample(s, scratch, number);
    int64_t size[RELATED_SIZES], some[RELATED_SIZES];
    int taken = 0, refused = 0;
    for (int k = 0; k < b.nsize; k++)
        size[k] = b.range[k].d[0].least;
    do {
        check(&b, size);
        taken += s->takes(size);
        refused += !s->takes(size);
    } while (count_up(&b, size));
    assert_true(taken > least_taken && refused > least_refused);
    for (int k = 0; k < b.m->rules.nsize; k++)
        some[k] = -1;
    assert_ok(tc_graph_size_rules_complete(&b.m->rules, some, err)); /* some that go together are found */
    assert_ok(tc_graph_size_rules_largest(&b.loaded->rules, some, err));
    release(&b);
}
