/* com.microsoft's GroupQueryAttention: attention with a cache of keys and values, whose sequences may be of different lengths.
 *
 * Where a new row belongs in the cache depends on data (seqlens_k), which say for each sequence how many rows it then has, less
 * one. A row of the present is a past one, a new one or zero by comparison of its number with the length of the past (Appended).
 *
 * Where sizes vary, all of this is done with operands as large as they may be, whose rows past their sizes hold anything: such
 * new rows are no part of the present, and no query sees keys behind its own place. Results get their sizes in the end. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "graph/ops/composed/attention.h"

enum { QUERY, KEY, VALUE, PAST_KEY, PAST_VALUE, LENGTHS, TOTAL, COS, SIN, POSITIONS, BIAS, SINK };

typedef struct group_query {
    tc_graph_emitter *e;
    tc_graph_attention a;
    int64_t batch, rows, heads, shared, width;
    int64_t past, total, present; /* rows: of the buffer of the past, of the longest sequence, of the present's buffer */
    tc_graph_value *before;       /* rows of each sequence before the new ones: i64 [batch] or a scalar */
    /* What `rows`, the present's and the past's rows are in a run, and the query with its sizes. */
    tc_graph_value *new_rows, *present_rows, *past_rows, *query;
} group_query;

static tc_graph_value *input(const tc_graph_infer_ctx *c, int k) {
    return k < c->n->nin ? c->n->in[k] : NULL;
}

/* ---- reading ---- */

static tc_status refuse_options(tc_graph_infer_ctx *c) {
    const tc_graph_node *n = c->n;
    const char *what = tc_graph_attr_smooth_softmax(n) > 0 || input(c, SINK) ? "a sink (smooth_softmax, head_sink)"
                       : strcmp(tc_graph_attr_k_quant_type(n), "NONE") != 0 || strcmp(tc_graph_attr_v_quant_type(n), "NONE") != 0
                           ? "a quantised cache (k_quant_type, v_quant_type)"
                       : tc_graph_attr_qk_output(n) || (c->nout > 3 && c->names[3]) ? "the scores as an output (qk_output)"
                                                                                    : NULL;
    if (!what)
        return TC_OK;
    return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED, "%s is not supported", what);
}

static tc_status want_widths(group_query *g, bool packed) {
    tc_graph_infer_ctx *c = g->e->c;
    int64_t all = c->n->in[QUERY]->shape.d[2], per = packed ? g->heads + 2 * g->shared : g->heads;
    if (g->heads < 1 || g->shared < 1 || g->heads % g->shared || all % per)
        return tc_graph_node_fail(
            c, "attributes num_heads (%" PRId64 ") and kv_num_heads (%" PRId64 ") do not fit rows of %" PRId64 " elements",
            g->heads, g->shared, all);
    g->width = all / per;
    tc_graph_shape want = {3, {g->batch, g->rows, g->shared * g->width}};
    for (int k = KEY; k <= VALUE && !packed; k++)
        if (!tc_graph_shape_equal(&c->n->in[k]->shape, &want) || c->n->in[k]->dtype != c->n->in[QUERY]->dtype)
            return tc_graph_node_fail(c, "input %d ('%s') must be %s, but is %s", k, c->n->in[k]->name,
                                      tc_graph_type_str(c->g->arena, c->n->in[QUERY]->dtype, &want),
                                      tc_graph_type_str(c->g->arena, c->n->in[k]->dtype, &c->n->in[k]->shape));
    return TC_OK;
}

/* Queries, keys and values apart, or all in one. */
static tc_status read_qkv(group_query *g) {
    tc_graph_emitter *e = g->e;
    tc_graph_infer_ctx *c = e->c;
    tc_graph_value *q = c->n->in[QUERY], *k = input(c, KEY), *v = input(c, VALUE);
    TC_TRY(tc_graph_want_float(c, QUERY));
    if (q->shape.ndim != 3 || !k != !v)
        return tc_graph_node_fail(c, "the query must be [batch, rows, width], with key and value, or with both in it");
    g->batch = q->shape.d[0];
    g->rows = q->shape.d[1];
    TC_TRY(want_widths(g, !k));
    if (!k) {
        int64_t one = g->heads * g->width, two = one + g->shared * g->width, three = two + g->shared * g->width;
        k = tc_graph_em_slice(e, q, 2, one, two, 1);
        v = tc_graph_em_slice(e, q, 2, two, three, 1);
        q = tc_graph_em_slice(e, q, 2, 0, one, 1);
    }
    g->a.q = tc_graph_em_split_heads(e, q, g->heads);
    g->a.k = tc_graph_em_split_heads(e, k, g->shared);
    g->a.v = tc_graph_em_split_heads(e, v, g->shared);
    return e->status;
}

static tc_status read_past(group_query *g) {
    tc_graph_infer_ctx *c = g->e->c;
    if (!input(c, PAST_KEY) != !input(c, PAST_VALUE))
        return tc_graph_node_fail(c, "a past key (input 3) and a past value (input 4) go together");
    for (int k = PAST_KEY; k <= PAST_VALUE && input(c, k); k++) {
        const tc_graph_value *v = c->n->in[k];
        tc_graph_shape want = {4, {g->batch, g->shared, k == PAST_KEY ? v->shape.d[2] : g->past, g->width}};
        if (!tc_graph_shape_equal(&v->shape, &want) || v->dtype != g->a.q->dtype)
            return tc_graph_node_fail(c, "input %d ('%s') must be %s, but is %s", k, v->name,
                                      tc_graph_type_str(c->g->arena, g->a.q->dtype, &want),
                                      tc_graph_type_str(c->g->arena, v->dtype, &v->shape));
        g->past = v->shape.d[2];
    }
    return TC_OK;
}

/* Rows of the longest sequence. Where they are not a number of the model, they are those of the past and the new ones, if the
 * past is not a buffer of a size of its own. */
static tc_status read_total(group_query *g, const tc_graph_value *past, tc_graph_number *total) {
    tc_graph_emitter *e = g->e;
    tc_graph_infer_ctx *c = e->c;
    tc_graph_value *v = input(c, TOTAL);
    const int64_t *fixed;
    size_t n;
    if (!v || v->constant || tc_graph_shape_count(&v->shape) != 1) {
        TC_TRY(tc_graph_want_ints(c, TOTAL, "total_sequence_length", &fixed, &n));
        *total = (tc_graph_number){.most = n == 1 ? fixed[0] : -1, .constant = true};
        if (n == 1)
            total->value = tc_graph_em_number(e, fixed[0]);
    } else {
        TC_TRY(tc_graph_trace(e, v, total));
    }
    bool grows = !past || past->shape.d[2] == 0 || tc_graph_extent(past, 2);
    if (g->new_rows && grows && total->value) {
        tc_graph_number all = tc_graph_em_known(e, past ? em_add(e, tc_graph_em_size(e, past, 2), g->new_rows) : g->new_rows);
        TC_TRY(tc_graph_meet_numbers(e, "total_sequence_length (input 6)", tc_graph_em_known(e, total->value).x,
                                     "the rows of the past and the new rows", all.x));
    }
    return e->status;
}

static tc_status read_lengths(group_query *g, const tc_graph_value *past) {
    tc_graph_emitter *e = g->e;
    tc_graph_infer_ctx *c = e->c;
    tc_graph_number total;
    tc_graph_value *lengths = c->n->in[LENGTHS];
    TC_TRY(read_total(g, past, &total));
    if (!total.constant && (total.most < 0 || total.most > g->past + g->rows))
        total.most = g->past + g->rows;
    if (total.most < g->rows || total.most > g->past + g->rows)
        return tc_graph_node_fail(c, "input 6 (total_sequence_length) must be one number from %" PRId64 " to %" PRId64, g->rows,
                                  g->past + g->rows);
    if (lengths->dtype != TC_I32 || tc_graph_shape_count(&lengths->shape) != g->batch || lengths->shape.ndim > 2)
        return tc_graph_node_fail(c, "input 5 ('%s') must be %" PRId64 " numbers of type i32", lengths->name, g->batch);
    g->total = total.most;
    g->past_rows = past ? tc_graph_em_size(e, past, 2) : NULL;
    g->present = TC_MAX(g->past, g->total);
    if (g->new_rows)
        g->present_rows = past ? em_max(e, total.value, g->past_rows) : total.value;
    if (g->new_rows ? g->past == 0 : g->total == g->rows) { /* the first rows of all */
        g->before = tc_graph_em_scalar(e, TC_I64, 0);
        return e->status;
    }
    tc_graph_value *wide = tc_graph_em_reshape(e, tc_graph_em_cast(e, lengths, TC_I64), &(tc_graph_shape){1, {g->batch}});
    if (g->new_rows) {
        g->before = em_sub(e, wide, em_by(e, TC_GRAPH_OP_SUB, g->new_rows, 1));
        g->before = tc_graph_em_where(e, em_equal(e, total.value, g->new_rows), tc_graph_em_number(e, 0), g->before);
    } else {
        g->before = em_by(e, TC_GRAPH_OP_SUB, wide, (double)(g->rows - 1));
    }
    return e->status;
}

/* ---- sizes that vary ---- */

/* Sizes that several inputs have; heads and widths are fixed. */
static tc_status meet_inputs(tc_graph_emitter *e) {
    static const struct {
        int input, dim, with, as;
    } same[] = {{KEY, 0, QUERY, 0},       {KEY, 1, QUERY, 1},        {VALUE, 0, QUERY, 0},         {VALUE, 1, QUERY, 1},
                {PAST_KEY, 0, QUERY, 0},  {PAST_VALUE, 0, QUERY, 0}, {PAST_VALUE, 2, PAST_KEY, 2}, {LENGTHS, 0, QUERY, 0},
                {POSITIONS, 0, QUERY, 0}, {POSITIONS, 1, QUERY, 1}};
    static const struct {
        int input, dim;
    } fixed[] = {{QUERY, 2},      {KEY, 2},     {VALUE, 2}, {PAST_KEY, 1}, {PAST_KEY, 3}, {PAST_VALUE, 1},
                 {PAST_VALUE, 3}, {LENGTHS, 1}, {COS, 0},   {COS, 1},      {SIN, 0},      {SIN, 1}};
    tc_graph_infer_ctx *c = e->c;
    for (size_t i = 0; i < TC_LEN(same); i++) {
        const tc_graph_value *v = input(c, same[i].input), *with = input(c, same[i].with);
        if (v && with && same[i].dim < v->shape.ndim && same[i].as < with->shape.ndim)
            TC_TRY(tc_graph_meet(e, v, same[i].dim, with, same[i].as, false));
    }
    for (size_t i = 0; i < TC_LEN(fixed); i++)
        if (tc_graph_extent(tc_graph_in(e->c, fixed[i].input), fixed[i].dim))
            return tc_graph_dynamic_refuse(c, fixed[i].input, fixed[i].dim);
    return e->status;
}

/* Operands as large as they may be. What says where rows are points to the first ones past its size. *past: as it was. */
static tc_status widen_inputs(group_query *g, const tc_graph_value **past) {
    tc_graph_emitter *e = g->e;
    tc_graph_node *n = e->c->n;
    bool varies = false;
    for (int k = 0; k < n->nin; k++)
        varies |= tc_graph_is_dynamic(n->in[k]);
    *past = input(e->c, PAST_KEY);
    if (!varies && (!input(e->c, TOTAL) || n->in[TOTAL]->constant))
        return TC_OK;
    if (n->in[QUERY]->shape.ndim != 3 || (*past && (*past)->shape.ndim != 4))
        return TC_OK; /* which is refused */
    TC_TRY(meet_inputs(e));
    g->query = n->in[QUERY];
    g->new_rows = tc_graph_em_size(e, g->query, 1);
    for (int k = 0; k < n->nin; k++) {
        bool place = k == LENGTHS || k == POSITIONS;
        if (k == TOTAL || !tc_graph_is_dynamic(n->in[k]))
            continue;
        if (place)
            n->in[k] =
                tc_graph_em_masked(e, n->in[k], -1, tc_graph_em_ints(e, n->in[k]->dtype, &(tc_graph_shape){0}, &(int64_t){0}));
        n->in[k] = tc_graph_em_blind(e, n->in[k]);
    }
    return e->status;
}

/* v, in which dimension `rows` has so many. */
static tc_graph_value *with_sizes(group_query *g, tc_graph_value *v, int d, tc_graph_value *rows) {
    tc_graph_emitter *e = g->e;
    if (!g->query)
        return v;
    v = tc_graph_em_sized(e, em_unary(e, TC_GRAPH_OP_IDENTITY, v), d, rows);
    return tc_graph_extent(g->query, 0) ? tc_graph_em_sized(e, v, 0, tc_graph_extent(g->query, 0)) : v;
}

/* ---- rotary embeddings ---- */

/* Rows of table k; those of rows past their size, which may have none, are any. */
static tc_graph_value *turns(group_query *g, int k, tc_graph_value *at) {
    tc_graph_value *table = g->e->c->n->in[k];
    return g->new_rows ? tc_graph_em_pick(g->e, table, 0, at) : tc_graph_em_gather(g->e, TC_GRAPH_OP_GATHER, table, at, 0);
}

static tc_status turn(group_query *g) {
    tc_graph_emitter *e = g->e;
    tc_graph_infer_ctx *c = e->c;
    if (!tc_graph_attr_do_rotary(c->n))
        return TC_OK;
    for (int k = COS; k <= SIN; k++) {
        const tc_graph_value *v = input(c, k);
        if (!v || v->shape.ndim != 2 || v->shape.d[1] < 1 || 2 * v->shape.d[1] > g->width || g->width % 2 ||
            v->dtype != g->a.q->dtype || !tc_graph_shape_equal(&v->shape, &c->n->in[COS]->shape))
            return tc_graph_node_fail(c, "with do_rotary, input %d must be a table with rows of at most %" PRId64 " elements", k,
                                      g->width / 2);
    }
    tc_graph_value *at = input(c, POSITIONS);
    if (at && (at->dtype != TC_I64 || at->shape.ndim != 2 || at->shape.d[0] != g->batch || at->shape.d[1] != g->rows))
        return tc_graph_node_fail(c, "the positions '%s' must be [%" PRId64 ",%" PRId64 "] of i64", at->name, g->batch, g->rows);
    if (!at)
        at = em_add(e, tc_graph_em_iota(e, g->rows, 1, 2),
                    g->before->shape.ndim ? tc_graph_em_along(e, g->before, 0, 2) : g->before);
    tc_graph_value *cos = turns(g, COS, at), *sin = turns(g, SIN, at);
    bool interleaved = tc_graph_attr_rotary_interleaved(c->n);
    g->a.q = tc_graph_em_rotary(e, g->a.q, cos, sin, interleaved);
    g->a.k = tc_graph_em_rotary(e, g->a.k, cos, sin, interleaved);
    return e->status;
}

/* ---- the cache ---- */

/* The first rows of v, and zeros where it has fewer. */
static tc_graph_value *resized(tc_graph_emitter *e, tc_graph_value *v, int64_t rows) {
    int64_t pads[8] = {0};
    if (v->shape.d[2] >= rows)
        return v->shape.d[2] == rows ? v : tc_graph_em_slice(e, v, 2, 0, rows, 1);
    pads[6] = rows - v->shape.d[2];
    return tc_graph_em_pad(e, v, pads, NULL);
}

/* The new rows of a sequence stand behind its past. */
static tc_graph_value *appended(group_query *g, tc_graph_value *past, tc_graph_value *v) {
    tc_graph_emitter *e = g->e;
    if (!past || past->shape.d[2] == 0 || g->before->shape.ndim == 0)
        return resized(e, v, g->present);
    tc_graph_value *rows = g->new_rows ? g->new_rows : tc_graph_em_number(e, g->rows);
    return tc_graph_em_appended(e, 2, (tc_graph_value *[]){past, v, g->before, g->past_rows, rows}, g->present);
}

static tc_status mask(group_query *g) {
    tc_graph_emitter *e = g->e;
    tc_graph_value *bias = input(e->c, BIAS);
    tc_graph_shape full = {4, {g->batch, g->heads, g->rows, g->total}}, s;
    g->a.allowed = tc_graph_em_causal(e, g->rows, g->present, g->before, tc_graph_attr_local_window_size(e->c->n));
    if (!bias)
        return e->status;
    if (bias->shape.ndim != 4 || bias->shape.d[3] != g->total || !tc_graph_shape_broadcast(&bias->shape, &full, &s) ||
        !tc_graph_shape_equal(&s, &full) || bias->dtype != g->a.q->dtype)
        return tc_graph_node_fail(e->c, "the bias '%s' must broadcast to %s", bias->name,
                                  tc_graph_type_str(e->c->g->arena, g->a.q->dtype, &full));
    int64_t pads[8] = {0};
    pads[7] = g->present - g->total;
    g->a.bias = pads[7] ? tc_graph_em_pad(e, bias, pads, NULL) : bias;
    return e->status;
}

/* (query, key?, value?, past key?, past value?, lengths, total, cos?, sin?, positions?, bias?) => y, present key, present value */
tc_status tc_graph_infer_group_query_attention(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    group_query g = {.e = &e, .heads = tc_graph_attr_num_heads(c->n), .shared = tc_graph_attr_kv_num_heads(c->n)};
    double scale = tc_graph_attr_scale(c->n);
    TC_TRY(refuse_options(c));
    TC_TRY(tc_graph_want_input(c, LENGTHS));
    const tc_graph_value *past;
    TC_TRY(widen_inputs(&g, &past));
    TC_TRY(read_qkv(&g));
    TC_TRY(read_past(&g));
    TC_TRY(read_lengths(&g, past));
    TC_TRY(turn(&g));
    g.a.k = appended(&g, input(c, PAST_KEY), g.a.k);
    g.a.v = appended(&g, input(c, PAST_VALUE), g.a.v);
    TC_TRY(mask(&g));
    g.a.k = with_sizes(&g, g.a.k, 2, g.present_rows);
    g.a.v = with_sizes(&g, g.a.v, 2, g.present_rows);
    tc_graph_em_output(&e, 1, g.a.k);
    tc_graph_em_output(&e, 2, g.a.v);
    g.a.scale = scale == 0 ? 1 / sqrt((double)g.width) : scale;
    g.a.softcap = tc_graph_attr_softcap(c->n);
    tc_graph_value *y = tc_graph_em_merge_heads(&e, tc_graph_em_attention(&e, &g.a));
    return tc_graph_em_finish(&e, with_sizes(&g, y, 1, g.new_rows));
}
