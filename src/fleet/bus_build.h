/* What boards that do not compile and builders use of the server (bus.h):
 *
 *   tctune.build.KEY.BOARD        candidates to be built, a work queue: each job is given to one of the key's builders, and to
 *                                 another builder if that one says nothing for a lease
 *   tctune.built.KEY.BUILDER.ID   what a candidate came to, the last word of each builder
 *   tctune.chunk.KEY.BUILDER.DIGEST
 *                                 pieces of objects
 *   bucket tctune_builders        who builds for which key, as KEY.BUILDER; an entry goes when its builder is silent
 *
 * What was built, and chunks, are one stream: it keeps them for an hour, and of the oldest no more than it has room for.
 * Functions fail as those of the bus. */
#ifndef TC_FLEET_BUS_BUILD_H
#define TC_FLEET_BUS_BUILD_H

#include "fleet/bus.h"

/* ---- the board's ---- */

/* Puts a build job of the board into the queue of a key. *number: of it in the queue; they grow. NULL: nobody asks. */
TC_NODISCARD tc_status tc_fleet_bus_ask_build(tc_fleet_bus *b, const char *key, const char *board, const char *text,
                                              uint64_t *number, tc_error *err);
/* What tc_fleet_bus_ended says, of build jobs. */
TC_NODISCARD tc_status tc_fleet_bus_builds_ended(tc_fleet_bus *b, const char *key, uint64_t *number, tc_error *err);
/* How many of the board's jobs are in that queue, waiting or under way. */
TC_NODISCARD tc_status tc_fleet_bus_builds(tc_fleet_bus *b, const char *key, const char *board, int64_t *n, tc_error *err);

typedef struct tc_fleet_built_mail {
    const char *builder; /* whose word it is, by the subject */
    const char *text;    /* NULL: there is none */
    uint64_t number;     /* numbers grow */
} tc_fleet_built_mail;

/* The first that anybody says of the id behind a number. */
TC_NODISCARD tc_status tc_fleet_bus_next_built(tc_fleet_bus *b, const char *key, const char *id, uint64_t after, tc_arena *a,
                                               tc_fleet_built_mail *out, tc_error *err);
/* A builder's chunk; *data NULL: it is not there. */
TC_NODISCARD tc_status tc_fleet_bus_chunk(tc_fleet_bus *b, const char *key, const char *builder, const char *digest, tc_arena *a,
                                          const void **data, size_t *n, tc_error *err);
/* What those tell of themselves who build for the key. From any thread. */
TC_NODISCARD tc_status tc_fleet_bus_builders_of(tc_fleet_bus *b, const char *key, tc_fleet_seen *seen, void *user, tc_error *err);

/* ---- the builder's ---- */

/* As tc_fleet_bus_serve: from now on the bus fetches build jobs. */
TC_NODISCARD tc_status tc_fleet_bus_serve_builds(tc_fleet_bus *b, const char *key, double lease, tc_error *err);
/* As tc_fleet_bus_announce and tc_fleet_bus_leave. */
TC_NODISCARD tc_status tc_fleet_bus_announce_builder(tc_fleet_bus *b, const char *key, const char *name, const char *text,
                                                     tc_error *err);
void tc_fleet_bus_leave_builder(tc_fleet_bus *b, const char *key, const char *name);
/* Bytes that a message to this server may have, with room for what belongs to it; 0: it does not say. */
size_t tc_fleet_bus_room(const tc_fleet_bus *b);
TC_NODISCARD tc_status tc_fleet_bus_has_chunk(tc_fleet_bus *b, const tc_fleet_self *self, const char *digest, bool *has,
                                              tc_error *err);
/* It is there when this returns, as is what is put below. */
TC_NODISCARD tc_status tc_fleet_bus_put_chunk(tc_fleet_bus *b, const tc_fleet_self *self, const char *digest, const void *data,
                                              size_t n, tc_error *err);
TC_NODISCARD tc_status tc_fleet_bus_put_built(tc_fleet_bus *b, const tc_fleet_self *self, const char *id, const char *text,
                                              tc_error *err);

/* ---- anybody's ---- */

TC_NODISCARD tc_status tc_fleet_bus_builders(tc_fleet_bus *b, tc_fleet_seen *seen, void *user, tc_error *err);
/* Build jobs that wait for a builder of the key, and those that one has. */
TC_NODISCARD tc_status tc_fleet_bus_build_queue(tc_fleet_bus *b, const char *key, int64_t *waiting, int64_t *under_way,
                                                tc_error *err);

#endif
