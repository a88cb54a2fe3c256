/* What is believed of records from elsewhere. Fields that follow from others are computed, not read. A record whose fields
 * contradict each other is refused. */
#ifndef TC_MEASURE_RECORDS_CHECK_H
#define TC_MEASURE_RECORDS_CHECK_H

#include "codegen/target/target.h"
#include "measure/records/record.h"
#include "support/map.h"
#include "support/status.h"
#include "te/te.h"
#include "tir_lower/program/program.h"

/* The numbers of r. r->median is what was stored (INFINITY: nothing); on success it is what the times say. TC_BAD_INPUT says what
 * does not fit. */
TC_NODISCARD tc_status tc_meas_check_numbers(tc_record *r, tc_error *err);
/* Whether its target and trace are what they are stored under. */
TC_NODISCARD tc_status tc_meas_check_texts(const tc_record *r, tc_error *err);
/* Whether these are the sizes of a run of w, of each of its symbols one within its range; in sizes[w->nsymbol]. */
TC_NODISCARD tc_status tc_meas_check_sizes(const tc_workload *w, const char *text, int64_t *sizes, tc_error *err);
/* Whether its workload is, and it was timed at sizes that the workload has, in a time that is possible; workloads that were found to
 * be are in `known`, which may serve for many records. */
TC_NODISCARD tc_status tc_meas_check_workload(const tc_record *r, tc_map *known, tc_error *err);
/* Multiply-adds of f32, 2 operations each, that a record of w took its time for at least: as many of a unit's as this gains. 0: not
 * known. */
double tc_meas_work(const tc_workload *w);
/* Whether the record's time allows so many, on a processor that no machine has: 128 bytes of operands in each of 6e9 cycles a second,
 * on each thread. The code of the failure is IMPOSSIBLE. Computed times are of no processor. */
TC_NODISCARD tc_status tc_meas_check_time(const tc_record *r, double work, tc_error *err);
/* The failure is one for which a record is left out, and others of its file are not. */
bool tc_meas_is_left_out(tc_status s, const tc_error *why);
/* Records that were left out because they are beyond a bound, or have an impossible time, and what the message says of them. */
typedef struct tc_meas_left_out {
    size_t n;
    tc_strbuf where; /* "3, 7, ..": the first of them */
    tc_error first;  /* why the first is one */
} tc_meas_left_out;
/* `why`: the failure of the record that `where` names. */
void tc_meas_leave_out(tc_meas_left_out *l, const char *where, const tc_error *why);
/* TC_OK when none was. Else the message names them; `what`: what `where` counts ("lines"); remedy: what to type or do. Frees l's
 * texts. */
tc_status tc_meas_tell_left_out(tc_meas_left_out *l, const char *what, size_t added, const char *remedy, tc_error *err);
/* Whether its trace is within the bounds of schedules (inputs.def); the code of the failure is BEYOND. Whether the trace applies
 * otherwise it does not say: another version may understand it. Its workload is one. */
TC_NODISCARD tc_status tc_meas_check_bounds(const tc_record *r, tc_error *err);
/* Makes the program of r's trace, with its hash where there is a target. *made false: r is a candidate that was refused; its trace
 * parses, and need not apply. */
TC_NODISCARD tc_status tc_meas_replay(tc_ctx *ctx, const tc_record *r, const tc_workload *w, const tc_target *target,
                                      tc_tir_program *out, bool *made, tc_error *err);

#endif
