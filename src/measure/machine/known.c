/* What known.h describes. */
#include "measure/machine/known.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "measure/machine/kept.h"
#include "support/strbuf.h"
#include "support/vec.h"

/* Peaks drift by several per cent within hours (benchmarks/README.md), and clocks sink by some more in hot rooms. Chosen. */
static const double far_below = 0.8;
/* No machine of today has a tenth of it, of any of these rates. */
static const double most = 1e8;
/* A reading of so much of the second highest confirms it. Smaller gains are not worth a write. Chosen. */
static const double confirms = 0.97, gain = 1.001;
static const double day = 86400, lasts = 30 * 86400;

typedef struct readings {
    double highest, second;
    double reached; /* Unix time of the last reading that reached the second */
} readings;

static char *path_of(tc_meas_known_rate rate, const char *what, int threads) {
    static const char *const files[] = {
#define KNOWN(id, file, meaning) file,
        TC_MEAS_KNOWN(KNOWN)
#undef KNOWN
    };
    tc_strbuf key = {0};
    tc_sb_printf(&key, "%d %s", threads, what);
    char *path = tc_meas_kept_path(files[rate], tc_sb_str(&key));
    tc_strbuf_free(&key);
    return path;
}

/* A file that was damaged is as none, as is one whose readings are too old. */
static readings load(const char *path) {
    double now = (double)time(NULL);
    json_t *j = tc_meas_kept_load(path);
    readings r = {json_number_value(json_object_get(j, "highest")), json_number_value(json_object_get(j, "second")),
                  json_number_value(json_object_get(j, "reached"))};
    json_decref(j);
    bool good = r.second >= 0 && r.highest >= r.second && r.highest < most && r.reached <= now + day && now - r.reached < lasts;
    return good ? r : (readings){0};
}

static void store(const char *path, readings r) {
    tc_meas_kept_store(path, tc_json_pack("{s:f, s:f, s:f}", "highest", r.highest, "second", r.second, "reached", r.reached));
}

double tc_meas_known(tc_meas_known_rate rate, const char *what, int threads) {
    char *path = path_of(rate, what, threads);
    readings r = load(path);
    free(path);
    return r.second;
}

double tc_meas_note(tc_meas_known_rate rate, const char *what, int threads, double now) {
    char *path = path_of(rate, what, threads);
    double today = (double)time(NULL);
    readings had = load(path), r = had;
    r.second = fmin(fmax(had.second, now), had.highest);
    r.highest = fmax(had.highest, now);
    if (now >= confirms * r.second)
        r.reached = today;
    bool more = r.second > gain * had.second || had.highest == 0, confirmed = r.reached > had.reached + day;
    if (now > 0 && (more || confirmed))
        store(path, r);
    free(path);
    return r.second;
}

bool tc_meas_is_far_below(double now, double known) {
    return now < far_below * known;
}

double tc_meas_believed(double now, double known) {
    return tc_meas_is_far_below(now, known) ? known : now;
}
