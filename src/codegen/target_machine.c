/* Facts of a machine: typical ones by instruction set, and this one's, asked from the system. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "codegen/codegen_int.h"

/* Caches and cores of a target that is not this machine: what is common among servers. */
void tc_cg_default_machine(const tc_target *t, tc_machine *m) {
    *m = (tc_machine){
        .vector_bytes = 16, .vector_regs = 32, .cores = 4, .l1 = 32 << 10, .l2 = 1 << 20, .l3 = 16 << 20, .line = 64};
    if (!strncmp(t->triple, "x86_64", 6)) {
        bool avx512 = tc_cg_has_feature(t, "avx512f");
        m->vector_bytes = avx512 ? 64 : tc_cg_has_feature(t, "avx") ? 32 : 16;
        m->vector_regs = avx512 ? 32 : 16;
        m->masks = avx512;
        m->fma = avx512 || tc_cg_has_feature(t, "fma");
        m->dot_i8 = avx512 && tc_cg_has_feature(t, "avx512vnni");
        m->dot_bf16 = avx512 && tc_cg_has_feature(t, "avx512bf16");
    } else if (!strncmp(t->triple, "aarch64", 7) || !strncmp(t->triple, "arm64", 5)) {
        m->l1 = 64 << 10;
        m->fma = true;
    } else if (!strncmp(t->triple, "riscv64", 7)) {
        m->masks = tc_cg_has_feature(t, "v");
        m->fma = tc_cg_has_feature(t, "f");
    }
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
