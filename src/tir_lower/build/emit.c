/* Makes statements from finished nests. A stage's nest is
 *
 *     for leaves outside of the first reduction loop {        guards stand as far out as they can
 *         producers attached at each level, in topological order, each in its own alloc
 *         init nest over the remaining spatial leaves { B = identity }
 *         for the remaining leaves { B = combine(B, body) }
 *     }
 *
 * A reduction with two results (argmax) stores the index first. Its condition reads the old value, which the second store
 * replaces. */
#include <string.h>

#include "tir_lower/build/build_int.h"
#include "tir_lower/unit_match.h"

enum {
    MAX_STATEMENTS = 8192, /* a body longer than this after unrolling takes LLVM seconds and no instruction cache holds it */
    MAX_LIVE_SUBST = 64
};

static tc_status emit_stage(builder *b, nest *n, const tc_stmt **out);
static tc_status emit_loop(builder *b, nest *n, int pos, const tc_stmt **out);

static const tc_expr *to_load(tc_ctx *c, const tc_expr *e, void *user) {
    builder *b = user;
    if (e->op != TC_OP_READ)
        return e;
    const storage *at = find_storage(b, e->u.tensor);
    const tc_expr *local[TC_MAX_DIMS];
    for (int d = 0; d < e->nargs; d++)
        local[d] = at->min ? tc_sub(c, e->args[d], at->min[d]) : e->args[d];
    return tc_load(c, at->buffer, e->dtype, flat_index(b, at, local, e->nargs), NULL);
}

/* The innermost statement: plain store, or the update of a reduction. */
static const tc_stmt *emit_store(builder *b, nest *n) {
    const tc_compute *op = n->st->op;
    const tc_expr *index[TC_MAX_OUTS], *old[TC_MAX_OUTS], *value[TC_MAX_OUTS], *fresh[TC_MAX_OUTS];
    size_t mark = nest_suppose(b, n, false);
    for (int o = 0; o < op->nout; o++) {
        index[o] = flat_index(b, &n->out[o], n->out[o].min ? n->local : n->value, n->naxis);
        old[o] = tc_load(b->c, n->out[o].buffer, n->out[o].buffer->dtype, index[o], NULL);
        value[o] = tc_expr_map(b->c, n->body[o], to_load, b);
    }
    tc_env_undo(b->env, mark);
    if (n->reduces)
        tc_reducer_combine(b->c, op->reducer, old, value, fresh);
    else
        memcpy(fresh, value, sizeof fresh);
    const tc_stmt *s[TC_MAX_OUTS];
    for (int o = 0; o < op->nout; o++)
        s[op->nout - 1 - o] = tc_tir_store(b->c, n->out[o].buffer, index[o], fresh[o], NULL);
    return tc_tir_seq(b->c, op->nout, s);
}

static const tc_stmt *wrap_guards(builder *b, const nest *n, int depth, bool init, int nsubst, const tc_var *const *vars,
                                  const tc_expr *const *with, const tc_stmt *s) {
    for (size_t i = n->guards.len; i-- > 0;) {
        const nest_guard *g = &n->guards.data[i];
        if (g->depth != depth || (init && g->reduce))
            continue;
        const tc_expr *cond = nsubst ? tc_expr_subst(b->c, g->cond, nsubst, vars, with) : g->cond;
        s = tc_tir_if(b->c, cond, true, s, NULL);
    }
    return s;
}

/* for the spatial leaves inside of the first reduction loop { B[..] = identity }, with variables of its own. */
static const tc_stmt *emit_init(builder *b, nest *n) {
    tc_ctx *c = b->c;
    const tc_compute *op = n->st->op;
    int nleaf = n->st->nleaf, k = 0;
    const tc_var *vars[MAX_LIVE_SUBST];
    const tc_expr *with[MAX_LIVE_SUBST];
    const tc_var *mine[MAX_LIVE_SUBST] = {0};
    for (int i = n->first_reduce; i < nleaf; i++) {
        const tc_loop_info *l = &b->s->loops[n->st->leaf[i]];
        if (l->reduce || !n->var[i])
            continue;
        mine[i] = tc_var_new(c, n->var[i]->name);
        tc_env_set(b->env, mine[i], (tc_ival){0, b->loop_ext[n->st->leaf[i]] - 1});
        vars[k] = n->var[i];
        with[k++] = tc_varx(c, mine[i]);
    }
    const tc_stmt *s[TC_MAX_OUTS];
    size_t mark = nest_suppose(b, n, true);
    for (int o = 0; o < op->nout; o++) {
        const tc_expr *index = flat_index(b, &n->out[o], n->out[o].min ? n->local : n->value, n->naxis);
        s[o] = tc_tir_store(c, n->out[o].buffer, k ? tc_expr_subst(c, index, k, vars, with) : index,
                            tc_reducer_identity(c, op->reducer, o, n->out[o].buffer->dtype), NULL);
    }
    tc_env_undo(b->env, mark);
    const tc_stmt *r = tc_tir_seq(c, op->nout, s);
    for (int i = nleaf - 1; i >= n->first_reduce; i--) {
        r = wrap_guards(b, n, i + 1, true, k, vars, with, r);
        if (mine[i])
            r = tc_tir_for(c, mine[i], tc_i64(c, b->loop_ext[n->st->leaf[i]]), n->kind[i], false, r);
    }
    return r;
}

/* Stages attached at leaf position `pos` of n, then `body`, all inside the stages' allocs. */
static tc_status emit_attached(builder *b, nest *n, int pos, int from, const tc_stmt **out) {
    for (int i = from; i < b->s->nstage; i++) {
        nest *p = &b->nests[i];
        if (!p->live || p->at_pos != pos || p->st->at_stage != n->id || p->st->attach != TC_ATTACH_AT)
            continue;
        for (int o = 0; o < p->st->op->nout; o++)
            TC_TRY(new_stage_buffer(b, p, o));
        const tc_stmt *s[2];
        TC_TRY(emit_stage(b, p, &s[0]));
        TC_TRY(emit_attached(b, n, pos, i + 1, &s[1]));
        *out = tc_tir_seq(b->c, 2, s);
        for (int o = 0; o < p->st->op->nout; o++)
            *out = tc_tir_alloc(b->c, p->out[o].buffer, *out);
        return TC_OK;
    }
    return emit_loop(b, n, pos + 1, out);
}

/* May a vector loop have this body: only stores under guards, and unrolled loops of them. */
static const char *vector_body_problem(const tc_stmt *s) {
    const tc_stmt *inside;
    const char *why = NULL;
    if (s->kind == TC_STMT_ALLOC)
        return "a stage computed inside of it";
    if (s->kind == TC_STMT_FOR && !tc_for_may_contain(TC_FOR_VECTOR, s->u.loop.kind))
        return s->u.loop.kind == TC_FOR_VECTOR ? "another vectorized loop" : "a loop that is not unrolled";
    for (int i = 0; !why && (inside = tc_tir_child(s, i)); i++)
        why = vector_body_problem(inside);
    return why;
}

static tc_status check_loop(builder *b, const nest *n, int pos, const tc_stmt *body) {
    const tc_loop_info *l = &b->s->loops[n->st->leaf[pos]];
    if (n->kind[pos] == TC_FOR_VECTOR) {
        const char *why = l->reduce ? "reduces" : body ? vector_body_problem(body) : NULL;
        if (why)
            return tc_fail(b->err, TC_ILLEGAL, "loop %s.%s is vectorized but %s%s; vectorize an innermost spatial loop",
                           n->st->name, l->name, l->reduce ? "" : "contains ", why);
    }
    if (n->kind[pos] == TC_FOR_PARALLEL && (l->reduce || b->in_parallel))
        return tc_fail(b->err, TC_ILLEGAL, "loop %s.%s is parallel but %s", n->st->name, l->name,
                       l->reduce ? "reduces: its iterations write the same elements" : "runs inside another parallel loop");
    return TC_OK;
}

/* The nest of a unit's loops does what the unit does, and the target has it. */
static tc_status check_unit(builder *b, const nest *n, const tc_loop_info *l, const tc_stmt *s) {
    const tc_intrinsic *u = l->unit;
    tir_unit_nest fits;
    tc_error why = {0};
    if (!tc_intrinsic_in(b->m->intrinsics, u))
        return tc_fail(b->err, TC_ILLEGAL, "tensorize %s.%s %s: the target has no %s", n->st->name, l->name, u->text, u->feature);
    const tc_intrinsic *wide = tc_intrinsic_of(b->m->intrinsics, u->acc, u->a, u->b);
    if (u->place == TC_UNIT_VECTOR && wide != u)
        return tc_fail(b->err, TC_ILLEGAL, "tensorize %s.%s %s: the target's vectors are wider; use %s", n->st->name, l->name,
                       u->text, wide->text);
    if (tir_match_unit(b->c, b->env, s, u, true, &fits, &why))
        return TC_OK;
    return tc_fail(b->err, TC_ILLEGAL, "tensorize %s.%s %s: %s", n->st->name, l->name, u->text, why.msg);
}

static tc_status emit_loop(builder *b, nest *n, int pos, const tc_stmt **out) {
    if (pos == n->st->nleaf) {
        *out = emit_store(b, n);
        return TC_OK;
    }
    bool parallel = n->kind[pos] == TC_FOR_PARALLEL && n->var[pos];
    const tc_stmt *s[2] = {NULL, NULL};
    if (n->reduces && pos == n->first_reduce)
        s[0] = emit_init(b, n);
    if (n->var[pos])
        TC_TRY(check_loop(b, n, pos, NULL));
    b->in_parallel |= parallel;
    TC_TRY(emit_attached(b, n, pos, 0, &s[1]));
    if (parallel)
        b->in_parallel = false;
    s[1] = wrap_guards(b, n, pos + 1, false, 0, NULL, NULL, s[1]);
    if (n->var[pos]) {
        TC_TRY(check_loop(b, n, pos, s[1]));
        const tc_loop_info *l = &b->s->loops[n->st->leaf[pos]];
        tc_stmt like = {.kind = TC_STMT_FOR, .u.loop = {.kind = n->kind[pos], .reduce = l->reduce, .unit = l->unit}};
        s[1] = tc_tir_for_like(b->c, &like, n->var[pos], tc_i64(b->c, b->loop_ext[n->st->leaf[pos]]), s[1]);
        if (l->unit)
            TC_TRY(check_unit(b, n, l, s[1]));
    }
    *out = tc_tir_seq(b->c, 2, s);
    return TC_OK;
}

/* pragma auto_unroll_max: from the innermost loop outwards, while the unrolled body stays within the limit and nothing is
 * attached. */
static void auto_unroll(builder *b, nest *n) {
    int64_t limit = tc_sch_pragma(n->st, TC_SCH_AUTO_UNROLL, 0), steps = 1;
    int lanes = b->m->vector_bytes / tc_dtype_bytes(n->st->op->out[0]->dtype);
    for (int pos = n->st->nleaf - 1; pos >= 0 && limit > 1; pos--) {
        for (int i = 0; i < b->s->nstage; i++)
            if (b->nests[i].live && b->nests[i].at_pos == pos && b->nests[i].st->at_stage == n->id)
                return;
        int64_t ext = b->loop_ext[n->st->leaf[pos]];
        if (n->kind[pos] == TC_FOR_PARALLEL)
            return;
        steps *= n->kind[pos] == TC_FOR_VECTOR ? (ext + lanes - 1) / TC_MAX(lanes, 1) : ext;
        if (steps > limit)
            return;
        if (n->kind[pos] == TC_FOR_SERIAL)
            n->kind[pos] = TC_FOR_UNROLL;
    }
}

static tc_status emit_stage(builder *b, nest *n, const tc_stmt **out) {
    if (n->st->nleaf > MAX_LIVE_SUBST)
        return tc_fail(b->err, TC_ILLEGAL, "stage %s has %d loops; at most %d are supported", n->st->name, n->st->nleaf,
                       MAX_LIVE_SUBST);
    auto_unroll(b, n);
    TC_TRY(emit_loop(b, n, 0, out));
    *out = wrap_guards(b, n, 0, false, 0, NULL, NULL, *out);
    return TC_OK;
}

/* Statements after unrolling and vectorising. */
static int64_t unrolled_size(const builder *b, const tc_stmt *s) {
    const tc_stmt *inside;
    int64_t n = s->kind == TC_STMT_STORE, lanes = TC_MAX(b->m->vector_bytes / 4, 1);
    for (int i = 0; (inside = tc_tir_child(s, i)); i++)
        n += unrolled_size(b, inside);
    if (s->kind != TC_STMT_FOR)
        return n;
    int64_t ext = s->u.loop.extent->op == TC_OP_INT ? s->u.loop.extent->u.i : 1;
    int64_t times = s->u.loop.kind == TC_FOR_UNROLL ? ext : s->u.loop.kind == TC_FOR_VECTOR ? (ext + lanes - 1) / lanes : 1;
    return TC_MIN(times, MAX_STATEMENTS + 1) * TC_MIN(n, MAX_STATEMENTS + 1);
}

/* All of a root stage, or its parts. */
static tc_status emit_root(builder *b, nest *n, const tc_stmt **out) {
    nest_part part[NEST_MAX_CUTS + 1];
    const tc_stmt *s[NEST_MAX_CUTS + 1];
    int count = nest_cuts(b, n, part);
    if (count == 0)
        return emit_stage(b, n, out);
    for (int i = 0; i < count; i++) {
        n->part = part[i];
        n->guards.len = n->facts.len = 0;
        n->within = 0;
        TC_TRY(nest_finish(b, n));
        TC_TRY(emit_stage(b, n, &s[i]));
    }
    *out = tc_tir_seq(b->c, count, s);
    return TC_OK;
}

/* Root stages from `from` on; each buffer lives from its first store to the end. */
static tc_status emit_from(builder *b, int from, const tc_stmt **out) {
    *out = NULL;
    while (from < b->s->nstage && !(b->nests[from].live && b->nests[from].st->attach == TC_ATTACH_ROOT))
        from++;
    if (from == b->s->nstage)
        return TC_OK;
    nest *n = &b->nests[from];
    for (int o = 0; o < n->st->op->nout; o++)
        if (!n->out[o].buffer)
            TC_TRY(new_stage_buffer(b, n, o));
    const tc_stmt *s[2];
    TC_TRY(emit_root(b, n, &s[0]));
    TC_TRY(emit_from(b, from + 1, &s[1]));
    *out = tc_tir_seq(b->c, 2, s);
    for (int o = 0; o < n->st->op->nout; o++)
        if (n->out[o].buffer->scope != TC_BUF_PARAM)
            *out = tc_tir_alloc(b->c, n->out[o].buffer, *out);
    return TC_OK;
}

tc_status emit_roots(builder *b, const tc_stmt **out) {
    TC_TRY(emit_from(b, 0, out));
    if (*out && unrolled_size(b, *out) > MAX_STATEMENTS)
        return tc_fail(b->err, TC_ILLEGAL, "unrolling makes more than %d statements; unroll fewer or shorter loops",
                       MAX_STATEMENTS);
    return TC_OK;
}
