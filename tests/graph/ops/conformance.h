/* The ONNX project's conformance cases in ../shared/onnx, for the tests that run them. */
#ifndef TC_TESTS_CONFORMANCE_H
#define TC_TESTS_CONFORMANCE_H

#include "graph/graph_test.h"
#include "graph/trials/cases.h"
#include "support/system/fs.h"

#define CASES TCTUNE_SOURCE_DIR "/../shared/onnx/"
enum { MAX_TENSORS = 32, ALL_CASES = 802 /* the other five are whole networks */ };

typedef struct data_set {
    tc_graph_bundle in, out;
} data_set;

/* What the graph's inputs are: by position, but by name where some inputs became constants. Sizes are none. */
static inline void give_inputs(const data_set *d, const tc_graph *g, tc_graph_tensor *in) {
    for (size_t i = 0; i < g->inputs.len - g->symbols.len; i++) {
        const tc_graph_tensor *named = tc_graph_bundle_find(&d->in, g->inputs.data[i]->name);
        in[i] = named ? *named : d->in.items[i].t;
    }
}

/* `how` says in messages what made them. */
static inline bool outputs_agree(const char *dir, const char *how, const data_set *d, const tc_graph_tensor *out) {
    const tc_graph_tolerance by_type = {.rtol = -1, .atol = -1};
    for (size_t i = 0; i < d->out.len; i++) {
        tc_graph_diff diff = {0};
        tc_error e = {0};
        if (tc_graph_tensor_within(&out[i], &d->out.items[i].t, &by_type, &diff, &e) != TC_OK || diff.violations) {
            print_error("%s, %s: output %zu differs by %g: %s\n", dir, how, i, diff.max_abs, e.msg);
            return false;
        }
    }
    return true;
}

/* What is made of every case, and how it went. */
typedef struct tally {
    bool (*check)(const char *dir, const data_set *d, tc_graph *g);
    const char *only;            /* a word that names of cases must have; NULL: none */
    int passed, failed, skipped; /* skipped: import does not know some operator */
} tally;

static inline void run_case(void *user, const char *dir) {
    tally *t = user;
    const char *name = strrchr(dir, '/') + 1;
    if (t->only && !strstr(name, t->only))
        return;
    tc_arena *a = tc_arena_new();
    const char *model = tc_arena_printf(a, "%s/model.onnx", dir), *set = tc_arena_printf(a, "%s/test_data_set_0", dir);
    const tc_graph_case_options usual = {0};
    tc_graph_case c = {0};
    data_set d;
    tc_graph *g = NULL;
    tc_error e = {0};
    tc_status s = tc_graph_data_set_load(set, &d.in, &d.out, &e);
    if (s == TC_OK)
        s = tc_graph_case_import(model, &usual, &d.in, a, &c, &g, &e);
    if (s == TC_OK) {
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
    tc_graph_bundle_free(&d.in);
    tc_graph_bundle_free(&d.out);
    tc_arena_free(a);
}

/* Calls `each` for every case; false when the cases are not there. */
static inline bool walk_cases(tc_graph_each_case *each, void *user) {
    static const char *const folders[] = {CASES "node", CASES "simple", CASES "pytorch-operator", CASES "pytorch-converted"};
    if (!tc_fs_is_dir(folders[0])) {
        print_message("skipped: ../shared is not there (%s)\n", CASES);
        return false;
    }
    for (size_t i = 0; i < TC_LEN(folders); i++)
        assert_true(tc_graph_cases_walk(folders[i], NULL, each, user));
    return true;
}

/* Runs every case; false when the cases are not there. */
static inline bool run_cases(tally *t) {
    if (!walk_cases(run_case, t))
        return false;
    print_message("%d passed, %d failed, %d skipped\n", t->passed, t->failed, t->skipped);
    return true;
}

#endif
