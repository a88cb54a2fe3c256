/* Simplifier and bounds: a table of what must come out, then random expressions over random ranges. At random points of the
 * ranges the simplified expression must have the same value, and both must lie within the bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/rng.h"
#include "support/vec.h"
#include "te/eval.h"
#include "te/index/affine.h"
#include "te/text.h"

enum { NVARS = 26 };

typedef struct fixture {
    tc_ctx *c;
    tc_env *env;
    const tc_var *var[NVARS]; /* named a..z */
} fixture;

static fixture open_fixture(void) {
    fixture f = {.c = tc_ctx_new(), .env = tc_env_new()};
    for (int i = 0; i < NVARS; i++)
        f.var[i] = tc_var_new(f.c, (char[]){(char)('a' + i), 0});
    return f;
}

static void close_fixture(fixture *f) {
    tc_env_free(f->env);
    tc_ctx_free(f->c);
}

static const tc_expr *resolve(void *user, const char *name, int nidx, const tc_expr *const *idx) {
    fixture *f = user;
    (void)nidx;
    return idx || name[1] || name[0] < 'a' ? NULL : tc_varx(f->c, f->var[name[0] - 'a']);
}

static const tc_expr *parse(fixture *f, const char *text) {
    tc_lex lex;
    tc_error err;
    const tc_expr *e = NULL;
    if (tc_lex_open(&lex, tc_ctx_arena(f->c), "test", text, false, &err) != TC_OK ||
        tc_te_parse_expr(f->c, &lex, &(tc_te_scope){.dialect = TC_DIALECT_TIR, .resolve = resolve, .user = f}, &e, &err) != TC_OK)
        fail_msg("%s in %s", err.msg, text);
    return e;
}

/* ---- the table ---- */

typedef struct rule {
    const char *from, *env, *to; /* env: "x:0:5 y:-3:3" */
} rule;

static const rule RULES[] = {
    {"x - x", "", "0"},
    {"(i * 6 + j) * 768 + k - (i * 6 + j) * 768", "", "k"},
    {"x", "x:3:3", "3"},
    /* quotients and remainders */
    {"(64 * x + r) / 64", "r:0:63", "x"},
    {"(64 * x + r) % 64", "r:0:63", "r"},
    {"(64 * x + r) / 64", "r:-64:-1", "x - 1"},
    {"(64 * x + r) / 128", "r:0:63", "x / 2"},
    {"(64 * x + r) % 128", "r:0:63", "x % 2 * 64 + r"},
    {"x / 4 / 8", "", "x / 32"},
    {"(x / 4 + 1) / 8", "", "(x + 4) / 32"},
    {"x % 32 / 4", "", "x / 4 % 8"},
    {"x % 32 % 4", "", "x % 4"},
    {"(x + 7) / 4", "", "(x + 3) / 4 + 1"},
    {"(9 * x) % 4", "", "x % 4"},
    {"(6 * x) / 4", "", "x + x / 2"},
    {"x / 100", "x:0:99", "0"},
    {"x % 100", "x:0:99", "x"},
    {"x % 100", "x:-50:-1", "x + 100"},
    {"x / y", "x:0:4 y:5:9", "0"},
    {"x % y", "x:0:4 y:5:9", "x"},
    {"(x * 768 + y * 64 + z) / 64 % 12", "y:0:11 z:0:63", "y"},
    /* recombination */
    {"x % 6 + 6 * (x / 6)", "", "x"},
    {"x - 6 * (x / 6)", "", "x % 6"},
    {"x / 32 * 32 + x / 4 % 8 * 4 + x % 4", "", "x"},
    {"x / 4 % 8 * 4 + x % 4", "", "x % 32"},
    {"(a * 64 + b * 16 + c) / 64 * 64 + (a * 64 + b * 16 + c) % 64", "c:0:15 b:0:3", "a * 64 + b * 16 + c"},
    {"((j * 192 + m * 64 + l) / 64 * 768 + k) * 64 + (j * 192 + m * 64 + l) % 64", "l:0:63 m:0:2",
     "j * 147456 + m * 49152 + k * 64 + l"},
    /* of products */
    {"a * n / a", "a:1:9 n:0:9", "n"},
    {"a * n / a", "a:0:9 n:0:9", "a * n / a"},
    {"a * n % a", "a:1:9 n:0:9", "0"},
    {"n / n", "n:1:9", "1"},
    {"n / n", "n:0:9", "n / n"},
    {"n % n", "n:1:9", "0"},
    {"a * b * n / (b * a)", "a:1:9 b:1:9 n:-9:9", "n"},
    {"(6 * (a * n)) / (2 * a)", "a:1:9 n:0:9", "n * 3"},
    {"(3 * (a * n)) / (2 * a)", "a:1:9 n:0:9", "n + n / 2"},
    {"(a * i + r) / a", "a:8:9 i:0:9 r:0:7", "i"},
    {"(a * i + r) % a", "a:8:9 i:0:9 r:0:7", "r"},
    {"(a * i + r) / a", "a:1:9 i:0:9 r:-9:9", "i + r / a"},
    {"(a * i + r) % a", "a:1:9 i:0:9 r:-9:9", "r % a"},
    {"(a * i + r) / (a * 6)", "a:8:9 i:0:50 r:0:7", "i / 6"},
    {"(a * i + r) % (a * 6)", "a:8:9 i:0:50 r:0:7", "r + i % 6 * a"},
    {"(a * i + r) / (a * 6)", "a:7:9 i:0:50 r:0:7", "(a * i + r) / (a * 6)"},
    {"(4 * (a * i) + r) / (6 * a)", "a:8:9 i:0:50 r:-7:0", "(a * i * 4 + r) / (a * 6)"},
    {"(b * (a * i) + x % a) / (a * 6)", "a:1:9 b:1:9 i:0:50 x:0:50", "b * i / 6"},
    {"x % a % a", "a:1:9 x:-9:9", "x % a"},
    {"x % a / a", "a:1:9 x:-9:9", "0"},
    {"(a + 1) * n / (a + 1)", "a:0:9 n:0:9", "n"},
    {"n / a * a + n % a", "a:1:9 n:0:9", "n"},
    {"n / a * a", "a:1:9 n:0:9", "n / a * a"},
    {"min(n, n * a)", "a:1:9 n:0:9", "n"},
    {"max(a * n, n) + 1", "a:1:9 n:0:9", "a * n + 1"},
    {"min(n, n * a)", "a:0:9 n:0:9", "min(n, n * a)"},
    {"min(n, n * a)", "a:1:9 n:-1:9", "min(n, n * a)"},
    {"max(n, n / a)", "a:1:9 n:0:9", "n"},
    {"min(n % a, n)", "a:1:9 n:0:9", "n % a"},
    {"min(2 * (n * a), 3 * n)", "a:1:9 n:0:9", "min(n * a * 2, n * 3)"},
    {"min(3 * n, 4 * (n * a))", "a:1:9 n:0:9", "n * 3"},
    /* min and max */
    {"min(x, y)", "x:0:5 y:5:9", "x"},
    {"min(6 * i + 6, 128) - 6 * i", "i:0:21", "min(128 - i * 6, 6)"},
    {"min(6 * i + 6, 128) - 6 * i", "i:0:20", "6"},
    {"min(min(x, 7), 5)", "", "min(x, 5)"},
    {"max(x + 3, y + 3)", "", "max(x, y) + 3"},
    {"max(x, x + 1)", "", "x + 1"},
    /* conditions */
    {"6 * i + r < 126", "r:0:5", "i < 21"},
    {"6 * i + r < 128", "r:0:5", "i * 6 + r < 128"},
    {"6 * i + r < 128", "r:0:5 i:0:20", "true"},
    {"6 * i + r >= 126", "r:0:5", "i >= 21"},
    {"x / 6 < 21", "", "x < 126"},
    {"4 * x == 6", "", "false"},
    {"4 * x + 4 == 8 * y", "", "x - y * 2 == -1"},
    {"x + 1 > x", "", "true"},
    {"x < 5 && x < 7", "", "x < 5"},
    {"x < 5 || x < 3 || x >= 5", "", "true"},
    {"!(x < 5)", "", "x >= 5"},
    {"select(x < 5, min(x, 7), max(x, 2))", "", "select(x < 5, x, x)"},
    {"select(i < 5 && i >= 2, min(i, 7), max(i, 2))", "", "select(i < 5 && i >= 2, i, max(i, 2))"},
    {"select(x < 5, select(y < 3, u, v), v)", "", "select(x < 5 && y < 3, u, v)"},
    {"select(x < 5, select(y < 3, u, v), u)", "", "select(x < 5, select(y < 3, u, v), u)"},
    {"select(x < 9, select(x < n, u, v), v)", "n:1:9", "select(x - n < 0, u, v)"},
    {"select(x < 8, select(x < n, u, v), v)", "n:1:9", "select(x < 8 && x - n < 0, u, v)"},
    {"select(y > 0, select(x / y < 3, u, v), v)", "x:0:9 y:0:9", "select(y >= 1, select(x / y < 3, u, v), v)"},
    /* vectors */
    {"(ramp(x * 16, 1, 16) + bcast(64 * y, 16)) / bcast(64, 16)", "x:0:3", "bcast(y, 16)"},
    {"(ramp(x * 16, 1, 16) + bcast(64 * y, 16)) % bcast(64, 16)", "x:0:3", "ramp(x * 16, 1, 16)"},
    {"ramp(x * 16, 1, 16) < bcast(64, 16)", "x:0:3", "bcast(true, 16)"},
    {"ramp(x, 1, 8) * bcast(3, 8) - bcast(x, 8)", "", "ramp(x * 2, 3, 8)"},
};

static void set_ranges(fixture *f, const char *text) {
    char v;
    long long lo, hi;
    for (int n; sscanf(text, " %c:%lld:%lld%n", &v, &lo, &hi, &n) == 3; text += n)
        tc_env_set(f->env, f->var[v - 'a'], (tc_ival){lo, hi});
}

static void check_rule(const rule *r) {
    fixture f = open_fixture();
    set_ranges(&f, r->env);
    tc_strbuf got = {0}, want = {0};
    tc_expr_print(&got, tc_te_simplify(f.c, parse(&f, r->from), f.env));
    tc_expr_print(&want, parse(&f, r->to));
    if (strcmp(tc_sb_str(&got), tc_sb_str(&want)) != 0)
        fail_msg("%s with {%s}: expected %s, got %s", r->from, r->env, tc_sb_str(&want), tc_sb_str(&got));
    tc_strbuf_free(&got);
    tc_strbuf_free(&want);
    close_fixture(&f);
}

static void table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof RULES / sizeof RULES[0]; i++)
        check_rule(&RULES[i]);
}

/* What divides another size is learnt from what a model needs of its sizes. */
static void whole_quotients(void **state) {
    (void)state;
    static const struct {
        const char *from, *known, *to;
    } rows[] = {
        {"n / a * a", "n % a == 0", "n"},
        {"a * (n / a)", "n % a == 0", "n"},
        {"n / a * a", "n % b == 0", "n / a * a"},
        {"n / a * b * a", "n % a == 0", "b * n"},
        {"n / (a * b) * b * a", "n % (a * b) == 0", "n"},
        {"min(n / a * a, n)", "n % a == 0", "n"},
        {"(n / a * a + 7) / 8", "n % a == 0", "(n + 7) / 8"},
        {"n / max(a, 1) * a", "n % a == 0 && a >= 1", "n"},
        {"n / 4 * 4", "n % 4 == 0", "n"},
        {"n / 2 * 6 + b", "n % 4 == 0", "n * 3 + b"},
        {"n / 4 * 2", "n % 4 == 0", "n / 4 * 2"},
        {"n / 8 * 8", "n % 4 == 0", "n / 8 * 8"},
        {"n / 4 * 4", "n % 4 == 1", "n / 4 * 4"},
        {"n * a / 4 * 4 - n * a", "n * a % 4 == 0", "0"},
        {"(n + a * 3) / 5 * 5", "(a * 3 + n) % 5 == 0", "a * 3 + n"},
        {"n % 2 + a", "n % 4 == 0", "a"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture f = open_fixture();
        tc_strbuf got = {0}, want = {0};
        set_ranges(&f, i == 7 ? "n:0:64 a:0:8 b:1:8" : "n:0:64 a:1:8 b:1:8");
        tc_env_assume(f.env, parse(&f, rows[i].known));
        tc_expr_print(&got, tc_te_simplify(f.c, parse(&f, rows[i].from), f.env));
        tc_expr_print(&want, parse(&f, rows[i].to));
        if (strcmp(tc_sb_str(&got), tc_sb_str(&want)) != 0)
            fail_msg("%s where %s: expected %s, got %s", rows[i].from, rows[i].known, tc_sb_str(&want), tc_sb_str(&got));
        tc_strbuf_free(&got);
        tc_strbuf_free(&want);
        close_fixture(&f);
    }
}

static void check_bounds(const char *text, const char *ranges, const char *assume, int64_t lo, int64_t hi) {
    fixture f = open_fixture();
    set_ranges(&f, ranges);
    if (assume)
        tc_env_assume(f.env, parse(&f, assume));
    tc_ival v = tc_te_bounds(parse(&f, text), f.env);
    if (v.lo != lo || v.hi != hi)
        fail_msg("%s: expected [%lld, %lld], got [%lld, %lld]", text, (long long)lo, (long long)hi, (long long)v.lo,
                 (long long)v.hi);
    tc_env_undo(f.env, 0);
    close_fixture(&f);
}

static void bounds_table(void **state) {
    (void)state;
    const char *tile = "i:0:21 j:0:5 k:0:767";
    check_bounds("i * 6 + j", tile, NULL, 0, 131);
    check_bounds("x - x + y", "x:0:9 y:1:2", NULL, 1, 2);
    check_bounds("x - x / 6 * 6", "x:0:99", NULL, 0, 5);
    check_bounds("16 * x % 64", "", NULL, 0, 48);
    check_bounds("min(6 * i + 6, 128) - 6 * i", tile, NULL, 2, 6);
    check_bounds("select(x >= 3, x - 3, 0)", "x:0:9", NULL, 0, 6);
    check_bounds("(i * 6 + j) * 768 + k", tile, "i * 6 + j < 128", 0, 128 * 768 - 1);
    check_bounds("i * 6 + j", tile, "i * 6 + j < 128 && k > 3", 0, 127);
    /* two guards on disjoint parts of one index: rows and columns of a padded image */
    check_bounds("(h + r - 1) * 14 + (w + s - 1)", "h:0:13 r:0:2 w:0:13 s:0:2",
                 "h + r >= 1 && h + r < 15 && w + s >= 1 && w + s < 15", 0, 195);
    check_bounds("x", "", NULL, INT64_MIN, INT64_MAX);
    /* divided by what may be 0: then they are 0 */
    check_bounds("x / y", "x:5:9 y:0:4", NULL, 0, 9);
    check_bounds("x / y", "x:-9:-5 y:0:4", NULL, -9, 0);
    check_bounds("x % y", "x:5:9 y:0:4", NULL, 0, 3);
    check_bounds("x % y", "x:2:9 y:0:0", NULL, 0, 0);
    /* One axis that was split into eleven loops: nine conditions, the last of which has all of them. */
    check_bounds("a * 1024 + b * 512 + c * 256 + d * 128 + e * 64 + f * 32 + g * 16 + h * 8 + i * 4 + j * 2 + k",
                 "a:0:1 b:0:1 c:0:1 d:0:1 e:0:1 f:0:1 g:0:1 h:0:1 i:0:1 j:0:1 k:0:1",
                 "a + b < 2 && b + c < 2 && c + d < 2 && d + e < 2 && e + f < 2 && f + g < 2 && g + h < 2 && h + i < 2 && "
                 "a * 1024 + b * 512 + c * 256 + d * 128 + e * 64 + f * 32 + g * 16 + h * 8 + i * 4 + j * 2 + k < 1234",
                 0, 1233);
}

static void refinement_undone(void **state) {
    (void)state;
    fixture f = open_fixture();
    set_ranges(&f, "x:0:9");
    size_t mark = tc_env_mark(f.env);
    tc_env_assume_not(f.env, parse(&f, "x >= 5"));
    assert_int_equal(tc_env_get(f.env, f.var['x' - 'a']).hi, 4);
    assert_int_equal(tc_te_decide(parse(&f, "x < 5"), f.env), 1);
    tc_env_undo(f.env, mark);
    assert_int_equal(tc_env_get(f.env, f.var['x' - 'a']).hi, 9);
    assert_int_equal(tc_te_decide(parse(&f, "x < 5"), f.env), -1);
    close_fixture(&f);
}

/* Guards repeat each other when loops are specialised; that must cost nothing and undo exactly. */
static void many_assumptions(void **state) {
    (void)state;
    fixture f = open_fixture();
    set_ranges(&f, "i:0:99 j:0:99 k:0:99");
    size_t mark[300];
    for (int n = 0; n < 300; n++) {
        char text[64];
        mark[n] = tc_env_mark(f.env);
        snprintf(text, sizeof text, n % 3 == 0 ? "i + j < %d" : n % 3 == 1 ? "j + k < %d" : "k < %d", 500 - n);
        tc_env_assume(f.env, parse(&f, text));
    }
    const tc_expr *e = parse(&f, "(i + j) * 1000 + (j + k) * 10 + k");
    tc_env_set(f.env, f.var['i' - 'a'], (tc_ival){0, 150}); /* not an assumption: stays */
    for (int n = 299; n >= 0; n--) {
        tc_ival sum = tc_te_bounds(parse(&f, "i + j"), f.env);
        assert_int_equal(sum.hi, TC_MIN(249, 499 - n / 3 * 3));
        assert_true(tc_te_bounds(e, f.env).hi <= 249 * 1000 + 198 * 10 + 99);
        tc_env_undo(f.env, mark[n]);
    }
    assert_int_equal(tc_env_mark(f.env), 0);
    assert_int_equal(tc_te_bounds(parse(&f, "i + j"), f.env).hi, 249);
    close_fixture(&f);
}

/* What is remembered is what would come out anew: assumptions and new ranges of known variables make it forget, and variables
 * that come later do not. */
static void remembered(void **state) {
    (void)state;
    fixture f = open_fixture();
    tc_env_remember(f.env);
    const tc_expr *e = parse(&f, "x % 8 + min(x, 20)"), *x = tc_varx(f.c, f.var['x' - 'a']);
    tc_env_set(f.env, f.var['x' - 'a'], (tc_ival){0, 30});
    const tc_expr *wide = tc_te_simplify(f.c, e, f.env);
    assert_ptr_equal(tc_te_simplify(f.c, e, f.env), wide);
    size_t mark = tc_env_mark(f.env);
    tc_env_assume(f.env, parse(&f, "x < 8"));
    assert_ptr_equal(tc_te_simplify(f.c, e, f.env), parse(&f, "x * 2"));
    tc_env_undo(f.env, mark);
    assert_ptr_equal(tc_te_simplify(f.c, e, f.env), wide);
    const tc_var *late = tc_var_new(f.c, "late");
    tc_env_set(f.env, late, (tc_ival){0, 7});
    assert_ptr_equal(tc_te_simplify(f.c, tc_mod(f.c, tc_varx(f.c, late), tc_i64(f.c, 8)), f.env), tc_varx(f.c, late));
    assert_ptr_equal(tc_te_simplify(f.c, e, f.env), wide);
    tc_env_set(f.env, f.var['x' - 'a'], (tc_ival){0, 7});
    assert_ptr_equal(tc_te_simplify(f.c, e, f.env), parse(&f, "x * 2"));
    tc_env_set(f.env, f.var['x' - 'a'], (tc_ival){3, 3});
    assert_ptr_equal(tc_te_simplify(f.c, e, f.env), tc_i64(f.c, 6));
    assert_ptr_equal(tc_te_simplify(f.c, x, f.env), tc_i64(f.c, 3));
    close_fixture(&f);
}

static void affine_form(void **state) {
    (void)state;
    fixture f = open_fixture();
    tc_affine a, b;
    set_ranges(&f, "r:0:63");
    assert_true(tc_te_affine(f.c, parse(&f, "3 * x + (64 * y + r) / 64 - 5 + x"), f.env, &a));
    assert_true(tc_te_affine(f.c, parse(&f, "y - 5 + 4 * x"), f.env, &b));
    assert_int_equal(a.n, 2);
    assert_int_equal(a.c, -5);
    assert_memory_equal(a.term, b.term, 2 * sizeof a.term[0]);
    assert_ptr_equal(tc_te_from_affine(f.c, &a), tc_te_from_affine(f.c, &b));
    tc_affine many = {0};
    const tc_expr *sum = tc_i64(f.c, 0);
    for (int i = 0; i <= TC_MAX_TERMS; i++)
        sum = tc_add(f.c, sum, tc_varx(f.c, tc_var_new(f.c, "v")));
    assert_false(tc_te_affine(f.c, sum, NULL, &many));
    assert_non_null(tc_te_simplify(f.c, sum, NULL));
    close_fixture(&f);
}

/* ---- fuzz ---- */

enum { FUZZ_VARS = 5, POINTS = 24, CASES = 12000 };

typedef struct fuzz {
    fixture f;
    tc_rng rng;
    int64_t lo[FUZZ_VARS], hi[FUZZ_VARS], at[FUZZ_VARS];
} fuzz;

static uint64_t seed(void) {
    const char *given = getenv("TC_SEED");
    uint64_t n = given ? strtoull(given, NULL, 10) : 20240917;
    printf("seed %llu (set TC_SEED for another)\n", (unsigned long long)n);
    return n;
}

static int64_t pick(fuzz *z, int64_t lo, int64_t hi) {
    return lo + tc_rng_below(&z->rng, hi - lo + 1);
}

static const tc_expr *random_cond(fuzz *z, int depth);

static int64_t nice_constant(fuzz *z) {
    static const int64_t NICE[] = {1, 2, 3, 4, 6, 7, 8, 12, 16, 32, 48, 64};
    return NICE[pick(z, 0, sizeof NICE / sizeof NICE[0] - 1)];
}

static const tc_expr *random_int(fuzz *z, int depth) {
    tc_ctx *c = z->f.c;
    if (depth == 0)
        return pick(z, 0, 3) ? tc_varx(c, z->f.var[pick(z, 0, FUZZ_VARS - 1)]) : tc_i64(c, pick(z, -20, 20));
    const tc_expr *a = random_int(z, (int)pick(z, 0, depth - 1));
    switch (pick(z, 0, 11)) {
    case 0:
    case 1:
    case 2:
        return tc_add(c, a, random_int(z, (int)pick(z, 0, depth - 1)));
    case 3:
        return tc_sub(c, a, random_int(z, (int)pick(z, 0, depth - 1)));
    case 4:
    case 5:
        return tc_mul(c, a, tc_i64(c, pick(z, 0, 5) ? nice_constant(z) : -nice_constant(z)));
    case 6:
    case 7:
        return tc_div(c, a, tc_i64(c, nice_constant(z)));
    case 8:
        return tc_mod(c, a, tc_i64(c, nice_constant(z)));
    case 9:
        return tc_bin(c, pick(z, 0, 1) ? TC_OP_MIN : TC_OP_MAX, a, random_int(z, (int)pick(z, 0, depth - 1)));
    case 10:
        return tc_select(c, random_cond(z, depth - 1), a, random_int(z, (int)pick(z, 0, depth - 1)));
    default: /* split and joined again */
    {
        int64_t k = nice_constant(z);
        return tc_add(c, tc_mul(c, tc_div(c, a, tc_i64(c, k)), tc_i64(c, k)), tc_mod(c, a, tc_i64(c, k)));
    }
    }
}

static const tc_expr *random_cond(fuzz *z, int depth) {
    static const tc_op COMPARE[] = {TC_OP_EQ, TC_OP_NE, TC_OP_LT, TC_OP_LE, TC_OP_GT, TC_OP_GE};
    tc_ctx *c = z->f.c;
    if (depth > 0 && pick(z, 0, 3) == 0) {
        const tc_expr *a = random_cond(z, depth - 1), *b = random_cond(z, depth - 1);
        int64_t k = pick(z, 0, 2);
        return k == 2 ? tc_un(c, TC_OP_NOT, a) : tc_bin(c, k ? TC_OP_AND : TC_OP_OR, a, b);
    }
    return tc_bin(c, COMPARE[pick(z, 0, 5)], random_int(z, depth > 1 ? depth - 1 : 1), random_int(z, depth > 1 ? depth - 1 : 1));
}

static int64_t eval(const fuzz *z, const tc_expr *e) {
    if (e->op == TC_OP_INT)
        return e->u.i;
    if (e->op == TC_OP_VAR) {
        for (int i = 0; i < FUZZ_VARS; i++)
            if (z->f.var[i] == e->u.var)
                return z->at[i];
        fail_msg("a variable from nowhere");
    }
    if (e->op == TC_OP_SELECT)
        return eval(z, e->args[eval(z, e->args[0]) ? 1 : 2]);
    return tc_eval_i(e->op, e->args[0]->dtype, eval(z, e->args[0]), e->nargs > 1 ? eval(z, e->args[1]) : 0);
}

static void random_env(fuzz *z) {
    tc_env_free(z->f.env);
    z->f.env = tc_env_new();
    for (int i = 0; i < FUZZ_VARS; i++) {
        z->lo[i] = pick(z, 0, 3) ? 0 : pick(z, -30, 30);
        z->hi[i] = z->lo[i] + (pick(z, 0, 5) ? nice_constant(z) - 1 : pick(z, 0, 200));
        tc_env_set(z->f.env, z->f.var[i], (tc_ival){z->lo[i], z->hi[i]});
    }
}

static void complain(const fuzz *z, int number, const char *what, const tc_expr *e, const tc_expr *s, int64_t want, int64_t got) {
    tc_strbuf b = {0};
    tc_expr_print(&b, e);
    tc_sb_add(&b, "   ->   ");
    tc_expr_print(&b, s);
    tc_sb_add(&b, "   at");
    for (int i = 0; i < FUZZ_VARS; i++)
        tc_sb_printf(&b, " %c=%lld in [%lld, %lld]", 'a' + i, (long long)z->at[i], (long long)z->lo[i], (long long)z->hi[i]);
    fail_msg("case %d: %s: %s: %lld, then %lld", number, what, tc_sb_str(&b), (long long)want, (long long)got);
}

/* Bounds of every part, at the point z->at. */
typedef struct parts {
    int n;
    const tc_expr *e[256];
    tc_ival range[256];
} parts;

static void add_part(const tc_expr *e, void *user) {
    parts *p = user;
    if (e->nargs && p->n < 256)
        p->e[p->n++] = e;
}

static void check_parts(const fuzz *z, int number, const parts *p) {
    for (int i = 0; i < p->n; i++) {
        int64_t v = eval(z, p->e[i]);
        if (v < p->range[i].lo || v > p->range[i].hi)
            complain(z, number, "a part is out of bounds", p->e[i], p->e[i], v,
                     v < p->range[i].lo ? p->range[i].lo : p->range[i].hi);
    }
}

static void check_case(fuzz *z, int number, const tc_expr *e, const tc_expr *given) {
    if (given)
        tc_env_assume(z->f.env, given);
    const tc_expr *s = tc_te_simplify(z->f.c, e, z->f.env);
    tc_ival v = tc_te_bounds(e, z->f.env), vs = tc_te_bounds(s, z->f.env);
    int decided = e->dtype == TC_BOOL ? tc_te_decide(e, z->f.env) : -1;
    tc_affine a;
    const tc_expr *form = e->dtype == TC_I64 && tc_te_affine(z->f.c, e, z->f.env, &a) ? tc_te_from_affine(z->f.c, &a) : s;
    parts all = {0};
    tc_expr_walk(e, add_part, &all);
    for (int i = 0; i < all.n; i++)
        all.range[i] = tc_te_bounds(all.e[i], z->f.env);
    for (int p = 0; p < POINTS; p++) {
        for (int i = 0; i < FUZZ_VARS; i++) /* ends are where mistakes live */
            z->at[i] = p % 3 == 0 ? (pick(z, 0, 1) ? z->lo[i] : z->hi[i]) : pick(z, z->lo[i], z->hi[i]);
        if (given && !eval(z, given))
            continue;
        int64_t want = eval(z, e), got = eval(z, s);
        if (p < 6)
            check_parts(z, number, &all);
        if (want != got)
            complain(z, number, "simplified to another value", e, s, want, got);
        if (want != eval(z, form))
            complain(z, number, "the affine form has another value", e, form, want, eval(z, form));
        if (want < v.lo || want > v.hi || want < vs.lo || want > vs.hi)
            complain(z, number, "out of bounds", e, s, want,
                     want < v.lo || want < vs.lo ? TC_MAX(v.lo, vs.lo) : TC_MIN(v.hi, vs.hi));
        if (decided >= 0 && decided != want)
            complain(z, number, "decided wrongly", e, s, want, decided);
    }
}

/* ---- fuzz of sizes: products, and what they divide ---- */

static void sized_env(fuzz *z) {
    tc_env_free(z->f.env);
    z->f.env = tc_env_new();
    for (int i = 0; i < FUZZ_VARS; i++) {
        z->lo[i] = i < 2 ? 1 : pick(z, -1, 2);
        z->hi[i] = z->lo[i] + pick(z, 0, pick(z, 0, 1) ? 3 : 40);
        tc_env_set(z->f.env, z->f.var[i], (tc_ival){z->lo[i], z->hi[i]});
    }
}

/* Above 0. */
static const tc_expr *random_size(fuzz *z) {
    tc_ctx *c = z->f.c;
    const tc_expr *a = tc_varx(c, z->f.var[pick(z, 0, 1)]), *b = tc_varx(c, z->f.var[pick(z, 0, FUZZ_VARS - 1)]);
    switch (pick(z, 0, 4)) {
    case 0:
        return tc_mul(c, a, tc_varx(c, z->f.var[pick(z, 0, 1)]));
    case 1:
        return tc_bin(c, TC_OP_MAX, b, tc_i64(c, 1));
    case 2:
        return tc_mul(c, a, tc_i64(c, pick(z, 1, 4)));
    case 3:
        return tc_add(c, a, tc_i64(c, pick(z, 0, 3)));
    default:
        return a;
    }
}

static const tc_expr *random_sized(fuzz *z, int depth) {
    tc_ctx *c = z->f.c;
    if (depth == 0)
        return pick(z, 0, 5) ? tc_varx(c, z->f.var[pick(z, 0, FUZZ_VARS - 1)]) : tc_i64(c, pick(z, -3, 9));
    const tc_expr *a = random_sized(z, (int)pick(z, 0, depth - 1)), *d = random_size(z);
    switch (pick(z, 0, 10)) {
    case 0:
        return tc_add(c, a, random_sized(z, (int)pick(z, 0, depth - 1)));
    case 1:
        return tc_mul(c, a, d);
    case 9:
    case 10:
        return tc_bin(c, pick(z, 0, 1) ? TC_OP_DIV : TC_OP_MOD,
                      tc_add(c, tc_mul(c, a, d), tc_mod(c, random_sized(z, (int)pick(z, 0, depth - 1)), d)),
                      tc_mul(c, d, tc_i64(c, pick(z, 2, 6))));
    case 2:
        return tc_div(c, a, d);
    case 3:
        return tc_mod(c, a, d);
    case 4:
        return tc_mul(c, tc_div(c, a, d), d);
    case 5:
        return tc_div(c, tc_add(c, tc_mul(c, a, d), random_sized(z, (int)pick(z, 0, depth - 1))), d);
    case 6:
        return tc_mod(c, tc_add(c, tc_mul(c, d, a), random_sized(z, (int)pick(z, 0, depth - 1))), d);
    case 7:
        return tc_bin(c, pick(z, 0, 1) ? TC_OP_MIN : TC_OP_MAX, a, pick(z, 0, 1) ? tc_mul(c, a, d) : tc_div(c, a, d));
    default:
        return tc_bin(c, pick(z, 0, 1) ? TC_OP_MIN : TC_OP_MAX, a, random_sized(z, (int)pick(z, 0, depth - 1)));
    }
}

/* Something is a multiple of a size, or below it; NULL: nothing is known. */
static const tc_expr *random_relation(fuzz *z) {
    tc_ctx *c = z->f.c;
    const tc_expr *a = random_sized(z, (int)pick(z, 0, 1)), *d = random_size(z);
    int64_t kind = pick(z, 0, 2);
    return kind == 0 ? tc_bin(c, TC_OP_EQ, tc_mod(c, a, d), tc_i64(c, 0)) : kind == 1 ? tc_bin(c, TC_OP_LT, a, d) : NULL;
}

static void random_sizes(void **state) {
    (void)state;
    fuzz z = {.f = open_fixture(), .rng = tc_rng_seed(seed())};
    tc_ctx *parent = z.f.c;
    z.f.c = tc_ctx_child(parent);
    int simpler = 0;
    for (int i = 0; i < CASES; i++) {
        tc_ctx_reset(z.f.c);
        sized_env(&z);
        const tc_expr *e = random_sized(&z, (int)pick(&z, 1, 5)), *known = random_relation(&z);
        check_case(&z, i, e, known);
        simpler += tc_te_simplify(z.f.c, e, z.f.env)->depth < e->depth;
    }
    assert_true(simpler > CASES / 4);
    tc_ctx_free(z.f.c);
    z.f.c = parent;
    close_fixture(&z.f);
}

static void random_expressions(void **state) {
    (void)state;
    fuzz z = {.f = open_fixture(), .rng = tc_rng_seed(seed())};
    tc_ctx *parent = z.f.c;
    z.f.c = tc_ctx_child(parent);
    int again = 0;
    for (int i = 0; i < CASES; i++) {
        tc_ctx_reset(z.f.c);
        random_env(&z);
        int depth = (int)pick(&z, 1, 6);
        const tc_expr *e = pick(&z, 0, 2) ? random_int(&z, depth) : random_cond(&z, depth);
        check_case(&z, i, e, pick(&z, 0, 1) ? random_cond(&z, 2) : NULL);
        tc_env_undo(z.f.env, 0);
        const tc_expr *s = tc_te_simplify(z.f.c, e, z.f.env);
        again += tc_te_simplify(z.f.c, s, z.f.env) != s;
    }
    printf("%d of %d simplified further in a second pass\n", again, CASES);
    assert_true(again < CASES / 100);
    tc_ctx_free(z.f.c);
    z.f.c = parent;
    close_fixture(&z.f);
}

/* Data of unknown size may wrap: rules that assume it does not must keep away. */
static void data_is_not_index(void **state) {
    (void)state;
    fixture f = open_fixture();
    const tc_tensor *t = tc_te_placeholder(f.c, "T", TC_I64, 1, (int64_t[]){4}, false);
    const tc_expr *i = tc_varx(f.c, f.var[8]), *read = tc_read(f.c, t, 1, &i);
    const tc_expr *e = tc_div(f.c, tc_mul(f.c, read, tc_i64(f.c, 64)), tc_i64(f.c, 64));
    assert_ptr_not_equal(tc_te_simplify(f.c, e, NULL), read);
    const tc_expr *less = tc_bin(f.c, TC_OP_LT, read, tc_add(f.c, read, tc_i64(f.c, 1)));
    assert_int_equal(tc_te_simplify(f.c, less, NULL)->op, TC_OP_LT);
    /* but indices inside of reads are simplified, and floats are left alone */
    const tc_tensor *x = tc_te_placeholder(f.c, "X", TC_F32, 1, (int64_t[]){4}, false);
    const tc_expr *clumsy = tc_sub(f.c, tc_add(f.c, i, tc_i64(f.c, 3)), tc_i64(f.c, 3)), *xr = tc_read(f.c, x, 1, &clumsy);
    const tc_expr *plain = tc_read(f.c, x, 1, &i), *zero = tc_float(f.c, TC_F32, 0);
    assert_ptr_equal(tc_te_simplify(f.c, tc_add(f.c, xr, zero), NULL), tc_add(f.c, plain, zero));
    assert_ptr_equal(tc_te_simplify(f.c, tc_sub(f.c, xr, xr), NULL), tc_sub(f.c, plain, plain));
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),
        cmocka_unit_test(bounds_table),
        cmocka_unit_test(refinement_undone),
        cmocka_unit_test(remembered),
        cmocka_unit_test(affine_form),
        cmocka_unit_test(many_assumptions),
        cmocka_unit_test(whole_quotients),
        cmocka_unit_test(random_sizes),
        cmocka_unit_test(random_expressions),
        cmocka_unit_test(data_is_not_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
