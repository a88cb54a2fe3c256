/* What is believed of records from elsewhere. Fields that follow from others are computed, not read. A record whose fields
 * contradict each other is refused. */
#ifndef TC_MEASURE_RECORDS_CHECK_H
#define TC_MEASURE_RECORDS_CHECK_H

#include "measure/records/record.h"
#include "support/map.h"
#include "support/status.h"
#include "te/te.h"

/* The numbers of r. r->median is what was stored (INFINITY: nothing); on success it is what the times say. TC_BAD_INPUT says what
 * does not fit. */
TC_NODISCARD tc_status tc_meas_check_numbers(tc_record *r, tc_error *err);
/* Whether its target and trace are what they are stored under. */
TC_NODISCARD tc_status tc_meas_check_texts(const tc_record *r, tc_error *err);
/* Whether these are the sizes of a run of w, of each of its symbols one within its range; in sizes[w->nsymbol]. */
TC_NODISCARD tc_status tc_meas_check_sizes(const tc_workload *w, const char *text, int64_t *sizes, tc_error *err);
/* Whether its workload is, and it was timed at sizes that the workload has; those that were found to be are in `known`, which may
 * serve for many records. */
TC_NODISCARD tc_status tc_meas_check_workload(const tc_record *r, tc_map *known, tc_error *err);

#endif
