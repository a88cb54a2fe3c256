/* What team.h describes. This file needs libc only: it is also compiled apart, for libraries.
 *
 * How a region is handed over. All parts that a team ever ran are numbered: a region's parts in every lane are the numbers
 * [first, first + parts), and `taken` of a lane is the next number. Who takes a part raises `taken` from within that range. So a
 * thread that is late, and still looks at an earlier region, finds that there is nothing left to take: all of a region is taken
 * before the next one begins. A thread that took a part may read the region's other fields as they were when it read `first`, as
 * the caller waits for that part. */
#include "codegen/team/team.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    APART = 128,             /* bytes between what different threads write: processors fetch two lines at a time */
    MOST_PARTS = 8,          /* of a lane */
    NEIGHBOURS = 8,          /* other lanes in which a thread looks for parts; the caller looks in all */
    MOST_TEAMS = 64,         /* of a process */
    LEAST_STACK = 512 << 10, /* bytes; kernels take 64 KiB, the C library's storage of a thread some more */
    WORTH_CROWDED = 4,       /* threads are woken where work is worth so much of what that costs, and cores are missing */
    GRACE = 16,              /* pauses before a thread looks at what others write: most are about to end their lanes, and looking
                              * makes them slower */
    PAUSES = 16              /* between two looks at the clock */
};

/* Nanoseconds. */
enum {
    SHORT = 5000,           /* how long a thread spins where cores are missing */
    PATIENCE = 200000,      /* how long the caller spins elsewhere for what others are at */
    LOST = 100000,          /* a thread that spins and sees no time pass for so long had no core */
    CROWDED = 50000000,     /* for how long the machine is then taken to have too few */
    MOST_ALONE = 250000000, /* for how long the caller may do without the others, */
    ALONE_FOR_WAITING = 8   /* and how long for each nanosecond that it waited */
};
static const uint64_t spin_usual = 5000000, spin_active = 5000000000;

typedef _Atomic uint64_t number;
typedef _Atomic uint32_t word;

/* What is left to take of a lane, and how many parts its thread did, of any lane, ever. */
typedef struct lane {
    _Alignas(APART) number taken;
    word done;
} lane;

typedef struct team team;

typedef struct worker {
    team *team;
    uint32_t id; /* its lane; the caller has lane 0 */
    pthread_t thread;
} worker;

struct team {
    /* The region. Written by the caller. */
    _Alignas(APART) number first;
    _Atomic(tc_rt_body *) body;
    _Atomic(void *) closure;
    _Atomic int64_t n;
    word parts, lanes;
    word bell; /* another value for each region: what threads sleep on */
    word quit;
    /* Seldom written. */
    _Alignas(APART) word asleep; /* how many sleep */
    word late;                   /* the caller waited for long */
    word caller_sleeps, rung;    /* on `rung` */
    number crowded_until;        /* nanoseconds; 0: not crowded */
    number called;               /* when threads were last woken */
    /* The caller's own. */
    _Alignas(APART) uint64_t next, alone_until;
    uint64_t owed, wake_cost; /* nanoseconds in regions since the others sleep; of waking them */
    uint32_t expected;        /* the sum of the others' `done` when the region is done */
    int wanted;               /* threads, when it was made */
    int threads;              /* that there are, the caller included */
    bool forked;              /* the threads are another process's: none were started here yet */
    pid_t process;            /* that has the threads */
    uint64_t spin;            /* nanoseconds */
    worker *workers;
    lane *lanes_of;
};

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#elif defined(__riscv)
    __asm__ volatile(".insn i 0x0f, 0, x0, x0, 0x010" ::: "memory");
#endif
}

#define get(p) atomic_load_explicit(p, memory_order_relaxed)
#define set(p, v) atomic_store_explicit(p, v, memory_order_relaxed)

static void futex_sleep(word *at, uint32_t while_it_is) {
    syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, while_it_is, NULL, NULL, 0);
}

static void futex_wake(word *at) {
    syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* ---- parts ---- */

typedef struct region {
    uint64_t first;
    tc_rt_body *body;
    void *closure;
    int64_t n;
    uint32_t parts, lanes;
} region;

/* Runs parts [from, to) of a lane: as thread `id`. */
static void run_parts(const region *r, uint32_t of, uint64_t from, uint64_t to, uint32_t id) {
    int64_t all = (int64_t)r->parts * r->lanes, at = (int64_t)of * r->parts;
    int64_t begin = (int64_t)((__int128)r->n * (at + (int64_t)from) / all),
            end = (int64_t)((__int128)r->n * (at + (int64_t)to) / all);
    if (begin < end)
        r->body(begin, end, (int32_t)id, r->closure);
}

/* Takes parts of a lane and runs them: half of what is left, or one. Returns how many, 0: nothing is left. */
static uint32_t take(team *t, const region *r, uint32_t of, uint32_t id, bool half) {
    number *taken = &t->lanes_of[of].taken;
    uint64_t v = get(taken), at, n;
    do {
        at = v > r->first ? v - r->first : 0;
        if (at >= r->parts)
            return 0;
        n = half ? (r->parts - at + 1) / 2 : 1;
    } while (!atomic_compare_exchange_weak_explicit(taken, &v, r->first + at + n, memory_order_acq_rel, memory_order_relaxed));
    run_parts(r, of, at, at + n, id);
    return (uint32_t)n;
}

/* ---- a crowded machine ---- */

static bool is_crowded(const team *t) {
    return get(&t->crowded_until) != 0;
}

static void note_crowd(team *t, uint64_t when) {
    set(&t->crowded_until, when + CROWDED);
}

/* Is called by threads that wait: they have time. */
static void look_around(team *t, uint64_t when) {
    uint64_t until = get(&t->crowded_until);
    if (until && when > until)
        atomic_compare_exchange_strong(&t->crowded_until, &until, 0);
}

/* How often the calling thread lost its core. */
static long lost_cores(void) {
    struct rusage u;
    return getrusage(RUSAGE_THREAD, &u) == 0 ? u.ru_nivcsw : 0;
}

/* ---- threads ---- */

typedef struct wait {
    uint64_t began, last;
    long lost; /* as of when it last had time to look */
} wait_state;

static void sleep_until_called(team *t, uint64_t seen) {
    uint32_t bell = atomic_load_explicit(&t->bell, memory_order_acquire);
    atomic_fetch_add(&t->asleep, 1);
    /* If a call is missed here, the caller does this thread's parts, and calls again at the next region. */
    if (get(&t->first) == seen && !get(&t->quit))
        futex_sleep(&t->bell, bell);
    atomic_fetch_sub(&t->asleep, 1);
}

/* Waits for a region after `seen`; false: the team ends. */
static bool await_region(team *t, uint64_t seen, uint64_t *first, wait_state *w) {
    w->began = 0;
    for (unsigned i = 1;; i++) {
        *first = atomic_load_explicit(&t->first, memory_order_acquire);
        if (*first != seen)
            return true;
        if (get(&t->quit))
            return false;
        relax();
        if (i % PAUSES)
            continue;
        uint64_t when = now();
        if (!w->began)
            w->began = w->last = when;
        if (when - w->last > LOST)
            note_crowd(t, when);
        look_around(t, when);
        w->last = when;
        if (when - w->began < (is_crowded(t) && t->spin > SHORT ? SHORT : t->spin))
            continue;
        w->lost = lost_cores();
        sleep_until_called(t, seen);
        if (get(&t->quit))
            return false;
        when = now();
        if (is_crowded(t) && get(&t->first) != seen && when - get(&t->called) > LOST && when > get(&t->called))
            note_crowd(t, when);
        w->began = w->last = when;
    }
}

static void read_region(team *t, region *r) {
    r->body = get(&t->body);
    r->closure = get(&t->closure);
    r->n = get(&t->n);
    r->parts = get(&t->parts);
    r->lanes = get(&t->lanes);
}

static void tell(team *t, uint32_t id, uint32_t did) {
    atomic_fetch_add(&t->lanes_of[id].done, did);
    if (!atomic_load(&t->caller_sleeps))
        return;
    atomic_fetch_add(&t->rung, 1);
    futex_wake(&t->rung);
}

/* Whether the region still lasts after a moment. */
static bool lasts(team *t, const region *r) {
    for (int i = 0; i < GRACE; i++) {
        if (get(&t->first) != r->first)
            return false;
        relax();
    }
    return true;
}

/* Did the caller wait because this thread had no core? */
static void look_back(team *t, wait_state *w) {
    if (!get(&t->late))
        return;
    long lost = lost_cores();
    set(&t->late, 0);
    if (lost > w->lost)
        note_crowd(t, now());
    w->lost = lost;
}

static void *work(void *user) {
    worker *me = user;
    team *t = me->team;
    uint64_t seen = 0;
    wait_state w = {.lost = lost_cores()};
    region r;
    while (await_region(t, seen, &r.first, &w)) {
        uint32_t did = 0, n;
        seen = r.first;
        read_region(t, &r);
        if (me->id >= r.lanes)
            continue;
        while ((n = take(t, &r, me->id, me->id, true)) > 0)
            did += n;
        if (did)
            tell(t, me->id, did);
        for (uint32_t i = 1; i < r.lanes && i <= NEIGHBOURS && lasts(t, &r); i++)
            while ((n = take(t, &r, (me->id + i) % r.lanes, me->id, false)) > 0)
                tell(t, me->id, n);
        look_back(t, &w);
    }
    return NULL;
}

/* ---- the caller ---- */

static bool is_done(const team *t) {
    uint32_t sum = 0;
    for (int i = 1; i < t->threads; i++)
        sum += atomic_load(&t->lanes_of[i].done);
    return sum == t->expected;
}

/* Sleeps until others have done more. It does not yield its core instead: Linux lets who yields often wait for long. */
static void sleep_until_told(team *t) {
    atomic_store(&t->caller_sleeps, 1);
    uint32_t rung = atomic_load(&t->rung);
    if (!is_done(t))
        futex_sleep(&t->rung, rung);
    atomic_store(&t->caller_sleeps, 0);
}

/* Waiting was of no use for so long: the caller goes on alone for a while where cores are missing. */
static void note_waiting(team *t, uint64_t when, uint64_t waited) {
    uint64_t alone = waited * ALONE_FOR_WAITING;
    if (waited > LOST && is_crowded(t))
        t->alone_until = when + (alone < MOST_ALONE ? alone : MOST_ALONE);
}

static void await_others(team *t) {
    uint64_t began = 0, when = 0;
    for (unsigned i = 1; !is_done(t); i++) {
        relax();
        if (i % PAUSES)
            continue;
        when = now();
        began = began ? began : when;
        if (when - began > LOST)
            set(&t->late, 1);
        if (when - began > (is_crowded(t) ? SHORT : PATIENCE))
            sleep_until_told(t);
    }
    if (began && (when = now()) - began > SHORT)
        note_waiting(t, when, when - began);
}

static void wake_all(team *t, uint64_t when) {
    set(&t->called, when);
    futex_wake(&t->bell);
    t->wake_cost = (3 * t->wake_cost + (now() - when)) / 4;
    t->owed = 0;
}

/* Sleepers are woken when the work of the caller since then is worth what that costs. */
static void wake_if_worthwhile(team *t, uint64_t *since) {
    uint64_t when = now();
    t->owed += when - *since;
    *since = when;
    if (t->owed >= t->wake_cost * (is_crowded(t) ? WORTH_CROWDED : 1) && get(&t->asleep))
        wake_all(t, when);
}

static void begin(team *t, const region *r) {
    set(&t->body, r->body);
    set(&t->closure, r->closure);
    set(&t->n, r->n);
    set(&t->parts, r->parts);
    set(&t->lanes, r->lanes);
    atomic_store_explicit(&t->first, r->first, memory_order_release);
    atomic_store_explicit(&t->bell, get(&t->bell) + 1, memory_order_release);
}

/* Waits for a moment until the others are done; false: they are not. */
static bool soon_done(team *t) {
    for (int i = 0; i < GRACE; i++) {
        if (is_done(t))
            return true;
        relax();
    }
    return false;
}

/* Takes parts of the own lane, and then what others have not taken, and waits for what they have. */
static void run_as_caller(team *t, const region *r) {
    bool asleep = get(&t->asleep) != 0;
    uint64_t since = asleep ? now() : 0;
    uint32_t before = t->expected, did = 0, n;
    if (asleep)
        wake_if_worthwhile(t, &since);
    for (uint32_t of = 0; of < r->lanes; of++) {
        while ((n = take(t, r, of, 0, of == 0 && !asleep)) > 0) {
            did += n;
            if (asleep)
                wake_if_worthwhile(t, &since);
        }
        t->expected = before + r->parts * r->lanes - did;
        if (of == 0 && !asleep && soon_done(t))
            return;
    }
    if (t->expected != before)
        await_others(t);
}

static void run_region(team *t, int threads, int64_t n, tc_rt_body *body, void *closure) {
    if (is_crowded(t)) {
        uint64_t when = now();
        look_around(t, when);
        if (when < t->alone_until) {
            body(0, n, 0, closure);
            return;
        }
    }
    int64_t lanes = threads < t->threads ? threads : t->threads, parts;
    lanes = n < lanes ? n : lanes;
    parts = (n + lanes - 1) / lanes;
    region r = {.first = t->next, .body = body, .closure = closure, .n = n, .lanes = (uint32_t)lanes};
    r.parts = (uint32_t)(parts < MOST_PARTS ? parts : MOST_PARTS);
    t->next += r.parts;
    begin(t, &r);
    run_as_caller(t, &r);
}

/* ---- teams ---- */

static uint64_t spin_time(void) {
    const char *policy = getenv("OMP_WAIT_POLICY");
    if (policy && (policy[0] == 'p' || policy[0] == 'P'))
        return SHORT;
    return policy && (policy[0] == 'a' || policy[0] == 'A') ? spin_active : spin_usual;
}

static void end_team(team *t) {
    set(&t->quit, 1);
    atomic_store_explicit(&t->bell, get(&t->bell) + 1, memory_order_release);
    futex_wake(&t->bell);
    for (int i = 1; i < t->threads && t->process == getpid(); i++)
        pthread_join(t->workers[i].thread, NULL);
    free(t->workers);
    free(t->lanes_of);
    free(t);
}

static void start(team *t) {
    sigset_t all, before;
    pthread_attr_t a;
    size_t stack;
    t->forked = false;
    t->process = getpid();
    if (pthread_attr_init(&a))
        return;
    if (pthread_attr_getstacksize(&a, &stack) == 0 && stack < LEAST_STACK)
        pthread_attr_setstacksize(&a, LEAST_STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the program's own threads */
    for (; t->threads < t->wanted; t->threads++) {
        worker *w = &t->workers[t->threads];
        *w = (worker){.team = t, .id = (uint32_t)t->threads};
        if (pthread_create(&w->thread, &a, work, w))
            break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&a);
}

/* NULL: no memory. */
static team *make_team(int wanted) {
    team *t = aligned_alloc(APART, sizeof *t);
    lane *lanes = aligned_alloc(APART, (size_t)wanted * sizeof *lanes);
    worker *workers = malloc((size_t)wanted * sizeof *workers);
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
    _Alignas(APART) word busy; /* a caller has it, for a region */
    team *team;                /* of who has it */
} place;

static place places[MOST_TEAMS];
static word cores, closed, watches_forks;

/* CPUs that the calling thread may run on, when it was first asked. */
static int64_t count_cores(void) {
    int n = (int)get(&cores);
    cpu_set_t cpus;
    if (!n) {
        n = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : (int)sysconf(_SC_NPROCESSORS_ONLN);
        n = n > 0 ? n : 1;
        set(&cores, (uint32_t)n);
    }
    return n;
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
        team *t = places[i].team;
        if (t) {
            memset(t->lanes_of, 0, (size_t)t->wanted * sizeof *t->lanes_of);
            set(&t->first, 0);
            set(&t->asleep, 0);
            set(&t->caller_sleeps, 0);
            t->next = 1;
            t->expected = 0;
            t->threads = 1;
            t->forked = true;
        }
        set(&places[i].busy, 0);
    }
}

static void watch_forks(void) {
    if (__register_atfork && !atomic_exchange(&watches_forks, 1))
        __register_atfork(NULL, NULL, in_child, &handle);
}

/* A team that runs a region now keeps its threads: then the program ends. */
__attribute__((destructor)) static void close_teams(void) {
    set(&closed, 1);
    if (__cxa_finalize && get(&watches_forks))
        __cxa_finalize(&handle);
    for (int i = 0; i < MOST_TEAMS; i++)
        if (!atomic_exchange(&places[i].busy, 1) && places[i].team)
            end_team(places[i].team);
}

/* ---- callers ---- */

/* The team of who has the place, of at least 2 threads, or NULL. */
static team *team_of(place *p, int wanted) {
    team *t = p->team;
    if (t && t->wanted < wanted) {
        p->team = NULL;
        end_team(t);
        t = NULL;
    }
    if (!t && wanted > 1 && !get(&closed)) {
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
        if (get(&p->busy) || atomic_exchange_explicit(&p->busy, 1, memory_order_acquire))
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
    run_region(p->team, rt->nthreads, n, body, closure);
    leave(p);
    return 0;
}
