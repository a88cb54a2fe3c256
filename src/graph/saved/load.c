/* Loads a library that tctune built. The library's metadata list its inputs and outputs. */
#include "codegen/artefacts/library.h"
#include "graph/saved/save_int.h"
#include "measure/records/json_text.h"
#include "support/system/fs.h"
#include "te/eval.h"

#include <dlfcn.h>
#include <elf.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_shape(const json_t *j, tc_graph_shape *s) {
    if (!json_is_array(j) || json_array_size(j) > TC_GRAPH_MAX_DIMS)
        return false;
    *s = (tc_graph_shape){.ndim = (int)json_array_size(j)};
    for (int d = 0; d < s->ndim; d++) {
        s->d[d] = json_integer_value(json_array_get(j, (size_t)d));
        if (s->d[d] < 0)
            return false;
    }
    return true;
}

/* Absent for floats in [-1, 1). Where an integer has none, in a library of an earlier version, it is of 0 and 1: every table has
 * two rows. */
static bool read_range(const json_t *j, tc_dtype t, tc_te_range *out) {
    int64_t most = tc_dtype_is_float(t) ? INT32_MAX : tc_int_max(t);
    *out = (tc_te_range){0, tc_dtype_is_float(t) ? 0 : 2};
    if (j)
        *out = (tc_te_range){json_integer_value(json_array_get(j, 0)), json_integer_value(json_array_get(j, 1))};
    int64_t least = tc_dtype_is_float(t) ? INT32_MIN : tc_int_min(t);
    return !j || (least <= out->low && out->low < out->high && out->high - 1 <= most);
}

/* Absent where it is a buffer of its own. */
static bool read_shared(const json_t *j, tc_graph_port *p) {
    int64_t at = json_integer_value(json_array_get(j, 0)), rows = json_integer_value(json_array_get(j, 1));
    if (at < 0 || at >= INT32_MAX || rows < 0 || rows >= TC_GRAPH_MAX_DIMS)
        return false;
    p->shared = j ? (int)at + 1 : 0;
    p->rows = (int)rows;
    return true;
}

static bool read_ports(tc_arena *a, const json_t *j, tc_graph_port **ports, int *n) {
    if (!json_is_array(j))
        return false;
    *n = (int)json_array_size(j);
    *ports = TC_NEW_N(a, tc_graph_port, *n);
    for (int i = 0; i < *n; i++) {
        const json_t *x = json_array_get(j, (size_t)i);
        tc_graph_port *p = &(*ports)[i];
        const char *name = json_string_value(json_object_get(x, "name")), *type = json_string_value(json_object_get(x, "dtype"));
        if (!name || !type || !tc_dtype_parse(type, &p->dtype) || !read_shape(json_object_get(x, "shape"), &p->shape) ||
            !read_range(json_object_get(x, "drawn"), p->dtype, &p->drawn))
            return false;
        p->name = tc_arena_strdup(a, name);
        p->is_dense = json_is_true(json_object_get(x, "dense"));
        if (!read_shared(json_object_get(x, "shared"), p))
            return false;
        const char *key;
        json_t *v;
        json_object_foreach(json_object_get(x, "sizes"), key, v) {
            int d = atoi(key);
            if (d >= p->shape.ndim || json_integer_value(v) <= i || json_integer_value(v) >= *n)
                return false;
            p->extent[d] = (int)json_integer_value(v);
        }
    }
    return true;
}

/* What they say of buffers that are inputs and outputs fits. */
static bool fits_shared(const tc_graph_model *m) {
    for (int i = 0; i < m->nin + m->nout; i++) {
        bool is_in = i < m->nin;
        const tc_graph_port *p = is_in ? &m->in[i] : &m->out[i - m->nin];
        int at = p->shared - 1, d = p->rows;
        if (!p->shared)
            continue;
        if (at >= (is_in ? m->nout : m->nin))
            return false;
        const tc_graph_port *other = is_in ? &m->out[at] : &m->in[at], *in = is_in ? p : other, *out = is_in ? other : p;
        tc_graph_shape room = in->shape;
        if (other->shared != (is_in ? i : i - m->nin) + 1 || d >= p->shape.ndim || d != other->rows || in->dtype != out->dtype ||
            out->is_dense || in->shape.d[d] > out->shape.d[d])
            return false;
        room.d[d] = out->shape.d[d];
        if (!tc_graph_shape_equal(&room, &out->shape))
            return false;
    }
    return true;
}

/* Absent in libraries of earlier versions. */
static bool read_hash(const json_t *j, tc_digest *out) {
    const char *hex = json_string_value(j);
    *out = (tc_digest){0};
    if (!hex || strlen(hex) >= sizeof out->hex)
        return !j;
    strcpy(out->hex, hex);
    return true;
}

/* Kernels, others and what each step is. */
static bool read_steps(tc_graph_model *m, const json_t *j) {
    const json_t *kernels = json_object_get(j, "kernels"), *others = json_object_get(j, "others"),
                 *steps = json_object_get(j, "steps");
    m->nkernel = (int)json_array_size(kernels);
    m->nother = (int)json_array_size(others);
    m->nstep = (int)json_array_size(steps);
    m->kernels = TC_NEW_N(m->arena, tc_graph_kernel, m->nkernel);
    m->others = TC_NEW_N(m->arena, tc_graph_other, m->nother);
    m->steps = TC_NEW_N(m->arena, tc_graph_step, m->nstep);
    for (int i = 0; i < m->nkernel; i++) {
        const json_t *k = json_array_get(kernels, (size_t)i);
        const char *name = json_string_value(json_object_get(k, "name")), *form = json_string_value(json_object_get(k, "form"));
        const char *unit = json_string_value(json_object_get(k, "unit"));
        int64_t record = json_integer_value(json_object_get(k, "record"));
        m->kernels[i] = (tc_graph_kernel){.name = tc_arena_strdup(m->arena, name ? name : ""),
                                          .symbol = "",
                                          .form = tc_arena_strdup(m->arena, form ? form : ""),
                                          .workload = "",
                                          .trace = "",
                                          .why = "",
                                          .count = (int)json_integer_value(json_object_get(k, "count")),
                                          .flops = json_real_value(json_object_get(k, "flops")),
                                          .bytes = json_number_value(json_object_get(k, "bytes")),
                                          .source = record > 0 ? TC_GRAPH_FROM_RECORD : TC_GRAPH_FROM_DEFAULT,
                                          .unit = unit ? tc_intrinsic_named(unit) : NULL,
                                          .record = record};
        if (!name || !form || m->kernels[i].count < 0 || !read_hash(json_object_get(k, "workload"), &m->kernels[i].hash))
            return false;
    }
    for (int i = 0; i < m->nother; i++) {
        const json_t *o = json_array_get(others, (size_t)i);
        const char *name = json_string_value(json_object_get(o, "name"));
        m->others[i] = (tc_graph_other){.name = tc_arena_strdup(m->arena, name ? name : ""),
                                        .count = (int)json_integer_value(json_object_get(o, "count"))};
        if (!name || m->others[i].count < 1)
            return false;
    }
    for (int i = 0; i < m->nstep; i++) {
        int64_t what = json_integer_value(json_array_get(steps, (size_t)i));
        if (what < 0 || what >= m->nkernel + m->nother)
            return false;
        m->steps[i].task = what < m->nkernel ? (int)what : -1;
        m->steps[i].other = (int)what - m->nkernel;
    }
    return true;
}

/* Absent where no run is refused. */
static bool read_refusals(tc_graph_model *m, const json_t *j) {
    m->nrefusal = (int)json_array_size(j);
    const char **texts = TC_NEW_N(m->arena, const char *, m->nrefusal + 1);
    for (int i = 0; i < m->nrefusal; i++) {
        const char *text = json_string_value(json_array_get(j, (size_t)i));
        if (!text)
            return false;
        texts[i] = tc_arena_strdup(m->arena, text);
    }
    m->refusals = texts;
    return true;
}

/* *name and *target are in m's arena. */
static bool read_metadata(tc_graph_model *m, const json_t *j, const char **name, const char **target) {
    bool ok = read_ports(m->arena, json_object_get(j, "inputs"), &m->in, &m->nin) &&
              read_ports(m->arena, json_object_get(j, "outputs"), &m->out, &m->nout) && fits_shared(m) && read_steps(m, j) &&
              read_refusals(m, json_object_get(j, "refusals")) &&
              tc_graph_rules_from_json(json_object_get(j, "varying"), m->arena, m->in, m->nin, &m->rules);
    m->nshown = m->nout - (int)json_integer_value(json_object_get(j, "sizes"));
    ok = ok && m->nshown >= 0 && m->nshown <= m->nout;
    for (int i = 0; ok && i < m->nout; i++)
        for (int d = 0; d < m->out[i].shape.ndim; d++) {
            const tc_graph_port *size = &m->out[m->out[i].extent[d]];
            ok &= !m->out[i].extent[d] || (size->dtype == TC_I64 && size->shape.ndim == 0);
        }
    const char *t = json_string_value(json_object_get(j, "target")), *n = json_string_value(json_object_get(j, "name"));
    if (!ok || !t || !n)
        return false;
    m->threads = (int)json_integer_value(json_object_get(j, "threads"));
    m->library.watched = json_is_true(json_object_get(j, "watched"));
    *name = tc_arena_strdup(m->arena, n);
    *target = tc_arena_strdup(m->arena, t);
    return true;
}

/* *function, a pointer to one. */
static bool find(tc_graph_model *m, const char *prefix, const char *what, void *function) {
    char name[512];
    snprintf(name, sizeof name, "%s_%s", prefix, what);
    void *at = dlsym(m->library.handle, name);
    memcpy(function, &at, sizeof at);
    return at;
}

/* A feature that this CPU lacks would be an illegal instruction in the middle of the first run. */
static tc_status check_target(const char *path, const char *text, tc_error *err) {
    tc_target *built, *here = NULL;
    TC_TRY(tc_target_parse(text, &built, err));
    tc_status s = tc_target_parse("native", &here, err);
    if (s == TC_OK && !built->native)
        s = tc_fail(err, TC_BAD_INPUT,
                    "%s: it was built for %s, and uses features that this CPU (%s) does not have; build it here, or with "
                    "--target %s",
                    path, built->cpu, here->cpu, here->cpu);
    tc_target_free(here);
    tc_target_free(built);
    return s;
}

tc_status tc_graph_read_library(tc_graph_model *m, const char *path, const char **name, const char **target, tc_error *err) {
    char *text;
    TC_TRY(tc_cg_read_metadata(path, &text, err));
    json_t *j = tc_meas_json_read(text, 0, NULL);
    free(text);
    int64_t abi = json_integer_value(json_object_get(j, "abi"));
    tc_status s = TC_OK;
    if (json_integer_value(json_object_get(j, "format")) != TC_GRAPH_LIBRARY_FORMAT)
        s = tc_cg_not_a_library(path, "its metadata are of another version", err);
    else if (abi != TC_RT_ABI)
        s = tc_fail(err, TC_BAD_INPUT,
                    "%s: it was built for version %lld of the kernels' runtime, and this is %d; build it again", path,
                    (long long)abi, TC_RT_ABI);
    else if (!read_metadata(m, j, name, target))
        s = tc_cg_not_a_library(path, "its metadata are damaged", err);
    json_decref(j);
    return s;
}

/* The file is read first: loading it already runs code of it. */
static tc_status open_library(tc_graph_model *m, const char *path, int threads, tc_error *err) {
    const char *name = NULL, *target = NULL;
    if (!tc_fs_exists(path))
        return tc_fail(err, TC_BAD_INPUT, "%s: there is no such file", path);
    TC_TRY(tc_graph_read_library(m, path, &name, &target, err));
    TC_TRY(check_target(path, target, err));
    /* A name without a slash would be looked for in the system's folders. */
    m->path = tc_arena_printf(m->arena, "%s%s", strchr(path, '/') ? "" : "./", path);
    m->library.handle = dlopen(m->path, RTLD_NOW | RTLD_LOCAL);
    if (!m->library.handle)
        return tc_cg_not_a_library(path, dlerror(), err);
    if (!find(m, name, "context_new", &m->library.create) || !find(m, name, "context_free", &m->library.release) ||
        !find(m, name, "context_run", &m->library.run))
        return tc_cg_not_a_library(path, "it lacks functions that its metadata name", err);
    if (threads > 0 && threads < m->threads)
        m->threads = threads;
    m->runs = true;
    return TC_OK;
}

bool tc_graph_is_library(const char *path) {
    char head[SELFMAG];
    return tc_fs_read_head(path, head, sizeof head) == sizeof head && memcmp(head, ELFMAG, SELFMAG) == 0;
}

tc_status tc_graph_model_load(const char *path, int threads, tc_graph_model **out, tc_error *err) {
    tc_arena *a = tc_arena_new();
    tc_graph_model *m = TC_NEW(a, tc_graph_model);
    *m = (tc_graph_model){.arena = a};
    tc_status s = open_library(m, path, threads, err);
    if (s != TC_OK) {
        tc_graph_model_free(m);
        return s;
    }
    *out = m;
    return TC_OK;
}
