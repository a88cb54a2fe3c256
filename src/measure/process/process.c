/* Starting, watching and ending worker processes. Linux: exec of this program itself, and PR_SET_PDEATHSIG. */
#include "measure/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "measure/sandbox/sandbox.h"
#include "support/log.h"
#include "support/system/child.h"
#include "support/system/emulation.h"
#include "support/system/place.h"
#include "support/system/scratch.h"
#include "support/system/stop.h"
#include "support/vec.h"

enum {
    WORKER_FD = 3,        /* where a worker finds its socket */
    CANNOT_ARRANGE = 126, /* exit statuses of a process that could not become a worker: it lacked descriptors, */
    CANNOT_RUN = 127,     /* or the program cannot be executed */
    STARTS = 4,           /* how often a process that is killed while it starts is started in all */
    REAP_MS = 2000,       /* a process whose socket is closed gets this long to finish dying */
    SPARE_THREADS = 64,   /* beyond a team, and one that takes its place */
    GRACE = 2,            /* times its limit that a process gets on top where it hardly ran, */
    MOST_GRACE = 4,       /* and where others kept it from running. Chosen */
};

/* Seconds: how often the stop flag is looked at, and by how much later than it asked for a process comes to that which was not
 * suspended. */
static const double look = 0.1, suspended = 1;
/* A process that had the processors for so much of the time that it wanted them was disturbed by nobody. Chosen: as stopwatches of
 * support/clock have it. */
static const double undisturbed = 0.9;
/* Seconds before the second start; each later pause is twice as long. Memory that ran out may be free again by then. */
static const double first_pause = 0.25;

/* This program, also when its file was replaced since. */
static const char ITSELF[] = "/proc/self/exe";

/* Of this process. */
static const char *worker = ITSELF;

void tc_meas_worker_use(const char *exe) {
    worker = exe ? exe : ITSELF;
}

bool tc_meas_worker_there(void) {
    return *worker;
}

void tc_meas_proc_init(tc_meas_proc *p, const tc_meas_proc_options *opt) {
    *p = (tc_meas_proc){.opt = *opt, .fd = -1, .log = -1};
    if (!p->opt.exe)
        p->opt.exe = worker;
    if (!p->opt.arg)
        p->opt.arg = "worker";
    if (p->opt.start_limit <= 0)
        p->opt.start_limit = 30;
    if (p->opt.threads <= 0)
        p->opt.threads = (int)TC_MAX(sysconf(_SC_NPROCESSORS_ONLN), 1L);
}

/* ---- starting ---- */

/* Its own cache is no business of a worker's that was given none. Made before the fork, because a child of a threaded program may
 * not allocate. */
static char **environment(const tc_meas_proc_options *o, tc_strbuf *cache) {
    TC_VEC(const char *) own = {0};
    tc_sb_printf(cache, "TCTUNE_CACHE=%s", o->folder ? o->folder : "off");
    for (const char *const *e = o->env; e && *e; e++)
        tc_push(&own, *e);
    tc_push(&own, tc_sb_str(cache));
    tc_push(&own, NULL);
    char **env = tc_sandbox_environment(own.data);
    tc_vec_free(&own);
    return env;
}

/* Without /proc the program is found by its name. */
static const char *program_of(const tc_meas_proc *p, char own[PATH_MAX]) {
    bool is_named = strcmp(p->opt.exe, ITSELF) != 0 || access(ITSELF, X_OK) == 0 || !tc_place_program(own);
    return is_named ? p->opt.exe : own;
}

/* What a worker is started with. */
typedef struct start {
    int fd, log;
    pid_t parent;
    const char *exe;
    char **env;
    char **by; /* the command where an emulator runs this process; NULL: none does */
} start;

/* In the child: says why in the log, as a worker would. */
_Noreturn static void cannot_become(int log, const char *what, int status) {
    const char *why = strerrordesc_np(errno), *const said[] = {what, ": ", why ? why : "unknown error"};
    struct iovec part[TC_LEN(said)];
    for (size_t i = 0; i < TC_LEN(said); i++)
        part[i] = (struct iovec){(void *)(uintptr_t)said[i], strlen(said[i])};
    ssize_t ignored = writev(log, part, (int)TC_LEN(part));
    (void)ignored;
    _exit(status);
}

/* A descriptor beside those that a worker gets. `fd` itself stays where it can: a process may have few of them left. */
static int beside(int fd) {
    return fd < 0 || fd > WORKER_FD ? fd : fcntl(fd, F_DUPFD_CLOEXEC, WORKER_FD + 1);
}

/* Runs in the child between fork and exec: async-signal-safe calls only. */
static void become_worker(const tc_meas_proc_options *o, const start *s) {
    sigset_t none;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != s->parent)
        _exit(1);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGINT, SIG_IGN); /* Ctrl-C reaches the whole group: the tuner decides what happens to workers */
    signal(SIGQUIT, SIG_IGN);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXCPU, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL); /* how the limit of the log ends it; an interpreter that started the tuner may ignore both */
    int socket = beside(s->fd), words = beside(s->log);
    if (socket < 0 || words < 0)
        cannot_become(s->log, "its descriptors cannot be arranged", CANNOT_ARRANGE);
    dup2(words, STDOUT_FILENO);
    dup2(words, STDERR_FILENO);
    dup2(socket, WORKER_FD);
    syscall(SYS_close_range, WORKER_FD + 1, ~0U, 0);
    close(STDIN_FILENO);
    if (open("/dev/null", O_RDONLY) != STDIN_FILENO)
        cannot_become(STDERR_FILENO, "/dev/null cannot be opened", CANNOT_ARRANGE);
    tc_sandbox_limit(o->memory_limit);
    char *argv[] = {(char *)(uintptr_t) "tctune-worker", (char *)(uintptr_t)o->arg, NULL};
    execve(s->by ? s->by[0] : s->exe, s->by ? s->by : argv, s->env);
    cannot_become(STDERR_FILENO, "it cannot be executed", CANNOT_RUN);
}

/* What is missing for a worker process, and what to do about it. */
static tc_status cannot_start(const char *what, int error, tc_error *err) {
    return tc_fail(err, TC_ENV, "cannot start a worker process: %s: %s%s", what, strerror(error), tc_child_remedy(error));
}

/* The socket to it, and the file that takes its output. */
static tc_status open_both(tc_meas_proc *p, int pair[2], tc_error *err) {
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return cannot_start("no socket can be made", errno, err);
    p->log = tc_scratch_file("tctune-worker-log");
    if (p->log >= 0) {
        fcntl(p->log, F_SETFL, O_APPEND);
        return TC_OK;
    }
    tc_status s = cannot_start("no file can be made for its output", errno, err);
    close(pair[0]);
    close(pair[1]);
    return s;
}

/* *again: the system may have room for a process a little later. */
static tc_status spawn(tc_meas_proc *p, bool *again, tc_error *err) {
    int pair[2];
    char own[PATH_MAX];
    TC_TRY(open_both(p, pair, err));
    tc_strbuf cache = {0};
    start s = {.fd = pair[1],
               .log = p->log,
               .parent = getpid(),
               .exe = program_of(p, own),
               .env = environment(&p->opt, &cache),
               .by = tc_emulated_command(p->opt.exe, p->opt.arg)};
    pid_t pid = fork();
    if (pid == 0)
        become_worker(&p->opt, &s);
    int error = errno;
    free(s.env);
    free(s.by);
    tc_strbuf_free(&cache);
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        close(p->log);
        p->log = -1;
        *again = error == EAGAIN || error == ENOMEM;
        return cannot_start("the system starts no process", error, err);
    }
    p->pid = pid;
    p->owner = s.parent;
    p->fd = pair[0];
    fcntl(p->fd, F_SETFL, O_NONBLOCK);
    p->in_len = 0;
    p->starts++;
    return TC_OK;
}

/* ---- limits ---- */

/* Seconds that it had of the processors, all threads together. 0 where the system does not tell. */
static double processor_time(const tc_meas_proc *p) {
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(p->pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return 0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void begin_request(tc_meas_proc *p, double limit) {
    p->limit = limit;
    p->waited = 0;
    p->had = processor_time(p);
    p->noted = false;
    p->share = 1;
    p->hindered = false;
    p->busy = true;
}

/* Most requests are answered before the first look, and it costs them nothing. */
static void note_time(tc_meas_proc *p, double passed) {
    p->waited += passed;
    if (!p->busy || p->noted || p->waited < look)
        return;
    p->before = tc_meas_allotted_of(p->pid);
    p->noted = true;
}

/* Its own time is up, or there is no end to waiting. Of a process that sleeps all time is its own. */
static bool is_late(tc_meas_proc *p) {
    double over = p->waited - p->limit;
    if (over <= 0)
        return false;
    tc_meas_allotted now = tc_meas_allotted_of(p->pid);
    p->share = p->noted ? tc_meas_allotted_share(&p->before, &now) : 1;
    bool had_it = p->share * p->waited > p->limit;
    p->hindered = p->share < undisturbed && (p->opt.threads > 1 || !had_it);
    if (over > MOST_GRACE * p->limit)
        return true;
    return had_it && (over > GRACE * p->limit || processor_time(p) - p->had >= p->limit / 2);
}

/* Seconds until the stop flag is looked at, or before that one of the busy ones may be late. Negative: none is busy. */
static double next_look(tc_meas_proc *const *procs, size_t n) {
    double first = -1;
    for (size_t i = 0; i < n; i++)
        if (procs[i]->busy) {
            double left = procs[i]->limit - procs[i]->waited;
            first = TC_MIN(left > 0 ? left : look, first < 0 ? look : first);
        }
    return first;
}

/* Waits for something to happen to the busy ones, no longer than until the next look; false when none is busy. The clock has gone
 * on by more when this process was suspended, which is nobody's fault. */
static bool wait_for(struct pollfd *fds, tc_meas_proc *const *procs, size_t n) {
    double seconds = next_look(procs, n), before = tc_now();
    if (seconds < 0)
        return false;
    poll(fds, n, (int)(seconds * 1000) + 1);
    double passed = tc_now() - before;
    for (size_t i = 0; i < n; i++)
        note_time(procs[i], passed < seconds + suspended ? passed : seconds);
    return true;
}

static bool take_greeting(tc_meas_proc *p) {
    tc_meas_reader r = tc_meas_reader_of(p->reply, p->reply_size);
    uint64_t version = tc_meas_get_u64(&r);
    size_t n, k;
    const char *llvm = tc_meas_get_bytes(&r, &n);
    const char *lacks = tc_meas_get_bytes(&r, &k);
    if (!tc_meas_reader_done(&r) || version != TC_MEAS_PROTOCOL)
        return false;
    snprintf(p->llvm_version, sizeof p->llvm_version, "%.*s", (int)n, llvm);
    snprintf(p->lacks, sizeof p->lacks, "%.*s", (int)k, lacks);
    return true;
}

/* It was killed, or refused memory. A process that ends by itself, or breaks the protocol, would do the same again. */
static bool was_killed(const tc_meas_death *d) {
    return d->memory || d->untold || (d->signal && !d->damaged && !d->forbidden);
}

static const char *start_remedy(const tc_meas_death *d) {
    return d->memory ? "Close other programs, raise the memory limit of this container or control group, or use fewer threads"
           : was_killed(d)                  ? "Look into the system's log for who killed it"
           : d->exit_code == CANNOT_ARRANGE ? "See to it that this process may open more files (ulimit -n) and has /dev/null"
                                            : "Check that this file is complete and executable";
}

/* tries: how often it was started. */
static tc_status cannot_greet(const tc_meas_proc *p, tc_meas_event ev, int tries, tc_error *err) {
    bool died = ev == TC_MEAS_EV_DIED;
    tc_strbuf b = {0};
    if (died)
        tc_meas_death_text(&p->death, &b);
    else
        tc_sb_add(&b, ev == TC_MEAS_EV_TIMEOUT ? "it did not answer in time" : "it answered in another protocol");
    if (died && tries > 1)
        tc_sb_printf(&b, " (the last of %d tries)", tries);
    tc_status s = tc_fail(err, TC_ENV, "the worker process %s %s could not be started: %s. %s", p->opt.exe, p->opt.arg,
                          tc_sb_str(&b), start_remedy(died ? &p->death : &(tc_meas_death){0}));
    tc_strbuf_free(&b);
    return s;
}

/* *again: it was killed, and may live the next time. */
static tc_status greet(tc_meas_proc *p, int tries, bool *again, tc_error *err) {
    tc_meas_proc *const self[] = {p};
    tc_meas_event ev;
    begin_request(p, p->opt.start_limit);
    tc_meas_proc_wait(self, 1, NULL, &ev);
    if (ev == TC_MEAS_EV_REPLY && p->reply_type == TC_MEAS_MSG_READY && take_greeting(p))
        return TC_OK;
    *again = ev == TC_MEAS_EV_DIED && was_killed(&p->death);
    tc_status s = cannot_greet(p, ev, tries, err);
    tc_meas_proc_kill(p);
    return s;
}

static tc_status try_start(tc_meas_proc *p, int tries, bool *again, tc_error *err) {
    *again = false;
    TC_TRY(spawn(p, again, err));
    return greet(p, tries, again, err);
}

tc_status tc_meas_proc_start(tc_meas_proc *p, tc_error *err) {
    if (p->pid)
        return TC_OK;
    if (!*p->opt.exe)
        return tc_fail(err, TC_ENV,
                       "there is no worker process: measuring needs the program tctune-worker of the same build, in the folder "
                       "tctune beside the library");
    for (int tries = 1;; tries++) {
        bool again;
        double pause = first_pause * (1 << (tries - 1));
        tc_error why = {0};
        if (try_start(p, tries, &again, &why) == TC_OK)
            return TC_OK;
        if (!again || tries == STARTS)
            return tc_fail(err, why.status, "%s", why.msg);
        tc_log(TC_LOG_INFO, "it is tried again in %g s: %s", pause, why.msg);
        nanosleep(&(struct timespec){.tv_sec = (time_t)pause, .tv_nsec = (long)((pause - (double)(time_t)pause) * 1e9)}, NULL);
    }
}

/* ---- ending ---- */

typedef struct ending {
    int status; /* waitpid's */
    bool killed, told;
} ending;

/* Reaps; kills first unless it is already dying, and then if it does not die. */
static ending reap(tc_meas_proc *p, bool dying) {
    ending e = {0};
    pid_t got = 0;
    for (int ms = 0; dying && ms < REAP_MS; ms += 5) {
        got = waitpid(p->pid, &e.status, WNOHANG);
        if (got != 0 && !(got < 0 && errno == EINTR))
            break;
        nanosleep(&(struct timespec){.tv_nsec = 5 * 1000 * 1000}, NULL);
    }
    e.told = got == p->pid;
    e.killed = got == 0;
    if (e.killed) {
        kill(p->pid, SIGKILL);
        e.told = tc_child_wait(p->pid, &e.status);
    }
    p->pid = 0;
    return e;
}

/* Printable, single-line, at most the last sizeof said - 1 bytes of what it wrote. */
static void last_words(tc_meas_proc *p) {
    tc_meas_death *d = &p->death;
    off_t size = lseek(p->log, 0, SEEK_END), from = TC_MAX(size - (off_t)sizeof d->said + 1, 0);
    ssize_t n = pread(p->log, d->said, sizeof d->said - 1, from);
    n = TC_MAX(n, 0);
    for (ssize_t i = 0; i < n; i++)
        if ((unsigned char)d->said[i] < ' ' || (unsigned char)d->said[i] >= 0x7f)
            d->said[i] = ' ';
    while (n > 0 && d->said[n - 1] == ' ')
        n--;
    d->said[n] = 0;
}

/* The allocators' words for a refused request; a SIGKILL that is not ours is the kernel's for want of memory. */
static bool died_of_memory(const tc_meas_death *d) {
    static const char *const signs[] = {"out of memory", "bad_alloc", "Cannot allocate memory", "cannot allocate memory",
                                        "failed to map segment" /* the loader's */};
    if (d->signal == SIGKILL)
        return true;
    for (size_t i = 0; i < TC_LEN(signs); i++)
        if (strstr(d->said, signs[i]))
            return true;
    return false;
}

static void release(tc_meas_proc *p) {
    close(p->fd);
    close(p->log);
    p->fd = p->log = -1;
    p->in_len = 0;
    p->busy = false;
}

/* A process that was forked off has a copy of the handle. The worker is its parent's, and goes on. */
static bool is_another_process(const tc_meas_proc *p) {
    return p->pid && p->owner != getpid();
}

static void forget(tc_meas_proc *p) {
    release(p);
    p->pid = 0;
}

/* One that lives on without its socket has closed it. */
static void autopsy(tc_meas_proc *p) {
    ending e = reap(p, true);
    p->death = (tc_meas_death){.signal = WIFSIGNALED(e.status) ? WTERMSIG(e.status) : 0,
                               .exit_code = WIFEXITED(e.status) ? WEXITSTATUS(e.status) : 0,
                               .damaged = e.killed,
                               .untold = !e.killed && !e.told};
    last_words(p);
    p->death.memory = !e.killed && died_of_memory(&p->death);
    p->death.forbidden = p->death.signal == SIGSYS;
    release(p);
}

void tc_meas_proc_kill(tc_meas_proc *p) {
    if (!p->pid)
        return;
    if (is_another_process(p)) {
        forget(p);
        return;
    }
    p->death = (tc_meas_death){.signal = SIGKILL};
    last_words(p);
    reap(p, false);
    release(p);
}

void tc_meas_proc_close(tc_meas_proc *p) {
    tc_meas_proc_kill(p);
    free(p->reply);
    free(p->in);
    p->reply = p->in = NULL;
}

void tc_meas_death_text(const tc_meas_death *d, tc_strbuf *b) {
    if (d->damaged)
        tc_sb_add(b, "it broke the worker protocol");
    else if (d->crowd)
        tc_sb_add(b, "it started too many threads");
    else if (d->forbidden)
        tc_sb_printf(b, "it made a system call that workers may not make (signal %d, %s)", d->signal, strsignal(d->signal));
    else if (d->signal == SIGXCPU)
        tc_sb_add(b, "it used up the CPU time that a process may have (ulimit -t)");
    else if (d->signal)
        tc_sb_printf(b, "killed by signal %d (%s)", d->signal, strsignal(d->signal));
    else if (d->untold)
        tc_sb_add(b, "it ended, and nothing tells how: this program ignores SIGCHLD, or waits for every child itself");
    else
        tc_sb_printf(b, "exited with status %d", d->exit_code);
    if (d->memory)
        tc_sb_add(b, " because memory ran out");
    if (d->said[0])
        tc_sb_printf(b, ": %s", d->said);
}

/* ---- requests and answers ---- */

static bool send_all(tc_meas_proc *p, const void *data, size_t n) {
    for (const char *c = data; n > 0;) {
        ssize_t k = send(p->fd, c, n, MSG_NOSIGNAL);
        if (k >= 0) {
            c += k;
            n -= (size_t)k;
        } else if (errno == EAGAIN) {
            if (is_late(p))
                return false;
            wait_for(&(struct pollfd){p->fd, POLLOUT, 0}, &p, 1);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* An idle process has nothing to say: if its socket is readable, it has died (killed for memory, say) or
 * breaks the protocol. After a fork, workers of the parent process are left to the parent. */
static void replace_if_dead(tc_meas_proc *p) {
    struct pollfd fd = {p->fd, POLLIN, 0};
    if (p->pid && (is_another_process(p) || poll(&fd, 1, 0) > 0))
        tc_meas_proc_kill(p);
}

tc_status tc_meas_proc_send(tc_meas_proc *p, tc_meas_msg type, const void *payload, size_t n, double seconds, tc_error *err) {
    replace_if_dead(p);
    TC_TRY(tc_meas_proc_start(p, err));
    tc_meas_frame f = {TC_MEAS_FRAME_MAGIC, type, n};
    free(p->reply);
    p->reply = NULL;
    begin_request(p, seconds);
    if (send_all(p, &f, sizeof f))
        (void)send_all(p, payload, n); /* a failure shows as death or timeout in the wait that follows */
    return TC_OK;
}

/* There is no memory for the answer: the call is ending, and nobody will ask why the process did. */
static bool give_up(tc_meas_proc *p, tc_meas_event *ev) {
    tc_meas_proc_kill(p);
    *ev = TC_MEAS_EV_DIED;
    return true;
}

/* Takes the answer out of the input; true when it is there. A damaged one kills the process. */
static bool complete(tc_meas_proc *p, tc_meas_event *ev) {
    tc_meas_frame f;
    if (p->in_len < sizeof f)
        return false;
    memcpy(&f, p->in, sizeof f);
    if (tc_meas_check_frame(&f, true, NULL) != TC_OK || p->in_len > sizeof f + f.size) {
        tc_meas_proc_kill(p);
        p->death.damaged = true;
        *ev = TC_MEAS_EV_DIED;
        return true;
    }
    if (p->in_len < sizeof f + f.size)
        return false;
    free(p->reply);
    p->reply_size = (size_t)f.size;
    p->reply = tc_try_malloc(p->reply_size + 1);
    if (!p->reply)
        return give_up(p, ev);
    memcpy(p->reply, p->in + sizeof f, p->reply_size);
    p->reply[p->reply_size] = 0;
    p->reply_type = (tc_meas_msg)f.type;
    p->in_len = 0;
    p->busy = false;
    *ev = TC_MEAS_EV_REPLY;
    return true;
}

/* Reads what is there; true when something happened. */
static bool receive(tc_meas_proc *p, tc_meas_event *ev) {
    for (;;) {
        if (p->in_cap - p->in_len < 65536) {
            size_t cap = 2 * p->in_cap + 131072;
            char *in = tc_try_grow(p->in, cap);
            if (!in)
                return give_up(p, ev);
            p->in = in;
            p->in_cap = cap;
        }
        ssize_t k = recv(p->fd, p->in + p->in_len, p->in_cap - p->in_len, 0);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0 && errno == EAGAIN)
            return false;
        if (k <= 0) {
            autopsy(p);
            *ev = TC_MEAS_EV_DIED;
            return true;
        }
        p->in_len += (size_t)k;
        if (complete(p, ev))
            return true;
    }
}

static void watch(tc_meas_proc *const *procs, size_t n, struct pollfd *fds) {
    for (size_t i = 0; i < n; i++)
        fds[i] = (struct pollfd){procs[i]->busy ? procs[i]->fd : -1, POLLIN, 0};
}

/* The kernel bounds the threads of a user, not those of a process: so they are counted, as often as the stop flag is looked at. */
static bool is_crowd(const tc_meas_proc *p) {
    char path[48];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/task", (int)p->pid);
    return stat(path, &st) == 0 && st.st_nlink > 2 + SPARE_THREADS + 2 * (nlink_t)p->opt.threads;
}

/* Ends the process where it is late or has become a crowd; true when it did. */
static bool overdone(tc_meas_proc *p, tc_meas_event *ev) {
    bool late = is_late(p), crowd = !late && is_crowd(p);
    if (!late && !crowd)
        return false;
    tc_meas_proc_kill(p);
    p->death.crowd = crowd;
    *ev = late ? TC_MEAS_EV_TIMEOUT : TC_MEAS_EV_DIED;
    return true;
}

int tc_meas_proc_wait(tc_meas_proc *const *procs, size_t n, const volatile sig_atomic_t *stop, tc_meas_event *ev) {
    struct pollfd *fds = tc_xcalloc(n ? n : 1, sizeof *fds);
    int found = -1;
    *ev = TC_MEAS_EV_NONE;
    while (found < 0 && !tc_is_raised(stop)) {
        watch(procs, n, fds);
        if (!wait_for(fds, procs, n))
            break;
        for (size_t i = 0; i < n && found < 0; i++)
            if (fds[i].revents && receive(procs[i], ev))
                found = (int)i;
        for (size_t i = 0; i < n && found < 0; i++)
            if (procs[i]->busy && overdone(procs[i], ev))
                found = (int)i;
    }
    free(fds);
    return found;
}
