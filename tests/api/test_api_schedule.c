/* Schedules by hand: steps in both kinds of names, all stages, times, records and comparisons. */
#include "api_common.h"

static const char db[] = SCRATCH("api_schedule.db");

static tctune_schedule *make(tctune_work *w, const char *text) {
    tctune_schedule_options o = {.struct_size = sizeof o, .threads = 1, .text = text};
    tctune_schedule *s;
    OK(tctune_schedule_new(w, 0, &o, &s, error, sizeof error));
    return s;
}

static void test_steps(void **state) {
    (void)state;
    static const char *const stages[] = {"workload", "schedule", "stages", "nest", "tir", "ir", "raw-ir", "asm"};
    tctune_work *w = open_text(gemm_text);
    tctune_schedule *s = make(w, NULL), *c;
    char *text;
    assert_string_equal(tctune_schedule_text(s), "");
    OK(tctune_schedule_print(s, "stages", &text, error, sizeof error)); /* in the kernel's own names */
    assert_non_null(strstr(text, "stage Y "));
    tctune_text_free(text);
    OK(tctune_schedule_apply(s, "j_o, j_i = split Y.j [_, 16]", error, sizeof error));
    OK(tctune_schedule_apply(s, "reorder Y.j_o Y.k Y.j_i\nvectorize Y.j_i", error, sizeof error));
    char before[512];
    strcpy(before, tctune_schedule_text(s));
    REFUSED(TCTUNE_BAD_INPUT, "vectorize", tctune_schedule_apply(s, "vectorize Y.j_i", error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "frobnicate", tctune_schedule_apply(s, "frobnicate Y.i", error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "Z", tctune_schedule_apply(s, "parallel Z.i", error, sizeof error));
    assert_string_equal(tctune_schedule_text(s), before);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        OK(tctune_schedule_print(s, stages[i], &text, error, sizeof error));
        assert_true(strlen(text) > 20);
        tctune_text_free(text);
    }
    OK(tctune_schedule_stages(s, &text, error, sizeof error));
    assert_non_null(strstr(text, "\"name\":\"Y\""));
    assert_non_null(strstr(text, "\"name\":\"j_i\",\"extent\":16,\"reduce\":false,\"kind\":\"vectorize\""));
    assert_non_null(strstr(text, "\"unit\":null"));
    assert_true(strstr(text, "\"j_o\"") < strstr(text, "\"k\"") && strstr(text, "\"k\"") < strstr(text, "\"j_i\""));
    tctune_text_free(text);
    REFUSED(TCTUNE_BAD_INPUT, "no stage", tctune_schedule_print(s, "ptx", &text, error, sizeof error));
    assert_null(text);
    OK(tctune_schedule_copy(s, &c, error, sizeof error));
    OK(tctune_schedule_apply(c, "parallel Y.i", error, sizeof error));
    assert_string_equal(tctune_schedule_text(s), before);
    assert_non_null(strstr(tctune_schedule_text(c), "parallel Y.i"));
    tctune_schedule_free(c);
    tctune_work_free(w);
    OK(tctune_schedule_print(s, "nest", &text, error, sizeof error)); /* it keeps its kernel */
    tctune_text_free(text);
    tctune_schedule_free(s);
}

static tctune_record measured(const tctune_schedule *s, tctune_database *d, tctune_records **l) {
    tctune_measure_options o = {.struct_size = sizeof o, .repeats = 5};
    tctune_record r = {.struct_size = sizeof r};
    OK(tctune_schedule_measure(s, &o, d, l, error, sizeof error));
    OK(tctune_records_get(*l, 0, &r, error, sizeof error));
    return r;
}

static void test_times(void **state) {
    (void)state;
    tctune_work *w = open_text(gemm_text);
    tctune_schedule *slow = make(w, "reorder Y.k Y.i Y.j"), *fast, *best;
    tctune_schedule_options standard = {.struct_size = sizeof standard, .threads = 1, .default_steps = 1};
    tctune_records *l;
    tctune_database *d;
    tctune_verdict v = {.struct_size = sizeof v};
    OK(tctune_schedule_new(w, 0, &standard, &fast, error, sizeof error));
    tctune_record r = measured(slow, NULL, &l);
    assert_string_equal(r.outcome, "ok");
    assert_true(r.verified && r.ntimes == 5 && r.median > 0 && r.id == 0);
    tctune_records_free(l);
    OK(tctune_schedule_compare(fast, slow, 41, 0, &v, error, sizeof error));
    assert_true(v.faster == -1 && v.ratio > 1 && v.low <= v.ratio && v.ratio <= v.high && v.rounds == 41);
    assert_true(v.roof > 0 && v.roof < v.b);
    remove_database(db);
    OK(tctune_database_open(db, TCTUNE_ACCESS_CREATE, &d, error, sizeof error));
    r = measured(fast, d, &l);
    assert_true(r.id > 0);
    char trace[8192];
    strcpy(trace, r.trace);
    tctune_records_free(l);
    tctune_database_close(d);
    standard = (tctune_schedule_options){.struct_size = sizeof standard, .threads = 1, .best_of = db};
    OK(tctune_schedule_new(w, 0, &standard, &best, error, sizeof error));
    assert_string_equal(tctune_schedule_text(best), trace);
    tctune_schedule_free(best);
    standard.threads = 2; /* of which it has no record */
    REFUSED(TCTUNE_BAD_INPUT, "no verified record", tctune_schedule_new(w, 0, &standard, &best, error, sizeof error));
    assert_null(best);
    tctune_schedule_free(fast);
    tctune_schedule_free(slow);
    tctune_work_free(w);
}

static void test_what_does_not_fit(void **state) {
    (void)state;
    static const char wider[] = "tensor X[48, 64] f32\ncompute Y[i:48, j:64] = X[i, j] + 1\noutput Y\n";
    static const char varying[] = "symbol N 1..48\ntensor X[N, 64] f32\ncompute Y[i:N, j:64] = X[i, j] + 1\noutput Y\n";
    tctune_work *w = open_text(gemm_text), *u = open_text(wider), *n = open_text(varying);
    tctune_schedule *a = make(w, NULL), *b = make(u, NULL), *c;
    tctune_verdict v = {.struct_size = sizeof v};
    REFUSED(TCTUNE_BAD_INPUT, "different kernels", tctune_schedule_compare(a, b, 11, 0, &v, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "at least", tctune_schedule_compare(a, a, 3, 0, &v, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "no task 3", tctune_schedule_new(w, 3, NULL, &c, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "sizes vary", tctune_schedule_new(n, 0, NULL, &c, error, sizeof error));
    tctune_schedule_options o = {.struct_size = sizeof o, .threads = 1, .sizes = "17", .text = "vectorize Y.j"};
    tctune_records *l;
    OK(tctune_schedule_new(n, 0, &o, &c, error, sizeof error));
    tctune_record r = measured(c, NULL, &l);
    assert_string_equal(r.sizes, "17");
    assert_true(r.verified);
    tctune_records_free(l);
    tctune_schedule_free(c);
    o.sizes = "49";
    REFUSED(TCTUNE_BAD_INPUT, "49", tctune_schedule_new(n, 0, &o, &c, error, sizeof error));
    o = (tctune_schedule_options){.struct_size = sizeof o, .text = "", .default_steps = 1};
    REFUSED(TCTUNE_BAD_INPUT, "exclude", tctune_schedule_new(w, 0, &o, &c, error, sizeof error));
    tctune_schedule_free(a);
    tctune_schedule_free(b);
    tctune_work_free(w);
    tctune_work_free(u);
    tctune_work_free(n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
