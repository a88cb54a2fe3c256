/* Counters of what a process does: those of the kernel, which a virtual machine has too, and what becomes of any. */
#include "support/cmocka_all.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "measure/machine/counters.h"
#include "support/vec.h"

static void what_is_missing_says_why(void **state) {
    (void)state;
    tc_arena *a = tc_arena_new();
    tc_meas_counters c;
    tc_meas_counters_open(&c);
    for (int i = 0; i < TC_MEAS_NCOUNTERS; i++) {
        assert_true(*tc_meas_counter_text((tc_meas_counter)i) != 0);
        assert_true((c.fd[i] < 0) == (c.missing[i] != 0));
        if (c.missing[i])
            assert_true(*tc_meas_counter_missing(a, c.missing[i]) != 0);
    }
    tc_meas_counters_close(&c);
    assert_non_null(strstr(tc_meas_counter_missing(a, ENOENT), "virtual machine"));
    assert_non_null(strstr(tc_meas_counter_missing(a, EACCES), "not allowed"));
    assert_non_null(strstr(tc_meas_counter_missing(a, EBUSY), "did not run"));
    assert_string_equal(tc_meas_counter_missing(a, EIO), strerror(EIO));
    tc_arena_free(a);
}

/* New pages, each of which is a fault of user code, where the kernel lets anybody count. */
static void faults_are_counted(void **state) {
    (void)state;
    enum { PAGES = 200, CALLS = 2 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    tc_meas_counters c;
    tc_meas_reading before, after, sum = {0};
    tc_meas_counters_open(&c);
    char *p = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    assert_int_equal(madvise(p, PAGES * page, MADV_NOHUGEPAGE), 0);
    tc_meas_counters_read(&c, &before);
    for (size_t i = 0; i < PAGES; i++)
        ((volatile char *)p)[i * page] = 1;
    tc_meas_counters_read(&c, &after);
    tc_meas_reading_add(&sum, &before, &after);
    tc_meas_counted got = tc_meas_counts_of(&c, &sum, CALLS);
    assert_true(got.asked);
    if (!c.missing[TC_COUNTER_PAGE_FAULTS]) {
        assert_int_equal(got.missing[TC_COUNTER_PAGE_FAULTS], 0);
        assert_true(got.of_call[TC_COUNTER_PAGE_FAULTS] >= (double)PAGES / CALLS);
        assert_true(got.of_call[TC_COUNTER_TASK_CLOCK] > 0);
    }
    for (int i = 0; i < TC_MEAS_NCOUNTERS; i++)
        assert_true(!got.missing[i] || got.of_call[i] == 0);
    munmap(p, PAGES * page);
    tc_meas_counters_close(&c);
}

/* ---- readings that were made up ---- */

static tc_meas_reading reading(uint64_t value, uint64_t enabled, uint64_t running) {
    tc_meas_reading r = {0};
    for (int i = 0; i < TC_MEAS_NCOUNTERS; i++) {
        r.value[i] = value;
        r.enabled[i] = enabled;
        r.running[i] = running;
    }
    return r;
}

/* Spans with others between them: 30 and 20 of 10 calls. One that ran for half of the time saw half. */
static void spans_add_up(void **state) {
    (void)state;
    tc_meas_counters all = {{0}, {0}};
    tc_meas_reading sum = {0};
    tc_meas_reading_add(&sum, &(tc_meas_reading){0}, &(tc_meas_reading){0});
    const tc_meas_reading at[] = {reading(100, 1000, 500), reading(130, 1200, 600), reading(900, 5000, 2500),
                                  reading(920, 5200, 2600)};
    tc_meas_reading_add(&sum, &at[0], &at[1]);
    tc_meas_reading_add(&sum, &at[2], &at[3]);
    tc_meas_counted got = tc_meas_counts_of(&all, &sum, 10);
    for (int i = 0; i < TC_MEAS_NCOUNTERS; i++)
        assert_true(got.missing[i] == 0 && fabs(got.of_call[i] - 10) < 1e-9);
}

static void what_did_not_run_saw_nothing(void **state) {
    (void)state;
    tc_meas_counters all = {{0}, {0}}, none = all;
    tc_meas_reading sum = {0}, from = reading(100, 1000, 500), to = reading(130, 1200, 500), back = reading(90, 1100, 600);
    none.missing[TC_COUNTER_CYCLES] = ENOENT;
    tc_meas_reading_add(&sum, &from, &to);   /* it stood */
    tc_meas_reading_add(&sum, &from, &back); /* a counter does not go back */
    tc_meas_counted got = tc_meas_counts_of(&none, &sum, 10);
    assert_int_equal(got.missing[TC_COUNTER_CYCLES], ENOENT);
    assert_int_equal(got.missing[TC_COUNTER_INSTRUCTIONS], EBUSY);
    assert_true(got.of_call[TC_COUNTER_INSTRUCTIONS] == 0);
    sum = reading(10, 10, 10);
    assert_int_equal(tc_meas_counts_of(&all, &sum, 0).missing[TC_COUNTER_CYCLES], EBUSY); /* of no calls */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_missing_says_why),
        cmocka_unit_test(faults_are_counted),
        cmocka_unit_test(spans_add_up),
        cmocka_unit_test(what_did_not_run_saw_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
