/* The forms of a task, its own workload and the alternatives of it: one budget, one best. */
#include "session.h"

static const char conv[] = "tensor X[9, 11, 16] f32\ntensor W[3, 3, 16, 24] f32 const\n"
                           "compute C[h:7, w:9, o:24] = sum(r:3, s:3, c:16) X[h + r, w + s, c] * W[r, s, c, o]\n"
                           "compute Y[h:7, w:9, o:24] = relu(C[h, w, o])\noutput Y\n";

/* The forms of a convolution share its trials; its best is that of the best of them; a second session knows all of it. */
static void test_forms_share_the_trials(void **state) {
    bench *b = *state;
    tc_error err;
    b->task[0] = (tc_tune_task){.name = "conv", .workload = parse(b->ctx, conv), .weight = 1};
    tc_tune_options o = options(b, 30);
    o.accuracy = TC_ACCURACY_DEFAULT;
    for (int again = 0; again < 2; again++) {
        tc_tune *t;
        assert_int_equal(tc_tune_new(&o, b->task, 1, b->db, &t, &err), TC_OK);
        run_tune(t);
        const tc_tune_report *r = tc_tune_get_report(t);
        const tc_tune_state *s = &r->task[0];
        int trials = 0;
        double best = INFINITY;
        assert_int_equal(r->ntask, 1);
        assert_int_equal(s->nform, 3);
        assert_string_equal(s->form[0].name, "direct");
        assert_string_equal(s->form[0].hash.hex, s->hash.hex);
        assert_string_equal(s->form[2].name, "winograd-f4");
        for (int f = 0; f < s->nform; f++) {
            assert_true(s->form[f].trials > 0 && isfinite(s->form[f].best));
            trials += s->form[f].trials;
            best = fmin(best, s->form[f].best);
        }
        assert_int_equal(trials, s->trials);
        assert_int_equal(r->measured, again ? 0 : 30);
        assert_true(s->best == best && s->form[s->winner].best == best);
        tc_tune_free(t);
    }
}

static void test_strict_has_one_form(void **state) {
    bench *b = *state;
    tc_error err;
    tc_tune *t;
    b->task[0] = (tc_tune_task){.name = "conv", .workload = parse(b->ctx, conv), .weight = 1};
    tc_tune_options o = options(b, 6);
    o.accuracy = TC_ACCURACY_STRICT;
    assert_int_equal(tc_tune_new(&o, b->task, 1, b->db, &t, &err), TC_OK);
    assert_int_equal(tc_tune_get_report(t)->task[0].nform, 1);
    tc_tune_free(t);
}

/* Tuned to the end, a product has no form that mixes its rows. At `fast` it has, and the records of both are kept apart by form. */
static void test_only_fast_mixes_rows(void **state) {
    static const char product[] = "tensor X[64, 256] f32\ntensor W[256, 256] f32 const\n"
                                  "compute Y[i:64, j:256] = sum(k:256) X[i, k] * W[k, j]\noutput Y\n";
    static const struct {
        tc_accuracy accuracy;
        int nform, measured;
    } levels[] = {{TC_ACCURACY_DEFAULT, 1, 8}, {TC_ACCURACY_FAST, 2, 8}, {TC_ACCURACY_DEFAULT, 1, 0}};
    bench *b = *state;
    tc_error err;
    int trials = 0;
    b->task[0] = (tc_tune_task){.name = "product", .workload = parse(b->ctx, product), .weight = 1};
    for (size_t i = 0; i < TC_LEN(levels); i++) {
        tc_tune *t;
        trials += levels[i].measured;
        tc_tune_options o = options(b, levels[i].nform == 1 ? 8 : trials);
        o.accuracy = levels[i].accuracy;
        assert_int_equal(tc_tune_new(&o, b->task, 1, b->db, &t, &err), TC_OK);
        run_tune(t);
        const tc_tune_state *s = &tc_tune_get_report(t)->task[0];
        assert_int_equal(s->nform, levels[i].nform);
        for (int f = 0; f < s->nform; f++)
            assert_true(s->form[f].trials > 0 && isfinite(s->form[f].best));
        assert_string_equal(s->form[s->nform - 1].name, s->nform == 1 ? "direct" : "strassen");
        assert_true(s->nform > 1 || s->best == s->form[0].best);
        if (i == 2)
            assert_int_equal(tc_tune_get_report(t)->measured, 0);
        tc_tune_free(t);
    }
}

/* A database that knows only the direct form, at its roof and settled, does not keep the others from their turn. */
static void test_alternatives_of_a_finished_task_are_tried(void **state) {
    bench *b = *state;
    tc_error err;
    tc_tune *t;
    b->task[0] = (tc_tune_task){.name = "conv", .workload = parse(b->ctx, conv), .weight = 1};
    tc_tune_options o = options(b, 12);
    o.accuracy = TC_ACCURACY_STRICT;
    assert_int_equal(tc_tune_new(&o, b->task, 1, b->db, &t, &err), TC_OK);
    run_tune(t);
    tc_tune_free(t);
    o.accuracy = TC_ACCURACY_DEFAULT;
    o.patience = 1;
    o.peak_gflops = 1e-3;
    o.stop_at_roof = 1e-9; /* a roof under which everything is */
    o.trials = 1000;
    assert_int_equal(tc_tune_new(&o, b->task, 1, b->db, &t, &err), TC_OK);
    run_tune(t);
    const tc_tune_state *s = &tc_tune_get_report(t)->task[0];
    for (int f = 0; f < s->nform; f++)
        assert_true(s->form[f].trials > 0);
    /* A round of each of the others, and more only of one with fewer operations that is not far behind: by times, so it may
     * happen. */
    assert_in_range(tc_tune_get_report(t)->measured, 12, 200);
    assert_int_equal(tc_tune_get_report(t)->end, TC_TUNE_END_AT_ROOF);
    tc_tune_free(t);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return tc_meas_worker_main(TC_MEAS_WORKER_FD, TC_MEAS_WORKER_FD);
    const struct CMUnitTest tests[] = {
        SESSION_TEST(test_forms_share_the_trials),
        SESSION_TEST(test_strict_has_one_form),
        SESSION_TEST(test_only_fast_mixes_rows),
        SESSION_TEST(test_alternatives_of_a_finished_task_are_tried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
