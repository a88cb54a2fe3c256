/* Loads a library that tctune built. The library's metadata list its inputs and outputs. */
#include "codegen/artefacts/library.h"
#include "codegen/target/needs.h"
#include "graph/saved/save_int.h"
#include "support/system/fs.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* *function, a pointer to one. */
static bool find(tc_graph_model *m, const char *prefix, const char *what, void *function) {
    char name[512];
    snprintf(name, sizeof name, "%s_%s", prefix, what);
    void *at = dlsym(m->library.handle, name);
    memcpy(function, &at, sizeof at);
    return at;
}

static tc_status damaged(const char *path, const char *why, tc_error *err) {
    char text[400];
    snprintf(text, sizeof text, "its metadata are damaged: %s", why);
    return tc_cg_not_a_library(path, text, err);
}

/* A feature that this CPU lacks would be an illegal instruction in the middle of the first run. */
static tc_status check_target(const char *path, const char *text, tc_error *err) {
    tc_target *built, *here = NULL;
    if (tc_target_parse(text, &built, err) != TC_OK) {
        tc_error_prefix(err, "%s: ", path);
        return TC_BAD_INPUT;
    }
    tc_strbuf lacks = {0};
    tc_status s = tc_target_parse("native", &here, err);
    if (tc_target_is_host_isa(built->triple))
        tc_cg_print_lacking_here(built, &lacks);
    if (s == TC_OK && !built->native)
        s = tc_fail(err, TC_BAD_INPUT,
                    "%s: it was built for %s, and uses features that this CPU (%s) does not have%s%s; build it here, or with "
                    "--target %s",
                    path, built->cpu, here->cpu, lacks.len ? ": " : "", tc_sb_str(&lacks), here->cpu);
    tc_strbuf_free(&lacks);
    tc_target_free(here);
    tc_target_free(built);
    return s;
}

/* The note of a library's file as a document. A name that stands twice in an object could mean two things to two readers. */
static tc_status read_document(const char *path, json_t **out, tc_error *err) {
    char *text;
    json_error_t why = {.text = "it is no object"};
    tc_graph_note n = {0};
    *out = NULL;
    TC_TRY(tc_cg_read_metadata(path, &text, err));
    if (tc_graph_note_measure(&n, text))
        *out = tc_json_read(text, TC_INPUT_NOTE, JSON_REJECT_DUPLICATES, &why);
    free(text);
    if (json_is_object(*out))
        return TC_OK;
    json_decref(*out);
    *out = NULL;
    return damaged(path, n.why[0] ? n.why : why.text, err);
}

/* Not an older or newer one. */
static bool is_of_this_version(const json_t *j) {
    const json_t *format = json_object_get(j, "format");
    return json_is_integer(format) && json_integer_value(format) == TC_GRAPH_LIBRARY_FORMAT;
}

static tc_status read_note(tc_graph_model *m, const char *path, const json_t *j, const char **name, const char **target,
                           tc_error *err) {
    tc_graph_note n = {.arena = m->arena};
    return tc_graph_note_read(&n, j, m, name, target) ? TC_OK : damaged(path, n.why, err);
}

static tc_status check_versions(const char *path, const json_t *j, tc_error *err) {
    int64_t abi = json_integer_value(json_object_get(j, "abi"));
    if (!is_of_this_version(j))
        return tc_cg_not_a_library(path, "its metadata are of another version", err);
    if (abi == TC_RT_ABI)
        return TC_OK;
    return tc_fail(err, TC_BAD_INPUT, "%s: it was built for version %lld of the kernels' runtime, and this is %d; build it again",
                   path, (long long)abi, TC_RT_ABI);
}

tc_status tc_graph_read_library(tc_graph_model *m, const char *path, const char **name, const char **target, tc_error *err) {
    json_t *j;
    TC_TRY(read_document(path, &j, err));
    tc_status s = check_versions(path, j, err);
    if (s == TC_OK)
        s = read_note(m, path, j, name, target, err);
    json_decref(j);
    return s;
}

tc_status tc_graph_describe_library(const char *path, json_t **out, tc_error *err) {
    const char *name, *target;
    TC_TRY(read_document(path, out, err));
    if (!is_of_this_version(*out))
        return TC_OK;
    tc_arena *a = tc_arena_new();
    tc_graph_model m = {.arena = a};
    tc_status s = read_note(&m, path, *out, &name, &target, err);
    tc_arena_free(a);
    if (s == TC_OK)
        return TC_OK;
    json_decref(*out);
    *out = NULL;
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
