/* Chooses the kernels of a network that may take operands rounded to bf16, so that the outputs stay within an error budget.
 *
 * Each kernel whose fastest record is of a bf16 form is tried alone. Its error is the change of the outputs on given inputs. Its
 * saving is the difference of the records' times. Kernels are taken by saving for their error, the largest first. As many are taken
 * as keep the network's outputs within the budget when it runs with all of them. */
#ifndef TC_GRAPH_TRIALS_PRECISION_H
#define TC_GRAPH_TRIALS_PRECISION_H

#include "graph/trials/bundle.h"

/* A kernel that could round. */
typedef struct tc_graph_rounding {
    const char *name; /* of the task */
    int task, count;  /* launches per run */
    double f32, bf16; /* seconds of one launch, by the records */
    double error;     /* of the outputs when this kernel alone rounds */
    bool used;
} tc_graph_rounding;

typedef struct tc_graph_precision {
    tc_graph_rounding *kernels; /* those that save most for their error first */
    int n, nused;
    double error;          /* of the outputs with all that are used; max |rounded - f32| / max |f32| over outputs and inputs */
    tc_accuracy *accuracy; /* by task, for tc_graph_build_options.accuracies */
} tc_graph_precision;

/* o->accuracy allows TC_ACCURACY_BF16; o's database or the file `db` has the records. data: sets of inputs by name; with ndata 0
 * drawn ones are used. What is returned lives in `a`. TC_BAD_INPUT where inputs do not fit the network, or where its outputs in
 * f32 are not finite. */
TC_NODISCARD tc_status tc_graph_precision_choose(const tc_graph_program *p, const tc_graph_build_options *o, const char *db,
                                                 const tc_graph_bundle *data, size_t ndata, double budget, tc_arena *a,
                                                 tc_graph_precision *out, tc_error *err);

#endif
