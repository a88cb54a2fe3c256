/* Kernels with sizes that vary as C source: random workloads under random schedules in one file, compiled with warnings as
 * errors, each run at two sizes against the interpreter of the same lowered program. */
#include "support/cmocka_all.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/artefacts/library.h"
#include "codegen/c_source/c_source.h"
#include "common/random_symbols.h"
#include "common/random_trace.h"
#include "common/random_workload.h"
#include "kernel.h"
#include "support/system/fs.h"
#include "tir_lower/interp/interp.h"
#include "tir_lower/program/program.h"

enum { KERNELS = 12, SEEDS = 60, MAX_STEPS = 12, THREADS = 2 };

typedef struct subject {
    tc_ctx *ctx;
    const tc_workload *w;
    const tc_func *f;
    uint64_t seed;
} subject;

/* False if this seed's workload has no size that can vary, or its schedule cannot be lowered. */
static bool make(subject *s, uint64_t seed) {
    tc_rng r = tc_rng_seed(seed);
    *s = (subject){.ctx = tc_ctx_new(), .seed = seed};
    s->w = tc_test_vary(s->ctx, tc_test_random_workload(s->ctx, &r), &r);
    if (s->w) {
        tc_trace *t = tc_test_random_trace(s->ctx, s->w, &r, MAX_STEPS);
        tc_tir_origin from = {.workload = s->w, .machine = &kernel_target()->machine, .trace = t};
        tc_tir_program p;
        s->f = tc_tir_program_make(s->ctx, &from, TC_TIR_LOWERED, &p, NULL) == TC_OK ? p.lowered : NULL;
    }
    if (!s->f)
        tc_ctx_free(s->ctx);
    return s->f != NULL;
}

static void write_source(const subject *s, int n, const char *path) {
    tc_strbuf b = {0};
    tc_error err = {0};
    tc_cg_c_prelude(&b);
    for (int i = 0; i < n; i++) {
        char symbol[64];
        snprintf(symbol, sizeof symbol, "kernel_%d", i);
        if (tc_cg_emit_c(s[i].f, symbol, THREADS, &b, NULL, &err) != TC_OK)
            fail_msg("%s", err.msg);
        tc_sb_printf(&b, "void run_%d(void *const *a, uint8_t *workspace);\n", i);
        tc_sb_printf(&b, "void run_%d(void *const *a, uint8_t *workspace) {\n    %s(", i, symbol);
        for (int k = 0; k <= s[i].f->nparam; k++)
            tc_sb_printf(&b, "a[%d], ", k);
        tc_sb_add(&b, "workspace);\n}\n\n");
    }
    assert_int_equal(tc_fs_write(path, b.data, b.len, &err), TC_OK);
    tc_strbuf_free(&b);
}

static void expect_same(const subject *s, int number, void *lib, const int64_t *sizes) {
    char name[32];
    void (*call)(void *const *, uint8_t *);
    tc_error err = {0};
    snprintf(name, sizeof name, "run_%d", number);
    void *symbol = dlsym(lib, name), **got = kernel_random_args(s->w, s->f, sizes, s->seed),
         **want = kernel_random_args(s->w, s->f, sizes, s->seed);
    assert_non_null(symbol);
    memcpy(&call, &symbol, sizeof symbol);
    if (tc_tir_interp(s->f, want, &err) != TC_OK)
        fail_msg("seed %llu: %s", (unsigned long long)s->seed, err.msg);
    uint8_t *workspace = kernel_alloc((size_t)tc_cg_workspace_bytes(s->f, THREADS) + 1);
    call(got, workspace);
    for (int i = 0; i < s->f->nparam; i++)
        for (int64_t k = 0; k < tc_tir_size_at(s->f, s->f->params[i].buffer, sizes); k++)
            if (!kernel_same(s->f->params[i].buffer->dtype, got[i], want[i], k))
                fail_msg("seed %llu: %s[%lld] is not what the interpreter makes of the same program", (unsigned long long)s->seed,
                         s->f->params[i].buffer->name, (long long)k);
    free(workspace);
    kernel_free_args(s->f, got);
    kernel_free_args(s->f, want);
}

static void test_sizes(void **state) {
    (void)state;
    subject s[KERNELS];
    int n = 0;
    char *dir, path[1200], command[4096];
    tc_error err = {0};
    for (uint64_t seed = 1; n < KERNELS && seed <= SEEDS; seed++)
        n += make(&s[n], seed);
    assert_int_equal(n, KERNELS);
    assert_int_equal(tc_fs_temp_dir(&dir, &err), TC_OK);
    snprintf(path, sizeof path, "%s/sizes.c", dir);
    write_source(s, n, path);
    snprintf(command, sizeof command, "cc -std=c17 -Wall -Werror -fPIC -shared -O1 -fopenmp -o %s/sizes.so %s -lm", dir, path);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/sizes.so", dir);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        fail_msg("%s", dlerror());
    for (int i = 0; i < n; i++) {
        tc_rng r = tc_rng_seed(s[i].seed);
        for (int k = 0; k < 2; k++) {
            int64_t sizes[TC_TEST_MAX_SYMBOLS];
            tc_test_random_sizes(s[i].w, &r, sizes);
            expect_same(&s[i], i, lib, sizes);
        }
    }
    dlclose(lib);
    for (int i = 0; i < n; i++)
        tc_ctx_free(s[i].ctx);
    tc_fs_remove_tree(dir);
    free(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
