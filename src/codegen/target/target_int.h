/* What the files of targets share. */
#ifndef TC_CODEGEN_TARGET_TARGET_INT_H
#define TC_CODEGEN_TARGET_TARGET_INT_H

#include "codegen/target/isa.h"

/* This machine as the system tells of it (host.c). Sizes are bytes, 0 or less where they are not known. */
typedef struct tc_cg_host {
    char *triple, *cpu, *features;
    int64_t l1, l2, l3, line;
} tc_cg_host;
const tc_cg_host *tc_cg_this_host(void);

/* ---- machine.c ---- */
void tc_cg_detect_machine(tc_machine *m);
void tc_cg_default_machine(const tc_target *t, int vector_bytes, tc_machine *m);
int tc_cg_widest_vector(const tc_target *t); /* bytes */

bool tc_cg_tiles_work(void); /* here; asks a child process (probe.c) */

#endif
