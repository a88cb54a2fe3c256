/* The bus as tuners use it. */
#include <stdio.h>
#include <string.h>

#include "fleet/bus_int.h"
#include "support/log.h"
#include "support/vec.h"

tc_status tc_fleet_bus_listen(tc_fleet_bus *b, const char *tuner, tc_error *err) {
    char subject[BUS_SUBJECT];
    snprintf(subject, sizeof subject, "tctune.result.%s.>", tuner);
    natsStatus s = natsConnection_SubscribeSync(&b->results, b->connection, subject);
    if (s == NATS_OK)
        s = natsConnection_FlushTimeout(b->connection, 5000);
    return s == NATS_OK ? TC_OK : bus_fail(b, err, s, "results cannot be received");
}

tc_status tc_fleet_bus_ask(tc_fleet_bus *b, const char *key, const char *tuner, const char *id, const char *text, tc_error *err) {
    char subject[BUS_SUBJECT], once[BUS_SUBJECT];
    snprintf(subject, sizeof subject, "tctune.work.%s.%s", key, tuner);
    snprintf(once, sizeof once, "%s.%s", tuner, id);
    return bus_publish(b, subject, once, text, err);
}

static void take(natsMsg *m, tc_arena *a, const char **text) {
    *text = tc_arena_strndup(a, natsMsg_GetData(m), (size_t)natsMsg_GetDataLength(m));
    natsMsg_Destroy(m);
}

tc_status tc_fleet_bus_hear(tc_fleet_bus *b, double seconds, tc_arena *a, const char **text, tc_error *err) {
    natsMsg *m = NULL;
    double until = tc_now() + seconds;
    natsStatus s;
    *text = NULL;
    do /* a connection that is lost ends a wait */
        s = natsSubscription_NextMsg(&m, b->results, (int64_t)(TC_MAX(until - tc_now(), 0) * 1e3) + 1);
    while (!m && bus_goes_on(s, until));
    if (s == NATS_OK)
        take(m, a, text);
    /* What was lost on the way is in the stream. */
    return s == NATS_OK || s == NATS_SLOW_CONSUMER || bus_nothing_came(s) ? TC_OK
                                                                          : bus_fail(b, err, s, "results cannot be received");
}

tc_status tc_fleet_bus_find(tc_fleet_bus *b, const char *tuner, const char *id, tc_arena *a, const char **text, tc_error *err) {
    char subject[BUS_SUBJECT];
    natsMsg *m = NULL;
    jsErrCode code = 0;
    *text = NULL;
    snprintf(subject, sizeof subject, "tctune.result.%s.%s", tuner, id);
    natsStatus s = js_GetLastMsg(&m, b->js, "TCTUNE_RESULT", subject, NULL, &code);
    if (s == NATS_OK)
        take(m, a, text);
    return s == NATS_OK || bus_nothing_came(s) ? TC_OK : bus_fail(b, err, s, "results cannot be looked for");
}

void tc_fleet_bus_withdraw(tc_fleet_bus *b, const char *key, const char *tuner) {
    char subject[BUS_SUBJECT];
    jsOptions o;
    jsErrCode code = 0;
    snprintf(subject, sizeof subject, "tctune.work.%s.%s", key, tuner);
    jsOptions_Init(&o);
    o.Stream.Purge.Subject = subject;
    (void)js_PurgeStream(b->js, BUS_WORK_STREAM, &o, &code); /* else they go when they are too old */
}
