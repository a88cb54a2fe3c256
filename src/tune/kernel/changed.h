/* The steps in which one schedule of a kernel differs from another. It works on their texts, a line a step, with " ~" before a
 * decision. So it also serves a schedule that no longer replays. */
#ifndef TC_TUNE_CHANGED_H
#define TC_TUNE_CHANGED_H

#include "support/arena.h"

/* A step that only one of them has, the other being NULL; or one that both have and decide differently. */
typedef struct tc_tune_changed {
    const char *before, *after;
} tc_tune_changed;

/* In the order of the steps, in `a`; *n of them. */
tc_tune_changed *tc_tune_changed_steps(const char *before, const char *after, tc_arena *a, int *n);

#endif
