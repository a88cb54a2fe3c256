/* Private to `tctune compare`: its two sides, and what is reported of them. */
#ifndef TC_CLI_COMPARE_H
#define TC_CLI_COMPARE_H

#include "cli/cli.h"
#include "measure/peer.h"
#include "tune/kernel/compare.h"

typedef enum compare_kind { SIDE_DEFAULT, SIDE_BEST, SIDE_FILE, SIDE_RECORD, SIDE_PEER } compare_kind;

typedef struct compare_side {
    const char *spec; /* as given */
    compare_kind kind;
    int64_t id;     /* RECORD */
    const char *db; /* RECORD: its file */
    tc_record record;
    tc_tune_schedule k; /* not of a peer; workload and trace are canonical */
    const char *origin; /* of the schedule or the library, for people */
    tc_tune_side made;
    tc_meas_peer *peer;
} compare_side;

typedef struct comparison {
    compare_side side[2];
    const tc_workload *w;
    const int64_t *sizes;     /* of its symbols; NULL: it has none */
    const tc_workload *timed; /* w at these sizes */
    tc_digest hash;
    const char *kernel; /* its name, or its hash */
    int threads;
    tc_meas_mode mode;
    tc_tune_duel duel;
} comparison;

void tc_cli_comparison_print(const comparison *c);
void tc_cli_comparison_json(const comparison *c);

#endif
