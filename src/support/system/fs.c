/* Files that are read, folders, names. Whatever goes wrong, the message names the path and says why. */
#include "support/system/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "support/arena.h"
#include "support/inputs.h"
#include "support/strbuf.h"
#include "support/system/memory.h"
#include "support/vec.h"

/* The reason in errno, with what to do about it where that is known. */
const char *tc_fs_reason(int error) {
    static const struct {
        int error;
        const char *text;
    } known[] = {
        {ENOSPC, "no space is left on the disk; free some and run again"},
        {EDQUOT, "no space is left on the disk; free some and run again"},
        {EFBIG, "the file would exceed the size limit that is set for this process (ulimit -f)"},
        {EROFS, "the file system is read-only"},
        {EACCES, "permission denied"},
        {EPERM, "permission denied"},
        {ENOTDIR, "a part of the path is a file, not a folder"},
        {ENOENT, "no such file or folder"},
        {ENXIO, "it is a socket, or a device that is not there"},
    };
    for (size_t i = 0; i < TC_LEN(known); i++)
        if (known[i].error == error)
            return known[i].text;
    return strerrordesc_np(error);
}

/* ---- what may be read ---- */

static const char *kind_of(mode_t mode) {
    return S_ISDIR(mode) ? "a folder" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

static tc_status refuse_kind(const char *path, mode_t mode, const char *hint, tc_error *err) {
    return tc_fail(err, TC_BAD_INPUT, "cannot read '%s': it is %s, a file was expected%s", path, kind_of(mode), hint);
}

static tc_status cannot_read(const char *path, int error, tc_status s, tc_error *err) {
    return tc_fail(err, s, "cannot read '%s': %s", path, tc_fs_reason(error));
}

static tc_status check_regular(int fd, const char *path, struct stat *st, tc_error *err) {
    if (fstat(fd, st) != 0)
        return cannot_read(path, errno, TC_ENV, err);
    return S_ISREG(st->st_mode) ? TC_OK : refuse_kind(path, st->st_mode, "", err);
}

/* Pipes of a shell (/dev/stdin, <(...)) have no name. Nobody may ever write to a pipe with a name. */
static bool is_named_pipe(int fd, const struct stat *st) {
    struct statfs fs;
    return S_ISFIFO(st->st_mode) && (fstatfs(fd, &fs) != 0 || fs.f_type != PIPEFS_MAGIC);
}

/* Devices but for terminals have no end (/dev/zero), or are no texts. /dev/null is how a shell names a text without bytes. */
static bool is_stream(int fd, const struct stat *st) {
    enum { MEMORY = 1, NOTHING = 3 };
    bool null = S_ISCHR(st->st_mode) && st->st_rdev == makedev(MEMORY, NOTHING);
    return null || (S_ISFIFO(st->st_mode) && !is_named_pipe(fd, st)) || (S_ISCHR(st->st_mode) && isatty(fd));
}

/* A regular file, or what a text may be read from besides. From here on reading waits. */
static tc_status check_text(int fd, const char *path, struct stat *st, tc_error *err) {
    if (fstat(fd, st) != 0)
        return cannot_read(path, errno, TC_ENV, err);
    if (S_ISREG(st->st_mode))
        return TC_OK;
    if (!is_stream(fd, st))
        return refuse_kind(path, st->st_mode, S_ISFIFO(st->st_mode) ? "; /dev/stdin reads what is piped in" : "", err);
    return fcntl(fd, F_SETFL, O_RDONLY) == 0 ? TC_OK : cannot_read(path, errno, TC_ENV, err);
}

typedef tc_status check_kind(int fd, const char *path, struct stat *st, tc_error *err);

static tc_status open_checked(const char *path, check_kind *check, int *out, struct stat *st, tc_error *err) {
    *out = -1;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return cannot_read(path, errno, TC_BAD_INPUT, err);
    tc_status s = check(fd, path, st, err);
    if (s == TC_OK)
        *out = fd;
    else
        close(fd);
    return s;
}

tc_status tc_fs_check_regular(int fd, const char *path, size_t *size, tc_error *err) {
    struct stat st = {0};
    tc_status s = check_regular(fd, path, &st, err);
    *size = (size_t)st.st_size;
    return s;
}

tc_status tc_fs_open(const char *path, int *fd, size_t *size, tc_error *err) {
    struct stat st = {0};
    tc_status s = open_checked(path, check_regular, fd, &st, err);
    *size = (size_t)st.st_size;
    return s;
}

/* ---- whole files ---- */

static tc_status too_large(const char *path, size_t most, tc_error *err) {
    return tc_fail(err, TC_BAD_INPUT,
                   "cannot read '%s': it has more than %zu bytes, the most that a file of its kind may have; name another file",
                   path, most);
}

static tc_status was_written(const char *path, tc_error *err) {
    return tc_fail(err, TC_ENV,
                   "cannot read '%s': another program wrote to it meanwhile; run this again when the file is complete. To change "
                   "a file that others read, write a new file and rename it",
                   path);
}

/* Room for one byte more than the file has: that there is none shows its end. Files that do not tell their size (/proc) have 0. */
static tc_status read_up_to(int fd, const char *path, size_t hint, size_t most, char **data, size_t *size, tc_error *err) {
    enum { UNKNOWN = 4096 };
    size_t cap = TC_MIN(hint ? hint : UNKNOWN, most) + 1, len = 0;
    char *buf = NULL, *grown;
    tc_status s = TC_OK;
    for (ssize_t n = 1; s == TC_OK && n != 0 && len <= most; len += n > 0 ? (size_t)n : 0) {
        if (!buf || len == cap) {
            cap = buf ? cap * 2 : cap;
            s = tc_memory_check(cap, err);
            if (s == TC_OK && !(grown = realloc(buf, cap + 1)))
                s = tc_memory_lacking(cap, err);
            if (s != TC_OK) {
                tc_error_prefix(err, "cannot read '%s': ", path);
                break;
            }
            buf = grown;
        }
        n = read(fd, buf + len, cap - len);
        if (n < 0 && errno != EINTR)
            s = cannot_read(path, errno, TC_ENV, err);
    }
    if (s == TC_OK && len > most)
        s = too_large(path, most, err);
    if (s != TC_OK) {
        free(buf);
        return s;
    }
    buf[len] = 0;
    *data = buf;
    *size = len;
    return TC_OK;
}

static bool is_same(const struct stat *a, const struct stat *b) {
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* A file that says its size has no more: what is written to it meanwhile is not followed. */
static tc_status read_open(int fd, const char *path, const struct stat *st, size_t most, char **data, size_t *size,
                           tc_error *err) {
    bool regular = S_ISREG(st->st_mode), sized = regular && st->st_size > 0;
    struct stat now;
    if (sized && (uintmax_t)st->st_size > most)
        return too_large(path, most, err);
    tc_status s = read_up_to(fd, path, sized ? (size_t)st->st_size : 0, sized ? (size_t)st->st_size : most, data, size, err);
    if (!regular || fstat(fd, &now) != 0 || is_same(st, &now))
        return s;
    if (s == TC_OK)
        free(*data);
    return was_written(path, err);
}

static tc_status read_whole(const char *path, check_kind *check, size_t most, char **data, size_t *size, tc_error *err) {
    struct stat st;
    int fd;
    *data = NULL;
    TC_TRY(open_checked(path, check, &fd, &st, err));
    tc_status s = read_open(fd, path, &st, most, data, size, err);
    close(fd);
    if (s == TC_OK && tc_fs_is_lfs_pointer(*data, *size)) {
        free(*data);
        s = tc_fs_lfs_pointer(path, err);
    }
    if (s != TC_OK)
        *data = NULL;
    return s;
}

tc_status tc_fs_read(const char *path, char **data, size_t *size, tc_error *err) {
    return tc_fs_read_most(path, SIZE_MAX / 4, data, size, err); /* which memory never holds */
}

tc_status tc_fs_read_most(const char *path, size_t most, char **data, size_t *size, tc_error *err) {
    size_t len = 0;
    TC_TRY(read_whole(path, check_regular, most, data, &len, err));
    if (size)
        *size = len;
    return TC_OK;
}

bool tc_fs_is_lfs_pointer(const void *head, size_t size) {
    static const char start[] = "version https://git-lfs.github.com/spec/";
    return size >= sizeof start - 1 && memcmp(head, start, sizeof start - 1) == 0;
}

tc_status tc_fs_lfs_pointer(const char *path, tc_error *err) {
    return tc_fail(
        err, TC_BAD_INPUT,
        "%s: the file is a Git LFS pointer, which stands for contents that Git has not fetched; type `git lfs pull` in "
        "the folder of the file",
        path);
}

tc_status tc_fs_refuse_lfs_pointer(const char *path, tc_error *err) {
    char head[64];
    size_t n = tc_fs_read_head(path, head, sizeof head);
    return tc_fs_is_lfs_pointer(head, n) ? tc_fs_lfs_pointer(path, err) : TC_OK;
}

tc_status tc_fs_read_text(const char *path, char **text, tc_error *err) {
    return tc_fs_read_text_most(path, TC_BYTES_RECORDS, text, err); /* the longest of all: a million records have 2.5 GB */
}

tc_status tc_fs_read_text_most(const char *path, size_t most, char **text, tc_error *err) {
    size_t size;
    TC_TRY(read_whole(path, check_text, most, text, &size, err));
    size_t n = strlen(*text);
    if (n == size)
        return TC_OK;
    int line = 1;
    for (size_t i = 0; i < n; i++)
        line += (*text)[i] == '\n';
    free(*text);
    *text = NULL;
    return tc_fail(err, TC_BAD_INPUT, "%s:%d: found a zero byte: the file is not a text, or is damaged", path, line);
}

size_t tc_fs_read_head(const char *path, void *head, size_t n) {
    struct stat st;
    int fd;
    if (open_checked(path, check_regular, &fd, &st, NULL) != TC_OK)
        return 0;
    ssize_t got = read(fd, head, n);
    close(fd);
    return got > 0 ? (size_t)got : 0;
}

/* ---- files beneath a folder ---- */

int tc_fs_open_beneath(const char *dir, const char *path) {
    int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    while (at >= 0) {
        char part[NAME_MAX + 1];
        size_t n = strcspn(path, "/");
        bool last = path[n] == 0, up = n == 2 && !strncmp(path, "..", 2);
        errno = up || n == 0 ? EXDEV : ENAMETOOLONG;
        int next = -1;
        if (!up && n > 0 && n < sizeof part) {
            memcpy(part, path, n);
            part[n] = 0;
            next = openat(at, part, O_NOFOLLOW | O_CLOEXEC | (last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY));
        }
        int error = errno;
        close(at);
        errno = error;
        if (last)
            return next;
        path += n + 1 + strspn(path + n + 1, "/");
        at = next;
    }
    return -1;
}

tc_status tc_fs_temp_name(char **out, tc_error *err) {
    const char *base = getenv("TMPDIR");
    uint64_t drawn[2];
    *out = NULL;
    if (getrandom(drawn, sizeof drawn, 0) != sizeof drawn)
        return tc_fail(err, TC_ENV, "the system gives no random numbers: %s", strerror(errno));
    tc_strbuf b = {0};
    base = base && *base ? base : "/tmp";
    tc_sb_printf(&b, "%s%s/tctune-%016" PRIx64 "%016" PRIx64, *base == '/' ? "" : "./", base, drawn[0], drawn[1]);
    *out = b.data;
    return TC_OK;
}

tc_status tc_fs_temp_make(const char *name, tc_error *err) {
    if (mkdir(name, 0700) == 0 && chmod(name, 0700) == 0) /* whatever the umask takes away */
        return TC_OK;
    int error = errno;
    char *base = tc_fs_dirname(name);
    tc_status s = tc_fail(err, TC_ENV, "cannot create a temporary folder in '%s': %s; set TMPDIR to another place", base,
                          tc_fs_reason(error));
    free(base);
    return s;
}

tc_status tc_fs_temp_dir(char **out, tc_error *err) {
    char *name;
    *out = NULL;
    TC_TRY(tc_fs_temp_name(&name, err));
    tc_status s = tc_fs_temp_make(name, err);
    if (s == TC_OK)
        *out = name;
    else
        free(name);
    return s;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st, (void)type, (void)ftw;
    remove(path);
    return 0;
}

void tc_fs_remove_tree(const char *dir) {
    if (dir && *dir && strcmp(dir, "/") != 0)
        nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

bool tc_fs_exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0;
}

bool tc_fs_is_dir(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

char *tc_fs_dirname(const char *path) {
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n && path[n - 1] != '/')
        n--;
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (!n)
        return tc_xstrdup(".");
    char *dir = tc_xmalloc(n + 1);
    memcpy(dir, path, n);
    dir[n] = 0;
    return dir;
}
