/* Checks the sizes of a run's inputs against the known facts about symbols. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ir/sizes.h"

/* ---- the rules of a graph ---- */

/* The range of a symbol's variable, which is a number of multiples. */
static tc_ival units_of(int64_t least, int64_t most, int64_t multiple) {
    return (tc_ival){tc_ceil_div(least, multiple), most / multiple};
}

/* What runs compute of x, in the arena; n 0: they cannot. */
static tc_formula formula_of(const tc_graph_sizes *s, int n, const tc_graph_size_symbol *const *symbols, const tc_expr *x,
                             tc_arena *a) {
    const tc_var **var = tc_xcalloc((size_t)n + 1, sizeof(tc_var *));
    tc_ival *range = tc_xcalloc((size_t)n + 1, sizeof *range);
    tc_formula f = {0};
    for (int k = 0; k < n; k++) {
        tc_ival sizes = tc_graph_sizes_range(s, symbols[k]);
        var[k] = symbols[k]->var;
        range[k] = units_of(sizes.lo, sizes.hi, symbols[k]->multiple);
    }
    if (!tc_formula_of(x, n, var, a, &f) || !tc_formula_is_sound(&f, n, range))
        f.n = 0;
    free((void *)var);
    free(range);
    return f;
}

static tc_graph_size_value value_in(const tc_graph *g, const tc_expr *x, tc_arena *a) {
    size_t n = g->symbols.len;
    const tc_graph_size_symbol **symbols = tc_xcalloc(n + 1, sizeof(tc_graph_size_symbol *));
    tc_strbuf b = {0};
    for (size_t k = 0; k < n; k++)
        symbols[k] = tc_graph_sizes_symbol(g->sizes, g->symbols.data[k].name);
    tc_graph_sizes_print(&b, x);
    tc_graph_size_value r = {tc_arena_strdup(a, tc_sb_str(&b)), formula_of(g->sizes, (int)n, symbols, x, a), x};
    tc_strbuf_free(&b);
    free((void *)symbols);
    return r;
}

static int symbol_of(const tc_graph *g, const tc_graph_value *size) {
    int k = 0;
    while (g->symbols.data[k].value != size)
        k++;
    return k;
}

static void list_inputs(const tc_graph *g, tc_arena *a, tc_graph_size_rules *r) {
    tc_graph_sized_input *in = TC_NEW_N(a, tc_graph_sized_input, r->nin);
    for (int i = 0; i < r->nin; i++) {
        const tc_graph_value *v = g->inputs.data[i];
        in[i].name = tc_arena_strdup(a, v->name);
        in[i].ndim = v->shape.ndim;
        for (int d = 0; d < v->shape.ndim; d++)
            in[i].size[d] = g->symbols.len && v->extent && v->extent[d] ? symbol_of(g, v->extent[d]) : -1;
    }
    r->in = in;
}

void tc_graph_size_rules_of(const tc_graph *g, tc_arena *a, tc_graph_size_rules *out) {
    size_t n = g->symbols.len, nlimits = n ? g->sizes->limits.len : 0;
    tc_graph_size_rule *size = TC_NEW_N(a, tc_graph_size_rule, n);
    tc_graph_size_bound *limit = TC_NEW_N(a, tc_graph_size_bound, nlimits);
    *out = (tc_graph_size_rules){
        .nin = (int)(g->inputs.len - n), .nsize = (int)n, .nlimit = (int)nlimits, .size = size, .limit = limit};
    list_inputs(g, a, out);
    for (size_t k = 0; k < n; k++) {
        const tc_graph_symbol *s = &g->symbols.data[k];
        size[k] =
            (tc_graph_size_rule){tc_arena_strdup(a, s->name), s->least, s->most, s->multiple, s->assumed, s->narrowed, {0}, NULL};
        size[k].var = tc_graph_sizes_symbol(g->sizes, s->name)->var;
        if (s->is)
            size[k].is = value_in(g, s->is, a);
    }
    for (size_t i = 0; i < nlimits; i++) {
        const tc_graph_size_limit *l = &g->sizes->limits.data[i];
        limit[i] = (tc_graph_size_bound){.x = value_in(g, l->x, a),
                                         .least = l->least,
                                         .most = l->most,
                                         .multiple = l->multiple,
                                         .what = l->what ? tc_arena_strdup(a, l->what) : NULL};
        if (l->by)
            limit[i].by = value_in(g, l->by, a);
        if (l->same)
            limit[i].same = value_in(g, l->same, a);
    }
}

/* ---- what nodes need ---- */

static bool is_multiple(tc_graph_sizes *s, const tc_expr *x, int64_t of) {
    const tc_expr *rest = tc_graph_sizes_simplify(s, tc_bin(s->ctx, TC_OP_MOD, x, tc_i64(s->ctx, of)));
    return rest->op == TC_OP_INT && rest->u.i == 0;
}

bool tc_graph_sizes_is_checkable(const tc_graph_sizes *s, const tc_expr *x) {
    const tc_graph_size_symbol **symbols = tc_xcalloc(s->symbols.len + 1, sizeof(tc_graph_size_symbol *));
    tc_arena *a = tc_arena_new();
    for (size_t k = 0; k < s->symbols.len; k++)
        symbols[k] = &s->symbols.data[k];
    bool is = formula_of(s, (int)s->symbols.len, symbols, x, a).n > 0;
    tc_arena_free(a);
    free((void *)symbols);
    return is;
}

/* x >= least as x' >= least, where x' has y in the place of max(y, k), as the k that stand in x make it no more than what is too
 * little: (max(n - 3, -1) + 1) / 2 >= 1 is (n - 2) / 2 >= 1. */
static const tc_expr *without_floors(tc_graph_sizes *s, const tc_expr *x, int64_t least) {
    tc_ctx *c = s->ctx;
    tc_affine sum;
    int64_t below, whole = 0;
    for (int i = 0; i < 2 && x->op == TC_OP_MAX; i++)
        if (x->args[i]->op == TC_OP_INT && x->args[i]->u.i < least)
            return without_floors(s, x->args[1 - i], least);
    if (x->op == TC_OP_DIV) {
        bool by = x->args[1]->op == TC_OP_INT && x->args[1]->u.i > 0 && !__builtin_mul_overflow(least, x->args[1]->u.i, &whole);
        return by ? tc_div(c, without_floors(s, x->args[0], whole), x->args[1]) : x;
    }
    if (x->op == TC_OP_VAR || x->op == TC_OP_MAX || !tc_te_affine(c, x, s->sure, &sum) || sum.n != 1 || sum.term[0].coef < 1 ||
        sum.term[0].atom == x || __builtin_sub_overflow(sum.c, least, &below) || below == INT64_MIN)
        return x;
    int64_t times = sum.term[0].coef;
    const tc_expr *y = without_floors(s, sum.term[0].atom, -tc_floor_div(below, times));
    return tc_add(c, tc_mul(c, y, tc_i64(c, times)), tc_i64(c, sum.c));
}

static void add_limit(tc_graph_sizes *s, const tc_graph_size_limit *x) {
    for (size_t i = 0; i < s->limits.len; i++) {
        const tc_graph_size_limit *l = &s->limits.data[i];
        if (l->what && l->x == x->x && l->by == x->by && l->least == x->least && l->most == x->most && l->multiple == x->multiple)
            return;
    }
    tc_push(&s->limits, *x);
}

/* The limit that says so, or more; NULL: there is none. */
static tc_graph_size_limit *limit_of(const tc_graph_sizes *s, const tc_expr *x, int64_t least, int64_t most, int64_t multiple) {
    for (size_t i = 0; i < s->limits.len; i++) {
        tc_graph_size_limit *l = &s->limits.data[i];
        if (l->x == x && l->least >= least && l->most <= most && l->multiple % multiple == 0)
            return l;
    }
    return NULL;
}

/* As what it is checked. */
static const tc_expr *checked_as(tc_graph_sizes *s, const tc_expr *x, int64_t least, int64_t most, int64_t multiple) {
    bool from_below = most == INT64_MAX && multiple == 1 && least > INT64_MIN / 2;
    return from_below ? tc_graph_sizes_simplify(s, without_floors(s, x, least)) : x;
}

static bool keeps(tc_graph_sizes *s, const tc_expr *x, int64_t least, int64_t most, int64_t multiple) {
    tc_ival range = tc_te_bounds(x, s->sure);
    return range.lo >= least && range.hi <= most && is_multiple(s, x, multiple);
}

bool tc_graph_sizes_keeps(tc_graph_sizes *s, const tc_expr *x, int64_t least, int64_t most, int64_t multiple) {
    if (tc_expr_any(x, tc_graph_sizes_is_other_variable, s) || keeps(s, x, least, most, multiple))
        return true;
    x = checked_as(s, x, least, most, multiple);
    return keeps(s, x, least, most, multiple) || limit_of(s, x, least, most, multiple);
}

bool tc_graph_sizes_require(tc_graph_sizes *s, const char *what, const tc_expr *x, int64_t least, int64_t most,
                            int64_t multiple) {
    if (tc_expr_any(x, tc_graph_sizes_is_other_variable, s))
        return true;
    x = checked_as(s, x, least, most, multiple);
    tc_ival range = tc_te_bounds(x, s->sure);
    if (range.hi < least || range.lo > most)
        return false;
    if (keeps(s, x, least, most, multiple) || (multiple == 1 && !tc_graph_sizes_is_checkable(s, x)))
        return true;
    what = tc_arena_strdup(tc_ctx_arena(s->ctx), what); /* of a body, whose graph may be given up */
    add_limit(s, &(tc_graph_size_limit){.x = x, .least = least, .most = most, .multiple = multiple, .what = what});
    if (multiple > 1)
        tc_graph_sizes_assume_multiple(s, x, tc_i64(s->ctx, multiple));
    return true;
}

bool tc_graph_sizes_keeps_multiple(tc_graph_sizes *s, const tc_expr *x, const tc_expr *by) {
    if (tc_expr_any(x, tc_graph_sizes_is_other_variable, s) || tc_expr_any(by, tc_graph_sizes_is_other_variable, s))
        return true;
    const tc_expr *rest = tc_graph_sizes_simplify(s, tc_bin(s->ctx, TC_OP_MOD, x, by));
    tc_ival left = tc_te_bounds(rest, s->sure);
    return tc_te_bounds(by, s->sure).lo >= 1 && left.lo == 0 && left.hi == 0;
}

bool tc_graph_sizes_require_multiple(tc_graph_sizes *s, const char *what, const tc_expr *x, const tc_expr *by) {
    if (tc_te_bounds(by, s->sure).hi < 1)
        return false;
    if (tc_graph_sizes_keeps_multiple(s, x, by))
        return true;
    what = tc_arena_strdup(tc_ctx_arena(s->ctx), what);
    add_limit(s, &(tc_graph_size_limit){.x = x, .by = by, .least = INT64_MIN, .most = INT64_MAX, .multiple = 1, .what = what});
    tc_graph_sizes_assume_multiple(s, x, by);
    return true;
}

void tc_graph_sizes_find_wanted(tc_graph_sizes *s) {
    const tc_graph_size_limit w = s->wanted;
    if (!w.x || w.same)
        return; /* what is equal begins again by itself */
    if (w.by) {
        s->again |= tc_graph_sizes_keeps_multiple(s, w.x, w.by);
        return;
    }
    tc_graph_size_limit *l = limit_of(s, checked_as(s, w.x, w.least, w.most, w.multiple), w.least, w.most, w.multiple);
    if (!l || l->relied_upon)
        return;
    s->again = l->relied_upon = true;
}

/* ---- what is kept of them ---- */

bool tc_graph_size_value_is_sound(const tc_graph_size_rules *r, const tc_graph_size_value *x) {
    tc_ival *range = tc_xcalloc((size_t)r->nsize + 1, sizeof *range);
    for (int k = 0; k < r->nsize; k++)
        range[k] = units_of(r->size[k].least, r->size[k].most, r->size[k].multiple);
    bool is = tc_formula_is_sound(&x->formula, r->nsize, range);
    free(range);
    return is;
}

static tc_status settle(const tc_graph_size_rules *r, tc_graph_size_value *x, const char *what, tc_error *err) {
    if (x->text && !tc_graph_size_value_is_sound(r, x))
        return tc_refuse(err, TC_ERROR_UNSUPPORTED,
                         "%s%s%s, but a built model only computes +, -, *, /, %%, min and max of sizes, within 64 bits; give one "
                         "of these sizes as a single number (--shape)",
                         what ? what : "sizes that vary are related by ", what ? " is " : "", x->text);
    x->of = NULL;
    return TC_OK;
}

tc_status tc_graph_size_rules_settle(tc_graph_size_rules *r, tc_error *err) {
    for (int i = 0; i < r->nlimit; i++) {
        TC_TRY(settle(r, &r->limit[i].x, r->limit[i].what, err));
        TC_TRY(settle(r, &r->limit[i].by, NULL, err));
        TC_TRY(settle(r, &r->limit[i].same, NULL, err));
    }
    for (int k = 0; k < r->nsize; k++) {
        TC_TRY(settle(r, &r->size[k].is, NULL, err));
        r->size[k].var = NULL;
    }
    return TC_OK;
}

/* ---- a run ---- */

typedef struct binding {
    const tc_graph_size_rules *r;
    int64_t *size;             /* -1: not known yet */
    const tc_graph_tensor *in; /* NULL: there are none */
    int input, dim;            /* which was looked at last */
} binding;

/* Whose size it is: of the last one that was looked at and has it. */
static const char *place_of(const binding *b, int k, tc_arena *a) {
    for (int i = b->in ? b->input : -1; i >= 0; i--)
        for (int d = i == b->input ? b->dim : b->r->in[i].ndim - 1; d >= 0 && b->in[i].shape.ndim == b->r->in[i].ndim; d--)
            if (b->r->in[i].size[d] == k)
                return tc_arena_printf(a, "dimension %d of input '%s'", d, b->r->in[i].name);
    return tc_arena_printf(a, "size '%s'", b->r->size[k].name);
}

/* size[k] */
static tc_status check_range(const binding *b, int k, tc_error *err) {
    const tc_graph_size_rule *s = &b->r->size[k];
    int64_t size = b->size[k];
    if (size >= s->least && size <= s->most && size % s->multiple == 0)
        return TC_OK;
    tc_arena *a = tc_arena_new();
    const char *how = s->assumed ? "was assumed" : s->narrowed ? "fits the other sizes" : "was given", *more = "for more";
    if (!s->narrowed && s->multiple == 1 && !s->is.text)
        more =
            tc_arena_printf(a, "with --shape %s=%" PRId64 "..%" PRId64, s->name, TC_MIN(size, s->least), TC_MAX(size, s->most));
    tc_status st =
        tc_fail(err, TC_BAD_INPUT,
                "%s is %" PRId64 ", but '%s' %s as %" PRId64 "..%" PRId64 "%s; give it in one of these sizes, or build the "
                "model %s",
                place_of(b, k, a), size, s->name, how, s->least, s->most, s->multiple > 1 ? " in steps" : "", more);
    tc_arena_free(a);
    return st;
}

static tc_status bind_input(binding *b, int i, const tc_graph_tensor *t, tc_error *err) {
    const tc_graph_sized_input *in = &b->r->in[i];
    for (int d = 0; d < in->ndim && t->shape.ndim == in->ndim; d++) {
        int k = in->size[d];
        if (k < 0)
            continue;
        int64_t n = t->shape.d[d];
        int64_t before = b->size[k];
        b->size[k] = n;
        b->input = i;
        b->dim = d;
        TC_TRY(check_range(b, k, err));
        if (before >= 0 && before != n)
            return tc_fail(err, TC_BAD_INPUT,
                           "'%s' is %" PRId64 " in dimension %d of input '%s', but %" PRId64 " in an input before it",
                           b->r->size[k].name, n, d, in->name, before);
    }
    return TC_OK;
}

static int64_t units(const binding *b, int k) {
    return b->size[k] / b->r->size[k].multiple;
}

static int64_t value_of_other(const binding *b, const tc_expr *x) {
    tc_env *run = tc_env_new();
    for (int k = 0; k < b->r->nsize; k++)
        tc_env_set(run, b->r->size[k].var, (tc_ival){units(b, k), units(b, k)});
    int64_t value = tc_te_bounds(x, run).lo;
    tc_env_free(run);
    return value;
}

static bool has_size(const binding *b, const tc_graph_size_value *x, int k) {
    return x->formula.n ? tc_formula_has(&x->formula, k) : tc_expr_uses_var(x->of, b->r->size[k].var);
}

/* False: it has none, as it divides by what is not above 0. */
static bool value_of(const binding *b, const tc_graph_size_value *x, int64_t *value) {
    int64_t *size = tc_xcalloc((size_t)b->r->nsize + 1, sizeof *size);
    for (int k = 0; k < b->r->nsize; k++)
        size[k] = units(b, k);
    bool has = x->formula.n == 0 || tc_formula_value(&x->formula, size, value);
    if (x->formula.n == 0)
        *value = value_of_other(b, x->of);
    free(size);
    return has;
}

/* " (past is 16, sequence is 1)": the sizes in x; nothing where it has none. */
static void print_sizes(tc_strbuf *out, const binding *b, const tc_graph_size_value *x) {
    const char *between = " (";
    for (int k = 0; k < b->r->nsize; k++) {
        if (!has_size(b, x, k))
            continue;
        tc_sb_printf(out, "%s%s is %" PRId64, between, b->r->size[k].name, b->size[k]);
        between = ", ";
    }
    tc_sb_add(out, *between == ',' ? ")" : "");
}

static tc_status without_value(const binding *b, const tc_graph_size_value *x, tc_error *err) {
    tc_strbuf of = {0};
    print_sizes(&of, b, x);
    tc_status st =
        tc_fail(err, TC_BAD_INPUT, "%s%s has no value: it divides by a number that is not above 0", x->text, tc_sb_str(&of));
    tc_strbuf_free(&of);
    return st;
}

static tc_status contradiction(const binding *b, int k, int64_t want, tc_error *err) {
    const tc_graph_size_rule *s = &b->r->size[k];
    tc_strbuf of = {0};
    tc_arena *a = tc_arena_new();
    print_sizes(&of, b, &s->is);
    tc_status st = tc_fail(err, TC_BAD_INPUT, "%s is %" PRId64 ", but '%s' must be %s, which is %" PRId64 "%s", place_of(b, k, a),
                           b->size[k], s->name, s->is.text, want, tc_sb_str(&of));
    tc_arena_free(a);
    tc_strbuf_free(&of);
    return st;
}

static tc_status too_large(const binding *b, const tc_graph_size_bound *l, int64_t size, tc_error *err) {
    tc_strbuf of = {0};
    print_sizes(&of, b, &l->x);
    tc_status st =
        tc_fail(err, TC_BAD_INPUT, "%s is %" PRId64 "%s, but it may be at most %" PRId64 ": the model has no room for more",
                l->x.text, size, tc_sb_str(&of), l->most);
    tc_strbuf_free(&of);
    return st;
}

/* by: the value of l->by, if there is one. */
static void print_need(tc_strbuf *out, const binding *b, const tc_graph_size_bound *l, int64_t size, int64_t by) {
    if (l->by.text) {
        tc_sb_printf(out, "a multiple of %s, which is %" PRId64, l->by.text, by);
        print_sizes(out, b, &l->by);
    } else if (l->multiple > 1) {
        tc_sb_printf(out, "a multiple of %" PRId64, l->multiple);
    } else if (l->least == l->most) {
        tc_sb_printf(out, "%" PRId64, l->most);
    } else {
        tc_sb_printf(out, "at %s %" PRId64, size < l->least ? "least" : "most", size < l->least ? l->least : l->most);
    }
}

static int64_t next_fit(const binding *b, int k);

/* "; the next larger h that fits is 7 (dimension 2 of input 'x')": where one size decides; nothing where no larger one fits. */
static void print_next_fit(tc_strbuf *out, const binding *b, const tc_graph_size_bound *l) {
    int k = -1;
    for (int i = 0; i < b->r->nsize; i++) {
        bool has = has_size(b, &l->x, i) || (l->by.text && has_size(b, &l->by, i));
        if (has && k >= 0)
            return;
        k = has ? i : k;
    }
    int64_t fits = k >= 0 ? next_fit(b, k) : -1;
    if (fits < 0)
        return;
    tc_arena *a = tc_arena_new();
    tc_sb_printf(out, "; the next larger %s that fits is %" PRId64, b->r->size[k].name, fits);
    if (b->in)
        tc_sb_printf(out, " (%s)", place_of(b, k, a));
    tc_arena_free(a);
}

static tc_status unfit(const binding *b, const tc_graph_size_bound *l, int64_t size, int64_t by, tc_error *err) {
    tc_strbuf of = {0}, must = {0};
    print_sizes(&of, b, &l->x);
    print_need(&must, b, l, size, by);
    if (err) /* looking for it makes errors that nobody reads */
        print_next_fit(&must, b, l);
    tc_status st = tc_fail(err, TC_BAD_INPUT, "%s, %s, is %" PRId64 "%s, but it must be %s", l->what, l->x.text, size,
                           tc_sb_str(&of), tc_sb_str(&must));
    tc_strbuf_free(&of);
    tc_strbuf_free(&must);
    return st;
}

static tc_status unequal(const binding *b, const tc_graph_size_bound *l, int64_t size, int64_t same, tc_error *err) {
    tc_strbuf of = {0}, other = {0};
    print_sizes(&of, b, &l->x);
    print_sizes(&other, b, &l->same);
    tc_status st = tc_fail(err, TC_BAD_INPUT, "%s must be equal, but %s is %" PRId64 "%s, and %s is %" PRId64 "%s", l->what,
                           l->x.text, size, tc_sb_str(&of), l->same.text, same, tc_sb_str(&other));
    tc_strbuf_free(&of);
    tc_strbuf_free(&other);
    return st;
}

/* size: of l->x */
static tc_status check_same(const binding *b, const tc_graph_size_bound *l, int64_t size, tc_error *err) {
    int64_t same;
    if (!l->same.text)
        return TC_OK;
    if (!value_of(b, &l->same, &same))
        return without_value(b, &l->same, err);
    return same == size ? TC_OK : unequal(b, l, size, same, err);
}

static tc_status check_bound(const binding *b, const tc_graph_size_bound *l, tc_error *err) {
    int64_t size, by = 1;
    if (!value_of(b, &l->x, &size))
        return without_value(b, &l->x, err);
    if (l->by.text && !value_of(b, &l->by, &by))
        return without_value(b, &l->by, err);
    if (size < l->least || size > l->most || size % l->multiple != 0 || by < 1 || size % by != 0)
        return l->what ? unfit(b, l, size, by, err) : too_large(b, l, size, err);
    return check_same(b, l, size, err);
}

static tc_status check_relations(const binding *b, tc_error *err) {
    for (int k = 0; k < b->r->nsize; k++) {
        const tc_graph_size_value *is = &b->r->size[k].is;
        int64_t want;
        if (!is->text)
            continue;
        if (!value_of(b, is, &want))
            return without_value(b, is, err);
        if (want != b->size[k])
            return contradiction(b, k, want, err);
    }
    for (int i = 0; i < b->r->nlimit; i++)
        TC_TRY(check_bound(b, &b->r->limit[i], err));
    return TC_OK;
}

tc_status tc_graph_size_rules_bind(const tc_graph_size_rules *r, const tc_graph_tensor *in, int64_t *size, tc_error *err) {
    binding b = {.r = r, .size = size, .in = in};
    tc_status s = TC_OK;
    for (int k = 0; k < r->nsize; k++)
        size[k] = -1;
    for (int i = 0; i < r->nin && s == TC_OK; i++)
        s = bind_input(&b, i, &in[i], err);
    bool known = true; /* else some input has another number of dimensions */
    for (int k = 0; k < r->nsize; k++)
        known &= size[k] >= 0;
    if (s == TC_OK && known)
        s = check_relations(&b, err);
    return s;
}

/* ---- a run without inputs ---- */

static bool is_known(const binding *b, const tc_graph_size_value *x) {
    for (int k = 0; k < b->r->nsize; k++)
        if (has_size(b, x, k) && b->size[k] < 0)
            return false;
    return true;
}

/* Sizes that are made of others may themselves be part of some. */
static void derive(const binding *b) {
    bool again = true;
    while (again) {
        again = false;
        for (int k = 0; k < b->r->nsize; k++) {
            const tc_graph_size_value *is = &b->r->size[k].is;
            if (b->size[k] >= 0 || !is->text || !is_known(b, is))
                continue;
            if (!value_of(b, is, &b->size[k]))
                b->size[k] = -1;
            again |= b->size[k] >= 0;
        }
    }
}

/* Whether x is a constant and so many of size k's multiples, more for larger sizes. */
static bool is_of_alone(const tc_graph_size_value *x, int k, int64_t *constant, int64_t *times) {
    return tc_formula_line(&x->formula, k, constant, times) && *times > 0;
}

int64_t tc_graph_size_rules_step(const tc_graph_size_rules *r, int k) {
    int64_t units = 1, beyond = r->size[k].most / r->size[k].multiple + 1; /* then only 0 is left */
    for (int i = 0; i < r->nlimit; i++) {
        const tc_graph_size_bound *l = &r->limit[i];
        int64_t times, constant, step;
        if (!is_of_alone(&l->x, k, &constant, &times) || constant % l->multiple != 0)
            continue;
        step = l->multiple / tc_gcd(l->multiple, times);
        if (__builtin_mul_overflow(units, step / tc_gcd(step, units), &units) || units > beyond)
            units = beyond;
    }
    return units * r->size[k].multiple;
}

int64_t tc_graph_size_rules_first(const tc_graph_size_rules *r, int k) {
    int64_t first = r->size[k].least, step = tc_graph_size_rules_step(r, k), room, least;
    for (int i = 0; i < r->nlimit; i++) {
        const tc_graph_size_bound *l = &r->limit[i];
        int64_t times, constant;
        if (is_of_alone(&l->x, k, &constant, &times) && l->least != INT64_MIN &&
            !__builtin_sub_overflow(l->least, constant, &room) &&
            !__builtin_mul_overflow(tc_ceil_div(room, times), r->size[k].multiple, &least))
            first = TC_MAX(first, least);
    }
    return tc_ceil_div(TC_MIN(first, r->size[k].most), step) * step;
}

/* The least multiple in its range, but not 0. */
static int64_t least_of(const tc_graph_size_rules *r, int k) {
    int64_t step = tc_graph_size_rules_step(r, k);
    return TC_MIN(r->size[k].most / step * step, TC_MAX(step, tc_graph_size_rules_first(r, k)));
}

/* size[k] is -1 only where others make it. */
static tc_status complete(const binding *b, tc_error *err) {
    derive(b);
    for (int k = 0; k < b->r->nsize; k++)
        TC_TRY(check_range(b, k, err));
    return check_relations(b, err);
}

/* How many sizes are tried: a few ms, however many rules there are. */
static int most_tried(const tc_graph_size_rules *r) {
    enum { MOST = 4096, FEW = 64 };
    return MOST / (1 + (r->nsize + r->nlimit) / FEW);
}

/* The least size k above its own with which a run with the other sizes is possible; -1: none was found. */
static int64_t next_fit(const binding *b, int k) {
    const tc_graph_size_rule *rule = &b->r->size[k];
    int64_t *tried = tc_xcalloc((size_t)b->r->nsize, sizeof *tried), at = b->size[k], fits = -1;
    for (int n = 0, most = most_tried(b->r); n < most && fits < 0 && !rule->is.text && at <= rule->most - rule->multiple; n++) {
        at += rule->multiple;
        for (int i = 0; i < b->r->nsize; i++)
            tried[i] = i == k ? at : b->r->size[i].is.text ? -1 : b->size[i];
        fits = complete(&(binding){.r = b->r, .size = tried}, NULL) == TC_OK ? at : -1;
    }
    free(tried);
    return fits;
}

/* Whether sizes fit only together: what is the least of each may be wrong, and larger ones right. */
static bool go_together(const tc_graph_size_rules *r) {
    bool together = false;
    for (int k = 0; k < r->nsize; k++)
        together |= r->size[k].is.text && r->size[k].multiple > 1;
    for (int i = 0; i < r->nlimit; i++)
        together |=
            r->limit[i].by.text || r->limit[i].same.text || r->limit[i].least == r->limit[i].most || r->limit[i].multiple > 1;
    return together;
}

/* The next combination of the open sizes, the first of which counts fastest; false: there are no more. */
static bool count_up(const tc_graph_size_rules *r, const bool *open, int64_t *size) {
    for (int k = 0; k < r->nsize; k++) {
        if (!open[k])
            continue;
        int64_t step = tc_graph_size_rules_step(r, k);
        if (size[k] <= r->size[k].most - step) {
            size[k] += step;
            return true;
        }
        size[k] = least_of(r, k);
    }
    return false;
}

/* Sizes that go together, from the least of each. */
static bool search(const tc_graph_size_rules *r, const bool *open, int64_t *size) {
    int64_t *tried = tc_xcalloc((size_t)r->nsize, sizeof *tried), own = INT64_MAX, *left = r->left ? r->left : &own;
    bool right = false, more = true;
    for (int n = 0, most = most_tried(r); n < most && more && !right && *left > 0; n++) {
        *left -= r->nsize + r->nlimit;
        more = count_up(r, open, size);
        memcpy(tried, size, (size_t)r->nsize * sizeof *tried);
        right = more && complete(&(binding){.r = r, .size = tried}, NULL) == TC_OK;
    }
    memcpy(size, tried, (size_t)r->nsize * sizeof *tried);
    free(tried);
    return right;
}

/* Open sizes are the least of each. */
static tc_status complete_open(const tc_graph_size_rules *r, const bool *open, int64_t *size, tc_error *err) {
    int64_t *all = tc_xcalloc((size_t)r->nsize + 1, sizeof *all);
    memcpy(all, size, (size_t)r->nsize * sizeof *all);
    tc_status s = complete(&(binding){.r = r, .size = size}, err);
    if (s != TC_OK && go_together(r) && search(r, open, all)) {
        memcpy(size, all, (size_t)r->nsize * sizeof *all);
        s = TC_OK;
    }
    free(all);
    return s;
}

tc_status tc_graph_size_rules_complete(const tc_graph_size_rules *r, int64_t *size, tc_error *err) {
    binding b = {.r = r, .size = size};
    bool *open = tc_xcalloc((size_t)r->nsize + 1, sizeof *open);
    tc_status s = TC_OK;
    for (int k = 0; k < r->nsize && s == TC_OK; k++) {
        open[k] = size[k] < 0 && !r->size[k].is.text;
        if (open[k])
            size[k] = least_of(r, k);
        if (size[k] >= 0)
            s = check_range(&b, k, err);
    }
    if (s == TC_OK)
        s = complete_open(r, open, size, err);
    free(open);
    return s;
}

static bool is_right_at(const tc_graph_size_rules *r, const int64_t *size, int k, int64_t at) {
    int64_t *tried = tc_xcalloc((size_t)r->nsize, sizeof *tried);
    memcpy(tried, size, (size_t)r->nsize * sizeof *tried);
    tried[k] = at;
    bool right = tc_graph_size_rules_complete(r, tried, NULL) == TC_OK;
    free(tried);
    return right;
}

/* Sums are limited from above: what is right at some size is so at smaller ones, but for those that leave a sum too small. Where
 * sizes fit only together, the largest are tried each. */
int64_t tc_graph_size_rules_most(const tc_graph_size_rules *r, const int64_t *size, int k) {
    enum { MOST_LOOKED_AT = 32 };
    int64_t step = tc_graph_size_rules_step(r, k), low = least_of(r, k) / step, high = r->size[k].most / step;
    for (int64_t n = high; n > low && high - n < MOST_LOOKED_AT && go_together(r); n--)
        if (is_right_at(r, size, k, n * step))
            return n * step;
    if (!is_right_at(r, size, k, low * step))
        return is_right_at(r, size, k, 0) ? 0 : -1;
    for (int64_t n = high; low < high; n = low + (high - low + 1) / 2) {
        if (is_right_at(r, size, k, n * step))
            low = n;
        else
            high = n - 1;
    }
    return low * step;
}

static int64_t largest_of(const tc_graph_size_rules *r, int k) {
    int64_t step = tc_graph_size_rules_step(r, k);
    return r->size[k].most / step * step;
}

tc_status tc_graph_size_rules_largest(const tc_graph_size_rules *of, int64_t *size, tc_error *err) {
    enum { MOST_EVALUATED = 1 << 23 }; /* less than a second */
    int64_t left = MOST_EVALUATED;
    tc_graph_size_rules all = *of, *r = &all;
    r->left = &left;
    for (int k = 0; k < r->nsize; k++)
        size[k] = r->size[k].is.text ? -1 : largest_of(r, k);
    if (tc_graph_size_rules_complete(r, size, NULL) == TC_OK)
        return TC_OK;
    for (int k = 0; k < r->nsize; k++)
        size[k] = -1;
    for (int k = 0; k < r->nsize; k++)
        if (!r->size[k].is.text)
            size[k] = tc_graph_size_rules_most(r, size, k);
    return tc_graph_size_rules_complete(r, size, err);
}
