/* Why a schedule is as fast as it is, and not faster. */
#ifndef TCTUNE_EXPLAIN_H
#define TCTUNE_EXPLAIN_H

#include <tctune/work.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is explained, and how it is run. */
typedef struct tctune_explain_options {
    size_t struct_size;
    /* A record ("12", or "12@FILE.db") of any form of the kernel, a .sched file, "best" (the best record of the database), or
     * "default" (the constructed schedule); NULL: best where there is a database, else default. */
    const char *schedule;
    const char
        *database; /* file of "best", and of records that name none; its best record is tried beside the schedule. NULL: none */
    const char *const *at; /* "N=17": the sizes of a run, one for each that varies, NULL-terminated; NULL: those of a record */
    const char *target; /* NULL: this machine. The schedule of another one is shown, not measured, like a record of another one */
    int threads;        /* 0: those of the record, else every core */
    const char *mode;   /* "auto" (NULL): cold where the record was timed so, or where tuning would do so; "hot", "cold" */
    double seconds;     /* that it may take, 5 at least; 0: 45 */
    double
        denormal; /* share of the values of inputs and constants that are denormal numbers, in [0, 1]: what the data are like */
    uint64_t seed;
    const volatile int *stop; /* ends it within about a second once it is not 0; NULL: nobody */
} tctune_explain_options;

/* Whether the options go with each other; opens nothing. *of_record (may be NULL): it is a record, whose kernel is explained
 * where no work is given. */
TCTUNE_API tctune_status tctune_explain_check(const tctune_explain_options *options, int *of_record, char *error,
                                              size_t error_size);

/* Explains a schedule of the task; work NULL: of the kernel that the record is of. *json, whose fields docs/json.md describes,
 * begins with the answer in a sentence; then come the causes that are suspected and what each of them costs, what each decision
 * is worth, the limits of the machine, and where the time goes. Give it back with tctune_text_free. On a machine that others use
 * the answer says so first, and no cause is certain. It measures for up to `seconds` in processes of its own, and stores
 * nothing. */
TCTUNE_API tctune_status tctune_explain(const tctune_work *work, int task, const tctune_explain_options *options, char **json,
                                        char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
