/* The latency of a model whose sizes vary. Each size in turn goes over its range while the other sizes have their smallest
 * values. */
#ifndef TC_GRAPH_TRIALS_CURVE_H
#define TC_GRAPH_TRIALS_CURVE_H

#include "graph/model/model.h"
#include "support/vec.h"

typedef struct tc_graph_curve_point {
    int64_t *sizes;             /* all of them; in the arena */
    double median, least, most; /* seconds of a run */
    int n;                      /* runs */
} tc_graph_curve_point;

typedef struct tc_graph_curve {
    int of;                              /* the size that it runs over */
    TC_VEC(tc_graph_curve_point) points; /* in ascending order of it */
} tc_graph_curve;

typedef struct tc_graph_curves {
    const tc_graph_size_rules *rules;
    tc_graph_curve *curve; /* one for each size that no others define; in the arena */
    int n;
} tc_graph_curves;

typedef struct tc_graph_curve_options {
    int repeats; /* runs of a point */
    uint64_t seed;
    const volatile sig_atomic_t *stop; /* may be NULL; what was timed until then is kept */
} tc_graph_curve_options;

/* Times the model on drawn inputs. Free *out in any case. TC_ENV: it was stopped before anything was measured. */
TC_NODISCARD tc_status tc_graph_curves_time(tc_graph_model *m, const tc_graph_curve_options *o, tc_arena *a, tc_graph_curves *out,
                                            tc_error *err);
void tc_graph_curves_free(tc_graph_curves *c);

#endif
