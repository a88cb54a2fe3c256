/* Graph passes, text in and text out: PASS-CASE.txt (or PASS+PASS-CASE.txt) holds a graph, a line "----", and what the
 * pass makes of it. The reference evaluator must give the same before and after. TC_UPDATE_GOLDENS=1 rewrites the second half.
 * Then the runner and its options. */
#include <dirent.h>
#include <math.h>

#include "graph/graph_text.h"
#include "graph/passes/pass.h"
#include "support/system/fs.h"

static const char separator[] = "----\n";

/* ---- same results ---- */

static void random_inputs(const tc_graph *g, tc_graph_tensor *in) {
    tc_rng rng = tc_rng_seed(7);
    for (size_t i = 0; i < g->inputs.len; i++) {
        const tc_graph_value *v = g->inputs.data[i];
        assert_ok(tc_graph_tensor_alloc(&in[i], v->dtype, &v->shape, err));
        int64_t n = tc_graph_tensor_count(&in[i]);
        double *x = tc_xcalloc((size_t)n + 1, sizeof *x);
        for (int64_t k = 0; k < n; k++)
            x[k] = tc_rng_normal(&rng);
        tc_graph_tensor_from_f64(&in[i], x);
        free(x);
    }
}

static void expect_same(const char *file, const tc_graph *g, const tc_graph_tensor *got, const tc_graph_tensor *want) {
    for (size_t i = 0; i < g->outputs.len; i++) {
        tc_graph_diff d;
        assert_ok(tc_graph_tensor_compare(&got[i], &want[i], 1e-4, 1e-4, &d, err));
        if (d.violations)
            fail_msg("%s: output %zu differs by %g", file, i, d.max_abs);
    }
}

static void free_all(tc_graph_tensor *t, size_t n) {
    for (size_t i = 0; i < n; i++)
        tc_graph_tensor_free(&t[i]);
}

/* ---- one case ---- */

static char *printed(const tc_graph *g) {
    tc_strbuf b = {0};
    tc_graph_print(g, &b);
    const char *text = tc_sb_str(&b), *first = strchr(text, '\n'); /* without the graph's name */
    char *s = tc_xstrdup(first ? first + 1 : text);
    tc_strbuf_free(&b);
    return s;
}

/* The name is one of those in the list "a+b". */
static bool listed(const char *list, const char *name) {
    size_t len = strlen(name);
    for (const char *p = list; p; p = strchr(p, '+') ? strchr(p, '+') + 1 : NULL)
        if (strncmp(p, name, len) == 0 && (p[len] == 0 || p[len] == '+'))
            return true;
    return false;
}

/* Runs these passes alone: everything else is disabled. */
static void run_only(tc_graph *g, const char *list) {
    const char *others[32];
    size_t n = 0;
#define PASS(name, level, summary)                                                                                               \
    if (!listed(list, #name))                                                                                                    \
        others[n++] = #name;
#include "graph/ops/ops.h"
#include "graph/passes/passes.def"
#undef PASS
    tc_graph_pass_options o = {.level = TC_GRAPH_OPT_MAX, .disabled = others, .ndisabled = n};
    assert_ok(tc_graph_passes(g, &o, err));
    assert_ok(tc_graph_verify(g, err));
}

static void update(const char *path, const char *before, const char *after) {
    tc_strbuf b = {0};
    tc_sb_printf(&b, "%s%s%s", before, separator, after);
    assert_ok(tc_fs_write(path, tc_sb_str(&b), b.len, err));
    tc_strbuf_free(&b);
}

static void check_case(const char *name) {
    char path[1024], list[64], *text;
    tc_graph *g;
    tc_graph_tensor in[8], want[8], got[8];
    snprintf(path, sizeof path, TCTUNE_TEST_DIR "/passes/%s", name);
    snprintf(list, sizeof list, "%.*s", (int)strcspn(name, "-"), name);
    assert_ok(tc_fs_read(path, &text, NULL, err));
    char *split = strstr(text, separator), *golden = split ? tc_xstrdup(split + strlen(separator)) : NULL;
    if (split)
        *split = 0;
    assert_ok(graph_of_text(name, text, &g, err));
    random_inputs(g, in);
    assert_ok(tc_graph_eval(g, in, want, err));
    run_only(g, list);
    assert_ok(tc_graph_eval(g, in, got, err));
    expect_same(name, g, got, want);
    char *after = printed(g);
    if (getenv("TC_UPDATE_GOLDENS"))
        update(path, text, after);
    else if (!golden || strcmp(after, golden) != 0)
        fail_msg("%s: got\n%s", name, after);
    free_all(in, g->inputs.len);
    free_all(want, g->outputs.len);
    free_all(got, g->outputs.len);
    tc_graph_free(g);
    free(after);
    free(golden);
    free(text);
}

static void test_texts(void **state) {
    (void)state;
    int cases = 0;
    DIR *d = opendir(TCTUNE_TEST_DIR "/passes");
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        if (strstr(e->d_name, ".txt") && strchr(e->d_name, '-')) {
            check_case(e->d_name);
            cases++;
        }
    closedir(d);
    assert_true(cases >= 8);
}

/* ---- the runner ---- */

static const char small[] = "input %x : f32[1,3,8,8]\n"
                            "const %w : f32[4,3,3,3]\n"
                            "%y = Conv(%x, %w)\n"
                            "output y = %y\n";

static void test_unknown(void **state) {
    (void)state;
    const char *names[] = {"simplify", "tidy"};
    assert_fails(TC_BAD_INPUT, tc_graph_passes_check(&(tc_graph_pass_options){.disabled = names, .ndisabled = 2}, err),
                 "--disable-pass", "'tidy'", "channels_last, ");
    assert_fails(TC_BAD_INPUT, tc_graph_passes_check(&(tc_graph_pass_options){.dump = "none"}, err), "--dump-graph", "'none'",
                 "simplify");
    assert_ok(tc_graph_passes_check(&(tc_graph_pass_options){.disabled = names, .ndisabled = 1, .dump = "all"}, err));
}

/* What the log says when `small` runs under o. */
static char *log_of(tc_graph_pass_options o) {
    tc_graph *g;
    char *text = NULL;
    size_t size = 0;
    assert_ok(graph_of_text("small", small, &g, err));
    o.log = open_memstream(&text, &size);
    assert_ok(tc_graph_passes(g, &o, err));
    fclose(o.log);
    tc_graph_free(g);
    return text;
}

static void test_levels(void **state) {
    (void)state;
    char *none = log_of((tc_graph_pass_options){.level = 0, .times = true, .dump = "all"});
    char *some = log_of((tc_graph_pass_options){.level = 1, .times = true});
    char *usual = log_of((tc_graph_pass_options){.level = 2, .times = true, .dump = "channels_last"});
    const char *off[] = {"channels_last"};
    char *without = log_of((tc_graph_pass_options){.level = 2, .times = true, .disabled = off, .ndisabled = 1});
    assert_string_equal(none, "");
    assert_non_null(strstr(some, "pass simplify"));
    assert_null(strstr(some, "channels_last"));
    assert_non_null(strstr(usual, "pass channels_last"));
    assert_non_null(strstr(usual, "# before pass channels_last\ngraph"));
    assert_non_null(strstr(usual, "channels_last=1"));
    assert_null(strstr(usual, "# before pass simplify"));
    assert_null(strstr(without, "channels_last"));
    assert_non_null(strstr(without, "simplify"));
    free(none);
    free(some);
    free(usual);
    free(without);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
