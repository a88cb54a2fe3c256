/* src/te owns what is computed: data types, expressions, tensors, compute and reduce operations, and the workload with
 * its hash. Its rooms: te/index (index arithmetic: affine forms, intervals, simplification, proofs), te/text (the text
 * form .te), te/interp (the reference interpreter), te/sizes (symbols: sizes that vary from run to run). Not here: how
 * it is computed (src/schedule_primitives) and where a workload comes from (src/graph).
 *
 * A workload is an immutable graph of operations. The context in which it is made owns everything. Text form .te: see
 * text.h. */
#ifndef TC_TE_TE_H
#define TC_TE_TE_H

#include "support/hash.h"
#include "support/rng.h"
#include "te/expr.h"

enum { TC_MAX_DIMS = 8, TC_MAX_OUTS = 2 };
/* Of a workload: inputs, symbols, and computes. A replayed schedule compares each stage with all others, and a search carries over the
 * decisions about each product to those about all others. Groups of graph operations have at most 48 nodes and 256 operands; kernels
 * of networks had 7 computes at most. */
enum { TC_MAX_INPUTS = 256, TC_MAX_SYMBOLS = 256, TC_MAX_COMPUTES = 128 };

typedef struct tc_compute tc_compute;

struct tc_tensor {
    const char *name;
    uint32_t id;
    tc_dtype dtype;
    int ndim; /* 0 for a scalar: one element */
    int64_t shape[TC_MAX_DIMS];
    /* The size of a dimension that varies, known when the program runs; shape[] has its largest value. NULL: the size is fixed */
    const tc_var *symbol[TC_MAX_DIMS];
    const tc_compute *op; /* the compute that produces it; NULL for a placeholder */
    int out;              /* which output of op */
    bool is_const;        /* placeholder whose content is known at build time (weights): its layout may be transformed for free */
};

typedef struct tc_axis {
    const tc_var *var;    /* runs over [0, extent), or [0, symbol) */
    int64_t extent;       /* >= 1; 0 is possible after tc_te_at fixed the sizes */
    const tc_var *symbol; /* NULL: the extent is fixed; else `extent` is the symbol's largest value */
} tc_axis;

typedef enum tc_reducer {
    TC_RED_NONE,
#define REDUCER(id, text, op, nout, start) TC_RED_##id,
#include "te/reducers.def"
#undef REDUCER
    TC_NREDUCERS
} tc_reducer;

/* out[axes] = reduce over raxes of body. For ARGMAX/ARGMIN there are two outputs, body = {value, index}: the result is the best
 * value and its index, the smallest index among equal values. NaN is better than every number, as in NumPy. All other computes have
 * one output. Over an empty choice of raxes (reducer NONE) the body is the value; over an axis of size 0 the result is the
 * reducer's identity. */
struct tc_compute {
    const char *name; /* also the name of the (first) output tensor */
    uint32_t id;
    int naxis, nraxis;
    const tc_axis *axes, *raxes;
    tc_reducer reducer;
    int nout;
    const tc_expr *body[TC_MAX_OUTS];
    const tc_tensor *out[TC_MAX_OUTS];
};

const char *tc_reducer_name(tc_reducer r); /* "sum", ... , "" for NONE */
/* Neutral element for output `o` of the reducer at dtype t (argmax index: the largest i64 that dtype holds). */
const tc_expr *tc_reducer_identity(tc_ctx *c, tc_reducer r, int o, tc_dtype t);
/* dst[o] = combine(a, b), element expressions of any lanes; nout as the reducer has (1, or 2 for arg reducers). */
void tc_reducer_combine(tc_ctx *c, tc_reducer r, const tc_expr *const *a, const tc_expr *const *b, const tc_expr **dst);

typedef struct tc_workload {
    tc_ctx *ctx; /* the context that owns it; treat as frozen once a search runs */
    int nin;     /* placeholders in argument order */
    const tc_tensor **in;
    int nsymbol; /* sizes that are arguments, in order of first use: in shapes of inputs, in axes, then in bodies */
    const tc_var **symbols;
    int ndefined; /* sizes computed from the symbols, each once, in order of first use; they are no arguments */
    const tc_var **defined;
    int ncompute; /* topological order: producers first */
    const tc_compute **computes;
    int nout; /* each the output of a compute */
    const tc_tensor **out;
} tc_workload;

/* Building. Names are copied. Axes made with tc_te_axis; bodies must be dtype-consistent with the tensor they produce. */
const tc_tensor *tc_te_placeholder(tc_ctx *c, const char *name, tc_dtype t, int ndim, const int64_t *shape, bool is_const);
/* The same. If symbol[d] is not NULL, it is the size of dimension d, and shape[d] is ignored. */
const tc_tensor *tc_te_varying_placeholder(tc_ctx *c, const char *name, tc_dtype t, int ndim, const int64_t *shape,
                                           const tc_var *const *symbol, bool is_const);
tc_axis tc_te_axis(tc_ctx *c, const char *name, int64_t extent);
tc_axis tc_te_varying_axis(tc_ctx *c, const char *name, const tc_var *symbol);
tc_axis tc_te_axis_like(tc_ctx *c, const char *name, const tc_axis *like); /* a new axis with the extent and symbol of `like` */
/* dtype of output o is that of body[o]. Returns the compute; its tensors are ->out[0..nout). Copies the arrays. */
const tc_compute *tc_te_compute(tc_ctx *c, const char *name, int naxis, const tc_axis *axes, tc_reducer r, int nraxis,
                                const tc_axis *raxes, int nout, const tc_expr *const *body);
/* Collects what the outputs need, in a canonical order (depth first from the outputs, operands left to right). Placeholders that
 * nothing reads are kept if listed in `in` (nin may be 0: then the order of first use). Checks that accesses are in
 * bounds (by intervals, refined by the conditions of selects, for all values of sizes that vary), that names are unique, and that
 * there is an output. */
TC_NODISCARD tc_status tc_te_workload(tc_ctx *c, int nin, const tc_tensor *const *in, int nout, const tc_tensor *const *out,
                                      tc_workload **w, tc_error *err);

/* The same workload in context `c` under canonical names: placeholders p0.., computes t0.., axes i0.., reduction axes k0.. per
 * compute. Two workloads that differ in names only have equal canonical text. Traces in records refer to canonical names. */
const tc_workload *tc_te_canonical(tc_ctx *c, const tc_workload *w);
/* Fixes the sizes: makes the workload in context c with sizes[i] for symbol i. TC_BAD_INPUT: a size is out of its symbol's range.
 * If a size is 0, only the interpreter can use the result, because schedules have no extents of 0. */
TC_NODISCARD tc_status tc_te_at(tc_ctx *c, const tc_workload *w, const int64_t *sizes, const tc_workload **out, tc_error *err);
/* The part of a tensor that is read: indices below size[d] in dimension d. size[d] NULL: all indices. size[d] &tc_te_first: only
 * index 0, which is allowed beside every size that cannot be 0. */
typedef struct tc_te_part {
    const tc_var *size[TC_MAX_DIMS];
} tc_te_part;
extern const tc_var tc_te_first;
/* The size of a dimension that one reader reads up to x and another reader up to y. */
const tc_var *tc_te_common_end(const tc_var *x, const tc_var *y);
/* Limits w, which was made for the largest sizes, to the sizes of a run. An axis ends where no reader reads further. A reduction
 * axis ends where w says.
 * asked[o]: the part of output o that is read; on return the part that is computed. read[i] (room for w->nin): on return the part
 * of input i that is read. have[i]: where input i itself ends, at least read[i]. size[]: the sizes at which a dimension may end, in
 * addition to those in bodies. out NULL: only read[] is wanted. */
TC_NODISCARD tc_status tc_te_limit(tc_ctx *c, const tc_workload *w, int nsize, const tc_var *const *size, tc_te_part *asked,
                                   const tc_te_part *have, const tc_workload **out, tc_te_part *read, tc_error *err);
/* Hash of the canonical text with the format version: the key of records. */
tc_digest tc_te_hash(const tc_workload *w);

/* The smallest size that dimension d may have. */
static inline int64_t tc_tensor_least(const tc_tensor *t, int d) {
    return t->symbol[d] ? t->symbol[d]->least : t->shape[d];
}
int64_t tc_tensor_size(const tc_tensor *t); /* number of elements, at the largest sizes */
/* Number of floating-point (or integer) operations of the workload. A multiply-add counts 2; any other arithmetic operation,
 * compare-select, min, max and math call counts 1. */
double tc_te_flops(const tc_workload *w);
/* Of these, the multiply-adds of sums of products that no schedule can leave out: 0 where a choice by indices may (padding), or sizes
 * vary. */
double tc_te_products(const tc_workload *w);
/* Bytes of input t that one evaluation reads: all of t, or fewer if fewer elements are read (a gather from a large table). */
double tc_te_bytes_read(const tc_workload *w, const tc_tensor *t);
/* Bytes of all constants together that one evaluation reads. */
double tc_te_constant_bytes_read(const tc_workload *w);
/* Bytes that one evaluation must move: the bytes that it reads of the inputs, and the outputs once. */
double tc_te_bytes_moved(const tc_workload *w);

/* Reference interpreter: a dull loop nest over the unscheduled workload, which has no symbols (tc_te_at). Sums in f32 and
 * narrower accumulate in double, so the result is better than any schedule's. in[i], out[i]: dense row-major arrays. TC_BAD_INPUT
 * for an out-of-range dynamic index. */
TC_NODISCARD tc_status tc_te_interp(const tc_workload *w, const void *const *in, void *const *out, tc_error *err);
/* An element of any type. */
typedef union tc_scalar {
    double f;  /* of a float type */
    int64_t i; /* of an integer or bool; u64: its bits */
} tc_scalar;
tc_scalar tc_scalar_at(tc_dtype t, const void *base, int64_t i);
/* Evaluates only n points of output `o`: coords[n][ndim]. Intermediate computes are memoised per element. *cost (may be NULL) gets
 * the number of scalar evaluations; stops with TC_ENV past max_cost (0: no limit). */
TC_NODISCARD tc_status tc_te_interp_points(const tc_workload *w, const void *const *in, int o, size_t n, const int64_t *coords,
                                           tc_scalar *results, double max_cost, double *cost, tc_error *err);
/* Fills an input with seeded values of sane scale: floats uniform in [-1, 1), integers in a small range (for tensors used as
 * indices: within the bounds they index), bool random. `index_limit` <= 0 means a default small range. */
void tc_te_random_fill(tc_dtype t, void *data, int64_t n, tc_rng *r, int64_t index_limit);
/* The same in two steps: the values are whole numbers in [low, high). If the range is empty, as it is for plain floats, they are
 * floats in [-1, 1). */
typedef struct tc_te_range {
    int64_t low, high;
} tc_te_range;
tc_te_range tc_te_random_range(tc_dtype t, int64_t index_limit);
void tc_te_random_within(tc_dtype t, void *data, int64_t n, tc_rng *r, tc_te_range x);
/* The share of denormal numbers among n values of type t: not 0, and below the smallest normal number. It is 0 for integers, for
 * floats of a byte or less, and if n is 0. */
double tc_te_denormal_share(tc_dtype t, const void *data, int64_t n);
/* Turns about the given share of n values of float type t into denormal numbers of both signs, in place. Leaves other types as they
 * are. */
void tc_te_make_denormal(tc_dtype t, void *data, int64_t n, tc_rng *r, double share);
/* Upper bound (exclusive) of the integers that placeholder `in` may hold where it is used as an index; 0 if it is never one. */
int64_t tc_te_index_limit(const tc_workload *w, int in);

#endif
