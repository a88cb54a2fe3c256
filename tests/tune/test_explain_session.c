/* An explanation from end to end, with workers whose times and whose machine are made up: whether it is quiet goes by what they
 * say of it, whatever else runs here. The executable is its own worker. */
#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "measure/fake_worker.h"
#include "te/text.h"
#include "tune/explain/explain.h"

static const char kernel[] = "tensor p0[24, 32] f32\ntensor p1[32, 48] f32 const\n"
                             "compute t0[i0:24, i1:48] = sum(k0:32) p0[i0, k0] * p1[k0, i1]\noutput t0\n";

static const char fast[] = "jo, jv = split t0.i1 [_, 16]\nreorder t0.jo t0.i0 t0.k0 t0.jv\nvectorize t0.jv\n";

typedef struct told {
    tc_ctx *ctx;
    tc_arena *arena;
    tc_target *target;
    tc_tune_explanation x;
} told;

/* Of a schedule whose times are those of all that is tried: on one core, in as many seconds as do on a busy machine. */
static told explain(const char *load) {
    told t = {.ctx = tc_ctx_new(), .arena = tc_arena_new()};
    tc_error err = {0};
    const tc_workload *w;
    assert_int_equal(tc_te_parse(t.ctx, "kernel", kernel, &w, &err), TC_OK);
    assert_int_equal(tc_target_parse("native", &t.target, &err), TC_OK);
    t.target->machine.cores = 1;
    tc_tune_schedule s = {.workload = kernel, .trace = fast, .form = "direct", .hash = tc_te_hash(w), .file = "hand.sched"};
    tc_tune_explain_options o = {.workload = w, .timed = w, .target = t.target, .seconds = 300};
    setenv(FAKE_LOAD, load, 1);
    if (tc_tune_explain(&s, &o, t.arena, &t.x, &err) != TC_OK)
        fail_msg("%s", err.msg);
    unsetenv(FAKE_LOAD);
    assert_null(t.x.unmeasured);
    return t;
}

static void forget(told *t) {
    tc_tune_side_free(&t->x.side);
    tc_target_free(t->target);
    tc_arena_free(t->arena);
    tc_ctx_free(t->ctx);
}

/* Others at work here are nobody's business: these workers see none. */
static void a_quiet_machine(void **state) {
    (void)state;
    told t = explain("0");
    assert_false(t.x.disturbed);
    assert_true(t.x.unrest.slowdown == 1 && t.x.unrest.spread == 0);
    assert_int_equal(strncmp(t.x.answer, "Nothing within the space helps", 30), 0);
    assert_true(t.x.ntrial > 4);
    for (int i = 0; i < t.x.ntrial; i++)
        if (t.x.trial[i].rounds)
            assert_true(t.x.trial[i].ratio == 1 && t.x.trial[i].low == 1 && t.x.trial[i].high == 1);
    forget(&t);
}

/* From some candidate on a fixed loop takes twice its time. */
static void a_disturbed_machine(void **state) {
    (void)state;
    told t = explain("1");
    int wider = 0;
    assert_true(t.x.disturbed && !t.x.helps);
    assert_true(t.x.unrest.slowdown > 1.5 && t.x.unrest.slowdown <= 2);
    assert_int_equal(strncmp(t.x.answer, "No cause is certain, because the machine was busy in", 52), 0);
    for (int i = 0; i < t.x.ntrial; i++)
        if (t.x.trial[i].rounds) {
            assert_true(t.x.trial[i].ratio == 1 && t.x.trial[i].low < 0.9 && t.x.trial[i].high > 1.1);
            wider++;
        }
    assert_true(wider > 0);
    forget(&t);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return fake_worker_main();
    setenv("TCTUNE_CACHE", "off", 1); /* what other tests saw of this machine is not what these workers say */
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_quiet_machine), cmocka_unit_test(a_disturbed_machine)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
