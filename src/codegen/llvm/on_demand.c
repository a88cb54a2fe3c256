/* See on_demand.h. Each name has a slot for the function's address in LLVM's library, filled once the library is open, and a
 * function of that name that jumps there and leaves all arguments where they are. So LLVM's own headers stay as they are, and
 * compilers check the calls. */
#include "codegen/llvm/on_demand.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/say.h"
#include "support/vec.h"

#if defined(__x86_64__)
#define JUMP(slot) "jmp *" slot "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(slot) "adrp x16, " slot "\nldr x16, [x16, :lo12:" slot "]\nbr x16\n"
#elif defined(__riscv) && __riscv_xlen == 64
#define JUMP(slot) "1:\nauipc t1, %pcrel_hi(" slot ")\nld t1, %pcrel_lo(1b)(t1)\njr t1\n"
#else
#error "say how this processor jumps to an address that is in memory"
#endif

static void __attribute__((noreturn)) too_early(void) {
    tc_say(stderr, "tctune: a function of LLVM is called before tc_llvm_load (a bug of tctune)\n");
    abort();
}

/* Not static, so that the assembler knows them by name; nothing outside sees them. */
#define NAME(function)                                                                                                           \
    void (*tc_llvm_slot_##function)(void) = too_early;                                                                           \
    __asm__(".pushsection .text\n.balign 16\n.globl " #function "\n.hidden " #function "\n.type " #function                      \
            ", @function\n" #function ":\n" JUMP("tc_llvm_slot_" #function) ".size " #function ", .-" #function                  \
                                                                            "\n.popsection\n");
#include "codegen/llvm/names.def"

static const struct {
    const char *name;
    void (**slot)(void);
} NAMES[] = {
#define NAME(function) {#function, &tc_llvm_slot_##function},
#include "codegen/llvm/names.def"
};

static _Atomic bool loaded;

/* By the name that programs are linked with it; and where the loader knows no such name, by where it was when tctune was built. */
static void *open_library(tc_error *err) {
    static const char *const FILES[] = {TCTUNE_LLVM_SONAME, TCTUNE_LLVM_FILE};
    char why[512] = "";
    for (size_t i = 0; i < TC_LEN(FILES); i++) {
        void *library = dlopen(FILES[i], RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
        const char *said = dlerror();
        if (!*why)
            snprintf(why, sizeof why, "%s", said ? said : "the loader does not say why");
    }
    tc_fail(err, TC_ENV,
            "compiling needs LLVM's library, which cannot be opened: %s. Debian has it in the package %s. A machine without it "
            "can still "
            "measure for a fleet: tctune worker --role measure",
            why, TCTUNE_LLVM_PACKAGE);
    return NULL;
}

static tc_status load(tc_error *err) {
    void *library = open_library(err);
    if (!library)
        return TC_ENV;
    for (size_t i = 0; i < TC_LEN(NAMES); i++) {
        void *at = dlsym(library, NAMES[i].name);
        if (!at)
            return tc_fail(err, TC_ENV, "LLVM's library %s has no %s: it is not the version that tctune was built with",
                           TCTUNE_LLVM_SONAME, NAMES[i].name);
        *(void **)(void *)NAMES[i].slot = at;
    }
    loaded = true;
    return TC_OK;
}

tc_status tc_llvm_load(tc_error *err) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (loaded)
        return TC_OK;
    pthread_mutex_lock(&lock);
    tc_status s = loaded ? TC_OK : load(err);
    pthread_mutex_unlock(&lock);
    return s;
}

bool tc_llvm_is_loaded(void) {
    return loaded;
}
