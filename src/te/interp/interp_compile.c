/* Compiles an expression to a program. A mask is the set of conditions of the selects around a node. A node is compiled once per
 * mask; a node compiled under fewer conditions also serves under more conditions. Masks matter only to operations that can fail,
 * so arms without memory accesses get no mask. */
#include "te/interp/interp_int.h"

#include <stdlib.h>

#include "support/map.h"

typedef struct mask {
    int reg; /* -1: everywhere */
    int outer;
} mask;

typedef struct compiler {
    program *p;
    tc_map regs;    /* (mask, id) -> register */
    tc_map depends; /* register -> 1 if it varies with a reduction axis */
    TC_VEC(mask) masks;
    TC_VEC(insn) once, code;
    TC_VEC(cell) constant; /* initial value per register */
} compiler;

static int new_reg(compiler *k, bool varies) {
    int r = k->p->nreg++;
    tc_push(&k->constant, ((cell){.i = 0}));
    if (varies)
        tc_map_put(&k->depends, (uint64_t)r, 1);
    return r;
}

static bool varies(const compiler *k, int r) {
    return r >= 0 && tc_map_get(&k->depends, (uint64_t)r) != NULL;
}

static int emit(compiler *k, insn i) {
    bool v = varies(k, i.a) || varies(k, i.b) || varies(k, i.c) || varies(k, i.mask);
    if (i.op == TC_OP_READ)
        for (int d = 0; d < i.read->nargs; d++)
            v |= varies(k, i.idx[d]);
    i.dst = new_reg(k, v);
    if (v)
        tc_push(&k->code, i);
    else
        tc_push(&k->once, i);
    return i.dst;
}

static uint64_t key(int m, uint32_t id) {
    return (uint64_t)m << 32 | id;
}

static int find(const compiler *k, int m, uint32_t id) {
    for (; m >= 0; m = k->masks.data[m].outer) {
        const uintptr_t *r = tc_map_get(&k->regs, key(m, id));
        if (r)
            return (int)*r;
    }
    return -1;
}

static int compile(compiler *k, const tc_expr *e, int m);

/* The mask of an arm of a select whose condition is in register cond. */
static int arm_mask(compiler *k, const tc_expr *arm, int cond, bool negated, int m) {
    if (!tc_expr_touches_memory(arm))
        return m;
    int reg = cond, outer = k->masks.data[m].reg;
    insn i = {.dtype = TC_BOOL, .a = reg, .b = -1, .c = -1, .mask = -1};
    if (negated) {
        i.op = TC_OP_NOT;
        reg = emit(k, i);
    }
    if (outer >= 0) {
        i.op = TC_OP_AND;
        i.a = outer;
        i.b = reg;
        reg = emit(k, i);
    }
    tc_push(&k->masks, ((mask){reg, m}));
    return (int)k->masks.len - 1;
}

static int compile_select(compiler *k, const tc_expr *e, int m) {
    insn i = {.op = TC_OP_SELECT, .dtype = e->dtype, .mask = -1};
    i.a = compile(k, e->args[0], m);
    i.b = compile(k, e->args[1], arm_mask(k, e->args[1], i.a, false, m));
    i.c = compile(k, e->args[2], arm_mask(k, e->args[2], i.a, true, m));
    return emit(k, i);
}

static int compile_node(compiler *k, const tc_expr *e, int m) {
    if (e->op == TC_OP_INT || e->op == TC_OP_FLOAT) {
        int r = new_reg(k, false);
        k->constant.data[r].i = e->u.i; /* or the bits of the double */
        return r;
    }
    assert(e->op != TC_OP_VAR && e->op != TC_OP_LOAD); /* axes have registers already; loads are TIR's */
    if (e->op == TC_OP_SELECT)
        return compile_select(k, e, m);
    insn i = {.op = e->op, .dtype = e->dtype, .a = -1, .b = -1, .c = -1, .mask = e->op == TC_OP_READ ? k->masks.data[m].reg : -1};
    if (e->op == TC_OP_READ) {
        i.read = e;
        for (int d = 0; d < e->nargs; d++)
            i.idx[d] = compile(k, e->args[d], m);
        return emit(k, i);
    }
    int *operands[] = {&i.a, &i.b, &i.c};
    for (int n = 0; n < e->nargs; n++)
        *operands[n] = compile(k, e->args[n], m);
    if (e->op == TC_OP_CAST)
        i.from = e->args[0]->dtype;
    if (tc_op_traits(e->op) & TC_COMPARE)
        i.dtype = e->args[0]->dtype;
    return emit(k, i);
}

static int compile(compiler *k, const tc_expr *e, int m) {
    int r = find(k, m, e->id);
    if (r < 0) {
        r = compile_node(k, e, m);
        tc_map_put(&k->regs, key(m, e->id), (uintptr_t)r);
    }
    return r;
}

static void bind_axes(compiler *k, const tc_compute *op, const tc_map *var_nodes) {
    for (int i = 0; i < op->naxis + op->nraxis; i++) {
        bool reduce = i >= op->naxis;
        const tc_var *v = reduce ? op->raxes[i - op->naxis].var : op->axes[i].var;
        const uintptr_t *id = tc_map_get(var_nodes, v->id);
        int r = id ? new_reg(k, reduce) : -1;
        *(reduce ? &k->p->raxis[i - op->naxis] : &k->p->axis[i]) = r;
        if (id)
            tc_map_put(&k->regs, key(0, (uint32_t)*id), (uintptr_t)r);
    }
}

static void note_var(const tc_expr *e, void *user) {
    if (e->op == TC_OP_VAR)
        tc_map_put(user, e->u.var->id, e->id);
}

/* The sum is accumulated in double; rounding each term first would only lose digits. */
static void keep_terms_exact(compiler *k) {
    const tc_compute *op = k->p->op;
    insn *last = varies(k, k->p->body[0]) ? (k->code.len ? &k->code.data[k->code.len - 1] : NULL) : NULL;
    if (op->reducer != TC_RED_SUM || !last || last->dst != k->p->body[0])
        return;
    bool arithmetic = last->op == TC_OP_ADD || last->op == TC_OP_SUB || last->op == TC_OP_MUL || last->op == TC_OP_DIV;
    if (arithmetic && tc_dtype_is_float(last->dtype))
        last->dtype = TC_F64;
}

static void finish(compiler *k) {
    program *p = k->p;
    p->nonce = (int)k->once.len;
    p->ncode = (int)(k->once.len + k->code.len);
    p->code = tc_xmalloc(sizeof(insn) * (size_t)(p->ncode + 1));
    if (k->once.len)
        memcpy(p->code, k->once.data, sizeof(insn) * k->once.len);
    if (k->code.len)
        memcpy(p->code + p->nonce, k->code.data, sizeof(insn) * k->code.len);
    p->reg = tc_xcalloc((size_t)p->nreg + 1, sizeof *p->reg);
    for (int r = 0; r < p->nreg; r++)
        for (int l = 0; l < LANES; l++)
            p->reg[r][l] = k->constant.data[r];
}

void te_program_compile(program *p, const tc_compute *op) {
    *p = (program){.op = op, .raxis = tc_xcalloc((size_t)op->nraxis + 1, sizeof(int))};
    compiler k = {.p = p};
    tc_map var_nodes = {0};
    for (int o = 0; o < op->nout; o++)
        tc_expr_walk(op->body[o], note_var, &var_nodes);
    tc_push(&k.masks, ((mask){-1, -1}));
    bind_axes(&k, op, &var_nodes);
    for (int o = 0; o < op->nout; o++)
        p->body[o] = compile(&k, op->body[o], 0);
    keep_terms_exact(&k);
    finish(&k);
    tc_map_free(&var_nodes);
    tc_map_free(&k.regs);
    tc_map_free(&k.depends);
    tc_vec_free(&k.masks);
    tc_vec_free(&k.once);
    tc_vec_free(&k.code);
    tc_vec_free(&k.constant);
}

void te_program_free(program *p) {
    free(p->reg);
    free(p->code);
    free(p->raxis);
}
