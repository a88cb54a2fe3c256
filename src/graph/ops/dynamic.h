/* Sizes that depend on data (of NonZero, Compress, Unique, NonMaxSuppression, and of what follows them).
 *
 * A dimension of such a size has its largest as its extent in the value's shape, and its size at run time as an i64 scalar of the
 * graph, made by nodes like any other. Kernels compute over the largest; what lies past the size at run time is unspecified, but
 * harmless. An operator for which that makes a difference gets its operand masked (reductions, contractions, indices), or is
 * written as a Gather whose indices are computed from the sizes (Concat, Slice, Reshape). So after import nobody knows of such
 * sizes but the outputs, which carry them along as outputs of their own.
 *
 * The operator table names what happens to a node of the model before inference (`rewrite`): mostly a text of expansions.txt.
 * Inference itself says what the dimensions of a result are, and masks operands (infer.h). */
#ifndef TC_GRAPH_OPS_DYNAMIC_H
#define TC_GRAPH_OPS_DYNAMIC_H

#include "graph/ops/emit.h"
#include "te/index/affine.h"

static inline tc_graph_value *tc_graph_extent(const tc_graph_value *v, int d) {
    return v && v->extent ? v->extent[d] : NULL;
}
bool tc_graph_is_dynamic(const tc_graph_value *v);

/* ---- dynamic.c ---- */
/* Dimension d of v is `size` (an i64 scalar) large at run time: cut to it at once where it is known, and else to its largest. */
tc_graph_value *tc_graph_em_sized(tc_graph_emitter *e, tc_graph_value *v, int d, tc_graph_value *size);
/* Size of dimension d of v: an i64 scalar, maybe constant. */
tc_graph_value *tc_graph_em_size(tc_graph_emitter *e, const tc_graph_value *v, int d);
/* The product of the marked dimensions of v, as they are in a run; NULL: they do not vary. */
tc_graph_value *tc_graph_em_count(tc_graph_emitter *e, const tc_graph_value *v, const bool *marked);
/* The i64 scalar v. */
tc_graph_value *tc_graph_em_number(tc_graph_emitter *e, int64_t v);
/* The same memory with every dimension at its largest. */
tc_graph_value *tc_graph_em_blind(tc_graph_emitter *e, tc_graph_value *v);
/* [0, 1, .. n) along axis d of ndim. */
tc_graph_value *tc_graph_em_iota(tc_graph_emitter *e, int64_t n, int d, int ndim);
/* v, with `fill` past the sizes of dimension d, or of all (d < 0). */
tc_graph_value *tc_graph_em_masked(tc_graph_emitter *e, tc_graph_value *v, int d, tc_graph_value *fill);
/* x[.., index, ..], blind, where the indices may point past what x has. */
tc_graph_value *tc_graph_em_pick(tc_graph_emitter *e, tc_graph_value *x, int axis, tc_graph_value *index);
/* Fails where one of constant indices, one of every `of` from `at` on, is outside of a dimension of `dim`. */
TC_NODISCARD tc_status tc_graph_want_range(tc_graph_infer_ctx *c, const tc_graph_value *index, int64_t at, int64_t of,
                                           int64_t dim);
/* The least of constant indices that name a dimension, one of every `of` from `at` on; at most 0. */
int64_t tc_graph_least_index(const tc_graph_value *index, int64_t at, int64_t of);
/* The integers that floats v are casts of, or v. */
tc_graph_value *tc_graph_before_cast(tc_graph_value *v);
/* 0, 1, or a number that is not above (below) any of the type's. */
tc_graph_value *tc_graph_em_fill(tc_graph_emitter *e, tc_dtype t, tc_graph_fill fill);
bool tc_graph_is_fill(const tc_graph_value *v, tc_graph_fill fill); /* v, a scalar, is such a constant */
/* Places a node with several outputs in front of e->c->n; v[k] are these. */
void tc_graph_em_place_all(tc_graph_emitter *e, tc_graph_node *n, tc_graph_value **v, int nout);

/* y, blind, with the sizes of x but for dimension d, which has `size`; NULL: none. */
tc_graph_value *tc_graph_em_with_sizes(tc_graph_emitter *e, tc_graph_value *y, const tc_graph_value *x, int d,
                                       tc_graph_value *size);
/* The node with other operands, to be placed in front of itself. */
tc_graph_node *tc_graph_em_copy(tc_graph_emitter *e, tc_graph_value *const *in, int nin);

/* Where(cond, a, b) of equal types, cond a scalar: also of their sizes. */
tc_graph_value *tc_graph_em_either(tc_graph_emitter *e, tc_graph_value *cond, tc_graph_value *a, tc_graph_value *b);

/* ---- dynamic_float.c ---- */
/* The integer that a Cast of element i of the float v gives, as an expression of g's sizes; NULL: at most its range is known, which
 * is then *range. */
const tc_expr *tc_graph_cast_of(tc_graph *g, tc_graph_value *v, int64_t i, tc_ival *range);

/* ---- dynamic_trace.c ---- */
/* Where element *i of *v comes from: a vector (or scalar) and the position in it. */
void tc_graph_look_through(tc_graph_value **v, int64_t *i);
/* A number that the graph computes, seen through what only moves it. */
typedef struct tc_graph_number {
    tc_graph_value *value; /* an i64 scalar */
    const tc_expr *x;      /* what it is (graph/ir/sizes.h) */
    int64_t most;          /* its largest; -1: not known */
    bool constant;         /* it is `most` */
} tc_graph_number;
/* Element i of the integer vector or scalar v as an expression of g's sizes. */
const tc_expr *tc_graph_number_of(tc_graph *g, tc_graph_value *v, int64_t i);
/* Whether each element of the integer vector or scalar v is the same number in all runs. Then *out, freshly allocated, has them. */
bool tc_graph_numbers_are_fixed(tc_graph *g, tc_graph_value *v, tc_graph_tensor *out);
/* The integer scalar v; its value is that of the first scalar that is the same number. */
tc_graph_number tc_graph_em_known(tc_graph_emitter *e, tc_graph_value *v);
/* Elements of the integer vector or scalar v: as many as its shape says, at most TC_GRAPH_MAX_NUMBERS. */
enum { TC_GRAPH_MAX_NUMBERS = 64 };
TC_NODISCARD tc_status tc_graph_trace(tc_graph_emitter *e, tc_graph_value *v, tc_graph_number *out);
/* Are all of them constants, or have a largest value? */
bool tc_graph_has_bounds(const tc_graph_number *v, int64_t n);
/* What the bool v of one element, of *g, compares of such numbers; NULL: it is something else. *g becomes the graph that computes
 * it, where that is around a body that import adds to. */
const tc_expr *tc_graph_condition_of(tc_graph **g, tc_graph_value *v);

/* ---- meet.c ---- */
/* Two sizes of a body's graph as the graph around all bodies has them, where what is learnt of them is kept. */
enum { TC_GRAPH_MAX_CONDITIONS = 8 };
typedef struct tc_graph_sizes_outside {
    struct tc_graph_sizes *s;
    const tc_expr *x, *y;
    bool certain;                                 /* no branch, which a run may do without, is what needs them */
    const tc_expr *when[TC_GRAPH_MAX_CONDITIONS]; /* all that hold where it needs them, as far as that is known */
    int nwhen;
} tc_graph_sizes_outside;
/* Of a graph that is no body, the same. False: one depends on data, or on what a trip of a loop carries. */
bool tc_graph_find_outside(tc_graph *g, const tc_expr *x, const tc_expr *y, tc_graph_sizes_outside *out);
/* Whether the condition, of sizes of g, holds in all runs (1), in none (0), or in some (-1): by the ranges of the sizes, and by what
 * is known where g is the body of a branch. */
int tc_graph_decide(tc_graph *g, const tc_expr *condition);
/* From now on runs compute what is added to the body g only if the bool `condition`, of g, is `holds`. */
void tc_graph_rely_on(tc_graph *g, tc_graph_value *condition, bool holds);
/* The condition, of sizes of g, holds in all runs: the model relies on it. */
void tc_graph_note_end(tc_graph *g, const tc_expr *condition);
/* As tc_graph_sizes_choose: sizes that import assumes become those for which the condition is as it is for most of them. True: begin again. */
bool tc_graph_choose(tc_graph *g, const tc_expr *condition);
/* The same where all sizes are the largest. */
int tc_graph_decide_at_largest(tc_graph *g, const tc_expr *condition);
/* In a branch, which runs may do without, runs check no sizes: they must be known to be equal. Fails where they are not. *learns:
 * they are to be equal from now on, as a node around the branches needs it, or already are. */
TC_NODISCARD tc_status tc_graph_meet_certainly(tc_graph_emitter *e, const char *a, const char *b,
                                               const tc_graph_sizes_outside *both, bool *learns);
/* Dimension d of a and dimension m of b are one size, whatever a run's sizes are; one that is 1 stands for any where they
 * broadcast. Fails where there are runs in which they are not, and also where import has to begin again with what is learnt of
 * them. */
TC_NODISCARD tc_status tc_graph_meet(tc_graph_emitter *e, const tc_graph_value *a, int d, const tc_graph_value *b, int m,
                                     bool broadcasts);
/* The same of sizes, with what they are called in messages. */
TC_NODISCARD tc_status tc_graph_meet_numbers(tc_graph_emitter *e, const char *a, const tc_expr *x, const char *b,
                                             const tc_expr *y);
/* The node needs x, which is called `what`, to be from `least` to `most`, and a multiple: runs in which it is not are refused,
 * before anything is computed, or at the node where x depends on data. Fails where none would be left, and in a branch, which runs
 * may do without, where it is not known to be. */
TC_NODISCARD tc_status tc_graph_require(tc_graph_emitter *e, const char *what, const tc_expr *x, int64_t least, int64_t most,
                                        int64_t multiple);
/* The same of o->x, which is of the graph around all bodies. */
TC_NODISCARD tc_status tc_graph_require_outside(tc_graph_emitter *e, const tc_graph_sizes_outside *o, const char *what,
                                                int64_t least, int64_t most, int64_t multiple);
/* The same of a multiple of `by`, which varies, and is above 0 then. Neither depends on data. */
TC_NODISCARD tc_status tc_graph_require_multiple(tc_graph_emitter *e, const char *what, const tc_expr *x, const tc_expr *by);
/* Dimension d of v is a multiple, whatever a run's sizes are. */
bool tc_graph_divides(tc_graph_emitter *e, const tc_graph_value *v, int d, int64_t by);
/* Of dimension d of v. */
TC_NODISCARD tc_status tc_graph_require_size(tc_graph_emitter *e, const tc_graph_value *v, int d, int64_t least);
/* It is not 1, as a Squeeze without axes would drop it. */
TC_NODISCARD tc_status tc_graph_require_not_one(tc_graph_emitter *e, const tc_graph_value *v, int d);
/* v, whose dimension d is a multiple in each run, as a value whose largest size is one, too. */
tc_graph_value *tc_graph_em_multiple(tc_graph_emitter *e, tc_graph_value *v, int d, int64_t by);
/* v, whose dimension d is n in each run, as a value where it is always n. An assumed size becomes n. whose: of what n is the size,
 * in messages. */
tc_graph_value *tc_graph_em_exactly(tc_graph_emitter *e, tc_graph_value *v, int d, int64_t n, const char *whose);
/* Of dimension d of the node's first operand: it has what the constants among `index`, one of every `of` from `at` on, name. */
TC_NODISCARD tc_status tc_graph_require_indices(tc_graph_emitter *e, const tc_graph_value *index, int64_t at, int64_t of, int d);
/* Dimension d of v as an expression. */
const tc_expr *tc_graph_size_number(tc_graph_emitter *e, const tc_graph_value *v, int d);
/* The dimensions of both before the last `but` ones, aligned at their ends, as NumPy broadcasts. */
TC_NODISCARD tc_status tc_graph_meet_broadcast(tc_graph_emitter *e, tc_graph_value *a, tc_graph_value *b, int but);

/* ---- what the operator table's functions are, and what they share ---- */
/* Of the node e->c->n: it says which sizes of operands meet (meet.c), and may rewrite the node. */
typedef tc_status tc_graph_dynamic_fn(tc_graph_emitter *e);
/* Before inference of c->n, any of whose operands may be of such a size. */
TC_NODISCARD tc_status tc_graph_dynamic_rewrite(tc_graph_infer_ctx *c);
/* The list as numbers: the attribute or input k; out has room for TC_GRAPH_MAX_NUMBERS. */
TC_NODISCARD tc_status tc_graph_dynamic_list(tc_graph_emitter *e, int k, tc_graph_attr_id id, tc_graph_number *out, int64_t *n);
/* Input k as the shape of a result: its numbers, all of which have a largest value, and that as *s. */
TC_NODISCARD tc_status tc_graph_dynamic_shape(tc_graph_emitter *e, int k, tc_graph_number *want, tc_graph_shape *s);
/* Operands of a Slice. Axes that are left out are the first ones, and steps are 1. */
typedef struct tc_graph_slice_numbers {
    int64_t n;
    tc_graph_number starts[TC_GRAPH_MAX_NUMBERS], ends[TC_GRAPH_MAX_NUMBERS], axes[TC_GRAPH_MAX_NUMBERS],
        steps[TC_GRAPH_MAX_NUMBERS];
} tc_graph_slice_numbers;
TC_NODISCARD tc_status tc_graph_read_slice(tc_graph_emitter *e, tc_graph_slice_numbers *a);
/* How much a Pad adds before and after each dimension. */
TC_NODISCARD tc_status tc_graph_read_pads(tc_graph_emitter *e, tc_graph_number *before, tc_graph_number *after);
/* The failure for numbers v of input k of which one has no largest value. */
tc_status tc_graph_dynamic_no_bound(tc_graph_emitter *e, const char *what, int k, const tc_graph_number *v);
/* The failure for an operand that the operator does not take so. */
tc_status tc_graph_dynamic_refuse(tc_graph_infer_ctx *c, int k, int d);

#endif
