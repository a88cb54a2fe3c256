/* The measurement: everybody once beside the schedule, then those that matter in turns with it. */
#include <math.h>
#include <stdlib.h>

#include "support/log.h"
#include "support/system/stop.h"
#include "tune/explain/explain_int.h"

/* Who is in the turns: the fastest, and those that tell of a cause. Rounds: as few as can be sure, in a minute. */
enum { FASTEST = 8, OF_CAUSES = 6, LEAST = 3, FEWEST = 8, ROUNDS = 15 };
/* What took longer by more than this when it was tried once is not the faster one. */
static const double once_spread = 1.3;
static const double screen_budget = 0.1, turn_budget = 0.06, screen_share = 0.4;

static tc_meas_options options_of(const field *f, double budget, double early_stop, double share) {
    const tc_tune_explain_options *o = f->o;
    return (tc_meas_options){.target = o->target->text,
                             .threads = o->target->machine.cores,
                             .mode = TC_MEAS_HOT, /* inputs say cold */
                             .samples = 3,
                             .budget = budget,
                             .early_stop = early_stop,
                             .build_limit = 8,
                             .run_limit = 5,
                             .seed = o->seed,
                             .deadline = f->began + share * f->seconds_left,
                             .stop = o->stop};
}

/* ---- once ---- */

static const char *failure(const field *f, const tc_record *r) {
    return tc_arena_printf(f->arena, "%s%s%s", tc_meas_error_meaning(r->error), *r->message ? ": " : "", r->message);
}

static void take_screening(field *f, const tc_record *r) {
    f->screened = r[0].median;
    for (int i = 0; i < f->n; i++) {
        entrant *e = &f->e[i];
        if (!tc_record_ok(&r[i + 1])) {
            e->t.failed = failure(f, &r[i + 1]);
            continue;
        }
        e->screened = r[i + 1].median;
        e->t.ratio = e->screened / f->screened;
    }
}

/* Of what is not known surely nothing is told, but what the program shows. */
static tc_status too_few(field *f, int rounds, tc_error *err) {
    if (tc_is_raised(f->o->stop))
        return tc_fail(err, TC_ENV, "stopped after %d rounds: too few to tell anything", rounds);
    f->unmeasured = tc_arena_printf(f->arena, "%d rounds were done in %.0f s, too few to tell anything: is the machine busy?",
                                    rounds, tc_now() - f->began);
    return TC_OK;
}

static tc_status screen(field *f, tc_meas *m, tc_error *err) {
    tc_meas_input *in = TC_NEW_N(f->arena, tc_meas_input, (size_t)f->n + 1);
    tc_record *r = TC_NEW_N(f->arena, tc_record, (size_t)f->n + 1);
    in[0] = f->in;
    for (int i = 0; i < f->n; i++)
        in[i + 1] = f->e[i].in;
    TC_TRY(tc_meas_batch(m, in, (size_t)f->n + 1, f->arena, r, NULL, NULL, err));
    if (r[0].error == TC_MEAS_INTERRUPTED)
        return too_few(f, 0, err);
    if (!tc_record_ok(&r[0]))
        return tc_fail(err, TC_ENV, "the schedule could not be measured: %s", failure(f, &r[0]));
    take_screening(f, r);
    return TC_OK;
}

/* ---- in turns ---- */

/* The fastest of those that are not in yet and have less of the cause; TC_NCAUSES: of all that are no conditions. */
static entrant *fastest(field *f, tc_tune_cause c) {
    entrant *best = NULL;
    for (int i = 0; i < f->n; i++) {
        entrant *e = &f->e[i];
        bool wanted = c < TC_NCAUSES ? tune_has_less(f, e, c) : e->t.kind != TC_TRIAL_CONDITION;
        if (e->turns || e->screened <= 0 || !wanted)
            continue;
        best = best && best->screened <= e->screened ? best : e;
    }
    return best;
}

static void admit(entrant *e, int *room) {
    if (e && *room > 0) {
        e->turns = true;
        --*room;
    }
}

static void admit_conditions(field *f, bool of_causes, int *room) {
    for (int i = 0; i < f->n; i++) {
        entrant *e = &f->e[i];
        if (e->t.kind == TC_TRIAL_CONDITION && e->screened > 0 && (e->t.cause < TC_NCAUSES) == of_causes)
            admit(e, room);
    }
}

/* Conditions that tell of causes first, which nothing else does; then for each cause that is suspected the change that has less of it, the
 * fastest, and what says where the time goes. */
static void choose(field *f, int room) {
    const char *why;
    admit_conditions(f, true, &room);
    for (int c = 0, n = 0; c < TC_NCAUSES && n < OF_CAUSES; c++) {
        entrant *e = tune_suspect(f, (tc_tune_cause)c, &why) > 0 ? fastest(f, (tc_tune_cause)c) : NULL;
        if (!e || e->screened >= once_spread * f->screened)
            continue;
        admit(e, &room);
        n++;
    }
    for (int k = 0; k < FASTEST; k++)
        admit(fastest(f, TC_NCAUSES), &room);
    admit_conditions(f, false, &room);
}

/* How many can have their rounds in the time that is left, when a run takes as long as it did in the screening. */
static int room_for(const field *f, const tc_meas *m) {
    tc_meas_stats s = tc_meas_get_stats(m);
    double left = f->began + f->seconds_left - tc_now() - s.build_seconds / 2;
    double run = s.ran ? s.run_seconds / (double)s.ran : 0;
    return run > 0 ? (int)TC_MAX(1, TC_MIN(f->n, left / (run * FEWEST) - 1)) : f->n;
}

static void judge(field *f, const double *seconds, int done, entrant *const *in, int n) {
    f->seconds = tc_meas_median(seconds, (size_t)done);
    for (int i = 0; i < n; i++) {
        tc_tune_verdict v = tc_tune_judge(seconds, seconds + (size_t)(i + 1) * ROUNDS, done, f->o->seed);
        in[i]->t.rounds = done;
        in[i]->t.ratio = v.ratio;
        in[i]->t.low = v.low;
        in[i]->t.high = v.high;
    }
}

static tc_status run(field *f, tc_meas *m, tc_error *err) {
    entrant **in = TC_NEW_N(f->arena, entrant *, (size_t)f->n + 1);
    tc_meas_input *input = TC_NEW_N(f->arena, tc_meas_input, (size_t)f->n + 1);
    int n = 0, done;
    input[0] = f->in;
    for (int i = 0; i < f->n; i++)
        if (f->e[i].turns) {
            in[n++] = &f->e[i];
            input[n] = f->e[i].in;
        }
    tc_record *r = TC_NEW_N(f->arena, tc_record, (size_t)n + 1);
    double *seconds = TC_NEW_N(f->arena, double, ((size_t)n + 1) * ROUNDS);
    TC_TRY(tc_meas_interleave(m, input, (size_t)n + 1, NULL, ROUNDS, f->arena, r, seconds, &done, err));
    for (int i = 0; i < n; i++)
        if (!tc_record_ok(&r[i + 1]) && r[i + 1].error != TC_MEAS_INTERRUPTED)
            in[i]->t.failed = failure(f, &r[i + 1]);
    if (!tc_record_ok(&r[0]) && r[0].error != TC_MEAS_INTERRUPTED)
        return tc_fail(err, TC_ENV, "the schedule could not be measured: %s", failure(f, &r[0]));
    if (done < TC_TUNE_MIN_ROUNDS)
        return too_few(f, done, err);
    judge(f, seconds, done, in, n);
    f->shares = r[0].shares;
    return TC_OK;
}

tc_status tune_take_turns(field *f, tc_error *err) {
    tc_meas *m;
    tc_meas_options o = options_of(f, screen_budget, 3, screen_share);
    TC_TRY(tc_meas_new(&o, &m, err));
    tc_status st = screen(f, m, err);
    int room = room_for(f, m);
    tc_meas_free(m);
    if (st != TC_OK || f->unmeasured)
        return st;
    choose(f, TC_MAX(room, LEAST));
    o = options_of(f, turn_budget, -1, 1);
    TC_TRY(tc_meas_new(&o, &m, err));
    st = run(f, m, err);
    tc_meas_free(m);
    return st;
}
