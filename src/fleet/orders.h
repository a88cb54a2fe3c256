/* What workers are told by those who run the fleet. */
#ifndef TC_FLEET_ORDERS_H
#define TC_FLEET_ORDERS_H

#include "fleet/crowd.h"

enum { TC_FLEET_REASON = 200 /* bytes of a reason */ };

typedef enum tc_fleet_order {
    TC_FLEET_DRAIN,      /* ends its job, takes no more, and leaves */
    TC_FLEET_KICK,       /* leaves at once: its job goes to another worker */
    TC_FLEET_QUARANTINE, /* stays, and takes no jobs, whoever has its name */
    TC_FLEET_RELEASE,    /* takes jobs again; what else it was told and has not done is taken back */
    TC_FLEET_NORDERS
} tc_fleet_order;

bool tc_fleet_order_parse(const char *word, tc_fleet_order *out); /* "drain", ... */
/* Tells the workers whose names or keys `who` has (NULL-terminated; * and ? stand for any characters); they are in `told`, which
 * was new. TC_BAD_INPUT where one of `who` is nobody: then nobody is told. why: one line; "": nobody needs to know. */
TC_NODISCARD tc_status tc_fleet_tell(tc_fleet_bus *b, tc_fleet_order what, const char *const *who, const char *why,
                                     tc_fleet_crowd *told, tc_error *err);

/* What stands for a worker, as it is kept for it. */
typedef struct tc_fleet_told {
    const char *name, *key;
    const char *leave; /* the word for drain or kick; "": it stays */
    bool quarantined;  /* it takes no jobs */
    const char *why;   /* "": nobody said */
} tc_fleet_told;

TC_NODISCARD tc_status tc_fleet_told_read(const char *text, tc_arena *a, tc_fleet_told *out, tc_error *err);
bool tc_fleet_told_kick(const tc_fleet_told *t); /* it says to leave at once */

#endif
