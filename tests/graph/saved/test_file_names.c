/* Names of files and folders that linkers, compilers and assemblers could take for something else: commas, blanks, quotes, newlines,
 * options, lists of options. */
#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/saved/small_model.h"
#include "support/system/fs.h"
#include "support/vec.h"

static const char *const NAMES[] = {"a,b",
                                    "a b",
                                    "-a",
                                    "--help",
                                    "@a",
                                    "a\nb",
                                    "a'b",
                                    "a\"b",
                                    "a\\b",
                                    "a%b",
                                    "a$b",
                                    "a;b*(c)",
                                    "-Wl,-z,defs",
                                    "a\tb?"
                                    "?=c",
                                    "\xc3\xbc=&"};

/* The library's name of itself is that of its file. */
static void expect_own_name(const char *path, const char *name) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    struct link_map *map;
    const char *strings = NULL;
    ElfW(Xword) at = 0;
    if (!library)
        fail_msg("%s: %s", path, dlerror());
    assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_STRTAB)
            strings = (const char *)d->d_un.d_ptr;
        if (d->d_tag == DT_SONAME)
            at = d->d_un.d_val;
    }
    assert_non_null(strings);
    assert_true(at > 0);
    assert_string_equal(strings + at, name);
    dlclose(library);
}

/* Saves in the current folder, also by a name without one. */
static void check_saved(const small_model *s, const char *name) {
    char file[200], path[300];
    tc_graph_model *m;
    snprintf(file, sizeof file, "%s.so", name);
    snprintf(path, sizeof path, "./%s", file);
    assert_ok(tc_graph_model_save(s->model, file, "small", err));
    expect_own_name(path, file);
    assert_ok(tc_graph_model_load(file, 0, &m, err));
    tc_graph_model_free(m);
    remove(path);
}

static void in_folder(char **folder, char before[4096]) {
    assert_ok(tc_fs_temp_dir(folder, err));
    assert_non_null(getcwd(before, 4096));
    assert_int_equal(chdir(*folder), 0);
}

static void out_of_folder(char *folder, const char *before) {
    assert_int_equal(chdir(before), 0);
    tc_fs_remove_tree(folder);
    free(folder);
}

static void test_libraries(void **state) {
    (void)state;
    char *folder, before[4096];
    small_model s = small_model_open(SMALL_MODEL("32"), "native");
    in_folder(&folder, before);
    for (size_t i = 0; i < TC_LEN(NAMES); i++)
        check_saved(&s, NAMES[i]);
    small_model_close(&s);
    out_of_folder(folder, before);
}

/* Each linker that is here, and compilers that call one. */
static void test_linkers(void **state) {
    (void)state;
    static const char *const LINKERS[] = {"gcc", "clang-19", "ld", "ld.lld", "ld.gold", "mold"};
    char *folder, before[4096];
    small_model s = small_model_open(SMALL_MODEL("32"), "native");
    in_folder(&folder, before);
    for (size_t i = 0; i < TC_LEN(LINKERS); i++) {
        if (!small_model_has(LINKERS[i]))
            continue;
        setenv("TCTUNE_LINKER", LINKERS[i], 1);
        check_saved(&s, "-a,b @c\n\"");
    }
    unsetenv("TCTUNE_LINKER");
    small_model_close(&s);
    out_of_folder(folder, before);
}

/* Of temporary files, by absolute and by relative paths; of libraries, and of objects, which another program goes over. */
static void test_temporary_folders(void **state) {
    (void)state;
    char *folder, before[4096], absolute[4300], *former = strdup(getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    small_model s = small_model_open(SMALL_MODEL("32"), "native");
    in_folder(&folder, before);
    for (size_t i = 0; i < TC_LEN(NAMES); i++) {
        snprintf(absolute, sizeof absolute, "%s/%s", folder, NAMES[i]);
        assert_int_equal(mkdir(absolute, 0700), 0);
        setenv("TMPDIR", i % 2 ? NAMES[i] : absolute, 1);
        check_saved(&s, "library");
        setenv("TMPDIR", i % 2 ? absolute : NAMES[i], 1);
        assert_ok(tc_graph_model_save(s.model, "object.o", "small", err));
    }
    setenv("TMPDIR", former, 1);
    free(former);
    small_model_close(&s);
    out_of_folder(folder, before);
}

/* The source names the file of its weights for the assembler. */
static void test_weights(void **state) {
    (void)state;
    static const char *const COMPILERS[] = {"gcc", "clang-19"};
    char *folder, before[4096];
    small_model s = small_model_open(SMALL_MODEL("2048"), "native");
    in_folder(&folder, before);
    for (size_t i = 0; i < TC_LEN(NAMES); i++) {
        char file[200];
        snprintf(file, sizeof file, "./%s.c", NAMES[i]);
        assert_ok(tc_graph_model_save(s.model, file, "small", err));
        snprintf(file, sizeof file, "./%s.weights", NAMES[i]);
        assert_true(tc_fs_exists(file));
        snprintf(file, sizeof file, "./%s.c", NAMES[i]);
        assert_int_equal(rename(file, "source.c"), 0); /* shells are not what is tested */
        for (size_t c = 0; c < TC_LEN(COMPILERS); c++) {
            char command[200];
            snprintf(command, sizeof command, "%s -std=c17 -Wall -Werror -c source.c", COMPILERS[c]);
            if (small_model_has(COMPILERS[c]) && system(command) != 0)
                fail_msg("%s, weights in '%s': %s", command, NAMES[i], folder);
        }
    }
    small_model_close(&s);
    out_of_folder(folder, before);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_libraries), cmocka_unit_test(test_linkers),
                                       cmocka_unit_test(test_temporary_folders), cmocka_unit_test(test_weights)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
