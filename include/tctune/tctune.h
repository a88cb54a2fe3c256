/* tctune as a library: a program can do everything that the command does. Begin with these functions:
 *
 *   tctune_open           open a network or a kernel: its tasks                    work.h
 *   tctune_session_new    search for fast schedules, watch and stop the search     tune.h
 *   tctune_database_open  query, join and check measured records                   database.h
 *   tctune_schedule_new   schedule one kernel by hand: steps, stages, times        schedule.h
 *   tctune_show_task      show a kernel, from workload to assembly                 show.h
 *   tctune_compare_show   compare two schedules or records, or another library     compare.h
 *   tctune_explain        explain why a schedule is as fast as it is, not faster   explain.h
 *   tctune_build          build the network with the best records, and run it      model.h
 *   tctune_bench          time a network, its kernels, or one kernel               bench.h
 *   tctune_try            run a model on inputs from files, compare its outputs    trial.h
 *   tctune_library_describe  read what a built library says of itself              library.h
 *   tctune_trace          record one run, thread by thread                         trace.h
 *   tctune_verify_cases   run test cases with expected outputs                     cases.h
 *   tctune_page           make a page of what a database holds                     page.h
 *   tctune_quantize       quantise an f32 network                                  quantize.h
 *   tctune_fleet_serve    let machines measure for others                          fleet.h
 *   tctune_zoo            write a ready-made network to try things on              zoo.h
 *   tctune_machine        list what this machine can do, and what disturbs it      machine.h
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
