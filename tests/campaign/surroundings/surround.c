/* Runs a command as a careless parent would:
 *
 *   surround KIND... -- COMMAND...
 *
 *   ignored    SIGCHLD, SIGPIPE, SIGHUP and SIGUSR1 are ignored
 *   unwaited   children leave no status (SA_NOCLDWAIT)
 *   blocked    all signals are blocked
 *   closed     descriptors 0, 1 and 2 are closed
 *   few        12 descriptors at most, 0, 1 and 2 among them; no others are inherited
 *   masked     the umask is 777
 *   alone      it leads a session without a terminal
 *   homeless   its folder was removed
 *   poor       no capabilities, also as root, so that permissions hold
 *   crowded    another user, who may have two processes of one thread each
 *   hurried    more than one of two seconds of CPU time are gone
 *   contained  in a container of an older kernel: no Landlock, and no namespaces of its own */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void ignored(void) {
    static const int signals[] = {SIGCHLD, SIGPIPE, SIGHUP, SIGUSR1};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        signal(signals[i], SIG_IGN);
}

/* Such a flag alone does not outlive exec; the disposition that goes with it does. */
static void unwaited(void) {
    struct sigaction a = {.sa_handler = SIG_IGN, .sa_flags = SA_NOCLDWAIT};
    sigaction(SIGCHLD, &a, NULL);
}

static void blocked(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
}

static void closed(void) {
    for (int fd = 0; fd < 3; fd++)
        close(fd);
}

static void few(void) {
    struct rlimit most = {12, 12};
    if (close_range(3, ~0U, 0) != 0 || setrlimit(RLIMIT_NOFILE, &most) != 0)
        _exit(2);
}

static void masked(void) {
    umask(0777);
}

static void alone(void) {
    if (setsid() < 0)
        _exit(2);
}

static void homeless(void) {
    char folder[] = "/tmp/homeless-XXXXXX";
    if (!mkdtemp(folder) || chdir(folder) != 0 || rmdir(folder) != 0)
        _exit(2);
}

static void poor(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    for (int c = 0; c <= CAP_LAST_CAP; c++)
        prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
    syscall(SYS_capset, &header, none);
}

static void crowded(void) {
    enum { NOBODY_ELSE = 64123 };
    struct rlimit few_processes = {2, 2}; /* `timeout` and the command */
    if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setresgid(NOBODY_ELSE, NOBODY_ELSE, NOBODY_ELSE) != 0))
        _exit(2);
    if (setrlimit(RLIMIT_NPROC, &few_processes) != 0 || (geteuid() == 0 && setresuid(NOBODY_ELSE, NOBODY_ELSE, NOBODY_ELSE) != 0))
        _exit(2);
}

static void hurried(void) {
    struct rlimit two = {2, 2};
    while (clock() < CLOCKS_PER_SEC + CLOCKS_PER_SEC / 50)
        ;
    if (setrlimit(RLIMIT_CPU, &two) != 0)
        _exit(2);
}

static void contained(void) {
    static const int landlock[] = {SYS_landlock_create_ruleset, SYS_landlock_add_rule, SYS_landlock_restrict_self};
    scmp_filter_ctx c = seccomp_init(SCMP_ACT_ALLOW);
    int failed = !c;
    for (size_t i = 0; !failed && i < sizeof landlock / sizeof landlock[0]; i++)
        failed = seccomp_rule_add(c, SCMP_ACT_ERRNO(ENOSYS), landlock[i], 0);
    failed = failed || seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), 0) ||
             seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                              SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER)) ||
             seccomp_load(c);
    if (failed)
        _exit(2);
    seccomp_release(c);
}

static const struct {
    const char *name;
    void (*apply)(void);
} kinds[] = {{"ignored", ignored}, {"unwaited", unwaited}, {"blocked", blocked}, {"closed", closed},
             {"few", few},         {"masked", masked},     {"alone", alone},     {"homeless", homeless},
             {"poor", poor},       {"crowded", crowded},   {"hurried", hurried}, {"contained", contained}};

int main(int argc, char **argv) {
    int i = 1;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
            if (strcmp(argv[i], kinds[k].name) == 0)
                kinds[k].apply();
    if (i + 1 >= argc)
        return 2;
    execvp(argv[i + 1], argv + i + 1);
    return 127;
}
