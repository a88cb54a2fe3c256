/* A network with its records in turns with what it is untuned: are the records faster, kernel by kernel, where they run? What the
 * default schedule does as well keeps it. Then the network as it is built from now on runs in turns with the untuned one.
 *
 * Records run here only after they were right in a worker, as in every build (graph/model/admit.h). Kernels whose sizes vary were
 * compared over their sizes, the default schedule among what took part (tune/range.h): they are not judged here. */
#ifndef TC_GRAPH_TRIALS_UNTUNED_H
#define TC_GRAPH_TRIALS_UNTUNED_H

#include "graph/model/model.h"
#include "tune/kernel/gain.h"

typedef struct tc_graph_untuned_options {
    const tc_graph_program *program; /* that is built from the records */
    const tc_graph_program *apart;   /* that is built without any; may be the same */
    /* The target runs here; db: the records, which gets the verdicts; deadline: until when it compares (tc_tune_gain_last) */
    tc_graph_build_options build;
    uint64_t seed;
} tc_graph_untuned_options;

/* Compares them, with no more than two built models in memory at once, and stores the verdicts in the database: the next build of
 * any network with these kernels follows them. *out also tells why nothing was compared: too little time or memory, an
 * interruption. Texts are in `a`. */
TC_NODISCARD tc_status tc_graph_untuned_run(const tc_graph_untuned_options *o, tc_arena *a, tc_tune_gain *out, tc_error *err);

#endif
