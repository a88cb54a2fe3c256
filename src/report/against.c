/* The document about a network against its base, an earlier state of it: each kernel, and the whole network. */
#include <math.h>

#include "report/report.h"

static json_t *ms(double seconds) {
    return tc_json_real(seconds * 1e3);
}

/* The fields of the times a (the base) and b (now); a kernel that was not timed has null. */
static void put_verdict(json_t *j, const tc_tune_verdict *v) {
    bool timed = v->rounds > 0;
    tc_json_set(j, "base_ms", ms(timed ? v->a : NAN));
    tc_json_set(j, "now_ms", ms(timed ? v->b : NAN));
    tc_json_set(j, "ratio", tc_json_real(timed ? v->ratio : NAN));
    tc_json_set(j, "low", tc_json_real(timed ? v->low : NAN));
    tc_json_set(j, "high", tc_json_real(timed ? v->high : NAN));
    tc_json_set(j, "sign_p", tc_json_real(timed ? v->sign_p : NAN));
    tc_json_set(j, "rounds", tc_json_integer(v->rounds));
}

static json_t *step_json(const char *text) {
    return tc_json_string(text);
}

static json_t *changed_json(const tc_graph_against_kernel *k) {
    json_t *all = tc_json_array();
    for (int i = 0; i < k->nchanged; i++)
        tc_json_append(all,
                       tc_json_pack("{s:o,s:o}", "base", step_json(k->changed[i].before), "now", step_json(k->changed[i].after)));
    return all;
}

static void put_now(json_t *j, const tc_graph_kernel *k) {
    tc_json_set(j, "form", tc_json_string(k->form));
    tc_json_set(j, "source", tc_json_string(k->source == TC_GRAPH_FROM_RECORD ? "record" : "default"));
    if (k->source == TC_GRAPH_FROM_RECORD)
        tc_json_set(j, "record", tc_json_integer(k->record));
    tc_json_set(j, "schedule", tc_json_string(k->trace));
}

static void put_base(json_t *j, const tc_graph_base_kernel *k) {
    tc_json_set(j, "base_form", tc_json_string(k->form));
    tc_json_set(j, "base_schedule", tc_json_string(k->trace));
    tc_json_set(j, "then_ms", ms(k->seconds));
}

static json_t *kernel_json(const tc_graph_against_kernel *k) {
    json_t *j = tc_json_object();
    tc_json_set(j, "name", tc_json_string(k->now ? k->now->name : k->base->name));
    tc_json_set(j, "hash", tc_json_string(k->now ? k->now->hash.hex : k->base->hash.hex));
    tc_json_set(j, "count", tc_json_integer(k->now ? k->now->count : k->base->count));
    tc_json_set(j, "verdict", tc_json_string(tc_graph_standing_text(k->standing)));
    put_verdict(j, &k->verdict);
    if (k->now)
        put_now(j, k->now);
    if (k->base)
        put_base(j, k->base);
    tc_json_set(j, "changed", changed_json(k));
    if (k->why)
        tc_json_set(j, "why", tc_json_string(k->why));
    return j;
}

static json_t *network_json(const tc_graph_base *base, const tc_graph_against *x) {
    json_t *j = tc_json_object();
    tc_json_set(j, "verdict", tc_json_string(tc_graph_standing_text(x->network)));
    put_verdict(j, &x->verdict);
    tc_json_set(j, "then_ms", ms(base->seconds));
    return j;
}

json_t *tc_report_against(const char *name, const tc_graph_base *base, const tc_graph_against *x) {
    json_t *kernels = tc_json_array();
    for (int i = 0; i < x->nkernel; i++)
        tc_json_append(kernels, kernel_json(&x->kernels[i]));
    json_t *j = tc_json_object();
    tc_json_set(j, "name", tc_json_string(name));
    tc_json_set(j, "base", tc_json_string(base->path));
    tc_json_set(j, "base_name", tc_json_string(base->name));
    tc_json_set(j, "target", tc_json_string(base->target));
    tc_json_set(j, "threads", tc_json_integer(base->threads));
    tc_json_set(j, "network", network_json(base, x));
    tc_json_set(j, "kernels", kernels);
    tc_json_set(j, "slower", json_boolean(x->nslower > 0 || x->network == TC_GRAPH_SLOWER));
    tc_json_set(j, "kernels_slower", tc_json_integer(x->nslower));
    tc_json_set(j, "kernels_not_compared", tc_json_integer(x->nfailed));
    return j;
}
