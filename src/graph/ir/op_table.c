/* The operator table as data: names, arities, classes, traits, attribute lists. */
#include <string.h>

#include "graph/ir/build.h"

/* A function, so that what the rows call their traits and attributes are names only here. */
static const tc_graph_op_info *infos(void) {
    enum {
        POINTWISE = TC_GRAPH_POINTWISE,
        KEEPS_MEMORY = TC_GRAPH_KEEPS_MEMORY,
        CONVOLUTION = TC_GRAPH_CONVOLUTION,
        KEEPS_FORM = TC_GRAPH_KEEPS_FORM,
        READS_AGAIN = TC_GRAPH_READS_AGAIN,
        READS_ONCE = TC_GRAPH_READS_ONCE,
        WHOLE_ROWS = TC_GRAPH_WHOLE_ROWS,
        NO_ROWS = TC_GRAPH_NO_ROWS,
        TAKES_NUMBERS = TC_GRAPH_TAKES_NUMBERS,
        ALL_NUMBERS = TC_GRAPH_ALL_NUMBERS,
        WIDENS = TC_GRAPH_WIDENS,
        SELECTS = TC_GRAPH_SELECTS,
        STAYS = TC_GRAPH_STAYS,
        TAKES_STORED = TC_GRAPH_TAKES_STORED
    };
    enum {
#define ATTR(id, text, kind, otherwise) id = TC_ATTR_##id,
#include "graph/ir/attrs.def"
#undef ATTR
        none = TC_ATTR_none
    };
    static const tc_graph_op_info table[TC_GRAPH_OP_COUNT] = {
#define OP(id, name, since, min_in, max_in, min_out, max_out, class, traits, infer, eval, at, last, rewrite, ...)                \
    [TC_GRAPH_OP_##id] = {name, since, min_in, max_in, min_out, max_out, TC_GRAPH_CLASS_##class, traits, {__VA_ARGS__}},
#include "graph/ir/ops.def"
#undef OP
    };
    return table;
}

const tc_graph_op_info *tc_graph_op_info_of(tc_graph_op op) {
    return &infos()[op];
}

const char *tc_graph_op_name(tc_graph_op op) {
    return infos()[op].name;
}

const char *tc_graph_op_definition(tc_graph_op op) {
    static const char *const definitions[TC_GRAPH_OP_COUNT] = {
#define OP(...)
#define DEFINED_OP(id, name, since, min_in, max_in, infer, eval, at, definition, ...) [TC_GRAPH_OP_##id] = definition,
#include "graph/ir/ops.def"
#undef OP
    };
    return definitions[op];
}

tc_graph_class tc_graph_class_of(tc_graph_op op) {
    return infos()[op].class;
}

bool tc_graph_op_is(tc_graph_op op, unsigned traits) {
    return (infos()[op].traits & traits) != 0;
}

/* Operators that a later opset changed, so that models of that opset mean something else. Opset 25 also lets operators take
 * elements of two bits, which are refused as types. */
static const struct {
    tc_graph_op op;
    int opset;
} changed[] = {{TC_GRAPH_OP_ATTENTION, 25}}; /* windows, and masks that end at the last key */

int tc_graph_op_last_opset(tc_graph_op op) {
    for (size_t i = 0; i < TC_LEN(changed); i++)
        if (changed[i].op == op)
            return changed[i].opset - 1;
    return TC_GRAPH_OPSET_MAX;
}

bool tc_graph_op_in_opset(tc_graph_op op, int opset) {
    return tc_graph_op_info_of(op)->since <= opset && opset <= tc_graph_op_last_opset(op);
}

bool tc_graph_op_find(const char *name, tc_graph_op *out) {
    for (int i = 0; i < TC_GRAPH_OP_COUNT; i++)
        if (strcmp(infos()[i].name, name) == 0) {
            *out = (tc_graph_op)i;
            return true;
        }
    return false;
}

void tc_graph_list_attrs(tc_graph_op op, tc_strbuf *out) {
    static const char letters[] = {[TC_GRAPH_ATTR_INT] = 'i',  [TC_GRAPH_ATTR_FLOAT] = 'f',  [TC_GRAPH_ATTR_STRING] = 's',
                                   [TC_GRAPH_ATTR_INTS] = 'I', [TC_GRAPH_ATTR_FLOATS] = 'F', [TC_GRAPH_ATTR_TENSOR] = 'T'};
    for (const uint8_t *a = infos()[op].attrs; *a; a++)
        tc_sb_printf(out, "%s%s:%c", a > infos()[op].attrs ? " " : "", tc_graph_attr_name(*a),
                     letters[tc_graph_attr_kind_of(*a)]);
}

bool tc_graph_attr_allowed(tc_graph_op op, const char *name, tc_graph_attr_id *id) {
    for (const uint8_t *a = infos()[op].attrs; *a; a++)
        if (strcmp(tc_graph_attr_name(*a), name) == 0) {
            *id = *a;
            return true;
        }
    return false;
}
