/* What the system says of its memory: /proc/meminfo and the limits of its control groups (of both versions). */
#include "support/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/fs.h"

/* Smaller ones are not worth a look into /proc. */
static const uint64_t SMALL = 32 << 20;

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

tc_status tc_memory_check(uint64_t bytes, tc_error *err) {
    if (bytes < SMALL || bytes <= (uint64_t)tc_memory_left())
        return TC_OK;
    return tc_memory_lacking(bytes, err);
}
