/* Jobs are fetched by requests to the server, one at a time. The server answers a request with a job, or says later that there was
 * none. Both may come when nobody waits for an answer any more. So a request is out until it is answered, and the next request is
 * sent after that. A worker with two requests out could be given two jobs, and the second job would wait for the first. Each
 * request has a subject of its own for its answer. The functions of the client's library do neither. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "fleet/bus_int.h"
#include "support/log.h"
#include "support/vec.h"

/* Seconds after the end of a request's time by which the server has answered, or never will. */
static const double grace = 2;

/* ---- the subscription ---- */

/* Answers come to a place that the server can keep from others. */
static void name_inbox(const tc_fleet_bus *b, char out[BUS_SUBJECT]) {
    uint64_t drawn = 0;
    (void)!getrandom(&drawn, sizeof drawn, 0); /* servers tell connections apart in any case */
    snprintf(out, BUS_SUBJECT, "_INBOX.%.64s%s%016" PRIx64 "%" PRIxPTR, b->public_key ? b->public_key : "",
             b->public_key ? "." : "", drawn, (uintptr_t)b);
}

natsStatus bus_pull_begin(tc_fleet_bus *b, const char *stream, const char *key) {
    char all[BUS_SUBJECT + 2];
    bus_requests *p = &b->pull;
    bus_pull_end(b);
    name_inbox(b, p->inbox);
    snprintf(p->subject, sizeof p->subject, "$JS.API.CONSUMER.MSG.NEXT.%.64s.%.64s", stream, key);
    snprintf(all, sizeof all, "%s.*", p->inbox);
    return natsConnection_SubscribeSync(&b->jobs, b->connection, all);
}

void bus_pull_end(tc_fleet_bus *b) {
    natsSubscription_Destroy(b->jobs);
    b->jobs = NULL;
    b->pull.is_out = false;
}

/* ---- requests ---- */

/* How often the connection was lost: what was asked before, the server has forgotten. */
static uint64_t losses(const tc_fleet_bus *b) {
    natsStatistics *all = NULL;
    uint64_t in, in_bytes, out, out_bytes, reconnects = 0;
    if (natsStatistics_Create(&all) == NATS_OK && natsConnection_GetStats(b->connection, all) == NATS_OK)
        (void)natsStatistics_GetCounts(all, &in, &in_bytes, &out, &out_bytes, &reconnects);
    natsStatistics_Destroy(all);
    return reconnects;
}

static bool is_out(const tc_fleet_bus *b) {
    return b->pull.is_out && tc_now() < b->pull.answer_by && b->pull.losses == losses(b);
}

static natsStatus request(tc_fleet_bus *b, double seconds) {
    bus_requests *p = &b->pull;
    char reply[BUS_SUBJECT + 24], text[80];
    int64_t ns = (int64_t)(seconds * 1e9);
    if (!tc_fleet_bus_connected(b)) /* it would be kept until then, and be asked once more beside */
        return NATS_CONNECTION_DISCONNECTED;
    snprintf(reply, sizeof reply, "%s.%" PRIu64, p->inbox, ++p->number);
    if (ns > 0)
        snprintf(text, sizeof text, "{\"batch\":1,\"expires\":%" PRId64 "}", ns);
    else
        snprintf(text, sizeof text, "{\"batch\":1,\"no_wait\":true}");
    p->answer_by = tc_now() + seconds + grace;
    p->losses = losses(b);
    natsStatus s = natsConnection_PublishRequestString(b->connection, p->subject, reply, text);
    p->is_out = s == NATS_OK;
    return s;
}

/* Whether words of the server answer the request that is out. A job does, as no other request is out; it has its own subject. */
static bool is_last(const tc_fleet_bus *b, const natsMsg *m) {
    const char *number = strrchr(natsMsg_GetSubject(m), '.');
    return number && strtoull(number + 1, NULL, 10) == b->pull.number;
}

/* ---- answers ---- */

/* What a message without a job says. NATS_OK: the request's time is over. */
static natsStatus said_in(natsMsg *m, const char *status, char said[BUS_SAID]) {
    const char *words = "";
    if (strcmp(status, "408") == 0 || strcmp(status, "404") == 0)
        return NATS_OK;
    if (strcmp(status, "503") == 0)
        return NATS_NO_RESPONDERS;
    (void)natsMsgHeader_Get(m, "Description", &words);
    snprintf(said, BUS_SAID, "%s %s", status, words);
    return NATS_ERR;
}

natsStatus bus_pull_take(tc_fleet_bus *b, double seconds, natsMsg **out, char said[BUS_SAID]) {
    const char *status;
    natsMsg *m = NULL;
    *out = NULL;
    natsStatus s = natsSubscription_NextMsg(&m, b->jobs, (int64_t)(TC_MAX(seconds, 0.0) * 1e3) + 1);
    if (s == NATS_NO_RESPONDERS) /* the client's library has read it already */
        b->pull.is_out = false;
    if (s != NATS_OK)
        return s;
    bool job = natsMsgHeader_Get(m, "Status", &status) != NATS_OK, last = job || is_last(b, m);
    if (last)
        b->pull.is_out = false;
    if (job) {
        *out = m;
        return NATS_OK;
    }
    s = last ? said_in(m, status, said) : NATS_OK; /* of a request that was given up nobody asks any more */
    natsMsg_Destroy(m);
    return s;
}

natsStatus bus_pull(tc_fleet_bus *b, double seconds, natsMsg **out, char said[BUS_SAID]) {
    double until = tc_now() + seconds;
    natsStatus s = NATS_OK;
    *out = NULL;
    *said = 0;
    do { /* at least once */
        double left = TC_MAX(until - tc_now(), 0.0);
        if (!is_out(b))
            s = request(b, left);
        if (s == NATS_OK)
            s = bus_pull_take(b, TC_MIN(left, b->pull.answer_by - tc_now()), out, said);
        if (s == NATS_TIMEOUT && tc_now() < until) /* the request is given up */
            s = NATS_OK;
    } while (s == NATS_OK && !*out && tc_now() < until);
    return s;
}
