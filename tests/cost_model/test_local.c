/* One task's own order: what it learns from few programs, when its word is worth nothing, and what it refuses. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost_model/cost.h"
#include "support/cmocka_all.h"
#include "support/rng.h"
#include "support/vec.h"

enum { ROWS = 3, TRAIN = 160, FRESH = 60 };

typedef struct set {
    size_t n;
    tc_cost_rows rows[TRAIN + FRESH];
    tc_cost_sample sample[TRAIN + FRESH];
    const tc_cost_rows *ptr[TRAIN + FRESH];
} set;

/* Throughput depends on two decisions together, as whether a tile fits does. */
static double throughput(const float *row) {
    double a = row[TC_COST_ACC_SHARE], b = row[TC_COST_VEC_LEN];
    return 1 / (1 + fabs(a * b - 6) / 4);
}

static set *make_set(uint64_t seed) {
    set *s = tc_xcalloc(1, sizeof *s);
    tc_rng rng = tc_rng_seed(seed);
    s->n = TRAIN + FRESH;
    for (size_t i = 0; i < s->n; i++) {
        tc_cost_rows *r = &s->rows[i];
        r->nrow = r->cap = ROWS;
        r->data = tc_xcalloc(ROWS * TC_COST_NFEATURE, sizeof *r->data);
        float a = (float)tc_rng_below(&rng, 8), b = (float)tc_rng_below(&rng, 8);
        for (int k = 0; k < ROWS; k++) {
            r->data[k * TC_COST_NFEATURE + TC_COST_F_FMA] = (float)(20 + k);
            r->data[k * TC_COST_NFEATURE + TC_COST_ACC_SHARE] = a;
            r->data[k * TC_COST_NFEATURE + TC_COST_VEC_LEN] = b;
        }
        s->sample[i] = (tc_cost_sample){.rows = r, .weight = 1, .label = (float)throughput(r->data)};
        s->ptr[i] = r;
    }
    return s;
}

static void free_set(set *s) {
    for (size_t i = 0; i < s->n; i++)
        tc_cost_rows_free(&s->rows[i]);
    free(s);
}

static tc_cost_local *local_of(size_t n, const tc_cost_sample *samples, const tc_cost_options *o) {
    tc_cost_local *l;
    tc_error err;
    if (tc_cost_local_new(n, samples, o, &l, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return l;
}

static void test_orders_fresh_programs(void **state) {
    (void)state;
    set *s = make_set(1);
    tc_cost_model *none = tc_cost_new();
    tc_cost_local *l = local_of(TRAIN, s->sample, NULL), *again = local_of(TRAIN, s->sample, NULL);
    double score[FRESH], same[FRESH];
    assert_true(tc_cost_local_trusted(l));
    assert_true(tc_cost_predict(none, l, FRESH, s->ptr + TRAIN, 2, score));
    assert_true(tc_cost_predict(none, again, FRESH, s->ptr + TRAIN, 1, same));
    assert_memory_equal(score, same, sizeof score);
    tc_cost_quality q = tc_cost_judge(FRESH, s->sample + TRAIN, score), left_out = *tc_cost_local_quality(l);
    print_message("fresh %.3f, left out %.3f of %lld pairs\n", q.pair_accuracy, left_out.pair_accuracy,
                  (long long)left_out.pairs);
    assert_true(q.pair_accuracy > 0.9);
    assert_int_equal(left_out.programs, TRAIN);
    assert_true(fabs(left_out.pair_accuracy - q.pair_accuracy) < 0.06);
    tc_cost_local_free(l);
    tc_cost_local_free(again);
    tc_cost_free(none);
    free_set(s);
}

/* What a program is given when it is left out comes from the others only: where labels are drawn, that is chance, however closely
 * the fit follows the programs that it has. */
static void test_chance_is_not_trusted(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 5; seed++) {
        set *s = make_set(10 + seed);
        tc_cost_model *none = tc_cost_new();
        double score[FRESH];
        tc_rng rng = tc_rng_seed(seed);
        for (size_t i = 0; i < s->n; i++)
            s->sample[i].label = (float)tc_rng_unit(&rng);
        tc_cost_local *l = local_of(TRAIN, s->sample, NULL);
        assert_true(fabs(tc_cost_local_quality(l)->pair_accuracy - 0.5) < 0.12);
        assert_int_equal(tc_cost_predict(none, l, FRESH, s->ptr, 1, score), tc_cost_local_trusted(l));
        tc_cost_local_free(l);
        tc_cost_free(none);
        free_set(s);
    }
}

static void test_equal_programs_say_nothing(void **state) {
    (void)state;
    set *s = make_set(2);
    tc_cost_model *none = tc_cost_new();
    double score;
    for (size_t i = 1; i < 30; i++)
        s->sample[i].rows = &s->rows[0];
    tc_cost_local *l = local_of(30, s->sample, NULL), *one = local_of(1, s->sample, NULL);
    assert_false(tc_cost_local_trusted(l) || tc_cost_local_trusted(one));
    assert_int_equal(tc_cost_local_quality(l)->programs, 0);
    assert_false(tc_cost_predict(none, l, 1, s->ptr, 1, &score));
    tc_cost_local_free(l);
    tc_cost_local_free(one);
    tc_cost_free(none);
    free_set(s);
}

/* A share of the score is the trees' where both are there; a damaged program is never first. */
static void test_beside_the_trees(void **state) {
    (void)state;
    set *s = make_set(3);
    tc_error err;
    tc_cost_model *m = tc_cost_new(), *none = tc_cost_new();
    assert_int_equal(tc_cost_fit(m, TRAIN, s->sample, NULL, NULL, &err), TC_OK);
    tc_cost_local *l = local_of(TRAIN, s->sample, &(tc_cost_options){.max_samples = 100});
    double trees[FRESH], own[FRESH], both[FRESH];
    assert_int_equal(tc_cost_local_quality(l)->programs, 100);
    s->rows[TRAIN].data[5] = NAN;
    assert_true(tc_cost_predict(m, NULL, FRESH, s->ptr + TRAIN, 1, trees));
    assert_true(tc_cost_predict(none, l, FRESH, s->ptr + TRAIN, 1, own));
    assert_true(tc_cost_predict(m, l, FRESH, s->ptr + TRAIN, 2, both));
    tc_cost_rows empty = {0};
    double nothing = 42;
    assert_true(tc_cost_predict(none, l, 1, (const tc_cost_rows *const[]){&empty}, 1, &nothing) && nothing == 0);
    assert_true(isinf(trees[0]) && isinf(own[0]) && isinf(both[0]) && both[0] < 0);
    for (int i = 1; i < FRESH; i++)
        assert_true(both[i] >= fmin(trees[i], own[i]) - 1e-9 && both[i] <= fmax(trees[i], own[i]) + 1e-9);
    tc_cost_local_free(l);
    tc_cost_free(m);
    tc_cost_free(none);
    free_set(s);
}

static void test_refuses(void **state) {
    (void)state;
    set *s = make_set(4);
    tc_cost_local *l = NULL;
    tc_error err;
    assert_int_equal(tc_cost_local_new(0, s->sample, NULL, &l, &err), TC_BAD_INPUT);
    s->sample[7].label = 2;
    assert_int_equal(tc_cost_local_new(20, s->sample, NULL, &l, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "sample 7"));
    s->sample[7].label = 1;
    s->rows[3].data[TC_COST_NFEATURE] = INFINITY;
    assert_int_equal(tc_cost_local_new(20, s->sample, NULL, &l, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "sample 3"));
    assert_null(l);
    tc_cost_local_free(NULL);
    free_set(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders_fresh_programs),
        cmocka_unit_test(test_chance_is_not_trusted),
        cmocka_unit_test(test_equal_programs_say_nothing),
        cmocka_unit_test(test_beside_the_trees),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
