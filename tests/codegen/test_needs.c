/* What a CPU must have to run a target's code: the list that libraries check themselves, and `tctune run` before it opens them, has
 * all that LLVM uses by itself for a CPU of that name. LLVM's own tables say which features such a CPU has. */
#include "support/cmocka_all.h"

#include <dlfcn.h>
#include <llvm-c/Target.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/llvm/on_demand.h"
#include "codegen/target/llvm.h"
#include "codegen/target/needs.h"
#include "codegen/target/target_int.h"
#include "support/vec.h"

/* ---- LLVM's tables ----
 *
 * LLVM's C API does not tell them. The library has them in C++: a target makes a description of a CPU (MCSubtargetInfo), which is
 * asked for one feature after the other (checkFeatures). Only this test relies on the layouts of LLVM 19's classes. */

typedef struct words { /* StringRef */
    const char *text;
    size_t n;
} words;
typedef struct twine { /* Twine of one C string */
    const char *text;
    size_t pad[3];
    unsigned char left, right; /* NodeKind */
} twine;
typedef struct triple { /* larger than Triple, which begins with a std::string */
    char *text;
    size_t n;
    char own[256]; /* text, where it is short */
} triple;
typedef struct class { /* Target */
    void *next, *match;
    const char *name, *description, *backend;
    bool has_jit;
    void *makes[5];
    void *(*describe)(const triple *t, words cpu, words features);
} class;

static void (*make_triple)(triple *out, const twine *text);
static bool (*check_features)(const void *description, words features);
static void (*unmake)(void *block); /* operator delete */

static void *symbol(const char *name) {
    void *found = dlsym(RTLD_DEFAULT, name), *library = dlopen(TEST_LLVM, RTLD_NOW | RTLD_NOLOAD);
    if (!found && library)
        found = dlsym(library, name);
    if (library)
        dlclose(library);
    if (!found)
        fail_msg("LLVM has no %s", name);
    return found;
}

static int find_functions(void **state) {
    (void)state;
    tc_error err = {0};
    if (tc_cg_llvm_init(&err) != TC_OK) {
        fprintf(stderr, "%s\n", err.msg);
        return -1;
    }
    void *triples = symbol("_ZN4llvm6TripleC1ERKNS_5TwineE"),
         *features = symbol("_ZNK4llvm15MCSubtargetInfo13checkFeaturesENS_9StringRefE"), *deletes = symbol("_ZdlPv");
    memcpy(&make_triple, &triples, sizeof make_triple);
    memcpy(&check_features, &features, sizeof check_features);
    memcpy(&unmake, &deletes, sizeof unmake);
    return 0;
}

static words of(const char *text) {
    return (words){text, strlen(text)};
}

/* LLVM's description of a target's CPU with its features. */
static void *describe(const tc_target *t) {
    enum { EMPTY = 1, C_STRING = 3 };
    LLVMTargetRef ref;
    char *message = NULL;
    triple parsed;
    assert_int_equal(LLVMGetTargetFromTriple(t->triple, &ref, &message), 0);
    const class *c = (const class *)ref;
    make_triple(&parsed, &(twine){.text = t->triple, .left = C_STRING, .right = EMPTY});
    void *description = c->describe(&parsed, of(t->cpu), of(t->features));
    if (parsed.text != parsed.own)
        unmake(parsed.text);
    return description;
}

/* By its virtual destructor, the second of which deletes, too. */
static void forget(void *description) {
    void (**functions)(void *);
    memcpy(&functions, description, sizeof functions);
    functions[1](description);
}

static bool llvm_has(const void *description, const char *feature) {
    char text[64];
    snprintf(text, sizeof text, "+%s", feature);
    return check_features(description, of(text));
}

/* ---- the list ---- */

static tc_target *parse(const char *text) {
    tc_error err = {0};
    tc_target *t;
    if (tc_target_parse(text, &t, &err) != TC_OK)
        fail_msg("%s: %s", text, err.msg);
    return t;
}

static bool is_word(const char *words_of, const char *name) {
    char word[64];
    snprintf(word, sizeof word, " %s ", name);
    return strstr(words_of, word);
}

/* Of those that a table tells of: LLVM uses them where code names an instruction of them, and our code does not. Or each CPU of the
 * instruction set has them. */
static const char BY_NAME[] =
    " 64bit adx aes avx10.1-256 avx10.1-512 avx512vp2intersect cx16 evex512 fsgsbase mmx pclmul prfchw sha "
    "sse sse2 vaes vpclmulqdq xsave " /* x86 */
    " aes crc crypto fp-armv8 fp16fml jsconv neon sha2 sm4 sve2-aes sve2-bitperm sve2-sha3 sve2-sm4 ";

static void compare(const tc_target *t, const void *description, const char *feature) {
    tc_strbuf b = {0};
    char word[64];
    tc_sb_add(&b, ", ");
    tc_cg_print_needs(t, &b);
    tc_sb_add(&b, ",");
    snprintf(word, sizeof word, ", %s,", feature);
    bool asked = strstr(tc_sb_str(&b), word), has = llvm_has(description, feature);
    if (has && !asked && !is_word(BY_NAME, feature))
        fail_msg("%s: LLVM's code may have %s, and nobody asks the CPU for it: %s", t->text, feature, tc_sb_str(&b));
    if (asked && !has)
        fail_msg("%s: LLVM's code never has %s, and the CPU is asked for it", t->text, feature);
    tc_strbuf_free(&b);
}

static void compare_all(const char *text) {
    tc_target *t = parse(text);
    void *d = describe(t);
    int n;
    const tc_cg_isa *isa = tc_cg_isa_of(t->triple);
    if (isa->id == TC_CG_X86)
        for (const tc_cg_cpuid_row *all = tc_cg_cpuid_rows(&n), *r = all; r < all + n; r++)
            compare(t, d, r->name);
    if (isa->id == TC_CG_ARM)
        for (const tc_cg_hwcap *all = tc_cg_hwcaps(&n), *r = all; r < all + n; r++)
            compare(t, d, r->name);
    if (isa->id == TC_CG_RISCV)
        for (const tc_cg_probe *all = tc_cg_probes(&n), *r = all; r < all + n; r++)
            compare(t, d, r->name);
    if (isa->id == TC_CG_RISCV)
        for (const char *l = "mafdcv"; *l; l++)
            compare(t, d, (char[]){*l, 0});
    forget(d);
    tc_target_free(t);
}

static void every_cpu(void **state) {
    (void)state;
    for (const char *const *name = tc_target_names(); *name; name++)
        if (strcmp(*name, "native") != 0)
            compare_all(*name);
    compare_all("native");
}

/* Features that are switched on and off by hand. LLVM switches on what a feature is built on, as AVX below AVX2: who asks a processor
 * for the feature need not ask for that, so the texts name it. */
static void features_by_hand(void **state) {
    (void)state;
    static const char *const TEXTS[] = {
        "llvm -mtriple=x86_64 -mcpu=znver4 -mattr=-avx512f",
        "llvm -mtriple=x86_64 -mcpu=znver4 -mattr=-gfni,-sse4a",
        "llvm -mtriple=x86_64 -mcpu=bdver4 -mattr=-avx",
        "llvm -mtriple=x86_64 -mcpu=bdver4 -mattr=-xop,-fma4",
        "llvm -mtriple=x86_64 -mcpu=arrowlake -mattr=-avx",
        "llvm -mtriple=x86_64 -mattr=+sse3,+ssse3,+sse4.1,+sse4.2,+avx,+avx2,+fma,+gfni",
        "llvm -mtriple=aarch64 -mattr=+sve,+fullfp16,+lse,+dotprod -vector-bytes=32",
        "llvm -mtriple=aarch64 -mcpu=neoverse-n1 -mattr=-lse,-fullfp16",
        "llvm -mtriple=riscv64 -mattr=+v,+zba,+zbb",
        "llvm -mtriple=riscv64 -mcpu=sifive-x280 -mattr=-zba",
    };
    for (size_t i = 0; i < TC_LEN(TEXTS); i++)
        compare_all(TEXTS[i]);
}

/* RISC-V's names promise a width of vector registers. */
static void promised_widths(void **state) {
    (void)state;
    for (const char *const *name = tc_target_names(); *name; name++) {
        tc_target *t = parse(*name);
        if (tc_cg_isa_of(t->triple)->id == TC_CG_RISCV && tc_cg_has_feature(t, "v")) {
            void *d = describe(t);
            int promised = 16;
            for (int bytes = 32; bytes <= 128; bytes *= 2) {
                char feature[16];
                snprintf(feature, sizeof feature, "zvl%db", 8 * bytes);
                promised = llvm_has(d, feature) ? bytes : promised;
            }
            assert_int_equal(tc_cg_needs_of(t).vector_bytes, promised);
            forget(d);
        }
        tc_target_free(t);
    }
}

/* A target's text is the same when it is read again, and asks for the same. */
static void texts_keep_what_is_off(void **state) {
    (void)state;
    tc_target *t = parse("llvm -mtriple=x86_64 -mcpu=znver4 -mattr=-gfni"), *again = parse(t->text);
    assert_non_null(strstr(t->text, "-gfni"));
    assert_string_equal(t->text, again->text);
    tc_target_free(t);
    tc_target_free(again);
    t = parse("znver4");
    assert_null(strstr(t->text, "gfni")); /* nor is it part of the text where it is on: records are found by the text */
    tc_target_free(t);
}

/* ---- machines ---- */

static void expect_lacks(const char *text, const tc_cg_host *h, const char *want) {
    tc_target *t = parse(text);
    tc_strbuf b = {0};
    tc_cg_print_lacks(t, h, &b);
    if (strcmp(tc_sb_str(&b), want) != 0)
        fail_msg("%s lacks '%s', not '%s'", text, tc_sb_str(&b), want);
    assert_int_equal(tc_cg_meets(t, h), !*want);
    tc_strbuf_free(&b);
    tc_target_free(t);
}

static void machines_that_lack_something(void **state) {
    (void)state;
    char x86[] = "+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe,-xop",
         arm[] = "+sve,+sve2,+dotprod,+i8mm,+bf16,+lse,+rdm,+fullfp16,+rcpc,+complxnum";
    tc_cg_host haswell = {.features = x86}, wide = {.features = arm, .vector_bytes = 32},
               narrow = {.features = arm, .vector_bytes = 16},
               board = {.features = (char[]){""}, .letters = 0x20112d /* a c d f i m v */, .probed = 0x18, .vector_bytes = 32};
    static const char N2[] = "llvm -mtriple=aarch64 -mcpu=neoverse-n2 -vector-bytes=32",
                      X280[] = "llvm -mtriple=riscv64 -mcpu=sifive-x280";
    expect_lacks("haswell", &haswell, "");
    expect_lacks("bdver4", &haswell, "fma4, sse4a, tbm, xop");
    expect_lacks(N2, &wide, "");
    expect_lacks(N2, &narrow, "SVE registers of exactly 32 bytes");
    expect_lacks("neoverse-n2", &narrow, ""); /* NEON's registers */
    expect_lacks("neoverse-v1", &wide, "sha3");
    expect_lacks("rv64gcv", &board, "");
    expect_lacks("sifive-p670", &board, "zbs");
    expect_lacks(X280, &board, "vector registers of at least 64 bytes");
    board.probed = UINT64_MAX; /* a kernel that does not tell */
    expect_lacks("sifive-p670", &board, "");
    board.letters = 0x112d;
    board.vector_bytes = 0;
    expect_lacks("rv64gcv", &board, "v, vector registers of at least 16 bytes");
}

static void this_machine(void **state) {
    (void)state;
    tc_target *t = parse("native");
    assert_true(t->native && tc_cg_meets(t, tc_cg_this_host()));
    tc_target_free(t);
#ifdef __x86_64__
    t = parse("bdver4"); /* without its instructions of AMD's alone it would be like others */
    assert_int_equal(t->native, tc_cg_mention_of(&(tc_target){.features = tc_cg_this_host()->features}, "xop") == '+');
    tc_target_free(t);
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cpu),
        cmocka_unit_test(features_by_hand),
        cmocka_unit_test(promised_widths),
        cmocka_unit_test(texts_keep_what_is_off),
        cmocka_unit_test(machines_that_lack_something),
        cmocka_unit_test(this_machine),
    };
    return cmocka_run_group_tests(tests, find_functions, NULL);
}
