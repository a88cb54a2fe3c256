/* What inference says of an operator: which element types it takes, and what its attributes are if a model lacks them. Each answer
 * is that of a small node, which is added to a graph as import adds nodes. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "graph/manual/manual.h"
#include "graph/ops/ops.h"
#include "support/numbers.h"

enum { MOST_OPERANDS = 16, MOST_NUMBERS = 16 };

/* ---- a sample as a node ---- */

static tc_dtype type_of(char letter, tc_dtype t) {
    static const struct {
        char letter;
        tc_dtype type;
    } types[] = {{'b', TC_BOOL}, {'u', TC_U8}, {'n', TC_I32}, {'i', TC_I64}, {'h', TC_F16}, {'f', TC_F32}};
    for (size_t i = 0; i < TC_LEN(types); i++)
        if (types[i].letter == letter)
            return types[i].type;
    return t;
}

/* The value that a word like "T2x3x4" or "i2=1" asks for; NULL for "-". */
static tc_graph_value *add_operand(tc_graph *g, const char *word, size_t len, tc_dtype t, int k) {
    tc_graph_shape s = {0};
    tc_graph_tensor v;
    const char *number = memchr(word, '=', len);
    const char *name = tc_arena_printf(g->arena, "x%d", k);
    if (word[0] == '-')
        return NULL;
    for (const char *at = word + 1; isdigit((unsigned char)*at); at += strspn(at, "0123456789"), at += *at == 'x')
        s.d[s.ndim++] = atoi(at);
    t = type_of(word[0], t);
    if (!number)
        return tc_graph_add_input(g, name, t, &s);
    if (tc_graph_tensor_alloc(&v, t, &s, NULL) != TC_OK)
        return NULL;
    for (int64_t i = 0; i < tc_graph_tensor_count(&v); i++)
        if (tc_dtype_is_float(t))
            tc_store_f(t, v.data, i, tc_strtod(number + 1, NULL));
        else
            tc_store_i(t, v.data, i, strtoll(number + 1, NULL, 10));
    return tc_graph_add_constant(g, name, &v);
}

static int add_operands(tc_graph *g, const char *words, int least, tc_dtype t, tc_graph_value **in) {
    int n = 0;
    for (size_t len = 0; *words && n < MOST_OPERANDS; words += len + (words[len] == ' ')) {
        len = strcspn(words, " ");
        bool again = words[len - 1] == '*';
        do {
            in[n] = add_operand(g, words, len - again, t, n);
            n++;
        } while (again && n < least && n < MOST_OPERANDS);
    }
    return n;
}

static void set_words(tc_graph *g, tc_graph_node *n, tc_graph_attr_id id, const char *text) {
    int64_t ints[MOST_NUMBERS];
    float floats[MOST_NUMBERS];
    size_t len = 0;
    for (const char *p = text; *p && len < MOST_NUMBERS; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ',')) {
        ints[len] = strtoll(p, NULL, 10);
        floats[len++] = tc_strtof(p, NULL);
    }
    switch (tc_graph_attr_kind_of(id)) {
    case TC_GRAPH_ATTR_INT:
        tc_graph_set_int(g, n, id, ints[0]);
        break;
    case TC_GRAPH_ATTR_FLOAT:
        tc_graph_set_float(g, n, id, (double)floats[0]);
        break;
    case TC_GRAPH_ATTR_STRING:
        tc_graph_set_str(g, n, id, text);
        break;
    case TC_GRAPH_ATTR_INTS:
        tc_graph_set_ints(g, n, id, ints, len);
        break;
    case TC_GRAPH_ATTR_FLOATS:
        tc_graph_set_floats(g, n, id, floats, len);
        break;
    case TC_GRAPH_ATTR_TENSOR: /* samples have none */
        break;
    }
}

static void set_attributes(tc_graph *g, tc_graph_node *n, const char *words) {
    for (size_t len; *words; words += len + (words[len] == ' ')) {
        len = strcspn(words, " ");
        size_t name = strcspn(words, "=");
        tc_graph_attr_id id;
        if (tc_graph_attr_allowed(n->op, tc_arena_printf(g->arena, "%.*s", (int)name, words), &id))
            set_words(g, n, id, tc_arena_printf(g->arena, "%.*s", (int)(len - name - 1), words + name + 1));
    }
}

static void set_one(tc_graph *g, tc_graph_node *n, const manual_setting *s) {
    if (tc_graph_attr_kind_of(s->id) == TC_GRAPH_ATTR_INT)
        tc_graph_set_int(g, n, s->id, s->i);
    else if (tc_graph_attr_kind_of(s->id) == TC_GRAPH_ATTR_FLOAT)
        tc_graph_set_float(g, n, s->id, s->f);
    else
        tc_graph_set_str(g, n, s->id, s->s);
}

static int by_id(const void *a, const void *b) {
    return (int)((const tc_graph_attr *)a)->id - (int)((const tc_graph_attr *)b)->id;
}

/* The same text for equal graphs: the order of attributes says nothing. */
static void print_sorted(tc_graph *g, tc_strbuf *text) {
    tc_graph_simplify(g);
    for (size_t i = 0; i < g->nodes.len; i++)
        if (g->nodes.data[i]->nattrs)
            qsort(g->nodes.data[i]->attrs, g->nodes.data[i]->nattrs, sizeof(tc_graph_attr), by_id);
    tc_graph_print(g, text);
}

bool manual_infer(tc_graph_op op, const manual_sample *s, tc_dtype t, const manual_setting *more, tc_strbuf *text) {
    const tc_graph_op_info *info = tc_graph_op_info_of(op);
    tc_graph *g = tc_graph_new("");
    tc_graph_value *in[MOST_OPERANDS];
    tc_error err = {0};
    const char *names[MOST_OPERANDS];
    int least = info->max_in < 0 ? TC_MAX(info->min_in, 2) : info->min_in; /* of a list, two */
    int nin = add_operands(g, s->operands, least, t, in), nout = info->min_out;
    tc_graph_node *n = tc_graph_new_node(g, op, "node", in, nin);
    set_attributes(g, n, s->attributes);
    if (more)
        set_one(g, n, more);
    for (int k = 0; k < nout; k++)
        names[k] = tc_arena_printf(g->arena, "y%d", k);
    bool taken = tc_graph_append(g, n, names, nout, &err) == TC_OK;
    for (int k = 0; k < nout && taken; k++)
        if (tc_graph_find_value(g, names[k]))
            tc_graph_add_output(g, names[k], tc_graph_find_value(g, names[k]));
    if (taken)
        print_sorted(g, text);
    tc_graph_free(g);
    return taken;
}

/* ---- types ---- */

static int count_types(tc_graph_op op, const manual_sample *s, bool types[TC_NDTYPES]) {
    int n = 0;
    for (int t = 0; t < TC_NDTYPES; t++) {
        tc_strbuf text = {0};
        types[t] = manual_infer(op, s, (tc_dtype)t, NULL, &text);
        n += types[t];
        tc_strbuf_free(&text);
    }
    return n;
}

const manual_sample *manual_types(tc_graph_op op, bool types[TC_NDTYPES]) {
    size_t n;
    int most = 0;
    const char *name = tc_graph_op_name(op);
    const manual_sample *all = manual_samples(&n), *best = NULL;
    memset(types, 0, TC_NDTYPES * sizeof *types);
    for (size_t i = 0; i < n; i++) {
        bool own[TC_NDTYPES];
        if (all[i].name ? strcmp(all[i].name, name) != 0 : best && best->name)
            continue; /* a sample of the operator itself is better than any other */
        int taken = count_types(op, &all[i], own);
        if (taken <= most)
            continue;
        most = taken;
        best = &all[i];
        memcpy(types, own, sizeof own);
    }
    return best;
}

bool manual_asks_for_types(const manual_sample *s) {
    return strchr(s->operands, 'T') != NULL;
}

/* ---- values of attributes that a model lacks ---- */

static int candidates(tc_graph_attr_id id, manual_setting *out, int room) {
    static const int64_t ints[] = {0, 1, -1, 2, -2, 3};
    static const float floats[] = {0, 1, 0.5F, 0.2F, 0.75F, 0.01F, 1e-4F, 1e-5F, 1e-12F, 1.702F, 1.67326319F, 1.05070102F};
    static const char *const strings[] = {"none", "mean", "DCR", "linear", "avg", "forward", "half_pixel", "nearest", "zeros"};
    tc_graph_attr_kind kind = tc_graph_attr_kind_of(id);
    int n = 0;
#define ATTR_INT(otherwise) .i = otherwise
#define ATTR_FLOAT(otherwise) .f = otherwise
#define ATTR_STRING(otherwise) .s = otherwise
#define ATTR_INTS(otherwise) .s = otherwise
#define ATTR_FLOATS(otherwise) .s = otherwise
#define ATTR_TENSOR(otherwise) .s = otherwise
#define ATTR(id, text, kind, otherwise) [TC_ATTR_##id] = {TC_ATTR_##id, ATTR_##kind(otherwise)},
    static const manual_setting of_table[TC_ATTR_COUNT] = {
#include "graph/ir/attrs.def"
    };
#undef ATTR
#undef ATTR_INT
#undef ATTR_FLOAT
#undef ATTR_STRING
#undef ATTR_INTS
#undef ATTR_FLOATS
#undef ATTR_TENSOR
    out[n++] = of_table[id];
    for (size_t i = 0; kind == TC_GRAPH_ATTR_INT && i < TC_LEN(ints) && n < room; i++)
        out[n++] = (manual_setting){.id = id, .i = ints[i]};
    for (size_t i = 0; kind == TC_GRAPH_ATTR_FLOAT && i < TC_LEN(floats) && n < room; i++)
        out[n++] = (manual_setting){.id = id, .f = (double)floats[i]};
    for (size_t i = 0; kind == TC_GRAPH_ATTR_STRING && i < TC_LEN(strings) && n < room; i++)
        out[n++] = (manual_setting){.id = id, .s = strings[i]};
    return n;
}

/* Does the sample have a value for the attribute? */
static bool gives(const manual_sample *s, tc_graph_attr_id id) {
    const char *name = tc_graph_attr_name(id);
    size_t len = strlen(name);
    for (const char *w = s->attributes; *w; w += strcspn(w, " ") + (w[strcspn(w, " ")] == ' '))
        if (strncmp(w, name, len) == 0 && w[len] == '=')
            return true;
    return false;
}

bool manual_default(tc_graph_op op, const manual_sample *s, tc_dtype t, tc_graph_attr_id id, manual_setting *out) {
    enum { ROOM = 16 };
    manual_setting values[ROOM];
    tc_graph_attr_kind kind = tc_graph_attr_kind_of(id);
    tc_strbuf lacking = {0};
    bool found = false, matters = false;
    if (kind > TC_GRAPH_ATTR_STRING || gives(s, id))
        return false;
    int n = candidates(id, values, ROOM);
    manual_infer(op, s, t, NULL, &lacking);
    for (int i = 0; i < n; i++) {
        tc_strbuf text = {0};
        bool same = manual_infer(op, s, t, &values[i], &text) && strcmp(tc_sb_str(&text), tc_sb_str(&lacking)) == 0;
        tc_strbuf_free(&text);
        matters |= !same;
        if (same && !found)
            *out = values[i];
        found |= same;
    }
    tc_strbuf_free(&lacking);
    return found && matters;
}
