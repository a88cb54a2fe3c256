/* tctune doctor: finds settings and conditions of this machine that disturb measurements, and says how to mend them. */
#include "cli/commands.h"

typedef struct doctor_args {
    tc_cli_common common;
    int threads;
    bool quick;
    tc_cli_format format;
} doctor_args;

static const tc_cli_option options[] = {
    TC_CLI_THREADS_OPTION(doctor_args, threads),
    TC_CLI_FLAG(doctor_args, quick, BUDGET, "quick", "measure nothing: report only what system files and this process show"),
    TC_CLI_FORMAT_OPTIONS(doctor_args, format),
};

static void print_table(const json_t *d, tc_cli_format format) {
    static const char *const head[] = {"level", "check", "found", "remedy"};
    size_t i;
    const json_t *f;
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(head), head);
    json_array_foreach(json_object_get(d, "findings"), i, f) {
        tc_cli_cell(&t, "%s", tc_cli_text(f, "level"));
        tc_cli_cell(&t, "%s", tc_cli_text(f, "check"));
        tc_cli_cell(&t, "%s", tc_cli_text(f, "found"));
        tc_cli_cell(&t, "%s", json_object_get(f, "remedy") ? tc_cli_text(f, "remedy") : "");
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
}

static void print_text(const json_t *d, tc_cli_format format) {
    size_t i;
    const json_t *f, *list = json_object_get(d, "findings");
    long long warnings = tc_cli_number(d, "warnings");
    if (!tc_cli_is_prose(format)) {
        print_table(d, format);
        return;
    }
    json_array_foreach(list, i, f) {
        tc_say(stdout, "%-8s %-17s %s\n", tc_cli_text(f, "level"), tc_cli_text(f, "check"), tc_cli_text(f, "found"));
        if (json_object_get(f, "remedy"))
            tc_say(stdout, "%-8s %-17s   %s\n", "", "", tc_cli_text(f, "remedy"));
    }
    tc_say(stdout, "\n%lld warning%s%s\n", warnings, warnings == 1 ? "" : "s",
           json_object_get(d, "measured") ? "" : "; nothing was measured (--quick)");
}

static int run(const void *args, tc_error *err) {
    const doctor_args *a = args;
    tctune_doctor_options o = {.struct_size = sizeof o, .threads = a->threads, .quick = a->quick};
    char *text;
    int status = tc_cli_status(tctune_doctor(&o, &text, TC_CLI_SAY(err)));
    if (status != TC_CLI_DONE)
        return status;
    tc_cli_tell(text, a->format, print_text);
    return TC_CLI_DONE;
}

const tc_cli_command tc_cli_doctor = {
    .name = "doctor",
    .summary = "report what disturbs measurements on this machine, and what to do about it",
    .synopsis = "[--threads N] [--quick]",
    .details = "It checks clock rates, shared cores, limits of containers, other load, page sizes, cache sizes, AMX, the mode of "
               "floating point, and the sandbox of "
               "workers. It measures how steadily a fixed piece of work runs, how much faster several threads are than one, the "
               "peak, and the bandwidth. "
               "Nothing is changed. The exit status is 0 with warnings too; scripts read --json.",
    .examples = {{"Check this machine:", "tctune doctor"},
                 {"Check it in an instant, without measuring:", "tctune doctor --quick"}},
    TC_CLI_ARGS(doctor_args, options),
    .run = run,
};
