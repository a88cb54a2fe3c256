/* How long things take, beside what the machine can do: a model, its kernels, or one kernel. Documents are described in
 * docs/json.md, and given back with tctune_text_free. */
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
    const char *name;         /* what the document calls the model; NULL: "model" */
    const char *inputs;       /* .npz with the inputs by name (or in.NAME), or a folder of input_N.pb; NULL: seeded random ones */
    const char *const *at;    /* sizes of random ones, as for tctune_model_sizes_at; NULL: the largest */
    int repeats;              /* timed runs; 0: 30 */
    uint64_t seed;            /* of random inputs */
    const volatile int *stop; /* once it is not 0, what was measured until then is told; NULL: nobody stops it */
} tctune_bench_options;

/* The latency of whole runs, and the times of the kernels in them, as the document *json. The peak that shares refer to is
 * measured before and after. options may be NULL. TCTUNE_BAD_INPUT: inputs or sizes are not the model's. TCTUNE_STOPPED: before
 * anything was measured. */
TCTUNE_API tctune_status tctune_bench(tctune_model *model, const tctune_bench_options *options, char **json, char *error,
                                      size_t error_size);
/* The same options, without inputs and at: the latency over the range of each size in turn, the others at their least above 0.
 * The document has points at the ends, at powers of two, and between these. TCTUNE_BAD_INPUT where no size of the model varies. */
TCTUNE_API tctune_status tctune_bench_range(tctune_model *model, const tctune_bench_options *options, char **json, char *error,
                                            size_t error_size);

/* The model against `base`, a file with what tctune_bench, or `tctune bench --json`, told of it some time before (or
 * tctune_bench_kernel, of a model of that kernel), as the document *json. Of each kernel whose schedule is not the base's, the
 * base's is built here and now, and both run in turns, as do the network with the base's schedules and the network as it is,
 * repeats times (0: 30, at least 11). Times in the file are not believed, and its schedules run in a process of their own first,
 * where their results are checked. *slower (may be NULL): 1 where a kernel or the network is slower than the base beyond doubt,
 * else 0. Options may be NULL; `at` is not for this. The model is not a loaded one, was not the last of its work, and its sizes
 * do not vary. TCTUNE_BAD_INPUT: the file is none such (the message names the field), or of another target, number of threads,
 * accuracy or network. TCTUNE_STOPPED: before there was a verdict. */
TCTUNE_API tctune_status tctune_bench_against(tctune_model *model, const char *base, const tctune_bench_options *options,
                                              int *slower, char **json, char *error, size_t error_size);

/* How one kernel is timed. */
typedef struct tctune_bench_kernel_options {
    size_t struct_size;
    const char *schedule;  /* .sched file; NULL: that of the best record, or the constructed one */
    const char *database;  /* file that is read; NULL: no records */
    const char *const *at; /* sizes of a run, as for tctune_work_sizes_at; NULL: the largest */
    const char
        *target; /* one that runs where the kernel does; NULL: this machine, or as the workers of the fleet's key have it */
    int threads; /* 0: every core, or as these have it */
    const char *accuracy, *precision; /* which forms may be used, as in tctune_build_options */
    const char *mode;          /* "auto" (NULL): as tuning times it, or its record was timed if that was cold; "hot", "cold" */
    int repeats;               /* timed runs; 0: 30 */
    uint64_t seed;             /* of the values it is run on */
    const volatile int *stop;  /* once it is not 0, the call ends; NULL: nobody stops it */
    const tctune_fleet *fleet; /* a worker of it runs the kernel, which the document names; NULL: this machine does */
    int require_complete;      /* it is an error that a kernel has no record in the database */
} tctune_bench_kernel_options;

/* Times a task of the work in a process of its own, and checks its result: a record that fails is marked in the database, and no
 * longer used. *json is a document as of tctune_bench; on a fleet what the machine can do is what the worker told when it began.
 * options may be NULL. TCTUNE_ENVIRONMENT: it could not be measured. TCTUNE_STOPPED: before it was. TCTUNE_BAD_INPUT where no
 * worker fits names the keys that there are. */
TCTUNE_API tctune_status tctune_bench_kernel(const tctune_work *work, int task, const tctune_bench_kernel_options *options,
                                             char **json, char *error, size_t error_size);

/* The same of all kernels that a run launches, each by itself, with their constants cold where those of the network are more than
 * the last cache holds: workers of a fleet share them. Where sizes vary, they are the largest; `schedule` and `at` are not for
 * this. What a run takes as a whole, its library kernels and its copies are not timed. *json has the kernels with their times
 * (docs/json.md), those that could not be measured with what was wrong; *failed (may be NULL): how many. The first database that
 * is named decides for all times which kernels of the work are one. */
TCTUNE_API tctune_status tctune_bench_kernels(tctune_work *work, const tctune_bench_kernel_options *options, int *failed,
                                              char **json, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
