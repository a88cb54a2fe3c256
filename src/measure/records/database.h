/* The tuning database: one SQLite file. Workloads and targets are stored once, as text, so a database is readable without the
 * model; each record points to both. Cost models live beside them.
 *
 * Durability: an insertion is one transaction in WAL mode with synchronous=NORMAL: what tc_meas_db_insert has returned survives
 * kill -9. A loss of power may take the last of them back, never a part of one, and leaves a sound file. Several processes may
 * write one database; each waits its turn. Every failure is TC_ENV or TC_BAD_INPUT with the file, the reason and what to do
 * about it. A handle belongs to one thread at a time. */
#ifndef TC_MEASURE_DATABASE_H
#define TC_MEASURE_DATABASE_H

#include "measure/records/record.h"
#include "support/status.h"

typedef struct tc_meas_db tc_meas_db;

typedef enum tc_meas_db_mode {
    TC_MEAS_DB_READ,   /* must exist; never changed, not even migrated */
    TC_MEAS_DB_CHANGE, /* must exist; migrated when needed */
    TC_MEAS_DB_WRITE   /* created or migrated when needed */
} tc_meas_db_mode;

TC_NODISCARD tc_status tc_meas_db_open(const char *path, tc_meas_db_mode mode, tc_meas_db **out, tc_error *err);
/* In memory, for searches that keep nothing. */
TC_NODISCARD tc_status tc_meas_db_open_memory(tc_meas_db **out, tc_error *err);
void tc_meas_db_close(tc_meas_db *db); /* NULL is fine */
const char *tc_meas_db_path(const tc_meas_db *db);
bool tc_meas_db_writable(const tc_meas_db *db); /* by this handle */

/* ---- records ---- */

/* All or none, in one transaction; sets the id of each. INTERRUPTED ones are skipped and keep id 0. A job of a fleet has one
 * record: that of one which is there already is not stored again, and gets the id of the one that is. */
TC_NODISCARD tc_status tc_meas_db_insert(tc_meas_db *db, tc_record *records, size_t n, tc_error *err);
/* What is not verified any more is not to be used in a network either. */
TC_NODISCARD tc_status tc_meas_db_set_verified(tc_meas_db *db, int64_t id, bool verified, double max_error, tc_error *err);
/* Record `id`, and every other of its program, was measured well once but failed when it was run again: they become failures with
 * the error, signal and message of `why`. */
TC_NODISCARD tc_status tc_meas_db_disqualify(tc_meas_db *db, int64_t id, const tc_record *why, tc_error *err);
/* The schedule of record `id` cannot be built: none of its records, whatever its mode, is verified any more. */
TC_NODISCARD tc_status tc_meas_db_distrust(tc_meas_db *db, int64_t id, const tc_record *why, tc_error *err);
/* Replaces times, median and rounds of record r->id by those of r: better ones of the same program, taken in turns with others. */
TC_NODISCARD tc_status tc_meas_db_retime(tc_meas_db *db, const tc_record *r, tc_error *err);

/* Which records: empty fields match everything. */
typedef struct tc_meas_filter {
    const char *workload_hash, *target_hash; /* NULL: any */
    int threads;                             /* 0: any */
    const char *mode;                        /* tc_meas_mode_text; NULL: any */
    const char *job;                         /* tc_record.job; NULL: any */
    bool real;                               /* hot or cold: timed by itself, and of a workload whose sizes do not vary */
    bool sized;                              /* timed at some of the sizes of a workload with symbols */
    bool ok;                                 /* measured without an error */
    bool verified;                           /* and verified, while no other record says that its program is unreliable */
    int64_t after_id;                        /* only records with a larger id: what is new since the last look */
    size_t limit;                            /* 0: all */
    enum {
        TC_MEAS_BY_ID,
        TC_MEAS_BY_MEDIAN,
        TC_MEAS_BY_RANK /* of use in a network: cold ones first, then by tc_record_rank */
    } order;
} tc_meas_filter;

typedef struct tc_meas_records {
    tc_record *data;
    size_t len;
} tc_meas_records;

/* Matching records, in `a`. */
TC_NODISCARD tc_status tc_meas_db_select(tc_meas_db *db, tc_arena *a, const tc_meas_filter *f, tc_meas_records *out,
                                         tc_error *err);
/* Visits matching records one at a time; `a` is reset between them. A visitor that does not return TC_OK ends it with that
 * status. */
typedef tc_status tc_meas_visit(void *user, const tc_record *r, tc_error *err);
TC_NODISCARD tc_status tc_meas_db_each(tc_meas_db *db, const tc_meas_filter *f, tc_meas_visit *fn, void *user, tc_error *err);
/* What a record is looked up by. */
typedef struct tc_meas_key {
    tc_digest workload, target;
    int threads;
    /* Seconds for which a call in the network reads this form's constants from memory, which a hot time leaves out */
    double reading;
} tc_meas_key;

/* The verified records of kernels that compute the same (n keys: the forms of one task), the one to use first: at most `limit`.
 * What was compared in a network comes first, by the times there (choose.c); then those measured cold, then hot, each by
 * tc_record_rank. */
TC_NODISCARD tc_status tc_meas_db_ranked(tc_meas_db *db, tc_arena *a, const tc_meas_key *keys, int n, size_t limit,
                                         tc_meas_records *out, tc_error *err);
/* The first of them for one key. *found false when there is none. */
TC_NODISCARD tc_status tc_meas_db_best(tc_meas_db *db, tc_arena *a, const tc_meas_key *key, tc_record *out, bool *found,
                                       tc_error *err);

/* On a miss: the record that comes closest, and what differs ("threads: recorded with 4, asked for 2"; "target: ..."; "shape:
 * ..."; "verified: ..."). */
typedef enum tc_meas_near_kind {
    TC_MEAS_NEAR_NONE,
    TC_MEAS_NEAR_TIMES, /* they were not taken on a processor of the target, or nothing was right at all sizes */
    TC_MEAS_NEAR_THREADS,
    TC_MEAS_NEAR_UNVERIFIED,
    TC_MEAS_NEAR_TARGET,
    TC_MEAS_NEAR_FAILED, /* no candidate could be measured */
    TC_MEAS_NEAR_SHAPE   /* it is of another workload, of the same structure */
} tc_meas_near_kind;
typedef struct tc_meas_near {
    bool found; /* false: nothing resembles it; `why` then says what was tried */
    tc_meas_near_kind kind;
    tc_record record;
    const char *why; /* never NULL */
} tc_meas_near;
TC_NODISCARD tc_status tc_meas_db_nearest(tc_meas_db *db, tc_arena *a, const tc_meas_key *key, const char *workload_text,
                                          tc_meas_near *out, tc_error *err);

/* Whether other processes wrote to the file since this was last asked (at first: always). */
TC_NODISCARD tc_status tc_meas_db_others_wrote(tc_meas_db *db, bool *wrote, tc_error *err);
/* The largest id of a record; 0: there is none. */
TC_NODISCARD tc_status tc_meas_db_last_id(tc_meas_db *db, int64_t *id, tc_error *err);
/* What time it is, for a comparison of this mode: later than all that are there. The last one counts, which is the last also
 * where the clock was set back since another was stored. */
TC_NODISCARD tc_status tc_meas_db_next_ms(tc_meas_db *db, tc_meas_mode mode, int64_t *ms, tc_error *err);

typedef struct tc_meas_counts {
    int64_t total, verified, by_error[TC_MEAS_NERRORS];
} tc_meas_counts;
/* Of the filter's workload, target, threads and after_id only. */
TC_NODISCARD tc_status tc_meas_db_count(tc_meas_db *db, const tc_meas_filter *f, tc_meas_counts *out, tc_error *err);

/* ---- workloads, models, whole file ---- */

/* Text of a workload by hash; NULL in *text when unknown. */
TC_NODISCARD tc_status tc_meas_db_workload(tc_meas_db *db, tc_arena *a, tc_digest hash, const char **text, tc_error *err);
/* A named blob per target (the cost model). Replaces what was there. */
TC_NODISCARD tc_status tc_meas_db_put_model(tc_meas_db *db, tc_digest target, const char *name, const void *data, size_t size,
                                            tc_error *err);
/* *data in `a`; NULL when there is none that this machine made: what reads models trusts them. */
TC_NODISCARD tc_status tc_meas_db_get_model(tc_meas_db *db, tc_arena *a, tc_digest target, const char *name, const void **data,
                                            size_t *size, tc_error *err);

/* Such a blob that is no model but says how far the database has come along another list of records; no model is called so.
 * `target` is then any digest. */
#define TC_MEAS_DB_PLACE "place"

typedef struct tc_meas_db_stats {
    int schema;
    int64_t workloads, targets, records, models, bytes;
} tc_meas_db_stats;
TC_NODISCARD tc_status tc_meas_db_stat(tc_meas_db *db, tc_meas_db_stats *out, tc_error *err);

#endif
