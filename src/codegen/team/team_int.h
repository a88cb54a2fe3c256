/* Private to the team: what its threads share. */
#ifndef TC_CODEGEN_TEAM_TEAM_INT_H
#define TC_CODEGEN_TEAM_TEAM_INT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "codegen/team/team.h"

enum { TC_TEAM_APART = 128 }; /* bytes between what different threads write: processors fetch two lines at a time */

typedef _Atomic uint64_t tc_team_number;
typedef _Atomic uint32_t tc_team_word;

/* What is left to take of a lane, and how many parts its thread did, of any lane, ever. */
typedef struct tc_team_lane {
    _Alignas(TC_TEAM_APART) tc_team_number taken;
    tc_team_word done;
} tc_team_lane;

/* ---- which loops are worth other threads (site.c) ---- */

enum { TC_TEAM_SITES = 256, TC_TEAM_LOOKS = 5 };

/* A loop: what is known of its times. */
typedef struct tc_team_site {
    tc_rt_body *body; /* NULL: none yet */
    int64_t n;
    uint32_t left, pause;            /* regions until it is looked at again; between the last two times */
    bool alone;                      /* how it runs until then */
    uint8_t way, done;               /* how it is run while it is looked at, 1 alone; and how often it was */
    uint32_t took[2][TC_TEAM_LOOKS]; /* nanoseconds, each way */
} tc_team_site;

typedef struct tc_team_sites {
    tc_team_site site[TC_TEAM_SITES];
} tc_team_sites;

/* NULL: there is no room for another. */
tc_team_site *tc_team_site_of(tc_team_sites *all, tc_rt_body *body, int64_t n);
/* Whether its next region is the caller's alone; *timed: tc_team_site_took is to be told how many nanoseconds that took. */
bool tc_team_site_asks(tc_team_site *s, bool *timed);
void tc_team_site_took(tc_team_site *s, uint64_t took);

typedef struct tc_team tc_team;

typedef struct tc_team_worker {
    tc_team *team;
    uint32_t id; /* its lane; the caller has lane 0 */
    pthread_t thread;
} tc_team_worker;

struct tc_team {
    /* The region. Written by the caller. */
    _Alignas(TC_TEAM_APART) tc_team_number call; /* twice its first number */
    _Atomic(tc_rt_body *) body;
    _Atomic(void *) closure;
    _Atomic int64_t n;
    tc_team_word parts, lanes;
    tc_team_word bell; /* another value for each region: what threads sleep on */
    tc_team_word quit;
    /* Seldom written. */
    _Alignas(TC_TEAM_APART) tc_team_word asleep; /* how many sleep */
    tc_team_word late;                           /* the caller waited for long */
    tc_team_word caller_sleeps, rung;            /* on `rung` */
    tc_team_number crowded_until;                /* nanoseconds; 0: not crowded */
    tc_team_word patient;                        /* TC_TEAM_PATIENT */
    tc_team_number called;                       /* when threads were last woken */
    /* The caller's own. */
    _Alignas(TC_TEAM_APART) uint64_t next, alone_until;
    uint64_t alone_for; /* nanoseconds, the last time */
    uint32_t calls;     /* of regions */
    bool asked;         /* whether `caller` lost its core; and when it was: */
    pthread_t caller;
    long lost;                /* how often that had happened to it, */
    uint64_t waited, lost_at; /* for how many nanoseconds in all; and when it was last seen to have lost it for long */
    uint64_t owed, wake_cost; /* nanoseconds in regions since the others sleep; of waking them */
    uint32_t expected;        /* the sum of the others' `done` when the region is done */
    int wanted;               /* threads, when it was made */
    int threads;              /* that there are, the caller included */
    bool forked;              /* the threads are another process's: none were started here yet */
    pid_t process;            /* that has the threads */
    uint64_t spin;            /* nanoseconds */
    tc_team_worker *workers;
    tc_team_lane *lanes_of;
    uint32_t code; /* as of when `sites` are true */
    tc_team_sites sites;
};

#define tc_team_get(p) atomic_load_explicit(p, memory_order_relaxed)
#define tc_team_set(p, v) atomic_store_explicit(p, v, memory_order_relaxed)

/* Where cores are missing, and with OMP_WAIT_POLICY=passive, a thread spins for so many nanoseconds. */
enum { TC_TEAM_SHORT = 5000 };

/* What a thread of a team runs, until the team's `quit` is set; user: its tc_team_worker. */
void *tc_team_work(void *user);
/* Runs a region, as its caller, on at most rt->nthreads threads. One caller at a time. */
void tc_team_run(tc_team *t, const tc_rt *rt, int64_t n, tc_rt_body *body, void *closure);
/* The caller does its next regions alone, for so many nanoseconds where the team has one other thread; for less where it has more,
 * as then it costs more. If it did so a moment ago, for twice as long as then: it was of use, and had to be tried again. */
void tc_team_go_alone(tc_team *t, uint64_t when, uint64_t alone);
/* How often functions went that were bodies of loops: others may be where they were. */
uint32_t tc_team_code(void);
/* Wakes the threads. */
void tc_team_ring(tc_team *t);
/* For tests: as if the process could run on so many CPUs. */
void tc_team_assume_cores(int n);

#endif
