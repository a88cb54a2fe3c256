/* What the system says of its memory: /proc/meminfo and the limits of its control groups (of both versions). What the process itself
 * may have, it tells by a mapping, which is given back. And the reserve for small blocks that are refused. */
#include "support/memory.h"

#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/fs.h"

/* Smaller ones are not worth a look into /proc. */
static const uint64_t SMALL = 32 << 20;
/* Smaller ones are not worth a mapping: the reserve has several. */
static const uint64_t TINY = 1 << 20;

static atomic_int calls;       /* that are under way */
static atomic_bool is_reserve; /* it is full, or was when they began */

/* The beginning of a file, with a NUL; false when it cannot be read, as in a sandbox. */
static bool read_start(const char *path, char *text, size_t cap) {
    size_t n = tc_fs_read_head(path, text, cap - 1);
    text[n] = 0;
    return n > 0;
}

/* "MemAvailable:   23861548 kB" */
static int64_t kilobytes(const char *text, const char *key) {
    const char *at = strstr(text, key);
    return at ? strtoll(at + strlen(key), NULL, 10) : -1;
}

static int64_t available(void) {
    char text[2048];
    int64_t free = read_start("/proc/meminfo", text, sizeof text) ? kilobytes(text, "MemAvailable:") : -1;
    int64_t swap = free < 0 ? -1 : kilobytes(text, "SwapFree:");
    return free < 0 ? INT64_MAX : (free + (swap > 0 ? swap : 0)) << 10;
}

/* What the control group at `path` may use in all: how much of that other processes use, or files that could be dropped, it does not
 * tell simply. INT64_MAX: all there is. */
static int64_t limit_at(const char *path) {
    char text[64], *end = text;
    int64_t limit = read_start(path, text, sizeof text) ? strtoll(text, &end, 10) : 0;
    return end == text || limit < 0 ? INT64_MAX : limit; /* "max" is no number */
}

/* What a group and those around it may use, the least of it; `own` is the group's path, up to the end of the line. */
static int64_t least_limit(const char *folder, const char *own, const char *file) {
    char path[4608];
    int64_t least = INT64_MAX;
    for (size_t n = strcspn(own, "\n");; n--) { /* "/a/b", "/a", "" */
        snprintf(path, sizeof path, "%s%.*s/%s", folder, (int)n, own, file);
        int64_t limit = limit_at(path);
        least = limit < least ? limit : least;
        while (n > 0 && own[n - 1] != '/')
            n--;
        if (n == 0)
            return least;
    }
}

/* "4:cpu,memory:/a/b": whether the memory of version 1 is among the controllers of a line. */
static bool is_memory(const char *line, const char *path) {
    const char *at = strstr(line, "memory");
    return at && at > line && at < path && (at[-1] == ':' || at[-1] == ',') && (at[6] == ':' || at[6] == ',');
}

int64_t tc_memory_of_groups(const char *groups, const char *root) {
    char folder[4096];
    int64_t least = INT64_MAX, limit;
    snprintf(folder, sizeof folder, "%s/memory", root);
    for (const char *line = groups; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *path = strchr(line, '/');
        if (!path)
            break;
        limit = !strncmp(line, "0::/", 4) ? least_limit(root, path, "memory.max")
                : is_memory(line, path)   ? least_limit(folder, path, "memory.limit_in_bytes")
                                          : INT64_MAX;
        least = limit < least ? limit : least;
    }
    return least;
}

static int64_t group_limit(void) {
    char groups[4096];
    return read_start("/proc/self/cgroup", groups, sizeof groups) ? tc_memory_of_groups(groups, "/sys/fs/cgroup") : INT64_MAX;
}

uint64_t tc_memory_all(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t all = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : (uint64_t)8 << 30, group = (uint64_t)group_limit();
    return group < all ? group : all;
}

int64_t tc_memory_left(void) {
    int64_t system = available(), group = group_limit();
    return system < group ? system : group;
}

static void print_size(char *text, size_t cap, uint64_t bytes) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double size = (double)bytes;
    int unit = 0;
    for (; size >= 1024 && unit < 6; unit++)
        size /= 1024;
    snprintf(text, cap, "%.*f %s", unit ? 1 : 0, size, units[unit]);
}

tc_status tc_memory_lacking(uint64_t bytes, tc_error *err) {
    char need[32], have[32];
    int64_t left = tc_memory_left();
    print_size(need, sizeof need, bytes);
    print_size(have, sizeof have, (uint64_t)left);
    if (left == INT64_MAX)
        return tc_fail(err, TC_ENV, "out of memory: %s are needed", need);
    return tc_fail(err, TC_ENV, "out of memory: %s are needed, and %s are free on this machine", need, have);
}

/* Within the limits of this process (RLIMIT_AS), and of what the system promises at all. */
static bool can_be_mapped(uint64_t bytes) {
    void *p =
        bytes > SIZE_MAX / 2 ? MAP_FAILED : mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p != MAP_FAILED && munmap(p, (size_t)bytes) == 0;
}

tc_status tc_memory_check(uint64_t bytes, tc_error *err) {
    bool fits = bytes < TINY || (can_be_mapped(bytes) && (bytes < SMALL || bytes <= (uint64_t)tc_memory_left()));
    return fits ? TC_OK : tc_memory_lacking(bytes, err);
}

/* ---- the reserve (alloc.h) ----
 *
 * Invariant: `reserve` is read and written under `lock`; a block that lies in it is nobody else's. */

/* Most blocks that are asked for are of the first two sizes, or chunks of an arena, which are of the third. What a call takes from here
 * until it ends is counted by tests/campaign/memory: 3.5 MiB at most, in a search on two threads. */
static const struct {
    size_t size;
    int count;
} sizes[] = {{256, 2048}, {2 << 10, 1024}, {64 << 10, 96}, {1 << 20, 8}, {TC_ALLOC_LARGEST, 1}};
enum { NSIZE = sizeof sizes / sizeof sizes[0], MOST = 2048 };

static struct {
    void *block[NSIZE][MOST];
    int len[NSIZE];
    size_t used, wanted;
} reserve;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
atomic_bool tc_alloc_refused;

bool tc_alloc_fill(void) {
    bool full = true;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < NSIZE && full; i++)
        while (full && reserve.len[i] < sizes[i].count) {
            void *p = malloc(sizes[i].size);
            full = p != NULL;
            if (full)
                reserve.block[i][reserve.len[i]++] = p;
        }
    if (full)
        reserve.used = 0;
    pthread_mutex_unlock(&lock);
    return full;
}

void tc_alloc_forget(void) {
    pthread_mutex_lock(&lock);
    reserve.wanted = 0;
    atomic_store(&tc_alloc_refused, false);
    pthread_mutex_unlock(&lock);
}

void tc_alloc_refuse(void) {
    atomic_store(&tc_alloc_refused, true);
}

size_t tc_alloc_wanted(void) {
    pthread_mutex_lock(&lock);
    size_t n = reserve.wanted;
    pthread_mutex_unlock(&lock);
    return n;
}

size_t tc_alloc_used(void) {
    pthread_mutex_lock(&lock);
    size_t n = reserve.used;
    pthread_mutex_unlock(&lock);
    return n;
}

/* A block of n bytes was refused. */
static void run_out(size_t n) {
    pthread_mutex_lock(&lock);
    if (!atomic_exchange(&tc_alloc_refused, true))
        reserve.wanted = n;
    pthread_mutex_unlock(&lock);
}

_Noreturn static void give_up(size_t n) {
    fprintf(stderr, "tctune: out of memory: %zu bytes were refused, and the reserve has none left\n", n);
    abort();
}

/* A block of the least size that is left and large enough. */
__attribute__((noinline)) static void *rescue(size_t n) {
    void *p = NULL;
    run_out(n);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < NSIZE && !p; i++)
        if (n <= sizes[i].size && reserve.len[i]) {
            p = reserve.block[i][--reserve.len[i]];
            reserve.used += sizes[i].size;
        }
    pthread_mutex_unlock(&lock);
    if (!p)
        give_up(n);
    return p;
}

/* At least one byte is always asked for, so that NULL means failure and nothing else. */
void *tc_xmalloc(size_t n) {
    void *p = malloc(n ? n : 1);
    return p ? p : rescue(n);
}

void *tc_xcalloc(size_t n, size_t size) {
    void *p = n && size ? calloc(n, size) : calloc(1, 1);
    if (p)
        return p;
    size_t bytes = n && size > SIZE_MAX / n ? SIZE_MAX : n * size;
    return memset(rescue(bytes), 0, bytes);
}

void *tc_xrealloc(void *p, size_t n) {
    void *q = realloc(p, n ? n : 1);
    if (q)
        return q;
    q = rescue(n);
    if (p) {
        size_t had = malloc_usable_size(p);
        memcpy(q, p, had < n ? had : n);
        free(p);
    }
    return q;
}

void *tc_try_malloc(size_t n) {
    void *p = malloc(n ? n : 1);
    if (!p && n <= TC_ALLOC_LARGEST)
        return rescue(n);
    if (!p)
        run_out(n);
    return p;
}

void *tc_try_calloc(size_t n, size_t size) {
    if (!n || size <= TC_ALLOC_LARGEST / n)
        return tc_xcalloc(n, size);
    void *p = calloc(n, size);
    if (!p)
        run_out(size > SIZE_MAX / n ? SIZE_MAX : n * size);
    return p;
}

void *tc_try_slots(size_t n, size_t size, bool full) {
    return full ? tc_xcalloc(n, size) : tc_try_calloc(n, size);
}

void *tc_try_grow(void *p, size_t n) {
    if (n <= TC_ALLOC_LARGEST / 2)
        return tc_xrealloc(p, n);
    void *q = n <= SIZE_MAX / 2 ? realloc(p, 2 * n) : NULL;
    if (q)
        return q;
    run_out(n);
    if (p && malloc_usable_size(p) >= n)
        return p;
    return n <= TC_ALLOC_LARGEST ? tc_xrealloc(p, n) : realloc(p, n);
}

void *tc_grow(void *p, size_t n) {
    void *q = tc_try_grow(p, n);
    if (!q)
        give_up(n);
    return q;
}

char *tc_xstrdup(const char *s) {
    size_t n = strlen(s) + 1;
    return memcpy(tc_xmalloc(n), s, n);
}

/* ---- calls ---- */

tc_status tc_memory_ran_out(tc_error *err) {
    char what[32];
    size_t wanted = tc_alloc_wanted();
    print_size(what, sizeof what, wanted);
    return tc_fail(err, TC_ENV,
                   "out of memory: the system refused %s; close other programs, use fewer threads, or raise the limit that this "
                   "process runs under (ulimit -v)",
                   wanted ? what : "to give more");
}

tc_status tc_memory_begin(tc_error *err) {
    if (tc_ran_out())
        return tc_memory_ran_out(err);
    atomic_fetch_add(&calls, 1);
    if (atomic_load(&is_reserve))
        return TC_OK;
    if (tc_alloc_fill()) {
        atomic_store(&is_reserve, true);
        return TC_OK;
    }
    atomic_fetch_sub(&calls, 1);
    return tc_fail(err, TC_ENV,
                   "out of memory: there is none to set aside for the case that it runs out; close other programs, or "
                   "raise the limit that this process runs under (ulimit -v)");
}

tc_status tc_memory_end(tc_status s, tc_error *err) {
    if (tc_ran_out())
        s = tc_memory_ran_out(err);
    if (atomic_fetch_sub(&calls, 1) == 1 && tc_ran_out()) { /* another may have met the shortage since */
        atomic_store(&is_reserve, tc_alloc_fill());
        tc_alloc_forget();
    }
    return s;
}
