/* Rewriting statements: what passes are written with (traverse.c). */
#ifndef TC_TIR_REWRITE_H
#define TC_TIR_REWRITE_H

#include "tir_lower/tir.h"

/* What a pass makes of a statement of one kind: s itself where nothing changes, NULL where nothing is left. */
typedef const tc_stmt *tir_rule(tc_ctx *c, const tc_stmt *s, void *pass);
/* A pass over statements: the kinds that it changes. Of all others the statements inside are rewritten. */
typedef struct tir_rules {
    tir_rule *of[TC_NSTMTS];
} tir_rules;
const tc_stmt *tir_rewrite(tc_ctx *c, const tir_rules *r, const tc_stmt *s, void *pass); /* s may be NULL */
/* What tir_rewrite does with a kind that has no rule: rewrites the statements in s, and rebuilds s if one of them changed. */
const tc_stmt *tir_rewrite_inside(tc_ctx *c, const tir_rules *r, const tc_stmt *s, void *pass);

/* s with other parts: s itself where they are the ones it has. */
const tc_stmt *tir_with_loop(tc_ctx *c, const tc_stmt *s, const tc_expr *extent, const tc_stmt *body);
const tc_stmt *tir_with_arms(tc_ctx *c, const tc_stmt *s, const tc_expr *cond, const tc_stmt *then, const tc_stmt *otherwise);
const tc_stmt *tir_with_store(tc_ctx *c, const tc_stmt *s, const tc_expr *index, const tc_expr *value, const tc_expr *mask);
const tc_stmt *tir_with_alloc(tc_ctx *c, const tc_stmt *s, const tc_stmt *body);

#endif
