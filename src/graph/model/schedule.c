/* Chooses the form and schedule of a task, and lowers it. The first choice is the best verified record of any of its forms. Else it
 * is the default schedule of its own workload, or of a form that a unit of the target can compute. */
#include "cost_model/cost.h"
#include "graph/model/parts.h"
#include "measure/machine/caches.h"
#include "search_space/space.h"
#include "te/text.h"
#include "te/unit_gain.h"
#include "tir_lower/program/program.h"
#include "tune/kernel/compare.h"
#include "tune/kernel/variants.h"

#include <stdlib.h>
#include <string.h>

enum { SPARE = 4 /* records looked at: more than one in case the first does not replay any more */ };

typedef struct chooser {
    const tc_graph_program *p;
    int task;
    const tc_graph_build_options *o;
    const tc_machine *m;
    double byte_time;
    tc_graph_model *model;
    tc_graph_kernel *k;
    tc_graph_unit *u;
} chooser;

/* A form of the kernel (forms.c) and a record of it. */
typedef struct candidate {
    const tc_graph_form *form;
    tc_record record;
} candidate;

static const char *kept(const chooser *c, const char *s) {
    return tc_arena_strdup(c->model->arena, s);
}

/* Cycles on so many cores; 0: it cannot be said. */
static double estimate(const tc_func *nest, const tc_machine *m, int cores) {
    tc_machine with = *m;
    tc_cost_rows rows = {0};
    tc_error err;
    with.cores = cores;
    double cycles = tc_cost_features(nest, &with, &rows, &err) == TC_OK ? tc_cost_estimate(&rows) : 0;
    tc_cost_rows_free(&rows);
    return cycles;
}

/* Replays t on a form and runs all passes; leaves the context empty on failure. */
static tc_status lower(const chooser *c, const tc_graph_form *form, const tc_trace *t, unsigned want, tc_error *err) {
    tc_tir_origin from = {.workload = form->workload, .machine = c->m, .trace = t};
    tc_tir_program p;
    tc_ctx_reset(c->u->ctx);
    TC_TRY(tc_tir_program_make(c->u->ctx, &from, want, &p, err));
    c->u->func = p.lowered;
    if (c->m->cores > 1 && c->p->nlaunch > 1) {
        c->u->alone = estimate(p.nest, c->m, 1);
        c->u->together = estimate(p.nest, c->m, c->m->cores);
    }
    c->k->trace = tc_trace_text(c->model->arena, p.sched->trace);
    c->k->trace_hash = tc_meas_text_hash(c->k->trace);
    c->k->form = form->name;
    c->k->form_hash = form->hash;
    c->k->unit = tc_te_unit(form->workload, c->m->intrinsics);
    c->u->used = form;
    return TC_OK;
}

/* The task's own form, or one for a unit of the target by whose cost it is faster. */
static const tc_graph_form *default_form(const chooser *c) {
    const tc_graph_form *own = &c->u->form[0];
    if (c->u->nform == 1)
        return own;
    tc_space_alternative_list l = {c->u->nform - 1, own[1].alternative};
    const tc_space_alternative *x = tc_space_untuned(own->workload, l, c->m->intrinsics);
    return x ? &own[1 + (x - l.data)] : own;
}

static tc_status use_default(const chooser *c, tc_error *err) {
    tc_arena *a = tc_arena_new();
    tc_space *space;
    tc_trace *t;
    const tc_graph_form *form = default_form(c);
    tc_status s = tc_space_new(form->workload, c->m, &space, err);
    if (s == TC_OK) {
        s = tc_space_default(space, a, &t, err);
        if (s == TC_OK)
            s = lower(c, form, t, TC_TIR_LOWERED, err);
        tc_space_free(space);
    }
    tc_arena_free(a);
    if (s != TC_OK)
        tc_error_prefix(err, "kernel '%s': no default schedule: ", c->k->name);
    c->k->source = TC_GRAPH_FROM_DEFAULT;
    if (form->alternative)
        c->k->workload = tc_te_text(c->model->arena, form->workload);
    return s == TC_ILLEGAL ? TC_ENV : s;
}

/* ---- records ---- */

typedef TC_VEC(candidate) candidates;

double tc_graph_byte_time(const tc_graph_program *p, const tc_graph_build_options *o) {
    double network = 0;
    for (int i = 0; i < p->ntask; i++)
        network += p->tasks[i].weight * tc_te_constant_bytes_read(p->tasks[i].workload);
    tc_machine m = o->target->machine;
    m.cores = tc_graph_threads_of(o);
    if (!o->target->native || network <= (double)TC_MAX(m.l1, m.l2))
        return 0;
    tc_meas_caches c;
    if (o->deadline <= 0 || !tc_meas_kept_caches(&m, &c)) /* a walk takes a second or two */
        c = tc_meas_known_caches(&m);
    return network > (double)c.last && c.memory_gbs > 0 ? 1e-9 / c.memory_gbs : 0;
}

tc_status tc_graph_ranked_records(const tc_graph_unit *u, const tc_graph_build_options *o, double byte_time, tc_arena *a,
                                  size_t most, tc_meas_records *out, tc_error *err) {
    tc_meas_key *keys = TC_NEW_N(a, tc_meas_key, u->nform);
    for (int f = 0; f < u->nform; f++)
        keys[f] = (tc_meas_key){.workload = u->form[f].hash,
                                .target = tc_meas_text_hash(o->target->text),
                                .threads = tc_graph_threads_of(o),
                                .reading = byte_time * tc_te_constant_bytes_read(u->form[f].workload)};
    return tc_meas_db_ranked(o->db, a, keys, u->nform, most, out, err);
}

/* Those that the caller chose, else those of the database. */
static tc_status find_candidates(const chooser *c, tc_arena *a, candidates *out, tc_error *err) {
    const tc_graph_choice *chosen = c->o->choices ? &c->o->choices[c->task] : NULL;
    tc_meas_records list = {0};
    if (chosen)
        list = (tc_meas_records){(tc_record *)(uintptr_t)chosen->records, (size_t)chosen->n};
    else if (c->o->db)
        TC_TRY(tc_graph_ranked_records(c->u, c->o, c->byte_time, a, SPARE, &list, err));
    for (size_t i = 0; i < list.len; i++)
        tc_push(out, ((candidate){tc_graph_form_of(c->u, &list.data[i]), list.data[i]}));
    return TC_OK;
}

static tc_status replay(const chooser *c, tc_arena *a, const candidate *x, tc_error *err) {
    const tc_record *r = &x->record;
    tc_trace *t;
    TC_TRY(tc_trace_parse(a, "record", r->trace, &t, err));
    TC_TRY(lower(c, x->form, t, TC_TIR_VERIFIED, err));
    c->k->source = TC_GRAPH_FROM_RECORD;
    c->k->record = r->id;
    c->k->recorded = r->median;
    c->k->when_ms = r->when_ms;
    if (x->form->alternative)
        c->k->workload = kept(c, r->workload);
    return TC_OK;
}

/* The first record that replays. *used false when there is none. k->why says what was passed over. */
static void use_record(const chooser *c, tc_arena *a, const candidates *x, bool *used) {
    const char *why = c->o->choices ? c->o->choices[c->task].why : NULL;
    c->k->why = why ? kept(c, why) : "";
    for (size_t i = 0; i < x->len && !*used; i++) {
        tc_error local = {0};
        *used = replay(c, a, &x->data[i], &local) == TC_OK;
        if (!*used)
            c->k->why = tc_arena_printf(c->model->arena, "record %lld (%s) does not replay any more: %s",
                                        (long long)x->data[i].record.id, x->data[i].form->name, local.msg);
    }
}

static const char *forms_of(const chooser *c, tc_arena *a, const tc_graph_choice *x) {
    const char **name = TC_NEW_N(a, const char *, x->n);
    for (int i = 0; i < x->n; i++)
        name[i] = tc_graph_form_of(c->u, &x->records[i])->name;
    return kept(c, tc_tune_forms_text(a, x->n, name));
}

/* All variants, or none. k->why says what was passed over. */
static tc_status use_variants(const chooser *c, tc_arena *a, bool *used, tc_error *err) {
    const tc_graph_choice *chosen = c->o->choices ? &c->o->choices[c->task] : NULL;
    tc_graph_choice x = chosen ? *chosen : (tc_graph_choice){0};
    tc_error local = {0};
    if (!chosen && c->o->db)
        TC_TRY(tc_graph_variants_of(c->p, c->task, c->o, a, &x, err));
    c->k->why = kept(c, x.why ? x.why : c->o->db || chosen ? "" : "no database was given");
    if (!x.n)
        return TC_OK;
    if (tc_graph_build_variants(c->u, c->m, &x, &local) != TC_OK) {
        c->k->why = tc_arena_printf(c->model->arena, "the programs of its sizes do not replay any more: %s", local.msg);
        return TC_OK;
    }
    *used = true;
    c->k->trace = kept(c, x.records[0].trace);
    c->k->trace_hash = x.records[0].trace_hash;
    c->k->form = forms_of(c, a, &x);
    c->k->form_hash = c->u->used->hash;
    if (c->u->used->alternative)
        c->k->workload = kept(c, x.records[0].workload);
    c->k->unit = tc_te_unit(c->u->used->workload, c->m->intrinsics);
    c->k->source = TC_GRAPH_FROM_RECORD;
    c->k->record = x.records[0].id;
    c->k->recorded = x.records[0].median;
    c->k->when_ms = x.records[0].when_ms;
    c->k->variants = x.n;
    return TC_OK;
}

/* Why there is no record to choose. */
static tc_status explain(const chooser *c, tc_arena *a, tc_error *err) {
    const char *why = c->o->choices ? c->o->choices[c->task].why : NULL;
    if (why || !c->o->db) {
        c->k->why = why ? kept(c, why) : "no database was given";
        return TC_OK;
    }
    tc_meas_key key = {.workload = c->k->hash, .target = tc_meas_text_hash(c->model->target->text), .threads = c->model->threads};
    tc_meas_near near;
    TC_TRY(tc_meas_db_nearest(c->o->db, a, &key, c->k->workload, &near, err));
    c->k->why = kept(c, near.why);
    return TC_OK;
}

/* ---- kernels that could be one ---- */

/* Records of different kernels were timed at different moments, and a few percent between them say nothing. What counts is the last
 * comparison in turns (tc_tune_beside), if it is of the schedules that are the best by now, and clear beyond what its rounds
 * spread. */
typedef struct comparison {
    const tc_graph_program *p;
    const tc_graph_build_options *o;
    double byte_time;
    int64_t when; /* its time stamp; 0: there is none */
    int rounds;
    bool current; /* of what would be built */
} comparison;

/* The records of mode `beside` (else: of timings alone, the best of each form) of the task's forms that o admits, into `out`. */
static tc_status records_of(const comparison *c, int task, bool beside, tc_arena *a, candidates *out, tc_error *err) {
    tc_graph_unit u = {0};
    tc_status s = TC_OK;
    tc_digest target = tc_meas_text_hash(c->o->target->text);
    tc_graph_list_forms(c->p, task, c->o->accuracy, &u);
    for (int f = 0; f < u.nform && s == TC_OK; f++) {
        tc_meas_records r = {0};
        tc_meas_filter of = {.workload_hash = u.form[f].hash.hex,
                             .target_hash = target.hex,
                             .threads = tc_graph_threads_of(c->o),
                             .mode = beside ? tc_meas_mode_text(TC_MEAS_BESIDE) : NULL,
                             .real = !beside,
                             .verified = true,
                             .limit = beside ? 0 : 1,
                             .order = TC_MEAS_BY_RANK};
        s = tc_meas_db_select(c->o->db, a, &of, &r, err);
        for (size_t i = 0; i < r.len; i++) {
            r.data[i].reading = r.data[i].mode == TC_MEAS_HOT ? c->byte_time * tc_te_constant_bytes_read(u.form[f].workload) : 0;
            tc_push(out, ((candidate){NULL, r.data[i]}));
        }
    }
    tc_ctx_free(u.ctx);
    tc_ctx_free(u.forms);
    return s;
}

static const tc_record *best_of(const candidates *x) {
    const tc_record *best = NULL;
    for (size_t i = 0; i < x->len; i++)
        if (!best || tc_record_better(&x->data[i].record, best))
            best = &x->data[i].record;
    return best;
}

static const tc_record *taken_at(const candidates *x, int64_t when) {
    for (size_t i = 0; i < x->len; i++)
        if (x->data[i].record.when_ms == when)
            return &x->data[i].record;
    return NULL;
}

static bool same_schedule(const tc_record *x, const tc_record *y) {
    return strcmp(x->trace_hash.hex, y->trace_hash.hex) == 0 && strcmp(x->workload_hash.hex, y->workload_hash.hex) == 0;
}

/* Adds what the task took in each round. */
static tc_status add_times(comparison *c, int task, double *sum, tc_error *err) {
    candidates alone = {0}, beside = {0};
    tc_arena *a = tc_arena_new();
    tc_status s = records_of(c, task, false, a, &alone, err);
    if (s == TC_OK)
        s = records_of(c, task, true, a, &beside, err);
    const tc_record *best = best_of(&alone), *x = s == TC_OK ? taken_at(&beside, c->when) : NULL;
    c->current &= x && best && same_schedule(x, best) && x->ntimes == (size_t)c->rounds;
    for (int i = 0; i < c->rounds && c->current; i++)
        sum[i] += x->times[i];
    tc_vec_free(&alone);
    tc_vec_free(&beside);
    tc_arena_free(a);
    return s;
}

/* The last comparison of the task. */
static tc_status find_last(comparison *c, int task, tc_error *err) {
    candidates x = {0};
    tc_arena *a = tc_arena_new();
    tc_status s = records_of(c, task, true, a, &x, err);
    for (size_t i = 0; i < x.len; i++)
        if (x.data[i].record.when_ms > c->when) {
            c->when = x.data[i].record.when_ms;
            c->rounds = (int)x.data[i].record.ntimes;
        }
    tc_vec_free(&x);
    tc_arena_free(a);
    return s;
}

static tc_status add_all_times(comparison *c, const tc_graph_merging *x, double *whole, double *apart, tc_error *err) {
    for (int k = 0; k < x->nanchor; k++) {
        TC_TRY(add_times(c, x->whole[k], whole, err));
        TC_TRY(add_times(c, x->anchor[k], apart, err));
    }
    for (int i = 0; i < x->nproducer; i++)
        TC_TRY(add_times(c, x->producer[i], apart, err));
    return TC_OK;
}

static tc_status is_faster(const tc_graph_program *p, const tc_graph_merging *x, const tc_graph_build_options *o,
                           double byte_time, bool *merge, tc_error *err) {
    comparison c = {.p = p, .o = o, .byte_time = byte_time, .current = true};
    TC_TRY(find_last(&c, x->whole[0], err));
    if (c.when == 0)
        return TC_OK;
    double *whole = tc_xcalloc((size_t)c.rounds, sizeof *whole), *apart = tc_xcalloc((size_t)c.rounds, sizeof *apart);
    tc_status s = add_all_times(&c, x, whole, apart, err);
    *merge = s == TC_OK && c.current && tc_tune_judge(whole, apart, c.rounds, 0).faster < 0;
    free(whole);
    free(apart);
    return s;
}

/* merge[n], by number: whether records of o->db say that the kernels are faster as one. */
static tc_status choose_mergings(const tc_graph_program *p, const tc_graph_build_options *o, bool *merge, tc_error *err) {
    double byte_time = tc_graph_byte_time(p, o);
    for (int i = 0; i < p->nmerging; i++)
        TC_TRY(is_faster(p, &p->mergings[i], o, byte_time, &merge[p->mergings[i].number], err));
    return TC_OK;
}

tc_status tc_graph_program_merge(const tc_graph *g, const tc_graph_program *apart, const tc_graph_build_options *o,
                                 tc_graph_program **out, tc_error *err) {
    bool *merge = tc_xcalloc((size_t)apart->nfound + 1, sizeof *merge), any = false;
    tc_status s = choose_mergings(apart, o, merge, err);
    for (int i = 0; i < apart->nfound; i++)
        any |= merge[i];
    *out = NULL;
    if (s == TC_OK && any)
        s = tc_graph_program_with(g, merge, out, err);
    if (s == TC_OK && *out)
        tc_graph_program_name_as(*out, apart);
    free(merge);
    return s;
}

/* ---- the choice ---- */

tc_status tc_graph_choose_schedule(const tc_graph_program *p, int task, const tc_graph_build_options *o, const tc_machine *m,
                                   double byte_time, tc_graph_model *model, tc_error *err) {
    chooser c = {p, task, o, m, byte_time, model, &model->kernels[task], &model->units[task]};
    bool used = false;
    candidates x = {0};
    tc_arena *a = tc_arena_new();
    model->kernels[task].variants = 1;
    bool varies = p->tasks[task].workload->nsymbol > 0;
    tc_status s = varies ? use_variants(&c, a, &used, err) : find_candidates(&c, a, &x, err);
    if (s == TC_OK && x.len > 0)
        use_record(&c, a, &x, &used);
    else if (s == TC_OK && !varies)
        s = explain(&c, a, err);
    tc_vec_free(&x);
    tc_arena_free(a);
    if (s == TC_OK && used && !varies)
        s = tc_graph_find_faster_form(p, task, o, model, err);
    if (s != TC_OK || used)
        return s;
    if (o->db)
        TC_TRY(tc_graph_find_obstacle(p, task, o, model, err));
    return use_default(&c, err);
}
