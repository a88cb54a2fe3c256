/* How far a database has come along the stream of records. The place is kept in the database itself, so a copy, or an older
 * copy that was put back, knows its own place. It is sealed like models: a database of another machine begins at the start. */
#ifndef TC_FLEET_PLACE_H
#define TC_FLEET_PLACE_H

#include "measure/records/database.h"

typedef struct tc_fleet_place {
    int64_t made; /* which stream (tc_fleet_kept); 0: none */
    int64_t at;   /* a number of it, or an id of the database */
} tc_fleet_place;

/* `of`: a text that tells one place of a database from its others. All 0: there is none. */
TC_NODISCARD tc_status tc_fleet_place_read(tc_meas_db *db, const char *of, tc_fleet_place *out, tc_error *err);
TC_NODISCARD tc_status tc_fleet_place_write(tc_meas_db *db, const char *of, const tc_fleet_place *p, tc_error *err);

#endif
