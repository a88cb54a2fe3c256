/* Expressions: immutable, interned nodes; within one context (and its parents) pointer equality is structural equality.
 *
 * Semantics, for the interpreters, the simplifier, the code generator and the printer of C alike.
 *
 * Integers of all types wrap modulo 2^bits, and every operation on them has a result (eval.c). DIV and MOD round towards minus
 * infinity, TDIV and TMOD towards zero; the smallest number divided by -1 is itself, with the remainder 0; quotient and remainder
 * by zero are 0. A shift by a negative amount, or by the width and more, leaves the sign: 0, or -1 of a negative number shifted to
 * the right. Indices are i64 and no exception. Rules that are true of whole numbers only (that order and quotients of sums survive
 * rearranging, LLVM's nsw, C's signed operators) are used where the ranges of variables and data show that nothing wraps; of a
 * variable of which nothing is known it is taken for granted (te/index/affine.h).
 *
 * Floats: every operation rounds to its dtype (f16 and bf16 by way of f32). A lowering may contract a*b+c into FMA and re-associate
 * a *reduction*, nothing else. Casts between integers wrap, from floats they truncate and saturate, and NaN becomes 0.
 *
 * Vectors (lanes > 1) appear in TIR only; the operands of an operation all have its lane count. Comparisons have dtype bool. */
#ifndef TC_TE_EXPR_H
#define TC_TE_EXPR_H

#include <stdbool.h>
#include <stdint.h>

#include "support/arena.h"
#include "support/status.h"
#include "support/strbuf.h"
#include "te/dtype.h"

typedef enum __attribute__((packed)) tc_op { /* a byte in each node */
#define OP(id, text, arity, traits, takes) TC_OP_##id,
#include "te/ops.def"
#undef OP
                                             TC_NOPS
} tc_op;

enum tc_op_trait {
    TC_LEAF = 1,
    TC_COMMUTES = 2,
    TC_ASSOCIATES = 4,
    TC_IDEMPOTENT = 8,
    TC_COMPARE = 16,
    TC_LOGIC = 32,
    TC_MATH = 64,
    TC_MEMORY = 128,
    TC_VECTOR = 256,
    TC_FOLDS = 512 /* of float immediates too: the result does not depend on the C library */
};

const char *tc_op_text(tc_op op);
int tc_op_arity(tc_op op);
/* Here, so that asking costs a load: everything that handles expressions does. */
static inline unsigned tc_op_traits(tc_op op) {
    enum {
        LEAF = TC_LEAF,
        COMMUTES = TC_COMMUTES,
        ASSOCIATES = TC_ASSOCIATES,
        IDEMPOTENT = TC_IDEMPOTENT,
        COMPARE = TC_COMPARE,
        LOGIC = TC_LOGIC,
        MATH = TC_MATH,
        MEMORY = TC_MEMORY,
        VECTOR = TC_VECTOR,
        FOLDS = TC_FOLDS
    };
    static const uint16_t traits[] = {
#define OP(id, text, arity, traits, takes) traits,
#include "te/ops.def"
#undef OP
    };
    return traits[op];
}

typedef struct tc_tensor tc_tensor; /* te/te.h */
typedef struct tc_buffer tc_buffer; /* tir_lower/tir.h; opaque here */

typedef struct tc_expr tc_expr;

/* A symbol is a variable whose value is given when the program runs, and the same throughout: a size. What is known of its range
 * is known wherever it stands. One that is defined by others is a name for its definition: no expression holds it, tc_varx gives
 * what it is made of, and so what is computed with sizes is seen. Only those that are not defined are arguments of a program,
 * which computes the others itself. */
typedef struct tc_var {
    const char *name;
    uint32_t id; /* unique within a context and its parents */
    bool is_symbol;
    int64_t least, most;  /* of a symbol, inclusive */
    const tc_expr *value; /* of a symbol that others define: sums, products and quotients of them; else NULL */
} tc_var;

/* How large expressions may get. Constructors make any, none of them recurs; where one becomes part of a workload, of a schedule
 * or of a program (tc_te_workload, the parsers, inlining, loops that are split and fused), what exceeds a limit is refused there.
 *
 * TC_MAX_DEPTH bounds every recursion over expressions, and so the stack: at most 4 KB a level (tests/te/test_limits.c; measured:
 * 2.9 KB, by the check of accesses), 2 MB in all. Lowering puts indices in the place of axes, which may make half as much again.
 * Nodes as a tree are what text, hashes and estimates take, however much is shared in memory. */
enum { TC_MAX_DEPTH = 500, TC_MAX_TREE = 1 << 20, TC_MAX_LANES = 4096 };
enum { TC_MAX_SIZE = INT32_MAX }; /* of a symbol: products of two of them do not wrap */

struct tc_expr {
    tc_op op;
    uint8_t dtype; /* tc_dtype */
    uint8_t nargs;
    uint16_t lanes; /* 1 for scalars */
    uint16_t depth; /* 1 for leaves; UINT16_MAX: that deep or deeper */
    uint32_t id;    /* dense, unique within a context and its parents: key for side tables */
    uint32_t hash;
    union {
        int64_t i;
        double f;
        const tc_var *var;
        const tc_tensor *tensor;
        const tc_buffer *buffer;
    } u;
    const tc_expr *args[];
};

/* Owns variables, expressions, tensors, workloads and everything built on them. Not thread-safe; a frozen parent may have one
 * child per thread. A child sees (and shares) its parents' nodes; resetting it forgets only its own. */
typedef struct tc_ctx tc_ctx;

tc_ctx *tc_ctx_new(void);
tc_ctx *tc_ctx_child(const tc_ctx *parent); /* the parent must not grow while the child lives */
void tc_ctx_reset(tc_ctx *child);           /* children only */
void tc_ctx_free(tc_ctx *c);
tc_arena *tc_ctx_arena(tc_ctx *c);
uint32_t tc_ctx_next_id(tc_ctx *c); /* fresh id from the same counter as expressions and variables */

const tc_var *tc_var_new(tc_ctx *c, const char *name); /* always a new variable; name is copied and need not be unique */
const tc_var *tc_symbol_new(tc_ctx *c, const char *name, int64_t least,
                            int64_t most); /* 0 <= least <= most, 1 <= most <= TC_MAX_SIZE */
/* Why this cannot define a symbol; NULL if it can: it is made of symbols and integers with +, -, * and / by an
 * integer above 0, and lies in 0..TC_MAX_SIZE. */
const char *tc_symbol_problem(const tc_expr *value);
const tc_var *tc_symbol_defined(tc_ctx *c, const char *name, const tc_expr *value);
/* The value of v where given[i] has sizes[i], for all n that are not defined. */
int64_t tc_symbol_at(const tc_var *v, int n, const tc_var *const *given, const int64_t *sizes);

/* Constructors. They check their operands (check.c; a wrong one is a bug) and canonicalise only the trivial: constant folding of
 * immediates, x+0, x*1, x*0 (integers), constants to the right of + and *. Everything else is tc_te_simplify's. */
const tc_expr *tc_int(tc_ctx *c, tc_dtype t, int64_t v); /* integer or bool immediate, wrapped to t */
const tc_expr *tc_i64(tc_ctx *c, int64_t v);
const tc_expr *tc_bool(tc_ctx *c, bool v);
const tc_expr *tc_float(tc_ctx *c, tc_dtype t, double v); /* rounded to t */
const tc_expr *tc_imm(tc_ctx *c, tc_dtype t, double v);   /* either, by dtype */
const tc_expr *tc_varx(tc_ctx *c, const tc_var *v);
const tc_expr *tc_read(tc_ctx *c, const tc_tensor *t, int n, const tc_expr *const *idx);
const tc_expr *tc_load(tc_ctx *c, const tc_buffer *b, tc_dtype elem, const tc_expr *index, const tc_expr *mask);
const tc_expr *tc_ramp(tc_ctx *c, const tc_expr *base, const tc_expr *stride, int lanes);
const tc_expr *tc_bcast(tc_ctx *c, const tc_expr *x, int lanes); /* lanes == 1 returns x */
const tc_expr *tc_bin(tc_ctx *c, tc_op op, const tc_expr *a, const tc_expr *b);
const tc_expr *tc_un(tc_ctx *c, tc_op op, const tc_expr *a);
/* What a row of intrinsics.def does, in any number of lanes. */
const tc_expr *tc_dot(tc_ctx *c, const tc_expr *acc, const tc_expr *a, const tc_expr *b);
const tc_expr *tc_fma(tc_ctx *c, const tc_expr *a, const tc_expr *b, const tc_expr *d);
const tc_expr *tc_select(tc_ctx *c, const tc_expr *cond, const tc_expr *a, const tc_expr *b);
const tc_expr *tc_cast(tc_ctx *c, tc_dtype t, const tc_expr *a); /* keeps lanes; same dtype returns a */
/* The same node with other operands (args[] replaced, payload kept); re-infers dtype and lanes, re-canonicalises. */
const tc_expr *tc_with_args(tc_ctx *c, const tc_expr *e, const tc_expr *const *args);

#define tc_add(c, a, b) tc_bin((c), TC_OP_ADD, (a), (b))
#define tc_sub(c, a, b) tc_bin((c), TC_OP_SUB, (a), (b))
#define tc_mul(c, a, b) tc_bin((c), TC_OP_MUL, (a), (b))
#define tc_div(c, a, b) tc_bin((c), TC_OP_DIV, (a), (b))
#define tc_mod(c, a, b) tc_bin((c), TC_OP_MOD, (a), (b))

static inline bool tc_is_int(const tc_expr *e, int64_t v) {
    return e->op == TC_OP_INT && e->u.i == v;
}

/* ---- traversal (rewrite.c) ---- */

/* Visits e and all operands, each distinct node once, operands first. */
typedef void tc_expr_visit(const tc_expr *e, void *user);
void tc_expr_walk(const tc_expr *e, tc_expr_visit *fn, void *user);
/* Whether the test holds for e or an operand, however deep. */
typedef bool tc_expr_test(const tc_expr *e, const void *user);
bool tc_expr_any(const tc_expr *e, tc_expr_test *test, const void *user);
/* Nodes of e as a tree, at most `most` + 1. For depths up to TC_MAX_DEPTH. */
int64_t tc_expr_tree_size(const tc_expr *e, int64_t most);
bool tc_expr_uses_var(const tc_expr *e, const tc_var *v);
bool tc_expr_touches_memory(const tc_expr *e); /* any READ or LOAD */
static inline bool tc_expr_is_symbol(const tc_expr *e) {
    return e->op == TC_OP_VAR && e->u.var->is_symbol;
}
bool tc_expr_names_symbol(const tc_expr *e);
bool tc_expr_is_of_symbols(const tc_expr *e); /* made of symbols and integers alone: the same throughout a run */
/* Rewrites bottom-up with memo: fn gets a node whose operands are already rewritten and returns its replacement (or the node).
 * Immediates and variables are not remembered: fn gets them as often as they stand there. */
typedef const tc_expr *tc_expr_rewrite(tc_ctx *c, const tc_expr *e, void *user);
const tc_expr *tc_expr_map(tc_ctx *c, const tc_expr *e, tc_expr_rewrite *fn, void *user);
/* e with fn(operand) for each of its operands: what a rewriter with a memo or an order of its own does about the kinds that it has
 * nothing to say of. */
const tc_expr *tc_expr_map_args(tc_ctx *c, const tc_expr *e, tc_expr_rewrite *fn, void *user);
/* Replaces variables vars[i] by with[i] (scalars; `with` may be vectors only through the vectoriser, not here). */
const tc_expr *tc_expr_subst(tc_ctx *c, const tc_expr *e, int n, const tc_var *const *vars, const tc_expr *const *with);

/* Infix text with minimal parentheses, of what te has: variables by name, tensors T[i, j]. */
void tc_expr_print(tc_strbuf *b, const tc_expr *e);
/* The same of what TIR has too, with names of the caller's choice: `namer` gets a VAR, READ or LOAD node and returns the name to
 * print for its variable, tensor or buffer. */
typedef const char *tc_expr_namer(void *user, const tc_expr *e);
void tc_expr_print_named(tc_strbuf *b, const tc_expr *e, tc_expr_namer *namer, void *user);

#endif
