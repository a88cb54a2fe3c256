/* The object cache: hits, keys that differ, damaged files, unusable folders, several writers, the bound on its size. */
#include "support/cmocka_all.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen/artefacts/artefacts_int.h"
#include "codegen/artefacts/cache.h"
#include "kernel.h"
#include "support/system/fs.h"
#include "support/system/user_folder.h"

enum { ROOMY = 1 << 24 };

static char *folder; /* of one test */

/* A kernel that adds k: each k is another program. */
static void parse(kernel *k, int add) {
    char text[512];
    snprintf(text, sizeof text,
             "func plus\nparam x f32[16] in 0 align 64\nparam y f32[16] out 0 align 64\nbody\n"
             "y[ramp(0, 1, 16)] = x[ramp(0, 1, 16)] + bcast(f32(%d), 16)\n",
             add);
    kernel_parse(k, text);
}

static int64_t hits_of(tc_cg_cache *c) {
    int64_t hits, misses;
    tc_cg_cache_counts(c, &hits, &misses);
    return hits;
}

static int64_t misses_of(tc_cg_cache *c) {
    int64_t hits, misses;
    tc_cg_cache_counts(c, &hits, &misses);
    return misses;
}

/* Compiles through the cache and runs: whatever the cache did, the kernel must be right. */
static void use(tc_cg_cache *c, const char *symbol, int add) {
    kernel k;
    tc_error err = {0};
    void *obj;
    size_t size;
    int64_t stack;
    parse(&k, add);
    assert_int_equal(tc_cg_cached_object(c, kernel_target(), k.f, symbol, &obj, &size, &stack, &err), TC_OK);
    assert_int_equal(tc_cg_load(obj, size, &k.mod, &err), TC_OK);
    assert_int_equal(tc_cg_lookup(k.mod, symbol, &k.fn, &err), TC_OK);
    void **args = kernel_args(k.f);
    kernel_run(&k, args, 1);
    assert_true(((float *)args[1])[15] == (float)add);
    kernel_free_args(k.f, args);
    kernel_free(&k);
    free(obj);
}

static int objects(const char *dir, int64_t *bytes, char *one, size_t cap) {
    int n = 0;
    DIR *d = opendir(dir);
    *bytes = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[4352];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (e->d_name[0] == '.' || stat(path, &st))
            continue;
        assert_true(strstr(e->d_name, ".o") != NULL); /* no temporary file stays */
        n++;
        *bytes += st.st_size;
        if (one)
            snprintf(one, cap, "%s", path);
    }
    if (d)
        closedir(d);
    return n;
}

static int setup(void **state) {
    (void)state;
    tc_error err;
    return tc_fs_temp_dir(&folder, &err) != TC_OK;
}

static int teardown(void **state) {
    (void)state;
    chmod(folder, 0700);
    tc_fs_remove_tree(folder);
    free(folder);
    return 0;
}

static void second_time_is_a_hit(void **state) {
    (void)state;
    char deep[4096];
    snprintf(deep, sizeof deep, "%s/a/b", folder);
    for (int round = 0; round < 2; round++) {
        tc_cg_cache *c = tc_cg_cache_open_at(deep, ROOMY);
        assert_non_null(c);
        use(c, "plus", 3);
        use(c, "plus", 3);
        assert_int_equal(hits_of(c), round ? 2 : 1);
        use(c, "other", 3); /* another symbol is the same object, another program is not */
        assert_int_equal(hits_of(c), round ? 3 : 2);
        use(c, "plus", 4);
        assert_int_equal(misses_of(c), round ? 0 : 2);
        tc_cg_cache_close(c);
    }
}

static void other_targets_are_apart(void **state) {
    (void)state;
    kernel k;
    tc_error err = {0};
    tc_target *t;
    void *obj;
    size_t size;
    int64_t stack;
    tc_cg_cache *c = tc_cg_cache_open_at(folder, ROOMY);
    use(c, "plus", 3);
    parse(&k, 3);
    assert_int_equal(tc_target_parse("neoverse-n1", &t, &err), TC_OK);
    assert_int_equal(tc_cg_cached_object(c, t, k.f, "plus", &obj, &size, &stack, &err), TC_OK);
    assert_int_equal(hits_of(c), 0);
    free(obj);
    tc_target_free(t);
    kernel_free(&k);
    tc_cg_cache_close(c);
}

/* Neither a cache nor what it held changes the bytes; a name that is not there changes nothing. */
static void symbols_are_given(void **state) {
    (void)state;
    kernel k;
    tc_error err = {0};
    void *obj[2];
    size_t size[2], before;
    int64_t stack[2];
    tc_cg_cache *c = tc_cg_cache_open_at(folder, ROOMY);
    use(c, "first", 5);
    parse(&k, 5);
    for (int i = 0; i < 2; i++)
        assert_int_equal(tc_cg_cached_object(i ? c : NULL, kernel_target(), k.f, "a_rather_long_name_of_a_kernel", &obj[i],
                                             &size[i], &stack[i], &err),
                         TC_OK);
    assert_int_equal(size[0], size[1]);
    assert_true(stack[0] > 0 && stack[0] == stack[1]);
    assert_memory_equal(obj[0], obj[1], size[0]);
    before = size[0];
    assert_int_equal(tc_cg_rename_symbol(&obj[0], &size[0], "first", "x", &err), TC_BAD_INPUT);
    assert_int_equal(size[0], before);
    for (size_t n = 0; n < before; n += 7) { /* cut short anywhere: refused or renamed, never read past its end */
        void *cut = malloc(n + 1);
        size_t length = n;
        memcpy(cut, obj[1], n);
        (void)!tc_cg_rename_symbol(&cut, &length, "a_rather_long_name_of_a_kernel", "x", &err);
        free(cut);
    }
    free(obj[0]);
    free(obj[1]);
    kernel_free(&k);
    tc_cg_cache_close(c);
}

static void damage(const char *path, int kind) {
    FILE *f = fopen(path, kind == 0 ? "r+" : kind == 1 ? "w" : "a");
    assert_non_null(f);
    if (kind == 0)
        fseek(f, 100, SEEK_SET);
    fputs(kind == 1 ? "tctune object 2\n" : "damage", f); /* flipped, cut short, too long */
    fclose(f);
}

static void damaged_files_are_compiled_again(void **state) {
    (void)state;
    char path[4352];
    int64_t bytes;
    for (int kind = 0; kind < 3; kind++) {
        tc_cg_cache *c = tc_cg_cache_open_at(folder, ROOMY);
        use(c, "plus", 3);
        assert_int_equal(objects(folder, &bytes, path, sizeof path), 1);
        damage(path, kind);
        int64_t before = hits_of(c);
        use(c, "plus", 3);
        assert_int_equal(hits_of(c), before);
        use(c, "plus", 3);
        assert_int_equal(hits_of(c), before + 1); /* it was replaced */
        tc_cg_cache_close(c);
    }
}

static void unusable_folders_do_not_matter(void **state) {
    (void)state;
    char path[4096];
    int64_t bytes;
    snprintf(path, sizeof path, "%s/file", folder);
    tc_error err;
    assert_int_equal(tc_fs_write(path, "x", 1, &err), TC_OK);
    const char *dirs[] = {path, "/proc/nowhere/tctune", folder, "/dev/full"};
    for (size_t i = 0; i < TC_LEN(dirs); i++) {
        if (i == 2)
            assert_int_equal(chmod(folder, 0500), 0);
        tc_cg_cache *c = tc_cg_cache_open_at(dirs[i], ROOMY);
        use(c, "plus", 3);
        use(c, "plus", 3);
        tc_cg_cache_close(c);
    }
    assert_int_equal(chmod(folder, 0700), 0);
    unlink(path);
    objects(folder, &bytes, NULL, 0); /* no temporary file stayed */
    use(NULL, "plus", 3);             /* no cache at all */
}

/* Objects run here: a folder that others can write to, or own, is not used, and one that is made is for us alone. */
static void folders_of_others_are_not_used(void **state) {
    (void)state;
    char made[4096];
    struct stat st;
    tc_error err = {0};
    snprintf(made, sizeof made, "%s/above/made", folder);
    mode_t before = umask(0);
    tc_cg_cache *c = tc_cg_cache_open_at(made, ROOMY);
    umask(before);
    use(c, "plus", 3);
    tc_cg_cache_close(c);
    assert_int_equal(stat(made, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    setenv("TCTUNE_CACHE", made, 1);
    assert_int_equal(tc_user_folder_check(&err), TC_OK);
    static const mode_t open_to[] = {0770, 0707, 0702};
    for (size_t i = 0; i < TC_LEN(open_to); i++) {
        assert_int_equal(chmod(made, open_to[i]), 0);
        assert_null(tc_cg_cache_open_at(made, ROOMY));
        assert_null(tc_user_folder());
        assert_int_equal(tc_user_folder_check(&err), TC_ENV);
        assert_non_null(strstr(err.msg, made));
        assert_non_null(strstr(err.msg, "chmod go-w"));
    }
    assert_int_equal(chmod(made, 0755), 0); /* others may look */
    c = tc_cg_cache_open_at(made, ROOMY);
    use(c, "plus", 3);
    assert_int_equal(hits_of(c), 1);
    tc_cg_cache_close(c);
    if (geteuid() == 0) { /* who may give files away */
        assert_int_equal(chown(made, 12345, (gid_t)-1), 0);
        assert_null(tc_cg_cache_open_at(made, ROOMY));
        assert_int_equal(tc_user_folder_check(&err), TC_ENV);
    }
    unsetenv("TCTUNE_CACHE");
}

/* The same programs, kept by the same build for another user: neither uses the other's. */
static void objects_of_others_are_not_run(void **state) {
    (void)state;
    for (int user = 0; user < 2; user++) {
        pid_t child = fork(); /* which decides for itself who it is */
        if (child == 0) {
            char home[4096];
            snprintf(home, sizeof home, "%s/home%d", folder, user);
            setenv("TCTUNE_CACHE", home, 1);
            tc_cg_cache *c = tc_cg_cache_open_at(folder, ROOMY);
            for (int i = 0; i < 2; i++)
                use(c, "plus", 3);
            int64_t hits = hits_of(c), misses = misses_of(c);
            tc_cg_cache_close(c);
            _exit(hits == 1 && misses == 1 ? 0 : 1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

/* A link to a sound object, one that others can write to, one under the name of another program, and a pipe, which nobody
 * writes. */
static void files_that_are_not_ours_are_not_read(void **state) {
    (void)state;
    char path[4352], away[4352], other[4352];
    int64_t bytes;
    tc_cg_cache *c = tc_cg_cache_open_at(folder, ROOMY);
    snprintf(away, sizeof away, "%s/.away", folder);
    for (int kind = 0; kind < 4; kind++) {
        int64_t hits;
        use(c, "plus", 3);
        assert_int_equal(objects(folder, &bytes, path, sizeof path), 1);
        if (kind == 0) {
            assert_int_equal(rename(path, away), 0);
            assert_int_equal(symlink(away, path), 0);
        } else if (kind == 1) {
            assert_int_equal(chmod(path, 0666), 0);
        } else if (kind == 2) {
            assert_int_equal(rename(path, away), 0);
            use(c, "plus", 4);
            assert_int_equal(objects(folder, &bytes, other, sizeof other), 1);
            assert_int_equal(rename(other, path), 0);
        } else {
            assert_int_equal(unlink(path), 0);
            assert_int_equal(mkfifo(path, 0600), 0);
        }
        hits = hits_of(c);
        use(c, "plus", 3);
        assert_int_equal(hits_of(c), hits);
        use(c, "plus", 3);
        assert_int_equal(hits_of(c), hits + 1); /* it was replaced */
        unlink(away);
    }
    tc_cg_cache_close(c);
}

static void a_folder_in_an_objects_place(void **state) {
    (void)state;
    char path[4352];
    int64_t bytes;
    tc_cg_cache *c = tc_cg_cache_open_at(folder, ROOMY);
    use(c, "plus", 3);
    assert_int_equal(objects(folder, &bytes, path, sizeof path), 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    use(c, "plus", 3);
    tc_cg_cache_close(c);
}

static void writers_at_once(void **state) {
    (void)state;
    enum { WRITERS = 4, PROGRAMS = 6 };
    int64_t bytes;
    pid_t child[WRITERS];
    kernel_target();
    for (int w = 0; w < WRITERS; w++) {
        child[w] = fork();
        if (child[w] == 0) {
            tc_cg_cache *c = tc_cg_cache_open_at(folder, ROOMY);
            for (int i = 0; i < PROGRAMS; i++)
                use(c, "plus", i);
            tc_cg_cache_close(c);
            _exit(0);
        }
    }
    for (int w = 0; w < WRITERS; w++) {
        int status;
        assert_int_equal(waitpid(child[w], &status, 0), child[w]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(objects(folder, &bytes, NULL, 0), PROGRAMS);
    tc_cg_cache *c = tc_cg_cache_open_at(folder, ROOMY);
    for (int i = 0; i < PROGRAMS; i++)
        use(c, "plus", i);
    assert_int_equal(hits_of(c), PROGRAMS);
    tc_cg_cache_close(c);
}

static void least_recently_used_goes(void **state) {
    (void)state;
    int64_t each, bytes;
    tc_cg_cache *c = tc_cg_cache_open_at(folder, ROOMY);
    use(c, "plus", 0);
    tc_cg_cache_close(c);
    objects(folder, &each, NULL, 0);
    const int64_t bound = each * 6;
    for (int i = 1; i < 20; i++) {
        c = tc_cg_cache_open_at(folder, bound);
        use(c, "plus", 0); /* always in use: it must stay */
        assert_int_equal(hits_of(c), 1);
        usleep(2000);
        use(c, "plus", i);
        tc_cg_cache_close(c);
        objects(folder, &bytes, NULL, 0);
        assert_true(bytes <= bound + bound / 16);
        usleep(2000);
    }
    c = tc_cg_cache_open_at(folder, bound);
    use(c, "plus", 1); /* long gone */
    assert_int_equal(hits_of(c), 0);
    tc_cg_cache_close(c);
}

static void environment(void **state) {
    (void)state;
    int64_t bytes;
    setenv("TCTUNE_CACHE", "off", 1);
    assert_null(tc_cg_cache_open());
    unsetenv("TCTUNE_CACHE");
    setenv("XDG_CACHE_HOME", folder, 1);
    tc_cg_cache *c = tc_cg_cache_open();
    use(c, "plus", 3);
    tc_cg_cache_close(c);
    char path[4096];
    snprintf(path, sizeof path, "%s/tctune", folder);
    assert_int_equal(objects(path, &bytes, NULL, 0), 1);
}

#define WITH_FOLDER(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(objects_of_others_are_not_run), /* before this process is somebody */
        WITH_FOLDER(second_time_is_a_hit),
        WITH_FOLDER(other_targets_are_apart),
        WITH_FOLDER(symbols_are_given),
        WITH_FOLDER(damaged_files_are_compiled_again),
        WITH_FOLDER(unusable_folders_do_not_matter),
        WITH_FOLDER(folders_of_others_are_not_used),
        WITH_FOLDER(files_that_are_not_ours_are_not_read),
        WITH_FOLDER(a_folder_in_an_objects_place),
        WITH_FOLDER(writers_at_once),
        WITH_FOLDER(least_recently_used_goes),
        WITH_FOLDER(environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
