/* Contests: the last word on which candidate of a task is the best.
 *
 * A candidate is timed once, alone, at some moment. The fastest of a few hundred such times owes much to luck, and an
 * incumbent that was timed while others used the machine is beaten too easily. So the best candidate and those that seem as
 * good run in turns. Only a distinguishably faster one replaces the incumbent (tc_tune_judge); the others are ties.
 *
 * The database ranks records by their times alone. So the times of a contest are put on the incumbent's scale: its own time is
 * the smallest that a contest gave it, a rival's is that times their ratio, a tie's is the same (and a hair more). Times from
 * a busy machine thus neither win nor spoil what won before. Each rival has one contest. In a fleet, the incumbent's scale is
 * that of the machine that its record names, whichever machine runs the contest.
 *
 * Times of different kernels have no common scale. So a kernel that could run in place of others runs in turns with them, each
 * by its best record, and the database keeps their times of each round.
 *
 * Every turn is checked like a first run. A program that crashes, hangs or computes something else now has failed for good:
 * its record becomes that failure, the title goes to the next best, and candidates that were given up because of its times may
 * be rivals again. */
#include <math.h>
#include <string.h>

#include "tune/kernel/compare.h"
#include "tune/tune_int.h"

enum {
    ROUNDS = 7,       /* in turns; one more than the fewest that can tell */
    WIDE_ROUNDS = 12, /* of kernels beside those that they could run in place of: chosen */
    MOST_HELD = 28    /* of one contest, while it cannot tell: chosen */
};
/* Chosen; not measured apart. */
enum {
    CONTESTS = 4 /* in a row: each settles one incumbent */,
    MOST_FAILED = 16 /* of one task in a row */,
    SAMPLES = 2 /* per turn */,
    EVERY = 64 /* trials */,
    MOST_ROUNDS = 3 * MOST_HELD /* of one that takes part again */
};
enum { MOST = 8 /* samples in one contest */ };

/* Of the incumbent's time, below which one that was in turns takes part again. Chosen: repeats of a kernel on an idle machine span
 * 1 to 3 % (measure/machine/drift.c). */
static const double returns = 0.97;
/* A rival that seems to be faster by more than repeats scatter: a contest goes on until it can tell. Chosen, for the same reason. */
static const double clear = 0.03;
/* Enough to rank behind the incumbent, too little to be seen. */
static const double tie = 1 + 1e-6;
/* A machine that seems to be slower than that is disturbed in ways that nobody can tell the time by. Chosen. */
static const double most_hope = 4;
/* Share of a run that may go into contests before its end. Chosen. */
static const double most_time = 0.08;

static double rank_of(const sample *x) {
    return x->rounds > 0 ? x->seconds : x->seconds * TC_MEAS_DOUBT;
}

static bool usable(const sample *x) {
    return x->verified && x->id != 0 && isfinite(x->seconds);
}

static bool eligible(const sample *x) {
    return usable(x) && !x->stopped;
}

typedef bool condition(const sample *x);

static bool was_in_turns(const sample *x) {
    return eligible(x) && x->rounds > 0;
}

/* The sample of task i that ranks first of those that `is` true of, -1: none. Of equal ones the older one. */
static int first_of(const tc_tune *t, int i, condition *is) {
    int best = -1;
    for (int f = 0; f < t->task[i].nform; f++) {
        const form *k = &t->task[i].form[f];
        for (size_t j = 0; j < k->samples.len; j++) {
            int at = (int)k->samples.data[j];
            const sample *x = &t->samples.data[at];
            if (is(x) && (best < 0 || rank_of(x) < rank_of(&t->samples.data[best])))
                best = at;
        }
    }
    return best;
}

int tc_tune_incumbent(const tc_tune *t, int i) {
    int best = first_of(t, i, was_in_turns);
    return best >= 0 ? best : first_of(t, i, eligible);
}

void tc_tune_rerank(tc_tune *t, int i) {
    tc_tune_state *s = &t->state[i];
    int best = first_of(t, i, eligible);
    for (int f = 0; f < s->nform; f++) {
        const form *k = &t->task[i].form[f];
        tc_tune_form *found = &t->task[i].found[f];
        found->best = found->rank = INFINITY;
        found->trace = NULL;
        for (size_t j = 0; j < k->samples.len; j++) {
            const sample *x = &t->samples.data[k->samples.data[j]];
            if (!eligible(x) || rank_of(x) >= found->rank)
                continue;
            found->best = x->seconds;
            found->rank = rank_of(x);
            found->trace = x->trace;
        }
    }
    s->winner = best < 0 ? -1 : t->samples.data[best].form;
    s->best = best < 0 ? INFINITY : t->samples.data[best].seconds;
    s->in_turns = best >= 0 && t->samples.data[best].rounds > 0;
}

/* What it may take on a quiet machine: the fastest time over how slow the machine was. */
static double hope_of(const tc_tune *t, const sample *x) {
    return x->fastest / fmin(most_hope, tc_meas_slowdown(t->meas, x->reference));
}

/* On the common scale, or by what its record says, which is what the database ranks by. */
static bool seems_faster(const tc_tune *t, const sample *x, double limit, double scale) {
    return hope_of(t, x) < limit || x->seconds * x->scale < limit * scale;
}

/* It lost or was a tie in a disturbed moment: in turns it was clearly faster by now than `best` ever was. */
static bool may_return(const sample *x, const sample *best) {
    return x->rounds < MOST_ROUNDS && x->measured < returns * best->measured;
}

/* Rivals of sample `best`, the most hopeful first: never in a contest, and maybe as fast. Those that were given up early are
 * slower than what they were raced against, so they are among them only when that turned out to be no good. */
static int rivals_of(const tc_tune *t, int i, int best, int *out) {
    const sample *b = &t->samples.data[best];
    double limit = b->rounds > 0 ? b->seconds : b->seconds * TC_MEAS_DOUBT;
    int n = 0;
    for (int f = 0; f < t->task[i].nform; f++) {
        const form *k = &t->task[i].form[f];
        for (size_t j = 0; j < k->samples.len; j++) {
            int at = (int)k->samples.data[j], place = n;
            const sample *x = &t->samples.data[at];
            if (at == best || !usable(x) || !(x->rounds > 0 ? may_return(x, b) : seems_faster(t, x, limit, b->scale)))
                continue;
            while (place > 0 && hope_of(t, &t->samples.data[out[place - 1]]) > hope_of(t, x))
                place--;
            if (place == TC_TUNE_RIVALS)
                continue;
            n = TC_MIN(n + 1, (int)TC_TUNE_RIVALS);
            memmove(out + place + 1, out + place, sizeof *out * (size_t)(n - 1 - place));
            out[place] = at;
        }
    }
    return n;
}

/* ---- one contest ---- */

typedef struct contest {
    int n, at[MOST]; /* samples; the incumbent first */
    int done;        /* rounds */
    bool cut;        /* short of what was asked for */
    double *seconds; /* [n][MOST_HELD], on the common scale */
    tc_record *record;
} contest;

/* So many rounds more. */
static tc_status hold(tc_tune *t, contest *c, int rounds, tc_arena *a, tc_error *err) {
    tc_meas_input in[MOST];
    for (int k = 0; k < c->n; k++) {
        const sample *x = &t->samples.data[c->at[k]];
        const tc_tune_form *f = &t->state[x->task].form[x->form];
        in[k] = (tc_meas_input){.workload = f->workload,
                                .workload_hash = f->hash,
                                .trace = x->trace,
                                .again = true,
                                .work = t->task[x->task].form[x->form].work,
                                .cold = t->state[x->task].mode == TC_MEAS_COLD,
                                .samples = SAMPLES};
    }
    double *turn = TC_NEW_N(a, double, c->n *rounds);
    int done;
    c->seconds = c->seconds ? c->seconds : TC_NEW_N(a, double, c->n *MOST_HELD);
    c->record = TC_NEW_N(a, tc_record, c->n);
    TC_TRY(tc_meas_interleave(t->meas, in, (size_t)c->n, NULL, rounds, a, c->record, turn, &done, err));
    double scale = c->record[0].scale > 0 ? c->record[0].scale : 1; /* of the machine that had it */
    for (int k = 0; k < c->n; k++)
        for (int r = 0; r < done; r++)
            c->seconds[k * MOST_HELD + c->done + r] = turn[k * rounds + r] / scale;
    c->cut = done < rounds;
    c->done += done;
    return TC_OK;
}

static tc_tune_verdict judge(const tc_tune *t, const contest *c, int k) {
    return tc_tune_judge(c->seconds, c->seconds + k * MOST_HELD, c->done, t->o.seed);
}

/* Some rival seems to be faster than the incumbent, and it cannot be told. */
static bool undecided(const tc_tune *t, const contest *c) {
    for (int k = 1; k < c->n; k++) {
        tc_tune_verdict v = judge(t, c, k);
        if (!v.faster && v.ratio < 1 - clear)
            return true;
    }
    return false;
}

/* Rounds until all is told: on a busy machine some are spoilt. */
static tc_status hold_all(tc_tune *t, contest *c, tc_arena *a, tc_error *err) {
    TC_TRY(hold(t, c, ROUNDS, a, err));
    while (!c->cut && c->done + ROUNDS <= MOST_HELD && undecided(t, c))
        TC_TRY(hold(t, c, ROUNDS, a, err));
    return TC_OK;
}

/* What the session says of sample `at` follows its failure. */
static void take_failure(tc_tune *t, int at, const tc_record *r) {
    sample *x = &t->samples.data[at];
    tc_tune_state *s = &t->state[x->task];
    tc_tune_report *rep = &t->report;
    x->verified = false;
    x->seconds = INFINITY;
    t->task[x->task].found[x->form].valid--;
    const char *why = tc_arena_printf(t->arena, "%s: %s", tc_meas_error_meaning(r->error), r->message);
    s->failure = s->failure ? s->failure : why;
    rep->unreliable++;
    if (x->own) {
        rep->by_error[TC_MEAS_NONE]--;
        rep->by_error[r->error]++;
        rep->first_error = rep->first_error ? rep->first_error : why;
    }
    tc_tune_tally(t);
}

/* One failure is enough: a candidate that was right before and now fails is not to be built into anything. */
static tc_status disqualify(tc_tune *t, const contest *c, tc_arena *a, bool *any, tc_error *err) {
    *any = false;
    for (int k = 0; k < c->n; k++) {
        const sample *x = &t->samples.data[c->at[k]];
        tc_record r = c->record[k];
        if (!tc_meas_error_is(r.error, TC_MEAS_ITS_OWN))
            continue;
        *any = true;
        tc_log(TC_LOG_WARN, "%s: record %lld failed when it was run again, and is not used: %s: %s", t->state[x->task].name,
               (long long)x->id, tc_meas_error_meaning(r.error), r.message);
        r.message =
            tc_arena_printf(a, "when it was run again, after it had been right at %.4g ms: %s", 1e3 * x->seconds, r.message);
        take_failure(t, c->at[k], &r);
        TC_TRY(tc_meas_db_disqualify(t->db, x->id, &r, err));
    }
    return TC_OK;
}

/* Of sample k of the contest: the lower quartile of its turns. Others only add to a time, on a busy machine to more than half. */
static double time_of(const contest *c, int k) {
    return tc_meas_smallest(c->seconds + k * MOST_HELD, (size_t)c->done, (size_t)c->done / 4);
}

/* What was taken of sample k in its turns counts for it. Of what was taken before it was ever in turns, luck may have been part. */
static void note_turns(const tc_tune *t, const contest *c, int k) {
    sample *x = &t->samples.data[c->at[k]];
    x->measured = fmin(x->rounds > 0 ? x->measured : INFINITY, time_of(c, k));
    for (int r = 0; r < c->done; r++)
        x->fastest = fmin(x->fastest, c->seconds[k * MOST_HELD + r]);
}

/* Sample k of the contest gets the time `seconds`, its turns scaled to it. What is known of it here is what its record says: the
 * median of these times, which rounding may part from `seconds`. */
static tc_status retime(tc_tune *t, const contest *c, int k, double seconds, tc_arena *a, tc_error *err) {
    sample *x = &t->samples.data[c->at[k]];
    const double *turn = c->seconds + k * MOST_HELD;
    double now = tc_meas_median(turn, (size_t)c->done), *times = TC_NEW_N(a, double, c->done);
    x->scale = t->samples.data[c->at[0]].scale;
    for (int r = 0; r < c->done; r++)
        times[r] = turn[r] * (seconds * x->scale / now);
    x->seconds = tc_meas_median(times, (size_t)c->done) / x->scale;
    x->reference = 0;
    x->stopped = false;
    x->rounds += c->done;
    tc_record as = {.id = x->id, .times = times, .ntimes = (size_t)c->done, .median = x->seconds * x->scale, .rounds = x->rounds};
    return tc_meas_db_retime(t->db, &as, err);
}

/* No candidate gets a time below the fastest that was taken of it: ratios of disturbed rounds would multiply from contest to contest,
 * to times that no kernel can have. A rival may win in a slow moment although it was never as fast as the incumbent once was. It does
 * not replace the incumbent then, and may try again. */
static tc_status settle(tc_tune *t, const contest *c, tc_arena *a, tc_error *err) {
    for (int k = 0; k < c->n; k++)
        note_turns(t, c, k);
    double own = t->samples.data[c->at[0]].measured;
    TC_TRY(retime(t, c, 0, own, a, err));
    for (int k = 1; k < c->n; k++) {
        const sample *x = &t->samples.data[c->at[k]];
        tc_tune_verdict v = judge(t, c, k);
        double seconds = fmax(own * (v.faster ? v.ratio : tie), x->fastest);
        if (v.faster <= 0 || seconds < own)
            TC_TRY(retime(t, c, k, fmax(seconds, v.faster > 0 ? 0 : own * tie), a, err));
        t->report.ties += v.faster == 0;
    }
    t->report.contests++;
    return TC_OK;
}

static tc_status fight(tc_tune *t, contest *c, bool *failed, tc_error *err) {
    tc_arena *a = tc_arena_new();
    tc_status st = hold_all(t, c, a, err);
    *failed = false;
    if (st == TC_OK)
        st = disqualify(t, c, a, failed, err);
    if (st == TC_OK && c->done >= TC_TUNE_MIN_ROUNDS)
        st = settle(t, c, a, err);
    tc_arena_free(a);
    return st;
}

tc_status tc_tune_in_turns(tc_tune *t, const int *samples, int n, bool *held, bool *failed, tc_error *err) {
    contest c = {.n = n};
    memcpy(c.at, samples, sizeof *samples * (size_t)n);
    tc_status st = fight(t, &c, failed, err);
    *held = st == TC_OK && c.done >= TC_TUNE_MIN_ROUNDS;
    return st;
}

/* *settled: there is nothing left to find out, or nothing can be. *failed: one of them is out. */
static tc_status one(tc_tune *t, int i, bool *settled, bool *failed, tc_error *err) {
    contest c = {.n = 1};
    *settled = true;
    *failed = false;
    c.at[0] = tc_tune_incumbent(t, i);
    if (c.at[0] < 0)
        c.at[0] = first_of(t, i, usable);
    if (c.at[0] < 0)
        return TC_OK;
    c.n += rivals_of(t, i, c.at[0], c.at + 1);
    if (c.n == 1 && t->samples.data[c.at[0]].rounds > 0)
        return TC_OK;
    tc_status st = fight(t, &c, failed, err);
    *settled = !*failed && c.cut;
    return st;
}

tc_status tc_tune_contest(tc_tune *t, int i, tc_error *err) {
    bool settled = false, failed;
    int held = 0, failures = 0;
    double t0 = tc_now();
    tc_status st = TC_OK;
    t->task[i].contested = t->state[i].trials;
    while (held < CONTESTS && failures < MOST_FAILED && st == TC_OK && !settled && !tc_tune_interrupted(t)) {
        st = one(t, i, &settled, &failed, err);
        held += !failed;
        failures += failed;
    }
    tc_tune_rerank(t, i);
    if (failures)
        tc_tune_reopen(t, i);
    t->report.contest_seconds += tc_now() - t0;
    return st;
}

/* Where a run in turns takes long, on a busy machine or for a big kernel, the last word at the end has to do. */
static bool affordable(const tc_tune *t) {
    return t->o.measure.mode == TC_MEAS_SIMULATED || t->report.contest_seconds <= most_time * (tc_now() - t->started);
}

bool tc_tune_contest_due(const tc_tune *t, int i) {
    bool done = tc_tune_reaches_roof(t, i) && !t->state[i].in_turns;
    return done || (t->state[i].trials - t->task[i].contested >= EVERY && affordable(t));
}

/* ---- kernels beside those that they could run in place of ---- */

/* The best of task i joins, once. false: it has none, or there is no place. */
static bool join(const tc_tune *t, int i, contest *c) {
    int at = first_of(t, i, eligible);
    for (int k = 0; k < c->n; k++)
        if (c->at[k] == at)
            return true;
    if (at < 0 || c->n == MOST)
        return false;
    c->at[c->n++] = at;
    return true;
}

/* The build judges: what is stored is what each kernel took in each round. */
static tc_status keep(tc_tune *t, const contest *c, tc_arena *a, tc_error *err) {
    tc_record *r = tc_arena_dup(a, c->record, (size_t)c->n * sizeof *r);
    int64_t now;
    TC_TRY(tc_meas_db_next_ms(t->db, TC_MEAS_BESIDE, &now, err));
    for (int k = 0; k < c->n; k++) {
        r[k].mode = TC_MEAS_BESIDE;
        r[k].when_ms = now;
    }
    return tc_meas_db_insert(t->db, r, (size_t)c->n, err);
}

tc_status tc_tune_beside(tc_tune *t, int i, tc_error *err) {
    const tc_tune_state *s = &t->state[i];
    contest c = {0};
    bool all = join(t, i, &c), failed = false;
    for (int k = 0; k < s->nalong && all; k++)
        all = (s->along[k] >= i || !t->state[s->along[k]].ninstead) &&
              join(t, s->along[k], &c); /* else that one's turn was first */
    for (int k = 0; k < s->ninstead && all; k++)
        all = join(t, s->instead[k], &c);
    if (!s->ninstead || !all || tc_tune_behind(t, i) || tc_meas_mode_is_apart(t->o.measure.mode))
        return TC_OK;
    tc_arena *a = tc_arena_new();
    tc_status st = hold(t, &c, WIDE_ROUNDS, a, err);
    if (st == TC_OK)
        st = disqualify(t, &c, a, &failed, err);
    for (int k = 0; k < c.n && failed; k++) {
        tc_tune_rerank(t, t->samples.data[c.at[k]].task);
        tc_tune_reopen(t, t->samples.data[c.at[k]].task);
    }
    if (st == TC_OK && !failed && c.done >= TC_TUNE_MIN_ROUNDS)
        st = keep(t, &c, a, err);
    tc_arena_free(a);
    return st;
}

/* ---- the machine ---- */

void tc_tune_watch(tc_tune *t) {
    t->report.calm = tc_meas_get_calm(t->meas);
    t->report.unrest = tc_meas_get_unrest(t->meas);
    if (!t->report.calm.disturbed || t->warned)
        return;
    t->warned = true;
    tc_strbuf text = {0};
    tc_meas_unrest_text(&t->report.unrest, &text);
    tc_log(
        TC_LOG_WARN,
        "%s. Other programs use it, or its clock rate falls. Candidates get more repeats, and runs in turns decide which of them "
        "wins; a quiet machine gives better results",
        tc_sb_str(&text));
    tc_strbuf_free(&text);
}
