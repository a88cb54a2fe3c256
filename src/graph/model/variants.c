/* Kernels whose sizes vary. Several programs serve a span of sizes each. The contests of tuning choose them, and they are built as
 * one function. */
#include <string.h>

#include "graph/model/parts.h"
#include "tir_lower/program/program.h"
#include "tune/kernel/variants.h"

tc_status tc_graph_variants_of(const tc_graph_program *p, int task, const tc_graph_build_options *o, tc_arena *a,
                               tc_graph_choice *out, tc_error *err) {
    tc_target target = *o->target;
    target.machine.cores = tc_graph_threads_of(o);
    const tc_workload *w = p->tasks[task].workload;
    tc_tune_query q = {.workload = w, .target = &target, .accuracy = tc_graph_accuracy_of(o, task), .db = o->db};
    tc_tune_variants v;
    const tc_tune_weights *weights = NULL;
    *out = (tc_graph_choice){0};
    if (o->weights)
        TC_TRY(tc_graph_program_weights(p, task, o->weights, a, &weights, err));
    TC_TRY(tc_tune_variants_find(&q, weights, a, &v, err));
    out->why = v.why;
    if (!v.n)
        return TC_OK;
    tc_record *r = TC_NEW_N(a, tc_record, v.n);
    int64_t *upto = TC_NEW_N(a, int64_t, v.n);
    const char *largest = tc_meas_sizes_text(a, v.point[v.npoint - 1].sizes, w->nsymbol);
    for (int i = 0; i < v.n; i++) {
        r[i] = (tc_record){.id = v.v[i].record,
                           .workload = v.v[i].workload,
                           .workload_hash = v.v[i].hash,
                           .trace = v.v[i].trace,
                           .trace_hash = tc_meas_text_hash(v.v[i].trace),
                           .program = v.v[i].program,
                           .sizes = largest,
                           .median = v.point[v.npoint - 1].chosen,
                           .when_ms = v.when_ms};
        upto[i] = v.v[i].upto;
    }
    *out = (tc_graph_choice){.records = r, .n = v.n, .upto = upto};
    return TC_OK;
}

static tc_status lower(tc_graph_unit *u, const tc_machine *m, const tc_record *r, tc_func **out, tc_error *err) {
    const tc_graph_form *form = tc_graph_form_of(u, r);
    tc_tir_program p;
    if (!form)
        return tc_fail(err, TC_ILLEGAL, "the accuracy does not allow their form");
    tc_tir_origin from = {.workload = form->workload, .machine = m, .text = r->trace, .name = "record"};
    TC_TRY(tc_tir_program_make(u->ctx, &from, TC_TIR_VERIFIED, &p, err));
    *out = p.lowered;
    return TC_OK;
}

static bool same_program(const tc_record *x, const tc_record *y) {
    return strcmp(x->workload_hash.hex, y->workload_hash.hex) == 0 && strcmp(x->trace, y->trace) == 0;
}

tc_status tc_graph_build_variants(tc_graph_unit *u, const tc_machine *m, const tc_graph_choice *c, tc_error *err) {
    tc_arena *a = tc_arena_new();
    tc_func **f = TC_NEW_N(a, tc_func *, c->n);
    tc_status s = TC_OK;
    tc_ctx_reset(u->ctx);
    for (int i = 0; i < c->n && s == TC_OK; i++) {
        int same = 0; /* one program may serve several spans */
        while (!same_program(&c->records[same], &c->records[i]))
            same++;
        if (same < i)
            f[i] = f[same];
        else
            s = lower(u, m, &c->records[i], &f[i], err);
    }
    if (s == TC_OK)
        s = tc_tir_variants(u->ctx, c->n, (const tc_func *const *)f, c->upto, &u->func, err);
    if (s == TC_OK)
        u->used = tc_graph_form_of(u, &c->records[0]); /* the constants of all */
    tc_arena_free(a);
    return s;
}
