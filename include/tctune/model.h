/* Models: built from a work or loaded from a library; run, profiled and saved. Tensors are DLPack's (dlpack.h): dense, row-major,
 * in CPU memory. To run one model in several threads, give each thread a context. */
#ifndef TCTUNE_MODEL_H
#define TCTUNE_MODEL_H

#include <dlpack/dlpack.h>

#include <tctune/work.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A model that can run. */
typedef struct tctune_model tctune_model;

/* Called after each kernel is compiled: `done` of `total` are ready. Any thread may make the call; calls come one at a time.
 * Return 0 to go on; any other value ends the build with TCTUNE_STOPPED. */
typedef int tctune_on_kernel(void *user, int done, int total, const char *kernel);

/* How a model is built. */
typedef struct tctune_build_options {
    size_t struct_size;
    const char *target; /* NULL: this machine */
    int threads;        /* of the kernels; 0: every core; TCTUNE_BAD_INPUT if this process cannot start so many */
    /* File with tuning records; NULL: default schedules. A record that was not measured by this version on this machine is first
     * checked by the program tctune-worker, which is installed beside the library. Without tctune-worker, the record is not
     * used. */
    const char *database;
    int require_complete; /* not 0: a kernel without a record is an error */
    /* Which algorithms kernels may use. "strict": those that round as the model's own. "default" (NULL): also algorithms that keep
     * rows apart (Winograd's convolution), so that an element's error depends on its own row or tile alone. "fast": also
     * algorithms that mix rows (Strassen's product): errors depend on other rows, and an infinity reaches them. */
    const char *accuracy;
    /* "f32" (NULL): no rounding of operands. "bf16" or "auto": matmuls and convolutions may round operands to bf16, where that
     * was measured to be faster. */
    const char *precision;
    /* Above 0, with precision "auto": the largest error of an output on `inputs`, as max |rounded - f32| / max |f32|. As many
     * kernels round as this allows. */
    double error_budget;
    const char *inputs; /* .npz with inputs by name for error_budget, or a folder of input_N.pb; NULL: random inputs */
    /* Above 1: this many of the best records of each kernel compete in the network, and the database keeps the result. */
    int top_k_in_graph;
    tctune_on_kernel *progress; /* called after each kernel; NULL: no calls */
    void *user;                 /* first argument of `progress` */
    const char *listing;        /* file for the lowered programs, which tctune_model_save writes and debuggers show; NULL: none */
    int only_to_save;           /* not 0: the model will not run here; this takes less memory */
    int last; /* not 0: no other model will be built from the work; constants that only exist packed are released */
    /* The build ends with TCTUNE_STOPPED soon after this becomes non-zero; a non-zero `progress` sets it; NULL: never */
    volatile int *stop;
    /* Whose threads run the parallel loops of a library that is saved. "own": threads of the library's own, so that it needs only
     * the C library. "openmp": those of OpenMP's runtime, so that the library and a program's own OpenMP loops share one team.
     * NULL: "own", or "openmp" for another architecture where no compiler for it is found. C source has OpenMP's loops: "own" is
     * refused for it. A model that runs in this process has threads of its own. */
    const char *team;
} tctune_build_options;

/* Builds a model: compiles the kernels of a network or a single kernel. Release it with tctune_model_free. The first call for a
 * work that names a database also decides, by its records, which kernels the work merges. options may be NULL. */
TCTUNE_API tctune_status tctune_build(tctune_work *work, const tctune_build_options *options, tctune_model **model, char *error,
                                      size_t error_size);

/* Opens an ONNX file as tctune_open does without options, and builds a model from it. */
TCTUNE_API tctune_status tctune_build_file(const char *onnx_file, const tctune_build_options *options, tctune_model **model,
                                           char *error, size_t error_size);

/* Loads a library that tctune_model_save or `tctune build` wrote. threads 0: as many threads as it was built for. Release the
 * model with tctune_model_free. */
TCTUNE_API tctune_status tctune_load(const char *library, int threads, tctune_model **model, char *error, size_t error_size);

/* Releases the model. NULL is allowed. Free the model's contexts first. */
TCTUNE_API void tctune_model_free(tctune_model *model);

/* Tells from the first bytes of a file whether it may be a built library: 1, else 0, as for an ONNX file. */
TCTUNE_API int tctune_is_library(const char *file);

/* Describes as JSON (docs/json.md) how the model was built: its kernels and their records, its memory, what the competition in
 * the network decided (top_k_in_graph), and what rounding costs (error_budget). Give *json back with tctune_text_free. */
TCTUNE_API tctune_status tctune_model_report(const tctune_model *model, char **json, char *error, size_t error_size);

/* Lists where each intermediate result lies in memory and how long it lives, a line each. Give *text back with tctune_text_free.
 * TCTUNE_BAD_INPUT: the model was loaded. */
TCTUNE_API tctune_status tctune_model_plan(const tctune_model *model, char **text, char *error, size_t error_size);

/* Writes the model to `path`, with a C header beside it: a shared library, a relocatable object if the path ends in .o, or C
 * source if it ends in .c. On an error no file is left. `prefix` begins the names of its symbols; NULL: the file's name.
 * TCTUNE_BAD_INPUT: also if the model was loaded. */
TCTUNE_API tctune_status tctune_model_save(const tctune_model *model, const char *path, const char *prefix, char *error,
                                           size_t error_size);

/* ---- inputs, outputs and sizes ---- */

/* Returns the number of inputs. */
TCTUNE_API int tctune_model_num_inputs(const tctune_model *model);

/* Returns the number of outputs. */
TCTUNE_API int tctune_model_num_outputs(const tctune_model *model);

/* Returns the name of input i, and its type and shape in *type, *ndim and *shape. A size that varies has its largest value in the
 * shape. The pointers live as long as the model. NULL: i is out of range. */
TCTUNE_API const char *tctune_model_input(const tctune_model *model, int i, DLDataType *type, int *ndim, const int64_t **shape);

/* Returns the same of output i. */
TCTUNE_API const char *tctune_model_output(const tctune_model *model, int i, DLDataType *type, int *ndim, const int64_t **shape);

/* Returns how many sizes of the inputs vary. */
TCTUNE_API int tctune_model_num_sizes(const tctune_model *model);

/* Returns the name of the i-th size that varies. The size of a run is a multiple of *multiple, from *least to *most. The name
 * lives as long as the model. NULL: i is out of range. */
TCTUNE_API const char *tctune_model_size(const tctune_model *model, int i, int64_t *least, int64_t *most, int64_t *multiple);

/* Reads the sizes of a run from `at`, a NULL-terminated list such as "N=17". sizes[] has room for tctune_model_num_sizes(model)
 * values; NULL: the list is only checked. A size without a value in `at` follows from the others, else it is the smallest value
 * above 0. at NULL: all sizes are the largest. */
TCTUNE_API tctune_status tctune_model_sizes_at(const tctune_model *model, const char *const *at, int64_t *sizes, char *error,
                                               size_t error_size);

/* Returns the output that grows input i in place, or -1. The two are one buffer: the output puts new rows behind the input's
 * rows, in dimension *rows. (in_place_cache of tctune_work_options.) */
TCTUNE_API int tctune_model_grows(const tctune_model *model, int i, int *rows);

/* ---- runs ---- */

/* Runs the model once. inputs[] and outputs[] are in the order of the model's inputs and outputs.
 *
 * The caller owns the memory of both. An output must not overlap an input or another output, unless it grows that input (below).
 * DLTensor cannot say that memory is read-only; the caller must check that of outputs. The first run allocates memory, later runs
 * do not. Data that is not aligned to 64 bytes is copied into memory of the context.
 *
 * An input has the shape of the run, dense. An output has the shape of tctune_model_output, the largest; the result in it is
 * dense in the shape of tctune_model_output_shape. TCTUNE_BAD_INPUT: a tensor has the wrong type, lanes, shape, strides or
 * device, or no data, or two sizes contradict each other; the message says which, and no output was written.
 *
 * An output that grows an input in place is an array of the shape of tctune_model_output, aligned to 64 bytes. A run writes the
 * new rows and leaves the other rows as they are. For the sequences of GroupQueryAttention, new rows stand where each sequence
 * ends, with zeros behind them up to the output's rows in that run. No zeros are written if the number of the input's rows does
 * not vary: then it is the room of the buffer. Give the input as the same memory, with the shape of the rows that are filled (or
 * of the room) and the strides of the buffer: then nothing is copied. An input elsewhere in memory is dense, and is copied to the
 * buffer first. */
TCTUNE_API tctune_status tctune_model_run(tctune_model *model, const DLTensor *inputs, DLTensor *outputs, char *error,
                                          size_t error_size);

/* Returns the shape of output i in the last run of tctune_model_run, with as many numbers as the output has dimensions. A
 * dimension that depends on data (such as NonZero's) or on the sizes of inputs is at most as large as in tctune_model_output;
 * other dimensions are equal. The pointer is valid until the next run. NULL: i is out of range. */
TCTUNE_API const int64_t *tctune_model_output_shape(const tctune_model *model, int i);

/* Everything that a run changes. Threads may run one model at once if each has a context of its own; they share code and weights.
 * The model must outlive its contexts. After fork, parent and child may both go on with their contexts. */
typedef struct tctune_context tctune_context;

/* Makes a context for the model. Release it with tctune_context_free. TCTUNE_ENVIRONMENT: not enough memory. */
TCTUNE_API tctune_status tctune_context_new(const tctune_model *model, tctune_context **context, char *error, size_t error_size);

/* Releases the context, which must not be running. NULL is allowed. */
TCTUNE_API void tctune_context_free(tctune_context *context);

/* As tctune_model_run, which uses a context of the model's own. */
TCTUNE_API tctune_status tctune_context_run(tctune_context *context, const DLTensor *inputs, DLTensor *outputs, char *error,
                                            size_t error_size);

/* As tctune_model_output_shape, for the last run of this context. */
TCTUNE_API const int64_t *tctune_context_output_shape(const tctune_context *context, int i);

/* The time of a distinct kernel, library kernel or copy. This struct never grows, because it comes in arrays. */
typedef struct tctune_kernel_time {
    const char *name; /* lives as long as the model */
    int launches;     /* in a run, without repetitions by loops of the model */
    double seconds;   /* of all launches together; median over the runs */
} tctune_kernel_time;

/* Returns how many times tctune_model_profile writes. */
TCTUNE_API int tctune_model_num_kernels(const tctune_model *model);

/* Runs the model `runs` times, at least once, and writes times[tctune_model_num_kernels(model)]. inputs[] as for
 * tctune_model_run. */
TCTUNE_API tctune_status tctune_model_profile(tctune_model *model, const DLTensor *inputs, int runs, tctune_kernel_time *times,
                                              char *error, size_t error_size);

/* As tctune_model_profile, with a context. */
TCTUNE_API tctune_status tctune_context_profile(tctune_context *context, const DLTensor *inputs, int runs,
                                                tctune_kernel_time *times, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
