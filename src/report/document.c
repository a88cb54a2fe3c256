/* The parts that all documents have in common. */
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

json_t *tc_report_string(const char *text) {
    json_t *j = json_string(text);
    if (j)
        return j;
    tc_strbuf b = {0};
    for (const char *p = text; *p; p++)
        tc_sb_addc(&b, (unsigned char)*p < 0x80 ? *p : '?');
    j = json_string(tc_sb_str(&b));
    tc_strbuf_free(&b);
    return j;
}

json_t *tc_report_names(int n, const char *const *name) {
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(list, tc_report_string(name[i]));
    return list;
}
