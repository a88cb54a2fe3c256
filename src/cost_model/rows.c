/* From the nest of a program to its rows of numbers. One function per group of features.def, in its order. */
#include "cost_model/nest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double lg(double x) {
    return log2(1 + TC_MAX(x, 0));
}

/* Signed logarithm of a ratio, bounded: a quotient by nothing is not infinite. */
static double ratio(double a, double b) {
    double r = log2(TC_MAX(a, 1e-9) / TC_MAX(b, 1e-9));
    return TC_MAX(TC_MIN(r, 40), -40);
}

static const loop_node *loop_at(const nest *n, const store_site *s, int level) {
    return &n->loops.data[s->path[level]];
}

static const access *access_at(const nest *n, const store_site *s, int i) {
    return &n->accesses.data[s->access + (size_t)i];
}

/* Bytes touched by everything inside level d - 1; d == 0: by the program. */
static double footprint(const nest *n, const store_site *s, int d) {
    return n->footprint[d == 0 ? 0 : s->path[d - 1] + 1];
}

/* ---- facts: what several groups need ---- */

/* Lanes of the vector registers that hold elements of b. */
static double lanes_of(const nest *n, const tc_buffer *b) {
    return nest_lanes(n, tc_dtype_bytes(b->dtype));
}

static int vector_level(const nest *n, const store_site *s) {
    for (int l = s->nlevel - 1; l >= 0; l--)
        if (loop_at(n, s, l)->kind == TC_FOR_VECTOR)
            return l;
    return -1;
}

enum { MOVE_BROADCAST, MOVE_CONTIGUOUS, MOVE_STRIDED };

static int vector_move(const access *a, int level) {
    double stride = level < 0 ? 0 : access_stride(a, level);
    return a->at.gathered && level >= 0 && (a->at.moved >> level & 1) ? MOVE_STRIDED
           : stride == 0                                              ? MOVE_BROADCAST
           : stride == 1                                              ? MOVE_CONTIGUOUS
                                                                      : MOVE_STRIDED;
}

/* Registers that a's elements in the band fill; with `all` also over unrolled reduction steps, which otherwise reuse them. */
static double band_vectors(const nest *n, const store_site *s, const access *a, bool all) {
    double lanes = vector_move(a, vector_level(n, s)) == MOVE_STRIDED ? 1 : lanes_of(n, a->buffer), p = 1;
    for (int l = s->band; l < s->nlevel; l++) {
        const loop_node *loop = loop_at(n, s, l);
        if (!(a->at.moved >> l & 1) || (loop->reduce && !all))
            continue;
        p *= loop->kind == TC_FOR_VECTOR ? ceil(loop->extent / lanes) : loop->extent;
    }
    return p * a->times;
}

/* Accumulators are promoted to registers over the reduction as long as they fit; otherwise each iteration loads and stores them.
 */
static bool kept_in_registers(const nest *n, const store_site *s) {
    const access *own = access_at(n, s, 0);
    return s->accumulates && own->times == 1 && band_vectors(n, s, own, false) <= n->m->vector_regs;
}

/* Iterations of the loops directly around the band that leave the store's address alone. */
static double reduction_trips(const nest *n, const store_site *s) {
    double p = 1;
    level_set moved = access_at(n, s, 0)->hoist;
    for (int l = s->band - 1; l >= 0 && !(moved >> l & 1) && loop_at(n, s, l)->kind == TC_FOR_SERIAL; l--)
        p *= loop_at(n, s, l)->extent;
    return p;
}

/* The same within the band: its unrolled reduction steps. */
static double unrolled_steps(const nest *n, const store_site *s) {
    double p = 1;
    for (int l = s->band; l < s->nlevel; l++)
        if (!(access_at(n, s, 0)->hoist >> l & 1))
            p *= loop_at(n, s, l)->extent;
    return p;
}

/* Operands alive in the band: of a register tile's two sides the shorter one, and one of the longer (tir_lower/pass_order.c). */
static double operand_registers(const nest *n, const store_site *s) {
    double vectors = 0, broadcasts = 0;
    for (int i = 1; i < s->naccess; i++) {
        const access *a = access_at(n, s, i);
        *(vector_move(a, vector_level(n, s)) == MOVE_BROADCAST ? &broadcasts : &vectors) += band_vectors(n, s, a, false);
    }
    return broadcasts > 0 && vectors > 0 ? TC_MIN(vectors, broadcasts) + 1 : vectors + TC_MIN(broadcasts, 1);
}

static void count_moves(const nest *n, const store_site *s, row_facts *r) {
    int vec = vector_level(n, s);
    double steps = reduction_trips(n, s) * unrolled_steps(n, s);
    level_set all = nest_all_levels(s);
    for (int i = 0; i < s->naccess; i++) {
        const access *a = access_at(n, s, i);
        double lanes = vector_move(a, vec) == MOVE_STRIDED ? 1 : lanes_of(n, a->buffer);
        bool own = i == 0;
        double times = nest_times(n, s, own && s->accumulates ? all : a->hoist, lanes);
        if (own && kept_in_registers(n, s))
            times /= steps;
        if (own)
            r->stores += times;
        if (a->is_read)
            r->loads += times * a->times;
    }
}

static void thread_facts(const nest *n, const store_site *s, row_facts *r) {
    int first = -1;
    r->tasks = 1;
    for (int l = 0; l < s->nlevel; l++)
        if (loop_at(n, s, l)->kind == TC_FOR_PARALLEL) {
            first = first < 0 ? l : first;
            r->tasks *= loop_at(n, s, l)->extent;
        }
    double cores = TC_MAX(n->m->cores, 1);
    r->cores = first < 0 ? 1 : TC_MIN(r->tasks, cores);
    r->imbalance = first < 0 ? cores : ceil(r->tasks / cores) * cores / r->tasks;
    r->regions = first < 0 ? 0 : nest_trips(n, s, 0, first);
    if (first < 0)
        r->tasks = 0;
}

/* Stores that share a parallel region share its start. */
static double region_share(const nest *n, const store_site *s) {
    int outer = -1, sharing = 0;
    for (int l = 0; l < s->nlevel && outer < 0; l++)
        outer = loop_at(n, s, l)->kind == TC_FOR_PARALLEL ? l : -1;
    if (outer < 0)
        return 0;
    for (size_t i = 0; i < n->stores.len; i++)
        sharing += n->stores.data[i].nlevel > outer && n->stores.data[i].path[outer] == s->path[outer];
    return 1.0 / TC_MAX(sharing, 1);
}

/* Largest sub-nest, as a depth, whose surroundings' data fit in `bytes`. */
static int fitting_depth(const nest *n, const store_site *s, double bytes) {
    int d = s->nlevel;
    while (d > 0 && footprint(n, s, d - 1) <= bytes)
        d--;
    return d;
}

/* Does the loop at `level` come back to where a was before, or move it by more steps than a term can say? */
static bool cyclic(const nest *n, const store_site *s, const access *a, int level) {
    double places = 1;
    for (int i = 0; i < a->at.n; i++)
        places *= a->at.term[i].level == level ? a->at.term[i].count : 1;
    return places < loop_at(n, s, level)->extent || (nest_owner_levels(n, a->buffer) >> level & 1);
}

/* Bytes brought into a level that holds the sub-nest at depth d. The loop around it finds what its last iteration left: it
 * fetches what its iterations touch together, unless it returns to a place only after having gone through all others. */
static double traffic_into(const nest *n, const store_site *s, int d) {
    double total = 0;
    for (int i = 0; i < s->naccess; i++) {
        const access *a = access_at(n, s, i);
        bool moved = d > 0 && (a->hoist >> (d - 1) & 1);
        int from = d > 0 && !(moved && cyclic(n, s, a, d - 1)) ? d - 1 : d;
        total += access_lines(n, s, a, from) * nest_trips(n, s, 0, from);
    }
    return total * n->m->line * s->valid;
}

static row_facts facts_of(const nest *n, const store_site *s) {
    row_facts r = {.iterations = nest_trips(n, s, 0, s->nlevel) * s->valid};
    thread_facts(n, s, &r);
    count_moves(n, s, &r);
    r.branches = s->band ? nest_trips(n, s, 0, s->band) * s->valid : 0;
    r.accumulators = s->accumulates ? band_vectors(n, s, access_at(n, s, 0), false) : 0;
    r.acc_trips = s->accumulates ? reduction_trips(n, s) : 0;
    r.live = r.accumulators;
    r.live += s->accumulates ? operand_registers(n, s) : 0;
    r.body = (s->arith_plain + r.loads + r.stores) / TC_MAX(nest_trips(n, s, 0, s->band) * s->valid, 1e-9);
    const double levels[3] = {(double)n->m->l1, (double)n->m->l2, (double)n->m->l3};
    for (int i = 0; i < 3; i++)
        r.traffic[i] = traffic_into(n, s, fitting_depth(n, s, levels[i]));
    return r;
}

/* ---- groups ---- */

static void put_arith(const store_site *s, const row_facts *r, float *row) {
    static const int column[NOPC] = {TC_COST_F_FMA,   TC_COST_F_ADD, TC_COST_F_MUL,  TC_COST_F_DIV, TC_COST_F_CMP, TC_COST_F_MATH,
                                     TC_COST_F_OTHER, TC_COST_I_MAD, TC_COST_I_ADD,  TC_COST_I_MUL, TC_COST_I_DIV, TC_COST_I_CMP,
                                     TC_COST_I_OTHER, TC_COST_BOOL,  TC_COST_SELECT, TC_COST_CAST};
    for (int c = 0; c < NOPC; c++)
        row[column[c]] = (float)lg(s->count[c]);
    row[TC_COST_INDEX_DIV] = (float)lg(s->index_div);
    row[TC_COST_VEC_ARITH] = (float)lg(s->arith_plain);
    row[TC_COST_VEC_LOAD] = (float)lg(r->loads);
    row[TC_COST_VEC_STORE] = (float)lg(r->stores);
    row[TC_COST_LANE_USE] = (float)(s->issued > 0 ? s->used / s->issued : 0);
}

/* Columns num, prod, len, then the position flags in the order inner, middle, outer spatial, the same for reduce, mixed. */
static void put_annotation(const nest *n, const store_site *s, tc_for_kind kind, float *col) {
    enum { INNER, MIDDLE, OUTER, NPOS, MIXED = 2 * NPOS };
    int num = 0, last = -1;
    bool seen[2] = {false, false};
    double prod = 1;
    for (int l = 0; l < s->nlevel; l++)
        if (loop_at(n, s, l)->kind == kind) {
            num++;
            prod *= loop_at(n, s, l)->extent;
            seen[loop_at(n, s, l)->reduce] = true;
            last = l;
        }
    if (!num)
        return;
    col[0] = (float)lg(num);
    col[1] = (float)lg(prod);
    col[2] = (float)lg(loop_at(n, s, last)->extent);
    if (seen[0] && seen[1]) {
        col[3 + MIXED] = 1;
        return;
    }
    bool like = loop_at(n, s, last)->reduce, inside = false, outside = false;
    for (int l = 0; l < s->nlevel; l++)
        if (loop_at(n, s, l)->reduce == like) {
            inside |= l > last;
            outside |= l < last;
        }
    int pos = !inside ? INNER : !outside ? OUTER : MIDDLE;
    col[3 + like * NPOS + pos] = 1;
}

/* Statements of the program once expanded, roughly: its code size. */
static double program_body(const nest *n) {
    double sum = 0;
    for (size_t i = 0; i < n->stores.len; i++) {
        const store_site *s = &n->stores.data[i];
        row_facts r = {0};
        count_moves(n, s, &r);
        double looped = 1;
        for (int l = 0; l < s->nlevel; l++)
            if (loop_at(n, s, l)->kind == TC_FOR_SERIAL || loop_at(n, s, l)->kind == TC_FOR_PARALLEL)
                looped *= loop_at(n, s, l)->extent;
        sum += (s->arith_plain + r.loads + r.stores) / TC_MAX(looped * s->valid, 1e-9);
    }
    return sum;
}

static void put_loops(const nest *n, const store_site *s, const row_facts *r, float *row) {
    double product[2] = {1, 1};
    for (int l = 0; l < s->nlevel; l++)
        product[loop_at(n, s, l)->reduce] *= loop_at(n, s, l)->extent;
    row[TC_COST_ITERATIONS] = (float)lg(r->iterations);
    row[TC_COST_NUM_LOOPS] = (float)s->nlevel;
    row[TC_COST_SPATIAL_PROD] = (float)lg(product[0]);
    row[TC_COST_REDUCE_PROD] = (float)lg(product[1]);
    row[TC_COST_INNER_TRIPS] = (float)lg(s->band ? loop_at(n, s, s->band - 1)->extent : 0);
    row[TC_COST_BRANCHES] = (float)lg(r->branches);
    row[TC_COST_UNROLLED_BODY] = (float)lg(r->body);
    row[TC_COST_GUARDS] = (float)lg(s->nguard);
    row[TC_COST_GUARD_VALID] = (float)s->valid;
    row[TC_COST_GUARD_PARTIAL] = (float)s->partial;
}

static void put_tile(const nest *n, const store_site *s, const row_facts *r, float *row) {
    double moves[3] = {0, 0, 0}, regs = TC_MAX(n->m->vector_regs, 1);
    int vec = vector_level(n, s);
    for (int i = 0; i < s->naccess; i++) {
        const access *a = access_at(n, s, i);
        if (a->is_read && !(i == 0 && kept_in_registers(n, s)))
            moves[vector_move(a, vec)] += band_vectors(n, s, a, true);
    }
    double arith = s->arith_plain / TC_MAX(nest_trips(n, s, 0, s->band) * s->valid, 1e-9);
    row[TC_COST_ACC_VECTORS] = (float)lg(r->accumulators);
    row[TC_COST_ACC_SHARE] = (float)(r->live / regs);
    row[TC_COST_ACC_SPILL] = (float)lg(r->live - regs);
    row[TC_COST_ACC_TRIPS] = (float)lg(r->acc_trips);
    row[TC_COST_TILE_LOADS] = (float)lg(moves[MOVE_CONTIGUOUS]);
    row[TC_COST_TILE_BCASTS] = (float)lg(moves[MOVE_BROADCAST]);
    row[TC_COST_TILE_STRIDED] = (float)lg(moves[MOVE_STRIDED]);
    row[TC_COST_TILE_INTENSITY] = (float)ratio(arith, moves[0] + moves[1] + moves[2]);
}

static double operations(const store_site *s) {
    double ops = s->count[OPC_FMA] + s->count[OPC_IMAD]; /* two each */
    for (int c = 0; c < NOPC; c++)
        ops += s->count[c];
    return ops;
}

static void put_caches(const nest *n, const store_site *s, const row_facts *r, float *row) {
    const double levels[3] = {(double)n->m->l1, (double)n->m->l2, (double)n->m->l3};
    for (int i = 0; i < 3; i++) {
        float *col = &row[TC_COST_L1_ITERATIONS + 3 * i];
        int d = fitting_depth(n, s, levels[i]);
        col[0] = (float)lg(nest_trips(n, s, d, s->nlevel));
        col[1] = (float)lg(r->traffic[i] / r->cores);
        col[2] = (float)ratio(operations(s), r->traffic[i]);
    }
    int inner = s->band > 0 ? s->band - 1 : 0;
    row[TC_COST_INNER_FOOTPRINT] = (float)ratio(footprint(n, s, inner), levels[0]);
    row[TC_COST_TOTAL_FOOTPRINT] = (float)ratio(footprint(n, s, 0), levels[1]);
}

/* Operations per byte of the sub-nests, from one iteration to the whole, interpolated at ten equal steps of log2(iterations). */
static void put_curve(const nest *n, const store_site *s, float *col) {
    enum { NPOINT = TC_COST_CURVE9 - TC_COST_CURVE0 + 1 };
    double x[MAX_LEVELS + 1], y[MAX_LEVELS + 1], per_iteration = operations(s) / nest_trips(n, s, 0, s->nlevel);
    for (int d = s->nlevel, i = 0; d >= 0; d--, i++) {
        double bytes = 0, trips = nest_trips(n, s, d, s->nlevel);
        for (int a = 0; a < s->naccess; a++)
            bytes += access_bytes(n, access_at(n, s, a), d);
        x[i] = log2(trips);
        y[i] = lg(per_iteration * trips / TC_MAX(bytes, 1));
    }
    for (int p = 0, i = 0; p < NPOINT; p++) {
        double at = x[s->nlevel] * (p + 1) / NPOINT;
        while (i < s->nlevel && x[i + 1] < at)
            i++;
        int next = TC_MIN(i + 1, s->nlevel);
        double width = x[next] - x[i], part = width > 0 ? TC_MIN((at - x[i]) / width, 1) : 1;
        col[p] = (float)(y[i] + part * (y[next] - y[i]));
    }
}

static void put_alloc(const nest *n, const store_site *s, const row_facts *r, float *row) {
    const tc_buffer *b = s->s->u.store.buffer;
    int depth = n->bufs.data[access_at(n, s, 0)->buf].alloc_depth;
    double bytes = (double)b->size * tc_dtype_bytes(b->dtype);
    double outer = depth > 0 ? nest_trips(n, s, 0, TC_MIN(depth, s->nlevel)) : 1;
    row[TC_COST_ALLOC_BYTES] = (float)lg(bytes);
    row[TC_COST_ALLOC_TOTAL] = (float)lg(bytes * outer);
    row[TC_COST_ALLOC_OUTER] = (float)lg(outer);
    row[TC_COST_ALLOC_INNER] = (float)lg(r->iterations / outer);
    row[TC_COST_ALLOC_LOCAL] = b->local;
    row[TC_COST_ALLOC_PARAM] = b->scope == TC_BUF_PARAM;
}

static void put_threads(const nest *n, const store_site *s, const row_facts *r, float *row) {
    row[TC_COST_TASKS] = (float)lg(r->tasks);
    row[TC_COST_IMBALANCE] = (float)r->imbalance;
    row[TC_COST_TASK_WORK] = (float)lg((s->arith_plain + r->loads + r->stores) / TC_MAX(r->tasks * r->regions, 1));
    row[TC_COST_REGIONS] = (float)lg(r->regions);
    row[TC_COST_CORE_USE] = (float)(r->cores / TC_MAX(n->m->cores, 1));
}

/* ---- accesses ---- */

typedef struct group {
    int buf;
    bool is_read, is_write;
    level_set moved;
    double bytes, unique, lines, unique_lines, stride, vector_stride;
    enum { REUSE_LOOP, REUSE_SERIAL, REUSE_NONE } reuse;
    double reuse_iterations, reuse_bytes, reuse_count;
} group;

static int innermost_moving(const store_site *s, const access *a) {
    for (int l = s->nlevel - 1; l >= 0; l--)
        if (access_stride(a, l) != 0)
            return l;
    return -1;
}

static void add_to_group(const nest *n, const store_site *s, const access *a, bool own, group *g) {
    const tc_buffer *b = a->buffer;
    int width = tc_dtype_bytes(b->dtype), inner = innermost_moving(s, a), vec = vector_level(n, s);
    double elements = nest_times(n, s, own ? nest_all_levels(s) : a->hoist, 1) * a->times * (a->is_read && a->is_write ? 2 : 1);
    double step = inner < 0 ? 0 : access_stride(a, inner) * width;
    if (g->bytes == 0) {
        g->stride = inner < 0 ? 0 : access_stride(a, inner);
        g->vector_stride = vec < 0 ? 0 : access_stride(a, vec);
    }
    g->is_read |= a->is_read;
    g->is_write |= a->is_write;
    g->moved |= a->hoist;
    g->bytes += elements * width;
    g->lines += elements * TC_MIN(1, TC_MAX(step, width) / TC_MAX(n->m->line, 1));
    double size = (double)b->size * width;
    g->unique = TC_MIN(g->unique + access_bytes(n, a, 0), size);
    g->unique_lines = TC_MIN(g->unique_lines + access_lines(n, s, a, 0), ceil(size / TC_MAX(n->m->line, 1)) + 1);
}

/* Reuse by the innermost loop that does not move the address. */
static bool loop_reuse(const nest *n, const store_site *s, group *g) {
    for (int l = s->nlevel - 1; l >= 0; l--) {
        if (g->moved >> l & 1)
            continue;
        g->reuse = REUSE_LOOP;
        g->reuse_iterations = nest_trips(n, s, l + 1, s->nlevel);
        g->reuse_bytes = footprint(n, s, l + 1);
        g->reuse_count = loop_at(n, s, l)->extent;
        return true;
    }
    return false;
}

/* Reuse between statements: the deepest loop shared with another store that touches the buffer. */
static bool serial_reuse(const nest *n, const store_site *s, group *g) {
    int best = -1, touches = 1;
    for (size_t i = 0; i < n->stores.len; i++) {
        const store_site *other = &n->stores.data[i];
        bool touching = false;
        for (int a = 0; a < other->naccess && other != s; a++)
            touching |= access_at(n, other, a)->buf == g->buf;
        if (!touching)
            continue;
        touches++;
        int shared = 0;
        while (shared < s->nlevel && shared < other->nlevel && s->path[shared] == other->path[shared])
            shared++;
        best = TC_MAX(best, shared);
    }
    if (best < 0)
        return false;
    g->reuse = REUSE_SERIAL;
    g->reuse_iterations = nest_trips(n, s, best, s->nlevel);
    g->reuse_bytes = footprint(n, s, best);
    g->reuse_count = touches;
    return true;
}

static int by_bytes(const void *x, const void *y) {
    const group *a = x, *b = y;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    if (a->unique != b->unique)
        return a->unique < b->unique ? 1 : -1;
    return a->buf - b->buf;
}

static void put_group(const group *g, bool local, float *col) {
    double per = g->reuse == REUSE_NONE ? 0.5 : TC_MAX(g->reuse_count, 1); /* Ansor's convention: no reuse doubles */
    col[TC_COST_ACCESS_READ] = g->is_read && !g->is_write;
    col[TC_COST_ACCESS_WRITE] = g->is_write && !g->is_read;
    col[TC_COST_ACCESS_BOTH] = g->is_read && g->is_write;
    col[TC_COST_ACCESS_BYTES] = (float)lg(g->bytes);
    col[TC_COST_ACCESS_UNIQUE_BYTES] = (float)lg(g->unique);
    col[TC_COST_ACCESS_LINES] = (float)lg(g->lines);
    col[TC_COST_ACCESS_UNIQUE_LINES] = (float)lg(g->unique_lines);
    col[TC_COST_ACCESS_REUSE_LOOP] = g->reuse == REUSE_LOOP;
    col[TC_COST_ACCESS_REUSE_SERIAL] = g->reuse == REUSE_SERIAL;
    col[TC_COST_ACCESS_REUSE_NONE] = g->reuse == REUSE_NONE;
    col[TC_COST_ACCESS_REUSE_ITERATIONS] = (float)lg(g->reuse_iterations);
    col[TC_COST_ACCESS_REUSE_BYTES] = (float)lg(g->reuse_bytes);
    col[TC_COST_ACCESS_REUSE_COUNT] = (float)lg(g->reuse_count);
    col[TC_COST_ACCESS_BYTES_PER_REUSE] = (float)lg(g->bytes / per);
    col[TC_COST_ACCESS_UNIQUE_BYTES_PER_REUSE] = (float)lg(g->unique / per);
    col[TC_COST_ACCESS_LINES_PER_REUSE] = (float)lg(g->lines / per);
    col[TC_COST_ACCESS_UNIQUE_LINES_PER_REUSE] = (float)lg(g->unique_lines / per);
    col[TC_COST_ACCESS_STRIDE] = (float)lg(g->stride);
    col[TC_COST_ACCESS_VECTOR_STRIDE] = (float)lg(g->vector_stride);
    col[TC_COST_ACCESS_LOCAL] = local;
}

/* A store with more buffers than this (inlined concatenations) is described by the first ones it reads. */
enum { MAX_GROUPS = 32 };

static void put_accesses(const nest *n, const store_site *s, float *row) {
    group g[MAX_GROUPS];
    int ng = 0;
    for (int i = 0; i < s->naccess; i++) {
        const access *a = access_at(n, s, i);
        int k = 0;
        while (k < ng && g[k].buf != a->buf)
            k++;
        if (k == MAX_GROUPS)
            continue;
        if (k == ng)
            g[ng++] = (group){.buf = a->buf, .reuse = REUSE_NONE};
        add_to_group(n, s, a, i == 0, &g[k]);
    }
    qsort(g, (size_t)ng, sizeof *g, by_bytes);
    for (int k = 0; k < ng && k < TC_COST_NBUFFER; k++) {
        if (!loop_reuse(n, s, &g[k]))
            serial_reuse(n, s, &g[k]);
        put_group(&g[k], n->bufs.data[g[k].buf].buffer->local, &row[TC_COST_NSCALAR + k * TC_COST_NACCESS]);
    }
}

/* ---- rows ---- */

/* Returns the row's estimated cycles; *ideal gets its operations at the machine's peak. */
static double put_row(const nest *n, const store_site *s, float *row, double *ideal) {
    row_facts r = facts_of(n, s);
    put_arith(s, &r, row);
    put_annotation(n, s, TC_FOR_VECTOR, &row[TC_COST_VEC_NUM]);
    put_annotation(n, s, TC_FOR_UNROLL, &row[TC_COST_UNROLL_NUM]);
    put_annotation(n, s, TC_FOR_PARALLEL, &row[TC_COST_PAR_NUM]);
    put_loops(n, s, &r, row);
    put_tile(n, s, &r, row);
    put_caches(n, s, &r, row);
    put_curve(n, s, &row[TC_COST_CURVE0]);
    put_alloc(n, s, &r, row);
    put_threads(n, s, &r, row);
    put_accesses(n, s, row);
    r.regions *= region_share(n, s);
    double compute = estimate_compute(n, s, &r), memory = estimate_memory(&r), total = estimate_total(compute, memory, &r);
    row[TC_COST_EST_COMPUTE] = (float)lg(compute);
    row[TC_COST_EST_MEMORY] = (float)lg(memory);
    row[TC_COST_EST_TOTAL] = (float)lg(total);
    double lanes = lanes_of(n, s->s->u.store.buffer);
    *ideal += (operations(s) - s->count[OPC_FMA] - s->count[OPC_IMAD]) / lanes / 2 / TC_MAX(n->m->cores, 1);
    return total;
}

/* Columns that look across rows. */
static void put_program(const nest *n, tc_cost_rows *out, double total, double ideal) {
    double body = program_body(n);
    for (int i = 0; i < out->nrow; i++) {
        float *row = &out->data[(size_t)i * TC_COST_NFEATURE];
        row[TC_COST_PROGRAM_BODY] = (float)lg(body);
        row[TC_COST_EST_SHARE] = (float)((exp2(row[TC_COST_EST_TOTAL]) - 1) / TC_MAX(total, 1e-9));
        row[TC_COST_EST_PROGRAM] = (float)lg(total);
        row[TC_COST_EST_EFFICIENCY] = (float)(ideal / TC_MAX(total, 1e-9));
        row[TC_COST_PROGRAM_ROWS] = (float)lg(out->nrow);
        row[TC_COST_PROGRAM_SHARED] = (float)lg(n->root_bytes);
    }
}

static void put_rows(const nest *n, tc_cost_rows *out) {
    double total = 0, ideal = 0;
    int want = (int)n->stores.len;
    if (out->cap < want) {
        out->data = tc_xrealloc(out->data, (size_t)want * TC_COST_NFEATURE * sizeof *out->data);
        out->cap = want;
    }
    out->nrow = want;
    if (want)
        memset(out->data, 0, (size_t)want * TC_COST_NFEATURE * sizeof *out->data);
    for (int i = 0; i < want; i++)
        total += put_row(n, &n->stores.data[i], &out->data[(size_t)i * TC_COST_NFEATURE], &ideal);
    put_program(n, out, total, ideal);
}

tc_status tc_cost_features(const tc_func *built, const tc_machine *m, tc_cost_rows *out, tc_error *err) {
    nest n = {0};
    tc_status status = nest_read(&n, built, m, err);
    if (status == TC_OK)
        put_rows(&n, out);
    nest_free(&n);
    return status;
}

double tc_cost_estimate(const tc_cost_rows *rows) {
    return rows->nrow ? exp2(rows->data[TC_COST_EST_PROGRAM]) - 1 : 0;
}

void tc_cost_rows_free(tc_cost_rows *r) {
    free(r->data);
    *r = (tc_cost_rows){0};
}

void tc_cost_rows_copy(tc_cost_rows *dst, const tc_cost_rows *src) {
    size_t bytes = (size_t)src->nrow * TC_COST_NFEATURE * sizeof *src->data;
    if (dst->cap != src->nrow) {
        free(dst->data);
        dst->data = src->nrow ? tc_xmalloc(bytes) : NULL;
        dst->cap = src->nrow;
    }
    dst->nrow = src->nrow;
    if (bytes)
        memcpy(dst->data, src->data, bytes);
}

/* ---- names ---- */

const char *tc_cost_feature_name(int i) {
    static const char *const names[TC_COST_NFEATURE] = {
#define FEATURE(id, text) text,
#include "cost_model/features.def"
#define ACCESS(id, text) "buffer0." text,
#include "cost_model/features.def"
#define ACCESS(id, text) "buffer1." text,
#include "cost_model/features.def"
#define ACCESS(id, text) "buffer2." text,
#include "cost_model/features.def"
#define ACCESS(id, text) "buffer3." text,
#include "cost_model/features.def"
#define ACCESS(id, text) "buffer4." text,
#include "cost_model/features.def"
    };
    return i >= 0 && i < TC_COST_NFEATURE ? names[i] : NULL;
}
