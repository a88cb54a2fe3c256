/* Inequalities of expressions in which sizes are multiplied. */
#ifndef TC_TE_PROVE_H
#define TC_TE_PROVE_H

#include "te/index/affine.h"
#include "te/te.h"

/* A condition that holds, or does not. */
typedef struct tc_known_cond {
    const tc_expr *cond;
    bool holds;
} tc_known_cond;

/* What is known where something is to be shown: scalars only. */
typedef struct tc_premises {
    tc_ctx *c;
    const tc_env *env;
    size_t nknown;
    const tc_known_cond *known;
    size_t nvar;
    const tc_var *const *vars; /* of loops or axes, outermost first */
    const tc_var *inner;       /* one inside of those; NULL: none */
} tc_premises;

/* Whether the element index is in [0, elements of t), as dense row-major arrays have them, whatever the sizes are. */
bool tc_te_in_size(const tc_premises *k, const tc_expr *index, const tc_tensor *t);
/* Whether the index is in [0, size), whatever the sizes are. */
bool tc_te_below(const tc_premises *k, const tc_expr *index, const tc_expr *size);

#endif
