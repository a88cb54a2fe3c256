/* How much of the machine this process may use: control groups, affinity, limits of its user. */
#include "measure/doctor/doctor_int.h"
#include "support/numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the quota of control groups ---- */

/* Processors that "QUOTA PERIOD" allows; 0: any number. */
static double of_quota(const char *text) {
    double quota, period;
    return text && sscanf(text, "%lf %lf", &quota, &period) == 2 && quota > 0 && period > 0 ? quota / period : 0;
}

/* Of a group, in version 2 or 1. */
static double group_quota(tc_arena *a, const char *root, const char *group) {
    const char *v2 = tc_doctor_file(a, root, "/sys/fs/cgroup%s/cpu.max", group);
    const char *quota = tc_doctor_file(a, root, "/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us", group),
               *period = tc_doctor_file(a, root, "/sys/fs/cgroup/cpu%s/cpu.cfs_period_us", group);
    return v2 ? of_quota(v2) : quota && period ? of_quota(tc_arena_printf(a, "%s %s", quota, period)) : 0;
}

static double throttled(tc_arena *a, const char *root, const char *group) {
    const char *v2 = tc_doctor_file(a, root, "/sys/fs/cgroup%s/cpu.stat", group);
    const char *text = v2 ? v2 : tc_doctor_file(a, root, "/sys/fs/cgroup/cpu%s/cpu.stat", group);
    const char *n = tc_doctor_value(a, text, "nr_throttled");
    return n ? tc_strtod(n, NULL) : 0;
}

/* The group of this process: of version 2, else that of the controller "cpu". */
static char *own_group(tc_arena *a, const char *root) {
    const char *text = tc_doctor_file(a, root, "/proc/self/cgroup");
    char *found = tc_arena_strdup(a, "");
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        int n = (int)strcspn(line, "\n");
        const char *names = memchr(line, ':', (size_t)n),
                   *path = names ? memchr(names + 1, ':', (size_t)(line + n - names - 1)) : NULL;
        if (!path)
            continue;
        bool second = path == names + 1, cpu = strncmp(names + 1, "cpu", 3) == 0 && strchr(",:", names[4]);
        if (second || cpu)
            found = tc_arena_printf(a, "%.*s", (int)(line + n - path - 1), path + 1);
        if (cpu)
            break;
    }
    return strcmp(found, "/") ? found : tc_arena_strdup(a, "");
}

/* The least that it and the groups around it allow. */
static void quota(tc_doctor *d, const char *root, int cpus) {
    double least = 0, stops = 0;
    for (char *group = own_group(d->arena, root);;) {
        double q = group_quota(d->arena, root, group), s = throttled(d->arena, root, group);
        least = q > 0 && (least == 0 || q < least) ? q : least;
        stops = s > stops ? s : stops;
        char *slash = strrchr(group, '/');
        if (!slash)
            break;
        *slash = 0;
    }
    if (least > 0 && least < cpus)
        tc_doctor_say(d, TC_DOCTOR_QUOTA, TC_DOCTOR_WARNING,
                      "the container may use the time of %.3g of its %d processors; this limit stopped it %.0f times", least,
                      cpus, stops);
    else
        tc_doctor_say(d, TC_DOCTOR_QUOTA, TC_DOCTOR_GOOD, "no limit on the time of %d processors", cpus);
}

/* ---- affinity ---- */

static int affinity(tc_doctor *d, const char *root) {
    int online = tc_doctor_count(tc_doctor_file(d->arena, root, "/sys/devices/system/cpu/online"));
    const char *list = tc_doctor_value(d->arena, tc_doctor_file(d->arena, root, "/proc/self/status"), "Cpus_allowed_list");
    int allowed = tc_doctor_count(list);
    if (allowed && allowed < online)
        tc_doctor_say(d, TC_DOCTOR_AFFINITY, TC_DOCTOR_NOTE, "%d of %d processors may be used (%s)", allowed, online, list);
    return allowed ? allowed : online;
}

/* ---- limits of the user ---- */

/* The soft limit in bytes; -1: none, or not told. */
static double soft_limit(tc_arena *a, const char *limits, const char *name) {
    const char *v = tc_doctor_value(a, limits, name);
    return v && *v >= '0' && *v <= '9' ? tc_strtod(v, NULL) : -1;
}

static void addresses(tc_doctor *d, const char *limits) {
    static const double least = 8.0 * (1 << 30);
    double space = soft_limit(d->arena, limits, "Max address space"), data = soft_limit(d->arena, limits, "Max data size");
    if (space >= 0 && space < least)
        tc_doctor_say(d, TC_DOCTOR_ADDRESSES, TC_DOCTOR_WARNING, "%.1f GiB of addresses (ulimit -v)", space / (1 << 30));
    if (data >= 0 && data < least)
        tc_doctor_say(d, TC_DOCTOR_ADDRESSES, TC_DOCTOR_WARNING, "%.1f GiB of data (ulimit -d)", data / (1 << 30));
    if (!(space >= 0 && space < least) && !(data >= 0 && data < least))
        tc_doctor_say(d, TC_DOCTOR_ADDRESSES, TC_DOCTOR_GOOD, "none that matter");
}

static void stack(tc_doctor *d, const char *limits) {
    static const double least = 1 << 20;
    double bytes = soft_limit(d->arena, limits, "Max stack size");
    if (bytes >= 0 && bytes < least)
        tc_doctor_say(d, TC_DOCTOR_STACK, TC_DOCTOR_WARNING, "%.0f KiB (ulimit -s)", bytes / 1024);
}

void tc_doctor_read_limits(tc_doctor *d, const char *root) {
    const char *limits = tc_doctor_file(d->arena, root, "/proc/self/limits");
    quota(d, root, affinity(d, root));
    addresses(d, limits);
    stack(d, limits);
}
