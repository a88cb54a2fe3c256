/* The layers of the sandbox. Each layer appends to `lacks` what it could not restrict. */
#ifndef TC_MEASURE_SANDBOX_SANDBOX_INT_H
#define TC_MEASURE_SANDBOX_SANDBOX_INT_H

#include "measure/sandbox/sandbox.h"

/* Bounds the address space, by what is mapped by now and what the memory limit and the threads add. */
void tc_sandbox_limit_addresses(const tc_sandbox *s);
void tc_sandbox_drop_capabilities(void);
void tc_sandbox_landlock(const tc_sandbox *s, tc_strbuf *lacks);
void tc_sandbox_seccomp(const tc_sandbox *s, tc_strbuf *lacks);

#endif
