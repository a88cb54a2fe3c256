/* One kernel of what a command works on, its schedule in canonical names, as records have it, and its time. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "measure/maintain.h"
#include "te/text.h"
#include "tir_lower/program.h"

int tc_cli_pick(const tc_cli_source *s, const char *kernel, int *out, tc_error *err) {
    char *end;
    if (!kernel) {
        *out = s->ntask == 1 ? 0 : -1;
        return TC_CLI_DONE;
    }
    long n = strtol(kernel, &end, 10);
    if (end != kernel && !*end && n >= 0 && n < s->ntask) {
        *out = (int)n;
        return TC_CLI_DONE;
    }
    for (int i = 0; i < s->ntask; i++)
        if (strcmp(s->tasks[i].name, kernel) == 0) {
            *out = i;
            return TC_CLI_DONE;
        }
    return tc_cli_usage(
        err, "--kernel: %s has no kernel '%s'; they are numbered 0 to %d, and `tctune show` without --kernel lists them", s->path,
        kernel, s->ntask - 1);
}

int tc_cli_pick_one(const tc_cli_source *s, const char *kernel, int *out, tc_error *err) {
    int status = tc_cli_pick(s, kernel, out, err);
    if (status == TC_CLI_DONE && *out < 0)
        return tc_cli_usage(err, "%s has %d kernels: name one with --kernel; `tctune show` lists them", s->path, s->ntask);
    return status;
}

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
                           tc_cli_schedule *k, tc_error *err) {
    tc_trace *own, *renamed;
    uint64_t before, after;
    TC_TRY(tc_trace_parse(a, k->origin, k->trace, &own, err));
    renamed = tc_trace_canonical(a, w, own);
    TC_TRY(program_hash(t, w, own, &before, err));
    if (program_hash(t, canonical, renamed, &after, NULL) != TC_OK || before != after)
        return tc_fail(
            err, TC_BAD_INPUT,
            "%s: names that its steps make are in the way of the canonical ones that records use (p0, t0, i0, k0, ...); "
            "start from `tctune show --print schedule`, which has these",
            k->origin);
    tc_strbuf b = {0};
    tc_trace_print(&b, renamed);
    k->trace = tc_arena_strdup(a, tc_sb_str(&b));
    tc_strbuf_free(&b);
    return TC_OK;
}

tc_status tc_cli_schedule_canonical(const tc_workload *w, const tc_target *t, tc_arena *a, tc_cli_schedule *k, tc_error *err) {
    tc_ctx *ctx = tc_ctx_new();
    tc_strbuf text = {0};
    tc_status st = TC_OK;
    const tc_workload *canonical = tc_te_canonical(ctx, w);
    tc_te_print(&text, canonical);
    if (strcmp(tc_sb_str(&text), k->workload) != 0) {
        st = translate(w, canonical, t, a, k, err);
        k->workload = tc_arena_strdup(a, tc_sb_str(&text));
    }
    tc_strbuf_free(&text);
    tc_ctx_free(ctx);
    return st;
}

int tc_cli_repeats(int asked) {
    enum { DEFAULT = 30 };
    return asked ? asked : DEFAULT;
}

tc_status tc_cli_kernel_time(const tc_target *t, const tc_cli_schedule *k, tc_meas_mode mode, int repeats, uint64_t seed,
                             tc_arena *arena, tc_record *out, tc_error *err) {
    tc_meas_options o = {.target = t->text, .threads = t->machine.cores, .mode = mode, .seed = seed, .stop = tc_cli_stop_flag()};
    tc_meas_input in = {.workload = k->workload, .trace = k->trace, .workload_hash = k->hash};
    tc_meas *m;
    TC_TRY(tc_meas_new(&o, &m, err));
    tc_status st = tc_meas_kernel_time(m, &in, tc_cli_repeats(repeats), arena, out, err);
    tc_meas_free(m);
    if (st == TC_OK && out->error == TC_MEAS_INTERRUPTED)
        return tc_fail(err, TC_ENV, "stopped before anything was measured");
    return st;
}

const char *tc_cli_note_failure(const char *db_path, int64_t id, const tc_record *now, tc_arena *a) {
    tc_meas_db *db = NULL;
    tc_error why = {0};
    if (!tc_meas_disproves(now->error))
        return "";
    tc_status s = tc_meas_db_open(db_path, TC_MEAS_DB_WRITE, &db, &why);
    if (s == TC_OK)
        s = tc_meas_db_note_failure(db, id, now, &why);
    tc_meas_db_close(db);
    return s == TC_OK
               ? tc_arena_printf(a, "record %lld of %s is marked as failed, and no longer used", (long long)id, db_path)
               : tc_arena_printf(a, "record %lld of %s could not be marked as failed: %s", (long long)id, db_path, why.msg);
}
