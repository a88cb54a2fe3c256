/* JSON that is read or made. */
#ifndef TC_MEASURE_JSON_TEXT_H
#define TC_MEASURE_JSON_TEXT_H

#include <jansson.h>

/* From now on Jansson gets memory as tc_try_malloc gives it: where a part of a document is refused, the call ends by tc_ran_out. */
void tc_meas_json_begin(void);

/* As json_loads, with memory that is never refused in small blocks: Jansson's reader ends the process, by an assertion, where it
 * is refused some in the middle of a word. The call ends by tc_ran_out instead (support/alloc.h). NULL: no JSON, and `why` (may
 * be NULL) says why. To be released with json_decref. */
json_t *tc_meas_json_read(const char *text, size_t flags, json_error_t *why);

#endif
