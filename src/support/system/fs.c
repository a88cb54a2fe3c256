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
#include <sys/vfs.h>
#include <unistd.h>

#include "support/arena.h"
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
        {EFBIG, "the file would exceed the size limit that is set for this process"},
        {EROFS, "the file system is read-only"},
        {EACCES, "permission denied"},
        {EPERM, "permission denied"},
        {ENOTDIR, "a part of the path is a file, not a folder"},
        {ENOENT, "no such file or folder"},
    };
    for (size_t i = 0; i < TC_LEN(known); i++)
        if (known[i].error == error)
            return known[i].text;
    return strerrordesc_np(error);
}

static tc_status read_all(int fd, const char *path, size_t hint, char **data, size_t *size, tc_error *err) {
    size_t cap = hint + 1, len = 0;
    char *buf = NULL, *grown;
    for (;;) {
        if (!buf || len == cap) {
            cap = buf ? cap * 2 : cap;
            tc_status s = tc_memory_check(cap, err);
            if (s == TC_OK && !(grown = realloc(buf, cap + 1)))
                s = tc_memory_lacking(cap, err);
            if (s != TC_OK) {
                free(buf);
                tc_error_prefix(err, "cannot read '%s': ", path);
                return s;
            }
            buf = grown;
        }
        ssize_t n = read(fd, buf + len, cap - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            free(buf);
            return tc_fail(err, TC_ENV, "cannot read '%s': %s", path, tc_fs_reason(errno));
        }
        if (n == 0)
            break;
        len += (size_t)n;
    }
    buf[len] = 0;
    *data = buf;
    *size = len;
    return TC_OK;
}

/* One that has a name. Those of a shell (/dev/stdin, <(...)) have none; whoever reads them means to. */
static bool is_named_pipe(int fd, const struct stat *st) {
    struct statfs fs;
    return S_ISFIFO(st->st_mode) && (fstatfs(fd, &fs) != 0 || fs.f_type != PIPEFS_MAGIC);
}

tc_status tc_fs_read(const char *path, char **data, size_t *size, tc_error *err) {
    size_t len = 0;
    *data = NULL;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return tc_fail(err, TC_BAD_INPUT, "cannot read '%s': %s", path, tc_fs_reason(errno));
    struct stat st;
    tc_status s = TC_OK;
    if (fstat(fd, &st) != 0)
        s = tc_fail(err, TC_ENV, "cannot read '%s': %s", path, tc_fs_reason(errno));
    else if (S_ISDIR(st.st_mode))
        s = tc_fail(err, TC_BAD_INPUT, "cannot read '%s': it is a folder, a file was expected", path);
    else if (is_named_pipe(fd, &st))
        s = tc_fail(err, TC_BAD_INPUT, "cannot read '%s': it is a pipe, a file was expected; /dev/stdin reads what is piped in",
                    path);
    else if (!S_ISREG(st.st_mode) && fcntl(fd, F_SETFL, O_RDONLY) != 0)
        s = tc_fail(err, TC_ENV, "cannot read '%s': %s", path, tc_fs_reason(errno));
    if (s == TC_OK)
        s = read_all(fd, path, S_ISREG(st.st_mode) ? (size_t)st.st_size : 4096, data, &len, err);
    close(fd);
    if (s == TC_OK && tc_fs_is_lfs_pointer(*data, len)) {
        free(*data);
        *data = NULL;
        s = tc_fs_lfs_pointer(path, err);
    }
    if (s == TC_OK && size)
        *size = len;
    return s;
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
    size_t size;
    TC_TRY(tc_fs_read(path, text, &size, err));
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
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t got = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, head, n) : 0;
    if (fd >= 0)
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
    tc_sb_printf(&b, "%s/tctune-%016" PRIx64 "%016" PRIx64, base && *base ? base : "/tmp", drawn[0], drawn[1]);
    *out = b.data;
    return TC_OK;
}

tc_status tc_fs_temp_make(const char *name, tc_error *err) {
    if (mkdir(name, 0700) == 0)
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
