/* Kernels and schedules that are broken by their grammar and their types (common/break_text.h). Each is refused with its place
 * and a message; or it is taken, and then its text reads back as the same, it gets a default schedule and a random one, both are
 * lowered, verified and interpreted, and where all of it is exact, the results are those of the reference interpreter. A schedule
 * that is taken computes what its workload says, as every legal one.
 *
 *     test_ill_typed [CASES [SEED]]
 *
 * The seed at hand is printed when the program dies of a case, and that of the case that took most time at the end. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/break_text.h"
#include "common/cases.h"
#include "common/random_trace.h"
#include "common/random_workload.h"
#include "search_space/space.h"
#include "support/vec.h"
#include "te/text.h"
#include "tir_lower/build/build.h"
#include "tir_lower/interp/interp.h"
#include "tir_lower/oracle.h"
#include "tir_lower/program/program.h"

#ifdef TCTUNE_SANITIZED
enum { DEFAULT_CASES = 1000 };
#else
enum { DEFAULT_CASES = 3000 };
#endif
enum { MAX_STEPS = 20, MAX_POINTS = 20000, MAX_ELEMENTS = 1 << 20, TRACES = 8 };
#define KERNEL "k.te"
#define SCHEDULE "s.sched"

typedef struct totals {
    int64_t kernels, taken_kernels, interpreted, exact, schedules, taken_schedules;
} totals;

typedef struct test_case {
    uint64_t seed;
    tc_rng rng;
    totals *sum;
    const char *text; /* what was broken */
} test_case;

static uint64_t at_hand;
static const char *text_at_hand = "";

/* ---- refusals ---- */

/* At the first of its lines, "FILE:LINE:COL: ", and something behind it. */
static bool has_place(const char *msg, const char *file) {
    size_t n = strlen(file);
    int line, col, length = 0;
    return strncmp(msg, file, n) == 0 && sscanf(msg + n, ":%d:%d: %n", &line, &col, &length) == 2 && length > 0 && line > 0 &&
           col > 0 && msg[n + (size_t)length];
}

/* The steps of a schedule are refused, when they are applied, with "(line 3, column 1)". */
static bool has_step(const char *msg) {
    int step, line, col, length = 0;
    return sscanf(msg, "step %d (line %d, column %d), `%n", &step, &line, &col, &length) == 3 && length > 0 && line > 0;
}

/* ---- what was taken ---- */

static bool is_float(const tc_expr *e, const void *user) {
    (void)user;
    return tc_dtype_is_float((tc_dtype)e->dtype);
}

/* No float in it, which schedules may round otherwise. */
static bool exact(const tc_workload *w) {
    for (int i = 0; i < w->ncompute; i++)
        for (int o = 0; o < w->computes[i]->nout; o++)
            if (tc_expr_any(w->computes[i]->body[o], is_float, NULL))
                return false;
    return true;
}

static double points(const tc_compute *op) {
    double n = 1;
    for (int i = 0; i < op->naxis; i++)
        n *= (double)op->axes[i].extent;
    for (int i = 0; i < op->nraxis; i++)
        n *= (double)op->raxes[i].extent;
    return n * (double)tc_expr_tree_size(op->body[0], MAX_POINTS);
}

/* Small enough to be interpreted. */
static bool small(const tc_workload *w) {
    double work = 0, elements = 0;
    for (int i = 0; i < w->ncompute; i++) {
        work += points(w->computes[i]);
        elements += (double)tc_tensor_size(w->computes[i]->out[0]);
    }
    for (int i = 0; i < w->nin; i++)
        elements += (double)tc_tensor_size(w->in[i]);
    return work < 10 * (double)MAX_POINTS && elements < (double)MAX_ELEMENTS;
}

/* Statements that a program runs, without what its conditions leave out. */
static double steps_of(const tc_stmt *s, double *elements) {
    double n = 1, trips = 1;
    if (s->kind == TC_STMT_FOR)
        trips = s->u.loop.extent->op == TC_OP_INT ? (double)s->u.loop.extent->u.i : (double)MAX_POINTS;
    if (s->kind == TC_STMT_ALLOC)
        *elements += (double)s->u.alloc.buffer->size;
    for (int i = 0; i < TC_TIR_MAX_EXPRS && s->kind == TC_STMT_STORE; i++)
        n = (double)s->u.store.value->lanes + (double)tc_expr_tree_size(s->u.store.value, MAX_POINTS);
    for (int i = 0; tc_tir_child(s, i); i++)
        n += steps_of(tc_tir_child(s, i), elements);
    return n * trips;
}

static bool can_run(const tc_func *f) {
    double elements = 0, steps = steps_of(f->body, &elements);
    for (int i = 0; i < f->nparam; i++)
        elements += (double)f->params[i].buffer->size;
    return steps < 50 * (double)MAX_POINTS && elements < (double)MAX_ELEMENTS;
}

static bool fails(const test_case *t, const char *what, const char *msg) {
    fprintf(stderr, "FAILED seed %" PRIu64 ": %s: %s\n---\n%s---\n", t->seed, what, msg, t->text);
    return false;
}

/* Whatever the values, it can be interpreted, unless it reads at what the data says. */
static bool interpret(const test_case *t, const oracle *o, tc_ctx *c, const tc_func *f, bool compare) {
    tc_error err = {0};
    oracle blind = *o;
    tc_status s = TC_OK;
    if (compare) {
        s = oracle_check(o, c, f, 0, &err);
        return s == TC_OK || fails(t, "interpreted", err.msg);
    }
    void **args = tc_xcalloc((size_t)f->nparam, sizeof *args);
    for (int i = 0; i < f->nparam; i++) {
        const tc_param *p = &f->params[i];
        args[i] = p->kind == TC_PARAM_IN ? blind.in[p->index]
                                         : tc_xcalloc((size_t)p->buffer->size + 1, (size_t)tc_dtype_bytes(p->buffer->dtype));
        if (p->kind == TC_PARAM_PACKED)
            tc_tir_pack(f, i, blind.in[p->index], args[i]);
    }
    s = tc_tir_interp(f, args, &err);
    for (int i = 0; i < f->nparam; i++)
        if (f->params[i].kind != TC_PARAM_IN)
            free(args[i]);
    free(args);
    return s == TC_OK || fails(t, "interpreted", err.msg);
}

/* ---- kernels ---- */

static bool reads_back(const test_case *t, tc_ctx *c, const tc_workload *w) {
    const char *text = tc_te_text(tc_ctx_arena(c), w);
    const tc_workload *again = NULL;
    tc_error err = {0};
    if (tc_te_parse(c, "printed", text, &again, &err) != TC_OK)
        return fails(t, "as it prints it is refused", err.msg);
    return strcmp(text, tc_te_text(tc_ctx_arena(c), again)) == 0 || fails(t, "printed twice it is not the same", text);
}

/* `any`: a schedule that may be one that cannot be lowered. */
static bool lower(const test_case *t, const oracle *o, const tc_workload *w, const tc_trace *trace, bool any, bool values) {
    tc_ctx *c = tc_ctx_child(w->ctx);
    tc_tir_origin from = {.workload = w, .machine = &test_machine, .trace = trace};
    tc_tir_program p;
    tc_error err = {0};
    bool good = true;
    if (tc_tir_program_make(c, &from, TC_TIR_VERIFIED, &p, &err) != TC_OK)
        good = (any && !p.lowered) || fails(t, "lowered", err.msg);
    else if (values && can_run(p.nest) && can_run(p.lowered)) {
        bool compare = exact(w);
        t->sum->interpreted++;
        t->sum->exact += compare;
        good = interpret(t, o, c, p.nest, compare) && interpret(t, o, c, p.lowered, compare);
    }
    tc_ctx_free(c);
    return good;
}

static bool lower_any(test_case *t, const oracle *o, const tc_workload *w, bool values) {
    tc_ctx *c = tc_ctx_child(w->ctx);
    tc_arena *a = tc_arena_new();
    tc_trace *trace = tc_trace_copy(a, tc_test_random_trace(c, w, &t->rng, MAX_STEPS));
    tc_ctx_free(c);
    bool good = lower(t, o, w, trace, true, values);
    if (!good)
        fprintf(stderr, "scheduled\n%s---\n", tc_trace_text(a, trace));
    tc_arena_free(a);
    return good;
}

static bool use_kernel(test_case *t, tc_ctx *c, const tc_workload *w) {
    tc_arena *a = tc_arena_new();
    tc_space *space = NULL;
    tc_trace *trace = NULL;
    tc_error err = {0};
    oracle o = {.w = w};
    bool good = reads_back(t, c, w), run = small(w);
    /* An index that is data may be anywhere: the interpreter says so. */
    bool values = run && oracle_open(&o, w, t->seed, &err) == TC_OK;
    if (run && !values && !err.msg[0])
        good = fails(t, "the reference interpreter", "refuses without a message");
    if (good && tc_space_new(w, &test_machine, &space, &err) != TC_OK)
        good = fails(t, "no sketches", err.msg);
    if (good && tc_space_default(space, a, &trace, &err) != TC_OK)
        good = fails(t, "no default schedule", err.msg);
    good = good && lower(t, &o, w, trace, false, values) && lower_any(t, &o, w, values);
    tc_space_free(space);
    if (run)
        oracle_close(&o);
    tc_arena_free(a);
    return good;
}

static bool read_kernel(test_case *t, const char *text) {
    tc_ctx *c = tc_ctx_new();
    const tc_workload *w = NULL;
    tc_error err = {0};
    bool good = true;
    t->text = text_at_hand = text;
    t->sum->kernels++;
    if (tc_te_parse(c, KERNEL, text, &w, &err) != TC_OK)
        good = has_place(err.msg, KERNEL) || fails(t, "refused without a place", err.msg);
    else
        good = use_kernel(t, c, w);
    t->sum->taken_kernels += w != NULL;
    tc_ctx_free(c);
    return good;
}

static bool kernel_case(test_case *t) {
    tc_ctx *c = tc_ctx_new();
    tc_strbuf broken = {0};
    tc_test_break_kernel(&t->rng, tc_te_text(tc_ctx_arena(c), tc_test_random_workload(c, &t->rng)), &broken);
    bool good = read_kernel(t, tc_sb_str(&broken));
    text_at_hand = "";
    tc_strbuf_free(&broken);
    tc_ctx_free(c);
    return good;
}

/* What once had no schedule, or none within an hour. */
static int known_cases(totals *sum) {
    static const char *const KERNELS[] = {"tensor X[16, 137438953471] f32\ntensor W[137438953471, 16] f32 const\n"
                                          "compute Y[i:16, j:16] = sum(k:137438953471) X[i, k] * W[k, j]\noutput Y\n",
                                          "tensor X[17, 5] u8\ntensor W[1099511627776, 4] i8 const\n"
                                          "compute Y[i:17, j:4] = sum(k:5) i32(X[i, k]) * i32(W[k, j])\noutput Y\n"};
    int failed = 0;
    for (size_t i = 0; i < TC_LEN(KERNELS); i++) {
        test_case t = {.rng = tc_rng_seed(0), .sum = sum};
        failed += !read_kernel(&t, KERNELS[i]);
    }
    return failed;
}

/* ---- schedules ---- */

/* A random one, or one as the search space constructs them. */
static const char *schedule_of(test_case *t, tc_ctx *c, const tc_workload *w) {
    tc_strbuf b = {0};
    tc_trace *made[TRACES];
    tc_space *space = NULL;
    tc_error err = {0};
    int n = 0;
    if (tc_rng_below(&t->rng, 2) && tc_space_new(w, &test_machine, &space, &err) == TC_OK)
        n = tc_space_construct(space, tc_ctx_arena(c), made, TRACES);
    tc_trace_print(&b, n ? made[tc_rng_below(&t->rng, n)] : tc_test_random_trace(c, w, &t->rng, MAX_STEPS));
    tc_space_free(space);
    return tc_sb_keep(&b, tc_ctx_arena(c));
}

static bool use_schedule(const test_case *t, const tc_workload *w, tc_trace *trace) {
    tc_ctx *c = tc_ctx_child(w->ctx);
    tc_tir_origin from = {.workload = w, .machine = &test_machine, .trace = trace};
    tc_tir_program p;
    tc_error err = {0};
    bool good = true;
    tc_status s = tc_tir_program_make(c, &from, TC_TIR_VERIFIED, &p, &err);
    if (!p.sched) {
        good = has_step(err.msg) || fails(t, "refused without a place", err.msg);
    } else if (s != TC_OK) {
        good = err.msg[0] && !p.lowered ? true : fails(t, "not verified", err.msg);
    } else if (can_run(p.nest) && can_run(p.lowered) && small(w)) {
        oracle o;
        t->sum->taken_schedules++;
        good = oracle_open(&o, w, t->seed, &err) == TC_OK && oracle_check(&o, c, p.nest, 0, &err) == TC_OK &&
               oracle_check(&o, c, p.lowered, 7, &err) == TC_OK;
        good = good || fails(t, "interpreted", err.msg);
        oracle_close(&o);
    }
    tc_ctx_free(c);
    return good;
}

static bool schedule_case(test_case *t) {
    tc_ctx *c = tc_ctx_new(), *d;
    tc_workload *w = tc_test_random_workload(c, &t->rng);
    tc_arena *a = tc_arena_new();
    tc_trace *trace = NULL;
    tc_strbuf broken = {0};
    tc_error err = {0};
    d = tc_ctx_child(c);
    tc_test_break_schedule(&t->rng, schedule_of(t, d, w), &broken);
    tc_ctx_free(d);
    t->text = text_at_hand = tc_sb_str(&broken);
    t->sum->schedules++;
    bool good = true;
    if (tc_trace_parse(a, SCHEDULE, t->text, &trace, &err) != TC_OK)
        good = has_place(err.msg, SCHEDULE) || fails(t, "refused without a place", err.msg);
    else
        good = use_schedule(t, w, trace);
    if (!good)
        fprintf(stderr, "of\n%s", tc_te_text(tc_ctx_arena(c), w));
    tc_strbuf_free(&broken);
    tc_arena_free(a);
    tc_ctx_free(c);
    return good;
}

/* ---- */

static void say_seed(void) {
    fprintf(stderr, "\nwith seed %" PRIu64 "\n---\n%s---\n", at_hand, text_at_hand);
}

#ifdef TCTUNE_SANITIZED
void __sanitizer_set_death_callback(void (*callback)(void));
static void watch(void) {
    __sanitizer_set_death_callback(say_seed);
}
#else
static void died(int sig) {
    say_seed();
    signal(sig, SIG_DFL);
    raise(sig);
}
static void watch(void) {
    static const int SIGNALS[] = {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGTERM, SIGALRM};
    for (size_t i = 0; i < TC_LEN(SIGNALS); i++)
        signal(SIGNALS[i], died);
}
#endif

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    const test_cases asked = test_cases_of(argc, argv, DEFAULT_CASES);
    totals sum = {0};
    double most = 0;
    uint64_t slowest = 0;
    watch();
    int failed = known_cases(&sum);
    for (at_hand = asked.seed; at_hand < asked.seed + asked.n && failed < 20; at_hand++) {
        test_case t = {.seed = at_hand, .rng = tc_rng_seed(at_hand), .sum = &sum};
        double start = cpu_seconds();
        failed += at_hand % 3 ? !kernel_case(&t) : !schedule_case(&t);
        double took = cpu_seconds() - start;
        if (took > most) {
            most = took;
            slowest = at_hand;
        }
    }
    printf("%" PRIu64 " cases from seed %" PRIu64 ": %d failed; of %" PRId64 " kernels %" PRId64 " taken, %" PRId64
           " interpreted, %" PRId64 " of them exact; of %" PRId64 " schedules %" PRId64
           " taken; most time, %.2f s, with seed %" PRIu64 "\n",
           asked.n, asked.seed, failed, sum.kernels, sum.taken_kernels, sum.interpreted, sum.exact, sum.schedules,
           sum.taken_schedules, most, slowest);
    /* A generator whose texts are all refused, or all taken, tests half of it. */
    int64_t kernels = sum.kernels, schedules = sum.schedules;
    bool fair = sum.taken_kernels * 20 > kernels && sum.taken_kernels * 4 < 3 * kernels && sum.taken_schedules * 20 > schedules &&
                sum.taken_schedules * 4 < 3 * schedules && sum.exact * 100 > kernels;
    return failed || (asked.n >= 300 && !fair);
}
