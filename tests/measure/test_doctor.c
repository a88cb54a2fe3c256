/* What the doctor finds on machines that are made up of files, and in facts that are made up; every check is found to be bad by
 * some test, and good or silent by another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure/doctor/doctor.h"
#include "support/system/fs.h"

typedef struct machine {
    char *root;
    tc_doctor d;
    tc_target *target;
} machine;

static bool seen[TC_NDOCTOR][4]; /* by check and level, over all tests */

static int setup(void **state) {
    machine *m = tc_xcalloc(1, sizeof *m);
    tc_error err = {0};
    assert_int_equal(tc_fs_temp_dir(&m->root, &err), TC_OK);
    m->d.arena = tc_arena_new();
    *state = m;
    return 0;
}

static int teardown(void **state) {
    machine *m = *state;
    for (size_t i = 0; i < m->d.findings.len; i++)
        seen[m->d.findings.data[i].check][m->d.findings.data[i].level] = true;
    tc_fs_remove_tree(m->root);
    tc_doctor_free(&m->d);
    tc_arena_free(m->d.arena);
    free(m->root);
    free(m);
    return 0;
}

static void put(const machine *m, const char *path, const char *text) {
    char full[4096];
    snprintf(full, sizeof full, "%s%s", m->root, path);
    for (char *s = full + strlen(m->root) + 1; (s = strchr(s, '/')); s++) {
        *s = 0;
        assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
        *s = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static const tc_doctor_finding *find(const machine *m, tc_doctor_check c) {
    for (size_t i = 0; i < m->d.findings.len; i++)
        if (m->d.findings.data[i].check == c)
            return &m->d.findings.data[i];
    return NULL;
}

/* The finding of c is of this level, and says the text; a warning says what to do. */
static void expect(const machine *m, tc_doctor_check c, tc_doctor_level l, const char *text) {
    const tc_doctor_finding *f = find(m, c);
    if (!f)
        fail_msg("nothing is said of %s", tc_doctor_name(c));
    if (f->level != l || !strstr(f->text, text))
        fail_msg("%s: %s '%s', not %s '%s'", tc_doctor_name(c), tc_doctor_level_name(f->level), f->text, tc_doctor_level_name(l),
                 text);
    assert_true(*f->remedy || l != TC_DOCTOR_WARNING);
    assert_true(!*f->remedy || l > TC_DOCTOR_UNKNOWN);
}

static void expect_silence(const machine *m, tc_doctor_check c) {
    if (find(m, c))
        fail_msg("%s: %s", tc_doctor_name(c), find(m, c)->text);
}

/* ---- /sys and /proc of whole machines ---- */

static void quiet_server(void **state) {
    machine *m = *state;
    put(m, "/sys/devices/system/cpu/online", "0-1\n");
    put(m, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
    put(m, "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n");
    put(m, "/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
    put(m, "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "0\n");
    put(m, "/sys/devices/system/cpu/smt/active", "0\n");
    put(m, "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0\n");
    put(m, "/sys/devices/system/node/online", "0\n");
    put(m, "/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    put(m, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    put(m, "/proc/sys/kernel/perf_event_paranoid", "1\n");
    put(m, "/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu sse avx512f nothypervisor\n");
    tc_doctor_read_system(&m->d, m->root);
    expect(m, TC_DOCTOR_GOVERNOR, TC_DOCTOR_GOOD, "all 2");
    expect(m, TC_DOCTOR_TURBO, TC_DOCTOR_GOOD, "off");
    expect(m, TC_DOCTOR_SMT, TC_DOCTOR_GOOD, "");
    expect(m, TC_DOCTOR_HUGE_PAGES, TC_DOCTOR_GOOD, "madvise");
    expect(m, TC_DOCTOR_PERF, TC_DOCTOR_GOOD, "1");
    expect_silence(m, TC_DOCTOR_THROTTLE);
    expect_silence(m, TC_DOCTOR_VIRTUAL);
    expect_silence(m, TC_DOCTOR_NUMA);
    expect_silence(m, TC_DOCTOR_CLOCK);
}

static void hot_laptop(void **state) {
    machine *m = *state;
    put(m, "/sys/devices/system/cpu/online", "0-3\n");
    for (int i = 0; i < 4; i++) {
        char path[128];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", i);
        put(m, path, i == 2 ? "powersave\n" : "performance\n");
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count", i);
        put(m, path, "3\n");
    }
    put(m, "/sys/devices/system/cpu/cpufreq/boost", "1\n");
    put(m, "/sys/devices/system/cpu/smt/active", "1\n");
    put(m, "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,2\n");
    put(m, "/sys/devices/system/node/online", "0-1\n");
    put(m, "/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
    put(m, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
    put(m, "/proc/sys/kernel/perf_event_paranoid", "4\n");
    put(m, "/proc/cpuinfo", "flags\t\t: fpu hypervisor avx\n");
    tc_doctor_read_system(&m->d, m->root);
    expect(m, TC_DOCTOR_GOVERNOR, TC_DOCTOR_WARNING, "powersave on 1 of 4");
    expect(m, TC_DOCTOR_TURBO, TC_DOCTOR_NOTE, "on");
    expect(m, TC_DOCTOR_THROTTLE, TC_DOCTOR_WARNING, "12 times");
    expect(m, TC_DOCTOR_SMT, TC_DOCTOR_WARNING, "4 processors are 2 cores");
    expect(m, TC_DOCTOR_NUMA, TC_DOCTOR_WARNING, "2 nodes");
    expect(m, TC_DOCTOR_HUGE_PAGES, TC_DOCTOR_WARNING, "off");
    expect(m, TC_DOCTOR_CLOCK, TC_DOCTOR_WARNING, "hpet");
    expect(m, TC_DOCTOR_PERF, TC_DOCTOR_NOTE, "4");
    expect(m, TC_DOCTOR_VIRTUAL, TC_DOCTOR_NOTE, "");
}

/* Nothing is told: no warnings, and no crash. */
static void nothing_there(void **state) {
    machine *m = *state;
    tc_doctor_read_system(&m->d, m->root);
    tc_doctor_read_limits(&m->d, m->root);
    tc_doctor_ticks none = tc_doctor_read_ticks(m->root);
    tc_doctor_judge_load(&m->d, &none, &none);
    tc_doctor_judge_steal(&m->d, &none, &none);
    for (size_t i = 0; i < m->d.findings.len; i++)
        assert_true(m->d.findings.data[i].level != TC_DOCTOR_WARNING);
    expect(m, TC_DOCTOR_GOVERNOR, TC_DOCTOR_UNKNOWN, "");
    expect(m, TC_DOCTOR_LOAD, TC_DOCTOR_UNKNOWN, "");
}

static void strange_files(void **state) {
    static const char *const PATHS[] = {"/sys/devices/system/cpu/online",
                                        "/sys/devices/system/cpu/smt/active",
                                        "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
                                        "/sys/devices/system/cpu/intel_pstate/no_turbo",
                                        "/sys/fs/cgroup/cpu.max",
                                        "/sys/fs/cgroup/cpu.stat",
                                        "/proc/self/cgroup",
                                        "/proc/self/status",
                                        "/proc/self/limits",
                                        "/proc/self/stat",
                                        "/proc/stat",
                                        "/proc/cpuinfo",
                                        "/proc/sys/kernel/perf_event_paranoid"};
    static const char *const TEXTS[] = {
        "",    "\n",  "-",   "0-",    "-5",    "9-1",    "0-99999999999999999999", "x:y:z",        ":::",
        "0::", "max", "cpu", "cpu 1", "flags", "flags:", "Cpus_allowed_list:",     "nr_throttled", "1 (a)) b",
        ")",   "0 0", "1 0"};
    machine *m = *state;
    for (size_t t = 0; t < TC_LEN(TEXTS); t++) {
        for (size_t i = 0; i < TC_LEN(PATHS); i++)
            put(m, PATHS[i], TEXTS[t]);
        tc_doctor_read_system(&m->d, m->root);
        tc_doctor_read_limits(&m->d, m->root);
        tc_doctor_ticks ticks = tc_doctor_read_ticks(m->root);
        tc_doctor_judge_load(&m->d, &ticks, &ticks);
    }
    for (size_t i = 0; i < m->d.findings.len; i++)
        assert_true(strlen(m->d.findings.data[i].text) < 300);
}

/* ---- limits ---- */

static void put_process(const machine *m, const char *group) {
    put(m, "/sys/devices/system/cpu/online", "0-7\n");
    put(m, "/proc/self/cgroup", group);
}

static void quota_of_group(void **state) {
    machine *m = *state;
    put_process(m, "0::/pods/one\n");
    put(m, "/sys/fs/cgroup/pods/one/cpu.max", "400000 100000\n");
    put(m, "/sys/fs/cgroup/pods/one/cpu.stat", "usage_usec 5\nnr_periods 9\nnr_throttled 7\n");
    put(m, "/sys/fs/cgroup/pods/cpu.max", "150000 100000\n");
    put(m, "/sys/fs/cgroup/cpu.max", "max 100000\n");
    put(m, "/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3\n");
    tc_doctor_read_limits(&m->d, m->root);
    expect(m, TC_DOCTOR_QUOTA, TC_DOCTOR_WARNING, "1.5 of its 4 processors; this limit stopped it 7 times");
    expect(m, TC_DOCTOR_AFFINITY, TC_DOCTOR_NOTE, "4 of 8");
}

static void quota_of_version_1(void **state) {
    machine *m = *state;
    put_process(m, "4:memory:/a\n3:cpu,cpuacct:/b\n2:cpuset:/c\n0::/d\n");
    put(m, "/sys/fs/cgroup/cpu/b/cpu.cfs_quota_us", "200000\n");
    put(m, "/sys/fs/cgroup/cpu/b/cpu.cfs_period_us", "100000\n");
    put(m, "/sys/fs/cgroup/d/cpu.max", "100000 100000\n");
    tc_doctor_read_limits(&m->d, m->root);
    expect(m, TC_DOCTOR_QUOTA, TC_DOCTOR_WARNING, "2 of its 8 processors");
}

static void quota_that_is_enough(void **state) {
    machine *m = *state;
    put_process(m, "0::/\n");
    put(m, "/sys/fs/cgroup/cpu.max", "800000 100000\n");
    put(m, "/proc/self/status", "Cpus_allowed_list:\t0-7\n");
    put(m, "/proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max data size             unlimited            unlimited            bytes     \n"
        "Max stack size            8388608              unlimited            bytes     \n"
        "Max address space         unlimited            unlimited            bytes     \n");
    tc_doctor_read_limits(&m->d, m->root);
    expect(m, TC_DOCTOR_QUOTA, TC_DOCTOR_GOOD, "8 processors");
    expect(m, TC_DOCTOR_ADDRESSES, TC_DOCTOR_GOOD, "");
    expect_silence(m, TC_DOCTOR_AFFINITY);
    expect_silence(m, TC_DOCTOR_STACK);
}

static void narrow_limits(void **state) {
    machine *m = *state;
    put_process(m, "0::/\n");
    put(m, "/proc/self/limits",
        "Max stack size            262144               unlimited            bytes     \n"
        "Max address space         2147483648           unlimited            bytes     \n");
    tc_doctor_read_limits(&m->d, m->root);
    expect(m, TC_DOCTOR_ADDRESSES, TC_DOCTOR_WARNING, "2.0 GiB");
    expect(m, TC_DOCTOR_STACK, TC_DOCTOR_WARNING, "256 KiB");
}

/* ---- load ---- */

static tc_doctor_ticks ticks(const machine *m, int user, int idle, int steal, int own) {
    char text[256];
    snprintf(text, sizeof text, "cpu  %d 0 0 %d 0 0 0 %d 0 0\ncpu0 1 0 0 1\ncpu1 1 0 0 1\nintr 5\n", user, idle, steal);
    put(m, "/proc/stat", text);
    snprintf(text, sizeof text, "12 (a (strange) name) S 1 2 3 4 5 6 7 8 9 10 %d 0 0 0 20 0\n", own);
    put(m, "/proc/self/stat", text);
    return tc_doctor_read_ticks(m->root);
}

static void others_at_work(void **state) {
    machine *m = *state;
    tc_doctor_ticks a = ticks(m, 1000, 1000, 0, 500), b = ticks(m, 1150, 1050, 0, 550);
    assert_int_equal(a.cpus, 2);
    assert_true(a.own == 500);
    tc_doctor_judge_load(&m->d, &a, &b);
    tc_doctor_judge_steal(&m->d, &a, &b);
    expect(m, TC_DOCTOR_LOAD, TC_DOCTOR_WARNING, "1.0 of 2");
    expect(m, TC_DOCTOR_STEAL, TC_DOCTOR_GOOD, "0.0 %");
}

static void only_this_process(void **state) {
    machine *m = *state;
    tc_doctor_ticks a = ticks(m, 1000, 1000, 0, 500), b = ticks(m, 1150, 1050, 10, 650);
    tc_doctor_judge_load(&m->d, &a, &b);
    tc_doctor_judge_steal(&m->d, &a, &b);
    expect(m, TC_DOCTOR_LOAD, TC_DOCTOR_GOOD, "0.0 of 2");
    expect(m, TC_DOCTOR_STEAL, TC_DOCTOR_WARNING, "4.8 %");
}

/* ---- this process ---- */

static const tc_doctor_process good_process = {.clock_step = 1e-8, .mxcsr = 0x1f80, .sandbox_lacks = ""};

static void good(void **state) {
    machine *m = *state;
    tc_doctor_process p = good_process;
    p.tiles_work = true;
    put(m, "/proc/cpuinfo", "flags\t\t: fpu amx_tile\n");
    tc_doctor_judge_process(&m->d, m->root, &p);
    expect(m, TC_DOCTOR_CLOCK, TC_DOCTOR_GOOD, "0.01 us");
    expect(m, TC_DOCTOR_TILES, TC_DOCTOR_GOOD, "");
    expect(m, TC_DOCTOR_SANDBOX, TC_DOCTOR_GOOD, "");
    expect_silence(m, TC_DOCTOR_DENORMALS);
}

static void bad(void **state) {
    machine *m = *state;
    tc_doctor_process p = {.clock_step = 4e-3, .mxcsr = 0x1f80 | 0x8040, .sandbox_lacks = "Landlock cannot be used. "};
    put(m, "/proc/cpuinfo", "flags\t\t: amx_bf16 amx_tile\n");
    tc_doctor_judge_process(&m->d, m->root, &p);
    expect(m, TC_DOCTOR_CLOCK, TC_DOCTOR_WARNING, "4e+03 us");
    expect(m, TC_DOCTOR_DENORMALS, TC_DOCTOR_WARNING, "flush-to-zero and denormals-are-zeros");
    expect(m, TC_DOCTOR_TILES, TC_DOCTOR_WARNING, "does not permit");
    expect(m, TC_DOCTOR_SANDBOX, TC_DOCTOR_WARNING, "Landlock");
}

static void neither(void **state) {
    machine *m = *state;
    tc_doctor_process p = good_process;
    p.clock_step = INFINITY;
    p.mxcsr |= 0x40;
    put(m, "/proc/cpuinfo", "flags\t\t: avx amx_tiles\n");
    tc_doctor_judge_process(&m->d, m->root, &p);
    expect(m, TC_DOCTOR_CLOCK, TC_DOCTOR_WARNING, "stands still");
    expect(m, TC_DOCTOR_DENORMALS, TC_DOCTOR_WARNING, "denormals-are-zeros");
    assert_null(strstr(find(m, TC_DOCTOR_DENORMALS)->text, "flush"));
    expect_silence(m, TC_DOCTOR_TILES);
}

/* This process, as it is: the sandbox was tried in another one, so this one may still open files. */
static void asked(void **state) {
    machine *m = *state;
    tc_error err = {0};
    tc_target *t;
    assert_int_equal(tc_target_parse("native", &t, &err), TC_OK);
    tc_doctor_process p = tc_doctor_ask_process(t, m->d.arena);
    assert_true(p.clock_step > 0);
    assert_non_null(p.sandbox_lacks);
    assert_null(strstr(p.sandbox_lacks, "that tried the sandbox"));
    put(m, "/after", "still\n");
    tc_target_free(t);
}

/* ---- measured ---- */

static tc_doctor_measured steady(void) {
    return (tc_doctor_measured){.threads = 2,
                                .spread = 0.01,
                                .slowdown = 1.02,
                                .alone = 100,
                                .peak = {.threads = 2,
                                         .isa = "AVX2",
                                         .f32_gflops = 195,
                                         .triad_gbs = 20,
                                         .read_gflops = 195,
                                         .read_gbs = 20,
                                         .known_gflops = 200,
                                         .known_gbs = 19},
                                .caches = {.reported = 32 << 20, .last = 24 << 20}};
}

static void steady_machine(void **state) {
    machine *m = *state;
    tc_doctor_measured x = steady();
    tc_doctor_judge_measured(&m->d, &x);
    expect(m, TC_DOCTOR_NOISE, TC_DOCTOR_GOOD, "1.0 %");
    expect(m, TC_DOCTOR_SCALING, TC_DOCTOR_GOOD, "98 %");
    expect(m, TC_DOCTOR_CACHES, TC_DOCTOR_GOOD, "24.0 MiB");
    expect(m, TC_DOCTOR_BUSY, TC_DOCTOR_GOOD, "195 of 200 GFLOP/s and 20 of 20 GB/s");
    expect(m, TC_DOCTOR_PEAK, TC_DOCTOR_GOOD, "195.0 GFLOP/s (f32, AVX2, 2 threads), 20.0 GB/s");
}

static void restless_machine(void **state) {
    machine *m = *state;
    tc_doctor_measured x = steady();
    x.slowdown = 1.4;
    x.peak.read_gflops = 110;
    x.caches.last = 3 << 20;
    tc_doctor_judge_measured(&m->d, &x);
    expect(m, TC_DOCTOR_NOISE, TC_DOCTOR_WARNING, "40.0 %");
    expect(m, TC_DOCTOR_SCALING, TC_DOCTOR_WARNING, "55 %");
    expect(m, TC_DOCTOR_CACHES, TC_DOCTOR_WARNING, "3.0 MiB as measured, 32 MiB");
}

/* Rates far below what is known of the machine. Where nothing is known from earlier, the check cannot tell. */
static void busy_machine(void **state) {
    machine *m = *state;
    tc_doctor_measured x = steady();
    x.peak.read_gflops = 13;
    x.peak.known_gflops = 234;
    tc_doctor_judge_measured(&m->d, &x);
    expect(m, TC_DOCTOR_BUSY, TC_DOCTOR_WARNING, "measured 13 of 234 GFLOP/s and 20 of 20 GB/s");
}

static void machine_without_a_past(void **state) {
    machine *m = *state;
    tc_doctor_measured x = steady();
    x.peak.known_gflops = x.peak.known_gbs = 0;
    tc_doctor_judge_measured(&m->d, &x);
    expect(m, TC_DOCTOR_BUSY, TC_DOCTOR_UNKNOWN, "nothing is known");
}

static void one_thread(void **state) {
    machine *m = *state;
    tc_doctor_measured x = steady();
    x.threads = 1;
    x.spread = 0.3;
    x.caches.last = 0;
    tc_doctor_judge_measured(&m->d, &x);
    expect(m, TC_DOCTOR_NOISE, TC_DOCTOR_WARNING, "30.0 %");
    expect(m, TC_DOCTOR_CACHES, TC_DOCTOR_NOTE, "did not find the end");
    expect_silence(m, TC_DOCTOR_SCALING);
}

/* The last: no check is left that nobody saw complain or tell. */
static void every_check(void **state) {
    (void)state;
    for (int c = 0; c < TC_NDOCTOR; c++)
        if (c != TC_DOCTOR_PEAK && !seen[c][TC_DOCTOR_WARNING] && !seen[c][TC_DOCTOR_NOTE])
            fail_msg("no test shows %s", tc_doctor_name((tc_doctor_check)c));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(quiet_server),
        TEST(hot_laptop),
        TEST(nothing_there),
        TEST(strange_files),
        TEST(quota_of_group),
        TEST(quota_of_version_1),
        TEST(quota_that_is_enough),
        TEST(narrow_limits),
        TEST(others_at_work),
        TEST(only_this_process),
        TEST(good),
        TEST(bad),
        TEST(neither),
        TEST(asked),
        TEST(steady_machine),
        TEST(restless_machine),
        TEST(busy_machine),
        TEST(machine_without_a_past),
        TEST(one_thread),
        cmocka_unit_test(every_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
