/* Builds, loads and saves models, and describes their inputs and outputs (include/tctune/model.h). Runs are in run.c. */
#include <stdlib.h>

#include "api/model_int.h"
#include "graph/model/parts.h"
#include "graph/saved/saved.h"
#include "support/system/stop.h"
#include "support/system/threads.h"

/* ---- building ---- */

/* A build under way, as its progress sees it. */
typedef struct build {
    const tctune_build_options *o;
    volatile sig_atomic_t own;
    volatile sig_atomic_t *stop; /* the caller's, or `own` */
} build;

static void on_kernel(void *user, int done, int total, const char *kernel) {
    build *b = user;
    if (b->o->progress && b->o->progress(b->o->user, done, total, kernel))
        tc_raise_to(b->stop, 1);
}

static tc_status check(const tctune_build_options *o, const tc_target *t, tc_error *err) {
    bool rounds = o->precision && strcmp(o->precision, "f32") != 0;
    if (o->error_budget < 0 || o->error_budget != o->error_budget)
        return tc_fail(err, TC_BAD_INPUT, "error_budget must be a number from 0 up, not %g", o->error_budget);
    if (o->error_budget > 0 && !rounds)
        return tc_fail(err, TC_BAD_INPUT, "error_budget goes with precision \"auto\": in f32 there is nothing to choose");
    if (o->inputs && !(o->error_budget > 0))
        return tc_fail(err, TC_BAD_INPUT, "inputs go with an error_budget, which is measured on them");
    if (o->error_budget > 0 && (o->top_k_in_graph > 1 || !t->native))
        return tc_fail(
            err, TC_BAD_INPUT,
            "error_budget runs the network on this machine: it does not go with another target, or with top_k_in_graph");
    return TC_OK;
}

static tc_status parse_team(const char *name, tc_graph_team *out, tc_error *err) {
    *out = !name ? TC_GRAPH_TEAM_ANY : strcmp(name, "own") == 0 ? TC_GRAPH_TEAM_OWN : TC_GRAPH_TEAM_OPENMP;
    if (*out != TC_GRAPH_TEAM_OPENMP || strcmp(name, "openmp") == 0)
        return TC_OK;
    return tc_fail(err, TC_BAD_INPUT, "the team is own or openmp, not '%s'", name);
}

/* Chooses the kernels that round, so that the outputs stay within the budget. */
static tc_status choose_precision(tctune_model *m, const tctune_build_options *o, tc_graph_build_options *bo, tc_error *err) {
    tc_graph_program *p;
    tc_graph_bundle data = {0};
    const tc_graph_port *ports;
    m->precision = TC_NEW(m->arena, tc_graph_precision);
    TC_TRY(tc_graph_work_program(m->work->w, bo, o->database, &p, err));
    int n = tc_graph_program_inputs(p, &ports);
    tc_status s = o->inputs ? tc_graph_bundle_load(o->inputs, "input", ports, n, &data, err) : TC_OK;
    if (s == TC_OK)
        s = tc_graph_bundle_drop_fixed(&data, tc_graph_program_fixed(p), err);
    if (s == TC_OK)
        s = tc_graph_precision_choose(p, bo, o->database, &data, o->inputs != NULL, o->error_budget, m->arena, m->precision, err);
    if (s == TC_BAD_INPUT && o->inputs && data.len)
        tc_error_prefix(err, "%s: ", o->inputs);
    if (s == TC_OK)
        bo->accuracies = m->precision->accuracy;
    tc_graph_bundle_free(&data);
    return s;
}

static tc_status hold_contest(tctune_model *m, const tctune_build_options *o, tc_graph_build_options *bo, tc_error *err) {
    tc_graph_program *p;
    m->admitted = TC_NEW(m->arena, tc_graph_admission);
    m->contest = TC_NEW(m->arena, tc_graph_contest);
    TC_TRY(tc_graph_work_program(m->work->w, bo, o->database, &p, err));
    TC_TRY(tc_graph_contest_hold(p, bo, o->database, o->top_k_in_graph, m->arena, m->admitted, m->contest, err));
    bo->choices = m->contest->choices;
    return TC_OK;
}

static tc_status compile(tctune_model *m, const tctune_build_options *o, tc_graph_build_options *bo, tc_error *err) {
    if (o->error_budget > 0)
        TC_TRY(choose_precision(m, o, bo, err));
    else if (o->top_k_in_graph > 1)
        TC_TRY(hold_contest(m, o, bo, err));
    bo->object_only |= o->only_to_save != 0;
    bo->use_up_constants |= o->last != 0;
    bo->listing = o->listing;
    return tc_graph_work_build(m->work->w, bo, o->database, &m->model, err);
}

/* alone: nothing else will be built of the work. */
static tc_status make(tctune_work *w, const tctune_build_options *o, bool alone, build *b, tctune_model **out, tc_error *err) {
    tc_target *t;
    tc_accuracy accuracy;
    tc_graph_team team;
    TC_TRY(api_accuracy(o->accuracy, o->precision, &accuracy, err));
    TC_TRY(parse_team(o->team, &team, err));
    TC_TRY(api_target(o->target, o->threads, &t, err));
    tc_graph_build_options bo = {.target = t,
                                 .threads = t->machine.cores,
                                 .weights = tc_graph_work_weights(w->w),
                                 .accuracy = accuracy,
                                 .team = team,
                                 .require_complete = o->require_complete != 0,
                                 .object_only = !t->native,
                                 .use_up_constants = alone,
                                 .stop = b->stop,
                                 .progress = on_kernel,
                                 .user = b};
    *out = tc_xcalloc(1, sizeof **out);
    (*out)->work = api_work_hold(w);
    (*out)->arena = tc_arena_new();
    (*out)->target = tc_xstrdup(t->text);
    tc_status s = check(o, t, err);
    if (s == TC_OK && t->native)
        s = api_threads_here(bo.threads, err);
    if (s == TC_OK)
        s = compile(*out, o, &bo, err);
    tc_target_free(t);
    return s;
}

static tctune_status build_of(tctune_work *w, const tctune_build_options *options, bool alone, tctune_model **model, char *error,
                              size_t error_size) {
    tctune_build_options o;
    build b = {.o = &o};
    tc_error err = {0};
    *model = NULL;
    api_find_worker();
    tc_status s = api_begin(&err);
    if (s == TC_OK) {
        s = API_OPTIONS(o, options, &err);
        b.stop = o.stop ? o.stop : &b.own;
        if (s == TC_OK)
            s = make(w, &o, alone, &b, model, &err);
        s = api_end(s, &err);
    }
    tctune_status answer = api_answer(s, &err, error, error_size);
    if (s != TC_OK) {
        tctune_model_free(*model);
        *model = NULL;
    }
    return s != TC_OK && tc_is_raised(b.stop) ? TCTUNE_STOPPED : answer;
}

tctune_status tctune_build(tctune_work *work, const tctune_build_options *options, tctune_model **model, char *error,
                           size_t error_size) {
    return build_of(work, options, false, model, error, error_size);
}

tctune_status tctune_build_file(const char *onnx_file, const tctune_build_options *options, tctune_model **model, char *error,
                                size_t error_size) {
    tctune_work_options wo = {.struct_size = sizeof wo, .model = onnx_file};
    tctune_work *w;
    *model = NULL;
    tctune_status s = tctune_open(&wo, &w, error, error_size);
    if (s == TCTUNE_OK)
        s = build_of(w, options, true, model, error, error_size);
    tctune_work_free(w);
    return s;
}

/* ---- files ---- */

static tc_status load(const char *library, int threads, tctune_model **out, tc_error *err) {
    if (threads > 0) /* a library takes no more than it was built for */
        TC_TRY(tc_threads_check(threads, err));
    *out = tc_xcalloc(1, sizeof **out);
    TC_TRY(tc_graph_model_load(library, threads, &(*out)->model, err));
    return api_threads_here(tc_graph_model_threads((*out)->model), err);
}

tctune_status tctune_load(const char *library, int threads, tctune_model **model, char *error, size_t error_size) {
    *model = NULL;
    API_CALL(err, error, error_size, load(library, threads, model, &err), (tctune_model_free(*model), *model = NULL));
}

int tctune_is_library(const char *file) {
    return tc_graph_is_library(file);
}

void tctune_model_free(tctune_model *m) {
    if (!m)
        return;
    tc_graph_model_free(m->model);
    api_free_arrays(&m->own);
    tc_arena_free(m->arena);
    tctune_work_free(m->work);
    free(m->target);
    free(m);
}

tctune_status tctune_model_save(const tctune_model *m, const char *path, const char *prefix, char *error, size_t error_size) {
    API_CALL(err, error, error_size, tc_graph_model_save(m->model, path, prefix, &err), (void)0);
}

/* ---- how it was built ---- */

static tc_status report(const tctune_model *m, char **json, tc_error *err) {
    tc_report_built b = {
        .model = m->model, .target = m->target, .admitted = m->admitted, .contest = m->contest, .precision = m->precision};
    return tc_report_text(tc_report_model(&b), json, err);
}

tctune_status tctune_model_report(const tctune_model *m, char **json, char *error, size_t error_size) {
    API_DOCUMENT(err, error, error_size, json, report(m, json, &err));
}

static tc_status print_plan(const tctune_model *m, char **text, tc_error *err) {
    tc_strbuf b = {0};
    if (!m->work)
        return tc_fail(err, TC_BAD_INPUT, "a loaded library has no memory plan: ask the model that was built from the network");
    tc_graph_model_print_plan(m->model, &b);
    *text = tc_xstrdup(tc_sb_str(&b));
    tc_strbuf_free(&b);
    return TC_OK;
}

tctune_status tctune_model_plan(const tctune_model *m, char **text, char *error, size_t error_size) {
    *text = NULL;
    API_CALL(err, error, error_size, print_plan(m, text, &err), (free(*text), *text = NULL));
}

/* ---- ports ---- */

static const char *describe(const tc_graph_port *p, DLDataType *type, int *ndim, const int64_t **shape) {
    *type = api_dl_type(p->dtype);
    *ndim = p->shape.ndim;
    *shape = p->shape.d;
    return p->name;
}

int tctune_model_num_inputs(const tctune_model *m) {
    const tc_graph_port *p;
    return tc_graph_model_inputs(m->model, &p);
}

int tctune_model_num_outputs(const tctune_model *m) {
    const tc_graph_port *p;
    return tc_graph_model_outputs(m->model, &p);
}

const char *tctune_model_input(const tctune_model *m, int i, DLDataType *type, int *ndim, const int64_t **shape) {
    const tc_graph_port *p;
    return i >= 0 && i < tc_graph_model_inputs(m->model, &p) ? describe(&p[i], type, ndim, shape) : NULL;
}

const char *tctune_model_output(const tctune_model *m, int i, DLDataType *type, int *ndim, const int64_t **shape) {
    const tc_graph_port *p;
    return i >= 0 && i < tc_graph_model_outputs(m->model, &p) ? describe(&p[i], type, ndim, shape) : NULL;
}

int tctune_model_grows(const tctune_model *m, int i, int *rows) {
    const tc_graph_port *p;
    if (i < 0 || i >= tc_graph_model_inputs(m->model, &p) || !p[i].shared)
        return -1;
    *rows = p[i].rows;
    return p[i].shared - 1;
}

const int64_t *tctune_model_output_shape(const tctune_model *m, int i) {
    return i >= 0 && i < tctune_model_num_outputs(m) ? tc_graph_model_output_shape(m->model, i)->d : NULL;
}
