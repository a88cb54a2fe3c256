/* tctune report: writes the contents of a database as a page for a browser. */
#include <string.h>

#include "cli/commands.h"
#include "cli/work.h"
#include "support/system/fs.h"

typedef struct report_args {
    tc_cli_common common;
    tc_cli_source_args source;
    tc_cli_db_args db;
    tc_cli_target_args target;
    tc_cli_accuracy_args accuracy;
    const char *out, *baseline;
    tc_cli_texts with;
    bool quick, json;
} report_args;

static const tc_cli_option options[] = {
    TC_CLI_DB_OPTION(report_args, db.path),
    TC_CLI_SOURCE_OPTIONS(report_args, source),
    TC_CLI_NAMED(report_args, baseline, RECORDS, "baseline", "FILE.db", "another database, whose times are shown beside these"),
    TC_CLI_INPUTS(
        report_args, with, RECORDS, "with", "FILE.json",
        "a result of `tctune bench --json` (latencies, times of kernels in the network, curves over sizes, rates of the machine) "
        "or of `tctune explain --json`, or times of other libraries (docs/json.md), to show on the page. May be repeated"),
    TC_CLI_OUT_OPTION(report_args, out, "FILE.html", "the page to write"),
    TC_CLI_TARGET_OPTION(report_args, target.name),
    TC_CLI_ACCURACY_OPTIONS(report_args, accuracy),
    TC_CLI_COUNT(report_args, target.threads, MACHINE, "threads", "N",
                 "show the records with this number of threads; default the number that most records have"),
    TC_CLI_WEIGHTS_OPTION(report_args, source.weights),
    TC_CLI_FLAG(report_args, quick, BUDGET, "quick",
                "measure nothing: times have no roof, unless --with gives the rates of the machine"),
    TC_CLI_PASS_OPTIONS(report_args, source.passes),
    TC_CLI_JSON_OPTION(report_args, json),
};

/* ---- the command, as the page shows it ---- */

static void add_option(tc_strbuf *b, const char *name, const char *value) {
    if (value) {
        tc_sb_printf(b, " --%s ", name);
        tc_sb_add_word(b, value);
    }
}

static void add_options(tc_strbuf *b, const char *name, const tc_cli_texts *values) {
    for (size_t i = 0; i < values->len; i++)
        add_option(b, name, values->data[i]);
}

/* What names the kernels, for any command. */
static void write_source(const tc_cli_source_args *a, tc_strbuf *b) {
    add_option(b, "model", a->model);
    add_option(b, "te", a->te);
    add_options(b, "shape", &a->shape);
    add_options(b, "input", &a->fixed);
    add_option(b, "shape-weights", a->weights);
    if (a->in_place_cache)
        tc_sb_add(b, " --in-place-cache");
    if (a->passes.level >= 0)
        tc_sb_printf(b, " --opt-level %d", a->passes.level);
    add_options(b, "disable-pass", &a->passes.disable);
}

static void write_command(const report_args *a, const char *source, tc_strbuf *b) {
    tc_sb_add(b, "tctune report");
    add_option(b, "db", tc_cli_db_path(&a->db));
    tc_sb_add(b, source);
    add_option(b, "baseline", a->baseline);
    add_options(b, "with", &a->with);
    add_option(b, "target", a->target.name);
    add_option(b, "accuracy", a->accuracy.accuracy);
    add_option(b, "precision", a->accuracy.precision);
    if (a->target.threads)
        tc_sb_printf(b, " --threads %d", a->target.threads);
    if (a->quick)
        tc_sb_add(b, " --quick");
    add_option(b, "out", a->out);
}

/* ---- making it ---- */

static int write_page(const report_args *a, const tctune_work *w, const tctune_page_options *o, tc_error *err) {
    char *html, size[24];
    int status = tc_cli_status(tctune_page(w, o, &html, TC_CLI_SAY(err)));
    if (status != TC_CLI_DONE)
        return status;
    size_t n = strlen(html);
    tc_status s = tc_fs_write(a->out, html, n, err);
    tctune_text_free(html);
    if (s != TC_OK)
        return TC_CLI_FAILED;
    tc_say(stdout, "%s: %s\n", a->out, tc_text_bytes(size, (double)n));
    return TC_CLI_DONE;
}

static int print_data(const tctune_work *w, const tctune_page_options *o, tc_error *err) {
    char *text;
    int status = tc_cli_status(tctune_page_data(w, o, &text, TC_CLI_SAY(err)));
    if (status == TC_CLI_DONE) {
        tc_say_lines(stdout, text);
        tc_say(stdout, "\n");
        tctune_text_free(text);
    }
    return status;
}

static int make(const report_args *a, const tctune_work *w, tc_error *err) {
    tc_strbuf source = {0}, command = {0};
    write_source(&a->source, &source);
    write_command(a, tc_sb_str(&source), &command);
    tctune_page_options o = {.struct_size = sizeof o,
                             .database = tc_cli_db_path(&a->db),
                             .baseline = a->baseline,
                             .documents = a->with.data,
                             .target = a->target.name,
                             .threads = a->target.threads,
                             .accuracy = a->accuracy.accuracy,
                             .precision = a->accuracy.precision,
                             .source = source.len ? tc_sb_str(&source) + 1 : NULL,
                             .command = tc_sb_str(&command),
                             .quick = a->quick};
    int status = a->json ? print_data(w, &o, err) : write_page(a, w, &o, err);
    tc_strbuf_free(&source);
    tc_strbuf_free(&command);
    return status;
}

static int check(const report_args *a, tc_error *err) {
    if (a->json == (a->out != NULL))
        return tc_cli_usage(err, a->out ? "--out is for the page, --json for its data on standard output: give one of them"
                                        : "--out is missing: give the file for the page, or give --json for its data");
    if (a->source.model || a->source.te)
        return tc_cli_work_check(&a->source, err);
    return tc_cli_check_target(&a->target, false, err);
}

static int run(const void *args, tc_error *err) {
    const report_args *a = args;
    tctune_work *w = NULL;
    tc_cli_source_args source = a->source;
    int status = check(a, err);
    source.varying = true;
    if (status == TC_CLI_DONE && a->out && tc_fs_check_writable(a->out, err) != TC_OK)
        return TC_CLI_FAILED;
    if (status == TC_CLI_DONE && (source.model || source.te))
        status = tc_cli_work_open(&source, NULL, 0, &w, err);
    if (status == TC_CLI_DONE)
        status = make(a, w, err);
    tctune_work_free(w);
    return status;
}

const tc_cli_command tc_cli_report = {
    .name = "report",
    .summary = "write a page (HTML) about a database: times beside roofs, curves, schedules, failures",
    .source = "[MODEL.onnx|KERNEL.te]",
    .synopsis = "-o FILE.html [--db FILE.db]",
    .details = "The page is one HTML file that needs no network and no server. It shows the kernels of the model or kernel that "
               "is named, else "
               "every workload of the database. All its records have one target and one number of threads: those of this "
               "machine, or if it "
               "has no records, those that most records have. If the records are of this machine, its peak and bandwidth are "
               "measured, which takes "
               "about a second. With --json the data of the page go to standard output.",
    .examples = {{"Write a page about tctune.db:", "tctune report -o report.html"},
                 {"Only the kernels of a network, beside an earlier database:",
                  "tctune report mlp.onnx --baseline old.db -o mlp.html"}},
    TC_CLI_ARGS(report_args, options),
    .defaults = &(const report_args){.source = TC_CLI_SOURCE_DEFAULTS},
    .run = run,
};
