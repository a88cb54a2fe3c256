/* Where this build of tctune lies on the disk, and what was installed with it. */
#ifndef TC_SUPPORT_SYSTEM_PLACE_H
#define TC_SUPPORT_SYSTEM_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* The program that this process runs; false, and "", when that cannot be told. */
bool tc_place_program(char out[PATH_MAX]);
/* The folder of the program or library that this code is linked into; false when that cannot be told. */
bool tc_place_own(char out[PATH_MAX]);
/* Whether that is the program itself, not a library that it uses. */
bool tc_place_is_program(void);
/* The first of n paths, relative to that folder, that leads to something; false: none does. */
bool tc_place_find(const char *const *paths, size_t n, char out[PATH_MAX]);

#endif
