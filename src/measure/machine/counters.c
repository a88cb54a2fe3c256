/* What counters.h describes. */
#include "measure/machine/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CACHE_MISSES(level)                                                                                                      \
    (PERF_COUNT_HW_CACHE_##level | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

static const struct {
    uint32_t type;
    uint64_t config;
} events[TC_MEAS_NCOUNTERS] = {
    [TC_COUNTER_CYCLES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    [TC_COUNTER_INSTRUCTIONS] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    [TC_COUNTER_STALLED] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    [TC_COUNTER_L1_MISSES] = {PERF_TYPE_HW_CACHE, CACHE_MISSES(L1D)},
    [TC_COUNTER_LAST_MISSES] = {PERF_TYPE_HW_CACHE, CACHE_MISSES(LL)},
    [TC_COUNTER_TLB_MISSES] = {PERF_TYPE_HW_CACHE, CACHE_MISSES(DTLB)},
    [TC_COUNTER_TASK_CLOCK] = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    [TC_COUNTER_PAGE_FAULTS] = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
};

static int open_event(int i) {
    struct perf_event_attr a = {.size = sizeof a,
                                .type = events[i].type,
                                .config = events[i].config,
                                .exclude_kernel = 1, /* what any user may count */
                                .exclude_hv = 1,
                                .inherit = 1,
                                .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING};
    return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

void tc_meas_counters_open(tc_meas_counters *c) {
    for (int i = 0; i < TC_MEAS_NCOUNTERS; i++) {
        c->fd[i] = open_event(i);
        c->missing[i] = c->fd[i] < 0 ? errno : 0;
    }
}

void tc_meas_counters_close(tc_meas_counters *c) {
    for (int i = 0; i < TC_MEAS_NCOUNTERS; i++)
        if (c->fd[i] >= 0)
            close(c->fd[i]);
}

void tc_meas_counters_read(const tc_meas_counters *c, tc_meas_reading *out) {
    memset(out, 0, sizeof *out);
    for (int i = 0; i < TC_MEAS_NCOUNTERS; i++) {
        uint64_t v[3];
        if (c->fd[i] < 0 || read(c->fd[i], v, sizeof v) != (ssize_t)sizeof v)
            continue; /* it did not run, as far as is known */
        out->value[i] = v[0];
        out->enabled[i] = v[1];
        out->running[i] = v[2];
    }
}

void tc_meas_reading_add(tc_meas_reading *sum, const tc_meas_reading *before, const tc_meas_reading *after) {
    for (int i = 0; i < TC_MEAS_NCOUNTERS; i++) {
        if (after->running[i] <= before->running[i] || after->value[i] < before->value[i])
            continue;
        sum->value[i] += after->value[i] - before->value[i];
        sum->enabled[i] += after->enabled[i] - before->enabled[i];
        sum->running[i] += after->running[i] - before->running[i];
    }
}

tc_meas_counted tc_meas_counts_of(const tc_meas_counters *c, const tc_meas_reading *sum, int64_t calls) {
    tc_meas_counted out = {.asked = true};
    for (int i = 0; i < TC_MEAS_NCOUNTERS; i++) {
        out.missing[i] = c->missing[i] ? c->missing[i] : sum->running[i] && calls > 0 ? 0 : EBUSY;
        if (!out.missing[i])
            out.of_call[i] = (double)sum->value[i] * ((double)sum->enabled[i] / (double)sum->running[i]) / (double)calls;
    }
    return out;
}

/* The kernel's word on who may count what; -1 to 4. False: it is not known. */
static bool read_paranoid(int *level) {
    FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
    bool known = f && fscanf(f, "%d", level) == 1;
    if (f)
        fclose(f);
    return known;
}

const char *tc_meas_counter_missing(tc_arena *a, int error) {
    int level;
    switch (error) {
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
    case EINVAL:
        return "the processor has no such counter, or the virtual machine shows none";
    case EACCES:
    case EPERM:
        return read_paranoid(&level)
                   ? tc_arena_printf(a, "not allowed: kernel.perf_event_paranoid is %d, or a container refuses it", level)
                   : "not allowed";
    case ENOSYS:
        return "the kernel has no counters";
    case EBUSY:
        return "it did not run: other programs use the processor's counters";
    case EMFILE:
    case ENFILE:
        return "too many files are open";
    }
    return tc_arena_strdup(a, strerror(error));
}
