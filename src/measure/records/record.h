/* src/measure/records owns records, the kinds of error that measuring can end with, and the SQLite database of records:
 * what is believed of foreign ones (check.h, database_guard.c, database_fits.c), which record is used (choose.c),
 * exchange, upkeep and audit. Not here: how a record is measured (src/measure).
 *
 * A record is one measured candidate, with everything needed to read it without its model. It round-trips as a JSON
 * line: parse(print(r)) == r. Strings and timings belong to the arena that the record was made in. */
#ifndef TC_MEASURE_RECORD_H
#define TC_MEASURE_RECORD_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/arena.h"
#include "support/hash.h"
#include "support/strbuf.h"

typedef enum tc_meas_error {
#define ERR(id, text, meaning, traits) TC_MEAS_##id,
#include "measure/records/errors.def"
#undef ERR
    TC_MEAS_NERRORS
} tc_meas_error;

const char *tc_meas_error_text(tc_meas_error e);    /* "run_timeout": the stored name */
const char *tc_meas_error_meaning(tc_meas_error e); /* a phrase for messages */
bool tc_meas_error_parse(const char *text, tc_meas_error *out);

/* What errors.def says of a kind. */
enum tc_meas_error_trait {
    TC_MEAS_REFUSED = 1,
    TC_MEAS_ITS_OWN = 2,
    TC_MEAS_DISPROVES = 4,
    TC_MEAS_RAN = 8,
    TC_MEAS_MUTE = 16,
    TC_MEAS_UNRELIABLE = 32,
    TC_MEAS_UNSETTLED = 64
};
bool tc_meas_error_is(tc_meas_error e, enum tc_meas_error_trait trait);

typedef enum tc_meas_mode {
#define MODE(id, text) TC_MEAS_##id,
#include "measure/records/modes.def"
#undef MODE
    TC_MEAS_NMODES
} tc_meas_mode;

const char *tc_meas_mode_text(tc_meas_mode m); /* "hot": the stored name */
bool tc_meas_mode_parse(const char *text, tc_meas_mode *out);
/* All of a search is measured in such a mode, or nothing of it: its times are no machine's, rank only among themselves, teach
 * nothing of others, and nothing is built from them. */
bool tc_meas_mode_is_apart(tc_meas_mode m);

/* What becomes of the time of all threads together during a call, as shares of it that sum up to 1: in bodies of parallel loops,
 * from a loop's start until a thread's body begins, from its end until the last thread's ends (all of the loop for a thread that
 * has nothing to do), and outside of parallel loops, where one thread runs and the others have nothing to do. All 0: not known. */
typedef struct tc_meas_shares {
    double work, fork, wait, alone;
    double loops; /* parallel loops of a call */
} tc_meas_shares;

/* COUNTER(id, text): what a processor, or the kernel for it, can count while code runs. */
#define TC_MEAS_COUNTERS(COUNTER)                                                                                                \
    COUNTER(CYCLES, "cycles")                                                                                                    \
    COUNTER(INSTRUCTIONS, "instructions")                                                                                        \
    COUNTER(STALLED, "stalled cycles")                                                                                           \
    COUNTER(L1_MISSES, "L1 data misses")                                                                                         \
    COUNTER(LAST_MISSES, "last-level misses")                                                                                    \
    COUNTER(TLB_MISSES, "data TLB misses")                                                                                       \
    COUNTER(TASK_CLOCK, "ns on a processor")                                                                                     \
    COUNTER(PAGE_FAULTS, "page faults")

typedef enum tc_meas_counter {
#define COUNTER(id, text) TC_COUNTER_##id,
    TC_MEAS_COUNTERS(COUNTER)
#undef COUNTER
        TC_MEAS_NCOUNTERS
} tc_meas_counter;
const char *tc_meas_counter_text(tc_meas_counter c);

/* What was counted of a call, in user mode, on all threads together: what those do that spin while they wait is part of it. */
typedef struct tc_meas_counted {
    bool asked; /* else nothing is known */
    double of_call[TC_MEAS_NCOUNTERS];
    int missing[TC_MEAS_NCOUNTERS]; /* errno that says why it was not counted; 0: it was */
} tc_meas_counted;

typedef struct tc_record {
    int64_t id;                            /* row in the database; 0 when it is in none */
    const char *workload, *target, *trace; /* canonical texts, never NULL */
    tc_digest workload_hash, target_hash, trace_hash;
    uint64_t program;    /* tc_tir_hash of the lowered program; 0 when lowering did not succeed */
    const double *times; /* seconds per call, in the order taken */
    size_t ntimes;
    double median;        /* seconds; INFINITY when there is no valid timing */
    double build_seconds; /* replay, lowering and code generation */
    double run_seconds;   /* load, inputs, check and all calls */
    tc_meas_error error;
    int signal;          /* of a crash, else 0 */
    const char *message; /* first reason, "" when there is none */
    bool verified;       /* the output was compared with the reference and agreed */
    double max_error;    /* largest deviation seen, in units of the tolerance; 0 when not compared */
    bool stopped_early;  /* clearly slower than the best: timed by one or two calls only */
    int threads;
    tc_meas_mode mode;
    int rounds; /* in turns with its rivals; 0: timed once, by itself, and the fastest of many such times owes some to luck */
    int64_t when_ms; /* Unix time, milliseconds */
    const char *tctune_version, *llvm_version, *host;
    /* Of a workload with symbols: their values when it was timed, in the workload's order, as "17,3" (tc_meas_sizes_text); "": it
     * has none. */
    const char *sizes;
    const char *job;   /* of a fleet that it was measured as: a database has one record of each; "": of none */
    const char *phase; /* of the search that proposed it, as tune/phases.def names them; "": not known */
    double predicted;  /* what the cost model made of it before it was measured, more being better; NAN: it was not asked */
    /* Measured by another machine just now: says nothing of what may run in this one's processes; stored nowhere */
    bool elsewhere;
    double scale; /* of a fleet: times of its worker are this often those on the fleet's common scale; 0: as 1. Stored nowhere */
    double reference; /* seconds of a fixed piece of work on all threads, taken beside it; 0: not known. Stored nowhere */
    double reading;   /* seconds that a call takes in a network at least (tc_meas_key); stored nowhere, 0 elsewhere */
    bool experiment;  /* not of the program and the data as they are (tc_meas_input.without, .denormal): no database takes it */
    tc_meas_shares shares;  /* where the input asked for them, else all 0; stored nowhere */
    tc_meas_counted counts; /* the same */
} tc_record;

/* Valid for ranking: measured without an error. Only a verified one may be applied. */
static inline bool tc_record_ok(const tc_record *r) {
    return r->error == TC_MEAS_NONE && r->ntimes > 0;
}

/* The fastest of its times; INFINITY: it has none. */
static inline double tc_record_fastest(const tc_record *r) {
    double fastest = INFINITY;
    for (size_t i = 0; i < r->ntimes; i++)
        fastest = fmin(fastest, r->times[i]);
    return fastest;
}

/* The median becomes one on the common scale; times stay what they are. Not of a record that is to be stored. */
static inline void tc_record_to_scale(tc_record *r) {
    if (r->scale > 0)
        r->median /= r->scale;
}

/* The time to rank by: one that was never taken in turns with its rivals must be that much better to be believed. What a call reads
 * from memory is on its way while it computes: the longer of both counts. Less is better. */
#define TC_MEAS_DOUBT 1.03
static inline double tc_record_rank(const tc_record *r) {
    double time = r->rounds > 0 ? r->median : r->median * TC_MEAS_DOUBT;
    return time > r->reading ? time : r->reading;
}

/* x is the one to use: those that were measured cold come before hot ones. What TC_MEAS_BY_RANK orders by, for records of
 * different workloads that compute the same. */
static inline bool tc_record_better(const tc_record *x, const tc_record *y) {
    bool cold = x->mode == TC_MEAS_COLD;
    return cold != (y->mode == TC_MEAS_COLD) ? cold : tc_record_rank(x) < tc_record_rank(y);
}

/* The text of n sizes, in `a`; "" of none. */
const char *tc_meas_sizes_text(tc_arena *a, const int64_t *sizes, int n);
int tc_meas_sizes_count(const char *text);
/* Reads exactly n; false: it is not the text of so many sizes. */
bool tc_meas_sizes_parse(const char *text, int64_t *sizes, int n);

/* All strings "", median INFINITY, nothing predicted. */
tc_record tc_meas_record_empty(void);
/* Copies the texts into `a` and hashes target and trace. `workload_hash` is tc_te_hash of the workload. */
void tc_meas_record_identify(tc_arena *a, tc_record *r, const char *workload, tc_digest workload_hash, const char *target,
                             const char *trace);
/* Everything `r` points to is copied to `a`. */
tc_record tc_meas_record_copy(tc_arena *a, const tc_record *r);
tc_digest tc_meas_text_hash(const char *text);                /* key of a target or a trace */
double tc_meas_median(const double *t, size_t n);             /* INFINITY for n == 0 */
double tc_meas_smallest(const double *t, size_t n, size_t k); /* number k of them in ascending order, from 0; k < n */
int64_t tc_meas_now_ms(void);                    /* Unix time, milliseconds; 0 where the clock was set to before that began */
#define TC_MEAS_LAST_MS INT64_C(253402300799999) /* the end of the year 9999: no record is dated later */

/* One JSON object without a newline; `id` is not part of it. */
void tc_meas_record_to_json(const tc_record *r, tc_strbuf *b);
/* `where` names the source in messages ("log.json:12"). The median is what the times say; what does not fit (check.h) is refused,
 * but for the workload, which is taken as it stands. */
TC_NODISCARD tc_status tc_meas_record_from_json(tc_arena *a, const char *where, const char *line, tc_record *r, tc_error *err);

#endif
