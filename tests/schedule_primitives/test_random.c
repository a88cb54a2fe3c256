/* Random workloads and random traces: whatever is applied replays to the same schedule, prints and parses to the same trace,
 * keeps the attach invariant's consequences, and a refused step changes nothing.
 *
 *     test_schedule_random [CASES [SEED]] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/cases.h"
#include "common/random_trace.h"
#include "common/random_workload.h"

enum { DEFAULT_CASES = 1500, STEPS = 24 };

typedef struct run {
    uint64_t cases, first, seed; /* seed: of the case at hand */
    bool done;
} run;

static char *text_of(const tc_sched *s) {
    tc_strbuf b = {0};
    tc_sch_print(&b, s);
    return b.data;
}

/* Structure that every consumer of a schedule relies on. */
static void check_structure(const tc_sched *s) {
    for (int i = 0; i < s->nstage; i++) {
        const tc_stage *st = &s->stages[i];
        assert_int_equal(tc_sch_find_stage(s, st->name), i);
        assert_int_equal(tc_sch_stage_of(s, st->op->out[0]), i);
        assert_int_equal(st->nroot, st->op->naxis + st->op->nraxis);
        for (int k = 0; k < st->nroot; k++)
            assert_int_equal(s->loops[st->root[k]].reduce, k >= st->op->naxis);
        for (int k = 0; k < st->nleaf; k++)
            assert_int_equal(s->loops[st->leaf[k]].stage, i);
        if (st->attach == TC_ATTACH_AT)
            assert_true(st->at_stage > i && s->loops[st->at_loop].stage == st->at_stage);
        int reader[64], n = tc_sch_consumers(s, i, reader, 64);
        assert_true(st->is_output || st->attach == TC_ATTACH_INLINE || n > 0);
        for (int k = 0; k < n; k++)
            assert_true(reader[k] > i);
    }
}

/* Every leaf descends from the roots: undoing the relations, last first, must give the roots back. */
static void check_relations(const tc_sched *s, const tc_stage *st) {
    bool *have = calloc((size_t)s->nloop, sizeof *have);
    for (int i = 0; i < st->nleaf; i++)
        have[st->leaf[i]] = true;
    for (int i = st->nrel - 1; i >= 0; i--) {
        const tc_rel *r = &st->rel[i];
        for (int p = 0; p < r->n; p++) {
            assert_int_equal(have[r->parts[p]], r->kind == TC_REL_SPLIT);
            have[r->parts[p]] = r->kind == TC_REL_FUSE;
        }
        assert_int_equal(have[r->whole], r->kind == TC_REL_FUSE);
        have[r->whole] = r->kind == TC_REL_SPLIT;
    }
    for (int i = 0; i < s->nloop; i++) {
        bool root = false;
        for (int k = 0; k < st->nroot; k++)
            root |= st->root[k] == i;
        assert_int_equal(have[i], root);
    }
    free(have);
}

static void check_round_trip(tc_ctx *c, const tc_sched *s) {
    tc_strbuf b = {0}, again = {0};
    tc_error err = {0};
    tc_trace *t = NULL;
    tc_trace_print(&b, s->trace);
    if (tc_trace_parse(tc_ctx_arena(c), "random.sched", tc_sb_str(&b), &t, &err) != TC_OK)
        fail_msg("%s\n%s", err.msg, tc_sb_str(&b));
    assert_true(tc_trace_equal(s->trace, t));
    tc_trace_print(&again, t);
    assert_string_equal(tc_sb_str(&b), tc_sb_str(&again));
    tc_arena *other = tc_arena_new();
    tc_trace *copy = tc_trace_copy(other, t);
    assert_true(tc_trace_equal(copy, t));
    tc_arena_free(other);
    tc_sched *replayed = NULL;
    if (tc_sch_replay(c, s->workload, t, NULL, &replayed, &err) != TC_OK)
        fail_msg("%s\n%s", err.msg, tc_sb_str(&b));
    char *x = text_of(s), *y = text_of(replayed);
    assert_string_equal(x, y);
    free(x);
    free(y);
    tc_strbuf_free(&b);
    tc_strbuf_free(&again);
}

static void one_case(tc_ctx *c, const tc_workload *w, tc_rng *r, int *refused) {
    tc_sched *s = tc_sch_new(c, w);
    for (int i = 0; i < STEPS; i++) {
        char *before = text_of(s);
        int n = s->trace->n;
        if (!tc_test_random_step(s, r) && s->trace->n == n) {
            char *after = text_of(s);
            assert_string_equal(before, after);
            free(after);
            ++*refused;
        }
        free(before);
        check_structure(s);
    }
    for (int i = 0; i < s->nstage; i++)
        check_relations(s, &s->stages[i]);
    check_round_trip(c, s);
}

static void test_random_traces(void **state) {
    run *x = *state;
    int refused = 0;
    for (x->seed = x->first; x->seed < x->first + x->cases; x->seed++) {
        tc_rng r = tc_rng_seed(x->seed);
        tc_ctx *parent = tc_ctx_new();
        const tc_workload *w = tc_test_random_workload(parent, &r);
        tc_ctx *c = tc_ctx_child(parent);
        one_case(c, w, &r, &refused);
        tc_ctx_free(c);
        tc_ctx_free(parent);
    }
    x->done = true;
    print_message("%llu cases from seed %llu, %d steps refused\n", (unsigned long long)x->cases, (unsigned long long)x->first,
                  refused);
}

static int tell_seed(void **state) {
    const run *x = *state;
    if (!x->done)
        print_error("seed %llu; again: test_schedule_random 1 %llu\n", (unsigned long long)x->seed, (unsigned long long)x->seed);
    return 0;
}

static void test_same_seed_same_trace(void **state) {
    (void)state;
    char *text[2];
    for (int i = 0; i < 2; i++) {
        tc_ctx *c = tc_ctx_new();
        tc_rng r = tc_rng_seed(77);
        const tc_workload *w = tc_test_random_workload(c, &r);
        tc_strbuf b = {0};
        tc_trace_print(&b, tc_test_random_trace(c, w, &r, 20));
        text[i] = b.data;
        tc_ctx_free(c);
    }
    assert_string_equal(text[0] ? text[0] : "", text[1] ? text[1] : "");
    free(text[0]);
    free(text[1]);
}

int main(int argc, char **argv) {
    const test_cases asked = test_cases_of(argc, argv, DEFAULT_CASES);
    run x = {.cases = asked.n, .first = asked.seed};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(test_random_traces, NULL, tell_seed, &x),
        cmocka_unit_test(test_same_seed_same_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
