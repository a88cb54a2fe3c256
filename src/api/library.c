/* Reads the metadata of a built library from its file (include/tctune/library.h). */
#include "api/api_int.h"
#include "graph/saved/saved.h"

static tc_status describe(const char *library, char **json, tc_error *err) {
    json_t *j;
    TC_TRY(tc_graph_describe_library(library, &j, err));
    tc_json_set(j, "library", tc_json_string(library));
    return tc_report_text(j, json, err);
}

tctune_status tctune_library_describe(const char *library, char **json, char *error, size_t error_size) {
    API_DOCUMENT(err, error, error_size, json, describe(library, json, &err));
}
