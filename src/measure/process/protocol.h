/* The protocol between the tuner and its worker processes: frames of a type and a payload; payloads of numbers and byte
 * strings. Both ends are the same executable on the same machine, so numbers travel in host order. A reader trusts nothing: a
 * frame or a field that is cut short, too long or unknown is an error of that worker, never of the tuner. */
#ifndef TC_MEASURE_PROCESS_PROTOCOL_H
#define TC_MEASURE_PROCESS_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/records/record.h"
#include "support/arena.h"
#include "support/inputs.h"
#include "support/status.h"
#include "support/strbuf.h"

enum {
    TC_MEAS_PROTOCOL = 6,                   /* sent in READY; both ends must agree */
    TC_MEAS_MAX_PAYLOAD = TC_BYTES_REQUEST, /* larger frames are damage */
    TC_MEAS_FRAME_MAGIC = 0x314d4354
};

/* The name of a candidate's code in its object. */
#define TC_MEAS_SYMBOL "tctune_kernel"

/* In the environment of a worker, with the value 1: it opens counters (measure/machine/counters.h), before its sandbox is
 * closed. */
#define TC_MEAS_WORKER_COUNTERS "TCTUNE_WORKER_COUNTERS"
/* And of one that only runs what others compiled, so that it opens no compiler. */
#define TC_MEAS_WORKER_RUNS "TCTUNE_WORKER_RUNS"

/* MSG(id, text, most): frame types, and the bytes that an answer may have; 0: none, it is a request. Requests and their answers. */
#define TC_MEAS_MESSAGES(MSG)                                                                                                    \
    MSG(READY, "ready", 4096)            /* worker: after start: protocol, LLVM version, what its sandbox lacks */               \
    MSG(BUILD, "build", 0)               /* tuner: workload, trace, target, threads, parts left out */                           \
    MSG(BUILT, "built", TC_BYTES_ANSWER) /* worker: error, message, program hash, seconds, workspace bytes, object */            \
    MSG(PREPARE, "prepare", 0)           /* tuner: workload, sizes, seed, denormal: inputs and reference, kept for RUN */        \
    MSG(PREPARED, "prepared", 65536)     /* worker: error, message */                                                            \
    MSG(RUN, "run", 0)                   /* tuner: workload, sizes, seed, denormal, trace, target, object, workspace, timing */  \
    MSG(RAN, "ran",                                                                                                              \
        1 << 20) /* worker: error, message, times, verified, deviation, stopped early, seconds, reference, shares, counts */

typedef enum tc_meas_msg {
#define MSG(id, text, most) TC_MEAS_MSG_##id,
    TC_MEAS_MESSAGES(MSG)
#undef MSG
        TC_MEAS_NMSGS
} tc_meas_msg;

const char *tc_meas_msg_text(tc_meas_msg m);

typedef struct tc_meas_frame {
    uint32_t magic, type;
    uint64_t size; /* of the payload that follows */
} tc_meas_frame;

/* ---- payloads ---- */

/* Writing appends to a buffer (which may then hold NUL bytes). */
void tc_meas_put_u64(tc_strbuf *b, uint64_t v);
void tc_meas_put_f64(tc_strbuf *b, double v);
void tc_meas_put_bytes(tc_strbuf *b, const void *p, size_t n);
void tc_meas_put_text(tc_strbuf *b, const char *s);

/* Reading past the end gives zeros and sets `bad`, which is checked once at the end. */
typedef struct tc_meas_reader {
    const char *p, *end;
    bool bad;
} tc_meas_reader;

tc_meas_reader tc_meas_reader_of(const void *payload, size_t n);
uint64_t tc_meas_get_u64(tc_meas_reader *r);
double tc_meas_get_f64(tc_meas_reader *r);
/* Points into the payload. */
const void *tc_meas_get_bytes(tc_meas_reader *r, size_t *n);
/* A NUL-terminated copy in `a`; bad if the bytes hold a NUL. */
const char *tc_meas_get_text(tc_meas_reader *r, tc_arena *a);
/* True when everything was there and nothing is left over. */
bool tc_meas_reader_done(const tc_meas_reader *r);

/* How to time; travels in RUN. */
typedef struct tc_meas_timing {
    int threads;
    int samples;       /* of a candidate that may win */
    double min_sample; /* seconds that one sample takes at least: more calls are averaged when a call is shorter */
    double budget;     /* seconds of sampling after which no further sample is started */
    double best;       /* seconds per call of the best so far; 0: none, nothing is stopped early */
    double early_stop; /* a candidate slower than this many times `best` in its first calls is stopped; 0: never */
    double doubt;      /* 1 on a quiet machine; larger: a candidate must be that much more clearly slower before it is stopped */
    tc_meas_mode mode;
    bool verify;
    bool shares; /* what the threads' time goes to is wanted too */
    bool counts; /* and what the processor counts, of a runner that was started for it */
} tc_meas_timing;
void tc_meas_put_timing(tc_strbuf *b, const tc_meas_timing *t);
tc_meas_timing tc_meas_get_timing(tc_meas_reader *r);
/* At the end of RAN. */
void tc_meas_put_shares(tc_strbuf *b, const tc_meas_shares *s);
void tc_meas_put_counts(tc_strbuf *b, const tc_meas_counted *c);

/* ---- answers (the tuner's side) ----
 *
 * A kernel shares its process with the worker that answers, so an answer may say anything. These are what can be believed of one:
 * kinds of errors that there are, messages that can be shown and stored, times and other numbers that something can have. False:
 * it is malformed. Texts are in `a`, bytes in the payload. */

typedef struct tc_meas_built {
    tc_meas_error error;
    const char *message;
    uint64_t program, workspace;
    double seconds;
    const void *object;
    size_t size;
} tc_meas_built;
bool tc_meas_get_built(const void *payload, size_t n, tc_arena *a, tc_meas_built *out);

bool tc_meas_get_prepared(const void *payload, size_t n, tc_arena *a, tc_meas_error *error, const char **message);

typedef struct tc_meas_ran {
    tc_meas_error error;
    const char *message;
    const double *times; /* in `a`; some where there is no error */
    size_t ntimes;
    bool verified, stopped_early;
    double max_error, seconds, reference;
    tc_meas_shares shares; /* each between 0 and 1; all 0 where nobody asked */
    tc_meas_counted counts;
} tc_meas_ran;
bool tc_meas_get_ran(const void *payload, size_t n, tc_arena *a, tc_meas_ran *out);

/* ---- frames on a blocking descriptor (the worker's side) ---- */

TC_NODISCARD tc_status tc_meas_write_frame(int fd, tc_meas_msg type, const void *payload, size_t n, tc_error *err);
/* *payload is malloc'ed. *eof true, with TC_OK: the other side closed between frames. */
TC_NODISCARD tc_status tc_meas_read_frame(int fd, tc_meas_msg *type, char **payload, size_t *n, bool *eof, tc_error *err);
/* TC_ENV unless the header is one of ours, and that of an answer where one is expected. */
TC_NODISCARD tc_status tc_meas_check_frame(const tc_meas_frame *f, bool answer, tc_error *err);

#endif
