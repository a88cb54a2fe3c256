/* See secret.h. A new secret is complete before it gets its name, and it gets the name only if no other file has it (linkat). If
 * several processes make a secret at once, all of them use the first. */
#include "support/system/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "support/log.h"
#include "support/system/fs.h"
#include "support/system/user_folder.h"

static const char NAME[] = ".secret";

static bool draw(void *p, size_t n) {
    return getrandom(p, n, 0) == (ssize_t)n;
}

/* ---- reading ---- */

/* What is wrong with the open file; NULL: it is this user's, and nobody else can read it. */
static const char *flaw_of(int fd) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return "its status cannot be read";
    if (!S_ISREG(st.st_mode))
        return "it is not a file";
    if (st.st_uid != geteuid())
        return "it belongs to another user";
    if (st.st_mode & 077)
        return "others can read or write it";
    return st.st_size == sizeof((tc_secret *)0)->bytes ? NULL : "it does not hold 32 bytes";
}

static void complain(const char *flaw, tc_error *err) {
    tc_fail(err, TC_ENV,
            "the file '%s' in the cache folder is not used: %s. Verified programs and learned models are forgotten when this "
            "process ends. Remove the file: tctune then makes a new one",
            NAME, flaw);
}

/* TC_OK with *there false: it is not there. */
static tc_status read_secret(int dir, tc_secret *out, bool *there, tc_error *err) {
    int fd = openat(dir, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    *there = fd >= 0 || errno != ENOENT;
    if (!*there)
        return TC_OK;
    const char *flaw = fd >= 0 ? flaw_of(fd) : errno == ELOOP ? "it is a symbolic link" : tc_fs_reason(errno);
    if (!flaw && read(fd, out->bytes, sizeof out->bytes) != sizeof out->bytes)
        flaw = "it cannot be read";
    if (flaw)
        complain(flaw, err);
    if (fd >= 0)
        close(fd);
    return flaw ? TC_ENV : TC_OK;
}

/* ---- making ---- */

/* What a process that is killed in between leaves is removed with what the cache of kernels leaves. */
static void make_secret(int dir) {
    tc_secret drawn;
    uint64_t name;
    char temp[32];
    if (!draw(&drawn, sizeof drawn) || !draw(&name, sizeof name))
        return;
    snprintf(temp, sizeof temp, "new-%016" PRIx64, name);
    int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    bool whole = fchmod(fd, 0600) == 0 && tc_fs_write_all(fd, drawn.bytes, sizeof drawn.bytes) && fsync(fd) == 0;
    if (close(fd) == 0 && whole)
        (void)linkat(dir, temp, dir, NAME, 0); /* whether it worked shows when it is read */
    unlinkat(dir, temp, 0);
}

static bool find_secret(tc_secret *out, tc_error *err) {
    bool there = false;
    int dir = tc_user_folder_open(NULL, NULL);
    if (dir < 0)
        return false;
    tc_status s = read_secret(dir, out, &there, err);
    if (s == TC_OK && !there) {
        make_secret(dir);
        s = read_secret(dir, out, &there, err);
    }
    close(dir);
    return s == TC_OK && there;
}

/* ---- of the process ---- */

static struct {
    tc_secret secret;
    bool some;
} own;

static void decide(void) {
    tc_error why = {0};
    own.some = find_secret(&own.secret, &why) || draw(&own.secret, sizeof own.secret);
    if (why.status != TC_OK)
        tc_log(TC_LOG_WARN, "%s", why.msg);
}

bool tc_user_secret(tc_secret *out) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, decide);
    *out = own.secret;
    return own.some;
}
