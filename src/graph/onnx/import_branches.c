/* If that the data decide about: its branches become graphs of their own, which a node (ops.def) runs one of. A result that does
 * not have the same shape in both lies in memory of its largest and carries its size (dynamic.h) beside it, unless both give it
 * the same size of the graph around them; a list is its rows (import_lists.c). */
#include <string.h>

#include "graph/ir/sizes.h"
#include "graph/onnx/import_int.h"

typedef struct branches {
    tc_graph_importer *im;
    const Onnx__NodeProto *p;
    tc_graph_value *cond;
    tc_graph_import_inside in[2];
    tc_graph_value **out[2]; /* [p's outputs]; lists as rows */
    bool *lists;             /* [p's outputs] */
    tc_graph_type *types;    /* [p's outputs], then of sizes */
    tc_graph_value *
        *common; /* [p's outputs, dimensions]: the size around the branches that it has in both; NULL: there is none */
    size_t ntypes;
} branches;

static tc_graph_value *common(const branches *b, size_t k, int d) {
    return b->common[k * TC_GRAPH_MAX_DIMS + (size_t)d];
}

/* Its size is carried beside it. */
static bool is_open(const branches *b, size_t k, int d) {
    const tc_graph_value *yes = b->out[0][k], *no = b->out[1][k];
    bool varies = tc_graph_extent(yes, d) || tc_graph_extent(no, d) || yes->shape.d[d] != no->shape.d[d];
    return varies && !common(b, k, d);
}

static void find_common(branches *b, size_t k) {
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
static tc_status rows_of_result(branches *b, size_t k, tc_error *err) {
    const tc_graph_value *yes = b->out[0][k], *no = b->out[1][k];
    tc_graph_type type;
    if (!yes->sequence && !no->sequence)
        return TC_OK;
    b->lists[k] = is_list(yes) && is_list(no);
    if (!b->lists[k] ||
        (!tc_graph_import_element_type(yes->sequence, &type) && !tc_graph_import_element_type(no->sequence, &type)))
        return tc_refuse(
            err, TC_ERROR_NOT_CONSTANT,
            "output %zu is an optional, or a sequence without elements, and its condition '%s' depends on the network's "
            "inputs; it must be known when the model is imported",
            k, b->cond->name);
    for (int i = 0; i < 2; i++)
        TC_TRY(tc_graph_import_rows(&b->in[i].e, b->out[i][k]->sequence, &type, &b->out[i][k]));
    return TC_OK;
}

static tc_status type_result(branches *b, size_t k, tc_error *err) {
    const tc_graph_value *yes = b->out[0][k], *no = b->out[1][k];
    tc_arena *a = b->im->g->arena;
    if (yes->dtype != no->dtype || yes->shape.ndim != no->shape.ndim)
        return tc_refuse(err, TC_ERROR_NOT_CONSTANT,
                         "its condition '%s' depends on the network's inputs, and output %zu is %s or %s: branches of "
                         "different types need a condition that is known when the model is imported",
                         b->cond->name, k, tc_graph_type_str(a, yes->dtype, &yes->shape),
                         tc_graph_type_str(a, no->dtype, &no->shape));
    b->types[k] = (tc_graph_type){yes->dtype, yes->shape};
    for (int d = 0; d < yes->shape.ndim; d++)
        b->types[k].shape.d[d] = TC_MAX(yes->shape.d[d], no->shape.d[d]);
    return tc_graph_shape_check(&b->types[k].shape, err);
}

static tc_status type_results(branches *b, tc_error *err) {
    size_t n = b->p->n_output;
    b->lists = TC_NEW_N(b->im->g->arena, bool, n + 1);
    for (size_t k = 0; k < n; k++)
        TC_TRY(rows_of_result(b, k, err));
    b->types = TC_NEW_N(b->im->g->arena, tc_graph_type, n * (1 + TC_GRAPH_MAX_DIMS) + 1);
    for (size_t k = 0; k < n; k++)
        TC_TRY(type_result(b, k, err));
    b->common = TC_NEW_N(b->im->g->arena, tc_graph_value *, n * TC_GRAPH_MAX_DIMS + 1);
    for (size_t k = 0; k < n; k++)
        find_common(b, k);
    b->ntypes = n;
    for (size_t k = 0; k < n; k++)
        for (int d = 0; d < b->types[k].shape.ndim; d++)
            if (is_open(b, k, d))
                b->types[b->ntypes++] = tc_graph_import_scalar_type(TC_I64);
    return TC_OK;
}

static tc_status name_results(branches *b, int which) {
    tc_graph_emitter *e = &b->in[which].e;
    for (size_t k = 0; k < b->p->n_output; k++)
        tc_graph_import_add_result(e->c->g, tc_graph_import_fitted(e, b->out[which][k], &b->types[k].shape));
    for (size_t k = 0; k < b->p->n_output; k++)
        for (int d = 0; d < b->types[k].shape.ndim; d++)
            if (is_open(b, k, d))
                tc_graph_import_add_result(e->c->g, tc_graph_em_size(e, b->out[which][k], d));
    return e->status;
}

static tc_status give_results(branches *b, tc_graph_node *n, tc_error *err) {
    tc_graph_infer_ctx c = {.g = b->im->g, .opset = TC_GRAPH_OPSET_MAX, .n = n, .err = err};
    tc_graph_emitter e = {&c, TC_OK};
    for (size_t k = 0, size = b->p->n_output; k < b->p->n_output; k++)
        for (int d = 0; d < b->types[k].shape.ndim; d++)
            if (is_open(b, k, d) || common(b, k, d))
                n->out[k] = tc_graph_em_sized(&e, n->out[k], d, common(b, k, d) ? common(b, k, d) : n->out[size++]);
    TC_TRY(e.status);
    tc_graph_value **v = tc_arena_dup(b->im->g->arena, n->out, b->p->n_output * sizeof *v);
    for (size_t k = 0; k < b->p->n_output; k++)
        if (b->lists[k])
            v[k] = tc_graph_import_list(b->im->g, (tc_graph_sequence){.rows = v[k]});
    return tc_graph_import_give_outputs(b->im, b->p, v, err);
}

static tc_status add_branches(branches *b, size_t index, tc_error *err) {
    static const char *const names[] = {"then_branch", "else_branch"};
    tc_graph *of = b->im->g;
    const tc_expr *holds = tc_graph_condition_of(&of, b->cond);
    const tc_expr *when[] = {holds, holds ? tc_un(of->sizes->ctx, TC_OP_NOT, holds) : NULL};
    for (int k = 0; k < 2; k++) {
        tc_graph_import_open_frame(b->im, &b->in[k], b->p, true, err);
        tc_graph_sizes_set_condition(b->in[k].f.g, of, when[k]);
        tc_status s = tc_graph_import_branch(b->im, b->p, names[k], index, &b->out[k], err);
        tc_graph_import_leave_frame(b->im, &b->in[k]);
        TC_TRY(s);
    }
    TC_TRY(type_results(b, err));
    TC_TRY(name_results(b, 0));
    return name_results(b, 1);
}

tc_status tc_graph_import_if_at_run_time(tc_graph_importer *im, const Onnx__NodeProto *p, tc_graph_value *cond, size_t index,
                                         tc_error *err) {
    branches b = {.im = im, .p = p, .cond = cond};
    tc_status s = add_branches(&b, index, err);
    if (s != TC_OK) {
        for (int k = 0; k < 2; k++)
            if (b.in[k].f.g)
                tc_graph_import_drop_frame(&b.in[k]);
        return s;
    }
    tc_graph *g = im->g;
    for (int k = 0; k < 2; k++)
        tc_graph_simplify(b.in[k].f.g);
    tc_graph_value **in = TC_NEW_N(g->arena, tc_graph_value *, b.in[0].f.around.len + b.in[1].f.around.len + 1);
    in[0] = cond;
    size_t then = tc_graph_import_close_body(g, &b.in[0], in + 1),
           nin = 1 + then + tc_graph_import_close_body(g, &b.in[1], in + 1 + then);
    tc_graph_node *n = tc_graph_import_place_node(g, TC_GRAPH_OP_IF, p->name, in, nin, b.types, b.ntypes);
    tc_graph_set_then(g, n, (int64_t)then);
    for (int k = 0; k < 2; k++)
        n->body[k] = b.in[k].f.g;
    return give_results(&b, n, err);
}
