/* Writes ready-made networks (include/tctune/zoo.h). */
#include "graph/zoo/zoo.h"

#include <string.h>

#include "api/api_int.h"
#include "support/guess.h"
#include "support/system/fs.h"

const char *const *tctune_zoo_names(void) {
    return tc_graph_zoo_names();
}

static tc_status check(const char *name, tc_error *err) {
    char text[TC_GUESS_TEXT];
    tc_guess g = tc_guess_new(name, strlen(name));
    for (const char *const *n = tc_graph_zoo_names(); *n; n++) {
        if (strcmp(*n, name) == 0)
            return TC_OK;
        tc_guess_add(&g, *n);
    }
    return tc_fail(err, TC_BAD_INPUT, "there is no network '%s'%s", name, tc_guess_say(&g, "", "`tctune zoo` lists them", text));
}

static tc_status write_network(const char *name, const char *file, tc_error *err) {
    TC_TRY(check(name, err));
    TC_TRY(tc_fs_check_writable(file, err));
    return tc_graph_zoo(name, file, err);
}

tctune_status tctune_zoo(const char *name, const char *file, char *error, size_t error_size) {
    API_CALL(err, error, error_size, write_network(name, file, &err), (void)0);
}
