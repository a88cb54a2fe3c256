/* Finds the schedules, records and other libraries that a caller names. For each it finds the kernel, its sizes, how to time it,
 * and the program that it becomes. compare.c and explain.c begin here. */
#ifndef TC_API_SIDES_SIDE_H
#define TC_API_SIDES_SIDE_H

#include "api/api_int.h"
#include "measure/peer.h"

typedef enum api_side_kind { API_SIDE_DEFAULT, API_SIDE_BEST, API_SIDE_FILE, API_SIDE_RECORD, API_SIDE_PEER } api_side_kind;

typedef struct api_side {
    const char *spec; /* as given */
    api_side_kind kind;
    int64_t id;     /* RECORD */
    const char *db; /* RECORD: its file */
    tc_record record;
    tc_tune_schedule k; /* not of a peer; workload and trace are canonical */
    /* The same for people: a file's schedule as it was written. After api_side_make other schedules use the kernel's own names if
     * possible. `made` has these names too. */
    tc_tune_schedule own;
    const char *origin; /* of the schedule or the library, for people */
    tc_tune_side made;
    tc_meas_peer *peer;
} api_side;

/* One or two of them, and the kernel. */
typedef struct api_sides {
    const char *database;  /* of "best", and of records that name none; NULL: none */
    const char *const *at; /* sizes, as options have them */
    int threads;           /* 0: not given */
    tc_tune_timing asked;
    const volatile sig_atomic_t *stop;
    int n;
    api_side side[2];
    tc_target *target;
    tc_ctx *ctx;
    tc_arena *arena;
    const tc_workload *w;
    const int64_t *sizes;     /* of its symbols; NULL: it has none */
    const tc_workload *timed; /* w at these sizes */
    tc_digest hash;
    const char *kernel; /* its name, or its hash */
    tc_meas_mode mode;
} api_sides;

/* Finds the side that `spec` names; `what` is the text in messages for the possible sides. Opens nothing, but checks whether a file
 * exists. */
TC_NODISCARD tc_status api_side_read(const api_sides *c, const char *spec, const char *what, api_side *out, tc_error *err);
/* The first that is a record; NULL: none is. */
const api_side *api_sides_record(const api_sides *c);
/* Loads those that are records. Needs arena. */
TC_NODISCARD tc_status api_sides_load(api_sides *c, tc_error *err);
/* The number of threads: the number that the caller gave, else the number of the first record; 0: one per core. */
int api_sides_threads(const api_sides *c);
/* Finds the kernel (of the task, else of a record), its sizes and its mode. Needs records, arena, ctx and target. */
TC_NODISCARD tc_status api_sides_find(const tctune_work *w, int task, api_sides *c, tc_error *err);
/* Makes a side: its schedule and program, or the library, which is opened. */
TC_NODISCARD tc_status api_side_make(const api_sides *c, api_side *s, tc_error *err);
/* The same without its program. */
TC_NODISCARD tc_status api_side_schedule(const api_sides *c, api_side *s, tc_error *err);
void api_sides_free(api_sides *c); /* arena, ctx, target and sides */

#endif
