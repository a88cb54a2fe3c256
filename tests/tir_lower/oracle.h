/* Compares lowered functions with the reference interpreter of te on seeded inputs. */
#ifndef TC_TESTS_TIR_ORACLE_H
#define TC_TESTS_TIR_ORACLE_H

#include "tir_lower/tir.h"

typedef struct oracle {
    const tc_workload *w;
    const int64_t *sizes; /* where they vary: the symbols' values; w is what it is for them */
    void **in, **want;    /* dense, row-major; by position in w->in and w->out */
} oracle;

/* Fills the inputs and computes what every schedule must. */
tc_status oracle_open(oracle *o, const tc_workload *w, uint64_t seed, tc_error *err);
/* The same of a workload whose sizes vary, for these; `c` gets the workload for them. */
tc_status oracle_open_at(oracle *o, tc_ctx *c, const tc_workload *w, const int64_t *sizes, uint64_t seed, tc_error *err);
void oracle_close(oracle *o);
/* Interprets f (parallel iterations shuffled by `shuffle` unless 0) and compares. */
tc_status oracle_run(const oracle *o, const tc_func *f, uint64_t shuffle, tc_error *err);
/* Interprets f, of which a part was left out (tc_tir_interp_in_part), and compares nothing. */
tc_status oracle_run_in_part(const oracle *o, const tc_func *f, uint64_t shuffle, tc_error *err);
/* oracle_run of what the verifier accepts; TC_ILLEGAL: it does not. */
tc_status oracle_check(const oracle *o, tc_ctx *c, const tc_func *f, uint64_t shuffle, tc_error *err);
/* The same for every pair of an output and an input that f may write it over, with one piece of memory for both. *pairs grows by
 * their number. */
tc_status oracle_check_in_place(const oracle *o, const tc_func *f, uint64_t shuffle, int64_t *pairs, tc_error *err);

/* The machine that all tests of this folder lower for. */
extern const tc_machine test_machine;

#endif
