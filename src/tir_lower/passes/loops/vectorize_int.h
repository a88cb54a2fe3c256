/* What vectorize's files share: the chunk of a loop that is being made. */
#ifndef TC_TIR_LOWER_PASSES_LOOPS_VECTORIZE_INT_H
#define TC_TIR_LOWER_PASSES_LOOPS_VECTORIZE_INT_H

#include "tir_lower/passes/pass.h"

typedef struct tir_vectoriser {
    tc_ctx *c;
    const tc_machine *m;
    tir_names *names;
    tc_env *env;
    const tc_var *u; /* the lane within the current chunk */
    int lanes, active;
    const tc_expr *mask;                /* lanes that run the current statement; NULL: all */
    bool prefix;                        /* mask is NULL or true in lane 0 and then without gaps */
    bool maybe_empty;                   /* mask may be off in every lane */
    const tc_expr *arm;                 /* within an arm of a select: lanes that take it (implies mask); NULL outside */
    tir_memo memo;                      /* scalar -> vector, under the current mask and arm */
    const struct tir_vectoriser *outer; /* within an arm: outside of it */
    bool simple;                        /* the expression at hand is simplified */
} tir_vectoriser;

/* e for all lanes of the chunk: still a scalar where it does not depend on the lane. */
const tc_expr *tir_vec(tir_vectoriser *k, const tc_expr *e);
/* A scalar in every lane; a vector as it is. */
const tc_expr *tir_widen(const tir_vectoriser *k, const tc_expr *e);

#endif
