/* Attributes of nodes. attrs.def lists them. Each attribute has an accessor and a setter of its own kind here, so a misspelt name
 * or a wrong kind does not compile:
 *
 *     int64_t axis = tc_graph_attr_axis(n);                      0, from attrs.def, if n lacks the attribute
 *     int64_t axis = tc_graph_attr_axis_or(n, -1);               -1 in that case
 *     const int64_t *pads = tc_graph_attr_pads(n, &len);         NULL and 0 in that case
 *     tc_graph_set_axis(g, n, 1);
 *     tc_graph_set_pads(g, n, pads, len);                        copied */
#ifndef TC_GRAPH_IR_ATTRS_H
#define TC_GRAPH_IR_ATTRS_H

#include "graph/ir/tensor.h"

typedef enum tc_graph_attr_id {
    TC_ATTR_none,
#define ATTR(id, text, kind, otherwise) TC_ATTR_##id,
#include "graph/ir/attrs.def"
#undef ATTR
    TC_ATTR_COUNT
} tc_graph_attr_id;

typedef enum tc_graph_attr_kind {
    TC_GRAPH_ATTR_INT,
    TC_GRAPH_ATTR_FLOAT,
    TC_GRAPH_ATTR_STRING,
    TC_GRAPH_ATTR_INTS,
    TC_GRAPH_ATTR_FLOATS,
    TC_GRAPH_ATTR_TENSOR
} tc_graph_attr_kind;

typedef struct tc_graph_attr {
    tc_graph_attr_id id; /* says of what kind it is */
    int64_t i;
    double f;
    const char *s;
    size_t len; /* of ints or floats */
    const int64_t *ints;
    const float *floats;
    const tc_graph_tensor *tensor;
} tc_graph_attr;

struct tc_graph;
struct tc_graph_node;

/* As ONNX writes it. */
const char *tc_graph_attr_name(tc_graph_attr_id id);
/* By the id in attrs.def, a word of `len` letters; false where there is none. */
bool tc_graph_attr_by_word(const char *word, size_t len, tc_graph_attr_id *id);
/* What attrs.def says of nodes that lack it. */
const tc_graph_attr *tc_graph_attr_otherwise(tc_graph_attr_id id);
tc_graph_attr_kind tc_graph_attr_kind_of(tc_graph_attr_id id);
const char *tc_graph_attr_kind_name(tc_graph_attr_kind kind); /* "a list of integers" */

/* ---- by id: where it is a parameter; else those of the attribute are meant ---- */
/* NULL where n has it not; TC_ATTR_none is one that no node has. */
const tc_graph_attr *tc_graph_attr_find(const struct tc_graph_node *n, tc_graph_attr_id id);
int64_t tc_graph_attr_int(const struct tc_graph_node *n, tc_graph_attr_id id, int64_t otherwise);
double tc_graph_attr_float(const struct tc_graph_node *n, tc_graph_attr_id id, double otherwise);
const char *tc_graph_attr_str(const struct tc_graph_node *n, tc_graph_attr_id id, const char *otherwise);
const int64_t *tc_graph_attr_ints(const struct tc_graph_node *n, tc_graph_attr_id id, size_t *len); /* NULL and 0 when absent */
void tc_graph_set_int(struct tc_graph *g, struct tc_graph_node *n, tc_graph_attr_id id, int64_t v);
void tc_graph_set_float(struct tc_graph *g, struct tc_graph_node *n, tc_graph_attr_id id, double v);
/* Strings and lists are copied. */
void tc_graph_set_str(struct tc_graph *g, struct tc_graph_node *n, tc_graph_attr_id id, const char *v);
void tc_graph_set_ints(struct tc_graph *g, struct tc_graph_node *n, tc_graph_attr_id id, const int64_t *v, size_t len);
void tc_graph_set_floats(struct tc_graph *g, struct tc_graph_node *n, tc_graph_attr_id id, const float *v, size_t len);
/* Keeps the bytes as tc_graph_keep_tensor does. */
void tc_graph_set_tensor(struct tc_graph *g, struct tc_graph_node *n, tc_graph_attr_id id, tc_graph_tensor *v);
/* Nothing where n has it not. */
void tc_graph_drop_attr(struct tc_graph_node *n, tc_graph_attr_id id);

/* ---- by name ---- */
#define SCALAR(id, type, kind, otherwise)                                                                                        \
    static inline type tc_graph_attr_##id##_or(const struct tc_graph_node *n, type other) {                                      \
        return tc_graph_attr_##kind(n, TC_ATTR_##id, other);                                                                     \
    }                                                                                                                            \
    static inline type tc_graph_attr_##id(const struct tc_graph_node *n) {                                                       \
        return tc_graph_attr_##id##_or(n, otherwise);                                                                            \
    }                                                                                                                            \
    static inline void tc_graph_set_##id(struct tc_graph *g, struct tc_graph_node *n, type v) {                                  \
        tc_graph_set_##kind(g, n, TC_ATTR_##id, v);                                                                              \
    }
#define ATTR_INT(id, otherwise) SCALAR(id, int64_t, int, otherwise)
#define ATTR_FLOAT(id, otherwise) SCALAR(id, double, float, otherwise)
#define ATTR_STRING(id, otherwise) SCALAR(id, const char *, str, otherwise)
#define ATTR_INTS(id, otherwise)                                                                                                 \
    static inline const int64_t *tc_graph_attr_##id(const struct tc_graph_node *n, size_t *len) {                                \
        return tc_graph_attr_ints(n, TC_ATTR_##id, len);                                                                         \
    }                                                                                                                            \
    static inline void tc_graph_set_##id(struct tc_graph *g, struct tc_graph_node *n, const int64_t *v, size_t len) {            \
        tc_graph_set_ints(g, n, TC_ATTR_##id, v, len);                                                                           \
    }
/* These are read from what tc_graph_attr_find gives. */
#define ATTR_FLOATS(id, otherwise)                                                                                               \
    static inline void tc_graph_set_##id(struct tc_graph *g, struct tc_graph_node *n, const float *v, size_t len) {              \
        tc_graph_set_floats(g, n, TC_ATTR_##id, v, len);                                                                         \
    }
#define ATTR_TENSOR(id, otherwise)                                                                                               \
    static inline void tc_graph_set_##id(struct tc_graph *g, struct tc_graph_node *n, tc_graph_tensor *v) {                      \
        tc_graph_set_tensor(g, n, TC_ATTR_##id, v);                                                                              \
    }
#define ATTR(id, text, kind, otherwise) ATTR_##kind(id, otherwise)
#include "graph/ir/attrs.def"
#undef ATTR
#undef SCALAR
#undef ATTR_INT
#undef ATTR_FLOAT
#undef ATTR_STRING
#undef ATTR_INTS
#undef ATTR_FLOATS
#undef ATTR_TENSOR

#endif
