/* Facts of this machine, from the system and the processor; LLVM is asked only about the rest. A process reads them once, because
 * they do not change, and because a process that has closed its sandbox can no longer read them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "codegen/target/llvm.h"
#include "codegen/target/needs.h"
#include "codegen/target/target_int.h"
#include "support/system/fs.h"
#include "support/vec.h"

/* "32K", "1024K", "32M"; 0 when the file is not there. */
static int64_t read_size(const char *path) {
    char text[32];
    long long n = 0;
    char unit = 0;
    text[tc_fs_read_head(path, text, sizeof text - 1)] = 0;
    int got = sscanf(text, "%lld%c", &n, &unit);
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
        bool code = tc_fs_read_head(path, text, 5) == 5 && !strncmp(text, "Instr", 5);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (!code)
            return read_size(path);
    }
    return 0;
}

static int64_t cache_bytes(int name, int level) {
    /* /sys first: in virtual machines sysconf may tell of the whole socket. */
    int64_t v = cache_of_level(level);
    return v > 0 ? v : sysconf(name);
}

/* ---- what it can do ---- */

#if defined(__x86_64__)
static const tc_cg_isa_id ISA = TC_CG_X86;

static const char *own_name(void) {
    return tc_cg_cpuid_name();
}

static void own_features(tc_strbuf *b) {
    tc_cg_cpuid_features(b);
}

static void own_registers(tc_cg_host *h) {
    (void)h;
}
#elif defined(__aarch64__)
static const tc_cg_isa_id ISA = TC_CG_ARM;

/* Emulators show that of the machine beneath, or their own: in the one case LLVM finds no AArch64 processor there, either. */
static const char *own_name(void) {
    char *cpuinfo;
    if (tc_fs_read_text("/proc/cpuinfo", &cpuinfo, NULL) != TC_OK)
        return tc_cg_arm_name("");
    const char *name = tc_cg_arm_name(cpuinfo);
    free(cpuinfo);
    return name;
}

static void own_registers(tc_cg_host *h) {
    enum { PR_SVE_GET_VL_ = 51, WIDTH = 0xffff };
    int told = prctl(PR_SVE_GET_VL_, 0, 0, 0, 0);
    h->vector_bytes = told < 0 ? 0 : told & WIDTH;
}

/* LLVM asks /proc/cpuinfo, which tells of the same bits as hwcap.def, for fewer features than our code uses, and under an emulator of
 * none of its processor's. */
static void own_features(tc_strbuf *b) {
    int n;
    const tc_cg_hwcap *told = tc_cg_hwcaps(&n);
    for (int i = 0; i < n; i++)
        if ((getauxval(AT_HWCAP) & told[i].bits[0]) == told[i].bits[0] &&
            (getauxval(AT_HWCAP2) & told[i].bits[1]) == told[i].bits[1])
            tc_sb_printf(b, "%s+%s", b->len ? "," : "", told[i].name);
}
#else
static const tc_cg_isa_id ISA = TC_CG_RISCV;

/* Only LLVM knows. */
static const char *own_name(void) {
    return NULL;
}

static void own_features(tc_strbuf *b) {
    if (tc_cg_llvm_init(NULL) != TC_OK)
        return;
    char *known = tc_cg_own_text(LLVMGetHostCPUFeatures());
    tc_sb_add(b, known);
    free(known);
}
#endif

#ifdef __riscv
/* As code of a library asks (codegen/artefacts/cpu.c). */
static void own_registers(tc_cg_host *h) {
    enum { HWPROBE = 258, IMA_EXT_0 = 4, V = 'v' - 'a' };
    struct {
        int64_t key;
        uint64_t value;
    } pair = {IMA_EXT_0, 0};
    unsigned long bytes = 0;
    h->letters = getauxval(AT_HWCAP);
    h->probed = syscall(HWPROBE, &pair, 1L, 0L, NULL, 0L) == 0 ? pair.value : UINT64_MAX;
    if (h->letters >> V & 1)
        __asm__ volatile("csrr %0, 0xc22" : "=r"(bytes)); /* vlenb */
    h->vector_bytes = (int)bytes;
}
#endif

static char *taken(tc_strbuf *b) {
    char *text = tc_xstrdup(tc_sb_str(b));
    tc_strbuf_free(b);
    return text;
}

static tc_cg_host host;

static void ask(void) {
    tc_strbuf features = {0};
    own_features(&features);
    host = (tc_cg_host){
        .triple = tc_cg_isa_row(ISA)->triple,
        .cpu = own_name(),
        .features = taken(&features),
        .l1 = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 1),
        .l2 = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 2),
        .l3 = cache_bytes(_SC_LEVEL3_CACHE_SIZE, 3),
        .line = sysconf(_SC_LEVEL1_DCACHE_LINESIZE),
    };
    own_registers(&host);
}

/* What memory ran out for is asked again by the next call of the library: nobody holds the former texts then. */
const tc_cg_host *tc_cg_this_host(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool known;
    pthread_mutex_lock(&lock);
    if (!known) {
        free(host.features);
        ask();
        known = !tc_ran_out();
    }
    pthread_mutex_unlock(&lock);
    return &host;
}

/* ---- what it is called ---- */

typedef struct named {
    char *cpu, *features;
} named;
static named by_llvm;

static tc_status ask_llvm(named *n, tc_error *err) {
    tc_strbuf b = {0};
    tc_status s = tc_cg_llvm_init(err);
    if (s != TC_OK) {
        tc_error_prefix(err, "without LLVM the processor of this machine is not known; name its target with --target: ");
        return s;
    }
    char *known = tc_cg_own_text(LLVMGetHostCPUFeatures());
    tc_sb_add(&b, known);
    free(known);
    *n = (named){tc_cg_own_text(LLVMGetHostCPUName()), taken(&b)};
    return TC_OK;
}

static tc_status name_by_llvm(const char **cpu, const char **features, tc_error *err) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool known;
    tc_status s = TC_OK;
    pthread_mutex_lock(&lock);
    if (!known) {
        free(by_llvm.cpu);
        free(by_llvm.features);
        by_llvm = (named){0};
        s = ask_llvm(&by_llvm, err);
        known = s == TC_OK && !tc_ran_out();
    }
    *cpu = by_llvm.cpu;
    *features = by_llvm.features;
    pthread_mutex_unlock(&lock);
    return s;
}

tc_status tc_cg_name_host(const char **cpu, const char **features, tc_error *err) {
    *cpu = tc_cg_this_host()->cpu;
    *features = tc_cg_this_host()->features;
    return *cpu ? TC_OK : name_by_llvm(cpu, features, err);
}
