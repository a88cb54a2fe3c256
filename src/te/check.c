/* What operands every kind of node takes, in one place. The constructors assert it; the parser reports a violation with its
 * position. The check is total: it accepts any operands of any kind. */
#include "te/te_int.h"

te_takes te_takes_of(tc_op op) {
    static const uint8_t TAKES[] = {
#define OP(id, text, arity, traits, takes) TE_##takes,
#include "te/ops.def"
#undef OP
    };
    return (te_takes)TAKES[op];
}

static const char *dtype_problem(te_takes what, tc_dtype t) {
    bool is_float = tc_dtype_is_float(t);
    bool computes = what == TE_BITS || what == TE_NUMBERS || what == TE_INTEGERS || what == TE_FLOATS;
    if (computes && tc_dtype_is_stored(t))
        return "8-bit floats and 4-bit integers are for storage only: cast the operands";
    switch (what) {
    case TE_BOOLS:
        return t == TC_BOOL ? NULL : "the operands must be bool";
    case TE_BITS:
        return is_float ? "the operands must be integers or bool" : NULL;
    case TE_NUMBERS:
        return t == TC_BOOL ? "the operands must be numbers, not bool" : NULL;
    case TE_INTEGERS:
        return is_float ? "the operands must be integers" : dtype_problem(TE_NUMBERS, t);
    case TE_FLOATS:
        return is_float ? NULL : t == TC_BOOL ? "the operands must be numbers, not bool" : "the operands must be floats";
    case TE_A_FLOAT:
        return is_float ? NULL : "the operand must be a float";
    case TE_NOTHING:
    case TE_INDICES:
    case TE_ADDRESS:
    case TE_PROGRESSION:
    case TE_SCALAR:
    case TE_GROUPS:
    case TE_CHOICE:
    case TE_CONVERTIBLE:
    case TE_ANYTHING:
        return NULL;
    }
    return NULL;
}

const char *te_op_problem(tc_op op, const tc_expr *a, const tc_expr *b) {
    if (b && a->dtype != b->dtype)
        return "the operands have different dtypes";
    if (b && a->lanes != b->lanes)
        return "the operands have different lane counts";
    return dtype_problem(te_takes_of(op), a->dtype);
}

static const char *indices_problem(const tc_expr *e, const tc_expr *const *args) {
    if (e->nargs != e->u.tensor->ndim)
        return "a read has one index for each dimension of its tensor";
    for (int i = 0; i < e->nargs; i++)
        if (!tc_dtype_is_int(args[i]->dtype) || args[i]->lanes != 1)
            return "the indices of a read must be scalar integers";
    return NULL;
}

static const char *address_problem(const tc_expr *e, const tc_expr *const *args) {
    if (e->nargs < 1 || args[0]->dtype != TC_I64)
        return "the index of a load must be i64";
    if (e->nargs > 1 && (args[1]->dtype != TC_BOOL || args[1]->lanes != args[0]->lanes))
        return "the mask of a load must be bool with the lanes of its index";
    return NULL;
}

static const char *lanes_problem(const tc_expr *e, const tc_expr *const *args) {
    for (int i = 0; i < e->nargs; i++)
        if (args[i]->lanes != 1 || (te_takes_of(e->op) == TE_PROGRESSION && args[i]->dtype != TC_I64))
            return e->op == TC_OP_RAMP ? "ramp takes an i64 base and stride" : "bcast takes a scalar";
    return e->lanes >= 1 && e->lanes <= TC_MAX_LANES ? NULL : "a vector has 1 to 4096 lanes";
}

static const char *groups_problem(const tc_expr *const *args) {
    const tc_expr *acc = args[0], *a = args[1], *b = args[2];
    const tc_intrinsic *row = tc_intrinsic_of(TC_INTRINSICS_ALL, acc->dtype, a->dtype, b->dtype);
    if (!row)
        return "dot adds products of 8-bit integers to i32, or bf16 times bf16 to f32";
    if (a->lanes != row->group || b->lanes != a->lanes * acc->lanes)
        return "the second operand of dot has 4 lanes (bf16: 2); the third operand has this number for each lane of the first";
    return NULL;
}

static const char *choice_problem(const tc_expr *const *args) {
    const char *arms = te_op_problem(TC_OP_SELECT, args[1], args[2]);
    if (args[0]->dtype != TC_BOOL)
        return "the first operand of select must be bool";
    return !arms && args[0]->lanes != args[1]->lanes ? "the condition and the arms of select have different lane counts" : arms;
}

const char *te_problem(const tc_expr *e, const tc_expr *const *args) {
    switch (te_takes_of(e->op)) {
    case TE_NOTHING:
        return NULL;
    case TE_INDICES:
        return indices_problem(e, args);
    case TE_ADDRESS:
        return address_problem(e, args);
    case TE_PROGRESSION:
    case TE_SCALAR:
        return lanes_problem(e, args);
    case TE_GROUPS:
        return groups_problem(args);
    case TE_CHOICE:
        return choice_problem(args);
    case TE_CONVERTIBLE:
    case TE_ANYTHING:
    case TE_BOOLS:
    case TE_BITS:
    case TE_NUMBERS:
    case TE_INTEGERS:
    case TE_FLOATS:
    case TE_A_FLOAT:
        break;
    }
    const char *why = NULL;
    for (int i = 0; i < e->nargs && !why; i++)
        why = te_op_problem(e->op, args[0], args[i]);
    return why;
}
