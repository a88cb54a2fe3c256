/* Constructs schedules of fixed workloads under a qsort that replaces the C library's, for all that a program links. */
#include "constructed.h"

#include <stdio.h>
#include <stdlib.h>

#include "search_space/space.h"
#include "support/rng.h"
#include "support/vec.h"
#include "te/text.h"
#include "texts.h"
#include "tir_lower/program/program.h"
#include "tir_lower/text/text.h"

enum { TRACES = 48, LOWERED = 3 };

/* The seed of the shuffles; 0: elements stay in order, as a stable sort leaves them. */
uint64_t constructed_shuffle;

static void refused(const tc_error *err) {
    fprintf(stderr, "%s\n", err->msg);
    exit(2);
}

static void swap(char *a, char *b, size_t size) {
    for (size_t i = 0; i < size && a != b; i++) {
        char t = a[i];
        a[i] = b[i];
        b[i] = t;
    }
}

void qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *)) {
    char *v = base;
    tc_rng r = tc_rng_seed(constructed_shuffle);
    for (size_t i = n; constructed_shuffle && i > 1; i--)
        swap(v + (i - 1) * size, v + (size_t)tc_rng_below(&r, (int64_t)i) * size, size);
    for (size_t gap = constructed_shuffle ? n / 2 : 1; gap; gap /= 2) /* with gap 1 alone it is stable */
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
        refused(&err);
    int n = tc_space_construct(s, a, t, TRACES);
    for (int i = 0; i < n; i++)
        tc_trace_print(b, t[i]);
    for (int i = 0; i < n && i < LOWERED; i++)
        lower(w, t[i], b);
    tc_space_free(s);
    tc_arena_free(a);
}

static const tc_workload *parse(tc_ctx *c, const char *text) {
    const tc_workload *w;
    tc_error err = {0};
    if (tc_te_parse(c, "family", text, &w, &err) != TC_OK)
        refused(&err);
    return w;
}

tc_digest constructed(constructed_past before) {
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
    tc_digest d = tc_digest_of(b.data, b.len);
    tc_strbuf_free(&b);
    return d;
}
