/* Where the schedule of a kernel comes from. */
#include <string.h>

#include "cli/cli.h"

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
