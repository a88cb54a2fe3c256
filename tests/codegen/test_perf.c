/* What profilers are told of code in this process: each function under its name at its address, in files that cannot be led
 * astray. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen/perf/perf.h"
#include "kernel.h"
#include "support/system/fs.h"

static const char TEXT[] = "func two\nparam X f32[256] in 0 align 64\nparam Y f32[256] out 0 align 64\nbody\n"
                           "parallel t in 4 {\nfor i in 64 {\nY[t * 64 + i] = X[t * 64 + i] + f32(1)\n}\n}\n";
static const char *const PARTS[] = {"two", "two.body", "two.par1", "two.par1.body"};

/* Each of these runs in a process of its own, whose number names its file: what `check` returns is its exit status. */
static void in_child(int (*check)(const kernel *k, const char *map), const char *how, void (*before)(const char *map)) {
    pid_t child = fork();
    if (child == 0) {
        char map[64];
        kernel k = {0};
        snprintf(map, sizeof map, "/tmp/perf-%d.map", (int)getpid());
        setenv("TCTUNE_PERF", how, 1);
        if (before)
            before(map);
        kernel_parse(&k, TEXT);
        kernel_compile(&k, kernel_target(), NULL);
        int code = check(&k, map);
        kernel_free(&k);
        remove(map);
        _exit(code);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static char *content(const char *path, size_t *size) {
    char *text = NULL;
    tc_error err = {0};
    return tc_fs_read(path, &text, size, &err) == TC_OK ? text : NULL;
}

/* "ADDRESS SIZE NAME" */
static bool has_part(const char *text, const char *name, uintptr_t *at, uint64_t *size) {
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        unsigned long long a, n;
        char what[64];
        if (sscanf(line, "%llx %llx %63s", &a, &n, what) == 3 && !strcmp(what, name)) {
            *at = (uintptr_t)a;
            *size = n;
            return true;
        }
    }
    return false;
}

static int check_map(const kernel *k, const char *map) {
    size_t n;
    uintptr_t at, end = 0;
    uint64_t size;
    char *text = content(map, &n);
    struct stat st;
    if (!text || stat(map, &st) || (st.st_mode & 077))
        return 1;
    for (size_t i = 0; i < TC_LEN(PARTS); i++)
        if (!has_part(text, PARTS[i], &at, &size) || !size)
            return 2;
    if (!has_part(text, "two", &at, &end) || at != (uintptr_t)k->fn)
        return 3;
    if (strstr(text, "stale"))
        return 4;
    free(text);
    return 0;
}

static void leave_stale(const char *map) {
    FILE *f = fopen(map, "w");
    fputs("1000 10 stale\n", f);
    fclose(f);
}

static void test_map(void **state) {
    (void)state;
    in_child(check_map, "map", NULL);
    in_child(check_map, "1", leave_stale);
}

static void put_link(const char *map) {
    char target[80];
    snprintf(target, sizeof target, "%s.target", map);
    leave_stale(target);
    if (symlink(target, map))
        _exit(9);
}

static int check_link(const kernel *k, const char *map) {
    char target[80];
    size_t n;
    (void)k;
    snprintf(target, sizeof target, "%s.target", map);
    char *text = content(target, &n);
    remove(target);
    int code = !text || strcmp(text, "1000 10 stale\n") != 0;
    free(text);
    return code;
}

static void put_second_name(const char *map) {
    char target[80];
    snprintf(target, sizeof target, "%s.target", map);
    leave_stale(target);
    if (link(target, map))
        _exit(9);
}

static void put_folder(const char *map) {
    if (mkdir(map, 0700))
        _exit(9);
}

static int check_folder(const kernel *k, const char *map) {
    return k->fn == NULL || rmdir(map);
}

/* Nothing is written through what somebody put there, and the kernel is loaded all the same. */
static void test_traps(void **state) {
    (void)state;
    setenv("TCTUNE_LOG", "error", 1);
    in_child(check_link, "map", put_link);
    in_child(check_link, "map", put_second_name);
    in_child(check_folder, "map", put_folder);
    unsetenv("TCTUNE_LOG");
}

static int check_nothing(const kernel *k, const char *map) {
    (void)k;
    return access(map, F_OK) == 0;
}

static void test_unasked(void **state) {
    (void)state;
    in_child(check_nothing, "", NULL);
    in_child(check_nothing, "0", NULL);
}

/* ---- jitdump ---- */

typedef struct load {
    uint32_t id, size;
    uint64_t time;
    uint32_t pid, tid;
    uint64_t vma, at, bytes, index;
} load;

static int check_dump(const kernel *k, const char *map) {
    char path[256];
    size_t n, found = 0;
    (void)map;
    snprintf(path, sizeof path, "%s/jit-%d.dump", getenv("JITDUMPDIR"), (int)getpid());
    char *d = content(path, &n);
    uint32_t head[6];
    if (!d || n < 40)
        return 1;
    memcpy(head, d, sizeof head);
    if (head[0] != 0x4A695444 || head[1] != 1 || head[2] != 40 || head[5] != (uint32_t)getpid())
        return 2;
    for (size_t at = 40; at < n; found++) {
        load r;
        if (n - at < sizeof r)
            return 3;
        memcpy(&r, d + at, sizeof r);
        const char *name = d + at + sizeof r;
        if (r.id != 0 || r.size > n - at || r.size != sizeof r + strlen(name) + 1 + r.bytes || r.index != found)
            return 4;
        if (memcmp(name + strlen(name) + 1, (const void *)(uintptr_t)r.at, r.bytes) != 0)
            return 5;
        if (!strcmp(name, "two") && r.at != (uintptr_t)k->fn)
            return 6;
        at += r.size;
    }
    free(d);
    remove(path);
    return found == TC_LEN(PARTS) ? 0 : 7;
}

static void test_jitdump(void **state) {
    (void)state;
    char dir[] = "/tmp/perf-test-XXXXXX";
    assert_non_null(mkdtemp(dir));
    setenv("JITDUMPDIR", dir, 1);
    in_child(check_dump, "jitdump", NULL);
    assert_int_equal(rmdir(dir), 0);
}

/* ---- objects that are none ---- */

static void test_damaged_objects(void **state) {
    (void)state;
    kernel k = {0};
    void *obj;
    size_t size;
    tc_error err = {0};
    tc_cg_functions f;
    kernel_parse(&k, TEXT);
    const tc_func *func = k.f;
    assert_int_equal(tc_cg_emit_object(kernel_target(), &func, NULL, 1, NULL, &obj, &size, &err), TC_OK);
    assert_true(tc_cg_perf_functions(obj, size, &f));
    assert_int_equal(f.list.len, TC_LEN(PARTS));
    assert_string_equal(f.exported, "two");
    tc_cg_perf_free(&f);
    for (size_t n = 0; n < size; n += n < 512 ? 1 : 37) { /* cut, and with a byte changed: nothing beyond its end is read */
        char *copy = malloc(n + 1);
        memcpy(copy, obj, n);
        if (tc_cg_perf_functions(copy, n, &f))
            tc_cg_perf_free(&f);
        free(copy);
        copy = malloc(size);
        memcpy(copy, obj, size);
        copy[n] = (char)(copy[n] ^ 0x55);
        if (tc_cg_perf_functions(copy, size, &f))
            tc_cg_perf_free(&f);
        free(copy);
    }
    free(obj);
    kernel_free(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map),     cmocka_unit_test(test_traps),           cmocka_unit_test(test_unasked),
        cmocka_unit_test(test_jitdump), cmocka_unit_test(test_damaged_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
