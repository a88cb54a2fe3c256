/* The order of nodes. ONNX wants each node to stand behind those whose results it reads, and some exporters write others: the nodes
 * of the model's graph, of bodies and of functions are sorted before anything is imported. Nodes in order stay as they are.
 *
 *   y = Conv(c), c = Cast(x)   =>   c = Cast(x), y = Conv(c) */
#include <stdlib.h>
#include <string.h>

#include "graph/onnx/import_int.h"
#include "support/inputs.h"

/* Import follows no more bodies within each other. */
enum { MAX_DEPTH = TC_DEPTH_BODIES };

typedef TC_VEC(const char *) names;

typedef struct order {
    Onnx__NodeProto **node;
    size_t n;
    names *reads;        /* by node: names, also those that its bodies read of what is around them */
    size_t *seen;        /* by node: how many of these names have their place, or need none */
    tc_map makers;       /* name -> node */
    uint8_t *state;      /* by node */
    TC_VEC(size_t) path; /* nodes that are waited for, each for what the next one makes */
    Onnx__NodeProto **sorted;
    size_t nsorted;
} order;

enum { UNSEEN, WAITING, DONE };

static tc_status sort(Onnx__NodeProto **node, size_t n, int depth, names *outside, tc_error *err);

static void note_inside(tc_map *inside, const char *name) {
    if (name && *name)
        tc_map_puts(inside, name, 1);
}

/* Sorts the body. *reads grows by what it reads of the graphs around it. */
static tc_status sort_body(const Onnx__GraphProto *g, int depth, names *reads, tc_error *err) {
    names all = {0};
    tc_map inside = {0};
    tc_status s = sort(g->node, g->n_node, depth + 1, &all, err);
    for (size_t i = 0; i < g->n_input; i++)
        note_inside(&inside, g->input[i]->name);
    for (size_t i = 0; i < g->n_initializer; i++)
        note_inside(&inside, g->initializer[i]->name);
    for (size_t i = 0; i < g->n_node; i++)
        for (size_t k = 0; k < g->node[i]->n_output; k++)
            note_inside(&inside, g->node[i]->output[k]);
    for (size_t i = 0; i < g->n_output; i++)
        if (g->output[i]->name)
            tc_push(&all, g->output[i]->name);
    for (size_t i = 0; i < all.len; i++)
        if (!tc_map_gets(&inside, all.data[i]))
            tc_push(reads, all.data[i]);
    tc_map_free(&inside);
    tc_vec_free(&all);
    return s;
}

static tc_status find_reads(const Onnx__NodeProto *p, int depth, names *reads, tc_error *err) {
    for (size_t k = 0; k < p->n_input; k++)
        if (*p->input[k])
            tc_push(reads, p->input[k]);
    for (size_t k = 0; k < p->n_attribute && depth < MAX_DEPTH; k++) {
        const Onnx__AttributeProto *a = p->attribute[k];
        if (a->g)
            TC_TRY(sort_body(a->g, depth, reads, err));
        for (size_t i = 0; i < a->n_graphs; i++)
            TC_TRY(sort_body(a->graphs[i], depth, reads, err));
    }
    return TC_OK;
}

/* The nodes of the path from that one on wait for each other. */
static tc_status cycle(const order *o, size_t first, tc_error *err) {
    enum { SHOWN = 4 };
    tc_strbuf b = {0};
    size_t at = o->path.len;
    while (at > 0 && o->path.data[at - 1] != first)
        at--;
    for (size_t i = at - 1; i < o->path.len; i++) {
        const Onnx__NodeProto *p = o->node[o->path.data[i]];
        const char *name = p->name && *p->name ? p->name : p->n_output ? p->output[0] : "(unnamed)";
        if (i - at + 1 < SHOWN)
            tc_sb_printf(&b, "%s'%s' (%s)", i >= at ? ", " : "", name, p->op_type ? p->op_type : "no type");
    }
    size_t n = o->path.len - at + 1;
    if (n > SHOWN)
        tc_sb_printf(&b, " and %zu others", n - SHOWN);
    tc_status s = n == 1 ? tc_fail(err, TC_BAD_INPUT, "node %s reads its own result; the model cannot be computed", tc_sb_str(&b))
                         : tc_fail(err, TC_BAD_INPUT,
                                   "the nodes %s form a cycle: each reads a result of the next one, and the last one a result of "
                                   "the first; the model cannot be computed",
                                   tc_sb_str(&b));
    tc_strbuf_free(&b);
    return s;
}

/* A node that node i reads, and that has no place yet; SIZE_MAX: there is none. */
static size_t missing(order *o, size_t i) {
    for (; o->seen[i] < o->reads[i].len; o->seen[i]++) {
        uintptr_t *maker = tc_map_gets(&o->makers, o->reads[i].data[o->seen[i]]);
        if (maker && o->state[*maker] != DONE)
            return *maker;
    }
    return SIZE_MAX;
}

/* Node i gets its place, behind all that it needs. */
static tc_status place(order *o, size_t i, tc_error *err) {
    tc_push(&o->path, i);
    while (o->path.len) {
        size_t at = o->path.data[o->path.len - 1], next = missing(o, at);
        o->state[at] = next == SIZE_MAX ? DONE : WAITING;
        if (next == SIZE_MAX) {
            o->sorted[o->nsorted++] = o->node[at];
            o->path.len--;
        } else if (o->state[next] == WAITING) {
            return cycle(o, next, err);
        } else {
            tc_push(&o->path, next);
        }
    }
    return TC_OK;
}

static tc_status find_order(order *o, int depth, tc_error *err) {
    for (size_t i = 0; i < o->n; i++)
        TC_TRY(find_reads(o->node[i], depth, &o->reads[i], err));
    for (size_t i = 0; i < o->n; i++)
        for (size_t k = 0; k < o->node[i]->n_output; k++)
            if (*o->node[i]->output[k])
                tc_map_puts(&o->makers, o->node[i]->output[k], i);
    for (size_t i = 0; i < o->n; i++)
        if (o->state[i] == UNSEEN)
            TC_TRY(place(o, i, err));
    for (size_t i = 0; i < o->n; i++)
        o->node[i] = o->sorted[i];
    return TC_OK;
}

/* *outside (NULL: nobody asks): all names that the nodes read. */
static tc_status sort(Onnx__NodeProto **node, size_t n, int depth, names *outside, tc_error *err) {
    order o = {.node = node, .n = n};
    o.reads = tc_xcalloc(n + 1, sizeof *o.reads);
    o.seen = tc_xcalloc(n + 1, sizeof *o.seen);
    o.state = tc_xcalloc(n + 1, sizeof *o.state);
    o.sorted = tc_xcalloc(n + 1, sizeof *o.sorted);
    tc_status s = find_order(&o, depth, err);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; outside && k < o.reads[i].len; k++)
            tc_push(outside, o.reads[i].data[k]);
        tc_vec_free(&o.reads[i]);
    }
    tc_map_free(&o.makers);
    tc_vec_free(&o.path);
    free(o.reads);
    free(o.seen);
    free(o.state);
    free((void *)o.sorted);
    return s;
}

tc_status tc_graph_import_sort(Onnx__ModelProto *m, tc_error *err) {
    TC_TRY(sort(m->graph->node, m->graph->n_node, 0, NULL, err));
    for (size_t i = 0; i < m->n_functions; i++) {
        tc_status s = sort(m->functions[i]->node, m->functions[i]->n_node, 0, NULL, err);
        if (s != TC_OK)
            tc_error_prefix(err, "function '%s': ", m->functions[i]->name ? m->functions[i]->name : "");
        TC_TRY(s);
    }
    return TC_OK;
}
