/* Finds which of a kernel's best records is fastest in the network. In the tuner a kernel runs alone and finds the caches as its
 * last run left them. In the network it finds the caches as the kernels before it left them. With k records, model r uses the r-th
 * best admitted record of every kernel (admit.c). The models run in turns. Each kernel is compared only with itself, by the sum of
 * its own launches in the runs of one round. */
#include "graph/trials/contest.h"
#include "graph/model/parts.h"
#include "graph/trials/turns.h"
#include "support/clock/clock.h"
#include "support/log.h"
#include "support/system/emulation.h"
#include "tune/kernel/compare.h"
#include "tune/kernel/kernel.h"

#include <math.h>
#include <string.h>

typedef struct contest {
    const tc_graph_build_options *o;
    const tc_graph_admission *admitted;
    tc_graph_model *m[TC_GRAPH_CONTEST_MAX];
    int k;
    tc_graph_turns turns;
    tc_graph_tensor *in;
} contest;

/* That of this rank; where there are fewer, the best. */
static tc_graph_choice one_of(const tc_graph_choice *x, int rank) {
    if (x->upto) /* all of these take part at once */
        return *x;
    return (tc_graph_choice){.records = x->n > 0 ? &x->records[rank < x->n ? rank : 0] : NULL, .n = x->n > 0, .why = x->why};
}

static tc_status build_models(contest *c, const tc_graph_program *p, tc_error *err) {
    tc_graph_choice *choices = tc_xcalloc((size_t)p->ntask + 1, sizeof *choices);
    tc_graph_build_options o = *c->o;
    tc_status s = TC_OK;
    o.choices = choices;
    o.object_only = o.use_up_constants = false;
    for (int r = 0; r < c->k && s == TC_OK; r++) {
        for (int i = 0; i < p->ntask; i++)
            choices[i] = one_of(&c->admitted->choices[i], r);
        s = tc_graph_model_build(p, &o, &c->m[r], err);
    }
    free(choices);
    return s;
}

static tc_status run_rounds(contest *c, int rounds, tc_error *err) {
    c->turns = (tc_graph_turns){
        .m = c->m, .n = c->k, .in = c->in, .kernels = true, .rounds = rounds, .tries = 3, .until = INFINITY, .stop = c->o->stop};
    TC_TRY(tc_graph_turns_take(&c->turns, rounds, err));
    return c->turns.done == rounds
               ? TC_OK
               : tc_fail(err, TC_ENV, "interrupted while comparing records in the network; nothing was written");
}

static bool is_new(const tc_graph_turns *x, int kernel, int rank) {
    for (int r = 0; r < rank; r++)
        if (x->m[r]->kernels[kernel].record == x->m[rank]->kernels[kernel].record)
            return false;
    return x->m[rank]->kernels[kernel].source == TC_GRAPH_FROM_RECORD;
}

/* The best record keeps its place unless another is faster beyond doubt. */
static void judge(const tc_graph_turns *x, int kernel, tc_arena *a, tc_graph_trial *t, int *rank) {
    *rank = 0;
    for (int r = 0; r < x->n; r++) {
        const tc_graph_kernel *k = &x->m[r]->kernels[kernel];
        const double *seconds = tc_graph_turns_of(x, kernel, r);
        t[r] = (tc_graph_trial){.record = is_new(x, kernel, r) ? k->record : 0, .recorded = k->recorded, .speedup = 1};
        t[r].seconds = tc_meas_median(seconds, (size_t)x->done);
        t[r].times = TC_NEW_N(a, double, x->done);
        for (int i = 0; i < x->done; i++)
            t[r].times[i] = seconds[i] / k->count;
        if (r == 0 || t[r].record == 0)
            continue;
        tc_tune_verdict v = tc_tune_judge(seconds, tc_graph_turns_of(x, kernel, 0), x->done, (uint64_t)kernel);
        t[r].speedup = v.ratio;
        t[r].faster = v.faster < 0;
        if (t[r].faster && t[r].speedup > t[*rank].speedup)
            *rank = r;
    }
}

static tc_status make_inputs(contest *c, tc_error *err) {
    tc_graph_tensor *in = tc_xcalloc((size_t)c->m[0]->nin + 1, sizeof *in);
    tc_status s = tc_graph_model_random_inputs(c->m[0], NULL, 0, in, err);
    if (s == TC_OK)
        c->in = in;
    else
        free(in);
    return s;
}

static void release(contest *c) {
    for (int i = 0; c->in && i < c->m[0]->nin; i++)
        tc_graph_tensor_free(&c->in[i]);
    for (int r = 0; r < c->k; r++)
        tc_graph_model_free(c->m[r]);
    free(c->in);
    free(c->turns.seconds);
}

/* What was admitted, the one to use first. */
static tc_graph_choice with_first(const tc_graph_choice *x, int rank, tc_arena *a) {
    if (x->upto)
        return *x;
    tc_record *r = TC_NEW_N(a, tc_record, x->n);
    for (int i = 0, n = 1; i < x->n; i++)
        r[i == rank ? 0 : n++] = x->records[i];
    return (tc_graph_choice){.records = r, .n = x->n, .why = x->why};
}

static void report(const contest *c, int nkernel, tc_arena *a, tc_graph_contest *out) {
    *out = (tc_graph_contest){.nkernel = nkernel,
                              .k = c->k,
                              .rounds = c->turns.done,
                              .trials = TC_NEW_N(a, tc_graph_trial, nkernel * c->k),
                              .ranks = TC_NEW_N(a, int, nkernel),
                              .choices = TC_NEW_N(a, tc_graph_choice, nkernel)};
    for (int i = 0; i < nkernel; i++) {
        judge(&c->turns, i, a, &out->trials[i * c->k], &out->ranks[i]);
        out->choices[i] = with_first(&c->admitted->choices[i], out->ranks[i], a);
    }
}

tc_status tc_graph_contest_run(const tc_graph_program *p, const tc_graph_build_options *o, const tc_graph_admission *admitted,
                               int rounds, tc_arena *a, tc_graph_contest *out, tc_error *err) {
    contest c = {.o = o, .admitted = admitted, .k = admitted->k};
    TC_TRY(tc_clock_check(TC_CLOCK_CALLS, err));
    tc_status s = build_models(&c, p, err);
    if (s == TC_OK)
        s = make_inputs(&c, err);
    if (s == TC_OK)
        s = run_rounds(&c, TC_MAX(rounds, TC_TUNE_MIN_ROUNDS), err);
    if (s == TC_OK)
        report(&c, p->ntask, a, out);
    release(&c);
    return s;
}

/* ---- keeping what was found ---- */

/* The record that trial r of a kernel's is, timed in the network. As in the tuner's contests the times are put on one scale, so
 * that they alone rank the records: a rival's is the best record's by their ratio, a tie's the same and a hair more. */
static tc_record as_record(const tc_graph_contest *c, const tc_graph_trial *t, int r, const tc_record *tuned, int64_t now,
                           tc_arena *a) {
    static const double tie = 1 + 1e-6;
    tc_record x = *tuned;
    double *times = TC_NEW_N(a, double, c->rounds), best = tc_meas_median(t[0].times, (size_t)c->rounds),
           own = tc_meas_median(t[r].times, (size_t)c->rounds);
    x.median = r == 0 ? best : t[r].faster || t[r].speedup < 1 ? best / t[r].speedup : best * tie;
    for (int i = 0; i < c->rounds; i++)
        times[i] = t[r].times[i] * (x.median / own);
    x.id = 0;
    x.mode = tc_is_emulated() ? TC_MEAS_EMULATED : TC_MEAS_IN_GRAPH;
    x.times = times;
    x.ntimes = (size_t)c->rounds;
    x.rounds = c->rounds;
    x.when_ms = now; /* one for all: that makes them one comparison */
    x.tctune_version = TCTUNE_VERSION;
    return x;
}

static tc_status find_record(tc_meas_db *db, tc_arena *a, int64_t id, const tc_record **out, tc_error *err) {
    tc_meas_records r;
    TC_TRY(tc_meas_db_select(db, a, &(tc_meas_filter){.after_id = id - 1, .limit = 1}, &r, err));
    *out = r.len > 0 && r.data[0].id == id && r.data[0].verified ? &r.data[0] : NULL; /* others may have changed it meanwhile */
    return TC_OK;
}

tc_status tc_graph_contest_store(const tc_graph_contest *c, tc_meas_db *db, tc_error *err) {
    TC_VEC(tc_record) all = {0};
    tc_arena *a = tc_arena_new();
    int64_t now;
    tc_status s = tc_meas_db_next_ms(db, TC_MEAS_IN_GRAPH, &now, err);
    for (int i = 0; s == TC_OK && i < c->nkernel; i++) {
        const tc_graph_trial *t = &c->trials[i * c->k];
        int compared = 0;
        for (int r = 0; r < c->k; r++)
            compared += t[r].record != 0;
        for (int r = 0; r < c->k && compared > 1 && s == TC_OK; r++) {
            const tc_record *tuned = NULL;
            if (t[r].record)
                s = find_record(db, a, t[r].record, &tuned, err);
            if (tuned)
                tc_push(&all, as_record(c, t, r, tuned, now, a));
        }
    }
    if (s == TC_OK && all.len)
        s = tc_meas_db_insert(db, all.data, all.len, err);
    tc_vec_free(&all);
    tc_arena_free(a);
    return s;
}

/* ---- all of it ---- */

static void keep_contest(const char *path, const tc_graph_contest *c) {
    tc_meas_db *db = NULL;
    tc_error why = {0};
    tc_status s = tc_meas_db_open(path, TC_MEAS_DB_WRITE, &db, &why);
    if (s == TC_OK)
        s = tc_graph_contest_store(c, db, &why);
    if (s != TC_OK)
        tc_log(TC_LOG_WARN, "the times of the records in the network are used, but could not be stored: %s", why.msg);
    tc_meas_db_close(db);
}

tc_status tc_graph_contest_hold(const tc_graph_program *p, const tc_graph_build_options *o, const char *db, int k, tc_arena *a,
                                tc_graph_admission *admitted, tc_graph_contest *out, tc_error *err) {
    enum { ROUNDS = 20 };
    tc_graph_build_options with = *o;
    *admitted = (tc_graph_admission){0};
    if (k < 2 || k > TC_GRAPH_CONTEST_MAX)
        return tc_fail(err, TC_BAD_INPUT, "2 to %d records of a kernel can be compared in the network, not %d",
                       TC_GRAPH_CONTEST_MAX, k);
    if (!db || !o->target->native)
        return tc_fail(err, TC_BAD_INPUT, "comparing records in the network needs %s",
                       db ? "a target that runs on this machine" : "a database");
    TC_TRY(tc_meas_db_open(db, TC_MEAS_DB_READ, &with.db, err));
    tc_status s = tc_graph_admit(p, &with, k, a, admitted, err);
    if (s == TC_OK)
        s = tc_graph_contest_run(p, &with, admitted, ROUNDS, a, out, err);
    tc_meas_db_close(with.db);
    if (s == TC_OK)
        keep_contest(db, out);
    return s;
}
