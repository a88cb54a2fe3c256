/* Who takes part in a contest over sizes: programs of the workload with symbols and of its alternatives. */
#include <math.h>
#include <string.h>

#include "search_space/space.h"
#include "te/text.h"
#include "tune/kernel/transplant.h"
#include "tune/kernel/variants.h"
#include "tune/range_int.h"

/* Programs of a tuned size that take part: where the first of one size is slow at another, often the next are not. Of a size of
 * the grid that somebody tuned besides, the best. Layouts of constants for which companions are looked for. All numbers were
 * chosen. */
enum { FINALISTS = 4, TRIED = 32, LAYOUTS = 4 };

static void enter(range_contest *x, int f, const char *trace, uint64_t program) {
    for (int i = 0; i < x->n; i++)
        if (x->entrant[i].form == f && x->entrant[i].program == program)
            return;
    if (x->n < x->most)
        x->entrant[x->n++] = (range_entrant){f, trace, program};
}

/* Of a form with symbols. */
static tc_status enter_own(range_contest *x, int f, const char *trace, tc_error *err) {
    const tc_workload *w = x->form[f].w;
    tc_ctx *c = tc_ctx_child(w->ctx);
    tc_tir_origin from = {.workload = w, .machine = &x->target.machine, .text = trace, .name = "schedule"};
    tc_tir_program p;
    tc_status s = tc_tir_program_make(c, &from, TC_TIR_HASH, &p, err);
    if (s == TC_OK)
        enter(x, f, trace, p.hash);
    tc_ctx_free(c);
    return s;
}

static tc_status enter_default(range_contest *x, tc_error *err) {
    tc_space *space;
    tc_trace *trace;
    const char *text = NULL;
    TC_TRY(tc_space_new(x->form[0].w, &x->target.machine, &space, err));
    tc_status s = tc_space_default(space, x->a, &trace, err);
    if (s == TC_OK)
        text = tc_trace_text(x->a, trace);
    tc_space_free(space);
    return s == TC_OK ? enter_own(x, 0, text, err) : s;
}

/* Those that the last contest chose: they stay until something is faster. */
static tc_status enter_chosen(range_contest *x, tc_error *err) {
    tc_tune_query q = {.workload = x->r->workload, .target = &x->target, .accuracy = x->o->accuracy, .db = x->db};
    tc_tune_variants v;
    TC_TRY(tc_tune_variants_find(&q, x->r->weights, x->a, &v, err));
    for (int f = 0; f < x->nform; f++)
        for (int i = 0; i < v.n; i++)
            if (strcmp(x->form[f].hash.hex, v.v[i].hash.hex) == 0)
                TC_TRY(enter_own(x, f, v.v[i].trace, err));
    return TC_OK;
}

/* False: it cannot be taken there. */
static bool transplant(range_contest *x, int f, const tc_workload *from, const char *trace) {
    tc_tune_transplant t = {.from = from, .to = x->form[f].w, .machine = &x->target.machine, .trace = trace};
    const char *own;
    uint64_t program;
    tc_error why = {0};
    if (tc_tune_transplant_make(&t, x->a, &own, &program, &why) == TC_OK) {
        enter(x, f, own, program);
        return true;
    }
    if (x->out->refused++ == 0)
        x->out->why = tc_arena_strdup(x->a, why.msg);
    return false;
}

static bool has_program(const tc_record *r, size_t n, uint64_t program) {
    for (size_t i = 0; i < n; i++)
        if (r[i].program == program)
            return true;
    return false;
}

/* What the database has for a form, or the one whose stages it has, at some sizes, the best first. */
typedef struct field {
    const tc_workload *at; /* canonical; NULL: there is no such form at these sizes */
    tc_meas_records r;
} field;

static tc_status select_field(range_contest *x, const tc_workload *w, field *f, tc_error *err) {
    bool apart = tc_meas_mode_is_apart(x->o->measure.mode);
    f->at = tc_te_canonical(w->ctx, w);
    tc_digest hash = tc_te_hash(f->at);
    tc_meas_filter filter = {.workload_hash = hash.hex,
                             .target_hash = x->target_hash.hex,
                             .threads = x->o->threads,
                             .mode = apart ? tc_meas_mode_text(x->o->measure.mode) : NULL,
                             .real = !apart,
                             .verified = true,
                             .order = TC_MEAS_BY_RANK};
    return tc_meas_db_select(x->db, x->a, &filter, &f->r, err);
}

/* By form of the contest. */
static tc_status select_fields(range_contest *x, tc_ctx *c, const int64_t *sizes, field *out, tc_error *err) {
    const tc_workload *at;
    TC_TRY(tc_te_at(c, x->form[0].w, sizes, &at, err));
    at = tc_te_canonical(c, at);
    TC_TRY(select_field(x, at, &out[0], err));
    tc_space_alternative_list l = tc_space_alternatives(c, at, x->o->accuracy);
    for (int f = 1; f < x->nform; f++)
        for (int k = 0; k < l.n; k++)
            if (strcmp(l.data[k].name, x->form[f].stages) == 0)
                TC_TRY(select_field(x, l.data[k].workload, &out[f], err));
    return TC_OK;
}

static double best_of(const field *f) {
    return f->r.len ? f->r.data[0].median : INFINITY;
}

/* The best `most` programs that can be taken over: one that cannot has many like it next to it. */
static void enter_field(range_contest *x, int f, const field *k, int most) {
    const tc_meas_records *r = &k->r;
    for (size_t i = 0; i < r->len && i < TRIED && most > 0 && !tc_ran_out(); i++)
        if (!has_program(r->data, i, r->data[i].program) && transplant(x, f, k->at, r->data[i].trace))
            most--;
}

static double best_of_all(const range_contest *x, const field *k) {
    double best = INFINITY;
    for (int f = 0; f < x->nform; f++)
        best = fmin(best, best_of(&k[f]));
    return best;
}

static bool has_own_constants(const range_form *f) {
    return strcmp(f->constants, f->name) == 0;
}

/* The best for these sizes, `most` of them of the fastest form. */
static tc_status enter_from(range_contest *x, const int64_t *sizes, int most, tc_error *err) {
    tc_ctx *c = tc_ctx_child(x->ctx);
    field *k = TC_NEW_N(x->a, field, x->nform);
    tc_status s = select_fields(x, c, sizes, k, err);
    double best = best_of_all(x, k);
    for (int f = 0; f < x->nform && s == TC_OK; f++)
        if (has_own_constants(&x->form[f]) && best_of(&k[f]) <= best * TC_RANGE_HOPELESS)
            enter_field(x, f, &k[f], best_of(&k[f]) <= best ? most : TC_MAX(1, most / 2));
    tc_ctx_free(c);
    return s;
}

/* ---- companions ---- */

/* Variants of one kernel pack its constants alike. Those that are best at two sizes rarely do, so there are also the best of each
 * size among those that pack them as somebody does who is there already. */

/* The nest that a trace makes of a form; NULL: it makes none. */
static const tc_func *nest_of(const range_contest *x, tc_ctx *c, const tc_workload *w, const char *trace) {
    tc_tir_origin from = {.workload = w, .machine = &x->target.machine, .text = trace, .name = "record"};
    tc_tir_program p;
    return tc_tir_program_make(c, &from, TC_TIR_NEST, &p, NULL) == TC_OK ? p.nest : NULL;
}

/* The first layouts that entrants have the constants of form f in, each once: a nest each. */
static int layouts_for(const range_contest *x, tc_ctx *c, int f, const tc_func *nest[LAYOUTS]) {
    int n = 0;
    for (int i = 0; i < x->n && n < LAYOUTS; i++) {
        const range_form *form = &x->form[x->entrant[i].form];
        if (strcmp(form->constants, x->form[f].constants) != 0)
            continue;
        const tc_func *own = nest_of(x, c, form->w, x->entrant[i].trace);
        int same = own ? 0 : n;
        while (same < n && !tc_tune_packs_alike(nest[same], own))
            same++;
        if (own && same == n)
            nest[n++] = own;
    }
    return n;
}

/* The best of the field for each layout, up to a time beyond which it is hopeless. */
static void enter_layouts(range_contest *x, tc_ctx *c, int f, const field *k, int n, const tc_func *const *nest, double most) {
    bool found[LAYOUTS] = {false};
    for (size_t i = 0; i < k->r.len && k->r.data[i].median <= most && !tc_ran_out(); i++) {
        const tc_func *own = nest_of(x, c, x->form[f].w, k->r.data[i].trace);
        for (int j = 0; own && j < n; j++)
            if (!found[j] && tc_tune_packs_alike(nest[j], own))
                found[j] = transplant(x, f, k->at, k->r.data[i].trace);
    }
}

/* Those of a size. own: of the forms with constants of their own, else of the others. */
static tc_status enter_companions(range_contest *x, const int64_t *sizes, bool own, tc_error *err) {
    tc_ctx *c = tc_ctx_child(x->ctx);
    field *k = TC_NEW_N(x->a, field, x->nform);
    const tc_func *nest[LAYOUTS];
    tc_status s = select_fields(x, c, sizes, k, err);
    double best = best_of_all(x, k);
    for (int f = 0; f < x->nform && s == TC_OK; f++)
        if (has_own_constants(&x->form[f]) == own)
            enter_layouts(x, c, f, &k[f], layouts_for(x, c, f, nest), nest, best * TC_RANGE_HOPELESS);
    tc_ctx_free(c);
    return s;
}

/* Of the forms with constants of others, which few kernels have. */
static tc_status enter_sharing(range_contest *x, tc_error *err) {
    bool any = false;
    for (int f = 0; f < x->nform; f++)
        any |= !has_own_constants(&x->form[f]);
    for (int i = 0; any && i < x->grid.n; i++)
        TC_TRY(enter_companions(x, x->grid.sizes[i], false, err));
    for (int i = 0; any && i < x->r->tuned.n; i++)
        TC_TRY(enter_companions(x, x->r->tuned.sizes[i], false, err));
    return TC_OK;
}

static bool is_tuned(const range_contest *x, const int64_t *sizes) {
    bool is = false;
    for (int i = 0; i < x->r->tuned.n; i++)
        is |= memcmp(x->r->tuned.sizes[i], sizes, (size_t)x->r->workload->nsymbol * sizeof *sizes) == 0;
    return is;
}

tc_status tc_range_gather(range_contest *x, tc_error *err) {
    x->most = ENTRANTS;
    TC_TRY(enter_default(x, err));
    TC_TRY(enter_chosen(x, err));
    for (int i = 0; i < x->r->tuned.n; i++)
        TC_TRY(enter_from(x, x->r->tuned.sizes[i], FINALISTS, err));
    for (int i = 0; i < x->grid.n; i++)
        if (!is_tuned(x, x->grid.sizes[i]))
            TC_TRY(enter_from(x, x->grid.sizes[i], 1, err));
    x->most = ENTRANTS + COMPANIONS / 2;
    TC_TRY(enter_sharing(x, err));
    x->most = ENTRANTS + COMPANIONS;
    for (int i = 0; i < x->r->tuned.n; i++)
        TC_TRY(enter_companions(x, x->r->tuned.sizes[i], true, err));
    x->out->entrants = x->n;
    return TC_OK;
}
