/* Inside the printer of C: the state of one kernel's printing.
 *
 *     writer.c   text, lines, names, types              expr.c     expressions: the scalar at lane `lane` of each node
 *     values.c   which values of a statement get names  stmt.c     statements
 *     func.c     the kernel, and the prelude            tiles.c    statements on tiles */
#ifndef TC_CODEGEN_C_SOURCE_C_SOURCE_INT_H
#define TC_CODEGEN_C_SOURCE_C_SOURCE_INT_H

#include "codegen/c_source/c_source.h"
#include "support/map.h"
#include "support/vec.h"

typedef struct tc_cgc_writer {
    tc_strbuf *b;
    const tc_func *f;
    const char *thread; /* the pointer to the thread's workspace here */
    int nthreads, indent, regions, teams;
    int64_t stack;                 /* bytes of what was declared so far */
    tc_env *env;                   /* ranges of the loops' variables */
    tc_map loads;                  /* of nodes, by id: whether memory is read there or below */
    tc_map use;                    /* of nodes in this statement, by id */
    TC_VEC(const tc_expr *) order; /* of them, operands first */
    tc_status status;
    tc_error *err;
} tc_cgc_writer;

/* ---- writer.c ---- */
void tc_cgc_text(tc_cgc_writer *w, const char *fmt, ...) TC_PRINTF(2, 3);
void tc_cgc_line(tc_cgc_writer *w, const char *fmt, ...) TC_PRINTF(2, 3); /* the same after the indentation; ends no line */
void tc_cgc_fail(tc_cgc_writer *w, const char *what);
const char *tc_cgc_value_type(tc_dtype t); /* of a value: narrow floats are f32, bool is int */
bool tc_cgc_is_narrow(tc_dtype t);         /* a float that C has no type for */
void tc_cgc_name(tc_cgc_writer *w, const char *s, uint32_t id);
void tc_cgc_buffer(tc_cgc_writer *w, const tc_buffer *b); /* its name */

/* ---- expr.c ---- */
void tc_cgc_node(tc_cgc_writer *w, const tc_expr *e, const char *lane); /* e itself, whether or not it has a name */

/* ---- values.c ---- */
void tc_cgc_expr(tc_cgc_writer *w, const tc_expr *e, const char *lane); /* e, by its name where it has one */
/* Notes what a statement computes. always: whether it does so for every lane, so that it may be computed ahead. */
void tc_cgc_note(tc_cgc_writer *w, const tc_expr *e, bool always);
void tc_cgc_name_values(tc_cgc_writer *w, const char *lane); /* defines what was noted and is to have a name */
void tc_cgc_forget(tc_cgc_writer *w);                        /* the statement's notes */

/* ---- stmt.c ---- */
void tc_cgc_stmt(tc_cgc_writer *w, const tc_stmt *s);
int64_t tc_cgc_round64(int64_t n); /* bytes of workspace, in whole lines */

/* ---- tiles.c ---- */
void tc_cgc_tile(tc_cgc_writer *w, const tc_tile_stmt *t);

#endif
