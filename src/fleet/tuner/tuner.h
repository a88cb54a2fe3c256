/* src/fleet/tuner owns a fleet as a tuner sees it: jobs sent to the workers of one key, and their results taken. Not
 * here: the search, which knows nothing of fleets.
 *
 * Measuring gets it as a carrier (tc_meas_options.carrier and carried_by). */
#ifndef TC_FLEET_TUNER_H
#define TC_FLEET_TUNER_H

#include "fleet/bus.h"
#include "fleet/message.h"
#include "measure/carrier.h"

typedef struct tc_fleet_options {
    tc_fleet_access access;
    const char *tuner; /* a word: results are kept in this name, for a tuner that is started again */
    /* Which workers: their key, with * and ? for any characters; NULL: that of `target` and `threads`. Emulated ones only where
     * it begins with the word for it (TC_FLEET_EMULATED) */
    const char *key;
    const char *target;
    int threads;
    int in_flight;        /* jobs that are asked for at once; 0: its share of two for each worker */
    double weight;        /* its share is this over the sum of the weights of all tuners of the key; 0: 1 */
    const char *database; /* file of records: what is recorded of a job is not asked for again; NULL, or not there: none */
    double patience;      /* seconds without any worker of the key after which there is no point in waiting; 0: 60 */
    /* Set where it cannot be joined since no server answers, or no worker of such a key is there; NULL: nobody asks */
    bool *absent;
} tc_fleet_options;

typedef struct tc_fleet tc_fleet;

/* Connects and finds workers. TC_BAD_INPUT where none serves such a key, or several keys fit; the message says which there are. */
TC_NODISCARD tc_status tc_fleet_join(const tc_fleet_options *o, tc_fleet **out, tc_error *err);
/* Not while something is measured by it; NULL is fine. */
void tc_fleet_leave(tc_fleet *f);
/* What its workers measure for. They live as long as f. */
const char *tc_fleet_target(const tc_fleet *f);
int tc_fleet_threads(const tc_fleet *f);
/* As its workers tell of their machines, now. *gflops: multiply-adds a second, of the fastest; *last_cache: bytes that each of
 * them gets. 0: none knows. */
void tc_fleet_machine(const tc_fleet *f, double *gflops, int64_t *last_cache);
/* What the machine of a record's host, one of its workers, can do, as that told when it began. False: nobody of that name was
 * seen. *out's texts live as long as f. */
bool tc_fleet_rates_of(tc_fleet *f, const char *host, tc_meas_rates *out);
bool tc_fleet_is_emulated(const tc_fleet *f); /* their processors are: what they measure is of TC_MEAS_EMULATED */

/* A batch is jobs of some candidates each, which a worker answers one by one; candidates in turns, and programs over sizes, are
 * one, so that one worker has them. Records name the worker as their host. A job whose worker, or whose server, fails is measured
 * by another; what its workers' machines died of is a record; what workers vanished with is left as it was. A worker that answers
 * what cannot be is named in the log, and gets no more of this tuner's jobs while there are others. So is one whose times others
 * do not confirm: what would be the best of a batch is measured by two before it is reported; records that the database has of
 * such a worker since the tuner joined are not verified any more. Records have the scale of their worker (tc_record.scale;
 * scale.h). */
extern const tc_meas_carrier tc_meas_fleet; /* carried_by: a tc_fleet */

#endif
