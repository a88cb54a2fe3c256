/* Writes progress as events for `--progress json`: one JSON object a line (docs/json.md). */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "cli/print.h"

/* Where events go unless --progress-fd says so. */
static int where(const tc_cli_progress_args *a) {
    return a->fd ? a->fd : STDERR_FILENO;
}

bool tc_cli_tells_events(const tc_cli_progress_args *a) {
    return a->how && strcmp(a->how, "json") == 0;
}

bool tc_cli_tells_progress(const tc_cli_progress_args *a) {
    return !a->how || strcmp(a->how, "text") == 0;
}

int tc_cli_check_progress(const tc_cli_progress_args *a, tc_error *err) {
    if (!a->fd)
        return TC_CLI_DONE;
    if (!tc_cli_tells_events(a))
        return tc_cli_usage(err, "--progress-fd goes with --progress json: it says where events are written");
    int flags = fcntl(a->fd, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
        return tc_cli_usage(
            err, "--progress-fd %d: no file is open for writing under this number; in a shell, add %d>FILE to the command", a->fd,
            a->fd);
    if (a->fd > STDERR_FILENO)
        fcntl(a->fd, F_SETFD, FD_CLOEXEC); /* workers have nothing to do with it */
    return TC_CLI_DONE;
}

/* If the reader of the events goes away, the search still goes on. */
void tc_cli_tell_event(const tc_cli_progress_args *a, json_t *event) {
    char *text = tc_json_text(event, JSON_COMPACT);
    tc_strbuf line = {0};
    tc_sb_add(&line, text ? text : "");
    tc_sb_addc(&line, '\n');
    for (size_t done = 0; done < line.len;) {
        ssize_t n = write(where(a), line.data + done, line.len - done);
        if (n < 0 && errno != EINTR)
            break;
        done += n > 0 ? (size_t)n : 0;
    }
    tc_strbuf_free(&line);
    free(text);
    json_decref(event);
}

/* ---- a build ---- */

json_t *tc_cli_build_event(int done, int total, const char *kernel) {
    json_t *j = tc_json_pack("{s:s,s:i,s:i}", "event", done < total ? "building" : "built", "done", done, "total", total);
    if (done < total)
        tc_json_set(j, "kernel", tc_json_string(kernel));
    return j;
}

/* ---- a search ---- */

static json_t *milliseconds(double seconds) {
    return tc_json_real(1e3 * seconds);
}

static json_t *task_event(const tctune_task_state *t) {
    json_t *j = tc_json_pack("{s:s,s:s,s:f,s:i,s:i,s:s,s:s}", "name", t->name, "hash", t->hash, "weight", t->weight, "trials",
                             t->trials, "valid", t->valid, "form", t->form, "mode", t->mode);
    tc_json_set(j, "best_ms", milliseconds(t->best));
    tc_json_set(j, "gflops", tc_json_real(t->flops / t->best / 1e9));
    tc_json_set(j, "of_peak", tc_json_real(t->peak > 0 ? t->flops / t->best / t->peak : NAN));
    tc_json_update(j, tc_json_pack("{s:b,s:b,s:b,s:i}", "at_roof", t->at_roof, "settled", t->settled, "exhausted", t->exhausted,
                                   "since_gain", t->since_gain));
    return j;
}

static json_t *report_event(const tctune_report *r) {
    json_t *j = tc_json_pack("{s:i,s:i,s:i,s:f,s:f,s:b,s:f,s:f}", "trials", r->trials, "target_trials", r->target_trials,
                             "measured", r->measured, "seconds", r->seconds, "seconds_limit", r->seconds_limit, "busy", !r->quiet,
                             "slowdown", r->slowdown, "spread", r->spread);
    tc_json_set(j, "latency_ms", milliseconds(r->latency));
    tc_json_set(j, "expected_gain_ms", milliseconds(r->expected_gain));
    tc_json_set(j, "seconds_left", tc_json_real(r->seconds_left));
    tc_json_set(j, "pairwise", tc_json_real(r->pairwise));
    return j;
}

json_t *tc_cli_search_event(const tctune_event *e) {
    static const char *const names[] = {[TCTUNE_EVENT_STARTED] = "started",   [TCTUNE_EVENT_ROUND_STARTED] = "round_started",
                                        [TCTUNE_EVENT_MEASURED] = "measured", [TCTUNE_EVENT_ROUND_DONE] = "round_done",
                                        [TCTUNE_EVENT_SEARCHED] = "searched", [TCTUNE_EVENT_CONTEST] = "contest",
                                        [TCTUNE_EVENT_COMPARED] = "compared", [TCTUNE_EVENT_CLOSING] = "closing",
                                        [TCTUNE_EVENT_GAINED] = "gained"};
    tctune_task_state t = {.struct_size = sizeof t};
    tc_error err;
    json_t *j = tc_json_pack("{s:s}", "event", names[e->kind]);
    tc_json_update(j, report_event(e->report));
    if (e->task >= 0 && tctune_session_task(e->session, e->task, &t, TC_CLI_SAY(&err)) == TCTUNE_OK) {
        tc_json_set(j, "task", tc_json_integer(e->task));
        tc_json_set(j, "state", task_event(&t));
    }
    if (e->kind == TCTUNE_EVENT_SEARCHED)
        tc_json_set(j, "end", tc_json_string(e->report->end));
    if (e->kind == TCTUNE_EVENT_GAINED) {
        tc_json_update(j, tc_json_pack("{s:i,s:i}", "kernels", e->report->kernels, "kept", e->report->kept));
        tc_json_set(j, "untuned_ms", milliseconds(e->report->untuned));
        tc_json_set(j, "tuned_ms", milliseconds(e->report->tuned));
        tc_json_set(j, "speedup", tc_json_real(e->report->speedup));
    }
    if (e->kind == TCTUNE_EVENT_CONTEST)
        tc_json_update(j, tc_json_pack("{s:s,s:i,s:i}", "name", e->name, "programs", e->programs, "places", e->places));
    if (e->kind == TCTUNE_EVENT_COMPARED)
        tc_json_update(j, tc_json_pack("{s:s,s:i}", "name", e->name, "variants", e->variants));
    return j;
}
