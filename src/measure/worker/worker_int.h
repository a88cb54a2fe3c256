/* Private to the worker, and the runner in it. */
#ifndef TC_MEASURE_WORKER_WORKER_INT_H
#define TC_MEASURE_WORKER_WORKER_INT_H

#include "codegen/target/target.h"
#include "measure/machine/counters.h"
#include "measure/process/protocol.h"
#include "measure/records/record.h"
#include "measure/worker/check.h"
#include "support/vec.h"
#include "tctune/runtime.h"
#include "tir_lower/tir.h"

/* Answers requests until there are no more, in this process as it is: no sandbox, no cache. For tests. TC_ENV: a request was
 * none. */
TC_NODISCARD tc_status tc_meas_worker_answer(int fd_in, int fd_out, tc_error *err);

/* Memory that ends at a page which cannot be touched: a kernel that reads or writes past its end dies at once instead of spoiling
 * others. */
typedef struct tc_meas_region {
    void *map, *data; /* data is aligned to 64 bytes and ends (but for that alignment) at the guard page */
    size_t map_size, size;
} tc_meas_region;
TC_NODISCARD tc_status tc_meas_region_new(size_t size, tc_meas_region *out, tc_error *err);
void tc_meas_region_protect(const tc_meas_region *r); /* read-only from here on */
void tc_meas_region_free(tc_meas_region *r);

/* Puts the bytes out of every cache (evict.c). */
void tc_meas_evict(const void *data, size_t size);

/* A workload without symbols, or at sizes of them, with its inputs, outputs and reference, kept between candidates. */
typedef struct tc_meas_data tc_meas_data;
/* A share of `denormal` of the float inputs is denormal numbers. TC_ENV when the memory or the reference cannot be had. Keeps w. */
TC_NODISCARD tc_status tc_meas_data_new(const tc_workload *w, uint64_t seed, double denormal, tc_meas_data **out, tc_error *err);
void tc_meas_data_free(tc_meas_data *d);

/* Private to data.c and runner.c, which runs candidates on it. */
enum { TC_MEAS_PACKED_KEPT = 8 }; /* packed constants kept per workload; candidates of one generation share few layouts */

typedef struct tc_meas_packed {
    char *key; /* parameter index, layout and size */
    tc_meas_region mem;
    uint64_t used;
} tc_meas_packed;

struct tc_meas_data {
    const tc_workload *w;
    tc_meas_region *in, *out;
    tc_meas_packed packed[TC_MEAS_PACKED_KEPT];
    uint64_t clock;
    tc_meas_check *check;
};

/* The arguments of f but its sizes: inputs, constants packed as it wants them, outputs. TC_ENV for want of memory. */
TC_NODISCARD tc_status tc_meas_data_arguments(tc_meas_data *d, const tc_func *f, void **args, tc_error *err);

/* What a candidate's run found. `message` lives in `arena`. */
typedef struct tc_meas_result {
    tc_meas_error error;
    const char *message;
    TC_VEC(double) times;
    bool verified, stopped_early;
    double max_error;
    double reference;       /* seconds that tc_meas_reference_work took on all threads, about when it was timed; 0: it was not */
    tc_meas_shares shares;  /* all 0: nobody asked */
    tc_meas_counted counts; /* not asked: nobody did, or the worker has none */
} tc_meas_result;

/* What the threads' time goes to while kernels run on a runtime that keeps count of it (tally.c). */
typedef struct tc_meas_tally {
    tc_rt inner;
    struct tc_meas_turn *turn; /* of each thread in the loop at hand */
    double work, fork, wait;   /* seconds of all threads */
    double loop_seconds;
    int64_t loops;
} tc_meas_tally;
/* `inner` that counts in *t, for one call at a time; both stay where they are. Memory in `a`. */
tc_rt tc_meas_tally_on(tc_meas_tally *t, const tc_rt *inner, tc_arena *a);
/* What became of `calls` calls that took `seconds` together. */
tc_meas_shares tc_meas_tally_shares(const tc_meas_tally *t, double seconds, int64_t calls);

/* What is run. */
typedef struct tc_meas_code {
    const tc_func *f;     /* the built function: says how constants are packed */
    const int64_t *sizes; /* of each of its symbols: those of the data */
    const void *object;   /* its code, under the symbol TC_MEAS_SYMBOL */
    size_t size, workspace;
    const tc_meas_counters *counters; /* NULL: the worker has none */
} tc_meas_code;
void tc_meas_run(tc_meas_data *d, const tc_meas_code *code, const tc_meas_timing *t, tc_arena *arena, tc_meas_result *out);

#endif
