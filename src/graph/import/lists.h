/* Sequences and optionals. Their values stand in a graph while it is imported, and no node has them.
 *
 * Failures of these functions are messages, to which the caller adds the node. */
#ifndef TC_GRAPH_IMPORT_LISTS_H
#define TC_GRAPH_IMPORT_LISTS_H

#include "graph/ops/dynamic.h"

/* A sequence, or an optional (of no value or one). Elements may be optionals' sequences. */
typedef struct tc_graph_sequence {
    tc_graph_value *rows; /* the first elements where only the data know how many they are (lists.c), or NULL */
    size_t n;             /* elements after these */
    tc_graph_value **v;
    bool optional;
} tc_graph_sequence;

/* The list as a value of g. s.v is copied. */
tc_graph_value *tc_graph_import_list(tc_graph *g, tc_graph_sequence s);
/* Of the list's elements; false: it has none that say. */
bool tc_graph_import_element_type(const tc_graph_sequence *s, tc_graph_type *out);
/* Are they all tensors of that type, whose sizes do not depend on data? */
TC_NODISCARD tc_status tc_graph_import_check_elements(tc_graph_emitter *e, const tc_graph_sequence *s, const tc_graph_type *type);
/* All elements, which must be of that type, as rows. */
TC_NODISCARD tc_status tc_graph_import_rows(tc_graph_emitter *e, const tc_graph_sequence *s, const tc_graph_type *type,
                                            tc_graph_value **out);
tc_graph_value *tc_graph_import_count(tc_graph_emitter *e, const tc_graph_sequence *s);
/* Positions are of any integer type, and count from the end where negative. NULL: the last. */
TC_NODISCARD tc_status tc_graph_import_at(tc_graph_emitter *e, const tc_graph_sequence *s, tc_graph_value *at,
                                          tc_graph_value **out);
TC_NODISCARD tc_status tc_graph_import_insert_at(tc_graph_emitter *e, const tc_graph_sequence *s, tc_graph_value *v,
                                                 tc_graph_value *at, tc_graph_value **out);
TC_NODISCARD tc_status tc_graph_import_erase_at(tc_graph_emitter *e, const tc_graph_sequence *s, tc_graph_value *at,
                                                tc_graph_value **out);
/* The elements along the axis; fresh: which is a dimension of their own. */
TC_NODISCARD tc_status tc_graph_import_concat_rows(tc_graph_emitter *e, const tc_graph_sequence *s, int axis, bool fresh,
                                                   tc_graph_value **out);
TC_NODISCARD tc_status tc_graph_import_split_rows(tc_graph_emitter *e, tc_graph_value *x, int axis, bool keep,
                                                  tc_graph_value **out);

#endif
