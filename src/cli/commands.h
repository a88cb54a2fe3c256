/* src/cli owns `tctune` and its subcommands: arguments, progress, tables. Its subfolder has the commands that observe:
 * src/cli/watch owns timelines, the state of the machine, explanations and pages of results. Not here: work that another program
 * could not do as well. A command calls the public API. It includes no other folder of the library but src/support (of
 * src/support/system only files, stop flags and the calls around its own memory). */
#ifndef TC_CLI_COMMANDS_H
#define TC_CLI_COMMANDS_H

#include "cli/options.h"

/* X(name) for each command, in the order in which they are listed. */
#define TC_CLI_COMMANDS(X)                                                                                                       \
    X(tune)                                                                                                                      \
    X(build)                                                                                                                     \
    X(run)                                                                                                                       \
    X(verify)                                                                                                                    \
    X(bench)                                                                                                                     \
    X(trace)                                                                                                                     \
    X(report)                                                                                                                    \
    X(doctor)                                                                                                                    \
    X(worker)                                                                                                                    \
    X(fleet_status)                                                                                                              \
    X(fleet_drain)                                                                                                               \
    X(fleet_kick)                                                                                                                \
    X(fleet_quarantine)                                                                                                          \
    X(fleet_release)                                                                                                             \
    X(fleet_log)                                                                                                                 \
    X(show)                                                                                                                      \
    X(measure)                                                                                                                   \
    X(compare)                                                                                                                   \
    X(explain)                                                                                                                   \
    X(quantize)                                                                                                                  \
    X(zoo)                                                                                                                       \
    X(db_stats)                                                                                                                  \
    X(db_merge)                                                                                                                  \
    X(db_follow)                                                                                                                 \
    X(db_prune)                                                                                                                  \
    X(db_verify)                                                                                                                 \
    X(db_export)                                                                                                                 \
    X(db_import)                                                                                                                 \
    X(export)                                                                                                                    \
    X(import)
#define TC_CLI_DECLARE(name) extern const tc_cli_command tc_cli_##name;
TC_CLI_COMMANDS(TC_CLI_DECLARE)
#undef TC_CLI_DECLARE
/* Makes an array with all commands: TC_CLI_COMMANDS(TC_CLI_LISTED). */
#define TC_CLI_LISTED(name) &tc_cli_##name,

/* Finds the command that the arguments of main() name, runs it and prints its error (dispatch.c). An exit status: TC_CLI_DONE,
 * TC_CLI_FAILED, TC_CLI_USAGE, TC_CLI_SLOWER, or 128 + n when signal n ended it early with everything measured saved. */
int tc_cli_main(int argc, char **argv);

/* Of `show`: prints what a built library says of itself (library.c). An exit status. */
int tc_cli_show_library(const char *path, tc_cli_format format, tc_error *err);

#endif
