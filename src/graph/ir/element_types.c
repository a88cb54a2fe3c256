/* ONNX element type codes (TensorProto.DataType). The table includes types that are newer than the schema of our build. */
#include "graph/ir/build.h"

static const struct {
    const char *name;
    int dtype; /* -1: not supported */
} onnx_types[] = {
    {"UNDEFINED", -1},
    {"FLOAT", TC_F32},
    {"UINT8", TC_U8},
    {"INT8", TC_I8},
    {"UINT16", TC_U16},
    {"INT16", TC_I16},
    {"INT32", TC_I32},
    {"INT64", TC_I64},
    {"STRING", -1},
    {"BOOL", TC_BOOL},
    {"FLOAT16", TC_F16},
    {"DOUBLE", TC_F64},
    {"UINT32", TC_U32},
    {"UINT64", TC_U64},
    {"COMPLEX64", -1},
    {"COMPLEX128", -1},
    {"BFLOAT16", TC_BF16},
    {"FLOAT8E4M3FN", TC_F8E4M3FN},
    {"FLOAT8E4M3FNUZ", TC_F8E4M3FNUZ},
    {"FLOAT8E5M2", TC_F8E5M2},
    {"FLOAT8E5M2FNUZ", TC_F8E5M2FNUZ},
    {"UINT4", TC_U4},
    {"INT4", TC_I4},
    {"FLOAT4E2M1", TC_F4E2M1},
    {"FLOAT8E8M0", TC_F8E8M0},
    {"UINT2", -1},
    {"INT2", -1},
};

bool tc_graph_dtype_of_onnx(int64_t code, tc_dtype *out) {
    if (code < 0 || code >= (int64_t)TC_LEN(onnx_types) || onnx_types[code].dtype < 0)
        return false;
    *out = (tc_dtype)onnx_types[code].dtype;
    return true;
}

int tc_graph_dtype_to_onnx(tc_dtype t) {
    for (size_t i = 0; i < TC_LEN(onnx_types); i++)
        if (onnx_types[i].dtype == (int)t)
            return (int)i;
    return 0;
}

const char *tc_graph_onnx_type_name(int64_t code) {
    return code >= 0 && code < (int64_t)TC_LEN(onnx_types) ? onnx_types[code].name : "unknown";
}
