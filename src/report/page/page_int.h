/* Private to the report: declarations that its files share while they make the data. */
#ifndef TC_REPORT_PAGE_PAGE_INT_H
#define TC_REPORT_PAGE_PAGE_INT_H

#include "codegen/target/target.h"
#include "measure/records/maintain.h"
#include "report/page/page.h"
#include "report/report.h"
#include "tune/kernel/schedule.h"
#include "tune/kernel/weights.h"

/* What the machine can do, at one level of its memory. */
typedef struct page_level {
    const char *name;
    int64_t bytes; /* that it holds for all threads; 0: any number */
    double gbs;
} page_level;

enum { PAGE_LEVELS = 4 };
typedef struct page_roofs {
    const char *from; /* "measured", or the document with the numbers; NULL: not known, see `why` */
    const char *why;
    tc_meas_peak peak;
    page_level level[PAGE_LEVELS]; /* from the processor outwards */
    int nlevel;
} page_roofs;

/* The best record of one mode, while the records are collected. */
typedef struct page_best {
    int64_t id; /* 0: there is none */
    double median, low, high;
    size_t times;
    int rounds;
} page_best;

typedef struct page_kernel {
    const char *name, *text; /* text: of the workload */
    const tc_workload *workload;
    const char *why; /* the workload cannot be read; else NULL */
    double weight;
    bool instead;
    int nnode; /* nodes of the network that the kernel is made from; 0: not known */
    const char *const *nodes;
    const tc_tune_weights *sizes;
    int nform;
    const char **form;
    tc_digest *hash; /* of the workload of each */
    /* Of its records: */
    page_best best[TC_MEAS_NMODES];
    int64_t records, valid;
    const char *trace, *traced; /* schedule and workload of the fastest computed time; used if no record was timed */
    tc_digest traced_hash;
} page_kernel;

typedef struct page {
    const tc_page_options *o;
    tc_arena *arena;
    tc_ctx *ctx; /* of workloads that are read from databases */
    tc_meas_db *db, *base;
    const char *target_text; /* "": there are no records */
    tc_digest target_hash;
    int threads;
    tc_target *target; /* NULL: the target's text cannot be read; its cores are `threads` */
    const char *target_why;
    page_roofs roofs;
    page_kernel *kernels;
    int nkernel;
    json_t *documents;
} page;

/* ---- kernels.c ---- */

/* Those of the tasks, or of the database. */
TC_NODISCARD tc_status page_find_kernels(page *p, tc_error *err);
/* Finds the kernel and form of a workload; false: no kernel of the page has it. */
bool page_form_of(const page *p, const tc_digest *hash, int *kernel, int *form);
/* Collects all facts about each kernel; call it after the records were collected. */
json_t *page_tell_kernels(page *p);

/* ---- records.c ---- */

/* The records of the target, as columns. */
TC_NODISCARD tc_status page_tell_records(page *p, json_t **out, tc_error *err);

/* ---- decisions.c ---- */

/* Schedules without their decisions, each once; and for each decision all its values in the records. */
typedef struct page_decisions page_decisions;
page_decisions *page_decisions_new(void);
/* The number of the schedule, followed for each of its decisions by the number of the decision's value. */
json_t *page_decisions_of(page_decisions *d, const char *trace);
/* The schedules; frees d. */
json_t *page_decisions_tell(page_decisions *d);

/* ---- code.c ---- */

/* The result of schedule k: its steps, its loop nest, and the assembly around the hot loop, of at most `bytes`. */
json_t *page_code(const tc_target *t, const tc_tune_schedule *k, size_t bytes);

/* ---- roofs.c ---- */

void page_find_roofs(page *p);
json_t *page_tell_roofs(const page_roofs *r);
/* Seconds of a call at the roof: the longer of its arithmetic and its memory traffic. NAN: not known. *bound: the limiting part,
 * the name of a memory level or "arithmetic". */
double page_roof(const page *p, const tc_workload *w, tc_meas_mode mode, const char **bound);
/* Bytes that a call must move. A kernel that is timed cold moves its constants, which come from memory. */
double page_traffic(const tc_workload *w, tc_meas_mode mode);

/* ---- commands.c ---- */

/* Commands about the whole page, by purpose; null if there is none. */
json_t *page_tell_commands(const page *p);
/* Commands about one kernel, or about a record of it (0: none). */
json_t *page_tell_kernel_commands(const page *p, int kernel, int64_t record);

/* ---- embed.c ---- */

/* A part of the page, which is no C text. */
typedef enum page_part { PAGE_MARKUP, PAGE_STYLE, PAGE_D3, PAGE_SCRIPT } page_part;
const char *page_part_of(page_part part, size_t *size);

#endif
