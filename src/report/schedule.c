/* Says where the schedule of a kernel comes from. */
#include <stdio.h>
#include <string.h>

#include "report/report.h"
#include "support/units.h"
#include "te/intrinsic.h"

const char *tc_report_by_cost(const char *trace, tc_arena *a) {
    for (const char *step = strstr(trace, "tensorize "); step; step = strstr(step + 1, "tensorize ")) {
        char loop[128], unit[64];
        const tc_intrinsic *row = sscanf(step, "tensorize %127s %63s", loop, unit) == 2 ? tc_intrinsic_named(unit) : NULL;
        if (row && row->place != TC_UNIT_VECTOR)
            return tc_arena_printf(a, " by the cost of %s, not measured", row->text);
    }
    return "";
}

const char *tc_report_origin(const tc_tune_schedule *s, tc_arena *a) {
    char time[24];
    const tc_record *r = s->record;
    bool other = strcmp(s->form, "direct") != 0;
    if (s->file)
        return s->file;
    if (s->variant)
        return s->variant;
    if (!r)
        return tc_arena_printf(a, "default schedule%s (%s)", tc_report_by_cost(s->trace, a), s->why);
    return tc_arena_printf(a, "record %lld of %s: %s%s%s with %d threads on %s", (long long)r->id, s->db, other ? s->form : "",
                           other ? ", " : "", tc_text_time(time, r->median), r->threads, r->host);
}
