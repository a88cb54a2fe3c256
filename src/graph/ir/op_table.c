/* The operator table as data: names, arities, classes, traits, attribute lists. */
#include <stdlib.h>
#include <string.h>

#include "graph/ir/build.h"

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
    ALL_NUMBERS = TC_GRAPH_ALL_NUMBERS
};

static const tc_graph_op_info op_infos[TC_GRAPH_OP_COUNT] = {
#define OP(id, name, since, min_in, max_in, min_out, max_out, class, traits, infer, eval, at, last, rewrite, sizes, attrs)       \
    [TC_GRAPH_OP_##id] = {name, since, min_in, max_in, min_out, max_out, TC_GRAPH_CLASS_##class, traits, attrs},
#include "graph/ir/ops.def"
#undef OP
};

const tc_graph_op_info *tc_graph_op_info_of(tc_graph_op op) {
    return &op_infos[op];
}

const char *tc_graph_op_name(tc_graph_op op) {
    return op_infos[op].name;
}

tc_graph_class tc_graph_class_of(tc_graph_op op) {
    return op_infos[op].class;
}

bool tc_graph_op_is(tc_graph_op op, unsigned traits) {
    return (op_infos[op].traits & traits) != 0;
}

bool tc_graph_op_find(const char *name, tc_graph_op *out) {
    for (int i = 0; i < TC_GRAPH_OP_COUNT; i++)
        if (strcmp(op_infos[i].name, name) == 0) {
            *out = (tc_graph_op)i;
            return true;
        }
    return false;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void tc_graph_list_ops(tc_strbuf *out) {
    const char *names[TC_GRAPH_OP_COUNT];
    size_t n = 0;
    for (int i = 0; i < TC_GRAPH_OP_COUNT; i++)
        if (op_infos[i].since <= TC_GRAPH_OPSET_MAX) /* others are no model's */
            names[n++] = op_infos[i].name;
    qsort(names, n, sizeof names[0], by_name);
    for (size_t i = 0; i < n; i++)
        tc_sb_printf(out, "%s%s", i ? ", " : "", names[i]);
}

/* Finds "name:k" in the op's attribute list. */
static const char *attr_entry(tc_graph_op op, const char *name) {
    size_t n = strlen(name);
    for (const char *p = op_infos[op].attrs; *p;) {
        const char *end = p + strcspn(p, " ");
        if ((size_t)(end - p) == n + 2 && memcmp(p, name, n) == 0 && p[n] == ':')
            return p;
        p = end + (*end == ' ');
    }
    return NULL;
}

bool tc_graph_attr_allowed(tc_graph_op op, const char *name, tc_graph_attr_kind *kind) {
    const char *p = attr_entry(op, name);
    if (!p)
        return false;
    static const struct {
        char letter;
        tc_graph_attr_kind kind;
    } kinds[] = {{'i', TC_GRAPH_ATTR_INT},  {'f', TC_GRAPH_ATTR_FLOAT},  {'s', TC_GRAPH_ATTR_STRING},
                 {'I', TC_GRAPH_ATTR_INTS}, {'F', TC_GRAPH_ATTR_FLOATS}, {'T', TC_GRAPH_ATTR_TENSOR}};
    for (size_t i = 0; i < TC_LEN(kinds); i++)
        if (kinds[i].letter == p[strlen(name) + 1])
            *kind = kinds[i].kind;
    return true;
}

const char *tc_graph_attr_kind_name(tc_graph_attr_kind kind) {
    static const char *const names[] = {"an integer",         "a float",          "a string",
                                        "a list of integers", "a list of floats", "a tensor"};
    return names[kind];
}
