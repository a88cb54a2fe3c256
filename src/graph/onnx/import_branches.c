/* If that the data decide about: its branches become graphs of their own, which a node (ops.def) runs one of. A result that does
 * not have the same shape in both lies in memory of its largest and carries its size (dynamic.h) beside it, unless both give it
 * the same size of the graph around them; a list is its rows (graph/import/lists.h). */
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
    size_t nnotes; /* of the importer, before this */
    bool no_rows;  /* a list among the results cannot be rows */
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

static tc_status type_result(branches *b, size_t k, tc_error *err) {
    const tc_graph_value *yes = b->out[0][k], *no = b->out[1][k];
    tc_arena *a = b->im->at.g->arena;
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

static tc_status type_results(branches *b, tc_error *err) {
    size_t n = b->p->n_output;
    b->lists = TC_NEW_N(b->im->at.g->arena, bool, n + 1);
    for (size_t k = 0; k < n; k++)
        TC_TRY(rows_of_result(b, k, err));
    b->types = TC_NEW_N(b->im->at.g->arena, tc_graph_type, n * (1 + TC_GRAPH_MAX_DIMS) + 1);
    for (size_t k = 0; k < n; k++)
        TC_TRY(type_result(b, k, err));
    b->common = TC_NEW_N(b->im->at.g->arena, tc_graph_value *, n * TC_GRAPH_MAX_DIMS + 1);
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
    tc_graph_infer_ctx c = {.g = b->im->at.g, .opset = TC_GRAPH_OPSET_MAX, .n = n, .err = err};
    tc_graph_emitter e = {&c, TC_OK};
    for (size_t k = 0, size = b->p->n_output; k < b->p->n_output; k++)
        for (int d = 0; d < b->types[k].shape.ndim; d++)
            if (is_open(b, k, d) || common(b, k, d))
                n->out[k] = tc_graph_em_sized(&e, n->out[k], d, common(b, k, d) ? common(b, k, d) : n->out[size++]);
    TC_TRY(e.status);
    tc_graph_value **v = tc_arena_dup(b->im->at.g->arena, n->out, b->p->n_output * sizeof *v);
    for (size_t k = 0; k < b->p->n_output; k++)
        if (b->lists[k])
            v[k] = tc_graph_import_list(b->im->at.g, (tc_graph_sequence){.rows = v[k]});
    return tc_graph_import_give_outputs(b->im, b->p, v, err);
}

static const char *const names[] = {"then_branch", "else_branch"};

/* *failed: the branch that cannot be imported; -1: none, or both, which do not fit each other. */
static tc_status add_branches(branches *b, int *failed, tc_error *err) {
    tc_graph *of = b->im->at.g;
    const tc_expr *holds = tc_graph_condition_of(&of, b->cond);
    tc_graph_sizes *sizes = tc_graph_sizes_of(b->im->at.root);
    const bool chosen = sizes->is_chosen;
    const tc_expr *when[] = {holds, holds ? tc_un(of->sizes->ctx, TC_OP_NOT, holds) : NULL};
    for (int k = 0; k < 2; k++) {
        tc_graph_import_open_frame(&b->im->at, &b->in[k], tc_graph_import_name_of(b->p), true, err);
        tc_graph_sizes_set_condition(b->in[k].f.g, of, when[k]);
        sizes->is_chosen |= k == 1;
        tc_status s = tc_graph_import_branch(b->im, b->p, names[k], &b->out[k], err);
        sizes->is_chosen = chosen;
        tc_graph_import_leave_frame(&b->im->at, &b->in[k]);
        *failed = s == TC_OK ? -1 : k;
        TC_TRY(s);
    }
    TC_TRY(type_results(b, err));
    TC_TRY(name_results(b, 0));
    return name_results(b, 1);
}

/* ---- a branch that cannot run ---- */

/* "sr": the first input of the model that the condition is computed of; NULL: none is near. */
static const char *deciding_input(const tc_graph_importer *im, const tc_graph_value *v, int depth) {
    enum { NEAR = 8 };
    const tc_graph_value *root = tc_graph_find_value(im->at.root, v->name);
    const char *found = NULL;
    if (!v->producer)
        return root && !root->producer && !root->constant ? root->name : NULL;
    for (int k = 0; k < v->producer->nin && depth < NEAR && !found; k++)
        found = v->producer->in[k] ? deciding_input(im, v->producer->in[k], depth + 1) : NULL;
    return found;
}

/* What the user reads: `when` the run is refused, or that runs are. */
static const char *refusal_text(const branches *b, int kept, const char *when, const tc_error *why) {
    tc_graph_importer *im = b->im;
    const char *input = deciding_input(im, b->cond, 0);
    return tc_arena_printf(
        im->at.root->arena,
        "%s the condition '%s' of node '%s' (If) is %s: the model was built without the %s, because: %s. To build the model for "
        "this branch, give other sizes with --shape%s%s%s",
        when, b->p->input[0], b->p->name && *b->p->name ? b->p->name : b->p->output[0], kept ? "true" : "false", names[1 - kept],
        why->msg, input ? ", or fix the input that decides: --input " : "", input ? input : "", input ? "=VALUE" : "");
}

/* Adds branch `kept` in the place of the If. Runs that would take the other branch, which `why` says is impossible, are refused. */
static tc_status keep_branch(branches *b, int kept, const tc_error *why, tc_error *err) {
    tc_graph_importer *im = b->im;
    tc_graph_value **out;
    const tc_graph_type type = {.dtype = TC_BOOL, .shape = b->cond->shape};
    tc_graph_node *n = tc_graph_import_place_node(im->at.g, TC_GRAPH_OP_REQUIRE, b->p->name, &b->cond, 1, &type, 1);
    tc_graph_set_expected(im->at.g, n, !kept);
    tc_graph_set_refusal(im->at.g, n, refusal_text(b, kept, "the run is refused, as", why));
    tc_push(&im->notes, refusal_text(b, kept, "runs are refused where", why));
    TC_TRY(tc_graph_import_branch(im, b->p, names[kept], &out, err));
    return tc_graph_import_give_outputs(im, b->p, out, err);
}

/* Does a branch not fit the sizes, or the other branch? What import does not know at all is refused, and so is a branch that fits
 * only some of the sizes that were given. Test cases can give the value that decides. */
static bool may_be_left_out(const branches *b, const tc_error *why) {
    const tc_graph_sizes *sizes = b->im->at.root->sizes;
    if (why->status != TC_BAD_INPUT || (sizes && (sizes->again || sizes->wanted.x)))
        return false;
    if (tc_error_wants_constant(why))
        return !b->no_rows && !(b->im->opts && b->im->opts->sample);
    return !tc_error_unsupported(why);
}

/* Branches of different types: the one that runs of the largest sizes take, or else the first. */
static int kept_of(const branches *b, int failed) {
    tc_graph *of = b->im->at.g;
    const tc_expr *holds = failed < 0 ? tc_graph_condition_of(&of, b->cond) : NULL;
    return failed < 0 ? holds && tc_graph_decide_at_largest(of, holds) == 0 : failed == 0;
}

/* The failure of both branches, or of one: the other takes the place of the If. */
static tc_status leave_out(branches *b, int failed, const tc_error *why, tc_error *err) {
    for (int k = 0; k < 2; k++)
        if (b->in[k].f.g)
            tc_graph_import_drop_frame(&b->in[k]);
    tc_graph *of = b->im->at.g;
    const tc_expr *holds = tc_graph_condition_of(&of, b->cond);
    bool left_out = may_be_left_out(b, why);
    if (left_out && holds && tc_graph_choose(of, holds))
        return tc_fail(err, TC_BAD_INPUT, "the sizes in its condition are chosen");
    b->im->notes.len = b->nnotes; /* without those of branches that are given up */
    if (left_out && keep_branch(b, kept_of(b, failed), why, err) == TC_OK)
        return TC_OK;
    b->im->notes.len = b->nnotes;
    if (err)
        *err = *why;
    return why->status;
}

tc_status tc_graph_import_if_at_run_time(tc_graph_importer *im, const Onnx__NodeProto *p, tc_graph_value *cond, tc_error *err) {
    branches b = {.im = im, .p = p, .cond = cond, .nnotes = im->notes.len};
    tc_error why = {0};
    int failed = -1;
    tc_graph_sizes *sizes = tc_graph_sizes_of(im->at.root);
    const tc_graph_size_limit before = sizes->wanted;
    sizes->wanted = (tc_graph_size_limit){0};
    tc_status s = add_branches(&b, &failed, &why);
    bool whole = s == TC_OK;
    if (!whole)
        s = leave_out(&b, failed, &why, err);
    if (!sizes->wanted.x)
        sizes->wanted = before;
    if (!whole)
        return s;
    tc_graph *g = im->at.g;
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
