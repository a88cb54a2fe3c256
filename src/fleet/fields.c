/* Fields of documents, read within limits. */
#include <math.h>
#include <string.h>

#include "fleet/message_int.h"
#include "support/say.h"

bool tc_fleet_is_word(const char *s) {
    size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
    return n > 0 && n <= TC_FLEET_NAME && s[n] == '\0';
}

static void TC_PRINTF(2, 3) refuse(fleet_reader *r, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (!r->bad)
        tc_vfail(r->err, TC_BAD_INPUT, fmt, ap);
    va_end(ap);
    r->bad = true;
}

tc_status fleet_outcome(const fleet_reader *r) {
    return r->bad ? TC_BAD_INPUT : TC_OK;
}

json_t *fleet_open(fleet_reader *r, const char *text, const char *kind) {
    json_error_t why = {0};
    if (strlen(text) > TC_BYTES_MESSAGE) {
        refuse(r, "it has more than %d MiB, the most that a server takes", TC_BYTES_MESSAGE >> 20);
        return NULL;
    }
    json_t *o = tc_json_read(text, TC_INPUT_MESSAGE, JSON_REJECT_DUPLICATES, &why);
    if (!json_is_object(o))
        refuse(r, "it is not a JSON object%s%s", why.text[0] ? ": " : "", why.text);
    int64_t version = fleet_whole(r, o, "version", 0, 1 << 20);
    if (!r->bad && version != TC_FLEET_VERSION)
        refuse(r, "it is of version %d of the fleet's messages, and this tctune knows version %d: use the same tctune everywhere",
               (int)version, TC_FLEET_VERSION);
    const char *is = fleet_word(r, o, "kind");
    if (!r->bad && strcmp(is, kind) != 0)
        refuse(r, "it is a %s, not a %s", is, kind);
    if (!r->bad)
        return o;
    json_decref(o);
    return NULL;
}

bool fleet_shows(const char *text, fleet_shown shown) {
    return shown == FLEET_PARSED || (shown == FLEET_LINE ? tc_is_plain(text) : tc_is_plain_lines(text));
}

const char *fleet_text(fleet_reader *r, const json_t *o, const char *name, fleet_text_limits limits) {
    const json_t *v = json_object_get(o, name);
    const char *s = json_string_value(v);
    size_t n = json_string_length(v);
    if (!s || n > limits.most || (n == 0 && !limits.may_be_empty) || (limits.word && !tc_fleet_is_word(s))) {
        refuse(r,
               limits.word ? "its %s is not a word of at most %zu letters, digits, - and _"
                           : "its %s is not a text of at most %zu bytes",
               name, limits.most);
        return "";
    }
    if (!fleet_shows(s, limits.shown)) {
        refuse(r, "its %s has control characters, or others that do not show as they are; expected %s of plain text", name,
               limits.shown == FLEET_LINE ? "one line" : "lines");
        return "";
    }
    return tc_arena_strdup(r->a, s);
}

const char *fleet_word(fleet_reader *r, const json_t *o, const char *name) {
    return fleet_text(r, o, name, (fleet_text_limits){.most = TC_FLEET_NAME, .word = true});
}

double fleet_real(fleet_reader *r, const json_t *o, const char *name, double least, double most) {
    const json_t *v = json_object_get(o, name);
    double d = json_number_value(v);
    if (!json_is_number(v) || !(d >= least && d <= most)) {
        refuse(r, "its %s is not a number from %g to %g", name, least, most);
        return least;
    }
    return d;
}

int64_t fleet_whole(fleet_reader *r, const json_t *o, const char *name, int64_t least, int64_t most) {
    const json_t *v = json_object_get(o, name);
    json_int_t i = json_integer_value(v);
    if (!json_is_integer(v) || i < least || i > most) {
        refuse(r, "its %s is not a whole number from %lld to %lld", name, (long long)least, (long long)most);
        return least;
    }
    return i;
}

bool fleet_flag(fleet_reader *r, const json_t *o, const char *name) {
    const json_t *v = json_object_get(o, name);
    if (!json_is_boolean(v))
        refuse(r, "its %s is neither true nor false", name);
    return json_is_true(v);
}

const json_t *fleet_list(fleet_reader *r, const json_t *o, const char *name, size_t least, size_t most, size_t *n) {
    const json_t *v = json_object_get(o, name);
    *n = json_array_size(v);
    if (json_is_array(v) && *n >= least && *n <= most)
        return v;
    refuse(r, "its %s is not a list of %zu to %zu", name, least, most);
    *n = 0;
    return NULL;
}

double *fleet_times(fleet_reader *r, const json_t *o, const char *name, size_t least, size_t most, size_t *n) {
    const json_t *v = fleet_list(r, o, name, least, most, n);
    double *out = TC_NEW_N(r->a, double, *n + 1);
    for (size_t i = 0; i < *n; i++) {
        out[i] = json_number_value(json_array_get(v, i));
        if (!isfinite(out[i]) || out[i] <= 0)
            refuse(r, "number %zu of its %s is not a time", i + 1, name);
    }
    return out;
}

void fleet_put_text(json_t *o, const char *name, const char *text) {
    tc_json_set(o, name, tc_json_string(text ? text : ""));
}

json_t *fleet_begin(const char *kind) {
    json_t *o = tc_json_object();
    tc_json_set(o, "version", tc_json_integer(TC_FLEET_VERSION));
    fleet_put_text(o, "kind", kind);
    return o;
}

void fleet_end(json_t *o, tc_strbuf *out) {
    char *text = tc_json_text(o, JSON_COMPACT | JSON_REAL_PRECISION(17));
    tc_sb_add(out, text ? text : "");
    free(text);
    json_decref(o);
}
