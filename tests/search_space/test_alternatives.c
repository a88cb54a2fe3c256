/* Alternatives of a task: each computes what the original does, its prologues included, on shapes of every kind; what is not such
 * a convolution or product has none; and the errors of Winograd's and Strassen's forms are what winograd.c and strassen.c say. */
#include "support/cmocka_all.h"

#include <math.h>
#include <string.h>

#include "search_space/alternatives/alternatives.h"
#include "search_space/space.h"
#include "support/strbuf.h"
#include "support/vec.h"
#include "te/text.h"
#include "tir_lower/build/build.h"
#include "tir_lower/interp/interp.h"
#include "tir_lower/program/program.h"

enum { MAX_TENSORS = 8 };

typedef struct problem {
    tc_ctx *ctx;
    const tc_workload *w;
    void *in[MAX_TENSORS], *out[MAX_TENSORS];
} problem;

static void *zeros(const tc_tensor *t) {
    return tc_xcalloc((size_t)tc_tensor_size(t), (size_t)tc_dtype_bytes(t->dtype));
}

static const tc_workload *parse(tc_ctx *c, const char *text) {
    const tc_workload *w;
    tc_error err;
    if (tc_te_parse(c, "problem", text, &w, &err) != TC_OK)
        fail_msg("%s\n%s", err.msg, text);
    return w;
}

static void fill_problem(problem *p, uint64_t seed) {
    tc_rng r = tc_rng_seed(seed);
    for (int i = 0; i < p->w->nin; i++) {
        p->in[i] = zeros(p->w->in[i]);
        tc_te_random_fill(p->w->in[i]->dtype, p->in[i], tc_tensor_size(p->w->in[i]), &r, 0);
    }
    for (int i = 0; i < p->w->nout; i++)
        p->out[i] = zeros(p->w->out[i]);
}

static void empty_problem(problem *p) {
    for (int i = 0; i < p->w->nin; i++)
        free(p->in[i]);
    for (int i = 0; i < p->w->nout; i++)
        free(p->out[i]);
}

static problem open_problem(const char *text, uint64_t seed) {
    problem p = {.ctx = tc_ctx_new()};
    p.w = parse(p.ctx, text);
    fill_problem(&p, seed);
    return p;
}

static void close_problem(problem *p) {
    empty_problem(p);
    tc_ctx_free(p->ctx);
}

static void interpret(const tc_workload *w, void *const *in, void *const *out) {
    tc_error err;
    if (tc_te_interp(w, (const void *const *)in, out, &err) != TC_OK)
        fail_msg("%s", err.msg);
}

/* The inputs of an alternative: the problem's own, and what the prologues make of them. made[] is to be freed. */
static void alternative_inputs(const problem *p, const tc_space_alternative *x, void **in, void **made) {
    for (int k = 0; k < x->nprologue; k++) {
        const tc_space_prologue *q = &x->prologue[k];
        void *from[MAX_TENSORS];
        assert_int_equal(q->workload->nin, q->nfrom);
        assert_int_equal(q->workload->nout, 1);
        for (int i = 0; i < q->nfrom; i++) {
            assert_int_equal(tc_tensor_size(q->workload->in[i]), tc_tensor_size(p->w->in[q->from[i]]));
            from[i] = p->in[q->from[i]];
        }
        made[k] = zeros(q->workload->out[0]);
        interpret(q->workload, from, &made[k]);
    }
    for (int i = 0; i < x->workload->nin; i++)
        in[i] = x->source[i] < 0 ? made[-1 - x->source[i]] : p->in[x->source[i]];
}

static void check_outputs(const problem *p, const tc_space_alternative *x, void *const *got, const char *text) {
    for (int o = 0; o < p->w->nout; o++) {
        int64_t n = tc_tensor_size(p->w->out[o]);
        double square = 0;
        for (int64_t i = 0; i < n; i++)
            square += ((const float *)p->out[o])[i] * ((const float *)p->out[o])[i];
        for (int64_t i = 0; i < n; i++) {
            double a = ((const float *)got[o])[i], b = ((const float *)p->out[o])[i];
            if (!(fabs(a - b) <= 2e-5 * sqrt(square / (double)n)))
                fail_msg("%s: output %d element %lld: %g, expected %g\n%s", x->name, o, (long long)i, a, b, text);
        }
    }
}

static void check_alternative(const problem *p, const tc_space_alternative *x, const char *text) {
    void *in[MAX_TENSORS], *made[MAX_TENSORS] = {NULL}, *got[MAX_TENSORS];
    assert_int_equal(x->workload->nout, p->w->nout);
    for (int o = 0; o < p->w->nout; o++) {
        assert_int_equal(x->workload->out[o]->ndim, p->w->out[o]->ndim);
        assert_memory_equal(x->workload->out[o]->shape, p->w->out[o]->shape, sizeof(int64_t) * (size_t)p->w->out[o]->ndim);
        got[o] = zeros(p->w->out[o]);
    }
    alternative_inputs(p, x, in, made);
    interpret(x->workload, in, got);
    check_outputs(p, x, got, text);
    for (int k = 0; k < x->nprologue; k++)
        free(made[k]);
    for (int o = 0; o < p->w->nout; o++)
        free(got[o]);
}

/* Checks all alternatives of a workload against it; how many there are. */
static int check(const char *text) {
    problem p = open_problem(text, 3);
    tc_space_alternative_list l = tc_space_alternatives(p.ctx, p.w, TC_ACCURACY_FAST);
    if (l.n)
        interpret(p.w, p.in, p.out);
    for (int i = 0; i < l.n; i++)
        check_alternative(&p, &l.data[i], text);
    int n = l.n;
    close_problem(&p);
    return n;
}

/* ---- convolutions of every shape ---- */

static const char *conv_text(tc_strbuf *b, int n, int h, int w, int c, int o, int pad, bool inlined) {
    int ph = h + 2 * pad, pw = w + 2 * pad, oh = ph - 2, ow = pw - 2;
    tc_sb_clear(b);
    tc_sb_printf(b, "tensor X[%d, %d, %d, %d] f32\ntensor W[3, 3, %d, %d] f32 const\ntensor B[%d] f32 const\n", n, h, w, c, c, o,
                 o);
    tc_sb_printf(b, "tensor R[%d, %d, %d, %d] f32\n", n, oh, ow, o);
    const char *at = "X[n, h + r, w + s, c]";
    if (pad && !inlined) {
        tc_sb_printf(b, "compute P[n:%d, h:%d, w:%d, c:%d] = select(h >= %d && h < %d && w >= %d && w < %d, ", n, ph, pw, c, pad,
                     h + pad, pad, w + pad);
        tc_sb_printf(b, "X[n, h - %d, w - %d, c], 0.0)\n", pad, pad);
        at = "P[n, h + r, w + s, c]";
    }
    tc_sb_printf(b, "compute C[n:%d, h:%d, w:%d, o:%d] = sum(r:3, s:3, c:%d) ", n, oh, ow, o, c);
    if (pad && inlined)
        tc_sb_printf(b, "select(h + r >= %d && h + r < %d && w + s >= %d && w + s < %d, X[n, h + r - %d, w + s - %d, c], 0.0)",
                     pad, h + pad, pad, w + pad, pad, pad);
    else
        tc_sb_add(b, at);
    tc_sb_printf(b,
                 " * W[r, s, c, o]\n"
                 "compute Y[n:%d, h:%d, w:%d, o:%d] = relu(C[n, h, w, o] + B[o] + R[n, h, w, o])\noutput Y\n",
                 n, oh, ow, o);
    return tc_sb_str(b);
}

static void test_every_shape(void **state) {
    (void)state;
    static const int shape[][3] = {{1, 7, 7}, {1, 13, 9}, {2, 6, 11}, {1, 8, 8}, {1, 5, 14}};
    tc_strbuf b = {0};
    for (size_t i = 0; i < TC_LEN(shape); i++)
        for (int pad = 0; pad < 3; pad++)
            for (int inlined = 0; inlined <= (pad > 0); inlined++) {
                const int *s = shape[i];
                assert_true(check(conv_text(&b, s[0], s[1], s[2], 17, 19, pad, inlined)) > 0);
            }
    tc_strbuf_free(&b);
}

static void test_random_shapes(void **state) {
    (void)state;
    tc_strbuf b = {0};
    tc_rng r = tc_rng_seed(11);
    for (int i = 0; i < 12; i++) {
        int n = 1 + (int)tc_rng_below(&r, 2), h = 4 + (int)tc_rng_below(&r, 9), w = 4 + (int)tc_rng_below(&r, 9);
        int c = 16 + (int)tc_rng_below(&r, 8), o = 16 + (int)tc_rng_below(&r, 8), pad = (int)tc_rng_below(&r, 2);
        check(conv_text(&b, n, h, w, c, o, pad, tc_rng_below(&r, 2)));
    }
    tc_strbuf_free(&b);
}

/* Other ways to write the same: weights in the order of ONNX, taps not in order, two convolutions in a row, several outputs. */
static void test_other_forms(void **state) {
    (void)state;
    assert_int_equal(check("tensor X[9, 9, 16] f32\ntensor W[16, 16, 3, 3] f32 const\n"
                           "compute C[h:7, w:7, o:16] = sum(c:16, s:3, r:3) W[o, c, r, s] * X[h + r, w + s, c]\noutput C\n"),
                     2);
    assert_int_equal(check("tensor X[9, 11, 16] f32\ntensor W[3, 3, 16, 16] f32 const\n" /* image transposed */
                           "compute C[h:7, w:9, o:16] = sum(r:3, s:3, c:16) X[h + s, w + r, c] * W[r, s, c, o]\noutput C\n"),
                     2);
    assert_int_equal(check("tensor X[8, 8, 16] f32\ntensor W[3, 3, 16, 18] f32 const\ntensor V[3, 3, 18, 16] f32 const\n"
                           "compute C[h:6, w:6, o:18] = sum(r:3, s:3, c:16) X[h + r, w + s, c] * W[r, s, c, o]\n"
                           "compute D[h:6, w:6, o:18] = relu(C[h, w, o])\n"
                           "compute E[h:4, w:4, o:16] = sum(r:3, s:3, c:18) D[h + r, w + s, c] * V[r, s, c, o]\n"
                           "compute F[h:4, w:4, o:16] = E[h, w, o] + 1.0\noutput F\noutput D\n"),
                     2);
    assert_int_equal(check("tensor X[8, 8, 16] f32\ntensor W[3, 3, 16, 16] f32 const\n" /* the input scaled on the way */
                           "compute C[h:6, w:6, o:16] = sum(r:3, s:3, c:16) relu(X[h + r, w + s, c]) * W[r, s, c, o]\n"
                           "output C\n"),
                     2);
}

/* What computes a workload with symbols does so at each of its sizes; how many there are. */
static int check_varying(const char *text, int n, const int64_t *sizes) {
    tc_ctx *c = tc_ctx_new();
    const tc_workload *w = parse(c, text);
    tc_space_alternative_list l = tc_space_alternatives(c, w, TC_ACCURACY_FAST);
    for (int k = 0; k < n; k++) {
        problem p = {.ctx = c};
        assert_int_equal(tc_te_at(c, w, &sizes[k], &p.w, NULL), TC_OK);
        fill_problem(&p, 7);
        interpret(p.w, p.in, p.out);
        for (int i = 0; i < l.n; i++) {
            tc_space_alternative x = l.data[i];
            assert_int_equal(tc_te_at(c, l.data[i].workload, &sizes[k], &x.workload, NULL), TC_OK);
            check_alternative(&p, &x, text);
        }
        empty_problem(&p);
    }
    tc_ctx_free(c);
    return l.n;
}

/* A batch that varies; images and channels that do have no such form, nor products of rows that do. */
static void test_varying(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 3, 4};
    assert_int_equal(check_varying("symbol N 1..4\ntensor X[N, 9, 11, 16] f32\ntensor W[3, 3, 16, 16] f32 const\n"
                                   "compute P[n:N, h:11, w:13, c:16] = "
                                   "select(h >= 1 && h < 10 && w >= 1 && w < 12, X[n, h - 1, w - 1, c], 0.0)\n"
                                   "compute C[n:N, h:9, w:11, o:16] = sum(r:3, s:3, c:16) P[n, h + r, w + s, c] * W[r, s, c, o]\n"
                                   "compute Y[n:N, h:9, w:11, o:16] = relu(C[n, h, w, o])\noutput Y\n",
                                   TC_LEN(sizes), sizes),
                     3);
    assert_int_equal(check_varying("symbol H 3..4\ntensor X[2, 6, 11, 16] f32\ntensor W[3, 3, 16, 16] f32 const\n"
                                   "compute C[n:2, h:H, w:9, o:16] = sum(r:3, s:3, c:16) X[n, h + r, w + s, c] * W[r, s, c, o]\n"
                                   "output C\n",
                                   2, sizes + 1),
                     0);
    assert_int_equal(check_varying("symbol M 1..512\ntensor X[M, 512] f32\ntensor W[512, 512] f32 const\n"
                                   "compute C[m:M, n:512] = sum(k:512) X[m, k] * W[k, n]\noutput C\n",
                                   1, sizes),
                     0);
}

static const tc_space_alternative *named(const tc_space_alternative_list *l, const char *name) {
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->data[i].name, name) == 0)
            return &l->data[i];
    fail_msg("there is no form '%s'", name);
    return NULL;
}

/* Where the batch varies, tiles of 2 are computed with what was made of the weights for tiles of 4 as well. */
static void test_shared_constants(void **state) {
    (void)state;
    tc_ctx *c = tc_ctx_new();
    const tc_workload *w = parse(c, "symbol N 1..4\ntensor X[N, 10, 10, 16] f32\ntensor W[3, 3, 16, 16] f32 const\n"
                                    "compute C[n:N, h:8, w:8, o:16] = sum(r:3, s:3, c:16) X[n, h + r, w + s, c] * W[r, s, c, o]\n"
                                    "output C\n");
    tc_space_alternative_list l = tc_space_alternatives(c, w, TC_ACCURACY_FAST);
    const tc_space_alternative *two = named(&l, "winograd-f2"), *four = named(&l, "winograd-f4"),
                               *both = named(&l, "winograd-f2-of-f4");
    assert_string_equal(two->constants, two->name);
    assert_string_equal(two->stages, two->name);
    assert_string_equal(both->constants, four->name);
    assert_string_equal(both->stages, two->name);
    assert_string_equal(tc_te_hash(both->prologue[0].workload).hex, tc_te_hash(four->prologue[0].workload).hex);
    assert_string_not_equal(tc_te_hash(both->prologue[0].workload).hex, tc_te_hash(two->prologue[0].workload).hex);
    assert_int_equal(both->workload->ncompute, two->workload->ncompute);
    for (int i = 0; i < two->workload->ncompute; i++) {
        const tc_compute *a = both->workload->computes[i], *b = two->workload->computes[i];
        assert_true(a->naxis == b->naxis && a->nraxis == b->nraxis && a->reducer == b->reducer);
        for (int k = 0; k < a->naxis; k++)
            assert_int_equal(a->axes[k].extent, b->axes[k].extent);
    }
    tc_ctx_free(c);
}

static void test_refused(void **state) {
    (void)state;
#define HEAD "tensor X[20, 20, 16] f32\ntensor W[3, 3, 16, 16] f32 const\n"
    static const char *const no[] = {
        HEAD "compute C[h:9, w:9, o:16] = sum(r:3, s:3, c:16) X[h * 2 + r, w * 2 + s, c] * W[r, s, c, o]\noutput C\n",
        HEAD "compute C[h:16, w:16, o:16] = sum(r:3, s:3, c:16) X[h + r * 2, w + s * 2, c] * W[r, s, c, o]\noutput C\n",
        HEAD "compute C[h:18, w:18, o:16] = max(r:3, s:3, c:16) X[h + r, w + s, c] * W[r, s, c, o]\noutput C\n",
        /* depthwise, grouped, weights not constant, used twice, few channels, 1 x 3, half precision, one row */
        "tensor X[20, 20, 16] f32\ntensor W[3, 3, 16] f32 const\n"
        "compute C[h:18, w:18, c:16] = sum(r:3, s:3) X[h + r, w + s, c] * W[r, s, c]\noutput C\n",
        "tensor X[20, 20, 32] f32\ntensor W[3, 3, 16, 32] f32 const\n"
        "compute C[h:18, w:18, o:32] = sum(r:3, s:3, c:16) X[h + r, w + s, o / 16 * 16 + c] * W[r, s, c, o]\noutput C\n",
        "tensor X[20, 20, 16] f32\ntensor W[3, 3, 16, 16] f32\n"
        "compute C[h:18, w:18, o:16] = sum(r:3, s:3, c:16) X[h + r, w + s, c] * W[r, s, c, o]\noutput C\n",
        HEAD "compute C[h:18, w:18, o:16] = sum(r:3, s:3, c:16) X[h + r, w + s, c] * W[r, s, c, o]\n"
             "compute D[h:18, w:18, o:16] = C[h, w, o] + W[0, 0, 0, o]\noutput D\n",
        "tensor X[20, 20, 3] f32\ntensor W[3, 3, 3, 16] f32 const\n"
        "compute C[h:18, w:18, o:16] = sum(r:3, s:3, c:3) X[h + r, w + s, c] * W[r, s, c, o]\noutput C\n",
        "tensor X[20, 20, 16] f32\ntensor W[1, 3, 16, 16] f32 const\n"
        "compute C[h:20, w:18, o:16] = sum(r:1, s:3, c:16) X[h + r, w + s, c] * W[r, s, c, o]\noutput C\n",
        "tensor X[20, 20, 16] f16\ntensor W[3, 3, 16, 16] f16 const\n"
        "compute C[h:18, w:18, o:16] = sum(r:3, s:3, c:16) X[h + r, w + s, c] * W[r, s, c, o]\noutput C\n",
        "tensor X[3, 3, 16] f32\ntensor W[3, 3, 16, 16] f32 const\n"
        "compute C[h:1, w:1, o:16] = sum(r:3, s:3, c:16) X[h + r, w + s, c] * W[r, s, c, o]\noutput C\n",
        "tensor X[18, 16] f32\ntensor W[16, 16] f32 const\n"
        "compute C[i:18, j:16] = sum(k:16) X[i, k] * W[k, j]\noutput C\n",
    };
    for (size_t i = 0; i < TC_LEN(no); i++)
        if (check(no[i]) != 0)
            fail_msg("this has no alternative:\n%s", no[i]);
}

/* ---- products of every shape ---- */

static void test_products(void **state) {
    (void)state;
    static const char *const yes[] = {
        "tensor X[64, 256] f32\ntensor W[256, 256] f32 const\ntensor B[256] f32 const\ntensor R[64, 256] f32\n"
        "compute C[i:64, o:256] = sum(k:256) X[i, k] * W[k, o]\n"
        "compute Y[i:64, o:256] = gelu(C[i, o] + B[o]) + R[i, o]\noutput Y\n",
        /* odd rows, weights in the other order and the other place, something done to the data on the way */
        "tensor X[67, 262] f32\ntensor W[258, 262] f32 const\n"
        "compute C[i:67, o:258] = sum(k:262) W[o, k] * relu(X[i, k])\noutput C\n",
        /* a convolution 1 x 1 with stride: the even axis is cut; and the result is an output beside what follows it */
        "tensor X[19, 20, 256] f32\ntensor W[256, 256] f32 const\n"
        "compute C[h:10, w:10, o:256] = sum(c:256) X[h * 2, w * 2, c] * W[c, o]\n"
        "compute Y[h:10, w:10, o:256] = relu(C[h, w, o])\noutput Y\noutput C\n",
        "tensor X[7, 9, 256] f32\ntensor W[256, 256] f32 const\n" /* one row, and one that is read turned */
        "compute C[n:1, i:9, j:32, o:256] = sum(k:256) X[j % 7, i, k] * W[k, o]\noutput C\n",
        /* two in a row */
        "tensor X[64, 256] f32\ntensor W[256, 258] f32 const\ntensor V[258, 256] f32 const\n"
        "compute C[i:64, o:258] = sum(k:256) X[i, k] * W[k, o]\ncompute D[i:64, o:258] = relu(C[i, o])\n"
        "compute E[i:64, o:256] = sum(k:258) D[i, k] * V[k, o]\noutput E\n",
    };
    for (size_t i = 0; i < TC_LEN(yes); i++)
        if (check(yes[i]) != 1)
            fail_msg("this has one alternative:\n%s", yes[i]);
}

static void test_products_refused(void **state) {
    (void)state;
#define PRODUCT(rows, k, n)                                                                                                      \
    "tensor X[" #rows ", " #k "] f32\ntensor W[" #k ", " #n "] f32 const\n"                                                      \
    "compute C[i:" #rows ", o:" #n "] = sum(k:" #k ") X[i, k] * W[k, o]\noutput C\n"
    static const char *const no[] = {
        PRODUCT(63, 256, 256),
        PRODUCT(64, 254, 256),
        PRODUCT(64, 256, 254),
        PRODUCT(64, 257, 256),
        PRODUCT(64, 256, 257),
        /* not constant, half precision, another sum, batched, used twice, padding that costs what is gained */
        "tensor X[64, 256] f32\ntensor W[256, 256] f32\n"
        "compute C[i:64, o:256] = sum(k:256) X[i, k] * W[k, o]\noutput C\n",
        "tensor X[64, 256] f16\ntensor W[256, 256] f16 const\n"
        "compute C[i:64, o:256] = sum(k:256) X[i, k] * W[k, o]\noutput C\n",
        "tensor X[64, 256] f32\ntensor W[256, 256] f32 const\n"
        "compute C[i:64, o:256] = max(k:256) X[i, k] * W[k, o]\noutput C\n",
        "tensor X[2, 64, 256] f32\ntensor W[2, 256, 256] f32 const\n"
        "compute C[n:2, i:64, o:256] = sum(k:256) X[n, i, k] * W[n, k, o]\noutput C\n",
        "tensor X[64, 256] f32\ntensor W[256, 256] f32 const\n"
        "compute C[i:64, o:256] = sum(k:256) X[i, k] * W[k, o]\ncompute D[i:64, o:256] = C[i, o] + W[0, o]\noutput D\n",
        "tensor X[9, 9, 256] f32\ntensor W[256, 256] f32 const\n"
        "compute C[h:9, w:9, o:256] = sum(k:256) X[h, w, k] * W[k, o]\noutput C\n",
    };
    for (size_t i = 0; i < TC_LEN(no); i++)
        if (check(no[i]) != 0)
            fail_msg("this has no alternative:\n%s", no[i]);
}

/* ---- levels of accuracy ---- */

static void expect_forms(const problem *p, tc_accuracy set, int n) {
    assert_int_equal(tc_space_alternatives(p->ctx, p->w, set).n, n);
}

static void test_each_level_has_its_forms(void **state) {
    (void)state;
    tc_strbuf b = {0};
    problem p = open_problem(conv_text(&b, 1, 8, 8, 16, 16, 1, false), 1);
    expect_forms(&p, TC_ACCURACY_STRICT, 0);
    expect_forms(&p, TC_ACCURACY_DEFAULT, 2);
    expect_forms(&p, TC_ACCURACY_FAST, 2);
    expect_forms(&p, TC_ACCURACY_BF16, 1);
    expect_forms(&p, TC_ACCURACY_DEFAULT | TC_ACCURACY_BF16, 3);
    expect_forms(&p, TC_ACCURACY_ALL, 3);
    close_problem(&p);
    tc_strbuf_free(&b);
    p = open_problem(PRODUCT(64, 256, 256), 1);
    expect_forms(&p, TC_ACCURACY_STRICT, 0);
    expect_forms(&p, TC_ACCURACY_DEFAULT, 0);
    expect_forms(&p, TC_ACCURACY_FAST, 1);
    expect_forms(&p, TC_ACCURACY_DEFAULT | TC_ACCURACY_BF16, 1);
    close_problem(&p);
}

/* A word changes the level alone, and a set is told by the lowest level that has its forms. */
static void test_words_of_levels(void **state) {
    (void)state;
    static const struct {
        const char *word;
        tc_accuracy set;
    } levels[] = {{"strict", TC_ACCURACY_STRICT}, {"default", TC_ACCURACY_DEFAULT}, {"fast", TC_ACCURACY_FAST}};
    tc_error err = {0};
    for (size_t i = 0; i < TC_LEN(levels); i++)
        for (size_t k = 0; k < TC_LEN(levels); k++) {
            tc_accuracy set = levels[k].set | TC_ACCURACY_BF16;
            assert_int_equal(tc_accuracy_parse(levels[i].word, &set, &err), TC_OK);
            assert_int_equal(set, levels[i].set | TC_ACCURACY_BF16);
            assert_string_equal(tc_accuracy_text(set), levels[i].word);
            assert_string_equal(tc_accuracy_text(levels[i].set & ~levels[k].set), i <= k ? "strict" : levels[i].word);
        }
    tc_accuracy set = TC_ACCURACY_FAST;
    assert_int_equal(tc_accuracy_parse("exact", &set, &err), TC_BAD_INPUT);
    assert_string_equal(err.msg, "the accuracy is strict, default or fast, not 'exact'");
    assert_int_equal(set, TC_ACCURACY_FAST);
}

/* ---- bf16 ---- */

static float to_bf16(float v) {
    return tc_bf16_to_f32(tc_f32_to_bf16(v));
}

/* The largest magnitude that a sum of products may be off by, element for element: the same sum with every factor's magnitude. */
static void check_bf16(const char *text, const char *magnitudes) {
    problem p = open_problem(text, 5), m = open_problem(magnitudes, 5);
    tc_space_alternative_list l = tc_space_alternatives(p.ctx, p.w, TC_ACCURACY_BF16);
    void *in[MAX_TENSORS], *made[MAX_TENSORS] = {NULL};
    assert_int_equal(l.n, 1);
    assert_string_equal(l.data[0].name, "bf16");
    interpret(p.w, p.in, p.out);
    interpret(m.w, m.in, m.out);
    alternative_inputs(&p, &l.data[0], in, made);
    void *got = zeros(p.w->out[0]);
    interpret(l.data[0].workload, in, &got);
    bool any = false;
    for (int64_t i = 0; i < tc_tensor_size(p.w->out[0]); i++) {
        double a = ((float *)got)[i], b = ((float *)p.out[0])[i], bound = (1 / 256.0 + 1e-5) * ((float *)m.out[0])[i];
        any |= a != b;
        if (!(fabs(a - b) <= bound))
            fail_msg("element %lld: %g, expected %g within %g\n%s", (long long)i, a, b, bound, text);
    }
    assert_true(any);
    for (int k = 0; k < l.data[0].nprologue; k++) {
        const tc_tensor *t = l.data[0].prologue[k].workload->out[0];
        assert_int_equal(t->dtype, TC_BF16);
        for (int64_t i = 0; i < tc_tensor_size(t); i++)
            assert_true(tc_bf16_to_f32(((uint16_t *)made[k])[i]) == to_bf16(((float *)p.in[l.data[0].prologue[k].from[0]])[i]));
        free(made[k]);
    }
    free(got);
    close_problem(&p);
    close_problem(&m);
}

/* The same where sums go through more: every element within `share` of the largest. */
static void check_bf16_within(const char *text, double share) {
    problem p = open_problem(text, 5);
    tc_space_alternative_list l = tc_space_alternatives(p.ctx, p.w, TC_ACCURACY_BF16);
    assert_int_equal(l.n, 1);
    assert_int_equal(l.data[0].nprologue, 0);
    void *got = zeros(p.w->out[0]);
    double largest = 0, off = 0;
    interpret(p.w, p.in, p.out);
    interpret(l.data[0].workload, p.in, &got);
    for (int64_t i = 0; i < tc_tensor_size(p.w->out[0]); i++) {
        double want = ((float *)p.out[0])[i];
        largest = fmax(largest, fabs(want));
        off = fmax(off, fabs(((float *)got)[i] - want));
    }
    assert_true(off > 0 && off <= share * largest);
    free(got);
    close_problem(&p);
}

static void test_bf16(void **state) {
    (void)state;
#define MATMUL(f) "tensor X[5, 37] f32\ntensor W[37, 9] f32 const\ncompute C[i:5, o:9] = sum(k:37) " f "\noutput C\n"
    check_bf16(MATMUL("X[i, k] * W[k, o]"), MATMUL("abs(X[i, k]) * abs(W[k, o])"));
    check_bf16(MATMUL("W[k, o] * X[i, k]"), MATMUL("abs(X[i, k]) * abs(W[k, o])"));
#define PADDED(f)                                                                                                                \
    "tensor X[9, 9, 6] f32\ntensor W[3, 3, 6, 7] f32 const\ncompute C[h:5, w:5, o:7] = sum(r:3, s:3, c:6) select(h * 2 + r >= "  \
    "1 && w * 2 + s >= 1 && h * 2 + r < 10 && w * 2 + s < 10, " f "\noutput C\n"
    check_bf16(PADDED("X[h * 2 + r - 1, w * 2 + s - 1, c], 0.0) * W[r, s, c, o]"),
               PADDED("abs(X[h * 2 + r - 1, w * 2 + s - 1, c]), 0.0) * abs(W[r, s, c, o])"));
#define CHAIN(a, b)                                                                                                              \
    "tensor X[4, 16] f32\ntensor W[16, 12] f32 const\ncompute C[i:4, o:12] = sum(k:16) " a "\ncompute D[i:4, o:12] = " b         \
    "\noutput D\n"
    check_bf16(CHAIN("X[i, k] * W[k, o]", "C[i, o] + 1.0"), CHAIN("abs(X[i, k]) * abs(W[k, o])", "C[i, o]"));
    check_bf16(MATMUL("relu(X[i, k]) * W[k, o]"), MATMUL("relu(X[i, k]) * abs(W[k, o])"));
#define PRODUCT_OF(x, y, f) "tensor X[" x "] f32\ntensor Y[" y "] f32\ncompute C[b:3, i:5, o:9] = sum(k:14) " f "\noutput C\n"
    check_bf16(PRODUCT_OF("3, 5, 14", "3, 14, 9", "X[b, i, k] * Y[b, k, o]"),
               PRODUCT_OF("3, 5, 14", "3, 14, 9", "abs(X[b, i, k]) * abs(Y[b, k, o])"));
    check_bf16(PRODUCT_OF("5, 42", "9, 42", "Y[o, b * 14 + k] * X[i, b * 14 + k]"), /* heads in one matrix */
               PRODUCT_OF("5, 42", "9, 42", "abs(Y[o, b * 14 + k]) * abs(X[i, b * 14 + k])"));
    check_bf16(PRODUCT_OF("14, 5", "3, 14, 9", "X[k, i] * (Y[b, k, o] * 0.5)"),
               PRODUCT_OF("14, 5", "3, 14, 9", "abs(X[k, i]) * abs(Y[b, k, o] * 0.5)"));
#define ATTENTION(s, p, v)                                                                                                       \
    "tensor P[6, 24] f32\ncompute S[h:2, i:6, j:6] = sum(k:4) " s "\ncompute E[h:2, i:6, j:6] = exp(S[h, i, j])\n"               \
    "compute T[h:2, i:6] = sum(j:6) E[h, i, j]\ncompute C[i:6, h:2, d:4] = sum(j:6) " p " * " v "\noutput C\n"
    check_bf16_within(ATTENTION("P[i, h * 4 + k] * P[j, h * 4 + k + 8]", "(E[h, i, j] / T[h, i])", "P[j, h * 4 + d + 16]"), 0.1);
}

static void test_bf16_refused(void **state) {
    (void)state;
    static const char *const no[] = {
        /* another sum, values that are used once, weights that are computed on the way, other types */
        "tensor X[4, 16] f32\ntensor W[16, 8] f32 const\ncompute C[i:4, o:8] = max(k:16) X[i, k] * W[k, o]\noutput C\n",
        "tensor X[4, 16] f32\ntensor W[4, 16] f32\ncompute C[i:4] = sum(k:16) X[i, k] * W[i, k]\noutput C\n",
        "tensor X[16] f32\ntensor W[4, 16] f32\ncompute C[i:4] = sum(k:16) X[k] * W[i, k]\noutput C\n",
        "tensor X[4, 16] f32\ntensor W[16, 8] f32 const\ncompute C[i:4, o:8] = sum(k:16) X[i, k] * (W[k, o] * 2.0)\noutput C\n",
        "tensor X[4, 16] f64\ntensor W[16, 8] f64 const\ncompute C[i:4, o:8] = sum(k:16) X[i, k] * W[k, o]\noutput C\n",
        "tensor X[4, 16] f16\ntensor W[16, 8] f16 const\ncompute C[i:4, o:8] = sum(k:16) X[i, k] * W[k, o]\noutput C\n",
    };
    for (size_t i = 0; i < TC_LEN(no); i++) {
        problem p = open_problem(no[i], 1);
        if (tc_space_alternatives(p.ctx, p.w, TC_ACCURACY_ALL).n != 0)
            fail_msg("this has no alternative:\n%s", no[i]);
        close_problem(&p);
    }
}

/* ---- accuracy ---- */

static const tc_machine machine = {.vector_bytes = 64,
                                   .vector_regs = 32,
                                   .masks = true,
                                   .fma = true,
                                   .cores = 1,
                                   .l1 = 32768,
                                   .l2 = 1 << 20,
                                   .l3 = 32 << 20,
                                   .line = 64};

/* In the arithmetic of the machine: the default schedule, lowered, every operation in f32. */
static void execute(tc_ctx *parent, const tc_workload *w, void *const *in, void *out) {
    tc_ctx *c = tc_ctx_child(parent);
    tc_arena *a = tc_arena_new();
    tc_space *space;
    tc_trace *t;
    tc_tir_program made;
    tc_error err;
    void *args[MAX_TENSORS];
    assert_int_equal(tc_space_new(w, &machine, &space, &err), TC_OK);
    assert_int_equal(tc_space_default(space, a, &t, &err), TC_OK);
    tc_tir_origin from = {.workload = w, .machine = &machine, .trace = t};
    assert_int_equal(tc_tir_program_make(c, &from, TC_TIR_LOWERED, &made, &err), TC_OK);
    const tc_func *g = made.lowered;
    for (int p = 0; p < g->nparam; p++) {
        const tc_param *q = &g->params[p];
        args[p] = q->kind == TC_PARAM_OUT ? out : in[q->index];
        if (q->kind == TC_PARAM_PACKED) {
            args[p] = tc_xcalloc((size_t)q->buffer->size, sizeof(float));
            tc_tir_pack(g, p, in[q->index], args[p]);
        }
    }
    assert_int_equal(tc_tir_interp(g, args, &err), TC_OK);
    for (int p = 0; p < g->nparam; p++)
        if (g->params[p].kind == TC_PARAM_PACKED)
            free(args[p]);
    tc_space_free(space);
    tc_arena_free(a);
    tc_ctx_free(c);
}

enum { SIDE = 8, CHANNELS = 256, OUTPUTS = 16 };

/* The convolution in double. */
static void reference(const float *x, const float *w, double *y) {
    for (int h = 0; h < SIDE; h++)
        for (int v = 0; v < SIDE; v++)
            for (int o = 0; o < OUTPUTS; o++) {
                double sum = 0;
                for (int r = 0; r < 3; r++)
                    for (int s = 0; s < 3; s++)
                        for (int c = 0; c < CHANNELS; c++)
                            sum += (double)x[((h + r) * (SIDE + 2) + v + s) * CHANNELS + c] *
                                   (double)w[((r * 3 + s) * CHANNELS + c) * OUTPUTS + o];
                y[(h * SIDE + v) * OUTPUTS + o] = sum;
            }
}

/* Largest error relative to the root mean square of the outputs. */
static double error_of(int n, const float *got, const double *want) {
    double worst = 0, square = 0;
    for (int i = 0; i < n; i++) {
        worst = fmax(worst, fabs((double)got[i] - want[i]));
        square += want[i] * want[i];
    }
    return worst / sqrt(square / n);
}

static void test_error_bound(void **state) {
    (void)state;
    static const double bound[] = {1e-5, 5e-6, 5e-5,
                                   1e-5}; /* direct, m = 2, m = 4, m = 2 with the weights of 4: as winograd.c states */
    const int64_t one = 1;
    tc_strbuf b = {0};
    tc_sb_printf(&b, "symbol N 1..2\ntensor X[N, %d, %d, %d] f32\ntensor W[3, 3, %d, %d] f32 const\n", SIDE + 2, SIDE + 2,
                 CHANNELS, CHANNELS, OUTPUTS);
    tc_sb_printf(&b, "compute C[n:N, h:%d, w:%d, o:%d] = sum(r:3, s:3, c:%d) X[n, h + r, w + s, c] * W[r, s, c, o]\noutput C\n",
                 SIDE, SIDE, OUTPUTS, CHANNELS);
    double worst[4] = {0};
    for (uint64_t seed = 0; seed < 3; seed++) {
        tc_ctx *c = tc_ctx_new();
        const tc_workload *w = parse(c, tc_sb_str(&b));
        tc_space_alternative_list l = tc_space_alternatives(c, w, TC_ACCURACY_FAST);
        assert_int_equal(l.n, 3);
        problem p = {.ctx = c};
        assert_int_equal(tc_te_at(c, w, &one, &p.w, NULL), TC_OK);
        fill_problem(&p, seed);
        double *want = tc_xcalloc(SIDE * SIDE * OUTPUTS, sizeof *want);
        reference(p.in[0], p.in[1], want);
        execute(p.ctx, p.w, p.in, p.out[0]);
        worst[0] = fmax(worst[0], error_of(SIDE * SIDE * OUTPUTS, p.out[0], want));
        for (int i = 0; i < l.n; i++) {
            void *in[MAX_TENSORS], *made[MAX_TENSORS] = {NULL};
            tc_space_alternative x = l.data[i];
            assert_int_equal(tc_te_at(c, l.data[i].workload, &one, &x.workload, NULL), TC_OK);
            alternative_inputs(&p, &x, in, made);
            execute(p.ctx, x.workload, in, p.out[0]);
            worst[1 + i] = fmax(worst[1 + i], error_of(SIDE * SIDE * OUTPUTS, p.out[0], want));
            free(made[0]);
        }
        free(want);
        close_problem(&p);
    }
    print_message("largest error: direct %.1e, m = 2 %.1e, m = 4 %.1e, m = 2 with the weights of 4 %.1e\n", worst[0], worst[1],
                  worst[2], worst[3]);
    for (int i = 0; i < 4; i++)
        assert_true(worst[i] < bound[i]);
    tc_strbuf_free(&b);
}

static void test_product_error_bound(void **state) {
    (void)state;
    enum { ROWS = 64, WIDTH = 256 };
    static const double bound[] = {1e-5, 1e-5}; /* direct, one level: as strassen.c states */
    double worst[2] = {0}, *want = tc_xcalloc(ROWS * WIDTH, sizeof *want);
    for (uint64_t seed = 0; seed < 2; seed++) {
        problem p = open_problem(PRODUCT(64, 256, 256), seed);
        const float *x = p.in[0], *w = p.in[1];
        for (int i = 0; i < ROWS * WIDTH; i++) {
            want[i] = 0;
            for (int k = 0; k < WIDTH; k++)
                want[i] += (double)x[i / WIDTH * WIDTH + k] * (double)w[k * WIDTH + i % WIDTH];
        }
        execute(p.ctx, p.w, p.in, p.out[0]);
        worst[0] = fmax(worst[0], error_of(ROWS * WIDTH, p.out[0], want));
        tc_space_alternative_list l = tc_space_alternatives(p.ctx, p.w, TC_ACCURACY_FAST);
        void *in[MAX_TENSORS], *made[MAX_TENSORS] = {NULL};
        alternative_inputs(&p, &l.data[0], in, made);
        execute(p.ctx, l.data[0].workload, in, p.out[0]);
        worst[1] = fmax(worst[1], error_of(ROWS * WIDTH, p.out[0], want));
        free(made[0]);
        close_problem(&p);
    }
    free(want);
    print_message("largest error: direct %.1e, one level %.1e\n", worst[0], worst[1]);
    for (int i = 0; i < 2; i++)
        assert_true(worst[i] < bound[i]);
}

/* ---- how far an error reaches ---- */

/* Which outputs may depend on the data element that changes: rows from `row` on of `rows`, and columns likewise. */
typedef struct region {
    int row, rows, column, columns;
} region;

static bool is_inside(const region *r, int row, int column) {
    return row >= r->row && row < r->row + r->rows && column >= r->column && column < r->column + r->columns;
}

/* With data element `at` of `value`: how many outputs outside of the region have other bits than with its own value. An output is
 * out[row][column][..], of `width` columns and `per` elements each. *inside gets how many change inside. */
static int changed(problem *p, const tc_space_alternative *x, int64_t at, float value, const region *r, int width, int per,
                   int *inside) {
    void *in[MAX_TENSORS], *made[MAX_TENSORS] = {NULL};
    int64_t n = tc_tensor_size(p->w->out[0]);
    float *before = zeros(p->w->out[0]), *after = p->out[0], *data = p->in[0], own = data[at];
    int outside = 0;
    alternative_inputs(p, x, in, made);
    execute(p->ctx, x->workload, in, before);
    data[at] = value;
    execute(p->ctx, x->workload, in, after);
    data[at] = own;
    *inside = 0;
    for (int64_t i = 0; i < n; i++) {
        int row = (int)(i / per / width), column = (int)(i / per % width);
        bool differs = memcmp(&before[i], &after[i], sizeof *after) != 0;
        *inside += differs && is_inside(r, row, column);
        outside += differs && !is_inside(r, row, column);
    }
    for (int k = 0; k < x->nprologue; k++)
        free(made[k]);
    free(before);
    return outside;
}

static const float odd_values[] = {INFINITY, -INFINITY, NAN, 3e38F, 3e4F, 0};

/* Rows of a product: forms that the default level allows leave all bits of other rows. The form that needs `fast` does not. */
static void test_rows_are_apart(void **state) {
    (void)state;
    enum { WIDTH = 256 };
    problem p = open_problem(PRODUCT(64, 256, 256), 5);
    tc_space_alternative_list l = tc_space_alternatives(p.ctx, p.w, TC_ACCURACY_ALL);
    int kept = 0, mixed = 0;
    for (int i = 0; i < l.n; i++)
        for (size_t v = 0; v < TC_LEN(odd_values); v++) {
            const int row = 3 + 5 * (int)v; /* of the upper half: Strassen's lower half reads all of it */
            const region r = {.row = row, .rows = 1, .column = 0, .columns = WIDTH};
            int inside, outside = changed(&p, &l.data[i], row * WIDTH + 5, odd_values[v], &r, WIDTH, 1, &inside);
            bool mixes = (l.data[i].needs & TC_ACCURACY_FAST & ~TC_ACCURACY_DEFAULT) != 0;
            if (inside == 0 || (outside > 0) != mixes)
                fail_msg("%s with %g in row %d: %d elements of other rows change", l.data[i].name, (double)odd_values[v], row,
                         outside);
            kept += !mixes;
            mixed += mixes;
        }
    assert_true(kept > 0 && mixed > 0);
    close_problem(&p);
}

/* How many outputs along an axis are computed from one tile of inputs. */
static int tile_of(const tc_space_alternative *x) {
    return strcmp(x->name, "bf16") == 0 ? 1 : strncmp(x->name, "winograd-f4", 11) == 0 ? 4 : 2;
}

/* Where pixel `at` of the padded image is read: by tiles of m outputs and m + 2 inputs. */
static void tiles_with(int m, int at, int *first, int *n) {
    int from = at < m + 2 ? 0 : (at - (m + 2)) / m + 1, to = at / m;
    *first = from * m;
    *n = (to - from + 1) * m;
}

/* Pixels of an image: an output's bits depend on its own tile, on each form that the default level allows. */
static void test_tiles_are_apart(void **state) {
    (void)state;
    enum { SIZE = 14, WIDE = 16 };
    tc_strbuf b = {0};
    tc_sb_printf(&b,
                 "tensor X[%d, %d, %d] f32\ntensor W[3, 3, %d, %d] f32 const\n"
                 "compute C[h:%d, w:%d, o:%d] = sum(r:3, s:3, c:%d) X[h + r, w + s, c] * W[r, s, c, o]\noutput C\n",
                 SIZE + 2, SIZE + 2, WIDE, WIDE, WIDE, SIZE, SIZE, WIDE, WIDE);
    problem p = open_problem(tc_sb_str(&b), 6);
    tc_space_alternative_list l = tc_space_alternatives(p.ctx, p.w, TC_ACCURACY_DEFAULT | TC_ACCURACY_BF16);
    assert_int_equal(l.n, 3);
    for (int i = 0; i < l.n; i++)
        for (size_t v = 0; v < TC_LEN(odd_values); v++) {
            int row = 2 + 2 * (int)v, column = 13 - (int)v, inside;
            region r;
            tiles_with(tile_of(&l.data[i]), row, &r.row, &r.rows);
            tiles_with(tile_of(&l.data[i]), column, &r.column, &r.columns);
            int64_t at = ((int64_t)row * (SIZE + 2) + column) * WIDE + 3;
            int outside = changed(&p, &l.data[i], at, odd_values[v], &r, SIZE, WIDE, &inside);
            if (inside == 0 || outside != 0)
                fail_msg("%s with %g at %d, %d: %d elements of other tiles change", l.data[i].name, (double)odd_values[v], row,
                         column, outside);
        }
    close_problem(&p);
    tc_strbuf_free(&b);
}

/* The largest error relative to the bound of winograd.c, of outputs in tiles of m. */
static double worst_of_bound(const problem *p, int m, double enlarged, const double *want) {
    const float *x = p->in[0], *w = p->in[1], *y = p->out[0];
    double worst = 0;
    for (int i = 0; i < SIDE * SIDE * OUTPUTS; i++) {
        int row = i / OUTPUTS / SIDE / m * m, column = i / OUTPUTS % SIDE / m * m;
        double largest = 0, weights = 0;
        for (int r = 0; r < m + 2; r++)
            for (int s = 0; s < m + 2; s++)
                for (int c = 0; c < CHANNELS; c++)
                    largest = fmax(largest, fabs((double)x[((row + r) * (SIDE + 2) + column + s) * CHANNELS + c]));
        for (int k = 0; k < 9 * CHANNELS; k++)
            weights += fabs((double)w[k * OUTPUTS + i % OUTPUTS]);
        double bound = (CHANNELS + 20) * 0x1p-24 * enlarged * largest * weights;
        worst = fmax(worst, fabs((double)y[i] - want[i]) / bound);
    }
    return worst;
}

/* Pixels of scales from 1e-6 to 3e4: one half of the image beside the other, or each pixel for itself. Weights of three scales. */
static void scale_problem(problem *p, bool each_pixel, uint64_t seed) {
    static const float scales[] = {3e4F, 1e-2F, 1, 1e-6F};
    float *x = p->in[0], *w = p->in[1];
    tc_rng rng = tc_rng_seed(seed);
    for (int i = 0; i < (SIDE + 2) * (SIDE + 2); i++) {
        float scale = each_pixel ? scales[tc_rng_below(&rng, TC_LEN(scales))] : i % (SIDE + 2) < SIDE / 2 + 2 ? 1e-2F : 3e4F;
        for (int c = 0; c < CHANNELS; c++)
            x[i * CHANNELS + c] *= scale;
    }
    for (int i = 0; i < 9 * CHANNELS * OUTPUTS; i++)
        w[i] *= scales[1 + i / OUTPUTS % 3];
}

static void test_tile_bound(void **state) {
    (void)state;
    static const double enlarged[] = {16, 861, 16}; /* as winograd.c states: m = 2, m = 4, m = 2 with the weights of 4 */
    const int64_t one = 1;
    double worst[3] = {0};
    tc_strbuf b = {0};
    tc_sb_printf(&b, "symbol N 1..2\ntensor X[N, %d, %d, %d] f32\ntensor W[3, 3, %d, %d] f32 const\n", SIDE + 2, SIDE + 2,
                 CHANNELS, CHANNELS, OUTPUTS);
    tc_sb_printf(&b, "compute C[n:N, h:%d, w:%d, o:%d] = sum(r:3, s:3, c:%d) X[n, h + r, w + s, c] * W[r, s, c, o]\noutput C\n",
                 SIDE, SIDE, OUTPUTS, CHANNELS);
    for (uint64_t seed = 0; seed < 2; seed++) {
        tc_ctx *c = tc_ctx_new();
        tc_space_alternative_list l = tc_space_alternatives(c, parse(c, tc_sb_str(&b)), TC_ACCURACY_DEFAULT);
        assert_int_equal(l.n, 3);
        problem p = {.ctx = c};
        assert_int_equal(tc_te_at(c, parse(c, tc_sb_str(&b)), &one, &p.w, NULL), TC_OK);
        fill_problem(&p, seed);
        scale_problem(&p, seed > 0, seed);
        double *want = tc_xcalloc(SIDE * SIDE * OUTPUTS, sizeof *want);
        reference(p.in[0], p.in[1], want);
        for (int i = 0; i < l.n; i++) {
            void *in[MAX_TENSORS], *made[MAX_TENSORS] = {NULL};
            tc_space_alternative x = l.data[i];
            assert_int_equal(tc_te_at(c, l.data[i].workload, &one, &x.workload, NULL), TC_OK);
            alternative_inputs(&p, &x, in, made);
            execute(p.ctx, x.workload, in, p.out[0]);
            worst[i] = fmax(worst[i], worst_of_bound(&p, tile_of(&x), enlarged[i], want));
            free(made[0]);
        }
        free(want);
        close_problem(&p);
    }
    print_message("largest error, of the bound: m = 2 %.1e, m = 4 %.1e, m = 2 with the weights of 4 %.1e\n", worst[0], worst[1],
                  worst[2]);
    for (int i = 0; i < 3; i++)
        assert_true(worst[i] > 0 && worst[i] < 1e-3);
    tc_strbuf_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_shape),
        cmocka_unit_test(test_random_shapes),
        cmocka_unit_test(test_varying),
        cmocka_unit_test(test_shared_constants),
        cmocka_unit_test(test_other_forms),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_each_level_has_its_forms),
        cmocka_unit_test(test_words_of_levels),
        cmocka_unit_test(test_rows_are_apart),
        cmocka_unit_test(test_tiles_are_apart),
        cmocka_unit_test(test_tile_bound),
        cmocka_unit_test(test_error_bound),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_products_refused),
        cmocka_unit_test(test_product_error_bound),
        cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_bf16_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
