/* src/report owns long results as JSON documents: about the machine, kernels, searches, comparisons and explanations
 * (docs/json.md). Not here: tables for people (src/cli).
 *
 * The API hands out the documents as text. With --json the command prints a document unchanged, else as tables made from it. */
#ifndef TC_REPORT_REPORT_H
#define TC_REPORT_REPORT_H

#include "codegen/assembly/asm_facts.h"
#include "fleet/crowd.h"
#include "graph/model/model.h"
#include "graph/trials/against.h"
#include "graph/trials/bundle.h"
#include "graph/trials/contest.h"
#include "graph/trials/curve.h"
#include "graph/trials/precision.h"
#include "graph/trials/trace.h"
#include "measure/doctor/doctor.h"
#include "measure/machine/peak.h"
#include "measure/records/maintain.h"
#include "schedule_primitives/schedule.h"
#include "support/json/json.h"
#include "tune/explain/explain.h"
#include "tune/kernel/compare.h"
#include "tune/kernel/gain.h"
#include "tune/kernel/kernel.h"
#include "tune/kernel/variants.h"
#include "tune/range.h"

/* ---- documents ---- */

/* The text of a document, which is released; malloc'ed. */
TC_NODISCARD tc_status tc_report_text(json_t *j, char **out, tc_error *err);

/* ---- what a machine can do (machine.c) ---- */

json_t *tc_report_units(const tc_meas_peak *p);   /* the peaks of the units that were measured, by name */
json_t *tc_report_unit(const tc_intrinsic *unit); /* its name; null of NULL */
json_t *tc_report_names(int n, const char *const *name);
json_t *tc_report_caches(int threads); /* caches as walks with that many threads found them; null: no result is stored */
json_t *tc_report_peak(const tc_meas_peak *p);
/* A target; p->threads 0: its peak was not measured. */
json_t *tc_report_machine(const tc_target *t, const tc_meas_peak *p);

/* ---- who measures for others (fleet.c) ---- */

/* The workers of c, their keys, and the lengths of the keys' queues. */
TC_NODISCARD tc_status tc_report_fleet(const tc_fleet_crowd *c, tc_fleet_bus *b, json_t **out, tc_error *err);
/* Who was told to do what. */
json_t *tc_report_told(const tc_fleet_crowd *told, const char *what, const tc_fleet_bus *b);
/* How the last `most` jobs, or candidates of jobs, ended. worker: only jobs of this worker; NULL: of all. */
TC_NODISCARD tc_status tc_report_fleet_log(tc_fleet_bus *b, const char *worker, size_t most, json_t **out, tc_error *err);

/* ---- databases (database.c) ---- */

json_t *tc_report_database(const char *path, const tc_meas_db_stats *whole, const tc_meas_summaries *all);

/* ---- a schedule by hand (stages.c) ---- */

json_t *tc_report_stages(const tc_sched *s);

/* ---- the course of a run (timeline.c) ---- */

typedef struct tc_report_timeline {
    const char *what; /* the model's name */
    const tc_graph_trace *trace;
    const tc_graph_kernel *kernels;
    const tc_graph_other *others;
    const tc_graph_roofs *roofs;
    bool smaller; /* the sizes of the run are not the largest sizes, at which operations and bytes are counted */
} tc_report_timeline;
/* {"traceEvents": [...], ...}, as timeline viewers show it. */
json_t *tc_report_traced(const tc_report_timeline *l);

/* ---- what hurts measurements (doctor.c) ---- */

/* m->threads 0: nothing was measured. */
json_t *tc_report_doctor(const tc_doctor *d, const tc_doctor_measured *m);

/* ---- schedules (schedule.c) ---- */

/* For a default schedule: the rule that chose it, if that was the cost of a unit with tiles, as " by the cost of ..."; else "". */
const char *tc_report_by_cost(const char *trace, tc_arena *a);
/* Where a schedule comes from, for people, in `a`: "record 12 of tctune.db: 1.23 ms with 2 threads on HOST", "default schedule
 * (there is no database)", "FILE". */
const char *tc_report_origin(const tc_tune_schedule *s, tc_arena *a);

json_t *tc_report_assembly(const tc_cg_asm_facts *f);

/* ---- models (model.c) ---- */

json_t *tc_report_kernels(const tc_graph_kernel *k, int n);
json_t *tc_report_contest(const tc_graph_contest *c);
json_t *tc_report_refusals(const tc_graph_admission *x);
json_t *tc_report_precision(const tc_graph_precision *p);

/* NULL: it was not asked for. */
typedef struct tc_report_built {
    const tc_graph_model *model;
    const char *target;
    const tc_graph_admission *admitted; /* as for contest */
    const tc_graph_contest *contest;
    const tc_graph_precision *precision;
} tc_report_built;
json_t *tc_report_model(const tc_report_built *b);

/* The outputs of a run; compared NULL: they were compared with nothing. */
json_t *tc_report_outputs(const tc_graph_bundle *out, const tc_graph_comparison *compared);

/* ---- sizes that vary (variants.c) ---- */

json_t *tc_report_variants(const char *name, const tc_workload *w, const tc_tune_variants *v);
json_t *tc_report_places(const tc_workload *w, const tc_tune_places *p);
/* " batch=1 sequence=17", and as an object. */
const char *tc_report_sizes_text(tc_arena *a, const tc_graph_size_rules *r, const int64_t *sizes);
json_t *tc_report_sizes(const tc_graph_size_rules *r, const int64_t *sizes);
/* Some sizes are smaller than the largest, and operations are counted for the largest only. */
bool tc_report_sizes_smaller(const tc_graph_size_rules *r, const int64_t *sizes);

/* Adds to a document how often the machine was busy while its figures were taken (machine.c). */
void tc_report_unrest(json_t *j, const tc_meas_unrest *u);

/* ---- searches (tuning.c) ---- */

json_t *tc_report_tuning(const tc_tune_report *r, const char *db);
/* Records and default schedules in turns. */
json_t *tc_report_gain(const tc_tune_gain *g);
/* Variants, and the contest that they were chosen in. */
json_t *tc_report_range(const tc_tune_range *r, const tc_tune_range_report *c, const tc_tune_variants *v);

/* ---- latency (latency.c) ---- */

/* A model that was timed, or a kernel. */
typedef struct tc_report_timed {
    const char *name;
    int threads;
    double *times; /* seconds of runs; they are put in order */
    int ntimes;
    double flops; /* at the largest sizes */
    const tc_meas_peak *peak;
    tc_meas_unrest unrest; /* while it was timed */
    const tc_graph_kernel *kernels;
    int nkernel;
    const tc_graph_other *others;
    int nother;
    /* The conditions, which must match when a base is compared; NULL: a loaded library does not tell them. */
    const char *target, *accuracy, *precision;
    const char *worker; /* of a fleet, that ran it; NULL: this machine did */
    /* Of a model: */
    const tc_graph_size_rules *rules;
    const int64_t *sizes; /* those of its runs */
    /* Of a single kernel: */
    const tc_intrinsic *unit; /* the fastest that its sums can take, or NULL */
    tc_meas_stream stream;    /* at its footprint */
    const char *origin;       /* of its schedule */
    const char *mode;         /* how it was timed */
    double constants;         /* bytes that came from memory in each call, timed cold */
} tc_report_timed;

json_t *tc_report_latency(const tc_report_timed *r);
/* One of the kernels of a work, each timed by itself. */
typedef struct tc_report_apart {
    tc_graph_kernel kernel; /* seconds 0: it failed, as the record says */
    const char *origin, *worker;
    const tc_tune_kernel_bench *bench;
} tc_report_apart;
/* name: of the work. */
json_t *tc_report_kernels_apart(const char *name, const tc_target *t, tc_accuracy accuracy, const tc_report_apart *k, int n);
/* repeats: how many runs of each point were asked for. */
json_t *tc_report_curves(const char *name, int threads, int repeats, const tc_graph_curves *c);

/* ---- a network against what it was (against.c) ---- */

json_t *tc_report_against(const char *name, const tc_graph_base *base, const tc_graph_against *x);

/* ---- two of one kernel (comparison.c) ---- */

typedef struct tc_report_side {
    const char *spec, *origin;
    const tc_tune_schedule *schedule; /* NULL: another library, as for `made` */
    const tc_tune_side *made;
} tc_report_side;

typedef struct tc_report_comparison {
    const char *kernel, *hash;
    int threads;
    tc_meas_mode mode;
    const char *worker; /* of a fleet, that ran both; NULL: this machine did */
    tc_report_side side[2];
    const tc_tune_duel *duel;
} tc_report_comparison;

json_t *tc_report_compared(const tc_report_comparison *c);

/* ---- why one is as fast as it is (explanation.c) ---- */

typedef struct tc_report_explained {
    const char *kernel, *hash, *spec, *origin, *form, *trace;
    int threads;
    tc_meas_mode mode;
    const char *no_best; /* why the database was not searched for a better record; NULL: it was, or there is none */
    const tc_tune_explanation *made;
} tc_report_explained;

json_t *tc_report_explanation(const tc_report_explained *e);

#endif
