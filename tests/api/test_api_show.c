/* Kernels shown and compared: the documents are those of schedules that were made by hand, and what is wrong is found before
 * anything is opened. */
#include "api_common.h"

#include <jansson.h>
#include <math.h>

static const char db[] = SCRATCH("api_show.db");
static const char varying[] = "symbol N 1..48\ntensor X[N, 64] f32\ncompute Y[i:N, j:64] = X[i, j] + 1\noutput Y\n";

static json_t *read_text(char *text) {
    json_t *j = json_loads(text, 0, NULL);
    assert_non_null(j);
    tctune_text_free(text);
    return j;
}

static const char *text_of(const json_t *j, const char *key) {
    const char *s = json_string_value(json_object_get(j, key));
    if (!s)
        fail_msg("there is no text '%s'", key);
    return s;
}

static void test_list(void **state) {
    (void)state;
    tctune_work *w = open_text(gemm_text);
    char *text;
    OK(tctune_show_tasks(w, NULL, &text, error, sizeof error));
    json_t *j = read_text(text), *k = json_array_get(json_object_get(j, "kernels"), 0);
    tctune_task task = {.struct_size = sizeof task};
    OK(tctune_work_task(w, 0, &task, error, sizeof error));
    assert_int_equal(json_array_size(json_object_get(j, "kernels")), 1);
    assert_string_equal(text_of(k, "name"), task.name);
    assert_string_equal(text_of(k, "hash"), task.hash);
    assert_true(json_real_value(json_object_get(k, "flops")) == 2.0 * 48 * 32 * 64);
    assert_non_null(strstr(text_of(k, "schedule"), "default schedule"));
    json_decref(j);
    tctune_work_free(w);
}

/* A document has what tctune_schedule_print says of the same schedule. */
static void test_stages(void **state) {
    (void)state;
    static const char *const stages[] = {"nest", "tir", "asm"};
    tctune_work *w = open_text(gemm_text);
    tctune_schedule_options so = {.struct_size = sizeof so, .threads = 1, .default_steps = 1};
    tctune_show_options o = {.struct_size = sizeof o, .threads = 1, .stages = "nest,tir,asm"};
    tctune_schedule *s;
    char *text;
    OK(tctune_schedule_new(w, 0, &so, &s, error, sizeof error));
    OK(tctune_show_task(w, 0, &o, &text, error, sizeof error));
    json_t *j = read_text(text);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        OK(tctune_schedule_print(s, stages[i], &text, error, sizeof error));
        assert_string_equal(text_of(j, stages[i]), text);
        tctune_text_free(text);
    }
    assert_null(json_object_get(j, "workload"));
    assert_true(json_integer_value(json_object_get(json_object_get(j, "asm_facts"), "instructions")) > 0);
    json_decref(j);
    REFUSED(TCTUNE_BAD_INPUT, "no task 1", tctune_show_task(w, 1, &o, &text, error, sizeof error));
    o.stages = "nest,ptx";
    REFUSED(TCTUNE_BAD_INPUT, "no stage 'ptx'", tctune_show_task(w, 0, &o, &text, error, sizeof error));
    o = (tctune_show_options){.struct_size = sizeof o, .dump = "soup"};
    REFUSED(TCTUNE_BAD_INPUT, "no lowering pass 'soup'", tctune_show_task(w, 0, &o, &text, error, sizeof error));
    o = (tctune_show_options){.struct_size = sizeof o, .database = "none.db"};
    REFUSED(TCTUNE_BAD_INPUT, "none.db", tctune_show_task(w, 0, &o, &text, error, sizeof error));
    assert_null(text);
    assert_non_null(tctune_lowering_pass(0));
    assert_null(tctune_lowering_pass(-1));
    tctune_schedule_free(s);
    tctune_work_free(w);
}

static void test_sizes(void **state) {
    (void)state;
    static const char *const at[] = {"N=17", NULL}, *const beyond[] = {"N=49", NULL}, *const other[] = {"M=1", NULL};
    tctune_work *w = open_text(varying), *fixed;
    tctune_task task = {.struct_size = sizeof task};
    int64_t sizes[1];
    OK(tctune_work_task(w, 0, &task, error, sizeof error));
    assert_int_equal(task.sizes, 1);
    OK(tctune_work_sizes_at(w, 0, at, sizes, error, sizeof error));
    assert_int_equal(sizes[0], 17);
    OK(tctune_work_sizes_at(w, 0, NULL, sizes, error, sizeof error));
    assert_int_equal(sizes[0], 48);
    REFUSED(TCTUNE_BAD_INPUT, "from 1 to 48", tctune_work_sizes_at(w, 0, beyond, NULL, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "N = 1..48", tctune_work_sizes_at(w, 0, other, NULL, error, sizeof error));
    tctune_work_options o = {.struct_size = sizeof o, .te_text = varying, .fixed = 1};
    REFUSED(TCTUNE_BAD_INPUT, "N varies", tctune_open(&o, &fixed, error, sizeof error));
    tctune_work_free(w);
}

static void test_checks(void **state) {
    (void)state;
    static const char *const soup[] = {"soup", NULL}, *const bad[] = {"x=y", NULL};
    tctune_work_options o = {.struct_size = sizeof o, .model = "none.onnx"};
    OK(tctune_work_check(&o, error, sizeof error)); /* opens nothing */
    o.without = soup;
    REFUSED(TCTUNE_BAD_INPUT, "soup", tctune_work_check(&o, error, sizeof error));
    o.without = NULL;
    o.shapes = bad;
    REFUSED(TCTUNE_BAD_INPUT, "x=y", tctune_work_check(&o, error, sizeof error));
    o = (tctune_work_options){.struct_size = sizeof o, .te_text = gemm_text, .pass_times = 1};
    REFUSED(TCTUNE_BAD_INPUT, "no graph", tctune_work_check(&o, error, sizeof error));
}

/* ---- comparing ---- */

static int64_t record_default(tctune_work *w) {
    tctune_schedule_options so = {.struct_size = sizeof so, .threads = 1, .default_steps = 1};
    tctune_measure_options mo = {.struct_size = sizeof mo, .repeats = 5};
    tctune_record r = {.struct_size = sizeof r};
    tctune_schedule *s;
    tctune_database *d;
    tctune_records *l;
    OK(tctune_schedule_new(w, 0, &so, &s, error, sizeof error));
    OK(tctune_database_open(db, TCTUNE_ACCESS_CREATE, &d, error, sizeof error));
    OK(tctune_schedule_measure(s, &mo, d, &l, error, sizeof error));
    OK(tctune_records_get(l, 0, &r, error, sizeof error));
    tctune_records_free(l);
    tctune_database_close(d);
    tctune_schedule_free(s);
    return r.id;
}

static void test_comparison(void **state) {
    (void)state;
    tctune_work *w = open_text(gemm_text);
    tctune_compare_options o = {.struct_size = sizeof o, .a = "1", .b = "default", .database = db, .rounds = 11};
    int of_record;
    char *text;
    remove_database(db);
    assert_int_equal(record_default(w), 1);
    OK(tctune_compare_check(&o, &of_record, error, sizeof error));
    assert_true(of_record);
    OK(tctune_compare_show(NULL, 0, &o, &text, error, sizeof error)); /* the record says of which kernel */
    json_t *j = read_text(text), *v = json_object_get(j, "verdict");
    assert_true(json_is_true(json_object_get(v, "same_program")));
    assert_int_equal(json_integer_value(json_object_get(v, "rounds")), 11);
    assert_int_equal(json_integer_value(json_object_get(j, "threads")), 1); /* of the record */
    assert_non_null(strstr(text_of(json_object_get(j, "a"), "origin"), "record 1 of"));
    assert_int_equal(json_array_size(json_object_get(j, "features")), 0);
    json_decref(j);
    tctune_work_free(w);
    w = open_text(varying);
    REFUSED(TCTUNE_BAD_INPUT, "of another kernel",
            tctune_compare_show(w, 0,
                                &(tctune_compare_options){.struct_size = sizeof o,
                                                          .a = "1",
                                                          .b = "default",
                                                          .database = db,
                                                          .at = (const char *const[]){"N=3", NULL},
                                                          .rounds = 11},
                                &text, error, sizeof error));
    assert_null(text);
    tctune_work_free(w);
}

/* ---- pages ---- */

static void test_page(void **state) {
    (void)state;
    tctune_work *w = open_text(gemm_text);
    tctune_page_options o = {.struct_size = sizeof o, .quick = 1};
    char *text;
    REFUSED(TCTUNE_BAD_INPUT, "database is missing", tctune_page(NULL, &o, &text, error, sizeof error));
    assert_null(text);
    o.database = "none.db";
    REFUSED(TCTUNE_BAD_INPUT, "none.db", tctune_page(NULL, &o, &text, error, sizeof error));
    o.database = db;
    o.threads = -1;
    REFUSED(TCTUNE_BAD_INPUT, "threads must not be negative, but is -1", tctune_page_data(NULL, &o, &text, error, sizeof error));
    o.threads = 0;
    remove_database(db);
    assert_int_equal(record_default(w), 1);
    OK(tctune_page_data(w, &o, &text, error, sizeof error));
    json_t *j = read_text(text), *kernel = json_array_get(json_object_get(j, "kernels"), 0);
    assert_int_equal(json_array_size(json_object_get(j, "kernels")), 1);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(kernel, "best"), "record")), 1);
    assert_non_null(strstr(text_of(json_object_get(json_object_get(j, "machine"), "roofs"), "why"), "--quick"));
    json_decref(j);
    OK(tctune_page(NULL, &o, &text, error, sizeof error));
    assert_int_equal(strncmp(text, "<!doctype html>", 15), 0);
    tctune_text_free(text);
    tctune_work_free(w);
}

static void test_nothing_to_compare(void **state) {
    (void)state;
    static const struct {
        const char *a, *b, *mode, *why;
        int rounds;
    } cases[] = {{"soup", "default", NULL, "'soup' is nothing to compare", 0},
                 {"default", NULL, NULL, "a or b is missing", 0},
                 {"onednn", "openblas", NULL, "one of the two must be a schedule", 0},
                 {"onednn", "default", "cold", "mode cold goes with two schedules", 0},
                 {"default", "default", "warm", "warm", 0},
                 {"default", "best", NULL, "'best' is a record of a database", 0},
                 {"default", "default", NULL, "at least 11 rounds", 5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tctune_compare_options o = {
            .struct_size = sizeof o, .a = cases[i].a, .b = cases[i].b, .mode = cases[i].mode, .rounds = cases[i].rounds};
        REFUSED(TCTUNE_BAD_INPUT, cases[i].why, tctune_compare_check(&o, NULL, error, sizeof error));
    }
    tctune_compare_options o = {.struct_size = sizeof o, .a = "default", .b = "default"};
    char *text;
    REFUSED(TCTUNE_BAD_INPUT, "neither of the two is a record", tctune_compare_show(NULL, 0, &o, &text, error, sizeof error));
}

/* ---- explanations ---- */

static void test_explanation_of_another_machine(void **state) {
    (void)state;
    tctune_work *w = open_text(gemm_text);
    tctune_explain_options o = {.struct_size = sizeof o, .target = "neoverse-n1", .threads = 2};
    char *text;
    OK(tctune_explain(w, 0, &o, &text, error, sizeof error));
    json_t *j = read_text(text);
    assert_non_null(strstr(text_of(j, "unmeasured"), "does not run on this machine"));
    assert_non_null(strstr(text_of(j, "answer"), "Nothing was measured"));
    assert_string_equal(text_of(j, "spec"), "default");
    assert_true(json_array_size(json_object_get(j, "trials")) > 0);
    assert_null(json_object_get(j, "limits"));
    json_decref(j);
    tctune_work_free(w);
}

static void test_nothing_to_explain(void **state) {
    (void)state;
    static const struct {
        const char *schedule, *mode, *why;
        double seconds;
    } cases[] = {{"soup", NULL, "'soup' is nothing to explain", 0},
                 {"onednn", NULL, "is a library", 0},
                 {"best", NULL, "'best' is a record of a database", 0},
                 {"12", NULL, "'12' is a record of a database", 0},
                 {"default", "warm", "warm", 0},
                 {"default", NULL, "seconds must be at least 5", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tctune_explain_options o = {
            .struct_size = sizeof o, .schedule = cases[i].schedule, .mode = cases[i].mode, .seconds = cases[i].seconds};
        REFUSED(TCTUNE_BAD_INPUT, cases[i].why, tctune_explain_check(&o, NULL, error, sizeof error));
    }
    int of_record = -1;
    OK(tctune_explain_check(&(tctune_explain_options){.struct_size = sizeof(tctune_explain_options), .schedule = "3@x.db"},
                            &of_record, error, sizeof error));
    assert_true(of_record == 1);
    OK(tctune_explain_check(NULL, &of_record, error, sizeof error));
    assert_true(of_record == 0);
    char *text;
    REFUSED(TCTUNE_BAD_INPUT, "the kernel is not known", tctune_explain(NULL, 0, NULL, &text, error, sizeof error));
    assert_null(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_stages),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_checks),
        cmocka_unit_test(test_comparison),
        cmocka_unit_test(test_nothing_to_compare),
        cmocka_unit_test(test_explanation_of_another_machine),
        cmocka_unit_test(test_nothing_to_explain),
        cmocka_unit_test(test_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
