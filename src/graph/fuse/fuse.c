/* Fusion in three sweeps, and concatenations that need no kernel.
 *
 * First, attention: a contraction whose left operand is made, row by row, from another contraction's result becomes one group
 * with it, for the schedule may then compute everything for a block of rows at a time. MatMul, Div, Add(mask), Softmax, MatMul ->
 * one kernel Forwards, each contraction takes the elementwise nodes that follow it, as long as one value of all these is read
 * from outside: its epilogue runs on the accumulators. MatMul, Add(bias), Div, Erf, Add, Mul, Mul  ->  one kernel Backwards,
 * every node that is left heads a group and takes the producers that nobody else reads: elementwise chains, and row groups, in
 * which reductions over trailing dimensions share their rows with what surrounds them. ReduceMean, Sub, Pow, ReduceMean, Add,
 * Sqrt, Div, Mul, Add  ->  one kernel A group is left only through its head, so no two groups can wait for each other.
 *
 * Between these sweeps, concatenations of what kernels write anyway are taken out: their operands are written to their places in
 * the result. */
#include "graph/fuse/fuse.h"

#include "tctune/runtime.h"

#include <string.h>

/* A kernel takes at most 500 buffers; operands are counted as if all were different ones. Only concatenations have more than
 * three, and they join backwards only. */
enum { MAX_GROUP = 48, MAX_OPERANDS = 256, MAX_TREE = 160, MAX_PARTS = 16 };

typedef TC_VEC(int) ints;

typedef struct fuser {
    const tc_graph *g;
    int n;           /* nodes */
    int *position;   /* by node id */
    ints *uses;      /* by value id: positions of the nodes that read it, through views; a node once per operand */
    bool *is_output; /* by value id: it, or a view of it, is an output of the model */
    bool *stored;    /* by value id: a view that a kernel writes out, and that readers therefore start from */
    bool *taken;     /* by position */
    bool *is_piece;  /* by value id: it is written to its place in a concatenation */
    TC_VEC(tc_graph_piece) pieces;
    uint64_t *mark; /* by position: in the group that is being made when equal to `epoch` */
    uint64_t epoch;
} fuser;

/* ---- facts ---- */

static tc_graph_node *node_of(const fuser *f, int at) {
    return f->g->nodes.data[at];
}

static tc_graph_class class_at(const fuser *f, int at) {
    return tc_graph_class_of(node_of(f, at)->op);
}

static tc_graph_shape squeezed(const tc_graph_shape *s) {
    tc_graph_shape r = {0};
    for (int d = 0; d < s->ndim; d++)
        if (s->d[d] != 1)
            r.d[r.ndim++] = s->d[d];
    return r;
}

static bool same_squeezed(const tc_graph_shape *a, const tc_graph_shape *b) {
    tc_graph_shape x = squeezed(a), y = squeezed(b);
    return tc_graph_shape_equal(&x, &y);
}

/* The dimensions of a, without those of 1, are the first of b's. */
static bool is_prefix(const tc_graph_shape *a, const tc_graph_shape *b) {
    tc_graph_shape x = squeezed(a), y = squeezed(b);
    return x.ndim <= y.ndim && memcmp(x.d, y.d, sizeof x.d[0] * (size_t)x.ndim) == 0;
}

static bool is_view(const tc_graph_node *n) {
    return n && tc_graph_class_of(n->op) == TC_GRAPH_CLASS_VIEW;
}

/* The view moves no element, counting dimensions of 1 for nothing. */
static bool keeps_order(const tc_graph_node *n) {
    if (n->op == TC_GRAPH_OP_TRANSPOSE) {
        size_t len;
        const int64_t *perm = tc_graph_attr_ints(n, "perm", &len);
        int64_t last = -1;
        for (size_t d = 0; d < len; d++) {
            if (n->out[0]->shape.d[d] == 1)
                continue;
            if (perm[d] < last)
                return false;
            last = perm[d];
        }
        return true;
    }
    return same_squeezed(&n->in[0]->shape, &n->out[0]->shape);
}

const tc_graph_value *tc_graph_memory_of(const tc_graph_value *v) {
    while (tc_graph_keeps_memory(v->producer))
        v = v->producer->in[0];
    return v;
}

/* v is only a way to look at another value. */
static bool looks_through(const fuser *f, const tc_graph_value *v) {
    return is_view(v->producer) && !f->stored[v->id];
}

/* The computed value that v is when seen through views that keep its order; NULL when others are between. */
static const tc_graph_value *plain_source(const fuser *f, const tc_graph_value *v) {
    while (looks_through(f, v)) {
        if (!keeps_order(v->producer))
            return NULL;
        v = v->producer->in[0];
    }
    return v;
}

static const tc_graph_value *source(const fuser *f, const tc_graph_value *v) {
    while (looks_through(f, v))
        v = v->producer->in[0];
    return v;
}

static void note_use(fuser *f, const tc_graph_value *v, int at) {
    tc_push(&f->uses[source(f, v)->id], at);
}

static void gather_facts(fuser *f) {
    const tc_graph *g = f->g;
    for (int i = 0; i < f->n; i++)
        f->position[node_of(f, i)->id] = i;
    for (int i = 0; i < f->n; i++) {
        const tc_graph_node *n = node_of(f, i);
        for (int k = 0; k < n->nin && !is_view(n); k++)
            if (n->in[k])
                note_use(f, n->in[k], i);
    }
    for (size_t i = 0; i < g->outputs.len; i++)
        f->is_output[source(f, g->outputs.data[i].value)->id] = true;
}

/* ---- membership ---- */

static bool inside(const fuser *f, int at) {
    return f->mark[at] == f->epoch;
}

static bool producer_inside(const fuser *f, const tc_graph_value *v) {
    return v && v->producer && inside(f, f->position[v->producer->id]);
}

/* Somebody outside of the group reads an output of the node. */
static bool escapes(const fuser *f, int at) {
    const tc_graph_node *n = node_of(f, at);
    for (int k = 0; k < n->nout; k++) {
        const tc_graph_value *v = n->out[k];
        if (!v)
            continue;
        if (f->is_output[v->id])
            return true;
        for (size_t u = 0; u < f->uses[v->id].len; u++)
            if (!inside(f, f->uses[v->id].data[u]))
                return true;
    }
    return false;
}

static int count_escapes(const fuser *f, const ints *members) {
    int n = 0;
    for (size_t i = 0; i < members->len; i++)
        n += escapes(f, members->data[i]);
    return n;
}

/* ---- forwards: epilogues ---- */

/* Elementwise, of the anchor's shape, and reading the group's values only where it writes. */
static bool continues(const fuser *f, int at, const tc_graph_shape *shape) {
    const tc_graph_node *n = node_of(f, at);
    if (f->taken[at] || class_at(f, at) != TC_GRAPH_CLASS_ELEMENTWISE || !same_squeezed(&n->out[0]->shape, shape))
        return false;
    bool reads = false;
    for (int k = 0; k < n->nin; k++) {
        if (!n->in[k] || !producer_inside(f, source(f, n->in[k])))
            continue;
        if (!plain_source(f, n->in[k]) || !same_squeezed(&n->in[k]->shape, shape))
            return false;
        reads = true;
    }
    return reads;
}

/* Cuts the members back to the longest beginning that only one value leaves. */
static void cut_to_one_exit(fuser *f, ints *members) {
    while (members->len > 1 && (count_escapes(f, members) != 1 || !escapes(f, members->data[members->len - 1])))
        f->mark[members->data[--members->len]] = 0;
}

/* The only node that reads v itself; NULL when there are more, or v is an output. */
static tc_graph_node *only_reader(const fuser *f, const tc_graph_value *v, int from) {
    tc_graph_node *reader = NULL;
    for (size_t i = 0; i < f->g->outputs.len; i++)
        if (f->g->outputs.data[i].value == v)
            return NULL;
    for (int at = from + 1; at < f->n; at++)
        for (int k = 0; k < node_of(f, at)->nin; k++) {
            if (node_of(f, at)->in[k] != v)
                continue;
            if (reader)
                return NULL;
            reader = node_of(f, at);
        }
    return reader;
}

/* When all that happens to the result is a transposition, it is stored that way: the kernel's loops do not care, and its readers
 * get rows. MatMul [12,128,64], Transpose [128,12,64], Reshape [128,768]  ->  one kernel that writes [128,768] */
static void store_transposed(fuser *f, ints *members) {
    int last = members->data[members->len - 1];
    tc_graph_value *v = node_of(f, last)->out[0];
    tc_graph_node *t = only_reader(f, v, last);
    if (!t || t->op != TC_GRAPH_OP_TRANSPOSE || keeps_order(t) || members->len >= MAX_GROUP)
        return;
    tc_graph_value *w = t->out[0];
    int at = f->position[t->id];
    f->stored[w->id] = true;
    f->is_output[w->id] = f->is_output[v->id];
    f->is_output[v->id] = false;
    ints all = f->uses[v->id], self = {0};
    tc_push(&self, at);
    f->uses[w->id] = all;
    f->uses[v->id] = self;
    f->mark[at] = f->epoch;
    tc_push(members, at);
}

/* `members`: what the anchor's group holds already. */
static void grow_forwards(fuser *f, int anchor, ints *members) {
    f->epoch++;
    tc_push(members, anchor);
    for (size_t i = 0; i < members->len; i++)
        f->mark[members->data[i]] = f->epoch;
    const tc_graph_shape *shape = &node_of(f, anchor)->out[0]->shape;
    for (int at = anchor + 1; at < f->n && members->len < MAX_GROUP; at++)
        if (continues(f, at, shape)) {
            f->mark[at] = f->epoch;
            tc_push(members, at);
        }
    cut_to_one_exit(f, members);
    store_transposed(f, members);
}

/* ---- backwards: chains and row groups ---- */

/* Reduces the last dimensions only, so that what it keeps are rows. */
static bool keeps_rows(const tc_graph_node *n) {
    size_t len = 1;
    int64_t axis = tc_graph_attr_int(n, "axis", 0);
    const int64_t *axes = tc_graph_attr_ints(n, "axes", &len);
    const tc_graph_shape *s = &n->in[0]->shape;
    if (n->op == TC_GRAPH_OP_LAYER_NORM)
        return true;
    if (n->op == TC_GRAPH_OP_MAX_POOL || n->op == TC_GRAPH_OP_AVERAGE_POOL || n->op == TC_GRAPH_OP_CUM_SUM)
        return false;
    if (!axes) {
        axes = &axis;
        len = 1;
    }
    bool reduced = false;
    for (int d = 0; d < s->ndim; d++) {
        bool r = false;
        for (size_t k = 0; k < len; k++)
            r |= axes[k] == d;
        if (reduced && !r && s->d[d] != 1)
            return false;
        reduced |= r && s->d[d] != 1;
    }
    return true;
}

/* ---- attention ---- */

/* Nobody but one node reads the only output of the node at `at`, and no group has it. */
static bool private(const fuser *f, int at) {
    const tc_graph_node *n = node_of(f, at);
    return !f->taken[at] && n->nout == 1 && f->uses[n->out[0]->id].len == 1 && !f->is_output[n->out[0]->id];
}

/* Collects the nodes that make v from an anchor's result: elementwise ones of one shape and a single softmax. False if v is made
 * otherwise. */
static bool follow_rows(const fuser *f, const tc_graph_value *v, bool softmax, ints *members) {
    const tc_graph_value *from = plain_source(f, v);
    if (!from || !from->producer || members->len >= MAX_GROUP / 2)
        return false;
    int at = f->position[from->producer->id];
    const tc_graph_node *n = node_of(f, at);
    tc_graph_class class = class_at(f, at);
    size_t mark = members->len;
    if (!private(f, at))
        return false;
    tc_push(members, at);
    if (class == TC_GRAPH_CLASS_ANCHOR)
        return softmax;
    if (n->op == TC_GRAPH_OP_SOFTMAX && !softmax && keeps_rows(n))
        return follow_rows(f, n->in[0], true, members);
    for (int k = 0; k < n->nin && class == TC_GRAPH_CLASS_ELEMENTWISE; k++)
        if (n->in[k] && same_squeezed(&n->in[k]->shape, &from->shape) && follow_rows(f, n->in[k], softmax, members))
            return true;
    members->len = mark;
    return false;
}

/* The shape over which a node evaluates its operands. */
static const tc_graph_shape *domain(const tc_graph_node *n) {
    return tc_graph_class_of(n->op) == TC_GRAPH_CLASS_REDUCE ? &n->in[0]->shape : &n->out[0]->shape;
}

/* Its elements are those of its operands, each in one place. */
static bool reads_once(const tc_graph_node *n) {
    return n->op == TC_GRAPH_OP_CONCAT || n->op == TC_GRAPH_OP_PAD;
}

/* Computing p inside of its reader c repeats no work to speak of: c asks for no more elements than p has, or for each only once,
 * or p's are rows of c. */
static bool cheap_inside(const tc_graph_node *p, const tc_graph_node *c) {
    if (p->op == TC_GRAPH_OP_CONCAT && c->op == TC_GRAPH_OP_CONCAT && p->nin + c->nin > MAX_PARTS)
        return false; /* each part is a condition for every element */
    if (reads_once(c))
        return true;
    int64_t has = tc_graph_shape_count(&p->out[0]->shape), wants = tc_graph_shape_count(domain(c));
    return has >= wants || (has > 1 && is_prefix(&p->out[0]->shape, domain(c)));
}

static bool reads_plainly(const fuser *f, const tc_graph_node *c, const tc_graph_value *v) {
    for (int k = 0; k < c->nin; k++)
        if (c->in[k] && source(f, c->in[k]) == v && plain_source(f, c->in[k]) != v)
            return false;
    return true;
}

static bool any_reduction(const fuser *f, const ints *members) {
    for (size_t i = 0; i < members->len; i++)
        if (class_at(f, members->data[i]) == TC_GRAPH_CLASS_REDUCE)
            return true;
    return false;
}

/* A reduction joins as a stage of its readers' rows, or as what an elementwise end follows. */
static bool reduction_joins(const fuser *f, int at, const ints *members) {
    const tc_graph_node *p = node_of(f, at), *head = node_of(f, members->data[0]);
    const tc_graph_value *v = p->out[0];
    bool whole = same_squeezed(&v->shape, &head->out[0]->shape);
    for (size_t u = 0; u < f->uses[v->id].len; u++)
        if (!reads_plainly(f, node_of(f, f->uses[v->id].data[u]), v))
            return false;
    if (!keeps_rows(p))
        return whole && !any_reduction(f, members);
    return whole || (tc_graph_shape_count(&v->shape) > 1 && is_prefix(&v->shape, domain(head)));
}

static bool joins(const fuser *f, int at, const ints *members) {
    const tc_graph_node *p = node_of(f, at);
    tc_graph_class class = class_at(f, at);
    if (f->taken[at] || class == TC_GRAPH_CLASS_VIEW || class == TC_GRAPH_CLASS_ANCHOR || class == TC_GRAPH_CLASS_LIBRARY ||
        p->nout != 1 || escapes(f, at))
        return false;
    const ints *uses = &f->uses[p->out[0]->id];
    for (size_t u = 0; u < uses->len; u++) {
        const tc_graph_node *c = node_of(f, uses->data[u]);
        if (tc_graph_class_of(c->op) == TC_GRAPH_CLASS_ANCHOR || !cheap_inside(p, c))
            return false;
    }
    return class != TC_GRAPH_CLASS_REDUCE || reduction_joins(f, at, members);
}

static void grow_backwards(fuser *f, int head, ints *members) {
    f->epoch++;
    f->mark[head] = f->epoch;
    tc_push(members, head);
    if (class_at(f, head) == TC_GRAPH_CLASS_LIBRARY)
        return;
    int operands = node_of(f, head)->nin;
    for (int at = head - 1; at >= 0 && members->len < MAX_GROUP; at--)
        if (operands + node_of(f, at)->nin <= MAX_OPERANDS && joins(f, at, members)) {
            f->mark[at] = f->epoch;
            tc_push(members, at);
            operands += node_of(f, at)->nin;
        }
}

/* ---- concatenations without a kernel ---- */

/* The memory of an operand of a concatenation that may become a piece of it: the result of a kernel, which nobody else places. */
static tc_graph_value *movable(const fuser *f, const tc_graph_value *operand) {
    tc_graph_value *v = (tc_graph_value *)(uintptr_t)tc_graph_memory_of(operand);
    bool made = v->producer && !v->constant && !looks_through(f, v) && !v->producer->body[0];
    return made && !f->is_output[v->id] && !f->is_piece[v->id] ? v : NULL;
}

/* A kernel writes v whether or not it is a piece: its group is made already, it does not join one of another shape, or somebody
 * reads it from memory. */
static bool is_written_anyway(const fuser *f, const tc_graph_value *v) {
    const ints *uses = &f->uses[v->id];
    bool read = false;
    for (size_t u = 0; u < uses->len; u++) {
        int at = uses->data[u];
        tc_graph_class class = class_at(f, at);
        read |= class == TC_GRAPH_CLASS_ANCHOR || class == TC_GRAPH_CLASS_LIBRARY;
    }
    int at = f->position[v->producer->id];
    tc_graph_class class = class_at(f, at);
    return read || f->taken[at] || class == TC_GRAPH_CLASS_LIBRARY || class == TC_GRAPH_CLASS_REDUCE;
}

/* The operands' elements lie in the result one operand after the other. */
static bool keeps_blocks(const tc_graph_node *n) {
    const tc_graph_shape *s = &n->out[0]->shape;
    int64_t before = 1;
    for (int d = 0; d < tc_graph_attr_int(n, "axis", 0); d++)
        before *= s->d[d];
    return before == 1 && tc_graph_shape_count(s) > 0;
}

/* Makes pieces of all operands of n, or of none. One that a kernel of its own must then write costs no more than the kernel of
 * the concatenation did. */
static bool take_pieces(fuser *f, const tc_graph_node *n) {
    size_t before = f->pieces.len;
    int64_t at = 0;
    int extra = 0;
    bool ok = keeps_blocks(n);
    for (int k = 0; k < n->nin && ok; k++) {
        int64_t bytes = tc_graph_shape_count(&n->in[k]->shape) * tc_dtype_bytes(n->in[k]->dtype);
        if (bytes == 0)
            continue;
        tc_graph_value *v = movable(f, n->in[k]);
        ok = v && at % TC_RT_ALIGN == 0;
        if (!ok)
            continue;
        extra += !is_written_anyway(f, v);
        f->is_piece[v->id] = true;
        tc_push(&f->pieces, ((tc_graph_piece){v, n->out[0], at}));
        at += bytes;
    }
    if (ok && extra <= 1)
        return true;
    while (f->pieces.len > before)
        f->is_piece[f->pieces.data[--f->pieces.len].value->id] = false;
    return false;
}

static void place_concatenations(fuser *f) {
    for (int i = 0; i < f->n; i++)
        if (node_of(f, i)->op == TC_GRAPH_OP_CONCAT && !f->taken[i])
            f->taken[i] = take_pieces(f, node_of(f, i));
}

/* ---- stages ---- */

/* Windows that overlap read an element of their input several times; where they pad, they read a padded copy. */
static bool overlaps(const tc_graph_node *n) {
    size_t len = 0, sides = 0;
    const int64_t *pads = tc_graph_attr_ints(n, "pads", &sides);
    const int64_t *kernel = tc_graph_attr_ints(n, "kernel_shape", &len), *strides = tc_graph_attr_ints(n, "strides", &len);
    bool any = false;
    for (size_t d = 0; kernel && strides && d < len; d++)
        any |= kernel[d] > strides[d];
    for (size_t d = 0; d < sides; d++)
        any &= pads[d] == 0;
    return any;
}

/* Operators that read each element of an operand several times, or in several of their own stages. */
static bool reads_again(const tc_graph_node *n) {
    return n->op == TC_GRAPH_OP_SOFTMAX || n->op == TC_GRAPH_OP_LOG_SOFTMAX || n->op == TC_GRAPH_OP_LAYER_NORM ||
           n->op == TC_GRAPH_OP_REDUCE_LOG_SUM_EXP || overlaps(n);
}

typedef struct stager {
    const fuser *f;
    const tc_graph_group *group;
    const int *index; /* by position: place in the group */
    uint64_t *users;  /* which stages' expressions would hold the node's */
    bool *stage;
} stager;

static bool needs_stage(stager *s, int i) {
    const tc_graph_node *n = s->group->nodes[i];
    const ints *uses = &s->f->uses[n->out[0]->id];
    bool again = false, smaller = false, operand = false; /* operand: of a contraction, which reads each element many times */
    for (size_t u = 0; u < uses->len; u++) {
        int c = s->index[uses->data[u]];
        const tc_graph_node *reader = s->group->nodes[c];
        s->users[i] |= s->stage[c] || tc_graph_class_of(reader->op) == TC_GRAPH_CLASS_REDUCE ? (uint64_t)1 << c : s->users[c];
        again |= reads_again(reader);
        operand |= tc_graph_class_of(reader->op) == TC_GRAPH_CLASS_ANCHOR;
        smaller |= !reads_once(reader) && tc_graph_shape_count(&n->out[0]->shape) < tc_graph_shape_count(domain(reader));
    }
    tc_graph_class class = tc_graph_class_of(n->op);
    if (operand)
        return class != TC_GRAPH_CLASS_ANCHOR;
    if (class == TC_GRAPH_CLASS_REDUCE || class == TC_GRAPH_CLASS_ANCHOR)
        return false; /* has stages inside */
    return again || smaller || (s->users[i] & (s->users[i] - 1));
}

/* Nodes whose expressions would grow too long, written out in several places. */
static void limit_trees(stager *s) {
    int64_t size[MAX_GROUP];
    for (int i = 0; i < s->group->n; i++) {
        const tc_graph_node *n = s->group->nodes[i];
        size[i] = 1;
        for (int k = 0; k < n->nin; k++) {
            const tc_graph_value *v = n->in[k] ? source(s->f, n->in[k]) : NULL;
            bool in = v && producer_inside(s->f, v);
            int p = in ? s->index[s->f->position[v->producer->id]] : 0;
            size[i] += in && !s->stage[p] ? size[p] : 1;
        }
        tc_graph_class class = tc_graph_class_of(n->op);
        if (size[i] > MAX_TREE && i + 1 < s->group->n && (class == TC_GRAPH_CLASS_ELEMENTWISE || class == TC_GRAPH_CLASS_MOVE))
            s->stage[i] = true;
    }
}

static void choose_stages(const fuser *f, tc_arena *a, tc_graph_group *group) {
    stager s = {f, group, NULL, TC_NEW_N(a, uint64_t, group->n), TC_NEW_N(a, bool, group->n)};
    int *index = tc_xcalloc((size_t)f->n + 1, sizeof *index);
    for (int i = 0; i < group->n; i++)
        index[f->position[group->nodes[i]->id]] = i;
    s.index = index;
    s.users[group->n - 1] = (uint64_t)1 << (group->n - 1);
    for (int i = group->n - 2; i >= 0; i--)
        s.stage[i] = needs_stage(&s, i);
    limit_trees(&s);
    free(index);
    group->stage = s.stage;
}

/* ---- groups ---- */

static int by_position(const void *x, const void *y) {
    return *(const int *)x - *(const int *)y;
}

static void pick_outputs(const fuser *f, tc_arena *a, const tc_graph_node *head, tc_graph_fused *r) {
    r->out = TC_NEW_N(a, tc_graph_value *, head->nout);
    for (int k = 0; k < head->nout; k++)
        if (head->out[k] && (f->is_output[head->out[k]->id] || f->uses[head->out[k]->id].len || is_view(head)))
            r->out[r->nout++] = head->out[k];
}

/* Turns members into the group whose head is at position `head`. Nodes that nothing reads make none. */
static void finish_group(fuser *f, tc_arena *a, ints *members, tc_graph_fused *by_head) {
    qsort(members->data, members->len, sizeof *members->data, by_position);
    int head = members->data[members->len - 1];
    tc_graph_fused *r = &by_head[head];
    r->group.n = (int)members->len;
    r->group.nodes = TC_NEW_N(a, tc_graph_node *, members->len);
    for (size_t i = 0; i < members->len; i++) {
        r->group.nodes[i] = node_of(f, members->data[i]);
        f->taken[members->data[i]] = true;
    }
    pick_outputs(f, a, node_of(f, head), r);
    choose_stages(f, a, &r->group);
    members->len = 0;
}

/* A value that must lie in memory of its own gets a kernel that writes it, if it is a view of something else. */
static void materialise(fuser *f, tc_arena *a, const tc_graph_value *value, tc_graph_fused *by_head) {
    const tc_graph_value *v = tc_graph_memory_of(value);
    if (!is_view(v->producer) || f->taken[f->position[v->producer->id]])
        return;
    ints members = {0};
    f->epoch++;
    f->mark[f->position[v->producer->id]] = f->epoch;
    tc_push(&members, f->position[v->producer->id]);
    finish_group(f, a, &members, by_head);
    tc_vec_free(&members);
}

/* Outputs of the model, and what library kernels read. */
static void materialise_views(fuser *f, tc_arena *a, tc_graph_fused *by_head) {
    for (size_t i = 0; i < f->g->outputs.len; i++)
        materialise(f, a, f->g->outputs.data[i].value, by_head);
    for (int at = 0; at < f->n; at++)
        for (int k = 0; k < node_of(f, at)->nin && class_at(f, at) == TC_GRAPH_CLASS_LIBRARY; k++)
            if (node_of(f, at)->in[k])
                materialise(f, a, node_of(f, at)->in[k], by_head);
}

static void divide(fuser *f, tc_arena *a, tc_graph_fused *by_head) {
    ints members = {0};
    for (int i = 0; i < f->n; i++)
        if (node_of(f, i)->op == TC_GRAPH_OP_MATMUL && !f->taken[i] && follow_rows(f, node_of(f, i)->in[0], false, &members)) {
            grow_forwards(f, i, &members);
            finish_group(f, a, &members, by_head);
        } else {
            members.len = 0;
        }
    for (int i = 0; i < f->n; i++)
        if (class_at(f, i) == TC_GRAPH_CLASS_ANCHOR && !f->taken[i]) {
            grow_forwards(f, i, &members);
            finish_group(f, a, &members, by_head);
        }
    place_concatenations(f);
    for (int i = f->n - 1; i >= 0; i--)
        if (!f->taken[i] && class_at(f, i) != TC_GRAPH_CLASS_VIEW) {
            grow_backwards(f, i, &members);
            finish_group(f, a, &members, by_head);
        }
    materialise_views(f, a, by_head);
    tc_vec_free(&members);
}

void tc_graph_fuse(const tc_graph *g, tc_arena *a, tc_graph_groups *out) {
    fuser f = {.g = g, .n = (int)g->nodes.len};
    size_t nodes = g->nodes.len + 1, values = g->values.len + 1;
    f.position = tc_xcalloc((size_t)g->next_id + 1, sizeof *f.position);
    f.uses = tc_xcalloc(values, sizeof *f.uses);
    f.is_output = tc_xcalloc(values, sizeof *f.is_output);
    f.stored = tc_xcalloc(values, sizeof *f.stored);
    f.taken = tc_xcalloc(nodes, sizeof *f.taken);
    f.mark = tc_xcalloc(nodes, sizeof *f.mark);
    f.is_piece = tc_xcalloc(values, sizeof *f.is_piece);
    tc_graph_fused *by_head = tc_xcalloc(nodes, sizeof *by_head);
    gather_facts(&f);
    divide(&f, a, by_head);
    *out = (tc_graph_groups){.data = TC_NEW_N(a, tc_graph_fused, nodes),
                             .stored = tc_arena_dup(a, f.stored, values * sizeof *f.stored),
                             .npieces = (int)f.pieces.len,
                             .pieces = tc_arena_dup(a, f.pieces.data, f.pieces.len * sizeof *f.pieces.data)};
    for (int i = 0; i < f.n; i++)
        if (by_head[i].nout)
            out->data[out->n++] = by_head[i];
    free(by_head);
    for (size_t i = 0; i < values; i++)
        tc_vec_free(&f.uses[i]);
    free(f.position);
    free(f.uses);
    free(f.is_output);
    free(f.stored);
    free(f.taken);
    free(f.mark);
    free(f.is_piece);
    tc_vec_free(&f.pieces);
}
