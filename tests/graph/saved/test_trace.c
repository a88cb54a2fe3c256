/* The course of a run, of models in this process and of libraries: every kernel is there, what happens on a thread follows one
 * another or lies within it, parts of a loop are all of it, and what was traced computed what an untraced run does. */
#include "graph/saved/built_models.h"
#include "graph/trials/bench.h"
#include "graph/trials/trace.h"

enum { SEED = 5 };

typedef struct fixture {
    built b;
    tc_graph_model *library;
    tc_graph_tensor in[BUILT_PORTS];
} fixture;

static fixture open_fixture(int which) {
    fixture f = {.b = built_open(which)};
    char path[64];
    snprintf(path, sizeof path, "./trace_%s.so", f.b.name);
    assert_ok(tc_graph_model_random_inputs(f.b.model, NULL, SEED, f.in, err));
    assert_ok(tc_graph_model_save(f.b.model, path, f.b.name, err));
    assert_ok(tc_graph_model_load(path, 0, &f.library, err));
    remove(path);
    path[strlen(path) - 2] = 'h';
    path[strlen(path) - 1] = 0;
    remove(path);
    return f;
}

static void close_fixture(fixture *f) {
    for (int i = 0; i < f->b.nin; i++)
        tc_graph_tensor_free(&f->in[i]);
    tc_graph_model_free(f->library);
    built_close(&f->b);
}

/* ---- what holds of every trace ---- */

/* of: the model that was built, which knows what decides. */
static void check_steps(const tc_graph_model *of, const tc_graph_model *m, const tc_graph_trace *t) {
    double last = 0;
    bool decides = false; /* then some kernels may not run, and others more than once */
    int *seen = tc_xcalloc((size_t)m->nkernel + 1, sizeof *seen);
    for (int i = 0; i < t->nstep; i++) {
        const tc_graph_traced_step *s = &t->steps[i];
        assert_true(last <= s->begin && s->begin <= s->end && s->end <= t->seconds);
        assert_true(s->task < m->nkernel && (s->task >= 0 || s->other < m->nother));
        last = s->end;
        if (s->task >= 0)
            seen[s->task]++;
    }
    for (int i = 0; i < of->nstep; i++)
        decides |= of->steps[i].kind != TC_CG_DO;
    for (int k = 0; k < m->nkernel && !decides; k++)
        assert_int_equal(seen[k], m->kernels[k].count);
    free(seen);
}

static void check_loops(const tc_graph_trace *t) {
    for (int i = 0; i < t->nloop; i++) {
        const tc_graph_traced_loop *l = &t->loops[i];
        assert_in_range(l->step, 0, t->nstep - 1);
        assert_true(t->steps[l->step].begin <= l->begin && l->begin <= l->end && l->end <= t->steps[l->step].end);
        assert_true(i == 0 || t->loops[i - 1].end <= l->begin);
    }
}

/* Each loop's items were done once; a thread's parts lie in their loops, one after the other. */
static void check_parts(const tc_graph_trace *t) {
    int64_t *items = tc_xcalloc((size_t)t->nloop + 1, sizeof *items);
    for (int k = 0; k < t->threads; k++) {
        double last = 0;
        for (int i = 0; i < t->npart[k]; i++) {
            const tc_graph_traced_part *p = &t->parts[k][i];
            assert_in_range(p->loop, 0, t->nloop - 1);
            assert_true(last <= p->begin && p->begin <= p->end);
            assert_true(t->loops[p->loop].begin <= p->begin && p->end <= t->loops[p->loop].end);
            items[p->loop] += p->to - p->from;
            last = p->end;
        }
    }
    for (int i = 0; i < t->nloop; i++)
        assert_int_equal(items[i], t->loops[i].items);
    free(items);
}

static void check_trace(const tc_graph_model *of, const tc_graph_model *m, const tc_graph_trace *t) {
    assert_int_equal(t->threads, BUILT_THREADS);
    assert_true(t->nstep > 0 && t->seconds > 0);
    check_steps(of, m, t);
    check_loops(t);
    check_parts(t);
}

static void run_to(tc_graph_model *m, const tc_graph_tensor *in, tc_graph_tensor *out) {
    assert_ok(tc_graph_model_run(m, in, out, err));
}

static void check_model(const fixture *f, tc_graph_model *m) {
    tc_graph_tensor before[BUILT_PORTS], after[BUILT_PORTS];
    tc_graph_trace t;
    run_to(m, f->in, before);
    assert_ok(tc_graph_model_trace(m, f->in, &t, err));
    check_trace(f->b.model, m, &t);
    run_to(m, f->in, after);
    for (int i = 0; i < m->nshown; i++) {
        assert_true(tc_graph_shape_equal(&before[i].shape, &after[i].shape));
        assert_memory_equal(before[i].data, after[i].data, tc_graph_tensor_bytes(&after[i]));
        tc_graph_tensor_free(&before[i]);
        tc_graph_tensor_free(&after[i]);
    }
    tc_graph_trace_free(&t);
}

/* ---- tests ---- */

static void test_every_kind(void **state) {
    (void)state;
    for (int i = 0; i < (int)TC_LEN(built_sources); i++) {
        fixture f = open_fixture(i);
        check_model(&f, f.b.model);
        check_model(&f, f.library);
        close_fixture(&f);
    }
}

/* A library's steps and loops are those of the model that it was saved from. */
static void test_same_course(void **state) {
    (void)state;
    fixture f = open_fixture(0);
    tc_graph_trace here, there;
    assert_ok(tc_graph_model_trace(f.b.model, f.in, &here, err));
    assert_ok(tc_graph_model_trace(f.library, f.in, &there, err));
    assert_int_equal(here.nstep, there.nstep);
    assert_int_equal(here.nloop, there.nloop);
    assert_true(here.nloop > 0);
    for (int i = 0; i < here.nstep; i++)
        assert_int_equal(here.steps[i].task, there.steps[i].task);
    for (int i = 0; i < here.nloop; i++)
        assert_int_equal(here.loops[i].items, there.loops[i].items);
    tc_graph_trace_free(&here);
    tc_graph_trace_free(&there);
    close_fixture(&f);
}

static void test_wrong_inputs(void **state) {
    (void)state;
    fixture f = open_fixture(0);
    tc_graph_trace t;
    tc_error err = {0};
    f.in[0].shape.d[0]++;
    assert_int_equal(tc_graph_model_trace(f.b.model, f.in, &t, &err), TC_BAD_INPUT);
    tc_graph_trace_free(&t);
    f.in[0].shape.d[0]--;
    f.library->library.watched = false; /* as one of an earlier version */
    assert_int_equal(tc_graph_model_trace(f.library, f.in, &t, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "build it again"));
    tc_graph_trace_free(&t);
    close_fixture(&f);
}

/* What a library says of its kernels is what the model says. */
static void test_facts(void **state) {
    (void)state;
    fixture f = open_fixture(0);
    for (int i = 0; i < f.b.model->nkernel; i++) {
        assert_true(f.b.model->kernels[i].bytes > 0);
        assert_true(f.b.model->kernels[i].bytes == f.library->kernels[i].bytes);
        assert_string_equal(f.b.model->kernels[i].hash.hex, f.library->kernels[i].hash.hex);
    }
    tc_graph_roofs r;
    setenv("TCTUNE_PEAK_SECONDS", "0.01", 1);
    tc_graph_measure_roofs(f.library, &r);
    for (int i = 0; i < f.library->nkernel; i++)
        assert_true(r.gbs[i] > 0 && r.seconds[i] > 0);
    tc_graph_roofs_free(&r);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind),
        cmocka_unit_test(test_same_course),
        cmocka_unit_test(test_wrong_inputs),
        cmocka_unit_test(test_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
