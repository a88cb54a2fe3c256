/* Compares a network with its base, an earlier state of it (base.h). The base's schedules are built on this machine now. Both
 * models run in turns, so that neither the machine nor the moment decides. The times in the base are ignored.
 *
 *   tc_graph_base_read -> tc_graph_against_run */
#ifndef TC_GRAPH_TRIALS_AGAINST_H
#define TC_GRAPH_TRIALS_AGAINST_H

#include <signal.h>

#include "graph/model/model.h"
#include "graph/trials/base.h"
#include "tune/kernel/changed.h"
#include "tune/kernel/compare.h"

typedef enum tc_graph_standing {
#define STANDING(id, text, meaning) TC_GRAPH_##id,
#include "graph/trials/standings.def"
#undef STANDING
} tc_graph_standing;
const char *tc_graph_standing_text(tc_graph_standing s);

typedef struct tc_graph_against_kernel {
    tc_graph_standing standing;
    const tc_graph_kernel *now;       /* NULL: REMOVED */
    const tc_graph_base_kernel *base; /* NULL: ADDED */
    /* a is the base, b is now, in seconds of all launches of a run; rounds 0: it was not timed, as its code is the same, or there
     * are not two. A difference is named only where the sign test is as sure as TC_TUNE_SURE. */
    tc_tune_verdict verdict;
    const tc_tune_changed *changed; /* what its schedule does otherwise than the base's */
    int nchanged;
    const char *why; /* FAILED: why */
} tc_graph_against_kernel;

typedef struct tc_graph_against {
    tc_graph_against_kernel *kernels; /* those of the network in their order, then those that only the base has */
    int nkernel;
    /* With the base's schedules where it has the kernel, and they run here; UNCHANGED, SAME_CODE, ... SLOWER */
    tc_graph_standing network;
    tc_tune_verdict verdict; /* of it, in seconds of a run */
    int nslower, nfailed;    /* kernels */
} tc_graph_against;

typedef struct tc_graph_against_options {
    int rounds;                    /* at least TC_TUNE_SURE_ROUNDS */
    const tc_accuracy *accuracies; /* as the model was built with */
    uint64_t seed;
    const volatile sig_atomic_t *stop; /* may be NULL */
} tc_graph_against_options;

/* m: a model that was built here, whose sizes do not vary, and whose program can be built again (use_up_constants); while it
 * lasts the base's is a second one in memory. The result is in `a`, and refers to m and base. TC_BAD_INPUT where they cannot be
 * compared (another target, number of threads, accuracy, no kernel in common), TC_ENV when it was stopped. */
TC_NODISCARD tc_status tc_graph_against_run(tc_graph_model *m, const tc_graph_base *base, const tc_graph_tensor *in,
                                            const tc_graph_against_options *o, tc_arena *a, tc_graph_against *out, tc_error *err);

#endif
