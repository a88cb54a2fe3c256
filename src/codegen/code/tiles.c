/* Tile registers of x86: which of the eight each tile is, their configuration, and what is done with them.
 *
 * The tiles of a nest of allocations are numbered in order; their shapes make a configuration, a constant of 64 bytes. Each
 * function that uses tiles remembers in a variable which configuration is loaded. It loads another configuration only when it
 * enters tiles of other shapes, because a load costs as much as ten multiplications. Tiles are released before the function ends,
 * and before a parallel loop, since its bodies run on this thread too. The permission of Linux is asked for once per process and
 * object.
 *
 * LLVM's intrinsics name registers by number: it allocates none of them, so none is ever spilled. */
#include <stdio.h>
#include <string.h>

#include "codegen/code/code_int.h"

typedef struct tc_tile_config {
    uint8_t bytes[64];
    tc_val constant;
} tc_tile_config;

static tc_val call(tc_cg *g, const char *name, int n, tc_val *args) {
    return tc_cg_intrinsic(g, name, NULL, 0, args, n);
}

/* ---- configurations ---- */

typedef struct numbering {
    tc_cg *g;
    int n;
    uint8_t bytes[64];
} numbering;

/* Palette 1: bytes of a row as 16 bits from byte 16 on, rows from byte 48 on. */
static void number_tile(const tc_stmt *s, void *user) {
    numbering *x = user;
    if (s->kind != TC_STMT_ALLOC || s->u.alloc.buffer->scope != TC_BUF_TILE)
        return;
    const tc_buffer *b = s->u.alloc.buffer;
    if (x->n == TC_TILES) {
        tc_cg_fail(x->g, "more than %d tiles are alive", TC_TILES);
        return;
    }
    x->bytes[16 + 2 * x->n] = (uint8_t)(b->reg_lanes * tc_dtype_bytes(b->dtype));
    x->bytes[48 + x->n] = (uint8_t)tc_tir_tile_rows(b);
    tc_map_put(&x->g->k->tile_of, b->id, (uintptr_t)++x->n);
}

/* The number of a configuration, from 1 on. */
static int config_of(tc_cg *g, const uint8_t *bytes) {
    for (int i = 0; i < g->k->nconfig; i++)
        if (memcmp(g->k->configs[i].bytes, bytes, 64) == 0)
            return i + 1;
    tc_tile_config *more = TC_NEW_N(g->k->arena, tc_tile_config, g->k->nconfig + 1);
    if (g->k->nconfig)
        memcpy(more, g->k->configs, sizeof *more * (size_t)g->k->nconfig);
    g->k->configs = more;
    tc_tile_config *c = &more[g->k->nconfig++];
    char name[256];
    memcpy(c->bytes, bytes, 64);
    snprintf(name, sizeof name, "%.200s.tiles%d", g->symbol, g->k->nconfig);
    tc_val data = LLVMConstStringInContext(g->ctx, (const char *)bytes, 64, 1);
    c->constant = LLVMAddGlobal(g->mod, LLVMTypeOf(data), name);
    LLVMSetInitializer(c->constant, data);
    LLVMSetGlobalConstant(c->constant, 1);
    LLVMSetLinkage(c->constant, LLVMPrivateLinkage);
    LLVMSetAlignment(c->constant, 64);
    return g->k->nconfig;
}

/* The variable of this function; 0: no configuration is loaded. */
static tc_val current(tc_cg *g) {
    if (g->k->tiles_now)
        return g->k->tiles_now;
    g->k->tiles_now = tc_cg_alloca(g, g->i32, 1, 4, "tiles");
    LLVMBasicBlockRef here = LLVMGetInsertBlock(g->b);
    LLVMPositionBuilderAtEnd(g->b, g->entry);
    LLVMBuildStore(g->b, LLVMConstInt(g->i32, 0, 0), g->k->tiles_now);
    LLVMPositionBuilderAtEnd(g->b, here);
    return g->k->tiles_now;
}

/* if (current OP number) { call; current = then } */
static void change(tc_cg *g, LLVMIntPredicate op, int number, const char *name, tc_val arg, int then) {
    tc_val now = current(g), is = LLVMBuildLoad2(g->b, g->i32, now, "");
    LLVMBasicBlockRef yes = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "configure"),
                      after = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "configured");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, op, is, tc_cg_int(g->i32, number), ""), yes, after);
    LLVMPositionBuilderAtEnd(g->b, yes);
    call(g, name, arg != NULL, &arg);
    LLVMBuildStore(g->b, tc_cg_int(g->i32, then), now);
    LLVMBuildBr(g->b, after);
    LLVMPositionBuilderAtEnd(g->b, after);
}

void tc_cg_open_tiles(tc_cg *g, const tc_stmt *s) {
    if (g->k->tiles_open++)
        return;
    numbering x = {.g = g, .bytes = {1}};
    tc_tir_walk(s, number_tile, &x);
    if (g->status != TC_OK)
        return;
    int id = config_of(g, x.bytes);
    change(g, LLVMIntNE, id, "llvm.x86.ldtilecfg", g->k->configs[id - 1].constant, id);
}

void tc_cg_close_tiles(tc_cg *g) {
    g->k->tiles_open--;
}

void tc_cg_release_tiles(tc_cg *g) {
    if (g->k->tiles_now && g->status == TC_OK)
        change(g, LLVMIntNE, 0, "llvm.x86.tilerelease", NULL, 0);
}

/* ---- the permission ---- */

/* if (!asked) { arch_prctl(ARCH_REQ_XCOMP_PERM, tile data); asked = 1 }: what it answers is of no use, since a kernel without tiles
 * in its target has none of this. */
void tc_cg_permit_tiles(tc_cg *g) {
    enum { ARCH_PRCTL = 158, REQ_XCOMP_PERM = 0x1023, TILE_DATA = 18 };
    static const char NAME[] = "tctune.tiles_permitted", CODE[] = "syscall",
                      USES[] = "={ax},{ax},{di},{si},~{rcx},~{r11},~{memory}";
    if (!g->k->nconfig || !strstr(g->target->triple, "linux"))
        return;
    tc_val asked = LLVMGetNamedGlobal(g->mod, NAME);
    if (!asked) {
        asked = LLVMAddGlobal(g->mod, g->i8, NAME);
        LLVMSetInitializer(asked, LLVMConstInt(g->i8, 0, 0));
        LLVMSetLinkage(asked, LLVMInternalLinkage);
    }
    LLVMBasicBlockRef ask = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "ask"),
                      after = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "permitted");
    tc_val is = LLVMBuildLoad2(g->b, g->i8, asked, "");
    LLVMSetOrdering(is, LLVMAtomicOrderingMonotonic);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, is, LLVMConstInt(g->i8, 0, 0), ""), ask, after);
    LLVMPositionBuilderAtEnd(g->b, ask);
    LLVMTypeRef params[] = {g->i64, g->i64, g->i64}, type = LLVMFunctionType(g->i64, params, 3, 0);
    tc_val code = LLVMGetInlineAsm(type, CODE, strlen(CODE), USES, strlen(USES), 1, 0, LLVMInlineAsmDialectATT, 0);
    tc_val args[] = {tc_cg_i64(g, ARCH_PRCTL), tc_cg_i64(g, REQ_XCOMP_PERM), tc_cg_i64(g, TILE_DATA)};
    LLVMBuildCall2(g->b, type, code, args, 3, "");
    tc_val store = LLVMBuildStore(g->b, LLVMConstInt(g->i8, 1, 0), asked);
    LLVMSetOrdering(store, LLVMAtomicOrderingMonotonic);
    LLVMBuildBr(g->b, after);
    LLVMPositionBuilderAtEnd(g->b, after);
}

/* ---- statements ---- */

static tc_val number_of(tc_cg *g, const tc_buffer *tile) {
    const uintptr_t *n = tc_map_get(&g->k->tile_of, tile->id);
    if (!n || !*n)
        return tc_cg_fail(g, "tile %s is used where it is not allocated", tile->name);
    return LLVMConstInt(g->i8, *n - 1, 0);
}

static void move_tile(tc_cg *g, const tc_tile_stmt *t, tc_val tile) {
    tc_slot *s = tc_cg_slot(g, t->memory);
    tc_cg_index x;
    if (!s || s->regs || !tc_cg_flatten(t->index, &x)) {
        tc_cg_fail(g, "a tile's place in %s is not affine", t->memory->name);
        return;
    }
    if (t->op == TC_TILE_STORE && s->constant) {
        tc_cg_fail(g, "stores to input %s", t->memory->name);
        return;
    }
    tc_val args[] = {tile, tc_cg_pointer(g, s, &x), tc_cg_i64(g, t->stride * tc_dtype_bytes(t->memory->dtype))};
    call(g, t->op == TC_TILE_LOAD ? "llvm.x86.tileloadd64" : "llvm.x86.tilestored64", 3, args);
}

void tc_cg_tile_stmt(tc_cg *g, const tc_tile_stmt *t) {
    tc_val tile[3] = {NULL};
    for (int i = 0; i < 3 && t->tile[i]; i++)
        if (!(tile[i] = number_of(g, t->tile[i])))
            return;
    switch (t->op) {
    case TC_TILE_ZERO:
        call(g, "llvm.x86.tilezero", 1, tile);
        return;
    case TC_TILE_LOAD:
    case TC_TILE_STORE:
        move_tile(g, t, tile[0]);
        return;
    case TC_TILE_MULTIPLY:
        call(g, t->unit->llvm, 3, tile);
        return;
    }
}
