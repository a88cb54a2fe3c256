/* What a process inherits: signals, descriptors and the umask are whatever the parent left. */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/face/face.h"
#include "support/system/ulimit.h"

/* In a handler: where nothing else stops the command. */
static void end_of_cpu_time(int number) {
    static const char text[] = "tctune: the CPU time that this process may have (ulimit -t) is used up\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    _exit(128 + number);
}

/* A write that fails says so. The end of a child is told to who waits for it. And a user can stop the command. */
static void set_signals(void) {
    sigset_t stops;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGXCPU, end_of_cpu_time);
    tc_cpu_limit_warns();
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGXCPU);
    sigprocmask(SIG_UNBLOCK, &stops, NULL);
}

/* A closed descriptor would be given to the next file that is opened, a database say, and messages would be written into it. So
 * each is opened, in a way that lets its use fail as before. */
static void fill_descriptors(void) {
    static const int useless[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", useless[fd]);
}

/* The user can always read and write what this command makes: it reads its own scratch files, and so does the linker. */
static void let_owner_in(void) {
    umask(umask(0) & ~(mode_t)S_IRWXU);
}

void tc_cli_mend_inherited(void) {
    set_signals();
    fill_descriptors();
    let_owner_in();
}
