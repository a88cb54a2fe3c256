/* Records that others' tuners share, into a database. */
#include "fleet/team/follow.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "fleet/message.h"
#include "fleet/team/place.h"
#include "measure/records/check.h"
#include "measure/records/maintain.h"
#include "support/log.h"
#include "support/map.h"
#include "support/system/stop.h"

enum { MANY = 64 /* messages after which the place is kept */ };

static const double look_seconds = 0.5, usual_patience = 60;

typedef struct follower {
    const tc_fleet_follow_options *o;
    tc_fleet_bus *bus;
    tc_meas_db *db;
    tc_arena *arena, *each; /* of one message */
    const char *place;
    tc_fleet_place at, kept; /* what was looked at; what of that the database knows */
    tc_fleet_followed *n;
    tc_map workloads; /* that were found to be in order */
    bool waits;       /* it was said that it does */
    double lost;      /* when the server was first missed; 0: it is there */
} follower;

static bool is_stopped(const follower *f) {
    return tc_is_raised(f->o->stop) || tc_ran_out();
}

/* ---- one record ---- */

static tc_status refuse(follower *f, const tc_fleet_shared *x, const tc_fleet_entry *e, const char *why) {
    f->n->refused++;
    const char *said = tc_arena_printf(f->each, "message %llu (job %.64s, key %.64s%s%.64s): %s", (unsigned long long)x->number,
                                       x->job, x->key, *e->tuner ? ", by the tuner " : "", e->tuner, why);
    tc_log(TC_LOG_INFO, "refused: %s", said);
    if (f->o->told)
        f->o->told(f->o->user, f->n, said);
    return TC_OK;
}

/* It is where such a record is to be. */
static tc_status check_place(const tc_fleet_shared *x, const tc_record *r, tc_error *err) {
    if (strcmp(x->job, r->job) != 0)
        return tc_fail(err, TC_BAD_INPUT, "its record is of job %s", r->job);
    if (!tc_fleet_is_of_key(r, x->key))
        return tc_fail(err, TC_BAD_INPUT, "its record is of another key: of %d threads, versions %s/%s and the target %.200s",
                       r->threads, r->tctune_version, r->llvm_version, r->target);
    return TC_OK;
}

static tc_status read_entry(follower *f, const tc_fleet_shared *x, tc_fleet_entry *e, tc_error *err) {
    *e = (tc_fleet_entry){.tuner = ""};
    if (!tc_fleet_is_word(x->key) || !tc_fleet_is_word(x->job))
        return tc_fail(err, TC_BAD_INPUT, "its subject is not the subject of a record");
    if (x->bytes > TC_FLEET_RECORD)
        return tc_fail(err, TC_BAD_INPUT, "it has %zu bytes, more than %d", x->bytes, TC_FLEET_RECORD);
    TC_TRY(tc_fleet_entry_read(x->text, f->each, e, err));
    TC_TRY(check_place(x, &e->record, err));
    TC_TRY(tc_meas_check_workload(&e->record, &f->workloads, err));
    return tc_meas_check_bounds(&e->record, err);
}

static tc_status change(follower *f, const tc_record *have, const tc_record *r, tc_error *err) {
    tc_record as = *r;
    as.id = have->id;
    switch (tc_fleet_news_of(have, r)) {
    case TC_FLEET_NO_NEWS:
        f->n->known++;
        return TC_OK;
    case TC_FLEET_RETIMED:
        f->n->changed++;
        return tc_meas_db_retime(f->db, &as, err);
    case TC_FLEET_DISOWNED:
        f->n->changed++;
        return tc_meas_db_set_verified(f->db, have->id, false, r->max_error, err);
    case TC_FLEET_FAILED:
        if (!have->verified && !tc_meas_disproves(r->error)) { /* as it was left when that was heard first */
            f->n->known++;
            return TC_OK;
        }
        f->n->changed++;
        TC_TRY(tc_meas_db_note_failure(f->db, have->id, r, err));
        return have->verified ? tc_meas_db_set_verified(f->db, have->id, false, r->max_error, err) : TC_OK;
    }
    return TC_OK;
}

static bool is_wanted(const follower *f, const char *key, const char *tuner) {
    return (!f->o->key || fnmatch(f->o->key, key, 0) == 0) && (!f->o->tuner || !tuner || fnmatch(f->o->tuner, tuner, 0) == 0);
}

static tc_status take(follower *f, const tc_fleet_shared *x, tc_error *err) {
    tc_fleet_entry e = {.tuner = ""};
    tc_meas_records have = {0};
    tc_error why = {0};
    bool wanted = is_wanted(f, x->key, NULL);
    tc_status s = wanted ? read_entry(f, x, &e, &why) : TC_OK;
    if (s == TC_BAD_INPUT)
        return refuse(f, x, &e, why.msg);
    if (s != TC_OK)
        return tc_fail(err, s, "%s", why.msg);
    if (!wanted || !is_wanted(f, x->key, e.tuner)) {
        f->n->others++;
        return TC_OK;
    }
    TC_TRY(tc_meas_db_select(f->db, f->each, &(tc_meas_filter){.job = x->job, .limit = 1}, &have, err));
    if (have.len)
        return change(f, &have.data[0], &e.record, err);
    TC_TRY(tc_meas_db_insert(f->db, &e.record, 1, err));
    f->n->stored++;
    return TC_OK;
}

/* ---- all of them ---- */

static tc_status keep_place(follower *f, tc_error *err) {
    if (f->at.made == f->kept.made && f->at.at == f->kept.at)
        return TC_OK;
    f->kept = f->at;
    return tc_fleet_place_write(f->db, f->place, &f->at, err);
}

/* A database that cannot be written to is the end; a server that is away is not. */
static tc_status drain(follower *f, tc_status *server, tc_error *why, tc_error *err) {
    for (int n = 1; !is_stopped(f); n++) {
        tc_fleet_shared x;
        tc_arena_reset(f->each);
        *server = tc_fleet_bus_next_kept(f->bus, (uint64_t)f->at.at, f->each, &x, why);
        if (*server != TC_OK || !x.text)
            break;
        TC_TRY(take(f, &x, err));
        f->at.at = (int64_t)x.number;
        if (n % MANY == 0)
            TC_TRY(keep_place(f, err));
    }
    return keep_place(f, err);
}

static void pause_for(const follower *f, double seconds) {
    for (double until = tc_now() + seconds; tc_now() < until && !is_stopped(f);)
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
}

static void say_once(follower *f, const char *what) {
    tc_log(f->waits ? TC_LOG_DEBUG : TC_LOG_WARN, "%s: %s", tc_fleet_bus_url(f->bus), what);
    f->waits = true;
}

/* The server did not answer: that passes, or it does not. */
static tc_status miss_server(follower *f, tc_status s, const tc_error *why, tc_error *err) {
    double now = tc_now(), patience = f->o->patience > 0 ? f->o->patience : usual_patience;
    f->lost = f->lost > 0 ? f->lost : now;
    if (s != TC_ENV || (f->o->once && now - f->lost >= patience))
        return tc_fail(err, s, "%s", why->msg);
    say_once(f, tc_arena_printf(f->each, "waits for the server: %s", why->msg));
    pause_for(f, look_seconds);
    return TC_OK;
}

#define REMEDY                                                                                                                   \
    "Each tuner (tctune tune --fleet) makes a missing stream, and puts its database's records of the key into it. Run the "      \
    "tuner's command again, even if it has nothing left to measure"

static tc_status miss_stream(follower *f, tc_error *err) {
    if (f->o->once)
        return tc_fail(err, TC_ENV, "%s: there is no stream of records (TCTUNE_RECORD). " REMEDY, tc_fleet_bus_url(f->bus));
    say_once(f, f->at.made ? "the stream of records (TCTUNE_RECORD) was deleted. " REMEDY
                           : "there is no stream of records (TCTUNE_RECORD) yet. " REMEDY);
    pause_for(f, look_seconds);
    return TC_OK;
}

/* Another stream than before has other numbers: all of it is new, and most of it known. */
static void meet_stream(follower *f, const tc_fleet_kept *k) {
    f->waits = false;
    f->lost = 0;
    if (k->made == f->at.made)
        return;
    if (f->at.made)
        tc_log(TC_LOG_WARN, "%s: the stream of records was made anew; it is followed from its beginning",
               tc_fleet_bus_url(f->bus));
    f->at = (tc_fleet_place){.made = k->made};
}

static void report(const follower *f, const tc_fleet_followed *before) {
    if (f->o->told && memcmp(before, f->n, sizeof *before) != 0)
        f->o->told(f->o->user, f->n, NULL);
}

/* *end: `once` has all. */
static tc_status look(follower *f, bool *end, tc_error *err) {
    tc_fleet_kept k;
    tc_error why = {0};
    tc_fleet_followed before = *f->n;
    tc_status server = tc_fleet_bus_records(f->bus, &k, &why);
    if (server != TC_OK)
        return miss_server(f, server, &why, err);
    if (!k.there)
        return miss_stream(f, err);
    meet_stream(f, &k);
    if (k.last > (uint64_t)f->at.at)
        TC_TRY(drain(f, &server, &why, err));
    report(f, &before);
    if (server != TC_OK)
        return miss_server(f, server, &why, err);
    *end = f->o->once;
    if (!*end)
        pause_for(f, look_seconds);
    return TC_OK;
}

static tc_status follow(follower *f, tc_error *err) {
    bool end = false;
    tc_fleet_kept k;
    TC_TRY(tc_fleet_bus_connect(&f->o->access, "follow", &f->bus, err));
    TC_TRY(tc_fleet_bus_records(f->bus, &k, err)); /* who is not let in is told so before a file is made */
    TC_TRY(tc_meas_db_open(f->o->database, TC_MEAS_DB_WRITE, &f->db, err));
    f->place = tc_arena_printf(f->arena, "followed\n%s\n%s\n%s", tc_fleet_bus_url(f->bus), f->o->key ? f->o->key : "*",
                               f->o->tuner ? f->o->tuner : "*");
    TC_TRY(tc_fleet_place_read(f->db, f->place, &f->at, err));
    f->kept = f->at;
    while (!end && !is_stopped(f))
        TC_TRY(look(f, &end, err));
    return keep_place(f, err);
}

tc_status tc_fleet_follow(const tc_fleet_follow_options *o, tc_fleet_followed *out, tc_error *err) {
    follower f = {.o = o, .arena = tc_arena_new(), .each = tc_arena_new(), .n = out};
    *out = (tc_fleet_followed){0};
    tc_status s = follow(&f, err);
    tc_meas_db_close(f.db);
    tc_fleet_bus_close(f.bus);
    tc_map_free(&f.workloads);
    tc_arena_free(f.each);
    tc_arena_free(f.arena);
    return s;
}
