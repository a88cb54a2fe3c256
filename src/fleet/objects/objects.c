#include "fleet/objects/objects.h"

#include <stdlib.h>
#include <string.h>

#include "codegen/artefacts/object.h"
#include "measure/process/protocol.h"
#include "support/seal.h"
#include "support/vec.h"

static tc_seal seal_of(const void *p, size_t n) {
    return tc_seal_of(NULL, 0, p, n);
}

/* ---- putting ---- */

static tc_status put_chunk(tc_fleet_bus *b, const tc_fleet_self *builder, const char *digest, const char *data, size_t n,
                           bool again, tc_error *err) {
    bool has = false;
    if (!again)
        TC_TRY(tc_fleet_bus_has_chunk(b, builder, digest, &has, err));
    return has ? TC_OK : tc_fleet_bus_put_chunk(b, builder, digest, data, n, err);
}

/* Bytes of a chunk on this server. */
static size_t chunk_size(const tc_fleet_bus *b) {
    size_t room = tc_fleet_bus_room(b);
    return room ? TC_MIN(room, (size_t)TC_FLEET_CHUNK) : (size_t)TC_FLEET_CHUNK;
}

/* Puts the chunks; their digests are in `a`. */
static tc_status put_chunks(tc_fleet_bus *b, const tc_fleet_self *builder, const tc_meas_made *made, bool again, tc_arena *a,
                            tc_fleet_built *out, tc_error *err) {
    size_t each = chunk_size(b);
    const char *data = made->object, **chunk;
    out->nchunk = (made->size + each - 1) / each;
    out->chunk = chunk = TC_NEW_N(a, const char *, out->nchunk + 1);
    if (made->size > TC_FLEET_OBJECT || out->nchunk > TC_FLEET_CHUNKS)
        return tc_fail(
            err, TC_BAD_INPUT,
            "%s: an object of %zu bytes is too large for messages of the %zu bytes that it takes: raise max_payload in "
            "its configuration",
            tc_fleet_bus_url(b), made->size, each);
    out->whole = tc_arena_strdup(a, seal_of(data, made->size).hex);
    for (size_t i = 0, at = 0; i < out->nchunk; i++, at += each) {
        size_t n = TC_MIN(each, made->size - at);
        chunk[i] = tc_arena_strdup(a, seal_of(data + at, n).hex);
        TC_TRY(put_chunk(b, builder, chunk[i], data + at, n, again, err));
    }
    return TC_OK;
}

tc_status tc_fleet_object_put(tc_fleet_bus *b, const tc_fleet_self *builder, const char *id, const tc_meas_made *made, bool again,
                              tc_error *err) {
    tc_arena *a = tc_arena_new();
    tc_strbuf text = {0};
    tc_fleet_built built = {.id = id, .builder = builder->name, .made = *made, .whole = ""};
    tc_status s = made->error == TC_MEAS_NONE ? put_chunks(b, builder, made, again, a, &built, err) : TC_OK;
    if (s == TC_OK) {
        tc_fleet_built_write(&built, &text);
        s = tc_fleet_bus_put_built(b, builder, id, tc_sb_str(&text), err);
    }
    tc_strbuf_free(&text);
    tc_arena_free(a);
    return s;
}

/* ---- taking ---- */

/* A chunk to its place in the object, of which `left` bytes are missing. *n: its size; 0: it is not to be had, as *taken says. */
static tc_status take_chunk(tc_fleet_bus *b, const char *key, const tc_fleet_built *built, size_t i, char *to, size_t left,
                            tc_arena *a, size_t *n, tc_fleet_taken *taken, tc_error *err) {
    const void *data;
    TC_TRY(tc_fleet_bus_chunk(b, key, built->builder, built->chunk[i], a, &data, n, err));
    if (!data) /* too old, or it had to make room */
        return TC_OK;
    if (*n == 0 || *n > left)
        taken->wrong =
            tc_arena_printf(a, "chunk %zu of the object %s has %zu bytes, but the object lacks %zu", i, built->id, *n, left);
    else if (strcmp(seal_of(data, *n).hex, built->chunk[i]) != 0)
        taken->wrong = tc_arena_printf(a, "chunk %zu of the object %s does not match its digest", i, built->id);
    if (taken->wrong)
        *n = 0;
    else
        memcpy(to, data, *n);
    return TC_OK;
}

static const char *check_whole(const tc_fleet_built *built, const char *object, size_t size, tc_arena *a) {
    if (size != built->made.size)
        return tc_arena_printf(a, "the object %s has %zu bytes, not %zu", built->id, size, built->made.size);
    if (strcmp(seal_of(object, size).hex, built->whole) != 0)
        return tc_arena_printf(a, "the object %s does not match its digest", built->id);
    if (!tc_cg_object_defines(object, size, TC_MEAS_SYMBOL))
        return tc_arena_printf(a, "the object %s contains no code of a candidate for this kind of processor", built->id);
    return NULL;
}

static tc_status take_object(tc_fleet_bus *b, const char *key, const tc_fleet_built *built, tc_arena *a, tc_meas_made *out,
                             tc_fleet_taken *taken, tc_error *err) {
    char *object = tc_arena_alloc(a, built->made.size);
    size_t at = 0;
    for (size_t i = 0; i < built->nchunk; i++) {
        size_t n;
        tc_arena *scratch = tc_arena_new();
        tc_status s = take_chunk(b, key, built, i, object + at, built->made.size - at, scratch, &n, taken, err);
        if (taken->wrong)
            taken->wrong = tc_arena_strdup(a, taken->wrong);
        tc_arena_free(scratch);
        if (s != TC_OK || n == 0)
            return s;
        at += n;
    }
    taken->wrong = check_whole(built, object, at, a);
    taken->there = !taken->wrong;
    out->object = object;
    return TC_OK;
}

tc_status tc_fleet_object_take(tc_fleet_bus *b, const char *key, const char *id, const tc_fleet_built_mail *mail, tc_arena *a,
                               tc_meas_made *out, tc_fleet_taken *taken, tc_error *err) {
    tc_fleet_built built;
    tc_error why = {0};
    *taken = (tc_fleet_taken){0};
    if (tc_fleet_built_read(mail->text, a, &built, &why) != TC_OK)
        taken->wrong = tc_arena_printf(a, "its description of the object %s is damaged: %s", id, why.msg);
    else if (strcmp(built.id, id) != 0 || strcmp(built.builder, mail->builder) != 0)
        taken->wrong = tc_arena_printf(a, "it sends a message in another name, as the object %s of %s", built.id, built.builder);
    if (taken->wrong)
        return TC_OK;
    *out = built.made;
    taken->there = built.made.error != TC_MEAS_NONE;
    return taken->there ? TC_OK : take_object(b, key, &built, a, out, taken, err);
}
