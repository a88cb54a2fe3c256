/* The ONNX project's conformance cases in ../shared/onnx, for the tests that run them. */
#ifndef TC_TESTS_CONFORMANCE_H
#define TC_TESTS_CONFORMANCE_H

#include <dirent.h>
#include <unistd.h>

#include "graph_test.h"
#include "support/fs.h"

#define CASES TCTUNE_SOURCE_DIR "/../shared/onnx/"
enum { MAX_TENSORS = 32, ALL_CASES = 802 /* the other five are whole networks */ };

typedef struct data_set {
    tc_graph_named in[MAX_TENSORS], out[MAX_TENSORS];
    size_t nin, nout;
} data_set;

static inline size_t load_all(const char *dir, const char *kind, tc_graph_named *items) {
    size_t n = 0;
    for (; n < MAX_TENSORS; n++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/test_data_set_0/%s_%zu.pb", dir, kind, n);
        if (access(path, R_OK) != 0 || tc_graph_pb_load(path, &items[n].t, &items[n].name, NULL) != TC_OK)
            break;
    }
    return n;
}

static inline void free_all(tc_graph_named *items, size_t n) {
    for (size_t i = 0; i < n; i++) {
        free(items[i].name);
        tc_graph_tensor_free(&items[i].t);
    }
}

/* Cases feed axes and shapes as inputs: where import asks for constants, the integer inputs after the first are given as such. */
static inline tc_status import_case(const char *path, const data_set *d, tc_graph **g, tc_error *err) {
    tc_graph_named constants[MAX_TENSORS];
    size_t n = 0;
    tc_status s = tc_graph_import(path, NULL, g, err);
    if (s == TC_OK || !strstr(err->msg, "when the model is imported"))
        return s;
    for (size_t i = 1; i < d->nin; i++)
        if (tc_dtype_is_int(d->in[i].t.dtype))
            constants[n++] = d->in[i];
    s = tc_graph_import(path, &(tc_graph_import_options){.constants = constants, .nconstants = n}, g, err);
    if (s == TC_OK)
        return s;
    return tc_graph_import(path, &(tc_graph_import_options){.constants = d->in, .nconstants = d->nin}, g, err);
}

/* Calls run_case(user, dir) for every case whose name has the word `only` (NULL: for all); false when the cases are not there. */
static inline bool each_case(const char *only, void (*run_case)(void *user, const char *dir), void *user) {
    static const char *const folders[] = {"node", "simple", "pytorch-operator", "pytorch-converted"};
    if (!tc_fs_is_dir(CASES "node")) {
        print_message("skipped: ../shared is not there (%s)\n", CASES);
        return false;
    }
    for (size_t i = 0; i < TC_LEN(folders); i++) {
        char path[1024], dir[2048];
        snprintf(path, sizeof path, CASES "%s", folders[i]);
        DIR *d = opendir(path);
        assert_non_null(d);
        for (struct dirent *e; (e = readdir(d));)
            if (strncmp(e->d_name, "test_", 5) == 0 && (!only || strstr(e->d_name, only))) {
                snprintf(dir, sizeof dir, "%s/%s", path, e->d_name);
                run_case(user, dir);
            }
        closedir(d);
    }
    return true;
}

#endif
