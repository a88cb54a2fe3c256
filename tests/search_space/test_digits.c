/* Products in blocks by digits (digits.c): the form is found in every way of writing them, its error is below what is said of it,
 * NaN stays NaN, and what is no such product has no such form. */
#include "support/cmocka_all.h"

#include <math.h>
#include <string.h>

#include "search_space/alternatives/alternatives.h"
#include "support/strbuf.h"
#include "support/vec.h"
#include "te/text.h"

enum { COLUMNS = 5, BLOCKS = 3, SIZE = 32, DEPTH = BLOCKS * SIZE, MOST_ROWS = 3 };

/* Of a product: rows of x, bits of a number, and how zero points are written. */
typedef struct shape {
    int rows, bits;
    enum { NO_ZERO, ZERO_IS_NUMBER, ZERO_IS_TENSOR } zero;
} shape;

typedef struct data {
    float x[MOST_ROWS * DEPTH], scale[COLUMNS * BLOCKS], zero[COLUMNS * BLOCKS];
    uint8_t w[COLUMNS * DEPTH];
} data;

static const char *text_of(tc_strbuf *b, const shape *s) {
    int per = 8 / s->bits, bytes = SIZE / per;
    const char *zero = s->zero == ZERO_IS_TENSOR ? " - T[m, b] * Z[n, b]" : s->zero == ZERO_IS_NUMBER ? " - T[m, b] * 8.0" : "";
    tc_sb_clear(b);
    tc_sb_printf(b, "tensor X[%d, %d] f32\ntensor W[%d, %d, %d] u8 const\ntensor C[%d, %d] f32 const\n", s->rows, DEPTH, COLUMNS,
                 BLOCKS, bytes, COLUMNS, BLOCKS);
    if (s->zero == ZERO_IS_TENSOR)
        tc_sb_printf(b, "tensor Z[%d, %d] f32 const\n", COLUMNS, BLOCKS);
    if (s->zero)
        tc_sb_printf(b, "compute T[m:%d, b:%d] = sum(k:%d) X[m, b * %d + k]\n", s->rows, BLOCKS, SIZE, SIZE);
    tc_sb_printf(b, "compute S[m:%d, n:%d, b:%d] = sum(p:%d, k:%d) X[m, b * %d + k * %d + p] * ", s->rows, COLUMNS, BLOCKS, per,
                 bytes, SIZE, per);
    if (per == 1)
        tc_sb_add(b, "f32(i32(W[n, b, k]))\n");
    else
        tc_sb_printf(b, "f32(bitand(shr(i32(W[n, b, k]), i32(p) * %d), %d))\n", s->bits, (1 << s->bits) - 1);
    tc_sb_printf(b, "compute Y[m:%d, n:%d] = sum(b:%d) (S[m, n, b]%s) * C[n, b]\noutput Y\n", s->rows, COLUMNS, BLOCKS, zero);
    return tc_sb_str(b);
}

static void fill(data *d, uint64_t seed) {
    tc_rng r = tc_rng_seed(seed);
    for (size_t i = 0; i < TC_LEN(d->x); i++) {
        float one = (float)tc_rng_unit(&r) * 2 - 1;
        d->x[i] = i % 7 ? one : 100 * one; /* small values beside large ones */
    }
    for (size_t i = 0; i < TC_LEN(d->w); i++)
        d->w[i] = (uint8_t)tc_rng_below(&r, 256);
    for (size_t i = 0; i < TC_LEN(d->scale); i++) {
        d->scale[i] = (float)tc_rng_unit(&r);
        d->zero[i] = (float)tc_rng_below(&r, 16);
    }
}

static int number_at(const data *d, int bits, int column, int k) {
    int per = 8 / bits, byte = d->w[(column * DEPTH + k) / per];
    return byte >> k % per * bits & ((1 << bits) - 1);
}

/* In double; *bound gets what digits.c says of the error. */
static double reference(const data *d, const shape *s, int row, int column, double *bound) {
    double y = 0;
    *bound = 0;
    for (int b = 0; b < BLOCKS; b++) {
        double sum = 0, magnitudes = 0, peak = 0;
        double zero = s->zero == ZERO_IS_TENSOR ? d->zero[column * BLOCKS + b] : s->zero == ZERO_IS_NUMBER ? 8 : 0;
        for (int k = 0; k < SIZE; k++) {
            double x = d->x[row * DEPTH + b * SIZE + k], number = number_at(d, s->bits, column, b * SIZE + k) - zero;
            sum += x * number;
            magnitudes += fabs(number);
            peak = fmax(peak, fabs(x));
        }
        y += sum * d->scale[column * BLOCKS + b];
        *bound += 0x1p-21 * peak * magnitudes * d->scale[column * BLOCKS + b];
    }
    return y;
}

/* Whether there is the form, whose result y gets. */
static bool by_digits(const char *text, const data *d, float *y) {
    tc_ctx *c = tc_ctx_new();
    const tc_workload *w;
    tc_error err;
    if (tc_te_parse(c, "problem", text, &w, &err) != TC_OK)
        fail_msg("%s\n%s", err.msg, text);
    tc_space_alternative_list l = tc_space_alternatives(c, w, TC_ACCURACY_DEFAULT);
    const void *in[] = {d->x, d->w, d->scale, d->zero};
    bool found = l.n == 1 && strcmp(l.data[0].name, "digits") == 0;
    if (found && tc_te_interp(l.data[0].workload, in, (void *[]){y}, &err) != TC_OK)
        fail_msg("%s\n%s", err.msg, text);
    assert_int_equal(tc_space_alternatives(c, w, TC_ACCURACY_STRICT).n, 0);
    tc_ctx_free(c);
    return found;
}

static void check(const shape *s, uint64_t seed) {
    tc_strbuf b = {0};
    data d;
    float y[MOST_ROWS * COLUMNS];
    fill(&d, seed);
    if (!by_digits(text_of(&b, s), &d, y))
        fail_msg("this has one form, by digits:\n%s", tc_sb_str(&b));
    for (int i = 0; i < s->rows * COLUMNS; i++) {
        double bound, want = reference(&d, s, i / COLUMNS, i % COLUMNS, &bound);
        if (!(fabs(y[i] - want) <= bound))
            fail_msg("element %d is %g, expected %g within %g\n%s", i, (double)y[i], want, bound, tc_sb_str(&b));
    }
    tc_strbuf_free(&b);
}

static void test_every_form(void **state) {
    (void)state;
    static const int bits[] = {2, 4, 8};
    for (size_t i = 0; i < TC_LEN(bits); i++)
        for (int rows = 1; rows <= MOST_ROWS; rows++)
            for (int zero = NO_ZERO; zero <= ZERO_IS_TENSOR; zero++)
                for (uint64_t seed = 0; seed < 4; seed++)
                    check(&(shape){rows, bits[i], zero}, seed);
}

/* A block of zeros, one of tiny values, and one with what is not a number. */
static void test_extremes(void **state) {
    (void)state;
    static const float odd[] = {NAN, INFINITY, -INFINITY};
    const shape s = {1, 4, ZERO_IS_NUMBER};
    tc_strbuf b = {0};
    for (size_t i = 0; i < TC_LEN(odd); i++) {
        data d;
        float y[COLUMNS];
        fill(&d, 1);
        memset(d.x, 0, SIZE * sizeof *d.x);
        for (int k = 0; k < SIZE; k++)
            d.x[SIZE + k] = 0x1p-120F;
        assert_true(by_digits(text_of(&b, &s), &d, y));
        for (int n = 0; n < COLUMNS; n++) {
            double bound, want = reference(&d, &s, 0, n, &bound);
            assert_true(fabs(y[n] - want) <= bound);
        }
        d.x[2 * SIZE + 5] = odd[i];
        assert_true(by_digits(tc_sb_str(&b), &d, y));
        for (int n = 0; n < COLUMNS; n++)
            assert_true(isnan(y[n]));
    }
    tc_strbuf_free(&b);
}

/* Whatever stands in one row, the bits of the others stay. */
static void test_rows_are_apart(void **state) {
    (void)state;
    static const float odd[] = {NAN, INFINITY, 3e38F, 3e4F};
    const shape s = {MOST_ROWS, 4, ZERO_IS_TENSOR};
    tc_strbuf b = {0};
    for (size_t i = 0; i < TC_LEN(odd); i++) {
        data d;
        float before[MOST_ROWS * COLUMNS], after[MOST_ROWS * COLUMNS];
        fill(&d, 2);
        assert_true(by_digits(text_of(&b, &s), &d, before));
        d.x[DEPTH + 3] = odd[i]; /* row 1 */
        assert_true(by_digits(tc_sb_str(&b), &d, after));
        for (int row = 0; row < MOST_ROWS; row++) {
            bool same = memcmp(before + row * COLUMNS, after + row * COLUMNS, sizeof(float[COLUMNS])) == 0;
            assert_true(same == (row != 1));
        }
    }
    tc_strbuf_free(&b);
}

/* Where nothing is tuned: for one row, and a target that has a unit for it. */
static void test_untuned(void **state) {
    (void)state;
    tc_strbuf b = {0};
    const tc_intrinsic_set none = 0, dots = tc_intrinsic_alone(tc_intrinsic_of(TC_INTRINSICS_ALL, TC_I32, TC_U8, TC_I8));
    for (int rows = 1; rows <= 2; rows++) {
        tc_ctx *c = tc_ctx_new();
        const tc_workload *w;
        assert_int_equal(tc_te_parse(c, "problem", text_of(&b, &(shape){rows, 4, ZERO_IS_NUMBER}), &w, NULL), TC_OK);
        tc_space_alternative_list l = tc_space_alternatives(c, w, TC_ACCURACY_DEFAULT);
        assert_null(tc_space_untuned(w, l, none));
        assert_ptr_equal(tc_space_untuned(w, l, dots), rows == 1 ? &l.data[0] : NULL);
        tc_ctx_free(c);
    }
    tc_strbuf_free(&b);
}

static void test_refused(void **state) {
    (void)state;
#define HEAD "tensor X[1, 96] f32\ntensor W[5, 3, 16] u8 const\ntensor C[5, 3] f32 const\n"
#define SUMS                                                                                                                     \
    "compute S[m:1, n:5, b:3] = sum(p:2, k:16) X[m, b * 32 + k * 2 + p] * f32(bitand(shr(i32(W[n, b, k]), i32(p) * 4), 15))\n"
    static const char *const no[] = {
        /* not a sum of multiples */
        HEAD SUMS "compute Y[m:1, n:5] = sum(b:3) (S[m, n, b] + 1.0) * C[n, b]\noutput Y\n",
        HEAD SUMS "compute Y[m:1, n:5] = max(b:3) S[m, n, b] * C[n, b]\noutput Y\n",
        /* the total of other blocks */
        HEAD SUMS "compute T[m:1, b:6] = sum(k:16) X[m, b * 16 + k]\n"
                  "compute Y[m:1, n:5] = sum(b:3) (S[m, n, b] - T[m, b] * 8.0) * C[n, b]\noutput Y\n",
        HEAD SUMS "compute T[m:1, b:3] = sum(k:32) X[m, b * 32 + k]\n"
                  "compute Y[m:1, n:5] = sum(b:3) (S[m, n, b] - T[m, 2 - b] * 8.0) * C[n, b]\noutput Y\n",
        /* blocks that overlap */
        HEAD
        "compute S[m:1, n:5, b:3] = sum(p:2, k:16) X[m, b * 16 + k * 2 + p] * f32(bitand(shr(i32(W[n, b, k]), i32(p) * 4), 15))\n"
        "compute Y[m:1, n:5] = sum(b:3) S[m, n, b] * C[n, b]\noutput Y\n",
        /* numbers of more than a byte, and with a sign */
        HEAD "compute S[m:1, n:5, b:3] = sum(p:2, k:16) X[m, b * 32 + k * 2 + p] * f32(i32(W[n, b, k]) * 2)\n"
             "compute Y[m:1, n:5] = sum(b:3) S[m, n, b] * C[n, b]\noutput Y\n",
        "tensor X[1, 96] f32\ntensor W[5, 3, 32] i8 const\ntensor C[5, 3] f32 const\n"
        "compute S[m:1, n:5, b:3] = sum(k:32) X[m, b * 32 + k] * f32(i32(W[n, b, k]))\n"
        "compute Y[m:1, n:5] = sum(b:3) S[m, n, b] * C[n, b]\noutput Y\n",
        /* blocks whose sums need more than 24 bits */
        "tensor X[1, 2048] f32\ntensor W[5, 2, 1024] u8 const\ntensor C[5, 2] f32 const\n"
        "compute S[m:1, n:5, b:2] = sum(k:1024) X[m, b * 1024 + k] * f32(i32(W[n, b, k]))\n"
        "compute Y[m:1, n:5] = sum(b:2) S[m, n, b] * C[n, b]\noutput Y\n",
    };
    for (size_t i = 0; i < TC_LEN(no); i++) {
        tc_ctx *c = tc_ctx_new();
        const tc_workload *w;
        tc_error err;
        if (tc_te_parse(c, "problem", no[i], &w, &err) != TC_OK)
            fail_msg("%s\n%s", err.msg, no[i]);
        if (tc_space_alternatives(c, w, TC_ACCURACY_DEFAULT).n != 0)
            fail_msg("this has no form by digits:\n%s", no[i]);
        tc_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_form), cmocka_unit_test(test_extremes), cmocka_unit_test(test_rows_are_apart),
        cmocka_unit_test(test_untuned),    cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
