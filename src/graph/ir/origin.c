/* Tracks the nodes of the model that each part of the graph was made from. */
#include <string.h>

#include "graph/ir/build.h"

/* Of equal nodes one is kept, and a hostile model can have any number of them. */
enum { MOST_NAMES = 64 };

static bool has(const tc_graph_origin *o, const char *name) {
    for (int i = 0; o && i < o->n; i++)
        if (strcmp(o->name[i], name) == 0)
            return true;
    return false;
}

static const tc_graph_origin *keep(tc_graph *g, const char *const *name, int n) {
    tc_graph_origin *o = TC_NEW(g->arena, tc_graph_origin);
    *o = (tc_graph_origin){n, tc_arena_dup(g->arena, name, (size_t)n * sizeof *name)};
    return o;
}

const tc_graph_origin *tc_graph_origin_of(tc_graph *g, const char *name) {
    const char *own = tc_arena_strdup(g->arena, name);
    return keep(g, &own, 1);
}

const tc_graph_origin *tc_graph_origin_join(tc_graph *g, const tc_graph_origin *a, const tc_graph_origin *b) {
    const char *all[MOST_NAMES];
    int n = a ? a->n : 0;
    if (n == 0)
        return b ? b : a;
    memcpy(all, a->name, (size_t)n * sizeof *all);
    for (int i = 0; b && i < b->n && n < MOST_NAMES; i++)
        if (!has(a, b->name[i]))
            all[n++] = b->name[i];
    return n == a->n ? a : keep(g, all, n);
}

const tc_graph_origin *tc_graph_origin_copy(tc_graph *g, const tc_graph_origin *o) {
    const char *all[MOST_NAMES];
    for (int i = 0; o && i < o->n; i++)
        all[i] = tc_arena_strdup(g->arena, o->name[i]);
    return o ? keep(g, all, o->n) : NULL;
}
