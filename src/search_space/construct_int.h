/* Private to constructed schedules: a plan, and the functions of construct_tiles.c. */
#ifndef TC_SPACE_CONSTRUCT_INT_H
#define TC_SPACE_CONSTRUCT_INT_H

#include "search_space/space_int.h"

/* Multiply-adds that must be under way: 4 cycles by 2 pipes. The machine description does not tell. */
enum { IN_FLIGHT = 8 };
/* Tasks per core where a cache tile is made as large as balance allows. Chosen; not measured apart. */
enum { TASKS_PER_CORE = 4 };

/* Factor of the estimate: the tile does not fit the registers. Measured later, in descent: three to six times slower. */
#define SPILLS 0.3

/* One consistent choice for all decisions of a sketch. */
typedef struct plan {
    int sketch;
    int rows, vecs;  /* register tile */
    int mid;         /* row tiles of a cache tile: 0 all, 1 one, 2 as many as balance the tasks; 3: see panels() */
    int unroll;      /* reduction steps */
    int width;       /* vectors per step of row and elementwise loops */
    double estimate; /* share of the machine's peak, of sorts: only the order matters */
    int number;      /* in the order of enumeration */
} plan;

/* Largest candidate of the step not above `want`, else the smallest. */
int64_t tc_space_nearest(const tc_instr *step, int64_t want);
/* The first decision of an anchor with this role; NULL: it has none. */
const decision *tc_space_role_of(const sketch *k, int anchor, role r);

/* ---- construct_tiles.c ---- */
/* Tiles along either side of a grid that are worth a try, of a sketch that has such. */
int tc_space_most_tiles(const sketch *k, int vector_regs);
/* How many times the multiply-adds of vectors an anchor's tiles are worth. */
double tc_space_estimate_tiles(const tc_space *s, const plan *p, int anchor);
/* Writes decision d, of an anchor with tiles, into step. */
void tc_space_decide_tiles(const tc_space *s, const plan *p, const decision *d, tc_instr *step);
/* Whether the registers hold the grids of tiles that a trace's decisions ask for, and so many operands. */
bool tc_space_tiles_fit(const sketch *k, const tc_trace *t, int vector_regs, int operands);

#endif
