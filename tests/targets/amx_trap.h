/* Tile instructions on CPUs that have none: a handler of SIGILL decodes them, carries them out and goes on behind them. What it
 * does is proved against results taken from hardware (test_amx.c), so kernels with tiles are tested on any x86-64. */
#ifndef TC_TESTS_TARGETS_AMX_TRAP_H
#define TC_TESTS_TARGETS_AMX_TRAP_H

#include <stdbool.h>
#include <stdint.h>

/* Whether this process may execute tile instructions: asks the CPU and the system, and asks for the permission. */
bool amx_native(void);
/* Installs the handler, for all threads. What it cannot carry out (another illegal instruction, a tile of the wrong shape) ends
 * the program with a message. */
void amx_trap_install(void);
/* How many tile instructions were carried out until now, by all threads; and whether a thread that calls this has its tiles
 * configured, which a kernel must not leave behind. */
int64_t amx_trap_count(void);
bool amx_trap_configured(void);

#endif
