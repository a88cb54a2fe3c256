/* What is believed of records that come from elsewhere: what follows from other fields is computed, not read, and what does not fit
 * is refused. */
#ifndef TC_MEASURE_RECORDS_CHECK_H
#define TC_MEASURE_RECORDS_CHECK_H

#include "measure/records/record.h"
#include "support/map.h"
#include "support/status.h"
#include "te/te.h"

/* The numbers of r. r->median is what was stored (INFINITY: nothing); on success it is what the times say. TC_BAD_INPUT says what does
 * not fit. */
TC_NODISCARD tc_status tc_meas_check_numbers(tc_record *r, tc_error *err);
/* Whether its target and trace are what they are stored under. */
TC_NODISCARD tc_status tc_meas_check_texts(const tc_record *r, tc_error *err);
/* That no size of w varies: what is measured has one. */
TC_NODISCARD tc_status tc_meas_check_fixed(const tc_workload *w, tc_error *err);
/* Whether its workload is; those that were found to be are in `known`, which may serve for many records. */
TC_NODISCARD tc_status tc_meas_check_workload(const tc_record *r, tc_map *known, tc_error *err);

#endif
