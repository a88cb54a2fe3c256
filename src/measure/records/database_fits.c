/* Queries skip rows that cannot be true: a column holds what it was not made for (columns.def), the workload or the target of a
 * record is missing, or the numbers of a record contradict each other (check.h). The condition is part of every query that reads
 * records, so such records neither rank nor take the place of others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/records/check.h"
#include "measure/records/database_int.h"
#include "support/log.h"
#include "support/vec.h"

/* ---- the columns ---- */

typedef enum column_type { INT, REAL, MAYBE_REAL, TIMES, BLOB, HASH, WORD, MAYBE_WORD, TEXT, NTYPES } column_type;

enum {
    IS_INTEGER = 1 << SQLITE_INTEGER,
    IS_FLOAT = 1 << SQLITE_FLOAT,
    IS_TEXT = 1 << SQLITE_TEXT,
    IS_BLOB = 1 << SQLITE_BLOB,
    IS_NULL = 1 << SQLITE_NULL
};
static const struct {
    int right; /* the types of SQLite that are */
    const char *expected;
} types[NTYPES] = {
    [INT] = {IS_INTEGER, "an integer"},
    [REAL] = {IS_INTEGER | IS_FLOAT, "a number"},
    [MAYBE_REAL] = {IS_INTEGER | IS_FLOAT | IS_NULL, "a number or NULL"},
    [TIMES] = {IS_BLOB | IS_TEXT, "a blob"},
    [BLOB] = {IS_BLOB, "a blob"},
    [HASH] = {IS_TEXT, "a hash of 32 digits"},
    [WORD] = {IS_TEXT, "a text"},
    [MAYBE_WORD] = {IS_TEXT | IS_NULL, "a text or NULL"},
    [TEXT] = {IS_TEXT, "a text"},
};

static const struct column {
    tc_meas_table table;
    const char *name, *in_record; /* in_record: as queries of records name it */
    int since;
    const char *before;
    column_type type;
    int64_t least, most;
} columns[] = {
#define COLUMN(table, name, since, before, type, least, most)                                                                    \
    {TC_MEAS_##table, #name, "r." #name, since, before, type, least, most},
#include "measure/records/columns.def"
#undef COLUMN
};

/* A record's columns come first in the table, and are the first arguments of the function. */
enum {
#define COLUMN(table, name, since, before, type, least, most) AT_##table##_##name,
#include "measure/records/columns.def"
#undef COLUMN
};
enum { WORKLOAD_TYPE = AT_workloads_hash, TARGET_TYPE /* arguments behind them: what the joined rows' texts are */ };

static const struct {
    const char *name, *row, *alias;
} tables[] = {
#define TABLE(name, row, alias) {#name, row, alias},
    TC_MEAS_TABLES(TABLE)
#undef TABLE
};

static void put_argument(const tc_meas_db *db, const struct column *c, tc_strbuf *sql) {
    if (db->schema < c->since)
        tc_sb_printf(sql, ", %s", c->before);
    else /* the content of a long text is not read */
        tc_sb_printf(sql, c->type == TEXT ? ", typeof(%s.%s)" : ", %s.%s", tables[c->table].alias, c->name);
}

const char *tc_meas_db_column(const tc_meas_db *db, const char *name) {
    const struct column *c = columns;
    while (strcmp(c->name, name) != 0)
        c++;
    return db->schema < c->since ? c->before : c->in_record;
}

void tc_meas_db_fits_in(const tc_meas_db *db, tc_meas_table table, tc_strbuf *sql) {
    tc_sb_printf(sql, "tctune_fits(%d", (int)table);
    for (size_t i = 0; i < TC_LEN(columns); i++)
        if (columns[i].table == table)
            put_argument(db, &columns[i], sql);
    tc_sb_add(sql, table == TC_MEAS_records ? ", typeof(w.text), typeof(t.text))" : ")");
}

/* ---- what they hold ---- */

static const char *text_of(sqlite3_value *v) {
    const char *s = (const char *)sqlite3_value_text(v);
    return s ? s : "";
}

static tc_status damaged(const struct column *c, const char *holds, tc_error *err) {
    return tc_fail(err, TC_BAD_INPUT, "its %s holds %s, expected %s; it was edited or damaged", c->name, holds,
                   types[c->type].expected);
}

static tc_status check_type(const struct column *c, sqlite3_value *v, tc_error *err) {
    static const char *const names[] = {[SQLITE_INTEGER] = "an integer",
                                        [SQLITE_FLOAT] = "a number",
                                        [SQLITE_TEXT] = "a text",
                                        [SQLITE_BLOB] = "a blob",
                                        [SQLITE_NULL] = "NULL"};
    int type = sqlite3_value_type(v);
    return types[c->type].right & 1 << type ? TC_OK : damaged(c, names[type], err);
}

static tc_status check_integer(const struct column *c, int64_t v, tc_error *err) {
    if (v >= c->least && v <= c->most)
        return TC_OK;
    return tc_fail(err, TC_BAD_INPUT, "its %s is %lld, expected %lld to %lld; it was edited or damaged", c->name, (long long)v,
                   (long long)c->least, (long long)c->most);
}

/* One that a zero byte cuts is another text for SQLite than for C. */
static tc_status check_word(const struct column *c, sqlite3_value *v, tc_error *err) {
    const char *s = text_of(v);
    size_t n = strlen(s);
    if (n != (size_t)sqlite3_value_bytes(v))
        return damaged(c, "a text with a zero byte", err);
    bool is_hash = n == sizeof(tc_digest){0}.hex - 1 && strspn(s, "0123456789abcdef") == n;
    return c->type == HASH && !is_hash ? damaged(c, "another text", err) : TC_OK;
}

static tc_status check_column(const struct column *c, sqlite3_value *v, tc_error *err) {
    if (c->type == TEXT) /* only its type is here */
        return strcmp(text_of(v), "text") == 0 ? TC_OK : damaged(c, text_of(v), err);
    TC_TRY(check_type(c, v, err));
    switch (c->type) {
    case INT:
        return check_integer(c, sqlite3_value_int64(v), err);
    case HASH:
    case WORD:
    case MAYBE_WORD:
        return check_word(c, v, err);
    case TIMES: /* earlier versions wrote '' for none */
        if (sqlite3_value_type(v) == SQLITE_TEXT && sqlite3_value_bytes(v) > 0)
            return damaged(c, "a text", err);
        return (size_t)sqlite3_value_bytes(v) % sizeof(double) == 0 ? TC_OK : damaged(c, "a part of a time", err);
    case REAL:
    case MAYBE_REAL:
    case BLOB:
    case TEXT:
    case NTYPES:
        break;
    }
    return TC_OK;
}

static tc_status check_columns(tc_meas_table table, sqlite3_value **v, tc_error *err) {
    for (size_t i = 0; i < TC_LEN(columns); i++)
        if (columns[i].table == table)
            TC_TRY(check_column(&columns[i], *v++, err));
    return TC_OK;
}

/* ---- records ---- */

static tc_status check_joined(const char *what, sqlite3_value *type, tc_error *err) {
    const char *is = text_of(type);
    if (strcmp(is, "text") == 0)
        return TC_OK;
    return tc_fail(err, TC_BAD_INPUT, "its %s is %s; the database was edited or damaged", what,
                   strcmp(is, "null") == 0 ? "missing" : "no text");
}

/* A kind of error that a newer version added is a failure all the same. */
static tc_meas_error error_of(sqlite3_value *v) {
    tc_meas_error e;
    return tc_meas_error_parse(text_of(v), &e) ? e : TC_MEAS_RUN_FAILED;
}

static double number_of(sqlite3_value *v, double none) {
    return sqlite3_value_type(v) == SQLITE_NULL ? none : sqlite3_value_double(v);
}

static tc_status check_numbers(sqlite3_value **v, double *times, tc_error *err) {
    tc_record r = {.error = error_of(v[AT_records_error]),
                   .median = number_of(v[AT_records_median], INFINITY),
                   .times = times,
                   .ntimes = (size_t)sqlite3_value_bytes(v[AT_records_times]) / sizeof *times,
                   .build_seconds = sqlite3_value_double(v[AT_records_build_seconds]),
                   .run_seconds = sqlite3_value_double(v[AT_records_run_seconds]),
                   .max_error = sqlite3_value_double(v[AT_records_max_error]),
                   .threads = sqlite3_value_int(v[AT_records_threads]),
                   .signal = sqlite3_value_int(v[AT_records_signal]),
                   .verified = sqlite3_value_int(v[AT_records_verified]) != 0,
                   .when_ms = sqlite3_value_int64(v[AT_records_when_ms]),
                   .rounds = sqlite3_value_int(v[AT_records_rounds]),
                   .sizes = text_of(v[AT_records_sizes]),
                   .job = text_of(v[AT_records_job]),
                   .phase = text_of(v[AT_records_phase]),
                   .predicted = number_of(v[AT_records_predicted], NAN)};
    return tc_meas_check_numbers(&r, err);
}

static tc_status check_record(sqlite3_value **v, tc_error *err) {
    tc_meas_mode mode;
    TC_TRY(check_joined("workload", v[WORKLOAD_TYPE], err));
    TC_TRY(check_joined("target", v[TARGET_TYPE], err));
    if (!tc_meas_mode_parse(text_of(v[AT_records_mode]), &mode))
        return tc_fail(err, TC_BAD_INPUT, "it was timed in the mode '%.40s', which this tctune does not know",
                       text_of(v[AT_records_mode]));
    size_t bytes = (size_t)sqlite3_value_bytes(v[AT_records_times]);
    double *times = tc_xmalloc(bytes + sizeof *times); /* a blob need not be aligned */
    if (bytes)
        memcpy(times, sqlite3_value_blob(v[AT_records_times]), bytes);
    tc_status s = check_numbers(v, times, err);
    free(times);
    return s;
}

/* ---- the function ---- */

static void name_row(tc_meas_table table, sqlite3_value *key, char *name, size_t size) {
    bool word = sqlite3_value_type(key) == SQLITE_TEXT || sqlite3_value_type(key) == SQLITE_INTEGER;
    snprintf(name, size, "%s %.40s", tables[table].row, word ? text_of(key) : "without a name");
}

static void log_first(tc_meas_db *db, const char *row, const char *why) {
    if (!db->told)
        tc_log(
            TC_LOG_WARN,
            "%s: %s is not used: %s. `tctune db verify` lists all such records, `tctune db prune --drop-failures` removes them",
            db->path, row, why);
    db->told = true;
}

static void fits(sqlite3_context *c, int n, sqlite3_value **v) {
    tc_meas_db *db = sqlite3_user_data(c);
    tc_meas_table table = (tc_meas_table)sqlite3_value_int(v[0]);
    tc_error why = {0};
    char row[80];
    (void)n;
    tc_status s = check_columns(table, v + 1, &why);
    if (s == TC_OK && table == TC_MEAS_records)
        s = check_record(v + 1, &why);
    if (s != TC_OK) {
        name_row(table, v[1], row, sizeof row);
        if (db->misfit)
            db->misfit(db->user, row, why.msg);
        else
            log_first(db, row, why.msg);
    }
    sqlite3_result_int(c, s == TC_OK);
}

void tc_meas_db_on_misfit(tc_meas_db *db, tc_meas_misfit *fn, void *user) {
    db->misfit = fn;
    db->user = user;
}

tc_status tc_meas_db_each_misfit(tc_meas_db *db, tc_meas_table table, tc_meas_misfit *fn, void *user, tc_error *err) {
    tc_strbuf sql = {0};
    int64_t n;
    if (db->schema < 3 && table > TC_MEAS_models)
        return TC_OK;
    tc_sb_printf(&sql, "SELECT count(*) FROM %s %s", tables[table].name, tables[table].alias);
    tc_sb_add(&sql, table == TC_MEAS_records ? TC_MEAS_DB_JOINED " WHERE NOT " : " WHERE NOT ");
    tc_meas_db_fits_in(db, table, &sql);
    tc_meas_db_on_misfit(db, fn, user);
    tc_status s = tc_meas_db_int(db, tc_sb_str(&sql), &n, err);
    tc_meas_db_on_misfit(db, NULL, NULL);
    tc_strbuf_free(&sql);
    return s;
}

tc_status tc_meas_db_add_fits(tc_meas_db *db, tc_error *err) {
    enum { FLAGS = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, ANY = -1 };
    int code = sqlite3_create_function_v2(db->sql, "tctune_fits", ANY, FLAGS, db, fits, NULL, NULL, NULL);
    return code == SQLITE_OK ? TC_OK : tc_meas_db_fail(db, "opening", err);
}
