/* Private to the fleet's tuners: a call that is carried, as jobs asked for and answers awaited. */
#ifndef TC_FLEET_ERRAND_INT_H
#define TC_FLEET_ERRAND_INT_H

#include "fleet/tuner/tuner_int.h"
#include "support/map.h"

enum {
    MOST_ASKED = 16, /* how many times a job is requested */
    /* The most candidates of a job. A worker builds them on all its cores; if the worker is lost, all are measured again. */
    GROUP = 8
};

/* An answer that would be the best of its workload, and what others say of its program. */
typedef struct claim {
    tc_fleet_result x;
    double scale;
    tc_fleet_opinion opinion[3]; /* its own, and of those that were asked */
    const char *worker[3];
    int n;
    const char *second; /* the job by which another one is asked now; NULL: none */
    size_t parcel;      /* of it */
    double due;         /* when that may be asked for again */
    double refused;     /* when it first came to one that had been asked, others being busy or gone; 0: it did not */
} claim;

/* Programs that are compared with one another, and the least seconds of them that are believed, on the common scale. */
typedef struct mark {
    const tc_meas_input *of;
    double best;
} mark;

/* What is answered at once: a candidate of a batch, or all of another call. */
typedef struct order {
    const char *id;
    tc_meas_input in; /* of a batch */
    size_t first, n;  /* its records, of the call's */
    size_t parcel;    /* that it is asked for with */
    int tries;        /* workers that gave a wrong answer */
    size_t mark;      /* of a batch */
    claim *claim;     /* it waits for others to confirm it; NULL: it does not */
    bool fresh;       /* nobody can have answered it before */
    bool asked, done;
} order;

/* A job in the queue. */
typedef struct parcel {
    tc_fleet_job job;
    size_t size, left;         /* orders of it, and those without an answer */
    const char *const *except; /* workers that are not to measure it, beside those that nothing is asked of */
    int nexcept;
    double sent;     /* when it was asked for last */
    uint64_t number; /* in the queue, then */
} parcel;

struct errand {
    tc_fleet *f;
    const tc_meas_jobs *b;
    tc_meas_call c;
    tc_arena *a; /* of messages */
    order *order;
    size_t n, next, done;
    tc_map at; /* id -> index of its order */
    TC_VEC(parcel) parcel;
    size_t flying;  /* parcels with something left */
    size_t waiting; /* orders of those of which nothing was answered yet */
    TC_VEC(mark) mark;
    TC_VEC(order *) claims;
    double slowest; /* seconds that the answer to a job took */
};

bool errand_is_batch(const errand *e);

/* ---- errand.c: what is asked for, and what is answered ---- */

/* One order as a job of its own. */
tc_fleet_job errand_job_of(const errand *e, const order *o);
/* One of a parcel's answers has come, or is not awaited any more. True: it was the last. */
bool errand_settle_one(errand *e, size_t at);
/* Puts it into the queue, once more. */
tc_status errand_send(errand *e, parcel *p, tc_error *err);
/* Jobs of all calls that are in the queue. */
size_t errand_jobs(const tc_fleet *f);
/* There is something to ask for, and room for it in the queue. */
bool errand_may_ask(const errand *e);
/* Asks for the next orders: a job of them. Those that were answered before are taken as that. */
tc_status errand_ask_next(errand *e, tc_error *err);
/* The answer is not to be believed: another worker is asked. */
tc_status errand_ask_another(errand *e, order *o, const char *worker, const char *why, tc_error *err);
/* Reads an answer; an error says what is wrong with it. */
tc_status errand_understand(const errand *e, const order *o, const tc_fleet_mail *mail, tc_fleet_result *x, tc_error *err);
/* Its records are filled, and reported. */
void errand_accept(errand *e, order *o, const tc_fleet_result *x, double scale);
/* The answer to an order. */
tc_status errand_take(errand *e, order *o, const tc_fleet_mail *mail, tc_error *err);

/* ---- claims.c: what would be the best ---- */

/* The mark of what is compared with it, made where there is none. */
size_t errand_mark_of(errand *e, const tc_meas_input *in);
void errand_lower_mark(errand *e, const order *o, double seconds);
bool errand_would_be_best(const errand *e, const order *o, const tc_fleet_result *x, double scale);
void errand_hold(errand *e, order *o, const tc_fleet_result *x, double scale);
/* Asks for second opinions, and believes what they confirm. */
tc_status errand_review(errand *e, tc_error *err);
/* What is heard about a claim is not what it claims. */
bool errand_is_second(const order *o, const char *id);
/* What another worker, or one that is no other, answers about a claim. */
tc_status errand_take_second(errand *e, order *o, const tc_fleet_mail *mail, tc_error *err);

#endif
