/* src/graph/ir owns the graph of a network: values, nodes, attributes, host tensors, the operator table (ops.def), printing,
 * clean-up, and sizes that vary, with their relations in the model (sizes.h). Not here: files (src/graph/onnx), the computations of
 * operators (src/graph/ops) and kernels (src/graph/fuse).
 *
 * The graph IR is a network after import. Every value has a static type. Nodes stand in topological order. One arena owns
 * everything.
 *
 * The life of a graph:
 *   tc_graph_import    turns ONNX nodes into nodes: each is checked, typed, brought into the canonical form that ops.def describes,
 *                      and folded when its inputs are constants
 *   tc_graph_simplify  removes identities, common nodes and dead nodes
 *   passes             (graph/passes)
 * After import no node depends on an opset version, no attribute is missing, and no axis is negative. Operands that a compiler
 * needs as constants (axes, shapes, pads, ...) are attributes, not tensors. */
#ifndef TC_GRAPH_IR_GRAPH_H
#define TC_GRAPH_IR_GRAPH_H

#include "graph/ir/attrs.h"
#include "graph/ir/op_table.h"
#include "graph/ir/tensor.h"
#include "support/map.h"
#include "support/vec.h"

typedef struct tc_graph_node tc_graph_node;

typedef struct tc_graph_value tc_graph_value;

struct tc_graph_value {
    const char *name; /* unique in the graph */
    uint32_t id;      /* index in graph->values, for side tables of passes */
    tc_dtype dtype;
    tc_graph_shape shape;
    tc_graph_node *producer;         /* NULL for graph inputs and constants */
    const tc_graph_tensor *constant; /* its value, or NULL */
    /* Only during import, for dimensions whose size depends on data (dynamic.h): extent[d] is an i64 scalar, the size at run time,
     * and `shape` has the largest size. extent[d] NULL: the size is that of `shape`. extent NULL: so are all sizes. */
    tc_graph_value **extent;
    int64_t most;                             /* the largest value, if this value is the size of a dimension; else 0 */
    const struct tc_graph_sequence *sequence; /* only during import: this value is a list of values (import_sequences.c) */
};

/* The nodes of the model that a node was made from: their names, each once, at most 64. A node that the model gives no name is
 * called by its first output. */
typedef struct tc_graph_origin {
    int n;
    const char *const *name;
} tc_graph_origin;

struct tc_graph_node {
    const char *name;              /* the model's, or "Op_17" where it has none */
    const tc_graph_origin *origin; /* NULL: not known */
    tc_graph_op op;
    uint32_t id; /* unique, stable; not a position */
    int nin, nout;
    tc_graph_value **in;  /* NULL: an optional input that is left out. Trailing NULLs are dropped. */
    tc_graph_value **out; /* NULL: an optional output that nobody asked for */
    size_t nattrs, cap_attrs;
    tc_graph_attr *attrs;
    struct tc_graph *body[2]; /* If: the two branches; Loop: the body in body[0] (see ops.def) */
    bool is_left;             /* only during import: of constants alone, and left to runs (budget.h) */
};

/* An output has the model's name, and any value of the graph, which may be an input or a constant. */
typedef struct tc_graph_output {
    const char *name;
    tc_graph_value *value;
    /* extent[d]: the number of the output that is the size of dimension d at run time; 0: the size is that of the shape. Sizes are
     * i64 scalars, and stand behind the outputs of the model. */
    int extent[TC_GRAPH_MAX_DIMS];
} tc_graph_output;

/* A size of inputs that varies from run to run: multiples of `multiple` from least to most. */
typedef struct tc_graph_symbol {
    const char *name;         /* the model's, or "input.shape[1]" */
    tc_graph_value *value;    /* the size of a run: an i64 scalar, an input behind the model's own */
    const struct tc_expr *is; /* how the model computes it from other symbols (sizes.h); NULL: only the inputs give it */
    int64_t least, most, multiple;
    bool assumed;  /* import chose the range, because nobody gave one */
    bool narrowed; /* the range is smaller than the given or assumed one, because of other symbols */
} tc_graph_symbol;

typedef TC_VEC(tc_graph_value *) tc_graph_values;
typedef TC_VEC(tc_graph_node *) tc_graph_nodes;

typedef struct tc_graph {
    tc_arena *arena;
    const char *name, *file;          /* for messages */
    int opset;                        /* of the default domain, as the model declared it; meaningless after import */
    tc_graph_values values;           /* all, by id; dead ones stay */
    tc_graph_nodes nodes;             /* live ones, in topological order */
    tc_graph_values inputs;           /* in the model's order, then symbols; initialised ones are constants and not listed */
    struct tc_graph_sizes *sizes;     /* sizes.h; NULL: none varies */
    TC_VEC(tc_graph_symbol) symbols;  /* which inputs' extents are */
    TC_VEC(tc_graph_named) fixed;     /* the model's inputs that import was given a value of: the graph has constants instead */
    TC_VEC(tc_graph_output) outputs;  /* the model's, then sizes of them that depend on data */
    size_t nsizes;                    /* how many of the latter */
    bool in_place_cache;              /* caches are to be written where they lie: a buffer's end may hold anything */
    tc_map names;                     /* value name -> value */
    tc_map suffixes;                  /* base of a made-up name -> the last number given to it */
    const tc_map *reserved;           /* during import: names that the file defines, also those yet to come */
    struct tc_graph_texts *texts;     /* during import: texts of operators that are read already (ops/expand.h) */
    struct tc_graph_budget *budget;   /* during import: what it may still spend (budget.h); else NULL */
    size_t budgeted;                  /* bytes of the arena that the budget has counted */
    TC_VEC(void *) blocks;            /* storage of constants, malloc'ed */
    TC_VEC(struct tc_graph *) bodies; /* of nodes: owned; their constants may be this graph's */
    uint32_t next_id;
    const tc_graph_origin *origin; /* of nodes that are made from now on: during import, of the node that is being imported */
    const char *importing;         /* during import: that node in messages, "node 'pool' (LpPool)" */
} tc_graph;

/* ---- life ---- */
tc_graph *tc_graph_new(const char *file);
void tc_graph_free(tc_graph *g); /* NULL is fine */

/* ---- reading ---- */
/* The same elements in the same order? NULL does not. */
static inline bool tc_graph_keeps_memory(const tc_graph_node *n) {
    return n && tc_graph_op_is(n->op, TC_GRAPH_KEEPS_MEMORY);
}
/* The value whose memory v is: v itself, or the source of a chain of reshapes. */
const tc_graph_value *tc_graph_memory_of(const tc_graph_value *v);
static inline bool tc_graph_is_const(const tc_graph_value *v) {
    return v && v->constant;
}
/* Number of uses of every value by live nodes and outputs, by value id; malloc'ed. */
uint32_t *tc_graph_count_uses(const tc_graph *g);
tc_graph_value *tc_graph_find_value(const tc_graph *g, const char *name); /* NULL when absent */
/* TC_BAD_INPUT when t cannot be fed to input i: wrong type or shape, with both written out. A bf16 input takes u16 bit patterns
 * too, because NumPy has no such type. */
TC_NODISCARD tc_status tc_graph_check_input(const tc_graph *g, size_t i, const tc_graph_tensor *t, tc_error *err);

/* `%name = Op(%a, %b) {axis=1} : f32[1,128]`, one node a line, inputs and constants before, outputs after. */
void tc_graph_print(const tc_graph *g, tc_strbuf *out);

/* ---- building and changing (passes, tests) ---- */
/* A name that is taken gets a suffix. */
tc_graph_value *tc_graph_add_value(tc_graph *g, const char *name, tc_dtype dtype, const tc_graph_shape *shape);
/* From now on v is called so, or "name.2" where that is taken. */
void tc_graph_rename_value(tc_graph *g, tc_graph_value *v, const char *name);
tc_graph_value *tc_graph_add_input(tc_graph *g, const char *name, tc_dtype dtype, const tc_graph_shape *shape);
/* Takes over t's storage if it is OWNED, else copies it; a copy must not exceed TC_ALLOC_LARGEST (alloc.h). t becomes a view. */
tc_graph_value *tc_graph_add_constant(tc_graph *g, const char *name, tc_graph_tensor *t);
void tc_graph_add_output(tc_graph *g, const char *name, tc_graph_value *v);
/* After the last tc_graph_add_output: adds the sizes that depend on data as outputs. */
void tc_graph_add_sizes(tc_graph *g);
/* Makes a node without outputs and without appending it; inputs may hold NULL. */
tc_graph_node *tc_graph_new_node(tc_graph *g, tc_graph_op op, const char *name, tc_graph_value *const *in, int nin);
/* Every use of `from` (inputs of nodes, outputs) becomes `to`. Linear in the graph; batch passes should use a map. */
void tc_graph_replace(tc_graph *g, tc_graph_value *from, tc_graph_value *to);
/* Checks: ids, order, producers, types of constants, arity. An assertion-grade check for tests and debug builds. */
TC_NODISCARD tc_status tc_graph_verify(const tc_graph *g, tc_error *err);

/* ---- clean-up; the passes are in pass.h ---- */
/* Requires a verified graph; keeps outputs and their types. Removes identities, merges equal nodes, drops what no output
 * needs. Bodies of nodes are graphs of their own, and not touched. */
void tc_graph_simplify(tc_graph *g);
/* Only drops what no output needs. */
void tc_graph_drop_dead(tc_graph *g);
/* Frees the storage of constants that no node, no body and no output reads; these values stop being constants. */
void tc_graph_release_constants(tc_graph *g);

#endif
