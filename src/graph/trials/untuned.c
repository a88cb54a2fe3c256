/* Implements untuned.h. Two models are built: one of default schedules, one of the best admitted records. They run in turns by
 * kernel, and each kernel is judged (tune/kernel/gain.h). Where some keep the default schedule, the second model is built anew
 * with that, and its kernels run once more. Whole runs in turns say what was gained. */
#include "graph/trials/untuned.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/model/admit.h"
#include "graph/model/parts.h"
#include "graph/trials/turns.h"
#include "measure/measure.h"
#include "measure/records/admission.h"
#include "support/clock/clock.h"
#include "support/log.h"
#include "support/system/stop.h"
#include "te/text.h"

/* Rounds in turns, and at most where kernels cannot be told apart. Chosen. */
enum { ROUNDS = 60, MOST_ROUNDS = 4 * ROUNDS, MOST_MIXES = 3 };
/* Of what time is left: when the comparison with all records ends, and when the one with the records that won ends. Whole runs have
 * the rest. Chosen. */
static const double records_share = 0.35, mixes_share = 0.65;
/* Seconds that a record has to gain in a run. Chosen: what one or two lines from another core's cache cost. The next build may place
 * them otherwise. */
static const double least_seconds = 100e-9;

enum { NOW, BEFORE, SIDES };

typedef struct untuned {
    const tc_graph_untuned_options *o; /* its deadline: when the fewest rounds have to be done */
    double began, until;               /* until: when the others end */
    tc_arena *a;
    tc_tune_gain *out;
    tc_graph_admission admitted;
    tc_graph_model *m[SIDES];
    tc_graph_tensor *in;
    tc_graph_choice *choices; /* by kernel: of m[NOW] */
    tc_tune_pair *pairs;      /* by kernel; record NULL: there is nothing to compare */
} untuned;

static tc_status cannot(const untuned *x, const char *why) {
    x->out->why = why;
    return TC_OK;
}

/* ---- the models ---- */

static tc_status build(const untuned *x, const tc_graph_program *p, const tc_graph_choice *choices, tc_graph_model **out,
                       tc_error *err) {
    tc_graph_build_options o = x->o->build;
    o.db = NULL;
    o.choices = choices;
    tc_graph_model_free(*out);
    *out = NULL;
    return tc_graph_model_build(p, &o, out, err);
}

/* Every kernel with its default schedule. */
static tc_status build_untuned(untuned *x, const tc_graph_program *p, tc_error *err) {
    return build(x, p, TC_NEW_N(x->a, tc_graph_choice, p->ntask), &x->m[BEFORE], err);
}

static tc_status build_both(untuned *x, tc_error *err) {
    const tc_graph_program *p = x->o->program;
    TC_TRY(tc_graph_admit(p, &x->o->build, 1, x->a, &x->admitted, err));
    x->choices = tc_arena_dup(x->a, x->admitted.choices, (size_t)p->ntask * sizeof *x->choices);
    TC_TRY(build(x, p, x->choices, &x->m[NOW], err));
    return build_untuned(x, p, err);
}

static bool same_code(const untuned *x, int i) {
    const tc_graph_unit *now = &x->m[NOW]->units[i], *before = &x->m[BEFORE]->units[i];
    return now->size == before->size && memcmp(now->obj, before->obj, now->size) == 0;
}

/* What there is to compare. *any: something. */
static void pair_all(untuned *x, bool *any) {
    int n = x->o->program->ntask;
    x->pairs = TC_NEW_N(x->a, tc_tune_pair, n);
    *any = false;
    for (int i = 0; i < n; i++) {
        const tc_graph_kernel *k = &x->m[NOW]->kernels[i];
        bool differs = k->source == TC_GRAPH_FROM_RECORD && !same_code(x, i);
        x->out->nkept += !differs;
        *any |= differs;
        if (differs && !x->choices[i].upto)
            x->pairs[i].record = &x->choices[i].records[0];
    }
}

/* ---- kernels ---- */

static double *of_launch(const untuned *x, const tc_graph_turns *t, int kernel, int side) {
    double *seconds = tc_arena_dup(x->a, tc_graph_turns_of(t, kernel, side), (size_t)t->done * sizeof *seconds);
    for (int r = 0; r < t->done; r++)
        seconds[r] /= x->m[side]->kernels[kernel].count;
    return seconds;
}

static void take_times(untuned *x, const tc_graph_turns *t) {
    for (int i = 0; i < x->o->program->ntask; i++)
        if (x->pairs[i].record) {
            x->pairs[i].seconds = of_launch(x, t, i, NOW);
            x->pairs[i].before = of_launch(x, t, i, BEFORE);
            x->pairs[i].rounds = t->done;
            x->pairs[i].least = least_seconds / x->m[NOW]->kernels[i].count;
        }
}

static bool any_open(const untuned *x) {
    bool any = false;
    for (int i = 0; i < x->o->program->ntask; i++)
        any |= x->pairs[i].record && tc_tune_pair_is_open(&x->pairs[i], x->a);
    return any;
}

static void judge(untuned *x) {
    for (int i = 0; i < x->o->program->ntask; i++)
        if (x->pairs[i].record) {
            tc_tune_pair_judge(&x->pairs[i], x->o->seed + (uint64_t)i);
            x->out->nkept += x->pairs[i].kept;
        }
}

/* A run by kernel follows one that nobody watches: the first kernels find what a run of the same model left, as they do in use. */
static tc_graph_turns turns_of(const untuned *x, int rounds, double until) {
    return (tc_graph_turns){.m = x->m,
                            .whole = true,
                            .n = SIDES,
                            .in = x->in,
                            .rounds = rounds,
                            .until = until,
                            .last = x->o->build.deadline,
                            .least = TC_TUNE_MIN_ROUNDS,
                            .stop = x->o->build.stop};
}

/* Too few rounds for a verdict. */
static tc_status too_few(const untuned *x) {
    return cannot(x, tc_is_raised(x->o->build.stop) ? "it was stopped" : "too little time was left for it");
}

/* As many rounds as tell: on a busy machine, more. */
static tc_status run_kernels(untuned *x, tc_graph_turns *t, tc_error *err) {
    int before;
    do {
        before = t->done;
        TC_TRY(tc_graph_turns_take(t, ROUNDS, err));
        take_times(x, t);
    } while (t->done - before == ROUNDS && t->done < t->rounds && any_open(x));
    return TC_OK;
}

static tc_status compare_kernels(untuned *x, tc_error *err) {
    tc_graph_turns t = turns_of(x, MOST_ROUNDS, x->began + records_share * (x->until - x->began));
    t.kernels = true;
    tc_status s = run_kernels(x, &t, err);
    if (s == TC_OK && t.done < TC_TUNE_MIN_ROUNDS)
        s = too_few(x);
    else if (s == TC_OK)
        judge(x);
    free(t.seconds);
    return s;
}

/* ---- keeping the verdicts ---- */

/* Its record in the database; NULL: there is none. */
static tc_status find_default(const untuned *x, const tc_graph_kernel *k, const tc_record **out, tc_error *err) {
    tc_digest target = tc_meas_text_hash(x->o->build.target->text);
    tc_meas_filter f = {.workload_hash = k->form_hash.hex,
                        .target_hash = target.hex,
                        .threads = tc_graph_threads_of(&x->o->build),
                        .real = true,
                        .verified = true};
    tc_meas_records r;
    *out = NULL;
    TC_TRY(tc_meas_db_select(x->o->build.db, x->a, &f, &r, err));
    for (size_t i = 0; i < r.len && !*out; i++)
        if (strcmp(r.data[i].trace, k->trace) == 0)
            *out = &r.data[i];
    return TC_OK;
}

static tc_meas_input input_of(const untuned *x, int i) {
    const tc_graph_kernel *k = &x->m[BEFORE]->kernels[i];
    return (tc_meas_input){.workload = tc_te_text(x->a, x->m[BEFORE]->units[i].used->workload),
                           .workload_hash = k->form_hash,
                           .trace = k->trace,
                           .again = true,
                           .cold = x->pairs[i].record->mode == TC_MEAS_COLD};
}

/* Default schedules that are to be used, and that no search has measured: in workers, like everything that a database has. */
static tc_status measure(untuned *x, const int *kernels, size_t n, tc_error *err) {
    tc_meas_options o = {.target = x->o->build.target->text,
                         .threads = tc_graph_threads_of(&x->o->build),
                         .seed = x->o->seed,
                         .deadline = x->o->build.deadline,
                         .stop = x->o->build.stop};
    tc_meas_input *in = TC_NEW_N(x->a, tc_meas_input, n);
    tc_record *r = TC_NEW_N(x->a, tc_record, n);
    tc_meas *m;
    for (size_t i = 0; i < n; i++)
        in[i] = input_of(x, kernels[i]);
    TC_TRY(tc_meas_new(&o, &m, err));
    tc_status s = tc_meas_batch(m, in, n, x->a, r, NULL, NULL, err);
    tc_meas_free(m);
    if (s == TC_OK)
        s = tc_meas_db_insert_measured(x->o->build.db, r, n, err);
    for (size_t i = 0; i < n && s == TC_OK; i++)
        if (r[i].id && r[i].verified)
            x->pairs[kernels[i]].untuned = &r[i];
    return s;
}

static tc_status find_defaults(untuned *x, tc_error *err) {
    int n = x->o->program->ntask, *missing = TC_NEW_N(x->a, int, n);
    size_t nmissing = 0;
    for (int i = 0; i < n; i++) {
        if (!x->pairs[i].record)
            continue;
        TC_TRY(find_default(x, &x->m[BEFORE]->kernels[i], &x->pairs[i].untuned, err));
        if (x->pairs[i].kept && !x->pairs[i].untuned)
            missing[nmissing++] = i;
    }
    return nmissing ? measure(x, missing, nmissing, err) : TC_OK;
}

static tc_status put(const untuned *x, int i, int64_t now, tc_tune_verdicts *out, tc_error *err) {
    const tc_graph_unit *u = &x->m[BEFORE]->units[i];
    tc_meas_key *keys = TC_NEW_N(x->a, tc_meas_key, u->nform);
    for (int f = 0; f < u->nform; f++)
        keys[f] = (tc_meas_key){.workload = u->form[f].hash,
                                .target = tc_meas_text_hash(x->o->build.target->text),
                                .threads = tc_graph_threads_of(&x->o->build)};
    return tc_tune_pair_put(&x->pairs[i], x->o->build.db, keys, u->nform, now, x->a, out, err);
}

static tc_status store(untuned *x, tc_error *err) {
    tc_tune_verdicts all = {0};
    int64_t now;
    TC_TRY(find_defaults(x, err));
    TC_TRY(tc_meas_db_next_ms(x->o->build.db, TC_MEAS_IN_GRAPH, &now, err));
    tc_status s = TC_OK;
    for (int i = 0; i < x->o->program->ntask && s == TC_OK; i++)
        if (x->pairs[i].record && x->pairs[i].untuned)
            s = put(x, i, now, &all, err);
    if (s == TC_OK && all.len)
        s = tc_meas_db_insert(x->o->build.db, all.data, all.len, err);
    tc_vec_free(&all);
    return s;
}

/* ---- the network ---- */

/* As it is built from now on. */
static tc_status build_chosen(untuned *x, tc_error *err) {
    bool changed = false;
    for (int i = 0; i < x->o->program->ntask; i++)
        if (x->pairs[i].record && x->pairs[i].kept && x->choices[i].n) {
            x->choices[i] = (tc_graph_choice){0};
            changed = true;
        }
    return changed ? build(x, x->o->program, x->choices, &x->m[NOW], err) : TC_OK;
}

/* Which kernels have a record that is slower here beyond doubt. What is stored of them is what they took here. */
static int drop_slower(untuned *x, const tc_graph_turns *t) {
    int n = 0;
    for (int i = 0; i < x->o->program->ntask; i++) {
        tc_tune_pair *p = &x->pairs[i], here = *p;
        if (!p->record || p->kept)
            continue;
        here.seconds = of_launch(x, t, i, NOW);
        here.before = of_launch(x, t, i, BEFORE);
        here.rounds = t->done;
        tc_tune_pair_judge(&here, x->o->seed + (uint64_t)i);
        if (here.kept && here.speedup < 1 && !tc_tune_pair_is_open(&here, x->a)) {
            *p = here;
            n++;
        }
    }
    x->out->nkept += n;
    return n;
}

/* A record was compared among the records of all kernels. Some of these are not used: where the kernel before it runs another way,
 * its inputs may lie in another core's cache, and what was faster may be slower. So those that stay are compared once more. */
static tc_status settle_mix(untuned *x, tc_error *err) {
    int dropped = x->out->nkept;
    for (int mix = 0; mix < MOST_MIXES && dropped && x->out->nkept < x->out->nkernel; mix++) {
        TC_TRY(build_chosen(x, err));
        tc_graph_turns t = turns_of(x, ROUNDS, x->began + mixes_share * (x->until - x->began));
        t.kernels = true;
        tc_status s = tc_graph_turns_take(&t, ROUNDS, err);
        dropped = s == TC_OK && t.done >= TC_TUNE_MIN_ROUNDS ? drop_slower(x, &t) : 0;
        free(t.seconds);
        TC_TRY(s);
    }
    return build_chosen(x, err);
}

/* Kernels that were faster each, and together are not: a build had better leave all as they were. */
static tc_status keep_all(untuned *x, tc_error *err) {
    for (int i = 0; i < x->o->program->ntask; i++)
        x->pairs[i].kept = true;
    x->out->nkept = x->out->nkernel;
    x->out->verdict = (tc_tune_verdict){0};
    if (x->o->apart != x->o->program)
        TC_TRY(build_untuned(x, x->o->program, err));
    return store(x, err);
}

static tc_status compare_whole(untuned *x, tc_error *err) {
    if (x->o->apart != x->o->program)
        TC_TRY(build_untuned(x, x->o->apart, err));
    tc_graph_turns t = turns_of(x, ROUNDS, x->until);
    tc_status s = tc_graph_turns_take(&t, ROUNDS, err);
    if (s == TC_OK && t.done < TC_TUNE_MIN_ROUNDS)
        s = too_few(x);
    else if (s == TC_OK)
        x->out->verdict = tc_tune_judge(tc_graph_turns_of(&t, -1, NOW), tc_graph_turns_of(&t, -1, BEFORE), t.done, x->o->seed);
    free(t.seconds);
    if (s == TC_OK && x->out->verdict.faster > 0 && x->out->verdict.sign_p < TC_TUNE_SURE)
        s = keep_all(x, err);
    return s;
}

/* ---- all of it ---- */

static tc_status make_inputs(untuned *x, tc_error *err) {
    tc_graph_tensor *in = tc_xcalloc((size_t)x->m[NOW]->nin + 1, sizeof *in);
    tc_status s = tc_graph_model_random_inputs(x->m[NOW], NULL, x->o->seed, in, err);
    if (s == TC_OK)
        x->in = in;
    else
        free(in);
    return s;
}

static tc_status compare(untuned *x, tc_error *err) {
    bool any;
    TC_TRY(tc_clock_check(TC_CLOCK_CALLS, err));
    TC_TRY(build_both(x, err));
    pair_all(x, &any);
    if (!any)
        return TC_OK;
    TC_TRY(make_inputs(x, err));
    TC_TRY(compare_kernels(x, err));
    if (x->out->why)
        return TC_OK;
    tc_status settled = settle_mix(x, err);
    TC_TRY(store(x, settled == TC_OK ? err : NULL));
    TC_TRY(settled);
    return x->out->nkept < x->out->nkernel ? compare_whole(x, err) : TC_OK;
}

static void release(untuned *x) {
    for (int i = 0; x->in && i < x->o->program->nin; i++)
        tc_graph_tensor_free(&x->in[i]);
    free(x->in);
    for (int i = 0; i < SIDES; i++)
        tc_graph_model_free(x->m[i]);
}

tc_status tc_graph_untuned_run(const tc_graph_untuned_options *o, tc_arena *a, tc_tune_gain *out, tc_error *err) {
    double begin = tc_now();
    tc_graph_untuned_options own = *o;
    untuned x = {.o = &own, .began = begin, .until = o->build.deadline, .a = a, .out = out};
    tc_error why = {0};
    own.build.deadline = tc_tune_gain_last(x.until);
    *out = (tc_tune_gain){.nkernel = o->program->ntask};
    tc_status s = compare(&x, &why);
    if (s != TC_OK)
        out->why = tc_is_raised(o->build.stop)      ? "it was stopped"
                   : tc_now() >= own.build.deadline ? "too little time was left for it"
                                                    : tc_arena_strdup(a, why.msg);
    release(&x);
    out->seconds = tc_now() - begin;
    return tc_ran_out() ? tc_fail(err, s, "%s", why.msg) : TC_OK;
}
