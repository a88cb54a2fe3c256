/* Linkers and compilers want names, so the files cannot do without. A shell reads a socket, of which only this process and the
 * programs that write into the folder have the other end, until nobody has, and then removes the folder that it was told: a signal
 * that nobody can handle leaves nothing. It waits already when the folder is made, and in a session of its own, since what a terminal
 * sends goes to whole groups of processes. Without a shell the folder goes when it is closed. */
#include "support/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/arena.h"
#include "support/fs.h"

struct tc_scratch {
    char *path;
    int watched; /* this end of the socket; -1: nobody waits */
    pid_t sweeper;
};

static void start_sweeper(tc_scratch *s) {
    char name[48];
    char *argv[] = {"sh", "-c", "folder=$(cat) && [ -n \"$folder\" ] && rm -rf -- \"$folder\"", name, NULL};
    char *env[] = {"PATH=/usr/bin:/bin", NULL};
    int ends[2];
    snprintf(name, sizeof name, "tctune-sweeper of %ld", (long)getpid());
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[0], 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID);
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
    while (waitpid(s->sweeper, NULL, 0) < 0 && errno == EINTR)
        continue;
    s->watched = -1;
}

/* A path is short enough to go there whole or not at all. */
static void name_folder(tc_scratch *s) {
    ssize_t n;
    do
        n = send(s->watched, s->path, strlen(s->path), MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        stop_sweeper(s);
}

tc_status tc_scratch_open(tc_scratch **out, tc_error *err) {
    tc_scratch *s = tc_xcalloc(1, sizeof *s);
    *out = NULL;
    s->watched = -1;
    start_sweeper(s);
    tc_status made = tc_fs_temp_dir(&s->path, err);
    if (made != TC_OK) {
        tc_scratch_close(s);
        return made;
    }
    if (s->watched >= 0)
        name_folder(s);
    *out = s;
    return TC_OK;
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
    tc_fs_remove_tree(s->path);
    stop_sweeper(s);
    free(s->path);
    free(s);
}
