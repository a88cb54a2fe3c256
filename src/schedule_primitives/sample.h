/* Sampling of decisions: what a sampled step may decide, drawn or mutated. Pure functions of (extent, constraints, generator). */
#ifndef TC_SCH_SAMPLE_H
#define TC_SCH_SAMPLE_H

#include "schedule_primitives/schedule.h"

/* Draws parts-1 inner factors for a loop of `extent`: f[1..parts) (outermost first), the innermost at most max_inner, product at
 * most `extent` rounded up to max_inner's granularity. Divisors are favoured, but other factors whose padding wastes at most a
 * quarter of the work are drawn too (7, 49, 197, 1000 must not cost a vector unit). Writes parts-1 values. */
void tc_sch_draw_tile(int64_t extent, int parts, int64_t max_inner, tc_rng *r, int64_t *inner);
/* A neighbour of a tile decision: moves a factor between two parts or replaces one; always differs from `from` unless the space
 * has one point (returns false then). */
bool tc_sch_mutate_tile(int64_t extent, int parts, int64_t max_inner, tc_rng *r, const int64_t *from, int64_t *to);
bool tc_sch_tile_legal(int64_t extent, int parts, int64_t max_inner, const int64_t *inner);

#endif
