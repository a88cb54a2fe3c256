/* What is worked on: a network of an ONNX file, or one kernel in .te form. Either is a list of tasks, distinct kernels that can be tuned, and
 * can be built. */
#ifndef TCTUNE_WORK_H
#define TCTUNE_WORK_H

#include <tctune/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tctune_work tctune_work;

/* Which graph passes run on a network. */
typedef enum tctune_level {
    TCTUNE_LEVEL_DEFAULT, /* layouts and algorithms too */
    TCTUNE_LEVEL_0,       /* what correctness needs */
    TCTUNE_LEVEL_1,       /* less work */
    TCTUNE_LEVEL_2,       /* the default */
    TCTUNE_LEVEL_3        /* results may differ */
} tctune_level;

typedef struct tctune_work_options {
    size_t struct_size;
    /* One of these: */
    const char *model;   /* file of a network (ONNX) */
    const char *te;      /* file of a kernel (.te) */
    const char *te_text; /* the kernel itself; `te` may then be its name, for messages */
    /* "input=1,128", or "symbol=128" for a symbolic dimension, "symbol=1..512" for a range of sizes that is served; NULL-terminated, or
     * NULL: symbols of a network have ranges that follow from their names. A kernel's symbols get one number each, all or none. */
    const char *const *shapes;
    const char *shape_weights; /* file that says how much each size of a range counts; NULL: by the logarithm */
    /* An output that is an input with new rows behind it (the keys and values that a model keeps when it decodes: of Concat, or of
     * GroupQueryAttention) is one buffer with that input: tctune_run says how it is given. TCTUNE_BAD_INPUT where the network has none. */
    int in_place_cache;
    tctune_level level;
    const char *const *without; /* names of graph passes to leave out, NULL-terminated; NULL: none */
    const char *constants;      /* of a kernel: file with its constants by name (.npz); NULL: seeded random ones */
    uint64_t seed;
} tctune_work_options;

TC_API tctune_status tctune_work_open(const tctune_work_options *options, tctune_work **work, char *error, size_t error_size);
TC_API void tctune_work_free(tctune_work *work); /* models and schedules of it may live on; NULL is fine */

/* "batch=1..16, sequence=1..512": the sizes that nobody gave, as they are assumed; "": there are none. Lives as long as the work. */
TC_API const char *tctune_work_assumed(const tctune_work *work);

/* Texts live as long as the work. */
typedef struct tctune_task {
    size_t struct_size;
    const char *name;     /* "MatMul+Add+Gelu ..." */
    const char *workload; /* canonical .te text */
    const char *hash;     /* of the workload: what records know it by */
    double weight;        /* launches in a run */
    double flops;         /* floating-point operations of a launch; of the largest where sizes vary */
    int varying;          /* its sizes vary */
    int instead;          /* not 0: it runs in place of others, where records say that this is faster */
} tctune_task;

TC_API int tctune_num_tasks(const tctune_work *work);
TC_API tctune_status tctune_get_task(const tctune_work *work, int i, tctune_task *task, char *error, size_t error_size);
/* The task with this name; -1: there is none. */
TC_API int tctune_find_task(const tctune_work *work, const char *name);

#ifdef __cplusplus
}
#endif

#endif
