/* src/measure owns the measuring of candidates: in batches, in turns, by processes or by computed times; other
 * libraries beside them; the best records measured again (rerun.h). Not here: the choice of candidates (src/tune) and
 * the processes (src/measure/process).
 *
 * Builders (one process per core) turn texts into code. One runner process loads and times it: alone on the machine, or
 * beside builders on other cores where these disturb nothing. Whatever a candidate does ends as a record with an error
 * kind; a call returns an error only when measuring itself is impossible. Every wait is bounded, and all stop within
 * about 0.1 s of the stop flag. A limit counts the time in which a process could run (process.h): no candidate is late
 * because somebody suspended it or the tuner. */
#ifndef TC_MEASURE_MEASURE_H
#define TC_MEASURE_MEASURE_H

#include <signal.h>

#include "measure/machine/drift.h"
#include "measure/records/record.h"
#include "support/status.h"

/* Zero means the default for every field but `target`. Strings are copied. */
typedef struct tc_meas_options {
    const char *target;     /* text of the target; must be able to run here */
    int threads;            /* of the measured kernels; 0: one per core */
    tc_meas_mode mode;      /* how candidates are timed, unless they say cold themselves */
    int builders;           /* processes; 0: one per core */
    int beside;             /* of them that work while a candidate of a batch runs: 0: those that have a core of their own, where
                                        * that is measured to disturb nothing; negative: none */
    const char *exe;        /* executable that has tc_meas_worker_main; NULL: as tc_meas_worker_use says */
    const char *worker_arg; /* its hidden subcommand; NULL: "worker" */
    double build_limit;     /* seconds per candidate; 15 */
    double run_limit;       /* seconds per candidate, all calls; 10 */
    double prepare_limit;   /* seconds for inputs and reference of a workload; 120 */
    uint64_t memory_limit;  /* bytes of all processes together; three quarters of the machine's */
    int samples;            /* timings of a good candidate; 7 */
    double min_sample;      /* seconds each lasts at least; 0.002 */
    double budget;          /* seconds of sampling per candidate; 0.5 */
    double early_stop;      /* times the best so far at which a candidate is given up; 2. Negative: never */
    bool counters;          /* processes that run candidates can count, for inputs with `counts` */
    bool no_verify;         /* measures only: such records are never verified */
    uint64_t seed;          /* of the inputs */
    double deadline;        /* tc_now() after which no further candidate is begun; 0: none */
    double peak_gflops;     /* of multiply-adds where candidates run, the highest known; 0: none is */
    const volatile sig_atomic_t *stop; /* may be NULL */
    /* Who carries jobs (carrier.h), with what it is given; NULL: processes of this machine, or the computation of times, by
     * `mode`. Both outlive what is measured by them. */
    const struct tc_meas_carrier *carrier;
    void *carried_by;
    /* Who builds for the runner of this machine; NULL: processes beside it. Both outlive what is measured by them. */
    const struct tc_meas_supplier *supplier;
    void *supplied_by;
    bool only_build; /* nothing is measured (tc_meas_build): the target may be one that does not run here */
} tc_meas_options;

/* One candidate. `workload` is the canonical text; workload_hash its tc_te_hash. */
typedef struct tc_meas_input {
    const char *workload, *trace;
    tc_digest workload_hash;
    double best; /* seconds of the best known record of the task; 0: none. Those of the same workload that were measured before
                  * it in the same batch count too */
    bool again;  /* measured even if an equal program was before */
    /* Operations that a call makes at least, in multiply-adds of f32: tc_te_products over tc_te_unit_gain. A time that would need
     * more than the peak is taken again. A time that would need many times the peak is not believed. 0: not known */
    double work;
    bool cold;   /* timed cold where the options say hot */
    int samples; /* 0: as in the options */
    /* Of a workload with symbols: the sizes to time it at, as records have them; NULL where it has none. */
    const char *sizes;
    /* Experiments: one whose `without` or `denormal` is not 0 is measured for its time alone. Its result is not checked, it is
     * raced against nothing (but `best`, if given), and its record is none to keep: tc_record.experiment, which no database
     * takes. Only processes of this machine measure such inputs, or one with `shares` or `counts`: with any other carrier a call
     * that has one among its inputs is TC_BAD_INPUT. */
    /* Parts that are left out of the program (tir_lower/program/ablate.h), a bit each; ILLEGAL where it has none of one of them,
     * with a message that says so. 0: the program as it is */
    unsigned without;
    double denormal; /* share of the values of its float inputs, constants among them, that are denormal numbers, in [0, 1] */
    bool shares;     /* what its threads' time goes to is wanted too: tc_record.shares */
    bool counts;     /* what the processor counts is: tc_record.counts, which is not `asked` without tc_meas_options.counters */
} tc_meas_input;

typedef struct tc_meas tc_meas;

/* Starts nothing yet. TC_BAD_INPUT for a target that cannot run here, TC_ENV where the machine has no clock to time it by. */
TC_NODISCARD tc_status tc_meas_new(const tc_meas_options *o, tc_meas **out, tc_error *err);
void tc_meas_free(tc_meas *m); /* ends all processes */

/* Called after each candidate, in the order they end; may be NULL. */
typedef void tc_meas_progress(void *user, size_t index, const tc_record *r);

/* out[i] becomes the record of inputs[i], in `arena`. Candidates that a stop left unmeasured are INTERRUPTED. TC_ENV when no
 * worker can be started at all; every out[i] is a valid record then too. */
TC_NODISCARD tc_status tc_meas_batch(tc_meas *m, const tc_meas_input *inputs, size_t n, tc_arena *arena, tc_record *out,
                                     tc_meas_progress *progress, void *user, tc_error *err);
/* The same in two steps, so that the next batch can be thought of while this one is measured: what it is given has to live until
 * it is ended. Candidates are reported while this batch, or another one that is under way, is begun, tended or ended. Any number
 * may be; they are ended in any order. */
typedef struct tc_meas_flight tc_meas_flight;
TC_NODISCARD tc_status tc_meas_begin(tc_meas *m, const tc_meas_input *inputs, size_t n, tc_arena *arena, tc_record *out,
                                     tc_meas_progress *progress, void *user, tc_meas_flight **flight, tc_error *err);
TC_NODISCARD tc_status tc_meas_end(tc_meas_flight *f, tc_error *err);
/* Nobody waits for it any more: what was not reported is INTERRUPTED. NULL is fine. */
void tc_meas_abandon(tc_meas_flight *f);
/* What was begun is measured while the caller does something else: elsewhere. Otherwise nothing is before it is ended. */
bool tc_meas_overlaps(const tc_meas *m);
/* For a caller that does something else for long: what is under way goes on, and nothing is waited for. Cheap where nothing is to
 * be done. */
void tc_meas_tend(const tc_meas *m);
/* Candidates that should be under way beside those of the batch that is ended next, so that others who measure by the same
 * workers get no more than their share while the caller thinks; 0: any number. */
size_t tc_meas_appetite(const tc_meas *m);
/* One candidate with many samples, never stopped early: for reports and for the last word on a winner. */
TC_NODISCARD tc_status tc_meas_kernel_time(tc_meas *m, const tc_meas_input *input, int samples, tc_arena *arena, tc_record *out,
                                           tc_error *err);

/* What building a candidate came to. */
typedef struct tc_meas_made {
    tc_meas_error error; /* NONE: there is an object; INTERRUPTED: it was not built */
    const char *message;
    int signal; /* as in records, as is `program` */
    uint64_t program, workspace;
    double seconds;
    const void *object; /* which defines TC_MEAS_SYMBOL (process/protocol.h) */
    size_t size;
} tc_meas_made;

/* Builds candidates, and runs none: out[i] becomes what came of inputs[i], in `arena`. Those that a stop left are INTERRUPTED.
 * TC_ENV as of batches. Not of what is measured elsewhere. */
TC_NODISCARD tc_status tc_meas_build(tc_meas *m, const tc_meas_input *inputs, size_t n, tc_arena *arena, tc_meas_made *out,
                                     tc_error *err);

/* Who builds in place of this machine's processes, which then only run what comes. It is believed as little as they are. */
typedef struct tc_meas_supplier {
    /* Has n inputs built for the target and the threads of the options: out[i], in `a`, becomes what came of in[i]. A stop leaves
     * some INTERRUPTED. An error: nothing can be had now, and nothing is recorded. */
    tc_status (*supply)(void *user, const tc_meas_options *o, const tc_meas_input *const *in, size_t n, tc_arena *a,
                        tc_meas_made *out, tc_error *err);
} tc_meas_supplier;

/* Something else that is timed in the same turns as candidates. `turn` runs it; *seconds: of one call. */
typedef struct tc_meas_guest {
    tc_status (*turn)(void *user, double *seconds, tc_error *err);
    void *user;
} tc_meas_guest;

/* Candidates in turns, for comparing them: each is built once and then run `rounds` times, in alternating order, so that whatever
 * the machine does meanwhile is done to all alike. seconds[i * rounds + r] becomes the median of candidate i's samples in round
 * r; the guest (may be NULL) is number n. *done is the number of whole rounds, less than asked for when the stop flag was raised.
 * Every run is loaded anew and verified. out[i] is the record over all rounds, its times being the rounds' medians; a candidate
 * that fails ends it all, with the reason in its record. */
TC_NODISCARD tc_status tc_meas_interleave(tc_meas *m, const tc_meas_input *inputs, size_t n, const tc_meas_guest *guest,
                                          int rounds, tc_arena *arena, tc_record *out, double *seconds, int *done, tc_error *err);

/* Programs of one workload with symbols at several sizes. Each is built once, then run in turns with the others at one size after
 * the other, `rounds` times; one that is clearly slower there than the best, as in a batch, is out after two. out[i * npoint + p]
 * becomes the record of programs[i] at sizes[p], its times being the medians of its runs there. A program that is not built, or
 * goes wrong or hangs at some size, fails at all that follow: it will not be used. `progress`, with the record's index, after
 * each. */
TC_NODISCARD tc_status tc_meas_over_sizes(tc_meas *m, const tc_meas_input *programs, size_t n, const char *const *sizes,
                                          size_t npoint, int rounds, tc_arena *arena, tc_record *out, tc_meas_progress *progress,
                                          void *user, tc_error *err);

/* Is the machine quiet? While it is not, candidates get more repeats and are given up less soon. */
tc_meas_calm tc_meas_get_calm(const tc_meas *m);
/* Since the start, a moment for each run of a candidate. */
tc_meas_unrest tc_meas_get_unrest(const tc_meas *m);
/* How slow the machine was beside a measurement with that reference (tc_record.reference): times as long as the shortest so far.
 * At least 1, also where it is not known. */
double tc_meas_slowdown(const tc_meas *m, double reference);
void tc_meas_set_deadline(tc_meas *m, double deadline); /* as in the options */
int tc_meas_threads(const tc_meas *m);
/* GFLOP/s of multiply-adds where the candidates run, on as many threads: the highest known, after one more measurement that takes
 * about `seconds` (0: none). 0: their times are computed, or none is known. */
double tc_meas_peak_known(tc_meas *m, double seconds);
/* Sums since the start, for reports: seconds spent building (wall), running (wall), and restarts of processes after a death. */
typedef struct tc_meas_stats {
    double build_seconds, run_seconds;
    size_t built, ran, restarts;
} tc_meas_stats;
tc_meas_stats tc_meas_get_stats(const tc_meas *m);

#endif
