/* Implements untuned.h. */
#include "tune/untuned.h"

#include <string.h>

#include "measure/records/maintain.h"
#include "search_space/alternatives/alternatives.h"
#include "support/log.h"
#include "support/system/stop.h"
#include "te/text.h"
#include "tune/kernel/kernel.h"
#include "tune/kernel/mode.h"
#include "tune/kernel/schedule.h"

/* Of a comparison, and samples of a turn. Chosen. */
enum { ROUNDS = 60, SAMPLES = 2 };

enum { TUNED, DEFAULT, SIDES };

typedef struct untuned {
    const tc_tune_options *o;
    const tc_workload *w;
    tc_target target; /* with the session's threads */
    tc_meas_db *db;
    double until;
    tc_arena *a;
    tc_tune_gain *out;
    tc_tune_schedule side[SIDES];
    tc_record record[SIDES]; /* as they ran in turns */
    double *seconds;         /* [side][rounds] */
    int rounds, done;
} untuned;

/* Nothing can be compared, which is no failure. */
static tc_status cannot(untuned *x, const char *why) {
    x->out->why = why;
    return TC_OK;
}

static tc_status find_sides(untuned *x, tc_error *err) {
    tc_tune_query q = {.workload = x->w, .target = &x->target, .accuracy = x->o->accuracy};
    TC_TRY(tc_tune_schedule_find(&q, x->a, &x->side[DEFAULT], err));
    q.db = x->db;
    return tc_tune_schedule_find(&q, x->a, &x->side[TUNED], err);
}

static bool same(const untuned *x) {
    return strcmp(x->side[TUNED].hash.hex, x->side[DEFAULT].hash.hex) == 0 &&
           strcmp(x->side[TUNED].trace, x->side[DEFAULT].trace) == 0;
}

static tc_status take_turns(untuned *x, int rounds, double until, tc_error *err) {
    tc_meas_options m = x->o->measure;
    tc_meas_input in[SIDES];
    tc_meas *meas;
    tc_machine machine = tc_tune_machine(x->o->target, x->o->threads, tc_te_constant_bytes_read(x->w));
    if (!tc_meas_mode_is_apart(m.mode))
        m.mode = tc_tune_mode(x->o->timing, x->w, 0, &machine);
    m.target = x->o->target->text;
    m.threads = x->o->threads;
    m.seed = x->o->seed;
    m.stop = x->o->stop;
    m.deadline = until;
    for (int i = 0; i < SIDES; i++)
        in[i] = (tc_meas_input){.workload = x->side[i].workload,
                                .workload_hash = x->side[i].hash,
                                .trace = x->side[i].trace,
                                .again = true,
                                .samples = SAMPLES};
    x->rounds = rounds;
    x->seconds = TC_NEW_N(x->a, double, SIDES *rounds);
    TC_TRY(tc_meas_new(&m, &meas, err));
    tc_status s = tc_meas_interleave(meas, in, SIDES, NULL, rounds, x->a, x->record, x->seconds, &x->done, err);
    tc_meas_free(meas);
    return s;
}

/* The time was up before there were rounds enough for a verdict. */
static bool is_cut_short(const untuned *x) {
    bool failed = false;
    for (int i = 0; i < SIDES; i++)
        failed |= !tc_record_ok(&x->record[i]) && x->record[i].error != TC_MEAS_INTERRUPTED;
    return !failed && x->done < TC_TUNE_MIN_ROUNDS && !tc_is_raised(x->o->stop);
}

/* A record that was right before and now fails is not to be built into anything. *any: some side failed. */
static tc_status look_for_failures(untuned *x, bool *any, tc_error *err) {
    const tc_record *now = &x->record[TUNED], *was = x->side[TUNED].record;
    *any = false;
    for (int i = 0; i < SIDES; i++)
        if (!tc_record_ok(&x->record[i]) && x->record[i].error != TC_MEAS_INTERRUPTED) {
            *any = true;
            x->out->why = tc_arena_printf(x->a, "%s failed: %s: %s", i == DEFAULT ? "the default schedule" : "the best record",
                                          tc_meas_error_meaning(x->record[i].error), x->record[i].message);
        }
    return tc_meas_disproves(now->error) ? tc_meas_db_note_failure(x->db, was->id, now, err) : TC_OK;
}

static tc_status store(const untuned *x, const tc_tune_pair *pair, tc_error *err) {
    tc_tune_verdicts all = {0};
    tc_ctx *ctx = tc_ctx_new();
    tc_space_alternative_list l = tc_space_alternatives(ctx, tc_te_canonical(ctx, x->w), x->o->accuracy);
    tc_meas_key *keys = TC_NEW_N(x->a, tc_meas_key, 1 + l.n);
    int64_t now;
    for (int i = 0; i <= l.n; i++)
        keys[i] = (tc_meas_key){.workload = tc_te_hash(i ? l.data[i - 1].workload : x->w),
                                .target = tc_meas_text_hash(x->o->target->text),
                                .threads = x->o->threads};
    tc_status s = tc_meas_db_next_ms(x->db, TC_MEAS_IN_GRAPH, &now, err);
    if (s == TC_OK)
        s = tc_tune_pair_put(pair, x->db, keys, 1 + l.n, now, x->a, &all, err);
    if (s == TC_OK)
        s = tc_meas_db_insert(x->db, all.data, all.len, err);
    tc_vec_free(&all);
    tc_ctx_free(ctx);
    return s;
}

static tc_status judge(untuned *x, tc_error *err) {
    tc_record ran = x->record[TUNED];
    ran.mode = x->side[TUNED].record->mode;     /* says whether it was compared before, */
    ran.median = x->side[TUNED].record->median; /* and its time then */
    tc_tune_pair pair = {.record = &ran,
                         .untuned = &x->record[DEFAULT],
                         .seconds = x->seconds,
                         .before = x->seconds + x->rounds,
                         .rounds = x->done};
    if (x->done < TC_TUNE_MIN_ROUNDS)
        return cannot(x, "too little time was left for it");
    tc_tune_pair_judge(&pair, x->o->seed);
    x->out->nkept = pair.kept;
    if (!pair.kept)
        x->out->verdict = tc_tune_judge(pair.seconds, pair.before, pair.rounds, x->o->seed);
    return store(x, &pair, err);
}

static tc_status compare(untuned *x, tc_error *err) {
    bool failed;
    TC_TRY(find_sides(x, err));
    x->out->nkept = !x->side[TUNED].record || same(x);
    if (x->out->nkept)
        return TC_OK;
    double last = tc_tune_gain_last(x->until);
    TC_TRY(take_turns(x, ROUNDS, x->until, err));
    if (is_cut_short(x))
        TC_TRY(take_turns(x, TC_TUNE_MIN_ROUNDS, last, err));
    if (tc_is_raised(x->o->stop))
        return cannot(x, "it was stopped");
    TC_TRY(look_for_failures(x, &failed, err));
    return failed ? TC_OK : judge(x, err);
}

tc_status tc_tune_untuned(const tc_tune_options *o, const tc_workload *w, tc_meas_db *db, double until, tc_arena *a,
                          tc_tune_gain *out, tc_error *err) {
    double begin = tc_now();
    untuned x = {.o = o, .w = w, .target = *o->target, .db = db, .until = until, .a = a, .out = out};
    *out = (tc_tune_gain){.nkernel = 1};
    x.target.machine.cores = o->threads;
    tc_status s = compare(&x, err);
    out->seconds = tc_now() - begin;
    return s;
}
