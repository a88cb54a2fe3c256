/* What is read off a nest: how the store that does most of the work runs, and how it walks through memory. */
#include <math.h>

#include "tir_lower/program/program.h"
#include "tune/explain/explain_int.h"

enum { MAX_LOOPS = 64, PAGE = 4096, SETS_TURNS = 8 /* as many lines in one set as a small cache has ways */ };

double tune_feature(const float *row, int column) {
    return exp2((double)row[column]) - 1;
}

const float *tune_hot_row(const tc_cost_rows *r) {
    const float *hot = NULL;
    for (int i = 0; i < r->nrow; i++) {
        const float *row = r->data + (size_t)i * TC_COST_NFEATURE;
        hot = hot && hot[TC_COST_EST_TOTAL] >= row[TC_COST_EST_TOTAL] ? hot : row;
    }
    return hot;
}

typedef struct reader {
    tc_ctx *ctx;
    tc_arena *arena;
    const tc_machine *m;
    const tc_func *f;
    int hot, nstore; /* number of the store that does most; stores seen */
    int depth;
    const tc_stmt *loop[MAX_LOOPS];
    traits *t;
    int reads;      /* of the hot store */
    double strange; /* of them those that walk across rows */
} reader;

/* Of a size that varies: 1. */
static int64_t extent_of(const tc_stmt *loop) {
    const tc_expr *e = loop->u.loop.extent;
    return e->op == TC_OP_INT ? e->u.i : 1;
}

static int64_t coefficient(const tc_affine *a, const tc_stmt *loop) {
    for (int i = 0; i < a->n; i++)
        if (a->term[i].atom->op == TC_OP_VAR && a->term[i].atom->u.var == loop->u.loop.var)
            return a->term[i].coef;
    return 0;
}

static bool is_packed(const reader *r, const tc_buffer *b) {
    return b->param >= 0 && r->f->params[b->param].kind == TC_PARAM_PACKED;
}

/* Loops whose turns lie a multiple of a page apart take one set of the caches. */
static void note_stride(reader *r, const tc_buffer *b, int64_t bytes, int64_t turns) {
    if (bytes < PAGE || bytes % PAGE != 0 || turns < SETS_TURNS || (double)turns <= r->t->turns || !b->tensor || b->param < 0)
        return;
    r->t->stride = bytes;
    r->t->turns = (double)turns;
    r->t->strided = r->f->params[b->param].kind == TC_PARAM_IN ? r->f->params[b->param].index : -1;
}

/* A vector whose elements lie apart is gathered; rows that lie apart cost a line each turn. A reduction walks along its own axis,
 * whatever else the tile does. */
static void note_order(reader *r, const tc_buffer *b, int64_t vector, int64_t inner) {
    static const double of_rows = 0.3; /* beside a gather */
    double across = vector > 1 ? 1 : vector == 1 && !is_packed(r, b) && inner >= PAGE / 8 ? of_rows : 0;
    r->reads++;
    r->strange += across;
    if (across > 0)
        r->t->across_of = tc_arena_strdup(r->arena, b->tensor ? b->tensor->name : b->name);
}

/* A read of the hot store. */
static void read_access(const tc_expr *e, void *user) {
    reader *r = user;
    tc_affine a;
    if (e->op != TC_OP_LOAD || e->u.buffer->param < 0 || !tc_te_affine(r->ctx, e->args[0], NULL, &a))
        return;
    int64_t bytes = tc_dtype_bytes(e->u.buffer->dtype), vector = 0, inner = 0;
    for (int i = r->depth - 1; i >= 0; i--) {
        const tc_stmt *l = r->loop[i];
        int64_t c = llabs(coefficient(&a, l));
        bool lasting = l->u.loop.kind == TC_FOR_SERIAL || l->u.loop.kind == TC_FOR_UNROLL;
        if (l->u.loop.kind == TC_FOR_VECTOR)
            vector = TC_MAX(vector, c);
        if (lasting && c && !inner && (l->u.loop.reduce || !r->t->reduces))
            inner = c * bytes;
        if (lasting)
            note_stride(r, e->u.buffer, c * bytes, extent_of(l));
    }
    note_order(r, e->u.buffer, vector, inner);
}

static void read_lanes(reader *r) {
    for (int i = 0; i < r->depth; i++) {
        tc_for_kind k = r->loop[i]->u.loop.kind;
        if (k == TC_FOR_VECTOR || k == TC_FOR_TENSOR)
            r->t->lanes = k == TC_FOR_TENSOR ? r->t->full_lanes
                                             : TC_MIN(r->t->full_lanes, TC_MAX(r->t->lanes, (double)extent_of(r->loop[i])));
        r->t->reduces |= r->loop[i]->u.loop.reduce;
        if (k == TC_FOR_UNROLL)
            r->t->unrolled *= (double)extent_of(r->loop[i]);
    }
}

/* What neighbouring tasks write lies close together. */
static void read_tasks(reader *r, const tc_stmt *s) {
    tc_affine a;
    const tc_buffer *b = s->u.store.buffer;
    if (!tc_tir_scope(b->scope)->shared || b->local || !tc_te_affine(r->ctx, s->u.store.index, NULL, &a))
        return;
    for (int i = 0; i < r->depth; i++) {
        int64_t apart = llabs(coefficient(&a, r->loop[i])) * tc_dtype_bytes(b->dtype);
        if (r->loop[i]->u.loop.kind == TC_FOR_PARALLEL && apart > 0 && apart < r->m->line && extent_of(r->loop[i]) > 1)
            r->t->task_stride = apart;
    }
}

static void read_store(reader *r, const tc_stmt *s) {
    read_tasks(r, s);
    if (r->nstore++ != r->hot)
        return;
    r->t->full_lanes = TC_MAX(1, r->m->vector_bytes / tc_dtype_bytes(s->u.store.buffer->dtype));
    read_lanes(r);
    tc_expr_walk(s->u.store.value, read_access, r);
    r->t->across = r->reads ? r->strange / r->reads : 0;
}

static void read_stmt(reader *r, const tc_stmt *s) {
    if (s->kind == TC_STMT_STORE)
        read_store(r, s);
    if (s->kind == TC_STMT_FOR) {
        double outside = 1;
        for (int i = 0; i < r->depth; i++)
            outside *= (double)extent_of(r->loop[i]);
        if (s->u.loop.kind == TC_FOR_PARALLEL)
            r->t->regions += outside;
        if (r->depth == MAX_LOOPS)
            return;
        r->loop[r->depth++] = s;
    }
    const tc_stmt *child;
    for (int i = 0; (child = tc_tir_child(s, i)) != NULL; i++)
        read_stmt(r, child);
    r->depth -= s->kind == TC_STMT_FOR;
}

static void read_row(const float *row, traits *t) {
    t->accumulators = tune_feature(row, TC_COST_ACC_VECTORS);
    t->spilled = tune_feature(row, TC_COST_ACC_SPILL);
    t->body = tune_feature(row, TC_COST_UNROLLED_BODY);
    t->wasted = TC_MAX(1 - (double)row[TC_COST_GUARD_VALID], (double)row[TC_COST_GUARD_PARTIAL] / 2);
    t->cores_used = (double)row[TC_COST_CORE_USE];
    t->task_work = tune_feature(row, TC_COST_TASK_WORK);
}

tc_status tune_traits(const tc_workload *w, const tc_machine *m, const tc_trace *trace, tc_arena *a, traits *out, tc_error *err) {
    tc_ctx *ctx = tc_ctx_child(w->ctx);
    tc_tir_origin from = {.workload = w, .machine = m, .trace = trace};
    tc_tir_program p;
    tc_cost_rows rows = {0};
    *out = (traits){.lanes = 1, .full_lanes = 1, .unrolled = 1, .strided = -1};
    tc_status st = tc_tir_program_make(ctx, &from, TC_TIR_HASH, &p, err);
    if (st == TC_OK)
        st = tc_cost_features(p.nest, m, &rows, err);
    const float *row = st == TC_OK ? tune_hot_row(&rows) : NULL;
    if (row) {
        reader r = {.ctx = ctx, .arena = a, .m = m, .f = p.nest, .t = out, .hot = (int)((row - rows.data) / TC_COST_NFEATURE)};
        read_row(row, out);
        read_stmt(&r, p.nest->body);
        out->program = p.hash;
    }
    tc_cost_rows_free(&rows);
    tc_ctx_free(ctx);
    return st;
}
