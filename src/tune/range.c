/* What range.h describes: the tasks and the contest. Who takes part: range_entrants.c. */
#include <math.h>
#include <string.h>

#include "measure/records/admission.h"
#include "te/text.h"
#include "tune/kernel/mode.h"
#include "tune/range_int.h"

/* Of a program at a size. Chosen. */
enum { ROUNDS = 3, SAMPLES = 3 };

/* ---- tasks ---- */

/* Each size counts as much as the others, however long it takes: a second of a smaller one is so much more. */
static tc_status put_sizes(tc_ctx *c, const tc_tune_task *t, const tc_tune_range *r, tc_tune_task *out, tc_error *err) {
    double most = 0;
    for (int i = 0; i < r->tuned.n; i++) {
        const tc_workload *w;
        TC_TRY(tc_te_at(c, t->workload, r->tuned.sizes[i], &w, err));
        out[i] = (tc_tune_task){.name = tc_tune_name_at(tc_ctx_arena(c), t->name, t->workload, r->tuned.sizes[i]),
                                .workload = w,
                                .weight = t->weight / r->tuned.n,
                                .varying = t->workload};
        most = fmax(most, tc_te_flops(w));
    }
    for (int i = 0; i < r->tuned.n; i++)
        out[i].stake = t->weight * most / fmax(tc_te_flops(out[i].workload), 1);
    return TC_OK;
}

/* It, or one that has to do with it, has symbols. */
static bool is_open(const tc_tune_task *tasks, int i) {
    bool is = tasks[i].workload->nsymbol > 0;
    for (int k = 0; k < tasks[i].ninstead; k++)
        is |= tasks[tasks[i].instead[k]].workload->nsymbol > 0;
    for (int k = 0; k < tasks[i].nalong; k++)
        is |= tasks[tasks[i].along[k]].workload->nsymbol > 0;
    return is;
}

static const int *renumbered(tc_arena *a, const int *given, int n, const int *at) {
    int *x = TC_NEW_N(a, int, n);
    for (int i = 0; i < n; i++)
        x[i] = at[given[i]];
    return x;
}

static tc_status spread_one(tc_ctx *c, const tc_tune_task *t, tc_tune_range *r, tc_tune_task *out, tc_error *err) {
    *r = (tc_tune_range){.name = t->name, .workload = t->workload, .weights = t->sizes};
    r->tuned = tc_tune_tuned_sizes(tc_ctx_arena(c), t->workload, t->sizes);
    return put_sizes(c, t, r, out, err);
}

tc_status tc_tune_spread_over(tc_ctx *c, const tc_tune_task *tasks, int n, tc_tune_spread *out, tc_error *err) {
    tc_arena *a = tc_ctx_arena(c);
    tc_tune_task *to = TC_NEW_N(a, tc_tune_task, n * TC_TUNE_TUNED);
    tc_tune_range *range = TC_NEW_N(a, tc_tune_range, n);
    int *at = TC_NEW_N(a, int, n), nto = 0, nrange = 0;
    double network = 0;
    for (int i = 0; i < n; i++) {
        at[i] = nto;
        network += tasks[i].ninstead ? 0 : tasks[i].weight * tc_te_constant_bytes_read(tasks[i].workload);
        if (tasks[i].ninstead && is_open(tasks, i))
            continue;
        if (tasks[i].workload->nsymbol) {
            TC_TRY(spread_one(c, &tasks[i], &range[nrange], to + nto, err));
            nto += range[nrange++].tuned.n;
        } else {
            to[nto++] = tasks[i];
        }
    }
    for (int i = 0; i < nto; i++) {
        to[i].instead = renumbered(a, to[i].instead, to[i].ninstead, at);
        to[i].along = renumbered(a, to[i].along, to[i].nalong, at);
    }
    for (int i = 0; i < nrange; i++)
        range[i].network = network;
    *out = (tc_tune_spread){nto, to, nrange, range};
    return TC_OK;
}

/* ---- the contest ---- */

static const char **texts_of_grid(const range_contest *x) {
    const char **text = TC_NEW_N(x->a, const char *, x->grid.n);
    for (int i = 0; i < x->grid.n; i++)
        text[i] = tc_meas_sizes_text(x->a, x->grid.sizes[i], x->r->workload->nsymbol);
    return text;
}

static tc_meas_mode mode_of(const range_contest *x) {
    if (tc_meas_mode_is_apart(x->o->measure.mode))
        return x->o->measure.mode;
    tc_machine m = tc_tune_machine(&x->target, x->o->threads, x->r->network);
    return tc_tune_mode(x->o->timing, x->form[0].w, x->r->network, &m);
}

static bool was_there(const tc_meas_records *r, int64_t when, uint64_t program, const char *sizes) {
    for (size_t i = 0; i < r->len; i++)
        if (r->data[i].when_ms == when && r->data[i].program == program && strcmp(r->data[i].sizes, sizes) == 0)
            return true;
    return false;
}

/* Whether the last contest of this mode was of the same. Failures count: they would fail again. */
static tc_status is_known(const range_contest *x, tc_meas_mode mode, const char *const *sizes, bool *known, tc_error *err) {
    tc_meas_records *r = TC_NEW_N(x->a, tc_meas_records, x->nform);
    int64_t last = 0;
    for (int f = 0; f < x->nform; f++) {
        tc_meas_filter filter = {.workload_hash = x->form[f].hash.hex,
                                 .target_hash = x->target_hash.hex,
                                 .threads = x->o->threads,
                                 .mode = tc_meas_mode_text(mode),
                                 .sized = true};
        TC_TRY(tc_meas_db_select(x->db, x->a, &filter, &r[f], err));
        for (size_t i = 0; i < r[f].len; i++)
            last = TC_MAX(last, r[f].data[i].when_ms);
    }
    *known = true;
    for (int i = 0; i < x->n; i++)
        for (int p = 0; p < x->grid.n; p++)
            *known &= was_there(&r[x->entrant[i].form], last, x->entrant[i].program, sizes[p]);
    return TC_OK;
}

typedef struct told {
    const range_contest *x;
    tc_tune_range_progress *fn;
    void *user;
} told;

static void tell(void *user, size_t index, const tc_record *r) {
    const told *t = user;
    int places = t->x->grid.n, i = (int)index;
    (void)r;
    if (t->fn)
        t->fn(t->user, i / places, t->x->n, i % places, places);
}

static tc_status time_all(const range_contest *x, tc_meas_mode mode, const char *const *sizes, told *t, tc_record *out,
                          tc_error *err) {
    tc_meas_input *in = TC_NEW_N(x->a, tc_meas_input, x->n);
    tc_meas_options m = x->o->measure;
    tc_meas *meas;
    for (int i = 0; i < x->n; i++) {
        const range_form *f = &x->form[x->entrant[i].form];
        in[i] = (tc_meas_input){.workload = f->text, .trace = x->entrant[i].trace, .workload_hash = f->hash};
    }
    m.mode = mode;
    m.target = x->target.text;
    m.threads = x->o->threads;
    m.seed = x->o->seed;
    m.stop = x->o->stop;
    m.deadline = 0;
    m.samples = SAMPLES;
    m.early_stop = TC_RANGE_HOPELESS;
    TC_TRY(tc_meas_new(&m, &meas, err));
    tc_status s = tc_meas_over_sizes(meas, in, (size_t)x->n, sizes, (size_t)x->grid.n, ROUNDS, x->a, out, tell, t, err);
    tc_meas_free(meas);
    return s;
}

/* Together or not at all: a part of a contest would pass for all of it. */
static tc_status store(range_contest *x, tc_meas_mode mode, tc_record *r, size_t n, tc_error *err) {
    int64_t now;
    for (size_t i = 0; i < n; i++)
        if (r[i].error == TC_MEAS_INTERRUPTED)
            return TC_OK;
    TC_TRY(tc_meas_db_next_ms(x->db, mode, &now, err));
    for (size_t i = 0; i < n; i++) {
        r[i].when_ms = now;
        if (!tc_record_ok(&r[i]) && x->out->failed++ == 0)
            x->out->failure = tc_arena_printf(x->a, "%s: %s", tc_meas_error_text(r[i].error), r[i].message);
    }
    x->out->held = true;
    return tc_meas_db_insert_measured(x->db, r, n, err);
}

static tc_status hold(range_contest *x, tc_tune_range_progress *progress, void *user, tc_error *err) {
    const char **sizes = texts_of_grid(x);
    size_t n = (size_t)x->n * (size_t)x->grid.n;
    tc_record *r = TC_NEW_N(x->a, tc_record, n);
    tc_meas_mode mode = mode_of(x);
    told t = {x, progress, user};
    bool known;
    TC_TRY(is_known(x, mode, sizes, &known, err));
    if (known)
        return TC_OK;
    TC_TRY(time_all(x, mode, sizes, &t, r, err));
    return store(x, mode, r, n, err);
}

static range_form form_of(const range_contest *x, const tc_space_alternative *k) {
    const tc_workload *own = tc_te_canonical(x->ctx, k->workload);
    return (range_form){k->name, k->constants, k->stages, own, tc_te_text(x->a, own), tc_te_hash(own)};
}

static void list_forms(range_contest *x) {
    static const char direct[] = "direct";
    range_form own =
        form_of(x, &(tc_space_alternative){.name = direct, .constants = direct, .stages = direct, .workload = x->r->workload});
    tc_space_alternative_list l = tc_space_alternatives(x->ctx, own.w, x->o->accuracy);
    range_form *f = TC_NEW_N(x->a, range_form, 1 + l.n);
    f[0] = own;
    for (int i = 0; i < l.n; i++)
        f[1 + i] = form_of(x, &l.data[i]);
    x->nform = 1 + l.n;
    x->form = f;
}

tc_status tc_tune_range_contest(const tc_tune_options *o, const tc_tune_range *r, tc_meas_db *db,
                                tc_tune_range_progress *progress, void *user, tc_arena *a, tc_tune_range_report *out,
                                tc_error *err) {
    range_contest x = {.o = o, .r = r, .db = db, .a = a, .ctx = tc_ctx_new(), .target = *o->target, .out = out};
    *out = (tc_tune_range_report){0};
    x.target.machine.cores = o->threads;
    list_forms(&x);
    x.target_hash = tc_meas_text_hash(o->target->text);
    x.grid = tc_tune_grid(a, x.form[0].w, r->weights);
    tc_status s = tc_range_gather(&x, err);
    if (s == TC_OK)
        s = hold(&x, progress, user, err);
    tc_ctx_free(x.ctx);
    return s;
}
