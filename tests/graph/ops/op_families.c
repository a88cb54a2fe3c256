/* Families of operators, each with random attributes, shapes and types: what the reference evaluator gives, the tensor
 * expressions give when interpreted and when compiled. Einsum and the quantised operators are also checked against loops of this
 * file. TC_SEED=N runs that seed alone. */
#include <math.h>

#include "graph/ir/build.h"
#include "graph/ops/op_fixture.h"

enum { SEEDS = 10 };

/* ---- the families ---- */

static tc_graph_node *make_resize(fixture *f) {
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const char *const coords[] = {"half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",
                                         "align_corners", "asymmetric",           "tf_crop_and_resize"};
    static const char *const rounds[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    static const float factors[] = {0.5F, 0.6F, 1, 1.5F, 2, 3, 0.3F};
    tc_graph_shape s = image(f, (int)between(f, 1, 3));
    int n = s.ndim;
    float scale[TC_GRAPH_MAX_DIMS] = {1, 1}, roi[2 * TC_GRAPH_MAX_DIMS] = {0};
    int64_t sizes[TC_GRAPH_MAX_DIMS] = {s.d[0], s.d[1]};
    bool by_sizes = below(f, 2);
    for (int d = 0; d < n; d++) {
        scale[d] = d < 2 ? 1 : PICK(f, factors);
        sizes[d] = d < 2 ? s.d[d] : between(f, 1, 12);
        roi[d] = d < 2 ? 0 : (float)tc_rng_unit(&f->rng) * 0.4F - 0.2F;
        roi[d + n] = d < 2 ? 1 : (float)tc_rng_unit(&f->rng) * 0.4F + 0.8F;
    }
    tc_graph_node *node = NODE(f, RESIZE, floats(f, s), scales(f, 2 * n, roi), by_sizes ? NULL : scales(f, n, scale),
                               by_sizes ? list(f, n, sizes) : NULL);
    tc_graph_set_mode(f->g, node, PICK(f, modes));
    tc_graph_set_coordinate_transformation_mode(f->g, node, PICK(f, coords));
    tc_graph_set_nearest_mode(f->g, node, PICK(f, rounds));
    tc_graph_set_antialias(f->g, node, below(f, 2));
    tc_graph_set_exclude_outside(f->g, node, below(f, 2));
    tc_graph_set_extrapolation_value(f->g, node, 7);
    return node;
}

/* Floats of a byte have no zero point but 0. */
static tc_graph_value *integers_or_zero(fixture *f, tc_dtype t, tc_graph_shape s) {
    tc_graph_tensor v;
    assert_ok(tc_graph_tensor_alloc(&v, t, &s, err));
    for (int64_t i = 0; !tc_dtype_is_float(t) && i < tc_graph_tensor_count(&v); i++)
        tc_store_i(t, v.data, i, below(f, 8));
    return tc_dtype_is_float(t) ? constant(f, v) : input_of(f, v);
}

static tc_graph_node *make_quantize(fixture *f) {
    static const tc_dtype types[] = {TC_U8, TC_I8, TC_U16, TC_I16};
    tc_dtype t = PICK(f, types);
    int64_t c = below(f, 2) ? between(f, 2, 5) : 0;
    tc_graph_value *x = floats(f, (tc_graph_shape){3, {2, c ? c : 3, between(f, 1, 20)}}), *step = steps(f, c);
    tc_graph_value *zero = integers(f, t, (tc_graph_shape){c > 0, {c}}, 0, 100);
    return below(f, 4) ? NODE(f, QUANTIZE_LINEAR, x, step, zero) : NODE(f, QUANTIZE_LINEAR, x, step);
}

static tc_graph_node *make_dequantize(fixture *f) {
    static const tc_dtype types[] = {TC_U8, TC_I8, TC_U16, TC_I16, TC_I32};
    tc_dtype t = PICK(f, types);
    int64_t block = between(f, 1, 4), n = between(f, 2, 9), blocks = (n + block - 1) / block;
    tc_graph_value *x = integers(f, t, (tc_graph_shape){2, {3, n}}, 0, 100);
    tc_graph_tensor step = random_tensor(f, TC_F32, (tc_graph_shape){2, {3, blocks}}, 0, 0);
    tc_graph_value *zero = integers(f, t, (tc_graph_shape){2, {3, blocks}}, 0, 100);
    tc_graph_node *node = NODE(f, DEQUANTIZE_LINEAR, x, input_of(f, step), zero);
    tc_graph_set_block_size(f->g, node, block);
    return node;
}

/* What is only stored: floats of a byte and integers of 4 bits, from what they are made of and back. */
static const tc_dtype STORED[] = {TC_F8E4M3FN, TC_F8E4M3FNUZ, TC_F8E5M2, TC_F8E5M2FNUZ, TC_I4, TC_U4, TC_F4E2M1, TC_F8E8M0};

static tc_graph_node *make_narrow_cast(fixture *f) {
    static const tc_dtype from[] = {TC_F32,      TC_F16,        TC_F64, TC_I32,    TC_U8,
                                    TC_F8E4M3FN, TC_F8E5M2FNUZ, TC_I4,  TC_F4E2M1, TC_F8E8M0};
    tc_dtype to = PICK(f, STORED), t = PICK(f, from);
    tc_graph_tensor x = random_tensor(f, t, (tc_graph_shape){2, {between(f, 1, 5), between(f, 1, 40)}}, 0, t == TC_I4 ? 8 : 200);
    for (int64_t i = 0; tc_dtype_is_float(t) && i < tc_graph_tensor_count(&x); i++)
        tc_store_f(t, x.data, i,
                   below(f, 20)  ? ldexp(tc_load_f(t, x.data, i), (int)between(f, -12, 16))
                   : below(f, 2) ? NAN
                                 : INFINITY);
    tc_graph_node *n = NODE(f, CAST, input_of(f, x));
    tc_graph_set_to(f->g, n, tc_graph_dtype_to_onnx(to));
    tc_graph_set_saturate(f->g, n, below(f, 2));
    static const char *const modes[] = {"up", "down", "nearest"};
    tc_graph_set_round_mode(f->g, n, PICK(f, modes));
    return n;
}

static tc_graph_node *make_wide_cast(fixture *f) {
    static const tc_dtype to[] = {TC_F32, TC_F16, TC_F64, TC_BOOL};
    tc_dtype t = PICK(f, STORED);
    tc_graph_tensor x;
    assert_ok(tc_graph_tensor_alloc(&x, t, &(tc_graph_shape){2, {2, 128}}, err)); /* every code, odd and even places apart */
    for (int i = 0; i < 256; i++)
        if (tc_dtype_is_float(t))
            ((uint8_t *)x.data)[i] = (uint8_t)(i * 3 & ((1 << tc_dtype_bits(t)) - 1));
        else
            tc_store_i(t, x.data, i, i);
    tc_graph_node *n = NODE(f, CAST, input_of(f, x));
    tc_graph_set_to(f->g, n, tc_graph_dtype_to_onnx(PICK(f, to)));
    return n;
}

/* Powers of two are scales, nothing that is scaled. */
static tc_dtype quantised(fixture *f) {
    return STORED[below(f, (int)TC_LEN(STORED) - 1)];
}

static tc_graph_node *make_quantize_stored(fixture *f) {
    tc_dtype t = quantised(f);
    int64_t c = below(f, 2) ? between(f, 2, 5) : 0;
    tc_graph_value *x = floats(f, (tc_graph_shape){3, {2, c ? c : 3, between(f, 1, 20)}}), *step = steps(f, c);
    return NODE(f, QUANTIZE_LINEAR, x, step, integers_or_zero(f, t, (tc_graph_shape){c > 0, {c}}));
}

static tc_graph_node *make_dequantize_stored(fixture *f) {
    tc_dtype t = quantised(f), powers = below(f, 2) ? TC_F8E8M0 : TC_F32;
    int64_t block = between(f, 1, 4), n = between(f, 2, 9), blocks = (n + block - 1) / block;
    tc_graph_value *x = input_of(f, random_tensor(f, t, (tc_graph_shape){2, {3, n}}, 0, 8));
    tc_graph_tensor step = random_tensor(f, powers, (tc_graph_shape){2, {3, blocks}}, 0, 0);
    tc_graph_node *node =
        NODE(f, DEQUANTIZE_LINEAR, x, input_of(f, step), integers_or_zero(f, t, (tc_graph_shape){2, {3, blocks}}));
    tc_graph_set_block_size(f->g, node, block);
    return node;
}

/* Weights of bytes or of 4 bits for a few rows, with scales and zero points for all, by column or by block: perhaps packed. */
static tc_graph_node *make_few_rows(fixture *f) {
    static const tc_dtype types[] = {TC_I8, TC_U8, TC_I4, TC_U4};
    static const char *const name = "w";
    tc_dtype t = PICK(f, types);
    bool narrow = tc_dtype_bits(t) == 4;
    int64_t k = between(f, 10, 100), n = between(f, 1, 40), block = 16 << below(f, 3), how = below(f, 3);
    int64_t least = tc_dtype_is_signed(t) ? narrow ? -8 : -128 : 0, most = least + (narrow ? 16 : 256);
    tc_graph_shape of_columns = {1, {n}}, of_blocks = {2, {(k + block - 1) / block, n}}, one = {0};
    tc_graph_shape s = how == 0 ? one : how == 1 ? of_columns : of_blocks;
    tc_graph_tensor w = random_tensor(f, t, (tc_graph_shape){2, {k, n}}, least, most), step = random_tensor(f, TC_F32, s, 0, 0);
    tc_graph_tensor zero = random_tensor(f, t, s, least, most);
    for (int64_t i = 0; i < tc_graph_tensor_count(&step); i++)
        ((float *)step.data)[i] = fabsf(((float *)step.data)[i]) * 0.01F + 0.001F;
    tc_graph_value *z = below(f, 2) ? constant(f, zero) : NULL;
    if (!z)
        tc_graph_tensor_free(&zero);
    tc_graph_node *dq = NODE(f, DEQUANTIZE_LINEAR, constant(f, w), constant(f, step), z);
    tc_graph_set_axis(f->g, dq, how == 2 ? 0 : 1);
    if (how == 2)
        tc_graph_set_block_size(f->g, dq, block);
    assert_ok(tc_graph_append(f->g, dq, &name, 1, err));
    tc_graph_value *x = floats(f, (tc_graph_shape){2, {between(f, 1, 12), k}});
    return NODE(f, MATMUL, x, tc_graph_find_value(f->g, name));
}

static tc_graph_node *make_stored_pad(fixture *f) {
    tc_dtype t = PICK(f, STORED);
    tc_graph_tensor x = random_tensor(f, t, (tc_graph_shape){2, {between(f, 1, 5), between(f, 1, 20)}}, 0, 8);
    double fill = 3;
    tc_graph_tensor value;
    assert_ok(tc_graph_tensor_alloc(&value, t, &(tc_graph_shape){0}, err));
    tc_graph_tensor_from_f64(&value, &fill);
    int64_t pads[] = {1, 0, below(f, 3), 2};
    return NODE(f, PAD, input_of(f, x), list(f, 4, pads), constant(f, value));
}

static tc_graph_node *make_qlinear_conv(fixture *f) {
    tc_graph_shape s = image(f, 2);
    int64_t groups = between(f, 1, 2), per = between(f, 1, 3), m = groups * between(f, 1, 3);
    s.d[1] = groups * per;
    tc_dtype xt = below(f, 2) ? TC_U8 : TC_I8, wt = below(f, 2) ? TC_U8 : TC_I8;
    tc_graph_value *x = integers(f, xt, s, 0, 100), *w = integers(f, wt, (tc_graph_shape){4, {m, per, 3, 2}}, 0, 100);
    bool by_channel = below(f, 2);
    tc_graph_shape one = {0}, all = {1, {m}};
    tc_graph_node *node = NODE(f, QLINEAR_CONV, x, number(f, 0.02F), integers(f, xt, one, 0, 20), w,
                               by_channel ? steps(f, m) : number(f, 0.01F), integers(f, wt, by_channel ? all : one, 0, 20),
                               number(f, 0.5F), integers(f, xt, one, 0, 20), integers(f, TC_I32, all, -500, 500));
    tc_graph_set_group(f->g, node, groups);
    tc_graph_set_pads(f->g, node, (const int64_t[]){1, 0, 1, 1}, 4);
    tc_graph_set_strides(f->g, node, (const int64_t[]){1, 1 + below(f, 2)}, 2);
    return node;
}

static tc_graph_node *make_qlinear_matmul(fixture *f) {
    int64_t b = between(f, 1, 3), m = between(f, 1, 6), k = between(f, 1, 9), n = between(f, 1, 6);
    tc_graph_shape one = {0};
    return NODE(f, QLINEAR_MAT_MUL, integers(f, TC_U8, (tc_graph_shape){3, {b, m, k}}, 0, 255), number(f, 0.02F),
                integers(f, TC_U8, one, 0, 100), integers(f, TC_I8, (tc_graph_shape){2, {k, n}}, -128, 127), number(f, 0.01F),
                integers(f, TC_I8, one, -5, 5), number(f, 0.3F), integers(f, TC_U8, one, 0, 200));
}

static tc_graph_node *make_dynamic_quantize(fixture *f) {
    return NODE(f, DYNAMIC_QUANTIZE_LINEAR, floats(f, image(f, 1)));
}

static tc_graph_node *make_instance_norm(fixture *f) {
    tc_graph_shape s = image(f, (int)between(f, 1, 3)), c = {1, {s.d[1]}};
    return NODE(f, INSTANCE_NORMALIZATION, floats(f, s), floats(f, c), floats(f, c));
}

static tc_graph_node *make_group_norm(fixture *f) {
    tc_graph_shape s = image(f, (int)between(f, 1, 2));
    int64_t groups = between(f, 1, 3);
    s.d[1] = groups * between(f, 1, 3);
    tc_graph_shape c = {1, {s.d[1]}};
    tc_graph_node *node = NODE(f, GROUP_NORMALIZATION, floats(f, s), floats(f, c), floats(f, c));
    tc_graph_set_num_groups(f->g, node, groups);
    return node;
}

static tc_graph_node *make_lrn(fixture *f) {
    tc_graph_node *node = NODE(f, LRN, floats(f, image(f, (int)between(f, 1, 2))));
    tc_graph_set_size(f->g, node, between(f, 1, 5));
    tc_graph_set_alpha(f->g, node, 0.5);
    return node;
}

static tc_graph_node *make_lp_pool(fixture *f) {
    tc_graph_shape s = image(f, 2);
    tc_graph_node *node = NODE(f, LP_POOL, floats(f, s));
    tc_graph_set_p(f->g, node, between(f, 1, 3));
    tc_graph_set_ceil_mode(f->g, node, below(f, 2));
    tc_graph_set_kernel_shape(f->g, node, (const int64_t[]){between(f, 1, 3), between(f, 1, 3)}, 2);
    tc_graph_set_strides(f->g, node, (const int64_t[]){between(f, 1, 3), between(f, 1, 3)}, 2);
    return node;
}

static tc_graph_node *make_max_pool(fixture *f) {
    tc_graph_shape s = image(f, (int)between(f, 1, 3));
    tc_graph_node *node = NODE(f, MAX_POOL, integers(f, TC_I8, s, -3, 3)); /* many are equal: the first counts */
    int64_t kernel[3], strides[3], pads[6];
    for (int d = 0; d < s.ndim - 2; d++) {
        kernel[d] = between(f, 1, 3);
        strides[d] = between(f, 1, 3);
        pads[d] = below(f, kernel[d]);
        pads[d + s.ndim - 2] = below(f, kernel[d]);
    }
    tc_graph_set_kernel_shape(f->g, node, kernel, (size_t)s.ndim - 2);
    tc_graph_set_strides(f->g, node, strides, (size_t)s.ndim - 2);
    tc_graph_set_pads(f->g, node, pads, 2 * ((size_t)s.ndim - 2));
    tc_graph_set_storage_order(f->g, node, below(f, 2));
    tc_graph_set_ceil_mode(f->g, node, below(f, 2));
    return node;
}

static tc_graph_node *col2im(fixture *f, tc_dtype t, const int64_t im[2], const int64_t block[2], const int64_t strides[2],
                             const int64_t dilations[2]) {
    int64_t n = 1;
    for (int d = 0; d < 2; d++)
        n *= (im[d] - (block[d] - 1) * dilations[d]) / strides[d] + 1;
    tc_graph_node *node = NODE(f, COL2_IM, integers(f, t, (tc_graph_shape){3, {2, 3 * block[0] * block[1], n}}, -8, 8),
                               list(f, 2, im), list(f, 2, block));
    tc_graph_set_strides(f->g, node, strides, 2);
    tc_graph_set_dilations(f->g, node, dilations, 2);
    tc_graph_set_pads(f->g, node, (const int64_t[]){1, 0, 0, 1}, 4);
    return node;
}

static tc_graph_node *make_col2im(fixture *f) {
    const int64_t im[] = {between(f, 7, 12), between(f, 7, 12)}, block[] = {between(f, 1, 4), between(f, 1, 4)};
    const int64_t strides[] = {between(f, 1, 3), between(f, 1, 3)}, dilations[] = {between(f, 1, 2), between(f, 1, 2)};
    return col2im(f, below(f, 2) ? TC_F32 : TC_F16, im, block, strides, dilations);
}

/* The places of four taps are no whole number of strides: 0, 2, 4 and 6 of 3 strides. */
static tc_graph_node *make_dilated_col2im(fixture *f) {
    return col2im(f, TC_F16, (int64_t[]){7, 12}, (int64_t[]){1, 4}, (int64_t[]){1, 3}, (int64_t[]){2, 2});
}

static tc_graph_node *make_grid_sample(fixture *f) {
    static const char *const modes[] = {"linear", "nearest", "cubic"}, *const pads[] = {"zeros", "border", "reflection"};
    tc_graph_shape s = image(f, 2);
    tc_graph_node *node = NODE(f, GRID_SAMPLE, floats(f, s), floats(f, (tc_graph_shape){4, {s.d[0], 3, 4, 2}}));
    tc_graph_set_mode(f->g, node, PICK(f, modes));
    tc_graph_set_padding_mode(f->g, node, PICK(f, pads));
    tc_graph_set_align_corners(f->g, node, below(f, 2));
    return node;
}

static tc_graph_node *make_roi_align(fixture *f) {
    static const char *const modes[] = {"avg", "max"}, *const coords[] = {"half_pixel", "output_half_pixel"};
    tc_graph_shape s = image(f, 2);
    tc_graph_node *node = NODE(f, ROI_ALIGN, floats(f, s), floats(f, (tc_graph_shape){2, {3, 4}}),
                               integers(f, TC_I64, (tc_graph_shape){1, {3}}, 0, s.d[0]));
    tc_graph_set_mode(f->g, node, PICK(f, modes));
    tc_graph_set_coordinate_transformation_mode(f->g, node, PICK(f, coords));
    tc_graph_set_output_height(f->g, node, between(f, 1, 3));
    tc_graph_set_output_width(f->g, node, between(f, 1, 3));
    tc_graph_set_sampling_ratio(f->g, node, between(f, 0, 3));
    tc_graph_set_spatial_scale(f->g, node, 2.5);
    return node;
}

static tc_graph_node *make_deform_conv(fixture *f) {
    int64_t group = between(f, 1, 2), offsets = between(f, 1, 2), c = 2 * between(f, 1, 2), h = between(f, 3, 6);
    tc_graph_shape o = {4, {2, offsets * 8, h + 1, 4}}, mask = {4, {2, offsets * 4, h + 1, 4}};
    tc_graph_node *node =
        NODE(f, DEFORM_CONV, floats(f, (tc_graph_shape){4, {2, c, h, 4}}), floats(f, (tc_graph_shape){4, {4, c / group, 2, 2}}),
             floats(f, o), floats(f, (tc_graph_shape){1, {4}}), below(f, 2) ? floats(f, mask) : NULL);
    tc_graph_set_group(f->g, node, group);
    tc_graph_set_offset_group(f->g, node, offsets);
    tc_graph_set_pads(f->g, node, (const int64_t[]){1, 0, 1, 1}, 4);
    return node;
}

static tc_graph_node *make_one_hot(fixture *f) {
    tc_graph_shape s = {2, {between(f, 1, 4), between(f, 1, 4)}};
    tc_graph_node *node = NODE(f, ONE_HOT, integers(f, TC_I64, s, -6, 7), list(f, 1, (const int64_t[]){between(f, 1, 5)}),
                               floats(f, (tc_graph_shape){1, {2}}));
    tc_graph_set_axis(f->g, node, between(f, -3, 2));
    return node;
}

static tc_graph_node *make_reverse_sequence(fixture *f) {
    tc_graph_shape s = {3, {between(f, 1, 5), between(f, 1, 5), 3}};
    int time = (int)below(f, 2);
    tc_graph_node *node =
        NODE(f, REVERSE_SEQUENCE, floats(f, s), integers(f, TC_I64, (tc_graph_shape){1, {s.d[1 - time]}}, 1, s.d[time] + 1));
    tc_graph_set_time_axis(f->g, node, time);
    tc_graph_set_batch_axis(f->g, node, 1 - time);
    return node;
}

static const char *random_reduction(fixture *f) {
    static const char *const how[] = {"none", "add", "mul", "max", "min"};
    return PICK(f, how);
}

static tc_graph_node *make_scatter_elements(fixture *f) {
    tc_graph_shape s = {3, {between(f, 1, 5), between(f, 1, 5), between(f, 1, 5)}}, u = s;
    int axis = (int)below(f, 3);
    for (int d = 0; d < 3; d++)
        u.d[d] = between(f, 1, d == axis ? 7 : s.d[d]);
    tc_graph_node *node = NODE(f, SCATTER_ELEMENTS, floats(f, s), integers(f, TC_I64, u, -s.d[axis], s.d[axis]), floats(f, u));
    tc_graph_set_axis(f->g, node, axis);
    tc_graph_set_reduction(f->g, node, random_reduction(f));
    return node;
}

static tc_graph_node *make_scatter_nd(fixture *f) {
    int64_t least = between(f, 2, 4), depth = between(f, 1, 2);
    tc_graph_shape s = {3, {least + below(f, 2), least, between(f, 1, 5)}}, index = {3, {2, between(f, 1, 3), depth}};
    tc_graph_shape u = {2, {2, index.d[1]}};
    for (int64_t d = depth; d < 3; d++)
        u.d[u.ndim++] = s.d[d];
    tc_graph_node *node = NODE(f, SCATTER_ND, integers(f, TC_I32, s, -9, 9), integers(f, TC_I64, index, -least, least),
                               integers(f, TC_I32, u, -9, 9));
    tc_graph_set_reduction(f->g, node, random_reduction(f));
    return node;
}

static tc_graph_node *make_softmax_loss(fixture *f) {
    static const char *const how[] = {"none", "sum", "mean"};
    tc_graph_shape s = {3, {between(f, 1, 3), between(f, 2, 5), between(f, 1, 4)}}, t = {2, {s.d[0], s.d[2]}};
    tc_graph_shape w = {1, {s.d[1]}};
    tc_graph_node *node = NODE(f, SOFTMAX_CROSS_ENTROPY_LOSS, floats(f, s), integers(f, TC_I64, t, 0, s.d[1]),
                               below(f, 2) ? constant(f, random_tensor(f, TC_U8, w, 1, 3)) : NULL);
    if (node->nin > 2) { /* positive weights */
        tc_graph_tensor wide;
        assert_ok(tc_graph_tensor_alloc(&wide, TC_F32, &w, err));
        tc_graph_tensor_cast(&wide, node->in[2]->constant);
        node->in[2] = constant(f, wide);
    }
    tc_graph_set_reduction(f->g, node, PICK(f, how));
    return node;
}

static tc_graph_node *make_dft(fixture *f) {
    int64_t parts = between(f, 1, 2), inverse = below(f, 2);
    tc_graph_shape s = {3, {2, between(f, 1, 9), parts}};
    tc_graph_node *node = NODE(f, DFT, floats(f, s), list(f, 1, (const int64_t[]){between(f, 1, 10)}));
    tc_graph_set_axis(f->g, node, below(f, 2));
    tc_graph_set_inverse(f->g, node, inverse);
    tc_graph_set_onesided(f->g, node, inverse ? 0 : below(f, 2));
    return node;
}

static tc_graph_node *make_stft(fixture *f) {
    int64_t frame = between(f, 2, 8);
    tc_graph_node *node = NODE(f, STFT, floats(f, (tc_graph_shape){3, {2, 20, between(f, 1, 2)}}),
                               list(f, 1, (const int64_t[]){between(f, 1, 5)}), floats(f, (tc_graph_shape){1, {frame}}));
    tc_graph_set_onesided(f->g, node, below(f, 2));
    return node;
}

static tc_graph_node *make_affine_grid(fixture *f) {
    int64_t size[] = {2, 3, between(f, 1, 4), between(f, 1, 4)};
    tc_graph_node *node = NODE(f, AFFINE_GRID, floats(f, (tc_graph_shape){3, {2, 2, 3}}), list(f, 4, size));
    tc_graph_set_align_corners(f->g, node, below(f, 2));
    return node;
}

/* ---- running ---- */

static void run_seed(const char *name, make_fn *make, int nout, uint64_t seed, const tc_target *t) {
    fixture f = fixture_of(seed);
    tc_graph_tensor want[MAX_PORTS];
    append(&f, name, make(&f), nout);
    assert_ok(tc_graph_eval(f.g, f.in, want, err));
    run_program(&f, name, t, want);
    for (int i = 0; i < nout; i++)
        tc_graph_tensor_free(&want[i]);
    free_fixture(&f);
}

static void test_families(void **state) {
    (void)state;
    static const struct {
        const char *name;
        make_fn *make;
        int nout;
    } families[] = {{"Resize", make_resize, 1},
                    {"QuantizeLinear", make_quantize, 1},
                    {"DequantizeLinear", make_dequantize, 1},
                    {"Cast, to what is stored", make_narrow_cast, 1},
                    {"Cast, of what is stored", make_wide_cast, 1},
                    {"QuantizeLinear, to what is stored", make_quantize_stored, 1},
                    {"DequantizeLinear, of what is stored", make_dequantize_stored, 1},
                    {"Pad of what is stored", make_stored_pad, 1},
                    {"MatMul of few rows", make_few_rows, 1},
                    {"QLinearConv", make_qlinear_conv, 1},
                    {"QLinearMatMul", make_qlinear_matmul, 1},
                    {"DynamicQuantizeLinear", make_dynamic_quantize, 3},
                    {"InstanceNormalization", make_instance_norm, 1},
                    {"GroupNormalization", make_group_norm, 1},
                    {"LRN", make_lrn, 1},
                    {"LpPool", make_lp_pool, 1},
                    {"MaxPool", make_max_pool, 2},
                    {"Col2Im", make_col2im, 1},
                    {"Col2Im of dilated blocks", make_dilated_col2im, 1},
                    {"GridSample", make_grid_sample, 1},
                    {"RoiAlign", make_roi_align, 1},
                    {"DeformConv", make_deform_conv, 1},
                    {"OneHot", make_one_hot, 1},
                    {"ReverseSequence", make_reverse_sequence, 1},
                    {"ScatterElements", make_scatter_elements, 1},
                    {"ScatterND", make_scatter_nd, 1},
                    {"SoftmaxCrossEntropyLoss", make_softmax_loss, 2},
                    {"DFT", make_dft, 1},
                    {"STFT", make_stft, 1},
                    {"AffineGrid", make_affine_grid, 1}};
    const char *one = getenv("TC_SEED");
    tc_target *t;
    assert_ok(tc_target_parse("native", &t, err));
    for (size_t i = 0; i < TC_LEN(families); i++)
        for (uint64_t seed = one ? strtoull(one, NULL, 10) : 1; seed <= (one ? strtoull(one, NULL, 10) : test_some_graphs(SEEDS));
             seed++)
            run_seed(families[i].name, families[i].make, families[i].nout, seed, t);
    tc_target_free(t);
}

/* ---- Einsum against nested loops ---- */

/* Letters only. size[]: by letter; at[]: where each stands. */
static int64_t offset_of(const char *term, size_t n, const int64_t *size, const int64_t *at) {
    int64_t o = 0;
    for (size_t i = 0; i < n; i++)
        o = o * size[term[i] - 'a'] + at[term[i] - 'a'];
    return o;
}

static void sum_products(const char *equation, const tc_graph_tensor *in, int nin, const int64_t *size, double *y) {
    int64_t at[26] = {0};
    for (;;) {
        double product = 1;
        const char *p = equation;
        for (int k = 0; k < nin; k++) {
            size_t n = strcspn(p, ",-");
            product *= tc_load_f(TC_F32, in[k].data, offset_of(p, n, size, at));
            p += n + 1;
        }
        p++; /* the arrow's head */
        y[offset_of(p, strlen(p), size, at)] += product;
        int l = 0;
        while (l < 26 && ++at[l] >= size[l])
            at[l++] = 0;
        if (l == 26)
            return;
    }
}

static tc_graph_shape term_shape(const char *term, size_t n, const int64_t *size) {
    tc_graph_shape s = {.ndim = (int)n};
    for (size_t i = 0; i < n; i++)
        s.d[i] = size[term[i] - 'a'];
    return s;
}

static void run_einsum(const char *equation, uint64_t seed, const tc_target *t) {
    fixture f = fixture_of(seed);
    int64_t size[26];
    tc_graph_value *in[MAX_PORTS];
    const char *p = equation;
    for (int l = 0; l < 26; l++)
        size[l] = strchr(equation, 'a' + l) ? between(&f, 1, 4) : 1;
    do {
        size_t n = strcspn(p, ",-");
        in[f.nin] = NULL;
        int k = f.nin;
        in[k] = floats(&f, term_shape(p, n, size));
        p += n;
    } while (*p++ == ',');
    p++;
    tc_graph_node *node = tc_graph_new_node(f.g, TC_GRAPH_OP_EINSUM, "einsum", in, f.nin);
    tc_graph_set_equation(f.g, node, equation);
    append(&f, equation, node, 1);
    tc_graph_shape s = term_shape(p, strlen(p), size);
    double *sums = tc_xcalloc((size_t)tc_graph_shape_count(&s) + 1, sizeof *sums);
    sum_products(equation, f.in, f.nin, size, sums);
    assert_true(tc_graph_shape_equal(&s, &f.g->outputs.data[0].value->shape));
    check_values(&f, equation, t, sums);
    free(sums);
    free_fixture(&f);
}

static void test_einsum(void **state) {
    (void)state;
    static const char *const equations[] = {"ij,jk->ik",    "bij,bjk->bik", "ij->ji",         "ii->i",        "ii->",
                                            "iji->j",       "i,j->ij",      "i,i->",          "ij,ij->ij",    "bhqd,bhkd->bhqk",
                                            "ij,jk,kl->il", "abc,cd->dab",  "ijk,ikl,kj->li", "ab,cd,ac->bd", "aab,bc->ca"};
    tc_target *t;
    assert_ok(tc_target_parse("native", &t, err));
    for (size_t i = 0; i < TC_LEN(equations); i++)
        for (uint64_t seed = 1; seed <= 3; seed++)
            run_einsum(equations[i], seed, t);
    tc_target_free(t);
}

/* ---- messages ---- */

static tc_status append_resize(int64_t n, tc_error *err) {
    fixture f = fixture_of(1);
    float scale[] = {1, 1, 2, 2};
    tc_graph_node *node = NODE(&f, RESIZE, floats(&f, (tc_graph_shape){4, {1, 1, 2, 2}}), NULL, scales(&f, (int)n, scale));
    return try_append(&f, node, err);
}

static tc_status append_one_hot(int64_t depth, tc_error *err) {
    fixture f = fixture_of(1);
    tc_graph_node *node = NODE(&f, ONE_HOT, integers(&f, TC_I64, (tc_graph_shape){1, {3}}, 0, 3), list(&f, 1, &depth),
                               floats(&f, (tc_graph_shape){1, {2}}));
    return try_append(&f, node, err);
}

static tc_status append_einsum(const char *equation, tc_error *err) {
    fixture f = fixture_of(1);
    tc_graph_node *node = NODE(&f, EINSUM, floats(&f, (tc_graph_shape){2, {2, 3}}), floats(&f, (tc_graph_shape){2, {4, 3}}));
    tc_graph_set_equation(f.g, node, equation);
    return try_append(&f, node, err);
}

static tc_status add_stored(tc_dtype t, tc_error *e) {
    static const char *const y = "y";
    fixture f = fixture_of(1);
    tc_graph_value *x = input_of(&f, random_tensor(&f, t, (tc_graph_shape){1, {5}}, 0, 8));
    tc_status s = tc_graph_append(f.g, NODE(&f, ADD, x, x), &y, 1, e);
    free_fixture(&f);
    return s;
}

/* A byte is as good as a number of 4 bits that it holds. */
static void test_held_types(void **state) {
    (void)state;
    int8_t numbers[] = {-8, 0, 7};
    uint8_t codes[] = {0, 15, 255};
    tc_graph_shape s = {1, {3}}, two = {1, {2}};
    tc_graph_tensor i = tc_graph_tensor_view(TC_I8, &s, numbers), u = tc_graph_tensor_view(TC_U8, &s, codes);
    assert_true(tc_graph_tensor_holds(&i, TC_I4) && !tc_graph_tensor_holds(&i, TC_U4) && !tc_graph_tensor_holds(&i, TC_F8E5M2));
    assert_true(tc_graph_tensor_holds(&u, TC_F8E5M2) && !tc_graph_tensor_holds(&u, TC_U4));
    u.shape = two;
    assert_true(tc_graph_tensor_holds(&u, TC_U4) && !tc_graph_tensor_holds(&u, TC_I4));
    numbers[1] = 8;
    assert_false(tc_graph_tensor_holds(&i, TC_I4));
}

static void test_refusals(void **state) {
    (void)state;
    for (size_t t = 0; t < TC_LEN(STORED); t++)
        assert_fails(TC_BAD_INPUT, add_stored(STORED[t], err), "can be moved and cast, but not computed with");
    assert_fails(TC_BAD_INPUT, append_resize(3, err), "Resize", "scales has 3 entries; 4 are expected");
    assert_fails(TC_BAD_INPUT, append_one_hot((int64_t)1 << 40, err), "OneHot", "needs a table");
    assert_fails(TC_BAD_INPUT, append_one_hot(-1, err), "depth must be one positive number");
    assert_fails(TC_BAD_INPUT, append_einsum("ij,jk->ik", err), "Einsum", "its label stands for 3");
    assert_fails(TC_BAD_INPUT, append_einsum("ij,kj->iz", err), "equation", "occurs in no input");
    assert_fails(TC_BAD_INPUT, append_einsum("ij->i", err), "number of terms");
    assert_fails(TC_BAD_INPUT, append_einsum("i?,kj->i", err), "letters");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_families), cmocka_unit_test(test_einsum),
                                       cmocka_unit_test(test_held_types), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
