/* Who is there: workers, tuners, what they are told, and how long queues are. */
#include <stdio.h>

#include "fleet/bus_build.h"
#include "fleet/bus_int.h"
#include "support/strbuf.h"

#define NANOSECONDS 1e9

tc_status bus_announce(tc_fleet_bus *b, kvStore *bucket, const char *key, const char *name, const char *text, tc_error *err) {
    char entry[BUS_SUBJECT];
    snprintf(entry, sizeof entry, "%s.%s", key, name);
    natsStatus s = kvStore_PutString(NULL, bucket, entry, text);
    return s == NATS_OK ? TC_OK : bus_fail(b, err, s, "a worker cannot announce itself");
}

tc_status tc_fleet_bus_announce(tc_fleet_bus *b, const char *key, const char *name, const char *text, tc_error *err) {
    return bus_announce(b, b->workers, key, name, text, err);
}

void bus_leave(kvStore *bucket, const char *key, const char *name) {
    char entry[BUS_SUBJECT];
    snprintf(entry, sizeof entry, "%s.%s", key, name);
    (void)kvStore_Delete(bucket, entry);
}

void tc_fleet_bus_leave(tc_fleet_bus *b, const char *key, const char *name) {
    bus_leave(b->workers, key, name);
}

static void tell_of(kvStore *bucket, const char *entry, tc_fleet_seen *seen, void *user) {
    kvEntry *e = NULL;
    if (kvStore_Get(&e, bucket, entry) != NATS_OK) /* it has left meanwhile */
        return;
    int64_t now = nats_NowInNanoSeconds(), since = kvEntry_Created(e);
    tc_strbuf text = {0};
    tc_sb_addn(&text, kvEntry_Value(e), (size_t)kvEntry_ValueLen(e));
    seen(user, tc_sb_str(&text), now > since ? (double)(now - since) / NANOSECONDS : 0);
    tc_strbuf_free(&text);
    kvEntry_Destroy(e);
}

static natsStatus each_of(kvStore *bucket, tc_fleet_seen *seen, void *user) {
    kvKeysList keys = {0};
    kvWatchOptions o;
    kvWatchOptions_Init(&o);
    o.IgnoreDeletes = true;
    natsStatus s = kvStore_Keys(&keys, bucket, &o);
    for (int i = 0; s == NATS_OK && i < keys.Count; i++)
        tell_of(bucket, keys.Keys[i], seen, user);
    kvKeysList_Destroy(&keys);
    return s == NATS_NOT_FOUND ? NATS_OK : s;
}

tc_status tc_fleet_bus_workers(tc_fleet_bus *b, tc_fleet_seen *seen, void *user, tc_error *err) {
    natsStatus s = each_of(b->workers, seen, user);
    return s == NATS_OK ? TC_OK : bus_fail(b, err, s, "workers cannot be listed");
}

tc_status tc_fleet_bus_builders(tc_fleet_bus *b, tc_fleet_seen *seen, void *user, tc_error *err) {
    natsStatus s = each_of(b->builders, seen, user);
    return s == NATS_OK ? TC_OK : bus_fail(b, err, s, "builders cannot be listed");
}

tc_status tc_fleet_bus_tuners(tc_fleet_bus *b, tc_fleet_seen *seen, void *user, tc_error *err) {
    natsStatus s = each_of(b->tuners, seen, user);
    return s == NATS_OK ? TC_OK : bus_fail(b, err, s, "tuners cannot be listed");
}

/* ---- orders ---- */

tc_status tc_fleet_bus_order(tc_fleet_bus *b, const char *key, const char *name, tc_arena *a, const char **text, uint64_t *number,
                             tc_error *err) {
    char entry[BUS_SUBJECT];
    kvEntry *e = NULL;
    *text = NULL;
    *number = 0;
    snprintf(entry, sizeof entry, "%s.%s", key, name);
    natsStatus s = kvStore_Get(&e, b->orders, entry);
    if (s == NATS_OK) {
        *text = tc_arena_strndup(a, kvEntry_Value(e), (size_t)kvEntry_ValueLen(e));
        *number = kvEntry_Revision(e);
    }
    kvEntry_Destroy(e);
    return s == NATS_OK || s == NATS_NOT_FOUND ? TC_OK : bus_fail(b, err, s, "orders cannot be read");
}

tc_status tc_fleet_bus_orders(tc_fleet_bus *b, tc_fleet_seen *seen, void *user, tc_error *err) {
    natsStatus s = each_of(b->orders, seen, user);
    return s == NATS_OK ? TC_OK : bus_fail(b, err, s, "orders cannot be listed");
}

tc_status tc_fleet_bus_tell(tc_fleet_bus *b, const char *key, const char *name, const char *text, tc_error *err) {
    char entry[BUS_SUBJECT];
    snprintf(entry, sizeof entry, "%s.%s", key, name);
    natsStatus s = text ? kvStore_PutString(NULL, b->orders, entry, text) : kvStore_Delete(b->orders, entry);
    return s == NATS_OK ? TC_OK : bus_fail(b, err, s, "an order to a worker cannot be sent");
}

/* ---- queues ---- */

static tc_status look_at(tc_fleet_bus *b, const char *stream, const char *key, int64_t *waiting, int64_t *under_way,
                         tc_error *err) {
    jsConsumerInfo *info = NULL;
    jsErrCode code = 0;
    *waiting = *under_way = 0;
    natsStatus s = js_GetConsumerInfo(&info, b->js, stream, key, NULL, &code);
    if (s == NATS_OK) {
        *waiting = (int64_t)info->NumPending;
        *under_way = info->NumAckPending;
    }
    jsConsumerInfo_Destroy(info);
    return s == NATS_OK || s == NATS_NOT_FOUND ? TC_OK : bus_fail(b, err, s, "the state of a queue cannot be read");
}

tc_status tc_fleet_bus_queue(tc_fleet_bus *b, const char *key, int64_t *waiting, int64_t *under_way, tc_error *err) {
    return look_at(b, BUS_WORK_STREAM, key, waiting, under_way, err);
}

tc_status tc_fleet_bus_build_queue(tc_fleet_bus *b, const char *key, int64_t *waiting, int64_t *under_way, tc_error *err) {
    return look_at(b, BUS_BUILD_STREAM, key, waiting, under_way, err);
}
