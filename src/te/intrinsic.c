/* The table of instructions: lookups, and the meaning of each instruction. */
#include "te/intrinsic.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

static const tc_intrinsic ROWS[TC_NINTRINSICS] = {
#define UNIT(id, text, acc, a, b, m, n, k, group, sums, place, vector, feature, llvm, over, cycles, load, store)                 \
    {text,   TC_##acc, TC_##a, TC_##b, m,      n,    k,    group, TC_SUMS_##sums, TC_UNIT_##place,                               \
     vector, feature,  llvm,   over,   cycles, load, store},
#include "te/intrinsics.def"
#undef UNIT
};

const tc_intrinsic *tc_intrinsic_row(tc_intrinsic_id id) {
    return &ROWS[id];
}

const tc_intrinsic *tc_intrinsic_named(const char *text) {
    for (int i = 0; i < TC_NINTRINSICS; i++)
        if (strcmp(ROWS[i].text, text) == 0)
            return &ROWS[i];
    return NULL;
}

int tc_intrinsic_number(const tc_intrinsic *row) {
    return (int)(row - ROWS);
}

tc_intrinsic_set tc_intrinsic_alone(const tc_intrinsic *row) {
    return row ? (tc_intrinsic_set)1 << tc_intrinsic_number(row) : 0;
}

bool tc_intrinsic_in(tc_intrinsic_set set, const tc_intrinsic *row) {
    return set >> (row - ROWS) & 1;
}

static bool adds(const tc_intrinsic *r, tc_dtype acc, tc_dtype x, tc_dtype y) {
    return r->acc == acc && ((r->a == x && r->b == y) || (r->a == y && r->b == x));
}

const tc_intrinsic *tc_intrinsic_of_lanes(tc_intrinsic_set set, tc_dtype acc, tc_dtype x, tc_dtype y, int lanes) {
    for (int i = 0; i < TC_NINTRINSICS; i++) {
        const tc_intrinsic *r = &ROWS[i];
        bool fits = r->place == TC_UNIT_VECTOR && r->m == 1 && (!lanes || r->n == lanes);
        if ((set >> i & 1) && fits && adds(r, acc, x, y))
            return r;
    }
    return NULL;
}

const tc_intrinsic *tc_intrinsic_of(tc_intrinsic_set set, tc_dtype acc, tc_dtype x, tc_dtype y) {
    return tc_intrinsic_of_lanes(set, acc, x, y, 0);
}

int tc_intrinsic_registers(const tc_intrinsic *row, int vector_regs) {
    return row->place == TC_UNIT_TILE ? TC_TILES : vector_regs;
}

double tc_intrinsic_gain(const tc_intrinsic *row) {
    double lanes = (double)(row->place == TC_UNIT_BLOCK ? row->vector : TC_TILE_BYTES) / sizeof(float);
    return row->place == TC_UNIT_VECTOR ? row->k : (double)row->m * row->n * row->k / row->cycles / (2 * lanes);
}

/* ---- what they do ---- */

static int64_t sum_i(const tc_intrinsic *r, const tc_unit_call *c, int i, int j) {
    int64_t sum = tc_load_i(r->acc, c->acc, i * c->acc_stride + j);
    for (int p = 0; p < c->k; p++)
        sum += tc_load_i(r->a, c->a, i * c->a_stride + p) *
               tc_load_i(r->b, c->b, p / r->group * c->b_stride + j * r->group + p % r->group);
    return sum; /* at most 64 products of 16 bits: it wraps when it is stored */
}

/* Below the smallest normal number: zero with its sign. */
static float flushed(float x) {
    return fabsf(x) < FLT_MIN ? copysignf(0, x) : x;
}

static float factor(tc_dtype t, const void *at, int64_t i) {
    return (float)tc_load_f(t, at, i);
}

/* acc plus the products whose p is first, first + step, ..., in this order. */
static float sum_f(const tc_intrinsic *r, const tc_unit_call *c, int i, int j, float acc, int first, int step) {
    bool flush = r->sums == TC_SUMS_TILE;
    for (int p = first; p < c->k; p += step) {
        float x = factor(r->a, c->a, i * c->a_stride + p);
        float y = factor(r->b, c->b, p / r->group * c->b_stride + j * r->group + p % r->group);
        acc = flush ? flushed(fmaf(flushed(x), flushed(y), acc)) : fmaf(x, y, acc);
    }
    return acc;
}

static float tile_f(const tc_intrinsic *r, const tc_unit_call *c, int i, int j, float acc) {
    float even = sum_f(r, c, i, j, 0, 0, 2), odd = sum_f(r, c, i, j, 0, 1, 2);
    return flushed(flushed(acc) + flushed(even + odd));
}

void tc_intrinsic_run(const tc_intrinsic *r, const tc_unit_call *c) {
    for (int i = 0; i < c->m; i++)
        for (int j = 0; j < c->n; j++) {
            int64_t at = i * c->acc_stride + j;
            float acc;
            if (r->sums == TC_SUMS_WRAPS) {
                tc_store_i(r->acc, c->acc, at, sum_i(r, c, i, j));
                continue;
            }
            acc = factor(r->acc, c->acc, at);
            tc_store_f(r->acc, c->acc, at, r->sums == TC_SUMS_TILE ? tile_f(r, c, i, j, acc) : sum_f(r, c, i, j, acc, 0, 1));
        }
}
