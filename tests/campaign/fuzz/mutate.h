/* Damage, by target: to bytes and text, and to the structure of what is read so that it is still well formed around the damage. */
#ifndef TC_TESTS_FUZZ_MUTATE_H
#define TC_TESTS_FUZZ_MUTATE_H

#include <stdbool.h>

#include "support/arena.h"
#include "support/rng.h"
#include "support/strbuf.h"

/* Appends a damaged copy. */
typedef void fuzz_damage(tc_rng *r, const char *data, size_t size, tc_strbuf *out);

/* A few bytes changed, inserted, doubled or cut off. In text, tokens and numbers too. */
fuzz_damage fuzz_damage_bytes, fuzz_damage_text;
/* A number that programs get wrong: around zero, and around the ends of the integer types. */
int64_t fuzz_number(tc_rng *r);

#define TARGET(name, bytes) fuzz_damage fuzz_damage_##name;
#include "targets.def"
#undef TARGET

#endif
