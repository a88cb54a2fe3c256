/* Computes the weights of a kernel's sizes from the weights of the network's sizes. A weight says how much a size counts. */
#include "graph/program/launches.h"

/* The network's sizes by line i of the file, and those that follow from them. */
static tc_status read_line(const tc_graph_size_rules *r, const tc_tune_weights_file *f, int i, int64_t *size, tc_error *err) {
    tc_arena *a = tc_arena_new();
    const char **names = TC_NEW_N(a, const char *, r->nsize);
    for (int k = 0; k < r->nsize; k++)
        names[k] = r->size[k].name;
    tc_status s = tc_tune_weights_line(f, i, r->nsize, names, size, err);
    tc_arena_free(a);
    TC_TRY(s);
    for (int k = 0; k < r->nsize; k++)
        if (size[k] < 0 && !r->size[k].is.text)
            return tc_tune_weights_refuse(f, i, tc_fail(err, TC_BAD_INPUT, "does not say the size of %s", r->size[k].name), err);
    return tc_tune_weights_refuse(f, i, tc_graph_size_rules_complete(r, size, err), err);
}

/* out[]: of the symbols of w. False: no run of such sizes has it do anything. */
static bool sizes_of(const tc_workload *w, const tc_graph_relation *r, const tc_env *run, int64_t *out) {
    bool fits = true;
    for (int k = 0; k < w->nsymbol; k++) {
        tc_ival is = tc_te_bounds(r->size[k], run);
        out[k] = is.lo;
        fits &= is.lo == is.hi && is.lo >= w->symbols[k]->least && is.lo <= w->symbols[k]->most;
    }
    return fits;
}

static void add_line(const tc_graph_program *p, int task, const int64_t *size, double weight, tc_arena *a, tc_tune_weighted *out,
                     int *n) {
    const tc_workload *w = p->tasks[task].workload;
    tc_env *run = tc_env_new();
    for (int k = 0; k < p->rules.nsize; k++) {
        int64_t times = size[k] / p->rules.size[k].multiple;
        tc_env_set(run, p->size_var[k], (tc_ival){times, times});
    }
    for (int i = 0; i < p->nrelation; i++) {
        int64_t *of = TC_NEW_N(a, int64_t, w->nsymbol);
        if (p->relations[i].task == task && sizes_of(w, &p->relations[i], run, of))
            out[(*n)++] = (tc_tune_weighted){of, weight * p->relations[i].times};
    }
    tc_env_free(run);
}

tc_status tc_graph_program_weights(const tc_graph_program *p, int task, const tc_tune_weights_file *f, tc_arena *a,
                                   const tc_tune_weights **out, tc_error *err) {
    int lines = tc_tune_weights_lines(f), n = 0;
    int64_t *size = TC_NEW_N(a, int64_t, p->rules.nsize);
    tc_tune_weighted *x = TC_NEW_N(a, tc_tune_weighted, lines * p->nrelation);
    *out = NULL;
    for (int i = 0; i < lines; i++) {
        TC_TRY(read_line(&p->rules, f, i, size, err));
        add_line(p, task, size, tc_tune_weights_weight(f, i), a, x, &n);
    }
    if (n) {
        tc_tune_weights *weights = TC_NEW(a, tc_tune_weights);
        *weights = (tc_tune_weights){n, x};
        *out = weights;
    }
    return TC_OK;
}
