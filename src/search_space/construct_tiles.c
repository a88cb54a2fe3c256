/* Constructed grids of tiles: how large they are, and in which blocks of rows, columns and reduction they are walked.
 *
 * A unit multiplies as fast as its operands arrive, and they arrive from the cache in which they were left. The bytes that a
 * schedule touches between two uses of a tile say which cache this is. The inner loop over grids uses one panel again after one
 * grid, and the other panel after all grids of the block. The next task uses both panels again. Blocks of the reduction make the
 * panels shorter. In return the results wait in a cache, and are loaded and stored once more for each block. */
#include "search_space/construct_int.h"

#include <math.h>

/* Tiles of a grid's results in eight registers: with more of them operands are loaded more often. */
enum { MOST_TILES = 4 };

/* Factors of the estimate, of which only the order of plans depends; where nothing else is said, chosen and not measured apart. */
static const double OVERLAP = 0.15;    /* of loads and products of tiles, what is not hidden; as the cost model's */
static const double PACK = 0.25;       /* cycles for an element that is converted and packed: 16 take two loads and a store */
static const double CHAINED = 1.1;     /* what is between two products of tiles stays in the cache */
static const double HELD = 0.75;       /* share of a cache in which what is used again is found */
static const double PAGES_APART = 1.4; /* rows of AMX's tiles at multiples of 4096 bytes, measured: 3.2 ns for 2.3 */
static const double FROM_L2 = 2.5;     /* times a load from the first-level cache. AMX, measured: 5.8 ns for 2.3 .. */
static const double FROM_L3 = 5;       /* .. at 24 bytes a cycle .. */
static const double FROM_FAR = 12;     /* .. and 0.8 to 1 TFLOP/s instead of 3.3 where one operand of a 2 x 2 grid is in memory */

typedef struct tiling {
    const tc_intrinsic *unit;
    const tc_machine *m;
    const variant *v;
    int64_t batch, depth, last; /* products of a result, and of its last reduction */
    int64_t height, width;      /* rows and columns of results */
    int64_t rows, columns;      /* tiles of a grid */
    int64_t down, across;       /* grids along either axis .. */
    int64_t high, wide;         /* .. and in a task */
    int64_t block;              /* of the last reduction; `last`: it is whole */
    double row_loads;           /* loads of a tile of the first operand, in those of one whose rows are neighbours */
} tiling;

/* Rows or columns of a tile. */
static int side_of(const sketch *k, const decision *d) {
    const tc_intrinsic *u = tc_space_role_of(k, d->anchor, ROLE_TILE_COLUMNS)->unit;
    return d->role == ROLE_TILE_ROWS ? u->m : u->n;
}

/* Tiles along one side of the grid, and how many such grids the axis has. */
static int64_t tiles_along(const tc_space *s, const plan *p, const decision *d, int64_t *of) {
    const sketch *k = &s->sk[p->sketch];
    int64_t want = d->role == ROLE_TILE_ROWS ? p->rows : p->vecs;
    int64_t side = tc_space_nearest(&k->trace->steps[d->step], want * side_of(k, d));
    *of = tc_ceil_div(d->extent, side);
    return side / side_of(k, d);
}

/* ---- the estimate ---- */

/* Times a load from the first-level cache, of what was used before so many other bytes were. */
static double distance_cost(const tc_machine *m, double bytes) {
    return bytes <= HELD * (double)m->l1   ? 1
           : bytes <= HELD * (double)m->l2 ? FROM_L2
           : bytes <= HELD * (double)m->l3 ? FROM_L3
                                           : FROM_FAR;
}

/* Bytes of a grid's operands over `depth` products, and of its results. */
typedef struct panels {
    double a, b, acc;
} panels;

static panels panels_of(const tiling *t, int64_t depth) {
    const tc_intrinsic *u = t->unit;
    return (panels){.a = (double)(t->rows * u->m * depth * tc_dtype_bytes(u->a)),
                    .b = (double)(t->columns * u->n * depth * tc_dtype_bytes(u->b)),
                    .acc = (double)(t->rows * u->m * t->columns * u->n * tc_dtype_bytes(u->acc))};
}

/* Of an operand that `uses` grids use, `in_task` of them in a task: the mean cost of a load, by the bytes between two uses in a
 * task, between one task and the next, and between one run of the kernel and the next. */
static double mean_cost(const tc_machine *m, int64_t uses, int64_t in_task, double near, double next, double all) {
    int64_t tasks = tc_ceil_div(uses, in_task);
    double sum = (double)(uses - tasks) * distance_cost(m, near) + (double)(tasks - 1) * distance_cost(m, next);
    return (sum + distance_cost(m, all)) / (double)uses;
}

/* A task of a chain walks its columns itself. */
static bool rows_inner(const tiling *t) {
    return t->v->rows_inner && !t->v->chain;
}

/* Loads for one step of a grid, in those from the first-level cache. */
static double loads_of(const tiling *t) {
    panels p = panels_of(t, t->depth / t->last * t->block), whole = panels_of(t, t->depth);
    double high = (double)t->high, wide = (double)t->wide, all_a = (double)t->down * whole.a, all_b = (double)t->across * whole.b;
    double task_a = high * whole.a, task_b = wide * whole.b, acc = high * wide * p.acc, all = (double)t->batch * (all_a + all_b);
    bool down = rows_inner(t) || t->wide == 1; /* the inner loop over grids in a task */
    double near_a = down ? high * (p.a + p.acc) + p.b : p.a + p.b + p.acc;
    double near_b = down ? p.a + p.b + p.acc : wide * (p.b + p.acc) + p.a;
    double next_a = (rows_inner(t) ? all_a : task_a) + task_b + acc, next_b = task_a + (rows_inner(t) ? task_b : all_b) + acc;
    return (double)t->rows * t->row_loads * mean_cost(t->m, t->across, t->wide, near_a, next_a, all) +
           (double)t->columns * mean_cost(t->m, t->down, t->high, near_b, next_b, all);
}

/* Cycles that the results of a grid take: stored once and read by what follows, or set to zero, loaded and stored for each block of
 * the reduction, and read. */
static double results_of(const tiling *t) {
    double tiles = (double)(t->rows * t->columns), load = tiles * t->unit->load, store = tiles * t->unit->store;
    if (t->block == t->last)
        return store + load;
    panels p = panels_of(t, t->depth / t->last * t->block);
    double sweep = (double)t->high * p.a + (double)t->wide * p.b + (double)(t->high * t->wide) * p.acc;
    return ((double)tc_ceil_div(t->last, t->block) * (load + store) + 2 * load) * distance_cost(t->m, sweep);
}

/* Tasks, as equal shares for the cores: 1 where none of these waits. */
static double balance(const tiling *t) {
    int64_t tasks = t->batch * tc_ceil_div(t->down, t->high) * (t->v->chain ? 1 : tc_ceil_div(t->across, t->wide));
    return (double)tasks / (double)(tc_ceil_div(tasks, t->m->cores) * t->m->cores);
}

/* What remains after packing, of each element of both operands once, or once per task, and of the first one's in the tiles'
 * order. */
static double packing(const tiling *t) {
    const tc_intrinsic *u = t->unit;
    double work = (double)(t->batch * t->depth * t->height * t->width) / (double)(u->m * u->n * u->k) * u->cycles;
    double b = (double)t->width * (t->v->pack_task ? (double)tc_ceil_div(t->down, t->high) : 1.0);
    double a = (double)t->height * (t->v->stored_task ? (double)tc_ceil_div(t->across, t->wide) : 1.0);
    double elements = (t->v->pack ? a + b : 0) + (t->v->pack_rows ? (double)t->height : 0);
    return work / (work + PACK * (double)(t->batch * t->depth) * elements);
}

/* The unit's products per cycle, less what its loads cost beside them, and what the tasks do not balance. */
static double speed(const tiling *t) {
    const tc_intrinsic *u = t->unit;
    double steps = (double)(t->depth / t->last * tc_ceil_div(t->last, u->k)),
           multiply = steps * (double)(t->rows * t->columns) * u->cycles;
    if (u->place == TC_UNIT_BLOCK) /* chained ones wait for each other */
        multiply *= fmax(1.0, (double)IN_FLIGHT / (double)(t->rows * t->columns));
    double move = steps * loads_of(t) * u->load + results_of(t);
    double cycles = fmax(multiply, move) + OVERLAP * fmin(multiply, move);
    return steps * (double)(t->rows * t->columns) * u->cycles / cycles * balance(t) * packing(t);
}

/* ---- blocks ---- */

static int64_t halved(int64_t grids, int times) {
    return tc_ceil_div(grids, (int64_t)1 << times);
}

/* Grids of rows in a task of a plan whose reduction is whole: all that share a panel, one, or as many as balance the tasks. */
static int64_t rows_of_task(const tiling *t, int mid) {
    if (mid < 2)
        return mid ? 1 : t->down;
    return tc_ceil_div(t->down, TC_MAX(1, TASKS_PER_CORE * t->m->cores / (t->across * t->batch)));
}

/* The best blocks of columns and of the reduction, for all, one, or any number of grids of rows. */
static void choose_blocks(tiling *t, int mid, const tc_instr *depths, int64_t most_high, int64_t most_wide) {
    double best = -1;
    tiling x = *t;
    for (int d = 0; d < depths->nints; d++)
        for (int i = 0; i == 0 || halved(t->across, i - 1) > 1; i++)
            for (int j = 0; j == 0 || (mid == 2 && halved(t->down, j - 1) > 1); j++) {
                x.block = depths->ints[d].value;
                x.wide = TC_MIN(halved(t->across, i), most_wide);
                x.high = mid == 1 ? 1 : TC_MIN(halved(t->down, j), most_high);
                double e = speed(&x);
                if (e > best) {
                    best = e;
                    *t = x;
                }
            }
}

/* Rows that are not neighbours are loaded one by one into vectors; AMX loads them by their distance. */
static double row_loads(const decision *c, const variant *v) {
    enum { PAGE = 4096 };
    if (v->pack_rows)
        return 1;
    if (c->unit->place == TC_UNIT_BLOCK)
        return c->unit->m;
    return c->pitch % PAGE ? 1 : PAGES_APART;
}

static tiling tiling_of(const tc_space *s, const plan *p, int anchor) {
    const sketch *k = &s->sk[p->sketch];
    const decision *c = tc_space_role_of(k, anchor, ROLE_TILE_COLUMNS), *r = tc_space_role_of(k, anchor, ROLE_TILE_ROWS),
                   *high = tc_space_role_of(k, anchor, ROLE_TILE_BLOCK), *wide = tc_space_role_of(k, anchor, ROLE_TILE_PANELS),
                   *depth = tc_space_role_of(k, anchor, ROLE_BLOCK_K);
    tiling t = {.unit = c->unit,
                .m = &s->m,
                .v = &k->v,
                .batch = c->batch,
                .depth = c->depth,
                .last = c->last,
                .height = r->extent,
                .width = c->extent,
                .wide = 1,
                .block = c->last,
                .row_loads = row_loads(c, &k->v)};
    t.rows = tiles_along(s, p, r, &t.down);
    t.columns = tiles_along(s, p, c, &t.across);
    int64_t most = k->trace->steps[high->step].ints[1].value;
    t.high = TC_MAX(1, TC_MIN(rows_of_task(&t, p->mid), most));
    if (depth)
        choose_blocks(&t, p->mid, &k->trace->steps[depth->step], most, k->trace->steps[wide->step].ints[1].value);
    return t;
}

/* Registers beside a grid's results: one for either operand at least. What is in registers of vectors stays there, and the next
 * step's loads overtake: the operands of the shorter side and two of the longer. */
static int64_t operand_registers(const tiling *t) {
    return t->unit->place == TC_UNIT_TILE ? 2 : TC_MIN(t->rows, t->columns) + 2;
}

/* Less what edges lose. A grid that has no registers for its operands is none. */
double tc_space_estimate_tiles(const tc_space *s, const plan *p, int anchor) {
    tiling t = tiling_of(s, p, anchor);
    const tc_intrinsic *u = t.unit;
    double e = tc_intrinsic_gain(u) * speed(&t) * (t.v->chain ? CHAINED : 1.0);
    e *= (double)(t.height * t.width) / (double)(t.down * t.rows * t.across * t.columns * u->m * u->n);
    bool fits = t.rows * t.columns + operand_registers(&t) <= tc_intrinsic_registers(u, s->m.vector_regs);
    return fits ? e : e * SPILLS;
}

void tc_space_decide_tiles(const tc_space *s, const plan *p, const decision *d, tc_instr *step) {
    tiling t = tiling_of(s, p, d->anchor);
    step->dec[0] = d->role == ROLE_TILE_ROWS      ? t.rows * t.unit->m
                   : d->role == ROLE_TILE_COLUMNS ? t.columns * t.unit->n
                   : d->role == ROLE_TILE_BLOCK   ? t.high
                   : d->role == ROLE_TILE_PANELS  ? t.wide
                                                  : t.block;
}

int tc_space_most_tiles(const sketch *k, int vector_regs) {
    for (int i = 0; i < k->ndec; i++)
        if (k->dec[i].role == ROLE_TILE_COLUMNS && k->dec[i].unit->place == TC_UNIT_BLOCK)
            return vector_regs;
    return MOST_TILES;
}

bool tc_space_tiles_fit(const sketch *k, const tc_trace *t, int vector_regs, int operands) {
    for (int i = 0; i < k->ndec; i++) {
        const decision *c = &k->dec[i], *r = c->role == ROLE_TILE_COLUMNS ? tc_space_role_of(k, c->anchor, ROLE_TILE_ROWS) : NULL;
        if (r && t->steps[c->step].dec[0] / c->unit->n * (t->steps[r->step].dec[0] / c->unit->m) >
                     tc_intrinsic_registers(c->unit, vector_regs) - operands)
            return false;
    }
    return true;
}
