/* Preloaded into a command: what its system lacks, by words in LACKS.
 *
 *   memfd   memfd_create fails, as behind a filter of system calls
 *   proc    nothing below /proc can be reached
 *   locks   files cannot be locked: ENOLCK
 *   random  getrandom fails, as on old kernels
 *
 * Workers, whose environment has neither LACKS nor the preloaded library, lack nothing. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static bool no_memfd, no_proc, no_locks, no_random;

__attribute__((constructor)) static void start(void) {
    const char *lacks = getenv("LACKS");
    no_memfd = lacks && strstr(lacks, "memfd");
    no_proc = lacks && strstr(lacks, "proc");
    no_locks = lacks && strstr(lacks, "locks");
    no_random = lacks && strstr(lacks, "random");
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static bool is_away(const char *path) {
    if (!no_proc || !path || strncmp(path, "/proc", 5) != 0)
        return false;
    errno = ENOENT;
    return true;
}

int memfd_create(const char *name, unsigned flags) {
    if (!no_memfd)
        return REAL(memfd_create)(name, flags);
    errno = EPERM;
    return -1;
}

ssize_t getrandom(void *p, size_t n, unsigned flags) {
    if (!no_random)
        return REAL(getrandom)(p, n, flags);
    errno = ENOSYS;
    return -1;
}

int access(const char *path, int mode) {
    return is_away(path) ? -1 : REAL(access)(path, mode);
}

int execve(const char *path, char *const argv[], char *const env[]) {
    return is_away(path) ? -1 : REAL(execve)(path, argv, env);
}

char *realpath(const char *path, char *resolved) {
    return is_away(path) ? NULL : REAL(realpath)(path, resolved);
}

ssize_t readlink(const char *path, char *out, size_t size) {
    return is_away(path) ? -1 : REAL(readlink)(path, out, size);
}

int stat(const char *path, struct stat *st) {
    return is_away(path) ? -1 : REAL(stat)(path, st);
}

int linkat(int from, const char *old, int to, const char *new, int flags) {
    return is_away(old) ? -1 : REAL(linkat)(from, old, to, new, flags);
}

FILE *fopen(const char *path, const char *mode) {
    return is_away(path) ? NULL : REAL(fopen)(path, mode);
}

#define OPEN(name)                                                                                                               \
    int name(const char *path, int flags, ...) {                                                                                 \
        va_list ap;                                                                                                              \
        va_start(ap, flags);                                                                                                     \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(ap, mode_t) : 0;                                                  \
        va_end(ap);                                                                                                              \
        return is_away(path) ? -1 : REAL(name)(path, flags, mode);                                                               \
    }
OPEN(open)
OPEN(open64)

static int fcntl_with(int (*real)(int, int, ...), int fd, int command, void *argument) {
    if (no_locks && (command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK)) {
        errno = ENOLCK;
        return -1;
    }
    return real(fd, command, argument);
}

#define FCNTL(name)                                                                                                              \
    int name(int fd, int command, ...) {                                                                                         \
        va_list ap;                                                                                                              \
        va_start(ap, command);                                                                                                   \
        void *argument = va_arg(ap, void *);                                                                                     \
        va_end(ap);                                                                                                              \
        return fcntl_with(REAL(name), fd, command, argument);                                                                    \
    }
FCNTL(fcntl)
FCNTL(fcntl64)
