/* Symbols: sizes of inputs that vary, and their relations in the model.
 *
 * Two sizes that meet in an operator, as in a sum, must be equal. A symbol that meets an expression of other symbols is replaced by
 * that expression from then on. For example, the length of an attention mask meets past + sequence. A size that meets the minimum
 * of itself and a number is at most that number. For example, the length of a text meets the rows of a table of positions. */
#include <inttypes.h>
#include <string.h>

#include "graph/ir/sizes.h"

static void forget(const tc_graph_sizes *s, const tc_graph_size_symbol *y) {
    tc_ival range = {y->now.lo / y->multiple, y->now.hi / y->multiple};
    tc_env_set(s->sure, y->var, range);
    tc_env_set(s->likely, y->var, range);
}

/* Something was made of it. */
static bool is_kept(const tc_graph_size_limit *l) {
    return !l->what || l->same || l->by || l->multiple > 1 || l->relied_upon;
}

tc_graph_sizes *tc_graph_sizes_take(tc_graph *g) {
    tc_graph_sizes *s = g->sizes;
    g->sizes = NULL;
    if (!s)
        return NULL;
    tc_map_free(&s->numbers);
    tc_map_free(&s->truths);
    tc_map_free(&s->values);
    for (size_t i = 0; i < s->symbols.len; i++)
        forget(s, &s->symbols.data[i]);
    size_t kept = 0;
    for (size_t i = 0; i < s->limits.len; i++)
        if (is_kept(&s->limits.data[i]))
            s->limits.data[kept++] = s->limits.data[i];
    s->limits.len = kept;
    s->wanted = (tc_graph_size_limit){0};
    s->ends.len = 0;
    s->again = false;
    return s;
}

tc_graph_size_symbol *tc_graph_sizes_symbol(const tc_graph_sizes *s, const char *name) {
    uintptr_t *index = tc_map_gets(&s->symbol_named, name);
    return index ? &s->symbols.data[*index] : NULL;
}

tc_graph_size_symbol *tc_graph_sizes_symbol_of(const tc_graph_sizes *s, const tc_var *var) {
    uintptr_t *index = tc_map_get(&s->symbol_of, var->id);
    return index ? &s->symbols.data[*index] : NULL;
}

void tc_graph_sizes_add_symbol(tc_graph_sizes *s, const tc_graph_size_symbol *symbol) {
    tc_graph_size_symbol y = *symbol;
    tc_arena *a = tc_ctx_arena(s->ctx);
    y.name = tc_arena_strdup(a, symbol->name);
    y.var = tc_var_new(s->ctx, y.multiple == 1 ? y.name : tc_arena_printf(a, "(%s / %" PRId64 ")", y.name, y.multiple));
    y.now = (tc_ival){y.least, y.most};
    y.own = tc_bin(s->ctx, TC_OP_MUL, tc_varx(s->ctx, y.var), tc_i64(s->ctx, y.multiple));
    y.is = y.least == y.most ? tc_i64(s->ctx, y.least) : y.own;
    tc_map_puts(&s->symbol_named, y.name, s->symbols.len);
    tc_map_put(&s->symbol_of, y.var->id, s->symbols.len);
    tc_push(&s->symbols, y);
    forget(s, &y);
}

tc_ival tc_graph_sizes_range(const tc_graph_sizes *s, const tc_graph_size_symbol *symbol) {
    if (symbol->is == symbol->own)
        return symbol->now;
    tc_ival r = tc_te_bounds(symbol->is, s->sure);
    return (tc_ival){TC_MAX(r.lo, 0), TC_MAX(r.hi, 0)};
}

bool tc_graph_sizes_is_narrowed(const tc_graph_size_symbol *symbol) {
    int64_t m = symbol->multiple;
    return symbol->now.lo > tc_ceil_div(symbol->least, m) * m || symbol->now.hi < symbol->most / m * m;
}

/* ---- where two sizes meet ---- */

bool tc_graph_sizes_is_other_variable(const tc_expr *x, const void *user) {
    const tc_graph_sizes *s = user;
    return x->op == TC_OP_VAR && !tc_graph_sizes_symbol_of(s, x->u.var);
}

/* Which symbols are in an expression. */
typedef struct symbols_in {
    const tc_graph_sizes *s;
    tc_graph_size_symbol *one; /* the last that was found; NULL: there is none */
    size_t n, assumed;         /* the latter: of the n */
} symbols_in;

static void note_symbol(const tc_expr *x, void *user) {
    symbols_in *in = user;
    tc_graph_size_symbol *y = x->op == TC_OP_VAR ? tc_graph_sizes_symbol_of(in->s, x->u.var) : NULL;
    if (!y)
        return;
    in->one = y;
    in->n++;
    in->assumed += in->one->assumed;
}

static symbols_in symbols_of(const tc_graph_sizes *s, const tc_expr *x) {
    symbols_in in = {.s = s};
    tc_expr_walk(x, note_symbol, &in);
    return in;
}

/* The symbol that x is, if it is one of which nothing is known but its range. */
static tc_graph_size_symbol *free_symbol(const tc_graph_sizes *s, const tc_expr *x) {
    for (size_t i = 0; i < s->symbols.len; i++)
        if (s->symbols.data[i].is == x && s->symbols.data[i].own == x)
            return &s->symbols.data[i];
    return NULL;
}

/* y is no other size; false: then there would be none. */
static bool narrow(const tc_graph_sizes *s, tc_graph_size_symbol *y, tc_ival to) {
    tc_ival r = tc_ival_meet(y->now, to);
    r.lo += (y->multiple - r.lo % y->multiple) % y->multiple;
    r.hi -= r.hi % y->multiple;
    if (r.lo > r.hi)
        return false;
    y->now = r;
    forget(s, y);
    return true;
}

static void assume(const tc_graph_sizes *s, const tc_expr *x, tc_op is, const tc_expr *y) {
    const tc_expr *holds = tc_bin(s->ctx, is, x, y);
    tc_env_assume(s->sure, holds);
    tc_env_assume(s->likely, holds);
}

static void assume_most(const tc_graph_sizes *s, const tc_expr *x, int64_t most) {
    assume(s, x, TC_OP_LE, tc_i64(s->ctx, most));
}

void tc_graph_sizes_assume_multiple(const tc_graph_sizes *s, const tc_expr *x, const tc_expr *by) {
    const tc_expr *rest = tc_bin(s->ctx, TC_OP_MOD, x, by);
    assume(s, by, TC_OP_GE, tc_i64(s->ctx, 1));
    if (by->op == TC_OP_INT) /* 6 n is a multiple of 4 where n is one of 2 */
        rest = tc_te_simplify(s->ctx, rest, s->sure);
    assume(s, rest, TC_OP_EQ, tc_i64(s->ctx, 0));
}

/* How often the sum has y, if that is one whose sizes are only assumed. */
static int64_t open_times(const tc_graph_sizes *s, const tc_affine *sum, const tc_graph_size_symbol *y) {
    return y->assumed && y->is == y->own ? tc_affine_coef(sum, tc_varx(s->ctx, y->var)) : 0;
}

/* The sum less what its open symbols make of it. */
static tc_ival rest_of(const tc_graph_sizes *s, const tc_expr *x, const tc_affine *sum, const tc_graph_size_symbol *but) {
    for (size_t i = 0; i < s->symbols.len; i++) {
        const tc_graph_size_symbol *y = &s->symbols.data[i];
        int64_t times = open_times(s, sum, y);
        if (times > 0 && (!but || y == but))
            x = tc_bin(s->ctx, TC_OP_SUB, x, tc_bin(s->ctx, TC_OP_MUL, y->own, tc_i64(s->ctx, times)));
    }
    return tc_te_bounds(x, s->sure);
}

/* No open symbol has a size with which the sum is always too large. */
static void narrow_each(const tc_graph_sizes *s, const tc_expr *x, const tc_affine *sum, int64_t most) {
    for (size_t i = 0; i < s->symbols.len; i++) {
        tc_graph_size_symbol *y = &s->symbols.data[i];
        int64_t times = open_times(s, sum, y);
        tc_ival rest = times > 0 ? rest_of(s, x, sum, y) : TC_IVAL_ALL;
        if (rest.lo != TC_NINF)
            (void)narrow(s, y, (tc_ival){0, TC_MAX(tc_floor_div(most - rest.lo, times), 0)});
    }
}

/* Open symbols of a sum share the room, so that all their sizes go together, and kernels run at the sum. Those that may be 0 are
 * what a run goes on from (a past), and get three quarters of it: a longer prompt is run in parts. False: what others may be
 * leaves too little. */
static bool share(const tc_graph_sizes *s, const tc_expr *x, const tc_affine *sum, int64_t most) {
    tc_ival rest = rest_of(s, x, sum, NULL);
    int64_t n[2] = {0}, room = rest.hi == TC_INF ? 0 : most - rest.hi;
    for (size_t i = 0; i < s->symbols.len; i++)
        n[s->symbols.data[i].now.lo == 0] += TC_MAX(open_times(s, sum, &s->symbols.data[i]), 0);
    if (room < most / 2 || room > most)
        return false;
    const int64_t part[] = {n[1] ? room / 4 : room, room - (n[0] ? room / 4 : 0)};
    for (int past = 0; past < 2; past++)
        if (n[past] && part[past] < n[past])
            return false;
    for (size_t i = 0; i < s->symbols.len; i++) {
        tc_graph_size_symbol *y = &s->symbols.data[i];
        bool past = y->now.lo == 0;
        if (open_times(s, sum, y) > 0)
            (void)narrow(s, y, (tc_ival){0, part[past] / n[past]});
    }
    return true;
}

/* x is at most so large in every run. */
static void limit(tc_graph_sizes *s, const tc_expr *x, int64_t most) {
    tc_push(&s->limits, ((tc_graph_size_limit){.x = x, .least = INT64_MIN, .most = most, .multiple = 1}));
    assume_most(s, x, most);
    tc_affine sum;
    if (tc_te_affine(s->ctx, x, s->sure, &sum) && !share(s, x, &sum, most))
        narrow_each(s, x, &sum, most);
}

/* b is min(a, ..). */
static bool is_less_of(const tc_expr *a, const tc_expr *b) {
    return b->op == TC_OP_MIN && (b->args[0] == a || b->args[1] == a);
}

/* a meets min(a, n). What somebody gave as the sizes of a is not silently made less. */
static bool bound(tc_graph_sizes *s, const tc_expr *a, const tc_expr *b) {
    if (!is_less_of(a, b))
        return false;
    const tc_expr *n = b->args[0] == a ? b->args[1] : b->args[0];
    const tc_graph_size_symbol *y = free_symbol(s, a);
    if (n->op != TC_OP_INT || n->u.i < TC_MAX(tc_te_bounds(a, s->sure).lo, 0) || (y && !y->assumed))
        return false;
    limit(s, a, n->u.i);
    return true;
}

static void assume_limit(const tc_graph_sizes *s, const tc_graph_size_limit *l) {
    if (l->by)
        tc_graph_sizes_assume_multiple(s, l->x, l->by);
    if (l->same)
        assume(s, l->x, TC_OP_EQ, l->same);
    else if (!l->what)
        assume_most(s, l->x, l->most);
    if (l->multiple > 1)
        tc_graph_sizes_assume_multiple(s, l->x, tc_i64(s->ctx, l->multiple));
}

/* From now on y is x: also in what others are made of. */
static void set_symbol(tc_graph_sizes *s, tc_graph_size_symbol *y, const tc_expr *x) {
    const tc_expr *times = tc_bin(s->ctx, TC_OP_DIV, x, tc_i64(s->ctx, y->multiple));
    for (size_t i = 0; i < s->symbols.len; i++) {
        tc_graph_size_symbol *other = &s->symbols.data[i];
        if (other->is != other->own)
            other->is = tc_graph_sizes_simplify(s, tc_expr_subst(s->ctx, other->is, 1, &y->var, &times));
    }
    for (size_t i = 0; i < s->limits.len; i++) {
        tc_graph_size_limit *l = &s->limits.data[i];
        l->x = tc_graph_sizes_simplify(s, tc_expr_subst(s->ctx, l->x, 1, &y->var, &times));
        if (l->by)
            l->by = tc_graph_sizes_simplify(s, tc_expr_subst(s->ctx, l->by, 1, &y->var, &times));
        if (l->same)
            l->same = tc_graph_sizes_simplify(s, tc_expr_subst(s->ctx, l->same, 1, &y->var, &times));
        assume_limit(s, l);
    }
    y->is = x;
}

/* Of two symbols that are the same, the first, which then has what sizes both have; those that somebody gave before what import
 * assumes. */
static bool join(tc_graph_sizes *s, tc_graph_size_symbol *y, tc_graph_size_symbol *x) {
    if (y->multiple != x->multiple)
        return false;
    if (x->assumed && !y->assumed) {
        x->now = y->now;
        x->assumed = false;
        forget(s, x);
    } else if (!y->assumed && !narrow(s, x, y->now)) {
        return false;
    }
    set_symbol(s, y, x->own);
    return true;
}

/* With x in the place of y's variable e does not grow too much: walks over it as a tree end. */
static bool stays_small(tc_graph_sizes *s, const tc_expr *e, const tc_graph_size_symbol *y, const tc_expr *x) {
    enum { MOST_DEPTH = 128, MOST_NODES = 4096 };
    const tc_expr *with = e ? tc_expr_subst(s->ctx, e, 1, &y->var, &x) : NULL;
    return with == e || (with->depth <= MOST_DEPTH && tc_expr_tree_size(with, MOST_NODES) <= MOST_NODES);
}

/* Do all numbers and limits that contain y stay small when x takes the place of y? Without this bound, a chain of symbols, each defined
 * by the one before, would double the text with each link. */
static bool all_stay_small(tc_graph_sizes *s, const tc_graph_size_symbol *y, const tc_expr *x) {
    const tc_expr *times = tc_bin(s->ctx, TC_OP_DIV, x, tc_i64(s->ctx, y->multiple));
    bool small = true;
    for (size_t i = 0; i < s->symbols.len && small; i++)
        small = s->symbols.data[i].is == s->symbols.data[i].own || stays_small(s, s->symbols.data[i].is, y, times);
    for (size_t i = 0; i < s->limits.len && small; i++) {
        const tc_graph_size_limit *l = &s->limits.data[i];
        small = stays_small(s, l->x, y, times) && stays_small(s, l->by, y, times) && stays_small(s, l->same, y, times);
    }
    return small;
}

static bool define(tc_graph_sizes *s, const tc_expr *a, const tc_expr *b) {
    tc_graph_size_symbol *y = free_symbol(s, a), *x = free_symbol(s, b);
    if (!y || (x && x > y) || tc_expr_uses_var(b, y->var))
        return false;
    if (x && y->multiple == x->multiple)
        return join(s, y, x);
    tc_ival both = tc_ival_meet(tc_te_bounds(b, s->sure), y->now);
    if ((!y->assumed && (b->op == TC_OP_INT || both.lo > both.hi)) || !all_stay_small(s, y, b))
        return false;
    set_symbol(s, y, b);
    if (!y->assumed && tc_te_bounds(b, s->sure).hi > y->now.hi)
        limit(s, b, y->now.hi);
    return true;
}

/* constant + times * y is a number: so y, of whose sizes nobody said anything, is one. */
static bool solve(tc_graph_sizes *s, const tc_expr *a, const tc_expr *b) {
    tc_affine sum;
    if (b->op != TC_OP_INT || !tc_te_affine(s->ctx, a, s->sure, &sum) || sum.n != 1)
        return false;
    for (size_t i = 0; i < s->symbols.len; i++) {
        tc_graph_size_symbol *y = &s->symbols.data[i];
        int64_t times = open_times(s, &sum, y), rest;
        if (times <= 0 || __builtin_sub_overflow(b->u.i, sum.c, &rest) || rest < 0 || rest % times != 0)
            continue;
        set_symbol(s, y, tc_i64(s->ctx, rest / times * y->multiple));
        return true;
    }
    return false;
}

/* They are the same as runs check it. */
static bool are_equated(tc_graph_sizes *s, const tc_expr *a, const tc_expr *b) {
    for (size_t i = 0; i < s->limits.len; i++) {
        const tc_graph_size_limit *l = &s->limits.data[i];
        if (!l->same)
            continue;
        const tc_expr *x = tc_graph_sizes_simplify(s, l->x), *y = tc_graph_sizes_simplify(s, l->same);
        if ((x == a && y == b) || (x == b && y == a))
            return true;
    }
    return false;
}

/* ---- where neither is free ---- */

/* False: there are no integers with which it is 0. */
static bool may_be_zero(const tc_graph_sizes *s, const tc_expr *x) {
    tc_ival r = tc_te_bounds(x, s->sure);
    tc_affine sum;
    int64_t g = 0;
    if (r.lo > 0 || r.hi < 0 || !tc_te_affine(s->ctx, x, s->sure, &sum))
        return r.lo <= 0 && r.hi >= 0;
    for (int i = 0; i < sum.n; i++)
        g = tc_gcd(g, sum.term[i].coef);
    return g == 0 ? sum.c == 0 : sum.c % g == 0;
}

/* One size at most is left of the only symbol in a, if b is a number. */
static bool leaves_one(const tc_graph_sizes *s, const tc_expr *a, const tc_expr *b) {
    tc_affine sum;
    return b->op == TC_OP_INT && symbols_of(s, a).n == 1 && tc_te_affine(s->ctx, a, s->sure, &sum) && sum.n == 1 &&
           sum.term[0].atom->op == TC_OP_VAR;
}

/* y is no other size than those with which times * units of it, and the rest, are within the range. False: it has none. */
static bool narrow_to(const tc_graph_sizes *s, tc_graph_size_symbol *y, tc_ival range, tc_ival rest, int64_t times) {
    tc_ival left = tc_ival_add(range, tc_ival_scale(rest, -1)), units = times < 0 ? tc_ival_scale(left, -1) : left;
    int64_t by = times < 0 ? -times : times;
    if (!tc_ival_bounded(left))
        return true;
    units = (tc_ival){tc_ceil_div(units.lo, by), tc_floor_div(units.hi, by)};
    tc_ival own = {y->now.lo / y->multiple, y->now.hi / y->multiple};
    units = tc_ival_meet(units, own); /* so that the multiples do not overflow */
    return units.lo <= units.hi && narrow(s, y, (tc_ival){units.lo * y->multiple, units.hi * y->multiple});
}

/* x is within the range in every run, so no size is that contradicts it whatever the others are. False: of a symbol none is
 * left. */
static bool fit(const tc_graph_sizes *s, const tc_expr *x, tc_ival range) {
    tc_affine sum;
    bool is_sum = tc_te_affine(s->ctx, x, s->sure, &sum); /* before a symbol in it has one value, and is none any more */
    assume(s, x, TC_OP_GE, tc_i64(s->ctx, range.lo));
    assume_most(s, x, range.hi);
    if (!is_sum)
        return true;
    for (size_t i = 0; i < s->symbols.len; i++) {
        tc_graph_size_symbol *y = &s->symbols.data[i];
        const tc_expr *var = tc_varx(s->ctx, y->var);
        int64_t times = y->is == y->own ? tc_affine_coef(&sum, var) : 0;
        if (times == 0)
            continue;
        const tc_expr *rest = tc_bin(s->ctx, TC_OP_SUB, x, tc_bin(s->ctx, TC_OP_MUL, var, tc_i64(s->ctx, times)));
        if (!narrow_to(s, y, range, tc_te_bounds(rest, s->sure), times))
            return false;
    }
    return true;
}

/* Both have the same largest values. False: they have none in common. */
static bool fit_each_other(const tc_graph_sizes *s, const tc_expr *a, const tc_expr *b) {
    enum { MOST_ROUNDS = 16 }; /* each cuts off what one of them cannot be: 2 n = 3 m takes three */
    for (int round = 0; round < MOST_ROUNDS; round++) {
        tc_ival x = tc_te_bounds(a, s->sure), y = tc_te_bounds(b, s->sure), both = tc_ival_meet(x, y);
        if (both.lo > both.hi || !tc_ival_bounded(both))
            return false;
        if (x.hi == y.hi)
            return true;
        if (!fit(s, a, both) || !fit(s, b, both))
            return false;
    }
    return false;
}

bool tc_graph_sizes_equate(tc_graph_sizes *s, const char *what, const tc_expr *a, const tc_expr *b) {
    if (is_less_of(a, b) || is_less_of(b, a) || !may_be_zero(s, tc_bin(s->ctx, TC_OP_SUB, a, b)) || leaves_one(s, a, b) ||
        leaves_one(s, b, a) || !tc_graph_sizes_is_checkable(s, a) || !tc_graph_sizes_is_checkable(s, b) ||
        !fit_each_other(s, a, b))
        return false;
    assume(s, a, TC_OP_EQ, b);
    what = tc_arena_strdup(tc_ctx_arena(s->ctx), what);
    tc_push(&s->limits,
            ((tc_graph_size_limit){.x = a, .same = b, .least = INT64_MIN, .most = INT64_MAX, .multiple = 1, .what = what}));
    s->again = true;
    return true;
}

/* ---- meeting ---- */

static bool has_equated(const tc_graph_sizes *s) {
    for (size_t i = 0; i < s->limits.len; i++)
        if (s->limits.data[i].same)
            return true;
    return false;
}

/* They are the same. Another relation may have left one of them fewer sizes since. */
static tc_graph_meeting meet_equal(tc_graph_sizes *s, const tc_expr *a, const tc_expr *b) {
    if (tc_te_bounds(a, s->sure).hi == tc_te_bounds(b, s->sure).hi)
        return TC_GRAPH_SIZES_EQUAL;
    bool fewer = fit_each_other(s, a, b);
    s->again |= fewer;
    return fewer ? TC_GRAPH_SIZES_RELATED : TC_GRAPH_SIZES_DIFFER;
}

static bool depend_on_data(const tc_graph_sizes *s, const tc_expr *a, const tc_expr *b) {
    return tc_expr_any(a, tc_graph_sizes_is_other_variable, s) || tc_expr_any(b, tc_graph_sizes_is_other_variable, s);
}

bool tc_graph_sizes_may_differ(tc_graph_sizes *s, const tc_expr *a, const tc_expr *b) {
    if (depend_on_data(s, a, b) || are_equated(s, a, b))
        return false;
    return !tc_is_int(tc_graph_sizes_simplify(s, tc_bin(s->ctx, TC_OP_SUB, a, b)), 0);
}

tc_graph_meeting tc_graph_sizes_meet(tc_graph_sizes *s, const tc_expr *a, const tc_expr *b) {
    if (depend_on_data(s, a, b))
        return TC_GRAPH_SIZES_EQUAL;
    if (!tc_graph_sizes_may_differ(s, a, b))
        return has_equated(s) ? meet_equal(s, a, b) : TC_GRAPH_SIZES_EQUAL;
    bool learnt = bound(s, a, b) || bound(s, b, a) || define(s, a, b) || define(s, b, a) || solve(s, a, b) || solve(s, b, a);
    s->again |= learnt;
    return learnt ? TC_GRAPH_SIZES_RELATED : TC_GRAPH_SIZES_DIFFER;
}

/* ---- sizes that import assumes ---- */

bool tc_graph_sizes_is_assumed(const tc_graph_sizes *s, const tc_expr *x) {
    symbols_in in = symbols_of(s, x);
    return in.n > 0 && in.assumed == in.n && !tc_expr_any(x, tc_graph_sizes_is_other_variable, s);
}

/* The only symbol in x; NULL: there are several, or none. */
static tc_graph_size_symbol *only_symbol(const tc_graph_sizes *s, const tc_expr *x) {
    symbols_in in = symbols_of(s, x);
    return in.n == 1 ? in.one : NULL;
}

/* ---- trying sizes ---- */

typedef TC_VEC(const tc_graph_size_limit *) limits;

/* Sizes of y, one after the other. */
typedef struct trial {
    tc_graph_sizes *s;
    tc_graph_size_symbol *y;
    tc_env *at;
    limits of_y; /* limits on y alone */
} trial;

static trial begin_trial(tc_graph_sizes *s, tc_graph_size_symbol *y) {
    return (trial){.s = s, .y = y, .at = tc_env_new()};
}

static void find_limits(trial *t) {
    for (size_t i = 0; i < t->s->limits.len; i++)
        if (only_symbol(t->s, t->s->limits.data[i].x) == t->y)
            tc_push(&t->of_y, &t->s->limits.data[i]);
}

static void end_trial(trial *t) {
    tc_env_free(t->at);
    tc_vec_free(&t->of_y);
}

/* False: import has tried so many sizes, for all conditions and limits together, that it tries no more. */
static bool try_units(trial *t, int64_t units) {
    enum { MOST_TRIED = 1 << 22 }; /* half a second */
    t->s->tried += 1 + (int64_t)t->of_y.len;
    tc_env_set(t->at, t->y->var, (tc_ival){units, units});
    return t->s->tried <= MOST_TRIED;
}

static bool holds_at(trial *t, const tc_expr *condition, int64_t units) {
    return try_units(t, units) && tc_te_decide(condition, t->at) == 1;
}

static bool is_within(const tc_graph_size_limit *l, int64_t x) {
    return x >= l->least && x <= l->most && x % l->multiple == 0;
}

/* No limit on y alone excludes so many. */
static bool is_allowed(trial *t, int64_t units) {
    bool allowed = try_units(t, units);
    for (size_t i = 0; i < t->of_y.len && allowed; i++) {
        tc_ival r = tc_te_bounds(t->of_y.data[i]->x, t->at);
        allowed = r.lo != r.hi || is_within(t->of_y.data[i], r.lo);
    }
    return allowed;
}

bool tc_graph_sizes_mostly_hold(tc_graph_sizes *s, const tc_expr *condition) {
    enum { LOOKED_AT = 1024 }; /* from the largest down */
    tc_graph_size_symbol *y = only_symbol(s, condition);
    if (!y)
        return false;
    trial t = begin_trial(s, y);
    int64_t hold = 0, n = 0, most = y->now.hi / y->multiple, least = TC_MAX(y->now.lo / y->multiple, most - LOOKED_AT);
    find_limits(&t);
    for (int64_t v = least; v <= most; v++) {
        bool allowed = is_allowed(&t, v);
        n += allowed;
        hold += allowed && holds_at(&t, condition, v);
    }
    end_trial(&t);
    return hold > n / 2;
}

enum {
    FARTHER = 16, /* than the largest size that is assumed: no network that was seen needs more */
    TIMES = 16    /* of the least size: a detector of speech that takes 129 samples or more gets 512 to 1536 */
};

/* The units of y for which the condition holds: around the largest that it has, or above all of them. False: nothing is found. */
static bool find_units(trial *t, const tc_expr *condition, bool is_end, tc_ival *units) {
    const tc_graph_size_symbol *y = t->y;
    const int64_t lo = y->now.lo / y->multiple, hi = y->now.hi / y->multiple, end = FARTHER * TC_MAX(hi, 1);
    int64_t v = hi;
    while (v >= lo && !holds_at(t, condition, v))
        v--;
    for (; v < lo && hi < end; v = hi) /* once */
        for (int64_t above = hi + 1;; above++) {
            if (above > end)
                return false;
            if (!holds_at(t, condition, above))
                continue;
            *units = (tc_ival){above, above};
            while (units->hi < TIMES * above && holds_at(t, condition, units->hi + 1))
                units->hi++;
            return true;
        }
    *units = (tc_ival){v, v};
    while (units->lo > lo && holds_at(t, condition, units->lo - 1))
        units->lo--;
    int64_t last = v;
    while (is_end && v == hi && last < end && holds_at(t, condition, last + 1))
        last++;
    if (last < end)
        units->hi = last;
    return true;
}

static bool has_end(const tc_graph_sizes *s, const tc_graph_size_symbol *y) {
    for (size_t i = 0; i < s->ends.len; i++)
        if (tc_expr_uses_var(s->ends.data[i], y->var))
            return true;
    return false;
}

/* What followed from ranges that are larger now is no fact any more: a multiple of 600 up to 512 is 0. */
static void forget_facts(tc_graph_sizes *s) {
    tc_env_free(s->sure);
    tc_env_free(s->likely);
    s->sure = tc_env_new();
    s->likely = tc_env_new();
    for (size_t i = 0; i < s->symbols.len; i++)
        forget(s, &s->symbols.data[i]);
    for (size_t i = 0; i < s->limits.len; i++)
        assume_limit(s, &s->limits.data[i]);
}

/* Of a symbol whose smallest sizes the network refuses: the range begins at the first size that the network takes. An input that
 * cannot be short is a signal or an image, and is often many times as large as its least size. */
static void begin_at_least(tc_graph_sizes *s, tc_graph_size_symbol *y) {
    const int64_t lo = y->now.lo / y->multiple, hi = y->now.hi / y->multiple, end = FARTHER * TC_MAX(hi, 1);
    const bool whole = y->now.hi == y->most; /* nothing has narrowed the range that is assumed */
    const int64_t last = whole ? end : hi;
    int64_t least = lo;
    if (!y->assumed || y->is != y->own)
        return;
    trial t = begin_trial(s, y);
    find_limits(&t);
    while (least <= last && !is_allowed(&t, least))
        least++;
    const bool grows = whole && least <= last && is_allowed(&t, TIMES * least);
    end_trial(&t);
    if (least == lo || least > last || (least <= hi && (y->settled || has_end(s, y))))
        return;
    y->now = (tc_ival){least * y->multiple, TC_MAX(hi, grows ? TIMES * least : least) * y->multiple};
    y->least = y->now.lo;
    y->most = y->now.hi;
    y->settled = true;
    forget_facts(s);
    s->again = true;
}

void tc_graph_sizes_find_ends(tc_graph_sizes *s) {
    for (size_t i = 0; i < s->ends.len && !s->again; i++)
        (void)tc_graph_sizes_choose(s, s->ends.data[i], true);
    for (size_t i = 0; i < s->symbols.len && !s->again; i++)
        begin_at_least(s, &s->symbols.data[i]);
}

bool tc_graph_sizes_choose(tc_graph_sizes *s, const tc_expr *condition, bool is_end) {
    tc_graph_size_symbol *y = tc_graph_sizes_is_assumed(s, condition) ? only_symbol(s, condition) : NULL;
    tc_ival units;
    if (!y || y->is != y->own || (is_end && (y->settled || s->is_chosen)))
        return false;
    trial t = begin_trial(s, y);
    bool found = find_units(&t, condition, is_end, &units);
    end_trial(&t);
    if (!found)
        return false;
    tc_ival sizes = {units.lo * y->multiple, units.hi * y->multiple};
    if (sizes.lo == y->now.lo && sizes.hi == y->now.hi)
        return false;
    if (is_end && !s->reconsidered && (sizes.lo > y->now.lo || sizes.hi < y->now.hi)) {
        s->choice.condition = condition;
        s->choice.symbol = (size_t)(y - s->symbols.data);
        s->choice.before = y->now;
    }
    y->settled |= is_end;
    y->now = sizes;
    y->least = sizes.lo;
    y->most = sizes.hi;
    forget(s, y);
    s->again = true;
    return true;
}

void tc_graph_sizes_reconsider(tc_graph_sizes *s) {
    const tc_expr *condition = s->choice.condition;
    tc_graph_size_symbol *y = condition ? &s->symbols.data[s->choice.symbol] : NULL;
    if (!y || s->reconsidered || y->is != y->own)
        return;
    s->reconsidered = true;
    y->now = s->choice.before;
    y->settled = false;
    forget(s, y);
    (void)tc_graph_sizes_choose(s, tc_un(s->ctx, TC_OP_NOT, condition), true);
}

/* ---- text ---- */

void tc_graph_sizes_print(tc_strbuf *b, const tc_expr *x) {
    tc_expr_print(b, x);
}

void tc_graph_sizes_print_assumed(tc_strbuf *b, const tc_graph_sizes *s) {
    enum { SHOWN = 16 }; /* the reason stands behind them, and a message is not long */
    const char *between = "";
    size_t n = 0;
    for (size_t i = 0; i < s->symbols.len; i++) {
        const tc_graph_size_symbol *y = &s->symbols.data[i];
        if (!y->assumed || ++n > SHOWN)
            continue;
        tc_sb_printf(b, "%s%s=", between, y->name);
        if (y->is == y->own)
            tc_sb_printf(b, "%" PRId64 "..%" PRId64, y->now.lo, y->now.hi);
        else
            tc_graph_sizes_print(b, y->is);
        between = ", ";
    }
    if (n > SHOWN)
        tc_sb_printf(b, " and %zu others", n - SHOWN);
}
