/* Describes built models: the schedule of each kernel, and the results of measurements in the network itself. */
#include <string.h>

#include "graph/trials/contest.h"
#include "graph/trials/precision.h"
#include "report/report.h"

json_t *tc_report_kernels(const tc_graph_kernel *k, int n) {
    json_t *list = json_array();
    tc_arena *a = tc_arena_new();
    for (int i = 0; i < n; i++) {
        json_t *j = json_object();
        double each = k[i].seconds / k[i].count;
        json_object_set_new(j, "name", json_string(k[i].name));
        json_object_set_new(j, "nodes", tc_report_names(k[i].nnode, k[i].nodes));
        json_object_set_new(j, "symbol", json_string(k[i].symbol));
        json_object_set_new(j, "hash", json_string(k[i].hash.hex));
        json_object_set_new(j, "form", json_string(k[i].form));
        json_object_set_new(j, "count", json_integer(k[i].count));
        json_object_set_new(j, "flops", json_real(k[i].flops));
        json_object_set_new(j, "unit", tc_report_unit(k[i].unit));
        json_object_set_new(j, "trace_hash", json_string(k[i].trace_hash.hex));
        json_object_set_new(j, "source", json_string(k[i].source == TC_GRAPH_FROM_RECORD ? "record" : "default"));
        if (k[i].variants)
            json_object_set_new(j, "variants", json_integer(k[i].variants));
        if (k[i].source == TC_GRAPH_FROM_RECORD)
            json_object_set_new(j, "record", json_integer(k[i].record));
        else if (k[i].trace && *tc_report_by_cost(k[i].trace, a))
            json_object_set_new(j, "by_cost", json_string(tc_report_by_cost(k[i].trace, a)));
        if (k[i].recorded > 0) { /* a library tells only which record it was */
            json_object_set_new(j, "recorded_ms", json_real(k[i].recorded * 1e3));
            json_object_set_new(j, "when_ms", json_integer(k[i].when_ms));
        }
        if (*k[i].why)
            json_object_set_new(j, "why", json_string(k[i].why));
        if (k[i].seconds > 0) {
            json_object_set_new(j, "time_ms", json_real(each * 1e3));
            json_object_set_new(j, "total_ms", json_real(k[i].seconds * 1e3));
            json_object_set_new(j, "gflops", json_real(k[i].flops / each / 1e9));
        }
        json_array_append_new(list, j);
    }
    tc_arena_free(a);
    return list;
}

/* ---- records compared in the network ---- */

json_t *tc_report_refusals(const tc_graph_admission *x) {
    json_t *list = json_array();
    for (int i = 0; i < x->nrefused; i++) {
        const tc_graph_refusal *r = &x->refused[i];
        json_array_append_new(list, json_pack("{s:I, s:s, s:s, s:s}", "record", (json_int_t)r->record.id, "kernel", r->kernel,
                                              "error", tc_meas_error_text(r->now.error), "message", r->now.message));
    }
    return list;
}

json_t *tc_report_contest(const tc_graph_contest *c) {
    json_t *list = json_array();
    for (int i = 0; i < c->nkernel; i++) {
        json_t *trials = json_array();
        for (int r = 0; r < c->k; r++) {
            const tc_graph_trial *x = &c->trials[i * c->k + r];
            if (x->record)
                json_array_append_new(trials,
                                      json_pack("{s:I, s:o, s:f, s:f, s:b, s:b}", "record", (json_int_t)x->record, "recorded_ms",
                                                tc_report_real(x->recorded * 1e3), "total_ms", x->seconds * 1e3, "speedup",
                                                x->speedup, "faster", x->faster, "used", r == c->ranks[i]));
        }
        json_array_append_new(list, trials);
    }
    return list;
}

/* ---- rounding to bf16 within a budget of error ---- */

json_t *tc_report_precision(const tc_graph_precision *p) {
    json_t *all = json_array();
    for (int i = 0; i < p->n; i++) {
        const tc_graph_rounding *k = &p->kernels[i];
        json_array_append_new(all,
                              json_pack("{s:s,s:i,s:f,s:f,s:o,s:b}", "name", k->name, "count", k->count, "f32_ms", k->f32 * 1e3,
                                        "bf16_ms", k->bf16 * 1e3, "error", tc_report_real(k->error), "used", k->used));
    }
    return json_pack("{s:o,s:o}", "error", tc_report_real(p->error), "kernels", all);
}

/* ---- records that are not used ---- */

/* By obstacle: the reason that excludes records, and the option that would admit them. */
static const struct obstacle {
    const char *name, *option;
} obstacles[] = {
    [TC_GRAPH_OTHER_THREADS] = {"threads", "--threads"},       [TC_GRAPH_OTHER_TARGET] = {"target", "--target"},
    [TC_GRAPH_OTHER_ACCURACY] = {"accuracy", "--accuracy"},    [TC_GRAPH_FASTER_FORM] = {"accuracy", "--accuracy"},
    [TC_GRAPH_OTHER_PRECISION] = {"precision", "--precision"}, [TC_GRAPH_OTHER_SHAPE] = {"shape", "--shape"},
};

/* The short name of the target, if the target is this machine. */
static const char *target_name(const char *text) {
    tc_target *here = NULL;
    bool same = tc_target_parse("native", &here, NULL) == TC_OK && strcmp(here->text, text) == 0;
    tc_target_free(here);
    return same ? "native" : text;
}

/* "--threads 1", "--target native", "--target 'llvm -mtriple=...'". For sizes the option is not known. */
static const char *option_of(const tc_graph_unused *u, tc_arena *a) {
    const char *option = obstacles[u->obstacle].option;
    const char *value = u->obstacle == TC_GRAPH_OTHER_TARGET ? target_name(u->recorded) : u->recorded;
    const char *quote = strchr(value, ' ') ? "'" : "";
    return u->obstacle == TC_GRAPH_OTHER_SHAPE ? option : tc_arena_printf(a, "%s %s%s%s", option, quote, value, quote);
}

/* What the kernels do instead, and how to use the records. */
static const char *unused_message(const tc_graph_unused *u, int n, int of, const char *option, tc_arena *a) {
    if (u->obstacle == TC_GRAPH_OTHER_SHAPE)
        return tc_arena_printf(a,
                               "no kernel uses a record: the database has records of kernels like these with other sizes (%s); "
                               "give the --shape that was tuned, or tune these sizes",
                               u->recorded);
    if (u->obstacle == TC_GRAPH_FASTER_FORM)
        return tc_arena_printf(
            a,
            "%d of %d kernels do not use their fastest record: it is of a form that mixes rows, so the error of a row "
            "depends on other rows; add %s to use it, or change nothing to keep rows apart",
            n, of, option);
    return tc_arena_printf(a,
                           "%d of %d kernels use a default schedule, though the database has records of them: these records "
                           "are for another %s; add %s, or tune these kernels",
                           n, of, u->obstacle == TC_GRAPH_OTHER_THREADS ? "number of threads" : obstacles[u->obstacle].name,
                           option);
}

static json_t *unused_json(const tc_report_built *b) {
    tc_graph_unused u;
    const tc_graph_kernel *k;
    int n = tc_graph_model_unused(b->model, &u), of = tc_graph_model_kernels(b->model, &k);
    if (!n)
        return json_null();
    tc_arena *a = tc_arena_new();
    const char *option = option_of(&u, a);
    json_t *j = json_pack("{s:s,s:i,s:i,s:s,s:s}", "why", obstacles[u.obstacle].name, "kernels", n, "of", of, "recorded",
                          u.recorded, "option", option);
    json_object_set_new(j, "message", tc_report_string(unused_message(&u, n, of, option, a)));
    tc_arena_free(a);
    return j;
}

/* ---- a model ---- */

json_t *tc_report_model(const tc_report_built *b) {
    const tc_graph_kernel *k;
    const char *const *drawn;
    int n = tc_graph_model_kernels(b->model, &k), ndrawn = tc_graph_model_drawn(b->model, &drawn);
    tc_graph_memory mem = tc_graph_model_memory(b->model);
    json_t *j = json_object();
    json_object_set_new(j, "target", b->target ? json_string(b->target) : json_null());
    json_object_set_new(j, "threads", json_integer(tc_graph_model_threads(b->model)));
    json_object_set_new(j, "flops", json_real(tc_graph_model_flops(b->model)));
    json_object_set_new(j, "arena_bytes", json_integer(mem.arena));
    json_object_set_new(j, "arena_bytes_without_reuse", json_integer(mem.arena_without_reuse));
    json_object_set_new(j, "constant_bytes", json_integer(mem.constants));
    json_object_set_new(j, "bf16_intermediates", json_integer(mem.nbf16));
    json_object_set_new(j, "bytes_saved_by_bf16", json_integer(mem.saved_by_bf16));
    json_object_set_new(j, "kernels", tc_report_kernels(k, n));
    json_object_set_new(j, "unused_records", unused_json(b));
    json_object_set_new(j, "drawn_constants", tc_report_names(ndrawn, drawn));
    if (b->contest) {
        json_object_set_new(j, "in_graph", tc_report_contest(b->contest));
        json_object_set_new(j, "rounds", json_integer(b->contest->rounds));
        json_object_set_new(j, "left_out", tc_report_refusals(b->admitted));
    }
    if (b->precision)
        json_object_set_new(j, "precision", tc_report_precision(b->precision));
    return j;
}
