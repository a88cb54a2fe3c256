/* What all documents have in common. */
#include <math.h>
#include <stdlib.h>

#include "measure/records/json_text.h"
#include "report/report.h"

void tc_report_begin(void) {
    tc_meas_json_begin();
}

tc_status tc_report_text(json_t *j, char **out, tc_error *err) {
    *out = json_dumps(j, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(j);
    return *out ? TC_OK : tc_fail(err, TC_ENV, "there is no memory for the report");
}

json_t *tc_report_real(double v) {
    return isfinite(v) ? json_real(v) : json_null();
}
