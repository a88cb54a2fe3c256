/* Two rivals in turns: see compare.h. */
#include "measure/measure.h"
#include "support/clock/clock.h"
#include "support/system/stop.h"
#include "tune/kernel/compare.h"
#include "tune/kernel/kernel.h"

/* What takes part, as measuring knows it: a library is a guest, whose times come last. */
typedef struct field {
    int n, rival[2]; /* the schedules */
    tc_meas_input in[2];
    tc_meas_guest guest;
    tc_record record[2];
    double *seconds;
    int done;
    tc_meas_unrest unrest;
} field;

static void line_up(const tc_tune_duellist rival[2], field *f) {
    *f = (field){.guest = {.turn = tc_meas_peer_turn}};
    for (int i = 0; i < 2; i++) {
        const tc_tune_schedule *s = rival[i].schedule;
        if (s) {
            f->rival[f->n] = i;
            f->in[f->n++] = (tc_meas_input){
                .workload = s->workload, .trace = s->trace, .workload_hash = s->hash, .again = true, .sizes = s->sizes};
        } else {
            f->guest.user = rival[i].peer;
        }
    }
}

static tc_status take_turns(const tc_tune_duel_options *o, field *f, tc_arena *arena, tc_error *err) {
    tc_meas_options mo = {.target = o->target->text,
                          .threads = o->target->machine.cores,
                          .mode = o->mode,
                          .samples = 5,
                          .budget = 0.15,
                          .seed = o->seed,
                          .stop = o->stop,
                          .carrier = o->carrier,
                          .carried_by = o->carried_by};
    tc_meas *m;
    TC_TRY(tc_meas_new(&mo, &m, err));
    f->seconds = TC_NEW_N(arena, double, 2 * o->rounds);
    tc_status st = tc_meas_interleave(m, f->in, (size_t)f->n, f->guest.user ? &f->guest : NULL, o->rounds, arena, f->record,
                                      f->seconds, &f->done, err);
    f->unrest = tc_meas_get_unrest(m);
    tc_meas_free(m);
    return st;
}

/* The first that failed; -1: none. */
static int find_failure(const field *f) {
    for (int i = 0; i < f->n; i++)
        if (!tc_record_ok(&f->record[i]) && f->record[i].error != TC_MEAS_INTERRUPTED)
            return i;
    return -1;
}

static tc_status too_few(const tc_tune_duel_options *o, const field *f, tc_error *err) {
    if (o->carrier && f->done == 0 && !tc_is_raised(o->stop))
        return tc_fail(err, TC_ENV, "%s", tc_tune_vanished);
    return tc_fail(err, TC_ENV, "stopped after %d rounds: too few for a verdict", f->done);
}

static tc_tune_verdict judge(const tc_tune_duellist rival[2], const tc_tune_duel_options *o, const field *f) {
    const double *first = f->seconds, *second = f->seconds + o->rounds;
    bool guest_first = !rival[0].schedule;
    tc_tune_verdict v = tc_tune_judge(guest_first ? second : first, guest_first ? first : second, f->done, o->seed);
    if (v.sign_p >= TC_TUNE_SURE)
        v.faster = 0;
    return v;
}

tc_status tc_tune_duel_run(const tc_tune_duellist rival[2], const tc_tune_duel_options *o, tc_arena *arena, tc_tune_duel *out,
                           tc_error *err) {
    field f;
    tc_tune_roof before = {0};
    *out = (tc_tune_duel){.failed = -1};
    line_up(rival, &f);
    if (!o->carrier) {
        TC_TRY(tc_clock_check(TC_CLOCK_SAMPLES, err));
        before = tc_tune_roofline(o->workload, o->target, o->mode, NULL);
    }
    TC_TRY(take_turns(o, &f, arena, err));
    int failure = find_failure(&f);
    out->mode = f.record[0].mode;
    out->host = f.record[0].host;
    if (failure >= 0) {
        out->failed = f.rival[failure];
        out->record = f.record[failure];
        return TC_OK;
    }
    if (f.done < TC_TUNE_SURE_ROUNDS)
        return too_few(o, &f, err);
    out->verdict = judge(rival, o, &f);
    out->unrest = f.unrest;
    if (!o->carrier)
        out->roof = tc_tune_roofline(o->workload, o->target, o->mode, &before);
    return TC_OK;
}
