/* The kernels of a page. Each has its best record, its roof and its code, and the same facts of the baseline. */
#include <math.h>
#include <string.h>

#include "report/page/page_int.h"
#include "report/report.h"
#include "te/text.h"
#include "te/unit_gain.h"
#include "tune/kernel/variants.h"

enum { CODE_BYTES = 320 << 10, LEAST_CODE = 3 << 10 }; /* bytes: of all assembly; least for each kernel, however many there are */

/* ---- which there are ---- */

static void add_form(page_kernel *k, const char *name, const tc_workload *w) {
    k->form[k->nform] = name;
    k->hash[k->nform++] = tc_te_hash(w);
}

static void find_forms(page *p, page_kernel *k) {
    const tc_workload *w = tc_te_canonical(p->ctx, k->workload);
    tc_space_alternative_list l = tc_space_alternatives(p->ctx, w, TC_ACCURACY_ALL);
    k->form = TC_NEW_N(p->arena, const char *, l.n + 1);
    k->hash = TC_NEW_N(p->arena, tc_digest, l.n + 1);
    add_form(k, "direct", w);
    for (int i = 0; i < l.n; i++)
        add_form(k, l.data[i].name, l.data[i].workload);
}

static void take_tasks(page *p) {
    const tc_page_options *o = p->o;
    p->kernels = TC_NEW_N(p->arena, page_kernel, o->ntask);
    for (; p->nkernel < o->ntask; p->nkernel++) {
        const tc_tune_task *t = &o->tasks[p->nkernel];
        page_kernel *k = &p->kernels[p->nkernel];
        *k = (page_kernel){.name = t->name,
                           .text = tc_te_text(p->arena, t->workload),
                           .workload = t->workload,
                           .weight = t->weight,
                           .instead = t->ninstead > 0,
                           .nnode = t->nnode,
                           .nodes = t->nodes,
                           .sizes = t->sizes};
        find_forms(p, k);
    }
}

/* Adds the workload of a summary as a kernel by itself, unless it is already there. */
static void take_summary(page *p, const tc_meas_summary *s) {
    tc_error err = {0};
    tc_strbuf operands = {0};
    int kernel, form;
    if (strcmp(s->target_hash.hex, p->target_hash.hex) != 0 || s->threads != p->threads ||
        page_form_of(p, &s->workload_hash, &kernel, &form))
        return;
    page_kernel *k = &p->kernels[p->nkernel++];
    *k = (page_kernel){.text = s->workload, .weight = 1};
    if (tc_te_parse(p->ctx, "workload", s->workload, &k->workload, &err) != TC_OK) {
        k->workload = NULL;
        k->why = tc_arena_printf(p->arena, "%s", err.msg);
    }
    tc_meas_summary_operands(&operands, s);
    k->name = tc_arena_printf(p->arena, "%.8s %s", s->workload_hash.hex, tc_sb_str(&operands));
    tc_strbuf_free(&operands);
    k->form = TC_NEW_N(p->arena, const char *, 1);
    k->hash = TC_NEW_N(p->arena, tc_digest, 1);
    k->form[0] = "direct";
    k->hash[k->nform++] = s->workload_hash;
}

tc_status page_find_kernels(page *p, tc_error *err) {
    tc_meas_summaries all;
    if (p->o->ntask) {
        take_tasks(p);
        return TC_OK;
    }
    TC_TRY(tc_meas_db_summaries(p->db, p->arena, &all, err));
    p->kernels = TC_NEW_N(p->arena, page_kernel, all.len);
    for (size_t i = 0; i < all.len; i++)
        take_summary(p, &all.data[i]);
    return TC_OK;
}

bool page_form_of(const page *p, const tc_digest *hash, int *kernel, int *form) {
    for (*kernel = 0; *kernel < p->nkernel; ++*kernel)
        for (*form = 0; *form < p->kernels[*kernel].nform; ++*form)
            if (strcmp(p->kernels[*kernel].hash[*form].hex, hash->hex) == 0)
                return true;
    return false;
}

/* ---- the best record ---- */

static tc_tune_query query(const page *p, const page_kernel *k, tc_meas_db *db) {
    return (tc_tune_query){
        .workload = k->workload, .target = p->target, .accuracy = p->o->ntask ? p->o->accuracy : TC_ACCURACY_STRICT, .db = db};
}

static size_t code_bytes(const page *p) {
    size_t sides = p->base ? 2 : 1;
    return TC_MAX(CODE_BYTES / (sides * (size_t)TC_MAX(p->nkernel, 1)), (size_t)LEAST_CODE);
}

static json_t *tell_record(page *p, const page_kernel *k, const tc_tune_schedule *s) {
    const tc_record *r = s->record;
    const char *bound;
    double roof = page_roof(p, k->workload, r->mode, &bound);
    json_t *j = tc_json_pack("{s:I,s:s,s:f,s:s,s:i,s:I,s:f,s:f}", "record", (json_int_t)r->id, "form", s->form, "median_ms",
                             r->median * 1e3, "mode", tc_meas_mode_text(r->mode), "rounds", r->rounds, "when_ms",
                             (json_int_t)r->when_ms, "bytes", page_traffic(k->workload, r->mode), "max_error", r->max_error);
    tc_json_set(j, "host", tc_json_string(r->host));
    tc_json_set(j, "roof_ms", tc_json_real(roof * 1e3));
    tc_json_set(j, "of_roof", tc_json_real(roof / r->median));
    tc_json_set(j, "bound_by", tc_json_string(bound));
    tc_json_set(j, "code", page_code(p->target, s, code_bytes(p)));
    return j;
}

/* The best record of a search whose times were computed; no build uses such a record. */
static json_t *tell_computed(page *p, const page_kernel *k) {
    const page_best *b = &k->best[TC_MEAS_SIMULATED];
    tc_record r = tc_meas_record_empty();
    r.id = b->id;
    r.median = b->median;
    r.rounds = b->rounds;
    r.mode = TC_MEAS_SIMULATED;
    const char *form = tc_tune_form_of(k->workload, k->traced_hash.hex, p->arena);
    tc_tune_schedule s = {
        .workload = k->traced, .trace = k->trace, .form = form ? form : "direct", .hash = k->traced_hash, .record = &r};
    return tell_record(p, k, &s);
}

static json_t *nothing(const char *why) {
    return tc_json_pack("{s:n,s:o}", "record", "why", tc_json_string(why));
}

/* The record that a build would use, or why there is none. */
static json_t *tell_best(page *p, const page_kernel *k, tc_meas_db *db) {
    tc_error err = {0};
    tc_tune_schedule s;
    if (!k->workload)
        return nothing(k->why);
    if (!p->target)
        return nothing(p->target_why);
    if (k->workload->nsymbol)
        return nothing("its sizes vary: see its range");
    tc_tune_query q = query(p, k, db);
    if (tc_tune_schedule_find(&q, p->arena, &s, &err) != TC_OK)
        return nothing(err.msg);
    if (s.record)
        return tell_record(p, k, &s);
    return db == p->db && k->trace ? tell_computed(p, k) : nothing(s.why ? s.why : "there is no record");
}

static json_t *tell_range(page *p, const page_kernel *k) {
    tc_error err = {0};
    tc_tune_variants v;
    tc_tune_query q = query(p, k, p->db);
    if (!k->workload || !p->target || !k->workload->nsymbol)
        return json_null();
    if (tc_tune_variants_find(&q, k->sizes, p->arena, &v, &err) != TC_OK)
        return nothing(err.msg);
    return tc_report_variants(k->name, k->workload, &v);
}

/* ---- all ---- */

static json_t *tell_modes(const page_kernel *k) {
    json_t *list = tc_json_array();
    for (int m = 0; m < TC_MEAS_NMODES; m++) {
        const page_best *b = &k->best[m];
        if (b->id)
            tc_json_append(list, tc_json_pack("{s:s,s:I,s:f,s:f,s:f,s:i,s:i}", "mode", tc_meas_mode_text((tc_meas_mode)m),
                                              "record", (json_int_t)b->id, "median_ms", b->median * 1e3, "low_ms", b->low * 1e3,
                                              "high_ms", b->high * 1e3, "times", (int)b->times, "rounds", b->rounds));
    }
    return list;
}

static json_t *tell_forms(const page_kernel *k) {
    json_t *list = tc_json_array();
    for (int i = 0; i < k->nform; i++)
        tc_json_append(list, tc_json_pack("{s:s,s:s}", "name", k->form[i], "hash", k->hash[i].hex));
    return list;
}

static json_t *tell_kernel(page *p, int i) {
    const page_kernel *k = &p->kernels[i];
    const tc_workload *w = k->workload;
    const tc_intrinsic *unit = w && p->target ? tc_te_unit(w, p->target->machine.intrinsics) : NULL;
    json_t *j = tc_json_pack("{s:o,s:f,s:b,s:o,s:I,s:I,s:o}", "name", tc_json_string(k->name), "weight", k->weight,
                             "instead_of_others", k->instead, "workload", tc_json_string(k->text), "records",
                             (json_int_t)k->records, "valid", (json_int_t)k->valid, "forms", tell_forms(k));
    tc_json_set(j, "nodes", tc_report_names(k->nnode, k->nodes));
    tc_json_set(j, "flops", w ? tc_json_real(tc_te_flops(w)) : json_null());
    tc_json_set(j, "bytes", w ? tc_json_real(tc_te_bytes_moved(w)) : json_null());
    tc_json_set(j, "constant_bytes", w ? tc_json_real(tc_te_constant_bytes_read(w)) : json_null());
    tc_json_set(j, "unit", tc_report_unit(unit));
    tc_json_set(j, "modes", tell_modes(k));
    json_t *best = tell_best(p, k, p->db);
    tc_json_set(j, "best", best);
    tc_json_set(j, "commands", page_tell_kernel_commands(p, i, json_integer_value(json_object_get(best, "record"))));
    tc_json_set(j, "baseline", p->base ? tell_best(p, k, p->base) : json_null());
    tc_json_set(j, "range", tell_range(p, k));
    return j;
}

json_t *page_tell_kernels(page *p) {
    json_t *list = tc_json_array();
    for (int i = 0; i < p->nkernel && !tc_ran_out(); i++)
        tc_json_append(list, tell_kernel(p, i));
    return list;
}
