/* Running a candidate: the check of its result, and timing.
 *
 * The first call writes into poisoned outputs and is checked. The calls of the next min_sample seconds wake the thread team and
 * warm the caches. A candidate that is clearly slower than the best ends here. Then a sample is the mean of as many calls as last
 * min_sample seconds. Measured hot, nothing is flushed between calls. Measured cold, the constants are put out of every cache
 * before each call, and only the calls are timed: in a network the weights of other kernels have pushed them out, while the
 * kernel's other inputs were written just before.
 *
 * A time counts when the process ran for nearly all of it (support/clock/clock.h). A time that was taken while the process was
 * stopped, or while other processes had its processors, is taken again. This has a limit: on a machine that stays busy, the times
 * are kept as they are, and scatter. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/artefacts/runtime.h"
#include "codegen/code/code.h"
#include "measure/machine/peak.h"
#include "measure/worker/worker_int.h"
#include "support/clock/clock.h"
#include "support/log.h"
#include "support/vec.h"

enum {
    REFERENCES = 3,      /* runs of the reference before and after timing */
    MAX_INNER = 1 << 20, /* calls per sample */
    EVICTING = 20,       /* times as long as a sample lasts that may be spent on putting constants out of the caches for it */
    TRIES = 3,           /* that a time may take on average until the process ran for all of it */
    KNOWN = 4,           /* steps of the clock below which a single call's time says nothing */
    LOOKS = 16,          /* at the clock in a sample: some 30 ns each in 2 ms */
    LONGEST = 10         /* times as long as it should that a sample may last */
};
/* After n samples a candidate whose fastest is slower than the best by more than this over n is out of the race: the fastest of
 * few is above a kernel's median by less on a quiet machine, and noise only ever adds. */
static const double BEHIND = 0.3;
/* A first call that many times over the threshold of early stopping, and slower by more than it takes to wake the threads, touch
 * pages and fill caches, needs no second one. */
static const double HOPELESS = 4, SETTLING = 0.5e-3;

/* ---- calls ---- */

typedef struct call {
    tc_meas_data *d;
    tc_kernel *kernel;
    void **args;
    void *workspace;
    tc_rt rt;
    const tc_func *cold;              /* its constants are put out of the caches before each call; NULL: nothing is */
    double evicting;                  /* seconds that this takes */
    double step;                      /* of the clock, seconds */
    const tc_meas_counters *counters; /* NULL: there are none */
} call;

static size_t packed_bytes(const tc_param *p) {
    return (size_t)p->buffer->size * (size_t)tc_dtype_bytes(p->buffer->dtype);
}

static void evict_constants(const call *c) {
    for (int i = 0; c->cold && i < c->cold->nparam; i++) {
        const tc_param *p = &c->cold->params[i];
        if (p->kind == TC_PARAM_PACKED || (p->kind == TC_PARAM_IN && c->d->w->in[p->index]->is_const))
            tc_meas_evict(c->args[i], p->kind == TC_PARAM_IN ? c->d->in[p->index].size : packed_bytes(p));
    }
}

static double time_of_eviction(const call *c) {
    double t = tc_now();
    evict_constants(c);
    return c->cold ? tc_now() - t : 0;
}

static int32_t once(const call *c, double *seconds) {
    evict_constants(c);
    double t = tc_now();
    int32_t rc = c->kernel(c->args, c->workspace, &c->rt);
    *seconds = tc_now() - t;
    return rc;
}

/* Of a sample: the mean of `inner` calls, or of fewer, as *done says, where they last many times as long as they should. On a busy
 * machine each parallel loop may wait for a thread that has no core. */
static int32_t cold_sample(const call *c, int64_t inner, double most, int64_t *done, double *seconds) {
    double sum = 0, one;
    for (*done = 0; *done < inner && sum <= most; ++*done) {
        int32_t rc = once(c, &one);
        if (rc != 0)
            return rc;
        sum += one;
    }
    *seconds = sum / (double)*done;
    return 0;
}

static int32_t hot_sample(const call *c, int64_t inner, double most, int64_t *done, double *seconds) {
    int64_t part = (inner + LOOKS - 1) / LOOKS;
    double t = tc_now(), now = t;
    for (*done = 0; *done < inner && now - t <= most; now = tc_now())
        for (int64_t until = TC_MIN(*done + part, inner); *done < until; ++*done) {
            int32_t rc = c->kernel(c->args, c->workspace, &c->rt);
            if (rc != 0)
                return rc;
        }
    *seconds = (now - t) / (double)*done;
    return 0;
}

static int32_t sample(const call *c, int64_t inner, double expected, int64_t *done, double *seconds) {
    return (c->cold ? cold_sample : hot_sample)(c, inner, LONGEST * expected, done, seconds);
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

/* What the outputs hold. */
static void **copies(const call *c) {
    int n = c->d->w->nout;
    void **copy = tc_xcalloc((size_t)n, sizeof *copy);
    for (int i = 0; i < n; i++) {
        copy[i] = tc_xmalloc(c->d->out[i].size);
        memcpy(copy[i], c->d->out[i].data, c->d->out[i].size);
    }
    return copy;
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
    void **first = copies(c);
    poison_outputs(c, 1);
    int32_t rc = once(c, &t);
    for (int i = 0; i < w->nout && rc == 0; i++)
        again += tc_meas_check_unwritten(c->d->check, i, first[i], c->d->out[i].data);
    for (int i = 0; i < w->nout; i++)
        free(first[i]);
    free(first);
    if (rc != 0)
        return rc;
    if (again > 0 || (tc_dtype_is_float(w->out[which]->dtype) && !tc_dtype_is_stored(w->out[which]->dtype)))
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

/* First call, checked. *seconds: how long it took; INFINITY where that is not known. False when the candidate is finished. */
static bool first_call(const call *c, const tc_meas_timing *t, tc_meas_result *r, tc_arena *a, double *seconds) {
    poison_outputs(c, 0);
    tc_stopwatch watch = tc_stopwatch_start();
    int32_t rc = once(c, seconds);
    if (!tc_stopwatch_read(&watch).whole || *seconds < KNOWN * c->step)
        *seconds = INFINITY;
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

/* Seconds that a sample lasts at least. */
static double least(const call *c, const tc_meas_timing *t) {
    return TC_MAX(t->min_sample, TC_CLOCK_STEPS * c->step);
}

/* A kernel of microseconds that looks up a few rows of a table of 100 MB waits for 40 ms while that is put out of the caches. */
static double most_calls(const call *c, const tc_meas_timing *t) {
    double calls = c->evicting > 0 ? floor(EVICTING * least(c, t) / c->evicting) : MAX_INNER;
    return TC_MIN(TC_MAX(calls, 1.0), MAX_INNER);
}

/* How many calls make a sample, when one takes `seconds`. */
static int64_t calls_per_sample(const call *c, const tc_meas_timing *t, double seconds) {
    double calls = ceil(least(c, t) / TC_MAX(seconds, 1e-9));
    return (int64_t)TC_MIN(TC_MAX(calls, 1.0), most_calls(c, t));
}

/* One sample of calls that take `seconds`, which follows it. *good: it is one to keep; `last`: whether or not the process ran for
 * all of it. *spent: seconds that it used of the budget. */
static int32_t try_sample(const call *c, const tc_meas_timing *t, bool last, double *seconds, bool *good, double *spent) {
    int64_t inner = calls_per_sample(c, t, *seconds), done;
    double one = 0;
    tc_stopwatch watch = tc_stopwatch_start();
    int32_t rc = sample(c, inner, least(c, t), &done, &one);
    tc_span span = tc_stopwatch_read(&watch);
    bool told = one * (double)done >= KNOWN * c->step; /* the clock went on by enough */
    *good = told && (span.whole || last);
    *spent = *good ? span.seconds : TC_MIN(span.seconds, span.ran);
    if (*good)
        *seconds = one;
    else if (!told)
        *seconds = KNOWN * c->step / (double)done;
    return rc;
}

/* Samples until there are enough, or more would not change what is known. Half of the budget may go for what is taken again. The
 * number of calls follows each sample: on a busy machine a single call says little about the next. */
static int32_t take_samples(const call *c, const tc_meas_timing *t, double seconds, tc_meas_result *r) {
    double spent = 0, fastest = seconds;
    size_t wanted = (size_t)TC_MAX(t->samples, 1);
    if (seconds > t->budget) { /* the call just timed is all that can be afforded */
        tc_push(&r->times, seconds);
        return 0;
    }
    for (size_t left = TRIES * (wanted + 1); left > 0 && r->times.len < wanted; left--) {
        bool good, last = spent > t->budget / 2 || left <= wanted - r->times.len;
        double used;
        if (spent > t->budget && r->times.len > 0)
            break;
        int32_t rc = try_sample(c, t, last, &seconds, &good, &used);
        if (rc != 0)
            return rc;
        spent += used;
        if (!good)
            continue;
        tc_push(&r->times, seconds);
        fastest = TC_MIN(fastest, seconds);
        if (t->early_stop > 0 && slow(t, fastest, 1 + t->doubt * BEHIND / (double)r->times.len))
            break;
    }
    return 0;
}

/* Calls until they have lasted as long as a sample. *mean is theirs where the process ran for all of it, else as it was. */
static int32_t calls_of_a_sample(const call *c, const tc_meas_timing *t, double *fastest, double *mean, tc_span *span) {
    double sum = 0, one;
    int calls = 0;
    tc_stopwatch watch = tc_stopwatch_start();
    for (; calls < most_calls(c, t) && sum <= least(c, t); calls++, sum += one) {
        int32_t rc = once(c, &one);
        if (rc != 0)
            return rc;
        *fastest = TC_MIN(*fastest, one);
    }
    *span = tc_stopwatch_read(&watch);
    if (span->whole)
        *mean = sum / calls;
    return 0;
}

/* What one of the calls takes that fit into a sample: the fastest, or the mean where that is too short for the clock. After the
 * check the threads sleep and the caches hold other things: for a kernel of 30 microseconds the next call takes twice as long as
 * those that follow, and would say that it is out of the race. */
static int32_t settle(const call *c, const tc_meas_timing *t, double *seconds) {
    double mean = KNOWN * c->step, spent = 0; /* at most that, where it is not known */
    tc_span span = {.whole = false};
    *seconds = INFINITY;
    for (int tries = 0; tries < TRIES && !span.whole && spent <= t->budget; tries++, spent += TC_MIN(span.seconds, span.ran)) {
        int32_t rc = calls_of_a_sample(c, t, seconds, &mean, &span);
        if (rc != 0)
            return rc;
    }
    if (*seconds < KNOWN * c->step)
        *seconds = mean;
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
    if (isfinite(first) && slow(t, first - SETTLING, HOPELESS * t->doubt * t->early_stop)) {
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
    else if (r->times.len == 0)
        fail(r, a, TC_MEAS_RUN_FAILED, "the clock stood still while the kernel ran");
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

/* Calls that say what the threads' time goes to: as many as make a sample, and some at least. */
static int32_t take_shares(call *c, const tc_meas_timing *t, tc_arena *a, tc_meas_result *r) {
    enum { LEAST_CALLS = 4 };
    tc_meas_tally tally;
    tc_rt plain = c->rt;
    double sum = 0, one;
    int64_t calls = 0;
    int32_t rc = 0;
    c->rt = tc_meas_tally_on(&tally, &plain, a);
    for (; rc == 0 && (calls < LEAST_CALLS || sum < least(c, t)) && sum < TC_MAX(t->budget, t->min_sample); calls++) {
        rc = once(c, &one);
        sum += one;
    }
    c->rt = plain;
    if (rc == 0)
        r->shares = tc_meas_tally_shares(&tally, sum, calls);
    return rc;
}

/* Calls between two readings, that putting out constants is not counted. */
static int32_t count_calls(const call *c, int64_t calls, tc_meas_reading *sum, double *seconds) {
    tc_meas_reading before, after;
    int32_t rc = 0;
    evict_constants(c);
    tc_meas_counters_read(c->counters, &before);
    double start = tc_now();
    for (int64_t i = 0; i < calls && rc == 0; i++)
        rc = c->kernel(c->args, c->workspace, &c->rt);
    *seconds = tc_now() - start;
    tc_meas_counters_read(c->counters, &after);
    tc_meas_reading_add(sum, &before, &after);
    return rc;
}

/* Calls that are counted, and not timed: as many as make a sample. */
static int32_t take_counts(const call *c, const tc_meas_timing *t, tc_meas_result *r) {
    double sum = 0, some;
    int64_t calls = 0, inner = c->cold ? 1 : calls_per_sample(c, t, tc_meas_median(r->times.data, r->times.len));
    tc_meas_reading counted = {0};
    int32_t rc = 0;
    for (; rc == 0 && calls < most_calls(c, t) && sum < least(c, t); calls += inner, sum += some)
        rc = count_calls(c, inner, &counted, &some);
    if (rc == 0)
        r->counts = tc_meas_counts_of(c->counters, &counted, calls);
    return rc;
}

static void time_in_context(call *c, const tc_meas_timing *t, tc_arena *a, tc_meas_result *r) {
    double seconds[2 * REFERENCES];
    take_references(c, seconds);
    time_kernel(c, t, a, r);
    int32_t rc = t->shares && r->error == TC_MEAS_NONE ? take_shares(c, t, a, r) : 0;
    if (rc == 0 && t->counts && c->counters && r->error == TC_MEAS_NONE)
        rc = take_counts(c, t, r);
    if (rc != 0)
        fail_status(r, a, rc);
    take_references(c, seconds + REFERENCES);
    r->reference = tc_meas_median(seconds, TC_LEN(seconds));
}

void tc_meas_run(tc_meas_data *d, const tc_meas_code *code, const tc_meas_timing *t, tc_arena *arena, tc_meas_result *out) {
    tc_error err = {0};
    tc_cg_module *m = NULL;
    tc_meas_region ws = {0};
    call c = {.d = d,
              .args = TC_NEW_N(arena, void *, code->f->nparam + 1),
              .rt = tc_cg_measuring_runtime(t->threads),
              .cold = t->mode == TC_MEAS_COLD ? code->f : NULL,
              .step = tc_clock_step(),
              .counters = code->counters};
    *out = (tc_meas_result){.message = ""};
    tc_status s = tc_meas_data_arguments(d, code->f, c.args, &err);
    if (s == TC_OK && code->workspace > 0)
        s = tc_meas_region_new(code->workspace, &ws, &err);
    if (s != TC_OK) {
        fail(out, arena, TC_MEAS_RUN_MEMORY, err.msg);
        return;
    }
    if (ws.data)
        memset(ws.data, 0xff, code->workspace); /* what a kernel reads before it wrote it is NaN */
    c.workspace = ws.data;
    c.evicting = time_of_eviction(&c);
    if (code->f->nsymbol)
        c.args[code->f->nparam] = (void *)(uintptr_t)code->sizes;
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
