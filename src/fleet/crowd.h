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
int tc_fleet_crowd_of(const tc_fleet_crowd *c, const char *key); /* how many are of it */
bool tc_fleet_is_serving(const tc_fleet_worker *w);              /* it takes jobs */

/* ---- what it is told (order.c) ---- */

enum { TC_FLEET_REASON = 200 /* bytes of a reason */ };

typedef enum tc_fleet_order {
    TC_FLEET_DRAIN,      /* ends its job, takes no more, and leaves */
    TC_FLEET_KICK,       /* leaves at once: its job goes to another worker */
    TC_FLEET_QUARANTINE, /* stays, and takes no jobs, whoever has its name */
    TC_FLEET_RELEASE,    /* takes jobs again; what else it was told and has not done is taken back */
    TC_FLEET_NORDERS
} tc_fleet_order;

bool tc_fleet_order_parse(const char *word, tc_fleet_order *out); /* "drain", ... */
/* Tells the workers whose names or keys `who` has (NULL-terminated; * and ? stand for any characters); they are in `told`, which was
 * new. TC_BAD_INPUT where one of `who` is nobody: then nobody is told. why: one line; "": nobody needs to know. */
TC_NODISCARD tc_status tc_fleet_tell(tc_fleet_bus *b, tc_fleet_order what, const char *const *who, const char *why,
                                     tc_fleet_crowd *told, tc_error *err);

#endif
