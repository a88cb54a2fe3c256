/* cache_read, cache_part and cache_write: another buffer between a producer and its consumers.
 *
 *   cache_read W D:    C[a, b] = W[a, b];  D = ... C[k, j] ...         C stands directly before its first consumer
 *   cache_part W D 1:  C[a, b] = W[a, b + 64];  D = ... W[k, i] * C[k, j] ...   of D = ... W[k, i] * W[k, j + 64] ...
 *   cache_write D:     L = what D computed;  D[i, j] = L[i, j]         L stands directly before D
 *
 * The buffer of cache_part is the hull of what the cached read reaches in all of D. So C is no larger than D's use of it.
 *
 * A new stage starts at root, where it is always legal. If its producer (or D) is attached at a loop, the new stage starts at
 * the same loop. */
#include "schedule_primitives/sch_int.h"
#include "te/index/affine.h"

/* What goes to a copy: all reads of a tensor, or one. */
typedef struct readers {
    const tc_tensor *from, *to;
    const tc_expr *only; /* NULL: all */
    const tc_ival *part; /* of `only`, by dimension */
    const tc_env *env;
} readers;

static const tc_expr *redirect_read(tc_ctx *c, const tc_expr *e, void *user) {
    const readers *r = user;
    if (e->op != TC_OP_READ || e->u.tensor != r->from || (r->only && e != r->only))
        return e;
    const tc_expr *idx[TC_MAX_DIMS];
    for (int d = 0; d < e->nargs; d++)
        idx[d] =
            r->only && r->part[d].lo ? tc_te_simplify(c, tc_sub(c, e->args[d], tc_i64(c, r->part[d].lo)), r->env) : e->args[d];
    return tc_read(c, r->to, e->nargs, idx);
}

static void redirect(tc_sched *s, int stage, readers *r) {
    const tc_compute *from = s->stages[stage].op;
    const tc_expr *body[TC_MAX_OUTS];
    for (int o = 0; o < from->nout; o++)
        body[o] = tc_expr_map(s->ctx, from->body[o], redirect_read, r);
    tc_sch_set_op(s, stage, tc_sch_with_body(s, from, body));
}

static void whole_of(const tc_tensor *t, tc_ival *part) {
    for (int d = 0; d < t->ndim; d++)
        part[d] = (tc_ival){0, t->shape[d] - 1};
}

/* name[axes] = the part of t. The axes are called as those of t's producer, or ax0, ax1, ... for an input. end: where axes of the
 * whole end, if t does not itself. */
static const tc_compute *copy_of(tc_sched *s, const char *name, const tc_tensor *t, const tc_ival *part, const tc_var *const *end,
                                 const tc_compute *producer) {
    tc_axis axes[TC_MAX_DIMS];
    const tc_expr *idx[TC_MAX_DIMS];
    for (int i = 0; i < t->ndim; i++) {
        char plain[16] = {'a', 'x', (char)('0' + i), 0};
        const char *axis = producer ? producer->axes[i].var->name : plain;
        int64_t n = part[i].hi - part[i].lo + 1;
        const tc_var *symbol = n < t->shape[i] ? NULL : t->symbol[i] ? t->symbol[i] : end[i];
        axes[i] = symbol ? tc_te_varying_axis(s->ctx, axis, symbol) : tc_te_axis(s->ctx, axis, n);
        idx[i] = tc_add(s->ctx, tc_varx(s->ctx, axes[i].var), tc_i64(s->ctx, part[i].lo));
    }
    const tc_expr *body = tc_read(s->ctx, t, t->ndim, idx);
    return tc_te_compute(s->ctx, name, t->ndim, axes, TC_RED_NONE, 0, NULL, 1, &body);
}

/* Consumers named by the step, or all; at least one. */
static tc_status find_readers(const tc_sched *s, const tc_instr *in, const tc_tensor *t, int *reader, int *n, tc_error *err) {
    *n = 0;
    for (int k = 1; k < in->nnames; k++) {
        int st;
        TC_TRY(tc_sch_stage_operand(s, in, k, &st, err));
        if (!tc_sch_reads_tensor(s, st, t))
            return REFUSE(err, in, "stage %s does not read %s", s->stages[st].name, t->name);
        reader[(*n)++] = st;
    }
    for (int st = 0; in->nnames == 1 && st < s->nstage; st++)
        if (s->stages[st].attach != TC_ATTACH_INLINE && tc_sch_reads_tensor(s, st, t) && *n < TC_SCH_MAX_NAMES)
            reader[(*n)++] = st;
    return *n ? TC_OK : REFUSE(err, in, "no stage reads %s", t->name);
}

/* Gives the new stage `st` the attach point of `like`, which stands after it if `like` is `st`'s consumer. */
static void attach_like(tc_stage *st, const tc_stage *like) {
    if (like->attach != TC_ATTACH_AT)
        return;
    st->attach = TC_ATTACH_AT;
    st->at_stage = like->at_stage;
    st->at_loop = like->at_loop;
}

/* Tensor W of the step, and the stage that makes it; -1: an input. */
static tc_status find_source(const tc_sched *s, const tc_instr *in, const tc_tensor **t, int *producer, tc_error *err) {
    TC_TRY(tc_sch_tensor_operand(s, in, 0, t, err));
    *producer = tc_sch_stage_of(s, *t);
    if (*producer >= 0 && s->stages[*producer].attach == TC_ATTACH_INLINE)
        return REFUSE(err, in, "stage %s is inlined and has no buffer to copy", (*t)->name);
    return TC_OK;
}

static const tc_compute *producer_op(const tc_sched *s, int producer) {
    return producer < 0 ? NULL : s->stages[producer].op;
}

/* The copy as a stage before stage `at`. */
static void insert_copy(tc_sched *s, const tc_instr *in, const tc_compute *copy, tc_scope scope, int at, int producer) {
    tc_stage *st = tc_sch_insert_stage(s, at, in->outs[0], copy);
    st->scope = scope;
    if (producer >= 0)
        attach_like(st, &s->stages[producer]);
}

/* Different reads of one tensor that can be told apart by number. */
enum { MAX_PLACES = 64 };

/* The size that e is an axis of, up to the most that it may be; NULL: it is something else. */
static const tc_var *walked(const tc_compute *op, const tc_expr *e, int64_t most) {
    for (int i = 0; i < op->naxis + op->nraxis; i++) {
        const tc_axis *a = i < op->naxis ? &op->axes[i] : &op->raxes[i - op->naxis];
        if (e->op == TC_OP_VAR && e->u.var == a->var)
            return a->symbol && a->symbol->most == most ? a->symbol : NULL;
    }
    return NULL;
}

/* A tensor may be larger than what is there of it: what its readers walk along dimension d up to one size alone, ends there. */
static const tc_var *end_of(const tc_sched *s, const tc_tensor *t, const int *reader, int n, int d) {
    const tc_expr *read[MAX_PLACES];
    const tc_var *end = NULL;
    for (int i = 0; i < n; i++) {
        const tc_compute *op = s->stages[reader[i]].op;
        int nread = tc_sch_reads_of(op, t, read, MAX_PLACES);
        for (int k = 0; k < nread; k++) {
            const tc_var *symbol = nread < MAX_PLACES ? walked(op, read[k]->args[d], t->shape[d]) : NULL;
            if (!symbol || (end && symbol != end))
                return NULL;
            end = symbol;
        }
    }
    return end;
}

tc_status tc_sch_do_cache_read(tc_sched *s, const tc_instr *in, tc_error *err) {
    const tc_tensor *t;
    int reader[TC_SCH_MAX_NAMES], n, at = s->nstage, producer;
    tc_scope scope;
    tc_ival whole[TC_MAX_DIMS];
    const tc_var *end[TC_MAX_DIMS];
    TC_TRY(find_source(s, in, &t, &producer, err));
    TC_TRY(tc_sch_scope_operand(in, &scope, err));
    TC_TRY(find_readers(s, in, t, reader, &n, err));
    TC_TRY(tc_sch_new_stage_name(s, in, in->outs[0], err));
    whole_of(t, whole);
    for (int d = 0; d < t->ndim; d++)
        end[d] = end_of(s, t, reader, n, d);
    const tc_compute *copy = copy_of(s, in->outs[0], t, whole, end, producer_op(s, producer));
    readers r = {.from = t, .to = copy->out[0]};
    for (int i = 0; i < n; i++) {
        redirect(s, reader[i], &r);
        at = TC_MIN(at, reader[i]);
    }
    insert_copy(s, in, copy, scope, at, producer);
    return TC_OK;
}

/* ---- parts ---- */

typedef struct read_list {
    const tc_tensor *t;
    const tc_expr **out;
    int n, cap;
} read_list;

static void list_read(const tc_expr *e, void *user) {
    read_list *l = user;
    if (e->op != TC_OP_READ || e->u.tensor != l->t || l->n == l->cap)
        return;
    for (int i = 0; i < l->n; i++)
        if (l->out[i] == e)
            return;
    l->out[l->n++] = e;
}

int tc_sch_reads_of(const tc_compute *op, const tc_tensor *t, const tc_expr **out, int cap) {
    read_list l = {.t = t, .out = out, .cap = cap};
    for (int o = 0; o < op->nout; o++)
        tc_expr_walk(op->body[o], list_read, &l);
    return l.n;
}

static tc_env *env_of(const tc_compute *op) {
    tc_env *env = tc_env_new();
    for (int i = 0; i < op->naxis; i++)
        tc_env_set(env, op->axes[i].var, (tc_ival){0, op->axes[i].extent - 1});
    for (int i = 0; i < op->nraxis; i++)
        tc_env_set(env, op->raxes[i].var, (tc_ival){0, op->raxes[i].extent - 1});
    return env;
}

/* Nothing outside of the tensor is ever wanted (padding is a select around the read). */
static void reach_in(const tc_env *env, const tc_expr *read, tc_ival *part) {
    whole_of(read->u.tensor, part);
    for (int d = 0; d < read->nargs; d++) {
        tc_ival v = tc_ival_meet(part[d], tc_te_bounds(read->args[d], env));
        if (v.lo <= v.hi)
            part[d] = v;
    }
}

bool tc_sch_reads_part(const tc_compute *op, const tc_expr *read) {
    const tc_tensor *t = read->u.tensor;
    tc_ival part[TC_MAX_DIMS];
    tc_env *env = env_of(op);
    reach_in(env, read, part);
    tc_env_free(env);
    for (int d = 0; d < t->ndim; d++)
        if (part[d].hi - part[d].lo + 1 < t->shape[d])
            return true;
    return false;
}

tc_status tc_sch_do_cache_part(tc_sched *s, const tc_instr *in, tc_error *err) {
    const tc_tensor *t;
    const tc_expr *read[MAX_PLACES];
    int stage, producer;
    int64_t number;
    tc_scope scope;
    tc_ival part[TC_MAX_DIMS];
    TC_TRY(find_source(s, in, &t, &producer, err));
    TC_TRY(tc_sch_stage_operand(s, in, 1, &stage, err));
    TC_TRY(tc_sch_scope_operand(in, &scope, err));
    TC_TRY(tc_sch_int_operand(s, in, 0, &number, err));
    const tc_compute *op = s->stages[stage].op;
    int n = tc_sch_reads_of(op, t, read, MAX_PLACES);
    if (n == 0)
        return REFUSE(err, in, "stage %s does not read %s", s->stages[stage].name, t->name);
    if (number < 0 || number >= n)
        return REFUSE(err, in, "stage %s has %d different reads of %s, numbered from 0: there is no number %lld",
                      s->stages[stage].name, n, t->name, (long long)number);
    TC_TRY(tc_sch_new_stage_name(s, in, in->outs[0], err));
    tc_env *env = env_of(op);
    reach_in(env, read[number], part);
    for (int d = 0; d < t->ndim; d++)
        if (t->symbol[d] && part[d].hi - part[d].lo + 1 < t->shape[d] && part[d].hi >= t->symbol[d]->least) {
            tc_env_free(env);
            return REFUSE(
                err, in,
                "stage %s reads a part of dimension %d of %s; the size of that dimension varies and can be less than the part",
                s->stages[stage].name, d, t->name);
        }
    const tc_compute *copy = copy_of(s, in->outs[0], t, part, (const tc_var *[TC_MAX_DIMS]){0}, producer_op(s, producer));
    redirect(s, stage, &(readers){.from = t, .to = copy->out[0], .only = read[number], .part = part, .env = env});
    tc_env_free(env);
    insert_copy(s, in, copy, scope, stage, producer);
    return TC_OK;
}

/* ---- cache_write ---- */

/* The stage's loops must be as they were made: its compute, and with it the meaning of its loops, goes to the new stage. */
static tc_status check_fresh(const tc_sched *s, const tc_instr *in, int stage, tc_error *err) {
    const tc_stage *st = &s->stages[stage];
    if (st->nrel)
        return REFUSE(err, in, "stage %s has been split or fused; use cache_write before shaping its loops", st->name);
    for (int i = 0; i < st->nleaf; i++)
        if (s->loops[st->leaf[i]].kind != TC_FOR_SERIAL)
            return REFUSE(err, in, "loop %s.%s is annotated; use cache_write before shaping the loops", st->name,
                          s->loops[st->leaf[i]].name);
    int inside = tc_sch_attached_in(s, stage, -1);
    if (inside >= 0)
        return REFUSE(err, in, "stage %s is attached inside %s; use cache_write before attaching", s->stages[inside].name,
                      st->name);
    return TC_OK;
}

/* Turns stage `d` into a copy of tensor `l`. It keeps its buffer and the loops of its axes, in their order; those of its
 * reduction go. */
static void become_copy(tc_sched *s, int d, const tc_tensor *l) {
    tc_stage *st = &s->stages[d];
    tc_compute *to = tc_arena_dup(tc_ctx_arena(s->ctx), st->op, sizeof *to);
    tc_axis *axes = TC_NEW_N(tc_ctx_arena(s->ctx), tc_axis, st->op->naxis);
    const tc_expr *idx[TC_MAX_DIMS];
    for (int i = 0; i < to->naxis; i++) {
        axes[i] = tc_te_axis_like(s->ctx, st->op->axes[i].var->name, &st->op->axes[i]);
        idx[i] = tc_varx(s->ctx, axes[i].var);
    }
    to->id = tc_ctx_next_id(s->ctx);
    to->axes = axes;
    to->nraxis = 0;
    to->reducer = TC_RED_NONE;
    to->body[0] = tc_read(s->ctx, l, to->naxis, idx);
    tc_sch_set_op(s, d, to);
    int kept = 0;
    for (int i = 0; i < st->nleaf; i++) {
        if (s->loops[st->leaf[i]].reduce)
            s->loops[st->leaf[i]].stage = -1;
        else
            st->leaf[kept++] = st->leaf[i];
    }
    st->nleaf = kept;
    st->nroot = to->naxis;
}

tc_status tc_sch_do_cache_write(tc_sched *s, const tc_instr *in, tc_error *err) {
    int d;
    tc_scope scope;
    TC_TRY(tc_sch_stage_operand(s, in, 0, &d, err));
    TC_TRY(tc_sch_scope_operand(in, &scope, err));
    TC_TRY(tc_sch_new_stage_name(s, in, in->outs[0], err));
    const tc_compute *op = s->stages[d].op;
    if (op->nout != 1)
        return REFUSE(err, in, "stage %s has two outputs; a copy has one", s->stages[d].name);
    TC_TRY(check_fresh(s, in, d, err));
    const tc_compute *inner =
        tc_te_compute(s->ctx, in->outs[0], op->naxis, op->axes, op->reducer, op->nraxis, op->raxes, 1, op->body);
    tc_stage *st = tc_sch_insert_stage(s, d, in->outs[0], inner);
    st->scope = scope;
    become_copy(s, d + 1, inner->out[0]);
    attach_like(&s->stages[d], &s->stages[d + 1]);
    return TC_OK;
}
