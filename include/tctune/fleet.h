/* Fleets: machines that measure for tuners elsewhere, over a NATS server with JetStream (docs/howto/fleet.md). A worker serves a
 * key, a word that stands for its target, its threads, and the versions of tctune and its compiler. */
#ifndef TCTUNE_FLEET_H
#define TCTUNE_FLEET_H

#include <tctune/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A fleet's server, and which of its workers measure. */
typedef struct tctune_fleet {
    size_t struct_size;
    const char *url;    /* "nats://HOST:PORT" or "tls://HOST:PORT" */
    const char *creds;  /* file with a user's JWT and seed; NULL: none */
    const char *nkey;   /* file with a user's public key and seed; NULL: none */
    const char *tls_ca; /* file of certificates that vouch for the server; NULL: the system's */
    /* The fields below are for tuners. */
    /* The key of the workers that measure; * and ? stand for any characters. NULL: the key of the tuner's own target and threads.
     * The keys of emulated workers begin with "emulated-", and only patterns that begin with "emulated" match them: their times
     * belong to searches of their own, and nothing is built from them. */
    const char *key;
    int workers;     /* how many jobs are requested at once; 0: this tuner's share of two jobs for each worker */
    double patience; /* seconds without the server or without any worker after which measuring fails; 0: 60 */
    /* If no server answers, or no worker has the key, when measuring begins: not 0: this machine measures, and the log has a
     * warning (TCTUNE_LOG=warn); 0: that is an error. */
    int fallback;
    double weight; /* 0.001 to 1000: tuners share the workers of a key in proportion to their weights; 0: 1 */
} tctune_fleet;

/* How a worker serves. */
typedef struct tctune_worker_options {
    size_t struct_size;
    const tctune_fleet *fleet;
    const char *name;   /* letters, digits, - and _; unique in the fleet; NULL: made from the host's name and the process */
    const char *target; /* must run on this machine; NULL: this machine */
    int threads;        /* of the kernels; 0: every core */
    double lease;       /* seconds without a sign of life after which the worker's job goes to another worker; 0: 30 */
    /* The worker leaves within about a second after this becomes non-zero, and its job goes back to the queue */
    volatile int *stop;
    void (*ready)(void *user, const char *name, const char *key); /* called once when the worker can take jobs; NULL: no call */
    void *user;                                                   /* first argument of `ready` */
    /* "both" (NULL): builds candidates and measures them. "measure": compiles nothing, and measures what other workers have
     * built. "build": builds for workers that only measure. */
    const char *role;
    /* For role "build": the key of the workers to build for, as tctune_fleet_key returns it on their machine. Their CPU may be of
     * another kind. NULL: the key of `target` and `threads`. */
    const char *key;
} tctune_worker_options;

/* Runs a worker until it is stopped or told to leave (tctune_fleet_tell). It measures, or builds, what the fleet's tuners
 * request. It waits while the server cannot be reached, also at the start. TCTUNE_ENVIRONMENT: nothing can be measured on this
 * machine. */
TCTUNE_API tctune_status tctune_fleet_serve(const tctune_worker_options *options, char *error, size_t error_size);

/* Returns the key of workers of this version for a target (NULL: this machine) with so many threads (0: every core). Give *key
 * back with tctune_text_free. */
TCTUNE_API tctune_status tctune_fleet_key(const char *target, int threads, char **key, char *error, size_t error_size);

/* Lists workers, keys and the lengths of their queues as JSON (docs/json.md). Give *json back with tctune_text_free. */
TCTUNE_API tctune_status tctune_fleet_status(const tctune_fleet *fleet, char **json, char *error, size_t error_size);

/* Gives an order to workers. They follow it within about a second, or when they reach the server again. The orders:
 *   "drain"       finish the current job, take no more, and leave
 *   "kick"        leave at once; the current job goes to another worker
 *   "quarantine"  stay, but take no jobs until released; this holds for later workers of the same name, too
 *   "release"     take jobs again; also takes back an order that was not followed yet
 * `workers` is a NULL-terminated list of names or keys, in which * and ? stand for any characters. "release" also reaches
 * quarantined workers that are away. `why` is a line of at most 200 bytes that the worker shows and logs; NULL: none. *json lists
 * the workers that were told (docs/json.md); give it back with tctune_text_free. TCTUNE_BAD_INPUT: a name matches no worker (the
 * message lists the workers), or the server does not let this user give orders; then no worker was told. */
TCTUNE_API tctune_status tctune_fleet_tell(const tctune_fleet *fleet, const char *order, const char *const *workers,
                                           const char *why, char **json, char *error, size_t error_size);

/* Lists the last jobs and their results as JSON (docs/json.md), the latest first. The server keeps results for a day. `worker`
 * NULL: jobs of all workers. `last` is the number of jobs, at most 1000; 0: 20. Give *json back with tctune_text_free. */
TCTUNE_API tctune_status tctune_fleet_log(const tctune_fleet *fleet, const char *worker, int last, char **json, char *error,
                                          size_t error_size);

/* ---- one database for a team ---- */

/* What became of the records that were received, in numbers. */
typedef struct tctune_followed {
    size_t struct_size; /* set by the library in callbacks, by the caller for tctune_fleet_follow */
    int64_t stored;     /* new in the database */
    int64_t known;      /* the database already had a record of the job */
    int64_t changed;    /* the database's record was changed: it is no longer used, or has better times */
    int64_t refused;    /* the parts of the record do not fit each other */
    int64_t others;     /* of other keys or tuners */
} tctune_followed;

/* Called when all records so far are processed, and for each refused record. `refusal` says why a record was refused, else NULL.
 * Both pointers are valid until the callback returns. */
typedef void tctune_on_followed(void *user, const tctune_followed *so_far, const char *refusal);

/* How a database follows a fleet's tuners. */
typedef struct tctune_follow_options {
    size_t struct_size;
    const char *tuner;        /* name of the tuners, in which * and ? stand for any characters; NULL: all tuners */
    int once;                 /* not 0: end when all records so far are processed; 0: wait for more until stopped */
    const volatile int *stop; /* the call ends with TCTUNE_OK within about a second after this becomes non-zero; NULL: never */
    tctune_on_followed *each; /* NULL: no calls */
    void *user;               /* first argument of `each` */
} tctune_follow_options;

/* Copies the records of a fleet's tuners into the database file `database`, which is created if it is missing. Each job gives one
 * record, which is checked like the records of a file (tctune_database_add). Tuners publish a record once it is confirmed. If a
 * tuner later distrusts a record, this database stops using it, too. The file remembers the position, so a later call continues
 * there, also after the process was killed.
 *
 * Of `fleet`, `key` chooses the workers whose records are wanted (NULL: all), and `patience` says how long a call with `once`
 * waits for a server that went away; without `once` the call waits for ever. options and followed may be NULL.
 * TCTUNE_ENVIRONMENT: there is no server, the server has no stream of records (with `once`), or the file cannot be written.
 * TCTUNE_BAD_INPUT: the server does not let this user read records, or the file is not a database. */
TCTUNE_API tctune_status tctune_fleet_follow(const tctune_fleet *fleet, const char *database,
                                             const tctune_follow_options *options, tctune_followed *followed, char *error,
                                             size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
