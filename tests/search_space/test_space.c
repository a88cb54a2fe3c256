/* The search space: every sketch of every workload family can be sampled, what is sampled lowers and computes what the workload
 * says, and the search is deterministic, distinct and obeys its bounds. */
#include <math.h>

#include "families.h"
#include "search_space/space_int.h"
#include "support/vec.h"
#include "tir_lower/build/build.h"
#include "tir_lower/interp/interp.h"
#include "tir_lower/passes/passes.h"
#include "tir_lower/program/program.h"
#include "tir_lower/verify/verify.h"

/* Under sanitizers, where interpreting takes ten times as long, each eighth family stands for all, and fewer samples for a
 * sketch. */
#ifdef TCTUNE_SANITIZED
enum { FAMILY_STEP = 8, DRAWS = 3 };
#else
enum { FAMILY_STEP = 1, DRAWS = 8 };
#endif

typedef struct bench {
    tc_ctx *ctx;
    const tc_workload *w;
    tc_space *space;
    void *in[8], *out[4], *want[4];
    double places; /* that results may differ by */
    tc_machine machine;
    int hints; /* prefetches of results in the programs that ran */
} bench;

static void open_on(bench *b, const char *text, const tc_machine *m) {
    tc_error err;
    *b = (bench){.ctx = tc_ctx_new(), .places = 1e-4, .machine = *m};
    b->w = workload_of(b->ctx, text);
    if (strncmp(text, "bf16:", 5) == 0)
        b->places = 1e-2; /* sums in another order round to a neighbour */
    tc_rng r = tc_rng_seed(7);
    for (int i = 0; i < b->w->nin; i++) {
        int64_t n = tc_tensor_size(b->w->in[i]);
        b->in[i] = tc_xcalloc((size_t)n, 8);
        tc_te_random_fill(b->w->in[i]->dtype, b->in[i], n, &r, tc_te_index_limit(b->w, i));
    }
    for (int i = 0; i < b->w->nout; i++) {
        b->out[i] = tc_xcalloc((size_t)tc_tensor_size(b->w->out[i]), 8);
        b->want[i] = tc_xcalloc((size_t)tc_tensor_size(b->w->out[i]), 8);
    }
    assert_int_equal(tc_te_interp(b->w, (const void *const *)b->in, b->want, &err), TC_OK);
    if (tc_space_new(b->w, m, &b->space, &err) != TC_OK)
        fail_msg("%s\n%s", err.msg, text);
}

static void open_bench(bench *b, const char *text) {
    open_on(b, text, &machine);
}

static void close_bench(bench *b) {
    tc_space_free(b->space);
    for (int i = 0; i < b->w->nin; i++)
        free(b->in[i]);
    for (int i = 0; i < b->w->nout; i++) {
        free(b->out[i]);
        free(b->want[i]);
    }
    tc_ctx_free(b->ctx);
}

static void show(const char *what, const tc_trace *t, const tc_error *err) {
    tc_strbuf b = {0};
    tc_trace_print(&b, t);
    print_error("%s: %s\n%s", what, err->msg, tc_sb_str(&b));
    tc_strbuf_free(&b);
}

static void compare(const bench *b, const tc_trace *t) {
    tc_error err = {.msg = "differs"};
    for (int o = 0; o < b->w->nout; o++)
        for (int64_t i = 0; i < tc_tensor_size(b->w->out[o]); i++) {
            tc_dtype type = b->w->out[o]->dtype;
            double x = tc_load_f(type, b->out[o], i), y = tc_load_f(type, b->want[o], i);
            if (tc_dtype_is_float(type) ? !(fabs(x - y) <= b->places * (1 + fabs(y)))
                                        : tc_load_i(type, b->out[o], i) != tc_load_i(type, b->want[o], i)) {
                show("wrong", t, &err);
                fail_msg("output %d element %lld: %g, expected %g", o, (long long)i, x, y);
            }
        }
}

static void count_hint(const tc_stmt *s, void *user) {
    bench *b = user;
    if (s->kind == TC_STMT_PREFETCH && s->u.prefetch.buffer->param >= b->w->nin)
        b->hints++;
}

/* Replays, lowers through all passes, interprets, compares. False when the schedule is illegal. */
static bool run(bench *b, const tc_trace *t, tc_rng *rng, tc_error *err) {
    tc_ctx *c = tc_ctx_child(b->ctx);
    tc_sched *s;
    tc_func *f, *g;
    bool ok = tc_sch_replay(c, b->w, t, rng, &s, err) == TC_OK && tc_tir_build(s, &b->machine, &f, err) == TC_OK;
    if (ok) {
        tc_error e;
        if (tc_tir_lower(c, &b->machine, f, NULL, &g, &e) != TC_OK) {
            *err = e;
            tc_ctx_free(c);
            return false;
        }
        tc_tir_walk(g->body, count_hint, b);
        void *args[16];
        for (int p = 0; p < g->nparam; p++) {
            const tc_param *q = &g->params[p];
            args[p] = q->kind == TC_PARAM_OUT ? b->out[q->index] : b->in[q->index];
            if (q->kind == TC_PARAM_PACKED) {
                args[p] = tc_xcalloc((size_t)q->buffer->size, 8);
                tc_tir_pack(g, p, b->in[q->index], args[p]);
            }
        }
        if (tc_tir_interp(g, args, &e) != TC_OK) {
            show("interpreter", s->trace, &e);
            fail();
        }
        for (int p = 0; p < g->nparam; p++)
            if (g->params[p].kind == TC_PARAM_PACKED)
                free(args[p]);
        compare(b, s->trace);
    }
    tc_ctx_free(c);
    return ok;
}

static void test_default_is_right(void **state) {
    (void)state;
    for (size_t f = 0; f < TC_LEN(family); f += FAMILY_STEP) {
        bench b;
        tc_error err;
        tc_trace *t;
        open_bench(&b, family[f]);
        tc_arena *a = tc_arena_new();
        if (tc_space_default(b.space, a, &t, &err) != TC_OK)
            fail_msg("family %zu: %s", f, err.msg);
        if (!run(&b, t, NULL, &err)) {
            show("default", t, &err);
            fail();
        }
        tc_arena_free(a);
        close_bench(&b);
    }
}

static void test_constructed_are_right(void **state) {
    (void)state;
    enum { CAP = 24 };
    for (size_t f = 0; f < TC_LEN(family); f += FAMILY_STEP) {
        bench b;
        tc_error err = {0};
        tc_trace *t[CAP];
        open_bench(&b, family[f]);
        tc_arena *a = tc_arena_new();
        int n = tc_space_construct(b.space, a, t, CAP), ok = 0;
        assert_true(n > 0);
        for (int i = 0; i < n; i++) {
            bool good = run(&b, t[i], NULL, &err);
            if (!good)
                show("constructed", t[i], &err);
            ok += good;
        }
        assert_int_equal(ok, n); /* what is constructed must lower */
        tc_arena_free(a);
        close_bench(&b);
    }
}

/* ---- parameters in bf16 ---- */

static void *rounded(const tc_buffer *b, const void *from) {
    void *to = tc_xcalloc((size_t)b->size, 2);
    for (int64_t i = 0; i < b->size; i++)
        tc_store_f(TC_BF16, to, i, tc_load_f(TC_F32, from, i));
    return to;
}

/* Runs f, in whose place `narrow` was made with parameter p in bf16, or narrow itself; what it makes is in the bench's outputs. */
static void run_narrow(bench *b, const tc_func *f, const tc_func *narrow, int p) {
    void *args[16], *own[16] = {NULL};
    tc_error err;
    for (int i = 0; i < f->nparam; i++) {
        const tc_param *q = &f->params[i];
        args[i] = q->kind == TC_PARAM_OUT ? b->out[q->index] : b->in[q->index];
        if (q->kind == TC_PARAM_PACKED) {
            args[i] = own[i] = tc_xcalloc((size_t)q->buffer->size, 8);
            tc_tir_pack(f, i, b->in[q->index], args[i]);
        }
        if (i == p && narrow && q->kind == TC_PARAM_IN)
            args[i] = own[i] = rounded(q->buffer, args[i]);
    }
    assert_int_equal(tc_tir_interp(narrow ? narrow : f, args, &err), TC_OK);
    for (int i = 0; i < f->nparam; i++)
        free(own[i]);
}

/* f with each parameter in bf16 that allows it; how many inputs do, and adds to *outputs how many of these. */
static int check_narrowed(bench *b, tc_ctx *c, const tc_func *f, int *outputs) {
    int inputs = 0;
    size_t n = (size_t)tc_tensor_size(b->w->out[0]);
    for (int p = 0; p < f->nparam; p++) {
        tc_error err;
        tc_func *narrow = tc_tir_narrowed(c, f, p);
        bool out = f->params[p].kind == TC_PARAM_OUT;
        if (!narrow)
            continue;
        if (tc_tir_verify(c, narrow, &err) != TC_OK)
            fail_msg("%s", err.msg);
        inputs += !out;
        *outputs += out;
        run_narrow(b, f, NULL, p);
        void *want = out ? rounded(f->params[p].buffer, b->out[0]) : tc_xcalloc(n, 4);
        if (!out)
            memcpy(want, b->out[0], n * 4);
        run_narrow(b, f, narrow, p);
        assert_memory_equal(b->out[0], want, n * (out ? 2 : 4));
        free(want);
    }
    return inputs;
}

/* Inputs of which every element is rounded may come rounded, and outputs may be stored so: nothing else changes. */
static void test_narrowed_are_the_same(void **state) {
    (void)state;
    enum { CAP = 5 };
    int outputs = 0;
    for (size_t f = 0; f < TC_LEN(family); f += FAMILY_STEP) {
        bool rounds = strncmp(family[f], "bf16:", 5) == 0;
        bench b;
        tc_error err;
        tc_trace *t[CAP];
        open_bench(&b, family[f]);
        tc_arena *a = tc_arena_new();
        int n = b.w->nout == 1 ? tc_space_construct(b.space, a, t, rounds ? CAP : 1) : 0, inputs = 0;
        for (int i = 0; i < n; i++) {
            tc_ctx *c = tc_ctx_child(b.ctx);
            tc_tir_origin from = {.workload = b.w, .machine = &machine, .trace = t[i]};
            tc_tir_program p;
            assert_int_equal(tc_tir_program_make(c, &from, TC_TIR_LOWERED, &p, &err), TC_OK);
            inputs += check_narrowed(&b, c, p.lowered, &outputs);
            tc_ctx_free(c);
        }
        assert_true(rounds ? inputs >= n : inputs == 0);
        tc_arena_free(a);
        close_bench(&b);
    }
    assert_true(outputs > 0);
}

static void test_sampled_are_right(void **state) {
    (void)state;
    for (size_t f = 0; f < TC_LEN(family); f += FAMILY_STEP) {
        bench b;
        open_bench(&b, family[f]);
        for (int k = 0; k < tc_space_nsketch(b.space); k++) {
            int ok = 0;
            tc_error err = {0};
            for (int d = 0; d < DRAWS; d++) {
                tc_rng r = tc_rng_seed(f * 1000 + (size_t)k * 100 + (size_t)d);
                ok += run(&b, tc_space_sketch(b.space, k), &r, &err);
            }
            if (ok < DRAWS / 3) {
                show(tc_space_sketch_name(b.space, k), tc_space_sketch(b.space, k), &err);
                fail_msg("family %zu, sketch %s: %d of %d samples are legal", f, tc_space_sketch_name(b.space, k), ok, DRAWS);
            }
        }
        close_bench(&b);
    }
}

static int between(tc_rng *r, int lo, int hi) {
    return lo + (int)tc_rng_below(r, hi - lo + 1);
}

/* Two products in a row of parts of one tensor, at places drawn: beside one another, apart, overlapping, the whole of it. */
static const char *draw_parts(tc_arena *a, tc_rng *r) {
    int h = between(r, 1, 3), k = between(r, 3, 18), d = between(r, 3, 20), i = between(r, 1, 14);
    int wide = h * TC_MAX(k, d), width = wide + between(r, 0, 2 * wide), at[3];
    for (int n = 0; n < 3; n++)
        at[n] = between(r, 0, width - wide);
    return tc_arena_printf(a,
                           "tensor X[%d, %d] f32\n"
                           "compute S[h:%d, i:%d, j:%d] = sum(k:%d) X[i, h * %d + k + %d] * X[j, h * %d + k + %d]\n"
                           "compute A[h:%d, i:%d, j:%d] = S[h, i, j] * 0.25 + 1.0\n"
                           "compute Y[i:%d, h:%d, d:%d] = sum(j:%d) A[h, i, j] * X[j, h * %d + d + %d]\noutput Y\n",
                           i, width, h, i, i, k, k, at[0], k, at[1], h, i, i, i, h, d, i, d, at[2]);
}

/* Each copies what it reaches, and no more. */
static void test_parts_are_right(void **state) {
    (void)state;
    enum { LAYOUTS = 12, SAMPLES = 2 };
    tc_arena *a = tc_arena_new();
    tc_rng r = tc_rng_seed(11);
    int parts = 0;
    for (int n = 0; n < LAYOUTS; n++) {
        bench b;
        const char *text = draw_parts(a, &r);
        open_bench(&b, text);
        for (int k = 0; k < tc_space_nsketch(b.space); k++) {
            const tc_trace *t = tc_space_sketch(b.space, k);
            int ok = 0;
            tc_error err = {0};
            parts += strstr(tc_trace_text(a, t), " = cache_part X ") != NULL;
            for (int d = 0; d < 4 * SAMPLES && ok < SAMPLES; d++)
                ok += run(&b, t, &r, &err);
            if (ok == 0) {
                show(text, t, &err);
                fail();
            }
        }
        close_bench(&b);
    }
    assert_true(parts >= LAYOUTS);
    tc_arena_free(a);
}

static bool has_sketch(const char *text, const char *part) {
    bench b;
    open_bench(&b, text);
    bool found = false;
    for (int k = 0; k < tc_space_nsketch(b.space); k++)
        found |= strstr(tc_space_sketch_name(b.space, k), part) != NULL;
    close_bench(&b);
    return found;
}

/* What the workload calls for is in its space, and not in another's. */
static void test_variants(void **state) {
    (void)state;
    assert_true(has_sketch(ATTENTION, "+chain"));
    assert_false(has_sketch(ATTENTION, "+split"));
    assert_true(has_sketch(LONG_REDUCTION, "+split4"));
    assert_false(has_sketch(LONG_REDUCTION, "+chain"));
    assert_false(has_sketch(family[0], "+split"));
    assert_true(has_sketch(STRASSEN, "combine"));
    assert_false(has_sketch(family[0], "combine"));
    assert_true(has_sketch(FEW_CHANNELS, "+lanes"));
    assert_false(has_sketch(family[0], "+lanes"));
}

static void score_by_hash(void *user, int n, double *scores) {
    (void)user;
    for (int i = 0; i < n; i++)
        scores[i] = (double)((i * 7919) % 101);
}

/* What a small search is asked for. */
static tc_space_query query(const tc_scorer *sc, tc_rng *rng, int want, tc_arena *a) {
    tc_space_query q = {.options = tc_space_options_default(), .scorer = sc, .rng = rng, .want = want, .arena = a};
    q.options.population = 48;
    q.options.generations = 2;
    return q;
}

static void count_turn(void *user) {
    ++*(int *)user;
}

static tc_space_found search(const bench *b, int threads, const uint64_t *seen, size_t nseen, tc_arena *a, int want) {
    tc_error err;
    tc_scorer sc = {.score = score_by_hash};
    tc_rng r = tc_rng_seed(11);
    tc_space_query q = query(&sc, &r, want, a);
    int turns = 0;
    q.options.threads = threads;
    q.options.meanwhile = (tc_meanwhile){.call = count_turn, .user = &turns};
    q.seen = seen;
    q.nseen = nseen;
    tc_space_found found;
    if (tc_space_search(b->space, &q, &found, &err) != TC_OK)
        fail_msg("%s", err.msg);
    assert_true(turns >= 2);
    return found;
}

static int compare_hash(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void test_search_is_deterministic_and_distinct(void **state) {
    (void)state;
    enum { WANT = 16 };
    bench b;
    open_bench(&b, family[0]);
    tc_arena *a = tc_arena_new();
    tc_space_found x = search(&b, 1, NULL, 0, a, WANT), y = search(&b, 2, NULL, 0, a, WANT);
    assert_int_equal(x.n, WANT);
    assert_int_equal(y.n, WANT);
    uint64_t seen[WANT];
    for (int i = 0; i < WANT; i++) {
        assert_true(x.data[i].hash == y.data[i].hash);
        seen[i] = x.data[i].hash;
        for (int j = 0; j < i; j++)
            assert_true(x.data[i].hash != x.data[j].hash);
    }
    qsort(seen, WANT, sizeof *seen, compare_hash);
    tc_space_found z = search(&b, 2, seen, WANT, a, WANT);
    for (int i = 0; i < z.n; i++)
        assert_null(bsearch(&z.data[i].hash, seen, WANT, sizeof *seen, compare_hash));
    tc_arena_free(a);
    close_bench(&b);
}

/* Scores are of programs; what was added once is known from then on. */
typedef struct rememberer {
    tc_map known;
    uint64_t program[64];
    int added, recalled;
} rememberer;

static bool recall_program(void *user, int slot, uint64_t program) {
    rememberer *m = user;
    m->program[slot] = program;
    bool known = tc_map_get(&m->known, program) != NULL;
    m->recalled += known;
    return known;
}

static void add_program(void *user, int slot, uint64_t program, const tc_func *f) {
    rememberer *m = user;
    assert_true(program == tc_tir_hash(f));
    m->program[slot] = program;
    m->added++;
}

static void score_programs(void *user, int n, double *scores) {
    rememberer *m = user;
    for (int i = 0; i < n; i++) {
        scores[i] = (double)(m->program[i] % 1009);
        if (m->program[i])
            tc_map_put(&m->known, m->program[i], 1);
    }
}

/* Two searches; with `lowered`, the second one has what the first left behind, and programs are recalled. */
static tc_space_found search_twice(const bench *b, rememberer *m, tc_map *lowered, tc_arena *a, int want) {
    tc_scorer sc = {.user = m, .recall = lowered ? recall_program : NULL, .add = add_program, .score = score_programs};
    tc_space_found found = {0};
    for (int k = 0; k < 2; k++) {
        tc_rng r = tc_rng_seed(17); /* the same traces again */
        tc_space_query q = query(&sc, &r, want, a);
        q.options.lowered = lowered;
        m->added = m->recalled = 0;
        assert_int_equal(tc_space_search(b->space, &q, &found, NULL), TC_OK);
        assert_int_equal(found.n, want);
    }
    return found;
}

static void test_what_is_lowered_is_recalled(void **state) {
    (void)state;
    enum { WANT = 16 };
    for (size_t f = 0; f < 2; f++) {
        bench b;
        open_bench(&b, family[f]);
        tc_arena *a = tc_arena_new();
        rememberer plain = {0}, recalling = {0};
        tc_map lowered = {0};
        tc_space_found x = search_twice(&b, &plain, NULL, a, WANT), y = search_twice(&b, &recalling, &lowered, a, WANT);
        for (int i = 0; i < WANT; i++) {
            assert_true(x.data[i].hash == y.data[i].hash && x.data[i].score == y.data[i].score);
            assert_true(tc_trace_equal(x.data[i].trace, y.data[i].trace));
        }
        assert_true(plain.added > 0);
        assert_int_equal(recalling.added, 0);
        assert_true(recalling.recalled > 0);
        tc_map_free(&plain.known);
        tc_map_free(&recalling.known);
        tc_map_free(&lowered);
        tc_arena_free(a);
        close_bench(&b);
    }
}

static void test_stop_ends_the_search(void **state) {
    (void)state;
    bench b;
    open_bench(&b, family[0]);
    volatile sig_atomic_t stop = 1;
    tc_arena *a = tc_arena_new();
    tc_rng r = tc_rng_seed(1);
    tc_space_query q = query(NULL, &r, 4, a);
    tc_space_found found;
    tc_error err;
    q.options.stop = &stop;
    assert_int_equal(tc_space_search(b.space, &q, &found, &err), TC_OK);
    assert_int_equal(found.n, 0);
    q.options.population = 0;
    assert_int_equal(tc_space_search(b.space, &q, &found, &err), TC_BAD_INPUT);
    tc_arena_free(a);
    close_bench(&b);
}

/* Seeds from another version of the rules, or plain nonsense, are skipped and do not end the run. */
static void test_stale_seeds_are_skipped(void **state) {
    (void)state;
    bench b;
    open_bench(&b, family[1]);
    tc_arena *a = tc_arena_new();
    tc_trace *stale;
    tc_error err;
    assert_int_equal(tc_trace_parse(a, "old", "x, y = split NOPE.i [_, 4]\n", &stale, &err), TC_OK);
    const tc_trace *seeds[] = {stale};
    tc_rng r = tc_rng_seed(3);
    tc_space_query q = query(NULL, &r, 8, a);
    tc_space_found found;
    q.seeds = seeds;
    q.nseeds = 1;
    assert_int_equal(tc_space_search(b.space, &q, &found, &err), TC_OK);
    assert_true(found.n > 0);
    tc_arena_free(a);
    close_bench(&b);
}

static void test_neighbours_are_right(void **state) {
    (void)state;
    enum { CAP = 24 };
    for (size_t f = 0; f < TC_LEN(family); f += FAMILY_STEP) {
        bench b;
        tc_error err;
        tc_trace *t, *near[CAP], *again[CAP];
        open_bench(&b, family[f]);
        tc_arena *a = tc_arena_new();
        tc_rng r = tc_rng_seed(11), same = r;
        assert_int_equal(tc_space_default(b.space, a, &t, &err), TC_OK);
        int n = tc_space_neighbours(b.space, t, &r, a, near, CAP), ok = 0;
        assert_int_equal(tc_space_neighbours(b.space, t, &same, a, again, CAP), n);
        for (int i = 0; i < n; i++) {
            assert_true(tc_trace_equal(near[i], again[i]));
            assert_false(tc_trace_equal(near[i], t));
            ok += run(&b, near[i], NULL, &err); /* right, or refused */
        }
        assert_true(n == 0 || ok > 0);
        tc_arena_free(a);
        close_bench(&b);
    }
}

static const char larger[] =
    "tensor X[40, 60] f32\ntensor W[60, 130] f32 const\ntensor B[130] f32 const\n"
    "compute D[i:40, j:130] = sum(k:60) X[i, k] * W[k, j]\ncompute Y[i:40, j:130] = max(D[i, j] + B[j], 0.0)\noutput Y\n";

/* Vectors of the tile of results that the schedule of a dense layer keeps: rows by columns. */
static int64_t accumulators(const tc_trace *t) {
    int64_t columns = 0, rows = 0;
    for (int i = 0; i < t->n; i++) {
        const tc_instr *s = &t->steps[i];
        if (s->prim == TC_PRIM_SAMPLE_CATEGORICAL && !columns)
            columns = tc_ceil_div(s->dec[0], machine.vector_bytes / 4);
        else if (s->prim == TC_PRIM_SAMPLE_TILE && s->ints[0].value == 3)
            rows = s->dec[1];
    }
    assert_true(columns > 0 && rows > 0);
    return columns * rows;
}

/* However far descent goes, tiles stay within the registers. */
static void test_neighbours_do_not_spill(void **state) {
    (void)state;
    enum { CAP = 48, STEPS = 8 };
    bench b;
    tc_error err;
    tc_trace *t, *near[CAP];
    open_bench(&b, larger);
    tc_arena *a = tc_arena_new();
    tc_rng r = tc_rng_seed(5);
    int64_t most = 0;
    assert_int_equal(tc_space_default(b.space, a, &t, &err), TC_OK);
    for (int step = 0; step < STEPS; step++) {
        int n = tc_space_neighbours(b.space, t, &r, a, near, CAP), widest = 0;
        assert_true(n > 0);
        for (int i = 0; i < n; i++) {
            assert_true(accumulators(near[i]) <= machine.vector_regs - 2);
            most = TC_MAX(most, accumulators(near[i]));
            if (accumulators(near[i]) > accumulators(near[widest]))
                widest = i;
        }
        t = near[step % 2 ? widest : (int)tc_rng_below(&r, n)];
    }
    assert_true(most > machine.vector_regs / 2);
    tc_arena_free(a);
    close_bench(&b);
}

/* A bench that runs nothing, of a chain of n products. */
static void open_chain(bench *b, int n) {
    enum { SIDE = 64 };
    tc_error err;
    tc_strbuf text = {0};
    tc_sb_printf(&text, "tensor X[%d, %d] f32\n", SIDE, SIDE);
    for (int i = 0; i < n; i++) {
        tc_sb_printf(&text, "compute c%d[i:%d, j:%d] = sum(k:%d) ", i, SIDE, SIDE, SIDE);
        i ? tc_sb_printf(&text, "c%d[i, k] * X[k, j]\n", i - 1) : tc_sb_add(&text, "X[i, k] * X[k, j]\n");
    }
    tc_sb_printf(&text, "output c%d\n", n - 1);
    *b = (bench){.ctx = tc_ctx_new(), .machine = machine};
    b->w = workload_of(b->ctx, tc_sb_str(&text));
    if (tc_space_new(b->w, &machine, &b->space, &err) != TC_OK)
        fail_msg("%s", err.msg);
    tc_strbuf_free(&text);
}

/* All decisions are reached from their anchors, each once, in their order. */
static void test_decisions_are_linked(void **state) {
    (void)state;
    bench b;
    open_chain(&b, 12);
    int most = 0;
    for (int i = 0; i < b.space->nsketch; i++) {
        const sketch *k = &b.space->sk[i];
        int of_anchors = 0, linked = 0;
        for (int d = 0; d < k->ndec; d++)
            of_anchors += k->dec[d].anchor >= 0;
        for (int a = 0; a < k->nanchor; a++) {
            const decision *before = NULL;
            for (const decision *d = tc_space_first_of(k, a); d; before = d, d = tc_space_next_of(k, d), linked++)
                assert_true(d->anchor == a && (!before || before < d));
        }
        assert_int_equal(linked, of_anchors);
        assert_null(tc_space_first_of(k, -1));
        assert_null(tc_space_first_of(k, k->nanchor));
        most = TC_MAX(most, k->nanchor);
    }
    assert_int_equal(most, 12);
    close_bench(&b);
}

/* The tiles of so many products make a larger program than any may be. Loops as they are written do. */
static void test_long_chain_has_a_schedule(void **state) {
    (void)state;
    bench b;
    tc_error err;
    tc_trace *t, *near[4];
    tc_tir_program p;
    open_chain(&b, TC_MAX_COMPUTES);
    tc_arena *a = tc_arena_new();
    tc_rng r = tc_rng_seed(1);
    if (tc_space_default(b.space, a, &t, &err) != TC_OK)
        fail_msg("%s", err.msg);
    tc_tir_origin from = {.workload = b.w, .machine = &b.machine, .trace = t};
    assert_int_equal(tc_tir_program_make(b.ctx, &from, TC_TIR_VERIFIED, &p, &err), TC_OK);
    tc_space_neighbours(b.space, t, &r, a, near, TC_LEN(near)); /* of a schedule of no sketch too */
    tc_arena_free(a);
    close_bench(&b);
}

/* Where there are more sketches than descent tries at once, it reaches them sooner or later. */
static void test_neighbours_are_of_all_sketches(void **state) {
    (void)state;
    static const char scaled[] = "tensor A[12, 20] f32\ntensor B[20, 24] f32\ntensor S[12] f32\n"
                                 "compute P[i:12, k:20] = A[i, k] * S[i]\n"
                                 "compute Y[i:12, j:24] = sum(k:20) P[i, k] * B[k, j]\noutput Y\n";
    enum { CAP = 64, ROUNDS = 40, AT_ONCE = 12 };
    bench b;
    tc_error err;
    tc_trace *t, *near[CAP];
    open_bench(&b, scaled);
    tc_arena *a = tc_arena_new();
    tc_rng r = tc_rng_seed(7);
    bool *reached = TC_NEW_N(a, bool, b.space->nsketch);
    int n = 0;
    assert_true(b.space->nsketch > 2 * AT_ONCE);
    assert_int_equal(tc_space_default(b.space, a, &t, &err), TC_OK);
    for (int i = 0; i < ROUNDS; i++)
        for (int k = tc_space_neighbours(b.space, t, &r, a, near, CAP) - 1; k >= 0; k--)
            reached[tc_space_sketch_of(b.space, near[k])] = true;
    for (int k = 0; k < b.space->nsketch; k++)
        n += reached[k];
    assert_true(n > 3 * b.space->nsketch / 4);
    tc_arena_free(a);
    close_bench(&b);
}

/* A schedule of one dense layer serves another with other extents and another epilogue: mostly as it is, always rightly. */
static void test_schedules_move_to_similar_workloads(void **state) {
    (void)state;
    enum { FROM = 16, CAP = 2 };
    bench b, to;
    tc_error err;
    tc_trace *t[FROM], *moved[CAP];
    open_bench(&b, family[0]);
    open_bench(&to, larger);
    tc_arena *a = tc_arena_new();
    int n = tc_space_construct(b.space, a, t, FROM), all = 0, ok = 0;
    for (int i = 0; i < n; i++) {
        int m = tc_space_transfer(b.space, t[i], to.space, a, moved, CAP);
        assert_true(m > 0);
        for (int k = 0; k < m; k++, all++)
            ok += run(&to, moved[k], NULL, &err);
    }
    assert_true(2 * ok > all);
    assert_int_equal(tc_space_transfer(to.space, t[0], b.space, a, moved, CAP), 0); /* no instance of that space */
    tc_arena_free(a);
    close_bench(&to);
    close_bench(&b);
}

/* The rows of a task's block, of a schedule with one row axis, and the columns that it goes through. */
static int64_t rows_of_block(const tc_trace *t, int64_t *columns) {
    int64_t rows = 0, width = 0, panels = 0;
    for (int i = 0; i < t->n; i++) {
        const tc_instr *s = &t->steps[i];
        if (s->prim == TC_PRIM_SAMPLE_TILE && s->ints[0].value == 3)
            rows = s->dec[0] * s->dec[1];
        else if (s->prim == TC_PRIM_SAMPLE_TILE)
            panels = s->dec[0];
        else if (s->prim == TC_PRIM_SAMPLE_CATEGORICAL && width == 0)
            width = s->dec[0];
    }
    *columns = width * panels;
    return rows;
}

/* Bytes whose 150 rows of 64 do not stay in the second-level cache: the first constructed schedule goes through all columns with as
 * many rows as do. Results, which are larger than it too, are hinted at. */
static void test_rows_stay_in_the_cache(void **state) {
    (void)state;
    enum { CAP = 6 };
    static const char text[] = "tensor A[150, 64] u8\ntensor W[64, 200] i8 const\n"
                               "compute C[i:150, j:200] = sum(k:64) i32(A[i, k]) * i32(W[k, j])\noutput C\n";
    tc_machine small = machine;
    small.l2 = 4096;
    small.intrinsics = tc_intrinsic_alone(tc_intrinsic_of(machine.intrinsics, TC_I32, TC_U8, TC_I8));
    bench b;
    tc_error err;
    tc_trace *t[CAP];
    open_on(&b, text, &small);
    tc_arena *a = tc_arena_new();
    int n = tc_space_construct(b.space, a, t, CAP);
    assert_int_equal(n, CAP);
    int64_t columns, rows = rows_of_block(t[0], &columns);
    assert_true(columns >= 200);
    assert_in_range(rows, 4, 32);
    for (int i = 0; i < n; i++)
        assert_true(run(&b, t[i], NULL, &err));
    assert_true(b.hints > 0);
    tc_arena_free(a);
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_is_right),
        cmocka_unit_test(test_narrowed_are_the_same),
        cmocka_unit_test(test_constructed_are_right),
        cmocka_unit_test(test_rows_stay_in_the_cache),
        cmocka_unit_test(test_sampled_are_right),
        cmocka_unit_test(test_parts_are_right),
        cmocka_unit_test(test_variants),
        cmocka_unit_test(test_search_is_deterministic_and_distinct),
        cmocka_unit_test(test_what_is_lowered_is_recalled),
        cmocka_unit_test(test_stop_ends_the_search),
        cmocka_unit_test(test_stale_seeds_are_skipped),
        cmocka_unit_test(test_neighbours_are_right),
        cmocka_unit_test(test_neighbours_do_not_spill),
        cmocka_unit_test(test_neighbours_are_of_all_sketches),
        cmocka_unit_test(test_decisions_are_linked),
        cmocka_unit_test(test_long_chain_has_a_schedule),
        cmocka_unit_test(test_schedules_move_to_similar_workloads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
