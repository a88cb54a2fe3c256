/* The limits of expressions (te/expr.h): what is too deep or too large is an error of the call that would use it, however it was
 * made; and what is as deep as it may be takes no more stack than is said there. */
#include "support/cmocka_all.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "te/index/affine.h"
#include "te/text.h"

enum { ROWS = 8, STACK = 16 << 20, STACK_PER_LEVEL = 4096, UNTOUCHED = 0x5c };

typedef const tc_expr *grow(tc_ctx *c, const tc_expr *e, const tc_expr *i, int k);

static const tc_expr *absolute(tc_ctx *c, const tc_expr *e, const tc_expr *i, int k) {
    (void)k;
    return tc_un(c, TC_OP_ABS, tc_sub(c, e, i));
}

static const tc_expr *least(tc_ctx *c, const tc_expr *e, const tc_expr *i, int k) {
    return tc_bin(c, k % 2 ? TC_OP_MIN : TC_OP_MAX, tc_add(c, e, tc_mul(c, i, tc_i64(c, k + 2))), tc_i64(c, k + 70));
}

static const tc_expr *quotient(tc_ctx *c, const tc_expr *e, const tc_expr *i, int k) {
    return tc_bin(c, k % 2 ? TC_OP_DIV : TC_OP_MOD, tc_add(c, e, tc_mul(c, i, tc_i64(c, k + 2))), tc_i64(c, k + 3));
}

static const tc_expr *choice(tc_ctx *c, const tc_expr *e, const tc_expr *i, int k) {
    return tc_select(c, tc_bin(c, TC_OP_LT, i, tc_i64(c, k % ROWS)), tc_add(c, e, i), tc_i64(c, k));
}

static const tc_expr *nested_choice(tc_ctx *c, const tc_expr *e, const tc_expr *i, int k) {
    return tc_select(c, tc_bin(c, TC_OP_LT, e, tc_i64(c, k)), i, tc_i64(c, k));
}

static const tc_expr *product(tc_ctx *c, const tc_expr *e, const tc_expr *i, int k) {
    return tc_mul(c, e, tc_add(c, i, tc_i64(c, k)));
}

static const struct {
    const char *name;
    grow *step;
} KINDS[] = {{"abs", absolute},   {"min", least}, {"divmod", quotient}, {"select", choice}, {"condition", nested_choice},
             {"product", product}};

typedef struct kernel {
    tc_ctx *c;
    const tc_tensor *x;
    tc_axis i;
} kernel;

static kernel open_kernel(void) {
    kernel k = {.c = tc_ctx_new()};
    k.i = tc_te_axis(k.c, "i", ROWS);
    k.x = tc_te_placeholder(k.c, "X", TC_I64, 1, (const int64_t[]){ROWS}, false);
    return k;
}

/* Of X, as deep as that or one operation less. */
static const tc_expr *chain(const kernel *k, grow *step, int depth) {
    const tc_expr *i = tc_varx(k->c, k->i.var), *e = tc_read(k->c, k->x, 1, &i), *next = e;
    for (int n = 0; next->depth <= depth; n++) {
        e = next;
        next = step(k->c, e, i, n);
    }
    return e;
}

static tc_status make(const kernel *k, const tc_expr *body, tc_workload **w, tc_error *err) {
    const tc_compute *op = tc_te_compute(k->c, "Y", 1, &k->i, TC_RED_NONE, 0, NULL, 1, &body);
    return tc_te_workload(k->c, 1, &k->x, 1, &op->out[0], w, err);
}

static void too_deep(void **state) {
    (void)state;
    tc_workload *w;
    for (size_t n = 0; n < TC_LEN(KINDS); n++) {
        kernel k = open_kernel();
        tc_error err = {0};
        assert_int_equal(make(&k, chain(&k, KINDS[n].step, TC_MAX_DEPTH + 4), &w, &err), TC_BAD_INPUT);
        assert_non_null(strstr(err.msg, "compute Y: its expression is more than 500 operations deep"));
        assert_int_equal(make(&k, chain(&k, KINDS[n].step, UINT16_MAX - 1), &w, &err), TC_BAD_INPUT);
        tc_ctx_free(k.c);
    }
}

/* Shared in memory it is small; as text it would be 2^40 terms. */
static void too_large(void **state) {
    (void)state;
    kernel k = open_kernel();
    tc_workload *w;
    tc_error err = {0};
    const tc_expr *i = tc_varx(k.c, k.i.var), *e = tc_read(k.c, k.x, 1, &i);
    for (int n = 0; n < 40; n++)
        e = tc_add(k.c, tc_mul(k.c, e, e), e);
    assert_int_equal(tc_expr_tree_size(e, 1000), 1001);
    assert_int_equal(make(&k, e, &w, &err), TC_BAD_INPUT);
    assert_non_null(
        strstr(err.msg, "compute Y: up to its expression, the expressions of the workload have more than 1048576 terms"));
    tc_ctx_free(k.c);
}

/* ---- texts that are small, and stand for much ---- */

static void refused(const char *text, const char *why) {
    tc_ctx *c = tc_ctx_new();
    const tc_workload *w;
    tc_error err = {0};
    assert_int_equal(tc_te_parse(c, "k.te", text, &w, &err), TC_BAD_INPUT);
    if (!strstr(err.msg, why))
        fail_msg("expected '%s', found '%s'", why, err.msg);
    tc_ctx_free(c);
}

/* Each symbol has the one before twice: 2^40 terms. */
/* A kernel behind a comment: `bytes` in all. */
static char *long_text(size_t bytes) {
    static const char copies[] = "\ntensor X[8] f32\ncompute Y[i:8] = X[i]\noutput Y\n";
    char *text = tc_xmalloc(bytes + 1);
    memset(text, '#', bytes);
    memcpy(text + bytes + 1 - sizeof copies, copies, sizeof copies);
    return text;
}

static void long_texts(void **state) {
    (void)state;
    for (int over = 0; over < 2; over++) {
        char *text = long_text((size_t)TC_BYTES_TE + (size_t)over);
        tc_ctx *c = tc_ctx_new();
        const tc_workload *w;
        tc_error err = {0};
        assert_int_equal(tc_te_parse(c, "k.te", text, &w, &err), over ? TC_BAD_INPUT : TC_OK);
        if (over) {
            assert_int_equal(err.code, TC_ERROR_BEYOND);
            assert_non_null(strstr(err.msg, "k.te: the text has 16777217 bytes, and at most 16777216 are read"));
        }
        tc_ctx_free(c);
        free(text);
    }
}

static void doubling_symbols(void **state) {
    (void)state;
    tc_strbuf b = {0};
    tc_sb_add(&b, "symbol n 1..4\nsymbol a0 = n + 1\n");
    for (int i = 1; i <= 40; i++)
        tc_sb_printf(&b, "symbol a%d = (a%d + a%d) / 2\n", i, i - 1, i - 1);
    tc_sb_add(&b, "tensor X[a40] f32\ncompute Y[i:a40] = X[i]\noutput Y\n");
    refused(tc_sb_str(&b),
            "k.te:10:13: this expression cannot define symbol a8: with the definitions of its symbols written out, it "
            "has more than 1024 terms");
    tc_strbuf_free(&b);
}

/* Each gelu has its operand twice. */
static void doubling_functions(void **state) {
    (void)state;
    tc_strbuf b = {0};
    tc_sb_add(&b, "tensor X[8] f32\ncompute Y[i:8] = ");
    for (int i = 0; i < 40; i++)
        tc_sb_add(&b, "gelu(");
    tc_sb_add(&b, "X[i]");
    for (int i = 0; i < 40; i++)
        tc_sb_add(&b, ")");
    tc_sb_add(&b, "\noutput Y\n");
    refused(tc_sb_str(&b), "k.te:2:18: with what its names and functions stand for, this expression has too many terms");
    tc_strbuf_free(&b);
}

/* 50 computes, each of 2^15 terms. */
static void large_together(void **state) {
    (void)state;
    tc_strbuf b = {0};
    tc_sb_add(&b, "tensor X[8] f32\n");
    for (int k = 0; k < 50; k++) {
        tc_sb_printf(&b, "compute Y%d[i:8] = ", k);
        for (int i = 0; i < 13; i++)
            tc_sb_add(&b, "gelu(");
        tc_sb_printf(&b, k ? "Y%d[i]" : "X[i]", k - 1);
        for (int i = 0; i < 13; i++)
            tc_sb_add(&b, ")");
        tc_sb_add(&b, "\n");
    }
    tc_sb_add(&b, "output Y49\n");
    refused(tc_sb_str(&b), "this expression has too many terms; all expressions here may have 1048576");
    tc_strbuf_free(&b);
}

static void many_members(void **state) {
    (void)state;
    tc_strbuf b = {0};
    for (int k = 0; k <= TC_MAX_COMPUTES; k++)
        tc_sb_printf(&b, "compute Y%d[i:8] = f32(i)\n", k);
    tc_sb_add(&b, "output ");
    for (int k = 0; k <= TC_MAX_COMPUTES; k++)
        tc_sb_printf(&b, "%sY%d", k ? ", " : "", k);
    refused(tc_sb_str(&b), "k.te: the workload has 129 computes, but may have 128");
    tc_sb_clear(&b);
    for (int k = 0; k <= TC_MAX_INPUTS; k++)
        tc_sb_printf(&b, "tensor X%d[8] f32\n", k);
    tc_sb_add(&b, "compute Y[i:8] = X0[i]\noutput Y\n");
    refused(tc_sb_str(&b), "k.te: the workload has 257 inputs, but may have 256");
    tc_sb_clear(&b);
    for (int k = 0; k <= TC_MAX_SYMBOLS; k++)
        tc_sb_printf(&b, "symbol n%d 1..8\n", k);
    tc_sb_add(&b, "compute Y[i:8] = f32(n0");
    for (int k = 1; k <= TC_MAX_SYMBOLS; k++)
        tc_sb_printf(&b, " + n%d", k);
    tc_sb_add(&b, ")\noutput Y\n");
    refused(tc_sb_str(&b), "k.te: the workload has 257 symbols, but may have 256");
    tc_strbuf_free(&b);
}

/* What a condition shows of a read is shown of that read alone, not of the same read elsewhere. */
static void conditions_of_one_read(void **state) {
    (void)state;
    const char *form = "symbol N 1..8\nsymbol M 1..8\ntensor X[N] f32\ncompute Y[i:M, j:M] = %s\noutput Y\n";
    static const char *const bodies[] = {
        "select(i * M + j < N, X[i * M + j], 0.0) + X[i * M + j]",
        "X[i * M + j] + select(i * M + j < N, X[i * M + j], 0.0)",
        "select(i != j, select(i * M + j < N, X[i * M + j], 0.0) + X[i * M + j], 0.0)",
    };
    char text[400];
    for (size_t i = 0; i < TC_LEN(bodies); i++) {
        snprintf(text, sizeof text, form, bodies[i]);
        refused(text, "index 0 ");
    }
}

/* ---- stack ---- */

/* Everything that recurs over a body. */
static void *use(void *user) {
    size_t n = (size_t)(uintptr_t)user;
    kernel k = open_kernel();
    tc_workload *w = NULL, *made = NULL;
    tc_error err = {0};
    const tc_expr *body = chain(&k, KINDS[n].step, TC_MAX_DEPTH);
    int64_t in[ROWS] = {0, 1, -1, 5, INT64_MIN, INT64_MAX, 7, 100}, out[ROWS], again[ROWS];
    if (make(&k, body, &w, &err) != TC_OK)
        return NULL;
    tc_env *env = tc_env_new();
    tc_env_set(env, k.i.var, (tc_ival){0, ROWS - 1});
    const tc_expr *simple = tc_te_simplify(k.c, body, env);
    tc_te_bounds(body, env);
    tc_env_free(env);
    bool ok = make(&k, simple, &made, &err) == TC_OK;
    ok = ok && tc_te_interp(w, (const void *const[]){in}, (void *const[]){out}, &err) == TC_OK;
    ok = ok && tc_te_interp(made, (const void *const[]){in}, (void *const[]){again}, &err) == TC_OK;
    ok = ok && memcmp(out, again, sizeof out) == 0;
    tc_strbuf b = {0};
    tc_te_print(&b, w);
    tc_strbuf_free(&b);
    tc_te_canonical(k.c, w);
    tc_te_flops(w);
    tc_ctx_free(k.c);
    return ok ? (void *)KINDS : NULL;
}

static size_t stack_of(size_t n) {
    pthread_attr_t attr;
    pthread_t thread;
    void *result;
    uint8_t *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(stack, UNTOUCHED, STACK);
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstack(&attr, stack, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attr, use, (void *)(uintptr_t)n), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    pthread_attr_destroy(&attr);
    size_t at = 0;
    while (at < STACK && stack[at] == UNTOUCHED)
        at++;
    munmap(stack, STACK);
    if (!result)
        fail_msg("%s: refused, or not the same when simplified", KINDS[n].name);
    return STACK - at;
}

static void deep_ones_fit(void **state) {
    (void)state;
    for (size_t n = 0; n < TC_LEN(KINDS); n++) {
        size_t used = stack_of(n);
        print_message("%s: %zu bytes of stack a level\n", KINDS[n].name, used / TC_MAX_DEPTH);
#ifndef TCTUNE_SANITIZED
        assert_true(used <= (size_t)STACK_PER_LEVEL * TC_MAX_DEPTH);
#endif
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_deep),           cmocka_unit_test(too_large),
        cmocka_unit_test(long_texts),         cmocka_unit_test(doubling_symbols),
        cmocka_unit_test(doubling_functions), cmocka_unit_test(large_together),
        cmocka_unit_test(many_members),       cmocka_unit_test(conditions_of_one_read),
        cmocka_unit_test(deep_ones_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
