/* What kernels call for their parallel loops: in this process, on a team of its own (src/codegen/team); and an object for libraries
 * that shall use the team of OpenMP's runtime. */
#ifndef TC_CODEGEN_ARTEFACTS_RUNTIME_H
#define TC_CODEGEN_ARTEFACTS_RUNTIME_H

#include <stddef.h>

#include "codegen/target/target.h"
#include "support/status.h"
#include "tctune/runtime.h"

/* A runtime on a team of this process; nthreads >= 1, or 0 for every core of the machine. Holds no memory: a plain value. A child of fork
 * has a team of its own. */
tc_rt tc_cg_runtime(int nthreads);
/* The same for measuring: all threads take part in each loop, however crowded the machine is (TC_TEAM_PATIENT). */
tc_rt tc_cg_measuring_runtime(int nthreads);

/* Object that defines `int32_t NAME(const tc_rt *, int64_t n, tc_rt_body *, void *closure)`, a parallel_for over OpenMP's runtime
 * (GOMP_parallel), for libraries that must run without tctune. What links it runs after fork in both processes. */
TC_NODISCARD tc_status tc_cg_emit_runtime(const tc_target *t, const char *name, void **obj, size_t *size, int64_t *stack,
                                          tc_error *err);

#endif
