/* A kernel that computes Y[i] = X[i] + 1, and does besides what the orders in it say. What it finds refused it tells by its
 * status. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attacks.h"
#include "measure/process/protocol.h"
#include "measure/worker/worker.h"
#include "tctune/runtime.h"

enum { N = 100, FD = TC_MEAS_WORKER_FD };

int32_t tctune_kernel(void *const *args, uint8_t *workspace, const tc_rt *rt);

static volatile const orders told = {.mark = ORDERS_MARK};
static orders o;
static const float *X;
static float *Y;
static const tc_rt *team;
static volatile int zero; /* as long as it lasts */

/* ---- files ---- */

/* Whether it is out of the sandbox: what an attack that returns tells. */
static bool opens(const char *path, int flags) {
    return open(path, flags, 0600) >= 0;
}

static bool attack_none(void) {
    return false;
}

static bool attack_read_file(void) {
    return opens(o.canary, O_RDONLY) || opens("/etc/passwd", O_RDONLY) || opens("/proc/self/maps", O_RDONLY);
}

static bool attack_read_tuner(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)o.tuner);
    return opens(path, O_RDONLY);
}

static bool attack_list_folder(void) {
    return opendir("/") || opendir("/tmp") || opens(".", O_RDONLY | O_DIRECTORY) || opens("/", O_PATH);
}

static bool attack_look_at_file(void) {
    struct stat st;
    char link[64];
    return stat(o.canary, &st) == 0 || access(o.canary, F_OK) == 0 || readlink("/proc/self/exe", link, sizeof link) > 0;
}

static bool attack_read_environment(void) {
    return getenv("A_SECRET") || getenv("HOME");
}

static bool attack_write_file(void) {
    return opens(o.canary, O_WRONLY | O_APPEND);
}

static bool attack_make_file(void) {
    return opens(o.beside, O_RDWR | O_CREAT);
}

static bool attack_truncate_file(void) {
    return truncate(o.canary, 0) == 0;
}

static bool attack_remove_file(void) {
    return unlink(o.canary) == 0;
}

static bool attack_rename_file(void) {
    return rename(o.canary, o.beside) == 0;
}

static bool attack_link_file(void) {
    return link(o.canary, o.beside) == 0 || symlink(o.canary, o.beside) == 0;
}

static bool attack_make_folder(void) {
    return mkdir(o.beside, 0700) == 0;
}

static bool attack_change_mode(void) {
    return chmod(o.canary, 0777) == 0;
}

/* ---- processes ---- */

static bool attack_fork(void) {
    return fork() >= 0;
}

static bool attack_vfork(void) {
    return syscall(SYS_vfork) >= 0;
}

static bool attack_exec(void) {
    char *argv[] = {(char *)(uintptr_t) "true", NULL};
    return execve("/bin/true", argv, environ) == 0;
}

static bool attack_spawn(void) {
    pid_t pid;
    char *argv[] = {(char *)(uintptr_t) "true", NULL};
    return posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) == 0;
}

static bool attack_shell(void) {
    return system("true") == 0;
}

static bool attack_clone3(void) {
    struct clone_args a = {.exit_signal = SIGCHLD};
    return syscall(SYS_clone3, &a, sizeof a) >= 0;
}

static bool attack_clone_apart(void) {
    return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL) >= 0;
}

/* ---- the network ---- */

static bool attack_socket(void) {
    return socket(AF_INET6, SOCK_RAW, 0) >= 0;
}

static bool attack_connect_tcp(void) {
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)o.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int s = socket(AF_INET, SOCK_STREAM, 0);
    return connect(s, (struct sockaddr *)&to, sizeof to) == 0;
}

static bool attack_send_udp(void) {
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)o.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return sendto(FD, "x", 1, 0, (struct sockaddr *)&to, sizeof to) == 1;
}

static bool attack_connect_abstract(void) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path + 1, sizeof to.sun_path - 1, "%s", o.socket);
    return connect(FD, (struct sockaddr *)&to,
                   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(to.sun_path + 1))) == 0;
}

static bool attack_socket_pair(void) {
    int pair[2];
    return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0;
}

static bool attack_pass_descriptor(void) {
    char byte = 0, room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec v = {&byte, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    return sendmsg(FD, &m, 0) >= 0;
}

/* ---- other processes ---- */

static bool attack_kill_tuner(void) {
    return kill((pid_t)o.tuner, SIGUSR1) == 0;
}

static bool attack_kill_group(void) {
    return kill(0, SIGUSR1) == 0;
}

static bool attack_kill_all(void) {
    return kill(-1, SIGUSR1) == 0;
}

static bool attack_kill_thread(void) {
    return syscall(SYS_tgkill, o.tuner, o.tuner, SIGUSR1) == 0;
}

static bool attack_queue_signal(void) {
    return sigqueue((pid_t)o.tuner, SIGUSR1, (union sigval){0}) == 0;
}

static bool attack_open_pidfd(void) {
    return syscall(SYS_pidfd_open, o.tuner, 0) >= 0;
}

/* The owner of a descriptor gets signals when there is something to read. */
static bool attack_signal_by_socket(void) {
    return fcntl(FD, F_SETOWN, (int)o.tuner) == 0 || fcntl(FD, F_SETFL, O_ASYNC) == 0;
}

static bool attack_trace_tuner(void) {
    return ptrace(PTRACE_ATTACH, (pid_t)o.tuner, NULL, NULL) == 0;
}

static bool attack_read_memory(void) {
    char bytes[8];
    struct iovec here = {bytes, sizeof bytes}, there = {(void *)X, sizeof bytes};
    return process_vm_readv((pid_t)o.tuner, &here, 1, &there, 1, 0) >= 0;
}

/* As if the kernel had ended it for want of memory. */
static bool attack_kill_itself(void) {
    return kill(getpid(), SIGKILL) == 0;
}

/* ---- faults ---- */

static bool attack_raise_segv(void) {
    raise(SIGSEGV);
    return true;
}

static bool attack_raise_abort(void) {
    abort();
}

static bool attack_raise_term(void) {
    raise(SIGTERM);
    return true;
}

static bool attack_raise_stop(void) {
    raise(SIGSTOP);
    return true;
}

static bool attack_divide(void) {
#ifdef __x86_64__
    zero = 1000 / zero;
#else
    raise(SIGFPE);
#endif
    return true;
}

static bool attack_illegal(void) {
    __builtin_trap();
}

static bool attack_write_null(void) {
    *(volatile int *)(uintptr_t)zero = 1;
    return true;
}

static bool attack_write_past(void) {
    for (volatile float *p = Y; !zero; p++)
        *p = 1;
    return true;
}

static bool attack_write_little_past(void) {
    ((volatile float *)Y)[N] = 1;
    return false;
}

static bool attack_write_inputs(void) {
    ((volatile float *)(uintptr_t)X)[0] = 1;
    return true;
}

/* What the kernel writes before is taken back. */
static bool attack_write_nothing(void) {
    memset(Y, 0, N * sizeof *Y);
    return false;
}

static uint64_t next(void) {
    uint64_t z = (uint64_t)(o.seed += (int64_t)0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Around what it knows of: its buffers, its stack, the allocator's memory, its runtime. */
static bool attack_write_anywhere(void) {
    void *heap = malloc(64);
    volatile char *at[] = {(volatile char *)(uintptr_t)team, (volatile char *)(uintptr_t)X, (volatile char *)Y,
                           (volatile char *)heap, (volatile char *)&heap};
    while (!zero)
        at[next() % 5][(int64_t)(next() % (1 << 16)) - (1 << 15)] = (char)next();
    return true;
}

static bool attack_spoil_heap(void) {
    char *p = malloc(1000);
    memset(p - 64, 0xa5, 100000);
    free(p);
    return false;
}

static bool attack_spoil_stack(void) {
    volatile char here[16];
    for (volatile char *p = here; p < here + 4096; p++)
        *p = 0x41;
    return false;
}

/* The worker's way to say anything becomes a return. */
static bool attack_spoil_code(void) {
    uintptr_t at = (uintptr_t)&write;
    mprotect((void *)(at & ~(uintptr_t)4095), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
    memset((void *)at, 0xc3, 16);
    return false;
}

static int recursion(volatile char *above) {
    volatile char here[4096];
    here[0] = above[0];
    return zero ? 0 : recursion(here) + here[1];
}

static bool attack_recurse(void) {
    volatile char top[1] = {0};
    return recursion(top) != 0;
}

/* ---- resources ---- */

static bool eat(int flags, size_t piece, size_t most) {
    for (size_t sum = 0; sum < most; sum += piece) {
        char *p = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
        if (p == MAP_FAILED)
            return false;
        memset(p, 1, piece);
    }
    return true;
}

/* More than any limit of the test. */
static const size_t MUCH = (size_t)8 << 30;

static bool attack_eat_memory(void) {
    for (size_t sum = 0; sum < MUCH; sum += 1 << 20) {
        void *p = malloc(1 << 20);
        if (!p)
            return false;
        memset(p, 1, 1 << 20);
    }
    return true;
}

static bool attack_eat_mappings(void) {
    return eat(MAP_PRIVATE, 1 << 24, MUCH);
}

static bool attack_eat_shared(void) {
    return eat(MAP_SHARED, 1 << 12, 1 << 12);
}

static bool attack_eat_stacks(void) {
    return eat(MAP_PRIVATE | MAP_GROWSDOWN, 1 << 12, 1 << 12);
}

/* A page of each table is touched, of addresses that cost nothing to have. */
static bool attack_eat_tables(void) {
    for (size_t sum = 0; sum < (size_t)64 << 40; sum += (size_t)1 << 36) {
        char *p = mmap(NULL, (size_t)1 << 36, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
            return false;
        for (size_t i = 0; i < (size_t)1 << 36; i += 1 << 21)
            zero += ((volatile char *)p)[i];
    }
    return true;
}

static bool attack_eat_file(void) {
    return syscall(SYS_memfd_create, "x", 0) >= 0;
}

static bool attack_eat_lock(void) {
    return syscall(SYS_mlockall, MCL_CURRENT) == 0 || syscall(SYS_mlock, Y, 4) == 0;
}

static void *stay(void *unused) {
    for (;;)
        sleep(1000);
    return unused;
}

static bool attack_threads(void) {
    pthread_attr_t small;
    pthread_t t;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 16);
    while (pthread_create(&t, &small, stay, NULL) == 0)
        continue;
    stay(NULL);
    return true;
}

static bool attack_print(void) {
    while (!zero)
        fprintf(stderr, "%65536s\n", "blah");
    return true;
}

static bool attack_spin(void) {
    while (!zero)
        continue;
    return true;
}

static bool attack_sleep(void) {
    stay(NULL);
    return true;
}

static void spin_body(int64_t begin, int64_t end, int32_t thread, void *closure) {
    (void)begin, (void)end, (void)thread, (void)closure;
    attack_spin();
}

static bool attack_deadlock(void) {
    return team->parallel_for(team, 1000, spin_body, NULL) == 0;
}

static void nothing(int signal) {
    (void)signal;
}

static bool attack_ignore_signals(void) {
    for (int i = 1; i < 65; i++)
        signal(i, SIG_IGN);
    return attack_spin();
}

/* The instruction that fails is made again when the handler returns. */
static bool attack_catch_faults(void) {
    signal(SIGSEGV, nothing);
    return attack_write_null();
}

/* ---- what it says to the tuner ---- */

static bool attack_close_all(void) {
    for (int i = 0; i < 1024; i++)
        close(i);
    return true;
}

static bool attack_close_and_stay(void) {
    close(FD);
    return attack_spin();
}

static void say(const void *p, size_t n) {
    for (const char *c = p; n > 0;) {
        ssize_t k = write(FD, c, n);
        if (k <= 0)
            return;
        c += k;
        n -= (size_t)k;
    }
}

static bool attack_garbage(void) {
    uint64_t random[64];
    for (int i = 0; i < 64; i++)
        random[i] = next();
    say(random, sizeof random);
    return attack_spin();
}

static void head(uint32_t type, uint64_t size) {
    tc_meas_frame f = {TC_MEAS_FRAME_MAGIC, type, size};
    say(&f, sizeof f);
}

static bool attack_giant(void) {
    head(TC_MEAS_MSG_RAN, 500 << 20);
    return attack_spin();
}

static bool attack_flood(void) {
    head(TC_MEAS_MSG_RAN, 1000);
    while (!zero)
        say(Y, N * sizeof *Y);
    return true;
}

static bool attack_cut(void) {
    head(TC_MEAS_MSG_RAN, 1000);
    say(Y, N * sizeof *Y);
    _exit(0);
}

static bool attack_malformed(void) {
    uint64_t fields[4] = {next(), next(), next(), next()};
    head(TC_MEAS_MSG_RAN, sizeof fields);
    say(fields, sizeof fields);
    return attack_spin();
}

/* error, message, times, verified, deviation, stopped early, seconds, reference, shares, counts: measured in less than no time. */
static bool attack_impossible_times(void) {
    enum { SHARES = 5, COUNTS = 1 + 2 * TC_MEAS_NCOUNTERS };
    double time = next() % 2 ? -1.0 : 0.0, one = 1, none = 0;
    uint64_t before[] = {TC_MEAS_NONE, 0, sizeof time}, yes = 1, no = 0;
    head(TC_MEAS_MSG_RAN, sizeof before + (6 + SHARES + COUNTS) * 8);
    say(before, sizeof before);
    say(&time, sizeof time);
    say(&yes, sizeof yes);
    say(&none, sizeof none);
    say(&no, sizeof no);
    say(&one, sizeof one);
    say(&none, sizeof none);
    for (int i = 0; i < SHARES + COUNTS; i++) /* the bytes of none are those of the number 0 too */
        say(&none, sizeof none);
    return attack_spin();
}

static bool attack_exit(void) {
    exit(0);
}

static bool attack_exit_at_once(void) {
    _exit(0);
}

/* ---- limits and rights ---- */

static bool attack_raise_limit(void) {
    return setrlimit(RLIMIT_DATA, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY}) == 0;
}

static bool attack_limit_tuner(void) {
    return prlimit((pid_t)o.tuner, RLIMIT_NOFILE, &(struct rlimit){3, 3}, NULL) == 0;
}

static bool attack_slow_tuner(void) {
    return setpriority(PRIO_PROCESS, (id_t)o.tuner, 19) == 0;
}

static bool attack_bind_tuner(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    return sched_setaffinity((pid_t)o.tuner, sizeof one, &one) == 0;
}

static bool attack_outlive_tuner(void) {
    return prctl(PR_SET_PDEATHSIG, 0) == 0 || prctl(PR_SET_DUMPABLE, 1) == 0;
}

/* Code of its own making is as bound as any. */
static bool attack_own_code(void) {
#ifdef __x86_64__
    static const unsigned char code[] = {0xb8, 57, 0, 0, 0, 0x0f, 0x05, 0xc3}; /* mov $SYS_fork, %eax; syscall; ret */
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(p, code, sizeof code);
    return ((int (*)(void))(uintptr_t)p)() >= 0;
#else
    return attack_fork();
#endif
}

/* Calls of 32-bit programs have other numbers. */
static bool attack_old_calls(void) {
#ifdef __x86_64__
    long r = 2; /* fork */
    __asm__ volatile("int $0x80" : "+a"(r)::"memory", "r8", "r9", "r10", "r11");
    return r >= 0;
#else
    return attack_fork();
#endif
}

static bool attack_other_calls(void) {
    return syscall(0x40000000 | SYS_getpid) >= 0; /* as x32 programs call */
}

static bool attack_type_into_terminal(void) {
    char c = '\n';
    return ioctl(0, TIOCSTI, &c) == 0;
}

static bool attack_unshare(void) {
    return unshare(CLONE_NEWUSER) == 0;
}

static bool attack_mount(void) {
    return mount("none", "/tmp", "tmpfs", 0, NULL) == 0;
}

static bool attack_change_root(void) {
    return chroot("/") == 0;
}

static bool attack_become_root(void) {
    return setuid(0) == 0;
}

static bool attack_bpf(void) {
    return syscall(SYS_bpf, 0, NULL, 0) >= 0;
}

static bool attack_perf(void) {
    return syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0) >= 0;
}

static bool attack_user_faults(void) {
    return syscall(SYS_userfaultfd, 0) >= 0;
}

static bool attack_rings(void) {
    return syscall(SYS_io_uring_setup, 1, NULL) >= 0;
}

static bool attack_keys(void) {
    return syscall(SYS_keyctl, 0, -3, 0) >= 0;
}

static bool attack_share_memory(void) {
    return shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600) >= 0;
}

static bool attack_set_clock(void) {
    return settimeofday(&(struct timeval){.tv_sec = 1}, NULL) == 0;
}

/* ---- any call ---- */

static long argument(void) {
    const long of[] = {0,      1, -1, FD, 2, 4096, (long)o.tuner, (long)(uintptr_t)o.canary, (long)(uintptr_t)Y, O_RDWR | O_CREAT,
                       SIGUSR1};
    uint64_t r = next();
    size_t n = sizeof of / sizeof *of;
    return r % (n + 1) < n ? of[r % (n + 1)] : (long)(next() >> (next() % 64));
}

/* Later calls than the newest that are known are among them, and whole groups that take no argument. */
static void one_call(void) {
    enum { CALLS = 500 };
    syscall((long)(next() % CALLS), argument(), argument(), argument(), argument(), argument(), argument());
}

static bool attack_any_call(void) {
    one_call();
    return false;
}

static bool attack_many_calls(void) {
    for (int i = 0; i < 1000; i++)
        one_call();
    return false;
}

/* ---- the kernel ---- */

static void compute(void) {
    for (int i = 0; i < N; i++)
        Y[i] = X[i] + 1;
}

int32_t tctune_kernel(void *const *args, uint8_t *workspace, const tc_rt *rt) {
    static bool (*const attacks[])(void) = {
#define ATTACK(id, ends) attack_##id,
#include "attacks.def"
#undef ATTACK
    };
    static const bool refused[] = {
#define REFUSED_ true
#define SPENT true
#define KILLED true
#define CRASHED true
#define LATE true
#define FAILED true
#define WRONG false
#define MEASURED false
#define ANYHOW false
#define ATTACK(id, ends) ends,
#include "attacks.def"
#undef ATTACK
    };
    (void)workspace;
    memcpy(&o, (const void *)&told, sizeof o);
    X = args[0], Y = args[1], team = rt;
    compute();
    if (attacks[o.attack]())
        return GOT_OUT;
    return refused[o.attack] ? REFUSED : 0;
}
