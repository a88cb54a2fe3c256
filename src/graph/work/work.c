/* Implements work.h. */
#include "graph/work/work.h"

#include <stdlib.h>
#include <string.h>

#include "graph/trials/bundle.h"
#include "support/guess.h"
#include "support/system/fs.h"
#include "te/text.h"

struct tc_graph_work {
    char *path;
    tc_strbuf assumed;
    tc_graph *graph; /* of a network */
    tc_ctx *ctx;     /* of a kernel, like what follows */
    tc_tune_task single;
    char *constants;
    uint64_t seed;
    tc_graph_program *program; /* NULL: of a kernel, and nobody has asked for it */
    bool decided;              /* a database has said which kernels of a network are faster as one: */
    tc_graph_program *merged;  /* the program with these; NULL: there are none */
    const tc_tune_task *tasks;
    int ntask;
    tc_arena *arena; /* of what follows */
    tc_tune_weights_file *weights;
};

/* ---- opening ---- */

static tc_status open_network(tc_graph_work *w, const tc_graph_work_options *o, tc_error *err) {
    tc_graph_import_options io = {.bytes = o->bytes,
                                  .nbytes = o->nbytes,
                                  .folder = o->data_folder,
                                  .shapes = o->shapes,
                                  .nshapes = o->nshapes,
                                  .fixed = o->fixed,
                                  .nfixed = o->nfixed,
                                  .in_place_cache = o->in_place_cache};
    TC_TRY(tc_graph_import(o->model, &io, &w->graph, err));
    if (w->graph->sizes)
        tc_graph_sizes_print_assumed(&w->assumed, w->graph->sizes);
    if (o->in_place_cache)
        TC_TRY(tc_graph_grow_in_place(w->graph, err));
    TC_TRY(tc_graph_passes(w->graph, &o->passes, err));
    tc_status st = tc_graph_program_new(w->graph, &w->program, err);
    if (st == TC_OK)
        w->ntask = tc_graph_program_tunable(w->program, &w->tasks);
    else
        tc_error_prefix(err, "%s: ", o->model);
    return st;
}

/* "gemm" of "dir/gemm.te" */
static const char *stem(const char *path, tc_arena *a) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return tc_arena_strndup(a, name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

static tc_status no_symbol(const tc_workload *w, const char *name, tc_error *err) {
    char text[TC_GUESS_TEXT];
    tc_guess g = tc_guess_new(name, strlen(name));
    for (int i = 0; i < w->nsymbol; i++)
        tc_guess_add(&g, w->symbols[i]->name);
    return tc_fail(err, TC_BAD_INPUT, "--shape %s: the kernel has no symbol of that name%s", name,
                   tc_guess_say(&g, "", w->nsymbol ? NULL : "its sizes are fixed", text));
}

static tc_status find_symbol(const tc_workload *w, const tc_graph_binding *b, int *at, tc_error *err) {
    for (*at = 0; *at < w->nsymbol; ++*at)
        if (strcmp(w->symbols[*at]->name, b->name) == 0)
            break;
    if (*at == w->nsymbol)
        return no_symbol(w, b->name, err);
    if (b->ndim != 1 || b->d[0].least != b->d[0].most)
        return tc_fail(err, TC_BAD_INPUT, "--shape %s: give one number for a symbol of a kernel; its range stands in the kernel",
                       b->name);
    if (b->d[0].most == 0)
        return tc_fail(err, TC_BAD_INPUT, "--shape %s=0: a kernel of this size alone would do nothing; give 1 or more", b->name);
    return TC_OK;
}

static tc_status no_size(const tc_var *v, tc_error *err) {
    return tc_fail(err, TC_BAD_INPUT, "size %s varies from %lld to %lld: choose one, such as --shape %s=%lld", v->name,
                   (long long)v->least, (long long)v->most, v->name, (long long)v->most);
}

/* The kernel at the sizes that are given. */
static tc_status fix_sizes(const tc_graph_work_options *o, tc_ctx *ctx, const tc_workload **w, tc_error *err) {
    int64_t *size = TC_NEW_N(tc_ctx_arena(ctx), int64_t, (*w)->nsymbol);
    int at;
    for (size_t i = 0; i < o->nshapes; i++) {
        TC_TRY(find_symbol(*w, &o->shapes[i], &at, err));
        size[at] = o->shapes[i].d[0].most;
    }
    if ((*w)->nsymbol == 0 || (o->nshapes == 0 && o->varying))
        return TC_OK;
    for (int i = 0; i < (*w)->nsymbol; i++)
        if (!size[i])
            return no_size((*w)->symbols[i], err);
    return tc_te_at(ctx, *w, size, w, err);
}

static tc_status read_kernel(const tc_graph_work_options *o, tc_ctx *c, const char *name, const tc_workload **out,
                             tc_error *err) {
    char *text;
    if (o->te_text)
        return tc_te_parse(c, name, o->te_text, out, err);
    TC_TRY(tc_fs_read_text_most(o->te, TC_BYTES_TE, &text, err));
    tc_status st = tc_te_parse(c, name, text, out, err);
    free(text);
    return st;
}

static tc_status open_kernel(tc_graph_work *w, const tc_graph_work_options *o, tc_error *err) {
    const tc_workload *workload;
    w->ctx = tc_ctx_new();
    TC_TRY(read_kernel(o, w->ctx, w->path, &workload, err));
    tc_status st = fix_sizes(o, w->ctx, &workload, err);
    if (st != TC_OK)
        tc_error_prefix(err, "%s: ", w->path);
    TC_TRY(st);
    w->constants = o->constants ? tc_xstrdup(o->constants) : NULL;
    w->seed = o->seed;
    w->single = (tc_tune_task){.name = stem(w->path, tc_ctx_arena(w->ctx)), .workload = workload, .weight = 1};
    w->tasks = &w->single;
    w->ntask = 1;
    return TC_OK;
}

/* Everything that can be wrong with the file is found now. */
static tc_status load_weights(tc_graph_work *w, const char *file, tc_error *err) {
    tc_tune_task *tasks = tc_arena_dup(w->arena, w->tasks, (size_t)w->ntask * sizeof *tasks);
    tc_status st = tc_tune_weights_load(w->arena, file, &w->weights, err);
    for (int i = 0; i < w->ntask && st == TC_OK; i++)
        st = w->graph ? tc_graph_program_weights(w->program, i, w->weights, w->arena, &tasks[i].sizes, err)
                      : tc_tune_weights_of(w->arena, w->weights, tasks[i].workload, &tasks[i].sizes, err);
    w->tasks = tasks;
    return st;
}

tc_status tc_graph_work_open(const tc_graph_work_options *o, tc_graph_work **out, tc_error *err) {
    tc_graph_work *w = tc_xcalloc(1, sizeof *w);
    w->path = tc_xstrdup(o->model ? o->model : o->te ? o->te : "kernel");
    w->arena = tc_arena_new();
    tc_status st = o->model ? open_network(w, o, err) : open_kernel(w, o, err);
    if (st == TC_OK && o->shape_weights)
        st = load_weights(w, o->shape_weights, err);
    *out = st == TC_OK ? w : NULL;
    if (st != TC_OK)
        tc_graph_work_free(w);
    return st;
}

void tc_graph_work_free(tc_graph_work *w) {
    if (!w)
        return;
    tc_graph_program_free(w->merged);
    tc_graph_program_free(w->program);
    tc_graph_free(w->graph);
    tc_ctx_free(w->ctx);
    tc_strbuf_free(&w->assumed);
    tc_arena_free(w->arena);
    free(w->constants);
    free(w->path);
    free(w);
}

/* ---- what there is ---- */

const char *tc_graph_work_path(const tc_graph_work *w) {
    return w->path;
}

const char *tc_graph_work_assumed(const tc_graph_work *w) {
    return tc_sb_str(&w->assumed);
}

int tc_graph_work_tasks(const tc_graph_work *w, const tc_tune_task **tasks) {
    *tasks = w->tasks;
    return w->ntask;
}

const tc_tune_weights_file *tc_graph_work_weights(const tc_graph_work *w) {
    return w->weights;
}

static bool has_node(const tc_tune_task *t, const char *name) {
    for (int i = 0; i < t->nnode; i++)
        if (strcmp(t->nodes[i], name) == 0)
            return true;
    return false;
}

typedef enum sense { BY_NAME, BY_NODE, BY_NODE_INSTEAD, NSENSES } sense;

static bool means(const tc_tune_task *t, const char *kernel, sense s) {
    return s == BY_NAME ? tc_graph_is_called(t, kernel) : has_node(t, kernel) && (t->ninstead > 0) == (s == BY_NODE_INSTEAD);
}

static tc_status ambiguous(const tc_graph_work *w, const char *kernel, sense s, tc_error *err) {
    tc_strbuf list = {0};
    for (int i = 0; i < w->ntask; i++)
        if (means(&w->tasks[i], kernel, s))
            tc_sb_printf(&list, "%s%d (%s)", list.len ? ", " : "", i, w->tasks[i].name);
    tc_status st = tc_fail(err, TC_BAD_INPUT, "'%s' is %s several kernels of %s: %s; give the number or the whole name of one",
                           kernel, s == BY_NAME ? "the name of" : "a node of", w->path, tc_sb_str(&list));
    tc_strbuf_free(&list);
    return st;
}

static tc_status no_kernel(const tc_graph_work *w, const char *kernel, tc_error *err) {
    char text[TC_GUESS_TEXT];
    tc_guess g = tc_guess_new(kernel, strlen(kernel));
    for (int i = 0; i < w->ntask; i++)
        tc_guess_add(&g, w->tasks[i].name);
    return tc_fail(
        err, TC_BAD_INPUT,
        "%s has no kernel '%s'%s Give a number from 0 to %d, a kernel's name, or the name of a node of the model. Nodes that "
        "only move data, or whose values are constants, are part of no kernel. `tctune show` lists all kernels",
        w->path, kernel, g.nclose ? tc_guess_say(&g, "", NULL, text) : ".", w->ntask - 1);
}

tc_status tc_graph_work_find(const tc_graph_work *w, const char *kernel, int *out, tc_error *err) {
    char *end;
    long number = strtol(kernel, &end, 10);
    *out = (int)number;
    if (end != kernel && !*end && number >= 0 && number < w->ntask)
        return TC_OK;
    for (sense s = 0; s < NSENSES; s++) {
        int found = 0;
        for (int i = w->ntask; i-- > 0;)
            if (means(&w->tasks[i], kernel, s)) {
                *out = i;
                found++;
            }
        if (found)
            return found == 1 ? TC_OK : ambiguous(w, kernel, s, err);
    }
    return no_kernel(w, kernel, err);
}

/* ---- building ---- */

static tc_status program_of_kernel(tc_graph_work *w, tc_error *err) {
    tc_graph_bundle constants = {0};
    tc_status st = TC_OK;
    if (w->constants)
        st = tc_graph_bundle_load(w->constants, "input", NULL, 0, &constants, err);
    if (st == TC_OK)
        st = tc_graph_program_of_workload(w->single.workload, w->single.name, constants.items, constants.len, w->seed,
                                          &w->program, err);
    tc_graph_bundle_free(&constants);
    return st;
}

/* Once: what is built from a program, and what is chosen for its kernels, is of the same one. */
static tc_status decide(tc_graph_work *w, const tc_graph_build_options *o, const char *db, tc_error *err) {
    tc_graph_build_options with = *o;
    TC_TRY(tc_meas_db_open(db, TC_MEAS_DB_READ, &with.db, err));
    tc_status st = tc_graph_program_merge(w->graph, w->program, &with, &w->merged, err);
    tc_meas_db_close(with.db);
    w->decided = st == TC_OK;
    return st;
}

tc_status tc_graph_work_program(tc_graph_work *w, const tc_graph_build_options *o, const char *db, tc_graph_program **out,
                                tc_error *err) {
    if (!w->program)
        TC_TRY(program_of_kernel(w, err));
    if (w->graph && db && !w->decided)
        TC_TRY(decide(w, o, db, err));
    *out = w->merged ? w->merged : w->program;
    return TC_OK;
}

bool tc_graph_work_is_network(const tc_graph_work *w) {
    return w->graph != NULL;
}

tc_status tc_graph_work_programs(tc_graph_work *w, const tc_graph_build_options *o, const tc_graph_program **apart,
                                 tc_graph_program **merged, tc_error *err) {
    *merged = NULL;
    if (!w->program)
        TC_TRY(program_of_kernel(w, err));
    *apart = w->program;
    return w->graph ? tc_graph_program_merge(w->graph, w->program, o, merged, err) : TC_OK;
}

tc_status tc_graph_work_build(tc_graph_work *w, const tc_graph_build_options *o, const char *db, tc_graph_model **out,
                              tc_error *err) {
    tc_graph_build_options with = *o;
    tc_graph_program *p;
    *out = NULL;
    with.db = NULL;
    TC_TRY(tc_graph_work_program(w, o, db, &p, err));
    if (db)
        TC_TRY(tc_meas_db_open(db, TC_MEAS_DB_READ, &with.db, err));
    tc_status st = tc_graph_model_build(p, &with, out, err);
    tc_meas_db_close(with.db);
    return st;
}
