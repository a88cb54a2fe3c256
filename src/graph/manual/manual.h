/* src/graph/manual owns the page docs/reference/operators.md, which lists the operators that models may have. The build writes the
 * page from the operator table (ir/ops.def) and from what inference answers. Not here: the page of options (src/cli/manual).
 *
 * The folder is a program that the build runs. */
#ifndef TC_GRAPH_MANUAL_MANUAL_H
#define TC_GRAPH_MANUAL_MANUAL_H

#include "graph/ir/graph.h"

/* A node to ask inference about. Its operands are words, separated by spaces:
 *
 *     T2x3x4  an input of the model of type T, the type that is asked about, with the dimensions 2, 3 and 4
 *     i4      an input of i64 with one dimension. Other letters: b bool, u u8, n i32, h f16, f f32
 *     i2=1    a constant of that type, whose elements are 1
 *     -       an operand that is left out
 *
 * If the last word ends in '*', the operands behind it are as this word says, up to the least number of inputs. Attributes are
 * words, too: "axis=1 pads=0,0,1,1". Attributes that the operator does not take are left out. */
typedef struct manual_sample {
    const char *name; /* of the operator; NULL: any */
    const char *operands, *attributes;
} manual_sample;

/* All samples, those of single operators first. */
const manual_sample *manual_samples(size_t *n);

/* ---- what inference answers ---- */

/* An attribute with a value of its kind. */
typedef struct manual_setting {
    tc_graph_attr_id id;
    int64_t i;
    double f;
    const char *s;
} manual_setting;

/* Infers the sample as a node of that operator. more: one more attribute, or NULL. True: the node was taken; *text then has the
 * graph that it becomes. */
bool manual_infer(tc_graph_op op, const manual_sample *s, tc_dtype t, const manual_setting *more, tc_strbuf *text);
/* The sample of the operator that most types fit; NULL: none. types[t]: the operator takes T = t. */
const manual_sample *manual_types(tc_graph_op op, bool types[TC_NDTYPES]);
/* Has the sample an operand of type T? */
bool manual_asks_for_types(const manual_sample *s);
/* Finds a value of the attribute with which the node becomes the same graph as without the attribute, while another value gives
 * another graph. False: no value was found. */
bool manual_default(tc_graph_op op, const manual_sample *s, tc_dtype t, tc_graph_attr_id id, manual_setting *out);

/* ---- the page ---- */
void manual_page(tc_strbuf *b);

#endif
