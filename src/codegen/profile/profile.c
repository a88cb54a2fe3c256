/* The profile that a built library prints of itself where the environment asks for it. This file is compiled on its own and
 * becomes part of every library for this architecture: it needs the C library, and nothing of tctune.
 *
 *     TCTUNE_PROFILE=1      a table on stderr when the process ends, or the library is closed
 *     TCTUNE_PROFILE=N      the same, and after every N runs (N from 2)
 *     TCTUNE_PROFILE=FILE   JSON, in FILE when the process ends; in its name %p is the process, %n the library
 *
 * The library's entry point looks at tc_profile_wanted, once a run. A run that somebody else watches already is not counted. A
 * child of fork begins anew. */
#include <inttypes.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* What library.h says of a context's head. */
typedef struct context {
    void (*step)(void *user, int32_t step);
    void *user;
} context;

/* As profile.h has it. */
typedef struct row {
    const char *name, *schedule;
    double flops; /* of one call; 0: not counted */
} row;
typedef struct model {
    const char *name;
    int32_t nrow, nstep;
    const row *rows;
    const int32_t *row_of; /* by step */
} model;

typedef int32_t runs(context *c, const void *const *inputs, void *const *outputs);

HIDDEN int32_t tc_profile_wanted;
HIDDEN int32_t tc_profile_run(const model *m, context *c, const void *const *inputs, void *const *outputs, runs *run);

typedef struct total {
    double seconds;
    int64_t calls;
} total;

/* Of all runs. */
static struct {
    const model *of;
    char *file; /* NULL: a table */
    int64_t every, nrun;
    pid_t process;
    double seconds, fastest;
    total *rows;
} all;
static int locked;

static void lock(void) {
    while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE))
        ;
}

static void unlock(void) {
    __atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- reports ---- */

static int by_time(const void *a, const void *b) {
    double x = all.rows[*(const int32_t *)a].seconds, y = all.rows[*(const int32_t *)b].seconds;
    return x < y ? 1 : x > y ? -1 : *(const int32_t *)a - *(const int32_t *)b;
}

static double rate(const row *r, const total *t) {
    return t->seconds > 0 ? r->flops * (double)t->calls / t->seconds / 1e9 : 0;
}

static void print_row(FILE *f, const row *r, const total *t) {
    fprintf(f, "  %5.1f %%  %10.3f  %10.1f  %9.1f", 100 * t->seconds / (all.seconds > 0 ? all.seconds : 1),
            1e3 * t->seconds / (double)all.nrun, (double)t->calls / (double)all.nrun, 1e6 * t->seconds / (double)t->calls);
    if (r->flops > 0)
        fprintf(f, "  %8.1f", rate(r, t));
    else
        fprintf(f, "  %8s", "-");
    fprintf(f, "  %s (%s)\n", r->name, r->schedule);
}

static void print_table(FILE *f) {
    const model *m = all.of;
    int32_t *order = malloc(sizeof *order * ((size_t)m->nrow + 1));
    fprintf(f, "%s: %" PRId64 " runs of %.3f ms (mean; the fastest %.3f ms)\n", m->name, all.nrun,
            1e3 * all.seconds / (double)all.nrun, 1e3 * all.fastest);
    fprintf(f, "    share  ms of a run       calls    us each   GFLOP/s  kernel\n");
    for (int32_t i = 0; i < m->nrow && order; i++)
        order[i] = i;
    if (order)
        qsort(order, (size_t)m->nrow, sizeof *order, by_time);
    for (int32_t i = 0; i < m->nrow; i++) {
        int32_t k = order ? order[i] : i;
        if (all.rows[k].calls)
            print_row(f, &m->rows[k], &all.rows[k]);
    }
    free(order);
}

static void print_text(FILE *f, const char *s) {
    fputc('"', f);
    for (; *s; s++)
        if (*s == '"' || *s == '\\')
            fprintf(f, "\\%c", *s);
        else if ((unsigned char)*s < 0x20)
            fprintf(f, "\\u%04x", (unsigned)(unsigned char)*s);
        else
            fputc(*s, f);
    fputc('"', f);
}

/* The program may have set a locale whose decimal point is a comma, which JSON has not. */
static void print_json(FILE *f) {
    const model *m = all.of;
    locale_t before = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    fprintf(f, "{\"library\": ");
    print_text(f, m->name);
    fprintf(f, ", \"runs\": %" PRId64 ", \"seconds\": %.9g, \"fastest\": %.9g, \"kernels\": [", all.nrun, all.seconds,
            all.fastest);
    for (int32_t i = 0; i < m->nrow; i++) {
        fprintf(f, "%s\n  {\"name\": ", i ? "," : "");
        print_text(f, m->rows[i].name);
        fprintf(f, ", \"schedule\": ");
        print_text(f, m->rows[i].schedule);
        fprintf(f, ", \"calls\": %" PRId64 ", \"seconds\": %.9g, \"flops\": %.17g}", all.rows[i].calls, all.rows[i].seconds,
                m->rows[i].flops);
    }
    fprintf(f, "\n]}\n");
    uselocale(before);
}

/* The file's name with what %p and %n stand for. */
static char *file_name(void) {
    size_t n = strlen(all.of->name), most = strlen(all.file) * (n + 24) + 1, at = 0;
    char *path = malloc(most);
    for (const char *s = all.file; path && *s; s++)
        if (s[0] == '%' && s[1] == 'p')
            at += (size_t)snprintf(path + at, most - at, "%ld", (long)getpid()), s++;
        else if (s[0] == '%' && s[1] == 'n')
            at += (size_t)snprintf(path + at, most - at, "%s", all.of->name), s++;
        else
            path[at++] = *s;
    if (path)
        path[at] = 0;
    return path;
}

static void write_json(void) {
    char *path = file_name();
    FILE *f = path ? fopen(path, "we") : NULL;
    if (f)
        print_json(f);
    if (!f || fclose(f) != 0) {
        fprintf(stderr, "TCTUNE_PROFILE: %s could not be written; the profile follows here\n", path ? path : all.file);
        print_json(stderr);
    }
    free(path);
}

/* ---- runs ---- */

typedef struct watch {
    const model *m;
    double since;
    total rows[];
} watch;

static void on_step(void *user, int32_t step) {
    watch *w = user;
    double t = now();
    if (step >= 0 && step < w->m->nstep) {
        total *r = &w->rows[w->m->row_of[step]];
        r->seconds += t - w->since;
        r->calls++;
    }
    w->since = now();
}

/* No memory for a profile: the run is watched by nobody. */
static void ignore(void *user, int32_t step) {
    (void)user, (void)step;
}

/* With the lock. A child of fork has its parent's sums. */
static int has_begun(const model *m) {
    if (all.process != getpid()) {
        all.process = getpid();
        all.nrun = 0;
        all.seconds = 0;
        if (all.rows)
            memset(all.rows, 0, (size_t)m->nrow * sizeof *all.rows);
    }
    all.of = m;
    if (!all.rows)
        all.rows = calloc((size_t)m->nrow + 1, sizeof *all.rows);
    return all.rows != NULL;
}

static void add(const watch *w, double seconds) {
    lock();
    if (has_begun(w->m)) {
        all.fastest = all.nrun++ && all.fastest < seconds ? all.fastest : seconds;
        all.seconds += seconds;
        for (int32_t i = 0; i < w->m->nrow; i++) {
            all.rows[i].seconds += w->rows[i].seconds;
            all.rows[i].calls += w->rows[i].calls;
        }
        if (all.every && all.nrun % all.every == 0)
            print_table(stderr);
    }
    unlock();
}

int32_t tc_profile_run(const model *m, context *c, const void *const *inputs, void *const *outputs, runs *run) {
    watch *w = calloc(1, sizeof *w + ((size_t)m->nrow + 1) * sizeof *w->rows);
    c->step = w ? on_step : ignore;
    c->user = w;
    double begin = now();
    if (w) {
        w->m = m;
        w->since = begin;
    }
    int32_t status = run(c, inputs, outputs);
    c->step = NULL;
    c->user = NULL;
    if (w && status == 0)
        add(w, now() - begin);
    free(w);
    return status;
}

/* ---- the library is opened and closed ---- */

__attribute__((constructor)) static void open_profile(void) {
    const char *v = getenv("TCTUNE_PROFILE");
    char *end;
    if (!v || !*v || !strcmp(v, "0"))
        return;
    long long n = strtoll(v, &end, 10);
    if (*end || n < 1) {
        all.file = strdup(v);
        n = 1;
    }
    all.every = n > 1 ? n : 0;
    all.process = getpid();
    tc_profile_wanted = 1;
}

__attribute__((destructor)) static void close_profile(void) {
    if (tc_profile_wanted && all.nrun && all.process == getpid()) {
        if (all.file)
            write_json();
        else if (!all.every || all.nrun % all.every)
            print_table(stderr);
    }
    free(all.rows);
    free(all.file);
}
