/* The list of algorithms, and what they share: replacing a compute of a workload by another way to the same tensor. */
#include "search_space/alternatives/alternatives_int.h"

#include <string.h>

#include "support/map.h"
#include "support/vec.h"
#include "te/unit_gain.h"

/* Every form that adds to the error of a kernel stands here, and only here. */
static const struct {
    const char *name;
    space_algorithm *apply;
    int parameter;
    tc_accuracy needs; /* it is offered where that is allowed: by where its error stays, which its file states */
    /* Another with whose constants it computes, and one whose stages it has: it is offered where sizes vary, beside both. NULL:
     * its own. */
    const char *constants, *stages;
} algorithms[] = {
    {"winograd-f2", space_winograd, 2, TC_ACCURACY_DEFAULT, NULL, NULL}, /* its tile of the image */
    {"winograd-f4", space_winograd, 4, TC_ACCURACY_DEFAULT, NULL, NULL},
    {"winograd-f2-of-f4", space_winograd, 24, TC_ACCURACY_DEFAULT, "winograd-f4", "winograd-f2"},
    {"strassen", space_strassen, 1, TC_ACCURACY_FAST, NULL, NULL}, /* two rows and two columns */
    {"bf16", space_bf16, 0, TC_ACCURACY_BF16, NULL, NULL},         /* its operands */
    {"digits", space_digits, 0, TC_ACCURACY_DEFAULT, NULL, NULL},  /* a block of its row */
};

/* Each allows what those before it allow. */
static const struct {
    const char *name;
    tc_accuracy set;
} levels[] = {{"strict", TC_ACCURACY_STRICT}, {"default", TC_ACCURACY_DEFAULT}, {"fast", TC_ACCURACY_FAST}};

tc_status tc_accuracy_parse(const char *name, tc_accuracy *set, tc_error *err) {
    for (size_t i = 0; i < TC_LEN(levels); i++)
        if (strcmp(name, levels[i].name) == 0) {
            *set = (*set & ~TC_ACCURACY_FAST) | levels[i].set;
            return TC_OK;
        }
    return tc_fail(err, TC_BAD_INPUT, "the accuracy is strict, default or fast, not '%s'", name);
}

tc_status tc_accuracy_parse_precision(const char *name, tc_accuracy *set, tc_error *err) {
    bool f32 = strcmp(name, "f32") == 0;
    if (!f32 && strcmp(name, "bf16") != 0 && strcmp(name, "auto") != 0)
        return tc_fail(err, TC_BAD_INPUT, "the precision is f32, bf16 or auto, not '%s'", name);
    *set = (*set & ~TC_ACCURACY_BF16) | (f32 ? TC_ACCURACY_STRICT : TC_ACCURACY_BF16);
    return TC_OK;
}

const char *tc_accuracy_text(tc_accuracy set) {
    size_t i = 0;
    while (i + 1 < TC_LEN(levels) && (set & TC_ACCURACY_FAST & ~levels[i].set))
        i++;
    return levels[i].name;
}

const char *tc_accuracy_precision_text(tc_accuracy set) {
    return set & TC_ACCURACY_BF16 ? "bf16" : "f32";
}

/* ---- rewriting ---- */

typedef struct reader {
    const tc_tensor *tensor;
    bool found;
} reader;

static void find_read(const tc_expr *e, void *user) {
    reader *r = user;
    r->found |= e->op == TC_OP_READ && e->u.tensor == r->tensor;
}

static bool reads(const tc_compute *op, const tc_tensor *t) {
    reader r = {.tensor = t};
    for (int o = 0; o < op->nout; o++)
        tc_expr_walk(op->body[o], find_read, &r);
    return r.found;
}

bool space_read_once(const tc_workload *w, const tc_tensor *t) {
    int n = 0;
    for (int i = 0; i < w->ncompute; i++)
        n += reads(w->computes[i], t);
    return n == 1;
}

/* old tensor's id -> new tensor */
static const tc_expr *replace_read(tc_ctx *c, const tc_expr *e, void *user) {
    const uintptr_t *other = e->op == TC_OP_READ ? tc_map_get(user, e->u.tensor->id) : NULL;
    return other ? tc_read(c, (const tc_tensor *)*other, e->nargs, e->args) : e;
}

/* The compute again, over the tensors that took the place of its operands; itself when none did. */
static const tc_compute *renew(tc_ctx *c, const tc_compute *op, tc_map *tensors) {
    const tc_expr *body[TC_MAX_OUTS];
    bool same = true;
    for (int o = 0; o < op->nout; o++) {
        body[o] = tc_expr_map(c, op->body[o], replace_read, tensors);
        same &= body[o] == op->body[o];
    }
    if (same)
        return op;
    const tc_compute *copy = tc_te_compute(c, op->name, op->naxis, op->axes, op->reducer, op->nraxis, op->raxes, op->nout, body);
    for (int o = 0; o < op->nout; o++)
        tc_map_put(tensors, op->out[o]->id, (uintptr_t)copy->out[o]);
    return copy;
}

static const tc_tensor *current(tc_map *tensors, const tc_tensor *t) {
    const uintptr_t *other = tc_map_get(tensors, t->id);
    return other ? (const tc_tensor *)*other : t;
}

static int index_of(const tc_workload *w, const tc_tensor *t) {
    int i = 0;
    while (w->in[i] != t)
        i++;
    return i;
}

static bool same_symbols(const tc_workload *w, const tc_workload *other) {
    return w->nsymbol == other->nsymbol &&
           (w->nsymbol == 0 || memcmp(w->symbols, other->symbols, (size_t)w->nsymbol * sizeof *w->symbols) == 0);
}

/* ---- one algorithm ---- */

/* Replaces every compute that the algorithm takes; false when there is none. */
static bool apply(tc_ctx *c, const tc_workload *w, size_t k, tc_space_alternative *out) {
    tc_arena *a = tc_ctx_arena(c);
    tc_map tensors = {0};
    bool any = false;
    int n = 0, products = 0, *source = TC_NEW_N(a, int, w->nin);
    tc_space_prologue *p = TC_NEW_N(a, tc_space_prologue, w->ncompute);
    const tc_tensor **in = tc_arena_dup(a, w->in, sizeof *w->in * (size_t)w->nin);
    const tc_tensor **last = TC_NEW_N(a, const tc_tensor *, w->nout);
    for (int i = 0; i < w->nin; i++)
        source[i] = i;
    for (int i = 0; i < w->ncompute; i++) {
        const tc_compute *op = renew(c, w->computes[i], &tensors);
        space_replacement r;
        if (!algorithms[k].apply(c, w, op, algorithms[k].parameter, &r))
            continue;
        tc_map_put(&tensors, w->computes[i]->out[0]->id, (uintptr_t)r.result);
        any = true;
        products = TC_MAX(products, r.products);
        if (!r.constant)
            continue;
        int at = index_of(w, r.constant);
        int *from = TC_NEW(a, int);
        *from = at;
        in[at] = r.made;
        source[at] = -1 - n;
        p[n++] = (tc_space_prologue){r.prologue, 1, from};
    }
    for (int i = 0; i < w->nout; i++)
        last[i] = current(&tensors, w->out[i]);
    tc_map_free(&tensors);
    tc_workload *made;
    if (!any || tc_te_workload(c, w->nin, in, w->nout, last, &made, NULL) != TC_OK || !same_symbols(w, made))
        return false;
    const char *name = algorithms[k].name, *constants = algorithms[k].constants, *stages = algorithms[k].stages;
    *out = (tc_space_alternative){
        name, algorithms[k].needs, constants ? constants : name, stages ? stages : name, products, made, source, n, p};
    return true;
}

static bool is_listed(const tc_space_alternative *x, int n, const char *name) {
    bool is = false;
    for (int i = 0; i < n; i++)
        is |= strcmp(x[i].name, name) == 0;
    return is;
}

/* What computes with constants of another is of use beside it, where one kernel has variants of both. */
static bool is_offered(const tc_workload *w, size_t k, tc_accuracy accuracy, const tc_space_alternative *x, int n) {
    if ((accuracy & algorithms[k].needs) != algorithms[k].needs)
        return false;
    return !algorithms[k].constants ||
           (w->nsymbol > 0 && is_listed(x, n, algorithms[k].constants) && is_listed(x, n, algorithms[k].stages));
}

tc_space_alternative_list tc_space_alternatives(tc_ctx *c, const tc_workload *w, tc_accuracy accuracy) {
    tc_space_alternative *x = TC_NEW_N(tc_ctx_arena(c), tc_space_alternative, TC_LEN(algorithms));
    int n = 0;
    for (size_t k = 0; k < TC_LEN(algorithms); k++)
        if (is_offered(w, k, accuracy, x, n) && apply(c, w, k, &x[n]))
            n++;
    return (tc_space_alternative_list){n, x};
}

const tc_space_alternative *tc_space_untuned(const tc_workload *w, tc_space_alternative_list l, tc_intrinsic_set set) {
    const tc_space_alternative *best = NULL;
    double gain = tc_te_unit_gain(w, set);
    for (int i = 0; i < l.n; i++) {
        const tc_space_alternative *x = &l.data[i];
        double own = x->products ? tc_te_unit_gain(x->workload, set) / x->products : 0;
        if (own > gain)
            best = x, gain = own;
    }
    return best;
}
