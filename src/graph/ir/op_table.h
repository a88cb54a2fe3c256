/* The operator table (ops.def) as data. The functions of operators are in ops/functions.h. */
#ifndef TC_GRAPH_IR_OP_TABLE_H
#define TC_GRAPH_IR_OP_TABLE_H

#include "graph/ir/attrs.h"

/* The opset versions of the default domain whose semantics ops.def covers. */
enum { TC_GRAPH_OPSET_MIN = 1, TC_GRAPH_OPSET_MAX = 26 };

typedef enum tc_graph_op {
#define OP(id, name, since, min_in, max_in, min_out, max_out, class, traits, infer, eval, at, last, rewrite, ...)                \
    TC_GRAPH_OP_##id,
#include "graph/ir/ops.def"
#undef OP
    TC_GRAPH_OP_COUNT
} tc_graph_op;

/* How an operator takes part in fusion. */
typedef enum tc_graph_class {
    TC_GRAPH_CLASS_NONE, /* inference writes it in terms of others: no graph has it */
    TC_GRAPH_CLASS_VIEW, /* an affine change of coordinates: never computed on its own unless it is an output of the model */
    TC_GRAPH_CLASS_ELEMENTWISE, /* out[i] from in[i], broadcasting */
    TC_GRAPH_CLASS_MOVE,        /* coordinates that depend on conditions or data: concat, pad, gather */
    TC_GRAPH_CLASS_REDUCE,      /* reductions and what is built of them: softmax, layer norm */
    TC_GRAPH_CLASS_LIBRARY,     /* a library kernel (library.h), or a node with bodies; always by itself */
    TC_GRAPH_CLASS_ANCHOR /* contractions: read only by what follows elementwise, or row by row by another one (attention) */
} tc_graph_class;

/* What passes ask of operators. */
enum tc_graph_trait {
    TC_GRAPH_POINTWISE = 1, /* each element of the result is a function of the operands' at its place, whatever place that is */
    TC_GRAPH_KEEPS_MEMORY = 2,    /* the same elements in the same order */
    TC_GRAPH_CONVOLUTION = 4,     /* (x, weights, bias?, padding?), x being [N, C, spatial...] */
    TC_GRAPH_KEEPS_FORM = 8,      /* as pointwise ones: stands between convolutions, with a result of its operand's dimensions */
    TC_GRAPH_READS_AGAIN = 16,    /* each element of an operand several times, or in several of its own stages */
    TC_GRAPH_READS_ONCE = 32,     /* its elements are those of its operands, each in one place */
    TC_GRAPH_WHOLE_ROWS = 64,     /* reduces the last dimensions, whichever its axis is */
    TC_GRAPH_NO_ROWS = 128,       /* of class REDUCE, but what it adds up are no rows */
    TC_GRAPH_TAKES_NUMBERS = 256, /* operands after the first are numbers that make its shape */
    TC_GRAPH_ALL_NUMBERS = 512,   /* so are all */
    TC_GRAPH_WIDENS = 1024,       /* of constants it is not folded at import: passes want what it is made of */
    TC_GRAPH_SELECTS = 2048,      /* its elements are some of its first operand's, by their places or as the largest */
    TC_GRAPH_STAYS = 8192,        /* also where nothing reads its result */
    TC_GRAPH_TAKES_STORED = 4096  /* also floats of a byte and integers of 4 bits; so do all views */
};

enum { TC_GRAPH_MAX_ATTRS = 12 };

typedef struct tc_graph_op_info {
    const char *name;     /* ONNX operator: "Gelu" of the default domain, "com.microsoft.Gelu" of another */
    int since;            /* first opset that has it */
    int min_in, max_in;   /* as ONNX writes it, before canonicalisation; max -1: variadic */
    int min_out, max_out; /* max -1: variadic */
    tc_graph_class class;
    unsigned traits;                       /* of tc_graph_trait */
    uint8_t attrs[TC_GRAPH_MAX_ATTRS + 1]; /* that a model may carry: their ids, and 0 behind them */
} tc_graph_op_info;

/* The data of the row. */
const tc_graph_op_info *tc_graph_op_info_of(tc_graph_op op);
const char *tc_graph_op_name(tc_graph_op op);
/* Of a pointwise operator: its definition as text (graph/ops/formula.h); NULL: its row has none. */
const char *tc_graph_op_definition(tc_graph_op op);
/* The table has the operator as models of this opset mean it: it existed then, and no later version changed what it computes. */
bool tc_graph_op_in_opset(tc_graph_op op, int opset);
/* The newest opset in which it means what the table says. */
int tc_graph_op_last_opset(tc_graph_op op);
/* By the name in the table. */
bool tc_graph_op_find(const char *name, tc_graph_op *out);
tc_graph_class tc_graph_class_of(tc_graph_op op);
/* Has it one of these traits? */
bool tc_graph_op_is(tc_graph_op op, unsigned traits);
/* The commonest trait. */
static inline bool tc_graph_is_pointwise(tc_graph_op op) {
    return tc_graph_op_is(op, TC_GRAPH_POINTWISE);
}
/* "axis:i keepdims:i": the attributes that a model may carry, with a letter for their kinds. */
void tc_graph_list_attrs(tc_graph_op op, tc_strbuf *out);
/* Finds the attribute that models call `name`; false where the operator has none of that name. */
bool tc_graph_attr_allowed(tc_graph_op op, const char *name, tc_graph_attr_id *id);

#endif
