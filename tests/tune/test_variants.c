/* Variants: the choice against all choices that there are, cut points, and what a database says. */
#include "session.h"

#include "support/system/fs.h"
#include "tune/kernel/variants.h"
#include "tune/kernel/weights.h"

/* ---- choosing ---- */

enum { MOST_PROGRAMS = 5, MOST_POINTS = 7 };

typedef struct sample {
    double seconds[MOST_PROGRAMS * MOST_POINTS], weight[MOST_POINTS];
    int group[MOST_PROGRAMS];
    int64_t product[MOST_POINTS];
    tc_tune_times t;
} sample;

static void draw(tc_rng *r, sample *s) {
    int p = 1 + (int)tc_rng_below(r, MOST_PROGRAMS), n = 1 + (int)tc_rng_below(r, MOST_POINTS);
    int64_t product = 1;
    for (int k = 0; k < n; k++) {
        s->weight[k] = 0.1 + tc_rng_unit(r);
        s->product[k] = product;
        product += tc_rng_below(r, 3); /* some are equal */
        double scale = 1e-3 * (1 + tc_rng_unit(r));
        for (int i = 0; i < p; i++)
            s->seconds[i * n + k] = tc_rng_below(r, 12) == 0 ? INFINITY : scale * (1 + 0.2 * tc_rng_unit(r));
    }
    for (int k = 0; k < n; k++) /* one program is right everywhere */
        s->seconds[k] = isfinite(s->seconds[k]) ? s->seconds[k] : 1e-3;
    for (int i = 0; i < p; i++)
        s->group[i] = (int)tc_rng_below(r, 2);
    s->t = (tc_tune_times){p, n, s->seconds, s->group, s->weight, s->product};
}

static double best_of(const tc_tune_times *t, int point) {
    double best = INFINITY;
    for (int i = 0; i < t->nprogram; i++)
        best = fmin(best, t->seconds[i * t->npoint + point]);
    return best;
}

/* Of one program for each point: what it loses, and how many spans that is; INFINITY where it is no set of variants. */
static double loss_of(const tc_tune_times *t, const int *program, int *spans) {
    double loss = 0, sum = 0;
    *spans = 1;
    for (int k = 0; k < t->npoint; k++) {
        bool cut = k > 0 && program[k] != program[k - 1];
        if (t->group[program[k]] != t->group[program[0]] || (cut && t->product[k] == t->product[k - 1]))
            return INFINITY;
        *spans += cut;
        sum += t->weight[k];
        loss += t->weight[k] * log(t->seconds[program[k] * t->npoint + k] / best_of(t, k));
    }
    return loss / sum;
}

/* The least cost of all ways to give each point a program. */
static double brute(const tc_tune_times *t, int most) {
    double least = INFINITY;
    int program[MOST_POINTS] = {0}, at = 0;
    while (at < t->npoint) {
        int spans;
        double loss = loss_of(t, program, &spans);
        if (spans <= most)
            least = fmin(least, loss + spans * log1p(TC_TUNE_VARIANT_PAYS));
        for (at = 0; at < t->npoint && ++program[at] == t->nprogram; at++)
            program[at] = 0;
    }
    return least;
}

/* The span that serves a product. */
static int serves(const tc_tune_choice *c, int64_t product) {
    int i = 0;
    while (product > c->upto[i])
        i++;
    return i;
}

static void check_choice(const tc_tune_times *t, int most) {
    tc_tune_choice c = tc_tune_choose(t, most);
    double least = brute(t, most);
    int program[MOST_POINTS], spans;
    assert_true((c.n > 0) == (isfinite(least) != 0) && c.n <= most);
    if (!c.n)
        return;
    assert_true(fabs(c.loss + c.n * log1p(TC_TUNE_VARIANT_PAYS) - least) < 1e-12);
    assert_true(c.upto[c.n - 1] == INT64_MAX);
    for (int k = 0; k < t->npoint; k++) /* cuts put every point where the loss was counted */
        program[k] = c.program[serves(&c, t->product[k])];
    assert_true(fabs(loss_of(t, program, &spans) - c.loss) < 1e-12);
    assert_int_equal(spans, c.n);
}

static void no_set_loses_less(void **state) {
    tc_rng r = tc_rng_seed(20);
    (void)state;
    for (int i = 0; i < 400; i++) {
        sample s;
        draw(&r, &s);
        check_choice(&s.t, 1 + (int)tc_rng_below(&r, 4));
    }
}

static void nothing_to_choose_from_is_no_choice(void **state) {
    (void)state;
    const double nowhere[] = {1, INFINITY, INFINITY, 1};
    assert_int_equal(tc_tune_choose(&(tc_tune_times){0}, 8).n, 0);
    tc_tune_times apart = {2, 2, nowhere, (const int[]){0, 1}, (const double[]){1, 1}, (const int64_t[]){1, 9}};
    assert_int_equal(tc_tune_choose(&apart, 8).n, 0);
    apart.group = (const int[]){0, 0};
    tc_tune_choice c = tc_tune_choose(&apart, 8);
    assert_true(c.n == 2 && c.loss == 0 && c.upto[0] == 3);
    assert_int_equal(tc_tune_choose(&apart, 1).n, 0);
}

/* Small sizes are served by one, large ones by the other; what gains less than a variant must is left. */
static void a_variant_must_pay(void **state) {
    (void)state;
    double seconds[] = {1, 1, 1, 1, 2, 2, 0.5, 0.5};
    tc_tune_times t = {2, 4, seconds, (const int[]){0, 0}, (const double[]){1, 1, 1, 1}, (const int64_t[]){1, 10, 1000, 4000}};
    tc_tune_choice c = tc_tune_choose(&t, 8);
    assert_true(c.n == 2 && c.program[0] == 0 && c.program[1] == 1 && c.upto[0] == 100 && c.loss == 0);
    seconds[6] = 0.99; /* half a hundredth of the mean, at two of four points */
    seconds[7] = 0.99;
    c = tc_tune_choose(&t, 8);
    assert_true(c.n == 1 && c.program[0] == 0);
    seconds[4] = seconds[5] = 1; /* a tie: the first */
    assert_true(tc_tune_choose(&t, 8).program[0] == 1);
    seconds[6] = seconds[7] = 1;
    assert_true(tc_tune_choose(&t, 8).program[0] == 0);
}

static void cuts_hold_for_the_largest_products(void **state) {
    (void)state;
    const double seconds[] = {1, 9, 9, 1};
    tc_tune_times t = {2, 2, seconds, (const int[]){0, 0}, (const double[]){1, 1}, (const int64_t[]){INT64_MAX - 1, INT64_MAX}};
    assert_true(tc_tune_choose(&t, 2).upto[0] == INT64_MAX - 1);
    const int64_t sizes[] = {INT64_MAX, 2};
    assert_true(tc_tune_product(sizes, 2) == INT64_MAX && tc_tune_product(sizes, 0) == 1);
    assert_true(tc_tune_product((const int64_t[]){0, 7}, 2) == 7);
}

/* ---- sizes ---- */

static const char layer[] = "symbol N 1..512\ntensor X[N, 32] f32\ntensor W[32, 48] f32 const\n"
                            "compute Y[i:N, j:48] = sum(k:32) X[i, k] * W[k, j]\noutput Y\n";
static const char pair[] = "symbol B 2..16\nsymbol S 3..512\ntensor X[B, S] f32\ncompute Y[b:B, s:S] = X[b, s] + 1.0\noutput Y\n";

static void check_places(const tc_workload *w, tc_tune_places p, int most) {
    assert_true(p.n >= 1 && p.n <= most);
    for (int i = 0; i < p.n; i++)
        for (int k = 0; k < w->nsymbol; k++)
            assert_true(p.sizes[i][k] >= w->symbols[k]->least && p.sizes[i][k] <= w->symbols[k]->most);
    for (int i = 1; i < p.n; i++)
        assert_true(tc_tune_product(p.sizes[i - 1], w->nsymbol) <= tc_tune_product(p.sizes[i], w->nsymbol) &&
                    memcmp(p.sizes[i - 1], p.sizes[i], (size_t)w->nsymbol * sizeof(int64_t)) != 0);
}

static void the_grid_spans_the_range(void **state) {
    const bench *b = *state;
    tc_arena *a = tc_arena_new();
    const tc_workload *w = parse(b->ctx, layer);
    tc_tune_places g = tc_tune_grid(a, w, NULL);
    check_places(w, g, TC_TUNE_GRID);
    assert_true(g.n >= 8 && g.sizes[0][0] == 1 && g.sizes[g.n - 1][0] == 512);
    check_places(w, tc_tune_tuned_sizes(a, w, NULL), TC_TUNE_TUNED);
    assert_int_equal(tc_tune_tuned_sizes(a, w, NULL).n, 3);
    w = parse(b->ctx, pair);
    g = tc_tune_grid(a, w, NULL);
    check_places(w, g, TC_TUNE_GRID);
    assert_true(g.n >= 8 && g.sizes[0][0] == 2 && g.sizes[0][1] == 3 && g.sizes[g.n - 1][1] == 512);
    w = parse(b->ctx, "symbol N 7..7\ntensor X[N] f32\ncompute Y[i:N] = X[i] + 1.0\noutput Y\n");
    assert_int_equal(tc_tune_grid(a, w, NULL).n, 1);
    assert_int_equal(tc_tune_tuned_sizes(a, w, NULL).n, 1);
    tc_arena_free(a);
}

static tc_tune_weights_file *load(tc_arena *a, const char *text, tc_status want, const char *says) {
    char path[] = "/tmp/tctune-weights-XXXXXX";
    tc_tune_weights_file *f = NULL;
    tc_error err = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(tc_fs_write(path, text, strlen(text), NULL), TC_OK);
    assert_int_equal(tc_tune_weights_load(a, path, &f, &err), want);
    if (want != TC_OK && (!strstr(err.msg, says) || !strstr(err.msg, path)))
        fail_msg("%s", err.msg);
    unlink(path);
    return f;
}

static void files_weigh_sizes(void **state) {
    const bench *b = *state;
    tc_arena *a = tc_arena_new();
    tc_error err = {0};
    const tc_workload *w = parse(b->ctx, layer), *two = parse(b->ctx, pair);
    const tc_tune_weights *x;
    tc_tune_weights_file *f = load(a, "# lengths\nN=17 1e-1\n\n N=300\t0.3 # often\n", TC_OK, NULL);
    assert_int_equal(tc_tune_weights_of(a, f, w, &x, &err), TC_OK);
    assert_true(x->n == 2 && x->data[0].sizes[0] == 17 && x->data[1].weight == 0.3);
    tc_tune_places tuned = tc_tune_tuned_sizes(a, w, x), grid = tc_tune_grid(a, w, x);
    assert_true(tuned.n == 2 && tuned.sizes[0][0] == 17 && tuned.sizes[1][0] == 300);
    assert_true(grid.n == 4 && grid.sizes[1][0] == 17 && grid.sizes[3][0] == 512);
    const double *weight = tc_tune_place_weights(a, w, x, grid.n, grid.sizes);
    assert_true(fabs(weight[1] - 0.25) < 1e-9 && fabs(weight[2] - 0.75) < 1e-9 && weight[0] > 0 && weight[3] < 0.01);
    assert_int_equal(tc_tune_weights_of(a, load(a, "S=9 B=2 1\n", TC_OK, NULL), two, &x, &err), TC_OK);
    assert_true(x->data[0].sizes[0] == 2 && x->data[0].sizes[1] == 9);
    tc_arena_free(a);
}

static void bad_files_are_refused(void **state) {
    const bench *b = *state;
    tc_arena *a = tc_arena_new();
    tc_error err = {0};
    const tc_tune_weights *x;
    const tc_workload *w = parse(b->ctx, layer);
    load(a, "", TC_BAD_INPUT, "has no sizes");
    load(a, "# none\n\n", TC_BAD_INPUT, "has no sizes");
    load(a, "N=17\n", TC_BAD_INPUT, ":1: expected NAME=SIZE");
    load(a, "N=17 1\n1\n", TC_BAD_INPUT, ":2: expected NAME=SIZE");
    load(a, "N=17 1 N=3\n", TC_BAD_INPUT, ":1: expected");
    load(a, "N=17 1 2\n", TC_BAD_INPUT, ":1: expected");
    load(a, "N=-17 1\n", TC_BAD_INPUT, ":1: expected");
    load(a, "N=17 nan\n", TC_BAD_INPUT, ":1: expected");
    load(a, "N=17 inf\n", TC_BAD_INPUT, ":1: expected");
    load(a, "N=17 -1\n", TC_BAD_INPUT, ":1: the weight is -1");
    load(a, "N=17 0\n", TC_BAD_INPUT, ":1: the weight is 0");
    load(a, "N=17 N=18 1\n", TC_BAD_INPUT, ":1: N has two sizes");
    load(a, "N=99999999999999999999 1\n", TC_BAD_INPUT, ":1: expected");
    assert_int_equal(tc_tune_weights_of(a, load(a, "N=1 1\nN=513 1\n", TC_OK, NULL), w, &x, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, ":2: N is 513, but it runs from 1 to 512"));
    assert_int_equal(tc_tune_weights_of(a, load(a, "M=1 1\n", TC_OK, NULL), w, &x, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, ":1: nothing has a size M that varies; there is only N"));
    const tc_workload *two = parse(b->ctx, pair);
    assert_int_equal(tc_tune_weights_of(a, load(a, "B=2 1\n", TC_OK, NULL), two, &x, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, ":1: does not say the size of S"));
    tc_arena_free(a);
}

/* ---- of a database ---- */

/* Row tiles; and the same with the weights in panels of 16, which no variant of the others can read. */
static const char by_two[] = "i0_0, i0_1 = split t0.i0 [_, 2]\n", by_eight[] = "i0_0, i0_1 = split t0.i0 [_, 8]\n",
                  packed[] = "transform_layout p1 (x0, x1) -> (x1 / 16, x0, x1 % 16)\n";

/* Of an odd number of rounds. */
static void put_rounds(bench *b, const tc_workload *w, const char *trace, int64_t size, const double *seconds, size_t n,
                       int64_t ms) {
    tc_arena *a = tc_arena_new();
    tc_ctx *ctx = tc_ctx_new();
    tc_record r = tc_meas_record_empty();
    tc_meas_record_identify(a, &r, tc_te_text(a, tc_te_canonical(ctx, w)), tc_te_hash(w), b->target->text, trace);
    r.times = tc_arena_dup(a, seconds, n * sizeof *seconds);
    r.ntimes = n;
    r.median = tc_meas_median(r.times, n);
    r.verified = true;
    r.threads = b->target->machine.cores;
    r.when_ms = ms;
    r.program = strlen(trace);
    r.sizes = tc_meas_sizes_text(a, &size, 1);
    assert_int_equal(tc_meas_db_insert(b->db, &r, 1, NULL), TC_OK);
    tc_ctx_free(ctx);
    tc_arena_free(a);
}

static void put(bench *b, const tc_workload *w, const char *trace, int64_t size, double seconds, int64_t ms) {
    put_rounds(b, w, trace, size, &seconds, 1, ms);
}

static tc_tune_variants find(const bench *b, const tc_workload *w, tc_arena *a) {
    tc_tune_query q = {.workload = w, .target = b->target, .accuracy = TC_ACCURACY_ALL, .db = b->db};
    tc_tune_variants v;
    tc_error err = {0};
    if (tc_tune_variants_find(&q, NULL, a, &v, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return v;
}

static void a_contest_gives_variants(void **state) {
    bench *b = *state;
    tc_arena *a = tc_arena_new();
    const tc_workload *w = parse(b->ctx, layer);
    tc_tune_variants v = find(b, w, a);
    assert_true(v.n == 0 && strstr(v.why, "never measured") && v.npoint == 0);
    put(b, w, by_eight, 1, 1e-9, 1); /* an earlier contest */
    const double two[] = {1e-6, 5e-6, 9e-6}, eight[] = {3e-6, 4e-6, 4e-6}, panels[] = {2e-6, 2e-6, INFINITY};
    const int64_t size[] = {1, 25, 400};
    for (int i = 0; i < 3; i++) {
        put(b, w, by_two, size[i], two[i], 2);
        put(b, w, by_eight, size[i], eight[i], 2);
        if (isfinite(panels[i])) /* wrong at the largest size: it is no variant, nor can it be one beside the others */
            put(b, w, packed, size[i], panels[i], 2);
    }
    v = find(b, w, a);
    assert_true(v.n == 2 && v.npoint == 3 && v.nprogram == 3);
    assert_string_equal(v.v[0].trace, by_two);
    assert_string_equal(v.v[1].trace, by_eight);
    assert_true(v.v[0].upto == 5 && v.v[1].upto == INT64_MAX);
    assert_true(v.point[1].best == 2e-6 && v.point[1].chosen == 4e-6 && v.point[1].variant == 1 && v.loss > 0);
    assert_int_equal(tc_tune_variant_at(&v, (const int64_t[]){5}, 1), 0);
    assert_int_equal(tc_tune_variant_at(&v, (const int64_t[]){6}, 1), 1);
    put(b, w, packed, 400, 1e-6, 2);
    v = find(b, w, a);
    assert_true(v.n == 1 && v.nprogram == 3);
    assert_string_equal(v.v[0].trace, packed);
    tc_arena_free(a);
}

/* Others had the machine in two rounds of three. */
static void the_least_of_the_rounds_counts(void **state) {
    bench *b = *state;
    tc_arena *a = tc_arena_new();
    const tc_workload *w = parse(b->ctx, layer);
    const double two[] = {9e-6, 1e-6, 8e-6}, eight[] = {2e-6, 2e-6, 2e-6};
    put_rounds(b, w, by_two, 25, two, TC_LEN(two), 1);
    put_rounds(b, w, by_eight, 25, eight, TC_LEN(eight), 1);
    tc_tune_variants v = find(b, w, a);
    assert_int_equal(v.n, 1);
    assert_string_equal(v.v[0].trace, by_two);
    assert_true(v.point[0].best == 1e-6);
    tc_arena_free(a);
}

static const tc_workload *form_called(const tc_workload *w, const char *name) {
    tc_space_alternative_list l = tc_space_alternatives(w->ctx, w, TC_ACCURACY_FAST);
    for (int i = 0; i < l.n; i++)
        if (strcmp(l.data[i].name, name) == 0)
            return l.data[i].workload;
    fail_msg("there is no form '%s'", name);
    return NULL;
}

static void put_all(bench *b, const tc_workload *w, const double seconds[3], int64_t ms) {
    const int64_t size[] = {1, 4, 16};
    for (int i = 0; i < 3; i++)
        put(b, w, "", size[i], seconds[i], ms);
}

/* Tiles of 2 for few images, of 4 for many, where both read what was made of the weights for tiles of 4. With weights of their
 * own for tiles of 2 there is one form for all sizes, and so there is where that is the best everywhere. */
static void forms_with_the_same_constants_are_variants_of_one_kernel(void **state) {
    bench *b = *state;
    tc_arena *a = tc_arena_new();
    const tc_workload *w =
        parse(b->ctx, "symbol N 1..16\ntensor X[N, 10, 10, 16] f32\ntensor W[3, 3, 16, 16] f32 const\n"
                      "compute Y[n:N, h:8, w:8, o:16] = sum(r:3, s:3, c:16) X[n, h + r, w + s, c] * W[r, s, c, o]\noutput Y\n");
    const tc_workload *two = form_called(w, "winograd-f2"), *four = form_called(w, "winograd-f4"),
                      *both = form_called(w, "winograd-f2-of-f4");
    put_all(b, two, (const double[]){1e-6, 4e-6, 16e-6}, 1);
    put_all(b, four, (const double[]){2e-6, 3e-6, 8e-6}, 1);
    tc_tune_variants v = find(b, w, a);
    assert_int_equal(v.n, 1);
    assert_string_equal(v.form, v.v[0].form);
    put_all(b, two, (const double[]){1e-6, 4e-6, 16e-6}, 2);
    put_all(b, four, (const double[]){2e-6, 3e-6, 8e-6}, 2);
    put_all(b, both, (const double[]){1.1e-6, 4e-6, 16e-6}, 2);
    v = find(b, w, a);
    assert_int_equal(v.n, 2);
    assert_string_equal(v.form, "winograd-f2-of-f4, winograd-f4");
    assert_string_equal(v.v[0].form, "winograd-f2-of-f4");
    assert_string_equal(v.v[1].form, "winograd-f4");
    assert_string_equal(v.v[0].hash.hex, tc_te_hash(tc_te_canonical(b->ctx, both)).hex);
    assert_string_equal(v.v[1].workload, tc_te_text(a, tc_te_canonical(b->ctx, four)));
    tc_tune_query q = {.workload = w, .target = b->target, .accuracy = TC_ACCURACY_FAST, .db = b->db};
    tc_tune_schedule s;
    assert_int_equal(tc_tune_schedule_at(&q, NULL, (const int64_t[]){1}, a, &s, NULL), TC_OK);
    assert_string_equal(s.form, "winograd-f2-of-f4");
    assert_string_equal(s.workload, v.v[0].workload);
    put_all(b, two, (const double[]){1.1e-6, 2e-6, 7e-6}, 3);
    put_all(b, four, (const double[]){2e-6, 3e-6, 8e-6}, 3);
    put_all(b, both, (const double[]){1e-6, 2e-6, 7e-6}, 3); /* faster by luck: nobody reads the other weights */
    v = find(b, w, a);
    assert_int_equal(v.n, 1);
    assert_string_equal(v.form, "winograd-f2");
    tc_arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SESSION_TEST(forms_with_the_same_constants_are_variants_of_one_kernel),
        cmocka_unit_test(no_set_loses_less),
        cmocka_unit_test(nothing_to_choose_from_is_no_choice),
        cmocka_unit_test(a_variant_must_pay),
        cmocka_unit_test(cuts_hold_for_the_largest_products),
        SESSION_TEST(the_grid_spans_the_range),
        SESSION_TEST(files_weigh_sizes),
        SESSION_TEST(bad_files_are_refused),
        SESSION_TEST(a_contest_gives_variants),
        SESSION_TEST(the_least_of_the_rounds_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
