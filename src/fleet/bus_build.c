/* The bus as boards that do not compile, and those who build for them, use it. */
#include "fleet/bus_build.h"

#include <stdio.h>
#include <string.h>

#include "fleet/bus_int.h"
#include "support/log.h"
#include "support/strbuf.h"
#include "support/vec.h"

enum {
    KEPT_SECONDS =
        3600, /* of objects: candidates are measured minutes after they were built, and what is wanted again is built again */
    HEADERS = 4096 /* bytes of a message that its subject, its header and the protocol may take */
};

#define SECOND ((int64_t)1000000000)

/* Bytes of the stream of objects: the first that the server has room for. An object has some 10 KB. */
static const int64_t most_bytes = (int64_t)1 << 30, least_bytes = (int64_t)1 << 20;

/* ---- the stream ---- */

static bool is_full(jsErrCode code) {
    return code == JSStorageResourcesExceededErr || code == JSInsufficientResourcesErr;
}

static natsStatus add_objects(tc_fleet_bus *b, jsErrCode *why) {
    jsStreamConfig c;
    natsStatus s = NATS_ERR;
    jsErrCode code = JSStorageResourcesExceededErr;
    jsStreamConfig_Init(&c);
    c.Name = BUS_OBJECT_STREAM;
    c.Subjects = (const char *[]){"tctune.built.>", "tctune.chunk.>"};
    c.SubjectsLen = 2;
    c.MaxAge = KEPT_SECONDS * SECOND;
    c.MaxMsgsPerSubject = 1;
    c.AllowDirect = true;
    for (c.MaxBytes = most_bytes; c.MaxBytes >= least_bytes && s != NATS_OK; c.MaxBytes /= 2) {
        if (!is_full(code))
            break;
        code = 0;
        s = js_AddStream(NULL, b->js, &c, NULL, &code);
    }
    *why = code;
    return s;
}

tc_status bus_prepare_objects(tc_fleet_bus *b, tc_error *err) {
    jsErrCode code = 0;
    int tries = 0;
    natsStatus s;
    do {
        jsStreamInfo *info = NULL;
        s = js_GetStreamInfo(&info, b->js, BUS_OBJECT_STREAM, NULL, &code);
        jsStreamInfo_Destroy(info);
        if (s != NATS_NOT_FOUND)
            break;
        s = add_objects(b, &code);
    } while (!is_full(code) && bus_made_by_another(s, &tries));
    if (s != NATS_OK && is_full(code)) { /* who puts none there does without it */
        tc_log(TC_LOG_WARN,
               "%s: it has no room for objects of boards that do not compile: raise max_file_store in its configuration", b->url);
        return TC_OK;
    }
    return s == NATS_OK ? TC_OK : bus_fail(b, err, s, "the stream of objects cannot be opened or made");
}

/* How many messages of a stream have the subject. A stream that is not there has none. */
static tc_status count(tc_fleet_bus *b, const char *stream, const char *subject, int64_t *n, tc_error *err) {
    jsOptions o;
    jsErrCode code = 0;
    jsStreamInfo *info = NULL;
    *n = 0;
    jsOptions_Init(&o);
    o.Stream.Info.SubjectsFilter = subject;
    natsStatus s = js_GetStreamInfo(&info, b->js, stream, &o, &code);
    for (int i = 0; s == NATS_OK && info->State.Subjects && i < info->State.Subjects->Count; i++)
        *n += (int64_t)info->State.Subjects->List[i].Msgs;
    jsStreamInfo_Destroy(info);
    return s == NATS_OK || s == NATS_NOT_FOUND ? TC_OK : bus_fail(b, err, s, "the state of a stream cannot be read");
}

/* ---- the board's ---- */

tc_status tc_fleet_bus_ask_build(tc_fleet_bus *b, const char *key, const char *board, const char *text, uint64_t *number,
                                 tc_error *err) {
    char subject[BUS_SUBJECT];
    snprintf(subject, sizeof subject, "tctune.build.%.64s.%.64s", key, board);
    return bus_publish_numbered(b, subject, NULL, text, strlen(text), number, err);
}

tc_status tc_fleet_bus_builds_ended(tc_fleet_bus *b, const char *key, uint64_t *number, tc_error *err) {
    return bus_ended(b, BUS_BUILD_STREAM, key, number, err);
}

tc_status tc_fleet_bus_builds(tc_fleet_bus *b, const char *key, const char *board, int64_t *n, tc_error *err) {
    char subject[BUS_SUBJECT];
    snprintf(subject, sizeof subject, "tctune.build.%.64s.%.64s", key, board);
    return count(b, BUS_BUILD_STREAM, subject, n, err);
}

/* The next message of such a subject behind a number, or the last one; *m NULL: there is none. */
static tc_status get(tc_fleet_bus *b, const char *stream, jsDirectGetMsgOptions *o, natsMsg **m, const char *what,
                     tc_error *err) {
    *m = NULL;
    natsStatus s = js_DirectGetMsg(m, b->js, stream, NULL, o);
    return s == NATS_OK || s == NATS_NOT_FOUND ? TC_OK : bus_fail(b, err, s, what);
}

tc_status tc_fleet_bus_next_built(tc_fleet_bus *b, const char *key, const char *id, uint64_t after, tc_arena *a,
                                  tc_fleet_built_mail *out, tc_error *err) {
    enum { BUILDER = 3, WORDS = 5 };
    char subject[BUS_SUBJECT];
    jsDirectGetMsgOptions o;
    natsMsg *m;
    *out = (tc_fleet_built_mail){0};
    snprintf(subject, sizeof subject, "tctune.built.%.64s.*.%.64s", key, id);
    jsDirectGetMsgOptions_Init(&o);
    o.Sequence = after + 1;
    o.NextBySubject = subject;
    TC_TRY(get(b, BUS_OBJECT_STREAM, &o, &m, "the list of built objects cannot be read", err));
    if (!m)
        return TC_OK;
    char *word[WORDS] = {0}, *rest = tc_arena_strdup(a, natsMsg_GetSubject(m));
    for (int i = 0; i < WORDS && rest; i++)
        word[i] = strsep(&rest, ".");
    out->builder = word[BUILDER] ? word[BUILDER] : "";
    out->text = tc_arena_strndup(a, natsMsg_GetData(m), (size_t)natsMsg_GetDataLength(m));
    out->number = natsMsg_GetSequence(m);
    natsMsg_Destroy(m);
    return TC_OK;
}

static void chunk_subject(char out[BUS_SUBJECT], const char *key, const char *builder, const char *digest) {
    snprintf(out, BUS_SUBJECT, "tctune.chunk.%.64s.%.64s.%.64s", key, builder, digest);
}

tc_status tc_fleet_bus_chunk(tc_fleet_bus *b, const char *key, const char *builder, const char *digest, tc_arena *a,
                             const void **data, size_t *n, tc_error *err) {
    char subject[BUS_SUBJECT];
    jsDirectGetMsgOptions o;
    natsMsg *m;
    *data = NULL;
    *n = 0;
    chunk_subject(subject, key, builder, digest);
    jsDirectGetMsgOptions_Init(&o);
    o.LastBySubject = subject;
    TC_TRY(get(b, BUS_OBJECT_STREAM, &o, &m, "a piece of an object cannot be read", err));
    if (!m)
        return TC_OK;
    *n = (size_t)natsMsg_GetDataLength(m);
    *data = tc_arena_dup(a, natsMsg_GetData(m), *n);
    natsMsg_Destroy(m);
    return TC_OK;
}

tc_status tc_fleet_bus_builders_of(tc_fleet_bus *b, const char *key, tc_fleet_seen *seen, void *user, tc_error *err) {
    char entries[BUS_SUBJECT];
    jsDirectGetMsgOptions o;
    const char *kind;
    natsMsg *m;
    snprintf(entries, sizeof entries, "$KV." BUS_BUILDERS ".%.64s.*", key);
    jsDirectGetMsgOptions_Init(&o);
    o.NextBySubject = entries;
    for (o.Sequence = 1;;) {
        TC_TRY(get(b, "KV_" BUS_BUILDERS, &o, &m, "builders cannot be listed", err));
        if (!m)
            return TC_OK;
        o.Sequence = natsMsg_GetSequence(m) + 1;
        if (natsMsgHeader_Get(m, "KV-Operation", &kind) != NATS_OK) { /* it did not leave */
            tc_strbuf text = {0};
            tc_sb_addn(&text, natsMsg_GetData(m), (size_t)natsMsg_GetDataLength(m));
            seen(user, tc_sb_str(&text), 0);
            tc_strbuf_free(&text);
        }
        natsMsg_Destroy(m);
    }
}

/* ---- the builder's ---- */

tc_status tc_fleet_bus_announce_builder(tc_fleet_bus *b, const char *key, const char *name, const char *text, tc_error *err) {
    return bus_announce(b, b->builders, key, name, text, err);
}

void tc_fleet_bus_leave_builder(tc_fleet_bus *b, const char *key, const char *name) {
    bus_leave(b->builders, key, name);
}

size_t tc_fleet_bus_room(const tc_fleet_bus *b) {
    int64_t most = natsConnection_GetMaxPayload(b->connection);
    return most <= 0 ? 0 : most > 2 * HEADERS ? (size_t)most - HEADERS : (size_t)most / 2;
}

tc_status tc_fleet_bus_has_chunk(tc_fleet_bus *b, const tc_fleet_self *self, const char *digest, bool *has, tc_error *err) {
    char subject[BUS_SUBJECT];
    int64_t n;
    chunk_subject(subject, self->key, self->name, digest);
    tc_status s = count(b, BUS_OBJECT_STREAM, subject, &n, err);
    *has = n > 0;
    return s;
}

/* Without an id: the subject keeps one message, and what is lost can be put there again at once. */
tc_status tc_fleet_bus_put_chunk(tc_fleet_bus *b, const tc_fleet_self *self, const char *digest, const void *data, size_t n,
                                 tc_error *err) {
    char subject[BUS_SUBJECT];
    chunk_subject(subject, self->key, self->name, digest);
    return bus_publish_bytes(b, subject, NULL, data, n, err);
}

tc_status tc_fleet_bus_put_built(tc_fleet_bus *b, const tc_fleet_self *self, const char *id, const char *text, tc_error *err) {
    char subject[BUS_SUBJECT];
    snprintf(subject, sizeof subject, "tctune.built.%.64s.%.64s.%.64s", self->key, self->name, id);
    return bus_publish(b, subject, NULL, text, err);
}
