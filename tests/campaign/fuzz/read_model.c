/* Models. */
#include <stdlib.h>
#include <string.h>

#include "graph/model/parts.h"
#include "graph/onnx/import.h"
#include "graph/passes/pass.h"
#include "targets.h"

/* What is built and run must be small: the interest is in its reading. */
enum { MAX_RUN_BYTES = 1 << 20, MAX_RUN_LAUNCHES = 16, MAX_RUN_TRIPS = 100, RUN_ONE_IN = 16 };
#define MAX_RUN_FLOPS 1e6

/* Every loop has a small constant number of trips: a damaged condition may hold for ever. */
static bool ends(const tc_graph_program *p) {
    for (int i = 0; i < p->nlaunch; i++) {
        if (p->launches[i].kind != TC_CG_AGAIN)
            continue;
        const tc_graph_launch *head = &p->launches[p->launches[i].target];
        const tc_graph_slot *limit = head->kind == TC_CG_UNLESS_LESS ? &p->slots[head->args[1]] : NULL;
        if (!limit || !limit->constant || *(const int64_t *)limit->constant->data > MAX_RUN_TRIPS)
            return false;
    }
    return true;
}

static bool small(const tc_graph_program *p) {
    int64_t bytes = 0;
    for (int i = 0; i < p->nslot; i++)
        bytes += p->slots[i].bytes > MAX_RUN_BYTES ? MAX_RUN_BYTES : p->slots[i].bytes;
    return bytes < MAX_RUN_BYTES && ends(p) && p->nlaunch <= MAX_RUN_LAUNCHES && tc_graph_program_flops(p) < MAX_RUN_FLOPS;
}

static void free_tensors(tc_graph_tensor *t, int n) {
    for (int i = 0; i < n; i++)
        tc_graph_tensor_free(&t[i]);
    free(t);
}

static void build_and_run(const tc_graph_program *p) {
    tc_graph_model *m = NULL;
    tc_target *t = NULL;
    tc_error err = {0};
    if (!fuzz_good(tc_target_parse("native", &t, &err), &err) ||
        !fuzz_good(tc_graph_model_build(p, &(tc_graph_build_options){.target = t, .threads = 1}, &m, &err), &err)) {
        tc_target_free(t);
        return;
    }
    const tc_graph_port *ports;
    int nin = tc_graph_model_inputs(m, &ports), nout = tc_graph_model_outputs(m, &ports);
    tc_graph_tensor *in = tc_xcalloc((size_t)nin + 1, sizeof *in), *out = tc_xcalloc((size_t)nout + 1, sizeof *out);
    if (fuzz_good(tc_graph_model_random_inputs(m, NULL, 1, in, &err), &err) &&
        fuzz_good(tc_graph_model_run(m, in, out, &err), &err))
        free_tensors(out, nout);
    else
        free(out);
    free_tensors(in, nin);
    tc_graph_model_free(m);
    tc_target_free(t);
}

static void print(const tc_graph *g) {
    tc_strbuf b = {0};
    tc_graph_print(g, &b);
    tc_strbuf_free(&b);
}

void fuzz_read_onnx(const char *data, size_t size) {
    tc_rng chance = fuzz_chance(data, size);
    fuzz_file file = fuzz_file_open(data, size);
    tc_graph *g = NULL;
    tc_graph_program *p = NULL;
    tc_error err = {0};
    tc_graph_pass_options passes = {.level = (int)tc_rng_below(&chance, TC_GRAPH_OPT_MAX + 1)};
    if (fuzz_good(tc_graph_import(file.path, NULL, &g, &err), &err)) {
        if (tc_graph_verify(g, &err) != TC_OK)
            fuzz_wrong("imported, but wrong: %s", err.msg);
        print(g);
        if (fuzz_good(tc_graph_passes(g, &passes, &err), &err) && fuzz_good(tc_graph_program_new(g, &p, &err), &err) &&
            small(p) && tc_rng_below(&chance, RUN_ONE_IN) == 0)
            build_and_run(p);
    } else if (!strstr(err.msg, file.path)) {
        fuzz_wrong("a refusal that does not name the file: %s", err.msg);
    }
    tc_graph_program_free(p);
    tc_graph_free(g);
    fuzz_file_close(&file);
}
