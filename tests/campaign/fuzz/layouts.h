/* Inputs of the target `layouts`: the text of a schedule. Its first line names the kernel, `# of gemm`; any other first line means
 * the first kernel of the table in read_layouts.c. */
#ifndef TC_TESTS_FUZZ_LAYOUTS_H
#define TC_TESTS_FUZZ_LAYOUTS_H

#include "schedule_primitives/schedule.h"
#include "tir_lower/oracle.h"

typedef struct fuzz_kernel {
    const char *name, *text;
    tc_ctx *ctx; /* its schedules live in children of this context */
    const tc_workload *w, *canonical;
    oracle results;
} fuzz_kernel;

extern const int fuzz_nkernels;
/* Parsed and interpreted when it is first asked for. */
const fuzz_kernel *fuzz_kernel_at(int i);
const fuzz_kernel *fuzz_kernel_of(const char *text);

#endif
