/* What the forms of a saved model share: libraries and objects (save.c), C source (save_c.c). */
#ifndef TC_GRAPH_MODEL_SAVE_INT_H
#define TC_GRAPH_MODEL_SAVE_INT_H

#include "graph/model/program.h"

/* Of a library's metadata; load.c takes no other. */
enum { TC_GRAPH_LIBRARY_FORMAT = 2 };

/* M.so, M.o or M.c -> M.h, in the arena. */
const char *tc_graph_header_path(tc_arena *a, const char *path);
/* A comment that lists inputs and outputs. */
void tc_graph_describe_ports(const tc_graph_model *m, tc_strbuf *b);
/* path ends in ".c"; name is an identifier. */
TC_NODISCARD tc_status tc_graph_save_c(const tc_graph_model *m, const char *path, const char *name, tc_error *err);

#endif
