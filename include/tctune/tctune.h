/* tctune as a library. What the command does, a program can do:
 *
 *   tctune_work_open      a network or a kernel: its tasks                     work.h
 *   tctune_session_new    a search for fast schedules, watched and stopped     tune.h
 *   tctune_database_open  what was measured: queried, joined, checked          database.h
 *   tctune_schedule_new   one kernel by hand: primitives, stages, times        schedule.h
 *   tctune_build          the network built with the best records, and run     model.h
 *
 * base.h says what all of them share. */
#ifndef TCTUNE_TCTUNE_H
#define TCTUNE_TCTUNE_H

#include <tctune/base.h>
#include <tctune/database.h>
#include <tctune/model.h>
#include <tctune/schedule.h>
#include <tctune/tune.h>
#include <tctune/work.h>

#endif
