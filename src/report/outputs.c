/* Describes the outputs of a run, and their comparison with expected outputs. */
#include <string.h>

#include "report/report.h"

enum { VALUES = 8 /* the first of an output, that are told */ };

static json_t *output(const tc_graph_named *o) {
    tc_strbuf shape = {0}, values = {0};
    tc_graph_shape_print(&shape, &o->t.shape);
    tc_graph_tensor_print_values(&values, &o->t, VALUES);
    json_t *j = json_pack("{s:s,s:s,s:s,s:s}", "name", o->name, "dtype", tc_dtype_name(o->t.dtype), "shape", tc_sb_str(&shape),
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
        json_object_set_new(j, "error", tc_report_real(o->diff.rel));
        json_object_set_new(j, "max_abs", tc_report_real(o->diff.max_abs));
        json_object_set_new(j, "violations", json_integer((json_int_t)o->diff.violations));
        json_object_set_new(j, "elements", json_integer((json_int_t)o->elements));
        json_object_set_new(j, "ok", json_boolean(o->diff.violations == 0));
        return true;
    }
    return false;
}

json_t *tc_report_outputs(const tc_graph_bundle *out, const tc_graph_comparison *compared) {
    json_t *list = json_array(), *others = json_array(), *j = json_object();
    for (size_t i = 0; i < out->len; i++) {
        json_t *o = output(&out->items[i]);
        bool told = compare(o, out->items[i].name, compared);
        json_array_append_new(told || !compared ? list : others, o);
    }
    if (compared)
        json_object_set_new(j, "ok", json_boolean(compared->wrong == 0));
    json_object_set_new(j, "outputs", list);
    if (json_array_size(others))
        json_object_set(j, "not_compared", others);
    json_decref(others);
    return j;
}
