/* Private to ranges: a contest over sizes. */
#ifndef TC_TUNE_RANGE_INT_H
#define TC_TUNE_RANGE_INT_H

#include "tune/range.h"

/* Programs that take part at most: by their times, and then of those that pack constants as others do. Chosen. */
enum { ENTRANTS = 24, COMPANIONS = 12 };
/* Times the best at a size beyond which a program is timed there once: it is no variant for it. Chosen. */
#define TC_RANGE_HOPELESS 1.5

/* The workload with symbols, or one of its alternatives (search_space/alternatives/alternatives.h). */
typedef struct range_form {
    const char *name;               /* "direct" or the alternative's */
    const char *constants, *stages; /* as tc_space_alternative has them */
    const tc_workload *w;           /* canonical */
    const char *text;
    tc_digest hash;
} range_form;

typedef struct range_entrant {
    int form;
    const char *trace;
    uint64_t program;
} range_entrant;

typedef struct range_contest {
    const tc_tune_options *o;
    const tc_tune_range *r;
    tc_meas_db *db;
    tc_arena *a;
    tc_ctx *ctx;
    tc_target target; /* with the threads of the session */
    int nform;
    const range_form *form; /* the first is the workload's own */
    tc_digest target_hash;
    tc_tune_places grid;
    int n, most; /* most: that may be there by now */
    range_entrant entrant[ENTRANTS + COMPANIONS];
    tc_tune_range_report *out;
} range_contest;

/* Fills x->entrant with what the database has for x->r: the default program, those of the last contest, and the best of each
 * size. */
tc_status tc_range_gather(range_contest *x, tc_error *err);

#endif
