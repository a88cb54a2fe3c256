/* src/codegen/team owns the threads on which kernels run their parallel loops: in this process, and as an object for libraries
 * that run without tctune. Not here: kernels (src/codegen/code), and OpenMP's team, which a library may have instead
 * (src/codegen/artefacts/runtime.h).
 *
 * A region is one call of parallel_for. It is cut into a lane for each thread, and each lane into a few parts. A thread takes the
 * parts of its own lane in order, then parts of other lanes that nobody has taken. So a thread without a core holds up the others
 * by no more than the part that it is at, and one that sleeps by nothing. The thread that calls takes part, and returns when all
 * parts are done.
 *
 * A loop that takes as little as signals between cores do runs in the caller's thread alone where that is faster (site.c).
 *
 * Between regions threads spin for some milliseconds, as OpenMP's do, then they sleep. Where the machine has too few cores for
 * all that runs on it, which threads see by the time that they lose, they sleep within microseconds. The caller goes on alone for a
 * while when it waited for a thread without a core, or lost its own again and again: a thread that works in the team is one more
 * that wants a core, and a region ends when the last of its threads had one. OMP_WAIT_POLICY=passive: they always sleep
 * within microseconds; active: only after seconds. */
#ifndef TC_CODEGEN_TEAM_TEAM_H
#define TC_CODEGEN_TEAM_TEAM_H

#include <stdint.h>

#include "tctune/runtime.h"

/* For measuring: threads are woken for each region and spin as long as usual, and the caller goes on when all have begun, however
 * crowded the machine is. So a kernel's time is that of all its threads. */
#define TC_TEAM_PATIENT ((void *)(uintptr_t)1)

/* Where one function is the body of different loops: none of them runs in the caller's thread alone for how little it takes. */
#define TC_TEAM_SHARED ((void *)(uintptr_t)2)

/* parallel_for of a tc_rt: threads of the process's own, at most rt->nthreads at a time, the calling one included, and no more
 * than there are cores for it. Teams are made when they are first needed, and are one caller's at a time: of callers at once each
 * has a team while there are cores for it, and else runs alone. In a parallel region of OpenMP's the caller runs alone. Where a
 * thread cannot be started there are fewer. rt->impl: NULL, TC_TEAM_PATIENT or TC_TEAM_SHARED.
 * Returns 0.
 *
 * After fork the child has no threads, and starts its own. When the library that this is part of is closed, or the program ends,
 * the threads end. They block all signals but those of faults. */
int32_t tc_team_parallel_for(const tc_rt *rt, int64_t n, tc_rt_body *body, void *closure);

/* Functions that were bodies of loops are gone: what teams know of their times is of no other that takes their place. */
void tc_team_forget(void);

#endif
