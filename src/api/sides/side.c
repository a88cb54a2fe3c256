/* Implements side.h. */
#include "api/sides/side.h"

#include <string.h>

#include "measure/records/check.h"
#include "support/guess.h"
#include "support/system/fs.h"
#include "te/text.h"
#include "tune/kernel/kernel.h"

/* ---- what a side is ---- */

static bool is_peer(const char *spec) {
    for (const char *const *p = tc_meas_peer_names(); *p; p++)
        if (strcmp(spec, *p) == 0)
            return true;
    return false;
}

static bool is_record(const api_sides *c, const char *spec, api_side *s) {
    char *end;
    s->id = strtoll(spec, &end, 10);
    s->db = *end == '@' ? end + 1 : c->database;
    return end != spec && s->id > 0 && (!*end || (*end == '@' && end[1]));
}

static tc_status no_side(const char *spec, const char *what, tc_error *err) {
    char text[TC_GUESS_TEXT];
    tc_guess g = tc_guess_new(spec, strlen(spec));
    tc_guess_add(&g, "default");
    tc_guess_add(&g, "best");
    for (const char *const *p = tc_meas_peer_names(); *p; p++)
        tc_guess_add(&g, *p);
    return tc_fail(err, TC_BAD_INPUT, "'%s' is %s%s", spec, what, g.nclose ? tc_guess_say(&g, "", NULL, text) : "");
}

tc_status api_side_read(const api_sides *c, const char *spec, const char *what, api_side *s, tc_error *err) {
    size_t n = strlen(spec);
    s->spec = spec;
    if (strcmp(spec, "default") == 0)
        s->kind = API_SIDE_DEFAULT;
    else if (strcmp(spec, "best") == 0)
        s->kind = API_SIDE_BEST;
    else if (is_peer(spec))
        s->kind = API_SIDE_PEER;
    else if (is_record(c, spec, s))
        s->kind = API_SIDE_RECORD;
    else if (tc_fs_exists(spec) || (n > 6 && strcmp(spec + n - 6, ".sched") == 0))
        s->kind = API_SIDE_FILE;
    else
        return no_side(spec, what, err);
    if (!c->database && (s->kind == API_SIDE_BEST || (s->kind == API_SIDE_RECORD && !s->db)))
        return tc_fail(err, TC_BAD_INPUT, "'%s' is a record of a database: name the database", spec);
    return TC_OK;
}

const api_side *api_sides_record(const api_sides *c) {
    for (int i = 0; i < c->n; i++)
        if (c->side[i].kind == API_SIDE_RECORD)
            return &c->side[i];
    return NULL;
}

/* ---- records, and the kernel they are of ---- */

tc_status api_sides_load(api_sides *c, tc_error *err) {
    for (int i = 0; i < c->n; i++)
        if (c->side[i].kind == API_SIDE_RECORD)
            TC_TRY(tc_tune_record_load(c->side[i].db, c->side[i].id, c->arena, &c->side[i].record, err));
    return TC_OK;
}

int api_sides_threads(const api_sides *c) {
    const api_side *record = api_sides_record(c);
    return c->threads || !record ? c->threads : record->record.threads;
}

/* The workload of the task, else that of a record. */
static tc_status find_kernel(const tctune_work *w, int task, api_sides *c, tc_error *err) {
    const api_side *record = api_sides_record(c);
    const tc_tune_task *tasks;
    if (w) {
        TC_TRY(api_check_task(w, task, err));
        tc_graph_work_tasks(w->w, &tasks);
        c->w = tasks[task].workload;
        c->kernel = tasks[task].name;
    } else if (record) {
        TC_TRY(tc_te_parse(c->ctx, "workload", record->record.workload, &c->w, err));
        c->kernel = record->record.workload_hash.hex;
    } else {
        return tc_fail(err, TC_BAD_INPUT, "the kernel is not known: %s, and no model or kernel is given",
                       c->n == 2 ? "neither of the two is a record" : "the schedule is not a record");
    }
    c->hash = tc_te_hash(c->w);
    c->timed = c->w;
    return TC_OK;
}

/* The sizes that the caller gave; if none were given, the sizes of a record. */
static tc_status find_sizes(api_sides *c, tc_error *err) {
    const api_side *record = api_sides_record(c);
    int64_t *own = TC_NEW_N(c->arena, int64_t, c->w->nsymbol);
    TC_TRY(api_task_sizes(c->at, c->w, c->arena, &c->sizes, err));
    if (!c->sizes && !c->w->nsymbol)
        return TC_OK;
    if (!c->sizes && !record)
        return tc_fail(err, TC_BAD_INPUT, "the sizes of %s vary: give with `at` the sizes at which %s", c->kernel,
                       c->n == 2 ? "the two are compared" : "it is timed");
    if (!c->sizes)
        TC_TRY(tc_meas_check_sizes(c->w, record->record.sizes, own, err));
    c->sizes = c->sizes ? c->sizes : own;
    c->kernel = tc_tune_name_at(c->arena, c->kernel, c->w, c->sizes);
    return tc_te_at(c->ctx, c->w, c->sizes, &c->timed, err);
}

/* A record may be of another form of the kernel, or of the kernel specialised to the sizes. */
static tc_status from_record(const api_sides *c, api_side *s, tc_error *err) {
    const char *form = tc_tune_form_of(c->w, s->record.workload_hash.hex, c->arena),
               *fixed = form ? NULL : tc_tune_form_of(c->timed, s->record.workload_hash.hex, c->arena);
    if (!form && !fixed)
        return tc_fail(err, TC_BAD_INPUT,
                       "record %lld of %s is of another kernel: its workload is %.12s, the workload of %s is %.12s. If they are "
                       "two forms of one kernel, name the kernel (--te, --model)",
                       (long long)s->id, s->db, s->record.workload_hash.hex, c->kernel, c->hash.hex);
    s->k = tc_tune_schedule_of_record(&s->record, form ? form : fixed, s->db);
    if (form && c->sizes)
        s->k.sizes = tc_meas_sizes_text(c->arena, c->sizes, c->w->nsymbol);
    return TC_OK;
}

/* The mode that the caller gave. If none was given: cold if a record was timed cold or tuning would time it cold. A library is
 * timed hot. */
static void set_mode(api_sides *c) {
    bool peer = false, cold = false;
    tc_target *t = c->target;
    t->machine = tc_tune_machine(t, t->machine.cores, tc_te_constant_bytes_read(c->timed));
    for (int i = 0; i < c->n; i++) {
        peer |= c->side[i].kind == API_SIDE_PEER;
        cold |= c->side[i].kind == API_SIDE_RECORD && c->side[i].record.mode == TC_MEAS_COLD;
    }
    if (peer)
        c->mode = TC_MEAS_HOT;
    else if (cold && c->asked == TC_TUNE_AUTO)
        c->mode = TC_MEAS_COLD;
    else
        c->mode = tc_tune_mode(c->asked, c->timed, 0, &t->machine);
}

tc_status api_sides_find(const tctune_work *w, int task, api_sides *c, tc_error *err) {
    TC_TRY(find_kernel(w, task, c, err));
    TC_TRY(find_sizes(c, err));
    set_mode(c);
    for (int i = 0; i < c->n; i++)
        if (c->side[i].kind == API_SIDE_RECORD)
            TC_TRY(from_record(c, &c->side[i], err));
    return TC_OK;
}

/* ---- schedules ---- */

static tc_status find_schedule(const api_sides *c, api_side *s, tc_error *err) {
    tc_tune_query q = {.workload = c->w, .target = c->target, .accuracy = TC_ACCURACY_STRICT};
    q.file = s->kind == API_SIDE_FILE ? s->spec : NULL;
    if (s->kind == API_SIDE_BEST)
        TC_TRY(tc_meas_db_open(c->database, TC_MEAS_DB_READ, &q.db, err));
    tc_status st = c->sizes ? tc_tune_schedule_at(&q, NULL, c->sizes, c->arena, &s->k, err)
                            : tc_tune_schedule_find(&q, c->arena, &s->k, err);
    if (st == TC_OK && s->kind == API_SIDE_BEST && !s->k.record && !s->k.variant)
        st = tc_fail(err, TC_BAD_INPUT, "%s has no verified record of the kernel: %s", tc_meas_db_path(q.db),
                     tc_report_origin(&s->k, c->arena));
    tc_meas_db_close(q.db);
    s->own = s->k;
    return st == TC_OK ? tc_tune_schedule_canonical(c->w, c->target, c->arena, &s->k, err) : st;
}

static tc_status open_peer(const api_sides *c, api_side *s, tc_error *err) {
    tc_meas_gemm g;
    TC_TRY(tc_meas_gemm_of(c->timed, &g, err));
    TC_TRY(tc_meas_peer_open(s->spec, &g, c->target->machine.cores, c->stop, &s->peer, err));
    s->origin = tc_meas_peer_version(s->peer);
    return TC_OK;
}

tc_status api_side_schedule(const api_sides *c, api_side *s, tc_error *err) {
    if (s->kind == API_SIDE_RECORD)
        s->own = s->k;
    else
        TC_TRY(find_schedule(c, s, err));
    s->origin = s->kind == API_SIDE_DEFAULT ? "constructed, not measured before" : tc_report_origin(&s->k, c->arena);
    return TC_OK;
}

tc_status api_side_make(const api_sides *c, api_side *s, tc_error *err) {
    if (s->kind == API_SIDE_PEER)
        return open_peer(c, s, err);
    TC_TRY(api_side_schedule(c, s, err));
    tc_status st = tc_tune_schedule_own(c->w, c->target, c->arena, &s->own, &s->own, err);
    if (st == TC_OK)
        st = tc_tune_side_make(c->target, s->own.workload, s->own.trace, &s->made, err);
    if (st != TC_OK)
        tc_error_prefix(err, "%s: ", s->spec);
    return st;
}

void api_sides_free(api_sides *c) {
    for (int i = 0; i < c->n; i++) {
        tc_tune_side_free(&c->side[i].made);
        tc_meas_peer_close(c->side[i].peer);
    }
    tc_ctx_free(c->ctx);
    tc_target_free(c->target);
    tc_arena_free(c->arena);
}
