/* Tuning databases: SQLite files of records. A record is one measured candidate: its workload, its schedule, its times, and how
 * the measurement ended. A record can be read without the model that it came from. Several processes may use one database at
 * once. */
#ifndef TCTUNE_DATABASE_H
#define TCTUNE_DATABASE_H

#include <tctune/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An open database. Several handles and processes may have the same file open. */
typedef struct tctune_database tctune_database;

/* For which use a database is opened. */
typedef enum tctune_access {
    TCTUNE_ACCESS_READ,   /* read only; the file must exist */
    TCTUNE_ACCESS_CHANGE, /* read and write; the file must exist */
    TCTUNE_ACCESS_CREATE  /* read and write; a missing file is created */
} tctune_access;

/* Opens a database; close it with tctune_database_close. TCTUNE_BAD_INPUT: the file does not exist, is not a database, or has
 * another schema version. TCTUNE_ENVIRONMENT: the file cannot be read, or stays locked. */
TCTUNE_API tctune_status tctune_database_open(const char *file, tctune_access access, tctune_database **database, char *error,
                                              size_t error_size);

/* Closes the database. Lists of records taken from it stay valid. In a callback of a call on this database it is closed when the
 * call ends. NULL is allowed. */
TCTUNE_API void tctune_database_close(tctune_database *database);

/* ---- records ---- */

/* One record. Its texts and times live as long as the list that the record was taken from. */
typedef struct tctune_record {
    size_t struct_size;
    int64_t id;           /* the record's number in its database; 0: it is in no database */
    const char *workload; /* the kernel as canonical .te text */
    const char *target;   /* the target as canonical text */
    const char *trace;    /* the schedule as canonical .sched text */
    const char *workload_hash;
    uint64_t program;    /* hash of the lowered program; 0: the trace was not lowered */
    const double *times; /* seconds of each call, in the order measured */
    size_t ntimes;       /* number of times */
    double median;       /* seconds; INFINITY: no valid time */
    const char *mode;    /* how it was timed: "hot", "cold", "in-graph", "beside", "simulated", "emulated" */
    const char *outcome; /* "ok", or how the measurement failed, such as "run_timeout" */
    const char *message; /* why it failed; "" if it did not fail */
    int verified;        /* 1: the result agreed with the reference */
    double max_error;    /* largest deviation from the reference, in units of the tolerance */
    int threads;
    int rounds;           /* rounds in turns with other candidates; 0: measured alone */
    double build_seconds; /* time to build the candidate */
    double run_seconds;   /* time to run and check it */
    int64_t when_ms;      /* Unix time in milliseconds */
    const char *host;     /* the machine that measured it */
    const char *version;  /* of tctune */
    const char *sizes;    /* for a workload whose sizes vary: the sizes that were timed, such as "17,3"; else "" */
} tctune_record;

/* In which order records are returned. */
typedef enum tctune_order {
    TCTUNE_ORDER_BY_ID,
    TCTUNE_ORDER_BY_MEDIAN,
    /* The order in which a build prefers records: cold times first; a time measured alone must be 3 % better to win. */
    TCTUNE_ORDER_BY_RANK
} tctune_order;

/* Which records are wanted. A zero field matches all records. */
typedef struct tctune_query {
    size_t struct_size;
    const char *workload_hash;
    const char *target_hash;
    const char *mode; /* as in tctune_record */
    int threads;
    int valid;        /* not 0: only records with a time */
    int verified;     /* not 0: only verified records whose program failed in no other record */
    int64_t after_id; /* only records with a larger id, which are newer */
    size_t limit;     /* the largest number of records; 0: no limit */
    tctune_order order;
} tctune_query;

/* A list of records as they were when it was made. */
typedef struct tctune_records tctune_records;

/* Lists the records that match the query; query NULL: all records. Release the list with tctune_records_free. The list stays
 * valid when the database changes or is closed. */
TCTUNE_API tctune_status tctune_database_records(tctune_database *database, const tctune_query *query, tctune_records **records,
                                                 char *error, size_t error_size);

/* Returns the number of records in the list. */
TCTUNE_API size_t tctune_records_count(const tctune_records *records);

/* Writes record i, counted from 0, to *record. TCTUNE_BAD_INPUT: i is out of range. */
TCTUNE_API tctune_status tctune_records_get(const tctune_records *records, size_t i, tctune_record *record, char *error,
                                            size_t error_size);

/* Releases the list. NULL is allowed. */
TCTUNE_API void tctune_records_free(tctune_records *records);

/* ---- contents ---- */

/* How much a database holds. */
typedef struct tctune_database_stats {
    size_t struct_size;
    int schema;                          /* version of the tables */
    int64_t records, workloads, targets; /* how many */
    int64_t bytes;                       /* of the file */
} tctune_database_stats;

/* Counts the contents of the database. */
TCTUNE_API tctune_status tctune_database_stat(tctune_database *database, tctune_database_stats *stats, char *error,
                                              size_t error_size);

/* Summarises the database as JSON (docs/json.md): for each workload, target, number of threads and mode the number of records,
 * the best record, and the failures. Give *json back with tctune_text_free. */
TCTUNE_API tctune_status tctune_database_describe(tctune_database *database, char **json, char *error, size_t error_size);

/* ---- import, export, prune, verify ---- */

/* Adds the records of a file, which is another database or JSON lines, except those that the database already has. Adds all of
 * them or, on an error, none. One error is different: records whose workload or trace is larger than tctune reads are left out, all
 * others are added, and the call fails with a message that names the records that were left out. *added (may be NULL) is the number
 * of new records. *known (may be NULL) is the number that the database already had; it is counted for databases only, else 0. */
TCTUNE_API tctune_status tctune_database_add(tctune_database *database, const char *file, size_t *added, size_t *known,
                                             char *error, size_t error_size);

/* Called after a file was added, with the counts of tctune_database_add. */
typedef void tctune_on_taken(void *user, const char *file, size_t added, size_t known);

/* Adds the records of `files`, a NULL-terminated list, to the database file `database`, file by file; stops at the first error.
 * Where records of a file were left out (tctune_database_add), the call goes on and fails after the last file. Creates a missing
 * database, unless one of the files is missing or nothing of the first one can be added. Calls `taken` (may be NULL) after each
 * file. */
TCTUNE_API tctune_status tctune_database_add_files(const char *database, const char *const *files, tctune_on_taken *taken,
                                                   void *user, char *error, size_t error_size);

/* Writes the records that match the query as JSON lines. On an error the file is unchanged. query NULL: all records. *written
 * (may be NULL) is the number of records. */
TCTUNE_API tctune_status tctune_database_export(tctune_database *database, const tctune_query *query, const char *file,
                                                size_t *written, char *error, size_t error_size);

/* What pruning removed. */
typedef struct tctune_pruned {
    size_t struct_size;
    int64_t records, workloads, targets; /* how many were removed */
    int64_t bytes_before, bytes_after;   /* size of the file */
} tctune_pruned;

/* Removes records and shrinks the file. Of each workload, target and mode the `keep` best valid records stay; keep 0: all stay.
 * drop_failures not 0: all records that failed are removed, and those whose texts do not have the hashes that they are stored
 * under. Rows that cannot be true go in any case, and records with ids that tctune never gives get others. pruned may be NULL. */
TCTUNE_API tctune_status tctune_database_prune(tctune_database *database, int keep, int drop_failures, tctune_pruned *pruned,
                                               char *error, size_t error_size);

/* Receives one problem as a line of text. */
typedef void tctune_on_complaint(void *user, const char *text);

/* What verification found. */
typedef struct tctune_audit {
    size_t struct_size;
    int64_t workloads, targets, records; /* how many were checked */
    int64_t replayed;                    /* records whose trace still gives a program */
    /* Replayed records that now give another program than when they were measured; no problem: lowering has changed */
    int64_t changed;
    int64_t problems; /* how many were found */
} tctune_audit;

/* Checks the database: its structure, its hashes, and that every trace replays. Changes nothing. Calls `complain` (may be NULL)
 * for each problem. TCTUNE_BAD_INPUT: there are problems; *audit (may be NULL) is filled in then, too. */
TCTUNE_API tctune_status tctune_database_verify(tctune_database *database, tctune_on_complaint *complain, void *user,
                                                tctune_audit *audit, char *error, size_t error_size);

/* ---- measure again ---- */

/* How measuring a record again ended. */
typedef enum tctune_rerun_end {
    TCTUNE_RERUN_END_TIMED,
    TCTUNE_RERUN_END_FAILED, /* the program was not built, crashed, hung, or gave a wrong result */
    TCTUNE_RERUN_END_SKIPPED /* not measured: another target, a record of a comparison, or no verified record */
} tctune_rerun_end;

/* The result for one workload, target, number of threads and mode. Its texts live until the callback returns. */
typedef struct tctune_rerun {
    size_t struct_size; /* set by the library */
    tctune_rerun_end end;
    const char *workload_hash, *mode;
    int threads;
    int64_t record;      /* id of the best record; 0: skipped */
    double recorded;     /* median in the record, in seconds; INFINITY: none */
    double now;          /* median measured now, in seconds; INFINITY: none */
    const char *message; /* why it failed or was skipped; else "" */
} tctune_rerun;

/* Called after each record. */
typedef void tctune_on_rerun(void *user, const tctune_rerun *rerun);

/* Options of tctune_database_rerun. */
typedef struct tctune_rerun_options {
    size_t struct_size;
    const volatile int *stop; /* the call ends with TCTUNE_STOPPED once this is not 0; NULL: never */
    tctune_on_rerun *each;    /* called after each record; NULL: no calls */
    void *user;               /* first argument of `each` */
} tctune_rerun_options;

/* Measures again the best record of each workload, target, number of threads and mode whose target runs on this machine. A record
 * that now fails is no longer used; *unmarked (may be NULL) is the number of such records. The database must be open for changes.
 * options may be NULL. */
TCTUNE_API tctune_status tctune_database_rerun(tctune_database *database, const tctune_rerun_options *options, int64_t *unmarked,
                                               char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
