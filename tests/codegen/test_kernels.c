/* Every .tir file here, compiled and run with 0 to 7 threads, agrees with the TIR interpreter. Adding a file adds a case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "support/rng.h"
#include "support/system/fs.h"
#include "tir_lower/interp/interp.h"

static size_t bytes_of(const tc_buffer *b) {
    return (size_t)(b->size * tc_dtype_bytes(b->dtype));
}

/* Floats in [-2, 2) with an occasional NaN and infinity; i64 serve as indices: 0 to 49; other integers over a small range of both
 * signs. */
static void fill(const tc_func *f, void **args) {
    tc_rng r = tc_rng_seed(7);
    for (int i = 0; i < f->nparam; i++) {
        const tc_buffer *b = f->params[i].buffer;
        bool isf = tc_dtype_is_float(b->dtype);
        for (int64_t k = 0; f->params[i].kind != TC_PARAM_OUT && k < b->size; k++) {
            double v = tc_rng_unit(&r) * 4 - 2;
            if (isf)
                tc_store_f(b->dtype, args[i], k, k % 97 == 96 ? (double)NAN : k % 89 == 88 ? (double)INFINITY : v);
            else
                tc_store_i(b->dtype, args[i], k, b->dtype == TC_I64 ? tc_rng_below(&r, 50) : tc_rng_below(&r, 200) - 100);
        }
    }
}

static bool close_enough(tc_dtype t, double a, double b) {
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    double unit = t == TC_F16 ? 1e-3 : t == TC_BF16 ? 8e-3 : t == TC_F32 ? 1e-6 : 1e-14;
    return a == b || fabs(a - b) <= unit * fmax(1, fabs(b)); /* functions may differ in the last place */
}

static void compare(const char *file, const tc_buffer *b, const void *got, const void *want, int threads) {
    if (!memcmp(got, want, bytes_of(b)))
        return;
    bool isf = tc_dtype_is_float(b->dtype);
    for (int64_t i = 0; i < b->size; i++) {
        double g = isf ? tc_load_f(b->dtype, got, i) : (double)tc_load_i(b->dtype, got, i);
        double w = isf ? tc_load_f(b->dtype, want, i) : (double)tc_load_i(b->dtype, want, i);
        if (isf ? !close_enough(b->dtype, g, w) : g != w)
            fail_msg("%s, %d threads: %s[%lld] is %.9g, the interpreter has %.9g", file, threads, b->name, (long long)i, g, w);
    }
}

static void check_file(const char *file, const tc_cg_options *o) {
    char *text;
    kernel k;
    tc_error err;
    assert_int_equal(tc_fs_read(file, &text, NULL, NULL), TC_OK);
    kernel_parse(&k, text);
    kernel_compile(&k, kernel_target(), o);
    void **want = kernel_args(k.f);
    fill(k.f, want);
    if (tc_tir_interp(k.f, want, &err) != TC_OK)
        fail_msg("%s: %s", file, err.msg);
    static const int threads[] = {0, 1, 2, 3, 7};
    for (size_t i = 0; i < TC_LEN(threads); i++) {
        void **got = kernel_args(k.f);
        fill(k.f, got);
        kernel_run(&k, got, threads[i]);
        for (int a = 0; a < k.f->nparam; a++)
            compare(file, k.f->params[a].buffer, got[a], want[a], threads[i]);
        kernel_free_args(k.f, got);
    }
    kernel_free_args(k.f, want);
    kernel_free(&k);
    free(text);
}

static void each_file(const tc_cg_options *o) {
    glob_t g;
    assert_int_equal(glob("*.tir", 0, NULL, &g), 0);
    assert_true(g.gl_pathc >= 10);
    for (size_t i = 0; i < g.gl_pathc; i++)
        check_file(g.gl_pathv[i], o);
    globfree(&g);
}

static void optimised(void **state) {
    (void)state;
    each_file(&(tc_cg_options){.verify = true});
}

static void fast(void **state) {
    (void)state;
    each_file(&(tc_cg_options){.verify = true, .fast = true});
}

/* Refusals name the kernel and what is wrong. */
static void refusals(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"func k\nparam A f32[8] out 0 align 64\nbody\nvectorized i in 8 {\nA[i] = f32(0)\n}\n", "still marked vector"},
        {"func k\nparam A f32[8] in 0 align 64\nbody\nA[0] = f32(0)\n", "stores to input A"},
        {"func k\nparam A f32[8] out 0 align 64\nbody\nalloc t f32[8] thread align 64 {\nt[0] = f32(0)\nA[0] = t[0]\n}\n",
         "has no place"},
        {"func k\nparam A f32[8] out 0 align 64\nbody\nalloc t f32[8] reg align 64 {\nfor i in 8 {\nt[i] = f32(0)\nA[i] = "
         "t[i]\n}\n}\n",
         "not constant"},
    };
    for (size_t i = 0; i < TC_LEN(cases); i++) {
        kernel k;
        tc_error err = {0};
        void *obj;
        size_t size;
        kernel_parse(&k, cases[i].text);
        const tc_func *f = k.f;
        assert_int_equal(tc_cg_emit_object(kernel_target(), &f, NULL, 1, NULL, &obj, &size, &err), TC_ILLEGAL);
        if (!strstr(err.msg, cases[i].says) || strncmp(err.msg, "k: ", 3))
            fail_msg("expected '%s', got '%s'", cases[i].says, err.msg);
        kernel_free(&k);
    }
}

/* An array of `size` floats that lives on the stack, filled and read at places that are not known before. */
static void put_array(tc_strbuf *b, int i, int size) {
    tc_sb_printf(b, "alloc t%d f32[%d] stack align 64 {\nfor i in %d {\nt%d[i] = X[i %% 64] + f32(%d)\n}\n", i, size, size, i, i);
    tc_sb_printf(b, "for i in 64 {\nY[i] = Y[i] + t%d[(i * %d) %% %d]\n}\n", i, 37 + i, size);
}

/* Bytes of stack of `n` arrays one after the other, or within each other; -1: refused. */
static int64_t stack_of(int n, int size, bool within) {
    kernel k;
    tc_error err = {0};
    tc_strbuf b = {0};
    void *obj;
    size_t bytes;
    int64_t stack = -1;
    tc_sb_add(&b,
              "func k\nparam X f32[64] in 0 align 64\nparam Y f32[64] out 0 align 64\nbody\nfor i in 64 {\nY[i] = f32(0)\n}\n");
    for (int i = 0; i < n; i++) {
        put_array(&b, i, size);
        tc_sb_add(&b, within ? "" : "}\n");
    }
    for (int i = 0; i < n && within; i++)
        tc_sb_printf(&b, "for i in 64 {\nY[i] = Y[i] + t%d[i]\n}\n}\n", n - 1 - i);
    kernel_parse(&k, tc_sb_str(&b));
    const tc_func *f = k.f;
    tc_status s = tc_cg_emit_object(kernel_target(), &f, NULL, 1, &(tc_cg_options){.stack = &stack}, &obj, &bytes, &err);
    if (s == TC_OK)
        free(obj);
    else if (s != TC_ILLEGAL || !strstr(err.msg, "bytes of stack"))
        fail_msg("%s", err.msg);
    kernel_free(&k);
    tc_strbuf_free(&b);
    return stack;
}

/* What LLVM laid out is told and bounded; arrays share it where their lives are apart. */
static void stacks(void **state) {
    (void)state;
    enum { FLOATS = 1000, BYTES = 4 * FLOATS };
    int64_t one = stack_of(1, FLOATS, false);
    assert_true(one > BYTES && one < BYTES + 2048);
    assert_true(stack_of(20, FLOATS, false) < one + BYTES / 2);
    assert_true(stack_of(3, FLOATS, true) > 3 * BYTES);
    assert_true(stack_of(10, FLOATS, true) > 10 * BYTES);
    assert_int_equal(stack_of(20, FLOATS, true), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(optimised), cmocka_unit_test(fast), cmocka_unit_test(refusals),
                                       cmocka_unit_test(stacks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
