/* src/graph/saved owns models as files: libraries, objects and C source, their headers and their metadata; and libraries loaded
 * again. Not here: the parts of a library (src/codegen/artefacts). */
#ifndef TC_GRAPH_SAVED_SAVED_H
#define TC_GRAPH_SAVED_SAVED_H

#include "support/json/json.h"

#include "graph/model/model.h"

/* Where the path ends in .o, one relocatable object with the same symbols; in .c, C source for users without our runtime, and
 * what is too large for it in PATH without the .c, with .weights: the header tells. Else: writes `path` (a shared library that
 * needs libc and libm only, and OpenMP's runtime where the team is OpenMP's) and a header beside it (".so" -> ".h"). Both are whole
 * or absent. `name` (NULL: made from the file's name) is the prefix of its symbols, which the header describes: NAME_run, contexts
 * (NAME_context), NAME_threads and NAME_metadata, which is JSON: inputs, outputs (name, dtype, shape), target, threads, team, and
 * where the kernels are from: versions, database, accuracy, hashes of workloads and traces. It lies in a note of the file, for who
 * must not load it. TC_BAD_INPUT: also C source of a model whose team is its own. A
 * model that was built with a listing writes that too. */
TC_NODISCARD tc_status tc_graph_model_save(const tc_graph_model *m, const char *path, const char *name, tc_error *err);
bool tc_graph_path_ends(const char *path, const char *end);
/* M.so, M.o or M.c -> M and `end` (".h"), in the arena. */
const char *tc_graph_path_beside(tc_arena *a, const char *path, const char *end);
/* A library that tc_graph_model_save made. It runs with the threads it was built for, or `threads` where that is fewer (0: no
 * limit). */
TC_NODISCARD tc_status tc_graph_model_load(const char *path, int threads, tc_graph_model **out, tc_error *err);
/* What the library of a file says of itself, to be released with json_decref: all of it is checked, unless it is of another version
 * of the format. Nothing of the file is run. */
TC_NODISCARD tc_status tc_graph_describe_library(const char *path, json_t **out, tc_error *err);
/* Whether a file could be one, rather than an ONNX model, by its first bytes. */
bool tc_graph_is_library(const char *path);

#endif
