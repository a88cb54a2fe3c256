/* Proofs that an index stays within a size: what must be shown, how many steps that takes, and that what is shown is true. */
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
#include "te/index/prove.h"
#include "te/te.h"
#include "te/text.h"

enum { LETTERS = 26, MOST_KNOWN = 24 };

/* Variables a..z, and symbols A..Z from 1 to 64. */
typedef struct fixture {
    tc_ctx *c;
    tc_env *env;
    const tc_var *var[LETTERS], *symbol[LETTERS];
    tc_known_cond known[MOST_KNOWN];
    size_t nknown;
    int64_t work;
    tc_proof_hints *hints;
} fixture;

static fixture open_fixture(void) {
    fixture f = {.c = tc_ctx_new(), .env = tc_env_new(), .work = TC_PROOF_WORK};
    for (int i = 0; i < LETTERS; i++) {
        f.var[i] = tc_var_new(f.c, (char[]){(char)('a' + i), 0});
        f.symbol[i] = tc_symbol_new(f.c, (char[]){(char)('A' + i), 0}, 1, 64);
    }
    return f;
}

static void close_fixture(fixture *f) {
    tc_env_free(f->env);
    tc_ctx_free(f->c);
}

static const tc_expr *resolve(void *user, const char *name, int nidx, const tc_expr *const *idx) {
    fixture *f = user;
    (void)nidx;
    if (idx || name[1])
        return NULL;
    return tc_varx(f->c, name[0] >= 'a' ? f->var[name[0] - 'a'] : f->symbol[name[0] - 'A']);
}

static const tc_expr *written(fixture *f, const char *text) {
    tc_lex lex;
    tc_error err;
    const tc_expr *e = NULL;
    if (tc_lex_open(&lex, tc_ctx_arena(f->c), "test", text, false, &err) != TC_OK ||
        tc_te_parse_expr(f->c, &lex, &(tc_te_scope){.dialect = TC_DIALECT_TIR, .resolve = resolve, .user = f}, &e, &err) != TC_OK)
        fail_msg("%s in %s", err.msg, text);
    return e;
}

static const tc_expr *parse(fixture *f, const char *text) {
    return tc_te_simplify(f->c, written(f, text), NULL);
}

/* v < extent */
static void loop(fixture *f, char v, int64_t extent) {
    tc_env_set(f->env, f->var[v - 'a'], (tc_ival){0, extent - 1});
}

/* As the verifier does: ranges learn of the condition too. */
static void know(fixture *f, const char *cond) {
    const tc_expr *e = parse(f, cond);
    assert_true(f->nknown < MOST_KNOWN);
    tc_env_assume(f->env, e);
    f->known[f->nknown++] = (tc_known_cond){e, true};
}

static tc_premises premises(fixture *f) {
    return (tc_premises){f->c, f->env, f->nknown, f->known, LETTERS, f->var, NULL, &f->work, f->hints};
}

static bool below(fixture *f, const char *index, const char *size) {
    const tc_premises k = premises(f);
    return tc_te_below(&k, parse(f, index), parse(f, size));
}

static bool in_size(fixture *f, const char *index, const tc_tensor *t) {
    const tc_premises k = premises(f);
    return tc_te_in_size(&k, parse(f, index), t);
}

/* ---- what must be shown ---- */

/* Rows in pieces of 80, one of padding: t is the piece, and k + l is a column in it. */
static void test_quotient_has_a_lower_bound(void **state) {
    (void)state;
    fixture f = open_fixture();
    loop(&f, 't', 3);
    loop(&f, 'k', 3);
    loop(&f, 'l', 16);
    assert_false(below(&f, "t + (k + l + 79) / 80 - 1", "3"));
    know(&f, "t * 80 + k + l >= 1");
    assert_true(below(&f, "t + (k + l + 79) / 80 - 1", "3"));
    close_fixture(&f);
}

/* The condition bounds t * 80 + k. What l adds to the dividend is at least 0, and at most 15. */
static void test_quotient_of_more_than_the_condition_bounds(void **state) {
    (void)state;
    fixture f = open_fixture();
    loop(&f, 't', 4);
    loop(&f, 'k', 3);
    loop(&f, 'l', 16);
    know(&f, "t * 80 + k >= 1");
    know(&f, "t * 80 + k < 225");
    assert_true(below(&f, "t + (k + l + 79) / 80 - 1", "3"));
    assert_false(below(&f, "t + (k + l + 79) / 80 - 1", "2"));
    close_fixture(&f);
}

/* [N, 9, 224] whose loops over N and 9 are one loop t. The kernel for large N computes only the last tasks. */
static void test_fused_loop_is_split_as_conditions_split_it(void **state) {
    (void)state;
    fixture f = open_fixture();
    const tc_tensor t = {.ndim = 3, .shape = {64, 9, 224}, .symbol = {f.symbol['N' - 'A']}};
    loop(&f, 't', 64 * 9);
    loop(&f, 'l', 224);
    know(&f, "t >= 288");
    know(&f, "t / 9 - 31 <= N");
    assert_true(in_size(&f, "(t - 288) * 224 + l", &t));
    assert_false(in_size(&f, "(t - 279) * 224 + l", &t));
    close_fixture(&f);
}

/* Pooling of [N, 8, D, H, W] in steps of 2, with every window's place masked. */
static void pooled_volume(fixture *f, tc_tensor *t) {
    *t = (tc_tensor){.ndim = 5, .shape = {64, 8, 64, 64, 64}};
    for (int d = 0; d < 5; d++)
        t->symbol[d] = d == 1 ? NULL : f->symbol["N.DHW"[d] - 'A'];
    loop(f, 'r', 64 * 8 * 32 * 32 * 32);
    for (int i = 0; i < 3; i++)
        loop(f, "abc"[i], 3);
    know(f, "r < N * 262144");
    know(f, "r / 1024 % 32 * 2 + a >= 1");
    know(f, "r / 1024 % 32 * 2 + a - D < 1");
    know(f, "r / 32 % 32 * 2 + b >= 1");
    know(f, "r / 32 % 32 * 2 + b - H < 1");
    know(f, "r % 32 * 2 + c >= 1");
    know(f, "r % 32 * 2 + c - W < 1");
}
static const char in_volume[] =
    "r / 32768 * (D * H * W) + r / 1024 % 32 * (H * W * 2) + a * (H * W) - H * W + r / 32 % 32 * (W * 2)"
    " + b * W - W + r % 32 * 2 + c - 1";

/* Batch and channels are one coordinate of the index. The proof is short. */
static void test_dimensions_are_joined(void **state) {
    (void)state;
    fixture f = open_fixture();
    tc_tensor t;
    pooled_volume(&f, &t);
    assert_true(in_size(&f, in_volume, &t));
    assert_in_range(TC_PROOF_WORK - f.work, 1, 1000);
    close_fixture(&f);
}

/* [B, M, 4] with M = N * 6 / 4 is B * (N + N / 2) * 4 elements: the stride of B is a sum. */
static void test_stride_is_a_sum(void **state) {
    (void)state;
    fixture f = open_fixture();
    const tc_tensor t = {
        .ndim = 3, .shape = {64, 96, 4}, .symbol = {f.symbol['B' - 'A'], tc_symbol_defined(f.c, "M", written(&f, "N * 6 / 4"))}};
    loop(&f, 'b', 64);
    loop(&f, 'm', 96);
    loop(&f, 'k', 4);
    know(&f, "b < B");
    assert_false(in_size(&f, "b * ((N + N / 2) * 4) + m * 4 + k", &t));
    know(&f, "m < N + N / 2");
    assert_true(in_size(&f, "b * ((N + N / 2) * 4) + m * 4 + k", &t));
    assert_false(in_size(&f, "b * ((N + N / 2) * 4) + m * 4 + k + 1", &t));
    assert_false(in_size(&f, "b * (N * 8) + m * 4 + k", &t));
    close_fixture(&f);
}

/* [B, N * 6] as [B * 6, N]: the row is a quotient by a size and a number. Where N is 0, there is no k. */
static void test_quotient_by_a_product(void **state) {
    (void)state;
    for (int64_t least = 0; least <= 1; least++) {
        fixture f = open_fixture();
        f.symbol['N' - 'A'] = tc_symbol_new(f.c, "N", least, 64);
        loop(&f, 'b', 64 * 6);
        loop(&f, 'k', 64);
        know(&f, "k < N");
        assert_false(below(&f, "(b * N + k) / (N * 6)", "B"));
        assert_false(below(&f, "(b * N + k) % (N * 6)", "N * 5"));
        know(&f, "b * N + k < B * N * 6");
        assert_true(below(&f, "(b * N + k) / (N * 6)", "B"));
        assert_true(below(&f, "(b * N + k) % (N * 6)", "N * 6"));
        assert_false(below(&f, "(b * N + k) / (N * 5)", "B"));
        close_fixture(&f);
    }
}

/* ---- how many steps that takes ---- */

static int64_t steps_of_failure(fixture *f, const tc_tensor *t) {
    char past[512];
    int64_t before = f->work;
    snprintf(past, sizeof past, "%s + W", in_volume); /* the last row's successor */
    assert_false(in_size(f, past, t));
    return before - f->work;
}

/* A proof that fails takes steps from the budget, and no more than there are. The next one finds what is left. */
static void test_failures_share_a_budget(void **state) {
    (void)state;
    fixture f = open_fixture();
    tc_tensor t;
    pooled_volume(&f, &t);
    int64_t steps = steps_of_failure(&f, &t);
    assert_in_range(steps, 1, TC_PROOF_WORK);
    assert_int_equal(steps_of_failure(&f, &t), TC_MIN(steps, TC_PROOF_WORK - steps)); /* counted: the same every time */
    f.work = steps / 2;
    assert_int_equal(steps_of_failure(&f, &t), steps / 2);
    assert_int_equal(f.work, 0);
    assert_int_equal(steps_of_failure(&f, &t), 0);
    close_fixture(&f);
}

/* All proofs take their steps from the budget, however short they are. */
static void test_nothing_is_shown_without_a_budget(void **state) {
    (void)state;
    fixture f = open_fixture();
    tc_tensor t;
    pooled_volume(&f, &t);
    f.work = 0;
    assert_false(in_size(&f, in_volume, &t));
    assert_false(below(&f, "r / 32 % 32 * 2 + b - 1", "H"));
    assert_int_equal(f.work, 0);
    close_fixture(&f);
}

static int64_t steps_of_success(fixture *f, const tc_tensor *t) {
    int64_t before = f->work;
    assert_true(in_size(f, in_volume, t));
    return before - f->work;
}

/* The second time a proof goes on from each sum as before, and looks at fewer sums. What is
 * not true is not shown. */
static void test_hints_shorten_proofs(void **state) {
    (void)state;
    static const char *const lead_nowhere[] = {"r % 32 * 2 + c - W - a < 1", "r % 32 * 2 + c - W - b < 1",
                                               "r / 32 % 32 * 2 + b - H - c < 1", "r / 32 % 32 * 2 + b - H - a < 1"};
    fixture f = open_fixture();
    tc_proof_hints hints = {0};
    tc_tensor t;
    pooled_volume(&f, &t);
    size_t needed = f.nknown;
    for (size_t i = 0; i < TC_LEN(lead_nowhere); i++)
        know(&f, lead_nowhere[i]);
    int64_t without = steps_of_success(&f, &t);
    f.hints = &hints;
    assert_int_equal(steps_of_success(&f, &t), without);
    assert_in_range(steps_of_success(&f, &t), 1, without - 1);
    f.nknown = needed;
    assert_in_range(steps_of_success(&f, &t), 1, without - 1);
    steps_of_failure(&f, &t);
    tc_proof_hints_free(&hints);
    close_fixture(&f);
}

/* Long proofs are not looked for. */
static void test_short_proofs_alone(void **state) {
    (void)state;
    fixture f = open_fixture();
    tc_tensor t;
    pooled_volume(&f, &t);
    const tc_premises k = premises(&f);
    const tc_expr *shown = parse(&f, "r / 32 % 32 * 2 + b - 1"),
                  *not_shown = parse(&f, "(r / 32 % 32 * 2 + b) * W + c * a - r / 7");
    assert_true(tc_te_plainly_below(&k, shown, parse(&f, "H")));
    assert_false(tc_te_plainly_below(&k, not_shown, parse(&f, "H * W")));
    int64_t brief = TC_PROOF_WORK - f.work;
    f.work = TC_PROOF_WORK;
    assert_false(tc_te_below(&k, not_shown, parse(&f, "H * W")));
    assert_true(TC_PROOF_WORK - f.work > brief);
    close_fixture(&f);
}

static void test_conditions_contradict(void **state) {
    (void)state;
    fixture f = open_fixture();
    loop(&f, 'a', 2);
    loop(&f, 'b', 1000000);
    static const char *const conds[] = {"a * 7 + b * 2 >= 7", "a * 4 + b * 3 >= 7", "a * 2 + b < 1"};
    tc_env *plain = f.env; /* of loops alone: ranges that conditions narrowed would be empty */
    f.env = tc_env_new();
    for (size_t i = 0; i < TC_LEN(conds); i++) {
        tc_premises k = premises(&f);
        k.env = plain;
        assert_false(tc_te_contradicts(&k));
        know(&f, conds[i]);
    }
    tc_premises k = premises(&f);
    k.env = plain;
    assert_true(tc_te_contradicts(&k));
    tc_env_free(plain);
    close_fixture(&f);
}

/* ---- what is shown is true ---- */

typedef struct point {
    const fixture *f;
    int64_t var[LETTERS], symbol;
} point;

static int64_t value(const point *p, const tc_expr *e) {
    if (e->op == TC_OP_INT)
        return e->u.i;
    if (e->op == TC_OP_VAR)
        return e->u.var->is_symbol ? p->symbol : p->var[e->u.var->name[0] - 'a'];
    return tc_eval_i(e->op, e->args[0]->dtype, value(p, e->args[0]), e->nargs > 1 ? value(p, e->args[1]) : 0);
}

static bool all_hold(const point *p) {
    for (size_t i = 0; i < p->f->nknown; i++)
        if (!value(p, p->f->known[i].cond))
            return false;
    return true;
}

static const char *draw_sum(tc_rng *r, char *out, size_t cap) {
    static const char *const forms[] = {"a",
                                        "b",
                                        "(a * 4 + b + %d) / 4",
                                        "(b + %d) / 4",
                                        "(a + b) %% 4",
                                        "a / 3",
                                        "(a * 4 - b + %d) / 4",
                                        "a * N",
                                        "(a * N + b) / (N * 2)"};
    size_t n = 0;
    for (int i = 0; i < 2; i++) {
        char term[64];
        snprintf(term, sizeof term, forms[tc_rng_below(r, TC_LEN(forms))], (int)tc_rng_below(r, 9) - 4);
        n += (size_t)snprintf(out + n, cap - n, "%s%s * %d", i ? " + " : "", term, (int)tc_rng_below(r, 5) - 1);
    }
    return out;
}

/* Draws conditions and an index of a in 0..8, b in 0..5 and a size N. Where a proof says that the index is below a size, or that no
 * values meet the conditions, all values are tried. Some draws have a budget for long proofs. */
static void test_what_is_shown_is_true(void **state) {
    (void)state;
    tc_rng r = tc_rng_seed(7);
    int shown = 0, contradict = 0;
    for (int draw = 0; draw < 1000; draw++) {
        fixture f = open_fixture();
        char sum[160], text[200];
        loop(&f, 'a', 9);
        loop(&f, 'b', 6);
        for (int i = 0; i < 3; i++) {
            static const char *const conds[] = {"%s >= %d", "%s < %d", "%s - N < %d", "%s + N >= %d"};
            draw_sum(&r, sum, sizeof sum);
            snprintf(text, sizeof text, conds[tc_rng_below(&r, TC_LEN(conds))], sum, (int)tc_rng_below(&r, 12) - 2);
            know(&f, text);
        }
        const tc_expr *index = parse(&f, draw_sum(&r, sum, sizeof sum)), *size = parse(&f, tc_rng_below(&r, 2) ? "N + 4" : "7");
        f.work = draw % 16 ? 1000 : 5000;
        const tc_premises k = premises(&f);
        bool says = tc_te_below(&k, index, size);
        f.work = 5000;
        bool never = tc_te_contradicts(&k);
        shown += says;
        contradict += never;
        point p = {.f = &f};
        for (p.symbol = 1; (says || never) && p.symbol <= 64; p.symbol += p.symbol < 12 ? 1 : 26)
            for (p.var[0] = 0; p.var[0] < 9; p.var[0]++)
                for (p.var[1] = 0; p.var[1] < 6; p.var[1]++)
                    if (all_hold(&p) && (never || value(&p, index) < 0 || value(&p, index) >= value(&p, size)))
                        fail_msg("draw %d: %s is %lld where a = %lld, b = %lld, N = %lld", draw, sum, (long long)value(&p, index),
                                 (long long)p.var[0], (long long)p.var[1], (long long)p.symbol);
        close_fixture(&f);
    }
    assert_in_range(shown, 50, 950);     /* neither all nor none */
    assert_in_range(contradict, 5, 950); /* most conditions that are drawn can be met */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quotient_has_a_lower_bound),
        cmocka_unit_test(test_quotient_of_more_than_the_condition_bounds),
        cmocka_unit_test(test_fused_loop_is_split_as_conditions_split_it),
        cmocka_unit_test(test_dimensions_are_joined),
        cmocka_unit_test(test_stride_is_a_sum),
        cmocka_unit_test(test_quotient_by_a_product),
        cmocka_unit_test(test_failures_share_a_budget),
        cmocka_unit_test(test_nothing_is_shown_without_a_budget),
        cmocka_unit_test(test_hints_shorten_proofs),
        cmocka_unit_test(test_short_proofs_alone),
        cmocka_unit_test(test_conditions_contradict),
        cmocka_unit_test(test_what_is_shown_is_true),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
