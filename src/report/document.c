/* The parts that all documents have in common. */
#include "report/report.h"

tc_status tc_report_text(json_t *j, char **out, tc_error *err) {
    *out = tc_json_text(j, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(j);
    return *out ? TC_OK : tc_fail(err, TC_ENV, "there is no memory for the report");
}

json_t *tc_report_names(int n, const char *const *name) {
    json_t *list = tc_json_array();
    for (int i = 0; i < n; i++)
        tc_json_append(list, tc_json_string(name[i]));
    return list;
}
