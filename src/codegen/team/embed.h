/* The team for libraries that run without tctune: the symbol TC_TEAM_SYMBOL, hidden, is tc_team_parallel_for. */
#ifndef TC_CODEGEN_TEAM_EMBED_H
#define TC_CODEGEN_TEAM_EMBED_H

#include <stddef.h>

#define TC_TEAM_SYMBOL "tc_team_parallel_for"

/* Bytes of stack that it takes around the body of a parallel loop, in each thread. Measured: under 500. */
enum { TC_TEAM_STACK = 1 << 10 };

/* An object file: position-independent code for this machine's architecture, which needs libc only. */
void tc_team_object(const void **bytes, size_t *size);
/* The same as C source. */
void tc_team_text(const char **text, size_t *size);

#endif
