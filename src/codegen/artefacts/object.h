/* Objects that come from elsewhere. */
#ifndef TC_CODEGEN_ARTEFACTS_OBJECT_H
#define TC_CODEGEN_ARTEFACTS_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the bytes are a relocatable object for this machine's kind of processor that defines the symbol: what runs it need not
 * be told more before. Says nothing of what its code does. Any bytes may be given. */
bool tc_cg_object_defines(const void *obj, size_t size, const char *symbol);

#endif
