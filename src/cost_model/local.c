/* Orders the programs of one task by the ridge regression, and says whether this order can be trusted. */
#include <stdlib.h>

#include "cost_model/model_int.h"
#include "cost_model/ridge.h"

/* The fit takes their cube, a prediction each of them. Chosen; not measured apart. */
enum { DEFAULT_NEAR = 512 };

struct tc_cost_local {
    ridge near;
    tc_cost_quality left_out;
};

void tc_cost_local_free(tc_cost_local *l) {
    if (!l)
        return;
    ridge_free(&l->near);
    free(l);
}

tc_status tc_cost_local_new(size_t n, const tc_cost_sample *samples, const tc_cost_options *o, tc_cost_local **out,
                            tc_error *err) {
    tc_cost_options options = o ? *o : (tc_cost_options){0};
    size_t most = options.max_samples > 0 ? (size_t)options.max_samples : DEFAULT_NEAR;
    TC_TRY(check_samples(n, samples, err));
    tc_cost_sample *kept = tc_xcalloc(n, sizeof *kept);
    double *left_out = tc_xcalloc(n, sizeof *left_out);
    size_t used = thin(n, samples, most, options.seed, kept);
    tc_cost_local *l = tc_xcalloc(1, sizeof *l);
    if (ridge_fit(&l->near, used, kept, left_out))
        l->left_out = tc_cost_judge(used, kept, left_out);
    free(left_out);
    free(kept);
    *out = l;
    return TC_OK;
}

bool tc_cost_local_trusted(const tc_cost_local *l) {
    return better_than_chance(&l->left_out);
}

const tc_cost_quality *tc_cost_local_quality(const tc_cost_local *l) {
    return &l->left_out;
}

double local_predict(const tc_cost_local *l, const tc_cost_rows *rows) {
    return ridge_predict(&l->near, rows);
}
