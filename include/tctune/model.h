/* Models: built from what is worked on or loaded from a library, run, timed and saved. Tensors are DLPack's (dlpack.h): dense,
 * row-major, in CPU memory. Calls that take a `const tctune_model *` may run at once; to run one model in several threads, give
 * each a context. */
#ifndef TCTUNE_MODEL_H
#define TCTUNE_MODEL_H

#include <dlpack/dlpack.h>

#include <tctune/work.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A model that runs. */
typedef struct tctune_model tctune_model;

/* Told of a kernel that was compiled, the done-th of total, from any thread, one at a time. Other than 0: that is enough, and the
 * build ends with TCTUNE_STOPPED. */
typedef int tctune_on_kernel(void *user, int done, int total, const char *kernel);

/* What is built, for whom and from which records. */
typedef struct tctune_build_options {
    size_t struct_size;
    const char *target;   /* NULL: this machine */
    int threads;          /* 0: every core; more than this process can start are refused */
    const char *database; /* tuning records; NULL: default schedules. What this build did not measure on this machine is first
                           * checked by tctune-worker, which is installed beside the library; without it, it is not used */
    int require_complete; /* fail when some kernel has no record */
    /* "strict": only algorithms that round as the model's own do; NULL or "fast": Winograd's and Strassen's too, where they are
     * faster */
    const char *accuracy;
    /* "bf16" or "auto": matmuls and convolutions may take operands rounded to bf16 where that was measured to be faster; NULL or
     * "f32": never */
    const char *precision;
    /* Above 0, with "auto": only as many kernels round as keep max |rounded - f32| / max |f32| of every output at most that, on
     * `inputs`. */
    double error_budget;
    const char *inputs; /* file with inputs by name for that (.npz, or a folder of input_N.pb); NULL: drawn ones */
    int top_k_in_graph; /* above 1: so many best records of each kernel are compared in the network, and the database remembers */
    tctune_on_kernel *progress; /* NULL: nobody */
    void *user;
    const char *
        listing; /* the file in which tctune_model_save puts the programs that kernels were lowered to, which debuggers then show; NULL: none */
    int only_to_save; /* not 0: the model is not run here, which takes less memory */
    int last; /* not 0: nothing else is built of the work, so that constants which only packed copies stand for are given back */
    volatile int
        *stop; /* once it is not 0 the build ends soon, with TCTUNE_STOPPED; it is set when progress asks for it; NULL: nobody */
} tctune_build_options;

/* Compiles a network or a kernel. The first database that is named decides for all times which kernels of a network are one, by its
 * records. options may be NULL. */
TCTUNE_API tctune_status tctune_build(tctune_work *work, const tctune_build_options *options, tctune_model **model, char *error,
                                      size_t error_size);
/* The same of an ONNX file, whose symbols have ranges that follow from their names. */
TCTUNE_API tctune_status tctune_build_file(const char *onnx_file, const tctune_build_options *options, tctune_model **model,
                                           char *error, size_t error_size);
/* Opens a library that tctune_model_save (or `tctune build`) made. threads 0: as many as it was built for. */
TCTUNE_API tctune_status tctune_load(const char *library, int threads, tctune_model **model, char *error, size_t error_size);
/* How the model was built: its kernels with the records that they are from, its memory, and what the network said of records
 * (top_k_in_graph) and of rounding (error_budget), as JSON (docs/json.md). Give it back with tctune_text_free. */
TCTUNE_API tctune_status tctune_model_report(const tctune_model *model, char **json, char *error, size_t error_size);
/* Where every intermediate lies and how long it lives, a line each; TCTUNE_BAD_INPUT of a loaded model. As tctune_model_report. */
TCTUNE_API tctune_status tctune_model_plan(const tctune_model *model, char **text, char *error, size_t error_size);

/* Whether a file could be such a library, rather than a network, by its first bytes. */
TCTUNE_API int tctune_is_library(const char *file);
TCTUNE_API void tctune_model_free(tctune_model *model); /* NULL is fine */

/* Writes a shared library and a C header beside it; one relocatable object where the path ends in .o, C source where it ends in
 * .c. The files are whole or absent. `prefix`: of its symbols; NULL: the file's name. Not for a loaded model. */
TCTUNE_API tctune_status tctune_model_save(const tctune_model *model, const char *path, const char *prefix, char *error,
                                           size_t error_size);

/* How many inputs a run takes. */
TCTUNE_API int tctune_model_num_inputs(const tctune_model *model);
/* How many outputs a run makes. */
TCTUNE_API int tctune_model_num_outputs(const tctune_model *model);
/* Name, type and shape (ndim and shape[]) of an input or output, the largest where sizes vary. The pointers live as long as the
 * model. NULL when i is out of range. */
TCTUNE_API const char *tctune_model_input(const tctune_model *model, int i, DLDataType *type, int *ndim, const int64_t **shape);
/* As tctune_model_input. */
TCTUNE_API const char *tctune_model_output(const tctune_model *model, int i, DLDataType *type, int *ndim, const int64_t **shape);

/* How many sizes of its inputs vary. */
TCTUNE_API int tctune_model_num_sizes(const tctune_model *model);
/* The name of one, which lives as long as the model: it is a multiple of *multiple from *least to *most. NULL when i is out of
 * range. */
TCTUNE_API const char *tctune_model_size(const tctune_model *model, int i, int64_t *least, int64_t *most, int64_t *multiple);
/* The sizes of a run that `at` says, as "N=17", NULL-terminated: sizes[tctune_model_num_sizes(model)]. Those that it does not
 * tell follow from them, or are the least above 0; `at` NULL: all are the largest. sizes NULL: they are only checked. */
TCTUNE_API tctune_status tctune_model_sizes_at(const tctune_model *model, const char *const *at, int64_t *sizes, char *error,
                                               size_t error_size);

/* Which output grows input i in place: they are one buffer, in whose dimension *rows new rows are put behind those of the input.
 * -1: none. */
TCTUNE_API int tctune_model_grows(const tctune_model *model, int i, int *rows);

/* The shape of output i in the last run: as many numbers as it has dimensions. A dimension whose size depends on data (of NonZero
 * and what follows from it), or on the sizes of inputs, is at most as large as tctune_model_output says; all others are always
 * that large. NULL when i is out of range. */
TCTUNE_API const int64_t *tctune_model_output_shape(const tctune_model *model, int i);

/* One run. inputs[] and outputs[] match the model's by position; the outputs' memory is the caller's, and no output overlaps an
 * input or another output, but for the input of a buffer that grows (below). What is wrong with a tensor (type, lanes, shape,
 * strides, device, no data) is TCTUNE_BAD_INPUT, which says what was given, and nothing is written. DLTensor cannot say that
 * memory is read-only: DLPack's flag for it belongs to the tensor around it, and callers look at it. Runs after the first
 * allocate nothing: of data that is not aligned to 64 bytes a copy is made, in memory that stays with the context. An input whose
 * sizes vary is given in those of the run, dense; one that is out of its range, or contradicts another, is TCTUNE_BAD_INPUT, with
 * both sizes in the message. Outputs are given in the shape of tctune_model_output, and what is written there is dense in that of
 * tctune_model_output_shape.
 *
 * A buffer that grows in place (in_place_cache) is the output's, aligned to 64 bytes, and stays an array of the shape of
 * tctune_model_output: a run writes its new rows and leaves the others as they are. Of GroupQueryAttention's sequences new rows
 * stand where each ends, and zeros behind them, up to as many rows as the output has in that run. The input is that memory too,
 * in the shape of the rows that are there, with the strides of the buffer; then nothing is copied. One that lies elsewhere is
 * dense, and copied to the buffer first. */
TCTUNE_API tctune_status tctune_model_run(tctune_model *model, const DLTensor *inputs, DLTensor *outputs, char *error,
                                          size_t error_size);

/* All that runs of a model change. Any number of threads may run one model at once, each with a context of its own: code and
 * weights are shared. The model must outlive its contexts. After fork, parent and child may both go on with what they have. */
typedef struct tctune_context tctune_context;
/* Makes one. TCTUNE_ENVIRONMENT: there is no memory for it. */
TCTUNE_API tctune_status tctune_context_new(const tctune_model *model, tctune_context **context, char *error, size_t error_size);
TCTUNE_API void tctune_context_free(tctune_context *context); /* not while it runs; NULL is fine */
/* As tctune_model_run and tctune_model_output_shape, which use a context of the model's own. */
TCTUNE_API tctune_status tctune_context_run(tctune_context *context, const DLTensor *inputs, DLTensor *outputs, char *error,
                                            size_t error_size);
/* As tctune_model_output_shape, of the last run with this context. */
TCTUNE_API const int64_t *tctune_context_output_shape(const tctune_context *context, int i);

/* Where the time of a run goes: the distinct kernels, library kernels, and copies. `name` lives as long as the model. This struct
 * does not grow: it comes in arrays. */
typedef struct tctune_kernel_time {
    const char *name;
    int launches;   /* in a run; inside loops of the model they may be more */
    double seconds; /* of all of them, median over the runs */
} tctune_kernel_time;
/* How many tctune_model_profile gives. */
TCTUNE_API int tctune_model_num_kernels(const tctune_model *model);
/* Runs the model `runs` times (at least 1) and writes times[tctune_model_num_kernels(model)]. Inputs as for tctune_model_run. */
TCTUNE_API tctune_status tctune_model_profile(tctune_model *model, const DLTensor *inputs, int runs, tctune_kernel_time *times,
                                              char *error, size_t error_size);
/* The same with a context. */
TCTUNE_API tctune_status tctune_context_profile(tctune_context *context, const DLTensor *inputs, int runs,
                                                tctune_kernel_time *times, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
