#include "common/random_trace.h"

#include <assert.h>
#include <string.h>

#include "support/vec.h"

/* A step under construction. Strings are in the schedule's arena, the rest is here: tc_sch_apply copies. */
typedef struct step {
    tc_sched *s;
    tc_rng *r;
    tc_instr in;
    const char *outs[TC_MAX_PARTS], *names[16];
    tc_int_arg ints[8];
} step;

static int64_t below(step *t, int64_t n) {
    return tc_rng_below(t->r, n);
}

static bool chance(step *t, int percent) {
    return below(t, 100) < percent;
}

static const char *fresh(step *t, const char *prefix, int part) {
    return tc_arena_printf(tc_ctx_arena(t->s->ctx), "%s%d%c", prefix, t->s->trace->n, 'a' + part);
}

static void add_out(step *t, const char *prefix) {
    t->outs[t->in.nouts] = fresh(t, prefix, t->in.nouts);
    t->in.nouts++;
}

static void add_name(step *t, const char *name) {
    t->names[t->in.nnames++] = name;
}

static void add_int(step *t, int64_t v) {
    t->ints[t->in.nints++] = (tc_int_arg){.kind = TC_ARG_LITERAL, .value = v, .part = -1};
}

static void add_ref(step *t, const char *name, int part) {
    t->ints[t->in.nints++] = (tc_int_arg){.kind = TC_ARG_REF, .ref = name, .part = part};
}

static const char *qualified(step *t, tc_loop l) {
    const tc_loop_info *i = &t->s->loops[l];
    return tc_arena_printf(tc_ctx_arena(t->s->ctx), "%s.%s", t->s->stages[i->stage].name, i->name);
}

static bool apply(step *t, tc_prim prim) {
    t->in.prim = prim;
    t->in.outs = t->outs;
    t->in.names = t->names;
    t->in.ints = t->ints;
    return tc_sch_apply(t->s, &t->in, t->r, NULL) == TC_OK;
}

static step again(const step *t) {
    return (step){.s = t->s, .r = t->r};
}

static int random_stage(step *t) {
    return (int)below(t, t->s->nstage);
}

/* A random leaf of a random stage, -1 if that stage has none. */
static tc_loop random_leaf(step *t) {
    const tc_stage *st = &t->s->stages[random_stage(t)];
    return st->nleaf && st->attach != TC_ATTACH_INLINE ? st->leaf[below(t, st->nleaf)] : -1;
}

static int64_t random_factor(step *t, int64_t extent) {
    static const int64_t COMMON[] = {1, 2, 3, 4, 5, 6, 7, 8, 16};
    return chance(t, 70) ? COMMON[below(t, (int64_t)TC_LEN(COMMON))] : 1 + below(t, extent + 2);
}

static const char *random_scope(step *t) {
    return below(t, 2) ? "local" : "global";
}

/* ---- one function per family ---- */

static bool try_split(step *t) {
    tc_loop l = random_leaf(t);
    if (l < 0)
        return false;
    int parts = chance(t, 75) ? 2 : 3;
    add_name(t, qualified(t, l));
    t->ints[t->in.nints++] = (tc_int_arg){.kind = TC_ARG_INFER, .part = -1};
    add_out(t, "s");
    for (int i = 1; i < parts; i++) {
        add_int(t, random_factor(t, t->s->loops[l].extent));
        add_out(t, "s");
    }
    return apply(t, TC_PRIM_SPLIT);
}

static bool try_sampled_split(step *t) {
    tc_loop l = random_leaf(t);
    if (l < 0)
        return false;
    int parts = 2 + (int)below(t, 3);
    add_name(t, qualified(t, l));
    add_int(t, parts);
    add_int(t, chance(t, 50) ? 8 : 16);
    add_out(t, "t");
    if (!apply(t, TC_PRIM_SAMPLE_TILE))
        return false;
    step u = again(t);
    add_name(&u, t->names[0]);
    for (int i = 0; i < parts; i++) {
        add_out(&u, "s");
        add_ref(&u, t->outs[0], i);
    }
    return apply(&u, TC_PRIM_SPLIT);
}

static bool try_tile(step *t) {
    tc_loop x = random_leaf(t), y = random_leaf(t);
    if (x < 0 || y < 0)
        return false;
    add_name(t, qualified(t, x));
    add_name(t, qualified(t, y));
    for (int i = 0; i < 4; i++)
        add_out(t, "q");
    add_int(t, random_factor(t, t->s->loops[x].extent));
    add_int(t, random_factor(t, t->s->loops[y].extent));
    return apply(t, TC_PRIM_TILE);
}

static bool try_fuse(step *t) {
    const tc_stage *st = &t->s->stages[random_stage(t)];
    int n = chance(t, 80) ? 2 : 3;
    if (st->nleaf < n)
        return false;
    int at = (int)below(t, st->nleaf - n + 1);
    for (int i = 0; i < n; i++)
        add_name(t, qualified(t, st->leaf[at + i]));
    add_out(t, "f");
    return apply(t, TC_PRIM_FUSE);
}

/* A random permutation of some leaves; half of the time reduction loops are pulled out of the innermost place. */
static bool try_reorder(step *t) {
    const tc_stage *st = &t->s->stages[random_stage(t)];
    tc_loop pick[8];
    int n = 0;
    for (int i = 0; i < st->nleaf && n < 8; i++)
        if (chance(t, 70))
            pick[n++] = st->leaf[i];
    if (n < 2)
        return false;
    for (int i = n - 1; i > 0; i--) {
        int k = (int)below(t, i + 1);
        tc_loop l = pick[i];
        pick[i] = pick[k];
        pick[k] = l;
    }
    for (int i = 0; i < n; i++)
        add_name(t, qualified(t, pick[i]));
    return apply(t, TC_PRIM_REORDER);
}

/* Mostly the innermost spatial loop: it is moved innermost first if it is not. */
static bool try_vectorize(step *t) {
    const tc_stage *st = &t->s->stages[random_stage(t)];
    if (!st->nleaf || st->attach == TC_ATTACH_INLINE)
        return false;
    tc_loop last = st->leaf[st->nleaf - 1], l = last;
    for (int i = st->nleaf - 1; i >= 0 && t->s->loops[l].reduce; i--)
        l = st->leaf[i];
    if (chance(t, 10))
        l = st->leaf[below(t, st->nleaf)];
    if (l != last && chance(t, 90)) {
        step u = again(t);
        add_name(&u, qualified(&u, last));
        add_name(&u, qualified(&u, l));
        if (!apply(&u, TC_PRIM_REORDER))
            return false;
    }
    add_name(t, qualified(t, l));
    return apply(t, TC_PRIM_VECTORIZE);
}

static bool try_unroll(step *t) {
    tc_loop l = random_leaf(t);
    if (l < 0 || t->s->loops[l].extent > 8)
        return false;
    add_name(t, qualified(t, l));
    return apply(t, TC_PRIM_UNROLL);
}

static bool try_parallel(step *t) {
    const tc_stage *st = &t->s->stages[random_stage(t)];
    if (!st->nleaf || (st->attach != TC_ATTACH_ROOT && chance(t, 90)))
        return false;
    add_name(t, qualified(t, st->leaf[chance(t, 95) ? 0 : below(t, st->nleaf)]));
    return apply(t, TC_PRIM_PARALLEL);
}

static bool try_compute_at(step *t) {
    int d = random_stage(t);
    const char *where[64];
    int n = TC_MIN(tc_sch_locations(t->s, d, where, 64), 64);
    if (n == 0)
        return false;
    const char *l = where[below(t, n)];
    if (!strchr(l, '.'))
        return false;
    add_name(t, t->s->stages[d].name);
    add_name(t, l);
    return apply(t, TC_PRIM_COMPUTE_AT);
}

static bool try_sampled_location(step *t) {
    const char *stage = t->s->stages[random_stage(t)].name;
    add_name(t, stage);
    add_out(t, "l");
    if (!apply(t, TC_PRIM_SAMPLE_LOCATION))
        return false;
    step u = again(t);
    add_name(&u, stage);
    add_name(&u, t->outs[0]);
    return apply(&u, TC_PRIM_COMPUTE_AT);
}

static bool try_inline(step *t) {
    add_name(t, t->s->stages[random_stage(t)].name);
    return apply(t, TC_PRIM_COMPUTE_INLINE);
}

static bool try_root(step *t) {
    add_name(t, t->s->stages[random_stage(t)].name);
    return apply(t, TC_PRIM_COMPUTE_ROOT);
}

static const tc_tensor *random_input(step *t) {
    return t->s->workload->in[below(t, t->s->workload->nin)];
}

static bool try_cache_read(step *t) {
    if (t->s->nstage > 8 || t->s->workload->nin == 0)
        return false;
    bool of_stage = chance(t, 40);
    add_name(t, of_stage ? t->s->stages[random_stage(t)].name : random_input(t)->name);
    if (chance(t, 50))
        add_name(t, t->s->stages[random_stage(t)].name);
    add_out(t, "C");
    t->in.text = random_scope(t);
    return apply(t, TC_PRIM_CACHE_READ);
}

static bool try_cache_part(step *t) {
    if (t->s->nstage > 8 || t->s->workload->nin == 0)
        return false;
    const tc_tensor *of = chance(t, 40) ? t->s->stages[random_stage(t)].op->out[0] : random_input(t);
    int reader = random_stage(t), n;
    const tc_expr *all[8];
    n = tc_sch_reads_of(t->s->stages[reader].op, of, all, (int)TC_LEN(all));
    if (n == 0)
        return false;
    add_name(t, of->name);
    add_name(t, t->s->stages[reader].name);
    add_out(t, "C");
    add_int(t, below(t, n));
    t->in.text = random_scope(t);
    return apply(t, TC_PRIM_CACHE_PART);
}

static bool try_cache_write(step *t) {
    if (t->s->nstage > 8)
        return false;
    add_name(t, t->s->stages[random_stage(t)].name);
    add_out(t, "L");
    t->in.text = random_scope(t);
    return apply(t, TC_PRIM_CACHE_WRITE);
}

static bool try_rfactor(step *t) {
    tc_loop l = random_leaf(t);
    for (int i = 0; i < 8 && (l < 0 || !t->s->loops[l].reduce); i++)
        l = random_leaf(t);
    if (l < 0 || t->s->nstage > 8)
        return false;
    add_name(t, qualified(t, l));
    add_out(t, "R");
    return apply(t, TC_PRIM_RFACTOR);
}

/* A permutation of the dimensions, one of them possibly cut into blocks. */
static const char *random_layout(step *t, int ndim, const int64_t *shape) {
    int order[TC_MAX_DIMS], cut = chance(t, 70) ? (int)below(t, ndim) : -1;
    long long block = 1;
    for (int i = 0; i < ndim; i++)
        order[i] = i;
    for (int i = ndim - 1; i > 0; i--) {
        int k = (int)below(t, i + 1), o = order[i];
        order[i] = order[k];
        order[k] = o;
    }
    tc_strbuf b = {0};
    for (int i = 0; i < ndim; i++)
        tc_sb_printf(&b, "%sd%d", i ? ", " : "(", i);
    tc_sb_add(&b, ") -> (");
    if (cut >= 0) {
        block = (long long)random_factor(t, shape[cut]);
        tc_sb_printf(&b, "d%d / %lld, ", cut, block);
    }
    for (int i = 0, n = 0; i < ndim; i++)
        if (order[i] != cut)
            tc_sb_printf(&b, "%sd%d", n++ ? ", " : "", order[i]);
    if (cut >= 0)
        tc_sb_printf(&b, "%sd%d %% %lld", ndim > 1 ? ", " : "", cut, block);
    tc_sb_addc(&b, ')');
    const char *text = tc_arena_strdup(tc_ctx_arena(t->s->ctx), tc_sb_str(&b));
    tc_strbuf_free(&b);
    return text;
}

static bool try_layout(step *t) {
    const tc_tensor *x = chance(t, 50) && t->s->workload->nin ? random_input(t) : t->s->stages[random_stage(t)].op->out[0];
    if (x->ndim < 1 || x->ndim == TC_MAX_DIMS)
        return false;
    add_name(t, x->name);
    t->in.text = random_layout(t, x->ndim, x->shape);
    return apply(t, TC_PRIM_TRANSFORM_LAYOUT);
}

static bool try_prefetch(step *t) {
    if (t->s->npacked == 0)
        return false;
    add_name(t, t->s->packed[below(t, t->s->npacked)].original->name);
    add_int(t, below(t, 3) * 512);
    return apply(t, TC_PRIM_PREFETCH);
}

static bool try_align(step *t) {
    const tc_stage *st = &t->s->stages[random_stage(t)];
    if (st->op->naxis < 2)
        return false;
    add_name(t, st->name);
    add_int(t, below(t, st->op->naxis - 1));
    add_int(t, random_factor(t, 16));
    return apply(t, TC_PRIM_STORAGE_ALIGN);
}

static bool try_scope(step *t) {
    add_name(t, t->s->stages[random_stage(t)].name);
    t->in.text = random_scope(t);
    return apply(t, TC_PRIM_SET_SCOPE);
}

static bool try_pragma(step *t) {
    add_out(t, "u");
    for (int i = 0; i < 3; i++)
        add_int(t, i * 8);
    if (!apply(t, TC_PRIM_SAMPLE_CATEGORICAL))
        return false;
    step u = again(t);
    add_name(&u, t->s->stages[random_stage(t)].name);
    u.in.text = "auto_unroll_max";
    add_ref(&u, t->outs[0], -1);
    return apply(&u, TC_PRIM_PRAGMA);
}

typedef struct family {
    bool (*try)(step *t);
    double weight;
} family;

static const family FAMILIES[] = {
    {try_split, 5},       {try_sampled_split, 2}, {try_tile, 1.5},       {try_fuse, 1.5},       {try_reorder, 3},
    {try_vectorize, 1.5}, {try_unroll, 1.5},      {try_parallel, 1},     {try_compute_at, 5},   {try_sampled_location, 2},
    {try_inline, 1},      {try_root, 0.3},        {try_cache_read, 1.5}, {try_cache_part, 1.5}, {try_cache_write, 1.5},
    {try_rfactor, 1.5},   {try_layout, 1.5},      {try_align, 0.5},      {try_scope, 0.7},      {try_pragma, 0.3},
    {try_prefetch, 0.3},
};

bool tc_test_random_step(tc_sched *s, tc_rng *r) {
    double weights[TC_LEN(FAMILIES)];
    for (size_t i = 0; i < TC_LEN(FAMILIES); i++)
        weights[i] = FAMILIES[i].weight;
    step t = {.s = s, .r = r};
    return FAMILIES[tc_rng_weighted(r, weights, TC_LEN(FAMILIES))].try(&t);
}

int tc_test_random_steps(tc_sched *s, tc_rng *r, int max_steps) {
    int before = s->trace->n;
    for (int tries = 0; tries < 4 * max_steps && s->trace->n - before < max_steps; tries++)
        (void)tc_test_random_step(s, r);
    return s->trace->n - before;
}

tc_trace *tc_test_random_trace(tc_ctx *c, const tc_workload *w, tc_rng *r, int max_steps) {
    tc_sched *s = tc_sch_new(c, w);
    int64_t n = tc_rng_below(r, max_steps + 1);
    if (n)
        (void)tc_test_random_steps(s, r, (int)n);
    return s->trace;
}
