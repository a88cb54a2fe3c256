/* tctune as a library. What the command does, a program can do:
 *
 *   tctune_open      a network or a kernel: its tasks                     work.h
 *   tctune_session_new    a search for fast schedules, watched and stopped     tune.h
 *   tctune_database_open  what was measured: queried, joined, checked          database.h
 *   tctune_schedule_new   one kernel by hand: primitives, stages, times        schedule.h
 *   tctune_show_task      kernels shown, from workload to assembly             show.h
 *   tctune_compare_show   two schedules or records, or another library         compare.h
 *   tctune_explain        why a schedule is as fast as it is, and not faster   explain.h
 *   tctune_build          the network built with the best records, and run     model.h
 *   tctune_bench          what a network, its kernels, or one kernel take       bench.h
 *   tctune_try            a model on inputs from files, compared with outputs  trial.h
 *   tctune_library_describe  what a built library says of itself               library.h
 *   tctune_trace          the course of one run, by thread                     trace.h
 *   tctune_verify_cases   test cases with expected outputs                     cases.h
 *   tctune_page           what a database tells, as a page to look at          page.h
 *   tctune_quantize       an f32 network as a quantised one                    quantize.h
 *   tctune_fleet_serve    machines that measure for others                      fleet.h
 *   tctune_zoo            ready-made networks to try things on                 zoo.h
 *   tctune_machine        what this machine can do, and what hurts there       machine.h
 *
 * base.h says what all of them share. */
#ifndef TCTUNE_TCTUNE_H
#define TCTUNE_TCTUNE_H

#include <tctune/base.h>
#include <tctune/bench.h>
#include <tctune/cases.h>
#include <tctune/compare.h>
#include <tctune/database.h>
#include <tctune/explain.h>
#include <tctune/fleet.h>
#include <tctune/library.h>
#include <tctune/machine.h>
#include <tctune/model.h>
#include <tctune/page.h>
#include <tctune/quantize.h>
#include <tctune/schedule.h>
#include <tctune/show.h>
#include <tctune/trace.h>
#include <tctune/trial.h>
#include <tctune/tune.h>
#include <tctune/work.h>
#include <tctune/zoo.h>

#endif
