/* A built program seen as what the features need: loops, stores with their loop path, and accesses as sums of strided terms.
 * Internal to cost_model. Filled by nest.c (walk), access.c (addresses) and arith.c (operations); read by facts.c, buffers.c,
 * rows.c and estimate.c.
 *
 * Vocabulary. The *path* of a store is the loops around it, level 0 outermost. The sub-nest *at depth d* runs the levels d and
 * deeper; d == nlevel is a single iteration. The *band* is the run of unrolled and vectorised levels innermost on the path: it
 * becomes straight-line code, so their order does not matter and what does not depend on one of them is computed once for it. */
#ifndef TC_COST_MODEL_NEST_H
#define TC_COST_MODEL_NEST_H

#include "cost_model/cost.h"
#include "support/vec.h"

enum { MAX_LEVELS = 64, MAX_TERMS = 16 };

/* Levels of a path as bits. */
typedef uint64_t level_set;

typedef struct loop_node {
    const tc_var *var;
    int parent; /* index of the loop around it, -1 */
    int depth;  /* its level on every path through it */
    tc_for_kind kind;
    bool reduce;
    const tc_intrinsic *unit;
    bool group; /* the steps of one dot product */
    double extent;
} loop_node;

/* stride * {0 .. count-1} elements, moved by the loop at `level`. A loop moves several terms where indices divide it: t % 48 and
 * t / 48. */
typedef struct term {
    int level;
    bool linear; /* count is the loop's whole extent: may be added to another linear term of the level */
    double stride, count;
} term;

typedef struct address {
    int n;
    double offset; /* the constant part */
    term term[MAX_TERMS];
    level_set moved;  /* levels it depends on, also those too many to have a term */
    double divisions; /* divisions and remainders in it, as often as they are computed; powers of two count a quarter */
    bool gathered;    /* goes through another buffer's content */
} address;

/* All accesses of one store to one buffer whose addresses differ by constants only. */
typedef struct access {
    const tc_buffer *buffer;
    int buf; /* index into nest.bufs */
    bool is_read, is_write;
    level_set hoist; /* levels its value depends on: outside of the others it is loaded once */
    double times;    /* how many of them */
    address at;      /* terms by rising stride */
    size_t touched;  /* nest.pool: unique bytes at depth 0..nlevel, then unique lines at depth 0..nlevel */
} access;

/* Float classes first, then integers, then the rest; each with the column of features.def that counts it. */
#define OP_CLASSES(CLASS)                                                                                                        \
    CLASS(FMA, F_FMA)                                                                                                            \
    CLASS(ADD, F_ADD)                                                                                                            \
    CLASS(MUL, F_MUL)                                                                                                            \
    CLASS(DIV, F_DIV)                                                                                                            \
    CLASS(CMP, F_CMP)                                                                                                            \
    CLASS(MATH, F_MATH)                                                                                                          \
    CLASS(OTHER, F_OTHER)                                                                                                        \
    CLASS(IMAD, I_MAD)                                                                                                           \
    CLASS(IADD, I_ADD)                                                                                                           \
    CLASS(IMUL, I_MUL)                                                                                                           \
    CLASS(IDIV, I_DIV)                                                                                                           \
    CLASS(ICMP, I_CMP)                                                                                                           \
    CLASS(IOTHER, I_OTHER)                                                                                                       \
    CLASS(BOOL, BOOL)                                                                                                            \
    CLASS(SELECT, SELECT)                                                                                                        \
    CLASS(CAST, CAST)

enum op_class {
#define CLASS(id, column) OPC_##id,
    OP_CLASSES(CLASS)
#undef CLASS
        NOPC,
    OPC_NONE
};

typedef struct store_site {
    const tc_stmt *s;
    int nlevel;
    int path[MAX_LEVELS];      /* loop of each level */
    int band;                  /* first level of the band; nlevel if there is none */
    const tc_intrinsic *tiles; /* the unit with tiles that does it; NULL: vectors */
    const tc_intrinsic *dots;  /* the unit in vector registers whose dot products it is; NULL: none */
    int nguard;
    double valid, partial; /* shares: iterations that pass all guards; tiles that are partial */
    size_t access;         /* first of naccess in nest.accesses; the store's own is the first */
    int naccess;
    bool accumulates;    /* reads what it stores */
    double count[NOPC];  /* element operations */
    double arith;        /* vector instructions, weighted by their cost in issue slots */
    double arith_plain;  /* the same, each counted once */
    double issued, used; /* lanes of them */
    double index_div;
} store_site;

typedef struct buf_info {
    const tc_buffer *buffer;
    int alloc_depth; /* levels outside of its allocation; -1: a parameter */
} buf_info;

typedef struct memo_slot {
    const tc_expr *e;
    level_set mask;
    uint32_t epoch;
} memo_slot;

typedef struct nest {
    const tc_machine *m;
    TC_VEC(loop_node) loops;
    TC_VEC(store_site) stores;
    TC_VEC(access) accesses;
    TC_VEC(buf_info) bufs;
    TC_VEC(double) pool;
    double *footprint; /* bytes one iteration of loop l touches, at l + 1; of the whole program at 0 */
    double root_bytes; /* allocated outside of every loop */
    struct {
        memo_slot *slot;
        uint32_t cap, used, epoch;
    } memo; /* expression -> levels it depends on, within one store */
} nest;

/* nest.c */
tc_status nest_read(nest *n, const tc_func *f, const tc_machine *m, tc_error *err);
void nest_free(nest *n);
int nest_level_of(const nest *n, const store_site *s, const tc_var *v); /* -1: not on the path */
int nest_buffer(nest *n, const tc_buffer *b);
/* Levels outside of b's allocation: its content depends on them whatever the index is. */
level_set nest_owner_levels(const nest *n, const tc_buffer *b);
level_set nest_all_levels(const store_site *s);
/* Product of the extents of levels [from, to). */
double nest_trips(const nest *n, const store_site *s, int from, int to);
/* How often a value that depends on `mask` is computed in the whole program; with `lanes` > 1 a vector loop counts its vectors. */
double nest_times(const nest *n, const store_site *s, level_set mask, double lanes);
double nest_lanes(const nest *n, int bytes);          /* of a vector register */
double nest_pieces(const loop_node *l, double lanes); /* what its iterations are done in */

/* access.c */
void address_of(const nest *n, const store_site *s, const tc_expr *index, address *out);
/* Adds an access, or joins it with an equal one of the store; returns its index from the store's first. */
int access_add(nest *n, store_site *s, const tc_buffer *b, const address *at, bool is_read, bool is_write, level_set hoist);
/* Fills the store's touched bytes and lines at every depth. */
void access_measure(nest *n, store_site *s);
double access_bytes(const nest *n, const access *a, int depth);
double access_lines(const nest *n, const store_site *s, const access *a, int depth);
double access_stride(const access *a, int level); /* elements; 0: the level does not move it */
/* Shares of iterations that pass `cond`, and of the outermost loop's tiles that are partial: 1 and 0 when it is no inequality. */
void guard_shares(const nest *n, const store_site *s, const tc_expr *cond, double *valid, double *partial);

/* dots.c: NULL: no dot products */
const tc_intrinsic *nest_dots(const nest *n, const store_site *s);

/* arith.c: counts the operations of the store's value and adds its loads. */
void arith_count(nest *n, store_site *s, const tc_expr *value);

/* Of one store: facts.c */
typedef struct row_facts {
    double iterations, loads, stores, branches, cores, imbalance, tasks, regions;
    double accumulators, live, acc_trips;
    double body;       /* instructions of the band, once */
    double traffic[3]; /* bytes into l1, l2, l3, all cores together */
} row_facts;
/* estimate.c */
double estimate_compute(const nest *n, const store_site *s, const row_facts *r);
double estimate_memory(const row_facts *r);
double estimate_total(const nest *n, double compute, double memory, const row_facts *r);

#endif
