/* How much memory the system has: /proc/meminfo and the limits of its control groups. How much this process may have is found by a
 * mapping, which is released at once. */
#include "support/system/memory.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/numbers.h"
#include "support/system/fs.h"
#include "support/system/groups.h"

/* Smaller ones are not worth a look into /proc, until together they are as large. */
static const uint64_t SMALL = 32 << 20;
/* Smaller ones are not worth a mapping: the reserve has several. */
static const uint64_t TINY = 1 << 20;

static atomic_int calls;       /* that are under way */
static atomic_ullong unseen;   /* bytes that were asked for since somebody looked how many are free */
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

/* What control groups allow. In use is what they cannot take back: not files, which they could drop. */
static const char *const used[] = {"anon", "shmem", "slab_unreclaimable", "pagetables", "kernel_stack", NULL},
                         *const used_v1[] = {"total_rss", "total_shmem", NULL};
static const tc_groups_resource groups = {.controller = "memory",
                                          .limit = "memory.max",
                                          .limit_v1 = "memory.limit_in_bytes",
                                          .use = "memory.stat",
                                          .used = used,
                                          .used_v1 = used_v1};

uint64_t tc_memory_all(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t all = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : (uint64_t)8 << 30,
             group = (uint64_t)tc_groups_limit(&groups);
    return group < all ? group : all;
}

int64_t tc_memory_left(void) {
    int64_t system = available(), group = tc_groups_left(&groups);
    return system < group ? system : group;
}

int64_t tc_memory_share(int64_t wish) {
    int64_t quarter = tc_memory_left() / 4;
    return quarter < wish ? quarter : wish;
}

static void print_size(char *text, size_t cap, uint64_t bytes) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double size = (double)bytes;
    int unit = 0;
    for (; size >= 1024 && unit < 6; unit++)
        size /= 1024;
    tc_snprintf(text, cap, "%.*f %s", unit ? 1 : 0, size, units[unit]);
}

tc_status tc_memory_lacking(uint64_t bytes, tc_error *err) {
    char need[32], have[32];
    int64_t left = tc_memory_left();
    print_size(need, sizeof need, bytes);
    print_size(have, sizeof have, (uint64_t)left);
    if (bytes <= (uint64_t)left) /* also where it is not known how much is left */
        tc_fail(err, TC_ENV,
                "out of memory: %s are needed, and the system refuses them: raise the limit that this process runs under "
                "(ulimit -v)",
                need);
    else
        tc_fail(err, TC_ENV, "out of memory: %s are needed, and %s are free %s", need, have,
                tc_groups_left(&groups) <= left ? "in this process's control group; raise the group's limit (memory.max)"
                                                : "on this machine");
    if (err)
        err->code = TC_ERROR_MEMORY;
    return TC_ENV;
}

/* Within the limits of this process (RLIMIT_AS), and of what the system promises at all. */
static bool can_be_mapped(uint64_t bytes) {
    void *p =
        bytes > SIZE_MAX / 2 ? MAP_FAILED : mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p != MAP_FAILED && munmap(p, (size_t)bytes) == 0;
}

tc_status tc_memory_check(uint64_t bytes, tc_error *err) {
    bool looks = bytes >= TINY && atomic_fetch_add(&unseen, bytes) + bytes >= SMALL;
    if (looks)
        atomic_store(&unseen, 0);
    bool fits = bytes < TINY || (can_be_mapped(bytes) && (!looks || bytes <= (uint64_t)tc_memory_left()));
    return fits ? TC_OK : tc_memory_lacking(bytes, err);
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
                   "out of memory: no reserve could be set aside; close other programs, or raise the limit that this process "
                   "runs under (ulimit -v)");
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
