/* Kernels, and kernels with a schedule. */
#include <stdlib.h>
#include <string.h>

#include "search_space/space.h"
#include "targets.h"
#include "te/text.h"
#include "tir_lower/oracle.h"

/* Parses what it prints, and then prints the same. */
static void check_te_text(tc_ctx *c, const tc_workload *w) {
    const tc_workload *again = NULL;
    tc_error err = {0};
    tc_strbuf a = {0}, b = {0};
    tc_te_print(&a, w);
    if (tc_te_parse(c, "printed.te", tc_sb_str(&a), &again, &err) != TC_OK)
        fuzz_wrong("printed, it is refused: %s\n%s", err.msg, tc_sb_str(&a));
    tc_te_print(&b, again);
    if (strcmp(tc_sb_str(&a), tc_sb_str(&b)) != 0)
        fuzz_wrong("read back, it prints otherwise:\n%s---\n%s", tc_sb_str(&a), tc_sb_str(&b));
    tc_strbuf_free(&a);
    tc_strbuf_free(&b);
}

/* The schedule that is used where nothing was tuned. */
static void lower_default(tc_ctx *c, const tc_workload *w) {
    tc_arena *a = tc_arena_new();
    tc_space *space = NULL;
    tc_trace *t;
    tc_sched *s;
    tc_func *nest, *lowered;
    tc_error err = {0};
    if (fuzz_good(tc_space_new(w, &test_machine, &space, &err), &err) && fuzz_good(tc_space_default(space, a, &t, &err), &err)) {
        tc_ctx *child = tc_ctx_child(c);
        if (tc_sch_replay(child, w, t, NULL, &s, &err) != TC_OK)
            fuzz_wrong("the default schedule cannot be replayed: %s", err.msg);
        fuzz_lower(child, s, &nest, &lowered);
        tc_ctx_free(child);
    }
    tc_space_free(space);
    tc_arena_free(a);
}

void fuzz_read_te(const char *data, size_t size) {
    enum { ONE_IN = 8 };
    tc_rng chance = fuzz_chance(data, size);
    char *text = fuzz_text(data, size);
    tc_ctx *c = tc_ctx_new();
    const tc_workload *w = NULL;
    tc_func *nest, *lowered;
    tc_error err = {0};
    if (fuzz_good(tc_te_parse(c, "input.te", text, &w, &err), &err)) {
        check_te_text(c, w);
        tc_ctx *child = tc_ctx_child(c);
        fuzz_lower(child, tc_sch_new(child, w), &nest, &lowered);
        tc_ctx_free(child);
        if (tc_rng_below(&chance, ONE_IN) == 0)
            lower_default(c, w);
    }
    tc_ctx_free(c);
    free(text);
}

/* ---- schedules ---- */

static void check_result(const oracle *o, tc_ctx *c, const tc_func *f, uint64_t shuffle, const char *what) {
    tc_error err = {0};
    if (!f || !fuzz_small_program(f))
        return;
    tc_status s = f->nsymbol ? oracle_run(o, f, shuffle, &err) : oracle_check(o, c, f, shuffle, &err);
    if (s != TC_OK)
        fuzz_wrong("%s: %s", what, err.msg);
}

static void check_results(tc_ctx *c, const tc_workload *w, const tc_func *nest, const tc_func *lowered) {
    oracle o;
    tc_error err = {0};
    tc_ctx *own = tc_ctx_new();
    int64_t *sizes = tc_xcalloc((size_t)w->nsymbol + 1, sizeof *sizes);
    for (int i = 0; i < w->nsymbol; i++)
        sizes[i] = w->symbols[i]->least + (w->symbols[i]->most - w->symbols[i]->least) / 2;
    if (fuzz_good(w->nsymbol ? oracle_open_at(&o, own, w, sizes, 1, &err) : oracle_open(&o, w, 1, &err), &err)) {
        check_result(&o, c, nest, 0, "the nest of a schedule");
        check_result(&o, c, lowered, 7, "a lowered program");
    }
    oracle_close(&o);
    tc_ctx_free(own);
    free(sizes);
}

static void replay(tc_ctx *c, const tc_workload *w, const char *text, tc_rng *chance) {
    tc_arena *a = tc_arena_new();
    tc_trace *trace = NULL;
    tc_sched *s = NULL;
    tc_func *nest, *lowered;
    tc_error err = {0};
    if (fuzz_good(tc_trace_parse(a, "input.sched", text, &trace, &err), &err) &&
        fuzz_good(tc_sch_replay(c, w, trace, chance, &s, &err), &err)) {
        tc_strbuf b = {0};
        tc_trace_print(&b, s->trace);
        if (tc_trace_parse(a, "printed.sched", tc_sb_str(&b), &trace, &err) != TC_OK || !tc_trace_equal(trace, s->trace))
            fuzz_wrong("printed, it is another one: %s\n%s", err.msg, tc_sb_str(&b));
        tc_strbuf_free(&b);
        fuzz_lower(c, s, &nest, &lowered);
        if (nest && fuzz_small_workload(w))
            check_results(c, w, nest, lowered);
    }
    tc_arena_free(a);
}

void fuzz_read_sched(const char *data, size_t size) {
    static const char between[] = "\n---\n";
    tc_rng chance = fuzz_chance(data, size);
    char *text = fuzz_text(data, size), *sched = strstr(text, between);
    tc_ctx *c = tc_ctx_new();
    const tc_workload *w = NULL;
    tc_error err = {0};
    if (sched) {
        sched[1] = 0;
        if (fuzz_good(tc_te_parse(c, "input.te", text, &w, &err), &err))
            replay(c, w, sched + strlen(between), &chance);
    }
    tc_ctx_free(c);
    free(text);
}
