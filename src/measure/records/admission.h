/* Which programs may run outside a worker: those that this build ran on this machine, in a worker, and found right. A database
 * remembers them. Its entries are sealed with a key that leaves neither the user nor the machine (support/system/identity.h),
 * so no file from elsewhere can admit a program. */
#ifndef TC_MEASURE_RECORDS_ADMISSION_H
#define TC_MEASURE_RECORDS_ADMISSION_H

#include "measure/records/database.h"

/* All that a program follows from, but the build. */
typedef struct tc_meas_program {
    const char *workload, *target, *trace; /* texts; the workload's as the process that asks has it, not as a record says */
    int threads;
    uint64_t hash; /* tc_tir_hash: what a failure of any record of it takes back */
} tc_meas_program;

TC_NODISCARD tc_status tc_meas_db_is_admitted(tc_meas_db *db, const tc_meas_program *p, bool *is, tc_error *err);
/* p was run in a worker by this build, on this machine, just now, and was right. Written to the file even where db only reads it;
 * where that fails, this handle knows all the same. */
TC_NODISCARD tc_status tc_meas_db_admit(tc_meas_db *db, const tc_meas_program *p, size_t n, tc_error *err);
/* tc_meas_db_insert of records that were measured by this process's workers: programs that were right are admitted with them, but
 * for those measured elsewhere. */
TC_NODISCARD tc_status tc_meas_db_insert_measured(tc_meas_db *db, tc_record *records, size_t n, tc_error *err);

#endif
