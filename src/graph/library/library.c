/* The table of library kernels, and their code as an object and as source. */
#include "graph/library/library.h"

#include <assert.h>
#include <string.h>

/* ---- what a kernel is told of a node ---- */

static int64_t kind_of(tc_dtype t) {
    return t == TC_BF16                            ? TC_LIB_BFLOAT
           : tc_dtype_is_float(t)                  ? TC_LIB_FLOAT
           : t != TC_BOOL && tc_dtype_is_signed(t) ? TC_LIB_SIGNED
                                                   : TC_LIB_UNSIGNED;
}

static void tell_type(const tc_graph_value *v, tc_lib_type *to) {
    *to = (tc_lib_type){.kind = kind_of(v->dtype), .bytes = tc_dtype_bytes(v->dtype), .rank = v->shape.ndim};
    memcpy(to->dims, v->shape.d, (size_t)v->shape.ndim * sizeof *v->shape.d);
    for (int d = 0; d < v->shape.ndim && v->extent; d++)
        to->varies |= (int64_t)(v->extent[d] != NULL) << d;
}

static int64_t attr_as_number(const tc_graph_node *n, tc_graph_attr_id id) {
    const tc_graph_attr *a = tc_graph_attr_find(n, id), *v = a ? a : tc_graph_attr_otherwise(id);
    int64_t bits;
    memcpy(&bits, &v->f, sizeof bits);
    switch (tc_graph_attr_kind_of(id)) {
    case TC_GRAPH_ATTR_INT:
        return v->i;
    case TC_GRAPH_ATTR_FLOAT:
        return bits;
    case TC_GRAPH_ATTR_STRING:
        return tc_lib_letters(v->s);
    case TC_GRAPH_ATTR_INTS:
    case TC_GRAPH_ATTR_FLOATS:
    case TC_GRAPH_ATTR_TENSOR:
        break;
    }
    assert(!"a kernel is told no lists");
    return 0;
}

tc_lib_params *tc_graph_library_params(tc_arena *a, const tc_graph_node *n, size_t *size) {
    const uint8_t *id = tc_graph_op_info_of(n->op)->attrs;
    *size = sizeof(tc_lib_params) + (size_t)(n->nin + n->nout) * sizeof(tc_lib_type);
    tc_lib_params *p = tc_arena_alloc(a, *size);
    static_assert((int)TC_LIB_DIMS == (int)TC_GRAPH_MAX_DIMS, "a kernel is told all dimensions");
    for (int i = 0; id[i]; i++) {
        assert(i < TC_LIB_ATTRS);
        p->attr[i] = attr_as_number(n, id[i]);
    }
    for (int k = 0; k < n->nin; k++)
        tell_type(n->in[k], &p->type[k]);
    for (int k = 0; k < n->nout; k++)
        tell_type(n->out[k], &p->type[n->nin + k]);
    return p;
}

/* ---- the table ---- */

int64_t tc_lib_none_workspace(const tc_lib_params *p, int32_t nthreads) {
    (void)p;
    (void)nthreads;
    return 0;
}

const tc_graph_library_kernel *tc_graph_library_of(tc_graph_op op) {
    static const tc_graph_library_kernel kernels[TC_GRAPH_OP_COUNT] = {
#define OP(...)
#define KERNEL_OP(id, name, since, min_in, max_in, min_out, max_out, traits, infer, eval, at, rewrite, kernel, room, ...)        \
    [TC_GRAPH_OP_##id] = {name, "tc_lib_" #kernel, tc_lib_##kernel, tc_lib_##room##_workspace},
#include "graph/ir/ops.def"
#undef OP
    };
    return kernels[op].run ? &kernels[op] : NULL;
}

const tc_graph_library_kernel *tc_graph_library_row(void) {
    static const tc_graph_library_kernel row = {"Loop", "tc_lib_row", tc_lib_row, tc_lib_none_workspace};
    return &row;
}

/* ---- their code ---- */

__asm__(".pushsection .rodata\n"
        ".balign 64\n"
        "tc_graph_library_begin: .incbin \"" TCTUNE_LIBRARY_OBJECT "\"\n"
        "tc_graph_library_end: .byte 0\n"
        "tc_graph_library_text_begin: .incbin \"" TCTUNE_LIBRARY_SOURCE "\"\n"
        "tc_graph_library_text_end: .byte 0\n"
        ".popsection\n");

extern const char tc_graph_library_begin[] __attribute__((visibility("hidden")));
extern const char tc_graph_library_end[] __attribute__((visibility("hidden")));
extern const char tc_graph_library_text_begin[] __attribute__((visibility("hidden")));
extern const char tc_graph_library_text_end[] __attribute__((visibility("hidden")));

void tc_graph_library_text(const char **text, size_t *size) {
    *text = tc_graph_library_text_begin;
    *size = (size_t)(tc_graph_library_text_end - tc_graph_library_text_begin);
}

void tc_graph_library_object(const void **bytes, size_t *size) {
    *bytes = tc_graph_library_begin;
    *size = (size_t)(tc_graph_library_end - tc_graph_library_begin);
}
