/* The inputs of a model and their sizes: what the file says of them, and what --shape says. A dimension with a range of sizes is
 * one that depends on data (ops/dynamic.h): on what the model is given. Its size is an input of the graph behind the model's
 * own. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "graph/ir/sizes.h"
#include "graph/onnx/import.h"
#include "graph/onnx/import_int.h"
#include "support/guess.h"
#include "support/inputs.h"
#include "support/numbers.h"

/* ---- which sizes ---- */

static const tc_graph_binding *find_binding(const tc_graph_importer *im, const char *name, bool one_number) {
    for (size_t i = 0; im->opts && i < im->opts->nshapes; i++)
        if (strcmp(im->opts->shapes[i].name, name) == 0 && (!one_number || im->opts->shapes[i].ndim == 1)) {
            im->used_shapes[i] = true;
            return &im->opts->shapes[i];
        }
    return NULL;
}

/* Inputs that initializers give no value. */
static void note_places(tc_graph_importer *im) {
    tc_map given = {0};
    for (size_t i = 0; i < im->proto->n_initializer; i++)
        if (im->proto->initializer[i]->name)
            tc_map_puts(&given, im->proto->initializer[i]->name, 1);
    for (size_t i = 0, n = 0; i < im->proto->n_input; i++) {
        const char *name = im->proto->input[i]->name ? im->proto->input[i]->name : "";
        if (!tc_map_gets(&given, name))
            tc_map_puts(&im->places, name, n++);
    }
    tc_map_free(&given);
}

/* What the run gives for the input, by name or by its place among the inputs without initializers; NULL: nothing is known. */
static const tc_graph_tensor *sample_of(tc_graph_importer *im, const char *name) {
    const tc_graph_bundle *b = im->opts ? im->opts->sample : NULL;
    const tc_graph_tensor *t = b ? tc_graph_bundle_find(b, name) : NULL;
    if (!b || t)
        return t;
    if (!im->places.len)
        note_places(im);
    uintptr_t *at = im->places.len == b->len ? tc_map_gets(&im->places, name) : NULL;
    return at ? &b->items[*at].t : NULL;
}

static void print_sizes(tc_strbuf *b, const tc_graph_range *s) {
    tc_sb_printf(b, "%" PRId64, s->least);
    if (s->least < s->most)
        tc_sb_printf(b, "..%" PRId64, s->most);
    if (s->multiple > 1)
        tc_sb_printf(b, ":%" PRId64, s->multiple);
}

/* The model's name of a dimension. "?" is what some exporters write for none. */
static const char *symbol_of(const Onnx__TensorShapeProto__Dimension *d) {
    bool named = d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && d->dim_param && *d->dim_param;
    return named && strcmp(d->dim_param, "?") != 0 ? d->dim_param : NULL;
}

static tc_status disagreement(const char *name, size_t i, const tc_graph_range *said, const char *who, int64_t size,
                              tc_error *err) {
    tc_strbuf b = {0};
    print_sizes(&b, said);
    tc_status s = tc_fail(err, TC_BAD_INPUT, "input '%s': --shape gives dimension %zu as %s, but %s %" PRId64, name, i,
                          tc_sb_str(&b), who, size);
    tc_strbuf_free(&b);
    return s;
}

/* The name of dimension d: the model's, or one of its own. */
static const char *name_of(tc_graph_importer *im, const char *input, const Onnx__TensorShapeProto *s, size_t d) {
    const char *declared = s ? symbol_of(s->dim[d]) : NULL;
    return declared ? declared : tc_arena_printf(im->at.g->arena, "%s.shape[%zu]", input, d);
}

/* ---- which sizes, where nobody says ---- */

static bool has_word(const char *name, const char *const *words, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcasestr(name, words[i]))
            return true;
    return false;
}

/* By names that exporters give, and by the place: the first dimension is a batch. */
static tc_graph_range assumed_sizes(const char *name, size_t d) {
    static const char *const batches[] = {"batch"}, *const pasts[] = {"past"}, *const lengths[] = {"seq", "len", "time", "token"};
    if (has_word(name, batches, TC_LEN(batches)))
        return (tc_graph_range){1, 16, 1};
    if (has_word(name, pasts, TC_LEN(pasts)))
        return (tc_graph_range){0, 512, 1};
    bool batch = d == 0 && !has_word(name, lengths, TC_LEN(lengths));
    return (tc_graph_range){1, batch ? 16 : 512, 1};
}

/* Those of the same name are the same. */
static tc_graph_range open_sizes(tc_graph_importer *im, const char *name, size_t d) {
    const tc_graph_size_symbol *y = im->at.g->sizes ? tc_graph_sizes_symbol(im->at.g->sizes, name) : NULL;
    return y ? (tc_graph_range){y->least, y->most, y->multiple} : assumed_sizes(name, d);
}

/* Dimension i of an input: what the model says, then what the command line says, which must agree. */
static tc_status resolve_dim(tc_graph_importer *im, const char *name, const Onnx__TensorShapeProto *s, size_t i,
                             const tc_graph_binding *whole, tc_graph_range *out, tc_error *err) {
    const Onnx__TensorShapeProto__Dimension *d = s->dim[i];
    bool fixed = d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    const tc_graph_binding *dim = fixed ? NULL : find_binding(im, name_of(im, name, s, i), true);
    if (fixed && d->dim_value < 0)
        return tc_fail(err, TC_BAD_INPUT, "input '%s': dimension %zu is negative (%" PRId64 ")", name, i, d->dim_value);
    if (fixed && whole && (whole->d[i].least != d->dim_value || whole->d[i].most != d->dim_value))
        return disagreement(name, i, &whole->d[i], "the model fixes it at", d->dim_value, err);
    const tc_graph_tensor *sample = whole || dim || fixed ? NULL : sample_of(im, name);
    if (whole || dim || fixed)
        *out = whole ? whole->d[i] : dim ? dim->d[0] : (tc_graph_range){d->dim_value, d->dim_value, 1};
    else if (sample && sample->shape.ndim == (int)s->n_dim)
        *out = (tc_graph_range){sample->shape.d[i], sample->shape.d[i], 1};
    else
        *out = open_sizes(im, name_of(im, name, s, i), i);
    return TC_OK;
}

static tc_status resolve_shape(tc_graph_importer *im, const char *name, const Onnx__TypeProto__Tensor *type,
                               tc_graph_binding *out, tc_error *err) {
    const tc_graph_binding *whole = find_binding(im, name, false);
    const tc_graph_tensor *sample = !whole && !type->shape ? sample_of(im, name) : NULL;
    *out = sample ? tc_graph_binding_fixed(name, &sample->shape) : (tc_graph_binding){.name = name};
    if (sample)
        return TC_OK;
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
    if (whole && out->ndim == 0)
        return tc_fail(err, TC_BAD_INPUT,
                       "input '%s' is a single number and has no dimensions, so --shape does not apply to it; to fix its value, "
                       "type --input %s=%" PRId64,
                       name, name, whole->d[0].least);
    if (whole && whole->ndim != out->ndim)
        return tc_fail(err, TC_BAD_INPUT, "input '%s': --shape gives %d dimensions, but the model has %d", name, whole->ndim,
                       out->ndim);
    for (size_t i = 0; i < type->shape->n_dim; i++)
        TC_TRY(resolve_dim(im, name, type->shape, i, whole, &out->d[i], err));
    return TC_OK;
}

/* ---- sizes that vary ---- */

static tc_status disagreeing_symbol(const tc_graph_size_symbol *s, const char *input, const tc_graph_range *sizes,
                                    tc_error *err) {
    tc_strbuf a = {0}, b = {0};
    print_sizes(&a, &(tc_graph_range){s->least, s->most, s->multiple});
    print_sizes(&b, sizes);
    tc_status st = tc_fail(
        err, TC_BAD_INPUT,
        "'%s' is %s for input '%s', but %s for an input before it; give all inputs the same sizes, or '%s' itself: --shape %s=%s",
        s->name, tc_sb_str(&b), input, tc_sb_str(&a), s->name, s->name, tc_sb_str(&b));
    tc_strbuf_free(&a);
    tc_strbuf_free(&b);
    return st;
}

static bool is_said(tc_graph_importer *im, const char *input, const char *symbol) {
    return find_binding(im, input, false) || find_binding(im, symbol, true) || sample_of(im, input);
}

static tc_status too_many_symbols(const char *input, const char *name, tc_error *err) {
    return tc_refuse(err, TC_ERROR_UNSUPPORTED,
                     "input '%s': the model has more than %d sizes that vary, '%s' is one more; give inputs their sizes with "
                     "--shape %s=1,128 (its dimensions), or let them share symbols",
                     input, TC_WORK_SYMBOLS, name, input);
}

/* The symbol `name` of the input, with these sizes. Several inputs may have been given different single ones. */
static tc_status want_symbol(tc_graph_importer *im, const char *input, const char *name, const tc_graph_range *sizes,
                             tc_error *err) {
    tc_graph_sizes *known = tc_graph_sizes_of(im->at.g);
    const tc_graph_size_symbol *y = tc_graph_sizes_symbol(known, name);
    if (y && (y->least != sizes->least || y->most != sizes->most || y->multiple != sizes->multiple))
        return sizes->least == sizes->most ? TC_OK : disagreeing_symbol(y, input, sizes, err);
    if (!y && known->symbols.len == TC_WORK_SYMBOLS)
        return too_many_symbols(input, name, err);
    if (!y)
        tc_graph_sizes_add_symbol(known, &(tc_graph_size_symbol){.name = name,
                                                                 .least = sizes->least,
                                                                 .most = sizes->most,
                                                                 .multiple = sizes->multiple,
                                                                 .assumed = !is_said(im, input, name)});
    return TC_OK;
}

/* The size of the symbol in a run: a scalar that is an input of the graph, unless the same number is one already. */
static tc_graph_value *symbol_value(tc_graph *g, const tc_graph_size_symbol *y) {
    tc_graph_value *v = tc_graph_sizes_value(g->sizes, y->is);
    if (v)
        return v;
    tc_ival range = tc_graph_sizes_range(g->sizes, y), sizes = y->assumed ? range : y->now;
    v = tc_graph_add_value(g, tc_graph_fresh_name(g, y->name), TC_I64, &(tc_graph_shape){0});
    v->most = range.hi;
    tc_graph_sizes_set_number(g->sizes, v, 0, y->is);
    tc_graph_sizes_set_value(g->sizes, y->is, v);
    tc_push(&g->symbols, ((tc_graph_symbol){y->name, v, y->is == y->own ? NULL : y->is, sizes.lo, sizes.hi, y->multiple,
                                            y->assumed, tc_graph_sizes_is_narrowed(y)}));
    return v;
}

/* Dimensions of an input, which are their symbols' where the model leaves them open. */
static tc_status vary_shape(tc_graph_importer *im, const char *input, const Onnx__TensorShapeProto *shape,
                            const tc_graph_binding *sizes, tc_graph_shape *out, const char **symbol, tc_error *err) {
    *out = (tc_graph_shape){.ndim = sizes->ndim};
    for (int d = 0; d < sizes->ndim; d++) {
        const tc_graph_range *r = &sizes->d[d];
        bool open = !shape || shape->dim[d]->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        const char *name = name_of(im, input, shape, (size_t)d);
        symbol[d] = NULL;
        out->d[d] = r->most;
        if (open)
            TC_TRY(want_symbol(im, input, name, r, err));
        if (!open || r->least == r->most)
            continue;
        const tc_graph_size_symbol *y = tc_graph_sizes_symbol(im->at.g->sizes, name);
        out->d[d] = tc_graph_sizes_range(im->at.g->sizes, y).hi;
        symbol[d] = y->is->op == TC_OP_INT ? NULL : name;
    }
    return TC_OK;
}

static void vary_input(tc_graph *g, tc_graph_value *in, const char *const *symbol) {
    for (int d = 0; d < in->shape.ndim; d++) {
        if (!symbol[d])
            continue;
        if (!in->extent)
            in->extent = TC_NEW_N(g->arena, tc_graph_value *, TC_GRAPH_MAX_DIMS);
        in->extent[d] = symbol_value(g, tc_graph_sizes_symbol(g->sizes, symbol[d]));
    }
}

/* ---- inputs ---- */

static const tc_graph_tensor *given_constant(const tc_graph_importer *im, const char *name) {
    for (size_t i = 0; im->opts && i < im->opts->nconstants; i++)
        if (strcmp(im->opts->constants[i].name, name) == 0)
            return &im->opts->constants[i].t;
    return NULL;
}

/* What --shape says of an input that is given as a constant: the constant is so large. */
static tc_status check_given(tc_graph_importer *im, const char *name, const Onnx__TensorShapeProto *s,
                             const tc_graph_shape *given, tc_error *err) {
    const tc_graph_binding *whole = find_binding(im, name, false);
    if (whole && whole->ndim != given->ndim)
        return tc_fail(err, TC_BAD_INPUT, "input '%s': --shape gives %d dimensions, but its value has %d", name, whole->ndim,
                       given->ndim);
    for (size_t d = 0; d < (size_t)given->ndim; d++) {
        const tc_graph_binding *dim = !s || d < s->n_dim ? find_binding(im, name_of(im, name, s, d), true) : NULL;
        const tc_graph_range *said = whole ? &whole->d[d] : dim ? &dim->d[0] : NULL;
        int64_t size = given->d[d];
        if (said && (size < said->least || size > said->most || size % said->multiple != 0))
            return disagreement(name, d, said, "its value has", size, err);
    }
    return TC_OK;
}

static tc_status add_given(tc_graph_importer *im, const char *name, const Onnx__TypeProto *type, const tc_graph_tensor *given,
                           tc_error *err) {
    bool is_tensor = type && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    tc_graph_tensor t;
    TC_TRY(check_given(im, name, is_tensor ? type->tensor_type->shape : NULL, &given->shape, err));
    TC_TRY(tc_graph_tensor_copy(given, &t, err));
    tc_graph_add_constant(im->at.g, name, &t);
    return TC_OK;
}

/* ---- inputs whose value is given ---- */

const char *tc_graph_fixed_values(const char *text, const char *name) {
    const char *eq = strrchr(text, '=');
    return eq && strlen(name) == (size_t)(eq - text) && strncmp(text, name, (size_t)(eq - text)) == 0 ? eq + 1 : NULL;
}

static const char *fixed_values(const tc_graph_importer *im, const char *name) {
    const char *values = NULL;
    for (size_t i = 0; im->opts && i < im->opts->nfixed && !values; i++) {
        values = tc_graph_fixed_values(im->opts->fixed[i], name);
        im->used_fixed[i] |= values != NULL;
    }
    return values;
}

/* Reads one value of the type at *p; false: there is none, or the type cannot hold it. */
static bool read_value(const char **p, tc_dtype t, void *data, int64_t i) {
    char *end;
    errno = 0;
    if (t == TC_BOOL) {
        bool yes = strncmp(*p, "true", 4) == 0, no = strncmp(*p, "false", 5) == 0;
        *p += yes ? 4 : no ? 5 : 0;
        ((uint8_t *)data)[i] = yes || (!no && **p == '1');
        *p += !yes && !no && (**p == '0' || **p == '1');
        return yes || no || (*p)[-1] == '0' || (*p)[-1] == '1';
    }
    if (tc_dtype_is_float(t)) {
        tc_store_f(t, data, i, tc_strtod(*p, &end));
    } else if (t == TC_U64 && **p != '-') {
        ((uint64_t *)data)[i] = strtoull(*p, &end, 10);
    } else {
        int64_t v = strtoll(*p, &end, 10);
        tc_store_i(t, data, i, v);
        if (t == TC_U64 || tc_load_i(t, data, i) != v)
            return false;
    }
    bool read = end != *p && !errno;
    *p = end;
    return read;
}

static int64_t count_values(const char *values) {
    int64_t n = 1;
    for (const char *p = values; *p; p++)
        n += *p == ',';
    return n;
}

/* The shape of `n` values for the input: one dimension that the model leaves open is as large as they need. False: none fits. */
static bool shape_of_values(tc_graph_importer *im, const char *name, const Onnx__TensorShapeProto *s, int64_t n,
                            tc_graph_shape *out) {
    const tc_graph_binding *whole = find_binding(im, name, false);
    int open = -1, nopen = 0;
    *out = (tc_graph_shape){.ndim = s ? (int)s->n_dim : n > 1};
    if (out->ndim > TC_GRAPH_MAX_DIMS || (whole && whole->ndim != out->ndim))
        return false;
    for (int d = 0; d < out->ndim; d++) {
        bool fixed = s && s->dim[d]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        out->d[d] = fixed ? s->dim[d]->dim_value : whole ? whole->d[d].most : 1;
        if (!fixed && !whole)
            open = d, nopen++;
    }
    if (tc_graph_shape_check(out, NULL) != TC_OK)
        return false;
    int64_t rest = tc_graph_shape_count(out);
    if (nopen == 1 && rest > 0 && n % rest == 0)
        out->d[open] = n / rest;
    return tc_graph_shape_count(out) == n;
}

/* "[2,batch]", as the model says it */
static const char *shape_text(tc_graph_importer *im, const char *name, const Onnx__TensorShapeProto *s) {
    tc_strbuf b = {0};
    for (size_t d = 0; s && d < s->n_dim; d++)
        if (s->dim[d]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
            tc_sb_printf(&b, "%s%" PRId64, d ? "," : "", s->dim[d]->dim_value);
        else
            tc_sb_printf(&b, "%s%s", d ? "," : "", name_of(im, name, s, d));
    const char *text = s ? tc_arena_printf(im->at.g->arena, "[%s]", tc_sb_str(&b)) : "not given";
    tc_strbuf_free(&b);
    return text;
}

static tc_status read_fixed(tc_graph_importer *im, const char *name, const Onnx__TypeProto__Tensor *type, const char *values,
                            tc_graph_tensor *t, tc_error *err) {
    tc_dtype dtype;
    tc_graph_shape shape;
    int64_t n = count_values(values), read = 0;
    if (!tc_graph_dtype_of_onnx(type->elem_type, &dtype))
        return tc_refuse(err, TC_ERROR_UNSUPPORTED, "input '%s': element type %s is not supported", name,
                         tc_graph_onnx_type_name(type->elem_type));
    if (!shape_of_values(im, name, type->shape, n, &shape))
        return tc_fail(err, TC_BAD_INPUT, "--input %s=%s: %" PRId64 " values do not fill the input; its shape in the model is %s",
                       name, values, n, shape_text(im, name, type->shape));
    TC_TRY(tc_graph_tensor_alloc(t, dtype, &shape, err));
    const char *p = values;
    while (read < n && read_value(&p, dtype, t->data, read) && *p == (read + 1 < n ? ',' : 0)) {
        read++;
        p += *p == ',';
    }
    if (read == n)
        return TC_OK;
    tc_graph_tensor_free(t);
    return tc_fail(err, TC_BAD_INPUT, "--input %s=%s: value %" PRId64 " is no %s; expected numbers with commas between them",
                   name, values, read, tc_dtype_name(dtype));
}

static tc_status add_fixed(tc_graph_importer *im, const char *name, const Onnx__TypeProto *type, const char *values,
                           tc_error *err) {
    tc_graph_tensor t;
    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return tc_fail(err, TC_BAD_INPUT, "--input %s: the input is not a tensor, so its value cannot be fixed", name);
    TC_TRY(read_fixed(im, name, type->tensor_type, values, &t, err));
    void *copy = tc_arena_dup(im->at.g->arena, t.data, tc_graph_tensor_bytes(&t));
    tc_push(&im->at.g->fixed,
            ((tc_graph_named){tc_arena_strdup(im->at.g->arena, name), tc_graph_tensor_view(t.dtype, &t.shape, copy)}));
    tc_graph_add_constant(im->at.g, name, &t);
    return TC_OK;
}

tc_status tc_graph_fixed_check(const char *text, tc_error *err) {
    const char *eq = strrchr(text, '=');
    return eq && eq != text && eq[1]
               ? TC_OK
               : tc_fail(err, TC_BAD_INPUT,
                         "--input %s: expected NAME=VALUE, for example --input sr=16000, or NAME=V0,V1,... for an array", text);
}

static tc_status add_typed_input(tc_graph_importer *im, const char *name, const Onnx__TypeProto__Tensor *type, tc_error *err) {
    tc_dtype dtype;
    tc_graph_binding sizes;
    if (!tc_graph_dtype_of_onnx(type->elem_type, &dtype))
        return tc_refuse(err, TC_ERROR_UNSUPPORTED, "input '%s': element type %s is not supported", name,
                         tc_graph_onnx_type_name(type->elem_type));
    tc_graph_shape shape;
    const char *symbol[TC_GRAPH_MAX_DIMS];
    TC_TRY(resolve_shape(im, name, type, &sizes, err));
    TC_TRY(vary_shape(im, name, type->shape, &sizes, &shape, symbol, err));
    if (tc_graph_shape_check(&shape, err) != TC_OK) {
        tc_error_prefix(err, "input '%s': ", name);
        return TC_BAD_INPUT;
    }
    vary_input(im->at.g, tc_graph_add_input(im->at.g, name, dtype, &shape), symbol);
    return TC_OK;
}

/* ---- inputs that are lists ---- */

static const tc_graph_list *given_list(const tc_graph_importer *im, const char *name) {
    for (size_t i = 0; im->opts && i < im->opts->nlists; i++)
        if (strcmp(im->opts->lists[i].name, name) == 0)
            return &im->opts->lists[i];
    return NULL;
}

static tc_status add_item(tc_graph_importer *im, const tc_graph_named *item, tc_graph_value **out, tc_error *err) {
    const tc_graph_tensor *constant = given_constant(im, item->name);
    tc_graph_tensor t;
    if (tc_graph_find_value(im->at.g, item->name) || tc_map_gets(&im->producers, item->name))
        return tc_graph_import_duplicate(item->name, "an element of a graph input", err);
    if (!constant) {
        *out = tc_graph_add_input(im->at.g, item->name, item->t.dtype, &item->t.shape);
        return TC_OK;
    }
    TC_TRY(tc_graph_tensor_copy(constant, &t, err));
    *out = tc_graph_add_constant(im->at.g, item->name, &t);
    return TC_OK;
}

/* A value of the graph that is the list, with inputs or constants as its elements. */
static tc_status add_list(tc_graph_importer *im, const tc_graph_list *list, tc_error *err) {
    tc_graph *g = im->at.g;
    tc_graph_value **v = TC_NEW_N(g->arena, tc_graph_value *, list->n + 1);
    for (size_t i = 0; i < list->n; i++)
        TC_TRY(add_item(im, &list->items[i], &v[i], err));
    if (list->optional && list->sequence && !list->empty)
        v[0] = tc_graph_import_list(g, (tc_graph_sequence){.n = list->n, .v = v});
    size_t n = !list->optional ? list->n : list->empty ? 0 : 1;
    const tc_graph_value *is = tc_graph_import_list(g, (tc_graph_sequence){.n = n, .v = v, .optional = list->optional});
    tc_graph_add_value(g, list->name, is->dtype, &is->shape)->sequence = is->sequence;
    return TC_OK;
}

static tc_status add_input(tc_graph_importer *im, const Onnx__ValueInfoProto *in, tc_error *err) {
    const char *name = in->name ? in->name : "";
    const Onnx__TypeProto *type = in->type;
    const tc_graph_value *known = tc_graph_find_value(im->at.g, name);
    if (known && known->constant && !given_constant(im, name))
        return TC_OK; /* an initializer gives its value */
    if (!*name || known || tc_map_gets(&im->producers, name))
        return *name ? tc_graph_import_duplicate(name, "a graph input", err)
                     : tc_fail(err, TC_BAD_INPUT, "a graph input has no name");
    if (given_constant(im, name))
        return add_given(im, name, type, given_constant(im, name), err);
    if (given_list(im, name))
        return add_list(im, given_list(im, name), err);
    if (fixed_values(im, name))
        return add_fixed(im, name, type, fixed_values(im, name), err);
    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return tc_refuse(
            err, TC_ERROR_UNSUPPORTED,
            "input '%s' is not a tensor: sequences, maps and optionals are supported inside of a model only, where their "
            "lengths are known; export the model with tensors as its inputs",
            name);
    return add_typed_input(im, name, type->tensor_type, err);
}

/* What is said of an input's dimensions is said of all of the same names. */
static tc_status take_said(tc_graph_importer *im, const Onnx__ValueInfoProto *in, tc_error *err) {
    const Onnx__TypeProto__Tensor *type =
        in->type && in->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ? in->type->tensor_type : NULL;
    tc_graph_binding sizes;
    if (!in->name || !type || !type->shape || !find_binding(im, in->name, false))
        return TC_OK;
    TC_TRY(resolve_shape(im, in->name, type, &sizes, err));
    for (int d = 0; d < sizes.ndim; d++)
        if (symbol_of(type->shape->dim[d]))
            TC_TRY(want_symbol(im, in->name, symbol_of(type->shape->dim[d]), &sizes.d[d], err));
    return TC_OK;
}

/* What --shape or --input could have named: inputs and, for --shape, the names that the model gives to their dimensions. */
static tc_status no_name(tc_graph_importer *im, bool shape, const char *given, tc_error *err) {
    char text[TC_GUESS_TEXT];
    const char *eq = shape ? NULL : strrchr(given, '=');
    tc_map names = {0};
    tc_guess g = tc_guess_new(given, eq ? (size_t)(eq - given) : strlen(given));
    for (size_t i = 0; i < im->at.g->inputs.len; i++)
        tc_map_puts(&names, im->at.g->inputs.data[i]->name, 0);
    for (size_t i = 0; i < im->proto->n_input && shape; i++) {
        const Onnx__TypeProto *type = im->proto->input[i]->type;
        const Onnx__TensorShapeProto *s =
            type && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ? type->tensor_type->shape : NULL;
        for (size_t d = 0; s && d < s->n_dim; d++)
            if (symbol_of(s->dim[d]))
                tc_map_puts(&names, symbol_of(s->dim[d]), 0);
    }
    for (size_t i = 0; i < names.len; i++)
        tc_guess_add(&g, names.entries[i].str);
    tc_status st = tc_fail(err, TC_BAD_INPUT, "--%s %s: the model has no %s of that name%s", shape ? "shape" : "input", given,
                           shape ? "input or symbolic dimension" : "input without a value", tc_guess_say(&g, "", NULL, text));
    tc_map_free(&names);
    return st;
}

tc_status tc_graph_import_inputs(tc_graph_importer *im, tc_error *err) {
    for (size_t i = 0; i < im->proto->n_input; i++)
        TC_TRY(take_said(im, im->proto->input[i], err));
    for (size_t i = 0; i < im->proto->n_input; i++)
        TC_TRY(add_input(im, im->proto->input[i], err));
    for (size_t i = 0; im->opts && i < im->opts->nshapes; i++)
        if (!im->used_shapes[i])
            return no_name(im, true, im->opts->shapes[i].name, err);
    for (size_t i = 0; im->opts && i < im->opts->nfixed; i++)
        if (!im->used_fixed[i])
            return no_name(im, false, im->opts->fixed[i], err);
    for (size_t i = 0; i < im->at.g->symbols.len; i++)
        tc_push(&im->at.g->inputs, im->at.g->symbols.data[i].value);
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
        return tc_fail(err, TC_BAD_INPUT,
                       "--shape %s: a range has no size in it; give LEAST..MOST, or LEAST..MOST:N for the multiples of N in it",
                       text);
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
