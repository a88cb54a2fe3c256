/* Private to the search space: analysis of a workload into clusters, and sketches with the roles of their decisions. */
#ifndef TC_SPACE_SPACE_INT_H
#define TC_SPACE_SPACE_INT_H

#include "search_space/build_int.h"
#include "search_space/space.h"

/* What a stage is to the sketch rules. */
typedef enum stage_kind {
    KIND_MAP,    /* no reduction */
    KIND_REDUCE, /* reduction whose reads use every spatial axis: no reuse to tile for */
    KIND_ANCHOR  /* reduction with reuse (matmul, convolution): multi-level tiling */
} stage_kind;

enum { MAX_CLUSTER = 24, MAX_READS = 24 };

typedef enum cluster_kind {
    CLUSTER_MAP,
    CLUSTER_ROWS,
    CLUSTER_ANCHOR,
    CLUSTER_TRANSFORM,
    CLUSTER_COMBINE,
    CLUSTER_OPERAND, /* a map that makes the panels of one anchor: in the order in which that walks them, where it packs */
    CLUSTER_UNPACK   /* a map that takes an anchor's weights out of constants of fewer bits */
} cluster_kind;

/* Stages that share one outer loop nest. members[0] is the head (the stage whose loops are the outer ones); members come
 * consumers first. */
typedef struct cluster {
    cluster_kind kind;
    int n;
    int member[MAX_CLUSTER];
    int rows;  /* ROWS: how many leading axes of the head are row axes */
    int inner; /* ANCHOR: the stage whose sums the anchor scales and adds up, -1: none */
} cluster;

/* The workload after inlining, as the rules see it. */
typedef struct analysis analysis;
struct analysis {
    tc_ctx *ctx;
    const tc_machine *m;
    tc_sched *s;      /* all inlinable stages inlined */
    builder prologue; /* the steps that made it of the workload: compute_inline, rfactor */
    stage_kind *kind; /* per stage of s */
    int *inner;       /* likewise: of an anchor, the stage whose sums it scales and adds up; -1: none */
    int ncluster;
    cluster *cluster;       /* in order of emission: consumers first */
    const tc_var *split_k;  /* the axis that rfactor made of a reduction (split-K), NULL: none */
    const analysis *plain;  /* the one with cheap producers inlined; NULL: this is it */
    const char *stored_for; /* the anchor whose producers (producers.c) are stages of their own; NULL: cheap ones are inlined */
    int lane_stage;         /* the stage that adds up the lanes of a reduction carried by the vectors, -1: none */
};

/* A sketch variant: which alternatives the rules take (variants.def). All of one type, without holes: equal ones have equal
 * bytes. */
typedef struct variant {
#define VARIANT(id, text, anchors) int id;
#include "search_space/variants.def"
#undef VARIANT
} variant;

typedef struct sketch {
    const char *name;
    variant v;
    tc_trace *trace; /* its id is the sketch's */
    int ndec;
    decision *dec;
    int nanchor;
    int *first; /* of each anchor's decisions, -1: it has none */
} sketch;

/* An anchor's first decision, and the one after d; NULL: there is none. In their order in the sketch. */
static inline const decision *tc_space_first_of(const sketch *k, int anchor) {
    return anchor >= 0 && anchor < k->nanchor && k->first[anchor] >= 0 ? &k->dec[k->first[anchor]] : NULL;
}
static inline const decision *tc_space_next_of(const sketch *k, const decision *d) {
    return d->next >= 0 ? &k->dec[d->next] : NULL;
}

struct tc_space {
    tc_arena *arena;
    const tc_workload *w;
    tc_machine m;
    double work; /* tc_space_work of w */
    int nsketch;
    sketch *sk;
};

/* A sketch being written. */
typedef struct emitter {
    const analysis *an;
    builder b;
    variant v;
    int nanchor;
    loop_ref at;                      /* where the clusters to come are computed (chain), no loop: at root */
    loop_ref task;                    /* the parallel loop of the last anchor */
    loop_ref block;                   /* its loop over blocks of the reduction, if it has such */
    factor panel;                     /* its columns of a packed operand's panel */
    TC_VEC(int) gone;                 /* stages that were inlined into packed copies */
    TC_VEC(const tc_tensor *) packed; /* constants and operands that have a layout */
} emitter;

/* Rows that register tiles are made of. */
enum { TILE_ROWS = 12 };
extern const int64_t tc_space_tile_rows[TILE_ROWS];

/* What the analysis finds lives in ctx, the steps of the prologue in `steps`. */
tc_status tc_space_analyse(tc_ctx *ctx, const tc_workload *w, const tc_machine *m, tc_arena *steps, analysis *out, tc_error *err);
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
/* The analysis with the producers of the only anchor as stages; without clusters where there is no such anchor. Whether there are
 * any, tc_space_any_producer says of *out; an must outlive it. */
tc_status tc_space_analyse_stored(const analysis *an, analysis *out, tc_error *err);
void tc_space_analysis_free(analysis *an);

/* Stage st computes an operand of the stage called `anchor` elementwise, from what is not constant, and nothing else reads it. */
bool tc_space_produces_for(const tc_sched *s, int st, const char *anchor);
bool tc_space_any_producer(const analysis *an);
/* After a packed copy of the operand was made: where a producer makes that, the copy computes it. */
void tc_space_compute_packed(emitter *e, const tc_tensor *operand);
bool tc_space_is_gone(const emitter *e, const cluster *c);
/* Where cluster c is computed: e->at, or the anchor's tasks if c is a producer's and the variant says so. */
loop_ref tc_space_place_of(const emitter *e, const cluster *c);
/* Writes what its producers take into the anchor's decisions of the register width, of all sketches that there are. */
void tc_space_note_producers(tc_space *s, const analysis *an);

void tc_space_emit_map(emitter *e, const cluster *c);
void tc_space_emit_rows(emitter *e, const cluster *c);
void tc_space_emit_anchor(emitter *e, const cluster *c);
void tc_space_emit_transform(emitter *e, const cluster *c);
void tc_space_emit_combine(emitter *e, const cluster *c);
/* A factor under a conversion to the sum's type: as it is stored, or some of its bits. NULL: it is computed otherwise. */
const tc_expr *tc_space_widened_read(const tc_expr *e);
void tc_space_emit_operand(emitter *e, const cluster *c);
/* Says of the clusters which are operands. */
void tc_space_find_operands(analysis *an);
/* The stage is one. */
bool tc_space_is_operand(const analysis *an, int stage);
bool tc_space_has_layout(const emitter *e, const tc_tensor *t);

/* ---- unpack.c ---- */
/* A map of constants alone that are smaller than what it makes of them. */
bool tc_space_unpacks(const tc_compute *op);
/* Says of the clusters of an analysis that stores producers which are such, for no unit that wants them packed. */
void tc_space_find_unpacked(analysis *an);
/* The stage is one. */
bool tc_space_is_unpacked(const analysis *an, int stage);
bool tc_space_any_unpacked(const analysis *an);
void tc_space_emit_unpacked(emitter *e, const cluster *c);
/* What op unpacks gets a layout by panels along its dimension `dim`. */
void tc_space_lay_sources(emitter *e, const tc_compute *op, int dim, factor panel);
void tc_space_note_unpacked(const analysis *an, const cluster *c, decision *d);
/* A sum of products of narrow values for which the machine has an instruction that takes neighbours along the reduction from
 * memory, and `producer` makes one of its operands. */
bool tc_space_feeds_unit(const tc_machine *m, const tc_compute *producer, const tc_compute *sum);
/* A map whose body is a choice of sums by the value of short axes: a constant matrix times a few values (Winograd). */
bool tc_space_is_transform(const tc_compute *op);
/* Every value of `head`, a map, is a choice of sums over the first axis of `products`, a batch of matmuls (Strassen). */
bool tc_space_combines(const tc_sched *s, int head, int products);
/* The loops of `acc`, which accumulates stage `stage` in registers, and the layout of its operands; `width` is the first of the
 * cluster's decisions. */
void tc_space_emit_register_tile(emitter *e, int stage, stage_ref acc, decision_ref width, int id);
/* Register widths: 1..8 vectors, and the whole axis when it is short and odd. */
decision_ref tc_space_sample_vec(emitter *e, int id, int64_t extent, int lanes);
/* Which variants make a difference to this cluster. */
bool tc_space_anchor_packs(const analysis *an, const cluster *c);
bool tc_space_anchor_blocks(const analysis *an, const cluster *c);
/* The unit with tiles that adds products of a and b, in this order, to acc; NULL: there is none. */
const tc_intrinsic *tc_space_tile_unit(tc_intrinsic_set set, tc_dtype acc, tc_dtype a, tc_dtype b);
/* Such a unit fits the anchor; *packs: its second operand is no constant, and has to be packed; *rows: the first one can be. */
bool tc_space_anchor_tiles(const analysis *an, const cluster *c, bool *packs, bool *rows);
bool tc_space_anchor_phased(const analysis *an, const cluster *c);
/* The stage whose every result stage `st` scales and adds up to others, when both can be done in registers: sums of products in
 * blocks of the depth that have a scale each. -1: there is none. */
int tc_space_inner_of(const analysis *an, int st);
/* Whether all clusters but the first can be computed for a block of the first one's rows at a time, and nothing twice. */
bool tc_space_chains(const analysis *an);
/* How many leading axes of the producer every read in the consumer maps one to one onto its own leading axes; TC_MAX_DIMS if it
 * does not read. */
int tc_space_common_rows(const tc_sched *s, int consumer, int producer);
/* Whether the tile of `anchor` can be computed inside the loops of `head` (stages of an->s). */
bool tc_space_fusable(const analysis *an, int head, int anchor);
/* Steps of all loops of a stage. */
int64_t tc_space_iterations(const tc_compute *op);
/* Scalar operations, and bytes read and written, each of which takes about as long: for the choice of serial variants. */
double tc_space_work(const tc_workload *w);
/* Lanes of a vector of the widest element type that stage `op` computes with. */
int tc_space_lanes(const tc_machine *m, const tc_compute *op);

/* The accumulators of t's tiles stay in registers beside their operands. What spills is slow, and takes seconds to compile. */
bool tc_space_fits(const tc_space *s, const tc_trace *t);
/* Sketch of which t is an instance (same steps up to decisions), -1 if none. */
int tc_space_sketch_of(const tc_space *s, const tc_trace *t);

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
