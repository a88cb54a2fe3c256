/* Records that tuners share: the stream that keeps the last word on each job. */
#include <stdio.h>
#include <string.h>

#include "fleet/bus_int.h"
#include "support/vec.h"

enum {
    KEPT_DAYS = 30,    /* chosen: whoever was on holiday still finds what the others measured */
    SAME_SECONDS = 120 /* within which one message id is one message */
};

#define SECOND ((int64_t)1000000000)
/* Bytes of the stream: the first that the server has room for. A record has some 4 KB. */
static const int64_t most_bytes = (int64_t)1 << 30, least_bytes = (int64_t)16 << 20;

tc_status tc_fleet_bus_records(tc_fleet_bus *b, tc_fleet_kept *out, tc_error *err) {
    jsStreamInfo *info = NULL;
    jsErrCode code = 0;
    *out = (tc_fleet_kept){0};
    natsStatus s = js_GetStreamInfo(&info, b->js, BUS_RECORD_STREAM, NULL, &code);
    if (s == NATS_OK)
        *out = (tc_fleet_kept){.there = true, .made = info->Created, .last = info->State.LastSeq, .n = info->State.Msgs};
    jsStreamInfo_Destroy(info);
    if (code == JSNotEnabledErr || code == JSNotEnabledForAccountErr)
        return tc_fail(err, TC_ENV,
                       "%s: the server has no JetStream, which keeps records: start it with --jetstream, or enable it "
                       "for the account",
                       b->url);
    return s == NATS_OK || s == NATS_NOT_FOUND ? TC_OK : bus_fail(b, err, s, "the state of the stream of records cannot be read");
}

tc_status tc_fleet_bus_keep_records(tc_fleet_bus *b, tc_error *err) {
    jsStreamConfig c;
    natsStatus s = NATS_ERR;
    jsErrCode code = JSStorageResourcesExceededErr;
    jsStreamConfig_Init(&c);
    c.Name = BUS_RECORD_STREAM;
    c.Subjects = (const char *[]){"tctune.record.>"};
    c.SubjectsLen = 1;
    c.MaxAge = KEPT_DAYS * 86400 * SECOND;
    c.MaxMsgsPerSubject = 1;
    c.MaxMsgSize = TC_FLEET_RECORD + (16 << 10); /* with its header */
    c.Duplicates = SAME_SECONDS * SECOND;
    c.AllowDirect = true;
    for (c.MaxBytes = most_bytes; c.MaxBytes >= least_bytes && s != NATS_OK; c.MaxBytes /= 2) {
        if (code != JSStorageResourcesExceededErr && code != JSInsufficientResourcesErr)
            break;
        code = 0;
        s = js_AddStream(NULL, b->js, &c, NULL, &code);
    }
    return s == NATS_OK ? TC_OK : bus_fail(b, err, s, "the stream of records cannot be opened or made");
}

bool tc_fleet_bus_takes(const tc_fleet_bus *b, size_t bytes) {
    int64_t most = natsConnection_GetMaxPayload(b->connection);
    return bytes <= TC_FLEET_RECORD && (most <= 0 || bytes < (size_t)most);
}

tc_status tc_fleet_bus_keep(tc_fleet_bus *b, const char *key, const char *job, const char *once, const char *text,
                            tc_error *err) {
    char subject[BUS_SUBJECT];
    jsPubOptions o;
    jsErrCode code = 0;
    snprintf(subject, sizeof subject, "tctune.record.%.64s.%.64s", key, job);
    jsPubOptions_Init(&o);
    o.MsgId = once;
    natsStatus s = js_Publish(NULL, b->js, subject, text, (int)strlen(text), &o, &code);
    return s == NATS_OK ? TC_OK : bus_fail(b, err, s, "a record cannot be shared");
}

/* "KEY" and "JOB" of tctune.record.KEY.JOB; false: it is no such subject. */
static bool split(char *subject, tc_fleet_shared *out) {
    const char *word[4];
    char *rest = subject;
    for (size_t i = 0; i < TC_LEN(word); i++)
        if (!(word[i] = strsep(&rest, ".")))
            return false;
    out->key = word[2];
    out->job = word[3];
    return !rest;
}

/* A message that is too long is not taken: its text is "". */
static void take(natsMsg *m, tc_arena *a, tc_fleet_shared *out) {
    size_t n = (size_t)natsMsg_GetDataLength(m);
    out->number = natsMsg_GetSequence(m);
    out->bytes = n;
    if (!split(tc_arena_strdup(a, natsMsg_GetSubject(m)), out))
        out->key = out->job = "";
    out->text = n <= TC_FLEET_RECORD ? tc_arena_strndup(a, natsMsg_GetData(m), n) : "";
    natsMsg_Destroy(m);
}

static tc_status get(tc_fleet_bus *b, jsDirectGetMsgOptions *o, tc_arena *a, tc_fleet_shared *out, tc_error *err) {
    natsMsg *m = NULL;
    *out = (tc_fleet_shared){0};
    natsStatus s = js_DirectGetMsg(&m, b->js, BUS_RECORD_STREAM, NULL, o);
    if (s == NATS_OK)
        take(m, a, out);
    return s == NATS_OK || s == NATS_NOT_FOUND ? TC_OK : bus_fail(b, err, s, "a shared record cannot be read");
}

tc_status tc_fleet_bus_kept(tc_fleet_bus *b, const char *key, const char *job, tc_arena *a, tc_fleet_shared *out, tc_error *err) {
    char subject[BUS_SUBJECT];
    jsDirectGetMsgOptions o;
    snprintf(subject, sizeof subject, "tctune.record.%.64s.%.64s", key, job);
    jsDirectGetMsgOptions_Init(&o);
    o.LastBySubject = subject;
    return get(b, &o, a, out, err);
}

tc_status tc_fleet_bus_next_kept(tc_fleet_bus *b, uint64_t after, tc_arena *a, tc_fleet_shared *out, tc_error *err) {
    jsDirectGetMsgOptions o;
    jsDirectGetMsgOptions_Init(&o);
    o.Sequence = after + 1;
    o.NextBySubject = "tctune.record.>";
    return get(b, &o, a, out, err);
}
