/* The definition of a pointwise operator: the text in its row of graph/ir/ops.def.
 *
 *     (x: float, alpha = 0.01): select(x < 0, x * alpha, x)
 *     (a: number, b, fmod = 0): r = a % b; if fmod: r = tmod(a, b); r
 *
 *     definition = (operand, ..., attribute, ...) [-> bool | -> OPERAND] [: formula]
 *     operand    = NAME [: TYPES]              without TYPES, it has the type of the operand before
 *     attribute  = NAME = NUMBER               where a node lacks it; a number with a point is a float
 *                | NAME = WORD | WORD          a string, which must be one of the words; the first where a node lacks it
 *                | NAME : WORD | WORD          the same, but a node must have it
 *     formula    = {[if TEST :] NAME = expression ;} {if TEST : expression ;} expression
 *
 * TYPES are float, number (all but bool), integer, signed (also floats), bool or any. The result has the type of the first operand,
 * or what `->` says. Operands of f16 and bf16 are computed in f32, and the result is rounded once; operands of `any` type stay.
 *
 * Expressions are those of te (te/text.h). They see the operands, the attributes, and the names before them; a name may be given
 * again. The first expression without a name is the result. TEST holds where the first operand is of these TYPES, or where the
 * integer ATTRIBUTE is not 0, or (`ATTRIBUTE is WORD`) where the string is this word. And there are:
 *
 *     bits, ones       the width of the first operand's type, and the integer of this type that has all bits set
 *     divided(a, b)    a / b, as a product where b is a constant whose reciprocal gives the same (lower.h)
 *
 * Without a formula, the row names a function in C that makes the expression. */
#ifndef TC_GRAPH_OPS_FORMULA_H
#define TC_GRAPH_OPS_FORMULA_H

#include "graph/ir/graph.h"
#include "te/text.h"

enum { TC_GRAPH_MAX_OPERANDS = 3, TC_GRAPH_MAX_PARAMETERS = 2, TC_GRAPH_MAX_WORDS = 2 };

/* A class of element types. */
typedef struct tc_graph_types {
    const char *name, *says; /* in texts, and in messages: "must be floating point" */
    const char *classes;     /* of types (te/dtype.h) */
    bool computes;           /* in f32 with operands of f16 and bf16 */
} tc_graph_types;

typedef struct tc_graph_parameter {
    const char *name;
    tc_graph_attr_id id;
    double otherwise; /* the number where a node lacks it */
    int nwords;       /* that a string may be; 0: it is a number */
    const char *word[TC_GRAPH_MAX_WORDS];
    bool required; /* a node must have it */
} tc_graph_parameter;

typedef struct tc_graph_definition {
    int nin, nattrs;
    struct {
        const char *name;
        const tc_graph_types *types; /* NULL: it has the type of the operand before */
    } in[TC_GRAPH_MAX_OPERANDS];
    tc_graph_parameter attr[TC_GRAPH_MAX_PARAMETERS];
    int result;   /* the operand whose type the result has; -1: bool */
    tc_lex lexer; /* at the formula's first token, or at the end */
} tc_graph_definition;

bool tc_graph_types_have(const tc_graph_types *types, tc_dtype t);
/* The number of the word among those that p may be; -1: it is none of them. */
int tc_graph_find_word(const tc_graph_parameter *p, const char *word);
/* Reads `text` up to the formula, as the definition of op. */
TC_NODISCARD tc_status tc_graph_read_definition(tc_arena *a, tc_graph_op op, const char *text, tc_graph_definition *d,
                                                tc_error *err);
/* The formula on the operands x, with n's attributes. The result is not rounded yet. */
TC_NODISCARD tc_status tc_graph_apply_formula(tc_ctx *c, const tc_graph_definition *d, const tc_graph_node *n,
                                              const tc_expr *const *x, const tc_expr **out, tc_error *err);

#endif
