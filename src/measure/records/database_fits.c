/* Queries skip records whose numbers contradict each other. The condition is part of every query that reads records, so such
 * records neither rank nor take the place of others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/records/check.h"
#include "measure/records/database_int.h"
#include "support/log.h"

/* Of the SQL function, in this order. */
enum {
    ID,
    ERROR,
    MODE,
    MEDIAN,
    TIMES,
    BUILD,
    RUN,
    MAX_ERROR,
    THREADS,
    SIGNAL,
    VERIFIED,
    WHEN,
    ROUNDS,
    SIZES,
    JOB,
    PHASE,
    PREDICTED,
    NARGUMENTS
};

void tc_meas_db_fits(const tc_meas_db *db, tc_strbuf *sql) {
    tc_sb_printf(sql,
                 "tctune_fits(r.id, r.error, %s, r.median, r.times, r.build_seconds, r.run_seconds, r.max_error, r.threads,"
                 " r.signal, r.verified, r.when_ms, %s, %s, %s)",
                 tc_meas_db_mode_column(db), tc_meas_db_rounds_column(db), tc_meas_db_sizes_column(db),
                 tc_meas_db_search_columns(db));
}

static bool is_number(sqlite3_value *v) {
    int type = sqlite3_value_type(v);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

static bool is_null(sqlite3_value *v) {
    return sqlite3_value_type(v) == SQLITE_NULL;
}

static bool is_text(sqlite3_value *v) {
    return sqlite3_value_type(v) == SQLITE_TEXT;
}

static bool is_integer(sqlite3_value *v, int64_t most) {
    return sqlite3_value_type(v) == SQLITE_INTEGER && sqlite3_value_int64(v) <= most && sqlite3_value_int64(v) >= -most;
}

static const char *text_of(sqlite3_value *v) {
    const char *s = (const char *)sqlite3_value_text(v);
    return s ? s : "";
}

/* A kind of error that a newer version added is a failure all the same. */
static tc_meas_error error_of(sqlite3_value *v) {
    tc_meas_error e;
    return tc_meas_error_parse(text_of(v), &e) ? e : TC_MEAS_RUN_FAILED;
}

/* What columns of other types than they were made for hold says nothing. */
static tc_status check_types(sqlite3_value **v, tc_error *err) {
    bool right = (is_null(v[MEDIAN]) || is_number(v[MEDIAN])) && (size_t)sqlite3_value_bytes(v[TIMES]) % sizeof(double) == 0 &&
                 is_integer(v[WHEN], INT64_MAX);
    for (int i = BUILD; i <= MAX_ERROR; i++)
        right &= is_number(v[i]);
    for (int i = THREADS; i <= ROUNDS; i++)
        right &= i == WHEN || is_integer(v[i], INT32_MAX);
    right &= is_text(v[SIZES]) && (is_null(v[JOB]) || is_text(v[JOB])) && is_text(v[PHASE]) &&
             (is_null(v[PREDICTED]) || is_number(v[PREDICTED]));
    tc_meas_mode mode;
    if (!right)
        return tc_fail(err, TC_BAD_INPUT, "a column does not hold a valid number or text; the record was edited or damaged");
    if (!tc_meas_mode_parse(text_of(v[MODE]), &mode))
        return tc_fail(err, TC_BAD_INPUT, "it was timed in the mode '%.40s', which this tctune does not know", text_of(v[MODE]));
    return TC_OK;
}

static tc_status check(sqlite3_value **v, double *times, tc_error *err) {
    TC_TRY(check_types(v, err));
    tc_record r = {.error = error_of(v[ERROR]),
                   .median = is_null(v[MEDIAN]) ? INFINITY : sqlite3_value_double(v[MEDIAN]),
                   .times = times,
                   .ntimes = (size_t)sqlite3_value_bytes(v[TIMES]) / sizeof *times,
                   .build_seconds = sqlite3_value_double(v[BUILD]),
                   .run_seconds = sqlite3_value_double(v[RUN]),
                   .max_error = sqlite3_value_double(v[MAX_ERROR]),
                   .threads = sqlite3_value_int(v[THREADS]),
                   .signal = sqlite3_value_int(v[SIGNAL]),
                   .verified = sqlite3_value_int(v[VERIFIED]) != 0,
                   .when_ms = sqlite3_value_int64(v[WHEN]),
                   .rounds = sqlite3_value_int(v[ROUNDS]),
                   .sizes = text_of(v[SIZES]),
                   .job = text_of(v[JOB]),
                   .phase = text_of(v[PHASE])};
    return tc_meas_check_numbers(&r, err);
}

static void log_first(tc_meas_db *db, int64_t id, const char *why) {
    if (!db->told)
        tc_log(TC_LOG_WARN,
               "%s: record %lld is not used: %s. `tctune db verify` lists all such records, `tctune db prune --drop-failures` "
               "removes them",
               db->path, (long long)id, why);
    db->told = true;
}

static void fits(sqlite3_context *c, int n, sqlite3_value **v) {
    tc_meas_db *db = sqlite3_user_data(c);
    tc_error why = {0};
    (void)n;
    const void *blob = sqlite3_value_blob(v[TIMES]);
    size_t bytes = (size_t)sqlite3_value_bytes(v[TIMES]);
    double *times = tc_xmalloc(bytes + sizeof *times); /* a blob need not be aligned */
    if (bytes)
        memcpy(times, blob, bytes);
    bool fit = check(v, times, &why) == TC_OK;
    free(times);
    if (!fit && db->misfit)
        db->misfit(db->user, sqlite3_value_int64(v[ID]), why.msg);
    else if (!fit)
        log_first(db, sqlite3_value_int64(v[ID]), why.msg);
    sqlite3_result_int(c, fit);
}

void tc_meas_db_on_misfit(tc_meas_db *db, tc_meas_misfit *fn, void *user) {
    db->misfit = fn;
    db->user = user;
}

tc_status tc_meas_db_add_fits(tc_meas_db *db, tc_error *err) {
    enum { FLAGS = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY };
    int code = sqlite3_create_function_v2(db->sql, "tctune_fits", NARGUMENTS, FLAGS, db, fits, NULL, NULL, NULL);
    return code == SQLITE_OK ? TC_OK : tc_meas_db_fail(db, "opening", err);
}
