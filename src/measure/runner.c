/* Running a candidate: seeded inputs that stay between candidates, packed constants, the check of the result, and timing.
 *
 * The first call writes into poisoned outputs and is checked. The calls of the next min_sample seconds wake the thread team and
 * warm the caches, and end the race for what is clearly slower than the best. Then a sample is the mean of as many calls as last
 * min_sample seconds. Measured hot, nothing is flushed between calls. Measured cold, the constants are put out of every cache
 * before each call, and only the calls are timed: in a network the weights of the other kernels have pushed them out, while what
 * a kernel reads besides was written just before. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/artefacts/runtime.h"
#include "codegen/code/code.h"
#include "measure/peak.h"
#include "measure/worker_int.h"
#include "support/log.h"
#include "support/vec.h"

enum {
    REFERENCES = 3,      /* runs of the reference before and after timing */
    MAX_INNER = 1 << 20, /* calls per sample */
    PACKED_KEPT = 8      /* packed constants kept per workload; candidates of one generation share few layouts */
};
/* After n samples a candidate whose fastest is slower than the best by more than this over n is out of the race: the fastest of
 * few is above a kernel's median by less on a quiet machine, and noise only ever adds. */
static const double BEHIND = 0.3;
/* A first call that many times over the threshold of early stopping, and slower by more than it takes to wake the threads, touch
 * pages and fill caches, needs no second one. */
static const double HOPELESS = 4, SETTLING = 0.5e-3;

typedef struct packed {
    char *key; /* parameter index, layout and size */
    tc_meas_region mem;
    uint64_t used;
} packed;

struct tc_meas_data {
    const tc_workload *w;
    tc_meas_region *in, *out;
    packed packed[PACKED_KEPT];
    uint64_t clock;
    tc_meas_check *check;
};

/* ---- inputs and outputs ---- */

static size_t tensor_bytes(const tc_tensor *t) {
    return (size_t)tc_tensor_size(t) * (size_t)tc_dtype_bytes(t->dtype);
}

static void fill_inputs(const tc_meas_data *d, uint64_t seed, bool positive) {
    for (int i = 0; i < d->w->nin; i++) {
        const tc_tensor *t = d->w->in[i];
        tc_rng parent = tc_rng_seed(seed), r = tc_rng_fork(&parent, (uint64_t)i);
        int64_t n = tc_tensor_size(t);
        tc_te_random_fill(t->dtype, d->in[i].data, n, &r, tc_te_index_limit(d->w, i));
        for (int64_t k = 0; positive && tc_dtype_is_float(t->dtype) && k < n; k++)
            tc_store_f(t->dtype, d->in[i].data, k, fabs(tc_load_f(t->dtype, d->in[i].data, k)) + 0.25);
    }
}

static tc_status make_check(tc_meas_data *d, uint64_t seed, tc_error *err) {
    const void **in = tc_xcalloc((size_t)d->w->nin + 1, sizeof *in);
    for (int i = 0; i < d->w->nin; i++)
        in[i] = d->in[i].data;
    tc_meas_check_free(d->check);
    tc_status s = tc_meas_check_new(d->w, in, seed, &d->check, err);
    free(in);
    return s;
}

/* A workload that takes logarithms or square roots gives NaN for half of all random inputs; with positive ones it can be checked.
 */
static tc_status fill_and_check(tc_meas_data *d, uint64_t seed, tc_error *err) {
    fill_inputs(d, seed, false);
    TC_TRY(make_check(d, seed, err));
    if (tc_meas_check_finite(d->check) < 0.75) {
        fill_inputs(d, seed, true);
        TC_TRY(make_check(d, seed, err));
    }
    for (int i = 0; i < d->w->nin; i++)
        tc_meas_region_protect(&d->in[i]);
    return TC_OK;
}

tc_status tc_meas_data_new(const tc_workload *w, uint64_t seed, tc_meas_data **out, tc_error *err) {
    tc_meas_data *d = tc_xcalloc(1, sizeof *d);
    tc_status s = TC_OK;
    d->w = w;
    d->in = tc_xcalloc((size_t)w->nin + 1, sizeof *d->in);
    d->out = tc_xcalloc((size_t)w->nout, sizeof *d->out);
    for (int i = 0; i < w->nin && s == TC_OK; i++)
        s = tc_meas_region_new(tensor_bytes(w->in[i]), &d->in[i], err);
    for (int i = 0; i < w->nout && s == TC_OK; i++)
        s = tc_meas_region_new(tensor_bytes(w->out[i]), &d->out[i], err);
    if (s == TC_OK)
        s = fill_and_check(d, seed, err);
    if (s != TC_OK) {
        tc_meas_data_free(d);
        d = NULL;
    }
    *out = d;
    return s;
}

void tc_meas_data_free(tc_meas_data *d) {
    if (!d)
        return;
    tc_meas_check_free(d->check);
    for (int i = 0; i < d->w->nin; i++)
        tc_meas_region_free(&d->in[i]);
    for (int i = 0; i < d->w->nout; i++)
        tc_meas_region_free(&d->out[i]);
    for (int i = 0; i < PACKED_KEPT; i++) {
        tc_meas_region_free(&d->packed[i].mem);
        free(d->packed[i].key);
    }
    free(d->in);
    free(d->out);
    free(d);
}

/* ---- packed constants ---- */

static void packed_key(const tc_param *p, tc_strbuf *b) {
    tc_sb_printf(b, "%d %lld (", p->index, (long long)p->buffer->size);
    for (int i = 0; i < p->layout->nin; i++)
        tc_sb_printf(b, "%s ", p->layout->var[i]->name);
    tc_sb_add(b, ") ->");
    for (int i = 0; i < p->layout->nout; i++) {
        tc_sb_addc(b, ' ');
        tc_expr_print(b, p->layout->to[i]);
    }
}

static packed *find_packed(tc_meas_data *d, const char *key) {
    packed *oldest = &d->packed[0];
    for (int i = 0; i < PACKED_KEPT; i++) {
        if (d->packed[i].key && strcmp(d->packed[i].key, key) == 0)
            return &d->packed[i];
        if (d->packed[i].used < oldest->used)
            oldest = &d->packed[i];
    }
    return oldest;
}

static tc_status pack(tc_meas_data *d, const tc_func *f, int param, void **out, tc_error *err) {
    const tc_param *p = &f->params[param];
    tc_strbuf key = {0};
    packed_key(p, &key);
    packed *k = find_packed(d, tc_sb_str(&key));
    tc_status s = TC_OK;
    if (!k->key || strcmp(k->key, tc_sb_str(&key)) != 0) {
        free(k->key);
        k->key = NULL;
        tc_meas_region_free(&k->mem);
        s = tc_meas_region_new((size_t)p->buffer->size * (size_t)tc_dtype_bytes(p->buffer->dtype), &k->mem, err);
        if (s == TC_OK) {
            k->key = tc_xstrdup(tc_sb_str(&key));
            tc_tir_pack(f, param, d->in[p->index].data, k->mem.data);
            tc_meas_region_protect(&k->mem);
        }
    }
    k->used = ++d->clock;
    *out = k->mem.data;
    tc_strbuf_free(&key);
    return s;
}

/* ---- calls ---- */

typedef struct call {
    tc_meas_data *d;
    tc_kernel *kernel;
    void **args;
    void *workspace;
    tc_rt rt;
    const tc_func *cold; /* its constants are put out of the caches before each call; NULL: nothing is */
} call;

static void evict_constants(const call *c) {
    for (int i = 0; c->cold && i < c->cold->nparam; i++) {
        const tc_param *p = &c->cold->params[i];
        if (p->kind == TC_PARAM_PACKED || (p->kind == TC_PARAM_IN && c->d->w->in[p->index]->is_const))
            tc_meas_evict(c->args[i], (size_t)p->buffer->size * (size_t)tc_dtype_bytes(p->buffer->dtype));
    }
}

static int32_t once(const call *c, double *seconds) {
    evict_constants(c);
    double t = tc_now();
    int32_t rc = c->kernel(c->args, c->workspace, &c->rt);
    *seconds = tc_now() - t;
    return rc;
}

static int32_t cold_sample(const call *c, int64_t inner, double *seconds) {
    double sum = 0, one;
    for (int64_t i = 0; i < inner; i++) {
        int32_t rc = once(c, &one);
        if (rc != 0)
            return rc;
        sum += one;
    }
    *seconds = sum / (double)inner;
    return 0;
}

static int32_t sample(const call *c, int64_t inner, double *seconds) {
    if (c->cold)
        return cold_sample(c, inner, seconds);
    double t = tc_now();
    for (int64_t i = 0; i < inner; i++) {
        int32_t rc = c->kernel(c->args, c->workspace, &c->rt);
        if (rc != 0)
            return rc;
    }
    *seconds = (tc_now() - t) / (double)inner;
    return 0;
}

static void fail(tc_meas_result *r, tc_arena *a, tc_meas_error e, const char *message) {
    r->error = e;
    r->message = tc_arena_strdup(a, message);
}

static void fail_status(tc_meas_result *r, tc_arena *a, int32_t rc) {
    r->error = TC_MEAS_RUN_FAILED;
    r->message = tc_arena_printf(a, "the kernel returned status %d", rc);
}

static void poison_outputs(const call *c, int pass) {
    for (int i = 0; i < c->d->w->nout; i++) {
        const tc_meas_region *o = &c->d->out[i];
        tc_meas_check_poison(o->data, (o->size + TC_RT_ALIGN - 1) / TC_RT_ALIGN * TC_RT_ALIGN, pass);
    }
}

/* The bytes between an output's end and the guard page. */
static bool padding_touched(const tc_meas_region *o) {
    size_t end = (o->size + TC_RT_ALIGN - 1) / TC_RT_ALIGN * TC_RT_ALIGN;
    for (size_t i = o->size; i < end; i++)
        if (((const unsigned char *)o->data)[i] != 0xff)
            return true;
    return false;
}

/* Elements of an integer output may be equal to the pattern by right: a second call over another pattern tells. */
static int32_t check_written(const call *c, tc_meas_result *r, tc_arena *a) {
    const tc_workload *w = c->d->w;
    int64_t n = 0, again = 0;
    double t;
    int which = 0;
    for (int i = w->nout - 1; i >= 0; i--) {
        int64_t k = tc_meas_check_poisoned(c->d->check, i, c->d->out[i].data, 0);
        if (k > 0)
            which = i, n = k;
        if (padding_touched(&c->d->out[i])) {
            fail(r, a, TC_MEAS_WRONG_RESULT, tc_arena_printf(a, "the kernel wrote past the end of %s", w->out[i]->name));
            return 0;
        }
    }
    if (n == 0)
        return 0;
    poison_outputs(c, 1);
    int32_t rc = once(c, &t);
    if (rc != 0)
        return rc;
    for (int i = 0; i < w->nout; i++)
        again += tc_meas_check_poisoned(c->d->check, i, c->d->out[i].data, 1);
    if (again > 0 || tc_dtype_is_float(w->out[which]->dtype))
        fail(r, a, TC_MEAS_WRONG_RESULT,
             tc_arena_printf(a, "%lld elements of %s were never written", (long long)n, w->out[which]->name));
    return 0;
}

/* Compares the outputs as they are. */
static void compare(const call *c, tc_meas_result *r, tc_arena *a) {
    tc_error err = {0};
    double worst;
    void **out = TC_NEW_N(a, void *, c->d->w->nout);
    for (int i = 0; i < c->d->w->nout; i++)
        out[i] = c->d->out[i].data;
    tc_status s = tc_meas_check_compare(c->d->check, out, &worst, &err);
    r->max_error = TC_MAX(r->max_error, worst);
    r->verified = s == TC_OK;
    if (s != TC_OK)
        fail(r, a, s == TC_ILLEGAL ? TC_MEAS_WRONG_RESULT : TC_MEAS_RUN_FAILED, err.msg);
}

/* First call, checked. *seconds: how long it took. False when the candidate is finished. */
static bool first_call(const call *c, const tc_meas_timing *t, tc_meas_result *r, tc_arena *a, double *seconds) {
    poison_outputs(c, 0);
    int32_t rc = once(c, seconds);
    if (rc == 0 && t->verify) {
        rc = check_written(c, r, a);
        if (rc == 0 && r->error == TC_MEAS_NONE)
            compare(c, r, a);
    }
    if (rc != 0)
        fail_status(r, a, rc);
    return r->error == TC_MEAS_NONE;
}

static bool slow(const tc_meas_timing *t, double seconds, double times) {
    return t->best > 0 && times > 0 && seconds > times * t->best;
}

/* How many calls make a sample, when one takes `seconds`. */
static int64_t calls_per_sample(const tc_meas_timing *t, double seconds) {
    double calls = ceil(t->min_sample / TC_MAX(seconds, 1e-9));
    return (int64_t)TC_MIN(TC_MAX(calls, 1.0), (double)MAX_INNER);
}

/* Samples until there are enough, or more would not change what is known. The number of calls follows each sample: on a busy
 * machine a single call says little about the next. */
static int32_t take_samples(const call *c, const tc_meas_timing *t, double seconds, tc_meas_result *r) {
    double start = tc_now(), fastest = seconds;
    if (seconds > t->budget) { /* the call just timed is all that can be afforded */
        tc_push(&r->times, seconds);
        return 0;
    }
    while (r->times.len < (size_t)TC_MAX(t->samples, 1)) {
        int32_t rc = sample(c, calls_per_sample(t, seconds), &seconds);
        if (rc != 0)
            return rc;
        tc_push(&r->times, seconds);
        if (tc_now() - start > t->budget)
            break;
        fastest = TC_MIN(fastest, seconds);
        if (t->early_stop > 0 && slow(t, fastest, 1 + t->doubt * BEHIND / (double)r->times.len))
            break;
    }
    return 0;
}

/* The fastest of the calls that fit into one sample. After the check the threads sleep and the caches hold other things: for a
 * kernel of 30 microseconds the next call takes twice as long as those that follow, and would say that it is out of the race. */
static int32_t settle(const call *c, const tc_meas_timing *t, double *fastest) {
    double sum = 0, one;
    *fastest = INFINITY;
    for (int calls = 0; calls < MAX_INNER && sum <= t->min_sample; calls++, sum += one) {
        int32_t rc = once(c, &one);
        if (rc != 0)
            return rc;
        *fastest = TC_MIN(*fastest, one);
    }
    return 0;
}

static void stop_early(tc_meas_result *r, double seconds) {
    r->stopped_early = true;
    tc_push(&r->times, seconds);
}

static void time_kernel(const call *c, const tc_meas_timing *t, tc_arena *a, tc_meas_result *r) {
    double first, settled;
    if (!first_call(c, t, r, a, &first))
        return;
    if (slow(t, first - SETTLING, HOPELESS * t->doubt * t->early_stop)) {
        stop_early(r, first);
        return;
    }
    int32_t rc = settle(c, t, &settled);
    if (rc == 0 && slow(t, TC_MIN(first, settled), t->doubt * t->early_stop)) {
        stop_early(r, TC_MIN(first, settled));
        return;
    }
    if (rc == 0)
        rc = take_samples(c, t, settled, r);
    if (rc != 0)
        fail_status(r, a, rc);
    else if (t->verify)
        compare(c, r, a); /* a kernel with a race or a state of its own goes wrong later rather than at once */
}

static void reference_body(int64_t begin, int64_t end, int32_t thread, void *closure) {
    (void)begin, (void)end, (void)thread, (void)closure;
    tc_meas_reference_work();
}

/* Also wakes the team. */
static void take_references(call *c, double *seconds) {
    for (int i = 0; i < REFERENCES; i++) {
        double start = tc_now();
        c->rt.parallel_for(&c->rt, c->rt.nthreads, reference_body, NULL);
        seconds[i] = tc_now() - start;
    }
}

static void time_in_context(call *c, const tc_meas_timing *t, tc_arena *a, tc_meas_result *r) {
    double seconds[2 * REFERENCES];
    take_references(c, seconds);
    time_kernel(c, t, a, r);
    take_references(c, seconds + REFERENCES);
    r->reference = tc_meas_median(seconds, TC_LEN(seconds));
}

static tc_status arguments(tc_meas_data *d, const tc_func *f, void **args, tc_error *err) {
    for (int i = 0; i < f->nparam; i++) {
        const tc_param *p = &f->params[i];
        if (p->kind == TC_PARAM_PACKED)
            TC_TRY(pack(d, f, i, &args[i], err));
        else
            args[i] = p->kind == TC_PARAM_IN ? d->in[p->index].data : d->out[p->index].data;
    }
    return TC_OK;
}

void tc_meas_run(tc_meas_data *d, const tc_meas_code *code, const tc_meas_timing *t, tc_arena *arena, tc_meas_result *out) {
    tc_error err = {0};
    tc_cg_module *m = NULL;
    tc_meas_region ws = {0};
    call c = {.d = d,
              .args = TC_NEW_N(arena, void *, code->f->nparam),
              .rt = tc_cg_runtime(t->threads),
              .cold = t->mode == TC_MEAS_COLD ? code->f : NULL};
    *out = (tc_meas_result){.message = ""};
    tc_status s = arguments(d, code->f, c.args, &err);
    if (s == TC_OK && code->workspace > 0)
        s = tc_meas_region_new(code->workspace, &ws, &err);
    if (s != TC_OK) {
        fail(out, arena, TC_MEAS_RUN_MEMORY, err.msg);
        return;
    }
    if (ws.data)
        memset(ws.data, 0xff, code->workspace); /* what a kernel reads before it wrote it is NaN */
    c.workspace = ws.data;
    s = tc_cg_load(code->object, code->size, &m, &err);
    if (s == TC_OK)
        s = tc_cg_lookup(m, TC_MEAS_SYMBOL, &c.kernel, &err);
    if (s != TC_OK) {
        fail(out, arena, TC_MEAS_RUN_FAILED, err.msg);
    } else {
        time_in_context(&c, t, arena, out);
    }
    if (out->error != TC_MEAS_NONE)
        out->times.len = 0;
    tc_cg_module_free(m);
    tc_meas_region_free(&ws);
}
