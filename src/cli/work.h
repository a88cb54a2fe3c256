/* Opens what the options of a command name: the network or kernel, the target, the database. It uses the public API alone. */
#ifndef TC_CLI_WORK_H
#define TC_CLI_WORK_H

#include "cli/options.h"

/* One of --model and --te, with options that go with it: TC_CLI_DONE, or TC_CLI_USAGE. */
int tc_cli_work_check(const tc_cli_source_args *a, tc_error *err);
tctune_level tc_cli_level(const tc_cli_pass_args *p); /* --opt-level */
/* Opens what --model or --te names, and says which sizes are assumed: TC_CLI_DONE, TC_CLI_USAGE (as tc_cli_work_check),
 * TC_CLI_FAILED; *out is NULL unless done. constants: a file with the constants of a --te kernel; NULL: random ones. */
int tc_cli_work_open(const tc_cli_source_args *a, const char *constants, uint64_t seed, tctune_work **out, tc_error *err);
const char *tc_cli_work_path(const tc_cli_source_args *a); /* of the file */

/* --target: TC_CLI_DONE, or TC_CLI_USAGE. runs_here: code for it must run on this machine. */
int tc_cli_check_target(const tc_cli_target_args *a, bool runs_here, tc_error *err);

/* The API's, of which url is NULL where this machine measures. */
tctune_fleet tc_cli_fleet(const tc_cli_fleet_args *a);
/* What goes with --fleet: TC_CLI_DONE, or TC_CLI_USAGE. */
int tc_cli_check_fleet(const tc_cli_fleet_args *a, tc_error *err);

const char *tc_cli_db_path(const tc_cli_db_args *a);
/* The database to read; NULL: none, with --untuned, and when no --db was given and there is no file of the default name. */
const char *tc_cli_db_to_read(const tc_cli_db_args *a);

/* Which of its kernels --kernel names; -1 when it was not given and there are several. TC_CLI_DONE, or TC_CLI_USAGE. */
int tc_cli_task(const tctune_work *w, const char *kernel, int *out, tc_error *err);
/* The same, but several without --kernel are a TC_CLI_USAGE. */
int tc_cli_one_task(const tctune_work *w, const char *path, const char *kernel, int *out, tc_error *err);

/* --at of one kernel: TC_CLI_DONE, or TC_CLI_USAGE. */
int tc_cli_check_at(const tctune_work *w, int task, const tc_cli_texts *at, tc_error *err);

/* Of commands about one kernel, that of --te or --model or, where neither is given, that of a record (of_record: one is named).
 * TC_CLI_DONE, or TC_CLI_USAGE; nothing is opened. */
int tc_cli_kernel_check(const tc_cli_source_args *a, int of_record, tc_error *err);
/* Opens it: *w NULL: it is that of a record. TC_CLI_DONE, or as tc_cli_work_open, and *w may then be open too. */
int tc_cli_kernel_open(const tc_cli_source_args *a, const char *kernel, const tc_cli_texts *at, tctune_work **w, int *task,
                       tc_error *err);

/* ---- models ---- */

/* What the options say of a build, with the progress on a terminal, and stopped by signals. */
tctune_build_options tc_cli_build_options(const tc_cli_model_args *a);
/* What goes with --error-budget; in_graph: --top-k-in-graph was asked for too. TC_CLI_DONE, or TC_CLI_USAGE. */
int tc_cli_check_error_budget(const tc_cli_model_args *a, bool in_graph, tc_error *err);
/* How the API is told of a budget, which may be 0; negative: not given. */
double tc_cli_error_budget(double budget);
/* Says on standard error what of a model its user should know: records that are not used, and which option would use them. */
void tc_cli_warn_of(const json_t *report);
/* What --model or --te names, to be run: a built library, or a source that is built. TC_CLI_DONE, TC_CLI_USAGE, TC_CLI_FAILED;
 * *out is NULL unless done. */
int tc_cli_model_open(const tc_cli_model_args *a, tctune_model **out, tc_error *err);
/* --at of a model: TC_CLI_DONE, or TC_CLI_USAGE. */
int tc_cli_check_model_at(const tctune_model *m, const tc_cli_texts *at, tc_error *err);

/* --rtol and --atol as the API has them: 0 is by type, and negative what tolerates nothing. */
double tc_cli_tolerance_of(double given);

/* What the API refused of an option, as TC_CLI_USAGE: its messages begin with the name of a field. */
int tc_cli_refused(tctune_status s, tc_error *err);

#endif
