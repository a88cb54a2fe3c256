/* Pointwise operators, by their definitions in the operator table: inference and expression. Opsets before 7 broadcast in their own
 * way. */
#include <string.h>

#include "graph/ir/build.h"
#include "graph/ops/formula.h"
#include "graph/ops/functions.h"

/* ---- inference ---- */

static tc_status want_types(tc_graph_infer_ctx *c, int k, const tc_graph_types *types) {
    const tc_graph_value *v = c->n->in[k];
    if (!types)
        return tc_graph_want_same_type(c, k - 1, k);
    if (!tc_graph_types_have(types, v->dtype))
        return tc_graph_node_fail(c, "input %d ('%s') must be %s, but is %s", k, v->name, types->says, tc_dtype_name(v->dtype));
    return TC_OK;
}

/* Exactly the attributes of the definition are there afterwards. */
static tc_status settle_attributes(tc_graph_infer_ctx *c, const tc_graph_definition *d) {
    tc_graph_node *n = c->n, given = *n;
    n->attrs = NULL;
    n->nattrs = n->cap_attrs = 0;
    for (int k = 0; k < d->nattrs; k++) {
        const tc_graph_parameter *p = &d->attr[k];
        const char *word = tc_graph_attr_str(&given, p->id, p->nwords && !p->required ? p->word[0] : "");
        if (p->nwords && tc_graph_find_word(p, word) < 0)
            return tc_graph_node_fail(c, "attribute %s is '%s'; it must be %s or %s", p->name, word, p->word[0], p->word[1]);
        if (p->nwords)
            tc_graph_set_str(c->g, n, p->id, word);
        else if (tc_graph_attr_kind_of(p->id) == TC_GRAPH_ATTR_FLOAT)
            tc_graph_set_float(c->g, n, p->id, tc_graph_attr_float(&given, p->id, p->otherwise));
        else
            tc_graph_set_int(c->g, n, p->id, tc_graph_attr_int(&given, p->id, (int64_t)p->otherwise));
    }
    return TC_OK;
}

tc_status tc_graph_old_place(tc_graph_infer_ctx *c, int *at) {
    const tc_graph_node *n = c->n;
    const tc_graph_attr *axis = tc_graph_attr_find(n, TC_ATTR_axis);
    *at = -1;
    if (n->nin != 2 || !n->in[0] || !n->in[1])
        return TC_OK;
    const tc_graph_shape *a = &n->in[0]->shape, *b = &n->in[1]->shape;
    if (n->op == TC_GRAPH_OP_PRELU && c->opset < 7 && b->ndim == 1 && a->ndim > 2)
        *at = 1;
    else if (axis && tc_graph_attr_broadcast(n))
        return tc_graph_want_axis(c, axis->i, a->ndim, at);
    return TC_OK;
}

/* Trailing dimensions of 1 make the place of older opsets today's rule. */
static tc_status align_old_broadcast(tc_graph_infer_ctx *c) {
    tc_graph_node *n = c->n;
    int at;
    TC_TRY(tc_graph_old_place(c, &at));
    if (at < 0)
        return TC_OK;
    tc_graph_value *a = n->in[0], *b = n->in[1];
    if (at + b->shape.ndim > a->shape.ndim)
        return tc_graph_node_fail(c, "axis %d leaves no room for the %d dimensions of '%s'", at, b->shape.ndim, b->name);
    tc_graph_emitter e = {c, TC_OK};
    n->in[1] = tc_graph_em_along(&e, b, 0, a->shape.ndim - at);
    return e.status;
}

tc_status tc_graph_infer_pointwise(tc_graph_infer_ctx *c) {
    tc_graph_definition d;
    TC_TRY(tc_graph_read_definition(c->g->arena, c->n->op, tc_graph_op_definition(c->n->op), &d, c->err));
    for (int k = 0; k < d.nin; k++)
        TC_TRY(want_types(c, k, d.in[k].types));
    TC_TRY(align_old_broadcast(c));
    TC_TRY(settle_attributes(c, &d));
    c->out[0].dtype = d.result < 0 ? TC_BOOL : c->n->in[d.result]->dtype;
    return tc_graph_take_broadcast(c, &c->out[0], d.nin, 0);
}

/* Past the sizes of a run, integers are divided by 1. */
tc_status tc_graph_infer_divide(tc_graph_infer_ctx *c) {
    bool is_float = tc_dtype_is_float(c->n->in[0]->dtype);
    if (c->n->op == TC_GRAPH_OP_MOD && is_float && !tc_graph_attr_fmod(c->n))
        return tc_graph_node_fail(c, "attribute fmod must be 1 for floating-point operands");
    TC_TRY(tc_graph_infer_pointwise(c));
    return is_float ? TC_OK : tc_graph_read_all(c, 1, -1, TC_GRAPH_ONE);
}

/* The slope broadcasts to x one way. */
tc_status tc_graph_infer_prelu(tc_graph_infer_ctx *c) {
    const char *slope = c->n->in[1]->name;
    TC_TRY(tc_graph_infer_pointwise(c));
    if (!tc_graph_shape_equal(&c->out[0].shape, &c->n->in[0]->shape))
        return tc_graph_node_fail(c, "the slope '%s' does not broadcast to the input's shape", slope);
    return TC_OK;
}

/* ---- expression ---- */

const tc_expr *tc_graph_at_pointwise(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    tc_ctx *c = tc_graph_lower_ctx(l);
    tc_dtype to = n->out[out]->dtype;
    tc_graph_definition d;
    tc_error err = {0};
    const tc_expr *x[TC_GRAPH_MAX_OPERANDS], *y = NULL;
    tc_status s = tc_graph_read_definition(tc_ctx_arena(c), n->op, tc_graph_op_definition(n->op), &d, &err);
    const tc_graph_types *types = NULL;
    for (int k = 0; s == TC_OK && k < d.nin; k++) {
        x[k] = tc_graph_operand(l, n, k, n->out[out]->shape.ndim, idx);
        types = d.in[k].types ? d.in[k].types : types;
        if (types->computes)
            x[k] = tc_cast(c, tc_graph_wide(x[k]->dtype), x[k]);
    }
    if (s == TC_OK)
        s = tc_graph_apply_formula(c, &d, n, x, &y, &err);
    return s == TC_OK ? tc_cast(c, to, y) : tc_graph_lower_fail(l, n, to, "%s", err.msg);
}
