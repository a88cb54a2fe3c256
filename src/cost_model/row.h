/* From one store of a nest to the columns of its row: what facts.c, buffers.c and rows.c share. Internal to cost_model. */
#ifndef TC_COST_MODEL_ROW_H
#define TC_COST_MODEL_ROW_H

#include <math.h>

#include "cost_model/nest.h"

static inline double lg(double x) {
    return log2(1 + TC_MAX(x, 0));
}

/* Signed logarithm of a ratio, bounded: a quotient by nothing is not infinite. */
static inline double ratio(double a, double b) {
    double r = log2(TC_MAX(a, 1e-9) / TC_MAX(b, 1e-9));
    return TC_MAX(TC_MIN(r, 40), -40);
}

static inline const loop_node *loop_at(const nest *n, const store_site *s, int level) {
    return &n->loops.data[s->path[level]];
}

static inline const access *access_at(const nest *n, const store_site *s, int i) {
    return &n->accesses.data[s->access + (size_t)i];
}

/* Bytes touched by everything inside level d - 1; d == 0: by the program. */
static inline double footprint(const nest *n, const store_site *s, int d) {
    return n->footprint[d == 0 ? 0 : s->path[d - 1] + 1];
}

/* facts.c: what several groups need */
/* The innermost vector loop around the store; -1: none. */
int facts_vector_level(const nest *n, const store_site *s);
/* Registers for what the store's band keeps: vectors or tiles. */
int facts_registers(const nest *n, const store_site *s);
row_facts facts_of(const nest *n, const store_site *s);
/* Loads and stores that the program executes. */
void facts_count_moves(const nest *n, const store_site *s, row_facts *r);
/* Lanes of the vector registers that hold elements of b. */
double facts_lanes(const nest *n, const tc_buffer *b);
/* Stores that share a parallel region share its start. */
double facts_region_share(const nest *n, const store_site *s);
/* Largest sub-nest, as a depth, whose surroundings' data fit in `bytes`. */
int facts_fitting_depth(const nest *n, const store_site *s, double bytes);
/* Accumulators are promoted to registers over the reduction as long as they fit; otherwise each iteration loads and stores them. */
bool facts_kept_in_registers(const nest *n, const store_site *s);
/* Registers that a's elements in the band fill; with `all` also over unrolled reduction steps, which otherwise reuse them. */
double facts_band_vectors(const nest *n, const store_site *s, const access *a, bool all);
/* How the address of a moves from lane to lane of the vector level. */
enum { MOVE_BROADCAST, MOVE_CONTIGUOUS, MOVE_STRIDED };
int facts_vector_move(const store_site *s, const access *a, int level);

/* buffers.c: the columns of the row's buffers, which come last */
void put_buffers(const nest *n, const store_site *s, float *row);

#endif
