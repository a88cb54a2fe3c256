/* A fleet: machines that measure for tuners elsewhere, over a NATS server with JetStream (docs/howto/fleet.md). A worker serves
 * its key: a word that stands for its target, its threads, and the versions of tctune and its compiler. */
#ifndef TCTUNE_FLEET_H
#define TCTUNE_FLEET_H

#include <tctune/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A fleet's server, and which of its workers measure for a tuner. */
typedef struct tctune_fleet {
    size_t struct_size;
    const char *url;    /* "nats://HOST:PORT" or "tls://..." */
    const char *creds;  /* file of a user's JWT and seed; NULL: none */
    const char *nkey;   /* file of a user's public key and seed; NULL: none */
    const char *tls_ca; /* certificates by which the server's is checked; NULL: the system's */
    /* Of tuners: */
    /* The workers' key, with * and ? for any characters; NULL: that of the tuner's own target and threads. Keys of emulated
     * workers begin with "emulated-", and only patterns that begin with "emulated" fit them: their times are for searches of
     * their own, and nothing is built from them. */
    const char *key;
    int workers;     /* jobs that are asked for at once; 0: this tuner's share of two for each worker */
    double patience; /* seconds without any worker, or without the server, after which measuring fails; 0: 60 */
    /* Where no server answers, or no worker of the key is there, when measuring begins: this machine measures, with a warning in
     * the log (TCTUNE_LOG=warn); 0: that is an error. */
    int fallback;
    double weight; /* 0.001 to 1000: the workers of a key are shared by the weights of the tuners that are there; 0: 1 */
} tctune_fleet;

/* How a worker serves. */
typedef struct tctune_worker_options {
    size_t struct_size;
    const tctune_fleet *fleet;
    const char *name;   /* letters, digits, - and _, of no other worker; NULL: from the host's name and the process */
    const char *target; /* one that runs on this machine; NULL: this machine */
    int threads;        /* of the kernels; 0: every core */
    double lease;       /* seconds after which the job of a worker that says nothing goes to another; 0: 30 */
    volatile int *stop; /* once it is not 0, the worker leaves within about a second: what it measures goes back to the queue */
    /* Jobs can come from now on; NULL: nobody is told. */
    void (*ready)(void *user, const char *name, const char *key);
    void *user;
    /* What it does: "both" builds candidates and measures them; "measure" compiles nothing, and measures what others have built;
     * "build" builds for those. NULL: both. */
    const char *role;
    /* Of one that builds: the key of those whom it does so for (tctune_fleet_key, there), whose processors may be of another
     * kind; NULL: that of `target` and `threads`. */
    const char *key;
} tctune_worker_options;

/* Measures what the fleet's tuners ask for, or builds for those who do, until it is stopped, or told to leave
 * (tctune_fleet_tell). While the server is away it waits, also when it starts. TCTUNE_ENVIRONMENT: nothing can be measured here. */
TCTUNE_API tctune_status tctune_fleet_serve(const tctune_worker_options *options, char *error, size_t error_size);

/* The key of workers for a target (NULL: this machine) with so many threads (0: every core), of this version. Give it back with
 * tctune_text_free. */
TCTUNE_API tctune_status tctune_fleet_key(const char *target, int threads, char **key, char *error, size_t error_size);

/* Workers, keys and the lengths of their queues, as JSON (docs/json.md). Give it back with tctune_text_free. */
TCTUNE_API tctune_status tctune_fleet_status(const tctune_fleet *fleet, char **json, char *error, size_t error_size);

/* Tells workers what to do, which they follow within about a second of when they hear of the server.
 *   "drain"       ends the job that it has, takes no more, and leaves
 *   "kick"        leaves at once: its job goes to another worker
 *   "quarantine"  stays and takes no jobs, nor does a later worker of its name, until it is released
 *   "release"     takes jobs again; an order that it has not followed yet is taken back
 * workers: names or keys, with * and ? for any characters, NULL-terminated; for "release" also those that were quarantined and
 * are away. why: one line of at most 200 bytes, which the worker shows and logs; NULL: none. Who was told is told as JSON
 * (docs/json.md), which is given back with tctune_text_free. TCTUNE_BAD_INPUT: one of `workers` is nobody, which the message
 * answers with who is there, or the server does not let this user give orders; nobody was told. */
TCTUNE_API tctune_status tctune_fleet_tell(const tctune_fleet *fleet, const char *order, const char *const *workers,
                                           const char *why, char **json, char *error, size_t error_size);

/* What became of the last jobs, the latest first, as far as the server keeps results (a day), as JSON (docs/json.md). worker: its
 * name, for its own only; NULL: everybody's. last: how many, 1000 at most; 0: 20. Give it back with tctune_text_free. */
TCTUNE_API tctune_status tctune_fleet_log(const tctune_fleet *fleet, const char *worker, int last, char **json, char *error,
                                          size_t error_size);

/* ---- one database for a team ---- */

/* What became of the records that were looked at. */
typedef struct tctune_followed {
    size_t struct_size; /* as the library knows it, where it tells */
    int64_t stored;
    int64_t known;   /* their jobs had a record */
    int64_t changed; /* of the record of a job it is now known that it is not to be used, or it has better times */
    int64_t refused; /* they do not fit together */
    int64_t others;  /* of other keys or tuners */
} tctune_followed;

/* Told what became of all so far, when there is nothing more for now; and of each record that is refused why: `refusal`, else
 * NULL. Both live until it returns. */
typedef void tctune_on_followed(void *user, const tctune_followed *so_far, const char *refusal);

/* How a database follows a fleet's tuners. */
typedef struct tctune_follow_options {
    size_t struct_size;
    const char *tuner;        /* by name, with * and ? for any characters; NULL: all */
    int once;                 /* ends when there is nothing more for now; 0: it goes on until it is stopped */
    const volatile int *stop; /* once that is not 0 it ends within about a second, with TCTUNE_OK; NULL: nobody stops it */
    tctune_on_followed *each; /* NULL: nobody is told */
    void *user;
} tctune_follow_options;

/* Takes what a fleet's tuners record into a database file, made where there is none: of each job one record, checked as those of
 * files are (tctune_database_add). Tuners share what they recorded after it was confirmed; what they do not believe any more is
 * no longer applied here either. How far it came is kept in the file, so that it goes on there, and may be killed at any moment.
 * fleet: its key, NULL: all, says whose records are wanted; patience, for how long `once` waits for a server that went away. Else
 * a server that goes away is waited for. options, followed: may be NULL. TCTUNE_ENVIRONMENT: there is no server, the stream of
 * records is not there (once), the file cannot be written to; TCTUNE_BAD_INPUT: the server does not let this user read records,
 * or the file is no database. */
TCTUNE_API tctune_status tctune_fleet_follow(const tctune_fleet *fleet, const char *database,
                                             const tctune_follow_options *options, tctune_followed *followed, char *error,
                                             size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
