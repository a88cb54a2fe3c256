/* The course of a search: how a sum fell while the search ran. The sum has a term for each task: its launches times its best time.
 * A task without a time yet counts with the first time that it gets, the time of its default schedule. So the course begins with
 * the search. It can be drawn as soon as tasks have times. */
#ifndef TC_CLI_COURSE_H
#define TC_CLI_COURSE_H

#include "cli/face/face.h"

/* A sum, from here on. */
typedef struct tc_cli_moment {
    int trials; /* earlier sessions' too */
    double seconds, latency;
} tc_cli_moment;

typedef struct tc_cli_course tc_cli_course;
tc_cli_course *tc_cli_course_new(void);
void tc_cli_course_free(tc_cli_course *c); /* NULL is fine */
/* Takes note of an event of the session. */
void tc_cli_course_add(tc_cli_course *c, const tctune_event *e);
/* The moments of the course so far, in order; none while no task has a time. The last moment belongs to the last event. */
int tc_cli_course_moments(const tc_cli_course *c, tc_arena *a, tc_cli_moment **out);
/* How many tasks of the sum have no time. */
int tc_cli_course_missing(const tc_cli_course *c);

#endif
