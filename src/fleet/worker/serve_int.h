/* Private to the worker: its state, and how a job becomes answers (serve_job.c). */
#ifndef TC_FLEET_SERVE_INT_H
#define TC_FLEET_SERVE_INT_H

#include <pthread.h>

#include "fleet/build.h"
#include "fleet/message.h"
#include "fleet/orders.h"
#include "fleet/scale.h"
#include "fleet/worker/serve.h"
#include "measure/measure.h"

/* What the reference kernel took here. */
typedef struct fleet_reference {
    tc_fleet_pace pace;
    int64_t taken;
    double due;    /* when it is timed next */
    bool computed; /* by jobs whose times are */
} fleet_reference;

enum { FLEET_WRONG = 16 };

typedef struct fleet_worker {
    const tc_fleet_serve_options *o;    /* whose stop flag is `stop` */
    volatile sig_atomic_t stop;         /* raised with the caller's flag, or by an order to leave at once */
    const volatile sig_atomic_t *asked; /* the caller's */
    tc_fleet_bus *bus;
    tc_arena *arena;
    tc_fleet_self self;
    double lease, beat; /* beat: seconds between two signs of life */
    double looked;      /* when the queue was last seen to be there */
    tc_meas *meas;      /* for jobs that are measured like the last one; NULL: none yet */
    char like[40];      /* what says so */
    int failures;       /* in a row */
    fleet_reference reference;
    bool rested; /* it does not serve the queue now */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    tc_fleet_worker told;   /* what it tells of itself, under `lock`, as all below is */
    tc_fleet_delivery *now; /* under way */
    bool leaving;
    bool drained, quarantined;                  /* by orders: it takes no jobs */
    bool unbuilt;                               /* nobody builds for it: it takes none either */
    char wrong[FLEET_WRONG][TC_FLEET_NAME + 1]; /* builders that sent what was none of the objects that it asked for */
    size_t nwrong;
    bool news; /* of itself, that were not told yet */
    char why[TC_FLEET_REASON + 1];
    uint64_t order; /* the one that was seen last; of the thread that looks for them */
} fleet_worker;

/* Seconds to wait instead of so many: a worker whose lease is shorter than usual looks as much more often at its orders and its
 * queue. */
double fleet_pause(const fleet_worker *w, double usual);
/* Answers a job, `times` being how often it was given to a worker. An error: this worker cannot, and another one may. */
tc_status fleet_serve_job(fleet_worker *w, const tc_fleet_job *j, int times, tc_arena *a, tc_error *err);
/* The same of a build job: what its candidates came to is put on the server. */
tc_status fleet_serve_build(fleet_worker *w, const tc_fleet_build_job *j, tc_arena *a, tc_error *err);
/* The job is for workers of its key. */
bool fleet_is_of_key(const fleet_worker *w, const tc_fleet_build_job *j, tc_arena *a);
/* Has objects for this machine's runner built; `supplied_by`: a fleet_worker. */
extern const tc_meas_supplier fleet_supplier;
/* Sees whether somebody builds for this worker, if it is a board that needs that. Not under the lock. */
tc_status fleet_look_for_builders(fleet_worker *w, tc_error *err);
/* The builder is one of those that are not believed here. Not under the lock, as what is below. */
bool fleet_is_wrong(fleet_worker *w, const char *builder);
/* It sent what is none of the objects that were asked for. */
void fleet_disbelieve(fleet_worker *w, const char *builder, const char *why);
/* The names of those; *n: how many. */
const char *const *fleet_wrong_builders(fleet_worker *w, tc_arena *a, size_t *n);
/* Whether nobody builds for it, and if so the error that says so. */
bool fleet_is_unbuilt(fleet_worker *w, tc_error *err);
/* Before it is there: what stands is known, and what was to be done by an earlier worker of its name is not followed. */
tc_status fleet_find_orders(fleet_worker *w, tc_error *err);
/* Follows what came since. Not under the lock. */
void fleet_heed(fleet_worker *w);
/* Has others see why it takes no jobs, or that it does. Under the lock. */
void fleet_show(fleet_worker *w, const char *why);
/* It is one of them. */
bool fleet_is_named(const fleet_worker *w, const char *const *names, size_t n);
/* The worker is one of those that are not to measure the job. */
bool fleet_is_barred(const fleet_worker *w, const tc_fleet_job *j);

#endif
