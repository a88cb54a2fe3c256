/* The thread that tells others what a tuner's database has. */
#include "fleet/team/publish.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fleet/message.h"
#include "fleet/team/place.h"
#include "support/clock/clock.h"
#include "support/log.h"
#include "support/map.h"
#include "support/system/fs.h"

enum { MANY = 128 /* records that are read at a time */, MOST_SECONDS = 10 /* for the rest, at the end */ };

static const double look_seconds = 0.5, save_seconds = 5;

struct tc_fleet_publisher {
    tc_fleet_publish o;
    tc_arena *arena; /* of its strings */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool again, ending; /* under the lock */
    /* The thread's own: */
    tc_fleet_bus *bus;
    tc_meas_db *db;
    const char *place; /* what its place in the database is called */
    int64_t made;      /* which stream its records are in; 0: none */
    int64_t told;      /* the records up to this id were told */
    int64_t before;    /* those up to this one, in an earlier session */
    int64_t kept;      /* what the database knows of it */
    tc_map state;      /* id -> state_of its record as it was told */
    double saved, until;
    bool warned, off;
};

/* ---- one record ---- */

/* What is there of its job says as much. What cannot be read says nothing. */
static tc_status is_there(tc_fleet_publisher *p, const tc_record *r, tc_arena *a, bool *is, tc_error *err) {
    tc_fleet_shared had;
    tc_fleet_entry e;
    tc_error why = {0};
    TC_TRY(tc_fleet_bus_kept(p->bus, p->o.key, r->job, a, &had, err));
    *is = had.text && tc_fleet_entry_read(had.text, a, &e, &why) == TC_OK && strcmp(e.record.job, r->job) == 0 &&
          tc_fleet_news_of(&e.record, r) == TC_FLEET_NO_NEWS;
    return TC_OK;
}

static tc_status put(tc_fleet_publisher *p, const tc_record *r, uint64_t state, tc_arena *a, tc_error *err) {
    tc_strbuf b = {0};
    tc_status s = TC_OK;
    tc_fleet_entry_write(&(tc_fleet_entry){.tuner = p->o.tuner, .record = *r}, &b);
    if (tc_fleet_bus_takes(p->bus, b.len))
        s = tc_fleet_bus_keep(p->bus, p->o.key, r->job, tc_arena_printf(a, "%s.%016" PRIx64, r->job, state), tc_sb_str(&b), err);
    else
        tc_log(TC_LOG_WARN, "the record of job %s is not shared: its %zu bytes are more than the server takes", r->job, b.len);
    tc_strbuf_free(&b);
    return s;
}

/* What of a stored record changes. */
static uint64_t state_of(const tc_record *r) {
    const double numbers[] = {r->median, r->max_error, r->error, r->verified, r->rounds};
    return tc_hash64(numbers, sizeof numbers, 0);
}

static tc_status tell(tc_fleet_publisher *p, const tc_record *r, tc_arena *a, tc_error *err) {
    uint64_t state = state_of(r);
    const uintptr_t *known = tc_map_get(&p->state, (uint64_t)r->id);
    bool there = known ? *known == state : r->id <= p->before;
    if (!there)
        TC_TRY(is_there(p, r, a, &there, err));
    if (!there)
        TC_TRY(put(p, r, state, a, err));
    tc_map_put(&p->state, (uint64_t)r->id, state);
    return TC_OK;
}

/* ---- all of them ---- */

static bool is_ending(tc_fleet_publisher *p) {
    pthread_mutex_lock(&p->lock);
    bool ending = p->ending;
    pthread_mutex_unlock(&p->lock);
    return ending;
}

static bool is_late(tc_fleet_publisher *p) {
    return tc_ran_out() || (is_ending(p) && p->until > 0 && tc_now() > p->until);
}

static tc_status save_place(tc_fleet_publisher *p, tc_error *err) {
    p->saved = tc_now();
    p->kept = p->told;
    return tc_fleet_place_write(p->db, p->place, &(tc_fleet_place){.made = p->made, .at = p->told}, err);
}

/* Those behind an id, the oldest first: a record is told after all that were stored before it. */
static tc_status tell_from(tc_fleet_publisher *p, int64_t id, tc_arena *a, tc_error *err) {
    tc_digest target = tc_meas_text_hash(p->o.target);
    tc_meas_filter f = {.target_hash = target.hex, .threads = p->o.threads, .limit = MANY, .after_id = id};
    for (tc_meas_records r = {.len = MANY}; r.len == MANY;) {
        tc_arena_reset(a);
        TC_TRY(tc_meas_db_select(p->db, a, &f, &r, err));
        for (size_t i = 0; i < r.len; i++) {
            if (is_late(p))
                return tc_fail(err, TC_ENV, "there was no time for all of them");
            if (*r.data[i].job && tc_fleet_is_of_key(&r.data[i], p->o.key))
                TC_TRY(tell(p, &r.data[i], a, err));
            f.after_id = r.data[i].id;
            p->told = f.after_id > p->told ? f.after_id : p->told;
        }
    }
    return TC_OK;
}

/* ---- where they go ---- */

static tc_status meet_stream(tc_fleet_publisher *p, bool *fresh, tc_error *err) {
    tc_fleet_kept k;
    tc_fleet_place at = {0};
    if (!p->bus)
        TC_TRY(tc_fleet_bus_connect(&p->o.access, p->o.tuner, &p->bus, err));
    TC_TRY(tc_fleet_bus_records(p->bus, &k, err));
    if (!k.there) {
        TC_TRY(tc_fleet_bus_keep_records(p->bus, err));
        TC_TRY(tc_fleet_bus_records(p->bus, &k, err));
    }
    *fresh = k.made != p->made;
    if (!*fresh)
        return TC_OK;
    TC_TRY(tc_fleet_place_read(p->db, p->place, &at, err));
    p->told = p->before = p->kept = at.made == k.made ? at.at : 0;
    p->made = k.made;
    tc_map_clear(&p->state);
    return TC_OK;
}

/* Tells what is new; `all`: also what has changed since it was told. */
static tc_status look(tc_fleet_publisher *p, bool all, tc_error *err) {
    bool fresh, wrote;
    if (!p->db)
        TC_TRY(tc_meas_db_open(p->o.database, TC_MEAS_DB_CHANGE, &p->db, err));
    TC_TRY(meet_stream(p, &fresh, err));
    TC_TRY(tc_meas_db_others_wrote(p->db, &wrote, err));
    if (!all && !fresh && !wrote)
        return TC_OK;
    tc_arena *a = tc_arena_new();
    tc_status s = tell_from(p, all || fresh ? 0 : p->told, a, err);
    tc_arena_free(a);
    bool save = p->told > p->kept && (all || tc_now() - p->saved > save_seconds);
    return s == TC_OK && save ? save_place(p, err) : s;
}

/* ---- the thread ---- */

static void complain(tc_fleet_publisher *p, tc_status s, const tc_error *why) {
    p->off = s == TC_BAD_INPUT;
    tc_log(p->warned ? TC_LOG_DEBUG : TC_LOG_WARN, "records of %s are not shared with others%s: %s", p->o.database,
           p->off ? "" : " for now; this tuner, or the next one of this file, does it later", why->msg);
    p->warned = true;
}

/* What it could not read or tell it looks at again. */
static tc_status work(tc_fleet_publisher *p, bool all, bool last) {
    tc_error why = {0};
    bool away = p->bus && !tc_fleet_bus_connected(p->bus);
    if (p->off || !tc_fs_exists(p->o.database) || (away && !last))
        return TC_ENV;
    tc_status s = away ? tc_fail(&why, TC_ENV, "%s: the server is away", tc_fleet_bus_url(p->bus)) : look(p, all, &why);
    if (s == TC_OK)
        return s;
    complain(p, s, &why);
    tc_meas_db_close(p->db);
    p->db = NULL;
    return s;
}

static void *live(void *user) {
    tc_fleet_publisher *p = user;
    bool ending = false, all = false;
    while (!ending) {
        struct timespec until = tc_clock_after(look_seconds);
        pthread_mutex_lock(&p->lock);
        if (!p->ending && !p->again)
            pthread_cond_clockwait(&p->wake, &p->lock, CLOCK_MONOTONIC, &until);
        all |= p->again || p->ending;
        p->again = false;
        ending = p->ending;
        pthread_mutex_unlock(&p->lock);
        p->until = ending ? tc_now() + MOST_SECONDS : 0;
        if (work(p, all, ending) == TC_OK)
            all = false;
    }
    tc_meas_db_close(p->db);
    tc_fleet_bus_close(p->bus);
    return NULL;
}

static const char *copy(tc_arena *a, const char *text) {
    return text ? tc_arena_strdup(a, text) : NULL;
}

static void release(tc_fleet_publisher *p) {
    tc_map_free(&p->state);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->wake);
    tc_arena_free(p->arena);
    free(p);
}

tc_fleet_publisher *tc_fleet_publish_begin(const tc_fleet_publish *o) {
    tc_fleet_publisher *p = tc_xcalloc(1, sizeof *p);
    tc_arena *a = p->arena = tc_arena_new();
    p->o = (tc_fleet_publish){.access = {.url = copy(a, o->access.url),
                                         .creds = copy(a, o->access.creds),
                                         .nkey = copy(a, o->access.nkey),
                                         .ca = copy(a, o->access.ca)},
                              .tuner = copy(a, o->tuner),
                              .key = copy(a, o->key),
                              .target = copy(a, o->target),
                              .threads = o->threads,
                              .database = copy(a, o->database)};
    p->place = tc_arena_printf(a, "told %s", o->key);
    p->again = true;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    if (pthread_create(&p->thread, NULL, live, p) == 0)
        return p;
    tc_log(TC_LOG_WARN, "records of this search are not shared with others: a thread cannot be started");
    release(p);
    return NULL;
}

void tc_fleet_publish_again(tc_fleet_publisher *p) {
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->again = true;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

void tc_fleet_publish_end(tc_fleet_publisher *p) {
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->ending = true;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    release(p);
}
