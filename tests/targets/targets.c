/* Code for CPUs that this machine is not: the kernels of cases/ are compiled for a target, linked statically by a cross compiler
 * with the runtime and a small harness, run under qemu's user emulation, and compared with the interpreter. The emulated CPU has
 * what the target promises and no more: an instruction beyond it ends the program. Dot products that qemu has not are carried out
 * on this CPU, by itself or by a handler (vector_trap.c). On some platforms the kernels that run are not those that were linked,
 * but what our loader made of their objects (codegen/load).
 *
 *     test_targets PLATFORM [SAMPLED [DRAWN]]      exit status 77: a tool is missing, and which package has it */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/code/code.h"
#include "common/test_size.h"
#include "suite.h"
#include "support/system/fs.h"

enum { SKIPPED = 77, FEW_SAMPLED = 1, SAMPLED = 2, FEW_DRAWN = 5 /* one of each type */, DRAWN = 10 };

typedef struct platform {
    const char *name, *target;
    const char *compiler, *compiler_package;
    const char *emulator,
        *emulator_options; /* "": this CPU, which must have the feature that the options name, and the handler */
    const char *multiply;  /* what the assembly of a matrix product must hold: the vector unit is used */
    const char *broken;    /* "|case|case|": the emulator itself fails on these */
    const char *units;     /* the same for products of narrow types, "|case=text|"; NULL: there are no such instructions */
} platform;

#define ARM_TOOLS "aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross", "qemu-aarch64"
#define RISCV_TOOLS "riscv64-linux-gnu-gcc", "gcc-riscv64-linux-gnu libc6-dev-riscv64-cross", "qemu-riscv64"
#define X86_TOOLS "gcc", "gcc", "qemu-x86_64"
#define X86_HANDLER "gcc", "gcc", ""
/* What units bear on; the rest is the same without them. */
#define PRODUCTS                                                                                                                 \
    "|attention|conv_i8|conv_nhwc|gemm_bf16|gemm_bf16_k38|gemm_i8|gemm_i8_k36|gemm_runtime|gemm_s8s8|gemm_s8s8_k40|gemm_s8u8|"   \
    "gemm_tails|"                                                                                                                \
    "gemm_u8u8|gemm_u8u8_k48|integers|row_bf16|row_i8|row_s8s8|row_u8u8|"

/* Registers are called after their kind. */
#define ARM_UNITS(kind)                                                                                                          \
    "|row_s8s8=sdot\t" kind "|row_u8u8=udot\t" kind "|row_i8=usdot\t" kind "|row_bf16=bfdot\t" kind "|gemm_s8s8=smmla\t" kind    \
    "|gemm_u8u8=ummla\t" kind "|gemm_i8=usmmla\t" kind "|gemm_i8_k36=usmmla\t" kind "|gemm_bf16=bfmmla\t" kind                   \
    "|gemm_bf16_k38=bfmmla\t" kind "|gemm_s8u8=usmmla\t" kind "|gemm_s8s8_k40=smmla\t" kind "|gemm_u8u8_k48=ummla\t" kind        \
    "|conv_i8=usmmla\t" kind "|"

static const platform platforms[] = {
    {"neon", "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1", ARM_TOOLS, "-cpu max,sve=off", "fmla\tv", "",
     "|gemm_s8s8=sdot\t|gemm_u8u8=udot\t|"},
    {"neon_dot", "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n2 -mattr=-sve,-sve2", ARM_TOOLS,
     "-cpu max,sve=off -L /usr/aarch64-linux-gnu", "fmla\tv", "", ARM_UNITS("")},
    {"neoverse_v1", "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1", ARM_TOOLS, "-cpu max,sve-max-vq=2", "fmla\tv", "", NULL},
    {"sve256", "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1 -vector-bytes=32", ARM_TOOLS, "-cpu max,sve-max-vq=2", "\tz",
     "", ARM_UNITS("z")},
    {"sve512", "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1 -vector-bytes=64", ARM_TOOLS, "-cpu max,sve-max-vq=4", "\tz",
     "", ARM_UNITS("z")},
    /* Debian 12's qemu 7.2 fails an assertion of its own on vfcvt.rtz: its translator saves the opcode twice. */
    {"rvv", "llvm -mtriple=riscv64-linux-gnu -mattr=+v", RISCV_TOOLS, "-cpu rv64,v=true,vlen=128,elen=64,vext_spec=v1.0",
     "vfmacc", "|rounding|casts_int|", NULL},
    {"rv64gc", "generic-rv64", RISCV_TOOLS, "-cpu rv64,v=false", "fmadd.s", "", NULL},
    {"avx2", "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell", X86_TOOLS, "-cpu max", "%ymm", "", NULL},
    {"sse", "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64", X86_TOOLS, "-cpu qemu64", "mulps", "", NULL},
    {"avx512_bf16", "llvm -mtriple=x86_64-linux-gnu -mcpu=cooperlake", X86_HANDLER, "avx512_vnni", "%zmm", "",
     "|gemm_i8=vpdpbusd|gemm_i8_k36=vpdpbusd|conv_i8=vpdpbusd|gemm_bf16=vdpbf16ps|gemm_bf16_k38=vdpbf16ps|"},
    {"avx512_bf16_256", "llvm -mtriple=x86_64-linux-gnu -mcpu=cooperlake -vector-bytes=32", X86_HANDLER, "avx512_vnni", "%ymm",
     "", "|gemm_i8=vpdpbusd|gemm_i8_k36=vpdpbusd|conv_i8=vpdpbusd|gemm_bf16=vdpbf16ps|gemm_bf16_k38=vdpbf16ps|"},
    {"avx_vnni", "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell -mattr=+avxvnni,+avxvnniint8", X86_HANDLER, "avx2", "%ymm", "",
     "|gemm_i8={vex}\tvpdpbusd|gemm_i8_k36={vex}\tvpdpbusd|conv_i8={vex}\tvpdpbusd|gemm_s8s8=vpdpbssd|gemm_s8s8_k40=vpdpbssd|"
     "gemm_u8u8=vpdpbuud|gemm_u8u8_k48=vpdpbuud|"},
    {"sse42", "llvm -mtriple=x86_64-linux-gnu -mcpu=nehalem", X86_TOOLS, "-cpu Nehalem", "mulps", "", NULL},
};

static const platform *find_platform(const char *name) {
    for (size_t i = 0; name && i < TC_LEN(platforms); i++)
        if (!strcmp(platforms[i].name, name))
            return &platforms[i];
    return NULL;
}

static bool in_path(const char *program) {
    char command[256];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", program);
    return system(command) == 0;
}

static void need(const char *program, const char *package, const platform *p) {
    if (in_path(program))
        return;
    printf("SKIPPED: kernels for '%s' were not tested: %s is not installed (Debian: apt-get install %s)\n", p->target, program,
           package);
    exit(SKIPPED);
}

static bool by_handler(const platform *p) {
    return !p->emulator[0];
}

/* Whether kernels are loaded: where there are the C library's files, with which programs that look up callees are linked. */
static bool loads(const platform *p) {
    return strstr(p->emulator_options, " -L ") != NULL;
}

/* Linux names the features of an x86 in words. */
static void need_feature(const platform *p) {
    char word[64], *text;
    tc_error err = {0};
    snprintf(word, sizeof word, " %s ", p->emulator_options);
    bool read = tc_fs_read("/proc/cpuinfo", &text, NULL, &err) == TC_OK, has = read && strstr(text, word);
    if (read)
        free(text);
    if (has)
        return;
    printf("SKIPPED: kernels for '%s' were not tested: this CPU has no %s\n", p->target, p->emulator_options);
    exit(SKIPPED);
}

static void die_if(tc_status s, const tc_error *err) {
    if (s == TC_OK)
        return;
    fprintf(stderr, "%s\n", err->msg);
    exit(1);
}

static void write_text(const char *dir, const char *name, const tc_strbuf *b) {
    char path[4096];
    tc_error err = {0};
    snprintf(path, sizeof path, "%s/%s", dir, name);
    die_if(tc_fs_write(path, b->data, b->len, &err), &err);
}

static int shell(const tc_strbuf *command) {
    fflush(stdout);
    int status = system(command->data);
    if (status)
        fprintf(stderr, "failed with status %d: %s\n", status, command->data);
    return status;
}

static int link_program(const platform *p, const suite *s) {
    /* The loader first, then what it and the runtime call. */
    enum { LOADER = 3 };
    static const char *const sources[] = {
        "codegen/load/image",     "codegen/load/object",       "codegen/load/relocate", "support/alloc",
        "support/arena",          "support/numbers",           "support/say",           "support/status",
        "support/strbuf",         "support/system/fs",         "support/system/groups", "support/system/memory",
        "support/system/threads", "codegen/artefacts/runtime", "codegen/team/team",     "codegen/team/region",
        "codegen/team/site"};
    tc_strbuf c = {0};
    tc_sb_printf(&c, "'%s' -std=c17 -O1 %s -fopenmp -D_GNU_SOURCE -I'%s/src' -I'%s/include' -o '%s/program'", p->compiler,
                 loads(p) ? "-rdynamic -DLOADS" : "-static", TCTUNE_SOURCE_DIR, TCTUNE_SOURCE_DIR, s->dir);
    for (size_t i = loads(p) ? 0 : LOADER; i < TC_LEN(sources); i++)
        tc_sb_printf(&c, " '%s/src/%s.c'", TCTUNE_SOURCE_DIR, sources[i]);
    tc_sb_printf(&c, " '%s/harness.c' '%s/kernels.c'", TCTUNE_TEST_DIR, s->dir);
    if (by_handler(p))
        tc_sb_printf(&c, " -DCARRIES_OUT -I'%s' '%s/vector_trap.c'", TCTUNE_TEST_DIR, TCTUNE_TEST_DIR);
    for (size_t i = 0; i < s->objects.len; i++)
        tc_sb_printf(&c, " '%s'", s->objects.data[i]);
    tc_sb_add(&c, " -lm");
    int status = shell(&c);
    tc_strbuf_free(&c);
    return status;
}

/* The names of kernels go to a log; its last line tells which one an emulator that died was running. */
static int run_program(const platform *p, const suite *s) {
    tc_strbuf c = {0};
    tc_sb_printf(&c, "%s %s '%s/program' '%s/arguments' '%s/results'", p->emulator, by_handler(p) ? "" : p->emulator_options,
                 s->dir, s->dir, s->dir);
    /* The runtime has variables of each thread, which the loader refuses. No process loads a runtime: it has one of its own. */
    for (size_t i = 0; loads(p) && i < s->objects.len; i++)
        if (!strstr(s->objects.data[i], SUITE_RUNTIME))
            tc_sb_printf(&c, " '%s'", s->objects.data[i]);
    tc_sb_printf(&c, " >'%s/log' || { echo \"died in $(tail -n 1 '%s/log')\" >&2; exit 1; }", s->dir, s->dir);
    int status = shell(&c);
    tc_strbuf_free(&c);
    return status;
}

/* Whether the assembly of a case's first kernel holds a text. */
static bool holds(const suite *s, const char *name, size_t length, const char *what, size_t size) {
    tc_error err = {0};
    tc_strbuf text = {0};
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%.*s", (int)size, what);
    for (size_t i = 0; i < s->kernels.len; i++) {
        const tc_func *f = s->kernels.data[i].f;
        const char *of = s->kernels.data[i].of->name;
        if (strlen(of) != length || strncmp(of, name, length))
            continue;
        die_if(tc_cg_emit_text(s->target, &f, NULL, 1, NULL, TC_CG_ASM, &text, &err), &err);
        break;
    }
    bool found = strstr(tc_sb_str(&text), wanted) != NULL;
    if (!found)
        fprintf(stderr, "the assembly of %.*s holds no '%s':\n%s\n", (int)length, name, wanted, tc_sb_str(&text));
    tc_strbuf_free(&text);
    return found;
}

/* Whether products of matrices use the target's vector multiply-add, and its units. */
static bool uses_vectors(const platform *p, const suite *s) {
    bool ok = holds(s, "gemm_runtime", strlen("gemm_runtime"), p->multiply, strlen(p->multiply));
    for (const char *c = p->units; c && c[1]; c = strchr(c + 1, '|')) {
        const char *is = strchr(c, '=');
        ok = holds(s, c + 1, (size_t)(is - c - 1), is + 1, strcspn(is + 1, "|")) && ok;
    }
    return ok;
}

static int compare(const suite *s) {
    char path[4096], *results;
    size_t size;
    tc_error err = {0};
    snprintf(path, sizeof path, "%s/results", s->dir);
    die_if(tc_fs_read(path, &results, &size, &err), &err);
    int wrong = suite_compare(s, results, size);
    free(results);
    return wrong;
}

static char *read_log(const suite *s) {
    char path[4096], *log;
    tc_error err = {0};
    snprintf(path, sizeof path, "%s/log", s->dir);
    die_if(tc_fs_read(path, &log, NULL, &err), &err);
    return log;
}

/* All kernels but models, which are linked around theirs. */
static int not_loaded(const suite *s) {
    char *log = read_log(s);
    const char *line = strstr(log, "loaded: ");
    int missing = line ? -atoi(line + strlen("loaded: ")) : 0;
    for (size_t i = 0; i < s->kernels.len; i++)
        missing += !s->kernels.data[i].model;
    if (missing)
        fprintf(stderr, "%d kernels were not found in what was loaded\n", missing);
    free(log);
    return missing != 0;
}

/* What the handler did stands in the last line of the log. */
static void print_carried_out(const suite *s) {
    char *log = read_log(s);
    const char *line = strstr(log, "carried out:");
    printf("by the handler %s", line ? line : "nothing\n");
    free(log);
}

static int test(const platform *p, const tc_target *t, const char *dir, const suite_options *o) {
    suite s;
    tc_strbuf table = {0}, arguments = {0};
    suite_build(&s, t, dir, o);
    suite_table(&s, &table);
    suite_arguments(&s, &arguments);
    write_text(dir, "kernels.c", &table);
    write_text(dir, "arguments", &arguments);
    int bad = link_program(p, &s) || run_program(p, &s) ? 1 : compare(&s);
    bad += !uses_vectors(p, &s);
    if (loads(p) && !bad)
        bad = not_loaded(&s);
    if (by_handler(p))
        print_carried_out(&s);
    printf("%s: %zu kernels of %zu cases, %d candidates refused by lowering, %d wrong\n", t->text, s.kernels.len, s.cases.len,
           s.refused, bad);
    tc_strbuf_free(&table);
    tc_strbuf_free(&arguments);
    suite_free(&s);
    return bad;
}

int main(int argc, char **argv) {
    const platform *p = find_platform(argc > 1 ? argv[1] : NULL);
    tc_error err = {0};
    tc_target *t;
    char *dir;
    if (!p) {
        fprintf(stderr, "usage: test_targets neon|neon_dot|neoverse_v1|sve256|sve512|rvv|rv64gc|avx2|"
                        "avx512_bf16|avx512_bf16_256|avx_vnni|sse|sse42 [SAMPLED [DRAWN]]\n");
        return 2;
    }
    need(p->compiler, p->compiler_package, p);
    if (by_handler(p))
        need_feature(p);
    else
        need(p->emulator, "qemu-user", p);
    die_if(tc_target_parse(p->target, &t, &err), &err);
    die_if(tc_fs_temp_dir(&dir, &err), &err);
    int sampled = test_is_full() ? SAMPLED : FEW_SAMPLED, drawn = test_is_full() ? DRAWN : FEW_DRAWN;
    suite_options o = {.sampled = argc > 2 ? atoi(argv[2]) : sampled,
                       .drawn = argc > 3 ? atoi(argv[3]) : (p->units ? drawn : 0),
                       .only = by_handler(p) ? PRODUCTS : NULL,
                       .without = p->broken,
                       .entry = by_handler(p) ? "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell" : NULL};
    int bad = test(p, t, dir, &o);
    if (!getenv("TCTUNE_KEEP"))
        tc_fs_remove_tree(dir);
    free(dir);
    tc_target_free(t);
    return bad != 0;
}
