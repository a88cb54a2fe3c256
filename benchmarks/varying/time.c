/* Times two kernels in turns on one thread: one whose size varies, at a size, and one that was made for that size.
 *
 *     time VARYING.so FIXED.so ARGUMENTS SIZE
 *
 * prints the median of the first, of the second and of their ratios turn by turn, in microseconds of the thread's own time. */
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS = 31, MOST_ARGUMENTS = 8, ARRAY = 16 << 20, WORKSPACE = 256 << 20 };

typedef int32_t kernel(void *const *args, void *workspace, void *runtime);

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static kernel *load(const char *path) {
    void *lib = dlopen(path, RTLD_NOW), *symbol = lib ? dlsym(lib, "kernel") : NULL;
    kernel *k;
    if (!symbol) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    memcpy(&k, &symbol, sizeof k);
    return k;
}

/* Seconds of one call, of as many as take a millisecond. */
static double time_of(kernel *k, void *const *args, void *workspace) {
    double begin = now(), end;
    int calls = 0;
    do {
        k(args, workspace, NULL);
        end = now();
        calls++;
    } while (end - begin < 1e-3);
    return (end - begin) / calls;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x) {
    qsort(x, TURNS, sizeof *x, ascending);
    return x[TURNS / 2];
}

int main(int argc, char **argv) {
    if (argc != 5 || atoi(argv[3]) < 1 || atoi(argv[3]) > MOST_ARGUMENTS) {
        fprintf(stderr, "usage: time VARYING.so FIXED.so ARGUMENTS SIZE\n");
        return 2;
    }
    kernel *varying = load(argv[1]), *fixed = load(argv[2]);
    int n = atoi(argv[3]);
    int64_t size = atoll(argv[4]);
    void *args[MOST_ARGUMENTS + 1], *workspace = aligned_alloc(64, WORKSPACE);
    double v[TURNS], f[TURNS], ratio[TURNS];
    memset(workspace, 0, WORKSPACE);
    for (int i = 0; i < n; i++) {
        float *x = args[i] = aligned_alloc(64, ARRAY);
        for (size_t k = 0; k < ARRAY / sizeof *x; k++)
            x[k] = (float)(rand() % 2001 - 1000) * 1e-3f;
    }
    args[n] = &size;
    time_of(varying, args, workspace);
    time_of(fixed, args, workspace);
    for (int i = 0; i < TURNS; i++) {
        v[i] = time_of(varying, args, workspace);
        f[i] = time_of(fixed, args, workspace);
        ratio[i] = v[i] / f[i];
    }
    double r = median(ratio);
    printf("%.1f %.1f %.3f\n", 1e6 * median(v), 1e6 * median(f), r);
    return 0;
}
