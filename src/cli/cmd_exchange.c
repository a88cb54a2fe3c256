/* tctune export and import: records as JSON lines. */
#include <string.h>

#include "cli/cli.h"
#include "measure/exchange.h"
#include "support/fs.h"

static int run_export(const tc_cli_args *a, tc_error *err) {
    tc_meas_db *db = NULL;
    tc_meas_filter filter = {0};
    size_t n = 0;
    tc_status st = tc_meas_db_open(tc_cli_db_path(a), TC_MEAS_DB_READ, &db, err);
    if (st == TC_OK)
        st = tc_meas_export(db, &filter, a->out, &n, err);
    tc_meas_db_close(db);
    if (st != TC_OK)
        return TC_CLI_FAILED;
    printf("%zu records of %s are in %s\n", n, tc_cli_db_path(a), a->out);
    return TC_CLI_DONE;
}

static int run_import(const tc_cli_args *a, tc_error *err) {
    tc_meas_db *db = NULL;
    for (size_t i = 0; i < a->rest.len; i++)
        if (!tc_fs_exists(a->rest.data[i])) {
            tc_fail(err, TC_BAD_INPUT, "%s: there is no such file", a->rest.data[i]);
            return TC_CLI_FAILED;
        }
    tc_status st = tc_cli_db_write(a, &db, err);
    for (size_t i = 0; i < a->rest.len && st == TC_OK; i++) {
        size_t added = 0;
        st = tc_meas_import(db, a->rest.data[i], &added, err);
        if (st == TC_OK)
            printf("%s: %zu records added to %s\n", a->rest.data[i], added, tc_cli_db_path(a));
    }
    tc_meas_db_close(db);
    return st == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}

const tc_cli_command tc_cli_export = {
    .name = "export",
    .summary = "write a database's records to a file of JSON lines",
    .options = TC_CLI_BIT(DB) | TC_CLI_BIT(OUT),
    .required = TC_CLI_BIT(OUT),
    .run = run_export,
};

const tc_cli_command tc_cli_import = {
    .name = "import",
    .summary = "add records from files of JSON lines to a database",
    .operands = "FILE...",
    .options = TC_CLI_BIT(DB),
    .run = run_import,
};
