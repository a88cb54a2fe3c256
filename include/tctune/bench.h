/* Measures time: of a whole model, of all its kernels, or of one kernel. Times stand beside the limits of the machine. Each
 * function returns a JSON document in *json (docs/json.md describes the fields); give it back with tctune_text_free. */
#ifndef TCTUNE_BENCH_H
#define TCTUNE_BENCH_H

#include <tctune/fleet.h>
#include <tctune/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a model is timed. */
typedef struct tctune_bench_options {
    size_t struct_size;
    const char *name;      /* the model's name in the document; NULL: "model" */
    const char *inputs;    /* .npz with the inputs by name (or in.NAME), or a folder of input_N.pb; NULL: random, from `seed` */
    const char *const *at; /* sizes of random inputs, as in tctune_model_sizes_at; NULL: the largest */
    int repeats;           /* timed runs; 0: 30 */
    uint64_t seed;         /* of random inputs */
    const volatile int *stop; /* the call ends soon after this becomes non-zero; NULL: never */
} tctune_bench_options;

/* Times whole runs of the model and the kernels in them. The machine's peak is measured before and after. options may be NULL.
 * TCTUNE_BAD_INPUT: the inputs or sizes do not fit the model. TCTUNE_STOPPED: `stop` came before the first time; if it comes
 * later, the document has the times so far. */
TCTUNE_API tctune_status tctune_bench(tctune_model *model, const tctune_bench_options *options, char **json, char *error,
                                      size_t error_size);

/* Times runs of the model over the range of each size that varies: one size changes, the others have their smallest value above
 * 0. The points are both ends, the powers of two, and values between them. options as for tctune_bench, without `inputs` and
 * `at`. TCTUNE_BAD_INPUT: no size of the model varies. TCTUNE_STOPPED: as for tctune_bench. */
TCTUNE_API tctune_status tctune_bench_range(tctune_model *model, const tctune_bench_options *options, char **json, char *error,
                                            size_t error_size);

/* Compares the model with what it was. `base` is a file with an earlier document of tctune_bench (or of `tctune bench --json`),
 * or, for a model of one kernel, of tctune_bench_kernel. Only the schedules in the file are used, not its times. Each kernel
 * whose schedule differs from the base's is built with both schedules, and the two run in turns. So do the whole network with the
 * base's schedules and the network as it is. Schedules of the file first run in a process of their own, where their results are
 * checked.
 *
 * *slower (may be NULL) becomes 1 if a kernel or the network is slower than the base beyond doubt, else 0. `repeats` is the
 * number of rounds: 0 means 30, the least is 11. `at` is not allowed. The model must be built by tctune_build, not loaded and
 * without build option `last`, and its sizes must not vary. options may be NULL. TCTUNE_BAD_INPUT: the file is not such a
 * document (the message names the field), or differs from the model in target, threads, accuracy or network. TCTUNE_STOPPED:
 * `stop` came before the verdict. */
TCTUNE_API tctune_status tctune_bench_against(tctune_model *model, const char *base, const tctune_bench_options *options,
                                              int *slower, char **json, char *error, size_t error_size);

/* How a single kernel is timed. */
typedef struct tctune_bench_kernel_options {
    size_t struct_size;
    const char *schedule;             /* .sched file; NULL: the best record's schedule, else the default schedule */
    const char *database;             /* file with records, only read; NULL: no records */
    const char *const *at;            /* sizes of the run, as in tctune_work_sizes_at; NULL: the largest */
    const char *target;               /* must run where the kernel runs; NULL: this machine, or the target in the fleet's key */
    int threads;                      /* 0: every core, or the threads in the fleet's key */
    const char *accuracy, *precision; /* which forms may be used, as in tctune_build_options */
    /* "hot": constants stay in the caches; "cold": they come from memory. "auto" (NULL): "cold" if the record was timed so, else
     * as tuning chooses. */
    const char *mode;
    int repeats;               /* timed runs; 0: 30 */
    uint64_t seed;             /* of the kernel's random operands */
    const volatile int *stop;  /* the call ends soon after this becomes non-zero; NULL: never */
    const tctune_fleet *fleet; /* a worker of this fleet runs the kernel; NULL: this machine does */
    int require_complete;      /* not 0: a kernel without a record in the database is an error */
} tctune_bench_kernel_options;

/* Times one task of the work in a process of its own, and checks the kernel's result. A record whose program fails here is marked
 * in the database and no longer used. With a fleet, the document names the worker, and the machine's limits are those that the
 * worker measured. options may be NULL. TCTUNE_ENVIRONMENT: the kernel could not be measured. TCTUNE_STOPPED: `stop` came before
 * the first time. TCTUNE_BAD_INPUT: also if no worker fits; the message lists the keys of the workers that are there. */
TCTUNE_API tctune_status tctune_bench_kernel(const tctune_work *work, int task, const tctune_bench_kernel_options *options,
                                             char **json, char *error, size_t error_size);

/* Times every kernel that a run of the network launches, each by itself. Workers of a fleet share the kernels. Constants are cold
 * if all constants of the network together exceed the last cache. Sizes that vary have their largest value. Library kernels,
 * copies and whole runs are not timed. *json has a time or an error for each kernel; *failed (may be NULL) is the number of
 * errors. options as for tctune_bench_kernel, without `schedule` and `at`; may be NULL. The first call for a work that names a
 * database also decides, by its records, which kernels the work merges. */
TCTUNE_API tctune_status tctune_bench_kernels(tctune_work *work, const tctune_bench_kernel_options *options, int *failed,
                                              char **json, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
