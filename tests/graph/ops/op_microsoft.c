/* What ONNX Runtime's optimiser writes for several operators: random shapes and attributes, evaluated, interpreted and compiled,
 * against loops of this file. TC_SEED=N runs that seed alone. */
#include <math.h>

#include "graph/ops/op_fixture.h"

enum { SEEDS = 6 };

static double at(const fixture *f, int k, int64_t i) {
    return tc_load_f(f->in[k].dtype, f->in[k].data, i);
}

/* ---- activations ---- */

static double gelu(double x) {
    return 0.5 * x * (1 + erf(x / sqrt(2)));
}

static double fast_gelu(double x) {
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static tc_graph_shape table(fixture *f) {
    return (tc_graph_shape){3, {between(f, 1, 3), between(f, 1, 5), between(f, 1, 20)}};
}

static tc_graph_node *make_bias_gelu(fixture *f) {
    tc_graph_shape s = table(f);
    f->note[0] = s.d[2];
    return NODE(f, MS_BIAS_GELU, floats(f, s), floats(f, (tc_graph_shape){1, {s.d[2]}}));
}

static void define_bias_gelu(const fixture *f, double *y, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        y[i] = gelu(at(f, 0, i) + at(f, 1, i % f->note[0]));
}

static tc_graph_node *make_fast_gelu(fixture *f) {
    return NODE(f, MS_FAST_GELU, floats(f, table(f)));
}

static void define_fast_gelu(const fixture *f, double *y, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        y[i] = fast_gelu(at(f, 0, i));
}

static tc_graph_node *make_quick_gelu(fixture *f) {
    return NODE(f, MS_QUICK_GELU, floats(f, table(f)));
}

static void define_quick_gelu(const fixture *f, double *y, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        y[i] = at(f, 0, i) / (1 + exp(-1.702 * at(f, 0, i)));
}

/* ---- normalisations of sums ---- */

/* note: elements of a row, of the skip, with a mean, with a bias */
static tc_graph_node *make_skip(fixture *f, bool mean) {
    tc_graph_shape s = table(f), row = {1, {s.d[2] += 2}}, skip = {2, {s.d[1], s.d[2]}};
    bool flat = below(f, 2), bias = below(f, 2);
    int64_t note[] = {s.d[2], s.d[1] * s.d[2] * (flat ? 1 : s.d[0]), mean, bias};
    memcpy(f->note, note, sizeof note);
    tc_graph_value *x = floats(f, s), *other = floats(f, flat ? skip : s), *gamma = floats(f, row);
    tc_graph_value *beta = mean ? floats(f, row) : NULL, *own = bias ? floats(f, row) : NULL;
    tc_graph_node *n = mean ? NODE(f, MS_SKIP_LAYER_NORMALIZATION, x, other, gamma, beta, own)
                            : NODE(f, MS_SKIP_SIMPLIFIED_LAYER_NORMALIZATION, x, other, gamma, own);
    tc_graph_set_epsilon(f->g, n, 0.125);
    return n;
}

static tc_graph_node *make_skip_layer_norm(fixture *f) {
    return make_skip(f, true);
}

static tc_graph_node *make_skip_rms_norm(fixture *f) {
    return make_skip(f, false);
}

static void define_skip(const fixture *f, double *y, int64_t n) {
    int64_t width = f->note[0];
    bool with_mean = f->note[2], bias = f->note[3];
    for (int64_t row = 0; row < n; row += width) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < width; i++) {
            y[row + i] = at(f, 0, row + i) + at(f, 1, (row + i) % f->note[1]) + (bias ? at(f, 3 + with_mean, i) : 0);
            sum += y[row + i];
        }
        double mean = with_mean ? sum / (double)width : 0;
        for (int64_t i = 0; i < width; i++)
            squares += (y[row + i] - mean) * (y[row + i] - mean);
        for (int64_t i = 0; i < width; i++)
            y[row + i] =
                (y[row + i] - mean) / sqrt(squares / (double)width + 0.125) * at(f, 2, i) + (with_mean ? at(f, 3, i) : 0);
    }
}

/* ---- contractions ---- */

/* note: batch, m, k, n, and of each operand whether it is transposed, and across the batch */
static tc_graph_node *make_fused_matmul(fixture *f) {
    int64_t b = between(f, 1, 3), m = between(f, 1, 5), k = between(f, 1, 5), n = between(f, 1, 20);
    int64_t note[] = {b, m, k, n, below(f, 2), below(f, 2), below(f, 2), below(f, 2)};
    memcpy(f->note, note, sizeof note);
    tc_graph_value *in[2];
    for (int o = 0; o < 2; o++) {
        int64_t rows = note[1 + o], columns = note[2 + o], first = note[4 + o] ? columns : rows,
                last = note[4 + o] ? rows : columns;
        in[o] = floats(f, note[6 + o] ? (tc_graph_shape){3, {first, b, last}} : (tc_graph_shape){3, {b, first, last}});
    }
    tc_graph_node *node = NODE(f, MS_FUSED_MAT_MUL, in[0], in[1]);
    tc_graph_set_alpha(f->g, node, 0.5);
    tc_graph_set_trans_a(f->g, node, note[4]);
    tc_graph_set_trans_b(f->g, node, note[5]);
    tc_graph_set_trans_batch_a(f->g, node, note[6]);
    tc_graph_set_trans_batch_b(f->g, node, note[7]);
    return node;
}

static double factor(const fixture *f, int o, int64_t b, int64_t row, int64_t column) {
    int64_t rows = f->note[1 + o], columns = f->note[2 + o];
    bool turned = f->note[4 + o];
    int64_t first = turned ? column : row, last = turned ? row : column, width = turned ? rows : columns;
    int64_t height = turned ? columns : rows;
    return at(f, o, (f->note[6 + o] ? first * f->note[0] + b : b * height + first) * width + last);
}

static void define_fused_matmul(const fixture *f, double *y, int64_t count) {
    int64_t m = f->note[1], k = f->note[2], n = f->note[3];
    for (int64_t i = 0; i < count; i++) {
        y[i] = 0;
        for (int64_t p = 0; p < k; p++)
            y[i] += 0.5 * factor(f, 0, i / (m * n), i / n % m, p) * factor(f, 1, i / (m * n), p, i % n);
    }
}

/* ---- weights of few bits ---- */

/* note: rows, columns, depth, size of a block, bits, where zero points are: -1 nowhere, else bytes (0) or floats (1);
 * accuracy_level */
static tc_graph_node *make_matmul_nbits(fixture *f) {
    static const int64_t widths[] = {2, 4, 8};
    int64_t bits = PICK(f, widths), size = 16 << below(f, 2), depth = size * between(f, 1, 3) + (below(f, 3) ? 0 : 5);
    int64_t note[] = {below(f, 2) ? between(f, 1, 3) : between(f, 8, 20),
                      between(f, 1, 40),
                      depth,
                      size,
                      bits,
                      between(f, -1, 1),
                      4 * below(f, 2)},
            n = note[1];
    int64_t count = (depth + size - 1) / size, packed = (count * bits + 7) / 8;
    memcpy(f->note, note, sizeof note);
    tc_graph_value *x = floats(f, (tc_graph_shape){2, {note[0], depth}});
    tc_graph_value *w = integers(f, TC_U8, (tc_graph_shape){3, {n, count, size * bits / 8}}, 0, 256);
    tc_graph_value *scale = floats(f, (tc_graph_shape){1, {n * count}}), *zero = NULL;
    if (note[5] == 0)
        zero = integers(f, TC_U8, (tc_graph_shape){1, {n * packed}}, 0, 256);
    if (note[5] == 1)
        zero = floats(f, (tc_graph_shape){2, {n, count}});
    tc_graph_node *node = NODE(f, MS_MAT_MUL_NBITS, x, w, scale, zero);
    tc_graph_set_bits(f->g, node, bits);
    tc_graph_set_block_size(f->g, node, size);
    tc_graph_set_accuracy_level(f->g, node, note[6]);
    return node;
}

/* Element k of row m, or what stands for it in 8 bits: its block's largest magnitude is 127 steps. */
static double element_in_block(const fixture *f, int64_t m, int64_t k) {
    int64_t depth = f->note[2], size = f->note[3], first = k / size * size;
    float peak = 0, x = (float)at(f, 0, m * depth + k);
    for (int64_t i = first; i < first + size && i < depth; i++)
        peak = fmaxf(peak, fabsf((float)at(f, 0, m * depth + i)));
    if (f->note[6] != 4)
        return x;
    return peak > 0 ? nearbyintf(x * (127 / peak)) * (double)peak / 127 : 0;
}

/* Number i of those that are packed from byte `from` of input k on, the low bits first. */
static int packed_number(const fixture *f, int k, int64_t from, int64_t i, int64_t bits) {
    const uint8_t *bytes = f->in[k].data;
    return bytes[from + i * bits / 8] >> (i * bits % 8) & ((1 << bits) - 1);
}

static void define_matmul_nbits(const fixture *f, double *y, int64_t total) {
    int64_t n = f->note[1], depth = f->note[2], size = f->note[3], bits = f->note[4], zeros = f->note[5];
    int64_t count = (depth + size - 1) / size, packed = (count * bits + 7) / 8;
    for (int64_t i = 0; i < total; i++) {
        y[i] = 0;
        for (int64_t k = 0; k < depth; k++) {
            int64_t column = i % n, block = column * count + k / size;
            double w = packed_number(f, 1, block * size * bits / 8, k % size, bits);
            double zero = zeros < 0    ? 1 << (bits - 1)
                          : zeros == 0 ? packed_number(f, 3, column * packed, k / size, bits)
                                       : at(f, 3, block);
            y[i] += element_in_block(f, i / n, k) * (w - zero) * at(f, 2, block);
        }
    }
}

/* ---- attention with a cache ---- */

/* note: batch, rows, heads, shared heads, width, past, window */
static tc_graph_node *make_group_query(fixture *f) {
    int64_t b = between(f, 1, 2), past = between(f, 1, 5), rows = between(f, 1, 3), shared = between(f, 1, 2);
    int64_t note[] = {b, rows, shared * between(f, 1, 3), shared, 2 * between(f, 1, 4), past, between(f, 1, 4)};
    int32_t total = (int32_t)(past + rows);
    memcpy(f->note, note, sizeof note);
    tc_graph_shape q = {3, {b, rows, note[2] * note[4]}}, k = {3, {b, rows, shared * note[4]}};
    tc_graph_shape cache = {4, {b, shared, past, note[4]}};
    tc_graph_value *in[5];
    for (int i = 0; i < 5; i++)
        in[i] = floats(f, i == 0 ? q : i < 3 ? k : cache);
    tc_graph_value *lengths = integers(f, TC_I32, (tc_graph_shape){1, {b}}, rows - 1, total);
    tc_graph_value *all = constant(f, tc_graph_tensor_view(TC_I32, &(tc_graph_shape){0}, &total));
    tc_graph_node *n = NODE(f, MS_GROUP_QUERY_ATTENTION, in[0], in[1], in[2], in[3], in[4], lengths, all);
    tc_graph_set_num_heads(f->g, n, note[2]);
    tc_graph_set_kv_num_heads(f->g, n, shared);
    tc_graph_set_local_window_size(f->g, n, note[6]);
    return n;
}

/* Row `t` of sequence b, of keys (k 1) or values (2): of the past, or new. */
static double cached(const fixture *f, int k, int64_t b, int64_t head, int64_t t, int64_t i) {
    int64_t rows = f->note[1], shared = f->note[3], width = f->note[4], past = f->note[5];
    int64_t before = tc_load_i(TC_I32, f->in[5].data, b) + 1 - rows;
    if (t < before)
        return at(f, k + 2, ((b * shared + head) * past + t) * width + i);
    return at(f, k, (b * rows + t - before) * shared * width + head * width + i);
}

static void define_group_query(const fixture *f, double *y, int64_t total) {
    int64_t rows = f->note[1], heads = f->note[2], shared = f->note[3], width = f->note[4], window = f->note[6];
    for (int64_t o = 0; o < total; o++) {
        int64_t i = o % width, head = o / width % heads, row = o / width / heads % rows, b = o / width / heads / rows;
        int64_t own = head / (heads / shared), last = tc_load_i(TC_I32, f->in[5].data, b) + 1 - rows + row;
        double sum = 0, all = 0;
        for (int64_t t = last < window ? 0 : last - window + 1; t <= last; t++) {
            double score = 0;
            for (int64_t j = 0; j < width; j++)
                score += at(f, 0, o / width / heads * heads * width + head * width + j) * cached(f, 1, b, own, t, j);
            all += exp(score / sqrt((double)width));
            sum += exp(score / sqrt((double)width)) * cached(f, 2, b, own, t, i);
        }
        y[o] = sum / all;
    }
}

/* ---- rotary embeddings ---- */

/* note: elements of a row, heads, elements of a head, how many of them are turned, and whether pairs stand side by side. What is
 * not turned may be NaN or infinite. */
static tc_graph_node *make_rotary(fixture *f) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, 1};
    int64_t batch = between(f, 1, 2), rows = between(f, 1, 5), heads = between(f, 1, 3), half = between(f, 1, 4);
    int64_t width = 2 * (half + below(f, 4)), places = 6, interleaved = below(f, 2);
    const int64_t note[] = {heads * width, heads, width, 2 * half, interleaved};
    tc_graph_shape tables = {2, {places, half}};
    memcpy(f->note, note, sizeof note);
    tc_graph_value *x = floats(f, (tc_graph_shape){3, {batch, rows, heads * width}});
    for (int64_t i = 0; i < tc_graph_shape_count(&x->shape); i++)
        if (i % width >= 2 * half)
            ((float *)f->in[0].data)[i] = (float)PICK(f, odd);
    tc_graph_value *at = integers(f, TC_I64, (tc_graph_shape){2, {batch, rows}}, 0, places);
    tc_graph_node *n = NODE(f, MS_ROTARY_EMBEDDING, x, at, floats(f, tables), floats(f, tables));
    tc_graph_set_interleaved(f->g, n, interleaved);
    tc_graph_set_num_heads(f->g, n, heads);
    tc_graph_set_rotary_embedding_dim(f->g, n, 2 * half);
    return n;
}

static void define_rotary(const fixture *f, double *y, int64_t n) {
    int64_t row = f->note[0], width = f->note[2], part = f->note[3], half = part / 2;
    bool interleaved = f->note[4];
    for (int64_t i = 0; i < n; i++) {
        int64_t k = i % width, pair = interleaved ? k / 2 : k % half, place = tc_load_i(TC_I64, f->in[1].data, i / row);
        bool second = interleaved ? k % 2 == 1 : k >= half;
        int64_t other = i + (second ? -1 : 1) * (interleaved ? 1 : half);
        y[i] = k >= part ? at(f, 0, i)
                         : at(f, 0, i) * at(f, 2, place * half + pair) +
                               (second ? 1 : -1) * at(f, 0, other) * at(f, 3, place * half + pair);
    }
}

/* ---- quantised ---- */

enum { ADD_ZERO = 7 };
static const double add_scale = 0.25, sum_scale = 0.43; /* no sum lies between two steps */

static tc_graph_node *make_qlinear_add(fixture *f) {
    tc_graph_shape s = table(f), one = {0};
    f->note[0] = s.d[2];
    tc_graph_value *a = integers(f, TC_U8, s, 0, 256), *b = integers(f, TC_U8, (tc_graph_shape){1, {s.d[2]}}, 0, 256);
    tc_graph_value *zero = constant(f, random_tensor(f, TC_U8, one, ADD_ZERO, ADD_ZERO + 1));
    tc_graph_value *step = number(f, (float)add_scale);
    return NODE(f, MS_QLINEAR_ADD, a, step, zero, b, step, NULL, number(f, (float)sum_scale), zero);
}

static void define_qlinear_add(const fixture *f, double *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        double a = (double)tc_load_i(TC_U8, f->in[0].data, i) - ADD_ZERO;
        double sum = add_scale * (a + (double)tc_load_i(TC_U8, f->in[1].data, i % f->note[0]));
        y[i] = fmin(fmax(nearbyint(sum / sum_scale) + ADD_ZERO, 0), 255);
    }
}

/* ---- running ---- */

typedef void define_fn(const fixture *f, double *y, int64_t n);

static void run_seed(const char *name, make_fn *make, define_fn *define, uint64_t seed, const tc_target *t) {
    fixture f = fixture_of(seed);
    append(&f, name, make(&f), 1);
    int64_t n = tc_graph_shape_count(&f.g->outputs.data[0].value->shape);
    double *y = tc_xcalloc((size_t)n + 1, sizeof *y);
    define(&f, y, n);
    check_values(&f, name, t, y);
    free(y);
    free_fixture(&f);
}

static void test_definitions(void **state) {
    (void)state;
    static const struct {
        const char *name;
        make_fn *make;
        define_fn *define;
    } families[] = {{"BiasGelu", make_bias_gelu, define_bias_gelu},
                    {"FastGelu", make_fast_gelu, define_fast_gelu},
                    {"QuickGelu", make_quick_gelu, define_quick_gelu},
                    {"SkipLayerNormalization", make_skip_layer_norm, define_skip},
                    {"SkipSimplifiedLayerNormalization", make_skip_rms_norm, define_skip},
                    {"FusedMatMul", make_fused_matmul, define_fused_matmul},
                    {"MatMulNBits", make_matmul_nbits, define_matmul_nbits},
                    {"GroupQueryAttention", make_group_query, define_group_query},
                    {"RotaryEmbedding", make_rotary, define_rotary},
                    {"QLinearAdd", make_qlinear_add, define_qlinear_add}};
    const char *one = getenv("TC_SEED");
    tc_target *t;
    assert_ok(tc_target_parse("native", &t, err));
    for (size_t i = 0; i < TC_LEN(families); i++)
        for (uint64_t seed = one ? strtoull(one, NULL, 10) : 1; seed <= (one ? strtoull(one, NULL, 10) : test_some_graphs(SEEDS));
             seed++)
            run_seed(families[i].name, families[i].make, families[i].define, seed, t);
    tc_target_free(t);
}

/* ---- messages ---- */

/* Each of some queries may see the keys up to its own place, of 4. */
static tc_status append_unidirectional(int64_t queries, tc_error *err) {
    fixture f = fixture_of(1);
    tc_graph_shape q = {3, {1, queries, 8}}, k = {3, {1, 4, 8}};
    tc_graph_node *node = NODE(&f, MS_MULTI_HEAD_ATTENTION, floats(&f, q), floats(&f, k), floats(&f, k));
    tc_graph_set_num_heads(f.g, node, 2);
    tc_graph_set_unidirectional(f.g, node, 1);
    return try_append(&f, node, err);
}

static tc_status append_fused_conv(const char *activation, size_t numbers, tc_error *err) {
    fixture f = fixture_of(1);
    const float params[] = {0.1F, 0.2F, 0.3F};
    tc_graph_node *node =
        NODE(&f, MS_FUSED_CONV, floats(&f, (tc_graph_shape){4, {1, 1, 4, 4}}), floats(&f, (tc_graph_shape){4, {1, 1, 3, 3}}));
    tc_graph_set_activation(f.g, node, activation);
    tc_graph_set_activation_params(f.g, node, params, numbers);
    return try_append(&f, node, err);
}

static tc_status append_skip(tc_graph_shape skip, int64_t row, tc_error *err) {
    fixture f = fixture_of(1);
    tc_graph_node *node = NODE(&f, MS_SKIP_LAYER_NORMALIZATION, floats(&f, (tc_graph_shape){3, {2, 3, 4}}), floats(&f, skip),
                               floats(&f, (tc_graph_shape){1, {row}}));
    return try_append(&f, node, err);
}

/* A product of 32 x `columns`, with what is not as it should be. */
static tc_status append_nbits(int64_t bits, int64_t size, int64_t scales, float scale, bool groups, tc_error *err) {
    fixture f = fixture_of(1);
    float all[8] = {1, 1, 1, scale, 1, 1, 1, 1};
    tc_graph_value *s = constant(&f, tc_graph_tensor_view(TC_F32, &(tc_graph_shape){1, {scales}}, all));
    tc_graph_value *x = floats(&f, (tc_graph_shape){2, {1, 32}});
    tc_graph_value *w = integers(&f, TC_U8, (tc_graph_shape){3, {4, 1, 16}}, 0, 255);
    tc_graph_value *order = groups ? integers(&f, TC_I32, (tc_graph_shape){1, {32}}, 0, 1) : NULL;
    tc_graph_node *node = NODE(&f, MS_MAT_MUL_NBITS, x, w, s, NULL, order);
    tc_graph_set_bits(f.g, node, bits);
    tc_graph_set_block_size(f.g, node, size);
    tc_graph_set_depth(f.g, node, 32);
    return try_append(&f, node, err);
}

static tc_status append_group_query(int64_t heads, int32_t total, tc_error *err) {
    fixture f = fixture_of(1);
    tc_graph_value *x = floats(&f, (tc_graph_shape){3, {1, 2, 16}});
    tc_graph_value *lengths = integers(&f, TC_I32, (tc_graph_shape){1, {1}}, 1, 2);
    tc_graph_value *all = constant(&f, tc_graph_tensor_view(TC_I32, &(tc_graph_shape){0}, &total));
    tc_graph_node *node = NODE(&f, MS_GROUP_QUERY_ATTENTION, x, NULL, NULL, NULL, NULL, lengths, all);
    tc_graph_set_num_heads(f.g, node, heads);
    tc_graph_set_kv_num_heads(f.g, node, 1);
    return try_append(&f, node, err);
}

static tc_status append_qgemm(float a_scale, int64_t columns, tc_error *err) {
    fixture f = fixture_of(1);
    float steps_of_columns[] = {1, 1, 1, 1};
    tc_graph_value *zero = integers(&f, TC_U8, (tc_graph_shape){0}, 0, 9);
    tc_graph_node *node =
        NODE(&f, MS_QGEMM, integers(&f, TC_U8, (tc_graph_shape){2, {2, 3}}, 0, 9), number(&f, a_scale), zero,
             integers(&f, TC_U8, (tc_graph_shape){2, {3, 4}}, 0, 9), scales(&f, (int)columns, steps_of_columns), zero);
    return try_append(&f, node, err);
}

static tc_status append_quantize(float scale, tc_error *err) {
    fixture f = fixture_of(1);
    tc_graph_node *node = NODE(&f, QUANTIZE_LINEAR, floats(&f, (tc_graph_shape){1, {4}}), number(&f, scale));
    return try_append(&f, node, err);
}

static void test_refusals(void **state) {
    (void)state;
    assert_fails(TC_BAD_INPUT, append_fused_conv("Softsign", 0, err), "node 'op' (com.microsoft.FusedConv)", "'Softsign'",
                 "HardSigmoid");
    assert_fails(TC_BAD_INPUT, append_fused_conv("Clip", 1, err), "activation_params has 1 numbers, but Clip takes 2");
    assert_fails(TC_BAD_INPUT, append_skip((tc_graph_shape){2, {2, 4}}, 4, err), "does not broadcast");
    assert_fails(TC_BAD_INPUT, append_skip((tc_graph_shape){2, {3, 4}}, 3, err), "must have 4 elements in one dimension");
    assert_ok(append_nbits(4, 32, 4, 1, false, err));
    assert_fails(TC_BAD_INPUT, append_nbits(3, 32, 4, 1, false, err), "node 'op' (com.microsoft.MatMulNBits)", "bits is 3");
    assert_fails(TC_BAD_INPUT, append_nbits(4, 24, 4, 1, false, err), "block_size is 24", "power of two");
    assert_fails(TC_BAD_INPUT, append_nbits(4, 64, 4, 1, false, err), "the weights", "u8[4,1,32]", "u8[4,1,16]");
    assert_fails(TC_BAD_INPUT, append_nbits(4, 32, 5, 1, false, err), "must have 4 x 1 elements", "f32[5]");
    assert_fails(TC_BAD_INPUT, append_nbits(4, 32, 4, NAN, false, err), "a scale of", "not a finite number");
    assert_fails(TC_BAD_INPUT, append_nbits(4, 32, 4, 1, true, err), "g_idx", "desc_act");
    assert_fails(TC_BAD_INPUT, append_quantize(0, err), "node 'op' (QuantizeLinear)", "scale 0 of 'c0' is 0");
    assert_fails(TC_BAD_INPUT, append_quantize(NAN, err), "which cannot be a divisor");
    assert_ok(append_qgemm(0.5F, 4, err));
    assert_fails(TC_BAD_INPUT, append_qgemm(0, 4, err), "node 'op' (com.microsoft.QGemm)", "scale 0",
                 "must be a positive number");
    assert_fails(TC_BAD_INPUT, append_qgemm(NAN, 4, err), "must be a positive number");
    assert_fails(TC_BAD_INPUT, append_qgemm(1, 3, err), "has 3 elements; it must have 1, or one for each column");
    assert_ok(append_group_query(2, 2, err));
    assert_fails(TC_BAD_INPUT, append_group_query(3, 2, err), "num_heads (3)", "rows of 16 elements");
    assert_fails(TC_BAD_INPUT, append_unidirectional(2, err), "2 queries", "no place among 4 keys");
    assert_ok(append_unidirectional(0, err));
    assert_fails(TC_BAD_INPUT, append_group_query(2, 3, err), "total_sequence_length", "from 2 to 2");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_definitions), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
