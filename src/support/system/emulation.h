/* Whether the processor that this process sees is a program: qemu's user emulation, which tests run what was built for other machines with.
 * Results are those of such a processor, times are not. */
#ifndef TC_SUPPORT_SYSTEM_EMULATION_H
#define TC_SUPPORT_SYSTEM_EMULATION_H

#include <stdbool.h>

/* Asked of files: not by a process that may read none. */
bool tc_is_emulated(void);
/* The command that runs `program` with one argument as this one is run: an emulator starts no other program by itself, unless the kernel is
 * told how. NULL: this process is not emulated, or how it was started is not known. One block, to be given back with free(). */
char **tc_emulated_command(const char *program, const char *argument);

#endif
