/* One case per behaviour: cases/NAME.sched, whose first line names its workload (`# of gemm.te`), and beside it NAME.out, the
 * schedule it makes, or NAME.err, the reason it is refused for. `# seed N` lets replay draw decisions. TC_UPDATE_GOLDENS=1
 * rewrites the expectations. On every case parse(print(x)) == x. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "schedule_primitives/schedule.h"
#include "support/system/fs.h"
#include "support/vec.h"
#include "te/text.h"

#define CASES TCTUNE_TEST_DIR "/cases"

/* Inlined at -O3, GCC 12 warns that what strstr finds in the text might be `data`. */
__attribute__((noinline)) static char *read_text(const char *path) {
    char *data = NULL;
    tc_error err = {0};
    if (tc_fs_read(path, &data, NULL, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return data;
}

static const tc_workload *load_workload(tc_ctx *c, const char *sched, const char *path) {
    char te[128], file[512];
    if (sscanf(sched, "# of %127s", te) != 1)
        fail_msg("%s: the first line must be `# of NAME.te`", path);
    snprintf(file, sizeof file, "%s/%s", CASES, te);
    char *text = read_text(file);
    const tc_workload *w = NULL;
    tc_error err = {0};
    if (tc_te_parse(c, te, text, &w, &err) != TC_OK)
        fail_msg("%s", err.msg);
    free(text);
    return w;
}

static void check_round_trip(tc_arena *a, const tc_trace *t) {
    tc_strbuf b = {0}, again = {0};
    tc_trace *u = NULL;
    tc_error err = {0};
    tc_trace_print(&b, t);
    if (tc_trace_parse(a, "printed", tc_sb_str(&b), &u, &err) != TC_OK)
        fail_msg("%s", err.msg);
    assert_true(tc_trace_equal(t, u));
    tc_trace_print(&again, u);
    assert_string_equal(tc_sb_str(&b), tc_sb_str(&again));
    tc_strbuf_free(&b);
    tc_strbuf_free(&again);
}

/* The schedule and, where decisions were drawn, the trace with them. */
static tc_status run(tc_ctx *c, const char *file, const char *text, const char *path, tc_strbuf *out, tc_error *err) {
    tc_trace *t = NULL;
    tc_sched *s = NULL;
    unsigned long long seed = 0;
    const tc_workload *w = load_workload(c, text, path);
    const char *seed_line = strstr(text, "# seed ");
    tc_rng rng = tc_rng_seed(0);
    if (seed_line && sscanf(seed_line, "# seed %llu", &seed) == 1)
        rng = tc_rng_seed(seed);
    TC_TRY(tc_trace_parse(tc_ctx_arena(c), file, text, &t, err));
    check_round_trip(tc_ctx_arena(c), t);
    tc_status quiet = tc_sch_replay(c, w, t, NULL, &s, NULL); /* without an error value: the same answer */
    tc_status status = tc_sch_replay(c, w, t, seed_line ? &rng : NULL, &s, err);
    if (!seed_line)
        assert_int_equal(quiet, status);
    TC_TRY(status);
    check_round_trip(tc_ctx_arena(c), s->trace);
    tc_sch_print(out, s);
    if (seed_line) {
        tc_sb_add(out, "trace\n");
        tc_trace_print(out, s->trace);
    }
    return TC_OK;
}

static void update(const char *path, const char *other, const tc_strbuf *text) {
    tc_error err = {0};
    if (tc_fs_write(path, tc_sb_str(text), text->len, &err) != TC_OK)
        fail_msg("%s", err.msg);
    (void)unlink(other);
}

static void check_case(const char *name) {
    char path[512], out[512], refusal[512], file[300];
    snprintf(file, sizeof file, "%s.sched", name);
    snprintf(path, sizeof path, "%s/%s", CASES, file);
    snprintf(out, sizeof out, "%s/%s.out", CASES, name);
    snprintf(refusal, sizeof refusal, "%s/%s.err", CASES, name);
    char *text = read_text(path);
    tc_ctx *c = tc_ctx_new();
    tc_strbuf got = {0};
    tc_error err = {0};
    tc_status status = run(c, file, text, path, &got, &err);
    if (status != TC_OK)
        tc_sb_printf(&got, "%s: %s\n", status == TC_ILLEGAL ? "illegal" : "bad input", err.msg);
    const char *expected = status == TC_OK ? out : refusal, *other = status == TC_OK ? refusal : out;
    if (getenv("TC_UPDATE_GOLDENS"))
        update(expected, other, &got);
    if (tc_fs_exists(other))
        fail_msg("%s: expected %s, got\n%s", name, status == TC_OK ? "a refusal" : "a schedule", tc_sb_str(&got));
    char *want = read_text(expected);
    if (strcmp(want, tc_sb_str(&got)) != 0)
        fail_msg("%s: expected\n%s\ngot\n%s", expected, want, tc_sb_str(&got));
    free(want);
    free(text);
    tc_strbuf_free(&got);
    tc_ctx_free(c);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void test_cases(void **state) {
    (void)state;
    DIR *d = opendir(CASES);
    assert_non_null(d);
    TC_VEC(char *) names = {0};
    for (struct dirent *e; (e = readdir(d));) {
        char *dot = strrchr(e->d_name, '.');
        if (!dot || strcmp(dot, ".sched") != 0)
            continue;
        *dot = 0;
        tc_push(&names, tc_xstrdup(e->d_name));
    }
    closedir(d);
    assert_true(names.len > 0);
    qsort(names.data, names.len, sizeof *names.data, by_name);
    for (size_t i = 0; i < names.len; i++) {
        check_case(names.data[i]);
        free(names.data[i]);
    }
    print_message("%zu cases\n", names.len);
    tc_vec_free(&names);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
