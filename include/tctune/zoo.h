/* Ready-made networks with seeded random weights, to try things on: the same name gives the same file on every machine. */
#ifndef TCTUNE_ZOO_H
#define TCTUNE_ZOO_H

#include <tctune/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NULL-terminated. */
TCTUNE_API const char *const *tctune_zoo_names(void);
/* Writes a network of that name as an ONNX file, which is whole or as it was. */
TCTUNE_API tctune_status tctune_zoo(const char *name, const char *file, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
