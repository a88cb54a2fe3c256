/* What other kernels teach: records of earlier sessions and of other machines (the elders), and the other tasks of this
 * session.
 *
 * Two kernels are related when the operations with most work in them are: the same axes and reductions, of similar lengths.
 * What stands before and after (bias, activation, residual) hardly changes the best tiles. The best schedules of the nearest
 * relatives are moved into a kernel's own space, among its first candidates. Programs that were measured on this target teach
 * the model before it has any of the kernel's own. */
#include <math.h>
#include <string.h>

#include "measure/records/maintain.h"
#include "te/text.h"
#include "tune/tune_int.h"

/* Numbers, distances and weights were chosen and not measured apart. */
enum {
    TRACES = 4,  /* kept of an elder */
    LEARNT = 32, /* programs of an elder that the model learns from */
    MOST_LEARNT = 1000,
    NEAREST = 4, /* relatives that are asked */
    MOVES = 2    /* sketches that each of their schedules is moved to */
};

/* Sum of the logarithms (base 2) of the ratios of the extents above which nothing is transferred. Of spatial axes half of that
 * counts: a tile serves many lengths. */
static const double farthest = 7, spatial_weight = 0.5, stage_distance = 0.25;
/* Of the weight of a program of this session. */
static const float elder_weight = 0.3f;

/* The operation with most work. */
typedef struct shape {
    int naxis, nraxis, stages;
    tc_dtype dtype;
    int64_t axis[TC_MAX_DIMS], raxis[TC_MAX_DIMS];
} shape;

typedef struct elder {
    const char *workload;
    tc_digest hash;
    shape shape;
    int ntrace;
    const char *trace[TRACES];
} elder;

struct tc_tune_elders {
    tc_arena *arena;
    TC_VEC(elder) all;
    TC_VEC(tc_cost_sample) samples;
    TC_VEC(tc_cost_rows *) rows; /* of the samples */
    int groups;
};

/* ---- resemblance ---- */

static double work_of(const tc_compute *op) {
    double n = op->nraxis ? 2 : 1;
    for (int i = 0; i < op->naxis; i++)
        n *= (double)op->axes[i].extent;
    for (int i = 0; i < op->nraxis; i++)
        n *= (double)op->raxes[i].extent;
    return n;
}

static shape shape_of(const tc_workload *w) {
    const tc_compute *op = w->computes[0];
    for (int i = 1; i < w->ncompute; i++)
        if (work_of(w->computes[i]) > work_of(op))
            op = w->computes[i];
    shape s = {.naxis = op->naxis, .nraxis = op->nraxis, .stages = w->ncompute, .dtype = op->out[0]->dtype};
    for (int i = 0; i < op->naxis; i++)
        s.axis[i] = op->axes[i].extent;
    for (int i = 0; i < op->nraxis; i++)
        s.raxis[i] = op->raxes[i].extent;
    return s;
}

static double apart(int64_t a, int64_t b) {
    return fabs(log2((double)a / (double)b));
}

/* INFINITY: not related. */
static double distance(const shape *a, const shape *b) {
    double d = stage_distance * abs(a->stages - b->stages);
    if (a->naxis != b->naxis || a->nraxis != b->nraxis || a->dtype != b->dtype)
        return INFINITY;
    for (int i = 0; i < a->naxis; i++)
        d += spatial_weight * apart(a->axis[i], b->axis[i]);
    for (int i = 0; i < a->nraxis; i++)
        d += apart(a->raxis[i], b->raxis[i]);
    return d <= farthest ? d : INFINITY;
}

/* ---- elders ---- */

/* A program that was measured: its features, with its speed beside the best of its kernel. */
static void learn_from(tc_tune *t, const tc_workload *w, const tc_record *r, double best) {
    struct tc_tune_elders *e = t->elders;
    tc_cost_rows rows = {0};
    if (tc_tune_features(t, w, r->trace, &rows)) {
        tc_cost_rows *kept = TC_NEW(e->arena, tc_cost_rows);
        tc_cost_rows_copy(kept, &rows);
        tc_push(&e->rows, kept);
        tc_cost_sample x = {
            .rows = kept, .label = (float)fmin(1, best / r->median), .weight = elder_weight, .task = t->nform + e->groups};
        tc_push(&e->samples, x);
    }
    tc_cost_rows_free(&rows);
}

static void take_elder(tc_tune *t, const tc_meas_summary *m, const tc_meas_records *r, bool here) {
    struct tc_tune_elders *e = t->elders;
    tc_ctx *ctx = tc_ctx_new();
    const tc_workload *w;
    if (tc_te_parse(ctx, "workload", m->workload, &w, NULL) == TC_OK) {
        elder x = {.workload = tc_arena_strdup(e->arena, m->workload), .hash = m->workload_hash, .shape = shape_of(w)};
        for (size_t i = 0; i < r->len && x.ntrace < TRACES; i++)
            if (r->data[i].verified)
                x.trace[x.ntrace++] = tc_arena_strdup(e->arena, r->data[i].trace);
        if (x.ntrace)
            tc_push(&e->all, x);
        for (size_t i = 0; here && i < r->len && e->samples.len < MOST_LEARNT; i++)
            learn_from(t, w, &r->data[i], r->data[0].median);
        e->groups++;
    }
    tc_ctx_free(ctx);
}

/* Is it one of the session's own? */
static bool own(const tc_tune *t, const tc_meas_summary *m) {
    if (strcmp(m->target_hash.hex, t->target_hash.hex) != 0 || m->threads != t->o.threads)
        return false;
    for (int i = 0; i < t->n; i++)
        for (int f = 0; f < t->task[i].nform && m->mode == t->state[i].mode; f++)
            if (strcmp(t->state[i].form[f].hash.hex, m->workload_hash.hex) == 0)
                return true;
    return false;
}

/* Times of another way of timing are no times of this one, but what was fast there is a good start. Simulated ones, and emulated
 * ones, keep to themselves, and what was timed in a network is in its hot or cold record too. */
static bool of_use(const tc_tune *t, tc_meas_mode theirs) {
    tc_meas_mode own = t->o.measure.mode;
    return tc_meas_mode_is_apart(own) ? theirs == own : theirs == TC_MEAS_HOT || theirs == TC_MEAS_COLD;
}

/* Some task is timed so. */
static bool in_use(const tc_tune *t, tc_meas_mode mode) {
    for (int i = 0; i < t->n; i++)
        if (t->state[i].mode == mode)
            return true;
    return false;
}

static tc_status take_elders(tc_tune *t, tc_meas_db *db, tc_error *err) {
    tc_meas_summaries all;
    tc_arena *a = tc_arena_new(), *each = tc_arena_new();
    tc_status st = tc_meas_db_summaries(db, a, &all, err);
    for (size_t i = 0; st == TC_OK && i < all.len; i++) {
        const tc_meas_summary *m = &all.data[i];
        if (!of_use(t, m->mode) || !m->best_id || (db == t->db && own(t, m)))
            continue;
        tc_meas_filter f = {.workload_hash = m->workload_hash.hex,
                            .target_hash = m->target_hash.hex,
                            .threads = m->threads,
                            .mode = tc_meas_mode_text(m->mode),
                            .ok = true,
                            .order = TC_MEAS_BY_RANK,
                            .limit = LEARNT};
        tc_meas_records r;
        st = tc_meas_db_select(db, each, &f, &r, err);
        if (st == TC_OK)
            take_elder(t, m, &r,
                       in_use(t, m->mode) && m->threads == t->o.threads && strcmp(m->target_hash.hex, t->target_hash.hex) == 0);
        tc_arena_reset(each);
    }
    tc_arena_free(each);
    tc_arena_free(a);
    return st;
}

tc_status tc_tune_elders_new(tc_tune *t, tc_error *err) {
    t->elders = tc_xcalloc(1, sizeof *t->elders);
    t->elders->arena = tc_arena_new();
    if (t->o.search != TC_TUNE_PHASES || (t->o.skip_phases & TC_TUNE_PHASE_BIT(TRANSFER)))
        return TC_OK;
    TC_TRY(take_elders(t, t->db, err));
    return t->o.library ? take_elders(t, t->o.library, err) : TC_OK;
}

void tc_tune_elders_free(tc_tune *t) {
    struct tc_tune_elders *e = t->elders;
    if (!e)
        return;
    for (size_t i = 0; i < e->rows.len; i++)
        tc_cost_rows_free(e->rows.data[i]);
    tc_vec_free(&e->rows);
    tc_vec_free(&e->samples);
    tc_vec_free(&e->all);
    tc_arena_free(e->arena);
    free(e);
}

size_t tc_tune_elder_samples(const tc_tune *t, const tc_cost_sample **out) {
    *out = t->elders->samples.data;
    return t->elders->samples.len;
}

/* ---- relatives ---- */

typedef struct relative {
    double distance;
    bool same; /* the same workload: schedules need no moving */
    const char *workload;
    const char *const *trace;
    int ntrace;
} relative;

typedef struct family {
    relative r[NEAREST];
    int n;
} family;

/* Keeps the nearest, nearest first. */
static void meet(family *f, const relative *r) {
    int at = f->n;
    if (!isfinite(r->distance))
        return;
    while (at > 0 && f->r[at - 1].distance > r->distance)
        at--;
    if (at == NEAREST)
        return;
    f->n = TC_MIN(f->n + 1, (int)NEAREST);
    memmove(f->r + at + 1, f->r + at, sizeof *f->r * (size_t)(f->n - 1 - at));
    f->r[at] = *r;
}

static void meet_all(const tc_tune *t, const form *k, family *f) {
    const struct tc_tune_elders *e = t->elders;
    shape mine = shape_of(k->w);
    tc_digest hash = tc_te_hash(k->w);
    for (size_t i = 0; i < e->all.len; i++) {
        const elder *x = &e->all.data[i];
        bool same = strcmp(x->hash.hex, hash.hex) == 0;
        meet(f, &(relative){same ? -1 : distance(&mine, &x->shape), same, x->workload, x->trace, x->ntrace});
    }
    for (int i = 0; i < t->n; i++)
        for (int j = 0; j < t->task[i].nform; j++) {
            const tc_tune_form *x = &t->state[i].form[j];
            shape theirs = shape_of(t->task[i].form[j].w);
            if (&t->task[i].form[j] != k && x->trace)
                meet(f, &(relative){distance(&mine, &theirs), false, x->workload, &x->trace, 1});
        }
}

/* Moves r's schedules into k's space; returns how many there are in out. */
static int move(const tc_tune *t, const form *k, const relative *r, tc_arena *a, tc_trace **out, int cap) {
    tc_ctx *ctx = tc_ctx_new();
    const tc_workload *w;
    tc_space *s = NULL;
    int n = 0;
    if (!r->same &&
        (tc_te_parse(ctx, "workload", r->workload, &w, NULL) != TC_OK || tc_space_new(w, &t->machine, &s, NULL) != TC_OK))
        s = NULL;
    for (int i = 0; i < r->ntrace && n < cap; i++) {
        tc_trace *tr;
        if (tc_trace_parse(a, "record", r->trace[i], &tr, NULL) != TC_OK)
            continue;
        if (r->same)
            out[n++] = tr;
        else if (s)
            n += tc_space_transfer(s, tr, k->space, a, out + n, TC_MIN((int)MOVES, cap - n));
    }
    tc_space_free(s);
    tc_ctx_free(ctx);
    return n;
}

int tc_tune_relatives(tc_tune *t, const form *k, tc_arena *a, tc_trace **out, int cap) {
    family f = {0};
    int n = 0;
    meet_all(t, k, &f);
    for (int i = 0; i < f.n && n < cap; i++)
        n += move(t, k, &f.r[i], a, out + n, cap - n);
    return n;
}
