/* What the files of tir_lower share and no other folder sees. */
#ifndef TC_TIR_INT_H
#define TC_TIR_INT_H

#include "tir_lower/tir.h"

/* Words of the text form; one table for printer and parser. */
extern const char *const tir_scope_text[]; /* by tc_buf_scope */
extern const char *const tir_for_text[];   /* by tc_for_kind */
enum { TIR_NSCOPES = TC_BUF_REG + 1, TIR_NFORS = TC_FOR_UNROLL + 1 };

/* Children of a statement: calls fn on each and rebuilds the statement if any changed. fn may return NULL (nothing left). */
typedef const tc_stmt *tir_stmt_fn(tc_ctx *c, const tc_stmt *s, void *user);
const tc_stmt *tir_map_children(tc_ctx *c, const tc_stmt *s, tir_stmt_fn *fn, void *user);
/* Visits s, then the statements in it, in order of execution. */
typedef void tir_visit_fn(const tc_stmt *s, void *user);
void tir_walk(const tc_stmt *s, tir_visit_fn *fn, void *user);
/* Walks the expressions that s itself holds, not those of the statements in it. */
void tir_walk_exprs(const tc_stmt *s, void (*fn)(const tc_expr *e, void *user), void *user);
/* Extents of a layout's physical coordinates for logical extents `shape`. */
void tir_layout_extents(const tc_layout *l, const int64_t *shape, int64_t *out);

#endif
