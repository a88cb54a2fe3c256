/* The rule for products that are combined: a map whose every value is a choice of sums over the first axis of a batch of matmuls,
 * the last axis and some of the others cut into equal parts that read the same products (Strassen's algorithm).
 *
 *   parallel task = fused(vec_t, row_0..):               # one register width of each column part, a block of rows of each part
 *     for u, row tiles:
 *       acc[row_2][vec] = 0                              # registers
 *       for k_o: acc += S[u] * U[u]                      # k_u unrolled; U packed at build time in the order it is walked
 *       products[u][..] = acc                            # a block that stays in the cache
 *     for rows of the block:
 *       for parts (unrolled): head[part] = epilogue(choice of sums of products)      # every case decided, one store
 */
#include "search_space/space_int.h"

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
    if (x < 0 || period < 1 || (extent + period - 1) / period > MAX_PARTS)
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
static const char *emit_cut(emitter *e, const combination *k, int d, tc_strbuf *parts) {
    const char *h = k->head->name, *x = k->head->axes[k->axis[d]].var->name;
    if (!is_cut(k, d))
        return x;
    tc_space_step(e, "%s_q, %s_h = split %s.%s [_, %lld]", x, x, h, x, (long long)k->period[d]);
    tc_sb_printf(parts, " %s.%s_q", h, x);
    return tc_arena_printf(e->arena, "%s_h", x);
}

/* The head's loops; returns the one that is a task. */
static const char *emit_head(emitter *e, const combination *k, const char *width, const char *const *rows) {
    const char *h = k->head->name, *v = k->head->axes[k->head->naxis - 1].var->name, *task = "task";
    int last = k->op->naxis - 1, ntask = 1;
    tc_strbuf parts = {0}, outer = {0}, inner = {0};
    const char *whole = emit_cut(e, k, last, &parts);
    tc_space_step(e, "%s_t, %s_v = split %s.%s [_, %s]", v, v, h, whole, width);
    tc_sb_printf(&outer, " %s.%s_t", h, v);
    for (int d = 1; d < last; d++) {
        const char *x = k->head->axes[k->axis[d]].var->name;
        whole = emit_cut(e, k, d, &parts);
        tc_space_step(e, "%s_0, %s_1, %s_2 = split %s.%s [_, %s.1, %s.2]", x, x, x, h, whole, rows[d], rows[d]);
        if (ntask < TC_MAX_PARTS) {
            tc_sb_printf(&outer, " %s.%s_0", h, x);
            ntask++;
        } else {
            tc_sb_printf(&inner, " %s.%s_0", h, x);
        }
        tc_sb_printf(&inner, " %s.%s_1 %s.%s_2", h, x, h, x);
    }
    tc_space_step(e, "reorder%s%s%s %s.%s_v", tc_sb_str(&outer), tc_sb_str(&inner), tc_sb_str(&parts), h, v);
    tc_space_step(e, "%s = fuse%s", task, tc_sb_str(&outer));
    for (int d = 1; d <= last; d++)
        if (is_cut(k, d))
            tc_space_step(e, "unroll %s.%s_q", h, k->head->axes[k->axis[d]].var->name);
    tc_space_step(e, "vectorize %s.%s_v", h, v);
    if (!e->v.serial)
        tc_space_step(e, "parallel %s.%s", h, task);
    tc_strbuf_free(&parts);
    tc_strbuf_free(&outer);
    tc_strbuf_free(&inner);
    return tc_arena_printf(e->arena, "%s.%s", h, task);
}

/* The products' block: loops over register tiles; returns the innermost of them. */
static const char *emit_block(emitter *e, const combination *k, const char *const *rows) {
    const char *n = k->op->name, *v = k->op->axes[k->op->naxis - 1].var->name, *at = NULL;
    tc_strbuf outer = {0}, inner = {0};
    for (int d = 1; d < k->op->naxis - 1; d++) {
        const char *x = k->op->axes[d].var->name;
        tc_space_step(e, "%s_o, %s_r = split %s.%s [_, %s.2]", x, x, n, x, rows[d]);
        at = tc_arena_printf(e->arena, "%s.%s_o", n, x);
        tc_sb_printf(&outer, " %s", at);
        tc_sb_printf(&inner, " %s.%s_r", n, x);
    }
    tc_space_step(e, "reorder %s.%s%s%s %s.%s", n, k->op->axes[0].var->name, tc_sb_str(&outer), tc_sb_str(&inner), n, v);
    for (int d = 1; d < k->op->naxis - 1; d++)
        tc_space_step(e, "unroll %s.%s_r", n, k->op->axes[d].var->name);
    tc_space_step(e, "vectorize %s.%s", n, v);
    tc_strbuf_free(&outer);
    tc_strbuf_free(&inner);
    return at;
}

void tc_space_emit_combine(emitter *e, const cluster *c) {
    combination k = combination_of(e->an->s, c->member[0], c->member[1]);
    int id = e->nanchor++, last = k.op->naxis - 1;
    size_t from = e->dec.len;
    const char *rows[TC_MAX_DIMS], *n = k.op->name, *acc = tc_arena_printf(e->arena, "%s_acc", n);
    const char *width = tc_space_sample_vec(e, id, k.period[last], tc_space_lanes(e->an->m, k.op));
    for (int d = 1; d < last; d++) {
        const char *loop = tc_arena_printf(e->arena, "%s.%s", n, k.op->axes[d].var->name);
        rows[d] = tc_space_sample_tile(e, ROLE_ROW_TILE, id, loop, 3, e->an->m->vector_regs - 4, k.period[d]);
        e->dec.data[e->dec.len - 1].block = BLOCK_ROWS;
    }
    const char *task = emit_head(e, &k, width, rows);
    tc_space_step(e, "%s = cache_write %s local", acc, n);
    tc_space_step(e, "compute_at %s %s", n, task);
    tc_space_step(e, "compute_at %s %s", acc, emit_block(e, &k, rows));
    tc_space_emit_register_tile(e, c->member[1], acc, width, id, from);
}
