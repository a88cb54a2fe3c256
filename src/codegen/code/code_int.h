/* Inside code generation: the state of one function's lowering and the pieces that its files share.
 *
 *     func.c     the kernel as functions                           expr.c      nodes, comparisons, select
 *     stmt.c     loops, branches                                   arith.c     arithmetic on integers and floats
 *     parallel.c bodies of parallel loops as functions             convert.c   casts, storage formats
 *     buffers.c  where buffers are                                 math.c      exp, log, tanh, erf, ... as polynomials
 *     memory.c   loads, stores, masks, register buffers            address.c   index -> pointer, strides, alignment, ranges
 *     emit.c     module, attributes, pass list, machine code       builder.c   short names for LLVM builder calls
 *     tiles.c    tile registers                                    kernel.c    predicates, memo tables
 *     units.c    dot products, and tiles in vector registers       frames.c    the stack that compiled functions take
 *     lines.c    which line of the program's text code is from
 *
 * How values are held: bool is i1 in values and i8 (0 or 1) in memory; f16 and bf16 are held as f32 whose value the narrow type
 * can represent (every operation rounds), and as 16 bits in memory; all else is LLVM's type of that size. A scalar has lanes 1
 * and is no vector. */
#ifndef TC_CODEGEN_CODE_CODE_INT_H
#define TC_CODEGEN_CODE_CODE_INT_H

#include "codegen/code/builder.h"
#include "codegen/code/code.h"
#include "codegen/target/isa.h"
#include "support/map.h"
#include "support/vec.h"
#include "te/index/affine.h"

/* A map whose changes can be undone: what was computed in a block is forgotten when the block no longer dominates. */
typedef struct tc_undo {
    uint64_t key;
    uintptr_t old;
} tc_undo;
typedef struct tc_memo {
    tc_map map;
    TC_VEC(tc_undo) log;
} tc_memo;
uintptr_t tc_memo_get(const tc_memo *m, uint64_t key); /* 0: absent */
void tc_memo_set(tc_memo *m, uint64_t key, uintptr_t value);
size_t tc_memo_mark(const tc_memo *m);
void tc_memo_undo(tc_memo *m, size_t mark);
void tc_memo_free(tc_memo *m);

/* How a buffer is reached within the function being built. */
typedef struct tc_slot {
    const tc_buffer *buffer;
    tc_val ptr;                     /* PARAM, SHARED, THREAD, STACK */
    tc_val *regs;                   /* REG: one alloca per value */
    int align;                      /* bytes that ptr is known to be aligned to */
    bool constant;                  /* nothing writes it while the kernel runs */
    int region;                     /* which outlined function allocated it; 0: the kernel's own */
    LLVMMetadataRef scope, noalias; /* workspace buffers: alias scope and the list of those it cannot alias; or NULL */
} tc_slot;

typedef struct tc_scope_var {
    const tc_var *var;
    tc_val value;
} tc_scope_var;

/* What the lowering of a kernel knows besides the module it builds. */
typedef struct tc_cg_kernel {
    const tc_func *f;
    const tc_machine *m;
    bool fma, f16c, scalar_gather, nan_maximum, avx, avx512; /* of the target */
    unsigned md_scope, md_noalias, md_invariant;

    int region, nregions;
    tc_val rt, shared, threads, thread; /* workspace of all, of all threads, of this thread */
    bool in_parallel;

    tc_map slots; /* buffer id -> tc_slot *, this function's */
    TC_VEC(tc_scope_var) vars;
    tc_map var_at;   /* variable id -> index in vars + 1, the nesting depth */
    tc_env *env;     /* ranges of the variables in scope */
    tc_memo pure;    /* expression id -> value; number of an index prefix, bit 63 set -> pointer */
    tc_memo local;   /* the same for what reads memory that changes; emptied after each statement */
    tc_map prefixes; /* base and terms of an index prefix, as text -> its number */
    tc_map flags;    /* expression id -> tc_expr_flags + 1 */
    tc_val pred;     /* NULL, or the lanes whose value is wanted: memory of the others must not be touched */
    tc_arena *arena;

    bool blocks;             /* tiles are in vector registers (units.c), else in registers of their own (tiles.c): */
    tc_map tile_of;          /* buffer id -> its register + 1 */
    tc_val tiles_now;        /* this function's variable: the configuration that is loaded; NULL: it uses no tiles */
    int tiles_open, nconfig; /* allocations of tiles around; configurations of the kernel */
    struct tc_tile_config *configs;
} tc_cg_kernel;

enum tc_expr_flags { TC_EF_LOAD = 1, TC_EF_MUTABLE = 2 };

/* ---- builder.c ---- */
LLVMTypeRef tc_cg_vec(LLVMTypeRef elem, int lanes); /* lanes 1: elem itself */
LLVMTypeRef tc_cg_mem_type(tc_cg *g, tc_dtype t);   /* of one element in memory */
LLVMTypeRef tc_cg_val_type(tc_cg *g, tc_dtype t, int lanes);
int tc_cg_lanes(tc_val v);
tc_val tc_cg_splat(tc_cg *g, tc_val scalar, int lanes);
/* The first lanes of v, or v and in others the first lane of `rest`, which is of its type. */
tc_val tc_cg_resized(tc_cg *g, tc_val v, int lanes, tc_val rest);
tc_val tc_cg_int(LLVMTypeRef type, int64_t v);                          /* integer constant of a scalar or vector type */
tc_val tc_cg_real(LLVMTypeRef type, double v);                          /* float constant of a scalar or vector type */
tc_val tc_cg_iota(tc_cg *g, LLVMTypeRef elem, int lanes, int64_t step); /* <0, step, 2 * step, ...> */
LLVMTypeRef tc_cg_like(tc_val v, LLVMTypeRef elem);                     /* elem with as many lanes as v */
/* Calls intrinsic "llvm.NAME" overloaded on `nover` types. */
tc_val tc_cg_intrinsic(tc_cg *g, const char *name, LLVMTypeRef *over, int nover, tc_val *args, int nargs);
tc_val tc_cg_intr1(tc_cg *g, const char *name, tc_val a);                       /* overloaded on a's type */
tc_val tc_cg_intr2(tc_cg *g, const char *name, tc_val a, tc_val b);             /* overloaded on a's type */
tc_val tc_cg_call_lanes(tc_cg *g, const char *symbol, tc_val *args, int nargs); /* C function applied to each lane */
bool tc_cg_all_ones(tc_val mask);
tc_val tc_cg_any_lane(tc_cg *g, tc_val mask); /* i1: some lane is set */

/* ---- lines.c: nothing is done where g->lines is NULL ---- */
void tc_cg_lines_open(tc_cg *g, const tc_func *f, const tc_cg_text *text); /* text NULL: no lines */
void tc_cg_lines_close(tc_cg *g);
/* fn is compiled from s, or from the whole function where s is NULL; what is built from now on is fn's. */
void tc_cg_lines_function(tc_cg *g, tc_val fn, const tc_stmt *s);
/* What is built from now on is from s, until the end, which gets what the beginning returned. */
LLVMMetadataRef tc_cg_line_begin(tc_cg *g, const tc_stmt *s);
void tc_cg_line_end(tc_cg *g, LLVMMetadataRef before);

/* ---- kernel.c ---- */
void tc_cg_kernel_init(tc_cg_kernel *k, tc_cg *g, const tc_func *f); /* and makes it g's */
void tc_cg_kernel_done(tc_cg *g);
tc_val tc_cg_pred_for(tc_cg *g, int lanes); /* the predicate with that many lanes, or NULL */

/* ---- buffers.c ---- */
tc_slot *tc_cg_slot(tc_cg *g, const tc_buffer *b);
void tc_cg_add_slot(tc_cg *g, tc_slot slot);
void tc_cg_allocate(tc_cg *g, const tc_buffer *b);
/* Says where the life of an array on the stack begins or ends, by the name of LLVM's intrinsic. */
void tc_cg_mark_life(tc_cg *g, const tc_buffer *b, const char *marker);
void tc_cg_add_placed(tc_cg *g, const tc_buffer *b);    /* in the workspace */
void tc_cg_add_registers(tc_cg *g, const tc_buffer *b); /* in values */
void tc_cg_add_params(tc_cg *g, int first);             /* the kernel's, which the function has from parameter `first` on */

/* ---- address.c ---- */
/* base + stride * lane */
typedef struct tc_cg_index {
    tc_affine base;
    int64_t stride;
} tc_cg_index;
bool tc_cg_flatten(const tc_expr *e, tc_cg_index *out); /* false: not of that form */
tc_ival tc_cg_range(tc_cg *g, const tc_expr *e);        /* over all lanes */
tc_ival tc_cg_index_range(tc_cg *g, const tc_cg_index *x, int lanes);
int tc_cg_index_align(const tc_cg_index *x, int bytes, int base_align); /* of lane 0, in bytes */
tc_val tc_cg_index_value(tc_cg *g, const tc_cg_index *x);               /* lane 0, i64 */
tc_val tc_cg_pointer(tc_cg *g, const tc_slot *s, const tc_cg_index *x); /* of lane 0 */
tc_val tc_cg_element(tc_cg *g, const tc_slot *s, tc_val index);         /* pointer(s) at a computed index, scalar or vector */

/* ---- memory.c ---- */
tc_val tc_cg_load_expr(tc_cg *g, const tc_expr *e);
tc_val tc_cg_raw_load(tc_cg *g, const tc_expr *e); /* of neighbours, as they are stored */
/* The first n of `lanes` neighbours, as they are stored, and zeros; the other way the first n lanes of v. */
tc_val tc_cg_load_some(tc_cg *g, const tc_slot *s, const tc_cg_index *x, int n, int lanes);
void tc_cg_store_some(tc_cg *g, const tc_slot *s, const tc_cg_index *x, tc_val v, int n);
void tc_cg_store_stmt(tc_cg *g, const tc_stmt *s);
/* v, as it is in memory, at lane 0's place of x and behind it. */
void tc_cg_store_run(tc_cg *g, const tc_buffer *b, const tc_cg_index *x, tc_val v);
void tc_cg_prefetch_stmt(tc_cg *g, const tc_stmt *s);

/* ---- interleave.c ---- */
/* How many of the n statements s, from the first one, were one store; 0: it is none. */
int tc_cg_store_together(tc_cg *g, const tc_stmt *const *s, int n);

/* ---- expr.c ---- */
tc_val tc_cg_expr(tc_cg *g, const tc_expr *e);
unsigned tc_cg_flags(tc_cg *g, const tc_expr *e); /* tc_expr_flags */

/* ---- arith.c ---- */
tc_val tc_cg_arithmetic(tc_cg *g, const tc_expr *e);
tc_val tc_cg_max(tc_cg *g, tc_val a, tc_val b, bool max); /* floats, NaN if either is */

/* ---- convert.c ---- */
tc_val tc_cg_cast(tc_cg *g, tc_val a, tc_dtype from, tc_dtype to);
/* Of numbers that are known to fit, to the nearest one or towards 0; NaN becomes 0, of which only the low 16 bits count where `low`
 * says so. */
tc_val tc_cg_bounded_to_i32(tc_cg *g, tc_val a, bool nearest, bool low);
tc_val tc_cg_round(tc_cg *g, tc_dtype t, tc_val v); /* f32 value -> nearest value of f16 or bf16, as f32 */
tc_val tc_cg_from_memory(tc_cg *g, tc_dtype t, tc_val bits);
tc_val tc_cg_to_memory(tc_cg *g, tc_dtype t, tc_val v);

/* ---- math.c ---- */
tc_val tc_cg_math(tc_cg *g, tc_op op, tc_val x);
tc_val tc_cg_pow(tc_cg *g, tc_val x, tc_val y);

/* ---- stmt.c ---- */
void tc_cg_stmt(tc_cg *g, const tc_stmt *s);
/* A symbol's value, for the whole of the kernel. */
void tc_cg_bind_symbol(tc_cg *g, const tc_var *v, tc_val value);
void tc_cg_serial_loop(tc_cg *g, const tc_stmt *s);
/* for var = begin; var < end: the test is at the bottom; `check` adds one at the top. */
void tc_cg_counted_loop(tc_cg *g, const tc_stmt *s, tc_val begin, tc_val end, bool check);

/* ---- tiles.c ---- */
void tc_cg_open_tiles(tc_cg *g, const tc_stmt *alloc); /* before an allocation of a tile; after it tc_cg_close_tiles */
void tc_cg_close_tiles(tc_cg *g);
void tc_cg_release_tiles(tc_cg *g); /* before this function ends, and before others run that configure tiles */
void tc_cg_permit_tiles(tc_cg *g);  /* at the kernel's entry, when its bodies are built */
void tc_cg_tile_stmt(tc_cg *g, const tc_tile_stmt *t);

/* ---- units.c ---- */
/* acc + the products of a and b, which fill registers of the unit's. */
tc_val tc_cg_unit(tc_cg *g, const tc_intrinsic *u, tc_val acc, tc_val a, tc_val b);
/* Tiles in vector registers: whether a machine has such; where one is allocated; what is done with them. */
bool tc_cg_has_blocks(const tc_machine *m);
void tc_cg_add_block(tc_cg *g, const tc_buffer *b);
void tc_cg_block_stmt(tc_cg *g, const tc_tile_stmt *t);

/* ---- parallel.c ---- */
void tc_cg_parallel_loop(tc_cg *g, const tc_stmt *s);

/* ---- func.c ---- */
enum { TC_CG_MAX_ARGS = 512 };
/* f's code in g's module, exported as g->symbol; text: where a debugger finds f, or NULL */
void tc_cg_function(tc_cg *g, const tc_func *f, const tc_cg_text *text);
tc_val tc_cg_new_function(tc_cg *g, const char *name, LLVMTypeRef ret, LLVMTypeRef *params, int n, bool exported);
/* Facts about pointer parameter `at` of a body. `bytes` 0: the size is not known. */
void tc_cg_pointer_attributes(tc_cg *g, tc_val fn, int at, int64_t bytes, bool readonly, bool overlaps);
/* With an entry block for allocas only, and one where code goes: of s, or of the whole kernel where s is NULL. */
void tc_cg_open_function(tc_cg *g, tc_val fn, const tc_stmt *s);
void tc_cg_close_function(tc_cg *g, tc_val result); /* NULL: returns nothing */
int64_t tc_cg_round64(int64_t n);                   /* bytes of workspace, in whole lines */
/* From here to the end, results below the smallest normal number become zero, where that is faster. NULL is fine for the end. */
tc_val tc_cg_begin_flush(tc_cg *g);
void tc_cg_end_flush(tc_cg *g, tc_val before);

#endif
