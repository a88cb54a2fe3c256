/* The text of a library's note. What loading accepts is used as a model is used: inputs are drawn, and a run is opened and closed
 * around functions that stand in for the library's. They write everything that the note promises room for. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "common/note_file.h"
#include "graph/saved/save_int.h"
#include "targets.h"

enum { MOST_BYTES = 1 << 20 }; /* of all inputs and outputs */

/* A context of the library that there is not. */
typedef struct stand_in {
    tc_cg_context head;
    const tc_graph_model *m;
    tc_rng chance;
} stand_in;

static tc_cg_context *create(void) {
    stand_in *s = tc_xcalloc(1, sizeof *s);
    return &s->head;
}

static void release(tc_cg_context *context) {
    free(context);
}

static size_t bytes_of(const tc_graph_port *p) {
    return (size_t)(tc_graph_shape_count(&p->shape) * tc_dtype_bytes(p->dtype));
}

/* Sizes among the outputs become any numbers. */
static int32_t run(tc_cg_context *context, const void *const *inputs, void *const *outputs) {
    stand_in *s = (stand_in *)context;
    (void)inputs;
    for (int i = 0; i < s->m->nout; i++) {
        memset(outputs[i], (int)tc_rng_below(&s->chance, 256), bytes_of(&s->m->out[i]));
        int64_t number = fuzz_number(&s->chance);
        if (bytes_of(&s->m->out[i]) == sizeof number)
            memcpy(outputs[i], &number, sizeof number);
    }
    return tc_rng_below(&s->chance, 4) ? 0 : (int32_t)tc_rng_below(&s->chance, 300) - 10;
}

static bool is_small(const tc_graph_model *m) {
    size_t sum = 0;
    for (int i = 0; i < m->nin + m->nout && sum < MOST_BYTES; i++)
        sum += TC_MIN(bytes_of(i < m->nin ? &m->in[i] : &m->out[i - m->nin]), (size_t)MOST_BYTES);
    return sum < MOST_BYTES;
}

static void forget(tc_graph_tensor *t, int n) {
    for (int i = 0; i < n; i++)
        tc_graph_tensor_free(&t[i]);
}

static void use(tc_graph_model *m, const char *path, tc_rng chance) {
    tc_error err = {0};
    tc_graph_tensor *in = tc_xcalloc((size_t)m->nin + 1, sizeof *in), *out = tc_xcalloc((size_t)m->nout + 1, sizeof *out);
    m->library = (tc_graph_library){.handle = dlopen(NULL, RTLD_NOW), .create = create, .release = release, .run = run};
    m->path = path;
    m->runs = true;
    if (fuzz_good(tc_graph_model_random_inputs(m, NULL, 1, in, &err), &err)) {
        if (fuzz_good(tc_graph_context_new(m, &m->own, &err), &err)) {
            stand_in *s = (stand_in *)m->own->library;
            s->m = m;
            s->chance = chance;
            if (fuzz_good(tc_graph_model_run(m, in, out, &err), &err))
                forget(out, m->nshown);
        }
        forget(in, m->rules.nin);
    }
    free(in);
    free(out);
}

void fuzz_read_note(const char *data, size_t size) {
    tc_strbuf elf = {0};
    note_file(data, size, &elf);
    fuzz_file f = fuzz_file_open(elf.data, elf.len);
    tc_graph_model *m = fuzz_load_library(f.path);
    if (m && is_small(m))
        use(m, f.path, fuzz_chance(data, size));
    tc_graph_model_free(m);
    fuzz_file_close(&f);
    tc_strbuf_free(&elf);
}
