/* The user's secret: one for all processes of a folder, and none from a file that is not this user's alone. Each process decides
 * once, so each question is asked in one of its own. */
#include "support/cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/arena.h"
#include "support/log.h"
#include "support/system/fs.h"
#include "support/system/identity.h"
#include "support/system/secret.h"

static tc_arena *arena;
static char *folder; /* of one test */

static int setup(void **state) {
    (void)state;
    arena = tc_arena_new();
    return tc_fs_temp_dir(&folder, NULL) != TC_OK;
}

static int teardown(void **state) {
    (void)state;
    chmod(folder, 0700);
    tc_fs_remove_tree(folder);
    free(folder);
    tc_arena_free(arena);
    return 0;
}

static char *in_folder(const char *name) {
    return tc_arena_printf(arena, "%s/%s", folder, name);
}

/* ---- other processes ---- */

typedef struct answer {
    tc_secret secret;
    tc_seal seal, name; /* of "x"; the machine's */
} answer;

typedef struct process {
    pid_t pid;
    int answer, said;
} process;

static void answer_and_end(const char *cache, int to, int said) {
    answer a, again;
    tc_log_set_level(TC_LOG_WARN);
    bool ok = dup2(said, 2) >= 0 && setenv("TCTUNE_CACHE", cache, 1) == 0;
    for (int i = 0; i < 2; i++) {
        answer *x = i ? &again : &a;
        ok = ok && tc_user_secret(&x->secret) && tc_host_seal("x", 1, &x->seal) && tc_host_identity(&x->name);
    }
    ok = ok && !memcmp(a.secret.bytes, again.secret.bytes, sizeof a.secret.bytes) && !strcmp(a.seal.hex, again.seal.hex) &&
         !strcmp(a.name.hex, again.name.hex);
    _exit(ok && write(to, &a, sizeof a) == sizeof a ? 0 : 1);
}

static process start(const char *cache) {
    int a[2], said[2];
    assert_true(pipe(a) == 0 && pipe(said) == 0);
    process p = {.pid = fork(), .answer = a[0], .said = said[0]};
    assert_true(p.pid >= 0);
    if (p.pid == 0)
        answer_and_end(cache, a[1], said[1]);
    close(a[1]);
    close(said[1]);
    return p;
}

/* What it said: its log. */
static answer finish(const process *p, const char **said) {
    answer a;
    int status;
    char *text = TC_NEW_N(arena, char, 8192);
    assert_int_equal(read(p->answer, &a, sizeof a), sizeof a);
    ssize_t n = read(p->said, text, 8191);
    text[n > 0 ? n : 0] = 0;
    *said = text;
    assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
    assert_int_equal(status, 0);
    close(p->answer);
    close(p->said);
    return a;
}

static answer ask(const char *cache, const char **said) {
    process p = start(cache);
    return finish(&p, said);
}

static answer ask_quiet(const char *cache) {
    const char *said;
    answer a = ask(cache, &said);
    assert_string_equal(said, "");
    return a;
}

static bool same(const answer *x, const answer *y) {
    bool secret = !memcmp(x->secret.bytes, y->secret.bytes, sizeof x->secret.bytes);
    assert_int_equal(secret, !strcmp(x->seal.hex, y->seal.hex));
    assert_int_equal(secret, !strcmp(x->name.hex, y->name.hex));
    return secret;
}

/* ---- the file ---- */

static void it_is_kept_for_this_user_alone(void **state) {
    (void)state;
    struct stat st;
    mode_t before = umask(0);
    answer a = ask_quiet(folder), b = ask_quiet(folder);
    umask(0077);
    answer other = ask_quiet(in_folder("other")), again = ask_quiet(in_folder("other"));
    umask(before);
    assert_true(same(&a, &b));
    assert_true(same(&other, &again));
    assert_false(same(&a, &other));
    assert_int_equal(lstat(in_folder(".secret"), &st), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_size, sizeof a.secret.bytes);
}

static int files_beside_it(void) {
    char *command = tc_arena_printf(arena, "exit $(ls -A '%s' | grep -vc '^.secret$')", folder);
    return WEXITSTATUS(system(command));
}

static void processes_that_make_it_at_once_agree(void **state) {
    enum { ROUNDS = 30, PROCESSES = 8 };
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        process p[PROCESSES];
        answer first = {0}, a;
        const char *said;
        for (int i = 0; i < PROCESSES; i++)
            p[i] = start(folder);
        for (int i = 0; i < PROCESSES; i++) {
            a = finish(&p[i], &said);
            assert_string_equal(said, "");
            if (i == 0)
                first = a;
            assert_true(same(&first, &a));
        }
        assert_int_equal(files_beside_it(), 0);
        assert_int_equal(unlink(in_folder(".secret")), 0);
    }
}

/* ---- files that are not used ---- */

static void write_file(const char *name, size_t size, mode_t mode) {
    static const char bytes[64] = "a secret that somebody else knows";
    assert_int_equal(tc_fs_write(in_folder(name), bytes, size, NULL), TC_OK);
    assert_int_equal(chmod(in_folder(name), mode), 0);
}

static size_t mentions(const char *text, const char *word) {
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, word)); at++)
        n++;
    return n;
}

/* Each process has one of its own, and says once why. */
static void check_unused(const char *why) {
    const char *said[2];
    answer a = ask(folder, &said[0]), b = ask(folder, &said[1]);
    assert_false(same(&a, &b));
    for (int i = 0; i < 2; i++)
        if (mentions(said[i], ".secret") != 1 || !strstr(said[i], why) || !strstr(said[i], "Remove the file"))
            fail_msg("%s: '%s'", why, said[i]);
    char *path = in_folder(".secret");
    assert_true(unlink(path) == 0 || rmdir(path) == 0);
    a = ask_quiet(folder);
    b = ask_quiet(folder);
    assert_true(same(&a, &b)); /* what was advised helps */
    assert_int_equal(unlink(path), 0);
}

static void files_that_others_reach_are_not_used(void **state) {
    (void)state;
    static const mode_t open_to[] = {0644, 0640, 0604, 0620, 0602, 0610};
    for (size_t i = 0; i < sizeof open_to / sizeof *open_to; i++) {
        write_file(".secret", sizeof((tc_secret *)0)->bytes, open_to[i]);
        check_unused("others can read or write it");
    }
    if (geteuid() == 0) { /* who may give files away */
        write_file(".secret", sizeof((tc_secret *)0)->bytes, 0600);
        assert_int_equal(chown(in_folder(".secret"), 12345, (gid_t)-1), 0);
        check_unused("it belongs to another user");
    }
}

static void what_is_no_secret_is_not_used(void **state) {
    (void)state;
    enum { SIZE = sizeof((tc_secret *)0)->bytes };
    static const size_t sizes[] = {0, 1, SIZE - 1, SIZE + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        write_file(".secret", sizes[i], 0600);
        check_unused("it does not hold 32 bytes");
    }
    write_file("elsewhere", SIZE, 0600);
    assert_int_equal(symlink("elsewhere", in_folder(".secret")), 0);
    check_unused("it is a symbolic link");
    assert_int_equal(symlink("nowhere", in_folder(".secret")), 0);
    check_unused("it is a symbolic link");
    assert_int_equal(mkfifo(in_folder(".secret"), 0600), 0);
    check_unused("it is not a file");
    assert_int_equal(mkdir(in_folder(".secret"), 0700), 0);
    check_unused("it is not a file");
}

static void without_a_folder_each_process_has_its_own(void **state) {
    (void)state;
    write_file("file", 1, 0600);
    assert_int_equal(mkdir(in_folder("open"), 0700), 0);
    assert_int_equal(chmod(in_folder("open"), 0777), 0);
    const char *none[] = {"off", "/proc/nowhere", in_folder("file"), in_folder("open")};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        answer a = ask_quiet(none[i]), b = ask_quiet(none[i]);
        assert_false(same(&a, &b));
    }
    assert_true(!tc_fs_exists(in_folder("open/.secret")));
}

#define WITH_FOLDER(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(it_is_kept_for_this_user_alone),
        WITH_FOLDER(processes_that_make_it_at_once_agree),
        WITH_FOLDER(files_that_others_reach_are_not_used),
        WITH_FOLDER(what_is_no_secret_is_not_used),
        WITH_FOLDER(without_a_folder_each_process_has_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
