/* What one import may spend. See budget.def. A graph that was not imported has no budget: nothing is bounded there. */
#ifndef TC_GRAPH_IR_BUDGET_H
#define TC_GRAPH_IR_BUDGET_H

#include <stdint.h>

#include "graph/ir/graph.h"

typedef enum tc_graph_resource {
#define BUDGET(id, what, base, per_byte, remedy) TC_GRAPH_BUDGET_##id,
#include "graph/ir/budget.def"
#undef BUDGET
    TC_GRAPH_NBUDGETS
} tc_graph_resource;

typedef struct tc_graph_budget {
    uint64_t model_bytes; /* of the file and of the weights beside it */
    uint64_t bound[TC_GRAPH_NBUDGETS], spent[TC_GRAPH_NBUDGETS];
    bool is_over; /* import was refused more of `over`: it makes nothing more, and ends */
    tc_graph_resource over;
    bool has_left; /* nodes of constants alone were left to runs */
} tc_graph_budget;

/* The model has so many bytes more. */
void tc_graph_budget_grow(tc_graph_budget *b, uint64_t bytes);

/* b may be NULL in all of these. */
static inline bool tc_graph_can_spend(const tc_graph_budget *b, tc_graph_resource r, uint64_t n) {
    return !b || (b->spent[r] <= b->bound[r] && n <= b->bound[r] - b->spent[r]);
}
/* Fails if import has spent too much of r; later calls fail, too. The message says what was spent. */
TC_NODISCARD tc_status tc_graph_spend(tc_graph_budget *b, tc_graph_resource r, uint64_t n, tc_error *err);
/* Fails if import is refused the bytes, which g's arena will get: it counts them itself. */
TC_NODISCARD tc_status tc_graph_want_bytes(tc_graph *g, double bytes, tc_error *err);
/* Adds up what g's arena has grown by. Fails if that, or the number of nodes, is too much. */
TC_NODISCARD tc_status tc_graph_check_budget(tc_graph *g, tc_error *err);

#endif
