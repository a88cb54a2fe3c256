/* The connection, its streams and buckets. */
#include "fleet/bus_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/log.h"
#include "support/strbuf.h"
#include "support/system/fs.h"
#include "support/vec.h"

#define SECOND ((int64_t)1000000000)

enum {
    WORK_KEPT = 3600,    /* seconds that a job waits at most: a tuner that died leaves none behind for longer */
    RESULT_KEPT = 86400, /* of a result, for tuners that are started again */
    SAME = 120,          /* within which one message id is one message */
    RECONNECT_MS = 200,  /* between attempts */
    ANSWER_MS = 2000,    /* for which a call of JetStream's waits */
    PUBLISH_TRIES = 10   /* of which each takes as long */
};

/* ---- failures ---- */

/* What a user may not send is not answered: that it is barred comes by itself, and what was asked for times out. */
static void hear_error(natsConnection *connection, natsSubscription *subscription, natsStatus s, void *bus) {
    tc_fleet_bus *b = bus;
    (void)connection;
    (void)subscription;
    if (s == NATS_NOT_PERMITTED)
        b->barred = true;
}

tc_status bus_fail(tc_fleet_bus *b, tc_error *err, natsStatus s, const char *what) {
    natsStatus last;
    const char *said = nats_GetLastError(&last);
    if (atomic_exchange(&b->barred, false)) {
        s = last = NATS_NOT_PERMITTED;
        (void)natsConnection_GetLastError(b->connection, &said);
    }
    const char *words = said && *said && last == s ? said : natsStatus_GetText(s);
    bool barred = s == NATS_NOT_PERMITTED || s == NATS_CONNECTION_AUTH_FAILED ||
                  s == NATS_CONNECTION_CLOSED /* as when the server lets this user in no more */;
    bool never = barred || s == NATS_MAX_PAYLOAD;
    const char *remedy = barred ? "; the server's configuration says what a user may do"
                         : s == NATS_MAX_PAYLOAD
                             ? "; the server takes no messages of this size: raise max_payload in its configuration"
                         : strstr(words, "resources") || strstr(words, "maximum")
                             ? "; its space for streams is full: raise max_file_store in its configuration, free its disk, or "
                               "wait until old results are gone"
                             : "";
    return tc_fail(err, never ? TC_BAD_INPUT : TC_ENV, "%s: %s: %s%s", b->url, what, words, remedy);
}

bool bus_server_leaves(const char *said) {
    return said && (strstr(said, "Server Shutdown") || strstr(said, "Leadership Change"));
}

static bool server_leaves(natsStatus s) {
    natsStatus last;
    return s == NATS_ERR && bus_server_leaves(nats_GetLastError(&last));
}

bool bus_nothing_came(natsStatus s) {
    return server_leaves(s) || s == NATS_TIMEOUT || s == NATS_CONNECTION_DISCONNECTED || s == NATS_NO_RESPONDERS ||
           s == NATS_NOT_FOUND;
}

bool bus_goes_on(natsStatus s, double until) {
    enum { PAUSE_MS = 10 }; /* chosen: less than what a job takes */
    if (!bus_nothing_came(s) || tc_now() >= until)
        return false;
    nats_Sleep(PAUSE_MS);
    return true;
}

/* ---- streams and buckets ---- */

bool bus_made_by_another(natsStatus s, int *tries) {
    enum { TRIES = 20, PAUSE_MS = 50 }; /* chosen: a second in all */
    if (s != NATS_ERR || ++*tries > TRIES)
        return false;
    nats_Sleep(PAUSE_MS);
    return true;
}

static natsStatus open_stream(tc_fleet_bus *b, jsStreamConfig *c, jsErrCode *code) {
    jsStreamInfo *info = NULL;
    int tries = 0;
    natsStatus s;
    do {
        s = js_GetStreamInfo(&info, b->js, c->Name, NULL, code);
        if (s != NATS_NOT_FOUND)
            break;
        s = js_AddStream(&info, b->js, c, NULL, code);
    } while (bus_made_by_another(s, &tries));
    jsStreamInfo_Destroy(info);
    return s;
}

static natsStatus open_bucket(tc_fleet_bus *b, kvConfig *c, kvStore **out) {
    int tries = 0;
    natsStatus s;
    do {
        s = js_KeyValue(out, b->js, c->Bucket);
        if (s != NATS_NOT_FOUND)
            break;
        s = js_CreateKeyValue(out, b->js, c);
    } while (bus_made_by_another(s, &tries));
    return s;
}

static tc_status add_stream(tc_fleet_bus *b, jsStreamConfig *c, tc_error *err) {
    jsErrCode code = 0;
    natsStatus s = open_stream(b, c, &code);
    if (s == NATS_NO_RESPONDERS || code == JSNotEnabledErr || code == JSNotEnabledForAccountErr)
        return tc_fail(
            err, TC_ENV,
            "%s: the server has no JetStream, which keeps jobs and results: start it with --jetstream, or enable it for "
            "the account",
            b->url);
    return s == NATS_OK ? TC_OK
                        : bus_fail(b, err, s,
                                   b->barred ? "the streams of jobs and results do not exist yet, and this user may not make "
                                               "them: run `tctune fleet status` as a tuner's user, which makes them"
                                             : "the stream of jobs or results cannot be opened or made");
}

static tc_status add_streams(tc_fleet_bus *b, tc_error *err) {
    jsStreamConfig c;
    jsStreamConfig_Init(&c);
    c.Name = BUS_WORK_STREAM;
    c.Subjects = (const char *[]){"tctune.work.>"};
    c.SubjectsLen = 1;
    c.Retention = js_WorkQueuePolicy;
    c.MaxAge = WORK_KEPT * SECOND;
    c.Duplicates = SAME * SECOND;
    TC_TRY(add_stream(b, &c, err));
    jsStreamConfig_Init(&c);
    c.Name = BUS_RESULT_STREAM;
    c.Subjects = (const char *[]){"tctune.result.>"};
    c.SubjectsLen = 1;
    c.MaxAge = RESULT_KEPT * SECOND;
    c.Duplicates = SAME * SECOND;
    TC_TRY(add_stream(b, &c, err));
    jsStreamConfig_Init(&c);
    c.Name = BUS_BUILD_STREAM;
    c.Subjects = (const char *[]){"tctune.build.>"};
    c.SubjectsLen = 1;
    c.Retention = js_WorkQueuePolicy;
    c.MaxAge = WORK_KEPT * SECOND;
    TC_TRY(add_stream(b, &c, err));
    return bus_prepare_objects(b, err);
}

static tc_status add_bucket(tc_fleet_bus *b, const char *name, int64_t seconds, kvStore **out, tc_error *err) {
    kvConfig c;
    kvStore *bucket = NULL;
    kvConfig_Init(&c);
    c.Bucket = name;
    c.TTL = seconds * SECOND;
    natsStatus s = open_bucket(b, &c, &bucket);
    if (s == NATS_OK && !*out)
        *out = bucket;
    else /* what others use meanwhile knows the bucket by its name */
        kvStore_Destroy(bucket);
    return s == NATS_OK ? TC_OK : bus_fail(b, err, s, "the bucket of workers cannot be opened or made");
}

tc_status bus_prepare(tc_fleet_bus *b, tc_error *err) {
    TC_TRY(add_streams(b, err));
    TC_TRY(add_bucket(b, "tctune_workers", TC_FLEET_SILENCE, &b->workers, err));
    TC_TRY(add_bucket(b, BUS_BUILDERS, TC_FLEET_SILENCE, &b->builders, err));
    TC_TRY(add_bucket(b, "tctune_tuners", TC_FLEET_TUNER_LEASE, &b->tuners, err));
    TC_TRY(add_bucket(b, "tctune_orders", 0, &b->orders, err));
    return add_bucket(b, BUS_BEGUN, WORK_KEPT, &b->begun, err);
}

/* ---- the connection ---- */

/* Passwords and tokens stand before an @. */
static char *without_passwords(const char *urls) {
    tc_strbuf b = {0};
    for (const char *s = urls; *s;) {
        size_t n = strcspn(s, ","), scheme = 0;
        const char *slashes = strstr(s, "://");
        if (slashes && slashes < s + n)
            scheme = (size_t)(slashes + 3 - s);
        const char *at = memchr(s + scheme, '@', n - scheme);
        tc_sb_addn(&b, s, scheme);
        const char *rest = at ? at + 1 : s + scheme;
        tc_sb_addn(&b, rest, (size_t)(s + n - rest));
        s += n;
        if (*s == ',')
            tc_sb_addc(&b, *s++);
    }
    char *out = tc_xstrdup(tc_sb_str(&b));
    tc_strbuf_free(&b);
    return out;
}

/* The word of a text that begins with such a letter and is as long as a key is; NULL: none. */
static char *key_word(const char *text, const char *begin, size_t least) {
    for (const char *s = text; *s;) {
        size_t blank = strspn(s, " \t\r\n"), n = strcspn(s + blank, " \t\r\n");
        s += blank;
        if (n >= least && strncmp(s, begin, strlen(begin)) == 0) {
            tc_strbuf b = {0};
            tc_sb_addn(&b, s, n);
            char *out = tc_xstrdup(tc_sb_str(&b));
            tc_strbuf_free(&b);
            return out;
        }
        s += n;
    }
    return NULL;
}

enum { SEED_LENGTH = 58 /* characters of a user's */ };

static void forget(char **secret) {
    if (*secret)
        explicit_bzero(*secret, strlen(*secret)); /* a memset before free would be left out */
    free(*secret);
    *secret = NULL;
}

static tc_status try_seed(const tc_fleet_bus *b, const char *file, tc_error *err) {
    unsigned char *signature = NULL;
    int n;
    natsStatus s = nats_Sign(b->seed, "a nonce", &signature, &n);
    free(signature);
    return s == NATS_OK
               ? TC_OK
               : tc_fail(err, TC_BAD_INPUT, "%s: the seed in it is damaged, and signs nothing. Make the user again", file);
}

static tc_status read_nkey(tc_fleet_bus *b, const char *file, tc_error *err) {
    enum { PUBLIC = 56 /* characters */ };
    char *text;
    TC_TRY(tc_fs_read_text(file, &text, err));
    b->public_key = key_word(text, "U", PUBLIC);
    b->seed = key_word(text, "SU", SEED_LENGTH);
    forget(&text);
    if (b->public_key && b->seed)
        return try_seed(b, file, err);
    return tc_fail(err, TC_BAD_INPUT,
                   "%s: there is no %s of a user in it (it begins with %s): both are needed, as deploy/fleet-user "
                   "writes them",
                   file, b->seed ? "public key" : "seed", b->seed ? "U" : "SU");
}

/* The client's library sends no signature where the first byte of one is 0, as of one in 256 (nats.c, pull request 705, mended
 * after 3.4); the server refuses it as any wrong one, and a connection that two are refused of in a row is not made again. So
 * this attempt is given up here: the next one signs something else. */
static natsStatus sign(char **error, unsigned char **signature, int *n, const char *nonce, void *bus) {
    tc_fleet_bus *b = bus;
    (void)error;
    natsStatus s = nats_Sign(b->seed, nonce, signature, n);
    if (s != NATS_OK || *n == 0 || **signature != 0)
        return s;
    atomic_store(&b->unsendable, true);
    free(*signature);
    *signature = NULL;
    return NATS_ERR;
}

/* The user's JWT, and the seed that it is signed with. */
static tc_status find_creds(tc_fleet_bus *b, char **jwt, tc_error *err) {
    enum { JWT = 32 /* characters, at least */ };
    char *text;
    TC_TRY(tc_fs_read_text(b->creds, &text, err));
    forget(&b->seed);
    b->seed = key_word(text, "SU", SEED_LENGTH);
    *jwt = key_word(text, "ey", JWT);
    forget(&text);
    if (*jwt && b->seed)
        return TC_OK;
    const char *missing = *jwt ? "seed of a user (it begins with SU)" : "user's JWT (it begins with ey)";
    free(*jwt);
    *jwt = NULL;
    return tc_fail(err, TC_BAD_INPUT, "%s: there is no %s in it: both are needed, as `nsc generate creds` prints them", b->creds,
                   missing);
}

/* For each connection anew, as credentials are renewed. What it gives is freed by the library. */
static natsStatus read_creds(char **jwt, char **error, void *bus) {
    tc_error why = {0};
    if (find_creds(bus, jwt, &why) == TC_OK)
        return NATS_OK;
    *error = strdup(why.msg);
    return NATS_ERR;
}

/* Replies, and so jobs, come to a place that the server can keep from others. */
static natsStatus private_inbox(const tc_fleet_bus *b, natsOptions *o) {
    char prefix[BUS_SUBJECT];
    snprintf(prefix, sizeof prefix, "_INBOX.%s", b->public_key);
    return natsOptions_SetCustomInboxPrefix(o, prefix);
}

static tc_status let_in(tc_fleet_bus *b, const tc_fleet_access *a, natsOptions *o, tc_error *err) {
    natsStatus s = NATS_OK;
    if (a->creds && a->nkey)
        return tc_fail(err, TC_BAD_INPUT, "credentials and an nkey exclude each other: the server asks for one of them");
    const char *const files[] = {a->creds, a->ca};
    for (size_t i = 0; i < TC_LEN(files); i++)
        if (files[i] && !tc_fs_exists(files[i]))
            return tc_fail(err, TC_BAD_INPUT, "%s: there is no such file", files[i]);
    if (a->creds) {
        b->creds = tc_xstrdup(a->creds);
        s = natsOptions_SetUserCredentialsCallbacks(o, read_creds, b, sign, b);
    }
    if (a->nkey) {
        TC_TRY(read_nkey(b, a->nkey, err));
        s = natsOptions_SetNKey(o, b->public_key, sign, b);
        if (s == NATS_OK)
            s = private_inbox(b, o);
    }
    if (s == NATS_OK && a->ca) {
        s = natsOptions_SetSecure(o, true);
        if (s == NATS_OK)
            s = natsOptions_LoadCATrustedCertificates(o, a->ca);
    }
    return s == NATS_OK ? TC_OK : bus_fail(b, err, s, "credentials or certificates cannot be used");
}

static natsStatus set_servers(natsOptions *o, const char *urls) {
    enum { MOST = 16 };
    const char *each[MOST];
    int n = 0;
    char *text = tc_xstrdup(urls), *rest = text;
    for (char *u; (u = strsep(&rest, ",")) && n < MOST;)
        if (*u)
            each[n++] = u;
    natsStatus s = natsOptions_SetServers(o, each, n);
    free(text);
    return s;
}

static natsStatus connect_signed(tc_fleet_bus *b, natsOptions *o) {
    natsStatus s;
    do
        s = natsConnection_Connect(&b->connection, o);
    while (s != NATS_OK && atomic_exchange(&b->unsendable, false));
    return s;
}

static tc_status connect_with(tc_fleet_bus *b, const tc_fleet_access *a, const char *name, natsOptions *o, tc_error *err) {
    TC_TRY(let_in(b, a, o, err));
    natsStatus s = set_servers(o, a->url);
    if (s == NATS_OK)
        s = natsOptions_SetName(o, name);
    if (s == NATS_OK)
        s = natsOptions_SetErrorHandler(o, hear_error, b);
    if (s == NATS_OK)
        s = natsOptions_SetMaxReconnect(o, -1);
    if (s == NATS_OK)
        s = natsOptions_SetReconnectWait(o, RECONNECT_MS);
    if (s == NATS_OK)
        s = connect_signed(b, o);
    if (s == NATS_NO_SERVER || s == NATS_TIMEOUT)
        return tc_fail(err, TC_ENV, "%s: no NATS server answers there: is nats-server running, and the address right?", b->url);
    if (s == NATS_CONNECTION_AUTH_FAILED)
        return tc_fail(err, TC_BAD_INPUT,
                       "%s: the server does not let this user in: give its credentials (--creds), its nkey "
                       "(--nkey), or a password in the address",
                       b->url);
    if (s == NATS_OK)
        return TC_OK;
    bool never = s == NATS_INVALID_ARG || s == NATS_ADDRESS_MISSING || s == NATS_SSL_ERROR; /* what no waiting mends */
    tc_status st = bus_fail(b, err, s, "cannot connect");
    if (err && never)
        err->status = TC_BAD_INPUT;
    return never ? TC_BAD_INPUT : st;
}

static tc_status connect_bus(tc_fleet_bus *b, const tc_fleet_access *a, const char *name, tc_error *err) {
    natsOptions *o = NULL;
    natsStatus s = natsOptions_Create(&o);
    if (s != NATS_OK)
        return bus_fail(b, err, s, "cannot connect");
    tc_status st = connect_with(b, a, name, o, err);
    natsOptions_Destroy(o);
    jsOptions js;
    jsOptions_Init(&js);
    js.Wait = a->answer > 0 ? (int64_t)(a->answer * 1e3) + 1 : ANSWER_MS;
    if (st == TC_OK && (s = natsConnection_JetStream(&b->js, b->connection, &js)) != NATS_OK)
        st = bus_fail(b, err, s, "JetStream cannot be used");
    return st;
}

tc_status tc_fleet_bus_connect(const tc_fleet_access *access, const char *name, tc_fleet_bus **out, tc_error *err) {
    tc_fleet_bus *b = tc_xcalloc(1, sizeof *b);
    b->url = without_passwords(access->url);
    tc_status s = connect_bus(b, access, name, err);
    *out = s == TC_OK ? b : NULL;
    if (s != TC_OK)
        tc_fleet_bus_close(b);
    return s;
}

tc_status tc_fleet_bus_open(const tc_fleet_access *access, const char *name, tc_fleet_bus **out, tc_error *err) {
    TC_TRY(tc_fleet_bus_connect(access, name, out, err));
    tc_status s = bus_prepare(*out, err);
    if (s != TC_OK) {
        tc_fleet_bus_close(*out);
        *out = NULL;
    }
    return s;
}

void tc_fleet_bus_close(tc_fleet_bus *b) {
    if (!b)
        return;
    natsSubscription_Destroy(b->results);
    bus_pull_end(b);
    kvStore_Destroy(b->workers);
    kvStore_Destroy(b->builders);
    kvStore_Destroy(b->begun);
    kvStore_Destroy(b->tuners);
    kvStore_Destroy(b->orders);
    jsCtx_Destroy(b->js);
    natsConnection_Destroy(b->connection);
    nats_ReleaseThreadMemory();
    free(b->url);
    free(b->public_key);
    free(b->creds);
    forget(&b->seed);
    free(b);
}

bool tc_fleet_bus_connected(const tc_fleet_bus *b) {
    return natsConnection_Status(b->connection) == NATS_CONN_STATUS_CONNECTED;
}

const char *tc_fleet_bus_url(const tc_fleet_bus *b) {
    return b->url;
}

tc_status bus_publish(tc_fleet_bus *b, const char *subject, const char *id, const char *text, tc_error *err) {
    return bus_publish_bytes(b, subject, id, text, strlen(text), err);
}

tc_status bus_publish_bytes(tc_fleet_bus *b, const char *subject, const char *id, const void *data, size_t n, tc_error *err) {
    return bus_publish_numbered(b, subject, id, data, n, NULL, err);
}

tc_status bus_publish_numbered(tc_fleet_bus *b, const char *subject, const char *id, const void *data, size_t n, uint64_t *number,
                               tc_error *err) {
    jsPubAck *ack = NULL;
    jsPubOptions o;
    natsStatus s = NATS_ERR;
    jsErrCode code = 0;
    jsPubOptions_Init(&o);
    o.MsgId = id;
    for (int i = 0; i < PUBLISH_TRIES; i++) {
        tc_error why;
        s = js_Publish(number ? &ack : NULL, b->js, subject, data, (int)n, &o, &code);
        if (!bus_nothing_came(s) || b->barred)
            break;
        if (tc_fleet_bus_connected(b) && bus_prepare(b, &why) != TC_OK) /* somebody deleted the stream */
            nats_Sleep(RECONNECT_MS);
    }
    if (number)
        *number = s == NATS_OK ? ack->Sequence : 0;
    jsPubAck_Destroy(ack);
    return s == NATS_OK ? TC_OK : bus_fail(b, err, s, "a message cannot be sent");
}
