/* The ONNX project's conformance cases, for the tests that run them: those of Debian's package libonnx-testdata, then those in
 * ../shared/onnx, where that is there, that are no copies of them. not_passed.def lists the cases of the package that do not
 * pass. */
#ifndef TC_TESTS_CONFORMANCE_H
#define TC_TESTS_CONFORMANCE_H

#include "graph/graph_test.h"
#include "graph/trials/cases.h"
#include "support/system/fs.h"

#define PACKAGE_CASES TCTUNE_ONNX_TESTDATA
#define SHARED_CASES TCTUNE_SOURCE_DIR "/../shared/onnx"
enum { MAX_TENSORS = 32, IN_PACKAGE = 1072 };

/* ---- the table ---- */

typedef enum case_outcome { PASSES, REFUSED, WRONG } case_outcome;

typedef struct not_passed {
    const char *name;
    case_outcome outcome;
    const char *words, *why;
} not_passed;

static const not_passed not_passed_cases[] = {
#define NOT_PASSED(name, outcome, words, why) {name, outcome, words, why},
#include "graph/ops/not_passed.def"
#undef NOT_PASSED
};

/* ---- the cases ---- */

typedef struct onnx_case {
    const char *dir, *name; /* name: with its folder, node/test_abs */
    bool shared;
    const not_passed *row; /* NULL: it passes */
} onnx_case;

typedef void each_onnx_case(void *user, const onnx_case *c);

typedef struct case_walk {
    const char *root, *only; /* only: a word that names of cases must have; NULL: none */
    each_onnx_case *each;
    void *user;
    int seen, copies; /* seen: cases of this root, with the copies */
    bool row_seen[TC_LEN(not_passed_cases)];
} case_walk;

static inline bool same_file(const char *a, const char *b) {
    char *x = NULL, *y = NULL;
    size_t m, n;
    bool same = tc_fs_exists(a) == tc_fs_exists(b);
    if (same && tc_fs_exists(a))
        same = tc_fs_read(a, &x, &m, NULL) == TC_OK && tc_fs_read(b, &y, &n, NULL) == TC_OK && m == n && memcmp(x, y, m) == 0;
    free(x);
    free(y);
    return same;
}

/* Has the package the same model with the same data? */
static inline bool is_copy(const char *dir, const char *name) {
    enum { MAX_FILES = 16 };
    char a[1024], b[1024];
    snprintf(a, sizeof a, "%s/model.onnx", dir);
    snprintf(b, sizeof b, "%s/%s/model.onnx", PACKAGE_CASES, name);
    bool same = tc_fs_exists(b) && same_file(a, b);
    for (int i = 0; i < 2 * MAX_FILES && same; i++) {
        snprintf(a, sizeof a, "%s/test_data_set_0/%s_%d.pb", dir, i % 2 ? "output" : "input", i / 2);
        snprintf(b, sizeof b, "%s/%s/test_data_set_0/%s_%d.pb", PACKAGE_CASES, name, i % 2 ? "output" : "input", i / 2);
        same = same_file(a, b);
    }
    return same;
}

static inline void visit_case(void *user, const char *dir) {
    case_walk *w = user;
    onnx_case c = {.dir = dir, .name = dir + strlen(w->root) + 1, .shared = strcmp(w->root, SHARED_CASES) == 0};
    w->seen++;
    if (w->only && !strstr(strrchr(dir, '/') + 1, w->only))
        return;
    if (c.shared && is_copy(dir, c.name)) {
        w->copies++;
        return;
    }
    for (size_t i = 0; i < TC_LEN(not_passed_cases) && !c.shared; i++)
        if (strcmp(not_passed_cases[i].name, c.name) == 0) {
            c.row = &not_passed_cases[i];
            w->row_seen[i] = true;
        }
    w->each(w->user, &c);
}

static inline void walk_root(case_walk *w) {
    static const char *const folders[] = {"node", "simple", "pytorch-operator", "pytorch-converted"};
    for (size_t i = 0; i < TC_LEN(folders); i++) {
        char dir[1024];
        snprintf(dir, sizeof dir, "%s/%s", w->root, folders[i]);
        if (!tc_graph_cases_walk(dir, NULL, visit_case, w))
            fail_msg("%s: there are no cases; install Debian's libonnx-testdata, or configure with -DTCTUNE_ONNX_TESTDATA=FOLDER",
                     dir);
    }
}

/* Calls `each` for every case; a case that is in the package and in ../shared comes once. */
static inline void walk_cases(const char *only, each_onnx_case *each, void *user) {
    case_walk w = {.root = PACKAGE_CASES, .only = only, .each = each, .user = user};
    walk_root(&w);
    assert_int_equal(w.seen, IN_PACKAGE);
    for (size_t i = 0; i < TC_LEN(not_passed_cases) && !only; i++)
        if (!w.row_seen[i])
            fail_msg("%s is not there: remove its row from not_passed.def", not_passed_cases[i].name);
    w = (case_walk){.root = SHARED_CASES, .only = only, .each = each, .user = user};
    if (!tc_fs_is_dir(SHARED_CASES))
        return;
    walk_root(&w);
    print_message("of %d cases in ../shared/onnx %d are also in the package\n", w.seen, w.copies);
}

/* ---- one case ---- */

/* What the graph's inputs are: by position, but by name where some inputs became constants. Sizes are none. */
static inline void give_inputs(const tc_graph_data_set *d, const tc_graph *g, tc_graph_tensor *in) {
    for (size_t i = 0; i < g->inputs.len - g->symbols.len; i++) {
        const tc_graph_tensor *named = tc_graph_bundle_find(&d->in, g->inputs.data[i]->name);
        in[i] = named ? *named : d->in.items[i].t;
    }
}

/* `how` says in messages what made them. */
static inline tc_status compare_outputs(const char *how, const tc_graph_bundle *want, const tc_graph_tensor *out, tc_error *e) {
    const tc_graph_tolerance by_type = {.rtol = -1, .atol = -1};
    for (size_t i = 0; i < want->len; i++) {
        tc_graph_diff diff = {0};
        tc_status s = tc_graph_tensor_within(&out[i], &want->items[i].t, &by_type, &diff, e);
        if (s == TC_OK && diff.violations)
            s = tc_fail(e, TC_BAD_INPUT, "it differs by %g", diff.max_abs);
        if (s != TC_OK) {
            tc_error_prefix(e, "%s: output %zu: ", how, i);
            return s;
        }
    }
    return TC_OK;
}

/* ---- all of them ---- */

/* What is made of every case, and how it went. */
typedef struct tally {
    tc_status (*check)(const tc_graph_data_set *d, tc_graph *g, const tc_graph_tensor *in, tc_error *e);
    int passed, failed, listed;
} tally;

static inline tc_status try_check(const tally *t, const tc_graph_data_set *d, tc_graph *g, tc_error *e) {
    tc_graph_tensor in[MAX_TENSORS];
    give_inputs(d, g, in);
    for (size_t i = 0; i < g->inputs.len - g->symbols.len; i++)
        TC_TRY(tc_graph_check_input(g, i, &in[i], e));
    return t->check(d, g, in, e);
}

/* Is it as the table says? */
static inline bool ends_as_listed(const onnx_case *c, tc_status s, const tc_error *e) {
    case_outcome is = s == TC_OK ? PASSES : tc_error_unsupported(e) ? REFUSED : WRONG;
    if (!c->row && is != PASSES)
        print_error("%s: %s\n", c->dir, e->msg);
    else if (c->row && is == PASSES)
        print_error("%s passes: remove its row from not_passed.def\n", c->name);
    else if (c->row && (is != c->row->outcome || !strstr(e->msg, c->row->words)))
        print_error("%s: not_passed.def says that it is %s with '%s', but: %s\n", c->name,
                    c->row->outcome == REFUSED ? "refused" : "wrong", c->row->words, e->msg);
    else
        return true;
    return false;
}

static inline void run_case(void *user, const onnx_case *c) {
    tally *t = user;
    tc_arena *a = tc_arena_new();
    const char *model = tc_arena_printf(a, "%s/model.onnx", c->dir), *set = tc_arena_printf(a, "%s/test_data_set_0", c->dir);
    const tc_graph_case_options usual = {0};
    tc_graph_case is = {0};
    tc_graph_data_set d;
    tc_graph *g = NULL;
    tc_error e = {0};
    tc_status s = tc_graph_data_set_load(model, set, a, &d, &e);
    if (s == TC_OK)
        s = tc_graph_case_import(model, &usual, &d, a, &is, &g, &e);
    if (s == TC_OK)
        s = try_check(t, &d, g, &e);
    bool ok = ends_as_listed(c, s, &e);
    t->failed += !ok;
    t->listed += ok && c->row;
    t->passed += ok && !c->row;
    tc_graph_free(g);
    tc_graph_data_set_free(&d);
    tc_arena_free(a);
}

/* Runs every case, or those whose name has the word `only`. */
static inline void run_cases(tally *t, const char *only) {
    walk_cases(only, run_case, t);
    print_message("%d passed, %d did not, as listed, %d failed\n", t->passed, t->listed, t->failed);
    assert_int_equal(t->failed, 0);
}

#endif
