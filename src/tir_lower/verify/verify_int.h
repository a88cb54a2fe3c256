/* What the files of the verifier share. */
#ifndef TC_TIR_LOWER_VERIFY_VERIFY_INT_H
#define TC_TIR_LOWER_VERIFY_VERIFY_INT_H

#include "support/map.h"
#include "support/vec.h"
#include "te/index/prove.h"
#include "tir_lower/tir.h"

typedef struct buffer_scope {
    const tc_buffer *buffer;
    bool parallel; /* allocated by a parallel iteration */
} buffer_scope;

typedef struct verifier {
    tc_ctx *c;
    const tc_func *f;
    tc_error *err;
    const tc_stmt *at; /* statement at hand, for messages */
    tc_env *env;
    int64_t *work; /* what is left of the budget of proofs (te/index/prove.h) */
    tc_proof_hints hints;
    const tc_var *lane;
    bool never; /* in an arm whose condition cannot hold */
    bool parallel;
    int tiles; /* alive */
    tc_map bound, lane_memo;
    TC_VEC(const tc_var *) loops;
    TC_VEC(buffer_scope) buffers;
    TC_VEC(const tc_expr *) seen; /* checked expressions of the statement at hand, under the conditions at hand */
    TC_VEC(tc_known_cond) known;  /* conditions where the verifier stands; lane-wise */
} verifier;

/* Tries all values of the loops that `index` and the known conditions about them use; true if it stays within [0, size). Where
 * sizes vary, the budget of proofs pays for it. */
bool verify_by_running(verifier *v, const tc_expr *index, int64_t size);

#endif
