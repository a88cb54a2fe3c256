/* Speed of a schedule: .te + .sched -> lowered TIR -> machine code -> time.
 *     bench_codegen_sched X.te X.sched [threads [tir|ir|opt|asm [target]]] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/artefacts/runtime.h"
#include "kernel.h"
#include "schedule_primitives/trace.h"
#include "support/log.h"
#include "support/system/fs.h"
#include "te/text.h"
#include "tir_lower/build/build.h"
#include "tir_lower/passes/passes.h"
#include "tir_lower/text/text.h"

static void die_if(tc_status s, const tc_error *err) {
    if (s != TC_OK) {
        fprintf(stderr, "%s\n", err->msg);
        exit(1);
    }
}

static void print_stage(kernel *k, const char *what, const char *target) {
    if (!strcmp(what, "tir")) {
        tc_strbuf b = {0};
        tc_tir_print(&b, k->f);
        puts(tc_sb_str(&b));
        tc_strbuf_free(&b);
        return;
    }
    char *text = kernel_text(k, target, !strcmp(what, "asm") ? TC_CG_ASM : !strcmp(what, "ir") ? TC_CG_IR : TC_CG_OPT_IR);
    puts(text);
    free(text);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "bench_codegen_sched X.te X.sched [threads [tir|ir|opt|asm [target]]]\n");
        return 2;
    }
    tc_error err;
    char *te, *sched;
    const tc_workload *w;
    tc_trace *trace;
    tc_sched *s;
    tc_func *built, *f;
    kernel k = {.ctx = tc_ctx_new()};
    const tc_machine *m = &kernel_target()->machine;
    int threads = argc > 3 ? atoi(argv[3]) : m->cores;
    die_if(tc_fs_read(argv[1], &te, NULL, &err), &err);
    die_if(tc_fs_read(argv[2], &sched, NULL, &err), &err);
    die_if(tc_te_parse(k.ctx, argv[1], te, &w, &err), &err);
    die_if(tc_trace_parse(tc_ctx_arena(k.ctx), argv[2], sched, &trace, &err), &err);
    double start = tc_now();
    tc_ctx *child = tc_ctx_child(k.ctx);
    die_if(tc_sch_replay(child, w, trace, NULL, &s, &err), &err);
    die_if(tc_tir_build(s, m, &built, &err), &err);
    double built_at = tc_now();
    die_if(tc_tir_lower(child, m, built, NULL, &f, &err), &err);
    double lowered_at = tc_now();
    k.f = f;
    if (argc > 4) {
        print_stage(&k, argv[4], argc > 5 ? argv[5] : "native");
        return 0;
    }
    kernel_compile(&k, kernel_target(), NULL);
    void **args = kernel_args(f);
    for (int i = 0; i < f->nparam; i++)
        for (int64_t j = 0;
             f->params[i].kind != TC_PARAM_OUT && f->params[i].buffer->dtype == TC_F32 && j < f->params[i].buffer->size; j++)
            ((float *)args[i])[j] = (float)(j * 7919 % 1000) / 1000 - 0.5f;
    uint8_t *ws = kernel_alloc((size_t)tc_cg_workspace_bytes(f, threads) + 64);
    tc_rt rt = tc_cg_runtime(threads);
    double best = 1e9, budget = tc_now() + 1;
    for (int r = 0; r < 5 || (r < 2000 && tc_now() < budget); r++) {
        double t = kernel_clock(threads);
        k.fn(args, ws, &rt);
        best = fmin(best, kernel_clock(threads) - t);
    }
    printf("%s, %d threads: replay+build %.2f ms, lower %.2f ms, compile %.1f ms; run %.4f ms, %.1f GFLOP/s\n", argv[2], threads,
           (built_at - start) * 1e3, (lowered_at - built_at) * 1e3, k.compile_seconds * 1e3, best * 1e3,
           tc_te_flops(w) / best / 1e9);
    return 0;
}
