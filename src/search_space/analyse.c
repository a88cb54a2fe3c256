/* Analysis of a workload for the sketch rules: inline what is cheap, classify what remains, and gather it into clusters that share
 * an outer loop nest. Invariant: every stage that is not inlined is in exactly one cluster. Only the head of a cluster is read
 * outside the cluster. */
#include "search_space/space_int.h"
#include "tir_lower/program/program.h"

/* Operations whose repetition costs less than a buffer's round trip through L1 (a load and a store); a division counts as that
 * many of the others as fit into its time on one vector. Chosen by that; not measured apart. */
enum { CHEAP_OPS = 6, DIVISION_OPS = 8 };
/* Fewer results per core than two register tiles leave cores idle; a shorter reduction is not worth a second pass. Chosen by
 * that; not measured apart. */
enum { FEW_RESULTS = 1024, MIN_SPLIT_K = 512 };
/* A sum of fewer than this is read in the time of a barrier or two. Chosen by that; not measured apart. */
enum { MIN_SPLIT_TOTAL = 1 << 15, MIN_SPLIT_AXIS = 64 };

static void count_ops(const tc_expr *e, void *user) {
    int *n = user;
    unsigned t = tc_op_traits(e->op);
    if (tc_dtype_is_float(e->dtype) && !(t & (TC_LEAF | TC_MEMORY)))
        n[0] += e->op == TC_OP_DIV ? DIVISION_OPS : 1;
    if (t & TC_MATH)
        n[1]++;
}

static bool is_output(const tc_sched *s, int st) {
    return s->stages[st].is_output;
}

static bool runs_along(const tc_expr *read, const tc_axis *k) {
    return tc_expr_uses_var(read->args[read->nargs - 1], k->var);
}

/* What computes such a value must store it. Padded, bytes cost one pass over them, while a condition in the inner loop would cost
 * the instruction. */
bool tc_space_feeds_unit(const tc_machine *m, const tc_compute *producer, const tc_compute *sum) {
    const tc_expr *e = sum->body[0];
    if (sum->reducer != TC_RED_SUM || e->op != TC_OP_MUL)
        return false;
    const tc_expr *x = tc_space_widened_read(e->args[0]), *y = tc_space_widened_read(e->args[1]);
    if (!x || !y || (x->u.tensor != producer->out[0] && y->u.tensor != producer->out[0]))
        return false;
    tc_dtype t = (tc_dtype)x->dtype, u = (tc_dtype)y->dtype;
    bool unit = tc_intrinsic_of(m->intrinsics, e->dtype, t, u) || tc_space_tile_unit(m->intrinsics, e->dtype, t, u) ||
                tc_space_tile_unit(m->intrinsics, e->dtype, u, t);
    const tc_axis *k = &sum->raxes[sum->nraxis - 1];
    return unit && (runs_along(x, k) || runs_along(y, k));
}

/* A stage may be inlined when its value is needed once per evaluation of its consumers, or is cheap to compute again. */
static bool inlinable(const analysis *an, int st) {
    const tc_sched *s = an->s;
    const tc_stage *g = &s->stages[st];
    if (is_output(s, st) || g->op->reducer != TC_RED_NONE || g->attach == TC_ATTACH_INLINE)
        return false;
    int cons[MAX_CLUSTER], n = tc_sch_consumers(s, st, cons, MAX_CLUSTER), ops[2] = {0, 0};
    tc_expr_walk(g->op->body[0], count_ops, ops);
    bool cheap = ops[1] == 0 && ops[0] <= CHEAP_OPS;
    for (int i = 0; i < TC_MIN(n, MAX_CLUSTER); i++)
        if (tc_space_feeds_unit(an->m, g->op, s->stages[cons[i]].op))
            return false;
    if (n != 1)
        return n > 0 && n <= 3 && cheap;
    const tc_compute *c = s->stages[cons[0]].op;
    if (an->stored_for && tc_space_produces_for(s, st, an->stored_for))
        return false;
    if (tc_space_is_transform(g->op)) /* each of its cases would be made again for each case of the next one */
        return c->reducer == TC_RED_NONE && !tc_space_is_transform(c);
    return cheap || c->reducer == TC_RED_NONE || c->naxis == 0;
}

typedef struct read_list {
    int n;
    const tc_expr *read[MAX_READS];
} read_list;

static void collect_read(const tc_expr *e, void *user) {
    read_list *l = user;
    if (e->op == TC_OP_READ && l->n < MAX_READS)
        l->read[l->n++] = e;
}

static read_list reads_of(const tc_compute *op) {
    read_list l = {0};
    for (int o = 0; o < op->nout; o++)
        tc_expr_walk(op->body[o], collect_read, &l);
    return l;
}

static bool read_uses(const tc_expr *read, const tc_var *v) {
    for (int i = 0; i < read->nargs; i++)
        if (tc_expr_uses_var(read->args[i], v))
            return true;
    return false;
}

int64_t tc_space_iterations(const tc_compute *op) {
    int64_t n = 1;
    for (int a = 0; a < op->naxis; a++)
        n *= op->axes[a].extent;
    for (int k = 0; k < op->nraxis; k++)
        n *= op->raxes[k].extent;
    return n;
}

static int64_t results(const tc_compute *op) {
    int64_t n = 1;
    for (int a = 0; a < op->naxis; a++)
        n *= op->axes[a].extent;
    return n;
}

/* Rows at which data say: of a table whatever its size, also of constants, which cannot be packed for it. */
static bool gathers(const tc_expr *read) {
    for (int i = 0; i < read->nargs; i++)
        if (tc_expr_touches_memory(read->args[i]))
            return true;
    return false;
}

/* An anchor has an operand that some spatial axis does not walk, and no streamed operand as large as the iteration space: there
 * each value is used once, and tiling has nothing to keep (softmax's maximum under a mask, the mean of embeddings that are looked
 * up). Constants that large are still worth packing. */
static stage_kind classify(const tc_compute *op) {
    if (op->reducer == TC_RED_NONE)
        return KIND_MAP;
    if (op->nout > 1)
        return KIND_REDUCE;
    bool reused = false, streamed = false;
    read_list l = reads_of(op);
    for (int i = 0; i < l.n; i++) {
        bool reduces = false, lacks = false;
        for (int k = 0; k < op->nraxis; k++)
            reduces |= read_uses(l.read[i], op->raxes[k].var);
        for (int a = 0; a < op->naxis; a++)
            lacks |= op->axes[a].extent > 1 && !read_uses(l.read[i], op->axes[a].var);
        reused |= reduces && lacks;
        streamed |= reduces && !l.read[i]->u.tensor->is_const && tc_tensor_size(l.read[i]->u.tensor) >= tc_space_iterations(op);
        streamed |= reduces && !lacks && gathers(l.read[i]);
    }
    return reused && !streamed ? KIND_ANCHOR : KIND_REDUCE;
}

static tc_status inline_all(analysis *an, tc_error *err) {
    tc_sched *s = an->s;
    for (int st = s->nstage - 1; st >= 0; st--) {
        if (!inlinable(an, st))
            continue;
        tc_space_inline(&an->prologue, stage_called(s->stages[st].name));
        tc_status r = tc_sch_apply(s, &an->prologue.steps.data[an->prologue.steps.len - 1], NULL, err);
        if (r == TC_ILLEGAL)
            an->prologue.steps.len--;
        else
            TC_TRY(r);
    }
    return TC_OK;
}

static bool in_cluster(const cluster *c, int st) {
    for (int i = 0; i < c->n; i++)
        if (c->member[i] == st)
            return true;
    return false;
}

static bool consumed_inside(const tc_sched *s, const cluster *c, int st) {
    int cons[MAX_CLUSTER], n = tc_sch_consumers(s, st, cons, MAX_CLUSTER);
    if (n == 0 || n > MAX_CLUSTER)
        return false;
    for (int i = 0; i < n; i++)
        if (!in_cluster(c, cons[i]))
            return false;
    return true;
}

int tc_space_common_rows(const tc_sched *s, int consumer, int producer) {
    const tc_compute *c = s->stages[consumer].op, *p = s->stages[producer].op;
    int rows = TC_MAX_DIMS;
    read_list l = reads_of(c);
    for (int i = 0; i < l.n; i++) {
        if (tc_sch_stage_of(s, l.read[i]->u.tensor) != producer)
            continue;
        int r = 0, most = TC_MIN(TC_MIN(c->naxis, p->naxis), rows);
        while (r < most && l.read[i]->args[r]->op == TC_OP_VAR && l.read[i]->args[r]->u.var == c->axes[r].var)
            r++;
        rows = r;
    }
    return rows;
}

/* Row axes shared by all members if `st` joined, 0 when it cannot. */
static int rows_with(const analysis *an, const cluster *c, int st) {
    int rows = TC_MIN(c->rows, an->s->stages[st].op->naxis);
    for (int i = 0; i < c->n; i++)
        rows = TC_MIN(rows, tc_space_common_rows(an->s, c->member[i], st));
    return rows;
}

static int64_t row_count(const tc_compute *op, int rows) {
    int64_t n = 1;
    for (int i = 0; i < rows; i++)
        n *= op->axes[i].extent;
    return n;
}

/* Absorbs producers, consumers first, while the cluster's kind allows it. */
static void grow(const analysis *an, cluster *c, const bool *taken) {
    const tc_sched *s = an->s;
    int head = c->member[0];
    for (int st = head - 1; st >= 0 && c->n < MAX_CLUSTER; st--) {
        if (taken[st] || s->stages[st].attach == TC_ATTACH_INLINE || is_output(s, st) || !consumed_inside(s, c, st))
            continue;
        if (c->kind == CLUSTER_TRANSFORM) {
            if (tc_space_is_transform(s->stages[st].op))
                c->member[c->n++] = st;
            continue;
        }
        if (an->kind[st] == KIND_ANCHOR) {
            if (c->n == 1 && an->kind[head] == KIND_MAP && tc_space_fusable(an, head, st)) {
                c->member[c->n++] = st;
                c->kind = CLUSTER_ANCHOR;
                return;
            }
            if (c->n == 1 && an->kind[head] == KIND_MAP && tc_space_combines(s, head, st)) {
                c->member[c->n++] = st;
                c->kind = CLUSTER_COMBINE;
                return;
            }
            continue;
        }
        if (an->kind[head] == KIND_ANCHOR)
            continue;
        int rows = rows_with(an, c, st);
        if (rows < 1 || row_count(s->stages[head].op, rows) < 2)
            continue;
        c->rows = rows;
        c->kind = CLUSTER_ROWS;
        c->member[c->n++] = st;
    }
}

static void make_clusters(analysis *an) {
    const tc_sched *s = an->s;
    tc_arena *a = tc_ctx_arena(an->ctx);
    bool *taken = TC_NEW_N(a, bool, s->nstage);
    an->cluster = TC_NEW_N(a, cluster, s->nstage);
    for (int st = s->nstage - 1; st >= 0; st--) {
        if (taken[st] || s->stages[st].attach == TC_ATTACH_INLINE)
            continue;
        cluster *c = &an->cluster[an->ncluster++];
        c->kind = an->kind[st] == KIND_ANCHOR               ? CLUSTER_ANCHOR
                  : an->kind[st] == KIND_REDUCE             ? CLUSTER_ROWS
                  : tc_space_is_transform(s->stages[st].op) ? CLUSTER_TRANSFORM
                                                            : CLUSTER_MAP;
        c->member[c->n++] = st;
        c->rows = s->stages[st].op->naxis;
        grow(an, c, taken);
        for (int i = 0; i < c->n; i++)
            taken[c->member[i]] = true;
        c->inner = c->kind == CLUSTER_ANCHOR ? an->inner[c->member[c->n - 1]] : -1;
        if (c->inner >= 0)
            taken[c->inner] = true;
    }
}

static void classify_all(analysis *an) {
    an->kind = TC_NEW_N(tc_ctx_arena(an->ctx), stage_kind, an->s->nstage);
    an->inner = TC_NEW_N(tc_ctx_arena(an->ctx), int, an->s->nstage);
    for (int st = 0; st < an->s->nstage; st++)
        an->kind[st] = classify(an->s->stages[st].op);
    for (int st = 0; st < an->s->nstage; st++) { /* producers come first */
        an->inner[st] = tc_space_inner_of(an, st);
        if (an->inner[st] >= 0)
            an->kind[st] = KIND_ANCHOR;
    }
    make_clusters(an);
    tc_space_find_operands(an);
}

tc_status tc_space_analyse(tc_ctx *ctx, const tc_workload *w, const tc_machine *m, tc_arena *steps, analysis *out,
                           tc_error *err) {
    *out = (analysis){.ctx = ctx, .m = m, .s = tc_sch_new(ctx, w), .prologue.arena = steps, .lane_stage = -1};
    TC_TRY(inline_all(out, err));
    classify_all(out);
    return TC_OK;
}

static const tc_compute *only_anchor(const analysis *an) {
    const tc_compute *found = NULL;
    for (int i = 0; i < an->ncluster; i++) {
        const cluster *c = &an->cluster[i];
        if (c->kind != CLUSTER_ANCHOR)
            continue;
        if (found || c->inner >= 0)
            return NULL;
        found = an->s->stages[c->member[c->n - 1]].op;
    }
    return found;
}

tc_status tc_space_analyse_stored(const analysis *an, analysis *out, tc_error *err) {
    const tc_compute *anchor = only_anchor(an);
    *out = (analysis){.ctx = an->ctx, .m = an->m, .prologue.arena = an->prologue.arena, .lane_stage = -1};
    if (!anchor)
        return TC_OK;
    out->s = tc_sch_new(an->ctx, an->s->workload);
    out->plain = an;
    out->stored_for = anchor->name;
    TC_TRY(inline_all(out, err));
    classify_all(out);
    tc_space_find_unpacked(out);
    return TC_OK;
}

/* ---- split-K ---- */

static const tc_compute *split_anchor(const analysis *an) {
    const tc_compute *op = only_anchor(an);
    if (!op || op->raxes[op->nraxis - 1].extent < MIN_SPLIT_K)
        return NULL;
    return results(op) < (int64_t)FEW_RESULTS * an->m->cores ? op : NULL;
}

/* The only reduction, when it is one of much to one number: a norm. */
static const tc_compute *split_total(const analysis *an) {
    const tc_compute *found = NULL;
    for (int st = 0; st < an->s->nstage; st++) {
        const tc_compute *op = an->s->stages[st].op;
        if (an->s->stages[st].attach == TC_ATTACH_INLINE || op->reducer == TC_RED_NONE)
            continue;
        if (found || an->kind[st] != KIND_REDUCE || op->nout > 1)
            return NULL;
        found = op;
    }
    return found && results(found) == 1 && found->naxis > 0 && tc_space_iterations(found) >= MIN_SPLIT_TOTAL ? found : NULL;
}

const tc_axis *tc_space_split_axis(const analysis *an, const tc_compute **op) {
    *op = split_anchor(an);
    if (*op)
        return &(*op)->raxes[(*op)->nraxis - 1];
    *op = split_total(an);
    for (int k = 0; *op && k < (*op)->nraxis; k++) /* the outermost that is worth it: parts that lie one behind the other */
        if ((*op)->raxes[k].extent >= MIN_SPLIT_AXIS)
            return &(*op)->raxes[k];
    return NULL;
}

/* An analysis of which the prologue is to be written on. */
static analysis continued(const analysis *an) {
    analysis out = {.ctx = an->ctx, .m = an->m, .prologue.arena = an->prologue.arena, .lane_stage = -1};
    tc_space_continue(&out.prologue, &an->prologue);
    return out;
}

/* Applies the prologue so far, and looks at what became of the workload. */
static tc_status analyse_again(const analysis *an, analysis *out, tc_error *err) {
    tc_trace t = tc_space_built(&out->prologue);
    tc_tir_origin from = {.workload = an->s->workload, .trace = &t};
    tc_tir_program p;
    TC_TRY(tc_tir_program_make(an->ctx, &from, 0, &p, err));
    out->s = p.sched;
    classify_all(out);
    return TC_OK;
}

tc_status tc_space_analyse_split(const analysis *an, int parts, analysis *out, tc_error *err) {
    const tc_compute *op;
    const tc_axis *axis = tc_space_split_axis(an, &op);
    *out = continued(an);
    builder *b = &out->prologue;
    factor each = fixed(tc_ceil_div(axis->extent, parts));
    loop_ref k[2];
    tc_space_split(b, loop_of(stage_called(op->name), axis), "sr", &each, k);
    stage_ref sums = tc_space_rfactor(b, k[0], "ks");
    layout l = tc_space_layout(op->naxis + 1); /* the part, which is the last dimension, becomes the first */
    for (int i = 0; i <= op->naxis; i++)
        tc_space_lay(&l, i ? i - 1 : op->naxis);
    tc_space_transform_layout(b, sums.name, &l);
    TC_TRY(analyse_again(an, out, err));
    const tc_compute *p = out->s->stages[tc_sch_find_stage(out->s, sums.name)].op;
    out->split_k = p->axes[p->naxis - 1].var;
    return TC_OK;
}

/* ---- lanes along the reduction ---- */

bool tc_space_reduces_contiguous(const tc_compute *op) {
    const tc_var *k = op->raxes[op->nraxis - 1].var;
    read_list l = reads_of(op);
    for (int i = 0; i < l.n; i++)
        if (l.read[i]->nargs && tc_expr_uses_var(l.read[i]->args[l.read[i]->nargs - 1], k))
            return true;
    return false;
}

const tc_compute *tc_space_lanes_anchor(const analysis *an) {
    const tc_compute *op = only_anchor(an);
    int lanes = op ? tc_space_lanes(an->m, op) : 0;
    if (!op || op->nout > 1 || op->naxis == 0 || 2 * op->axes[op->naxis - 1].extent > lanes)
        return NULL;
    return op->raxes[op->nraxis - 1].extent >= 2 * lanes && tc_space_reduces_contiguous(op) ? op : NULL;
}

tc_status tc_space_analyse_lanes(const analysis *an, analysis *out, tc_error *err) {
    const tc_compute *op = tc_space_lanes_anchor(an);
    *out = continued(an);
    builder *b = &out->prologue;
    factor lanes = fixed(tc_space_lanes(an->m, op));
    loop_ref k[2];
    tc_space_split(b, loop_of(stage_called(op->name), &op->raxes[op->nraxis - 1]), "rl", &lanes, k);
    tc_space_rfactor(b, k[1], "kl");
    tc_space_unroll(b, k[1]);
    TC_TRY(analyse_again(an, out, err));
    out->lane_stage = tc_sch_find_stage(out->s, op->name);
    return TC_OK;
}

void tc_space_analysis_free(analysis *an) {
    tc_space_builder_free(&an->prologue);
}

double tc_space_work(const tc_workload *w) {
    int64_t most = 1;
    for (int i = 0; i < w->ncompute; i++)
        most = TC_MAX(most, tc_space_iterations(w->computes[i]));
    double bytes = 0;
    for (int i = 0; i < w->nin; i++) /* a lookup reads no more of its table than it has results */
        bytes += (double)TC_MIN(tc_tensor_size(w->in[i]), most) * tc_dtype_bytes(w->in[i]->dtype);
    for (int o = 0; o < w->nout; o++)
        bytes += (double)tc_tensor_size(w->out[o]) * tc_dtype_bytes(w->out[o]->dtype);
    return tc_te_flops(w) + bytes;
}

static void widest(const tc_expr *e, void *user) {
    int *b = user, k = tc_dtype_bytes(e->dtype);
    if (e->op != TC_OP_VAR && e->op != TC_OP_INT && e->dtype != TC_I64 && k > *b)
        *b = k;
}

int tc_space_lanes(const tc_machine *m, const tc_compute *op) {
    int bytes = 1;
    for (int o = 0; o < op->nout; o++)
        tc_expr_walk(op->body[o], widest, &bytes);
    int out = tc_dtype_bytes(op->out[0]->dtype);
    if (out > bytes)
        bytes = out;
    int lanes = m->vector_bytes / bytes;
    return lanes < 1 ? 1 : lanes;
}
