/* What all of the public API's functions share. A function that may fail is a call (tc_memory_begin) around what does the work:
 *
 *     API_CALL(err, error, error_size, do_it(..., &err), undo_it(...)); */
#ifndef TC_API_API_INT_H
#define TC_API_API_INT_H

#include <stdatomic.h>

#include "graph/work/work.h"
#include "support/system/memory.h"
#include "tctune/tctune.h"

/* ---- calls ---- */

/* What an internal outcome is outside; a failure's message goes to the caller's buffer. */
tctune_status api_answer(tc_status s, const tc_error *e, char *error, size_t size);

/* Returns the outcome of `work`, an expression of tc_status that is made within a call of the library. What it made is released by `undo`
 * where it failed, or where memory ran out. */
#define API_CALL(err, error, size, work, undo)                                                                                   \
    do {                                                                                                                         \
        tc_error err = {0};                                                                                                      \
        tc_status api_s_ = tc_memory_begin(&err);                                                                                \
        if (api_s_ == TC_OK) {                                                                                                   \
            api_s_ = tc_memory_end(work, &err);                                                                                  \
            if (api_s_ != TC_OK) {                                                                                               \
                undo;                                                                                                            \
            }                                                                                                                    \
        }                                                                                                                        \
        return api_answer(api_s_, &err, error, size);                                                                            \
    } while (0)

/* ---- structs of the caller's, which may be older or newer than this library ---- */

/* Copies options whose first field is struct_size into `own`, of `size` bytes; what the caller does not know is zero. NULL: all zero. */
TC_NODISCARD tc_status api_options(void *own, size_t size, const void *given, const char *name, tc_error *err);
#define API_OPTIONS(own, given, err) api_options(&(own), sizeof(own), given, #own, err)
/* Fills in as much of the caller's struct as it has room for; struct_size stays as it was. */
TC_NODISCARD tc_status api_fill(void *given, const void *own, size_t size, const char *name, tc_error *err);
#define API_FILL(given, own, err) api_fill(given, &(own), sizeof(own), #given, err)

/* ---- what options have in common ---- */

/* target NULL: this machine. threads 0: every core, or what the target has. */
TC_NODISCARD tc_status api_target(const char *target, int threads, tc_target **out, tc_error *err);
/* The same, but it must run here. */
TC_NODISCARD tc_status api_target_here(const char *target, int threads, tc_target **out, tc_error *err);
/* NULL: "fast", "f32". */
TC_NODISCARD tc_status api_accuracy(const char *accuracy, const char *precision, tc_accuracy *out, tc_error *err);
size_t api_length(const char *const *texts); /* of a NULL-terminated array; NULL: 0 */

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
};

struct tctune_records {
    tc_arena *arena;
    tc_meas_records list;
};
/* A list of one record. */
tctune_records *api_records_of(const tc_record *r);

#endif
