/* Facts of a machine: typical ones by instruction set, and this one's, asked from the system. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "codegen/code/code_int.h"

static bool is_arm(const tc_target *t) {
    return !strncmp(t->triple, "aarch64", 7) || !strncmp(t->triple, "arm64", 5);
}

static bool is_riscv(const tc_target *t) {
    return !strncmp(t->triple, "riscv64", 7);
}

bool tc_cg_sve(const tc_target *t) {
    return is_arm(t) && t->machine.vector_bytes > 16;
}

/* RISC-V: what the features promise of the registers' width; `v` alone promises 128 bits. */
static int riscv_vector(const tc_target *t) {
    return tc_cg_has_feature(t, "zvl512b") ? 64 : tc_cg_has_feature(t, "zvl256b") ? 32 : 16;
}

int tc_cg_widest_vector(const tc_target *t) {
    if (!strncmp(t->triple, "x86_64", 6))
        return tc_cg_has_feature(t, "avx512f") ? 64 : tc_cg_has_feature(t, "avx") ? 32 : 16;
    if (is_arm(t))
        return tc_cg_has_feature(t, "sve") ? 64 : 16; /* SVE's width is the machine's: who names one says which */
    return is_riscv(t) ? riscv_vector(t) : 16;
}

static void x86_machine(const tc_target *t, tc_machine *m) {
    bool avx512 = tc_cg_has_feature(t, "avx512f");
    m->vector_regs = avx512 ? 32 : 16;
    m->masks = avx512;
    m->fma = avx512 || tc_cg_has_feature(t, "fma");
    m->dot_i8 = avx512 && tc_cg_has_feature(t, "avx512vnni");
    m->dot_bf16 = avx512 && tc_cg_has_feature(t, "avx512bf16");
}

/* NEON's 16 bytes unless a width is named: that makes code for SVE registers of exactly this width, with predicates for tails. */
static void arm_machine(int bytes, tc_machine *m) {
    m->l1 = 64 << 10;
    m->fma = true;
    m->load_store = true;
    m->masks = bytes > 16;
    m->vector_bytes = TC_MAX(bytes, 16);
}

/* Without the vector extension four scalar registers stand for one vector. */
static void riscv_machine(const tc_target *t, tc_machine *m) {
    bool v = tc_cg_has_feature(t, "v");
    m->masks = v;
    m->load_store = true;
    m->fma = v || tc_cg_has_feature(t, "f");
    m->vector_regs = v ? 32 : 8;
}

/* Caches and cores of a target that is not this machine: what is common among servers. `bytes`: width of vectors, 0: the target's
 * own. */
void tc_cg_default_machine(const tc_target *t, int bytes, tc_machine *m) {
    *m = (tc_machine){.vector_regs = 32, .cores = 4, .l1 = 32 << 10, .l2 = 1 << 20, .l3 = 16 << 20, .line = 64};
    m->vector_bytes = bytes ? bytes : tc_cg_widest_vector(t);
    if (!strncmp(t->triple, "x86_64", 6))
        x86_machine(t, m);
    else if (is_arm(t))
        arm_machine(bytes, m);
    else if (is_riscv(t))
        riscv_machine(t, m);
}

/* "32K", "1024K", "32M"; 0 when the file is not there. */
static int64_t read_size(const char *path) {
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    long long n = 0;
    char unit = 0;
    int got = fscanf(f, "%lld%c", &n, &unit);
    fclose(f);
    if (got < 1 || n <= 0)
        return 0;
    return got > 1 && unit == 'K' ? n << 10 : got > 1 && unit == 'M' ? n << 20 : n;
}

static int64_t cache_of_level(int level) {
    char path[128], text[32];
    for (int i = 0; i < 8; i++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        if (read_size(path) != level)
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
        FILE *f = fopen(path, "r");
        bool code = f && fgets(text, sizeof text, f) && !strncmp(text, "Instr", 5);
        if (f)
            fclose(f);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (!code)
            return read_size(path);
    }
    return 0;
}

static void set_cache(int64_t *out, int name, int level) {
    /* /sys first: in virtual machines sysconf may tell of the whole socket. */
    int64_t v = cache_of_level(level);
    if (v <= 0)
        v = sysconf(name);
    if (v > 0)
        *out = v;
}

static int usable_cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

void tc_cg_detect_machine(tc_machine *m) {
    set_cache(&m->l1, _SC_LEVEL1_DCACHE_SIZE, 1);
    set_cache(&m->l2, _SC_LEVEL2_CACHE_SIZE, 2);
    set_cache(&m->l3, _SC_LEVEL3_CACHE_SIZE, 3);
    long line = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);
    if (line > 0)
        m->line = (int)line;
    m->cores = usable_cores();
}
