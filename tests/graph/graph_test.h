/* What the tests of src/graph share: assertions on statuses and messages, and building models in scratch files. */
#ifndef TC_TESTS_GRAPH_TEST_H
#define TC_TESTS_GRAPH_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/test_size.h"
#include "graph/ir/graph.h"
#include "graph/onnx/import.h"
#include "graph/onnx/write.h"
#include "support/cmocka_all.h"

/* The call succeeds, or the test fails with its message. Uses a tc_error of its own named `e_`. */
#define assert_ok(call_with_err)                                                                                                 \
    do {                                                                                                                         \
        tc_error e_ = {0}, *err = &e_;                                                                                           \
        if ((call_with_err) != TC_OK)                                                                                            \
            fail_msg("%s: %s", #call_with_err, e_.msg);                                                                          \
    } while (0)

/* The call fails with this status, and its message contains every given text. */
#define assert_fails(status, call_with_err, ...)                                                                                 \
    do {                                                                                                                         \
        tc_error e_ = {0}, *err = &e_;                                                                                           \
        assert_int_equal((call_with_err), status);                                                                               \
        const char *wanted_[] = {__VA_ARGS__};                                                                                   \
        for (size_t i_ = 0; i_ < sizeof wanted_ / sizeof wanted_[0]; i_++)                                                       \
            if (!strstr(e_.msg, wanted_[i_]))                                                                                    \
                fail_msg("message without '%s': %s", wanted_[i_], e_.msg);                                                       \
    } while (0)

#define SCRATCH(name) TCTUNE_TEST_TMP "/" name

/* Gives the node written last the attributes "axis:i=1 perm:I=0,2,1 mode:s=edge alpha:f=0.5". */
static inline void set_attrs(tc_graph_writer *w, const char *text) {
    char *copy = strdup(text), *save = NULL;
    for (char *p = strtok_r(copy, " ", &save); p; p = strtok_r(NULL, " ", &save)) {
        char *kind = strchr(p, ':'), *value = strchr(p, '=') + 1;
        *kind = 0;
        switch (kind[1]) {
        case 'i':
            tc_graph_writer_int(w, p, atoll(value));
            break;
        case 'f':
            tc_graph_writer_float(w, p, strtof(value, NULL));
            break;
        case 's':
            tc_graph_writer_str(w, p, value);
            break;
        default:
            tc_graph_writer_ints(w, p, value);
            break;
        }
    }
    free(copy);
}

/* Saves the writer's model, frees it, imports the file. */
static inline tc_status import_model(tc_graph_writer *w, const char *path, const tc_graph_import_options *opts, tc_graph **g,
                                     tc_error *err) {
    tc_status s = tc_graph_writer_save(w, path, err);
    tc_graph_writer_free(w);
    return s == TC_OK ? tc_graph_import(path, opts, g, err) : s;
}

static inline tc_graph_tensor f32_tensor(tc_graph_shape shape, const float *v) {
    return tc_graph_tensor_view(TC_F32, &shape, (void *)(uintptr_t)v);
}

static inline tc_graph_tensor i64_tensor(tc_graph_shape shape, const int64_t *v) {
    return tc_graph_tensor_view(TC_I64, &shape, (void *)(uintptr_t)v);
}

#define F32(shape, ...) f32_tensor((tc_graph_shape)shape, (const float[]){__VA_ARGS__})
#define I64(shape, ...) i64_tensor((tc_graph_shape)shape, (const int64_t[]){__VA_ARGS__})
#define DIMS(...)                                                                                                                \
    {                                                                                                                            \
        sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), {                                                              \
            __VA_ARGS__                                                                                                          \
        }                                                                                                                        \
    }
/* What --shape says of an input (graph/onnx/import.h). */
#define FIXED(name, ...) tc_graph_binding_fixed(name, &(tc_graph_shape)DIMS(__VA_ARGS__))
#define SCALAR                                                                                                                   \
    { 0 }

#endif
