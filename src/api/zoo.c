/* Ready-made networks (include/tctune/zoo.h). */
#include "graph/zoo/zoo.h"

#include <string.h>

#include "api/api_int.h"
#include "support/system/fs.h"

const char *const *tctune_zoo_names(void) {
    return tc_graph_zoo_names();
}

static tc_status check(const char *name, tc_error *err) {
    tc_strbuf known = {0};
    tc_status s = TC_BAD_INPUT;
    for (const char *const *n = tc_graph_zoo_names(); *n && s != TC_OK; n++) {
        tc_sb_printf(&known, "%s%s", known.len ? ", " : "", *n);
        s = strcmp(*n, name) == 0 ? TC_OK : s;
    }
    if (s != TC_OK)
        tc_fail(err, s, "there is no network '%s'; there are %s", name, tc_sb_str(&known));
    tc_strbuf_free(&known);
    return s;
}

static tc_status write_network(const char *name, const char *file, tc_error *err) {
    TC_TRY(check(name, err));
    TC_TRY(tc_fs_check_writable(file, err));
    return tc_graph_zoo(name, file, err);
}

tctune_status tctune_zoo(const char *name, const char *file, char *error, size_t error_size) {
    API_CALL(err, error, error_size, write_network(name, file, &err), (void)0);
}
