/* What json.h describes. */
#include "support/json/json.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc.h"
#include "support/say.h"
#include "support/strbuf.h"

/* What it gives is released by free, so it does not matter who else in the process uses Jansson, and since when. */
static void give_memory(void) {
    json_set_alloc_funcs(tc_try_malloc, free);
}

void tc_json_begin(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, give_memory);
}

static json_t *made(json_t *j) {
    if (!j)
        tc_alloc_refuse();
    return j;
}

static void done(int status) {
    if (status != 0)
        tc_alloc_refuse();
}

/* Bytes that are not UTF-8 as escapes. */
static void add_utf8(tc_strbuf *b, const char *text) {
    size_t n = strlen(text);
    for (size_t at; (at = tc_utf8_fault(text, n)) < n; text += at + 1, n -= at + 1) {
        tc_sb_addn(b, text, at);
        tc_sb_printf(b, "\\x%02x", (unsigned)(unsigned char)text[at]);
    }
    tc_sb_addn(b, text, n);
}

static bool is_utf8(const char *text) {
    size_t n = strlen(text);
    return tc_utf8_fault(text, n) == n;
}

/* ---- values ---- */

json_t *tc_json_string(const char *text) {
    tc_json_begin();
    if (!text)
        return json_null();
    if (is_utf8(text))
        return made(json_string_nocheck(text));
    tc_strbuf b = {0};
    add_utf8(&b, text);
    json_t *j = made(json_string_nocheck(tc_sb_str(&b)));
    tc_strbuf_free(&b);
    return j;
}

json_t *tc_json_format(const char *fmt, ...) {
    tc_strbuf b = {0};
    va_list ap;
    va_start(ap, fmt);
    tc_sb_vprintf(&b, fmt, ap);
    va_end(ap);
    json_t *j = tc_json_string(tc_sb_str(&b));
    tc_strbuf_free(&b);
    return j;
}

json_t *tc_json_integer(json_int_t v) {
    tc_json_begin();
    return made(json_integer(v));
}

json_t *tc_json_real(double v) {
    tc_json_begin();
    return isfinite(v) ? made(json_real(v)) : json_null();
}

json_t *tc_json_array(void) {
    tc_json_begin();
    return made(json_array());
}

json_t *tc_json_object(void) {
    tc_json_begin();
    return made(json_object());
}

/* ---- into others ---- */

void tc_json_set(json_t *object, const char *key, json_t *v) {
    if (!object || !v) { /* memory ran out, or there is none */
        json_decref(v);
        return;
    }
    if (is_utf8(key)) {
        done(json_object_set_new_nocheck(object, key, v));
        return;
    }
    tc_strbuf b = {0};
    add_utf8(&b, key);
    done(json_object_set_new_nocheck(object, tc_sb_str(&b), v));
    tc_strbuf_free(&b);
}

void tc_json_append(json_t *array, json_t *v) {
    if (array && v)
        done(json_array_append_new(array, v));
    else
        json_decref(v);
}

void tc_json_update(json_t *object, json_t *v) {
    if (object && v)
        done(json_object_update(object, v));
    json_decref(v);
}

/* ---- json_pack ---- */

/* A va_list that functions can share. */
typedef struct arguments {
    va_list ap;
} arguments;

static char next(const char **fmt) {
    while (**fmt && strchr(" ,:", **fmt))
        (*fmt)++;
    assert(**fmt);
    return *(*fmt)++;
}

static json_t *value(char kind, arguments *a) {
    switch (kind) {
    case 's':
        return tc_json_string(va_arg(a->ap, const char *));
    case 'b':
        return json_boolean(va_arg(a->ap, int));
    case 'i':
        return tc_json_integer(va_arg(a->ap, int));
    case 'I':
        return tc_json_integer(va_arg(a->ap, json_int_t));
    case 'f':
        return tc_json_real(va_arg(a->ap, double));
    case 'n':
        return json_null();
    case 'o':
        return va_arg(a->ap, json_t *);
    case 'O':
        return json_incref(va_arg(a->ap, json_t *));
    default:
        assert(!"a letter that tc_json_pack does not know");
        return NULL;
    }
}

/* Deeper formats are easier to read as several calls. */
enum { MOST_DEEP = 4 };

typedef struct container {
    json_t *j; /* NULL: memory ran out */
    bool is_object;
    const char *key; /* of the next value; NULL: the key is yet to come */
} container;

static void put(container *in, json_t *v) {
    if (in->is_object)
        tc_json_set(in->j, in->key, v);
    else
        tc_json_append(in->j, v);
    in->key = NULL;
}

json_t *tc_json_pack(const char *fmt, ...) {
    arguments a;
    container open[MOST_DEEP];
    int depth = 0;
    json_t *v = NULL;
    va_start(a.ap, fmt);
    do {
        char c = next(&fmt);
        if (c == '{' || c == '[') {
            assert(depth < MOST_DEEP);
            open[depth++] = (container){.j = c == '{' ? tc_json_object() : tc_json_array(), .is_object = c == '{'};
            continue;
        }
        if (c == '}' || c == ']') {
            v = open[--depth].j;
        } else if (depth && open[depth - 1].is_object && !open[depth - 1].key) {
            assert(c == 's');
            open[depth - 1].key = va_arg(a.ap, const char *);
            continue;
        } else {
            v = value(c, &a);
        }
        if (depth)
            put(&open[depth - 1], v);
    } while (depth);
    va_end(a.ap);
    return v;
}

/* ---- text ---- */

/* Without 0x7f, a control character that Jansson writes as it is. */
static bool is_ascii(const char *text) {
    for (; *text; text++)
        if ((signed char)*text < 0 || *text == 0x7F)
            return false;
    return true;
}

char *tc_json_text(const json_t *j, size_t flags) {
    char *text = j ? json_dumps(j, flags | JSON_ENCODE_ANY) : NULL;
    if (j && !text)
        tc_alloc_refuse();
    if (!text || is_ascii(text))
        return text;
    tc_strbuf b = {0};
    tc_sb_say_json(&b, text);
    free(text);
    return b.data;
}

/* ---- reading ---- */

/* The quote that ends the string which begins at `quote`; NULL: none does. */
static const char *string_end(const char *quote) {
    for (const char *c = strchr(quote + 1, '"'); c; c = strchr(c + 1, '"')) {
        const char *slash = c;
        while (slash[-1] == '\\')
            slash--;
        if ((c - slash) % 2 == 0)
            return c;
    }
    return NULL;
}

/* `deep`: NULL, or gets the place of the first bracket below level `most`. */
static tc_json_amount measure(const char *text, int64_t most, const char **deep) {
    tc_json_amount a = {0};
    int64_t depth = 0;
    for (const char *c = text; c && *c; c++) {
        switch (*c) {
        case '"':
            c = string_end(c);
            if (!c)
                return a;
            break;
        case '[':
        case '{':
            a.lists += *c == '[';
            a.objects += *c == '{';
            if (++depth > a.deepest)
                a.deepest = depth;
            if (depth > most && deep && !*deep)
                *deep = c;
            break;
        case ']':
        case '}':
            depth--;
            break;
        case ',':
        case ':':
            a.members++;
            break;
        default:
            break;
        }
    }
    return a;
}

tc_json_amount tc_json_measure(const char *text) {
    return measure(text, INT64_MAX, NULL);
}

/* As Jansson says why. */
static void TC_PRINTF(4, 5) refuse(json_error_t *why, const char *text, const char *at, const char *fmt, ...) {
    va_list ap;
    if (!why)
        return;
    *why = (json_error_t){.line = 1, .column = 1, .position = (int)(at - text)};
    for (const char *c = text; c < at; c++) {
        why->line += *c == '\n';
        why->column = *c == '\n' ? 1 : why->column + 1;
    }
    va_start(ap, fmt);
    tc_vsay_to(why->text, sizeof why->text, fmt, ap);
    va_end(ap);
}

json_t *tc_json_read(const char *text, tc_input of, size_t flags, json_error_t *why) {
    const tc_input_bounds most = tc_input_bounds_of(of);
    const char *deep = NULL;
    if (strlen(text) > (uint64_t)most.bytes) {
        refuse(why, text, text, "it has more than %lld bytes, the most that are read", (long long)most.bytes);
        return NULL;
    }
    measure(text, most.depth, &deep);
    if (deep) {
        refuse(why, text, deep, "lists and objects nest more than %lld levels deep, the most that are read",
               (long long)most.depth);
        return NULL;
    }
    tc_json_begin();
    return json_loads(text, flags, why);
}

json_t *tc_json_read_own(const char *text) {
    tc_json_begin();
    return json_loads(text, 0, NULL);
}
