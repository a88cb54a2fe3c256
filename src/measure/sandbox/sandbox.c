/* The order of the layers: each needs what the next takes away. */
#include "measure/sandbox/sandbox_int.h"

void tc_sandbox_enter(const tc_sandbox *s, tc_strbuf *lacks) {
    tc_sandbox_limit_addresses(s);
    tc_sandbox_landlock(s, lacks);
    tc_sandbox_drop_capabilities();
    tc_sandbox_seccomp(s, lacks);
}
