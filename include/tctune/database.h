/* Tuning databases: SQLite files of records. A record is one measured candidate, with everything that is needed to read it
 * without the model that it came from. Several processes may use one file. */
#ifndef TCTUNE_DATABASE_H
#define TCTUNE_DATABASE_H

#include <tctune/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A database that is open. Several handles and processes may have one file open. */
typedef struct tctune_database tctune_database;

/* What a database is opened for. */
typedef enum tctune_access {
    TCTUNE_ACCESS_READ,   /* must exist, and stays as it is */
    TCTUNE_ACCESS_CHANGE, /* must exist */
    TCTUNE_ACCESS_CREATE  /* made where there is none */
} tctune_access;

/* Opens a database. TCTUNE_BAD_INPUT: there is no such file, it is no database, or one of another version; TCTUNE_ENVIRONMENT: it
 * cannot be read, or is locked. */
TCTUNE_API tctune_status tctune_database_open(const char *file, tctune_access access, tctune_database **database, char *error,
                                              size_t error_size);
/* Closes it; records that were taken from it stay. */
TCTUNE_API void tctune_database_close(tctune_database *database); /* NULL is fine */

/* ---- records ---- */

/* Texts and times live as long as the list that it is of. */
typedef struct tctune_record {
    size_t struct_size;
    int64_t id;                            /* in its database; 0: in none */
    const char *workload, *target, *trace; /* canonical texts: .te, target, .sched */
    const char *workload_hash;
    uint64_t program; /* hash of the lowered program; 0: it was not lowered */
    const double *times;
    size_t ntimes; /* seconds of a call, in the order taken */
    double median; /* INFINITY: it has no valid time */
    const char *mode;
    const char *outcome; /* "ok", or how it failed: "run_timeout" ... */
    const char *message; /* "": it did not fail */
    int verified;        /* its result agreed with the reference */
    double max_error;    /* largest deviation, in units of the tolerance */
    int threads, rounds; /* rounds: in turns with its rivals; 0: timed by itself */
    double build_seconds, run_seconds;
    int64_t when_ms; /* Unix time, milliseconds */
    const char *host, *version;
    const char *sizes; /* "17,3": of a workload with symbols those that it was timed at; "" */
} tctune_record;

/* In which order records come. */
typedef enum tctune_order {
    TCTUNE_ORDER_BY_ID,
    TCTUNE_ORDER_BY_MEDIAN,
    TCTUNE_ORDER_BY_RANK /* of use in a network: what was timed cold first; what was timed by itself must be 3 % better to be believed */
} tctune_order;

/* Which records: zero matches everything. */
typedef struct tctune_query {
    size_t struct_size;
    const char *workload_hash, *target_hash, *mode;
    int threads;
    int valid, verified; /* only those measured without an error; and found right, of programs that never failed */
    int64_t after_id;    /* only later ones: what is new since the last look */
    size_t limit;        /* 0: all */
    tctune_order order;
} tctune_query;

/* Records as they were when they were asked for. */
typedef struct tctune_records tctune_records;
/* The records as they are now; query NULL: all. They stay when the database is closed. */
TCTUNE_API tctune_status tctune_database_records(tctune_database *database, const tctune_query *query, tctune_records **records,
                                                 char *error, size_t error_size);
/* How many there are. */
TCTUNE_API size_t tctune_records_count(const tctune_records *records);
/* Fills in *record with the i-th. TCTUNE_BAD_INPUT where i is out of range. */
TCTUNE_API tctune_status tctune_records_get(const tctune_records *records, size_t i, tctune_record *record, char *error,
                                            size_t error_size);
TCTUNE_API void tctune_records_free(tctune_records *records); /* NULL is fine */

/* ---- what there is ---- */

/* How much a database holds. */
typedef struct tctune_database_stats {
    size_t struct_size;
    int schema;
    int64_t records, workloads, targets, bytes;
} tctune_database_stats;
/* Counts. */
TCTUNE_API tctune_status tctune_database_stat(tctune_database *database, tctune_database_stats *stats, char *error,
                                              size_t error_size);

/* By workload, target, number of threads and mode: how many records, which is the best, what failed (docs/json.md). *json is
 * given back with tctune_text_free. */
TCTUNE_API tctune_status tctune_database_describe(tctune_database *database, char **json, char *error, size_t error_size);

/* ---- joining, writing, making smaller, checking ---- */

/* Adds the records of a file of JSON lines or of another database, all or none, but those that are there. *added, *known: how
 * many were new, and how many were there (of another database; else 0); either may be NULL. */
TCTUNE_API tctune_status tctune_database_add(tctune_database *database, const char *file, size_t *added, size_t *known,
                                             char *error, size_t error_size);
/* `file` was taken in: how many of its records were new, and of another database how many were there. */
typedef void tctune_on_taken(void *user, const char *file, size_t added, size_t known);
/* The same of files, NULL-terminated, into the database file `database`, one after the other up to the first that fails. It is
 * made where there is none, but not where one of the files is missing or the first is refused. `taken` (may be NULL) is told of
 * each. */
TCTUNE_API tctune_status tctune_database_add_files(const char *database, const char *const *files, tctune_on_taken *taken,
                                                   void *user, char *error, size_t error_size);
/* Writes the records as JSON lines; the file is whole or unchanged. query, written: may be NULL. */
TCTUNE_API tctune_status tctune_database_export(tctune_database *database, const tctune_query *query, const char *file,
                                                size_t *written, char *error, size_t error_size);
/* What became of a database that was made smaller. */
typedef struct tctune_pruned {
    size_t struct_size;
    int64_t records, workloads, targets; /* removed */
    int64_t bytes_before, bytes_after;   /* of the file */
} tctune_pruned;
/* Keeps the `keep` best valid records of each workload, target and mode (0: all), and, where drop_failures is not 0, none that
 * failed; gives the space back. pruned may be NULL. */
TCTUNE_API tctune_status tctune_database_prune(tctune_database *database, int keep, int drop_failures, tctune_pruned *pruned,
                                               char *error, size_t error_size);

/* A complaint, in one line. */
typedef void tctune_on_complaint(void *user, const char *text);
/* What was looked at. */
typedef struct tctune_audit {
    size_t struct_size;
    int64_t workloads, targets, records;
    int64_t replayed; /* records whose trace makes a program */
    int64_t changed;  /* of these: another program than when they were measured; no problem, lowering moved on */
    int64_t problems; /* complaints */
} tctune_audit;
/* Whether what it says holds: structure, hashes, and that every trace replays. Changes nothing. TCTUNE_BAD_INPUT where there were
 * complaints, whose number *audit (may be NULL) tells then too; `complain` (may be NULL) is told of each. */
TCTUNE_API tctune_status tctune_database_verify(tctune_database *database, tctune_on_complaint *complain, void *user,
                                                tctune_audit *audit, char *error, size_t error_size);

/* ---- the best records measured again ---- */

/* What became of a record that was measured again. */
typedef enum tctune_rerun_end {
    TCTUNE_RERUN_END_TIMED,
    TCTUNE_RERUN_END_FAILED, /* it gave a wrong result, crashed, hung or was not built */
    TCTUNE_RERUN_END_SKIPPED /* it was not measured: other targets, comparisons, no verified record */
} tctune_rerun_end;

/* How that went of one workload, target, number of threads and mode. Texts live until the call returns. */
typedef struct tctune_rerun {
    size_t struct_size; /* as the library knows it */
    tctune_rerun_end end;
    const char *workload_hash, *mode;
    int threads;
    int64_t record;       /* its best one; 0: skipped */
    double recorded, now; /* seconds: medians; INFINITY: there is none */
    const char *message;  /* why it failed, or was skipped; "" */
} tctune_rerun;
/* Told of each when it was measured. */
typedef void tctune_on_rerun(void *user, const tctune_rerun *rerun);

/* Who is told of records that are measured again, and who may end it. */
typedef struct tctune_rerun_options {
    size_t struct_size;
    const volatile int *stop; /* once that is not 0 it ends with TCTUNE_STOPPED; NULL: nobody stops it */
    tctune_on_rerun *each;    /* NULL: nobody is told */
    void *user;
} tctune_rerun_options;

/* Measures the best record of every workload, target, number of threads and mode again, where that target runs here. One that now
 * gives a wrong result, crashes or cannot be built is no longer applied: *unmarked (may be NULL) counts these. The database is
 * open for changes. options may be NULL. */
TCTUNE_API tctune_status tctune_database_rerun(tctune_database *database, const tctune_rerun_options *options, int64_t *unmarked,
                                               char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
