/* Teams: who has one, how its threads start and end, and what becomes of them around fork and when the library is closed. */
#include "codegen/team/team.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/team/team_int.h"

enum {
    MOST_TEAMS = 64,        /* of a process */
    LEAST_STACK = 512 << 10 /* bytes; kernels take 64 KiB, the C library's storage of a thread some more */
};
static const uint64_t spin_usual = 5000000, spin_active = 5000000000; /* nanoseconds between regions */

static uint64_t spin_time(void) {
    const char *policy = getenv("OMP_WAIT_POLICY");
    if (policy && (policy[0] == 'p' || policy[0] == 'P'))
        return TC_TEAM_SHORT;
    return policy && (policy[0] == 'a' || policy[0] == 'A') ? spin_active : spin_usual;
}

static void end_team(tc_team *t) {
    tc_team_set(&t->quit, 1);
    tc_team_ring(t);
    for (int i = 1; i < t->threads && t->process == getpid(); i++)
        pthread_join(t->workers[i].thread, NULL);
    free(t->workers);
    free(t->lanes_of);
    free(t);
}

/* ---- CPUs ---- */

/* Of OpenMP's runtime, where the program has one. */
extern int omp_get_num_places(void) __attribute__((weak));
extern int omp_get_place_num_procs(int) __attribute__((weak));
extern void omp_get_place_proc_ids(int, int *) __attribute__((weak));

static int count_places(void) {
    return omp_get_num_places && omp_get_place_num_procs && omp_get_place_proc_ids ? omp_get_num_places() : 0;
}

static void add_place(int place, cpu_set_t *cpus) {
    int n = omp_get_place_num_procs(place), *ids = n > 0 ? malloc((size_t)n * sizeof *ids) : NULL;
    if (!ids)
        return;
    omp_get_place_proc_ids(place, ids);
    for (int i = 0; i < n; i++)
        if (ids[i] >= 0 && ids[i] < CPU_SETSIZE)
            CPU_SET(ids[i], cpus);
    free(ids);
}

/* The CPUs that the calling thread may run on. Where OpenMP binds threads that is one place alone: then those of all places. */
static int count_cpus(void) {
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        return (int)sysconf(_SC_NPROCESSORS_ONLN);
    for (int i = 0, n = count_places(); i < n; i++)
        add_place(i, &cpus);
    return CPU_COUNT(&cpus);
}

/* Where OpenMP binds threads, each of the team gets a place. */
static void bind(int id, pthread_attr_t *a) {
    cpu_set_t cpus;
    int n = count_places();
    CPU_ZERO(&cpus);
    if (n > 0)
        add_place(id % n, &cpus);
    if (CPU_COUNT(&cpus) > 0)
        pthread_attr_setaffinity_np(a, sizeof cpus, &cpus);
}

/* ---- threads ---- */

static void start(tc_team *t) {
    static const int own[] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGTRAP, SIGSYS};
    sigset_t all, before;
    pthread_attr_t a;
    size_t stack;
    t->forked = false;
    t->process = getpid();
    if (pthread_attr_init(&a))
        return;
    if (pthread_attr_getstacksize(&a, &stack) == 0 && stack < LEAST_STACK)
        pthread_attr_setstacksize(&a, LEAST_STACK);
    sigfillset(&all); /* signals are for the program's own threads, but for those that tell of a thread's own faults */
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&all, own[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; t->threads < t->wanted; t->threads++) {
        tc_team_worker *w = &t->workers[t->threads];
        *w = (tc_team_worker){.team = t, .id = (uint32_t)t->threads};
        bind(t->threads, &a);
        if (pthread_create(&w->thread, &a, tc_team_work, w))
            break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&a);
}

/* NULL: no memory. */
static tc_team *make_team(int wanted) {
    tc_team *t = aligned_alloc(TC_TEAM_APART, sizeof *t);
    tc_team_lane *lanes = aligned_alloc(TC_TEAM_APART, (size_t)wanted * sizeof *lanes);
    tc_team_worker *workers = malloc((size_t)wanted * sizeof *workers);
    if (!t || !lanes || !workers) {
        free(t);
        free(lanes);
        free(workers);
        return NULL;
    }
    memset(t, 0, sizeof *t);
    memset(lanes, 0, (size_t)wanted * sizeof *lanes);
    t->next = 1;
    t->wanted = wanted;
    t->threads = 1;
    t->spin = spin_time();
    t->workers = workers;
    t->lanes_of = lanes;
    start(t);
    return t;
}

typedef struct place {
    _Alignas(TC_TEAM_APART) tc_team_word busy; /* a caller has it, for a region */
    tc_team *team;                             /* of who has it */
} place;

static place places[MOST_TEAMS];
static tc_team_word cores, closed, watches_forks, code;

void tc_team_forget(void) {
    atomic_fetch_add(&code, 1);
}

uint32_t tc_team_code(void) {
    return tc_team_get(&code);
}

/* When it was first asked. */
static int64_t count_cores(void) {
    int n = (int)tc_team_get(&cores);
    if (!n) {
        n = count_cpus();
        n = n > 0 ? n : 1;
        tc_team_set(&cores, (uint32_t)n);
    }
    return n;
}

void tc_team_assume_cores(int n) {
    tc_team_set(&cores, (uint32_t)n);
}

static void leave(place *p) {
    atomic_store_explicit(&p->busy, 0, memory_order_release);
}

/* ---- fork, and the end ---- */

/* With the handle the handlers go when the library is closed, whichever linker made it. Where libc has no such function, a child
 * has no threads: its callers run alone. */
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *) __attribute__((weak));
extern void __cxa_finalize(void *) __attribute__((weak));
static char handle;

/* Threads that were in regions are gone with these. */
static void in_child(void) {
    for (int i = 0; i < MOST_TEAMS; i++) {
        tc_team *t = places[i].team;
        if (t) {
            memset(t->lanes_of, 0, (size_t)t->wanted * sizeof *t->lanes_of);
            tc_team_set(&t->call, 0);
            tc_team_set(&t->asleep, 0);
            tc_team_set(&t->caller_sleeps, 0);
            t->next = 1;
            t->expected = 0;
            t->threads = 1;
            t->forked = true;
        }
        tc_team_set(&places[i].busy, 0);
    }
}

static void watch_forks(void) {
    if (__register_atfork && !atomic_exchange(&watches_forks, 1))
        __register_atfork(NULL, NULL, in_child, &handle);
}

/* A team that runs a region now keeps its threads: then the program ends. */
__attribute__((destructor)) static void close_teams(void) {
    tc_team_set(&closed, 1);
    if (__cxa_finalize && tc_team_get(&watches_forks))
        __cxa_finalize(&handle);
    for (int i = 0; i < MOST_TEAMS; i++)
        if (!atomic_exchange(&places[i].busy, 1) && places[i].team)
            end_team(places[i].team);
}

/* ---- callers ---- */

/* The team of who has the place, of at least 2 threads, or NULL. */
static tc_team *team_of(place *p, int wanted) {
    tc_team *t = p->team;
    if (t && t->wanted < wanted) {
        p->team = NULL;
        end_team(t);
        t = NULL;
    }
    if (!t && wanted > 1 && !tc_team_get(&closed)) {
        watch_forks();
        p->team = t = make_team(wanted);
    }
    if (t && t->forked)
        start(t);
    return t && t->threads > 1 ? t : NULL;
}

/* A place with a team, or NULL. */
static place *enter(int threads) {
    int64_t most = count_cores();
    for (int i = 0; i < MOST_TEAMS && (i == 0 || (int64_t)threads * (i + 1) <= most); i++) {
        place *p = &places[i];
        if (tc_team_get(&p->busy) || atomic_exchange_explicit(&p->busy, 1, memory_order_acquire))
            continue;
        if (team_of(p, threads < most ? threads : (int)most))
            return p;
        leave(p);
        return NULL;
    }
    return NULL;
}

extern int omp_in_parallel(void) __attribute__((weak));

int32_t tc_team_parallel_for(const tc_rt *rt, int64_t n, tc_rt_body *body, void *closure) {
    if (n <= 0)
        return 0;
    place *p = n == 1 || rt->nthreads <= 1 || (omp_in_parallel && omp_in_parallel()) ? NULL : enter(rt->nthreads);
    if (!p) {
        body(0, n, 0, closure);
        return 0;
    }
    tc_team_run(p->team, rt, n, body, closure);
    leave(p);
    return 0;
}
