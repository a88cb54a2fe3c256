/* The bus as tuners use it. */
#include <stdio.h>
#include <string.h>

#include "fleet/bus_int.h"
#include "support/log.h"
#include "support/vec.h"

tc_status tc_fleet_bus_attend(tc_fleet_bus *b, const char *tuner, const char *text, tc_error *err) {
    tc_error why;
    natsStatus s = kvStore_PutString(NULL, b->tuners, tuner, text);
    if (s != NATS_OK && !b->barred && tc_fleet_bus_connected(b) &&
        bus_prepare(b, &why) == TC_OK) /* somebody deleted the bucket */
        s = kvStore_PutString(NULL, b->tuners, tuner, text);
    return s == NATS_OK || (bus_nothing_came(s) && !b->barred) ? TC_OK : bus_fail(b, err, s, "a tuner cannot announce itself");
}

void tc_fleet_bus_depart(tc_fleet_bus *b, const char *tuner) {
    (void)kvStore_Delete(b->tuners, tuner); /* else it goes when it is silent */
}

tc_status tc_fleet_bus_listen(tc_fleet_bus *b, const char *key, const char *tuner, tc_error *err) {
    char subject[BUS_SUBJECT];
    snprintf(subject, sizeof subject, "tctune.result.%s.*.%s.>", key, tuner);
    natsStatus s = natsConnection_SubscribeSync(&b->results, b->connection, subject);
    if (s == NATS_OK)
        s = natsConnection_FlushTimeout(b->connection, 5000);
    return s == NATS_OK ? TC_OK : bus_fail(b, err, s, "results cannot be received");
}

tc_status tc_fleet_bus_ask(tc_fleet_bus *b, const char *key, const char *tuner, const char *id, int asked, const char *text,
                           uint64_t *number, tc_error *err) {
    char subject[BUS_SUBJECT], once[BUS_SUBJECT];
    snprintf(subject, sizeof subject, "tctune.work.%s.%s", key, tuner);
    snprintf(once, sizeof once, "%s.%s.%d", tuner, id, asked);
    return bus_publish_numbered(b, subject, once, text, strlen(text), number, err);
}

tc_status bus_ended(tc_fleet_bus *b, const char *stream, const char *key, uint64_t *number, tc_error *err) {
    jsConsumerInfo *info = NULL;
    jsErrCode code = 0;
    natsStatus s = js_GetConsumerInfo(&info, b->js, stream, key, NULL, &code);
    *number = s == NATS_OK ? info->AckFloor.Stream : 0;
    jsConsumerInfo_Destroy(info);
    return s == NATS_OK || bus_nothing_came(s) ? TC_OK : bus_fail(b, err, s, "the state of a queue cannot be read");
}

tc_status tc_fleet_bus_ended(tc_fleet_bus *b, const char *key, uint64_t *number, tc_error *err) {
    return bus_ended(b, BUS_WORK_STREAM, key, number, err);
}

bool tc_fleet_bus_take_out(tc_fleet_bus *b, uint64_t number) {
    jsErrCode code = 0;
    return js_DeleteMsg(b->js, BUS_WORK_STREAM, number, NULL, &code) == NATS_OK;
}

/* Its subject is tctune.result.KEY.WORKER.TUNER.ID. */
static void take(natsMsg *m, tc_arena *a, tc_fleet_mail *out) {
    enum { WORKER = 3, ID = 5, WORDS };
    char *word[WORDS] = {0}, *rest = tc_arena_strdup(a, natsMsg_GetSubject(m));
    for (int i = 0; i < WORDS && rest; i++)
        word[i] = strsep(&rest, ".");
    out->worker = word[WORKER] ? word[WORKER] : "";
    out->id = word[ID] ? word[ID] : "";
    out->text = tc_arena_strndup(a, natsMsg_GetData(m), (size_t)natsMsg_GetDataLength(m));
    natsMsg_Destroy(m);
}

tc_status tc_fleet_bus_hear(tc_fleet_bus *b, double seconds, tc_arena *a, tc_fleet_mail *out, tc_error *err) {
    natsMsg *m = NULL;
    double until = tc_now() + seconds;
    natsStatus s;
    *out = (tc_fleet_mail){0};
    do /* a connection that is lost ends a wait */
        s = natsSubscription_NextMsg(&m, b->results, (int64_t)(TC_MAX(until - tc_now(), 0) * 1e3) + 1);
    while (!m && bus_goes_on(s, until));
    if (s == NATS_OK)
        take(m, a, out);
    /* What was lost on the way is in the stream. */
    return s == NATS_OK || s == NATS_SLOW_CONSUMER || bus_nothing_came(s) ? TC_OK
                                                                          : bus_fail(b, err, s, "results cannot be received");
}

tc_status tc_fleet_bus_find(tc_fleet_bus *b, const char *key, const char *tuner, const char *id, tc_arena *a, tc_fleet_mail *out,
                            tc_error *err) {
    char subject[BUS_SUBJECT];
    natsMsg *m = NULL;
    jsErrCode code = 0;
    *out = (tc_fleet_mail){0};
    snprintf(subject, sizeof subject, "tctune.result.%s.*.%s.%s", key, tuner, id);
    natsStatus s = js_GetLastMsg(&m, b->js, BUS_RESULT_STREAM, subject, NULL, &code);
    if (s == NATS_OK)
        take(m, a, out);
    /* A stream that is lost is made again with the next job. */
    bool none = bus_nothing_came(s) || code == JSStreamNotFoundErr;
    return s == NATS_OK || none ? TC_OK : bus_fail(b, err, s, "results cannot be searched");
}

tc_status tc_fleet_bus_asked(tc_fleet_bus *b, const char *key, const char *tuner, int64_t *n, tc_error *err) {
    char subject[BUS_SUBJECT];
    jsOptions o;
    jsErrCode code = 0;
    jsStreamInfo *info = NULL;
    *n = 0;
    snprintf(subject, sizeof subject, "tctune.work.%s.%s", key, tuner);
    jsOptions_Init(&o);
    o.Stream.Info.SubjectsFilter = subject;
    natsStatus s = js_GetStreamInfo(&info, b->js, BUS_WORK_STREAM, &o, &code);
    for (int i = 0; s == NATS_OK && info->State.Subjects && i < info->State.Subjects->Count; i++)
        *n += (int64_t)info->State.Subjects->List[i].Msgs;
    jsStreamInfo_Destroy(info);
    if (s == NATS_OK || s == NATS_NOT_FOUND)
        return TC_OK;
    *n = -1;
    return bus_nothing_came(s) ? TC_OK : bus_fail(b, err, s, "the state of a queue cannot be read");
}

void tc_fleet_bus_withdraw(tc_fleet_bus *b, const char *key, const char *tuner) {
    char subject[BUS_SUBJECT];
    jsOptions o;
    jsErrCode code = 0;
    snprintf(subject, sizeof subject, "tctune.work.%s.%s", key, tuner);
    jsOptions_Init(&o);
    o.Stream.Purge.Subject = subject;
    (void)js_PurgeStream(b->js, BUS_WORK_STREAM, &o, &code); /* else workers drop them when the tuner is silent */
}
