/* The TIR interpreter's own header: interp.c runs statements over checked memory, interp_expr.c compiles expressions to short
 * programs. */
#ifndef TC_TIR_LOWER_INTERP_INTERP_INT_H
#define TC_TIR_LOWER_INTERP_INTERP_INT_H

#include "support/map.h"
#include "support/vec.h"
#include "te/eval.h"
#include "tir_lower/tir.h"

typedef union val {
    int64_t i;
    double f;
} val;

/* First and last parallel iteration of the loop at hand that read an element. */
typedef struct readers {
    uint32_t first, last;
} readers;

/* One buffer's memory. `owner` has `per` entries per element: 1, or the element's bytes where buffers share a workspace. An entry
 * is the writer's `me`, 0 when nothing was written. `stamp` (shared memory) is the parallel iteration that wrote last. */
typedef struct mem {
    const tc_buffer *buf;
    int64_t size; /* elements, as the sizes are */
    unsigned char *data;
    uint32_t *owner; /* NULL: an input, always defined and never written */
    uint32_t *stamp;
    readers *reader;
    int per;
    uint32_t me;
    bool own_data, own_owner;
} mem;

/* interp_exec runs jumps itself, RUNNERS (interp_expr.c) the others. */
typedef enum xcode {
    X_JZ,
    X_JMP,
    X_INT,
    X_FLOAT,
    X_CMP_I,
    X_CMP_F,
    X_FMA,
    X_DOT,
    X_SELECT,
    X_PRED,
    X_COPY,
    X_LOAD,
    X_BCAST,
    X_RAMP,
    X_CAST_II,
    X_CAST_IF,
    X_CAST_FI,
    X_CAST_FF,
    X_NCODES
} xcode;

/* Operands are slots: >= 0 a temporary, else ~slot a permanent (loop variable or immediate). `pred`: lanes that count, NO_SLOT =
 * all. */
typedef struct inst {
    uint8_t code, op, dtype, from;
    uint8_t group; /* DOT: products per lane */
    uint16_t lanes, pred_lanes;
    int32_t dst, a, b, c, pred;
    mem *m;
} inst;

enum { NO_SLOT = INT32_MIN };

/* Programs of a statement: from..to in `code`; its result is in `slot`. */
typedef struct program {
    uint32_t from, to;
    int32_t slot;
} program;

typedef struct known {
    const tc_expr *e;
    int32_t slot;
} known;

typedef struct interp {
    const tc_func *f;
    tc_error *err;
    TC_VEC(mem *) mems;
    TC_VEC(inst) code;
    TC_VEC(val) perm;
    TC_VEC(known) memo; /* while compiling: nodes of the program at hand */
    tc_map perm_slot;   /* variable or immediate node id -> slot */
    val *temp;
    int ntemp, max_temp;
    /* running */
    TC_VEC(const tc_stmt *) stack; /* loops around, for messages */
    tc_rng rng;
    bool shuffle;
    bool in_part;                        /* a part of the program was left out: what was never written may be read */
    uint32_t iteration, first_iteration; /* of the parallel loop at hand; 0: outside */
    uint32_t next_iteration;
} interp;

static inline val *slot_at(interp *x, int32_t s) {
    return s >= 0 ? x->temp + s : x->perm.data + ~s;
}

mem *interp_mem(interp *x, const tc_buffer *b);
int32_t interp_var_slot(interp *x, const tc_var *v);
/* Compiles e; several calls between two interp_begin share what they have in common. */
void interp_begin(interp *x);
program interp_compile(interp *x, const tc_expr *e);
bool interp_exec(interp *x, program p);
/* Checks the access and returns true; false: x->err is set. */
bool interp_check_load(interp *x, mem *m, int64_t i);
bool interp_fail(interp *x, const char *fmt, ...) TC_PRINTF(2, 3);

#endif
