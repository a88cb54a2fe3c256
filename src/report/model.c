/* Describes built models: the schedule of each kernel, and the results of measurements in the network itself. */
#include <string.h>

#include "graph/trials/contest.h"
#include "graph/trials/precision.h"
#include "report/report.h"

json_t *tc_report_kernels(const tc_graph_kernel *k, int n) {
    json_t *list = tc_json_array();
    tc_arena *a = tc_arena_new();
    for (int i = 0; i < n; i++) {
        json_t *j = tc_json_object();
        double each = k[i].seconds / k[i].count;
        tc_json_set(j, "name", tc_json_string(k[i].name));
        tc_json_set(j, "nodes", tc_report_names(k[i].nnode, k[i].nodes));
        tc_json_set(j, "symbol", tc_json_string(k[i].symbol));
        tc_json_set(j, "hash", tc_json_string(k[i].hash.hex));
        tc_json_set(j, "form", tc_json_string(k[i].form));
        tc_json_set(j, "count", tc_json_integer(k[i].count));
        tc_json_set(j, "flops", tc_json_real(k[i].flops));
        tc_json_set(j, "unit", tc_report_unit(k[i].unit));
        tc_json_set(j, "trace_hash", tc_json_string(k[i].trace_hash.hex));
        tc_json_set(j, "source", tc_json_string(k[i].source == TC_GRAPH_FROM_RECORD ? "record" : "default"));
        if (k[i].variants)
            tc_json_set(j, "variants", tc_json_integer(k[i].variants));
        if (k[i].source == TC_GRAPH_FROM_RECORD)
            tc_json_set(j, "record", tc_json_integer(k[i].record));
        else if (k[i].trace && *tc_report_by_cost(k[i].trace, a))
            tc_json_set(j, "by_cost", tc_json_string(tc_report_by_cost(k[i].trace, a)));
        if (k[i].recorded > 0) { /* a library tells only which record it was */
            tc_json_set(j, "recorded_ms", tc_json_real(k[i].recorded * 1e3));
            tc_json_set(j, "when_ms", tc_json_integer(k[i].when_ms));
        }
        if (*k[i].why)
            tc_json_set(j, "why", tc_json_string(k[i].why));
        if (k[i].seconds > 0) {
            tc_json_set(j, "time_ms", tc_json_real(each * 1e3));
            tc_json_set(j, "total_ms", tc_json_real(k[i].seconds * 1e3));
            tc_json_set(j, "gflops", tc_json_real(k[i].flops / each / 1e9));
        }
        tc_json_append(list, j);
    }
    tc_arena_free(a);
    return list;
}

/* ---- records compared in the network ---- */

json_t *tc_report_refusals(const tc_graph_admission *x) {
    json_t *list = tc_json_array();
    for (int i = 0; i < x->nrefused; i++) {
        const tc_graph_refusal *r = &x->refused[i];
        tc_json_append(list, tc_json_pack("{s:I, s:s, s:s, s:s}", "record", (json_int_t)r->record.id, "kernel", r->kernel,
                                          "error", tc_meas_error_text(r->now.error), "message", r->now.message));
    }
    return list;
}

json_t *tc_report_contest(const tc_graph_contest *c) {
    json_t *list = tc_json_array();
    for (int i = 0; i < c->nkernel; i++) {
        json_t *trials = tc_json_array();
        for (int r = 0; r < c->k; r++) {
            const tc_graph_trial *x = &c->trials[i * c->k + r];
            if (x->record)
                tc_json_append(trials, tc_json_pack("{s:I, s:o, s:f, s:f, s:b, s:b}", "record", (json_int_t)x->record,
                                                    "recorded_ms", tc_json_real(x->recorded * 1e3), "total_ms", x->seconds * 1e3,
                                                    "speedup", x->speedup, "faster", x->faster, "used", r == c->ranks[i]));
        }
        tc_json_append(list, trials);
    }
    return list;
}

/* ---- rounding to bf16 within a budget of error ---- */

json_t *tc_report_precision(const tc_graph_precision *p) {
    json_t *all = tc_json_array();
    for (int i = 0; i < p->n; i++) {
        const tc_graph_rounding *k = &p->kernels[i];
        tc_json_append(all, tc_json_pack("{s:s,s:i,s:f,s:f,s:o,s:b}", "name", k->name, "count", k->count, "f32_ms", k->f32 * 1e3,
                                         "bf16_ms", k->bf16 * 1e3, "error", tc_json_real(k->error), "used", k->used));
    }
    return tc_json_pack("{s:o,s:o}", "error", tc_json_real(p->error), "kernels", all);
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
    json_t *j = tc_json_pack("{s:s,s:i,s:i,s:s,s:s}", "why", obstacles[u.obstacle].name, "kernels", n, "of", of, "recorded",
                             u.recorded, "option", option);
    tc_json_set(j, "message", tc_json_string(unused_message(&u, n, of, option, a)));
    tc_arena_free(a);
    return j;
}

/* ---- a model ---- */

json_t *tc_report_model(const tc_report_built *b) {
    const tc_graph_kernel *k;
    const char *const *drawn;
    int n = tc_graph_model_kernels(b->model, &k), ndrawn = tc_graph_model_drawn(b->model, &drawn);
    tc_graph_memory mem = tc_graph_model_memory(b->model);
    json_t *j = tc_json_object();
    tc_json_set(j, "target", tc_json_string(b->target));
    tc_json_set(j, "threads", tc_json_integer(tc_graph_model_threads(b->model)));
    tc_json_set(j, "flops", tc_json_real(tc_graph_model_flops(b->model)));
    tc_json_set(j, "arena_bytes", tc_json_integer(mem.arena));
    tc_json_set(j, "arena_bytes_without_reuse", tc_json_integer(mem.arena_without_reuse));
    tc_json_set(j, "constant_bytes", tc_json_integer(mem.constants));
    tc_json_set(j, "bf16_intermediates", tc_json_integer(mem.nbf16));
    tc_json_set(j, "bytes_saved_by_bf16", tc_json_integer(mem.saved_by_bf16));
    tc_json_set(j, "kernels", tc_report_kernels(k, n));
    tc_json_set(j, "unused_records", unused_json(b));
    tc_json_set(j, "drawn_constants", tc_report_names(ndrawn, drawn));
    if (b->contest) {
        tc_json_set(j, "in_graph", tc_report_contest(b->contest));
        tc_json_set(j, "rounds", tc_json_integer(b->contest->rounds));
        tc_json_set(j, "left_out", tc_report_refusals(b->admitted));
    }
    if (b->precision)
        tc_json_set(j, "precision", tc_report_precision(b->precision));
    return j;
}
