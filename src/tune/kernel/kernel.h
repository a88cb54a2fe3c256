/* src/tune/kernel owns one kernel: its schedule, its stages as text, how it is timed, its time, two kernels in turns;
 * of a kernel with symbols, its variants and the sizes they serve. Not here: searches (src/tune). */
#ifndef TC_TUNE_KERNEL_H
#define TC_TUNE_KERNEL_H

#include <signal.h>

#include "measure/machine/drift.h"
#include "measure/machine/peak.h"
#include "tune/kernel/mode.h"
#include "tune/kernel/schedule.h"

typedef struct tc_tune_kernel_options {
    const tc_target *target; /* its cores are the threads of the kernel */
    tc_tune_timing timing;
    int repeats; /* 0: TC_TUNE_REPEATS */
    uint64_t seed;
    const volatile sig_atomic_t *stop;     /* may be NULL */
    const struct tc_meas_carrier *carrier; /* as in tc_meas_options */
    void *carried_by;
    double network; /* bytes of constants that a run of the network reads of which the kernel is; 0: it stands alone */
} tc_tune_kernel_options;
enum { TC_TUNE_REPEATS = 30 };

/* What a kernel takes, beside what the machine can do. */
typedef struct tc_tune_kernel_bench {
    tc_record record;         /* how the timing ended; what follows is only known where that is without an error */
    tc_meas_peak peak;        /* the larger of before and after */
    tc_meas_unrest unrest;    /* before and after */
    const tc_intrinsic *unit; /* the fastest that its sums can take; NULL: none */
    tc_meas_stream stream;    /* at the footprint of the kernel: what it reads and writes */
    double constants;         /* bytes that came from memory in each call, timed cold */
} tc_tune_kernel_bench;

/* Times the schedule s of w, which is at s->sizes where it has some, in the isolated process that tuning uses. Where the mode is
 * left open, as tuning times the kernel, or as the record that s is of was timed if that was cold. An error: it could not be
 * tried, or was stopped. Results are in `a`. */
TC_NODISCARD tc_status tc_tune_kernel_measure(const tc_workload *w, const tc_tune_schedule *s, const tc_tune_kernel_options *o,
                                              tc_arena *a, tc_tune_kernel_bench *out, tc_error *err);

/* A kernel at the sizes that it is timed at, and its schedule. */
typedef struct tc_tune_timed {
    const tc_workload *workload;
    const tc_tune_schedule *schedule;
} tc_tune_timed;

/* The same of n of them, by the carrier, which may have several machines. What each machine can do is not measured: out[i].peak
 * and the rates of out[i].stream stay 0. An error: nobody could try, or it was stopped before all were. */
TC_NODISCARD tc_status tc_tune_kernels_measure(const tc_tune_timed *k, size_t n, const tc_tune_kernel_options *o, tc_arena *a,
                                               tc_tune_kernel_bench *out, tc_error *err);

/* The timing alone, in *out. */
TC_NODISCARD tc_status tc_tune_kernel_time(const tc_workload *w, const tc_tune_schedule *s, const tc_tune_kernel_options *o,
                                           tc_arena *a, tc_record *out, tc_error *err);

/* Times the schedule s of w, which is of a file and in canonical names, and stores it in db as tuning does with what it finds. An
 * error, and nothing stored, unless its result was right. *best: seconds of the best record there was before; INFINITY: none. */
TC_NODISCARD tc_status tc_tune_kernel_record(const tc_workload *w, const tc_tune_schedule *s, const tc_tune_kernel_options *o,
                                             tc_meas_db *db, tc_arena *a, tc_record *out, double *best, tc_error *err);

/* Why a fleet that nobody stopped left something unmeasured: workers vanished with it. */
extern const char tc_tune_vanished[];

/* A record of the database file `db` failed when it was run again, as `now` says: notes that there, unless it is of another
 * target or number of threads, where its trace is another program. What became of it, as part of a sentence in `a`: "" where the
 * failure does not disprove the record. A database that cannot be written to stays as it is. */
const char *tc_tune_note_failure(const char *db, const tc_record *record, const tc_record *now, tc_arena *a);

#endif
