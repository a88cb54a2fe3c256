/* src/tir_lower owns loop programs (TIR): nodes, traversal, rewriting, the hash of a program, and the match of loop
 * nests with the table of instructions. Its rooms take a program from a schedule (build) through the passes (passes) to
 * the form that is compiled. Not here: code generation (src/codegen) and the search (src/search_space).
 *
 * TIR: loop nests over flat buffers. The code generator, the feature extractor and the TIR interpreter read them.
 * Statements are immutable and owned by the context's arena; each FOR owns a unique variable.
 *
 * Two stages. `tc_tir_build` makes an annotated nest of a schedule: loops carry their annotation, partial tiles are IF
 * statements marked as guards, and nothing is unrolled or vectorised yet. Features and the detection of duplicates read
 * this form. `tc_tir_lower` then runs the pass table (passes.h): guards are partitioned off, loops unrolled and
 * vectorised, accumulators turned into registers, storage assigned. Only serial and parallel loops remain, and the code
 * generator reads this form. Both forms print, parse, verify and interpret. */
#ifndef TC_TIR_TIR_H
#define TC_TIR_TIR_H

#include "schedule_primitives/schedule.h"
#include "te/index/affine.h"
#include "te/intrinsic.h"

/* Where a buffer lives: the table scopes.def. */
typedef enum tc_buf_scope {
#define SCOPE(id, text, shared, addressed, workspace, most) TC_BUF_##id,
#include "tir_lower/scopes.def"
#undef SCOPE
    TC_NSCOPES
} tc_buf_scope;

typedef struct tc_scope_info {
    const char *text;
    bool shared;    /* all threads see one and the same buffer */
    bool addressed; /* it is memory; else its indices are constants */
    bool workspace; /* storage assignment gives it a place in a workspace (tc_func.place) */
    int64_t most;   /* bytes of the largest buffer that storage assignment puts there; 0: any */
} tc_scope_info;
const tc_scope_info *tc_tir_scope(tc_buf_scope scope);

struct tc_buffer {
    const char *name; /* unique within the function */
    uint32_t id;
    tc_dtype dtype;
    int64_t size; /* number of elements; the largest if the size of an argument varies */
    tc_buf_scope scope;
    int align;               /* bytes */
    int param;               /* PARAM: argument index, else -1 */
    int reg_lanes;           /* REG: lanes of each value; the buffer holds size / reg_lanes of them */
    bool local;              /* scheduled as local scope: candidate for registers or stack */
    const tc_tensor *tensor; /* what it stores; NULL for temporaries of passes */
};

typedef enum tc_stmt_kind {
#define STMT(id) TC_STMT_##id,
#include "tir_lower/stmts.def"
#undef STMT
    TC_NSTMTS
} tc_stmt_kind;

/* Operations on tiles in registers. A tile is a buffer of scope TILE with rows of reg_lanes elements. */
typedef enum tc_tile_op {
    TC_TILE_ZERO,    /* tile[0] = 0 */
    TC_TILE_LOAD,    /* tile[0] = memory: row i from element index + i * stride on */
    TC_TILE_STORE,   /* memory = tile[0], in the same way */
    TC_TILE_MULTIPLY /* tile[0] += tile[1] * tile[2], as the unit does it */
} tc_tile_op;
typedef struct tc_tile_stmt {
    tc_tile_op op;
    const tc_intrinsic *unit; /* MULTIPLY */
    const tc_buffer *tile[3]; /* as many as the operation has */
    const tc_buffer *memory;  /* LOAD, STORE; else NULL */
    const tc_expr *index;     /* i64 scalar */
    int64_t stride;           /* elements, not negative */
} tc_tile_stmt;

typedef struct tc_stmt tc_stmt;
struct tc_stmt {
    tc_stmt_kind kind;
    union {
        struct {
            int n;
            const tc_stmt *const *s;
        } seq;
        struct {
            const tc_var *var;     /* runs over [0, extent): loops are always normalised to start at 0 */
            const tc_expr *extent; /* i64; usually immediate */
            tc_for_kind kind;
            bool reduce;              /* iterates a reduction axis */
            const tc_intrinsic *unit; /* the loops from here inwards are one of its instructions; NULL: no such loop */
            const tc_stmt *body;
        } loop;
        struct {
            const tc_expr *cond;
            bool guard; /* boundary test of an imperfect tile: true for all but the last iterations of some outer loop */
            const tc_stmt *then, *otherwise; /* otherwise may be NULL */
        } cond;
        struct {
            const tc_buffer *buffer;
            const tc_expr *index; /* i64 scalar; or ramp(base, 1, lanes), or any i64 vector (scatter) */
            const tc_expr *value; /* dtype of the buffer, lanes of index */
            const tc_expr *mask;  /* NULL, or bool vector of as many lanes */
        } store;
        struct {
            const tc_buffer *buffer; /* uninitialised; lives in body */
            const tc_stmt *body;
        } alloc;
        struct {
            const tc_buffer *buffer;
            const tc_expr *index; /* i64 scalar; may lie outside of the buffer */
        } prefetch;               /* a hint that the line with this element is wanted soon; lowered programs only */
        tc_tile_stmt intrin;      /* lowered programs only */
    } u;
};

/* How argument i of the kernel relates to the workload: an input, a constant input in another layout, or an output. */
typedef struct tc_param {
    const tc_buffer *buffer;
    enum { TC_PARAM_IN, TC_PARAM_PACKED, TC_PARAM_OUT } kind;
    int index;               /* position in workload->in or ->out */
    bool overlaps;           /* may share memory with another argument that overlaps: tc_tir_overwriting */
    const tc_layout *layout; /* PACKED */
    int64_t ahead;           /* PACKED: bytes that loops through it prefetch ahead; 0: none */
} tc_param;

/* A function. Its arguments are the workload's inputs (each as IN or PACKED), then the outputs. If the workload has symbols, an i64
 * array of the values of the symbols without a definition comes last. An array with a dimension that varies is dense: its strides
 * follow from the sizes. */
typedef struct tc_func {
    const char *name;
    const tc_workload *workload;
    int nparam;
    const tc_param *params;
    int nsymbol;
    const tc_var *const *symbols; /* free in the body */
    const tc_stmt *body;
    int64_t shared_bytes, thread_bytes; /* workspace; set by storage assignment */
    const struct tc_placement *place;   /* NULL before storage assignment: byte offset of each SHARED and THREAD buffer */
    int nplace;
} tc_func;

typedef struct tc_placement {
    const tc_buffer *buffer;
    int64_t offset; /* bytes from the start of its workspace */
} tc_placement;

/* Facts of the target that lowering, the search space and the cost features need; filled from a tc_target (codegen). */
typedef struct tc_machine {
    int vector_bytes; /* width of a vector register: 64 for AVX-512, 32 AVX2, 16 SSE/NEON */
    int vector_regs;  /* architectural vector registers: 32 or 16 */
    bool masks;       /* masked loads and stores are cheap */
    bool fma;
    bool load_store;             /* arithmetic takes its operands from registers only, as on AArch64 and RISC-V */
    tc_intrinsic_set intrinsics; /* the instructions of intrinsics.def that it has */
    int cores;                   /* threads a kernel may use */
    int64_t l1, l2, l3;          /* bytes: data caches; l3 is the share one process can count on */
    int line;                    /* bytes */
} tc_machine;

/* ---- sizes ---- */
/* Whether b is an argument with a dimension that varies. */
bool tc_tir_varies(const tc_buffer *b);
/* The number of b's elements as an expression of the symbols, and as a number for given values of the symbols. */
const tc_expr *tc_tir_size(tc_ctx *c, const tc_buffer *b);
int64_t tc_tir_size_at(const tc_func *f, const tc_buffer *b, const int64_t *sizes);
int64_t tc_tir_least_size(const tc_buffer *b); /* the number of elements at the smallest sizes */
/* A symbol's value: the variable, or a number if the symbol has only one value. */
const tc_expr *tir_symbol(tc_ctx *c, const tc_var *v);
/* x * scale in the form of indices: the symbols are in `scale`, and any other factor stands before it. scale NULL: x. */
const tc_expr *tir_scaled(tc_ctx *c, const tc_expr *x, const tc_expr *scale);

/* ---- building ---- */
const tc_buffer *tc_tir_buffer(tc_ctx *c, const char *name, tc_dtype t, int64_t size, tc_buf_scope scope,
                               const tc_tensor *tensor);
const tc_stmt *tc_tir_seq(tc_ctx *c, int n, const tc_stmt *const *s); /* flattens, drops NULL and empty; n == 1 returns s[0] */
const tc_stmt *tc_tir_for(tc_ctx *c, const tc_var *v, const tc_expr *extent, tc_for_kind kind, bool reduce, const tc_stmt *body);
/* A loop of the kind of `like`, and of its unit if it has one. */
const tc_stmt *tc_tir_for_like(tc_ctx *c, const tc_stmt *like, const tc_var *v, const tc_expr *extent, const tc_stmt *body);
const tc_stmt *tc_tir_if(tc_ctx *c, const tc_expr *cond, bool guard, const tc_stmt *then, const tc_stmt *otherwise);
const tc_stmt *tc_tir_store(tc_ctx *c, const tc_buffer *b, const tc_expr *index, const tc_expr *value, const tc_expr *mask);
const tc_stmt *tc_tir_alloc(tc_ctx *c, const tc_buffer *b, const tc_stmt *body);
const tc_stmt *tc_tir_prefetch(tc_ctx *c, const tc_buffer *b, const tc_expr *index);
const tc_stmt *tc_tir_tile(tc_ctx *c, const tc_tile_stmt *t);
int tc_tir_tile_rows(const tc_buffer *tile);

/* ---- traversal (traverse.c): code that names only the kinds of statement it cares about ---- */
/* The i-th of the statements directly in s, in order of execution; NULL after the last. */
static inline const tc_stmt *tc_tir_child(const tc_stmt *s, int i) {
    switch (s->kind) {
    case TC_STMT_SEQ:
        return i < s->u.seq.n ? s->u.seq.s[i] : NULL;
    case TC_STMT_FOR:
        return i == 0 ? s->u.loop.body : NULL;
    case TC_STMT_IF:
        return i == 0 ? s->u.cond.then : i == 1 ? s->u.cond.otherwise : NULL;
    case TC_STMT_ALLOC:
        return i == 0 ? s->u.alloc.body : NULL;
    case TC_STMT_STORE:
    case TC_STMT_PREFETCH:
    case TC_STMT_INTRIN:
    case TC_NSTMTS:
        break;
    }
    return NULL;
}
/* Lists the expressions of s itself, in the order in which they are evaluated, without those of the statements in s. Returns how
 * many. */
enum { TC_TIR_MAX_EXPRS = 3 };
int tc_tir_exprs(const tc_stmt *s, const tc_expr *out[TC_TIR_MAX_EXPRS]);
/* Visits s, then the statements in it, in order of execution. NULL: a program that does nothing. */
void tc_tir_walk(const tc_stmt *s, void (*fn)(const tc_stmt *s, void *user), void *user);
/* Walks (tc_expr_walk) each of tc_tir_exprs(s). */
void tc_tir_walk_exprs(const tc_stmt *s, void (*fn)(const tc_expr *e, void *user), void *user);

/* Hash of the printed program with names canonicalised: equal programs from different traces are equal here. */
uint64_t tc_tir_hash(const tc_func *f);

#endif
