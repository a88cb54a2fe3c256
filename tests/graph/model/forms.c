/* The forms of a kernel in a build: the best record of any form that the accuracy admits is used, prologues make its constants,
 * and what is run, in this process or from a saved library, is what the kernel's own workload says. */
#include <math.h>
#include <unistd.h>

#include "graph/graph_text.h"
#include "graph/lower_common.h"
#include "graph/saved/saved.h"
#include "graph/trials/precision.h"
#include "measure/records/admission.h"
#include "measure/worker/worker.h"
#include "search_space/space.h"
#include "te/text.h"

/* A residual block between two layers that share their weights; 14 and 7 are ragged for tiles of 4. */
static const char network[] = "input %x : f32[1,16,14,14]\n"
                              "const %w : f32[16,16,3,3]\n"
                              "const %b : f32[16]\n"
                              "const %v : f32[24,16,3,3]\n"
                              "%c = Conv(%x, %w, %b) {pads=[1,1,1,1]}\n"
                              "%r = Relu(%c)\n"
                              "%d = Conv(%r, %w, %b) {pads=[1,1,1,1]}\n"
                              "%s = Add(%d, %r)\n"
                              "%t = Relu(%s)\n"
                              "%p = MaxPool(%t) {kernel_shape=[2,2], strides=[2,2]}\n"
                              "%e = Conv(%p, %v) {pads=[1,1,1,1]}\n"
                              "output y = %e\n";

typedef struct bench {
    tc_graph *g;
    tc_graph_program *p;
    tc_target *target;
    tc_meas_db *db;
    tc_graph_tensor x, want;
} bench;

static bench open_network(const char *text, tc_graph_shape shape) {
    bench b = {0};
    assert_ok(graph_of_text("network", text, &b.g, err));
    assert_ok(tc_graph_passes(b.g, NULL, err));
    assert_ok(tc_graph_program_new(b.g, &b.p, err));
    assert_ok(tc_target_parse("native", &b.target, err));
    assert_ok(tc_meas_db_open_memory(&b.db, err));
    assert_ok(tc_graph_tensor_alloc(&b.x, TC_F32, &shape, err));
    tc_rng rng = tc_rng_seed(3);
    tc_te_random_fill(TC_F32, b.x.data, tc_graph_tensor_count(&b.x), &rng, 0);
    assert_ok(interpret_program(b.p, &b.x, &b.want, err));
    return b;
}

static bench open_bench(void) {
    return open_network(network, (tc_graph_shape)DIMS(1, 16, 14, 14));
}

static void close_bench(bench *b) {
    tc_graph_tensor_free(&b->want);
    tc_graph_tensor_free(&b->x);
    tc_meas_db_close(b->db);
    tc_target_free(b->target);
    tc_graph_program_free(b->p);
    tc_graph_free(b->g);
}

/* A verified record of w; trace NULL: of its default schedule. */
static void put_record(const bench *b, const tc_workload *w, const char *trace, double seconds) {
    tc_arena *a = tc_arena_new();
    tc_record r = tc_meas_record_empty();
    tc_strbuf text = {0}, schedule = {0};
    tc_te_print(&text, w);
    if (trace) {
        tc_sb_add(&schedule, trace);
    } else {
        tc_machine m = b->target->machine;
        tc_space *space;
        tc_trace *t;
        m.cores = 1;
        assert_ok(tc_space_new(w, &m, &space, err));
        assert_ok(tc_space_default(space, a, &t, err));
        tc_trace_print(&schedule, t);
        tc_space_free(space);
    }
    tc_meas_record_identify(a, &r, tc_sb_str(&text), tc_te_hash(w), b->target->text, tc_sb_str(&schedule));
    r.times = &seconds;
    r.ntimes = 1;
    r.median = seconds;
    r.verified = true;
    r.threads = 1;
    if (trace)
        assert_ok(tc_meas_db_insert(b->db, &r, 1, err)); /* of somebody else */
    else
        assert_ok(tc_meas_db_insert_measured(b->db, &r, 1, err));
    tc_strbuf_free(&text);
    tc_strbuf_free(&schedule);
    tc_arena_free(a);
}

/* Records of every form of every kernel, with that time for the form of that name and a longer one for the others. */
static int put_records(const bench *b, const char *name, const char *trace) {
    const tc_tune_task *task;
    int n = tc_graph_program_tasks(b->p, &task), found = 0;
    for (int i = 0; i < n; i++) {
        tc_ctx *ctx = tc_ctx_child(task[i].workload->ctx);
        tc_space_alternative_list l = tc_space_alternatives(ctx, task[i].workload, TC_ACCURACY_ALL);
        put_record(b, task[i].workload, NULL, strcmp(name, "direct") == 0 ? 1e-5 : 2e-5);
        for (int k = 0; k < l.n; k++) {
            bool chosen = strcmp(l.data[k].name, name) == 0;
            found += chosen;
            tc_ctx *own = tc_ctx_new();
            put_record(b, tc_te_canonical(own, l.data[k].workload), chosen ? trace : NULL, chosen ? 1e-5 : 3e-5);
            tc_ctx_free(own);
        }
        tc_ctx_free(ctx);
    }
    return found;
}

static tc_graph_model *build(const bench *b, tc_accuracy accuracy) {
    tc_graph_model *m;
    tc_graph_build_options o = {.target = b->target, .threads = 1, .db = b->db, .accuracy = accuracy};
    assert_ok(tc_graph_model_build(b->p, &o, &m, err));
    return m;
}

static int count_form(const tc_graph_model *m, const char *name) {
    const tc_graph_kernel *k;
    int n = tc_graph_model_kernels(m, &k), found = 0;
    for (int i = 0; i < n; i++)
        found += strcmp(k[i].form, name) == 0;
    return found;
}

static void expect_right(const bench *b, tc_graph_model *m, double bound) {
    tc_graph_tensor y;
    tc_graph_diff d;
    assert_ok(tc_graph_model_run(m, &b->x, &y, err));
    assert_ok(tc_graph_tensor_compare(&y, &b->want, 0, 0, &d, err));
    if (!(d.rel <= bound))
        fail_msg("error %g", d.rel);
    tc_graph_tensor_free(&y);
}

/* ---- within an error budget ---- */

static tc_graph_precision choose(const bench *b, double budget, tc_arena *a) {
    tc_graph_precision x;
    tc_graph_build_options o = {.target = b->target, .threads = 1, .db = b->db, .accuracy = TC_ACCURACY_ALL};
    tc_graph_bundle in = {&(tc_graph_named){(char *)"x", b->x}, 1};
    assert_ok(tc_graph_precision_choose(b->p, &o, NULL, &in, 1, budget, a, &x, err));
    return x;
}

/* The error of the network as chosen, by building and running it. */
static double error_of(const bench *b, const tc_graph_precision *x) {
    tc_graph_model *m;
    tc_graph_tensor y;
    tc_graph_diff d;
    tc_graph_build_options o = {.target = b->target, .threads = 1, .db = b->db, .accuracies = x->accuracy};
    assert_ok(tc_graph_model_build(b->p, &o, &m, err));
    assert_int_equal(count_form(m, "bf16"), x->nused);
    assert_ok(tc_graph_model_run(m, &b->x, &y, err));
    assert_ok(tc_graph_tensor_compare(&y, &b->want, 0, 0, &d, err));
    tc_graph_tensor_free(&y);
    tc_graph_model_free(m);
    return d.rel;
}

/* Where bf16 is recorded as faster: nothing without a budget, all with a large one, and in between what is worth most. */
static void test_error_budget(void **state) {
    (void)state;
    bench b = open_bench();
    tc_arena *a = tc_arena_new();
    int forms = put_records(&b, "bf16", NULL);
    tc_graph_precision all = choose(&b, 1, a), none = choose(&b, 0, a);
    assert_true(forms >= 2 && all.n == forms && all.nused == forms);
    assert_int_equal(none.nused, 0);
    assert_true(none.error == 0);
    assert_true(all.error > 1e-5 && all.error < 2e-2); /* bf16's rounding, not f32's */
    assert_true(fabs(error_of(&b, &all) - all.error) <= 1e-4 * all.error + 1e-5);
    for (int i = 0; i < all.n; i++) {
        const tc_graph_rounding *k = &all.kernels[i];
        assert_true(k->error > 1e-5 && k->bf16 == 1e-5 && k->f32 == 2e-5 && k->used);
        assert_true(i == 0 || k->count / k->error <= k[-1].count / k[-1].error);
    }
    tc_graph_precision some = choose(&b, all.error * 0.99, a);
    assert_true(some.nused < all.nused && some.error <= all.error * 0.99);
    for (int i = 0; i < some.n; i++)
        assert_true(some.kernels[i].used == (i < some.nused));
    assert_true(fabs(error_of(&b, &some) - some.error) <= 1e-4 * some.error + 1e-5);
    tc_arena_free(a);
    close_bench(&b);
}

/* ---- values in bf16 between kernels ---- */

/* %h has only readers that round it, %s and %u also others; %h is read by two launches of one kernel. */
static const char chain[] = "input %x : f32[24,40]\n"
                            "const %w : f32[40,56]\n"
                            "const %v : f32[56,40]\n"
                            "const %z : f32[56,40]\n"
                            "const %g : f32[40]\n"
                            "const %c : f32[40]\n"
                            "%a = MatMul(%x, %w)\n"
                            "%h = Relu(%a)\n"
                            "%b = MatMul(%h, %v)\n"
                            "%d = MatMul(%h, %z)\n"
                            "%s = Add(%b, %d)\n"
                            "%t = LayerNormalization(%s, %g, %c)\n"
                            "%e = MatMul(%t, %w)\n"
                            "%u = Tanh(%e)\n"
                            "%f = MatMul(%u, %v)\n"
                            "%k = LayerNormalization(%f, %g, %c)\n"
                            "%q = ReduceSum(%u)\n"
                            "%o = Add(%k, %q)\n"
                            "output y = %o\n";

/* It is the same to the last bit, in this process and from libraries. */
static void test_values_in_bf16(void **state) {
    (void)state;
    bench b = open_network(chain, (tc_graph_shape)DIMS(24, 40));
    assert_true(put_records(&b, "bf16", NULL) >= 2);
    tc_accuracy each[16];
    tc_graph_tensor y[3];
    tc_graph_model *m[3];
    const char *so = SCRATCH("narrow.so");
    tc_graph_build_options plain = {.target = b.target, .threads = 1, .db = b.db, .accuracies = each};
    for (size_t i = 0; i < TC_LEN(each); i++)
        each[i] = TC_ACCURACY_BF16;
    m[0] = build(&b, TC_ACCURACY_BF16);
    assert_ok(tc_graph_model_build(b.p, &plain, &m[1], err));
    assert_ok(tc_graph_model_save(m[0], so, NULL, err));
    assert_ok(tc_graph_model_load(so, 1, &m[2], err));
    assert_true(count_form(m[0], "bf16") >= 2 && count_form(m[0], "bf16") == count_form(m[1], "bf16"));
    tc_graph_memory memory = tc_graph_model_memory(m[0]), without = tc_graph_model_memory(m[1]);
    assert_true(memory.nbf16 >= 1 && memory.nbf16 < m[0]->program->nlaunch - 1);
    assert_true(memory.saved_by_bf16 >= 24 * 56 * 2 && memory.arena_without_reuse < without.arena_without_reuse);
    assert_int_equal(without.nbf16, 0);
    for (int i = 0; i < 3; i++)
        assert_ok(tc_graph_model_run(m[i], &b.x, &y[i], err));
    for (int i = 1; i < 3; i++)
        assert_memory_equal(y[0].data, y[i].data, (size_t)tc_graph_tensor_count(&y[0]) * sizeof(float));
    expect_right(&b, m[0], 3e-2);
    for (int i = 0; i < 3; i++) {
        tc_graph_tensor_free(&y[i]);
        tc_graph_model_free(m[i]);
    }
    unlink(so);
    close_bench(&b);
}

/* Matmuls and what stands between them, each of the last values or of the ones before. */
static void random_chain(tc_rng *rng, tc_strbuf *text) {
    static const char *const ops[] = {"MatMul(%%v%d, %%w%d)", "MatMul(%%v%d, %%w%d)", "Relu(%%v%d)", "Add(%%v%d, %%v%d)",
                                      "LayerNormalization(%%v%d, %%g, %%c)"};
    enum { VALUES = 10, WEIGHTS = 3, ADD = 3 };
    tc_sb_add(text, "input %v0 : f32[24,40]\nconst %g : f32[40]\nconst %c : f32[40]\n");
    for (int i = 0; i < WEIGHTS; i++)
        tc_sb_printf(text, "const %%w%d : f32[40,40]\n", i);
    for (int i = 1; i <= VALUES; i++) {
        int op = (int)tc_rng_below(rng, TC_LEN(ops)), a = i - 1 - (int)tc_rng_below(rng, TC_MIN(i, 3));
        tc_sb_printf(text, "%%v%d = ", i);
        if (op == ADD || op < 2) {
            tc_sb_printf(text, ops[op], a, op == ADD ? (int)tc_rng_below(rng, i) : (int)tc_rng_below(rng, WEIGHTS));
        } else {
            tc_sb_printf(text, ops[op], a);
        }
        tc_sb_addc(text, '\n');
    }
    tc_sb_printf(text, "%%y = MatMul(%%v%d, %%w0)\n%%z = Add(%%y, %%v%d)\noutput z = %%z\n", VALUES, VALUES - 1);
}

/* Whether any value was kept so. */
static bool check_chain(uint64_t seed) {
    tc_strbuf text = {0};
    tc_rng rng = tc_rng_seed(seed);
    random_chain(&rng, &text);
    bench b = open_network(tc_sb_str(&text), (tc_graph_shape)DIMS(24, 40));
    tc_accuracy each[16];
    tc_graph_model *m[2];
    tc_graph_tensor y[2];
    tc_graph_build_options plain = {.target = b.target, .threads = 1, .db = b.db, .accuracies = each};
    put_records(&b, "bf16", NULL);
    assert_true(b.p->ntask <= (int)TC_LEN(each));
    for (size_t i = 0; i < TC_LEN(each); i++)
        each[i] = TC_ACCURACY_BF16;
    m[0] = build(&b, TC_ACCURACY_BF16);
    assert_ok(tc_graph_model_build(b.p, &plain, &m[1], err));
    for (int i = 0; i < 2; i++)
        assert_ok(tc_graph_model_run(m[i], &b.x, &y[i], err));
    if (memcmp(y[0].data, y[1].data, (size_t)tc_graph_tensor_count(&y[0]) * sizeof(float)) != 0)
        fail_msg("seed %d: a value in bf16 that somebody needs in f32\n%s", (int)seed, tc_sb_str(&text));
    bool any = tc_graph_model_memory(m[0]).nbf16 > 0;
    for (int i = 0; i < 2; i++) {
        tc_graph_tensor_free(&y[i]);
        tc_graph_model_free(m[i]);
    }
    tc_strbuf_free(&text);
    close_bench(&b);
    return any;
}

/* Values with readers of every kind: the result is the same to the last bit. */
static void test_random_values_in_bf16(void **state) {
    (void)state;
    enum { FIRST = 2 }; /* which keeps a value so, also where one chain is all that is tried */
    int any = 0;
    for (uint64_t seed = FIRST; seed < FIRST + test_some_graphs(8); seed++)
        any += check_chain(seed);
    assert_true(any > 0);
}

/* Each of Winograd's forms, in this process and from a library; strict keeps them out whatever their records say. */
static void check_form(const char *name) {
    bench b = open_bench();
    tc_graph_model *m, *loaded;
    assert_true(put_records(&b, name, NULL) >= 2);
    m = build(&b, TC_ACCURACY_DEFAULT);
    assert_true(count_form(m, name) >= 2);
    expect_right(&b, m, 5e-4);
    const char *so = SCRATCH("forms.so");
    assert_ok(tc_graph_model_save(m, so, NULL, err));
    assert_ok(tc_graph_model_load(so, 1, &loaded, err));
    expect_right(&b, loaded, 5e-4);
    tc_graph_model_free(loaded);
    unlink(so);
    tc_graph_model_free(m);
    m = build(&b, TC_ACCURACY_STRICT);
    assert_int_equal(count_form(m, name), 0);
    expect_right(&b, m, 1e-4);
    tc_graph_model_free(m);
    close_bench(&b);
}

static void test_winograd_f2(void **state) {
    (void)state;
    check_form("winograd-f2");
}

static void test_winograd_f4(void **state) {
    (void)state;
    check_form("winograd-f4");
}

/* ---- rows that are apart ---- */

enum { ROWS = 64, WIDTH = 256, LARGE_ROW = 3, SMALL_ROW = 35, INFINITE_ROW = 10, NAN_ROW = 20 };

/* Strassen's form computes row r and row r + 32 together. */
static void spoil_rows(float *x) {
    for (int k = 0; k < WIDTH; k++) {
        x[LARGE_ROW * WIDTH + k] *= 3e4F;
        x[SMALL_ROW * WIDTH + k] *= 1e-2F;
    }
    x[INFINITE_ROW * WIDTH + 7] = INFINITY;
    x[NAN_ROW * WIDTH + 9] = NAN;
}

/* Whether each finite row is within 1e-4 of its own largest element, and the others are what the interpreter says. */
static bool rows_are_right(const float *y, const float *want) {
    bool right = true;
    for (int row = 0; row < ROWS; row++, y += WIDTH, want += WIDTH) {
        double largest = 0;
        for (int i = 0; i < WIDTH; i++)
            largest = fmax(largest, fabs((double)want[i]));
        for (int i = 0; i < WIDTH; i++) {
            if (isfinite(want[i]))
                right &= fabs((double)y[i] - (double)want[i]) <= 1e-4 * largest;
            else
                right &= isnan(want[i]) ? isnan(y[i]) : y[i] == want[i];
        }
    }
    return right;
}

/* At the default level a record of Strassen's form is left out, though it is the fastest, and the build says so. At `fast` it is
 * used, and then rows mix: so the test can tell. */
static void test_default_keeps_rows_apart(void **state) {
    (void)state;
    static const struct {
        tc_accuracy accuracy;
        bool mixes, told;
    } levels[] = {{TC_ACCURACY_STRICT, false, false}, {TC_ACCURACY_DEFAULT, false, true}, {TC_ACCURACY_FAST, true, false}};
    bench b = open_network("input %x : f32[64,256]\nconst %w : f32[256,256]\n%y = MatMul(%x, %w)\noutput y = %y\n",
                           (tc_graph_shape)DIMS(ROWS, WIDTH));
    assert_int_equal(put_records(&b, "strassen", NULL), 1);
    spoil_rows(b.x.data);
    tc_graph_tensor_free(&b.want);
    assert_ok(interpret_program(b.p, &b.x, &b.want, err));
    for (size_t i = 0; i < TC_LEN(levels); i++) {
        tc_graph_tensor y;
        tc_graph_unused unused;
        tc_graph_model *m = build(&b, levels[i].accuracy);
        assert_int_equal(count_form(m, "strassen"), levels[i].mixes);
        assert_int_equal(count_form(m, "direct"), !levels[i].mixes);
        assert_int_equal(m->kernels[0].source, TC_GRAPH_FROM_RECORD);
        assert_int_equal(tc_graph_model_unused(m, &unused), levels[i].told);
        if (levels[i].told) {
            assert_int_equal(unused.obstacle, TC_GRAPH_FASTER_FORM);
            assert_string_equal(unused.recorded, "fast");
        }
        assert_ok(tc_graph_model_run(m, &b.x, &y, err));
        assert_true(rows_are_right(y.data, b.want.data) == !levels[i].mixes);
        tc_graph_tensor_free(&y);
        tc_graph_model_free(m);
    }
    close_bench(&b);
}

static void test_the_faster_record_wins(void **state) {
    (void)state;
    bench b = open_bench();
    put_records(&b, "direct", NULL);
    tc_graph_model *m = build(&b, TC_ACCURACY_FAST);
    const tc_graph_kernel *k;
    assert_int_equal(count_form(m, "direct"), tc_graph_model_kernels(m, &k));
    tc_graph_model_free(m);
    close_bench(&b);
}

/* The record that does not replay is named, and the next form's is used. */
static void test_stale_record(void **state) {
    (void)state;
    bench b = open_bench();
    const tc_graph_kernel *k;
    int named = 0;
    assert_true(put_records(&b, "winograd-f4", "vectorize nothing.here\n") > 0);
    tc_graph_model *m = build(&b, TC_ACCURACY_FAST);
    int n = tc_graph_model_kernels(m, &k);
    assert_int_equal(count_form(m, "direct"), n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(k[i].source, TC_GRAPH_FROM_RECORD);
        named += strstr(k[i].why, "failed when it was checked: the trace does not apply") != NULL;
    }
    assert_true(named > 0);
    expect_right(&b, m, 1e-4);
    tc_graph_model_free(m);
    close_bench(&b);
}

/* Without a record the kernel is computed as it is written. */
static void test_default_is_direct(void **state) {
    (void)state;
    bench b = open_bench();
    const tc_graph_kernel *k;
    tc_graph_model *m = build(&b, TC_ACCURACY_FAST);
    assert_int_equal(count_form(m, "direct"), tc_graph_model_kernels(m, &k));
    tc_graph_model_free(m);
    close_bench(&b);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return tc_meas_worker_main(TC_MEAS_WORKER_FD, TC_MEAS_WORKER_FD);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_winograd_f2),
        cmocka_unit_test(test_winograd_f4),
        cmocka_unit_test(test_default_keeps_rows_apart),
        cmocka_unit_test(test_the_faster_record_wins),
        cmocka_unit_test(test_stale_record),
        cmocka_unit_test(test_default_is_direct),
        cmocka_unit_test(test_error_budget),
        cmocka_unit_test(test_values_in_bf16),
        cmocka_unit_test(test_random_values_in_bf16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
