/* Reads the metadata of a built library from its file (include/tctune/library.h). */
#include "codegen/artefacts/library.h"

#include "api/api_int.h"
#include "measure/records/json_text.h"

static tc_status describe(const char *library, char **json, tc_error *err) {
    char *text;
    TC_TRY(tc_cg_read_metadata(library, &text, err));
    json_t *j = tc_meas_json_read(text, 0, NULL);
    free(text);
    if (!json_is_object(j)) {
        json_decref(j);
        return tc_cg_not_a_library(library, "its metadata are damaged", err);
    }
    json_object_set_new(j, "library", json_string(library));
    return tc_report_text(j, json, err);
}

tctune_status tctune_library_describe(const char *library, char **json, char *error, size_t error_size) {
    API_DOCUMENT(err, error, error_size, json, describe(library, json, &err));
}
