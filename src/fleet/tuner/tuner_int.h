/* Private to the fleet's tuners: a fleet that was joined. */
#ifndef TC_FLEET_TUNER_INT_H
#define TC_FLEET_TUNER_INT_H

#include "fleet/crowd.h"
#include "fleet/scale.h"
#include "fleet/team/publish.h"
#include "fleet/tuner/tuner.h"
#include "measure/records/database.h"

typedef struct errand errand;

/* What a worker told of its machine. */
typedef struct fleet_known {
    const char *name;
    tc_meas_rates rates;
} fleet_known;

struct tc_fleet {
    tc_fleet_bus *bus;
    tc_arena *arena; /* of its texts */
    tc_meas_db *db;  /* what is recorded; NULL: nothing */
    const char *tuner, *key, *target;
    int threads;
    int workers;               /* of the key, that take jobs and are believed */
    double gflops;             /* of the fastest of them */
    int64_t last_cache;        /* the smallest of theirs */
    TC_VEC(fleet_known) known; /* workers of the key that were ever seen, as they were last */
    int in_flight;             /* jobs that are asked for at once, now */
    int most;                  /* of them, as the caller said; 0: it did not */
    bool shared;               /* there are other tuners of the key */
    double weight, patience;
    double pauses;            /* as a share of the usual ones: the shorter its patience, the shorter its pauses */
    double attended;          /* when it last said that it is there; 0: never */
    int calm;                 /* times since that nobody had come or gone when it looked around */
    int tuners;               /* of the key, this one included, when it looked last; 0: it did not yet */
    const char *database;     /* file; NULL: none */
    int64_t last_id;          /* of what was recorded there before */
    uint64_t session, serial; /* make jobs that are wanted anew other ones */
    TC_VEC(const char *) barred;
    tc_fleet_scale scale;          /* of the workers that have answered */
    TC_VEC(errand *) errands;      /* calls that are under way, in the order in which they were begun */
    double heard, looked;          /* when a result came last, and when the stream was looked at */
    double tended;                 /* when what is under way was last seen to beside something else */
    tc_error trouble;              /* what went wrong then */
    bool forgotten;                /* something may be in the queue that nobody waits for */
    tc_fleet_publisher *publisher; /* tells others what is recorded; NULL: nobody does */
};

/* Says that this tuner is there, and looks around, when it is time to: a second after somebody came or went, or it came itself,
 * then after two, four and eight, and from then on every ten. */
tc_status fleet_attend(tc_fleet *f, tc_error *err);
/* Counts workers and tuners, and what share of the queue is this one's. The crowd is a new one. */
tc_status fleet_look_around(tc_fleet *f, tc_fleet_crowd *c, tc_error *err);
/* How many of the jobs that are in flight at once are of the first of n tuners, so that jobs, which workers take in the order in
 * which they came, are shared by weight. All tuners agree on them, whichever is the first: at least two for each worker, at least
 * one for each tuner, and as many more, within bounds, as bring each within 5 % of its share. */
int fleet_share(const double *weight, size_t n, int workers);
/* The error where no worker of a key is there. */
tc_status fleet_nobody(const tc_fleet *f, const tc_fleet_crowd *c, const char *key, tc_error *err);
/* No more jobs for a worker, and no belief in what it sends. TC_ENV where there is no other. */
tc_status fleet_bar(tc_fleet *f, const char *worker, const char *why, tc_error *err);
/* The same for one that is no liar, but of no use while there are others: *done. Where there is none, and where the server is
 * away, nothing is done. */
tc_status fleet_set_aside(tc_fleet *f, const char *worker, const char *why, bool *done, tc_error *err);
/* The same for one whose times are not what programs take: its records, of this session, are not to be used. */
tc_status fleet_disown(tc_fleet *f, const char *worker, const char *why, tc_error *err);
/* *scale: what times of the result's worker are over those on the common scale. One whose reference is unsteady is set aside. */
tc_status fleet_note_pace(tc_fleet *f, const tc_fleet_result *x, double *scale, tc_error *err);
bool fleet_bars(const tc_fleet *f, const char *worker);

#endif
