/* src/fleet/objects owns compiled objects that builders put on the server for boards that do not compile: in chunks,
 * each known by its digest (tc_seal). Not here: who asks for them (src/fleet/worker).
 *
 * A builder puts the chunks there, and then the document that lists them (fleet/build.h), so that whoever finds the
 * document finds the chunks. Whoever takes an object checks each chunk, and the whole. */
#ifndef TC_FLEET_OBJECTS_OBJECTS_H
#define TC_FLEET_OBJECTS_OBJECTS_H

#include "fleet/build.h"
#include "fleet/bus_build.h"

/* Puts what a candidate came to, its object and all that is said of it, under `id`. A chunk that is there already is not sent;
 * again: it is, since somebody did not find it, or found it damaged. TC_BAD_INPUT: the server lets this user put nothing there,
 * or it takes messages that are too small for such an object. */
TC_NODISCARD tc_status tc_fleet_object_put(tc_fleet_bus *b, const tc_fleet_self *builder, const char *id,
                                           const tc_meas_made *made, bool again, tc_error *err);

/* What became of an object that was looked for. */
typedef struct tc_fleet_taken {
    bool there;        /* it is whole, and what it is said to be */
    const char *wrong; /* else: what its builder does not do right; NULL: it is not there any more, or not yet */
} tc_fleet_taken;

/* Takes what a builder says of the id, `mail`, and the object. *out, in `a`, has both where *taken says that it is there. An
 * error: nothing can be read from the server now. */
TC_NODISCARD tc_status tc_fleet_object_take(tc_fleet_bus *b, const char *key, const char *id, const tc_fleet_built_mail *mail,
                                            tc_arena *a, tc_meas_made *out, tc_fleet_taken *taken, tc_error *err);

#endif
