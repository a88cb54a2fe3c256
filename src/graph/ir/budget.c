/* What one import may spend: sums, bounds, and the message of a refusal. */
#include "graph/ir/budget.h"

#include <inttypes.h>

#include "support/inputs.h"

typedef struct row {
    const char *what;
    double base, per_byte;
    const char *remedy;
} row;

static const row rows[] = {
#define BUDGET(id, what, base, per_byte, remedy) {what, base, per_byte, remedy},
#include "graph/ir/budget.def"
#undef BUDGET
};

void tc_graph_budget_grow(tc_graph_budget *b, uint64_t bytes) {
    b->model_bytes += bytes;
    for (int r = 0; r < TC_GRAPH_NBUDGETS; r++)
        b->bound[r] = (uint64_t)(rows[r].base + rows[r].per_byte * (double)b->model_bytes);
}

/* "a model of 3802 bytes may have at most 131072 nodes made (so far: 131073 nodes made, ...); simplify .." */
static tc_status refuse(tc_graph_budget *b, tc_graph_resource r, tc_error *err) {
    if (!b->is_over) {
        b->is_over = true;
        b->over = r;
    }
    tc_strbuf spent = {0};
    for (int k = 0; k < TC_GRAPH_NBUDGETS; k++)
        if (b->spent[k])
            tc_sb_printf(&spent, "%s%" PRIu64 " %s", spent.len ? ", " : "", b->spent[k], rows[k].what);
    tc_status s = tc_refuse(err, TC_ERROR_UNSUPPORTED,
                            "the model becomes too large: import allows a model of %" PRIu64 " bytes at most %" PRIu64
                            " %s. Spent so far: %s. To go on, %s",
                            b->model_bytes, b->bound[b->over], rows[b->over].what, tc_sb_str(&spent), rows[b->over].remedy);
    tc_strbuf_free(&spent);
    return s;
}

tc_status tc_graph_spend(tc_graph_budget *b, tc_graph_resource r, uint64_t n, tc_error *err) {
    if (!b || (!b->is_over && tc_graph_can_spend(b, r, n))) {
        if (b)
            b->spent[r] += n;
        return TC_OK;
    }
    return refuse(b, r, err);
}

tc_status tc_graph_want_bytes(tc_graph *g, double bytes, tc_error *err) {
    tc_graph_budget *b = g->budget;
    bool fits =
        !b || (!b->is_over && bytes >= 0 && bytes < 0x1p60 && tc_graph_can_spend(b, TC_GRAPH_BUDGET_BYTES, (uint64_t)bytes));
    return fits ? TC_OK : refuse(b, TC_GRAPH_BUDGET_BYTES, err);
}

tc_status tc_graph_check_budget(tc_graph *g, tc_error *err) {
    tc_graph_budget *b = g->budget;
    if (!b)
        return TC_OK;
    uint64_t size = tc_arena_bytes(g->arena);
    b->spent[TC_GRAPH_BUDGET_BYTES] += size - g->budgeted;
    g->budgeted = size;
    if (b->is_over)
        return refuse(b, b->over, err);
    if (b->spent[TC_GRAPH_BUDGET_NODES] > b->bound[TC_GRAPH_BUDGET_NODES])
        return refuse(b, TC_GRAPH_BUDGET_NODES, err);
    if (b->spent[TC_GRAPH_BUDGET_BYTES] > b->bound[TC_GRAPH_BUDGET_BYTES])
        return refuse(b, TC_GRAPH_BUDGET_BYTES, err);
    return TC_OK;
}
