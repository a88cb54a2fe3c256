/* Which form and schedule a task gets: the best verified record of any of its forms, else the default schedule of its own
 * workload, or of the one in bf16 where the target has a unit for it; and its lowering. */
#include "graph/model/program.h"
#include "measure/caches.h"
#include "search_space/space.h"
#include "te/text.h"
#include "te/unit_gain.h"
#include "tir_lower/program.h"

#include <math.h>
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

/* Replays t on a form and runs all passes; leaves the context empty on failure. */
static tc_status lower(const chooser *c, const tc_graph_form *form, const tc_trace *t, tc_error *err) {
    tc_tir_origin from = {.workload = form->workload, .machine = c->m, .trace = t};
    tc_tir_program p;
    tc_ctx_reset(c->u->ctx);
    TC_TRY(tc_tir_program_make(c->u->ctx, &from, TC_TIR_LOWERED, &p, err));
    c->u->func = p.lowered;
    c->k->trace = tc_trace_text(c->model->arena, p.sched->trace);
    c->k->trace_hash = tc_meas_text_hash(c->k->trace);
    c->k->form = form->name;
    c->k->unit = tc_te_unit(form->workload, c->m->intrinsics);
    c->u->used = form;
    return TC_OK;
}

/* The task's own form; where operands may be rounded and a unit takes them, by whose cost the form is faster, that one. */
static const tc_graph_form *default_form(const chooser *c) {
    const tc_graph_form *best = &c->u->form[0];
    for (int f = 1; f < c->u->nform; f++) {
        const tc_graph_form *x = &c->u->form[f];
        bool rounds = x->alternative->needs & TC_ACCURACY_BF16;
        if (rounds && tc_te_unit_gain(x->workload, c->m->intrinsics) > tc_te_unit_gain(best->workload, c->m->intrinsics))
            best = x;
    }
    return best;
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
            s = lower(c, form, t, err);
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

static const tc_graph_form *form_of(const chooser *c, const tc_record *r) {
    for (int f = 0; f < c->u->nform; f++)
        if (strcmp(c->u->form[f].hash.hex, r->workload_hash.hex) == 0)
            return &c->u->form[f];
    return NULL;
}

double tc_graph_byte_time(const tc_graph_program *p, const tc_graph_build_options *o) {
    double network = 0;
    for (int i = 0; i < p->ntask; i++)
        network += p->tasks[i].weight * tc_te_constant_bytes_read(p->tasks[i].workload);
    tc_machine m = o->target->machine;
    m.cores = tc_graph_threads_of(o);
    if (!o->target->native || network <= (double)TC_MAX(m.l1, m.l2))
        return 0;
    tc_meas_caches c = tc_meas_known_caches(&m);
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
        tc_push(out, ((candidate){form_of(c, &list.data[i]), list.data[i]}));
    return TC_OK;
}

static tc_status replay(const chooser *c, tc_arena *a, const candidate *x, tc_error *err) {
    const tc_record *r = &x->record;
    tc_trace *t;
    TC_TRY(tc_trace_parse(a, "record", r->trace, &t, err));
    TC_TRY(lower(c, x->form, t, err));
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
    c->k->why = "";
    for (size_t i = 0; i < x->len && !*used; i++) {
        tc_error local;
        *used = replay(c, a, &x->data[i], &local) == TC_OK;
        if (!*used)
            c->k->why = tc_arena_printf(c->model->arena, "record %lld (%s) does not replay any more: %s",
                                        (long long)x->data[i].record.id, x->data[i].form->name, local.msg);
    }
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

/* A kernel must be faster by that much: records of several kernels were not timed in turns. Chosen. */
static const double noticeable = 0.97;

/* Seconds of the task's best verified record of that mode, by the forms that o admits; INFINITY: none. */
static tc_status fastest(const tc_graph_program *p, int task, const tc_graph_build_options *o, tc_meas_mode mode,
                         double byte_time, double *out, tc_error *err) {
    tc_graph_unit u = {0};
    tc_arena *a = tc_arena_new();
    tc_status s = TC_OK;
    *out = INFINITY;
    tc_graph_list_forms(p, task, o->accuracy, &u);
    for (int f = 0; f < u.nform && s == TC_OK; f++) {
        tc_digest target = tc_meas_text_hash(o->target->text);
        tc_meas_records r = {0};
        tc_meas_filter of = {.workload_hash = u.form[f].hash.hex,
                             .target_hash = target.hex,
                             .threads = tc_graph_threads_of(o),
                             .mode = tc_meas_mode_text(mode),
                             .verified = true,
                             .limit = 1,
                             .order = TC_MEAS_BY_RANK};
        s = tc_meas_db_select(o->db, a, &of, &r, err);
        for (size_t i = 0; i < r.len; i++) {
            r.data[i].reading = mode == TC_MEAS_HOT ? byte_time * tc_te_constant_bytes_read(u.form[f].workload) : 0;
            *out = fmin(*out, tc_record_rank(&r.data[i]));
        }
    }
    tc_ctx_free(u.ctx);
    tc_ctx_free(u.forms);
    tc_arena_free(a);
    return s;
}

/* *apart: what the kernels of x take one after the other. A producer that reads no constants is timed hot whatever its contraction
 * is. */
static tc_status time_apart(const tc_graph_program *p, const tc_graph_merging *x, const tc_graph_build_options *o,
                            tc_meas_mode mode, double byte_time, double *apart, tc_error *err) {
    TC_TRY(fastest(p, x->anchor, o, mode, byte_time, apart, err));
    for (int i = 0; i < x->nproducer; i++) {
        double own, hot = INFINITY;
        TC_TRY(fastest(p, x->producer[i], o, mode, byte_time, &own, err));
        if (mode == TC_MEAS_COLD)
            TC_TRY(fastest(p, x->producer[i], o, TC_MEAS_HOT, byte_time, &hot, err));
        *apart += isfinite(own) ? own : hot;
    }
    return TC_OK;
}

/* Times of one mode are compared: cold ones where there are both. */
static tc_status is_faster(const tc_graph_program *p, const tc_graph_merging *x, const tc_graph_build_options *o,
                           double byte_time, bool *merge, tc_error *err) {
    static const tc_meas_mode modes[] = {TC_MEAS_COLD, TC_MEAS_HOT};
    double whole = INFINITY, apart = INFINITY;
    for (size_t i = 0; i < TC_LEN(modes) && !(isfinite(whole) && isfinite(apart)); i++) {
        TC_TRY(fastest(p, x->whole, o, modes[i], byte_time, &whole, err));
        if (isfinite(whole))
            TC_TRY(time_apart(p, x, o, modes[i], byte_time, &apart, err));
    }
    *merge = isfinite(apart) && whole < noticeable * apart;
    return TC_OK;
}

tc_status tc_graph_choose_mergings(const tc_graph_program *p, const tc_graph_build_options *o, bool *merge, tc_error *err) {
    double byte_time = tc_graph_byte_time(p, o);
    for (int i = 0; i < p->nmerging; i++)
        TC_TRY(is_faster(p, &p->mergings[i], o, byte_time, &merge[p->mergings[i].number], err));
    return TC_OK;
}

/* ---- the choice ---- */

tc_status tc_graph_choose_schedule(const tc_graph_program *p, int task, const tc_graph_build_options *o, const tc_machine *m,
                                   double byte_time, tc_graph_model *model, tc_error *err) {
    chooser c = {p, task, o, m, byte_time, model, &model->kernels[task], &model->units[task]};
    bool used = false;
    candidates x = {0};
    tc_arena *a = tc_arena_new();
    tc_status s = find_candidates(&c, a, &x, err);
    if (s == TC_OK && x.len > 0)
        use_record(&c, a, &x, &used);
    else if (s == TC_OK)
        s = explain(&c, a, err);
    tc_vec_free(&x);
    tc_arena_free(a);
    if (s != TC_OK || used)
        return s;
    return use_default(&c, err);
}
