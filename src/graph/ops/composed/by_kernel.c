/* Reference evaluation by the operator's library kernel, on the caller's thread. So constants are folded by the code that a run
 * executes. */
#include <assert.h>
#include <stdlib.h>

#include "graph/library/library.h"
#include "graph/ops/functions.h"
#include "support/system/memory.h"

static tc_status run(tc_graph_eval_ctx *c, tc_arena *a) {
    const tc_graph_library_kernel *k = tc_graph_library_of(c->n->op);
    void **args = TC_NEW_N(a, void *, 1 + c->n->nin + c->n->nout);
    size_t size;
    tc_lib_params *p = tc_graph_library_params(a, c->n, &size);
    int64_t room = k->workspace(p, 1);
    int n = 0;
    args[n++] = p;
    for (int i = 0; i < c->n->nin; i++)
        args[n++] = c->in[i]->data;
    for (int i = 0; i < c->n->nout; i++)
        args[n++] = c->out[i].data;
    TC_TRY(tc_memory_check((uint64_t)room, c->err));
    uint8_t *workspace = tc_xmalloc((size_t)room + 1);
    int32_t status = k->run(args, workspace, NULL);
    free(workspace);
    assert(status == 0);
    (void)status;
    return TC_OK;
}

tc_status tc_graph_eval_by_kernel(tc_graph_eval_ctx *c) {
    for (int i = 0; i < c->n->nout; i++)
        if (tc_graph_tensor_count(&c->out[i]) == 0)
            return TC_OK;
    tc_arena *a = tc_arena_new();
    tc_status s = run(c, a);
    tc_arena_free(a);
    return s;
}
