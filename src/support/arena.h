/* Bump allocator. Everything reachable from a context lives in one arena and is released together; nothing is freed singly.
 * Small blocks are never NULL (alloc.h). A text that is refused, and is larger than the reserve's largest block, is lost. */
#ifndef TC_SUPPORT_ARENA_H
#define TC_SUPPORT_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "support/alloc.h"
#include "support/status.h"

typedef struct tc_arena tc_arena;

tc_arena *tc_arena_new(void);
void tc_arena_free(tc_arena *a); /* NULL is fine */
/* Forgets all allocations but keeps the memory for the next candidate. */
void tc_arena_reset(tc_arena *a);
/* Zeroed memory, 16-byte aligned. n may be 0 (the result is then unique and not NULL). */
void *tc_arena_alloc(tc_arena *a, size_t n);
void *tc_arena_dup(tc_arena *a, const void *p, size_t n);
/* The same for what may be large: NULL where memory for it has run out. */
void *tc_arena_try_dup(tc_arena *a, const void *p, size_t n);
char *tc_arena_strdup(tc_arena *a, const char *s);
char *tc_arena_strndup(tc_arena *a, const char *s, size_t n);
char *tc_arena_printf(tc_arena *a, const char *fmt, ...) TC_PRINTF(2, 3);
size_t tc_arena_bytes(const tc_arena *a); /* bytes handed out since the last reset */

#define TC_NEW(a, T) ((T *)tc_arena_alloc((a), sizeof(T)))
#define TC_NEW_N(a, T, n) ((T *)tc_arena_alloc((a), sizeof(T) * (size_t)(n)))

#endif
