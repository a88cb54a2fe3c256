/* The worker process: reads requests, builds or runs candidates, answers. Workloads, with their data, are kept between requests;
 * everything that belongs to one candidate lives in a child context that goes with the answer. Before the first request it closes
 * its sandbox: what compiles has the folder of kept objects, what runs kernels has no files at all. */
#include "measure/worker/worker.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/artefacts/cache.h"
#include "codegen/code/code.h"
#include "measure/records/check.h"
#include "measure/sandbox/sandbox.h"
#include "measure/worker/worker_int.h"
#include "support/log.h"
#include "support/say.h"
#include "support/system/user_folder.h"
#include "te/text.h"
#include "tir_lower/program/ablate.h"

enum {
    KEPT = 8 /* workloads with data: a round measures one task, rounds go round a handful */
};

typedef struct kept {
    char *text, *sizes; /* sizes: "" of a workload without symbols, and to builders, for which they vary */
    tc_ctx *ctx;
    const tc_workload *w;
    const int64_t *size; /* of each symbol */
    tc_meas_data *data;  /* of these sizes; NULL until prepared */
    double denormal;     /* share of the data that is */
    uint64_t seed, used;
} kept;

typedef struct worker {
    int in, out;
    kept kept[KEPT];
    uint64_t clock;
    tc_target *target; /* the last one used */
    char *target_text;
    tc_meas_counters *counters; /* NULL: nobody wants any */
    tc_cg_cache *cache;         /* of compiled candidates; NULL: none, and no files either */
    tc_arena *arena;            /* for one request */
} worker;

static void forget(kept *k) {
    tc_meas_data_free(k->data);
    tc_ctx_free(k->ctx);
    free(k->text);
    free(k->sizes);
    *k = (kept){0};
}

static tc_status find_workload(worker *w, const char *text, const char *sizes, kept **out, tc_error *err) {
    kept *k = &w->kept[0];
    for (int i = 0; i < KEPT; i++) {
        if (w->kept[i].text && strcmp(w->kept[i].text, text) == 0 && strcmp(w->kept[i].sizes, sizes) == 0) {
            w->kept[i].used = ++w->clock;
            *out = &w->kept[i];
            return TC_OK;
        }
        if (w->kept[i].used < k->used)
            k = &w->kept[i];
    }
    if (k->text)
        forget(k);
    *k = (kept){.text = tc_xstrdup(text), .sizes = tc_xstrdup(sizes), .ctx = tc_ctx_new(), .used = ++w->clock};
    tc_status s = tc_te_parse(k->ctx, "workload", text, &k->w, err);
    if (s != TC_OK)
        forget(k);
    *out = k;
    return s;
}

static tc_status find_target(worker *w, const char *text, int threads, tc_error *err) {
    if (!w->target_text || strcmp(w->target_text, text) != 0) {
        tc_target_free(w->target);
        free(w->target_text);
        w->target = NULL;
        w->target_text = NULL;
        TC_TRY(tc_target_parse(text, &w->target, err));
        w->target_text = tc_xstrdup(text);
    }
    w->target->machine.cores = threads;
    return TC_OK;
}

/* What the target found last makes of a trace. */
static tc_tir_origin origin_of(const worker *w, const kept *k, const char *trace) {
    return (tc_tir_origin){.workload = k->w, .machine = &w->target->machine, .text = trace, .name = "trace"};
}

/* ---- BUILD ---- */

typedef struct built {
    tc_meas_error error;
    uint64_t program;
    uint64_t workspace;
    void *object;
    size_t size;
} built;

/* What is to be built. */
typedef struct order {
    const char *workload, *trace, *target;
    int threads;
    unsigned without; /* parts of the program */
} order;

static tc_status build(worker *w, const order *o, tc_ctx **ctx, built *b, tc_error *err) {
    kept *k;
    tc_tir_program p;
    b->error = TC_MEAS_BUILD_FAILED;
    TC_TRY(find_workload(w, o->workload, "", &k, err));
    TC_TRY(find_target(w, o->target, o->threads, err));
    *ctx = tc_ctx_child(k->ctx);
    b->error = TC_MEAS_ILLEGAL;
    tc_tir_origin from = origin_of(w, k, o->trace);
    tc_status s = tc_tir_program_without(*ctx, &from, o->without, &p, err);
    b->program = p.hash; /* of the whole program; known also where the passes refuse it */
    if (s != TC_OK)
        return s;
    b->error = TC_MEAS_BUILD_FAILED;
    b->workspace = (uint64_t)tc_cg_workspace_bytes(p.lowered, o->threads);
    int64_t stack; /* bounded by code generation */
    TC_TRY(tc_cg_cached_object(w->cache, w->target, p.lowered, TC_MEAS_SYMBOL, &b->object, &b->size, &stack, err));
    b->error = TC_MEAS_NONE;
    return TC_OK;
}

/* Want of memory is the machine's, not the candidate's: such a record excludes no program. */
static tc_meas_error or_memory(tc_meas_error otherwise, const tc_error *err, tc_meas_error memory) {
    return err->code == TC_ERROR_MEMORY ? memory : otherwise;
}

static void answer_build(worker *w, tc_meas_reader *r, tc_strbuf *reply) {
    double start = tc_now();
    tc_error err = {0};
    tc_ctx *ctx = NULL;
    built b = {0};
    order o = {.workload = tc_meas_get_text(r, w->arena)};
    o.trace = tc_meas_get_text(r, w->arena);
    o.target = tc_meas_get_text(r, w->arena);
    o.threads = (int)tc_meas_get_u64(r);
    o.without = (unsigned)tc_meas_get_u64(r);
    if (!tc_meas_reader_done(r))
        return;
    tc_status s = build(w, &o, &ctx, &b, &err);
    tc_meas_put_u64(reply, or_memory(b.error, &err, TC_MEAS_BUILD_MEMORY));
    tc_meas_put_text(reply, s == TC_OK ? "" : err.msg);
    tc_meas_put_u64(reply, b.program);
    tc_meas_put_f64(reply, tc_now() - start);
    tc_meas_put_u64(reply, b.workspace);
    tc_meas_put_bytes(reply, b.object, b.size);
    free(b.object);
    tc_ctx_free(ctx);
}

/* ---- PREPARE and RUN ---- */

/* The workload at its sizes. */
static tc_status fix_sizes(kept *k, const tc_workload **out, tc_error *err) {
    int64_t *size = TC_NEW_N(tc_ctx_arena(k->ctx), int64_t, k->w->nsymbol);
    TC_TRY(tc_meas_check_sizes(k->w, k->sizes, size, err));
    k->size = size;
    *out = k->w;
    return k->w->nsymbol ? tc_te_at(k->ctx, k->w, size, out, err) : TC_OK;
}

/* What a run is of: both requests begin with it. */
typedef struct subject {
    const char *workload, *sizes;
    uint64_t seed;
    double denormal;
} subject;

static subject get_subject(tc_meas_reader *r, tc_arena *a) {
    subject x = {.workload = tc_meas_get_text(r, a)};
    x.sizes = tc_meas_get_text(r, a);
    x.seed = tc_meas_get_u64(r);
    x.denormal = tc_meas_get_f64(r);
    return x;
}

static tc_status prepare(worker *w, const subject *x, kept **out, tc_error *err) {
    const tc_workload *fixed;
    TC_TRY(find_workload(w, x->workload, x->sizes, out, err));
    kept *k = *out;
    if (k->data && k->seed == x->seed && k->denormal == x->denormal)
        return TC_OK;
    tc_meas_data_free(k->data);
    k->data = NULL;
    k->seed = x->seed;
    k->denormal = x->denormal;
    TC_TRY(fix_sizes(k, &fixed, err));
    return tc_meas_data_new(fixed, x->seed, x->denormal, &k->data, err);
}

static void answer_prepare(worker *w, tc_meas_reader *r, tc_strbuf *reply) {
    tc_error err = {0};
    kept *k;
    subject x = get_subject(r, w->arena);
    if (!tc_meas_reader_done(r))
        return;
    tc_status s = prepare(w, &x, &k, &err);
    tc_meas_put_u64(reply, s == TC_OK ? TC_MEAS_NONE : or_memory(TC_MEAS_RUN_FAILED, &err, TC_MEAS_RUN_MEMORY));
    tc_meas_put_text(reply, s == TC_OK ? "" : err.msg);
}

static void put_result(tc_strbuf *reply, const tc_meas_result *res, double seconds) {
    tc_meas_put_u64(reply, res->error);
    tc_meas_put_text(reply, res->message);
    tc_meas_put_bytes(reply, res->times.data, res->times.len * sizeof *res->times.data);
    tc_meas_put_u64(reply, res->verified);
    tc_meas_put_f64(reply, res->max_error);
    tc_meas_put_u64(reply, res->stopped_early);
    tc_meas_put_f64(reply, seconds);
    tc_meas_put_f64(reply, res->reference);
    tc_meas_put_shares(reply, &res->shares);
    tc_meas_put_counts(reply, &res->counts);
}

static void answer_run(worker *w, tc_meas_reader *r, tc_strbuf *reply) {
    double start = tc_now();
    tc_error err = {0};
    tc_meas_result res = {.error = TC_MEAS_RUN_FAILED};
    kept *k;
    tc_tir_program p;
    size_t size;
    tc_ctx *ctx = NULL;
    subject x = get_subject(r, w->arena);
    const char *trace = tc_meas_get_text(r, w->arena), *target = tc_meas_get_text(r, w->arena);
    const void *object = tc_meas_get_bytes(r, &size);
    size_t workspace = (size_t)tc_meas_get_u64(r);
    tc_meas_timing t = tc_meas_get_timing(r);
    if (!tc_meas_reader_done(r))
        return;
    tc_status s = prepare(w, &x, &k, &err);
    if (s == TC_OK)
        s = find_target(w, target, t.threads, &err);
    if (s == TC_OK) {
        tc_tir_origin from = origin_of(w, k, trace);
        ctx = tc_ctx_child(k->ctx);
        s = tc_tir_program_make(ctx, &from, TC_TIR_NEST, &p, &err);
    }
    if (s == TC_OK)
        tc_meas_run(k->data, &(tc_meas_code){p.nest, k->size, object, size, workspace, w->counters}, &t, w->arena, &res);
    else
        res = (tc_meas_result){.error = or_memory(TC_MEAS_RUN_FAILED, &err, TC_MEAS_RUN_MEMORY), .message = err.msg};
    put_result(reply, &res, tc_now() - start);
    tc_vec_free(&res.times);
    tc_ctx_free(ctx);
}

/* ---- the loop ---- */

/* Answers one request. TC_ENV: the tuner is gone or speaks nonsense; there is nobody to tell but stderr. */
static tc_status serve(worker *w, tc_meas_msg type, const char *payload, size_t n, tc_error *err) {
    static void (*const answer[TC_MEAS_NMSGS])(worker *, tc_meas_reader *, tc_strbuf *) = {
        [TC_MEAS_MSG_BUILD] = answer_build, [TC_MEAS_MSG_PREPARE] = answer_prepare, [TC_MEAS_MSG_RUN] = answer_run};
    static const tc_meas_msg answer_type[TC_MEAS_NMSGS] = {[TC_MEAS_MSG_BUILD] = TC_MEAS_MSG_BUILT,
                                                           [TC_MEAS_MSG_PREPARE] = TC_MEAS_MSG_PREPARED,
                                                           [TC_MEAS_MSG_RUN] = TC_MEAS_MSG_RAN};
    tc_meas_reader r = tc_meas_reader_of(payload, n);
    tc_strbuf reply = {0};
    if (!answer[type])
        return tc_fail(err, TC_ENV, "'%s' is not a request", tc_meas_msg_text(type));
    if (type == TC_MEAS_MSG_RUN && w->cache)
        return tc_fail(err, TC_ENV, "a worker that has files runs no kernels");
    answer[type](w, &r, &reply);
    tc_status s = tc_meas_reader_done(&r) ? tc_meas_write_frame(w->out, answer_type[type], reply.data, reply.len, err)
                                          : tc_fail(err, TC_ENV, "malformed '%s' request", tc_meas_msg_text(type));
    tc_strbuf_free(&reply);
    tc_arena_reset(w->arena);
    return s;
}

static tc_status greet(worker *w, const char *lacks, tc_error *err) {
    tc_strbuf b = {0};
    tc_meas_put_u64(&b, TC_MEAS_PROTOCOL);
    tc_meas_put_text(&b, tc_cg_llvm_version());
    tc_meas_put_text(&b, lacks);
    tc_status s = tc_meas_write_frame(w->out, TC_MEAS_MSG_READY, b.data, b.len, err);
    tc_strbuf_free(&b);
    return s;
}

static tc_status loop(worker *w, const char *lacks, tc_error *err) {
    TC_TRY(greet(w, lacks, err));
    for (;;) {
        tc_meas_msg type;
        char *payload;
        size_t n = 0;
        bool eof;
        TC_TRY(tc_meas_read_frame(w->in, &type, &payload, &n, &eof, err));
        if (eof)
            return TC_OK;
        tc_status s = serve(w, type, payload, n, err);
        free(payload);
        TC_TRY(s);
    }
}

/* What is asked of the machine is asked before. */
static void close_sandbox(const worker *w, tc_strbuf *lacks) {
    char *folder = w->cache ? tc_user_folder() : NULL;
    tc_target_ask_machine();
    tc_sandbox_enter(&(tc_sandbox){.folder = folder, .threads = omp_get_max_threads()}, lacks);
    free(folder);
}

static void release(worker *w) {
    if (w->counters)
        tc_meas_counters_close(w->counters);
    for (int i = 0; i < KEPT; i++)
        if (w->kept[i].text)
            forget(&w->kept[i]);
    tc_target_free(w->target);
    free(w->target_text);
    tc_cg_cache_close(w->cache);
    tc_arena_free(w->arena);
}

tc_status tc_meas_worker_answer(int fd_in, int fd_out, tc_error *err) {
    worker w = {.in = fd_in, .out = fd_out, .arena = tc_arena_new()};
    tc_status s = loop(&w, "", err);
    release(&w);
    return s;
}

int tc_meas_worker_main(int fd_in, int fd_out) {
    worker w = {.in = fd_in, .out = fd_out, .arena = tc_arena_new(), .cache = tc_cg_cache_open()};
    tc_meas_counters counters;
    tc_error err = {0};
    tc_strbuf lacks = {0};
    if (getenv(TC_MEAS_WORKER_COUNTERS)) {
        tc_meas_counters_open(&counters);
        w.counters = &counters;
    }
    tc_status s = getenv(TC_MEAS_WORKER_RUNS) ? TC_OK : tc_cg_prepare(&err);
    if (s == TC_OK) {
        close_sandbox(&w, &lacks);
        s = loop(&w, tc_sb_str(&lacks), &err);
    }
    if (s != TC_OK)
        tc_say(stderr, "tctune worker: %s\n", err.msg);
    release(&w);
    tc_strbuf_free(&lacks);
    return s == TC_OK ? 0 : 1;
}
