/* Statements: loops, branches, and what is done in them. */
#include "codegen/code/code_int.h"

/* ---- loops ---- */

static void bind(tc_cg *g, const tc_var *v, tc_val value, tc_ival range) {
    tc_scope_var sv = {v, value};
    tc_push(&g->k->vars, sv);
    tc_map_put(&g->k->var_at, v->id, g->k->vars.len);
    tc_env_set(g->k->env, v, range);
}

void tc_cg_bind_symbol(tc_cg *g, const tc_var *v, tc_val value) {
    bind(g, v, value, (tc_ival){v->least, v->most});
}

static void unbind(tc_cg *g) {
    tc_map_put(&g->k->var_at, g->k->vars.data[--g->k->vars.len].var->id, 0);
}

static tc_ival loop_range(tc_cg *g, const tc_expr *extent) {
    tc_ival n = tc_te_bounds(extent, g->k->env);
    return (tc_ival){0, n.hi == TC_INF ? TC_INF : TC_MAX(n.hi - 1, 0)};
}

static void body_of(tc_cg *g, const tc_stmt *s, tc_val i) {
    size_t mark = tc_memo_mark(&g->k->pure);
    bind(g, s->u.loop.var, i, loop_range(g, s->u.loop.extent));
    tc_cg_stmt(g, s->u.loop.body);
    unbind(g);
    tc_memo_undo(&g->k->pure, mark);
}

void tc_cg_counted_loop(tc_cg *g, const tc_stmt *s, tc_val begin, tc_val end, bool check) {
    const char *name = s->u.loop.var->name ? s->u.loop.var->name : "i";
    LLVMBasicBlockRef pre = LLVMGetInsertBlock(g->b), body = LLVMAppendBasicBlockInContext(g->ctx, g->fn, name);
    LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "after");
    if (check)
        LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, begin, end, ""), body, after);
    else
        LLVMBuildBr(g->b, body);
    LLVMPositionBuilderAtEnd(g->b, body);
    tc_val i = LLVMBuildPhi(g->b, g->i64, name);
    body_of(g, s, i);
    tc_val next = LLVMBuildNUWAdd(g->b, i, tc_cg_i64(g, 1), "");
    if (LLVMIsAInstruction(next))
        LLVMSetNSW(next, 1);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, next, end, ""), body, after);
    tc_val values[] = {begin, next};
    LLVMBasicBlockRef from[] = {pre, LLVMGetInsertBlock(g->b)};
    LLVMAddIncoming(i, values, from, 2);
    LLVMPositionBuilderAtEnd(g->b, after);
}

void tc_cg_serial_loop(tc_cg *g, const tc_stmt *s) {
    const tc_expr *n = s->u.loop.extent;
    if (n->op == TC_OP_INT && n->u.i <= 0)
        return;
    if (n->op == TC_OP_INT && n->u.i == 1) {
        body_of(g, s, tc_cg_i64(g, 0));
        return;
    }
    tc_val end = tc_cg_expr(g, n);
    if (end)
        tc_cg_counted_loop(g, s, tc_cg_i64(g, 0), end, tc_te_bounds(n, g->k->env).lo < 1);
}

/* ---- statements ---- */

static void if_statement(tc_cg *g, const tc_stmt *s) {
    tc_val c = tc_cg_expr(g, s->u.cond.cond);
    if (!c)
        return;
    LLVMBasicBlockRef then = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "then"),
                      after = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "after");
    LLVMBasicBlockRef otherwise = s->u.cond.otherwise ? LLVMAppendBasicBlockInContext(g->ctx, g->fn, "else") : after;
    LLVMBuildCondBr(g->b, c, then, otherwise);
    const tc_stmt *arms[] = {s->u.cond.then, s->u.cond.otherwise};
    LLVMBasicBlockRef blocks[] = {then, otherwise};
    for (int i = 0; i < 2 && arms[i]; i++) {
        size_t mark = tc_memo_mark(&g->k->pure);
        LLVMPositionBuilderAtEnd(g->b, blocks[i]);
        tc_cg_stmt(g, arms[i]);
        LLVMBuildBr(g->b, after);
        tc_memo_undo(&g->k->pure, mark);
    }
    LLVMPositionBuilderAtEnd(g->b, after);
}

static void for_statement(tc_cg *g, const tc_stmt *s) {
    switch (s->u.loop.kind) {
    case TC_FOR_SERIAL:
        tc_cg_serial_loop(g, s);
        return;
    case TC_FOR_PARALLEL:
        tc_cg_parallel_loop(g, s);
        return;
    case TC_FOR_VECTOR:
    case TC_FOR_UNROLL:
    case TC_FOR_TENSOR:
        tc_cg_fail(g, "loop %s is still marked %s: the function must be lowered first", s->u.loop.var->name,
                   tc_for_info_of(s->u.loop.kind)->is);
        return;
    case TC_NFORS:
        break;
    }
}

static void sequence(tc_cg *g, const tc_stmt *s) {
    for (int i = 0, done; i < s->u.seq.n && g->status == TC_OK; i += TC_MAX(done, 1)) {
        size_t mark = tc_memo_mark(&g->k->local);
        LLVMMetadataRef before = tc_cg_line_begin(g, s->u.seq.s[i]);
        done = tc_cg_store_together(g, s->u.seq.s + i, s->u.seq.n - i);
        tc_cg_line_end(g, before);
        tc_memo_undo(&g->k->local, mark);
        if (!done)
            tc_cg_stmt(g, s->u.seq.s[i]);
    }
}

/* LLVM lets arrays share the stack whose lives, which begin and end here, are apart. */
static void alloc_statement(tc_cg *g, const tc_stmt *s) {
    const tc_buffer *b = s->u.alloc.buffer;
    bool vectors = b->scope == TC_BUF_TILE && !g->k->blocks;
    if (vectors)
        tc_cg_open_tiles(g, s);
    tc_cg_allocate(g, b);
    if (b->scope == TC_BUF_STACK)
        tc_cg_mark_life(g, b, "llvm.lifetime.start");
    tc_cg_stmt(g, s->u.alloc.body);
    if (b->scope == TC_BUF_STACK)
        tc_cg_mark_life(g, b, "llvm.lifetime.end");
    if (vectors)
        tc_cg_close_tiles(g);
}

void tc_cg_stmt(tc_cg *g, const tc_stmt *s) {
    if (!s || g->status != TC_OK)
        return;
    size_t mark = tc_memo_mark(&g->k->local);
    LLVMMetadataRef before = tc_cg_line_begin(g, s);
    switch (s->kind) {
    case TC_STMT_SEQ:
        sequence(g, s);
        break;
    case TC_STMT_FOR:
        for_statement(g, s);
        break;
    case TC_STMT_IF:
        if_statement(g, s);
        break;
    case TC_STMT_STORE:
        tc_cg_store_stmt(g, s);
        break;
    case TC_STMT_ALLOC:
        alloc_statement(g, s);
        break;
    case TC_STMT_PREFETCH:
        tc_cg_prefetch_stmt(g, s);
        break;
    case TC_STMT_INTRIN:
        if (g->k->blocks)
            tc_cg_block_stmt(g, &s->u.intrin);
        else
            tc_cg_tile_stmt(g, &s->u.intrin);
        break;
    case TC_NSTMTS:
        break;
    }
    tc_cg_line_end(g, before);
    tc_memo_undo(&g->k->local, mark);
}
