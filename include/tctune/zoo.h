/* Ready-made networks with random weights. The same name gives the same file on every machine. */
#ifndef TCTUNE_ZOO_H
#define TCTUNE_ZOO_H

#include <tctune/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the names of the networks, NULL-terminated. They live as long as the library. */
TCTUNE_API const char *const *tctune_zoo_names(void);

/* Writes the network as an ONNX file. On an error the file is unchanged. TCTUNE_BAD_INPUT: there is no such network; the message
 * lists them. */
TCTUNE_API tctune_status tctune_zoo(const char *name, const char *file, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
