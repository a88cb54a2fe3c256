/* src/support owns what every folder needs and no subject has: memory that never returns NULL, the arena, status codes, text
 * buffers, arrays, hash maps, random numbers, the lexer, the log, and hashes, those that are trusted included (seal.h). Not here:
 * calls of the operating system (src/support/system) and anything that knows tensors.
 *
 * The library's own memory, and what happens when the system refuses some.
 *
 * Hundreds of places allocate small blocks in the middle of building something. None of them could do better than give up, and
 * code that gives up at hundreds of places is code that nobody tests. So these functions never return NULL. A refused block comes
 * from a reserve that was set aside when the call of the library began (tc_memory_begin, system/memory.h), and the process
 * remembers that memory ran out. From then on every call under way ends early: TC_TRY returns before it calls, loops that do not
 * use it ask tc_ran_out, and nothing that was made meanwhile leaves the process (files are not given their names, records are not
 * committed). The reserve need only last until then. When the last call has ended, the reserve is filled again and the next call
 * begins as if nothing had happened.
 *
 * The reserve consists of ordinary blocks of the heap in a few sizes, so that whatever it gave is released with free() like any
 * other. What the system promised cannot be refused later, so its pages need not be touched.
 *
 * Blocks whose size an input decides (tensors, constants, workspaces, whole files, arrays over the elements of a tensor) are
 * asked for where they can be refused, or tc_memory_check is asked for their sum first. The reserve has nothing larger than
 * TC_ALLOC_LARGEST: what is larger is asked for by tc_try_malloc and its like, which may refuse. Arrays, texts and tables that
 * grow element by element ask for twice of what they need once they are large (tc_grow), hash tables keep their old slots
 * (tc_try_slots): where that is refused the call is ended while they still have room for what it adds until then. Where the
 * reserve has no fitting block left, or such an array is full again, the process ends with a message. So it does where no call
 * was begun: in workers, whose end is a record, and in tests of single parts.
 *
 * Without a failure nothing of this costs more than the test of a flag that is never written. */
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

/* The same, but NULL where more than TC_ALLOC_LARGEST is refused. Memory has run out then (tc_ran_out), and p is as it was. */
void *tc_try_malloc(size_t n);
void *tc_try_calloc(size_t n, size_t size);
/* Zeroed slots of a hash table that grows; never NULL where its old ones are `full`. */
void *tc_try_slots(size_t n, size_t size, bool full);
/* As tc_xrealloc, for what grows to n bytes or more from at least half of that. Of large blocks twice as much is asked for; where
 * that is refused memory has run out, and p may still have the n bytes. NULL: it has not, and p is as it was. */
void *tc_try_grow(void *p, size_t n);
/* The same, but never NULL. */
void *tc_grow(void *p, size_t n);

/* For tc_ran_out alone. */
extern atomic_bool tc_alloc_refused;

/* Whether a block was refused since the calls under way began: whatever is being made is to be given up. */
static inline bool tc_ran_out(void) {
    return __builtin_expect(atomic_load_explicit(&tc_alloc_refused, memory_order_relaxed), 0);
}

/* Says the same of memory that a library of others asked for itself: what it gave is not whole. */
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
