/* src/codegen/llvm owns the loading of LLVM's library, and the list of the LLVM functions that tctune calls
 * (names.def). Not here: any use of these functions (src/codegen/code).
 *
 * LLVM is opened when a function of it is first called. Most commands never compile, and neither do processes that run
 * what others compiled: they save the tenth of a second that loading takes, and work where LLVM is not installed. A
 * call of a function that names.def does not list fails at link time. */
#ifndef TC_CODEGEN_LLVM_ON_DEMAND_H
#define TC_CODEGEN_LLVM_ON_DEMAND_H

#include "support/status.h"

/* Loads LLVM, which then stays until the process ends. A call of an LLVM function before this ends the process. Any thread may call
 * it. After a failure the next call tries again. TC_ENV: the library cannot be opened, or is not the version of the build; the
 * message says what to do. */
TC_NODISCARD tc_status tc_llvm_load(tc_error *err);
bool tc_llvm_is_loaded(void);

#endif
