/* Which schedule a task gets: the best verified record of the database, else the default of the search space; and its lowering.
 */
#include "graph/program.h"
#include "search_space/space.h"
#include "support/log.h"

#include <string.h>

typedef struct chooser {
    const tc_graph_program *p;
    int task;
    const tc_graph_build_options *o;
    const tc_machine *m;
    tc_graph_model *model;
    tc_graph_kernel *k;
    tc_graph_unit *u;
} chooser;

static const char *kept(const chooser *c, const char *s) {
    return tc_arena_strdup(c->model->arena, s);
}

static const char *trace_text(const chooser *c, const tc_trace *t) {
    tc_strbuf b = {0};
    tc_trace_print(&b, t);
    const char *s = kept(c, tc_sb_str(&b));
    tc_strbuf_free(&b);
    return s;
}

/* Replays t and runs all passes; leaves the context empty on failure. */
static tc_status lower(const chooser *c, const tc_trace *t, tc_error *err) {
    const tc_workload *w = c->p->tasks[c->task].workload;
    tc_sched *s;
    tc_func *f;
    tc_ctx_reset(c->u->ctx);
    TC_TRY(tc_sch_replay(c->u->ctx, w, t, NULL, &s, err));
    TC_TRY(tc_tir_build(s, c->m, &f, err));
    TC_TRY(tc_tir_lower(c->u->ctx, c->m, f, NULL, &c->u->func, err));
    c->k->trace = trace_text(c, s->trace);
    c->k->trace_hash = tc_meas_text_hash(c->k->trace);
    return TC_OK;
}

static tc_status use_default(const chooser *c, tc_error *err) {
    tc_arena *a = tc_arena_new();
    tc_space *space;
    tc_trace *t;
    tc_status s = tc_space_new(c->p->tasks[c->task].workload, c->m, &space, err);
    if (s == TC_OK) {
        s = tc_space_default(space, a, &t, err);
        if (s == TC_OK)
            s = lower(c, t, err);
        tc_space_free(space);
    }
    tc_arena_free(a);
    if (s != TC_OK)
        tc_error_prefix(err, "kernel '%s': no default schedule: ", c->k->name);
    c->k->source = TC_GRAPH_FROM_DEFAULT;
    return s == TC_ILLEGAL ? TC_ENV : s;
}

/* The record of the rank that is asked for, or the best one where there are fewer. */
static tc_status find_record(const chooser *c, tc_arena *a, const tc_meas_key *key, tc_record *r, bool *found, tc_error *err) {
    int rank = c->o->ranks ? c->o->ranks[c->task] : 0;
    if (rank == 0)
        return tc_meas_db_best(c->o->db, a, key, r, found, err);
    tc_meas_records list;
    tc_meas_filter f = {.workload_hash = key->workload.hex,
                        .target_hash = key->target.hex,
                        .threads = key->threads,
                        .verified = true,
                        .real = true,
                        .limit = (size_t)rank + 1,
                        .order = TC_MEAS_BY_RANK};
    TC_TRY(tc_meas_db_select(c->o->db, a, &f, &list, err));
    *found = list.len > 0;
    if (*found)
        *r = list.data[(size_t)rank < list.len ? rank : 0];
    return TC_OK;
}

/* *used false when the database has nothing that can be used; k->why says what it has instead. */
static tc_status use_record(const chooser *c, tc_arena *a, bool *used, tc_error *err) {
    tc_meas_key key = {.workload = c->k->hash, .target = tc_meas_text_hash(c->model->target->text), .threads = c->model->threads};
    tc_record r;
    *used = false;
    TC_TRY(find_record(c, a, &key, &r, used, err));
    if (!*used) {
        tc_meas_near near;
        TC_TRY(tc_meas_db_nearest(c->o->db, a, &key, c->k->workload, &near, err));
        c->k->why = kept(c, near.why);
        return TC_OK;
    }
    tc_error local;
    tc_trace *t;
    tc_status s = tc_trace_parse(a, "record", r.trace, &t, &local);
    if (s == TC_OK)
        s = lower(c, t, &local);
    *used = s == TC_OK;
    if (s != TC_OK) {
        c->k->why = tc_arena_printf(c->model->arena, "record %lld does not replay any more: %s", (long long)r.id, local.msg);
        return TC_OK;
    }
    c->k->source = TC_GRAPH_FROM_RECORD;
    c->k->record = r.id;
    c->k->recorded = r.median;
    c->k->when_ms = r.when_ms;
    return TC_OK;
}

tc_status tc_graph_choose_schedule(const tc_graph_program *p, int task, const tc_graph_build_options *o, const tc_machine *m,
                                   tc_graph_model *model, tc_error *err) {
    chooser c = {p, task, o, m, model, &model->kernels[task], &model->units[task]};
    bool used = false;
    c.k->why = "no database was given";
    if (o->db) {
        tc_arena *a = tc_arena_new();
        tc_status s = use_record(&c, a, &used, err);
        tc_arena_free(a);
        TC_TRY(s);
    }
    if (used) {
        c.k->why = "";
        return TC_OK;
    }
    return use_default(&c, err);
}
