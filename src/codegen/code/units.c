/* Instructions of intrinsics.def in vector registers: dot products, and tiles that such registers hold.
 *
 * A tile's register is a value of 64-bit cells, two to a segment (intrinsics.def, BLOCK):
 *
 *     acc: row 0, columns 0 and 1 | row 1, columns 0 and 1 | row 0, columns 2 and 3 | ..
 *     a:   row 0 | row 1 | row 0 | row 1 | ..
 *     b:   column 0 | column 1 | column 2 | ..
 *
 * Units of signed by unsigned bytes are the instruction for the other order, with a and b exchanged, so that each segment of acc
 * holds its columns: cells of 32 bits, column 0 of rows 0 and 1, then column 1.
 *
 * So rows of sums are zipped when they are loaded and unzipped when they are stored; in between they stay as they are. If a tile is
 * smaller than its register, the rest is 0. The shape of a tile says which of the three it is: sums have four bytes; rows of a and
 * single columns of b have eight, and are treated alike. */
#include <string.h>

#include "codegen/code/code_int.h"

enum { CELL = 8, SEGMENT_CELLS = TC_SEGMENT / CELL };

/* ---- calls ---- */

static bool is_sve(const tc_intrinsic *u) {
    return strncmp(u->llvm, "llvm.aarch64.sve.", strlen("llvm.aarch64.sve.")) == 0;
}

/* A vector of the register's width as one whose width the machine says. */
static tc_val as_scalable(tc_cg *g, tc_val v) {
    LLVMTypeRef fixed = LLVMTypeOf(v);
    unsigned lanes = LLVMGetVectorSize(fixed) * TC_SEGMENT / (unsigned)g->k->m->vector_bytes;
    LLVMTypeRef over[] = {LLVMScalableVectorType(LLVMGetElementType(fixed), lanes), fixed};
    tc_val args[] = {LLVMGetPoison(over[0]), v, tc_cg_i64(g, 0)};
    return tc_cg_intrinsic(g, "llvm.vector.insert", over, 2, args, 3);
}

static tc_val as_fixed(tc_cg *g, tc_val v, LLVMTypeRef type) {
    if (!v)
        return NULL;
    LLVMTypeRef over[] = {type, LLVMTypeOf(v)};
    tc_val args[] = {v, tc_cg_i64(g, 0)};
    return tc_cg_intrinsic(g, "llvm.vector.extract", over, 2, args, 2);
}

/* An SVE intrinsic, overloaded on the type of its result, of vectors of the register's width. */
static tc_val scalable_call(tc_cg *g, const char *name, int nover, tc_val *args, int nargs) {
    LLVMTypeRef type = LLVMTypeOf(args[0]);
    for (int i = 0; i < nargs; i++)
        if (LLVMGetTypeKind(LLVMTypeOf(args[i])) == LLVMVectorTypeKind)
            args[i] = as_scalable(g, args[i]);
    LLVMTypeRef over = LLVMTypeOf(args[0]);
    return as_fixed(g, tc_cg_intrinsic(g, name, &over, nover, args, nargs), type);
}

/* Operands of products go in as four bytes to a lane (integers on x86), as bytes, or as the floats that they are. */
tc_val tc_cg_unit(tc_cg *g, const tc_intrinsic *u, tc_val acc, tc_val a, tc_val b) {
    LLVMTypeRef elem = tc_dtype_is_float(u->a)                 ? LLVMBFloatTypeInContext(g->ctx)
                       : strncmp(u->llvm, "llvm.x86.", 9) == 0 ? g->i32
                                                               : g->i8;
    int bytes = tc_dtype_is_float(u->a) ? 2 : elem == g->i32 ? 4 : 1;
    LLVMTypeRef t = LLVMVectorType(elem, (unsigned)(u->vector / bytes)), over[] = {LLVMTypeOf(acc), t};
    tc_val args[] = {acc, LLVMBuildBitCast(g->b, a, t, ""), LLVMBuildBitCast(g->b, b, t, "")};
    return is_sve(u) ? scalable_call(g, u->llvm, u->over, args, 3) : tc_cg_intrinsic(g, u->llvm, over, u->over, args, 3);
}

/* ---- tiles ---- */

bool tc_cg_has_blocks(const tc_machine *m) {
    for (int i = 0; i < TC_NINTRINSICS; i++) {
        const tc_intrinsic *u = tc_intrinsic_row((tc_intrinsic_id)i);
        if (u->place == TC_UNIT_BLOCK && tc_intrinsic_in(m->intrinsics, u))
            return true;
    }
    return false;
}

static int cells(const tc_cg *g) {
    return g->k->m->vector_bytes / CELL;
}

static LLVMTypeRef cell_type(tc_cg *g) {
    return LLVMVectorType(g->i64, (unsigned)cells(g));
}

void tc_cg_add_block(tc_cg *g, const tc_buffer *b) {
    tc_val *regs = TC_NEW(g->k->arena, tc_val);
    regs[0] = tc_cg_alloca(g, cell_type(g), 1, TC_RT_ALIGN, b->name);
    tc_cg_add_slot(g, (tc_slot){.buffer = b, .regs = regs, .region = g->k->region});
}

/* Elements of x and y by number, y's behind those of x. */
static tc_val shuffle(tc_cg *g, tc_val x, tc_val y, const int *which) {
    enum { MOST = TC_TILE_BYTES / CELL };
    tc_val at[MOST];
    int n = TC_MAX(cells(g), tc_cg_lanes(x));
    for (int i = 0; i < n; i++)
        at[i] = tc_cg_int(g->i32, which[i]);
    return LLVMBuildShuffleVector(g->b, x, y, LLVMConstVector(at, (unsigned)n), "");
}

static bool exchanges(const tc_intrinsic *u) {
    return u->place == TC_UNIT_BLOCK && u->a == TC_I8 && u->b == TC_U8;
}

typedef struct search {
    const tc_buffer *acc;
    bool found;
} search;

static void find_exchanged(const tc_stmt *s, void *user) {
    search *x = user;
    const tc_tile_stmt *t = &s->u.intrin;
    x->found |= s->kind == TC_STMT_INTRIN && t->op == TC_TILE_MULTIPLY && t->tile[0] == x->acc && exchanges(t->unit);
}

/* What cells of these sums are made of: one number, or two of a row. */
static LLVMTypeRef sums_type(tc_cg *g, const tc_buffer *acc) {
    search x = {.acc = acc};
    tc_tir_walk(g->k->f->body, find_exchanged, &x);
    return x.found ? LLVMVectorType(g->i32, 2 * (unsigned)cells(g)) : cell_type(g);
}

/* The first element of x, of y, the second of x, ...; of a segment. */
static tc_val zip(tc_cg *g, tc_val x, tc_val y, LLVMTypeRef type) {
    static const int EACH[] = {0, 4, 1, 5}, CELLS[] = {0, 2};
    tc_val args[] = {LLVMBuildBitCast(g->b, x, type, ""), LLVMBuildBitCast(g->b, y, type, "")};
    if (tc_cg_scalable(g->target))
        return scalable_call(g, "llvm.aarch64.sve.zip1", 1, args, 2);
    return shuffle(g, args[0], args[1], type == cell_type(g) ? CELLS : EACH);
}

/* The elements of v whose number is even, or odd, and then anything. */
static tc_val unzip(tc_cg *g, tc_val v, int odd, LLVMTypeRef type) {
    const int each[] = {odd, odd + 2, odd, odd + 2}, whole[] = {odd, odd};
    v = LLVMBuildBitCast(g->b, v, type, "");
    tc_val args[] = {v, v};
    if (tc_cg_scalable(g->target))
        return scalable_call(g, odd ? "llvm.aarch64.sve.uzp2" : "llvm.aarch64.sve.uzp1", 1, args, 2);
    return shuffle(g, v, v, type == cell_type(g) ? whole : each);
}

static tc_cg_index row_at(const tc_tile_stmt *t, const tc_cg_index *first, int row) {
    tc_cg_index x = *first;
    x.base.c += row * t->stride;
    return x;
}

static tc_val load_row(tc_cg *g, const tc_tile_stmt *t, const tc_slot *s, const tc_cg_index *first, int row) {
    int bytes = tc_dtype_bytes(t->tile[0]->dtype);
    tc_cg_index x = row_at(t, first, row);
    tc_val v = tc_cg_load_some(g, s, &x, t->tile[0]->reg_lanes, g->k->m->vector_bytes / bytes);
    return v ? LLVMBuildBitCast(g->b, v, cell_type(g), "") : NULL;
}

/* Two rows of a cell each, in all segments; where they are neighbours, by one load. */
static tc_val load_left(tc_cg *g, const tc_tile_stmt *t, const tc_slot *s, const tc_cg_index *first) {
    LLVMTypeRef pair = LLVMVectorType(g->i64, SEGMENT_CELLS);
    int lanes = t->tile[0]->reg_lanes, rows = tc_tir_tile_rows(t->tile[0]);
    tc_val v = LLVMConstNull(pair);
    int whole = CELL / tc_dtype_bytes(t->tile[0]->dtype);
    if (rows == 2 && t->stride == lanes && lanes == whole) {
        v = LLVMBuildBitCast(g->b, tc_cg_load_some(g, s, first, 2 * lanes, 2 * lanes), pair, "");
    } else {
        for (int i = 0; i < rows; i++) {
            tc_cg_index x = row_at(t, first, i);
            tc_val row = LLVMBuildBitCast(g->b, tc_cg_load_some(g, s, &x, lanes, whole), g->i64, "");
            v = LLVMBuildInsertElement(g->b, v, row, tc_cg_i64(g, i), "");
        }
    }
    if (!tc_cg_scalable(g->target))
        return v;
    int which[] = {0, 1, 0, 1, 0, 1, 0, 1};
    tc_val args[] = {shuffle(g, v, LLVMGetPoison(pair), which), tc_cg_i64(g, 0)};
    return scalable_call(g, "llvm.aarch64.sve.dupq.lane", 1, args, 2);
}

static tc_val load_tile(tc_cg *g, const tc_tile_stmt *t, const tc_slot *s, const tc_cg_index *first) {
    int bytes = tc_dtype_bytes(t->tile[0]->dtype), rows = tc_tir_tile_rows(t->tile[0]);
    if (bytes < 4)
        return t->tile[0]->reg_lanes * bytes <= CELL ? load_left(g, t, s, first) : load_row(g, t, s, first, 0);
    tc_val x = load_row(g, t, s, first, 0), y = rows > 1 ? load_row(g, t, s, first, 1) : LLVMConstNull(cell_type(g));
    return x && y ? zip(g, x, y, sums_type(g, t->tile[0])) : NULL;
}

static void store_tile(tc_cg *g, const tc_tile_stmt *t, const tc_slot *s, const tc_cg_index *first, tc_val v) {
    LLVMTypeRef type = LLVMVectorType(g->i32, (unsigned)(g->k->m->vector_bytes / 4));
    LLVMTypeRef sums = sums_type(g, t->tile[0]);
    for (int i = 0; i < tc_tir_tile_rows(t->tile[0]); i++) {
        tc_cg_index x = row_at(t, first, i);
        tc_cg_store_some(g, s, &x, LLVMBuildBitCast(g->b, unzip(g, v, i, sums), type, ""), t->tile[0]->reg_lanes);
    }
}

static tc_val get(tc_cg *g, const tc_buffer *tile) {
    tc_slot *s = tc_cg_slot(g, tile);
    return s ? LLVMBuildLoad2(g->b, cell_type(g), s->regs[0], "") : NULL;
}

static void set(tc_cg *g, const tc_buffer *tile, tc_val v) {
    tc_slot *s = v ? tc_cg_slot(g, tile) : NULL;
    if (s)
        LLVMBuildStore(g->b, LLVMBuildBitCast(g->b, v, cell_type(g), ""), s->regs[0]);
}

/* Of each column's group the first `bytes`: what is behind the end of a reduction may be anything, and 0 times it no number. */
static tc_val first_of_groups(tc_cg *g, tc_val v, int bytes) {
    enum { MOST = TC_TILE_BYTES / CELL };
    tc_val mask[MOST];
    for (int i = 0; i < cells(g); i++)
        mask[i] = LLVMConstInt(g->i64, ((uint64_t)1 << 8 * bytes) - 1, false);
    return LLVMBuildAnd(g->b, v, LLVMConstVector(mask, (unsigned)cells(g)), "");
}

static tc_val multiplied(tc_cg *g, const tc_tile_stmt *t) {
    const tc_intrinsic *u = t->unit;
    tc_val v[3];
    for (int i = 0; i < 3; i++)
        if (!(v[i] = get(g, t->tile[i])))
            return NULL;
    if (t->tile[1]->reg_lanes < u->group)
        v[2] = first_of_groups(g, v[2], t->tile[1]->reg_lanes * tc_dtype_bytes(u->a));
    LLVMTypeRef sums = LLVMVectorType(tc_dtype_is_float(u->acc) ? g->f32 : g->i32, (unsigned)(u->vector / 4));
    bool exchanged = exchanges(u);
    return tc_cg_unit(g, u, LLVMBuildBitCast(g->b, v[0], sums, ""), v[exchanged ? 2 : 1], v[exchanged ? 1 : 2]);
}

void tc_cg_block_stmt(tc_cg *g, const tc_tile_stmt *t) {
    tc_slot *s = t->memory ? tc_cg_slot(g, t->memory) : NULL;
    tc_cg_index first = {0};
    if (t->memory && (!s || s->regs || !tc_cg_flatten(t->index, &first))) {
        tc_cg_fail(g, "a tile's place in %s is not affine", t->memory->name);
        return;
    }
    if (t->op == TC_TILE_STORE && s->constant) {
        tc_cg_fail(g, "stores to input %s", t->memory->name);
        return;
    }
    switch (t->op) {
    case TC_TILE_ZERO:
        set(g, t->tile[0], LLVMConstNull(cell_type(g)));
        return;
    case TC_TILE_LOAD:
        set(g, t->tile[0], load_tile(g, t, s, &first));
        return;
    case TC_TILE_STORE:
        store_tile(g, t, s, &first, get(g, t->tile[0]));
        return;
    case TC_TILE_MULTIPLY:
        set(g, t->tile[0], multiplied(g, t));
        return;
    }
}
