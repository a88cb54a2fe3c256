/* src/graph/model owns the step from a program to something that runs: which records may be used (admit.c), the schedule and form
 * of each kernel, constants packed for kernels, code, contexts and runs. Not here: files (src/graph/saved).
 *
 * Every kernel is compiled with the best schedule among the records. A model runs in this process, or is saved as a library
 * (graph/saved). A loaded library is a model again.
 *
 *   tc_graph_program_new -> ... -> tc_graph_model_build -> tc_graph_model_run
 *
 * Constants are not copied, so the program must outlive the model. */
#ifndef TC_GRAPH_MODEL_MODEL_H
#define TC_GRAPH_MODEL_MODEL_H

#include <signal.h>

#include "codegen/target/target.h"
#include "graph/program/program.h"
#include "measure/records/database.h"

typedef struct tc_graph_model tc_graph_model;
typedef struct tc_graph_build_options tc_graph_build_options;

/* The program of g again, in which kernels are one where the records that o would build from say that this is faster; *out NULL:
 * nowhere, `apart` is what to build. */
TC_NODISCARD tc_status tc_graph_program_merge(const tc_graph *g, const tc_graph_program *apart, const tc_graph_build_options *o,
                                              tc_graph_program **out, tc_error *err);

typedef enum tc_graph_source {
    TC_GRAPH_FROM_RECORD, /* the best record of the database that may run here */
    TC_GRAPH_FROM_DEFAULT /* none: the default schedule */
} tc_graph_source;

/* What keeps the records that a database has of a kernel out of a build. */
typedef enum tc_graph_obstacle {
    TC_GRAPH_NO_OBSTACLE, /* none is known: also where there are no such records, or where they are used */
    TC_GRAPH_OTHER_THREADS,
    TC_GRAPH_OTHER_TARGET,
    TC_GRAPH_OTHER_ACCURACY,
    TC_GRAPH_FASTER_FORM, /* the accuracy too; but a slower record of another form is in use */
    TC_GRAPH_OTHER_PRECISION,
    TC_GRAPH_OTHER_SHAPE
} tc_graph_obstacle;
typedef struct tc_graph_unused {
    tc_graph_obstacle obstacle;
    const char *recorded; /* what the option would have to be ("1", a target, "fast"); of a shape, how the two differ */
} tc_graph_unused;

/* One distinct workload of a model: what the build report and `bench` print. Strings live as long as the model. */
typedef struct tc_graph_kernel {
    const char *name; /* "MatMul+Add+Gelu ..." : of the task */
    int nnode;        /* nodes of the ONNX file that its launches are made from, by name; 0 of a loaded library */
    const char *const *nodes;
    const char *symbol;       /* of the compiled function */
    const char *form;         /* "direct", or the name of the alternative in use */
    const char *workload;     /* canonical text of that form */
    const char *trace;        /* of the schedule in use */
    tc_digest hash;           /* of the task's own workload, whichever form is in use */
    int count;                /* launches per run */
    double flops;             /* of one launch, in the task's own form */
    double bytes;             /* that one launch must move (tc_te_bytes_moved), in that form; 0: not known */
    const tc_intrinsic *unit; /* the fastest that the sums of the form in use can take; NULL: none */
    tc_graph_source source;
    int64_t record;  /* FROM_RECORD: its row */
    double recorded; /* FROM_RECORD: seconds that it was measured at; else 0 */
    int64_t when_ms; /* FROM_RECORD: when that was, Unix time */
    tc_digest trace_hash;
    tc_digest form_hash;    /* of the workload of the form in use */
    int variants;           /* programs that serve different sizes; 1 where these do not vary, 0 of a loaded library */
    const char *why;        /* FROM_DEFAULT: the nearest record and what differs, or that there is no database; FROM_RECORD: why a
                        better one was not used, or "" */
    tc_graph_unused unused; /* which records of it are not used; FROM_RECORD: records that are faster than the one in use */
    double seconds;         /* of all launches of one run, from the last profile; 0 before */
} tc_graph_kernel;

/* What a run does beside those: library kernels by operator, and copies (with the decisions of loops). */
typedef struct tc_graph_other {
    const char *name; /* "TopK", "copy" */
    int count;        /* steps of the model; in loops they may run more often */
    double seconds;   /* as above */
} tc_graph_other;

/* The records that a kernel may be built from: whoever gives them answers for them (tc_graph_admit). */
typedef struct tc_graph_choice {
    const tc_record *records; /* the one to use first; another where that does not replay */
    int n;
    const char *why; /* what was passed over; NULL: nothing, so n == 0 says that db has none */
    /* Of a kernel whose sizes vary: each record serves the runs whose product of sizes is at most that, and that no record before
     * it serves. Then all of them are used, or none. NULL: the kernel's sizes do not vary. */
    const int64_t *upto;
} tc_graph_choice;

/* Whose threads run the parallel loops of a saved library. */
typedef enum tc_graph_team {
    TC_GRAPH_TEAM_ANY, /* its own where it can have them, else OpenMP's; C source: OpenMP's */
    TC_GRAPH_TEAM_OWN,
    TC_GRAPH_TEAM_OPENMP
} tc_graph_team;

/* Which kernels that need not wait for each other run side by side, each on one thread. */
typedef enum tc_graph_branches {
    TC_GRAPH_BRANCHES_FASTER, /* those that so take clearly less time, as far as the cost model can tell */
    TC_GRAPH_BRANCHES_NONE,
    TC_GRAPH_BRANCHES_ALL
} tc_graph_branches;

struct tc_graph_build_options {
    const tc_target *target;
    int threads;                    /* 0: the target's cores */
    tc_meas_db *db;                 /* NULL: default schedules */
    const tc_graph_choice *choices; /* by task: the records that may be used. NULL: those of db that tc_graph_admit lets in; where
                                     * the target does not run here, its verified ones, which nothing here runs */
    const tc_tune_weights_file *weights; /* which sizes count how much, for the variants that db has; NULL: by the logarithm */
    tc_accuracy accuracy;                /* which forms of a kernel may be used, where records say that they are faster */
    const tc_accuracy *accuracies;       /* the same by task, in its place; NULL: one for all */
    bool require_complete;               /* TC_BAD_INPUT that lists the kernels without a record */
    bool object_only;                    /* no code or packed constants in this process: only saving works, with less memory */
    tc_graph_team team;
    tc_graph_branches branches;
    const char *listing;   /* the file in which saving puts the lowered programs, which debuggers then show; NULL: none */
    bool use_up_constants; /* constants of the program that only packed copies stand for are given back: no other model
                                     * can be built from it */
    const volatile sig_atomic_t *stop; /* may be NULL */
    double deadline;                   /* tc_now() after which a build ends as if it was stopped; 0: none */
    void (*progress)(void *user, int done, int total,
                     const char *kernel); /* may be NULL; after each kernel compiled, one at a time, from any thread */
    void *user;
};

TC_NODISCARD tc_status tc_graph_model_build(const tc_graph_program *p, const tc_graph_build_options *o, tc_graph_model **out,
                                            tc_error *err);
void tc_graph_model_free(tc_graph_model *m); /* NULL is fine */

int tc_graph_model_inputs(const tc_graph_model *m, const tc_graph_port **ports);
/* As tc_graph_program_fixed; a loaded library knows none. */
const tc_graph_bundle *tc_graph_model_fixed(const tc_graph_model *m);
int tc_graph_model_outputs(const tc_graph_model *m, const tc_graph_port **ports); /* without sizes of others */
/* Which sizes its inputs may have. */
const tc_graph_size_rules *tc_graph_model_sizes(const tc_graph_model *m);
/* Of output i in the last run; before it, and where nothing depends on data, the port's. */
const tc_graph_shape *tc_graph_model_output_shape(const tc_graph_model *m, int i);
/* Of a loaded library: without workloads and traces. */
int tc_graph_model_kernels(const tc_graph_model *m, const tc_graph_kernel **kernels);
int tc_graph_model_others(const tc_graph_model *m, const tc_graph_other **others);
/* How many kernels have records that only another option lets in, the one that most of them want; 0: none. */
int tc_graph_model_unused(const tc_graph_model *m, tc_graph_unused *out);
/* Constants of a kernel that are random numbers, as nobody gave their values. */
int tc_graph_model_drawn(const tc_graph_model *m, const char *const **names);
int tc_graph_model_threads(const tc_graph_model *m);
double tc_graph_model_flops(const tc_graph_model *m); /* of one run; 0 when unknown */
/* Memory of the built model: intermediates and workspace, what they would take without reuse, and constants as packed. */
typedef struct tc_graph_memory {
    int64_t arena, arena_without_reuse, constants;
    int64_t saved_by_bf16; /* of intermediates that are kept in bf16: what f32 would take more */
    int nbf16;             /* how many these are */
} tc_graph_memory;
tc_graph_memory tc_graph_model_memory(const tc_graph_model *m);

/* Checks the inputs' types and shapes; out[] (one per output, in its shape of this run) is allocated here, OWNED. in[] matches
 * the model's inputs. Runs of a model itself share its own context: one at a time. */
TC_NODISCARD tc_status tc_graph_model_run(tc_graph_model *m, const tc_graph_tensor *in, tc_graph_tensor *out, tc_error *err);
/* The same into memory of the caller: out[] matches the model's outputs, each of its largest shape. What a run writes there is
 * dense in the shape of tc_graph_model_output_shape. */
TC_NODISCARD tc_status tc_graph_model_run_into(tc_graph_model *m, const tc_graph_tensor *in, const tc_graph_tensor *out,
                                               tc_error *err);

/* The items of `in` in the order of the model's inputs, as views. TC_BAD_INPUT lists missing and unknown names. */
TC_NODISCARD tc_status tc_graph_model_match(const tc_graph_model *m, const tc_graph_bundle *in, tc_graph_tensor *out,
                                            tc_error *err);
/* A run with inputs by name, as match finds them. */
TC_NODISCARD tc_status tc_graph_model_run_named(tc_graph_model *m, const tc_graph_bundle *in, tc_graph_bundle *out,
                                                tc_error *err);
/* Seeded inputs by the ports' ranges: of sane scale, within what they index, masks that let everything through. A library draws
 * what its model draws. in[] is allocated here, OWNED. sizes: of that run, by the rules; NULL: the largest. */
TC_NODISCARD tc_status tc_graph_model_random_inputs(const tc_graph_model *m, const int64_t *sizes, uint64_t seed,
                                                    tc_graph_tensor *in, tc_error *err);

/* All that runs change: intermediates, workspace, the shapes of outputs, what is told of steps. Any number of threads may run a
 * model at once, each with a context of its own, and make contexts meanwhile; the model must outlive them. */
typedef struct tc_graph_context tc_graph_context;
/* TC_ENV when there is no memory for it, TC_BAD_INPUT when the model was built to be saved only. */
TC_NODISCARD tc_status tc_graph_context_new(const tc_graph_model *m, tc_graph_context **out, tc_error *err);
void tc_graph_context_free(tc_graph_context *c); /* NULL is fine */
/* As the functions of the model with these names. */
TC_NODISCARD tc_status tc_graph_context_run_into(tc_graph_context *c, const tc_graph_tensor *in, const tc_graph_tensor *out,
                                                 tc_error *err);
const tc_graph_shape *tc_graph_context_output_shape(const tc_graph_context *c, int i);
/* A line for every intermediate (place in the arena, bytes, first and last launch that uses it, name) in the order of places, and
 * the sums. */
void tc_graph_model_print_plan(const tc_graph_model *m, tc_strbuf *out);

#endif
