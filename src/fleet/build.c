/* Build jobs, and what was built, as documents. */
#include "fleet/build.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/message_int.h"
#include "support/seal.h"

static const fleet_text_limits some_text = {.most = TC_FLEET_TEXT}, any_text = {.most = TC_FLEET_TEXT, .may_be_empty = true};

#define LONGEST_BUILD 3e7 /* seconds: a year */

enum {
    MESSAGE = 4096, /* bytes of a message at most */
    MOST_THREADS = 1 << 14,
    MOST_SIGNAL = 1024
};

static void spoil(fleet_reader *r, const char *what) {
    if (!r->bad)
        tc_fail(r->err, TC_BAD_INPUT, "%s", what);
    r->bad = true;
}

/* ---- jobs ---- */

const char *tc_fleet_build_id(tc_arena *a, const tc_fleet_build_job *j, size_t i) {
    tc_strbuf b = {0};
    const tc_meas_input *in = &j->in[i];
    /* Each text with its length: no two lists of texts are one. */
    const char *const texts[] = {tc_fleet_build(a), j->target, in->workload, in->trace};
    for (size_t k = 0; k < TC_LEN(texts); k++)
        tc_sb_printf(&b, "%zu %s\n", strlen(texts[k]), texts[k]);
    tc_sb_printf(&b, "%d %.17g", j->threads, j->limit);
    const char *id = tc_arena_strdup(a, tc_seal_of(NULL, 0, b.data, b.len).hex);
    tc_strbuf_free(&b);
    return id;
}

void tc_fleet_build_job_write(const tc_fleet_build_job *j, tc_strbuf *out) {
    json_t *o = fleet_begin("build"), *barred = tc_json_array(), *inputs = tc_json_array();
    for (size_t i = 0; i < j->nbarred; i++)
        tc_json_append(barred, tc_json_string(j->barred[i]));
    for (size_t i = 0; i < j->n; i++) {
        json_t *in = tc_json_object();
        fleet_put_text(in, "workload", j->in[i].workload);
        fleet_put_text(in, "trace", j->in[i].trace);
        tc_json_append(inputs, in);
    }
    fleet_put_text(o, "board", j->board);
    tc_json_set(o, "barred", barred);
    tc_json_set(o, "asked", tc_json_integer(j->asked));
    fleet_put_text(o, "target", j->target);
    tc_json_set(o, "threads", tc_json_integer(j->threads));
    tc_json_set(o, "limit", tc_json_real(j->limit));
    tc_json_set(o, "inputs", inputs);
    fleet_end(o, out);
}

static const char *const *read_barred(fleet_reader *r, const json_t *o, size_t *n) {
    const json_t *all = fleet_list(r, o, "barred", 0, TC_FLEET_BARRED, n);
    const char **out = TC_NEW_N(r->a, const char *, *n + 1);
    for (size_t i = 0; i < *n; i++) {
        json_t *one = tc_json_pack("{s:O}", "name", json_array_get(all, i));
        out[i] = fleet_word(r, one, "name");
        json_decref(one);
    }
    return out;
}

static const tc_meas_input *read_inputs(fleet_reader *r, const json_t *o, size_t *n) {
    const json_t *all = fleet_list(r, o, "inputs", 1, TC_FLEET_BUILDS, n);
    tc_meas_input *in = TC_NEW_N(r->a, tc_meas_input, *n + 1);
    for (size_t i = 0; i < *n; i++) {
        const json_t *one = json_array_get(all, i);
        in[i].workload = fleet_text(r, one, "workload", some_text);
        in[i].trace = fleet_text(r, one, "trace", any_text);
        in[i].workload_hash = tc_digest_of(in[i].workload, strlen(in[i].workload));
    }
    return in;
}

tc_status tc_fleet_build_job_read(const char *text, tc_arena *a, tc_fleet_build_job *out, tc_error *err) {
    fleet_reader r = {.a = a, .err = err};
    *out = (tc_fleet_build_job){0};
    json_t *o = fleet_open(&r, text, "build");
    if (!o)
        return TC_BAD_INPUT;
    out->board = fleet_word(&r, o, "board");
    out->barred = read_barred(&r, o, &out->nbarred);
    out->asked = (int)fleet_whole(&r, o, "asked", 1, TC_FLEET_MANY);
    out->target = fleet_text(&r, o, "target", some_text);
    out->threads = (int)fleet_whole(&r, o, "threads", 1, MOST_THREADS);
    out->limit = fleet_real(&r, o, "limit", 1e-3, TC_FLEET_LONGEST);
    out->in = read_inputs(&r, o, &out->n);
    json_decref(o);
    return fleet_outcome(&r);
}

/* ---- what was built ---- */

void tc_fleet_built_write(const tc_fleet_built *b, tc_strbuf *out) {
    char number[24], message[MESSAGE];
    json_t *o = fleet_begin("built"), *chunks = tc_json_array();
    snprintf(message, sizeof message, "%s", b->made.message);
    fleet_put_text(o, "id", b->id);
    fleet_put_text(o, "builder", b->builder);
    fleet_put_text(o, "error", tc_meas_error_text(b->made.error));
    fleet_put_text(o, "message", message);
    tc_json_set(o, "signal", tc_json_integer(b->made.signal));
    snprintf(number, sizeof number, "%016" PRIx64, b->made.program);
    fleet_put_text(o, "program", number);
    tc_json_set(o, "workspace", tc_json_integer((json_int_t)b->made.workspace));
    tc_json_set(o, "seconds", tc_json_real(b->made.seconds));
    tc_json_set(o, "size", tc_json_integer((json_int_t)b->made.size));
    fleet_put_text(o, "whole", b->whole);
    for (size_t i = 0; i < b->nchunk; i++)
        tc_json_append(chunks, tc_json_string(b->chunk[i]));
    tc_json_set(o, "chunks", chunks);
    fleet_end(o, out);
}

/* What building can end with. */
static bool is_of_building(tc_meas_error e) {
    switch (e) {
    case TC_MEAS_NONE:
    case TC_MEAS_ILLEGAL:
    case TC_MEAS_BUILD_FAILED:
    case TC_MEAS_BUILD_CRASH:
    case TC_MEAS_BUILD_TIMEOUT:
    case TC_MEAS_BUILD_LATE:
    case TC_MEAS_BUILD_MEMORY:
        return true;
    case TC_MEAS_RUN_FAILED:
    case TC_MEAS_RUN_CRASH:
    case TC_MEAS_RUN_FORBIDDEN:
    case TC_MEAS_RUN_TIMEOUT:
    case TC_MEAS_RUN_LATE:
    case TC_MEAS_RUN_MEMORY:
    case TC_MEAS_WRONG_RESULT:
    case TC_MEAS_IMPOSSIBLE_TIME:
    case TC_MEAS_DUPLICATE:
    case TC_MEAS_INTERRUPTED:
    case TC_MEAS_NERRORS:
        break;
    }
    return false;
}

static tc_meas_error read_error(fleet_reader *r, const json_t *o) {
    tc_meas_error e = TC_MEAS_INTERRUPTED;
    const char *text = fleet_text(r, o, "error", (fleet_text_limits){.most = TC_FLEET_NAME, .shown = FLEET_LINE});
    if (!tc_meas_error_parse(text, &e) || !is_of_building(e))
        spoil(r, "its error is not an error of building");
    return e;
}

/* Lines that can be shown and stored, as those of this machine's processes are. */
static const char *read_message(fleet_reader *r, const json_t *o) {
    char *line = tc_arena_strdup(r->a, fleet_text(r, o, "message", (fleet_text_limits){.most = MESSAGE, .may_be_empty = true}));
    for (char *c = line; *c; c++)
        if (((unsigned char)*c < ' ' && *c != '\n') || (unsigned char)*c >= 0x7f)
            *c = '?';
    return line;
}

static const char *read_hex(fleet_reader *r, const json_t *o, const char *name, size_t digits) {
    const char *text = fleet_word(r, o, name);
    if (strlen(text) != digits || strspn(text, "0123456789abcdef") != digits)
        spoil(r, tc_arena_printf(r->a, "its %s is not %zu hex digits", name, digits));
    return text;
}

static void read_object(fleet_reader *r, const json_t *o, tc_fleet_built *out) {
    bool some = out->made.error == TC_MEAS_NONE;
    out->made.size = (size_t)fleet_whole(r, o, "size", some, some ? TC_FLEET_OBJECT : 0);
    out->whole = some ? read_hex(r, o, "whole", TC_FLEET_SEAL) : "";
    const json_t *all = fleet_list(r, o, "chunks", some, some ? TC_FLEET_CHUNKS : 0, &out->nchunk);
    const char **chunk = TC_NEW_N(r->a, const char *, out->nchunk + 1);
    for (size_t i = 0; i < out->nchunk; i++) {
        json_t *one = tc_json_pack("{s:O}", "chunk", json_array_get(all, i));
        chunk[i] = read_hex(r, one, "chunk", TC_FLEET_SEAL);
        json_decref(one);
    }
    out->chunk = chunk;
}

tc_status tc_fleet_built_read(const char *text, tc_arena *a, tc_fleet_built *out, tc_error *err) {
    fleet_reader r = {.a = a, .err = err};
    *out = (tc_fleet_built){0};
    json_t *o = fleet_open(&r, text, "built");
    if (!o)
        return TC_BAD_INPUT;
    out->id = fleet_word(&r, o, "id");
    out->builder = fleet_word(&r, o, "builder");
    out->made.error = read_error(&r, o);
    out->made.message = read_message(&r, o);
    out->made.signal = (int)fleet_whole(&r, o, "signal", 0, MOST_SIGNAL);
    out->made.program = strtoull(read_hex(&r, o, "program", 16), NULL, 16);
    out->made.workspace = (uint64_t)fleet_whole(&r, o, "workspace", 0, INT64_MAX);
    out->made.seconds = fleet_real(&r, o, "seconds", 0, LONGEST_BUILD);
    read_object(&r, o, out);
    json_decref(o);
    return fleet_outcome(&r);
}
