/* Variants from a database: the records of the last contest over sizes become a table of times, of which variants.c chooses. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/records/check.h"
#include "support/log.h"
#include "support/map.h"
#include "support/vec.h"
#include "te/text.h"
#include "tir_lower/build/build.h"
#include "tir_lower/program/program.h"
#include "tune/kernel/transplant.h"
#include "tune/kernel/variants.h"

/* The workload, or one of its alternatives (search_space/alternatives/alternatives.h). */
typedef struct form {
    const char *name, *constants; /* constants: as tc_space_alternative has it */
    const tc_workload *w;         /* canonical */
    tc_digest hash;
} form;

typedef struct program {
    const tc_record *of; /* one of its records */
    const form *form;
    const tc_func *nest;
    int group; /* number of the first program that has the same constants, all in the same layouts */
} program;

typedef struct table {
    tc_arena *a;
    tc_ctx *ctx;
    int nform;
    form *form; /* the first is the workload's own */
    int nsymbol;
    TC_VEC(tc_record) r; /* of one contest */
    TC_VEC(program) program;
    TC_VEC(const int64_t *) place;
    double *seconds;
} table;

/* ---- records ---- */

static void list_forms(table *t, const tc_tune_query *q) {
    const tc_workload *own = tc_te_canonical(t->ctx, q->workload);
    tc_space_alternative_list l = tc_space_alternatives(t->ctx, own, q->accuracy);
    t->form = TC_NEW_N(t->a, form, 1 + l.n);
    t->form[t->nform++] = (form){"direct", "direct", own, tc_te_hash(own)};
    for (int i = 0; i < l.n; i++) {
        const tc_workload *w = tc_te_canonical(t->ctx, l.data[i].workload);
        t->form[t->nform++] =
            (form){tc_arena_strdup(t->a, l.data[i].name), tc_arena_strdup(t->a, l.data[i].constants), w, tc_te_hash(w)};
    }
    t->nsymbol = own->nsymbol;
}

/* Of the last contest: they were stored together. */
static void keep_last(table *t) {
    int64_t last = 0;
    size_t n = 0;
    for (size_t i = 0; i < t->r.len; i++)
        last = TC_MAX(last, t->r.data[i].when_ms);
    for (size_t i = 0; i < t->r.len; i++)
        if (t->r.data[i].when_ms == last)
            t->r.data[n++] = t->r.data[i];
    t->r.len = n;
}

static tc_status read_contest(const tc_tune_query *q, table *t, tc_error *err) {
    tc_digest target = tc_meas_text_hash(q->target->text);
    for (int i = 0; i < t->nform; i++) {
        tc_meas_records r;
        tc_meas_filter f = {.workload_hash = t->form[i].hash.hex,
                            .target_hash = target.hex,
                            .threads = q->target->machine.cores,
                            .sized = true,
                            .verified = true};
        TC_TRY(tc_meas_db_select(q->db, t->a, &f, &r, err));
        for (size_t k = 0; k < r.len; k++)
            if (!tc_meas_mode_is_apart(r.data[k].mode))
                tc_push(&t->r, r.data[k]);
    }
    keep_last(t);
    return TC_OK;
}

static const form *form_of(const table *t, const tc_record *r) {
    int i = 0;
    while (strcmp(t->form[i].hash.hex, r->workload_hash.hex) != 0)
        i++;
    return &t->form[i];
}

static int find_place(const table *t, const int64_t *sizes) {
    for (size_t i = 0; i < t->place.len; i++)
        if (memcmp(t->place.data[i], sizes, (size_t)t->nsymbol * sizeof *sizes) == 0)
            return (int)i;
    return -1;
}

static int find_program(const table *t, const tc_record *r) {
    for (size_t i = 0; i < t->program.len; i++)
        if (t->program.data[i].form == form_of(t, r) && strcmp(t->program.data[i].of->trace_hash.hex, r->trace_hash.hex) == 0)
            return (int)i;
    return -1;
}

static int by_product(const table *t, const int64_t *x, const int64_t *y) {
    int64_t p = tc_tune_product(x, t->nsymbol), q = tc_tune_product(y, t->nsymbol);
    return (p > q) - (p < q);
}

/* In order of their products. */
static void put_place(table *t, const int64_t *sizes) {
    if (find_place(t, sizes) >= 0)
        return;
    tc_push(&t->place, sizes);
    for (size_t i = t->place.len - 1; i > 0 && by_product(t, t->place.data[i - 1], sizes) > 0; i--) {
        t->place.data[i] = t->place.data[i - 1];
        t->place.data[i - 1] = sizes;
    }
}

static void put_program(table *t, const tc_record *r, const tc_machine *m) {
    const form *k = form_of(t, r);
    tc_tir_origin from = {.workload = k->w, .machine = m, .text = r->trace, .name = "record"};
    tc_tir_program p;
    tc_error why = {0};
    if (find_program(t, r) >= 0)
        return;
    if (tc_tir_program_make(t->ctx, &from, TC_TIR_NEST, &p, &why) != TC_OK) {
        tc_log(TC_LOG_WARN, "record %lld is not used: its trace does not apply any more: %s", (long long)r->id, why.msg);
        return;
    }
    program x = {.of = r, .form = k, .nest = p.nest, .group = (int)t->program.len};
    for (size_t i = 0; i < t->program.len && x.group == (int)t->program.len; i++)
        if (strcmp(t->program.data[i].form->constants, k->constants) == 0 && tc_tune_packs_alike(t->program.data[i].nest, p.nest))
            x.group = t->program.data[i].group;
    tc_push(&t->program, x);
}

/* Others on the machine only ever add to a time, and in a contest, where a program has few rounds at each size, now and then to
 * most of them. */
static double least_of(const tc_record *r) {
    double least = r->median;
    for (size_t i = 0; i < r->ntimes; i++)
        least = TC_MIN(least, r->times[i]);
    return least;
}

/* Those that do not fit the workload are passed over, as a query passes over those that contradict themselves. */
static void fill(table *t, const tc_machine *m) {
    int64_t **sizes = TC_NEW_N(t->a, int64_t *, t->r.len);
    for (size_t i = 0; i < t->r.len; i++) {
        tc_error why = {0};
        sizes[i] = TC_NEW_N(t->a, int64_t, t->nsymbol);
        if (tc_meas_check_sizes(t->form[0].w, t->r.data[i].sizes, sizes[i], &why) != TC_OK) {
            tc_log(TC_LOG_WARN, "record %lld is not used: %s", (long long)t->r.data[i].id, why.msg);
            sizes[i] = NULL;
            continue;
        }
        put_place(t, sizes[i]);
        put_program(t, &t->r.data[i], m);
    }
    size_t n = t->program.len * t->place.len;
    t->seconds = TC_NEW_N(t->a, double, n);
    for (size_t i = 0; i < n; i++)
        t->seconds[i] = INFINITY;
    for (size_t i = 0; i < t->r.len; i++) {
        int at = sizes[i] ? find_program(t, &t->r.data[i]) : -1;
        if (at >= 0) {
            double *s = &t->seconds[(size_t)at * t->place.len + (size_t)find_place(t, sizes[i])];
            *s = TC_MIN(*s, least_of(&t->r.data[i]));
        }
    }
}

/* ---- variants ---- */

static tc_tune_times times_of(const table *t, const tc_tune_weights *weights) {
    int n = (int)t->place.len;
    int *group = TC_NEW_N(t->a, int, t->program.len);
    int64_t *product = TC_NEW_N(t->a, int64_t, n);
    for (size_t i = 0; i < t->program.len; i++)
        group[i] = t->program.data[i].group;
    for (int i = 0; i < n; i++)
        product[i] = tc_tune_product(t->place.data[i], t->nsymbol);
    return (tc_tune_times){.nprogram = (int)t->program.len,
                           .npoint = n,
                           .seconds = t->seconds,
                           .group = group,
                           .weight = tc_tune_place_weights(t->a, t->form[0].w, weights, n, t->place.data),
                           .product = product};
}

static void tell_points(const table *t, const tc_tune_times *x, const tc_tune_choice *c, tc_tune_variants *out) {
    tc_tune_point *p = TC_NEW_N(t->a, tc_tune_point, x->npoint);
    for (int i = 0; i < x->npoint; i++) {
        p[i] = (tc_tune_point){.sizes = t->place.data[i], .product = x->product[i], .weight = x->weight[i], .best = INFINITY};
        p[i].variant = tc_tune_variant_at(out, p[i].sizes, t->nsymbol);
        p[i].chosen = x->seconds[c->program[p[i].variant] * x->npoint + i];
        for (int k = 0; k < x->nprogram; k++)
            p[i].best = TC_MIN(p[i].best, x->seconds[k * x->npoint + i]);
    }
    out->npoint = x->npoint;
    out->nprogram = x->nprogram;
    out->point = p;
}

static bool is_own(const program *p) {
    return strcmp(p->form->constants, p->form->name) == 0;
}

/* A form with another's constants gains nothing where no variant is of that: its own are smaller. */
static tc_tune_choice choose_programs(const table *t, tc_tune_times *x) {
    tc_tune_choice c = tc_tune_choose(x, TC_TUNE_VARIANTS);
    bool own = c.n == 0;
    for (int i = 0; i < c.n; i++)
        own |= is_own(&t->program.data[c.program[i]]);
    if (own)
        return c;
    for (int i = 0; i < x->nprogram * x->npoint; i++)
        if (!is_own(&t->program.data[i / x->npoint]))
            t->seconds[i] = INFINITY;
    return tc_tune_choose(x, TC_TUNE_VARIANTS);
}

const char *tc_tune_forms_text(tc_arena *a, int n, const char *const *name) {
    const char *text = name[0];
    for (int i = 1; i < n; i++) {
        int same = 0;
        while (strcmp(name[same], name[i]) != 0)
            same++;
        if (same == i)
            text = tc_arena_printf(a, "%s, %s", text, name[i]);
    }
    return text;
}

static void choose(const table *t, const tc_tune_weights *weights, tc_tune_variants *out) {
    tc_tune_times x = times_of(t, weights);
    tc_tune_choice c = choose_programs(t, &x);
    if (!c.n)
        return;
    const char *name[TC_TUNE_VARIANTS];
    out->n = c.n;
    for (int i = 0; i < c.n; i++) {
        const program *p = &t->program.data[c.program[i]];
        out->v[i] = (tc_tune_variant){.form = p->form->name,
                                      .workload = tc_te_text(t->a, p->form->w),
                                      .hash = p->form->hash,
                                      .trace = p->of->trace,
                                      .upto = c.upto[i],
                                      .record = p->of->id,
                                      .program = p->of->program};
        name[i] = p->form->name;
    }
    out->form = tc_tune_forms_text(t->a, c.n, name);
    out->loss = c.loss;
    out->when_ms = t->r.data[0].when_ms;
    tell_points(t, &x, &c, out);
}

static tc_status from_contest(const tc_tune_query *q, const tc_tune_weights *weights, tc_arena *a, tc_tune_variants *out,
                              tc_error *err) {
    table t = {.a = a, .ctx = tc_ctx_new()};
    list_forms(&t, q);
    *out = (tc_tune_variants){.form = t.form[0].name};
    tc_status s = q->db && !q->file ? read_contest(q, &t, err) : TC_OK;
    if (s == TC_OK && t.r.len) {
        fill(&t, &q->target->machine);
        choose(&t, weights, out);
    }
    tc_vec_free(&t.program);
    tc_vec_free(&t.place);
    tc_vec_free(&t.r);
    tc_ctx_free(t.ctx);
    return s;
}

/* Why there are none. */
static tc_status explain(const tc_tune_query *q, tc_arena *a, tc_tune_variants *out, tc_error *err) {
    tc_meas_near near = {.why = q->file ? "the schedule is of a file" : "there is no database"};
    tc_ctx *ctx = tc_ctx_new();
    const tc_workload *own = tc_te_canonical(ctx, q->workload);
    tc_meas_key key = {
        .workload = tc_te_hash(own), .target = tc_meas_text_hash(q->target->text), .threads = q->target->machine.cores};
    tc_status s = q->db && !q->file ? tc_meas_db_nearest(q->db, a, &key, tc_te_text(a, own), &near, err) : TC_OK;
    tc_ctx_free(ctx);
    out->why = near.why;
    return s;
}

tc_status tc_tune_variants_find(const tc_tune_query *q, const tc_tune_weights *weights, tc_arena *a, tc_tune_variants *out,
                                tc_error *err) {
    TC_TRY(from_contest(q, weights, a, out, err));
    return out->n ? TC_OK : explain(q, a, out, err);
}

tc_status tc_tune_schedule_at(const tc_tune_query *q, const tc_tune_weights *weights, const int64_t *sizes, tc_arena *a,
                              tc_tune_schedule *out, tc_error *err) {
    int n = q->workload->nsymbol;
    tc_tune_variants v;
    TC_TRY(from_contest(q, weights, a, &v, err));
    if (v.n) {
        int i = tc_tune_variant_at(&v, sizes, n);
        *out = (tc_tune_schedule){.workload = v.v[i].workload, .trace = v.v[i].trace, .form = v.v[i].form, .hash = v.v[i].hash};
        out->variant = tc_arena_printf(a, "variant %d of %d, of %d programs at %d sizes in %s", i + 1, v.n, v.nprogram, v.npoint,
                                       tc_meas_db_path(q->db));
    } else {
        TC_TRY(tc_tune_schedule_find(q, a, out, err));
    }
    out->sizes = tc_meas_sizes_text(a, sizes, n);
    return TC_OK;
}
