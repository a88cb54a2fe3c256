/* One decision of a schedule changed, all others kept: the time of the changed schedule shows what the decision is worth.
 * Schedules of sketches and schedules written by hand are treated alike. A decision is a sampled step, a factor of a split, an
 * annotation of a loop, a layout or a pragma; also one of these that is missing and could be there. */
#ifndef TC_SPACE_CHANGES_CHANGES_H
#define TC_SPACE_CHANGES_CHANGES_H

#include "tir_lower/tir.h"

/* What a decision is about. */
typedef enum tc_space_change_kind {
#define CHANGE(id, text) TC_CHANGE_##id,
#include "search_space/changes/kinds.def"
#undef CHANGE
    TC_NCHANGES
} tc_space_change_kind;
const char *tc_space_change_text(tc_space_change_kind k); /* "register tile" */

typedef struct tc_space_change {
    tc_space_change_kind kind;
    int step;             /* of the trace: which it changes or takes out; -1: it adds steps */
    const char *decision; /* "Y.i0 into i0_o, i0_r" */
    const char *what;     /* "i0_r 6 -> 12" */
    bool more;            /* it makes larger, or adds; else smaller, or takes out */
    tc_trace *trace;      /* all decisions made; need not be legal */
} tc_space_change;

/* Up to cap changes of t, which replays on w and has all its decisions made, in `a`; each trace once. TC_ILLEGAL or TC_BAD_INPUT
 * where it does not replay. */
TC_NODISCARD tc_status tc_space_changes(const tc_workload *w, const tc_machine *m, const tc_trace *t, tc_arena *a,
                                        tc_space_change *out, int cap, int *n, tc_error *err);

#endif
