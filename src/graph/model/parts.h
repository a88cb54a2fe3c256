/* The inside of a model: declarations that building, saving and timing share. */
#ifndef TC_GRAPH_MODEL_PARTS_H
#define TC_GRAPH_MODEL_PARTS_H

#include "codegen/code/code.h"
#include "graph/model/model.h"
#include "graph/program/launches.h"
#include "graph/program/plan.h"

/* One way to compute a task (forms.c). */
typedef struct tc_graph_form {
    const char *name;            /* "direct": the task's own workload; else the alternative's */
    const tc_workload *workload; /* canonical */
    tc_digest hash;
    const tc_space_alternative *alternative; /* NULL: the task's own */
} tc_graph_form;

/* A task's code. */
typedef struct tc_graph_unit {
    tc_ctx *forms; /* owns what the forms consist of; frozen */
    int nform;
    const tc_graph_form *form, *used; /* form[0] is the task's own workload; used: the one that func computes */
    tc_ctx *ctx;                      /* of func */
    tc_func *func;                    /* lowered */
    void *obj;
    size_t size;
    int64_t stack;          /* bytes that a call takes */
    double alone, together; /* cycles that a call is estimated to take on one thread, on all of the model's; 0: not known */
    tc_cg_module *module;
    tc_kernel *kernel;
} tc_graph_unit;

/* A constant as a kernel wants it: as it is, or made or packed for parameter `param` of task `task`. */
typedef struct tc_graph_block {
    int slot, task, param;             /* task -1: as it is */
    const tc_space_prologue *prologue; /* makes it, before it is packed; NULL: it is the model's constant */
    const tc_graph_launch *launch;     /* whose constant the prologue reads */
    int64_t bytes, offset;             /* in the blob of a saved library */
    const void *data;                  /* aligned; NULL: made when it is written */
    void *memory;                      /* owned, or NULL */
} tc_graph_block;

/* The launches, in their order, and then copies of outputs. */
typedef struct tc_graph_step {
    tc_cg_step_kind kind;
    int target;
    int task; /* -1: a library kernel, or as tc_cg_step says without a kernel */
    const tc_graph_library_kernel *library;
    int other; /* where task is -1: which of the model's others */
    int launch;
    int nargs;
    int64_t bytes;
    tc_cg_operand *args;
    void **argv; /* addresses of constants, where they were filled; NULL: of what contexts and runs give */
} tc_graph_step;

/* What a step is among a model's n kernels and its others behind them; 0, which says nothing, of one that begins branches. */
static inline int tc_graph_row_of(const tc_graph_step *s, int n) {
    return s->task >= 0 ? s->task : tc_cg_step_forks(s->kind) ? 0 : n + s->other;
}

/* Of a library that was loaded from a file: its functions for contexts. */
typedef struct tc_graph_library {
    void *handle;
    tc_cg_context *(*create)(void);
    void (*release)(tc_cg_context *context);
    int32_t (*run)(tc_cg_context *context, const void *const *inputs, void *const *outputs);
    bool watched; /* it lets others run its parallel loops: tc_cg_context.parallel_for */
} tc_graph_library;

/* What a run is given. */
typedef struct tc_graph_pointers {
    const void **in;
    void **out;
    int64_t *sizes;           /* of the inputs */
    tc_graph_tensor *tensors; /* outputs */
} tc_graph_pointers;

struct tc_graph_context {
    const tc_graph_model *m;
    tc_cg_context *library; /* the library's own; NULL: the model was built here */
    uint8_t *memory;        /* else the arena */
    void ***argv;           /* by step: addresses; those of inputs and outputs are set by each run */
    /* For callers whose data is not aligned: by input its copy, by output what is made in its place; of sizes that are outputs,
     * these. NULL until needed. */
    void **staging, **beside;
    tc_graph_shape *out_shape; /* of the outputs in the last run */
    tc_graph_pointers run;     /* the arrays of the run that is open */
    tc_arena *arena;
};

struct tc_graph_model {
    tc_arena *arena;
    const tc_graph_program *program; /* NULL for a loaded library */
    tc_target *target;
    int threads;
    tc_rt rt;
    int nin, nout, nkernel, nother, nstep;
    int nshown;                /* outputs without those that are sizes of others */
    tc_graph_size_rules rules; /* of the inputs; the last of these are the sizes, which runs fill in */
    tc_graph_port *in, *out;
    tc_graph_kernel *kernels; /* by task */
    tc_graph_other *others;
    int nrefusal;
    const char *const *refusals; /* by number: why a run is refused (tc_lib_require) */
    tc_graph_unit *units;        /* by task */
    const bool *narrow;          /* by slot: it is kept in bf16; NULL: none is */
    TC_VEC(tc_graph_block) blocks;
    int64_t blob_bytes;
    tc_graph_step *steps;
    tc_graph_plan plan;
    int64_t workspace_at, branch_bytes, arena_bytes; /* branch_bytes: as in tc_cg_driver */
    bool runs;                                       /* false for objects only */
    bool used_up;          /* constants of the program were given back: nothing else can be built of it */
    tc_graph_context *own; /* of runs without another; NULL until the first */
    tc_graph_library library;
    const char *path;     /* of the library */
    tc_accuracy accuracy; /* what it was built with, for its library to tell */
    tc_graph_team team;
    const char *database;               /* NULL: none */
    const char *listing, *listing_path; /* the lowered programs as text, and which file gets it; NULL: nobody wants it */
};

/* Fills the forms of a unit and makes its context. */
void tc_graph_list_forms(const tc_graph_program *p, int task, tc_accuracy accuracy, tc_graph_unit *u);
/* That which the record is of; NULL: of none. */
const tc_graph_form *tc_graph_form_of(const tc_graph_unit *u, const tc_record *r);
/* What makes argument `arg` of the form in use; NULL: it is an argument of the task as it is. */
const tc_space_prologue *tc_graph_prologue(const tc_graph_unit *u, int arg);
/* *out (OWNED): what q makes of the constants of launch x. From any thread. */
TC_NODISCARD tc_status tc_graph_run_prologue(const tc_graph_model *m, const tc_space_prologue *q, const tc_graph_launch *x,
                                             tc_graph_tensor *out, tc_error *err);

static inline tc_accuracy tc_graph_accuracy_of(const tc_graph_build_options *o, int task) {
    return o->accuracies ? o->accuracies[task] : o->accuracy;
}
static inline int tc_graph_threads_of(const tc_graph_build_options *o) {
    return o->threads > 0 ? o->threads : TC_MAX(1, o->target->machine.cores);
}
/* The verified records of a unit's forms in the database, for the target and threads of o: at most `most`, the best first. */
TC_NODISCARD tc_status tc_graph_ranked_records(const tc_graph_unit *u, const tc_graph_build_options *o, double byte_time,
                                               tc_arena *a, size_t most, tc_meas_records *out, tc_error *err);
/* What serves the sizes of a task that vary, as records of its own workload (*out), each for a run of the largest sizes that were
 * timed; none, and why, where no contest was held. In `a`. */
TC_NODISCARD tc_status tc_graph_variants_of(const tc_graph_program *p, int task, const tc_graph_build_options *o, tc_arena *a,
                                            tc_graph_choice *out, tc_error *err);
/* Those of a choice as one function of the unit. TC_ILLEGAL where a record does not replay any more. */
TC_NODISCARD tc_status tc_graph_build_variants(tc_graph_unit *u, const tc_machine *m, const tc_graph_choice *c, tc_error *err);
/* Seconds that a run takes for each byte of constants that it reads: 0 where the caches keep those of the whole network, or where
 * the model will not run on this machine. A kernel takes no less than that for all of its form's. */
double tc_graph_byte_time(const tc_graph_program *p, const tc_graph_build_options *o);
/* The model's program, or one that differs from it in its launches: those that need not wait for each other are in branches
 * (branches.c). It lives as long as the model. */
const tc_graph_program *tc_graph_side_by_side(const tc_graph_model *m, tc_graph_branches which);
/* Keeps in bf16 what all its readers round, once all tasks are lowered (narrow.c). */
void tc_graph_narrow(tc_graph_model *m);
/* Chooses form and schedule of a task and lowers it. */
tc_status tc_graph_choose_schedule(const tc_graph_program *p, int task, const tc_graph_build_options *o, const tc_machine *m,
                                   double byte_time, tc_graph_model *model, tc_error *err);
/* Of a task that has no record of its own here: which records of it o leaves out, into its kernel (unused.c). */
TC_NODISCARD tc_status tc_graph_find_obstacle(const tc_graph_program *p, int task, const tc_graph_build_options *o,
                                              tc_graph_model *m, tc_error *err);
/* Of a task whose record is used: whether a faster record is of a form that mixes rows, into its kernel. Nothing unless o's
 * accuracy is `default`. */
TC_NODISCARD tc_status tc_graph_find_faster_form(const tc_graph_program *p, int task, const tc_graph_build_options *o,
                                                 tc_graph_model *m, tc_error *err);
/* The lowered programs of all tasks as the text of file `path`, into m->listing; text[] (one per task) gets where each is. TC_ENV
 * when the file's folder is not there. */
TC_NODISCARD tc_status tc_graph_list_programs(tc_graph_model *m, const char *path, tc_cg_text *text, tc_error *err);
/* Lists and places the constants that the launches read, each once in every layout, and fills steps' operands. Packs them for
 * runs in this process where `fill` says so; use_up: then the program's own copies that no kernel reads lose their content. */
TC_NODISCARD tc_status tc_graph_place_constants(tc_graph_model *m, bool fill, bool use_up, tc_error *err);
/* All blocks, each padded to the alignment, to f: those that are not filled are packed one at a time. */
TC_NODISCARD tc_status tc_graph_write_constants(const tc_graph_model *m, FILE *f, tc_error *err);
void tc_graph_free_constants(tc_graph_model *m);

/* ---- one run (exec.c) ---- */

/* The context of runs without another, which the first makes. */
TC_NODISCARD tc_status tc_graph_model_own(tc_graph_model *m, tc_graph_context **c, tc_error *err);
/* Checks the inputs. `given` (NULL: none): memory of the caller for the outputs that are shown; it is used where it is aligned.
 * The arrays of *p are the context's, and one run is open at a time. */
TC_NODISCARD tc_status tc_graph_open_run(tc_graph_context *c, const tc_graph_tensor *in, const tc_graph_tensor *given,
                                         tc_graph_pointers *p, tc_error *err);
/* keep_outputs: those that are shown are the caller's now. */
void tc_graph_close_run(const tc_graph_model *m, tc_graph_pointers *p, bool keep_outputs);
/* Who is told of a run. Its steps then are done one after the other, those of branches each on one thread as in other runs. */
typedef struct tc_graph_watch {
    void (*step)(void *user, int step, double begin, double end); /* that it was done; of libraries without those that decide */
    void *user;
    const tc_rt *rt; /* its parallel_for and impl run parallel loops; NULL: the model's own do */
} tc_graph_watch;
/* watch: NULL, nobody: then nothing is timed. */
TC_NODISCARD tc_status tc_graph_run_once(tc_graph_context *c, const void *const *in, void *const *out,
                                         const tc_graph_watch *watch, tc_error *err);
/* Aligned memory, zeroed; NULL, with a message of TC_ENV, when there is none. Release with free. */
void *tc_graph_aligned_alloc(int64_t bytes, tc_error *err);
/* The same, of which no more is taken from the system than is used. */
void *tc_graph_untouched_alloc(int64_t bytes, tc_error *err);

#endif
