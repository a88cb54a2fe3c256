/* Decides which records may run in this process. A record runs in an isolated process first, and its result must be right. */
#ifndef TC_GRAPH_MODEL_ADMIT_H
#define TC_GRAPH_MODEL_ADMIT_H

#include "graph/model/model.h"

/* A record that was left out: it failed when it was checked. */
typedef struct tc_graph_refusal {
    const char *kernel; /* the task's name */
    tc_record record, now;
} tc_graph_refusal;

typedef struct tc_graph_admission {
    int nkernel, k;
    tc_graph_choice *choices; /* by kernel: its best records, at most k, all of which were right here and now */
    const tc_graph_refusal *refused;
    int nrefused;
} tc_graph_admission;

/* The best records of each kernel that o->db has. Those that this build did not find right on this machine before run in worker
 * processes, as tuning does, and their results are compared with the reference: one that is wrong, crashes, hangs or is not built
 * any more is left out, and the next one takes its place. What a database says of its records was found by another build or on
 * another machine, or is not even true. Both is noted in the database and, of what was left out, said in the log; that is in *out
 * even when an error is returned. Needs a target that runs here. Results are in `a`. */
TC_NODISCARD tc_status tc_graph_admit(const tc_graph_program *p, const tc_graph_build_options *o, int k, tc_arena *a,
                                      tc_graph_admission *out, tc_error *err);
/* The same of schedules that stand in no database: given[task].records, of kernels whose sizes do not vary, of which only
 * workload_hash (one of the task's forms) and trace are looked at. All of them are checked, and nothing is noted, said or
 * remembered. */
TC_NODISCARD tc_status tc_graph_admit_given(const tc_graph_program *p, const tc_graph_build_options *o,
                                            const tc_graph_choice *given, tc_arena *a, tc_graph_admission *out, tc_error *err);

#endif
