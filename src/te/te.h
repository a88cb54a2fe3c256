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

typedef struct tc_compute tc_compute;

struct tc_tensor {
    const char *name;
    uint32_t id;
    tc_dtype dtype;
    int ndim; /* 0 for a scalar: one element */
    int64_t shape[TC_MAX_DIMS];
    /* Of a dimension that varies: its size when the program runs, of which shape is the most */
    const tc_var *symbol[TC_MAX_DIMS];
    const tc_compute *op; /* the compute that produces it; NULL for a placeholder */
    int out;              /* which output of op */
    bool is_const;        /* placeholder whose content is known at build time (weights): its layout may be transformed for free */
};

typedef struct tc_axis {
    const tc_var *var;    /* runs over [0, extent), or [0, symbol) */
    int64_t extent;       /* >= 1; 0 only of a workload that is of fixed sizes by tc_te_at */
    const tc_var *symbol; /* NULL: the extent is fixed; else it is the symbol's most */
} tc_axis;

typedef enum tc_reducer {
    TC_RED_NONE,
#define REDUCER(id, text, op, nout, start) TC_RED_##id,
#include "te/reducers.def"
#undef REDUCER
    TC_NREDUCERS
} tc_reducer;

/* out[axes] = reduce over raxes of body. For ARGMAX/ARGMIN there are two outputs, body = {value, index}: the result is the best
 * value and its index, the smallest index among equal values. All other computes have one output. Over an empty choice of raxes
 * (reducer NONE) the body is the value; over an axis of size 0 the result is the reducer's identity. */
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
    int nsymbol; /* sizes, in argument order, which is that of first use: in shapes of inputs, axes, then bodies */
    const tc_var **symbols;
    int ndefined; /* sizes that those define, each once, in order of first use; no arguments */
    const tc_var **defined;
    int ncompute; /* topological order: producers first */
    const tc_compute **computes;
    int nout; /* each the output of a compute */
    const tc_tensor **out;
} tc_workload;

/* Building. Names are copied. Axes made with tc_te_axis; bodies must be dtype-consistent with the tensor they produce. */
const tc_tensor *tc_te_placeholder(tc_ctx *c, const char *name, tc_dtype t, int ndim, const int64_t *shape, bool is_const);
/* The same; symbol[d], where it is not NULL, is the size of dimension d, and shape[d] is not looked at. */
const tc_tensor *tc_te_varying_placeholder(tc_ctx *c, const char *name, tc_dtype t, int ndim, const int64_t *shape,
                                           const tc_var *const *symbol, bool is_const);
tc_axis tc_te_axis(tc_ctx *c, const char *name, int64_t extent);
tc_axis tc_te_varying_axis(tc_ctx *c, const char *name, const tc_var *symbol);
tc_axis tc_te_axis_like(tc_ctx *c, const char *name, const tc_axis *like); /* a new one with its extent and symbol */
/* dtype of output o is that of body[o]. Returns the compute; its tensors are ->out[0..nout). Copies the arrays. */
const tc_compute *tc_te_compute(tc_ctx *c, const char *name, int naxis, const tc_axis *axes, tc_reducer r, int nraxis,
                                const tc_axis *raxes, int nout, const tc_expr *const *body);
/* Collects what the outputs need, in a canonical order (depth first from the outputs, operands left to right). Placeholders that
 * nothing reads are kept if listed in `in` (nin may be 0: then the order of first use). Checks: in-bounds accesses (by intervals;
 * under select conditions refined; of sizes that vary, for each that they may have), unique names, at least one output. */
TC_NODISCARD tc_status tc_te_workload(tc_ctx *c, int nin, const tc_tensor *const *in, int nout, const tc_tensor *const *out,
                                      tc_workload **w, tc_error *err);

/* The same workload in context `c` under canonical names: placeholders p0.., computes t0.., axes i0.., reduction axes k0.. per
 * compute. Two workloads that differ in names only have equal canonical text. Traces in records refer to canonical names. */
const tc_workload *tc_te_canonical(tc_ctx *c, const tc_workload *w);
/* The workload for given sizes, sizes[i] of symbol i, in context c: all its extents are fixed, and nothing else differs.
 * TC_BAD_INPUT for a size that is out of its symbol's range. With a size of 0 the result is for the interpreter alone: schedules
 * have no such extents. */
TC_NODISCARD tc_status tc_te_at(tc_ctx *c, const tc_workload *w, const int64_t *sizes, const tc_workload **out, tc_error *err);
/* Of a tensor, of which only what lies below size[d] in dimension d is read; all of it where that is NULL, and only what is at 0
 * where it is &tc_te_first, which goes with every size that cannot be 0. */
typedef struct tc_te_part {
    const tc_var *size[TC_MAX_DIMS];
} tc_te_part;
extern const tc_var tc_te_first;
/* Where a dimension ends of which one reader reads as far as x, and another as far as y. */
const tc_var *tc_te_common_end(const tc_var *x, const tc_var *y);
/* w, which was made for the largest sizes, for any: asked[o] is what is read of output o, and afterwards what there is of it, by
 * sizes. Its axes end where nothing past them is read, and its reduction axes where masks say that nothing comes after: select(k
 * < size, x, what is neutral), written in this way. Any other select chooses between elements. read[i] (room for w->nin): what of
 * input i is read then; have[i], no less than that: where it ends itself. size[]: those at which anything may end, beside those
 * of bodies. out NULL: only read[] is wanted. */
TC_NODISCARD tc_status tc_te_limit(tc_ctx *c, const tc_workload *w, int nsize, const tc_var *const *size, tc_te_part *asked,
                                   const tc_te_part *have, const tc_workload **out, tc_te_part *read, tc_error *err);
/* Hash of the canonical text with the format version: the key of records. */
tc_digest tc_te_hash(const tc_workload *w);

/* The smallest size that dimension d may have. */
static inline int64_t tc_tensor_least(const tc_tensor *t, int d) {
    return t->symbol[d] ? t->symbol[d]->least : t->shape[d];
}
int64_t tc_tensor_size(const tc_tensor *t); /* elements; where its size varies, the most */
/* Floating-point (or integer) operations of the workload as the field counts them: a multiply-add is 2, each arithmetic,
 * compare-select, min/max and math call 1. */
double tc_te_flops(const tc_workload *w);
/* Bytes of input t that one evaluation reads: all of it, unless fewer elements are asked for (a gather from a large table). */
double tc_te_bytes_read(const tc_workload *w, const tc_tensor *t);
/* The same, of all constants. */
double tc_te_constant_bytes_read(const tc_workload *w);
/* Bytes that one evaluation must move: of the inputs what it reads, and the outputs, once. */
double tc_te_bytes_moved(const tc_workload *w);

/* Reference interpreter: a dull loop nest over the unscheduled workload, which has no symbols (tc_te_at). Sums in f32 and
 * narrower accumulate in double, so the result is better than any schedule's. in[i], out[i]: dense row-major arrays. TC_BAD_INPUT
 * for an out-of-range dynamic index. */
TC_NODISCARD tc_status tc_te_interp(const tc_workload *w, const void *const *in, void *const *out, tc_error *err);
/* Evaluates only n points of output `o`: coords[n][ndim]; results as double (integers exact up to 2^53). Intermediate computes
 * are memoised per element. *cost (may be NULL) gets the number of scalar evaluations; stops with TC_ENV past max_cost (0: no
 * limit). */
TC_NODISCARD tc_status tc_te_interp_points(const tc_workload *w, const void *const *in, int o, size_t n, const int64_t *coords,
                                           double *results, double max_cost, double *cost, tc_error *err);
/* Fills an input with seeded values of sane scale: floats uniform in [-1, 1), integers in a small range (for tensors used as
 * indices: within the bounds they index), bool random. `index_limit` <= 0 means a default small range. */
void tc_te_random_fill(tc_dtype t, void *data, int64_t n, tc_rng *r, int64_t index_limit);
/* The same in two steps: whole numbers in [low, high); where that is empty, as it is for floats by themselves, floats in [-1,
 * 1). */
typedef struct tc_te_range {
    int64_t low, high;
} tc_te_range;
tc_te_range tc_te_random_range(tc_dtype t, int64_t index_limit);
void tc_te_random_within(tc_dtype t, void *data, int64_t n, tc_rng *r, tc_te_range x);
/* The share of n values of type t that are denormal numbers: not 0, and less than the smallest number that has a leading one. 0 of
 * integers, of floats of a byte or less, and of no values. */
double tc_te_denormal_share(tc_dtype t, const void *data, int64_t n);
/* Makes about that share of n values of float type t denormal numbers of both signs, in place; leaves other types alone. */
void tc_te_make_denormal(tc_dtype t, void *data, int64_t n, tc_rng *r, double share);
/* Upper bound (exclusive) of safe integer values for placeholder `in` when its values are used as an index anywhere; 0 if never.
 */
int64_t tc_te_index_limit(const tc_workload *w, int in);

#endif
