/* src/graph/io owns NumPy's files (.npy, .npz) as tensors, read and written. Not here: ONNX's files (src/graph/onnx). */
#ifndef TC_GRAPH_IO_NUMPY_H
#define TC_GRAPH_IO_NUMPY_H

#include "graph/ir/tensor.h"

TC_NODISCARD tc_status tc_graph_npy_load(const char *path, tc_graph_tensor *out, tc_error *err);
TC_NODISCARD tc_status tc_graph_npy_save(const char *path, const tc_graph_tensor *t, tc_error *err);
/* `file` only names the source in messages. */
TC_NODISCARD tc_status tc_graph_npy_parse(const char *file, const void *data, size_t size, tc_graph_tensor *out, tc_error *err);
void tc_graph_npy_format(const tc_graph_tensor *t, tc_strbuf *out);
TC_NODISCARD tc_status tc_graph_npz_load(const char *path, tc_graph_bundle *out, tc_error *err);
/* Atomic: the old file or the complete new one. */
TC_NODISCARD tc_status tc_graph_npz_save(const char *path, const tc_graph_named *items, size_t len, tc_error *err);

#endif
