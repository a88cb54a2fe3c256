/* Constructed schedules: decisions that follow from the machine's facts, in the manner of Roller (OSDI'22). A register tile of r
 * rows by n vectors needs r*n accumulators, the operands of its shorter side and one of the longer
 * (tir_lower/passes/loops/order.c); r*n must cover the latency of the multiply-add (4 cycles x 2 pipes = 8 or more in flight).
 * An estimate ranks the schedules; measuring decides. The estimate comes from the tile, the share lost to ragged edges, the
 * balance of the tasks over the cores, and the traffic of the panels. */
#include "schedule_primitives/sample.h"
#include "search_space/construct_int.h"
#include "support/log.h"
#include "support/vec.h"
#include "te/index/prove.h"
#include "tir_lower/passes/passes.h"
#include "tir_lower/program/program.h"

#include <math.h>
#include <string.h>

/* Output channels that are tiled as a whole. Chosen; not measured apart. */
enum { SHORT_AXIS = 8 };
/* What constructed schedules take for decisions that the estimate does not weigh: steps of a reduction's block; axes of a block
 * up to which rows are not tiled; row tiles, and register widths, of a cache block. Chosen; not measured apart. */
enum { BLOCK_K = 256, FEW_ROWS = 8, BLOCK_TILES = 8, MANY_BLOCK_TILES = 16, BLOCK_WIDTHS = 4, FEW_BLOCK_WIDTHS = 2 };
/* Bytes of a stream's prefetches. Measured with 4 bits, one row and 4096 x 4096, cold: 512 to 4096 take the same time; where a
 * unit adds up bytes, two threads of Zen 4, 1024 take 1.1 to 1.3 times as long as none. */
enum { AHEAD = 1024 };

/* Factors of the estimate. Only the order of plans matters, and measuring decides in the end; so where nothing else is said, a
 * factor was chosen, and not measured apart. */
static const double FREE_LOADS = 0.4; /* loads per multiply-add that cost nothing */
static const double MASKED = 0.5;     /* depthwise, over half of the registers: steps load what others broadcast */
static const double UNIT_FREE = 0.6, UNIT_WAITS = 0.7; /* beside a unit's products: see waits_of_unit */
static const double PANEL_L2 = 0.5; /* share of the L2 cache that the machine tells of, for a panel of the vector operand */
/* The same for a block of rows. Measured where ROWS_STREAM was: of the peak 90 % with an eighth, 88 with a quarter, 85 with a
 * half. */
static const double ROWS_L2 = 0.25;
static const double PANEL_MISSES = 0.9;   /* a larger panel */
static const double ROWS_STREAM = 0.96;   /* measured: products of bytes, 1024 x 1024 x 1024, one thread */
static const double BLOCKED = 0.85;       /* the reduction in blocks: accumulators go through the cache .. */
static const double BLOCKED_LARGE = 0.95; /* .. which a panel that does not fit is worth */
/* Bytes of a panel of floats that come in a cycle from the second-level cache, and from beyond it; products of vectors in a
 * cycle; up to which share of the products' time loading is hidden, and how much of the rest of that time is not. Fitted to
 * matmuls of 128 rows, 295 KB and 1.2 MB a panel of 96 columns, in tiles of 4, 6, 8 and 12 rows, one thread of Cascade Lake. */
static const double FROM_L2 = 32, BEYOND_L2 = 16, PRODUCTS = 2, HIDDEN = 0.67, NOT_HIDDEN = 0.25;
static const double UNPACKED = 0.9;     /* an operand read in place, by more than .. */
static const int64_t FEW_READERS = 16;  /* .. so many rows */
static const double MOST_PACKING = 0.5; /* packing is one pass over what all rows read: at most this share of the work */
/* A copy, or the stages before the last anchor, made by all cores and then read by all: what a barrier and the way from one
 * core's cache to another's take. Measured with attention of 12 heads over 128 tokens, two threads of Zen 4: in tasks of a head
 * each 317 us, with copies made by all before 345, all stages apart 370 to 530. */
static const double PACKED_APART = 0.01, NOT_CHAINED = 0.98;
static const double ROWS_OUTSIDE = 0.98; /* panels of the vector operand change with every step */
static const double OTHER_WIDTH = 0.9;   /* elementwise loops in other steps than of four vectors */
static const double SPLIT = 1.2;         /* a sum to one number divided; measured: a norm of 16 MB takes a third of the time .. */
static const double SPLIT_BEST = 1.3;    /* .. into two parts per core */
static const double WRONG_SERIAL = 0.6;  /* a parallel region around less than SERIAL_WORK, or no region around more */
static const double SERIAL_WORK = 1e5;   /* operations and bytes: see SERIAL_WORK in sketch.c */
static const double WHOLE_PASS = 4;      /* a pass over memory, in steps of one over the cache */
static const double INLINED_OP = 3; /* an operation on what is broadcast, in vectors of a tile's row; measured: two to four */
/* Sums of blocks: an accumulator that waits in memory, and taking out a number, in products of a vector. Fitted to 4 bits of
 * floats, one thread of Cascade Lake, where tiles of 2 x 3, 2 x 6, 2 x 8, 4 x 2, 4 x 4, 4 x 5, 8 x 1 and 8 x 2 vectors take 1.13,
 * 1.20, 1.30, 1.78, 1.70, 1.68, 3.45 and 2.99 ns for 16 weights. */
static const double RELOAD = 4, TAKING_OUT = 2;
/* Several sums of a block, columns that are no whole number of tiles. Measured: 4 bits by digits, one row, 4096 columns, two
 * threads of Zen 4, cold: 80 at a time take 1.3 times as long as 64. */
static const double LEFT_OVER = 0.8;
static const double OTHER_UNROLL = 0.99; /* the reduction in other steps than four */

/* What a row takes in a tile that tests for each of its rows whether there is one. Measured: convolutions of 7 x 7 rows in tiles
 * of 14, two threads of Zen 4, take 2.3 times as long as in tiles of 7. */
static const double TESTED = 2.3;
/* Sizes of an axis that varies for which a tile is judged. Chosen. */
enum { SIZES = 32 };

/* Row counts of register tiles that are tried. Chosen; not measured apart. */
const int64_t tc_space_tile_rows[TILE_ROWS] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 24};

/* Registers of the inner loop beside a tile's accumulators: the operands of the shorter side and one of the longer; without fused
 * multiply-adds also products on their way, each with a copy where an instruction overwrites what it multiplies. Where arithmetic
 * has no operands in memory, compilers load all vectors of a row ahead, and more. */
static int64_t operand_registers(const tc_machine *m, int64_t rows, int64_t vecs) {
    return (m->load_store ? vecs + 2 : TC_MIN(rows, vecs)) + 1 + (m->fma ? 0 : 4);
}

int64_t tc_space_nearest(const tc_instr *step, int64_t want) {
    int64_t best = -1, least = step->ints[0].value;
    for (int i = 0; i < step->nints; i++) {
        int64_t v = step->ints[i].value;
        if (v <= want && v > best)
            best = v;
        least = TC_MIN(least, v);
    }
    return best < 0 ? least : best;
}

const decision *tc_space_role_of(const sketch *k, int anchor, role r) {
    const decision *d = tc_space_first_of(k, anchor);
    while (d && d->role != r)
        d = tc_space_next_of(k, d);
    return d;
}

static int64_t vec_width(const tc_space *s, const plan *p, const decision *v) {
    const tc_trace *t = s->sk[p->sketch].trace;
    return tc_space_nearest(&t->steps[v->step], (int64_t)p->vecs * v->lanes);
}

static const decision *vec_of(const sketch *k, int anchor) {
    return tc_space_role_of(k, anchor, ROLE_VEC);
}

/* Blocks of so many columns that have tasks of their own: a task of a chain computes whole rows. */
static int64_t column_blocks(const sketch *k, const decision *v, int64_t width) {
    return k->v.chain ? 1 : tc_ceil_div(v->extent, width);
}

/* Of `count` parts of an operand, of so many bytes each, those of a block that stays in this share of the second-level cache; the
 * same number of blocks for each core. */
static int64_t staying(const tc_machine *m, int64_t count, double bytes, double share) {
    double room = share * (double)m->l2;
    int64_t most = bytes * (double)count <= room ? count : TC_MAX(1, (int64_t)(room / bytes));
    return tc_ceil_div(count, tc_ceil_div(tc_ceil_div(count, most), m->cores) * m->cores);
}

static void row_tile(const tc_space *s, const plan *p, const decision *d, int64_t *reg, int64_t *mid) {
    *reg = TC_MIN(d->phase, d->extent);
    *mid = 1;
    if (!d->primary) {
        if (s->sk[p->sketch].v.lanes_k && d->extent <= SHORT_AXIS)
            *reg = d->extent; /* the few output channels share what is loaded of the input */
        return;
    }
    int64_t tiles = tc_ceil_div(d->extent, TC_MIN((int64_t)p->rows, d->extent));
    *reg = TC_MIN(d->extent, tc_ceil_div(tc_ceil_div(d->extent, tiles), d->phase) * d->phase);
    tiles = tc_ceil_div(d->extent, *reg);
    const decision *v = vec_of(&s->sk[p->sketch], d->anchor);
    int64_t others = v->batch * column_blocks(&s->sk[p->sketch], v, vec_width(s, p, v));
    if (p->mid == 3 && v->unit && s->sk[p->sketch].v.rows_inner)
        *mid = staying(&s->m, tiles, v->row_bytes * (double)*reg, ROWS_L2);
    else if (p->mid == 0 || p->mid == 3)
        *mid = tiles;
    else if (p->mid == 2)
        *mid = tc_ceil_div(tiles, TC_MAX(1, tc_ceil_div(TASKS_PER_CORE * s->m.cores, others)));
    if (d->block) /* blocks of equal length */
        *mid = TC_MIN(*mid, tc_ceil_div(tiles, tc_ceil_div(tiles, TC_MAX(1, d->block / *reg))));
}

/* Bytes of a panel of the vector operand. */
static double panel_bytes(const decision *v, int64_t width) {
    return (double)v->depth * (double)width * (v->unit ? tc_dtype_bytes(v->unit->b) : 4.0);
}

/* Panels of the vector operand that a task of an anchor goes through. Where `mid` is 3, a block stays in the second-level cache:
 * one of rows for all panels, or, where panels change with every step, one of panels for all rows. */
static int64_t panels(const tc_space *s, const plan *p, int anchor) {
    const sketch *k = &s->sk[p->sketch];
    const decision *v = vec_of(k, anchor), *outer = tc_space_role_of(k, anchor, ROLE_VEC_OUTER);
    if (p->mid != 3 || !v->unit || !outer)
        return 1;
    int64_t width = vec_width(s, p, v), all = tc_ceil_div(v->extent, width), most = k->trace->steps[outer->step].ints[1].value;
    return TC_MIN(most, k->v.rows_inner ? all : staying(&s->m, all, panel_bytes(v, width), PANEL_L2));
}

/* Writes decision d's values for plan p into step. */
static void decide(const tc_space *s, const plan *p, const decision *d, tc_instr *step) {
    const sketch *k = &s->sk[p->sketch];
    const decision *v = d->anchor < 0 ? NULL : vec_of(k, d->anchor);
    int64_t lanes = v ? v->lanes : s->m.vector_bytes / 4, reg, mid;
    step->ndec = 1;
    switch (d->role) {
    case ROLE_ROW_TILE:
        row_tile(s, p, d, &reg, &mid);
        step->ndec = 2;
        step->dec[0] = mid;
        step->dec[1] = reg;
        while (step->dec[0] > 1 && !tc_sch_tile_legal(d->extent, 3, step->ints[1].value, step->dec))
            step->dec[0]--;
        break;
    case ROLE_VEC:
        step->dec[0] = tc_space_nearest(step, p->vecs * lanes);
        break;
    case ROLE_VEC_OUTER:
        step->dec[0] = panels(s, p, d->anchor);
        break;
    case ROLE_UNROLL_K:
        step->dec[0] = tc_space_nearest(step, d->anchor < 0 ? p->width : p->unroll);
        break;
    case ROLE_BLOCK_K:
        if (tc_space_role_of(k, d->anchor, ROLE_TILE_COLUMNS))
            tc_space_decide_tiles(s, p, d, step);
        else
            step->dec[0] = tc_space_nearest(step, BLOCK_K);
        break;
    case ROLE_BLOCK_ROW:
        step->dec[0] = d->extent <= FEW_ROWS ? 1 : TC_MIN(d->extent, p->rows * (p->mid == 0 ? MANY_BLOCK_TILES : BLOCK_TILES));
        break;
    case ROLE_REG_ROW:
        step->dec[0] = tc_space_nearest(step, d->extent <= FEW_ROWS && d->extent < p->rows ? 1 : p->rows);
        break;
    case ROLE_BLOCK_VEC:
        step->dec[0] = TC_MIN(tc_ceil_div(d->extent, vec_width(s, p, v)), p->mid == 1 ? FEW_BLOCK_WIDTHS : BLOCK_WIDTHS);
        break;
    case ROLE_CHUNK:
        step->dec[0] = p->mid == 1 ? 1 : 2;
        break;
    case ROLE_WIDTH:
        step->dec[0] = tc_space_nearest(step, p->width * lanes);
        break;
    case ROLE_AHEAD:
        step->dec[0] = tc_space_nearest(step, d->unit ? 0 : AHEAD);
        break;
    case ROLE_TILE_ROWS:
    case ROLE_TILE_COLUMNS:
    case ROLE_TILE_BLOCK:
    case ROLE_TILE_PANELS:
        tc_space_decide_tiles(s, p, d, step);
        break;
    }
}

/* t: an instance of the plan's sketch. */
static void decide_all(const tc_space *s, const plan *p, tc_trace *t) {
    const sketch *k = &s->sk[p->sketch];
    for (int i = 0; i < k->ndec; i++)
        decide(s, p, &k->dec[i], &t->steps[k->dec[i].step]);
}

tc_trace *tc_space_fill(const tc_space *s, int sk, const tc_space_tile *tile, tc_arena *a) {
    plan p = {.sketch = sk, .rows = tile->rows, .vecs = tile->vecs, .mid = 2, .unroll = tile->unroll, .width = tile->width};
    tc_trace *t = tc_trace_copy(a, s->sk[sk].trace);
    decide_all(s, &p, t);
    return t;
}

/* Times as long as an anchor takes for its producers: what each read computes of the inlined ones, and what computes the others,
 * reads and writes them once, for each block of columns that has tasks of its own. */
static double cost_of_producers(const sketch *k, const decision *v, int64_t width) {
    double vecs = (double)tc_ceil_div(width, v->lanes);
    double passes = k->v.chain || k->v.stored_task ? (double)column_blocks(k, v, width) : WHOLE_PASS;
    if (k->v.stored)
        return 1 + passes * v->produced.pass;
    return (1 + INLINED_OP * v->produced.inlined / vecs) * (1 + passes * v->produced.left);
}

/* The same for weights that are unpacked: once for the rows of a tile, or, stored and read again, for those of a task. */
static double cost_of_unpacking(const sketch *k, const decision *v, double rows, double tile, double task) {
    if (!k->v.stored)
        return 1 + v->produced.unpacking * rows / tile;
    enum { ACCESSES = 2 };
    return 1 + (v->produced.unpacking + ACCESSES * v->produced.numbers) * rows / task;
}

/* Whether the operand that all rows of anchor `id` read comes from beyond the second-level cache for each panel, though the
 * products are done by a unit that is too fast for that. */
static bool streams_rows(const tc_space *s, const sketch *k, int id) {
    const decision *v = vec_of(k, id);
    double rows = 1;
    bool blocks = false;
    for (const decision *d = tc_space_first_of(k, id); d; d = tc_space_next_of(k, d))
        if (d->role == ROLE_ROW_TILE) {
            rows *= (double)d->extent;
            blocks |= d->primary;
        }
    return v->unit && blocks && rows * v->row_bytes > PANEL_L2 * (double)s->m.l2;
}

/* How much longer a tile of dot products takes for its loads. The first cache gives two vectors a cycle, and takes a line in a
 * cycle in which it gives none: of a panel that it does not hold, every vector. Measured with u8 x i8, 384 x 1152 x 1024, one
 * thread of Cascade Lake, tiles of 8 x 3, 6 x 4, 12 x 2, 5 x 5, 4 x 6 and 24 x 1 vectors, for which it is busy for 0.71, 0.75,
 * 0.75, 0.8, 0.92 and 1.13 of the products' time: 1.06, 1.11, 1.12, 1.10, 1.23 and 1.35 times the products' time. */
static double waits_of_unit(const tc_space *s, const tc_intrinsic *unit, double rows, double vecs, double panel) {
    double busy = (rows + vecs) / 2 + (panel > (double)s->m.l1 / 2 ? vecs : 0);
    return UNIT_WAITS * fmax(0.0, busy / (rows * vecs * unit->cycles) - UNIT_FREE);
}

/* The share of the time that is left for the products of a tile of so many rows while the vector operand's panel comes from where
 * it fits: each of its vectors serves a product of every row. `again`: other tiles read it too. Units: see waits_of_unit. */
static double streaming(const tc_space *s, const sketch *k, const decision *v, double panel, double rows, bool again) {
    double far = PANEL_L2 * (double)s->m.l2;
    if (v->unit || !again)
        return k->v.block_k ? panel > far ? BLOCKED_LARGE : BLOCKED : panel > far ? PANEL_MISSES : 1;
    double e = k->v.block_k ? BLOCKED : 1;
    if (k->v.block_k)
        panel *= fmin(1, (double)BLOCK_K / (double)v->depth);
    if (panel <= (double)s->m.l1)
        return e;
    double load = s->m.vector_bytes / rows * PRODUCTS / (panel <= far ? FROM_L2 : BEYOND_L2);
    return e / (fmax(1, load) + NOT_HIDDEN * fmax(0, fmin(1, load) - HIDDEN));
}

/* For each accumulator. */
static int64_t sums_of_block(const decision *v) {
    return v->inner ? v->sums : 1;
}

/* Of a tile's speed, what is left where the registers do not hold all that it needs. Sums of blocks are in them beside the bytes
 * that numbers are taken out of, for each tile of rows again, and two masks; what they are added to may wait in memory from block
 * to block. */
static double held(const tc_machine *m, const decision *v, int64_t rows, int64_t vecs) {
    int64_t tile = rows * vecs, room = m->vector_regs - operand_registers(m, rows, vecs) - (v->inner ? vecs + 2 : 0);
    int64_t sums = tile * sums_of_block(v);
    if (sums > room)
        return SPILLS;
    if (!v->inner)
        return 1;
    double waiting = (double)TC_MAX(0, sums + tile - room) / (double)(sums * v->inner);
    return 1 / (1 + RELOAD * waiting) / (1 + TAKING_OUT / (double)(rows * sums_of_block(v)));
}

/* Rows that n rows in tiles of r by vecs take as long as. The last tile of a size that varies is as long as what is left, if
 * there is a body for that, and else tests. */
static double rows_computed(double n, double r, double vecs, bool varies) {
    double left = fmod(n, r), whole = n - left;
    if (!varies || left == 0)
        return left > 0 ? whole + r : whole;
    return whole + (r > TC_TIR_ROWS_LEFT + 1 ? TESTED * left : fmax(left, IN_FLIGHT / vecs));
}

/* The rows of an axis over that: of all the sizes that it may have, which are taken by their logarithms, so that each counts by
 * its rows. */
static double use_of_rows(const decision *d, int64_t r, int64_t vecs) {
    double rows = 0, computed = 0, least = (double)TC_MAX(d->least, 1), most = (double)d->extent;
    for (int i = 0, n = d->varies ? SIZES : 1; i < n; i++) {
        double size = round(most * pow(least / most, (double)i / SIZES));
        rows += size;
        computed += rows_computed(size, (double)r, (double)vecs, d->varies);
    }
    return rows / computed;
}

/* Estimated share of the peak that anchor `id` reaches. */
static double estimate_anchor(const tc_space *s, const plan *p, int id) {
    const sketch *k = &s->sk[p->sketch];
    const decision *v = vec_of(k, id);
    int64_t w = vec_width(s, p, v), vecs = tc_ceil_div(w, v->lanes), reg = 1, phases = 1,
            tasks = v->batch * tc_ceil_div(column_blocks(k, v, w), panels(s, p, id)), rows_total = 1, task = 1;
    double e =
        (double)v->extent / (double)(tc_ceil_div(v->extent, w) * vecs * v->lanes) * (v->unit ? tc_intrinsic_gain(v->unit) : 1);
    for (const decision *d = tc_space_first_of(k, id); d; d = tc_space_next_of(k, d)) {
        int64_t r, mid;
        if (d->role != ROLE_ROW_TILE)
            continue;
        row_tile(s, p, d, &r, &mid);
        e *= use_of_rows(d, r, vecs);
        reg *= r;
        task *= r * mid;
        phases *= d->phase;
        tasks *= tc_ceil_div(d->extent, r * mid);
        rows_total *= d->extent;
    }
    /* of a tile that spans all parities a tap reaches one */
    double rows = (double)(reg * sums_of_block(v)) / (double)phases, in_flight = rows * (double)vecs,
           loads = ((double)vecs + rows) / in_flight, panel = panel_bytes(v, w);
    double waits = v->unit ? waits_of_unit(s, v->unit, rows, (double)vecs, panel) : fmax(0.0, loads - FREE_LOADS);
    e *= (double)phases * fmin(1.0, in_flight / (phases > 1 ? IN_FLIGHT / 2 : IN_FLIGHT)) / (1.0 + waits);
    e *= held(&s->m, v, reg, vecs) * (sums_of_block(v) > 1 && v->extent % w ? LEFT_OVER : 1.0);
    if (v->lanewise && reg * vecs > s->m.vector_regs / 2)
        e *= MASKED;
    e *= (double)tasks / (double)(tc_ceil_div(tasks, s->m.cores) * s->m.cores);
    if (p->mid != 3 && streams_rows(s, k, id))
        e *= ROWS_STREAM;
    e *= streaming(s, k, v, panel, rows, rows_total > reg);
    if (!k->v.pack)
        e *= rows_total > FEW_READERS ? UNPACKED : 1.0;
    else
        e *= 1.0 - fmin(MOST_PACKING, 1.0 / (double)(k->v.pack_task ? TC_MIN(task, rows_total) : rows_total)) -
             (k->v.pack_task ? 0.0 : PACKED_APART);
    e /= cost_of_unpacking(k, v, (double)rows_total, (double)reg, (double)TC_MIN(task, rows_total));
    return e / cost_of_producers(k, v, w) * (k->v.rows_inner ? 1.0 : ROWS_OUTSIDE);
}

static bool any_chain(const tc_space *s) {
    for (int k = 0; k < s->nsketch; k++)
        if (s->sk[k].v.chain)
            return true;
    return false;
}

/* chains: some sketch of the space is a chain. */
static double estimate(const tc_space *s, const plan *p, bool chains) {
    const sketch *k = &s->sk[p->sketch];
    double e = chains && !k->v.chain ? NOT_CHAINED : 1.0;
    bool anchor = false;
    for (int i = 0; i < k->ndec; i++)
        if (k->dec[i].role == ROLE_VEC || k->dec[i].role == ROLE_TILE_COLUMNS) {
            e *= k->dec[i].role == ROLE_VEC ? estimate_anchor(s, p, k->dec[i].anchor)
                                            : tc_space_estimate_tiles(s, p, k->dec[i].anchor);
            anchor = true;
        }
    if (!anchor)
        e *= p->width == 4 ? 1.0 : OTHER_WIDTH;
    if (!anchor && k->v.split_k)
        e *= k->v.split_k == 2 * s->m.cores ? SPLIT_BEST : SPLIT;
    if (s->m.cores > 1)
        e *= k->v.serial == (s->work < SERIAL_WORK) ? 1.0 : WRONG_SERIAL;
    return e * (p->unroll == 4 ? 1.0 : OTHER_UNROLL);
}

/* Ties are common, and the first of equals is the default schedule: they stay in the order of enumeration. A total order, so that
 * every libc's sort makes the same of it. */
static int by_estimate(const void *a, const void *b) {
    const plan *x = a, *y = b;
    if (x->estimate != y->estimate)
        return x->estimate < y->estimate ? 1 : -1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static bool has_anchor(const sketch *k) {
    for (int i = 0; i < k->ndec; i++)
        if (k->dec[i].role == ROLE_VEC || k->dec[i].role == ROLE_TILE_COLUMNS)
            return true;
    return false;
}

static bool any_streams(const tc_space *s, const sketch *k) {
    for (int i = 0; i < k->ndec; i++)
        if (k->dec[i].role == ROLE_VEC && streams_rows(s, k, k->dec[i].anchor))
            return true;
    return false;
}

typedef TC_VEC(plan) plan_list;

/* Register tiles worth a try: r x n up to the register file. All of every sketch: the last ones are often those that a rule made
 * for this kind of workload. */
static void enumerate(const tc_space *s, plan_list *out) {
    bool chains = any_chain(s);
    for (int k = 0; k < s->nsketch; k++) {
        bool anchor = has_anchor(&s->sk[k]), streams = any_streams(s, &s->sk[k]);
        bool tile_blocks = s->sk[k].v.tiles && s->sk[k].v.block_k; /* whose plans find the best number of rows themselves */
        for (int r = 0; r < (anchor ? TILE_ROWS : 1); r++)
            for (int v = 1; v <= (anchor ? 8 : 1); v++) {
                int rows = (int)tc_space_tile_rows[r], regs = rows * v;
                if (s->sk[k].v.tiles && regs > tc_space_most_tiles(&s->sk[k], s->m.vector_regs))
                    continue;
                if (regs + TC_MIN(rows, v) > s->m.vector_regs ||
                    (anchor && !s->sk[k].v.tiles && regs < IN_FLIGHT / 2 && rows > 1))
                    continue;
                for (int mid = tile_blocks ? 2 : 0; mid < (streams ? 4 : 3); mid++) {
                    plan p = {.sketch = k,
                              .rows = rows,
                              .vecs = v,
                              .mid = mid,
                              .unroll = mid == 1 ? 8 : 4,
                              .width = anchor || mid == 0 ? 4 : mid,
                              .number = (int)out->len};
                    p.estimate = estimate(s, &p, chains);
                    tc_push(out, p);
                }
            }
    }
    qsort(out->data, out->len, sizeof *out->data, by_estimate);
}

/* Its tiles are some that their steps can take: rows are not more than their step has for the inner part. */
static bool tiles_legal(const sketch *k, const tc_trace *t) {
    for (int i = 0; i < k->ndec; i++) {
        const tc_instr *step = &t->steps[k->dec[i].step];
        if (step->prim == TC_PRIM_SAMPLE_TILE &&
            !tc_sch_tile_legal(tc_space_tiled_extent(k, t, i), (int)step->ints[0].value, step->ints[1].value, step->dec))
            return false;
    }
    return true;
}

/* Most plans make what another one made before, so each is tried in an instance that all plans of its sketch use. */
int tc_space_construct(const tc_space *s, tc_arena *a, tc_trace **out, int cap) {
    plan_list plans = {0};
    tc_trace **tried = tc_xcalloc((size_t)s->nsketch, sizeof *tried);
    tc_arena *own = tc_arena_new();
    enumerate(s, &plans);
    int m = 0;
    for (size_t i = 0; i < plans.len && m < cap; i++) {
        const sketch *k = &s->sk[plans.data[i].sketch];
        tc_trace **t = &tried[plans.data[i].sketch];
        *t = *t ? *t : tc_trace_copy(own, k->trace);
        decide_all(s, &plans.data[i], *t);
        bool dup = !tiles_legal(k, *t);
        for (int j = 0; j < m && !dup; j++)
            dup = tc_trace_equal(out[j], *t);
        if (!dup)
            out[m++] = tc_trace_copy(a, *t);
    }
    tc_vec_free(&plans);
    tc_arena_free(own);
    free(tried);
    return m;
}

/* Where sizes vary the verifier must show that the program keeps within them; what it shows of one schedule it may not of
 * another. */
static tc_status try_default(const tc_space *s, tc_ctx *ctx, tc_trace *t, int64_t *work, tc_trace **out, tc_error *err) {
    tc_tir_origin from = {.workload = s->w, .machine = &s->m, .trace = t, .work = work};
    tc_tir_program p;
    tc_ctx_reset(ctx);
    TC_TRY(tc_tir_program_make(ctx, &from, s->w->nsymbol ? TC_TIR_VERIFIED : TC_TIR_NEST, &p, err));
    *out = t;
    return TC_OK;
}

static void warn_of_plain_loops(const tc_space *s, const char *why) {
    tc_log(TC_LOG_WARN, "%s: plain loops are used, because no constructed schedule %s: %s", s->w->out[0]->name,
           s->w->nsymbol ? "provably stays within its tensors at every size" : "can be lowered", why);
}

/* Tries constructed schedules in order until one will do: normally the first. They share one budget of proofs. Plain loops are
 * tried last, with a budget of their own. */
tc_status tc_space_default(const tc_space *s, tc_arena *a, tc_trace **out, tc_error *err) {
    enum { TRIES = 64 }; /* chosen; not measured apart */
    tc_trace *t[TRIES + 1];
    int n = tc_space_construct(s, a, t, TRIES);
    tc_ctx *ctx = tc_ctx_child(s->w->ctx);
    tc_error own, of_text;
    err = err ? err : &own;
    tc_status r = tc_fail(err, TC_ILLEGAL, "no schedule could be constructed");
    bool plain = tc_trace_parse(a, "plain loops", "", &t[n], &of_text) == TC_OK;
    int64_t work = TC_PROOF_WORK;
    for (int i = 0; i < n + plain && r != TC_OK; i++) {
        i = work <= 0 ? n : i;
        if (i == n) {
            work = TC_PROOF_WORK;
            warn_of_plain_loops(s, err->msg);
        }
        r = try_default(s, ctx, t[i], &work, out, err);
        if (r != TC_OK)
            tc_log(TC_LOG_DEBUG, "%s: constructed schedule %d of %d is not used: %s", s->w->out[0]->name, i + 1, n + plain,
                   err->msg);
    }
    tc_ctx_free(ctx);
    return r;
}

/* ---- what fits ---- */

/* Accumulators that the decisions of a trace ask for at most. */
static int64_t registers(const sketch *k, const tc_trace *t) {
    int64_t worst = 0;
    for (int i = 0; i < k->ndec; i++) {
        const decision *v = &k->dec[i];
        if (v->role != ROLE_VEC)
            continue;
        int64_t regs = tc_ceil_div(t->steps[v->step].dec[0], v->lanes);
        for (int j = 0; j < k->ndec; j++) {
            const decision *d = &k->dec[j];
            const tc_instr *step = &t->steps[d->step];
            if (d->anchor == v->anchor && d->role == ROLE_ROW_TILE)
                regs *= step->dec[1];
            else if (d->anchor == v->anchor && d->role == ROLE_REG_ROW)
                regs *= step->dec[0];
        }
        worst = TC_MAX(worst, regs);
    }
    return worst;
}

bool tc_space_fits(const tc_space *s, const tc_trace *t) {
    enum { OPERANDS = 2 }; /* one of either side at least: derived */
    int k = tc_space_sketch_of(s, t);
    return k < 0 || (registers(&s->sk[k], t) <= s->m.vector_regs - OPERANDS &&
                     tc_space_tiles_fit(&s->sk[k], t, s->m.vector_regs, OPERANDS));
}
