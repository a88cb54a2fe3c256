/* The command `tctune`: what its files share. A command parses nothing and exits nowhere: it gets its arguments and returns an
 * exit status; main.c prints the error. */
#ifndef TC_CLI_CLI_H
#define TC_CLI_CLI_H

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/options.h"
#include "codegen/assembly/asm_facts.h"
#include "codegen/target/target.h"
#include "graph/trials/bundle.h"
#include "graph/trials/contest.h"
#include "graph/trials/precision.h"
#include "graph/work/work.h"
#include "measure/machine/unit_peak.h"
#include "measure/records/database.h"
#include "support/vec.h"
#include "tune/kernel/variants.h"
#include "tune/tune.h"

extern const tc_cli_command tc_cli_tune, tc_cli_build, tc_cli_run, tc_cli_verify, tc_cli_bench, tc_cli_trace, tc_cli_doctor,
    tc_cli_show, tc_cli_measure, tc_cli_compare, tc_cli_quantize, tc_cli_zoo, tc_cli_export, tc_cli_import, tc_cli_db_stats,
    tc_cli_db_merge, tc_cli_db_prune, tc_cli_db_verify, tc_cli_db_export, tc_cli_db_import;

/* ---- what commands work on (source.c) ---- */

/* Opens what --model or --te names: TC_CLI_DONE, TC_CLI_USAGE (neither or both), TC_CLI_FAILED; *out is NULL unless done.
 * `constants`: a file with the constants of a --te kernel; NULL: random ones. */
int tc_cli_open(const tc_cli_model_args *a, const char *constants, tc_graph_work **out, tc_error *err);
/* The same where nothing is built from it. */
int tc_cli_open_source(const tc_cli_source_args *a, tc_graph_work **out, tc_error *err);
/* One of --model and --te: TC_CLI_DONE, or TC_CLI_USAGE. */
int tc_cli_check_source(const tc_cli_source_args *a, tc_error *err);

tc_graph_pass_options tc_cli_pass_options(const tc_cli_pass_args *a);
/* The names of graph passes: TC_CLI_DONE, or TC_CLI_USAGE with the list of those there are. */
int tc_cli_check_passes(const tc_cli_pass_args *a, tc_error *err);

/* --target and --threads. `runs_here`: an error unless code for it runs on this machine. */
int tc_cli_target(const tc_cli_target_args *a, bool runs_here, tc_target **out, tc_error *err);
/* --db for writing; for reading: *out is NULL with --untuned, and when no --db was given and there is no file of
 * the default name. */
TC_NODISCARD tc_status tc_cli_db_write(const tc_cli_db_args *a, tc_meas_db **out, tc_error *err);
TC_NODISCARD tc_status tc_cli_db_read(const tc_cli_db_args *a, tc_meas_db **out, tc_error *err);
const char *tc_cli_db_path(const tc_cli_db_args *a);
/* Builds with the best records of --db, or the chosen ones (by kernel; NULL: the best), in forms as
 * accurate as `accuracies` say (by kernel; NULL: all as a->accuracy). The last model of w: its constants are used
 * up. */
int tc_cli_model_build(const tc_cli_model_args *a, tc_graph_work *w, const tc_target *target, bool object_only,
                       const tc_graph_choice *choices, const tc_accuracy *accuracies, tc_graph_model **out, tc_error *err);
/* Opens what --model or --te names, a built library or a source that is built first, and hands it to `use`. Exit statuses. */
typedef int tc_cli_use_model(const void *user, tc_graph_model *m, tc_error *err);
int tc_cli_with_model(const tc_cli_model_args *a, tc_cli_use_model *use, const void *user, tc_error *err);
/* Prints what a built library says of itself (library.c). An exit status. */
int tc_cli_show_library(const char *path, bool json, tc_error *err);
/* What goes with --error-budget; in_graph: --top-k-in-graph was asked for too. */
int tc_cli_check_budget(const tc_cli_model_args *a, bool in_graph, tc_error *err);
/* The file has inputs of the network that can be read. */
int tc_cli_check_inputs(tc_graph_work *w, const char *inputs, tc_error *err);
/* Chooses which kernels round to bf16 (tc_graph_precision_choose) on the inputs in file `inputs`; NULL: drawn ones. What is chosen
 * lives in `arena`. */
int tc_cli_precision(const tc_cli_model_args *a, tc_graph_work *w, const tc_target *target, const char *inputs, double budget,
                     tc_arena *arena, tc_graph_precision *out, tc_error *err);
/* Compares the k best records of each kernel in the network (tc_graph_contest_hold). The results live in `arena`. */
int tc_cli_contest(const tc_cli_model_args *a, tc_graph_work *w, const tc_target *target, int k, tc_arena *arena,
                   tc_graph_admission *admitted, tc_graph_contest *out, tc_error *err);

/* Which of its kernels --kernel names; -1 when it was not given and there are several. */
int tc_cli_pick(const tc_graph_work *w, const char *kernel, int *out, tc_error *err);
/* The same, but several without --kernel are a TC_CLI_USAGE. */
int tc_cli_pick_one(const tc_graph_work *w, const char *kernel, const tc_tune_task **out, tc_error *err);

/* ---- one kernel (kernel.c) ---- */

/* Where a schedule comes from, for people, in `a`: "record 12 of tctune.db: 1.23 ms with 2 threads on HOST", "default schedule
 * (there is no database)", "FILE". */
/* For a default schedule: what it was chosen by, if that was the cost of a unit with tiles, as " by the cost of ..."; else "". */
const char *tc_cli_by_cost(const char *trace, tc_arena *a);
const char *tc_cli_origin(const tc_tune_schedule *s, tc_arena *a);

/* ---- kernels with symbols (kernel.c) ---- */

/* Which sizes variant i serves: "N from 6 to 99". In `a`. */
const char *tc_cli_span(const tc_workload *w, const tc_tune_variants *v, int i, tc_arena *a);
/* Variants with their spans, and what each point of the contest loses by them. */
void tc_cli_report_variants(FILE *f, const char *name, const tc_workload *w, const tc_tune_variants *v);
json_t *tc_cli_variants_json(const char *name, const tc_workload *w, const tc_tune_variants *v);
json_t *tc_cli_places_json(const tc_workload *w, const tc_tune_places *p);

/* ---- --at (kernel.c) ---- */

/* The sizes that it gives, one for each symbol of w, in `a`; *out NULL: it was not given. TC_CLI_DONE, or TC_CLI_USAGE. */
int tc_cli_at(const tc_cli_texts *at, const tc_workload *w, tc_arena *a, const int64_t **out, tc_error *err);
/* The same of a network, whose other sizes are as tc_graph_size_rules_complete has them. */
int tc_cli_at_network(const tc_cli_texts *at, const tc_graph_size_rules *r, tc_arena *a, const int64_t **out, tc_error *err);
/* " batch=1 sequence=17", and as an object. */
const char *tc_cli_sizes_text(tc_arena *a, const tc_graph_size_rules *r, const int64_t *sizes);
json_t *tc_cli_sizes_json(const tc_graph_size_rules *r, const int64_t *sizes);

/* ---- latency over a range of sizes (curve.c) ---- */

typedef struct tc_cli_curve_options {
    const char *what; /* the network's name */
    int repeats;
    uint64_t seed;
    bool json;
    const char *plot; /* a file that gets a picture; NULL: none */
} tc_cli_curve_options;
/* Times the network over the range of each size that no others define, and prints tables with bars, or JSON. An exit status. */
int tc_cli_bench_curve(tc_graph_model *m, const tc_cli_curve_options *o, tc_error *err);

/* ---- signals (signals.c) ---- */

/* From now on SIGINT and SIGTERM set the flag; a second one ends the process. */
void tc_cli_catch_signals(void);
const volatile sig_atomic_t *tc_cli_stop_flag(void); /* 0, or the signal's number */
/* For every command: a closed pipe or a file-size limit is an error of a write, not the end of the process. */
void tc_cli_ignore_write_signals(void);

/* ---- text (table.c) ---- */

/* A table of text cells; the first row is the heading. Columns whose heading starts with '>' are right-aligned. */
typedef struct tc_cli_table {
    tc_arena *arena;
    int ncol;
    tc_cli_texts cells;
} tc_cli_table;

tc_cli_table tc_cli_table_new(int ncol, const char *const *headings);
void tc_cli_cell(tc_cli_table *t, const char *fmt, ...) TC_PRINTF(2, 3);
void tc_cli_table_print(const tc_cli_table *t, FILE *f);
void tc_cli_table_free(tc_cli_table *t);

/* "12.3 us", "1.23 ms", "4.56 s", "-" when not finite. Returns buf. */
char *tc_cli_time(char buf[24], double seconds);
char *tc_cli_duration(char buf[24], double seconds); /* "1:02:03", "4:05" */
char *tc_cli_bytes(char buf[24], double n);          /* "12.3 MiB" */

/* A real, or null when it is not finite. */
json_t *tc_cli_json_real(double v);
/* Prints and releases. */
void tc_cli_json_print(json_t *j);

/* ---- tuning's face (progress.c, report.c) ---- */

typedef struct tc_cli_progress tc_cli_progress;
/* Live lines when stderr is a terminal, else a line per round. */
tc_cli_progress *tc_cli_progress_new(void);
void tc_cli_progress_free(tc_cli_progress *p);
tc_tune_progress tc_cli_on_progress; /* user: the tc_cli_progress */
/* Progress of tc_graph_model_build, user NULL. */
void tc_cli_on_build(void *user, int done, int total, const char *kernel);

void tc_cli_report_tuning(FILE *f, const tc_tune_report *r, const char *db);
json_t *tc_cli_tuning_json(const tc_tune_report *r, const char *db);
/* One line per kernel: which record or why the default; for build. */
void tc_cli_report_kernels(FILE *f, const tc_graph_kernel *k, int n);
json_t *tc_cli_kernels_json(const tc_graph_kernel *k, int n);

/* Peaks of the units that were measured: a line each, or an object by name. */
void tc_cli_print_units(FILE *f, const tc_meas_peak *p);
json_t *tc_cli_units_json(const tc_meas_peak *p);
json_t *tc_cli_unit_json(const tc_intrinsic *unit); /* its name; null of NULL */
/* What walks of so many threads found of this machine's caches: a line, or nothing where none are kept; an object, or null. */
void tc_cli_print_caches(FILE *f, int threads);
json_t *tc_cli_caches_json(int threads);
/* The records that were compared in the network, by kernel (k: of the model that is built). */
void tc_cli_report_contest(FILE *f, const tc_graph_contest *c, const tc_graph_kernel *k);
json_t *tc_cli_precision_json(const tc_graph_precision *p);
void tc_cli_report_precision(FILE *out, const tc_graph_precision *p, double budget, const char *inputs);
json_t *tc_cli_contest_json(const tc_graph_contest *c);
json_t *tc_cli_refusals_json(const tc_graph_admission *x);

/* ---- kernels side by side (side.c) ---- */

json_t *tc_cli_asm_json(const tc_cg_asm_facts *f);
/* Two texts as columns, lines that both have beside each other. Between them stands "|" where the lines differ, "<" and ">" where
 * only one side has one. `width`: of the whole; lines are cut to fit. */
void tc_cli_side_by_side(FILE *f, const char *left, const char *right, int width);

#endif
