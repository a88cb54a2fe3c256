/* The places of a JSON document, so that tests can put other values there. */
#ifndef TC_TESTS_COMMON_JSON_PLACES_H
#define TC_TESTS_COMMON_JSON_PLACES_H

#include <jansson.h>

#include "support/vec.h"

/* Where a value stands: in an object by its key, or in a list. */
typedef struct json_place {
    json_t *in;
    const char *key; /* NULL: in a list */
    size_t at;
} json_place;
typedef TC_VEC(json_place) json_places;

/* Adds the places of all values below j. */
static inline void json_places_add(json_t *j, json_places *all) {
    const char *key;
    json_t *v;
    size_t at;
    json_object_foreach(j, key, v) {
        json_place p = {j, key, 0};
        tc_push(all, p);
        json_places_add(v, all);
    }
    json_array_foreach(j, at, v) {
        json_place p = {j, NULL, at};
        tc_push(all, p);
        json_places_add(v, all);
    }
}

/* The value at the place; the document owns it. */
static inline json_t *json_place_get(const json_place *p) {
    return p->key ? json_object_get(p->in, p->key) : json_array_get(p->in, p->at);
}

/* Puts v there, and takes it over. False: it failed. */
static inline bool json_place_put(const json_place *p, json_t *v) {
    return (p->key ? json_object_set_new(p->in, p->key, v) : json_array_set_new(p->in, p->at, v)) == 0;
}

#endif
