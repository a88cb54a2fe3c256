/* What schedule.h describes. */
#include "tune/kernel/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "search_space/space.h"
#include "support/system/fs.h"
#include "support/vec.h"
#include "te/text.h"
#include "tir_lower/program/program.h"

static const char direct[] = "direct";

/* ---- of a file ---- */

/* The trace of a file with its decisions made, if it replays on w. */
static tc_status replay_file(const tc_workload *w, const tc_trace *t, tc_arena *a, const char **text, tc_error *err) {
    tc_ctx *ctx = tc_ctx_child(w->ctx);
    tc_rng rng = tc_rng_seed(0);
    tc_tir_origin from = {.workload = w, .trace = t, .rng = &rng};
    tc_tir_program p;
    tc_status st = tc_tir_program_make(ctx, &from, 0, &p, err);
    if (st == TC_OK)
        *text = tc_trace_text(a, p.sched->trace);
    tc_ctx_free(ctx);
    return st;
}

/* A schedule by hand speaks of the kernel's own names, or of canonical ones when it began as a record. One without steps can go on
 * either way, and is shown in the kernel's own. */
static tc_status from_text(const tc_tune_query *q, const tc_workload *canonical, const char *text, tc_arena *a,
                           tc_tune_schedule *out, tc_error *err) {
    tc_trace *t;
    TC_TRY(tc_trace_parse(a, q->file, text, &t, err));
    out->file = tc_arena_strdup(a, q->file);
    if (t->n && replay_file(canonical, t, a, &out->trace, NULL) == TC_OK)
        return TC_OK;
    tc_status st = replay_file(q->workload, t, a, &out->trace, err);
    if (st != TC_OK)
        tc_error_prefix(err, "%s: ", q->file);
    else
        out->workload = tc_te_text(a, q->workload);
    return st;
}

static tc_status from_file(const tc_tune_query *q, const tc_workload *canonical, tc_arena *a, tc_tune_schedule *out,
                           tc_error *err) {
    char *text;
    if (q->text)
        return from_text(q, canonical, q->text, a, out, err);
    TC_TRY(tc_fs_read_text_most(q->file, TC_BYTES_SCHEDULE, &text, err));
    tc_status st = from_text(q, canonical, tc_arena_strdup(a, text), a, out, err);
    free(text);
    return st;
}

/* ---- of a record ---- */

/* The kernel's own workload, first, and the other forms of it. */
typedef struct forms {
    int n;
    const char **name;
    const tc_workload **w;
} forms;

static forms forms_of(tc_ctx *ctx, const tc_workload *canonical, tc_accuracy accuracy, tc_arena *a) {
    tc_space_alternative_list l = tc_space_alternatives(ctx, canonical, accuracy);
    forms f = {.n = 1 + l.n, .name = TC_NEW_N(a, const char *, 1 + l.n), .w = TC_NEW_N(a, const tc_workload *, 1 + l.n)};
    f.name[0] = direct;
    f.w[0] = canonical;
    for (int i = 1; i < f.n; i++) {
        f.name[i] = tc_arena_strdup(a, l.data[i - 1].name);
        f.w[i] = tc_te_canonical(ctx, l.data[i - 1].workload);
    }
    return f;
}

const char *tc_tune_form_of(const tc_workload *w, const char *hash, tc_arena *a) {
    tc_ctx *ctx = tc_ctx_new();
    forms f = forms_of(ctx, tc_te_canonical(ctx, w), TC_ACCURACY_ALL, a);
    const char *name = NULL;
    for (int i = 0; i < f.n && !name; i++)
        if (strcmp(tc_te_hash(f.w[i]).hex, hash) == 0)
            name = f.name[i];
    tc_ctx_free(ctx);
    return name;
}

tc_tune_schedule tc_tune_schedule_of_record(const tc_record *r, const char *form, const char *db) {
    return (tc_tune_schedule){
        .workload = r->workload, .trace = r->trace, .form = form, .hash = r->workload_hash, .record = r, .db = db};
}

tc_status tc_tune_record_load(const char *db, int64_t id, tc_arena *a, tc_record *out, tc_error *err) {
    tc_meas_db *file;
    tc_meas_records found;
    tc_meas_filter f = {.after_id = TC_MAX(id, 1) - 1, .limit = 1};
    TC_TRY(tc_meas_db_open(db, TC_MEAS_DB_READ, &file, err));
    tc_status st = tc_meas_db_select(file, a, &f, &found, err);
    tc_meas_db_close(file);
    if (st != TC_OK)
        return st;
    if (!found.len || found.data[0].id != id)
        return tc_fail(err, TC_BAD_INPUT, "%s has no record %lld; `tctune db export` lists the records that it has", db,
                       (long long)id);
    *out = found.data[0];
    if (!tc_record_ok(out))
        return tc_fail(err, TC_BAD_INPUT, "record %lld of %s is of a candidate that failed: %s", (long long)id, db,
                       tc_meas_error_meaning(out->error));
    return TC_OK;
}

/* Where there is none, out->why is what comes closest. */
static tc_status from_database(const tc_tune_query *q, const tc_workload *canonical, tc_ctx *ctx, tc_arena *a,
                               tc_tune_schedule *out, tc_error *err) {
    forms f = forms_of(ctx, canonical, q->accuracy, a);
    tc_meas_key *key = TC_NEW_N(a, tc_meas_key, f.n);
    tc_meas_records best;
    tc_meas_near near;
    for (int i = 0; i < f.n; i++)
        key[i] = (tc_meas_key){
            .workload = tc_te_hash(f.w[i]), .target = tc_meas_text_hash(q->target->text), .threads = q->target->machine.cores};
    TC_TRY(tc_meas_db_ranked(q->db, a, key, f.n, 1, &best, err));
    if (best.len == 0) {
        TC_TRY(tc_meas_db_nearest(q->db, a, &key[0], out->workload, &near, err));
        out->why = near.why;
        return TC_OK;
    }
    for (int i = 0; i < f.n; i++)
        if (strcmp(key[i].workload.hex, best.data[0].workload_hash.hex) == 0) {
            *out = tc_tune_schedule_of_record(&best.data[0], f.name[i], tc_arena_strdup(a, tc_meas_db_path(q->db)));
            out->workload = tc_te_text(a, f.w[i]);
        }
    return TC_OK;
}

/* ---- any ---- */

static tc_status from_space(const tc_tune_query *q, const tc_workload *canonical, tc_ctx *ctx, tc_arena *a, tc_tune_schedule *out,
                            tc_error *err) {
    tc_space_alternative_list l = tc_space_alternatives(ctx, canonical, q->accuracy);
    const tc_space_alternative *x = tc_space_untuned(canonical, l, q->target->machine.intrinsics);
    const tc_workload *w = x ? tc_te_canonical(ctx, x->workload) : canonical;
    tc_space *space;
    tc_trace *trace;
    TC_TRY(tc_space_new(w, &q->target->machine, &space, err));
    tc_status st = tc_space_default(space, a, &trace, err);
    if (st == TC_OK)
        out->trace = tc_trace_text(a, trace);
    if (x) {
        out->form = tc_arena_strdup(a, x->name);
        out->workload = tc_te_text(a, w);
        out->hash = tc_te_hash(w);
    }
    tc_space_free(space);
    return st;
}

static tc_status find(const tc_tune_query *q, const tc_workload *canonical, tc_ctx *ctx, tc_arena *a, tc_tune_schedule *out,
                      tc_error *err) {
    if (q->file)
        return from_file(q, canonical, a, out, err);
    if (q->db)
        TC_TRY(from_database(q, canonical, ctx, a, out, err));
    else
        out->why = "there is no database";
    return out->record ? TC_OK : from_space(q, canonical, ctx, a, out, err);
}

tc_status tc_tune_schedule_find(const tc_tune_query *q, tc_arena *a, tc_tune_schedule *out, tc_error *err) {
    tc_ctx *ctx = tc_ctx_new();
    const tc_workload *canonical = tc_te_canonical(ctx, q->workload);
    *out = (tc_tune_schedule){.workload = tc_te_text(a, canonical), .form = direct, .hash = tc_te_hash(q->workload)};
    tc_status st = find(q, canonical, ctx, a, out, err);
    tc_ctx_free(ctx);
    return st;
}

/* ---- canonical names ---- */

static tc_status program_hash(const tc_target *t, const tc_workload *w, const tc_trace *trace, uint64_t *hash, tc_error *err) {
    tc_ctx *ctx = tc_ctx_child(w->ctx);
    tc_tir_origin from = {.workload = w, .machine = &t->machine, .trace = trace};
    tc_tir_program p;
    tc_status st = tc_tir_program_make(ctx, &from, TC_TIR_HASH, &p, err);
    *hash = p.hash;
    tc_ctx_free(ctx);
    return st;
}

/* Both must make the same program, or the renaming went wrong. */
static tc_status translate(const tc_workload *w, const tc_workload *canonical, const tc_target *t, tc_arena *a,
                           tc_tune_schedule *s, tc_error *err) {
    tc_trace *own, *renamed;
    uint64_t before, after;
    TC_TRY(tc_trace_parse(a, s->file, s->trace, &own, err));
    renamed = tc_trace_canonical(a, w, own);
    TC_TRY(program_hash(t, w, own, &before, err));
    if (program_hash(t, canonical, renamed, &after, NULL) != TC_OK || before != after)
        return tc_fail(err, TC_BAD_INPUT,
                       "%s: its steps make names that records use for other things (p0, t0, i0, k0, ...); start from the output "
                       "of `tctune show --print schedule`, which has the names of records",
                       s->file);
    s->trace = tc_trace_text(a, renamed);
    return TC_OK;
}

tc_status tc_tune_schedule_canonical(const tc_workload *w, const tc_target *t, tc_arena *a, tc_tune_schedule *s, tc_error *err) {
    tc_ctx *ctx = tc_ctx_new();
    tc_status st = TC_OK;
    const tc_workload *canonical = tc_te_canonical(ctx, w);
    const char *text = tc_te_text(a, canonical);
    if (s->file && strcmp(text, s->workload) != 0) {
        st = translate(w, canonical, t, a, s, err);
        s->workload = text;
    }
    tc_ctx_free(ctx);
    return st;
}

static tc_status in_own_names(const tc_workload *w, const tc_workload *canonical, const tc_target *t, tc_arena *a,
                              tc_tune_schedule *s, tc_error *err) {
    tc_trace *before, *renamed;
    uint64_t hash, own;
    TC_TRY(tc_trace_parse(a, "schedule", s->trace, &before, err));
    renamed = tc_trace_own(a, w, before);
    TC_TRY(program_hash(t, canonical, before, &hash, err));
    if (program_hash(t, w, renamed, &own, NULL) == TC_OK && own == hash) {
        s->trace = tc_trace_text(a, renamed);
        s->workload = tc_te_text(a, w);
    }
    return TC_OK;
}

tc_status tc_tune_schedule_own(const tc_workload *w, const tc_target *t, tc_arena *a, const tc_tune_schedule *s,
                               tc_tune_schedule *out, tc_error *err) {
    tc_ctx *ctx = tc_ctx_new();
    const tc_workload *canonical = tc_te_canonical(ctx, w);
    tc_status st = TC_OK;
    *out = *s;
    if (strcmp(tc_te_text(a, canonical), s->workload) == 0 && strcmp(tc_te_text(a, w), s->workload) != 0)
        st = in_own_names(w, canonical, t, a, out, err);
    tc_ctx_free(ctx);
    return st;
}
