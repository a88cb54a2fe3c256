/* Contractions and what makes operands of them: which kernels could be one, that records decide whether they are, and what that one
 * computes. */
#include <math.h>

#include "graph_text.h"
#include "lower_common.h"
#include "te/text.h"

#define INPUT "input %x : f32[1,12,9,9]\nconst %w : f32[20,12,1,1]\nconst %v : f32[20,12,3,3]\nconst %u : f32[12,12,1,1]\n"
#define GATE "%p = GlobalAveragePool(%x)\n%q = Conv(%p, %u)\n%g = Sigmoid(%q)\n"

/* The scale of a squeeze-and-excitation. */
static const char scale[] = INPUT GATE "%m = Mul(%x, %g)\n%y = Conv(%m, %w)\n%z = Relu(%y)\noutput z = %z\n";

typedef struct bench {
    tc_graph *g;
    tc_graph_program *p;
} bench;

static bench open_text(const char *text) {
    bench b;
    assert_ok(graph_of_text("network", text, &b.g, err));
    assert_ok(tc_graph_passes(b.g, NULL, err));
    assert_ok(tc_graph_program_new(b.g, &b.p, err));
    return b;
}

static void close_bench(bench *b) {
    tc_graph_program_free(b->p);
    tc_graph_free(b->g);
}

/* ---- which ---- */

static int producers_in(const char *text) {
    bench b = open_text(text);
    int n = b.p->nmerging ? b.p->mergings[0].nproducer : 0;
    assert_true(b.p->nmerging <= 1 && b.p->nspare == b.p->nmerging);
    close_bench(&b);
    return n;
}

static void test_which(void **state) {
    (void)state;
    bench b = open_text(scale);
    const tc_tune_task *tasks;
    assert_int_equal(tc_graph_program_tasks(b.p, &tasks), 4);
    assert_int_equal(tc_graph_program_tunable(b.p, &tasks), 5);
    const tc_graph_merging *x = &b.p->mergings[0];
    assert_true(x->whole == 4 && tasks[4].ninstead == 2 && tasks[4].weight == 1);
    assert_true(tasks[4].instead[0] == x->producer[0] && tasks[4].instead[1] == x->anchor);
    assert_string_equal(tasks[x->producer[0]].name, "Mul f32[81,12]");
    assert_true(strncmp(tasks[4].name, "Mul+Conv+Relu", 13) == 0);
    close_bench(&b);
    assert_int_equal(producers_in(INPUT "%m = Relu(%x)\n%y = Conv(%m, %v) {pads=[1,1,1,1]}\noutput y = %y\n"), 1);
    assert_int_equal(producers_in("input %a : f32[5,20]\ninput %b : f32[7,20]\n%c = Exp(%a)\n%d = Tanh(%b)\n"
                                  "%t = Transpose(%d) {perm=[1,0]}\n%y = MatMul(%c, %t)\noutput y = %y\n"),
                     2);
}

/* Others read what it makes, or there is nothing to make. */
static void test_which_not(void **state) {
    (void)state;
    assert_int_equal(producers_in(INPUT GATE "%m = Mul(%x, %g)\n%y = Conv(%m, %w)\noutput y = %y\noutput m = %m\n"), 0);
    assert_int_equal(
        producers_in(INPUT GATE "%m = Mul(%x, %g)\n%y = Conv(%m, %w)\n%t = Conv(%m, %v)\noutput y = %y\noutput t = %t\n"), 0);
    assert_int_equal(producers_in(INPUT "%m = MaxPool(%x) {kernel_shape=[2,2]}\n%y = Conv(%m, %w)\noutput y = %y\n"), 0);
    assert_int_equal(producers_in(INPUT "%y = Conv(%x, %w)\noutput y = %y\n"), 0);
}

/* ---- records ---- */

static void put_record(tc_meas_db *db, const tc_target *t, const tc_tune_task *task, tc_meas_mode mode, double seconds) {
    tc_arena *a = tc_arena_new();
    tc_record r = tc_meas_record_empty();
    tc_strbuf text = {0};
    tc_te_print(&text, task->workload);
    tc_meas_record_identify(a, &r, tc_sb_str(&text), tc_te_hash(task->workload), t->text, "");
    r.times = &seconds;
    r.ntimes = 1;
    r.median = seconds;
    r.verified = true;
    r.threads = 1;
    r.mode = mode;
    assert_ok(tc_meas_db_insert(db, &r, 1, err));
    tc_strbuf_free(&text);
    tc_arena_free(a);
}

/* Seconds of hot and cold records, 0: none. */
typedef struct times {
    double producer, anchor, whole, cold_anchor, cold_whole;
} times;

static bool merges(const bench *b, const tc_target *t, const times *s) {
    const tc_tune_task *tasks;
    const tc_graph_merging *x = &b->p->mergings[0];
    tc_graph_program *q;
    tc_meas_db *db;
    const struct {
        int task;
        tc_meas_mode mode;
        double seconds;
    } records[] = {{x->producer[0], TC_MEAS_HOT, s->producer},
                   {x->anchor, TC_MEAS_HOT, s->anchor},
                   {x->whole, TC_MEAS_HOT, s->whole},
                   {x->anchor, TC_MEAS_COLD, s->cold_anchor},
                   {x->whole, TC_MEAS_COLD, s->cold_whole}};
    tc_graph_program_tunable(b->p, &tasks);
    assert_ok(tc_meas_db_open_memory(&db, err));
    for (size_t i = 0; i < TC_LEN(records); i++)
        if (records[i].seconds > 0)
            put_record(db, t, &tasks[records[i].task], records[i].mode, records[i].seconds);
    assert_ok(tc_graph_program_merge(b->g, b->p, &(tc_graph_build_options){.target = t, .threads = 1, .db = db}, &q, err));
    bool any = q != NULL;
    if (any)
        assert_true(q->nlaunch == b->p->nlaunch - 1 && q->nspare == 0 && q->nmerging == 0);
    tc_graph_program_free(q);
    tc_meas_db_close(db);
    return any;
}

static void test_records_decide(void **state) {
    (void)state;
    bench b = open_text(scale);
    tc_target *t;
    assert_ok(tc_target_parse("native", &t, err));
    assert_true(merges(&b, t, &(times){.producer = 1e-5, .anchor = 2e-5, .whole = 2.5e-5}));
    assert_false(merges(&b, t, &(times){.producer = 1e-5, .anchor = 2e-5, .whole = 3.1e-5}));
    assert_false(merges(&b, t, &(times){.producer = 1e-5, .anchor = 2e-5, .whole = 2.99e-5})); /* that is noise */
    assert_false(merges(&b, t, &(times){.anchor = 2e-5, .whole = 1e-5}));
    assert_false(merges(&b, t, &(times){.producer = 1e-5, .whole = 1e-5}));
    assert_false(merges(&b, t, &(times){.producer = 1e-5, .anchor = 2e-5}));
    /* times of one mode alone are compared, cold ones first */
    assert_false(merges(&b, t, &(times){.producer = 1e-5, .cold_anchor = 9e-5, .whole = 2e-5}));
    assert_true(
        merges(&b, t, &(times){.producer = 1e-5, .cold_anchor = 4e-5, .cold_whole = 4e-5, .anchor = 1e-5, .whole = 9e-5}));
    assert_false(
        merges(&b, t, &(times){.producer = 1e-5, .cold_anchor = 4e-5, .cold_whole = 6e-5, .anchor = 2e-5, .whole = 1e-5}));
    tc_target_free(t);
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_which), cmocka_unit_test(test_which_not),
                                       cmocka_unit_test(test_records_decide)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
