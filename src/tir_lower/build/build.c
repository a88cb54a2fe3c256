/* From a schedule to an annotated loop nest: the driver. It visits consumers before producers. So it knows the accesses to a
 * producer in loop variables (bounds.c) before it visits the producer. Then it makes the statements (emit.c). */
#include <ctype.h>
#include <string.h>

#include "support/inputs.h"
#include "tir_lower/build/build.h"
#include "tir_lower/build/build_int.h"

static const int64_t MAX_WORKSPACE = (int64_t)1 << 30; /* bytes; larger intermediates would swamp the memory bandwidth anyway */

int stage_of_tensor(const builder *b, const tc_tensor *t, int *out) {
    *out = t->out;
    for (int i = 0; i < b->s->nstage; i++) {
        const tc_compute *op = b->s->stages[i].op;
        for (int o = 0; o < op->nout; o++)
            if (op->out[o] == t)
                return i;
    }
    return t->op ? tc_sch_stage_of(b->s, t) : -1;
}

const storage *find_storage(builder *b, const tc_tensor *t) {
    int o, st = stage_of_tensor(b, t, &o);
    if (st >= 0)
        return &b->nests[st].out[o];
    for (size_t i = 0; i < b->inputs.len; i++)
        if (b->inputs.data[i].tensor == t)
            return &b->inputs.data[i].at;
    return NULL;
}

/* x * scale, term by term: the stride of each loop is then seen. */
static const tc_expr *scaled(builder *b, const tc_expr *x, const tc_expr *scale) {
    tc_affine a, sum = {0};
    if (!tc_te_affine(b->c, x, b->env, &a))
        return tir_scaled(b->c, x, scale);
    tc_affine_linear(&sum, scale, a.c);
    for (int i = 0; i < a.n; i++)
        tc_affine_linear(&sum, tir_scaled(b->c, a.term[i].atom, scale), a.term[i].coef);
    return tc_te_from_affine(b->c, &sum);
}

/* In a dense array of sizes that vary, from the outermost dimension inwards: i / S * S + i % S is i before anything is made of
 * it. */
static const tc_expr *dense_index(builder *b, const tc_tensor *t, const tc_expr *const *local) {
    const tc_expr *sum = tc_i64(b->c, 0);
    for (int d = 0; d < t->ndim; d++) {
        const tc_expr *size = t->symbol[d] ? tir_symbol(b->c, t->symbol[d]) : tc_i64(b->c, t->shape[d]);
        sum = tc_te_simplify(b->c, tc_add(b->c, scaled(b, sum, size), local[d]), b->env);
    }
    return sum;
}

const tc_expr *flat_index(builder *b, const storage *at, const tc_expr *const *local, int ndim) {
    tc_ctx *c = b->c;
    if (tc_tir_varies(at->buffer))
        return dense_index(b, at->buffer->tensor, local);
    const tc_expr *sum = NULL;
    for (int k = 0; k < at->nphys; k++) {
        const tc_expr *x = at->layout ? tc_expr_subst(c, at->layout->to[k], ndim, at->layout->var, local) : local[k];
        if (at->stride[k] != 1)
            x = tc_mul(c, x, tc_i64(c, at->stride[k]));
        sum = sum ? tc_add(c, sum, x) : x;
    }
    return sum ? tc_te_simplify(c, sum, b->env) : tc_i64(c, 0);
}

static int64_t mul_sat(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_mul_overflow(a, b, &r) ? INT64_MAX / 2 : r;
}

static int64_t round_up(int64_t a, int64_t to) {
    return (a + to - 1) / to * to;
}

void tir_layout_extents(const tc_layout *l, const int64_t *shape, int64_t *out) {
    tc_env *env = tc_env_new();
    for (int i = 0; i < l->nin; i++)
        tc_env_set(env, l->var[i], (tc_ival){0, shape[i] - 1});
    for (int k = 0; k < l->nout; k++)
        out[k] = tc_te_bounds(l->to[k], env).hi + 1;
    tc_env_free(env);
}

static int64_t next_pow2(int64_t x) {
    int64_t p = 1;
    while (p < x)
        p *= 2;
    return p;
}

/* Padding of the innermost physical extent of a local, vectorised buffer: each of its vectors is then one aligned slot. */
static int64_t local_row(const builder *b, const nest *n, tc_dtype t, int64_t ext) {
    bool vector = false;
    for (int i = 0; i < n->st->nleaf; i++)
        vector |= n->kind[i] == TC_FOR_VECTOR && n->var[i];
    int64_t lanes = b->m->vector_bytes / tc_dtype_bytes(t);
    if (n->st->scope != TC_SCOPE_LOCAL || n->at_pos < 0 || !vector || ext <= 1 || lanes <= 1)
        return ext;
    return round_up(ext, TC_MIN(lanes, next_pow2(ext)));
}

/* Strides and size of output `o` of n; `phys` gets the physical extents. */
static int64_t plan_storage(builder *b, nest *n, int o) {
    const tc_stage *st = n->st;
    storage *at = &n->out[o];
    int64_t phys[TC_MAX_DIMS];
    at->layout = st->layout;
    at->min = st->attach == TC_ATTACH_AT ? n->min : NULL;
    at->nphys = st->layout ? st->layout->nout : n->naxis;
    if (st->layout)
        tir_layout_extents(st->layout, n->ext, phys);
    else
        memcpy(phys, n->ext, sizeof *phys * (size_t)n->naxis);
    int64_t stride = 1;
    for (int k = at->nphys - 1; k >= 0; k--) {
        if (st->align_dim == k && st->align_factor > 1)
            stride = round_up(stride, st->align_factor);
        at->stride[k] = stride;
        int64_t ext = k == at->nphys - 1 ? local_row(b, n, st->op->out[o]->dtype, phys[k]) : phys[k];
        stride = mul_sat(stride, ext);
    }
    return stride;
}

/* A name that the text form can hold and that no other buffer of the function has. */
static const char *unique_name(builder *b, const char *want) {
    tc_arena *a = tc_ctx_arena(b->c);
    char *name = tc_arena_strdup(a, *want ? want : "t");
    for (char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_')
            *p = '_';
    if (isdigit((unsigned char)*name))
        *name = '_';
    const char *base = name;
    for (int k = 1, i = 0; i < b->nbuffer; i++)
        if (strcmp(b->used_names[i], name) == 0) {
            name = tc_arena_printf(a, "%s_%d", base, k++);
            i = -1;
        }
    b->used_names[b->nbuffer++] = name;
    return name;
}

tc_status new_stage_buffer(builder *b, nest *n, int o) {
    const tc_tensor *t = n->st->op->out[o];
    int64_t size = plan_storage(b, n, o);
    b->bytes += mul_sat(size, tc_dtype_bytes(t->dtype));
    if (size > MAX_WORKSPACE || b->bytes > MAX_WORKSPACE)
        return tc_fail(b->err, TC_ILLEGAL, "the workspace is larger than %lld bytes (stage %s)", (long long)MAX_WORKSPACE,
                       n->st->name);
    tc_buf_scope scope = b->in_parallel ? TC_BUF_THREAD : TC_BUF_SHARED;
    tc_buffer *buf = (tc_buffer *)tc_tir_buffer(b->c, unique_name(b, t->name), t->dtype, size, scope, t);
    buf->local = n->st->scope == TC_SCOPE_LOCAL && n->at_pos >= 0;
    n->out[o].buffer = buf;
    return TC_OK;
}

/* Dense, as the caller has it. */
static void row_major(storage *at, const tc_tensor *t) {
    int64_t stride = 1;
    at->nphys = t->ndim;
    for (int k = t->ndim - 1; k >= 0; k--) {
        at->stride[k] = stride;
        stride *= t->shape[k];
    }
}

/* ---- parameters ---- */

static const tc_buffer *param_buffer(builder *b, const tc_tensor *t, int index, bool ours) {
    tc_buffer *f = (tc_buffer *)tc_tir_buffer(b->c, unique_name(b, t->name), t->dtype, tc_tensor_size(t), TC_BUF_PARAM, t);
    f->param = index;
    if (!ours)
        f->align = tc_dtype_bytes(t->dtype); /* callers' arrays promise no more */
    return f;
}

static const tc_packed *packed_of(const tc_sched *s, const tc_tensor *t) {
    for (int i = 0; i < s->npacked; i++)
        if (s->packed[i].original == t)
            return &s->packed[i];
    return NULL;
}

static void input_param(builder *b, int i, tc_param *p) {
    const tc_tensor *t = b->s->workload->in[i];
    const tc_packed *packed = packed_of(b->s, t);
    if (packed)
        *p = (tc_param){.kind = TC_PARAM_PACKED, .index = i, .layout = packed->layout, .ahead = packed->ahead};
    else
        *p = (tc_param){.kind = TC_PARAM_IN, .index = i};
    input_slot slot = {.tensor = packed ? packed->packed : t};
    p->buffer = param_buffer(b, slot.tensor, i, packed != NULL);
    slot.at.buffer = p->buffer;
    row_major(&slot.at, slot.tensor);
    tc_push(&b->inputs, slot);
}

/* The stage and output that the workload's output `t` became; cache_write and layout changes replace computes, not names. */
static nest *find_output(builder *b, const tc_tensor *t, int *o) {
    int st = stage_of_tensor(b, t, o);
    if (st >= 0 && b->s->stages[st].is_output)
        return &b->nests[st];
    for (st = 0; st < b->s->nstage; st++)
        for (*o = 0; b->s->stages[st].is_output && *o < b->s->stages[st].op->nout; ++*o)
            if (strcmp(b->s->stages[st].op->out[*o]->name, t->name) == 0)
                return &b->nests[st];
    return NULL;
}

static tc_status output_param(builder *b, int i, tc_param *p) {
    const tc_tensor *t = b->s->workload->out[i];
    int o;
    nest *n = find_output(b, t, &o);
    if (!n)
        return tc_fail(b->err, TC_ILLEGAL, "no stage computes the output %s", t->name);
    if (n->st->layout || n->st->align_dim >= 0)
        return tc_fail(b->err, TC_ILLEGAL, "stage %s is an output: its storage cannot be changed", n->st->name);
    *p = (tc_param){.kind = TC_PARAM_OUT, .index = i, .buffer = param_buffer(b, t, b->s->workload->nin + i, false)};
    n->out[o].buffer = p->buffer;
    row_major(&n->out[o], t);
    return TC_OK;
}

static tc_status make_params(builder *b, tc_func *f) {
    const tc_workload *w = b->s->workload;
    tc_param *p = TC_NEW_N(tc_ctx_arena(b->c), tc_param, w->nin + w->nout);
    for (int i = 0; i < w->nin; i++)
        input_param(b, i, &p[i]);
    for (int i = 0; i < w->nout; i++)
        TC_TRY(output_param(b, i, &p[w->nin + i]));
    f->nparam = w->nin + w->nout;
    f->params = p;
    return TC_OK;
}

/* ---- stages ---- */

static tc_status place_stage(builder *b, nest *n) {
    n->at_pos = -1;
    if (n->st->attach != TC_ATTACH_AT)
        return TC_OK;
    const tc_stage *at = &b->s->stages[n->st->at_stage];
    if (n->st->is_output)
        return tc_fail(b->err, TC_ILLEGAL, "stage %s is an output and must be computed at root", n->st->name);
    if (n->st->at_stage <= n->id || at->attach == TC_ATTACH_INLINE)
        return tc_fail(b->err, TC_ILLEGAL, "stage %s is computed at %s, which is not a later stage with loops", n->st->name,
                       at->name);
    for (int i = 0; i < at->nleaf; i++)
        if (at->leaf[i] == n->st->at_loop)
            n->at_pos = i;
    if (n->at_pos < 0)
        return tc_fail(b->err, TC_ILLEGAL, "stage %s is computed at %s.%s, which is no longer a loop of the nest", n->st->name,
                       at->name, b->s->loops[n->st->at_loop].name);
    return TC_OK;
}

static void init_nest(builder *b, int id) {
    nest *n = &b->nests[id];
    tc_arena *a = tc_ctx_arena(b->c);
    n->id = id;
    n->st = &b->s->stages[id];
    n->naxis = n->st->op->naxis;
    n->nroot = n->st->nroot;
    n->min = TC_NEW_N(a, const tc_expr *, n->nroot);
    n->ext = TC_NEW_N(a, int64_t, n->nroot);
    n->local = TC_NEW_N(a, const tc_expr *, n->nroot);
    n->value = TC_NEW_N(a, const tc_expr *, n->nroot);
    n->var = TC_NEW_N(a, const tc_var *, n->st->nleaf);
    n->kind = TC_NEW_N(a, tc_for_kind, n->st->nleaf);
    for (int i = 0; i < n->nroot; i++) {
        n->min[i] = tc_i64(b->c, 0);
        n->ext[i] = i < n->naxis ? n->st->op->axes[i].extent : n->st->op->raxes[i - n->naxis].extent;
    }
}

static bool is_read(const builder *b, int id) {
    for (size_t i = 0; i < b->reads.len; i++)
        if (b->reads.data[i].producer == id)
            return true;
    return false;
}

/* What comes after a stage stands inside of the blocks that declare its results. All that walks a program recurs by its blocks. */
static tc_status check_blocks(builder *b, nest *n) {
    n->blocks = n->st->nleaf + (int)n->guards.len + (n->at_pos >= 0 ? b->nests[n->st->at_stage].blocks : 0);
    b->nalloc += n->st->is_output ? 0 : n->st->op->nout;
    if (n->blocks + b->nalloc <= TC_DEPTH_TIR)
        return TC_OK;
    return tc_fail(
        b->err, TC_ILLEGAL,
        "stage %s is computed inside %d loops and guards, among %d intermediate results; the sum may be %d: inline stages, "
        "or fuse loops",
        n->st->name, n->blocks, b->nalloc, TC_DEPTH_TIR);
}

static tc_status infer(builder *b) {
    for (int i = 0; i < b->s->nstage; i++)
        init_nest(b, i);
    for (int i = b->s->nstage - 1; i >= 0; i--) {
        nest *n = &b->nests[i];
        if (n->st->attach == TC_ATTACH_INLINE || !(n->st->is_output || is_read(b, i))) {
            n->at_pos = -1;
            continue;
        }
        n->live = true;
        TC_TRY(place_stage(b, n));
        if (n->at_pos >= 0) {
            if (!b->nests[n->st->at_stage].live)
                return tc_fail(b->err, TC_ILLEGAL, "stage %s is computed at a stage that no output needs", n->st->name);
            TC_TRY(bounds_of_region(b, n));
        }
        TC_TRY(nest_finish(b, n));
        TC_TRY(check_blocks(b, n));
    }
    return TC_OK;
}

static tc_status run(builder *b, tc_func *f) {
    TC_TRY(infer(b));
    TC_TRY(make_params(b, f));
    TC_TRY(emit_roots(b, &f->body));
    if (f->body)
        return TC_OK;
    return tc_fail(b->err, TC_ILLEGAL, "the schedule computes nothing");
}

static void release(builder *b) {
    for (int i = 0; i < b->s->nstage; i++) {
        tc_vec_free(&b->nests[i].guards);
        tc_vec_free(&b->nests[i].facts);
    }
    tc_vec_free(&b->reads);
    tc_vec_free(&b->inputs);
    tc_env_free(b->env);
}

tc_status tc_tir_build(tc_sched *s, const tc_machine *m, tc_func **out, tc_error *err) {
    builder b = {.s = s, .c = s->ctx, .m = m, .err = err, .env = tc_env_new()};
    tc_env_remember(b.env);
    tc_arena *a = tc_ctx_arena(s->ctx);
    b.nests = TC_NEW_N(a, nest, s->nstage);
    b.loop_ext = TC_NEW_N(a, int64_t, s->nloop);
    b.loop_val = TC_NEW_N(a, const tc_expr *, s->nloop);
    b.used_names = TC_NEW_N(a, const char *, s->nstage *TC_MAX_OUTS + s->workload->nin + s->workload->nout);
    tc_func *f = TC_NEW(a, tc_func);
    f->name = "kernel";
    f->workload = s->workload;
    f->nsymbol = s->workload->nsymbol;
    f->symbols = s->workload->symbols;
    tc_status status = run(&b, f);
    release(&b);
    if (status == TC_OK)
        *out = f;
    return status;
}
