/* A trace of a run as a file that timeline viewers show. */
#ifndef TC_CLI_WATCH_TIMELINE_H
#define TC_CLI_WATCH_TIMELINE_H

#include "cli/cli.h"
#include "graph/trials/trace.h"

typedef struct tc_cli_timeline {
    const char *what; /* the model's name */
    const tc_graph_trace *trace;
    const tc_graph_kernel *kernels;
    const tc_graph_other *others;
    const tc_graph_roofs *roofs;
    bool smaller; /* sizes of the run are not the largest, at which operations and bytes are counted */
} tc_cli_timeline;
/* {"traceEvents": [...], ...} */
json_t *tc_cli_timeline_json(const tc_cli_timeline *l);

#endif
