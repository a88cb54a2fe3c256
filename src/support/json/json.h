/* src/support/json owns calls of Jansson that make, write and read documents. Not here: what a document says (src/report), and how
 * JSON is printed for people (support/say.h).
 *
 * Jansson's own calls return NULL or -1 where a text is not UTF-8, a number is not finite, or memory is refused. A document then
 * silently lacks a part. These calls have no result to forget. A text gets an escape, "\xff", for each byte that is not UTF-8. A
 * number that is not finite becomes null. Where memory is refused, the call of the library ends (support/alloc.h).
 *
 * Who makes or reads a document includes this header, and nobody else includes jansson.h. A test checks that no other folder calls
 * those functions of Jansson that these replace. */
#ifndef TC_SUPPORT_JSON_JSON_H
#define TC_SUPPORT_JSON_JSON_H

#include <jansson.h>

#include "support/inputs.h"
#include "support/status.h"

/* From now on Jansson gets memory as tc_try_malloc gives it. All calls below that make or read a value begin with it. */
void tc_json_begin(void);

/* ---- values; NULL only after memory ran out ---- */

json_t *tc_json_string(const char *text); /* NULL: null */
json_t *tc_json_format(const char *fmt, ...) TC_PRINTF(1, 2);
json_t *tc_json_integer(json_int_t v);
json_t *tc_json_real(double v); /* null when it is not finite */
json_t *tc_json_array(void);
json_t *tc_json_object(void);
/* As json_pack, of {, [, s, b, i, I, f, n, o and O. "s" and "f" are the calls above; `o` of NULL is left out. */
json_t *tc_json_pack(const char *fmt, ...);

/* ---- into others, which take `v` over; NULL is left out ---- */

void tc_json_set(json_t *object, const char *key, json_t *v);
void tc_json_append(json_t *array, json_t *v);
void tc_json_update(json_t *object, json_t *v); /* sets all that v has */

/* ---- text ---- */

/* As json_dumps, also of a value that is no container. What must not reach a terminal, such as U+009B, is a JSON escape. NULL: j is
 * NULL, or memory ran out. To be freed. */
char *tc_json_text(const json_t *j, size_t flags);
/* What a text has, if it is JSON: found without making anything of it. */
typedef struct tc_json_amount {
    int64_t deepest;                 /* levels of lists and objects */
    int64_t lists, objects, members; /* members: commas and colons, 1 less than values and keys in most lists and objects */
} tc_json_amount;
tc_json_amount tc_json_measure(const char *text);
/* As json_loads, for text from outside, of at most as many bytes and levels as the table of inputs allows `of`. Jansson's reader
 * ends the process, by an assertion, where it is refused memory in the middle of a word. Here the call ends by tc_ran_out instead.
 * NULL: no JSON, and `why` (may be NULL) says why. To be released with json_decref. */
json_t *tc_json_read(const char *text, tc_input of, size_t flags, json_error_t *why);
/* The same for text that tc_json_text made. */
json_t *tc_json_read_own(const char *text);

#endif
