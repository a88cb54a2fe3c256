/* Kernels with tiles as C source: products with ragged edges by every unit that has tiles, whether or not this machine does,
 * through the compilers that are here with warnings as errors, against the interpreter of lowered programs and that of
 * workloads. */
#include "support/cmocka_all.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/artefacts/library.h"
#include "codegen/c_source/c_source.h"
#include "common/test_size.h"
#include "kernel.h"
#include "support/rng.h"
#include "support/system/fs.h"
#include "te/text.h"
#include "tir_lower/build/build.h"
#include "tir_lower/interp/interp.h"
#include "tir_lower/program/program.h"

/* Sanitizers look at the program that writes the source, not at compilers. */
#ifdef TCTUNE_SANITIZED
#define GCC_OPTIONS "-O0 -fopenmp"
#else
#define GCC_OPTIONS "-O1 -fopenmp"
#endif

enum { TILE_COLUMNS = 2, THREADS = 2 };

/* Sums of products that are rounded in another order than the workload's. */
static const double PLACES = 1e-4;

/* A kernel of one unit: what it is given, and what the interpreter makes of it. */
typedef struct product {
    const tc_intrinsic *unit;
    const tc_workload *w;
    const tc_func *f;
    void *in[2], *want, **args;
    tc_ctx *ctx;
} product;

static size_t bytes_of(const tc_tensor *t) {
    return (size_t)tc_tensor_size(t) * (size_t)tc_dtype_bytes(t->dtype);
}

/* Rows and columns that no tile divides. Of every other unit a reduction in whole blocks, whose sums start at zero in their
 * tiles; of the others one with a rest, which adds to sums that come from memory. */
static void write_te(const tc_intrinsic *u, tc_strbuf *b) {
    const char *acc = tc_dtype_name(u->acc);
    int rest = u->place == TC_UNIT_BLOCK ? u->group - 3 : u->group;
    int m = u->m + 1, n = u->n * TILE_COLUMNS + 1, k = 4 * u->k + (tc_intrinsic_number(u) % 2 ? rest : 0);
    tc_sb_printf(b, "tensor X[%d, %d] %s\ntensor W[%d, %d] %s const\n", m, k, tc_dtype_name(u->a), k, n, tc_dtype_name(u->b));
    tc_sb_printf(b, "compute D[i:%d, j:%d] = sum(k:%d) %s(X[i, k]) * %s(W[k, j])\noutput D\n", m, n, k, acc, acc);
}

static void write_schedule(const tc_intrinsic *u, tc_strbuf *b) {
    tc_sb_add(b, "D_acc = cache_write D local\n");
    tc_sb_printf(b, "i_0, i_1 = split D.i [_, %d]\nj_0, j_1 = split D.j [_, %d]\n", u->m, u->n * TILE_COLUMNS);
    tc_sb_add(b, "reorder D.i_0 D.j_0 D.i_1 D.j_1\ntask = fuse D.i_0 D.j_0\ncompute_at D_acc D.task\n");
    tc_sb_add(b, "set_scope D_acc local\nparallel D.task\n");
    tc_sb_printf(b, "k_o, k_i = split D_acc.k [_, %d]\nk_b, k_m = split D_acc.k_o [_, 2]\n", u->k);
    tc_sb_printf(b, "i_t, i_i = split D_acc.i [_, %d]\nj_t, j_i = split D_acc.j [_, %d]\n", u->m, u->n);
    tc_sb_add(b, "reorder D_acc.k_b D_acc.i_t D_acc.j_t D_acc.k_m D_acc.i_i D_acc.j_i D_acc.k_i\n");
    tc_sb_printf(b, "unroll D_acc.i_t\nunroll D_acc.j_t\ntensorize D_acc.i_i %s\n", u->text);
    tc_sb_printf(b, "transform_layout W (k, j) -> (j / %d, k / %d, j %% %d, k %% %d)\n", u->n, u->group, u->n, u->group);
}

static void **new_arguments(const product *p) {
    void **a = kernel_args(p->f);
    memcpy(a[0], p->in[0], bytes_of(p->w->in[0]));
    tc_tir_pack(p->f, 1, p->in[1], a[1]);
    memset(a[2], 0x7b, bytes_of(p->w->out[0]));
    return a;
}

static void count_tiles(const tc_stmt *s, void *user) {
    if (s->kind == TC_STMT_INTRIN)
        ((int *)user)[s->u.intrin.op]++;
}

/* Integers exactly. */
static void expect_the_workload_s(const product *p) {
    const tc_tensor *t = p->w->out[0];
    if (!tc_dtype_is_float(t->dtype))
        assert_memory_equal(p->args[2], p->want, bytes_of(t));
    for (int64_t i = 0; tc_dtype_is_float(t->dtype) && i < tc_tensor_size(t); i++) {
        double got = tc_load_f(t->dtype, p->args[2], i), want = tc_load_f(t->dtype, p->want, i);
        if (!(fabs(got - want) <= PLACES * fmax(1, fabs(want))))
            fail_msg("%s: element %lld is %g, not %g", p->unit->text, (long long)i, got, want);
    }
}

static void make(product *p, const tc_intrinsic *u, int *tiles) {
    tc_strbuf te = {0}, sched = {0};
    tc_error err = {0};
    tc_tir_program made;
    tc_machine m = kernel_target()->machine;
    tc_rng rng = tc_rng_seed(3);
    m.intrinsics = TC_INTRINSICS_ALL;
    m.vector_regs = TC_MOST_BLOCKS;
    *p = (product){.unit = u, .ctx = tc_ctx_new()};
    write_te(u, &te);
    write_schedule(u, &sched);
    if (tc_te_parse(p->ctx, u->text, tc_sb_str(&te), &p->w, &err) != TC_OK)
        fail_msg("%s", err.msg);
    tc_tir_origin from = {.workload = p->w, .machine = &m, .text = tc_sb_str(&sched), .name = u->text};
    if (tc_tir_program_make(p->ctx, &from, TC_TIR_LOWERED, &made, &err) != TC_OK)
        fail_msg("%s", err.msg);
    p->f = made.lowered;
    tc_tir_walk(p->f->body, count_tiles, tiles);
    for (int i = 0; i < 2; i++) {
        p->in[i] = tc_xcalloc(bytes_of(p->w->in[i]) + 1, 1);
        tc_te_random_fill(p->w->in[i]->dtype, p->in[i], tc_tensor_size(p->w->in[i]), &rng, 0);
    }
    p->want = tc_xcalloc(bytes_of(p->w->out[0]) + 1, 1);
    assert_int_equal(tc_te_interp(p->w, (const void *const *)p->in, &p->want, &err), TC_OK);
    p->args = new_arguments(p);
    if (tc_tir_interp(p->f, p->args, &err) != TC_OK)
        fail_msg("%s: %s", u->text, err.msg);
    expect_the_workload_s(p);
    tc_strbuf_free(&te);
    tc_strbuf_free(&sched);
}

static void release(product *p) {
    kernel_free_args(p->f, p->args);
    free(p->in[0]);
    free(p->in[1]);
    free(p->want);
    tc_ctx_free(p->ctx);
}

/* One source of all kernels, each under its unit's name. */
static void write_source(const product *p, int n, const char *path) {
    tc_strbuf b = {0};
    tc_error err = {0};
    tc_cg_c_prelude(&b);
    for (int i = 0; i < n; i++) {
        char symbol[64];
        snprintf(symbol, sizeof symbol, "kernel_%s", p[i].unit->text);
        if (tc_cg_emit_c(p[i].f, symbol, THREADS, &b, NULL, &err) != TC_OK)
            fail_msg("%s", err.msg);
        tc_sb_printf(&b, "void %s(void *const *a, uint8_t *workspace);\n", p[i].unit->text);
        tc_sb_printf(&b, "void %s(void *const *a, uint8_t *workspace) {\n    %s(a[0], a[1], a[2], workspace);\n}\n\n",
                     p[i].unit->text, symbol);
    }
    assert_int_equal(tc_fs_write(path, b.data, b.len, &err), TC_OK);
    tc_strbuf_free(&b);
}

static void expect_same(const product *p, void *lib) {
    void (*call)(void *const *, uint8_t *);
    void *symbol = dlsym(lib, p->unit->text), **got = new_arguments(p);
    assert_non_null(symbol);
    memcpy(&call, &symbol, sizeof symbol);
    uint8_t *workspace = kernel_alloc((size_t)tc_cg_workspace_bytes(p->f, THREADS) + 1);
    call(got, workspace);
    if (memcmp(got[2], p->args[2], bytes_of(p->w->out[0])))
        fail_msg("%s: not what the interpreter makes of the same program", p->unit->text);
    free(workspace);
    kernel_free_args(p->f, got);
}

static void compile_and_compare(const product *p, int n, const char *dir, const char *compiler, const char *options) {
    tc_strbuf command = {0};
    char so[1200];
    snprintf(so, sizeof so, "%s/%s.so", dir, compiler);
    tc_sb_printf(&command, "%s -std=c17 -Wall -Werror -fPIC -shared %s -o %s %s/tiles.c -lm", compiler, options, so, dir);
    if (system(command.data))
        fail_msg("%s", command.data);
    tc_strbuf_free(&command);
    void *lib = dlopen(so, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        fail_msg("%s", dlerror());
    for (int i = 0; i < n; i++)
        expect_same(&p[i], lib);
    dlclose(lib);
}

static void units_with_tiles(void **state) {
    (void)state;
    product p[TC_NINTRINSICS];
    int n = 0, tiles[TC_TILE_MULTIPLY + 1] = {0};
    char *dir, path[1200];
    tc_error err = {0};
    assert_int_equal(tc_fs_temp_dir(&dir, &err), TC_OK);
    for (int i = 0; i < TC_NINTRINSICS; i++)
        if (tc_intrinsic_row((tc_intrinsic_id)i)->place != TC_UNIT_VECTOR)
            make(&p[n++], tc_intrinsic_row((tc_intrinsic_id)i), tiles);
    for (size_t i = 0; i < TC_LEN(tiles); i++)
        assert_true(tiles[i] > n / 2);
    assert_true(tiles[TC_TILE_LOAD] > 2 * tiles[TC_TILE_MULTIPLY]);
    snprintf(path, sizeof path, "%s/tiles.c", dir);
    write_source(p, n, path);
    compile_and_compare(p, n, dir, "gcc", GCC_OPTIONS);
    if (test_is_full()) /* Clang is not among the packages of the plain tests */
        compile_and_compare(p, n, dir, "clang-19", "-O0");
    for (int i = 0; i < n; i++)
        release(&p[i]);
    tc_fs_remove_tree(dir);
    free(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(units_with_tiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
