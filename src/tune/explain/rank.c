/* Which cause comes first, and the sentence that says so. */
#include <math.h>
#include <stdlib.h>

#include "support/units.h"
#include "tune/explain/explain_int.h"

/* What a cause explains too, where both are suspected: it goes before them unless they save clearly more. */
static const struct {
    tc_tune_cause cause;
    unsigned covers;
} covering[] = {
    {TC_CAUSE_NO_VECTORS, 1U << TC_CAUSE_SMALL_TILE | 1U << TC_CAUSE_NO_UNROLL | 1U << TC_CAUSE_PACKING | 1U << TC_CAUSE_STRIDES},
    {TC_CAUSE_SPILL, 1U << TC_CAUSE_SMALL_TILE | 1U << TC_CAUSE_TAIL},
    {TC_CAUSE_STRIDES, 1U << TC_CAUSE_PACKING},
    {TC_CAUSE_SMALL_TILE, 1U << TC_CAUSE_NO_UNROLL},
};
#define CLEARLY 1.5 /* times what the covering cause saves */

static bool tells(const field *f, const entrant *e, tc_tune_cause c) {
    if (c == TC_CAUSE_OTHER)
        return e->t.kind != TC_TRIAL_CONDITION;
    return e->t.kind == TC_TRIAL_CONDITION ? e->t.cause == c : tune_has_less(f, e, c);
}

/* At least so much of the time is saved; what was tried once alone proves that it is slower, no more. */
static double surely_saves(const entrant *e) {
    return e->t.rounds ? 1 - e->t.high : TC_MIN(0, 1 - e->t.ratio);
}

/* The trial that saves most, of those that tell of the cause; -1: none does. */
static int best_trial(const field *f, tc_tune_cause c) {
    int best = -1;
    for (int i = 0; i < f->n; i++) {
        const entrant *e = &f->e[i];
        if (e->t.failed || e->screened <= 0 || !tells(f, e, c))
            continue;
        best = best >= 0 && surely_saves(&f->e[best]) >= surely_saves(e) ? best : i;
    }
    return best;
}

/* What any trial saves: what is the matter cannot cost much more, but where it is the same in all of them. */
static double most_saved(const field *f) {
    int best = f->unmeasured ? -1 : best_trial(f, TC_CAUSE_OTHER);
    return best < 0 ? 1 : TC_MAX(0, 1 - f->e[best].t.ratio);
}

static tc_tune_finding examine(const field *f, tc_tune_cause c) {
    tc_tune_finding x = {.cause = c, .trial = -1};
    x.estimate = tune_suspect(f, c, &x.evidence);
    if (x.estimate <= 0)
        return x;
    x.trial = f->unmeasured ? -1 : best_trial(f, c);
    if (x.trial < 0) {
        x.score = TC_MIN(x.estimate / 2, most_saved(f));
        return x;
    }
    x.saves = 1 - f->e[x.trial].t.ratio;
    x.low = x.score = surely_saves(&f->e[x.trial]);
    return x;
}

/* A tile that fits spills for another reason: what guards its partial tiles may well be that. */
static bool covers(const field *f, tc_tune_cause a, tc_tune_cause b) {
    if (a == TC_CAUSE_SPILL && f->own.spilled < 1)
        return false;
    for (size_t i = 0; i < TC_LEN(covering); i++)
        if (covering[i].cause == a && covering[i].covers >> b & 1)
            return true;
    return false;
}

static bool goes_before(const field *f, const tc_tune_finding *a, const tc_tune_finding *b) {
    if (a->score >= TC_TUNE_WORTH && covers(f, a->cause, b->cause))
        return a->score * CLEARLY >= b->score;
    if (b->score >= TC_TUNE_WORTH && covers(f, b->cause, a->cause))
        return b->score * CLEARLY < a->score;
    bool guessed = a->trial < 0, other_guessed = b->trial < 0;
    if (guessed != other_guessed && (guessed ? b : a)->score >= TC_TUNE_WORTH)
        return other_guessed; /* what was measured goes before what was guessed */
    return a->score > b->score;
}

static void insert(const field *f, tc_tune_explanation *x, tc_tune_finding found) {
    int at = x->nfinding++;
    while (at > 0 && goes_before(f, &found, &x->finding[at - 1])) {
        x->finding[at] = x->finding[at - 1];
        at--;
    }
    x->finding[at] = found;
}

/* Where no cause explains it, another schedule that is faster is all that can be told. */
static void add_other(const field *f, tc_tune_explanation *x) {
    int best = best_trial(f, TC_CAUSE_OTHER);
    if (best < 0 || (x->nfinding && x->finding[0].score >= TC_TUNE_WORTH))
        return;
    tc_tune_finding o = {.cause = TC_CAUSE_OTHER, .trial = best, .evidence = "", .saves = 1 - f->e[best].t.ratio};
    o.low = o.score = surely_saves(&f->e[best]);
    if (o.score >= TC_TUNE_WORTH)
        insert(f, x, o);
}

void tune_rank(const field *f, tc_tune_explanation *x) {
    for (int c = 0; c < TC_CAUSE_OTHER; c++) {
        tc_tune_finding found = examine(f, (tc_tune_cause)c);
        if (found.estimate > 0)
            insert(f, x, found);
    }
    if (!x->unmeasured)
        add_other(f, x);
    for (int i = 0; i < x->nfinding; i++)
        x->finding[i].counted = tune_counted(f, &x->finding[i]);
    x->helps = !x->disturbed && x->nfinding && x->finding[0].score >= TC_TUNE_WORTH;
}

/* ---- the answer ---- */

static const char *how_far(const field *f, const tc_tune_explanation *x) {
    char time[24];
    const char *roof = x->roof.memory_bound ? "bandwidth" : x->roof.unit ? x->roof.unit->text : "multiply-adds";
    return tc_arena_printf(f->arena, "It takes %s, at %.0f %% of the roof of %s", tc_text_time(time, x->seconds),
                           100 * x->roof.seconds / x->seconds, roof);
}

/* Data with denormal numbers are an assumption that somebody asked about: that they are no matter is an answer too. */
static const char *of_denormals(const field *f, const tc_tune_explanation *x) {
    for (int i = 0; i < x->nfinding; i++) {
        const tc_tune_finding *t = &x->finding[i];
        const entrant *e = t->trial >= 0 ? &f->e[t->trial] : NULL;
        if (t->cause == TC_CAUSE_DENORMALS && e && e->t.rounds && 1 - e->t.low < TC_TUNE_WORTH)
            return " Denormal numbers do not slow this kernel down on this CPU.";
    }
    return "";
}

static const char *remedy(const field *f, const tc_tune_finding *t) {
    const entrant *e = t->trial >= 0 ? &f->e[t->trial] : NULL;
    if (!e)
        return tc_arena_printf(f->arena, "no trial reduces it (what would have to change: %s)", tc_tune_cause_remedy(t->cause));
    return tc_arena_printf(f->arena, "with %s %s it takes %.1f %% less (%.1f to %.1f)", e->t.change.decision, e->t.change.what,
                           100 * t->saves, 100 * (1 - e->t.high), 100 * (1 - e->t.low));
}

/* What is first is a suspicion; the sentence begins with why. */
static const char *uncertain(const field *f, const tc_tune_explanation *x) {
    const tc_tune_finding *t = &x->finding[0];
    const char *first = x->nfinding && t->score >= TC_TUNE_WORTH
                            ? tc_arena_printf(f->arena, "First comes %s: %s; %s", tc_tune_cause_text(t->cause),
                                              tc_tune_cause_meaning(t->cause), remedy(f, t))
                            : "No trial saves more than that";
    tc_strbuf busy = {0};
    tc_meas_unrest_text(&x->unrest, &busy);
    const char *text = tc_arena_printf(f->arena, "No cause is certain, because %s. %s. %s. A quiet machine tells more.",
                                       tc_sb_str(&busy), first, how_far(f, x));
    tc_strbuf_free(&busy);
    return text;
}

static const char *unmeasured(const field *f, const tc_tune_explanation *x) {
    if (!x->nfinding)
        return tc_arena_printf(f->arena, "Nothing was measured (%s), and the program shows nothing that makes it slow.",
                               x->unmeasured);
    return tc_arena_printf(f->arena, "Nothing was measured (%s). Judged by the program, first comes %s: %s (%s).", x->unmeasured,
                           tc_tune_cause_text(x->finding[0].cause), tc_tune_cause_meaning(x->finding[0].cause),
                           x->finding[0].evidence);
}

void tune_answer(const field *f, tc_tune_explanation *x) {
    const tc_tune_finding *t = &x->finding[0];
    if (x->unmeasured)
        x->answer = unmeasured(f, x);
    else if (x->disturbed)
        x->answer = uncertain(f, x);
    else if (!x->helps)
        x->answer =
            tc_arena_printf(f->arena, "Nothing within the space helps: no change that was tried saves %.0f %% of the time. %s.%s",
                            100 * TC_TUNE_WORTH, how_far(f, x), of_denormals(f, x));
    else
        x->answer = tc_arena_printf(f->arena, "%c%s: %s; %s. %s.%s", tc_tune_cause_text(t->cause)[0] - 'a' + 'A',
                                    tc_tune_cause_text(t->cause) + 1, tc_tune_cause_meaning(t->cause), remedy(f, t),
                                    how_far(f, x), of_denormals(f, x));
}
