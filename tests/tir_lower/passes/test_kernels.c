/* The shape of whole kernels after the pass table: what the hot loop of a scheduled GEMM consists of. ffn1 is the example that
 * the design follows through; the others are its tails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/log.h"
#include "support/map.h"
#include "support/system/fs.h"
#include "support/vec.h"
#include "te/text.h"
#include "tir_lower/build/build.h"
#include "tir_lower/oracle.h"
#include "tir_lower/passes/passes.h"
#include "tir_lower/program/program.h"
#include "tir_lower/verify/verify.h"

typedef struct kernel {
    tc_ctx *c;
    const tc_workload *w;
    tc_func *f;
} kernel;

static void must(tc_status s, const tc_error *err) {
    if (s != TC_OK)
        fail_msg("%s", err->msg);
}

static kernel lower(const char *te, const char *sched) {
    kernel k = {.c = tc_ctx_new()};
    tc_error err = {0};
    tc_tir_program p;
    must(tc_te_parse(k.c, "test.te", te, &k.w, &err), &err);
    tc_tir_origin from = {
        .workload = k.w, .machine = &test_machine, .text = sched, .name = "test.sched", .dump = getenv("TC_DUMP")};
    must(tc_tir_program_make(k.c, &from, TC_TIR_LOWERED, &p, &err), &err);
    k.f = p.lowered;
    must(tc_tir_verify(k.c, k.f, &err), &err);
    return k;
}

static void compute_and_free(kernel *k, bool run) {
    if (run) {
        oracle o;
        tc_error err = {0};
        must(oracle_open(&o, k->w, 5, &err), &err);
        must(oracle_check(&o, k->c, k->f, 3, &err), &err);
        oracle_close(&o);
    }
    tc_ctx_free(k->c);
}

/* ---- facts about statements ---- */

typedef struct facts {
    int ifs, stores, loops;
    int reg_stores, fmas, memory_stores, masked;
    tc_map vector_loads, broadcasts, scalar_loads, reg_loads; /* distinct expressions */
} facts;

static void note_expr(const tc_expr *e, void *user) {
    facts *f = user;
    f->fmas += e->op == TC_OP_FMA;
    if (e->op != TC_OP_LOAD)
        return;
    f->masked += e->nargs > 1;
    if (e->u.buffer->scope == TC_BUF_REG)
        tc_map_put(&f->reg_loads, e->id, 1);
    else if (e->lanes > 1)
        tc_map_put(&f->vector_loads, e->id, 1);
    else
        tc_map_put(&f->scalar_loads, e->id, 1);
}

static void note_stmt(facts *f, const tc_stmt *s) {
    if (!s)
        return;
    switch (s->kind) {
    case TC_STMT_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            note_stmt(f, s->u.seq.s[i]);
        return;
    case TC_STMT_FOR:
        f->loops++;
        note_stmt(f, s->u.loop.body);
        return;
    case TC_STMT_IF:
        f->ifs++;
        note_stmt(f, s->u.cond.then);
        note_stmt(f, s->u.cond.otherwise);
        return;
    case TC_STMT_STORE:
        f->stores++;
        f->masked += s->u.store.mask != NULL;
        f->reg_stores += s->u.store.buffer->scope == TC_BUF_REG;
        f->memory_stores += s->u.store.buffer->scope != TC_BUF_REG;
        tc_expr_walk(s->u.store.value, note_expr, f);
        return;
    case TC_STMT_ALLOC:
        note_stmt(f, s->u.alloc.body);
        return;
    case TC_STMT_PREFETCH:
    case TC_STMT_INTRIN:
    case TC_NSTMTS:
        return;
    }
}

static facts facts_of(const tc_stmt *s) {
    facts f = {0};
    note_stmt(&f, s);
    return f;
}

static void free_facts(facts *f) {
    tc_map_free(&f->vector_loads);
    tc_map_free(&f->broadcasts);
    tc_map_free(&f->scalar_loads);
    tc_map_free(&f->reg_loads);
}

/* Reduction loops that contain no other loop, in order of the text. */
static int hot_loops(const tc_stmt *s, const tc_stmt **out, int n) {
    if (!s)
        return n;
    switch (s->kind) {
    case TC_STMT_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            n = hot_loops(s->u.seq.s[i], out, n);
        return n;
    case TC_STMT_FOR: {
        facts f = facts_of(s->u.loop.body);
        free_facts(&f);
        if (f.loops == 0 && s->u.loop.reduce)
            out[n++] = s;
        return hot_loops(s->u.loop.body, out, n);
    }
    case TC_STMT_IF:
        n = hot_loops(s->u.cond.then, out, n);
        return hot_loops(s->u.cond.otherwise, out, n);
    case TC_STMT_ALLOC:
        return hot_loops(s->u.alloc.body, out, n);
    case TC_STMT_STORE:
    case TC_STMT_PREFETCH:
    case TC_STMT_INTRIN:
    case TC_NSTMTS:
        return n;
    }
    return n;
}

/* A hot loop of `unrolled` steps over a tile of rows x vectors: nothing but loads and fused multiply-adds on registers. */
static void assert_tile(const tc_stmt *loop, int rows, int vectors, int unrolled) {
    facts f = facts_of(loop->u.loop.body);
    assert_int_equal(f.ifs, 0);
    assert_int_equal(f.memory_stores, 0);
    assert_int_equal(f.reg_stores, rows * vectors * unrolled);
    assert_int_equal(f.fmas, rows * vectors * unrolled);
    assert_int_equal(f.reg_loads.len, rows * vectors);
    assert_int_equal(f.vector_loads.len, vectors * unrolled);
    assert_int_equal(f.scalar_loads.len, rows * unrolled);
    assert_int_equal(f.masked, 0);
    free_facts(&f);
}

static char *read_text(const char *path) {
    char *text;
    tc_error err = {0};
    must(tc_fs_read(path, &text, NULL, &err), &err);
    return text;
}

static void ffn1_is_24_accumulators(void **state) {
    (void)state;
    char *te = read_text("build/ffn1.te"), *sched = read_text("build/ffn1.sched");
    kernel k = lower(te, sched);
    const tc_stmt *hot[16];
    assert_int_equal(hot_loops(k.f->body, hot, 0), 2);
    assert_tile(hot[0], 6, 4, 4);
    assert_tile(hot[1], 2, 4, 4); /* the last two rows */
    facts f = facts_of(k.f->body);
    assert_int_equal(f.ifs, 1);                     /* which of the two bodies */
    assert_int_equal(f.memory_stores, (6 + 2) * 4); /* every element of Y once */
    assert_int_equal(f.masked, 0);
    free_facts(&f);
    assert_int_equal(k.f->thread_bytes, 0);
    compute_and_free(&k, false);
    free(te);
    free(sched);
}

/* No write cache: the output itself is promoted around the inner reduction loop. */
static void gemm_without_write_cache(void **state) {
    (void)state;
    kernel k =
        lower("tensor A[12, 32] f32\ntensor B[32, 64] f32\ncompute C[i:12, j:64] = sum(k:32) A[i, k] * B[k, j]\noutput C\n",
              "io, ii = split C.i [_, 4]\njo, ji = split C.j [_, 32]\nko, ki = split C.k [_, 8]\n"
              "reorder C.io C.jo C.ko C.ki C.ii C.ji\nunroll C.ii\nvectorize C.ji\n");
    const tc_stmt *hot[16];
    assert_int_equal(hot_loops(k.f->body, hot, 0), 1);
    assert_tile(hot[0], 4, 2, 1);
    facts f = facts_of(k.f->body);
    assert_int_equal(f.memory_stores, 8); /* each element of C is stored once: initialisation stays in registers too */
    free_facts(&f);
    compute_and_free(&k, true);
}

/* 49 = 3 * 16 + 1 columns and 7 rows by 6; the reduction of 50 by 4 has a tail as well. */
static void tails_keep_their_registers(void **state) {
    (void)state;
    kernel k =
        lower("tensor A[7, 50] f32\ntensor B[50, 49] f32\ncompute C[i:7, j:49] = sum(k:50) A[i, k] * B[k, j]\n"
              "compute Y[i:7, j:49] = max(C[i, j], 0.0)\noutput Y\n",
              "io, ii = split Y.i [_, 6]\njo, ji = split Y.j [_, 64]\nreorder Y.io Y.jo Y.ii Y.ji\nset_scope C local\n"
              "compute_at C Y.jo\nko, ki = split C.k [_, 4]\nreorder C.ko C.ki C.i C.j\nunroll C.ki\nunroll C.i\nvectorize C.j\n"
              "vectorize Y.ji\nunroll Y.ii\n");
    const tc_stmt *hot[16];
    int n = hot_loops(k.f->body, hot, 0);
    assert_int_equal(n, 2);
    for (int i = 0; i < n; i++) {
        facts f = facts_of(hot[i]);
        int rows = i == 0 ? 6 : 1;
        assert_int_equal(f.ifs, 0);
        assert_int_equal(f.memory_stores, 0);
        assert_int_equal(f.reg_stores, rows * 4 * 4);
        free_facts(&f);
    }
    compute_and_free(&k, true);
}

/* The search lowers every candidate: this must stay far below a millisecond or two. Prints the time; only a gross regression
 * fails. With sanitizers, colliding hashes and the verifier after every pass it takes a third of a second. */
#ifdef TCTUNE_SANITIZED
enum { RUNS = 5 };
static const double most = 2;
#else
enum { RUNS = 50 };
static const double most = 0.05;
#endif

static void lowering_is_fast(void **state) {
    (void)state;
    char *te = read_text("build/ffn1.te"), *text = read_text("build/ffn1.sched");
    tc_ctx *c = tc_ctx_new();
    const tc_workload *w;
    tc_trace *t;
    tc_error err = {0};
    must(tc_te_parse(c, "ffn1.te", te, &w, &err), &err);
    must(tc_trace_parse(tc_ctx_arena(c), "ffn1.sched", text, &t, &err), &err);
    tc_ctx *child = tc_ctx_child(c);
    double build = 0, passes = 0;
    for (int i = 0; i < RUNS; i++) {
        tc_sched *s;
        tc_func *built, *f;
        double t0 = tc_now();
        must(tc_sch_replay(child, w, t, NULL, &s, &err), &err);
        must(tc_tir_build(s, &test_machine, &built, &err), &err);
        double t1 = tc_now();
        must(tc_tir_lower(child, &test_machine, built, NULL, &f, &err), &err);
        passes += tc_now() - t1;
        build += t1 - t0;
        tc_ctx_reset(child);
    }
    printf("replay and build %.3f ms, passes %.3f ms\n", build * 1e3 / RUNS, passes * 1e3 / RUNS);
    assert_true(passes / RUNS < most);
    tc_ctx_free(child);
    tc_ctx_free(c);
    free(te);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ffn1_is_24_accumulators),
        cmocka_unit_test(gemm_without_write_cache),
        cmocka_unit_test(tails_keep_their_registers),
        cmocka_unit_test(lowering_is_fast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
