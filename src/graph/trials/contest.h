/* Compares records of a network's kernels in the network itself. First each record runs in an isolated process, and its result is
 * checked (admit.c). Then the records that passed run in this process, in turns (contest.c).
 *
 *   tc_graph_admit -> tc_graph_contest_run -> tc_graph_model_build with its choices, tc_graph_contest_store */
#ifndef TC_GRAPH_TRIALS_CONTEST_H
#define TC_GRAPH_TRIALS_CONTEST_H

#include "graph/model/admit.h"

enum { TC_GRAPH_CONTEST_MAX = 16 };

typedef struct tc_graph_trial {
    int64_t record;  /* 0: there is no record of this rank */
    double recorded; /* seconds of one launch when it was tuned */
    double seconds;  /* of all launches of one run of the network: median over the rounds */
    double speedup;  /* over the best record: median of the rounds' ratios */
    bool faster;     /* than the best record, beyond doubt (tc_tune_judge) */
    double *times;   /* seconds of one launch, in each round */
} tc_graph_trial;

typedef struct tc_graph_contest {
    int nkernel, k, rounds;
    tc_graph_trial *trials;   /* [nkernel][k], by rank */
    int *ranks;               /* by kernel: the one to use */
    tc_graph_choice *choices; /* by kernel: what was admitted, that one first; for tc_graph_build_options */
} tc_graph_contest;

/* Runs the network with the admitted records of each kernel, in turns. Holds as many built models at once as records of one
 * kernel are compared. Results are in `a`, and refer to `admitted`. */
TC_NODISCARD tc_status tc_graph_contest_run(const tc_graph_program *p, const tc_graph_build_options *o,
                                            const tc_graph_admission *admitted, int rounds, tc_arena *a, tc_graph_contest *out,
                                            tc_error *err);
/* Stores what it found in the database that the records are of, as records of mode in-graph: the next build of any network with
 * these kernels prefers the records that were fastest (tc_meas_db_ranked). Of a kernel with one record there is nothing to say. */
TC_NODISCARD tc_status tc_graph_contest_store(const tc_graph_contest *c, tc_meas_db *db, tc_error *err);

/* All of it, with the k best records of each kernel that the database file `db` has (NULL: TC_BAD_INPUT): what was left out is
 * noted there and said in the log, what the network said is stored there, so that later builds need not ask again. A database that
 * cannot be written to keeps nothing, and the log says so. o->db is not looked at. */
TC_NODISCARD tc_status tc_graph_contest_hold(const tc_graph_program *p, const tc_graph_build_options *o, const char *db, int k,
                                             tc_arena *a, tc_graph_admission *admitted, tc_graph_contest *out, tc_error *err);

#endif
