/* Tuning databases: SQLite files of records. A record is one measured candidate, with everything that is needed to read it without the
 * model that it came from. Several processes may use one file. */
#ifndef TCTUNE_DATABASE_H
#define TCTUNE_DATABASE_H

#include <tctune/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tctune_database tctune_database;

typedef enum tctune_access {
    TCTUNE_READ,   /* must exist, and stays as it is */
    TCTUNE_CHANGE, /* must exist */
    TCTUNE_CREATE  /* made where there is none */
} tctune_access;

TC_API tctune_status tctune_database_open(const char *file, tctune_access access, tctune_database **database, char *error,
                                          size_t error_size);
TC_API void tctune_database_close(tctune_database *database); /* NULL is fine */

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

typedef enum tctune_order {
    TCTUNE_BY_ID,
    TCTUNE_BY_MEDIAN,
    TCTUNE_BY_RANK /* of use in a network: what was timed cold first; what was timed by itself must be 3 % better to be believed */
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

typedef struct tctune_records tctune_records;
/* The records as they are now; query NULL: all. They stay when the database is closed. */
TC_API tctune_status tctune_database_records(tctune_database *database, const tctune_query *query, tctune_records **records,
                                             char *error, size_t error_size);
TC_API size_t tctune_records_count(const tctune_records *records);
TC_API tctune_status tctune_records_get(const tctune_records *records, size_t i, tctune_record *record, char *error,
                                        size_t error_size);
TC_API void tctune_records_free(tctune_records *records); /* NULL is fine */

/* ---- what there is ---- */

typedef struct tctune_database_stats {
    size_t struct_size;
    int schema;
    int64_t records, workloads, targets, bytes;
} tctune_database_stats;
TC_API tctune_status tctune_database_stat(tctune_database *database, tctune_database_stats *stats, char *error,
                                          size_t error_size);

/* ---- joining, writing, making smaller, checking ---- */

/* Adds the records of a file of JSON lines or of another database, all or none, but those that are there. *added, *known: how many were
 * new, and how many were there (of another database; else 0); either may be NULL. */
TC_API tctune_status tctune_database_add(tctune_database *database, const char *file, size_t *added, size_t *known, char *error,
                                         size_t error_size);
/* Writes the records as JSON lines; the file is whole or unchanged. query, written: may be NULL. */
TC_API tctune_status tctune_database_export(tctune_database *database, const tctune_query *query, const char *file,
                                            size_t *written, char *error, size_t error_size);
/* Keeps the `keep` best valid records of each workload, target and mode (0: all), and, where drop_failures is not 0, none that failed; gives
 * the space back. removed may be NULL. */
TC_API tctune_status tctune_database_prune(tctune_database *database, int keep, int drop_failures, int64_t *removed, char *error,
                                           size_t error_size);

/* A complaint, in one line. */
typedef void tctune_complaint(void *user, const char *text);
/* Whether what it says holds: structure, hashes, and that every trace replays. Changes nothing. TCTUNE_BAD_INPUT where there were
 * complaints; `complain` (may be NULL) is told of each. */
TC_API tctune_status tctune_database_verify(tctune_database *database, tctune_complaint *complain, void *user, char *error,
                                            size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
