/* Hostile machine code in workers: each attack must end as a record of its kind, and nothing outside of the worker may show a
 * trace of it. The object that attacks.c was compiled to stands in for what a builder makes: the test's own builder (worker.c)
 * hands it out, and the real worker runs it.
 *   hostile_code [--cases N] [--seed S]    every attack once, then so many of random calls and random writes */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attacks.h"
#include "measure/measure.h"
#include "measure/process/process.h"
#include "measure/worker/worker.h"
#include "support/log.h"
#include "support/rng.h"
#include "support/system/fs.h"
#include "support/vec.h"
#include "worker.h"

#define KERNEL "tensor X[100] f32\ncompute Y[i:100] = X[i] + 1.0\noutput Y\n"

typedef enum ending { MEASURED, KILLED, REFUSED_, CRASHED, LATE, WRONG, FAILED, SPENT, ANYHOW } ending;

static const struct {
    const char *name;
    ending ends;
} ATTACKS[] = {
#define ATTACK(id, ends) {#id, ends},
#include "attacks.def"
#undef ATTACK
};

#ifdef TCTUNE_SANITIZED
enum { BOUNDLESS = 1 }; /* a sanitizer's shadow is larger than any limit of memory */
#else
enum { BOUNDLESS = 0 };
#endif
static const uint64_t MEMORY = 768 << 20; /* of all workers: the runner has two thirds */

/* ---- what must not change ---- */

typedef struct scene {
    char *folder;
    char object[PATH_MAX];
    orders o;
    int tcp, local; /* sockets that nobody is to reach */
    pid_t bystander;
    tc_meas *m;
    tc_arena *a;
    tc_rng r;
    char *code; /* of attacks.c */
    size_t size, mark;
    int cases, by_error[TC_MEAS_NERRORS];
} scene;

static volatile sig_atomic_t signals;

static void count_signal(int signal) {
    (void)signal;
    signals++;
}

static void fail(const scene *s, const char *what) {
    fprintf(stderr, "hostile_code: case %d, attack %s, seed %lld: %s\n", s->cases, ATTACKS[s->o.attack].name,
            (long long)s->o.seed, what);
    if (s->bystander > 0)
        kill(s->bystander, SIGKILL);
    exit(1);
}

static void need(const scene *s, bool ok, const char *what) {
    if (!ok)
        fail(s, what);
}

static int listen_tcp(scene *s) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    need(s, bind(fd, (struct sockaddr *)&at, n) == 0 && listen(fd, 1) == 0, "cannot listen");
    getsockname(fd, (struct sockaddr *)&at, &n);
    s->o.port = ntohs(at.sin_port);
    return fd;
}

static int listen_abstract(const scene *s) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "%s", s->o.socket);
    socklen_t n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(at.sun_path + 1));
    need(s, bind(fd, (struct sockaddr *)&at, n) == 0 && listen(fd, 1) == 0, "cannot listen");
    return fd;
}

static void stand_by(scene *s) {
    s->bystander = fork();
    if (s->bystander == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
}

static bool is_quiet(int fd) {
    return accept(fd, NULL, NULL) < 0 && errno == EAGAIN;
}

static void check_files(const scene *s) {
    struct stat st;
    char *text = NULL;
    bool whole = tc_fs_read(s->o.canary, &text, NULL, NULL) == TC_OK && strcmp(text, "sings") == 0;
    free(text);
    need(s, whole && stat(s->o.canary, &st) == 0 && (st.st_mode & 0777) == 0600, "the file changed");
    need(s, !tc_fs_exists(s->o.beside), "there is a new file");
}

static void check_processes(const scene *s) {
    struct rlimit files;
    cpu_set_t cores;
    int status;
    need(s, waitpid(-1, &status, WNOHANG) == 0, "a process was left, or the bystander is dead");
    need(s, getpriority(PRIO_PROCESS, 0) < 19 && getpriority(PRIO_PROCESS, (id_t)s->bystander) < 19, "a process was slowed down");
    need(s, getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur > 3, "the tuner's limits changed");
    need(s, sched_getaffinity(0, sizeof cores, &cores) == 0, "no affinity");
    need(s, CPU_COUNT(&cores) == (int)sysconf(_SC_NPROCESSORS_ONLN) || getenv("TCTUNE_HOSTILE_BOUND"), "the tuner was bound");
}

static void check_memory(const scene *s) {
#ifndef TCTUNE_SANITIZED
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    need(s, (uint64_t)u.ru_maxrss * 1024 < MEMORY, "a worker had more memory than all are to have");
#else
    (void)s;
#endif
}

static void check_world(const scene *s) {
    need(s, signals == 0, "a signal came");
    need(s, is_quiet(s->tcp) && is_quiet(s->local), "a connection came");
    check_files(s);
    check_processes(s);
    check_memory(s);
}

/* ---- cases ---- */

/* What must come is waited for, on a machine however busy. */
static void open_measurement(scene *s, ending e) {
    static const double patience = 600, short_time = 1;
    bool may_be_late = e == LATE || e == FAILED || e == ANYHOW;
    tc_error err = {0};
    tc_meas_options o = {.target = "native",
                         .threads = 2,
                         .builders = 1,
                         .samples = 1,
                         .min_sample = 1e-5,
                         .budget = 0.01,
                         .run_limit = may_be_late ? short_time : patience,
                         .memory_limit = MEMORY};
    if (tc_meas_new(&o, &s->m, &err) != TC_OK)
        fail(s, err.msg);
}

static void write_object(scene *s) {
    tc_error err = {0};
    memcpy(s->code + s->mark, &s->o, sizeof s->o);
    if (tc_fs_write(s->object, s->code, s->size, &err) != TC_OK)
        fail(s, err.msg);
}

static tc_record run_case(scene *s, int attack, int64_t seed) {
    tc_error err = {0};
    tc_record r;
    tc_meas_input in = {.workload = KERNEL, .trace = "", .again = true, .workload_hash = tc_meas_text_hash(KERNEL)};
    s->o.attack = attack;
    s->o.seed = seed;
    write_object(s);
    tc_arena_reset(s->a);
    if (tc_meas_batch(s->m, &in, 1, s->a, &r, NULL, NULL, &err) != TC_OK)
        fail(s, err.msg);
    s->cases++;
    s->by_error[r.error]++;
    return r;
}

static bool is_of(const tc_record *r, ending e) {
    tc_meas_error k = r->error;
#ifdef TCTUNE_SANITIZED
    bool reported = k == TC_MEAS_RUN_CRASH || k == TC_MEAS_RUN_FORBIDDEN; /* a sanitizer ends what it finds in its own ways */
#else
    bool reported = false;
#endif
    switch (e) {
    case MEASURED:
        return k == TC_MEAS_NONE && r->verified;
    case KILLED:
        return k == TC_MEAS_RUN_FORBIDDEN || reported;
    case REFUSED_:
        return k == TC_MEAS_RUN_FAILED && strstr(r->message, "status 13");
    case CRASHED:
        return k == TC_MEAS_RUN_CRASH || reported;
    case LATE:
        return k == TC_MEAS_RUN_TIMEOUT || k == TC_MEAS_RUN_LATE || reported;
    case WRONG:
        return k == TC_MEAS_WRONG_RESULT || reported;
    case FAILED:
        return k != TC_MEAS_NONE && k != TC_MEAS_DUPLICATE && !strstr(r->message, "status 77");
    case SPENT:
        return k == TC_MEAS_RUN_MEMORY || k == TC_MEAS_RUN_TIMEOUT || k == TC_MEAS_RUN_LATE ||
               (k == TC_MEAS_RUN_FAILED && strstr(r->message, "status 13")) || reported;
    case ANYHOW:
        return true;
    }
    return false;
}

static void check_case(scene *s, int attack, int64_t seed) {
    open_measurement(s, ATTACKS[attack].ends);
    tc_record r = run_case(s, attack, seed);
    char why[1024];
    snprintf(why, sizeof why, "ended as %s: %s", tc_meas_error_text(r.error), r.message);
    need(s, is_of(&r, ATTACKS[attack].ends), why);
    tc_meas_free(s->m); /* with its processes: whoever is left is none of them */
    check_world(s);
}

/* ---- the scene ---- */

static void name_files(scene *s) {
    int n = snprintf(s->o.beside, sizeof s->o.beside, "%s/canary.new", s->folder);
    need(s, n > 0 && n < (int)sizeof s->o.beside, "the path of temporary files is too long");
    snprintf(s->o.canary, sizeof s->o.canary, "%s/canary", s->folder);
    snprintf(s->object, sizeof s->object, "%s/object.o", s->folder);
    snprintf(s->o.socket, sizeof s->o.socket, "tctune-hostile-%d", (int)getpid());
}

static void begin(scene *s, uint64_t seed) {
    tc_error err = {0};
    *s = (scene){.o = {.mark = ORDERS_MARK, .tuner = getpid()}, .a = tc_arena_new(), .r = tc_rng_seed(seed)};
    if (tc_fs_temp_dir(&s->folder, &err) != TC_OK || tc_fs_read(HOSTILE_OBJECT, &s->code, &s->size, &err) != TC_OK)
        fail(s, err.msg);
    const char *mark = memmem(s->code, s->size, ORDERS_MARK, sizeof s->o.mark);
    need(s, mark != NULL, "the object has no place for orders");
    s->mark = (size_t)(mark - s->code);
    name_files(s);
    need(s, tc_fs_write(s->o.canary, "sings", 5, &err) == TC_OK && chmod(s->o.canary, 0600) == 0, "no canary");
    setenv(OBJECT_ENV, s->object, 1);
    setenv("TCTUNE_CACHE", s->folder, 1); /* what builders have and runners have not */
    setenv("A_SECRET", "told", 1);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* orphans become ours */
    signal(SIGUSR1, count_signal);
    signal(SIGIO, count_signal);
    s->tcp = listen_tcp(s);
    s->local = listen_abstract(s);
    stand_by(s);
}

static void end(scene *s) {
    kill(s->bystander, SIGKILL);
    waitpid(s->bystander, NULL, 0);
    close(s->tcp);
    close(s->local);
    tc_fs_remove_tree(s->folder);
    free(s->folder);
    free(s->code);
    tc_arena_free(s->a);
}

static void report(const scene *s, uint64_t seed) {
    printf("hostile code: seed %llu, %d attacks, %d cases, all contained:", (unsigned long long)seed, NATTACKS, s->cases);
    for (int e = 0; e < TC_MEAS_NERRORS; e++)
        if (s->by_error[e])
            printf(" %d %s", s->by_error[e], tc_meas_error_text((tc_meas_error)e));
    printf("\n");
}

/* ---- the command ---- */

static bool read_number(const char *text, unsigned long long *out) {
    char *rest;
    *out = strtoull(text, &rest, 10);
    return *text && !*rest;
}

static int usage(void) {
    fprintf(stderr, "usage: hostile_code [--cases N] [--seed S]\n");
    return 2;
}

int main(int argc, char **argv) {
    static const int dice[] = {ATTACK_any_call, ATTACK_many_calls, ATTACK_write_anywhere, ATTACK_garbage};
    unsigned long long cases = 20, seed = 1;
    scene s;
    if (argc == 2 && strcmp(argv[1], "worker") == 0)
        return tc_meas_worker_main(TC_MEAS_WORKER_FD, TC_MEAS_WORKER_FD);
    tc_meas_worker_use(HOSTILE_WORKER);
    for (int i = 1; i < argc; i += 2) {
        unsigned long long *to = strcmp(argv[i], "--cases") == 0 ? &cases : strcmp(argv[i], "--seed") == 0 ? &seed : NULL;
        if (!to || i + 1 == argc || !read_number(argv[i + 1], to))
            return usage();
    }
    tc_log_set_level(TC_LOG_WARN);
    begin(&s, seed);
    for (int i = 0; i < NATTACKS; i++)
        if (!BOUNDLESS || ATTACKS[i].ends != SPENT)
            check_case(&s, i, (int64_t)tc_rng_next(&s.r));
    for (unsigned long long i = 0; i < cases; i++)
        check_case(&s, dice[i % TC_LEN(dice)], (int64_t)tc_rng_next(&s.r));
    check_case(&s, ATTACK_none, 0);
    end(&s);
    report(&s, seed);
    return 0;
}
