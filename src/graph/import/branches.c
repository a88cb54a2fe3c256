/* If that the data decide about: its branches become graphs of their own, which a node (ops.def) runs one of. A result that does
 * not have the same shape in both lies in memory of its largest and carries its size (dynamic.h) beside it, unless both give it
 * the same size of the graph around them; a list is its rows (lists.c). */
#include "graph/import/branches.h"

#include <string.h>

#include "graph/import/lists.h"
#include "graph/ir/sizes.h"

static tc_graph_value *common(const tc_graph_import_branches *b, size_t k, int d) {
    return b->common[k * TC_GRAPH_MAX_DIMS + (size_t)d];
}

/* Its size is carried beside it. */
static bool is_open(const tc_graph_import_branches *b, size_t k, int d) {
    const tc_graph_value *yes = b->out[0][k], *no = b->out[1][k];
    bool varies = tc_graph_extent(yes, d) || tc_graph_extent(no, d) || yes->shape.d[d] != no->shape.d[d];
    return varies && !common(b, k, d);
}

static void find_common(tc_graph_import_branches *b, size_t k) {
    const tc_graph_value *yes = b->out[0][k], *no = b->out[1][k];
    for (int d = 0; d < yes->shape.ndim; d++) {
        tc_graph_value *size = tc_graph_import_outside(&b->in[0], tc_graph_extent(yes, d));
        if (size && size == tc_graph_import_outside(&b->in[1], tc_graph_extent(no, d)))
            b->common[k * TC_GRAPH_MAX_DIMS + (size_t)d] = size;
    }
}

static bool is_list(const tc_graph_value *v) {
    return v->sequence && !v->sequence->optional;
}

/* Lists that are output k become rows. */
static tc_status rows_of_result(tc_graph_import_branches *b, size_t k, tc_error *err) {
    const tc_graph_value *yes = b->out[0][k], *no = b->out[1][k];
    tc_graph_type type;
    if (!yes->sequence && !no->sequence)
        return TC_OK;
    b->lists[k] = is_list(yes) && is_list(no);
    b->no_rows = !b->lists[k] ||
                 (!tc_graph_import_element_type(yes->sequence, &type) && !tc_graph_import_element_type(no->sequence, &type));
    if (b->no_rows)
        return tc_refuse(
            err, TC_ERROR_NOT_CONSTANT,
            "output %zu is an optional, or a sequence without elements, and its condition '%s' depends on the network's "
            "inputs; it must be known when the model is imported",
            k, b->cond->name);
    for (int i = 0; i < 2; i++)
        TC_TRY(tc_graph_import_rows(&b->in[i].e, b->out[i][k]->sequence, &type, &b->out[i][k]));
    return TC_OK;
}

static tc_status type_result(tc_graph_import_branches *b, size_t k, tc_error *err) {
    const tc_graph_value *yes = b->out[0][k], *no = b->out[1][k];
    tc_arena *a = b->at->g->arena;
    if (yes->dtype != no->dtype || yes->shape.ndim != no->shape.ndim)
        return tc_refuse(err, TC_ERROR_NOT_CONSTANT,
                         "its condition '%s' depends on the network's inputs, and output %zu is %s or %s: branches of "
                         "different types need a condition that is known when the model is imported",
                         b->cond->name, k, tc_graph_type_str(a, yes->dtype, &yes->shape),
                         tc_graph_type_str(a, no->dtype, &no->shape));
    b->types[k] = (tc_graph_type){.dtype = yes->dtype, .shape = yes->shape};
    for (int d = 0; d < yes->shape.ndim; d++)
        b->types[k].shape.d[d] = TC_MAX(yes->shape.d[d], no->shape.d[d]);
    return tc_graph_shape_check(&b->types[k].shape, err);
}

static tc_status type_results(tc_graph_import_branches *b, tc_error *err) {
    size_t n = b->nout;
    b->lists = TC_NEW_N(b->at->g->arena, bool, n + 1);
    for (size_t k = 0; k < n; k++)
        TC_TRY(rows_of_result(b, k, err));
    b->types = TC_NEW_N(b->at->g->arena, tc_graph_type, n * (1 + TC_GRAPH_MAX_DIMS) + 1);
    for (size_t k = 0; k < n; k++)
        TC_TRY(type_result(b, k, err));
    b->common = TC_NEW_N(b->at->g->arena, tc_graph_value *, n * TC_GRAPH_MAX_DIMS + 1);
    for (size_t k = 0; k < n; k++)
        find_common(b, k);
    b->ntypes = n;
    for (size_t k = 0; k < n; k++)
        for (int d = 0; d < b->types[k].shape.ndim; d++)
            if (is_open(b, k, d))
                b->types[b->ntypes++] = tc_graph_import_scalar_type(TC_I64);
    return TC_OK;
}

static tc_status name_results(tc_graph_import_branches *b, int which) {
    tc_graph_emitter *e = &b->in[which].e;
    for (size_t k = 0; k < b->nout; k++)
        tc_graph_import_add_result(e->c->g, tc_graph_import_fitted(e, b->out[which][k], &b->types[k].shape));
    for (size_t k = 0; k < b->nout; k++)
        for (int d = 0; d < b->types[k].shape.ndim; d++)
            if (is_open(b, k, d))
                tc_graph_import_add_result(e->c->g, tc_graph_em_size(e, b->out[which][k], d));
    return e->status;
}

static tc_status give_results(tc_graph_import_branches *b, tc_graph_node *n, tc_graph_value ***out, tc_error *err) {
    tc_graph_infer_ctx c = {.g = b->at->g, .opset = TC_GRAPH_OPSET_MAX, .n = n, .err = err};
    tc_graph_emitter e = {&c, TC_OK};
    for (size_t k = 0, size = b->nout; k < b->nout; k++)
        for (int d = 0; d < b->types[k].shape.ndim; d++)
            if (is_open(b, k, d) || common(b, k, d))
                n->out[k] = tc_graph_em_sized(&e, n->out[k], d, common(b, k, d) ? common(b, k, d) : n->out[size++]);
    TC_TRY(e.status);
    tc_graph_value **v = tc_arena_dup(b->at->g->arena, n->out, b->nout * sizeof *v);
    for (size_t k = 0; k < b->nout; k++)
        if (b->lists[k])
            v[k] = tc_graph_import_list(b->at->g, (tc_graph_sequence){.rows = v[k]});
    *out = v;
    return TC_OK;
}

/* Branch k, which runs compute only if `when` holds, of sizes of `of`. */
static tc_status add_branch(tc_graph_import_branches *b, int k, tc_graph *of, const tc_expr *when, tc_error *err) {
    const tc_graph_import_body *body = b->body[k];
    tc_graph_sizes *sizes = tc_graph_sizes_of(b->at->root);
    const tc_graph_size_limit before = sizes->wanted;
    const bool chosen = sizes->is_chosen;
    for (;;) {
        tc_graph_import_open_frame(b->at, &b->in[k], b->name && *b->name ? b->name : "If", true, err);
        tc_graph_sizes_set_condition(b->in[k].f.g, of, when);
        sizes->is_chosen |= k == 1;
        tc_status s = body->add(body, NULL, &b->out[k], err);
        sizes->is_chosen = chosen;
        tc_graph_import_leave_frame(b->at, &b->in[k]);
        if (s == TC_OK || sizes->again || !body->has_other || !body->has_other(body))
            return s;
        tc_graph_import_drop_frame(&b->in[k]);
        sizes->wanted = before;
    }
}

tc_status tc_graph_import_add_branches(tc_graph_import_branches *b, int *failed, tc_error *err) {
    tc_graph *of = b->at->g;
    const tc_expr *holds = tc_graph_condition_of(&of, b->cond);
    const tc_expr *when[] = {holds, holds ? tc_un(of->sizes->ctx, TC_OP_NOT, holds) : NULL};
    for (int k = 0; k < 2; k++) {
        tc_status s = add_branch(b, k, of, when[k], err);
        *failed = s == TC_OK ? -1 : k;
        TC_TRY(s);
    }
    TC_TRY(type_results(b, err));
    TC_TRY(name_results(b, 0));
    return name_results(b, 1);
}

tc_status tc_graph_import_run_branches(tc_graph_import_branches *b, tc_graph_value ***out, tc_error *err) {
    tc_graph *g = b->at->g;
    for (int k = 0; k < 2; k++)
        tc_graph_simplify(b->in[k].f.g);
    tc_graph_value **in = TC_NEW_N(g->arena, tc_graph_value *, b->in[0].f.around.len + b->in[1].f.around.len + 1);
    in[0] = b->cond;
    size_t then = tc_graph_import_close_body(g, &b->in[0], in + 1),
           nin = 1 + then + tc_graph_import_close_body(g, &b->in[1], in + 1 + then);
    tc_graph_node *n = tc_graph_import_place_node(g, TC_GRAPH_OP_IF, b->name, in, nin, b->types, b->ntypes);
    tc_graph_set_then(g, n, (int64_t)then);
    for (int k = 0; k < 2; k++)
        n->body[k] = b->in[k].f.g;
    return give_results(b, n, out, err);
}
