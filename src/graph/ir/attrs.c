/* Attributes of nodes. */
#include "graph/ir/attrs.h"

#include <assert.h>
#include <string.h>

#include "graph/ir/build.h"

#define OTHERWISE_INT(v) .i = v
#define OTHERWISE_FLOAT(v) .f = v
#define OTHERWISE_STRING(v) .s = v
#define OTHERWISE_INTS(v) .ints = v
#define OTHERWISE_FLOATS(v) .floats = v
#define OTHERWISE_TENSOR(v) .tensor = v
static const struct {
    const char *name, *word;
    tc_graph_attr_kind kind;
    tc_graph_attr otherwise;
} attributes[TC_ATTR_COUNT] = {
#define ATTR(row, text, kind, value)                                                                                             \
    [TC_ATTR_##row] = {text, #row, TC_GRAPH_ATTR_##kind, {.id = TC_ATTR_##row, OTHERWISE_##kind(value)}},
#include "graph/ir/attrs.def"
#undef ATTR
};

const char *tc_graph_attr_name(tc_graph_attr_id id) {
    return attributes[id].name;
}

bool tc_graph_attr_by_word(const char *word, size_t len, tc_graph_attr_id *id) {
    for (int i = 1; i < TC_ATTR_COUNT; i++)
        if (strncmp(attributes[i].word, word, len) == 0 && attributes[i].word[len] == 0) {
            *id = (tc_graph_attr_id)i;
            return true;
        }
    return false;
}

const tc_graph_attr *tc_graph_attr_otherwise(tc_graph_attr_id id) {
    return &attributes[id].otherwise;
}

tc_graph_attr_kind tc_graph_attr_kind_of(tc_graph_attr_id id) {
    return attributes[id].kind;
}

const char *tc_graph_attr_kind_name(tc_graph_attr_kind kind) {
    static const char *const names[] = {"an integer",         "a float",          "a string",
                                        "a list of integers", "a list of floats", "a tensor"};
    return names[kind];
}

static tc_graph_attr *attr_slot(tc_graph *g, tc_graph_node *n, tc_graph_attr_id id, tc_graph_attr_kind kind) {
    size_t i = 0;
    assert(tc_graph_attr_kind_of(id) == kind);
    (void)kind;
    while (i < n->nattrs && n->attrs[i].id != id)
        i++;
    if (i == n->nattrs && n->nattrs == n->cap_attrs) {
        size_t cap = n->cap_attrs ? 2 * n->cap_attrs : 4;
        tc_graph_attr *grown = TC_NEW_N(g->arena, tc_graph_attr, cap);
        if (n->nattrs)
            memcpy(grown, n->attrs, n->nattrs * sizeof *grown);
        n->attrs = grown;
        n->cap_attrs = cap;
    }
    if (i == n->nattrs)
        n->nattrs++;
    n->attrs[i] = (tc_graph_attr){.id = id};
    return &n->attrs[i];
}

void tc_graph_set_int(tc_graph *g, tc_graph_node *n, tc_graph_attr_id id, int64_t v) {
    attr_slot(g, n, id, TC_GRAPH_ATTR_INT)->i = v;
}

void tc_graph_set_float(tc_graph *g, tc_graph_node *n, tc_graph_attr_id id, double v) {
    attr_slot(g, n, id, TC_GRAPH_ATTR_FLOAT)->f = v;
}

void tc_graph_set_str(tc_graph *g, tc_graph_node *n, tc_graph_attr_id id, const char *v) {
    const char *copy = tc_arena_strdup(g->arena, v);
    attr_slot(g, n, id, TC_GRAPH_ATTR_STRING)->s = copy;
}

void tc_graph_set_ints(tc_graph *g, tc_graph_node *n, tc_graph_attr_id id, const int64_t *v, size_t len) {
    const int64_t *copy = tc_arena_dup(g->arena, v, len * sizeof *v);
    tc_graph_attr *a = attr_slot(g, n, id, TC_GRAPH_ATTR_INTS);
    a->ints = copy;
    a->len = len;
}

void tc_graph_set_floats(tc_graph *g, tc_graph_node *n, tc_graph_attr_id id, const float *v, size_t len) {
    const float *copy = tc_arena_dup(g->arena, v, len * sizeof *v);
    tc_graph_attr *a = attr_slot(g, n, id, TC_GRAPH_ATTR_FLOATS);
    a->floats = copy;
    a->len = len;
}

void tc_graph_set_tensor(tc_graph *g, tc_graph_node *n, tc_graph_attr_id id, tc_graph_tensor *v) {
    const tc_graph_tensor *kept = tc_graph_keep_tensor(g, v);
    attr_slot(g, n, id, TC_GRAPH_ATTR_TENSOR)->tensor = kept;
}

void tc_graph_drop_attr(tc_graph_node *n, tc_graph_attr_id id) {
    for (size_t i = 0; i < n->nattrs; i++)
        if (n->attrs[i].id == id) {
            memmove(&n->attrs[i], &n->attrs[i + 1], (--n->nattrs - i) * sizeof n->attrs[0]);
            return;
        }
}

const tc_graph_attr *tc_graph_attr_find(const tc_graph_node *n, tc_graph_attr_id id) {
    for (size_t i = 0; i < n->nattrs; i++)
        if (n->attrs[i].id == id)
            return &n->attrs[i];
    return NULL;
}

int64_t tc_graph_attr_int(const tc_graph_node *n, tc_graph_attr_id id, int64_t otherwise) {
    const tc_graph_attr *a = tc_graph_attr_find(n, id);
    return a ? a->i : otherwise;
}

double tc_graph_attr_float(const tc_graph_node *n, tc_graph_attr_id id, double otherwise) {
    const tc_graph_attr *a = tc_graph_attr_find(n, id);
    return a ? a->f : otherwise;
}

const char *tc_graph_attr_str(const tc_graph_node *n, tc_graph_attr_id id, const char *otherwise) {
    const tc_graph_attr *a = tc_graph_attr_find(n, id);
    return a ? a->s : otherwise;
}

const int64_t *tc_graph_attr_ints(const tc_graph_node *n, tc_graph_attr_id id, size_t *len) {
    const tc_graph_attr *a = tc_graph_attr_find(n, id);
    *len = a ? a->len : 0;
    return a ? a->ints : NULL;
}
