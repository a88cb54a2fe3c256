/* What the files of the verifier share. */
#ifndef TC_TIR_LOWER_VERIFY_VERIFY_INT_H
#define TC_TIR_LOWER_VERIFY_VERIFY_INT_H

#include "support/map.h"
#include "support/vec.h"
#include "tir_lower/tir.h"

typedef struct buffer_scope {
    const tc_buffer *buffer;
    bool parallel; /* allocated by a parallel iteration */
} buffer_scope;

/* A condition that holds, or does not, where the verifier stands; lane-wise. */
typedef struct known_cond {
    const tc_expr *cond;
    bool holds;
} known_cond;

typedef struct verifier {
    tc_ctx *c;
    const tc_func *f;
    tc_error *err;
    const tc_stmt *at; /* statement at hand, for messages */
    tc_env *env;
    const tc_var *lane;
    bool parallel;
    int tiles; /* alive */
    tc_map bound, lane_memo;
    TC_VEC(const tc_var *) loops;
    TC_VEC(buffer_scope) buffers;
    TC_VEC(const tc_expr *) seen; /* checked expressions of the statement at hand, under the conditions at hand */
    TC_VEC(known_cond) known;
} verifier;

/* Tries all values of the loops that `index` and the known conditions about them use; true if it stays within [0, size). */
bool verify_by_running(verifier *v, const tc_expr *index, int64_t size);

/* Whether the index is in [0, size of b), which varies, whatever the sizes are (sizes.c). */
bool verify_in_size(verifier *v, const tc_expr *index, const tc_buffer *b);

#endif
