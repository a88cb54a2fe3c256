/* Places in the stream of records. */
#include "fleet/team/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TEXT = 48 /* bytes of two numbers */ };

tc_status tc_fleet_place_read(tc_meas_db *db, const char *of, tc_fleet_place *out, tc_error *err) {
    char text[TEXT] = "";
    const void *data;
    size_t n;
    *out = (tc_fleet_place){0};
    tc_arena *a = tc_arena_new();
    tc_status s = tc_meas_db_get_model(db, a, tc_digest_of(of, strlen(of)), TC_MEAS_DB_PLACE, &data, &n, err);
    if (s == TC_OK && data && n < sizeof text) {
        memcpy(text, data, n);
        if (sscanf(text, "%" SCNd64 " %" SCNd64, &out->made, &out->at) != 2 || out->at < 0)
            *out = (tc_fleet_place){0};
    }
    tc_arena_free(a);
    return s;
}

tc_status tc_fleet_place_write(tc_meas_db *db, const char *of, const tc_fleet_place *p, tc_error *err) {
    char text[TEXT];
    int n = snprintf(text, sizeof text, "%" PRId64 " %" PRId64, p->made, p->at);
    return tc_meas_db_put_model(db, tc_digest_of(of, strlen(of)), TC_MEAS_DB_PLACE, text, (size_t)n, err);
}
