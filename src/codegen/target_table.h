/* CPUs by name: what LLVM calls them, and the instruction sets that matter to us. Included by target.c only.
 * X86(name, sets), ARM(name), RISCV(name, sets). */
#ifndef TC_CODEGEN_TARGET_TABLE_H
#define TC_CODEGEN_TARGET_TABLE_H

#define SET_V2 "sse3,ssse3,sse4.1,sse4.2,popcnt"
#define SET_AVX SET_V2 ",avx"
#define SET_V3 SET_AVX ",avx2,fma,f16c,bmi,bmi2,lzcnt,movbe"
#define SET_V4 SET_V3 ",avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
#define SET_VNNI SET_V4 ",avx512vnni"
#define SET_ICL SET_VNNI ",avx512ifma,avx512vbmi,avx512vbmi2,avx512bitalg,avx512vpopcntdq"
#define SET_ZEN4 SET_ICL ",avx512bf16"
#define SET_SPR SET_ZEN4 ",avx512fp16,avxvnni,amx-tile,amx-int8,amx-bf16"

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
    ARM("cortex-a53")                                                                                                            \
    ARM("cortex-a55")                                                                                                            \
    ARM("cortex-a57")                                                                                                            \
    ARM("cortex-a72")                                                                                                            \
    ARM("cortex-a76")                                                                                                            \
    ARM("cortex-a78")                                                                                                            \
    ARM("cortex-x1")                                                                                                             \
    ARM("cortex-x2")                                                                                                             \
    ARM("cortex-a710")                                                                                                           \
    ARM("neoverse-e1")                                                                                                           \
    ARM("neoverse-n1")                                                                                                           \
    ARM("neoverse-n2")                                                                                                           \
    ARM("neoverse-v1")                                                                                                           \
    ARM("neoverse-v2")                                                                                                           \
    ARM("apple-m1")                                                                                                              \
    ARM("apple-m2")                                                                                                              \
    ARM("apple-m3")                                                                                                              \
    ARM("apple-m4")                                                                                                              \
    ARM("a64fx")                                                                                                                 \
    ARM("ampere1")                                                                                                               \
    ARM("ampere1a")                                                                                                              \
    ARM("ampere1b")                                                                                                              \
    ARM("thunderx2t99")                                                                                                          \
    RISCV("generic-rv64", "m,a,f,d,c")                                                                                           \
    RISCV("rv64gcv", "m,a,f,d,c,v")                                                                                              \
    RISCV("sifive-u74", "m,a,f,d,c")                                                                                             \
    RISCV("sifive-p450", "m,a,f,d,c")                                                                                            \
    RISCV("sifive-p670", "m,a,f,d,c,v")                                                                                          \
    RISCV("sifive-x280", "m,a,f,d,c,v")                                                                                          \
    RISCV("spacemit-x60", "m,a,f,d,c,v")

#endif
