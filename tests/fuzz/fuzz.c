/* Damages valid inputs and has them read: models (imported, optimised, fused, lowered, and where small also built and run), kernels
 * (.te), schedules (.sched, replayed and lowered) and records (.jsonl). Whatever the damage, the end is a result or a message; a
 * crash, a leak, an endless loop or unbounded memory is a failure, and its input is kept.
 *
 *   fuzz [--minutes M] [--inputs N] [--seed S] [--failures DIR] [--slow T] CORPUS...      files, or folders that are searched
 *   fuzz --replay FILE                                                                   one input as it is
 *
 * --slow also keeps, as no failures, the inputs that take more than T seconds of the processor.
 *
 * Inputs run in batches, each in a forked process: this one reads files only. Input i has the seed S + i. Before an input is
 * read, it is written to DIR/current-PID.EXT, which is renamed when it proves to be a failure. */

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mutate.h"
#include "support/fs.h"
#include "support/vec.h"
#include "targets.h"

/* Sanitizers take several times as long for what the verifier proves by trying all values. */
#ifdef TCTUNE_SANITIZED
enum { SECONDS_PER_INPUT = 100 };
#else
enum { SECONDS_PER_INPUT = 20 };
#endif
enum { BATCH = 100, MINUTES_ASLEEP = 5, MAX_DEPTH = 6, MAX_BYTES = 1 << 20, LEAKED = 98 };
/* Without a sanitizer, whose shadow takes all addresses; with one, run sets its own limits. */
#define ADDRESS_SPACE ((rlim_t)6 << 30)

#ifdef TCTUNE_SANITIZED
int __lsan_do_recoverable_leak_check(void);
static bool leaks(void) {
    return __lsan_do_recoverable_leak_check() != 0;
}
#else
static bool leaks(void) {
    return false;
}
#endif

typedef struct seed_file {
    char *path;
    fuzz_kind kind;
} seed_file;

typedef struct fuzzer {
    TC_VEC(seed_file) corpus;
    const char *failures;
    char current[512];
    uint64_t seed;
    int64_t inputs;
    double minutes, slow;
    int found;
} fuzzer;

static double seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- corpus ---- */

static void add_corpus(fuzzer *f, const char *path, int depth) {
    struct stat st;
    if (stat(path, &st) != 0) {
        fprintf(stderr, "fuzz: %s: %s\n", path, strerror(errno));
        exit(2);
    }
    if (!S_ISDIR(st.st_mode)) {
        fuzz_kind kind;
        if (st.st_size > 0 && st.st_size <= MAX_BYTES && fuzz_kind_of(path, &kind))
            tc_push(&f->corpus, ((seed_file){tc_xstrdup(path), kind}));
        return;
    }
    struct dirent **names;
    int n = depth ? scandir(path, &names, NULL, alphasort) : 0;
    for (int i = 0; i < n; i++) {
        char sub[4096];
        if (names[i]->d_name[0] != '.' && snprintf(sub, sizeof sub, "%s/%s", path, names[i]->d_name) < (int)sizeof sub)
            add_corpus(f, sub, depth - 1);
        free(names[i]);
    }
    if (n > 0)
        free(names);
}

/* A file of a kind, each kind as often as its weight says. */
static const seed_file *choose(const fuzzer *f, tc_rng *r) {
    for (int tries = 0; tries < 1000; tries++) {
        const seed_file *s = &f->corpus.data[tc_rng_below(r, (int64_t)f->corpus.len)];
        if (tc_rng_below(r, 8) < fuzz_weight(s->kind))
            return s;
    }
    return &f->corpus.data[0];
}

/* ---- one input ---- */

static void damage(const seed_file *s, tc_rng *r, const char *data, size_t size, tc_strbuf *out) {
    if (s->kind != FUZZ_MODEL) {
        fuzz_damage_text(r, data, size, out);
        return;
    }
    tc_arena *a = tc_arena_new();
    tc_strbuf changed = {0};
    bool structure = tc_rng_below(r, 4) && fuzz_damage_model(a, r, data, size, &changed);
    if (structure && tc_rng_below(r, 6))
        tc_sb_addn(out, changed.data, changed.len);
    else if (structure)
        fuzz_damage_bytes(r, changed.data, changed.len, out);
    else
        fuzz_damage_bytes(r, data, size, out);
    tc_strbuf_free(&changed);
    tc_arena_free(a);
}

/* Of the processor, so that a loaded machine makes no hangs; and of the clock, for what sleeps. */
static void limit_time(bool on) {
    struct itimerval t = {.it_value.tv_sec = on ? SECONDS_PER_INPUT : 0};
    setitimer(ITIMER_VIRTUAL, &t, NULL);
    alarm(on ? 60 * MINUTES_ASLEEP : 0);
}

/* Gives an input its last name. A leak's input has been read to its end and is gone: it is made again by its seed. */
static void keep(const fuzzer *f, const char *what, uint64_t seed, pid_t pid) {
    for (int k = 0; k < FUZZ_NKINDS; k++) {
        char from[512], to[512];
        snprintf(from, sizeof from, "%s/current-%d%s", f->failures, (int)pid, fuzz_extension((fuzz_kind)k));
        snprintf(to, sizeof to, "%s/%s-%" PRIu64 "%s", f->failures, what, seed, fuzz_extension((fuzz_kind)k));
        if (rename(from, to) == 0)
            printf("%s: %s (seed %" PRIu64 ")\n", what, to, seed);
    }
    fflush(stdout);
}

static void run_input(fuzzer *f, uint64_t seed) {
    tc_rng r = tc_rng_seed(seed);
    const seed_file *s = choose(f, &r);
    char *data;
    size_t size;
    tc_error err;
    if (tc_fs_read(s->path, &data, &size, &err) != TC_OK) {
        fprintf(stderr, "fuzz: %s\n", err.msg);
        _exit(2);
    }
    tc_strbuf bytes = {0};
    damage(s, &r, data, size, &bytes);
    free(data);
    snprintf(f->current, sizeof f->current, "%s/current-%d%s", f->failures, (int)getpid(), fuzz_extension(s->kind));
    FILE *out = fopen(f->current, "wb");
    if (!out || fwrite(tc_sb_str(&bytes), 1, bytes.len, out) != bytes.len || fclose(out) != 0) {
        fprintf(stderr, "fuzz: %s: %s\n", f->current, strerror(errno));
        _exit(2);
    }
    tc_strbuf_free(&bytes);
    limit_time(true);
    double start = seconds(CLOCK_PROCESS_CPUTIME_ID);
    fuzz_read(s->kind, f->current, s->path, &r);
    double took = seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
    limit_time(false);
    if (f->slow > 0 && took > f->slow) {
        printf("%.1f s: ", took);
        keep(f, "slow", seed, getpid());
    }
    remove(f->current);
}

/* ---- batches ---- */

/* Runs inputs [from, to) in a process of its own. Its progress comes through a pipe, a seed before each input. Returns how it
 * ended, and the seed that it ended in. */
static int batch(fuzzer *f, uint64_t from, uint64_t to, bool check_each, uint64_t *last, pid_t *pid) {
    int ends[2], status = 0;
    if (pipe(ends) != 0)
        exit(2);
    fflush(stdout);
    *pid = fork();
    if (*pid == 0) {
        close(ends[0]);
        for (uint64_t s = from; s < to; s++) {
            if (write(ends[1], &s, sizeof s) != sizeof s)
                _exit(2);
            run_input(f, s);
            if (check_each && leaks())
                _exit(LEAKED);
        }
        _exit(leaks() ? LEAKED : 0);
    }
    close(ends[1]);
    *last = from;
    while (read(ends[0], last, sizeof *last) == sizeof *last)
        ;
    close(ends[0]);
    while (waitpid(*pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static const char *what(int status) {
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGVTALRM ? "hang" : "crash";
    return WEXITSTATUS(status) == LEAKED ? "leak" : "error";
}

static void fuzz(fuzzer *f) {
    double start = seconds(CLOCK_MONOTONIC), end = f->minutes > 0 ? start + 60 * f->minutes : INFINITY;
    uint64_t s = f->seed, stop = f->inputs > 0 ? s + (uint64_t)f->inputs : UINT64_MAX, last;
    pid_t pid;
    while (s < stop && seconds(CLOCK_MONOTONIC) < end) {
        uint64_t to = stop - s < BATCH ? stop : s + BATCH;
        int status = batch(f, s, to, false, &last, &pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) == LEAKED)
            status = batch(f, s, to, true, &last, &pid);
        if (status == 0) {
            s = to;
            continue;
        }
        f->found++;
        keep(f, what(status), last, pid);
        printf("%s with seed %" PRIu64 ": again with --seed %" PRIu64 " --inputs 1\n", what(status), last, last);
        s = last + 1;
    }
    printf("fuzz: seeds %" PRIu64 " to %" PRIu64 ", %zu files, %.1f minutes: %d failures\n", f->seed, s - 1, f->corpus.len,
           (seconds(CLOCK_MONOTONIC) - start) / 60, f->found);
}

/* ---- */

static int replay(const char *path) {
    fuzz_kind kind;
    tc_rng r = tc_rng_seed(1);
    if (!fuzz_kind_of(path, &kind)) {
        fprintf(stderr, "fuzz: %s: what kind it is must be said by its extension\n", path);
        return 2;
    }
    fuzz_read(kind, path, path, &r);
    printf("%s: read\n", path);
    return 0;
}

static int usage(void) {
    fprintf(stderr, "usage: fuzz [--minutes M] [--inputs N] [--seed S] [--failures DIR] [--slow T] CORPUS... | --replay FILE\n");
    return 2;
}

int main(int argc, char **argv) {
    fuzzer f = {.failures = ".", .seed = 1};
    for (int i = 1; i < argc; i++) {
        bool value = i + 1 < argc;
        if (strncmp(argv[i], "--", 2) != 0)
            add_corpus(&f, argv[i], MAX_DEPTH);
        else if (!value)
            return usage();
        else if (strcmp(argv[i], "--replay") == 0)
            return replay(argv[i + 1]);
        else if (strcmp(argv[i], "--minutes") == 0)
            f.minutes = atof(argv[++i]);
        else if (strcmp(argv[i], "--slow") == 0)
            f.slow = atof(argv[++i]);
        else if (strcmp(argv[i], "--inputs") == 0)
            f.inputs = atoll(argv[++i]);
        else if (strcmp(argv[i], "--seed") == 0)
            f.seed = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--failures") == 0)
            f.failures = argv[++i];
        else
            return usage();
    }
    if (f.corpus.len == 0 || (f.minutes <= 0 && f.inputs <= 0))
        return usage();
#ifndef TCTUNE_SANITIZED
    setrlimit(RLIMIT_AS, &(struct rlimit){ADDRESS_SPACE, ADDRESS_SPACE});
#endif
    mkdir(f.failures, 0777);
    fuzz(&f);
    for (size_t i = 0; i < f.corpus.len; i++)
        free(f.corpus.data[i].path);
    tc_vec_free(&f.corpus);
    return f.found ? 1 : 0;
}
