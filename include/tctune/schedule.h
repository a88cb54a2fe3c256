/* Schedules one kernel by hand: write a schedule line by line, print it in every form from workload to assembly, measure it,
 * record it, compare it.
 *
 * A schedule is a text of steps (.sched, docs/reference/schedules.md). Each line is one primitive:
 *     i_o, i_i = split Y.i [_, 8]
 *     reorder Y.i_o Y.j Y.i_i
 *     parallel Y.i_o
 * Loops and stages have the kernel's names, or canonical names (p0, t0.i0) as in records. */
#ifndef TCTUNE_SCHEDULE_H
#define TCTUNE_SCHEDULE_H

#include <tctune/database.h>
#include <tctune/fleet.h>
#include <tctune/work.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A schedule of one kernel. It keeps what it needs of the work, which may be freed first. */
typedef struct tctune_schedule tctune_schedule;

/* How a schedule begins. At most one of text, default_steps, best_of and file is given. */
typedef struct tctune_schedule_options {
    size_t struct_size;
    const char *target; /* NULL: this machine; when a fleet measures the schedule, the target in the fleet's key */
    int threads;        /* of the kernel; 0: every core; when a fleet measures the schedule, the threads in the fleet's key */
    const char *text;   /* first steps; NULL: none, so the loops are the kernel's own */
    int default_steps;  /* not 0: begin with the default schedule, the first that a search tries */
    /* Database whose best verified record is the beginning, of any form of the kernel. TCTUNE_BAD_INPUT if there is no record. */
    const char *best_of;
    /* For a kernel whose sizes vary: the sizes of the run, such as "17,3", in the order of its symbols; else NULL */
    const char *sizes;
    const char *file; /* .sched file with the first steps */
} tctune_schedule_options;

/* Makes a schedule for task `task` of the work. Release it with tctune_schedule_free. options may be NULL. */
TCTUNE_API tctune_status tctune_schedule_new(tctune_work *work, int task, const tctune_schedule_options *options,
                                             tctune_schedule **schedule, char *error, size_t error_size);

/* Makes an independent copy. Release it with tctune_schedule_free. */
TCTUNE_API tctune_status tctune_schedule_copy(const tctune_schedule *schedule, tctune_schedule **copy, char *error,
                                              size_t error_size);

/* Releases the schedule. NULL is allowed. */
TCTUNE_API void tctune_schedule_free(tctune_schedule *schedule);

/* Appends steps, one on each line. TCTUNE_BAD_INPUT: a step is not legal; the message has the step and the reason, and the
 * schedule is unchanged. */
TCTUNE_API tctune_status tctune_schedule_apply(tctune_schedule *schedule, const char *steps, char *error, size_t error_size);

/* Returns all steps as text. The text lives until the schedule is changed or freed. */
TCTUNE_API const char *tctune_schedule_text(const tctune_schedule *schedule);

/* Lists the stages of the computation as JSON (docs/json.md): where each stage is computed, and its loops. Give *json back with
 * tctune_text_free. */
TCTUNE_API tctune_status tctune_schedule_stages(const tctune_schedule *schedule, char **json, char *error, size_t error_size);

/* Prints the kernel in one form: "workload", "schedule", "stages" (loops, and where each stage is computed), "nest", "tir"
 * (lowered), "ir" or "raw-ir" (LLVM's, optimised, or as generated), or "asm". Give *text back with tctune_text_free. */
TCTUNE_API tctune_status tctune_schedule_print(const tctune_schedule *schedule, const char *stage, char **text, char *error,
                                               size_t error_size);

/* How a schedule is measured. */
typedef struct tctune_measure_options {
    size_t struct_size;
    int repeats;              /* timed calls; 0: 30 */
    const char *mode;         /* "auto" (NULL), "hot", "cold"; as in tctune_bench_kernel_options */
    uint64_t seed;            /* of the random operands */
    const volatile int *stop; /* the call ends within about a second after this becomes non-zero; NULL: never */
    /* A worker of this fleet measures; the steps must be legal for the worker's target. NULL: this machine */
    const tctune_fleet *fleet;
} tctune_measure_options;

/* Times the schedule in a process of its own, and compares its result with the reference. *record is a list of one record, also
 * if the measurement failed: the record says how. Release it with tctune_records_free. database not NULL: a record with a right
 * result is stored as tuning stores it; a record that failed is not stored, and the status is TCTUNE_ENVIRONMENT. options may be
 * NULL. */
TCTUNE_API tctune_status tctune_schedule_measure(const tctune_schedule *schedule, const tctune_measure_options *options,
                                                 tctune_database *database, tctune_records **record, char *error,
                                                 size_t error_size);

/* How two schedules of one kernel compare. */
typedef struct tctune_verdict {
    size_t struct_size;
    int rounds;
    double a, b;      /* seconds: medians over the rounds */
    double ratio;     /* time of b / time of a: above 1, a is faster */
    double low, high; /* 95 % interval of the ratio */
    double sign_p;    /* of the two-sided sign test */
    int faster;       /* -1: a; 1: b; 0: no difference can be shown */
    double roof;      /* seconds of a call at the machine's limit */
} tctune_verdict;

/* Runs two schedules of the same kernel, sizes, target and threads in turns, in a process of their own. rounds 0: 30; the least
 * is 11, because fewer rounds cannot show a difference. */
TCTUNE_API tctune_status tctune_schedule_compare(const tctune_schedule *a, const tctune_schedule *b, int rounds, uint64_t seed,
                                                 tctune_verdict *verdict, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
