/* The program or library that this code is linked into, as the loader has it. */
#ifndef TC_SUPPORT_SYSTEM_IMAGE_INT_H
#define TC_SUPPORT_SYSTEM_IMAGE_INT_H

#include <link.h>

/* Calls fn with it once, or never where the loader does not know it. */
void tc_own_image(void (*fn)(const struct dl_phdr_info *info, void *user), void *user);

#endif
