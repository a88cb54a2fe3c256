/* Control groups, and how many threads a process can have. Limits are tried in a child. */
#include "support/cmocka_all.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/system/fs.h"
#include "support/system/groups.h"
#include "support/system/threads.h"
#include "support/vec.h"

static void put(const char *root, const char *name, const char *text) {
    char path[4352];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *c = path + strlen(root) + 1; (c = strchr(c, '/')); *c++ = '/') {
        *c = 0;
        mkdir(path, 0700);
    }
    assert_int_equal(tc_fs_write(path, text, strlen(text), NULL), TC_OK);
}

static void both_versions_of_groups_have_limits(void **state) {
    (void)state;
    static const char *const used[] = {"anon", "shmem", NULL}, *const used_v1[] = {"total_rss", NULL};
    static const tc_groups_resource memory = {.controller = "memory",
                                              .limit = "memory.max",
                                              .limit_v1 = "memory.limit_in_bytes",
                                              .use = "memory.stat",
                                              .used = used,
                                              .used_v1 = used_v1},
                                    pids = {.controller = "pids", .limit = "pids.max", .limit_v1 = "pids.max"};
    char *root;
    assert_int_equal(tc_fs_temp_dir(&root, NULL), TC_OK);
    put(root, "a/memory.max", "9000\n");
    put(root, "a/b/memory.max", "max\n");
    put(root, "c/memory.max", "5000\n");
    put(root, "memory/memory.limit_in_bytes", "9223372036854771712\n");
    put(root, "memory/a/memory.limit_in_bytes", "7000\n");
    put(root, "memory/a/b/memory.limit_in_bytes", "8000\n");
    const struct {
        const char *groups;
        int64_t limit;
    } cases[] = {
        {"", INT64_MAX},
        {"0::/\n", INT64_MAX},
        {"0::/a/b\n", 9000},
        {"0::/c/none", 5000},
        {"12:cpuset:/a\n4:memory:/a/b\n1:name=systemd:/a\n", 7000},
        {"4:cpu,memory:/a/b\n0::/c\n", 5000},
        {"4:hugetlb:/memory/a\n", INT64_MAX},
        {"4:memory:/elsewhere\n", 9223372036854771712},
        {"memory", INT64_MAX},
    };
    for (size_t i = 0; i < TC_LEN(cases); i++)
        if (tc_groups_limit_of(&memory, cases[i].groups, root) != cases[i].limit)
            fail_msg("%s: %lld", cases[i].groups, (long long)tc_groups_limit_of(&memory, cases[i].groups, root));
    put(root, "a/memory.stat", "anon 1000\nfile 5000\nshmem 200\nanon_thp 4000\n");
    put(root, "a/b/memory.stat", "anon 500\n");
    put(root, "c/memory.stat", "anon 6000\n");
    put(root, "memory/a/memory.stat", "rss 10\ntotal_rss 3000\ntotal_rss_huge 2000\n");
    assert_int_equal(tc_groups_left_of(&memory, "0::/\n", root), INT64_MAX);
    assert_int_equal(tc_groups_left_of(&memory, "0::/a/b\n", root), 9000 - 1200);
    assert_int_equal(tc_groups_left_of(&memory, "0::/c\n", root), 0); /* a limit that was lowered since */
    assert_int_equal(tc_groups_left_of(&memory, "4:memory:/a/b\n", root), 7000 - 3000);
    put(root, "c/pids.max", "12\n");
    put(root, "pids/a/pids.max", "34\n");
    assert_int_equal(tc_groups_limit_of(&pids, "0::/c/none\n", root), 12);
    assert_int_equal(tc_groups_left_of(&pids, "0::/c/none\n", root), 12); /* of which nobody asks what is in use */
    assert_int_equal(tc_groups_limit_of(&pids, "8:pids:/a\n0::/a\n", root), 34);
    assert_int_equal(tc_groups_limit_of(&pids, "8:rapids:/a\n", root), INT64_MAX);
    tc_fs_remove_tree(root);
    free(root);
}

static void limits_are_named(void **state) {
    (void)state;
    tc_error err = {0};
    tc_threads_bound b = tc_threads_limit();
    assert_true(b.most >= 1 && b.most <= 1 << 22); /* Linux has no more */
    assert_int_equal(tc_threads_check(1, &err), TC_OK);
    assert_int_equal(tc_threads_check((int)b.most, &err), TC_OK);
    assert_int_equal(tc_threads_check(INT32_MAX, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "2147483647 threads cannot be started"));
    assert_non_null(strstr(err.msg, b.why));
    assert_int_equal(tc_threads_check_now(INT32_MAX, &err), TC_BAD_INPUT);
}

/* The starter's stack bounds them: GNU's runtime keeps something there for each. */
static void *look_from_a_small_stack(void *user) {
    *(tc_threads_bound *)user = tc_threads_limit();
    return NULL;
}

static void small_stacks_start_fewer(void **state) {
    (void)state;
    pthread_t t;
    pthread_attr_t a;
    tc_threads_bound b;
    pthread_attr_init(&a);
    assert_int_equal(pthread_attr_setstacksize(&a, 256 << 10), 0);
    assert_int_equal(pthread_create(&t, &a, look_from_a_small_stack, &b), 0);
    pthread_join(t, NULL);
    pthread_attr_destroy(&a);
    assert_in_range(b.most, 1, 1024);
}

static void teams_are_no_larger_than_the_machine(void **state) {
    (void)state;
    int cores = tc_threads_cores();
    assert_true(cores >= 1);
    assert_int_equal(tc_threads_startable(cores + 3), cores + 3);
    assert_int_equal(tc_threads_team(cores + 3), cores);
    assert_int_equal(tc_threads_team(1), 1);
    assert_int_equal(tc_threads_startable(0), 1);
}

/* ---- a process that may have few threads ---- */

enum { ROOM = 6, RIGHT = 42 };

/* Room for so many threads beside this one, by the address space; the limit of processes binds no root. */
static void shrink(rlim_t bytes) {
    setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes});
}

static rlim_t address_space(void) {
    char text[64];
    text[tc_fs_read_head("/proc/self/statm", text, sizeof text - 1)] = 0;
    return (rlim_t)strtoull(text, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE);
}

static int in_a_small_process(void) {
    tc_error err = {0};
    pthread_attr_t a;
    size_t stack;
    pthread_getattr_default_np(&a);
    pthread_attr_getstacksize(&a, &stack);
    if (tc_threads_startable(2) != 2)
        return 1;
    shrink(address_space() + ROOM * (rlim_t)stack);
    int n = tc_threads_startable(4 * ROOM), ran = 0;
    if (n >= 4 * ROOM || n < 2)
        return n;
    if (tc_threads_startable(4 * ROOM) != n || tc_threads_startable(2) != 2)
        return 2;
    if (tc_threads_check_now(4 * ROOM, &err) != TC_ENV || !strstr(err.msg, "the system says"))
        return 3;
#pragma omp parallel num_threads(n) reduction(+ : ran) /* it would end the process where they could not be started */
    ran++;
    return ran == n ? RIGHT : 4;
}

static void what_cannot_be_started_is_a_number(void **state) {
    (void)state;
#ifdef TCTUNE_SANITIZED
    skip(); /* its shadow is larger than any limit */
#endif
    int status;
    pid_t p = fork();
    assert_true(p >= 0);
    if (p == 0)
        _exit(in_a_small_process());
    assert_int_equal(waitpid(p, &status, 0), p);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), RIGHT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_versions_of_groups_have_limits),
        cmocka_unit_test(limits_are_named),
        cmocka_unit_test(small_stacks_start_fewer),
        cmocka_unit_test(teams_are_no_larger_than_the_machine),
        cmocka_unit_test(what_cannot_be_started_is_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
