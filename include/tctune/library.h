/* Built libraries as files: what they say of themselves (tctune_is_library, in model.h, tells which
 * files are some). Nothing of them is loaded or run, so that they may come from anywhere. */
#ifndef TCTUNE_LIBRARY_H
#define TCTUNE_LIBRARY_H

#include <tctune/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What it was built for and from (docs/json.md): target, threads, inputs and outputs, the sizes that it serves, versions,
 * database, and of each kernel the record it is from. *json is given back with tctune_text_free. TCTUNE_BAD_INPUT where the file
 * is none, or cut short. */
TCTUNE_API tctune_status tctune_library_describe(const char *library, char **json, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
