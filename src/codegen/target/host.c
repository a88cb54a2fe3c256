/* What the system and LLVM tell of this machine, asked once in the life of a process: what does not change need not be read again, and
 * a process that has closed its sandbox could not read it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "codegen/target/llvm.h"
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

/* LLVM asks /proc/cpuinfo, which has not all features that our code uses, and under an emulator none of its processor's: the kernel, or the
 * emulator in its place, tells each process. */
#ifdef __aarch64__
static char *features_of_host(void) {
    static const struct {
        unsigned long word;
        int bit;
        const char *text;
    } TOLD[] = {{AT_HWCAP, 20, ",+dotprod"},
                {AT_HWCAP, 22, ",+sve"},
                {AT_HWCAP2, 1, ",+sve2"},
                {AT_HWCAP2, 13, ",+i8mm"},
                {AT_HWCAP2, 14, ",+bf16"}};
    tc_strbuf b = {0};
    char *known = tc_cg_own_text(LLVMGetHostCPUFeatures());
    tc_sb_add(&b, known);
    free(known);
    for (size_t i = 0; i < TC_LEN(TOLD); i++)
        if (getauxval(TOLD[i].word) >> TOLD[i].bit & 1)
            tc_sb_add(&b, TOLD[i].text);
    char *all = tc_xstrdup(tc_sb_str(&b));
    tc_strbuf_free(&b);
    return all;
}
#else
static char *features_of_host(void) {
    return tc_cg_own_text(LLVMGetHostCPUFeatures());
}
#endif

static tc_cg_host host;

static void ask(void) {
    host = (tc_cg_host){
        .triple = tc_cg_own_text(LLVMGetDefaultTargetTriple()),
        .cpu = tc_cg_own_text(LLVMGetHostCPUName()),
        .features = features_of_host(),
        .l1 = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 1),
        .l2 = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 2),
        .l3 = cache_bytes(_SC_LEVEL3_CACHE_SIZE, 3),
        .line = sysconf(_SC_LEVEL1_DCACHE_LINESIZE),
    };
}

/* What memory ran out for is asked again by the next call of the library: nobody holds the former texts then. */
const tc_cg_host *tc_cg_this_host(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool known;
    pthread_mutex_lock(&lock);
    if (!known) {
        free(host.triple);
        free(host.cpu);
        free(host.features);
        ask();
        known = !tc_ran_out();
    }
    pthread_mutex_unlock(&lock);
    return &host;
}
