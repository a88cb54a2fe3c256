/* How a region is handed over, done, and waited for. Files of this folder need libc only: they are also compiled apart, for
 * libraries.
 *
 * All parts that a team ever ran are numbered: a region's parts in every lane are the numbers [first, first + parts), and `taken`
 * of a lane is the next number. Who takes a part raises `taken` from within that range. So a thread that is late, and still has
 * an earlier region in mind, finds that there is nothing left to take: all of a region is taken before the next one begins.
 * `call` is twice the number `first`, and odd while the caller writes the other fields of a region: who reads the same even
 * number before and after these has the fields of one region. */
#include <fcntl.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "codegen/team/team_int.h"

enum {
    MOST_PARTS = 8,    /* of a lane */
    NEIGHBOURS = 8,    /* other lanes in which a thread looks for parts; the caller looks in all */
    WORTH_CROWDED = 4, /* threads are woken where work is worth so much of what that costs, and cores are missing */
    GRACE = 16,        /* pauses before a thread looks at what others write: most are about to end their lanes, and looking
                        * makes them slower */
    PAUSES = 16,       /* between two looks at the clock */
    ASKING = 16,       /* regions between two questions whether the caller lost its core */
    ALONE = 4          /* for each nanosecond that it lost or waited the caller goes on alone for so many, the first time */
};

/* Nanoseconds. */
enum {
    PATIENCE = 200000,          /* how long the caller spins for parts that others are at, where cores are not missing */
    MOST_PATIENCE = 1000000000, /* and for a thread to begin, where it is patient */
    LATE = 100000,              /* what the caller waits for then may be a thread without a core */
    LOST = 400000,              /* a thread that spins and sees no time pass for so long had no core, */
    LOST_ASLEEP = 2000000,      /* and one that was woken so long ago */
    MOST_WAKE_COST = 100000,
    CROWDED = 50000000,    /* for how long the machine is then taken to have too few */
    LONG_LOSS = 1000000,   /* less than others' turns take */
    OFTEN = 30000000,      /* a caller that lost its core for long, twice within this time, has to share it */
    MOST_ALONE = 250000000 /* for how long the caller may do without the others */
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

static void futex_sleep(tc_team_word *at, uint32_t while_it_is) {
    syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, while_it_is, NULL, NULL, 0);
}

static void futex_wake(tc_team_word *at) {
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

/* n * part / all, rounded down. As n * part may not fit, n is split first: part is at most all, a few thousand. */
static int64_t share(int64_t n, int64_t part, int64_t all) {
    return n / all * part + n % all * part / all;
}

/* Runs parts [from, to) of a lane: as thread `id`. */
static void run_parts(const region *r, uint32_t of, uint64_t from, uint64_t to, uint32_t id) {
    int64_t all = (int64_t)r->parts * r->lanes, at = (int64_t)of * r->parts;
    int64_t begin = share(r->n, at + (int64_t)from, all), end = share(r->n, at + (int64_t)to, all);
    if (begin < end)
        r->body(begin, end, (int32_t)id, r->closure);
}

/* Takes parts of a lane and runs them: half of what is left, or one. Returns how many, 0: nothing is left. */
static uint32_t take(tc_team *t, const region *r, uint32_t of, uint32_t id, bool half) {
    tc_team_number *taken = &t->lanes_of[of].taken;
    uint64_t v = tc_team_get(taken), at, n;
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

static bool is_crowded(const tc_team *t) {
    return tc_team_get(&t->crowded_until) != 0;
}

static void note_crowd(tc_team *t, uint64_t when) {
    if (!tc_team_get(&t->patient))
        tc_team_set(&t->crowded_until, when + CROWDED);
}

/* Is called by threads that wait: they have time. */
static void look_around(tc_team *t, uint64_t when) {
    uint64_t until = tc_team_get(&t->crowded_until);
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

static void sleep_until_called(tc_team *t, uint64_t seen) {
    uint32_t bell = atomic_load_explicit(&t->bell, memory_order_acquire);
    atomic_fetch_add(&t->asleep, 1);
    /* If a call is missed here, the caller does this thread's parts, and calls again at the next region. */
    if (tc_team_get(&t->call) == seen && !tc_team_get(&t->quit))
        futex_sleep(&t->bell, bell);
    atomic_fetch_sub(&t->asleep, 1);
}

/* The thread that waits has the time to look at the clock. Sleeps when it waited for long enough. */
static void wait_on(tc_team *t, uint64_t seen, wait_state *w) {
    uint64_t when = now();
    if (!w->began)
        w->began = w->last = when;
    if (when - w->last > LOST)
        note_crowd(t, when);
    look_around(t, when);
    w->last = when;
    if (when - w->began < (is_crowded(t) && t->spin > TC_TEAM_SHORT ? TC_TEAM_SHORT : t->spin))
        return;
    w->lost = lost_cores();
    sleep_until_called(t, seen);
    uint64_t called = tc_team_get(&t->called);
    when = now();
    if (when > called && when - called > LOST_ASLEEP && is_crowded(t) && tc_team_get(&t->call) != seen)
        note_crowd(t, when);
    w->began = w->last = when;
}

/* Reads the region of a call, if that is still the last one. */
static bool read_region(tc_team *t, uint64_t call, region *r) {
    r->first = call / 2;
    r->body = atomic_load_explicit(&t->body, memory_order_acquire);
    r->closure = atomic_load_explicit(&t->closure, memory_order_acquire);
    r->n = atomic_load_explicit(&t->n, memory_order_acquire);
    r->parts = atomic_load_explicit(&t->parts, memory_order_acquire);
    r->lanes = atomic_load_explicit(&t->lanes, memory_order_acquire);
    return tc_team_get(&t->call) == call;
}

/* Waits for another region than that of *seen; false: the team ends. */
static bool await_region(tc_team *t, uint64_t *seen, region *r, wait_state *w) {
    w->began = 0;
    for (unsigned i = 1;; i++) {
        uint64_t call = atomic_load_explicit(&t->call, memory_order_acquire);
        if (call != *seen && call % 2 == 0 && read_region(t, call, r)) {
            *seen = call;
            return true;
        }
        if (tc_team_get(&t->quit))
            return false;
        relax();
        if (i % PAUSES == 0)
            wait_on(t, *seen, w);
    }
}

static void tell(tc_team *t, uint32_t id, uint32_t did) {
    atomic_fetch_add(&t->lanes_of[id].done, did);
    if (!atomic_load(&t->caller_sleeps))
        return;
    atomic_fetch_add(&t->rung, 1);
    futex_wake(&t->rung);
}

/* Whether the region still lasts after a moment. */
static bool lasts(tc_team *t, const region *r) {
    for (int i = 0; i < GRACE; i++) {
        if (tc_team_get(&t->call) != 2 * r->first)
            return false;
        relax();
    }
    return true;
}

/* Did the caller wait because this thread had no core? */
static void look_back(tc_team *t, wait_state *w) {
    if (!tc_team_get(&t->late))
        return;
    long lost = lost_cores();
    tc_team_set(&t->late, 0);
    if (lost > w->lost)
        note_crowd(t, now());
    w->lost = lost;
}

void *tc_team_work(void *user) {
    tc_team_worker *me = user;
    tc_team *t = me->team;
    uint64_t seen = 0;
    wait_state w = {.lost = lost_cores()};
    region r;
    while (await_region(t, &seen, &r, &w)) {
        uint32_t did = 0, n;
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

static bool is_done(const tc_team *t) {
    uint32_t sum = 0;
    for (int i = 1; i < t->threads; i++)
        sum += atomic_load(&t->lanes_of[i].done);
    return sum == t->expected;
}

/* Sleeps until others have done more. It does not yield its core instead: Linux lets who yields often wait for long. */
static void sleep_until_told(tc_team *t) {
    atomic_store(&t->caller_sleeps, 1);
    uint32_t rung = atomic_load(&t->rung);
    if (!is_done(t))
        futex_sleep(&t->rung, rung);
    atomic_store(&t->caller_sleeps, 0);
}

void tc_team_go_alone(tc_team *t, uint64_t when, uint64_t alone) {
    uint64_t again = when < t->alone_until + CROWDED ? 2 * t->alone_for : 0;
    alone = alone > again ? alone : again;
    t->alone_for = alone < MOST_ALONE ? alone : MOST_ALONE;
    t->alone_until = when + t->alone_for / (uint64_t)(t->threads - 1);
    note_crowd(t, t->alone_until);
}

/* Waiting was of no use for so long. */
static void note_waiting(tc_team *t, uint64_t when, uint64_t waited) {
    if (waited > LONG_LOSS && is_crowded(t))
        tc_team_go_alone(t, when, waited * ALONE);
}

/* For how many nanoseconds the calling thread has waited for a core since it began; 0: Linux does not say. */
static uint64_t core_awaited(void) {
    char text[64];
    int f = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    ssize_t n = f >= 0 ? read(f, text, sizeof text - 1) : 0;
    if (f >= 0)
        close(f);
    text[n > 0 ? n : 0] = 0;
    const char *second = strchr(text, ' ');
    return second ? strtoull(second, NULL, 10) : 0;
}

/* A thread that lost its core cannot see it but by asking. */
static void ask_for_losses(tc_team *t) {
    pthread_t me = pthread_self();
    long lost = lost_cores();
    bool same = t->asked && pthread_equal(t->caller, me);
    if (same && lost == t->lost)
        return;
    uint64_t waited = core_awaited(), when = now();
    if (same && waited > t->waited + LONG_LOSS) {
        if (when - t->lost_at < OFTEN)
            tc_team_go_alone(t, when, (waited - t->waited) * ALONE);
        t->lost_at = when;
    }
    t->asked = true;
    t->caller = me;
    t->lost = lost;
    t->waited = waited;
}

static void await_others(tc_team *t) {
    uint64_t began = 0, when = 0;
    for (unsigned i = 1; !is_done(t); i++) {
        relax();
        if (i % PAUSES)
            continue;
        when = now();
        began = began ? began : when;
        if (when - began > LATE)
            tc_team_set(&t->late, 1);
        if (when - began > (is_crowded(t) ? TC_TEAM_SHORT : PATIENCE))
            sleep_until_told(t);
    }
    if (began && (when = now()) - began > TC_TEAM_SHORT)
        note_waiting(t, when, when - began);
}

static void wake_all(tc_team *t, uint64_t when) {
    tc_team_set(&t->called, when);
    futex_wake(&t->bell);
    uint64_t cost = now() - when;
    t->wake_cost = (3 * t->wake_cost + (cost < MOST_WAKE_COST ? cost : MOST_WAKE_COST)) / 4;
    t->owed = 0;
}

/* Sleepers are woken when the work of the caller since then is worth what that costs. */
static void wake_if_worthwhile(tc_team *t, uint64_t *since) {
    uint64_t when = now();
    t->owed += when - *since;
    *since = when;
    uint64_t worth = tc_team_get(&t->patient) ? 0 : t->wake_cost * (is_crowded(t) ? WORTH_CROWDED : 1);
    if (t->owed >= worth && tc_team_get(&t->asleep))
        wake_all(t, when);
}

static void begin(tc_team *t, const region *r) {
    tc_team_set(&t->call, 2 * r->first - 1);
    atomic_store_explicit(&t->body, r->body, memory_order_release);
    atomic_store_explicit(&t->closure, r->closure, memory_order_release);
    atomic_store_explicit(&t->n, r->n, memory_order_release);
    atomic_store_explicit(&t->parts, r->parts, memory_order_release);
    atomic_store_explicit(&t->lanes, r->lanes, memory_order_release);
    atomic_store_explicit(&t->call, 2 * r->first, memory_order_release);
    atomic_store_explicit(&t->bell, tc_team_get(&t->bell) + 1, memory_order_release);
}

/* Waits for a moment until the others are done; false: they are not. */
static bool soon_done(tc_team *t) {
    for (int i = 0; i < GRACE; i++) {
        if (is_done(t))
            return true;
        relax();
    }
    return false;
}

/* The thread of a lane has taken a part, or others have taken all. A thread that does not come is gone, as in a child of fork. */
static void await_begin(tc_team *t, const region *r, uint32_t of) {
    uint64_t began = 0;
    for (unsigned i = 1; tc_team_get(&t->lanes_of[of].taken) <= r->first; i++) {
        relax();
        if (i % PAUSES)
            continue;
        uint64_t when = now();
        began = began ? began : when;
        if (when - began > MOST_PATIENCE)
            return;
        if (tc_team_get(&t->asleep))
            wake_all(t, when);
    }
}

/* Takes parts of the own lane, and then what others have not taken, and waits for what they have. */
static void run_as_caller(tc_team *t, const region *r) {
    bool asleep = tc_team_get(&t->asleep) != 0;
    uint64_t since = asleep ? now() : 0;
    uint32_t before = t->expected, did = 0, n;
    if (asleep)
        wake_if_worthwhile(t, &since);
    for (uint32_t of = 0; of < r->lanes; of++) {
        if (of && tc_team_get(&t->patient))
            await_begin(t, r, of);
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

static void share_region(tc_team *t, const tc_rt *rt, int64_t n, tc_rt_body *body, void *closure) {
    int64_t lanes = rt->nthreads < t->threads ? rt->nthreads : t->threads, parts;
    lanes = n < lanes ? n : lanes;
    parts = (n + lanes - 1) / lanes;
    region r = {.first = t->next, .body = body, .closure = closure, .n = n, .lanes = (uint32_t)lanes};
    r.parts = (uint32_t)(parts < MOST_PARTS ? parts : MOST_PARTS);
    t->next += r.parts;
    begin(t, &r);
    run_as_caller(t, &r);
}

/* By all threads or by the caller alone, as is faster. */
static void run_where_faster(tc_team *t, const tc_rt *rt, int64_t n, tc_rt_body *body, void *closure) {
    uint32_t code = tc_team_code();
    if (t->code != code) {
        memset(&t->sites, 0, sizeof t->sites);
        t->code = code;
    }
    tc_team_site *s = tc_team_site_of(&t->sites, body, n);
    bool timed = false, crowded = is_crowded(t), alone = s && (crowded ? s->alone : tc_team_site_asks(s, &timed));
    uint64_t began = timed ? now() : 0;
    if (alone)
        body(0, n, 0, closure);
    else
        share_region(t, rt, n, body, closure);
    if (timed)
        tc_team_site_took(s, now() - began);
}

void tc_team_run(tc_team *t, const tc_rt *rt, int64_t n, tc_rt_body *body, void *closure) {
    bool patient = rt->impl == TC_TEAM_PATIENT;
    if (patient != (tc_team_get(&t->patient) != 0)) {
        tc_team_set(&t->patient, patient);
        tc_team_set(&t->crowded_until, 0);
    }
    if (++t->calls % ASKING == 0 && !patient)
        ask_for_losses(t);
    if (is_crowded(t)) {
        uint64_t when = now();
        look_around(t, when);
        if (when < t->alone_until) {
            body(0, n, 0, closure);
            return;
        }
    }
    if (patient || rt->impl == TC_TEAM_SHARED)
        share_region(t, rt, n, body, closure);
    else
        run_where_faster(t, rt, n, body, closure);
}

void tc_team_ring(tc_team *t) {
    atomic_store_explicit(&t->bell, tc_team_get(&t->bell) + 1, memory_order_release);
    futex_wake(&t->bell);
}
