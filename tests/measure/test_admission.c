/* What was found right is believed by the user who found it, and by nobody to whom the database comes. Each process decides once
 * who it is, so that those who admit and those who ask are processes of their own. */
#include "database.h"

#include <sys/wait.h>
#include <unistd.h>

#include "measure/records/admission.h"

static const tc_meas_program program = {"w", "t", "x", 2, 5}, other = {"w", "t", "y", 2, 6};

typedef int act(void);

/* What a process says that has its cache in that folder of the test's ("off": none). */
static int as(const char *user, act *f) {
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        setenv("TCTUNE_CACHE", strcmp(user, "off") ? tc_arena_printf(arena, "%s/%s", dir, user) : user, 1);
        _exit(f());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

enum { NO, YES, MIXED, FAILED };

static int admit(void) {
    tc_meas_db *db;
    if (tc_meas_db_open(path, TC_MEAS_DB_WRITE, &db, NULL) != TC_OK)
        return FAILED;
    tc_status s = tc_meas_db_admit(db, &program, 1, NULL);
    if (s == TC_OK)
        s = tc_meas_db_put_model(db, tc_meas_text_hash("t"), "cost", "trees", 5, NULL);
    tc_meas_db_close(db);
    return s == TC_OK ? YES : FAILED;
}

/* Of what admit() stored all or nothing must be believed, and never what it did not. */
static int believes(void) {
    tc_meas_db *db;
    bool is = false, not = false;
    const void *data;
    size_t n = 0;
    if (tc_meas_db_open(path, TC_MEAS_DB_READ, &db, NULL) != TC_OK)
        return FAILED;
    tc_status s = tc_meas_db_is_admitted(db, &program, &is, NULL);
    if (s == TC_OK)
        s = tc_meas_db_is_admitted(db, &other, &not, NULL);
    if (s == TC_OK)
        s = tc_meas_db_get_model(db, arena, tc_meas_text_hash("t"), "cost", &data, &n, NULL);
    tc_meas_db_close(db);
    return s != TC_OK ? FAILED : not || is != (n == 5) ? MIXED : is ? YES : NO;
}

static int admits_and_believes(void) {
    return admit() == YES ? believes() : FAILED;
}

static void users_believe_themselves(void **state) {
    (void)state;
    assert_int_equal(as("one", admit), YES);
    assert_int_equal(as("one", believes), YES);
    assert_int_equal(as("another", believes), NO);
    assert_int_equal(as("off", believes), NO);
    assert_int_equal(as("another", admit), YES); /* neither takes the other's away, but for the model, of which there is one */
    assert_int_equal(as("another", believes), YES);
    assert_int_equal(as("one", believes), MIXED);
}

/* Builds open the database for reading. */
static int reader_admits(void) {
    tc_meas_db *db;
    if (tc_meas_db_open(path, TC_MEAS_DB_READ, &db, NULL) != TC_OK)
        return FAILED;
    tc_status s = tc_meas_db_admit(db, &program, 1, NULL);
    bool changes = tc_meas_db_writable(db);
    tc_meas_db_close(db);
    return s == TC_OK && !changes ? YES : FAILED;
}

static int reader_believes(void) {
    tc_meas_db *db;
    bool is = false;
    if (tc_meas_db_open(path, TC_MEAS_DB_READ, &db, NULL) != TC_OK)
        return FAILED;
    tc_status s = tc_meas_db_is_admitted(db, &program, &is, NULL);
    tc_meas_db_close(db);
    return s != TC_OK ? FAILED : is ? YES : NO;
}

static void what_a_reader_found_is_remembered(void **state) {
    (void)state;
    assert_int_equal(as("another", admit), YES);
    assert_int_equal(as("one", reader_believes), NO);
    assert_int_equal(as("one", reader_admits), YES);
    assert_int_equal(as("one", reader_believes), YES);
}

static void a_new_secret_forgets(void **state) {
    (void)state;
    assert_int_equal(as("one", admit), YES);
    assert_int_equal(unlink(tc_arena_printf(arena, "%s/one/.secret", dir)), 0);
    assert_int_equal(as("one", believes), NO);
    assert_int_equal(as("one", admit), YES);
    assert_int_equal(as("one", believes), YES);
}

static void without_a_folder_a_process_believes_itself(void **state) {
    (void)state;
    assert_int_equal(as("off", admits_and_believes), YES);
    assert_int_equal(as("off", believes), NO);
}

/* The same record as of another machine, and as of this one. */
static int admits_what_ran_here(void) {
    tc_meas_db *db;
    bool is[2] = {false, false};
    if (tc_meas_db_open(path, TC_MEAS_DB_WRITE, &db, NULL) != TC_OK)
        return FAILED;
    tc_status s = TC_OK;
    for (int here = 0; here < 2 && s == TC_OK; here++) {
        tc_record r = sample_record(arena, sample_workload(arena, 8), 1, 1e-3);
        tc_meas_program p = {r.workload, r.target, r.trace, r.threads, r.program};
        r.elsewhere = !here;
        s = tc_meas_db_insert_measured(db, &r, 1, NULL);
        if (s == TC_OK)
            s = tc_meas_db_is_admitted(db, &p, &is[here], NULL);
    }
    tc_meas_db_close(db);
    return s != TC_OK ? FAILED : is[0] ? MIXED : is[1] ? YES : NO;
}

static void what_others_measured_is_not_admitted(void **state) {
    (void)state;
    assert_int_equal(as("one", admits_what_ran_here), YES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(users_believe_themselves, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_reader_found_is_remembered, setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_secret_forgets, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_folder_a_process_believes_itself, setup, teardown),
        cmocka_unit_test_setup_teardown(what_others_measured_is_not_admitted, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
