/* Kernels shown: which schedule each has and where that is from, and all that a kernel passes through, from its workload to its
 * assembly. The answers are JSON texts, whose fields docs/json.md describes: give them back with tctune_text_free. */
#ifndef TCTUNE_SHOW_H
#define TCTUNE_SHOW_H

#include <tctune/work.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is shown of a kernel. */
typedef struct tctune_show_options {
    size_t struct_size;
    const char *target;               /* NULL: this machine */
    int threads;                      /* of the kernels; 0: every core */
    const char *accuracy, *precision; /* as in tctune_build_options; "auto" is "bf16" here */
    const char *database;             /* file with records; NULL: default schedules */
    /* The rest is of one task. */
    const char *schedule;  /* a .sched file instead of what the database has; NULL: none */
    const char *const *at; /* "N=17": the sizes of a run, one for each that varies, NULL-terminated; NULL: none */
    const char *stages;    /* "workload,asm": as tctune_schedule_print has them, or "all"; NULL: "schedule,nest" */
    const char *dump;      /* a lowering pass, or "all": the program after it is printed to standard error; NULL: none */
    int marked;            /* not 0: in the assembly the hot loop has a bar in the margin, and what it consists of stands above */
} tctune_show_options;

/* The tasks of the work, each with its schedule. options may be NULL. */
TCTUNE_API tctune_status tctune_show_tasks(const tctune_work *work, const tctune_show_options *options, char **json, char *error,
                                           size_t error_size);
/* One task in the stages that are asked for. Where its sizes vary, `at` is not given, and the database has several variants for
 * them: which serves which sizes instead. */
TCTUNE_API tctune_status tctune_show_task(const tctune_work *work, int task, const tctune_show_options *options, char **json,
                                          char *error, size_t error_size);

/* The i-th lowering pass, in their order; NULL: there are no more. */
TCTUNE_API const char *tctune_lowering_pass(int i);

#ifdef __cplusplus
}
#endif

#endif
