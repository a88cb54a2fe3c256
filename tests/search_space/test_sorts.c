/* Construction does not depend on the C library's sort, nor on the compiler: qsort is replaced, for all that this program links, by one
 * that shuffles before it sorts, so that elements which compare equal come out in any order; traces and lowered programs of fixed
 * workloads must be those of the digest here, whoever compiled this. Nor does it depend on what was done before: ids begin at any
 * number, and contexts hold the nodes of another workload, or of the same one, whose schedules were constructed first. */
#include "families.h"

#include <stdlib.h>

#include "support/rng.h"
#include "tir_lower/program.h"

enum { SHUFFLES = 3, TRACES = 48, LOWERED = 3 };

/* Rewritten when construction is changed on purpose: the test says what it found. */
static const char *const GOLDEN = "be4362dac614e9446a50d2626938cb88";

/* The seed of the shuffles; 0: elements stay in order, as a stable sort leaves them. */
static uint64_t shuffle;

static void swap(char *a, char *b, size_t size) {
    for (size_t i = 0; i < size && a != b; i++) {
        char t = a[i];
        a[i] = b[i];
        b[i] = t;
    }
}

void qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *)) {
    char *v = base;
    tc_rng r = tc_rng_seed(shuffle);
    for (size_t i = n; shuffle && i > 1; i--)
        swap(v + (i - 1) * size, v + (size_t)tc_rng_below(&r, (int64_t)i) * size, size);
    for (size_t gap = shuffle ? n / 2 : 1; gap; gap /= 2) /* with gap 1 alone it is stable */
        for (size_t i = gap; i < n; i++)
            for (size_t k = i; k >= gap && compare(v + (k - gap) * size, v + k * size) > 0; k -= gap)
                swap(v + (k - gap) * size, v + k * size, size);
}

static void lower(const tc_workload *w, const tc_trace *t, tc_strbuf *b) {
    tc_ctx *c = tc_ctx_child(w->ctx);
    tc_tir_origin from = {.workload = w, .machine = &machine, .trace = t};
    tc_tir_program p;
    tc_error err = {0};
    if (tc_tir_program_make(c, &from, TC_TIR_LOWERED, &p, &err) == TC_OK)
        tc_tir_print(b, p.lowered);
    else
        tc_sb_add(b, err.msg);
    tc_ctx_free(c);
}

static void construct(const tc_workload *w, tc_strbuf *b) {
    tc_space *s = NULL;
    tc_error err = {0};
    tc_trace *t[TRACES];
    tc_arena *a = tc_arena_new();
    if (tc_space_new(w, &machine, &s, &err) != TC_OK)
        fail_msg("%s", err.msg);
    int n = tc_space_construct(s, a, t, TRACES);
    for (int i = 0; i < n; i++)
        tc_trace_print(b, t[i]);
    for (int i = 0; i < n && i < LOWERED; i++)
        lower(w, t[i], b);
    tc_space_free(s);
    tc_arena_free(a);
}

/* What a context has seen before it gets a workload. */
typedef struct past {
    int ids;      /* that were drawn */
    int workload; /* that was scheduled, counted from the one to come; -1: none */
} past;

static const tc_workload *parse(tc_ctx *c, const char *text) {
    const tc_workload *w;
    tc_error err = {0};
    if (tc_te_parse(c, "family", text, &w, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return w;
}

static tc_digest all(past before) {
    static const char *const TEXTS[] = {ATTENTION, ATTENTION_PARTS, FEW_CHANNELS, CONVOLUTION, LONG_REDUCTION,
                                        BLOCKS,    BYTE_BLOCKS,     UNPACKED,     STRASSEN};
    tc_strbuf b = {0};
    for (size_t i = 0; i < TC_LEN(TEXTS); i++) {
        tc_ctx *c = tc_ctx_new();
        tc_strbuf other = {0};
        for (int n = 0; n < before.ids; n++)
            tc_ctx_next_id(c);
        if (before.workload >= 0)
            construct(parse(c, TEXTS[(i + (size_t)before.workload) % TC_LEN(TEXTS)]), &other);
        construct(parse(c, TEXTS[i]), &b);
        tc_strbuf_free(&other);
        tc_ctx_free(c);
    }
    assert_true(b.len > 100000);
    tc_digest d = tc_digest_of(b.data, b.len);
    tc_strbuf_free(&b);
    return d;
}

static void same_in_any_order(void **state) {
    (void)state;
    for (shuffle = 0; shuffle <= SHUFFLES; shuffle++)
        assert_string_equal(all((past){0, -1}).hex, GOLDEN);
    shuffle = 0;
}

static void same_after_anything(void **state) {
    (void)state;
    static const past PASTS[] = {{1, -1}, {123456, -1}, {7, 0}, {0, 4}};
    for (size_t i = 0; i < TC_LEN(PASTS); i++)
        assert_string_equal(all(PASTS[i]).hex, GOLDEN);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_in_any_order), cmocka_unit_test(same_after_anything)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
