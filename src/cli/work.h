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

/* The fleet options as the API has them; url is NULL if this machine measures. */
tctune_fleet tc_cli_fleet(const tc_cli_fleet_args *a);
/* Checks the options that --fleet needs: TC_CLI_DONE, or TC_CLI_USAGE. */
int tc_cli_check_fleet(const tc_cli_fleet_args *a, tc_error *err);

const char *tc_cli_db_path(const tc_cli_db_args *a);
/* The database to read. NULL: none, with --untuned, or when there is no --db and no file of the default name. */
const char *tc_cli_db_to_read(const tc_cli_db_args *a);

/* Finds the kernel that --kernel names. *out is -1 if --kernel was not given and there are several. TC_CLI_DONE, or
 * TC_CLI_USAGE. */
int tc_cli_task(const tctune_work *w, const char *kernel, int *out, tc_error *err);
/* The same, but several kernels without --kernel are TC_CLI_USAGE. */
int tc_cli_one_task(const tctune_work *w, const char *path, const char *kernel, int *out, tc_error *err);

/* --at of one kernel: TC_CLI_DONE, or TC_CLI_USAGE. */
int tc_cli_check_at(const tctune_work *w, int task, const tc_cli_texts *at, tc_error *err);

/* For commands about one kernel: checks that --te or --model names it or, if neither is given, that a record does (of_record: a
 * record is named). TC_CLI_DONE, or TC_CLI_USAGE; nothing is opened. */
int tc_cli_kernel_check(const tc_cli_source_args *a, int of_record, tc_error *err);
/* Opens that kernel; *w NULL: a record names it. Returns TC_CLI_DONE, or an error of tc_cli_work_open; *w may be open after an
 * error, too. */
int tc_cli_kernel_open(const tc_cli_source_args *a, const char *kernel, const tc_cli_texts *at, tctune_work **w, int *task,
                       tc_error *err);

/* ---- models ---- */

/* The options for a build, with progress on a terminal; signals stop the build. */
tctune_build_options tc_cli_build_options(const tc_cli_model_args *a);
/* Checks the options that --error-budget needs; in_graph: --top-k-in-graph was given too. TC_CLI_DONE, or TC_CLI_USAGE. */
int tc_cli_check_error_budget(const tc_cli_model_args *a, bool in_graph, tc_error *err);
/* The budget in the form of the API; it may be 0. Negative: not given. */
double tc_cli_error_budget(double budget);
/* Warns on standard error about records that a model does not use, and names the option that would use them. */
void tc_cli_warn_of(const json_t *report);
/* Opens the value of --model or --te to run it: loads a built library, or builds a source. TC_CLI_DONE, TC_CLI_USAGE,
 * TC_CLI_FAILED; *out is NULL unless done. */
int tc_cli_model_open(const tc_cli_model_args *a, tctune_model **out, tc_error *err);
/* --at of a model: TC_CLI_DONE, or TC_CLI_USAGE. */
int tc_cli_check_model_at(const tctune_model *m, const tc_cli_texts *at, tc_error *err);

/* --rtol and --atol in the form of the API: 0 selects the tolerance of the type, a negative value tolerates no difference. */
double tc_cli_tolerance_of(double given);

/* Turns the API's refusal of an option into TC_CLI_USAGE. Such messages begin with the name of a field. */
int tc_cli_refused(tctune_status s, tc_error *err);

#endif
