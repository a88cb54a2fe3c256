/* The part of C source that asks whether the CPU has what the compiler used. The source itself is for every CPU, but compilers are
 * told of one (-march), and say by macros which instruction sets that allows. */
#include "codegen/artefacts/library.h"
#include "codegen/target/needs.h"
#include "graph/saved/save_int.h"

#include <ctype.h>
#include <inttypes.h>

/* "avx512f" -> "__AVX512F__" */
static void if_defined(tc_strbuf *b, const char *feature) {
    tc_sb_add(b, "#ifdef __");
    for (const char *c = feature; *c; c++)
        tc_sb_addc(b, isalnum((unsigned char)*c) ? (char)toupper((unsigned char)*c) : '_');
    tc_sb_add(b, "__\n");
}

/* The compiler may use for this code what it may use elsewhere: shifts and masks are instructions of BMI then. So masks are constants,
 * and what compares with them is assembly. */
static const char HAS[] =
    "/* Whether a register has these bits after CPUID. */\n"
    "static int %s_has(unsigned leaf, unsigned sub, int reg, unsigned bits) {\n"
    "    unsigned a, b, c, d;\n    unsigned char lacks;\n"
    "    if (bits == 0)\n        return 1;\n"
    "    __cpuid(leaf & 0x80000000u, a, b, c, d);\n    if (a < leaf)\n        return 0;\n"
    "    __cpuid_count(leaf, 0, a, b, c, d);\n    if (sub > 0 && a < sub)\n        return 0;\n"
    "    __cpuid_count(leaf, sub, a, b, c, d);\n"
    "    a = reg == 0 ? a : reg == 1 ? b : reg == 2 ? c : d;\n"
    "    __asm__(\"andl %%2, %%1\\n\\tcmpl %%2, %%1\\n\\tsetne %%0\" : \"=q\"(lacks), \"+&r\"(a) : \"r\"(bits) : \"cc\");\n"
    "    return lacks == 0;\n}\n\n"
    "/* Whether the system keeps the registers of these bits of XCR0. */\n"
    "static int %s_keeps(unsigned bits) {\n    unsigned low, high;\n    unsigned char lacks;\n"
    "    if (bits == 0)\n        return 1;\n"
    "    if (!%s_has(1, 0, 2, 1u << 27))\n        return 0;\n"
    "    __asm__ volatile(\"xgetbv\\n\\tandl %%3, %%0\\n\\tcmpl %%3, %%0\\n\\tsetne %%2\"\n"
    "                     : \"=&a\"(low), \"=&d\"(high), \"=&q\"(lacks) : \"r\"(bits), \"c\"(0) : \"cc\");\n"
    "    (void)low, (void)high;\n    return lacks == 0;\n}\n\n";

/* Which of the rows before is of the same register, or the row itself. */
static int first_of(const tc_cg_cpuid_row *rows, int i) {
    int k = 0;
    while (rows[k].leaf != rows[i].leaf || rows[k].sub != rows[i].sub || rows[k].reg != rows[i].reg)
        k++;
    return k;
}

static void x86(const char *name, tc_strbuf *b) {
    int n;
    const tc_cg_cpuid_row *rows = tc_cg_cpuid_rows(&n);
    tc_sb_add(b, "#if defined(__GNUC__) && defined(__x86_64__)\n#include <cpuid.h>\n\n");
    tc_sb_printf(b, HAS, name, name, name);
    tc_sb_printf(b, "static int %s_has_all(void) {\n    unsigned kept = 0;\n", name);
    for (int i = 0; i < n; i++)
        if (first_of(rows, i) == i)
            tc_sb_printf(b, "    unsigned bits%d = 0;\n", i);
    for (int i = 0; i < n; i++) {
        if_defined(b, rows[i].name);
        tc_sb_printf(b, "    bits%d |= 1u << %d;\n", first_of(rows, i), rows[i].bit);
        if (rows[i].kept)
            tc_sb_printf(b, "    kept |= 0x%" PRIx32 "u;\n", rows[i].kept);
        tc_sb_add(b, "#endif\n");
    }
    tc_sb_printf(b, "    return %s_keeps(kept)", name);
    for (int i = 0; i < n; i++)
        if (first_of(rows, i) == i)
            tc_sb_printf(b, " &&\n           %s_has(0x%" PRIx32 "u, %" PRIu32 ", %d, bits%d)", name, rows[i].leaf, rows[i].sub,
                         (int)rows[i].reg, i);
    tc_sb_add(b, ";\n}\n");
}

static void arm(const char *name, tc_strbuf *b) {
    int n;
    const tc_cg_hwcap *rows = tc_cg_hwcaps(&n);
    tc_sb_printf(b,
                 "#elif defined(__GNUC__) && defined(__aarch64__) && defined(__linux__)\n"
                 "#include <sys/auxv.h>\n#include <sys/prctl.h>\n\n"
                 "static int %s_has_all(void) {\n    unsigned long first = 0, second = 0; /* of AT_HWCAP and AT_HWCAP2 */\n",
                 name);
    for (int i = 0; i < n; i++)
        tc_sb_printf(b, "#ifdef %s\n    first |= 0x%" PRIx64 "u, second |= 0x%" PRIx64 "u;\n#endif\n", rows[i].macro,
                     rows[i].bits[0], rows[i].bits[1]);
    tc_sb_add(b, "#if defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS > 0\n"
                 "    if ((prctl(51) & 0xffff) * 8 != __ARM_FEATURE_SVE_BITS) /* PR_SVE_GET_VL */\n        return 0;\n#endif\n"
                 "    return (getauxval(16) & first) == first && (getauxval(26) & second) == second;\n}\n");
}

static void riscv(const char *name, tc_strbuf *b) {
    tc_sb_printf(b,
                 "#elif defined(__GNUC__) && defined(__riscv) && defined(__linux__)\n#include <sys/auxv.h>\n\n"
                 "long syscall(long number, ...); /* unistd.h declares it for GNU C alone */\n\n"
                 "static int %s_has_all(void) {\n"
                 "    unsigned long letters = getauxval(16), want = 0, bytes = -1ul; /* AT_HWCAP */\n"
                 "    struct {\n        long key;\n        unsigned long value;\n    } probe = {4, 0}; /* IMA_EXT_0 */\n"
                 "    unsigned long extensions = 0;\n",
                 name);
    int n;
    const tc_cg_probe *rows = tc_cg_probes(&n);
    for (int i = 0; i < n; i++)
        tc_sb_printf(b, "#ifdef %s\n    extensions |= 1ul << %d;\n#endif\n", rows[i].macro, rows[i].bit);
    tc_sb_add(b, "    if (extensions && syscall(258, &probe, 1L, 0L, (void *)0, 0L) == 0 && /* riscv_hwprobe */\n"
                 "        (probe.value & extensions) != extensions)\n        return 0;\n");
    for (const char *c = "mafdcv"; *c; c++)
        tc_sb_printf(b, "#ifdef __riscv_%c\n    want |= 1ul << %d;\n#endif\n", *c, *c - 'a');
    tc_sb_add(b, "#ifdef __riscv_v_min_vlen\n    if (letters >> 21 & 1)\n"
                 "        __asm__ volatile(\"csrr %0, 0xc22\" : \"=r\"(bytes)); /* vlenb */\n"
                 "    if (bytes * 8 < __riscv_v_min_vlen)\n        return 0;\n#endif\n"
                 "    (void)bytes;\n    return (letters & want) == want;\n}\n");
}

void tc_graph_add_cpu_check(const char *name, tc_strbuf *b) {
    tc_sb_add(b, "/* ---- the CPU: does it have what the compiler was told to use (-march)? ---- */\n\n");
    x86(name, b);
    arm(name, b);
    riscv(name, b);
    tc_sb_printf(b,
                 "#else\n#define %s_has_all() 1\n#endif\n\n"
                 "/* 1, or what runs return on a CPU that lacks something. The first answer is kept. */\n"
                 "static int32_t %s_cpu(void) {\n"
                 "    static _Atomic int32_t known;\n"
                 "    int32_t is = known;\n"
                 "    if (is == 0)\n        known = is = %s_has_all() ? %d : %d;\n"
                 "    return is;\n}\n\n",
                 name, name, name, TC_CG_RIGHT_CPU, TC_CG_OTHER_CPU);
}
