#include "support/seal.h"

#include <blake2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

tc_seal tc_seal_of(const void *key, size_t nkey, const void *p, size_t n) {
    static const char none[1] = {0};
    uint8_t bytes[sizeof((tc_seal *)0)->hex / 2];
    tc_seal s;
    if (nkey > TC_SEAL_KEY || blake2b(bytes, n ? p : none, nkey ? key : none, sizeof bytes, n, nkey) != 0)
        abort(); /* it fails for lengths that nobody may ask for, and for nothing else */
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(s.hex + 2 * i, 3, "%02x", bytes[i]);
    return s;
}
