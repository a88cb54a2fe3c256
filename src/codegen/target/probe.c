/* Can instructions that the system promises be executed? Some virtual machines promise tiles and then end a program that uses
 * them. So a child process tries. It makes only system calls and executes a few instructions, so locks that other threads of
 * this process hold do no harm. It says in shared memory that it came to the end: a program that ignores SIGCHLD is not told how a
 * child ended. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "codegen/target/target_int.h"
#include "support/system/child.h"

#ifdef __x86_64__
/* A configuration of one tile, a zero in it, and its release; the assembler need not know the instructions. */
static void use_tiles(void) {
    static const unsigned char CONFIG[64] __attribute__((aligned(64))) = {[0] = 1, [16] = 64, [48] = 16};
    __asm__ volatile("mov %0, %%rax\n\t"
                     ".byte 0xc4, 0xe2, 0x78, 0x49, 0x00\n\t" /* ldtilecfg (%rax) */
                     ".byte 0xc4, 0xe2, 0x7b, 0x49, 0xc0\n\t" /* tilezero %tmm0 */
                     ".byte 0xc4, 0xe2, 0x78, 0x49, 0xc0"     /* tilerelease */
                     ::"r"(CONFIG)
                     : "rax", "memory");
}

static void try_tiles(volatile bool *worked) {
    enum { REQ_XCOMP_PERM = 0x1023, TILE_DATA = 18 };
    static const int ENDS[] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE};
    for (size_t i = 0; i < TC_LEN(ENDS); i++)
        signal(ENDS[i], SIG_DFL);
    if (syscall(SYS_arch_prctl, REQ_XCOMP_PERM, TILE_DATA))
        _exit(1);
    use_tiles();
    *worked = true;
    _exit(0);
}

static bool tiles;

static void probe(void) {
    int ignored;
    volatile bool *worked = mmap(NULL, sizeof *worked, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (worked == MAP_FAILED)
        return;
    pid_t child = fork();
    if (child == 0)
        try_tiles(worked);
    if (child > 0)
        (void)tc_child_wait(child, &ignored);
    tiles = *worked;
    munmap((void *)(uintptr_t)worked, sizeof *worked);
}

bool tc_cg_tiles_work(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, probe);
    return tiles;
}
#else
bool tc_cg_tiles_work(void) {
    return false;
}
#endif
