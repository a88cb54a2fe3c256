/* The bus as workers use it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/bus_build.h"
#include "fleet/bus_int.h"
#include "support/log.h"
#include "support/vec.h"

#define NANOSECONDS 1e9

enum { MOST_DELIVERIES = 200 /* of one job: workers leave in the middle, servers restart, and somewhere it ends */ };

/* Of jobs: their stream, and what their subjects have behind "tctune.". */
typedef struct bus_queue {
    const char *stream, *subject;
} bus_queue;

static const bus_queue work = {BUS_WORK_STREAM, "work"}, builds = {BUS_BUILD_STREAM, "build"};

static tc_status add_consumer(tc_fleet_bus *b, const char *key, double lease, tc_error *err) {
    char filter[BUS_SUBJECT];
    jsConsumerConfig c;
    jsErrCode code = 0;
    jsConsumerInfo *info = NULL;
    int64_t wait = (int64_t)(lease * NANOSECONDS), waits[] = {wait, 2 * wait, 4 * wait, 8 * wait};
    snprintf(filter, sizeof filter, "tctune.%s.%s.>", b->queue->subject, key);
    jsConsumerConfig_Init(&c);
    c.Name = c.Durable =
        key; /* with a name the filter is in the request's subject, so that a server can allow a worker just this one */
    c.FilterSubject = filter;
    c.AckPolicy = js_AckExplicit;
    c.AckWait = waits[0];
    c.BackOff = waits;
    c.BackOffLen = TC_LEN(waits);
    c.MaxDeliver = MOST_DELIVERIES;
    c.MaxAckPending = 1 << 16;
    natsStatus s = js_AddConsumer(&info, b->js, b->queue->stream, &c, NULL, &code);
    jsConsumerInfo_Destroy(info);
    return s == NATS_OK ? TC_OK : bus_fail(b, err, s, "the queue of jobs cannot be served");
}

static tc_status serve(tc_fleet_bus *b, const bus_queue *queue, const char *key, double lease, tc_error *err) {
    if (b->jobs) /* once more */
        TC_TRY(bus_prepare(b, err));
    b->queue = queue;
    TC_TRY(add_consumer(b, key, lease, err));
    natsStatus s = bus_pull_begin(b, queue->stream, key);
    return s == NATS_OK ? TC_OK : bus_fail(b, err, s, "the queue of jobs cannot be served");
}

tc_status tc_fleet_bus_serve(tc_fleet_bus *b, const char *key, double lease, tc_error *err) {
    return serve(b, &work, key, lease, err);
}

tc_status tc_fleet_bus_serve_builds(tc_fleet_bus *b, const char *key, double lease, tc_error *err) {
    return serve(b, &builds, key, lease, err);
}

bool tc_fleet_bus_is_served(tc_fleet_bus *b, const char *key) {
    jsConsumerInfo *info = NULL;
    jsErrCode code = 0;
    natsStatus s = js_GetConsumerInfo(&info, b->js, b->queue ? b->queue->stream : BUS_WORK_STREAM, key, NULL, &code);
    jsConsumerInfo_Destroy(info);
    return s != NATS_NOT_FOUND;
}

/* ---- deliveries ---- */

struct tc_fleet_delivery {
    natsConnection *connection; /* the bus's */
    natsMsg *message;
    char *text;
    int times;       /* that it was given to a worker, this one included */
    int64_t when_ns; /* it was asked for, by the server's clock; 0: not known */
};

/* An answer to a delivery goes to $JS.ACK.STREAM.CONSUMER.TIMES.NUMBER.NUMBER.WHEN.LEFT. Later servers put two words before the
 * stream, and one behind. */
static void read_about(tc_fleet_delivery *d, const char *reply) {
    enum { LEAST = 9, LATER = 11, MOST = 16, TIMES = 4, WHEN = 7, MOST_TIMES = 1 << 20 };
    const char *word[MOST];
    size_t n = 0;
    for (const char *at = reply; at && n < MOST; at = strchr(at, '.'), at += at != NULL)
        word[n++] = at;
    size_t shift = n >= LATER ? LATER - LEAST : 0;
    d->times = 1;
    if (n < LEAST)
        return;
    d->times = (int)TC_MIN(TC_MAX(strtoll(word[TIMES + shift], NULL, 10), 1), MOST_TIMES);
    d->when_ns = TC_MAX(strtoll(word[WHEN + shift], NULL, 10), 0);
}

static tc_fleet_delivery *delivered(tc_fleet_bus *b, natsMsg *m) {
    tc_fleet_delivery *d = tc_xcalloc(1, sizeof *d);
    size_t n = (size_t)natsMsg_GetDataLength(m);
    d->connection = b->connection;
    d->message = m;
    if (natsMsg_GetReply(m))
        read_about(d, natsMsg_GetReply(m));
    d->text = tc_xmalloc(n + 1);
    memcpy(d->text, natsMsg_GetData(m), n);
    d->text[n] = '\0';
    return d;
}

tc_status tc_fleet_bus_fetch(tc_fleet_bus *b, double seconds, tc_fleet_delivery **out, tc_error *err) {
    double until = tc_now() + seconds;
    char said[BUS_SAID];
    natsMsg *m;
    natsStatus s;
    *out = NULL;
    do {
        s = bus_pull(b, TC_MAX(until - tc_now(), 0.0), &m, said);
        if (s == NATS_ERR && bus_server_leaves(said))
            s = NATS_NO_RESPONDERS;
    } while (!m && bus_goes_on(s, until));
    if (m)
        *out = delivered(b, m);
    if (s == NATS_OK || bus_nothing_came(s))
        return TC_OK;
    return *said ? tc_fail(err, TC_ENV, "%s: no jobs can be fetched: the server says: %s", b->url, said)
                 : bus_fail(b, err, s, "no jobs can be fetched");
}

const char *tc_fleet_delivery_text(const tc_fleet_delivery *d) {
    return d->text;
}

int tc_fleet_delivery_times(const tc_fleet_delivery *d) {
    return d->times;
}

bool tc_fleet_bus_is_awaited(tc_fleet_bus *b, const char *tuner, const tc_fleet_delivery *d, double wanted) {
    kvEntry *e = NULL;
    natsStatus s = kvStore_Get(&e, b->tuners, tuner);
    int64_t asked = s == NATS_OK && wanted > 0 ? d->when_ns : 0;
    bool late = asked > 0 && (double)(kvEntry_Created(e) - asked) > wanted * NANOSECONDS;
    kvEntry_Destroy(e);
    return s != NATS_NOT_FOUND && !late;
}

/* What JetStream's servers are told of a delivery. Where that is lost, the job is given to another, and answered once. */
static void tell(const tc_fleet_delivery *d, const char *what) {
    const char *to = natsMsg_GetReply(d->message);
    if (to)
        (void)natsConnection_PublishString(d->connection, to, what);
}

void tc_fleet_delivery_touch(tc_fleet_delivery *d) {
    tell(d, "+WPI");
}

static void release(tc_fleet_delivery *d) {
    natsMsg_Destroy(d->message);
    free(d->text);
    free(d);
}

void tc_fleet_delivery_done(tc_fleet_delivery *d) {
    tell(d, "+ACK");
    release(d);
}

void tc_fleet_delivery_back(tc_fleet_delivery *d, double seconds) {
    char what[64] = "-NAK";
    if (seconds > 0)
        snprintf(what, sizeof what, "-NAK {\"delay\": %lld}", (long long)(seconds * NANOSECONDS));
    tell(d, what);
    release(d);
}

void tc_fleet_delivery_refuse(tc_fleet_delivery *d) {
    tell(d, "+TERM");
    release(d);
}

/* A request outlives the wait for it, so that a job may come when nobody fetches any more. */
void tc_fleet_bus_rest(tc_fleet_bus *b, tc_fleet_delivery *d) {
    enum { MOST = 16 };
    tc_fleet_delivery *got[MOST + 1] = {d};
    uint64_t queued = 0;
    int n = d != NULL;
    if (!b->jobs)
        return;
    for (int tries = 0; tries < MOST && natsSubscription_QueuedMsgs(b->jobs, &queued) == NATS_OK && queued > 0; tries++) {
        char said[BUS_SAID];
        natsMsg *m;
        (void)bus_pull_take(b, 0, &m, said);
        if (m)
            got[n++] = delivered(b, m);
    }
    (void)natsSubscription_Unsubscribe(b->jobs); /* first: what is given back is not to come again */
    (void)natsConnection_FlushTimeout(b->connection, 1000);
    while (n > 0)
        tc_fleet_delivery_back(got[--n], 0);
    bus_pull_end(b);
}

/* ---- answers ---- */

tc_status tc_fleet_bus_answer(tc_fleet_bus *b, const tc_fleet_self *self, const char *tuner, const char *id, const char *text,
                              tc_error *err) {
    char subject[BUS_SUBJECT];
    snprintf(subject, sizeof subject, "tctune.result.%s.%s.%s.%s", self->key, self->name, tuner, id);
    return bus_publish(b, subject, subject, text, err);
}
