/* Caches that grow in place. A model that decodes takes a cache of earlier tokens as an input. It returns that cache with the rows
 * of the new tokens:
 *
 *     present = Appended(past, new, start, P, S)  past: an input, present: an output; start: P, or one number for each sequence
 *
 * Both can be one buffer of the caller, with room for the largest cache: new rows are written behind the old rows. In the graph the
 * input then has as many rows as the output. If the input has as many rows in every run, it is such a buffer already, and a
 * sequence's start alone says how much of it is filled. This is no pass of passes.def, since it changes what callers give. */
#include "graph/passes/pass.h"

#include <stdlib.h>
#include <string.h>

#include "graph/ir/build.h"
#include "graph/ir/sizes.h"
#include "graph/ops/dynamic.h"

/* Of Grown. */
enum { PAST, NEW, START, PAST_ROWS, NEW_ROWS, OPERANDS };

typedef struct grower {
    tc_graph *g;
    uint32_t *uses;
    tc_graph_node *join, *cut; /* cut: what takes the rows that there can be, or NULL */
    const char *output;        /* its name for callers */
    tc_graph_value *past, *present, *in[OPERANDS];
    int axis;
    tc_error *err;
} grower;

static tc_status refuse(const grower *x, const char *why, ...) TC_PRINTF(2, 3);
static tc_status refuse(const grower *x, const char *why, ...) {
    va_list ap;
    va_start(ap, why);
    tc_status s = tc_vfail(x->err, TC_BAD_INPUT, why, ap);
    va_end(ap);
    tc_error_prefix(x->err,
                    "node '%s': the input '%s' and the output '%s' cannot be one buffer that grows in place: ", x->join->name,
                    x->past->name, x->output);
    return s;
}

/* ---- which outputs ---- */

static bool is_input(const tc_graph *g, const tc_graph_value *v) {
    for (size_t i = 0; i < g->inputs.len; i++)
        if (g->inputs.data[i] == v)
            return true;
    return false;
}

/* Takes the first elements of each dimension. */
static bool is_cut(const tc_graph_node *n) {
    size_t len;
    if (!n || n->op != TC_GRAPH_OP_SLICE)
        return false;
    const int64_t *starts = tc_graph_attr_starts(n, &len), *steps = tc_graph_attr_steps(n, &len);
    for (size_t i = 0; i < len; i++)
        if (starts[i] != 0 || steps[i] != 1)
            return false;
    return true;
}

/* It is an input with rows behind. */
static bool find(grower *x, const tc_graph_output *o) {
    x->output = o->name;
    x->present = o->value;
    x->join = o->value->producer;
    x->cut = is_cut(x->join) ? x->join : NULL;
    if (x->cut)
        x->join = x->cut->in[0]->producer;
    if (!x->join || x->join->op != TC_GRAPH_OP_APPENDED || !is_input(x->g, x->join->in[PAST]))
        return false;
    memcpy(x->in, x->join->in, sizeof x->in);
    x->past = x->join->in[PAST];
    x->axis = (int)tc_graph_attr_axis(x->join);
    return true;
}

/* ---- whether they may be ---- */

static const char *reader_of(const grower *x, const tc_graph_value *v, const tc_graph_node *but) {
    for (size_t i = 0; i < x->g->nodes.len; i++)
        for (int k = 0; k < x->g->nodes.data[i]->nin; k++)
            if (x->g->nodes.data[i]->in[k] == v && x->g->nodes.data[i] != but)
                return x->g->nodes.data[i]->name;
    return NULL;
}

static tc_status check_readers(const grower *x) {
    int returned = 0;
    for (size_t i = 0; i < x->g->outputs.len; i++)
        returned += x->g->outputs.data[i].value == x->present;
    if (x->uses[x->past->id] != 1) {
        const char *other = reader_of(x, x->past, x->join);
        return other ? refuse(x, "node '%s' reads the input too", other) : refuse(x, "the input is used several times");
    }
    if (returned != 1)
        return refuse(x, "it is returned by %d names", returned);
    if (x->cut && x->uses[x->join->out[0]->id] != 1)
        return refuse(x, "node '%s' reads more than the output has", reader_of(x, x->join->out[0], x->cut));
    return TC_OK;
}

static tc_status check_shape(const grower *x) {
    const tc_graph_shape *from = &x->past->shape, *to = &x->present->shape;
    for (int d = 0; d < from->ndim; d++)
        if (d != x->axis && from->d[d] != to->d[d])
            return refuse(x, "dimension %d is %lld in one and %lld in the other", d, (long long)from->d[d], (long long)to->d[d]);
    return TC_OK;
}

/* The input has as many rows in every run. */
static bool is_buffer(const grower *x) {
    return !tc_graph_extent(x->past, x->axis);
}

/* The input has the rows of the past. The output has these and the new rows, and has room for the largest number of rows. */
static tc_status check_rows(const grower *x) {
    tc_graph_sizes *s = x->g->sizes;
    int64_t room = x->present->shape.d[x->axis], has = x->past->shape.d[x->axis];
    const tc_graph_value *rows = x->in[PAST_ROWS];
    if (is_buffer(x) && room != has)
        return refuse(
            x,
            "the input has %lld rows in every run, and the output up to %lld. Give --shape: the input as many rows as the "
            "output (a buffer), or a range of rows from 0 on",
            (long long)has, (long long)room);
    if (is_buffer(x))
        return TC_OK;
    const tc_expr *a = tc_graph_sizes_number(s, rows, 0), *b = tc_graph_sizes_number(s, x->in[NEW_ROWS], 0);
    if (rows != tc_graph_extent(x->past, x->axis))
        return refuse(x, "new rows do not stand behind all rows of the input");
    const tc_expr *both = a && b ? tc_graph_sizes_simplify(s, tc_add(s->ctx, a, b)) : NULL;
    if (!both || tc_graph_sizes_limit_of(s, both) > room)
        return refuse(x, "there may be more rows than the %lld of the output; limit them with --shape", (long long)room);
    return TC_OK;
}

/* ---- the change ---- */

static void drop(tc_graph *g, const tc_graph_node *n) {
    size_t kept = 0;
    for (size_t i = 0; i < g->nodes.len; i++)
        if (g->nodes.data[i] != n)
            g->nodes.data[kept++] = g->nodes.data[i];
    g->nodes.len = kept;
}

static void grow(const grower *x) {
    tc_graph_value *in[OPERANDS + TC_GRAPH_MAX_DIMS];
    int n = OPERANDS;
    memcpy(in, x->in, sizeof x->in);
    for (int d = 0; d < x->past->shape.ndim; d++)
        if (d != x->axis && tc_graph_extent(x->past, d))
            in[n++] = tc_graph_extent(x->past, d);
    x->join->op = TC_GRAPH_OP_GROWN;
    tc_graph_set_inputs(x->g, x->join, in, n);
    if (is_buffer(x))
        tc_graph_set_past_present_share_buffer(x->g, x->join, 1);
    if (x->cut)
        drop(x->g, x->cut);
    x->join->out[0] = x->present;
    x->present->producer = x->join;
    x->past->shape.d[x->axis] = x->present->shape.d[x->axis];
}

static tc_status grow_output(grower *x) {
    TC_TRY(check_readers(x));
    TC_TRY(check_shape(x));
    TC_TRY(check_rows(x));
    grow(x);
    return TC_OK;
}

tc_status tc_graph_grow_in_place(tc_graph *g, tc_error *err) {
    grower x = {.g = g, .uses = tc_graph_count_uses(g), .err = err};
    tc_status s = TC_OK;
    int found = 0;
    for (size_t i = 0; i < g->outputs.len && s == TC_OK; i++)
        if (find(&x, &g->outputs.data[i])) {
            s = grow_output(&x);
            found++;
        }
    free(x.uses);
    if (s == TC_OK && !found)
        s = tc_fail(err, TC_BAD_INPUT,
                    "no cache can grow in place: no output is an input with new rows behind it. Concat along a dimension that "
                    "varies makes such outputs, and GroupQueryAttention with a past. Build without --in-place-cache");
    return s == TC_OK ? tc_graph_verify(g, err) : s;
}
