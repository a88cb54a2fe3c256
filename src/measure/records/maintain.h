/* Looking after database files: what they hold, joining them, making them smaller, and whether what they say still holds. */
#ifndef TC_MEASURE_MAINTAIN_H
#define TC_MEASURE_MAINTAIN_H

#include "measure/records/database.h"

/* ---- what there is ---- */

/* The records of one workload for one target, thread count and way of measuring. */
typedef struct tc_meas_summary {
    const char *workload, *target; /* texts, never NULL */
    tc_digest workload_hash, target_hash;
    int threads;
    tc_meas_mode mode;
    tc_meas_counts counts;
    int64_t best_id; /* of the verified record that ranks first; 0: none */
    double best;     /* its median; INFINITY */
    int best_rounds; /* tc_record.rounds of it */
    int sizes;       /* how many different ones it was timed at, which have no best in common; 0: they do not vary */
    int64_t first_ms, last_ms;
} tc_meas_summary;

typedef struct tc_meas_summaries {
    tc_meas_summary *data;
    size_t len;
} tc_meas_summaries;

/* Floating-point operations of its workload; 0 where the text is none. */
double tc_meas_summary_flops(const tc_meas_summary *s);
/* What goes into its workload: "p0[128, 768] p1[768, 3072]". */
void tc_meas_summary_operands(tc_strbuf *out, const tc_meas_summary *s);

/* In `a`, ordered by workload hash, target hash, threads and mode. */
TC_NODISCARD tc_status tc_meas_db_summaries(tc_meas_db *db, tc_arena *a, tc_meas_summaries *out, tc_error *err);

/* ---- joining ---- */

/* Adds the records of the database file `path`, in one transaction, but those that `db` has already (same workload, target, trace
 * and time of measuring; but a failure found later is taken over): merging twice changes nothing. Cost models stay behind: they
 * are refitted from records. TC_BAD_INPUT when `path` is db's own file. Records beyond a bound are left out, as by tc_meas_import. */
TC_NODISCARD tc_status tc_meas_db_merge(tc_meas_db *db, const char *path, size_t *added, size_t *known, tc_error *err);

/* ---- making smaller ---- */

typedef struct tc_meas_prune {
    int keep;           /* of the valid records of each summary, this many that rank first, verified ones before others; 0: all */
    bool drop_failures; /* and none that failed, or that `db merge` would refuse */
} tc_meas_prune;

typedef struct tc_meas_pruned {
    int64_t records, workloads, targets; /* removed */
    int64_t bytes_before, bytes_after;   /* of the file */
} tc_meas_pruned;

/* Removes records in one transaction, with the workloads and targets that then have none, and gives the space back to the disk.
 * Rows that cannot be true, and records with impossible times, go in any case; records with ids that tctune never gives get others.
 * When only that last step fails (it needs room for a copy of the file), the message says that the records are gone. A removed
 * record counts no longer as a trial and may be measured again. */
TC_NODISCARD tc_status tc_meas_db_prune(tc_meas_db *db, const tc_meas_prune *p, tc_meas_pruned *out, tc_error *err);

/* ---- holding true (audit.c) ---- */

typedef struct tc_meas_audit {
    int64_t workloads, targets, records; /* looked at */
    int64_t replayed;                    /* records whose trace makes a program */
    int64_t changed;  /* of these: another program than when they were measured. No problem: lowering moved on */
    int64_t problems; /* complaints made */
} tc_meas_audit;

/* One line without a newline. */
typedef void tc_meas_complaint(void *user, const char *text);

/* The file's own structure; every workload parses, is canonical and has the hash that it is stored under; targets and traces have
 * theirs; every trace that was measured parses and replays. Changes nothing. An error only when the file cannot be read. */
TC_NODISCARD tc_status tc_meas_db_audit(tc_meas_db *db, tc_meas_complaint *fn, void *user, tc_meas_audit *out, tc_error *err);

/* Whether a failure of this kind says that the record is no good; being late or short of memory may be the machine's fault. */
bool tc_meas_disproves(tc_meas_error e);
/* Record `id` was run again and failed, as `now` says. One that gives a wrong result or crashes becomes a failure with all others
 * of its program. One that is not built any more is not verified any more, nor are others of its schedule. Nothing is built from
 * either. What does not disprove it changes nothing. */
TC_NODISCARD tc_status tc_meas_db_note_failure(tc_meas_db *db, int64_t id, const tc_record *now, tc_error *err);

#endif
