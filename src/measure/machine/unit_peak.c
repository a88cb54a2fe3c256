/* The rate of a unit: a program made from its row of the table, compiled and run in this process. It is a loop of the
 * instruction alone, on operands that stay in registers. In vector registers it keeps twelve sums: enough for any unit of
 * today (latency five, two a cycle: ten), with room for operands in sixteen registers. For tiles held in vector registers the
 * sums are a grid of three by four. For the eight tile registers they are four sums of two operands of each side. */
#include "measure/machine/unit_peak.h"

#include <math.h>
#include <stdlib.h>

#include "codegen/code/code.h"
#include "measure/machine/known.h"
#include "measure/machine/together.h"
#include "support/log.h"
#include "support/system/threads.h"
#include "support/vec.h"
#include "tir_lower/text/text.h"

enum { VECTOR_SUMS = 12, TILE_SIDE = 2, BLOCKS_DOWN = 3, BLOCKS_ACROSS = 4, VECTOR_STEPS = 10000, TILE_STEPS = 1000, ALIGN = 64 };

/* Operands of the left side and of the right. */
static int down(const tc_intrinsic *u) {
    return u->place == TC_UNIT_VECTOR ? 1 : u->place == TC_UNIT_TILE ? TILE_SIDE : BLOCKS_DOWN;
}

static int across(const tc_intrinsic *u) {
    return u->place == TC_UNIT_VECTOR ? 1 : u->place == TC_UNIT_TILE ? TILE_SIDE : BLOCKS_ACROSS;
}

int tc_meas_unit_sums(const tc_intrinsic *u) {
    return u->place == TC_UNIT_VECTOR ? VECTOR_SUMS : down(u) * across(u);
}

/* ---- the program ---- */

/* Elements of each side's operands, and of all sums. */
static int64_t sizes(const tc_intrinsic *u, int64_t *a, int64_t *b) {
    *a = (int64_t)down(u) * u->m * u->k;
    *b = (int64_t)across(u) * u->n * u->k;
    return (int64_t)tc_meas_unit_sums(u) * u->m * u->n;
}

static void vector_body(const tc_intrinsic *u, int64_t steps, tc_strbuf *t) {
    int n = u->n;
    tc_sb_printf(t, "alloc r %s[%d] reg align %d lanes %d {\n", tc_dtype_name(u->acc), VECTOR_SUMS * n, ALIGN, n);
    for (int i = 0; i < VECTOR_SUMS; i++)
        tc_sb_printf(t, "r[ramp(%d, 1, %d)] = C[ramp(%d, 1, %d)]\n", i * n, n, i * n, n);
    tc_sb_printf(t, "for s in %lld reduce {\n", (long long)steps);
    for (int i = 0; i < VECTOR_SUMS; i++)
        tc_sb_printf(t, "r[ramp(%d, 1, %d)] = dot(r[ramp(%d, 1, %d)], A[ramp(0, 1, %d)], B[ramp(0, 1, %d)])\n", i * n, n, i * n,
                     n, u->k, n * u->k);
    tc_sb_add(t, "}\n");
    for (int i = 0; i < VECTOR_SUMS; i++)
        tc_sb_printf(t, "Y[ramp(%d, 1, %d)] = r[ramp(%d, 1, %d)]\n", i * n, n, i * n, n);
    tc_sb_add(t, "}\n");
}

static void tile_body(const tc_intrinsic *u, int64_t steps, tc_strbuf *t) {
    int a = u->m * u->k, b = u->n * u->k, c = u->m * u->n, row = u->n * u->group, sums = tc_meas_unit_sums(u);
    for (int i = 0; i < down(u); i++)
        tc_sb_printf(t, "alloc A%d %s[%d] tile align %d lanes %d {\n", i, tc_dtype_name(u->a), a, ALIGN, u->k);
    for (int i = 0; i < across(u); i++)
        tc_sb_printf(t, "alloc B%d %s[%d] tile align %d lanes %d {\n", i, tc_dtype_name(u->b), b, ALIGN, row);
    for (int i = 0; i < sums; i++)
        tc_sb_printf(t, "alloc C%d %s[%d] tile align %d lanes %d {\n", i, tc_dtype_name(u->acc), c, ALIGN, u->n);
    for (int i = 0; i < down(u); i++)
        tc_sb_printf(t, "tile load A%d A[%d] by %d\n", i, i * a, u->k);
    for (int i = 0; i < across(u); i++)
        tc_sb_printf(t, "tile load B%d B[%d] by %d\n", i, i * b, row);
    for (int i = 0; i < sums; i++)
        tc_sb_printf(t, "tile load C%d C[%d] by %d\n", i, i * c, u->n);
    tc_sb_printf(t, "for s in %lld reduce {\n", (long long)steps);
    for (int i = 0; i < sums; i++)
        tc_sb_printf(t, "tile %s C%d A%d B%d\n", u->text, i, i / across(u), i % across(u));
    tc_sb_add(t, "}\n");
    for (int i = 0; i < sums; i++)
        tc_sb_printf(t, "tile store C%d Y[%d] by %d\n", i, i * c, u->n);
    for (int i = 0; i < down(u) + across(u) + sums; i++)
        tc_sb_add(t, "}\n");
}

void tc_meas_unit_program(const tc_intrinsic *u, int64_t steps, tc_strbuf *t) {
    int64_t a, b, c = sizes(u, &a, &b);
    const char *acc = tc_dtype_name(u->acc);
    tc_sb_printf(t, "func unit\nparam A %s[%lld] in 0 align %d\n", tc_dtype_name(u->a), (long long)a, ALIGN);
    tc_sb_printf(t, "param B %s[%lld] in 1 align %d\n", tc_dtype_name(u->b), (long long)b, ALIGN);
    tc_sb_printf(t, "param C %s[%lld] in 2 align %d\nparam Y %s[%lld] out 0 align %d\nbody\n", acc, (long long)c, ALIGN, acc,
                 (long long)c, ALIGN);
    if (u->place == TC_UNIT_VECTOR)
        vector_body(u, steps, t);
    else
        tile_body(u, steps, t);
}

/* ---- its rate ---- */

static tc_status compile(const tc_target *t, const char *text, tc_cg_module **m, tc_kernel **kernel, tc_error *err) {
    tc_ctx *ctx = tc_ctx_new();
    tc_func *f;
    void *object = NULL;
    size_t size;
    *m = NULL;
    tc_status s = tc_tir_parse(ctx, "unit", text, &f, err);
    if (s == TC_OK)
        s = tc_cg_emit_object(t, (const tc_func *const[]){f}, NULL, 1, NULL, &object, &size, err);
    if (s == TC_OK)
        s = tc_cg_load(object, size, m, err);
    if (s == TC_OK)
        s = tc_cg_lookup(*m, "unit", kernel, err);
    free(object);
    tc_ctx_free(ctx);
    return s;
}

/* Memory of one thread; zeros, on which integer units and float units are as fast as on anything. */
typedef struct operands {
    void *of[4]; /* A, B, C, Y */
} operands;

static void *zeros(int64_t elements, tc_dtype type) {
    size_t bytes = ((size_t)elements * (size_t)tc_dtype_bytes(type) + ALIGN - 1) / ALIGN * ALIGN;
    char *p = aligned_alloc(ALIGN, bytes);
    for (size_t i = 0; p && i < bytes; i++)
        p[i] = 0;
    return p;
}

static operands make_operands(const tc_intrinsic *u) {
    int64_t a, b, c = sizes(u, &a, &b);
    return (operands){{zeros(a, u->a), zeros(b, u->b), zeros(c, u->acc), zeros(c, u->acc)}};
}

static void free_operands(operands *o) {
    for (size_t i = 0; i < TC_LEN(o->of); i++)
        free(o->of[i]);
}

typedef struct unit_work {
    tc_kernel *kernel;
    operands *of; /* each thread's */
} unit_work;

static void unit_piece(int thread, void *user) {
    const unit_work *w = user;
    w->kernel(w->of[thread].of, NULL, NULL);
}

static bool is_whole(const operands *o) {
    return o->of[0] && o->of[1] && o->of[2] && o->of[3];
}

/* Operations per second; 0: there is no memory for operands. */
static double rate(tc_kernel *kernel, const tc_intrinsic *u, int64_t steps, int threads, double seconds) {
    threads = tc_threads_team(threads);
    unit_work w = {kernel, tc_xcalloc((size_t)threads, sizeof *w.of)};
    bool whole = true;
    for (int i = 0; i < threads; i++) {
        w.of[i] = make_operands(u);
        whole &= is_whole(&w.of[i]);
    }
    double ops = 2.0 * (double)steps * tc_meas_unit_sums(u) * u->m * u->n * u->k;
    double best = whole ? tc_meas_rate_together(threads, tc_meas_peak_seconds(seconds), unit_piece, &w) * ops : 0;
    for (int i = 0; i < threads; i++)
        free_operands(&w.of[i]);
    free(w.of);
    return best;
}

/* What is believed of the unit, after the reading `now`. */
static double known_rate(const tc_intrinsic *u, int threads, double now) {
    return tc_meas_believed(now, tc_meas_note(TC_MEAS_KNOWN_UNIT, u->text, threads, now));
}

void tc_meas_peak_raise_unit(tc_meas_peak *p, const tc_target *t, const tc_intrinsic *u, double seconds) {
    if (!u || !t->native || !tc_intrinsic_in(t->machine.intrinsics, u))
        return;
    int64_t steps = u->place == TC_UNIT_TILE ? TILE_STEPS : VECTOR_STEPS;
    double *best = &p->unit_gops[tc_intrinsic_number(u)];
    tc_strbuf text = {0};
    tc_cg_module *m;
    tc_kernel *kernel;
    tc_error err = {0};
    tc_meas_unit_program(u, steps, &text);
    if (compile(t, tc_sb_str(&text), &m, &kernel, &err) == TC_OK)
        *best = fmax(*best, known_rate(u, p->threads, rate(kernel, u, steps, p->threads, seconds) / 1e9));
    else
        tc_log(TC_LOG_WARN, "the peak of %s could not be measured: %s", u->text, err.msg);
    tc_cg_module_free(m);
    tc_strbuf_free(&text);
}

void tc_meas_peak_raise_units(tc_meas_peak *p, const tc_target *t, tc_intrinsic_set units, double seconds) {
    for (int i = 0; i < TC_NINTRINSICS; i++)
        if (units >> i & 1)
            tc_meas_peak_raise_unit(p, t, tc_intrinsic_row((tc_intrinsic_id)i), seconds);
}

double tc_meas_peak_of(const tc_meas_peak *p, const tc_intrinsic *u) {
    double known = u ? p->unit_gops[tc_intrinsic_number(u)] : 0;
    return known > 0 ? known : p->f32_gflops;
}
