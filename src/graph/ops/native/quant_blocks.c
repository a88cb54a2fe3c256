/* Products with weights of 2, 4 or 8 bits, which share scales and zero points in blocks along the depth: what com.microsoft's
 * MatMulNBits becomes.
 *
 * The weights stay packed: the product's own expression takes numbers out of their bytes, so that a kernel reads no more of
 * memory than the file holds. A block's products are added up first, in registers; its scale and zero point are then applied
 * once, and not to each number:
 *
 *     total[m, b]  = sum over the block's k of x[m, k]
 *     sum[m, n, b] = sum over the block's k of x[m, k] * number[k, n]
 *     y[m, n]      = sum over b of (sum[m, n, b] - total[m, b] * zero[n, b]) * scale[n, b]
 *
 * Where the model says that 8 bits are enough for x (accuracy_level 4), each of its blocks is quantised when the kernel runs:
 *
 *     step[m, b] = largest |x[m, k]| of the block / 127          q[m, k] = round(x[m, k] / largest * 127)
 *
 * and q, whose products with the numbers are added up exactly, takes the place of x, and step * scale that of scale.
 *
 * Many rows of floats would take each number out of its byte again and again, for some rows at a time. There the weights are a
 * stage of their own, which schedules compute where a panel of it is read, and the sum is a plain product:
 *
 *     weight[k, n] = (number[k, n] - zero[n, b]) * scale[n, b]          y[m, n] = sum over k of x[m, k] * weight[k, n] */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "graph/ops/functions.h"
#include "te/eval.h"

enum { X, WEIGHTS, SCALES, ZEROS };
enum { LEVEL_BYTES = 4 };              /* accuracy_level: x may be quantised to 8 bits */
enum { MORE_DIMS = 2, LARGEST = 127 }; /* what a stage has more than x; the largest quantised value */

/* ---- inference ---- */

tc_status tc_graph_infer_matmul_blocks(tc_graph_infer_ctx *c) {
    c->out[0].dtype = c->n->in[X]->dtype;
    tc_graph_take(c, &c->out[0], X, 0, c->n->in[X]->shape.ndim - 1);
    tc_graph_add_dim(&c->out[0], c->n->in[WEIGHTS]->shape.d[0]);
    return TC_OK;
}

/* ---- lowering ---- */

enum { SCALED, SUMS, TOTALS, PEAKS, QUANTISED, NUMBERS }; /* stages */

/* Rows from which on the weights are a stage. Measured on 4096 x 4096 weights, cold, default schedules, two threads: with 9 to 32
 * rows both forms take as long; with 128, 4 bits take 20 to 25 ms as a stage, 24 to 32 by blocks, and floats 23 to 34. */
enum { MANY_ROWS = 9 };

typedef struct product {
    tc_graph_lower *l;
    tc_ctx *c;
    const tc_graph_node *n;
    tc_dtype t;   /* computed in */
    int last;     /* dimension of the input that is the depth */
    int64_t size; /* of a block, in numbers */
    int64_t per;  /* numbers of a byte */
    bool bytes;   /* the input is quantised, and sums are integers */
    bool many;    /* rows: the weights are a stage */
} product;

static product product_of(tc_graph_lower *l, const tc_graph_node *n) {
    const tc_graph_shape *s = &n->in[X]->shape;
    bool bytes = tc_graph_attr_accuracy_level(n) == LEVEL_BYTES;
    return (product){.l = l,
                     .c = tc_graph_lower_ctx(l),
                     .n = n,
                     .t = tc_graph_wide(n->in[X]->dtype),
                     .last = s->ndim - 1,
                     .size = tc_graph_attr_block_size(n),
                     .per = 8 / tc_graph_attr_bits(n),
                     .bytes = bytes,
                     .many = !bytes && tc_graph_head_count(s, s->ndim - 1) >= MANY_ROWS};
}

static const tc_graph_value *zeros_of(const product *p) {
    return p->n->nin > ZEROS ? p->n->in[ZEROS] : NULL;
}

/* In which numbers and zero points are subtracted exactly, where there is such a type. */
static tc_dtype zeros_type(const product *p) {
    const tc_graph_value *zeros = zeros_of(p);
    return zeros && tc_dtype_is_float(zeros->dtype) ? p->t : TC_I32;
}

/* Of a block, in type t. */
static const tc_expr *zero_at(const product *p, tc_dtype t, const tc_expr *column, const tc_expr *block) {
    const tc_graph_value *zeros = zeros_of(p);
    if (!zeros)
        return tc_imm(p->c, t, (double)(1 << (8 / p->per - 1)));
    return tc_cast(p->c, t, tc_graph_value_at(p->l, zeros, (const tc_expr *[]){column, block}));
}

/* The input's shape with `more` dimensions in place of the depth. */
static tc_graph_shape instead_of_depth(const product *p, int more, const int64_t *extent) {
    tc_graph_shape s = p->n->in[X]->shape;
    for (int i = 0; i < more; i++)
        s.d[p->last + i] = extent[i];
    s.ndim = p->last + more;
    return s;
}

/* at[] of a stage: rows as in `rows`, then the rest. */
static const tc_expr *read_rows(const product *p, const tc_graph_stage *s, const tc_expr *const *rows, int n,
                                const tc_expr *const *rest) {
    const tc_expr *at[TC_GRAPH_MAX_DIMS];
    for (int d = 0; d < p->last; d++)
        at[d] = rows[d];
    for (int i = 0; i < n; i++)
        at[p->last + i] = rest[i];
    return tc_graph_stage_read(p->l, s, 0, at);
}

/* Element `within` of a block of the input; 0 behind its end. */
static const tc_expr *input_at(const product *p, const tc_expr *const *rows, const tc_expr *block, const tc_expr *within) {
    tc_ctx *c = p->c;
    int64_t depth = p->n->in[X]->shape.d[p->last];
    const tc_expr *at[TC_GRAPH_MAX_DIMS];
    for (int d = 0; d < p->last; d++)
        at[d] = rows[d];
    at[p->last] = tc_graph_index(p->l, tc_add(c, tc_mul(c, block, tc_i64(c, p->size)), within));
    const tc_expr *v = tc_cast(c, p->t, tc_graph_value_at(p->l, p->n->in[X], at));
    if (depth % p->size == 0)
        return v;
    return tc_select(c, tc_bin(c, TC_OP_LT, at[p->last], tc_i64(c, depth)), v, tc_imm(c, p->t, 0));
}

/* The same by number `part` of a byte. */
static const tc_expr *input_of_byte(const product *p, const tc_expr *const *rows, const tc_expr *block, const tc_expr *byte,
                                    const tc_expr *part) {
    return input_at(p, rows, block, tc_add(p->c, tc_mul(p->c, byte, tc_i64(p->c, p->per)), part));
}

/* ---- the input in 8 bits ---- */

/* The largest magnitude of a block. */
static const tc_expr *peak_at(const product *p, const tc_expr *const *rows, const tc_expr *block) {
    tc_graph_shape shape = instead_of_depth(p, 1, &p->n->in[WEIGHTS]->shape.d[1]);
    tc_graph_stage s;
    if (tc_graph_stage_begin(p->l, p->n, PEAKS, &shape, &s)) {
        const tc_expr *within = tc_graph_stage_reduce(p->l, &s, p->size);
        const tc_expr *body = tc_un(p->c, TC_OP_ABS, input_at(p, s.at, s.at[p->last], within));
        tc_graph_stage_end(p->l, &s, TC_RED_MAX, 1, &body);
    }
    return read_rows(p, &s, rows, 1, &block);
}

/* Laid out as dot products want it: what the same part of neighbouring bytes is multiplied by lies side by side. */
static const tc_expr *quantised_at(const product *p, const tc_expr *const *rows, const tc_expr *block, const tc_expr *part,
                                   const tc_expr *byte) {
    tc_ctx *c = p->c;
    const int64_t *w = p->n->in[WEIGHTS]->shape.d, extent[] = {w[1], p->per, w[2]};
    tc_graph_shape shape = instead_of_depth(p, 3, extent);
    tc_graph_stage s;
    if (tc_graph_stage_begin(p->l, p->n, QUANTISED, &shape, &s)) {
        const tc_expr *const *at = s.at + p->last, *x = input_of_byte(p, s.at, at[0], at[2], at[1]);
        const tc_expr *share = tc_div(c, x, peak_at(p, s.at, at[0])); /* of zeros: NaN, which the cast makes 0 */
        const tc_expr *body = tc_cast(c, TC_I8, tc_un(c, TC_OP_ROUND, tc_mul(c, share, tc_imm(c, p->t, LARGEST))));
        tc_graph_stage_end(p->l, &s, TC_RED_NONE, 1, &body);
    }
    return tc_cast(c, TC_I32, read_rows(p, &s, rows, 3, (const tc_expr *[]){block, part, byte}));
}

/* ---- sums of a block ---- */

/* Of the input, by which the zero points are multiplied. */
static const tc_expr *total_at(const product *p, const tc_expr *const *rows, const tc_expr *block) {
    const int64_t *w = p->n->in[WEIGHTS]->shape.d;
    tc_graph_shape shape = instead_of_depth(p, 1, &w[1]);
    tc_graph_stage s;
    if (tc_graph_stage_begin(p->l, p->n, TOTALS, &shape, &s)) {
        const tc_expr *own = s.at[p->last], *body;
        if (p->bytes) {
            const tc_expr *part = tc_graph_stage_reduce(p->l, &s, p->per);
            body = quantised_at(p, s.at, own, part, tc_graph_stage_reduce(p->l, &s, w[2]));
        } else {
            body = input_at(p, s.at, own, tc_graph_stage_reduce(p->l, &s, p->size));
        }
        tc_graph_stage_end(p->l, &s, TC_RED_SUM, 1, &body);
    }
    return read_rows(p, &s, rows, 1, &block);
}

/* Number `part` of byte `byte` of a block, taken out in type t. */
static const tc_expr *number_at(const product *p, tc_dtype t, const tc_expr *column, const tc_expr *block, const tc_expr *byte,
                                const tc_expr *part) {
    tc_ctx *c = p->c;
    int64_t bits = 8 / p->per;
    const tc_expr *v = tc_cast(c, t, tc_graph_value_at(p->l, p->n->in[WEIGHTS], (const tc_expr *[]){column, block, byte}));
    if (bits == 8)
        return v;
    v = tc_bin(c, TC_OP_SHR, v, tc_mul(c, tc_cast(c, t, part), tc_int(c, t, bits)));
    return tc_bin(c, TC_OP_BAND, v, tc_int(c, t, (1 << bits) - 1));
}

/* Of products. The bytes are walked last, as they lie in memory. */
static const tc_expr *sum_at(const product *p, const tc_expr *const *rows, const tc_expr *column, const tc_expr *block) {
    tc_ctx *c = p->c;
    const int64_t *w = p->n->in[WEIGHTS]->shape.d;
    tc_graph_shape shape = instead_of_depth(p, 2, w);
    tc_graph_stage s;
    if (tc_graph_stage_begin(p->l, p->n, SUMS, &shape, &s)) {
        const tc_expr *const *at = s.at + p->last, *part = tc_graph_stage_reduce(p->l, &s, p->per);
        const tc_expr *byte = tc_graph_stage_reduce(p->l, &s, w[2]);
        const tc_expr *x = p->bytes ? quantised_at(p, s.at, at[1], part, byte) : input_of_byte(p, s.at, at[1], byte, part);
        const tc_expr *number = number_at(p, p->bytes ? TC_U8 : TC_I32, at[0], at[1], byte, part);
        const tc_expr *body = tc_mul(c, x, tc_cast(c, p->bytes ? TC_I32 : p->t, number));
        tc_graph_stage_end(p->l, &s, TC_RED_SUM, 1, &body);
    }
    return read_rows(p, &s, rows, 2, (const tc_expr *[]){column, block});
}

/* ---- many rows ---- */

/* Number k of a column, scaled. */
static const tc_expr *weight_at(const product *p, const tc_expr *k, const tc_expr *column) {
    tc_ctx *c = p->c;
    tc_graph_shape shape = {2, {p->n->in[X]->shape.d[p->last], p->n->in[WEIGHTS]->shape.d[0]}};
    tc_graph_stage s;
    if (tc_graph_stage_begin(p->l, p->n, NUMBERS, &shape, &s)) {
        const tc_expr *size = tc_i64(c, p->size), *per = tc_i64(c, p->per),
                      *at[] = {s.at[1], tc_bin(c, TC_OP_DIV, s.at[0], size)};
        const tc_expr *within = tc_bin(c, TC_OP_MOD, s.at[0], size);
        tc_dtype t = zeros_type(p);
        const tc_expr *number = number_at(p, TC_I32, at[0], at[1], tc_graph_index(p->l, tc_bin(c, TC_OP_DIV, within, per)),
                                          tc_graph_index(p->l, tc_bin(c, TC_OP_MOD, within, per)));
        const tc_expr *centred = tc_cast(c, p->t, tc_sub(c, tc_cast(c, t, number), zero_at(p, t, at[0], at[1])));
        const tc_expr *body = tc_mul(c, centred, tc_cast(c, p->t, tc_graph_value_at(p->l, p->n->in[SCALES], at)));
        tc_graph_stage_end(p->l, &s, TC_RED_NONE, 1, &body);
    }
    return tc_graph_stage_read(p->l, &s, 0, (const tc_expr *[]){k, column});
}

static const tc_expr *product_at(const product *p, const tc_expr *const *at, const tc_expr *k) {
    const tc_expr *x[TC_GRAPH_MAX_DIMS];
    for (int d = 0; d < p->last; d++)
        x[d] = at[d];
    x[p->last] = k;
    return tc_mul(p->c, tc_cast(p->c, p->t, tc_graph_value_at(p->l, p->n->in[X], x)), weight_at(p, k, at[p->last]));
}

/* ---- scaled ---- */

/* The sum of a block about the zero point: exact where both are integers. */
static const tc_expr *centred(const product *p, const tc_expr *const *rows, const tc_expr *column, const tc_expr *block) {
    tc_ctx *c = p->c;
    tc_dtype t = p->bytes ? zeros_type(p) : p->t;
    const tc_expr *sum = tc_cast(c, t, sum_at(p, rows, column, block)), *total = tc_cast(c, t, total_at(p, rows, block));
    return tc_cast(c, p->t, tc_sub(c, sum, tc_mul(c, total, zero_at(p, t, column, block))));
}

/* Term of the sum: of a block, or of an element of the depth. */
static const tc_expr *term_at(const product *p, tc_graph_stage *s) {
    tc_ctx *c = p->c;
    const tc_expr *column = s->at[p->last];
    if (p->many)
        return product_at(p, s->at, tc_graph_stage_reduce(p->l, s, p->n->in[X]->shape.d[p->last]));
    const tc_expr *block = tc_graph_stage_reduce(p->l, s, p->n->in[WEIGHTS]->shape.d[1]);
    const tc_expr *scale = tc_cast(c, p->t, tc_graph_value_at(p->l, p->n->in[SCALES], (const tc_expr *[]){column, block}));
    if (p->bytes)
        scale = tc_mul(c, scale, tc_graph_divided(c, peak_at(p, s->at, block), tc_imm(c, p->t, LARGEST)));
    return tc_mul(c, centred(p, s->at, column, block), scale);
}

const tc_expr *tc_graph_at_matmul_blocks(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    product p = product_of(l, n);
    tc_graph_stage s;
    if (tc_graph_stage_begin(l, n, SCALED, &n->out[out]->shape, &s)) {
        const tc_expr *body = term_at(&p, &s);
        tc_graph_stage_end(l, &s, TC_RED_SUM, 1, &body);
    }
    return tc_cast(p.c, n->out[out]->dtype, tc_graph_stage_read(l, &s, 0, idx));
}
