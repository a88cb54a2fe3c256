/* In place of src/support/fs.c, which needs headers of the kernel that musl-gcc does not find: there are no files to read, such as those
 * that tell how much memory is free. */
#include "support/fs.h"

size_t tc_fs_read_head(const char *path, void *head, size_t n) {
    (void)path, (void)head, (void)n;
    return 0;
}
