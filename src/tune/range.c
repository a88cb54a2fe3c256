/* What range.h describes: the tasks, the programs of the contest, and the contest. */
#include "tune/range.h"

#include <math.h>
#include <string.h>

#include "measure/records/admission.h"
#include "search_space/space.h"
#include "support/log.h"
#include "te/text.h"
#include "tune/kernel/transplant.h"
#include "tune/kernel/variants.h"

/* Programs of a tuned size that take part: where the first of one size is slow at another, often the next are not. Of a size of the grid
 * that somebody tuned besides, the best. All numbers were chosen. */
enum { FINALISTS = 4, TRIED = 32, ROUNDS = 3, SAMPLES = 3, ENTRANTS = 24 };
/* Times the best at a size beyond which a program is timed there once: it is no variant for it. */
static const double hopeless = 1.5;

/* ---- tasks ---- */

/* Each size counts as much as the others, however long it takes: a second of a smaller one is so much more. Other algorithms cut extents
 * into parts of fixed sizes: what varies has none. */
static tc_status put_sizes(tc_ctx *c, const tc_tune_task *t, const tc_tune_range *r, tc_tune_task *out, tc_error *err) {
    double most = 0;
    for (int i = 0; i < r->tuned.n; i++) {
        const tc_workload *w;
        TC_TRY(tc_te_at(c, t->workload, r->tuned.sizes[i], &w, err));
        out[i] = (tc_tune_task){.name = tc_tune_name_at(tc_ctx_arena(c), t->name, t->workload, r->tuned.sizes[i]),
                                .workload = w,
                                .weight = t->weight / r->tuned.n,
                                .direct = true};
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

static tc_status weights_of(tc_arena *a, const tc_tune_weights_file *f, const tc_workload *w, const tc_tune_weights **out,
                            tc_error *err) {
    *out = NULL;
    if (!f)
        return TC_OK;
    tc_tune_weights *x = TC_NEW(a, tc_tune_weights);
    TC_TRY(tc_tune_weights_of(a, f, w, x, err));
    *out = x;
    return TC_OK;
}

static tc_status check_names(tc_arena *a, const tc_tune_weights_file *f, const tc_tune_task *tasks, int n, tc_error *err) {
    const tc_workload **w = TC_NEW_N(a, const tc_workload *, n);
    for (int i = 0; i < n; i++)
        w[i] = tasks[i].workload;
    return f ? tc_tune_weights_check(f, w, n, err) : TC_OK;
}

static tc_status spread_one(tc_ctx *c, const tc_tune_task *t, const tc_tune_weights_file *f, tc_tune_range *r, tc_tune_task *out,
                            tc_error *err) {
    tc_arena *a = tc_ctx_arena(c);
    *r = (tc_tune_range){.name = t->name, .workload = t->workload};
    TC_TRY(weights_of(a, f, t->workload, &r->weights, err));
    r->tuned = tc_tune_tuned_sizes(a, t->workload, r->weights);
    return put_sizes(c, t, r, out, err);
}

tc_status tc_tune_spread_over(tc_ctx *c, const tc_tune_task *tasks, int n, const tc_tune_weights_file *weights,
                              tc_tune_spread *out, tc_error *err) {
    tc_arena *a = tc_ctx_arena(c);
    tc_tune_task *to = TC_NEW_N(a, tc_tune_task, n * TC_TUNE_TUNED);
    tc_tune_range *range = TC_NEW_N(a, tc_tune_range, n);
    int *at = TC_NEW_N(a, int, n), nto = 0, nrange = 0;
    double network = 0;
    TC_TRY(check_names(a, weights, tasks, n, err));
    for (int i = 0; i < n; i++) {
        at[i] = nto;
        network += tasks[i].ninstead ? 0 : tasks[i].weight * tc_te_constant_bytes_read(tasks[i].workload);
        if (tasks[i].ninstead && is_open(tasks, i))
            continue;
        if (tasks[i].workload->nsymbol) {
            TC_TRY(spread_one(c, &tasks[i], weights, &range[nrange], to + nto, err));
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

/* ---- who takes part ---- */

typedef struct entrant {
    const char *trace;
    uint64_t program;
} entrant;

typedef struct contest {
    const tc_tune_options *o;
    const tc_tune_range *r;
    tc_meas_db *db;
    tc_arena *a;
    tc_ctx *ctx;
    tc_target target;     /* with the threads of the session */
    const tc_workload *w; /* canonical */
    const char *text;
    tc_digest hash, target_hash;
    tc_tune_places grid;
    int n;
    entrant entrant[ENTRANTS];
    tc_tune_range_report *out;
} contest;

static void enter(contest *x, const char *trace, uint64_t program) {
    for (int i = 0; i < x->n; i++)
        if (x->entrant[i].program == program)
            return;
    if (x->n < ENTRANTS)
        x->entrant[x->n++] = (entrant){trace, program};
}

/* Of the workload with symbols. */
static tc_status enter_own(contest *x, const char *trace, tc_error *err) {
    tc_ctx *c = tc_ctx_child(x->w->ctx);
    tc_tir_origin from = {.workload = x->w, .machine = &x->target.machine, .text = trace, .name = "schedule"};
    tc_tir_program p;
    tc_status s = tc_tir_program_make(c, &from, TC_TIR_HASH, &p, err);
    if (s == TC_OK)
        enter(x, trace, p.hash);
    tc_ctx_free(c);
    return s;
}

static tc_status enter_default(contest *x, tc_error *err) {
    tc_space *space;
    tc_trace *trace;
    const char *text = NULL;
    TC_TRY(tc_space_new(x->w, &x->target.machine, &space, err));
    tc_status s = tc_space_default(space, x->a, &trace, err);
    if (s == TC_OK)
        text = tc_trace_text(x->a, trace);
    tc_space_free(space);
    return s == TC_OK ? enter_own(x, text, err) : s;
}

/* Those that the last contest chose: they stay until something is faster. */
static tc_status enter_chosen(contest *x, tc_error *err) {
    tc_tune_query q = {.workload = x->r->workload, .target = &x->target, .db = x->db};
    tc_tune_variants v;
    TC_TRY(tc_tune_variants_find(&q, x->r->weights, x->a, &v, err));
    for (int i = 0; i < v.n; i++)
        TC_TRY(enter_own(x, v.v[i].trace, err));
    return TC_OK;
}

/* False: it cannot be taken there. */
static bool transplant(contest *x, const tc_workload *from, const char *trace) {
    tc_tune_transplant t = {.from = from, .to = x->w, .machine = &x->target.machine, .trace = trace};
    const char *own;
    uint64_t program;
    tc_error why = {0};
    if (tc_tune_transplant_make(&t, x->a, &own, &program, &why) == TC_OK) {
        enter(x, own, program);
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

/* The best `most` programs for these sizes that can be taken over: one that cannot has many like it next to it. */
static tc_status enter_from(contest *x, const int64_t *sizes, int most, tc_error *err) {
    tc_ctx *c = tc_ctx_child(x->ctx);
    const tc_workload *at;
    tc_status s = tc_te_at(c, x->w, sizes, &at, err);
    tc_meas_records r = {0};
    if (s == TC_OK) {
        at = tc_te_canonical(c, at);
        bool simulated = x->o->measure.mode == TC_MEAS_SIMULATED;
        tc_digest hash = tc_te_hash(at);
        tc_meas_filter f = {.workload_hash = hash.hex,
                            .target_hash = x->target_hash.hex,
                            .threads = x->o->threads,
                            .mode = simulated ? tc_meas_mode_text(TC_MEAS_SIMULATED) : NULL,
                            .real = !simulated,
                            .verified = true,
                            .order = TC_MEAS_BY_RANK};
        s = tc_meas_db_select(x->db, x->a, &f, &r, err);
    }
    for (size_t i = 0; i < r.len && i < TRIED && most > 0 && !tc_ran_out(); i++)
        if (!has_program(r.data, i, r.data[i].program) && transplant(x, at, r.data[i].trace))
            most--;
    tc_ctx_free(c);
    return s;
}

static bool is_tuned(const contest *x, const int64_t *sizes) {
    bool is = false;
    for (int i = 0; i < x->r->tuned.n; i++)
        is |= memcmp(x->r->tuned.sizes[i], sizes, (size_t)x->w->nsymbol * sizeof *sizes) == 0;
    return is;
}

static tc_status gather(contest *x, tc_error *err) {
    TC_TRY(enter_default(x, err));
    TC_TRY(enter_chosen(x, err));
    for (int i = 0; i < x->r->tuned.n; i++)
        TC_TRY(enter_from(x, x->r->tuned.sizes[i], FINALISTS, err));
    for (int i = 0; i < x->grid.n; i++)
        if (!is_tuned(x, x->grid.sizes[i]))
            TC_TRY(enter_from(x, x->grid.sizes[i], 1, err));
    x->out->entrants = x->n;
    return TC_OK;
}

/* ---- the contest ---- */

static const char **texts_of_grid(const contest *x) {
    const char **text = TC_NEW_N(x->a, const char *, x->grid.n);
    for (int i = 0; i < x->grid.n; i++)
        text[i] = tc_meas_sizes_text(x->a, x->grid.sizes[i], x->w->nsymbol);
    return text;
}

static tc_meas_mode mode_of(const contest *x) {
    if (x->o->measure.mode == TC_MEAS_SIMULATED)
        return TC_MEAS_SIMULATED;
    tc_machine m = tc_tune_machine(&x->target, x->o->threads, x->r->network);
    return tc_tune_mode(x->o->timing, x->w, x->r->network, &m);
}

static bool was_there(const tc_meas_records *r, int64_t when, uint64_t program, const char *sizes) {
    for (size_t i = 0; i < r->len; i++)
        if (r->data[i].when_ms == when && r->data[i].program == program && strcmp(r->data[i].sizes, sizes) == 0)
            return true;
    return false;
}

/* Whether the last contest of this mode was of the same. Failures count: they would fail again. */
static tc_status is_known(const contest *x, tc_meas_mode mode, const char *const *sizes, bool *known, tc_error *err) {
    tc_meas_records r;
    tc_meas_filter f = {.workload_hash = x->hash.hex,
                        .target_hash = x->target_hash.hex,
                        .threads = x->o->threads,
                        .mode = tc_meas_mode_text(mode),
                        .sized = true};
    int64_t last = 0;
    TC_TRY(tc_meas_db_select(x->db, x->a, &f, &r, err));
    for (size_t i = 0; i < r.len; i++)
        last = TC_MAX(last, r.data[i].when_ms);
    *known = true;
    for (int i = 0; i < x->n; i++)
        for (int p = 0; p < x->grid.n; p++)
            *known &= was_there(&r, last, x->entrant[i].program, sizes[p]);
    return TC_OK;
}

typedef struct told {
    const contest *x;
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

static tc_status time_all(const contest *x, tc_meas_mode mode, const char *const *sizes, told *t, tc_record *out, tc_error *err) {
    tc_meas_input *in = TC_NEW_N(x->a, tc_meas_input, x->n);
    tc_meas_options m = x->o->measure;
    tc_meas *meas;
    for (int i = 0; i < x->n; i++)
        in[i] = (tc_meas_input){.workload = x->text, .trace = x->entrant[i].trace, .workload_hash = x->hash};
    m.mode = mode;
    m.target = x->target.text;
    m.threads = x->o->threads;
    m.seed = x->o->seed;
    m.stop = x->o->stop;
    m.deadline = 0;
    m.samples = SAMPLES;
    m.early_stop = hopeless;
    TC_TRY(tc_meas_new(&m, &meas, err));
    tc_status s = tc_meas_over_sizes(meas, in, (size_t)x->n, sizes, (size_t)x->grid.n, ROUNDS, x->a, out, tell, t, err);
    tc_meas_free(meas);
    return s;
}

/* Together or not at all: a part of a contest would pass for all of it. */
static tc_status store(contest *x, tc_meas_mode mode, tc_record *r, size_t n, tc_error *err) {
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

static tc_status hold(contest *x, tc_tune_range_progress *progress, void *user, tc_error *err) {
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

tc_status tc_tune_range_contest(const tc_tune_options *o, const tc_tune_range *r, tc_meas_db *db,
                                tc_tune_range_progress *progress, void *user, tc_arena *a, tc_tune_range_report *out,
                                tc_error *err) {
    contest x = {.o = o, .r = r, .db = db, .a = a, .ctx = tc_ctx_new(), .target = *o->target, .out = out};
    *out = (tc_tune_range_report){0};
    x.target.machine.cores = o->threads;
    x.w = tc_te_canonical(x.ctx, r->workload);
    x.text = tc_te_text(a, x.w);
    x.hash = tc_te_hash(x.w);
    x.target_hash = tc_meas_text_hash(o->target->text);
    x.grid = tc_tune_grid(a, x.w, r->weights);
    tc_status s = gather(&x, err);
    if (s == TC_OK)
        s = hold(&x, progress, user, err);
    tc_ctx_free(x.ctx);
    return s;
}
