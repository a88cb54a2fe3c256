/* Programs: fused groups lowered to workloads, the memory between them, and equal workloads merged into tasks. */
#include "graph/program/maker_int.h"

#include <stdlib.h>
#include <string.h>

#include "graph/ir/sizes.h"
#include "support/say.h"

typedef tc_graph_maker maker;

/* ---- slots ---- */

/* What a value is known by: equal constants of a graph and of its nodes' bodies are one. */
static uint64_t key_of(const tc_graph_value *v) {
    return v->constant ? (uint64_t)(uintptr_t)v->constant : (uint64_t)(uintptr_t)v;
}

int tc_graph_maker_add_slot(maker *m, tc_graph_slot s) {
    s.within = -1;
    tc_push(&m->slots, s);
    return (int)m->slots.len - 1;
}

void tc_graph_maker_bind(maker *m, const tc_graph_value *v, int slot) {
    tc_map_put(&m->slot_of, key_of(v), (uintptr_t)slot);
}

bool tc_graph_maker_known(const maker *m, const tc_graph_value *v) {
    return tc_map_get(&m->slot_of, key_of(tc_graph_memory_of(v))) != NULL;
}

int tc_graph_maker_slot(maker *m, const tc_graph_value *value) {
    const tc_graph_value *v = tc_graph_memory_of(value);
    uintptr_t *known = tc_map_get(&m->slot_of, key_of(v));
    if (known)
        return (int)*known;
    tc_graph_slot s = {.kind = TC_GRAPH_SLOT_TEMP, .name = v->name, .bytes = tc_graph_value_bytes(v)};
    if (v->constant) {
        s.kind = TC_GRAPH_SLOT_CONST;
        s.constant = v->constant;
    }
    int slot = tc_graph_maker_add_slot(m, s);
    tc_graph_maker_bind(m, v, slot);
    return slot;
}

int tc_graph_maker_constant(maker *m, const char *name, const int64_t *v, int64_t n) {
    tc_graph_shape s = {1, {n}};
    tc_graph_tensor t = tc_graph_tensor_view(TC_I64, &s, (void *)(uintptr_t)v);
    return tc_graph_maker_add_slot(
        m, (tc_graph_slot){
               .kind = TC_GRAPH_SLOT_CONST, .name = name, .bytes = 8 * n, .constant = tc_arena_dup(m->p->arena, &t, sizeof t)});
}

static void add_inputs(maker *m) {
    tc_graph_program *p = m->p;
    p->nin = (int)m->g->inputs.len;
    p->in = TC_NEW_N(p->arena, tc_graph_port, p->nin);
    for (int i = 0; i < p->nin; i++) {
        const tc_graph_value *v = m->g->inputs.data[i];
        p->in[i] = (tc_graph_port){.name = v->name, .dtype = v->dtype, .shape = v->shape};
        for (int d = 0; i < p->rules.nin && d < v->shape.ndim; d++) {
            int k = p->rules.in[i].size[d];
            p->in[i].extent[d] = k >= 0 ? p->rules.nin + k : 0;
            if (k >= 0) /* where it grows in place, kernels see more */
                p->in[i].shape.d[d] = TC_MIN(v->shape.d[d], p->rules.size[k].most);
        }
        tc_graph_slot s = {.kind = TC_GRAPH_SLOT_INPUT, .name = v->name, .bytes = tc_graph_value_bytes(v), .input = i};
        tc_graph_maker_bind(m, v, tc_graph_maker_add_slot(m, s));
    }
}

static tc_status add_outputs(maker *m, tc_error *err) {
    tc_graph_program *p = m->p;
    p->nout = (int)m->g->outputs.len;
    p->nshown = p->nout - (int)m->g->nsizes;
    p->out = TC_NEW_N(p->arena, tc_graph_port, p->nout);
    p->out_slot = TC_NEW_N(p->arena, int, p->nout);
    for (int i = 0; i < p->nout; i++) {
        const tc_graph_value *v = m->g->outputs.data[i].value;
        const tc_graph_output *o = &m->g->outputs.data[i];
        p->out[i] = (tc_graph_port){.name = o->name, .dtype = v->dtype, .shape = v->shape};
        memcpy(p->out[i].extent, o->extent, sizeof o->extent);
        if (m->sized)
            TC_TRY(tc_graph_maker_give_output(m, i, &p->out_slot[i], &p->out[i].is_dense, err));
        else
            p->out_slot[i] = tc_graph_maker_slot(m, v);
        tc_graph_maker_share(m, i);
    }
    return TC_OK;
}

/* ---- names ---- */

static bool has_ops(const tc_graph_group *g, int at, const tc_graph_op *ops, int n) {
    if (at + n > g->n)
        return false;
    for (int i = 0; i < n; i++)
        if (g->nodes[at + i]->op != ops[i])
            return false;
    return true;
}

/* Exporters write some functions out; people know them by one name. */
static const char *idiom(const tc_graph_group *g, int at, int *len) {
    static const tc_graph_op gelu[] = {TC_GRAPH_OP_DIV, TC_GRAPH_OP_ERF, TC_GRAPH_OP_ADD, TC_GRAPH_OP_MUL, TC_GRAPH_OP_MUL};
    static const tc_graph_op norm[] = {TC_GRAPH_OP_REDUCE_MEAN, TC_GRAPH_OP_SUB, TC_GRAPH_OP_POW,
                                       TC_GRAPH_OP_REDUCE_MEAN, TC_GRAPH_OP_ADD, TC_GRAPH_OP_SQRT,
                                       TC_GRAPH_OP_DIV,         TC_GRAPH_OP_MUL, TC_GRAPH_OP_ADD};
    if (has_ops(g, at, gelu, *len = (int)TC_LEN(gelu)))
        return "Gelu";
    if (has_ops(g, at, norm, *len = (int)TC_LEN(norm)))
        return "LayerNorm";
    *len = 1;
    return tc_graph_op_name(g->nodes[at]->op);
}

static const char *covers(tc_arena *a, const tc_graph_group *g) {
    tc_strbuf b = {0};
    for (int i = 0, len; i < g->n; i += len) {
        const char *name = idiom(g, i, &len);
        tc_sb_printf(&b, "%s%s", i ? "+" : "", name);
    }
    return tc_sb_keep(&b, a);
}

/* "MatMul+Add f32[128,768]" */
static const char *task_name(tc_arena *a, const char *what, const tc_workload *w) {
    const tc_tensor *t = w->out[0];
    tc_graph_shape s = {.ndim = t->ndim};
    memcpy(s.d, t->shape, sizeof s.d[0] * (size_t)t->ndim);
    return tc_arena_printf(a, "%s %s", what, tc_graph_type_str(a, t->dtype, &s));
}

/* Of all nodes of a group, each name once. */
static tc_graph_origin origin_of(tc_arena *a, const tc_graph_group *g) {
    TC_VEC(const char *) names = {0};
    tc_map seen = {0};
    for (int i = 0; i < g->n; i++)
        for (int k = 0; g->nodes[i]->origin && k < g->nodes[i]->origin->n; k++) {
            const char *name = g->nodes[i]->origin->name[k];
            if (!tc_map_gets(&seen, name))
                tc_push(&names, name);
            tc_map_puts(&seen, name, 1);
        }
    tc_graph_origin o = {(int)names.len, tc_arena_dup(a, names.data, names.len * sizeof *names.data)};
    tc_map_free(&seen);
    tc_vec_free(&names);
    return o;
}

/* ---- launches ---- */

/* What is launched must be known before spares are: of one that is launched anyway they are no further launches. */
int tc_graph_maker_task(maker *m, const tc_workload *w, const char *what, double times) {
    const tc_workload *canonical = tc_te_canonical(m->p->ctx, w);
    tc_digest hash = tc_te_hash(canonical);
    uintptr_t *known = tc_map_gets(&m->task_of, hash.hex);
    if (known) {
        if ((int)*known >= m->p->ntask)
            m->tasks.data[*known].weight += times;
        return (int)*known;
    }
    tc_map_puts(&m->task_of, hash.hex, m->tasks.len);
    tc_tune_task t = {.name = task_name(m->p->arena, what, canonical), .workload = canonical, .weight = times};
    tc_push(&m->tasks, t);
    tc_push(&m->hashes, hash);
    return (int)m->tasks.len - 1;
}

static bool is_empty(const tc_graph_fused *f) {
    for (int i = 0; i < f->nout; i++)
        if (tc_graph_shape_count(&f->out[i]->shape) == 0)
            return true;
    return false;
}

/* The value of an input that makes the bool `expected`; NULL: it is nothing so simple. */
static const tc_graph_value *needed_input(const tc_graph_value *cond, bool expected, int64_t *value) {
    *value = expected;
    for (const tc_graph_node *n; (n = cond->producer);) {
        int at = n->nin == 2 && n->in[0]->constant ? 0 : 1;
        bool equal = n->op == TC_GRAPH_OP_EQUAL && n->in[at]->constant && *value && tc_dtype_is_int(n->in[at]->dtype);
        if (!equal && !tc_graph_keeps_memory(n))
            return NULL;
        if (equal)
            *value = tc_load_i(n->in[at]->dtype, n->in[at]->constant->data, 0);
        cond = n->in[equal ? 1 - at : 0];
        if (equal && cond->producer && !tc_graph_keeps_memory(cond->producer))
            return NULL;
    }
    return cond;
}

/* Numbers the refusal, and notes which value of an input avoids it. */
static int64_t add_refusal(maker *m, const tc_graph_node *n) {
    int64_t value;
    bool expected = tc_graph_attr_expected(n) != 0;
    const tc_graph_value *in = needed_input(n->in[0], expected, &value);
    const tc_graph_slot *s = in && !in->constant ? &m->slots.data[tc_graph_maker_slot(m, in)] : NULL;
    if (s && s->kind == TC_GRAPH_SLOT_INPUT)
        tc_push(&m->p->needed, ((tc_graph_needed){s->input, value}));
    tc_push(&m->p->refusals, tc_arena_strdup(m->p->arena, tc_graph_attr_refusal(n)));
    return (int64_t)m->p->refusals.len - 1;
}

tc_status tc_graph_maker_library(maker *m, const tc_graph_node *n, const int *in, tc_error *err) {
    const tc_graph_library_kernel *k = tc_graph_library_of(n->op);
    if (!k)
        return tc_fail(err, TC_BAD_INPUT, "node '%s' (%s): there is no kernel for this operator", n->name,
                       tc_graph_op_name(n->op));
    tc_graph_launch x = {.name = n->name, .covers = tc_graph_op_name(n->op), .task = -1, .library = k};
    if (n->origin)
        x.origin = *n->origin;
    int *args = TC_NEW_N(m->p->arena, int, 1 + n->nin + n->nout);
    size_t size;
    tc_lib_params *params = tc_graph_library_params(m->p->arena, n, &size);
    if (n->op == TC_GRAPH_OP_REQUIRE)
        params->attr[1] = add_refusal(m, n);
    args[x.nargs++] = tc_graph_maker_constant(m, "parameters", (const int64_t *)params, (int)(size / sizeof(int64_t)));
    for (int i = 0; i < n->nin; i++)
        args[x.nargs++] = in ? in[i] : tc_graph_maker_slot(m, n->in[i]);
    for (int i = 0; i < n->nout; i++)
        args[x.nargs++] = tc_graph_maker_slot(m, n->out[i]);
    x.params = params;
    x.args = args;
    tc_push(&m->launches, x);
    return TC_OK;
}

void tc_graph_maker_launch(maker *m, tc_graph_launch x, const tc_workload *w) {
    int *args = TC_NEW_N(m->p->arena, int, x.nargs + 1);
    memcpy(args, x.args, (size_t)x.nargs * sizeof *args);
    if (w->nsymbol)
        args[x.nargs++] = tc_graph_maker_sizes(m, w);
    x.args = args;
    x.task = tc_graph_maker_task(m, w, x.covers, m->times);
    if (w->nsymbol)
        tc_graph_maker_relate(m, x.task, w);
    tc_push(&m->launches, x);
}

bool tc_graph_is_kernel(const tc_graph_fused *f) {
    const tc_graph_node *head = f->group.nodes[f->group.n - 1];
    return !head->body[0] && !is_empty(f) && tc_graph_class_of(head->op) != TC_GRAPH_CLASS_LIBRARY;
}

static tc_status add_kernel_launch(maker *m, const bool *stored, const tc_graph_fused *f, tc_error *err) {
    tc_graph_lowered l;
    TC_TRY(tc_graph_lower_group(m->p->ctx, m->g, stored, m->sized, &f->group, f->nout, f->out, &l, err));
    const tc_workload *w = l.workload;
    int *args = tc_xcalloc((size_t)(w->nin + w->nout), sizeof *args);
    for (int i = 0; i < w->nin; i++)
        args[i] = tc_graph_maker_slot(m, l.in[i]);
    for (int i = 0; i < w->nout; i++)
        args[w->nin + i] = tc_graph_maker_slot(m, l.out[i]);
    tc_graph_launch x = {.name = f->group.nodes[f->group.n - 1]->name,
                         .covers = covers(m->p->arena, &f->group),
                         .origin = origin_of(m->p->arena, &f->group),
                         .nargs = w->nin + w->nout,
                         .args = args};
    tc_graph_maker_launch(m, x, w);
    free(args);
    return TC_OK;
}

static tc_status add_launch(maker *m, const bool *stored, const tc_graph_fused *f, tc_error *err) {
    const tc_graph_node *head = f->group.nodes[f->group.n - 1];
    if (head->body[0])
        return tc_graph_maker_control(m, head, err);
    if (is_empty(f))
        return TC_OK;
    if (tc_graph_grows(head))
        return tc_graph_maker_grow(m, head, err);
    if (!tc_graph_is_kernel(f))
        return tc_graph_maker_library(m, head, NULL, err);
    return add_kernel_launch(m, stored, f, err);
}

static void add_pieces(maker *m, const tc_graph_groups *groups) {
    for (int i = 0; i < groups->npieces; i++) {
        const tc_graph_piece *x = &groups->pieces[i];
        int piece = tc_graph_maker_slot(m, x->value), whole = tc_graph_maker_slot(m, x->whole);
        m->slots.data[piece].within = whole;
        m->slots.data[piece].at = x->at;
    }
}

/* ---- merges ---- */

/* The one that group i is in; NULL: none. *anchor: which of its anchors it is; -1: a producer. */
static const tc_graph_merge *merge_of(const tc_graph_groups *groups, int i, int *anchor) {
    for (int k = 0; k < groups->nmerges; k++) {
        const tc_graph_merge *x = &groups->merges[k];
        *anchor = -1;
        for (int p = 0; p < x->nproducer; p++)
            if (i == x->producer[p])
                return x;
        for (*anchor = 0; *anchor < x->nanchor; ++*anchor)
            if (i == x->anchor[*anchor])
                return x;
    }
    return NULL;
}

/* Notes the kernels that could be launched for all of x; task[]: of the groups. Where one has no workload, because a limit of these
 * is exceeded, they are none. */
static void note_spare(maker *m, const bool *stored, const tc_graph_merge *x, int number, const int *task) {
    tc_graph_spare s = {.times = m->times, .of = {.number = number, .nproducer = x->nproducer, .nanchor = x->nanchor}};
    for (int p = 0; p < x->nproducer; p++)
        s.of.producer[p] = task[x->producer[p]];
    for (int k = 0; k < x->nanchor; k++) {
        const tc_graph_fused *f = &x->whole[k];
        tc_graph_lowered l;
        if (is_empty(f) || tc_graph_lower_group(m->p->ctx, m->g, stored, m->sized, &f->group, f->nout, f->out, &l, NULL) != TC_OK)
            return;
        s.of.anchor[k] = task[x->anchor[k]];
        s.workload[k] = l.workload;
        s.covers[k] = covers(m->p->arena, &f->group);
        s.origin[k] = origin_of(m->p->arena, &f->group);
    }
    tc_push(&m->spares, s);
}

static tc_status add_groups(maker *m, const tc_graph_groups *groups, tc_error *err) {
    const bool *merge = m->merge ? m->merge + m->nfound : NULL;
    int first = m->nfound, *task = TC_NEW_N(m->p->arena, int, groups->n + 1);
    m->nfound += groups->nmerges;
    for (int i = 0; i < groups->n; i++) {
        int anchor;
        const tc_graph_merge *x = merge ? merge_of(groups, i, &anchor) : NULL;
        bool merged = x && merge[x - groups->merges];
        if (merged && anchor < 0)
            continue;
        if (m->sized)
            tc_graph_sized_at(m->sized, i);
        TC_TRY(add_launch(m, groups->stored, merged ? &x->whole[anchor] : &groups->data[i], err));
        task[i] = m->launches.len ? m->launches.data[m->launches.len - 1].task : -1;
    }
    for (int k = 0; k < groups->nmerges; k++)
        if (!merge || !merge[k])
            note_spare(m, groups->stored, &groups->merges[k], first + k, task);
    return TC_OK;
}

static tc_status add_all(maker *m, const tc_graph_groups *groups, tc_error *err) {
    add_pieces(m, groups);
    return add_groups(m, groups, err);
}

/* Everybody in the body was asked where the graph around it was. */
static tc_status add_inside(maker *m, const tc_graph_inside *x, tc_error *err) {
    tc_graph_groups groups = x->groups;
    m->sized = x->sized;
    tc_graph_sized_take(m->sized, x->lies);
    return add_all(m, &groups, err);
}

static tc_status add_own(maker *m, tc_error *err) {
    tc_graph_groups groups;
    tc_graph_fuse(m->g, m->p->arena, &groups);
    if (m->sized) {
        TC_TRY(tc_graph_maker_ask(m, &groups, err));
        TC_TRY(tc_graph_maker_take_inputs(m, err));
    }
    return add_all(m, &groups, err);
}

tc_status tc_graph_maker_add(maker *m, const tc_graph *g, tc_error *err) {
    const tc_graph *around = m->g;
    tc_graph_sized *sized = m->sized;
    const tc_graph_inside *x = tc_graph_maker_inside(m, g);
    m->g = g;
    m->sized = g == around ? sized : NULL;
    tc_status s = x ? add_inside(m, x, err) : add_own(m, err);
    m->g = around;
    m->sized = sized;
    return s;
}

/* What the task runs in place of, and what else runs then; of the first such merging alone. */
static void place(maker *m, const tc_graph_merging *of, int k) {
    tc_arena *a = m->p->arena;
    tc_tune_task *t = &m->tasks.data[of->whole[k]];
    int *instead = TC_NEW_N(a, int, of->nproducer + of->nanchor), *along = TC_NEW_N(a, int, of->nanchor);
    if (of->whole[k] < m->p->ntask || t->ninstead)
        return;
    for (int i = 0; i < of->nproducer; i++)
        instead[t->ninstead++] = of->producer[i];
    for (int i = 0; i < of->nanchor; i++) {
        instead[t->ninstead++] = of->anchor[i];
        if (i != k)
            along[t->nalong++] = of->whole[i];
    }
    t->instead = instead;
    t->along = along;
}

static void add_spares(maker *m) {
    tc_graph_program *p = m->p;
    tc_graph_merging *merging = TC_NEW_N(p->arena, tc_graph_merging, m->spares.len + 1);
    for (size_t i = 0; i < m->spares.len; i++) {
        const tc_graph_spare *x = &m->spares.data[i];
        tc_graph_merging *of = &merging[p->nmerging++];
        *of = x->of;
        for (int k = 0; k < of->nanchor; k++)
            of->whole[k] = tc_graph_maker_task(m, x->workload[k], x->covers[k], x->times);
        for (int k = 0; k < of->nanchor; k++)
            place(m, of, k);
    }
    p->mergings = merging;
    p->nfound = m->nfound;
}

/* ---- what tasks are called, and which nodes they are made from ---- */

typedef struct names {
    TC_VEC(const char *) list;
    tc_map seen;
} names;

static void add_names(names *n, const tc_graph_origin *o) {
    for (int i = 0; i < o->n; i++) {
        if (!tc_map_gets(&n->seen, o->name[i]))
            tc_push(&n->list, o->name[i]);
        tc_map_puts(&n->seen, o->name[i], 1);
    }
}

static void name_nodes(maker *m) {
    size_t n = m->tasks.len;
    names *of = tc_xcalloc(n + 1, sizeof *of);
    for (size_t i = 0; i < m->launches.len; i++)
        if (m->launches.data[i].task >= 0)
            add_names(&of[m->launches.data[i].task], &m->launches.data[i].origin);
    for (int i = 0; i < m->p->nmerging; i++)
        for (int k = 0; k < m->p->mergings[i].nanchor; k++)
            if (m->p->mergings[i].whole[k] >= m->p->ntask)
                add_names(&of[m->p->mergings[i].whole[k]], &m->spares.data[i].origin[k]);
    for (size_t i = 0; i < n; i++) {
        m->tasks.data[i].nnode = (int)of[i].list.len;
        m->tasks.data[i].nodes = tc_arena_dup(m->p->arena, of[i].list.data, of[i].list.len * sizeof *of[i].list.data);
        tc_map_free(&of[i].seen);
        tc_vec_free(&of[i].list);
    }
    free(of);
}

/* Tasks with the same operators and results differ by a number: "MatMul+Add f32[128,128]#1", "...#2". */
static void make_unique(maker *m) {
    tc_map count = {0}, given = {0};
    for (size_t i = 0; i < m->tasks.len; i++) {
        const char *name = m->tasks.data[i].name;
        uintptr_t *known = tc_map_gets(&count, name);
        tc_map_puts(&count, name, known ? *known + 1 : 1);
    }
    for (size_t i = 0; i < m->tasks.len; i++) {
        const char *name = m->tasks.data[i].name;
        uintptr_t *last = tc_map_gets(&given, name), number = last ? *last + 1 : 1;
        if (*tc_map_gets(&count, name) == 1)
            continue;
        tc_map_puts(&given, name, number);
        m->tasks.data[i].name = tc_arena_printf(m->p->arena, "%s#%d", name, (int)number);
    }
    tc_map_free(&count);
    tc_map_free(&given);
}

bool tc_graph_is_called(const tc_tune_task *t, const char *name) {
    size_t n = strlen(name);
    return strncmp(t->name, name, n) == 0 && (!t->name[n] || (t->name[n] == '#' && !strchr(name, '#')));
}

void tc_graph_program_name_as(tc_graph_program *p, const tc_graph_program *like) {
    tc_map known = {0};
    for (int i = 0; i < like->ntask + like->nspare; i++)
        tc_map_puts(&known, like->hashes[i].hex, (uintptr_t)like->tasks[i].name);
    for (int i = 0; i < p->ntask + p->nspare; i++) {
        uintptr_t *name = tc_map_gets(&known, p->hashes[i].hex);
        if (name)
            p->tasks[i].name = tc_arena_strdup(p->arena, (const char *)*name);
    }
    tc_map_free(&known);
}

void tc_graph_maker_deliver(maker *m) {
    tc_graph_program *p = m->p;
    p->nslot = (int)m->slots.len;
    p->slots = tc_arena_dup(p->arena, m->slots.data, m->slots.len * sizeof *m->slots.data);
    p->nlaunch = (int)m->launches.len;
    p->launches = tc_arena_dup(p->arena, m->launches.data, m->launches.len * sizeof *m->launches.data);
    p->ntask = (int)m->tasks.len;
    add_spares(m);
    p->nspare = (int)m->tasks.len - p->ntask;
    name_nodes(m);
    make_unique(m);
    p->tasks = tc_arena_dup(p->arena, m->tasks.data, m->tasks.len * sizeof *m->tasks.data);
    p->hashes = tc_arena_dup(p->arena, m->hashes.data, m->hashes.len * sizeof *m->hashes.data);
    p->nrelation = (int)m->relations.len;
    p->relations = tc_arena_dup(p->arena, m->relations.data, m->relations.len * sizeof *m->relations.data);
}

tc_graph_program *tc_graph_new_program(const char *name) {
    tc_arena *a = tc_arena_new();
    tc_graph_program *p = TC_NEW(a, tc_graph_program);
    *p = (tc_graph_program){.arena = a, .ctx = tc_ctx_new(), .name = tc_arena_strdup(a, name ? name : "model")};
    return p;
}

void tc_graph_maker_release(maker *m) {
    tc_graph_sized_free(m->sized);
    tc_map_free(&m->slot_of);
    tc_map_free(&m->task_of);
    tc_vec_free(&m->arrays);
    for (size_t i = 0; i < m->insides.len; i++)
        tc_graph_sized_free(m->insides.data[i].sized);
    tc_vec_free(&m->insides);
    tc_vec_free(&m->slots);
    tc_vec_free(&m->launches);
    tc_vec_free(&m->tasks);
    tc_vec_free(&m->hashes);
    tc_vec_free(&m->spares);
    tc_vec_free(&m->relations);
}

void tc_graph_program_free(tc_graph_program *p) {
    if (!p)
        return;
    for (size_t i = 0; i < p->owned.len; i++)
        tc_graph_tensor_free(&p->owned.data[i]);
    tc_vec_free(&p->owned);
    tc_vec_free(&p->drawn);
    tc_vec_free(&p->refusals);
    tc_vec_free(&p->needed);
    tc_ctx_free(p->ctx);
    tc_arena_free(p->arena);
}

tc_status tc_graph_program_with(const tc_graph *g, const bool *merge, tc_graph_program **out, tc_error *err) {
    tc_graph_program *p = tc_graph_new_program(g->name);
    maker m = {.p = p, .g = g, .times = 1, .merge = merge};
    p->fixed = (tc_graph_bundle){g->fixed.data, g->fixed.len};
    if (g->symbols.len || g->nsizes)
        m.sized = tc_graph_sized_new(p->ctx, g);
    tc_graph_size_rules_of(g, p->arena, &p->rules);
    const tc_var **size_var = TC_NEW_N(p->arena, const tc_var *, p->rules.nsize);
    for (int k = 0; k < p->rules.nsize; k++)
        size_var[k] = p->rules.size[k].var;
    p->size_var = size_var;
    tc_status s = tc_graph_size_rules_settle(&p->rules, err);
    if (s == TC_OK) {
        add_inputs(&m);
        s = tc_graph_maker_add(&m, g, err);
    }
    if (s == TC_OK)
        s = add_outputs(&m, err);
    if (s == TC_OK) {
        tc_graph_maker_deliver(&m);
        tc_graph_find_ranges(p);
        *out = p;
    } else {
        tc_graph_program_free(p);
    }
    tc_graph_maker_release(&m);
    return s;
}

tc_status tc_graph_program_new(const tc_graph *g, tc_graph_program **out, tc_error *err) {
    return tc_graph_program_with(g, NULL, out, err);
}

/* ---- reading ---- */

int tc_graph_program_tasks(const tc_graph_program *p, const tc_tune_task **tasks) {
    *tasks = p->tasks;
    return p->ntask;
}

int tc_graph_program_tunable(const tc_graph_program *p, const tc_tune_task **tasks) {
    *tasks = p->tasks;
    return p->ntask + p->nspare;
}

double tc_graph_program_flops(const tc_graph_program *p) {
    double sum = 0;
    for (int i = 0; i < p->ntask; i++)
        sum += p->tasks[i].weight * tc_te_flops(p->tasks[i].workload);
    return sum;
}

int tc_graph_program_inputs(const tc_graph_program *p, const tc_graph_port **ports) {
    *ports = p->in;
    return p->nin - p->rules.nsize;
}

int tc_graph_program_outputs(const tc_graph_program *p, const tc_graph_port **ports) {
    *ports = p->out;
    return p->nshown;
}

const tc_graph_bundle *tc_graph_program_fixed(const tc_graph_program *p) {
    return &p->fixed;
}

/* Copies, and what decides where to go on. */
static void print_control(const tc_graph_program *p, const tc_graph_launch *x, tc_strbuf *out) {
    static const char *const words[] = {"copy", "unless", "unless less", "again", "go on", "side by side", "branch"};
    tc_sb_printf(out, "%s (", words[x->kind]);
    for (int k = 0; k < x->nargs; k++)
        tc_sb_say(out, "%s%%%s", k ? ", " : "", p->slots[x->args[k]].name);
    tc_sb_addc(out, ')');
    if (x->kind != TC_CG_DO)
        tc_sb_printf(out, " at launch %d", x->target);
    tc_sb_addc(out, '\n');
}

void tc_graph_program_print(const tc_graph_program *p, tc_strbuf *out) {
    for (int i = 0; i < p->nlaunch; i++) {
        const tc_graph_launch *x = &p->launches[i];
        if (x->task < 0 && !x->library) {
            print_control(p, x, out);
            continue;
        }
        const tc_workload *w = x->library ? NULL : p->tasks[x->task].workload;
        if (x->library) {
            tc_sb_printf(out, "library %s (", x->covers);
            for (int k = 1; k < x->nargs; k++)
                tc_sb_say(out, "%s%%%s", k > 1 ? ", " : "", p->slots[x->args[k]].name);
            tc_sb_add(out, ")\n");
            continue;
        }
        tc_sb_printf(out, "task %d: %s (", x->task, x->covers);
        for (int k = 0; k < w->nin; k++)
            tc_sb_say(out, "%s%%%s", k ? ", " : "", p->slots[x->args[k]].name);
        tc_sb_add(out, ") ->");
        for (int k = w->nin; k < w->nin + w->nout; k++)
            tc_sb_say(out, " %%%s", p->slots[x->args[k]].name);
        if (w->nsymbol)
            tc_sb_say(out, " for %%%s", p->slots[x->args[x->nargs - 1]].name);
        tc_sb_addc(out, '\n');
    }
    for (int i = 0; i < p->nslot; i++)
        if (p->slots[i].within >= 0)
            tc_sb_say(out, "%%%s lies in %%%s at %lld\n", p->slots[i].name, p->slots[p->slots[i].within].name,
                      (long long)p->slots[i].at);
    for (int i = 0; i < p->ntask; i++)
        tc_sb_say(out, "task %d x%g: %s\n", i, p->tasks[i].weight, p->tasks[i].name);
    for (int i = 0; i < p->nmerging; i++) {
        const tc_graph_merging *x = &p->mergings[i];
        tc_sb_printf(out, "task %d", x->producer[0]);
        for (int k = 1; k < x->nproducer; k++)
            tc_sb_printf(out, ", %d", x->producer[k]);
        for (int k = 0; k < x->nanchor; k++)
            tc_sb_printf(out, "%s %d", k + 1 < x->nanchor ? "," : " and", x->anchor[k]);
        for (int k = 0; k < x->nanchor; k++)
            tc_sb_say(out, "%s task %d: %s", k ? "," : " could be", x->whole[k], p->tasks[x->whole[k]].name);
        tc_sb_addc(out, '\n');
    }
}
