/* Shows kernels: the schedule of each and its origin, and one kernel in every form from workload to assembly. Results are JSON
 * (docs/json.md); give them back with tctune_text_free. */
#ifndef TCTUNE_SHOW_H
#define TCTUNE_SHOW_H

#include <tctune/work.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is shown. */
typedef struct tctune_show_options {
    size_t struct_size;
    const char *target;    /* NULL: this machine */
    int threads;           /* of the kernels; 0: every core */
    const char *accuracy;  /* as in tctune_build_options */
    const char *precision; /* as in tctune_build_options; "auto" means "bf16" here */
    const char *database;  /* file with records; NULL: default schedules */
    /* The fields below are for tctune_show_task. */
    const char *schedule;  /* .sched file, used instead of the database's schedule; NULL: none */
    const char *const *at; /* sizes of the run, "N=17", one for each size that varies, NULL-terminated; NULL: none */
    const char *stages;    /* "workload,asm": as tctune_schedule_print has them, or "all"; NULL: "schedule,nest" */
    const char *dump;      /* a lowering pass, or "all": print the program after it to standard error; NULL: none */
    int marked; /* not 0: a bar in the margin of the assembly marks the hot loop, and its instructions are counted above it */
} tctune_show_options;

/* Lists the tasks of the work, each with its schedule. options may be NULL. */
TCTUNE_API tctune_status tctune_show_tasks(const tctune_work *work, const tctune_show_options *options, char **json, char *error,
                                           size_t error_size);

/* Shows one task in the forms of `stages`. If the task's sizes vary, `at` is not given, and the database has several variants for
 * the sizes, the document says which variant serves which sizes instead. options may be NULL. */
TCTUNE_API tctune_status tctune_show_task(const tctune_work *work, int task, const tctune_show_options *options, char **json,
                                          char *error, size_t error_size);

/* Returns the name of the i-th lowering pass, counted from 0; NULL: there are no more. */
TCTUNE_API const char *tctune_lowering_pass(int i);

#ifdef __cplusplus
}
#endif

#endif
