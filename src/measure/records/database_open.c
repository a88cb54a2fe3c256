/* Opening, migrating and closing the database. A file opens if it is SQLite's, tctune's, of a known schema, and sound as far
 * as that can be seen. database_guard.c makes sure that its content can only be read. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "measure/records/database_int.h"
#include "support/log.h"
#include "support/system/fs.h"
#include "support/system/identity.h"
#include "support/system/ulimit.h"
#include "support/vec.h"

enum {
    APPLICATION_ID = 0x7463746e, /* "tctn" in the file header: tells our files from other SQLite databases */
    QUICK_CHECK_BYTES =
        64 * 1024 * 1024 /* checked as a whole when opened up to here: about 50 ms; above, damage shows when it is read */
};

/* migrations[v] brings schema v to v + 1. Never edited once released: append. */
static const char *const migrations[] = {
    "CREATE TABLE workloads(hash TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE targets(hash TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE records(id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " workload TEXT NOT NULL REFERENCES workloads(hash), target TEXT NOT NULL REFERENCES targets(hash), threads INTEGER NOT NULL,"
    " trace TEXT NOT NULL, trace_hash TEXT NOT NULL, program INTEGER NOT NULL,"
    " error TEXT NOT NULL, signal INTEGER NOT NULL, message TEXT NOT NULL,"
    " median REAL, times BLOB NOT NULL, build_seconds REAL NOT NULL, run_seconds REAL NOT NULL,"
    " verified INTEGER NOT NULL, max_error REAL NOT NULL, stopped_early INTEGER NOT NULL,"
    " when_ms INTEGER NOT NULL, tctune_version TEXT NOT NULL, llvm_version TEXT NOT NULL, host TEXT NOT NULL);"
    "CREATE INDEX records_best ON records(workload, target, threads, verified, median);"
    "CREATE TABLE models(target TEXT NOT NULL, name TEXT NOT NULL, data BLOB NOT NULL, when_ms INTEGER NOT NULL,"
    " PRIMARY KEY(target, name)) WITHOUT ROWID;",
    "ALTER TABLE records ADD COLUMN mode TEXT NOT NULL DEFAULT 'hot';"
    "ALTER TABLE records ADD COLUMN rounds INTEGER NOT NULL DEFAULT 0;",
    "CREATE TABLE writer(only INTEGER PRIMARY KEY CHECK(only = 1), host TEXT NOT NULL);"
    "CREATE TABLE admissions(seal TEXT PRIMARY KEY, program INTEGER NOT NULL, host TEXT NOT NULL, build TEXT NOT NULL,"
    " when_ms INTEGER NOT NULL) WITHOUT ROWID;"
    "ALTER TABLE models ADD COLUMN seal TEXT NOT NULL DEFAULT '';",
    "ALTER TABLE records ADD COLUMN sizes TEXT NOT NULL DEFAULT '';",
    "ALTER TABLE records ADD COLUMN job TEXT;"
    "ALTER TABLE records ADD COLUMN phase TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE records ADD COLUMN predicted REAL;"
    "CREATE UNIQUE INDEX records_job ON records(job) WHERE job IS NOT NULL;",
};
enum { SCHEMA = sizeof migrations / sizeof migrations[0] };

tc_status tc_meas_db_make_schema(sqlite3 *sql, int version) {
    for (int v = 0; v < version; v++)
        if (sqlite3_exec(sql, migrations[v], NULL, NULL, NULL) != SQLITE_OK)
            return TC_ENV;
    return TC_OK;
}

/* ---- schema ---- */

typedef struct header {
    int64_t id, version, tables;
} header;

static tc_status read_header(tc_meas_db *db, header *h, tc_error *err) {
    TC_TRY(tc_meas_db_int(db, "PRAGMA application_id", &h->id, err));
    TC_TRY(tc_meas_db_int(db, "PRAGMA user_version", &h->version, err));
    return tc_meas_db_int(db, "SELECT count(*) FROM sqlite_schema", &h->tables, err);
}

static tc_status check_header(tc_meas_db *db, tc_meas_db_mode mode, tc_error *err) {
    header h = {0};
    TC_TRY(read_header(db, &h, err));
    if (h.id != APPLICATION_ID && (h.id != 0 || h.version != 0 || h.tables != 0))
        return tc_fail(err, TC_BAD_INPUT, "%s: a SQLite database of another program, not tctune's. Give another file with --db",
                       db->path);
    if (h.version > SCHEMA)
        return tc_fail(err, TC_BAD_INPUT,
                       "%s: written by a newer tctune (schema %lld; this one knows up to %d). Upgrade tctune, or give another "
                       "file with --db",
                       db->path, (long long)h.version, (int)SCHEMA);
    if (h.version < 0 || (mode == TC_MEAS_DB_READ && h.version == 0))
        return tc_fail(err, TC_BAD_INPUT, "%s: the database is empty. Tune first: tctune --model MODEL --trials N --db '%s'",
                       db->path, db->path);
    db->schema = (int)h.version;
    return tc_meas_db_check_schema(db, db->schema, err);
}

/* In one read transaction: another process may be creating the database at this moment. */
static tc_status check_version(tc_meas_db *db, tc_meas_db_mode mode, tc_error *err) {
    TC_TRY(tc_meas_db_exec(db, "BEGIN", "reading", err));
    return tc_meas_db_end(db, check_header(db, mode, err), err);
}

/* One transaction per step; the version is read again inside it, because another process may have migrated meanwhile. */
static tc_status migrate(tc_meas_db *db, tc_error *err) {
    for (;;) {
        int64_t version = 0;
        TC_TRY(tc_meas_db_begin(db, err));
        tc_status s = tc_meas_db_int(db, "PRAGMA user_version", &version, err);
        if (s == TC_OK && version < SCHEMA) {
            char mark[96];
            snprintf(mark, sizeof mark, "PRAGMA application_id = %d; PRAGMA user_version = %d", APPLICATION_ID, (int)version + 1);
            s = tc_meas_db_exec(db, migrations[version], "migrating the schema", err);
            if (s == TC_OK)
                s = tc_meas_db_exec(db, mark, "migrating the schema", err);
        }
        s = tc_meas_db_end(db, s, err);
        db->schema = SCHEMA;
        if (s != TC_OK || version + 1 >= SCHEMA)
            return s;
    }
}

/* ---- opening ---- */

/* The change to WAL needs the file alone for a moment and does not wait for it by itself. */
static tc_status enter_wal(tc_meas_db *db, tc_error *err) {
    for (int waited = 0;; waited += 10) {
        int code = sqlite3_exec(db->sql, "PRAGMA journal_mode=WAL", NULL, NULL, NULL) & 0xff;
        if (code == SQLITE_OK)
            return TC_OK;
        if ((code != SQLITE_BUSY && code != SQLITE_LOCKED) || waited >= TC_MEAS_DB_BUSY_MS || db->lockless)
            return tc_meas_db_fail(db, "opening", err);
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
    }
}

/* Whether this machine was the last to write the file. */
static tc_status is_own(tc_meas_db *db, bool *own, tc_error *err) {
    sqlite3_stmt *q;
    tc_seal host;
    *own = false;
    if (db->schema < 3 || !tc_host_identity(&host))
        return TC_OK;
    TC_TRY(tc_meas_db_prepare(db, "SELECT 1 FROM writer WHERE host = ?", &q, err));
    tc_meas_db_bind_text(q, 1, host.hex);
    int code = sqlite3_step(q);
    *own = code == SQLITE_ROW;
    tc_status s = code == SQLITE_ROW || code == SQLITE_DONE ? TC_OK : tc_meas_db_fail(db, "reading who wrote the database", err);
    sqlite3_finalize(q);
    return s;
}

/* From now on this machine was. */
static tc_status sign(tc_meas_db *db, tc_error *err) {
    sqlite3_stmt *q;
    tc_seal host;
    bool own;
    TC_TRY(is_own(db, &own, err));
    if (own || !tc_host_identity(&host))
        return TC_OK;
    TC_TRY(tc_meas_db_prepare(db, "INSERT OR REPLACE INTO writer(only, host) VALUES(1, ?)", &q, err));
    tc_meas_db_bind_text(q, 1, host.hex);
    tc_status s = tc_meas_db_run(db, q, "signing it", err);
    sqlite3_finalize(q);
    return s;
}

/* What another machine wrote last, whatever its size. */
static tc_status check_pages(tc_meas_db *db, tc_error *err) {
    struct stat st;
    bool own;
    TC_TRY(is_own(db, &own, err));
    if (own && (stat(db->path, &st) != 0 || st.st_size > QUICK_CHECK_BYTES))
        return TC_OK;
    sqlite3_stmt *q;
    TC_TRY(tc_meas_db_prepare(db, "PRAGMA quick_check(1)", &q, err));
    tc_status s = TC_OK;
    if (sqlite3_step(q) != SQLITE_ROW)
        s = tc_meas_db_fail(db, "checking it", err);
    else if (strcmp((const char *)sqlite3_column_text(q, 0), "ok") != 0)
        s = tc_fail(err, TC_BAD_INPUT,
                    "%s: the database is damaged: %s. Save what can be read with: sqlite3 '%s' .recover | sqlite3 new.db; or "
                    "start a new one "
                    "with --db",
                    db->path, (const char *)sqlite3_column_text(q, 0), db->path);
    sqlite3_finalize(q);
    return s;
}

/* What stat can say more clearly than SQLite. */
static tc_status check_path(const char *path, tc_meas_db_mode mode, tc_error *err) {
    struct stat st;
    if (stat(path, &st) == 0) {
        if (!S_ISREG(st.st_mode))
            return tc_fail(err, TC_BAD_INPUT, "%s: not a file. Give a database file with --db", path);
        if (access(path, R_OK) != 0)
            return tc_fail(err, TC_ENV, "%s: cannot be read: %s. Fix its permissions or give another file with --db", path,
                           strerror(errno));
        return TC_OK;
    }
    if (mode == TC_MEAS_DB_CHANGE)
        return tc_fail(err, TC_BAD_INPUT, "%s: there is no such database", path);
    if (errno != ENOENT || mode == TC_MEAS_DB_READ)
        return tc_fail(err, errno == ENOENT ? TC_BAD_INPUT : TC_ENV,
                       "%s: cannot be opened: %s. Tune first, or name an existing database with --db", path, strerror(errno));
    return tc_fs_check_writable(path, err);
}

/* file:PATH?immutable=1: SQLite then reads the file as it is, takes no locks, and puts no file beside it. */
static char *immutable_uri(const char *path) {
    tc_strbuf b = {0};
    tc_sb_add(&b, "file:");
    for (const char *p = path; *p; p++) {
        if (*p == '?' || *p == '#' || *p == '%')
            tc_sb_printf(&b, "%%%02X", (unsigned)*p);
        else
            tc_sb_addc(&b, *p);
    }
    tc_sb_add(&b, "?immutable=1");
    return b.data;
}

/* A log or a journal beside the database that has something in it; NULL: none. */
static const char *unfinished(const tc_meas_db *db) {
    const char *file = sqlite3_db_filename(db->sql, "main");
    const char *const names[] = {sqlite3_filename_wal(file), sqlite3_filename_journal(file)};
    struct stat st;
    for (size_t i = 0; i < TC_LEN(names); i++)
        if (lstat(names[i], &st) == 0 && st.st_size > 0)
            return names[i];
    return NULL;
}

/* While a process has the database open for writing, its log lies beside it, if only an empty one. */
static bool has_log(const tc_meas_db *db) {
    struct stat st;
    return lstat(sqlite3_filename_wal(sqlite3_db_filename(db->sql, "main")), &st) == 0;
}

/* Whether this process may write the file, and put others beside it. */
static bool may_write(const tc_meas_db *db) {
    char *folder = tc_fs_dirname(sqlite3_db_filename(db->sql, "main"));
    bool may = sqlite3_db_readonly(db->sql, "main") == 0 && access(folder, W_OK | X_OK) == 0;
    free(folder);
    return may;
}

/* SQLite asks this after a lock was refused: is the lock to be asked for again? SQLite takes ENOLCK for another's lock, but a file
 * system that gives no locks gives none later. Between that failure and this question nothing fails. */
static int wait_for_lock(void *user, int asked) {
    enum { FIRST = 4, PAUSE_MS = 25, LONGEST = TC_MEAS_DB_BUSY_MS / PAUSE_MS };
    int ms = asked < FIRST ? 1 << asked : PAUSE_MS;
    tc_meas_db *db = user;
    db->lockless = errno == ENOLCK;
    if (db->lockless || asked >= LONGEST)
        return 0;
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000L * 1000}, NULL);
    errno = 0;
    return 1;
}

static tc_status open_file(tc_meas_db *db, const char *name, int flags, tc_error *err) {
    if (sqlite3_open_v2(name, &db->sql, flags, NULL) != SQLITE_OK)
        return tc_meas_db_fail(db, "opening", err);
    sqlite3_busy_handler(db->sql, wait_for_lock, db);
    TC_TRY(tc_meas_db_check_beside(db, err));
    return tc_meas_db_guard(db, err);
}

/* For a reader that may not write. A log would be missing from what it reads, and is an error. */
static tc_status reopen_immutable(tc_meas_db *db, tc_error *err) {
    const char *log = unfinished(db);
    if (log)
        return tc_fail(err, TC_ENV,
                       "%s: has an unfinished log beside it (%s), and SQLite needs a writable folder to read it. Make the folder "
                       "writable, or copy both files to a writable folder",
                       db->path, log);
    sqlite3_close(db->sql);
    char *uri = immutable_uri(db->path);
    tc_status s = open_file(db, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
    free(uri);
    return s;
}

/* A database that keeps a log has two files beside it while somebody has it open (-wal, -shm). The last connection removes them
 * when it closes, but only if it may write. So a reader asks for that right, and gives up changing anything (query_only). A
 * reader without the right reads the file as it is, unless a writer is at work: then the two files are there, and the writer
 * removes them. */
static tc_status open_read(tc_meas_db *db, tc_error *err) {
    int64_t version;
    TC_TRY(open_file(db, db->path, SQLITE_OPEN_READWRITE, err)); /* SQLite opens a file that it may not write for reading */
    if (may_write(db))
        TC_TRY(tc_meas_db_exec(db, "PRAGMA query_only=ON", "opening", err));
    else if (!has_log(db))
        TC_TRY(reopen_immutable(db, err));
    if (tc_meas_db_int(db, "PRAGMA schema_version", &version, NULL) != TC_OK) {
        int code = sqlite3_errcode(db->sql) & 0xff;
        if (code == SQLITE_CANTOPEN || code == SQLITE_READONLY)
            TC_TRY(reopen_immutable(db, err));
    }
    TC_TRY(check_version(db, TC_MEAS_DB_READ, err));
    return check_pages(db, err);
}

static tc_status open_write(tc_meas_db *db, tc_error *err) {
    TC_TRY(open_file(db, db->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err));
    TC_TRY(check_version(db, TC_MEAS_DB_WRITE, err));
    if (sqlite3_db_readonly(db->sql, "main") == 1)
        return tc_fail(err, TC_ENV, "%s: the file is read-only. Fix its permissions or give another file with --db", db->path);
    if (db->schema > 0)
        TC_TRY(check_pages(db, err));
    TC_TRY(enter_wal(db, err));
    TC_TRY(tc_meas_db_exec(db, "PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON", "opening", err));
    if (db->schema < SCHEMA)
        TC_TRY(migrate(db, err));
    return sign(db, err);
}

/* Removes the empty file of a database that could not be begun: the disk is full, or its file system gives no locks. It stays where
 * another process is about to begin a database in it, and has locked it. */
static void remove_empty(const char *path) {
    enum { SQLITES_LOCKS = 0x40000000, BYTES = 512 }; /* the part of a file that SQLite locks */
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SQLITES_LOCKS, .l_len = BYTES};
    struct stat st;
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    bool alone = fcntl(fd, F_SETLK, &all) == 0 || errno == ENOLCK;
    if (alone && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0)
        unlink(path);
    close(fd);
}

tc_status tc_meas_db_open(const char *path, tc_meas_db_mode mode, tc_meas_db **out, tc_error *err) {
    *out = NULL;
    TC_TRY(check_path(path, mode, err));
    bool is_new = !tc_fs_exists(path);
    tc_meas_db *db = tc_xcalloc(1, sizeof *db);
    db->path = tc_xstrdup(path);
    db->writes = mode == TC_MEAS_DB_WRITE;
    tc_status s = mode == TC_MEAS_DB_READ ? open_read(db, err) : open_write(db, err);
    if (s == TC_OK)
        *out = db;
    else
        tc_meas_db_close(db);
    if (s != TC_OK && is_new)
        remove_empty(path);
    return s;
}

tc_status tc_meas_db_open_memory(tc_meas_db **out, tc_error *err) {
    tc_meas_db *db = tc_xcalloc(1, sizeof *db);
    db->path = tc_xstrdup("(in memory)");
    db->writes = true;
    tc_status s = open_file(db, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);
    if (s == TC_OK)
        s = migrate(db, err);
    *out = s == TC_OK ? db : NULL;
    if (s != TC_OK)
        tc_meas_db_close(db);
    return s;
}

void tc_meas_db_close(tc_meas_db *db) {
    if (!db)
        return;
    tc_writes_begin(); /* the log of the last writes goes into the file */
    int code = sqlite3_close(db->sql);
    tc_writes_end();
    if (code != SQLITE_OK)
        tc_log(TC_LOG_WARN, "%s: could not be closed cleanly: %s", db->path, sqlite3_errmsg(db->sql));
    tc_map_free(&db->admitted);
    free(db->path);
    free(db);
}
