/* Expressions: immutable, interned nodes; within one context (and its parents) pointer equality is structural equality.
 *
 * Semantics, for the interpreters, the simplifier, the code generator and the printer of C alike.
 *
 * Integers of all types wrap modulo 2^bits, and every operation on them has a result (eval.c). DIV and MOD round towards minus
 * infinity, TDIV and TMOD towards zero; the smallest number divided by -1 is itself, with the remainder 0; quotient and remainder
 * by zero are 0. A shift by a negative amount, or by the width and more, leaves the sign: 0, or -1 of a negative number shifted
 * to the right. Indices are i64, and these rules hold for them, too. Some rules hold only if nothing wraps: comparisons and
 * quotients of rearranged sums, LLVM's nsw, C's signed operators. They are used where the ranges of variables and data show that
 * nothing wraps. A variable of unknown range is assumed not to wrap (te/index/affine.h).
 *
 * Floats: every operation rounds to its dtype (f16 and bf16 by way of f32). A lowering may contract a*b+c into FMA and
 * re-associate a *reduction*, nothing else. Casts between integers wrap, from floats they truncate and saturate, and NaN becomes
 * 0.
 *
 * Vectors (lanes > 1) appear in TIR only; the operands of an operation all have its lane count. Comparisons have dtype bool. */
#ifndef TC_TE_EXPR_H
#define TC_TE_EXPR_H

#include <stdbool.h>
#include <stdint.h>

#include "support/arena.h"
#include "support/inputs.h"
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
    TC_FOLDS = 512 /* float immediates are folded, too: the result does not depend on the C library */
};

const char *tc_op_text(tc_op op);
int tc_op_arity(tc_op op);
/* Inline, because everything that handles expressions calls it: it costs one load. */
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

/* A variable. A symbol is a variable that stands for a size: its value is given when the program runs, and does not change during
 * the run. Its range holds wherever the symbol stands. A symbol with a `value` is only a name for that expression: tc_varx
 * returns the expression, and no expression contains the symbol. So arithmetic on sizes stays visible. The arguments of a program
 * are the symbols without a value; the program computes the others. */
typedef struct tc_var {
    const char *name;
    uint32_t id; /* unique within a context and its parents */
    bool is_symbol;
    int64_t least, most;  /* range of a symbol, inclusive */
    const tc_expr *value; /* definition of a symbol by sums, products and quotients of other symbols; else NULL */
} tc_var;

/* Limits of expressions. Constructors make expressions of any size, without recursion. An expression that exceeds a limit is
 * refused when it becomes part of a workload, a schedule or a program (tc_te_workload, the parsers, inlining, split and fused
 * loops).
 *
 * TC_MAX_DEPTH bounds every recursion over expressions, and so the stack: at most 4 KB a level (tests/te/test_limits.c; ranges of
 * conditions take 1.8 KB), 2 MB in all. Lowering replaces axes by indices, which may add half as much depth again. TC_MAX_TREE
 * bounds the nodes of all expressions of a workload, written as trees: text, hashes and estimates take so many steps, even if
 * memory shares the nodes. TC_MAX_SIZE_TREE bounds the definition of one symbol, written with the definitions of its symbols. */
enum { TC_MAX_DEPTH = 500, TC_MAX_TREE = TC_WORK_TE, TC_MAX_SIZE_TREE = TC_WORK_SYMBOL, TC_MAX_LANES = 4096 };
enum { TC_MAX_SIZE = INT32_MAX }; /* the largest size: the product of two sizes does not wrap */

struct tc_expr {
    tc_op op;
    uint8_t dtype; /* tc_dtype */
    uint8_t nargs;
    uint16_t lanes; /* 1 for scalars */
    uint16_t depth; /* 1 for leaves; UINT16_MAX: this depth or more */
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
/* Why the expression cannot define a symbol; NULL: it can. It must consist of symbols and integers with +, -, * and / by an integer
 * above 0, and its values must lie in 0..TC_MAX_SIZE. */
const char *tc_symbol_problem(const tc_expr *value);
bool tc_symbol_is_too_large(const tc_expr *value); /* the problem is one of bounds (inputs.def) */
const tc_var *tc_symbol_defined(tc_ctx *c, const char *name, const tc_expr *value);
/* The value of v if symbol given[i] has the value sizes[i]; given[] has all n symbols without a definition. */
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
/* The operation of a row of intrinsics.def, on any number of lanes. */
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
/* Whether the test holds for e or for an operand at any depth. */
typedef bool tc_expr_test(const tc_expr *e, const void *user);
bool tc_expr_any(const tc_expr *e, tc_expr_test *test, const void *user);
/* The number of nodes of e written as a tree; counting stops at `most` + 1 nodes. For depths up to TC_MAX_DEPTH. */
int64_t tc_expr_tree_size(const tc_expr *e, int64_t most);
bool tc_expr_uses_var(const tc_expr *e, const tc_var *v);
bool tc_expr_touches_memory(const tc_expr *e); /* any READ or LOAD */
static inline bool tc_expr_is_symbol(const tc_expr *e) {
    return e->op == TC_OP_VAR && e->u.var->is_symbol;
}
bool tc_expr_names_symbol(const tc_expr *e);
bool tc_expr_is_of_symbols(const tc_expr *e); /* only symbols and integers: the value does not change during a run */
/* Rewrites bottom-up with memo: fn gets a node whose operands are already rewritten and returns its replacement (or the node).
 * The memo leaves out immediates and variables: fn gets them each time they occur. */
typedef const tc_expr *tc_expr_rewrite(tc_ctx *c, const tc_expr *e, void *user);
const tc_expr *tc_expr_map(tc_ctx *c, const tc_expr *e, tc_expr_rewrite *fn, void *user);
/* Makes e with fn(operand) in place of each operand. For rewriters that have a memo or an order of their own, and for the kinds of
 * nodes that they do not change. */
const tc_expr *tc_expr_map_args(tc_ctx *c, const tc_expr *e, tc_expr_rewrite *fn, void *user);
/* Replaces variables vars[i] by with[i] (scalars; `with` may be vectors only through the vectoriser, not here). */
const tc_expr *tc_expr_subst(tc_ctx *c, const tc_expr *e, int n, const tc_var *const *vars, const tc_expr *const *with);

/* Prints infix text with minimal parentheses: variables by name, tensors as T[i, j]. For expressions of te. */
void tc_expr_print(tc_strbuf *b, const tc_expr *e);
/* The same for expressions of TIR, too, with names that the caller chooses: `namer` gets a VAR, READ or LOAD node and returns the
 * name of its variable, tensor or buffer. */
typedef const char *tc_expr_namer(void *user, const tc_expr *e);
void tc_expr_print_named(tc_strbuf *b, const tc_expr *e, tc_expr_namer *namer, void *user);

#endif
