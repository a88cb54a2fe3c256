/* tctune compare: two schedules of one kernel, or one and another library, side by side. This file finds out what the two are;
 * what is compared and how stands in tune/kernel/compare.h, the report in compare_report.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare.h"
#include "measure/records/check.h"
#include "support/system/fs.h"
#include "te/text.h"
#include "tune/kernel/kernel.h"

typedef struct compare_args {
    tc_cli_common common;
    tc_cli_source_args source;
    tc_cli_timing timing;
    tc_cli_db_args db;
    tc_cli_target_args target;
    uint64_t seed;
    int repeats; /* 0: not given */
    const char *kernel;
    tc_cli_texts at;
    bool json;
} compare_args;

static const tc_cli_option options[] = {
    TC_CLI_SOURCE_OPTIONS(compare_args, source),
    TC_CLI_AT_OPTION(compare_args, at),
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

static int rounds_of(const compare_args *a) {
    return a->repeats ? a->repeats : TC_TUNE_REPEATS;
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
    int rounds = rounds_of(a);
    if (rounds < TC_TUNE_SURE_ROUNDS)
        return tc_cli_usage(err, "--repeats %d: fewer than %d rounds cannot tell anything apart", rounds, TC_TUNE_SURE_ROUNDS);
    return TC_CLI_DONE;
}

/* ---- records, and the kernel they are of ---- */

static const compare_side *first_record(const comparison *c) {
    return c->side[0].kind == SIDE_RECORD ? &c->side[0] : c->side[1].kind == SIDE_RECORD ? &c->side[1] : NULL;
}

/* The workload of --te or --model, else that of a record. */
static int find_kernel(const compare_args *a, comparison *c, tc_graph_work **work, tc_ctx *ctx, tc_error *err) {
    const compare_side *record = first_record(c);
    const tc_workload *w;
    const tc_tune_task *task;
    int status;
    if (a->source.te || a->source.model) {
        tc_cli_source_args source = a->source;
        source.varying = a->at.len > 0;
        status = tc_cli_open_source(&source, work, err);
        if (status == TC_CLI_DONE)
            status = tc_cli_pick_one(*work, a->kernel, &task, err);
        if (status != TC_CLI_DONE)
            return status;
        w = task->workload;
        c->kernel = task->name;
    } else if (record) {
        if (tc_te_parse(ctx, "workload", record->record.workload, &w, err) != TC_OK)
            return TC_CLI_FAILED;
        c->kernel = record->record.workload_hash.hex;
    } else {
        return tc_cli_usage(err, "of which kernel? Name it with --te FILE.te, or with --model FILE.onnx and --kernel");
    }
    c->hash = tc_te_hash(w);
    c->w = c->timed = w;
    return TC_CLI_DONE;
}

/* Those of --at; where it is not given, and the kernel is that of a record, those of the record. */
static int find_sizes(const compare_args *a, comparison *c, tc_ctx *ctx, tc_arena *arena, tc_error *err) {
    const compare_side *record = first_record(c);
    int64_t *own = TC_NEW_N(arena, int64_t, c->w->nsymbol);
    int status = tc_cli_at(&a->at, c->w, arena, &c->sizes, err);
    if (status != TC_CLI_DONE || (!c->sizes && !c->w->nsymbol))
        return status;
    if (!c->sizes && tc_meas_check_sizes(c->w, record->record.sizes, own, err) != TC_OK)
        return TC_CLI_FAILED;
    c->sizes = c->sizes ? c->sizes : own;
    c->kernel = tc_tune_name_at(arena, c->kernel, c->w, c->sizes);
    return tc_te_at(ctx, c->w, c->sizes, &c->timed, err) == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}

/* A record may be of another form of the kernel, or of what it is at the sizes. */
static tc_status from_record(const comparison *c, compare_side *s, tc_arena *arena, tc_error *err) {
    const char *form = tc_tune_form_of(c->w, s->record.workload_hash.hex, arena),
               *fixed = form ? NULL : tc_tune_form_of(c->timed, s->record.workload_hash.hex, arena);
    if (!form && !fixed)
        return tc_fail(err, TC_BAD_INPUT,
                       "record %lld of %s is of another kernel: its workload is %.12s, that of %s is %.12s; where they are "
                       "two forms of one kernel, name that with --te or --model",
                       (long long)s->id, s->db, s->record.workload_hash.hex, c->kernel, c->hash.hex);
    s->k = tc_tune_schedule_of_record(&s->record, form ? form : fixed, s->db);
    if (form && c->sizes)
        s->k.sizes = tc_meas_sizes_text(arena, c->sizes, c->w->nsymbol);
    return TC_OK;
}

/* ---- schedules ---- */

static tc_status find_schedule(const compare_args *a, const comparison *c, compare_side *s, const tc_target *t, tc_arena *arena,
                               tc_error *err) {
    tc_tune_query q = {.workload = c->w, .target = t, .accuracy = TC_ACCURACY_STRICT};
    q.file = s->kind == SIDE_FILE ? s->spec : NULL;
    if (s->kind == SIDE_BEST)
        TC_TRY(tc_meas_db_open(tc_cli_db_path(&a->db), TC_MEAS_DB_READ, &q.db, err));
    tc_status st =
        c->sizes ? tc_tune_schedule_at(&q, NULL, c->sizes, arena, &s->k, err) : tc_tune_schedule_find(&q, arena, &s->k, err);
    if (st == TC_OK && s->kind == SIDE_BEST && !s->k.record && !s->k.variant)
        st = tc_fail(err, TC_BAD_INPUT, "%s has no verified record to be the best: %s", tc_meas_db_path(q.db),
                     tc_cli_origin(&s->k, arena));
    tc_meas_db_close(q.db);
    return st == TC_OK ? tc_tune_schedule_canonical(c->w, t, arena, &s->k, err) : st;
}

static tc_status make_side(const compare_args *a, const comparison *c, compare_side *s, const tc_target *t, tc_arena *arena,
                           tc_error *err) {
    tc_meas_gemm g;
    if (s->kind == SIDE_PEER) {
        TC_TRY(tc_meas_gemm_of(c->timed, &g, err));
        TC_TRY(tc_meas_peer_open(s->spec, &g, c->threads, tc_cli_stop_flag(), &s->peer, err));
        s->origin = tc_meas_peer_version(s->peer);
        return TC_OK;
    }
    if (s->kind != SIDE_RECORD)
        TC_TRY(find_schedule(a, c, s, t, arena, err));
    s->origin = s->kind == SIDE_DEFAULT ? "constructed, not measured before" : tc_cli_origin(&s->k, arena);
    tc_status st = tc_tune_side_make(t, s->k.workload, s->k.trace, &s->made, err);
    if (st != TC_OK)
        tc_error_prefix(err, "%s: ", s->spec);
    return st;
}

/* ---- measuring ---- */

static tc_status failed(const compare_side *s, const tc_record *now, tc_arena *arena, tc_error *err) {
    const char *noted = s->k.record ? tc_tune_note_failure(s->k.db, s->k.record, now, arena) : "";
    return tc_fail(err, TC_ENV, "%s could not be measured: %s: %s%s%s", s->spec, tc_meas_error_meaning(now->error), now->message,
                   *noted ? "; " : "", noted);
}

static tc_status measure(const compare_args *a, comparison *c, const tc_target *t, tc_arena *arena, tc_error *err) {
    tc_tune_duellist rival[2];
    tc_tune_duel_options o = {
        .workload = c->timed, .target = t, .mode = c->mode, .rounds = rounds_of(a), .seed = a->seed, .stop = tc_cli_stop_flag()};
    for (int i = 0; i < 2; i++)
        rival[i] = (tc_tune_duellist){.schedule = c->side[i].peer ? NULL : &c->side[i].k, .peer = c->side[i].peer};
    TC_TRY(tc_tune_duel_run(rival, &o, arena, &c->duel, err));
    return c->duel.failed < 0 ? TC_OK : failed(&c->side[c->duel.failed], &c->duel.record, arena, err);
}

static tc_status compare(const compare_args *a, comparison *c, const tc_target *t, tc_arena *arena, tc_error *err) {
    for (int i = 0; i < 2; i++)
        if (c->side[i].kind == SIDE_RECORD)
            TC_TRY(from_record(c, &c->side[i], arena, err));
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
static void set_mode(const compare_args *a, comparison *c, tc_target *t) {
    bool peer = false, cold = false;
    t->machine = tc_tune_machine(t, c->threads, tc_te_constant_bytes_read(c->timed));
    for (int i = 0; i < 2; i++) {
        peer |= c->side[i].kind == SIDE_PEER;
        cold |= c->side[i].kind == SIDE_RECORD && c->side[i].record.mode == TC_MEAS_COLD;
    }
    if (peer)
        c->mode = TC_MEAS_HOT;
    else if (cold && a->timing.asked == TC_TUNE_AUTO)
        c->mode = TC_MEAS_COLD;
    else
        c->mode = tc_tune_mode(a->timing.asked, c->timed, 0, &t->machine);
}

static int run(const void *args, tc_error *err) {
    const compare_args *a = args;
    comparison c = {0};
    tc_graph_work *w = NULL;
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
        if (c.side[i].kind == SIDE_RECORD &&
            tc_tune_record_load(c.side[i].db, c.side[i].id, arena, &c.side[i].record, err) != TC_OK)
            status = TC_CLI_FAILED;
    if (status == TC_CLI_DONE)
        status = find_kernel(a, &c, &w, ctx, err);
    if (status == TC_CLI_DONE)
        status = find_sizes(a, &c, ctx, arena, err);
    if (status == TC_CLI_DONE) {
        set_threads(a, &c, t);
        set_mode(a, &c, t);
        status = compare(a, &c, t, arena, err) == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
    }
    for (int i = 0; i < 2; i++) {
        tc_tune_side_free(&c.side[i].made);
        tc_meas_peer_close(c.side[i].peer);
    }
    tc_graph_work_free(w);
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
        "equality and a sign test agrees with p < 0.001. A record that fails there is marked in its database, and no longer "
        "used. The kernel is "
        "that of --te or --model and --kernel, or of a record; --at gives the sizes of one that has symbols, where best is the "
        "variant that "
        "serves them. "
        "Unless given, threads are those of the first record, and both are timed cold when a record was, or when tuning "
        "would do so.",
    TC_CLI_ARGS(compare_args, options),
    .defaults = &(const compare_args){.source = TC_CLI_SOURCE_DEFAULTS},
    .run = run,
};
