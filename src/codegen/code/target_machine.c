/* Machines: typical ones by the facts of isa.def, and this one, asked from the system. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "codegen/code/code_int.h"

bool tc_cg_scalable(const tc_target *t) {
    int from = tc_cg_fact_of(t, TC_CG_SCALABLE_FROM);
    return from && t->machine.vector_bytes >= from;
}

int tc_cg_widest_vector(const tc_target *t) {
    return TC_MAX(TC_MAX(tc_cg_fact_of(t, TC_CG_WIDEST_BYTES), tc_cg_fact_of(t, TC_CG_VECTOR_BYTES)), 16);
}

static int or_common(int fact, int common) {
    return fact ? fact : common;
}

/* Whether a target has what a row asks for: "a+b|c" are a and b, or c. */
static bool has_features(const tc_target *t, const char *text) {
    bool all = true;
    for (const char *p = text;; p++) {
        char name[32];
        size_t n = strcspn(p, "+|");
        snprintf(name, sizeof name, "%.*s", (int)n, p);
        all = all && tc_cg_has_feature(t, name);
        p += n;
        if (*p != '+' && (all || !*p))
            return all;
        all = all || *p == '|';
    }
}

/* Units that the target has, in tiles or in registers of the width of its vectors. */
static tc_intrinsic_set intrinsics(const tc_target *t, int vector_bytes) {
    tc_intrinsic_set have = 0;
    for (int i = 0; i < TC_NINTRINSICS; i++) {
        const tc_intrinsic *r = tc_intrinsic_row((tc_intrinsic_id)i);
        have |= (tc_intrinsic_set)(has_features(t, r->feature) && (!r->vector || r->vector == vector_bytes)) << i;
    }
    return have;
}

/* Caches and cores of a target that is not this machine: what is common among servers. `bytes`: width of vectors, 0: the target's
 * own. */
void tc_cg_default_machine(const tc_target *t, int bytes, tc_machine *m) {
    int masked = tc_cg_fact_of(t, TC_CG_MASKED_FROM);
    *m = (tc_machine){.cores = 4, .l3 = 16 << 20, .line = 64};
    m->vector_bytes = bytes ? bytes : or_common(tc_cg_fact_of(t, TC_CG_VECTOR_BYTES), 16);
    m->vector_regs = or_common(tc_cg_fact_of(t, TC_CG_VECTOR_REGS), 32);
    m->masks = masked && m->vector_bytes >= masked;
    m->fma = tc_cg_fact_of(t, TC_CG_FMA);
    m->load_store = tc_cg_fact_of(t, TC_CG_LOAD_STORE);
    m->l1 = or_common(tc_cg_fact_of(t, TC_CG_L1_KIB), 32) << 10;
    m->l2 = or_common(tc_cg_fact_of(t, TC_CG_L2_KIB), 1024) << 10;
    m->intrinsics = intrinsics(t, m->vector_bytes);
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
