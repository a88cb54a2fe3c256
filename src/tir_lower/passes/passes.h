/* src/tir_lower/passes owns the lowering pipeline: the table of passes with their contracts, what they share, and
 * *simplify*, which runs between others. Not here: the passes themselves, which stand in its rooms loops, memory and
 * units.
 *
 * Each pass takes a function and gives a function, a file each, with a contract: what it requires, provides and breaks.
 * The runner checks the contracts in every build, verifies after each pass in debug builds, and dumps on request. */
#ifndef TC_TIR_PASSES_H
#define TC_TIR_PASSES_H

#include "tir_lower/tir.h"

/* Rows that are left of a register tile where a size that varies ends it: up to so many there is a body for each number of them.
 * Chosen. */
enum { TC_TIR_ROWS_LEFT = 6 };

/* Sets of these are unsigned: 1 << property. */
typedef enum tc_tir_property {
#define PROPERTY(id, text) TC_TIR_##id,
#include "tir_lower/passes/properties.def"
#undef PROPERTY
    TC_TIR_NPROPERTIES
} tc_tir_property;

typedef struct tc_tir_pass {
    const char *name;
    tc_status (*run)(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err);
    unsigned requires; /* without these the pass would be wrong, or find nothing to do that it is there for */
    unsigned provides;
    unsigned breaks; /* what is no longer known afterwards */
} tc_tir_pass;

/* In order: simplify, partition, tidy (simplify again, while the program is small), unroll, tile, vectorize, neutral, promote, dot,
 * fma, order, prefetch, results, storage. */
extern const tc_tir_pass tc_tir_passes[];
extern const int tc_tir_npasses;
extern const unsigned tc_tir_built, tc_tir_lowered; /* what tc_tir_build gives, and what code generation reads */

const char *tc_tir_property_text(tc_tir_property p);
/* Runs one pass on a program that has the properties *have, and says in *have what the result has. TC_ILLEGAL where *have lacks
 * what the pass requires, or where the result is seen not to have what the pass provides. */
TC_NODISCARD tc_status tc_tir_run_pass(const tc_tir_pass *p, tc_ctx *c, const tc_machine *m, const tc_func *in, unsigned *have,
                                       tc_func **out, tc_error *err);
/* The properties that a look at the program refutes: those of its statements and places. */
unsigned tc_tir_refuted(const tc_func *f);
/* Runs the whole pass table on a built function. `dump`: NULL, a pass name, or "all": texts go to stderr. */
TC_NODISCARD tc_status tc_tir_lower(tc_ctx *c, const tc_machine *m, const tc_func *f, const char *dump, tc_func **out,
                                    tc_error *err);

#endif
