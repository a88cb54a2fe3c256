/* src/fleet/worker owns a worker of a fleet: its loop, how it follows what it is told, how it builds for boards, and
 * how a board has that done. Not here: the measuring itself (src/measure).
 *
 * A worker takes jobs of its key, one at a time, measures them here and sends the results. Or it builds, for those who
 * measure and do not compile (tc_fleet_role). */
#ifndef TC_FLEET_SERVE_H
#define TC_FLEET_SERVE_H

#include <signal.h>

#include "fleet/bus.h"
#include "fleet/message.h"
#include "measure/carrier.h"
#include "measure/machine/rates.h"

typedef struct tc_fleet_serve_options {
    tc_fleet_access access;
    const char *name; /* a word, of no other worker; NULL: from the host's name and this process */
    const char *boot; /* what tells this run of the machine from others; NULL: the kernel's */
    tc_fleet_role role;
    const char *key;            /* of one that only builds: of the boards that it does so for */
    const char *target;         /* of others: text of one that runs here */
    int threads;                /* of others */
    const tc_meas_rates *rates; /* what this machine was measured to do; NULL: not known */
    double gbytes;              /* a second: reading memory; 0: not known */
    int64_t last_cache;         /* bytes that it was measured to get; 0: what the target says */
    double lease;               /* seconds after which a worker that says nothing has lost its job; 0: 30 */
    /* Seconds from one timing of the reference kernel to the next at least; 0: 5, and fifty times what it takes */
    double reference;
    const volatile sig_atomic_t *stop;
    bool emulated; /* its processor is: it serves a key that says so, and measures for tuners that know it alone */
    /* Who carries jobs here; NULL: processes of this machine, or computed times, as jobs say. */
    const tc_meas_carrier *carrier;
    void *carried_by;
    void (*ready)(void *user, const char *name, const char *key); /* jobs can come now; may be NULL */
    void *user;
} tc_fleet_serve_options;

/* The reference kernel: a small product of matrices, which each worker builds and times as it does jobs, before its first one and
 * then now and again, for a fiftieth of its time at most. Alike everywhere, so that what it takes says how fast a machine is
 * (scale.h). */
extern const char tc_fleet_reference_workload[], tc_fleet_reference_trace[];

/* Serves until the stop flag is up or an order says so (crowd.h), and leaves: a job under way goes back into the queue, unless
 * the order was to end it first. While the server is away it waits, also when it starts. TC_ENV also where nothing can be
 * measured here, three jobs in a row: the jobs go back to others. */
TC_NODISCARD tc_status tc_fleet_serve(const tc_fleet_serve_options *o, tc_error *err);

#endif
