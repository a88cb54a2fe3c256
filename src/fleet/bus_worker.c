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
    char filter[BUS_SUBJECT];
    jsSubOptions o;
    jsErrCode code = 0;
    if (b->jobs) /* once more */
        TC_TRY(bus_prepare(b, err));
    b->queue = queue;
    TC_TRY(add_consumer(b, key, lease, err));
    natsSubscription_Destroy(b->jobs);
    b->jobs = NULL;
    snprintf(filter, sizeof filter, "tctune.%s.%s.>", queue->subject, key);
    jsSubOptions_Init(&o);
    o.Stream = queue->stream;
    o.Consumer = key;
    natsStatus s = js_PullSubscribe(&b->jobs, b->js, filter, key, NULL, &o, &code);
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
    natsMsg *message;
    char *text;
};

static tc_fleet_delivery *delivered(natsMsg *m) {
    tc_fleet_delivery *d = tc_xcalloc(1, sizeof *d);
    size_t n = (size_t)natsMsg_GetDataLength(m);
    d->message = m;
    d->text = tc_xmalloc(n + 1);
    memcpy(d->text, natsMsg_GetData(m), n);
    d->text[n] = '\0';
    return d;
}

static natsStatus fetch_one(tc_fleet_bus *b, double seconds, tc_fleet_delivery **out) {
    natsMsgList list = {0};
    jsErrCode code = 0;
    natsStatus s = natsSubscription_Fetch(&list, b->jobs, 1, (int64_t)(seconds * 1e3) + 1, &code);
    if (s == NATS_OK && list.Count == 1) {
        *out = delivered(list.Msgs[0]);
        list.Msgs[0] = NULL;
    }
    natsMsgList_Destroy(&list);
    return s;
}

tc_status tc_fleet_bus_fetch(tc_fleet_bus *b, double seconds, tc_fleet_delivery **out, tc_error *err) {
    double until = tc_now() + seconds;
    natsStatus s;
    *out = NULL;
    do /* what the server says of an earlier request that came to nothing ends the next one too */
        s = fetch_one(b, TC_MAX(until - tc_now(), 0), out);
    while (!*out && bus_goes_on(s, until));
    return s == NATS_OK || bus_nothing_came(s) ? TC_OK : bus_fail(b, err, s, "no jobs can be fetched");
}

const char *tc_fleet_delivery_text(const tc_fleet_delivery *d) {
    return d->text;
}

int tc_fleet_delivery_times(const tc_fleet_delivery *d) {
    enum { MOST = 1 << 20 };
    jsMsgMetaData *about = NULL;
    int n = natsMsg_GetMetaData(&about, d->message) == NATS_OK ? (int)TC_MIN(about->NumDelivered, (uint64_t)MOST) : 1;
    jsMsgMetaData_Destroy(about);
    return n;
}

/* Nanoseconds, by the server's clock; 0: not known. */
static int64_t asked_at(const tc_fleet_delivery *d) {
    jsMsgMetaData *about = NULL;
    int64_t at = natsMsg_GetMetaData(&about, d->message) == NATS_OK ? about->Timestamp : 0;
    jsMsgMetaData_Destroy(about);
    return at;
}

bool tc_fleet_bus_is_awaited(tc_fleet_bus *b, const char *tuner, const tc_fleet_delivery *d, double wanted) {
    kvEntry *e = NULL;
    natsStatus s = kvStore_Get(&e, b->tuners, tuner);
    int64_t asked = s == NATS_OK && wanted > 0 ? asked_at(d) : 0;
    bool late = asked > 0 && (double)(kvEntry_Created(e) - asked) > wanted * NANOSECONDS;
    kvEntry_Destroy(e);
    return s != NATS_NOT_FOUND && !late;
}

void tc_fleet_delivery_touch(tc_fleet_delivery *d) {
    (void)natsMsg_InProgress(d->message, NULL); /* lost: the job is given to another, and answered once */
}

static void release(tc_fleet_delivery *d) {
    natsMsg_Destroy(d->message);
    free(d->text);
    free(d);
}

void tc_fleet_delivery_done(tc_fleet_delivery *d) {
    (void)natsMsg_Ack(d->message, NULL);
    release(d);
}

void tc_fleet_delivery_back(tc_fleet_delivery *d, double seconds) {
    (void)(seconds > 0 ? natsMsg_NakWithDelay(d->message, (int64_t)(seconds * 1e3), NULL) : natsMsg_Nak(d->message, NULL));
    release(d);
}

void tc_fleet_delivery_refuse(tc_fleet_delivery *d) {
    (void)natsMsg_Term(d->message, NULL);
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
        got[n] = NULL;
        (void)fetch_one(b, 0, &got[n]);
        n += got[n] != NULL;
    }
    (void)natsSubscription_Unsubscribe(b->jobs); /* first: what is given back is not to come again */
    (void)natsConnection_FlushTimeout(b->connection, 1000);
    while (n > 0)
        tc_fleet_delivery_back(got[--n], 0);
    natsSubscription_Destroy(b->jobs);
    b->jobs = NULL;
}

/* ---- answers ---- */

tc_status tc_fleet_bus_answer(tc_fleet_bus *b, const tc_fleet_self *self, const char *tuner, const char *id, const char *text,
                              tc_error *err) {
    char subject[BUS_SUBJECT];
    snprintf(subject, sizeof subject, "tctune.result.%s.%s.%s.%s", self->key, self->name, tuner, id);
    return bus_publish(b, subject, subject, text, err);
}
