/* Ranges: the tasks that stand for them, schedules of fixed sizes taken to sizes that vary, and a contest from search to
 * variants. */
#include "session.h"

#include "common/random_symbols.h"
#include "common/random_trace.h"
#include "common/random_workload.h"
#include "tir_lower/build/build.h"
#include "tir_lower/oracle.h"
#include "tune/kernel/transplant.h"
#include "tune/kernel/variants.h"
#include "tune/range.h"

/* ---- transplants ---- */

#ifdef TCTUNE_SANITIZED
enum { CASES = 50, STEPS = 24, RUNS = 3 };
#else
enum { CASES = 200, STEPS = 24, RUNS = 3 };
#endif

typedef struct totals {
    int moved, packed, refused;
} totals;

static void check_right(tc_ctx *c, const tc_workload *w, const tc_func *f, tc_rng *r, uint64_t seed) {
    for (int i = 0; i < RUNS; i++) {
        int64_t sizes[TC_TEST_MAX_SYMBOLS];
        oracle o;
        tc_error err = {0};
        tc_test_random_sizes(w, r, sizes);
        if (oracle_open_at(&o, c, w, sizes, seed, &err) != TC_OK)
            fail_msg("%s", err.msg);
        tc_status s = oracle_run(&o, f, 3, &err);
        oracle_close(&o);
        if (s != TC_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, err.msg);
    }
}

/* The schedule that replay makes of the text on w. */
static tc_tir_program program_of(tc_ctx *c, const tc_workload *w, const char *text) {
    tc_tir_origin from = {.workload = w, .machine = &test_machine, .text = text, .name = "trace"};
    tc_tir_program p;
    tc_error err = {0};
    if (tc_tir_program_make(c, &from, TC_TIR_HASH | TC_TIR_LOWERED, &p, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return p;
}

static bool packs(const tc_func *f) {
    bool any = false;
    for (int i = 0; i < f->nparam; i++)
        any |= f->params[i].kind == TC_PARAM_PACKED;
    return any;
}

static void check_transplant(const tc_workload *w, tc_rng *r, uint64_t seed, totals *sum) {
    int64_t sizes[TC_TEST_MAX_SYMBOLS];
    const tc_workload *at;
    tc_ctx *c = tc_ctx_child(w->ctx);
    tc_error err = {0};
    const char *text;
    uint64_t program;
    tc_test_random_sizes(w, r, sizes);
    for (int i = 0; i < w->nsymbol; i++)
        sizes[i] = TC_MAX(sizes[i], 1); /* nothing is tuned for nothing */
    if (tc_te_at(c, w, sizes, &at, &err) != TC_OK)
        fail_msg("%s", err.msg);
    at = tc_te_canonical(c, at);
    tc_trace *t = tc_test_random_trace(c, at, r, STEPS);
    tc_tune_transplant x = {.from = at, .to = w, .machine = &test_machine, .trace = tc_trace_text(tc_ctx_arena(c), t)};
    tc_status s = tc_tune_transplant_make(&x, tc_ctx_arena(c), &text, &program, &err);
    if (s == TC_OK) {
        tc_tir_program before = program_of(c, at, x.trace), after = program_of(c, w, text);
        assert_true(after.hash == program);
        assert_true(tc_tune_packs_alike(before.nest, after.nest));
        check_right(c, w, after.lowered, r, seed);
        sum->moved++;
        sum->packed += packs(before.nest);
    } else {
        assert_int_equal(s, TC_ILLEGAL);
        assert_true(*err.msg);
        sum->refused++;
    }
    tc_ctx_free(c);
}

static void schedules_of_a_size_are_right_at_all(void **state) {
    (void)state;
    totals sum = {0};
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        tc_rng r = tc_rng_seed(seed);
        tc_ctx *c = tc_ctx_new();
        const tc_workload *w = tc_test_vary(c, tc_test_random_workload(c, &r), &r);
        if (w)
            check_transplant(tc_te_canonical(c, w), &r, seed, &sum);
        tc_ctx_free(c);
    }
    print_message("%d schedules moved, %d of them with packed constants, %d refused\n", sum.moved, sum.packed, sum.refused);
    assert_true(sum.moved >= CASES / 4 && sum.packed > 0);
}

static const char layer[] = "symbol N 1..70\ntensor X[N, 32] f32\ntensor W[32, 48] f32 const\n"
                            "compute Y[i:N, j:48] = sum(k:32) X[i, k] * W[k, j]\noutput Y\n";

/* Of one row there is no loop to divide among threads; what a trace says of a loop that is not there is refused, with the step. */
static void what_does_not_fit_is_refused_with_the_reason(void **state) {
    bench *b = *state;
    const tc_workload *w = tc_te_canonical(b->ctx, parse(b->ctx, layer)), *at;
    const int64_t size = 7;
    const char *text;
    uint64_t program;
    tc_error err = {0};
    assert_int_equal(tc_te_at(b->ctx, w, &size, &at, NULL), TC_OK);
    tc_tune_transplant x = {.from = tc_te_canonical(b->ctx, at), .to = w, .machine = &test_machine};
    x.trace = "unroll t0.nowhere\n";
    assert_int_equal(tc_tune_transplant_make(&x, tc_ctx_arena(b->ctx), &text, &program, &err), TC_ILLEGAL);
    assert_non_null(strstr(err.msg, "nowhere"));
    x.trace = "vectorize t0.i0\n"; /* seven lanes, but seventy where it varies */
    if (tc_tune_transplant_make(&x, tc_ctx_arena(b->ctx), &text, &program, &err) != TC_OK)
        assert_true(*err.msg);
}

/* Tiles that end beyond the largest size, in a loop that is fused of all of them, written to a workspace that has room for that
 * size alone. */
static void tiles_that_stand_out_are_right(void **state) {
    bench *b = *state;
    const char *text = "symbol N 1..205\ntensor X[N, 8] f32\ncompute S[h:2, i:N, j:N] = sum(k:4) X[i, h * 4 + k] * X[j, k]\n"
                       "compute Y[h:2, i:N] = max(j:N) S[h, i, j]\noutput Y\n";
    const tc_workload *w = tc_te_canonical(b->ctx, parse(b->ctx, text)), *at;
    const int64_t size = 60;
    uint64_t program;
    tc_error err = {0};
    tc_rng r = tc_rng_seed(1);
    assert_int_equal(tc_te_at(b->ctx, w, &size, &at, NULL), TC_OK);
    tc_tune_transplant x = {.from = tc_te_canonical(b->ctx, at), .to = w, .machine = &test_machine};
    x.trace =
        "i_0, i_1, i_2 = split t0.i1 [_, 2, 5]\nj_0, j_1 = split t0.i2 [_, 3]\nreorder t0.i0 t0.i_0 t0.j_0 t0.i_1 t0.i_2 t0.j_1\n"
        "task = fuse t0.i0 t0.i_0 t0.j_0\nparallel t0.task\n";
    if (tc_tune_transplant_make(&x, tc_ctx_arena(b->ctx), &text, &program, &err) != TC_OK)
        fail_msg("%s", err.msg);
    check_right(b->ctx, w, program_of(b->ctx, w, text).lowered, &r, 1);
}

/* ---- tasks ---- */

static const char pair[] = "symbol B 1..4\nsymbol S 1..64\ntensor X[B, S, 16] f32\n"
                           "compute Y[b:B, s:S] = sum(k:16) X[b, s, k]\noutput Y\n";

static void each_size_counts_alike(void **state) {
    bench *b = *state;
    tc_ctx *c = tc_ctx_new();
    tc_tune_spread s;
    tc_tune_task tasks[] = {
        {.name = "layer", .workload = parse(b->ctx, layer), .weight = 6},
        {.name = "rows", .workload = parse(b->ctx, rows), .weight = 2},
        {.name = "both", .workload = parse(b->ctx, rows), .weight = 1, .ninstead = 1, .instead = (int[]){1}},
        {.name = "spare", .workload = parse(b->ctx, rows), .weight = 1, .ninstead = 1, .instead = (int[]){0}}};
    assert_int_equal(tc_tune_spread_over(c, tasks, 4, &s, NULL), TC_OK);
    assert_true(s.nrange == 1 && s.n == s.ranges[0].tuned.n + 2 && s.ranges[0].tuned.n == 3);
    for (int i = 0; i < 3; i++) {
        const tc_tune_task *t = &s.tasks[i];
        assert_true(t->workload->nsymbol == 0 && t->weight == 2 && t->varying);
        assert_true(fabs(t->stake * tc_te_flops(t->workload) - s.tasks[0].stake * tc_te_flops(s.tasks[0].workload)) < 1e-3);
        assert_true(i == 0 || tc_te_flops(t->workload) > tc_te_flops(s.tasks[i - 1].workload));
    }
    assert_non_null(strstr(s.tasks[0].name, "layer N="));
    assert_true(s.tasks[3].weight == 2 && s.tasks[3].stake == 0 && !s.tasks[3].varying);
    assert_true(s.tasks[4].ninstead == 1 && s.tasks[4].instead[0] == 3); /* `spare` is in place of what varies */
    assert_true(s.ranges[0].network == 6 * 4.0 * 32 * 48);
    tasks[0].workload = parse(b->ctx, pair);
    assert_int_equal(tc_tune_spread_over(c, tasks, 1, &s, NULL), TC_OK);
    assert_non_null(strstr(s.tasks[0].name, "layer B="));
    tc_ctx_free(c);
}

/* ---- from search to variants ---- */

static tc_tune_spread spread(bench *b, tc_ctx *c, const char *te) {
    tc_tune_spread s;
    tc_error err = {0};
    tc_tune_task task = {.name = "kernel", .workload = parse(b->ctx, te), .weight = 1};
    if (tc_tune_spread_over(c, &task, 1, &s, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return s;
}

static void tune(bench *b, const tc_tune_options *o, const tc_tune_spread *s) {
    tc_tune *t;
    tc_error err = {0};
    if (tc_tune_new(o, s->tasks, s->n, b->db, &t, &err) != TC_OK || tc_tune_run(t, &err) != TC_OK)
        fail_msg("%s", err.msg);
    assert_true(tc_tune_get_report(t)->measured > 0 && tc_tune_get_report(t)->measured <= o->trials);
    tc_tune_free(t);
}

static tc_tune_range_report contest(bench *b, const tc_tune_options *o, const tc_tune_range *r, tc_arena *a) {
    tc_tune_range_report c;
    tc_error err = {0};
    if (tc_tune_range_contest(o, r, b->db, NULL, NULL, a, &c, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return c;
}

static size_t sized_records(const bench *b, tc_arena *a) {
    tc_meas_records r;
    assert_int_equal(tc_meas_db_select(b->db, a, &(tc_meas_filter){.sized = true}, &r, NULL), TC_OK);
    return r.len;
}

static void a_range_is_tuned(void **state) {
    bench *b = *state;
    tc_ctx *c = tc_ctx_new();
    tc_arena *a = tc_ctx_arena(c);
    tc_tune_spread s = spread(b, c, layer);
    tc_tune_options o = options(b, 12);
    b->target->machine.cores = o.threads;
    tune(b, &o, &s);
    tc_tune_range_report r = contest(b, &o, &s.ranges[0], a);
    assert_true(r.held && r.entrants >= 2 && r.failed == 0);
    int points = tc_tune_grid(a, s.ranges[0].workload, NULL).n;
    assert_int_equal(sized_records(b, a), r.entrants * points);
    tc_tune_query q = {.workload = s.ranges[0].workload, .target = b->target, .db = b->db};
    tc_tune_variants v;
    assert_int_equal(tc_tune_variants_find(&q, NULL, a, &v, NULL), TC_OK);
    assert_true(v.n >= 1 && v.npoint == points && v.nprogram <= r.entrants);
    for (int i = 0; i < v.npoint; i++)
        assert_true(v.point[i].best <= v.point[i].chosen && isfinite(v.point[i].chosen));
    r = contest(b, &o, &s.ranges[0], a); /* it says all still */
    assert_true(!r.held && r.entrants >= 2);
    assert_int_equal(sized_records(b, a), r.entrants * points);
    tc_ctx_free(c);
}

static const char conv[] =
    "symbol N 1..4\ntensor X[N, 10, 10, 16] f32\ntensor W[3, 3, 16, 16] f32 const\n"
    "compute Y[n:N, h:8, w:8, o:16] = sum(r:3, s:3, c:16) X[n, h + r, w + s, c] * W[r, s, c, o]\noutput Y\n";

/* Of a size those forms are searched that all sizes have: tiles can be numbered up to a batch that varies, halves of rows that
 * vary cannot. */
static void forms_are_those_of_the_range(void **state) {
    bench *b = *state;
    static const char square[] = "symbol N 200..400\ntensor X[N, 512] f32\ntensor W[512, 512] f32 const\n"
                                 "compute Y[i:N, j:512] = sum(k:512) X[i, k] * W[k, j]\noutput Y\n";
    static const struct {
        const char *te;
        int forms, alone;
    } cases[] = {{conv, 3, 3}, {square, 1, 2}};
    tc_tune_options o = simulated(b, 6);
    o.accuracy = TC_ACCURACY_FAST;
    for (size_t i = 0; i < TC_LEN(cases); i++) {
        tc_ctx *c = tc_ctx_new();
        tc_tune_spread s = spread(b, c, cases[i].te);
        for (int alone = 0; alone < 2; alone++) {
            tc_tune *t;
            tc_tune_task task = s.tasks[s.n - 1];
            task.varying = alone ? NULL : task.varying;
            assert_int_equal(tc_tune_new(&o, &task, 1, b->db, &t, NULL), TC_OK);
            assert_int_equal(tc_tune_get_report(t)->task[0].nform, alone ? cases[i].alone : cases[i].forms);
            tc_tune_free(t);
        }
        tc_ctx_free(c);
    }
}

/* One contest is of all forms: here the database has schedules of one alone, and the other is there with its default program. */
static void forms_compete_over_a_range(void **state) {
    bench *b = *state;
    tc_ctx *c = tc_ctx_new();
    tc_arena *a = tc_ctx_arena(c);
    tc_tune_spread s = spread(b, c, conv);
    tc_tune_options o = options(b, 12);
    o.accuracy = TC_ACCURACY_FAST;
    b->target->machine.cores = o.threads;
    const tc_workload *own = tc_te_canonical(c, s.ranges[0].workload);
    tc_space_alternative_list l = tc_space_alternatives(c, own, o.accuracy);
    tc_tune_task *tasks = TC_NEW_N(a, tc_tune_task, s.n);
    for (int i = 0; i < s.n; i++) {
        const tc_workload *at = tc_te_canonical(c, s.tasks[i].workload);
        tasks[i] =
            (tc_tune_task){.name = "form", .workload = tc_space_alternatives(c, at, o.accuracy).data[0].workload, .weight = 1};
    }
    tc_tune_spread only = {.n = s.n, .tasks = tasks};
    tune(b, &o, &only);
    tc_tune_range_report r = contest(b, &o, &s.ranges[0], a);
    assert_true(r.held && r.entrants >= 2 && r.failed == 0);
    tc_digest hash = tc_te_hash(l.data[0].workload);
    tc_meas_records of_form;
    assert_int_equal(tc_meas_db_select(b->db, a, &(tc_meas_filter){.workload_hash = hash.hex, .sized = true, .verified = true},
                                       &of_form, NULL),
                     TC_OK);
    int points = tc_tune_grid(a, own, NULL).n;
    assert_int_equal(of_form.len, (r.entrants - 1) * points);
    tc_tune_query q = {.workload = own, .target = b->target, .accuracy = o.accuracy, .db = b->db};
    tc_tune_variants v;
    assert_int_equal(tc_tune_variants_find(&q, NULL, a, &v, NULL), TC_OK);
    assert_int_equal(v.nprogram, r.entrants);
    assert_true(strcmp(v.v[0].hash.hex, hash.hex) == 0 ? strcmp(v.form, l.data[0].name) == 0 : strcmp(v.form, "direct") == 0);
    q.accuracy = TC_ACCURACY_STRICT;
    assert_int_equal(tc_tune_variants_find(&q, NULL, a, &v, NULL), TC_OK);
    assert_true(v.n == 1 && v.nprogram == 1);
    assert_string_equal(v.form, "direct");
    tc_ctx_free(c);
}

static volatile sig_atomic_t stop;

static void stop_soon(void *user, int program, int programs, int place, int places) {
    (void)user, (void)program, (void)programs, (void)places;
    stop = place > 2;
}

/* A part of a contest would pass for all of it. */
static void an_interrupted_contest_leaves_nothing(void **state) {
    bench *b = *state;
    tc_ctx *c = tc_ctx_new();
    tc_arena *a = tc_ctx_arena(c);
    tc_tune_spread s = spread(b, c, pair);
    tc_tune_options o = simulated(b, 9);
    tc_tune_range_report r;
    tune(b, &o, &s);
    stop = 0;
    o.stop = &stop;
    assert_int_equal(tc_tune_range_contest(&o, &s.ranges[0], b->db, stop_soon, NULL, a, &r, NULL), TC_OK);
    assert_true(stop && !r.held && sized_records(b, a) == 0);
    o.stop = NULL;
    assert_true(contest(b, &o, &s.ranges[0], a).held && sized_records(b, a) > 0);
    assert_false(contest(b, &o, &s.ranges[0], a).held);
    tc_tune_query q = {.workload = s.ranges[0].workload, .target = b->target, .db = b->db};
    tc_tune_variants v; /* of computed times nothing is built */
    b->target->machine.cores = o.threads;
    assert_int_equal(tc_tune_variants_find(&q, NULL, a, &v, NULL), TC_OK);
    assert_true(v.n == 0 && strstr(v.why, "simulated"));
    tc_ctx_free(c);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return tc_meas_worker_main(TC_MEAS_WORKER_FD, TC_MEAS_WORKER_FD);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_of_a_size_are_right_at_all),
        SESSION_TEST(what_does_not_fit_is_refused_with_the_reason),
        SESSION_TEST(tiles_that_stand_out_are_right),
        SESSION_TEST(each_size_counts_alike),
        SESSION_TEST(a_range_is_tuned),
        SESSION_TEST(forms_are_those_of_the_range),
        SESSION_TEST(forms_compete_over_a_range),
        SESSION_TEST(an_interrupted_contest_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
