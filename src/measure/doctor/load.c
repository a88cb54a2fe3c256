/* How much of the processors other programs and the host use, from /proc/stat. */
#include "measure/doctor/doctor_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Own ticks: fields 14 and 15 of /proc/self/stat, behind the name, which may hold anything but ends in the last ')'. */
static double own_ticks(tc_arena *a, const char *root) {
    const char *text = tc_doctor_file(a, root, "/proc/self/stat"), *at = text ? strrchr(text, ')') : NULL;
    unsigned long long user, system;
    if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system) != 2)
        return 0;
    return (double)(user + system);
}

static int count_cpus(const char *text) {
    int n = 0;
    for (const char *s = text; (s = strstr(s, "\ncpu")); s += 4)
        n += s[4] >= '0' && s[4] <= '9';
    return n;
}

tc_doctor_ticks tc_doctor_read_ticks(const char *root) {
    enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, FIELDS };
    tc_arena *a = tc_arena_new();
    tc_doctor_ticks t = {0};
    double v[FIELDS] = {0};
    const char *text = tc_doctor_file(a, root, "/proc/stat");
    if (text && sscanf(text, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &v[USER], &v[NICE], &v[SYSTEM], &v[IDLE], &v[IOWAIT], &v[IRQ],
                       &v[SOFTIRQ], &v[STEAL]) >= 4) {
        t.cpus = count_cpus(text);
        t.busy = v[USER] + v[NICE] + v[SYSTEM] + v[IRQ] + v[SOFTIRQ];
        t.steal = v[STEAL];
        t.all = t.busy + t.steal + v[IDLE] + v[IOWAIT];
        t.own = own_ticks(a, root);
    }
    tc_arena_free(a);
    return t;
}

/* What each takes of all processors before it matters: a thread that is put off is as slow as its team. */
static const double much_load = 0.03, much_steal = 0.01;

void tc_doctor_judge_load(tc_doctor *d, const tc_doctor_ticks *before, const tc_doctor_ticks *after) {
    double all = after->all - before->all, foreign = (after->busy - before->busy) - (after->own - before->own);
    if (!after->cpus || all <= 0) {
        tc_doctor_say(d, TC_DOCTOR_LOAD, TC_DOCTOR_UNKNOWN, "not reported by the system");
        return;
    }
    tc_doctor_say(d, TC_DOCTOR_LOAD, foreign > much_load * all ? TC_DOCTOR_WARNING : TC_DOCTOR_GOOD,
                  "other programs use %.1f of %d processors", foreign > 0 ? foreign / all * after->cpus : 0, after->cpus);
}

void tc_doctor_judge_steal(tc_doctor *d, const tc_doctor_ticks *before, const tc_doctor_ticks *after) {
    double all = after->all - before->all, steal = after->steal - before->steal;
    if (!after->cpus || all <= 0)
        return;
    bool stolen = steal > much_steal * all;
    tc_doctor_say(d, TC_DOCTOR_STEAL, stolen ? TC_DOCTOR_WARNING : TC_DOCTOR_GOOD,
                  "the host took %.1f %% of the processors' time%s", 100 * steal / all, stolen ? " away" : "");
}
