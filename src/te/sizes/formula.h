/* Integer expressions of sizes, computed by runs: in this process, in libraries and in C source. A formula is a list of steps
 * over a stack. It has no variables of a context, so it outlives the context that it was made in.
 *
 * Its arithmetic is that of te/expr.h, within 64 bits. A formula has no value where a divisor is not above 0 or a number is
 * too large. */
#ifndef TC_TE_SIZES_FORMULA_H
#define TC_TE_SIZES_FORMULA_H

#include "te/index/affine.h"

/* Steps that push a number, then those that take two from the stack and push what they make of them. */
#define TC_FORMULA_OPERATIONS(X) X(ADD, "+") X(SUB, "-") X(MUL, "*") X(DIV, "/") X(MOD, "%") X(MIN, "min") X(MAX, "max")
typedef enum tc_formula_op {
    TC_FORMULA_NUMBER, /* arg */
    TC_FORMULA_SIZE,   /* size number arg */
#define X(id, text) TC_FORMULA_##id,
    TC_FORMULA_OPERATIONS(X)
#undef X
} tc_formula_op;

typedef struct tc_formula_step {
    tc_formula_op op;
    int64_t arg; /* 0 of operations */
} tc_formula_step;
typedef struct tc_formula {
    int n; /* 0: there is none */
    const tc_formula_step *steps;
} tc_formula;
enum {
    TC_FORMULA_STEPS = 256,
    TC_FORMULA_STACK = 32
}; /* at most, if it is sound; joined ones need one place more on the stack */

/* x, of the variables of sizes, in the arena. False: it has others, or other operations, or is too long. */
bool tc_formula_of(const tc_expr *x, int nsize, const tc_var *const *sizes, tc_arena *a, tc_formula *out);
/* x, y, and op of them, which are sound. */
tc_formula tc_formula_join(tc_arena *a, tc_formula x, tc_formula y, tc_formula_op op);
tc_formula tc_formula_number(tc_arena *a, int64_t v);
tc_formula tc_formula_size(tc_arena *a, int k);

/* Is it one, of so many sizes, and no step beyond 2^62 whatever the sizes are within their ranges? So nothing that is computed of
 * it without checks overflows. */
bool tc_formula_is_sound(const tc_formula *f, int nsize, const tc_ival *ranges);
/* False: it has no value. The formula is sound for some ranges, or joined. */
bool tc_formula_value(const tc_formula *f, const int64_t *sizes, int64_t *value);

bool tc_formula_has(const tc_formula *f, int k); /* size k is in it */
/* Is it constant + times * size k, whatever the others are? */
bool tc_formula_line(const tc_formula *f, int k, int64_t *constant, int64_t *times);

const char *tc_formula_text(tc_formula_op op);              /* of operations; NULL: it is none */
bool tc_formula_named(const char *text, tc_formula_op *op); /* the operation of that text */

#endif
