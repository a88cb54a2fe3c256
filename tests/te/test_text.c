/* Golden files of the text form.
 * text/NAME.te: NAME.out has it as printed, its canonical form and its hash; printing and parsing again must change nothing.
 * bad/NAME.te: NAME.err has the whole message. TC_UPDATE_GOLDENS=1 rewrites both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>

#include "support/rng.h"
#include "support/system/fs.h"
#include "te/text.h"

static int is_te(const struct dirent *d) {
    size_t n = strlen(d->d_name);
    return n > 3 && strcmp(d->d_name + n - 3, ".te") == 0;
}

static char *read_file(const char *path) {
    char *text;
    tc_error err;
    if (tc_fs_read(path, &text, NULL, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return text;
}

static void check_golden(const char *path, const char *got) {
    tc_error err;
    if (getenv("TC_UPDATE_GOLDENS"))
        assert_int_equal(tc_fs_write(path, got, strlen(got), &err), TC_OK);
    char *want = read_file(path);
    if (strcmp(want, got) != 0)
        fail_msg("%s: expected\n%s\ngot\n%s\nTC_UPDATE_GOLDENS=1 rewrites it", path, want, got);
    free(want);
}

static const tc_workload *parse(tc_ctx *c, const char *file, const char *text) {
    const tc_workload *w;
    tc_error err;
    if (tc_te_parse(c, file, text, &w, &err) != TC_OK)
        fail_msg("%s\n%s", err.msg, text);
    return w;
}

static void check_text(const char *name) {
    char path[256], out[256];
    snprintf(path, sizeof path, "text/%s", name);
    snprintf(out, sizeof out, "text/%.*s.out", (int)strlen(name) - 3, name);
    char *text = read_file(path);
    tc_ctx *c = tc_ctx_new(), *other = tc_ctx_new();
    const tc_workload *w = parse(c, path, text);
    tc_strbuf printed = {0}, again = {0}, canonical = {0};
    tc_te_print(&printed, w);
    /* in the same context a second parse of a compute's body must give the very same nodes, but for its own variables */
    const tc_workload *second = parse(other, path, printed.data);
    tc_te_print(&again, second);
    assert_string_equal(printed.data, again.data);
    assert_string_equal(tc_te_hash(w).hex, tc_te_hash(second).hex);
    const tc_workload *renamed = tc_te_canonical(other, w);
    tc_te_print(&canonical, renamed);
    assert_string_equal(tc_te_hash(w).hex, tc_te_hash(renamed).hex);
    tc_sb_printf(&printed, "\n# canonical\n%s\n# %s\n", canonical.data, tc_te_hash(w).hex);
    check_golden(out, printed.data);
    tc_strbuf_free(&printed);
    tc_strbuf_free(&again);
    tc_strbuf_free(&canonical);
    tc_ctx_free(c);
    tc_ctx_free(other);
    free(text);
}

static void check_bad(const char *name) {
    char path[256], out[256];
    snprintf(path, sizeof path, "bad/%s", name);
    snprintf(out, sizeof out, "bad/%.*s.err", (int)strlen(name) - 3, name);
    char *text = read_file(path);
    tc_ctx *c = tc_ctx_new();
    const tc_workload *w = NULL;
    tc_error err;
    if (tc_te_parse(c, name, text, &w, &err) == TC_OK)
        fail_msg("%s was accepted", path);
    assert_int_equal(err.status, TC_BAD_INPUT);
    assert_null(w);
    tc_strbuf message = {0};
    tc_sb_printf(&message, "%s\n", err.msg);
    check_golden(out, message.data);
    tc_strbuf_free(&message);
    tc_ctx_free(c);
    free(text);
}

static void for_each(const char *dir, void (*check)(const char *name)) {
    struct dirent **list;
    int n = scandir(dir, &list, is_te, alphasort);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        check(list[i]->d_name);
        free(list[i]);
    }
    free(list);
}

static void goldens(void **state) {
    (void)state;
    for_each("text", check_text);
}

static void refusals(void **state) {
    (void)state;
    for_each("bad", check_bad);
}

/* ---- names ---- */

static void names_do_not_matter(void **state) {
    (void)state;
    tc_ctx *c = tc_ctx_new();
    const tc_workload *a = parse(c, "a", "tensor X[4, 5] f32\ntensor Y[5] f32\ncompute Z[i:4, j:5] = X[i, j] + Y[j]\noutput Z\n");
    const tc_workload *b =
        parse(c, "b", "tensor foo[4, 5] f32\ntensor bar[5] f32\ncompute i[j:4, i:5] = foo[j, i] + bar[i]\noutput i\n");
    const tc_workload *d = parse(c, "d", "tensor X[4, 5] f32\ntensor Y[5] f32\ncompute Z[i:4, j:5] = Y[j] + X[i, j]\noutput Z\n");
    assert_string_equal(tc_te_hash(a).hex, tc_te_hash(b).hex);
    assert_string_not_equal(tc_te_hash(a).hex, tc_te_hash(d).hex);
    tc_ctx_free(c);
}

/* Names of a model's nodes need not be identifiers, nor axis names unique; the text must still read back. */
static void odd_names(void **state) {
    (void)state;
    tc_ctx *c = tc_ctx_new();
    const tc_tensor *x = tc_te_placeholder(c, "/layer.0/in:0", TC_F32, 2, (int64_t[]){4, 4}, false);
    const tc_tensor *y = tc_te_placeholder(c, "_layer_0_in_0", TC_F32, 0, NULL, false);
    tc_axis axes[] = {tc_te_axis(c, "i", 4), tc_te_axis(c, "i", 4)};
    const tc_expr *idx[] = {tc_varx(c, axes[0].var), tc_varx(c, axes[1].var)};
    const tc_expr *body = tc_add(c, tc_read(c, x, 2, idx), tc_read(c, y, 0, NULL));
    const tc_compute *op = tc_te_compute(c, "nan", 2, axes, TC_RED_NONE, 0, NULL, 1, &body);
    tc_workload *w;
    assert_int_equal(tc_te_workload(c, 0, NULL, 1, &op->out[0], &w, NULL), TC_OK);
    tc_strbuf b = {0};
    tc_te_print(&b, w);
    const tc_workload *again = parse(c, "odd", b.data);
    assert_string_equal(tc_te_hash(w).hex, tc_te_hash(again).hex);
    assert_int_equal(again->nin, 2);
    tc_strbuf_free(&b);
    tc_ctx_free(c);
}

static void unread_inputs(void **state) {
    (void)state;
    tc_ctx *c = tc_ctx_new();
    const tc_workload *w = parse(c, "u", "tensor A[4] f32\ntensor B[4] f32\ncompute Y[i:4] = B[i]\noutput Y\n");
    assert_int_equal(w->nin, 2);
    assert_string_equal(w->in[0]->name, "A");
    tc_workload *fewer;
    assert_int_equal(tc_te_workload(c, 0, NULL, 1, w->out, &fewer, NULL), TC_OK);
    assert_int_equal(fewer->nin, 1);
    tc_ctx_free(c);
}

/* ---- malformed input ---- */

static void expect_refused(const char *text, const char *part) {
    tc_ctx *c = tc_ctx_new();
    const tc_workload *w;
    tc_error err = {0};
    if (tc_te_parse(c, "big", text, &w, &err) == TC_OK || !strstr(err.msg, part))
        fail_msg("expected a refusal with '%s', got '%s'", part, err.msg);
    tc_ctx_free(c);
}

static void deep_nesting(void **state) {
    (void)state;
    static const struct {
        const char *repeat, *part;
    } CASES[] = {{"(", "nested"},    {"-", "nested"},       {"!", "nested"}, {"X[", "nested"},
                 {"exp(", "nested"}, {"1 + ", "too early"}, {"i + ", "deep"}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        tc_strbuf b = {0};
        tc_sb_add(&b, "tensor X[4] f32\ncompute Y[i:4] = ");
        for (int n = 0; n < 100000; n++)
            tc_sb_add(&b, CASES[i].repeat);
        expect_refused(b.data, CASES[i].part);
        tc_strbuf_free(&b);
    }
}

/* A prefix of a good file, or one with a byte changed, may be good or bad, but nothing worse. */
static void mutations(void **state) {
    (void)state;
    char *text = read_file("text/literals.te");
    size_t n = strlen(text);
    tc_rng rng = tc_rng_seed(7);
    for (int i = 0; i < 1500; i++) {
        char *copy = tc_xstrdup(text);
        if (i % 3 == 0)
            copy[tc_rng_below(&rng, (int64_t)n)] = 0;
        for (int k = 0; k < 3; k++)
            copy[tc_rng_below(&rng, (int64_t)n)] = "()[]:,+-*/%<>=!&|01i.e#\n @\x80"[tc_rng_below(&rng, 27)];
        tc_ctx *c = tc_ctx_new();
        const tc_workload *w;
        tc_error err = {0};
        if (tc_te_parse(c, "mutation", copy, &w, &err) != TC_OK)
            assert_true(strlen(err.msg) > 10);
        tc_ctx_free(c);
        free(copy);
    }
    free(text);
}

/* ---- the shared expression parser ---- */

typedef struct scope {
    tc_ctx *c;
    const tc_var *i;
    char b; /* stands for a buffer, which te knows by its address only */
} scope;

static const tc_expr *resolve(void *user, const char *name, int nidx, const tc_expr *const *idx) {
    scope *s = user;
    if (strcmp(name, "i") == 0 && !idx)
        return tc_varx(s->c, s->i);
    return strcmp(name, "B") == 0 && nidx == 1 ? tc_load(s->c, (const tc_buffer *)(const void *)&s->b, TC_F32, idx[0], NULL)
                                               : NULL;
}

static const tc_expr *parse_expr(scope *s, const char *text) {
    tc_lex lex;
    tc_error err;
    const tc_expr *e = NULL;
    if (tc_lex_open(&lex, tc_ctx_arena(s->c), "expr", text, false, &err) != TC_OK ||
        tc_te_parse_expr(s->c, &lex, &(tc_te_scope){.dialect = TC_DIALECT_TIR, .resolve = resolve, .user = s}, &e, &err) != TC_OK)
        fail_msg("%s in %s", err.msg, text);
    assert_int_equal(lex.tok.kind, TC_TOK_EOF);
    return e;
}

static const char *name_of(void *user, const tc_expr *e) {
    (void)user;
    return e->op == TC_OP_LOAD ? "B" : e->u.var->name;
}

static void vectors(void **state) {
    (void)state;
    scope s = {.c = tc_ctx_new()};
    s.i = tc_var_new(s.c, "i");
    static const char *const TEXTS[] = {
        "B[ramp(i * 16, 1, 16)]",
        "B[ramp(i, 1, 16), mask: ramp(i, 1, 16) < bcast(100, 16)] * bcast(0.5, 16)",
        "bcast(f16(0.5), 4)",
        "fma(bcast(B[i], 8), B[ramp(0, 1, 8)], bcast(0.0, 8))",
        "select(ramp(0, 1, 4) < bcast(i, 4), bcast(1.0, 4), B[ramp(i, 2, 4)])",
        "ramp(i, 1, 8) - bcast(3, 8)",
        "bcast(i32(5), 4) - bcast(i32(i), 4)",
        "i32(ramp(i, 1, 8)) - bcast(i32(3), 8)",
    };
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        tc_strbuf b = {0};
        const tc_expr *e = parse_expr(&s, TEXTS[i]);
        tc_expr_print_named(&b, e, name_of, NULL);
        assert_string_equal(b.data, TEXTS[i]);
        assert_ptr_equal(parse_expr(&s, b.data), e);
        tc_strbuf_free(&b);
    }
    assert_ptr_equal(parse_expr(&s, "B[ramp(i, 1, 4)] * 2.0"), parse_expr(&s, "B[ramp(i, 1, 4)] * bcast(2.0, 4)"));
    tc_ctx_free(s.c);
}

/* The smallest number of each type: a minus sign and digits that alone would be too large. */
static void smallest_numbers(void **state) {
    (void)state;
    scope s = {.c = tc_ctx_new()};
    s.i = tc_var_new(s.c, "i");
    const tc_expr *i = tc_varx(s.c, s.i), *least = tc_i64(s.c, INT64_MIN);
    const tc_expr *const all[] = {least,
                                  tc_add(s.c, i, least),
                                  tc_sub(s.c, i, least),
                                  tc_sub(s.c, least, i),
                                  tc_add(s.c, tc_mul(s.c, i, least), least),
                                  tc_bin(s.c, TC_OP_MIN, i, least),
                                  tc_bin(s.c, TC_OP_SHR, least, i),
                                  tc_ramp(s.c, least, least, 4),
                                  tc_add(s.c, tc_bcast(s.c, i, 4), tc_bcast(s.c, least, 4)),
                                  tc_int(s.c, TC_U64, INT64_MIN),
                                  tc_int(s.c, TC_I32, INT32_MIN),
                                  tc_int(s.c, TC_I8, INT8_MIN)};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        tc_strbuf b = {0};
        tc_expr_print_named(&b, all[k], name_of, NULL);
        assert_ptr_equal(parse_expr(&s, b.data), all[k]);
        tc_strbuf_free(&b);
    }
    tc_ctx_free(s.c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goldens),   cmocka_unit_test(refusals),      cmocka_unit_test(names_do_not_matter),
        cmocka_unit_test(odd_names), cmocka_unit_test(unread_inputs), cmocka_unit_test(deep_nesting),
        cmocka_unit_test(mutations), cmocka_unit_test(vectors),       cmocka_unit_test(smallest_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
