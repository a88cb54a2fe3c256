/* The rule for combined products (Strassen's algorithm). Every value of a map is a choice of sums over the first axis of a batch of
 * matmuls. The last axis and some other axes are cut into equal parts, which read the same products.
 *
 *   parallel task = fused(vec_t, row_0..):               # one register width of each column part, a block of rows of each part
 *     for u, row tiles:
 *       acc[row_2][vec] = 0                              # registers
 *       for k_o: acc += S[u] * U[u]                      # k_u unrolled; U packed at build time in the order it is walked
 *       products[u][..] = acc                            # a block that stays in the cache
 *     for rows of the block:
 *       for parts (unrolled): head[part] = epilogue(choice of sums of products)      # every case decided, one store */
#include "search_space/space_int.h"

/* Reads that make a combination, parts of an axis, and rows of a block, whose products are to stay in the cache. Chosen; not
 * measured apart. */
enum { MIN_TERMS = 3, MAX_PARTS = 4, BLOCK_ROWS = 128 };

/* How the head reads the products. */
typedef struct combination {
    const tc_compute *head, *op; /* op: the products */
    int stage;                   /* of op */
    const tc_sched *s;
    int reads;
    bool regular;                /* the same way everywhere */
    int axis[TC_MAX_DIMS];       /* head axis that dimension d of the products follows, .. */
    int64_t period[TC_MAX_DIMS]; /* .. modulo this: one part of it */
} combination;

/* Dimension d follows one axis of the head, as in the reads before. */
static bool follows(combination *k, int d, const tc_expr *e) {
    bool mod = e->op == TC_OP_MOD && e->args[1]->op == TC_OP_INT;
    const tc_expr *v = mod ? e->args[0] : e;
    int x = v->op == TC_OP_VAR ? k->head->naxis - 1 : -1;
    while (x >= 0 && k->head->axes[x].var != v->u.var)
        x--;
    int64_t extent = x < 0 ? 0 : k->head->axes[x].extent, period = mod ? e->args[1]->u.i : extent;
    if (x < 0 || period < 1 || tc_ceil_div(extent, period) > MAX_PARTS)
        return false;
    if (k->reads > 1)
        return k->axis[d] == x && k->period[d] == period;
    for (int i = 1; i < d; i++)
        if (k->axis[i] == x)
            return false;
    k->axis[d] = x;
    k->period[d] = period;
    return true;
}

static void check_read(const tc_expr *e, void *user) {
    combination *k = user;
    if (e->op != TC_OP_READ || tc_sch_stage_of(k->s, e->u.tensor) != k->stage)
        return;
    k->reads++;
    k->regular = k->regular && e->args[0]->op == TC_OP_INT;
    for (int d = 1; d < e->nargs && k->regular; d++)
        k->regular = follows(k, d, e->args[d]);
}

static combination combination_of(const tc_sched *s, int head, int products) {
    combination k = {.s = s, .head = s->stages[head].op, .op = s->stages[products].op, .stage = products, .regular = true};
    tc_expr_walk(k.head->body[0], check_read, &k);
    return k;
}

static bool is_cut(const combination *k, int d) {
    return k->period[d] != k->head->axes[k->axis[d]].extent;
}

bool tc_space_combines(const tc_sched *s, int head, int products) {
    combination k = combination_of(s, head, products);
    int last = k.op->naxis - 1;
    return k.regular && k.reads >= MIN_TERMS && k.head->nout == 1 && k.op->nout == 1 && k.op->nraxis > 0 && last >= 2 &&
           k.op->naxis == k.head->naxis + 1 && k.axis[last] == k.head->naxis - 1 && is_cut(&k, last);
}

/* ---- loops ---- */

/* Divides the head's axis for dimension d into its parts; returns the loop that runs inside a part. */
static loop_ref emit_cut(emitter *e, const combination *k, int d, loop_list *parts) {
    loop_ref whole = loop_of(stage_called(k->head->name), &k->head->axes[k->axis[d]]), part[2];
    if (!is_cut(k, d))
        return whole;
    factor period = fixed(k->period[d]);
    tc_space_split(&e->b, whole, "qh", &period, part);
    tc_space_list(parts, part[0]);
    return part[1];
}

/* The head's loops; returns the one that is a task. */
static loop_ref emit_head(emitter *e, const combination *k, factor width, const decision_ref *rows) {
    int last = k->op->naxis - 1;
    loop_list parts = {0}, outer = {0}, inner = {0}, all;
    loop_ref v[2], x[3];
    tc_space_split(&e->b, emit_cut(e, k, last, &parts), "tv", &width, v);
    tc_space_list(&outer, v[0]);
    for (int d = 1; d < last; d++) {
        loop_ref whole = emit_cut(e, k, d, &parts);
        tc_space_split(&e->b, whole, "012", (factor[]){part_of(rows[d], 1), part_of(rows[d], 2)}, x);
        tc_space_list(outer.n < TC_MAX_PARTS ? &outer : &inner, x[0]);
        tc_space_list(&inner, x[1]);
        tc_space_list(&inner, x[2]);
    }
    all = outer;
    tc_space_list_all(&all, &inner);
    tc_space_list_all(&all, &parts);
    tc_space_list(&all, v[1]);
    tc_space_reorder(&e->b, &all);
    loop_ref task = tc_space_fuse(&e->b, &outer, "task");
    for (int i = 1; i < parts.n; i++)
        tc_space_unroll(&e->b, parts.at[i]);
    tc_space_unroll(&e->b, parts.at[0]); /* the last axis is cut always, and first */
    tc_space_vectorize(&e->b, v[1]);
    if (!e->v.serial)
        tc_space_parallel(&e->b, task);
    return task;
}

/* The products' block: loops over register tiles; returns the innermost of them. */
static loop_ref emit_block(emitter *e, const combination *k, const decision_ref *rows) {
    stage_ref stage = stage_called(k->op->name);
    loop_list order = {0}, inner = {0};
    loop_ref x[2];
    tc_space_list(&order, loop_of(stage, &k->op->axes[0]));
    for (int d = 1; d < k->op->naxis - 1; d++) {
        factor tile = part_of(rows[d], 2);
        tc_space_split(&e->b, loop_of(stage, &k->op->axes[d]), "or", &tile, x);
        tc_space_list(&order, x[0]);
        tc_space_list(&inner, x[1]);
    }
    loop_ref at = x[0], v = loop_of(stage, &k->op->axes[k->op->naxis - 1]);
    tc_space_list_all(&order, &inner);
    tc_space_list(&order, v);
    tc_space_reorder(&e->b, &order);
    tc_space_unroll_all(&e->b, &inner);
    tc_space_vectorize(&e->b, v);
    return at;
}

void tc_space_emit_combine(emitter *e, const cluster *c) {
    combination k = combination_of(e->an->s, c->member[0], c->member[1]);
    int id = e->nanchor++, last = k.op->naxis - 1;
    decision_ref rows[TC_MAX_DIMS], width = tc_space_sample_vec(e, id, k.period[last], tc_space_lanes(e->an->m, k.op));
    stage_ref products = stage_called(k.op->name);
    for (int d = 1; d < last; d++) {
        loop_ref loop = loop_of(products, &k.op->axes[d]);
        rows[d] = tc_space_sample_tile(&e->b, ROLE_ROW_TILE, id, loop, 3, e->an->m->vector_regs - 4, k.period[d]);
        tc_space_decision(&e->b, rows[d])->block = BLOCK_ROWS;
    }
    loop_ref task = emit_head(e, &k, chosen(width), rows);
    stage_ref acc = tc_space_cache_write(&e->b, products);
    tc_space_compute_at(&e->b, products, task);
    tc_space_compute_at(&e->b, acc, emit_block(e, &k, rows));
    tc_space_emit_register_tile(e, c->member[1], acc, width, id);
}
