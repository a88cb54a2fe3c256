/* src/support/system owns all that the operating system is asked for: files and scratch folders, how much memory is
 * free, how many threads a process can have, the names of this machine and of this build, whether the processor is
 * emulated, the user's folder and the secret in it, and the stop flag. Not here: processes that are started
 * (src/measure/process) and clocks (src/support/clock).
 *
 * Files: whole reads, atomic writes (a temporary file in the same folder, fsync, rename), temporary folders. */
#ifndef TC_SUPPORT_SYSTEM_FS_H
#define TC_SUPPORT_SYSTEM_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/status.h"

/* ---- files that are read ---- */

/* Opens a regular file for reading; *size is what the system says of it now. TC_BAD_INPUT if it is missing or something else: a
 * folder, a device, a pipe, a socket. Never waits. Every file that a user names is opened here, or beneath a folder (below). */
TC_NODISCARD tc_status tc_fs_open(const char *path, int *fd, size_t *size, tc_error *err);
/* The same check of a file that is open. */
TC_NODISCARD tc_status tc_fs_check_regular(int fd, const char *path, size_t *size, tc_error *err);
/* Reads a whole regular file; *data is malloc'ed, NUL-terminated past *size (size may be NULL). The size is asked first: nothing is
 * read of a file that memory cannot hold. TC_BAD_INPUT also for a pointer of Git LFS; TC_ENV if another program wrote to the file
 * meanwhile. */
TC_NODISCARD tc_status tc_fs_read(const char *path, char **data, size_t *size, tc_error *err);
/* The same of at most `most` bytes: TC_BAD_INPUT, before anything is read, for a file that has more. */
TC_NODISCARD tc_status tc_fs_read_most(const char *path, size_t most, char **data, size_t *size, tc_error *err);
/* Is this, the first `size` bytes of a file that may have more, the text that Git LFS keeps in the place of contents that it has not
 * fetched? Reads of whole files refuse it. */
bool tc_fs_is_lfs_pointer(const void *head, size_t size);
/* The failure, TC_BAD_INPUT: says so, and what to type. */
tc_status tc_fs_lfs_pointer(const char *path, tc_error *err);
/* TC_BAD_INPUT if the file is such a text; TC_OK also where it cannot be read. */
TC_NODISCARD tc_status tc_fs_refuse_lfs_pointer(const char *path, tc_error *err);
/* The same of a text, which may also come from a terminal or from a pipe without a name: /dev/stdin, <(...). TC_BAD_INPUT with the
 * line where a byte is zero: a text would end there. */
TC_NODISCARD tc_status tc_fs_read_text(const char *path, char **text, tc_error *err);
TC_NODISCARD tc_status tc_fs_read_text_most(const char *path, size_t most, char **text, tc_error *err);
/* The first n bytes of a regular file; how many there are, 0 where it cannot be read. */
size_t tc_fs_read_head(const char *path, void *head, size_t n);
/* A descriptor of a file in `dir` or below: no part of the path may be a symbolic link or lead up. -1 with errno: ELOOP or
 * ENOTDIR for a link, EXDEV for what leads out. It may be no regular file, and opening it waits for nobody. */
int tc_fs_open_beneath(const char *dir, const char *path);

/* ---- files that are written ---- */

/* Writes atomically: either the old or the new content is there, also on a full disk. A device, a pipe, and an open file that has
 * the name /dev/stdout or /dev/fd/N get the bytes where they are. TC_ENV with the reason. */
TC_NODISCARD tc_status tc_fs_write(const char *path, const void *data, size_t size, tc_error *err);
/* Writes a file of a scratch folder (scratch.h): at once in its place, and not waited for until it is on the disk. TC_ENV. */
TC_NODISCARD tc_status tc_fs_write_scratch(const char *path, const void *data, size_t size, tc_error *err);
/* All of the bytes to an open file; false with errno. */
bool tc_fs_write_all(int fd, const void *data, size_t size);
/* Moves a finished file to its place, as atomically, also to another file system; the content is never held in memory as a
 * whole. */
TC_NODISCARD tc_status tc_fs_move(const char *from, const char *to, tc_error *err);
/* A new file: bytes, or where `from` is not NULL that finished file, which is moved. */
typedef struct tc_fs_new {
    const char *path;
    const void *data;
    size_t size;
    const char *from;
} tc_fs_new;
/* Writes files that belong together: each is complete beside its place before the first one takes it. */
TC_NODISCARD tc_status tc_fs_write_files(const tc_fs_new *files, size_t n, tc_error *err);
/* TC_ENV with a clear message unless a file at `path` could be created or overwritten (its folder exists and is writable). */
TC_NODISCARD tc_status tc_fs_check_writable(const char *path, tc_error *err);
/* The same for a file that others are written beside (M.so and M.h): TC_ENV also for a device, a pipe and an open file, which
 * have no names to derive others from. */
TC_NODISCARD tc_status tc_fs_check_replaceable(const char *path, tc_error *err);
/* A name in $TMPDIR, else /tmp, that nothing else has; *out is malloc'ed. */
TC_NODISCARD tc_status tc_fs_temp_name(char **out, tc_error *err);
/* Makes the folder of that name, for this user alone. TC_ENV when it cannot be made, also where there is something of that name. */
TC_NODISCARD tc_status tc_fs_temp_make(const char *name, tc_error *err);
/* Both. */
TC_NODISCARD tc_status tc_fs_temp_dir(char **out, tc_error *err);
void tc_fs_remove_tree(const char *dir);
bool tc_fs_exists(const char *path);
bool tc_fs_is_dir(const char *path);
/* An errno in words, with what to do about it where that is known. */
const char *tc_fs_reason(int error);
/* Folder part of path, malloc'ed ("." if none). */
char *tc_fs_dirname(const char *path);

#endif
