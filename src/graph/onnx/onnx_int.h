/* The only header that shows generated protobuf code; seen by the ONNX readers and writers of this folder alone. */
#ifndef TC_GRAPH_ONNX_ONNX_INT_H
#define TC_GRAPH_ONNX_ONNX_INT_H

#include "graph/ir/build.h"
#include "graph/onnx/source.h"
#include "onnx/onnx.pb-c.h"

/* A model as it stands in the file (file.c), with a graph: in `arena`, or, where that is NULL, to be freed by
 * onnx__model_proto__free_unpacked with the default allocator. TC_BAD_INPUT says what is wrong with the file. */
TC_NODISCARD tc_status tc_onnx_read_model(const char *path, tc_arena *arena, Onnx__ModelProto **out, tc_error *err);

/* The same without weights: large raw data of tensors are not read. */
TC_NODISCARD tc_status tc_onnx_read_outline(const char *path, tc_arena *arena, Onnx__ModelProto **out, tc_error *err);

/* The same as tc_onnx_read_model, of bytes in memory, which nothing points into afterwards. `name` is for messages. */
TC_NODISCARD tc_status tc_onnx_read_bytes(const void *bytes, size_t size, const char *name, tc_arena *arena,
                                          Onnx__ModelProto **out, tc_error *err);

/* Converts a TensorProto. Elements of 4 bits, two to a byte in the file, get a byte each. Raw bytes are taken out of `p` instead
 * of copied when `steal` (p's allocator must be malloc). `dir` is where external data may lie, the model's folder; NULL: nowhere.
 * The message of a failure starts with the tensor's name. */
TC_NODISCARD tc_status tc_onnx_read_tensor(Onnx__TensorProto *p, const char *dir, bool steal, tc_graph_tensor *out,
                                           tc_error *err);
/* p's fields point into t, name and the arena, which gets elements of 4 bits packed: p needs no freeing. */
void tc_onnx_fill_tensor(tc_arena *a, Onnx__TensorProto *p, const char *name, const tc_graph_tensor *t);

/* What a graph says of an input or output, in the arena; shape NULL: nothing of its shape. */
Onnx__ValueInfoProto *tc_onnx_value_info(tc_arena *a, const char *name, tc_dtype t, Onnx__TensorShapeProto *shape);

/* A part of a file that holds a tensor's elements. */
typedef struct tc_onnx_piece {
    size_t at, size;
} tc_onnx_piece;
typedef TC_VEC(tc_onnx_piece) tc_onnx_pieces;

/* The number of the field, of 64 bits, that stands in a tensor for its elements: the index of their piece. Fields of a file that
 * have it are ignored. */
enum { TC_ONNX_PIECE = (1 << 29) - 1 };

/* Takes a message apart (wire.c), in the allocator's memory (NULL: malloc's); nesting is bounded. Large elements of a file are
 * not read but listed in `left_out`, which is NULL for what is in memory. Where it fails, *out is NULL and the message says what
 * is wrong: empty, truncated at which field, nested too deep, or not protobuf; what was wrong with the file, `from` knows. */
TC_NODISCARD tc_status tc_onnx_unpack(const ProtobufCMessageDescriptor *type, ProtobufCAllocator *allocator, tc_onnx_source *from,
                                      tc_onnx_pieces *left_out, ProtobufCMessage **out, tc_error *err);

#endif
