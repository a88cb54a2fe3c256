/* Names this build of tctune and this machine. A program that one build on one machine has verified is not verified for another
 * build or machine. */
#ifndef TC_SUPPORT_SYSTEM_IDENTITY_H
#define TC_SUPPORT_SYSTEM_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

#include "support/hash.h"
#include "support/seal.h"
#include "support/strbuf.h"

/* Of the program or library that this code is linked into, by its linker's build id; false when it has none. */
bool tc_build_identity(tc_digest *out);
/* Where a machine tells its ids: that of its installation, and that of this run of its kernel. */
typedef struct tc_machine_files {
    const char *id, *boot;
} tc_machine_files;

/* Appends the name of a machine, nothing where it has none. is_image: the first file came with an image, which other machines may
 * run too. */
void tc_machine_name(const tc_machine_files *f, bool is_image, tc_strbuf *out);
/* The name that files give this user's machine; tells nothing else of either. Another user's is another one, and where there is
 * no secret that lasts (secret.h) so is each process's. false when it cannot be told from others. */
bool tc_host_identity(tc_seal *out);
/* The seal of n bytes that this user on this machine alone can make: its key is the user's secret and the machine's name, and is
 * in no file that leaves either. false as above. */
bool tc_host_seal(const void *p, size_t n, tc_seal *out);

#endif
