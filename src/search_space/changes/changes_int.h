/* Private to changes: what is being collected. */
#ifndef TC_SPACE_CHANGES_INT_H
#define TC_SPACE_CHANGES_INT_H

#include "search_space/changes/changes.h"

typedef struct collector {
    const tc_workload *w;
    const tc_machine *m;
    const tc_trace *t;
    const tc_sched *s; /* t, replayed */
    tc_arena *a;
    tc_space_change *out;
    int n, cap;
} collector;

/* A change with its trace, unless that is there already, or `trace` is NULL. */
void space_add_change(collector *c, const tc_space_change *x);
/* t without the steps [at, at + gone), and with the lines of `text` in their place. NULL: the text is no steps. */
tc_trace *space_spliced(const collector *c, int at, int gone, const char *text);

/* Decisions that the trace's steps make (steps.c). */
void space_change_steps(collector *c);
/* What the schedule's loops and constants could be, and are not (loops.c). */
void space_change_loops(collector *c);

#endif
