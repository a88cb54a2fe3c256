/* What the verifier says of bounds, against running: random nests of two loops, the inner one's extent depending on the outer
 * one, with accesses in both branches of a condition and in both arms of a select. Each access is moved so that what it really
 * reaches begins at 0, and the buffer is as long as that, which must be accepted, or one element shorter, which must not be. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/rng.h"
#include "support/vec.h"
#include "tir_lower/oracle.h"
#include "tir_lower/text/text.h"
#include "tir_lower/verify/verify.h"

/* c + a * i + b * j + q * (i / m) + r * (i % m) */
typedef struct form {
    int c, a, b, q, r, m;
} form;

static int value(const form *f, int i, int j) {
    return f->c + f->a * i + f->b * j + f->q * (i / f->m) + f->r * (i % f->m);
}

static void print_form(tc_strbuf *s, const form *f) {
    tc_sb_printf(s, "%d + i * %d + j * %d + i / %d * %d + i %% %d * %d", f->c, f->a, f->b, f->m, f->q, f->m, f->r);
}

/* x < 0, or that and, or or, y < 0; or x == 0 */
typedef struct cond {
    enum { LESS, EQUAL, BOTH, EITHER } kind;
    form x, y;
} cond;

static bool holds(const cond *c, int i, int j) {
    bool x = value(&c->x, i, j) < 0, y = value(&c->y, i, j) < 0;
    return c->kind == EQUAL ? value(&c->x, i, j) == 0 : c->kind == LESS ? x : c->kind == BOTH ? x && y : x || y;
}

static void print_cond(tc_strbuf *s, const cond *c) {
    print_form(s, &c->x);
    tc_sb_add(s, c->kind == EQUAL ? " == 0" : " < 0");
    if (c->kind != BOTH && c->kind != EITHER)
        return;
    tc_sb_add(s, c->kind == BOTH ? " && " : " || ");
    print_form(s, &c->y);
    tc_sb_add(s, " < 0");
}

enum { PLACES = 4 }; /* that the element is read from: the then-branch; the arms of a select in the else-branch; after the if */

typedef struct nest {
    int ni, nj, least, step, m; /* i in ni, j in min(least + i % m * step, nj) */
    cond branch, arm;
    form at[PLACES];
    int size;
} nest;

static bool reaches(const nest *n, int place, int i, int j) {
    bool then = holds(&n->branch, i, j), arm = holds(&n->arm, i, j);
    return place == 0 ? then : place == 3 || (!then && arm == (place == 1));
}

static form random_form(tc_rng *r, int most) {
    form f = {.m = 2 + (int)tc_rng_below(r, 3)};
    int *part[] = {&f.a, &f.b, &f.q, &f.r};
    for (int k = 0; k < 2; k++)
        *part[tc_rng_below(r, 4)] = (int)tc_rng_below(r, 2 * most + 1) - most;
    f.c = (int)tc_rng_below(r, 9) - 4;
    return f;
}

static cond random_cond(tc_rng *r) {
    cond c = {.kind = (int)tc_rng_below(r, 4)};
    c.x = random_form(r, 2);
    c.y = random_form(r, 2);
    return c;
}

/* Moves what is read from `place` to begin at 0; *most: the last element. */
static void settle(nest *n, int place, int *most) {
    form *f = &n->at[place];
    int lo = INT32_MAX, hi = INT32_MIN;
    for (int i = 0; i < n->ni; i++)
        for (int j = 0; j < TC_MIN(n->least + i % n->m * n->step, n->nj); j++)
            if (reaches(n, place, i, j)) {
                lo = TC_MIN(lo, value(f, i, j));
                hi = TC_MAX(hi, value(f, i, j));
            }
    if (lo > hi) /* it is never read */
        *f = (form){.m = 1};
    else
        f->c -= lo;
    *most = TC_MAX(*most, lo > hi ? 0 : hi - lo);
}

static nest random_nest(tc_rng *r) {
    nest n = {.ni = 1 + (int)tc_rng_below(r, 12)};
    n.nj = 1 + (int)tc_rng_below(r, 6);
    n.least = 1 + (int)tc_rng_below(r, 3);
    n.step = (int)tc_rng_below(r, 3);
    n.m = 2 + (int)tc_rng_below(r, 3);
    n.branch = random_cond(r);
    n.arm = random_cond(r);
    int most = 0;
    for (int k = 0; k < PLACES; k++) {
        n.at[k] = random_form(r, 9);
        settle(&n, k, &most);
    }
    n.size = most + 1;
    return n;
}

static void print_read(tc_strbuf *s, const nest *n, int place) {
    tc_sb_add(s, "X[");
    print_form(s, &n->at[place]);
    tc_sb_add(s, "]");
}

static void print_nest(tc_strbuf *s, const nest *n, int size) {
    tc_sb_clear(s);
    tc_sb_printf(s, "func t\nparam X f32[%d] in 0 align 4\nparam Y f32[1] out 0 align 4\nbody\nfor i in %d {\n", size, n->ni);
    tc_sb_printf(s, "for j in min(%d + i %% %d * %d, %d) {\nif ", n->least, n->m, n->step, n->nj);
    print_cond(s, &n->branch);
    tc_sb_add(s, " {\nY[0] = ");
    print_read(s, n, 0);
    tc_sb_add(s, "\n} else {\nY[0] = select(");
    print_cond(s, &n->arm);
    tc_sb_add(s, ", ");
    print_read(s, n, 1);
    tc_sb_add(s, ", ");
    print_read(s, n, 2);
    tc_sb_add(s, ")\n}\nY[0] = ");
    print_read(s, n, 3);
    tc_sb_add(s, "\n}\n}\n");
}

static tc_status verify(const char *text, tc_error *err) {
    tc_ctx *c = tc_ctx_new();
    tc_func *f;
    if (tc_tir_parse(c, "t.tir", text, &f, err) != TC_OK)
        fail_msg("%s\n%s", err->msg, text);
    tc_status s = tc_tir_verify(c, f, err);
    tc_ctx_free(c);
    return s;
}

static void bounds_are_those_of_running(void **state) {
    enum { NESTS = 4000 };
    tc_strbuf s = {0};
    (void)state;
    for (uint64_t seed = 0; seed < NESTS; seed++) {
        tc_rng r = tc_rng_seed(seed);
        tc_error err = {0};
        nest n = random_nest(&r);
        print_nest(&s, &n, n.size);
        if (verify(tc_sb_str(&s), &err) != TC_OK)
            fail_msg("seed %llu is refused: %s\n%s", (unsigned long long)seed, err.msg, tc_sb_str(&s));
        print_nest(&s, &n, n.size - 1);
        if (n.size > 1 && verify(tc_sb_str(&s), &err) != TC_ILLEGAL)
            fail_msg("seed %llu is accepted\n%s", (unsigned long long)seed, tc_sb_str(&s));
    }
    tc_strbuf_free(&s);
}

/* Two dimensions split by what does not divide them, each under its own guard: far more combinations than can be run, but each
 * dimension alone has few. */
static void ragged_dimensions_are_apart(void **state) {
    enum { NESTS = 200, LONGEST = 20000, WIDEST = 100 };
    (void)state;
    for (uint64_t seed = 0; seed < NESTS; seed++) {
        tc_rng r = tc_rng_seed(seed);
        tc_error err = {0};
        int64_t rows = 1 + tc_rng_below(&r, LONGEST), cols = 1 + tc_rng_below(&r, LONGEST);
        int64_t tall = 1 + tc_rng_below(&r, WIDEST), wide = 1 + tc_rng_below(&r, WIDEST), skip = tc_rng_below(&r, 10);
        for (int less = 0; less < 2; less++) {
            tc_strbuf s = {0};
            tc_sb_printf(&s, "func t\nparam X f32[%" PRId64 "] in 0 align 4\nparam Y f32[1] out 0 align 4\nbody\n",
                         (rows - 1) * cols + cols + skip - less);
            tc_sb_printf(&s, "for i in %" PRId64 " {\nfor j in %" PRId64 " {\n", (rows + tall - 1) / tall,
                         (cols + wide - 1) / wide);
            tc_sb_printf(&s, "for k in %" PRId64 " {\nif i * %" PRId64 " + k < %" PRId64 " {\n", tall, tall, rows);
            tc_sb_printf(&s, "for l in %" PRId64 " {\nif j * %" PRId64 " + l < %" PRId64 " {\n", wide, wide, cols);
            tc_sb_printf(&s,
                         "Y[0] = X[%" PRId64 " + (i * %" PRId64 " + k) * %" PRId64 " + j * %" PRId64 " + l]\n}\n}\n}\n}\n}\n}\n",
                         skip, tall, cols, wide);
            assert_int_equal(verify(tc_sb_str(&s), &err), less ? TC_ILLEGAL : TC_OK);
            tc_strbuf_free(&s);
        }
    }
}

/* Tiles in a fused loop that a size ends, over panels of 16 with room for the largest size alone: a panel that has any column has
 * room. There are more sizes and tiles than can be run. */
static void a_size_ends_whole_panels(void **state) {
    enum { SIZES = 50, WIDE = 16, DEEP = 8, PANEL = WIDE * DEEP };
    (void)state;
    for (uint64_t seed = 0; seed < SIZES; seed++) {
        tc_rng r = tc_rng_seed(seed);
        int most = 2000 + (int)tc_rng_below(&r, 2000), tile = 2 + (int)tc_rng_below(&r, 9);
        int panels = (most + WIDE - 1) / WIDE, tiles = (panels + tile - 1) / tile;
        int last = (2 * panels - 1) * PANEL + (DEEP - 1) * WIDE + (most - 1) % WIDE;
        for (int less = 0; less < 2; less++) {
            tc_strbuf s = {0};
            tc_error err = {0};
            tc_sb_printf(&s, "func t\nsymbol N 1..%d\nparam X f32[%d] in 0 align 4\nparam Y f32[1] out 0 align 4\nbody\n", most,
                         less ? last : 2 * panels * PANEL);
            tc_sb_printf(&s, "for t in %d {\nfor b in %d {\nfor k in %d {\nfor l in %d {\n", 2 * tiles, tile, DEEP, WIDE);
            tc_sb_printf(&s, "if t %% %d * %d + b * %d + l < N {\n", tiles, tile * WIDE, WIDE);
            tc_sb_printf(&s, "Y[0] = X[t / %d * %d + t %% %d * %d + b * %d + k * %d + l]\n}\n}\n}\n}\n}\n", tiles, panels * PANEL,
                         tiles, tile * PANEL, PANEL, WIDE);
            if (verify(tc_sb_str(&s), &err) != (less ? TC_ILLEGAL : TC_OK))
                fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, err.msg, tc_sb_str(&s));
            tc_strbuf_free(&s);
        }
    }
}

/* Conditions that are about none of the loops of an index may still say that it is never reached. */
static void what_is_never_run_reaches_nothing(void **state) {
    (void)state;
    for (int most = 0; most < 5; most++) {
        tc_strbuf s = {0};
        tc_error err = {0};
        tc_sb_add(&s, "func t\nparam X f32[20] in 0 align 4\nparam Y f32[1] out 0 align 4\nbody\nfor t in 5 {\nfor k in 20 {\n");
        tc_sb_printf(&s, "if t * 2 + t / 2 < 5 {\nY[0] = X[k]\n} else {\nif t < %d {\nY[0] = X[k + 14]\n}\n}\n}\n}\n", most);
        assert_int_equal(verify(tc_sb_str(&s), &err), most > 2 ? TC_ILLEGAL : TC_OK); /* 2 * 2 + 1 is 5 */
        tc_strbuf_free(&s);
    }
}

/* Of a condition with two parts, one of which is about what is in memory, the other bounds all the same. */
static void parts_of_conditions_stand_alone(void **state) {
    (void)state;
    static const char *const conds[] = {"if t * 3 + (k + 8) / 17 < 17 && X[0] < 0.0 {\n",
                                        "if X[0] < 0.0 && t * 3 + (k + 8) / 17 < 17 {\n"},
                             *const branches[] = {"Y[0] = X[t * 51 + k + 8]\n}\n",
                                                  "Y[0] = 0.0\n} else {\nY[0] = X[t * 51 + k + 8]\n}\n"};
    for (int c = 0; c < 2; c++)
        for (int otherwise = 0; otherwise < 2; otherwise++)
            for (int less = 0; less < 2; less++) {
                tc_strbuf s = {0};
                tc_error err = {0};
                tc_sb_printf(
                    &s,
                    "func t\nparam X f32[%d] in 0 align 4\nparam Y f32[1] out 0 align 4\nbody\nfor t in 6 {\nfor k in 280 {\n",
                    289 - less);
                tc_sb_printf(&s, "%s%s}\n}\n", conds[c], branches[otherwise]); /* the other branch says nothing of t and k */
                assert_int_equal(verify(tc_sb_str(&s), &err), less || otherwise ? TC_ILLEGAL : TC_OK);
                tc_strbuf_free(&s);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(bounds_are_those_of_running),
                                       cmocka_unit_test(ragged_dimensions_are_apart), cmocka_unit_test(a_size_ends_whole_panels),
                                       cmocka_unit_test(what_is_never_run_reaches_nothing),
                                       cmocka_unit_test(parts_of_conditions_stand_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
