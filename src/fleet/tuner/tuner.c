/* Joining a fleet, who is there, and who is not believed. */
#include "fleet/tuner/tuner_int.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "support/log.h"
#include "support/system/fs.h"

static const double usual_patience = 60, attend_seconds = TC_FLEET_TUNER_LEASE / 6.0;

/* ---- who is there ---- */

/* A pattern of which an emulated worker's key is an example need not mean it: it says so itself. */
static bool fits(const tc_fleet_worker *w, const char *pattern, const char *build) {
    bool meant = !tc_fleet_key_is_emulated(w->key) || strncmp(pattern, TC_FLEET_EMULATED, strlen(TC_FLEET_EMULATED)) == 0;
    return meant && tc_fleet_measures(w) && fnmatch(pattern, w->key, 0) == 0 && strcmp(w->build, build) == 0;
}

static bool any_fits(const tc_fleet_crowd *c, const char *pattern, const char *build) {
    for (size_t i = 0; i < c->workers.len; i++)
        if (fits(&c->workers.data[i], pattern, build))
            return true;
    return false;
}

/* The key that fits, of all that are served; NULL: none, or several. */
static const tc_fleet_worker *choose(const tc_fleet_crowd *c, const char *pattern, const char *build) {
    const tc_fleet_worker *found = NULL;
    for (size_t i = 0; i < c->workers.len; i++) {
        const tc_fleet_worker *w = &c->workers.data[i];
        if (!fits(w, pattern, build))
            continue;
        if (found && strcmp(found->key, w->key) != 0)
            return NULL;
        found = w;
    }
    return found;
}

/* Why those of the key that are there take no jobs. */
static const char *who_rests(const tc_fleet_crowd *c, const char *key) {
    tc_strbuf b = {0};
    for (size_t i = 0; i < c->workers.len; i++) {
        const tc_fleet_worker *w = &c->workers.data[i];
        if (fnmatch(key, w->key, 0) == 0 && tc_fleet_measures(w) && !tc_fleet_is_serving(w))
            tc_sb_printf(&b, "%s%s is %s%s%s", b.len ? ", " : "; ", w->name, w->state, *w->why ? ": " : "", w->why);
    }
    return b.len ? tc_sb_keep(&b, c->arena) : "";
}

/* "; served are: KEY (tctune 0.2.0/19.1.7), ..." */
static const char *keys_there_are(const tc_fleet_crowd *c) {
    tc_strbuf b = {0};
    bool emulated = false;
    for (size_t i = 0; i < c->workers.len; i++) {
        emulated |= tc_fleet_key_is_emulated(c->workers.data[i].key);
        if (tc_fleet_crowd_first(c, i) && tc_fleet_crowd_of(c, c->workers.data[i].key) > 0)
            tc_sb_printf(&b, "%s%s (tctune %s)", b.len ? ", " : "; served are: ", c->workers.data[i].key,
                         c->workers.data[i].build);
    }
    if (emulated)
        tc_sb_add(&b, ". To choose emulated processors, give a pattern that begins with '" TC_FLEET_EMULATED "'");
    return b.len ? tc_sb_keep(&b, c->arena) : "; no worker is there at all";
}

tc_status fleet_nobody(const tc_fleet *f, const tc_fleet_crowd *c, const char *key, tc_error *err) {
    return tc_fail(err, TC_BAD_INPUT,
                   "%s: no worker serves the key %s of tctune %s%s%s. Start `tctune worker` on such a machine, or choose other "
                   "workers by their key",
                   tc_fleet_bus_url(f->bus), key, tc_fleet_build(c->arena), keys_there_are(c), who_rests(c, key));
}

static fleet_known *known_as(tc_fleet *f, const char *name, size_t len) {
    for (size_t i = 0; i < f->known.len; i++)
        if (strlen(f->known.data[i].name) == len && memcmp(f->known.data[i].name, name, len) == 0)
            return &f->known.data[i];
    return NULL;
}

/* One that leaves has answered before, and what it can do is asked for after that. */
static void remember(tc_fleet *f, const tc_fleet_worker *w) {
    fleet_known *k = known_as(f, w->name, strlen(w->name));
    if (!k) {
        tc_push(&f->known, ((fleet_known){.name = tc_arena_strdup(f->arena, w->name)}));
        k = &f->known.data[f->known.len - 1];
    }
    const char *isa = k->rates.peak.isa;
    k->rates = w->rates;
    k->rates.peak.isa = isa && strcmp(isa, w->rates.peak.isa) == 0 ? isa : tc_arena_strdup(f->arena, w->rates.peak.isa);
}

static void count_workers(tc_fleet *f, const tc_fleet_crowd *c) {
    f->workers = 0;
    f->last_cache = 0;
    for (size_t i = 0; i < c->workers.len; i++) {
        const tc_fleet_worker *w = &c->workers.data[i];
        if (strcmp(w->key, f->key) != 0 || !tc_fleet_measures(w))
            continue;
        remember(f, w);
        if (!tc_fleet_is_serving(w) || fleet_bars(f, w->name))
            continue;
        f->workers++;
        f->gflops = TC_MAX(f->gflops, w->rates.peak.f32_gflops);
        if (w->l3 > 0)
            f->last_cache = f->last_cache > 0 ? TC_MIN(f->last_cache, w->l3) : w->l3;
    }
}

/* ---- joining ---- */

static tc_status choose_key(tc_fleet *f, const tc_fleet_options *o, tc_fleet_crowd *c, tc_error *err) {
    const char *build = tc_fleet_build(c->arena),
               *pattern = o->key ? o->key : tc_fleet_key(c->arena, o->target, o->threads, build);
    TC_TRY(tc_fleet_crowd_see(c, f->bus, err));
    const tc_fleet_worker *w = choose(c, pattern, build);
    if (!w && o->absent)
        *o->absent = !any_fits(c, pattern, build);
    if (!w)
        return fleet_nobody(f, c, pattern, err);
    f->key = tc_arena_strdup(f->arena, w->key);
    f->target = tc_arena_strdup(f->arena, w->target);
    f->threads = w->threads;
    count_workers(f, c);
    if (tc_fleet_is_emulated(f))
        tc_log(TC_LOG_WARN,
               "workers of the key %s are emulated: their times can only be compared with each other, and nothing is built from "
               "them",
               f->key);
    return TC_OK;
}

/* One that is empty yet has nothing; what else is wrong with it the caller is told when it opens it to write. */
static void open_database(tc_fleet *f, const char *file) {
    tc_error why = {0};
    if (tc_meas_db_open(file, TC_MEAS_DB_READ, &f->db, &why) != TC_OK || tc_meas_db_last_id(f->db, &f->last_id, &why) != TC_OK)
        tc_log(TC_LOG_DEBUG, "%s", why.msg);
}

/* Others are told what this tuner records. */
static void share(tc_fleet *f, const tc_fleet_access *access) {
    if (f->database)
        f->publisher = tc_fleet_publish_begin(&(tc_fleet_publish){.access = *access,
                                                                  .tuner = f->tuner,
                                                                  .key = f->key,
                                                                  .target = f->target,
                                                                  .threads = f->threads,
                                                                  .database = f->database});
}

static tc_status join(tc_fleet *f, const tc_fleet_options *o, tc_error *err) {
    tc_fleet_crowd c = tc_fleet_crowd_new();
    tc_status s = tc_fleet_bus_open(&o->access, o->tuner, &f->bus, err);
    if (s == TC_ENV && o->absent)
        *o->absent = !tc_ran_out();
    if (s == TC_OK)
        s = choose_key(f, o, &c, err);
    if (s == TC_OK)
        s = tc_fleet_bus_listen(f->bus, f->key, f->tuner, err);
    if (s == TC_OK && o->database && tc_fs_exists(o->database))
        open_database(f, o->database);
    if (s == TC_OK)
        s = fleet_attend(f, err); /* before it has anything to ask for: those that come with it are to know of it then */
    if (s == TC_OK)
        share(f, &o->access);
    tc_fleet_crowd_free(&c);
    return s;
}

tc_status tc_fleet_join(const tc_fleet_options *o, tc_fleet **out, tc_error *err) {
    *out = NULL;
    if (!tc_fleet_is_word(o->tuner))
        return tc_fail(err, TC_BAD_INPUT, "a tuner's name has at most %d letters, digits, - and _", TC_FLEET_NAME);
    if (!(o->weight >= 0 && o->weight <= TC_FLEET_HEAVIEST) || (o->weight > 0 && o->weight < 1.0 / TC_FLEET_HEAVIEST))
        return tc_fail(err, TC_BAD_INPUT, "a tuner's weight must be from %g to %d", 1.0 / TC_FLEET_HEAVIEST, TC_FLEET_HEAVIEST);
    tc_fleet *f = tc_xcalloc(1, sizeof *f);
    f->arena = tc_arena_new();
    f->tuner = tc_arena_strdup(f->arena, o->tuner);
    f->database = o->database ? tc_arena_strdup(f->arena, o->database) : NULL;
    f->most = o->in_flight;
    f->weight = o->weight > 0 ? o->weight : 1;
    f->patience = o->patience > 0 ? o->patience : usual_patience;
    f->pauses = TC_MIN(f->patience / usual_patience, 1);
    if (getrandom(&f->session, sizeof f->session, 0) != (ssize_t)sizeof f->session)
        f->session = (uint64_t)tc_meas_now_ms();
    tc_status s = join(f, o, err);
    if (s == TC_OK)
        *out = f;
    else
        tc_fleet_leave(f);
    return s;
}

/* Says how alike workers rank what two of them timed. */
static void tell_flips(const tc_fleet *f) {
    tc_fleet_rankings all = tc_fleet_scale_rankings(&f->scale, f->arena);
    for (size_t i = 0; i < all.len; i++) {
        const tc_fleet_ranking *k = &all.data[i];
        bool many = tc_fleet_rank_otherwise(k->flips);
        tc_log(many ? TC_LOG_WARN : TC_LOG_INFO, "the workers %s and %s order %zu of %zu pairs of candidates differently%s",
               k->worker[0], k->worker[1], k->flips.flipped, k->flips.pairs,
               many ? ": their machines differ. Take one of them out of the fleet, or tune for each alone" : "");
    }
}

void tc_fleet_leave(tc_fleet *f) {
    if (!f)
        return;
    tell_flips(f);
    tc_fleet_publish_end(f->publisher);
    if (f->bus && f->attended > 0)
        tc_fleet_bus_depart(f->bus, f->tuner);
    tc_fleet_bus_close(f->bus);
    tc_meas_db_close(f->db);
    tc_vec_free(&f->barred);
    tc_vec_free(&f->known);
    tc_vec_free(&f->errands);
    tc_fleet_scale_free(&f->scale);
    tc_arena_free(f->arena);
    free(f);
}

const char *tc_fleet_target(const tc_fleet *f) {
    return f->target;
}

int tc_fleet_threads(const tc_fleet *f) {
    return f->threads;
}

void tc_fleet_machine(const tc_fleet *f, double *gflops, int64_t *last_cache) {
    *gflops = f->gflops;
    *last_cache = f->last_cache;
}

bool tc_fleet_is_emulated(const tc_fleet *f) {
    return tc_fleet_key_is_emulated(f->key);
}

bool tc_fleet_rates_of(tc_fleet *f, const char *host, tc_meas_rates *out) {
    size_t len = strcspn(host, "@");
    if (!known_as(f, host, len)) { /* it came after the last look */
        tc_fleet_crowd c = tc_fleet_crowd_new();
        tc_error why = {0};
        if (fleet_look_around(f, &c, &why) != TC_OK)
            tc_log(TC_LOG_DEBUG, "%s", why.msg);
        tc_fleet_crowd_free(&c);
    }
    const fleet_known *k = known_as(f, host, len);
    *out = k ? k->rates : (tc_meas_rates){.peak = {.isa = ""}};
    return k != NULL;
}

/* ---- being there ---- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double jobs_of(double weight, double all, double sum) {
    return fmax(1, round(all * weight / sum));
}

/* How far rounding takes any tuner from its share when about so many jobs are in flight; more than 1: they are too few for the
 * workers. */
static double unfairness(const double *weight, size_t n, double sum, double all, double least) {
    double total = 0, worst = 0;
    for (size_t i = 0; i < n; i++)
        total += jobs_of(weight[i], all, sum);
    for (size_t i = 0; i < n; i++)
        worst = fmax(worst, fabs(jobs_of(weight[i], all, sum) / total * sum / weight[i] - 1));
    return total < least ? INFINITY : worst;
}

int fleet_share(const double *weight, size_t n, int workers) {
    enum { MOST = 4096 /* jobs, with tuners whose weights differ most */, TIMES = 4 /* more than are needed at least */ };
    const double fair = 0.05; /* chosen: half of what shares may be off */
    double *sorted = tc_xcalloc(n, sizeof *sorted), sum = 0, least_bad = INFINITY;
    memcpy(sorted, weight, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_size); /* so that all tuners round alike */
    for (size_t i = 0; i < n; i++)
        sum += sorted[i];
    int least = TC_MAX(2 * workers, (int)fmin(ceil(sum / sorted[0]), MOST)), all = least;
    for (int k = least; k <= TIMES * least && least_bad > fair; k++) {
        double bad = unfairness(sorted, n, sum, k, 2 * workers);
        all = bad < least_bad ? k : all;
        least_bad = fmin(bad, least_bad);
    }
    free(sorted);
    return (int)jobs_of(weight[0], all, sum);
}

typedef struct weighing {
    const tc_fleet *f;
    tc_arena *a;
    TC_VEC(double) weights; /* this tuner's first */
} weighing;

static void weigh(void *user, const char *text, double age) {
    weighing *w = user;
    tc_fleet_tuner t;
    tc_error why;
    (void)age;
    if (tc_fleet_tuner_read(text, w->a, &t, &why) == TC_OK && strcmp(t.key, w->f->key) == 0 && strcmp(t.name, w->f->tuner) != 0)
        tc_push(&w->weights, t.weight);
}

/* Where one tuner comes or goes, others soon do. */
static void note_calm(tc_fleet *f, int tuners) {
    f->calm = f->tuners == tuners ? f->calm + 1 : 0;
    f->tuners = tuners;
}

static double until_next_look(const tc_fleet *f) {
    return f->calm < 4 ? 1 << f->calm : attend_seconds;
}

tc_status fleet_look_around(tc_fleet *f, tc_fleet_crowd *c, tc_error *err) {
    weighing w = {.f = f, .a = c->arena};
    TC_TRY(tc_fleet_crowd_see(c, f->bus, err));
    tc_push(&w.weights, f->weight);
    tc_status s = tc_fleet_bus_tuners(f->bus, weigh, &w, err);
    count_workers(f, c);
    f->shared = w.weights.len > 1;
    if (s == TC_OK)
        note_calm(f, (int)w.weights.len);
    if (s == TC_OK)
        f->in_flight = f->most > 0 ? f->most : fleet_share(w.weights.data, w.weights.len, f->workers);
    tc_vec_free(&w.weights);
    return s;
}

tc_status fleet_attend(tc_fleet *f, tc_error *err) {
    double now = tc_now();
    if (f->attended > 0 && now - f->attended < until_next_look(f))
        return TC_OK;
    f->attended = now;
    tc_strbuf b = {0};
    tc_fleet_crowd c = tc_fleet_crowd_new();
    tc_fleet_rankings rankings = tc_fleet_scale_rankings(&f->scale, c.arena);
    tc_fleet_tuner_write(&(tc_fleet_tuner){.name = f->tuner, .key = f->key, .weight = f->weight, .rankings = rankings}, &b);
    tc_status s = tc_fleet_bus_attend(f->bus, f->tuner, tc_sb_str(&b), err);
    tc_strbuf_free(&b);
    tc_error why = {0};
    if (s == TC_OK && fleet_look_around(f, &c, &why) != TC_OK) { /* what was known before still holds */
        tc_log(TC_LOG_DEBUG, "%s", why.msg);
        f->in_flight = f->in_flight > 0 ? f->in_flight : 1;
    }
    tc_fleet_crowd_free(&c);
    return s;
}

/* ---- who is not believed ---- */

bool fleet_bars(const tc_fleet *f, const char *worker) {
    for (size_t i = 0; i < f->barred.len; i++)
        if (strcmp(f->barred.data[i], worker) == 0)
            return true;
    return false;
}

/* That nobody is there would be the end: a busy server may not have told of everybody at once. */
static tc_status look_twice(tc_fleet *f, tc_error *err) {
    enum { TIMES = 4 };
    tc_status s = TC_OK;
    f->workers = 0;
    for (int i = 0; i < TIMES && s == TC_OK && f->workers == 0; i++) {
        tc_fleet_crowd c = tc_fleet_crowd_new();
        if (i > 0)
            nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
        s = fleet_look_around(f, &c, err);
        tc_fleet_crowd_free(&c);
    }
    return s;
}

tc_status fleet_bar(tc_fleet *f, const char *worker, const char *why, tc_error *err) {
    if (!fleet_bars(f, worker) && f->barred.len < TC_FLEET_BARRED - 2) { /* second opinions bar two more */
        tc_log(TC_LOG_WARN, "the worker %s gets no more jobs from this tuner: %s", worker, why);
        tc_push(&f->barred, tc_arena_strdup(f->arena, worker));
    }
    tc_status s = look_twice(f, err);
    if (s == TC_OK && f->workers == 0)
        s = tc_fail(err, TC_ENV, "%s: all workers of the key %s gave wrong answers, the last was %s: %s",
                    tc_fleet_bus_url(f->bus), f->key, worker, why);
    return s;
}

tc_status fleet_set_aside(tc_fleet *f, const char *worker, const char *why, bool *done, tc_error *err) {
    tc_error none = {0};
    tc_fleet_crowd c = tc_fleet_crowd_new();
    *done = !fleet_bars(f, worker) && fleet_look_around(f, &c, &none) == TC_OK && f->workers > 1;
    tc_fleet_crowd_free(&c);
    return *done ? fleet_bar(f, worker, why, err) : TC_OK;
}

static tc_status take_back(tc_meas_db *db, const tc_fleet *f, const char *worker, tc_arena *a, tc_error *err) {
    tc_meas_records r = {0};
    const char *host = tc_arena_printf(a, "%s@", worker);
    size_t n = 0;
    TC_TRY(tc_meas_db_select(db, a, &(tc_meas_filter){.after_id = f->last_id, .verified = true}, &r, err));
    for (size_t i = 0; i < r.len; i++) {
        if (strncmp(r.data[i].host, host, strlen(host)) != 0)
            continue;
        TC_TRY(tc_meas_db_set_verified(db, r.data[i].id, false, r.data[i].max_error, err));
        n++;
    }
    if (n)
        tc_log(TC_LOG_WARN, "%zu records of %s are no longer used", n, worker);
    return TC_OK;
}

tc_status fleet_disown(tc_fleet *f, const char *worker, const char *why, tc_error *err) {
    tc_meas_db *db = NULL;
    tc_status s = TC_OK;
    tc_arena *a = tc_arena_new();
    if (f->database && tc_fs_exists(f->database))
        s = tc_meas_db_open(f->database, TC_MEAS_DB_CHANGE, &db, err);
    if (db)
        s = take_back(db, f, worker, a, err);
    tc_meas_db_close(db);
    tc_arena_free(a);
    tc_fleet_publish_again(f->publisher);
    return s == TC_OK ? fleet_bar(f, worker, why, err) : s;
}

/* A worker whose times mean little is asked no more while there are others; its answer is as good as those before. */
static tc_status mind_spread(tc_fleet *f, tc_fleet_pace *p, const char *worker, tc_error *err) {
    double least, most;
    bool aside;
    tc_fleet_pace_range(p, &least, &most);
    const char *why = tc_arena_printf(
        f->arena,
        "the reference kernel, the same each time, took from %.4g to %.4g ms there in its last %d runs: the middle half of the "
        "times spans %.0f %% of the median, and times are useful up to %.0f %%. Other programs use that machine, or its clock "
        "rate changes: run `tctune doctor` there. A new tuner tries the worker again",
        1e3 * least, 1e3 * most, TC_FLEET_PACE_WINDOW, 100 * tc_fleet_pace_spread(p), 100 * TC_FLEET_MOST_SPREAD);
    TC_TRY(fleet_set_aside(f, worker, why, &aside, err));
    if (!aside && !p->told)
        tc_log(TC_LOG_WARN, "the worker %s is unsteady, and there is no other: %s", worker, why);
    p->told = true;
    return TC_OK;
}

tc_status fleet_note_pace(tc_fleet *f, const tc_fleet_result *x, double *scale, tc_error *err) {
    tc_fleet_pace *p = tc_fleet_scale_pace(&f->scale, f->arena, x->worker);
    bool fresh = tc_fleet_pace_note(p, x->references, x->reference);
    *scale = tc_fleet_scale_ratio(&f->scale, p);
    return fresh && tc_fleet_pace_spread(p) > TC_FLEET_MOST_SPREAD ? mind_spread(f, p, x->worker, err) : TC_OK;
}
