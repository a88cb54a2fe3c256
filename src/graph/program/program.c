/* Programs: fused groups lowered to workloads, the memory between them, and equal workloads merged into tasks. */
#include "graph/program/maker_int.h"

#include <stdlib.h>
#include <string.h>

#include "graph/ir/sizes.h"

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
        tc_graph_slot s = {.kind = TC_GRAPH_SLOT_INPUT, .name = v->name, .bytes = tc_graph_value_bytes(v), .input = i};
        tc_graph_maker_bind(m, v, tc_graph_maker_add_slot(m, s));
    }
}

static void add_outputs(maker *m) {
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
        p->out_slot[i] = tc_graph_maker_slot(m, v);
    }
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

/* ---- launches ---- */

/* What is launched must be known before spares are: of one that is launched anyway they are no further launches. */
static int task_of(maker *m, const tc_workload *w, const char *what, double times) {
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

static tc_status add_library_launch(maker *m, const tc_graph_node *n, tc_error *err) {
    const tc_graph_library_kernel *k = tc_graph_library_of(n->op);
    if (!k)
        return tc_fail(err, TC_BAD_INPUT, "node '%s' (%s): there is no kernel for this operator", n->name,
                       tc_graph_op_name(n->op));
    tc_graph_launch x = {.name = n->name, .covers = tc_graph_op_name(n->op), .task = -1, .library = k};
    int *args = TC_NEW_N(m->p->arena, int, 1 + n->nin + n->nout);
    int64_t *params = TC_NEW_N(m->p->arena, int64_t, TC_GRAPH_MAX_PARAMS);
    args[x.nargs++] = tc_graph_maker_constant(m, "parameters", params, k->params(n, params));
    for (int i = 0; i < n->nin; i++)
        args[x.nargs++] = tc_graph_maker_slot(m, n->in[i]);
    for (int i = 0; i < n->nout; i++)
        args[x.nargs++] = tc_graph_maker_slot(m, n->out[i]);
    x.params = params;
    x.args = args;
    tc_push(&m->launches, x);
    return TC_OK;
}

static tc_status add_launch(maker *m, const bool *stored, const tc_graph_fused *f, tc_error *err) {
    const tc_graph_node *head = f->group.nodes[f->group.n - 1];
    if (head->body[0])
        return tc_graph_maker_control(m, head, err);
    if (is_empty(f))
        return TC_OK;
    if (tc_graph_class_of(head->op) == TC_GRAPH_CLASS_LIBRARY)
        return add_library_launch(m, head, err);
    tc_graph_lowered l;
    TC_TRY(tc_graph_lower_group(m->p->ctx, m->g, stored, &f->group, f->nout, f->out, &l, err));
    tc_arena *a = m->p->arena;
    const tc_workload *w = l.workload;
    int *args = TC_NEW_N(a, int, w->nin + w->nout);
    for (int i = 0; i < w->nin; i++)
        args[i] = tc_graph_maker_slot(m, l.in[i]);
    for (int i = 0; i < w->nout; i++)
        args[w->nin + i] = tc_graph_maker_slot(m, l.out[i]);
    tc_graph_launch x = {
        .name = f->group.nodes[f->group.n - 1]->name, .covers = covers(a, &f->group), .nargs = w->nin + w->nout, .args = args};
    x.task = task_of(m, w, x.covers, m->times);
    tc_push(&m->launches, x);
    return TC_OK;
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
        if (is_empty(f) || tc_graph_lower_group(m->p->ctx, m->g, stored, &f->group, f->nout, f->out, &l, NULL) != TC_OK)
            return;
        s.of.anchor[k] = task[x->anchor[k]];
        s.workload[k] = l.workload;
        s.covers[k] = covers(m->p->arena, &f->group);
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
        TC_TRY(add_launch(m, groups->stored, merged ? &x->whole[anchor] : &groups->data[i], err));
        task[i] = m->launches.len ? m->launches.data[m->launches.len - 1].task : -1;
    }
    for (int k = 0; k < groups->nmerges; k++)
        if (!merge || !merge[k])
            note_spare(m, groups->stored, &groups->merges[k], first + k, task);
    return TC_OK;
}

tc_status tc_graph_maker_add(maker *m, const tc_graph *g, tc_error *err) {
    const tc_graph *around = m->g;
    tc_graph_groups groups;
    m->g = g;
    tc_graph_fuse(g, m->p->arena, &groups);
    add_pieces(m, &groups);
    tc_status s = add_groups(m, &groups, err);
    m->g = around;
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
            of->whole[k] = task_of(m, x->workload[k], x->covers[k], x->times);
        for (int k = 0; k < of->nanchor; k++)
            place(m, of, k);
    }
    p->mergings = merging;
    p->nfound = m->nfound;
}

static void deliver(maker *m) {
    tc_graph_program *p = m->p;
    p->nslot = (int)m->slots.len;
    p->slots = tc_arena_dup(p->arena, m->slots.data, m->slots.len * sizeof *m->slots.data);
    p->nlaunch = (int)m->launches.len;
    p->launches = tc_arena_dup(p->arena, m->launches.data, m->launches.len * sizeof *m->launches.data);
    p->ntask = (int)m->tasks.len;
    add_spares(m);
    p->nspare = (int)m->tasks.len - p->ntask;
    p->tasks = tc_arena_dup(p->arena, m->tasks.data, m->tasks.len * sizeof *m->tasks.data);
    p->hashes = tc_arena_dup(p->arena, m->hashes.data, m->hashes.len * sizeof *m->hashes.data);
}

static tc_graph_program *new_program(const char *name) {
    tc_arena *a = tc_arena_new();
    tc_graph_program *p = TC_NEW(a, tc_graph_program);
    *p = (tc_graph_program){.arena = a, .ctx = tc_ctx_new(), .name = tc_arena_strdup(a, name ? name : "model")};
    return p;
}

static void release(maker *m) {
    tc_map_free(&m->slot_of);
    tc_map_free(&m->task_of);
    tc_vec_free(&m->slots);
    tc_vec_free(&m->launches);
    tc_vec_free(&m->tasks);
    tc_vec_free(&m->hashes);
    tc_vec_free(&m->spares);
}

void tc_graph_program_free(tc_graph_program *p) {
    if (!p)
        return;
    for (size_t i = 0; i < p->owned.len; i++)
        tc_graph_tensor_free(&p->owned.data[i]);
    tc_vec_free(&p->owned);
    tc_ctx_free(p->ctx);
    tc_arena_free(p->arena);
}

static tc_status refuse_symbols(const tc_graph *g, tc_error *err) {
    tc_strbuf sizes = {0}, remedy = {0};
    for (size_t k = 0; k < g->symbols.len; k++) {
        const tc_graph_symbol *s = &g->symbols.data[k];
        tc_sb_printf(&sizes, "%s'%s' is ", k ? ", " : "", s->name);
        if (s->is) {
            tc_graph_sizes_print(&sizes, s->is);
            continue;
        }
        tc_sb_printf(&sizes, "%s as %lld..%lld", s->assumed ? "assumed" : "given", (long long)s->least, (long long)s->most);
        tc_sb_printf(&remedy, " --shape %s=%lld", s->name, (long long)(s->assumed ? TC_MAX(s->least, 1) : s->most));
    }
    tc_status st = tc_refuse(err, TC_ERROR_UNSUPPORTED,
                             "sizes vary: %s; but kernels are compiled for one size each; give single numbers, for example%s",
                             tc_sb_str(&sizes), tc_sb_str(&remedy));
    tc_strbuf_free(&sizes);
    tc_strbuf_free(&remedy);
    return st;
}

tc_status tc_graph_program_with(const tc_graph *g, const bool *merge, tc_graph_program **out, tc_error *err) {
    if (g->symbols.len)
        return refuse_symbols(g, err);
    tc_graph_program *p = new_program(g->name);
    maker m = {.p = p, .g = g, .times = 1, .merge = merge};
    add_inputs(&m);
    tc_status s = tc_graph_maker_add(&m, g, err);
    if (s == TC_OK) {
        add_outputs(&m);
        deliver(&m);
        tc_graph_find_ranges(p);
        *out = p;
    } else {
        tc_graph_program_free(p);
    }
    release(&m);
    return s;
}

tc_status tc_graph_program_new(const tc_graph *g, tc_graph_program **out, tc_error *err) {
    return tc_graph_program_with(g, NULL, out, err);
}

/* ---- one workload ---- */

static tc_graph_shape shape_of(const tc_tensor *t) {
    tc_graph_shape s = {.ndim = t->ndim};
    memcpy(s.d, t->shape, sizeof s.d[0] * (size_t)t->ndim);
    return s;
}

/* The content of const placeholder i: given by name, or seeded. It belongs to the program. */
static tc_status constant_of(tc_graph_program *p, const tc_workload *w, int i, const tc_graph_named *named, size_t n,
                             uint64_t seed, tc_error *err) {
    const tc_tensor *t = w->in[i];
    tc_graph_shape shape = shape_of(t);
    tc_graph_tensor c;
    TC_TRY(tc_graph_tensor_alloc(&c, t->dtype, &shape, err));
    tc_push(&p->owned, c);
    for (size_t k = 0; k < n; k++) {
        const tc_graph_tensor *v = &named[k].t;
        if (strcmp(named[k].name, t->name) != 0)
            continue;
        if (v->dtype != t->dtype || !tc_graph_shape_equal(&v->shape, &shape))
            return tc_fail(err, TC_BAD_INPUT, "constant '%s': given as %s, but the workload declares %s", t->name,
                           tc_graph_type_str(p->arena, v->dtype, &v->shape), tc_graph_type_str(p->arena, t->dtype, &shape));
        memcpy(c.data, v->data, tc_graph_tensor_bytes(&c));
        return TC_OK;
    }
    tc_rng rng = tc_rng_seed(seed + (uint64_t)i);
    tc_te_random_fill(t->dtype, c.data, tc_tensor_size(t), &rng, tc_te_index_limit(w, i));
    return TC_OK;
}

static tc_status workload_slots(maker *m, const tc_workload *w, const tc_graph_named *named, size_t n, uint64_t seed, int *args,
                                tc_error *err) {
    tc_graph_program *p = m->p;
    p->in = TC_NEW_N(p->arena, tc_graph_port, w->nin);
    for (int i = 0; i < w->nin; i++)
        if (w->in[i]->is_const)
            TC_TRY(constant_of(p, w, i, named, n, seed, err));
    for (int i = 0, c = 0; i < w->nin; i++) {
        const tc_tensor *t = w->in[i];
        const char *name = tc_arena_strdup(p->arena, t->name);
        tc_graph_slot s = {.kind = TC_GRAPH_SLOT_INPUT, .name = name, .bytes = tc_tensor_size(t) * tc_dtype_bytes(t->dtype)};
        if (t->is_const) {
            s.kind = TC_GRAPH_SLOT_CONST;
            s.constant = &p->owned.data[c++];
        } else {
            s.input = p->nin;
            p->in[p->nin++] = (tc_graph_port){.name = name, .dtype = t->dtype, .shape = shape_of(t)};
        }
        args[i] = tc_graph_maker_add_slot(m, s);
    }
    p->nout = p->nshown = w->nout;
    p->out = TC_NEW_N(p->arena, tc_graph_port, w->nout);
    p->out_slot = TC_NEW_N(p->arena, int, w->nout);
    for (int i = 0; i < w->nout; i++) {
        const tc_tensor *t = w->out[i];
        const char *name = tc_arena_strdup(p->arena, t->name);
        tc_graph_slot s = {.kind = TC_GRAPH_SLOT_TEMP, .name = name, .bytes = tc_tensor_size(t) * tc_dtype_bytes(t->dtype)};
        p->out[i] = (tc_graph_port){.name = name, .dtype = t->dtype, .shape = shape_of(t)};
        p->out_slot[i] = args[w->nin + i] = tc_graph_maker_add_slot(m, s);
    }
    return TC_OK;
}

tc_status tc_graph_program_of_workload(const tc_workload *w, const char *name, const tc_graph_named *constants, size_t nconstants,
                                       uint64_t seed, tc_graph_program **out, tc_error *err) {
    tc_graph_program *p = new_program(name);
    maker m = {.p = p, .times = 1};
    int *args = TC_NEW_N(p->arena, int, w->nin + w->nout);
    tc_status s = workload_slots(&m, w, constants, nconstants, seed, args, err);
    if (s == TC_OK) {
        tc_graph_launch x = {
            .name = p->name, .covers = p->name, .nargs = w->nin + w->nout, .args = args, .task = task_of(&m, w, p->name, 1)};
        tc_push(&m.launches, x);
        deliver(&m);
        tc_graph_find_ranges(p);
        *out = p;
    } else {
        tc_graph_program_free(p);
    }
    release(&m);
    return s;
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
    return p->nin;
}

int tc_graph_program_outputs(const tc_graph_program *p, const tc_graph_port **ports) {
    *ports = p->out;
    return p->nshown;
}

/* Copies, and what decides where to go on. */
static void print_control(const tc_graph_program *p, const tc_graph_launch *x, tc_strbuf *out) {
    static const char *const words[] = {"copy", "unless", "unless less", "again", "go on"};
    tc_sb_printf(out, "%s (", words[x->kind]);
    for (int k = 0; k < x->nargs; k++)
        tc_sb_printf(out, "%s%%%s", k ? ", " : "", p->slots[x->args[k]].name);
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
        int nout = x->library ? 0 : p->tasks[x->task].workload->nout;
        if (x->library) {
            tc_sb_printf(out, "library %s (", x->covers);
            for (int k = 1; k < x->nargs; k++)
                tc_sb_printf(out, "%s%%%s", k > 1 ? ", " : "", p->slots[x->args[k]].name);
            tc_sb_add(out, ")\n");
            continue;
        }
        tc_sb_printf(out, "task %d: %s (", x->task, x->covers);
        for (int k = 0; k < x->nargs - nout; k++)
            tc_sb_printf(out, "%s%%%s", k ? ", " : "", p->slots[x->args[k]].name);
        tc_sb_add(out, ") ->");
        for (int k = x->nargs - nout; k < x->nargs; k++)
            tc_sb_printf(out, " %%%s", p->slots[x->args[k]].name);
        tc_sb_addc(out, '\n');
    }
    for (int i = 0; i < p->nslot; i++)
        if (p->slots[i].within >= 0)
            tc_sb_printf(out, "%%%s lies in %%%s at %lld\n", p->slots[i].name, p->slots[p->slots[i].within].name,
                         (long long)p->slots[i].at);
    for (int i = 0; i < p->ntask; i++)
        tc_sb_printf(out, "task %d x%g: %s\n", i, p->tasks[i].weight, p->tasks[i].name);
    for (int i = 0; i < p->nmerging; i++) {
        const tc_graph_merging *x = &p->mergings[i];
        tc_sb_printf(out, "task %d", x->producer[0]);
        for (int k = 1; k < x->nproducer; k++)
            tc_sb_printf(out, ", %d", x->producer[k]);
        for (int k = 0; k < x->nanchor; k++)
            tc_sb_printf(out, "%s %d", k + 1 < x->nanchor ? "," : " and", x->anchor[k]);
        for (int k = 0; k < x->nanchor; k++)
            tc_sb_printf(out, "%s task %d: %s", k ? "," : " could be", x->whole[k], p->tasks[x->whole[k]].name);
        tc_sb_addc(out, '\n');
    }
}
