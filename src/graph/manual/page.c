/* Writes docs/reference/operators.md: the operators that models may have, one table for each family. The operator table says to
 * which family an operator belongs: by its class, and by its domain if import replaces it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "graph/manual/manual.h"
#include "graph/onnx/import.h"
#include "graph/ops/functions.h"

/* ---- cells ---- */

/* "2", "1 to 3", "1 or more" */
static void add_count(tc_strbuf *b, int least, int most) {
    tc_sb_printf(b, "%d", least);
    if (most < 0)
        tc_sb_add(b, " or more");
    else if (most > least)
        tc_sb_printf(b, " to %d", most);
    tc_sb_add(b, " | ");
}

static void add_opsets(tc_strbuf *b, const char *name, int since, int last) {
    if (strchr(name, '.'))
        tc_sb_printf(b, "%d | ", since);
    else
        tc_sb_printf(b, "%d to %d | ", since, last);
}

static bool is_float(tc_dtype t) {
    return tc_dtype_is_float(t) && !tc_dtype_is_stored(t);
}

static bool is_integer(tc_dtype t) {
    return tc_dtype_is_int(t) && !tc_dtype_is_stored(t);
}

static bool is_bool(tc_dtype t) {
    return t == TC_BOOL;
}

static bool is_narrow_float(tc_dtype t) {
    return tc_dtype_is_float(t) && tc_dtype_is_stored(t);
}

static bool is_narrow_integer(tc_dtype t) {
    return tc_dtype_is_int(t) && tc_dtype_is_stored(t);
}

static bool is_any(tc_dtype t) {
    return t < TC_NDTYPES;
}

static bool has_all(const bool types[TC_NDTYPES], bool (*has)(tc_dtype t)) {
    for (int t = 0; t < TC_NDTYPES; t++)
        if (has((tc_dtype)t) && !types[t])
            return false;
    return true;
}

/* "floats, i8": a group of types if the operator takes all of them, else its types one by one. */
static void add_types(tc_strbuf *b, const bool types[TC_NDTYPES]) {
    static const struct {
        const char *name;
        bool (*has)(tc_dtype t);
    } groups[] = {{"all", is_any},
                  {"floats", is_float},
                  {"integers", is_integer},
                  {"bool", is_bool},
                  {"narrow floats", is_narrow_float},
                  {"narrow integers", is_narrow_integer}};
    bool left[TC_NDTYPES];
    const char *comma = "";
    memcpy(left, types, sizeof left);
    for (size_t i = 0; i < TC_LEN(groups); i++) {
        if (!has_all(left, groups[i].has))
            continue;
        tc_sb_printf(b, "%s%s", comma, groups[i].name);
        comma = ", ";
        for (int t = 0; t < TC_NDTYPES; t++)
            left[t] &= !groups[i].has((tc_dtype)t);
    }
    for (int t = 0; t < TC_NDTYPES; t++)
        if (left[t]) {
            tc_sb_printf(b, "%s%s", comma, tc_dtype_name((tc_dtype)t));
            comma = ", ";
        }
}

static void add_value(tc_strbuf *b, const manual_setting *v) {
    switch (tc_graph_attr_kind_of(v->id)) {
    case TC_GRAPH_ATTR_INT:
        tc_sb_printf(b, "=%" PRId64, v->i);
        break;
    case TC_GRAPH_ATTR_FLOAT:
        tc_sb_printf(b, "=%.7g", v->f);
        break;
    default:
        tc_sb_printf(b, "%s%s", *v->s ? "=" : "", v->s);
        break;
    }
}

static void add_attributes(tc_strbuf *b, tc_graph_op op, const manual_sample *sample, const bool types[TC_NDTYPES]) {
    const char *comma = "";
    int t = TC_F32;
    for (int k = 0; k < TC_NDTYPES && !types[t]; k++)
        t = types[k] ? k : t;
    for (const uint8_t *a = tc_graph_op_info_of(op)->attrs; *a; a++) {
        manual_setting value;
        if (*a == TC_ATTR_consumed_inputs)
            continue;
        tc_sb_printf(b, "%s`%s", comma, tc_graph_attr_name(*a));
        if (sample && manual_default(op, sample, (tc_dtype)t, *a, &value))
            add_value(b, &value);
        tc_sb_addc(b, '`');
        comma = ", ";
    }
}

static void add_row(tc_strbuf *b, tc_graph_op op) {
    const tc_graph_op_info *info = tc_graph_op_info_of(op);
    bool types[TC_NDTYPES], vary = tc_graph_functions_of(op)->rewrite != tc_graph_rewrite_none;
    const manual_sample *sample = manual_types(op, types);
    tc_sb_printf(b, "| %s | ", info->name);
    add_opsets(b, info->name, info->since, tc_graph_op_last_opset(op));
    add_count(b, info->min_in, info->max_in);
    add_count(b, info->min_out, info->max_out);
    if (!sample)
        tc_sb_addc(b, '?');
    else if (manual_asks_for_types(sample))
        add_types(b, types);
    tc_sb_add(b, " | ");
    add_attributes(b, op, sample, types);
    tc_sb_printf(b, " | %s |\n", info->max_in == 0 ? "" : vary ? "yes" : "no");
}

/* ---- families ---- */

typedef bool in_family(const tc_graph_op_info *info);

static bool is_elementwise(const tc_graph_op_info *info) {
    return info->class == TC_GRAPH_CLASS_ELEMENTWISE;
}

static bool is_move(const tc_graph_op_info *info) {
    return info->class == TC_GRAPH_CLASS_VIEW || info->class == TC_GRAPH_CLASS_MOVE;
}

static bool is_product(const tc_graph_op_info *info) {
    return info->class == TC_GRAPH_CLASS_ANCHOR;
}

static bool is_reduction(const tc_graph_op_info *info) {
    return info->class == TC_GRAPH_CLASS_REDUCE || info->class == TC_GRAPH_CLASS_LIBRARY;
}

static bool is_replaced(const tc_graph_op_info *info) {
    return info->class == TC_GRAPH_CLASS_NONE && !strchr(info->name, '.');
}

static bool is_replaced_of_other_domain(const tc_graph_op_info *info) {
    return info->class == TC_GRAPH_CLASS_NONE && strchr(info->name, '.');
}

static const struct {
    const char *title, *text;
    in_family *has;
} families[] = {{"Elementwise", "Each element of the result depends on the elements at its place.", is_elementwise},
                {"Moves", "The elements of the result are elements of the inputs.", is_move},
                {"Products and convolutions", "Sums of products.", is_product},
                {"Reductions", "Results of rows, windows or whole tensors.", is_reduction},
                {"Operators that become others",
                 "Import replaces each by other operators, which then fuse with their neighbours.", is_replaced},
                {"Operators of com.microsoft that become others",
                 "The tools of ONNX Runtime write these. Import replaces them, too.", is_replaced_of_other_domain}};

static int by_name(const void *a, const void *b) {
    return strcasecmp(tc_graph_op_name(*(const tc_graph_op *)a), tc_graph_op_name(*(const tc_graph_op *)b));
}

static void add_family(tc_strbuf *b, size_t f) {
    tc_graph_op ops[TC_GRAPH_OP_COUNT];
    size_t n = 0;
    for (int op = 0; op < TC_GRAPH_OP_COUNT; op++)
        if (tc_graph_op_info_of((tc_graph_op)op)->since <= TC_GRAPH_OPSET_MAX &&
            families[f].has(tc_graph_op_info_of((tc_graph_op)op)))
            ops[n++] = (tc_graph_op)op;
    qsort(ops, n, sizeof ops[0], by_name);
    tc_sb_printf(b, "\n## %s\n\n%s\n\n", families[f].title, families[f].text);
    tc_sb_add(b, "| operator | opsets | inputs | outputs | types | attributes | sizes vary |\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < n; i++)
        add_row(b, ops[i]);
}

/* ---- the page ---- */

static void add_controls(tc_strbuf *b) {
    tc_graph_import_op op;
    tc_sb_add(b,
              "\n## Control flow, sequences and optionals\n\n"
              "Import runs these itself, or makes kernels and loops of them. The elements may have any type, and sizes may vary. "
              "[Networks](networks.md#what-else-varies) says what must be known before a run.\n\n"
              "| operator | opsets | inputs |\n|---|---|---|\n");
    for (size_t i = 0; tc_graph_import_control(i, &op); i++) {
        tc_sb_printf(b, "| %s | ", op.name);
        add_opsets(b, op.name, op.since, TC_GRAPH_OPSET_MAX);
        add_count(b, op.min_in, op.max_in);
        b->len--; /* the space behind the last cell */
        tc_sb_addc(b, '\n');
    }
}

void manual_page(tc_strbuf *b) {
    tc_sb_add(
        b, "# Operators\n\n"
           "<!-- Written from src/graph/ir/ops.def by `cmake --build build/release --target operators_page`: change the table, "
           "not this page. -->\n"
           "tctune takes these operators of ONNX's default domain and of `com.microsoft`. It refuses others, and the message "
           "names them.\n[Networks](networks.md) says what else a network may have, and what is out of scope.\n\n"
           "| column | says |\n|---|---|\n"
           "| opsets | the first opset in which a model may have the operator, and the newest opset that was checked. Operators "
           "of `com.microsoft` have the version of their domain |\n"
           "| inputs, outputs | how many a node may have |\n"
           "| types | the element types of the data. *floats*: f16, bf16, f32, f64. *integers*: i8, i16, i32, i64, u8, u16, u32, "
           "u64. *narrow floats*, *narrow integers*: [types of 8 and 4 bits](networks.md#narrow-types). *all*: these and bool. "
           "Indices, masks, scales "
           "and zero points have types of their own. Empty: the data do not decide the type of the result |\n"
           "| attributes | those that a node may have; a node with another attribute is refused. `axis=1`: a node of the "
           "newest opset that lacks `axis` has 1. Nodes of opsets before 6 may also have `consumed_inputs`, which changes "
           "nothing |\n"
           "| sizes vary | yes: sizes of the inputs [may vary](sizes.md#what-follows-from-the-model) from run to run. no: they "
           "must be known when the model is imported |\n");
    for (size_t f = 0; f < TC_LEN(families); f++)
        add_family(b, f);
    add_controls(b);
}
