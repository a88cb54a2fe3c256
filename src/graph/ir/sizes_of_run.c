/* The sizes that a run's inputs have, against what is known of symbols. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ir/sizes.h"

/* ---- the rules of a graph ---- */

/* The symbols' variables are numbers of multiples. */
static tc_graph_size_sum sum_of(const tc_graph *g, const tc_expr *x, tc_arena *a) {
    const tc_graph_sizes *s = g->sizes;
    tc_affine sum;
    tc_strbuf b = {0};
    int found = 0;
    int64_t *times = TC_NEW_N(a, int64_t, g->symbols.len);
    bool ok = tc_te_affine(s->ctx, x, s->sure, &sum);
    for (size_t k = 0; ok && k < g->symbols.len; k++) {
        times[k] = tc_affine_coef(&sum, tc_varx(s->ctx, tc_graph_sizes_symbol(s, g->symbols.data[k].name)->var));
        found += times[k] != 0;
    }
    tc_graph_sizes_print(&b, x);
    tc_graph_size_sum r = {.text = tc_arena_strdup(a, tc_sb_str(&b)), .of = x};
    tc_strbuf_free(&b);
    if (ok && found == sum.n) {
        r.constant = sum.c;
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
        limit[i].most = g->sizes->limits.data[i].most;
        limit[i].sum = sum_of(g, g->sizes->limits.data[i].x, a);
    }
}

tc_status tc_graph_size_rules_settle(tc_graph_size_rules *r, tc_error *err) {
    for (int i = 0; i < r->nsize + r->nlimit; i++) {
        const tc_graph_size_sum *x = i < r->nsize ? &r->size[i].is : &r->limit[i - r->nsize].sum;
        if (x->of && !x->times)
            return tc_refuse(
                err, TC_ERROR_UNSUPPORTED,
                "sizes that vary are related by %s, and what is built checks sums alone; give one of the sizes in it "
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
    int *input, *dim; /* where it was found */
} binding;

static tc_status out_of_range(const tc_graph_size_rule *s, const char *input, int d, int64_t size, tc_error *err) {
    return tc_fail(err, TC_BAD_INPUT,
                   "dimension %d of input '%s' is %" PRId64 ", but '%s' was %s as %" PRId64 "..%" PRId64
                   "%s; give it in one of these sizes, or build the model for more",
                   d, input, size, s->name, s->assumed ? "assumed" : "given", s->least, s->most,
                   s->multiple > 1 ? " in steps" : "");
}

static tc_status bind_input(binding *b, int i, const tc_graph_tensor *t, tc_error *err) {
    const tc_graph_sized_input *in = &b->r->in[i];
    for (int d = 0; d < in->ndim && t->shape.ndim == in->ndim; d++) {
        int k = in->size[d];
        if (k < 0)
            continue;
        const tc_graph_size_rule *s = &b->r->size[k];
        int64_t n = t->shape.d[d];
        if (n < s->least || n > s->most || n % s->multiple)
            return out_of_range(s, in->name, d, n, err);
        if (b->size[k] >= 0 && b->size[k] != n)
            return tc_fail(err, TC_BAD_INPUT,
                           "'%s' is %" PRId64 " in dimension %d of input '%s', but %" PRId64 " in one before it", s->name, n, d,
                           in->name, b->size[k]);
        b->size[k] = n;
        b->input[k] = i;
        b->dim[k] = d;
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
    return sum;
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
    print_sizes(&of, b, &s->is);
    tc_status st =
        tc_fail(err, TC_BAD_INPUT, "dimension %d of input '%s' is %" PRId64 ", but '%s' must be %s, which is %" PRId64 "%s",
                b->dim[k], b->r->in[b->input[k]].name, b->size[k], s->name, s->is.text, want, tc_sb_str(&of));
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

static tc_status check_relations(const binding *b, tc_error *err) {
    for (int k = 0; k < b->r->nsize; k++) {
        const tc_graph_size_sum *is = &b->r->size[k].is;
        if (is->text && value_of(b, is) != b->size[k])
            return contradiction(b, k, value_of(b, is), err);
    }
    for (int i = 0; i < b->r->nlimit; i++) {
        int64_t size = value_of(b, &b->r->limit[i].sum);
        if (size > b->r->limit[i].most)
            return too_large(b, &b->r->limit[i], size, err);
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
