/* What /sys and /proc tell of the machine: clocks, cores, nodes, pages, and what perf may. */
#include "measure/doctor/doctor_int.h"

#include <stdlib.h>
#include <string.h>

static const char CPU[] = "/sys/devices/system/cpu";

static int online(tc_arena *a, const char *root) {
    return tc_doctor_count(tc_doctor_file(a, root, "%s/online", CPU));
}

/* The first one that is not "performance" stands for all of its kind. */
static void governor(tc_doctor *d, const char *root) {
    const char *slow = NULL;
    int n = online(d->arena, root), told = 0, slowed = 0;
    for (int i = 0; i < n; i++) {
        const char *g = tc_doctor_file(d->arena, root, "%s/cpu%d/cpufreq/scaling_governor", CPU, i);
        told += g != NULL;
        if (g && strcmp(g, "performance") != 0) {
            slow = slow ? slow : g;
            slowed++;
        }
    }
    if (!told)
        tc_doctor_say(d, TC_DOCTOR_GOVERNOR, TC_DOCTOR_UNKNOWN,
                      "not reported by the system, as in virtual machines: the host sets the clocks");
    else if (slow)
        tc_doctor_say(d, TC_DOCTOR_GOVERNOR, TC_DOCTOR_WARNING,
                      "%s on %d of %d processors: after a pause their clocks rise slowly", slow, slowed, told);
    else
        tc_doctor_say(d, TC_DOCTOR_GOVERNOR, TC_DOCTOR_GOOD, "performance on all %d processors", told);
}

static void turbo(tc_doctor *d, const char *root) {
    double none = tc_doctor_number(d->arena, root, "/sys/devices/system/cpu/intel_pstate/no_turbo"),
           boost = tc_doctor_number(d->arena, root, "/sys/devices/system/cpu/cpufreq/boost");
    if (none < 0 && boost < 0)
        tc_doctor_say(d, TC_DOCTOR_TURBO, TC_DOCTOR_UNKNOWN, "not reported by the system");
    else if (none == 0 || boost > 0)
        tc_doctor_say(d, TC_DOCTOR_TURBO, TC_DOCTOR_NOTE,
                      "on: clocks depend on temperature and on the number of busy cores; therefore candidates are timed beside a "
                      "reference");
    else
        tc_doctor_say(d, TC_DOCTOR_TURBO, TC_DOCTOR_GOOD, "off: clocks are steady");
}

static void throttle(tc_doctor *d, const char *root) {
    double events = 0;
    for (int i = 0, n = online(d->arena, root); i < n; i++) {
        const char *path = tc_arena_printf(d->arena, "%s/cpu%d/thermal_throttle/core_throttle_count", CPU, i);
        double v = tc_doctor_number(d->arena, root, path);
        events += v > 0 ? v : 0;
    }
    if (events > 0)
        tc_doctor_say(d, TC_DOCTOR_THROTTLE, TC_DOCTOR_WARNING, "cores were slowed down %.0f times since the machine started",
                      events);
}

static void smt(tc_doctor *d, const char *root) {
    double active = tc_doctor_number(d->arena, root, "/sys/devices/system/cpu/smt/active");
    const char *siblings = tc_doctor_file(d->arena, root, "%s/cpu0/topology/thread_siblings_list", CPU);
    int each = tc_doctor_count(siblings);
    if (active > 0 && each > 1)
        tc_doctor_say(d, TC_DOCTOR_SMT, TC_DOCTOR_WARNING, "%d processors share each core: %d processors are %d cores", each,
                      online(d->arena, root), online(d->arena, root) / each);
    else if (active < 0 && each == 0)
        tc_doctor_say(d, TC_DOCTOR_SMT, TC_DOCTOR_UNKNOWN, "not reported by the system");
    else
        tc_doctor_say(d, TC_DOCTOR_SMT, TC_DOCTOR_GOOD, "each processor is a core of its own, as far as the system tells");
}

static bool has_flag(tc_arena *a, const char *root, const char *flag) {
    const char *flags = tc_doctor_value(a, tc_doctor_file(a, root, "/proc/cpuinfo"), "flags");
    size_t n = strlen(flag);
    for (const char *s = flags; s && (s = strstr(s, flag)); s += n)
        if ((s == flags || s[-1] == ' ') && (!s[n] || s[n] == ' '))
            return true;
    return false;
}

static void virtual(tc_doctor *d, const char *root) {
    if (has_flag(d->arena, root, "hypervisor"))
        tc_doctor_say(d, TC_DOCTOR_VIRTUAL, TC_DOCTOR_NOTE, "this is one: caches, memory and cores may be shared with others");
}

static void numa(tc_doctor *d, const char *root) {
    int nodes = tc_doctor_count(tc_doctor_file(d->arena, root, "/sys/devices/system/node/online"));
    if (nodes > 1)
        tc_doctor_say(d, TC_DOCTOR_NUMA, TC_DOCTOR_WARNING,
                      "%d nodes: memory of another node is slower, and chance decides which node is used", nodes);
}

static void huge_pages(tc_doctor *d, const char *root) {
    const char *modes = tc_doctor_file(d->arena, root, "/sys/kernel/mm/transparent_hugepage/enabled");
    if (!modes)
        tc_doctor_say(d, TC_DOCTOR_HUGE_PAGES, TC_DOCTOR_UNKNOWN, "not reported by the system");
    else if (strstr(modes, "[never]"))
        tc_doctor_say(d, TC_DOCTOR_HUGE_PAGES, TC_DOCTOR_WARNING, "switched off");
    else
        tc_doctor_say(d, TC_DOCTOR_HUGE_PAGES, TC_DOCTOR_GOOD, "%s", modes);
}

static void clock_source(tc_doctor *d, const char *root) {
    static const char *const slow[] = {"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"};
    const char *source = tc_doctor_file(d->arena, root, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    for (size_t i = 0; source && i < TC_LEN(slow); i++)
        if (strcmp(source, slow[i]) == 0)
            tc_doctor_say(d, TC_DOCTOR_CLOCK, TC_DOCTOR_WARNING, "its source is %s: each reading takes a microsecond or more",
                          source);
}

static void perf(tc_doctor *d, const char *root) {
    double paranoid = tc_doctor_number(d->arena, root, "/proc/sys/kernel/perf_event_paranoid");
    const char *level = tc_doctor_file(d->arena, root, "/proc/sys/kernel/perf_event_paranoid");
    if (!level)
        tc_doctor_say(d, TC_DOCTOR_PERF, TC_DOCTOR_NOTE, "this kernel has no performance events");
    else if (paranoid > 2)
        tc_doctor_say(d, TC_DOCTOR_PERF, TC_DOCTOR_NOTE, "perf_event_paranoid is %s: only root may use perf", level);
    else
        tc_doctor_say(d, TC_DOCTOR_PERF, TC_DOCTOR_GOOD, "perf_event_paranoid is %s", level);
}

/* Tells only where the processor has tiles. */
void tc_doctor_judge_tiles(tc_doctor *d, const char *root, bool work) {
    if (has_flag(d->arena, root, "amx_tile") && !work)
        tc_doctor_say(d, TC_DOCTOR_TILES, TC_DOCTOR_WARNING, "the processor has AMX, but the system does not permit its use");
    else if (work)
        tc_doctor_say(d, TC_DOCTOR_TILES, TC_DOCTOR_GOOD, "AMX can be used");
}

void tc_doctor_read_system(tc_doctor *d, const char *root) {
    governor(d, root);
    turbo(d, root);
    throttle(d, root);
    smt(d, root);
    virtual(d, root);
    numa(d, root);
    huge_pages(d, root);
    clock_source(d, root);
    perf(d, root);
}
