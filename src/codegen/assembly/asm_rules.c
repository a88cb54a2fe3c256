/* Which mnemonic is what, per instruction set: tables of prefixes, the first that fits counts, and for each set a function that
 * settles by the operands what the mnemonic leaves open (a move is a load when its source is memory).
 *
 * Text is what LLVM prints: AT&T syntax on x86-64, the usual one elsewhere. Operands come without comments. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/assembly/asm_int.h"
#include "codegen/target/isa.h"
#include "support/vec.h"

typedef struct rule {
    const char *prefix;
    asm_kind kind;
} rule;

static asm_kind match(const rule *rules, const char *mnemonic) {
    while (strncmp(mnemonic, rules->prefix, strlen(rules->prefix)) != 0)
        rules++;
    return rules->kind; /* every table ends with the empty prefix */
}

static bool ends(const char *s, const char *tail) {
    size_t n = strlen(s), k = strlen(tail);
    return n >= k && strcmp(s + n - k, tail) == 0;
}

static uint32_t register_bit(const char *digits) {
    return isdigit((unsigned char)*digits) ? UINT32_C(1) << (strtol(digits, NULL, 10) & 31) : 0;
}

/* ---- x86-64 ---- */

/* Mnemonics without the v of the VEX and EVEX forms. */
static const rule X86[] = {
    {"fmadd", ASM_FMA},     {"fmsub", ASM_FMA},    {"fnmadd", ASM_FMA},    {"fnmsub", ASM_FMA},      {"pdpb", ASM_FMA},
    {"pdpw", ASM_FMA},      {"dpbf16", ASM_FMA},   {"tdp", ASM_FMA},       {"broadcast", ASM_BCAST}, {"pbroadcast", ASM_BCAST},
    {"movddup", ASM_BCAST}, {"maskmov", ASM_MOVE}, {"pmaskmov", ASM_MOVE}, {"pmov", ASM_ARITH},      {"mov", ASM_MOVE},
    {"lddqu", ASM_MOVE},    {"gather", ASM_LOAD},  {"pgather", ASM_LOAD},  {"scatter", ASM_STORE},   {"pscatter", ASM_STORE},
    {"shuf", ASM_MOVE},     {"pshuf", ASM_MOVE},   {"perm", ASM_MOVE},     {"unpck", ASM_MOVE},      {"punpck", ASM_MOVE},
    {"insert", ASM_MOVE},   {"pinsr", ASM_MOVE},   {"extract", ASM_MOVE},  {"pextr", ASM_MOVE},      {"palign", ASM_MOVE},
    {"align", ASM_MOVE},    {"expand", ASM_MOVE},  {"compress", ASM_MOVE}, {"zero", ASM_OTHER},      {"prefetch", ASM_PREFETCH},
    {"", ASM_ARITH}};

static int x86_bits(const char *operands) {
    return strstr(operands, "%zmm") || strstr(operands, "%tmm") ? 512
           : strstr(operands, "%ymm")                           ? 256
           : strstr(operands, "%xmm")                           ? 128
                                                                : 0;
}

/* After the last comma that is not within parentheses. */
static const char *x86_last(const char *operands) {
    const char *last = operands;
    int depth = 0;
    for (const char *p = operands; *p; p++) {
        depth += (*p == '(') - (*p == ')');
        if (*p == ',' && depth == 0)
            last = p + 1;
    }
    return last;
}

static void classify_x86(const tc_target *t, const char *mnemonic, const char *operands, asm_op *op) {
    (void)t;
    const char *name = mnemonic + (*mnemonic == 'v'), *last = x86_last(operands);
    bool memory = strchr(operands, '(') != NULL;
    bool one = ends(name, "ss") || ends(name, "sd") || ends(name, "sh");
    op->kind = match(X86, name);
    op->bits = x86_bits(operands);
    if (op->kind == ASM_PREFETCH)
        return;
    if (op->bits == 0) {
        op->kind = ASM_OTHER;
        return;
    }
    if (strchr(last, '(') && (op->kind == ASM_MOVE || op->kind == ASM_STORE))
        op->kind = ASM_STORE;
    else if (memory && op->kind == ASM_MOVE && strncmp(name, "mov", 3) == 0)
        op->kind = one ? ASM_BCAST : ASM_LOAD;
    else if (!memory && op->kind == ASM_BCAST)
        op->kind = ASM_MOVE;
    else if ((op->kind == ASM_FMA || op->kind == ASM_ARITH) && one && *name != 'p')
        op->kind = ASM_SCALAR;
    op->folded = memory && (op->kind == ASM_FMA || op->kind == ASM_ARITH || op->kind == ASM_SCALAR || op->kind == ASM_MOVE);
    op->masked = strstr(operands, "{%k") != NULL;
    const char *reg = strstr(last, "mm");
    op->writes = reg && !strchr(last, '(') ? register_bit(reg + 2) : 0;
}

/* ---- AArch64: NEON and SVE ---- */

static const rule ARM[] = {
    {"fml", ASM_FMA},    {"fnml", ASM_FMA},    {"fmad", ASM_FMA},    {"fmsb", ASM_FMA},     {"fmsub", ASM_FMA},
    {"fnmad", ASM_FMA},  {"fnmsb", ASM_FMA},   {"fnms", ASM_FMA},    {"bfdot", ASM_FMA},    {"bfml", ASM_FMA},
    {"bfmm", ASM_FMA},   {"sdot", ASM_FMA},    {"udot", ASM_FMA},    {"usdot", ASM_FMA},    {"sudot", ASM_FMA},
    {"smmla", ASM_FMA},  {"ummla", ASM_FMA},   {"usmmla", ASM_FMA},  {"mla", ASM_FMA},      {"mls", ASM_FMA},
    {"ld1r", ASM_BCAST}, {"ld", ASM_LOAD},     {"st", ASM_STORE},    {"prf", ASM_PREFETCH}, {"mov", ASM_MOVE},
    {"fmov", ASM_MOVE},  {"dup", ASM_MOVE},    {"ins", ASM_MOVE},    {"ext", ASM_MOVE},     {"zip", ASM_MOVE},
    {"uzp", ASM_MOVE},   {"trn", ASM_MOVE},    {"rev", ASM_MOVE},    {"tbl", ASM_MOVE},     {"splice", ASM_MOVE},
    {"index", ASM_MOVE}, {"ptrue", ASM_OTHER}, {"while", ASM_OTHER}, {"", ASM_ARITH}};

typedef enum arm_class { ARM_GENERAL, ARM_SCALAR, ARM_VECTOR } arm_class;

static arm_class arm_class_of(const char *reg) {
    if (!isdigit((unsigned char)reg[0]) && isdigit((unsigned char)reg[1]))
        return strchr("vzq", reg[0]) ? ARM_VECTOR : strchr("sdhb", reg[0]) ? ARM_SCALAR : ARM_GENERAL;
    return ARM_GENERAL;
}

static int arm_bits(const tc_target *t, const char *reg) {
    if (*reg == 'z')
        return 8 * t->machine.vector_bytes;
    size_t n = strcspn(reg, ".");
    bool half = strncmp(reg + n, ".2s", 3) == 0 || strncmp(reg + n, ".4h", 3) == 0 || strncmp(reg + n, ".8b", 3) == 0;
    return half ? 64 : 128;
}

/* The registers that a load fills: all before the address. */
static uint32_t arm_loaded(const char *operands) {
    uint32_t set = 0;
    for (const char *p = operands; *p && *p != '['; p++)
        if ((p == operands || strchr(" {,", p[-1])) && arm_class_of(p) != ARM_GENERAL)
            set |= register_bit(p + 1);
    return set;
}

static void classify_arm(const tc_target *t, const char *mnemonic, const char *operands, asm_op *op) {
    const char *reg = operands + strspn(operands, " {");
    arm_class class = arm_class_of(reg);
    asm_kind kind = match(ARM, mnemonic);
    if (kind == ASM_PREFETCH || class == ARM_GENERAL) {
        op->kind = kind == ASM_PREFETCH ? kind : ASM_OTHER;
        return;
    }
    op->bits = class == ARM_VECTOR ? arm_bits(t, reg) : 32;
    if (class == ARM_SCALAR)
        kind = kind == ASM_LOAD ? ASM_BCAST : (kind == ASM_FMA || kind == ASM_ARITH) ? ASM_SCALAR : kind;
    op->kind = kind;
    op->writes = kind == ASM_STORE ? 0 : kind == ASM_LOAD || kind == ASM_BCAST ? arm_loaded(operands) : register_bit(reg + 1);
}

/* ---- RISC-V with vectors ---- */

static const rule RISCV[] = {
    {"vfma", ASM_FMA},          {"vfms", ASM_FMA},      {"vfnma", ASM_FMA},   {"vfnms", ASM_FMA},    {"vfwma", ASM_FMA},
    {"vfwnm", ASM_FMA},         {"vmacc", ASM_FMA},     {"vmadd", ASM_FMA},   {"vwmacc", ASM_FMA},   {"vset", ASM_OTHER},
    {"vle", ASM_LOAD},          {"vls", ASM_LOAD},      {"vl", ASM_LOAD},     {"vsub", ASM_ARITH},   {"vsll", ASM_ARITH},
    {"vsr", ASM_ARITH},         {"vsadd", ASM_ARITH},   {"vssub", ASM_ARITH}, {"vsmul", ASM_ARITH},  {"vssr", ASM_ARITH},
    {"vsext", ASM_ARITH},       {"vsbc", ASM_ARITH},    {"vslide", ASM_MOVE}, {"vs", ASM_STORE},     {"vmv", ASM_MOVE},
    {"vfmv", ASM_MOVE},         {"vrgather", ASM_MOVE}, {"vmerge", ASM_MOVE}, {"vfmerge", ASM_MOVE}, {"vfslide", ASM_MOVE},
    {"vcompress", ASM_MOVE},    {"v", ASM_ARITH},       {"flw", ASM_BCAST},   {"fld", ASM_BCAST},    {"flh", ASM_BCAST},
    {"fs", ASM_OTHER},          {"fmv", ASM_OTHER},     {"fence", ASM_OTHER}, {"fcvt", ASM_SCALAR},  {"f", ASM_SCALAR},
    {"prefetch", ASM_PREFETCH}, {"", ASM_OTHER}};

/* fs is a store or a sign injection, but for these two. */
static bool riscv_scalar(const char *mnemonic) {
    return strncmp(mnemonic, "fsub", 4) == 0 || strncmp(mnemonic, "fsqrt", 5) == 0;
}

static void classify_riscv(const tc_target *t, const char *mnemonic, const char *operands, asm_op *op) {
    bool least = strncmp(mnemonic, "vfmax", 5) == 0 || strncmp(mnemonic, "vfmsgn", 6) == 0; /* begin like multiply-adds */
    op->kind = riscv_scalar(mnemonic) ? ASM_SCALAR : least ? ASM_ARITH : match(RISCV, mnemonic);
    if (*mnemonic != 'v' || op->kind == ASM_OTHER)
        return;
    op->bits = 8 * t->machine.vector_bytes;
    op->masked = strstr(operands, "v0.t") != NULL;
    if (op->kind == ASM_LOAD && strncmp(mnemonic, "vlse", 4) == 0 && ends(operands, "zero"))
        op->kind = ASM_BCAST;
    if (op->kind != ASM_STORE && *operands == 'v')
        op->writes = register_bit(operands + 1);
}

/* ---- all ---- */

static const asm_isa ISAS[TC_CG_NISAS] = {
    [TC_CG_X86] = {"#", classify_x86}, [TC_CG_ARM] = {"//", classify_arm}, [TC_CG_RISCV] = {"#", classify_riscv}};

const asm_isa *tc_cg_asm_isa(const tc_target *t) {
    const tc_cg_isa *isa = tc_cg_isa_of(t->triple);
    return isa ? &ISAS[isa->id] : NULL;
}
