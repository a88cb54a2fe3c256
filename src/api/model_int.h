/* Declarations that model.c, run.c and tensors.c share. */
#ifndef TC_API_MODEL_INT_H
#define TC_API_MODEL_INT_H

#include <string.h>

#include "api/api_int.h"
#include "graph/trials/contest.h"
#include "graph/trials/precision.h"

/* Addresses of a tensor: [from, to). */
typedef struct api_span {
    uintptr_t from, to;
} api_span;

struct tctune_context {
    const tctune_model *of;
    tc_graph_context *context;
    tc_graph_tensor *in, *out; /* of the run under way */
    api_span *spans;           /* of in[], and then of out[] */
};

struct tctune_model {
    tctune_work *work; /* NULL: it was loaded, as for arena */
    tc_arena *arena;   /* of what was chosen for it */
    char *target;
    tc_graph_model *model;
    tctune_context own; /* of runs without another; zero until the first */
    /* What the network said; NULL: it was not asked. */
    tc_graph_admission *admitted; /* as for contest */
    tc_graph_contest *contest;
    tc_graph_precision *precision;
};

void api_free_arrays(tctune_context *c);

/* ---- tensors of callers (tensors.c) ---- */

/* How DLPack names a type. */
DLDataType api_dl_type(tc_dtype t);
/* Makes in[] (one per input), views of the caller's tensors. outputs: the tensors in whose buffers inputs may lie; NULL: there are
 * none. TC_BAD_INPUT names the first tensor that does not match the model, and describes it. */
TC_NODISCARD tc_status api_take_inputs(const tc_graph_model *m, const DLTensor *given, const tc_graph_tensor *outputs,
                                       tc_graph_tensor *in, tc_error *err);
/* The same of outputs, each of its largest shape. */
TC_NODISCARD tc_status api_take_outputs(const tc_graph_model *m, const DLTensor *given, tc_graph_tensor *out, tc_error *err);
/* TC_BAD_INPUT if an output overlaps an input or another output. An input that grows in place may be in its output's buffer.
 * spans[]: room for one per input and output. */
TC_NODISCARD tc_status api_check_apart(const tc_graph_model *m, const tc_graph_tensor *in, const tc_graph_tensor *out,
                                       api_span *spans, tc_error *err);

#endif
