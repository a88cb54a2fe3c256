/* The filter of system calls. Calls that a worker needs are allowed. A call that only an attempt to leave the sandbox would
 * make ends the worker by SIGSYS, so that the record says so. All others fail with an error, as in a kernel without them:
 * libraries try many calls that they can do without.
 *
 * A measured run makes almost no system calls. Mitigations of the processor that come with filters are declined, because code
 * would be slower here than in the process that uses it. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "measure/sandbox/sandbox_int.h"
#include "support/vec.h"

/* ---- tables ---- */

/* What any computation with threads and memory uses, on the descriptors that it has. */
static const int COMPUTING[] = {
    SCMP_SYS(read),           SCMP_SYS(write),           SCMP_SYS(readv),
    SCMP_SYS(writev),         SCMP_SYS(close),           SCMP_SYS(lseek),
    SCMP_SYS(fstat),          SCMP_SYS(mprotect),        SCMP_SYS(munmap),
    SCMP_SYS(mremap),         SCMP_SYS(madvise),         SCMP_SYS(brk),
    SCMP_SYS(rt_sigaction),   SCMP_SYS(rt_sigprocmask),  SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),    SCMP_SYS(futex),           SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getparam), SCMP_SYS(getcpu),          SCMP_SYS(sched_getaffinity),
    SCMP_SYS(nanosleep),      SCMP_SYS(clock_nanosleep), SCMP_SYS(sched_getscheduler),
    SCMP_SYS(clock_gettime),  SCMP_SYS(clock_getres),    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),           SCMP_SYS(getpid),          SCMP_SYS(gettid),
    SCMP_SYS(getrusage),      SCMP_SYS(getrlimit),       SCMP_SYS(uname),
    SCMP_SYS(sysinfo),        SCMP_SYS(getrandom),       SCMP_SYS(restart_syscall),
    SCMP_SYS(exit),           SCMP_SYS(exit_group),      SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),           SCMP_SYS(membarrier),      SCMP_SYS(riscv_flush_icache),
    SCMP_SYS(arch_prctl), /* tiles are asked for with it */
};

/* What keeping objects in a folder uses. Those that change something end a worker that has no folder. */
static const int LOOKING[] = {
    SCMP_SYS(newfstatat), SCMP_SYS(stat),       SCMP_SYS(lstat),   SCMP_SYS(statx),   SCMP_SYS(access),  SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2), SCMP_SYS(getdents64), SCMP_SYS(pread64), SCMP_SYS(flock),   SCMP_SYS(fcntl),   SCMP_SYS(getuid),
    SCMP_SYS(geteuid),    SCMP_SYS(getgid),     SCMP_SYS(getegid), SCMP_SYS(fstatfs), SCMP_SYS(openat2), SCMP_SYS(umask),
};
static const int CHANGING[] = {
    SCMP_SYS(unlink),    SCMP_SYS(unlinkat), SCMP_SYS(rename), SCMP_SYS(renameat),  SCMP_SYS(renameat2), SCMP_SYS(utimensat),
    SCMP_SYS(ftruncate), SCMP_SYS(pwrite64), SCMP_SYS(fsync),  SCMP_SYS(fdatasync), SCMP_SYS(fchmod),    SCMP_SYS(fallocate),
};

/* Nothing that computes or compiles comes near these. */
static const int LEAVING[] = {
    SCMP_SYS(fork),
    SCMP_SYS(vfork),
    SCMP_SYS(execve),
    SCMP_SYS(execveat),
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(process_madvise),
    SCMP_SYS(pidfd_open),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(pidfd_send_signal),
    SCMP_SYS(tkill),
    SCMP_SYS(rt_sigqueueinfo),
    SCMP_SYS(rt_tgsigqueueinfo),
    SCMP_SYS(socket),
    SCMP_SYS(socketpair),
    SCMP_SYS(connect),
    SCMP_SYS(bind),
    SCMP_SYS(listen),
    SCMP_SYS(accept),
    SCMP_SYS(accept4),
    SCMP_SYS(sendto),
    SCMP_SYS(sendmsg),
    SCMP_SYS(sendmmsg),
    SCMP_SYS(recvmsg),
    SCMP_SYS(recvmmsg),
    SCMP_SYS(setrlimit),
    SCMP_SYS(setpriority),
    SCMP_SYS(sched_setscheduler),
    SCMP_SYS(sched_setattr),
    SCMP_SYS(sched_setparam),
    SCMP_SYS(setuid),
    SCMP_SYS(setgid),
    SCMP_SYS(setreuid),
    SCMP_SYS(setregid),
    SCMP_SYS(setresuid),
    SCMP_SYS(setresgid),
    SCMP_SYS(setgroups),
    SCMP_SYS(setsid),
    SCMP_SYS(setpgid),
    SCMP_SYS(capset),
    SCMP_SYS(seccomp),
    SCMP_SYS(creat),
    SCMP_SYS(mkdir),
    SCMP_SYS(mkdirat),
    SCMP_SYS(rmdir),
    SCMP_SYS(link),
    SCMP_SYS(linkat),
    SCMP_SYS(symlink),
    SCMP_SYS(symlinkat),
    SCMP_SYS(mknod),
    SCMP_SYS(mknodat),
    SCMP_SYS(truncate),
    SCMP_SYS(chmod),
    SCMP_SYS(fchmodat),
    SCMP_SYS(chown),
    SCMP_SYS(lchown),
    SCMP_SYS(fchown),
    SCMP_SYS(fchownat),
    SCMP_SYS(chdir),
    SCMP_SYS(fchdir),
    SCMP_SYS(chroot),
    SCMP_SYS(pivot_root),
    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(open_by_handle_at),
    SCMP_SYS(unshare),
    SCMP_SYS(setns),
    SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(memfd_create),
    SCMP_SYS(memfd_secret),
    SCMP_SYS(shmget),
    SCMP_SYS(semget),
    SCMP_SYS(msgget),
    SCMP_SYS(mq_open),
    SCMP_SYS(add_key),
    SCMP_SYS(request_key),
    SCMP_SYS(keyctl),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(delete_module),
    SCMP_SYS(kexec_load),
    SCMP_SYS(reboot),
    SCMP_SYS(swapon),
    SCMP_SYS(sethostname),
    SCMP_SYS(settimeofday),
    SCMP_SYS(clock_settime),
    SCMP_SYS(adjtimex),
    SCMP_SYS(quotactl),
    SCMP_SYS(acct),
    SCMP_SYS(syslog),
    SCMP_SYS(vhangup),
    SCMP_SYS(personality),
};

/* ---- rules ---- */

/* A filter that is being made; the first error is kept, and what follows is left out. */
typedef struct filter {
    scmp_filter_ctx ctx;
    int error; /* 0 or -errno */
} filter;

/* A call whose argument `arg`, masked, is as said. */
static void rule(filter *f, uint32_t action, int call, unsigned arg, enum scmp_compare op, uint64_t a, uint64_t b) {
    struct scmp_arg_cmp cmp = {arg, op, a, b};
    if (f->error == 0)
        f->error = seccomp_rule_add_array(f->ctx, action, call, 1, &cmp);
}

static void always(filter *f, uint32_t action, const int *calls, size_t n) {
    for (size_t i = 0; i < n && f->error == 0; i++)
        f->error = seccomp_rule_add_array(f->ctx, action, calls[i], 0, NULL);
}

static void masked(filter *f, uint32_t action, int call, unsigned arg, uint64_t mask, uint64_t value) {
    rule(f, action, call, arg, SCMP_CMP_MASKED_EQ, mask, value);
}

/* Threads of this process are started by clone; the arguments of clone3 lie in memory, where a filter cannot see them, and
 * libraries do without it. */
static void threads(filter *f) {
    const uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD,
                   apart = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                           CLONE_NEWNET | CLONE_PTRACE | CLONE_UNTRACED | CLONE_PARENT | CLONE_PIDFD;
    masked(f, SCMP_ACT_ALLOW, SCMP_SYS(clone), 0, thread | apart, thread);
    masked(f, SCMP_ACT_KILL_PROCESS, SCMP_SYS(clone), 0, CLONE_THREAD, 0);
    always(f, SCMP_ACT_ERRNO(ENOSYS), (const int[]){SCMP_SYS(clone3)}, 1);
}

/* Signals to itself, as abort sends one; but for the one that would make its end look like the kernel's doing. */
static void signals(filter *f) {
    uint64_t self = (uint64_t)getpid();
    for (int i = 0; i < 2; i++) {
        int call = i ? SCMP_SYS(tgkill) : SCMP_SYS(kill);
        unsigned number = i ? 2 : 1;
        struct scmp_arg_cmp own[] = {{0, SCMP_CMP_EQ, self, 0}, {number, SCMP_CMP_NE, SIGKILL, 0}};
        if (f->error == 0)
            f->error = seccomp_rule_add_array(f->ctx, SCMP_ACT_ALLOW, call, TC_LEN(own), own);
        rule(f, SCMP_ACT_KILL_PROCESS, call, 0, SCMP_CMP_NE, self, 0);
        rule(f, SCMP_ACT_KILL_PROCESS, call, number, SCMP_CMP_EQ, SIGKILL, 0);
    }
}

/* Its limits may be read. */
static void limits(filter *f) {
    rule(f, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2, SCMP_CMP_EQ, 0, 0);
    rule(f, SCMP_ACT_KILL_PROCESS, SCMP_SYS(prlimit64), 2, SCMP_CMP_NE, 0, 0);
}

/* Memory that is shared or grows by itself would not count towards the limit. */
static void memory(filter *f) {
    masked(f, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 3, MAP_SHARED | MAP_GROWSDOWN, 0);
}

static void names(filter *f) {
    rule(f, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 0, SCMP_CMP_EQ, PR_SET_NAME, 0);
}

/* A runtime that binds its threads needs the call for all of them, whose numbers are not known yet; others cannot have it, since it
 * takes the numbers of any process of the user. */
static void binding(filter *f) {
    if (tc_sandbox_binds_threads())
        always(f, SCMP_ACT_ALLOW, (const int[]){SCMP_SYS(sched_setaffinity)}, 1);
}

/* Without a folder: what opens a file to read it is told that it may not, and what opens one to write ends. */
static void no_files(filter *f) {
    for (int i = 0; i < 2; i++) {
        int call = i ? SCMP_SYS(openat) : SCMP_SYS(open);
        unsigned flags = i ? 2 : 1;
        masked(f, SCMP_ACT_KILL_PROCESS, call, flags, O_ACCMODE, O_WRONLY);
        masked(f, SCMP_ACT_KILL_PROCESS, call, flags, O_ACCMODE, O_RDWR);
        masked(f, SCMP_ACT_KILL_PROCESS, call, flags, O_CREAT, O_CREAT);
        masked(f, SCMP_ACT_KILL_PROCESS, call, flags, O_TRUNC, O_TRUNC);
    }
    always(f, SCMP_ACT_KILL_PROCESS, CHANGING, TC_LEN(CHANGING));
}

static void files(filter *f) {
    static const int opening[] = {SCMP_SYS(open), SCMP_SYS(openat)};
    always(f, SCMP_ACT_ALLOW, opening, TC_LEN(opening));
    always(f, SCMP_ACT_ALLOW, LOOKING, TC_LEN(LOOKING));
    always(f, SCMP_ACT_ALLOW, CHANGING, TC_LEN(CHANGING));
}

static void add_rules(filter *f, const tc_sandbox *s) {
    always(f, SCMP_ACT_ALLOW, COMPUTING, TC_LEN(COMPUTING));
    always(f, SCMP_ACT_KILL_PROCESS, LEAVING, TC_LEN(LEAVING));
    threads(f);
    signals(f);
    limits(f);
    memory(f);
    names(f);
    binding(f);
    if (s->folder)
        files(f);
    else
        no_files(f);
}

/* ---- loading ---- */

/* Wishes: a kernel or library that knows nothing of them loses nothing of the filter. */
static void set_attributes(scmp_filter_ctx ctx) {
    (void)seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    (void)seccomp_attr_set(ctx, SCMP_FLTATR_CTL_SSB, 1);      /* no mitigations by the filter */
    (void)seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a tree of calls, not a list */
}

void tc_sandbox_seccomp(const tc_sandbox *s, tc_strbuf *lacks) {
    filter f = {.ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM))};
    if (f.ctx) {
        set_attributes(f.ctx);
        add_rules(&f, s);
    } else {
        f.error = -ENOMEM;
    }
    if (f.error == 0)
        f.error = seccomp_load(f.ctx);
    if (f.error != 0)
        tc_sb_printf(lacks,
                     "System calls cannot be filtered (seccomp: %s): measured kernels can start processes, use the network and "
                     "signal the processes of this user. Where Landlock is missing too, they can reach the files of this user. ",
                     strerror(-f.error));
    seccomp_release(f.ctx);
}
