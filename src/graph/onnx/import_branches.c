/* If that the data decide about: both branches are imported (graph/import/branches.h). If only one fits, it takes the place of the
 * If. */
#include <string.h>

#include "graph/import/branches.h"
#include "graph/ir/budget.h"
#include "graph/ir/sizes.h"
#include "graph/onnx/import_int.h"

/* A branch as a body. */
typedef struct branch {
    tc_graph_import_body b; /* first */
    tc_graph_importer *im;
    const Onnx__NodeProto *p;
    const char *name;
    size_t nnotes;           /* of the importer, before this */
    bool chose, takes_other; /* as the importer's, in this branch alone */
} branch;

typedef struct branches {
    tc_graph_import_branches t;
    tc_graph_importer *im;
    const Onnx__NodeProto *p;
    branch branch[2];
    size_t nnotes; /* of the importer, before this */
} branches;

static tc_status add_branch(const tc_graph_import_body *of, tc_graph_value *const *in, tc_graph_value ***out, tc_error *err) {
    branch *b = (branch *)(uintptr_t)of;
    bool chose = b->im->chose, takes_other = b->im->takes_other;
    (void)in;
    b->im->chose = false;
    b->im->takes_other = b->takes_other;
    tc_status s = tc_graph_import_branch(b->im, b->p, b->name, out, err);
    b->chose = b->im->chose;
    b->im->chose = chose;
    b->im->takes_other = takes_other;
    return s;
}

/* Nodes of the branch may fit the other one of two branches in it. */
static bool has_other(const tc_graph_import_body *of) {
    branch *b = (branch *)(uintptr_t)of;
    bool has = b->chose && !b->takes_other;
    b->takes_other |= has;
    if (has)
        b->im->notes.len = b->nnotes;
    return has;
}

static const char *const names[] = {"then_branch", "else_branch"};

/* ---- a branch that cannot run ---- */

/* "sr": the first input of the model that the condition is computed of; NULL: none is near. *left: values that are looked at. */
static const char *deciding_input(const tc_graph_importer *im, const tc_graph_value *v, int depth, int *left) {
    enum { NEAR = 8 };
    const tc_graph_value *root = tc_graph_find_value(im->at.root, v->name);
    const char *found = NULL;
    if (!v->producer)
        return root && !root->producer && !root->constant ? root->name : NULL;
    for (int k = 0; k < v->producer->nin && depth < NEAR && !found && --*left > 0; k++)
        found = v->producer->in[k] ? deciding_input(im, v->producer->in[k], depth + 1, left) : NULL;
    return found;
}

/* What the user reads: `when` the run is refused, or that runs are. */
static const char *refusal_text(const branches *b, int kept, const char *when, const tc_error *why) {
    tc_graph_importer *im = b->im;
    int left = 256;
    const char *input = deciding_input(im, b->t.cond, 0, &left);
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
    const tc_graph_type type = {.dtype = TC_BOOL, .shape = b->t.cond->shape};
    tc_graph_node *n = tc_graph_import_place_node(im->at.g, TC_GRAPH_OP_REQUIRE, b->p->name, &b->t.cond, 1, &type, 1);
    tc_graph_set_expected(im->at.g, n, !kept);
    tc_graph_set_refusal(im->at.g, n, refusal_text(b, kept, "the run is refused, as", why));
    tc_push(&im->notes, refusal_text(b, kept, "runs are refused where", why));
    tc_graph_rely_on(im->at.g, b->t.cond, !kept);
    TC_TRY(tc_graph_import_branch(im, b->p, names[kept], &out, err));
    return tc_graph_import_give_outputs(im, b->p, out, err);
}

/* Does a branch not fit the sizes, or the other branch? What import does not know at all is refused. A branch that fits only some
 * sizes is left out where runs cannot check that themselves. Test cases can give the value that decides. */
static bool may_be_left_out(const branches *b, const tc_error *why) {
    const tc_graph_sizes *sizes = b->im->at.root->sizes;
    if (why->status != TC_BAD_INPUT || b->im->at.root->budget->is_over ||
        (sizes && (sizes->again || (sizes->wanted.x && !sizes->guards))))
        return false;
    if (tc_error_wants_constant(why))
        return !b->t.no_rows && !(b->im->opts && b->im->opts->sample);
    return !tc_error_unsupported(why);
}

/* Branches of different types: the one that runs of the largest sizes take, or else the first. If nodes behind it do not fit that
 * one, the other. */
static int kept_of(const branches *b, int failed) {
    if (failed >= 0)
        return failed == 0;
    tc_graph *of = b->im->at.g;
    const tc_expr *holds = tc_graph_condition_of(&of, b->t.cond);
    bool is_else = holds && tc_graph_decide_at_largest(of, holds) == 0;
    b->im->chose = true;
    return is_else != b->im->takes_other;
}

/* The failure of both branches, or of one: the other takes the place of the If. */
static tc_status leave_out(branches *b, int failed, const tc_error *why, tc_error *err) {
    for (int k = 0; k < 2; k++)
        if (b->t.in[k].f.g)
            tc_graph_import_drop_frame(&b->t.in[k]);
    tc_graph *of = b->im->at.g;
    const tc_expr *holds = tc_graph_condition_of(&of, b->t.cond);
    bool left_out = may_be_left_out(b, why);
    if (left_out && holds && tc_graph_choose(of, holds))
        return tc_fail(err, TC_BAD_INPUT, "the sizes in its condition are chosen");
    b->im->notes.len = b->nnotes; /* without those of branches that are given up */
    if (left_out && b->im->at.root->sizes)
        b->im->at.root->sizes->wanted = (tc_graph_size_limit){0};
    if (left_out && keep_branch(b, kept_of(b, failed), why, err) == TC_OK)
        return TC_OK;
    b->im->notes.len = b->nnotes;
    if (err)
        *err = *why;
    return why->status;
}

tc_status tc_graph_import_if_at_run_time(tc_graph_importer *im, const Onnx__NodeProto *p, tc_graph_value *cond, tc_error *err) {
    branches b = {.im = im, .p = p, .nnotes = im->notes.len};
    b.t = (tc_graph_import_branches){.at = &im->at, .name = p->name, .nout = p->n_output, .cond = cond};
    for (int k = 0; k < 2; k++) {
        b.branch[k] = (branch){.b = {.add = add_branch, .has_other = has_other}, .im = im, .p = p, .name = names[k]};
        b.branch[k].nnotes = im->notes.len;
        b.t.body[k] = &b.branch[k].b;
    }
    tc_error why = {0};
    int failed = -1;
    tc_graph_sizes *sizes = tc_graph_sizes_of(im->at.root);
    const tc_graph_size_limit before = sizes->wanted;
    sizes->wanted = (tc_graph_size_limit){0};
    tc_status s = tc_graph_import_add_branches(&b.t, &failed, &why);
    bool whole = s == TC_OK;
    if (!whole)
        s = leave_out(&b, failed, &why, err);
    if (!sizes->wanted.x)
        sizes->wanted = before;
    if (!whole)
        return s;
    tc_graph_value **out;
    TC_TRY(tc_graph_import_run_branches(&b.t, &out, err));
    return tc_graph_import_give_outputs(im, p, out, err);
}
