/* strbuf.h, status.h and log.h. */
#include "support/cmocka_all.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/log.h"
#include "support/rng.h"
#include "support/status.h"
#include "support/strbuf.h"
#include "support/vec.h"

static void strbuf_appends(void **state) {
    (void)state;
    tc_strbuf b = {0};
    assert_string_equal(tc_sb_str(&b), "");
    tc_sb_add(&b, "ab");
    tc_sb_addn(&b, "cdef", 2);
    tc_sb_addc(&b, '!');
    tc_sb_indent(&b, 2);
    tc_sb_indent(&b, 0);
    tc_sb_printf(&b, "%d", 42);
    assert_string_equal(tc_sb_str(&b), "abcd!  42");
    assert_int_equal(b.len, 9);
    tc_sb_clear(&b);
    assert_string_equal(tc_sb_str(&b), "");
    tc_sb_add(&b, "");
    tc_sb_addn(&b, NULL, 0);
    assert_string_equal(b.data, "");
    tc_strbuf_free(&b);
    assert_null(b.data);
    assert_string_equal(tc_sb_str(&b), "");
}

static void strbuf_printf_grows_at_every_length(void **state) {
    (void)state;
    for (int n = 0; n < 300; n++) {
        tc_strbuf b = {0};
        tc_sb_add(&b, "x");
        tc_sb_printf(&b, "%*s", n, "");
        tc_sb_add(&b, "y");
        assert_int_equal(b.len, n + 2);
        assert_int_equal(strlen(b.data), n + 2);
        assert_int_equal(b.data[n + 1], 'y');
        tc_strbuf_free(&b);
    }
}

static void words_of_commands(void **state) {
    (void)state;
    static const char *const cases[][2] = {{"a/b-1.so", "a/b-1.so"}, {"", "''"},
                                           {"a b", "'a b'"},         {"it's $HOME", "'it'\\''s $HOME'"},
                                           {"Größe", "'Größe'"},     {"\x1b[201~'\\\n", "$'\\033[201~\\'\\\\\\012'"},
                                           {"\xff", "$'\\377'"},     {"\u202e", "$'\\342\\200\\256'"}};
    for (size_t i = 0; i < TC_LEN(cases); i++) {
        tc_strbuf b = {0};
        tc_sb_add_word(&b, cases[i][0]);
        assert_string_equal(tc_sb_str(&b), cases[i][1]);
        tc_strbuf_free(&b);
    }
}

static void expect_double(double v, const char *text) {
    tc_strbuf b = {0};
    tc_sb_double(&b, v);
    assert_string_equal(tc_sb_str(&b), text);
    tc_strbuf_free(&b);
}

static void doubles_are_written_shortest(void **state) {
    (void)state;
    expect_double(0, "0");
    expect_double(-0.0, "-0");
    expect_double(1, "1");
    expect_double(0.5, "0.5");
    expect_double(0.1, "0.1");
    expect_double(1e-5, "1e-05");
    expect_double(1e22, "1e+22");
    expect_double(1.0 / 3, "0.3333333333333333");
    expect_double(0.1 + 0.2, "0.30000000000000004");
    expect_double(5e-324, "5e-324");
    expect_double(1.7976931348623157e308, "1.7976931348623157e+308");
    expect_double(INFINITY, "inf");
    expect_double(-INFINITY, "-inf");
    expect_double(NAN, "nan");
    expect_double(-NAN, "nan");
}

static void doubles_read_back_bit_for_bit(void **state) {
    (void)state;
    tc_rng r = tc_rng_seed(11);
    tc_strbuf b = {0};
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = tc_rng_next(&r);
        double v;
        memcpy(&v, &bits, sizeof v);
        if (isnan(v))
            continue;
        tc_sb_clear(&b);
        tc_sb_double(&b, v);
        double back = strtod(tc_sb_str(&b), NULL);
        assert_memory_equal(&back, &v, sizeof v);
    }
    tc_strbuf_free(&b);
}

static tc_status fails(tc_error *err) {
    return tc_fail(err, TC_ENV, "disk %s", "full");
}

static tc_status tries(tc_error *err, bool *went_on) {
    TC_TRY(TC_OK);
    TC_TRY(fails(err));
    *went_on = true;
    return TC_OK;
}

static void errors_carry_status_and_message(void **state) {
    (void)state;
    tc_error err = {0};
    bool went_on = false;
    assert_int_equal(tries(&err, &went_on), TC_ENV);
    assert_false(went_on);
    assert_int_equal(err.status, TC_ENV);
    assert_string_equal(err.msg, "disk full");
    assert_int_equal(tries(NULL, &went_on), TC_ENV);
    tc_error_prefix(NULL, "no %s", "crash");
}

static void errors_can_be_wrapped(void **state) {
    (void)state;
    tc_error err = {0};
    (void)tc_fail(&err, TC_BAD_INPUT, "unknown operator '%s'", "Foo");
    tc_error_prefix(&err, "%s: node '%s': ", "m.onnx", "n1");
    assert_string_equal(err.msg, "m.onnx: node 'n1': unknown operator 'Foo'");
    assert_int_equal(err.status, TC_BAD_INPUT);
    (void)tc_fail(&err, TC_ENV, "again: %s", err.msg); /* quotes the message that it replaces */
    assert_string_equal(err.msg, "again: m.onnx: node 'n1': unknown operator 'Foo'");
}

static void errors_carry_codes(void **state) {
    (void)state;
    tc_error err = {0};
    assert_int_equal(tc_refuse(&err, TC_ERROR_UNSUPPORTED, "no %s", "strings"), TC_BAD_INPUT);
    tc_error_prefix(&err, "m.onnx: ");
    assert_int_equal(err.status, TC_BAD_INPUT);
    assert_string_equal(err.msg, "m.onnx: no strings");
    assert_true(tc_error_unsupported(&err) && !tc_error_wants_constant(&err));
    (void)tc_refuse(&err, TC_ERROR_NOT_CONSTANT, "axes");
    assert_true(!tc_error_unsupported(&err) && tc_error_wants_constant(&err));
    (void)tc_refuse(&err, TC_ERROR_DATA_DEPENDENT, "shape");
    assert_true(tc_error_unsupported(&err) && tc_error_wants_constant(&err));
    (void)tc_fail(&err, TC_BAD_INPUT, "not supported when the model is imported"); /* words decide nothing */
    assert_true(!tc_error_unsupported(&err) && !tc_error_wants_constant(&err));
    assert_int_equal(tc_refuse(NULL, TC_ERROR_UNSUPPORTED, "nobody asks"), TC_BAD_INPUT);
}

static void long_messages_end_in_dots(void **state) {
    (void)state;
    tc_error err = {0};
    (void)tc_fail(&err, TC_ENV, "%*s", 5000, "1");
    assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
    assert_string_equal(err.msg + sizeof err.msg - 4, "...");
    (void)tc_fail(&err, TC_ENV, "%*s", 1500, "1");
    assert_int_equal(strlen(err.msg), 1500);
    tc_error_prefix(&err, "%*s", 100, "2");
    assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
    assert_string_equal(err.msg + sizeof err.msg - 4, "...");
    tc_error_prefix(&err, "%*s", 5000, "3");
    assert_string_equal(err.msg + sizeof err.msg - 4, "...");
    char fits[sizeof err.msg];
    memset(fits, 'a', sizeof fits - 1);
    fits[sizeof fits - 1] = 0;
    (void)tc_fail(&err, TC_ENV, "%s", fits);
    assert_string_equal(err.msg, fits);
}

/* Runs tc_log with stderr on a file and returns what was written. */
static void log_to(const char *path, char *text, size_t cap) {
    int saved = dup(STDERR_FILENO);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(fd, STDERR_FILENO);
    tc_log(TC_LOG_ERROR, "e%d", 1);
    tc_log(TC_LOG_INFO, "i%d", 2);
    tc_log(TC_LOG_DEBUG, "%*s", 5000, "3");
    dup2(saved, STDERR_FILENO);
    ssize_t n = pread(fd, text, cap - 1, 0);
    text[n > 0 ? n : 0] = 0;
    close(fd);
    close(saved);
    unlink(path);
}

static void log_respects_its_level(void **state) {
    (void)state;
    char text[8192];
    const char *path = TCTUNE_TEST_TMP "/log.txt";
    unsetenv("TCTUNE_LOG");
    log_to(path, text, sizeof text);
    assert_string_equal(text, ""); /* off by default */
    tc_log_set_level(TC_LOG_INFO);
    log_to(path, text, sizeof text);
    assert_string_equal(text, "tctune: error: e1\ntctune: info: i2\n");
    tc_log_set_level(TC_LOG_DEBUG);
    log_to(path, text, sizeof text);
    assert_int_equal(text[strlen(text) - 1], '\n'); /* cut off, still one line */
    tc_log_set_level(TC_LOG_ERROR);
}

typedef struct taken {
    char text[8192];
    bool refused; /* a taker cannot name another */
} taken;

static void take(void *user, tc_log_level level, const char *line) {
    taken *t = user;
    void *before;
    size_t n = strlen(t->text);
    snprintf(t->text + n, sizeof t->text - n, "%d: %.20s\n", level, line);
    tc_log(TC_LOG_ERROR, "from the taker");
    t->refused = !tc_log_use(NULL, NULL, TC_LOG_DEBUG, &before);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void a_taker_gets_the_lines(void **state) {
    (void)state;
    char text[8192];
    const char *path = TCTUNE_TEST_TMP "/taken.txt";
    taken first = {0}, second = {0};
    void *before = &first;
    assert_true(tc_log_use(take, &first, TC_LOG_INFO, &before));
    assert_null(before);
    log_to(path, text, sizeof text);
    assert_string_equal(text, "");
    assert_string_equal(first.text, "0: e1\n2: i2\n");
    assert_true(first.refused);
    assert_true(tc_log_use(take, &second, TC_LOG_DEBUG, &before));
    assert_ptr_equal(before, &first);
    log_to(path, text, sizeof text);
    assert_string_equal(first.text, "0: e1\n2: i2\n");
    assert_string_equal(second.text, "0: e1\n2: i2\n3:                     \n");
    setenv("TCTUNE_LOG", "error", 1);
    assert_true(tc_log_use(NULL, NULL, TC_LOG_AS_ENVIRONMENT, &before));
    assert_ptr_equal(before, &second);
    log_to(path, text, sizeof text);
    assert_string_equal(text, "tctune: error: e1\n");
    unsetenv("TCTUNE_LOG");
    assert_true(tc_log_use(NULL, NULL, TC_LOG_SILENT, &before));
    assert_null(before);
    log_to(path, text, sizeof text);
    assert_string_equal(text, "");
    tc_log_set_level(TC_LOG_ERROR);
}

/* A process that is forked while another thread is in the taker can log. */
static void *log_much(void *user) {
    const atomic_bool *end = user;
    while (!atomic_load(end))
        tc_log(TC_LOG_ERROR, "another thread");
    return NULL;
}

static void take_and_count(void *user, tc_log_level level, const char *line) {
    atomic_int *n = user;
    (void)level;
    (void)line;
    atomic_fetch_add(n, 1);
}

static void children_log(void **state) {
    (void)state;
    atomic_bool end = false;
    atomic_int lines = 0;
    void *before;
    pthread_t thread;
    assert_true(tc_log_use(take_and_count, &lines, TC_LOG_ERROR, &before));
    assert_int_equal(pthread_create(&thread, NULL, log_much, &end), 0);
    while (!atomic_load(&lines))
        sched_yield();
    for (int i = 0; i < 50; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            int had = atomic_load(&lines);
            tc_log(TC_LOG_ERROR, "the child");
            _exit(atomic_load(&lines) == had + 1 ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    atomic_store(&end, true);
    pthread_join(thread, NULL);
    assert_true(tc_log_use(NULL, NULL, TC_LOG_ERROR, &before));
}

static void time_moves_forward(void **state) {
    (void)state;
    double t = tc_now();
    usleep(2000);
    double d = tc_now() - t;
    assert_true(d >= 0.001 && d < 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strbuf_appends),
        cmocka_unit_test(strbuf_printf_grows_at_every_length),
        cmocka_unit_test(words_of_commands),
        cmocka_unit_test(doubles_are_written_shortest),
        cmocka_unit_test(doubles_read_back_bit_for_bit),
        cmocka_unit_test(errors_carry_status_and_message),
        cmocka_unit_test(errors_can_be_wrapped),
        cmocka_unit_test(errors_carry_codes),
        cmocka_unit_test(long_messages_end_in_dots),
        cmocka_unit_test(log_respects_its_level),
        cmocka_unit_test(a_taker_gets_the_lines),
        cmocka_unit_test(children_log),
        cmocka_unit_test(time_moves_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
