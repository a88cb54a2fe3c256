/* Worker processes: limits, deaths, restarts, and that nothing is left behind. */
#include "support/cmocka_all.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_worker.h"
#include "measure/process/process.h"
#include "support/log.h"
#include "support/system/fs.h"
#include "support/vec.h"

static tc_meas_proc proc;

static int count_fds(void) {
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static int fds_before;

static int setup(void **state) {
    (void)state;
    fds_before = count_fds();
    tc_meas_proc_init(&proc, &(tc_meas_proc_options){.arg = "fake", .memory_limit = 512 << 20});
    return 0;
}

/* Every test must leave no child and no descriptor. */
static int teardown(void **state) {
    (void)state;
    tc_meas_proc_close(&proc);
    if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD) {
        fprintf(stderr, "a child was left\n");
        return -1;
    }
    if (count_fds() != fds_before) {
        fprintf(stderr, "a descriptor was left\n");
        return -1;
    }
    return 0;
}

static void send(tc_meas_proc *p, const char *command, double limit) {
    tc_strbuf b = {0};
    tc_error err = {0};
    tc_meas_put_text(&b, command);
    if (tc_meas_proc_send(p, TC_MEAS_MSG_PREPARE, b.data, b.len, limit, &err) != TC_OK)
        fail_msg("%s", err.msg);
    tc_strbuf_free(&b);
}

/* Seconds for what must come, on a machine however busy. */
enum { PATIENCE = 600 };

static tc_meas_event ask(const char *command, double limit) {
    tc_meas_proc *p = &proc;
    tc_meas_event ev;
    send(p, command, limit);
    tc_meas_proc_wait(&p, 1, NULL, &ev);
    return ev;
}

static void answers_come(void **state) {
    (void)state;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(ask("", PATIENCE), TC_MEAS_EV_REPLY);
        assert_int_equal(proc.reply_type, TC_MEAS_MSG_PREPARED);
    }
    assert_int_equal(proc.starts, 1);
    assert_string_equal(proc.llvm_version, "19.0");
}

static void a_hang_is_ended_in_time(void **state) {
    (void)state;
    assert_int_equal(ask("", PATIENCE), TC_MEAS_EV_REPLY);
    const char *const kinds[] = {"prepare-hang", "prepare-spin", "prepare-stall"};
    for (size_t i = 0; i < TC_LEN(kinds); i++) {
        double start = tc_now();
        assert_int_equal(ask(kinds[i], 0.3), TC_MEAS_EV_TIMEOUT);
        assert_true(tc_now() - start >= 0.3);
        assert_int_equal(proc.pid, 0);
        assert_int_equal(ask("", PATIENCE), TC_MEAS_EV_REPLY); /* a new one serves */
    }
    assert_int_equal(proc.starts, 4);
}

static void a_crash_tells_its_signal_and_last_words(void **state) {
    (void)state;
    tc_strbuf b = {0};
    assert_int_equal(ask("prepare-crash", PATIENCE), TC_MEAS_EV_DIED);
    assert_int_equal(proc.death.signal, SIGSEGV);
    assert_false(proc.death.memory);
    tc_meas_death_text(&proc.death, &b);
    assert_non_null(strstr(tc_sb_str(&b), "signal 11"));
    assert_non_null(strstr(tc_sb_str(&b), "about to crash"));
    assert_int_equal(ask("", PATIENCE), TC_MEAS_EV_REPLY);
    assert_int_equal(ask("prepare-exit", PATIENCE), TC_MEAS_EV_DIED);
    assert_int_equal(proc.death.exit_code, 5);
    assert_int_equal(ask("", PATIENCE), TC_MEAS_EV_REPLY);
    tc_strbuf_free(&b);
}

static void a_memory_hog_hits_its_limit(void **state) {
    (void)state;
#ifdef TCTUNE_SANITIZED
    print_message("skipped: memory limits (a sanitizer's shadow is larger than any)\n");
    skip();
#endif
    assert_int_equal(ask("prepare-memory", PATIENCE), TC_MEAS_EV_DIED);
    assert_true(proc.death.memory);
    assert_int_equal(ask("", PATIENCE), TC_MEAS_EV_REPLY);
}

static void broken_answers_are_deaths(void **state) {
    (void)state;
    const char *const kinds[] = {"prepare-garbage", "prepare-giant", "prepare-cut"};
    for (size_t i = 0; i < TC_LEN(kinds); i++) {
        assert_int_equal(ask(kinds[i], PATIENCE), TC_MEAS_EV_DIED);
        assert_int_equal(proc.death.damaged, i < 2);
        assert_int_equal(ask("", PATIENCE), TC_MEAS_EV_REPLY);
    }
}

/* Also where the tuner was started with that signal ignored, as by Python. */
static void endless_output_is_bounded(void **state) {
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(ask("prepare-crash", PATIENCE), TC_MEAS_EV_DIED);
    assert_int_equal(ask("", PATIENCE), TC_MEAS_EV_REPLY); /* by a worker that was started since */
    assert_int_equal(ask("prepare-talk", PATIENCE), TC_MEAS_EV_DIED);
    assert_int_equal(proc.death.signal, SIGXFSZ);
}

static void large_requests_pass(void **state) {
    (void)state;
    size_t n = 24 << 20;
    char *big = tc_xmalloc(n + 1);
    memset(big, 'x', n);
    big[n] = 0;
    assert_int_equal(ask(big, PATIENCE), TC_MEAS_EV_REPLY);
    free(big);
}

static void a_dead_receiver_does_not_block(void **state) {
    (void)state;
    size_t n = 24 << 20;
    char *big = tc_xmalloc(n + 1);
    memset(big, 'x', n);
    big[n] = 0;
    assert_int_equal(ask("", PATIENCE), TC_MEAS_EV_REPLY);
    kill(proc.pid, SIGSTOP); /* takes nothing in */
    assert_int_equal(ask(big, 0.5), TC_MEAS_EV_TIMEOUT);
    assert_int_equal(ask("", PATIENCE), TC_MEAS_EV_REPLY);
    kill(proc.pid, SIGKILL);
    struct pollfd gone = {proc.fd, POLLIN, 0};
    assert_int_equal(poll(&gone, 1, 1000 * PATIENCE), 1);
    assert_int_equal(ask(big, PATIENCE), TC_MEAS_EV_REPLY); /* a death between requests harms nobody */
    free(big);
}

static void check_start_fails(tc_meas_proc_options o, const char *phrase) {
    tc_meas_proc p;
    tc_error err = {0};
    tc_meas_proc_init(&p, &o);
    assert_int_equal(tc_meas_proc_start(&p, &err), TC_ENV);
    if (!strstr(err.msg, phrase))
        fail_msg("'%s' does not say '%s'", err.msg, phrase);
    assert_int_equal(p.pid, 0);
    tc_meas_proc_close(&p);
}

static void what_cannot_start_is_an_error(void **state) {
    (void)state;
    static const char *const hang[] = {"FAKE_START=start-hang", NULL}, *const old[] = {"FAKE_START=old", NULL};
    check_start_fails((tc_meas_proc_options){.exe = "/no/such/program"}, "/no/such/program");
    check_start_fails((tc_meas_proc_options){.exe = "/no/such/program"}, "it cannot be executed: No such file or directory");
    check_start_fails((tc_meas_proc_options){.exe = "/bin/true"}, "exited with status 0");
    check_start_fails((tc_meas_proc_options){.arg = "fake", .env = hang, .start_limit = 0.3}, "did not answer in time");
    check_start_fails((tc_meas_proc_options){.arg = "fake", .env = old}, "another protocol");
}

/* ---- what kills a process that starts ---- */

static char *counter;

static int setup_counter(void **state) {
    return tc_fs_temp_name(&counter, NULL) == TC_OK ? setup(state) : -1;
}

static int teardown_counter(void **state) {
    unlink(counter);
    free(counter);
    return teardown(state);
}

/* The first `kills` processes are killed. */
static tc_status start_killed(int kills, tc_error *err) {
    char killed[600], times[64];
    const char *const env[] = {killed, times, NULL};
    snprintf(killed, sizeof killed, FAKE_KILLED "=%s", counter);
    snprintf(times, sizeof times, FAKE_KILLS "=%d", kills);
    tc_meas_proc_init(&proc, &(tc_meas_proc_options){.arg = "fake", .env = env});
    return tc_meas_proc_start(&proc, err);
}

static void a_process_that_is_killed_while_it_starts_is_started_again(void **state) {
    (void)state;
    tc_error err = {0};
    if (start_killed(2, &err) != TC_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(proc.starts, 3);
    assert_int_equal(ask("", PATIENCE), TC_MEAS_EV_REPLY);
}

static void a_process_that_is_always_killed_is_given_up(void **state) {
    (void)state;
    tc_error err = {0};
    assert_int_equal(start_killed(1000, &err), TC_ENV);
    assert_int_equal(proc.starts, 4);
    const char *const says[] = {"killed by signal 9", "because memory ran out", "the last of 4 tries", "raise the memory limit"};
    for (size_t i = 0; i < TC_LEN(says); i++)
        if (!strstr(err.msg, says[i]))
            fail_msg("'%s' does not say '%s'", err.msg, says[i]);
}

/* ---- what the process that starts it lacks ---- */

/* A program that ignores SIGCHLD is not told how its children end. They answer all the same, and nothing waits for ever. */
static void without_news_of_children(void **state) {
    (void)state;
    tc_strbuf b = {0};
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    assert_int_equal(ask("", PATIENCE), TC_MEAS_EV_REPLY);
    assert_int_equal(ask("prepare-crash", PATIENCE), TC_MEAS_EV_DIED);
    assert_true(proc.death.untold);
    tc_meas_death_text(&proc.death, &b);
    if (!strstr(tc_sb_str(&b), "nothing tells how: this program ignores SIGCHLD") || !strstr(tc_sb_str(&b), "about to crash"))
        fail_msg("%s", tc_sb_str(&b));
    assert_int_equal(ask("prepare-hang", 0.2), TC_MEAS_EV_TIMEOUT);
    assert_int_equal(ask("", PATIENCE), TC_MEAS_EV_REPLY);
    tc_meas_proc_close(&proc);
    signal(SIGCHLD, before);
    tc_strbuf_free(&b);
}

/* Leaves the process `n` descriptors more than it has now. */
static struct rlimit leave_descriptors(int n) {
    struct rlimit before, r;
    int next = dup(0);
    assert_true(next >= 0 && close(next) == 0 && getrlimit(RLIMIT_NOFILE, &before) == 0);
    r = before;
    r.rlim_cur = (rlim_t)(next + n);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &r), 0);
    return before;
}

/* It starts with as few as it needs, and otherwise says what is missing: each time the same limit. */
static void with_few_descriptors(void **state) {
    (void)state;
    enum { SOCKETS_AND_LOG = 3 };
    for (int n = 0; n <= SOCKETS_AND_LOG; n++) {
        tc_error err = {0};
        struct rlimit before = leave_descriptors(n);
        tc_status s = tc_meas_proc_start(&proc, &err);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        if (n < SOCKETS_AND_LOG && (s != TC_ENV || !strstr(err.msg, "(ulimit -n)")))
            fail_msg("%d descriptors: %s", n, err.msg);
        if (n == SOCKETS_AND_LOG && s != TC_OK)
            fail_msg("%d descriptors: %s", n, err.msg);
    }
    assert_int_equal(ask("", PATIENCE), TC_MEAS_EV_REPLY);
}

/* The new descriptors are 0, 1 and 2 then, which the worker gets others for. */
static void with_closed_standard_streams(void **state) {
    (void)state;
    int kept[3];
    for (int fd = 0; fd < 3; fd++) {
        kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
        close(fd);
    }
    tc_error err = {0};
    tc_status s = tc_meas_proc_start(&proc, &err);
    tc_meas_event ev = s == TC_OK ? ask("prepare-crash", PATIENCE) : TC_MEAS_EV_NONE;
    for (int fd = 0; fd < 3; fd++) {
        dup2(kept[fd], fd);
        close(kept[fd]);
    }
    if (s != TC_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(ev, TC_MEAS_EV_DIED);
    assert_string_equal(proc.death.said, "about to crash");
}

/* A program that forks: the child's copy of a handle is closed, as when the child ends, or used. The worker is the parent's. */
static void who_is_forked_off_leaves_the_worker_alone(void **state) {
    (void)state;
    int status;
    assert_int_equal(ask("", PATIENCE), TC_MEAS_EV_REPLY);
    pid_t worker = proc.pid;
    for (int uses = 0; uses < 2; uses++) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            bool good = !uses || (ask("", PATIENCE) == TC_MEAS_EV_REPLY && proc.pid != worker);
            tc_meas_proc_close(&proc);
            _exit(good ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    assert_int_equal(ask("", PATIENCE), TC_MEAS_EV_REPLY);
    assert_int_equal(proc.pid, worker);
}

/* What the sandbox of a container may refuse. */
static int lacks_memfd;
static bool lacks_proc;

int memfd_create(const char *name, unsigned flags) {
    errno = lacks_memfd;
    return lacks_memfd ? -1 : (int)syscall(SYS_memfd_create, name, flags);
}

int access(const char *path, int mode) {
    if (lacks_proc && strncmp(path, "/proc/", 6) == 0) {
        errno = ENOENT;
        return -1;
    }
    return faccessat(AT_FDCWD, path, mode, 0);
}

static void without_files_in_memory(void **state) {
    (void)state;
    static const int errors[] = {ENOSYS, EPERM};
    for (size_t i = 0; i < TC_LEN(errors); i++) {
        lacks_memfd = errors[i];
        assert_int_equal(ask("prepare-crash", PATIENCE), TC_MEAS_EV_DIED);
        lacks_memfd = 0;
        assert_string_equal(proc.death.said, "about to crash");
    }
}

static void without_a_link_to_itself(void **state) {
    (void)state;
    lacks_proc = true;
    tc_meas_event ev = ask("", PATIENCE);
    lacks_proc = false;
    assert_int_equal(ev, TC_MEAS_EV_REPLY);
}

static void several_work_at_once(void **state) {
    (void)state;
    tc_meas_proc p[4], *all[4];
    bool got[4] = {false};
    for (int i = 0; i < 4; i++) {
        tc_meas_proc_init(&p[i], &proc.opt);
        all[i] = &p[i];
        assert_int_equal(tc_meas_proc_start(&p[i], NULL), TC_OK);
    }
    tc_meas_event ev;
    send(&p[0], "prepare-hang", PATIENCE); /* nobody waits for it */
    for (int i = 1; i < 4; i++)
        send(&p[i], "", PATIENCE);
    for (int n = 1; n < 4; n++) {
        int i = tc_meas_proc_wait(all, 4, NULL, &ev);
        assert_in_range(i, 1, 3);
        assert_int_equal(ev, TC_MEAS_EV_REPLY);
        assert_false(got[i]);
        got[i] = true;
    }
    tc_meas_proc_close(&p[0]);
    assert_int_equal(tc_meas_proc_wait(all + 1, 3, NULL, &ev), -1); /* nothing is out: no waiting */
    for (int i = 1; i < 4; i++)
        tc_meas_proc_close(&p[i]);
}

static void the_stop_flag_ends_waiting(void **state) {
    (void)state;
    volatile sig_atomic_t stop = 1;
    tc_meas_proc *p = &proc;
    tc_meas_event ev;
    send(p, "prepare-hang", PATIENCE);
    assert_int_equal(tc_meas_proc_wait(&p, 1, &stop, &ev), -1);
    assert_int_equal(ev, TC_MEAS_EV_NONE);
}

static void interrupts_do_not_reach_workers(void **state) {
    (void)state;
    assert_int_equal(ask("", PATIENCE), TC_MEAS_EV_REPLY);
    kill(proc.pid, SIGINT);
    assert_int_equal(ask("", PATIENCE), TC_MEAS_EV_REPLY);
    assert_int_equal(proc.starts, 1);
}

/* Gone, or a zombie that only waits for init. */
static bool is_gone(pid_t pid) {
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (!f)
        return true;
    if (!fgets(line, sizeof line, f))
        line[0] = 0;
    fclose(f);
    const char *state = strrchr(line, ')');
    return !state || state[2] == 'Z';
}

static void workers_die_with_the_tuner(void **state) {
    (void)state;
    int p[2];
    pid_t worker = 0;
    assert_int_equal(pipe(p), 0);
    fflush(NULL);
    pid_t tuner = fork();
    if (tuner == 0) {
        send(&proc, "prepare-spin", 600);
        if (write(p[1], &proc.pid, sizeof proc.pid) < 0)
            _exit(1);
        pause();
    }
    assert_int_equal(read(p[0], &worker, sizeof worker), sizeof worker);
    assert_false(is_gone(worker));
    kill(tuner, SIGKILL);
    waitpid(tuner, NULL, 0);
    for (int i = 0; i < 100 * PATIENCE && !is_gone(worker); i++)
        usleep(10000);
    assert_true(is_gone(worker));
    close(p[0]);
    close(p[1]);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "fake") == 0)
        return fake_worker_main();
    setenv("TCTUNE_CACHE", "off", 1); /* what these workers say is of no machine */
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(answers_come),
        TEST(a_hang_is_ended_in_time),
        TEST(a_crash_tells_its_signal_and_last_words),
        TEST(a_memory_hog_hits_its_limit),
        TEST(broken_answers_are_deaths),
        TEST(endless_output_is_bounded),
        TEST(large_requests_pass),
        TEST(a_dead_receiver_does_not_block),
        TEST(what_cannot_start_is_an_error),
        cmocka_unit_test_setup_teardown(a_process_that_is_killed_while_it_starts_is_started_again, setup_counter,
                                        teardown_counter),
        cmocka_unit_test_setup_teardown(a_process_that_is_always_killed_is_given_up, setup_counter, teardown_counter),
        TEST(without_news_of_children),
        TEST(with_few_descriptors),
        TEST(with_closed_standard_streams),
        TEST(who_is_forked_off_leaves_the_worker_alone),
        TEST(without_files_in_memory),
        TEST(without_a_link_to_itself),
        TEST(several_work_at_once),
        TEST(the_stop_flag_ends_waiting),
        TEST(interrupts_do_not_reach_workers),
        TEST(workers_die_with_the_tuner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
