/* The sizes that a run's inputs have, against what is known of symbols. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ir/sizes.h"

/* ---- the rules of a graph ---- */

/* x as a sum, or one divided: (y / n) + k is (y + k * n) / n. False: it has too many terms. */
static bool divided_sum(const tc_graph_sizes *s, const tc_expr *x, tc_affine *sum, int64_t *divisor) {
    int64_t k;
    *divisor = 1;
    if (!tc_te_affine(s->ctx, x, s->sure, sum))
        return false;
    const tc_expr *q = sum->n == 1 && sum->term[0].coef == 1 ? sum->term[0].atom : NULL;
    if (!q || q->op != TC_OP_DIV || q->args[1]->op != TC_OP_INT || q->args[1]->u.i < 1)
        return true;
    *divisor = q->args[1]->u.i;
    bool fits = !__builtin_mul_overflow(sum->c, *divisor, &k) && tc_te_affine(s->ctx, q->args[0], s->sure, sum);
    return fits && !__builtin_add_overflow(sum->c, k, &sum->c);
}

/* The symbols' variables are numbers of multiples. */
static tc_graph_size_sum sum_of(const tc_graph *g, const tc_expr *x, tc_arena *a) {
    const tc_graph_sizes *s = g->sizes;
    tc_affine sum;
    tc_strbuf b = {0};
    int found = 0;
    int64_t *times = TC_NEW_N(a, int64_t, g->symbols.len), divisor;
    bool ok = divided_sum(s, x, &sum, &divisor);
    for (size_t k = 0; ok && k < g->symbols.len; k++) {
        times[k] = tc_affine_coef(&sum, tc_varx(s->ctx, tc_graph_sizes_symbol(s, g->symbols.data[k].name)->var));
        found += times[k] != 0;
    }
    tc_graph_sizes_print(&b, x);
    tc_graph_size_sum r = {.text = tc_arena_strdup(a, tc_sb_str(&b)), .divisor = 1, .of = x};
    tc_strbuf_free(&b);
    if (ok && found == sum.n) {
        r.constant = sum.c;
        r.divisor = divisor;
        r.times = times;
    }
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
        size[k] = (tc_graph_size_rule){tc_arena_strdup(a, s->name), s->least, s->most, s->multiple, s->assumed, {0}, NULL};
        size[k].var = tc_graph_sizes_symbol(g->sizes, s->name)->var;
        if (s->is)
            size[k].is = sum_of(g, s->is, a);
    }
    for (size_t i = 0; i < nlimits; i++) {
        const tc_graph_size_limit *l = &g->sizes->limits.data[i];
        limit[i] = (tc_graph_size_bound){sum_of(g, l->x, a), l->least, l->most, l->multiple,
                                         l->what ? tc_arena_strdup(a, l->what) : NULL};
    }
}

/* ---- what nodes need ---- */

static bool is_multiple(tc_graph_sizes *s, const tc_expr *x, int64_t of) {
    const tc_expr *rest = tc_graph_sizes_simplify(s, tc_bin(s->ctx, TC_OP_MOD, x, tc_i64(s->ctx, of)));
    return rest->op == TC_OP_INT && rest->u.i == 0;
}

static bool is_checkable(const tc_graph_sizes *s, const tc_expr *x) {
    tc_affine sum;
    int64_t divisor;
    bool is = divided_sum(s, x, &sum, &divisor);
    for (int i = 0; is && i < sum.n; i++)
        is = sum.term[i].atom->op == TC_OP_VAR;
    return is;
}

/* x >= least as x' >= least, where x' has y in the place of max(y, k), as the k that stand in x make it no more than what is too little:
 * (max(n - 3, -1) + 1) / 2 >= 1 is (n - 2) / 2 >= 1. */
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

bool tc_graph_sizes_require(tc_graph_sizes *s, const char *what, const tc_expr *x, int64_t least, int64_t most,
                            int64_t multiple) {
    if (tc_expr_any(x, tc_graph_sizes_is_other_variable, s))
        return true;
    if (most == INT64_MAX && multiple == 1 && least > INT64_MIN / 2)
        x = tc_graph_sizes_simplify(s, without_floors(s, x, least));
    tc_ival range = tc_te_bounds(x, s->sure);
    if (range.hi < least || range.lo > most)
        return false;
    if (range.lo >= least && range.hi <= most && is_multiple(s, x, multiple))
        return true;
    if (multiple == 1 && !is_checkable(s, x))
        return true;
    for (size_t i = 0; i < s->limits.len; i++) {
        const tc_graph_size_limit *l = &s->limits.data[i];
        if (l->what && l->x == x && l->least == least && l->most == most && l->multiple == multiple)
            return true;
    }
    tc_push(&s->limits, ((tc_graph_size_limit){x, least, most, multiple, what}));
    return true;
}

/* ---- what is kept of them ---- */

tc_status tc_graph_size_rules_settle(tc_graph_size_rules *r, tc_error *err) {
    for (int i = 0; i < r->nlimit; i++)
        if (r->limit[i].what && !r->limit[i].sum.times)
            return tc_refuse(
                err, TC_ERROR_UNSUPPORTED,
                "%s, %s, must be a multiple of %" PRId64
                ", and what is built checks sums only; give one of the sizes in it as a single number, or in multiples "
                "(--shape NAME=LEAST..MOST:%" PRId64 ")",
                r->limit[i].what, r->limit[i].sum.text, r->limit[i].multiple, r->limit[i].multiple);
    for (int i = 0; i < r->nsize + r->nlimit; i++) {
        const tc_graph_size_sum *x = i < r->nsize ? &r->size[i].is : &r->limit[i - r->nsize].sum;
        if (x->of && !x->times)
            return tc_refuse(err, TC_ERROR_UNSUPPORTED,
                             "sizes that vary are related by %s, and what is built checks sums, and sums that are divided by a "
                             "number; give one of the sizes in it "
                             "as a single number (--shape)",
                             x->text);
    }
    for (int k = 0; k < r->nsize; k++) {
        r->size[k].is.of = NULL;
        r->size[k].var = NULL;
    }
    for (int i = 0; i < r->nlimit; i++)
        r->limit[i].sum.of = NULL;
    return TC_OK;
}

/* ---- a run ---- */

typedef struct binding {
    const tc_graph_size_rules *r;
    int64_t *size;    /* -1: not known yet */
    int *input, *dim; /* where it was found; NULL: there are no inputs */
} binding;

/* Whose size it is. */
static const char *place_of(const binding *b, int k, tc_arena *a) {
    return b->input ? tc_arena_printf(a, "dimension %d of input '%s'", b->dim[k], b->r->in[b->input[k]].name)
                    : tc_arena_printf(a, "size '%s'", b->r->size[k].name);
}

/* size[k] */
static tc_status check_range(const binding *b, int k, tc_error *err) {
    const tc_graph_size_rule *s = &b->r->size[k];
    int64_t size = b->size[k];
    if (size >= s->least && size <= s->most && size % s->multiple == 0)
        return TC_OK;
    tc_arena *a = tc_arena_new();
    tc_status st =
        tc_fail(err, TC_BAD_INPUT,
                "%s is %" PRId64 ", but '%s' was %s as %" PRId64 "..%" PRId64 "%s; give it in one of these sizes, or build the "
                "model for more",
                place_of(b, k, a), size, s->name, s->assumed ? "assumed" : "given", s->least, s->most,
                s->multiple > 1 ? " in steps" : "");
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
        b->input[k] = i;
        b->dim[k] = d;
        TC_TRY(check_range(b, k, err));
        if (before >= 0 && before != n)
            return tc_fail(err, TC_BAD_INPUT,
                           "'%s' is %" PRId64 " in dimension %d of input '%s', but %" PRId64 " in one before it",
                           b->r->size[k].name, n, d, in->name, before);
    }
    return TC_OK;
}

static int64_t value_of_other(const binding *b, const tc_expr *x) {
    tc_env *run = tc_env_new();
    for (int k = 0; k < b->r->nsize; k++) {
        int64_t times = b->size[k] / b->r->size[k].multiple;
        tc_env_set(run, b->r->size[k].var, (tc_ival){times, times});
    }
    int64_t value = tc_te_bounds(x, run).lo;
    tc_env_free(run);
    return value;
}

static bool has_size(const binding *b, const tc_graph_size_sum *x, int k) {
    return x->times ? x->times[k] != 0 : tc_expr_uses_var(x->of, b->r->size[k].var);
}

static int64_t value_of(const binding *b, const tc_graph_size_sum *x) {
    int64_t sum = x->constant;
    if (!x->times)
        return value_of_other(b, x->of);
    for (int k = 0; k < b->r->nsize; k++)
        if (x->times[k])
            sum += x->times[k] * (b->size[k] / b->r->size[k].multiple);
    return tc_floor_div(sum, x->divisor);
}

/* " (past is 16, sequence is 1)": the sizes in x; nothing where it has none. */
static void print_sizes(tc_strbuf *out, const binding *b, const tc_graph_size_sum *x) {
    const char *between = " (";
    for (int k = 0; k < b->r->nsize; k++) {
        if (!has_size(b, x, k))
            continue;
        tc_sb_printf(out, "%s%s is %" PRId64, between, b->r->size[k].name, b->size[k]);
        between = ", ";
    }
    tc_sb_add(out, *between == ',' ? ")" : "");
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
    print_sizes(&of, b, &l->sum);
    tc_status st =
        tc_fail(err, TC_BAD_INPUT, "%s is %" PRId64 "%s, but it may be at most %" PRId64 ": for more the model has no room",
                l->sum.text, size, tc_sb_str(&of), l->most);
    tc_strbuf_free(&of);
    return st;
}

static tc_status unfit(const binding *b, const tc_graph_size_bound *l, int64_t size, tc_error *err) {
    tc_strbuf of = {0}, must = {0};
    print_sizes(&of, b, &l->sum);
    if (l->multiple > 1)
        tc_sb_printf(&must, "a multiple of %" PRId64, l->multiple);
    else if (l->least == l->most)
        tc_sb_printf(&must, "%" PRId64, l->most);
    else
        tc_sb_printf(&must, "at %s %" PRId64, size < l->least ? "least" : "most", size < l->least ? l->least : l->most);
    tc_status st = tc_fail(err, TC_BAD_INPUT, "%s, %s, is %" PRId64 "%s, but it must be %s", l->what, l->sum.text, size,
                           tc_sb_str(&of), tc_sb_str(&must));
    tc_strbuf_free(&of);
    tc_strbuf_free(&must);
    return st;
}

static bool keeps(const tc_graph_size_bound *l, int64_t size) {
    return size >= l->least && size <= l->most && size % l->multiple == 0;
}

static tc_status check_relations(const binding *b, tc_error *err) {
    for (int k = 0; k < b->r->nsize; k++) {
        const tc_graph_size_sum *is = &b->r->size[k].is;
        if (is->text && value_of(b, is) != b->size[k])
            return contradiction(b, k, value_of(b, is), err);
    }
    for (int i = 0; i < b->r->nlimit; i++) {
        int64_t size = value_of(b, &b->r->limit[i].sum);
        if (!keeps(&b->r->limit[i], size))
            return (b->r->limit[i].what ? unfit : too_large)(b, &b->r->limit[i], size, err);
    }
    return TC_OK;
}

tc_status tc_graph_size_rules_bind(const tc_graph_size_rules *r, const tc_graph_tensor *in, int64_t *size, tc_error *err) {
    binding b = {r, size, tc_xcalloc((size_t)r->nsize + 1, sizeof *b.input), tc_xcalloc((size_t)r->nsize + 1, sizeof *b.dim)};
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
    free(b.input);
    free(b.dim);
    return s;
}

/* ---- a run without inputs ---- */

static bool is_known(const binding *b, const tc_graph_size_sum *x) {
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
            const tc_graph_size_sum *is = &b->r->size[k].is;
            if (b->size[k] >= 0 || !is->text || !is_known(b, is))
                continue;
            b->size[k] = value_of(b, is);
            again |= b->size[k] >= 0;
        }
    }
}

/* So many times size k's multiple is added to the sum for each; 0: it is no sum of that size alone. */
static int64_t times_alone(const tc_graph_size_rules *r, const tc_graph_size_sum *x, int k) {
    for (int i = 0; x->times && i < r->nsize; i++)
        if (i != k && x->times[i])
            return 0;
    return x->times && x->divisor == 1 ? TC_MAX(x->times[k], 0) : 0;
}

int64_t tc_graph_size_rules_step(const tc_graph_size_rules *r, int k) {
    int64_t units = 1, beyond = r->size[k].most / r->size[k].multiple + 1; /* then only 0 is left */
    for (int i = 0; i < r->nlimit; i++) {
        const tc_graph_size_bound *l = &r->limit[i];
        int64_t times = times_alone(r, &l->sum, k), step;
        if (!times || l->sum.constant % l->multiple != 0)
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
        int64_t times = times_alone(r, &l->sum, k);
        if (times && l->least != INT64_MIN && !__builtin_sub_overflow(l->least, l->sum.constant, &room) &&
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

tc_status tc_graph_size_rules_complete(const tc_graph_size_rules *r, int64_t *size, tc_error *err) {
    binding b = {r, size, NULL, NULL};
    for (int k = 0; k < r->nsize; k++) {
        if (size[k] < 0 && !r->size[k].is.text)
            size[k] = least_of(r, k);
        if (size[k] >= 0)
            TC_TRY(check_range(&b, k, err));
    }
    derive(&b);
    for (int k = 0; k < r->nsize; k++)
        TC_TRY(check_range(&b, k, err));
    return check_relations(&b, err);
}

static bool is_right_at(const tc_graph_size_rules *r, const int64_t *size, int k, int64_t at) {
    int64_t *tried = tc_xcalloc((size_t)r->nsize, sizeof *tried);
    memcpy(tried, size, (size_t)r->nsize * sizeof *tried);
    tried[k] = at;
    bool right = tc_graph_size_rules_complete(r, tried, NULL) == TC_OK;
    free(tried);
    return right;
}

/* Sums are limited from above: what is right at some size is so at smaller ones, but for those that leave a sum too small. */
int64_t tc_graph_size_rules_most(const tc_graph_size_rules *r, const int64_t *size, int k) {
    int64_t step = tc_graph_size_rules_step(r, k), low = least_of(r, k) / step, high = r->size[k].most / step;
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

tc_status tc_graph_size_rules_largest(const tc_graph_size_rules *r, int64_t *size, tc_error *err) {
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
