/* tctune as a library: build an ONNX model, run it, save it. Tensors are DLPack's (dlpack.h): dense, row-major, in CPU memory.
 *
 * Every function that can fail returns TCTUNE_OK or another status, and writes a sentence that names the file, the node and the
 * remedy to `error`, a buffer of the caller's (NULL, 0: not wanted). A handle serves one call at a time, and different ones may be used
 * in different threads; calls that take a `const tctune_model *` may run at once. To run one model in several threads, give each a
 * context. */
#ifndef TCTUNE_TCTUNE_H
#define TCTUNE_TCTUNE_H

#include <stddef.h>
#include <stdint.h>

#include <dlpack/dlpack.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TC_API __attribute__((visibility("default")))
#else
#define TC_API
#endif

typedef enum tctune_status {
    TCTUNE_OK = 0,
    TCTUNE_BAD_INPUT = 2,  /* what was given is wrong */
    TCTUNE_ENVIRONMENT = 3 /* disk, memory, compiler, linker */
} tctune_status;

typedef struct tctune_model tctune_model;

typedef struct tctune_build_options {
    const char *target;   /* NULL: this machine */
    int threads;          /* 0: every core */
    const char *database; /* tuning records; NULL: default schedules. What this build did not measure on this machine is first
                                * checked by the command `tctune` installed beside the library; without it, it is not used */
    int require_complete; /* fail when some kernel has no record */
    /* "input=1,128", or "symbol=128" for a symbolic dimension, "symbol=1..512" for a range of sizes that one model serves;
     * NULL-terminated, or NULL: symbols have ranges that follow from their names */
    const char *const *shapes;
    /* An output that is an input with new rows behind it (the keys and values that a model keeps when it decodes) is one buffer with that
     * input: tctune_run says how it is given. TCTUNE_BAD_INPUT where the model has none. */
    int in_place_cache;
} tctune_build_options;

/* Imports and compiles an ONNX file. options may be NULL. */
TC_API tctune_status tctune_build(const char *onnx_file, const tctune_build_options *options, tctune_model **model, char *error,
                                  size_t error_size);
/* Opens a library that tctune_save (or `tctune build`) made. threads 0: as many as it was built for. */
TC_API tctune_status tctune_load(const char *library, int threads, tctune_model **model, char *error, size_t error_size);
TC_API void tctune_free(tctune_model *model); /* NULL is fine */

/* Writes a shared library and a C header beside it. Not for a loaded model. */
TC_API tctune_status tctune_save(const tctune_model *model, const char *library, char *error, size_t error_size);

TC_API int tctune_num_inputs(const tctune_model *model);
TC_API int tctune_num_outputs(const tctune_model *model);
/* Name, type and shape (ndim and shape[]) of an input or output, the largest where sizes vary. The pointers live as long as the model. NULL when i is out of
 * range. */
TC_API const char *tctune_input(const tctune_model *model, int i, DLDataType *type, int *ndim, const int64_t **shape);
TC_API const char *tctune_output(const tctune_model *model, int i, DLDataType *type, int *ndim, const int64_t **shape);

/* Which output grows input i in place: they are one buffer, in whose dimension *rows new rows are put behind those of the input. -1: none. */
TC_API int tctune_grows(const tctune_model *model, int i, int *rows);

/* The shape of output i in the last run: as many numbers as it has dimensions. A dimension whose size depends on data (of NonZero
 * and what follows from it), or on the sizes of inputs, is at most as large as tctune_output says; all others are always that large.
 * NULL when i is out of range. */
TC_API const int64_t *tctune_output_shape(const tctune_model *model, int i);

/* One run. inputs[] and outputs[] match the model's by position; type, shape and device are checked; the outputs' memory is the
 * caller's. An input whose sizes vary is given in those of the run, dense; one that is out of its range, or contradicts another, is
 * TCTUNE_BAD_INPUT, with both sizes in the message.
 * Outputs are given in the shape of tctune_output, and what is written there is dense in that of tctune_output_shape.
 *
 * A buffer that grows in place (in_place_cache) is the output's, aligned to 64 bytes, and stays an array of the shape of
 * tctune_output: a run writes its new rows and leaves the others as they are. The input is that memory too, in the shape of the rows that
 * are there, with the strides of the buffer; then nothing is copied. One that lies elsewhere is dense, and copied to the buffer first. */
TC_API tctune_status tctune_run(tctune_model *model, const DLTensor *inputs, DLTensor *outputs, char *error, size_t error_size);

/* All that runs of a model change. Any number of threads may run one model at once, each with a context of its own: code and weights
 * are shared. The model must outlive its contexts. After fork, parent and child may both go on with what they have. */
typedef struct tctune_context tctune_context;
TC_API tctune_status tctune_context_new(const tctune_model *model, tctune_context **context, char *error, size_t error_size);
TC_API void tctune_context_free(tctune_context *context); /* not while it runs; NULL is fine */
/* As tctune_run and tctune_output_shape, which use a context of the model's own. */
TC_API tctune_status tctune_context_run(tctune_context *context, const DLTensor *inputs, DLTensor *outputs, char *error,
                                        size_t error_size);
TC_API const int64_t *tctune_context_output_shape(const tctune_context *context, int i);

/* Where the time of a run goes: the distinct kernels, library kernels, and copies. `name` lives as long as the model. */
typedef struct tctune_kernel_time {
    const char *name;
    int launches;   /* in a run; inside loops of the model they may be more */
    double seconds; /* of all of them, median over the runs */
} tctune_kernel_time;
/* How many tctune_profile gives. */
TC_API int tctune_num_kernels(const tctune_model *model);
/* Runs the model `runs` times (at least 1) and writes times[tctune_num_kernels(model)]. Inputs as for tctune_run. */
TC_API tctune_status tctune_profile(tctune_model *model, const DLTensor *inputs, int runs, tctune_kernel_time *times, char *error,
                                    size_t error_size);
/* The same with a context. */
TC_API tctune_status tctune_context_profile(tctune_context *context, const DLTensor *inputs, int runs, tctune_kernel_time *times,
                                            char *error, size_t error_size);

TC_API const char *tctune_version(void);

#ifdef __cplusplus
}
#endif

#endif
