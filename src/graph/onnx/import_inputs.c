/* The inputs of a model and their sizes: what the file says of them, and what --shape says. A dimension with a range of sizes is one
 * that depends on data (ops/dynamic.h): on what the model is given. Its size is an input of the graph behind the model's own. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "graph/ir/sizes.h"
#include "graph/onnx/import.h"
#include "graph/onnx/import_int.h"

/* ---- which sizes ---- */

static const tc_graph_binding *find_binding(const tc_graph_importer *im, const char *name, bool one_number) {
    for (size_t i = 0; im->opts && i < im->opts->nshapes; i++)
        if (strcmp(im->opts->shapes[i].name, name) == 0 && (!one_number || im->opts->shapes[i].ndim == 1)) {
            im->used_shapes[i] = true;
            return &im->opts->shapes[i];
        }
    return NULL;
}

static void print_sizes(tc_strbuf *b, const tc_graph_range *s) {
    tc_sb_printf(b, "%" PRId64, s->least);
    if (s->least < s->most)
        tc_sb_printf(b, "..%" PRId64, s->most);
    if (s->multiple > 1)
        tc_sb_printf(b, ":%" PRId64, s->multiple);
}

/* "1,?,64": the declared shape with what is open, and a suggestion for --shape with 1 and 128 in the open places. */
static void describe_shape(const Onnx__TensorShapeProto *s, tc_strbuf *declared, tc_strbuf *example) {
    for (size_t i = 0; i < s->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *d = s->dim[i];
        if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
            tc_sb_printf(declared, "%s%" PRId64, i ? "," : "", d->dim_value);
            tc_sb_printf(example, "%s%" PRId64, i ? "," : "", d->dim_value);
            continue;
        }
        bool named = d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && d->dim_param && *d->dim_param;
        tc_sb_printf(declared, "%s%s", i ? "," : "", named ? d->dim_param : "?");
        tc_sb_printf(example, "%s%d", i ? "," : "", i ? 128 : 1);
    }
}

static tc_status symbolic_shape(const char *name, const Onnx__TensorShapeProto *s, tc_error *err) {
    tc_strbuf declared = {0}, example = {0};
    describe_shape(s, &declared, &example);
    tc_status status = tc_fail(err, TC_BAD_INPUT,
                               "input '%s' has the shape [%s], in which not every dimension is a number; give it with --shape, "
                               "for example --shape %s=%s",
                               name, tc_sb_str(&declared), name, tc_sb_str(&example));
    tc_strbuf_free(&declared);
    tc_strbuf_free(&example);
    return status;
}

static const char *symbol_of(const Onnx__TensorShapeProto__Dimension *d) {
    bool named = d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && d->dim_param && *d->dim_param;
    return named ? d->dim_param : NULL;
}

static tc_status disagreement(const char *name, size_t i, const tc_graph_range *whole, int64_t fixed, tc_error *err) {
    tc_strbuf b = {0};
    print_sizes(&b, whole);
    tc_status s = tc_fail(err, TC_BAD_INPUT, "input '%s': --shape gives dimension %zu as %s, but the model fixes it at %" PRId64,
                          name, i, tc_sb_str(&b), fixed);
    tc_strbuf_free(&b);
    return s;
}

/* Dimension i of an input: what the model says, then what the command line says, which must agree. */
static tc_status resolve_dim(tc_graph_importer *im, const char *name, const Onnx__TensorShapeProto *s, size_t i,
                             const tc_graph_binding *whole, tc_graph_range *out, tc_error *err) {
    const Onnx__TensorShapeProto__Dimension *d = s->dim[i];
    const tc_graph_binding *dim = symbol_of(d) ? find_binding(im, symbol_of(d), true) : NULL;
    bool fixed = d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    if (fixed && d->dim_value < 0)
        return tc_fail(err, TC_BAD_INPUT, "input '%s': dimension %zu is negative (%" PRId64 ")", name, i, d->dim_value);
    if (fixed && whole && (whole->d[i].least != d->dim_value || whole->d[i].most != d->dim_value))
        return disagreement(name, i, &whole->d[i], d->dim_value, err);
    if (!fixed && !whole && !dim)
        return symbolic_shape(name, s, err);
    *out = whole ? whole->d[i] : dim ? dim->d[0] : (tc_graph_range){d->dim_value, d->dim_value, 1};
    return TC_OK;
}

static tc_status resolve_shape(tc_graph_importer *im, const char *name, const Onnx__TypeProto__Tensor *type,
                               tc_graph_binding *out, tc_error *err) {
    const tc_graph_binding *whole = find_binding(im, name, false);
    *out = (tc_graph_binding){.name = name};
    if (!type->shape) {
        if (!whole)
            return tc_fail(err, TC_BAD_INPUT, "input '%s' has no shape; give it with --shape %s=1,128 (its dimensions)", name,
                           name);
        *out = *whole;
        return TC_OK;
    }
    if (type->shape->n_dim > TC_GRAPH_MAX_DIMS)
        return tc_refuse(err, TC_ERROR_UNSUPPORTED, "input '%s' has %zu dimensions; at most %d are supported", name,
                         type->shape->n_dim, TC_GRAPH_MAX_DIMS);
    out->ndim = (int)type->shape->n_dim;
    if (whole && whole->ndim != out->ndim)
        return tc_fail(err, TC_BAD_INPUT, "input '%s': --shape gives %d dimensions, but the model has %d", name, whole->ndim,
                       out->ndim);
    for (size_t i = 0; i < type->shape->n_dim; i++)
        TC_TRY(resolve_dim(im, name, type->shape, i, whole, &out->d[i], err));
    return TC_OK;
}

/* ---- sizes that vary ---- */

static tc_graph_symbol *find_symbol(tc_graph *g, const char *name) {
    for (size_t i = 0; i < g->symbols.len; i++)
        if (strcmp(g->symbols.data[i].name, name) == 0)
            return &g->symbols.data[i];
    return NULL;
}

static tc_status disagreeing_symbol(const tc_graph_symbol *s, const char *input, const tc_graph_range *sizes, tc_error *err) {
    tc_strbuf a = {0}, b = {0};
    print_sizes(&a, &(tc_graph_range){s->least, s->value->most, s->multiple});
    print_sizes(&b, sizes);
    tc_status st = tc_fail(err, TC_BAD_INPUT,
                           "'%s' is %s for input '%s', but %s for one before it; give all inputs the same sizes, or '%s' itself: "
                           "--shape %s=%s",
                           s->name, tc_sb_str(&b), input, tc_sb_str(&a), s->name, s->name, tc_sb_str(&b));
    tc_strbuf_free(&a);
    tc_strbuf_free(&b);
    return st;
}

/* The symbol of dimension d of the input: that of the model, or one of its own. */
static tc_status take_symbol(tc_graph_importer *im, tc_graph_value *in, const Onnx__TensorShapeProto *shape, int d,
                             const tc_graph_range *sizes, tc_graph_value **out, tc_error *err) {
    tc_graph *g = im->g;
    const char *declared = shape ? symbol_of(shape->dim[d]) : NULL;
    const char *name = declared ? declared : tc_arena_printf(g->arena, "%s.shape[%d]", in->name, d);
    tc_graph_symbol *s = find_symbol(g, name);
    if (!s) {
        tc_graph_value *v = tc_graph_add_value(g, tc_graph_fresh_name(g, name), TC_I64, &(tc_graph_shape){0});
        v->most = sizes->most;
        tc_graph_sizes *known = tc_graph_sizes_of(g);
        const tc_expr *x = tc_graph_sizes_unknown(known, name, (tc_ival){sizes->least, sizes->most});
        tc_graph_sizes_set_number(known, v, 0, x);
        tc_graph_sizes_set_value(known, x, v);
        tc_push(&g->symbols, ((tc_graph_symbol){tc_arena_strdup(g->arena, name), v, sizes->least, sizes->multiple}));
        *out = v;
        return TC_OK;
    }
    if (s->least != sizes->least || s->value->most != sizes->most || s->multiple != sizes->multiple)
        return disagreeing_symbol(s, in->name, sizes, err);
    *out = s->value;
    return TC_OK;
}

static tc_status vary_input(tc_graph_importer *im, tc_graph_value *in, const Onnx__TensorShapeProto *shape,
                            const tc_graph_binding *sizes, tc_error *err) {
    for (int d = 0; d < sizes->ndim; d++) {
        if (sizes->d[d].least == sizes->d[d].most)
            continue;
        if (!in->extent)
            in->extent = TC_NEW_N(im->g->arena, tc_graph_value *, TC_GRAPH_MAX_DIMS);
        TC_TRY(take_symbol(im, in, shape, d, &sizes->d[d], &in->extent[d], err));
    }
    return TC_OK;
}

/* ---- inputs ---- */

static const tc_graph_tensor *given_constant(const tc_graph_importer *im, const char *name) {
    for (size_t i = 0; im->opts && i < im->opts->nconstants; i++)
        if (strcmp(im->opts->constants[i].name, name) == 0)
            return &im->opts->constants[i].t;
    return NULL;
}

static tc_status add_typed_input(tc_graph_importer *im, const char *name, const Onnx__TypeProto__Tensor *type, tc_error *err) {
    tc_dtype dtype;
    tc_graph_binding sizes;
    if (!tc_graph_dtype_of_onnx(type->elem_type, &dtype))
        return tc_refuse(err, TC_ERROR_UNSUPPORTED, "input '%s': element type %s is not supported", name,
                         tc_graph_onnx_type_name(type->elem_type));
    TC_TRY(resolve_shape(im, name, type, &sizes, err));
    tc_graph_shape shape = {.ndim = sizes.ndim};
    for (int d = 0; d < sizes.ndim; d++)
        shape.d[d] = sizes.d[d].most;
    if (tc_graph_shape_check(&shape, dtype, err) != TC_OK) {
        tc_error_prefix(err, "input '%s': ", name);
        return TC_BAD_INPUT;
    }
    return vary_input(im, tc_graph_add_input(im->g, name, dtype, &shape), type->shape, &sizes, err);
}

static tc_status add_input(tc_graph_importer *im, const Onnx__ValueInfoProto *in, tc_error *err) {
    const char *name = in->name ? in->name : "";
    const Onnx__TypeProto *type = in->type;
    const tc_graph_value *known = tc_graph_find_value(im->g, name);
    if (known && known->constant && !given_constant(im, name))
        return TC_OK; /* an initializer gives its value */
    if (!*name || known || tc_map_gets(&im->producers, name))
        return *name ? tc_graph_import_duplicate(name, "a graph input", err)
                     : tc_fail(err, TC_BAD_INPUT, "a graph input has no name");
    if (given_constant(im, name)) {
        tc_graph_tensor t = *given_constant(im, name);
        t.storage = TC_GRAPH_VIEW;
        tc_graph_add_constant(im->g, name, &t);
        return TC_OK;
    }
    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return tc_refuse(
            err, TC_ERROR_UNSUPPORTED,
            "input '%s' is not a tensor: sequences, maps and optionals are supported inside of a model only, where their "
            "lengths are known; export the model with tensors as its inputs",
            name);
    return add_typed_input(im, name, type->tensor_type, err);
}

tc_status tc_graph_import_inputs(tc_graph_importer *im, tc_error *err) {
    for (size_t i = 0; i < im->proto->n_input; i++)
        TC_TRY(add_input(im, im->proto->input[i], err));
    for (size_t i = 0; im->opts && i < im->opts->nshapes; i++) {
        if (im->used_shapes[i])
            continue;
        tc_strbuf names = {0};
        for (size_t k = 0; k < im->g->inputs.len; k++)
            tc_sb_printf(&names, "%s%s", k ? ", " : "", im->g->inputs.data[k]->name);
        tc_status s =
            tc_fail(err, TC_BAD_INPUT, "--shape %s: the model has no input or symbolic dimension of that name; its inputs are %s",
                    im->opts->shapes[i].name, tc_sb_str(&names));
        tc_strbuf_free(&names);
        return s;
    }
    for (size_t i = 0; i < im->g->symbols.len; i++)
        tc_push(&im->g->inputs, im->g->symbols.data[i].value);
    return TC_OK;
}

/* ---- --shape ---- */

tc_graph_binding tc_graph_binding_fixed(const char *name, const tc_graph_shape *shape) {
    tc_graph_binding b = {.name = name, .ndim = shape->ndim};
    for (int d = 0; d < shape->ndim; d++)
        b.d[d] = (tc_graph_range){shape->d[d], shape->d[d], 1};
    return b;
}

bool tc_graph_bindings_vary(const tc_graph_binding *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (int d = 0; d < b[i].ndim; d++)
            if (b[i].d[d].least < b[i].d[d].most)
                return true;
    return false;
}

static bool read_number(const char **p, int64_t *v) {
    char *end;
    errno = 0;
    *v = isdigit((unsigned char)**p) ? strtoll(*p, &end, 10) : -1;
    if (*v < 0 || errno)
        return false;
    *p = end;
    return true;
}

/* 128, 1..512, or 32..512:32. */
static bool read_sizes(const char **p, tc_graph_range *s) {
    s->multiple = 1;
    if (!read_number(p, &s->least))
        return false;
    s->most = s->least;
    if (strncmp(*p, "..", 2) != 0)
        return true;
    *p += 2;
    if (!read_number(p, &s->most))
        return false;
    if (**p != ':')
        return true;
    ++*p;
    return read_number(p, &s->multiple);
}

/* The same sizes, with ends that are among them; false: there are none. */
static bool narrow_sizes(tc_graph_range *s) {
    if (s->multiple < 1)
        return false;
    int64_t above = s->least % s->multiple;
    s->most -= s->most % s->multiple;
    if (above > s->most - s->least + above) /* the next multiple is past the end, or past what a number holds */
        return false;
    s->least += above ? s->multiple - above : 0;
    return s->least <= s->most;
}

tc_status tc_graph_binding_parse(const char *text, tc_graph_binding *out, tc_error *err) {
    const char *eq = strrchr(text, '='), *p = eq ? eq + 1 : "";
    tc_graph_binding b = {0};
    bool ok = eq && eq != text, empty = false;
    while (ok && *p) {
        tc_graph_range s;
        ok = b.ndim < TC_GRAPH_MAX_DIMS && read_sizes(&p, &s) && (*p == 0 || (*p == ',' && p[1]));
        empty |= ok && !narrow_sizes(&s);
        if (ok)
            b.d[b.ndim++] = s;
        p += *p == ',';
    }
    if (!ok)
        return tc_fail(err, TC_BAD_INPUT,
                       "--shape %s: expected NAME=D0,D1,... with non-negative numbers or ranges of them, for example --shape "
                       "input_ids=1,128 or --shape sequence=1..512",
                       text);
    if (empty)
        return tc_fail(
            err, TC_BAD_INPUT,
            "--shape %s: there is no size in a range; it is LEAST..MOST, or LEAST..MOST:N for the multiples of N in it", text);
    char *name = tc_xstrdup(text);
    name[eq - text] = 0;
    *out = b;
    out->name = name;
    return TC_OK;
}

tc_status tc_graph_bindings_parse(const char *const *texts, size_t n, tc_graph_binding **out, tc_error *err) {
    *out = tc_xcalloc(n + 1, sizeof **out);
    for (size_t i = 0; i < n; i++)
        if (tc_graph_binding_parse(texts[i], &(*out)[i], err) != TC_OK) {
            tc_graph_bindings_free(*out, i);
            *out = NULL;
            return TC_BAD_INPUT;
        }
    return TC_OK;
}

void tc_graph_bindings_free(tc_graph_binding *b, size_t n) {
    for (size_t i = 0; b && i < n; i++)
        free((char *)(uintptr_t)b[i].name);
    free(b);
}
