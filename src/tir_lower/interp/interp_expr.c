/* Expressions of the TIR interpreter, compiled once to straight-line programs over slots. Each value is computed once. A scalar
 * select jumps over the arm that is not taken. A vector select runs both arms with a predicate, so that inactive lanes touch no
 * memory. */
#include <assert.h>
#include <math.h>

#include "tir_lower/interp/interp_int.h"

typedef struct pred {
    int32_t slot;
    int lanes;
} pred;

static const pred ALL = {NO_SLOT, 0};

static int32_t compile(interp *x, const tc_expr *e, pred p);

static int32_t new_temp(interp *x, int lanes) {
    int32_t s = x->ntemp;
    x->ntemp += lanes;
    x->max_temp = TC_MAX(x->max_temp, x->ntemp);
    return s;
}

static int32_t new_perm(interp *x, uint64_t key, val v) {
    int32_t s = ~(int32_t)x->perm.len;
    tc_push(&x->perm, v);
    tc_map_put(&x->perm_slot, key, (uintptr_t)(intptr_t)s);
    return s;
}

/* Variables and nodes have ids of one counter; variables are kept apart by the top bit. */
int32_t interp_var_slot(interp *x, const tc_var *v) {
    uint64_t key = (uint64_t)1 << 63 | v->id;
    uintptr_t *have = tc_map_get(&x->perm_slot, key);
    return have ? (int32_t)(intptr_t)*have : new_perm(x, key, (val){.i = 0});
}

static int32_t immediate(interp *x, const tc_expr *e) {
    uintptr_t *have = tc_map_get(&x->perm_slot, e->id);
    if (have)
        return (int32_t)(intptr_t)*have;
    return new_perm(x, e->id, e->op == TC_OP_INT ? (val){.i = e->u.i} : (val){.f = e->u.f});
}

static uint32_t emit(interp *x, inst i) {
    tc_push(&x->code, i);
    return (uint32_t)x->code.len - 1;
}

static inst base_inst(xcode code, const tc_expr *e, int32_t dst, pred p) {
    return (inst){.code = (uint8_t)code,
                  .op = (uint8_t)e->op,
                  .dtype = e->dtype,
                  .lanes = e->lanes,
                  .dst = dst,
                  .pred = p.slot,
                  .pred_lanes = (uint16_t)p.lanes};
}

/* pred AND (cond == want) */
static pred narrow(interp *x, pred outer, int32_t cond, int lanes, bool want) {
    pred p = {new_temp(x, lanes), lanes};
    emit(x, (inst){.code = X_PRED,
                   .lanes = (uint16_t)lanes,
                   .dst = p.slot,
                   .a = cond,
                   .b = want,
                   .pred = outer.lanes == lanes ? outer.slot : NO_SLOT});
    return p;
}

/* What an arm computes is not there when the arm was not taken: forget it afterwards. */
static int32_t compile_arm(interp *x, const tc_expr *e, pred p) {
    size_t before = x->memo.len;
    int32_t s = compile(x, e, p);
    x->memo.len = before;
    return s;
}

static int32_t scalar_select(interp *x, const tc_expr *e, pred p) {
    int32_t cond = compile(x, e->args[0], p), dst = new_temp(x, 1);
    uint32_t jz = emit(x, (inst){.code = X_JZ, .a = cond});
    emit(x, (inst){.code = X_COPY, .lanes = 1, .dst = dst, .a = compile_arm(x, e->args[1], p)});
    uint32_t jmp = emit(x, (inst){.code = X_JMP});
    x->code.data[jz].dst = (int32_t)x->code.len;
    emit(x, (inst){.code = X_COPY, .lanes = 1, .dst = dst, .a = compile_arm(x, e->args[2], p)});
    x->code.data[jmp].dst = (int32_t)x->code.len;
    return dst;
}

static int32_t vector_select(interp *x, const tc_expr *e, pred p) {
    inst i = base_inst(X_SELECT, e, 0, ALL);
    i.a = compile(x, e->args[0], p);
    i.b = compile_arm(x, e->args[1], narrow(x, p, i.a, e->lanes, true));
    i.c = compile_arm(x, e->args[2], narrow(x, p, i.a, e->lanes, false));
    i.dst = new_temp(x, e->lanes);
    emit(x, i);
    return i.dst;
}

static xcode code_of(const tc_expr *e) {
    bool is_float = e->nargs && tc_dtype_is_float(e->args[0]->dtype);
    if (e->op == TC_OP_CAST && is_float)
        return tc_dtype_is_float(e->dtype) ? X_CAST_FF : X_CAST_FI;
    if (e->op == TC_OP_CAST)
        return tc_dtype_is_float(e->dtype) ? X_CAST_IF : X_CAST_II;
    if (e->op == TC_OP_LOAD)
        return X_LOAD;
    if (e->op == TC_OP_BCAST || e->op == TC_OP_RAMP)
        return e->op == TC_OP_BCAST ? X_BCAST : X_RAMP;
    if (e->op == TC_OP_FMA)
        return X_FMA;
    if (e->op == TC_OP_DOT)
        return X_DOT;
    if (tc_op_traits(e->op) & TC_COMPARE)
        return is_float ? X_CMP_F : X_CMP_I;
    return is_float ? X_FLOAT : X_INT;
}

static int32_t compile_node(interp *x, const tc_expr *e, pred p) {
    if (e->op == TC_OP_SELECT)
        return e->lanes == 1 ? scalar_select(x, e, p) : vector_select(x, e, p);
    int32_t a[3] = {NO_SLOT, NO_SLOT, NO_SLOT};
    for (int k = 0; k < e->nargs && k < 3; k++)
        a[k] = compile(x, e->args[k], p);
    inst i = base_inst(code_of(e), e, new_temp(x, e->lanes), p);
    i.a = a[0];
    i.b = a[1];
    i.c = a[2];
    if (e->nargs)
        i.from = e->args[0]->dtype;
    if (e->op == TC_OP_DOT)
        i.group = (uint8_t)e->args[1]->lanes;
    if (e->op == TC_OP_LOAD)
        i.m = interp_mem(x, e->u.buffer);
    emit(x, i);
    return i.dst;
}

static int32_t compile(interp *x, const tc_expr *e, pred p) {
    if (e->op == TC_OP_VAR)
        return interp_var_slot(x, e->u.var);
    if (e->op == TC_OP_INT || e->op == TC_OP_FLOAT)
        return immediate(x, e);
    for (size_t k = x->memo.len; k-- > 0;)
        if (x->memo.data[k].e == e)
            return x->memo.data[k].slot;
    int32_t s = compile_node(x, e, p);
    tc_push(&x->memo, ((known){e, s}));
    return s;
}

void interp_begin(interp *x) {
    x->memo.len = 0;
    x->ntemp = 0;
}

program interp_compile(interp *x, const tc_expr *e) {
    program p = {.from = (uint32_t)x->code.len};
    p.slot = compile(x, e, ALL);
    p.to = (uint32_t)x->code.len;
    return p;
}

/* ---- running ---- */

static bool active(interp *x, const inst *i, int lane) {
    if (i->pred == NO_SLOT)
        return true;
    const val *p = slot_at(x, i->pred);
    if (i->pred_lanes == i->lanes)
        return p[lane].i;
    for (int k = 0; k < i->pred_lanes; k++)
        if (p[k].i)
            return true;
    return false;
}

static bool run_load(interp *x, const inst *i) {
    const val *index = slot_at(x, i->a), *mask = i->b == NO_SLOT ? NULL : slot_at(x, i->b);
    val *d = slot_at(x, i->dst);
    bool is_float = tc_dtype_is_float(i->dtype);
    for (int k = 0; k < i->lanes; k++) {
        d[k].i = 0; /* is 0.0 too */
        if ((mask && !mask[k].i) || !active(x, i, k))
            continue;
        if (!interp_check_load(x, i->m, index[k].i))
            return false;
        if (is_float)
            d[k].f = tc_load_f(i->dtype, i->m->data, index[k].i);
        else
            d[k].i = tc_load_i(i->dtype, i->m->data, index[k].i);
    }
    return true;
}

static bool run_int(interp *x, const inst *i) {
    const val *a = slot_at(x, i->a), *b = i->b == NO_SLOT ? a : slot_at(x, i->b);
    val *d = slot_at(x, i->dst);
    for (int k = 0; k < i->lanes; k++) {
        if (i->dtype == TC_I64 && i->op == TC_OP_ADD)
            d[k].i = (int64_t)((uint64_t)a[k].i + (uint64_t)b[k].i);
        else if (i->dtype == TC_I64 && i->op == TC_OP_MUL)
            d[k].i = (int64_t)((uint64_t)a[k].i * (uint64_t)b[k].i);
        else
            d[k].i = tc_eval_i((tc_op)i->op, i->from, a[k].i, b[k].i);
    }
    return true;
}

static bool run_float(interp *x, const inst *i) {
    const val *a = slot_at(x, i->a), *b = i->b == NO_SLOT ? a : slot_at(x, i->b);
    val *d = slot_at(x, i->dst);
    for (int k = 0; k < i->lanes; k++)
        if (i->dtype == TC_F32 && i->op == TC_OP_ADD)
            d[k].f = (double)(float)(a[k].f + b[k].f);
        else if (i->dtype == TC_F32 && i->op == TC_OP_MUL)
            d[k].f = (double)(float)(a[k].f * b[k].f);
        else
            d[k].f = tc_eval_f((tc_op)i->op, i->dtype, a[k].f, b[k].f);
    return true;
}

static bool run_cast_ii(interp *x, const inst *i) {
    const val *a = slot_at(x, i->a);
    val *d = slot_at(x, i->dst);
    for (int k = 0; k < i->lanes; k++)
        d[k].i = tc_cast_ii(i->dtype, a[k].i);
    return true;
}

static bool run_cast_if(interp *x, const inst *i) {
    const val *a = slot_at(x, i->a);
    val *d = slot_at(x, i->dst);
    for (int k = 0; k < i->lanes; k++)
        d[k].f = tc_cast_if(i->from, i->dtype, a[k].i);
    return true;
}

static bool run_cast_fi(interp *x, const inst *i) {
    const val *a = slot_at(x, i->a);
    val *d = slot_at(x, i->dst);
    for (int k = 0; k < i->lanes; k++)
        d[k].i = tc_cast_fi(i->dtype, a[k].f);
    return true;
}

static bool run_cast_ff(interp *x, const inst *i) {
    const val *a = slot_at(x, i->a);
    val *d = slot_at(x, i->dst);
    for (int k = 0; k < i->lanes; k++)
        d[k].f = tc_round_f(i->dtype, a[k].f);
    return true;
}

static bool run_compare_f(interp *x, const inst *i) {
    const val *a = slot_at(x, i->a), *b = i->b == NO_SLOT ? a : slot_at(x, i->b);
    val *d = slot_at(x, i->dst);
    for (int k = 0; k < i->lanes; k++)
        d[k].i = tc_eval_compare_f((tc_op)i->op, a[k].f, b[k].f);
    return true;
}

static bool run_fma(interp *x, const inst *i) {
    const val *a = slot_at(x, i->a), *b = slot_at(x, i->b), *c = slot_at(x, i->c);
    val *d = slot_at(x, i->dst);
    for (int k = 0; k < i->lanes; k++)
        d[k].f = tc_eval_fma(i->dtype, a[k].f, b[k].f, c[k].f);
    return true;
}

static bool run_select(interp *x, const inst *i) {
    const val *a = slot_at(x, i->a), *b = slot_at(x, i->b), *c = slot_at(x, i->c);
    val *d = slot_at(x, i->dst);
    for (int k = 0; k < i->lanes; k++)
        d[k] = a[k].i ? b[k] : c[k];
    return true;
}

static bool run_pred(interp *x, const inst *i) {
    const val *a = slot_at(x, i->a), *p = i->pred == NO_SLOT ? NULL : slot_at(x, i->pred);
    val *d = slot_at(x, i->dst);
    for (int k = 0; k < i->lanes; k++)
        d[k].i = (a[k].i != 0) == (i->b != 0) && (!p || p[k].i);
    return true;
}

static bool run_copy(interp *x, const inst *i) {
    const val *a = slot_at(x, i->a);
    val *d = slot_at(x, i->dst);
    for (int k = 0; k < i->lanes; k++)
        d[k] = a[k];
    return true;
}

static bool run_bcast(interp *x, const inst *i) {
    val v = *slot_at(x, i->a), *d = slot_at(x, i->dst);
    for (int k = 0; k < i->lanes; k++)
        d[k] = v;
    return true;
}

static bool run_ramp(interp *x, const inst *i) {
    int64_t base = slot_at(x, i->a)->i, stride = slot_at(x, i->b)->i;
    val *d = slot_at(x, i->dst);
    for (int k = 0; k < i->lanes; k++)
        d[k].i = (int64_t)((uint64_t)base + (uint64_t)k * (uint64_t)stride);
    return true;
}

static bool run_dot(interp *x, const inst *i) {
    const val *acc = slot_at(x, i->a), *a = slot_at(x, i->b), *b = slot_at(x, i->c);
    val *d = slot_at(x, i->dst);
    for (int k = 0; k < i->lanes; k++) {
        val v = acc[k];
        for (int q = 0; q < i->group; q++) {
            const val *w = &b[i->group * k + q];
            if (tc_dtype_is_float(i->dtype))
                v.f = tc_eval_fma(i->dtype, a[q].f, w->f, v.f);
            else
                v.i = tc_cast_ii(i->dtype, v.i + a[q].i * w->i);
        }
        d[k] = v;
    }
    return true;
}

/* False: it failed, and the interpreter says how. */
typedef bool runner(interp *x, const inst *i);
static runner *const RUNNERS[] = {
    [X_INT] = run_int,         [X_FLOAT] = run_float,     [X_CMP_I] = run_int,       [X_CMP_F] = run_compare_f,
    [X_FMA] = run_fma,         [X_DOT] = run_dot,         [X_SELECT] = run_select,   [X_PRED] = run_pred,
    [X_COPY] = run_copy,       [X_LOAD] = run_load,       [X_BCAST] = run_bcast,     [X_RAMP] = run_ramp,
    [X_CAST_II] = run_cast_ii, [X_CAST_IF] = run_cast_if, [X_CAST_FI] = run_cast_fi, [X_CAST_FF] = run_cast_ff,
};
static_assert(TC_LEN(RUNNERS) == X_NCODES, "an instruction has no runner");

bool interp_exec(interp *x, program p) {
    for (uint32_t pc = p.from; pc < p.to; pc++) {
        const inst *i = &x->code.data[pc];
        if (i->code == X_JMP || i->code == X_JZ) {
            if (i->code == X_JMP || !slot_at(x, i->a)->i)
                pc = (uint32_t)i->dst - 1;
        } else if (!RUNNERS[i->code](x, i)) {
            return false;
        }
    }
    return true;
}
