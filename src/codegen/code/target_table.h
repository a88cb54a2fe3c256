/* CPUs by name: what LLVM calls them, and the instruction sets that matter to us. Included by target.c only.
 * X86(name, sets), ARM(name, sets), RISCV(name, sets). */
#ifndef TC_CODEGEN_CODE_TARGET_TABLE_H
#define TC_CODEGEN_CODE_TARGET_TABLE_H

#define SET_V2 "sse3,ssse3,sse4.1,sse4.2,popcnt"
#define SET_AVX SET_V2 ",avx"
#define SET_V3 SET_AVX ",avx2,fma,f16c,bmi,bmi2,lzcnt,movbe"
#define SET_V4 SET_V3 ",avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
#define SET_VNNI SET_V4 ",avx512vnni"
#define SET_ICL SET_VNNI ",avx512ifma,avx512vbmi,avx512vbmi2,avx512bitalg,avx512vpopcntdq"
#define SET_ZEN4 SET_ICL ",avx512bf16"
#define SET_SPR SET_ZEN4 ",avx512fp16,avxvnni,amx-tile,amx-int8,amx-bf16"

#define SET_SVE2 "sve,sve2"

#define TC_CPUS(X86, ARM, RISCV)                                                                                                 \
    X86("x86-64", "")                                                                                                            \
    X86("x86-64-v2", SET_V2)                                                                                                     \
    X86("x86-64-v3", SET_V3)                                                                                                     \
    X86("x86-64-v4", SET_V4)                                                                                                     \
    X86("nehalem", SET_V2)                                                                                                       \
    X86("westmere", SET_V2)                                                                                                      \
    X86("sandybridge", SET_AVX)                                                                                                  \
    X86("ivybridge", SET_AVX ",f16c")                                                                                            \
    X86("haswell", SET_V3)                                                                                                       \
    X86("broadwell", SET_V3)                                                                                                     \
    X86("skylake", SET_V3)                                                                                                       \
    X86("skylake-avx512", SET_V4)                                                                                                \
    X86("cascadelake", SET_VNNI)                                                                                                 \
    X86("cooperlake", SET_VNNI ",avx512bf16")                                                                                    \
    X86("icelake-client", SET_ICL)                                                                                               \
    X86("icelake-server", SET_ICL)                                                                                               \
    X86("tigerlake", SET_ICL)                                                                                                    \
    X86("rocketlake", SET_ICL)                                                                                                   \
    X86("sapphirerapids", SET_SPR)                                                                                               \
    X86("emeraldrapids", SET_SPR)                                                                                                \
    X86("graniterapids", SET_SPR ",amx-fp16")                                                                                    \
    X86("alderlake", SET_V3 ",avxvnni")                                                                                          \
    X86("raptorlake", SET_V3 ",avxvnni")                                                                                         \
    X86("meteorlake", SET_V3 ",avxvnni")                                                                                         \
    X86("arrowlake", SET_V3 ",avxvnni,avxvnniint8,avxifma")                                                                      \
    X86("sierraforest", SET_V3 ",avxvnni,avxvnniint8,avxifma")                                                                   \
    X86("gracemont", SET_V3 ",avxvnni")                                                                                          \
    X86("goldmont", SET_V2 ",movbe")                                                                                             \
    X86("btver2", SET_AVX ",f16c,bmi,lzcnt,movbe")                                                                               \
    X86("bdver4", SET_V3)                                                                                                        \
    X86("znver1", SET_V3)                                                                                                        \
    X86("znver2", SET_V3)                                                                                                        \
    X86("znver3", SET_V3)                                                                                                        \
    X86("znver4", SET_ZEN4)                                                                                                      \
    X86("znver5", SET_ZEN4 ",avxvnni")                                                                                           \
    ARM("cortex-a53", "")                                                                                                        \
    ARM("cortex-a55", "")                                                                                                        \
    ARM("cortex-a57", "")                                                                                                        \
    ARM("cortex-a72", "")                                                                                                        \
    ARM("cortex-a76", "")                                                                                                        \
    ARM("cortex-a78", "")                                                                                                        \
    ARM("cortex-x1", "")                                                                                                         \
    ARM("cortex-x2", SET_SVE2)                                                                                                   \
    ARM("cortex-a710", SET_SVE2)                                                                                                 \
    ARM("neoverse-e1", "")                                                                                                       \
    ARM("neoverse-n1", "")                                                                                                       \
    ARM("neoverse-n2", SET_SVE2)                                                                                                 \
    ARM("neoverse-v1", "sve")                                                                                                    \
    ARM("neoverse-v2", SET_SVE2)                                                                                                 \
    ARM("apple-m1", "")                                                                                                          \
    ARM("apple-m2", "")                                                                                                          \
    ARM("apple-m3", "")                                                                                                          \
    ARM("apple-m4", "")                                                                                                          \
    ARM("a64fx", "sve")                                                                                                          \
    ARM("ampere1", "")                                                                                                           \
    ARM("ampere1a", "")                                                                                                          \
    ARM("ampere1b", "")                                                                                                          \
    ARM("thunderx2t99", "")                                                                                                      \
    RISCV("generic-rv64", "m,a,f,d,c")                                                                                           \
    RISCV("rv64gcv", "m,a,f,d,c,v")                                                                                              \
    RISCV("sifive-u74", "m,a,f,d,c")                                                                                             \
    RISCV("sifive-p450", "m,a,f,d,c")                                                                                            \
    RISCV("sifive-p670", "m,a,f,d,c,v")                                                                                          \
    RISCV("sifive-x280", "m,a,f,d,c,v")                                                                                          \
    RISCV("spacemit-x60", "m,a,f,d,c,v")

/* Instruction sets that -mattr may name: those of LLVM 19 that matter to kernels. LLVM itself only warns of others. */
#define TC_FEATURES_X86                                                                                                          \
    " 64bit adx aes amx-bf16 amx-complex amx-fp16 amx-int8 amx-tile avx avx10.1-256 avx10.1-512 avx2 avx512bf16"                 \
    " avx512bitalg avx512bw avx512cd avx512dq avx512f avx512fp16 avx512ifma avx512vbmi avx512vbmi2 avx512vl"                     \
    " avx512vnni avx512vp2intersect avx512vpopcntdq avxifma avxneconvert avxvnni avxvnniint16 avxvnniint8 bmi"                   \
    " bmi2 cx16 evex512 f16c fma fma4 fsgsbase gfni lzcnt mmx movbe pclmul popcnt prfchw sha sse sse2 sse3"                      \
    " sse4.1 sse4.2 sse4a ssse3 tbm vaes vpclmulqdq xop xsave"                                                                   \
    " "
#define TC_FEATURES_ARM                                                                                                          \
    " aes bf16 complxnum crc crypto dotprod f32mm f64mm fp-armv8 fp16fml fullfp16 i8mm jsconv lse lse2 neon"                     \
    " outline-atomics rcpc rdm sha2 sha3 sm4 sme sme2 strict-align sve sve2 sve2-aes sve2-bitperm sve2-sha3"                     \
    " sve2-sm4 sve2p1 v8.1a v8.2a v8.3a v8.4a v8.5a v8.6a v8.7a v8.8a v8.9a v9.1a v9.2a v9.3a v9.4a v9.5a v9a"                   \
    " "
#define TC_FEATURES_RISCV                                                                                                        \
    " 64bit a b c d f h i m v za64rs zaamo zabha zalrsc zawrs zba zbb zbc zbkb zbkc zbkx zbs zca zcb zcd zdinx"                  \
    " zfa zfbfmin zfh zfhmin zfinx zicbom zicbop zicboz zicntr zicond zicsr zifencei zihintntl zihintpause"                      \
    " zihpm zkt zmmul zvbb zvbc zve32f zve32x zve64d zve64f zve64x zvfbfmin zvfbfwma zvfh zvfhmin zvkb zvl1024b"                 \
    " zvl128b zvl256b zvl512b zvl64b unaligned-scalar-mem unaligned-vector-mem"                                                  \
    " "

#endif
