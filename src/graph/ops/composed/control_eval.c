/* References of If and Loop: their bodies are evaluated as graphs. */
#include "graph/ops/functions.h"

#include <stdlib.h>
#include <string.h>

static bool holds(const tc_graph_tensor *t) {
    return *(const uint8_t *)t->data != 0;
}

/* body(in...); out[] are OWNED, as many as the body has. */
static tc_status evaluate(const tc_graph *body, const tc_graph_tensor *const *in, tc_graph_tensor *out, tc_error *err) {
    tc_graph_tensor *all = tc_xcalloc(body->inputs.len + 1, sizeof *all);
    for (size_t i = 0; i < body->inputs.len; i++)
        all[i] = *in[i];
    tc_status s = tc_graph_eval(body, all, out, err);
    free(all);
    return s;
}

static void take(tc_graph_tensor *to, tc_graph_tensor *from) {
    if (to->data)
        memcpy(to->data, from->data, tc_graph_tensor_bytes(from));
    tc_graph_tensor_free(from);
}

tc_status tc_graph_eval_if(tc_graph_eval_ctx *c) {
    const tc_graph_node *n = c->n;
    bool yes = holds(c->in[0]);
    const tc_graph *body = n->body[yes ? 0 : 1];
    tc_graph_tensor *out = tc_xcalloc(body->outputs.len + 1, sizeof *out);
    tc_status s = evaluate(body, c->in + 1 + (yes ? 0 : tc_graph_attr_then(n)), out, c->err);
    for (int k = 0; k < n->nout && s == TC_OK; k++)
        take(&c->out[k], &out[k]);
    free(out);
    return s;
}

/* One trip: the state becomes the next, and the rows are put in their places. */
static tc_status trip(tc_graph_eval_ctx *c, const tc_graph_tensor **in, int states, int64_t i, bool *go) {
    const tc_graph *body = c->n->body[0];
    int nout = (int)body->outputs.len;
    tc_graph_tensor *out = tc_xcalloc((size_t)nout + 1, sizeof *out);
    tc_status s = evaluate(body, in, out, c->err);
    for (int k = 1; k < nout && s == TC_OK; k++) {
        tc_graph_tensor *to = &c->out[k];
        size_t bytes = tc_graph_tensor_bytes(&out[k]);
        if (k <= states)
            memcpy(to->data, out[k].data, bytes);
        else if ((size_t)(i + 1) * bytes <= tc_graph_tensor_bytes(to))
            memcpy((char *)to->data + (size_t)i * bytes, out[k].data, bytes);
    }
    if (s == TC_OK)
        *go = holds(&out[0]);
    for (int k = 0; k < nout; k++)
        tc_graph_tensor_free(&out[k]);
    free(out);
    return s;
}

tc_status tc_graph_eval_require(tc_graph_eval_ctx *c) {
    bool yes = holds(c->in[0]);
    if (c->out[0].data)
        *(uint8_t *)c->out[0].data = yes;
    return yes == (tc_graph_attr_expected(c->n) != 0) ? TC_OK : tc_fail(c->err, TC_BAD_INPUT, "%s", tc_graph_attr_refusal(c->n));
}

tc_status tc_graph_eval_loop(tc_graph_eval_ctx *c) {
    const tc_graph_node *n = c->n;
    int states = (int)tc_graph_attr_states(n);
    int64_t limit = c->in[1] ? tc_load_i(TC_I64, c->in[1]->data, 0) : INT64_MAX, *done = c->out[0].data;
    bool go = holds(c->in[0]);
    const tc_graph_tensor **in = tc_xcalloc(n->body[0]->inputs.len + 1, sizeof *in);
    in[0] = &c->out[0];
    for (int k = 0; k < states; k++) {
        memcpy(c->out[k + 1].data, c->in[k + 2]->data, tc_graph_tensor_bytes(c->in[k + 2]));
        in[k + 1] = &c->out[k + 1];
    }
    for (int k = states + 2; k < n->nin; k++)
        in[k - 1] = c->in[k];
    tc_status s = TC_OK;
    while (s == TC_OK && go && *done < limit) {
        s = trip(c, in, states, *done, &go);
        ++*done;
    }
    free(in);
    return s;
}
