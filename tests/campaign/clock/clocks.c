/* Clocks that a command has in place of libc's, its workers too. TCTUNE_CLOCKS names what they do, with a seed ("leaps:7"):
 *   wall      the wall clock is set forward and back by years, at every third reading or so
 *   epoch     it was set to before 1970
 *   leaps     the monotonic clock goes on by minutes or hours, at one reading in four, but not twice in 10 ms: nobody ran meanwhile
 *   coarse    it goes in steps of a millisecond
 *   coarser   it goes in steps of 20 milliseconds
 *   still     it stands still
 * What a process had of the processors is told as it is. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

typedef int get_clock(clockid_t, struct timespec *);

static const int64_t second = 1000000000;
static get_clock *real;
static const char *kind = "";
static uint64_t seed;
static atomic_uint_fast64_t readings;
static atomic_int_fast64_t leapt, set; /* nanoseconds that the clocks are ahead by */
static atomic_int_fast64_t last_leap;  /* when it was */

/* Before any other thread, and before a worker's sandbox is closed. */
__attribute__((constructor)) static void start(void) {
    const char *does = getenv("TCTUNE_CLOCKS"), *colon = does ? strchr(does, ':') : NULL;
    real = (get_clock *)dlsym(RTLD_NEXT, "clock_gettime");
    kind = does ? does : "";
    seed = colon ? strtoull(colon + 1, NULL, 10) : 0;
}

static int is(const char *name) {
    size_t n = strlen(name);
    return strncmp(kind, name, n) == 0 && (kind[n] == 0 || kind[n] == ':');
}

/* SplitMix64 of the seed and the number of the reading. */
static uint64_t draw(void) {
    uint64_t z = (seed + 1) * 0x9e3779b97f4a7c15u + atomic_fetch_add(&readings, 1) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int64_t monotonic(int64_t t) {
    if (is("still"))
        return second;
    if (is("coarse"))
        return t / (second / 1000) * (second / 1000);
    if (is("coarser"))
        return t / (second / 50) * (second / 50);
    if (!is("leaps"))
        return t;
    uint64_t drawn = draw();
    int64_t last = atomic_load(&last_leap);
    if (drawn % 4 == 0 && t - last > second / 100 && atomic_compare_exchange_strong(&last_leap, &last, t))
        atomic_fetch_add(&leapt, (int64_t)(60 + drawn / 4 % 10000) * second);
    return t + atomic_load(&leapt);
}

static int64_t wall(int64_t t) {
    static const int64_t year = 31556952;
    if (is("epoch"))
        return t % second - second * 1000;
    if (!is("wall"))
        return t;
    uint64_t drawn = draw();
    if (drawn % 3 == 0)
        atomic_store(&set, ((int64_t)(drawn / 3 % 61) - 30) * year * second);
    return t + atomic_load(&set);
}

int clock_gettime(clockid_t id, struct timespec *out) {
    int status = real(id, out);
    int64_t t = (int64_t)out->tv_sec * second + out->tv_nsec;
    if (status != 0 || (id != CLOCK_MONOTONIC && id != CLOCK_REALTIME))
        return status;
    t = id == CLOCK_MONOTONIC ? monotonic(t) : wall(t);
    out->tv_sec = (time_t)((t - (t % second + second) % second) / second);
    out->tv_nsec = (long)((t % second + second) % second);
    return 0;
}

time_t time(time_t *out) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (out)
        *out = t.tv_sec;
    return t.tv_sec;
}

int gettimeofday(struct timeval *out, void *zone) {
    struct timespec t;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &t);
    *out = (struct timeval){t.tv_sec, t.tv_nsec / 1000};
    return 0;
}
