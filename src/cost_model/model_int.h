/* What the files of the model share. */
#ifndef TC_COST_MODEL_MODEL_INT_H
#define TC_COST_MODEL_MODEL_INT_H

#include "cost_model/booster.h"
#include "cost_model/cost.h"

struct tc_cost_model {
    booster trees;
    bool trained;
    size_t validated; /* samples that were there when the number of rounds was last decided; 0: not by this process */
    tc_cost_report report;
};

/* model.c: what tc_cost_fit says of its samples. */
tc_status check_samples(size_t n, const tc_cost_sample *samples, tc_error *err);
/* At most `most` samples in `out`: half of them the fastest (labels are relative to each task's best), the rest drawn at random. */
size_t thin(size_t n, const tc_cost_sample *samples, size_t most, uint64_t seed, tc_cost_sample *out);

/* local.c: of finite rows. Threads may call it at once. */
double local_predict(const tc_cost_local *l, const tc_cost_rows *rows);

/* quality.c: scores that order programs as well are worth following. */
bool better_than_chance(const tc_cost_quality *q);

/* Weight of a program in the fit: the ranking of fast programs is what the search uses. */
double sample_weight(const tc_cost_sample *s);

/* train.c: trees fitted to the samples, all of them checked before. `known`: rounds and quality that an earlier fit found on
 * held-out programs, which are not looked for again; NULL: they are. */
tc_status train(size_t n, const tc_cost_sample *samples, const tc_cost_options *o, const tc_cost_report *known, booster *out,
                tc_cost_report *report, tc_error *err);

#endif
