/* Private to the search space: the steps of a trace written by handles.
 *
 * Each step is a function. It takes the stages, loops and decisions that it is about, and returns those that it makes. The
 * builder chooses the names in the trace's text: a new loop is called after the axis that it comes from and after its purpose.
 * Handles are values, and live as long as the builder's arena. */
#ifndef TC_SPACE_BUILD_INT_H
#define TC_SPACE_BUILD_INT_H

#include "schedule_primitives/trace.h"
#include "support/vec.h"
#include "te/intrinsic.h"

typedef enum role {
#define ROLE(id, letters) ROLE_##id,
#include "search_space/roles.def"
#undef ROLE
} role;

/* A decision of a sketch, with what the constructed schedules need to know of it. */
typedef struct decision {
    int step; /* of the sketch, and of its instances: the one that makes it */
    role role;
    int anchor;       /* which anchor cluster of the sketch it belongs to, -1: none */
    int next;         /* of a sketch: its anchor's next decision, -1: none */
    int64_t extent;   /* of the axis it divides */
    bool varies;      /* ROW: the size of the axis is only known when the kernel runs */
    int64_t least;    /* ROW: its least size, if it varies */
    bool primary;     /* ROW: the row axis that carries the register tile in constructed schedules */
    int64_t block;    /* ROW: constructed schedules take at most this many rows at a time; 0: any number */
    int64_t phase;    /* ROW: values repeat the pattern of useful taps with this period along the axis; 1: none */
    int lanes;        /* VEC: lanes of a vector register for the anchor's element type */
    int64_t batch;    /* VEC: product of the batch axes, all of them parallel tasks */
    int64_t depth;    /* VEC: product of the reduction axes */
    int64_t last;     /* TILE_COLUMNS: the last one */
    int64_t pitch;    /* TILE_COLUMNS: bytes from one row of the first operand to the next */
    double row_bytes; /* VEC: what a row of results reads of the operands that all columns read */
    /* TILE_COLUMNS: that has the tiles, `batch` and `depth` as of VEC; VEC: of dot products, or NULL; AHEAD: that adds up the
     * sums of blocks, or NULL */
    const tc_intrinsic *unit;
    struct {
        double pass;    /* VEC: what storing the values of all producers takes, per multiply-add */
        double left;    /* of it, the part of those that are never inlined */
        double inlined; /* operations of the others, per value */
        double numbers,
            unpacking; /* VEC: numbers of constants that are unpacked (unpack.c), and operations on them, per multiply-add */
    } produced;
    /* VEC: instructions for a sum of a block, whose scaled values are added to accumulators of their own; 0: none */
    int64_t inner;
    int64_t sums;  /* VEC: with inner, sums of a block that are added to one accumulator, all in registers */
    bool lanewise; /* VEC: every operand runs along the vector axis (depthwise): nothing is broadcast */
} decision;

typedef struct stage_ref {
    const char *name;
    const char *root; /* of the stage that it was made of: what is made of it is called after that one too */
} stage_ref;

typedef struct loop_ref {
    stage_ref stage;
    const char *name; /* NULL: no loop, the stage is computed at root */
    const char *root; /* the axis that it is a part of: its own parts are called after that one too */
} loop_ref;

/* Its number among the builder's decisions, and among the sketch's. */
typedef struct decision_ref {
    int id;
} decision_ref;

/* A size in a step: a number, or what was decided. */
typedef struct factor {
    decision_ref decision; /* id -1: none */
    int part;              /* of a tile, 0 the outermost; -1: of a choice, its value */
    int64_t value;         /* without a decision */
} factor;

enum { MAX_LOOPS = 64 };

typedef struct loop_list {
    int n;
    loop_ref at[MAX_LOOPS];
} loop_list;

/* Storage order of a tensor or buffer: each physical dimension is a logical one, or its blocks, or the places in a block. */
typedef struct layout {
    int nin, n;
    struct {
        enum { LAYOUT_WHOLE, LAYOUT_BLOCKS, LAYOUT_PLACES } what;
        int dim;
        factor block;
    } to[2 * TC_MAX_DIMS];
} layout;

typedef struct builder {
    tc_arena *arena;
    int unique; /* numbers of decisions and of cached copies */
    TC_VEC(tc_instr) steps;
    TC_VEC(decision) dec;
} builder;

static inline factor fixed(int64_t value) {
    return (factor){.decision = {-1}, .part = -1, .value = value};
}

static inline factor chosen(decision_ref d) {
    return (factor){.decision = d, .part = -1};
}

static inline factor part_of(decision_ref tile, int part) {
    return (factor){.decision = tile, .part = part};
}

static inline stage_ref stage_called(const char *name) {
    return (stage_ref){name, name};
}

static inline loop_ref loop_of(stage_ref s, const tc_axis *axis) {
    return (loop_ref){s, axis->var->name, axis->var->name};
}

/* The loop of another stage that took it over from the first one's. */
static inline loop_ref loop_in(stage_ref s, loop_ref l) {
    return (loop_ref){s, l.name, l.root};
}

static inline bool is_loop(loop_ref l) {
    return l.name != NULL;
}

void tc_space_list(loop_list *l, loop_ref x); /* one more at the end */
void tc_space_list_all(loop_list *l, const loop_list *more);
void tc_space_list_axes(loop_list *l, stage_ref s, const tc_axis *axes, int n);

/* Begins with the steps of another one, which made no decision; they stay in its arena. */
void tc_space_continue(builder *b, const builder *from);
/* What was written, as a trace with open decisions; valid until the next step. */
tc_trace tc_space_built(const builder *b);
void tc_space_builder_free(builder *b);

decision_ref tc_space_sample_tile(builder *b, role r, int anchor, loop_ref l, int parts, int64_t max_inner, int64_t extent);
decision_ref tc_space_sample_choice(builder *b, role r, int anchor, int n, const int64_t *values, int64_t extent);
decision *tc_space_decision(builder *b, decision_ref d); /* valid until the next one */

/* One part per letter of `parts`, outermost first; factors of all but the first. */
void tc_space_split(builder *b, loop_ref l, const char *parts, const factor *inner, loop_ref *out);
loop_ref tc_space_fuse(builder *b, const loop_list *l, const char *name); /* two loops at least */
void tc_space_reorder(builder *b, const loop_list *l);
void tc_space_vectorize(builder *b, loop_ref l);
void tc_space_unroll(builder *b, loop_ref l);
void tc_space_unroll_all(builder *b, const loop_list *l);
void tc_space_parallel(builder *b, loop_ref l);
void tc_space_tensorize(builder *b, loop_ref l, const char *unit);

void tc_space_inline(builder *b, stage_ref s);
void tc_space_compute_at(builder *b, stage_ref s, loop_ref l);
void tc_space_keep_local(builder *b, stage_ref s);
stage_ref tc_space_cache_write(builder *b, stage_ref s);
stage_ref tc_space_cache_read(builder *b, const char *tensor, stage_ref reader);
/* Of what that read of the tensor reaches, by its number. */
stage_ref tc_space_cache_part(builder *b, const char *tensor, stage_ref reader, int place);
stage_ref tc_space_rfactor(builder *b, loop_ref l, const char *what);

/* `name`: of a constant or a stage. */
void tc_space_transform_layout(builder *b, const char *name, const layout *l);
void tc_space_prefetch(builder *b, const char *name, factor ahead); /* of a constant with a layout */
layout tc_space_layout(int ndim);                                   /* of so many logical dimensions, none laid out yet */
void tc_space_lay(layout *l, int dim);
void tc_space_lay_blocks(layout *l, int dim, factor block);
void tc_space_lay_places(layout *l, int dim, factor block);

#endif
