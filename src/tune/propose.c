/* The candidates of a round, in phases.
 *
 * A first round is constructed and transferred, for which no model is needed; what is left is drawn. From then on every phase has
 * a small share of each round, and the rest goes to the phases by what they paid: how much a trial of theirs made the best
 * better, and how often it came near it. A phase that has nothing new leaves its share to the others.
 *
 * For comparison there are two plain searches: random sampling, and evolution with the constants of Ansor (OSDI'20) and nothing
 * else. */
#include <math.h>
#include <string.h>

#include "tune/propose.h"

/* But for Ansor's, numbers and shares here were chosen and not measured apart; the search benchmark (benchmarks/README.md)
 * judges them together. */
enum { GENERATIONS = 3, SEEDS = 32, NEIGHBOURS = 160, STARTS = 4 };
/* A generation, by how many candidates are wanted of it: what a search costs stays in proportion to what it brings. */
enum { PER_CANDIDATE = 48, LEAST_POPULATION = 96, MOST_POPULATION = 384 };
/* Of TVM 0.18's auto_scheduler. */
enum { ANSOR_POPULATION = 2048, ANSOR_GENERATIONS = 4 };

static const double first_shares[TC_TUNE_NPHASES] = {
    [TC_TUNE_CONSTRUCT] = 0.6, [TC_TUNE_TRANSFER] = 0.25, [TC_TUNE_DESCENT] = 0, [TC_TUNE_EVOLVE] = 0.15};
static const double least_shares[TC_TUNE_NPHASES] = {
    [TC_TUNE_CONSTRUCT] = 0.08, [TC_TUNE_TRANSFER] = 0.05, [TC_TUNE_DESCENT] = 0.25, [TC_TUNE_EVOLVE] = 0.2};
/* Half of what a phase was paid is forgotten after two rounds (0.7 squared); coming within 5 % of the best is worth a gain of
 * half a per cent. */
static const double memory = 0.7, near = 1.05, near_pay = 0.005;

/* ---- programs ---- */

static bool is_new(const form *k, const tc_proposals *p, uint64_t h) {
    for (int j = 0; j < p->n; j++)
        if (p->c[j].hash == h)
            return false;
    return h && !tc_tune_known(k, h);
}

static void propose_one(tc_proposals *p, tc_candidate c, tc_tune_phase phase) {
    p->phase[p->n] = phase;
    p->c[p->n++] = c;
}

/* Those of tr that are new programs, in order, until there are `want` proposals. */
static void propose_in_order(tc_tune *t, form *k, tc_proposals *p, tc_trace *const *tr, int n, int want, tc_tune_phase phase) {
    tc_candidate *c = TC_NEW_N(p->arena, tc_candidate, want + 1);
    for (int from = 0, m; from < n && p->n < want && !tc_tune_stopped(t); from += m) {
        m = TC_MIN(n - from, want);
        for (int i = 0; i < m; i++)
            c[i] = (tc_candidate){.trace = tr[from + i]};
        tc_tune_realise(t, k, c, m, NULL);
        for (int i = 0; i < m && p->n < want; i++)
            if (is_new(k, p, c[i].hash))
                propose_one(p, c[i], phase);
        tc_tune_tend(t);
    }
}

/* ---- construction and transfer ---- */

static void construct(tc_tune *t, form *k, tc_proposals *p, int want) {
    int cap = 4 * (want - p->n) + (int)k->seen.len; /* those of earlier rounds come first again */
    tc_trace **tr = TC_NEW_N(p->arena, tc_trace *, cap);
    int n = tc_space_construct(k->space, p->arena, tr, TC_MIN(cap, 512));
    propose_in_order(t, k, p, tr, n, want, TC_TUNE_CONSTRUCT);
}

static void transfer(tc_tune *t, form *k, tc_proposals *p, int want) {
    enum { CAP = 96 };
    tc_trace **tr = TC_NEW_N(p->arena, tc_trace *, CAP);
    int n = tc_tune_relatives(t, k, p->arena, tr, CAP);
    propose_in_order(t, k, p, tr, n, want, TC_TUNE_TRANSFER);
}

/* ---- descent ---- */

static int by_score(const void *a, const void *b) {
    const tc_candidate *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static bool has_program(const tc_candidate *c, int n, uint64_t hash) {
    for (int i = 0; i < n; i++)
        if (c[i].hash == hash)
            return true;
    return false;
}

/* New programs next to `from`, each once, the ones that promise most first. Returns how many. */
static int look_around(tc_tune *t, form *k, const tc_proposals *p, const tc_trace *from, tc_candidate *out) {
    tc_trace **tr = TC_NEW_N(p->arena, tc_trace *, NEIGHBOURS);
    double *score = TC_NEW_N(p->arena, double, NEIGHBOURS);
    int n = tc_space_neighbours(k->space, from, &t->rng, p->arena, tr, NEIGHBOURS), m = 0;
    tc_scorer sc = tc_tune_scorer(t, k);
    sc.begin(sc.user, n);
    for (int i = 0; i < n; i++)
        out[i] = (tc_candidate){.trace = tr[i]};
    tc_tune_realise(t, k, out, n, &sc);
    sc.score(sc.user, n, score);
    for (int i = 0; i < n; i++) {
        out[i].score = score[i];
        if (is_new(k, p, out[i].hash) && !has_program(out, m, out[i].hash))
            out[m++] = out[i];
    }
    qsort(out, (size_t)m, sizeof *out, by_score);
    tc_tune_scorer_free(&sc);
    return m;
}

/* From the best; from those behind it when everything around the best is known. */
static void descend(tc_tune *t, form *k, tc_proposals *p, int want) {
    const tc_trace *start[STARTS];
    int nstart = tc_tune_best_traces(t, k, p->arena, start, STARTS);
    tc_candidate *c = TC_NEW_N(p->arena, tc_candidate, NEIGHBOURS + 1);
    for (int s = 0; s < nstart && p->n < want && !tc_tune_stopped(t); s++) {
        int n = look_around(t, k, p, start[s], c);
        for (int i = 0; i < n && p->n < want; i++)
            propose_one(p, c[i], TC_TUNE_DESCENT);
        tc_tune_tend(t);
    }
}

/* ---- evolution ---- */

static int by_seconds(const void *a, const void *b) {
    const sample *x = *(const sample *const *)a, *y = *(const sample *const *)b;
    return x->seconds != y->seconds ? (x->seconds < y->seconds ? -1 : 1) : (x->id > y->id) - (x->id < y->id);
}

int tc_tune_best_traces(const tc_tune *t, const form *k, tc_arena *a, const tc_trace **out, int cap) {
    const sample **s = TC_NEW_N(a, const sample *, k->samples.len + 1);
    int n = 0, m = 0;
    for (size_t i = 0; i < k->samples.len; i++)
        if (isfinite(t->samples.data[k->samples.data[i]].seconds))
            s[n++] = &t->samples.data[k->samples.data[i]];
    qsort(s, (size_t)n, sizeof *s, by_seconds);
    for (int i = 0; i < n && m < cap; i++) {
        tc_trace *tr;
        if (tc_trace_parse(a, "record", s[i]->trace, &tr, NULL) == TC_OK)
            out[m++] = tr;
    }
    return m;
}

static tc_space_options evolution_of(tc_tune *t, int want) {
    tc_space_options o = tc_space_options_default();
    o.population = TC_MAX(LEAST_POPULATION, TC_MIN(PER_CANDIDATE * want, MOST_POPULATION));
    o.generations = GENERATIONS;
    if (t->o.skip_phases & TC_TUNE_PHASE_BIT(CONSTRUCT))
        o.constructed = 0;
    if (t->o.search == TC_TUNE_ANSOR) {
        o.population = ANSOR_POPULATION;
        o.generations = ANSOR_GENERATIONS;
        o.mutate = 0.85;
        o.crossover = 0;
        o.epsilon = 0.05;
        o.seeded = 0.2;
        o.constructed = 0;
    } else if (t->o.search == TC_TUNE_RANDOM) {
        o.population = 2 * want + 16;
        o.generations = 0;
        o.epsilon = 0;
        o.seeded = 0;
        o.constructed = 0;
    }
    o.threads = tc_tune_workers(t);
    o.stop = t->o.stop;
    o.meanwhile = tc_tune_meanwhile(t);
    return o;
}

/* The plain searches do not know the analytic model: without a trained one they draw. */
static bool blind(const tc_tune *t) {
    return t->o.search == TC_TUNE_RANDOM || (t->o.search == TC_TUNE_ANSOR && !tc_cost_trusted(t->model));
}

static tc_status evolve(tc_tune *t, form *k, tc_proposals *p, int want, tc_error *err) {
    TC_VEC(uint64_t) skip = {0};
    for (size_t j = 0; j < k->seen.len; j++)
        tc_push(&skip, k->seen.data[j]);
    for (int j = 0; j < p->n; j++)
        tc_push(&skip, p->c[j].hash);
    if (skip.len)
        qsort(skip.data, skip.len, sizeof *skip.data, tc_tune_by_hash);
    const tc_trace *seeds[SEEDS];
    tc_scorer sc = tc_tune_scorer(t, k);
    tc_space_query q = {.options = evolution_of(t, want - p->n),
                        .scorer = blind(t) ? NULL : &sc,
                        .rng = &t->rng,
                        .seeds = seeds,
                        .nseeds = tc_tune_best_traces(t, k, p->arena, seeds, SEEDS),
                        .seen = skip.data,
                        .nseen = skip.len,
                        .want = want - p->n,
                        .arena = p->arena};
    q.options.lowered = &k->lowered;
    tc_space_found found;
    tc_status st = tc_space_search(k->space, &q, &found, err);
    for (int i = 0; st == TC_OK && i < found.n; i++, p->n++) {
        p->c[p->n] = found.data[i];
        p->phase[p->n] = TC_TUNE_EVOLVE;
    }
    tc_tune_scorer_free(&sc);
    tc_vec_free(&skip);
    return st;
}

/* ---- shares ---- */

static bool runs(const tc_tune *t, tc_tune_phase phase) {
    return !(t->o.skip_phases & 1u << phase);
}

/* What phase gets of a round, before others leave theirs to it. */
static double share_of(const tc_tune *t, const form *k, tc_tune_phase phase) {
    if (k->rounds == 0)
        return first_shares[phase];
    double paid = 0, least = 0;
    for (int i = 0; i < TC_TUNE_NPHASES; i++)
        if (runs(t, (tc_tune_phase)i)) {
            paid += k->pay[i];
            least += least_shares[i];
        }
    double part = paid > 0 ? k->pay[phase] / paid : least_shares[phase] / least;
    return least_shares[phase] + (1 - least) * part;
}

static tc_status run_phase(tc_tune *t, form *k, tc_proposals *p, tc_tune_phase phase, int want, tc_error *err) {
    if (p->n >= want || !runs(t, phase) || tc_tune_stopped(t))
        return TC_OK;
    switch (phase) {
    case TC_TUNE_CONSTRUCT:
        construct(t, k, p, want);
        break;
    case TC_TUNE_TRANSFER:
        transfer(t, k, p, want);
        break;
    case TC_TUNE_DESCENT:
        descend(t, k, p, want);
        break;
    case TC_TUNE_EVOLVE:
        return evolve(t, k, p, want, err);
    case TC_TUNE_NPHASES:
        break;
    }
    return TC_OK;
}

/* Where no phase that runs can begin, there is still the schedule of untuned kernels. */
static tc_status begin_somewhere(tc_tune *t, form *k, tc_proposals *p, int want, tc_error *err) {
    tc_trace *first;
    if (p->n > 0 || k->rounds > 0)
        return TC_OK;
    TC_TRY(tc_space_default(k->space, p->arena, &first, err));
    propose_in_order(t, k, p, &first, 1, want, TC_TUNE_CONSTRUCT);
    return TC_OK;
}

static tc_status run_phases(tc_tune *t, form *k, tc_proposals *p, int want, tc_error *err) {
    static const tc_tune_phase order[] = {TC_TUNE_TRANSFER, TC_TUNE_CONSTRUCT, TC_TUNE_DESCENT, TC_TUNE_EVOLVE};
    double due = 0;
    for (size_t i = 0; i < TC_LEN(order); i++) {
        due += runs(t, order[i]) ? share_of(t, k, order[i]) * want : 0;
        TC_TRY(run_phase(t, k, p, order[i], TC_MIN(want, (int)ceil(due)), err));
    }
    for (size_t i = TC_LEN(order); i-- > 0;) /* what is left over */
        TC_TRY(run_phase(t, k, p, order[i], want, err));
    return begin_somewhere(t, k, p, want, err);
}

tc_status tc_tune_propose(tc_tune *t, form *k, tc_proposals *p, int want, tc_error *err) {
    if (!k->space)
        TC_TRY(tc_space_new(k->w, &t->machine, &k->space, err));
    p->c = TC_NEW_N(p->arena, tc_candidate, want);
    p->phase = TC_NEW_N(p->arena, tc_tune_phase, want);
    return t->o.search == TC_TUNE_PHASES ? run_phases(t, k, p, want, err) : evolve(t, k, p, want, err);
}

/* The model was asked when the candidate was found. */
static bool has_score(const tc_tune *t, tc_tune_phase phase) {
    return phase == TC_TUNE_DESCENT || (phase == TC_TUNE_EVOLVE && !blind(t));
}

void tc_tune_predict(tc_tune *t, form *k, tc_proposals *p) {
    p->score = TC_NEW_N(p->arena, double, p->n);
    p->predicted = tc_tune_can_score(t) && p->n > 0;
    if (!p->predicted)
        return;
    tc_candidate *open = TC_NEW_N(p->arena, tc_candidate, p->n);
    double *score = TC_NEW_N(p->arena, double, p->n);
    int n = 0, m = 0;
    for (int i = 0; i < p->n; i++)
        if (!has_score(t, p->phase[i]))
            open[n++] = p->c[i];
    tc_scorer sc = tc_tune_scorer(t, k);
    sc.begin(sc.user, n);
    tc_tune_realise(t, k, open, n, &sc);
    sc.score(sc.user, n, score);
    tc_tune_scorer_free(&sc);
    for (int i = 0; i < p->n; i++)
        p->score[i] = has_score(t, p->phase[i]) ? p->c[i].score : score[m++];
}

/* ---- pay ---- */

void tc_tune_pay(tc_tune *t, form *k, const tc_proposals *p, const tc_record *r, double before) {
    double pay[TC_TUNE_NPHASES] = {0}, best = before;
    int tried[TC_TUNE_NPHASES] = {0};
    for (int i = 0; i < p->n; i++) {
        tc_tune_phase ph = p->phase[i];
        if (r[i].error == TC_MEAS_INTERRUPTED)
            continue;
        tried[ph]++;
        t->report.tried[ph]++;
        if (!tc_record_ok(&r[i]) || !r[i].verified)
            continue;
        if (r[i].median < best) {
            pay[ph] += isfinite(best) ? log(best / r[i].median) : 0;
            best = r[i].median;
            t->report.improved[ph]++;
        }
        pay[ph] += r[i].median < near * best ? near_pay : 0;
    }
    for (int i = 0; i < TC_TUNE_NPHASES; i++)
        if (tried[i])
            k->pay[i] = isfinite(before) ? memory * k->pay[i] + (1 - memory) * pay[i] / tried[i] : 0; /* all are first once */
}
