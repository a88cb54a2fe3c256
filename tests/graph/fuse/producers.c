/* Contractions and what makes operands of them: which kernels could be one, that runs in turns decide whether they are, and what
 * that one computes. */
#include <math.h>

#include "graph/graph_text.h"
#include "graph/lower_common.h"
#include "measure/records/maintain.h"
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
    assert_true(b.p->nmerging <= 1 && b.p->nspare == (n ? b.p->mergings[0].nanchor : 0));
    close_bench(&b);
    return n;
}

/* Several contractions read what is made: each gets it for itself, or none. */
static void test_several_readers(void **state) {
    (void)state;
    static const char alike[] = INPUT "const %a : f32[20,12,3,3]\n%m = Relu(%x)\n%y = Conv(%m, %v)\n%z = Conv(%m, %a)\n"
                                      "output y = %y\noutput z = %z\n";
    bench b = open_text(alike);
    const tc_graph_merging *x = &b.p->mergings[0];
    const tc_tune_task *tasks;
    int n = tc_graph_program_tunable(b.p, &tasks);
    assert_true(b.p->nmerging == 1 && x->nproducer == 1 && x->nanchor == 2);
    assert_true(x->whole[0] == x->whole[1] && x->anchor[0] == x->anchor[1] && b.p->nspare == 1); /* one task, launched twice */
    const tc_tune_task *whole = &tasks[n - 1];
    assert_true(whole->weight == 2 && whole->ninstead == 3 && whole->nalong == 1 && whole->along[0] == x->whole[0]);
    assert_true(whole->instead[0] == x->producer[0] && whole->instead[1] == x->anchor[0] && whole->instead[2] == x->anchor[0]);
    close_bench(&b);
}

static void test_which(void **state) {
    (void)state;
    bench b = open_text(scale);
    const tc_tune_task *tasks;
    assert_int_equal(tc_graph_program_tasks(b.p, &tasks), 4);
    assert_int_equal(tc_graph_program_tunable(b.p, &tasks), 5);
    const tc_graph_merging *x = &b.p->mergings[0];
    assert_true(x->nanchor == 1 && x->whole[0] == 4 && tasks[4].ninstead == 2 && tasks[4].nalong == 0 && tasks[4].weight == 1);
    assert_true(tasks[4].instead[0] == x->producer[0] && tasks[4].instead[1] == x->anchor[0]);
    assert_string_equal(tasks[x->producer[0]].name, "Mul f32[81,12]");
    assert_true(strncmp(tasks[4].name, "Mul+Conv+Relu", 13) == 0);
    close_bench(&b);
    assert_int_equal(producers_in(INPUT "%m = Relu(%x)\n%y = Conv(%m, %v) {pads=[1,1,1,1]}\noutput y = %y\n"), 1);
    assert_int_equal(producers_in("input %a : f32[5,20]\ninput %b : f32[7,20]\n%c = Exp(%a)\n%d = Tanh(%b)\n"
                                  "%t = Transpose(%d) {perm=[1,0]}\n%y = MatMul(%c, %t)\noutput y = %y\n"),
                     2);
    assert_int_equal(
        producers_in(INPUT GATE "%m = Mul(%x, %g)\n%y = Conv(%m, %w)\n%t = Conv(%m, %v)\noutput y = %y\noutput t = %t\n"), 1);
}

/* Others read what it makes, or there is nothing to make. */
static void test_which_not(void **state) {
    (void)state;
    assert_int_equal(producers_in(INPUT GATE "%m = Mul(%x, %g)\n%y = Conv(%m, %w)\noutput y = %y\noutput m = %m\n"), 0);
    assert_int_equal(producers_in(INPUT GATE "%m = Mul(%x, %g)\n%y = Conv(%m, %w)\n%t = MaxPool(%m) {kernel_shape=[2,2]}\n"
                                             "output y = %y\noutput t = %t\n"),
                     0);
    assert_int_equal(producers_in(INPUT "%m = Relu(%x)\n%a = Conv(%m, %u)\n%b = Conv(%m, %v)\n%c = Conv(%m, %w)\n"
                                        "%d = Conv(%m, %w) {strides=[2,2]}\n"
                                        "output a = %a\noutput b = %b\noutput c = %c\noutput d = %d\n"),
                     0);
    assert_int_equal(producers_in(INPUT "%m = MaxPool(%x) {kernel_shape=[2,2]}\n%y = Conv(%m, %w)\noutput y = %y\n"), 0);
    assert_int_equal(producers_in(INPUT "%y = Conv(%x, %w)\noutput y = %y\n"), 0);
}

/* ---- records ---- */

enum { ROUNDS = 8 };

/* The times of `rounds` rounds; a schedule is known by its trace. */
static void put_record(tc_meas_db *db, const tc_target *t, const tc_tune_task *task, const char *trace, tc_meas_mode mode,
                       int64_t when, const double *times, size_t rounds) {
    tc_arena *a = tc_arena_new();
    tc_record r = tc_meas_record_empty();
    tc_strbuf text = {0};
    tc_te_print(&text, task->workload);
    tc_meas_record_identify(a, &r, tc_sb_str(&text), tc_te_hash(task->workload), t->text, trace);
    r.times = times;
    r.ntimes = rounds;
    r.median = tc_meas_median(times, rounds);
    r.verified = true;
    r.threads = 1;
    r.mode = mode;
    r.when_ms = when;
    assert_ok(tc_meas_db_insert(db, &r, 1, err));
    tc_strbuf_free(&text);
    tc_arena_free(a);
}

typedef struct bout {
    bench b;
    tc_target *t;
    tc_meas_db *db;
    int64_t now;
    tc_accuracy accuracy;
    const tc_workload *anchor; /* the form of the anchor that is compared; NULL: its own workload */
} bout;

/* Seconds per round, 0: no record; of the whole in the rounds with odd numbers those of `odd`. */
typedef struct taken {
    double producer, anchor, whole, odd;
} taken;

/* Notes what each took alone. */
static void tune_all(const bout *x, const char *trace, const taken *s) {
    const tc_graph_merging *m = &x->b.p->mergings[0];
    const tc_tune_task *tasks;
    tc_graph_program_tunable(x->b.p, &tasks);
    put_record(x->db, x->t, &tasks[m->producer[0]], trace, TC_MEAS_HOT, 1, &s->producer, 1);
    put_record(x->db, x->t, &tasks[m->anchor[0]], trace, TC_MEAS_COLD, 1, &s->anchor, 1);
    put_record(x->db, x->t, &tasks[m->whole[0]], trace, TC_MEAS_COLD, 1, &s->whole, 1);
}

static void put_beside(const bout *x, int task, double seconds, double odd) {
    const tc_tune_task *tasks;
    double times[ROUNDS];
    tc_graph_program_tunable(x->b.p, &tasks);
    for (int i = 0; i < ROUNDS; i++)
        times[i] = i % 2 && odd > 0 ? odd : seconds;
    tc_tune_task ran = tasks[task];
    if (x->anchor && task == x->b.p->mergings[0].anchor[0])
        ran.workload = x->anchor;
    if (seconds > 0)
        put_record(x->db, x->t, &ran, "one", TC_MEAS_BESIDE, x->now, times, ROUNDS);
}

/* Whether kernels are merged, once they ran in turns. */
static bool merges(bout *x, const taken *s) {
    const tc_graph_merging *m = &x->b.p->mergings[0];
    tc_graph_program *q;
    x->now++;
    put_beside(x, m->producer[0], s->producer, 0);
    put_beside(x, m->anchor[0], s->anchor, 0);
    put_beside(x, m->whole[0], s->whole, s->odd);
    tc_graph_build_options o = {.target = x->t, .threads = 1, .db = x->db, .accuracy = x->accuracy};
    assert_ok(tc_graph_program_merge(x->b.g, x->b.p, &o, &q, err));
    bool any = q != NULL;
    if (any)
        assert_true(q->nlaunch == x->b.p->nlaunch - 1 && q->nspare == 0 && q->nmerging == 0);
    tc_graph_program_free(q);
    return any;
}

static void test_turns_decide(void **state) {
    (void)state;
    bout x = {.b = open_text(scale)};
    assert_ok(tc_target_parse("native", &x.t, err));
    assert_ok(tc_meas_db_open_memory(&x.db, err));
    assert_false(merges(&x, &(taken){0}));
    tune_all(&x, "one", &(taken){.producer = 1e-5, .anchor = 2e-5, .whole = 1e-5});
    assert_false(merges(&x, &(taken){0})); /* they were not compared, however far apart the records are */
    assert_true(merges(&x, &(taken){.producer = 1e-5, .anchor = 2e-5, .whole = 2.99e-5}));  /* in each round */
    assert_false(merges(&x, &(taken){.producer = 1e-5, .anchor = 2e-5, .whole = 3.01e-5})); /* the last comparison counts */
    assert_false(merges(&x, &(taken){.producer = 1e-5, .anchor = 2e-5, .whole = 2e-5, .odd = 3.1e-5})); /* it spreads */
    assert_false(merges(&x, &(taken){.anchor = 2e-5, .whole = 1e-5}));
    assert_false(merges(&x, &(taken){.producer = 1e-5, .whole = 1e-5}));
    assert_true(merges(&x, &(taken){.producer = 1e-5, .anchor = 2e-5, .whole = 2e-5}));
    assert_true(merges(&x, &(taken){0}));
    tc_meas_pruned pruned;
    assert_ok(tc_meas_db_prune(x.db, &(tc_meas_prune){.keep = 1}, &pruned, err));
    assert_true(pruned.records > 0 && merges(&x, &(taken){0}));
    tune_all(&x, "two", &(taken){.producer = 0.9e-5, .anchor = 3e-5, .whole = 3e-5}); /* of a producer that was not compared */
    assert_false(merges(&x, &(taken){0}));
    tc_meas_db_close(x.db);
    tc_target_free(x.t);
    close_bench(&x.b);
}

/* A comparison with a form that the accuracy leaves out does not count, as that form would not be built. */
static void test_the_accuracy_decides(void **state) {
    (void)state;
    bout x = {
        .b = open_text("input %x : f32[64,256]\nconst %w : f32[256,256]\n%m = Exp(%x)\n%y = MatMul(%m, %w)\noutput y = %y\n")};
    const taken compared = {.producer = 1e-5, .anchor = 2e-5, .whole = 2.5e-5};
    const double alone = 2e-5;
    const tc_tune_task *tasks;
    tc_ctx *c = tc_ctx_new();
    assert_ok(tc_target_parse("native", &x.t, err));
    assert_ok(tc_meas_db_open_memory(&x.db, err));
    tc_graph_program_tunable(x.b.p, &tasks);
    const tc_tune_task *anchor = &tasks[x.b.p->mergings[0].anchor[0]];
    tc_space_alternative_list l = tc_space_alternatives(c, tc_te_canonical(c, anchor->workload), TC_ACCURACY_FAST);
    assert_true(l.n == 1 && l.data[0].needs == TC_ACCURACY_FAST);
    tune_all(&x, "one", &(taken){.producer = 1e-5, .anchor = 3e-5, .whole = 2.5e-5});
    tc_tune_task mixing = *anchor;
    mixing.workload = x.anchor = tc_te_canonical(c, l.data[0].workload);
    put_record(x.db, x.t, &mixing, "one", TC_MEAS_COLD, 1, &alone, 1);
    x.accuracy = TC_ACCURACY_FAST;
    assert_true(merges(&x, &compared));
    x.accuracy = TC_ACCURACY_DEFAULT;
    assert_false(merges(&x, &(taken){0}));
    x.anchor = NULL; /* now the direct form is compared, which is the best at this level only */
    assert_true(merges(&x, &compared));
    x.accuracy = TC_ACCURACY_FAST;
    assert_false(merges(&x, &(taken){0}));
    tc_meas_db_close(x.db);
    tc_target_free(x.t);
    close_bench(&x.b);
    tc_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_which), cmocka_unit_test(test_which_not),
                                       cmocka_unit_test(test_several_readers), cmocka_unit_test(test_turns_decide),
                                       cmocka_unit_test(test_the_accuracy_decides)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
