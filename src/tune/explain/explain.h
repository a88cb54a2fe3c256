/* src/tune/explain owns why a schedule is as fast as it is, and not faster: causes (causes.def), suspected by its
 * program and judged by what is measured in turns with it. Not here: the changes of schedules
 * (src/search_space/changes) and the reading of assembly (src/codegen/assembly).
 *
 * Each decision is changed alone, and the changed schedule is timed in turns with the original: that is what the
 * decision is worth. The schedule's program is read for causes of slowness. Each suspected cause has something that
 * would be faster if the cause were real: a changed schedule that has less of it, or the same schedule under other
 * conditions. The cause counts for the time that this saves, as surely as the rounds show it. Where no experiment is
 * possible it counts for half of the estimate.
 *
 * The machine is looked at before and between the rounds. While others disturb it the rounds wait, for a part of their
 * time. If that goes on, the explanation says so first, and is sure of nothing. */
#ifndef TC_TUNE_EXPLAIN_EXPLAIN_H
#define TC_TUNE_EXPLAIN_EXPLAIN_H

#include "search_space/changes/changes.h"
#include "tune/kernel/compare.h"

typedef enum tc_tune_cause {
#define CAUSE(id, text, meaning, remedy) TC_CAUSE_##id,
#include "tune/explain/causes.def"
#undef CAUSE
    TC_NCAUSES
} tc_tune_cause;
const char *tc_tune_cause_text(tc_tune_cause c);    /* "one thread" */
const char *tc_tune_cause_meaning(tc_tune_cause c); /* "it runs on one core" */
const char *tc_tune_cause_remedy(tc_tune_cause c);  /* what would have to change */

typedef struct tc_tune_explain_options {
    const tc_workload *workload; /* that the trace applies to, canonical */
    const tc_workload *timed;    /* the kernel at the sizes of its runs, in its direct form: what counts as its operations */
    const tc_target *target;     /* its cores are the threads */
    tc_meas_mode mode;
    uint64_t seed;
    double denormal;                   /* share of denormal numbers in the data (tc_meas_input.denormal) */
    double seconds;                    /* all of it may take; 0: 45 */
    const tc_tune_schedule *known;     /* another one of the kernel, which is tried beside it; NULL: none */
    const char *why_unmeasured;        /* not NULL: nothing is run, and this is why */
    const volatile sig_atomic_t *stop; /* may be NULL */
} tc_tune_explain_options;

/* What was tried beside the schedule. */
typedef enum tc_tune_trial_kind {
    TC_TRIAL_CHANGE,      /* a decision changed */
    TC_TRIAL_CONSTRUCTED, /* a schedule that the space constructs */
    TC_TRIAL_KNOWN,       /* options.known */
    TC_TRIAL_CONDITION    /* the same schedule under other conditions, for a cause */
} tc_tune_trial_kind;

typedef struct tc_tune_trial {
    tc_tune_trial_kind kind;
    tc_space_change change;  /* CHANGE; of the others `decision` and `what` say what it is */
    tc_tune_cause cause;     /* CONDITION: for which; TC_NCAUSES: for none */
    int without;             /* CONDITION: the part that is left out (tir_lower/program/ablate.h); -1: none is */
    const char *trace;       /* text */
    const char *failed;      /* why there is no time; NULL: there is one */
    int rounds;              /* in turns; 0: tried once, next to the schedule */
    double ratio, low, high; /* its time over the schedule's; without turns low and high are NAN */
} tc_tune_trial;

typedef struct tc_tune_finding {
    tc_tune_cause cause;
    double estimate;      /* share of the time that it costs as the program is read, (0, 1) */
    double saves, low;    /* measured: share of the time that `trial` saves, and at least; 0 where nothing was */
    int trial;            /* -1: no trial tells */
    double score;         /* by which findings are ranked */
    const char *evidence; /* what was seen in the program */
    const char *counted;  /* what counters saw; NULL: nothing */
} tc_tune_finding;

/* A limit of the machine, and how long it needs for what the schedule asks of it. */
typedef struct tc_tune_limit {
    const char *name; /* "multiply-adds" */
    const char *how;  /* "measured" what the rate is, "counted" what is asked for */
    double seconds;   /* of a call; 0: unknown */
} tc_tune_limit;
enum { TC_TUNE_LIMITS = 8 };

/* What a call's time goes to. Parts overlap: what is done at the same time counts in each. */
typedef struct tc_tune_part {
    const char *name, *how;
    double share, low, high; /* of the time; low and high are NAN where it was not measured in turns */
} tc_tune_part;
enum { TC_TUNE_PARTS = 12 };

typedef struct tc_tune_explanation {
    tc_tune_side side;      /* the schedule; free it with tc_tune_side_free */
    const char *unmeasured; /* why nothing was run; NULL: it was */
    double seconds;         /* of a call; 0: unmeasured */
    tc_tune_roof roof;
    int nlimit, binds; /* binds: index of the limit that asks for most time, -1: none is known */
    tc_tune_limit limit[TC_TUNE_LIMITS];
    int npart;
    tc_tune_part part[TC_TUNE_PARTS];
    tc_meas_counted counted; /* of the schedule */
    int ntrial;
    tc_tune_trial *trial;
    int nfinding; /* the main cause first */
    tc_tune_finding finding[TC_NCAUSES];
    bool helps;         /* finding[0] is a cause: something is faster beyond TC_TUNE_WORTH. Never on a disturbed machine */
    const char *answer; /* a sentence or two */
    double took;        /* seconds of the explanation */
    /* Others used the machine while it was measured, or its clock sank: no share and no cause is certain, and intervals are
     * wider. `unrest` says how often; `waited`: seconds, for it to become quiet. */
    bool disturbed;
    tc_meas_unrest unrest;
    double waited;
} tc_tune_explanation;

/* What saves less of the time than this is not called a cause. */
#define TC_TUNE_WORTH 0.03

/* Explains s, a schedule in canonical names. TC_ILLEGAL or TC_BAD_INPUT where it does not replay or build, TC_ENV where it could
 * not be measured or was stopped. Texts are in `a`. */
TC_NODISCARD tc_status tc_tune_explain(const tc_tune_schedule *s, const tc_tune_explain_options *o, tc_arena *a,
                                       tc_tune_explanation *out, tc_error *err);

#endif
