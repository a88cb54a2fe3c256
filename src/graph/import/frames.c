/* Graphs of bodies: what is read of the graphs around one becomes its inputs . */
#include <string.h>

#include "graph/import/frames.h"
#include "graph/import/lists.h"
#include "graph/ir/sizes.h"
#include "graph/ops/expand.h"

typedef tc_graph_import_frame frame;

static tc_graph_value *capture(frame *f, tc_graph_value *v, tc_graph_value *outer) {
    const char *name = tc_graph_fresh_name(f->g, v->name);
    tc_graph_value *in;
    if (outer->constant) {
        in = tc_graph_add_value(f->g, name, outer->dtype, &outer->shape);
        in->constant = outer->constant;
    } else {
        in = tc_graph_add_input(f->g, name, outer->dtype, &outer->shape);
        in->most = outer->most;
        tc_push(&f->around, outer);
        tc_graph_sizes_capture(f->g, in, outer);
    }
    tc_map_put(&f->inside, (uint64_t)(uintptr_t)v, (uintptr_t)in);
    return in;
}

static tc_graph_value *here(tc_graph_import_place *at, frame *f, tc_graph_value *v);

static tc_graph_value *list_here(tc_graph_import_place *at, frame *f, const tc_graph_value *v) {
    const tc_graph_sequence *s = v->sequence;
    tc_graph_value **all = TC_NEW_N(f->g->arena, tc_graph_value *, s->n + 1);
    for (size_t i = 0; i < s->n; i++)
        all[i] = here(at, f, s->v[i]);
    tc_graph_value *rows = s->rows ? here(at, f, s->rows) : NULL;
    tc_graph_value *list = tc_graph_import_list(f->g, (tc_graph_sequence){rows, s->n, all, s->optional});
    tc_map_put(&f->inside, (uint64_t)(uintptr_t)v, (uintptr_t)list);
    return list;
}

static tc_graph_value *here(tc_graph_import_place *at, frame *f, tc_graph_value *v) {
    if (tc_graph_owns(f ? f->g : at->root, v) || !f)
        return v;
    uintptr_t *known = tc_map_get(&f->inside, (uint64_t)(uintptr_t)v);
    if (known)
        return (tc_graph_value *)*known;
    if (v->sequence)
        return list_here(at, f, v);
    tc_graph_value *outer = here(at, f->up, v), *in = capture(f, v, outer);
    for (int d = 0; d < outer->shape.ndim; d++) {
        if (!tc_graph_extent(outer, d))
            continue;
        if (!in->extent)
            in->extent = TC_NEW_N(f->g->arena, tc_graph_value *, TC_GRAPH_MAX_DIMS);
        in->extent[d] = here(at, f, outer->extent[d]);
    }
    return in;
}

tc_graph_value *tc_graph_import_here(tc_graph_import_place *at, tc_graph_value *v) {
    return here(at, at->frame, v);
}

tc_graph_value *tc_graph_import_outside(const tc_graph_import_inside *x, const tc_graph_value *v) {
    size_t first = x->f.g->inputs.len - x->f.around.len;
    for (size_t i = 0; i < x->f.around.len; i++)
        if (x->f.g->inputs.data[first + i] == v)
            return x->f.around.data[i];
    return NULL;
}

void tc_graph_import_open_frame(tc_graph_import_place *at, tc_graph_import_inside *x, const char *name, bool is_branch,
                                tc_error *err) {
    *x = (tc_graph_import_inside){.f = {.up = at->frame, .g = tc_graph_new(at->path)}};
    x->f.g->name = tc_arena_strdup(x->f.g->arena, name);
    x->c = (tc_graph_infer_ctx){.g = x->f.g, .opset = TC_GRAPH_OPSET_MAX, .err = err};
    x->f.g->origin = at->g->origin;
    x->f.g->texts = tc_graph_texts_of(at->g);
    x->f.g->budget = at->g->budget;
    x->c.n = tc_graph_new_node(x->f.g, TC_GRAPH_OP_IDENTITY, x->f.g->name, NULL, 0);
    x->e = (tc_graph_emitter){&x->c, TC_OK};
    tc_graph_sizes_enter(x->f.g, at->g, is_branch);
    at->frame = &x->f;
    at->g = x->f.g;
}

void tc_graph_import_leave_frame(tc_graph_import_place *at, const tc_graph_import_inside *x) {
    at->frame = x->f.up;
    at->g = x->f.up ? x->f.up->g : at->root;
}

void tc_graph_import_drop_frame(tc_graph_import_inside *x) {
    tc_map_free(&x->f.inside);
    tc_vec_free(&x->f.around);
    tc_graph_free(x->f.g);
    x->f.g = NULL;
}

size_t tc_graph_import_close_body(tc_graph *around, tc_graph_import_inside *x, tc_graph_value **captured) {
    tc_graph *g = x->f.g;
    tc_graph_sizes_leave(g);
    tc_graph_simplify(g);
    uint32_t *uses = tc_graph_count_uses(g);
    size_t first = g->inputs.len - x->f.around.len, n = 0;
    for (size_t i = 0; i < x->f.around.len; i++)
        if (uses[g->inputs.data[first + i]->id]) {
            captured[n] = x->f.around.data[i];
            g->inputs.data[first + n++] = g->inputs.data[first + i];
        }
    g->inputs.len = first + n;
    free(uses);
    tc_map_free(&x->f.inside);
    tc_vec_free(&x->f.around);
    tc_push(&around->bodies, g);
    return n;
}

tc_graph_value *tc_graph_import_fitted(tc_graph_emitter *e, tc_graph_value *v, const tc_graph_shape *to) {
    int64_t pads[2 * TC_GRAPH_MAX_DIMS] = {0};
    bool short_of = false;
    if (tc_graph_shape_count(&v->shape) == 0 && tc_graph_shape_count(to) > 0) /* of nothing, there is nothing to pad */
        return tc_graph_em_expand(e, tc_graph_em_scalar(e, v->dtype, 0), to);
    v = tc_graph_em_blind(e, v);
    for (int d = 0; d < to->ndim; d++) {
        if (v->shape.d[d] > to->d[d])
            v = tc_graph_em_slice(e, v, d, 0, to->d[d], 1);
        pads[to->ndim + d] = to->d[d] - v->shape.d[d];
        short_of |= pads[to->ndim + d] > 0;
    }
    return short_of ? tc_graph_em_pad(e, v, pads, NULL) : v;
}

void tc_graph_import_add_result(tc_graph *g, tc_graph_value *v) {
    tc_graph_add_output(g, v->name, v);
}

tc_graph_node *tc_graph_import_place_node(tc_graph *g, tc_graph_op op, const char *name, tc_graph_value **in, size_t nin,
                                          const tc_graph_type *types, size_t nout) {
    tc_graph_node *n = tc_graph_new_node(g, op, name, in, (int)nin);
    n->nout = (int)nout;
    n->out = TC_NEW_N(g->arena, tc_graph_value *, nout + 1);
    for (size_t k = 0; k < nout; k++) {
        const char *own = tc_graph_fresh_name(g, tc_arena_printf(g->arena, "%s.%zu", n->name, k));
        n->out[k] = tc_graph_add_value(g, own, types[k].dtype, &types[k].shape);
        n->out[k]->producer = n;
    }
    tc_push(&g->nodes, n);
    return n;
}

tc_graph_type tc_graph_import_scalar_type(tc_dtype t) {
    return (tc_graph_type){.dtype = t};
}
