/* Private to the search space: analysis of a workload into clusters, and sketches with the roles of their decisions. */
#ifndef TC_SPACE_SPACE_INT_H
#define TC_SPACE_SPACE_INT_H

#include "search_space/space.h"
#include "support/strbuf.h"
#include "support/vec.h"

/* What a stage is to the sketch rules. */
typedef enum stage_kind {
    KIND_MAP,    /* no reduction */
    KIND_REDUCE, /* reduction whose reads use every spatial axis: no reuse to tile for */
    KIND_ANCHOR  /* reduction with reuse (matmul, convolution): multi-level tiling */
} stage_kind;

enum { MAX_CLUSTER = 24, MAX_READS = 24 };

/* Stages that share one outer loop nest. members[0] is the head (the stage whose loops are the outer ones); members come
 * consumers first. */
typedef struct cluster {
    enum { CLUSTER_MAP, CLUSTER_ROWS, CLUSTER_ANCHOR, CLUSTER_TRANSFORM, CLUSTER_COMBINE } kind;
    int n;
    int member[MAX_CLUSTER];
    int rows; /* ROWS: how many leading axes of the head are row axes */
} cluster;

/* The workload after inlining, as the rules see it. */
typedef struct analysis {
    tc_ctx *ctx;
    const tc_machine *m;
    tc_sched *s;        /* all inlinable stages inlined */
    tc_strbuf prologue; /* the compute_inline steps */
    stage_kind *kind;   /* per stage of s */
    int ncluster;
    cluster *cluster;      /* in order of emission: consumers first */
    const tc_var *split_k; /* the axis that rfactor made of a reduction (split-K), NULL: none */
    int lane_stage;        /* the stage that adds up the lanes of a reduction carried by the vectors, -1: none */
} analysis;

/* What a decision stands for: how the constructed schedules choose it, and what pruning knows of it. */
typedef enum role {
    ROLE_ROW_TILE,  /* sample_tile parts=3: cache part, register part of a non-vector axis */
    ROLE_VEC,       /* categorical: register width of the vector axis in elements */
    ROLE_VEC_OUTER, /* sample_tile parts=2: cache part of the vector axis, counted in register widths */
    ROLE_UNROLL_K,  /* categorical: reduction steps unrolled */
    ROLE_BLOCK_K,   /* categorical: reduction block */
    ROLE_BLOCK_ROW, /* sample_tile parts=2: cache block of a row axis (K-blocked sketches) */
    ROLE_REG_ROW,   /* categorical: register part of a row axis (K-blocked sketches) */
    ROLE_BLOCK_VEC, /* sample_tile parts=2: cache block of the vector axis, in register widths (K-blocked sketches) */
    ROLE_CHUNK,     /* sample_tile parts=2: iterations per parallel task */
    ROLE_WIDTH      /* categorical: elements handled by one vector step of a row or elementwise loop */
} role;

typedef struct decision {
    const char *name;
    int step; /* of the sketch, and of its instances: the one that makes it */
    role role;
    int anchor;     /* which anchor cluster of the sketch it belongs to, -1: none */
    int64_t extent; /* of the axis it divides */
    bool primary;   /* ROW: the row axis that carries the register tile in constructed schedules */
    int64_t block;  /* ROW: constructed schedules take at most this many rows at a time; 0: any number */
    int64_t phase;  /* ROW: values repeat the pattern of useful taps with this period along the axis; 1: none */
    int lanes;      /* VEC: lanes of a vector register for the anchor's element type */
    int64_t batch;  /* VEC: product of the batch axes, all of them parallel tasks */
    int64_t depth;  /* VEC: product of the reduction axes */
    bool lanewise;  /* VEC: every operand runs along the vector axis (depthwise): nothing is broadcast */
} decision;

/* A sketch variant: which alternatives the rules take. */
typedef struct variant {
    bool block_k;    /* accumulate in a cache block, reduction blocked outside of it */
    int pack;        /* non-constant vector operands: 0 read in place, 1 packed once at root, 2 packed per parallel task */
    bool rows_inner; /* the row loops run inside the vector-axis loop of the cache tile */
    bool serial;     /* no parallel loops: small kernels */
    bool taps;       /* window taps unrolled, so that the parities of a transposed convolution are known (sub-pixel form) */
    int split_k;     /* the reduction divided among this many partial results that are added up at the end; 0: whole */
    bool lanes_k;    /* the reduction carries the vectors, whose lanes are added up at the end: few output channels */
    bool chain;      /* all other clusters are computed per task of the last one: attention per head and block of rows */
} variant;

typedef struct sketch {
    const char *name;
    variant v;
    tc_trace *trace;
    uint64_t steps; /* tc_trace_hash_steps */
    int ndec;
    decision *dec;
} sketch;

struct tc_space {
    tc_arena *arena;
    const tc_workload *w;
    tc_machine m;
    double work; /* tc_space_work of w */
    int nsketch;
    sketch *sk;
};

/* Text being generated, with its decisions. */
typedef struct emitter {
    const analysis *an;
    tc_arena *arena;
    variant v;
    int lanes; /* f32-sized lanes of a vector */
    int nanchor, unique;
    const char *at; /* loop that the clusters to come are computed at (chain), NULL: root */
    tc_strbuf text;
    TC_VEC(decision) dec;
    TC_VEC(const tc_tensor *) packed; /* constants that have a layout */
} emitter;

tc_status tc_space_analyse(tc_ctx *ctx, const tc_workload *w, const tc_machine *m, analysis *out, tc_error *err);
/* The reduction axis of *op that makes tasks when it is divided: of the only anchor with few results, or of the only reduction,
 * to one number; NULL: there is none. */
const tc_axis *tc_space_split_axis(const analysis *an, const tc_compute **op);
/* The analysis after that axis was divided into `parts` (rfactor). */
tc_status tc_space_analyse_split(const analysis *an, int parts, analysis *out, tc_error *err);
/* The only anchor of a workload whose last axis is much shorter than a vector while its last reduction is contiguous and long. */
const tc_compute *tc_space_lanes_anchor(const analysis *an);
/* The analysis after that reduction gave its vectors (rfactor over a vector's lanes). */
tc_status tc_space_analyse_lanes(const analysis *an, analysis *out, tc_error *err);
/* Some operand of the reduction walks its last dimension along the last reduction axis. */
bool tc_space_reduces_contiguous(const tc_compute *op);
void tc_space_analysis_free(analysis *an);

void tc_space_step(emitter *e, const char *fmt, ...) TC_PRINTF(2, 3); /* one line of the trace */
/* Emits a sampled step and records its decision; returns the decision's name. */
const char *tc_space_sample_tile(emitter *e, role r, int anchor, const char *loop, int parts, int64_t max_inner, int64_t extent);
const char *tc_space_sample_choice(emitter *e, role r, int anchor, int n, const int64_t *values, int64_t extent);

void tc_space_emit_map(emitter *e, const cluster *c);
void tc_space_emit_rows(emitter *e, const cluster *c);
void tc_space_emit_anchor(emitter *e, const cluster *c);
void tc_space_emit_transform(emitter *e, const cluster *c);
void tc_space_emit_combine(emitter *e, const cluster *c);
/* A map whose body is a choice of sums by the value of short axes: a constant matrix times a few values (Winograd). */
bool tc_space_is_transform(const tc_compute *op);
/* Every value of `head`, a map, is a choice of sums over the first axis of `products`, a batch of matmuls (Strassen). */
bool tc_space_combines(const tc_sched *s, int head, int products);
/* The loops of `acc`, which accumulates stage `stage` in registers, and the layout of its operands; the cluster's decisions begin
 * at `from` with its width. */
void tc_space_emit_register_tile(emitter *e, int stage, const char *acc, const char *width, int id, size_t from);
/* Register widths: 1..8 vectors, and the whole axis when it is short and odd. */
const char *tc_space_sample_vec(emitter *e, int id, int64_t extent, int lanes);
/* Which variants make a difference to this cluster. */
bool tc_space_anchor_packs(const analysis *an, const cluster *c);
bool tc_space_anchor_blocks(const analysis *an, const cluster *c);
bool tc_space_anchor_phased(const analysis *an, const cluster *c);
/* Whether all clusters but the first can be computed for a block of the first one's rows at a time, and nothing twice. */
bool tc_space_chains(const analysis *an);
/* How many leading axes of the producer every read in the consumer maps one to one onto its own leading axes; TC_MAX_DIMS if it
 * does not read. */
int tc_space_common_rows(const tc_sched *s, int consumer, int producer);
/* Whether the tile of `anchor` can be computed inside the loops of `head` (stages of an->s). */
bool tc_space_fusable(const analysis *an, int head, int anchor);
/* Scalar operations, and bytes read and written, each of which takes about as long: for the choice of serial variants. */
double tc_space_work(const tc_workload *w);
/* Lanes of a vector of the widest element type that stage `op` computes with. */
int tc_space_lanes(const tc_machine *m, const tc_compute *op);

/* The accumulators of t's tiles stay in registers beside their operands. What spills is slow, and takes seconds to compile. */
bool tc_space_fits(const tc_space *s, const tc_trace *t);
/* Sketch of which t is an instance (same steps up to decisions), -1 if none. */
int tc_space_sketch_of(const tc_space *s, const tc_trace *t);
uint64_t tc_space_steps_of(const tc_space *s, const tc_trace *t); /* tc_trace_hash_steps, known for instances */

/* Length of the loop that tile decision `dec` of sketch k divides in t. */
int64_t tc_space_tiled_extent(const sketch *k, const tc_trace *t, int dec);

/* What a constructed schedule starts from. */
typedef struct tc_space_tile {
    int rows, vecs; /* register tile */
    int unroll;     /* reduction steps */
    int width;      /* vectors per step of row and elementwise loops */
} tc_space_tile;
/* Sketch `sk` with every decision made for that tile. */
tc_trace *tc_space_fill(const tc_space *s, int sk, const tc_space_tile *tile, tc_arena *a);

#endif
