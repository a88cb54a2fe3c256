/* A NATS server with JetStream, as a fleet uses it:
 *
 *   tctune.work.KEY.TUNER      jobs, a work queue: each is given to one of the workers that serve the key, and again to another one
 *                              where it is neither answered nor said to be under way for a lease
 *   tctune.result.TUNER.ID     results, one of each job, kept for a day: a tuner that was started again finds its own
 *   bucket tctune_workers      who serves which key, as KEY.NAME; an entry goes when its worker is silent
 *   bucket tctune_begun        how many workers began a job and were never heard of again
 *
 * Messages are texts (message.h); what is in them the bus does not know. A connection that is lost is made again by itself, and
 * calls that wait go on waiting. Functions return TC_ENV with what the server said and what to do about it. */
#ifndef TC_FLEET_BUS_H
#define TC_FLEET_BUS_H

#include <stdint.h>

#include "support/arena.h"
#include "support/status.h"

/* Which server, and who is let in. Files and names are as the command has them; NULL: none. */
typedef struct tc_fleet_access {
    const char *url;   /* nats://HOST:PORT, tls://..., several with commas between them */
    const char *creds; /* file of a user's JWT and seed */
    const char *
        nkey; /* file of a user's public key and seed, as deploy/fleet-user writes and `nk -gen user -pubout` prints them; replies then
                        * come to _INBOX.PUBLICKEY, so that the server can keep them from others */
    const char *ca; /* certificates by which the server's is checked */
} tc_fleet_access;

typedef struct tc_fleet_bus tc_fleet_bus;

/* Connects, and makes streams and buckets where there are none. `name`: of the connection, for whoever watches the server. */
TC_NODISCARD tc_status tc_fleet_bus_open(const tc_fleet_access *access, const char *name, tc_fleet_bus **out, tc_error *err);
void tc_fleet_bus_close(tc_fleet_bus *b); /* NULL is fine */
bool tc_fleet_bus_connected(const tc_fleet_bus *b);
/* The server's addresses without passwords, for messages. */
const char *tc_fleet_bus_url(const tc_fleet_bus *b);

/* ---- the tuner's ---- */

/* From now on results that are sent to `tuner` are received. */
TC_NODISCARD tc_status tc_fleet_bus_listen(tc_fleet_bus *b, const char *tuner, tc_error *err);
/* Puts a job into the queue of a key. One of the same tuner and id that was put there within the last minutes is in it once. */
TC_NODISCARD tc_status tc_fleet_bus_ask(tc_fleet_bus *b, const char *key, const char *tuner, const char *id, const char *text,
                                        tc_error *err);
/* The next result that arrives within `seconds`; *text NULL: none did. */
TC_NODISCARD tc_status tc_fleet_bus_hear(tc_fleet_bus *b, double seconds, tc_arena *a, const char **text, tc_error *err);
/* The result of a job, if there is one already; *text NULL: none. */
TC_NODISCARD tc_status tc_fleet_bus_find(tc_fleet_bus *b, const char *tuner, const char *id, tc_arena *a, const char **text,
                                         tc_error *err);
/* Takes the tuner's jobs that nobody has begun out of the queue of a key. */
void tc_fleet_bus_withdraw(tc_fleet_bus *b, const char *key, const char *tuner);

/* ---- the worker's ---- */

/* From now on jobs of the key can be fetched. lease: seconds after which one of which nothing is heard is given to another worker; the
 * last worker that says one decides for the key. */
TC_NODISCARD tc_status tc_fleet_bus_serve(tc_fleet_bus *b, const char *key, double lease, tc_error *err);

/* A job that was given to this worker. It is ended by one of done, back, refuse. */
typedef struct tc_fleet_delivery tc_fleet_delivery;

/* One job, within `seconds`; *out NULL: there is none. */
TC_NODISCARD tc_status tc_fleet_bus_fetch(tc_fleet_bus *b, double seconds, tc_fleet_delivery **out, tc_error *err);
const char *tc_fleet_delivery_text(const tc_fleet_delivery *d);
/* Says that it is under way: the lease begins anew. From any thread. */
void tc_fleet_delivery_touch(tc_fleet_delivery *d);
/* It was answered: it leaves the queue. Frees d, as the two below. */
void tc_fleet_delivery_done(tc_fleet_delivery *d);
/* It goes to another worker, after so many seconds. */
void tc_fleet_delivery_back(tc_fleet_delivery *d, double seconds);
/* It is no job, and is given to nobody any more. */
void tc_fleet_delivery_refuse(tc_fleet_delivery *d);

/* Notes that this worker begins a job; *before: workers that did so and never said how it ended. */
TC_NODISCARD tc_status tc_fleet_bus_begin(tc_fleet_bus *b, const char *id, int *before, tc_error *err);
/* It has ended, or goes to another worker, with this one alive. */
void tc_fleet_bus_end(tc_fleet_bus *b, const char *id, int before);
/* Sends a result; one of the same tuner and id is kept once. It is in the stream when this returns. */
TC_NODISCARD tc_status tc_fleet_bus_answer(tc_fleet_bus *b, const char *tuner, const char *id, const char *text, tc_error *err);

/* ---- who is there ---- */

enum { TC_FLEET_SILENCE = 30 /* seconds after which a worker that says nothing is gone */ };

/* What a worker tells of itself, until it is silent or leaves. From any thread. */
TC_NODISCARD tc_status tc_fleet_bus_announce(tc_fleet_bus *b, const char *key, const char *name, const char *text, tc_error *err);
void tc_fleet_bus_leave(tc_fleet_bus *b, const char *key, const char *name);
/* One worker's text, and seconds since it came. */
typedef void tc_fleet_seen(void *user, const char *text, double age);
TC_NODISCARD tc_status tc_fleet_bus_workers(tc_fleet_bus *b, tc_fleet_seen *seen, void *user, tc_error *err);
/* Jobs that wait for a worker of the key, and those that one has. Both 0 where nobody ever served it. */
TC_NODISCARD tc_status tc_fleet_bus_queue(tc_fleet_bus *b, const char *key, int64_t *waiting, int64_t *under_way, tc_error *err);

#endif
