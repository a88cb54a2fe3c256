/* src/api owns the public API (include/tctune) on top of all folders below: handles, structs that grow, and the checks of callers'
 * arguments; its subfolder api/sides finds schedules and records by name. Not here: anything that a program could not call.
 *
 * This header has what all functions of the API share. A function that may fail wraps the working function in a call
 * (api_begin):
 *
 *     API_CALL(err, error, error_size, do_it(..., &err), undo_it(...)); */
#ifndef TC_API_API_INT_H
#define TC_API_API_INT_H

#include <stdatomic.h>
#include <stdlib.h>

#include "graph/work/work.h"
#include "report/report.h"
#include "support/system/memory.h"
#include "support/system/ulimit.h"
#include "tctune/tctune.h"

/* ---- calls ---- */

/* The public outcome of an internal outcome. The message of a failure goes to the caller's buffer. */
tctune_status api_answer(tc_status s, const tc_error *e, char *error, size_t size);

/* A call that may write files. */
static inline tc_status api_begin(tc_error *err) {
    tc_status s = tc_memory_begin(err);
    if (s == TC_OK)
        tc_writes_begin();
    return s;
}

static inline tc_status api_end(tc_status s, tc_error *err) {
    tc_writes_end();
    return tc_memory_end(s, err);
}

/* Returns the outcome of `work`, an expression of tc_status that runs within a call of the library. If `work` fails or memory runs
 * out, `undo` releases its results. */
#define API_CALL_BY(begin, end, err, error, size, work, undo)                                                                    \
    do {                                                                                                                         \
        tc_error err = {0};                                                                                                      \
        tc_status api_s_ = begin(&err);                                                                                          \
        if (api_s_ == TC_OK) {                                                                                                   \
            api_s_ = end(work, &err);                                                                                            \
            if (api_s_ != TC_OK) {                                                                                               \
                undo;                                                                                                            \
            }                                                                                                                    \
        }                                                                                                                        \
        return api_answer(api_s_, &err, error, size);                                                                            \
    } while (0)
#define API_CALL(err, error, size, work, undo) API_CALL_BY(api_begin, api_end, err, error, size, work, undo)
/* The same for a run of a model, which writes no files and may be over in a fraction of a microsecond. */
#define API_RUN(err, error, size, work) API_CALL_BY(tc_memory_begin, tc_memory_end, err, error, size, work, (void)0)

/* The same for work that makes a document, the caller's *json. */
#define API_DOCUMENT(err, error, size, json, work)                                                                               \
    do {                                                                                                                         \
        *(json) = NULL;                                                                                                          \
        API_CALL(err, error, size, work, (free(*(json)), *(json) = NULL));                                                       \
    } while (0)

/* ---- structs of the caller's, which may be older or newer than this library ---- */

/* Copies options whose first field is struct_size into `own`, of `size` bytes; what the caller does not know is zero. NULL: all
 * zero. */
TC_NODISCARD tc_status api_options(void *own, size_t size, const void *given, const char *name, tc_error *err);
#define API_OPTIONS(own, given, err) api_options(&(own), sizeof(own), given, #own, err)
/* Fills the part of the caller's struct that the caller has room for; struct_size stays unchanged. */
TC_NODISCARD tc_status api_fill(void *given, const void *own, size_t size, const char *name, tc_error *err);
#define API_FILL(given, own, err) api_fill(given, &(own), sizeof(own), #given, err)

/* ---- what options have in common ---- */

/* target NULL: this machine. threads 0: every core, or the number in the target. A number that could not be started now is
 * refused. */
TC_NODISCARD tc_status api_target(const char *target, int threads, tc_target **out, tc_error *err);
/* Refuses a number of threads that cannot be started now. Warns if there are fewer cores than threads. */
TC_NODISCARD tc_status api_threads_here(int threads, tc_error *err);
/* The same for a target that must run here: its threads must be started here. */
TC_NODISCARD tc_status api_target_here(const char *target, int threads, tc_target **out, tc_error *err);
/* NULL: "fast", "f32". */
TC_NODISCARD tc_status api_accuracy(const char *accuracy, const char *precision, tc_accuracy *out, tc_error *err);
/* The graph passes that run; dump: as in tctune_work_options. */
TC_NODISCARD tc_status api_passes(tctune_level level, const char *const *without, const char *dump, int times,
                                  tc_graph_pass_options *out, tc_error *err);
/* Converts a tolerance of a caller: 0 selects the tolerance of the type, a negative value tolerates no difference. Inside the
 * library the meanings of 0 and negative values are exchanged. */
double api_tolerance(double given);
size_t api_length(const char *const *texts); /* of a NULL-terminated array; NULL: 0 */
/* Checks the form of fixed_inputs. */
TC_NODISCARD tc_status api_fixed_inputs(const char *const *texts, tc_error *err);

/* Reads the sizes in `at` ("N=17" ..., NULL-terminated), one for each symbol of w, into `a`. *out NULL: `at` gives none. */
TC_NODISCARD tc_status api_task_sizes(const char *const *at, const tc_workload *w, tc_arena *a, const int64_t **out,
                                      tc_error *err);
/* The same for a network. tc_graph_size_rules_complete chooses the other sizes. */
TC_NODISCARD tc_status api_model_sizes(const char *const *at, const tc_graph_size_rules *r, tc_arena *a, const int64_t **out,
                                       tc_error *err);

/* Runs a call that a flag of the caller (may be NULL) may stop. If the call fails for that reason, it returns TCTUNE_STOPPED. */
tctune_status api_unless_stopped(tctune_status s, const volatile int *stop);

/* Finds tctune-worker beside the library, once. */
void api_find_worker(void);

/* ---- handles ---- */

/* Models and schedules keep their work. */
struct tctune_work {
    tc_graph_work *w;
    atomic_int holders;
    const tctune_task *tasks;
    tc_arena *arena; /* of the tasks */
};
tctune_work *api_work_hold(tctune_work *w);
TC_NODISCARD tc_status api_check_task(const tctune_work *w, int i, tc_error *err);

struct tctune_database {
    tc_meas_db *db;
    int holders; /* the caller, and each call that calls back: a callback may close the database */
};

struct tctune_records {
    tc_arena *arena;
    tc_meas_records list;
};
/* A list of one record. */
tctune_records *api_records_of(const tc_record *r);

#endif
