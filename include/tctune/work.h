/* A work is what tctune works on: a network (an ONNX file) or one kernel (.te). It is a list of tasks. A task is a distinct
 * kernel, which can be tuned. A work can be built into a model (model.h). */
#ifndef TCTUNE_WORK_H
#define TCTUNE_WORK_H

#include <tctune/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An open network or kernel. */
typedef struct tctune_work tctune_work;

/* Which graph passes run on a network. */
typedef enum tctune_level {
    TCTUNE_LEVEL_DEFAULT, /* LEVEL_2 */
    TCTUNE_LEVEL_0,       /* only passes that correctness needs */
    TCTUNE_LEVEL_1,       /* also passes that save work */
    TCTUNE_LEVEL_2,       /* also passes that choose layouts and algorithms */
    TCTUNE_LEVEL_3        /* also passes that may change results */
} tctune_level;

/* What is opened. Give one of model, te and te_text, or call tctune_open_bytes with none of them. */
typedef struct tctune_work_options {
    size_t struct_size;
    const char *model;   /* file of a network (ONNX) */
    const char *te;      /* file of a kernel (.te) */
    const char *te_text; /* text of a kernel; `te` may then be a name for messages */
    /* The sizes of inputs and symbols, NULL-terminated: "input=1,128", "symbol=128", or "symbol=1..512" for a range of sizes that
     * the model serves. NULL: the names of a network's symbols decide their ranges. For a kernel, give each symbol one number, or
     * give none. */
    const char *const *shapes;
    const char *shape_weights; /* file that says how much each size of a range counts; NULL: sizes count by their logarithm */
    /* Not 0: an output that is an input with new rows behind it (a cache of keys and values, made by Concat or
     * GroupQueryAttention) shares one buffer with that input; tctune_model_run says how. TCTUNE_BAD_INPUT: the network has no
     * such output. */
    int in_place_cache;
    tctune_level level;
    const char *const *without; /* names of graph passes to leave out, NULL-terminated; NULL: none */
    const char *constants;      /* for a kernel: file with its constants by name (.npz); NULL: random, from `seed` */
    uint64_t seed;              /* of random constants */
    int fixed;                  /* not 0: a kernel whose sizes vary, without sizes in `shapes`, is TCTUNE_BAD_INPUT */
    const char *dump_graph;     /* a graph pass, or "all": print the network before and after it to standard error; NULL: none */
    int pass_times;             /* not 0: print the times of graph passes to standard error */
    /* Folder of a network's external data; NULL: the file's folder; a network in memory has no folder then */
    const char *data_folder;
    /* Inputs of a network whose value is the same in each run, NULL-terminated: "sr=16000", or "axes=0,2" for an array. They are
     * no inputs of the model then, and what is computed of them alone is computed now. NULL: none */
    const char *const *fixed_inputs;
} tctune_work_options;

/* Checks that the options name one work, existing graph passes, and shapes in the right form. Opens no file. */
TCTUNE_API tctune_status tctune_work_check(const tctune_work_options *options, char *error, size_t error_size);

/* Opens a network or kernel, and splits a network into kernels. Release the work with tctune_work_free. TCTUNE_BAD_INPUT: the
 * file or an option is wrong. */
TCTUNE_API tctune_status tctune_open(const tctune_work_options *options, tctune_work **work, char *error, size_t error_size);

/* Opens a network from memory: `onnx` points to the `size` bytes of an ONNX file, which are only read during the call. `name`
 * stands for the file in messages; NULL: "model". External data is read from data_folder. options may be NULL. TCTUNE_BAD_INPUT:
 * the bytes or an option is wrong, or there is external data but no data_folder. */
TCTUNE_API tctune_status tctune_open_bytes(const void *onnx, size_t size, const char *name, const tctune_work_options *options,
                                           tctune_work **work, char *error, size_t error_size);

/* Releases the work. Its models, sessions and schedules may live longer. NULL is allowed. */
TCTUNE_API void tctune_work_free(tctune_work *work);

/* Returns the ranges that were assumed for sizes that nobody gave, such as "batch=1..16, sequence=1..512"; "": none. The text
 * lives as long as the work. */
TCTUNE_API const char *tctune_work_assumed(const tctune_work *work);

/* A task. Its texts live as long as the work. */
typedef struct tctune_task {
    size_t struct_size;
    const char *name;     /* "MatMul+Add+Gelu f32[8,8]"; several tasks with equal names get "#1", "#2", ... behind it */
    const char *workload; /* canonical .te text */
    const char *hash;     /* of the workload; the key of its records */
    double weight;        /* launches in a run */
    double flops;         /* floating-point operations of a launch, at the largest sizes */
    int varying;          /* 1: sizes vary */
    int instead;          /* 1: the task can run in place of others, and does where records show that this is faster */
    int sizes;            /* how many sizes vary */
    /* Names of the ONNX nodes that its launches compute, NULL-terminated; a kernel's list is empty. */
    const char *const *nodes;
} tctune_task;

/* Returns the number of tasks. */
TCTUNE_API int tctune_work_num_tasks(const tctune_work *work);

/* Writes task i, counted from 0, to *task. TCTUNE_BAD_INPUT: i is out of range. */
TCTUNE_API tctune_status tctune_work_task(const tctune_work *work, int i, tctune_task *task, char *error, size_t error_size);

/* Finds a task by its number, counted from 0, its name, or the name of an ONNX node that it computes, and writes the task's number
 * to *task. TCTUNE_BAD_INPUT: no task fits, or several do; the message lists them, and *task is -1. */
TCTUNE_API tctune_status tctune_work_find_task(const tctune_work *work, const char *name, int *task, char *error,
                                               size_t error_size);

/* Reads the sizes of a run of a task from `at`, a NULL-terminated list such as "N=17" with a value for each size that varies.
 * sizes[] has room for tctune_task.sizes values, in the order of the task's symbols; NULL: the list is only checked. at NULL: all
 * sizes are the largest. */
TCTUNE_API tctune_status tctune_work_sizes_at(const tctune_work *work, int task, const char *const *at, int64_t *sizes,
                                              char *error, size_t error_size);

/* Checks that a file has inputs of the network, as build option `inputs` needs them. */
TCTUNE_API tctune_status tctune_work_check_inputs(tctune_work *work, const char *file, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
