/* Sizes that vary: which part of its values a program computes, and how the sizes of a run are checked. It also copies inputs and
 * outputs between two layouts: the caller's, dense in the sizes of a run, and the layout that kernels want. */
#include "graph/program/maker_int.h"

#include <stdlib.h>
#include <string.h>

#include "graph/ir/sizes.h"

typedef tc_graph_maker maker;

/* ---- who asks for what ---- */

static void ask_for_all(maker *m, const tc_graph_node *n) {
    for (int i = 0; i < n->nin; i++)
        if (n->in[i])
            tc_graph_sized_ask(m->sized, n->in[i], NULL);
    for (int i = 0; i < n->nout; i++)
        if (n->out[i])
            tc_graph_sized_ask(m->sized, n->out[i], NULL);
}

static tc_status ask_group(maker *m, const bool *stored, const tc_graph_fused *f, tc_error *err) {
    tc_graph_lowered l;
    if (tc_graph_is_kernel(f))
        return tc_graph_lower_group(m->p->ctx, m->g, stored, m->sized, &f->group, f->nout, f->out, &l, err);
    for (int i = 0; i < f->group.n; i++)
        if (tc_graph_grows(f->group.nodes[i]))
            tc_graph_maker_ask_new_rows(m, f->group.nodes[i]);
        else if (f->group.nodes[i]->body[0])
            TC_TRY(tc_graph_maker_ask_bodies(m, f->group.nodes[i], err));
        else
            ask_for_all(m, f->group.nodes[i]);
    return TC_OK;
}

/* Where output o ends, which other outputs say; false, and nowhere, where kernels do not know one of these. */
static bool extents_of(maker *m, const tc_graph_output *o, const tc_var *size[TC_GRAPH_MAX_DIMS]) {
    bool known = true;
    for (int d = 0; d < o->value->shape.ndim; d++) {
        size[d] = o->extent[d] ? tc_graph_sized_symbol(m->sized, m->g->outputs.data[o->extent[d]].value) : NULL;
        known &= !o->extent[d] || (size[d] && size[d]->most <= o->value->shape.d[d]);
    }
    for (int d = 0; d < o->value->shape.ndim && !known; d++)
        size[d] = NULL;
    return known;
}

const tc_var *tc_graph_maker_input_size(maker *m, const tc_graph_value *v, int d) {
    return v->extent && v->extent[d] ? tc_graph_sized_symbol(m->sized, v->extent[d]) : NULL;
}

/* Inputs are copied, where they are, before anything is computed: they end at no size that is. Those of which only the first
 * elements are read end where they end in the caller's memory. */
static void ask_inputs(maker *m) {
    const tc_var *size[TC_GRAPH_MAX_DIMS];
    tc_graph_sized_at(m->sized, 0);
    for (size_t i = 0; i < m->g->inputs.len; i++) {
        const tc_graph_value *v = m->g->inputs.data[i];
        if (!tc_graph_sized_is_asked(m->sized, v))
            continue;
        tc_graph_sized_ends(m->sized, v, size);
        for (int d = 0; d < v->shape.ndim; d++)
            size[d] = size[d] == &tc_te_first                   ? tc_graph_maker_input_size(m, v, d)
                      : tc_graph_sized_knows(m->sized, size[d]) ? size[d]
                                                                : NULL;
        tc_graph_sized_ask(m->sized, v, size);
    }
}

tc_status tc_graph_maker_ask_groups(maker *m, const tc_graph_groups *groups, tc_error *err) {
    tc_status s = TC_OK;
    for (int i = 0; i < groups->npieces; i++) {
        tc_graph_sized_ask(m->sized, groups->pieces[i].value, NULL);
        tc_graph_sized_ask(m->sized, groups->pieces[i].whole, NULL);
    }
    for (int i = 0; i < groups->n; i++)
        for (int k = 0; k < groups->data[i].nout; k++)
            tc_graph_sized_made(m->sized, groups->data[i].out[k], i);
    for (int i = groups->n - 1; i >= 0 && s == TC_OK; i--) {
        tc_graph_sized_at(m->sized, i);
        for (int x = 0; x < groups->nmerges && s == TC_OK; x++)
            for (int k = 0; k < groups->merges[x].nanchor && s == TC_OK; k++)
                if (groups->merges[x].anchor[k] == i)
                    s = ask_group(m, groups->stored, &groups->merges[x].whole[k], NULL);
        s = ask_group(m, groups->stored, &groups->data[i], err);
    }
    return s;
}

tc_status tc_graph_maker_ask(maker *m, const tc_graph_groups *groups, tc_error *err) {
    const tc_var *size[TC_GRAPH_MAX_DIMS];
    tc_graph_maker_keep_caches(m);
    for (size_t i = 0; i < m->g->outputs.len; i++) {
        (void)extents_of(m, &m->g->outputs.data[i], size);
        tc_graph_sized_ask(m->sized, m->g->outputs.data[i].value, size);
    }
    tc_status s = tc_graph_maker_ask_groups(m, groups, err);
    ask_inputs(m);
    tc_graph_sized_settle(m->sized);
    return s;
}

/* ---- what kernels are given ---- */

int tc_graph_maker_gather(maker *m, int n, const int *slots, const char *name) {
    if (n == 1)
        return slots[0];
    tc_graph_slot whole = {.kind = TC_GRAPH_SLOT_TEMP, .name = tc_arena_strdup(m->p->arena, name), .bytes = 8 * n};
    int slot = tc_graph_maker_add_slot(m, whole);
    for (int i = 0; i < n; i++) {
        const char *own = m->slots.data[slots[i]].name;
        int *args = TC_NEW_N(m->p->arena, int, 2);
        args[0] = slots[i];
        args[1] = tc_graph_maker_add_slot(m, (tc_graph_slot){.kind = TC_GRAPH_SLOT_TEMP, .name = own, .bytes = 8});
        m->slots.data[args[1]].within = slot;
        m->slots.data[args[1]].at = 8 * i;
        tc_push(&m->launches,
                ((tc_graph_launch){.name = own, .covers = "Size", .task = -1, .nargs = 2, .args = args, .bytes = 8}));
    }
    return slot;
}

int tc_graph_maker_sizes(maker *m, const tc_workload *w) {
    tc_strbuf names = {0};
    int *slots = TC_NEW_N(m->p->arena, int, w->nsymbol);
    for (int i = 0; i < w->nsymbol; i++) {
        const tc_graph_value *v = tc_graph_sized_value(m->sized, w->symbols[i]);
        slots[i] = tc_graph_maker_slot(m, v);
        tc_sb_printf(&names, "%s%s", i ? "," : "", v->name);
    }
    int slot = -1;
    for (size_t k = 0; k < m->arrays.len && slot < 0; k++) {
        const tc_graph_size_array *x = &m->arrays.data[k];
        if (x->n == w->nsymbol && memcmp(x->of, slots, (size_t)x->n * sizeof *slots) == 0)
            slot = x->slot;
    }
    if (slot < 0) {
        slot = tc_graph_maker_gather(m, w->nsymbol, slots, tc_sb_str(&names));
        tc_push(&m->arrays, ((tc_graph_size_array){w->nsymbol, slot, slots}));
    }
    tc_strbuf_free(&names);
    return slot;
}

void tc_graph_maker_relate(maker *m, int task, const tc_workload *w) {
    const tc_expr **size = TC_NEW_N(m->p->arena, const tc_expr *, w->nsymbol);
    for (int i = 0; i < w->nsymbol; i++)
        if (!(size[i] = tc_graph_sized_number(m->sized, w->symbols[i])))
            return;
    for (size_t i = 0; i < m->relations.len; i++) {
        tc_graph_relation *r = &m->relations.data[i];
        if (r->task == task && memcmp(r->size, size, (size_t)w->nsymbol * sizeof *size) == 0) {
            r->times += m->times;
            return;
        }
    }
    tc_push(&m->relations, ((tc_graph_relation){task, m->times, size}));
}

/* ---- between the caller's memory and the program's ---- */

static bool same_ends(const tc_graph_value *v, const tc_var *const *a, const tc_var *const *b) {
    for (int d = 0; d < v->shape.ndim; d++)
        if (a[d] != b[d])
            return false;
    return true;
}

/* Elements of v, which ends at from[], as an array that ends at to[]; zero where only that has elements. */
static tc_status copy_workload(maker *m, const tc_graph_value *v, const tc_var *const *from, const tc_var *const *to,
                               tc_workload **w, tc_error *err) {
    tc_ctx *c = m->p->ctx;
    int64_t shape[TC_GRAPH_MAX_DIMS] = {0};
    const tc_var *ends[TC_GRAPH_MAX_DIMS] = {0};
    const tc_expr *at[TC_GRAPH_MAX_DIMS], *body;
    tc_axis axes[TC_GRAPH_MAX_DIMS];
    int n = 0;
    for (int d = 0; d < v->shape.ndim; d++) {
        if (v->shape.d[d] == 1)
            continue;
        shape[n] = v->shape.d[d];
        ends[n] = from[d];
        axes[n] = to[d] ? tc_te_varying_axis(c, "i", to[d]) : tc_te_axis(c, "i", shape[n]);
        at[n] = tc_varx(c, axes[n].var);
        n++;
    }
    const tc_tensor *x = tc_te_varying_placeholder(c, "x", v->dtype, n, shape, ends, false);
    body = tc_read(c, x, n, at);
    for (int k = n - 1; k >= 0; k--)
        if (ends[k] && axes[k].symbol != ends[k])
            body = tc_select(c, tc_bin(c, TC_OP_LT, at[k], tc_varx(c, ends[k])), body, tc_imm(c, v->dtype, 0));
    const tc_compute *y = tc_te_compute(c, "y", n, axes, TC_RED_NONE, 0, NULL, 1, &body);
    return tc_te_workload(c, 1, &x, 1, &y->out[0], w, err);
}

tc_status tc_graph_maker_copy_to(maker *m, const tc_graph_value *v, const char *what, const tc_var *const *from,
                                 const tc_var *const *to, int slot, int to_slot, tc_error *err) {
    tc_workload *w;
    int args[] = {slot, to_slot};
    if (tc_graph_shape_count(&v->shape) == 0)
        return TC_OK;
    TC_TRY(copy_workload(m, v, from, to, &w, err));
    tc_graph_maker_launch(m, (tc_graph_launch){.name = v->name, .covers = what, .nargs = 2, .args = args}, w);
    return TC_OK;
}

tc_status tc_graph_maker_copy(maker *m, const tc_graph_value *v, const char *what, const tc_var *const *from,
                              const tc_var *const *to, int *slot, tc_error *err) {
    tc_graph_slot copy = {.kind = TC_GRAPH_SLOT_TEMP, .name = v->name, .bytes = tc_graph_value_bytes(v)};
    int from_slot = *slot;
    *slot = tc_graph_maker_add_slot(m, copy);
    return tc_graph_maker_copy_to(m, v, what, from, to, from_slot, *slot, err);
}

tc_status tc_graph_maker_take_inputs(maker *m, tc_error *err) {
    const tc_graph *g = m->g;
    for (size_t i = 0; i < g->inputs.len; i++) {
        const tc_graph_value *v = g->inputs.data[i];
        const tc_var *given[TC_GRAPH_MAX_DIMS], *want[TC_GRAPH_MAX_DIMS];
        for (int d = 0; d < v->shape.ndim; d++) {
            given[d] = tc_graph_maker_input_size(m, v, d);
            if (!given[d] && v->extent && v->extent[d])
                return tc_refuse(
                    err, TC_ERROR_UNSUPPORTED,
                    "dimension %d of input '%s' has no range that kernels can be built for; give a smaller one with --shape", d,
                    v->name);
        }
        tc_graph_sized_ends(m->sized, v, want);
        if (!tc_graph_sized_is_asked(m->sized, v) || same_ends(v, given, want))
            continue;
        int slot = tc_graph_maker_slot(m, v);
        TC_TRY(tc_graph_maker_copy(m, v, "Input", given, want, &slot, err));
        tc_graph_maker_bind(m, v, slot);
    }
    return TC_OK;
}

tc_status tc_graph_maker_give_output(maker *m, int i, int *slot, bool *dense, tc_error *err) {
    const tc_graph_output *o = &m->g->outputs.data[i];
    const tc_var *want[TC_GRAPH_MAX_DIMS], *has[TC_GRAPH_MAX_DIMS];
    *dense = extents_of(m, o, want);
    tc_graph_sized_ends(m->sized, o->value, has);
    *slot = tc_graph_maker_slot(m, o->value);
    bool varies = false;
    if (tc_graph_grows(o->value->producer)) {
        *dense = false;
        return TC_OK;
    }
    for (int d = 0; d < o->value->shape.ndim; d++)
        varies |= want[d] != NULL;
    if (!varies || (same_ends(o->value, want, has) && m->slots.data[*slot].kind == TC_GRAPH_SLOT_TEMP))
        return TC_OK;
    return tc_graph_maker_copy(m, o->value, "Output", has, want, slot, err);
}
