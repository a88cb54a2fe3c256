/* The lowering pipeline as a table. Each pass is func -> func, one file each, with a contract: what it requires and what it
 * provides; the runner checks that, verifies after each pass in debug builds, and dumps on request. */
#ifndef TC_TIR_PASSES_H
#define TC_TIR_PASSES_H

#include "tir_lower/tir.h"

enum tc_tir_property {
    TC_HAS_GUARDS = 1,  /* guard IFs of imperfect tiles are present */
    TC_PARTITIONED = 2, /* full tiles have bodies without guards */
    TC_NO_VECTOR = 4,   /* no FOR of kind VECTOR or UNROLL remains */
    TC_REGISTERS = 8,   /* accumulators are promoted */
    TC_PLACED = 16      /* every buffer has a scope and an offset */
};

typedef struct tc_tir_pass {
    const char *name;
    tc_status (*run)(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err);
    unsigned needs, gives;
} tc_tir_pass;

/* In order: simplify, partition, tidy (simplify again, while the program is small), unroll, vectorize, neutral, promote, dot,
 * fma, order, prefetch, storage. */
extern const tc_tir_pass tc_tir_passes[];
extern const int tc_tir_npasses;

#endif
