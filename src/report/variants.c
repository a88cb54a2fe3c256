/* Describes kernels and networks whose sizes vary: which variant serves which sizes, and how much time that choice loses. */
#include <math.h>
#include <stdio.h>

#include "report/report.h"

/* "N", or "B x S": what cut points are of. */
static const char *product_text(tc_arena *a, const tc_workload *w) {
    const char *text = w->symbols[0]->name;
    for (int i = 1; i < w->nsymbol; i++)
        text = tc_arena_printf(a, "%s x %s", text, w->symbols[i]->name);
    return text;
}

/* "N = 1..512, S = 1..16" */
static const char *range_text(tc_arena *a, const tc_workload *w) {
    const char *text = "";
    for (int i = 0; i < w->nsymbol; i++)
        text = tc_arena_printf(a, "%s%s%s = %lld..%lld", text, i ? ", " : "", w->symbols[i]->name,
                               (long long)w->symbols[i]->least, (long long)w->symbols[i]->most);
    return text;
}

/* Which sizes variant i serves: "N from 6 to 99". */
static const char *span(const tc_workload *w, const tc_tune_variants *v, int i, tc_arena *a) {
    const char *product = product_text(a, w);
    long long above = i ? (long long)v->v[i - 1].upto : 0, upto = (long long)v->v[i].upto;
    if (v->n == 1)
        return range_text(a, w);
    if (i == 0)
        return tc_arena_printf(a, "%s up to %lld", product, upto);
    return i == v->n - 1 ? tc_arena_printf(a, "%s above %lld", product, above)
                         : tc_arena_printf(a, "%s from %lld to %lld", product, above + 1, upto);
}

static double loss_of(const tc_tune_point *p) {
    return 100 * (p->chosen / p->best - 1);
}

static json_t *sizes_json(const tc_workload *w, const int64_t *sizes) {
    json_t *j = tc_json_object();
    for (int i = 0; i < w->nsymbol; i++)
        tc_json_set(j, w->symbols[i]->name, tc_json_integer((json_int_t)sizes[i]));
    return j;
}

json_t *tc_report_variants(const char *name, const tc_workload *w, const tc_tune_variants *v) {
    json_t *variants = tc_json_array(), *points = tc_json_array(), *range = tc_json_object();
    tc_arena *a = tc_arena_new();
    for (int i = 0; i < w->nsymbol; i++)
        tc_json_set(range, w->symbols[i]->name,
                    tc_json_pack("[I,I]", (json_int_t)w->symbols[i]->least, (json_int_t)w->symbols[i]->most));
    for (int i = 0; i < v->n; i++) {
        char program[17];
        snprintf(program, sizeof program, "%016llx", (unsigned long long)v->v[i].program);
        json_t *one = tc_json_pack("{s:s,s:s,s:s,s:s}", "program", program, "form", v->v[i].form, "trace", v->v[i].trace,
                                   "serves", span(w, v, i, a));
        if (i < v->n - 1)
            tc_json_set(one, "upto", tc_json_integer((json_int_t)v->v[i].upto));
        tc_json_append(variants, one);
    }
    for (int i = 0; i < v->npoint; i++) {
        const tc_tune_point *p = &v->point[i];
        tc_json_append(points, tc_json_pack("{s:o,s:i,s:f,s:f,s:f,s:f}", "sizes", sizes_json(w, p->sizes), "variant", p->variant,
                                            "median_ms", p->chosen * 1e3, "best_ms", p->best * 1e3, "loses", loss_of(p) / 100,
                                            "weight", p->weight));
    }
    json_t *j = tc_json_pack("{s:s,s:o,s:o,s:o,s:i}", "name", name, "range", range, "variants", variants, "points", points,
                             "programs", v->nprogram);
    tc_json_set(j, "form", tc_json_string(v->form));
    tc_json_set(j, "loses", v->n ? tc_json_real(expm1(v->loss)) : json_null());
    if (!v->n)
        tc_json_set(j, "why", tc_json_string(v->why));
    tc_arena_free(a);
    return j;
}

json_t *tc_report_places(const tc_workload *w, const tc_tune_places *p) {
    json_t *j = tc_json_array();
    for (int i = 0; i < p->n; i++)
        tc_json_append(j, sizes_json(w, p->sizes[i]));
    return j;
}

const char *tc_report_sizes_text(tc_arena *a, const tc_graph_size_rules *r, const int64_t *sizes) {
    const char *text = "";
    for (int k = 0; k < r->nsize; k++)
        text = tc_arena_printf(a, "%s %s=%lld", text, r->size[k].name, (long long)sizes[k]);
    return text;
}

json_t *tc_report_sizes(const tc_graph_size_rules *r, const int64_t *sizes) {
    json_t *j = tc_json_object();
    for (int k = 0; k < r->nsize; k++)
        tc_json_set(j, r->size[k].name, tc_json_integer((json_int_t)sizes[k]));
    return j;
}

bool tc_report_sizes_smaller(const tc_graph_size_rules *r, const int64_t *sizes) {
    for (int k = 0; k < r->nsize; k++)
        if (sizes[k] < r->size[k].most)
            return true;
    return false;
}
