/* Inequalities of expressions in which sizes are multiplied. */
#ifndef TC_TE_PROVE_H
#define TC_TE_PROVE_H

#include "support/inputs.h"
#include "support/map.h"
#include "support/vec.h"
#include "te/index/affine.h"
#include "te/te.h"

/* A condition that holds, or does not. */
typedef struct tc_known_cond {
    const tc_expr *cond;
    bool holds;
} tc_known_cond;

/* The budget of all proofs of a workload, or of a program. A proof looks at one sum in a step. Steps are counted, so that results
 * are the same on every machine. Derived: the largest program of the networks that were measured takes 54,112 steps, and a step
 * takes 1 to 4 us. */
enum { TC_PROOF_WORK = TC_WORK_PROOFS };

typedef struct tc_proof_hint {
    const tc_expr *pivot; /* the term that went; NULL: one of symbols */
    tc_known_cond by;     /* what took it away; no condition: a range */
    int steps;            /* that were left */
} tc_proof_hint;

/* How earlier proofs of a program went on from each sum: which condition helped. A program asks for much of the same again, where
 * other conditions hold: copies of a loop for parts of its range. A later proof tries what helped before, and checks it anew.
 * Begin with {0}, and free. */
typedef struct tc_proof_hints {
    tc_map of; /* id of a sum -> number in `all` */
    TC_VEC(tc_proof_hint) all;
} tc_proof_hints;

void tc_proof_hints_free(tc_proof_hints *h);

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
    tc_proof_hints *hints;     /* of the same context; NULL: none */
} tc_premises;

/* Whether the element index is in [0, elements of t), as dense row-major arrays have them, whatever the sizes are. */
bool tc_te_in_size(const tc_premises *k, const tc_expr *index, const tc_tensor *t);
/* Whether the index is in [0, size), whatever the sizes are. */
bool tc_te_below(const tc_premises *k, const tc_expr *index, const tc_expr *size);
/* The same, but only short proofs are looked for: false is quickly said. */
bool tc_te_plainly_below(const tc_premises *k, const tc_expr *index, const tc_expr *size);
/* Whether one of the known conditions cannot hold where the others do: nothing is reached there. */
bool tc_te_contradicts(const tc_premises *k);

#endif
