/* Where buffers are: arguments, workspace, the stack, registers. */
#include <stdio.h>
#include <string.h>

#include "codegen/code/code_int.h"

tc_slot *tc_cg_slot(tc_cg *g, const tc_buffer *b) {
    const uintptr_t *s = tc_map_get(&g->k->slots, b->id);
    if (!s || !*s) {
        tc_cg_fail(g, "buffer %s is used where it is not allocated", b->name);
        return NULL;
    }
    return (tc_slot *)*s;
}

void tc_cg_add_slot(tc_cg *g, tc_slot slot) {
    tc_slot *s = tc_arena_dup(g->k->arena, &slot, sizeof slot);
    tc_map_put(&g->k->slots, slot.buffer->id, (uintptr_t)s);
}

static int64_t buffer_bytes(const tc_buffer *b) {
    return b->size * tc_dtype_bytes(b->dtype);
}

static bool is_input(const tc_param *p) {
    return p->kind != TC_PARAM_OUT;
}

static const tc_placement *placement(const tc_func *f, const tc_buffer *b) {
    for (int i = 0; i < f->nplace; i++)
        if (f->place[i].buffer == b)
            return &f->place[i];
    return NULL;
}

static LLVMMetadataRef alias_scope(tc_cg *g, LLVMMetadataRef domain, const tc_buffer *b) {
    char name[160];
    snprintf(name, sizeof name, "%.100s.%.40s.%u", g->symbol, b->name, b->id);
    LLVMMetadataRef ops[] = {LLVMMDStringInContext2(g->ctx, name, strlen(name)), domain};
    return LLVMMDNodeInContext2(g->ctx, ops, 2);
}

/* Placed buffers of one workspace may share bytes when they are not alive together; the others never alias. */
static void alias_metadata(tc_cg *g, tc_slot *s) {
    enum { MOST = 48 };
    if (g->k->f->nplace < 2 || g->k->f->nplace > MOST)
        return;
    LLVMMetadataRef name = LLVMMDStringInContext2(g->ctx, g->symbol, strlen(g->symbol));
    LLVMMetadataRef domain = LLVMMDNodeInContext2(g->ctx, &name, 1), own = alias_scope(g, domain, s->buffer), others[MOST];
    const tc_placement *p = placement(g->k->f, s->buffer);
    size_t n = 0;
    for (int i = 0; i < g->k->f->nplace; i++) {
        const tc_placement *q = &g->k->f->place[i];
        bool apart = q->offset >= p->offset + buffer_bytes(p->buffer) || p->offset >= q->offset + buffer_bytes(q->buffer);
        if (q->buffer != s->buffer && q->buffer->scope == s->buffer->scope && apart)
            others[n++] = alias_scope(g, domain, q->buffer);
    }
    s->scope = LLVMMDNodeInContext2(g->ctx, &own, 1);
    s->noalias = n ? LLVMMDNodeInContext2(g->ctx, others, n) : NULL;
}

void tc_cg_add_placed(tc_cg *g, const tc_buffer *b) {
    const tc_placement *p = placement(g->k->f, b);
    tc_val base = b->scope == TC_BUF_SHARED ? g->k->shared : g->k->thread;
    if (!p) {
        tc_cg_fail(g, "buffer %s has no place in the workspace: the storage pass must run first", b->name);
        return;
    }
    tc_val off = tc_cg_i64(g, p->offset);
    uint64_t bits = (uint64_t)p->offset | TC_RT_ALIGN;
    tc_slot s = {.buffer = b,
                 .ptr = LLVMBuildGEP2(g->b, g->i8, base, &off, 1, b->name),
                 .align = (int)(bits & -bits),
                 .region = g->k->region};
    alias_metadata(g, &s);
    tc_cg_add_slot(g, s);
}

void tc_cg_add_registers(tc_cg *g, const tc_buffer *b) {
    int r = TC_MAX(b->reg_lanes, 1);
    int64_t n = (b->size + r - 1) / r;
    if (n > 4096) {
        tc_cg_fail(g, "register buffer %s would need %lld values; local arrays of more than 4096 must live on the stack", b->name,
                   (long long)n);
        return;
    }
    tc_val *regs = TC_NEW_N(g->k->arena, tc_val, n);
    LLVMTypeRef t = tc_cg_val_type(g, b->dtype, r);
    for (int64_t i = 0; i < n; i++)
        regs[i] = tc_cg_alloca(g, t, 1, r > 1 ? TC_RT_ALIGN : 8, b->name);
    tc_cg_add_slot(g, (tc_slot){.buffer = b, .regs = regs, .region = g->k->region});
}

void tc_cg_allocate(tc_cg *g, const tc_buffer *b) {
    switch (b->scope) {
    case TC_BUF_SHARED:
        if (g->k->in_parallel)
            tc_cg_fail(g, "buffer %s is shared by all threads but allocated inside a parallel loop", b->name);
        else
            tc_cg_add_placed(g, b);
        return;
    case TC_BUF_THREAD:
        tc_cg_add_placed(g, b);
        return;
    case TC_BUF_STACK: {
        if (buffer_bytes(b) > TC_CG_MOST_STACK) {
            tc_cg_fail(g, "buffer %s of %lld bytes is too large for the stack (at most %d)", b->name, (long long)buffer_bytes(b),
                       TC_CG_MOST_STACK);
            return;
        }
        tc_val p = tc_cg_alloca(g, tc_cg_mem_type(g, b->dtype), b->size, TC_RT_ALIGN, b->name);
        tc_cg_add_slot(g, (tc_slot){.buffer = b, .ptr = p, .align = TC_RT_ALIGN, .region = g->k->region});
        return;
    }
    case TC_BUF_REG:
        tc_cg_add_registers(g, b);
        return;
    case TC_BUF_TILE: /* one of vectors, or of its own: tiles.c */
        if (g->k->blocks)
            tc_cg_add_block(g, b);
        return;
    case TC_BUF_PARAM:
        tc_cg_fail(g, "argument %s must not be allocated", b->name);
        return;
    case TC_NSCOPES:
        break;
    }
}

void tc_cg_mark_life(tc_cg *g, const tc_buffer *b, const char *marker) {
    const tc_slot *s = g->status == TC_OK ? tc_cg_slot(g, b) : NULL;
    if (!s)
        return;
    tc_val args[] = {tc_cg_i64(g, buffer_bytes(b)), s->ptr};
    tc_cg_intrinsic(g, marker, &g->ptr, 1, args, 2);
}

void tc_cg_add_params(tc_cg *g, int first) {
    for (int i = 0; i < g->k->f->nparam; i++) {
        const tc_param *p = &g->k->f->params[i];
        tc_val v = LLVMGetParam(g->fn, (unsigned)(first + i));
        LLVMSetValueName2(v, p->buffer->name, strlen(p->buffer->name));
        bool constant = is_input(p) && !p->overlaps;
        tc_cg_add_slot(g, (tc_slot){.buffer = p->buffer, .ptr = v, .align = TC_RT_ALIGN, .constant = constant});
        int64_t bytes = tc_tir_least_size(p->buffer) * tc_dtype_bytes(p->buffer->dtype);
        tc_cg_pointer_attributes(g, g->fn, first + i, bytes, is_input(p), p->overlaps);
    }
}
