/* Explains why a schedule is as fast as it is, and not faster. */
#ifndef TCTUNE_EXPLAIN_H
#define TCTUNE_EXPLAIN_H

#include <tctune/work.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which schedule is explained, and how it is run. */
typedef struct tctune_explain_options {
    size_t struct_size;
    /* The schedule. It is one of
     *   - a record: "12", or "12@FILE.db"; of any form of the kernel
     *   - a .sched file
     *   - "best": the best record of `database`
     *   - "default": the default schedule
     *   - NULL: "best" if a database is given, else "default". */
    const char *schedule;
    /* File for "best", and for records without a file; NULL: none. Its best record is also measured beside the schedule. */
    const char *database;
    const char *const *at; /* sizes of the run, "N=17", one for each size that varies, NULL-terminated; NULL: the record's */
    const char *target;    /* NULL: this machine. A schedule for another target is shown but not measured */
    int threads;           /* 0: the record's, else every core */
    const char *mode;      /* "hot", "cold"; "auto" (NULL): as the record was timed, else as tuning times the kernel */
    double seconds;        /* how long the call may measure, at least 5; 0: 45 */
    double denormal;       /* share of denormal numbers among the values of inputs and constants, from 0 to 1, as in your data */
    uint64_t seed;         /* of the random operands */
    const volatile int *stop; /* the call ends within about a second after this becomes non-zero; NULL: never */
} tctune_explain_options;

/* Checks that the options fit each other. Opens no file. *of_record (may be NULL) becomes 1 if the schedule is a record, so that
 * tctune_explain needs no work, else 0. */
TCTUNE_API tctune_status tctune_explain_check(const tctune_explain_options *options, int *of_record, char *error,
                                              size_t error_size);

/* Explains a schedule of `task` of `work`; work NULL: of the record's kernel. *json (docs/json.md) begins with the answer in one
 * sentence. Then come the suspected causes and the time that each costs, the worth of each decision, the machine's limits, and
 * where the time goes; give it back with tctune_text_free. If other programs use the machine, the answer says so first, and no
 * cause is called certain. The call measures for up to `seconds` in processes of its own, and stores nothing. */
TCTUNE_API tctune_status tctune_explain(const tctune_work *work, int task, const tctune_explain_options *options, char **json,
                                        char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
