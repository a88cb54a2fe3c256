/* The schedule that a kernel has outside of a network: of a file, of a record, or the default one. */
#ifndef TC_TUNE_SCHEDULE_H
#define TC_TUNE_SCHEDULE_H

#include "codegen/code/code.h"
#include "measure/records/database.h"
#include "search_space/alternatives/alternatives.h"

/* Texts live as long as the arena that they were made in. */
typedef struct tc_tune_schedule {
    const char *workload; /* text that the trace applies to: canonical, but for a file in the kernel's own names */
    const char *trace;    /* text, with its decisions made */
    const char *form;     /* which form of the kernel the workload is: "direct", or the alternative's name */
    tc_digest hash;       /* of the workload */
    /* Where it comes from: one of these is not NULL. */
    const char *file;
    const tc_record *record;
    const char *why;     /* the default schedule, and why no record is used */
    const char *variant; /* of a kernel with symbols: which of its variants it is, for people */
    const char *db;      /* of record: its file */
    const char *sizes;   /* of a kernel with symbols: those of the run that it is for, as records have them; NULL: of none */
} tc_tune_schedule;

/* What a schedule is looked for. */
typedef struct tc_tune_query {
    const tc_workload *workload;
    const tc_target *target; /* its cores are the threads of the kernel */
    tc_accuracy accuracy;    /* which other forms may be used, where a record of them is the fastest */
    const char *file;        /* .sched; NULL: none */
    const char *text;        /* what stands in such a file, then `file` is what messages call it; NULL: it is read */
    tc_meas_db *db;          /* NULL: none */
} tc_tune_query;

/* That of the file, else of the best verified record of any form of the workload, else the default one. What is in a file and the
 * default are of the workload itself. */
TC_NODISCARD tc_status tc_tune_schedule_find(const tc_tune_query *q, tc_arena *a, tc_tune_schedule *out, tc_error *err);
/* That of a record of the database file db, which is of form `form`. */
tc_tune_schedule tc_tune_schedule_of_record(const tc_record *r, const char *form, const char *db);

/* Record `id` of a database file, which must be of a candidate that was measured well. */
TC_NODISCARD tc_status tc_tune_record_load(const char *db, int64_t id, tc_arena *a, tc_record *out, tc_error *err);

/* Puts a schedule of w that is in the kernel's own names into canonical ones, as records have it. */
TC_NODISCARD tc_status tc_tune_schedule_canonical(const tc_workload *w, const tc_target *t, tc_arena *a, tc_tune_schedule *s,
                                                  tc_error *err);

/* *out: the schedule s of w, which is in canonical names, in the kernel's own. It is s itself where s is of another form of w,
 * and where names that its steps make are in the way. */
TC_NODISCARD tc_status tc_tune_schedule_own(const tc_workload *w, const tc_target *t, tc_arena *a, const tc_tune_schedule *s,
                                            tc_tune_schedule *out, tc_error *err);

/* Name of the form of w, "direct" or another, whose workload has this hash, in `a`; NULL: none has. */
const char *tc_tune_form_of(const tc_workload *w, const char *hash, tc_arena *a);

#endif
