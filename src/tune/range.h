/* A kernel with symbols, tuned for its whole range. First a few fixed sizes are searched, each a task with records like any
 * other. Then the best programs of each size, and the default one, are taken to the workload with symbols
 * (kernel/transplant.h) and timed at sizes all over the range. These records decide which variants the kernel gets
 * (kernel/variants.h).
 *
 *   tc_tune_spread_over -> tc_tune_new, tc_tune_run of its tasks -> tc_tune_range_contest of each range */
#ifndef TC_TUNE_RANGE_H
#define TC_TUNE_RANGE_H

#include "tune/kernel/sizes.h"
#include "tune/tune.h"

/* A task with symbols. */
typedef struct tc_tune_range {
    const char *name;
    const tc_workload *workload;
    const tc_tune_weights *weights; /* NULL: by the logarithm of the size */
    tc_tune_places tuned;           /* the sizes at which it is searched */
    double network;                 /* bytes of constants that all tasks together read in a run; 0: it stands alone */
} tc_tune_range;

typedef struct tc_tune_spread {
    int n; /* without symbols */
    const tc_tune_task *tasks;
    int nrange;
    const tc_tune_range *ranges;
} tc_tune_spread;

/* n tasks with each of those that have symbols at a few sizes instead. What could run in place of others (tc_tune_task.instead)
 * is left out where any of them has symbols: times of one size do not say what is faster at all. All that it makes lives in c. */
TC_NODISCARD tc_status tc_tune_spread_over(tc_ctx *c, const tc_tune_task *tasks, int n, tc_tune_spread *out, tc_error *err);

typedef struct tc_tune_range_report {
    int entrants;        /* programs that took part, or did in the last contest */
    int refused;         /* schedules of fixed sizes that are none where they vary, */
    const char *why;     /* and why the first is not; NULL: there is none */
    int failed;          /* records of the contest that are failures, */
    const char *failure; /* and the message of the first; NULL: there is none */
    bool held;           /* false: the last contest was of the same programs at the same sizes, and still says all */
} tc_tune_range_report;

/* Told of each record of a contest: of which of so many programs and places it is. */
typedef void tc_tune_range_progress(void *user, int program, int programs, int place, int places);

/* Times what the database has for r at sizes all over its range, and stores that, unless it is known. o: as of the session;
 * interrupted, it stores nothing. Texts are in `a`. */
TC_NODISCARD tc_status tc_tune_range_contest(const tc_tune_options *o, const tc_tune_range *r, tc_meas_db *db,
                                             tc_tune_range_progress *progress, void *user, tc_arena *a, tc_tune_range_report *out,
                                             tc_error *err);

#endif
