/* Damage, by kind: to bytes, and to the structure of a model so that it is still a well-formed message. */
#ifndef TC_TESTS_FUZZ_MUTATE_H
#define TC_TESTS_FUZZ_MUTATE_H

#include <stdbool.h>

#include "support/arena.h"
#include "support/rng.h"
#include "support/strbuf.h"

/* A few bytes changed, inserted, doubled or cut off. In text, tokens and numbers too. */
void fuzz_damage_bytes(tc_rng *r, const char *data, size_t size, tc_strbuf *out);
void fuzz_damage_text(tc_rng *r, const char *text, size_t size, tc_strbuf *out);
/* One to four changes to an ONNX model: names, nodes, attributes, types, dimensions, weights, versions. False when the bytes are
 * no model. */
bool fuzz_damage_model(tc_arena *a, tc_rng *r, const char *data, size_t size, tc_strbuf *out);
/* A number that programs get wrong: around zero, and around the ends of the integer types. */
int64_t fuzz_number(tc_rng *r);

#endif
