/* src/support owns what every folder needs and no subject has: memory that never returns NULL, the arena, status codes, text
 * buffers, arrays, hash maps, random numbers, the lexer, the log, guesses at mistyped names, and hashes, trusted ones included
 * (seal.h). Not here: calls of the operating system (src/support/system) and anything that knows tensors.
 *
 * The library's own memory, and what happens when the system refuses a block.
 *
 * Hundreds of places allocate small blocks while they build something. None of them could do more than give up, and nobody tests
 * code that gives up at hundreds of places. So these functions never return NULL. If the system refuses a block, it comes from a
 * reserve. The reserve was filled when the call of the library began (tc_memory_begin, system/memory.h). From the first refused
 * block on, every call under way ends early: TC_TRY returns before it calls, and long loops without TC_TRY ask tc_ran_out. Nothing
 * that was made meanwhile leaves the process: files do not get their names, records are not committed. The reserve must last until
 * then. When the last call has ended, the reserve is filled again, and the next call begins as if nothing had happened.
 *
 * The reserve consists of ordinary heap blocks in a few sizes: each is released with free() like any other block. The system
 * cannot take back a block that it has given, so the pages of the reserve are not touched.
 *
 * Blocks whose size depends on an input (tensors, constants, workspaces, whole files, arrays over the elements of a tensor) may be
 * refused: they come from tc_try_malloc and its like, or tc_memory_check is asked for their sum first. The reserve has no block
 * above TC_ALLOC_LARGEST. Arrays and texts that grow element by element double their size once they are large (tc_grow). Hash
 * tables keep their old slots (tc_try_slots). If such growth is refused, the call is ended while the old block still has room for
 * what the call adds until then. The process ends with a message if the reserve has no fitting block left, or such an array is
 * full again. It also ends with a message if memory runs out outside of a call: in workers, whose end is a record, and in tests of
 * single parts.
 *
 * As long as nothing is refused, all this costs one test of a flag that is never written. */
#ifndef TC_SUPPORT_ALLOC_H
#define TC_SUPPORT_ALLOC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { TC_ALLOC_LARGEST = 16 << 20 };

/* As malloc and its family, but never NULL, not even for 0 bytes. Release with free(). */
void *tc_xmalloc(size_t n);
void *tc_xcalloc(size_t n, size_t size); /* zeroed */
void *tc_xrealloc(void *p, size_t n);
char *tc_xstrdup(const char *s);

/* The same, but NULL if a block above TC_ALLOC_LARGEST is refused. Then tc_ran_out is true, and p is unchanged. */
void *tc_try_malloc(size_t n);
void *tc_try_calloc(size_t n, size_t size);
/* Zeroed slots of a hash table that grows; never NULL where its old ones are `full`. */
void *tc_try_slots(size_t n, size_t size, bool full);
/* As tc_xrealloc, for a block that grows to n bytes from at least n / 2. A large block asks for 2n bytes. If 2n bytes are refused,
 * tc_ran_out is true, but p may still get its n bytes. NULL: it does not get them, and p is unchanged. */
void *tc_try_grow(void *p, size_t n);
/* The same, but never NULL. */
void *tc_grow(void *p, size_t n);

/* For tc_ran_out alone. */
extern atomic_bool tc_alloc_refused;

/* True once a block was refused since the calls under way began: give up what is being made. */
static inline bool tc_ran_out(void) {
    return __builtin_expect(atomic_load_explicit(&tc_alloc_refused, memory_order_relaxed), 0);
}

/* Makes tc_ran_out true: a foreign library was refused memory, so its result is not whole. */
void tc_alloc_refuse(void);

/* For system/memory.c, which counts calls. Fills the reserve up; false when the system does not have it. */
bool tc_alloc_fill(void);
/* The end of a shortage: tc_ran_out is false again. */
void tc_alloc_forget(void);
/* Bytes of the block that was refused first. */
size_t tc_alloc_wanted(void);
/* Bytes of the reserve that were given away since it was last full. */
size_t tc_alloc_used(void);

#endif
