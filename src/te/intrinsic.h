/* Instructions that do more than one operation per lane: the table intrinsics.def, a row per form. All who need a fact of an
 * instruction ask here: the schedule primitive, the pass that writes the instruction, the sketches that lay operands out for
 * it, the interpreters, code generation and the cost features. */
#ifndef TC_TE_INTRINSIC_H
#define TC_TE_INTRINSIC_H

#include "te/dtype.h"

typedef enum tc_intrinsic_id {
#define UNIT(id, ...) TC_INTRINSIC_##id,
#include "te/intrinsics.def"
#undef UNIT
    TC_NINTRINSICS
} tc_intrinsic_id;

typedef enum tc_unit_place { TC_UNIT_VECTOR, TC_UNIT_TILE, TC_UNIT_BLOCK } tc_unit_place;
typedef enum tc_unit_sums { TC_SUMS_WRAPS, TC_SUMS_FUSED, TC_SUMS_TILE, TC_SUMS_PAIRS } tc_unit_sums;

/* A row; see intrinsics.def. */
typedef struct tc_intrinsic {
    const char *text;
    tc_dtype acc, a, b;
    int m, n, k, group;
    tc_unit_sums sums;
    tc_unit_place place;
    int vector;
    const char *feature, *llvm;
    int over;
    double cycles, load, store;
} tc_intrinsic;

/* Tile registers: how many, and how large each is at most. */
enum { TC_TILES = 8, TC_TILE_ROWS = 16, TC_TILE_BYTES = 64 };
/* Vector registers that can hold tiles, on the machine that has most of them; and the bytes of a segment. */
enum { TC_MOST_BLOCKS = 32, TC_SEGMENT = 16 };

/* Sets of rows, a bit per id. */
typedef uint64_t tc_intrinsic_set;
#define TC_INTRINSICS_ALL (((tc_intrinsic_set)1 << TC_NINTRINSICS) - 1)

const tc_intrinsic *tc_intrinsic_row(tc_intrinsic_id id);
const tc_intrinsic *tc_intrinsic_named(const char *text);     /* NULL: there is none */
int tc_intrinsic_number(const tc_intrinsic *row);             /* its id */
tc_intrinsic_set tc_intrinsic_alone(const tc_intrinsic *row); /* of NULL: the empty set */
bool tc_intrinsic_in(tc_intrinsic_set set, const tc_intrinsic *row);
/* The first row of the set, in vector registers and with one row (m is 1), that adds products of x and y, in either order, to
 * acc; NULL: there is none. */
const tc_intrinsic *tc_intrinsic_of(tc_intrinsic_set set, tc_dtype acc, tc_dtype x, tc_dtype y);
/* The same with so many columns. */
const tc_intrinsic *tc_intrinsic_of_lanes(tc_intrinsic_set set, tc_dtype acc, tc_dtype x, tc_dtype y, int lanes);

/* Registers for the unit's tiles, on a machine with so many for vectors. */
int tc_intrinsic_registers(const tc_intrinsic *row, int vector_regs);
/* Products per cycle over those of multiply-adds of floats in vectors: a vector's lanes take k at once; beside tiles there are two
 * pipes. */
double tc_intrinsic_gain(const tc_intrinsic *row);

/* Rows of m, n and k that are as large as they are, on memory in the row's layout: the distances between rows of acc and a, and
 * between groups of b, are in elements. */
typedef struct tc_unit_call {
    int m, n, k;
    void *acc;
    const void *a, *b;
    int64_t acc_stride, a_stride, b_stride;
} tc_unit_call;
/* Does what one such instruction does, bit for bit (but for PAIRS). */
void tc_intrinsic_run(const tc_intrinsic *row, const tc_unit_call *call);

#endif
