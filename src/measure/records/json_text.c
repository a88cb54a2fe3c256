#include "measure/records/json_text.h"

#include <pthread.h>
#include <stdlib.h>

#include "support/alloc.h"

/* What it gives is released by free, so it does not matter who else in the process uses Jansson, and since when. */
static void give_memory(void) {
    json_set_alloc_funcs(tc_try_malloc, free);
}

void tc_meas_json_begin(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, give_memory);
}

json_t *tc_meas_json_read(const char *text, size_t flags, json_error_t *why) {
    tc_meas_json_begin();
    return json_loads(text, flags, why);
}
