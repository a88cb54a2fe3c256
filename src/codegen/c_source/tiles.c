/* Statements on tiles in C: loops over their scalars, which the prelude has. A tile is an array, row after row. */
#include <assert.h>
#include <inttypes.h>

#include "codegen/c_source/c_source_int.h"

/* What adds a tile's products, by how the unit sums them up. */
static const char *const ADD[] = {
    [TC_SUMS_WRAPS] = "TC_ADD_WRAPPING",
    [TC_SUMS_FUSED] = "TC_ADD_FUSED",
    [TC_SUMS_TILE] = "TC_ADD_APART",
    [TC_SUMS_PAIRS] = "TC_ADD_FUSED",
};
static_assert(TC_LEN(ADD) == TC_SUMS_PAIRS + 1, "a way to sum up has no C");

/* A tile, or memory: where its first row begins, and from row to row. */
static void rows_of(tc_cgc_writer *w, const tc_tile_stmt *t, const tc_buffer *b) {
    tc_cgc_buffer(w, b);
    if (b == t->memory) {
        tc_cgc_text(w, ", ");
        tc_cgc_expr(w, t->index, "0");
        tc_cgc_text(w, ", %" PRId64, t->stride);
    } else {
        tc_cgc_text(w, ", 0, %d", b->reg_lanes);
    }
}

static void move(tc_cgc_writer *w, const tc_tile_stmt *t) {
    bool loads = t->op == TC_TILE_LOAD;
    const tc_buffer *tile = t->tile[0];
    tc_cgc_forget(w);
    tc_cgc_line(w, "TC_MOVE_ROWS(");
    rows_of(w, t, loads ? tile : t->memory);
    tc_cgc_text(w, ", ");
    rows_of(w, t, loads ? t->memory : tile);
    tc_cgc_text(w, ", %d, %d);\n", tc_tir_tile_rows(tile), tile->reg_lanes);
}

/* A factor's tile, and what makes a number of its elements. */
static void factor(tc_cgc_writer *w, const tc_buffer *tile) {
    tc_cgc_text(w, ", ");
    tc_cgc_buffer(w, tile);
    if (tc_cgc_is_narrow(tile->dtype))
        tc_cgc_text(w, ", tc_from_%s", tc_dtype_name(tile->dtype));
    else
        tc_cgc_text(w, ", (%s)", tc_cgc_value_type(tile->dtype));
}

static void multiply(tc_cgc_writer *w, const tc_tile_stmt *t) {
    const tc_buffer *acc = t->tile[0];
    tc_cgc_line(w, "%s(", ADD[t->unit->sums]);
    tc_cgc_buffer(w, acc);
    factor(w, t->tile[1]);
    factor(w, t->tile[2]);
    tc_cgc_text(w, ", %d, %d, %d, %d);\n", tc_tir_tile_rows(acc), acc->reg_lanes, t->tile[1]->reg_lanes, t->unit->group);
}

void tc_cgc_tile(tc_cgc_writer *w, const tc_tile_stmt *t) {
    switch (t->op) {
    case TC_TILE_ZERO:
        tc_cgc_line(w, "memset(");
        tc_cgc_buffer(w, t->tile[0]);
        tc_cgc_text(w, ", 0, sizeof ");
        tc_cgc_buffer(w, t->tile[0]);
        tc_cgc_text(w, ");\n");
        return;
    case TC_TILE_LOAD:
    case TC_TILE_STORE:
        move(w, t);
        return;
    case TC_TILE_MULTIPLY:
        multiply(w, t);
        return;
    }
}
