/* The attacks: rows of attacks.def, and what the kernel that makes them is told. Its object holds a block of these bytes, which the
 * test fills in before it hands the object to a worker. */
#ifndef TC_TESTS_CAMPAIGN_HOSTILE_CODE_ATTACKS_H
#define TC_TESTS_CAMPAIGN_HOSTILE_CODE_ATTACKS_H

#include <limits.h>
#include <stdint.h>

enum {
#define ATTACK(id, ends) ATTACK_##id,
#include "attacks.def"
#undef ATTACK
    NATTACKS
};

/* The status of a kernel whose attack was refused, of one that got through, and of one that stands where it is of no use. */
enum { REFUSED = 13, GOT_OUT = 77 };

#define ORDERS_MARK "orders of attack"
typedef struct orders {
    char mark[16];
    int64_t attack, seed;
    int64_t tuner;                           /* process that measures */
    int64_t port;                            /* where it listens, on 127.0.0.1 */
    char socket[64];                         /* abstract, on which it listens as well */
    char canary[PATH_MAX], beside[PATH_MAX]; /* a file that is to stay as it is, and one that is not to be */
} orders;

#endif
