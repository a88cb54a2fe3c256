/* fs.h and scratch.h, failures included: missing folders, devices, full disks, size limits. */
#include "support/cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dirent.h>

#include "support/strbuf.h"
#include "support/system/fs.h"
#include "support/system/scratch.h"
#include "support/vec.h"

static char *folder; /* of the running test */

static int setup(void **state) {
    (void)state;
    tc_error err;
    return tc_fs_temp_dir(&folder, &err) == TC_OK ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    tc_fs_remove_tree(folder);
    bool gone = !tc_fs_exists(folder);
    free(folder);
    return gone ? 0 : -1;
}

/* A path in the test's folder; one at a time. */
static const char *in_folder(const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int entries(void) {
    int n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static void expect_content(const char *path, const char *text, size_t size) {
    char *data;
    size_t n;
    tc_error err = {0};
    assert_int_equal(tc_fs_read(path, &data, &n, &err), TC_OK);
    assert_int_equal(n, size);
    assert_memory_equal(data, text, size);
    assert_int_equal(data[n], 0);
    free(data);
}

static void expect_text(const char *path, const char *text) {
    char *data;
    tc_error err = {0};
    assert_int_equal(tc_fs_read_text(path, &data, &err), TC_OK);
    assert_string_equal(data, text);
    free(data);
}

static void written_files_read_back(void **state) {
    (void)state;
    tc_error err = {0};
    const char *path = in_folder("a.bin");
    assert_int_equal(tc_fs_write(path, "a\0b", 3, &err), TC_OK);
    expect_content(path, "a\0b", 3);
    assert_int_equal(tc_fs_write(path, "", 0, &err), TC_OK);
    expect_content(path, "", 0);
    size_t n = 3 << 20;
    char *large = malloc(n);
    memset(large, 'z', n);
    assert_int_equal(tc_fs_write(path, large, n, &err), TC_OK);
    expect_content(path, large, n);
    free(large);
    assert_int_equal(entries(), 1);
    assert_true(tc_fs_exists(path));
    assert_false(tc_fs_is_dir(path));
    assert_true(tc_fs_is_dir(folder));
    assert_false(tc_fs_exists(in_folder("none")));
}

static void reading_needs_a_file(void **state) {
    (void)state;
    tc_error err = {0};
    char *data;
    assert_int_equal(tc_fs_read(in_folder("none"), &data, NULL, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "none': no such file"));
    assert_null(data);
    assert_int_equal(tc_fs_read(folder, &data, NULL, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "it is a folder"));
    /* Files that do not tell their size. */
    assert_int_equal(tc_fs_read("/proc/self/status", &data, NULL, &err), TC_OK);
    assert_true(strlen(data) > 100);
    free(data);
}

static void expect_unread(const char *path, const char *says) {
    char *data;
    int fd;
    size_t size;
    tc_error err = {0};
    assert_int_equal(tc_fs_read(path, &data, NULL, &err), TC_BAD_INPUT);
    assert_null(data);
    if (!strstr(err.msg, path) || !strstr(err.msg, says))
        fail_msg("%s: '%s'", says, err.msg);
    assert_int_equal(tc_fs_open(path, &fd, &size, &err), TC_BAD_INPUT);
    assert_int_equal(fd, -1);
    assert_non_null(strstr(err.msg, says));
    assert_int_equal(tc_fs_read_text(path, &data, &err), TC_BAD_INPUT);
    assert_null(data);
    assert_non_null(strstr(err.msg, says));
}

/* A link to one of them is one of them. */
static void only_files_are_read(void **state) {
    (void)state;
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    expect_unread("/dev/zero", "it is a device, a file was expected");
    expect_unread("/dev/urandom", "it is a device, a file was expected");
    assert_int_equal(symlink("/dev/zero", in_folder("link")), 0);
    expect_unread(in_folder("link"), "it is a device, a file was expected");
    expect_unread(folder, "it is a folder, a file was expected");
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    expect_unread(in_folder("pipe"), "it is a pipe, a file was expected");
    if (strlen(in_folder("s")) >= sizeof name.sun_path)
        return; /* no socket has so long a name */
    strcpy(name.sun_path, in_folder("s"));
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s, (struct sockaddr *)&name, sizeof name), 0);
    expect_unread(in_folder("s"), "it is a socket");
    close(s);
}

/* The size is asked first: nothing is read of a file that is too large, whatever its disk holds. */
static void files_are_read_up_to_a_bound(void **state) {
    (void)state;
    tc_error err = {0};
    char *data, *path = strdup(in_folder("large"));
    size_t size = 0;
    assert_int_equal(tc_fs_write(path, "12345", 5, &err), TC_OK);
    assert_int_equal(tc_fs_read_most(path, 5, &data, &size, &err), TC_OK);
    assert_int_equal(size, 5);
    free(data);
    assert_int_equal(tc_fs_read_text_most(path, 5, &data, &err), TC_OK);
    free(data);
    assert_int_equal(tc_fs_read_most(path, 4, &data, &size, &err), TC_BAD_INPUT);
    assert_null(data);
    assert_non_null(strstr(err.msg, "more than 4 bytes"));
    assert_int_equal(tc_fs_read_text_most("/proc/self/status", 16, &data, &err), TC_BAD_INPUT); /* it tells no size */
    assert_non_null(strstr(err.msg, "more than 16 bytes"));
    if (truncate(path, (off_t)1 << 42) == 0) { /* some file systems have no such files */
        assert_int_not_equal(tc_fs_read(path, &data, &size, &err), TC_OK);
        assert_non_null(strstr(err.msg, path));
        assert_int_equal(tc_fs_read_text(path, &data, &err), TC_BAD_INPUT);
    }
    free(path);
}

/* A pipe that never ends, too. */
static void pipes_are_read_up_to_a_bound(void **state) {
    (void)state;
    tc_error err = {0};
    char name[32], *data;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        static const char zeros[4096];
        signal(SIGPIPE, SIG_DFL);
        close(ends[0]);
        while (write(ends[1], zeros, sizeof zeros) > 0)
            continue;
        _exit(0);
    }
    close(ends[1]);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    assert_int_equal(tc_fs_read_text_most(name, 100000, &data, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "more than 100000 bytes"));
    close(ends[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Writes to the file all the time. */
static void write_without_end(const char *path) {
    static const char more[4096];
    enum { MOST = 1 << 20 };
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    for (off_t size = 0; fd >= 0 && write(fd, more, sizeof more) > 0; size += (off_t)sizeof more)
        if (size > MOST && ftruncate(fd, size = 1) != 0)
            break;
}

/* What there is at some moment is no whole file. */
static void files_that_change_are_refused(void **state) {
    (void)state;
    enum { TRIES = 100000 };
    tc_error err = {0};
    char *data, *path = strdup(in_folder("log"));
    tc_status s = TC_OK;
    assert_int_equal(tc_fs_write(path, "begin", 5, &err), TC_OK);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        write_without_end(path);
        _exit(1);
    }
    for (int i = 0; i < TRIES && s == TC_OK; i++)
        if ((s = tc_fs_read(path, &data, NULL, &err)) == TC_OK)
            free(data);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(s, TC_ENV);
    assert_null(data);
    assert_non_null(strstr(err.msg, "log': another program wrote to it meanwhile"));
    assert_int_equal(tc_fs_read(path, &data, NULL, &err), TC_OK); /* now it is whole */
    free(data);
    free(path);
}

static void pointers_of_git_lfs_are_told(void **state) {
    (void)state;
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    tc_error err = {0};
    char *data;
    char *path = strdup(in_folder("pointer"));
    assert_int_equal(tc_fs_write(path, pointer, sizeof pointer - 1, &err), TC_OK);
    assert_int_equal(tc_fs_read(path, &data, NULL, &err), TC_BAD_INPUT);
    assert_null(data);
    assert_non_null(strstr(err.msg, "pointer: the file is a Git LFS pointer"));
    assert_non_null(strstr(err.msg, "git lfs pull"));
    assert_int_equal(tc_fs_read_text(path, &data, &err), TC_BAD_INPUT);
    assert_int_equal(tc_fs_refuse_lfs_pointer(path, &err), TC_BAD_INPUT);
    assert_int_equal(tc_fs_write(path, pointer, 12, &err), TC_OK);
    assert_int_equal(tc_fs_refuse_lfs_pointer(path, &err), TC_OK);
    assert_int_equal(tc_fs_read(path, &data, NULL, &err), TC_OK);
    free(data);
    free(path);
}

/* What stands behind a byte of zero would be lost without a word. */
static void texts_hold_no_zeros(void **state) {
    (void)state;
    tc_error err = {0};
    char *text;
    char *path = strdup(in_folder("text"));
    assert_int_equal(tc_fs_write(path, "one\ntwo\n", 8, &err), TC_OK);
    assert_int_equal(tc_fs_read_text(path, &text, &err), TC_OK);
    assert_string_equal(text, "one\ntwo\n");
    free(text);
    static const struct {
        const char bytes[10];
        const char *where;
    } cases[] = {{"\0ne\ntwo\n", "text:1: "}, {"one\ntw\0\n", "text:2: "}, {"one\ntwo\n\0", "text:3: "}};
    for (size_t i = 0; i < TC_LEN(cases); i++) {
        assert_int_equal(tc_fs_write(path, cases[i].bytes, i == 2 ? 9 : 8, &err), TC_OK);
        assert_int_equal(tc_fs_read_text(path, &text, &err), TC_BAD_INPUT);
        assert_null(text);
        assert_non_null(strstr(err.msg, cases[i].where));
    }
    free(path);
}

static void writing_needs_a_folder(void **state) {
    (void)state;
    tc_error err = {0};
    assert_int_equal(tc_fs_write(in_folder("no/x"), "1", 1, &err), TC_ENV);
    assert_non_null(strstr(err.msg, "/no' is missing; create it first"));
    assert_int_equal(tc_fs_write(folder, "1", 1, &err), TC_ENV);
    assert_non_null(strstr(err.msg, "it is a folder"));
    assert_int_equal(tc_fs_write(in_folder("new/"), "1", 1, &err), TC_ENV);
    assert_int_equal(tc_fs_write("", "1", 1, &err), TC_ENV);
    assert_int_equal(tc_fs_write(in_folder("file"), "1", 1, &err), TC_OK);
    /* Below a regular file: no user, not even root, can write there. */
    assert_int_equal(tc_fs_write(in_folder("file/x"), "1", 1, &err), TC_ENV);
    assert_non_null(strstr(err.msg, "a part of the path is a file, not a folder"));
    assert_int_equal(tc_fs_check_writable(in_folder("file/x"), &err), TC_ENV);
    assert_int_equal(tc_fs_check_writable(in_folder("file"), &err), TC_OK);
    assert_int_equal(tc_fs_check_writable(in_folder("new"), &err), TC_OK);
    assert_int_equal(entries(), 1); /* checking creates nothing */
}

static void read_only_folders_are_refused(void **state) {
    (void)state;
    if (geteuid() == 0) {
        print_message("skipped: read-only folders (permissions do not bind root)\n");
        skip();
    }
    tc_error err = {0};
    assert_int_equal(tc_fs_write(in_folder("old"), "1", 1, &err), TC_OK);
    assert_int_equal(chmod(folder, 0500), 0);
    tc_status check = tc_fs_check_writable(in_folder("x"), &err), write = tc_fs_write(in_folder("old"), "2", 1, &err);
    chmod(folder, 0700);
    assert_int_equal(check, TC_ENV);
    assert_int_equal(write, TC_ENV);
    assert_non_null(strstr(err.msg, "permission denied"));
    expect_content(in_folder("old"), "1", 1);
}

static void devices_are_written_in_place(void **state) {
    (void)state;
    tc_error err = {0};
    assert_int_equal(tc_fs_write("/dev/null", "abc", 3, &err), TC_OK);
    struct stat st;
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_int_equal(tc_fs_write("/dev/full", "abc", 3, &err), TC_ENV);
    assert_non_null(strstr(err.msg, "no space is left on the disk"));
}

/* What has other files beside it has a name to derive theirs from. */
static void devices_have_no_files_beside_them(void **state) {
    (void)state;
    tc_error err = {0};
    assert_int_equal(tc_fs_check_writable("/dev/null", &err), TC_OK);
    static const char *const none[] = {"/dev/null", "/dev/stdout", "/dev/fd/1"};
    for (size_t i = 0; i < TC_LEN(none); i++) {
        assert_int_equal(tc_fs_check_replaceable(none[i], &err), TC_ENV);
        assert_non_null(strstr(err.msg, none[i]));
        assert_non_null(strstr(err.msg, "name a file"));
    }
    assert_int_equal(tc_fs_check_replaceable(in_folder("new.so"), &err), TC_OK);
    assert_int_equal(mkfifo(in_folder("pipe.so"), 0600), 0);
    assert_int_equal(tc_fs_check_replaceable(in_folder("pipe.so"), &err), TC_ENV);
    assert_int_equal(symlink("/dev/null", in_folder("link.so")), 0);
    assert_int_equal(tc_fs_check_replaceable(in_folder("link.so"), &err), TC_ENV);
    assert_int_equal(tc_fs_check_replaceable(folder, &err), TC_ENV);
    assert_non_null(strstr(err.msg, "it is a folder"));
}

static void open_files_are_written_where_they_are(void **state) {
    (void)state;
    tc_error err = {0};
    char name[32];
    int fd = open(in_folder("log"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "one ", 4), 4);
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    assert_int_equal(tc_fs_check_writable(name, &err), TC_OK);
    assert_int_equal(tc_fs_write(name, "two ", 4, &err), TC_OK);
    assert_int_equal(tc_fs_write(name, "three", 5, &err), TC_OK);
    close(fd);
    expect_content(in_folder("log"), "one two three", 13);
    assert_int_equal(tc_fs_check_writable(name, &err), TC_ENV); /* it is closed */
    assert_non_null(strstr(err.msg, "not open for writing"));
    fd = open(in_folder("log"), O_RDONLY | O_CLOEXEC);
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    assert_int_equal(tc_fs_write(name, "x", 1, &err), TC_ENV);
    assert_non_null(strstr(err.msg, "not open for writing"));
    close(fd);
    expect_content(in_folder("log"), "one two three", 13);
}

/* Writes past the size limit that the parent set; the exit code says what happened. */
static int write_over_the_limit(const char *path) {
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {1000, 1000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 2;
    static char data[5000];
    tc_error err = {0};
    return tc_fs_write(path, data, sizeof data, &err) == TC_ENV && strstr(err.msg, "size limit") ? 0 : 1;
}

static void failed_write_keeps_the_old_file(void **state) {
    (void)state;
    tc_error err = {0};
    const char *path = in_folder("keep");
    assert_int_equal(tc_fs_write(path, "old", 3, &err), TC_OK);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(write_over_the_limit(path));
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    expect_content(path, "old", 3);
    assert_int_equal(entries(), 1); /* no temporary file is left */
}

static void links_and_modes_survive(void **state) {
    (void)state;
    tc_error err = {0};
    char target[4096], link[4096];
    snprintf(target, sizeof target, "%s/target", folder);
    snprintf(link, sizeof link, "%s/link", folder);
    assert_int_equal(tc_fs_write(target, "1", 1, &err), TC_OK);
    assert_int_equal(chmod(target, 0640), 0);
    assert_int_equal(symlink("target", link), 0);
    assert_int_equal(tc_fs_write(link, "22", 2, &err), TC_OK);
    expect_content(target, "22", 2);
    struct stat st;
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat(target, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
}

static void expect_dirname(const char *path, const char *want) {
    char *dir = tc_fs_dirname(path);
    assert_string_equal(dir, want);
    free(dir);
}

static void dirname_of_paths(void **state) {
    (void)state;
    expect_dirname("a", ".");
    expect_dirname("", ".");
    expect_dirname("a/b", "a");
    expect_dirname("a//b", "a");
    expect_dirname("/a", "/");
    expect_dirname("/", "/");
    expect_dirname("/a/b/c", "/a/b");
    expect_dirname("a/b/", "a");
    expect_dirname("./x", ".");
}

static void temporary_folders_follow_tmpdir(void **state) {
    (void)state;
    tc_error err = {0};
    char *old = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
    char *dir = NULL;
    setenv("TMPDIR", folder, 1);
    assert_int_equal(tc_fs_temp_dir(&dir, &err), TC_OK);
    assert_memory_equal(dir, folder, strlen(folder));
    assert_true(tc_fs_is_dir(dir));
    free(dir);
    setenv("TMPDIR", in_folder("missing"), 1);
    assert_int_equal(tc_fs_temp_dir(&dir, &err), TC_ENV);
    assert_non_null(strstr(err.msg, "set TMPDIR"));
    assert_null(dir);
    if (old)
        setenv("TMPDIR", old, 1);
    else
        unsetenv("TMPDIR");
    free(old);
}

static void trees_are_removed_without_following_links(void **state) {
    (void)state;
    tc_error err = {0};
    char path[4096];
    snprintf(path, sizeof path, "%s/tree", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/tree/deep", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(tc_fs_write(in_folder("tree/deep/f"), "1", 1, &err), TC_OK);
    assert_int_equal(tc_fs_write(in_folder("outside"), "1", 1, &err), TC_OK);
    assert_int_equal(symlink("..", in_folder("tree/up")), 0);
    tc_fs_remove_tree(in_folder("tree"));
    assert_int_equal(entries(), 1);
    tc_fs_remove_tree(NULL);
    tc_fs_remove_tree("");
    tc_fs_remove_tree(in_folder("never was"));
}

/* Nobody may ever write to a pipe with a name; one that was made for this process is there to be read. */
static void pipes_with_names_are_not_waited_for(void **state) {
    (void)state;
    tc_error err = {0};
    char *data, name[32], head[4];
    int ends[2];
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    assert_int_equal(tc_fs_read(in_folder("pipe"), &data, NULL, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "it is a pipe, a file was expected"));
    assert_int_equal(tc_fs_read_head(in_folder("pipe"), head, sizeof head), 0);
    assert_int_equal(tc_fs_read_head(folder, head, sizeof head), 0);
    assert_int_equal(tc_fs_write(in_folder("pipe"), "abc", 3, &err), TC_ENV);
    assert_non_null(strstr(err.msg, "nobody reads"));
    ends[0] = open(in_folder("pipe"), O_RDONLY | O_NONBLOCK);
    assert_int_equal(tc_fs_write(in_folder("pipe"), "abc", 3, &err), TC_OK);
    assert_int_equal(read(ends[0], head, sizeof head), 3);
    close(ends[0]);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "abc", 3), 3);
    close(ends[1]);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    assert_int_equal(tc_fs_read(name, &data, NULL, &err), TC_BAD_INPUT); /* only texts come through pipes */
    assert_non_null(strstr(err.msg, "it is a pipe, a file was expected"));
    expect_text(name, "abc");
    close(ends[0]);
    expect_text("/dev/null", "");
    assert_int_equal(tc_fs_write(in_folder("short"), "ab", 2, &err), TC_OK);
    assert_int_equal(tc_fs_read_head(in_folder("short"), head, sizeof head), 2);
}

static void files_are_opened_beneath_a_folder(void **state) {
    (void)state;
    static const struct {
        const char *path;
        int error; /* 0: it can be opened */
    } cases[] = {{"f", 0},
                 {"sub/f", 0},
                 {"./sub/./f", 0},
                 {"sub//f", 0},
                 {"..", EXDEV},
                 {"sub/../f", EXDEV},
                 {"/etc/passwd", EXDEV},
                 {"", EXDEV},
                 {"link", ELOOP},
                 {"round/f", ENOTDIR},
                 {"f/g", ENOTDIR},
                 {"none", ENOENT},
                 {"none/f", ENOENT},
                 {"sub/link/../f", ENOTDIR}};
    tc_error err = {0};
    assert_int_equal(mkdir(in_folder("sub"), 0700), 0);
    assert_int_equal(tc_fs_write(in_folder("f"), "1", 1, &err), TC_OK);
    assert_int_equal(tc_fs_write(in_folder("sub/f"), "1", 1, &err), TC_OK);
    assert_int_equal(symlink("f", in_folder("link")), 0);
    assert_int_equal(symlink("sub", in_folder("round")), 0);
    assert_int_equal(symlink("..", in_folder("sub/link")), 0);
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    for (size_t i = 0; i < TC_LEN(cases); i++) {
        int fd = tc_fs_open_beneath(folder, cases[i].path), error = errno;
        assert_int_equal(fd >= 0, cases[i].error == 0);
        if (fd < 0) /* kernels differ in what they call a link where a folder was asked for */
            assert_true(error == cases[i].error || (error == ELOOP && cases[i].error == ENOTDIR));
        else
            close(fd);
    }
    int fd = tc_fs_open_beneath(folder, "pipe"); /* at once */
    assert_true(fd >= 0);
    close(fd);
    char name[300];
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = 0;
    assert_int_equal(tc_fs_open_beneath(folder, name), -1);
    assert_int_equal(errno, ENAMETOOLONG);
    assert_int_equal(tc_fs_open_beneath(in_folder("never was"), "f"), -1);
}

static void files_that_belong_together_come_together(void **state) {
    (void)state;
    tc_error err = {0};
    char a[4096], b[4096], from[4096];
    snprintf(a, sizeof a, "%s/a", folder);
    snprintf(b, sizeof b, "%s/b", folder);
    snprintf(from, sizeof from, "%s/from", folder);
    assert_int_equal(tc_fs_write(a, "old", 3, &err), TC_OK);
    assert_int_equal(tc_fs_write(from, "moved", 5, &err), TC_OK);
    tc_fs_new files[] = {{.path = a, .data = "new", .size = 3}, {.path = b, .from = from}, {.path = in_folder("none/c")}};
    assert_int_equal(tc_fs_write_files(files, 3, &err), TC_ENV); /* the third has no folder */
    assert_non_null(strstr(err.msg, "none/c"));
    expect_content(a, "old", 3);
    expect_content(from, "moved", 5);
    assert_false(tc_fs_exists(b));
    assert_int_equal(entries(), 2);
    assert_int_equal(tc_fs_write_files(files, 2, &err), TC_OK);
    expect_content(a, "new", 3);
    expect_content(b, "moved", 5);
    assert_int_equal(entries(), 2); /* `from` is gone */
    files[1].from = from;
    assert_int_equal(tc_fs_write_files(files, 2, &err), TC_ENV);
    assert_non_null(strstr(err.msg, "from"));
    assert_int_equal(tc_fs_write("/dev/shm/tctune-test-fs", "far", 3, &err), TC_OK); /* another file system */
    assert_int_equal(tc_fs_move("/dev/shm/tctune-test-fs", b, &err), TC_OK);
    expect_content(b, "far", 3);
    assert_false(tc_fs_exists("/dev/shm/tctune-test-fs"));
    assert_int_equal(entries(), 2);
}

/* Killed in the middle, by the limit that it would have met. */
static void a_killed_writer_leaves_nothing(void **state) {
    (void)state;
    tc_error err = {0};
    int nameless = open(folder, O_TMPFILE | O_WRONLY, 0600);
    if (nameless < 0)
        skip(); /* not on this file system */
    close(nameless);
    assert_int_equal(tc_fs_write(in_folder("keep"), "old", 3, &err), TC_OK);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        static char data[5000];
        struct rlimit limit = {1000, 1000}, core = {0, 0};
        signal(SIGXFSZ, SIG_DFL);
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || setrlimit(RLIMIT_CORE, &core) != 0)
            _exit(1);
        tc_status s = tc_fs_write(in_folder("keep"), data, sizeof data, &err);
        _exit(s == TC_OK ? 2 : 3);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
    expect_content(in_folder("keep"), "old", 3);
    assert_int_equal(entries(), 1);
}

static void wait_until_empty(void) {
    while (entries() > 0)
        usleep(1000);
}

/* However the process ends. */
static void scratch_folders_go(void **state) {
    (void)state;
    tc_error err = {0};
    tc_scratch *s;
    char *old = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL, path[4096];
    setenv("TMPDIR", folder, 1);
    for (int how = 0; how < 3; how++) {
        int ends[2];
        char ready;
        assert_int_equal(pipe(ends), 0);
        pid_t pid = how ? fork() : 0;
        if (pid == 0) {
            assert_int_equal(tc_scratch_open(&s, &err), TC_OK);
            snprintf(path, sizeof path, "%s/file", tc_scratch_path(s));
            assert_int_equal(tc_fs_write_scratch(path, "1", 1, &err), TC_OK);
            expect_content(path, "1", 1);
            assert_int_equal(tc_fs_write_scratch(path, "2", 1, &err), TC_ENV); /* there is one of that name */
            assert_non_null(strstr(err.msg, "cannot write"));
            assert_int_equal(write(ends[1], "1", 1), 1);
            if (how == 1)
                raise(SIGKILL);
            if (how == 2)
                _exit(0);
            assert_int_equal(entries(), 1);
            tc_scratch_close(s);
            assert_int_equal(entries(), 0);
        } else {
            assert_int_equal(read(ends[0], &ready, 1), 1); /* there was one */
            assert_int_equal(waitpid(pid, NULL, 0), pid);
            wait_until_empty();
        }
        close(ends[0]);
        close(ends[1]);
    }
    tc_scratch_close(NULL);
    if (old)
        setenv("TMPDIR", old, 1);
    else
        unsetenv("TMPDIR");
    free(old);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(written_files_read_back, setup, teardown),
        cmocka_unit_test_setup_teardown(reading_needs_a_file, setup, teardown),
        cmocka_unit_test_setup_teardown(only_files_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(files_are_read_up_to_a_bound, setup, teardown),
        cmocka_unit_test_setup_teardown(pipes_are_read_up_to_a_bound, setup, teardown),
        cmocka_unit_test_setup_teardown(files_that_change_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(pointers_of_git_lfs_are_told, setup, teardown),
        cmocka_unit_test_setup_teardown(texts_hold_no_zeros, setup, teardown),
        cmocka_unit_test_setup_teardown(writing_needs_a_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(read_only_folders_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(devices_are_written_in_place, setup, teardown),
        cmocka_unit_test_setup_teardown(devices_have_no_files_beside_them, setup, teardown),
        cmocka_unit_test_setup_teardown(open_files_are_written_where_they_are, setup, teardown),
        cmocka_unit_test_setup_teardown(failed_write_keeps_the_old_file, setup, teardown),
        cmocka_unit_test_setup_teardown(links_and_modes_survive, setup, teardown),
        cmocka_unit_test(dirname_of_paths),
        cmocka_unit_test_setup_teardown(temporary_folders_follow_tmpdir, setup, teardown),
        cmocka_unit_test_setup_teardown(trees_are_removed_without_following_links, setup, teardown),
        cmocka_unit_test_setup_teardown(pipes_with_names_are_not_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(files_are_opened_beneath_a_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(files_that_belong_together_come_together, setup, teardown),
        cmocka_unit_test_setup_teardown(a_killed_writer_leaves_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(scratch_folders_go, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
