/* Preloaded into a command: its FAULT_AT-th call on a file fails as FAULT_KIND says (ENOSPC, EIO, EACCES, or SHORT: half of what
 * was to be read or written). Only in the process that it is first loaded into: workers and linkers go on. FAULT_COUNT names a
 * file for the number of calls. Pipes, sockets, terminals and the system's own files are let be. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHORT = -1 };

static atomic_long calls;
static long fault_at = -1;
static int kind;
static char count_path[4096];

__attribute__((constructor)) static void start(void) {
    static const struct {
        const char *name;
        int error;
    } kinds[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO}, {"EACCES", EACCES}, {"SHORT", SHORT}};
    const char *at = getenv("FAULT_AT"), *name = getenv("FAULT_KIND"), *count = getenv("FAULT_COUNT");
    for (size_t i = 0; name && i < sizeof kinds / sizeof kinds[0]; i++)
        kind = strcmp(name, kinds[i].name) ? kind : kinds[i].error;
    fault_at = at && kind ? atol(at) : -1;
    snprintf(count_path, sizeof count_path, "%s", count ? count : "");
    unsetenv("FAULT_AT");
    unsetenv("FAULT_COUNT");
}

__attribute__((destructor)) static void end(void) {
    FILE *f = *count_path ? fopen(count_path, "w") : NULL;
    if (f) {
        fprintf(f, "%ld\n", atomic_load(&calls));
        fclose(f);
    }
}

static bool is_systems(const char *path) {
    return !strncmp(path, "/proc/", 6) || !strncmp(path, "/sys/", 5) ||
           (!strncmp(path, "/dev/", 5) && strncmp(path, "/dev/shm/", 9) != 0);
}

/* Whether this call is the one, which is then told what to fail with. */
static bool strikes(const char *path, int *error) {
    if (!path || is_systems(path) || atomic_fetch_add(&calls, 1) + 1 != fault_at)
        return false;
    *error = kind;
    return true;
}

static bool strikes_fd(int fd, int *error) {
    char link[32], path[4096];
    struct stat st;
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = fd > 2 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? readlink(link, path, sizeof path - 1) : -1;
    errno = before;
    path[n > 0 ? n : 0] = 0;
    return n > 0 && strikes(path, error);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAIL_IF(condition, result)                                                                                               \
    do {                                                                                                                         \
        int error_ = 0;                                                                                                          \
        if (condition && error_ != SHORT) {                                                                                      \
            errno = error_;                                                                                                      \
            return result;                                                                                                       \
        }                                                                                                                        \
    } while (0)

#define OPEN(name)                                                                                                               \
    int name(const char *path, int flags, ...) {                                                                                 \
        va_list ap;                                                                                                              \
        va_start(ap, flags);                                                                                                     \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0;                                                  \
        va_end(ap);                                                                                                              \
        FAIL_IF(strikes(path, &error_), -1);                                                                                     \
        return REAL(name)(path, flags, mode);                                                                                    \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                                                             \
    int name(int dir, const char *path, int flags, ...) {                                                                        \
        va_list ap;                                                                                                              \
        va_start(ap, flags);                                                                                                     \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0;                                                  \
        va_end(ap);                                                                                                              \
        FAIL_IF(strikes(path, &error_), -1);                                                                                     \
        return REAL(name)(dir, path, flags, mode);                                                                               \
    }
OPENAT(openat)
OPENAT(openat64)

/* A short transfer is half of one, and no failure. */
#define TRANSFER(name, buffer, parameters, ...)                                                                                  \
    ssize_t name parameters {                                                                                                    \
        int error = 0;                                                                                                           \
        if (strikes_fd(fd, &error)) {                                                                                            \
            if (error != SHORT) {                                                                                                \
                errno = error;                                                                                                   \
                return -1;                                                                                                       \
            }                                                                                                                    \
            n = n > 1 ? n / 2 : n;                                                                                               \
        }                                                                                                                        \
        return REAL(name)(__VA_ARGS__);                                                                                          \
    }
TRANSFER(read, p, (int fd, void *p, size_t n), fd, p, n)
TRANSFER(write, p, (int fd, const void *p, size_t n), fd, p, n)
TRANSFER(pread, p, (int fd, void *p, size_t n, off_t at), fd, p, n, at)
TRANSFER(pread64, p, (int fd, void *p, size_t n, off64_t at), fd, p, n, at)
TRANSFER(pwrite, p, (int fd, const void *p, size_t n, off_t at), fd, p, n, at)
TRANSFER(pwrite64, p, (int fd, const void *p, size_t n, off64_t at), fd, p, n, at)

#define ON_FD(name, parameters, ...)                                                                                             \
    int name parameters {                                                                                                        \
        FAIL_IF(strikes_fd(fd, &error_), -1);                                                                                    \
        return REAL(name)(__VA_ARGS__);                                                                                          \
    }
ON_FD(fsync, (int fd), fd)
ON_FD(fdatasync, (int fd), fd)
ON_FD(ftruncate, (int fd, off_t to), fd, to)
ON_FD(ftruncate64, (int fd, off64_t to), fd, to)

#define ON_PATH(name, parameters, ...)                                                                                           \
    int name parameters {                                                                                                        \
        FAIL_IF(strikes(to, &error_), -1);                                                                                       \
        return REAL(name)(__VA_ARGS__);                                                                                          \
    }
ON_PATH(rename, (const char *from, const char *to), from, to)
ON_PATH(renameat, (int a, const char *from, int b, const char *to), a, from, b, to)
ON_PATH(linkat, (int a, const char *from, int b, const char *to, int flags), a, from, b, to, flags)
ON_PATH(mkdir, (const char *to, mode_t mode), to, mode)

FILE *fopen(const char *path, const char *mode) {
    FAIL_IF(strikes(path, &error_), NULL);
    return REAL(fopen)(path, mode);
}

size_t fwrite(const void *p, size_t size, size_t n, FILE *f) {
    FAIL_IF(strikes_fd(fileno(f), &error_), 0);
    return REAL(fwrite)(p, size, n, f);
}

/* The file is closed, but not all of it was written. */
int fclose(FILE *f) {
    int error = 0;
    bool bad = strikes_fd(fileno(f), &error) && error != SHORT;
    int result = REAL(fclose)(f);
    errno = bad ? error : errno;
    return bad ? EOF : result;
}
