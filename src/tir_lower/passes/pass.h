/* What the lowering passes share: copying with substitution, fresh names, ranges of loops, conditions as affine inequalities. */
#ifndef TC_TIR_LOWER_PASSES_PASS_H
#define TC_TIR_LOWER_PASSES_PASS_H

#include "support/map.h"
#include "support/vec.h"
#include "tir_lower/passes/passes.h"
#include "tir_lower/rewrite.h"

/* Every pass, in a file of its own. */
tc_status tir_pass_simplify(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err);
tc_status tir_pass_partition(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err);
tc_status tir_pass_unroll(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err);
tc_status tir_pass_tile(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err);
tc_status tir_pass_vectorize(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err);
tc_status tir_pass_neutral(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err);
tc_status tir_pass_promote(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err);
tc_status tir_pass_dot(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err);
tc_status tir_pass_fma(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err);
tc_status tir_pass_order(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err);
tc_status tir_pass_prefetch(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err);
tc_status tir_pass_results(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err);
tc_status tir_pass_storage(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err);

/* The same function with another body; `body` may be NULL (nothing to do). */
tc_func *tir_with_body(tc_ctx *c, const tc_func *f, const tc_stmt *body);

/* ---- rewriting expressions with a memo that outlives one call ---- */

/* Expression -> expression, valid until the next tir_memo_clear. Zero-initialised is empty. */
typedef struct tir_memo {
    struct tir_memo_slot *slot;
    uint32_t cap, used, epoch;
} tir_memo;
const tc_expr *tir_memo_get(const tir_memo *m, const tc_expr *key); /* NULL: not there */
void tir_memo_put(tir_memo *m, const tc_expr *key, const tc_expr *value);
void tir_memo_clear(tir_memo *m); /* cheap: the slots stay */
void tir_memo_free(tir_memo *m);

/* ---- copies ---- */

/* Buffer names in use in a function; gives out new ones. */
typedef struct tir_names {
    tc_map used;
} tir_names;
void tir_names_init(tir_names *n, const tc_func *f);
void tir_names_free(tir_names *n);
/* A new buffer like `b` under an unused name. */
tc_buffer *tir_fresh_buffer(tc_ctx *c, tir_names *n, const tc_buffer *b);

typedef struct tir_binding {
    const tc_var *var;
    const tc_expr *to;
} tir_binding;
typedef struct tir_rename {
    const tc_buffer *from, *to;
} tir_rename;

/* Substitution of variables and buffers over statements. With `fresh`, loops and allocations inside get variables and buffers of
 * their own, so that the original may stay in the program too. */
typedef struct tir_copier {
    tc_ctx *c;
    tir_names *names;
    bool fresh;
    TC_VEC(tir_binding) vars;
    TC_VEC(tir_rename) bufs;
    tir_memo memo;
} tir_copier;
void tir_bind(tir_copier *k, const tc_var *v, const tc_expr *to);
void tir_unbind(tir_copier *k);                                /* the latest binding */
const tc_expr *tir_copy_expr(tir_copier *k, const tc_expr *e); /* e may be NULL */
const tc_stmt *tir_copy_stmt(tir_copier *k, const tc_stmt *s); /* s may be NULL */
void tir_copier_free(tir_copier *k);

/* ---- ranges ---- */
tc_ival tir_loop_range(const tc_expr *extent, const tc_env *env); /* values of the loop's variable */
/* Enters a loop: its variable has that range, and is below an extent that is an expression (a minimum of some). Leave with
 * tc_env_undo(mark). */
size_t tir_enter_loop(tc_ctx *c, tc_env *env, const tc_var *v, const tc_expr *extent);
bool tir_const_extent(const tc_stmt *loop, int64_t *n);
/* Rough size of a statement once unrolled and vectorised by `lanes`: its stores. Saturates. */
int64_t tir_weight(const tc_stmt *s, int lanes);
/* The terms of the values that these stores store. Saturates. */
int64_t tir_terms(const tc_stmt *s, int lanes);
/* Lanes of a machine vector for what a VECTOR loop's body stores and computes. */
int tir_lanes(const tc_machine *m, const tc_stmt *body);

/* ---- conditions ---- */
/* `cond` as A >= 0 with A affine; false if it is not one such inequality. */
bool tir_cond_affine(tc_ctx *c, const tc_expr *cond, const tc_env *env, tc_affine *a);
const tc_expr *tir_affine_cond(tc_ctx *c, const tc_affine *a); /* the condition A >= 0, negative terms moved to the left: x < y */
tc_ival tir_affine_bounds(tc_ctx *c, const tc_affine *a, const tc_env *env);
/* Splits a conjunction; returns how many there are (at most cap are written). */
int tir_conjuncts(const tc_expr *cond, const tc_expr **out, int cap);
enum { TIR_MAX_CONJUNCTS = 16 };
/* tir_rewrite_inside of an IF, with its condition known to `env` in the arms. */
const tc_stmt *tir_rewrite_arms(tc_ctx *c, const tir_rules *r, const tc_stmt *s, tc_env *env, void *pass);
/* Assumes that cond holds or does not; the mark to undo it with. */
size_t tir_suppose(tc_env *env, const tc_expr *cond, bool holds);

/* ---- where a statement writes and reads ---- */
typedef struct tir_place {
    tc_affine base; /* without its constant */
    int64_t at;     /* the constant */
    int span;       /* elements from there */
    bool known;     /* false: anywhere */
} tir_place;
tir_place tir_place_of(tc_ctx *c, const tc_env *env, const tc_expr *index);
bool tir_places_disjoint(const tir_place *a, const tir_place *b); /* for certain; within one buffer */

/* After registers were loaded and stored around loops: values go directly from store to load, dead stores and buffers go
 * (memory/forward.c). */
const tc_stmt *tir_forward_stores(tc_ctx *c, const tc_env *env, const tc_stmt *body);

/* A store that adds nothing to its reduction: a product with the padding's zero, the maximum with -inf (loops/neutral.c). */
bool tir_is_neutral(const tc_func *f, const tc_stmt *s);

/* Guards move outwards as far as their variables allow, and bounds of single loops become the loops' extents (guards.c). */
const tc_stmt *tir_settle_guards(tc_ctx *c, tir_names *names, tc_env *env, const tc_stmt *s);

#endif
