/* One kernel by hand: a schedule is made line by line, shown in every stage from workload to assembly, measured, recorded, and
 * compared.
 *
 * A schedule is the text of its steps (.sched, docs/reference/schedules.md): one primitive a line, such as
 *     i_o, i_i = split Y.i [_, 8]
 *     reorder Y.i_o Y.j Y.i_i
 *     parallel Y.i_o
 * in the names of the kernel, or in canonical ones (p0, t0.i0), as records have them. */
#ifndef TCTUNE_SCHEDULE_H
#define TCTUNE_SCHEDULE_H

#include <tctune/database.h>
#include <tctune/fleet.h>
#include <tctune/work.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A schedule of one kernel. It keeps what it needs of the work. */
typedef struct tctune_schedule tctune_schedule;

/* What a schedule begins with. */
typedef struct tctune_schedule_options {
    size_t struct_size;
    const char *target; /* NULL: this machine; where a fleet measures it, that of the workers whom the fleet's key names */
    int threads;        /* of the kernel; 0: every core, and where a fleet measures it, those of its workers */
    const char *text;   /* steps to begin with; NULL: none, the loops as the kernel has them */
    int default_steps;  /* not 0: begin with the default schedule, the first that a search tries */
    /* File whose best verified record is what to begin with, in whichever form of the kernel; TCTUNE_BAD_INPUT where it has
     * none. */
    const char *best_of;
    const char *
        sizes; /* of a kernel whose sizes vary: those of a run, as "17,3", in the order of its symbols; NULL where they do not vary */
    const char *file; /* with steps to begin with (.sched) */
} tctune_schedule_options;

/* Of task `task` of the work. At most one of text, default_steps, best_of and file is given. options may be NULL. */
TCTUNE_API tctune_status tctune_schedule_new(tctune_work *work, int task, const tctune_schedule_options *options,
                                             tctune_schedule **schedule, char *error, size_t error_size);
/* Another schedule with the same steps, which goes on by itself. */
TCTUNE_API tctune_status tctune_schedule_copy(const tctune_schedule *schedule, tctune_schedule **copy, char *error,
                                              size_t error_size);
TCTUNE_API void tctune_schedule_free(tctune_schedule *schedule); /* NULL is fine */

/* Appends steps, one a line. What is not legal is TCTUNE_BAD_INPUT with the step and the reason, and the schedule stays as it
 * was. */
TCTUNE_API tctune_status tctune_schedule_apply(tctune_schedule *schedule, const char *steps, char *error, size_t error_size);
/* All its steps. Lives until the next change. */
TCTUNE_API const char *tctune_schedule_text(const tctune_schedule *schedule);

/* The stages of the computation, where each is computed, and their loops, as a JSON text, whose fields docs/json.md describes; it
 * is given back with tctune_text_free. */
TCTUNE_API tctune_status tctune_schedule_stages(const tctune_schedule *schedule, char **json, char *error, size_t error_size);

/* A stage as text: "workload", "schedule", "stages" (loops and where each stage is computed), "nest", "tir" (lowered), "ir",
 * "raw-ir" (LLVM's) or "asm". Give *text back with tctune_text_free. */
TCTUNE_API tctune_status tctune_schedule_print(const tctune_schedule *schedule, const char *stage, char **text, char *error,
                                               size_t error_size);

/* How a schedule is measured. */
typedef struct tctune_measure_options {
    size_t struct_size;
    int repeats;      /* samples; 0: 30 */
    const char *mode; /* "auto" (NULL), "hot", "cold" */
    uint64_t seed;
    const volatile int *stop;  /* ends it within about a second once it is not 0; NULL: nobody */
    const tctune_fleet *fleet; /* who measures; NULL: this machine. The steps must be legal for the target of its workers */
} tctune_measure_options;

/* Times it in a process of its own, and compares its result with the reference. TCTUNE_OK also where it failed: the list has one
 * record, which says how it ended. With a database (may be NULL) that is kept where its result was right, as tuning would, and
 * else is TCTUNE_ENVIRONMENT. options may be NULL. */
TCTUNE_API tctune_status tctune_schedule_measure(const tctune_schedule *schedule, const tctune_measure_options *options,
                                                 tctune_database *database, tctune_records **record, char *error,
                                                 size_t error_size);

/* Two schedules of one kernel, which ran in turns. */
typedef struct tctune_verdict {
    size_t struct_size;
    int rounds;
    double a, b;             /* seconds: medians over the rounds */
    double ratio, low, high; /* time of b over time of a, with its 95 % interval: above 1, a is faster */
    double sign_p;           /* of the two-sided sign test */
    int faster;              /* -1: a, 1: b, 0: they cannot be told apart */
    double roof;             /* seconds of a call at the machine's limit */
} tctune_verdict;
/* rounds 0: 30; fewer than 11 cannot tell anything apart. */
TCTUNE_API tctune_status tctune_schedule_compare(const tctune_schedule *a, const tctune_schedule *b, int rounds, uint64_t seed,
                                                 tctune_verdict *verdict, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
