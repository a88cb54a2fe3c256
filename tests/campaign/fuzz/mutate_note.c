/* Damage to the document of a note: it stays JSON, and its values become wrong. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_places.h"
#include "mutate.h"
#include "support/vec.h"

static void drop(const json_place *p) {
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
static void rename_key(tc_rng *r, const json_place *p, const json_place *other) {
    char number[32];
    json_t *v = json_incref(json_place_get(p));
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

static bool is_scalar(const json_place *p) {
    return !json_is_object(json_place_get(p)) && !json_is_array(json_place_get(p));
}

/* Only scalars: a list could lie in the other one. */
static void exchange(const json_place *p, const json_place *other) {
    json_t *v = json_deep_copy(json_place_get(p));
    json_place_put(p, json_deep_copy(json_place_get(other)));
    json_place_put(other, v);
}

static void change(tc_rng *r, const json_place *p, const json_place *other) {
    switch (tc_rng_below(r, 8)) {
    case 0:
        drop(p);
        return;
    case 1:
        json_place_put(p, of_some_type(r));
        return;
    case 2:
        if (is_scalar(p) && is_scalar(other))
            exchange(p, other);
        else
            json_place_put(p, json_deep_copy(json_place_get(other)));
        return;
    case 3:
        if (p->key)
            rename_key(r, p, other);
        else
            json_array_insert_new(p->in, p->at, json_deep_copy(json_place_get(p)));
        return;
    default:
        json_place_put(p, is_scalar(p) ? json_integer(fuzz_number(r)) : json_deep_copy(json_place_get(other)));
        return;
    }
}

static bool damage_document(tc_rng *r, const char *data, size_t size, tc_strbuf *out) {
    json_t *j = json_loadb(data, size, 0, NULL);
    for (int64_t n = 1 + tc_rng_below(r, 3); n > 0 && j; n--) {
        json_places all = {0};
        json_places_add(j, &all);
        if (all.len) {
            json_place one = all.data[tc_rng_below(r, (int64_t)all.len)], other = all.data[tc_rng_below(r, (int64_t)all.len)];
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
