/* The folder for what serves this user's later commands: compiled kernels (codegen/artefacts/cache.h), what was measured of
 * the machine, and a secret (secret.h). Its content is trusted. So it is made for this user alone, and a folder that others
 * own or can write to is not used. */
#ifndef TC_SUPPORT_SYSTEM_USER_FOLDER_H
#define TC_SUPPORT_SYSTEM_USER_FOLDER_H

#include <stdbool.h>
#include <sys/stat.h>

#include "support/status.h"

/* $TCTUNE_CACHE ("off": none), else $XDG_CACHE_HOME/tctune, else ~/.cache/tctune; made if need be. NULL: none that may be used.
 * malloc'ed. */
char *tc_user_folder(void);
/* TC_ENV when it is there but is not used because of whom it belongs to: what to do about it. */
TC_NODISCARD tc_status tc_user_folder_check(tc_error *err);
/* A descriptor of that folder, or where path is not NULL of another one of its kind; made if need be. What its name leads to
 * later does not matter. -1: there is none, or it must not be used; only of the latter *err tells. */
int tc_user_folder_open(const char *path, tc_error *err);
/* Nobody but this user (and root, who could do anything anyway) writes to it. */
bool tc_is_ours(const struct stat *st);

#endif
