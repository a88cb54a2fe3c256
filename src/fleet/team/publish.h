/* A tuner's database told to others. A thread of its own reads the database file and puts what it has of the jobs of a key
 * into the stream of records. So the search neither waits for this nor knows of it. What was stored while the server was away,
 * before the tuner was killed, or before the stream was deleted is put there later. A changed record (no longer verified,
 * timed in turns, its program failed) is told again. What another database has told already is not. */
#ifndef TC_FLEET_PUBLISH_H
#define TC_FLEET_PUBLISH_H

#include "fleet/bus.h"

typedef struct tc_fleet_publish {
    tc_fleet_access access;
    const char *tuner, *key;
    const char *target; /* of the key, as are the threads and this build */
    int threads;
    const char *database; /* file; it may come later */
} tc_fleet_publish;

typedef struct tc_fleet_publisher tc_fleet_publisher;

/* Whatever fails is a warning, once: a search goes on without. Strings are copied. NULL: no thread can be had. */
tc_fleet_publisher *tc_fleet_publish_begin(const tc_fleet_publish *o);
/* Records that were told may have changed: looks at all of them again. */
void tc_fleet_publish_again(tc_fleet_publisher *p); /* NULL is fine */
/* Tells the rest, for some seconds at most, and not where the server is away. NULL is fine. */
void tc_fleet_publish_end(tc_fleet_publisher *p);

#endif
