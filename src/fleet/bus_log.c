/* What became of jobs lately: the last messages of the stream of results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/bus_int.h"
#include "support/alloc.h"
#include "support/arena.h"
#include "support/strbuf.h"
#include "support/vec.h"

/* The last `most` messages of those that were read; at n % most the oldest stands once there are so many. */
typedef struct tail {
    natsMsg **m;
    size_t most, n;
} tail;

static void clear(tail *t) {
    for (size_t i = 0; i < TC_MIN(t->n, t->most); i++)
        natsMsg_Destroy(t->m[i]);
    t->n = 0;
}

static void add(tail *t, natsMsg *m) {
    natsMsg **at = &t->m[t->n % t->most];
    if (t->n++ >= t->most)
        natsMsg_Destroy(*at);
    *at = m;
}

/* All that the subscription was made for. */
static natsStatus drain(natsSubscription *sub, tail *t) {
    enum { WAIT_MS = 5000 };
    jsConsumerInfo *info = NULL;
    jsErrCode code = 0;
    natsStatus s = natsSubscription_GetConsumerInfo(&info, sub, NULL, &code);
    uint64_t left = s == NATS_OK ? info->NumPending + info->Delivered.Consumer : 0;
    jsConsumerInfo_Destroy(info);
    for (natsMsg *m; s == NATS_OK && left > 0; left--) {
        s = natsSubscription_NextMsg(&m, sub, WAIT_MS);
        if (s == NATS_OK)
            add(t, m);
    }
    return s;
}

static natsStatus read_from(tc_fleet_bus *b, const char *subject, uint64_t first, tail *t) {
    natsSubscription *sub = NULL;
    jsSubOptions o;
    jsErrCode code = 0;
    jsSubOptions_Init(&o);
    o.Stream = BUS_RESULT_STREAM;
    o.Config.DeliverPolicy = js_DeliverByStartSequence;
    o.Config.OptStartSeq = first;
    o.Config.AckPolicy = js_AckNone;
    clear(t);
    natsStatus s = js_SubscribeSync(&sub, b->js, subject, NULL, &o, &code);
    if (s == NATS_OK)
        s = natsSubscription_SetPendingLimits(sub, -1, -1);
    if (s == NATS_OK)
        s = drain(sub, t);
    if (sub)
        (void)natsSubscription_Unsubscribe(sub);
    natsSubscription_Destroy(sub);
    return s;
}

/* How far back the last ones of a worker are nobody knows: four times as far each time, until there are enough, or no more. */
static natsStatus read_last(tc_fleet_bus *b, const char *subject, tail *t) {
    jsStreamInfo *info = NULL;
    jsErrCode code = 0;
    natsStatus s = js_GetStreamInfo(&info, b->js, BUS_RESULT_STREAM, NULL, &code);
    uint64_t first = s == NATS_OK ? info->State.FirstSeq : 0, last = s == NATS_OK ? info->State.LastSeq : 0;
    bool none = s != NATS_OK || info->State.Msgs == 0;
    jsStreamInfo_Destroy(info);
    for (uint64_t back = t->most; s == NATS_OK && !none; back *= 4) {
        bool whole = last - first < back;
        s = read_from(b, subject, whole ? first : last + 1 - back, t);
        if (whole || t->n >= t->most)
            break;
    }
    return s;
}

/* "KEY", "WORKER", "TUNER" and "ID" of tctune.result.KEY.WORKER.TUNER.ID. */
static bool split(char *subject, tc_fleet_logged *out) {
    const char *word[6];
    char *rest = subject;
    for (size_t i = 0; i < TC_LEN(word); i++)
        if (!(word[i] = strsep(&rest, ".")))
            return false;
    out->key = word[2];
    out->worker = word[3];
    out->tuner = word[4];
    out->id = word[5];
    return true;
}

static void tell_of(natsMsg *m, tc_fleet_heard *heard, void *user) {
    tc_fleet_logged l = {0};
    jsMsgMetaData *about = NULL;
    char subject[BUS_SUBJECT];
    tc_strbuf text = {0};
    snprintf(subject, sizeof subject, "%s", natsMsg_GetSubject(m));
    tc_sb_addn(&text, natsMsg_GetData(m), (size_t)natsMsg_GetDataLength(m));
    l.text = tc_sb_str(&text);
    if (natsMsg_GetMetaData(&about, m) == NATS_OK)
        l.when_ms = about->Timestamp / 1000000;
    jsMsgMetaData_Destroy(about);
    if (split(subject, &l))
        heard(user, &l);
    tc_strbuf_free(&text);
}

tc_status tc_fleet_bus_log(tc_fleet_bus *b, const char *worker, size_t most, tc_fleet_heard *heard, void *user, tc_error *err) {
    char subject[BUS_SUBJECT];
    tail t = {.m = tc_xcalloc(most, sizeof *t.m), .most = most};
    snprintf(subject, sizeof subject, worker ? "tctune.result.*.%s.>" : "tctune.result.>", worker);
    natsStatus s = read_last(b, subject, &t);
    for (size_t i = 0, n = TC_MIN(t.n, most); s == NATS_OK && i < n; i++)
        tell_of(t.m[(t.n - 1 - i) % most], heard, user);
    clear(&t);
    free(t.m);
    return s == NATS_OK ? TC_OK : bus_fail(b, err, s, "results cannot be searched");
}
