/* Bounds of the values of tensors, and the check that every read stays inside its tensor. A read in an arm of a select happens
 * only if the condition chooses the arm. So the condition's comparisons narrow the index there. An index may depend on data
 * (gather). It is checked as far as the data's range is known; the interpreter checks the rest at run time. */
#include "te/te_int.h"

#include <stdlib.h>

#include "support/map.h"
#include "te/index/prove.h"

/* ---- ranges of values ---- */

/* Range of the elements of computed tensors, inferred from their bodies once each; of one placeholder it may be given. */
typedef struct value_ranges {
    tc_ctx *c;
    tc_env *env;  /* extents and sizes of the axes of what is looked at */
    tc_map known; /* tensor id -> index into ranges */
    TC_VEC(tc_ival) ranges;
    const tc_tensor *given;
    tc_ival given_range;
} value_ranges;

static tc_ival of_tensor(value_ranges *v, const tc_tensor *t);

/* An axis is less than a size that varies. */
static const tc_expr *within_size(tc_ctx *c, const tc_axis *a) {
    return tc_bin(c, TC_OP_LT, tc_varx(c, a->var), tc_varx(c, a->symbol));
}

void te_know_axes(tc_env *env, tc_ctx *c, const tc_axis *axes, int n) {
    for (int i = 0; i < n; i++) {
        tc_env_set(env, axes[i].var, (tc_ival){0, axes[i].extent - 1});
        if (axes[i].symbol)
            tc_env_assume(env, within_size(c, &axes[i]));
    }
}

/* Undo with the mark. */
static size_t enter(tc_env *env, tc_ctx *c, const tc_compute *op) {
    size_t mark = tc_env_mark(env);
    te_know_axes(env, c, op->axes, op->naxis);
    te_know_axes(env, c, op->raxes, op->nraxis);
    return mark;
}

static tc_ival of_read(void *user, const tc_expr *read, te_ranges *unused) {
    (void)unused;
    return of_tensor(user, read->u.tensor);
}

/* The result is then where the reducer starts. */
static bool may_reduce_nothing(const tc_compute *op) {
    for (int i = 0; i < op->nraxis; i++)
        if ((op->raxes[i].symbol ? op->raxes[i].symbol->least : op->raxes[i].extent) == 0)
            return true;
    return false;
}

static tc_ival infer(value_ranges *v, const tc_tensor *t) {
    if (t == v->given)
        return v->given_range;
    if (!t->op || tc_dtype_is_float(t->dtype) || (t->op->reducer != TC_RED_NONE && !te_reducer_chooses(t->op->reducer)) ||
        may_reduce_nothing(t->op))
        return TC_IVAL_ALL;
    te_ranges r;
    size_t mark = enter(v->env, v->c, t->op);
    te_ranges_init(&r, v->env);
    r.read_range = of_read;
    r.user = v;
    tc_ival all = te_range(&r, t->op->body[t->out]); /* max, min and the index of arg reducers are among the values reduced */
    tc_env_undo(v->env, mark);
    return all;
}

static tc_ival of_tensor(value_ranges *v, const tc_tensor *t) {
    const uintptr_t *at = tc_map_get(&v->known, t->id);
    if (at)
        return v->ranges.data[*at];
    tc_ival r = infer(v, t);
    tc_map_put(&v->known, t->id, v->ranges.len);
    tc_push(&v->ranges, r);
    return r;
}

static void value_ranges_open(value_ranges *v, const tc_workload *w, tc_env *env) {
    *v = (value_ranges){.c = w->ctx, .env = env};
    for (int i = 0; i < w->ncompute; i++) /* producers first: the recursion of infer stays flat */
        for (int o = 0; o < w->computes[i]->nout; o++)
            of_tensor(v, w->computes[i]->out[o]);
}

static void value_ranges_close(value_ranges *v) {
    tc_map_free(&v->known);
    tc_vec_free(&v->ranges);
}

/* ---- walking the reads ---- */

enum { MAX_SCOPES = 8 };

static bool scan(te_scan *s, const tc_expr *e, te_ranges *r);

/* What was seen elsewhere is looked at again here, where more is known, and what is seen here again elsewhere. */
static bool scan_arm(te_scan *s, const tc_expr *select, int arm, te_ranges *r) {
    te_ranges under;
    te_memo here, *elsewhere = s->seen;
    te_ranges_under(&under, r, select->args[0], arm == 2);
    te_memo_init(&here);
    s->seen = &here;
    tc_push(&s->known, ((tc_known_cond){select->args[0], arm == 1}));
    bool go_on = scan(s, select->args[arm], under.nfact && under.depth < MAX_SCOPES ? &under : r);
    s->known.len--;
    s->seen = elsewhere;
    te_memo_free(&here);
    return go_on;
}

static bool scan(te_scan *s, const tc_expr *e, te_ranges *r) {
    if (!e->nargs && e->op != TC_OP_READ)
        return true;
    if (!te_memo_put(s->seen, e->id, e))
        return true;
    if (e->op == TC_OP_SELECT) {
        if (!scan(s, e->args[0], r))
            return false;
        int known = te_decide(r, e->args[0]); /* the other arm is never taken */
        return (known == 0 || scan_arm(s, e, 1, r)) && (known == 1 || scan_arm(s, e, 2, r));
    }
    for (int i = 0; i < e->nargs; i++)
        if (!scan(s, e->args[i], r))
            return false;
    return e->op != TC_OP_READ || s->visit(s, e, r);
}

bool te_scan_reads(te_scan *s, int n, const tc_expr *const *body, te_ranges *r) {
    bool go_on = true;
    te_memo seen;
    te_memo_init(&seen);
    s->seen = &seen;
    for (int o = 0; o < n && go_on; o++)
        go_on = scan(s, body[o], r);
    te_memo_free(&seen);
    return go_on;
}

/* Nothing is computed, or nothing is reduced. */
static bool is_empty(const tc_compute *op) {
    for (int i = 0; i < op->naxis + op->nraxis; i++)
        if (te_axis_of(op, i)->extent == 0)
            return true;
    return false;
}

void te_scan_know(te_scan *s, tc_ctx *c, const tc_axis *axes, int n) {
    for (int i = 0; i < n; i++)
        if (axes[i].symbol)
            tc_push(&s->known, ((tc_known_cond){within_size(c, &axes[i]), true}));
}

static bool says(const tc_expr *cond, const tc_expr *what) {
    return cond == what || (cond->op == TC_OP_AND && (says(cond->args[0], what) || says(cond->args[1], what)));
}

/* An index that is read from memory is the same in a condition around it, as nothing that a kernel reads so changes meanwhile.
 * Conditions are simplified. */
static bool is_said_below(const te_scan *s, tc_ctx *c, const tc_env *env, const tc_expr *index, const tc_expr *size) {
    const tc_expr *below = tc_bin(c, TC_OP_LT, index, size), *simple = s->known.len ? tc_te_simplify(c, below, env) : below;
    for (size_t i = 0; i < s->known.len; i++)
        if (s->known.data[i].holds && (says(s->known.data[i].cond, below) || says(s->known.data[i].cond, simple)))
            return true;
    return false;
}

bool te_scan_below(te_scan *s, tc_ctx *c, te_ranges *r, const tc_expr *index, const tc_expr *size) {
    enum { MAX_AXES = 2 * TC_MAX_DIMS };
    const tc_var *axes[MAX_AXES];
    int n = s->op->naxis + s->op->nraxis;
    if (tc_expr_touches_memory(index)) /* any number, unless a condition says so, or the lesser one is taken of it and another */
        return is_said_below(s, c, r->env, index, size) ||
               (index->op == TC_OP_MIN &&
                (te_scan_below(s, c, r, index->args[0], size) || te_scan_below(s, c, r, index->args[1], size)));
    if (n > MAX_AXES)
        return false;
    for (int i = 0; i < n; i++)
        axes[i] = te_axis_of(s->op, i)->var;
    const tc_premises p = {c, r->env, s->known.len, s->known.data, (size_t)n, axes, NULL, s->work, NULL};
    return tc_te_below(&p, index, size);
}

static bool scan_workload(te_scan *s, const tc_workload *w, value_ranges *v) {
    bool go_on = true;
    for (int i = 0; i < w->ncompute && go_on; i++) {
        s->op = w->computes[i];
        if (is_empty(s->op))
            continue;
        te_ranges r;
        size_t mark = enter(v->env, w->ctx, s->op);
        s->known.len = 0;
        te_scan_know(s, w->ctx, s->op->axes, s->op->naxis);
        te_scan_know(s, w->ctx, s->op->raxes, s->op->nraxis);
        te_ranges_init(&r, v->env);
        r.read_range = of_read;
        r.user = v;
        go_on = te_scan_reads(s, s->op->nout, s->op->body, &r);
        tc_env_undo(v->env, mark);
    }
    tc_vec_free(&s->known);
    return go_on;
}

/* ---- the check ---- */

typedef struct access_check {
    tc_ctx *c;
    tc_error *err;
    tc_status status;
} access_check;

static void print_ival(tc_strbuf *b, tc_ival v) {
    if (v.lo == TC_NINF)
        tc_sb_add(b, "anything");
    else
        tc_sb_printf(b, "%lld", (long long)v.lo);
    if (v.hi != v.lo)
        v.hi == TC_INF ? tc_sb_add(b, " and up") : tc_sb_printf(b, "..%lld", (long long)v.hi);
}

/* Index d of a read, whose range is v, is in [0, size of the tensor there), whatever that is. */
static bool below_size(access_check *k, te_scan *s, const tc_expr *read, int d, tc_ival v, te_ranges *r) {
    const tc_tensor *t = read->u.tensor;
    const tc_expr *size = t->symbol[d] ? tc_varx(k->c, t->symbol[d]) : tc_i64(k->c, t->shape[d]);
    if (v.lo >= 0 && v.hi < t->shape[d] && (!t->symbol[d] || te_range(r, tc_sub(k->c, read->args[d], size)).hi < 0))
        return true;
    return te_scan_below(s, k->c, r, read->args[d], size);
}

static tc_status fail_without_budget(const access_check *k, const te_scan *s, const char *read, int d) {
    return tc_fail(k->err, TC_BAD_INPUT,
                   "compute %s: %s: no proof shows that index %d is within its extent, as the proofs of a workload have %d steps "
                   "in all; split the workload into several, or simplify its indices",
                   s->op->name, read, d, TC_PROOF_WORK);
}

static tc_status fail_beyond_size(const access_check *k, const te_scan *s, const tc_expr *read, int d) {
    const tc_tensor *t = read->u.tensor;
    tc_strbuf b = {0};
    tc_expr_print(&b, read);
    tc_status st =
        *s->work <= 0
            ? fail_without_budget(k, s, tc_sb_str(&b), d)
            : tc_fail(k->err, TC_BAD_INPUT,
                      "compute %s: %s may be out of bounds: index %d may reach %s, the extent of %s there; guard it with "
                      "select(condition, ...)",
                      s->op->name, tc_sb_str(&b), d, t->symbol[d]->name, t->name);
    tc_strbuf_free(&b);
    return st;
}

static bool check_read(te_scan *s, const tc_expr *read, te_ranges *r) {
    access_check *k = s->user;
    const tc_tensor *t = read->u.tensor;
    for (int d = 0; d < t->ndim; d++) {
        tc_ival v = te_range(r, read->args[d]);
        bool inside = below_size(k, s, read, d, v, r), outside = v.hi < 0 || v.lo >= t->shape[d];
        if (inside || (!outside && tc_expr_touches_memory(read->args[d])))
            continue;
        if (v.lo >= 0 && v.hi < t->shape[d]) {
            k->status = fail_beyond_size(k, s, read, d);
            return false;
        }
        tc_strbuf b = {0};
        tc_sb_printf(&b, "compute %s: ", s->op->name);
        tc_expr_print(&b, read);
        tc_sb_printf(&b, " is out of bounds: index %d runs over ", d);
        print_ival(&b, v);
        tc_sb_printf(&b, ", but %s has extent %lld there; guard it with select(condition, ...)", t->name, (long long)t->shape[d]);
        k->status = tc_fail(k->err, TC_BAD_INPUT, "%s", tc_sb_str(&b));
        tc_strbuf_free(&b);
        return false;
    }
    return true;
}

tc_status te_check_accesses(const tc_workload *w, const tc_compute **culprit, tc_error *err) {
    access_check k = {.c = w->ctx, .err = err, .status = TC_OK};
    int64_t work = TC_PROOF_WORK;
    te_scan s = {.visit = check_read, .user = &k, .work = &work};
    tc_env *env = tc_env_new();
    value_ranges v;
    value_ranges_open(&v, w, env);
    if (!scan_workload(&s, w, &v) && culprit)
        *culprit = s.op;
    value_ranges_close(&v);
    tc_env_free(env);
    return k.status;
}

/* ---- how large an index may be ---- */

typedef struct limit_check {
    const tc_tensor *input;
    bool used; /* some index depends on the input */
    bool safe;
    const tc_map *depends; /* ids of tensors whose values depend on the input */
} limit_check;

static void note_dependence(const tc_expr *e, void *user) {
    limit_check *k = user;
    if (e->op == TC_OP_READ && tc_map_get(k->depends, e->u.tensor->id))
        k->used = true;
}

static bool check_limit(te_scan *s, const tc_expr *read, te_ranges *r) {
    limit_check *k = s->user;
    for (int d = 0; d < read->nargs; d++) {
        bool before = k->used;
        k->used = false;
        tc_expr_walk(read->args[d], note_dependence, k);
        if (k->used) {
            tc_ival v = te_range(r, read->args[d]);
            k->safe &= v.lo >= 0 && v.hi < tc_tensor_least(read->u.tensor, d);
        }
        k->used |= before;
    }
    return true;
}

/* With values of the input in [0, limit): is every index that depends on it in bounds? */
static limit_check try_limit(const tc_workload *w, tc_env *env, const tc_tensor *input, const tc_map *depends, int64_t limit) {
    limit_check k = {.input = input, .safe = true, .depends = depends};
    te_scan s = {.visit = check_limit, .user = &k}; /* which proves nothing */
    value_ranges v = {.c = w->ctx, .env = env, .given = input, .given_range = {0, limit - 1}};
    for (int i = 0; i < w->ncompute; i++)
        for (int o = 0; o < w->computes[i]->nout; o++)
            of_tensor(&v, w->computes[i]->out[o]);
    scan_workload(&s, w, &v);
    value_ranges_close(&v);
    return k;
}

static void dependents(const tc_workload *w, const tc_tensor *input, tc_map *depends) {
    tc_map_put(depends, input->id, 1);
    for (int i = 0; i < w->ncompute; i++)
        for (int o = 0; o < w->computes[i]->nout; o++) {
            limit_check k = {.depends = depends};
            tc_expr_walk(w->computes[i]->body[o], note_dependence, &k);
            if (k.used)
                tc_map_put(depends, w->computes[i]->out[o]->id, 1);
        }
}

int64_t tc_te_index_limit(const tc_workload *w, int in) {
    const tc_tensor *input = w->in[in];
    if (tc_dtype_is_float(input->dtype))
        return 0;
    tc_env *env = tc_env_new();
    tc_map depends = {0};
    dependents(w, input, &depends);
    /* Smallest limit, and the largest that is tried: of the type, or where indices are clamped before use. */
    int64_t low = 1, high = TC_MIN((int64_t)1 << 40, tc_int_max(input->dtype));
    limit_check k = try_limit(w, env, input, &depends, low);
    if (k.used && try_limit(w, env, input, &depends, high).safe)
        low = high;
    while (k.used && high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        *(try_limit(w, env, input, &depends, middle).safe ? &low : &high) = middle;
    }
    tc_map_free(&depends);
    tc_env_free(env);
    return k.used ? low : 0;
}
