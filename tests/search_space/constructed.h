/* What construction makes of fixed workloads, as a digest. Without a test library: it is built with other C libraries too. */
#ifndef TC_TESTS_SPACE_CONSTRUCTED_H
#define TC_TESTS_SPACE_CONSTRUCTED_H

#include "support/hash.h"

/* The seed of the shuffles before each sort; 0: elements stay in order, as a stable sort leaves them. */
extern uint64_t constructed_shuffle;

/* What a context has seen before it gets a workload. */
typedef struct constructed_past {
    int ids;      /* that were drawn */
    int workload; /* that was scheduled, counted from the one to come; -1: none */
} constructed_past;

/* Of constructed traces, and of the lowered programs of the first ones of each workload. */
tc_digest constructed(constructed_past before);

#endif
