/* Private to tuning: the candidates of one round. */
#ifndef TC_TUNE_PROPOSE_H
#define TC_TUNE_PROPOSE_H

#include "tune/tune_int.h"

typedef struct tc_proposals {
    tc_arena *arena;
    int n;
    tc_candidate *c;
    tc_tune_phase *phase; /* that each comes from */
    double *score;        /* that the model gave each before it was measured */
    bool predicted;       /* there are such scores */
} tc_proposals;

/* A round under way. */
typedef struct tc_tune_flight {
    tc_tune *t;
    int task, form;
    tc_proposals p;
    tc_record *out; /* of them; NULL: it has not begun */
    bool *came;     /* its record was stored */
    bool awaited;   /* what comes counts at once */
    tc_meas_flight *flight;
    tc_status store; /* of the first record that could not be stored; the ones after it are not tried */
    tc_error why;
} tc_tune_flight;

/* Up to `want` programs of form k that were never measured; n == 0: there are none. `arena` is given. */
tc_status tc_tune_propose(tc_tune *t, form *k, tc_proposals *p, int want, tc_error *err);
/* Fills in the scores, if the model is worth asking. */
void tc_tune_predict(tc_tune *t, form *k, tc_proposals *p);
/* The phases are paid for what was measured; the best was `before`. */
void tc_tune_pay(tc_tune *t, form *k, const tc_proposals *p, const tc_record *r, double before);

/* realise.c */
/* Fills in the hashes of c[0..n), 0 for what does not lower; with `sc`, a program that was not measured goes to the slot of its
 * number (after sc->begin). */
void tc_tune_realise(const tc_tune *t, form *k, tc_candidate *c, int n, const tc_scorer *sc);
/* describe.c */
/* The features of a program that a search of the form came upon; NULL: forgotten, or never seen. */
const tc_cost_rows *tc_tune_described(const form *k, uint64_t program);
void tc_tune_describe(form *k, uint64_t program, const tc_cost_rows *rows);
void tc_tune_forget_descriptions(form *k);
/* Programs that were measured. */
void tc_tune_remember(form *k, uint64_t program);
bool tc_tune_known(const form *k, uint64_t program);
int tc_tune_by_hash(const void *a, const void *b); /* for qsort */

/* Traces of the best measured programs of the form, best first: at most cap, in `a`. */
int tc_tune_best_traces(const tc_tune *t, const form *k, tc_arena *a, const tc_trace **out, int cap);

#endif
