/* The text form of TIR, and what the verifier and the interpreter refuse. Programs are text, so each case is readable as it
 * stands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tir_lower/interp/interp.h"
#include "tir_lower/oracle.h"
#include "tir_lower/text/text.h"
#include "tir_lower/verify/verify.h"

typedef struct fixture {
    tc_ctx *c;
    tc_func *f;
    tc_error err;
} fixture;

static int setup(void **state) {
    fixture *x = tc_xcalloc(1, sizeof *x);
    x->c = tc_ctx_new();
    *state = x;
    return 0;
}

static int teardown(void **state) {
    fixture *x = *state;
    tc_ctx_free(x->c);
    free(x);
    return 0;
}

static void parse_ok(fixture *x, const char *text) {
    if (tc_tir_parse(x->c, "t.tir", text, &x->f, &x->err) != TC_OK)
        fail_msg("%s", x->err.msg);
}

static void parse_refused(fixture *x, const char *text, const char *message) {
    assert_int_equal(tc_tir_parse(x->c, "t.tir", text, &x->f, &x->err), TC_BAD_INPUT);
    if (!strstr(x->err.msg, message))
        fail_msg("expected '%s' in: %s", message, x->err.msg);
}

static void verify_ok(fixture *x, const char *text) {
    parse_ok(x, text);
    if (tc_tir_verify(x->c, x->f, &x->err) != TC_OK)
        fail_msg("%s", x->err.msg);
}

static void verify_refused(fixture *x, const char *text, const char *message) {
    parse_ok(x, text);
    assert_int_equal(tc_tir_verify(x->c, x->f, &x->err), TC_ILLEGAL);
    if (!strstr(x->err.msg, message))
        fail_msg("expected '%s' in: %s", message, x->err.msg);
}

#define HEAD "func t\nparam X f32[8] in 0 align 4\nparam Y f32[8] out 0 align 4\nbody\n"

static void round_trip(void **state) {
    static const char *const TEXTS[] = {
        HEAD "for i in 8 {\n  Y[i] = X[i] * 2.0 + 1.0\n}\n",
        HEAD "for i in 4 {\n  for i_1 in 2 reduce {\n    if guard i * 2 + i_1 < 7 {\n      Y[i * 2 + i_1] = X[i]\n    } else {\n"
             "      Y[i] = f32(i)\n    }\n  }\n}\n",
        HEAD
        "Y[ramp(0, 1, 8)] if ramp(0, 1, 8) < bcast(5, 8) = X[ramp(0, 1, 8), mask: ramp(0, 1, 8) < bcast(5, 8)] + bcast(0.5, 8)\n",
        "func t\nparam W f16[8] packed 1 (k, j) -> (j / 4, k, j % 4) align 64\nparam Y i32[8] out 0 align 4\n"
        "workspace shared 0 thread 64\nplace t 0\nbody\nparallel p in 8 {\n  alloc t i32[1] thread align 64 local {\n    t[0] = "
        "i32(3)\n"
        "    Y[p] = t[0] + i32(W[p])\n  }\n}\n",
        HEAD "alloc r f32[8] reg align 64 lanes 8 local {\n  r[ramp(0, 1, 8)] = bcast(-inf, 8)\n"
             "  Y[ramp(0, 1, 8)] = fma(r[ramp(0, 1, 8)], X[ramp(0, 1, 8)], bcast(nan, 8))\n}\n",
    };
    fixture *x = *state;
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        parse_ok(x, TEXTS[i]);
        tc_strbuf b = {0};
        tc_tir_print(&b, x->f);
        assert_string_equal(tc_sb_str(&b), TEXTS[i]);
        tc_strbuf_free(&b);
    }
}

static void shadowed_names_print_apart(void **state) {
    fixture *x = *state;
    const tc_var *a = tc_var_new(x->c, "i"), *b = tc_var_new(x->c, "i");
    const tc_buffer *y = tc_tir_buffer(x->c, "Y", TC_I64, 8, TC_BUF_PARAM, NULL);
    const tc_stmt *s = tc_tir_store(x->c, y, tc_varx(x->c, a), tc_varx(x->c, b), NULL);
    s = tc_tir_for(x->c, a, tc_i64(x->c, 2), TC_FOR_SERIAL, false, tc_tir_for(x->c, b, tc_i64(x->c, 3), TC_FOR_SERIAL, false, s));
    tc_strbuf t = {0};
    tc_tir_print_stmt(&t, s, 0);
    assert_string_equal(tc_sb_str(&t), "for i in 2 {\n  for i_1 in 3 {\n    Y[i] = i_1\n  }\n}\n");
    tc_strbuf_free(&t);
}

static void syntax_errors(void **state) {
    fixture *x = *state;
    parse_refused(x, "fnc t", "t.tir:1:1: expected 'func'");
    parse_refused(x, HEAD "Y[0] = Z[0]\n", "t.tir:5:8: ");
    parse_refused(x, HEAD "Z[0] = 1.0\n", "t.tir:5:1: unknown buffer 'Z'");
    parse_refused(x, HEAD "Y[0] = i\n", "t.tir:5:8: ");
    parse_refused(x, HEAD "Y[0] = X[ramp(0, 1, 4)]\n", "storing f32 x 4 to Y: expected f32 x 1");
    parse_refused(x, HEAD "for i in 8 {\n", "expected '}'");
    parse_refused(x, HEAD "alloc t f32[0] stack align 4 {\n}\n", "a buffer size must be in 1..");
    parse_refused(x, HEAD "alloc t f31[1] stack align 4 {\n}\n", "unknown element type 'f31'");
    parse_refused(x, HEAD "alloc t f32[1] heap align 4 {\n}\n", "expected shared, thread, stack, reg or tile, found 'heap'");
    parse_refused(x, HEAD "if X[0] {\n}\n", "expected a scalar bool");
    parse_refused(x, "func t\nparam X f32[8] inn 0 align 4\nbody\n", "expected in, packed or out, found 'inn'");
}

/* What only TIR can say, said wrongly. */
/* A program of `levels` blocks one in the other. */
static void nest(tc_strbuf *b, int levels) {
    tc_sb_add(b, HEAD);
    for (int i = 0; i < levels; i++)
        tc_sb_printf(b, "for i%d in 1 {\n", i);
    tc_sb_add(b, "Y[0] = X[0]\n");
    for (int i = 0; i < levels; i++)
        tc_sb_add(b, "}\n");
}

static void long_texts(void **state) {
    size_t n = (size_t)TC_BYTES_TIR + 1;
    char *text = tc_xmalloc(n + 1);
    memset(text, '#', n);
    text[n] = 0;
    parse_refused(*state, text, "t.tir: the text has 67108865 bytes, and at most 67108864 are read");
    free(text);
}

static void deep_nesting(void **state) {
    tc_strbuf deep = {0}, deeper = {0};
    nest(&deep, 500);
    nest(&deeper, 100000);
    parse_ok(*state, tc_sb_str(&deep));
    parse_refused(*state, tc_sb_str(&deeper), "t.tir:505:15: blocks are nested too deeply (more than 500 levels)");
    tc_strbuf_free(&deep);
    tc_strbuf_free(&deeper);
}

static void wrong_vectors(void **state) {
    fixture *x = *state;
    parse_refused(x, HEAD "Y[0] = f32(dot(1, 2, 3))\n",
                  "t.tir:5:12: dot adds products of 8-bit integers to i32, or bf16 times bf16 to f32");
    parse_refused(x, HEAD "Y[0] = f32(dot(i32(0), bcast(u8(1), 4), bcast(i8(1), 8)))\n",
                  "t.tir:5:12: the second operand of dot has");
    parse_refused(x, HEAD "Y[0] = X[ramp(0, 1, 4) + ramp(0, 1, 8)]\n", "t.tir:5:24: '+' cannot be applied to i64x4 and i64x8");
    parse_refused(x, HEAD "Y[0] = X[ramp(ramp(0, 1, 4), 1, 4)]\n", "t.tir:5:15: ramp takes an i64 base and stride");
    parse_refused(x, HEAD "Y[ramp(0, 1, 8)] = bcast(bcast(1.0, 8), 8)\n", "t.tir:5:26: bcast takes a scalar");
    parse_refused(x, HEAD "Y[0] = X[0, mask: bcast(true, 8)]\n", "the mask must be bool with the index's 1 lanes");
    parse_refused(x, HEAD "Y[0] = X[0, 1]\n", "t.tir:5:8: unknown name 'X'");
}

#define TILES                                                                                                                    \
    "func t\nparam X u8[64] in 0 align 64\nparam W i8[256] in 1 align 64\nparam Y i32[64] out 0 align 64\nbody\n"                \
    "alloc a u8[16] tile align 64 lanes 4 {\n  alloc b i8[64] tile align 64 lanes 64 {\n    alloc c i32[64] tile align 64 "      \
    "lanes "                                                                                                                     \
    "16 {\n"
#define TILES_END "    }\n  }\n}\n"

/* Statements of tiles: what they say, and what they must not. */
static void tiles(void **state) {
    fixture *x = *state;
    verify_ok(
        x, TILES
        "tile load a X[0] by 16\ntile load b W[0] by 64\ntile zero c\ntile amx_u8s8 c a b\ntile store c Y[0] by 16\n" TILES_END);
    parse_refused(x, TILES "tile amx_u8s9 c a b\n" TILES_END, "there is no unit 'amx_u8s9'");
    parse_refused(x, TILES "tile load X X[0] by 4\n" TILES_END, "'X' is no tile");
    parse_refused(x, TILES "tile load a Z[0] by 4\n" TILES_END, "unknown buffer 'Z'");
    verify_refused(x, TILES "tile load a X[0] by 21\n" TILES_END, "a tile's load of X may reach elements 66..66");
    verify_refused(x, TILES "tile load a W[0] by 4\n" TILES_END, "a tile of u8, memory of i8");
    verify_refused(x, TILES "tile store a X[0] by 4\n" TILES_END, "a store to the input X");
    verify_refused(x, TILES "tile amx_s8s8 c a b\n" TILES_END, "the types or shapes of the tiles do not fit unit amx_s8s8");
    verify_refused(x, TILES "tile amx_u8s8 c b a\n" TILES_END, "do not fit unit amx_u8s8");
    verify_refused(x, TILES "Y[0] = c[0]\n" TILES_END, "tile c is used as memory");
    verify_refused(x, HEAD "alloc a u8[65] tile align 64 lanes 65 {\n  tile zero a\n}\n", "more than 16 rows of 64 bytes");
    verify_refused(x, HEAD "alloc a u8[17] tile align 64 lanes 1 {\n  tile zero a\n}\n", "more than 16 rows of 64 bytes");
}

/* A dot of constants is legal, if of no use; an index that depends on one may be anything. */
static void constant_dots(void **state) {
    fixture *x = *state;
    static const char *const DOT = "dot(bcast(i32(1), 8), bcast(u8(1), 4), bcast(i8(2), 32))";
    char text[400];
    snprintf(text, sizeof text, HEAD "Y[ramp(0, 1, 8)] = f32(%s)\n", DOT);
    verify_ok(x, text);
    float in[8] = {0}, out[8] = {0};
    void *const args[] = {in, out};
    assert_int_equal(tc_tir_interp(x->f, args, &x->err), TC_OK);
    assert_true(out[0] == 9 && out[7] == 9);
    const tc_expr *value = x->f->body->u.store.value;
    assert_ptr_equal(tc_te_simplify(x->c, value, NULL), value);
    snprintf(text, sizeof text, HEAD "Y[i64(%s)] = bcast(1.0, 8)\n", DOT);
    verify_refused(x, text, "a store to Y may reach");
    verify_refused(x, HEAD "for i in 9 {\n  Y[i + i64(dot(i32(0), bcast(u8(0), 4), bcast(i8(1), 4)))] = 1.0\n}\n",
                   "a store to Y may reach");
}

/* Conditions on floats and on data say nothing about an index. */
static void conditions_on_data(void **state) {
    fixture *x = *state;
    verify_refused(x, HEAD "for i in 9 {\n  if f32(i) < 8.0 {\n    Y[i] = 0.0\n  }\n}\n", "a store to Y may reach elements 0..8");
    verify_refused(x, HEAD "for i in 9 {\n  if X[min(i, 7)] < 8.0 {\n    Y[i] = 0.0\n  }\n}\n", "a store to Y may reach");
    verify_refused(x,
                   "func t\nparam I i64[8] in 0 align 8\nparam Y f32[8] out 0 align 4\nbody\nfor i in 9 {\n"
                   "  if I[min(i, 7)] < 8 {\n    Y[i] = 0.0\n  }\n}\n",
                   "a store to Y may reach");
}

static void bounds(void **state) {
    fixture *x = *state;
    verify_ok(x, HEAD "for i in 8 {\n  Y[i] = X[7 - i]\n}\n");
    verify_refused(x, HEAD "for i in 9 {\n  Y[i] = 0.0\n}\n", "a store to Y may reach elements 0..8, but it has 0..7");
    verify_ok(x, HEAD "for i in 9 {\n  if guard i < 8 {\n    Y[i] = 0.0\n  }\n}\n");
    verify_ok(x, HEAD
              "for o in 3 {\n  for i in 3 {\n    if guard o * 3 + i < 8 {\n      Y[o * 3 + i] = X[o * 3 + i]\n    }\n  }\n}\n");
    verify_ok(x, HEAD "for i in 8 {\n  Y[i] = select(i >= 1, X[i - 1], 0.0)\n}\n");
    verify_refused(x, HEAD "for i in 8 {\n  Y[i] = select(i >= 1, X[i - 2], 0.0)\n}\n", "a load of X may reach");
    verify_refused(x, HEAD "Y[ramp(4, 1, 8)] = bcast(0.0, 8)\n", "a store to Y");
    verify_ok(x, HEAD "Y[ramp(4, 1, 8)] if ramp(4, 1, 8) < bcast(8, 8) = bcast(0.0, 8)\n");
    verify_ok(x, HEAD "for i in 12 {\n  if i < 8 {\n    Y[i] = 0.0\n  } else {\n    Y[i - 8] = X[11 - i]\n  }\n}\n");
    verify_refused(x, HEAD "for i in 12 {\n  if i < 4 {\n    Y[i] = 0.0\n  } else {\n    Y[i] = 0.0\n  }\n}\n",
                   "a store to Y may reach elements 4..11");
    verify_ok(x, HEAD "for i in 12 {\n  Y[0] = select(i < 8, X[i], X[11 - i])\n}\n");
    verify_refused(x, HEAD "for i in 12 {\n  Y[0] = select(i < 8, X[i], X[i - 3])\n}\n", "a load of X may reach elements 5..8");
    /* A fused loop of more values than are tried, of which only remainders are used. */
    verify_ok(x,
              HEAD "for t in 9000000 {\n  if t / 4 % 2 + t % 4 < 4 {\n    Y[t % 8 / 4 * 2 + t % 4 + t / 4 % 2] = 0.0\n  }\n}\n");
    verify_refused(
        x, HEAD "for t in 9000000 {\n  if t / 4 % 2 + t % 4 < 4 {\n    Y[t % 8 / 4 * 5 + t % 4 + t / 4 % 2] = 0.0\n  }\n}\n",
        "a store to Y may reach");
    /* A window that slides over a fused loop: its conditions speak of rows and columns, the index of both at once. */
    const char *window = "func k\nparam P f32[64896] in 0 align 64\nparam Y f32[8] out 0 align 4\nbody\nfor r in 173056 {\n"
                         "  for a in 5 {\n    for b in 5 {\n      for v in 48 {\n        Y[0] = select(r / 3328 + a >= 2 && "
                         "r / 3328 + a < 28 && (r / 128 %% 26 + b >= 2 && r / 128 %% 26 + b < %d), "
                         "P[a * 2496 + b * 96 + r / 64 * 48 + v - 5184], 0.0)\n      }\n    }\n  }\n}\n";
    char text[1024];
    snprintf(text, sizeof text, window, 28);
    verify_ok(x, text);
    snprintf(text, sizeof text, window, 29);
    verify_refused(x, text, "a load of P may reach");
    /* A tail of more values than are tried: each end of the extent is a bound. */
    verify_ok(x, "func k\nparam Z f32[4294967296] out 0 align 64\nbody\nfor a in 2 {\n"
                 "  for b in min(2147483648 - a * 1757602558, 1757602558) {\n    for j in 2 {\n"
                 "      Z[a * 3515205116 + b * 2 + j] = 1.0\n    }\n  }\n}\n");
    /* A tail: the branch says which t it is, the extent what follows for i. */
    verify_ok(x, HEAD "for t in 6 {\n  for i in min(3 - t % 2 * 2, 2) {\n    for v in 2 {\n      if t % 2 < 1 {\n"
                      "        Y[i * 4 + v] = 0.0\n      } else {\n        Y[i * 2 + v + 6] = 0.0\n      }\n    }\n  }\n}\n");
    /* Intervals alone cannot: the guard is on the fused loop. */
    verify_ok(x, HEAD "for f in 9 {\n  if guard f < 8 {\n    Y[f % 4 * 2 + f / 4] = 0.0\n  }\n}\n");
}

static void structure(void **state) {
    fixture *x = *state;
    verify_refused(x, HEAD "X[0] = 0.0\n", "a store to the input X");
    verify_refused(x, HEAD "parallel i in 2 {\n  parallel j in 2 {\n    Y[i * 2 + j] = 0.0\n  }\n}\n",
                   "a parallel loop runs inside another one");
    verify_refused(x, HEAD "alloc t f32[2] thread align 4 {\n  parallel i in 2 {\n    t[i] = 0.0\n  }\n}\n",
                   "private to a thread");
    verify_refused(x, HEAD "parallel i in 2 {\n  alloc t f32[2] shared align 4 {\n    t[i] = 0.0\n  }\n}\n",
                   "of scope shared must not be allocated by a parallel iteration");
    verify_refused(
        x, HEAD "alloc t f32[4] reg align 64 lanes 2 {\n  for i in 2 {\n    t[ramp(i * 2, 1, 2)] = bcast(0.0, 2)\n  }\n}\n",
        "not indexed by an aligned constant");
}

static tc_status interp(fixture *x, const char *text, float *out) {
    float in[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    void *args[] = {in, out};
    parse_ok(x, text);
    return tc_tir_interp(x->f, args, &x->err);
}

static void interp_refused(fixture *x, const char *text, const char *message) {
    float out[8];
    assert_int_equal(interp(x, text, out), TC_BAD_INPUT);
    if (!strstr(x->err.msg, message))
        fail_msg("expected '%s' in: %s", message, x->err.msg);
}

static void interpreter_computes(void **state) {
    fixture *x = *state;
    float out[8];
    assert_int_equal(interp(x, HEAD "parallel i in 8 {\n  Y[i] = X[7 - i] * 2.0\n}\n", out), TC_OK);
    assert_true(out[0] == 16 && out[7] == 2);
    assert_int_equal(
        interp(x, HEAD "Y[ramp(7, -1, 8)] = select(X[ramp(0, 1, 8)] > bcast(4.0, 8), X[ramp(0, 1, 8)], bcast(0.0, 8))\n", out),
        TC_OK);
    assert_true(out[0] == 8 && out[4] == 0);
    /* Inactive lanes of a load are 0, inactive lanes of a store leave memory alone; arms not taken touch nothing. */
    assert_int_equal(
        interp(x,
               HEAD
               "for i in 8 {\n  Y[i] = 9.0\n}\n"
               "Y[ramp(0, 1, 8)] if ramp(0, 1, 8) < bcast(6, 8) = X[ramp(0, 1, 8), mask: ramp(0, 1, 8) < bcast(3, 8)]\n"
               "Y[ramp(0, 1, 2)] = select(bcast(false, 2) || ramp(0, 1, 2) > bcast(0, 2), bcast(5.0, 2), X[ramp(0, 100, 2)])\n",
               out),
        TC_OK);
    assert_true(out[0] == 1 && out[1] == 5 && out[2] == 3 && out[3] == 0 && out[6] == 9);
}

static void interpreter_refuses(void **state) {
    fixture *x = *state;
    interp_refused(x, HEAD "for i in 9 {\n  Y[i] = 0.0\n}\n", "store to Y[8]: outside of its 8 elements at i = 8");
    interp_refused(x, HEAD "for i in 7 {\n  Y[i] = 0.0\n}\n", "element 7 of the output Y was never written");
    interp_refused(x, HEAD "for i in 8 {\n  Y[i] = Y[7 - i]\n}\n", "load of Y[7]: never written");
    interp_refused(x, HEAD "for i in 2 {\n  alloc t f32[2] stack align 4 {\n    t[i] = 1.0\n    Y[i] = t[0]\n  }\n}\n",
                   "load of t[0]: never written at i = 1");
    interp_refused(x, HEAD "for j in 8 {\n  Y[j] = 0.0\n}\nparallel i in 2 {\n  Y[i / 2] = 0.0\n}\n",
                   "store to Y[0]: another iteration");
    interp_refused(x, HEAD "for j in 8 {\n  Y[j] = 0.0\n}\nparallel i in 8 {\n  Y[i] = Y[7 - i]\n}\n",
                   "another iteration of the parallel loop");
    interp_refused(
        x,
        "func t\nparam X f32[8] in 0 align 4\nparam Y f32[8] out 0 align 4\nworkspace shared 64 thread 0\nplace a 0\nplace b "
        "16\nbody\n"
        "alloc a f32[8] shared align 4 {\n  alloc b f32[8] shared align 4 {\n    for i in 8 {\n      a[i] = 1.0\n    }\n"
        "    for i in 8 {\n      b[i] = 2.0\n    }\n    for i in 8 {\n      Y[i] = a[i] + b[i]\n    }\n  }\n}\n",
        "load of a[4]: never written, or overwritten by another buffer");
}

static uint64_t hash_of(fixture *x, const char *text) {
    parse_ok(x, text);
    return tc_tir_hash(x->f);
}

static void hash_ignores_names(void **state) {
    fixture *x = *state;
    uint64_t a = hash_of(x, HEAD "for i in 8 {\n  Y[i] = X[i]\n}\n");
    assert_true(a == hash_of(x, HEAD "for other in 8 {\n  Y[other] = X[other]\n}\n"));
    assert_true(
        a ==
        hash_of(x, "func u\nparam A f32[8] in 0 align 4\nparam B f32[8] out 0 align 4\nbody\nfor i in 8 {\n  B[i] = A[i]\n}\n"));
    assert_false(a == hash_of(x, HEAD "for i in 8 {\n  Y[i] = X[7 - i]\n}\n"));
    assert_false(a == hash_of(x, HEAD "parallel i in 8 {\n  Y[i] = X[i]\n}\n"));
}

/* ---- lines ---- */

typedef struct listed {
    const char *text;
    int first;
    tc_map lines;
    int n;
} listed;

static const char *nth_line(const char *text, int n) {
    for (; n > 0; n--)
        text = strchr(text, '\n') + 1;
    return text + strspn(text, " ");
}

static void stands_there(const tc_stmt *s, void *user) {
    static const char *const BEGINNINGS[TC_NSTMTS] = {[TC_STMT_IF] = "if ", [TC_STMT_STORE] = "Y[", [TC_STMT_ALLOC] = "alloc "};
    listed *l = user;
    const uintptr_t *line = tc_map_get(&l->lines, (uintptr_t)s);
    if (s->kind == TC_STMT_SEQ) {
        assert_null(line);
        return;
    }
    assert_non_null(line);
    const char *begins = s->kind == TC_STMT_FOR ? tc_for_info_of(s->u.loop.kind)->text : BEGINNINGS[s->kind];
    assert_int_equal(strncmp(nth_line(l->text, (int)*line - l->first), begins, strlen(begins)), 0);
    l->n++;
}

/* Lines are those of the text, wherever it begins and whatever stands before it. */
static void lines_of_statements(void **state) {
    fixture *x = *state;
    static const int FIRST[] = {1, 42};
    tc_strbuf plain = {0};
    parse_ok(x, HEAD "for i in 8 {\n  Y[i] = X[i]\n  if i < 4 {\n    alloc t f32[1] stack align 4 {\n      parallel j in 2 {\n"
                     "        Y[j] = X[i]\n      }\n    }\n  } else {\n    Y[i] = 0.0\n    Y[7] = X[i]\n  }\n}\n");
    tc_tir_print(&plain, x->f);
    for (int i = 0; i < 2; i++) {
        tc_strbuf b = {0};
        listed l = {.first = FIRST[i]};
        tc_sb_add(&b, "two\nlines\n");
        size_t before = b.len;
        tc_tir_print_lines(&b, x->f, FIRST[i], &l.lines);
        l.text = b.data + before;
        assert_string_equal(l.text, tc_sb_str(&plain));
        tc_tir_walk(x->f->body, stands_there, &l);
        assert_int_equal(l.n, 8);
        tc_map_free(&l.lines);
        tc_strbuf_free(&b);
    }
    tc_strbuf_free(&plain);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(round_trip, setup, teardown),
        cmocka_unit_test_setup_teardown(shadowed_names_print_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(syntax_errors, setup, teardown),
        cmocka_unit_test_setup_teardown(long_texts, setup, teardown),
        cmocka_unit_test_setup_teardown(deep_nesting, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_vectors, setup, teardown),
        cmocka_unit_test_setup_teardown(constant_dots, setup, teardown),
        cmocka_unit_test_setup_teardown(tiles, setup, teardown),
        cmocka_unit_test_setup_teardown(conditions_on_data, setup, teardown),
        cmocka_unit_test_setup_teardown(bounds, setup, teardown),
        cmocka_unit_test_setup_teardown(structure, setup, teardown),
        cmocka_unit_test_setup_teardown(interpreter_computes, setup, teardown),
        cmocka_unit_test_setup_teardown(interpreter_refuses, setup, teardown),
        cmocka_unit_test_setup_teardown(hash_ignores_names, setup, teardown),
        cmocka_unit_test_setup_teardown(lines_of_statements, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
