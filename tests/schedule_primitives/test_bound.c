/* Schedules of a few lines that would make large things are refused, with the step and the place: long layouts, loops split and
 * fused in turns, many loops, many stages. */
#include "support/cmocka_all.h"

#include <string.h>

#include "schedule_primitives/schedule.h"
#include "te/text.h"

#define GEMM "tensor X[8, 16] f32\ntensor W[16, 32] f32 const\ncompute Y[i:8, j:32] = sum(k:16) X[i, k] * W[k, j]\noutput Y\n"

static tc_status replay(const char *kernel, const char *text, tc_error *err) {
    tc_ctx *c = tc_ctx_new();
    const tc_workload *w;
    tc_trace *t;
    tc_sched *s;
    assert_int_equal(tc_te_parse(c, "k.te", kernel, &w, err), TC_OK);
    tc_status status = tc_trace_parse(tc_ctx_arena(c), "k.sched", text, &t, err);
    if (status == TC_OK)
        status = tc_sch_replay(c, w, t, NULL, &s, err);
    tc_ctx_free(c);
    return status;
}

static void refused(const char *kernel, const tc_strbuf *text, tc_status want, const char *place, const char *why) {
    tc_error err = {0};
    tc_status got = replay(kernel, tc_sb_str(text), &err);
    if (got != want || !strstr(err.msg, place) || !strstr(err.msg, why))
        fail_msg("expected '%s' and '%s', found %d '%s'", place, why, (int)got, err.msg);
}

static void accepted(const char *kernel, const tc_strbuf *text) {
    tc_error err = {0};
    if (replay(kernel, tc_sb_str(text), &err) != TC_OK)
        fail_msg("%s", err.msg);
}

static void repeat(tc_strbuf *b, const char *text, int n) {
    for (int i = 0; i < n; i++)
        tc_sb_add(b, text);
}

/* k, n times one added and taken away. */
static void layout_sum(tc_strbuf *b, int n) {
    tc_sb_clear(b);
    tc_sb_add(b, "transform_layout W (k, j) -> (j / 16, k");
    repeat(b, " + 1 - 1", n);
    tc_sb_add(b, ", j % 16)\n");
}

static void layouts(void **state) {
    (void)state;
    tc_strbuf b = {0};
    layout_sum(&b, 30);
    accepted(GEMM, &b);
    layout_sum(&b, 40);
    refused(GEMM, &b, TC_BAD_INPUT, "step 1 (line 1, column 1)", "part 2 of the layout has more than 64 operations");
    layout_sum(&b, 100000);
    refused(GEMM, &b, TC_BAD_INPUT, "k.sched:1:", "the layout is longer than 8192 characters");
    tc_sb_clear(&b);
    tc_sb_add(&b, "transform_layout W (k, j) -> (j, ");
    repeat(&b, "(", 100);
    tc_sb_add(&b, "k");
    repeat(&b, ")", 101);
    refused(GEMM, &b, TC_BAD_INPUT, "step 1 (line 1, column 1)", "part 2 of the layout has more than 64 brackets");
    tc_strbuf_free(&b);
}

/* The message has the reason, however long the step is. */
static void long_steps(void **state) {
    (void)state;
    tc_strbuf b = {0};
    tc_sb_add(&b, "unroll Y.");
    repeat(&b, "i", 5000);
    refused(GEMM, &b, TC_BAD_INPUT, "iii ...`: ", "stage Y has no loop");
    tc_sb_clear(&b);
    tc_sb_add(&b, "transform_layout W (k, j) -> (j, k /");
    repeat(&b, " j", 3000);
    refused(GEMM, &b, TC_ILLEGAL, "step 1 (line 1, column 1)", "a divisor is not a positive constant");
    tc_strbuf_free(&b);
}

/* The layout's operations come on top of those of the index that it takes. */
static void packed_reads(void **state) {
    (void)state;
    tc_strbuf kernel = {0}, text = {0};
    tc_sb_add(&kernel, "tensor W[64] f32 const\ncompute Y[i:8] = W[i");
    repeat(&kernel, " + 1 - 1", 248);
    tc_sb_add(&kernel, "]\noutput Y\n");
    tc_sb_add(&text, "transform_layout W (k) -> (k / 8, k % 8)\n");
    accepted(tc_sb_str(&kernel), &text);
    tc_sb_clear(&text);
    tc_sb_add(&text, "transform_layout W (k) -> (k / 8 + 1 - 1 + 1 - 1, k % 8)\n");
    refused(tc_sb_str(&kernel), &text, TC_ILLEGAL, "step 1", "the expression of Y would become more than 500 operations deep");
    tc_strbuf_free(&kernel);
    tc_strbuf_free(&text);
}

static void many_loops(void **state) {
    (void)state;
    tc_strbuf b = {0};
    for (int k = 0; k < 61; k++)
        tc_sb_printf(&b, k ? "i%d, t%d = split Y.i%d [_, 1]\n" : "i%d, t%d = split Y.i [_, 1]\n", k, k, k - 1);
    accepted(GEMM, &b);
    tc_sb_add(&b, "x, y = split Y.j [_, 2]\n");
    refused(GEMM, &b, TC_ILLEGAL, "step 62 (line 62, column 1)", "stage Y would have more than 64 loops");
    tc_strbuf_free(&b);
}

static void long_texts(void **state) {
    (void)state;
    tc_strbuf b = {0};
    tc_sb_addc(&b, '#');
    while (b.len < TC_BYTES_SCHEDULE)
        tc_sb_addc(&b, ' ');
    accepted(GEMM, &b);
    tc_sb_addc(&b, ' ');
    refused(GEMM, &b, TC_BAD_INPUT, ": the text has 4194305 bytes", "at most 4194304 are read");
    tc_strbuf_free(&b);
}

static void many_stages(void **state) {
    (void)state;
    tc_strbuf b = {0};
    tc_sb_add(&b, "c1 = cache_read X Y global\n");
    for (int k = 2; k < TC_WORK_SCHEDULE; k++)
        tc_sb_printf(&b, "c%d = cache_read c%d global\n", k, k - 1);
    accepted(GEMM, &b);
    tc_sb_add(&b, "d = cache_write Y global\n");
    refused(GEMM, &b, TC_ILLEGAL, "step 1024 (line 1024, column 1)", "the schedule has 1024 stages already");
    tc_strbuf_free(&b);
}

/* Each turn doubles the terms of k. */
static void turns(tc_strbuf *b, int n) {
    tc_sb_clear(b);
    for (int k = 0; k < n; k++) {
        tc_sb_printf(b, "o%d, t%d = split Y.", k, k);
        tc_sb_printf(b, k ? "f%d" : "k", k - 1);
        tc_sb_printf(b, " [_, %d]\n", k % 2 ? 7 : 3);
        tc_sb_printf(b, "reorder Y.t%d Y.o%d\nf%d = fuse Y.t%d Y.o%d\n", k, k, k, k, k);
    }
    tc_sb_printf(b, "a, b = split Y.f%d [_, 2]\nR = rfactor Y.b\n", n - 1);
}

static void factored_turns(void **state) {
    (void)state;
    tc_strbuf b = {0};
    turns(&b, 3);
    accepted(GEMM, &b);
    turns(&b, 14);
    refused(GEMM, &b, TC_ILLEGAL, "step 44 (line 44, column 1), `R = rfactor Y.b`",
            "the loops of stage Y were split and fused too often");
    turns(&b, 200);
    refused(GEMM, &b, TC_ILLEGAL, "`R = rfactor Y.b`", "the loops of stage Y were split and fused too often");
    tc_strbuf_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts),        cmocka_unit_test(long_steps), cmocka_unit_test(packed_reads),
        cmocka_unit_test(many_loops),     cmocka_unit_test(long_texts), cmocka_unit_test(many_stages),
        cmocka_unit_test(factored_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
