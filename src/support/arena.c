/* Bump allocation out of a list of chunks. A reset rewinds to the first chunk and keeps all of them.
 *
 * Invariant: chunks before `current` are full or were skipped as too small, chunks after it are unused since the last reset.
 * Under AddressSanitizer everything not handed out is poisoned, so use after a reset and overruns are caught as on the heap. */
#include "support/arena.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/numbers.h"

#if defined(__SANITIZE_ADDRESS__)
#define POISONING 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISONING 1
#endif
#endif

#ifdef POISONING
#include <sanitizer/asan_interface.h>
#define poison(p, n) ASAN_POISON_MEMORY_REGION((p), (n))
#define unpoison(p, n) ASAN_UNPOISON_MEMORY_REGION((p), (n))
#else
#define poison(p, n) ((void)(p), (void)(n))
#define unpoison(p, n) ((void)(p), (void)(n))
#endif

enum { ALIGN = 16 };
#ifdef TCTUNE_HOSTILE
enum { FIRST_CHUNK = 64, LARGEST_CHUNK = 256 };
#else
/* A candidate's replay and lowering take some 100 KiB; larger contexts double up to chunks that are cheap to map at once. */
enum { FIRST_CHUNK = 64 << 10, LARGEST_CHUNK = 4 << 20 };
#endif

typedef struct chunk {
    struct chunk *next;
    size_t cap;
    _Alignas(ALIGN) unsigned char bytes[];
} chunk;

struct tc_arena {
    chunk *first, *current;
    size_t used;      /* of the current chunk */
    size_t next_size; /* of the next chunk to be made */
    size_t bytes;
};

/* With room for n bytes. `size` is what would be best: where the system does not have that, as little as will do; NULL where that
 * is more than the reserve has, and refused. */
static chunk *chunk_new(size_t n, size_t size) {
    size_t cap = n > size ? n : size, least = FIRST_CHUNK - sizeof(chunk);
    chunk *c = malloc(sizeof *c + cap);
    if (!c) {
        cap = n > least ? n : least;
        c = tc_try_malloc(sizeof *c + cap);
        if (!c)
            return NULL;
    }
    c->next = NULL;
    c->cap = cap;
    poison(c->bytes, cap);
    return c;
}

tc_arena *tc_arena_new(void) {
    tc_arena *a = tc_xcalloc(1, sizeof *a);
    a->next_size = FIRST_CHUNK;
    return a;
}

void tc_arena_free(tc_arena *a) {
    if (!a)
        return;
    for (chunk *c = a->first, *next; c; c = next) {
        next = c->next;
        unpoison(c->bytes, c->cap);
        free(c);
    }
    free(a);
}

void tc_arena_reset(tc_arena *a) {
    for (chunk *c = a->first; c; c = c->next)
        poison(c->bytes, c->cap);
    a->current = a->first;
    a->used = 0;
    a->bytes = 0;
}

/* Makes `current` a chunk with room for n bytes: the next kept one that is large enough, else a new one; false when memory for it
 * has run out. */
static bool advance(tc_arena *a, size_t n) {
    while (a->current && a->current->next) {
        a->current = a->current->next;
        a->used = 0;
        if (a->current->cap >= n)
            return true;
    }
    chunk *c = chunk_new(n, a->next_size);
    if (!c)
        return false;
    if (a->next_size < LARGEST_CHUNK)
        a->next_size *= 2;
    if (a->current)
        a->current->next = c;
    else
        a->first = c;
    a->current = c;
    a->used = 0;
    return true;
}

/* Uninitialised memory. */
static void *try_take(tc_arena *a, size_t n) {
    size_t rounded = n ? (n + ALIGN - 1) & ~(size_t)(ALIGN - 1) : ALIGN;
    if (rounded < n || ((!a->current || a->current->cap - a->used < rounded) && !advance(a, rounded)))
        return NULL;
    void *p = a->current->bytes + a->used;
    a->used += rounded;
    a->bytes += rounded;
    unpoison(p, n);
    return p;
}

static void *take(tc_arena *a, size_t n) {
    void *p = try_take(a, n);
    if (!p) {
        fprintf(stderr, "tctune: out of memory: an allocation of %zu bytes failed\n", n);
        abort();
    }
    return p;
}

void *tc_arena_alloc(tc_arena *a, size_t n) {
    void *p = take(a, n);
    return memset(p, 0, n);
}

void *tc_arena_dup(tc_arena *a, const void *p, size_t n) {
    void *copy = take(a, n);
    return n ? memcpy(copy, p, n) : copy;
}

void *tc_arena_try_dup(tc_arena *a, const void *p, size_t n) {
    void *copy = try_take(a, n);
    return copy && n ? memcpy(copy, p, n) : copy;
}

/* Room for a text of n bytes, or of none. */
static char *take_text(tc_arena *a, size_t *n) {
    char *text = try_take(a, *n + 1);
    if (!text) {
        *n = 0;
        text = take(a, 1);
    }
    text[*n] = 0;
    return text;
}

char *tc_arena_strdup(tc_arena *a, const char *s) {
    return tc_arena_strndup(a, s, strlen(s));
}

char *tc_arena_strndup(tc_arena *a, const char *s, size_t n) {
    size_t len = strnlen(s, n);
    char *copy = take_text(a, &len);
    return memcpy(copy, s, len);
}

char *tc_arena_printf(tc_arena *a, const char *fmt, ...) {
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = tc_vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    assert(n >= 0);
    size_t len = (size_t)n;
    char *text = take_text(a, &len);
    tc_vsnprintf(text, len + 1, fmt, again);
    va_end(again);
    return text;
}

size_t tc_arena_bytes(const tc_arena *a) {
    return a->bytes;
}
