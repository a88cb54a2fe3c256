/* Arrays of NumPy, and tensors as ONNX has them; what they are is what they begin with. */
#include <stdlib.h>
#include <string.h>

#include "graph/io/numpy.h"
#include "graph/onnx/data.h"
#include "targets.h"

static void check_tensor(const tc_graph_tensor *t) {
    tc_graph_tensor again;
    tc_error err = {0};
    tc_strbuf b = {0};
    tc_graph_tensor_print_values(&b, t, 8);
    tc_strbuf_free(&b);
    (void)tc_graph_tensor_nonfinite(t);
    tc_graph_npy_format(t, &b);
    if (!fuzz_good(tc_graph_npy_parse("printed.npy", b.data, b.len, &again, &err), &err))
        fuzz_wrong("written, it is refused: %s", err.msg);
    /* Types that NumPy lacks are written as bytes of another. */
    if (tc_graph_tensor_count(t) != tc_graph_tensor_count(&again) ||
        (again.dtype == t->dtype && !tc_graph_tensor_equal(t, &again)))
        fuzz_wrong("read back, it is another one");
    tc_graph_tensor_free(&again);
    tc_strbuf_free(&b);
}

/* The same bytes as a sequence and as optionals. */
static void check_lists(const char *path) {
    for (int kind = TC_GRAPH_DATA_SEQUENCE; kind <= TC_GRAPH_DATA_OPTIONAL_SEQUENCE; kind++) {
        tc_graph_data_port port = {.name = "x", .kind = (tc_graph_data_kind)kind};
        tc_graph_list list;
        tc_graph_bundle items;
        tc_error err = {0};
        if (fuzz_good(tc_graph_pb_load_list(path, &port, &list, &items, &err), &err)) {
            for (size_t i = 0; i < items.len; i++)
                check_tensor(&items.items[i].t);
            tc_graph_bundle_free(&items);
        }
        if (err.msg[0] && !strstr(err.msg, path))
            fuzz_wrong("a refusal that does not name the file: %s", err.msg);
    }
}

void fuzz_read_arrays(const char *data, size_t size) {
    fuzz_file f = fuzz_file_open(data, size);
    tc_graph_bundle all;
    tc_graph_tensor t;
    char *name = NULL;
    tc_error err = {0};
    if (size >= 2 && !memcmp(data, "PK", 2)) {
        if (fuzz_good(tc_graph_npz_load(f.path, &all, &err), &err)) {
            for (size_t i = 0; i < all.len; i++)
                check_tensor(&all.items[i].t);
            tc_graph_bundle_free(&all);
        }
    } else {
        bool numpy = size >= 6 && !memcmp(data, "\x93NUMPY", 6);
        tc_status s = numpy ? tc_graph_npy_load(f.path, &t, &err) : tc_graph_pb_load(f.path, &t, &name, &err);
        if (fuzz_good(s, &err)) {
            check_tensor(&t);
            tc_graph_tensor_free(&t);
        }
        free(name);
        if (!numpy)
            check_lists(f.path);
    }
    if (err.msg[0] && !strstr(err.msg, f.path))
        fuzz_wrong("a refusal that does not name the file: %s", err.msg);
    fuzz_file_close(&f);
}
