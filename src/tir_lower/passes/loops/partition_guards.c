/* The first half of partition: which guards can be versioned at which loop, and how they cut the range of S. */
#include "tir_lower/passes/loops/partition_int.h"

/* Partial segments up to this long become one body per value: of fixed sizes few, since mostly one of them is ever run, and of
 * sizes that vary the rows that are left of a register tile, any number of which may be. Longer ones are columns, of which there
 * is one body for each number of vectors. Chosen. */
enum { MAX_SINGLES = 2, MAX_VECTORS = 5 };

static bool listed(const tc_var *const *list, size_t n, const tc_var *v) {
    for (size_t i = 0; i < n; i++)
        if (list[i] == v)
            return true;
    return false;
}

enum side { OUTSIDE, TILE, NEITHER };

/* The variables of an atom, by where their loops are. */
typedef struct atom_vars {
    const tir_partitioner *k;
    bool outside, tile, serial_inside;
} atom_vars;

static void note_var(const tc_expr *e, void *user) {
    atom_vars *a = user;
    if (e->op != TC_OP_VAR)
        return;
    bool outside = e->u.var->is_symbol || listed(a->k->outer.data, a->k->outer.len, e->u.var);
    a->outside |= outside;
    a->tile |= !outside;
    a->serial_inside |= listed(a->k->serial_inside.data, a->k->serial_inside.len, e->u.var);
}

/* Whether an atom is made of loops outside the place, or of unrolled and vectorised loops inside it. */
static enum side side_of(const tir_partitioner *k, const tc_expr *atom) {
    atom_vars a = {.k = k};
    if (atom->op == TC_OP_VAR)
        note_var(atom, &a);
    else
        tc_expr_walk(atom, note_var, &a);
    if (a.serial_inside || (a.outside && a.tile))
        return NEITHER;
    return a.outside ? OUTSIDE : TILE;
}

/* We are in a segment of S: what its guards still test there, cutting it again would not decide. */
static bool is_cut(const tir_partitioner *k, const tc_affine *s) {
    for (size_t i = 0; i < k->facts.len; i++)
        if (tc_affine_same_terms(&k->facts.data[i].s, s))
            return true;
    return false;
}

/* Splits A into g*S + I. False unless S is there and uses the place's loop, or is made of sizes alone. */
static bool analyse(tir_partitioner *k, const tc_expr *cond, tir_guard *out) {
    tc_affine a, inner, *s = &out->s;
    if (!tir_cond_affine(k->c, cond, k->env, &a))
        return false;
    *s = (tc_affine){0};
    inner = (tc_affine){.c = a.c};
    bool uses = false, of_sizes = true;
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
            of_sizes &= tc_expr_is_of_symbols(a.term[i].atom);
        }
    }
    if (!uses && (!of_sizes || s->n == 0))
        return false;
    g = s->term[0].coef < 0 ? -g : g;
    for (int i = 0; i < s->n; i++)
        s->term[i].coef /= g;
    tc_ival r = tir_affine_bounds(k->c, &inner, k->env);
    if (!tc_ival_bounded(r) || (!uses && is_cut(k, s)))
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

static void note_guards(tir_partitioner *k, const tc_expr *cond, bool soft) {
    const tc_expr *conj[TIR_MAX_CONJUNCTS];
    int n = TC_MIN(tir_conjuncts(cond, conj, TIR_MAX_CONJUNCTS), TIR_MAX_CONJUNCTS);
    for (int i = 0; i < n; i++) {
        tir_guard g = {.soft = soft};
        /* Without a tile inside, a guard is what it would become: an IF here. */
        if (analyse(k, conj[i], &g) && (soft || g.full.lo != g.some.lo || g.full.hi != g.some.hi))
            tc_push(&k->guards, g);
    }
}

/* A number, or one that lies at a fixed place in memory. */
static bool is_fixed(const tc_expr *e) {
    return e->nargs == 0 || (e->op == TC_OP_LOAD && e->nargs == 1 && e->args[0]->op == TC_OP_INT);
}

static bool is_padding(const tc_expr *e) {
    return e->op == TC_OP_SELECT && e->args[1]->op == TC_OP_LOAD && is_fixed(e->args[2]);
}

static void note_padding(const tc_expr *e, void *user) {
    if (is_padding(e))
        note_guards(user, e->args[0], true);
}

/* acc = max(acc, select(cond, anything, -inf)): what a reduction that ends within a tile leaves out. */
static const tc_expr *left_out(const tc_stmt *s) {
    const tc_expr *v = s->u.store.value, *own = v->nargs ? v->args[0] : NULL;
    bool reduces = v->op == TC_OP_ADD || v->op == TC_OP_MAX || v->op == TC_OP_MIN;
    if (!reduces || own->op != TC_OP_LOAD || own->u.buffer != s->u.store.buffer)
        return NULL;
    return v->args[1]->op == TC_OP_SELECT && v->args[1]->args[2]->nargs == 0 ? v->args[1] : NULL;
}

static void note_selects(tir_partitioner *k, const tc_stmt *s) {
    const tc_expr *x = left_out(s);
    tc_expr_walk(s->u.store.value, note_padding, k);
    if (x && !is_padding(x))
        note_guards(k, x->args[0], true);
}

void tir_collect_guards(tir_partitioner *k, const tc_stmt *s) {
    const tc_stmt *inside;
    size_t serial = k->serial_inside.len;
    if (s->kind == TC_STMT_FOR) {
        tc_env_set(k->env, s->u.loop.var, tir_loop_range(s->u.loop.extent, k->env));
        if (s->u.loop.kind == TC_FOR_SERIAL || s->u.loop.kind == TC_FOR_PARALLEL)
            tc_push(&k->serial_inside, s->u.loop.var);
    } else if (s->kind == TC_STMT_IF && s->u.cond.guard) {
        note_guards(k, s->u.cond.cond, false);
    } else if (s->kind == TC_STMT_STORE) {
        note_selects(k, s);
    }
    for (int i = 0; (inside = tc_tir_child(s, i)); i++)
        tir_collect_guards(k, inside);
    k->serial_inside.len = serial;
}

static int add_segment(tir_segment *seg, int n, int64_t lo, int64_t hi, int64_t step, bool none) {
    for (int64_t x = lo; x <= hi; x += step)
        seg[n++] = (tir_segment){{x, TC_MIN(x + step - 1, hi)}, .none = none};
    return n;
}

/* A partial one, in steps counted from the end at which none holds, so that the last vector of each has a lane: `up`, from the
 * lower one. */
static int add_partial(const tir_partitioner *k, tir_segment *seg, int n, int64_t lo, int64_t hi, bool up, bool symbols) {
    int64_t count = hi - lo + 1, step = count;
    if (count <= (symbols ? TC_TIR_ROWS_LEFT : MAX_SINGLES))
        step = 1;
    else if (symbols && count <= MAX_VECTORS * k->lanes)
        step = k->lanes;
    int64_t first = !up && step > 1 ? count % step : 0;
    if (first > 0)
        n = add_segment(seg, n, lo, lo + first - 1, first, false);
    return count > first ? add_segment(seg, n, lo + first, hi, step, false) : n;
}

bool tir_names_symbol(const tc_affine *s) {
    for (int i = 0; i < s->n; i++)
        if (tc_expr_is_symbol(s->term[i].atom))
            return true;
    return false;
}

/* Of S here. The environment may have no place for a segment that we are in, which would then be cut again and again. */
static tc_ival range_of(const tir_partitioner *k, const tc_affine *s) {
    tc_ival r = tir_affine_bounds(k->c, s, k->env);
    for (size_t i = 0; i < k->facts.len; i++)
        if (tc_affine_same_terms(&k->facts.data[i].s, s))
            r = tc_ival_meet(r, k->facts.data[i].range);
    return r;
}

int tir_segments(const tir_partitioner *k, const tir_guard *g, tir_segment *seg, bool *soft) {
    tc_ival all = range_of(k, &g->s), full = all, some = {TC_INF, TC_NINF}, image = all;
    if (!tc_ival_bounded(all))
        return 0;
    *soft = true;
    for (size_t i = 0; i < k->guards.len; i++) {
        const tir_guard *h = &k->guards.data[i];
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
    bool symbols = tir_names_symbol(&g->s);
    int n = add_segment(seg, 0, all.lo, some.lo - 1, INT64_MAX / 2, true);
    n = add_partial(k, seg, n, some.lo, full.lo - 1, true, symbols);
    seg[n++] = (tir_segment){full, .full = true};
    n = add_partial(k, seg, n, full.hi + 1, some.hi, false, symbols);
    return add_segment(seg, n, some.hi + 1, all.hi, INT64_MAX / 2, true);
}
