/* Operations of a store's value. Each distinct node counts once per iteration of the loops that it depends on: a value that an
 * inner loop does not change is computed outside of the loop, as the code generator's optimiser does. A sum with a product in it is
 * a fused multiply-add. */
#include "cost_model/nest.h"

#include <stdlib.h>
#include <string.h>

typedef struct counter {
    nest *n;
    store_site *s;
    int depth;
} counter;

enum { MAX_DEPTH = 2000 }; /* of recursion; text forms refuse deeper nesting */
enum { SLOTS_A_CYCLE = 2 };

static level_set visit(counter *k, const tc_expr *e);

/* ---- memo: levels a node depends on; the first visit counts it ---- */

static memo_slot *find_slot(memo_slot *slot, uint32_t cap, uint32_t epoch, const tc_expr *e) {
    uint32_t i = e->id * 2654435761u & (cap - 1);
    while (slot[i].epoch == epoch && slot[i].e != e)
        i = (i + 1) & (cap - 1);
    return &slot[i];
}

static void grow_memo(nest *n) {
    uint32_t cap = n->memo.cap ? 2 * n->memo.cap : 128;
    memo_slot *slot = tc_try_slots(cap, sizeof *slot, n->memo.used + 2 > n->memo.cap);
    if (!slot)
        return;
    for (uint32_t i = 0; i < n->memo.cap; i++)
        if (n->memo.slot[i].epoch == n->memo.epoch)
            *find_slot(slot, cap, n->memo.epoch, n->memo.slot[i].e) = n->memo.slot[i];
    free(n->memo.slot);
    n->memo.slot = slot;
    n->memo.cap = cap;
}

static void remember(nest *n, const tc_expr *e, level_set mask) {
    if (2 * (n->memo.used + 1) > n->memo.cap)
        grow_memo(n);
    memo_slot *slot = find_slot(n->memo.slot, n->memo.cap, n->memo.epoch, e);
    n->memo.used += slot->epoch != n->memo.epoch;
    *slot = (memo_slot){e, mask, n->memo.epoch};
}

/* ---- classes ---- */

static bool is_float(const tc_expr *e) {
    return tc_dtype_is_float((tc_dtype)e->dtype);
}

/* Class by operator, for floats and for integers. */
static enum op_class class_of(const tc_expr *e) {
    const tc_expr *a = e->nargs ? e->args[0] : e;
    bool f = is_float(a);
    switch (e->op) {
    case TC_OP_INT:
    case TC_OP_FLOAT:
    case TC_OP_VAR:
    case TC_OP_READ:
    case TC_OP_LOAD:
    case TC_OP_RAMP:
    case TC_OP_BCAST:
    case TC_NOPS:
        return OPC_NONE;
    case TC_OP_ADD:
    case TC_OP_SUB:
        return f ? OPC_ADD : OPC_IADD;
    case TC_OP_MUL:
        return f ? OPC_MUL : OPC_IMUL;
    case TC_OP_DIV:
    case TC_OP_MOD:
    case TC_OP_TDIV:
    case TC_OP_TMOD:
        return f ? OPC_DIV : OPC_IDIV;
    case TC_OP_FMA:
    case TC_OP_DOT:
        return f ? OPC_FMA : OPC_IMAD;
    case TC_OP_MIN:
    case TC_OP_MAX:
    case TC_OP_EQ:
    case TC_OP_NE:
    case TC_OP_LT:
    case TC_OP_LE:
    case TC_OP_GT:
    case TC_OP_GE:
    case TC_OP_ISNAN:
    case TC_OP_ISINF:
        return f ? OPC_CMP : OPC_ICMP;
    case TC_OP_AND:
    case TC_OP_OR:
    case TC_OP_NOT:
        return OPC_BOOL;
    case TC_OP_SELECT:
        return OPC_SELECT;
    case TC_OP_CAST:
        return OPC_CAST;
    case TC_OP_BAND:
    case TC_OP_BOR:
    case TC_OP_BXOR:
    case TC_OP_SHL:
    case TC_OP_SHR:
        return OPC_IOTHER;
    case TC_OP_ABS:
    case TC_OP_FLOOR:
    case TC_OP_CEIL:
    case TC_OP_ROUND:
    case TC_OP_TRUNC:
        return f ? OPC_OTHER : OPC_IOTHER;
    case TC_OP_POW:
    case TC_OP_SQRT:
    case TC_OP_RSQRT:
    case TC_OP_EXP:
    case TC_OP_LOG:
    case TC_OP_TANH:
    case TC_OP_ERF:
    case TC_OP_SIGMOID:
    case TC_OP_SIN:
    case TC_OP_COS:
    case TC_OP_TAN:
    case TC_OP_ASIN:
    case TC_OP_ACOS:
    case TC_OP_ATAN:
    case TC_OP_SINH:
    case TC_OP_COSH:
    case TC_OP_ASINH:
    case TC_OP_ACOSH:
    case TC_OP_ATANH:
    case TC_OP_EXPM1:
    case TC_OP_LOG1P:
    case TC_OP_NCDF:
        return OPC_MATH;
    }
    return OPC_NONE;
}

/* Issue slots of one vector instruction. Divisions and square roots by their throughput on recent x86 cores (512 bits, published
 * instruction tables); transcendental functions are the length of an inlined polynomial with range reduction. Only their order
 * matters. */
static double slots(const tc_expr *e, enum op_class c) {
    static const struct {
        tc_op op;
        double slots;
    } functions[] = {{TC_OP_SQRT, 12}, {TC_OP_RSQRT, 12}, {TC_OP_POW, 48}, {TC_OP_EXP, 14}, {TC_OP_SIGMOID, 14}};
    enum { DIV = 10, IDIV = 20, OTHER_FUNCTIONS = 24 };
    if (c != OPC_MATH)
        return c == OPC_DIV ? DIV : c == OPC_IDIV ? IDIV : 1;
    for (size_t i = 0; i < TC_LEN(functions); i++)
        if (functions[i].op == e->op)
            return functions[i].slots;
    return OTHER_FUNCTIONS;
}

static int width_of(const tc_expr *e) {
    int own = tc_dtype_bytes((tc_dtype)e->dtype), arg = e->nargs ? tc_dtype_bytes((tc_dtype)e->args[0]->dtype) : own;
    return TC_MAX(own, arg);
}

static void count(counter *k, const tc_expr *e, enum op_class c, level_set mask) {
    if (c == OPC_NONE)
        return;
    double lanes = nest_lanes(k->n, width_of(e)), elements = nest_times(k->n, k->s, mask, 1) * e->lanes;
    double issued = nest_times(k->n, k->s, mask, lanes) * (e->lanes > 1 ? TC_MAX(e->lanes / lanes, 1) : 1);
    k->s->count[c] += elements;
    const tc_intrinsic *dots = k->s->dots;
    if ((k->s->tiles || dots) && c == OPC_CAST) /* the unit takes operands as they are */
        return;
    if (k->s->tiles)
        issued = nest_times(k->n, k->s, mask, 2);
    k->s->arith += issued * (dots ? dots->cycles * SLOTS_A_CYCLE : slots(e, c));
    k->s->arith_plain += issued;
    k->s->issued += issued * lanes * (dots ? dots->group : 1);
    k->s->used += elements;
}

/* ---- nodes ---- */

static level_set visit_args(counter *k, const tc_expr *e) {
    level_set mask = 0;
    for (int i = 0; i < e->nargs; i++)
        mask |= visit(k, e->args[i]);
    return mask;
}

static level_set visit_load(counter *k, const tc_expr *e) {
    address at;
    address_of(k->n, k->s, e->args[0], &at);
    level_set mask = at.moved | nest_owner_levels(k->n, e->u.buffer);
    if (e->nargs > 1)
        mask |= visit(k, e->args[1]);
    if (at.gathered) /* the index is data: its load is one of ours */
        mask |= visit(k, e->args[0]);
    access_add(k->n, k->s, e->u.buffer, &at, true, false, mask);
    k->s->index_div += at.divisions;
    /* What this store keeps changing is never invariant. */
    return e->u.buffer == k->s->s->u.store.buffer ? nest_all_levels(k->s) : mask;
}

/* a + b * c, b * c + a and a - b * c: the operand that is the product, or -1. */
static int product_operand(const counter *k, const tc_expr *e) {
    bool sum = e->op == TC_OP_ADD || e->op == TC_OP_SUB;
    if (!sum || (is_float(e) && !k->n->m->fma))
        return -1;
    for (int i = 1; i >= 0; i--)
        if (e->args[i]->op == TC_OP_MUL)
            return i;
    return -1;
}

static level_set visit_new(counter *k, const tc_expr *e) {
    if (e->op == TC_OP_VAR) {
        int level = nest_level_of(k->n, k->s, e->u.var);
        return level < 0 ? 0 : (level_set)1 << level;
    }
    if (e->op == TC_OP_LOAD)
        return visit_load(k, e);
    int product = product_operand(k, e);
    if (product < 0) {
        level_set mask = visit_args(k, e);
        count(k, e, class_of(e), mask);
        return mask;
    }
    level_set mask = visit_args(k, e->args[product]) | visit(k, e->args[1 - product]);
    count(k, e, is_float(e) ? OPC_FMA : OPC_IMAD, mask);
    return mask;
}

/* Not tc_expr_walk: what a node counts as depends on the one that it stands in (a product in a sum, an index in a load). */
static level_set visit(counter *k, const tc_expr *e) {
    if (k->n->memo.cap) {
        memo_slot *slot = find_slot(k->n->memo.slot, k->n->memo.cap, k->n->memo.epoch, e);
        if (slot->epoch == k->n->memo.epoch)
            return slot->mask;
    }
    if (k->depth >= MAX_DEPTH)
        return 0;
    k->depth++;
    level_set mask = visit_new(k, e);
    k->depth--;
    if (e->nargs)
        remember(k->n, e, mask);
    return mask;
}

void arith_count(nest *n, store_site *s, const tc_expr *value) {
    n->memo.epoch++;
    n->memo.used = 0;
    counter k = {.n = n, .s = s};
    visit(&k, value);
}
