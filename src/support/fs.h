/* Files: whole reads, atomic writes (temporary file in the same folder, fsync, rename), temporary folders. */
#ifndef TC_SUPPORT_FS_H
#define TC_SUPPORT_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/status.h"

/* Reads a whole file; *data is malloc'ed, NUL-terminated past *size (size may be NULL). TC_BAD_INPUT if missing or a folder. */
TC_NODISCARD tc_status tc_fs_read(const char *path, char **data, size_t *size, tc_error *err);
/* Writes atomically: either the old or the new content is there, also on a full disk. TC_ENV with the reason. */
TC_NODISCARD tc_status tc_fs_write(const char *path, const void *data, size_t size, tc_error *err);
/* Moves a finished file to its place, as atomically, also to another file system; the content is never held in memory as a whole.
 */
TC_NODISCARD tc_status tc_fs_move(const char *from, const char *to, tc_error *err);
/* TC_ENV with a clear message unless a file at `path` could be created or overwritten (its folder exists and is writable). */
TC_NODISCARD tc_status tc_fs_check_writable(const char *path, tc_error *err);
/* Creates "$TMPDIR/tctune-XXXXXX"; *out is malloc'ed. */
TC_NODISCARD tc_status tc_fs_temp_dir(char **out, tc_error *err);
void tc_fs_remove_tree(const char *dir);
bool tc_fs_exists(const char *path);
bool tc_fs_is_dir(const char *path);
/* Folder part of path, malloc'ed ("." if none). */
char *tc_fs_dirname(const char *path);

#endif
