/* Reads what a built library says of itself. The library is a file here: nothing of it is loaded or run, so it may come from
 * anywhere. (tctune_is_library, in model.h, tells whether a file is a library.) */
#ifndef TCTUNE_LIBRARY_H
#define TCTUNE_LIBRARY_H

#include <tctune/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Describes a library as JSON (docs/json.md): its target, threads, inputs, outputs and sizes, the versions and the database it
 * was built with, and the record of each kernel. Give *json back with tctune_text_free. TCTUNE_BAD_INPUT: the file is not a
 * library of tctune, or is cut short. */
TCTUNE_API tctune_status tctune_library_describe(const char *library, char **json, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
