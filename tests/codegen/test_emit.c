/* Objects, text, libraries: every architecture emits; vectors have the full width and accumulators stay in registers; objects
 * load, link and run; a driver runs a model; the standalone runtime works. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <assert.h>
#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/artefacts/library.h"
#include "codegen/artefacts/link.h"
#include "codegen/artefacts/runtime.h"
#include "kernel.h"
#include "support/system/fs.h"

/* 6 x 64 tile, k unrolled by 2, in text form. */
static char *gemm_text(void) {
    tc_strbuf b = {0};
    tc_sb_add(
        &b,
        "func gemm\nparam A f32[1536] in 0 align 64\nparam B f32[16384] in 1 align 64\nparam C f32[384] out 0 align 64\nbody\n"
        "alloc acc f32[384] reg align 64 lanes 16 {\n");
    for (int i = 0; i < 384; i += 16)
        tc_sb_printf(&b, "acc[ramp(%d, 1, 16)] = bcast(f32(0), 16)\n", i);
    tc_sb_add(&b, "for k in 128 reduce {\n");
    for (int u = 0; u < 2; u++)
        for (int i = 0; i < 6; i++)
            for (int v = 0; v < 64; v += 16)
                tc_sb_printf(
                    &b,
                    "acc[ramp(%d, 1, 16)] = fma(bcast(A[k * 2 + %d], 16), B[ramp(k * 128 + %d, 1, 16)], acc[ramp(%d, 1, 16)])\n",
                    i * 64 + v, i * 256 + u, u * 64 + v, i * 64 + v);
    tc_sb_add(&b, "}\n");
    for (int i = 0; i < 384; i += 16)
        tc_sb_printf(&b, "C[ramp(%d, 1, 16)] = acc[ramp(%d, 1, 16)]\n", i, i);
    tc_sb_add(&b, "}\n");
    return b.data;
}

static int count(const char *text, const char *what) {
    int n = 0;
    for (const char *p = text; (p = strstr(p, what)); p += strlen(what))
        n++;
    return n;
}

/* The loop's code: from the label that the last backward branch before the stores goes to. Loose: the block with most FMAs. */
static char *hot_block(const char *assembly) {
    char *best = NULL;
    int most = 0;
    for (const char *p = strstr(assembly, "\n.LBB"); p;) {
        const char *next = strstr(p + 1, "\n.LBB");
        char *block = strndup(p, next ? (size_t)(next - p) : strlen(p));
        char *jump = strstr(block, "\tj"); /* the block ends where it jumps back */
        if (jump)
            *strchr(jump + 1, '\n') = 0;
        if (count(block, "vfmadd") > most) {
            most = count(block, "vfmadd");
            free(best);
            best = block;
        } else {
            free(block);
        }
        p = next;
    }
    return best;
}

static void full_width_and_no_spills(void **state) {
    (void)state;
    static const char *const targets[] = {"skylake-avx512", "icelake-server", "sapphirerapids", "znver4", "znver5"};
    kernel k;
    char *text = gemm_text();
    kernel_parse(&k, text);
    for (size_t i = 0; i < TC_LEN(targets); i++) {
        char *s = kernel_text(&k, targets[i], TC_CG_ASM), *hot = hot_block(s);
        assert_non_null(hot);
        assert_int_equal(count(hot, "vfmadd"), 48);
        assert_int_equal(count(hot, "%ymm"), 0);
        assert_int_equal(count(hot, "(%rsp)"), 0);
        assert_int_equal(count(s, "Spill"), 0);
        assert_true(count(hot, "\n") <= 48 + 8 + 12 + 10); /* FMAs, loads of B, broadcasts of A, and little else */
        free(hot);
        free(s);
    }
    char *s = kernel_text(&k, "llvm -mtriple=x86_64 -mcpu=skylake-avx512 -vector-bytes=32", TC_CG_ASM);
    assert_int_equal(count(s, "zmm"), 0);
    free(s);
    kernel_free(&k);
    free(text);
}

/* What is read comes into the second-level cache, a line of a result to be written. */
static void hints(void **state) {
    (void)state;
    kernel k;
    kernel_parse(&k, "func hints\nparam A f32[64] in 0 align 64\nparam C f32[64] out 0 align 64\nbody\n"
                     "for i in 64 {\nprefetch A[i + 512]\nprefetch C[i + 512]\nC[i] = A[i]\n}\n");
    char *s = kernel_text(&k, "cascadelake", TC_CG_ASM);
    assert_true(count(s, "prefetcht1") > 0);
    assert_true(count(s, "prefetchw") > 0);
    free(s);
    kernel_free(&k);
}

/* The inner step of tc_hash_mix. */
static uint64_t hash_step(uint64_t a, uint64_t b) {
    unsigned __int128 p = (unsigned __int128)a * b;
    return (a + 0x9e3779b97f4a7c15u) ^ (b << 32 | b >> 32) ^ (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* The coefficient whose hash with the expression `atom` is that of `meet`. */
static int64_t coefficient(const tc_expr *atom, uint64_t meet) {
    uint64_t coef = meet ^ hash_step(atom->id ^ 0x243f6a8885a308d3u, 0x13198a2e03707345u);
    assert_true(tc_hash_mix(atom->id, coef) == 0xf72e3c7f34f063beu);
    return (int64_t)coef;
}

/* The text of a kernel can choose coefficients so that two terms of an index have one hash. */
static void indices_of_one_hash_stay_apart(void **state) {
    (void)state;
    static const char text[] = "func far\nparam A f32[8] in 0 align 64\nparam C f32[8] out 0 align 64\nbody\nfor i in 4 {\n"
                               "C[i] = A[i * %lld] + A[i * %lld]\n}\n";
    kernel k;
    tc_strbuf b = {0}, by[2] = {{0}, {0}};
    tc_sb_printf(&b, text, 3LL, 5LL);
    kernel_parse(&k, tc_sb_str(&b));
    assert_int_equal(k.f->body->kind, TC_STMT_FOR);
    const tc_expr *i = tc_varx(k.ctx, k.f->body->u.loop.var);
    const int64_t coef[] = {coefficient(i, 0x11d3e8a69b3a77c7u), coefficient(i, 0xc83f1010c360affeu)};
    kernel_free(&k);
    tc_sb_clear(&b);
    tc_sb_printf(&b, text, (long long)coef[0], (long long)coef[1]);
    kernel_parse(&k, tc_sb_str(&b));
    char *s = kernel_text(&k, "skylake-avx512", TC_CG_IR);
    for (int n = 0; n < 2; n++) {
        tc_sb_printf(&by[n], ", %lld\n", (long long)coef[n]);
        assert_true(count(s, tc_sb_str(&by[n])) > 0);
        tc_strbuf_free(&by[n]);
    }
    free(s);
    kernel_free(&k);
    tc_strbuf_free(&b);
}

static void every_target_emits(void **state) {
    (void)state;
    char *text;
    kernel k;
    tc_error err;
    for (const char *const *n = tc_target_names(); *n; n++) {
        static const char *const files[] = {"softmax.tir", "narrow.tir", "gather.tir", "pad_select.tir", "workspace.tir"};
        for (size_t f = 0; f < TC_LEN(files); f++) {
            if (f && strcmp(*n, "x86-64") && strcmp(*n, "neoverse-n1") && strcmp(*n, "rv64gcv") && strcmp(*n, "generic-rv64"))
                continue;
            tc_target *t;
            void *obj;
            size_t size;
            assert_int_equal(tc_fs_read(files[f], &text, NULL, NULL), TC_OK);
            kernel_parse(&k, text);
            const tc_func *fn = k.f;
            assert_int_equal(tc_target_parse(*n, &t, &err), TC_OK);
            if (tc_cg_emit_object(t, &fn, NULL, 1, &(tc_cg_options){.verify = true}, &obj, &size, &err) != TC_OK)
                fail_msg("%s for %s: %s", files[f], *n, err.msg);
            assert_true(size > 64 && !memcmp(obj, "\177ELF", 4));
            free(obj);
            tc_target_free(t);
            kernel_free(&k);
            free(text);
        }
    }
}

static void text_stages(void **state) {
    (void)state;
    char *text = gemm_text();
    kernel k;
    kernel_parse(&k, text);
    char *ir = kernel_text(&k, "znver4", TC_CG_IR), *opt = kernel_text(&k, "znver4", TC_CG_OPT_IR);
    assert_non_null(strstr(ir, "define i32 @gemm("));
    assert_non_null(strstr(ir, "noalias"));
    assert_non_null(strstr(ir, "alloca <16 x float>"));
    assert_null(strstr(opt, "alloca <16 x float>"));
    assert_non_null(strstr(opt, "\"prefer-vector-width\"=\"512\""));
    free(ir);
    free(opt);
    kernel_free(&k);
    free(text);
}

static const char ADD[] =
    "func add\nparam A f32[100] in 0 align 64\nparam B f32[100] in 1 align 64\nparam C f32[100] out 0 align 64\nbody\n"
    "parallel i in 100 {\nC[i] = A[i] + B[i] * f32(2)\n}\n";

static char *path_in(const char *dir, const char *name) {
    tc_strbuf b = {0};
    tc_sb_printf(&b, "%s/%s", dir, name);
    return b.data;
}

static char *write_object(const char *dir, const char *name, void *obj, size_t size) {
    char *path = path_in(dir, name);
    assert_int_equal(tc_fs_write(path, obj, size, NULL), TC_OK);
    free(obj);
    return path;
}

typedef int32_t entry(const void *const *, void *const *, uint8_t *, const uint8_t *, const tc_rt *, const tc_cg_context *);

/* add(in0, constants) -> arena; add(arena, arena) -> out0; copy arena -> out1. Built to a library with its own runtime and
 * constants. */
static tc_status write_floats(void *user, FILE *f, tc_error *err) {
    return fwrite(user, sizeof(float), 116, f) == 116 ? TC_OK : tc_fail(err, TC_ENV, "writing failed");
}

static void library(void **state) {
    (void)state;
    kernel k;
    tc_error err = {0};
    char *dir;
    void *obj;
    size_t size;
    int64_t stack;
    assert_int_equal(tc_fs_temp_dir(&dir, &err), TC_OK);
    kernel_parse(&k, ADD);
    const tc_func *f = k.f;
    const char *name = "k0", *paths[5];
    const tc_target *t = kernel_target();
    assert_int_equal(tc_cg_emit_object(t, &f, &name, 1, NULL, &obj, &size, &err), TC_OK);
    paths[0] = write_object(dir, "k.o", obj, size);
    tc_cg_operand first[] = {{TC_CG_INPUT, 0, 0}, {TC_CG_CONST, 64, 0}, {TC_CG_ARENA, 128, 0}},
                  second[] = {{TC_CG_ARENA, 128, 0}, {TC_CG_ARENA, 128, 0}, {TC_CG_OUTPUT, 0, 0}};
    tc_cg_operand copy[] = {{TC_CG_ARENA, 128, 0}, {TC_CG_OUTPUT, 1, 0}};
    tc_cg_step steps[] = {{.kernel = "k0", .nargs = 3, .args = first},
                          {.kernel = "k0", .nargs = 3, .args = second},
                          {.nargs = 2, .args = copy, .bytes = 400}};
    tc_cg_driver d = {.name = "model_run", .nsteps = 3, .steps = steps};
    if (tc_cg_emit_driver(t, &d, &obj, &size, &stack, &err) != TC_OK)
        fail_msg("%s", err.msg);
    paths[1] = write_object(dir, "d.o", obj, size);
    if (tc_cg_emit_runtime(t, "own_parallel_for", &obj, &size, &stack, &err) != TC_OK)
        fail_msg("%s", err.msg);
    paths[2] = write_object(dir, "rt.o", obj, size);
    float consts[116];
    for (int i = 0; i < 116; i++)
        consts[i] = (float)i;
    char *so = path_in(dir, "model.so");
    tc_cg_blob constants = {t, "model_constants", sizeof consts, write_floats, consts};
    const char *exports[] = {"model_run", "own_parallel_for", "model_constants", "model_constants_size", NULL};
    tc_cg_link l = {.nobjects = 3, .objects = paths, .constants = &constants, .openmp = true, .exports = exports};
    if (tc_cg_link_shared(&l, so, &err) != TC_OK)
        fail_msg("%s", err.msg);
    void *lib = dlopen(so, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        fail_msg("%s", dlerror());
    entry *run = (entry *)dlsym(lib, "model_run");
    assert_null(dlsym(lib, "k0"));
    assert_int_equal(*(uint64_t *)dlsym(lib, "model_constants_size"), sizeof consts);
    for (int threads = 1; threads <= 3; threads++) {
        tc_rt rt = {.abi_version = TC_RT_ABI, .nthreads = threads};
        tc_cg_context context = {.threads = threads};
        *(void **)&rt.parallel_for = dlsym(lib, "own_parallel_for");
        float *in = kernel_alloc(400), *o0 = kernel_alloc(400), *o1 = kernel_alloc(400);
        uint8_t *arena = kernel_alloc(1024);
        for (int i = 0; i < 100; i++)
            in[i] = (float)(i % 7);
        assert_int_equal(
            run((const void *const[]){in}, (void *const[]){o0, o1}, arena, dlsym(lib, "model_constants"), &rt, &context), 0);
        for (int i = 0; i < 100; i++) {
            float want = (float)(i % 7) + (float)(i + 16) * 2;
            assert_true(o1[i] == want && o0[i] == want * 3);
        }
        free(in);
        free(o0);
        free(o1);
        free(arena);
    }
    dlclose(lib);
    for (int i = 0; i < 3; i++)
        free((char *)paths[i]);
    free(so);
    kernel_free(&k);
    tc_fs_remove_tree(dir);
    free(dir);
}

/* The place of constants, as linkers make it: some leave bytes for it in the file, and the others link the constants themselves. */
static void constants_by_linker(void **state) {
    (void)state;
    static const char *const linkers[] = {NULL, "/usr/bin/ld.bfd", "/usr/bin/ld.gold", "/usr/bin/ld.lld", "/usr/bin/mold"};
    const char *exports[] = {"model_constants", "model_constants_size", NULL};
    float values[116];
    tc_cg_blob constants = {kernel_target(), "model_constants", sizeof values, write_floats, values};
    char *dir;
    tc_error err = {0};
    for (int i = 0; i < 116; i++)
        values[i] = (float)i / 4;
    assert_int_equal(tc_fs_temp_dir(&dir, &err), TC_OK);
    for (size_t i = 0; i < TC_LEN(linkers); i++) {
        if (linkers[i] && access(linkers[i], X_OK) != 0)
            continue;
        char *so = path_in(dir, linkers[i] ? strrchr(linkers[i], '/') + 1 : "by_default");
        tc_cg_link l = {.linker = linkers[i], .constants = &constants, .exports = exports};
        if (tc_cg_link_shared(&l, so, &err) != TC_OK)
            fail_msg("%s", err.msg);
        void *lib = dlopen(so, RTLD_NOW | RTLD_LOCAL);
        if (!lib)
            fail_msg("%s", dlerror());
        assert_memory_equal(dlsym(lib, "model_constants"), values, sizeof values);
        assert_int_equal(*(uint64_t *)dlsym(lib, "model_constants_size"), sizeof values);
        dlclose(lib);
        free(so);
    }
    tc_fs_remove_tree(dir);
    free(dir);
}

/* A hole of a file that is as large as it is to be. */
static tc_status write_hole(void *user, FILE *f, tc_error *err) {
    return fseek(f, (long)*(int64_t *)user - 1, SEEK_CUR) == 0 && fputc(7, f) == 7 ? TC_OK : tc_fail(err, TC_ENV, "no hole");
}

/* Constants that code cannot reach lie in a section that linkers place apart. */
static void far_constants(void **state) {
    (void)state;
    tc_target *x86, *arm;
    tc_error err = {0};
    char *dir;
    int64_t bytes = (int64_t)3 << 30;
    assert_int_equal(tc_target_parse("llvm -mtriple=x86_64-pc-linux-gnu -mcpu=haswell", &x86, &err), TC_OK);
    assert_int_equal(tc_target_parse("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1", &arm, &err), TC_OK);
    assert_true(tc_cg_blob_is_far(x86, bytes) && !tc_cg_blob_is_far(x86, 438 << 20) && !tc_cg_blob_is_far(arm, bytes));
    assert_int_equal(tc_fs_temp_dir(&dir, &err), TC_OK);
    char *path = path_in(dir, "far.o");
    if (tc_cg_write_blob(&(tc_cg_blob){x86, "far", bytes, write_hole, &bytes}, path, &err) != TC_OK)
        fail_msg("%s", err.msg);
    FILE *f = fopen(path, "rb");
    Elf64_Ehdr head;
    Elf64_Shdr section = {0};
    assert_int_equal(fread(&head, sizeof head, 1, f), 1);
    for (int i = 0; i < head.e_shnum && section.sh_size != (uint64_t)bytes; i++) {
        assert_int_equal(fseek(f, (long)(head.e_shoff + (uint64_t)i * sizeof section), SEEK_SET), 0);
        assert_int_equal(fread(&section, sizeof section, 1, f), 1);
    }
    assert_int_equal(section.sh_size, bytes);
    assert_true(section.sh_flags & 0x10000000); /* SHF_X86_64_LARGE */
    assert_false(section.sh_flags & SHF_WRITE);
    fclose(f);
    free(path);
    tc_fs_remove_tree(dir);
    free(dir);
    tc_target_free(x86);
    tc_target_free(arm);
}

static void refused_steps(void **state) {
    (void)state;
    tc_error err = {0};
    void *obj;
    size_t size;
    int64_t stack;
    tc_cg_operand one[] = {{TC_CG_ARENA, 0, 0}};
    tc_cg_step far = {.kind = TC_CG_AGAIN, .nargs = 1, .args = one, .target = 2},
               few = {.kind = TC_CG_UNLESS_LESS, .nargs = 1, .args = one}, copy = {.nargs = 1, .args = one, .bytes = 4};
    const tc_cg_step *steps[] = {&far, &few, &copy};
    for (size_t i = 0; i < TC_LEN(steps); i++) {
        tc_cg_driver d = {.name = "model_run", .nsteps = 1, .steps = steps[i]};
        assert_int_equal(tc_cg_emit_driver(kernel_target(), &d, &obj, &size, &stack, &err), TC_BAD_INPUT);
        assert_non_null(strstr(err.msg, "model_run: step 0"));
    }
}

/* Forks whose branches are not one behind the other, or have decisions in them. */
static void refused_forks(void **state) {
    (void)state;
    enum { STEPS = 4 };
    static const tc_cg_step right[STEPS] = {{.kind = TC_CG_FORK, .target = 3},
                                            {.kind = TC_CG_BRANCH, .target = 2},
                                            {.kind = TC_CG_BRANCH, .target = 3},
                                            {.kind = TC_CG_GO, .target = 4}};
    static const struct {
        int step;
        tc_cg_step wrong;
    } cases[] = {{1, {.kind = TC_CG_GO, .target = 3}},     {1, {.kind = TC_CG_BRANCH, .target = 1}},
                 {1, {.kind = TC_CG_BRANCH, .target = 3}}, {2, {.kind = TC_CG_BRANCH, .target = 4}},
                 {2, {.kind = TC_CG_FORK, .target = 3}},   {0, {.kind = TC_CG_FORK, .target = 5}}};
    tc_error err = {0};
    void *obj;
    size_t size;
    int64_t stack;
    for (size_t i = 0; i <= TC_LEN(cases); i++) {
        tc_cg_step steps[STEPS];
        memcpy(steps, right, sizeof steps);
        if (i < TC_LEN(cases))
            steps[cases[i].step] = cases[i].wrong;
        tc_cg_driver d = {.name = "model_run", .nsteps = STEPS, .steps = steps};
        tc_status s = tc_cg_emit_driver(kernel_target(), &d, &obj, &size, &stack, &err);
        assert_int_equal(s, i < TC_LEN(cases) ? TC_BAD_INPUT : TC_OK);
        if (s == TC_OK)
            free(obj);
        else
            assert_non_null(strstr(err.msg, "model_run: step "));
    }
}

static void linker_errors(void **state) {
    (void)state;
    tc_error err = {0};
    const char *missing = "/nonexistent/k.o";
    tc_cg_link l = {.nobjects = 1, .objects = &missing};
    assert_int_equal(tc_cg_link_shared(&l, "/nonexistent/out.so", &err), TC_ENV);
    assert_int_equal(tc_cg_link_shared(&l, TCTUNE_TEST_TMP "/never.so", &err), TC_ENV);
    assert_non_null(strstr(err.msg, "/nonexistent/k.o"));
    assert_false(tc_fs_exists(TCTUNE_TEST_TMP "/never.so"));
    l.linker = "/nonexistent/linker";
    assert_int_equal(tc_cg_link_shared(&l, TCTUNE_TEST_TMP "/never.so", &err), TC_ENV);
    assert_non_null(strstr(err.msg, "/nonexistent/linker"));
    tc_cg_module *m;
    assert_int_equal(tc_cg_load("garbage", 7, &m, &err), TC_BAD_INPUT);
}

static void *compile_many(void *arg) {
    for (int i = 0; i < 4; i++) {
        kernel k;
        kernel_parse(&k, ADD);
        kernel_compile(&k, arg, NULL);
        void **args = kernel_args(k.f);
        for (int j = 0; j < 100; j++)
            ((float *)args[0])[j] = (float)j;
        kernel_run(&k, args, 1);
        for (int j = 0; j < 100; j++)
            assert_true(((float *)args[2])[j] == (float)j);
        kernel_free_args(k.f, args);
        kernel_free(&k);
    }
    return NULL;
}

static void threads_compile_at_once(void **state) {
    (void)state;
    pthread_t t[4];
    const tc_target *target = kernel_target();
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&t[i], NULL, compile_many, (void *)target), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
}

static void equal_input_gives_equal_bytes(void **state) {
    (void)state;
    void *obj[2];
    size_t size[2];
    for (int i = 0; i < 2; i++) {
        kernel k;
        char *text;
        assert_int_equal(tc_fs_read("workspace.tir", &text, NULL, NULL), TC_OK);
        kernel_parse(&k, text);
        const tc_func *f = k.f;
        assert_int_equal(tc_cg_emit_object(kernel_target(), &f, NULL, 1, NULL, &obj[i], &size[i], NULL), TC_OK);
        kernel_free(&k);
        free(text);
    }
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(obj[0], obj[1], size[0]);
    free(obj[0]);
    free(obj[1]);
}

/* Items of parallel_for are covered exactly once, by threads whose numbers are in range. */
static void count_items(int64_t begin, int64_t end, int32_t thread, void *closure) {
    for (int64_t i = begin; i < end; i++)
        __atomic_fetch_add((int32_t *)closure + i, 1 + thread * 0, __ATOMIC_RELAXED);
    assert(thread >= 0 && thread < 7);
}

static void parallel_for(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 3, 7}, items[] = {0, 1, 2, 6, 7, 8, 100};
    for (size_t t = 0; t < TC_LEN(threads); t++)
        for (size_t n = 0; n < TC_LEN(items); n++) {
            int32_t seen[100] = {0};
            tc_rt rt = tc_cg_runtime(threads[t]);
            assert_int_equal(rt.parallel_for(&rt, items[n], count_items, seen), 0);
            for (int i = 0; i < 100; i++)
                assert_int_equal(seen[i], i < items[n]);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_width_and_no_spills),
        cmocka_unit_test(hints),
        cmocka_unit_test(indices_of_one_hash_stay_apart),
        cmocka_unit_test(every_target_emits),
        cmocka_unit_test(text_stages),
        cmocka_unit_test(library),
        cmocka_unit_test(constants_by_linker),
        cmocka_unit_test(far_constants),
        cmocka_unit_test(refused_steps),
        cmocka_unit_test(refused_forks),
        cmocka_unit_test(linker_errors),
        cmocka_unit_test(threads_compile_at_once),
        cmocka_unit_test(equal_input_gives_equal_bytes),
        cmocka_unit_test(parallel_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
