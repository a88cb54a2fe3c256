/* The reserve for blocks that are refused. Invariant: `reserve` is read and written under `lock`; a block that lies in it is nobody
 * else's. */
#include "support/alloc.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most blocks that are asked for are of the first two sizes, or chunks of an arena, which are of the third. What a call takes
 * from here until it ends is counted by tests/campaign/memory: 3.5 MiB at most, in a search on two threads. */
static const struct {
    size_t size;
    int count;
} sizes[] = {{256, 2048}, {2 << 10, 1024}, {64 << 10, 96}, {2 << 20, 8}, {TC_ALLOC_LARGEST, 1}};
enum {
    NSIZE = sizeof sizes / sizeof sizes[0],
    MOST = 2048,
    ROOMY = 1 << 20 /* what grows beyond has room for as much again; the first time the reserve has blocks for several */
};

static struct {
    void *block[NSIZE][MOST];
    int len[NSIZE];
    size_t used, wanted;
} reserve;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
atomic_bool tc_alloc_refused;

bool tc_alloc_fill(void) {
    bool full = true;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < NSIZE && full; i++)
        while (full && reserve.len[i] < sizes[i].count) {
            void *p = malloc(sizes[i].size);
            full = p != NULL;
            if (full)
                reserve.block[i][reserve.len[i]++] = p;
        }
    if (full)
        reserve.used = 0;
    pthread_mutex_unlock(&lock);
    return full;
}

void tc_alloc_forget(void) {
    pthread_mutex_lock(&lock);
    reserve.wanted = 0;
    atomic_store(&tc_alloc_refused, false);
    pthread_mutex_unlock(&lock);
}

void tc_alloc_refuse(void) {
    atomic_store(&tc_alloc_refused, true);
}

size_t tc_alloc_wanted(void) {
    pthread_mutex_lock(&lock);
    size_t n = reserve.wanted;
    pthread_mutex_unlock(&lock);
    return n;
}

size_t tc_alloc_used(void) {
    pthread_mutex_lock(&lock);
    size_t n = reserve.used;
    pthread_mutex_unlock(&lock);
    return n;
}

/* A block of n bytes was refused. */
static void run_out(size_t n) {
    pthread_mutex_lock(&lock);
    if (!atomic_exchange(&tc_alloc_refused, true))
        reserve.wanted = n;
    pthread_mutex_unlock(&lock);
}

_Noreturn static void give_up(size_t n) {
    fprintf(stderr, "tctune: out of memory: the system refused %zu bytes, and the reserve is used up\n", n);
    abort();
}

/* A block of the least size that is left and large enough. */
__attribute__((noinline)) static void *rescue(size_t n) {
    void *p = NULL;
    run_out(n);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < NSIZE && !p; i++)
        if (n <= sizes[i].size && reserve.len[i]) {
            p = reserve.block[i][--reserve.len[i]];
            reserve.used += sizes[i].size;
        }
    pthread_mutex_unlock(&lock);
    if (!p)
        give_up(n);
    return p;
}

/* At least one byte is always asked for, so that NULL means failure and nothing else. */
void *tc_xmalloc(size_t n) {
    void *p = malloc(n ? n : 1);
    return p ? p : rescue(n);
}

void *tc_xcalloc(size_t n, size_t size) {
    void *p = n && size ? calloc(n, size) : calloc(1, 1);
    if (p)
        return p;
    size_t bytes = n && size > SIZE_MAX / n ? SIZE_MAX : n * size;
    return memset(rescue(bytes), 0, bytes);
}

void *tc_xrealloc(void *p, size_t n) {
    void *q = realloc(p, n ? n : 1);
    if (q)
        return q;
    q = rescue(n);
    if (p) {
        size_t had = malloc_usable_size(p);
        memcpy(q, p, had < n ? had : n);
        free(p);
    }
    return q;
}

void *tc_try_malloc(size_t n) {
    void *p = malloc(n ? n : 1);
    if (!p && n <= TC_ALLOC_LARGEST)
        return rescue(n);
    if (!p)
        run_out(n);
    return p;
}

void *tc_try_calloc(size_t n, size_t size) {
    if (!n || size <= TC_ALLOC_LARGEST / n)
        return tc_xcalloc(n, size);
    void *p = calloc(n, size);
    if (!p)
        run_out(size > SIZE_MAX / n ? SIZE_MAX : n * size);
    return p;
}

void *tc_try_slots(size_t n, size_t size, bool full) {
    if (full || n * size <= ROOMY)
        return tc_xcalloc(n, size);
    void *p = calloc(n, size);
    if (!p)
        run_out(n * size);
    return p;
}

void *tc_try_grow(void *p, size_t n) {
    if (n <= ROOMY)
        return tc_xrealloc(p, n);
    void *q = n <= SIZE_MAX / 2 ? realloc(p, 2 * n) : NULL;
    if (q)
        return q;
    run_out(n);
    if (p && malloc_usable_size(p) >= n)
        return p;
    return n <= TC_ALLOC_LARGEST ? tc_xrealloc(p, n) : realloc(p, n);
}

void *tc_grow(void *p, size_t n) {
    void *q = tc_try_grow(p, n);
    if (!q)
        give_up(n);
    return q;
}

char *tc_xstrdup(const char *s) {
    size_t n = strlen(s) + 1;
    return memcpy(tc_xmalloc(n), s, n);
}
