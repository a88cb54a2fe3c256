/* Builds schedules by hand (include/tctune/schedule.h). */
#include <stdlib.h>
#include <string.h>

#include "api/fleet_int.h"
#include "measure/records/check.h"
#include "te/text.h"
#include "tir_lower/program/program.h"
#include "tune/kernel/compare.h"
#include "tune/kernel/kernel.h"
#include "tune/kernel/stages.h"
#include "tune/kernel/variants.h"

struct tctune_schedule {
    tctune_work *work;
    int task;
    tc_target *target;
    tc_arena *arena;   /* of all that follows */
    const char *asked; /* the target that the caller gave; NULL: this machine's, or the target of the workers who measure */
    int asked_threads; /* 0: it is the same of these */
    tc_ctx *ctx;
    const tc_workload *form;  /* the workload that the steps apply to: the task's own, or another form */
    const tc_workload *timed; /* that at the sizes of a run */
    const int64_t *sizes;     /* the size of each symbol of the task's workload; NULL: no size varies */
    tc_tune_schedule k;
};

static const char by_hand[] = "schedule";

static const tc_workload *own_workload(const tctune_schedule *s) {
    const tc_tune_task *t;
    tc_graph_work_tasks(s->work->w, &t);
    return t[s->task].workload;
}

/* ---- making ---- */

static tc_status read_sizes(tctune_schedule *s, const char *text, tc_error *err) {
    const tc_workload *w = own_workload(s);
    s->timed = w;
    if (!text && w->nsymbol)
        return tc_fail(err, TC_BAD_INPUT, "the kernel's sizes vary: give the sizes of one run in `sizes`, such as \"17,3\"");
    if (!text)
        return TC_OK;
    int64_t *sizes = TC_NEW_N(s->arena, int64_t, w->nsymbol);
    TC_TRY(tc_meas_check_sizes(w, text, sizes, err));
    s->sizes = w->nsymbol ? sizes : NULL;
    return w->nsymbol ? tc_te_at(s->ctx, w, sizes, &s->timed, err) : TC_OK;
}

/* The schedule that q finds; steps given by hand are of s->form. */
static tc_status find(tctune_schedule *s, const tc_tune_query *q, tc_error *err) {
    bool at_sizes = s->sizes && !q->file;
    TC_TRY(at_sizes ? tc_tune_schedule_at(q, NULL, s->sizes, s->arena, &s->k, err)
                    : tc_tune_schedule_find(q, s->arena, &s->k, err));
    if (s->sizes)
        s->k.sizes = tc_meas_sizes_text(s->arena, s->sizes, own_workload(s)->nsymbol);
    return TC_OK;
}

static tc_status take_steps(tctune_schedule *s, const char *steps, tc_error *err) {
    tc_tune_schedule before = s->k;
    tc_tune_query q = {.workload = s->form, .target = s->target, .file = by_hand, .text = steps};
    tc_status st = find(s, &q, err);
    if (st == TC_OK && before.form)
        s->k.form = before.form;
    else if (st != TC_OK)
        s->k = before;
    return st;
}

/* New steps apply to the form of the record. */
static tc_status take_best(tctune_schedule *s, const char *file, tc_error *err) {
    tc_meas_db *db;
    TC_TRY(tc_meas_db_open(file, TC_MEAS_DB_READ, &db, err));
    tc_tune_query q = {.workload = s->form, .target = s->target, .accuracy = TC_ACCURACY_ALL, .db = db};
    tc_status st = find(s, &q, err);
    tc_meas_db_close(db);
    if (st != TC_OK)
        return st;
    if (!s->k.record && !s->k.variant)
        return tc_fail(err, TC_BAD_INPUT, "%s has no verified record of the kernel: %s", file, s->k.why);
    return tc_te_parse(s->ctx, "workload", s->k.workload, &s->form, err);
}

static tc_status begin(tctune_schedule *s, const tctune_schedule_options *o, tc_error *err) {
    if ((o->text != NULL) + (o->default_steps != 0) + (o->best_of != NULL) + (o->file != NULL) > 1)
        return tc_fail(err, TC_BAD_INPUT, "text, default_steps, best_of and file exclude each other");
    TC_TRY(read_sizes(s, o->sizes, err));
    s->form = own_workload(s);
    tc_tune_query standard = {.workload = s->form, .target = s->target, .accuracy = TC_ACCURACY_STRICT};
    tc_tune_query read = {.workload = s->form, .target = s->target, .file = o->file};
    if (o->best_of)
        return take_best(s, o->best_of, err);
    if (o->file)
        return find(s, &read, err);
    return o->default_steps ? find(s, &standard, err) : take_steps(s, o->text ? o->text : "", err);
}

static tctune_schedule *new_schedule(tctune_work *work, int task) {
    tctune_schedule *s = tc_xcalloc(1, sizeof *s);
    s->work = api_work_hold(work);
    s->task = task;
    s->arena = tc_arena_new();
    s->ctx = tc_ctx_new();
    return s;
}

static tc_status open_schedule(tctune_work *work, int task, const tctune_schedule_options *options, tctune_schedule **out,
                               tc_error *err) {
    tctune_schedule_options o;
    TC_TRY(API_OPTIONS(o, options, err));
    TC_TRY(api_check_task(work, task, err));
    *out = new_schedule(work, task);
    (*out)->asked = o.target ? tc_arena_strdup((*out)->arena, o.target) : NULL;
    (*out)->asked_threads = o.threads;
    TC_TRY(api_target(o.target, o.threads, &(*out)->target, err));
    return begin(*out, &o, err);
}

tctune_status tctune_schedule_new(tctune_work *work, int task, const tctune_schedule_options *options, tctune_schedule **schedule,
                                  char *error, size_t error_size) {
    *schedule = NULL;
    api_find_worker();
    API_CALL(err, error, error_size, open_schedule(work, task, options, schedule, &err),
             (tctune_schedule_free(*schedule), *schedule = NULL));
}

/* Replays the steps for the target of the copy: they were legal for the old target only. */
static tc_status copy_for(const tctune_schedule *s, tc_target *target, tctune_schedule **out, tc_error *err) {
    tctune_schedule *c = *out = new_schedule(s->work, s->task);
    int n = own_workload(s)->nsymbol;
    c->target = target;
    c->asked = s->asked ? tc_arena_strdup(c->arena, s->asked) : NULL;
    c->asked_threads = s->asked_threads;
    TC_TRY(read_sizes(c, s->sizes ? tc_meas_sizes_text(c->arena, s->sizes, n) : NULL, err));
    TC_TRY(tc_te_parse(c->ctx, "workload", tc_te_text(c->arena, s->form), &c->form, err));
    TC_TRY(take_steps(c, tc_arena_strdup(c->arena, s->k.trace), err));
    c->k.form = tc_arena_strdup(c->arena, s->k.form);
    return TC_OK;
}

static tc_status copy(const tctune_schedule *s, tctune_schedule **out, tc_error *err) {
    tc_target *target;
    TC_TRY(api_target(s->target->text, s->target->machine.cores, &target, err));
    return copy_for(s, target, out, err);
}

tctune_status tctune_schedule_copy(const tctune_schedule *schedule, tctune_schedule **out, char *error, size_t error_size) {
    *out = NULL;
    API_CALL(err, error, error_size, copy(schedule, out, &err), (tctune_schedule_free(*out), *out = NULL));
}

void tctune_schedule_free(tctune_schedule *s) {
    if (!s)
        return;
    tc_target_free(s->target);
    tc_ctx_free(s->ctx);
    tc_arena_free(s->arena);
    tctune_work_free(s->work);
    free(s);
}

/* ---- steps and stages ---- */

tctune_status tctune_schedule_apply(tctune_schedule *s, const char *steps, char *error, size_t error_size) {
    API_CALL(err, error, error_size, take_steps(s, tc_arena_printf(s->arena, "%s%s\n", s->k.trace, steps), &err), (void)0);
}

const char *tctune_schedule_text(const tctune_schedule *s) {
    return s->k.trace;
}

static tc_status list_stages(const tctune_schedule *s, tc_ctx *ctx, char **json, tc_error *err) {
    const tc_workload *w;
    tc_tir_program p = {0};
    TC_TRY(tc_te_parse(ctx, "workload", s->k.workload, &w, err));
    tc_tir_origin from = {.workload = w, .machine = &s->target->machine, .text = s->k.trace, .name = by_hand};
    TC_TRY(tc_tir_program_make(ctx, &from, 0, &p, err));
    return tc_report_text(tc_report_stages(p.sched), json, err);
}

static tc_status stages(const tctune_schedule *s, char **json, tc_error *err) {
    tc_ctx *ctx = tc_ctx_new();
    tc_status st = list_stages(s, ctx, json, err);
    tc_ctx_free(ctx);
    return st;
}

tctune_status tctune_schedule_stages(const tctune_schedule *s, char **json, char *error, size_t error_size) {
    API_DOCUMENT(err, error, error_size, json, stages(s, json, &err));
}

static tc_status print(const tctune_schedule *s, const char *stage, char **text, tc_error *err) {
    tc_tune_stage at = tc_tune_stage_find(stage, strlen(stage));
    tc_tune_stages made = {0};
    if (at == TC_TUNE_NSTAGES)
        return tc_fail(err, TC_BAD_INPUT,
                       "there is no stage '%s': the stages are workload, schedule, stages, nest, tir, ir, raw-ir and asm", stage);
    tc_status st = tc_tune_stages_make(s->target, &s->k, 1u << at, NULL, &made, err);
    if (st == TC_OK)
        *text = tc_xstrdup(tc_sb_str(&made.text[at]));
    tc_tune_stages_free(&made);
    return st;
}

tctune_status tctune_schedule_print(const tctune_schedule *s, const char *stage, char **text, char *error, size_t error_size) {
    *text = NULL;
    API_CALL(err, error, error_size, print(s, stage, text, &err), (free(*text), *text = NULL));
}

/* ---- times ---- */

static tc_status check_here(const tctune_schedule *s, tc_error *err) {
    return s->target->native ? TC_OK
                             : tc_fail(err, TC_BAD_INPUT,
                                       "code for %s does not run on this machine, so nothing can be timed here", s->target->text);
}

/* As records have it: in canonical names. */
static tc_status canonical(const tctune_schedule *s, tc_arena *a, tc_tune_schedule *out, tc_error *err) {
    *out = s->k;
    return tc_tune_schedule_canonical(s->form, s->target, a, out, err);
}

/* Who measures the schedule, and the schedule to measure: for a fleet, compiled for the target of its workers. */
typedef struct measured {
    tc_tune_kernel_options options;
    const tctune_schedule *of;
    tctune_schedule *there; /* NULL: this machine measures */
    tc_fleet *fleet;        /* NULL: it is the same */
} measured;

static tc_status take_there(const tctune_schedule *s, const tctune_fleet *fleet, measured *m, tc_error *err) {
    api_measured_by by = {.fleet = fleet, .work = s->target->text, .target = s->asked, .threads = s->asked_threads};
    tc_target *target;
    tc_status st = api_fleet_target(&by, &target, &m->fleet, err);
    if (st != TC_OK) {
        tc_target_free(target);
        return st;
    }
    if (copy_for(s, target, &m->there, err) == TC_OK) {
        m->there->k.file = s->k.file;
        m->of = m->there;
        return TC_OK;
    }
    tc_error_prefix(err, "for the target '%s' of the fleet's workers: ", target->text);
    return err->status;
}

static tc_status prepare(const tctune_schedule *s, const tctune_measure_options *options, measured *m, tc_error *err) {
    tctune_measure_options o;
    TC_TRY(API_OPTIONS(o, options, err));
    if (o.mode)
        TC_TRY(tc_tune_timing_parse(o.mode, &m->options.timing, err));
    if (o.repeats < 0)
        return tc_fail(err, TC_BAD_INPUT, "repeats must not be negative, but is %d", o.repeats);
    m->of = s;
    TC_TRY(o.fleet ? take_there(s, o.fleet, m, err) : check_here(s, err));
    m->options.target = m->of->target;
    m->options.repeats = o.repeats;
    m->options.seed = o.seed;
    m->options.stop = o.stop;
    m->options.carrier = m->fleet ? &tc_meas_fleet : NULL;
    m->options.carried_by = m->fleet;
    return TC_OK;
}

static tc_status measure_prepared(const measured *m, tc_meas_db *db, tc_arena *a, tctune_records **out, tc_error *err) {
    tc_tune_schedule k;
    tc_record r;
    double best;
    const tc_workload *w = m->of->timed;
    TC_TRY(canonical(m->of, a, &k, err));
    k.file = k.file ? k.file : by_hand;
    TC_TRY(db ? tc_tune_kernel_record(w, &k, &m->options, db, a, &r, &best, err)
              : tc_tune_kernel_time(w, &k, &m->options, a, &r, err));
    *out = api_records_of(&r);
    return TC_OK;
}

static tc_status measure(const tctune_schedule *s, const tctune_measure_options *options, tc_meas_db *db, tc_arena *a,
                         tctune_records **out, tc_error *err) {
    measured m = {0};
    tc_status st = prepare(s, options, &m, err);
    if (st == TC_OK)
        st = measure_prepared(&m, db, a, out, err);
    tc_fleet_leave(m.fleet);
    tctune_schedule_free(m.there);
    return st;
}

tctune_status tctune_schedule_measure(const tctune_schedule *s, const tctune_measure_options *options, tctune_database *database,
                                      tctune_records **record, char *error, size_t error_size) {
    tc_error err = {0};
    *record = NULL;
    tc_status st = api_begin(&err);
    if (st == TC_OK) {
        tc_arena *a = tc_arena_new();
        st = api_end(measure(s, options, database ? database->db : NULL, a, record, &err), &err);
        tc_arena_free(a);
    }
    if (st != TC_OK) {
        tctune_records_free(*record);
        *record = NULL;
    }
    return api_answer(st, &err, error, error_size);
}

/* ---- comparing ---- */

/* Why two schedules cannot be compared; NULL: they can. */
static const char *differ(const tctune_schedule *a, const tctune_schedule *b) {
    if (strcmp(tc_te_hash(own_workload(a)).hex, tc_te_hash(own_workload(b)).hex) != 0)
        return "kernels";
    if (strcmp(tc_te_hash(a->timed).hex, tc_te_hash(b->timed).hex) != 0)
        return "sizes";
    if (strcmp(a->target->text, b->target->text) != 0)
        return "targets";
    return a->target->machine.cores != b->target->machine.cores ? "numbers of threads" : NULL;
}

static tc_status duel(const tctune_schedule *const side[2], int rounds, uint64_t seed, tc_arena *arena, tc_tune_duel *out,
                      tc_error *err) {
    tc_tune_schedule k[2];
    const char *difference = differ(side[0], side[1]);
    if (difference)
        return tc_fail(err, TC_BAD_INPUT, "the two schedules are of different %s", difference);
    if (rounds && rounds < TC_TUNE_SURE_ROUNDS)
        return tc_fail(err, TC_BAD_INPUT, "a comparison needs at least %d rounds, not %d", TC_TUNE_SURE_ROUNDS, rounds);
    for (int i = 0; i < 2; i++) {
        TC_TRY(check_here(side[i], err));
        TC_TRY(canonical(side[i], arena, &k[i], err));
    }
    const tc_tune_duellist rival[2] = {{.schedule = &k[0]}, {.schedule = &k[1]}};
    tc_machine m = tc_tune_machine(side[0]->target, side[0]->target->machine.cores, tc_te_constant_bytes_read(side[0]->timed));
    tc_tune_duel_options o = {.workload = side[0]->timed,
                              .target = side[0]->target,
                              .mode = tc_tune_mode(TC_TUNE_AUTO, side[0]->timed, 0, &m),
                              .rounds = rounds ? rounds : TC_TUNE_REPEATS,
                              .seed = seed};
    TC_TRY(tc_tune_duel_run(rival, &o, arena, out, err));
    if (out->failed < 0)
        return TC_OK;
    return tc_fail(err, TC_ENV, "schedule %c could not be measured: %s: %s", "ab"[out->failed],
                   tc_meas_error_meaning(out->record.error), out -> record.message);
}

static tc_status compare(const tctune_schedule *a, const tctune_schedule *b, int rounds, uint64_t seed, tctune_verdict *verdict,
                         tc_error *err) {
    const tctune_schedule *const side[2] = {a, b};
    tc_arena *arena = tc_arena_new();
    tc_tune_duel d;
    tc_status st = duel(side, rounds, seed, arena, &d, err);
    if (st == TC_OK) {
        const tc_tune_verdict *v = &d.verdict;
        tctune_verdict out = {.rounds = v->rounds,
                              .a = v->a,
                              .b = v->b,
                              .ratio = v->ratio,
                              .low = v->low,
                              .high = v->high,
                              .sign_p = v->sign_p,
                              .faster = v->faster,
                              .roof = d.roof.seconds};
        st = API_FILL(verdict, out, err);
    }
    tc_arena_free(arena);
    return st;
}

tctune_status tctune_schedule_compare(const tctune_schedule *a, const tctune_schedule *b, int rounds, uint64_t seed,
                                      tctune_verdict *verdict, char *error, size_t error_size) {
    API_CALL(err, error, error_size, compare(a, b, rounds, seed, verdict, &err), (void)0);
}
