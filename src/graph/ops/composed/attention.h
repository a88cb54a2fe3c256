/* src/graph/ops/composed owns the families of operators that inference writes in terms of others, or of library
 * kernels. Not here: operators with a lowering of their own (src/graph/ops/native).
 *
 * This header is what the attention operators share: heads, masks, the scores and what is computed from them. Nothing
 * here is a kernel: fusion finds the products and the softmax between them. */
#ifndef TC_GRAPH_OPS_COMPOSED_ATTENTION_H
#define TC_GRAPH_OPS_COMPOSED_ATTENTION_H

#include "graph/ops/functions.h"

/* softmax(cap(q k^T * scale) + bias, where allowed) v. A query that may see no key gives 0: nothing is allowed, or the bias is -inf
 * everywhere. Operands of 16-bit floats are widened. */
typedef struct tc_graph_attention {
    tc_graph_value *q, *k, *v; /* [batch, heads, rows, width]; k and v may have fewer heads, each for a run of those of q */
    tc_graph_value *bias;      /* broadcasts to [batch, heads, rows of q, rows of k]; NULL: none */
    tc_graph_value *allowed;   /* bool, the same; NULL: all are */
    double scale, softcap;     /* softcap 0: none */
    /* Of that shape, for who asks: the products, then capped, then biased and masked, then the weights. */
    tc_graph_value *scores[4];
} tc_graph_attention;

/* [batch, heads of q, rows of q, width of v]; fills in `scores`. */
tc_graph_value *tc_graph_em_attention(tc_graph_emitter *e, tc_graph_attention *a);

/* Where sizes vary: queries, keys and values have the same batch, values as many rows as keys, and fixed heads and widths. */
TC_NODISCARD tc_status tc_graph_meet_attention(tc_graph_emitter *e, const tc_graph_attention *a);
/* The mask or bias v, whose last dimensions are [batch, heads, rows of q, rows of k], has them or 1. */
TC_NODISCARD tc_status tc_graph_meet_scores(tc_graph_emitter *e, const tc_graph_attention *a, const tc_graph_value *v);

/* [batch, rows, heads * width]  =>  [batch, heads, rows, width], and back */
tc_graph_value *tc_graph_em_split_heads(tc_graph_emitter *e, tc_graph_value *v, int64_t heads);
tc_graph_value *tc_graph_em_merge_heads(tc_graph_emitter *e, tc_graph_value *v);

/* Which of `columns` keys the queries of `rows` may see, [1 or batch, 1, rows, columns]: those up to their own place, which is
 * their number plus `offset` (an i64 scalar or [batch]), and with window >= 0 no more than the last `window` of these. */
tc_graph_value *tc_graph_em_causal(tc_graph_emitter *e, int64_t rows, int64_t columns, tc_graph_value *offset, int64_t window);
/* Both must hold; either may be NULL. */
tc_graph_value *tc_graph_em_both(tc_graph_emitter *e, tc_graph_value *a, tc_graph_value *b);

/* Makes the node the attention of `qkv`, rows of queries, keys and values, by the attributes of com.microsoft's Attention; the
 * inputs that are its mask, past and bias of the scores, the last two -1 where there are none. */
TC_NODISCARD tc_status tc_graph_em_self_attention(tc_graph_emitter *e, tc_graph_value *qkv, int mask, int past, int bias);

/* x [batch, heads, rows, width], a width that is even, whose first 2 * half elements are turned, in pairs that lie `half` apart
 * or, interleaved, side by side; cos and sin broadcast to [batch, rows, half]. */
tc_graph_value *tc_graph_em_rotary(tc_graph_emitter *e, tc_graph_value *x, tc_graph_value *cos, tc_graph_value *sin,
                                   bool interleaved);

#endif
