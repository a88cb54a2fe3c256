/* Runs on the target: reads kernels' arguments from a file, calls them with one thread and with several, writes the results.
 * Compiled by a cross compiler together with the runtime and a generated table of kernels; see targets.c.
 *
 * Input, in 64-bit words of the target's byte order:
 *
 *     number of kernels, and for each
 *         bytes of workspace for 1 thread, for 3 threads; number of arguments, and for each
 *             bytes; whether it is a result; when it is none, its content, padded to 8 bytes
 *
 * Output: the results of each kernel, for 1 thread and then for 3, in order. With CARRIES_OUT a handler provides the dot products
 * that this CPU lacks, and says at the end how many there were. With LOADS further arguments are objects, which the loader loads:
 * kernels that are in one run from there, and at the end it says how many. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/artefacts/runtime.h"
#ifdef CARRIES_OUT
#include "vector_trap.h"
#endif
#ifdef LOADS
#include "codegen/load/load.h"
#endif

extern tc_kernel *const kernels[];
extern const char *const kernel_names[];

enum { GUARD = 64, GUARD_BYTE = 0x5a, MOST_ARGS = 32, THREADS = 3 };

typedef struct argument {
    uint64_t bytes, result;
    uint8_t *data;
} argument;

static void die(const char *what, const char *name) {
    fprintf(stderr, "harness: %s: %s\n", name, what);
    exit(3);
}

static uint64_t word(FILE *in) {
    uint64_t v;
    if (fread(&v, sizeof v, 1, in) != 1)
        die("the file of arguments ends early", "input");
    return v;
}

static uint8_t *array(uint64_t bytes) {
    uint8_t *p = aligned_alloc(TC_RT_ALIGN, (bytes + GUARD + TC_RT_ALIGN - 1) / TC_RT_ALIGN * TC_RT_ALIGN);
    if (!p)
        die("no memory", "input");
    memset(p, 0x7b, bytes);
    memset(p + bytes, GUARD_BYTE, GUARD);
    return p;
}

static void check_guard(const argument *a, const char *name) {
    for (int i = 0; i < GUARD; i++)
        if (a->data[a->bytes + (uint64_t)i] != GUARD_BYTE)
            die("wrote past the end of an argument", name);
}

static argument read_argument(FILE *in) {
    argument a = {.bytes = word(in), .result = word(in)};
    a.data = array(a.bytes);
    for (uint64_t at = 0; !a.result && at < a.bytes; at += 8) {
        uint64_t v = word(in);
        memcpy(a.data + at, &v, a.bytes - at < 8 ? a.bytes - at : 8);
    }
    return a;
}

static void call(int k, tc_kernel *kernel, argument *a, int n, uint64_t workspace, int threads, FILE *out) {
    void *args[MOST_ARGS];
    for (int i = 0; i < n; i++) {
        args[i] = a[i].data;
        if (a[i].result)
            memset(a[i].data, 0x7b, a[i].bytes);
    }
    argument ws = {.bytes = workspace, .data = array(workspace)};
    tc_rt rt = tc_cg_runtime(threads);
    if (kernel(args, ws.data, &rt))
        die("returned a failure", kernel_names[k]);
    check_guard(&ws, kernel_names[k]);
    free(ws.data);
    for (int i = 0; i < n; i++) {
        check_guard(&a[i], kernel_names[k]);
        if (a[i].result && fwrite(a[i].data, 1, a[i].bytes, out) != a[i].bytes)
            die("cannot write the results", kernel_names[k]);
    }
}

static void run(int k, tc_kernel *kernel, FILE *in, FILE *out) {
    argument a[MOST_ARGS];
    uint64_t one = word(in), more = word(in), n = word(in);
    if (n > MOST_ARGS)
        die("has too many arguments", kernel_names[k]);
    for (uint64_t i = 0; i < n; i++)
        a[i] = read_argument(in);
    call(k, kernel, a, (int)n, one, 1, out);
    call(k, kernel, a, (int)n, more, THREADS, out);
    for (uint64_t i = 0; i < n; i++)
        free(a[i].data);
}

#ifdef LOADS
static void *content(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END))
        die("cannot be read", path);
    *size = (size_t)ftell(f);
    void *data = malloc(*size + 1);
    rewind(f);
    if (!data || fread(data, 1, *size, f) != *size)
        die("cannot be read", path);
    fclose(f);
    return data;
}

/* The images stay until the end. */
static int load(const char *path, tc_kernel **use, uint64_t n) {
    tc_load_image *m;
    tc_error err = {0};
    size_t size;
    int found = 0;
    void *data = content(path, &size);
    if (tc_load_object(data, size, &m, &err) != TC_OK)
        die(err.msg, path);
    free(data);
    for (uint64_t k = 0; k < n; k++) {
        void *at = tc_load_find(m, kernel_names[k]);
        use[k] = at ? (tc_kernel *)(uintptr_t)at : use[k];
        found += at != NULL;
    }
    return found;
}
#endif

int main(int argc, char **argv) {
    FILE *in = argc >= 3 ? fopen(argv[1], "rb") : NULL, *out = in ? fopen(argv[2], "wb") : NULL;
    if (!out)
        die("cannot be opened", argc >= 3 ? argv[1] : "usage: harness ARGUMENTS RESULTS [OBJECT...]");
    setvbuf(stdout, NULL, _IOLBF, 0);
#ifdef CARRIES_OUT
    vector_trap_install();
#endif
    const uint64_t n = word(in);
    tc_kernel **use = malloc(n * sizeof *use);
    if (!use)
        die("no memory", "input");
    memcpy(use, kernels, n * sizeof *use);
#ifdef LOADS
    int found = 0;
    for (int i = 3; i < argc; i++)
        found += load(argv[i], use, n);
#endif
    for (uint64_t k = 0; k < n; k++) {
        printf("%s\n", kernel_names[k]);
        run((int)k, use[k], in, out);
    }
    if (fclose(out))
        die("cannot write the results", argv[2]);
    fclose(in);
    free(use);
#ifdef CARRIES_OUT
    printf("carried out: %lld\n", (long long)vector_trap_count());
#endif
#ifdef LOADS
    printf("loaded: %d\n", found);
#endif
    return 0;
}
