/* Opens networks and kernels (include/tctune/work.h). */
#include <stdlib.h>

#include "api/api_int.h"
#include "graph/trials/bundle.h"
#include "te/text.h"

static tc_status check(const tctune_work_options *o, tc_error *err) {
    bool te = o->te || o->te_text;
    if (!o->model == !te)
        return tc_fail(err, TC_BAD_INPUT, "%s: give the file of a network (model), or a kernel (te, te_text)",
                       te ? "there is both a network and a kernel" : "there is nothing to work on");
    if (te && (o->in_place_cache || o->level != TCTUNE_LEVEL_DEFAULT || o->without || o->dump_graph || o->pass_times))
        return tc_fail(err, TC_BAD_INPUT,
                       "in_place_cache, level, without, dump_graph and pass_times go with a network: a kernel has no graph");
    if (te && o->fixed_inputs)
        return tc_fail(err, TC_BAD_INPUT, "fixed_inputs goes with a network: a kernel has no inputs of fixed values");
    if (te && o->data_folder)
        return tc_fail(err, TC_BAD_INPUT, "data_folder goes with a network: a kernel has no external data");
    if (!te && o->constants)
        return tc_fail(err, TC_BAD_INPUT, "constants go with a kernel: a network's file has its own");
    return TC_OK;
}

static tc_status read_names(const tctune_work_options *o, tc_graph_pass_options *passes, tc_graph_binding **shapes,
                            tc_error *err) {
    *shapes = NULL;
    TC_TRY(api_passes(o->level, o->without, o->dump_graph, o->pass_times, passes, err));
    TC_TRY(api_fixed_inputs(o->fixed_inputs, err));
    return tc_graph_bindings_parse(o->shapes, api_length(o->shapes), shapes, err);
}

static tc_status check_options(const tctune_work_options *options, tc_error *err) {
    tctune_work_options o;
    tc_graph_pass_options passes;
    tc_graph_binding *shapes;
    TC_TRY(API_OPTIONS(o, options, err));
    TC_TRY(check(&o, err));
    tc_status s = read_names(&o, &passes, &shapes, err);
    if (s == TC_OK)
        tc_graph_bindings_free(shapes, api_length(o.shapes));
    return s;
}

tctune_status tctune_work_check(const tctune_work_options *options, char *error, size_t error_size) {
    API_CALL(err, error, error_size, check_options(options, &err), (void)0);
}

/* The bytes of a network in memory; NULL: the network is in the file. */
typedef struct contents {
    const void *bytes;
    size_t size;
} contents;

static tc_status open_work(const tctune_work_options *o, contents c, tctune_work *w, tc_error *err) {
    tc_graph_binding *shapes;
    size_t nshapes = api_length(o->shapes);
    tc_graph_work_options wo = {.model = o->model,
                                .bytes = c.bytes,
                                .nbytes = c.size,
                                .data_folder = o->data_folder,
                                .te = o->te,
                                .te_text = o->te_text,
                                .nshapes = nshapes,
                                .fixed = o->fixed_inputs,
                                .nfixed = api_length(o->fixed_inputs),
                                .in_place_cache = o->in_place_cache != 0,
                                .shape_weights = o->shape_weights,
                                .varying = !o->fixed,
                                .constants = o->constants,
                                .seed = o->seed};
    TC_TRY(read_names(o, &wo.passes, &shapes, err));
    wo.shapes = shapes;
    tc_status s = tc_graph_work_open(&wo, &w->w, err);
    tc_graph_bindings_free(shapes, nshapes);
    return s;
}

tc_status api_check_task(const tctune_work *w, int i, tc_error *err) {
    int n = tctune_work_num_tasks(w);
    return i >= 0 && i < n ? TC_OK : tc_fail(err, TC_BAD_INPUT, "there is no task %d: they are numbered 0 to %d", i, n - 1);
}

static const char *const *names_of(tc_arena *a, const tc_tune_task *t) {
    const char **names = TC_NEW_N(a, const char *, t->nnode + 1);
    for (int i = 0; i < t->nnode; i++)
        names[i] = t->nodes[i];
    return names;
}

static void describe(tctune_work *w) {
    const tc_tune_task *t;
    int n = tc_graph_work_tasks(w->w, &t);
    tctune_task *out = TC_NEW_N(w->arena, tctune_task, n);
    for (int i = 0; i < n; i++) {
        tc_ctx *c = tc_ctx_new();
        out[i] = (tctune_task){.name = t[i].name,
                               .workload = tc_te_text(w->arena, tc_te_canonical(c, t[i].workload)),
                               .hash = tc_arena_strdup(w->arena, tc_te_hash(t[i].workload).hex),
                               .weight = t[i].weight,
                               .flops = tc_te_flops(t[i].workload),
                               .varying = t[i].workload->nsymbol > 0,
                               .instead = t[i].ninstead > 0,
                               .sizes = t[i].workload->nsymbol,
                               .nodes = names_of(w->arena, &t[i])};
        tc_ctx_free(c);
    }
    w->tasks = out;
}

static tc_status open_described(const tctune_work_options *o, contents c, tctune_work **out, tc_error *err) {
    TC_TRY(check(o, err));
    tctune_work *w = *out = tc_xcalloc(1, sizeof *w);
    atomic_init(&w->holders, 1);
    w->arena = tc_arena_new();
    TC_TRY(open_work(o, c, w, err));
    describe(w);
    return TC_OK;
}

static tc_status open_file(const tctune_work_options *options, tctune_work **out, tc_error *err) {
    tctune_work_options o;
    TC_TRY(API_OPTIONS(o, options, err));
    return open_described(&o, (contents){0}, out, err);
}

tctune_status tctune_open(const tctune_work_options *options, tctune_work **work, char *error, size_t error_size) {
    *work = NULL;
    API_CALL(err, error, error_size, open_file(options, work, &err), (tctune_work_free(*work), *work = NULL));
}

static tc_status open_bytes(contents c, const char *name, const tctune_work_options *options, tctune_work **out, tc_error *err) {
    tctune_work_options o;
    TC_TRY(API_OPTIONS(o, options, err));
    if (o.model || o.te || o.te_text)
        return tc_fail(err, TC_BAD_INPUT, "the network is given as bytes: leave model, te and te_text NULL");
    o.model = name ? name : "model";
    if (!c.bytes || !c.size)
        return tc_fail(err, TC_BAD_INPUT, "%s: there are no bytes; expected those of an ONNX file", o.model);
    return open_described(&o, c, out, err);
}

tctune_status tctune_open_bytes(const void *onnx, size_t size, const char *name, const tctune_work_options *options,
                                tctune_work **work, char *error, size_t error_size) {
    *work = NULL;
    API_CALL(err, error, error_size, open_bytes((contents){onnx, size}, name, options, work, &err),
             (tctune_work_free(*work), *work = NULL));
}

tctune_work *api_work_hold(tctune_work *w) {
    atomic_fetch_add(&w->holders, 1);
    return w;
}

void tctune_work_free(tctune_work *w) {
    if (!w || atomic_fetch_sub(&w->holders, 1) != 1)
        return;
    tc_graph_work_free(w->w);
    tc_arena_free(w->arena);
    free(w);
}

const char *tctune_work_assumed(const tctune_work *w) {
    return tc_graph_work_assumed(w->w);
}

/* ---- tasks ---- */

int tctune_work_num_tasks(const tctune_work *w) {
    const tc_tune_task *t;
    return tc_graph_work_tasks(w->w, &t);
}

tctune_status tctune_work_task(const tctune_work *w, int i, tctune_task *task, char *error, size_t error_size) {
    tc_error err = {0};
    tc_status s = api_check_task(w, i, &err);
    if (s == TC_OK)
        s = API_FILL(task, w->tasks[i], &err);
    return api_answer(s, &err, error, error_size);
}

tctune_status tctune_work_find_task(const tctune_work *w, const char *name, int *task, char *error, size_t error_size) {
    *task = -1;
    API_CALL(err, error, error_size, tc_graph_work_find(w->w, name, task, &err), *task = -1);
}

static tc_status check_inputs(tctune_work *w, const char *file, tc_error *err) {
    tc_graph_program *p;
    tc_graph_bundle data = {0};
    const tc_graph_port *ports;
    TC_TRY(tc_graph_work_program(w->w, NULL, NULL, &p, err));
    int n = tc_graph_program_inputs(p, &ports);
    tc_status s = tc_graph_bundle_load(file, "input", ports, n, &data, err);
    tc_graph_bundle_free(&data);
    return s;
}

tctune_status tctune_work_check_inputs(tctune_work *w, const char *file, char *error, size_t error_size) {
    API_CALL(err, error, error_size, check_inputs(w, file, &err), (void)0);
}
