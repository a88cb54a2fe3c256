/* The timeline of one run. It has the begin and end of each step. For each parallel loop in a step it has the times when each
 * thread began its part and ended it, and when all threads were done. Only runs for which a caller asks are recorded. */
#ifndef TC_GRAPH_TRIALS_TRACE_H
#define TC_GRAPH_TRIALS_TRACE_H

#include "graph/model/model.h"
#include "measure/machine/peak.h"

/* Times are seconds since the run began. */
typedef struct tc_graph_traced_step {
    int task;  /* which of the model's kernels; -1: none */
    int other; /* where task is -1: which of its others */
    int nnode; /* nodes of the model that it is made from, by name; 0: of none, or not known */
    const char *const *nodes;
    double begin, end;
} tc_graph_traced_step;

/* A parallel loop, from the fork to when the last thread is done. */
typedef struct tc_graph_traced_loop {
    int step; /* that it is part of: index in `steps` */
    int64_t items;
    double begin, end;
} tc_graph_traced_loop;

/* A thread's part of a loop. */
typedef struct tc_graph_traced_part {
    int loop;
    int64_t from, to; /* items */
    double begin, end;
} tc_graph_traced_part;

typedef struct tc_graph_trace {
    int threads;
    double seconds; /* of the run */
    int nstep, nloop;
    tc_graph_traced_step *steps; /* in the order of the run, without those that only decide where to go on */
    tc_graph_traced_loop *loops;
    int *npart; /* by thread */
    tc_graph_traced_part **parts;
} tc_graph_trace;

/* Traces the fastest of several runs, when caches and threads are as they will be. TC_BAD_INPUT for a library that an earlier
 * version built, which does not tell of its loops. Free with tc_graph_trace_free in any case. */
TC_NODISCARD tc_status tc_graph_model_trace(tc_graph_model *m, const tc_graph_tensor *in, tc_graph_trace *out, tc_error *err);
void tc_graph_trace_free(tc_graph_trace *t);

/* What bounds a launch of each kernel on this machine: the lower of what its unit can do and what memory can bring, at the level of
 * the hierarchy where as many bytes live. */
typedef struct tc_graph_roofs {
    tc_meas_peak peak;
    double *gbs;     /* by kernel; 0: its bytes are not known */
    double *seconds; /* by kernel: of a launch at the roof; 0: nothing is known of it */
} tc_graph_roofs;
/* Measures for about a second, on as many threads as the model has. Free with tc_graph_roofs_free. */
void tc_graph_measure_roofs(const tc_graph_model *m, tc_graph_roofs *out);
void tc_graph_roofs_free(tc_graph_roofs *r);

#endif
