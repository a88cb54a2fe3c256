/* Random kernels of units with tiles: product shapes with ragged edges, grids of tiles, blocks of the reduction, alone and around
 * grids of a block, epilogues, second operands that are packed at run time, operands that are converted first, attention. Each is
 * lowered, compiled, run on 1 and on 3 threads (natively, or by the handler of tile instructions), and compared bit for bit with
 * the interpreter of lowered programs, and with the reference interpreter of te: exactly where sums are integers.
 *
 *     amx_kernels [CASES [SEED]] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amx_trap.h"
#include "codegen/kernel.h"
#include "common/cases.h"
#include "search_space/space.h"
#include "te/text.h"
#include "tir_lower/build/build.h"
#include "tir_lower/interp/interp.h"
#include "tir_lower/program/program.h"
#include "tir_lower/text/text.h"
#include "tir_lower/verify/verify.h"

#ifdef TCTUNE_SANITIZED
enum { DEFAULT_CASES = 2 };
#else
enum { DEFAULT_CASES = 8 };
#endif

static const char TARGET[] =
    "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=skylake-avx512 -mattr=+amx-tile,+amx-int8,+amx-bf16,+amx-fp16";

/* ---- cases ---- */

typedef struct amx_case {
    const tc_intrinsic *unit;
    int64_t m, n, k, step, rows, columns, block; /* step: of the reduction; rows, columns: of the grid; block: steps, or 0 */
    int64_t high, across;                        /* grids of a block whose results wait between blocks of the reduction; or 0 */
    bool epilogue, window, wide;                 /* wide: rows of the left operand are longer than the reduction */
    bool run_time;                               /* the second operand is no constant .. */
    bool converts;                               /* .. and both are rounded from f32 by the kernel */
    bool transposed, attention;                  /* of what converts: the second one has a column's steps side by side */
} amx_case;

static int64_t pick(tc_rng *r, int64_t lo, int64_t hi) {
    return lo + tc_rng_below(r, hi - lo + 1);
}

static amx_case draw(tc_rng *r) {
    const tc_intrinsic *units[TC_NINTRINSICS];
    int n = 0;
    for (int i = 0; i < TC_NINTRINSICS; i++)
        if (tc_intrinsic_row((tc_intrinsic_id)i)->place == TC_UNIT_TILE)
            units[n++] = tc_intrinsic_row((tc_intrinsic_id)i);
    amx_case c = {.unit = units[tc_rng_below(r, n)], .m = pick(r, 1, 70), .n = pick(r, 1, 70), .rows = pick(r, 1, 4)};
    int64_t group = c.unit->group;
    c.columns = pick(r, 1, 4 / c.rows);
    c.step = group * pick(r, 1, c.unit->k / group);
    c.k = pick(r, 0, 2) ? c.step * pick(r, 1, 4) : group * pick(r, c.step / group, 30);
    c.block = pick(r, 0, 2) ? 0 : pick(r, 1, 2);
    c.epilogue = pick(r, 0, 1);
    c.window = pick(r, 0, 4) == 0;
    c.wide = pick(r, 0, 1);
    c.run_time = pick(r, 0, 1);
    c.converts = c.run_time && c.unit->acc == TC_F32 && pick(r, 0, 3);
    c.transposed = pick(r, 0, 1);
    c.attention = c.converts && pick(r, 0, 1);
    if (pick(r, 0, 2) == 0) { /* as long as what sketches divide */
        c.k = 256 + group * pick(r, 0, 48);
        c.block = pick(r, 1, 5);
        c.high = pick(r, 1, 3);
        c.across = pick(r, 1, 3);
    }
    return c;
}

/* Heads of a projection's parts, m queries of n keys. */
static void write_attention(const amx_case *c, tc_strbuf *b) {
    const char *x = tc_dtype_name(c->unit->a);
    long long m = c->m, n = c->n + c->n % c->unit->group, k = TC_MIN(c->k, 32);
    tc_sb_printf(b, "tensor P[%lld, %lld] f32\ntensor R[%lld, %lld] f32\n", m, 2 * k, n, 4 * k);
    tc_sb_printf(b, "compute Q[h:2, i:%lld, k:%lld] = %s(P[i, h * %lld + k])\n", m, k, x, k);
    tc_sb_printf(b, "compute K[h:2, j:%lld, k:%lld] = %s(R[j, h * %lld + k])\n", n, k, x, k);
    tc_sb_printf(b, "compute V[h:2, j:%lld, d:%lld] = %s(R[j, h * %lld + d + %lld])\n", n, k, x, k, 2 * k);
    tc_sb_printf(b, "compute S[h:2, i:%lld, j:%lld] = sum(k:%lld) f32(Q[h, i, k]) * f32(K[h, j, k])\n", m, n, k);
    tc_sb_printf(b, "compute M[h:2, i:%lld] = max(j:%lld) S[h, i, j]\n", m, n);
    tc_sb_printf(b, "compute E[h:2, i:%lld, j:%lld] = exp((S[h, i, j] - M[h, i]) * 0.2)\n", m, n);
    tc_sb_printf(b, "compute T[h:2, i:%lld] = sum(j:%lld) E[h, i, j]\n", m, n);
    tc_sb_printf(b, "compute A[h:2, i:%lld, j:%lld] = %s(E[h, i, j] / T[h, i])\n", m, n, x);
    tc_sb_printf(b, "compute Y[i:%lld, h:2, d:%lld] = sum(j:%lld) f32(A[h, i, j]) * f32(V[h, j, d])\noutput Y\n", m, k, n);
}

/* A product of two activations, which the kernel rounds. */
static void write_converting(const amx_case *c, tc_strbuf *b) {
    const char *x = tc_dtype_name(c->unit->a);
    long long m = c->m, n = c->n, k = c->k;
    if (c->attention) {
        write_attention(c, b);
        return;
    }
    tc_sb_printf(b, "tensor X[%lld, %lld] f32\ntensor W[%lld, %lld] f32\n", m, k, c->transposed ? n : k, c->transposed ? k : n);
    tc_sb_printf(b, "compute A[i:%lld, k:%lld] = %s(X[i, k] * 0.5)\n", m, k, x);
    if (c->transposed)
        tc_sb_printf(b, "compute B[j:%lld, k:%lld] = %s(W[j, k])\n", n, k, x);
    else
        tc_sb_printf(b, "compute B[k:%lld, j:%lld] = %s(W[k, j])\n", k, n, x);
    tc_sb_printf(b, "compute D[i:%lld, j:%lld] = sum(k:%lld) f32(A[i, k]) * f32(B[%s])\n", m, n, k,
                 c->transposed ? "j, k" : "k, j");
    if (c->epilogue)
        tc_sb_printf(b, "compute Y[i:%lld, j:%lld] = max(D[i, j] * 3.0, 2.0)\n", m, n);
    tc_sb_printf(b, "output %s\n", c->epilogue ? "Y" : "D");
}

/* A product, or a convolution along one axis whose rows are neighbouring outputs. */
static void write_te(const amx_case *c, tc_strbuf *b) {
    const char *kind = c->run_time ? "" : " const";
    const char *acc = tc_dtype_name(c->unit->acc), *x = tc_dtype_name(c->unit->a), *w = tc_dtype_name(c->unit->b);
    long long m = c->m, n = c->n, k = c->k, row = c->k + (c->wide ? 3 : 0);
    if (c->window)
        tc_sb_printf(b, "tensor X[%lld, %lld] %s\ntensor W[3, %lld, %lld] %s%s\n", m + 2, row, x, k, n, w, kind);
    else
        tc_sb_printf(b, "tensor X[%lld, %lld] %s\ntensor W[%lld, %lld] %s%s\n", m, row, x, k, n, w, kind);
    tc_sb_printf(b, "compute D[i:%lld, j:%lld] = sum(%sk:%lld) %s(X[i%s, k]) * %s(W[%sk, j])\n", m, n, c->window ? "r:3, " : "",
                 k, acc, c->window ? " + r" : "", acc, c->window ? "r, " : "");
    if (c->epilogue)
        tc_sb_printf(b, "compute Y[i:%lld, j:%lld] = max(D[i, j] * %s(3), %s(2))\n", m, n, acc, acc);
    tc_sb_printf(b, "output %s\n", c->epilogue ? "Y" : "D");
}

/* Loops of stage d around one tile, from the outermost one. */
static void write_order(const amx_case *c, const char *d, tc_strbuf *b) {
    const char *order[12];
    int n = 0;
    if (c->high) {
        order[n++] = "k_b";
        order[n++] = c->wide ? "j_g" : "i_g";
        order[n++] = c->wide ? "i_g" : "j_g";
    }
    if (c->window)
        order[n++] = "r";
    order[n++] = c->high ? "k_m" : c->block ? "k_b" : "k_o";
    order[n++] = "i_t";
    order[n++] = "j_t";
    if (c->block && !c->high)
        order[n++] = "k_m";
    order[n++] = "i_i";
    order[n++] = "j_i";
    order[n++] = "k_i";
    tc_sb_add(b, "reorder");
    for (int i = 0; i < n; i++)
        tc_sb_printf(b, " %s.%s", d, order[i]);
}

static void write_tiles(const amx_case *c, const char *d, tc_strbuf *b) {
    tc_sb_printf(b, "k_o, k_i = split %s.k [_, %lld]\n", d, (long long)c->step);
    if (c->block)
        tc_sb_printf(b, "k_b, k_m = split %s.k_o [_, %lld]\n", d, (long long)c->block);
    if (c->high)
        tc_sb_printf(b, "i_g, i_t, i_i = split %s.i [_, %lld, 16]\nj_g, j_t, j_i = split %s.j [_, %lld, 16]\n", d,
                     (long long)c->rows, d, (long long)c->columns);
    else
        tc_sb_printf(b, "i_t, i_i = split %s.i [_, 16]\nj_t, j_i = split %s.j [_, 16]\n", d, d);
    write_order(c, d, b);
    tc_sb_printf(b, "\nunroll %s.i_t\nunroll %s.j_t\ntensorize %s.i_i %s\n", d, d, d, c->unit->text);
}

static void write_schedule(const amx_case *c, tc_strbuf *b) {
    const char *y = c->epilogue ? "Y" : "D", *d = c->epilogue ? "D" : "D_acc";
    long long rows = 16 * c->rows, columns = 16 * c->columns;
    if (!c->epilogue)
        tc_sb_add(b, "D_acc = cache_write D local\n");
    if (c->high) {
        tc_sb_printf(b, "i_0, i_1, i_2 = split %s.i [_, %lld, %lld]\n", y, (long long)c->high, rows);
        tc_sb_printf(b, "j_0, j_1, j_2 = split %s.j [_, %lld, %lld]\n", y, (long long)c->across, columns);
        tc_sb_printf(b, "reorder %s.i_0 %s.j_0 %s.i_1 %s.i_2 %s.j_1 %s.j_2\n", y, y, y, y, y, y);
    } else {
        tc_sb_printf(b, "i_0, i_1 = split %s.i [_, %lld]\nj_0, j_1 = split %s.j [_, %lld]\n", y, rows, y, columns);
        tc_sb_printf(b, "reorder %s.i_0 %s.j_0 %s.i_1 %s.j_1\n", y, y, y, y);
    }
    tc_sb_printf(b, "task = fuse %s.i_0 %s.j_0\ncompute_at %s %s.task\n", y, y, d, y);
    tc_sb_printf(b, "set_scope %s local\nvectorize %s.%s\nparallel %s.task\n", d, y, c->high ? "j_2" : "j_1", y);
    write_tiles(c, d, b);
    int g = c->unit->group;
    const char *panel = c->run_time ? "W_pk" : "W";
    if (c->run_time)
        tc_sb_printf(b, "W_pk = cache_read W %s global\n", d);
    if (c->window)
        tc_sb_printf(b, "transform_layout %s (r, k, j) -> (j / 16, r, k / %d, j %% 16, k %% %d)\n", panel, g, g);
    else
        tc_sb_printf(b, "transform_layout %s (k, j) -> (j / 16, k / %d, j %% 16, k %% %d)\n", panel, g, g);
}

/* ---- running ---- */

typedef struct run {
    double places; /* floats may differ by this much */
    const tc_workload *w;
    const tc_func *f;
    void *in[2], *want;
} run;

static size_t bytes_of(const tc_tensor *t) {
    return (size_t)tc_tensor_size(t) * (size_t)tc_dtype_bytes(t->dtype);
}

static bool open_run(run *r, uint64_t seed, tc_error *err) {
    tc_rng rng = tc_rng_seed(seed);
    for (int i = 0; i < 2; i++) {
        r->in[i] = tc_xcalloc(bytes_of(r->w->in[i]) + 1, 1);
        tc_te_random_fill(r->w->in[i]->dtype, r->in[i], tc_tensor_size(r->w->in[i]), &rng, 0);
    }
    r->want = tc_xcalloc(bytes_of(r->w->out[0]) + 1, 1);
    return tc_te_interp(r->w, (const void *const *)r->in, &r->want, err) == TC_OK;
}

static void **arguments(const run *r) {
    void **a = kernel_args(r->f);
    memcpy(a[0], r->in[0], bytes_of(r->w->in[0]));
    if (r->f->params[1].kind == TC_PARAM_PACKED)
        tc_tir_pack(r->f, 1, r->in[1], a[1]);
    else
        memcpy(a[1], r->in[1], bytes_of(r->w->in[1]));
    memset(a[2], 0x7b, bytes_of(r->w->out[0]));
    return a;
}

/* Exactly for integers, to some places for floats. */
static bool is_right(const run *r, const void *got) {
    const tc_tensor *t = r->w->out[0];
    if (!tc_dtype_is_float(t->dtype))
        return memcmp(got, r->want, bytes_of(t)) == 0;
    for (int64_t i = 0; i < tc_tensor_size(t); i++) {
        double g = tc_load_f(t->dtype, got, i), w = tc_load_f(t->dtype, r->want, i);
        if (!(fabs(g - w) <= r->places * fmax(1, fabs(w))))
            return false;
    }
    return true;
}

static bool interpret(const run *r, const tc_func *f, void **got, const char *what) {
    tc_error err = {0};
    run other = *r;
    other.f = f;
    void **a = arguments(&other);
    bool ok = tc_tir_interp_shuffled(f, a, 5, &err) == TC_OK;
    if (!ok)
        fprintf(stderr, "%s: %s\n", what, err.msg);
    else if (!(ok = is_right(r, a[2])))
        fprintf(stderr, "%s: differs from the reference interpreter\n", what);
    if (got)
        *got = a;
    else
        kernel_free_args(f, a);
    return ok;
}

/* Kernels without tiles may fuse what the interpreter rounds. */
static bool execute(const run *r, const tc_target *t, void *const *want, bool exact) {
    tc_error err = {0};
    kernel k = {.f = (tc_func *)r->f};
    bool ok = kernel_try(&k, t, &(tc_cg_options){.verify = true}, &err) == TC_OK;
    if (!ok)
        fprintf(stderr, "code generation: %s\n", err.msg);
    for (int threads = 1; ok && threads <= 3; threads += 2) {
        void **a = arguments(r);
        kernel_run(&k, a, threads);
        ok = (exact ? memcmp(a[2], want[2], bytes_of(r->w->out[0])) == 0 : is_right(r, a[2])) && !amx_trap_configured();
        if (!ok)
            fprintf(stderr, "%d threads: not what the interpreter makes of the same program, or tiles are left configured\n",
                    threads);
        kernel_free_args(r->f, a);
    }
    tc_cg_module_free(k.mod);
    return ok;
}

/* ---- cases, run ---- */

typedef struct totals {
    int ran, plain, refused, tiles;
} totals;

static void count_tiles(const tc_stmt *s, void *user) {
    *(int *)user += s->kind == TC_STMT_INTRIN && s->u.intrin.op == TC_TILE_MULTIPLY;
}

static bool round_trips(tc_ctx *c, const tc_func *f) {
    tc_strbuf a = {0}, b = {0};
    tc_func *again;
    tc_error err = {0};
    tc_tir_print(&a, f);
    bool ok = tc_tir_parse(c, "printed.tir", tc_sb_str(&a), &again, &err) == TC_OK;
    if (ok)
        tc_tir_print(&b, again);
    ok = ok && strcmp(tc_sb_str(&a), tc_sb_str(&b)) == 0 && tc_tir_hash(f) == tc_tir_hash(again);
    if (!ok)
        fprintf(stderr, "the text does not round-trip: %s\n", err.msg);
    tc_strbuf_free(&a);
    tc_strbuf_free(&b);
    return ok;
}

static bool check(tc_ctx *c, const tc_target *t, const tc_tir_origin *from, uint64_t seed, totals *sum) {
    const tc_workload *w = from->workload;
    tc_error err = {0};
    tc_tir_program p;
    tc_status s = tc_tir_program_make(c, from, TC_TIR_NEST | TC_TIR_LOWERED, &p, &err);
    if (s == TC_ILLEGAL && strstr(err.msg, "need more than the target's")) {
        sum->refused++;
        return true;
    }
    if (s == TC_OK)
        s = tc_tir_verify(c, p.nest, &err);
    if (s == TC_OK)
        s = tc_tir_verify(c, p.lowered, &err);
    if (s != TC_OK) {
        fprintf(stderr, "%s\n", err.msg);
        return false;
    }
    bool rounds = w->ncompute > 4; /* attention: probabilities that are almost a tie are rounded to one side or the other */
    run r = {.w = w, .f = p.lowered, .places = rounds ? 2e-2 : 1e-4};
    void **want = NULL;
    int tiles = 0;
    tc_tir_walk(p.lowered->body, count_tiles, &tiles);
    sum->tiles += tiles;
    sum->plain += tiles == 0; /* the search space has other forms too */
    bool ok = (tiles > 0 || from->trace) && open_run(&r, seed, &err) && round_trips(c, p.nest) && round_trips(c, p.lowered);
    ok = ok && interpret(&r, p.nest, NULL, "nest") && interpret(&r, p.lowered, (void **)&want, "lowered");
    ok = ok && execute(&r, t, want, tiles > 0);
    sum->ran++;
    if (want)
        kernel_free_args(r.f, want);
    free(r.in[0]);
    free(r.in[1]);
    free(r.want);
    if (!ok) {
        tc_strbuf b = {0};
        tc_tir_print(&b, p.lowered);
        fprintf(stderr, "%s\n", tc_sb_str(&b));
        tc_strbuf_free(&b);
    }
    return ok;
}

/* A schedule of the search space: a whole one, or, with rng, a sketch whose decisions are drawn. */
static bool check_trace(const tc_target *t, const tc_workload *w, const tc_trace *trace, tc_rng *rng, uint64_t seed,
                        totals *sum) {
    tc_ctx *c = tc_ctx_child(w->ctx);
    tc_tir_origin from = {.workload = w, .machine = &t->machine, .trace = trace, .rng = rng};
    bool ok = check(c, t, &from, seed, sum);
    if (!ok) {
        tc_strbuf b = {0};
        tc_trace_print(&b, trace);
        fprintf(stderr, "--- of the search space\n%s", tc_sb_str(&b));
        tc_strbuf_free(&b);
    }
    tc_ctx_free(c);
    return ok;
}

static bool in_blocks(const tc_trace *t) {
    for (int i = 0; i < t->n; i++)
        if (t->steps[i].prim == TC_PRIM_SAMPLE_CATEGORICAL && strncmp(t->steps[i].outs[0], "kb", 2) == 0)
            return true;
    return false;
}

/* The best constructed ones, and the best with the reduction in blocks. */
static bool check_constructed(const tc_target *t, const tc_workload *w, const tc_space *space, uint64_t seed, totals *sum) {
    enum { BEST = 2, LOOKED_AT = 256 };
    tc_arena *a = tc_arena_new();
    tc_trace *made[LOOKED_AT];
    int n = tc_space_construct(space, a, made, LOOKED_AT);
    bool ok = true, blocked = false;
    for (int i = 0; i < n && ok; i++) {
        bool first = !blocked && in_blocks(made[i]);
        blocked |= first;
        ok = (i >= BEST && !first) || check_trace(t, w, made[i], NULL, seed, sum);
    }
    tc_arena_free(a);
    return ok;
}

/* Schedules that the search space makes for the same product: constructed ones, what a search finds, and sketches with tiles, and
 * with the reduction in blocks, whose decisions are drawn. */
static bool check_space(const tc_target *t, const tc_workload *w, uint64_t seed, totals *sum) {
    tc_error err = {0};
    tc_arena *a = tc_arena_new();
    tc_space *space;
    tc_rng rng = tc_rng_seed(seed);
    tc_space_query q = {.options = tc_space_options_default(), .rng = &rng, .want = 1, .arena = a};
    tc_space_found found = {0};
    q.options.population = 8, q.options.generations = 1, q.options.threads = 1;
    if (tc_space_new(w, &t->machine, &space, &err) != TC_OK || tc_space_search(space, &q, &found, &err) != TC_OK) {
        fprintf(stderr, "%s\n", err.msg);
        return false;
    }
    bool ok = check_constructed(t, w, space, seed, sum);
    for (int i = 0; i < found.n && ok; i++)
        ok = check_trace(t, w, found.data[i].trace, NULL, seed, sum);
    int first = (int)tc_rng_below(&rng, tc_space_nsketch(space)),
        left[2][2] = {{1, 1}, {1, 1}}; /* in blocks or not, by rows copied or not */
    for (int i = 0; i < tc_space_nsketch(space) && ok; i++) {
        int k = (first + i) % tc_space_nsketch(space);
        const tc_trace *sketch = tc_space_sketch(space, k);
        const char *name = tc_space_sketch_name(space, k);
        if (strstr(name, "+tiles") && left[in_blocks(sketch)][strstr(name, "+pack-rows") != NULL]-- > 0)
            ok = check_trace(t, w, sketch, &rng, seed, sum);
    }
    tc_space_free(space);
    tc_arena_free(a);
    return ok;
}

static bool run_case(const tc_target *t, uint64_t seed, totals *sum) {
    tc_rng rng = tc_rng_seed(seed);
    tc_ctx *c = tc_ctx_new();
    tc_strbuf te = {0}, sched = {0};
    tc_error err = {0};
    amx_case x = draw(&rng);
    const tc_workload *w = NULL;
    if (x.converts)
        write_converting(&x, &te);
    else
        write_te(&x, &te);
    write_schedule(&x, &sched);
    bool ok = tc_te_parse(c, "case.te", tc_sb_str(&te), &w, &err) == TC_OK;
    if (!ok)
        fprintf(stderr, "%s\n", err.msg);
    tc_tir_origin by_hand = {
        .workload = w, .machine = &t->machine, .text = tc_sb_str(&sched), .name = "case.sched", .dump = getenv("TC_DUMP")};
    ok = ok && (x.converts || check(c, t, &by_hand, seed, sum)) && check_space(t, w, seed, sum);
    if (!ok)
        fprintf(stderr, "FAILED seed %llu\n--- .te\n%s--- .sched\n%s---\n", (unsigned long long)seed, tc_sb_str(&te),
                tc_sb_str(&sched));
    tc_strbuf_free(&te);
    tc_strbuf_free(&sched);
    tc_ctx_free(c);
    return ok;
}

int main(int argc, char **argv) {
    const test_cases asked = test_cases_of(argc, argv, DEFAULT_CASES);
    tc_error err = {0};
    tc_target *t;
    totals sum = {0};
    int failed = 0;
    if (!__builtin_cpu_supports("avx512bw")) {
        printf("skipped: this CPU has no AVX-512\n");
        return 77;
    }
    if (!amx_native())
        amx_trap_install();
    if (tc_target_parse(TARGET, &t, &err) != TC_OK) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    for (uint64_t i = 0; i < asked.n && failed < 3; i++)
        failed += !run_case(t, asked.seed + i, &sum);
    printf(
        "%s: %d kernels, %d of them without tiles, %d multiplications of tiles in their code, %d failed, %d refused for want of "
        "registers; %lld tile instructions carried out\n",
        amx_native() ? "natively" : "by the handler", sum.ran, sum.plain, sum.tiles, failed, sum.refused,
        (long long)amx_trap_count());
    tc_target_free(t);
    return failed || sum.refused * 4 > sum.ran || sum.plain * 4 > sum.ran * 3 || (!amx_native() && !amx_trap_count());
}
