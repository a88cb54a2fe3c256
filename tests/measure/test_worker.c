/* The real worker, with the real compiler behind it: right kernels are measured and verified, wrong ones found out, nonsense
 * refused. */
#include "support/cmocka_all.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena.h"
#include "codegen/target/target.h"
#include "measure/machine/counters.h"
#include "measure/measure.h"
#include "measure/process/process.h"
#include "measure/worker/worker.h"
#include "support/log.h"
#include "support/vec.h"
#include "te/text.h"
#include "tir_lower/program/ablate.h"

/* Canonical text and hash. */
static tc_meas_input input(const char *te, const char *trace) {
    tc_ctx *c = tc_ctx_new();
    const tc_workload *w;
    tc_error err = {0};
    tc_strbuf b = {0};
    if (tc_te_parse(c, "test", te, &w, &err) != TC_OK)
        fail_msg("%s", err.msg);
    w = tc_te_canonical(c, w);
    tc_te_print(&b, w);
    tc_meas_input in = {.workload = tc_arena_strdup(arena, tc_sb_str(&b)), .trace = trace, .workload_hash = tc_te_hash(w)};
    tc_strbuf_free(&b);
    tc_ctx_free(c);
    return in;
}

static const char GEMM[] = "tensor X[50, 64] f32\n"
                           "tensor W[64, 48] f32 const\n"
                           "compute D[i:50, j:48] = sum(k:64) X[i, k] * W[k, j]\n"
                           "output D\n";

static tc_meas *make(tc_meas_options o) {
    tc_meas *m;
    tc_error err = {0};
    o.target = "native";
    if (o.threads == 0)
        o.threads = 2;
    o.builders = 2;
    if (tc_meas_new(&o, &m, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return m;
}

static tc_record measure(tc_meas *m, tc_meas_input in) {
    tc_record r;
    tc_error err = {0};
    if (tc_meas_batch(m, &in, 1, arena, &r, NULL, NULL, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return r;
}

static void check_good(const tc_record *r) {
    if (r->error != TC_MEAS_NONE)
        fail_msg("%s: %s\n%s", tc_meas_error_text(r->error), r->message, r->trace);
    assert_true(r->verified);
    assert_true(r->max_error <= 1);
    assert_true(r->median > 0 && r->median < 1);
    assert_true(r->program != 0 && r->build_seconds > 0 && r->run_seconds > 0);
}

static void schedules_of_a_gemm(void **state) {
    (void)state;
    static const char *const traces[] = {
        "",
        "io, ii = split t0.i0 [_, 7]\nparallel t0.io\n",
        "reorder t0.i0 t0.k0 t0.i1\nvectorize t0.i1\n",
        ("transform_layout p1 (k, j) -> (j / 16, k, j % 16)\n"
         "jo, ji = split t0.i1 [_, 16]\nreorder t0.i0 t0.jo t0.k0 t0.ji\nvectorize t0.ji\nparallel t0.i0\n"),
    };
    tc_meas *m = make((tc_meas_options){0});
    for (size_t i = 0; i < TC_LEN(traces); i++) {
        tc_record r = measure(m, input(GEMM, traces[i]));
        check_good(&r);
        assert_in_range(r.ntimes, 2, 7); /* 7, unless the machine is so busy that the budget ends first */
        assert_false(r.stopped_early);
    }
    assert_int_equal(tc_meas_get_stats(m).restarts, 0);
    tc_meas_free(m);
}

static void other_workloads(void **state) {
    (void)state;
    static const char *const te[] = {
        "tensor X[17, 50] f32\n"
        "compute M[i:17] = max(k:50) X[i, k]\ncompute E[i:17, j:50] = exp(X[i, j] - M[i])\ncompute S[i:17] = sum(k:50) E[i, k]\n"
        "compute P[i:17, j:50] = E[i, j] / S[i]\noutput P\n",
        "tensor X[100] f32\ncompute Y[i:100] = sqrt(log(X[i] + 1.0))\noutput Y\n", /* NaN for negative inputs: positive ones are
                                                                                      taken */
        "tensor T[30, 8] f32\ntensor I[5] i64\ncompute G[i:5, j:8] = T[I[i], j]\noutput G\n",
        "tensor X[20, 30] i8\ncompute Y[i:20] = sum(k:30) i32(X[i, k])\noutput Y\n",
        "tensor X[12, 33] f32\ncompute V, A[i:12] = argmax(k:33) (X[i, k], k)\noutput A\n",
    };
    tc_meas *m = make((tc_meas_options){0});
    for (size_t i = 0; i < TC_LEN(te); i++) {
        tc_record r = measure(m, input(te[i], ""));
        check_good(&r);
    }
    tc_meas_free(m);
}

/* Constants as they are and packed ones are put out of the caches; results are checked as ever. */
static void cold_timing(void **state) {
    (void)state;
    static const char *const traces[] = {"", "transform_layout p1 (k, j) -> (j / 16, k, j % 16)\nparallel t0.i0\n"};
    tc_meas *m = make((tc_meas_options){.mode = TC_MEAS_COLD});
    for (size_t i = 0; i < TC_LEN(traces); i++) {
        tc_record r = measure(m, input(GEMM, traces[i]));
        check_good(&r);
        assert_int_equal(r.mode, TC_MEAS_COLD);
    }
    tc_meas_free(m);
}

/* Some of a session's kernels are timed cold and some hot; times of the two are neither duplicates nor rivals. */
static void cold_beside_hot(void **state) {
    (void)state;
    tc_meas *m = make((tc_meas_options){.early_stop = 1e-6});
    tc_meas_input in[2] = {input(GEMM, ""), input(GEMM, "")};
    tc_record r[2];
    in[1].cold = true;
    assert_int_equal(tc_meas_batch(m, in, 2, arena, r, NULL, NULL, NULL), TC_OK);
    for (int i = 0; i < 2; i++) {
        check_good(&r[i]);
        assert_int_equal(r[i].mode, i ? TC_MEAS_COLD : TC_MEAS_HOT);
        assert_false(r[i].stopped_early);
    }
    tc_meas_free(m);
}

/* ---- experiments ---- */

static const char ROWS[] = "io, ii = split t0.i0 [_, 4]\nparallel t0.io\nunroll t0.ii\n";

static unsigned part_named(const char *text) {
    tc_tir_part p;
    assert_true(tc_tir_part_parse(text, &p));
    return TC_TIR_WITHOUT(p);
}

/* A program without a part runs, whatever it computes, and is no duplicate of the whole one; its record is marked and says
 * nothing of the result. What the program does not have is said. */
static void a_part_left_out(void **state) {
    (void)state;
    tc_meas *m = make((tc_meas_options){0});
    tc_meas_input in[5] = {input(GEMM, ROWS), input(GEMM, ROWS), input(GEMM, ROWS), input(GEMM, ROWS), input(GEMM, ROWS)};
    tc_record r[5];
    in[1].without = part_named("tails");
    in[2].without = part_named("loads");
    in[3].without = part_named("stores") | part_named("tails");
    in[4].without = part_named("epilogue");
    assert_int_equal(tc_meas_batch(m, in, 5, arena, r, NULL, NULL, NULL), TC_OK);
    check_good(&r[0]);
    assert_false(r[0].experiment);
    for (int i = 1; i < 4; i++) {
        if (r[i].error != TC_MEAS_NONE)
            fail_msg("%s", r[i].message);
        assert_true(r[i].ntimes > 0 && r[i].median > 0);
        assert_false(r[i].stopped_early);
        assert_true(r[i].experiment);
        assert_false(r[i].verified);
        assert_true(r[i].program == r[0].program);
    }
    assert_int_equal(r[4].error, TC_MEAS_ILLEGAL);
    assert_non_null(strstr(r[4].message, "no epilogue to leave out"));
    in[0].again = in[1].again = true;
    double seconds[2 * 2];
    int done;
    assert_int_equal(tc_meas_interleave(m, in, 2, NULL, 2, arena, r, seconds, &done, NULL), TC_OK);
    assert_int_equal(done, 2);
    assert_true(r[1].experiment && !r[1].verified && r[0].verified);
    tc_meas_free(m);
}

static void denormal_data(void **state) {
    (void)state;
    tc_meas *m = make((tc_meas_options){0});
    tc_meas_input in[3] = {input(GEMM, ""), input(GEMM, ""), input(GEMM, "")};
    tc_record r[3];
    in[0].denormal = 1;
    in[1].denormal = 0.1;
    assert_int_equal(tc_meas_batch(m, in, 3, arena, r, NULL, NULL, NULL), TC_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(r[i].error, TC_MEAS_NONE);
        assert_true(r[i].experiment && r[i].ntimes > 0);
        assert_false(r[i].verified);
    }
    check_good(&r[2]); /* on its own data again */
    tc_meas_free(m);
}

static void what_threads_do(void **state) {
    (void)state;
    static const char *const traces[] = {"", ROWS};
    tc_meas *m = make((tc_meas_options){0});
    for (int i = 0; i < 2; i++) {
        tc_meas_input in = input(GEMM, traces[i]);
        in.shares = true;
        tc_record r = measure(m, in);
        check_good(&r);
        assert_false(r.experiment);
        assert_true(fabs(r.shares.work + r.shares.fork + r.shares.wait + r.shares.alone - 1) < 1e-6);
        assert_true(r.shares.loops == i);
        assert_true(i ? r.shares.work > 0 : r.shares.alone == 1);
        in.shares = false;
        in.again = true;
        r = measure(m, in);
        assert_true(r.shares.work + r.shares.fork + r.shares.wait + r.shares.alone + r.shares.loops == 0);
    }
    tc_meas_free(m);
}

/* A worker counts what a process can that is not in a sandbox: it opens its counters before. */
static void what_processors_count(void **state) {
    (void)state;
    tc_meas_counters here;
    tc_meas *m = make((tc_meas_options){.counters = true}), *without = make((tc_meas_options){0});
    tc_meas_input in = input(GEMM, ROWS);
    tc_meas_counters_open(&here);
    in.again = true;
    assert_false(measure(m, in).counts.asked);
    in.counts = true;
    assert_false(measure(without, in).counts.asked);
    for (int cold = 0; cold < 2; cold++) {
        in.cold = cold;
        tc_record r = measure(m, in);
        check_good(&r);
        assert_true(r.counts.asked);
        for (int i = 0; i < TC_MEAS_NCOUNTERS; i++) {
            assert_true(r.counts.missing[i] == here.missing[i] || r.counts.missing[i] == EBUSY); /* others count as well */
            assert_true(isfinite(r.counts.of_call[i]) && (!r.counts.missing[i] || r.counts.of_call[i] == 0));
        }
        if (!here.missing[TC_COUNTER_TASK_CLOCK])
            assert_true(r.counts.of_call[TC_COUNTER_TASK_CLOCK] > 0);
    }
    tc_meas_counters_close(&here);
    tc_meas_free(m);
    tc_meas_free(without);
}

static void check_refused(tc_meas *m, const tc_meas_input *in, const char *why) {
    tc_record r[2];
    tc_error err = {0};
    double seconds[2];
    int done;
    assert_int_equal(tc_meas_batch(m, in, 2, arena, r, NULL, NULL, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, why));
    assert_int_equal(r[0].error, TC_MEAS_INTERRUPTED);
    assert_int_equal(tc_meas_interleave(m, in, 2, NULL, 1, arena, r, seconds, &done, &err), TC_BAD_INPUT);
    assert_int_equal(done, 0);
}

/* Times that are computed know nothing of them; nor are there other parts, or more than all data. */
static void experiments_that_cannot_be(void **state) {
    (void)state;
    tc_meas *m = make((tc_meas_options){.mode = TC_MEAS_SIMULATED}), *here = make((tc_meas_options){0});
    tc_meas_input in[2] = {input(GEMM, ""), input(GEMM, "")};
    in[1].without = part_named("loads");
    check_refused(m, in, "processes of this machine only");
    in[1].without = 0;
    in[1].denormal = 0.5;
    check_refused(m, in, "processes of this machine only");
    in[1].denormal = 1.5;
    check_refused(here, in, "1.5");
    in[1].denormal = 0;
    in[1].without = TC_TIR_ALL_PARTS + 1;
    check_refused(here, in, "parts");
    in[1].without = 0;
    in[1].shares = true;
    check_refused(m, in, "processes of this machine only");
    in[1].shares = false;
    in[1].counts = true;
    check_refused(m, in, "processes of this machine only");
    tc_meas_free(m);
    tc_meas_free(here);
}

static void illegal_traces(void **state) {
    (void)state;
    tc_meas *m = make((tc_meas_options){0});
    tc_record r = measure(m, input(GEMM, "a, b = split t0.nothing [_, 4]\n"));
    assert_int_equal(r.error, TC_MEAS_ILLEGAL);
    assert_non_null(strstr(r.message, "nothing"));
    r = measure(m, input(GEMM, "this is no trace\n"));
    assert_int_equal(r.error, TC_MEAS_ILLEGAL);
    r = measure(m, (tc_meas_input){.workload = "rubbish", .trace = ""});
    assert_int_equal(r.error, TC_MEAS_BUILD_FAILED);
    tc_meas_free(m);
}

static void slow_candidates_are_stopped_early(void **state) {
    (void)state;
    tc_meas *m = make((tc_meas_options){0}), *patient = make((tc_meas_options){.early_stop = -1});
    tc_meas_input in = input(GEMM, "");
    in.best = 1e-9;
    tc_record r = measure(m, in);
    check_good(&r);
    assert_true(r.stopped_early);
    assert_int_equal(r.ntimes, 1);
    r = measure(patient, in);
    check_good(&r);
    assert_false(r.stopped_early);
    assert_in_range(r.ntimes, 2, 7); /* 7, unless the machine is so busy that the budget ends first */
    in.best = 1000;
    in.again = true;
    r = measure(m, in);
    assert_false(r.stopped_early);
    assert_int_equal(tc_meas_kernel_time(m, &in, 20, arena, &r, NULL), TC_OK);
    check_good(&r);
    assert_in_range(r.ntimes, 8, 20);
    tc_meas_free(m);
    tc_meas_free(patient);
}

static void too_much_memory_is_a_record(void **state) {
    (void)state;
#ifdef TCTUNE_SANITIZED
    print_message("skipped: memory limits (a sanitizer's shadow is larger than any)\n");
    skip();
#endif
    tc_meas *m = make((tc_meas_options){.memory_limit = 1 << 30});
    tc_record r = measure(m, input("tensor X[40000, 40000] f32\ncompute Y[i:40000, j:40000] = X[i, j] + 1.0\noutput Y\n", ""));
    assert_int_equal(r.error, TC_MEAS_RUN_FAILED);
    assert_non_null(strstr(r.message, "out of memory"));
    r = measure(m, input(GEMM, ""));
    check_good(&r);
    tc_meas_free(m);
}

/* ---- sizes that vary ---- */

static const char LAYER[] = "symbol N 1..70\n"
                            "tensor X[N, 64] f32\n"
                            "tensor W[64, 48] f32 const\n"
                            "compute D[i:N, j:48] = sum(k:64) X[i, k] * W[k, j]\n"
                            "output D\n";
static const char PANELS[] = "transform_layout p1 (k, j) -> (j / 16, k, j % 16)\n"
                             "io, ii = split t0.i0 [_, 6]\njo, ji = split t0.i1 [_, 16]\nreorder t0.jo t0.io t0.k0 t0.ii t0.ji\n"
                             "vectorize t0.ji\nparallel t0.jo\n";

static void a_kernel_is_timed_at_its_sizes(void **state) {
    (void)state;
    for (int mode = TC_MEAS_HOT; mode <= TC_MEAS_COLD; mode++) {
        tc_meas *m = make((tc_meas_options){.mode = (tc_meas_mode)mode});
        static const char *const sizes[] = {"1", "7", "70"};
        for (size_t i = 0; i < TC_LEN(sizes); i++) { /* no duplicates */
            tc_meas_input in = input(LAYER, PANELS);
            in.sizes = sizes[i];
            tc_record r = measure(m, in);
            check_good(&r);
            assert_string_equal(r.sizes, sizes[i]);
        }
        tc_meas_input in = input(LAYER, PANELS);
        in.sizes = "7";
        assert_int_equal(measure(m, in).error, TC_MEAS_DUPLICATE);
        tc_meas_free(m);
    }
}

static void sizes_that_it_does_not_have_are_a_record(void **state) {
    (void)state;
    static const struct {
        const char *te, *sizes, *says;
    } bad[] = {
        {LAYER, NULL, "symbol s0 of its workload varies"}, {LAYER, "71", "runs from 1 to 70"}, {GEMM, "50", "has no symbols"}};
    tc_meas *m = make((tc_meas_options){0});
    for (size_t i = 0; i < TC_LEN(bad); i++) {
        tc_meas_input in = input(bad[i].te, "");
        in.sizes = bad[i].sizes;
        tc_record r = measure(m, in);
        assert_int_equal(r.error, TC_MEAS_RUN_FAILED);
        assert_non_null(strstr(r.message, bad[i].says));
    }
    tc_meas_free(m);
}

static void programs_over_sizes(void **state) {
    (void)state;
    enum { PROGRAMS = 3, POINTS = 3, ROUNDS = 2 };
    static const char *const sizes[POINTS] = {"1", "13", "70"};
    for (int simulated = 0; simulated < 2; simulated++) {
        tc_meas *m = make((tc_meas_options){.mode = simulated ? TC_MEAS_SIMULATED : TC_MEAS_HOT, .early_stop = -1});
        tc_meas_input in[PROGRAMS] = {input(LAYER, ""), input(LAYER, "parallel t0.nowhere\n"), input(LAYER, PANELS)};
        tc_record r[PROGRAMS * POINTS];
        for (int again = 0; again < 2; again++) {
            assert_int_equal(tc_meas_over_sizes(m, in, PROGRAMS, sizes, POINTS, ROUNDS, arena, r, NULL, NULL, NULL), TC_OK);
            for (int i = 0; i < PROGRAMS * POINTS; i++) {
                assert_string_equal(r[i].sizes, sizes[i % POINTS]);
                if (i / POINTS == 1) {
                    assert_int_equal(r[i].error, TC_MEAS_ILLEGAL);
                    assert_non_null(strstr(r[i].message, "nowhere"));
                    continue;
                }
                assert_true(tc_record_ok(&r[i]) && r[i].verified && r[i].rounds == ROUNDS && r[i].ntimes == ROUNDS);
                assert_true(r[i].program == r[i / POINTS * POINTS].program && r[i].program != 0);
            }
        }
        assert_true(!simulated || r[0].median < r[POINTS - 1].median);
        assert_int_equal(tc_meas_get_stats(m).built, simulated ? 0 : 4); /* each once */
        tc_meas_free(m);
    }
}

/* ---- objects that do not belong to the workload they are run as ---- */

static tc_meas_event request(tc_meas_proc *p, tc_meas_msg type, const tc_strbuf *b) {
    tc_meas_event ev;
    tc_error err = {0};
    if (tc_meas_proc_send(p, type, b->data, b->len, 60, &err) != TC_OK)
        fail_msg("%s", err.msg);
    tc_meas_proc_wait(&p, 1, NULL, &ev);
    return ev;
}

static void build_object(tc_meas_proc *p, const char *te, const char *trace, tc_strbuf *object, uint64_t *workspace) {
    tc_strbuf b = {0};
    tc_meas_put_text(&b, input(te, trace).workload);
    tc_meas_put_text(&b, trace);
    tc_meas_put_text(&b, "native");
    tc_meas_put_u64(&b, 2);
    tc_meas_put_u64(&b, 0);
    assert_int_equal(request(p, TC_MEAS_MSG_BUILD, &b), TC_MEAS_EV_REPLY);
    tc_meas_reader r = tc_meas_reader_of(p->reply, p->reply_size);
    size_t n;
    assert_int_equal(tc_meas_get_u64(&r), TC_MEAS_NONE);
    (void)tc_meas_get_text(&r, arena);
    assert_true(tc_meas_get_u64(&r) != 0);
    (void)tc_meas_get_f64(&r);
    *workspace = tc_meas_get_u64(&r);
    const void *bytes = tc_meas_get_bytes(&r, &n);
    tc_sb_addn(object, bytes, n);
    assert_true(tc_meas_reader_done(&r));
    tc_strbuf_free(&b);
}

/* Runs the code of `built` as if it were that of `claimed`, at these sizes. */
static tc_meas_event run_as(const char *built, const char *claimed, const char *sizes, tc_meas_error *error, const char **message,
                            tc_meas_death *death) {
    tc_meas_proc p;
    tc_strbuf object = {0}, b = {0};
    uint64_t workspace;
    tc_meas_timing t = {.threads = 2, .samples = 3, .min_sample = 1e-3, .budget = 1, .verify = true};
    tc_meas_proc_init(&p, &(tc_meas_proc_options){0});
    build_object(&p, built, "", &object, &workspace);
    tc_meas_put_text(&b, input(claimed, "").workload);
    tc_meas_put_text(&b, sizes);
    tc_meas_put_u64(&b, 0);
    tc_meas_put_f64(&b, 0);
    tc_meas_put_text(&b, "");
    tc_meas_put_text(&b, "native");
    tc_meas_put_bytes(&b, object.data, object.len);
    tc_meas_put_u64(&b, workspace);
    tc_meas_put_timing(&b, &t);
    tc_meas_event ev = request(&p, TC_MEAS_MSG_RUN, &b);
    if (ev == TC_MEAS_EV_REPLY) {
        tc_meas_reader r = tc_meas_reader_of(p.reply, p.reply_size);
        *error = (tc_meas_error)tc_meas_get_u64(&r);
        *message = tc_meas_get_text(&r, arena);
    }
    *death = p.death;
    tc_meas_proc_close(&p);
    tc_strbuf_free(&object);
    tc_strbuf_free(&b);
    return ev;
}

static void check_wrong(const char *built, const char *claimed, const char *phrase) {
    tc_meas_error e = TC_MEAS_NONE;
    const char *message = "";
    tc_meas_death death;
    assert_int_equal(run_as(built, claimed, "", &e, &message, &death), TC_MEAS_EV_REPLY);
    if (e != TC_MEAS_WRONG_RESULT || !strstr(message, phrase))
        fail_msg("got %s '%s', not '%s'", tc_meas_error_text(e), message, phrase);
}

static void wrong_kernels_are_found_out(void **state) {
    (void)state;
    static const char plus[] =
        "tensor A[40, 40] f32\ntensor B[40, 40] f32\ncompute C[i:40, j:40] = A[i, j] + B[i, j]\noutput C\n",
                      minus[] =
                          "tensor A[40, 40] f32\ntensor B[40, 40] f32\ncompute C[i:40, j:40] = A[i, j] - B[i, j]\noutput C\n",
                      half[] =
                          "tensor A[20, 40] f32\ntensor B[20, 40] f32\ncompute C[i:20, j:40] = A[i, j] + B[i, j]\noutput C\n",
                      half_i8[] = "tensor A[70] i8\ntensor B[70] i8\ncompute C[i:70] = A[i] + B[i]\noutput C\n",
                      whole_i8[] = "tensor A[80] i8\ntensor B[80] i8\ncompute C[i:80] = A[i] + B[i]\noutput C\n",
                      two_more[] = "tensor A[42] f32\ncompute C[i:42] = A[i] * 2.0\noutput C\n",
                      two_less[] = "tensor A[40] f32\ncompute C[i:40] = A[i] * 2.0\noutput C\n";
    check_wrong(minus, plus, "the reference has");
    check_wrong(half, plus, "never written");
    check_wrong(half_i8, whole_i8, "never written");
    check_wrong(two_more, two_less, "past the end");
}

static void a_kernel_that_leaves_its_buffers_dies(void **state) {
    (void)state;
    tc_meas_error e;
    const char *message;
    tc_meas_death death;
    static const char large[] = "tensor A[4000, 40] f32\ncompute C[i:4000, j:40] = A[i, j] + 1.0\noutput C\n",
                      small[] = "tensor A[40, 40] f32\ncompute C[i:40, j:40] = A[i, j] + 1.0\noutput C\n";
    assert_int_equal(run_as(large, small, "", &e, &message, &death), TC_MEAS_EV_DIED);
#ifndef TCTUNE_SANITIZED
    assert_int_equal(death.signal, SIGSEGV);
#endif
}

/* Memory is as large as the sizes say, not as the largest. */
static void a_kernel_that_leaves_its_sizes_dies(void **state) {
    (void)state;
    tc_meas_error e;
    const char *message;
    tc_meas_death death;
    static const char whole[] = "tensor A[4000, 40] f32\ncompute C[i:4000, j:40] = A[i, j] + 1.0\noutput C\n",
                      rows[] = "symbol N 1..4000\ntensor A[N, 40] f32\ncompute C[i:N, j:40] = A[i, j] + 1.0\noutput C\n";
    assert_int_equal(run_as(whole, rows, "40", &e, &message, &death), TC_MEAS_EV_DIED);
    assert_int_equal(run_as(whole, rows, "4000", &e, &message, &death), TC_MEAS_EV_REPLY);
    assert_int_equal(e, TC_MEAS_NONE);
}

/* ---- nonsense on the wire ---- */

/* Sends bytes to a worker's main function and closes; returns its exit status, -1 when it did not end by itself. */
static int serve_bytes(const void *bytes, size_t n) {
    int pair[2], status;
    char sink[256];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        if (!freopen("/dev/null", "w", stderr))
            _exit(9);
        alarm(600); /* whatever the load */
        _exit(tc_meas_worker_main(pair[1], pair[1]));
    }
    close(pair[1]);
    assert_int_equal(write(pair[0], bytes, n), n);
    shutdown(pair[0], SHUT_WR);
    while (read(pair[0], sink, sizeof sink) > 0)
        ;
    close(pair[0]);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void nonsense_ends_the_worker_cleanly(void **state) {
    (void)state;
    tc_strbuf b = {0}, m = {0};
    assert_int_equal(serve_bytes("", 0), 0);
    tc_meas_put_text(&b, "rubbish");
    tc_meas_put_text(&b, "");
    tc_meas_put_text(&b, "native");
    tc_meas_put_u64(&b, 1);
    tc_meas_put_u64(&b, 0);
    tc_meas_frame f = {TC_MEAS_FRAME_MAGIC, TC_MEAS_MSG_BUILD, b.len};
    tc_sb_addn(&m, (char *)&f, sizeof f);
    tc_sb_addn(&m, b.data, b.len);
    assert_int_equal(serve_bytes(m.data, m.len), 0); /* a well-formed request: BUILD_FAILED is its answer */
    for (size_t n = 1; n < m.len; n += n < 24 ? 1 : 5)
        assert_int_equal(serve_bytes(m.data, n), 1); /* cut short anywhere */
    f.size = b.len - 8;
    memcpy(m.data, &f, sizeof f);
    assert_int_equal(serve_bytes(m.data, m.len - 8), 1); /* whole frame, a field too few */
    const tc_meas_frame bad[] = {{1, TC_MEAS_MSG_BUILD, 0},
                                 {TC_MEAS_FRAME_MAGIC, 99, 0},
                                 {TC_MEAS_FRAME_MAGIC, TC_MEAS_MSG_BUILD, (uint64_t)1 << 62},
                                 {TC_MEAS_FRAME_MAGIC, TC_MEAS_MSG_READY, 0},
                                 {TC_MEAS_FRAME_MAGIC, TC_MEAS_MSG_RUN, 0},
                                 {TC_MEAS_FRAME_MAGIC, TC_MEAS_MSG_PREPARE, 0}};
    for (size_t i = 0; i < TC_LEN(bad); i++)
        assert_int_equal(serve_bytes(&bad[i], sizeof bad[i]), 1);
    tc_strbuf_free(&b);
    tc_strbuf_free(&m);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return tc_meas_worker_main(TC_MEAS_WORKER_FD, TC_MEAS_WORKER_FD);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(nonsense_ends_the_worker_cleanly),
        TEST(schedules_of_a_gemm),
        TEST(other_workloads),
        TEST(cold_timing),
        TEST(cold_beside_hot),
        TEST(a_part_left_out),
        TEST(denormal_data),
        TEST(what_threads_do),
        TEST(what_processors_count),
        TEST(experiments_that_cannot_be),
        TEST(illegal_traces),
        TEST(slow_candidates_are_stopped_early),
        TEST(too_much_memory_is_a_record),
        TEST(wrong_kernels_are_found_out),
        TEST(a_kernel_that_leaves_its_buffers_dies),
        TEST(a_kernel_that_leaves_its_sizes_dies),
        TEST(a_kernel_is_timed_at_its_sizes),
        TEST(sizes_that_it_does_not_have_are_a_record),
        TEST(programs_over_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
