/* src/fleet/team owns a database told to others as it is written (publish.h), and a database that follows what they
 * tell (follow.h). Not here: whether a record is believed (src/measure/records).
 *
 * A follower takes the server's stream of records in, one by one. */
#ifndef TC_FLEET_FOLLOW_H
#define TC_FLEET_FOLLOW_H

#include <signal.h>

#include "fleet/bus.h"

/* What became of the messages that were looked at. */
typedef struct tc_fleet_followed {
    int64_t stored;
    int64_t known;   /* their jobs had a record, or were of no use */
    int64_t changed; /* the record of their job is worse, or better timed, than it was known here */
    int64_t refused; /* they were no records that fit together */
    int64_t others;  /* of other keys and tuners */
} tc_fleet_followed;

/* After some messages, when there are no more for now; and of each that is refused, with who put it where, and why. */
typedef void tc_fleet_on_followed(void *user, const tc_fleet_followed *so_far, const char *refusal);

typedef struct tc_fleet_follow_options {
    tc_fleet_access access;
    const char *database;              /* file, made where there is none */
    const char *key, *tuner;           /* whose: with * and ? for any characters; NULL: all */
    bool once;                         /* until there are no more for now */
    double patience;                   /* seconds for which `once` waits for a server that went away; 0: 60 */
    const volatile sig_atomic_t *stop; /* ends it with TC_OK; may be NULL */
    tc_fleet_on_followed *told;        /* may be NULL */
    void *user;
} tc_fleet_follow_options;

/* Nothing of what is read is trusted: a record is taken in as one of a file of JSON lines is, each job's once, and admits no
 * program. A record of a job that is there already changes it only for the worse (not verified, failed), or by better times, and
 * only where it is the same measurement. How far it came is kept in the database: who is killed takes in the last ones again,
 * which are known then. A server that goes away later on is waited for. *out: what became of all, also where it fails. */
TC_NODISCARD tc_status tc_fleet_follow(const tc_fleet_follow_options *o, tc_fleet_followed *out, tc_error *err);

#endif
