/* The bus as workers use it, and who is there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/bus_int.h"
#include "support/log.h"
#include "support/strbuf.h"
#include "support/vec.h"

#define NANOSECONDS 1e9

enum { MOST_DELIVERIES = 50 /* of one job: workers leave in the middle, servers restart, and somewhere it ends */ };

static tc_status add_consumer(tc_fleet_bus *b, const char *key, double lease, tc_error *err) {
    char filter[BUS_SUBJECT];
    jsConsumerConfig c;
    jsErrCode code = 0;
    jsConsumerInfo *info = NULL;
    snprintf(filter, sizeof filter, "tctune.work.%s.>", key);
    jsConsumerConfig_Init(&c);
    c.Name = c.Durable =
        key; /* with a name the filter is in the request's subject, so that a server can allow a worker just this one */
    c.FilterSubject = filter;
    c.AckPolicy = js_AckExplicit;
    c.AckWait = (int64_t)(lease * NANOSECONDS);
    c.MaxDeliver = MOST_DELIVERIES;
    c.MaxAckPending = 1 << 16;
    natsStatus s = js_AddConsumer(&info, b->js, BUS_WORK_STREAM, &c, NULL, &code);
    jsConsumerInfo_Destroy(info);
    return s == NATS_OK ? TC_OK : bus_fail(b, err, s, "the queue of jobs cannot be served");
}

tc_status tc_fleet_bus_serve(tc_fleet_bus *b, const char *key, double lease, tc_error *err) {
    char filter[BUS_SUBJECT];
    jsSubOptions o;
    jsErrCode code = 0;
    TC_TRY(add_consumer(b, key, lease, err));
    snprintf(filter, sizeof filter, "tctune.work.%s.>", key);
    jsSubOptions_Init(&o);
    o.Stream = BUS_WORK_STREAM;
    o.Consumer = key;
    natsStatus s = js_PullSubscribe(&b->jobs, b->js, filter, key, NULL, &o, &code);
    return s == NATS_OK ? TC_OK : bus_fail(b, err, s, "the queue of jobs cannot be served");
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

/* ---- jobs that were begun ---- */

static void note_begun(tc_fleet_bus *b, const char *id, int count) {
    char text[16];
    snprintf(text, sizeof text, "%d", count);
    (void)kvStore_PutString(NULL, b->begun, id, text);
}

tc_status tc_fleet_bus_begin(tc_fleet_bus *b, const char *id, int *before, tc_error *err) {
    kvEntry *e = NULL;
    *before = 0;
    natsStatus s = kvStore_Get(&e, b->begun, id);
    if (s == NATS_OK)
        *before = atoi(kvEntry_ValueString(e));
    kvEntry_Destroy(e);
    if (s != NATS_OK && s != NATS_NOT_FOUND)
        return bus_fail(b, err, s, "what was begun cannot be read");
    note_begun(b, id, *before + 1);
    return TC_OK;
}

void tc_fleet_bus_end(tc_fleet_bus *b, const char *id, int before) {
    if (before > 0)
        note_begun(b, id, before);
    else
        (void)kvStore_Purge(b->begun, id, NULL);
}

tc_status tc_fleet_bus_answer(tc_fleet_bus *b, const char *tuner, const char *id, const char *text, tc_error *err) {
    char subject[BUS_SUBJECT];
    snprintf(subject, sizeof subject, "tctune.result.%s.%s", tuner, id);
    return bus_publish(b, subject, subject, text, err);
}

/* ---- who is there ---- */

tc_status tc_fleet_bus_announce(tc_fleet_bus *b, const char *key, const char *name, const char *text, tc_error *err) {
    char entry[BUS_SUBJECT];
    snprintf(entry, sizeof entry, "%s.%s", key, name);
    natsStatus s = kvStore_PutString(NULL, b->workers, entry, text);
    return s == NATS_OK ? TC_OK : bus_fail(b, err, s, "a worker cannot announce itself");
}

void tc_fleet_bus_leave(tc_fleet_bus *b, const char *key, const char *name) {
    char entry[BUS_SUBJECT];
    snprintf(entry, sizeof entry, "%s.%s", key, name);
    (void)kvStore_Delete(b->workers, entry);
}

static void tell_of(tc_fleet_bus *b, const char *entry, tc_fleet_seen *seen, void *user) {
    kvEntry *e = NULL;
    if (kvStore_Get(&e, b->workers, entry) != NATS_OK) /* it has left meanwhile */
        return;
    int64_t now = nats_NowInNanoSeconds(), since = kvEntry_Created(e);
    tc_strbuf text = {0};
    tc_sb_addn(&text, kvEntry_Value(e), (size_t)kvEntry_ValueLen(e));
    seen(user, tc_sb_str(&text), now > since ? (double)(now - since) / NANOSECONDS : 0);
    tc_strbuf_free(&text);
    kvEntry_Destroy(e);
}

tc_status tc_fleet_bus_workers(tc_fleet_bus *b, tc_fleet_seen *seen, void *user, tc_error *err) {
    kvKeysList keys = {0};
    kvWatchOptions o;
    kvWatchOptions_Init(&o);
    o.IgnoreDeletes = true;
    natsStatus s = kvStore_Keys(&keys, b->workers, &o);
    for (int i = 0; s == NATS_OK && i < keys.Count; i++)
        tell_of(b, keys.Keys[i], seen, user);
    kvKeysList_Destroy(&keys);
    return s == NATS_OK || s == NATS_NOT_FOUND ? TC_OK : bus_fail(b, err, s, "workers cannot be listed");
}

tc_status tc_fleet_bus_queue(tc_fleet_bus *b, const char *key, int64_t *waiting, int64_t *under_way, tc_error *err) {
    jsConsumerInfo *info = NULL;
    jsErrCode code = 0;
    *waiting = *under_way = 0;
    natsStatus s = js_GetConsumerInfo(&info, b->js, BUS_WORK_STREAM, key, NULL, &code);
    if (s == NATS_OK) {
        *waiting = (int64_t)info->NumPending;
        *under_way = info->NumAckPending;
    }
    jsConsumerInfo_Destroy(info);
    return s == NATS_OK || s == NATS_NOT_FOUND ? TC_OK : bus_fail(b, err, s, "a queue cannot be looked at");
}
