/* Implements bundle.h. */
#include "graph/trials/bundle.h"

#include <stdlib.h>
#include <string.h>

#include "graph/io/numpy.h"
#include "graph/onnx/import.h"
#include "support/system/fs.h"
#include "support/vec.h"

static char *folder_file(const char *dir, const char *kind, size_t i) {
    tc_strbuf b = {0};
    tc_sb_printf(&b, "%s/%s_%zu.pb", dir, kind, i);
    return b.data;
}

/* KIND_0.pb, KIND_1.pb, ... up to the first that is missing. */
static tc_status load_folder(const char *dir, const char *kind, const tc_graph_port *ports, int nports, tc_graph_bundle *out,
                             tc_error *err) {
    TC_VEC(tc_graph_named) items = {0};
    tc_status st = TC_OK;
    for (size_t i = 0; st == TC_OK; i++) {
        char *path = folder_file(dir, kind, i);
        tc_graph_named item = {0};
        bool there = tc_fs_exists(path);
        if (there && (st = tc_graph_pb_load(path, &item.t, &item.name, err)) == TC_OK) {
            if (!item.name[0] && (int)i < nports) {
                free(item.name);
                item.name = tc_xstrdup(ports[i].name);
            }
            tc_push(&items, item);
        }
        free(path);
        if (!there)
            break;
    }
    *out = (tc_graph_bundle){items.data, items.len};
    if (st == TC_OK)
        return TC_OK;
    tc_graph_bundle_free(out);
    *out = (tc_graph_bundle){0};
    return st;
}

/* Keeps what is named PREFIX.x, as x; everything where nothing is. */
static void keep_prefixed(tc_graph_bundle *b, const char *prefix) {
    size_t len = strlen(prefix), kept = 0;
    bool any = false;
    for (size_t i = 0; i < b->len; i++)
        any |= strncmp(b->items[i].name, prefix, len) == 0;
    for (size_t i = 0; any && i < b->len; i++) {
        tc_graph_named *item = &b->items[i];
        if (strncmp(item->name, prefix, len) == 0) {
            memmove(item->name, item->name + len, strlen(item->name + len) + 1);
            b->items[kept++] = *item;
        } else {
            free(item->name);
            tc_graph_tensor_free(&item->t);
        }
    }
    if (any)
        b->len = kept;
}

tc_status tc_graph_bundle_load(const char *path, const char *kind, const tc_graph_port *ports, int nports, tc_graph_bundle *out,
                               tc_error *err) {
    *out = (tc_graph_bundle){0};
    if (tc_fs_is_dir(path)) {
        TC_TRY(load_folder(path, kind, ports, nports, out, err));
        if (out->len == 0)
            return tc_fail(err, TC_BAD_INPUT, "%s: the folder has no %s_0.pb", path, kind);
        return TC_OK;
    }
    TC_TRY(tc_graph_npz_load(path, out, err));
    keep_prefixed(out, strcmp(kind, "input") == 0 ? "in." : "out.");
    return TC_OK;
}

static tc_status disagreeing(const tc_graph_named *item, const tc_graph_tensor *fixed, tc_error *err) {
    enum { SHOWN = 4 };
    tc_strbuf given = {0}, want = {0};
    tc_graph_shape_print(&given, &item->t.shape);
    tc_sb_add(&given, " = ");
    tc_graph_tensor_print_values(&given, &item->t, SHOWN);
    tc_graph_tensor_print_values(&want, fixed, SHOWN);
    tc_status s = tc_fail(err, TC_BAD_INPUT,
                          "the array '%s' is %s%s, but --input fixes this input at %s; leave out the array, or give both the "
                          "same value",
                          item->name, tc_dtype_name(item->t.dtype), tc_sb_str(&given), tc_sb_str(&want));
    tc_strbuf_free(&given);
    tc_strbuf_free(&want);
    return s;
}

/* A single number may be an array of one element. */
static bool has_value(const tc_graph_tensor *t, const tc_graph_tensor *fixed) {
    tc_graph_diff d;
    if (!tc_graph_tensor_holds(t, fixed->dtype) || tc_graph_tensor_count(t) != tc_graph_tensor_count(fixed))
        return false;
    const tc_graph_tensor as_fixed = tc_graph_tensor_view(fixed->dtype, &fixed->shape, t->data);
    return tc_graph_tensor_compare(&as_fixed, fixed, 0, 0, &d, NULL) == TC_OK && d.violations == 0;
}

tc_status tc_graph_bundle_drop_fixed(tc_graph_bundle *b, const tc_graph_bundle *fixed, tc_error *err) {
    size_t kept = 0;
    for (size_t i = 0; i < b->len; i++) {
        const tc_graph_tensor *value = tc_graph_bundle_find(fixed, b->items[i].name);
        if (value && !has_value(&b->items[i].t, value))
            return disagreeing(&b->items[i], value, err);
    }
    for (size_t i = 0; i < b->len; i++) {
        tc_graph_named *item = &b->items[i];
        if (!tc_graph_bundle_find(fixed, item->name)) {
            b->items[kept++] = *item;
            continue;
        }
        free(item->name);
        tc_graph_tensor_free(&item->t);
    }
    b->len = kept;
    return TC_OK;
}

static bool is_half(tc_dtype t) {
    return t == TC_F16 || t == TC_BF16;
}

/* A step of a float of a byte. */
static const double STEP = 0.25;

static double relative(const tc_graph_tolerance *t, tc_dtype dtype) {
    if (!tc_dtype_is_float(dtype))
        return 0;
    return t->rtol >= 0 ? t->rtol : tc_float8_of(dtype) ? STEP : is_half(dtype) ? 1e-2 : 1e-3;
}

static double absolute(const tc_graph_tolerance *t, tc_dtype dtype) {
    return t->atol >= 0 ? t->atol : is_half(dtype) ? 1e-3 : 1e-5;
}

tc_status tc_graph_tensor_within(const tc_graph_tensor *got, const tc_graph_tensor *want, const tc_graph_tolerance *t,
                                 tc_graph_diff *out, tc_error *err) {
    return tc_graph_tensor_compare(got, want, relative(t, want->dtype), absolute(t, want->dtype), out, err);
}

/* ---- of a model ---- */

static tc_status random_inputs(const tc_graph_model *m, const int64_t *sizes, uint64_t seed, tc_graph_bundle *out,
                               tc_error *err) {
    const tc_graph_port *ports;
    int n = tc_graph_model_inputs(m, &ports);
    tc_graph_tensor *t = tc_xcalloc((size_t)n + 1, sizeof *t);
    tc_status st = tc_graph_model_random_inputs(m, sizes, seed, t, err);
    *out = (tc_graph_bundle){tc_xcalloc((size_t)n + 1, sizeof *out->items), 0};
    for (int i = 0; i < n && st == TC_OK; i++)
        out->items[out->len++] = (tc_graph_named){tc_xstrdup(ports[i].name), t[i]};
    free(t);
    return st;
}

tc_status tc_graph_inputs_load(const tc_graph_model *m, const char *path, const int64_t *sizes, uint64_t seed,
                               tc_graph_bundle *out, tc_error *err) {
    const tc_graph_port *ports;
    int n = tc_graph_model_inputs(m, &ports);
    if (!path)
        return random_inputs(m, sizes, seed, out, err);
    TC_TRY(tc_graph_bundle_load(path, "input", ports, n, out, err));
    tc_status st = tc_graph_bundle_drop_fixed(out, tc_graph_model_fixed(m), err);
    if (st != TC_OK)
        tc_error_prefix(err, "%s: ", path);
    TC_TRY(st);
    for (size_t i = 0; tc_fs_is_dir(path) && i < out->len && (int)i < n; i++) {
        free(out->items[i].name);
        out->items[i].name = tc_xstrdup(ports[i].name);
    }
    return TC_OK;
}

static tc_status none_there(const tc_graph_bundle *got, const char *path, tc_error *err) {
    tc_strbuf names = {0};
    for (size_t i = 0; i < got->len; i++)
        tc_sb_printf(&names, "%s%s", i ? ", " : "", got->items[i].name);
    tc_status st = tc_fail(err, TC_BAD_INPUT, "%s: holds none of the outputs: %s", path, tc_sb_str(&names));
    tc_strbuf_free(&names);
    return st;
}

static tc_status compare(const tc_graph_bundle *got, const tc_graph_bundle *want, bool by_position, const tc_graph_tolerance *t,
                         tc_arena *a, tc_graph_comparison *out, tc_error *err) {
    *out = (tc_graph_comparison){.data = TC_NEW_N(a, tc_graph_compared, want->len)};
    for (size_t i = 0; i < want->len; i++) {
        const tc_graph_named *w = &want->items[i];
        const tc_graph_tensor *own = by_position ? (i < got->len ? &got->items[i].t : NULL) : tc_graph_bundle_find(got, w->name);
        tc_graph_compared *c = &out->data[out->n];
        if (!own)
            continue;
        *c = (tc_graph_compared){.name = tc_arena_strdup(a, w->name), .elements = tc_graph_tensor_count(&w->t)};
        tc_status st = tc_graph_tensor_within(own, &w->t, t, &c->diff, err);
        if (st != TC_OK) {
            tc_error_prefix(err, "output '%s': ", w->name);
            return st;
        }
        out->n++;
        out->wrong += c->diff.violations > 0;
    }
    return TC_OK;
}

tc_status tc_graph_outputs_compare(const tc_graph_model *m, const tc_graph_bundle *got, const char *path,
                                   const tc_graph_tolerance *t, tc_arena *a, tc_graph_comparison *out, tc_error *err) {
    const tc_graph_port *ports;
    int n = tc_graph_model_outputs(m, &ports);
    tc_graph_bundle want;
    TC_TRY(tc_graph_bundle_load(path, "output", ports, n, &want, err));
    tc_status st = compare(got, &want, tc_fs_is_dir(path), t, a, out, err);
    tc_graph_bundle_free(&want);
    return st == TC_OK && !out->n ? none_there(got, path, err) : st;
}
