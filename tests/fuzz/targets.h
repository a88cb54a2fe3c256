/* What is read, by kind of file. */
#ifndef TC_TESTS_FUZZ_TARGETS_H
#define TC_TESTS_FUZZ_TARGETS_H

#include <stdbool.h>

#include "support/rng.h"

typedef enum fuzz_kind { FUZZ_MODEL, FUZZ_KERNEL, FUZZ_SCHEDULE, FUZZ_RECORDS, FUZZ_NKINDS } fuzz_kind;

const char *fuzz_extension(fuzz_kind k);
bool fuzz_kind_of(const char *path, fuzz_kind *k); /* by the extension */
int fuzz_weight(fuzz_kind k);                      /* of 8: how often a file of this kind is taken when it is drawn */

/* Reads the file as far as it is good. `origin` is the file that it was made from: a schedule's workload lies beside that one.
 * Aborts where something is wrong that is no crash, such as a refusal without a message. */
void fuzz_read(fuzz_kind k, const char *path, const char *origin, tc_rng *r);

#endif
