/* Writes files. New content is complete and on the disk before it replaces the old content. Until then the new file has no name
 * (O_TMPFILE). So a process that ends in between, in whatever way, leaves nothing behind. If the file system has no files without
 * names, the new file has a temporary name in the same folder. */
#include "support/system/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/arena.h"
#include "support/strbuf.h"
#include "support/system/memory.h"

bool tc_fs_write_all(int fd, const void *data, size_t size) {
    const char *p = data;
    while (size) {
        ssize_t n = write(fd, p, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        p += n;
        size -= (size_t)n;
    }
    return true;
}

/* All of an open file. */
static bool copy_all(int from, int fd) {
    enum { CHUNK = 1 << 20 };
    char *chunk = tc_xmalloc(CHUNK);
    ssize_t n;
    bool ok = true;
    while (ok && ((n = read(from, chunk, CHUNK)) > 0 || (n < 0 && errno == EINTR)))
        ok = n < 0 || tc_fs_write_all(fd, chunk, (size_t)n);
    ok = ok && n == 0;
    free(chunk);
    return ok;
}

/* ---- one new file ---- */

/* On its way to its place. */
typedef struct staged {
    const tc_fs_new *new;
    char *target;       /* where it goes: a symbolic link stays a link; what it points to is replaced */
    char *temp;         /* its name beside the target, where it has one */
    int fd, from;       /* the new file; what it is moved from */
    bool links;         /* it only needs another name */
    bool old, in_place; /* there is something already; it is a device, a pipe or an open file, which nothing is renamed over */
    int open;           /* the open file that is meant; -1: none */
    struct stat st;     /* of that */
} staged;

static tc_status failed(const staged *x, int error, tc_error *err) {
    return tc_fail(err, TC_ENV, "cannot write '%s': %s", x->new->path, tc_fs_reason(error));
}

/* A name beside `path` that nothing else uses: for a new file, whose descriptor is given back, or where `source` is not NULL for
 * what has that name already. */
static int name_beside(const char *path, const char *source, mode_t mode, char **name) {
    for (unsigned attempt = 0; attempt < 10000; attempt++) {
        tc_strbuf b = {0};
        tc_sb_printf(&b, "%s.tmp-%ld-%u", path, (long)getpid(), attempt);
        int got = source ? linkat(AT_FDCWD, source, AT_FDCWD, b.data, AT_SYMLINK_FOLLOW)
                         : open(b.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (got >= 0) {
            *name = b.data;
            return got;
        }
        int error = errno;
        tc_strbuf_free(&b);
        errno = error;
        if (error != EEXIST)
            return -1;
    }
    return -1;
}

/* A file without a name gets its name by way of /proc. */
static bool can_name_later(void) {
    return access("/proc/self/fd", X_OK) == 0;
}

/* A new file in the folder of `path`; *name stays NULL where it needs none yet. */
static int create_beside(const char *path, mode_t mode, char **name) {
    char *dir = tc_fs_dirname(path);
    int fd = can_name_later() ? open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, mode) : -1;
    free(dir);
    *name = NULL;
    return fd >= 0 ? fd : name_beside(path, NULL, mode, name);
}

static bool fill(const staged *x, int fd) {
    return x->from >= 0 ? copy_all(x->from, fd) : tc_fs_write_all(fd, x->new->data, x->new->size);
}

/* What is finished elsewhere on the same file system gets another name and is not copied. */
static bool can_link(const staged *x) {
    struct stat from, folder;
    char *dir = tc_fs_dirname(x->target);
    bool same = x->from >= 0 && fstat(x->from, &from) == 0 && stat(dir, &folder) == 0 && from.st_dev == folder.st_dev;
    free(dir);
    return same && fchmod(x->from, x->old ? x->st.st_mode & 07777 : from.st_mode & 0666) == 0 && fsync(x->from) == 0;
}

static tc_status fill_beside(staged *x, tc_error *err) {
    x->fd = create_beside(x->target, 0666, &x->temp);
    bool ok = x->fd >= 0 && (!x->old || fchmod(x->fd, x->st.st_mode & 07777) == 0) && fill(x, x->fd) && fsync(x->fd) == 0;
    return ok ? TC_OK : failed(x, errno, err);
}

/* The open file that a name stands for: /dev/stdout, /dev/fd/N. Such a file may be a regular one, which a shell appends to, and
 * it has been written to: it is neither replaced nor opened again. -1: the name stands for none. */
static int open_file_of(const char *path) {
    static const char fd[] = "/dev/fd/";
    char *end;
    if (strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strncmp(path, fd, sizeof fd - 1) != 0 || path[sizeof fd - 1] < '0' || path[sizeof fd - 1] > '9')
        return -1;
    long n = strtol(path + sizeof fd - 1, &end, 10);
    return *end || n > INT_MAX ? -1 : (int)n;
}

/* Everything but its place. */
static tc_status stage(const tc_fs_new *new, staged *x, tc_error *err) {
    *x = (staged){.new = new, .fd = -1, .from = -1, .open = open_file_of(new->path)};
    TC_TRY(tc_fs_check_writable(new->path, err));
    x->old = stat(new->path, &x->st) == 0;
    x->in_place = x->open >= 0 || (x->old && !S_ISREG(x->st.st_mode));
    x->target = x->old && !x->in_place ? realpath(new->path, NULL) : tc_xstrdup(new->path);
    if (!x->target)
        return failed(x, errno, err);
    if (new->from && (x->from = open(new->from, O_RDONLY | O_CLOEXEC)) < 0)
        return tc_fail(err, TC_ENV, "cannot read '%s': %s", new->from, tc_fs_reason(errno));
    x->links = !x->in_place && can_link(x);
    return x->in_place || x->links ? TC_OK : fill_beside(x, err);
}

static tc_status give_name(staged *x, tc_error *err) {
    char proc[32];
    if (x->links && name_beside(x->target, x->new->from, 0, &x->temp) < 0)
        TC_TRY(fill_beside(x, err)); /* another mount after all, or no links there */
    if (x->in_place || x->temp)
        return TC_OK;
    snprintf(proc, sizeof proc, "/proc/self/fd/%d", x->fd);
    return name_beside(x->target, proc, 0, &x->temp) >= 0 ? TC_OK : failed(x, errno, err);
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

/* A pipe that nobody reads is not waited for. */
static tc_status write_in_place(const staged *x, tc_error *err) {
    int fd = x->open >= 0 ? fcntl(x->open, F_DUPFD_CLOEXEC, 0) : open(x->target, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENXIO)
        return tc_fail(err, TC_ENV, "cannot write '%s': it is a pipe that nobody reads", x->new->path);
    if (fd < 0)
        return failed(x, errno, err);
    bool ok = (x->open >= 0 || fcntl(fd, F_SETFL, O_WRONLY) == 0) && fill(x, fd);
    int error = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        error = errno;
    }
    return ok ? TC_OK : failed(x, error, err);
}

static tc_status put(staged *x, tc_error *err) {
    if (x->in_place)
        return TC_OK;
    if (rename(x->temp, x->target) != 0)
        return failed(x, errno, err);
    free(x->temp);
    x->temp = NULL;
    return TC_OK;
}

static void drop(staged *x, bool done) {
    if (x->temp)
        unlink(x->temp);
    if (done && x->new->from)
        unlink(x->new->from);
    if (x->fd >= 0)
        close(x->fd);
    if (x->from >= 0)
        close(x->from);
    free(x->temp);
    free(x->target);
}

/* ---- files that belong together ---- */

tc_status tc_fs_write_files(const tc_fs_new *files, size_t n, tc_error *err) {
    staged *x = tc_xcalloc(n + 1, sizeof *x);
    tc_status s = TC_OK;
    size_t begun = 0;
    while (begun < n && s == TC_OK) {
        s = stage(&files[begun], &x[begun], err);
        begun++;
    }
    if (s == TC_OK && tc_ran_out()) /* what they hold may not be whole */
        s = tc_memory_ran_out(err);
    for (size_t i = 0; i < n && s == TC_OK; i++) /* which may take as long as who reads them */
        s = x[i].in_place ? write_in_place(&x[i], err) : TC_OK;
    for (size_t i = 0; i < n && s == TC_OK; i++)
        s = give_name(&x[i], err);
    for (size_t i = 0; i < n && s == TC_OK; i++)
        s = put(&x[i], err);
    for (size_t i = 0; i < n && s == TC_OK; i++) /* which takes long, while none waits for its place any more */
        if (!x[i].in_place)
            sync_folder_of(x[i].target);
    for (size_t i = 0; i < begun; i++)
        drop(&x[i], s == TC_OK);
    free(x);
    return s;
}

tc_status tc_fs_write(const char *path, const void *data, size_t size, tc_error *err) {
    return tc_fs_write_files(&(tc_fs_new){.path = path, .data = data, .size = size}, 1, err);
}

tc_status tc_fs_move(const char *from, const char *path, tc_error *err) {
    return tc_fs_write_files(&(tc_fs_new){.path = path, .from = from}, 1, err);
}

tc_status tc_fs_write_scratch(const char *path, const void *data, size_t size, tc_error *err) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && tc_fs_write_all(fd, data, size);
    int error = errno;
    if (fd >= 0 && close(fd) != 0 && ok) {
        ok = false;
        error = errno;
    }
    return ok ? TC_OK : tc_fail(err, TC_ENV, "cannot write '%s': %s", path, tc_fs_reason(error));
}

/* ---- before the work ---- */

/* Tries it: permissions alone do not tell for root, or on a file system that takes no files. */
static bool can_create_beside(const char *path) {
    char *temp;
    int fd = create_beside(path, 0600, &temp), error = errno;
    if (fd >= 0)
        close(fd);
    if (temp)
        unlink(temp);
    free(temp);
    errno = error;
    return fd >= 0;
}

tc_status tc_fs_check_writable(const char *path, tc_error *err) {
    struct stat st;
    int file = open_file_of(path), flags = file >= 0 ? fcntl(file, F_GETFL) : O_WRONLY;
    if (!*path)
        return tc_fail(err, TC_ENV, "cannot write: the file name is empty");
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
        return tc_fail(err, TC_ENV, "cannot write '%s': it is not open for writing", path);
    if (file >= 0)
        return TC_OK;
    bool exists = stat(path, &st) == 0;
    if (!exists && errno != ENOENT)
        return tc_fail(err, TC_ENV, "cannot write '%s': %s", path, tc_fs_reason(errno));
    if (exists && S_ISDIR(st.st_mode))
        return tc_fail(err, TC_ENV, "cannot write '%s': it is a folder, name a file in it", path);
    if (exists && access(path, W_OK) != 0)
        return tc_fail(err, TC_ENV, "cannot write '%s': %s", path, tc_fs_reason(errno));
    if (exists && (S_ISBLK(st.st_mode) || S_ISSOCK(st.st_mode)))
        return tc_fail(err, TC_ENV, "cannot write '%s': it is a %s, name a file", path, S_ISBLK(st.st_mode) ? "disk" : "socket");
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
        s = tc_fail(err, TC_ENV, "cannot write '%s': folder '%s': %s", path, dir, tc_fs_reason(errno));
    free(dir);
    return s;
}

tc_status tc_fs_check_replaceable(const char *path, tc_error *err) {
    struct stat st;
    if (open_file_of(path) >= 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
        return tc_fail(err, TC_ENV,
                       "cannot write '%s': it is not a regular file, and other files are written beside it; name a file", path);
    return tc_fs_check_writable(path, err);
}
