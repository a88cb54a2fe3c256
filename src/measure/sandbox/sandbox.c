/* The order of the layers: each layer needs rights that the next layer takes away. */
#include <dlfcn.h>
#include <sys/prctl.h>

#include "measure/sandbox/sandbox_int.h"

/* glibc opens GCC's library when a thread first calls pthread_exit, as GNU's OpenMP does when it ends a team, and ends the
 * process where it cannot. Where it is not to be had, nothing here wants it. */
static void open_unwinder(void) {
    static const char UNWINDER[] = "libgcc_s.so.1";
    (void)dlopen(UNWINDER, RTLD_NOW | RTLD_LOCAL);
}

void tc_sandbox_enter(const tc_sandbox *s, tc_strbuf *lacks) {
    open_unwinder();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); /* Landlock and the filter ask for it, of users without rights */
    tc_sandbox_limit_addresses(s);
    tc_sandbox_landlock(s, lacks);
    tc_sandbox_drop_capabilities();
    tc_sandbox_seccomp(s, lacks);
}
