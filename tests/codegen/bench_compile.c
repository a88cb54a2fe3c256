/* Where a candidate's compile time goes: sampled schedules of a workload, one thread.
 *
 *     bench_codegen_compile FILE.te [CANDIDATES]      medians in milliseconds: lowering, and TIR to object; size of the object */
#include <stdio.h>
#include <stdlib.h>

#include "codegen/code/code.h"
#include "kernel.h"
#include "search_space/space.h"
#include "support/system/fs.h"
#include "te/text.h"
#include "tir_lower/build/build.h"
#include "tir_lower/passes/passes.h"

static void die_if(tc_status s, const tc_error *err) {
    if (s == TC_OK)
        return;
    fprintf(stderr, "%s\n", err->msg);
    exit(1);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double share(double *v, int n, double at) {
    qsort(v, (size_t)n, sizeof *v, ascending);
    return n ? 1e3 * v[(int)(at * (n - 1))] : 0;
}

typedef struct times {
    double *lower, *compile, *bytes;
    int n;
} times;

static void measure(const tc_target *t, const tc_workload *w, const tc_trace *trace, times *out) {
    tc_error err = {0};
    tc_ctx *ctx = tc_ctx_child(w->ctx);
    tc_sched *sched;
    tc_func *built, *lowered;
    const char *name = "kernel";
    void *obj;
    size_t size;
    double start = kernel_clock(1);
    die_if(tc_sch_replay(ctx, w, trace, NULL, &sched, &err), &err);
    die_if(tc_tir_build(sched, &t->machine, &built, &err), &err);
    if (tc_tir_lower(ctx, &t->machine, built, NULL, &lowered, &err) == TC_OK) {
        double middle = kernel_clock(1);
        const tc_func *f = lowered;
        die_if(tc_cg_emit_object(t, &f, &name, 1, NULL, &obj, &size, &err), &err);
        out->compile[out->n] = kernel_clock(1) - middle;
        out->lower[out->n] = middle - start;
        out->bytes[out->n++] = (double)size;
        free(obj);
    }
    tc_ctx_free(ctx);
}

int main(int argc, char **argv) {
    tc_error err = {0};
    char *text;
    tc_target *t;
    const tc_workload *w;
    tc_space *space;
    tc_rng rng = tc_rng_seed(1);
    tc_arena *arena = tc_arena_new();
    tc_ctx *ctx = tc_ctx_new();
    int want = argc > 2 ? atoi(argv[2]) : 100;
    if (argc < 2 || want < 1) {
        fprintf(stderr, "usage: bench_codegen_compile FILE.te [CANDIDATES]\n");
        return 2;
    }
    die_if(tc_target_parse("native", &t, &err), &err);
    die_if(tc_fs_read(argv[1], &text, NULL, &err), &err);
    die_if(tc_te_parse(ctx, argv[1], text, &w, &err), &err);
    die_if(tc_space_new(w, &t->machine, &space, &err), &err);
    tc_space_query q = {.options = tc_space_options_default(), .rng = &rng, .want = want, .arena = arena};
    tc_space_found found;
    q.options.population = 2 * want, q.options.generations = 1, q.options.threads = 1;
    die_if(tc_space_search(space, &q, &found, &err), &err);
    times ts = {tc_xcalloc((size_t)want, 8), tc_xcalloc((size_t)want, 8), tc_xcalloc((size_t)want, 8), 0};
    for (int i = 0; i < found.n; i++)
        measure(t, w, found.data[i].trace, &ts);
    printf("%s: %d candidates; lower %.1f, compile %.1f (nine tenths under %.1f) ms; object %.1f KB\n", argv[1], ts.n,
           share(ts.lower, ts.n, 0.5), share(ts.compile, ts.n, 0.5), share(ts.compile, ts.n, 0.9),
           share(ts.bytes, ts.n, 0.5) / 1e6);
    free(ts.lower);
    free(ts.compile);
    free(ts.bytes);
    free(text);
    tc_space_free(space);
    tc_arena_free(arena);
    tc_ctx_free(ctx);
    tc_target_free(t);
    return 0;
}
