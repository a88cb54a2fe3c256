/* The API's JSON texts, read. */
#ifndef TC_TESTS_API_DOCUMENTS_H
#define TC_TESTS_API_DOCUMENTS_H

#include "api_common.h"

#include <jansson.h>

/* Gives the text back. */
__attribute__((unused)) static json_t *document(char *text) {
    json_t *j = json_loads(text, 0, NULL);
    assert_true(json_is_object(j));
    tctune_text_free(text);
    return j;
}

__attribute__((unused)) static long long number(const json_t *j, const char *key) {
    assert_true(json_is_integer(json_object_get(j, key)));
    return (long long)json_integer_value(json_object_get(j, key));
}

__attribute__((unused)) static const char *text_of(const json_t *j, const char *key) {
    assert_true(json_is_string(json_object_get(j, key)));
    return json_string_value(json_object_get(j, key));
}

#endif
