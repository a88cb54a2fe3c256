/* What the tests of sizes that vary share. Before it, SIZES_MODEL names the scratch file of the including program. */
#ifndef TC_TESTS_SIZES_COMMON_H
#define TC_TESTS_SIZES_COMMON_H

#include "graph/graph_test.h"
#include "graph/ir/sizes.h"
#include "graph/onnx/import.h"

static inline tc_graph_binding range(const char *name, int64_t least, int64_t most, int64_t multiple) {
    return (tc_graph_binding){name, 1, {{least, most, multiple}}};
}

/* The sizes that a symbol of g has, and whether these are import's. */
static inline void expect_symbol(const tc_graph *g, const char *name, int64_t least, int64_t most, bool assumed) {
    const tc_graph_symbol *s = NULL;
    for (size_t i = 0; i < g->symbols.len; i++)
        if (strcmp(g->symbols.data[i].name, name) == 0)
            s = &g->symbols.data[i];
    assert_non_null(s);
    assert_int_equal(s->least, least);
    assert_int_equal(s->most, most);
    assert_int_equal(s->assumed, assumed);
}

static inline void expect_made_of(const tc_graph *g, const char *name, const char *want) {
    tc_strbuf b = {0};
    const tc_graph_size_symbol *y = tc_graph_sizes_symbol(g->sizes, name);
    assert_non_null(y);
    tc_graph_sizes_print(&b, y->is);
    assert_string_equal(tc_sb_str(&b), want);
    tc_strbuf_free(&b);
}

static inline tc_graph *import_ok(tc_graph_writer *w, const tc_graph_binding *dims, size_t n) {
    tc_graph *g;
    assert_ok(import_model(w, SCRATCH(SIZES_MODEL), &(tc_graph_import_options){.shapes = dims, .nshapes = n}, &g, err));
    assert_ok(tc_graph_verify(g, err));
    return g;
}

#define assert_not_imported(writer, dims, n, ...)                                                                                \
    do {                                                                                                                         \
        tc_graph *none_;                                                                                                         \
        tc_graph_import_options o_ = {.shapes = (dims), .nshapes = (n)};                                                         \
        assert_fails(TC_BAD_INPUT, import_model((writer), SCRATCH(SIZES_MODEL), &o_, &none_, err), __VA_ARGS__);                 \
    } while (0)

/* 0, 1, 2, ... */
static inline tc_graph_tensor counted(tc_graph_shape shape) {
    enum { ROOM = 4096 };
    static float numbers[ROOM];
    for (int i = 0; i < ROOM; i++)
        numbers[i] = (float)i;
    assert_true(tc_graph_shape_count(&shape) <= ROOM);
    return tc_graph_tensor_view(TC_F32, &shape, numbers);
}

#endif
