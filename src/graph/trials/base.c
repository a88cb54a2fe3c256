/* Reads a base (base.h). It checks the type and range of each field, and names the first wrong field. */
#include "graph/trials/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "schedule_primitives/trace.h"
#include "support/json/json.h"
#include "support/map.h"
#include "support/system/fs.h"
#include "support/vec.h"

enum { MOST_THREADS = 1 << 16, MOST_LAUNCHES = 1 << 30, LONGEST_TEXT = 4096 };

typedef struct reader {
    const char *path, *where; /* where: "kernels[3]." before the field's name */
    tc_arena *a;
    tc_error *err;
} reader;

static tc_status wrong(const reader *r, const char *key, const char *what) {
    return tc_fail(r->err, TC_BAD_INPUT, "%s: %s%s is missing or is not %s; a base is what `tctune bench --json` printed",
                   r->path, r->where, key, what);
}

/* Of one line, which may be shown as it is. */
static tc_status read_text(const reader *r, const json_t *o, const char *key, const char **out) {
    const char *v = json_string_value(json_object_get(o, key));
    bool fine = v && strlen(v) <= LONGEST_TEXT;
    for (const char *p = v; fine && *p; p++)
        fine = (unsigned char)*p >= ' ' && *p != 0x7f;
    if (!fine)
        return wrong(r, key, tc_arena_printf(r->a, "a text of at most %d bytes without control characters", LONGEST_TEXT));
    *out = tc_arena_strdup(r->a, v);
    return TC_OK;
}

static tc_status read_hash(const reader *r, const json_t *o, const char *key, tc_digest *out) {
    const char *v = json_string_value(json_object_get(o, key));
    if (!v || strlen(v) != sizeof out->hex - 1 || strspn(v, "0123456789abcdef") != sizeof out->hex - 1)
        return wrong(r, key, "a hash of 32 digits");
    memcpy(out->hex, v, sizeof out->hex);
    return TC_OK;
}

static tc_status read_count(const reader *r, const json_t *o, const char *key, int most, int *out) {
    const json_t *v = json_object_get(o, key);
    if (!json_is_integer(v) || json_integer_value(v) < 1 || json_integer_value(v) > most)
        return wrong(r, key, tc_arena_printf(r->a, "an integer from 1 to %d", most));
    *out = (int)json_integer_value(v);
    return TC_OK;
}

/* Milliseconds, which need not be known. */
static tc_status read_time(const reader *r, const json_t *o, const char *key, double *seconds) {
    const json_t *v = json_object_get(o, key);
    *seconds = json_is_number(v) ? json_number_value(v) / 1e3 : NAN;
    if ((v && !json_is_null(v) && !json_is_number(v)) || *seconds < 0 || isinf(*seconds))
        return wrong(r, key, "a time");
    return TC_OK;
}

/* As it is printed again, which has no comments. */
static tc_status read_schedule(const reader *r, const json_t *o, tc_graph_base_kernel *k) {
    const char *v = json_string_value(json_object_get(o, "schedule"));
    tc_trace *t;
    if (!v || strlen(v) > TC_GRAPH_BASE_SCHEDULE)
        return wrong(r, "schedule", tc_arena_printf(r->a, "a schedule of at most %d bytes", TC_GRAPH_BASE_SCHEDULE));
    TC_TRY(tc_trace_parse(r->a, tc_arena_printf(r->a, "%s: %sschedule", r->path, r->where), v, &t, r->err));
    k->trace = tc_trace_text(r->a, t);
    return TC_OK;
}

static tc_status read_kernel(const reader *r, const json_t *o, tc_graph_base_kernel *k) {
    TC_TRY(read_text(r, o, "name", &k->name));
    TC_TRY(read_text(r, o, "form", &k->form));
    TC_TRY(read_hash(r, o, "hash", &k->hash));
    TC_TRY(read_hash(r, o, "form_hash", &k->form_hash));
    TC_TRY(read_count(r, o, "count", MOST_LAUNCHES, &k->count));
    TC_TRY(read_time(r, o, "total_ms", &k->seconds));
    return read_schedule(r, o, k);
}

static tc_status read_kernels(reader *r, const json_t *all, tc_graph_base *out) {
    int n = (int)TC_MIN(json_array_size(all), (size_t)TC_GRAPH_BASE_KERNELS + 1);
    if (!json_is_array(all) || n < 1 || n > TC_GRAPH_BASE_KERNELS)
        return wrong(r, "kernels", "a list of kernels");
    tc_graph_base_kernel *k = TC_NEW_N(r->a, tc_graph_base_kernel, n);
    tc_map known = {0};
    tc_status s = TC_OK;
    for (int i = 0; i < n && s == TC_OK; i++) {
        k[i] = (tc_graph_base_kernel){0};
        r->where = tc_arena_printf(r->a, "kernels[%d].", i);
        s = read_kernel(r, json_array_get(all, (size_t)i), &k[i]);
        if (s == TC_OK && tc_map_gets(&known, k[i].hash.hex))
            s = wrong(r, "hash", "unique: a kernel before it has the same");
        if (s == TC_OK)
            tc_map_puts(&known, k[i].hash.hex, 1);
    }
    tc_map_free(&known);
    out->kernels = k;
    out->nkernel = n;
    return s;
}

static tc_status read_base(reader *r, const json_t *j, tc_graph_base *out) {
    if (json_is_array(json_object_get(j, "curves")))
        return tc_fail(r->err, TC_BAD_INPUT,
                       "%s was measured over a range of sizes, but a base has one size: fix it with `tctune bench --shape`",
                       r->path);
    TC_TRY(read_text(r, j, "name", &out->name));
    TC_TRY(read_text(r, j, "target", &out->target));
    TC_TRY(read_count(r, j, "threads", MOST_THREADS, &out->threads));
    TC_TRY(read_text(r, j, "accuracy", &out->accuracy));
    TC_TRY(read_text(r, j, "precision", &out->precision));
    TC_TRY(read_time(r, j, "median_ms", &out->seconds));
    return read_kernels(r, json_object_get(j, "kernels"), out);
}

static tc_status load(const char *path, json_t **out, tc_error *err) {
    json_error_t why;
    char *text;
    TC_TRY(tc_fs_read_text_most(path, TC_BYTES_DOCUMENT, &text, err));
    *out = tc_json_read(text, TC_INPUT_DOCUMENT, JSON_REJECT_DUPLICATES, &why);
    free(text);
    return *out ? TC_OK
                : tc_fail(err, TC_BAD_INPUT, "%s:%d: %s; a base is what `tctune bench --json` printed", path, why.line, why.text);
}

tc_status tc_graph_base_read(const char *path, tc_arena *a, tc_graph_base *out, tc_error *err) {
    json_t *j;
    reader r = {.path = path, .where = "", .a = a, .err = err};
    *out = (tc_graph_base){.path = tc_arena_strdup(a, path)};
    TC_TRY(load(path, &j, err));
    tc_status s = read_base(&r, j, out);
    json_decref(j);
    return s;
}
