/* A base is an earlier state of a network or kernel, as `tctune bench --json` printed it (docs/json.md): the schedules of its
 * kernels. Anybody may have written the file. So its times are only repeated in reports, and its schedules run only after a check
 * (tc_graph_admit_given). */
#ifndef TC_GRAPH_TRIALS_BASE_H
#define TC_GRAPH_TRIALS_BASE_H

#include "support/arena.h"
#include "support/hash.h"
#include "support/status.h"

/* A larger file, or more kernels, are not what bench prints. */
enum { TC_GRAPH_BASE_KERNELS = 20000, TC_GRAPH_BASE_SCHEDULE = 1 << 20 };

typedef struct tc_graph_base_kernel {
    const char *name, *form;
    tc_digest hash, form_hash; /* of the task's own workload, and of that of the form in use */
    const char *trace;         /* is one: it parses */
    int count;                 /* launches per run */
    double seconds;            /* of all of them; NAN: not told */
} tc_graph_base_kernel;

typedef struct tc_graph_base {
    const char *path, *name, *target, *accuracy, *precision;
    int threads, nkernel;
    double seconds;                      /* of a run */
    const tc_graph_base_kernel *kernels; /* each hash once */
} tc_graph_base;

/* In `a`. TC_BAD_INPUT names the file, and the line or the field that is not as it should be. */
TC_NODISCARD tc_status tc_graph_base_read(const char *path, tc_arena *a, tc_graph_base *out, tc_error *err);

#endif
