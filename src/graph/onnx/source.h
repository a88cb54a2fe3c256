/* Bytes that a message is taken from: in memory, or of a file. A file is read piece by piece and never mapped: others may write
 * to it meanwhile, and what has been looked at must stay as it was. */
#ifndef TC_GRAPH_ONNX_SOURCE_H
#define TC_GRAPH_ONNX_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "support/status.h"
#include "support/vec.h"

typedef struct tc_onnx_source {
    size_t size;
    const uint8_t *data; /* NULL: they are of the file */
    const char *path;
    int fd, error;          /* error: errno of what failed */
    bool cut;               /* the file ended before `size` */
    struct stat before;     /* as it was when it was opened */
    TC_VEC(uint8_t) window; /* those of the file from `from` */
    size_t from;
} tc_onnx_source;

/* Takes fd, of a regular file, over. `path` is for messages and must outlive it. TC_ENV. */
TC_NODISCARD tc_status tc_onnx_source_of_file(int fd, const char *path, tc_onnx_source *out, tc_error *err);
/* The bytes from `at` to at + n <= size, until the next call; NULL: they cannot be read, and the source remembers why. */
const uint8_t *tc_onnx_source_look(tc_onnx_source *s, size_t at, size_t n);
/* The same, to `to`. */
bool tc_onnx_source_copy(tc_onnx_source *s, size_t at, void *to, size_t n);
/* Is it the text that Git LFS keeps in the place of a file? */
bool tc_onnx_is_lfs_pointer(tc_onnx_source *s);
/* Closes the file. `st` and what it says, unless others wrote to the file since it was opened, or it could not be read: then
 * that. */
TC_NODISCARD tc_status tc_onnx_source_end(tc_onnx_source *s, tc_status st, tc_error *err);

#endif
