/* Keeps byte weights as bytes when they are multiplied with floats, and packs weights that fit in 4 bits two to a byte. As floats
 * they would be four or eight times as large, in the artefact and in memory. A product of few rows waits for memory.
 *
 *   y = MatMul(x, DQ(w: constant, s, z))   =>   y = MatMulBlocks(x, packed w, s by block, z by block)
 *   y = Gemm(x, DQ(w), b)                  =>   y = Add(MatMulBlocks(x, ..), b)                     also with w transposed
 *
 * A block is the largest power of two of rows of w in which each column has one scale and one zero point. In products of few rows
 * the sums of blocks are scaled instead of each weight, so results differ by rounding. */
#include "graph/ir/build.h"
#include "graph/ops/eval.h"
#include "graph/passes/quantised.h"

enum { LEAST_BLOCK = 16, MOST_BLOCK = 128 };

typedef struct matrix {
    const tc_graph_node *dq;
    int down; /* the dimension of w that is the depth; the other dimension has the columns */
    int64_t depth, columns;
    int64_t strides[TC_GRAPH_MAX_DIMS], scale_strides[TC_GRAPH_MAX_DIMS], zero_strides[TC_GRAPH_MAX_DIMS];
    int64_t block, blocks;
    int bits, offset; /* a number is what w holds, and offset */
} matrix;

/* The index of row k and column n in an array with these strides. */
static int64_t place_of(const matrix *m, const int64_t *strides, int64_t k, int64_t n) {
    return k * strides[m->down] + n * strides[1 - m->down];
}

static float scale_at(const matrix *m, int64_t k, int64_t n) {
    return ((const float *)m->dq->in[1]->constant->data)[place_of(m, m->scale_strides, k, n)];
}

static int64_t zero_at(const matrix *m, int64_t k, int64_t n) {
    const tc_graph_value *z = tc_graph_operand_of(m->dq, 2);
    return z ? tc_load_i(z->dtype, z->constant->data, place_of(m, m->zero_strides, k, n)) : 0;
}

static bool is_uniform(const matrix *m, int64_t block) {
    for (int64_t k = 0; k < m->depth; k++)
        for (int64_t n = 0; n < m->columns && k % block; n++)
            if (scale_at(m, k, n) != scale_at(m, k - 1, n) || zero_at(m, k, n) != zero_at(m, k - 1, n))
                return false;
    return true;
}

/* Of the block sizes that need the fewest rows after the last row, the largest. */
static bool find_block(matrix *m) {
    m->block = 0;
    for (int64_t b = LEAST_BLOCK; b <= MOST_BLOCK && is_uniform(m, b); b *= 2)
        if (!m->block || tc_ceil_div(m->depth, b) * b <= tc_ceil_div(m->depth, m->block) * m->block)
            m->block = b;
    m->blocks = m->block ? tc_ceil_div(m->depth, m->block) : 0;
    return m->block > 0;
}

static bool all_within(const tc_graph_value *v, int64_t low, int64_t high) {
    for (int64_t i = 0, n = v ? tc_graph_shape_count(&v->shape) : 0; i < n; i++) {
        int64_t x = tc_load_i(v->dtype, v->constant->data, i);
        if (x < low || x > high)
            return false;
    }
    return true;
}

static void choose_bits(matrix *m) {
    const tc_graph_value *w = m->dq->in[0], *z = tc_graph_operand_of(m->dq, 2);
    bool is_signed = w->dtype == TC_I8;
    int64_t low = is_signed ? -8 : 0;
    m->bits = all_within(w, low, low + 15) && all_within(z, low, low + 15) ? 4 : 8;
    m->offset = is_signed ? 1 << (m->bits - 1) : 0;
}

/* Of two operands, and of a bias as it is. */
static bool is_product(const tc_graph_node *n) {
    if (n->op == TC_GRAPH_OP_MATMUL)
        return true;
    return n->op == TC_GRAPH_OP_GEMM && !tc_graph_attr_trans_a(n) && tc_graph_attr_alpha(n) == 1 && tc_graph_attr_beta(n) == 1;
}

static bool read_matrix(const tc_graph_node *n, matrix *m) {
    const tc_graph_value *x = n->in[0];
    const tc_graph_node *dq = is_product(n) ? tc_graph_dequantisation_of(n->in[1]) : NULL;
    if (!dq || !dq->in[0]->constant || !tc_graph_known_scales(dq) || dq->in[0]->shape.ndim != 2 || x->dtype != TC_F32 ||
        n->out[0]->dtype != TC_F32 || (dq->in[0]->dtype != TC_I8 && dq->in[0]->dtype != TC_U8))
        return false;
    const tc_graph_shape *s = &dq->in[0]->shape;
    int down = n->op == TC_GRAPH_OP_GEMM && tc_graph_attr_trans_b(n);
    *m = (matrix){.dq = dq, .down = down, .depth = s->d[down], .columns = s->d[1 - down]};
    if (m->depth < LEAST_BLOCK || m->columns < 1)
        return false;
    tc_graph_broadcast_strides(s, s, m->strides);
    tc_graph_broadcast_strides(&dq->in[1]->shape, s, m->scale_strides);
    if (tc_graph_operand_of(dq, 2))
        tc_graph_broadcast_strides(&dq->in[2]->shape, s, m->zero_strides);
    choose_bits(m);
    return find_block(m);
}

static tc_status packed_weights(tc_graph *g, const matrix *m, tc_graph_value **out, tc_error *err) {
    tc_graph_tensor t;
    const tc_graph_tensor *w = m->dq->in[0]->constant;
    int64_t bytes = m->block * m->bits / 8;
    TC_TRY(tc_graph_tensor_alloc(&t, TC_U8, &(tc_graph_shape){3, {m->columns, m->blocks, bytes}}, err));
    for (int64_t k = 0; k < m->depth; k++)
        for (int64_t n = 0; n < m->columns; n++) {
            int64_t number = tc_load_i(w->dtype, w->data, place_of(m, m->strides, k, n)) + m->offset;
            uint8_t *byte = (uint8_t *)t.data + n * m->blocks * bytes + k * m->bits / 8;
            *byte |= (uint8_t)(number << (m->bits == 4 ? k % 2 * 4 : 0));
        }
    *out = tc_graph_add_constant(g, tc_graph_fresh_name(g, m->dq->in[0]->name), &t);
    return TC_OK;
}

/* Scales (f32) and zero points (u8) by column and block; *zeros is NULL if all zero points have the default value. */
static tc_status packed_points(tc_graph *g, const matrix *m, tc_graph_value **scales, tc_graph_value **zeros, tc_error *err) {
    tc_graph_tensor s, z;
    tc_graph_shape shape = {2, {m->columns, m->blocks}};
    bool usual = true;
    TC_TRY(tc_graph_tensor_alloc(&s, TC_F32, &shape, err));
    tc_status st = tc_graph_tensor_alloc(&z, TC_U8, &shape, err);
    if (st != TC_OK) {
        tc_graph_tensor_free(&s);
        return st;
    }
    for (int64_t i = 0; i < m->columns * m->blocks; i++) {
        int64_t k = i % m->blocks * m->block, n = i / m->blocks, zero = zero_at(m, k, n) + m->offset;
        ((float *)s.data)[i] = scale_at(m, k, n);
        ((uint8_t *)z.data)[i] = (uint8_t)zero;
        usual &= zero == 1 << (m->bits - 1);
    }
    *scales = tc_graph_add_constant(g, tc_graph_fresh_name(g, m->dq->in[1]->name), &s);
    *zeros = usual ? NULL : tc_graph_add_constant(g, tc_graph_fresh_name(g, m->dq->in[0]->name), &z);
    if (usual)
        tc_graph_tensor_free(&z);
    return TC_OK;
}

/* y becomes the product, and what is added to it. */
static void put(tc_graph *g, tc_graph_node *product, tc_graph_value *bias, tc_graph_value *y) {
    if (!bias) {
        tc_graph_produce(g, product, y);
        return;
    }
    tc_graph_value *in[] = {tc_graph_place_typed(g, product, tc_graph_fresh_name(g, y->name), y->dtype, &y->shape), bias};
    tc_graph_produce(g, tc_graph_new_node(g, TC_GRAPH_OP_ADD, "", in, 2), y);
}

static tc_status visit(tc_graph *g, tc_graph_node *n, void *user, tc_error *err) {
    (void)user;
    matrix m;
    tc_graph_value *in[4];
    if (!read_matrix(n, &m)) {
        tc_push(&g->nodes, n);
        return TC_OK;
    }
    in[0] = n->in[0];
    TC_TRY(packed_weights(g, &m, &in[1], err));
    TC_TRY(packed_points(g, &m, &in[2], &in[3], err));
    tc_graph_node *product = tc_graph_new_node(g, TC_GRAPH_OP_MATMUL_BLOCKS, n->name, in, 4);
    tc_graph_set_bits(g, product, m.bits);
    tc_graph_set_block_size(g, product, m.block);
    put(g, product, tc_graph_operand_of(n, 2), n->out[0]);
    return TC_OK;
}

tc_status tc_graph_pass_pack_weights(tc_graph *g, tc_error *err) {
    return tc_graph_rewrite_nodes(g, visit, NULL, err);
}
