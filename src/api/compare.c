/* Schedules, records and other libraries compared (include/tctune/compare.h): finds out what the two are. What is compared and how stands in
 * tune/kernel/compare.h, what is told of it in report/comparison.c. */
#include <stdlib.h>
#include <string.h>

#include "api/api_int.h"
#include "measure/records/check.h"
#include "support/system/fs.h"
#include "te/text.h"
#include "tune/kernel/kernel.h"

typedef enum side_kind { SIDE_DEFAULT, SIDE_BEST, SIDE_FILE, SIDE_RECORD, SIDE_PEER } side_kind;

typedef struct side {
    const char *spec; /* as given */
    side_kind kind;
    int64_t id;     /* RECORD */
    const char *db; /* RECORD: its file */
    tc_record record;
    tc_tune_schedule k; /* not of a peer; workload and trace are canonical */
    const char *origin; /* of the schedule or the library, for people */
    tc_tune_side made;
    tc_meas_peer *peer;
} side;

typedef struct comparison {
    tctune_compare_options o;
    tc_tune_timing asked;
    side side[2];
    tc_target *target;
    tc_ctx *ctx;
    tc_arena *arena;
    const tc_workload *w;
    const int64_t *sizes;     /* of its symbols; NULL: it has none */
    const tc_workload *timed; /* w at these sizes */
    tc_digest hash;
    const char *kernel; /* its name, or its hash */
    tc_meas_mode mode;
    tc_tune_duel duel;
} comparison;

/* ---- what the two are ---- */

static bool is_peer(const char *spec) {
    for (const char *const *p = tc_meas_peer_names(); *p; p++)
        if (strcmp(spec, *p) == 0)
            return true;
    return false;
}

static bool is_record(const comparison *c, const char *spec, side *s) {
    char *end;
    s->id = strtoll(spec, &end, 10);
    s->db = *end == '@' ? end + 1 : c->o.database;
    return end != spec && s->id > 0 && (!*end || (*end == '@' && end[1]));
}

static tc_status read_spec(const comparison *c, const char *spec, side *s, tc_error *err) {
    size_t n = spec ? strlen(spec) : 0;
    if (!n)
        return tc_fail(err, TC_BAD_INPUT, "two things are compared, a and b: one is missing");
    s->spec = spec;
    if (strcmp(spec, "default") == 0)
        s->kind = SIDE_DEFAULT;
    else if (strcmp(spec, "best") == 0)
        s->kind = SIDE_BEST;
    else if (is_peer(spec))
        s->kind = SIDE_PEER;
    else if (is_record(c, spec, s))
        s->kind = SIDE_RECORD;
    else if (tc_fs_exists(spec) || (n > 6 && strcmp(spec + n - 6, ".sched") == 0))
        s->kind = SIDE_FILE;
    else
        return tc_fail(err, TC_BAD_INPUT,
                       "'%s' is nothing to compare: give a record (12, or 12@FILE.db), a .sched file, default, best, onednn or "
                       "openblas",
                       spec);
    if (!c->o.database && (s->kind == SIDE_BEST || (s->kind == SIDE_RECORD && !s->db)))
        return tc_fail(err, TC_BAD_INPUT, "'%s' is of a database: name it", spec);
    return TC_OK;
}

static int rounds_of(const comparison *c) {
    return c->o.rounds ? c->o.rounds : TC_TUNE_REPEATS;
}

static tc_status read_options(const tctune_compare_options *options, comparison *c, tc_error *err) {
    TC_TRY(API_OPTIONS(c->o, options, err));
    TC_TRY(read_spec(c, c->o.a, &c->side[0], err));
    TC_TRY(read_spec(c, c->o.b, &c->side[1], err));
    if (c->o.mode)
        TC_TRY(tc_tune_timing_parse(c->o.mode, &c->asked, err));
    bool peers[2] = {c->side[0].kind == SIDE_PEER, c->side[1].kind == SIDE_PEER};
    if (peers[0] && peers[1])
        return tc_fail(err, TC_BAD_INPUT,
                       "one of the two must be a schedule of tctune: two libraries are compared by benchmarks/gemm.sh");
    if (c->asked == TC_TUNE_COLD && (peers[0] || peers[1]))
        return tc_fail(err, TC_BAD_INPUT,
                       "mode cold goes with two schedules of tctune: a library's constants stay where it has put them");
    return rounds_of(c) >= TC_TUNE_SURE_ROUNDS
               ? TC_OK
               : tc_fail(err, TC_BAD_INPUT, "fewer than %d rounds cannot tell anything apart, not %d", TC_TUNE_SURE_ROUNDS,
                         rounds_of(c));
}

static const side *first_record(const comparison *c) {
    return c->side[0].kind == SIDE_RECORD ? &c->side[0] : c->side[1].kind == SIDE_RECORD ? &c->side[1] : NULL;
}

static tc_status check(const tctune_compare_options *options, int *of_record, tc_error *err) {
    comparison c = {0};
    TC_TRY(read_options(options, &c, err));
    if (of_record)
        *of_record = first_record(&c) != NULL;
    return TC_OK;
}

tctune_status tctune_compare_check(const tctune_compare_options *options, int *of_record, char *error, size_t error_size) {
    API_CALL(err, error, error_size, check(options, of_record, &err), (void)0);
}

/* ---- records, and the kernel they are of ---- */

/* The workload of the task, else that of a record. */
static tc_status find_kernel(const tctune_work *w, int task, comparison *c, tc_error *err) {
    const side *record = first_record(c);
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
        return tc_fail(err, TC_BAD_INPUT, "of which kernel? Neither is a record, and there is no work");
    }
    c->hash = tc_te_hash(c->w);
    c->timed = c->w;
    return TC_OK;
}

/* Those that are asked for; where none are, those of a record. */
static tc_status find_sizes(comparison *c, tc_error *err) {
    const side *record = first_record(c);
    int64_t *own = TC_NEW_N(c->arena, int64_t, c->w->nsymbol);
    TC_TRY(api_task_sizes(c->o.at, c->w, c->arena, &c->sizes, err));
    if (!c->sizes && !c->w->nsymbol)
        return TC_OK;
    if (!c->sizes && !record)
        return tc_fail(err, TC_BAD_INPUT, "the sizes of %s vary: say with `at` at which the two are compared", c->kernel);
    if (!c->sizes)
        TC_TRY(tc_meas_check_sizes(c->w, record->record.sizes, own, err));
    c->sizes = c->sizes ? c->sizes : own;
    c->kernel = tc_tune_name_at(c->arena, c->kernel, c->w, c->sizes);
    return tc_te_at(c->ctx, c->w, c->sizes, &c->timed, err);
}

/* A record may be of another form of the kernel, or of what it is at the sizes. */
static tc_status from_record(const comparison *c, side *s, tc_error *err) {
    const char *form = tc_tune_form_of(c->w, s->record.workload_hash.hex, c->arena),
               *fixed = form ? NULL : tc_tune_form_of(c->timed, s->record.workload_hash.hex, c->arena);
    if (!form && !fixed)
        return tc_fail(err, TC_BAD_INPUT,
                       "record %lld of %s is of another kernel: its workload is %.12s, that of %s is %.12s; where they are "
                       "two forms of one kernel, say which (--te, --model)",
                       (long long)s->id, s->db, s->record.workload_hash.hex, c->kernel, c->hash.hex);
    s->k = tc_tune_schedule_of_record(&s->record, form ? form : fixed, s->db);
    if (form && c->sizes)
        s->k.sizes = tc_meas_sizes_text(c->arena, c->sizes, c->w->nsymbol);
    return TC_OK;
}

/* ---- schedules ---- */

static tc_status find_schedule(const comparison *c, side *s, tc_error *err) {
    tc_tune_query q = {.workload = c->w, .target = c->target, .accuracy = TC_ACCURACY_STRICT};
    q.file = s->kind == SIDE_FILE ? s->spec : NULL;
    if (s->kind == SIDE_BEST)
        TC_TRY(tc_meas_db_open(c->o.database, TC_MEAS_DB_READ, &q.db, err));
    tc_status st = c->sizes ? tc_tune_schedule_at(&q, NULL, c->sizes, c->arena, &s->k, err)
                            : tc_tune_schedule_find(&q, c->arena, &s->k, err);
    if (st == TC_OK && s->kind == SIDE_BEST && !s->k.record && !s->k.variant)
        st = tc_fail(err, TC_BAD_INPUT, "%s has no verified record to be the best: %s", tc_meas_db_path(q.db),
                     tc_report_origin(&s->k, c->arena));
    tc_meas_db_close(q.db);
    return st == TC_OK ? tc_tune_schedule_canonical(c->w, c->target, c->arena, &s->k, err) : st;
}

static tc_status make_side(const comparison *c, side *s, tc_error *err) {
    tc_meas_gemm g;
    if (s->kind == SIDE_PEER) {
        TC_TRY(tc_meas_gemm_of(c->timed, &g, err));
        TC_TRY(tc_meas_peer_open(s->spec, &g, c->target->machine.cores, c->o.stop, &s->peer, err));
        s->origin = tc_meas_peer_version(s->peer);
        return TC_OK;
    }
    if (s->kind != SIDE_RECORD)
        TC_TRY(find_schedule(c, s, err));
    s->origin = s->kind == SIDE_DEFAULT ? "constructed, not measured before" : tc_report_origin(&s->k, c->arena);
    tc_status st = tc_tune_side_make(c->target, s->k.workload, s->k.trace, &s->made, err);
    if (st != TC_OK)
        tc_error_prefix(err, "%s: ", s->spec);
    return st;
}

/* ---- measuring ---- */

/* Threads: those that are asked for, else those that the first record was measured with, else one per core. */
static void set_threads(comparison *c) {
    const side *record = first_record(c);
    if (!c->o.threads && record)
        c->target->machine.cores = record->record.threads;
}

/* As it is asked for; where that is left open, cold when a record was timed so, or tuning would do so. A library is timed hot. */
static void set_mode(comparison *c) {
    bool peer = false, cold = false;
    tc_target *t = c->target;
    t->machine = tc_tune_machine(t, t->machine.cores, tc_te_constant_bytes_read(c->timed));
    for (int i = 0; i < 2; i++) {
        peer |= c->side[i].kind == SIDE_PEER;
        cold |= c->side[i].kind == SIDE_RECORD && c->side[i].record.mode == TC_MEAS_COLD;
    }
    if (peer)
        c->mode = TC_MEAS_HOT;
    else if (cold && c->asked == TC_TUNE_AUTO)
        c->mode = TC_MEAS_COLD;
    else
        c->mode = tc_tune_mode(c->asked, c->timed, 0, &t->machine);
}

static tc_status failed(const side *s, const tc_record *now, tc_arena *arena, tc_error *err) {
    const char *noted = s->k.record ? tc_tune_note_failure(s->k.db, s->k.record, now, arena) : "";
    return tc_fail(err, TC_ENV, "%s could not be measured: %s: %s%s%s", s->spec, tc_meas_error_meaning(now->error), now->message,
                   *noted ? "; " : "", noted);
}

static tc_status measure(comparison *c, tc_error *err) {
    tc_tune_duellist rival[2];
    tc_tune_duel_options o = {
        .workload = c->timed, .target = c->target, .mode = c->mode, .rounds = rounds_of(c), .seed = c->o.seed, .stop = c->o.stop};
    for (int i = 0; i < 2; i++)
        rival[i] = (tc_tune_duellist){.schedule = c->side[i].peer ? NULL : &c->side[i].k, .peer = c->side[i].peer};
    TC_TRY(tc_tune_duel_run(rival, &o, c->arena, &c->duel, err));
    return c->duel.failed < 0 ? TC_OK : failed(&c->side[c->duel.failed], &c->duel.record, c->arena, err);
}

/* ---- all of it ---- */

static tc_status tell(const comparison *c, char **json, tc_error *err) {
    tc_report_comparison r = {
        .kernel = c->kernel, .hash = c->hash.hex, .threads = c->target->machine.cores, .mode = c->mode, .duel = &c->duel};
    for (int i = 0; i < 2; i++) {
        const side *s = &c->side[i];
        r.side[i] = (tc_report_side){.spec = s->spec, .origin = s->origin};
        if (!s->peer) {
            r.side[i].schedule = &s->k;
            r.side[i].made = &s->made;
        }
    }
    return tc_report_text(tc_report_compared(&r), json, err);
}

static tc_status compare(const tctune_work *w, int task, const tctune_compare_options *options, comparison *c, char **json,
                         tc_error *err) {
    TC_TRY(read_options(options, c, err));
    TC_TRY(api_target_here(c->o.target, c->o.threads, &c->target, err));
    for (int i = 0; i < 2; i++)
        if (c->side[i].kind == SIDE_RECORD)
            TC_TRY(tc_tune_record_load(c->side[i].db, c->side[i].id, c->arena, &c->side[i].record, err));
    TC_TRY(find_kernel(w, task, c, err));
    TC_TRY(find_sizes(c, err));
    set_threads(c);
    set_mode(c);
    for (int i = 0; i < 2; i++)
        if (c->side[i].kind == SIDE_RECORD)
            TC_TRY(from_record(c, &c->side[i], err));
    for (int i = 0; i < 2; i++)
        TC_TRY(make_side(c, &c->side[i], err));
    TC_TRY(measure(c, err));
    return tell(c, json, err);
}

static tc_status compare_and_close(const tctune_work *w, int task, const tctune_compare_options *options, char **json,
                                   tc_error *err) {
    comparison c = {.arena = tc_arena_new(), .ctx = tc_ctx_new()};
    tc_status st = compare(w, task, options, &c, json, err);
    for (int i = 0; i < 2; i++) {
        tc_tune_side_free(&c.side[i].made);
        tc_meas_peer_close(c.side[i].peer);
    }
    tc_ctx_free(c.ctx);
    tc_target_free(c.target);
    tc_arena_free(c.arena);
    return st;
}

tctune_status tctune_compare_show(const tctune_work *w, int task, const tctune_compare_options *options, char **json, char *error,
                                  size_t error_size) {
    api_find_worker();
    API_DOCUMENT(err, error, error_size, json, compare_and_close(w, task, options, json, &err));
}
