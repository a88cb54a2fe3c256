/* Limits on resources, capabilities, and who goes first when memory runs out. */
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measure/sandbox/sandbox_int.h"
#include "support/system/ulimit.h"
#include "support/vec.h"

enum {
    LOG_LIMIT = 64 << 20, /* bytes of a file: bounds a kernel that prints for ever */
    FILES = 64            /* loading LLVM and compiling take a handful */
};

/* Addresses that a thread takes: its stack, and the allocator's arena, which is mapped at twice its size to be aligned. */
static const uint64_t THREAD_ADDRESSES = (8 + 2 * 64) << 20;
/* And what a process takes besides its limit of memory: guard pages, large pages' alignment, code that is loaded. */
static const uint64_t SPARE_ADDRESSES = (uint64_t)2 << 30;

/* Never above what is allowed by now: a limit that cannot be raised would not be set at all. */
static void lower(int what, uint64_t n) {
    struct rlimit r;
    if (getrlimit(what, &r) == 0) {
        rlim_t to = r.rlim_max < n ? r.rlim_max : n;
        setrlimit(what, &(struct rlimit){to, to});
    }
}

/* The kernel is to end workers for want of memory, not who started them; that they may wish for themselves. */
static void offer_first(void) {
    static const char most[] = "1000";
    int f = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    ssize_t ignored = f < 0 ? 0 : write(f, most, sizeof most - 1);
    (void)ignored;
    if (f >= 0)
        close(f);
}

void tc_sandbox_limit(uint64_t memory) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    offer_first();
    tc_cpu_limit_warns();
    lower(RLIMIT_CORE, 0);
    lower(RLIMIT_FSIZE, LOG_LIMIT);
    lower(RLIMIT_NOFILE, FILES);
    lower(RLIMIT_MSGQUEUE, 0);
#ifndef TCTUNE_SANITIZED
    lower(RLIMIT_MEMLOCK, 0);
    if (memory)
        lower(RLIMIT_DATA, memory);
#else
    (void)memory;
#endif
}

/* Addresses mapped by now; 0: not known. */
static uint64_t mapped(void) {
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    bool known = f && fscanf(f, "%llu", &pages) == 1;
    if (f)
        fclose(f);
    return known ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Page tables are no one's memory but the machine's, and a process that touches a page here and there over all addresses fills it
 * with them. */
void tc_sandbox_limit_addresses(const tc_sandbox *s) {
    struct rlimit data;
    uint64_t now = mapped();
    if (now && getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY)
        lower(RLIMIT_AS, now + data.rlim_cur + SPARE_ADDRESSES + (uint64_t)TC_MAX(s->threads, 1) * THREAD_ADDRESSES);
}

/* Of root, who may be all there is in a container. A process without any is refused nothing here. */
void tc_sandbox_drop_capabilities(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    for (int c = 0; c <= CAP_LAST_CAP; c++)
        prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
    syscall(SYS_capset, &header, none);
}
