/* Damage to JSON documents: a value somewhere becomes another one, and what is around it stays a document. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "mutate.h"
#include "support/vec.h"

static json_t *other_text(tc_rng *r, const json_t *v) {
    static const char *const texts[] = {"",
                                        "x",
                                        "\302\23331m",
                                        "\n\t",
                                        "a.b",
                                        "*",
                                        ">",
                                        "../x",
                                        "ok",
                                        "run_crash",
                                        "ffffffffffffffff",
                                        "%s%n",
                                        "batch",
                                        "simulated",
                                        "9223372036854775808"};
    const char *text = json_string_value(v);
    if (!text || tc_rng_below(r, 3) == 0)
        return json_string(texts[tc_rng_below(r, (int64_t)TC_LEN(texts))]);
    tc_strbuf b = {0};
    fuzz_damage_text(r, text, strlen(text), &b);
    json_t *out = json_stringn(tc_sb_str(&b), b.len); /* NULL where that is not UTF-8 */
    if (!out && tc_rng_below(r, 2))
        for (size_t i = 0; i < b.len; i++)
            b.data[i] &= 0x7f;
    if (!out)
        out = json_string(tc_sb_str(&b));
    tc_strbuf_free(&b);
    return out ? out : json_string("x");
}

static json_t *other_number(tc_rng *r) {
    static const double reals[] = {0, -0.0, 1e-308, 5e-324, -1, 0.5, 1e6, 1.0000001e6, 1e300, 1.7976931348623157e308};
    return tc_rng_below(r, 2) ? json_integer(fuzz_number(r)) : json_real(reals[tc_rng_below(r, (int64_t)TC_LEN(reals))]);
}

/* Of the same type more often than of another. */
static json_t *other_value(tc_rng *r, const json_t *v) {
    switch (tc_rng_below(r, 12)) {
    case 0:
        return json_null();
    case 1:
        return json_boolean(tc_rng_below(r, 2));
    case 2:
        return json_object();
    case 3:
        return json_array();
    case 4:
        return json_string("x");
    case 5:
        return other_number(r);
    default:
        if (json_is_string(v))
            return other_text(r, v);
        return json_is_boolean(v) ? json_boolean(!json_is_true(v)) : other_number(r);
    }
}

static void damage_value(tc_rng *r, json_t *v);

static void damage_member(tc_rng *r, json_t *o) {
    int64_t at = tc_rng_below(r, (int64_t)json_object_size(o));
    void *iter = json_object_iter(o);
    while (at-- > 0)
        iter = json_object_iter_next(o, iter);
    json_t *v = json_object_iter_value(iter);
    if (tc_rng_below(r, 12) == 0)
        json_object_del(o, json_object_iter_key(iter));
    else if ((json_is_object(v) || json_is_array(v)) && tc_rng_below(r, 4))
        damage_value(r, v);
    else
        json_object_iter_set_new(o, iter, other_value(r, v));
}

/* Elements are doubled and taken out too: lists that belong together then have other lengths. */
static void damage_element(tc_rng *r, json_t *list) {
    size_t at = (size_t)tc_rng_below(r, (int64_t)json_array_size(list));
    json_t *v = json_array_get(list, at);
    switch (tc_rng_below(r, 5)) {
    case 0:
        json_array_remove(list, at);
        return;
    case 1:
        json_array_insert_new(list, at, json_deep_copy(v));
        return;
    default:
        if (json_is_object(v) || json_is_array(v))
            damage_value(r, v);
        else
            json_array_set_new(list, at, other_value(r, v));
        return;
    }
}

static void damage_value(tc_rng *r, json_t *v) {
    if (json_object_size(v) > 0)
        damage_member(r, v);
    else if (json_array_size(v) > 0)
        damage_element(r, v);
    else if (json_is_array(v))
        json_array_append_new(v, other_number(r));
    else
        json_object_set_new(v, "x", json_null());
}

void fuzz_damage_message(tc_rng *r, const char *data, size_t size, tc_strbuf *out) {
    json_t *o = tc_rng_below(r, 8) ? json_loadb(data, size, 0, NULL) : NULL;
    char *text = NULL;
    if (json_is_object(o)) {
        for (int64_t k = 1 + tc_rng_below(r, 3); k > 0; k--)
            damage_value(r, o);
        text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(17));
    }
    if (text)
        tc_sb_add(out, text);
    else
        fuzz_damage_text(r, data, size, out);
    free(text);
    json_decref(o);
}
