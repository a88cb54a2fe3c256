/* What is worked on: a network of an ONNX file, or one kernel in .te form. Either is a list of tasks, distinct kernels that can
 * be tuned, and can be built. */
#ifndef TCTUNE_WORK_H
#define TCTUNE_WORK_H

#include <tctune/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A network or a kernel. */
typedef struct tctune_work tctune_work;

/* Which graph passes run on a network. */
typedef enum tctune_level {
    TCTUNE_LEVEL_DEFAULT, /* layouts and algorithms too */
    TCTUNE_LEVEL_0,       /* what correctness needs */
    TCTUNE_LEVEL_1,       /* less work */
    TCTUNE_LEVEL_2,       /* the default */
    TCTUNE_LEVEL_3        /* results may differ */
} tctune_level;

/* What is opened. */
typedef struct tctune_work_options {
    size_t struct_size;
    /* One of these: */
    const char *model;   /* file of a network (ONNX) */
    const char *te;      /* file of a kernel (.te) */
    const char *te_text; /* the kernel itself; `te` may then be its name, for messages */
    /* "input=1,128", or "symbol=128" for a symbolic dimension, "symbol=1..512" for a range of sizes that is served;
     * NULL-terminated, or NULL: symbols of a network have ranges that follow from their names. A kernel's symbols get one number
     * each, all or none. */
    const char *const *shapes;
    const char *shape_weights; /* file that says how much each size of a range counts; NULL: by the logarithm */
    /* An output that is an input with new rows behind it (the keys and values that a model keeps when it decodes: of Concat, or
     * of GroupQueryAttention) is one buffer with that input: tctune_model_run says how it is given. TCTUNE_BAD_INPUT where the
     * network has none. */
    int in_place_cache;
    tctune_level level;
    const char *const *without; /* names of graph passes to leave out, NULL-terminated; NULL: none */
    const char *constants;      /* of a kernel: file with its constants by name (.npz); NULL: seeded random ones */
    uint64_t seed;
    int fixed;              /* not 0: a kernel whose sizes vary, and of which `shapes` says nothing, is TCTUNE_BAD_INPUT */
    const char *dump_graph; /* a graph pass, or "all": the network before and after it is printed to standard error; NULL: none */
    int pass_times;         /* not 0: so are the times of the graph passes */
    const char
        *data_folder; /* of a network: where its external data lies; NULL: beside its file, and nowhere for a network in memory */
} tctune_work_options;

/* Whether there is one thing to work on, passes have these names, and shapes are written as they should be; opens nothing. */
TCTUNE_API tctune_status tctune_work_check(const tctune_work_options *options, char *error, size_t error_size);

/* Reads it, and takes a network apart into kernels. TCTUNE_BAD_INPUT: the file or an option is wrong. */
TCTUNE_API tctune_status tctune_open(const tctune_work_options *options, tctune_work **work, char *error, size_t error_size);
/* Opens a network from the `size` bytes of an ONNX file in memory. `name` stands for the file in messages; NULL: "model". The
 * bytes may go once the call returns. options, without model, te and te_text, may be NULL. External data is read from
 * data_folder; without it, a network that has external data is TCTUNE_BAD_INPUT. */
TCTUNE_API tctune_status tctune_open_bytes(const void *onnx, size_t size, const char *name, const tctune_work_options *options,
                                           tctune_work **work, char *error, size_t error_size);
TCTUNE_API void tctune_work_free(tctune_work *work); /* models and schedules of it may live on; NULL is fine */

/* "batch=1..16, sequence=1..512": the sizes that nobody gave, as they are assumed; "": there are none. Lives as long as the
 * work. */
TCTUNE_API const char *tctune_work_assumed(const tctune_work *work);

/* Texts live as long as the work. */
typedef struct tctune_task {
    size_t struct_size;
    const char *name; /* "MatMul+Add+Gelu f32[8,8]", with "#1", "#2" behind it where several tasks of the work were called so */
    const char *workload; /* canonical .te text */
    const char *hash;     /* of the workload: what records know it by */
    double weight;        /* launches in a run */
    double flops;         /* floating-point operations of a launch; of the largest where sizes vary */
    int varying;          /* its sizes vary */
    int instead;          /* not 0: it runs in place of others, where records say that this is faster */
    int sizes;            /* how many of its sizes vary */
    const char *const
        *nodes; /* names of the ONNX file's nodes that its launches are made from, NULL-terminated; of a kernel empty */
} tctune_task;

/* How many tasks there are. */
TCTUNE_API int tctune_work_num_tasks(const tctune_work *work);
/* Fills in *task with the i-th. TCTUNE_BAD_INPUT where i is out of range. */
TCTUNE_API tctune_status tctune_work_task(const tctune_work *work, int i, tctune_task *task, char *error, size_t error_size);
/* *task: the one with this number, counted from 0, or with this name, or that the ONNX node with this name is part of. TCTUNE_BAD_INPUT where there
 * is none, or several, which `error` lists; *task is then -1. */
TCTUNE_API tctune_status tctune_work_find_task(const tctune_work *work, const char *name, int *task, char *error,
                                               size_t error_size);

/* The sizes of a run of a task that `at` says, as "N=17", one for each that varies, NULL-terminated: sizes[tctune_task.sizes], in
 * the order of its symbols; the largest where `at` is NULL. sizes NULL: they are only checked. */
TCTUNE_API tctune_status tctune_work_sizes_at(const tctune_work *work, int task, const char *const *at, int64_t *sizes,
                                              char *error, size_t error_size);

/* Whether a file has inputs of the network that can be read, as for tctune_build_options.inputs. */
TCTUNE_API tctune_status tctune_work_check_inputs(tctune_work *work, const char *file, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
