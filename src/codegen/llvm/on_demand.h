/* LLVM's library, opened when something of it is first wanted: most commands, and processes that only run what others compiled, never
 * want any, and then neither the time to load it (a tenth of a second) nor the library itself is needed. Every function of LLVM that is
 * called is named in names.def; calls of the others do not link. */
#ifndef TC_CODEGEN_LLVM_ON_DEMAND_H
#define TC_CODEGEN_LLVM_ON_DEMAND_H

#include "support/status.h"

/* After this, functions of LLVM may be called; before, they end the process. It stays until the process ends. From any thread.
 * What failed, for want of memory perhaps, is tried again by the next call. TC_ENV where the library cannot be opened, or is another than the one of the build; the message says what to do. */
TC_NODISCARD tc_status tc_llvm_load(tc_error *err);
bool tc_llvm_is_loaded(void);

#endif
