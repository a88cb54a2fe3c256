/* Branches that the data decide about: a node that runs the graph of one of them. */
#ifndef TC_GRAPH_IMPORT_BRANCHES_H
#define TC_GRAPH_IMPORT_BRANCHES_H

#include "graph/import/frames.h"

typedef struct tc_graph_import_branches {
    tc_graph_import_place *at;
    const char *name; /* of the node; NULL: it has none */
    size_t nout;      /* of the node */
    tc_graph_value *cond;
    const tc_graph_import_body *body[2]; /* where cond holds, and where it does not; without inputs */
    /* while branches are added: */
    tc_graph_import_inside in[2];
    tc_graph_value **out[2]; /* [nout]; lists as rows */
    bool *lists;             /* [nout] */
    tc_graph_type *types;    /* [nout], then of sizes */
    tc_graph_value **common; /* [nout, dimensions]: the size around the branches that it has in both; NULL: there is none */
    size_t ntypes;
    bool no_rows; /* a list among the results cannot be rows */
} tc_graph_import_branches;

/* Adds both branches as graphs. *failed: the branch that cannot be imported; -1: none, or both, which do not fit each other. */
TC_NODISCARD tc_status tc_graph_import_add_branches(tc_graph_import_branches *b, int *failed, tc_error *err);
/* Then adds the node that runs one of them. *out: its outputs. */
TC_NODISCARD tc_status tc_graph_import_run_branches(tc_graph_import_branches *b, tc_graph_value ***out, tc_error *err);

#endif
