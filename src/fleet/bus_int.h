/* Private to the bus: what of NATS it holds, and how it tells of NATS's failures. */
#ifndef TC_FLEET_BUS_INT_H
#define TC_FLEET_BUS_INT_H

#include <stdatomic.h>

#include <nats/nats.h>

#include "fleet/bus.h"

enum { BUS_SUBJECT = 256 /* bytes of a subject; its words are bounded (tc_fleet_is_word) */ };

struct tc_fleet_bus {
    char *url;               /* without passwords */
    char *public_key, *seed; /* of an nkey; NULL: none */
    atomic_bool barred;      /* the server said that this user may not do something */
    natsConnection *connection;
    jsCtx *js;
    kvStore *workers, *begun, *tuners, *orders;
    natsSubscription *results, *jobs;
};

#define BUS_WORK_STREAM "TCTUNE_WORK"
#define BUS_RESULT_STREAM "TCTUNE_RESULT"
#define BUS_RECORD_STREAM "TCTUNE_RECORD"
#define BUS_BEGUN "tctune_begun"

/* What was tried failed: TC_ENV, or TC_BAD_INPUT where the server does not let this user do it, or the message is too large for it. */
tc_status bus_fail(tc_fleet_bus *b, tc_error *err, natsStatus s, const char *what);
/* Makes what is missing of streams and buckets. */
tc_status bus_prepare(tc_fleet_bus *b, tc_error *err);
/* Publishes to a stream, once for each message id. A connection that was lost is waited for, for some seconds. */
tc_status bus_publish(tc_fleet_bus *b, const char *subject, const char *id, const char *text, tc_error *err);
/* Nothing came, for a reason that passes. */
bool bus_nothing_came(natsStatus s);
/* The same before `until` (tc_now): it is to be asked again, and a short while has passed. */
bool bus_goes_on(natsStatus s, double until);

#endif
