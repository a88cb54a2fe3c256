/* Who serves which key. */
#ifndef TC_FLEET_CROWD_H
#define TC_FLEET_CROWD_H

#include "fleet/bus.h"
#include "fleet/message.h"
#include "support/vec.h"

typedef struct tc_fleet_crowd {
    tc_arena *arena; /* of the workers' texts */
    TC_VEC(tc_fleet_worker) workers;
} tc_fleet_crowd;

tc_fleet_crowd tc_fleet_crowd_new(void);
void tc_fleet_crowd_free(tc_fleet_crowd *c);
/* Adds those who are there now; an announcement that is damaged is left out, with a warning. */
TC_NODISCARD tc_status tc_fleet_crowd_see(tc_fleet_crowd *c, tc_fleet_bus *b, tc_error *err);
/* No worker before the i-th is of its key. */
bool tc_fleet_crowd_first(const tc_fleet_crowd *c, size_t i);
int tc_fleet_crowd_of(const tc_fleet_crowd *c, const char *key);       /* how many measure for it */
int tc_fleet_crowd_builders(const tc_fleet_crowd *c, const char *key); /* how many only build for it */
bool tc_fleet_measures(const tc_fleet_worker *w);                      /* that is, it does not only build */
bool tc_fleet_is_serving(const tc_fleet_worker *w);                    /* it takes jobs */

#endif
