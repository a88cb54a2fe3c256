/* The measurement: everybody once beside the schedule, then those that matter in turns with it. */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "support/log.h"
#include "support/system/stop.h"
#include "tune/explain/explain_int.h"

/* Who is in the turns: the fastest, and those that tell of a cause. Rounds: as few as can be sure, in a minute. */
enum { FASTEST = 8, OF_CAUSES = 6, LEAST = 3, FEWEST = 8, ROUNDS = 15 };
/* What took longer by more than this when it was tried once is not the faster one. */
static const double once_spread = 1.3;
static const double screen_share = 0.4;
/* Of the time, so much may be waited for a machine that is disturbed. */
static const double wait_share = 0.25;
/* Threads spin for some milliseconds when they are done, those that a look runs on and those that candidates run on. */
static const double until_asleep = 0.01;

static tc_meas_options options_of(const field *f) {
    const tc_tune_explain_options *o = f->o;
    return (tc_meas_options){.target = o->target->text,
                             .threads = o->target->machine.cores,
                             .mode = TC_MEAS_HOT, /* inputs say cold */
                             .samples = 5,        /* fewer do not show how much repeats differ */
                             .budget = 0.06,
                             .early_stop = 3,
                             .counters = true,
                             .build_limit = 8,
                             .run_limit = 5,
                             .seed = o->seed,
                             .stop = o->stop};
}

/* ---- waiting ---- */

static tc_meas_calm look(void *user) {
    field *f = user;
    tc_meas_drift_look(&f->looks, f->o->target->machine.cores);
    return tc_meas_drift_state(&f->looks);
}

static double rest(void *user, double seconds) {
    (void)user;
    struct timespec t = {.tv_sec = (time_t)seconds, .tv_nsec = (long)(1e9 * fmod(seconds, 1))};
    nanosleep(&t, NULL); /* a signal may cut it short: the stop flag is looked at, and the time as well */
    return tc_now();
}

static double may_wait(const field *f) {
    return TC_MAX(0, wait_share * f->seconds_left - f->waited);
}

static tc_meas_calm await_calm(field *f) {
    tc_meas_calm calm;
    rest(NULL, until_asleep);
    f->waited += tune_await_calm(&(tune_machine){look, rest, f}, may_wait(f), f->o->stop, &calm);
    rest(NULL, until_asleep);
    return calm;
}

/* ---- once ---- */

static const char *failure(const field *f, const tc_record *r) {
    return tc_arena_printf(f->arena, "%s%s%s", tc_meas_error_meaning(r->error), *r->message ? ": " : "", r->message);
}

static void take_screening(field *f, const tc_record *r) {
    f->screened = r[0].median;
    f->counted = r[0].counts;
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
    tc_meas_calm last = tc_meas_drift_state(&f->looks);
    if (!f->unrest.moments)
        tc_meas_unrest_add(&f->unrest, &last);
    f->unmeasured =
        tc_arena_printf(f->arena, "%d rounds were done in %.0f s, too few to tell anything%s", rounds, tc_now() - f->began,
                        tc_meas_is_restless(&f->unrest) ? " on a busy machine" : ": is the machine busy?");
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

/* Conditions that tell of causes first, which nothing else does; then for each cause that is suspected the change that has less
 * of it, the fastest, and what says where the time goes. */
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
static int room_for(const field *f, const tc_meas *m, bool waiting) {
    tc_meas_stats s = tc_meas_get_stats(m);
    double left = f->began + f->seconds_left - tc_now() - s.build_seconds / 2 - (waiting ? may_wait(f) : 0);
    double run = s.ran ? s.run_seconds / (double)s.ran : 0;
    return run > 0 ? (int)TC_MAX(1, TC_MIN(f->n, left / (run * FEWEST) - 1)) : f->n;
}

/* Takes part in each round, to look at the machine. */
typedef struct watcher {
    field *f;
    tc_meas *m;
} watcher;

static tc_status watch(void *user, double *seconds, tc_error *err) {
    const watcher *w = user;
    (void)err;
    tc_meas_calm calm = tc_meas_get_calm(w->m);
    tc_meas_unrest_add(&w->f->unrest, &calm);
    if (calm.disturbed && may_wait(w->f) > 0)
        await_calm(w->f);
    *seconds = calm.slowdown; /* nobody looks at it */
    return TC_OK;
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
            input[n].counts = tune_can_tell(&f->counted);
        }
    tc_record *r = TC_NEW_N(f->arena, tc_record, (size_t)n + 1);
    double *seconds = TC_NEW_N(f->arena, double, ((size_t)n + 2) * ROUNDS);
    tc_meas_guest guest = {watch, &(watcher){f, m}};
    TC_TRY(tc_meas_interleave(m, input, (size_t)n + 1, &guest, ROUNDS, f->arena, r, seconds, &done, err));
    for (int i = 0; i < n; i++)
        if (!tc_record_ok(&r[i + 1]) && r[i + 1].error != TC_MEAS_INTERRUPTED)
            in[i]->t.failed = failure(f, &r[i + 1]);
    if (!tc_record_ok(&r[0]) && r[0].error != TC_MEAS_INTERRUPTED)
        return tc_fail(err, TC_ENV, "the schedule could not be measured: %s", failure(f, &r[0]));
    if (done < TC_TUNE_MIN_ROUNDS)
        return too_few(f, done, err);
    tune_judge(f, seconds, ROUNDS, done, in, n);
    for (int i = 0; i < n; i++)
        in[i]->counted = r[i + 1].counts;
    f->counted = r[0].counts;
    f->shares = r[0].shares;
    return TC_OK;
}

static tc_status take_turns(field *f, tc_meas *m, tc_error *err) {
    (void)await_calm(f);
    tc_meas_set_deadline(m, f->began + screen_share * f->seconds_left + f->waited);
    TC_TRY(screen(f, m, err));
    if (f->unmeasured)
        return TC_OK;
    tc_meas_calm calm = await_calm(f);
    tc_meas_set_deadline(m, f->began + f->seconds_left);
    choose(f, TC_MAX(room_for(f, m, calm.disturbed), LEAST));
    return run(f, m, err);
}

tc_status tune_take_turns(field *f, tc_error *err) {
    tc_meas *m;
    tc_meas_options o = options_of(f);
    TC_TRY(tc_meas_new(&o, &m, err));
    tc_status st = take_turns(f, m, err);
    tc_meas_free(m);
    return st;
}
