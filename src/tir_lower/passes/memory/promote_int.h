/* src/tir_lower/passes/memory owns the passes that decide where values are: *promote* and *forward* (in registers), *storage* (in
 * buffers), *prefetch* and *results* (lines brought in before they are used). Not here: passes that change loops
 * (loops).
 *
 * This header is what promote's files share: the accesses of candidate buffers in one scope. */
#ifndef TC_TIR_LOWER_PASSES_MEMORY_PROMOTE_INT_H
#define TC_TIR_LOWER_PASSES_MEMORY_PROMOTE_INT_H

#include "tir_lower/passes/pass.h"

enum { TIR_MAX_SLOTS = 256 };

/* One index of one buffer. */
typedef struct tir_slot {
    const tc_expr *index, *mask;
    const tc_buffer *buffer;
    tir_place at;
    int active; /* lanes that any access touches */
    bool mixed; /* accessed under different masks */
    bool read_first, stored, masked_first;
    tc_buffer *reg; /* where it went, and which element */
    const tc_expr *reg_index;
} tir_slot;

/* Accesses of the candidate buffers in one scope. */
typedef struct tir_scan {
    tc_map slots;  /* (buffer, index) -> position in list */
    tc_map stored; /* buffer -> 1 + (accesses must not be promoted) */
    TC_VEC(tir_slot) list;
    tc_map bound;  /* variables of loops inside */
    tir_memo seen; /* expressions whose loads are noted */
    int under;     /* conditional depth: not certain to run */
    bool constant; /* (a): only constant indices will do, and a condition is no obstacle */
} tir_scan;

/* Notes the accesses in s, in order of execution. `env` only to tell whether inner loops run at least once. */
void tir_scan_stmt(tir_scan *k, const tc_stmt *s, tc_env *env);
/* Nothing of b is to be promoted. */
void tir_scan_refuse(tir_scan *k, const tc_buffer *b);
/* The key of b[index] in k->slots. */
uint64_t tir_slot_key(const tc_buffer *b, const tc_expr *index);
void tir_scan_free(tir_scan *k);

#endif
