/* Draws values for the inputs of a model when nobody gives values. Each input has a range, which is found when the program is made.
 * Libraries keep the ranges, so a library draws the same values as its model.
 *
 * Integers that index a dimension stay within its bounds. An input without whose value runs are refused gets that value. Only the name of an input tells that it is a mask. A mask of noise hides
 * the computation that the network was built for, and softmax of a noise mask gives other values than softmax of real data. A mask
 * of ones lets everything through: as a factor, as a condition, and added before a softmax. */
#include <stdlib.h>
#include <strings.h>

#include "graph/program/launches.h"

/* Embedding tables are larger; ids all over one would make every lookup a cache miss. */
enum { MOST_INDICES = 1000 };

static bool is_mask(const char *name) {
    for (; *name; name++)
        if (strncasecmp(name, "mask", 4) == 0)
            return true;
    return false;
}

/* The smallest limit, exclusive, of what input i indexes in any kernel that reads it; 0: nothing. */
static int64_t index_limit(const tc_graph_program *p, int i) {
    int64_t limit = 0;
    for (int l = 0; l < p->nlaunch; l++) {
        const tc_graph_launch *x = &p->launches[l];
        const tc_workload *w = x->task < 0 ? NULL : p->tasks[x->task].workload;
        for (int k = 0; w && k < w->nin; k++) {
            const tc_graph_slot *s = &p->slots[x->args[k]];
            int64_t own = s->kind == TC_GRAPH_SLOT_INPUT && s->input == i ? tc_te_index_limit(w, k) : 0;
            if (own > 0)
                limit = limit ? TC_MIN(limit, own) : own;
        }
    }
    return TC_MIN(limit, (int64_t)MOST_INDICES);
}

void tc_graph_find_ranges(tc_graph_program *p) {
    for (int i = 0; i < p->nin; i++) {
        tc_graph_port *port = &p->in[i];
        int64_t limit = tc_dtype_is_float(port->dtype) ? 0 : index_limit(p, i);
        bool ones = is_mask(port->name) && limit == 0;
        port->drawn = ones ? (tc_te_range){1, 2} : tc_te_random_range(port->dtype, limit);
    }
    for (size_t k = 0; k < p->needed.len; k++)
        p->in[p->needed.data[k].input].drawn = (tc_te_range){p->needed.data[k].value, p->needed.data[k].value + 1};
}

static tc_graph_shape shape_at(const tc_graph_port *p, const tc_graph_sized_input *in, const int64_t *sizes) {
    tc_graph_shape s = p->shape;
    for (int d = 0; d < s.ndim; d++)
        if (in->size[d] >= 0)
            s.d[d] = sizes[in->size[d]];
    return s;
}

static tc_status draw_at(const tc_graph_port *ports, const tc_graph_size_rules *r, const int64_t *sizes, uint64_t seed,
                         tc_graph_tensor *in, tc_error *err) {
    for (int i = 0; i < r->nin; i++) {
        tc_graph_shape shape = shape_at(&ports[i], &r->in[i], sizes);
        tc_status s = tc_graph_tensor_alloc(&in[i], ports[i].dtype, &shape, err);
        if (s != TC_OK) {
            tc_error_prefix(err, "the input '%s': ", ports[i].name);
            while (i-- > 0)
                tc_graph_tensor_free(&in[i]);
            return s;
        }
        tc_rng g = tc_rng_seed(seed + (uint64_t)i);
        tc_te_random_within(ports[i].dtype, in[i].data, tc_graph_tensor_count(&in[i]), &g, ports[i].drawn);
    }
    return TC_OK;
}

tc_status tc_graph_draw_inputs(const tc_graph_port *ports, const tc_graph_size_rules *r, const int64_t *sizes, uint64_t seed,
                               tc_graph_tensor *in, tc_error *err) {
    if (sizes)
        return draw_at(ports, r, sizes, seed, in, err);
    int64_t *largest = tc_xcalloc((size_t)r->nsize + 1, sizeof *largest);
    tc_status s = tc_graph_size_rules_largest(r, largest, err);
    if (s == TC_OK)
        s = draw_at(ports, r, largest, seed, in, err);
    free(largest);
    return s;
}
