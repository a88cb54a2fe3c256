/* The operands of an anchor: which of them are packed, that is, stored in the order in which the tile walks them. A constant is
 * packed at build time. Other operands are packed by a cached copy, at root or per parallel task (BLIS's packing, Van Zee and van
 * de Geijn 2015). */
#include "search_space/anchor_int.h"

static int vec_dim(const analysis *an, const anchor_plan *p, const tc_expr *read) {
    return tc_space_dim_along(an->ctx, read, p->op->axes[p->acc_vec].var);
}

/* Dimension d of the operand is walked by the reduction. */
static bool reduce_dim(const anchor_plan *p, const tc_expr *read, int d) {
    for (int k = 0; k < p->op->nraxis; k++)
        if (tc_expr_uses_var(read->args[d], p->op->raxes[k].var))
            return true;
    return false;
}

typedef struct operand_list {
    int n;
    const tc_expr *read[MAX_READS];
} operand_list;

/* A constant has one layout, however it is read; of other tensors each read is an operand. */
static void add_operand(const tc_expr *e, void *user) {
    operand_list *l = user;
    if (e->op != TC_OP_READ || l->n == MAX_READS)
        return;
    for (int i = 0; i < l->n; i++)
        if (l->read[i] == e || (e->u.tensor->is_const && l->read[i]->u.tensor == e->u.tensor))
            return;
    l->read[l->n++] = e;
}

/* Some spatial axis longer than one does not walk the operand, so its values are used again by every step of that axis. */
static bool reused(const anchor_plan *p, const tc_expr *read) {
    for (int x = 0; x < p->op->naxis; x++) {
        bool used = p->op->axes[x].extent < 2;
        for (int d = 0; d < read->nargs && !used; d++)
            used = tc_expr_uses_var(read->args[d], p->op->axes[x].var);
        if (!used)
            return true;
    }
    return false;
}

/* Operands of the reduction that are walked by its vector axis and by its reduction, and used more than once per value (a
 * depthwise convolution's image is not: copying it costs more than it saves): those a layout pays for. */
static operand_list vector_operands(const analysis *an, const anchor_plan *p) {
    operand_list all = {0}, out = {0};
    tc_expr_walk(p->op->body[0], add_operand, &all);
    for (int i = 0; i < all.n; i++) {
        int dv = vec_dim(an, p, all.read[i]);
        bool reduces = false;
        for (int d = 0; d < all.read[i]->nargs; d++)
            reduces |= d != dv && reduce_dim(p, all.read[i], d);
        int stage = tc_sch_stage_of(an->s, all.read[i]->u.tensor);
        bool unpacked = stage >= 0 && tc_space_is_unpacked(an, stage); /* in panels as it is */
        if (dv >= 0 && reduces && !unpacked && (all.read[i]->u.tensor->is_const || reused(p, all.read[i])))
            out.read[out.n++] = all.read[i];
    }
    return out;
}

int64_t tc_space_shared_bytes(const analysis *an, const anchor_plan *p) {
    operand_list all = {0};
    int64_t bytes = 0;
    tc_expr_walk(p->op->body[0], add_operand, &all);
    for (int i = 0; i < all.n; i++)
        if (vec_dim(an, p, all.read[i]) < 0)
            bytes += tc_tensor_size(all.read[i]->u.tensor) * tc_dtype_bytes(all.read[i]->u.tensor->dtype);
    return bytes;
}

bool tc_space_lanewise(const analysis *an, const anchor_plan *p) {
    operand_list all = {0};
    tc_expr_walk(p->op->body[0], add_operand, &all);
    for (int i = 0; i < all.n; i++)
        if (vec_dim(an, p, all.read[i]) < 0)
            return false;
    return all.n > 0;
}

bool tc_space_anchor_packs(const analysis *an, const cluster *c) {
    anchor_plan p;
    tc_space_plan_cluster(an, c, &p);
    operand_list l = vector_operands(an, &p);
    for (int i = 0; i < l.n; i++)
        if (!l.read[i]->u.tensor->is_const)
            return true;
    return false;
}

/* ---- packing ---- */

/* Dimension whose neighbours a unit takes; -1: it takes none. */
static int steps_dim(const anchor_plan *p, const tc_expr *read, int dv) {
    for (int d = 0; d < read->nargs && p->group > 1; d++)
        if (d != dv && tc_expr_uses_var(read->args[d], p->op->raxes[p->op->nraxis - 1].var))
            return d;
    return -1;
}

/* Batch dimensions, then blocks of the vector dimension (or these first), then the rest, then the vector lanes: "(x0, x1) ->
 * (x1 / v, x0, x1 % v)". */
static layout packed_layout(const anchor_plan *p, const tc_expr *read, int dv) {
    layout l = tc_space_layout(read->nargs);
    factor width = p->panel, group = fixed(p->group);
    if (p->batch_inside)
        tc_space_lay_blocks(&l, dv, width);
    for (int d = 0; d < read->nargs; d++)
        if (d != dv && !reduce_dim(p, read, d))
            tc_space_lay(&l, d);
    if (!p->batch_inside)
        tc_space_lay_blocks(&l, dv, width);
    int steps = steps_dim(p, read, dv);
    for (int d = 0; d < read->nargs; d++)
        if (d != dv && d != steps && reduce_dim(p, read, d))
            tc_space_lay(&l, d);
    if (steps >= 0)
        tc_space_lay_blocks(&l, steps, group);
    tc_space_lay_places(&l, dv, width);
    if (steps >= 0)
        tc_space_lay_places(&l, steps, group);
    return l;
}

/* Axis d of a cached copy of t: called as in t's producer, or ax0, ax1, ... for an input. */
static loop_ref copy_axis(emitter *e, stage_ref copy, const tc_tensor *t, int d) {
    int st = tc_sch_stage_of(e->an->s, t);
    if (st >= 0)
        return loop_of(copy, &e->an->s->stages[st].op->axes[d]);
    const char *name = tc_arena_printf(e->b.arena, "ax%d", d);
    return (loop_ref){copy, name, name};
}

/* The packed operand, `copy` of what `read` reads: batch dimensions, blocks of the vector dimension, reduction dimensions, then the
 * vector, and with it the steps that a unit takes, so that they are stored together. */
static void emit_packed(emitter *e, const anchor_plan *p, const tc_expr *read, int dv, stage_ref copy, loop_ref task) {
    const tc_tensor *t = read->u.tensor;
    builder *b = &e->b;
    layout l = packed_layout(p, read, dv);
    tc_space_transform_layout(b, copy.name, &l);
    factor group = fixed(p->group);
    int steps = steps_dim(p, read, dv);
    loop_ref v[2], k[2];
    tc_space_split(b, copy_axis(e, copy, t, dv), "ov", &p->panel, v);
    if (steps >= 0)
        tc_space_split(b, copy_axis(e, copy, t, steps), "oq", &group, k);
    loop_list order = {0};
    for (int pass = 0; pass < 3; pass++)
        for (int d = 0; d < t->ndim; d++) {
            if ((d == dv) != (pass == 1) || (d != dv && reduce_dim(p, read, d) != (pass == 2)))
                continue;
            tc_space_list(&order, d == dv ? v[0] : d == steps ? k[0] : copy_axis(e, copy, t, d));
        }
    loop_ref first = order.at[0];
    tc_space_list(&order, v[1]);
    if (steps >= 0)
        tc_space_list(&order, k[1]);
    tc_space_reorder(b, &order);
    tc_space_vectorize(b, v[1]);
    if (steps >= 0)
        tc_space_unroll(b, k[1]);
    if (is_loop(task))
        tc_space_compute_at(b, copy, task);
    else if (!e->v.serial)
        tc_space_parallel(b, first);
    tc_space_compute_packed(e, t);
}

void tc_space_emit_packed_rows(emitter *e, const anchor_plan *p, const tc_expr *read, int dr, factor height, factor depth) {
    const tc_tensor *t = read->u.tensor;
    builder *b = &e->b;
    int dk = t->ndim - 1;
    stage_ref copy = tc_space_cache_read(b, t->name, p->acc);
    layout l = tc_space_layout(t->ndim);
    loop_list order = {0};
    loop_ref r[2], k[2];
    for (int d = 0; d < dk; d++)
        if (d != dr)
            tc_space_lay(&l, d);
    tc_space_lay_blocks(&l, dr, height);
    tc_space_lay_blocks(&l, dk, depth);
    tc_space_lay_places(&l, dr, height);
    tc_space_lay_places(&l, dk, depth);
    tc_space_transform_layout(b, copy.name, &l);
    tc_space_split(b, copy_axis(e, copy, t, dr), "ov", &height, r);
    tc_space_split(b, copy_axis(e, copy, t, dk), "oq", &depth, k);
    for (int d = 0; d < dk; d++)
        if (d != dr)
            tc_space_list(&order, copy_axis(e, copy, t, d));
    const loop_ref inner[] = {r[0], k[0], r[1], k[1]};
    for (size_t i = 0; i < TC_LEN(inner); i++)
        tc_space_list(&order, inner[i]);
    tc_space_reorder(b, &order);
    tc_space_vectorize(b, k[1]);
    if (!e->v.serial)
        tc_space_parallel(b, order.at[0]);
}

bool tc_space_has_layout(const emitter *e, const tc_tensor *t) {
    for (size_t i = 0; i < e->packed.len; i++)
        if (e->packed.data[i] == t)
            return true;
    return false;
}

/* The number of `read` among those of its tensor that have no copies yet. */
static int place_of(const anchor_plan *p, const tc_expr *read, const operand_list *copied) {
    const tc_expr *all[MAX_READS];
    int n = tc_sch_reads_of(p->op, read->u.tensor, all, MAX_READS), place = 0;
    for (int i = 0; i < n && all[i] != read; i++) {
        bool gone = false;
        for (int k = 0; k < copied->n; k++)
            gone |= copied->read[k] == all[i];
        place += !gone;
    }
    return place;
}

/* Of a tensor that is read elsewhere too, as queries, keys and values may be parts of one, no more than what this read reaches. */
static stage_ref emit_copy(emitter *e, const anchor_plan *p, const tc_expr *read, operand_list *copied) {
    const tc_expr *all[2];
    const tc_tensor *t = read->u.tensor;
    if (tc_sch_reads_of(p->op, t, all, 2) == 1 && !tc_sch_reads_part(p->op, read))
        return tc_space_cache_read(&e->b, t->name, p->acc);
    stage_ref copy = tc_space_cache_part(&e->b, t->name, p->acc, place_of(p, read, copied));
    copied->read[copied->n++] = read;
    return copy;
}

/* An operand that is a stage of its own is made in that order, another one is copied. */
static void emit_packed_operand(emitter *e, const anchor_plan *p, const tc_expr *read, int dv, loop_ref task,
                                operand_list *copied) {
    const tc_tensor *t = read->u.tensor;
    int stage = tc_sch_stage_of(e->an->s, t);
    if (stage < 0 || !tc_space_is_operand(e->an, stage)) {
        emit_packed(e, p, read, dv, emit_copy(e, p, read, copied), task);
        return;
    }
    if (tc_space_has_layout(e, t))
        return;
    tc_push(&e->packed, t);
    emit_packed(e, p, read, dv, stage_called(e->an->s->stages[stage].name), task);
    tc_space_lay_sources(e, e->an->s->stages[stage].op, dv, p->panel);
}

/* A constant has one layout: of several anchors that read it, the first one chooses. */
static void emit_packed_constant(emitter *e, const anchor_plan *p, const tc_expr *read, int dv) {
    const tc_tensor *t = read->u.tensor;
    if (tc_space_has_layout(e, t))
        return;
    tc_push(&e->packed, t);
    layout l = packed_layout(p, read, dv);
    tc_space_transform_layout(&e->b, t->name, &l);
}

void tc_space_emit_operands(emitter *e, const anchor_plan *p, loop_ref task) {
    operand_list l = vector_operands(e->an, p), copied = {0};
    bool packs = e->v.pack && (!e->v.pack_task || is_loop(task));
    for (int i = 0; i < l.n; i++) {
        int dv = vec_dim(e->an, p, l.read[i]);
        if (l.read[i]->u.tensor->is_const)
            emit_packed_constant(e, p, l.read[i], dv);
        else if (packs)
            emit_packed_operand(e, p, l.read[i], dv, e->v.pack_task ? task : (loop_ref){0}, &copied);
    }
}

/* ---- operands that are stages ---- */

typedef struct operand_query {
    const analysis *an;
    const anchor_plan *p;
    int stage;
    bool walks; /* the anchor's vectors go along it */
} operand_query;

static void check_operand(const tc_expr *e, void *user) {
    operand_query *q = user;
    if (e->op == TC_OP_READ && tc_sch_stage_of(q->an->s, e->u.tensor) == q->stage)
        q->walks |= vec_dim(q->an, q->p, e) >= 0;
}

/* A map that makes, for nobody else, what a unit of the anchor in `c` wants packed. */
static bool makes_operand(const analysis *an, const cluster *c, const cluster *map) {
    const tc_sched *s = an->s;
    int anchor = c->member[c->n - 1], stage = map->member[0], consumer[2];
    if (map->kind != CLUSTER_MAP || s->stages[stage].is_output || tc_sch_consumers(s, stage, consumer, 2) != 1 ||
        consumer[0] != anchor)
        return false;
    anchor_plan p;
    tc_space_plan_cluster(an, c, &p);
    operand_query q = {.an = an, .p = &p, .stage = stage};
    if (p.acc_vec >= 0 && tc_space_feeds_unit(an->m, s->stages[stage].op, p.op))
        tc_expr_walk(p.op->body[0], check_operand, &q);
    return q.walks;
}

void tc_space_find_operands(analysis *an) {
    for (int i = 0; i < an->ncluster; i++)
        for (int j = 0; j < i; j++)
            if (an->cluster[j].kind == CLUSTER_ANCHOR && makes_operand(an, &an->cluster[j], &an->cluster[i]))
                an->cluster[i].kind = CLUSTER_OPERAND;
}

bool tc_space_is_operand(const analysis *an, int stage) {
    for (int i = 0; i < an->ncluster; i++)
        if (an->cluster[i].kind == CLUSTER_OPERAND && an->cluster[i].member[0] == stage)
            return true;
    return false;
}

/* Its anchor, which was written before, has packed it; or it is a map. */
void tc_space_emit_operand(emitter *e, const cluster *c) {
    if (tc_space_has_layout(e, e->an->s->stages[c->member[0]].op->out[0]))
        return;
    e->at = (loop_ref){0};
    tc_space_emit_map(e, c);
}

/* ---- dot instructions ---- */

static void note_read(const tc_expr *e, void *user) {
    *(bool *)user |= e->op == TC_OP_READ;
}

static bool reads(const tc_expr *e) {
    bool any = false;
    tc_expr_walk(e, note_read, &any);
    return any;
}

const tc_expr *tc_space_widened_read(const tc_expr *e) {
    if (e->op != TC_OP_CAST)
        return NULL;
    tc_dtype t = (tc_dtype)e->args[0]->dtype;
    for (e = e->args[0];
         tc_dtype_is_int(t) && e->nargs == 2 && (e->op == TC_OP_BAND || e->op == TC_OP_SHR) && !reads(e->args[1]);)
        e = e->args[0];
    return e->op == TC_OP_READ && e->nargs > 0 && (tc_dtype)e->dtype == t ? e : NULL;
}

/* The product of the anchor's body, without the reduction, must be of two narrow operands, of which the one that is broadcast
 * holds the steps of the last reduction as neighbours (tir_lower/passes/units/dot.c). */
const tc_intrinsic *tc_space_dot(const analysis *an, const anchor_plan *p) {
    const tc_expr *e = p->op->body[0];
    const tc_axis *k = &p->op->raxes[p->op->nraxis - 1];
    if (p->op->reducer != TC_RED_SUM || e->op != TC_OP_MUL)
        return NULL;
    const tc_expr *x = tc_space_widened_read(e->args[0]), *y = tc_space_widened_read(e->args[1]);
    const tc_intrinsic *row = x && y ? tc_intrinsic_of(an->m->intrinsics, e->dtype, x->dtype, y->dtype) : NULL;
    if (!row || k->extent < row->group)
        return NULL;
    const tc_expr *along = vec_dim(an, p, x) < 0 ? x : y, *last = along->args[along->nargs - 1];
    return vec_dim(an, p, along) < 0 && last->op == TC_OP_VAR && last->u.var == k->var ? row : NULL;
}
