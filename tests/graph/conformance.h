/* The ONNX project's conformance cases in ../shared/onnx, for the tests that run them. */
#ifndef TC_TESTS_CONFORMANCE_H
#define TC_TESTS_CONFORMANCE_H

#include <dirent.h>
#include <unistd.h>

#include "graph/onnx/import.h"
#include "graph_test.h"
#include "support/fs.h"

#define CASES TCTUNE_SOURCE_DIR "/../shared/onnx/"
enum { MAX_TENSORS = 32, ALL_CASES = 802 /* the other five are whole networks */ };

typedef struct data_set {
    tc_graph_named in[MAX_TENSORS], out[MAX_TENSORS];
    size_t nin, nout;
} data_set;

static inline size_t load_all(const char *dir, const char *kind, tc_graph_named *items) {
    size_t n = 0;
    for (; n < MAX_TENSORS; n++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/test_data_set_0/%s_%zu.pb", dir, kind, n);
        if (access(path, R_OK) != 0 || tc_graph_pb_load(path, &items[n].t, &items[n].name, NULL) != TC_OK)
            break;
    }
    return n;
}

static inline void free_all(tc_graph_named *items, size_t n) {
    for (size_t i = 0; i < n; i++) {
        free(items[i].name);
        tc_graph_tensor_free(&items[i].t);
    }
}

/* Cases feed axes and shapes as inputs: where import asks for constants, the integer inputs after the first are given as such. */
static inline tc_status import_case(const char *path, const data_set *d, tc_graph **g, tc_error *err) {
    tc_graph_named constants[MAX_TENSORS];
    size_t n = 0;
    tc_status s = tc_graph_import(path, NULL, g, err);
    if (s == TC_OK || !tc_error_wants_constant(err))
        return s;
    for (size_t i = 1; i < d->nin; i++)
        if (tc_dtype_is_int(d->in[i].t.dtype))
            constants[n++] = d->in[i];
    s = tc_graph_import(path, &(tc_graph_import_options){.constants = constants, .nconstants = n}, g, err);
    if (s == TC_OK)
        return s;
    return tc_graph_import(path, &(tc_graph_import_options){.constants = d->in, .nconstants = d->nin}, g, err);
}

/* What the graph's inputs are: by position, but by name where some inputs became constants. */
static inline void give_inputs(const data_set *d, const tc_graph *g, tc_graph_tensor *in) {
    for (size_t i = 0; i < g->inputs.len; i++) {
        in[i] = d->in[i].t;
        for (size_t k = 0; k < d->nin; k++)
            if (strcmp(d->in[k].name, g->inputs.data[i]->name) == 0)
                in[i] = d->in[k].t;
    }
}

/* `how` says in messages what made them. */
static inline bool outputs_agree(const char *dir, const char *how, const data_set *d, const tc_graph_tensor *out) {
    for (size_t i = 0; i < d->nout; i++) {
        tc_graph_diff diff = {0};
        tc_error e = {0};
        const tc_graph_tensor *want = &d->out[i].t;
        bool half = want->dtype == TC_F16 || want->dtype == TC_BF16;
        if (tc_graph_tensor_compare(&out[i], want, half ? 1e-2 : 1e-3, half ? 1e-3 : 1e-5, &diff, &e) != TC_OK ||
            diff.violations) {
            print_error("%s, %s: output %zu differs by %g: %s\n", dir, how, i, diff.max_abs, e.msg);
            return false;
        }
    }
    return true;
}

/* What is made of every case, and how it went. */
typedef struct tally {
    bool (*check)(const char *dir, const data_set *d, tc_graph *g);
    int passed, failed, skipped; /* skipped: import does not know some operator */
} tally;

static inline void run_case(tally *t, const char *dir) {
    char path[4096];
    snprintf(path, sizeof path, "%s/model.onnx", dir);
    data_set d = {0};
    d.nin = load_all(dir, "input", d.in);
    d.nout = load_all(dir, "output", d.out);
    tc_graph *g = NULL;
    tc_error e = {0};
    if (import_case(path, &d, &g, &e) == TC_OK) {
        bool ok = t->check(dir, &d, g);
        t->passed += ok;
        t->failed += !ok;
    } else if (tc_error_unsupported(&e)) {
        t->skipped++;
    } else {
        print_error("%s\n", e.msg);
        t->failed++;
    }
    tc_graph_free(g);
    free_all(d.in, d.nin);
    free_all(d.out, d.nout);
}

/* Runs every case whose name has the word `only` (NULL: all); false when the cases are not there. */
static inline bool run_cases(const char *only, tally *t) {
    static const char *const folders[] = {"node", "simple", "pytorch-operator", "pytorch-converted"};
    if (!tc_fs_is_dir(CASES "node")) {
        print_message("skipped: ../shared is not there (%s)\n", CASES);
        return false;
    }
    for (size_t i = 0; i < TC_LEN(folders); i++) {
        char path[1024], dir[2048];
        snprintf(path, sizeof path, CASES "%s", folders[i]);
        DIR *d = opendir(path);
        assert_non_null(d);
        for (struct dirent *e; (e = readdir(d));)
            if (strncmp(e->d_name, "test_", 5) == 0 && (!only || strstr(e->d_name, only))) {
                snprintf(dir, sizeof dir, "%s/%s", path, e->d_name);
                run_case(t, dir);
            }
        closedir(d);
    }
    print_message("%d passed, %d failed, %d skipped\n", t->passed, t->failed, t->skipped);
    return true;
}

#endif
