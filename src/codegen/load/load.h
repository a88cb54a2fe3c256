/* src/codegen/load owns relocatable objects loaded into this process without LLVM: what is in them (object.c), where it
 * goes (image.c), relocations (relocations.def). Not here: shared libraries, which the C library loads
 * (src/graph/saved).
 *
 * Objects are ELF, 64-bit, little-endian, as our code generator makes them for x86-64 and AArch64. Machines without LLVM run what
 * others compiled. The loader trusts nothing in an object: loading ends with an error, or with an image whose parts all lie inside
 * the object. The loader does not check what the code does.
 *
 * An image is one mapping: code, with stubs for callees that are too far away; constants, with a table of addresses;
 * data. No page is ever writable and executable. Sections for debuggers and unwinders are left out. Callees are looked
 * up among what this process exports and what it is linked with (the C library, libm). */
#ifndef TC_CODEGEN_LOAD_LOAD_H
#define TC_CODEGEN_LOAD_LOAD_H

#include <stddef.h>

#include "support/status.h"

typedef struct tc_load_image tc_load_image;

/* Loads an object of this machine; its bytes are not needed afterwards. From any thread. TC_BAD_INPUT: it is damaged, or of
 * another machine, or calls what is not there; with the code UNSUPPORTED where it may be in order and only wants more than is
 * done here (another kind of section or relocation, an architecture without a table of them). TC_ENV: the system refused memory,
 * or to make it executable. */
TC_NODISCARD tc_status tc_load_object(const void *object, size_t size, tc_load_image **out, tc_error *err);
/* Where an exported symbol is, until the image is freed; NULL: the object defines none of that name. */
void *tc_load_find(const tc_load_image *m, const char *name);
void tc_load_free(tc_load_image *m); /* NULL is fine */

#endif
