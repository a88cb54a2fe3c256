/* Prints a graph as text, for people and golden tests. */
#include <inttypes.h>
#include <string.h>

#include "graph/ir/graph.h"
#include "support/say.h"

enum { SHOWN_ELEMENTS = 8 };

static void print_type(tc_strbuf *b, const tc_graph_value *v) {
    tc_sb_add(b, tc_dtype_name(v->dtype));
    tc_graph_shape_print(b, &v->shape);
}

static void print_attr(tc_strbuf *b, const tc_graph_attr *a) {
    tc_sb_say(b, "%s=", tc_graph_attr_name(a->id));
    switch (tc_graph_attr_kind_of(a->id)) {
    case TC_GRAPH_ATTR_INT:
        tc_sb_printf(b, "%" PRId64, a->i);
        break;
    case TC_GRAPH_ATTR_FLOAT:
        tc_sb_double(b, a->f);
        break;
    case TC_GRAPH_ATTR_STRING:
        tc_sb_printf(b, "\"%s\"", a->s);
        break;
    case TC_GRAPH_ATTR_INTS:
        for (size_t i = 0; i < a->len; i++)
            tc_sb_printf(b, "%s%" PRId64, i ? "," : "[", a->ints[i]);
        tc_sb_add(b, a->len ? "]" : "[]");
        break;
    case TC_GRAPH_ATTR_FLOATS:
        for (size_t i = 0; i < a->len; i++)
            tc_sb_printf(b, "%s%g", i ? "," : "[", (double)a->floats[i]);
        tc_sb_add(b, a->len ? "]" : "[]");
        break;
    case TC_GRAPH_ATTR_TENSOR:
        tc_sb_add(b, "<tensor>");
        break;
    }
}

static void print_node(tc_strbuf *b, const tc_graph_node *n) {
    tc_sb_add(b, "  ");
    for (int k = 0; k < n->nout; k++)
        tc_sb_say(b, "%s%s%s", k ? ", " : "", n->out[k] ? "%" : "_", n->out[k] ? n->out[k]->name : "");
    tc_sb_say(b, " = %s(", tc_graph_op_name(n->op));
    for (int k = 0; k < n->nin; k++)
        tc_sb_say(b, "%s%s%s", k ? ", " : "", n->in[k] ? "%" : "_", n->in[k] ? n->in[k]->name : "");
    tc_sb_addc(b, ')');
    for (size_t i = 0; i < n->nattrs; i++) {
        tc_sb_add(b, i ? ", " : " {");
        print_attr(b, &n->attrs[i]);
    }
    tc_sb_add(b, n->nattrs ? "} : " : " : ");
    for (int k = 0; k < n->nout; k++) {
        if (k)
            tc_sb_add(b, ", ");
        if (n->out[k])
            print_type(b, n->out[k]);
        else
            tc_sb_addc(b, '_');
    }
    tc_sb_addc(b, '\n');
}

/* Its lines, further in. */
static void print_body(tc_strbuf *b, const tc_graph *body) {
    tc_strbuf text = {0};
    tc_graph_print(body, &text);
    for (const char *line = tc_sb_str(&text); *line;) {
        int n = (int)strcspn(line, "\n");
        tc_sb_printf(b, "    %.*s\n", n, line);
        line += n + (line[n] == '\n');
    }
    tc_strbuf_free(&text);
}

static void print_constant(tc_strbuf *b, const tc_graph_value *v) {
    tc_sb_say(b, "const %%%s : ", v->name);
    print_type(b, v);
    if (tc_graph_shape_count(&v->shape) <= SHOWN_ELEMENTS) {
        tc_sb_add(b, " = {");
        tc_graph_tensor_print_values(b, v->constant, SHOWN_ELEMENTS);
        tc_sb_addc(b, '}');
    }
    tc_sb_addc(b, '\n');
}

void tc_graph_print(const tc_graph *g, tc_strbuf *out) {
    tc_sb_say(out, "graph \"%s\"\n", g->name);
    for (size_t i = 0; i < g->inputs.len; i++) {
        tc_sb_say(out, "input %%%s : ", g->inputs.data[i]->name);
        print_type(out, g->inputs.data[i]);
        tc_sb_addc(out, '\n');
    }
    uint32_t *uses = tc_graph_count_uses(g);
    for (size_t i = 0; i < g->values.len; i++)
        if (g->values.data[i]->constant && uses[i])
            print_constant(out, g->values.data[i]);
    free(uses);
    for (size_t i = 0; i < g->nodes.len; i++) {
        print_node(out, g->nodes.data[i]);
        for (int k = 0; k < 2 && g->nodes.data[i]->body[k]; k++)
            print_body(out, g->nodes.data[i]->body[k]);
    }
    for (size_t i = 0; i < g->outputs.len; i++) {
        const tc_graph_output *o = &g->outputs.data[i];
        tc_sb_say(out, "output %s = %%%s : ", o->name, o->value->name);
        print_type(out, o->value);
        tc_sb_addc(out, '\n');
    }
}
