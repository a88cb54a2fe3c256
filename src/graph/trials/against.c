/* Implements against.h. Kernels are paired by the hash of their workload. If the base's schedule differs, it is checked in worker
 * processes and built into a second model. Both models run in turns, and are timed by kernel and as a whole. The verdicts follow
 * the rules of `compare`. */
#include "graph/trials/against.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/model/admit.h"
#include "graph/model/parts.h"
#include "graph/trials/turns.h"
#include "support/clock/clock.h"
#include "support/map.h"

typedef struct against {
    tc_graph_model *m, *was; /* was: with the base's schedules; NULL: nothing differs */
    const tc_graph_base *base;
    const tc_graph_tensor *in;
    const tc_graph_against_options *o;
    tc_graph_build_options build;
    tc_graph_choice *choices; /* by task: the base's schedule where it differs and may run here, else the one in use */
    tc_arena *a;
    tc_graph_against *out;
    tc_graph_turns turns;
} against;

enum { BASE, NOW };

const char *tc_graph_standing_text(tc_graph_standing s) {
    static const char *const texts[] = {
#define STANDING(id, text, meaning) text,
#include "graph/trials/standings.def"
#undef STANDING
    };
    return texts[s];
}

/* ---- can they be compared? ---- */

static tc_status check_same(const tc_graph_base *b, const char *what, const char *was, const char *now, tc_error *err) {
    return strcmp(was, now) == 0
               ? TC_OK
               : tc_fail(
                     err, TC_BAD_INPUT,
                     "%s has the %s '%s', but this run has '%s': only runs under the same conditions can be compared; add --%s "
                     "'%s', or make a new base",
                     b->path, what, was, now, what, was);
}

static tc_status check_model(const tc_graph_model *m, tc_error *err) {
    if (!m->program)
        return tc_fail(
            err, TC_BAD_INPUT,
            "a built library does not contain its schedules: compare the network that it was built from, with its database");
    if (m->used_up || !m->runs)
        return tc_fail(err, TC_BAD_INPUT,
                       "the model was built with last or only_to_save, so the base's schedules cannot be built beside it");
    if (m->rules.nsize)
        return tc_fail(err, TC_BAD_INPUT,
                       "sizes of the network vary, but only fixed sizes can be compared: give each a number when the network is "
                       "opened (--shape)");
    return TC_OK;
}

static tc_status check(const against *x, tc_error *err) {
    const tc_graph_base *b = x->base;
    TC_TRY(check_model(x->m, err));
    TC_TRY(check_same(b, "target", b->target, x->m->target->text, err));
    TC_TRY(check_same(b, "accuracy", b->accuracy, tc_accuracy_text(x->m->accuracy), err));
    TC_TRY(check_same(b, "precision", b->precision, tc_accuracy_precision_text(x->m->accuracy), err));
    if (b->threads != x->m->threads)
        return tc_fail(err, TC_BAD_INPUT,
                       "%s ran with %d threads, but this run has %d: only runs under the same conditions can be compared",
                       b->path, b->threads, x->m->threads);
    return TC_OK;
}

/* ---- which kernel is which ---- */

static bool has_form(const tc_graph_unit *u, const tc_digest *hash) {
    for (int i = 0; i < u->nform; i++)
        if (strcmp(u->form[i].hash.hex, hash->hex) == 0)
            return true;
    return false;
}

static void pair(const against *x, int task, tc_graph_against_kernel *k) {
    const tc_graph_kernel *now = k->now;
    const tc_graph_base_kernel *was = k->base;
    if (strcmp(was->form_hash.hex, now->form_hash.hex) == 0 && strcmp(was->trace, now->trace) == 0) {
        k->standing = TC_GRAPH_UNCHANGED;
        return;
    }
    k->changed = tc_tune_changed_steps(was->trace, now->trace, x->a, &k->nchanged);
    k->standing = TC_GRAPH_ALIKE;
    if (!has_form(&x->m->units[task], &was->form_hash)) {
        k->standing = TC_GRAPH_FAILED;
        k->why = tc_arena_printf(x->a, "the kernel has no form '%.40s' with this workload any more", was->form);
    }
}

static tc_status pair_all(const against *x, tc_error *err) {
    tc_map left = {0}; /* of the base, by hash, from 1 */
    int n = x->m->nkernel, paired = 0;
    tc_graph_against_kernel *k = TC_NEW_N(x->a, tc_graph_against_kernel, n + x->base->nkernel);
    for (int i = 0; i < x->base->nkernel; i++)
        tc_map_puts(&left, x->base->kernels[i].hash.hex, (uintptr_t)i + 1);
    for (int i = 0; i < n; i++) {
        uintptr_t *at = tc_map_gets(&left, x->m->kernels[i].hash.hex);
        k[i] = (tc_graph_against_kernel){.standing = TC_GRAPH_ADDED, .now = &x->m->kernels[i]};
        if (at && *at) {
            k[i].base = &x->base->kernels[*at - 1];
            *at = 0;
            pair(x, i, &k[i]);
            paired++;
        }
    }
    for (int i = 0; i < x->base->nkernel; i++)
        if (*tc_map_gets(&left, x->base->kernels[i].hash.hex))
            k[n++] = (tc_graph_against_kernel){.standing = TC_GRAPH_REMOVED, .base = &x->base->kernels[i]};
    tc_map_free(&left);
    *x->out = (tc_graph_against){.kernels = k, .nkernel = n, .network = TC_GRAPH_UNCHANGED};
    return paired ? TC_OK
                  : tc_fail(err, TC_BAD_INPUT, "%s is of another network: '%.80s' and this network have no kernel in common",
                            x->base->path, x->base->name);
}

/* ---- the base's schedules, built here ---- */

/* Of a kernel with this schedule. */
static tc_graph_choice choice_of(const against *x, const char *trace, tc_digest form) {
    tc_record *r = TC_NEW(x->a, tc_record);
    *r = tc_meas_record_empty();
    tc_meas_record_identify(x->a, r, "", form, x->m->target->text, trace);
    return (tc_graph_choice){.records = r, .n = 1};
}

static void fails(tc_graph_against_kernel *k, const char *why) {
    k->standing = TC_GRAPH_FAILED;
    k->why = why ? why : "";
}

static tc_status admit(against *x, tc_error *err) {
    tc_graph_choice *given = TC_NEW_N(x->a, tc_graph_choice, x->m->nkernel);
    tc_graph_admission admitted;
    for (int i = 0; i < x->m->nkernel; i++) {
        const tc_graph_against_kernel *k = &x->out->kernels[i];
        given[i] = k->standing == TC_GRAPH_ALIKE ? choice_of(x, k->base->trace, k->base->form_hash) : (tc_graph_choice){0};
    }
    TC_TRY(tc_graph_admit_given(x->m->program, &x->build, given, x->a, &admitted, err));
    for (int i = 0; i < x->m->nkernel; i++) {
        tc_graph_against_kernel *k = &x->out->kernels[i];
        if (k->standing == TC_GRAPH_ALIKE && !admitted.choices[i].n)
            fails(k, admitted.choices[i].why);
        x->choices[i] = k->standing == TC_GRAPH_ALIKE ? given[i] : choice_of(x, k->now->trace, k->now->form_hash);
    }
    return TC_OK;
}

static bool any_to_time(const against *x) {
    for (int i = 0; i < x->m->nkernel; i++)
        if (x->out->kernels[i].standing == TC_GRAPH_ALIKE)
            return true;
    return false;
}

/* What became of them. */
static tc_status look_at(const against *x, tc_error *err) {
    for (int i = 0; i < x->m->nkernel; i++) {
        tc_graph_against_kernel *k = &x->out->kernels[i];
        const tc_graph_unit *now = &x->m->units[i], *was = &x->was->units[i];
        bool replayed = x->was->kernels[i].source == TC_GRAPH_FROM_RECORD;
        if (!replayed && k->standing != TC_GRAPH_ALIKE)
            return tc_fail(err, TC_ENV, "kernel '%s': its own schedule does not replay: %s", k->now->name,
                           x->was->kernels[i].why);
        if (!replayed)
            fails(k, tc_arena_strdup(x->a, x->was->kernels[i].why));
        else if (k->standing == TC_GRAPH_ALIKE && now->size == was->size && memcmp(now->obj, was->obj, now->size) == 0)
            k->standing = TC_GRAPH_SAME_CODE;
    }
    return TC_OK;
}

static tc_status build(against *x, tc_error *err) {
    x->choices = TC_NEW_N(x->a, tc_graph_choice, x->m->nkernel);
    TC_TRY(admit(x, err));
    if (!any_to_time(x))
        return TC_OK;
    x->build.choices = x->choices;
    TC_TRY(tc_graph_model_build(x->m->program, &x->build, &x->was, err));
    return look_at(x, err);
}

/* ---- in turns ---- */

static tc_graph_standing judge(const against *x, int kernel, tc_tune_verdict *v) {
    *v = tc_tune_judge(tc_graph_turns_of(&x->turns, kernel, BASE), tc_graph_turns_of(&x->turns, kernel, NOW), x->o->rounds,
                       x->o->seed + (uint64_t)(kernel < 0 ? x->m->nkernel : kernel));
    if (v->sign_p >= TC_TUNE_SURE)
        v->faster = 0;
    return v->faster < 0 ? TC_GRAPH_SLOWER : v->faster > 0 ? TC_GRAPH_FASTER : TC_GRAPH_ALIKE;
}

static void judge_all(const against *x) {
    for (int i = 0; i < x->m->nkernel; i++)
        if (x->out->kernels[i].standing == TC_GRAPH_ALIKE)
            x->out->kernels[i].standing = judge(x, i, &x->out->kernels[i].verdict);
    x->out->network = judge(x, -1, &x->out->verdict);
}

static tc_status take_turns(against *x, tc_error *err) {
    tc_graph_model *const m[] = {[BASE] = x->was, [NOW] = x->m};
    x->turns = (tc_graph_turns){.m = m,
                                .n = TC_LEN(m),
                                .in = x->in,
                                .kernels = true,
                                .whole = true,
                                .rounds = x->o->rounds,
                                .tries = 3,
                                .until = INFINITY,
                                .stop = x->o->stop};
    tc_status s = tc_graph_turns_take(&x->turns, x->o->rounds, err);
    if (s == TC_OK && x->turns.done < x->o->rounds)
        s = tc_fail(err, TC_ENV, "stopped in round %d of %d: there is no verdict", x->turns.done, x->o->rounds);
    if (s == TC_OK)
        judge_all(x);
    free(x->turns.seconds);
    return s;
}

/* ---- all of it ---- */

static void count(tc_graph_against *out) {
    for (int i = 0; i < out->nkernel; i++) {
        out->nslower += out->kernels[i].standing == TC_GRAPH_SLOWER;
        out->nfailed += out->kernels[i].standing == TC_GRAPH_FAILED;
    }
}

static tc_status compare(against *x, tc_error *err) {
    TC_TRY(tc_clock_check(TC_CLOCK_CALLS, err));
    TC_TRY(check(x, err));
    TC_TRY(pair_all(x, err));
    if (any_to_time(x))
        TC_TRY(build(x, err));
    if (x->was && any_to_time(x))
        TC_TRY(take_turns(x, err));
    else if (x->was)
        x->out->network = TC_GRAPH_SAME_CODE;
    count(x->out);
    return TC_OK;
}

tc_status tc_graph_against_run(tc_graph_model *m, const tc_graph_base *base, const tc_graph_tensor *in,
                               const tc_graph_against_options *o, tc_arena *a, tc_graph_against *out, tc_error *err) {
    against x = {.m = m,
                 .base = base,
                 .in = in,
                 .o = o,
                 .build = {.target = m->target,
                           .threads = m->threads,
                           .accuracy = m->accuracy,
                           .accuracies = o->accuracies,
                           .stop = o->stop},
                 .a = a,
                 .out = out};
    tc_status s = compare(&x, err);
    tc_graph_model_free(x.was);
    return s;
}
