/* Writing ONNX models: a small builder. Lists of names and dimensions are written as text, separated by commas, so that a network
 * reads like one: tc_graph_writer_node(w, "Gemm", "fc1", "x,w1,b1", "h1"). Order of calls is the order in the file; nothing is
 * checked, so that tests can write broken models too. */
#ifndef TC_GRAPH_ONNX_WRITE_H
#define TC_GRAPH_ONNX_WRITE_H

#include "graph/ir/tensor.h"

typedef struct tc_graph_writer tc_graph_writer;

tc_graph_writer *tc_graph_writer_new(const char *graph_name, int opset);
void tc_graph_writer_free(tc_graph_writer *w);
void tc_graph_writer_versions(tc_graph_writer *w, int64_t ir, int64_t opset); /* the default is IR 8 */

/* dims "1,128"; what is not a number is a symbolic dimension ("batch,128"); "" is a scalar, NULL no shape at all. */
void tc_graph_writer_input(tc_graph_writer *w, const char *name, tc_dtype dtype, const char *dims);
void tc_graph_writer_output(tc_graph_writer *w, const char *name, tc_dtype dtype, const char *dims);
/* An initializer; OWNED storage is taken over, a VIEW is copied. */
void tc_graph_writer_weight(tc_graph_writer *w, const char *name, tc_graph_tensor t);
/* An initializer by its parts: ONNX type code, dims and raw bytes (copied), matching or not. */
void tc_graph_writer_raw(tc_graph_writer *w, const char *name, int onnx_type, const int64_t *dims, int ndim, const void *bytes,
                         size_t size);
/* An initializer whose bytes lie in a file beside the model; length < 0 leaves it out. */
void tc_graph_writer_external(tc_graph_writer *w, const char *name, tc_dtype dtype, const char *dims, const char *location,
                              int64_t offset, int64_t length);

/* inputs "a,,c" leaves out the second. The attribute calls apply to the node written last. */
void tc_graph_writer_node(tc_graph_writer *w, const char *op, const char *name, const char *inputs, const char *outputs);
void tc_graph_writer_domain(tc_graph_writer *w, const char *domain);
void tc_graph_writer_int(tc_graph_writer *w, const char *name, int64_t v);
void tc_graph_writer_float(tc_graph_writer *w, const char *name, float v);
void tc_graph_writer_str(tc_graph_writer *w, const char *name, const char *v);
void tc_graph_writer_ints(tc_graph_writer *w, const char *name, const char *list); /* "0,2,1,3" */
void tc_graph_writer_tensor(tc_graph_writer *w, const char *name, tc_graph_tensor t);
/* A graph (of If, Loop, Scan) as another writer has it, which is w's from now on; of that, the name, inputs, nodes, initializers
 * and outputs count. What it does not define it reads of the graphs around it. */
void tc_graph_writer_body(tc_graph_writer *w, const char *name, tc_graph_writer *body);

TC_NODISCARD tc_status tc_graph_writer_save(tc_graph_writer *w, const char *path, tc_error *err);

#endif
