/* Compares two programs for the same kernel: schedules, records, or another library's matmul. The two run in turns in a process
 * of their own, on this machine or on a worker of a fleet. (tctune_schedule_compare, in schedule.h, compares two schedules that a
 * program made by hand.) */
#ifndef TCTUNE_COMPARE_H
#define TCTUNE_COMPARE_H

#include <tctune/fleet.h>
#include <tctune/work.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is compared, and how. */
typedef struct tctune_compare_options {
    size_t struct_size;
    /* The two sides. Each is one of
     *   - a record: "12", or "12@FILE.db"; of any form of the kernel
     *   - a .sched file
     *   - "default": the default schedule
     *   - "best": the best record of `database`
     *   - for a plain matmul, "onednn" or "openblas", run by the benchmark program gemm_peers, which is found in $TCTUNE_PEERS,
     *     beside this program, or on the PATH.
     * At most one side is a library. */
    const char *a, *b;
    const char *database;      /* file for "best", and for records without a file; NULL: none */
    const char *const *at;     /* sizes of the run, "N=17", one for each size that varies, NULL-terminated; NULL: the record's */
    const char *target;        /* must run where the two run; NULL: this machine, or the target in the fleet's key */
    int threads;               /* 0: the first record's, else every core */
    const char *mode;          /* "hot", "cold"; "auto" (NULL): as the record was timed, else as tuning times the kernel */
    int rounds;                /* 0: 30; at least 11, because fewer rounds cannot show a difference */
    uint64_t seed;             /* of the random operands */
    const volatile int *stop;  /* the call ends within about a second after this becomes non-zero; NULL: never */
    const tctune_fleet *fleet; /* one worker of this fleet runs all rounds; neither side may be a library. NULL: this machine */
} tctune_compare_options;

/* Checks the options: two sides are given, and the other options fit them. Opens no file. *of_record (may be NULL) becomes 1 if a
 * side is a record, so that tctune_compare_show needs no work, else 0. */
TCTUNE_API tctune_status tctune_compare_check(const tctune_compare_options *options, int *of_record, char *error,
                                              size_t error_size);

/* Compares the two sides as programs for `task` of `work`; work NULL: for the kernel of the first record. *json (docs/json.md)
 * has both schedules and loop nests, how their features differ as the cost model sees them, what their hot loops consist of,
 * their times beside the machine's limit, and the verdict; give it back with tctune_text_free. A record whose program fails is
 * marked in its database and no longer used. With a fleet, the limit is the one that the worker measured. TCTUNE_BAD_INPUT: also
 * if no worker fits; the message lists the keys of the workers that are there. */
TCTUNE_API tctune_status tctune_compare_show(const tctune_work *work, int task, const tctune_compare_options *options,
                                             char **json, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
