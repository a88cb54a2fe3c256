#include "kernel.h"

#include "codegen/artefacts/runtime.h"
#include "te/eval.h"
#include "tir_lower/build/build.h"
#include "tir_lower/text/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { GUARD = 128, GUARD_BYTE = 0x5a };

static tc_target *native;

static void release(void) {
    tc_target_free(native);
}

static void die_if(tc_status s, const tc_error *err, const char *text) {
    if (s == TC_OK)
        return;
    fprintf(stderr, "%s\n%s\n", err->msg, text ? text : "");
    abort();
}

const tc_target *kernel_target(void) {
    tc_error err;
    if (!native) {
        const char *name = getenv("TCTUNE_TEST_TARGET");
        die_if(tc_target_parse(name ? name : "native", &native, &err), &err, NULL);
        atexit(release);
        if (!native->native) {
            printf("skipped: this machine cannot run code for %s\n", name);
            exit(77); /* CTest counts the test as skipped */
        }
    }
    return native;
}

void kernel_parse(kernel *k, const char *text) {
    tc_error err;
    *k = (kernel){.ctx = tc_ctx_new()};
    die_if(tc_tir_parse(k->ctx, "test.tir", text, &k->f, &err), &err, text);
}

tc_status kernel_try(kernel *k, const tc_target *t, const tc_cg_options *o, tc_error *err) {
    const tc_func *f = k->f;
    double start = kernel_clock(1);
    void *obj;
    size_t size;
    TC_TRY(tc_cg_emit_object(t, &f, NULL, 1, o, &obj, &size, err));
    k->compile_seconds = kernel_clock(1) - start;
    tc_status s = tc_cg_load(obj, size, &k->mod, err);
    free(obj);
    return s == TC_OK ? tc_cg_lookup(k->mod, f->name, &k->fn, err) : s;
}

void kernel_compile(kernel *k, const tc_target *t, const tc_cg_options *o) {
    tc_error err;
    die_if(kernel_try(k, t, o, &err), &err, NULL);
}

void *kernel_alloc(size_t bytes) {
    size_t n = (bytes + GUARD + 63) & ~(size_t)63;
    uint8_t *p = aligned_alloc(64, n);
    memset(p, 0, bytes);
    memset(p + bytes, GUARD_BYTE, n - bytes);
    return p;
}

void kernel_run(const kernel *k, void *const *args, int nthreads) {
    int64_t n = tc_cg_workspace_bytes(k->f, nthreads);
    uint8_t *ws = n ? kernel_alloc((size_t)n) : NULL;
    tc_rt rt = tc_cg_runtime(nthreads);
    int32_t status = k->fn(args, ws, nthreads ? &rt : NULL);
    if (status) {
        fprintf(stderr, "kernel returned %d\n", status);
        abort();
    }
    free(ws);
}

void kernel_free(kernel *k) {
    tc_cg_module_free(k->mod);
    tc_ctx_free(k->ctx);
}

char *kernel_text(const kernel *k, const char *target, tc_cg_stage stage) {
    tc_error err;
    tc_target *t;
    die_if(tc_target_parse(target, &t, &err), &err, NULL);
    tc_strbuf b = {0};
    const tc_func *f = k->f;
    die_if(tc_cg_emit_text(t, &f, NULL, 1, NULL, stage, &b, &err), &err, NULL);
    tc_target_free(t);
    return b.data;
}

double kernel_clock(int threads) {
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static size_t bytes_of(const tc_func *f, int i, const int64_t *sizes) {
    const tc_buffer *b = f->params[i].buffer;
    return (size_t)(tc_tir_size_at(f, b, sizes) * tc_dtype_bytes(b->dtype));
}

/* Bytes of whole pages for an argument, and what is left of them behind it: its alignment. */
static size_t pages_of(size_t bytes, size_t *rest) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), used = (bytes + TC_RT_ALIGN - 1) / TC_RT_ALIGN * TC_RT_ALIGN;
    *rest = used - bytes;
    return (used + page - 1) / page * page;
}

/* Nothing can be read behind it: a page that nobody may touch follows the last line. */
static void *argument(size_t bytes) {
    size_t rest, n = pages_of(bytes, &rest), page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *p = mmap(NULL, n + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + n, page, PROT_NONE) != 0)
        abort();
    memset(p + n - rest, GUARD_BYTE, rest);
    return p + n - rest - bytes;
}

void **kernel_args_at(const tc_func *f, const int64_t *sizes) {
    void **a = tc_xcalloc((size_t)f->nparam + 1, sizeof *a);
    for (int i = 0; i < f->nparam; i++)
        a[i] = argument(bytes_of(f, i, sizes));
    a[f->nparam] = (void *)(uintptr_t)sizes;
    return a;
}

void **kernel_args(const tc_func *f) {
    return kernel_args_at(f, NULL);
}

void **kernel_random_args(const tc_workload *w, const tc_func *f, const int64_t *sizes, uint64_t seed) {
    void **args = kernel_args_at(f, sizes);
    for (int i = 0; i < f->nparam; i++) {
        const tc_param *p = &f->params[i];
        if (p->kind == TC_PARAM_OUT) {
            memset(args[i], 0x7b, bytes_of(f, i, sizes));
            continue;
        }
        tc_rng r = tc_rng_seed(seed + (uint64_t)p->index);
        const tc_tensor *t = w->in[p->index];
        void *dense = tc_xcalloc((size_t)tc_tensor_size(t) + 1, (size_t)tc_dtype_bytes(t->dtype));
        tc_te_random_fill(t->dtype, dense, tc_tensor_size(t), &r, tc_te_index_limit(w, p->index));
        if (p->kind == TC_PARAM_PACKED)
            tc_tir_pack(f, i, dense, args[i]);
        else
            memcpy(args[i], dense, bytes_of(f, i, sizes));
        free(dense);
    }
    return args;
}

static double unit(tc_dtype t) {
    return t == TC_F16 ? 4e-3 : t == TC_BF16 ? 3e-2 : t == TC_F32 ? 2e-5 : 1e-12;
}

bool kernel_same(tc_dtype t, const void *a, const void *b, int64_t i) {
    if (!tc_dtype_is_float(t))
        return tc_load_i(t, a, i) == tc_load_i(t, b, i);
    double x = tc_load_f(t, a, i), y = tc_load_f(t, b, i);
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y);
    return x == y || fabs(x - y) <= unit(t) * fmax(1, fabs(y));
}

void kernel_free_args(const tc_func *f, void **args) {
    for (int i = 0; i < f->nparam; i++) {
        size_t bytes = bytes_of(f, i, args[f->nparam]), rest, n = pages_of(bytes, &rest);
        uint8_t *end = (uint8_t *)args[i] + bytes;
        for (size_t k = 0; k < rest; k++)
            if (end[k] != GUARD_BYTE) {
                fprintf(stderr, "argument %s was written past its end\n", f->params[i].buffer->name);
                abort();
            }
        munmap(end + rest - n, n + (size_t)sysconf(_SC_PAGESIZE));
    }
    free(args);
}
