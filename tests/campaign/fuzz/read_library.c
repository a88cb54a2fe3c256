/* ELF files: what a library says of itself, as loading and `show` read it, and the names of an object. */
#include <stdlib.h>
#include <string.h>

#include "cli/print.h"
#include "codegen/artefacts/artefacts_int.h"
#include "graph/saved/save_int.h"
#include "targets.h"

static void rename_twice(const char *data, size_t size) {
    static const char *const names[] = {"tctune_kernel", "first", "tctune_kernel"};
    void *object = fuzz_text(data, size);
    tc_error err = {0};
    if (fuzz_good(tc_cg_rename_symbol(&object, &size, names[0], names[1], &err), &err) &&
        tc_cg_rename_symbol(&object, &size, names[1], names[2], &err) != TC_OK)
        fuzz_wrong("a name that was given is not found: %s", err.msg);
    free(object);
}

tc_graph_model *fuzz_load_library(const char *path) {
    tc_arena *a = tc_arena_new();
    tc_graph_model *m = TC_NEW(a, tc_graph_model);
    const char *name, *text;
    tc_error err = {0};
    *m = (tc_graph_model){.arena = a};
    bool good = fuzz_good(tc_graph_read_library(m, path, &name, &text, &err), &err) &&
                fuzz_good(tc_target_parse(text, &m->target, &err), &err);
    if (err.msg[0] && !strstr(err.msg, path) && !strstr(err.msg, "target"))
        fuzz_wrong("a refusal that does not name the file: %s", err.msg);
    if (tc_cli_show_library(path, false, &err) == TC_CLI_FAILED)
        (void)fuzz_good(TC_BAD_INPUT, &err);
    if (good)
        return m;
    tc_graph_model_free(m);
    return NULL;
}

void fuzz_read_library(const char *data, size_t size) {
    fuzz_file f = fuzz_file_open(data, size);
    tc_graph_model_free(fuzz_load_library(f.path));
    rename_twice(data, size);
    fuzz_file_close(&f);
}
