/* malloc and its family in front of the system's, which refuse what they are told to. Only requests of tctune itself, of libc and
 * of the libraries in C that tctune uses are counted and refused; LLVM, XGBoost, OpenMP and C++ end the process when they are
 * refused, which docs/RELIABILITY.md says. */
#ifndef TC_TESTS_REFUSE_H
#define TC_TESTS_REFUSE_H

#include <stdbool.h>

/* From now on the at-th request is refused, counted from 1, and where `all` is set, all after it too. at 0: none. */
void refuse_begin(long at, bool all);
/* Nothing is refused any more; how many requests there were since refuse_begin. */
long refuse_end(void);
/* How many of these were refused. */
long refuse_count(void);

#endif
