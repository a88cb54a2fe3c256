/* Private to the bus: what of NATS it holds, and how it tells of NATS's failures. */
#ifndef TC_FLEET_BUS_INT_H
#define TC_FLEET_BUS_INT_H

#include <stdatomic.h>

#include <nats/nats.h>

#include "fleet/bus.h"

enum {
    BUS_SUBJECT = 256, /* bytes of a subject; its words are bounded (tc_fleet_is_word) */
    BUS_SAID = 128     /* bytes of what a server says instead of giving a job */
};

/* How jobs are fetched (bus_pull.c). */
typedef struct bus_requests {
    char subject[BUS_SUBJECT]; /* where jobs are asked for */
    char inbox[BUS_SUBJECT];   /* beneath which answers come */
    uint64_t number;           /* of the last request */
    bool is_out;               /* it is not answered yet */
    double answer_by;          /* when it is given up (tc_now) */
    uint64_t losses;           /* of the connection, when it was sent */
} bus_requests;

struct tc_fleet_bus {
    char *url;               /* without passwords */
    char *public_key, *seed; /* of an nkey; NULL: none. Of credentials the seed is that of the last connection */
    char *creds;             /* their file; NULL: none */
    atomic_bool barred;      /* the server said that this user may not do something */
    atomic_bool unsendable;  /* a signature was one that the client's library cannot send */
    natsConnection *connection;
    jsCtx *js;
    kvStore *workers, *builders, *begun, *tuners, *orders;
    natsSubscription *results, *jobs;
    const struct bus_queue *queue; /* whose jobs it fetches; NULL: nobody's yet */
    bus_requests pull;
};

#define BUS_WORK_STREAM "TCTUNE_WORK"
#define BUS_RESULT_STREAM "TCTUNE_RESULT"
#define BUS_BUILD_STREAM "TCTUNE_BUILD"
#define BUS_OBJECT_STREAM "TCTUNE_OBJECT"
#define BUS_RECORD_STREAM "TCTUNE_RECORD"
#define BUS_BEGUN "tctune_begun"
#define BUS_BUILDERS "tctune_builders"

/* What was tried failed: TC_ENV, or TC_BAD_INPUT where the server does not let this user do it, or the message is too large for
 * it. */
tc_status bus_fail(tc_fleet_bus *b, tc_error *err, natsStatus s, const char *what);
/* Makes what is missing of streams and buckets. */
tc_status bus_prepare(tc_fleet_bus *b, tc_error *err);
/* Publishes to a stream, once for each message id. A connection that was lost is waited for, for some seconds. */
tc_status bus_publish(tc_fleet_bus *b, const char *subject, const char *id, const char *text, tc_error *err);
/* The same of any bytes. id: NULL: each is a message of its own. */
tc_status bus_publish_bytes(tc_fleet_bus *b, const char *subject, const char *id, const void *data, size_t n, tc_error *err);
/* The same, and the message's number in its stream, if it is asked for. */
tc_status bus_publish_numbered(tc_fleet_bus *b, const char *subject, const char *id, const void *data, size_t n, uint64_t *number,
                               tc_error *err);
/* Number in a stream up to which those who serve a key's queue have ended all that the server gave them (tc_fleet_bus_ended). */
tc_status bus_ended(tc_fleet_bus *b, const char *stream, const char *key, uint64_t *number, tc_error *err);
/* Makes the stream of objects where there is none. */
tc_status bus_prepare_objects(tc_fleet_bus *b, tc_error *err);
/* Whoever is there, in such a bucket. */
tc_status bus_announce(tc_fleet_bus *b, kvStore *bucket, const char *key, const char *name, const char *text, tc_error *err);
void bus_leave(kvStore *bucket, const char *key, const char *name);
/* Two connections may make the same stream at once. The server then refuses one of them, and has the stream a moment later. True
 * after a short while: look again. `tries`, 0 at first, bounds that to a second. */
bool bus_made_by_another(natsStatus s, int *tries);

/* ---- bus_pull.c ---- */

/* From now on jobs of a key are fetched from such a stream. */
natsStatus bus_pull_begin(tc_fleet_bus *b, const char *stream, const char *key);
void bus_pull_end(tc_fleet_bus *b);
/* A job within `seconds`; *out NULL: there is none. NATS_ERR: `said` has the server's words. */
natsStatus bus_pull(tc_fleet_bus *b, double seconds, natsMsg **out, char said[BUS_SAID]);
/* One answer to what was asked for before: a job in *out, or NULL. */
natsStatus bus_pull_take(tc_fleet_bus *b, double seconds, natsMsg **out, char said[BUS_SAID]);

/* ---- what passes ---- */

/* What a server says of a request while it leaves: it, or another, will be there again. */
bool bus_server_leaves(const char *said);
/* Nothing came, for a reason that passes. */
bool bus_nothing_came(natsStatus s);
/* The same before `until` (tc_now): it is to be asked again, and a short while has passed. */
bool bus_goes_on(natsStatus s, double until);

#endif
