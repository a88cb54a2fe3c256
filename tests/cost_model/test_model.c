/* The model: what it learns, what it refuses, and that it survives a round trip. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost_model/cost.h"
#include "support/cmocka_all.h"
#include "support/log.h"
#include "support/rng.h"
#include "support/system/fs.h"
#include "support/vec.h"

/* Programs with a known answer: the time of a row is a product of a few of its columns, as with real ones, the program's time is
 * the sum over its rows, and the label is the task's best time over its own. */
typedef struct set {
    size_t n;
    tc_cost_rows *rows;
    tc_cost_sample *sample;
    const tc_cost_rows **ptr;
} set;

enum { MAX_ROWS = 4 };

static double row_time(const float *row) {
    double t = 1 + 1.5 * fabs(row[TC_COST_ACC_SHARE] - 0.8);
    t *= row[TC_COST_VEC_LEN] < 3 ? 1.7 : 1;
    return t * (1 + exp2(row[TC_COST_L1_TRAFFIC] - 26));
}

/* As in real programs the rows (initialisation, update, epilogue) differ in weight, and share what the schedule decides. */
static double make_program(tc_rng *rng, int task, tc_cost_rows *r) {
    float shared[TC_COST_NFEATURE] = {0};
    for (int i = 0; i < TC_COST_NFEATURE; i += 3) /* the rest is 0, as about half is in real rows */
        shared[i] = (float)tc_rng_below(rng, 8);
    r->nrow = r->cap = 1 + task % MAX_ROWS;
    r->data = tc_xcalloc((size_t)r->nrow * TC_COST_NFEATURE, sizeof *r->data);
    double time = 0;
    for (int k = 0; k < r->nrow; k++) {
        float *row = &r->data[(size_t)k * TC_COST_NFEATURE];
        memcpy(row, shared, sizeof shared);
        row[TC_COST_F_FMA] = (float)(24 - 3 * k);
        row[TC_COST_ACC_SHARE] = (float)(tc_rng_unit(rng) * 2);
        row[TC_COST_VEC_LEN] = (float)tc_rng_below(rng, 7);
        row[TC_COST_L1_TRAFFIC] = (float)(20 + tc_rng_unit(rng) * 6);
        time += row_time(row) * exp2(-3 * k);
    }
    return time;
}

static set make_set(size_t n, int tasks, uint64_t seed) {
    set s = {n, tc_xcalloc(n, sizeof *s.rows), tc_xcalloc(n, sizeof *s.sample), tc_xcalloc(n, sizeof *s.ptr)};
    tc_rng rng = tc_rng_seed(seed);
    double *time = tc_xcalloc(n, sizeof *time), best[64];
    for (int t = 0; t < 64; t++)
        best[t] = INFINITY;
    for (size_t i = 0; i < n; i++) {
        int task = (int)(i % (size_t)tasks);
        time[i] = make_program(&rng, task, &s.rows[i]);
        best[task] = fmin(best[task], time[i]);
        s.sample[i] = (tc_cost_sample){.rows = &s.rows[i], .weight = 1, .task = task};
        s.ptr[i] = &s.rows[i];
    }
    for (size_t i = 0; i < n; i++)
        s.sample[i].label = (float)fmin(1, best[s.sample[i].task] / time[i]);
    free(time);
    return s;
}

static void free_set(set *s) {
    for (size_t i = 0; i < s->n; i++)
        tc_cost_rows_free(&s->rows[i]);
    free(s->rows);
    free(s->sample);
    free(s->ptr);
}

static const tc_cost_options OPTIONS = {.threads = 2, .seed = 7};

static tc_cost_model *fitted(const set *s, const tc_cost_options *o, tc_cost_report *report) {
    tc_cost_model *m = tc_cost_new();
    tc_error err;
    if (tc_cost_fit(m, s->n, s->sample, o, report, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return m;
}

static double *predicted(const tc_cost_model *m, const set *s) {
    double *score = tc_xcalloc(s->n, sizeof *score);
    assert_true(tc_cost_predict(m, NULL, s->n, s->ptr, 2, score));
    return score;
}

static void test_learns(void **state) {
    (void)state;
    set train = make_set(2000, 4, 1), fresh = make_set(600, 4, 2);
    tc_cost_report report;
    double start = tc_now();
    tc_cost_model *m = fitted(&train, &OPTIONS, &report);
    double seconds = tc_now() - start;
    double *score = predicted(m, &fresh);
    tc_cost_quality q = tc_cost_judge(fresh.n, fresh.sample, score);
    print_message("fit of 2000 programs: %.2f s, %d rounds; held out %.3f of %lld pairs, recall %.2f; fresh %.3f, recall %.2f\n",
                  seconds, report.rounds, report.held_out.pair_accuracy, (long long)report.held_out.pairs,
                  report.held_out.top_recall, q.pair_accuracy, q.top_recall);
    assert_true(tc_cost_trained(m) && tc_cost_trusted(m));
    assert_true(q.pair_accuracy >= 0.9);
    assert_true(q.top_recall >= 0.9);
    assert_true(fabs(report.held_out.pair_accuracy - q.pair_accuracy) < 0.05);
    free(score);
    tc_cost_free(m);
    free_set(&train);
    free_set(&fresh);
}

/* A first batch already ranks better than chance, and says so. */
static void test_learns_from_few(void **state) {
    (void)state;
    set train = make_set(64, 1, 3), fresh = make_set(400, 1, 4);
    tc_cost_report report;
    double start = tc_now();
    tc_cost_model *m = fitted(&train, &OPTIONS, &report);
    double seconds = tc_now() - start, *score = predicted(m, &fresh);
    tc_cost_quality q = tc_cost_judge(fresh.n, fresh.sample, score);
    print_message("fit of 64 programs: %.3f s, %d rounds; held out %.3f, fresh %.3f\n", seconds, report.rounds,
                  report.held_out.pair_accuracy, q.pair_accuracy);
    assert_int_equal(report.held_out.programs, 64);
    assert_true(q.pair_accuracy >= 0.65);
    free(score);
    tc_cost_free(m);
    free_set(&train);
    free_set(&fresh);
}

static void test_score_is_sum_of_rows(void **state) {
    (void)state;
    set train = make_set(300, 2, 5);
    tc_cost_model *m = fitted(&train, &OPTIONS, NULL);
    double *score = predicted(m, &train);
    for (size_t i = 0; i < 50; i++) {
        double sum = 0, part;
        for (int r = 0; r < train.rows[i].nrow; r++) {
            tc_cost_rows one = {train.rows[i].data + (size_t)r * TC_COST_NFEATURE, 1, 1};
            assert_true(tc_cost_predict(m, NULL, 1, (const tc_cost_rows *const[]){&one}, 1, &part));
            sum += part;
        }
        assert_true(fabs(sum - score[i]) < 1e-5);
    }
    /* A program without rows scores 0; one with a feature that is not a number is never first. */
    tc_cost_rows none = {0}, bad = {0};
    tc_cost_rows_copy(&bad, &train.rows[0]);
    bad.data[3] = NAN;
    double two[2];
    assert_true(tc_cost_predict(m, NULL, 2, (const tc_cost_rows *const[]){&none, &bad}, 1, two));
    assert_true(two[0] == 0 && isinf(two[1]) && two[1] < 0);
    tc_cost_rows_free(&bad);
    free(score);
    tc_cost_free(m);
    free_set(&train);
}

/* The objective looks at programs, not rows: a program whose rows are all alike learns its label as their sum. */
static void test_summed_objective(void **state) {
    (void)state;
    enum { N = 400 };
    set s = make_set(N, 1, 6);
    for (size_t i = 0; i < N; i++) {
        tc_cost_rows *r = &s.rows[i];
        bool fast = i % 2 == 0;
        for (int k = 0; k < r->nrow; k++) {
            memset(&r->data[(size_t)k * TC_COST_NFEATURE], 0, TC_COST_NFEATURE * sizeof *r->data);
            r->data[(size_t)k * TC_COST_NFEATURE + TC_COST_VEC_LEN] = fast ? 4 : 0;
            r->data[(size_t)k * TC_COST_NFEATURE + TC_COST_PROGRAM_ROWS] = (float)r->nrow;
        }
        s.sample[i].label = fast ? 1.0f : 0.25f;
    }
    tc_cost_model *m = fitted(&s, &OPTIONS, NULL);
    double *score = predicted(m, &s);
    for (size_t i = 0; i < N; i++)
        if (fabs(score[i] - s.sample[i].label) > 0.08)
            fail_msg("program %zu with %d rows scores %g, label %g", i, s.rows[i].nrow, score[i], (double)s.sample[i].label);
    free(score);
    tc_cost_free(m);
    free_set(&s);
}

static void test_deterministic(void **state) {
    (void)state;
    set s = make_set(500, 3, 8);
    tc_cost_model *a = fitted(&s, &OPTIONS, NULL), *b = fitted(&s, &OPTIONS, NULL);
    double *x = predicted(a, &s), *y = predicted(b, &s);
    assert_memory_equal(x, y, s.n * sizeof *x);
    free(x);
    free(y);
    tc_cost_free(a);
    tc_cost_free(b);
    free_set(&s);
}

/* Labels that have nothing to do with the features: the model says that it is not to be followed, but for rare luck. */
static void test_noise_is_not_trusted(void **state) {
    (void)state;
    enum { SEEDS = 6 };
    int trusted = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        set s = make_set(200, 2, 90 + seed);
        tc_rng rng = tc_rng_seed(seed);
        for (size_t i = 0; i < s.n; i++)
            s.sample[i].label = (float)tc_rng_unit(&rng);
        tc_cost_model *m = fitted(&s, &OPTIONS, NULL);
        double score = 42;
        assert_true(tc_cost_trained(m));
        assert_true(tc_cost_predict(m, NULL, 1, s.ptr, 1, &score) == tc_cost_trusted(m));
        assert_true(tc_cost_trusted(m) || score == 42);
        trusted += tc_cost_trusted(m);
        tc_cost_free(m);
        free_set(&s);
    }
    assert_true(trusted <= 1);
}

static void test_untrained(void **state) {
    (void)state;
    set s = make_set(1, 1, 1);
    tc_cost_model *m = tc_cost_new();
    double score = 42;
    assert_false(tc_cost_trained(m) || tc_cost_trusted(m) || tc_cost_predict(m, NULL, 1, s.ptr, 1, &score));
    assert_true(score == 42);
    tc_cost_free(m);
    tc_cost_free(NULL);
    free_set(&s);
}

static void count_turn(void *user) {
    ++*(int *)user;
}

static void test_small_and_large_sets(void **state) {
    (void)state;
    set s = make_set(1200, 3, 10);
    tc_cost_model *m = tc_cost_new();
    tc_cost_report report;
    for (size_t n = 1; n <= 40; n += 3) {
        assert_int_equal(tc_cost_fit(m, n, s.sample, &OPTIONS, &report, NULL), TC_OK);
        assert_int_equal(report.used, n);
        assert_int_equal(report.held_out.programs, n < 16 ? 0 : n);
    }
    tc_cost_options o = OPTIONS;
    int turns = 0;
    o.max_samples = 400;
    o.meanwhile = (tc_meanwhile){.call = count_turn, .user = &turns};
    assert_int_equal(tc_cost_fit(m, s.n, s.sample, &o, &report, NULL), TC_OK);
    assert_true(turns >= report.rounds); /* after each tree */
    assert_int_equal(report.used, 400);
    assert_int_equal(report.thinned, 800);
    assert_true(tc_cost_trusted(m));
    tc_cost_free(m);
    free_set(&s);
}

static void refused(tc_cost_model *m, size_t n, const tc_cost_sample *s, const char *why) {
    tc_error err;
    assert_int_equal(tc_cost_fit(m, n, s, &OPTIONS, NULL, &err), TC_BAD_INPUT);
    if (!strstr(err.msg, why))
        fail_msg("'%s' does not say '%s'", err.msg, why);
}

static void test_bad_samples(void **state) {
    (void)state;
    set s = make_set(20, 1, 11);
    tc_cost_model *m = tc_cost_new();
    refused(m, 0, NULL, "no samples");
    float keep = s.rows[5].data[TC_COST_F_DIV];
    s.rows[5].data[TC_COST_F_DIV] = NAN;
    refused(m, 20, s.sample, "feature 'float.div' of sample 5 is not finite");
    s.rows[5].data[TC_COST_F_DIV] = INFINITY;
    refused(m, 20, s.sample, "not finite");
    s.rows[5].data[TC_COST_F_DIV] = keep;
    s.sample[3].label = 1.5f;
    refused(m, 20, s.sample, "sample 3 has the label 1.5");
    s.sample[3].label = NAN;
    refused(m, 20, s.sample, "label");
    s.sample[3].label = 0;
    s.sample[4].weight = 0;
    refused(m, 20, s.sample, "sample 4 has the weight 0");
    s.sample[4].weight = 1;
    tc_cost_rows none = {0};
    s.sample[7].rows = &none;
    refused(m, 20, s.sample, "sample 7 has no feature rows");
    assert_false(tc_cost_trained(m));
    s.sample[7].rows = &s.rows[7];
    assert_int_equal(tc_cost_fit(m, 20, s.sample, NULL, NULL, NULL), TC_OK);
    refused(m, 0, NULL, "no samples");
    assert_true(tc_cost_trained(m)); /* as before */
    tc_cost_free(m);
    free_set(&s);
}

static void test_round_trip(void **state) {
    (void)state;
    set s = make_set(300, 2, 12);
    tc_cost_report report;
    tc_cost_model *a = fitted(&s, &OPTIONS, &report), *b = tc_cost_new();
    const char *path = TCTUNE_TEST_TMP "/round-trip.model";
    tc_error err;
    assert_int_equal(tc_cost_save(a, path, &err), TC_OK);
    assert_int_equal(tc_cost_load(b, path, &err), TC_OK);
    double *x = predicted(a, &s), *y = predicted(b, &s);
    assert_memory_equal(x, y, s.n * sizeof *x);
    assert_int_equal(tc_cost_last_report(b)->rounds, report.rounds);
    assert_true(tc_cost_last_report(b)->held_out.pair_accuracy == report.held_out.pair_accuracy);
    assert_int_equal(tc_cost_load(b, TCTUNE_TEST_TMP "/no-such.model", &err), TC_BAD_INPUT);
    assert_true(tc_cost_trusted(b));
    assert_int_not_equal(tc_cost_save(a, TCTUNE_TEST_TMP "/no-such-folder/x.model", &err), TC_OK);
    free(x);
    free(y);
    tc_cost_free(a);
    tc_cost_free(b);
    free_set(&s);
}

static void test_damaged_bytes(void **state) {
    (void)state;
    set s = make_set(40, 1, 13);
    tc_cost_model *a = fitted(&s, &OPTIONS, NULL), *b = tc_cost_new();
    char *data;
    size_t size;
    tc_error err;
    assert_int_equal(tc_cost_to_bytes(b, &data, &size, &err), TC_BAD_INPUT);
    assert_int_equal(tc_cost_to_bytes(a, &data, &size, &err), TC_OK);
    for (size_t n = 0; n < size; n += n < 160 ? 1 : 997) {
        char *part = tc_xmalloc(n + 1); /* exactly as long, so that a sanitizer sees reads past it */
        memcpy(part, data, n);
        assert_int_equal(tc_cost_from_bytes(b, "part.model", part, n, &err), TC_BAD_INPUT);
        assert_non_null(strstr(err.msg, "part.model: "));
        free(part);
    }
    for (size_t n = 0; n < size; n += n < 160 ? 1 : 1009) {
        data[n] ^= 0x20;
        assert_int_equal(tc_cost_from_bytes(b, "bad.model", data, size, &err), TC_BAD_INPUT);
        data[n] ^= 0x20;
    }
    assert_false(tc_cost_trained(b));
    data[12] = 99; /* feature version, after the magic and the format */
    assert_int_equal(tc_cost_from_bytes(b, "old.model", data, size, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "trained on feature version 99"));
    free(data);
    tc_cost_free(a);
    tc_cost_free(b);
    free_set(&s);
}

static void test_judge(void **state) {
    (void)state;
    set s = make_set(100, 2, 14);
    double *score = tc_xcalloc(100, sizeof *score);
    for (size_t i = 0; i < 100; i++)
        score[i] = s.sample[i].label + 10 * s.sample[i].task; /* across tasks nothing is compared */
    tc_cost_quality q = tc_cost_judge(100, s.sample, score);
    assert_true(q.pair_accuracy == 1 && q.top_recall == 1 && q.pairs > 1000);
    for (size_t i = 0; i < 100; i++)
        score[i] = -s.sample[i].label;
    q = tc_cost_judge(100, s.sample, score);
    assert_true(q.pair_accuracy == 0 && q.top_recall == 0);
    for (size_t i = 0; i < 100; i++)
        score[i] = 0;
    assert_true(tc_cost_judge(100, s.sample, score).pair_accuracy == 0.5);
    assert_true(tc_cost_judge(0, NULL, NULL).pair_accuracy == 0.5);
    free(score);
    free_set(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learns),
        cmocka_unit_test(test_learns_from_few),
        cmocka_unit_test(test_score_is_sum_of_rows),
        cmocka_unit_test(test_summed_objective),
        cmocka_unit_test(test_deterministic),
        cmocka_unit_test(test_noise_is_not_trusted),
        cmocka_unit_test(test_untrained),
        cmocka_unit_test(test_small_and_large_sets),
        cmocka_unit_test(test_bad_samples),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_damaged_bytes),
        cmocka_unit_test(test_judge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
