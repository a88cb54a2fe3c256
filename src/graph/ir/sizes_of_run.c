/* The sizes that a run's inputs have, against what is known of symbols. */
#include <inttypes.h>
#include <stdlib.h>

#include "graph/ir/sizes.h"

typedef struct binding {
    const tc_graph *g;
    int64_t *size;    /* of each symbol; -1: not known yet */
    int *input, *dim; /* where it was found */
} binding;

static size_t symbol_of(const tc_graph *g, const tc_graph_value *size) {
    size_t k = 0;
    while (g->symbols.data[k].value != size)
        k++;
    return k;
}

static tc_status out_of_range(const tc_graph_symbol *s, const char *input, int d, int64_t size, tc_error *err) {
    return tc_fail(err, TC_BAD_INPUT,
                   "dimension %d of input '%s' is %" PRId64 ", but '%s' was %s as %" PRId64 "..%" PRId64
                   "%s; give it in one of these sizes, or build the model for more",
                   d, input, size, s->name, s->assumed ? "assumed" : "given", s->least, s->most,
                   s->multiple > 1 ? " in steps" : "");
}

static tc_status bind_input(binding *b, size_t i, const tc_graph_tensor *t, tc_error *err) {
    const tc_graph *g = b->g;
    const tc_graph_value *v = g->inputs.data[i];
    tc_graph_tensor widest = *t;
    for (int d = 0; g->symbols.len && v->extent && d < v->shape.ndim && d < t->shape.ndim; d++) {
        if (!v->extent[d])
            continue;
        size_t k = symbol_of(g, v->extent[d]);
        const tc_graph_symbol *s = &g->symbols.data[k];
        int64_t n = t->shape.d[d];
        if (n < s->least || n > s->most || n % s->multiple)
            return out_of_range(s, v->name, d, n, err);
        if (b->size[k] >= 0 && b->size[k] != n)
            return tc_fail(err, TC_BAD_INPUT,
                           "'%s' is %" PRId64 " in dimension %d of input '%s', but %" PRId64 " in one before it", s->name, n, d,
                           v->name, b->size[k]);
        b->size[k] = n;
        b->input[k] = (int)i;
        b->dim[k] = d;
        widest.shape.d[d] = v->shape.d[d];
    }
    return tc_graph_check_input(g, i, &widest, err);
}

/* ---- what the model makes sizes of ---- */

/* " (past is 16, sequence is 1)": the symbols of x; nothing where it has none. */
static void print_symbols(tc_strbuf *b, const binding *of, const tc_expr *x) {
    const char *between = " (";
    for (size_t i = 0; i < of->g->symbols.len; i++) {
        const char *name = of->g->symbols.data[i].name;
        if (!tc_expr_uses_var(x, tc_graph_sizes_symbol(of->g->sizes, name)->var))
            continue;
        tc_sb_printf(b, "%s%s is %" PRId64, between, name, of->size[i]);
        between = ", ";
    }
    tc_sb_add(b, *between == ',' ? ")" : "");
}

static tc_status contradiction(const binding *b, size_t k, int64_t want, tc_error *err) {
    const tc_graph_symbol *s = &b->g->symbols.data[k];
    tc_strbuf is = {0}, of = {0};
    tc_graph_sizes_print(&is, s->is);
    print_symbols(&of, b, s->is);
    tc_status st =
        tc_fail(err, TC_BAD_INPUT, "dimension %d of input '%s' is %" PRId64 ", but '%s' must be %s, which is %" PRId64 "%s",
                b->dim[k], b->g->inputs.data[b->input[k]]->name, b->size[k], s->name, tc_sb_str(&is), want, tc_sb_str(&of));
    tc_strbuf_free(&is);
    tc_strbuf_free(&of);
    return st;
}

static tc_status too_large(const binding *b, const tc_graph_size_limit *l, int64_t size, tc_error *err) {
    tc_strbuf x = {0}, of = {0};
    tc_graph_sizes_print(&x, l->x);
    print_symbols(&of, b, l->x);
    tc_status st =
        tc_fail(err, TC_BAD_INPUT, "%s is %" PRId64 "%s, but it may be at most %" PRId64 ": for more the model has no room",
                tc_sb_str(&x), size, tc_sb_str(&of), l->most);
    tc_strbuf_free(&x);
    tc_strbuf_free(&of);
    return st;
}

static tc_status check_relations(const binding *b, tc_error *err) {
    const tc_graph *g = b->g;
    tc_env *run = tc_env_new();
    for (size_t k = 0; k < g->symbols.len; k++) {
        int64_t times = b->size[k] / g->symbols.data[k].multiple;
        tc_env_set(run, tc_graph_sizes_symbol(g->sizes, g->symbols.data[k].name)->var, (tc_ival){times, times});
    }
    tc_status s = TC_OK;
    for (size_t k = 0; k < g->symbols.len && s == TC_OK; k++) {
        const tc_expr *is = g->symbols.data[k].is;
        int64_t want = is ? tc_te_bounds(is, run).lo : b->size[k];
        if (want != b->size[k])
            s = contradiction(b, k, want, err);
    }
    for (size_t i = 0; g->symbols.len && i < g->sizes->limits.len && s == TC_OK; i++) {
        const tc_graph_size_limit *l = &g->sizes->limits.data[i];
        int64_t size = tc_te_bounds(l->x, run).lo;
        if (size > l->most)
            s = too_large(b, l, size, err);
    }
    tc_env_free(run);
    return s;
}

tc_status tc_graph_sizes_bind(const tc_graph *g, const tc_graph_tensor *in, int64_t *size, tc_error *err) {
    size_t n = g->symbols.len;
    binding b = {g, size, tc_xcalloc(n + 1, sizeof *b.input), tc_xcalloc(n + 1, sizeof *b.dim)};
    tc_status s = TC_OK;
    for (size_t k = 0; k < n; k++)
        size[k] = -1;
    for (size_t i = 0; i < g->inputs.len - n && s == TC_OK; i++)
        s = bind_input(&b, i, &in[i], err);
    if (s == TC_OK)
        s = check_relations(&b, err);
    free(b.input);
    free(b.dim);
    return s;
}
