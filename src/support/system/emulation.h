/* Is the processor that this process sees a program? Tests use qemu's user emulation for code of other machines, and x86-64
 * processors say when their whole machine is emulated. Results on an emulated processor are right, times are not. */
#ifndef TC_SUPPORT_SYSTEM_EMULATION_H
#define TC_SUPPORT_SYSTEM_EMULATION_H

#include <stdbool.h>
#include <stdint.h>

/* Asked of files: not by a process that may read none. */
bool tc_is_emulated(void);
/* What CPUID says is qemu's own processor, not a real one that it, or another, lets a guest run on: features is ECX of leaf 1,
 * vendor EBX, ECX and EDX of leaf 0x40000000. */
bool tc_cpuid_is_emulator(uint32_t features, const uint32_t vendor[3]);
/* The command that runs `program` with one argument as this one is run: an emulator starts no other program by itself, unless the
 * kernel is told how. NULL: no such program runs this process, or how it was started is not known. One block, to be given back
 * with free(). */
char **tc_emulated_command(const char *program, const char *argument);

#endif
