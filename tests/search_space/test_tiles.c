/* Constructed schedules for units with tiles: what their grids load is found in the caches. The loads that a schedule's decisions
 * make are run through a cache that keeps what was used last, for products whose operands do not fit it, and counted. */
#include "families.h"

#include <ctype.h>
#include <math.h>

typedef struct product {
    int64_t m, n, k;
    bool bytes; /* u8 by s8; otherwise bf16 */
} product;

/* What was decided, 0: there is no such decision. */
static int64_t decision(const tc_trace *t, const char *letters) {
    for (int i = 0; i < t->n; i++) {
        const tc_instr *s = &t->steps[i];
        bool made = (s->prim == TC_PRIM_SAMPLE_TILE || s->prim == TC_PRIM_SAMPLE_CATEGORICAL) && s->nouts == 1;
        if (made && strncmp(s->outs[0], letters, strlen(letters)) == 0 && isdigit((unsigned char)s->outs[0][strlen(letters)]))
            return s->dec[0];
    }
    return 0;
}

/* ---- a cache of tiles ---- */

typedef struct cache {
    int room, n, *newer, *older; /* by tile; the last one stands for the ends */
    bool *in;
    int64_t misses;
} cache;

static cache cache_of(int64_t bytes, int tiles) {
    cache c = {.room = (int)(bytes / (TC_TILE_ROWS * TC_TILE_BYTES))};
    c.newer = tc_xcalloc((size_t)tiles + 1, sizeof *c.newer);
    c.older = tc_xcalloc((size_t)tiles + 1, sizeof *c.older);
    c.in = tc_xcalloc((size_t)tiles, sizeof *c.in);
    c.newer[tiles] = c.older[tiles] = tiles;
    return c;
}

static void cache_free(cache *c) {
    free(c->newer);
    free(c->older);
    free(c->in);
}

static void unlink_tile(cache *c, int x) {
    c->newer[c->older[x]] = c->newer[x];
    c->older[c->newer[x]] = c->older[x];
    c->in[x] = false;
    c->n--;
}

static void use(cache *c, int ends, int x) {
    if (c->in[x])
        unlink_tile(c, x);
    else
        c->misses++;
    if (c->n == c->room)
        unlink_tile(c, c->newer[ends]);
    c->newer[x] = ends;
    c->older[x] = c->older[ends];
    c->newer[c->older[ends]] = x;
    c->older[ends] = x;
    c->in[x] = true;
    c->n++;
}

/* ---- a schedule's loads ---- */

typedef struct walk {
    cache l2;
    int64_t rows, columns, steps; /* tiles of the operands: rows by steps, columns by steps */
    int64_t high, wide;           /* tiles of a grid */
} walk;

static int tiles_of(const walk *w) {
    return (int)((w->rows + w->columns) * w->steps);
}

static void load(walk *w, int64_t tile) {
    use(&w->l2, tiles_of(w), (int)tile);
}

static void load_grid(walk *w, int64_t row, int64_t column, int64_t from, int64_t to) {
    for (int64_t k = from; k < to; k++) {
        for (int64_t i = row; i < TC_MIN(row + w->high, w->rows); i++)
            load(w, i * w->steps + k);
        for (int64_t j = column; j < TC_MIN(column + w->wide, w->columns); j++)
            load(w, (w->rows + j) * w->steps + k);
    }
}

/* high by wide grids, and the reduction in parts of so many steps. */
typedef struct block {
    int64_t high, wide, part;
    bool rows_inner;
} block;

static void walk_task(walk *w, const block *b, int64_t row, int64_t column) {
    int64_t inner = b->rows_inner ? b->high : b->wide, outer = b->rows_inner ? b->wide : b->high;
    for (int64_t k = 0; k < w->steps; k += b->part)
        for (int64_t x = 0; x < outer; x++)
            for (int64_t y = 0; y < inner; y++)
                load_grid(w, row + (b->rows_inner ? y : x) * w->high, column + (b->rows_inner ? x : y) * w->wide, k,
                          TC_MIN(k + b->part, w->steps));
}

static void walk_all(walk *w, const block *b) {
    int64_t down = tc_ceil_div(w->rows, b->high * w->high), across = tc_ceil_div(w->columns, b->wide * w->wide);
    for (int64_t task = 0; task < down * across; task++) {
        int64_t row = b->rows_inner ? task % down : task / across, column = b->rows_inner ? task / down : task % across;
        walk_task(w, b, row * b->high * w->high, column * b->wide * w->wide);
    }
}

static const char *sketch_of(const tc_space *s, const tc_trace *t) {
    for (int i = 0; i < tc_space_nsketch(s); i++)
        if (tc_trace_same_steps(tc_space_sketch(s, i), t))
            return tc_space_sketch_name(s, i);
    fail_msg("of no sketch");
    return "";
}

/* Each tile once, and what products of blocks must load of a cache of that size (Hong and Kung, STOC'81). */
static void check(const product *p, const tc_machine *m) {
    tc_strbuf b = {0};
    tc_error err;
    tc_space *s;
    tc_trace *t;
    tc_ctx *c = tc_ctx_new();
    tc_arena *a = tc_arena_new();
    const char *x = p->bytes ? "u8" : "bf16", *y = p->bytes ? "i8" : "bf16", *acc = p->bytes ? "i32" : "f32";
    int k = p->bytes ? 64 : 32;
    tc_sb_printf(&b, "tensor X[%d, %d] %s\ntensor W[%d, %d] %s const\n", (int)p->m, (int)p->k, x, (int)p->k, (int)p->n, y);
    tc_sb_printf(&b, "compute D[i:%d, j:%d] = sum(k:%d) %s(X[i, k]) * %s(W[k, j])\noutput D\n", (int)p->m, (int)p->n, (int)p->k,
                 acc, acc);
    assert_int_equal(tc_space_new(workload_of(c, tc_sb_str(&b)), m, &s, &err), TC_OK);
    assert_int_equal(tc_space_default(s, a, &t, &err), TC_OK);
    const char *name = sketch_of(s, t);
    assert_non_null(strstr(name, "+tiles"));
    walk w = {.rows = tc_ceil_div(p->m, 16), .columns = tc_ceil_div(p->n, 16), .steps = tc_ceil_div(p->k, k)};
    w.high = decision(t, "tr") / 16, w.wide = decision(t, "tc") / 16;
    w.l2 = cache_of(m->l2, tiles_of(&w));
    block in = {decision(t, "tb"), TC_MAX(1, decision(t, "tp")), decision(t, "kb") / k, strstr(name, "+rows-inner") != NULL};
    in.part = in.part ? in.part : w.steps;
    walk_all(&w, &in);
    double least = 2 * (double)(w.rows * w.columns * w.steps) / sqrt(w.l2.room);
    if ((double)w.l2.misses > tiles_of(&w) + least)
        fail_msg("%dx%dx%d: %d of %d tiles come from beyond %d KiB, expected at most %d", (int)p->m, (int)p->n, (int)p->k,
                 (int)w.l2.misses, tiles_of(&w), (int)(m->l2 >> 10), tiles_of(&w) + (int)least);
    cache_free(&w.l2);
    tc_space_free(s);
    tc_arena_free(a);
    tc_ctx_free(c);
    tc_strbuf_free(&b);
}

static void test_default_stays_in_the_caches(void **state) {
    (void)state;
    static const product P[] = {{1024, 1024, 1024, false}, {1024, 1024, 1024, true}, {128, 3072, 768, false},
                                {128, 3072, 768, true},    {128, 768, 3072, false},  {512, 512, 512, false},
                                {768, 512, 2000, true}};
    for (size_t i = 0; i < TC_LEN(P); i++)
        for (int64_t l2 = 1 << 20; l2 <= 2 << 20; l2 *= 2) {
            tc_machine m = machine;
            m.intrinsics = TC_INTRINSICS_ALL;
            m.vector_bytes = 64, m.vector_regs = 32, m.cores = 1;
            m.l1 = 48 << 10, m.l2 = l2, m.l3 = 32 << 20;
            check(&P[i], &m);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_stays_in_the_caches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
