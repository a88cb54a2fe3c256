/* Prints the result of `tctune explain` for people: the answer first, then the facts that support it. */
#include <math.h>
#include <string.h>

#include "cli/print.h"

static void heading(const char *text, tc_cli_format format) {
    if (tc_cli_is_prose(format))
        tc_say(stdout, "\n# ---- %s ----\n", text);
    else
        tc_say(stdout, "\n");
}

static void print_interval(tc_cli_table *t, const json_t *j) {
    double low = tc_cli_real(j, "low"), high = tc_cli_real(j, "high");
    if (isfinite(low) && isfinite(high))
        tc_cli_cell(t, "%+.1f to %+.1f", low, high);
    else
        tc_cli_cell(t, "-");
}

static void print_causes(const json_t *causes, tc_cli_format format, bool busy) {
    static const char *const head[] = {"cause", ">estimate|%", ">saves|%", ">at least|%", "what was seen"};
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(head), head);
    heading(busy ? "causes that are suspected (measured on a busy machine)" : "causes that are suspected", format);
    for (size_t i = 0; i < json_array_size(causes); i++) {
        const json_t *c = json_array_get(causes, i);
        bool measured = json_is_true(json_object_get(c, "measured"));
        tc_cli_cell(&t, "%s", tc_cli_text(c, "cause"));
        tc_cli_cell_share(&t, 0, tc_cli_real(c, "estimate") / 100);
        tc_cli_cell_share(&t, 1, measured ? tc_cli_real(c, "saves") / 100 : NAN);
        tc_cli_cell_share(&t, 1, measured ? tc_cli_real(c, "saves_at_least") / 100 : NAN);
        const char *counted = json_string_value(json_object_get(c, "counted"));
        tc_cli_cell(&t, "%s%s%s", tc_cli_text(c, "evidence"), counted ? "; counted: " : "", counted ? counted : "");
    }
    if (json_array_size(causes) || !tc_cli_is_prose(format))
        tc_cli_table_print(&t, stdout);
    else
        tc_say(stdout, "(none)\n");
    tc_cli_table_free(&t);
}

static void print_trials(const json_t *trials, tc_cli_format format) {
    static const char *const head[] = {"about", "decision", "changed", ">time %", ">95 % interval", ">rounds"};
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(head), head);
    size_t shown = 0;
    heading("what each decision is worth: its time against the schedule's", format);
    for (size_t i = 0; i < json_array_size(trials); i++) {
        const json_t *x = json_array_get(trials, i);
        if (!json_is_number(json_object_get(x, "percent")))
            continue;
        shown++;
        const char *about = json_string_value(json_object_get(x, "about"));
        tc_cli_cell(&t, "%s", about ? about : tc_cli_text(x, "kind"));
        tc_cli_cell(&t, "%s", tc_cli_text(x, "decision"));
        tc_cli_cell(&t, "%s", tc_cli_text(x, "what"));
        tc_cli_cell(&t, "%+.1f", tc_cli_real(x, "percent"));
        print_interval(&t, x);
        tc_cli_cell(&t, "%lld", tc_cli_number(x, "rounds"));
    }
    if (shown || !tc_cli_is_prose(format))
        tc_cli_table_print(&t, stdout);
    if (tc_cli_is_prose(format))
        tc_say(stdout, "%zu of %zu trials have a time; a trial without rounds ran once beside the schedule\n", shown,
               json_array_size(trials));
    tc_cli_table_free(&t);
}

static void print_limits(const json_t *j, tc_cli_format format) {
    const json_t *list = json_object_get(j, "limits");
    static const char *const head[] = {"limit", ">needs|ms", ">of the time|%", "how it is known"};
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(head), head);
    heading("limits of the machine", format);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *l = json_array_get(list, i);
        tc_cli_cell(&t, "%s%s", tc_cli_text(l, "name"), json_is_true(json_object_get(l, "binds")) ? " (binds)" : "");
        tc_cli_cell_time(&t, tc_cli_real(l, "ms"));
        tc_cli_cell_share(&t, 0, tc_cli_real(l, "of_time"));
        tc_cli_cell(&t, "%s", tc_cli_text(l, "how"));
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
}

static void print_parts(const json_t *parts, tc_cli_format format) {
    static const char *const head[] = {"part", ">of the time %", ">95 % interval", "how it is known"};
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(head), head);
    heading("where the time goes (work that is done at the same time counts in each part)", format);
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *p = json_array_get(parts, i);
        tc_cli_cell(&t, "%s", tc_cli_text(p, "name"));
        tc_cli_cell(&t, "%.1f", tc_cli_real(p, "percent"));
        print_interval(&t, p);
        tc_cli_cell(&t, "%s", tc_cli_text(p, "how"));
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
}

static void print_counters(const json_t *counters, tc_cli_format format) {
    static const char *const head[] = {"counter", ">of a call", "why not"};
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(head), head);
    heading("counters of a call, on all threads", format);
    for (size_t i = 0; i < json_array_size(counters); i++) {
        const json_t *c = json_array_get(counters, i);
        const char *missing = json_string_value(json_object_get(c, "missing"));
        tc_cli_cell(&t, "%s", tc_cli_text(c, "name"));
        if (missing)
            tc_cli_cell_none(&t);
        else
            tc_cli_cell(&t, format == TC_CLI_CSV ? "%.9g" : "%.4g", tc_cli_real(c, "of_call"));
        tc_cli_cell(&t, "%s", missing ? missing : "");
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
}

void tc_cli_print_explanation(const json_t *j, tc_cli_format format) {
    const char *no_best = json_string_value(json_object_get(j, "no_best"));
    if (tc_cli_is_prose(format))
        tc_say(stdout, "%s\n\nkernel %s: %s (%s), %lld threads, %s\n", tc_cli_text(j, "answer"), tc_cli_text(j, "kernel"),
               tc_cli_text(j, "spec"), tc_cli_text(j, "origin"), tc_cli_number(j, "threads"), tc_cli_text(j, "mode"));
    if (no_best && tc_cli_is_prose(format))
        tc_say(stdout, "the database was not searched for a better record: %s\n", no_best);
    bool measured = !json_is_string(json_object_get(j, "unmeasured"));
    print_causes(json_object_get(j, "causes"), format, measured && json_is_true(json_object_get(j, "busy")));
    if (measured) {
        print_trials(json_object_get(j, "trials"), format);
        print_limits(j, format);
        print_parts(json_object_get(j, "parts"), format);
        print_counters(json_object_get(j, "counters"), format);
    }
    if (tc_cli_is_prose(format))
        tc_say(stdout, "\n%.1f s\n", tc_cli_real(j, "seconds"));
}
