/* src/codegen/target owns what code is made for: targets by name, instruction sets and CPUs (isa.def), the facts of
 * this machine (cpuid.def, midr.def), and what LLVM is asked about them. Not here: rates that are measured
 * (src/measure/machine). */
#ifndef TC_CODEGEN_TARGET_TARGET_H
#define TC_CODEGEN_TARGET_TARGET_H

#include <stdbool.h>

#include "support/status.h"
#include "tir_lower/tir.h"

/* What code is made for. Its text is stable and part of every record: two targets with equal text get equal code. */
typedef struct tc_target {
    char *text;     /* "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=znver4 -mattr=+avx512f,... -vector-bytes=64" */
    char *triple;   /* "x86_64-pc-linux-gnu" */
    char *cpu;      /* "znver4"; "generic" when none was named */
    char *features; /* "+avx512f,-amx-tile,..." or "" */
    bool native;    /* runs in this process: same architecture, and every feature used is present here */
    tc_machine machine;
} tc_target;

/* Reads a target, without LLVM where it is of Linux on one of our instruction sets: "native" (this machine, detected now), "llvm
 * -mtriple=T [-mcpu=C] [-mattr=+a,-b] [-vector-bytes=N] [-cores=N]", or the short name of a known CPU ("skylake-avx512",
 * "znver4", "neoverse-n1", "rv64gcv", ...: tc_target_names). TC_BAD_INPUT for what is none of them, for a feature that is not
 * known, and for vectors wider than the target's, says how to name one. AArch64's vectors are NEON's unless -vector-bytes names
 * the width of SVE registers; RISC-V's come from +v and +zvl256b. `text` of a parsed target parses to an equal target, except
 * that caches and cores are not part of it: for a target that is not native they are typical values. */
TC_NODISCARD tc_status tc_target_parse(const char *text, tc_target **out, tc_error *err);
void tc_target_free(tc_target *t); /* NULL is fine */
/* Asks the machine what targets need to know of it, which a process that closes its sandbox could not ask later. */
void tc_target_ask_machine(void);
/* Whether the triple's instruction set is this machine's, whatever it adds to the baseline. */
bool tc_target_is_host_isa(const char *triple);
const char *const *tc_target_names(void); /* short names, NULL-terminated */
const char *tc_cg_llvm_version(void);     /* "19.1.7" */

#endif
