/* Describes the outputs of a run, and their comparison with expected outputs. */
#include <string.h>

#include "report/report.h"

enum { VALUES = 8 /* the first of an output, that are told */ };

static json_t *output(const tc_graph_named *o) {
    tc_strbuf shape = {0}, values = {0};
    tc_graph_shape_print(&shape, &o->t.shape);
    tc_graph_tensor_print_values(&values, &o->t, VALUES);
    json_t *j = tc_json_pack("{s:s,s:s,s:s,s:s}", "name", o->name, "dtype", tc_dtype_name(o->t.dtype), "shape", tc_sb_str(&shape),
                             "values", tc_sb_str(&values));
    tc_strbuf_free(&shape);
    tc_strbuf_free(&values);
    return j;
}

static bool compare(json_t *j, const char *name, const tc_graph_comparison *c) {
    for (int i = 0; c && i < c->n; i++) {
        const tc_graph_compared *o = &c->data[i];
        if (strcmp(o->name, name) != 0)
            continue;
        tc_json_set(j, "error", tc_json_real(o->diff.rel));
        tc_json_set(j, "max_abs", tc_json_real(o->diff.max_abs));
        tc_json_set(j, "violations", tc_json_integer((json_int_t)o->diff.violations));
        tc_json_set(j, "elements", tc_json_integer((json_int_t)o->elements));
        tc_json_set(j, "ok", json_boolean(o->diff.violations == 0));
        return true;
    }
    return false;
}

json_t *tc_report_outputs(const tc_graph_bundle *out, const tc_graph_comparison *compared) {
    json_t *list = tc_json_array(), *others = tc_json_array(), *j = tc_json_object();
    for (size_t i = 0; i < out->len; i++) {
        json_t *o = output(&out->items[i]);
        bool told = compare(o, out->items[i].name, compared);
        tc_json_append(told || !compared ? list : others, o);
    }
    if (compared)
        tc_json_set(j, "ok", json_boolean(compared->wrong == 0));
    tc_json_set(j, "outputs", list);
    if (json_array_size(others))
        tc_json_set(j, "not_compared", json_incref(others));
    json_decref(others);
    return j;
}
