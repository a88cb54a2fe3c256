/* Sizes that vary from run to run, as expressions: integers that the graph computes are i64 expressions (te/expr.h) over variables
 * that stand for numbers of which no more is known than a range. Equal sizes are the same expression, once simplified, and what
 * bounds an expression bounds the size. */
#ifndef TC_GRAPH_IR_SIZES_H
#define TC_GRAPH_IR_SIZES_H

#include "graph/ir/graph.h"
#include "te/index/affine.h"

/* Of one graph. */
typedef struct tc_graph_sizes {
    tc_ctx *ctx;
    /* Ranges of variables; likely: and that what is not known is not negative, as sizes are, and what models compute of them. */
    tc_env *sure, *likely;
    tc_map numbers; /* value and element -> its expression */
    tc_map values;  /* expression -> i64 scalar of the graph that is it */
} tc_graph_sizes;

tc_graph_sizes *tc_graph_sizes_of(tc_graph *g); /* made when first asked for */
void tc_graph_sizes_free(tc_graph_sizes *s);    /* NULL is fine */

/* Element i of the integer value v, which is what the graph says of it so far; NULL: nothing yet. */
const tc_expr *tc_graph_sizes_number(const tc_graph_sizes *s, const tc_graph_value *v, int64_t i);
void tc_graph_sizes_set_number(tc_graph_sizes *s, const tc_graph_value *v, int64_t i, const tc_expr *x);
/* A number of which only the range is known. */
const tc_expr *tc_graph_sizes_unknown(tc_graph_sizes *s, const char *name, tc_ival range);
/* v, whose number x is, is a size, and at most so large. */
void tc_graph_sizes_limit(tc_graph_sizes *s, tc_graph_value *v, const tc_expr *x, int64_t most);
/* The scalar that is x; NULL: there is none yet. */
tc_graph_value *tc_graph_sizes_value(const tc_graph_sizes *s, const tc_expr *x);
void tc_graph_sizes_set_value(tc_graph_sizes *s, const tc_expr *x, tc_graph_value *v);

const tc_expr *tc_graph_sizes_simplify(tc_graph_sizes *s, const tc_expr *x);
/* The largest that it is likely to be, for a size that must have one, and that it can be, for what is left out. Never negative; TC_INF:
 * that is not known. */
int64_t tc_graph_sizes_most(const tc_graph_sizes *s, const tc_expr *x);
int64_t tc_graph_sizes_limit_of(const tc_graph_sizes *s, const tc_expr *x);

/* ---- of a run ---- */
/* The sizes that the model's inputs in[] have: size[i] of symbol i. TC_BAD_INPUT where one is out of its range, or two inputs
 * disagree; types and what is fixed are checked as by tc_graph_check_input. */
TC_NODISCARD tc_status tc_graph_sizes_bind(const tc_graph *g, const tc_graph_tensor *in, int64_t *size, tc_error *err);

#endif
