/* Damage to the document of a note: it stays JSON, and its values become wrong. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mutate.h"
#include "support/vec.h"

/* Where a value stands: in an object by its key, or in a list. */
typedef struct place {
    json_t *in;
    const char *key; /* NULL: in a list */
    size_t at;
} place;
typedef TC_VEC(place) places;

static void collect(json_t *j, places *all) {
    const char *key;
    json_t *v;
    size_t at;
    json_object_foreach(j, key, v) {
        place p = {j, key, 0};
        tc_push(all, p);
        collect(v, all);
    }
    json_array_foreach(j, at, v) {
        place p = {j, NULL, at};
        tc_push(all, p);
        collect(v, all);
    }
}

static json_t *value_at(const place *p) {
    return p->key ? json_object_get(p->in, p->key) : json_array_get(p->in, p->at);
}

static void put(const place *p, json_t *v) {
    if (p->key)
        json_object_set_new(p->in, p->key, v);
    else
        json_array_set_new(p->in, p->at, v);
}

static void drop(const place *p) {
    if (p->key)
        json_object_del(p->in, p->key);
    else
        json_array_remove(p->in, p->at);
}

static json_t *of_some_type(tc_rng *r) {
    json_t *deep = NULL;
    switch (tc_rng_below(r, 9)) {
    case 0:
        return json_null();
    case 1:
        return json_boolean(tc_rng_below(r, 2));
    case 2:
        return json_string("");
    case 3:
        return json_string("f32");
    case 4:
        return json_real(tc_rng_below(r, 2) ? -1.5 : 1e300);
    case 5:
        return json_array();
    case 6:
        return json_object();
    case 7:
        deep = json_integer(1);
        for (int i = 0; i < 100; i++)
            deep = json_pack("[o]", deep);
        return deep;
    default:
        return json_integer(fuzz_number(r));
    }
}

/* The value moves to another key, which may be a number, or one that there is already. */
static void rename_key(tc_rng *r, const place *p, const place *other) {
    char number[32];
    json_t *v = json_incref(value_at(p));
    snprintf(number, sizeof number, "%lld", (long long)fuzz_number(r));
    const char *key = other->key && tc_rng_below(r, 2) ? other->key : number;
    json_t *in = json_incref(p->in);
    char *copy = strdup(key);
    drop(p);
    if (copy)
        json_object_set(in, copy, v);
    free(copy);
    json_decref(v);
    json_decref(in);
}

static bool is_scalar(const place *p) {
    return !json_is_object(value_at(p)) && !json_is_array(value_at(p));
}

/* Only scalars: a list could lie in the other one. */
static void exchange(const place *p, const place *other) {
    json_t *v = json_deep_copy(value_at(p));
    put(p, json_deep_copy(value_at(other)));
    put(other, v);
}

static void change(tc_rng *r, const place *p, const place *other) {
    switch (tc_rng_below(r, 8)) {
    case 0:
        drop(p);
        return;
    case 1:
        put(p, of_some_type(r));
        return;
    case 2:
        if (is_scalar(p) && is_scalar(other))
            exchange(p, other);
        else
            put(p, json_deep_copy(value_at(other)));
        return;
    case 3:
        if (p->key)
            rename_key(r, p, other);
        else
            json_array_insert_new(p->in, p->at, json_deep_copy(value_at(p)));
        return;
    default:
        put(p, is_scalar(p) ? json_integer(fuzz_number(r)) : json_deep_copy(value_at(other)));
        return;
    }
}

static bool damage_document(tc_rng *r, const char *data, size_t size, tc_strbuf *out) {
    json_t *j = json_loadb(data, size, 0, NULL);
    for (int64_t n = 1 + tc_rng_below(r, 3); n > 0 && j; n--) {
        places all = {0};
        collect(j, &all);
        if (all.len) {
            place one = all.data[tc_rng_below(r, (int64_t)all.len)], other = all.data[tc_rng_below(r, (int64_t)all.len)];
            change(r, &one, &other);
        }
        tc_vec_free(&all);
    }
    char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;
    json_decref(j);
    tc_sb_add(out, text ? text : "");
    free(text);
    return text != NULL;
}

void fuzz_damage_note(tc_rng *r, const char *data, size_t size, tc_strbuf *out) {
    if (tc_rng_below(r, 6) == 0 || !damage_document(r, data, size, out))
        fuzz_damage_text(r, data, size, out);
}
