/* What the API costs beside the library that it runs, in turns: a call of tctune_context_run beside one of PREFIX_context_run,
 * and threads that share a model, each with a context, beside as many processes.
 *   bench_api_calls LIBRARY.so PREFIX [WORKERS]        PREFIX: of its symbols; built for one thread */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tctune/tctune.h>

enum { TURNS = 201, MAX_WORKERS = 64 };
static const double turn_seconds = 0.01, worker_seconds = 2;

static char error[1024];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n) {
    qsort(v, (size_t)n, sizeof *v, by_value);
    return v[n / 2];
}

static void fail(const char *why) {
    fprintf(stderr, "%s\n", why);
    exit(1);
}

/* ---- tensors ---- */

enum { MAX_PORTS = 64 };
typedef struct ports {
    DLTensor in[MAX_PORTS], out[MAX_PORTS];
    const void *ins[MAX_PORTS];
    void *outs[MAX_PORTS];
} ports;

/* Zeros: a valid index, length and number anywhere. */
static DLTensor tensor(DLDataType type, int ndim, const int64_t *shape) {
    size_t bytes = (size_t)(type.bits + 7) / 8;
    for (int d = 0; d < ndim; d++)
        bytes *= (size_t)shape[d];
    bytes = (bytes + 64) / 64 * 64;
    void *data = aligned_alloc(64, bytes);
    if (!data)
        fail("there is no memory for the tensors");
    memset(data, 0, bytes);
    return (DLTensor){.data = data, .device = {kDLCPU, 0}, .ndim = ndim, .dtype = type, .shape = (int64_t *)(uintptr_t)shape};
}

static void make_ports(const tctune_model *m, ports *p) {
    DLDataType type;
    const int64_t *shape;
    int ndim;
    if (tctune_model_num_inputs(m) > MAX_PORTS || tctune_model_num_outputs(m) > MAX_PORTS)
        fail("the model has too many inputs or outputs");
    for (int i = 0; tctune_model_input(m, i, &type, &ndim, &shape); i++)
        p->ins[i] = (p->in[i] = tensor(type, ndim, shape)).data;
    for (int i = 0; tctune_model_output(m, i, &type, &ndim, &shape); i++)
        p->outs[i] = (p->out[i] = tensor(type, ndim, shape)).data;
}

/* ---- a call ---- */

typedef void *new_fn(void);
typedef int run_fn(void *context, const void *const *in, void *const *out);

static void *symbol(void *library, const char *prefix, const char *name) {
    char full[256];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    void *s = dlsym(library, full);
    if (!s)
        fail(dlerror());
    return s;
}

static void time_calls(const char *library, const char *prefix) {
    static double bare[TURNS], api[TURNS], apart[TURNS];
    static ports p;
    tctune_model *m;
    tctune_context *c;
    if (tctune_load(library, 1, &m, error, sizeof error) || tctune_context_new(m, &c, error, sizeof error))
        fail(error);
    make_ports(m, &p);
    void *own = dlopen(library, RTLD_NOW);
    if (!own)
        fail(dlerror());
    void *context = ((new_fn *)symbol(own, prefix, "_context_new"))();
    run_fn *run = (run_fn *)symbol(own, prefix, "_context_run");
    run(context, p.ins, p.outs);
    double once = now();
    run(context, p.ins, p.outs);
    int calls = 1 + (int)(turn_seconds / (now() - once + 1e-7));
    for (int t = 0; t < TURNS; t++) {
        double a = now();
        for (int i = 0; i < calls; i++)
            run(context, p.ins, p.outs);
        double b = now();
        for (int i = 0; i < calls; i++)
            if (tctune_context_run(c, p.in, p.out, error, sizeof error) != TCTUNE_OK)
                fail(error);
        double end = now();
        bare[t] = (b - a) / calls;
        api[t] = (end - b) / calls;
        apart[t] = api[t] - bare[t];
    }
    printf("a call of the library %.3f us, through the API %.3f us: %.3f us more (median of %d turns of %d calls)\n",
           median(bare, TURNS) * 1e6, median(api, TURNS) * 1e6, median(apart, TURNS) * 1e6, TURNS, calls);
}

/* ---- throughput ---- */

typedef struct worker {
    const tctune_model *model;
    long runs;
} worker;

static void *work(void *user) {
    worker *w = user;
    ports *p = calloc(1, sizeof *p);
    tctune_context *c;
    if (!p || tctune_context_new(w->model, &c, error, sizeof error) != TCTUNE_OK)
        fail(error);
    make_ports(w->model, p);
    for (double end = now() + worker_seconds; now() < end; w->runs++)
        if (tctune_context_run(c, p->in, p->out, error, sizeof error) != TCTUNE_OK)
            fail(error);
    tctune_context_free(c);
    return NULL;
}

static double by_threads(const tctune_model *m, int n) {
    pthread_t thread[MAX_WORKERS];
    worker w[MAX_WORKERS];
    long runs = 0;
    for (int i = 0; i < n; i++) {
        w[i] = (worker){m, 0};
        pthread_create(&thread[i], NULL, work, &w[i]);
    }
    for (int i = 0; i < n; i++) {
        pthread_join(thread[i], NULL);
        runs += w[i].runs;
    }
    return (double)runs / worker_seconds;
}

static double by_processes(const char *library, int n) {
    worker *w = mmap(NULL, MAX_WORKERS * sizeof *w, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    long runs = 0;
    for (int i = 0; i < n; i++)
        if (fork() == 0) {
            tctune_model *own;
            if (tctune_load(library, 1, &own, error, sizeof error) != TCTUNE_OK)
                fail(error);
            w[i].model = own;
            work(&w[i]);
            _exit(0);
        }
    while (wait(NULL) > 0)
        continue;
    for (int i = 0; i < n; i++)
        runs += w[i].runs;
    munmap(w, MAX_WORKERS * sizeof *w);
    return (double)runs / worker_seconds;
}

static void time_workers(const char *library, int n) {
    enum { ROUNDS = 7 };
    double threads[ROUNDS], processes[ROUNDS], ratio[ROUNDS];
    tctune_model *m;
    if (tctune_load(library, 1, &m, error, sizeof error) != TCTUNE_OK)
        fail(error);
    for (int r = 0; r < ROUNDS; r++) {
        processes[r] = by_processes(library, n);
        threads[r] = by_threads(m, n);
        ratio[r] = threads[r] / processes[r];
    }
    printf("%d threads %.0f runs a second, %d processes %.0f: %.3f of it (medians of %d turns)\n", n, median(threads, ROUNDS), n,
           median(processes, ROUNDS), median(ratio, ROUNDS), ROUNDS);
    tctune_model_free(m);
}

int main(int argc, char **argv) {
    int n = argc > 3 ? atoi(argv[3]) : 2;
    if (argc < 3 || n < 1 || n > MAX_WORKERS)
        fail("usage: bench_api_calls LIBRARY.so PREFIX [WORKERS]");
    time_workers(argv[1], n);
    time_calls(argv[1], argv[2]);
    return 0;
}
