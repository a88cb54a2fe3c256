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

/* The budget of a program, or of a compute of a workload, for proofs that take long. A proof looks at one sum in a step. Steps are
 * counted, so that results are the same on every machine.
 * TC_PROOF_FREE: the first steps of each proof cost nothing, so programs with many accesses need no larger budget. Of networks
 * with sizes that vary (BERT, GPT-2, a quantised decoder, ResNets) no proof that succeeds takes more than 524.
 * TC_PROOF_WORK: the budget. Chosen: it lasts less than a second. */
enum { TC_PROOF_FREE = 1000, TC_PROOF_WORK = 200000 };

/* What is known where something is to be shown: scalars only. */
typedef struct tc_premises {
    tc_ctx *c;
    const tc_env *env;
    size_t nknown;
    const tc_known_cond *known;
    size_t nvar;
    const tc_var *const *vars; /* of loops or axes, outermost first */
    const tc_var *inner;       /* one inside of those; NULL: none */
    int64_t *work;             /* what is left of the budget; proofs take their steps from it */
} tc_premises;

/* Whether the element index is in [0, elements of t), as dense row-major arrays have them, whatever the sizes are. */
bool tc_te_in_size(const tc_premises *k, const tc_expr *index, const tc_tensor *t);
/* Whether the index is in [0, size), whatever the sizes are. */
bool tc_te_below(const tc_premises *k, const tc_expr *index, const tc_expr *size);
/* The same, but only short proofs are looked for: false is quickly said. */
bool tc_te_plainly_below(const tc_premises *k, const tc_expr *index, const tc_expr *size);

#endif
