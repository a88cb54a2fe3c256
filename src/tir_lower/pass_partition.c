/* Partition: full tiles get bodies without guards.
 *
 *     parallel t in 352 { S[guard 6*(t/16) + i < 128] }          # i < 6 unrolled, somewhere inside S
 *  => parallel t in 352 { if t/16 < 21 { S } else { S[i < 2] } }
 *
 *     for ko in 154 { S[guard 5*ko + ki < 768] }                  # ki < 5 unrolled
 *  => for ko in 153 { S }  S[ko := 153, ki < 3]
 *
 * A guard is an inequality A >= 0 with A = g*S + I, where S is made of loops outside and I of the unrolled and vectorised loops
 * inside: the register tile. Where the innermost of S's loops is entered, S is a number, and its range falls into segments: all
 * guards with this S hold; some depend on I; none holds. The loop's body is copied once per segment, with what is known of S as a
 * fact: that decides guards, shrinks the inner loops of the partial tile, and removes what is never executed. Producers and
 * consumers in one body share the test, since their guards share S. If S is the loop's own variable the loop is split, otherwise
 * the segments become an IF chain.
 *
 * Padding is versioned likewise: a select between a load and a constant is a soft guard. Its interior gets a body without the
 * select; a segment that lies on the padding altogether loses the taps that add nothing (pass_neutral.c), and so does one where S
 * is a number, once its tile is unrolled; what remains is one body that keeps the select.
 *
 *     for rx in 3 { for c { acc[x] += select(xo*4 + x + rx >= 1, X[..], 0) * W[..] } }      # x < 4 unrolled
 *  => for rx in 3 { if xo*4 + rx >= 1 { for c { acc[x] += X[..] * W[..] } } else { the same for x >= 1 } }
 *
 * Needs: TILE_LOOPS; guards as `tc_tir_build` makes them. Gives: PARTITIONED. A guard stays dynamic where its partial segment is
 * long or the copies would grow the program beyond MAX_STORES. Keeps: order of execution. */
#include "tir_lower/pass_int.h"

#include <assert.h>

enum {
    MAX_STORES = 4096, /* of the unrolled program; derived: at about 20 us of LLVM per store, 80 ms a candidate */
    MAX_SOFT = 512,    /* stores of a body that is copied for the sake of its selects only */
    MAX_SINGLES = 2,   /* partial segments up to this long become one body per value */
    MAX_SEGMENTS = 12
};

/* A segment that we are in. The environment knows it too; this is for folding single values into conditions. */
typedef struct fact {
    tc_affine s;
    tc_ival range;
} fact;

/* One inequality of a guard, as sign * g * S + I >= 0. */
typedef struct guard {
    tc_affine s;  /* coefficients without common factor, the first positive; no constant */
    tc_ival full; /* S here: the guard always holds */
    tc_ival some; /* S outside of here: it never does */
    bool soft;    /* the condition of a select, not an IF */
} guard;

typedef struct segment {
    tc_ival s;
    bool full;
} segment;

typedef struct partitioner {
    tc_ctx *c;
    const tc_func *func;
    tir_names *names;
    tc_env *env;
    int lanes;
    int64_t budget; /* stores that copies may still add */
    TC_VEC(fact) facts;
    TC_VEC(const tc_var *) outer;         /* loops around the current place */
    TC_VEC(const tc_var *) serial_inside; /* while collecting: serial loops between the place and the guard */
    TC_VEC(guard) guards;
    const tc_var *place; /* while collecting: the loop whose body is the place */
} partitioner;

static const tc_stmt *walk(partitioner *k, const tc_stmt *s);
static const tc_stmt *versioned(partitioner *k, const tc_stmt *loop, const tc_stmt *body);

/* ---- facts ---- */

/* The multiple of `s` contained in a: q with a - q*s free of s's first atom and of all its others; 0 if there is none. */
static int64_t multiple(const tc_affine *a, const tc_affine *s) {
    int64_t q = 0;
    for (int i = 0, j = 0; j < s->n; j++) {
        while (i < a->n && a->term[i].atom->id < s->term[j].atom->id)
            i++;
        if (i == a->n || a->term[i].atom != s->term[j].atom || a->term[i].coef % s->term[j].coef)
            return 0;
        int64_t r = a->term[i].coef / s->term[j].coef;
        if (j && r != q)
            return 0;
        q = r;
    }
    return q;
}

/* Folds known values into a; false if there were none. */
static bool fold(const partitioner *k, tc_affine *a) {
    bool any = false;
    for (size_t i = k->facts.len; i-- > 0;) {
        const fact *f = &k->facts.data[i];
        int64_t q = f->range.lo == f->range.hi ? multiple(a, &f->s) : 0;
        if (!q)
            continue;
        tc_affine_add(a, &f->s, -q); /* takes terms out, so there is room */
        a->c += q * f->range.lo;
        any = true;
    }
    return any;
}

/* The range of S from its terms one by one: what is known of S itself has no say in it. False if unbounded. */
static bool range_of_terms(const partitioner *k, const tc_affine *s, tc_ival *out) {
    *out = (tc_ival){s->c, s->c};
    for (int i = 0; i < s->n; i++) {
        tc_ival t = tc_te_bounds(s->term[i].atom, k->env);
        if (!tc_ival_bounded(t))
            return false;
        *out = tc_ival_add(*out, tc_ival_scale(t, s->term[i].coef));
    }
    return true;
}

/* Whether segments exclude each other: x + 3 * x / 13 < 6, and x >= 6. What is in such a body would never run. */
static bool contradiction(const partitioner *k) {
    for (size_t i = 0; i < k->facts.len; i++) {
        const fact *f = &k->facts.data[i];
        tc_ival r;
        if (range_of_terms(k, &f->s, &r) && (r.lo > f->range.hi || r.hi < f->range.lo))
            return true;
    }
    return false;
}

/* ---- applying facts to a body ---- */

/* What remains of a condition: an immediate, one with known values folded in, or the same. */
static const tc_expr *resolve_cond(const partitioner *k, const tc_expr *cond) {
    tc_affine a;
    if (cond->op == TC_OP_AND)
        return tc_bin(k->c, TC_OP_AND, resolve_cond(k, cond->args[0]), resolve_cond(k, cond->args[1]));
    int known = tc_te_decide(cond, k->env);
    if (known >= 0)
        return tc_bool(k->c, known);
    return tir_cond_affine(k->c, cond, k->env, &a) && fold(k, &a) ? tir_affine_cond(k->c, &a) : cond;
}

static bool is_select(const tc_expr *e, const void *unused) {
    (void)unused;
    return e->op == TC_OP_SELECT;
}

static const tc_stmt *resolve(partitioner *k, const tc_stmt *s);

static const tc_stmt *resolve_for(tc_ctx *c, const tc_stmt *s, void *user) {
    partitioner *k = user;
    const tc_expr *extent = tc_te_simplify(c, s->u.loop.extent, k->env); /* min(6, 128 - 6*S) */
    size_t mark = tir_enter_loop(c, k->env, s->u.loop.var, extent);
    const tc_stmt *body = resolve(k, s->u.loop.body);
    tc_env_undo(k->env, mark);
    return tir_with_loop(c, s, extent, body);
}

static const tc_stmt *resolve_if(tc_ctx *c, const tc_stmt *s, void *user) {
    partitioner *k = user;
    const tc_expr *cond = s->u.cond.guard ? resolve_cond(k, s->u.cond.cond) : s->u.cond.cond;
    if (cond->op == TC_OP_INT && !cond->u.i)
        return resolve(k, s->u.cond.otherwise);
    const tc_stmt *then = resolve(k, s->u.cond.then);
    return tir_with_arms(c, s, cond, then, resolve(k, s->u.cond.otherwise));
}

static const tc_stmt *resolve_store(tc_ctx *c, const tc_stmt *s, void *user) {
    const partitioner *k = user;
    const tc_expr *value =
        tc_expr_any(s->u.store.value, is_select, NULL) ? tc_te_simplify(c, s->u.store.value, k->env) : s->u.store.value;
    if (value == s->u.store.value)
        return s;
    s = tir_with_store(c, s, s->u.store.index, value, s->u.store.mask);
    return tir_is_neutral(k->func, s) ? NULL : s;
}

static const tc_stmt *resolve(partitioner *k, const tc_stmt *s) {
    static const tir_rules RULES = {{[TC_STMT_FOR] = resolve_for, [TC_STMT_IF] = resolve_if, [TC_STMT_STORE] = resolve_store}};
    return tir_rewrite(k->c, &RULES, s, k);
}

/* ---- finding what to version ---- */

static void note_var(const tc_expr *e, void *user) {
    const tc_var ***v = user;
    if (e->op == TC_OP_VAR)
        *(*v)++ = e->u.var;
}

static bool listed(const tc_var *const *list, size_t n, const tc_var *v) {
    for (size_t i = 0; i < n; i++)
        if (list[i] == v)
            return true;
    return false;
}

enum side { OUTSIDE, TILE, NEITHER };

/* Whether an atom is made of loops outside the place, or of unrolled and vectorised loops inside it. */
static enum side side_of(const partitioner *k, const tc_expr *atom) {
    const tc_var *vars[64], **end = vars;
    if (atom->op == TC_OP_VAR)
        vars[0] = atom->u.var, end = vars + 1;
    else
        tc_expr_walk(atom, note_var, &end);
    int outside = 0, n = (int)(end - vars);
    for (int i = 0; i < n; i++) {
        if (listed(k->serial_inside.data, k->serial_inside.len, vars[i]))
            return NEITHER;
        outside += listed(k->outer.data, k->outer.len, vars[i]);
    }
    return outside == n && n ? OUTSIDE : outside == 0 ? TILE : NEITHER;
}

/* Splits A into g*S + I. False unless S is there and uses the place's loop. */
static bool analyse(partitioner *k, const tc_expr *cond, guard *out) {
    tc_affine a, inner, *s = &out->s;
    if (!tir_cond_affine(k->c, cond, k->env, &a))
        return false;
    *s = (tc_affine){0};
    inner = (tc_affine){.c = a.c};
    bool uses = false;
    int64_t g = 0;
    for (int i = 0; i < a.n; i++) {
        enum side side = side_of(k, a.term[i].atom);
        if (side == NEITHER)
            return false;
        tc_affine *to = side == OUTSIDE ? s : &inner;
        to->term[to->n++] = a.term[i];
        if (side == OUTSIDE) {
            g = tc_gcd(g, a.term[i].coef);
            uses |= tc_expr_uses_var(a.term[i].atom, k->place);
        }
    }
    if (!uses)
        return false;
    g = s->term[0].coef < 0 ? -g : g;
    for (int i = 0; i < s->n; i++)
        s->term[i].coef /= g;
    tc_ival r = tir_affine_bounds(k->c, &inner, k->env);
    if (!tc_ival_bounded(r))
        return false;
    if (g > 0) {
        out->full = (tc_ival){tc_ceil_div(-r.lo, g), TC_INF};
        out->some = (tc_ival){tc_ceil_div(-r.hi, g), TC_INF};
    } else {
        out->full = (tc_ival){TC_NINF, tc_floor_div(r.lo, -g)};
        out->some = (tc_ival){TC_NINF, tc_floor_div(r.hi, -g)};
    }
    return true;
}

static void note_guards(partitioner *k, const tc_expr *cond, bool soft) {
    const tc_expr *conj[TIR_MAX_CONJUNCTS];
    int n = TC_MIN(tir_conjuncts(cond, conj, TIR_MAX_CONJUNCTS), TIR_MAX_CONJUNCTS);
    for (int i = 0; i < n; i++) {
        guard g = {.soft = soft};
        /* Without a tile inside, a guard is what it would become: an IF here. */
        if (analyse(k, conj[i], &g) && (soft || g.full.lo != g.some.lo || g.full.hi != g.some.hi))
            tc_push(&k->guards, g);
    }
}

static bool is_padding(const tc_expr *e) {
    return e->op == TC_OP_SELECT && e->args[1]->op == TC_OP_LOAD && e->args[2]->nargs == 0;
}

static void note_padding(const tc_expr *e, void *user) {
    if (is_padding(e))
        note_guards(user, e->args[0], true);
}

/* Lists the guards in s whose place is the body of the loop over k->place. */
static void collect(partitioner *k, const tc_stmt *s) {
    const tc_stmt *inside;
    size_t serial = k->serial_inside.len;
    if (s->kind == TC_STMT_FOR) {
        tc_env_set(k->env, s->u.loop.var, tir_loop_range(s->u.loop.extent, k->env));
        if (s->u.loop.kind == TC_FOR_SERIAL || s->u.loop.kind == TC_FOR_PARALLEL)
            tc_push(&k->serial_inside, s->u.loop.var);
    } else if (s->kind == TC_STMT_IF && s->u.cond.guard) {
        note_guards(k, s->u.cond.cond, false);
    } else if (s->kind == TC_STMT_STORE) {
        tc_expr_walk(s->u.store.value, note_padding, k);
    }
    for (int i = 0; (inside = tc_tir_child(s, i)); i++)
        collect(k, inside);
    k->serial_inside.len = serial;
}

static int add_segment(segment *seg, int n, int64_t lo, int64_t hi, int singles) {
    if (lo > hi)
        return n;
    bool single = hi - lo < singles;
    for (int64_t x = lo; single && x <= hi; x++)
        seg[n++] = (segment){{x, x}, false};
    if (!single)
        seg[n++] = (segment){{lo, hi}, false};
    return n;
}

/* Cuts the range of S at the borders of the guards with this S, ascending. 0 when nothing would be decided that is not decided
 * already. *soft: they are all soft. */
static int segments(const partitioner *k, const guard *g, segment *seg, bool *soft) {
    tc_ival all = tir_affine_bounds(k->c, &g->s, k->env), full = all, some = {TC_INF, TC_NINF}, image = all;
    if (!tc_ival_bounded(all))
        return 0;
    *soft = true;
    for (size_t i = 0; i < k->guards.len; i++) {
        const guard *h = &k->guards.data[i];
        if (!tc_affine_same_terms(&h->s, &g->s))
            continue;
        full = tc_ival_meet(full, h->full);
        some = tc_ival_join(some, h->some);
        image = tc_ival_meet(image, h->some);
        *soft &= h->soft;
    }
    some = *soft ? image : tc_ival_meet(some, all);
    if (full.lo > full.hi || (full.lo == all.lo && full.hi == all.hi))
        return 0;
    int n = add_segment(seg, 0, all.lo, some.lo - 1, 0);
    n = add_segment(seg, n, some.lo, full.lo - 1, MAX_SINGLES);
    seg[n++] = (segment){full, true};
    n = add_segment(seg, n, full.hi + 1, some.hi, MAX_SINGLES);
    return add_segment(seg, n, some.hi + 1, all.hi, 0);
}

/* ---- building the copies ---- */

static const tc_expr *at_least(partitioner *k, const tc_affine *s, int64_t x) {
    return tc_bin(k->c, TC_OP_GE, tc_te_from_affine(k->c, s), tc_i64(k->c, x));
}

static const tc_expr *at_most(partitioner *k, const tc_affine *s, int64_t x) {
    return tc_bin(k->c, TC_OP_LT, tc_te_from_affine(k->c, s), tc_i64(k->c, x + 1));
}

/* One copy of `body` for a segment of S; `more`: the original stays in use elsewhere. */
static const tc_stmt *specialise(partitioner *k, const tc_stmt *loop, const tc_stmt *body, const tc_affine *s, segment seg,
                                 bool more) {
    if (more) {
        tir_copier copy = {.c = k->c, .names = k->names, .fresh = true};
        body = tir_copy_stmt(&copy, body);
        tir_copier_free(&copy);
    }
    size_t mark = tc_env_mark(k->env), known = k->facts.len;
    tc_env_assume(k->env, at_least(k, s, seg.s.lo));
    tc_env_assume(k->env, at_most(k, s, seg.s.hi));
    tc_push(&k->facts, ((fact){*s, seg.s}));
    body = body && !contradiction(k) ? resolve(k, body) : NULL;
    if (body)
        body = tir_settle_guards(k->c, k->names, k->env, body);
    if (body)
        body = versioned(k, loop, body);
    k->facts.len = known;
    tc_env_undo(k->env, mark);
    return body;
}

/* if S <= .. { .. } else if S <= .. { .. } else .. : ascending, so that each arm knows both ends of its segment. */
static const tc_stmt *if_chain(partitioner *k, const tc_stmt *loop, const tc_stmt *body, const tc_affine *s, const segment *seg,
                               int n) {
    const tc_stmt *chain = NULL;
    for (int i = n - 1; i >= 0; i--) {
        const tc_stmt *part = specialise(k, loop, body, s, seg[i], !seg[i].full);
        chain = i == n - 1 ? part : tc_tir_if(k->c, at_most(k, s, seg[i].s.hi), false, part, chain);
    }
    return chain;
}

/* The loop itself cut at the segments: S is its variable. */
static const tc_stmt *split_loop(partitioner *k, const tc_stmt *loop, const segment *seg, int n) {
    const tc_stmt *part[MAX_SEGMENTS];
    for (int i = 0; i < n; i++) {
        int64_t lo = seg[i].s.lo, count = seg[i].s.hi - lo + 1;
        tir_copier copy = {.c = k->c, .names = k->names, .fresh = !seg[i].full};
        const tc_var *v = seg[i].full ? loop->u.loop.var : tc_var_new(k->c, loop->u.loop.var->name);
        tir_bind(&copy, loop->u.loop.var, count == 1 ? tc_i64(k->c, lo) : tc_add(k->c, tc_varx(k->c, v), tc_i64(k->c, lo)));
        const tc_stmt *body = tir_copy_stmt(&copy, loop->u.loop.body);
        tir_copier_free(&copy);
        if (body)
            tc_env_set(k->env, v, (tc_ival){0, count - 1});
        part[i] = resolve(k, body);
        if (part[i])
            part[i] = tir_settle_guards(k->c, k->names, k->env, part[i]);
        if (part[i] && count > 1)
            part[i] = tc_tir_for(k->c, v, tc_i64(k->c, count), loop->u.loop.kind, loop->u.loop.reduce, part[i]);
        if (part[i])
            part[i] = walk(k, part[i]);
    }
    return tc_tir_seq(k->c, n, part);
}

/* The group of guards with the most members whose copies can be afforded; hard ones first. */
static bool choose(partitioner *k, const tc_stmt *loop, const tc_stmt *body, guard *g, segment *seg, int *n) {
    k->guards.len = k->serial_inside.len = 0;
    k->place = loop->u.loop.var;
    collect(k, body);
    int best = 0;
    int64_t weight = k->guards.len ? tir_weight(body, k->lanes) : 0;
    for (size_t i = 0; i < k->guards.len; i++) {
        int members = 0;
        for (size_t j = 0; j < k->guards.len; j++)
            if (tc_affine_same_terms(&k->guards.data[i].s, &k->guards.data[j].s))
                members += k->guards.data[j].soft ? 1 : 1 << 16;
        segment s[MAX_SEGMENTS];
        bool soft;
        int m = members > best ? segments(k, &k->guards.data[i], s, &soft) : 0;
        if (!m || (m - 1) * weight > k->budget || (soft && weight > MAX_SOFT))
            continue;
        best = members;
        *g = k->guards.data[i];
        *n = m;
        for (int j = 0; j < m; j++)
            seg[j] = s[j];
    }
    if (best)
        k->budget -= (*n - 1) * weight;
    return best > 0;
}

/* The body of `loop` (or a copy of it) with its guards versioned, then those further inside. */
static const tc_stmt *versioned(partitioner *k, const tc_stmt *loop, const tc_stmt *body) {
    guard g;
    segment seg[MAX_SEGMENTS];
    int n;
    if (!choose(k, loop, body, &g, seg, &n))
        return walk(k, body);
    return if_chain(k, loop, body, &g.s, seg, n);
}

static const tc_stmt *walk_for(tc_ctx *c, const tc_stmt *s, void *user) {
    partitioner *k = user;
    bool serial = s->u.loop.kind == TC_FOR_SERIAL || s->u.loop.kind == TC_FOR_PARALLEL;
    size_t mark = tir_enter_loop(c, k->env, s->u.loop.var, s->u.loop.extent);
    tc_push(&k->outer, s->u.loop.var);
    guard g;
    segment seg[MAX_SEGMENTS];
    int n;
    int64_t extent;
    bool found = serial && choose(k, s, s->u.loop.body, &g, seg, &n);
    bool own = found && g.s.n == 1 && g.s.term[0].atom->op == TC_OP_VAR && g.s.term[0].atom->u.var == s->u.loop.var;
    if (own && s->u.loop.kind == TC_FOR_SERIAL && tir_const_extent(s, &extent)) {
        k->outer.len--;
        return split_loop(k, s, seg, n);
    }
    const tc_stmt *body = found ? if_chain(k, s, s->u.loop.body, &g.s, seg, n) : walk(k, s->u.loop.body);
    k->outer.len--;
    tc_env_undo(k->env, mark);
    return tir_with_loop(c, s, s->u.loop.extent, body);
}

static const tc_stmt *walk_if(tc_ctx *c, const tc_stmt *s, void *user);
static const tir_rules WALK = {{[TC_STMT_FOR] = walk_for, [TC_STMT_IF] = walk_if}};

static const tc_stmt *walk_if(tc_ctx *c, const tc_stmt *s, void *user) {
    const partitioner *k = user;
    return tir_rewrite_arms(c, &WALK, s, k->env, user);
}

static const tc_stmt *walk(partitioner *k, const tc_stmt *s) {
    return tir_rewrite(k->c, &WALK, s, k);
}

tc_status tir_pass_partition(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err) {
    (void)err;
    tir_names names;
    tir_names_init(&names, in);
    partitioner k = {
        .c = c, .func = in, .names = &names, .env = tc_env_new(), .lanes = TC_MAX(m->vector_bytes / 4, 1), .budget = MAX_STORES};
    const tc_stmt *body = in->body;
    if (body)
        body = tir_settle_guards(c, &names, k.env, body);
    if (body)
        body = walk(&k, body);
    *out = tir_with_body(c, in, body);
    tc_env_free(k.env);
    tir_names_free(&names);
    tc_vec_free(&k.facts);
    tc_vec_free(&k.outer);
    tc_vec_free(&k.serial_inside);
    tc_vec_free(&k.guards);
    return TC_OK;
}
