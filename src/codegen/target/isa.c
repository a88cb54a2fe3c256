/* See isa.h. */
#include "codegen/target/isa.h"

#include <string.h>

#include "support/vec.h"

/* Instruction sets that -mattr may name: those of LLVM 19 that matter to kernels. LLVM itself only warns of others. */
static const char FEATURES_X86[] =
    " 64bit adx aes amx-bf16 amx-complex amx-fp16 amx-int8 amx-tile avx avx10.1-256 avx10.1-512 avx2 avx512bf16"
    " avx512bitalg avx512bw avx512cd avx512dq avx512f avx512fp16 avx512ifma avx512vbmi avx512vbmi2 avx512vl"
    " avx512vnni avx512vp2intersect avx512vpopcntdq avxifma avxneconvert avxvnni avxvnniint16 avxvnniint8 bmi"
    " bmi2 cx16 evex512 f16c fma fma4 fsgsbase gfni lzcnt mmx movbe pclmul popcnt prfchw sha sse sse2 sse3"
    " sse4.1 sse4.2 sse4a ssse3 tbm vaes vpclmulqdq xop xsave"
    " ";
static const char FEATURES_ARM[] =
    " aes bf16 complxnum crc crypto dotprod f32mm f64mm fp-armv8 fp16fml fullfp16 i8mm jsconv lse lse2 neon"
    " outline-atomics rcpc rdm sha2 sha3 sm4 sme sme2 strict-align sve sve2 sve2-aes sve2-bitperm sve2-sha3"
    " sve2-sm4 sve2p1 v8.1a v8.2a v8.3a v8.4a v8.5a v8.6a v8.7a v8.8a v8.9a v9.1a v9.2a v9.3a v9.4a v9.5a v9a"
    " ";
static const char FEATURES_RISCV[] =
    " 64bit a b c d f h i m v za64rs zaamo zabha zalrsc zawrs zba zbb zbc zbkb zbkc zbkx zbs zca zcb zcd zdinx"
    " zfa zfbfmin zfh zfhmin zfinx zicbom zicbop zicboz zicntr zicond zicsr zifencei zihintntl zihintpause"
    " zihpm zkt zmmul zvbb zvbc zve32f zve32x zve64d zve64f zve64x zvfbfmin zvfbfwma zvfh zvfhmin zvkb zvl1024b"
    " zvl128b zvl256b zvl512b zvl64b unaligned-scalar-mem unaligned-vector-mem"
    " ";

static const tc_cg_isa ISAS[] = {
#define ISA(id, spelling, other, triple, gnu, plain_cpu, implied_cpu, wider)                                                     \
    {TC_CG_##id, {spelling, other}, triple, gnu "-gcc", gnu "-objcopy", plain_cpu, implied_cpu, wider, FEATURES_##id},
#include "codegen/target/isa.def"
};

static const struct {
    tc_cg_isa_id isa;
    const char *feature;
    tc_cg_fact fact;
    int value;
} FACTS[] = {
#define FACT(isa, feature, fact, value) {TC_CG_##isa, feature, TC_CG_##fact, value},
#include "codegen/target/isa.def"
};

static const struct {
    const char *begins;
    bool slow_gather;
    const char *llvm;
} FAMILIES[] = {
#define FAMILY(begins, slow_gather, llvm) {begins, slow_gather, llvm},
#include "codegen/target/isa.def"
};

static const tc_cg_cpu CPUS[] = {
#define CPU(name, isa, features, more) {name, TC_CG_##isa, features, more},
#include "codegen/target/isa.def"
};

static bool begins_with(const char *s, const char *start) {
    return start && !strncmp(s, start, strlen(start));
}

const tc_cg_isa *tc_cg_isa_of(const char *triple) {
    for (size_t i = 0; i < TC_LEN(ISAS); i++)
        if (begins_with(triple, ISAS[i].spelling[0]) || begins_with(triple, ISAS[i].spelling[1]))
            return &ISAS[i];
    return NULL;
}

const tc_cg_isa *tc_cg_isa_row(tc_cg_isa_id id) {
    return &ISAS[id];
}

char tc_cg_mention_of(const tc_target *t, const char *name) {
    size_t n = strlen(name);
    const char *found = NULL;
    for (const char *p = t->features; (p = strstr(p, name)); p += n)
        if (p > t->features && (p[-1] == '+' || p[-1] == '-') && (p[n] == ',' || p[n] == 0))
            found = p; /* the last mention counts */
    return found ? found[-1] : 0;
}

bool tc_cg_has_feature(const tc_target *t, const char *name) {
    return tc_cg_mention_of(t, name) == '+';
}

bool tc_cg_lists(const char *names, const char *name) {
    const size_t n = strlen(name);
    for (const char *p = names; *p; p += strcspn(p, ","), p += *p == ',')
        if (strcspn(p, ",") == n && strncmp(p, name, n) == 0)
            return true;
    return false;
}

int tc_cg_fact_of(const tc_target *t, tc_cg_fact fact) {
    const tc_cg_isa *isa = tc_cg_isa_of(t->triple);
    for (size_t i = 0; isa && i < TC_LEN(FACTS); i++)
        if (FACTS[i].fact == fact && FACTS[i].isa == isa->id && (!FACTS[i].feature || tc_cg_has_feature(t, FACTS[i].feature)))
            return FACTS[i].value;
    return 0;
}

bool tc_cg_slow_gather(const char *cpu) {
    for (size_t i = 0; i < TC_LEN(FAMILIES); i++)
        if (begins_with(cpu, FAMILIES[i].begins))
            return FAMILIES[i].slow_gather;
    return false;
}

const char *tc_cg_llvm_cpu(const char *cpu) {
    for (size_t i = 0; i < TC_LEN(FAMILIES); i++)
        if (begins_with(cpu, FAMILIES[i].begins) && FAMILIES[i].llvm)
            return FAMILIES[i].llvm;
    return cpu;
}

const tc_cg_cpu *tc_cg_cpus(int *n) {
    *n = (int)TC_LEN(CPUS);
    return CPUS;
}

const tc_cg_cpu *tc_cg_cpu_named(const char *name) {
    for (size_t i = 0; i < TC_LEN(CPUS); i++)
        if (!strcmp(CPUS[i].name, name))
            return &CPUS[i];
    return NULL;
}
