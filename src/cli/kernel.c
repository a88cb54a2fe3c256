/* One kernel of what a command works on, and where its schedule comes from. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

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

const char *tc_cli_origin(const tc_tune_schedule *s, tc_arena *a) {
    char time[24];
    const tc_record *r = s->record;
    bool other = strcmp(s->form, "direct") != 0;
    if (s->file)
        return s->file;
    if (!r)
        return tc_arena_printf(a, "default schedule (%s)", s->why);
    return tc_arena_printf(a, "record %lld of %s: %s%s%s with %d threads on %s", (long long)r->id, s->db, other ? s->form : "",
                           other ? ", " : "", tc_cli_time(time, r->median), r->threads, r->host);
}
