/* What was begun: workers that had a job and never said how it ended. An entry says in which run of its machine the worker
 * began, and how often this machine had ended with the job before: "BOOT TIMES". When the worker comes back in another run of
 * its machine, the entry becomes "died TIMES". */
#include <stdio.h>
#include <string.h>

#include "fleet/bus_int.h"
#include "support/vec.h"

#define DIED "died"

enum {
    WORD = 80, /* bytes of one, which has 64 at most */
    MOST_TIMES = 1000
};

static void entry_of(char out[BUS_SUBJECT], const tc_fleet_self *self, const char *id) {
    snprintf(out, BUS_SUBJECT, "%.64s.%.64s.%.64s", self->key, self->name, id);
}

static natsStatus put(tc_fleet_bus *b, const tc_fleet_self *self, const char *id, const char *run, int times) {
    char entry[BUS_SUBJECT], text[2 * WORD];
    entry_of(entry, self, id);
    snprintf(text, sizeof text, "%.64s %d", run, times);
    return kvStore_PutString(NULL, b->begun, entry, text);
}

tc_status tc_fleet_bus_begin(tc_fleet_bus *b, const tc_fleet_self *self, const char *id, int here, tc_error *err) {
    natsStatus s = put(b, self, id, self->boot, here);
    return s == NATS_OK ? TC_OK : bus_fail(b, err, s, "the beginning of a job cannot be noted");
}

/* The entry of what this worker does not measure now. */
static natsStatus put_back(tc_fleet_bus *b, const tc_fleet_self *self, const char *id, int times) {
    char entry[BUS_SUBJECT];
    entry_of(entry, self, id);
    return times > 0 ? put(b, self, id, DIED, times) : kvStore_Purge(b->begun, entry, NULL);
}

void tc_fleet_bus_end(tc_fleet_bus *b, const tc_fleet_self *self, const char *id, int here) {
    (void)put_back(b, self, id, here); /* lost: it counts as one that vanished, for an hour */
}

/* ---- looking through them ---- */

/* "NAME" and "ID" of $KV.tctune_begun.KEY.NAME.ID, and the entry's text. */
typedef struct begun {
    char name[WORD], id[WORD], run[WORD];
    int times;
} begun;

static bool understand(natsMsg *m, begun *out) {
    const char *kind;
    char copy[BUS_SUBJECT], text[2 * WORD];
    char *words[5], *rest = copy;
    if (natsMsgHeader_Get(m, "KV-Operation", &kind) == NATS_OK) /* it was ended */
        return false;
    snprintf(copy, sizeof copy, "%s", natsMsg_GetSubject(m));
    for (int i = 0; i < 5; i++)
        if (!(words[i] = strsep(&rest, ".")))
            return false;
    snprintf(out->name, sizeof out->name, "%.*s", WORD - 1, words[3]);
    snprintf(out->id, sizeof out->id, "%.*s", WORD - 1, words[4]);
    snprintf(text, sizeof text, "%.*s", TC_MIN(natsMsg_GetDataLength(m), 2 * WORD - 1), natsMsg_GetData(m));
    return sscanf(text, "%79s %d", out->run, &out->times) == 2 && out->times >= 0 && out->times <= MOST_TIMES;
}

/* The next message of such entries from a sequence number on; *m NULL: there is none. */
static tc_status next_of(tc_fleet_bus *b, const char *entries, uint64_t from, natsMsg **m, tc_error *err) {
    jsDirectGetMsgOptions o;
    char subject[BUS_SUBJECT + 32];
    snprintf(subject, sizeof subject, "$KV." BUS_BEGUN ".%s", entries);
    jsDirectGetMsgOptions_Init(&o);
    o.Sequence = from;
    o.NextBySubject = subject;
    *m = NULL;
    natsStatus s = js_DirectGetMsg(m, b->js, "KV_" BUS_BEGUN, NULL, &o);
    return s == NATS_OK || s == NATS_NOT_FOUND ? TC_OK : bus_fail(b, err, s, "the notes about begun jobs cannot be read");
}

/* What is done with each; it may change the entry. */
typedef tc_status on_begun(void *user, const begun *e, tc_error *err);

static tc_status look_through(tc_fleet_bus *b, const char *entries, on_begun *fn, void *user, tc_error *err) {
    natsMsg *m;
    for (uint64_t from = 1;;) {
        begun e;
        TC_TRY(next_of(b, entries, from, &m, err));
        if (!m)
            return TC_OK;
        from = natsMsg_GetSequence(m) + 1;
        bool is_entry = understand(m, &e);
        natsMsg_Destroy(m);
        if (is_entry)
            TC_TRY(fn(user, &e, err));
    }
}

typedef struct counting {
    const tc_fleet_self *self;
    tc_fleet_losses *out;
} counting;

static tc_status count(void *user, const begun *e, tc_error *err) {
    const counting *c = user;
    (void)err;
    bool here = strcmp(e->name, c->self->name) == 0;
    c->out->died += e->times;
    c->out->here += here ? e->times : 0;
    c->out->vanished += !here && strcmp(e->run, DIED) != 0;
    return TC_OK;
}

tc_status tc_fleet_bus_losses(tc_fleet_bus *b, const tc_fleet_self *self, const char *id, tc_fleet_losses *out, tc_error *err) {
    char entries[BUS_SUBJECT];
    counting c = {self, out};
    *out = (tc_fleet_losses){0};
    snprintf(entries, sizeof entries, "%s.*.%s", self->key, id);
    return look_through(b, entries, count, &c, err);
}

typedef struct returning {
    tc_fleet_bus *b;
    const tc_fleet_self *self;
} returning;

static tc_status settle(void *user, const begun *e, tc_error *err) {
    const returning *r = user;
    if (strcmp(e->run, DIED) == 0)
        return TC_OK;
    bool died = strcmp(e->run, r->self->boot) != 0;
    natsStatus s = put_back(r->b, r->self, e->id, e->times + died);
    return s == NATS_OK ? TC_OK : bus_fail(r->b, err, s, "the note about a job begun earlier cannot be changed");
}

tc_status tc_fleet_bus_come_back(tc_fleet_bus *b, const tc_fleet_self *self, tc_error *err) {
    char entries[BUS_SUBJECT];
    returning r = {.b = b, .self = self};
    snprintf(entries, sizeof entries, "%s.%s.*", self->key, self->name);
    return look_through(b, entries, settle, &r, err);
}
