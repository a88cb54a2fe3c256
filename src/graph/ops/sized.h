/* What of a graph's values is read, where sizes vary.
 *
 * After import every value is as large as it can be, and what lies past the sizes of a run is unspecified, but harmless. So it
 * need not be computed: backwards, from the outputs, whose sizes are known, and from masks, each kernel asks for what it reads of
 * its operands. A value whose readers agree on the sizes is that large, and lies densely in memory; all others stay as large as
 * they can be. */
#ifndef TC_GRAPH_OPS_SIZED_H
#define TC_GRAPH_OPS_SIZED_H

#include "graph/ir/graph.h"
#include "te/te.h"

typedef struct tc_graph_sized tc_graph_sized;

/* Of g, which outlives it; symbols are made in c. */
tc_graph_sized *tc_graph_sized_new(tc_ctx *c, const tc_graph *g);
/* Of the body of a node of around's graph; both outlive it. given[i]: the value of that graph that input i of the body is,
 * whatever happens; NULL: it is none. What is a size there is the same symbol in the body, and what is known before the node is
 * known. */
tc_graph_sized *tc_graph_sized_within(tc_graph_sized *around, const tc_graph *body, const tc_graph_value *const *given);
void tc_graph_sized_free(tc_graph_sized *s); /* NULL is fine */

/* The symbol that stands for a size in workloads, by the value that it is in a run; NULL: it is none that has a range. */
const tc_var *tc_graph_sized_symbol(tc_graph_sized *s, const tc_graph_value *size);
/* That value, in the graph or in one around it. */
const tc_graph_value *tc_graph_sized_value(const tc_graph_sized *s, const tc_var *symbol);
/* What it is of the sizes of the model's inputs, as the model's own graph has it (graph/ir/sizes.h); NULL: it depends on data, or
 * only a body computes it. */
const tc_expr *tc_graph_sized_number(const tc_graph_sized *s, const tc_var *symbol);

/* Somebody reads v, of dimension d as much as size[d] says (NULL: all of it); size NULL: all of it in all of them. */
void tc_graph_sized_ask(tc_graph_sized *s, const tc_graph_value *v, const tc_var *const *size);
/* Where v ends, by dimension, as all who were asked agree; NULL where it does not. */
void tc_graph_sized_ends(const tc_graph_sized *s, const tc_graph_value *v, const tc_var *size[TC_GRAPH_MAX_DIMS]);

/* v lies in memory as large as it can be, however much of it is asked for. */
void tc_graph_sized_keep_whole(tc_graph_sized *s, const tc_graph_value *v);

bool tc_graph_sized_is_asked(const tc_graph_sized *s, const tc_graph_value *v); /* anybody reads it */

/* v is known from launch `at` on; inputs are from the start. Whoever is asked now is launch `at`, and sizes that are not known
 * before it are none to it. */
void tc_graph_sized_made(tc_graph_sized *s, const tc_graph_value *v, int at);
void tc_graph_sized_at(tc_graph_sized *s, int at);
bool tc_graph_sized_knows(const tc_graph_sized *s, const tc_var *symbol); /* the size is known to launch `at` */
/* Those that are, malloc'ed. */
const tc_var **tc_graph_sized_known(const tc_graph_sized *s, int *n);

/* Everybody was asked. */
void tc_graph_sized_settle(tc_graph_sized *s);
/* Of a body, when the graph around it is settled: its input i lies as lies[i] does there; NULL: as was asked. */
void tc_graph_sized_take(tc_graph_sized *s, const tc_graph_value *const *lies);
bool tc_graph_sized_is_settled(const tc_graph_sized *s);

#endif
