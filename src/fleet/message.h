/* What a tuner and a worker of a fleet say to each other, as JSON documents: a job (texts, limits, how it is measured), its result (what
 * became of each candidate), and what a worker tells of itself. What is read comes from anybody whom the server lets in: each
 * field has limits, and a document is taken whole or refused (TC_BAD_INPUT, naming the field). */
#ifndef TC_FLEET_MESSAGE_H
#define TC_FLEET_MESSAGE_H

#include "measure/carrier.h"
#include "support/strbuf.h"

enum {
    TC_FLEET_VERSION = 1,      /* of the documents; a reader knows one */
    TC_FLEET_TEXT = 256 << 10, /* bytes of a workload, a trace, a target at most */
    TC_FLEET_NAME = 64,        /* of a word */
    TC_FLEET_MANY = 4096       /* candidates of a job, sizes of it, samples of a candidate, rounds */
};

/* Letters, digits, - and _: what names in subjects consist of, and files may be called. */
bool tc_fleet_is_word(const char *s);

/* The word that stands for all that makes measurements comparable: target, threads, versions of tctune and of its compiler. It
 * begins with the CPU's name and the threads: "znver4-2t-1f0c3a5577e0b2d4". Workers of one key serve one queue. */
const char *tc_fleet_key(tc_arena *a, const char *target, int threads, const char *version);
/* The versions of this build, as in keys: "0.1.0/19.1.7". */
const char *tc_fleet_build(tc_arena *a);

typedef struct tc_fleet_job {
    const char *id, *tuner;  /* words: what its result is sent to */
    tc_meas_options measure; /* target, threads, mode, limits, samples, seed, verification: the rest is the worker's own */
    tc_meas_call call;       /* inputs, sizes and rounds; where results go is not sent */
} tc_fleet_job;

/* The id of a job follows from all of it but the names: the same job asked for again, by a tuner that was started again, is the
 * same job. `nonce`: what makes it another one. */
const char *tc_fleet_job_id(tc_arena *a, const tc_fleet_job *j, uint64_t nonce);
void tc_fleet_job_write(const tc_fleet_job *j, tc_strbuf *out);
TC_NODISCARD tc_status tc_fleet_job_read(const char *text, tc_arena *a, tc_fleet_job *out, tc_error *err);

typedef struct tc_fleet_result {
    const char *id, *worker, *host;
    const char *refused; /* why the worker does not measure such a job; "": it did */
    tc_record *record;   /* n of them: only what was measured is sent, neither texts nor what the tuner knows */
    size_t n;
    double *seconds; /* of turns: [candidate][done] */
    int done;        /* whole rounds */
    double slowdown; /* of the worker's machine then: a fixed piece of work, its time over the best */
} tc_fleet_result;

void tc_fleet_result_write(const tc_fleet_result *r, tc_strbuf *out);
/* `n`: records that the job has; any other number is refused, but for a refusal, which has none. */
TC_NODISCARD tc_status tc_fleet_result_read(const char *text, size_t n, tc_arena *a, tc_fleet_result *out, tc_error *err);

/* The id of the job that it is of; NULL: it is no result. */
const char *tc_fleet_result_id(const char *text, tc_arena *a);

/* What a worker tells of itself. */
typedef struct tc_fleet_worker {
    const char *name, *key, *host, *target, *build;
    int threads;
    int64_t jobs; /* that it has answered */
    bool busy;
    double age; /* seconds since it last said so; not sent */
} tc_fleet_worker;

void tc_fleet_worker_write(const tc_fleet_worker *w, tc_strbuf *out);
TC_NODISCARD tc_status tc_fleet_worker_read(const char *text, tc_arena *a, tc_fleet_worker *out, tc_error *err);

#endif
