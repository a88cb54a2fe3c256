/* Partition: full tiles get bodies without guards.
 *
 *     parallel t in 352 { S[guard 6*(t/16) + i < 128] }          # i < 6 unrolled, somewhere inside S
 *  => parallel t in 352 { if t/16 < 21 { S } else { S[i < 2] } }
 *
 *     for ko in 154 { S[guard 5*ko + ki < 768] }                  # ki < 5 unrolled
 *  => for ko in 153 { S }  S[ko := 153, ki < 3]
 *
 * A guard is an inequality A >= 0 with A = g*S + I. S consists of outer loops and sizes. I consists of the unrolled and
 * vectorised loops inside: the register tile. Where the innermost loop of S is entered, S is a number. Its range falls into
 * segments: all guards with this S hold; some depend on I; none holds. The loop's body is copied once per segment, and the
 * segment's range of S is a fact in the copy. The fact decides guards, shrinks the inner loops of the partial tile, and removes
 * code that is never executed. Producers and consumers in one body share the test, because their guards share S. If S is the
 * loop's own variable, the loop is split. Otherwise the segments become an IF chain.
 *
 * If a size ends a serial loop, the remainder stands behind the loop, and the loop has no tests:
 *
 *     for jo in 8 { S[guard 64*jo + ji < N] }                    # ji < 64 vectorized
 *  => for jo in N / 64 { S }  if N % 64 >= 1 { if N % 64 < 16 { S[one vector] } else .. }
 *
 * Padding is versioned in the same way. A soft guard is a select between a load and a constant, or, in a reduction, between any
 * value and a constant. Its interior gets a body without the select. A segment that lies entirely on the padding loses the taps
 * that add nothing (neutral.c). So does a segment where S is a number, after its tile is unrolled. The remaining segments share
 * one body, which keeps the select.
 *
 *     for rx in 3 { for c { acc[x] += select(xo*4 + x + rx >= 1, X[..], 0) * W[..] } }      # x < 4 unrolled
 *  => for rx in 3 { if xo*4 + rx >= 1 { for c { acc[x] += X[..] * W[..] } } else { the same for x >= 1 } }
 *
 * Needs: TILE_LOOPS; guards as `tc_tir_build` makes them. Gives: PARTITIONED. A guard stays dynamic if its partial segment is
 * long, or if the copies would grow the program beyond MAX_STORES or MAX_TERMS. Keeps: order of execution. */
#include "tir_lower/passes/loops/partition_int.h"

#include <assert.h>

enum {
    MAX_STORES = 4096,   /* of the unrolled program; derived: at about 20 us of LLVM per store, 80 ms a candidate */
    MAX_TERMS = 1 << 19, /* of the values that these stores store; networks had 191,561 */
    MAX_SOFT = 512       /* stores of a body that is copied for the sake of its selects only */
};

static const tc_stmt *walk(tir_partitioner *k, const tc_stmt *s);
static const tc_stmt *versioned(tir_partitioner *k, const tc_stmt *loop, const tc_stmt *body);

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
static bool fold(const tir_partitioner *k, tc_affine *a) {
    bool any = false;
    for (size_t i = k->facts.len; i-- > 0;) {
        const tir_fact *f = &k->facts.data[i];
        int64_t q = f->range.lo == f->range.hi ? multiple(a, &f->s) : 0;
        int64_t known;
        if (!q || __builtin_mul_overflow(q, f->range.lo, &known) || __builtin_add_overflow(a->c, known, &known))
            continue;
        tc_affine_add(a, &f->s, -q); /* takes terms out, so there is room */
        a->c = known;
        any = true;
    }
    return any;
}

/* The range of S from its terms one by one: what is known of S itself has no say in it. False if unbounded. */
static bool range_of_terms(const tir_partitioner *k, const tc_affine *s, tc_ival *out) {
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
static bool contradiction(const tir_partitioner *k) {
    for (size_t i = 0; i < k->facts.len; i++) {
        const tir_fact *f = &k->facts.data[i];
        tc_ival r;
        if (range_of_terms(k, &f->s, &r) && (r.lo > f->range.hi || r.hi < f->range.lo))
            return true;
    }
    return false;
}

/* ---- applying facts to a body ---- */

/* What remains of a condition: an immediate, one with known values folded in, or the same. */
static const tc_expr *resolve_cond(const tir_partitioner *k, const tc_expr *cond) {
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

static const tc_stmt *resolve(tir_partitioner *k, const tc_stmt *s);

static const tc_stmt *resolve_for(tc_ctx *c, const tc_stmt *s, void *user) {
    tir_partitioner *k = user;
    const tc_expr *extent = tc_te_simplify(c, s->u.loop.extent, k->env); /* min(6, 128 - 6*S) */
    size_t mark = tir_enter_loop(c, k->env, s->u.loop.var, extent);
    const tc_stmt *body = resolve(k, s->u.loop.body);
    tc_env_undo(k->env, mark);
    return tir_with_loop(c, s, extent, body);
}

static const tc_stmt *resolve_if(tc_ctx *c, const tc_stmt *s, void *user) {
    tir_partitioner *k = user;
    const tc_expr *cond = s->u.cond.guard ? resolve_cond(k, s->u.cond.cond) : s->u.cond.cond;
    if (cond->op == TC_OP_INT && !cond->u.i)
        return resolve(k, s->u.cond.otherwise);
    const tc_stmt *then = resolve(k, s->u.cond.then);
    return tir_with_arms(c, s, cond, then, resolve(k, s->u.cond.otherwise));
}

static const tc_stmt *resolve_store(tc_ctx *c, const tc_stmt *s, void *user) {
    const tir_partitioner *k = user;
    const tc_expr *value =
        tc_expr_any(s->u.store.value, is_select, NULL) ? tc_te_simplify(c, s->u.store.value, k->env) : s->u.store.value;
    if (value == s->u.store.value)
        return s;
    s = tir_with_store(c, s, s->u.store.index, value, s->u.store.mask);
    return tir_is_neutral(k->func, s) ? NULL : s;
}

static const tc_stmt *resolve(tir_partitioner *k, const tc_stmt *s) {
    static const tir_rules RULES = {{[TC_STMT_FOR] = resolve_for, [TC_STMT_IF] = resolve_if, [TC_STMT_STORE] = resolve_store}};
    return tir_rewrite(k->c, &RULES, s, k);
}

/* ---- building the copies ---- */

static const tc_expr *at_least(tir_partitioner *k, const tc_affine *s, int64_t x) {
    return tc_bin(k->c, TC_OP_GE, tc_te_from_affine(k->c, s), tc_i64(k->c, x));
}

static const tc_expr *at_most(tir_partitioner *k, const tc_affine *s, int64_t x) {
    return tc_bin(k->c, TC_OP_LT, tc_te_from_affine(k->c, s), tc_i64(k->c, x + 1));
}

/* One copy of `body` for a segment of S; `more`: the original stays in use elsewhere. */
static const tc_stmt *specialise(tir_partitioner *k, const tc_stmt *loop, const tc_stmt *body, const tc_affine *s,
                                 tir_segment seg, bool more) {
    if (more) {
        tir_copier copy = {.c = k->c, .names = k->names, .fresh = true};
        body = tir_copy_stmt(&copy, body);
        tir_copier_free(&copy);
    }
    size_t mark = tc_env_mark(k->env), known = k->facts.len;
    tc_env_assume(k->env, at_least(k, s, seg.s.lo));
    tc_env_assume(k->env, at_most(k, s, seg.s.hi));
    tc_push(&k->facts, ((tir_fact){*s, seg.s}));
    body = body && !contradiction(k) ? resolve(k, body) : NULL;
    if (body)
        body = tir_settle_guards(k->c, k->names, k->env, body);
    if (body)
        body = versioned(k, loop, body);
    k->facts.len = known;
    tc_env_undo(k->env, mark);
    return body;
}

/* A loop's body, once for each segment. */
typedef struct versions {
    tc_affine s;
    int n;
    tir_segment seg[TIR_MAX_SEGMENTS];
    const tc_stmt *part[TIR_MAX_SEGMENTS]; /* NULL: it does nothing there */
} versions;

static void specialise_all(tir_partitioner *k, const tc_stmt *loop, const tc_stmt *body, versions *v) {
    for (int i = v->n - 1; i >= 0; i--)
        v->part[i] = specialise(k, loop, body, &v->s, v->seg[i], !v->seg[i].full);
}

/* if S <= .. { .. } else if S <= .. { .. } else .. : ascending, so that each arm knows both ends of its segment. Of segments
 * from..to. */
static const tc_stmt *if_chain(tir_partitioner *k, const versions *v, int from, int to) {
    const tc_stmt *chain = NULL;
    for (int i = to; i >= from; i--)
        chain = i == to ? v->part[i] : tc_tir_if(k->c, at_most(k, &v->s, v->seg[i].s.hi), false, v->part[i], chain);
    return chain;
}

/* Where S is for the body to do anything. */
static tc_ival does_something(const versions *v) {
    tc_ival does = {TC_INF, TC_NINF};
    for (int i = 0; i < v->n; i++)
        if (v->part[i])
            does = tc_ival_join(does, v->seg[i].s);
    return does;
}

/* How many iterations from the first one on have S in `within`, or before it, where S is made of the loop's variable and symbols.
 * NULL: that is not known, or might be more than there are. */
static const tc_expr *iterations(tir_partitioner *k, const tc_stmt *loop, const tc_affine *s, tc_ival within) {
    const tc_expr *v = tc_varx(k->c, loop->u.loop.var);
    tc_affine room = {0};
    int64_t coef = tc_affine_coef(s, v), most;
    bool up = coef > 0;
    if (coef == 0 || s->n < 2 || within.lo > within.hi || !tir_const_extent(loop, &most))
        return NULL;
    for (int i = 0; i < s->n; i++)
        if (s->term[i].atom != v && !tc_expr_is_of_symbols(s->term[i].atom))
            return NULL;
    /* coef * v + rest <= hi, or >= lo */
    bool fits = tc_affine_add(&room, s, up ? -1 : 1) && tc_affine_term(&room, v, up ? coef : -coef) &&
                (up ? !__builtin_add_overflow(room.c, within.hi, &room.c) : !__builtin_sub_overflow(room.c, within.lo, &room.c));
    if (!fits)
        return NULL;
    const tc_expr *last = tc_div(k->c, tc_te_from_affine(k->c, &room), tc_i64(k->c, up ? coef : -coef));
    const tc_expr *n = tc_te_simplify(k->c, tc_add(k->c, last, tc_i64(k->c, 1)), k->env);
    tc_ival r = tc_te_bounds(n, k->env);
    return r.lo >= 0 && r.hi <= most ? n : NULL;
}

/* The loop's extent where something is done for S in `does` alone: tiles that a size does not reach are no iterations of a
 * parallel loop, which gives each thread as many. */
static const tc_expr *reached(tir_partitioner *k, const tc_stmt *loop, const versions *v) {
    const tc_expr *n = iterations(k, loop, &v->s, does_something(v));
    return n ? n : loop->u.loop.extent;
}

/* for v in 8 { if 64*v - N < -63 { full } else if 64*v - N < 0 { tail } }
 *  => for v in N / 64 { full }  if 64*(N / 64) - N < 0 { tail at N / 64 }
 *
 * A serial loop whose first iterations are full, where one after them at most does anything. NULL: it is none. */
static const tc_stmt *peel_tail(tir_partitioner *k, const tc_stmt *loop, const versions *v) {
    int64_t coef = tc_affine_coef(&v->s, tc_varx(k->c, loop->u.loop.var));
    bool up = coef > 0;
    int full = up ? 0 : v->n - 1, from = up ? 1 : v->n - 1, to = up ? 0 : v->n - 2;
    if (up)
        while (to + 1 < v->n && v->part[to + 1])
            to++;
    else
        while (from > 0 && v->part[from - 1])
            from--;
    tc_ival does = does_something(v);
    if (loop->u.loop.kind != TC_FOR_SERIAL || !v->seg[full].full || from > to ||
        v->seg[to].s.hi - v->seg[from].s.lo >= (up ? coef : -coef) ||
        (up ? does.hi != v->seg[to].s.hi : does.lo != v->seg[from].s.lo) || !iterations(k, loop, &v->s, does))
        return NULL;
    const tc_expr *n = iterations(k, loop, &v->s, v->seg[full].s);
    if (!n)
        return NULL;
    const tc_expr *is_left = up ? at_most(k, &v->s, v->seg[to].s.hi) : at_least(k, &v->s, v->seg[from].s.lo);
    const tc_stmt *tail = tc_tir_if(k->c, is_left, false, if_chain(k, v, from, to), NULL);
    tir_copier copy = {.c = k->c, .names = k->names};
    tir_bind(&copy, loop->u.loop.var, n);
    tail = tir_copy_stmt(&copy, tail);
    tir_copier_free(&copy);
    return tc_tir_seq(k->c, 2, (const tc_stmt *[]){tc_tir_for_like(k->c, loop, loop->u.loop.var, n, v->part[full]), tail});
}

/* The loop itself cut at the segments: S is its variable. */
static const tc_stmt *split_loop(tir_partitioner *k, const tc_stmt *loop, const tir_segment *seg, int n) {
    const tc_stmt *part[TIR_MAX_SEGMENTS];
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
            part[i] = tc_tir_for_like(k->c, loop, v, tc_i64(k->c, count), part[i]);
        if (part[i])
            part[i] = walk(k, part[i]);
    }
    return tc_tir_seq(k->c, n, part);
}

/* Stores, and terms of their values. */
typedef struct size {
    int64_t stores, terms;
} size;

/* What copies of a body of that size would add. Those of sizes that vary are of cut tiles, half as large in the mean. Where no guard
 * holds, selects leave what they do not choose, but nothing else. */
static size cost_of(const tir_guard *g, const tir_segment *seg, int n, bool soft, size body) {
    int cut = 0;
    if (!tir_names_symbol(&g->s))
        return (size){(n - 1) * body.stores, (n - 1) * body.terms};
    for (int i = 0; i < n; i++)
        cut += !seg[i].full && !seg[i].none;
    return (size){cut * body.stores / 2, soft ? (n - 1) * body.terms : cut * body.terms / 2};
}

/* The group of guards with the most members whose copies can be afforded; hard ones first. */
static bool choose(tir_partitioner *k, const tc_stmt *loop, const tc_stmt *body, versions *v) {
    k->guards.len = k->serial_inside.len = 0;
    k->place = loop->u.loop.var;
    tir_collect_guards(k, body);
    int best = 0;
    size cost = {0}, whole = {0};
    if (k->guards.len)
        whole = (size){tir_weight(body, k->lanes), tir_terms(body, k->lanes)};
    for (size_t i = 0; i < k->guards.len; i++) {
        int members = 0;
        for (size_t j = 0; j < k->guards.len; j++)
            if (tc_affine_same_terms(&k->guards.data[i].s, &k->guards.data[j].s))
                members += k->guards.data[j].soft ? 1 : 1 << 16;
        tir_segment s[TIR_MAX_SEGMENTS];
        bool soft;
        int m = members > best ? tir_segments(k, &k->guards.data[i], s, &soft) : 0;
        const size more = m ? cost_of(&k->guards.data[i], s, m, soft, whole) : whole;
        if (!m || more.stores > k->stores || more.terms > k->terms || (soft && whole.stores > MAX_SOFT))
            continue;
        best = members;
        cost = more;
        v->s = k->guards.data[i].s;
        v->n = m;
        for (int j = 0; j < m; j++)
            v->seg[j] = s[j];
    }
    k->stores -= cost.stores;
    k->terms -= cost.terms;
    return best > 0;
}

/* The body of `loop` (or a copy of it) with its guards versioned, then those further inside. */
static const tc_stmt *versioned(tir_partitioner *k, const tc_stmt *loop, const tc_stmt *body) {
    versions v;
    if (!choose(k, loop, body, &v))
        return walk(k, body);
    specialise_all(k, loop, body, &v);
    return if_chain(k, &v, 0, v.n - 1);
}

static const tc_stmt *walk_for(tc_ctx *c, const tc_stmt *s, void *user) {
    tir_partitioner *k = user;
    bool serial = s->u.loop.kind == TC_FOR_SERIAL || s->u.loop.kind == TC_FOR_PARALLEL;
    size_t mark = tir_enter_loop(c, k->env, s->u.loop.var, s->u.loop.extent);
    tc_push(&k->outer, s->u.loop.var);
    versions v;
    int64_t extent;
    bool found = serial && choose(k, s, s->u.loop.body, &v);
    bool own = found && v.s.n == 1 && v.s.term[0].atom->op == TC_OP_VAR && v.s.term[0].atom->u.var == s->u.loop.var;
    if (own && s->u.loop.kind == TC_FOR_SERIAL && tir_const_extent(s, &extent)) {
        k->outer.len--;
        return split_loop(k, s, v.seg, v.n);
    }
    if (found)
        specialise_all(k, s, s->u.loop.body, &v);
    const tc_stmt *peeled = found ? peel_tail(k, s, &v) : NULL;
    const tc_stmt *body = peeled ? NULL : found ? if_chain(k, &v, 0, v.n - 1) : walk(k, s->u.loop.body);
    const tc_expr *reach = found ? reached(k, s, &v) : s->u.loop.extent;
    k->outer.len--;
    tc_env_undo(k->env, mark);
    return peeled ? peeled : tir_with_loop(c, s, reach, body);
}

static const tc_stmt *walk_if(tc_ctx *c, const tc_stmt *s, void *user);
static const tir_rules WALK = {{[TC_STMT_FOR] = walk_for, [TC_STMT_IF] = walk_if}};

static const tc_stmt *walk_if(tc_ctx *c, const tc_stmt *s, void *user) {
    const tir_partitioner *k = user;
    return tir_rewrite_arms(c, &WALK, s, k->env, user);
}

static const tc_stmt *walk(tir_partitioner *k, const tc_stmt *s) {
    return tir_rewrite(k->c, &WALK, s, k);
}

tc_status tir_pass_partition(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err) {
    (void)err;
    tir_names names;
    tir_names_init(&names, in);
    tir_partitioner k = {.c = c, .func = in, .names = &names, .env = tc_env_new(), .stores = MAX_STORES, .terms = MAX_TERMS};
    k.lanes = TC_MAX(m->vector_bytes / 4, 1);
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
