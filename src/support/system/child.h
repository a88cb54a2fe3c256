/* Children of a process whose program may do with SIGCHLD what it likes. A program that uses the library may ignore that signal,
 * or wait for every child itself. The system then tells nobody else how a child ended: waitpid fails with ECHILD. */
#ifndef TC_SUPPORT_SYSTEM_CHILD_H
#define TC_SUPPORT_SYSTEM_CHILD_H

#include <spawn.h>
#include <stdbool.h>
#include <sys/types.h>

/* Waits for the end of a child. false: it has ended, and nothing tells how; *status is 0 then. */
bool tc_child_wait(pid_t pid, int *status);
/* Runs a program as posix_spawnp does, and waits for its end: *status is waitpid's. It is known also where the program ignores
 * SIGCHLD. Returns 0 or an error number. ECHILD: another part of the program waited for the child. */
int tc_child_run(char *const *argv, char *const *env, const posix_spawn_file_actions_t *files, int *status);
/* What to do about the error number of a process that could not be started, as further sentences of a message; "" where nothing is
 * known. */
const char *tc_child_remedy(int error);

#endif
