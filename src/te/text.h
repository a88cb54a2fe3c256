/* The `.te` text form. Round trip: tc_te_print(tc_te_parse(x)) is canonical in layout and parses to an equal workload.
 *
 *     # comment
 *     tensor X[128, 768] f32
 *     tensor W[768, 3072] f32 const
 *     compute D[i:128, j:3072] = sum(k:768) X[i, k] * W[k, j]
 *     compute Y[i:128, j:3072] = gelu(D[i, j] + B[j])          # gelu(x), silu(x), relu(x) are sugar for their definitions
 *     compute V, I[i:8] = argmax(k:100) (X[i, k], k)
 *     compute P[i:10] = select(i > 0 && i < 9, X[i - 1], 0.0)
 *     output Y
 *
 * Sizes that are known when the kernel runs are symbols, with the range that they have, from 0 or more. They stand where an
 * extent stands, and in expressions for their value:
 *
 *     symbol N 1..512
 *     tensor X[N, 768] f32
 *     compute M[j:768] = sum(i:N) X[i, j] / f32(N)
 *
 * or defined by other sizes, with +, -, * and / by an integer:
 *
 *     symbol P 0..1023
 *     symbol S 1..64
 *     symbol T = P + S
 *     tensor A[P, 64] f32
 *     tensor B[S, 64] f32
 *     compute Y[i:T, j:64] = select(i < P, A[i, j], B[i - P, j])
 *
 * A literal takes the dtype of the other operand; `f16(0.5)`, `i32(x)`, `f32(x)` cast. An axis or a symbol used as a value is
 * i64. */
#ifndef TC_TE_TEXT_H
#define TC_TE_TEXT_H

#include "support/lex.h"
#include "te/te.h"

/* `file` names the source in messages "FILE:LINE:COL: ...". */
TC_NODISCARD tc_status tc_te_parse(tc_ctx *c, const char *file, const char *text, const tc_workload **out, tc_error *err);
void tc_te_print(tc_strbuf *b, const tc_workload *w);
const char *tc_te_text(tc_arena *a, const tc_workload *w); /* what it prints, in the arena */

/* ---- expressions ----
 *
 * The grammar of te's bodies and of TIR, lowest precedence first; comparisons do not chain:
 *
 *     a || b
 *     a && b
 *     a < b                        and == != <= > >=
 *     a + b - c
 *     a * b / c % d
 *     !a   -a                      -x of a float is x * -1.0, of an integer 0 - x
 *     min(a, b)  select(c, a, b)   every other op of ops.def as a call by its text
 *     f32(x)                       cast; of a literal: the immediate of that dtype
 *     T[i, j]  B[index]            T[] has no index
 *     true  false  inf  nan
 *
 * and, in TIR alone:
 *
 *     ramp(base, stride, 16)       vectors; the lane count comes last
 *     bcast(x, 16)
 *     dot(c, a, b)
 *     B[index, mask: m]            `resolve` gets B and one index and returns tc_load(..., NULL); the parser adds the mask
 *
 * A bare literal takes the dtype (and lanes) of the operand beside it; where there is none it is f32 with a point or exponent and
 * i64 without. Stops at the first token that cannot continue the expression. Newlines inside brackets are skipped. Deep nesting is
 * refused. */
typedef enum tc_dialect { TC_DIALECT_TE, TC_DIALECT_TIR } tc_dialect;

/* Maps an identifier (and, for a name followed by '[', its parsed indices) to an expression; NULL: unknown. A name without brackets
 * comes with nidx 0 and idx NULL; `T[]` with nidx 0 and idx not NULL. Indices come as i64 (scalars, or vectors in TIR). */
typedef const tc_expr *tc_te_resolve(void *user, const char *name, int nidx, const tc_expr *const *idx);

/* Whether a name stands for a number, which is then read as a literal. */
typedef struct tc_te_literal {
    bool real; /* f, else i */
    int64_t i;
    double f;
} tc_te_literal;
typedef bool tc_te_number(void *user, const char *name, tc_te_literal *out);

/* A function that only the scope has, of two operands of one dtype. */
typedef struct tc_te_function {
    const char *name; /* NULL: the end of a list */
    const tc_expr *(*make)(tc_ctx *c, const tc_expr *a, const tc_expr *b);
} tc_te_function;

/* Where an expression stands. */
typedef struct tc_te_scope {
    tc_dialect dialect;
    tc_te_resolve *resolve;
    tc_te_number *number;            /* NULL: no name stands for a number */
    const tc_te_function *functions; /* NULL: those of te alone */
    void *user;                      /* of `resolve` and `number` */
    const char **why;                /* NULL, or where `resolve` may leave a better reason than "unknown name" */
    const tc_dtype *literal;         /* of a literal that stands alone ("store this value into an f16 buffer"); NULL: its own */
    int64_t *terms; /* nodes that the expressions of a text may still have, written as trees; NULL: TC_MAX_TREE */
} tc_te_scope;

/* Reads one expression at the lexer's current token. */
TC_NODISCARD tc_status tc_te_parse_expr(tc_ctx *c, tc_lex *lex, const tc_te_scope *scope, const tc_expr **out, tc_error *err);

#endif
