/* tctune compare: two schedules of one kernel, or one and another library, side by side. This file finds out what the two are;
 * what is compared and how stands in tune/compare.h, the report in compare_report.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare.h"
#include "measure/maintain.h"
#include "support/fs.h"
#include "te/text.h"

typedef struct compare_args {
    tc_cli_common common;
    tc_cli_source_args source;
    tc_cli_timing timing;
    tc_cli_db_args db;
    tc_cli_target_args target;
    uint64_t seed;
    int repeats; /* 0: not given */
    const char *kernel;
    bool json;
} compare_args;

static const tc_cli_option options[] = {
    TC_CLI_SOURCE_OPTIONS(compare_args, source),
    TC_CLI_TIMING_OPTION(compare_args, timing),
    TC_CLI_DB_OPTION(compare_args, db.path),
    TC_CLI_TARGET_OPTION(compare_args, target.name),
    TC_CLI_THREADS_OPTION(compare_args, target.threads),
    TC_CLI_SEED_OPTION(compare_args, seed),
    TC_CLI_REPEATS_OPTION(compare_args, repeats),
    TC_CLI_KERNEL_OPTION(compare_args, kernel),
    TC_CLI_PASS_OPTIONS(compare_args, source.passes),
    TC_CLI_NO_CACHE_OPTION(compare_args),
    TC_CLI_JSON_OPTION(compare_args, json),
};

/* ---- what A and B are ---- */

static bool is_peer(const char *spec) {
    for (const char *const *p = tc_meas_peer_names(); *p; p++)
        if (strcmp(spec, *p) == 0)
            return true;
    return false;
}

static bool is_record(const compare_args *a, const char *spec, compare_side *s) {
    char *end;
    s->id = strtoll(spec, &end, 10);
    s->db = *end == '@' ? end + 1 : tc_cli_db_path(&a->db);
    return end != spec && s->id > 0 && (!*end || (*end == '@' && end[1]));
}

static int read_spec(const compare_args *a, const char *spec, compare_side *s, tc_error *err) {
    size_t n = strlen(spec);
    s->spec = spec;
    if (strcmp(spec, "default") == 0)
        s->kind = SIDE_DEFAULT;
    else if (strcmp(spec, "best") == 0)
        s->kind = SIDE_BEST;
    else if (is_peer(spec))
        s->kind = SIDE_PEER;
    else if (is_record(a, spec, s))
        s->kind = SIDE_RECORD;
    else if (tc_fs_exists(spec) || (n > 6 && strcmp(spec + n - 6, ".sched") == 0))
        s->kind = SIDE_FILE;
    else
        return tc_cli_usage(
            err,
            "'%s' is nothing to compare: give a record (12, or 12@FILE.db), a .sched file, default, best, onednn or "
            "openblas",
            spec);
    return TC_CLI_DONE;
}

static int read_specs(const compare_args *a, comparison *c, tc_error *err) {
    if (a->common.operands.len != 2)
        return tc_cli_usage(err, "two things are compared, A and B; %zu were given", a->common.operands.len);
    for (int i = 0; i < 2; i++) {
        int status = read_spec(a, a->common.operands.data[i], &c->side[i], err);
        if (status != TC_CLI_DONE)
            return status;
    }
    if (c->side[0].kind == SIDE_PEER && c->side[1].kind == SIDE_PEER)
        return tc_cli_usage(err, "one of the two must be a schedule of tctune: two libraries are compared by benchmarks/gemm.sh");
    if (a->timing.asked == TC_TUNE_COLD && (c->side[0].kind == SIDE_PEER || c->side[1].kind == SIDE_PEER))
        return tc_cli_usage(err,
                            "--mode cold goes with two schedules of tctune: a library's constants stay where it has put them");
    int rounds = tc_cli_repeats(a->repeats);
    if (rounds < TC_TUNE_MIN_ROUNDS)
        return tc_cli_usage(err, "--repeats %d: fewer than %d rounds cannot tell anything apart", rounds, TC_TUNE_MIN_ROUNDS);
    return TC_CLI_DONE;
}

/* ---- records, and the kernel they are of ---- */

static tc_status load_record(compare_side *s, tc_arena *arena, tc_error *err) {
    tc_meas_db *db;
    tc_meas_records found;
    tc_meas_filter f = {.after_id = s->id - 1, .limit = 1};
    TC_TRY(tc_meas_db_open(s->db, TC_MEAS_DB_READ, &db, err));
    tc_status st = tc_meas_db_select(db, arena, &f, &found, err);
    tc_meas_db_close(db);
    if (st != TC_OK)
        return st;
    if (!found.len || found.data[0].id != s->id)
        return tc_fail(err, TC_BAD_INPUT, "%s has no record %lld; `tctune export` lists what it has", s->db, (long long)s->id);
    s->record = found.data[0];
    if (!tc_record_ok(&s->record))
        return tc_fail(err, TC_BAD_INPUT, "record %lld of %s is of a candidate that failed: %s", (long long)s->id, s->db,
                       tc_meas_error_meaning(s->record.error));
    return TC_OK;
}

static const compare_side *first_record(const comparison *c) {
    return c->side[0].kind == SIDE_RECORD ? &c->side[0] : c->side[1].kind == SIDE_RECORD ? &c->side[1] : NULL;
}

/* The workload of --te or --model, else that of a record. */
static int find_kernel(const compare_args *a, comparison *c, tc_cli_source *s, tc_ctx *ctx, tc_error *err) {
    const compare_side *record = first_record(c);
    const tc_workload *w;
    int kernel, status = TC_CLI_DONE;
    if (a->source.te || a->source.model) {
        status = tc_cli_source_open(&a->source, s, err);
        if (status == TC_CLI_DONE)
            status = tc_cli_pick_one(s, a->kernel, &kernel, err);
        if (status != TC_CLI_DONE)
            return status;
        w = s->tasks[kernel].workload;
        c->kernel = s->tasks[kernel].name;
    } else if (record) {
        if (tc_te_parse(ctx, "workload", record->record.workload, &w, err) != TC_OK)
            return TC_CLI_FAILED;
        c->kernel = record->record.workload_hash.hex;
    } else {
        return tc_cli_usage(err, "of which kernel? Name it with --te FILE.te, or with --model FILE.onnx and --kernel");
    }
    c->hash = tc_te_hash(w);
    c->w = w;
    return TC_CLI_DONE;
}

/* A record may be of another form of the kernel. */
static tc_status check_records(comparison *c, tc_arena *arena, tc_error *err) {
    for (int i = 0; i < 2; i++) {
        compare_side *s = &c->side[i];
        if (s->kind != SIDE_RECORD)
            continue;
        s->form = tc_cli_form_of(c->w, s->record.workload_hash.hex, arena);
        if (!s->form)
            return tc_fail(err, TC_BAD_INPUT,
                           "record %lld of %s is of another kernel: its workload is %.12s, that of %s is %.12s; where they are "
                           "two forms of one kernel, name that with --te or --model",
                           (long long)s->id, s->db, s->record.workload_hash.hex, c->kernel, c->hash.hex);
    }
    return TC_OK;
}

/* ---- schedules ---- */

static tc_status from_record(const compare_side *s, tc_arena *arena, tc_cli_schedule *k) {
    char time[24];
    *k = (tc_cli_schedule){.workload = s->record.workload,
                           .trace = s->record.trace,
                           .form = s->form,
                           .hash = s->record.workload_hash,
                           .record = s->id,
                           .seconds = s->record.median};
    bool direct = strcmp(s->form, "direct") == 0;
    k->origin =
        tc_arena_printf(arena, "record %lld of %s: %s%s%s with %d threads on %s", (long long)s->id, s->db, direct ? "" : s->form,
                        direct ? "" : ", ", tc_cli_time(time, s->record.median), s->record.threads, s->record.host);
    return TC_OK;
}

static tc_status schedule_of(const compare_args *a, const comparison *c, compare_side *s, const tc_target *t, tc_arena *arena,
                             tc_error *err) {
    tc_meas_db *db = NULL;
    if (s->kind == SIDE_RECORD)
        return from_record(s, arena, &s->k);
    if (s->kind == SIDE_BEST)
        TC_TRY(tc_meas_db_open(tc_cli_db_path(&a->db), TC_MEAS_DB_READ, &db, err));
    tc_status st = tc_cli_schedule_of(c->w, TC_ACCURACY_STRICT, t, db, s->kind == SIDE_FILE ? s->spec : NULL, arena, &s->k, err);
    if (st == TC_OK && s->kind == SIDE_BEST && !s->k.record)
        st = tc_fail(err, TC_BAD_INPUT, "%s has no verified record to be the best: %s", tc_meas_db_path(db), s->k.origin);
    if (st == TC_OK && s->kind == SIDE_DEFAULT)
        s->k.origin = "constructed, not measured before";
    tc_meas_db_close(db);
    return st == TC_OK ? tc_cli_schedule_canonical(c->w, t, arena, &s->k, err) : st;
}

static tc_status make_side(const compare_args *a, const comparison *c, compare_side *s, const tc_target *t, tc_arena *arena,
                           tc_error *err) {
    tc_meas_gemm g;
    if (s->kind == SIDE_PEER) {
        TC_TRY(tc_meas_gemm_of(c->w, &g, err));
        return tc_meas_peer_open(s->spec, &g, c->threads, tc_cli_stop_flag(), &s->peer, err);
    }
    TC_TRY(schedule_of(a, c, s, t, arena, err));
    tc_status st = tc_tune_side_make(t, s->k.workload, s->k.trace, &s->made, err);
    if (st != TC_OK)
        tc_error_prefix(err, "%s: ", s->spec);
    return st;
}

/* ---- measuring ---- */

/* What becomes of the record of a side that failed. Elsewhere, or with other threads, its trace is another program. */
static const char *note_failure(const compare_args *a, const compare_side *s, const tc_record *now, tc_arena *arena) {
    const tc_record *was = &s->record;
    if (s->kind == SIDE_BEST)
        return tc_cli_note_failure(tc_cli_db_path(&a->db), s->k.record, now, arena);
    if (s->kind != SIDE_RECORD || !tc_meas_disproves(now->error))
        return "";
    if (strcmp(was->target_hash.hex, now->target_hash.hex) != 0 || was->threads != now->threads)
        return "the record is of another target or number of threads, and stays as it is";
    return tc_cli_note_failure(s->db, s->id, now, arena);
}

static tc_status failed(const compare_args *a, const compare_side *s, const tc_record *r, tc_arena *arena, tc_error *err) {
    const char *noted = note_failure(a, s, r, arena);
    return tc_fail(err, TC_ENV, "%s could not be measured: %s: %s%s%s", s->spec, tc_meas_error_meaning(r->error), r->message,
                   *noted ? "; " : "", noted);
}

static tc_status judge(const compare_args *a, comparison *c, const compare_side *const *ours, int n, const tc_record *r, int done,
                       int rounds, const double *seconds, tc_arena *arena, tc_error *err) {
    for (int i = 0; i < n; i++)
        if (!tc_record_ok(&r[i]) && r[i].error != TC_MEAS_INTERRUPTED)
            return failed(a, ours[i], &r[i], arena, err);
    if (done < TC_TUNE_MIN_ROUNDS)
        return tc_fail(err, TC_ENV, "stopped after %d rounds: too few for a verdict", done);
    bool peer_first = c->side[0].peer != NULL; /* the guest's times come last */
    c->verdict = tc_tune_judge(seconds + (peer_first ? rounds : 0), seconds + (peer_first ? 0 : rounds), done, a->seed);
    c->measured = true;
    return TC_OK;
}

static tc_status measure(const compare_args *a, comparison *c, const tc_target *t, tc_arena *arena, tc_error *err) {
    int n = 0, done, rounds = tc_cli_repeats(a->repeats);
    tc_meas_options o = {.target = t->text,
                         .threads = c->threads,
                         .mode = c->mode,
                         .samples = 5,
                         .budget = 0.15,
                         .seed = a->seed,
                         .stop = tc_cli_stop_flag()};
    tc_meas_input in[2];
    tc_record r[2];
    const compare_side *ours[2];
    tc_meas_guest guest = {.turn = tc_meas_peer_turn};
    tc_meas *m;
    for (int i = 0; i < 2; i++) {
        const compare_side *s = &c->side[i];
        if (s->peer) {
            guest.user = s->peer;
            continue;
        }
        in[n] = (tc_meas_input){.workload = s->k.workload, .trace = s->k.trace, .workload_hash = s->k.hash, .again = true};
        ours[n++] = s;
    }
    double *seconds = TC_NEW_N(arena, double, 2 * rounds);
    tc_tune_roof before = tc_tune_roofline(c->w, &t->machine, c->mode, NULL);
    TC_TRY(tc_meas_new(&o, &m, err));
    tc_status st = tc_meas_interleave(m, in, (size_t)n, guest.user ? &guest : NULL, rounds, arena, r, seconds, &done, err);
    tc_meas_free(m);
    if (st == TC_OK)
        st = judge(a, c, ours, n, r, done, rounds, seconds, arena, err);
    if (st == TC_OK)
        c->roof = tc_tune_roofline(c->w, &t->machine, c->mode, &before);
    return st;
}

static tc_status compare(const compare_args *a, comparison *c, const tc_target *t, tc_arena *arena, tc_error *err) {
    TC_TRY(check_records(c, arena, err));
    for (int i = 0; i < 2; i++)
        TC_TRY(make_side(a, c, &c->side[i], t, arena, err));
    TC_TRY(measure(a, c, t, arena, err));
    if (a->json)
        tc_cli_comparison_json(c);
    else
        tc_cli_comparison_print(c);
    return TC_OK;
}

/* Threads: --threads, else those that the first record was measured with, else one per core. */
static void set_threads(const compare_args *a, comparison *c, tc_target *t) {
    const compare_side *record = first_record(c);
    if (!a->target.threads && record)
        t->machine.cores = record->record.threads;
    c->threads = t->machine.cores;
}

/* As --mode says; where it leaves that open, cold when a record was timed so, or tuning would do so. A library is timed hot. */
static void set_mode(const compare_args *a, comparison *c, const tc_target *t) {
    bool peer = false, cold = false;
    for (int i = 0; i < 2; i++) {
        peer |= c->side[i].kind == SIDE_PEER;
        cold |= c->side[i].kind == SIDE_RECORD && c->side[i].record.mode == TC_MEAS_COLD;
    }
    if (peer)
        c->mode = TC_MEAS_HOT;
    else if (cold && a->timing.asked == TC_TUNE_AUTO)
        c->mode = TC_MEAS_COLD;
    else
        c->mode = tc_tune_mode(a->timing.asked, c->w, &t->machine);
}

static int run(const void *args, tc_error *err) {
    const compare_args *a = args;
    comparison c = {0};
    tc_cli_source s = {0};
    tc_target *t = NULL;
    tc_arena *arena = tc_arena_new();
    tc_ctx *ctx = tc_ctx_new();
    tc_cli_catch_signals();
    int status = read_specs(a, &c, err);
    if (status == TC_CLI_DONE && (a->source.te || a->source.model))
        status = tc_cli_check_source(&a->source, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_target(&a->target, true, &t, err);
    for (int i = 0; i < 2 && status == TC_CLI_DONE; i++)
        if (c.side[i].kind == SIDE_RECORD && load_record(&c.side[i], arena, err) != TC_OK)
            status = TC_CLI_FAILED;
    if (status == TC_CLI_DONE)
        status = find_kernel(a, &c, &s, ctx, err);
    if (status == TC_CLI_DONE) {
        set_threads(a, &c, t);
        set_mode(a, &c, t);
        status = compare(a, &c, t, arena, err) == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
    }
    for (int i = 0; i < 2; i++) {
        tc_tune_side_free(&c.side[i].made);
        tc_meas_peer_close(c.side[i].peer);
    }
    tc_cli_source_free(&s);
    tc_ctx_free(ctx);
    tc_target_free(t);
    tc_arena_free(arena);
    return status;
}

const tc_cli_command tc_cli_compare = {
    .name = "compare",
    .summary = "compare two schedules of a kernel, or one and another library",
    .operands = "A B",
    .details =
        "A and B are each a record of any form of the kernel (12, or 12@FILE.db), a .sched file, default (the constructed "
        "schedule), best (the best record "
        "of --db), or, for a bare matmul, onednn or openblas through the benchmark program gemm_peers (TCTUNE_PEERS names "
        "it). Shows schedules and loop nests side by side, the cost-model features that differ, what the hot loops consist "
        "of, and the place on the roofline. Then both run in turns in the isolated process, --repeats rounds: the verdict is "
        "the median of the rounds' ratios with its 95 % bootstrap interval, and one is called faster only if that excludes "
        "equality and a sign test agrees. A record that fails there is marked in its database, and no longer used. The kernel is "
        "that of --te or --model and --kernel, or of a record. "
        "Unless given, threads are those of the first record, and both are timed cold when a record was, or when tuning "
        "would do so.",
    TC_CLI_ARGS(compare_args, options),
    .defaults = &(const compare_args){.source = TC_CLI_SOURCE_DEFAULTS},
    .run = run,
};
