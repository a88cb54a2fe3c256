/* Parallel loops: the body becomes a function of its own, which a runtime's parallel_for calls with a closure. */
#include <stdio.h>
#include <string.h>

#include "codegen/code/code_int.h"

/* The state of the function that is interrupted while a parallel body is built. */
typedef struct frame {
    tc_val fn, rt, shared, threads, thread, tiles_now;
    LLVMBasicBlockRef entry, at;
    LLVMMetadataRef line;
    int region;
    tc_map slots;
    tc_memo pure, local;
    tc_scope_var *vars;
} frame;

static frame enter(tc_cg *g) {
    frame s = {g->fn,        g->k->rt,
               g->k->shared, g->k->threads,
               g->k->thread, g->k->tiles_now,
               g->entry,     LLVMGetInsertBlock(g->b),
               NULL,         g->k->region,
               g->k->slots,  g->k->pure,
               g->k->local,  NULL};
    s.line = tc_cg_line_begin(g, NULL);
    s.vars = tc_arena_dup(g->k->arena, g->k->vars.data, g->k->vars.len * sizeof *g->k->vars.data);
    g->k->slots = (tc_map){0};
    g->k->pure = g->k->local = (tc_memo){0};
    g->k->region = ++g->k->nregions;
    g->k->in_parallel = true;
    g->k->tiles_now = NULL;
    return s;
}

static void leave(tc_cg *g, const frame *s) {
    tc_map_free(&g->k->slots);
    tc_memo_free(&g->k->pure);
    tc_memo_free(&g->k->local);
    g->fn = s->fn;
    g->k->rt = s->rt;
    g->k->shared = s->shared;
    g->k->threads = s->threads;
    g->k->thread = s->thread;
    g->entry = s->entry;
    g->k->region = s->region;
    g->k->slots = s->slots;
    g->k->pure = s->pure;
    g->k->local = s->local;
    g->k->in_parallel = false;
    g->k->tiles_now = s->tiles_now;
    memcpy(g->k->vars.data, s->vars, g->k->vars.len * sizeof *s->vars);
    LLVMPositionBuilderAtEnd(g->b, s->at);
    tc_cg_line_end(g, s->line);
}

/* What a parallel body needs from outside: pointers of arguments, shared workspace, threads' workspaces; then, where the body
 * uses them, arrays on the stack, register buffers (read only: their values are copied to memory first), and variables. */
typedef struct closure {
    int n, nslots;
    tc_val value[TC_CG_MAX_ARGS]; /* in the function that has the loop */
    const tc_slot *slot[TC_CG_MAX_ARGS];
    tc_map used; /* ids of buffers and variables in the body; 2: stored to */
} closure;

static void use_expr(const tc_expr *e, void *user) {
    tc_map *used = user;
    uint32_t id = e->op == TC_OP_VAR ? e->u.var->id : e->op == TC_OP_LOAD ? e->u.buffer->id : 0;
    if ((e->op == TC_OP_VAR || e->op == TC_OP_LOAD) && !tc_map_get(used, id))
        tc_map_put(used, id, 1);
}

static void use(const tc_stmt *s, void *user) {
    tc_map *used = user;
    tc_tir_walk_exprs(s, use_expr, used);
    if (s->kind == TC_STMT_STORE)
        tc_map_put(used, s->u.store.buffer->id, 2);
    if (s->kind == TC_STMT_INTRIN && s->u.intrin.memory)
        tc_map_put(used, s->u.intrin.memory->id, s->u.intrin.op == TC_TILE_STORE ? 2 : 1);
    if (s->kind == TC_STMT_PREFETCH && !tc_map_get(used, s->u.prefetch.buffer->id))
        tc_map_put(used, s->u.prefetch.buffer->id, 1);
}

static int nregs(const tc_buffer *b) {
    int r = TC_MAX(b->reg_lanes, 1);
    return (int)((b->size + r - 1) / r);
}

static LLVMTypeRef reg_type(tc_cg *g, const tc_buffer *b) {
    return tc_cg_val_type(g, b->dtype, TC_MAX(b->reg_lanes, 1));
}

static tc_val nth_reg(tc_cg *g, const tc_buffer *b, tc_val base, int i) {
    tc_val k = tc_cg_i64(g, i);
    return LLVMBuildGEP2(g->b, reg_type(g, b), base, &k, 1, "");
}

/* Values of a register buffer, in memory. */
static tc_val spill(tc_cg *g, const tc_slot *s) {
    tc_val mem = tc_cg_alloca(g, reg_type(g, s->buffer), nregs(s->buffer), TC_RT_ALIGN, s->buffer->name);
    for (int i = 0; i < nregs(s->buffer); i++)
        LLVMBuildStore(g->b, LLVMBuildLoad2(g->b, reg_type(g, s->buffer), s->regs[i], ""), nth_reg(g, s->buffer, mem, i));
    return mem;
}

static void capture(tc_cg *g, closure *c, const tc_slot *s) {
    const uintptr_t *used = tc_map_get(&c->used, s->buffer->id);
    bool reg = s->buffer->scope == TC_BUF_REG;
    if (!used || (!reg && s->buffer->scope != TC_BUF_STACK))
        return;
    if (reg && *used == 2) {
        tc_cg_fail(g, "a parallel loop writes register buffer %s, which is allocated outside the loop", s->buffer->name);
        return;
    }
    c->slot[c->nslots++] = s;
    c->value[c->n++] = reg ? spill(g, s) : s->ptr;
}

static bool collect(tc_cg *g, closure *c, const tc_stmt *body) {
    int n = g->k->f->nparam + 2 + (int)g->k->slots.len + (int)g->k->vars.len;
    if (n > TC_CG_MAX_ARGS) {
        tc_cg_fail(g, "a parallel loop needs %d values from outside; at most %d are supported", n, TC_CG_MAX_ARGS);
        return false;
    }
    tc_tir_walk(body, use, &c->used);
    for (int i = 0; i < g->k->f->nparam; i++)
        c->value[c->n++] = tc_cg_slot(g, g->k->f->params[i].buffer)->ptr;
    c->value[c->n++] = g->k->shared;
    c->value[c->n++] = g->k->threads;
    for (size_t i = 0; i < g->k->slots.len; i++)
        if (g->k->slots.entries[i].value)
            capture(g, c, (const tc_slot *)g->k->slots.entries[i].value);
    for (size_t i = 0; i < g->k->vars.len; i++)
        if (tc_map_get(&c->used, g->k->vars.data[i].var->id))
            c->value[c->n++] = g->k->vars.data[i].value;
    return g->status == TC_OK;
}

static void unpack_slot(tc_cg *g, const tc_slot *outer, tc_val from) {
    tc_slot s = *outer;
    if (!s.regs) {
        s.ptr = from;
        tc_cg_add_slot(g, s);
        return;
    }
    tc_cg_add_registers(g, s.buffer);
    for (int i = 0; i < nregs(s.buffer); i++)
        LLVMBuildStore(g->b, LLVMBuildLoad2(g->b, reg_type(g, s.buffer), nth_reg(g, s.buffer, from, i), ""),
                       tc_cg_slot(g, s.buffer)->regs[i]);
}

/* Fills the new function's slots and variables from its parameters, in collect's order; the first two are begin and end. */
static void unpack(tc_cg *g, const frame *outer, const closure *c) {
    int at = 2;
    tc_cg_add_params(g, at);
    at += g->k->f->nparam;
    g->k->shared = LLVMGetParam(g->fn, (unsigned)at);
    tc_cg_pointer_attributes(g, g->fn, at++, tc_cg_round64(g->k->f->shared_bytes), false, false);
    g->k->thread = LLVMGetParam(g->fn, (unsigned)at);
    tc_cg_pointer_attributes(g, g->fn, at++, tc_cg_round64(g->k->f->thread_bytes), false, false);
    for (int i = 0; i < c->nslots; i++)
        unpack_slot(g, c->slot[i], LLVMGetParam(g->fn, (unsigned)at++));
    for (size_t i = 0; i < g->k->vars.len; i++)
        g->k->vars.data[i].value = tc_map_get(&c->used, g->k->vars.data[i].var->id) ? LLVMGetParam(g->fn, (unsigned)at++) : NULL;
    for (size_t i = 0; i < outer->slots.len; i++) {
        const tc_slot *s = (const tc_slot *)outer->slots.entries[i].value;
        if (s && s->buffer->scope == TC_BUF_SHARED)
            tc_cg_add_placed(g, s->buffer);
    }
}

static tc_val build_parallel_body(tc_cg *g, const tc_stmt *s, const frame *outer, const closure *c) {
    LLVMTypeRef params[TC_CG_MAX_ARGS + 2] = {g->i64, g->i64};
    char name[256];
    for (int i = 0; i < c->n; i++)
        params[i + 2] = LLVMTypeOf(c->value[i]);
    snprintf(name, sizeof name, "%.200s.par%d.body", g->symbol, g->k->region);
    tc_val fn = tc_cg_new_function(g, name, g->nothing, params, c->n + 2, false);
    tc_cg_open_function(g, fn, s);
    unpack(g, outer, c);
    tc_cg_counted_loop(g, s, LLVMGetParam(fn, 0), LLVMGetParam(fn, 1), true);
    tc_cg_release_tiles(g);
    tc_cg_close_function(g, NULL);
    return fn;
}

/* The function that parallel_for calls: begin, end, thread, closure -> body's parameters. */
static tc_val build_parallel_entry(tc_cg *g, const tc_stmt *s, tc_val body, const closure *c) {
    LLVMTypeRef params[] = {g->i64, g->i64, g->i32, g->ptr};
    char name[256];
    snprintf(name, sizeof name, "%.200s.par%d", g->symbol, g->k->region);
    tc_val fn = tc_cg_new_function(g, name, g->nothing, params, 4, false), args[TC_CG_MAX_ARGS + 2];
    tc_cg_open_function(g, fn, s);
    args[0] = LLVMGetParam(fn, 0);
    args[1] = LLVMGetParam(fn, 1);
    for (int i = 0; i < c->n; i++) {
        tc_val k = tc_cg_i64(g, i), p = LLVMBuildGEP2(g->b, g->i64, LLVMGetParam(fn, 3), &k, 1, "");
        args[i + 2] = LLVMBuildLoad2(g->b, LLVMTypeOf(c->value[i]), p, "");
    }
    tc_val id = LLVMBuildSExt(g->b, LLVMGetParam(fn, 2), g->i64, "");
    tc_val off = LLVMBuildMul(g->b, id, tc_cg_i64(g, tc_cg_round64(g->k->f->thread_bytes)), "");
    int threads = g->k->f->nparam + 1 + 2;
    args[threads] = LLVMBuildGEP2(g->b, g->i8, args[threads], &off, 1, "");
    tc_val before = tc_cg_begin_flush(g);
    LLVMBuildCall2(g->b, LLVMGlobalGetValueType(body), body, args, (unsigned)c->n + 2, "");
    tc_cg_end_flush(g, before);
    tc_cg_close_function(g, NULL);
    return fn;
}

/* rt ? rt->parallel_for(rt, n, entry, closure) : entry(0, n, 0, closure); a status that is not 0 ends the kernel. */
static void call_parallel(tc_cg *g, tc_val entry, tc_val n, tc_val env) {
    tc_cg_release_tiles(g);
    LLVMBasicBlockRef many = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "many"),
                      one = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "one");
    LLVMBasicBlockRef bad = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "bad"),
                      after = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "after");
    LLVMBuildCondBr(g->b, LLVMBuildIsNull(g->b, g->k->rt, ""), one, many);
    LLVMPositionBuilderAtEnd(g->b, one);
    tc_val inline_args[] = {tc_cg_i64(g, 0), n, LLVMConstInt(g->i32, 0, 0), env};
    LLVMBuildCall2(g->b, LLVMGlobalGetValueType(entry), entry, inline_args, 4, "");
    LLVMBuildBr(g->b, after);
    LLVMPositionBuilderAtEnd(g->b, many);
    LLVMTypeRef params[] = {g->ptr, g->i64, g->ptr, g->ptr};
    tc_val eight = tc_cg_i64(g, 8); /* offset of parallel_for in tc_rt */
    tc_val f = LLVMBuildLoad2(g->b, g->ptr, LLVMBuildGEP2(g->b, g->i8, g->k->rt, &eight, 1, ""), "");
    tc_val args[] = {g->k->rt, n, entry, env};
    tc_val status = LLVMBuildCall2(g->b, LLVMFunctionType(g->i32, params, 4, 0), f, args, 4, "");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntNE, status, LLVMConstInt(g->i32, 0, 0), ""), bad, after);
    LLVMPositionBuilderAtEnd(g->b, bad);
    LLVMBuildRet(g->b, status);
    LLVMPositionBuilderAtEnd(g->b, after);
}

void tc_cg_parallel_loop(tc_cg *g, const tc_stmt *s) {
    const tc_expr *extent = s->u.loop.extent;
    if (g->k->in_parallel || (extent->op == TC_OP_INT && extent->u.i <= 1)) {
        tc_cg_serial_loop(g, s);
        return;
    }
    tc_val n = tc_cg_expr(g, extent);
    closure *c = TC_NEW(g->k->arena, closure);
    if (!n || !collect(g, c, s->u.loop.body)) {
        tc_map_free(&c->used);
        return;
    }
    tc_val env = tc_cg_alloca(g, g->i64, TC_MAX(c->n, 2), 8, "closure");
    for (int i = 0; i < c->n; i++) {
        tc_val k = tc_cg_i64(g, i);
        LLVMBuildStore(g->b, c->value[i], LLVMBuildGEP2(g->b, g->i64, env, &k, 1, ""));
    }
    frame outer = enter(g);
    tc_val body = build_parallel_body(g, s, &outer, c), entry = build_parallel_entry(g, s, body, c);
    leave(g, &outer);
    tc_map_free(&c->used);
    if (g->status == TC_OK)
        call_parallel(g, entry, n, env);
}
