/* Results in place: whether a kernel may write an output over an input that no later reader needs. It may if
 *
 *   - only stores to the output read the input, each at the index that it stores to, and
 *   - no element of the output is stored twice, or read.
 *
 * Then the last read of an element is in the store that replaces it, whatever the order and thread of the stores. Counting shows
 * that no element is stored twice: every element is stored, and there are as many stores as elements. Varying sizes need no
 * count. The one nest that computes an output without a reduction stores it once, and passes keep what is executed. */
#include "te/index/affine.h"
#include "tir_lower/passes/pass.h"
#include "tir_lower/program/program.h"

/* Steps of counting: loops are walked only where conditions or masks depend on their variables. */
enum { MOST_STEPS = 1 << 16 };

typedef struct overwrite {
    const tc_buffer *in, *out;
    tc_map index; /* by id of an expression: the only index at which `in` is read below, NONE, or MIXED */
    tc_env *env;
    int64_t steps;
    bool ok;
} overwrite;

static const tc_expr NONE, MIXED;

static const tc_expr *joined(const tc_expr *a, const tc_expr *b) {
    return a == &NONE ? b : b == &NONE || a == b ? a : &MIXED;
}

static const tc_expr *read_index(overwrite *o, const tc_expr *e) {
    if (!e || !e->nargs)
        return &NONE;
    uintptr_t *known = tc_map_get(&o->index, e->id);
    if (known)
        return (const tc_expr *)*known;
    const tc_expr *r = &NONE;
    for (int i = 0; i < e->nargs; i++)
        r = joined(r, read_index(o, e->args[i]));
    if (e->op == TC_OP_LOAD && e->u.buffer == o->in)
        r = joined(r, e->args[0]);
    if (e->op == TC_OP_LOAD && e->u.buffer == o->out)
        r = &MIXED;
    tc_map_put(&o->index, e->id, (uintptr_t)r);
    return r;
}

static bool reads_neither(overwrite *o, const tc_expr *e) {
    return read_index(o, e) == &NONE;
}

static bool store_is_plain(overwrite *o, const tc_stmt *s) {
    const tc_expr *read = read_index(o, s->u.store.value);
    bool fits = read == &NONE || (s->u.store.buffer == o->out && read == s->u.store.index);
    return fits && reads_neither(o, s->u.store.index) && reads_neither(o, s->u.store.mask);
}

/* The first condition, for every statement. */
static bool reads_plainly(overwrite *o, const tc_stmt *s) {
    const tc_expr *own[TC_TIR_MAX_EXPRS];
    const tc_stmt *inside;
    if (s->kind == TC_STMT_STORE)
        return store_is_plain(o, s);
    if (s->kind == TC_STMT_INTRIN && (s->u.intrin.memory == o->in || s->u.intrin.memory == o->out))
        return false;
    for (int i = tc_tir_exprs(s, own); i-- > 0;)
        if (!reads_neither(o, own[i]))
            return false;
    for (int i = 0; (inside = tc_tir_child(s, i)); i++)
        if (!reads_plainly(o, inside))
            return false;
    return true;
}

/* ---- counting stores ---- */

/* What decides how often something in s is stored; NULL: nothing does. */
static const tc_expr *deciding(const tc_stmt *s) {
    if (s->kind == TC_STMT_STORE)
        return s->u.store.mask;
    return s->kind == TC_STMT_FOR ? s->u.loop.extent : s->kind == TC_STMT_IF ? s->u.cond.cond : NULL;
}

/* How often something below is stored depends on v. */
static bool depends(const tc_stmt *s, const tc_var *v) {
    const tc_expr *by = deciding(s);
    const tc_stmt *inside;
    if (by && tc_expr_uses_var(by, v))
        return true;
    for (int i = 0; (inside = tc_tir_child(s, i)); i++)
        if (depends(inside, v))
            return true;
    return false;
}

static int64_t value_of(overwrite *o, const tc_expr *e) {
    tc_ival r = tc_te_bounds(e, o->env);
    o->ok &= r.lo == r.hi;
    return r.lo;
}

/* Lanes of `ramp < bcast`, the form that tails have, or all or none. */
static int64_t lanes_of(overwrite *o, const tc_expr *mask, int lanes) {
    int known = mask ? tc_te_decide(mask, o->env) : 1;
    if (known >= 0)
        return known ? lanes : 0;
    bool tail = mask->op == TC_OP_LT && mask->args[0]->op == TC_OP_RAMP && mask->args[1]->op == TC_OP_BCAST;
    o->ok &= tail;
    if (!tail)
        return 0;
    int64_t from = value_of(o, mask->args[0]->args[0]), step = value_of(o, mask->args[0]->args[1]), n = 0,
            end = value_of(o, mask->args[1]->args[0]);
    for (int l = 0; l < lanes && o->ok; l++)
        n += from + l * step < end;
    return n;
}

static int64_t count_stores(overwrite *o, const tc_stmt *s);

static int64_t count_loop(overwrite *o, const tc_stmt *s) {
    int64_t n = value_of(o, s->u.loop.extent), sum = 0;
    if (!o->ok || n <= 0)
        return 0;
    if (!depends(s->u.loop.body, s->u.loop.var)) {
        int64_t each = count_stores(o, s->u.loop.body);
        o->ok &= each <= o->out->size / n;
        return o->ok ? n * each : 0;
    }
    for (int64_t i = 0; i < n && o->ok; i++) {
        tc_env_set(o->env, s->u.loop.var, (tc_ival){i, i});
        sum += count_stores(o, s->u.loop.body);
    }
    return sum;
}

static int64_t count_arm(overwrite *o, const tc_stmt *s) {
    int holds = tc_te_decide(s->u.cond.cond, o->env);
    const tc_stmt *arm = holds ? s->u.cond.then : s->u.cond.otherwise;
    o->ok &= holds >= 0;
    return o->ok && arm ? count_stores(o, arm) : 0;
}

static int64_t count_stores(overwrite *o, const tc_stmt *s) {
    const tc_stmt *inside;
    int64_t sum = 0;
    o->ok &= ++o->steps < MOST_STEPS;
    if (!o->ok)
        return 0;
    if (s->kind == TC_STMT_FOR)
        return count_loop(o, s);
    if (s->kind == TC_STMT_IF)
        return count_arm(o, s);
    if (s->kind == TC_STMT_STORE)
        return s->u.store.buffer == o->out ? lanes_of(o, s->u.store.mask, s->u.store.index->lanes) : 0;
    for (int i = 0; (inside = tc_tir_child(s, i)); i++)
        sum += count_stores(o, inside);
    return sum;
}

/* As many elements, whatever the sizes are. */
static bool as_large(const tc_tensor *a, const tc_tensor *b) {
    bool same = a && b && a->ndim == b->ndim;
    for (int d = 0; same && d < a->ndim; d++) {
        const tc_var *x = a->symbol[d], *y = b->symbol[d];
        same = a->shape[d] == b->shape[d] && (x == y || (x && y && x->value && x->value == y->value));
    }
    return same;
}

static bool may_overwrite_varying(const tc_func *f, const tc_param *in, const tc_param *out) {
    overwrite o = {.in = in->buffer, .out = out->buffer, .ok = true};
    bool safe = f->workload && f->workload->out[out->index]->op->reducer == TC_RED_NONE &&
                as_large(in->buffer->tensor, out->buffer->tensor) && reads_plainly(&o, f->body);
    tc_map_free(&o.index);
    return safe;
}

bool tc_tir_may_overwrite(const tc_func *f, int out, int in) {
    const tc_param *a = &f->params[in], *b = &f->params[out];
    if (a->kind != TC_PARAM_IN || b->kind != TC_PARAM_OUT || a->buffer->dtype != b->buffer->dtype ||
        b->buffer->size > a->buffer->size || !f->body)
        return false;
    if (tc_tir_varies(a->buffer) || tc_tir_varies(b->buffer))
        return may_overwrite_varying(f, a, b);
    overwrite o = {.in = a->buffer, .out = b->buffer, .ok = true};
    bool safe = reads_plainly(&o, f->body);
    if (safe) {
        o.env = tc_env_new();
        safe = count_stores(&o, f->body) == b->buffer->size && o.ok;
        tc_env_free(o.env);
    }
    tc_map_free(&o.index);
    return safe;
}

tc_func *tc_tir_overwriting(tc_ctx *c, const tc_func *f, int out, int in) {
    tc_func *r = tir_with_body(c, f, f->body);
    tc_param *p = tc_arena_dup(tc_ctx_arena(c), f->params, sizeof *p * (size_t)f->nparam);
    p[out].overlaps = p[in].overlaps = true;
    r->params = p;
    return r;
}
