/* Models whose sizes contradict each other in some runs: each run is computed or refused as its sizes say. By the evaluator of
 * the graph, in this process, by a library that was loaded, and by what libraries and C source say to programs; right is what the
 * graph of exactly these sizes gives. */
#ifndef TC_TESTS_RELATED_H
#define TC_TESTS_RELATED_H

#include "graph/graph_test.h"
#include "graph/model/parts.h"
#include "graph/saved/save_int.h"

enum { RELATED_SIZES = 4, RELATED_IN = 3 };

typedef struct related_sample {
    const char *name; /* also of its model's scratch file */
    void (*make)(tc_graph_writer *w);
    const char *ranges[RELATED_SIZES];  /* "n=1..6"; NULL behind the last */
    const char *inputs[RELATED_IN];     /* dimensions of x, y and t: single letters of sizes, or digits */
    bool (*takes)(const int64_t *size); /* sizes in the order of the ranges */
    const char *says[2];                /* parts of what a refusal says, with %s for none */
} related_sample;

/* `of` with itself, `times` times along its first dimension. */
void related_repeat(tc_graph_writer *w, const char *of, int times, const char *to);
/* The sample at all sizes within its ranges, of which it takes and refuses more than so many. scratch: begins the names of its
 * files. */
void related_check_all(const related_sample *s, const char *scratch, int number, int least_taken, int least_refused);

#endif
