/* A target, FUZZ_NAME, as libFuzzer calls it. Its own changes to inputs know nothing of structure; ours do, and take turns with
 * them.
 *
 * SQLite allocates some 10,000 small blocks for a database that is opened, compared, read, merged and pruned, and most of an
 * input's time went into what the sanitizers and libFuzzer note of each. It is not instrumented, so they learn little from them:
 * it gets libc's own, and what it does not give back is counted. The test of inputs leaves it as it is. */
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/log.h"
#include "targets.h"

#define JOIN(a, b) a##b
#define OF(a, b) JOIN(a, b)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

/* ---- SQLite's memory ---- */

void *__libc_malloc(size_t n);
void *__libc_realloc(void *p, size_t n);
void __libc_free(void *p);

/* A block's size lies before it. */
typedef union head {
    int size;
    max_align_t align;
} head;

static long blocks; /* that SQLite has; it runs in one thread */

static void *sized(head *h, int n) {
    if (!h)
        return NULL;
    h->size = n;
    return h + 1;
}

static void *take(int n) {
    void *p = sized(__libc_malloc(sizeof(head) + (size_t)n), n);
    blocks += p != NULL;
    return p;
}

static void give(void *p) {
    blocks -= p != NULL;
    __libc_free(p ? (head *)p - 1 : NULL);
}

static void *resize(void *p, int n) {
    return sized(__libc_realloc((head *)p - 1, sizeof(head) + (size_t)n), n);
}

static int size_of(void *p) {
    return p ? ((head *)p)[-1].size : 0;
}

static int round_up(int n) {
    return (n + 7) & ~7;
}

static int begin(void *user) {
    (void)user;
    return SQLITE_OK;
}

static void end(void *user) {
    (void)user;
}

/* ---- what libFuzzer calls ---- */

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    static const sqlite3_mem_methods memory = {take, give, resize, size_of, round_up, begin, end, NULL};
    (void)argc;
    (void)argv;
    tc_log_set_level(TC_LOG_ERROR);
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &memory) != SQLITE_OK || sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) != SQLITE_OK ||
        sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) != SQLITE_OK || sqlite3_initialize() != SQLITE_OK)
        exit(2);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    long before = blocks;
    OF(fuzz_read_, FUZZ_NAME)((const char *)data, size);
    if (blocks != before)
        fuzz_wrong("SQLite had %ld blocks before, and has %ld", before, blocks);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    tc_rng r = tc_rng_seed(seed);
    if (size == 0 || tc_rng_below(&r, 3) == 0)
        return LLVMFuzzerMutate(data, size, most);
    tc_strbuf out = {0};
    OF(fuzz_damage_, FUZZ_NAME)(&r, (const char *)data, size, &out);
    size_t n = out.len <= most ? out.len : most;
    memcpy(data, tc_sb_str(&out), n);
    tc_strbuf_free(&out);
    return n;
}
