/* Which part of its values a program reads. See sized.h. */
#include "graph/ops/sized.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ir/sizes.h"

/* Of the memory of a value, in its own shape. */
typedef struct part {
    bool asked, whole;
    const tc_var *size[TC_GRAPH_MAX_DIMS];
} part;

typedef struct named_size {
    const tc_graph_value *value;
    const tc_var *symbol;
} named_size;

struct tc_graph_sized {
    tc_ctx *c;
    const tc_graph *g;
    tc_graph_sized *around;       /* of the graph around this one, which is a body; NULL: the model's own */
    const tc_graph_value **given; /* by value id: the value around it that an input of a body is; NULL: it is none */
    part *parts;                  /* by value id */
    int *made;                    /* by value id: the launch that makes it */
    int at;                       /* the launch that is asked */
    TC_VEC(named_size) sizes;
    size_t nnames; /* of symbols, in bodies too */
    bool settled;
};

static tc_graph_sized *outermost(tc_graph_sized *s) {
    while (s->around)
        s = s->around;
    return s;
}

static tc_graph_sized *new_sized(tc_ctx *c, const tc_graph *g) {
    tc_graph_sized *s = tc_xcalloc(1, sizeof *s);
    *s = (tc_graph_sized){.c = c, .g = g, .parts = tc_xcalloc(g->values.len + 1, sizeof *s->parts)};
    s->given = tc_xcalloc(g->values.len + 1, sizeof *s->given);
    s->made = tc_xcalloc(g->values.len + 1, sizeof *s->made);
    for (size_t i = 0; i < g->values.len; i++)
        s->made[i] = INT_MAX;
    for (size_t i = 0; i < g->inputs.len; i++)
        s->made[g->inputs.data[i]->id] = -1;
    return s;
}

tc_graph_sized *tc_graph_sized_new(tc_ctx *c, const tc_graph *g) {
    tc_graph_sized *s = new_sized(c, g);
    for (size_t i = 0; i < g->symbols.len; i++)
        (void)tc_graph_sized_symbol(s, g->symbols.data[i].value);
    return s;
}

tc_graph_sized *tc_graph_sized_within(tc_graph_sized *around, const tc_graph *body, const tc_graph_value *const *given) {
    tc_graph_sized *s = new_sized(around->c, body);
    s->around = around;
    for (size_t i = 0; i < body->inputs.len; i++)
        s->given[body->inputs.data[i]->id] = given[i];
    return s;
}

void tc_graph_sized_free(tc_graph_sized *s) {
    if (!s)
        return;
    tc_vec_free(&s->sizes);
    free(s->given);
    free(s->parts);
    free(s->made);
    free(s);
}

void tc_graph_sized_settle(tc_graph_sized *s) {
    s->settled = true;
}

bool tc_graph_sized_is_settled(const tc_graph_sized *s) {
    return s->settled;
}

/* ---- sizes ---- */

static tc_ival range_of(const tc_graph_sized *s, const tc_graph_value *size) {
    const tc_expr *x = s->g->sizes ? tc_graph_sizes_number(s->g->sizes, size, 0) : NULL;
    tc_ival r = x ? tc_te_bounds(x, s->g->sizes->sure) : TC_IVAL_ALL;
    return (tc_ival){TC_MAX(r.lo, 0), size->most ? TC_MIN(r.hi, size->most) : r.hi};
}

static const tc_expr *sum_of(tc_graph_sized *s, const tc_expr *x);

/* The size that a variable of a body is, which is given it. */
static const tc_expr *given_size(tc_graph_sized *s, const tc_expr *x) {
    for (size_t i = 0; i < s->g->inputs.len; i++) {
        const tc_graph_value *v = s->g->inputs.data[i];
        if (!s->given[v->id] || tc_graph_sizes_number(s->g->sizes, v, 0) != x)
            continue;
        const tc_var *own = tc_graph_sized_symbol(s, v);
        return own ? tc_varx(s->c, own) : NULL;
    }
    return NULL;
}

/* The model's own size that a variable is `multiple` times of; NULL: that is made of others, or none that has a range. */
static const tc_expr *own_size(tc_graph_sized *s, const tc_expr *x, int64_t *multiple) {
    const tc_graph *g = s->g;
    if (s->around)
        return given_size(s, x);
    const tc_graph_size_symbol *symbol = tc_graph_sizes_symbol_of(g->sizes, x->u.var);
    for (size_t k = 0; k < g->symbols.len && symbol; k++) {
        const tc_graph_symbol *y = &g->symbols.data[k];
        if (y->is || strcmp(y->name, symbol->name) != 0)
            continue;
        const tc_var *own = tc_graph_sized_symbol(s, y->value);
        *multiple *= y->multiple;
        return own ? tc_varx(s->c, own) : NULL;
    }
    return NULL;
}

/* A product of sizes, or of sums of them, of which x, in a sum, is `times` / `multiple`; NULL: x is something else. Both are
 * multiplied. */
static const tc_expr *product_of(tc_graph_sized *s, const tc_expr *x, int64_t *times, int64_t *multiple) {
    if (x->op == TC_OP_VAR)
        return own_size(s, x, multiple);
    if (x->op != TC_OP_MUL)
        return x->op == TC_OP_ADD ? sum_of(s, x) : NULL;
    const tc_expr *number = x->args[1]->op == TC_OP_INT ? x->args[1] : NULL;
    const tc_expr *a = product_of(s, x->args[0], times, multiple);
    if (number)
        return a && !__builtin_mul_overflow(*times, number->u.i, times) ? a : NULL;
    const tc_expr *b = a ? product_of(s, x->args[1], times, multiple) : NULL;
    return b ? tc_mul(s->c, a, b) : NULL;
}

/* x, of the variables of the model's own sizes, as a sum of these and of their products; NULL: it is something else. One with a
 * constant in it, or less than another, is taken for a size of its own: nothing is read by what it is made of, and strides of
 * such terms are hard to see through. */
static const tc_expr *sum_of(tc_graph_sized *s, const tc_expr *x) {
    tc_affine sum;
    if (!x || !tc_te_affine(s->g->sizes->ctx, x, s->g->sizes->sure, &sum) || sum.c != 0)
        return NULL;
    const tc_expr *r = tc_i64(s->c, 0);
    for (int i = 0; i < sum.n; i++) {
        int64_t multiple = 1, times = sum.term[i].coef;
        const tc_expr *own = product_of(s, sum.term[i].atom, &times, &multiple);
        if (!own || times < 0 || times % multiple != 0)
            return NULL;
        r = tc_add(s->c, r, tc_mul(s->c, own, tc_i64(s->c, times / multiple)));
    }
    return r;
}

/* One that is so defined, here or around here; NULL: there is none. */
static const tc_var *defined(const tc_graph_sized *s, const tc_expr *x) {
    for (; s; s = s->around)
        for (size_t i = 0; i < s->sizes.len; i++)
            if (s->sizes.data[i].symbol->value == x)
                return s->sizes.data[i].symbol;
    return NULL;
}

/* That whose value it is; NULL: it is computed. */
static const tc_graph_symbol *given(const tc_graph_sized *s, const tc_graph_value *size) {
    for (size_t k = 0; k < s->g->symbols.len; k++)
        if (s->g->symbols.data[k].value == size)
            return &s->g->symbols.data[k];
    return NULL;
}

/* A sum that the model limits to less than its parts allow is none: kernels would not know that its parts are no larger than it.
 * But inputs lie in memory by their sizes, whatever these are made of. */
static const tc_var *new_symbol(tc_graph_sized *s, const tc_graph_value *size) {
    if (s->given[size->id])
        return tc_graph_sized_symbol(s->around, s->given[size->id]);
    const char *name = tc_arena_printf(tc_ctx_arena(s->c), "n%zu", outermost(s)->nnames);
    const tc_graph_symbol *own = given(s, size);
    bool is_free = own && !own->is;
    const tc_expr *x = s->g->sizes && !is_free ? sum_of(s, tc_graph_sizes_number(s->g->sizes, size, 0)) : NULL;
    tc_ival r = range_of(s, size);
    if (x && x->op == TC_OP_VAR)
        return x->u.var;
    if (x && x->op != TC_OP_INT && !tc_symbol_problem(x) && tc_te_bounds(x, NULL).hi <= r.hi) {
        const tc_var *known = defined(s, x);
        return known ? known : tc_symbol_defined(s->c, name, x);
    }
    if (x && !own)
        return NULL;
    return r.lo < 0 || r.hi > TC_MAX_SIZE || r.lo >= r.hi ? NULL : tc_symbol_new(s->c, name, r.lo, r.hi);
}

const tc_var *tc_graph_sized_symbol(tc_graph_sized *s, const tc_graph_value *size) {
    for (size_t i = 0; i < s->sizes.len; i++)
        if (s->sizes.data[i].value == size)
            return s->sizes.data[i].symbol;
    const tc_var *symbol = new_symbol(s, size);
    if (!symbol)
        return NULL;
    tc_push(&s->sizes, ((named_size){size, symbol}));
    outermost(s)->nnames++;
    return symbol;
}

static const named_size *own_named(const tc_graph_sized *s, const tc_var *symbol) {
    for (size_t i = 0; i < s->sizes.len; i++)
        if (s->sizes.data[i].symbol == symbol)
            return &s->sizes.data[i];
    return NULL;
}

const tc_graph_value *tc_graph_sized_value(const tc_graph_sized *s, const tc_var *symbol) {
    const named_size *own = own_named(s, symbol);
    if (own || !s->around)
        return own ? own->value : NULL;
    return tc_graph_sized_value(s->around, symbol);
}

const tc_expr *tc_graph_sized_number(const tc_graph_sized *s, const tc_var *symbol) {
    while (s->around)
        s = s->around;
    const tc_graph_sizes *all = s->g->sizes;
    const named_size *own = own_named(s, symbol);
    const tc_expr *x = own && all ? tc_graph_sizes_number(all, own->value, 0) : NULL;
    return x && !tc_expr_any(x, tc_graph_sizes_is_other_variable, all) ? x : NULL;
}

void tc_graph_sized_made(tc_graph_sized *s, const tc_graph_value *v, int at) {
    s->made[v->id] = at;
}

void tc_graph_sized_at(tc_graph_sized *s, int at) {
    s->at = at;
}

static bool is_known(const tc_graph_sized *s, const named_size *size) {
    return size->symbol->value || s->made[size->value->id] < s->at;
}

bool tc_graph_sized_knows(const tc_graph_sized *s, const tc_var *symbol) {
    for (size_t i = 0; i < s->sizes.len; i++)
        if (s->sizes.data[i].symbol == symbol && is_known(s, &s->sizes.data[i]))
            return true;
    return s->around && tc_graph_sized_knows(s->around, symbol);
}

static void add_known(const tc_var **known, int *n, const tc_var *symbol) {
    for (int i = 0; i < *n; i++)
        if (known[i] == symbol)
            return;
    known[(*n)++] = symbol;
}

const tc_var **tc_graph_sized_known(const tc_graph_sized *s, int *n) {
    size_t all = 0;
    for (const tc_graph_sized *x = s; x; x = x->around)
        all += x->sizes.len;
    const tc_var **known = tc_xcalloc(all + 1, sizeof(tc_var *));
    *n = 0;
    for (; s; s = s->around)
        for (size_t i = 0; i < s->sizes.len; i++)
            if (is_known(s, &s->sizes.data[i]))
                add_known(known, n, s->sizes.data[i].symbol);
    return known;
}

/* ---- parts ---- */

/* For every dimension of `to` the one of `from` that it is, where one is a reshape of the other: as large, with as many elements
 * before it; -1: none. */
static void match_dims(const tc_graph_shape *from, const tc_graph_shape *to, int *match) {
    int64_t before = 1;
    for (int d = 0; d < to->ndim; before *= to->d[d++]) {
        int64_t passed = 1;
        match[d] = -1;
        for (int e = 0; e < from->ndim; passed *= from->d[e++])
            if (passed == before && from->d[e] == to->d[d] && from->d[e] != 1)
                match[d] = e;
    }
}

bool tc_graph_sized_is_asked(const tc_graph_sized *s, const tc_graph_value *v) {
    return s->parts[tc_graph_memory_of(v)->id].asked;
}

void tc_graph_sized_keep_whole(tc_graph_sized *s, const tc_graph_value *v) {
    s->parts[v->id].whole = true;
}

void tc_graph_sized_ask(tc_graph_sized *s, const tc_graph_value *v, const tc_var *const *size) {
    const tc_graph_value *m = tc_graph_memory_of(v);
    part *p = &s->parts[m->id];
    int match[TC_GRAPH_MAX_DIMS];
    match_dims(&v->shape, &m->shape, match);
    for (int d = 0; d < m->shape.ndim; d++) {
        const tc_var *ends = size && match[d] >= 0 ? size[match[d]] : NULL;
        if (p->whole || m->constant || (ends && ends->most > m->shape.d[d]))
            ends = NULL;
        p->size[d] = p->asked ? tc_te_common_end(p->size[d], ends) : ends;
    }
    p->asked = true;
}

void tc_graph_sized_ends(const tc_graph_sized *s, const tc_graph_value *v, const tc_var *size[TC_GRAPH_MAX_DIMS]) {
    const tc_graph_value *m = tc_graph_memory_of(v);
    int match[TC_GRAPH_MAX_DIMS];
    match_dims(&m->shape, &v->shape, match);
    for (int d = 0; d < v->shape.ndim; d++)
        size[d] = match[d] >= 0 ? s->parts[m->id].size[match[d]] : NULL;
}

void tc_graph_sized_take(tc_graph_sized *s, const tc_graph_value *const *lies) {
    for (size_t i = 0; i < s->g->inputs.len; i++)
        if (lies[i])
            tc_graph_sized_ends(s->around, lies[i], s->parts[s->g->inputs.data[i]->id].size);
}
