/* Small networks of different kinds as programs have them: a library, or C source that the system's compiler made one of, whose
 * functions are found by their names. */
#ifndef TC_TESTS_BUILT_MODELS_H
#define TC_TESTS_BUILT_MODELS_H

#include <dlfcn.h>

#include "graph/graph_text.h"
#include "graph/lower_common.h"
#include "graph/saved/saved.h"

enum { BUILT_PORTS = 8, BUILT_THREADS = 2 };

/* Text of a graph, or a file of data/. */
static const struct {
    const char *name, *text, *file;
} built_sources[] = {
    {.name = "residuals", .text = RESIDUALS},
    {.name = "conv",
     .text = "input %x : f32[1,8,30,30]\n"
             "const %w : f32[20,8,3,3]\n"
             "const %b : f32[20]\n"
             "const %v : f32[12,20,1,1]\n"
             "%c = Conv(%x, %w, %b) {pads=[1,1,1,1]}\n"
             "%r = Relu(%c)\n"
             "%d = Conv(%r, %v)\n"
             "%y = MaxPool(%d) {kernel_shape=[2,2], strides=[2,2]}\n"
             "output y = %y\n"},
    {.name = "attention",
     .text = "input %q : f32[2,40,24]\n"
             "input %k : f32[2,24,40]\n"
             "input %v : f32[2,40,24]\n"
             "%s = MatMul(%q, %k)\n"
             "%p = Softmax(%s) {axis=-1}\n"
             "%y = MatMul(%p, %v)\n"
             "output y = %y\n"},
    {.name = "top",
     .text = "input %x : f32[12,500]\n"
             "const %k : i64[1] = {30}\n"
             "%s = Tanh(%x)\n"
             "%v = TopK(%s, %k) {axis=1, largest=1, sorted=1}\n"
             "%y = Exp(%v)\n"
             "output y = %y\n"},
    {.name = "recurrent",
     .text = "input %x : f32[5,3,12]\n"
             "const %w : f32[1,24,12]\n"
             "const %r : f32[1,24,8]\n"
             "%y = GRU(%x, %w, %r) {hidden_size=8}\n"
             "output y = %y\n"},
    {.name = "loop", .file = "loop_while.onnx"},
    {.name = "list", .file = "sequence_carried.onnx"},
    {.name = "grow", .file = "loop_grow.onnx"},
};

typedef struct built {
    const char *name;
    tc_graph *graph;
    tc_target *target;
    tc_graph_program *program;
    tc_graph_model *model;
    int nin, nout;
    size_t in_bytes[BUILT_PORTS], out_bytes[BUILT_PORTS]; /* outputs with the sizes of those that depend on data */
} built;

static inline built built_open(int which) {
    built b = {.name = built_sources[which].name};
    const tc_graph_port *ports;
    char path[4096];
    if (built_sources[which].text) {
        assert_ok(graph_of_text(b.name, built_sources[which].text, &b.graph, err));
    } else {
        snprintf(path, sizeof path, "%s/data/%s", TCTUNE_TEST_DIR, built_sources[which].file);
        assert_ok(tc_graph_import(path, NULL, &b.graph, err));
    }
    assert_ok(tc_graph_passes(b.graph, NULL, err));
    assert_ok(tc_graph_program_new(b.graph, &b.program, err));
    assert_ok(tc_target_parse("native", &b.target, err));
    assert_ok(
        tc_graph_model_build(b.program, &(tc_graph_build_options){.target = b.target, .threads = BUILT_THREADS}, &b.model, err));
    b.nin = tc_graph_model_inputs(b.model, &ports);
    for (int i = 0; i < b.nin; i++)
        b.in_bytes[i] = (size_t)(tc_graph_shape_count(&ports[i].shape) * tc_dtype_bytes(ports[i].dtype));
    tc_graph_model_outputs(b.model, &ports);
    b.nout = b.model->nout;
    assert_true(b.nin <= BUILT_PORTS && b.nout <= BUILT_PORTS);
    for (int i = 0; i < b.nout; i++)
        b.out_bytes[i] = (size_t)(tc_graph_shape_count(&ports[i].shape) * tc_dtype_bytes(ports[i].dtype));
    return b;
}

static inline void built_close(built *b) {
    tc_graph_model_free(b->model);
    tc_graph_program_free(b->program);
    tc_target_free(b->target);
    tc_graph_free(b->graph);
}

/* ---- arrays ---- */

/* What a run reads and writes; outputs begin as zeros, since what is past a size of this run is not written. */
typedef struct built_arrays {
    const void *in[BUILT_PORTS];
    void *out[BUILT_PORTS];
} built_arrays;

static inline built_arrays built_draw(const built *b, uint64_t seed) {
    tc_graph_tensor in[BUILT_PORTS];
    built_arrays a;
    assert_ok(tc_graph_model_random_inputs(b->model, NULL, seed, in, err));
    for (int i = 0; i < b->nin; i++)
        a.in[i] = in[i].data;
    for (int i = 0; i < b->nout; i++)
        a.out[i] = tc_graph_aligned_alloc((int64_t)b->out_bytes[i], NULL);
    return a;
}

static inline void built_forget(const built *b, built_arrays *a) {
    for (int i = 0; i < b->nin; i++)
        free((void *)(uintptr_t)a->in[i]);
    for (int i = 0; i < b->nout; i++)
        free(a->out[i]);
}

static inline bool built_equal(const built *b, const built_arrays *x, const built_arrays *y) {
    for (int i = 0; i < b->nout; i++)
        if (memcmp(x->out[i], y->out[i], b->out_bytes[i]) != 0)
            return false;
    return true;
}

/* ---- libraries ---- */

typedef struct built_library {
    void *handle;
    void *(*create)(void);
    void (*release)(void *context);
    int32_t (*run_in)(void *context, const void *const *in, void *const *out);
    int32_t (*run)(const void *const *in, void *const *out);
} built_library;

static inline void built_find(const built_library *l, const char *name, const char *what, void *function) {
    char symbol[200];
    snprintf(symbol, sizeof symbol, "%s_%s", name, what);
    void *at = dlsym(l->handle, symbol);
    if (!at)
        fail_msg("there is no %s", symbol);
    memcpy(function, &at, sizeof at);
}

/* Saves and opens b as a library of file `path`; compile (NULL: tctune links it) makes it of C source. */
static inline built_library built_load(const built *b, const char *path, const char *compile) {
    built_library l;
    char source[4096], command[16384];
    if (compile) {
        snprintf(source, sizeof source, "%s.c", path);
        assert_ok(tc_graph_model_save(b->model, source, b->name, err));
        snprintf(command, sizeof command, "%s -std=c17 -Wall -Wextra -Werror -fPIC -shared '%s' -o '%s' -lm", compile, source,
                 path);
        assert_int_equal(system(command), 0);
        remove(source);
    } else {
        assert_ok(tc_graph_model_save(b->model, path, b->name, err));
    }
    l.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!l.handle)
        fail_msg("%s", dlerror());
    built_find(&l, b->name, "context_new", &l.create);
    built_find(&l, b->name, "context_free", &l.release);
    built_find(&l, b->name, "context_run", &l.run_in);
    built_find(&l, b->name, "run", &l.run);
    remove(path);
    return l;
}

#endif
