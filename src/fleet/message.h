/* src/fleet owns machines that measure for others, over a NATS server: what tuners and workers say to each other
 * (message.h), what of the server they use (bus.h), who is there (crowd.h), what workers are told to do (orders.h), one
 * scale for times of many machines (scale.h), and records that tuners share (record.c, bus_record.c). Not here: the
 * worker's loop (src/fleet/worker) and the tuner's side (src/fleet/tuner).
 *
 * Messages are JSON documents: a job (texts, limits, how it is measured), its result (what became of each candidate),
 * and what a worker tells of itself. They come from anybody whom the server lets in. Each field has limits, and a
 * document is taken whole or refused (TC_BAD_INPUT, naming the field). */
#ifndef TC_FLEET_MESSAGE_H
#define TC_FLEET_MESSAGE_H

#include "fleet/scale.h"
#include "measure/carrier.h"
#include "measure/machine/rates.h"
#include "support/inputs.h"
#include "support/strbuf.h"

enum {
    TC_FLEET_VERSION = 2,            /* of the documents; a reader knows one */
    TC_FLEET_TEXT = 256 << 10,       /* bytes of a workload, a trace, a target at most */
    TC_FLEET_NAME = 64,              /* of a word */
    TC_FLEET_MANY = TC_WORK_MESSAGE, /* candidates of a job, sizes of it, samples of a candidate, rounds */
    TC_FLEET_HEAVIEST = 1000,        /* weight of a tuner; the least is one over it */
    TC_FLEET_BARRED = 64,            /* workers that a job is not for */
    TC_FLEET_RANKINGS = 256          /* pairs of workers that a tuner tells of */
};

/* Seconds that a limit may be. */
#define TC_FLEET_LONGEST 1e6

/* Letters, digits, - and _: what names in subjects consist of, and files may be called. */
bool tc_fleet_is_word(const char *s);

/* The word that stands for all that makes measurements comparable: target, threads, versions of tctune and of its compiler. It
 * begins with the CPU's name and the threads: "znver4-2t-1f0c3a5577e0b2d4". Workers of one key serve one queue. */
const char *tc_fleet_key(tc_arena *a, const char *target, int threads, const char *version);
/* The key of such workers whose processors are emulated: it begins with the word for that, so that no queue, and no scale, has
 * both kinds. */
#define TC_FLEET_EMULATED "emulated"
const char *tc_fleet_emulated_key(tc_arena *a, const char *key);
bool tc_fleet_key_is_emulated(const char *key);
/* The versions of this build, as in keys: "0.2.0/19.1.7". */
const char *tc_fleet_build(tc_arena *a);

typedef struct tc_fleet_job {
    const char *id, *tuner; /* words */
    /* Of BATCH: the id of each candidate, which has a result of its own; NULL: the job has one, of its id */
    const char *const *each;
    const char *const *barred; /* names of workers that are not to measure it, nbarred of them */
    size_t nbarred;
    bool second; /* it was measured by those that are barred: one of them that gets it refuses it, rather than to give it back */
    int asked;   /* how often it was put into the queue: at least 1 */
    /* Seconds since then after which its tuner does not wait for it any more; 0: it waits as long as it is there */
    double wanted;
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
    bool lost;           /* workers vanished with it, and nobody knows whether it was their end: nobody measures it now */
    tc_record *record;   /* n of them: only what was measured is sent, neither texts nor what the tuner knows */
    size_t n;
    double *seconds;    /* of turns: [candidate][done] */
    int done;           /* whole rounds */
    double slowdown;    /* of the worker's machine then: a fixed piece of work, its time over the best */
    double reference;   /* seconds that the reference kernel (serve.h) took there last; 0: not known */
    int64_t references; /* how often it was timed there */
} tc_fleet_result;

void tc_fleet_result_write(const tc_fleet_result *r, tc_strbuf *out);
/* `n`: records that it is to have; any other number is refused, but for a refusal and what was lost, which have none. */
TC_NODISCARD tc_status tc_fleet_result_read(const char *text, size_t n, tc_arena *a, tc_fleet_result *out, tc_error *err);

/* A record that a tuner shares with whoever follows: what its database has of a job. */
typedef struct tc_fleet_entry {
    const char *tuner;
    tc_record record; /* whole, with its job */
} tc_fleet_entry;

void tc_fleet_entry_write(const tc_fleet_entry *e, tc_strbuf *out);
/* The record is checked as one of a file of JSON lines is (check.h), but for its workload, and for what no job has. */
TC_NODISCARD tc_status tc_fleet_entry_read(const char *text, tc_arena *a, tc_fleet_entry *out, tc_error *err);

/* Whether workers of the key are those who would have measured it: its target, threads and versions are the key's, and its times
 * those of a machine, or of emulated processors, as the key says. */
bool tc_fleet_is_of_key(const tc_record *r, const char *key);

/* What a record says now that another copy of it did not. Nothing is taken back: what is not verified, or failed, stays so. */
typedef enum tc_fleet_news {
    TC_FLEET_NO_NEWS,  /* nothing, or it is another measurement */
    TC_FLEET_RETIMED,  /* it was timed in more turns with others */
    TC_FLEET_DISOWNED, /* it is not verified any more */
    TC_FLEET_FAILED    /* its program failed later on */
} tc_fleet_news;

tc_fleet_news tc_fleet_news_of(const tc_record *had, const tc_record *now);
bool tc_fleet_same_measurement(const tc_record *x, const tc_record *y);

#define TC_FLEET_SERVING "serving"

/* What a worker does for its key. */
typedef enum tc_fleet_role {
    TC_FLEET_BOTH,    /* builds candidates and measures them */
    TC_FLEET_MEASURE, /* measures what others have built */
    TC_FLEET_BUILD,   /* builds for those */
    TC_FLEET_NROLES
} tc_fleet_role;

const char *tc_fleet_role_text(tc_fleet_role role); /* "both", "measure", "build" */
bool tc_fleet_role_parse(const char *word, tc_fleet_role *out);

/* What a worker tells of itself. What it does not know of its machine is 0. */
typedef struct tc_fleet_worker {
    const char *name, *key, *host, *build;
    const char *target; /* "" of one that only builds: its jobs say */
    tc_fleet_role role;
    /* A word: TC_FLEET_SERVING, or why it takes no jobs: "draining", "quarantined", "waiting" (nobody builds for it) */
    const char *state;
    const char *why; /* it is not serving; "" */
    int threads;
    int64_t jobs;        /* that it has answered */
    int64_t l1, l2, l3;  /* bytes: data caches, as the target's machine has them */
    double gbytes;       /* a second: reading memory, at best, with all its threads */
    tc_meas_rates rates; /* as they were when it began; of an older tctune's the multiply-adds alone */
    double load;         /* of the machine in the last minute */
    double reference;    /* seconds of the reference kernel (serve.h): the median lately */
    double spread;       /* of that: the width of the middle half over the median */
    bool busy;
    double age; /* seconds since it last said so; not sent */
} tc_fleet_worker;

/* What a tuner tells of itself. */
typedef struct tc_fleet_tuner {
    const char *name, *key;
    double weight; /* its share of the workers of the key is this over the sum of all tuners' */
    /* How alike workers rank what it had two of them time; of more than TC_FLEET_RANKINGS the first */
    tc_fleet_rankings rankings;
} tc_fleet_tuner;

void tc_fleet_tuner_write(const tc_fleet_tuner *t, tc_strbuf *out);
TC_NODISCARD tc_status tc_fleet_tuner_read(const char *text, tc_arena *a, tc_fleet_tuner *out, tc_error *err);

void tc_fleet_worker_write(const tc_fleet_worker *w, tc_strbuf *out);
TC_NODISCARD tc_status tc_fleet_worker_read(const char *text, tc_arena *a, tc_fleet_worker *out, tc_error *err);

#endif
