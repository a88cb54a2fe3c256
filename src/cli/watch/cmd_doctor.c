/* tctune doctor: what of this machine hurts measurements, and what to do about it. */
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "measure/doctor/doctor.h"

typedef struct doctor_args {
    tc_cli_common common;
    tc_cli_target_args target;
    bool quick, json;
} doctor_args;

static const tc_cli_option options[] = {
    TC_CLI_THREADS_OPTION(doctor_args, target.threads),
    TC_CLI_FLAG(doctor_args, quick, "quick", "only what files and the process tell: measure nothing"),
    TC_CLI_JSON_OPTION(doctor_args, json),
};

static int warnings(const tc_doctor *d) {
    int n = 0;
    for (size_t i = 0; i < d->findings.len; i++)
        n += d->findings.data[i].level == TC_DOCTOR_WARNING;
    return n;
}

static void print_text(const tc_doctor *d, bool quick) {
    for (size_t i = 0; i < d->findings.len; i++) {
        const tc_doctor_finding *f = &d->findings.data[i];
        printf("%-8s %-17s %s\n", tc_doctor_level_name(f->level), tc_doctor_name(f->check), f->text);
        if (*f->remedy)
            printf("%-8s %-17s   %s\n", "", "", f->remedy);
    }
    printf("\n%d warning%s%s\n", warnings(d), warnings(d) == 1 ? "" : "s", quick ? "; nothing was measured (--quick)" : "");
}

static void print_json(const tc_doctor *d, const tc_doctor_measured *m) {
    json_t *list = json_array();
    for (size_t i = 0; i < d->findings.len; i++) {
        const tc_doctor_finding *f = &d->findings.data[i];
        json_t *j = json_pack("{s:s, s:s, s:s}", "check", tc_doctor_name(f->check), "level", tc_doctor_level_name(f->level),
                              "found", f->text);
        if (*f->remedy)
            json_object_set_new(j, "remedy", json_string(f->remedy));
        json_array_append_new(list, j);
    }
    json_t *all = json_pack("{s:i, s:o}", "warnings", warnings(d), "findings", list);
    if (m->threads)
        json_object_set_new(all, "measured",
                            json_pack("{s:i, s:f, s:f, s:f, s:f, s:f, s:s, s:I, s:I}", "threads", m->threads, "spread", m->spread,
                                      "slowdown", m->slowdown, "one_thread_gflops", m->alone, "peak_gflops", m->peak.f32_gflops,
                                      "triad_gbs", m->peak.triad_gbs, "isa", m->peak.isa, "last_cache_bytes",
                                      (json_int_t)m->caches.last, "last_cache_reported_bytes", (json_int_t)m->caches.reported));
    tc_cli_json_print(all);
}

/* Long enough for the system's ticks, of which there are a hundred a second. */
static void rest(void) {
    nanosleep(&(struct timespec){.tv_nsec = 800000000}, NULL);
}

static void examine(const doctor_args *a, const tc_target *t, tc_doctor *d) {
    tc_doctor_process p = tc_doctor_ask_process(t, d->arena);
    tc_doctor_measured m = {0};
    tc_doctor_read_system(d, "");
    tc_doctor_read_limits(d, "");
    tc_doctor_judge_process(d, "", &p);
    if (!a->quick) {
        tc_doctor_ticks first = tc_doctor_read_ticks("");
        rest();
        tc_doctor_ticks idle = tc_doctor_read_ticks("");
        m = tc_doctor_measure(t);
        tc_doctor_ticks busy = tc_doctor_read_ticks("");
        tc_doctor_judge_load(d, &first, &idle);
        tc_doctor_judge_steal(d, &first, &busy);
        tc_doctor_judge_measured(d, &m);
    }
    if (a->json)
        print_json(d, &m);
    else
        print_text(d, a->quick);
}

static int run(const void *args, tc_error *err) {
    const doctor_args *a = args;
    tc_target *t = NULL;
    tc_doctor d = {.arena = tc_arena_new()};
    int status = tc_cli_target(&a->target, true, &t, err);
    if (status == TC_CLI_DONE)
        examine(a, t, &d);
    tc_target_free(t);
    tc_doctor_free(&d);
    tc_arena_free(d.arena);
    return status;
}

const tc_cli_command tc_cli_doctor = {
    .name = "doctor",
    .summary = "say what of this machine hurts measurements, and what to do about it",
    .details =
        "Clocks, cores that are shared, limits of containers, foreign load, pages, caches as reported and as they are, AMX, the "
        "mode of floating-point, the sandbox of workers; and how steady a fixed piece of work is, whether threads add up, peak "
        "and bandwidth. Nothing is changed. The exit status is 0 with warnings too: scripts read --json.",
    TC_CLI_ARGS(doctor_args, options),
    .run = run,
};
