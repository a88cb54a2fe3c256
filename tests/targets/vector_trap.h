/* Dot products of vectors on CPUs that lack them: a handler of SIGILL decodes the instruction, carries it out on the registers
 * that the interrupted code will go on with, and goes on behind it. It knows those that the rows of intrinsics.def for x86 name:
 * vpdpbusd, vpdpbssd, vpdpbsud and vpdpbuud with VEX, vpdpbusd and vdpbf16ps with EVEX, and vpdpwssd, which LLVM makes of sums of
 * words; of all widths, with operands in memory, one element for all lanes, and masks. Any other illegal instruction ends the
 * program with a message. */
#ifndef TC_TESTS_TARGETS_VECTOR_TRAP_H
#define TC_TESTS_TARGETS_VECTOR_TRAP_H

#include <stdint.h>

/* Installs the handler, for all threads. */
void vector_trap_install(void);
/* How many instructions were carried out until now, by all threads. */
int64_t vector_trap_count(void);

#endif
