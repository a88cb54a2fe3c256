/* Private to the alternatives: what an algorithm gets and gives. */
#ifndef TC_SPACE_ALTERNATIVES_INT_H
#define TC_SPACE_ALTERNATIVES_INT_H

#include "search_space/alternatives/alternatives.h"

/* Another way to the tensor that a compute makes. */
typedef struct space_replacement {
    const tc_tensor *result;     /* in place of the compute's output */
    const tc_tensor *constant;   /* the const placeholder that is no longer read; NULL: all are, and what follows is NULL too */
    const tc_tensor *made;       /* the const placeholder that is read instead */
    const tc_workload *prologue; /* makes its content from that of `constant` */
    int products;                /* as in tc_space_alternative */
} space_replacement;

/* True when the algorithm computes what `op`, a compute of w, does; then *out says how. */
typedef bool space_algorithm(tc_ctx *c, const tc_workload *w, const tc_compute *op, int parameter, space_replacement *out);

space_algorithm space_winograd; /* parameter: outputs of a tile along one axis, 2 or 4; 24: 2, with the weights of 4 */
space_algorithm space_bf16;     /* parameter: none */
space_algorithm space_strassen; /* parameter: levels, of which there is 1 */
space_algorithm space_digits;   /* parameter: none */

/* One compute of w reads t. */
bool space_read_once(const tc_workload *w, const tc_tensor *t);

#endif
