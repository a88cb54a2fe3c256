/* Files. Whatever goes wrong, the message names the path and says why; a write leaves either the old file or the new one. */
#include "support/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/arena.h"
#include "support/memory.h"
#include "support/strbuf.h"
#include "support/vec.h"

/* The reason in errno, with what to do about it where that is known. */
static const char *reason(int error) {
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
            return tc_fail(err, TC_ENV, "cannot read '%s': %s", path, reason(errno));
        }
        if (n == 0)
            break;
        len += (size_t)n;
    }
    buf[len] = 0;
    *data = buf;
    if (size)
        *size = len;
    return TC_OK;
}

tc_status tc_fs_read(const char *path, char **data, size_t *size, tc_error *err) {
    *data = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return tc_fail(err, TC_BAD_INPUT, "cannot read '%s': %s", path, reason(errno));
    struct stat st;
    tc_status s;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        s = tc_fail(err, TC_BAD_INPUT, "cannot read '%s': it is a folder, a file was expected", path);
    else
        s = read_all(fd, path, S_ISREG(st.st_mode) ? (size_t)st.st_size : 4096, data, size, err);
    close(fd);
    return s;
}

static bool write_all(int fd, const char *data, size_t size) {
    while (size) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

/* What a file gets: bytes in memory, or all of another file. */
typedef struct content {
    const void *data;
    size_t size;
    int fd;           /* of the other file; -1: data */
    const char *from; /* its name; the file need not be kept */
} content;

static bool put(int fd, const content *c) {
    if (c->fd < 0)
        return write_all(fd, c->data, c->size);
    enum { CHUNK = 1 << 20 };
    char *chunk = tc_xmalloc(CHUNK);
    ssize_t n;
    bool ok = true;
    while (ok && ((n = read(c->fd, chunk, CHUNK)) > 0 || (n < 0 && errno == EINTR)))
        ok = n < 0 || write_all(fd, chunk, (size_t)n);
    ok = ok && n == 0;
    free(chunk);
    return ok;
}

/* Devices and pipes are written in place: renaming a file over /dev/null would be a bad surprise. */
static tc_status write_in_place(const char *path, const content *c, tc_error *err) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return tc_fail(err, TC_ENV, "cannot write '%s': %s", path, reason(errno));
    bool ok = put(fd, c);
    int error = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        error = errno;
    }
    return ok ? TC_OK : tc_fail(err, TC_ENV, "cannot write '%s': %s", path, reason(error));
}

/* Opens a new file beside `path`, whose name nothing else uses; *name is malloc'ed. */
static int open_beside(const char *path, mode_t mode, char **name) {
    for (unsigned attempt = 0; attempt < 10000; attempt++) {
        tc_strbuf b = {0};
        tc_sb_printf(&b, "%s.tmp-%ld-%u", path, (long)getpid(), attempt);
        int fd = open(b.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST) {
            *name = b.data;
            return fd;
        }
        tc_strbuf_free(&b);
    }
    *name = NULL;
    errno = EEXIST;
    return -1;
}

/* Tries it: permissions alone do not tell for root, or on a file system that takes no files. */
static bool can_create_beside(const char *path) {
    char *temp;
    int fd = open_beside(path, 0600, &temp), error = errno;
    if (fd >= 0) {
        close(fd);
        unlink(temp);
    }
    free(temp);
    errno = error;
    return fd >= 0;
}

/* Makes the rename itself durable; file systems that cannot sync a folder are left to their own guarantees. */
static void sync_folder_of(const char *path) {
    char *dir = tc_fs_dirname(path);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(dir);
}

/* On the same file system a file moves without being read. */
static bool moved(const char *path, const struct stat *old, const content *c) {
    struct stat st;
    if (!c->from || fstat(c->fd, &st) != 0)
        return false;
    mode_t mode = old ? old->st_mode & 07777 : st.st_mode & 0666;
    return fchmod(c->fd, mode) == 0 && fsync(c->fd) == 0 && rename(c->from, path) == 0;
}

static tc_status replace_file(const char *path, const struct stat *old, const content *c, tc_error *err) {
    char *temp;
    if (moved(path, old, c)) {
        sync_folder_of(path);
        return TC_OK;
    }
    int fd = open_beside(path, 0666, &temp);
    if (fd < 0) {
        int error = errno;
        free(temp);
        return tc_fail(err, TC_ENV, "cannot write '%s': %s", path, reason(error));
    }
    bool ok = (!old || fchmod(fd, old->st_mode & 07777) == 0) && put(fd, c) && fsync(fd) == 0;
    int error = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        error = errno;
    }
    if (ok && rename(temp, path) != 0) {
        ok = false;
        error = errno;
    }
    if (ok)
        sync_folder_of(path);
    else
        unlink(temp);
    free(temp);
    return ok ? TC_OK : tc_fail(err, TC_ENV, "cannot write '%s': %s", path, reason(error));
}

static tc_status write_content(const char *path, const content *c, tc_error *err) {
    TC_TRY(tc_fs_check_writable(path, err));
    struct stat st;
    bool exists = stat(path, &st) == 0;
    if (exists && !S_ISREG(st.st_mode))
        return write_in_place(path, c, err);
    /* A symbolic link stays a link; what it points to is replaced. */
    char *target = exists ? realpath(path, NULL) : NULL;
    tc_status s = replace_file(target ? target : path, exists ? &st : NULL, c, err);
    free(target);
    return s;
}

tc_status tc_fs_write(const char *path, const void *data, size_t size, tc_error *err) {
    return write_content(path, &(content){data, size, -1, NULL}, err);
}

tc_status tc_fs_move(const char *from, const char *path, tc_error *err) {
    int fd = open(from, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return tc_fail(err, TC_ENV, "cannot read '%s': %s", from, reason(errno));
    tc_status s = write_content(path, &(content){.fd = fd, .from = from}, err);
    close(fd);
    if (s == TC_OK)
        unlink(from);
    return s;
}

tc_status tc_fs_check_writable(const char *path, tc_error *err) {
    struct stat st;
    if (!*path)
        return tc_fail(err, TC_ENV, "cannot write: the file name is empty");
    bool exists = stat(path, &st) == 0;
    if (!exists && errno != ENOENT)
        return tc_fail(err, TC_ENV, "cannot write '%s': %s", path, reason(errno));
    if (exists && S_ISDIR(st.st_mode))
        return tc_fail(err, TC_ENV, "cannot write '%s': it is a folder, name a file in it", path);
    if (exists && access(path, W_OK) != 0)
        return tc_fail(err, TC_ENV, "cannot write '%s': %s", path, reason(errno));
    if (exists && !S_ISREG(st.st_mode))
        return TC_OK;
    if (path[strlen(path) - 1] == '/')
        return tc_fail(err, TC_ENV, "cannot write '%s': it names a folder, name a file in it", path);
    char *dir = tc_fs_dirname(path);
    tc_status s = TC_OK;
    if (stat(dir, &st) != 0)
        s = tc_fail(err, TC_ENV, "cannot write '%s': the folder '%s' is missing; create it first", path, dir);
    else if (!S_ISDIR(st.st_mode))
        s = tc_fail(err, TC_ENV, "cannot write '%s': '%s' is a file, not a folder", path, dir);
    else if (!can_create_beside(path))
        s = tc_fail(err, TC_ENV, "cannot write '%s': folder '%s': %s", path, dir, reason(errno));
    free(dir);
    return s;
}

tc_status tc_fs_temp_dir(char **out, tc_error *err) {
    const char *base = getenv("TMPDIR");
    if (!base || !*base)
        base = "/tmp";
    tc_strbuf b = {0};
    tc_sb_printf(&b, "%s/tctune-XXXXXX", base);
    *out = NULL;
    if (!mkdtemp(b.data)) {
        int error = errno;
        tc_strbuf_free(&b);
        return tc_fail(err, TC_ENV, "cannot create a temporary folder in '%s': %s; set TMPDIR to another place", base,
                       reason(error));
    }
    *out = b.data;
    return TC_OK;
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
