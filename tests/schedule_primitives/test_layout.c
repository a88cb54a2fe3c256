/* transform_layout against enumeration: a layout that is accepted maps every element to a place of its own, inside the physical
 * shape; random texts, most of which must be refused. And the text of a layout as part of a trace: a text that is read prints as
 * a text that reads as the same trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schedule_primitives/schedule.h"
#include "support/vec.h"
#include "te/te.h"

static void random_term(tc_strbuf *b, tc_rng *r) {
    static const char *const V[] = {"a", "b"};
    const char *v = V[tc_rng_below(r, 2)];
    long long c = 1 + tc_rng_below(r, 6), d = 1 + tc_rng_below(r, 6), k = 1 + tc_rng_below(r, 9);
    if (tc_rng_below(r, 3) == 0)
        tc_sb_printf(b, "%lld * ", k);
    switch (tc_rng_below(r, 5)) {
    case 0:
        tc_sb_add(b, v);
        break;
    case 1:
        tc_sb_printf(b, "(%s / %lld)", v, c);
        break;
    case 2:
        tc_sb_printf(b, "(%s %% %lld)", v, c);
        break;
    case 3:
        tc_sb_printf(b, "((%s / %lld) %% %lld)", v, c, d);
        break;
    default:
        tc_sb_printf(b, "((%s %% %lld) / %lld)", v, c * d, c);
    }
}

static void random_text(tc_strbuf *b, tc_rng *r) {
    int n = 1 + (int)tc_rng_below(r, 4);
    tc_sb_add(b, "(a, b) -> (");
    for (int i = 0; i < n; i++) {
        tc_sb_add(b, i ? ", " : "");
        for (int64_t k = tc_rng_below(r, 3); k >= 0; k--) {
            random_term(b, r);
            tc_sb_add(b, k ? tc_rng_below(r, 8) ? " + " : " - " : "");
        }
    }
    tc_sb_add(b, ")");
}

/* The linear place of element (a, b); -1 when it lies outside of the shape. */
static int64_t place(tc_ctx *c, const tc_packed *p, int64_t a, int64_t b) {
    const tc_expr *at[2] = {tc_i64(c, a), tc_i64(c, b)};
    int64_t linear = 0;
    for (int i = 0; i < p->layout->nout; i++) {
        const tc_expr *e = tc_expr_subst(c, p->layout->to[i], 2, p->layout->var, at);
        assert_int_equal(e->op, TC_OP_INT);
        if (e->u.i < 0 || e->u.i >= p->packed->shape[i])
            return -1;
        linear = linear * p->packed->shape[i] + e->u.i;
    }
    return linear;
}

static void check_injective(tc_ctx *c, const tc_packed *p, const char *text) {
    int64_t size = tc_tensor_size(p->packed), physical[TC_MAX_DIMS];
    assert_true(tc_sch_layout_shape(p->layout, p->original->shape, physical));
    assert_memory_equal(physical, p->packed->shape, sizeof *physical * (size_t)p->packed->ndim);
    char *taken = calloc((size_t)size, 1);
    for (int64_t a = 0; a < p->original->shape[0]; a++) {
        for (int64_t b = 0; b < p->original->shape[1]; b++) {
            int64_t at = place(c, p, a, b);
            if (at < 0 || taken[at])
                fail_msg("%s: element %lld, %lld has place %lld", text, (long long)a, (long long)b, (long long)at);
            taken[at] = 1;
        }
    }
    free(taken);
}

static const tc_workload *copy_workload(tc_ctx *c, int64_t n, int64_t m) {
    const tc_tensor *w = tc_te_placeholder(c, "W", TC_F32, 2, (const int64_t[]){n, m}, true);
    tc_axis ax[2] = {tc_te_axis(c, "i", n), tc_te_axis(c, "j", m)};
    const tc_expr *body = tc_read(c, w, 2, (const tc_expr *const[]){tc_varx(c, ax[0].var), tc_varx(c, ax[1].var)});
    const tc_tensor *y = tc_te_compute(c, "Y", 2, ax, TC_RED_NONE, 0, NULL, 1, &body)->out[0];
    tc_workload *made = NULL;
    assert_int_equal(tc_te_workload(c, 0, NULL, 1, &y, &made, NULL), TC_OK);
    return made;
}

static void test_accepted_layouts_are_injective(void **state) {
    (void)state;
    tc_rng r = tc_rng_seed(5);
    int accepted = 0, refused = 0;
    for (int i = 0; i < 20000; i++) {
        if (i % 500 == 0)
            r = tc_rng_seed(5 + (uint64_t)i);
        tc_ctx *c = tc_ctx_new();
        const tc_workload *w = copy_workload(c, 1 + tc_rng_below(&r, 9), 1 + tc_rng_below(&r, 9));
        tc_sched *s = tc_sch_new(c, w);
        tc_strbuf b = {0};
        random_text(&b, &r);
        const char *name = "W";
        tc_instr in = {.prim = TC_PRIM_TRANSFORM_LAYOUT, .nnames = 1, .names = &name, .text = tc_sb_str(&b)};
        tc_status status = tc_sch_apply(s, &in, NULL, NULL);
        if (status == TC_OK)
            check_injective(c, &s->packed[0], in.text);
        else
            assert_int_equal(status, TC_ILLEGAL);
        *(status == TC_OK ? &accepted : &refused) += 1;
        tc_strbuf_free(&b);
        tc_ctx_free(c);
    }
    print_message("%d accepted, %d refused\n", accepted, refused);
    assert_true(accepted > 1000);
}

/* Tokens of layouts and others, mostly with no space between two of them. */
static void random_tokens(tc_strbuf *b, tc_rng *r) {
    static const char *const TOKENS[] = {"x", "t1", "e5",    ".",          "..", "1", "40", "2.5", "9223372036854775808",
                                         "(", ")",  ",",     "+",          "-",  "*", "/",  "%",   "->",
                                         ">", "=",  "\"a\"", "\"\\n# a\"", "&&"};
    tc_sb_add(b, "transform_layout W (");
    for (int64_t n = 1 + tc_rng_below(r, 5); n > 0; n--)
        tc_sb_printf(b, "%s%s", TOKENS[tc_rng_below(r, (int64_t)TC_LEN(TOKENS))], tc_rng_below(r, 3) ? "" : " ");
    tc_sb_add(b, ")\nunroll Y.i\n");
}

static void test_texts_read_back(void **state) {
    (void)state;
    tc_rng r = tc_rng_seed(3);
    int accepted = 0, refused = 0;
    for (int i = 0; i < 20000; i++) {
        tc_arena *a = tc_arena_new();
        tc_trace *t = NULL, *again = NULL;
        tc_strbuf b = {0};
        tc_error err = {0};
        random_tokens(&b, &r);
        bool taken = tc_trace_parse(a, "x.sched", tc_sb_str(&b), &t, &err) == TC_OK;
        if (taken && tc_trace_parse(a, "printed.sched", tc_trace_text(a, t), &again, &err) != TC_OK)
            fail_msg("%s prints as %s, which is refused: %s", tc_sb_str(&b), tc_trace_text(a, t), err.msg);
        if (taken && !tc_trace_equal(t, again))
            fail_msg("%s prints as %s, which is another trace", tc_sb_str(&b), tc_trace_text(a, t));
        *(taken ? &accepted : &refused) += 1;
        tc_strbuf_free(&b);
        tc_arena_free(a);
    }
    print_message("%d accepted, %d refused\n", accepted, refused);
    assert_true(accepted > 1000 && refused > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_accepted_layouts_are_injective),
                                       cmocka_unit_test(test_texts_read_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
