/* Linkers and compilers need names, so the files must have names. A shell removes the folder, also after a signal that no process
 * can handle. It waits for the end of a pipe; only this process, and the programs that write into the folder, have the pipe open
 * for writing. The shell already waits when the folder is made. It runs in a session of its own, because a terminal sends signals
 * to whole groups of processes; and it does not take those signals, which may come before it has its session. Without a shell,
 * closing removes the folder. */
#include "support/system/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/arena.h"
#include "support/system/child.h"
#include "support/system/fs.h"
#include "support/vec.h"

struct tc_scratch {
    char *path;
    int watched; /* the pipe's end; -1: nobody waits */
    pid_t sweeper;
    pid_t owner; /* the process that made the folder: what it forks off since has a copy of this, and leaves the folder alone */
};

static const int of_terminals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};

static void start_sweeper(tc_scratch *s) {
    char *argv[] = {"sh", "-c", "read -r nothing; rm -rf -- \"$1\"", "tctune-sweeper", s->path, NULL};
    char *env[] = {"PATH=/usr/bin:/bin", NULL};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[0], 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    sigset_t blocked;
    sigemptyset(&blocked);
    for (size_t i = 0; i < TC_LEN(of_terminals); i++)
        sigaddset(&blocked, of_terminals[i]);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attr, &blocked);
    bool started = posix_spawn(&s->sweeper, "/bin/sh", &files, &attr, argv, env) == 0;
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    close(ends[0]);
    if (started)
        s->watched = ends[1];
    else
        close(ends[1]);
}

static void stop_sweeper(tc_scratch *s) {
    if (s->watched < 0)
        return;
    close(s->watched);
    int ignored; /* all that matters is that it has ended */
    (void)tc_child_wait(s->sweeper, &ignored);
    s->watched = -1;
}

tc_status tc_scratch_open(tc_scratch **out, tc_error *err) {
    char *path;
    *out = NULL;
    TC_TRY(tc_fs_temp_name(&path, err));
    tc_scratch *s = tc_xcalloc(1, sizeof *s);
    *s = (tc_scratch){.path = path, .watched = -1, .owner = getpid()};
    start_sweeper(s);
    tc_status made = tc_fs_temp_make(path, err);
    if (made == TC_OK) {
        *out = s;
        return TC_OK;
    }
    if (s->watched >= 0) /* what has that name is another's */
        kill(s->sweeper, SIGKILL);
    stop_sweeper(s);
    free(path);
    free(s);
    return made;
}

const char *tc_scratch_path(const tc_scratch *s) {
    return s->path;
}

int tc_scratch_watched(const tc_scratch *s) {
    return s->watched;
}

void tc_scratch_close(tc_scratch *s) {
    if (!s)
        return;
    if (s->owner == getpid()) {
        tc_fs_remove_tree(s->path);
        stop_sweeper(s);
    } else if (s->watched >= 0) {
        close(s->watched);
    }
    free(s->path);
    free(s);
}

/* ---- files without a name ---- */

static int open_and_unlink(void) {
    char *name;
    if (tc_fs_temp_name(&name, NULL) != TC_OK)
        return -1;
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        unlink(name);
    free(name);
    return fd;
}

/* A sandbox may refuse the call that makes files in memory. */
int tc_scratch_file(const char *what) {
    int fd = memfd_create(what, MFD_CLOEXEC);
    return fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EACCES) ? open_and_unlink() : fd;
}
