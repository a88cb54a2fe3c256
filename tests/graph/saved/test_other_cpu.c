/* A C program that calls a model built for another CPU gets a status that the header names, where it would else meet an instruction
 * that the CPU has not: libraries, objects and C source, for this machine, and under qemu for AArch64 and RISC-V. */
#include "codegen/target/target.h"
#include "graph/saved/small_model.h"
#include "support/system/fs.h"
#include "support/vec.h"

static const char RIGHT[] = "run 0 written\nrun 0 written\ncontext made\ncontext_run 0 written\n"
                            "context_run without a context -1 untouched\n",
                  OTHER[] = "run -4 untouched\nrun -4 untouched\ncontext NULL\ncontext_run -4 untouched\n"
                            "context_run without a context -4 untouched\n",
                  RIGHT_IN[] = "run_in 0 written\nrun_in without memory -1 untouched\n",
                  OTHER_IN[] = "run_in -4 untouched\nrun_in without memory -4 untouched\n";

static void must_run(const char *dir, const char *command) {
    tc_strbuf b = {0};
    tc_sb_printf(&b, "cd %s && %s", dir, command);
    if (system(tc_sb_str(&b)) != 0)
        fail_msg("failed: %s", tc_sb_str(&b));
    tc_strbuf_free(&b);
}

/* Runs the program `caller` of the folder. */
static void expect_printed(const char *dir, const char *emulator, const char *what, const char *want) {
    char *printed, path[1200], command[2700];
    snprintf(command, sizeof command, "%s ./caller > printed", emulator);
    must_run(dir, command);
    snprintf(path, sizeof path, "%s/printed", dir);
    assert_ok(tc_fs_read(path, &printed, NULL, err));
    if (strcmp(printed, want) != 0)
        fail_msg("%s under '%s' prints:\n%s", what, emulator, printed);
    free(printed);
}

static void save(const char *dir, const char *file, const char *target) {
    char path[1200];
    small_model s = small_model_open(SMALL_MODEL("32"), target);
    snprintf(path, sizeof path, "%s/%s", dir, file);
    assert_ok(tc_graph_model_save(s.model, path, "small", err));
    small_model_close(&s);
}

/* The header tells of the status, and of the features. */
static void expect_header(const char *dir, const char *feature) {
    char *text, path[1200];
    snprintf(path, sizeof path, "%s/small.h", dir);
    assert_ok(tc_fs_read(path, &text, NULL, err));
    const char *at = strstr(text, "a run returns -4, and does nothing");
    if (!at || !strstr(at, feature))
        fail_msg("the header does not say that -4 is for CPUs without %s:\n%s", feature, text);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        if (strncmp(line, " *", 2) == 0 && strcspn(line, "\n") > 160)
            fail_msg("a long line: %.*s", (int)strcspn(line, "\n"), line);
    free(text);
}

static void compile(const char *dir, const char *compiler, const char *with) {
    char command[1000];
    snprintf(command, sizeof command,
             "%s -std=c17 -O1 -Wall -Wextra -Werror -include small.h %s/saved/cpu_caller.c %s -Wl,-rpath,%s -o caller", compiler,
             TCTUNE_TEST_DIR, with, dir);
    must_run(dir, command);
}

/* ---- this machine ---- */

#ifdef __x86_64__
/* No CPU has all of them. The compiler's option is the feature's name. */
static const char *const FEATURES[] = {"fma4", "avx512fp16", "amx-int8", "avxvnni", "tbm"};

static bool is_here(const char *feature) {
    char target[120];
    tc_target *t;
    snprintf(target, sizeof target, "llvm -mtriple=x86_64-pc-linux-gnu -mattr=+%s", feature);
    assert_ok(tc_target_parse(target, &t, err));
    bool is = t->native;
    tc_target_free(t);
    return is;
}

static void test_feature_that_lacks(void **state) {
    (void)state;
    char *dir;
    int lacking = 0;
    assert_ok(tc_fs_temp_dir(&dir, err));
    for (size_t i = 0; i < TC_LEN(FEATURES); i++) {
        char target[120];
        if (is_here(FEATURES[i]))
            continue;
        snprintf(target, sizeof target, "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=x86-64-v2 -mattr=+%s", FEATURES[i]);
        save(dir, "small.so", target);
        expect_header(dir, FEATURES[i]);
        compile(dir, "gcc", "./small.so");
        expect_printed(dir, "", FEATURES[i], OTHER);
        lacking++;
        if (lacking > 1)
            continue;
        save(dir, "small.o", target);
        compile(dir, "gcc", "small.o -l:libgomp.so.1 -lm");
        expect_printed(dir, "", "an object", OTHER);
    }
    assert_true(lacking > 0);
    tc_fs_remove_tree(dir);
    free(dir);
}

/* What only the CPU's name implies: tctune refuses the library before it opens it, and names what is missing. */
static void test_features_of_a_name(void **state) {
    (void)state;
    char *dir, path[1200];
    tc_graph_model *m;
    if (is_here("xop"))
        skip();
    assert_ok(tc_fs_temp_dir(&dir, err));
    save(dir, "small.so", "bdver4");
    expect_header(dir, "xop");
    compile(dir, "gcc", "./small.so");
    expect_printed(dir, "", "bdver4", OTHER);
    snprintf(path, sizeof path, "%s/small.so", dir);
    assert_fails(TC_BAD_INPUT, tc_graph_model_load(path, 0, &m, err), path, "xop; build it here");
    tc_fs_remove_tree(dir);
    free(dir);
}

/* A note that hides the feature: loading finds nothing wrong, and the library gives no context. */
static void test_forged_note(void **state) {
    (void)state;
    static const char HIDDEN[] = "+fma4", SHOWN[] = "+sse2";
    char *dir, *file, path[1200];
    size_t size;
    int changed = 0;
    tc_graph_model *m;
    tc_graph_context *c;
    if (is_here("fma4"))
        skip();
    assert_ok(tc_fs_temp_dir(&dir, err));
    save(dir, "small.so", "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=x86-64-v2 -mattr=+fma4");
    snprintf(path, sizeof path, "%s/small.so", dir);
    assert_fails(TC_BAD_INPUT, tc_graph_model_load(path, 0, &m, err), path, "uses features that this CPU");
    assert_ok(tc_fs_read(path, &file, &size, err));
    for (size_t i = 0; i + sizeof HIDDEN < size; i++)
        if (memcmp(file + i, HIDDEN, sizeof HIDDEN - 1) == 0) {
            memcpy(file + i, SHOWN, sizeof SHOWN - 1);
            changed++;
        }
    assert_int_equal(changed, 1);
    assert_ok(tc_fs_write(path, file, size, err));
    free(file);
    assert_ok(tc_graph_model_load(path, 0, &m, err));
    assert_fails(TC_ENV, tc_graph_context_new(m, &c, err), path, "this CPU lacks a feature");
    tc_graph_model_free(m);
    tc_fs_remove_tree(dir);
    free(dir);
}

/* The source is for every CPU: what counts is what the compiler may use. */
static void test_source(void **state) {
    (void)state;
    char *dir, command[300], want[2][400];
    snprintf(want[0], sizeof want[0], "%s%s", RIGHT, RIGHT_IN);
    snprintf(want[1], sizeof want[1], "%s%s", OTHER, OTHER_IN);
    assert_ok(tc_fs_temp_dir(&dir, err));
    save(dir, "small.c", "sapphirerapids");
    expect_header(dir, "-march");
    for (size_t i = 0; i <= TC_LEN(FEATURES); i++) {
        const char *feature = i < TC_LEN(FEATURES) ? FEATURES[i] : NULL;
        snprintf(command, sizeof command, "gcc -std=c17 -O1 -Wall -Wextra -Wpedantic -Werror %s%s -c small.c",
                 feature ? "-m" : "", feature ? feature : "-march=native");
        must_run(dir, command);
        compile(dir, "gcc -DRUN_IN", "small.o -lm");
        expect_printed(dir, "", feature ? feature : "native", want[feature && !is_here(feature)]);
    }
    tc_fs_remove_tree(dir);
    free(dir);
}
#endif

static void test_this_cpu(void **state) {
    (void)state;
    char *dir;
    assert_ok(tc_fs_temp_dir(&dir, err));
    save(dir, "small.so", "native");
    compile(dir, "cc", "./small.so");
    expect_printed(dir, "", "native", RIGHT);
    tc_fs_remove_tree(dir);
    free(dir);
}

/* ---- under qemu ---- */

#ifdef __x86_64__
/* What the compiler may use, it may use in the check, too. */
static void test_source_elsewhere(void **state) {
    (void)state;
    static const char *const CPUS[] = {"haswell", "sapphirerapids"};
    char *dir, command[300], want[400];
    if (!small_model_has("qemu-x86_64")) {
        print_message("skipped: qemu-x86_64 is not installed\n");
        skip();
    }
    snprintf(want, sizeof want, "%s%s", OTHER, OTHER_IN);
    assert_ok(tc_fs_temp_dir(&dir, err));
    save(dir, "small.c", "native");
    for (size_t i = 0; i < TC_LEN(CPUS); i++)
        for (int level = 0; level <= 3; level += 3) {
            snprintf(command, sizeof command, "gcc -std=c17 -O%d -march=%s -c small.c", level, CPUS[i]);
            must_run(dir, command);
            compile(dir, "gcc -DRUN_IN", "small.o -lm");
            expect_printed(dir, "qemu-x86_64 -cpu Nehalem 2>/dev/null", CPUS[i], want);
        }
    tc_fs_remove_tree(dir);
    free(dir);
}
#endif

#define ARM_TRIPLE "llvm -mtriple=aarch64-linux-gnu "
#define RISCV_TRIPLE "llvm -mtriple=riscv64-linux-gnu "
static const struct {
    const char *gnu, *emulator, *target, *feature, *right, *other;
} FOREIGN[] = {
    {"x86_64", "qemu-x86_64", "haswell", "bmi2", "max", "Nehalem"},
    {"aarch64", "qemu-aarch64", ARM_TRIPLE "-mcpu=neoverse-n1", "dotprod", "max", "cortex-a72"},
    {"aarch64", "qemu-aarch64", ARM_TRIPLE "-mcpu=thunderx2t99", "lse", "max", "cortex-a72"},
    {"aarch64", "qemu-aarch64", ARM_TRIPLE "-mcpu=neoverse-v1 -vector-bytes=32", "exactly 32 bytes", "max,sve-max-vq=2",
     "max,sve-max-vq=4"},
    {"aarch64", "qemu-aarch64", ARM_TRIPLE "-mcpu=neoverse-v1 -vector-bytes=32", "sve", "max,sve-max-vq=2", "max,sve=off"},
    {"riscv64", "qemu-riscv64", RISCV_TRIPLE "-mcpu=rv64gcv", "at least 16 bytes", "rv64,v=true,vlen=128", "rv64,v=false"},
    {"riscv64", "qemu-riscv64", RISCV_TRIPLE "-mcpu=rv64gcv -mattr=+zvl256b", "at least 32 bytes", "rv64,v=true,vlen=256",
     "rv64,v=true,vlen=128"},
    {"riscv64", "qemu-riscv64", RISCV_TRIPLE "-mcpu=sifive-x280", "at least 64 bytes", "rv64,v=true,vlen=512",
     "rv64,v=true,vlen=256"},
};

static void test_foreign(void **state) {
    (void)state;
    int done = 0;
    char *dir;
    assert_ok(tc_fs_temp_dir(&dir, err));
    for (size_t i = 0; i < TC_LEN(FOREIGN); i++) {
        char compiler[100], emulator[300];
        snprintf(compiler, sizeof compiler, "%s-linux-gnu-gcc", FOREIGN[i].gnu);
        if (!small_model_has(compiler) || !small_model_has(FOREIGN[i].emulator)) {
            print_message("left out: %s or %s is not installed\n", compiler, FOREIGN[i].emulator);
            continue;
        }
        save(dir, "small.so", FOREIGN[i].target);
        expect_header(dir, FOREIGN[i].feature);
        compile(dir, compiler, "./small.so");
        for (int other = 0; other < 2; other++) {
            snprintf(emulator, sizeof emulator, "%s -L /usr/%s-linux-gnu -cpu %s 2>/dev/null", FOREIGN[i].emulator,
                     FOREIGN[i].gnu, other ? FOREIGN[i].other : FOREIGN[i].right);
            expect_printed(dir, emulator, FOREIGN[i].target, other ? OTHER : RIGHT);
        }
        done++;
    }
    tc_fs_remove_tree(dir);
    free(dir);
    if (!done)
        skip();
}

/* What the kernel would say of extensions with long names; the emulator says nothing. */
static void test_probe(void **state) {
    (void)state;
    static const char ANSWER[] = "#include <stdlib.h>\n"
                                 "long syscall(long number, long *pair) {\n"
                                 "    if (number != 258 || pair[0] != 4)\n        return -1;\n"
                                 "    pair[1] = strtol(getenv(\"PROBED\"), NULL, 0);\n    return 0;\n}\n";
    static const char RUN[] =
        "qemu-riscv64 -L /usr/riscv64-linux-gnu -cpu rv64 -E LD_PRELOAD=%s/answer.so -E PROBED=%s 2>/dev/null";
    char *dir, emulator[2600], path[1200];
    if (!small_model_has("riscv64-linux-gnu-gcc") || !small_model_has("qemu-riscv64")) {
        print_message("skipped: a compiler or the emulator for RISC-V is not installed\n");
        skip();
    }
    assert_ok(tc_fs_temp_dir(&dir, err));
    snprintf(path, sizeof path, "%s/answer.c", dir);
    assert_ok(tc_fs_write(path, ANSWER, strlen(ANSWER), err));
    must_run(dir, "riscv64-linux-gnu-gcc -shared -fPIC answer.c -o answer.so");
    for (int source = 0; source < 2; source++) {
        save(dir, source ? "small.c" : "small.so", RISCV_TRIPLE "-mattr=+zba,+zbb");
        if (source)
            must_run(dir, "riscv64-linux-gnu-gcc -std=c17 -O1 -Wall -Wextra -Wpedantic -Werror -march=rv64gc_zba_zbb -c small.c");
        else
            expect_header(dir, "zba, zbb");
        compile(dir, "riscv64-linux-gnu-gcc", source ? "small.o -lm" : "./small.so");
        for (int other = 0; other < 2; other++) {
            snprintf(emulator, sizeof emulator, RUN, dir, other ? "0x27" : "0x18");
            expect_printed(dir, emulator, "zba and zbb", other ? OTHER : RIGHT);
        }
    }
    tc_fs_remove_tree(dir);
    free(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_this_cpu),
#ifdef __x86_64__
        cmocka_unit_test(test_feature_that_lacks),
        cmocka_unit_test(test_features_of_a_name),
        cmocka_unit_test(test_forged_note),
        cmocka_unit_test(test_source),
        cmocka_unit_test(test_source_elsewhere),
#endif
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_probe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
