/* Two things compared that do the work of one kernel: schedules, records, or another library's matmul. Both run in turns, in a
 * process of their own, here or on a worker of a fleet. (tctune_schedule_compare, in schedule.h, compares two schedules that a
 * program has made.) */
#ifndef TCTUNE_COMPARE_H
#define TCTUNE_COMPARE_H

#include <tctune/fleet.h>
#include <tctune/work.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How two schedules are compared. */
typedef struct tctune_compare_options {
    size_t struct_size;
    /* Each of them: a record ("12", or "12@FILE.db") of any form of the kernel, a .sched file, "default" (the constructed
     * schedule), "best" (the best record of the database), or, for a bare matmul, "onednn" or "openblas" through the benchmark
     * program gemm_peers ($TCTUNE_PEERS, else beside this program or on the PATH). At most one is a library. */
    const char *a, *b;
    const char *database;  /* file of "best", and of records that name none */
    const char *const *at; /* "N=17": the sizes of a run, one for each that varies, NULL-terminated; NULL: those of a record */
    const char *target;    /* one that runs where the two do; NULL: this machine, or as the workers of the fleet's key have it */
    int threads;           /* 0: those of the first record, else every core */
    const char *mode;      /* "auto" (NULL): cold where a record was timed so, or where tuning would do so; "hot", "cold" */
    int rounds;            /* 0: 30; fewer than 11 cannot tell anything apart */
    uint64_t seed;
    const volatile int *stop; /* ends it within about a second once it is not 0; NULL: nobody */
    /* A worker of it runs the two, all rounds on the same one, which the verdict names; neither is a library. NULL: this machine
     * does. */
    const tctune_fleet *fleet;
} tctune_compare_options;

/* Whether there are two things to compare, and the other options go with them; opens nothing. *of_record (may be NULL): one of
 * them is a record, whose kernel is compared where no work is given. */
TCTUNE_API tctune_status tctune_compare_check(const tctune_compare_options *options, int *of_record, char *error,
                                              size_t error_size);

/* Compares them as schedules of the task; work NULL: of the kernel that the first record is of. *json, whose fields docs/json.md
 * describes, has schedules, loop nests, what differs in the features that the cost model sees, what the hot loops consist of,
 * times beside the machine's limit, and the verdict; give it back with tctune_text_free. A record that fails is marked in its
 * database, and no longer used. On a fleet the limit is the worker's, by what it told when it began; TCTUNE_BAD_INPUT names the
 * keys that there are where none fits. */
TCTUNE_API tctune_status tctune_compare_show(const tctune_work *work, int task, const tctune_compare_options *options,
                                             char **json, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
