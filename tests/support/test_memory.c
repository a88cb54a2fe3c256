/* alloc.h, arena.h, vec.h and memory.h. */
#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/arena.h"
#include "support/map.h"
#include "support/strbuf.h"
#include "support/system/fs.h"
#include "support/system/memory.h"
#include "support/vec.h"

static void arena_memory_is_zeroed_aligned_and_disjoint(void **state) {
    (void)state;
    tc_arena *a = tc_arena_new();
    unsigned char *blocks[500];
    for (size_t i = 0; i < 500; i++) {
        blocks[i] = tc_arena_alloc(a, i);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        for (size_t j = 0; j < i; j++)
            assert_int_equal(blocks[i][j], 0);
        memset(blocks[i], (int)i, i);
    }
    for (size_t i = 0; i < 500; i++)
        for (size_t j = 0; j < i; j++)
            assert_int_equal(blocks[i][j], (unsigned char)i);
    tc_arena_free(a);
}

static void arena_empty_allocations_are_unique(void **state) {
    (void)state;
    tc_arena *a = tc_arena_new();
    void *p = tc_arena_alloc(a, 0), *q = tc_arena_alloc(a, 0);
    assert_non_null(p);
    assert_ptr_not_equal(p, q);
    assert_non_null(tc_arena_dup(a, NULL, 0));
    tc_arena_free(a);
    tc_arena_free(NULL);
}

static void arena_serves_blocks_larger_than_a_chunk(void **state) {
    (void)state;
    tc_arena *a = tc_arena_new();
    char *small = tc_arena_alloc(a, 8);
    char *large = tc_arena_alloc(a, 10 << 20);
    large[0] = large[(10 << 20) - 1] = 1;
    small[7] = 2;
    char *after = tc_arena_alloc(a, 8);
    assert_int_equal(after[0], 0);
    assert_true(tc_arena_bytes(a) >= (10 << 20) + 16);
    tc_arena_free(a);
}

static void arena_reset_reuses_the_same_memory_zeroed(void **state) {
    (void)state;
    tc_arena *a = tc_arena_new();
    void *first[100];
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 100; i++) {
            unsigned char *p = tc_arena_alloc(a, 1000 + i);
            for (size_t j = 0; j < 1000 + i; j++)
                assert_int_equal(p[j], 0);
            memset(p, 0xff, 1000 + i);
            if (round == 0)
                first[i] = p;
            else
                assert_ptr_equal(p, first[i]);
        }
        assert_true(tc_arena_bytes(a) >= 100 * 1000);
        tc_arena_reset(a);
        assert_int_equal(tc_arena_bytes(a), 0);
    }
    tc_arena_free(a);
}

static void arena_copies_text(void **state) {
    (void)state;
    tc_arena *a = tc_arena_new();
    assert_string_equal(tc_arena_strdup(a, "abc"), "abc");
    assert_string_equal(tc_arena_strdup(a, ""), "");
    assert_string_equal(tc_arena_strndup(a, "abcdef", 3), "abc");
    assert_string_equal(tc_arena_strndup(a, "ab", 10), "ab");
    assert_string_equal(tc_arena_printf(a, "%d-%s", 7, "x"), "7-x");
    assert_string_equal(tc_arena_printf(a, "%s", ""), "");
    char *wide = tc_arena_printf(a, "%5000d", 1);
    assert_int_equal(strlen(wide), 5000);
    int *copy = tc_arena_dup(a, (int[]){1, 2, 3}, sizeof(int[3]));
    assert_int_equal(copy[2], 3);
    int *one = TC_NEW(a, int), *many = TC_NEW_N(a, int, 4);
    assert_int_equal(*one + many[3], 0);
    tc_arena_free(a);
}

static void heap_helpers_never_return_null(void **state) {
    (void)state;
    void *p = tc_xmalloc(0);
    assert_non_null(p);
    p = tc_xrealloc(p, 0);
    assert_non_null(p);
    free(p);
    p = tc_xcalloc(0, 8);
    assert_non_null(p);
    free(p);
    int *zeros = tc_xcalloc(100, sizeof *zeros);
    assert_int_equal(zeros[99], 0);
    free(zeros);
    char *s = tc_xstrdup("text");
    assert_string_equal(s, "text");
    free(s);
}

static void vec_grows_and_keeps_its_elements(void **state) {
    (void)state;
    TC_VEC(int) v = {0};
    for (int i = 0; i < 10000; i++)
        tc_push(&v, i);
    assert_int_equal(v.len, 10000);
    assert_true(v.cap >= v.len);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(v.data[i], i);
    int *before = v.data;
    tc_reserve(&v, 10); /* never shrinks */
    assert_ptr_equal(v.data, before);
    tc_reserve(&v, v.cap + 1);
    assert_true(v.cap >= 10001);
    tc_vec_free(&v);
    assert_null(v.data);
    assert_int_equal(v.len + v.cap, 0);
    tc_push(&v, 3); /* usable again */
    assert_int_equal(v.data[0], 3);
    tc_vec_free(&v);
    int array[] = {1, 2, 3};
    assert_int_equal(TC_LEN(array), 3);
    assert_int_equal(TC_MIN(2, 3) * 10 + TC_MAX(2, 3), 23);
}

static void memory_is_refused_where_there_is_none(void **state) {
    (void)state;
    tc_error err = {0};
    assert_true(tc_memory_left() > 0);
    assert_true(tc_memory_all() > (uint64_t)64 << 20);
    assert_true(tc_memory_all() <= (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
    assert_int_equal(tc_memory_check(0, &err), TC_OK);
    assert_int_equal(tc_memory_check(1 << 20, &err), TC_OK);
    if (tc_memory_left() == INT64_MAX)
        skip(); /* nothing tells */
    assert_int_equal(tc_memory_check((uint64_t)1 << 60, &err), TC_ENV);
    assert_non_null(strstr(err.msg, "1.0 EiB are needed"));
    assert_int_equal(tc_memory_check(UINT64_MAX, &err), TC_ENV);
    assert_int_equal(tc_memory_check((uint64_t)1 << 60, NULL), TC_ENV);
}

static tc_status step(int *calls) {
    ++*calls;
    return TC_OK;
}

static tc_status two_steps(int *calls) {
    TC_TRY(step(calls));
    tc_alloc_refuse();
    TC_TRY(step(calls));
    return TC_OK;
}

static void a_shortage_ends_the_calls_under_way_and_no_more(void **state) {
    (void)state;
    tc_error err = {0}, other = {0};
    int calls = 0;
    assert_int_equal(tc_memory_begin(&err), TC_OK);
    assert_int_equal(tc_memory_begin(&err), TC_OK); /* a call within it, or one of another thread */
    assert_false(tc_ran_out());
    assert_int_equal(two_steps(&calls), TC_ENV);
    assert_int_equal(calls, 1);
    assert_int_equal(tc_memory_begin(&other), TC_ENV);
    assert_non_null(strstr(other.msg, "out of memory"));
    assert_int_equal(tc_memory_end(TC_OK, &err), TC_ENV);
    assert_non_null(strstr(err.msg, "out of memory"));
    assert_true(tc_ran_out());
    assert_int_equal(tc_memory_end(TC_BAD_INPUT, &err), TC_ENV); /* what it says may be for lack of memory alone */
    assert_false(tc_ran_out());
    assert_int_equal(tc_memory_begin(&err), TC_OK);
    assert_int_equal(tc_memory_end(TC_BAD_INPUT, &err), TC_BAD_INPUT);
}

/* ---- large blocks ---- */

#if defined(__SANITIZE_ADDRESS__)
#define CAN_LIMIT false /* its shadow is larger than any limit */
#else
#define CAN_LIMIT true
#endif

static size_t address_space(void) {
    char text[256] = {0};
    tc_fs_read_head("/proc/self/statm", text, sizeof text - 1);
    return (size_t)strtoull(text, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

/* The process may have so many bytes more than it has; gives back what the limit was. */
static struct rlimit limit_to(size_t more) {
    struct rlimit was, now;
    assert_int_equal(getrlimit(RLIMIT_AS, &was), 0);
    now = was;
    now.rlim_cur = address_space() + more;
    assert_int_equal(setrlimit(RLIMIT_AS, &now), 0);
    return was;
}

/* Each adds what no limit of these tests has room for, and goes on for half as long again after memory ran out. */
typedef void filler(void);

static void fill_array(void) {
    TC_VEC(uint64_t) v = {0};
    uint64_t n = 0;
    for (; !tc_ran_out(); n++)
        tc_push(&v, n);
    for (size_t more = v.len / 2; more > 0; more--, n++)
        tc_push(&v, n);
    assert_int_equal(v.len, n);
    bool same = true;
    for (size_t i = 0; i < v.len; i++)
        same &= v.data[i] == i;
    assert_true(same);
    tc_vec_free(&v);
}

static void fill_map(void) {
    tc_map m = {0};
    uint64_t n = 0;
    while (!tc_ran_out())
        n += tc_map_put(&m, n, n);
    for (uint64_t more = n / 2; more > 0; more--)
        n += tc_map_put(&m, n, n);
    bool same = true;
    for (uint64_t i = 0; i < n; i++)
        same &= *tc_map_get(&m, i) == i;
    assert_true(same);
    tc_map_free(&m);
}

static void fill_text(void) {
    tc_strbuf b = {0};
    while (!tc_ran_out())
        tc_sb_printf(&b, "%1000d", 17);
    size_t had = b.len;
    while (b.len < 3 * had) {
        size_t len = b.len;
        tc_sb_add(&b, "another text");
        tc_sb_printf(&b, "%*d", 5000, 3);
        if (b.len == len)
            break; /* the rest is left out */
    }
    assert_true(b.len >= had);
    assert_int_equal(strlen(b.data), b.len);
    tc_strbuf_free(&b);
}

static void add_a_large_text(void) {
    enum { LARGE = 40 << 20 };
    tc_strbuf b = {0};
    tc_sb_add(&b, "begin");
    char *large = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(large, MAP_FAILED);
    memset(large, 'x', LARGE - 1);
    tc_sb_add(&b, large);
    tc_sb_printf(&b, "%s", large);
    tc_arena *a = tc_arena_new();
    assert_true(tc_ran_out());
    assert_string_equal(tc_sb_str(&b), "begin");
    assert_string_equal(tc_arena_strdup(a, large), "");
    assert_string_equal(tc_arena_printf(a, "%s", large), "");
    assert_null(tc_arena_try_dup(a, large, LARGE));
    assert_null(tc_try_malloc(LARGE));
    assert_null(tc_try_calloc(LARGE, 8));
    assert_non_null(tc_arena_dup(a, large, 1 << 20));
    tc_arena_free(a);
    munmap(large, LARGE);
    tc_strbuf_free(&b);
}

static void large_blocks_that_are_refused_end_the_call(void **state) {
    (void)state;
    static const struct {
        filler *fill;
        size_t room;
    } cases[] = {{fill_array, 80 << 20}, {fill_map, 60 << 20}, {fill_text, 80 << 20}, {add_a_large_text, 60 << 20}};
    if (!CAN_LIMIT)
        skip();
    for (size_t i = 0; i < TC_LEN(cases); i++) {
        tc_error err = {0};
        assert_int_equal(tc_memory_begin(&err), TC_OK);
        struct rlimit was = limit_to(cases[i].room);
        cases[i].fill();
        assert_int_equal(setrlimit(RLIMIT_AS, &was), 0);
        assert_int_equal(tc_memory_end(TC_OK, &err), TC_ENV);
        assert_non_null(strstr(err.msg, "out of memory"));
        assert_int_equal(tc_memory_begin(&err), TC_OK);
        assert_int_equal(tc_memory_end(TC_OK, &err), TC_OK);
    }
}

/* What a call fills side by side is full at about the same time: none of them may end the process, whatever was refused first.
 * Each gets as much again as it holds when there is nothing left. */
static void arrays_that_are_refused_together_go_on(void **state) {
    (void)state;
    static const size_t held[] = {700 << 10, 1 << 20, 3 << 20, 5 << 20}; /* bytes of each */
    enum { ARRAYS = 6 };
    if (!CAN_LIMIT)
        skip();
    for (size_t i = 0; i < TC_LEN(held); i++) {
        TC_VEC(int64_t) v[ARRAYS] = {0};
        tc_error err = {0};
        size_t n = held[i] / sizeof *v->data;
        assert_int_equal(tc_memory_begin(&err), TC_OK);
        for (int a = 0; a < ARRAYS; a++)
            for (size_t k = 0; k < n; k++)
                tc_push(&v[a], (int64_t)k);
        struct rlimit was = limit_to(0);
        for (size_t k = 0; k < n; k++)
            for (int a = 0; a < ARRAYS; a++)
                tc_push(&v[a], (int64_t)(n + k));
        assert_int_equal(setrlimit(RLIMIT_AS, &was), 0);
        assert_int_equal(tc_memory_end(TC_OK, &err), TC_ENV);
        for (int a = 0; a < ARRAYS; a++) {
            for (size_t k = 0; k < v[a].len; k++)
                assert_int_equal(v[a].data[k], k);
            tc_vec_free(&v[a]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_memory_is_zeroed_aligned_and_disjoint),
        cmocka_unit_test(arena_empty_allocations_are_unique),
        cmocka_unit_test(arena_serves_blocks_larger_than_a_chunk),
        cmocka_unit_test(arena_reset_reuses_the_same_memory_zeroed),
        cmocka_unit_test(arena_copies_text),
        cmocka_unit_test(heap_helpers_never_return_null),
        cmocka_unit_test(vec_grows_and_keeps_its_elements),
        cmocka_unit_test(memory_is_refused_where_there_is_none),
        cmocka_unit_test(a_shortage_ends_the_calls_under_way_and_no_more),
        cmocka_unit_test(large_blocks_that_are_refused_end_the_call),
        cmocka_unit_test(arrays_that_are_refused_together_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
