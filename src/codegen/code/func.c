/* Statements and functions. A kernel becomes
 *
 *     SYMBOL(args, workspace, rt)        exported: loads the argument pointers, calls SYMBOL.body
 *     SYMBOL.body(p0, p1, ..., shared, threads, rt)
 *     SYMBOL.parN(begin, end, thread, closure)   what parallel_for calls: loads the closure, calls SYMBOL.parN.body
 *     SYMBOL.parN.body(begin, end, p0, p1, ..., shared, thread's workspace, captured arrays, outer variables)
 *
 * Bodies take every pointer as a `noalias` parameter of known alignment, unless it is said to overlap: that is how LLVM learns
 * that buffers are distinct. They are never inlined. */
#include <stdio.h>
#include <string.h>

#include "codegen/code/code_int.h"

static void statement(tc_cg *g, const tc_stmt *s);

enum { MAX_ARGS = 512, MAX_STACK = 1 << 20 /* bytes; threads have a few MiB */ };

static int64_t round64(int64_t n) {
    return (n + 63) & ~(int64_t)63;
}

int64_t tc_cg_workspace_bytes(const tc_func *f, int nthreads) {
    return round64(f->shared_bytes) + TC_MAX(nthreads, 1) * round64(f->thread_bytes);
}

/* ---- functions ---- */

static void attribute(tc_cg *g, tc_val fn, unsigned at, const char *name, uint64_t value) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, at, LLVMCreateEnumAttribute(g->ctx, kind, value));
}

/* What does not fit into registers is spilled to whole lines of the stack. On x86 the ABI aligns it to 16 bytes, and once
 * registers are being allocated it is too late to align it better: spilled vectors would then lie across two lines by luck, which
 * costs up to three times a kernel's time. */
static void align_stack(tc_cg *g, tc_val fn) {
    if (g->target->machine.vector_bytes > 16)
        attribute(g, fn, LLVMAttributeFunctionIndex, "alignstack", (uint64_t)g->target->machine.vector_bytes);
}

static tc_val new_function(tc_cg *g, const char *name, LLVMTypeRef ret, LLVMTypeRef *params, int n, bool exported) {
    tc_val fn = LLVMAddFunction(g->mod, name, LLVMFunctionType(ret, params, (unsigned)n, 0));
    if (!exported)
        LLVMSetLinkage(fn, LLVMInternalLinkage);
    attribute(g, fn, LLVMAttributeFunctionIndex, "nounwind", 0);
    align_stack(g, fn);
    tc_cg_fn_attrs(g->ctx, g->target, fn);
    return fn;
}

/* Facts about pointer parameter `at` of a body. `bytes` 0: the size is not known. */
static void pointer_attributes(tc_cg *g, tc_val fn, int at, int64_t bytes, bool readonly, bool overlaps) {
    unsigned i = (unsigned)at + 1;
    if (!overlaps)
        attribute(g, fn, i, "noalias", 0);
    attribute(g, fn, i, "nocapture", 0);
    attribute(g, fn, i, "align", TC_RT_ALIGN);
    if (readonly)
        attribute(g, fn, i, "readonly", 0);
    if (bytes > 0)
        attribute(g, fn, i, "dereferenceable", (uint64_t)bytes);
}

static int64_t buffer_bytes(const tc_buffer *b) {
    return b->size * tc_dtype_bytes(b->dtype);
}

static bool is_input(const tc_param *p) {
    return p->kind != TC_PARAM_OUT;
}

/* Opens fn for building: an entry block that will hold the allocas only, and the block where code goes. */
static void open_function(tc_cg *g, tc_val fn) {
    g->fn = fn;
    g->entry = LLVMAppendBasicBlockInContext(g->ctx, fn, "entry");
    LLVMPositionBuilderAtEnd(g->b, LLVMAppendBasicBlockInContext(g->ctx, fn, "start"));
}

static void close_function(tc_cg *g, tc_val result) {
    if (result)
        LLVMBuildRet(g->b, result);
    else
        LLVMBuildRetVoid(g->b);
    LLVMBasicBlockRef start = LLVMGetNextBasicBlock(g->entry);
    LLVMPositionBuilderAtEnd(g->b, g->entry);
    LLVMBuildBr(g->b, start);
}

/* ---- buffers ---- */

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

static void add_placed(tc_cg *g, const tc_buffer *b) {
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

static void add_registers(tc_cg *g, const tc_buffer *b) {
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

static void allocate(tc_cg *g, const tc_buffer *b) {
    switch (b->scope) {
    case TC_BUF_SHARED:
        if (g->k->in_parallel)
            tc_cg_fail(g, "buffer %s is shared by all threads but allocated inside a parallel loop", b->name);
        else
            add_placed(g, b);
        return;
    case TC_BUF_THREAD:
        add_placed(g, b);
        return;
    case TC_BUF_STACK: {
        if (buffer_bytes(b) > MAX_STACK) {
            tc_cg_fail(g, "buffer %s of %lld bytes is too large for the stack (at most %d)", b->name, (long long)buffer_bytes(b),
                       MAX_STACK);
            return;
        }
        tc_val p = tc_cg_alloca(g, tc_cg_mem_type(g, b->dtype), b->size, TC_RT_ALIGN, b->name);
        tc_cg_add_slot(g, (tc_slot){.buffer = b, .ptr = p, .align = TC_RT_ALIGN, .region = g->k->region});
        return;
    }
    case TC_BUF_REG:
        add_registers(g, b);
        return;
    case TC_BUF_PARAM:
        tc_cg_fail(g, "argument %s must not be allocated", b->name);
        return;
    case TC_NSCOPES:
        break;
    }
}

static void add_params(tc_cg *g, int first) {
    for (int i = 0; i < g->k->f->nparam; i++) {
        const tc_param *p = &g->k->f->params[i];
        tc_val v = LLVMGetParam(g->fn, (unsigned)(first + i));
        LLVMSetValueName2(v, p->buffer->name, strlen(p->buffer->name));
        bool constant = is_input(p) && !p->overlaps;
        tc_cg_add_slot(g, (tc_slot){.buffer = p->buffer, .ptr = v, .align = TC_RT_ALIGN, .constant = constant});
        pointer_attributes(g, g->fn, first + i, buffer_bytes(p->buffer), is_input(p), p->overlaps);
    }
}

/* ---- loops ---- */

static void bind(tc_cg *g, const tc_var *v, tc_val value, tc_ival range) {
    tc_scope_var sv = {v, value};
    tc_push(&g->k->vars, sv);
    tc_map_put(&g->k->var_at, v->id, g->k->vars.len);
    tc_env_set(g->k->env, v, range);
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
    statement(g, s->u.loop.body);
    unbind(g);
    tc_memo_undo(&g->k->pure, mark);
}

/* for var = begin; var < end: the test is at the bottom; `check` adds one at the top. */
static void counted_loop(tc_cg *g, const tc_stmt *s, tc_val begin, tc_val end, bool check) {
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

static void serial_loop(tc_cg *g, const tc_stmt *s) {
    const tc_expr *n = s->u.loop.extent;
    if (n->op == TC_OP_INT && n->u.i <= 0)
        return;
    if (n->op == TC_OP_INT && n->u.i == 1) {
        body_of(g, s, tc_cg_i64(g, 0));
        return;
    }
    tc_val end = tc_cg_expr(g, n);
    if (end)
        counted_loop(g, s, tc_cg_i64(g, 0), end, tc_te_bounds(n, g->k->env).lo < 1);
}

/* ---- parallel loops ---- */

/* The state of the function that is interrupted while a parallel body is built. */
typedef struct frame {
    tc_val fn, rt, shared, threads, thread;
    LLVMBasicBlockRef entry, at;
    int region;
    tc_map slots;
    tc_memo pure, local;
    tc_scope_var *vars;
} frame;

static frame enter(tc_cg *g) {
    frame s = {g->fn,        g->k->rt,    g->k->shared, g->k->threads, g->k->thread, g->entry, LLVMGetInsertBlock(g->b),
               g->k->region, g->k->slots, g->k->pure,   g->k->local,   NULL};
    s.vars = tc_arena_dup(g->k->arena, g->k->vars.data, g->k->vars.len * sizeof *g->k->vars.data);
    g->k->slots = (tc_map){0};
    g->k->pure = g->k->local = (tc_memo){0};
    g->k->region = ++g->k->nregions;
    g->k->in_parallel = true;
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
    memcpy(g->k->vars.data, s->vars, g->k->vars.len * sizeof *s->vars);
    LLVMPositionBuilderAtEnd(g->b, s->at);
}

/* What a parallel body needs from outside: pointers of arguments, shared workspace, threads' workspaces; then, where the body
 * uses them, arrays on the stack, register buffers (read only: their values are copied to memory first), and variables. */
typedef struct closure {
    int n, nslots;
    tc_val value[MAX_ARGS]; /* in the function that has the loop */
    const tc_slot *slot[MAX_ARGS];
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
        tc_cg_fail(g, "register buffer %s is written by a parallel loop that it is outside of", s->buffer->name);
        return;
    }
    c->slot[c->nslots++] = s;
    c->value[c->n++] = reg ? spill(g, s) : s->ptr;
}

static bool collect(tc_cg *g, closure *c, const tc_stmt *body) {
    int n = g->k->f->nparam + 2 + (int)g->k->slots.len + (int)g->k->vars.len;
    if (n > MAX_ARGS) {
        tc_cg_fail(g, "a parallel loop needs %d values from outside; at most %d are supported", n, MAX_ARGS);
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
    add_registers(g, s.buffer);
    for (int i = 0; i < nregs(s.buffer); i++)
        LLVMBuildStore(g->b, LLVMBuildLoad2(g->b, reg_type(g, s.buffer), nth_reg(g, s.buffer, from, i), ""),
                       tc_cg_slot(g, s.buffer)->regs[i]);
}

/* Fills the new function's slots and variables from its parameters, in collect's order; the first two are begin and end. */
static void unpack(tc_cg *g, const frame *outer, const closure *c) {
    int at = 2;
    add_params(g, at);
    at += g->k->f->nparam;
    g->k->shared = LLVMGetParam(g->fn, (unsigned)at);
    pointer_attributes(g, g->fn, at++, round64(g->k->f->shared_bytes), false, false);
    g->k->thread = LLVMGetParam(g->fn, (unsigned)at);
    pointer_attributes(g, g->fn, at++, round64(g->k->f->thread_bytes), false, false);
    for (int i = 0; i < c->nslots; i++)
        unpack_slot(g, c->slot[i], LLVMGetParam(g->fn, (unsigned)at++));
    for (size_t i = 0; i < g->k->vars.len; i++)
        g->k->vars.data[i].value = tc_map_get(&c->used, g->k->vars.data[i].var->id) ? LLVMGetParam(g->fn, (unsigned)at++) : NULL;
    for (size_t i = 0; i < outer->slots.len; i++) {
        const tc_slot *s = (const tc_slot *)outer->slots.entries[i].value;
        if (s && s->buffer->scope == TC_BUF_SHARED)
            add_placed(g, s->buffer);
    }
}

static tc_val build_parallel_body(tc_cg *g, const tc_stmt *s, const frame *outer, const closure *c) {
    LLVMTypeRef params[MAX_ARGS + 2] = {g->i64, g->i64};
    char name[256];
    for (int i = 0; i < c->n; i++)
        params[i + 2] = LLVMTypeOf(c->value[i]);
    snprintf(name, sizeof name, "%.200s.par%d.body", g->symbol, g->k->region);
    tc_val fn = new_function(g, name, g->nothing, params, c->n + 2, false);
    open_function(g, fn);
    unpack(g, outer, c);
    counted_loop(g, s, LLVMGetParam(fn, 0), LLVMGetParam(fn, 1), true);
    close_function(g, NULL);
    return fn;
}

/* The function that parallel_for calls: begin, end, thread, closure -> body's parameters. */
static tc_val build_parallel_entry(tc_cg *g, tc_val body, const closure *c) {
    LLVMTypeRef params[] = {g->i64, g->i64, g->i32, g->ptr};
    char name[256];
    snprintf(name, sizeof name, "%.200s.par%d", g->symbol, g->k->region);
    tc_val fn = new_function(g, name, g->nothing, params, 4, false), args[MAX_ARGS + 2];
    open_function(g, fn);
    args[0] = LLVMGetParam(fn, 0);
    args[1] = LLVMGetParam(fn, 1);
    for (int i = 0; i < c->n; i++) {
        tc_val k = tc_cg_i64(g, i), p = LLVMBuildGEP2(g->b, g->i64, LLVMGetParam(fn, 3), &k, 1, "");
        args[i + 2] = LLVMBuildLoad2(g->b, LLVMTypeOf(c->value[i]), p, "");
    }
    tc_val id = LLVMBuildSExt(g->b, LLVMGetParam(fn, 2), g->i64, "");
    tc_val off = LLVMBuildMul(g->b, id, tc_cg_i64(g, round64(g->k->f->thread_bytes)), "");
    int threads = g->k->f->nparam + 1 + 2;
    args[threads] = LLVMBuildGEP2(g->b, g->i8, args[threads], &off, 1, "");
    LLVMBuildCall2(g->b, LLVMGlobalGetValueType(body), body, args, (unsigned)c->n + 2, "");
    close_function(g, NULL);
    return fn;
}

/* rt ? rt->parallel_for(rt, n, entry, closure) : entry(0, n, 0, closure); a status that is not 0 ends the kernel. */
static void call_parallel(tc_cg *g, tc_val entry, tc_val n, tc_val env) {
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

static void parallel_loop(tc_cg *g, const tc_stmt *s) {
    const tc_expr *extent = s->u.loop.extent;
    if (g->k->in_parallel || (extent->op == TC_OP_INT && extent->u.i <= 1)) {
        serial_loop(g, s);
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
    tc_val body = build_parallel_body(g, s, &outer, c), entry = build_parallel_entry(g, body, c);
    leave(g, &outer);
    tc_map_free(&c->used);
    if (g->status == TC_OK)
        call_parallel(g, entry, n, env);
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
        statement(g, arms[i]);
        LLVMBuildBr(g->b, after);
        tc_memo_undo(&g->k->pure, mark);
    }
    LLVMPositionBuilderAtEnd(g->b, after);
}

static void for_statement(tc_cg *g, const tc_stmt *s) {
    switch (s->u.loop.kind) {
    case TC_FOR_SERIAL:
        serial_loop(g, s);
        return;
    case TC_FOR_PARALLEL:
        parallel_loop(g, s);
        return;
    case TC_FOR_VECTOR:
    case TC_FOR_UNROLL:
        tc_cg_fail(g, "loop %s is still marked %s: the function must be lowered first", s->u.loop.var->name,
                   s->u.loop.kind == TC_FOR_VECTOR ? "vector" : "unroll");
        return;
    case TC_NFORS:
        break;
    }
}

static void statement(tc_cg *g, const tc_stmt *s) {
    if (!s || g->status != TC_OK)
        return;
    size_t mark = tc_memo_mark(&g->k->local);
    switch (s->kind) {
    case TC_STMT_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            statement(g, s->u.seq.s[i]);
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
        allocate(g, s->u.alloc.buffer);
        statement(g, s->u.alloc.body);
        break;
    case TC_STMT_PREFETCH:
        tc_cg_prefetch_stmt(g, s);
        break;
    case TC_NSTMTS:
        break;
    }
    tc_memo_undo(&g->k->local, mark);
}

/* ---- the kernel ---- */

static tc_val build_body(tc_cg *g) {
    int n = g->k->f->nparam;
    LLVMTypeRef params[MAX_ARGS];
    char name[256];
    for (int i = 0; i < n + 3; i++)
        params[i] = g->ptr;
    snprintf(name, sizeof name, "%.200s.body", g->symbol);
    open_function(g, new_function(g, name, g->i32, params, n + 3, false));
    add_params(g, 0);
    g->k->shared = LLVMGetParam(g->fn, (unsigned)n);
    pointer_attributes(g, g->fn, n, round64(g->k->f->shared_bytes), false, false);
    g->k->threads = g->k->thread = LLVMGetParam(g->fn, (unsigned)n + 1);
    pointer_attributes(g, g->fn, n + 1, round64(g->k->f->thread_bytes), false, false);
    g->k->rt = LLVMGetParam(g->fn, (unsigned)n + 2);
    tc_val fn = g->fn;
    statement(g, g->k->f->body);
    close_function(g, LLVMConstInt(g->i32, 0, 0));
    return fn;
}

static void build_kernel(tc_cg *g, const tc_func *f) {
    if (f->nparam > MAX_ARGS - 8) {
        tc_cg_fail(g, "has %d arguments; at most %d are supported", f->nparam, MAX_ARGS - 8);
        return;
    }
    tc_val body = build_body(g);
    LLVMTypeRef params[] = {g->ptr, g->ptr, g->ptr};
    tc_val args[MAX_ARGS];
    open_function(g, new_function(g, g->symbol, g->i32, params, 3, true));
    for (int i = 0; i < f->nparam; i++) {
        tc_val k = tc_cg_i64(g, i);
        args[i] = LLVMBuildLoad2(g->b, g->ptr, LLVMBuildGEP2(g->b, g->ptr, LLVMGetParam(g->fn, 0), &k, 1, ""), "");
    }
    tc_val off = tc_cg_i64(g, round64(f->shared_bytes));
    args[f->nparam] = LLVMGetParam(g->fn, 1);
    args[f->nparam + 1] = LLVMBuildGEP2(g->b, g->i8, LLVMGetParam(g->fn, 1), &off, 1, "");
    args[f->nparam + 2] = LLVMGetParam(g->fn, 2);
    close_function(g, LLVMBuildCall2(g->b, LLVMGlobalGetValueType(body), body, args, (unsigned)f->nparam + 3, ""));
}

void tc_cg_function(tc_cg *g, const tc_func *f) {
    tc_cg_kernel k;
    tc_cg_kernel_init(&k, g, f);
    build_kernel(g, f);
    tc_cg_kernel_done(g);
}
