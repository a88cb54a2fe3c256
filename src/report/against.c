/* The document about a network against its base, an earlier state of it: each kernel, and the whole network. */
#include <math.h>

#include "report/report.h"

static json_t *ms(double seconds) {
    return tc_report_real(seconds * 1e3);
}

/* The fields of the times a (the base) and b (now); a kernel that was not timed has null. */
static void put_verdict(json_t *j, const tc_tune_verdict *v) {
    bool timed = v->rounds > 0;
    json_object_set_new(j, "base_ms", ms(timed ? v->a : NAN));
    json_object_set_new(j, "now_ms", ms(timed ? v->b : NAN));
    json_object_set_new(j, "ratio", tc_report_real(timed ? v->ratio : NAN));
    json_object_set_new(j, "low", tc_report_real(timed ? v->low : NAN));
    json_object_set_new(j, "high", tc_report_real(timed ? v->high : NAN));
    json_object_set_new(j, "sign_p", tc_report_real(timed ? v->sign_p : NAN));
    json_object_set_new(j, "rounds", json_integer(v->rounds));
}

static json_t *step_json(const char *text) {
    return text ? json_string(text) : json_null();
}

static json_t *changed_json(const tc_graph_against_kernel *k) {
    json_t *all = json_array();
    for (int i = 0; i < k->nchanged; i++)
        json_array_append_new(
            all, json_pack("{s:o,s:o}", "base", step_json(k->changed[i].before), "now", step_json(k->changed[i].after)));
    return all;
}

static void put_now(json_t *j, const tc_graph_kernel *k) {
    json_object_set_new(j, "form", json_string(k->form));
    json_object_set_new(j, "source", json_string(k->source == TC_GRAPH_FROM_RECORD ? "record" : "default"));
    if (k->source == TC_GRAPH_FROM_RECORD)
        json_object_set_new(j, "record", json_integer(k->record));
    json_object_set_new(j, "schedule", json_string(k->trace));
}

static void put_base(json_t *j, const tc_graph_base_kernel *k) {
    json_object_set_new(j, "base_form", json_string(k->form));
    json_object_set_new(j, "base_schedule", json_string(k->trace));
    json_object_set_new(j, "then_ms", ms(k->seconds));
}

static json_t *kernel_json(const tc_graph_against_kernel *k) {
    json_t *j = json_object();
    json_object_set_new(j, "name", json_string(k->now ? k->now->name : k->base->name));
    json_object_set_new(j, "hash", json_string(k->now ? k->now->hash.hex : k->base->hash.hex));
    json_object_set_new(j, "count", json_integer(k->now ? k->now->count : k->base->count));
    json_object_set_new(j, "verdict", json_string(tc_graph_standing_text(k->standing)));
    put_verdict(j, &k->verdict);
    if (k->now)
        put_now(j, k->now);
    if (k->base)
        put_base(j, k->base);
    json_object_set_new(j, "changed", changed_json(k));
    if (k->why)
        json_object_set_new(j, "why", json_string(k->why));
    return j;
}

static json_t *network_json(const tc_graph_base *base, const tc_graph_against *x) {
    json_t *j = json_object();
    json_object_set_new(j, "verdict", json_string(tc_graph_standing_text(x->network)));
    put_verdict(j, &x->verdict);
    json_object_set_new(j, "then_ms", ms(base->seconds));
    return j;
}

json_t *tc_report_against(const char *name, const tc_graph_base *base, const tc_graph_against *x) {
    json_t *kernels = json_array();
    for (int i = 0; i < x->nkernel; i++)
        json_array_append_new(kernels, kernel_json(&x->kernels[i]));
    json_t *j = json_object();
    json_object_set_new(j, "name", json_string(name));
    json_object_set_new(j, "base", json_string(base->path));
    json_object_set_new(j, "base_name", json_string(base->name));
    json_object_set_new(j, "target", json_string(base->target));
    json_object_set_new(j, "threads", json_integer(base->threads));
    json_object_set_new(j, "network", network_json(base, x));
    json_object_set_new(j, "kernels", kernels);
    json_object_set_new(j, "slower", json_boolean(x->nslower > 0 || x->network == TC_GRAPH_SLOWER));
    json_object_set_new(j, "kernels_slower", json_integer(x->nslower));
    json_object_set_new(j, "kernels_not_compared", json_integer(x->nfailed));
    return j;
}
