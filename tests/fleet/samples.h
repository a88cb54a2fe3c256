/* A job and a result that tests send about. */
#ifndef TC_TESTS_FLEET_SAMPLES_H
#define TC_TESTS_FLEET_SAMPLES_H

#include <string.h>

#include "fleet/message.h"

static inline tc_fleet_job sample_job(tc_meas_input in[2]) {
    in[0] = (tc_meas_input){.workload = "tensor A[4] f32\n", .trace = "", .best = 1e-3, .samples = 5};
    in[1] = (tc_meas_input){.workload = "tensor B[4] f32\n", .trace = "split \"x\" 4\n", .cold = true, .sizes = "17,3"};
    static const char *const barred[] = {"board-7"};
    return (tc_fleet_job){.id = "j1",
                          .barred = barred,
                          .nbarred = 1,
                          .asked = 2,
                          .wanted = 12.5,
                          .tuner = "desk-1",
                          .measure = {.target = "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=znver4",
                                      .threads = 2,
                                      .mode = TC_MEAS_SIMULATED,
                                      .seed = UINT64_MAX,
                                      .samples = 7,
                                      .build_limit = 15,
                                      .run_limit = 10,
                                      .prepare_limit = 120,
                                      .min_sample = 0.002,
                                      .budget = 0.5,
                                      .early_stop = -1},
                          .call = {.way = TC_MEAS_WAY_TURNS, .in = in, .n = 2, .rounds = 3}};
}

static inline tc_fleet_result sample_result(tc_record r[2]) {
    static const double times[] = {1e-3, 2e-3, 3e-3};
    static double seconds[] = {1e-3, 2e-3};
    r[0] = r[1] = tc_meas_record_empty();
    r[0].program = 0xfedcba9876543210;
    r[0].times = times;
    r[0].ntimes = 3;
    r[0].verified = true;
    r[0].max_error = 0.25;
    r[1].error = TC_MEAS_RUN_CRASH;
    r[1].message = "killed by signal 11";
    r[1].signal = 11;
    return (tc_fleet_result){.id = "j1",
                             .worker = "board-3",
                             .host = "b3.lab",
                             .refused = "",
                             .record = r,
                             .n = 2,
                             .seconds = seconds,
                             .done = 1,
                             .slowdown = 1.5,
                             .reference = 0.25,
                             .references = 7};
}

#endif
