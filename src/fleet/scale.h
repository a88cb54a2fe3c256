/* One scale for the times of many machines. Each worker times the reference kernel, which is the same everywhere. Its time
 * over the kernel's time on the fleet's common scale is the worker's ratio. A worker's times over its ratio are times on the
 * common scale. This file is arithmetic: it knows nothing of messages. */
#ifndef TC_FLEET_SCALE_H
#define TC_FLEET_SCALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/arena.h"
#include "support/vec.h"

/* What the reference kernel took on one machine lately. Zero-initialised is empty. */
enum { TC_FLEET_PACE_WINDOW = 8 };
typedef struct tc_fleet_pace {
    double seconds[TC_FLEET_PACE_WINDOW];
    size_t n;      /* ever noted */
    int64_t taken; /* the machine's count of them, when the last one was noted */
    bool told;     /* the caller's: that it is unsteady was said */
} tc_fleet_pace;

/* The machine took it for the `taken`-th time, in so many seconds. One that was noted before, or took no time, is not noted
 * again. True: it is new. */
bool tc_fleet_pace_note(tc_fleet_pace *p, int64_t taken, double seconds);
/* Seconds of the last one; 0: nothing was noted. */
double tc_fleet_pace_last(const tc_fleet_pace *p);
/* Of the window. 0: nothing was noted. */
double tc_fleet_pace_median(const tc_fleet_pace *p);
/* Width of the middle half of the window over its median. 0 until the window is full. */
double tc_fleet_pace_spread(const tc_fleet_pace *p);
void tc_fleet_pace_range(const tc_fleet_pace *p, double *least, double *most);

/* The largest spread of a machine whose times are of use. A quiet machine's is 0.03, and that of one which another process comes
 * to use and leaves again 0.4 and more (measure/machine/drift.c): five times the one, and less than half of the other. */
#define TC_FLEET_MOST_SPREAD 0.15

/* The paces of the workers of a key. */
typedef struct tc_fleet_paced {
    const char *name;
    tc_fleet_pace pace;
} tc_fleet_paced;

/* What one machine says that a program takes, on the common scale: the least and the most of its repeats, in seconds. */
typedef struct tc_fleet_opinion {
    double least, most;
} tc_fleet_opinion;

/* A program that two workers timed, on the common scale; workers as places in tc_fleet_scale.workers. */
typedef struct tc_fleet_meeting {
    size_t first, second; /* first < second */
    uint64_t of;          /* only programs of one of these compare with one another */
    tc_fleet_opinion says[2];
} tc_fleet_meeting;

typedef struct tc_fleet_scale {
    TC_VEC(tc_fleet_paced) workers;
    TC_VEC(tc_fleet_meeting) met;
    /* Seconds of the reference: what the first worker took. It stays, so that early and late times compare; 0: not known */
    double common;
} tc_fleet_scale;

void tc_fleet_scale_free(tc_fleet_scale *s);
/* Its pace, of nothing yet where the name is a new one, which is copied to `a`. Good until the next call. */
tc_fleet_pace *tc_fleet_scale_pace(tc_fleet_scale *s, tc_arena *a, const char *name);
/* Times of the machine are this often those on the common scale; 1 where that is not known. */
double tc_fleet_scale_ratio(tc_fleet_scale *s, const tc_fleet_pace *p);

/* Machines of one key whose times of a program, on the common scale, are further apart than this do not measure the same. The
 * reference is one kernel, and another one may be held up by memory where it is not: among machines of one kind, and times of one
 * with a busy core beside it (drift.c), such factors stay below 1.5. */
#define TC_FLEET_MOST_APART 1.5
bool tc_fleet_agree(const tc_fleet_opinion *x, const tc_fleet_opinion *y);

/* Who of two machines, or of three of which the third was asked because the two do not agree, is wrong: the one that stands
 * alone. Of two nobody can tell, unless there is no third to ask: then the faster one is not believed, since a time that is too
 * long only costs a candidate, and one that is too short wins. */
enum { TC_FLEET_NOBODY = -1, TC_FLEET_ASK_THIRD = -2 };
int tc_fleet_wrong(const tc_fleet_opinion *x, int n, bool third);

/* Two workers, of whom paces are there, timed a program of the workload `of`. */
void tc_fleet_scale_meet(tc_fleet_scale *s, uint64_t of, const char *x, tc_fleet_opinion x_says, const char *y,
                         tc_fleet_opinion y_says);

/* Pairs of programs that two workers both timed and found clearly apart, and those of them that the one finds faster and the
 * other slower: machines that flip many winners do not measure the same. */
typedef struct tc_fleet_flips {
    size_t pairs, flipped;
} tc_fleet_flips;
/* Machines that flip so many do not measure the same. */
bool tc_fleet_rank_otherwise(tc_fleet_flips f);
/* Two workers that both timed such pairs. */
typedef struct tc_fleet_ranking {
    const char *worker[2]; /* by name, in the alphabet's order */
    tc_fleet_flips flips;
} tc_fleet_ranking;
typedef struct tc_fleet_rankings {
    tc_fleet_ranking *data;
    size_t len;
} tc_fleet_rankings;
/* All of them, in `a`; names are the scale's. */
tc_fleet_rankings tc_fleet_scale_rankings(const tc_fleet_scale *s, tc_arena *a);
/* Clearly: none of the repeats of one comes as near as this to one of the other. Repeats on a quiet machine span up to 3 %
 * (drift.c), and what claims to be the best had luck. */
#define TC_FLEET_CLEARLY 1.03
/* A share of flipped pairs that is too much, of so many pairs at least. Guessing flips half of them, and machines of one kind
 * next to none. Chosen. */
#define TC_FLEET_MOST_FLIPS 0.2
enum { TC_FLEET_FLIP_PAIRS = 10 };

/* What one machine's reference is over the median of all that are known (n of them, 0: not known); 0: not known. */
double tc_fleet_ratio_among(double reference, const double *all, size_t n);

#endif
