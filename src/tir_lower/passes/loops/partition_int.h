/* src/tir_lower/passes/loops owns the passes that change how loops run: *partition*, *unroll*, *vectorize*, *neutral*,
 * *order*. Not here: passes that move values (memory) or find instructions (units).
 *
 * This header is what partition's files share. S, I and segments are explained in partition.c. */
#ifndef TC_TIR_LOWER_PASSES_LOOPS_PARTITION_INT_H
#define TC_TIR_LOWER_PASSES_LOOPS_PARTITION_INT_H

#include "tir_lower/passes/pass.h"

enum { TIR_MAX_SEGMENTS = 18 };

/* A segment that we are in. The environment knows it too; this is for folding single values into conditions. */
typedef struct tir_fact {
    tc_affine s;
    tc_ival range;
} tir_fact;

/* One inequality of a guard, as sign * g * S + I >= 0. */
typedef struct tir_guard {
    tc_affine s;  /* coefficients without common factor, the first positive; no constant */
    tc_ival full; /* S here: the guard always holds */
    tc_ival some; /* S outside of here: it never does */
    bool soft;    /* the condition of a select, not an IF */
} tir_guard;

typedef struct tir_segment {
    tc_ival s;
    bool full; /* all guards hold here */
    bool none; /* none does */
} tir_segment;

typedef struct tir_partitioner {
    tc_ctx *c;
    const tc_func *func;
    tir_names *names;
    tc_env *env;
    int lanes;
    int64_t stores; /* that copies may still add */
    int64_t terms;  /* of the values of these stores, that copies may still add */
    TC_VEC(tir_fact) facts;
    TC_VEC(const tc_var *) outer;         /* loops around the current place */
    TC_VEC(const tc_var *) serial_inside; /* while collecting: serial loops between the place and the guard */
    TC_VEC(tir_guard) guards;
    const tc_var *place; /* while collecting: the loop whose body is the place */
} tir_partitioner;

bool tir_names_symbol(const tc_affine *s); /* as a term */
/* Lists in k->guards the guards in s whose place is the body of the loop over k->place. */
void tir_collect_guards(tir_partitioner *k, const tc_stmt *s);
/* Cuts the range of S at the borders of the guards with this S, ascending, into at most TIR_MAX_SEGMENTS. 0 when nothing would be
 * decided that is not decided already. *soft: they are all soft. */
int tir_segments(const tir_partitioner *k, const tir_guard *g, tir_segment *seg, bool *soft);

#endif
