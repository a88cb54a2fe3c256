/* From the nest of a program to its rows of numbers. One function per group of features.def, in its order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost_model/row.h"

/* ---- groups ---- */

static void put_arith(const store_site *s, const row_facts *r, float *row) {
    static const int column[NOPC] = {
#define CLASS(id, name) TC_COST_##name,
        OP_CLASSES(CLASS)
#undef CLASS
    };
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
        facts_count_moves(n, s, &r);
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
    double moves[3] = {0, 0, 0}, regs = TC_MAX(facts_registers(n, s), 1);
    int vec = facts_vector_level(n, s);
    for (int i = 0; i < s->naccess; i++) {
        const access *a = access_at(n, s, i);
        if (a->is_read && !(i == 0 && facts_kept_in_registers(n, s)))
            moves[facts_vector_move(s, a, vec)] += facts_band_vectors(n, s, a, true);
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
        int d = facts_fitting_depth(n, s, levels[i]);
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
    put_buffers(n, s, row);
    r.regions *= facts_region_share(n, s);
    double compute = estimate_compute(n, s, &r), memory = estimate_memory(&r), total = estimate_total(n, compute, memory, &r);
    row[TC_COST_EST_COMPUTE] = (float)lg(compute);
    row[TC_COST_EST_MEMORY] = (float)lg(memory);
    row[TC_COST_EST_TOTAL] = (float)lg(total);
    double lanes = facts_lanes(n, s->s->u.store.buffer);
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
