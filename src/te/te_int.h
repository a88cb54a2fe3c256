/* What the files of te share and no other folder sees. */
#ifndef TC_TE_TE_INT_H
#define TC_TE_TE_INT_H

#include <assert.h>
#include <string.h>

#include "support/lex.h"
#include "support/vec.h"
#include "te/eval.h"
#include "te/index/prove.h"
#include "te/intrinsic.h"
#include "te/te.h"
#include "te/text.h"

/* ---- contexts (ctx.c) ---- */
/* The interned node equal to `key` with these operands; made if new. id and hash of key are ignored. */
const tc_expr *te_intern(tc_ctx *c, const tc_expr *key, const tc_expr *const *args);

/* ---- small tables by node id, on the stack until they grow (rewrite.c) ---- */
enum { TE_MEMO_INLINE = 64 };
typedef struct te_memo {
    uint32_t *keys; /* id + 1; 0 is free */
    const tc_expr **values;
    uint32_t nslots, len;
    uint32_t inline_keys[TE_MEMO_INLINE];
    const tc_expr *inline_values[TE_MEMO_INLINE]; /* of those with a key */
} te_memo;
void te_memo_init(te_memo *m);
void te_memo_free(te_memo *m);
const tc_expr *te_memo_get(const te_memo *m, uint32_t id);       /* NULL: absent */
bool te_memo_put(te_memo *m, uint32_t id, const tc_expr *value); /* false: was there (then overwritten) */

/* ---- comparisons (eval.c) ---- */
/* How two values can stand to each other; the set of those for which a comparison of two operands holds. */
enum { TE_LESS = 1, TE_EQUAL = 2, TE_GREATER = 4, TE_UNORDERED = 8 /* floats: one is NaN */ };
unsigned te_comparison(tc_op op);
/* The comparison that holds where this one does not; of integers, or of EQ and NE. */
static inline tc_op te_negated(tc_op op) {
    return op == TC_OP_EQ   ? TC_OP_NE
           : op == TC_OP_NE ? TC_OP_EQ
           : op == TC_OP_LT ? TC_OP_GE
           : op == TC_OP_GE ? TC_OP_LT
           : op == TC_OP_GT ? TC_OP_LE
                            : TC_OP_GT;
}

/* ---- reducers (te.c): the rows of reducers.def ---- */
enum te_start { TE_START_ZERO, TE_START_ONE, TE_START_LOWEST, TE_START_HIGHEST };
typedef struct te_reducer {
    const char *text;
    tc_op op;
    int nout;
    enum te_start start;
} te_reducer;
const te_reducer *te_reducer_of(tc_reducer r);
/* The result is one of the values that are reduced. */
static inline bool te_reducer_chooses(tc_reducer r) {
    enum te_start s = te_reducer_of(r)->start;
    return s == TE_START_LOWEST || s == TE_START_HIGHEST;
}
typedef struct te_number {
    double f;  /* of a float type */
    int64_t i; /* of an integer or bool */
} te_number;
/* What output o of dtype t starts from. */
te_number te_reducer_start(tc_reducer r, int o, tc_dtype t);

/* Its axes, and then its reduction axes. */
static inline const tc_axis *te_axis_of(const tc_compute *op, int i) {
    return i < op->naxis ? &op->axes[i] : &op->raxes[i - op->naxis];
}

/* Renames an output of a compute that was just made; `name` lives in the context. */
void te_name_output(const tc_compute *op, int o, const char *name);

/* ---- symbols (symbol.c) ---- */
/* One symbol, or two with one definition. */
bool te_same_size(const tc_var *a, const tc_var *b);

/* tc_te_workload; on an error in one compute *culprit (may be NULL) is set to it, else left alone. */
tc_status te_workload(tc_ctx *c, int nin, const tc_tensor *const *in, int nout, const tc_tensor *const *out, tc_workload **w,
                      const tc_compute **culprit, tc_error *err);
/* Every READ in a workload's bodies inside its tensor, as far as intervals can tell (access.c). */
tc_status te_check_accesses(const tc_workload *w, const tc_compute **culprit, tc_error *err);
/* Bytes that a tensor or an iteration space may have at most; above, shapes are taken for mistakes and arithmetic could overflow.
 */
#define TE_MAX_BYTES ((int64_t)1 << 50)

/* ---- text (print_te.c) ---- */
/* `canonical`: names p0.., t0.., i0.., k0.. instead of the workload's own. */
void te_print(tc_strbuf *b, const tc_workload *w, bool canonical);
/* Names that the text form gives a meaning, so that no variable can have them. */
bool te_reserved(const char *name);

/* ---- expressions as text (print.c, parse_expr.c) ---- */
enum { TE_PREC_OR = 1, TE_PREC_AND, TE_PREC_COMPARE, TE_PREC_ADD, TE_PREC_MUL, TE_PREC_UNARY };
/* Of an infix operator how strongly it binds; all else are as strong as what has one operand. */
int te_precedence(tc_op op);
/* The token after the current one is `text`. */
bool te_peek_is(const tc_lex *lex, const char *text);

/* ---- constants ---- */
/* The immediate that x is or broadcasts; NULL if it is neither. */
static inline const tc_expr *te_const(const tc_expr *x) {
    if (x->op == TC_OP_BCAST)
        x = x->args[0];
    return x->op == TC_OP_INT || x->op == TC_OP_FLOAT ? x : NULL;
}

/* ---- what operations take (check.c) ---- */
/* The column `takes` of ops.def. From ANYTHING on all operands have one dtype and one lane count. */
typedef enum te_takes {
    TE_NOTHING,
    TE_INDICES,     /* READ: an integer per dimension */
    TE_ADDRESS,     /* LOAD: an i64 index, and a bool of its lanes as the mask */
    TE_PROGRESSION, /* RAMP: scalar i64 base and stride */
    TE_SCALAR,      /* BCAST */
    TE_GROUPS,      /* DOT: a row of intrinsics.def */
    TE_CHOICE,      /* SELECT: a bool, and two of any kind with its lanes */
    TE_CONVERTIBLE, /* CAST */
    TE_ANYTHING,
    TE_BOOLS,
    TE_BITS, /* integers or bool */
    TE_NUMBERS,
    TE_INTEGERS,
    TE_FLOATS,
    TE_A_FLOAT
} te_takes;
te_takes te_takes_of(tc_op op);
/* Why the node e cannot have these operands ("the operands must be floats"); NULL if it can. Of e the kind, the number of
 * operands and the payload are looked at, of RAMP and BCAST the lanes. Constructors assert it, the parser reports it. */
const char *te_problem(const tc_expr *e, const tc_expr *const *args);
/* The same of two operands of arithmetic, or of the arms of a SELECT; b is NULL for unary ops. */
const char *te_op_problem(tc_op op, const tc_expr *a, const tc_expr *b);

/* ---- facts (env.c): lo <= sum of terms <= hi is known ---- */
enum { TE_FACT_TERMS = 12, TE_COND_FACTS = 9 };
typedef struct te_fact {
    int n; /* first coefficient positive, coefficients without common factor */
    tc_term term[TE_FACT_TERMS];
    tc_ival range;
} te_fact;
/* What cond (or its negation) says where r is known; at most `cap` facts, returns how many. */
struct te_ranges;
int te_facts_of(struct te_ranges *r, const tc_expr *cond, bool negated, te_fact *out, int cap);
int te_env_facts(const tc_env *e, const te_fact **facts); /* e may be NULL */
/* What x simplified to (tc_env_remember); NULL: not known, or not valid now. e may be NULL. */
const tc_expr *te_env_simple(const tc_env *e, const tc_expr *x);
void te_env_note_simple(const tc_env *e, const tc_expr *x, const tc_expr *simple);

/* ---- arithmetic of intervals beside that of affine.h (intervals.c) ---- */
tc_ival te_ival_mul(tc_ival a, tc_ival b);
tc_ival te_ival_mod(tc_ival a, tc_ival b); /* sign of the divisor */
tc_ival te_ival_tmod(tc_ival a, tc_ival b);
tc_ival te_ival_min(tc_ival a, tc_ival b);
tc_ival te_ival_max(tc_ival a, tc_ival b);

/* ---- ranges (bounds.c), and conditions decided by them (decide.c) ---- */
enum { TE_RANGE_SLOTS = 64 };
/* One query: where ranges come from, and a memo. Entries may be overwritten, so what is computed must not depend on what is found
 * in it: results under case distinctions, which are less precise, are kept apart by the depth of those. */
typedef struct te_ranges te_ranges;
struct te_ranges {
    const tc_env *env;
    const te_ranges *outer; /* facts of enclosing conditions */
    int nfact;
    te_fact fact[TE_COND_FACTS];
    tc_ival (*read_range)(void *user, const tc_expr *read, te_ranges *r); /* NULL: the dtype's range */
    void *user;
    int expanding;                       /* depth of case distinctions under way */
    int depth;                           /* of scopes */
    uint32_t slot_key[TE_RANGE_SLOTS];   /* of the node and `expanding`; 0 is free */
    tc_ival slot[TE_RANGE_SLOTS];        /* of those with a key */
    uint32_t memory_key[TE_RANGE_SLOTS]; /* nodes of which is known whether they touch memory, by id + 1; 0 is free */
    bool memory[TE_RANGE_SLOTS];
};
void te_ranges_init(te_ranges *r, const tc_env *env);
/* A query inside `outer` where cond (or its negation) holds too. */
void te_ranges_under(te_ranges *r, te_ranges *outer, const tc_expr *cond, bool negated);
tc_ival te_range(te_ranges *r, const tc_expr *e);
tc_ival te_range_affine(te_ranges *r, const tc_affine *a);
int te_decide(te_ranges *r, const tc_expr *cond);

/* ---- walking the reads of a body (access.c) ---- */
/* Axes run below their extents and their sizes; undo the latter with a mark. */
void te_know_axes(tc_env *env, tc_ctx *c, const tc_axis *axes, int n);
/* Calls `visit` for every read of n bodies, with what is known where it happens; stops when that returns false. */
typedef struct te_scan {
    bool (*visit)(struct te_scan *s, const tc_expr *read, te_ranges *r);
    const tc_compute *op;
    void *user;
    te_memo *seen;               /* under the conditions that are known */
    TC_VEC(tc_known_cond) known; /* sizes of axes, and conditions of selects around */
    int64_t *work;               /* what is left of the budget of proofs (index/prove.h) */
} te_scan;
bool te_scan_reads(te_scan *s, int n, const tc_expr *const *body, te_ranges *r);
/* Axes end at their sizes. */
void te_scan_know(te_scan *s, tc_ctx *c, const tc_axis *axes, int n);
/* Whether the index is in [0, size), whatever the sizes are. */
bool te_scan_below(te_scan *s, tc_ctx *c, te_ranges *r, const tc_expr *index, const tc_expr *size);

/* The most that the terms of a, and its constant, can add up to whatever their signs; INT64_MAX if that is not known. Terms of open
 * variables (affine.h) count as their coefficient. */
int64_t te_magnitude(te_ranges *r, const tc_affine *a);
/* No sum of terms of a, nor of a and another such form, wraps: rules of whole numbers hold. */
#define TE_EXACT_MOST ((int64_t)1 << 61)
bool te_exact(te_ranges *r, const tc_affine *a);

#endif
