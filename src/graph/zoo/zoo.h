/* src/graph/zoo owns ready-made networks with seeded random weights, as ONNX files. Not here: trained weights; tctune ships
 * none. */
#ifndef TC_GRAPH_ZOO_ZOO_H
#define TC_GRAPH_ZOO_ZOO_H

#include "support/status.h"

/* Writes one of tc_graph_zoo_names() as an ONNX file with seeded random weights. */
TC_NODISCARD tc_status tc_graph_zoo(const char *name, const char *path, tc_error *err);
const char *const *tc_graph_zoo_names(void); /* NULL-terminated */

#endif
